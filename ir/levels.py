"""The levels below cuda_tile, identified by their kernel operation; determines the level of a text without its
reader.
"""

from __future__ import annotations

import re

from ir.load import MAGIC

OURS = "tilesat."
"""The prefix of the name of an operation that upstream MLIR does not have in this form."""
LEVEL_OF = {"nv_tileaa.func": "nv_tileaa", "nv_tileas.func": "nv_tileas", "gpu.func": "nvgpu", "llvm.func": "nvvm"}
"""Name of the level by that of the operation, from above."""
LOGICAL = "nv_tileaa"
"""The level above the e-graph: its programs are compiled as Tile IR is, those below it are lowered."""
PLACED = tuple(name for name in LEVEL_OF.values() if name != LOGICAL)
"""The levels below the e-graph."""
FIRST_OP = re.compile(r"(?:\s|//[^\n]*\n)*\"([a-z_]+\.[\w$.]+)\"\s*\(")


def first_operation(text: str) -> str:
    """The name of the operation with which a generic text starts: `gpu.func`; empty for other text."""
    match = FIRST_OP.match(text)
    return match[1].removeprefix(OURS) if match else ""


def level_of(text: str) -> str | None:
    """The level of the kernel with which a text starts; None for other text."""
    return LEVEL_OF.get(first_operation(text))


def level_text(data: bytes) -> str | None:
    """The text of a file if it starts with a kernel of a level; None for Tile IR and for anything but text."""
    if data.startswith(MAGIC[:1]):
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if level_of(text) is not None else None
