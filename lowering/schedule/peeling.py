"""Loops split where their masks are all true: the iterations in between have no comparisons and no selects.

    for j in [a, b): f(j, mask(j))    becomes    for [a, front): f(j, mask(j)); for [front, back): f(j, true);
                                                 for [back, b): f(j, mask(j))
One of the outer loops is left out if no peeled mask needs it. The loops pass on their carried values, including stages
and parities of rings, so every iteration does the same work as before. The split points are computed from the
conditions of masks.py, in i64, which no term overflows; products in flight are waited for between two loops. Source:
index-set splitting; the masked and unmasked steps of FlashAttention-3 (arXiv 2407.08608).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ir.core import PURE, Block, Builder, Op, Type, Value
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.cuda_tile import DenseElements
from ir.records import dataclass
from ir.types import I1, I64
from lowering.schedule.masks import SHAPES, Known, Linear, Masks, Range, constant
from lowering.schedule.rotation import copied


@dataclass(frozen=True)
class Split:
    """A loop, and the comparisons known in the middle iterations; `front`, `back`: whether a loop with all masks comes
    before, after.
    """

    loop: scf.For
    known: tuple[Known, ...]
    front: bool
    back: bool

    @property
    def rest(self) -> int:
        """Iterations, about, that keep the masks."""
        return sum(max((each.spread for each in self.known if each.later is later), default=0) for later in (0, 1))

    @property
    def loops(self) -> int:
        """Loops that it becomes."""
        return 1 + self.front + self.back


def ways(func: nv_tileas.Func) -> Iterator[list[Split]]:
    """For each innermost loop with masks, the possible splits: before the last iterations, after the first, both."""
    block = func.body.block
    ranges: dict[Value, Range] = {block.args[n]: (least, greatest) for n, least, greatest, _ in func.ranges}
    for loop in [op for op in func.walk() if isinstance(op, scf.For)]:
        if any(isinstance(op, scf.For | scf.While) for op in loop.walk() if op is not loop):
            continue
        masks = Masks(loop, ranges)
        found = list(masks.found())
        sides = [tuple(each for each in found if each.later is later) for later in (False, True)]
        options = [
            Split(loop, side, later, not later) for side, later in zip(sides, (False, True), strict=True) if side
        ]
        if all(sides):
            options.append(Split(loop, (*sides[0], *sides[1]), True, True))
        if options:
            copies = tuple(masks.copies())
            yield [replace(each, known=(*each.known, *copies)) if each.back else each for each in options]


def split(made: Split) -> scf.For:
    """Split a loop in place: it stays as the last one of them. Gives the one without masks."""
    loop, block, new = made.loop, made.loop.parent, Block()
    if block is None:
        raise ValueError("a loop is in a block")
    b = Builder(new, loop.location)
    front, back = Bounds(made, b).values()
    if made.front:
        hand_on(loop, duplicate(loop, front, b)[0], b)
    if made.back:
        middle, values = duplicate(loop, back, b)
        hand_on(loop, middle, b)
    else:
        middle, values = loop, {}
    believe(made, middle, values)
    place = block.ops.index(loop)
    block.ops[place:place] = new.ops
    for op in new.ops:
        op.parent = block
    return middle


def without_masks(made: Split) -> scf.For:
    """The loop as it is between, not put anywhere."""
    middle, values = duplicate(made.loop, made.loop.upper, Builder(Block()))
    believe(made, middle, values)
    return middle


def duplicate(loop: scf.For, upper: Value, b: Builder) -> tuple[scf.For, dict[Value, Value]]:
    """The loop once more, up to another bound; what its values are there."""
    values: dict[Value, Value] = {}
    made = b.add(
        scf.For, loop.lower, upper, loop.step, *loop.init, types=[r.type for r in loop.results],
        segments=loop.segments, regions=[copied(loop.body, values)], **loop.attributes,
    )  # fmt: skip
    return made, values


def hand_on(loop: scf.For, before: scf.For, b: Builder) -> None:
    """Let a loop continue where another has ended."""
    init: list[Value] = list(before.results)
    for place, end in enumerate(before.body.block.terminator.operands):
        product = end.op
        if isinstance(product, nv_tileas.Dot) and (product.in_flight or product.pending):
            b.location = product.location
            init[place] = b.value(nv_tileas.DotWait, init[place], types=[init[place].type], pending=0)
    b.location = loop.location
    loop.operands[0], loop.operands[3:] = before.upper, init


class Bounds:
    """Where the loops part, as values of the counter's type: each is one that the counter takes, or the upper bound."""

    def __init__(self, made: Split, b: Builder):
        self.made, self.b, self.loop = made, b, made.loop
        self.lower, self.upper = self.wide(made.loop.lower), self.wide(made.loop.upper)
        self.step = constant(made.loop.step) or 1
        self.needs = list(dict.fromkeys(need for each in made.known for need in each.needs))

    def values(self) -> tuple[Value, Value]:
        """The first iteration without masks, and the first one behind those."""
        growing = [each for each in self.needs if each.slope > 0]
        falling = [each for each in self.needs if each.slope < 0]
        front, back = self.lower, self.upper
        guards = [self.rest(each) for each in self.needs if not each.slope]
        if self.made.front:
            for each in growing:
                front = self.op(arith.MaxSI, front, self.negative(self.over(each)))
        else:
            guards += [self.at(each, self.lower) for each in growing]
        if self.made.back:
            for each in falling:
                back = self.op(arith.MinSI, back, self.plus(self.over(each), 1))
        else:
            last = self.plus(self.upper, -1)
            guards += [self.at(each, last) for each in falling]
        for each in guards:  # where one is negative, there is nothing between
            holds = self.b.value(arith.CmpI, each, self.number(0), types=[I1], predicate="sge")
            if self.made.back:
                back = self.b.value(arith.Select, holds, back, self.lower)
            else:
                front = self.b.value(arith.Select, holds, front, self.upper)
        first = self.stop(front)
        last = self.stop(self.op(arith.MaxSI, back, first))
        return self.narrow(first), self.narrow(last)

    def stop(self, value: Value) -> Value:
        """The first number of the counter that is not below a value, or the upper bound."""
        end = self.op(arith.MaxSI, self.upper, self.lower)
        value = self.op(arith.MaxSI, self.op(arith.MinSI, value, end), self.lower)
        if self.step > 1:
            gone = self.plus(self.op(arith.SubI, value, self.lower), self.step - 1)
            steps = self.op(arith.MulI, self.divided(gone, self.step), self.number(self.step))
            value = self.op(arith.MinSI, self.op(arith.AddI, self.lower, steps), end)
        return value

    def over(self, need: Linear) -> Value:
        """What does not depend on the counter, divided by the slope, rounded down."""
        return self.divided(self.rest(need), abs(need.slope))

    def divided(self, value: Value, number: int) -> Value:
        """The quotient by a positive number, rounded down."""
        if number & number - 1 == 0:
            return self.op(arith.ShRSI, value, self.number(number.bit_length() - 1)) if number > 1 else value
        return self.op(arith.FloorDivSI, value, self.number(number))

    def at(self, need: Linear, counter: Value) -> Value:
        """What must not be negative, in one iteration."""
        return self.op(arith.AddI, self.rest(need), self.op(arith.MulI, counter, self.number(need.slope)))

    def rest(self, need: Linear) -> Value:
        """The part that does not depend on the counter."""
        total = self.number(need.low)
        for value, factor in need.terms:
            total = self.op(arith.AddI, total, self.op(arith.MulI, self.wide(value), self.number(factor)))
        return total

    def negative(self, value: Value) -> Value:
        """Its opposite."""
        return self.op(arith.SubI, self.number(0), value)

    def plus(self, value: Value, number: int) -> Value:
        """A sum with a number."""
        return self.op(arith.AddI, value, self.number(number))

    def op(self, cls: type[Op], *operands: Value) -> Value:
        """An operation of i64."""
        return self.b.value(cls, *operands)

    def number(self, value: int) -> Value:
        """An i64."""
        return self.b.value(arith.Constant, types=[I64], value=value)

    def wide(self, value: Value) -> Value:
        """An integer as i64."""
        return self.b.value(arith.ExtSI, value, types=[I64])

    def narrow(self, value: Value) -> Value:
        """An i64 as the counter's type."""
        return self.b.value(arith.TruncI, value, types=[self.loop.lower.type])


def believe(made: Split, middle: scf.For, values: Mapping[Value, Value]) -> None:
    """Rewrite the loop between, whose values are those of the split one but for `values`, by what is known there."""
    whole: dict[Op, bool] = {each.op: False for each in made.known}
    whole.update((each.op, True) for each in made.known if each.inside)
    for before, after in zip(list(made.loop.walk()), list(middle.walk()), strict=True):
        if isinstance(after, nv_tileas.AsyncTiledCopy) and before in whole:
            after.attributes.pop("ragged", None)
            if whole[before]:
                at_once(after)
    comparisons = [(each.op.result, each.truth) for each in made.known if isinstance(each.op, arith.CmpI)]
    assume(middle.body.block, {values.get(result, result): truth for result, truth in comparisons})


def at_once(op: nv_tileas.AsyncTiledCopy) -> None:
    """Let a copy compare nothing with the bounds of its array and of its loop."""
    op.attributes["inside"] = True
    if op.enable is not None:
        at = op.operands.index(op.enable)
        del op.operands[at]
        op.segments = (*op.segments[:2], 0, *op.segments[3:])


def assume(block: Block, known: Mapping[Value, bool]) -> None:
    """Rewrite a loop's body by what is known of some of its masks: selects become one of their arms."""
    masks, instead = dict(known), dict[Value, Value]()
    for op in [each for top in block.ops for each in top.walk()]:
        op.operands = [instead.get(v, v) for v in op.operands]
        if isinstance(op, arith.Select) and op.condition in masks:
            instead[op.result] = op.true_value if masks[op.condition] else op.false_value
        elif isinstance(op, SHAPES) and op.source in masks:
            masks[op.result] = masks[op.source]
        elif isinstance(op, arith.AndI | arith.OrI) and (op.lhs in masks or op.rhs in masks):
            one, other = (op.lhs, op.rhs) if op.lhs in masks else (op.rhs, op.lhs)
            if masks[one] is isinstance(op, arith.OrI):  # it alone decides
                masks[op.result] = masks[one]
            elif other in masks:
                masks[op.result] = masks[other]
            else:
                instead[op.result] = other
    literals(block, masks)
    drop_unused(block)


def literals(block: Block, masks: Mapping[Value, bool]) -> None:
    """What else reads a known mask reads a literal."""
    made: dict[tuple[Type, bool], nv_tileas.Constant] = {}
    for op in [each for top in block.ops for each in top.walk()]:
        for place, value in enumerate(op.operands):
            if value in masks and not any(r in masks for r in op.results):
                key = value.type, masks[value]
                if key not in made:
                    literal = DenseElements.of(masks[value], I1)
                    made[key] = nv_tileas.Constant((), [value.type], {"value": literal}, location=op.location)
                    made[key].parent = block
                op.operands[place] = made[key].result
    block.ops[:0] = made.values()


def drop_unused(block: Block) -> None:
    """Remove pure operations with unused results."""

    kept: list[Op] = []
    count: dict[Value, int] = {}
    for top in block.ops:
        for op in top.walk():
            for v in op.operands:
                count[v] = count.get(v, 0) + 1
    for op in reversed(block.ops):
        if op.effect is PURE and not any(count.get(r) for r in op.results):
            for v in op.operands:
                count[v] -= 1
        else:
            kept.append(op)
    block.ops[:] = kept[::-1]
