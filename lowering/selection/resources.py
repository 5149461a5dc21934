"""Limited resources as rows of the extraction problem: shared memory and registers.

Consecutive loops use the same shared memory for their rings, and the same tensor memory; nested loops do not: there is
a row of each for every selection of one loop of each depth.

Rows add up the chosen nodes. Resources used at different times are not a sum but a maximum: `Peak` expresses a maximum
in rows, as a chain of classes in which each one adds what the one below it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import chain, product
from math import prod

from extract import GraphBuilder
from ir.records import dataclass
from lowering.atoms.barrier import (
    LEAST_REGISTERS,
    PRODUCER_REGISTERS,
    REGISTER_STEP,
    agents_gather,
    moves_registers,
    register_shares,
)
from lowering.atoms.wgmma import WARPGROUP
from lowering.layouts.shared import PERIOD
from lowering.targets import Feature, Target
from lowering.targets.target import WARP

SHARED = "shared memory"  # rings, buffers that are filled once, scratch in loops
REGISTERS = "registers"
TENSOR_MEMORY = "columns of tensor memory"
AFTER_LOOPS = "shared memory after loops"  # scratch outside loops overlays rings, which are drained by then
ADDRESSES = 54  # registers beyond accumulators and fragments: counters, addresses, predicates; ptxas 13.5: a GEMM of
# 128 x 128 x 64 takes 46 (sm_80), attention with tiles of 128 x 128 spills 16 bytes with 48 left (sm_90a)
SPILLS = (*range(0, 56, 8), *range(64, 128, 16), *range(128, 256, 32), *(1 << k for k in range(8, 17)))
"""Numbers of registers a thread that may be spilled beyond the limit of a loop, at a cost. A relaxation pays exactly
for what it needs, a program for the next step, so large steps leave proofs open: with powers of two alone attention of
gemma (TileGym, sm_100a) costs 924,336 as a whole and is not proved in 9.9 CPU seconds, with these 844,464, proved in
2.5.
"""
SAFETY = 32
"""Additional registers if CTAs share an SM, because lowering.ptx.grant keeps a margin: a CTA that needs more than
its share gets the SM alone, with a ring that is too short. Attention of 128 x 64 on sm_90a needs 19 more than
`ADDRESSES`.
"""
CTAS = (1, 2, 3, 4, 6, 8)  # candidate numbers an SM; 8 of 8 warps, the fewest with agents, fill an SM
MOST_ROWS = 12  # of shared memory: more depths with more loops have one row for the sum of all, an upper bound


@dataclass
class Peak:
    """The maximum of some rows over the chosen nodes, the same amount of each row."""

    rows: tuple[int, ...]
    levels: dict[int, int] = field(default_factory=dict[int, int])  # amount -> class

    def add_nodes(self, builder: GraphBuilder, n_rows: int, name: str) -> None:
        """One node for each level, the lowest first."""
        below, taken = -1, 0
        for amount, cls in sorted(self.levels.items()):
            use = [0.0] * n_rows
            for row in self.rows:
                use[row] = float(amount - taken)
            builder.add(name, cls, [below] if taken else [], resource=use)
            below, taken = cls, amount


class Rows:
    """The rows of one program on one target: shared memory, registers of each loop without loops inside."""

    def __init__(
        self, loops: Mapping[int, tuple[int, ...]], rings: Sequence[Sequence[int]], target: Target,
        warps: Sequence[int], ctas: Sequence[int], straight: Sequence[tuple[int, ...]] = (),
    ):  # fmt: skip
        """`loops`: each with its enclosing loops. `rings`: the loops that may have rings, grouped if they share one.
        `ctas`: candidate numbers an SM, unless a hint sets it. `straight`: loops around code outside inner loops whose
        tiles may not fit.
        """
        around = {each for path in loops.values() for each in path[:-1]}
        self.paths = [*(path for loop, path in loops.items() if loop not in around), *straight]
        self._taken = list(product(*rings)) if prod(map(len, rings)) <= MOST_ROWS else [tuple(chain(*rings))]
        self.shared = tuple(range(len(self._taken)))
        self.after = (len(self._taken),)
        self.first = len(self._taken) + 1
        several = len(self._taken) > 1
        with_loops = [f" with loops {', '.join(map(str, each))}" if several else "" for each in self._taken]
        self.names = (
            *(f"{SHARED}{each}" for each in with_loops),
            AFTER_LOOPS,
            *(f"{REGISTERS} {where(path, path in straight)}" for path in self.paths),
            *(f"{TENSOR_MEMORY}{each}" for each in with_loops if target.tmem_columns),
        )  # fmt: skip
        self.last = self.first + len(self.paths)  # after the register rows: those of tensor memory, if any
        self._tensor = int(target.tmem_columns)
        self.columns = columns_of(target, max(1, target.asked_ctas))
        agents = has_producer(target, True)
        fits = int(target.warps_per_sm) // (min(warps) + agents * WARPGROUP // WARP)
        offered = CTAS[:1] if target.asked_ctas else [count for count in ctas if count <= fits]
        safety = SAFETY * moves_registers(target)
        self._tiers = {count: target.shared_by(count) if count > 1 else target for count in offered}
        self._alone, self._producing, self._copying = (
            {(w, c): registers(tier, w, kept) - safety * (c > 1) for w in warps for c, tier in self._tiers.items()}
            for kept in (0, LEAST_REGISTERS, PRODUCER_REGISTERS)
        )
        self.most = max(self._alone.values())
        least = self._copying if agents else self._alone
        self.ctas = [c for c in offered if c == 1 or max(least[w, c] for w in warps) > 0]
        margins = [2 * PERIOD * len(each) for each in self._taken]  # barriers and alignment of rings side by side
        shared = float(target.smem_bytes)
        spill = float(self.most + SPILLS[-1])
        columns = (float(self.columns),) * len(self._taken) if self.columns else ()
        self.limits = (*(shared - margin for margin in margins), shared, *(spill for _ in self.paths), *columns)

    def kept(self, row: int, spilled: int) -> list[float]:
        """The use of a register row if `spilled` registers go to local memory: the capacity beyond a thread's registers
        stands for those, so all of it except that many.
        """
        return self.use({row: float(SPILLS[-1] - spilled)})

    def row(self, path: tuple[int, ...]) -> tuple[int, ...]:
        """The register row of code inside exactly these loops, if there is one."""
        return (self.first + self.paths.index(path),) if path in self.paths else ()

    def of_columns(self, columns: int, loop: int = -1) -> dict[int, float]:
        """The rows of tensor memory, if any, with this many columns used in a loop."""
        rows = self.of_ring(loop) or self.shared
        return {self.last + row: float(columns) for row in rows} if self.columns and columns else {}

    def of_loop(self, loop: int) -> list[int]:
        """Register rows of the innermost loops in `loop`, or of itself, and of the code outside inner loops in it."""
        return [row for row, path in enumerate(self.paths, self.first) if loop in path]

    def of_ring(self, loop: int) -> list[int]:
        """Rows of shared memory that the ring of a loop uses."""
        return [row for row in self.shared if loop in self._taken[row]]

    def use(self, amounts: Mapping[int, float]) -> list[float]:
        """A resource vector from amounts by row."""
        found = [0.0] * len(self.names)
        for row, amount in amounts.items():
            found[row] = float(amount)
        return found

    def of_warps(self, warps: int) -> list[float]:
        """What a CTA of `warps` warps lacks of the largest register budget."""
        return self.use(dict.fromkeys(range(self.first, self.last), self.most - self._alone[warps, 1]))

    def of_ctas(self, ctas: int, warps: int) -> list[float]:
        """What a CTA of `warps` warps lacks if `ctas` of them share an SM."""
        loops = range(self.first, self.last)
        lacking = dict.fromkeys(loops, float(self._alone[warps, 1] - self._alone[warps, ctas]))
        shared = float(self._tiers[1].smem_bytes - self._tiers[ctas].smem_bytes)
        others = self.of_columns(self.columns - columns_of(self._tiers[1], ctas) if self.columns == self._tensor else 0)
        return self.use(lacking | dict.fromkeys((*self.shared, *self.after), shared) | others)

    def of_producer(self, warps: int, ctas: int) -> list[float]:
        """What each of `warps` consumer warps lacks next to a producer of tensor copies, which are usually few."""
        lacking = self._alone[warps, ctas] - self._producing[warps, ctas]
        return self.use(dict.fromkeys(range(self.first, self.last), lacking))

    def beside_producer(self, warps: int) -> int:
        """Registers of each consumer thread next to a producer of tensor copies."""
        return self._producing[warps, 1] + ADDRESSES

    def of_copier(self, warps: int, ctas: int) -> list[float]:
        """What each of them lacks in addition if the producer also copies by cp.async."""
        lacking = self._producing[warps, ctas] - self._copying[warps, ctas]
        return self.use(dict.fromkeys(range(self.first, self.last), lacking))


def columns_of(target: Target, ctas: int) -> int:
    """Columns of tensor memory of each of `ctas` CTAs that share an SM: a power of two, as allocated."""
    columns = int(target.tmem_columns)
    return 1 << (columns // ctas).bit_length() - 1 if columns else 0


def where(path: tuple[int, ...], straight: bool) -> str:
    """The name of the innermost of these loops, or of the code outside inner loops in it (`straight`)."""
    inside = f"in loop {path[-1]}" if path else "outside of loops"
    return f"{inside} beside others" if path and straight else inside


def has_producer(target: Target, boxed: bool) -> bool:
    """Does a separate agent fill a ring, by tensor copies (`boxed`) or by cp.async?"""
    return target.has(Feature.MBARRIER) and (boxed or agents_gather(target))


def registers(target: Target, warps: int, producer: int) -> int:
    """32-bit registers a thread for tiles with `warps` consumer warps, next to a producer: a warpgroup that keeps
    `producer` registers on targets that can reallocate them, otherwise one warp with as many as all others; 0 means no
    producer.

    Each scheduler of an SM has its share of the registers and of a CTA's warps: ptxas 13.5 gives 288 threads on sm_120a
    168 registers, the same as for 384. Source: CUDA C++ Programming Guide, registers of an SM and of a thread.
    """
    if producer and moves_registers(target):
        return register_shares(WARP * warps, WARPGROUP, producer, target).consumer - ADDRESSES
    schedulers = int(target.throughput.issue)
    share = int(target.registers_per_sm) // schedulers // (WARP * -(-(warps + (producer > 0)) // schedulers))
    return min(int(target.registers_per_thread), share // REGISTER_STEP * REGISTER_STEP) - ADDRESSES
