"""What a program has only so much of, as rows of the extraction problem: shared memory and registers.

Rows add up what is chosen. What is used at different times is no sum but a maximum: `Peak` says a maximum in rows, as a
chain of classes of which each takes what the one below it leaves missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from extract import GraphBuilder
from lowering.atoms.barrier import moves_registers, register_share
from lowering.atoms.wgmma import WARPGROUP
from lowering.layouts.shared import PERIOD
from lowering.targets import Target
from lowering.targets.target import WARP

SHARED = "shared memory"  # rings, buffers that are filled once, scratch in loops
REGISTERS = "registers"
AFTER_LOOPS = "shared memory after loops"  # scratch outside of loops lies over rings, which are drained by then
ADDRESSES = 54  # registers beside accumulators and fragments: counters, addresses, predicates; ptxas 13.5: a GEMM of
# 128 x 128 x 64 takes 46 (sm_80), attention with tiles of 128 x 128 spills 16 bytes with 48 left (sm_90a)
SPILLS = (
    0,
    *(1 << k for k in range(3, 17)),
)  # registers a thread beyond the limit of a loop that are offered at a price
FIRST = 2  # row of registers, after those of shared memory


@dataclass
class Peak:
    """The most of one row that any chosen node needs at one time."""

    row: int
    levels: dict[int, int] = field(default_factory=dict[int, int])  # amount -> class

    def add_nodes(self, builder: GraphBuilder, n_rows: int, name: str) -> None:
        """One node for each level, the lowest first."""
        below, taken = -1, 0
        for amount, cls in sorted(self.levels.items()):
            use = [0.0] * n_rows
            use[self.row] = float(amount - taken)
            builder.add(name, cls, [below] if taken else [], resource=use)
            below, taken = cls, amount


class Rows:
    """The rows of one program on one target: shared memory twice, registers of each loop without loops inside."""

    def __init__(self, loops: Mapping[int, tuple[int, ...]], target: Target, warps: Sequence[int]):
        """`loops`: each with those around it."""
        around = {each for path in loops.values() for each in path[:-1]}
        self.paths = [path for loop, path in loops.items() if loop not in around]
        self.names = (SHARED, AFTER_LOOPS, *(f"{REGISTERS} in loop {path[-1]}" for path in self.paths))
        self._budget = {w: registers(target, w) for w in warps}
        self.most = max(self._budget.values())
        margin = 2 * PERIOD * len(self.paths)  # barriers and alignment of each ring
        shared = float(target.smem_bytes)
        self.limits = (shared - margin, shared, *(float(self.most + SPILLS[-1]) for _ in self.paths))

    def kept(self, row: int, spilled: int) -> list[float]:
        """What is taken of a row of registers where `spilled` of them go to local memory: what it has beyond the
        registers of a thread stands for those, so all but as many of it.
        """
        return self.use({row: float(SPILLS[-1] - spilled)})

    def of_loop(self, loop: int) -> list[int]:
        """Register rows of the innermost loops in `loop`, or the one that it is."""
        return [row for row, path in enumerate(self.paths, FIRST) if loop in path]

    def use(self, amounts: Mapping[int, float]) -> list[float]:
        """A resource vector from amounts by row."""
        found = [0.0] * len(self.names)
        for row, amount in amounts.items():
            found[row] = float(amount)
        return found

    def of_warps(self, warps: int) -> list[float]:
        """What a CTA of `warps` warps lacks of the largest register budget."""
        return self.use(dict.fromkeys(range(FIRST, len(self.names)), self.most - self._budget[warps]))


def registers(target: Target, warps: int) -> int:
    """32-bit registers a thread for tiles, beside a producer warpgroup where one may give registers back.

    Source: CUDA C++ Programming Guide, registers of an SM and of a thread.
    """
    if moves_registers(target):
        return register_share(WARP * warps, WARPGROUP, target)[1] - ADDRESSES
    return min(int(target.registers_per_thread), int(target.registers_per_sm) // (WARP * warps)) - ADDRESSES
