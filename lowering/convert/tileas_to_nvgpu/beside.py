"""What a loop carries on, computed beside what it stores: both read the same tiles, which would else be held until all
of the store is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ir.core import Op
from ir.dialects import scf
from lowering.convert.tileas_to_nvgpu.registers import Computed, Registers

if TYPE_CHECKING:
    from lowering.convert.tileas_to_nvgpu.expand import Expander


def carries(op: Op) -> bool:
    """Is an op in the body of a counted loop?"""
    return op.parent is not None and isinstance(op.parent.parent_op, scf.For)


def carried(x: Expander, rest: Sequence[Op], done: set[Op]) -> list[Registers]:
    """The tiles that a loop carries on and that can be computed before `rest`, what is left of its body.

    What is lazy there is handled now and added to `done`, as far as its operands are known.
    """
    later = {result for op in rest for result in op.results}
    for op in rest:
        if later.isdisjoint(op.operands) and x.lazy(op):
            x.handle(op)
            done.add(op)
            later.difference_update(op.results)
    block = rest[0].parent if rest else None
    ends = [] if block is None else [x.values.get(v) for v in block.terminator.operands if v not in later]
    return [found for found in ends if isinstance(found, Computed)]


def make(tiles: Sequence[Registers], source: Registers, registers: Sequence[int]) -> None:
    """Compute the same registers of the tiles that are laid out as the stored one."""
    for tile in tiles:
        if tile.layout == source.layout:
            for i in registers:
                _ = tile.pair(i // 2) if tile.packed else tile.scalar(i)
