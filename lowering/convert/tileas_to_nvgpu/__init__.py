"""nv_tileas to nvgpu: a placed, scheduled kernel as the program of one thread."""

from lowering.convert.tileas_to_nvgpu.expand import expand

__all__ = ["expand"]
