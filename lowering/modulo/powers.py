"""How many powers of two of a loop the multiply-add pipe computes (`lowering/atoms/powers.py`): what makes an iteration
the shortest.

Extraction minimises sums, in which a polynomial is always more work than ex2. But a loop takes as long as its busiest
unit, or as the waits of a warp, and the unit of ex2 may be the busiest one while others are idle. So the part is chosen
for the loops of an extracted program, by their predicted time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from egraph.permissions import AFN, REASSOC, granted
from ir.core import Op, Value
from ir.dialects import arith, math, nv_tileas
from ir.dialects.arith import element_of
from ir.records import dataclass
from ir.types import BF16, F16, F32, TensorType
from lowering.atoms.powers import EXP2_FMA, OF, WHOLE, legal
from lowering.cost import LESS
from lowering.layouts.layout import Layout
from lowering.modulo.ahead import placed_loops
from lowering.modulo.loops import Loop, loops
from lowering.modulo.predict import LoopTime, loop_time, turns_of
from lowering.selection import Selection

PARTS = (0, 1, 2, 3, 4, 6, 8, 12, 16)
"""Of `OF` pairs: FlashAttention-4 takes 10 to 25 % of them."""
LEAST = frozenset({REASSOC, AFN})
"""Permissions for degree 3: those for levels that lag (lowering/skeletons/table.py)."""
ROUNDED = (F16, BF16)  # their rounding is coarser than the error of degree 3 (lowering/atoms/powers.py)


@dataclass(frozen=True)
class Powers:
    """The prediction for one loop: cycles of an iteration by the pairs of `OF` that are polynomials of `degree`."""

    loop: Loop
    degree: int
    ways: Mapping[int, LoopTime]

    @property
    def taken(self) -> int:
        """The fewest pairs of those with the shortest time; none if it is hardly shorter."""
        best = min(self.ways, key=lambda each: (self.cycles(each), each))
        return best if self.cycles(best) < LESS * self.cycles(0) else 0

    def cycles(self, pairs: int) -> float:
        """Of an iteration."""
        return max(self.ways[pairs].busy, self.ways[pairs].waiting)

    def __str__(self) -> str:
        tried = ", ".join(f"{pairs}: {self.cycles(pairs):,.0f} ({way.unit})" for pairs, way in self.ways.items())
        what = f"powers of two of the loop at {self.loop.item.op.location}, of {OF} pairs by {EXP2_FMA}"
        return f"{what} of degree {self.degree}: cycles of an iteration (busiest unit) {tried}; taken: {self.taken}"


def powers_of(selection: Selection, func: nv_tileas.Func) -> Iterator[tuple[Powers, list[math.Exp2]]]:
    """The prediction for each innermost loop with powers that polynomials may compute, and these."""
    if not legal(selection.target, selection.forbid):
        return
    able = {number: found for number, op in placed_loops(selection, func).items() if (found := list(able_in(op)))}
    for number, found in able.items():
        degree = degree_of(selection, func, found)
        trials = [replace(selection, powers={**selection.powers, number: (pairs, degree)}) for pairs in PARTS]
        ways = {pairs: in_loop(trial, number) for pairs, trial in zip(PARTS, trials, strict=True)}
        timed = {pairs: way for pairs, way in ways.items() if way is not None}
        if 0 in timed:
            (loop,) = loops(selection, [number])
            yield Powers(loop, degree, timed), found


def in_loop(selection: Selection, number: int) -> LoopTime | None:
    """The time of an iteration of a loop; None for one that is not innermost."""
    return next((loop_time(selection, each, 1) for each in loops(selection, [number], turns_of(selection))), None)


def choose_powers(selection: Selection, func: nv_tileas.Func) -> int:
    """Mark the powers of two of a placed kernel that polynomials compute in part; returns the number of loops."""
    chosen = [(made, found) for made, found in powers_of(selection, func) if made.taken]
    for made, found in chosen:
        for op in found:
            op.attributes |= {"pairs": made.taken, "degree": made.degree}
    selection.powers = {made.loop.item.loop: (made.taken, made.degree) for made, _ in chosen}
    return len(chosen)


def able_in(loop: Op) -> Iterator[math.Exp2]:
    """The powers in a loop that flush, and that have enough f32 in each thread."""
    for op in loop.walk():
        if isinstance(op, math.Exp2) and op.ftz and in_registers(op.result) >= WHOLE:
            yield op


def in_registers(value: Value) -> int:
    """f32 of a placed tile that a thread holds."""
    kind = value.type
    if not isinstance(kind, TensorType) or kind.element != F32 or not isinstance(kind.layout, Layout):
        return 0
    return kind.layout.n_regs


def degree_of(selection: Selection, func: nv_tileas.Func, powers: list[math.Exp2]) -> int:
    """3 where that is permitted and all of these become f16 or bf16, besides being added up; 5 elsewhere."""
    if not granted(selection.saturated.source.fast) >= LEAST:
        return 5
    users: dict[Value, list[Op]] = {}
    for op in func.walk():
        for value in op.operands:
            users.setdefault(value, []).append(op)
    return 3 if all(rounded(users.get(op.result, ())) for op in powers) else 5


def rounded(users: Sequence[Op]) -> bool:
    """Are powers read only as f16 or bf16, and added up in f32?"""
    cut = [op for op in users if isinstance(op, arith.TruncF) and element_of(op.result.type) in ROUNDED]
    return bool(cut) and all(op in cut or sums(op) for op in users)


def sums(op: Op) -> bool:
    """Does it add up a tile?"""
    return isinstance(op, nv_tileas.Reduce) and isinstance(op.combiner.block.ops[0], arith.AddF)
