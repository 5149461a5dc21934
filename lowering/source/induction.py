"""Carried values that grow by a constant in each iteration, computed from the loop counter for loads.

    for %i in (%lo to %hi, step 128) iter_values(%tile = %first)      %tile = %first + (%i - %lo) / 128
While carried, such a value determines the tile of the next iteration only, so no copy can be issued further ahead.
Source: LLVM's IndVarSimplify, which merges the induction variables of a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ir.bits import bit_pattern, number_of
from ir.core import PURE, Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.source.rewriting import Rewriter, constant
from lowering.source.unrolling import constant_of, continues_early

Grown = Mapping[int, int]
"""The increment of an iteration, by index of the carried value."""


def from_counters(entry: ct.Entry) -> ct.Entry:
    """The entry with such values computed; unchanged if it has none. Names, locations and hints stay."""
    plan: dict[Op, Grown] = {}
    for op in entry.walk():
        if isinstance(op, ct.For) and (found := dict(growing(op))):
            plan[op] = found
    if not plan:
        return entry
    return _Writer(plan, {value for op in entry.walk() for value in op.operands}).entry(entry)


def growing(loop: ct.For) -> Iterator[tuple[int, int]]:
    """Indices of carried values of the counter's type that grow by constants and that loads of the loop depend on, with
    the constants.
    """
    counter, *carried = loop.body.block.args
    if (constant_of(loop.step) or 0) <= 0 or continues_early(loop):
        return
    for place, (value, following) in enumerate(zip(carried, loop.body.block.ops[-1].operands, strict=True)):
        added = _added(value, following)
        if added is not None and value.type == counter.type and loaded_from(value, loop):
            yield place, added


def _added(value: Value, following: Value) -> int | None:
    """The difference to the next value, if it is a constant."""
    made = following.op
    if isinstance(made, ct.AddI | ct.SubI):
        left, right = made.operands
        if left is value and (known := constant_of(right)) is not None:
            return -known if isinstance(made, ct.SubI) else known
        if right is value and isinstance(made, ct.AddI):
            return constant_of(left)
    return None


def loaded_from(value: Value, loop: ct.For) -> bool:
    """Does a load of the loop depend on a value through arithmetic?"""
    made = {value}
    for op in loop.walk():
        if made.intersection(op.operands):
            if isinstance(op, ct.LoadView | ct.LoadPtr):
                return True
            if op.effect is PURE and not op.regions:
                made.update(op.results)
    return False


class _Writer(Rewriter):
    """Rewrites operations, with some carried values computed; `read` are the values with uses."""

    def __init__(self, plan: Mapping[Op, Grown], read: set[Value]):
        super().__init__()
        self.plan = plan
        self.read = read

    def operation(self, op: Op, b: Builder) -> None:
        """One, or a loop that carries less."""
        grown = self.plan.get(op)
        if isinstance(op, ct.For) and grown is not None:
            self.loop(op, grown, b)
        else:
            super().operation(op, b)

    def loop(self, loop: ct.For, grown: Grown, b: Builder) -> None:
        """Its body on computed values; it still carries only those that are read after it."""
        kept = [at for at, result in enumerate(loop.results) if at not in grown or result in self.read]
        counter, *carried = loop.body.block.args
        inner = Block([counter.type, *(carried[at].type for at in kept)])
        self.bind([counter, *(carried[at] for at in kept)], inner.args)
        inside = Builder(inner, loop.location)
        iteration = self.iteration(loop, inside)
        for at, added in grown.items():
            grew = self.scaled(iteration, added, inside)
            begin = self.new[loop.init_values[at]]
            self.new[carried[at]] = inside.value(ct.AddI, begin, grew, types=[begin.type])
        self.operations(loop.body.block.ops[:-1], inside)
        last = loop.body.block.ops[-1]
        inside.add(ct.Continue, *(self.new[last.operands[at]] for at in kept), types=())
        b.location = loop.location
        operands = [self.new[v] for v in (loop.lower_bound, loop.upper_bound, loop.step)]
        operands += [self.new[loop.init_values[at]] for at in kept]
        made = b.add(ct.For, *operands, types=[carried[at].type for at in kept], regions=[Region([inner])],
                     segments=(1, 1, 1, len(kept)), **loop.attributes)  # fmt: skip
        self.bind([loop.results[at] for at in kept], made.results)

    def iteration(self, loop: ct.For, b: Builder) -> Value:
        """The number of the iteration, from 0 on; exact, although the difference may overflow the sign."""
        found, step = self.new[loop.body.block.args[0]], constant_of(loop.step) or 1
        if constant_of(loop.lower_bound) != 0:
            found = b.value(ct.SubI, found, self.new[loop.lower_bound], types=[found.type])
        if step > 1:
            found = b.value(
                ct.DivI, found, self.constant(found, step, b), types=[found.type], signedness=ct.Signedness.UNSIGNED
            )
        return found

    def scaled(self, value: Value, factor: int, b: Builder) -> Value:
        """A multiple."""
        return value if factor == 1 else b.value(ct.MulI, value, self.constant(value, factor, b), types=[value.type])

    def constant(self, like: Value, number: int, b: Builder) -> Value:
        """A constant of a value's type, wrapped: negating the least number gives one outside the type."""
        kind: Any = like.type
        assert isinstance(kind, TileType)
        return constant(b, number_of(kind.element, bit_pattern(kind.element, number)), kind)
