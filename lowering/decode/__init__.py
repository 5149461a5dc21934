"""The chosen e-nodes as an nv_tileas program: every value where its operands allow it, effects in skeleton order."""

from lowering.decode.decoder import decode

__all__ = ["decode"]
