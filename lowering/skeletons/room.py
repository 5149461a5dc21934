"""What a form of a kernel must hold in registers at once, by its source: one that would spill is not compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.dialects import cuda_tile as ct
from lowering.slicing import Product
from lowering.source.supported import registers_of
from lowering.targets.features import Feature
from lowering.targets.target import WARP

if TYPE_CHECKING:
    from lowering.selection import Selection


def held_by_products(entry: ct.Entry, found: Selection) -> int:
    """Registers of a thread for the results of all products in one iteration of a loop, the most of all loops, shared
    by as many warps as a program has that was found for the kernel. 0 where the target has products of warpgroups or in
    tensor memory, whose operands stay in shared memory: no attempt is known there that was too large.
    """
    if found.target.has(Feature.WGMMA) or found.target.has(Feature.TCGEN05):
        return 0
    threads = found.warps * WARP
    loops = [op for op in entry.walk() if isinstance(op, ct.For)]
    return max((sum(of_results(loop, threads)) for loop in loops), default=0)


def of_results(loop: ct.For, threads: int) -> list[int]:
    """Registers of a thread for the result of each product in an iteration."""
    return [registers_of(op.results[0], threads) for op in loop.walk() if isinstance(op, Product)]
