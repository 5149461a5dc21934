"""The units in which hazard tracking follows memory: the number of bytes or lanes that are always written together.

Writes are aligned to their size, so if each write of an entry has at least N bytes, the N bytes of a grain always have
the same state, and one entry in the shadow represents them all. A read of fewer bytes is within one grain, and whatever
writes to that grain writes the bytes that were read.
"""

import numpy as np

from ptxsim.program import Address, Entry, Immediate, Instruction
from ptxsim.ptx_types import TYPES, Array

_MOST = 8  # bytes of an mbarrier object
# Instructions with an address that do not write shared memory, or write only whole mbarriers and units of a bulk copy.
_COARSE = {
    "ld", "ldu", "ldmatrix", "mbarrier", "wgmma", "clusterlaunchcontrol", "prefetch", "prefetchu", "applypriority",
    "discard", "fence", "createpolicy", "griddepcontrol",
}  # fmt: skip
_OTHER_SPACES = {"global", "local", "const", "param", "param::entry", "param::func"}
_WRITES = {"st", "atom", "red"}
_WORD = 4


def grain_of(entry: Entry) -> int:
    """Bytes of a grain of shared memory: 1, 2, 4 or 8."""
    return min((_least(instruction) for instruction in entry.instructions), default=_MOST)


def _least(instruction: Instruction) -> int:
    """The minimum number of bytes of shared memory that an instruction writes at once; _MOST if it writes none."""
    base, modifiers = instruction.base, instruction.modifiers
    if base in _COARSE or (base in ("cp", "st") and "bulk" in modifiers) or (base == "cp" and "mbarrier" in modifiers):
        return _MOST
    if base == "tcgen05":
        return _WORD if "alloc" in modifiers else _MOST
    if base == "call":
        return 1
    if not any(isinstance(operand, Address) for operand in instruction.operands):
        return _MOST
    if base in _WRITES:
        return _MOST if _OTHER_SPACES.intersection(modifiers) else _written(base, modifiers)
    if base == "stmatrix":  # one word of each row per lane, or half a word when transposed
        return 2 if "trans" in modifiers else _WORD
    if base == "cp" and len(instruction.operands) > 2:
        size = instruction.operands[2]
        return min(int(size.value), _MOST) if isinstance(size, Immediate) else 1
    return 1


def _written(base: str, modifiers: tuple[str, ...]) -> int:
    types = [TYPES[name] for name in modifiers if name in TYPES]
    lanes = [int(name[1:]) for name in modifiers if name in ("v2", "v4", "v8") and base == "st"]
    return min(max(types[-1].bits // 8, 1) * max(lanes, default=1), _MOST) if types else 1


def tensor_grain_of(entry: Entry) -> int:
    """Lanes of tensor memory that an entry's instructions use together: 16, or 1 if some address single lanes."""
    single = {"shift", "sp", "4x256b"}
    return 1 if any(one.base == "tcgen05" and single.intersection(one.modifiers) for one in entry.instructions) else 16


def grains(cells: Array, size: int, grain: int, used: int | None = None) -> Array:
    """The grains [cell, part] of cells of `size` bytes: whole ones, or the one that contains a smaller cell.

    used: bytes at the front of each cell that count (None: all).
    """
    flat = cells.reshape(-1)[:, None]
    if size <= grain:
        return flat if size == grain else flat // (grain // size)
    parts = size // grain
    return flat * parts + np.arange(parts if used is None else -(-used // grain))
