"""Loops whose steps are joined in pairs: two successive iterations that reduce neighbouring tiles become one that
reduces a tile of twice the size, and a remaining odd iteration runs as before.

    for j: m, l, o = step(K[j], V[j])       for i: m, l, o = step(K[2 i, 2 i + 1], V[2 i, 2 i + 1])
                                            for j from 2 * (trips / 2) on: m, l, o = step(K[j], V[j])
One wait, one maximum, one rescaling and half the products' instructions then serve both. What two steps give at once is
said in `step_folds`; here is how each value of both is computed: it is the same in both; or both side by side, along a
dimension of its tile; or the fold of both. Source: steps of 128 keys where D is 64 (FlashAttention-3, hopper).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from egraph.permissions import AFN, REASSOC
from ir.checked import checked
from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile import TileOp
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.records import dataclass
from ir.types import I1, IntType, PartitionViewType, TileType, Type
from lowering.cost import UNKNOWN_TRIPS
from lowering.skeletons.step_folds import PRODUCTS, StepFolds
from lowering.source.rewriting import Rewriter, constant, without_promises
from lowering.source.sliced_loops import Numbers, trips_between
from lowering.source.unrolling import constant_of, trips_of

PAIR = 2
FEWEST = 4
"""Iterations of a loop that is joined, where they are known: of fewer each is written once more."""

ODD = 0.5
"""Iterations that are left on average, where it is not known how many there are."""


class CannotJoinError(Exception):
    """Two iterations of a loop are not those of one with larger tiles."""


def levelled_steps(entry: ct.Entry) -> ct.Entry:
    """The entry with steps joined of products and of folds across their tiles, below levels that rise where they have
    some, where one may be left; the same one where it has none. Names, places and hints stay.
    """
    return steps_joined(entry, frozenset({REASSOC, AFN}), lambda folds: both_kinds(folds.loop) and may_leave(folds))


def even_steps(entry: ct.Entry) -> ct.Entry:
    """The same of loops all of whose steps are known to have a partner: no loop is written twice."""
    return steps_joined(entry, frozenset({REASSOC, AFN}), lambda folds: both_kinds(folds.loop) and not may_leave(folds))


def may_leave(folds: StepFolds) -> bool:
    """Can an iteration be without a partner? All are where a scale turns out to be negative."""
    trips = trips_of(folds.loop)
    return trips is None or trips % PAIR > 0 or bool(folds.scales)


def both_kinds(loop: ct.For) -> bool:
    """Has it products, and does it something else once a step, however large its tiles are? Loops that only add up
    products gain nothing by the tables: 128 x 128 x 32 on sm_90a costs 18,343 for 18,062, on sm_80 42,085 for 41,534.
    Rows in pieces gain nothing where an SM holds as many CTAs as registers allow (docs/benchmarks.md, "Rows in pieces,
    two at a time").
    """
    kinds = {type(op) for op in loop.body.block.ops}
    return ct.Reduce in kinds and not kinds.isdisjoint(PRODUCTS)


def steps_joined(
    entry: ct.Entry, given: frozenset[int], wanted: Callable[[StepFolds], bool] = lambda _: True
) -> ct.Entry:
    """The entry with steps of the wanted loops joined, where they need no more than some permissions."""
    plan = dict[Op, StepFolds]()
    for op in entry.walk():
        if isinstance(op, ct.For) and walkable(op):
            folds = StepFolds(op)
            if folds.found() and folds.needs <= given and wanted(folds):
                plan[op] = folds
    if not plan:
        return entry
    writer = _Writer(plan)
    made = writer.entry(entry)
    return made if writer.joined else entry


def walkable(loop: ct.For) -> bool:
    """Does a loop count from a number, by a number, and was not made for a number of iterations?"""
    lower, step, trips = constant_of(loop.lower_bound), constant_of(loop.step), trips_of(loop)
    enough = trips is None or trips >= FEWEST
    return lower is not None and lower >= 0 and step is not None and step > 0 and enough and not loop.expected


class _Writer(Rewriter):
    """Operations anew, some loops in pairs of steps."""

    def __init__(self, plan: Mapping[Op, StepFolds]):
        super().__init__()
        self.plan = plan
        self.joined = 0

    def operation(self, op: Op, b: Builder) -> None:
        """One, or the two loops that a loop becomes."""
        folds = self.plan.get(op)
        if folds is None:
            super().operation(op, b)
            return
        try:
            self.pairs(folds, b)
        except CannotJoinError:
            super().operation(op, b)

    def pairs(self, folds: StepFolds, b: Builder) -> None:
        """A loop over pairs of iterations, and one over the iteration that is left."""
        loop = folds.loop
        known, kind = trips_of(loop), checked(loop.body.block.args[0].type, TileType)
        before = Block()
        count = Numbers(Builder(before, loop.location), kind)
        values = [self.new[value] for value in loop.init_values]
        inner = Block([kind, *(value.type for value in values)])
        steps = Steps(folds, self, count.b, inner)
        held = [steps.same(value) for value in folds.last]  # nothing is written where steps cannot be joined
        inner.ops.sort(key=steps.place.__getitem__)
        steps.inside.add(ct.Continue, *held, types=())
        trips = count.constant(known) if known is not None else trips_between(loop, count, self.new)
        two = count.constant(PAIR)
        both = count.constant(known // PAIR) if known is not None else count.divided(trips, two)
        for scale in folds.scales:
            both = self.unless_negative(scale, both, count)
        zero, one, done = count.constant(0), count.constant(1), count.times(both, two)
        for op in before.ops:
            b.block.append(op)
        half, once = (UNKNOWN_TRIPS / PAIR, ODD) if known is None else (known / PAIR, max(ODD, known % PAIR))
        values = self.loop(loop, (zero, both, one), values, inner, b, expected=half)
        if may_leave(folds):
            inner = self.rest(folds, Block([kind, *(value.type for value in values)]))
            values = self.loop(loop, (done, trips, one), values, inner, b, expected=once)
        self.bind(loop.results, values)
        self.joined += 1

    def unless_negative(self, scale: Value, pairs: Value, count: Numbers) -> Value:
        """A number of pairs; none where a scale is negative: the rest then does all steps."""
        if scale not in self.new or shape(scale):
            raise CannotJoinError("a scale that may be negative differs by row")
        b, kind = count.b, checked(scale.type, TileType)
        proper = b.value(
            ct.CmpF,
            self.new[scale],
            constant(b, 0.0, kind),
            types=[TileType((), I1)],
            predicate=ct.Predicate.GREATER_THAN,
            ordering=ct.Ordering.ORDERED,
        )
        return b.value(ct.Select, proper, pairs, count.constant(0), types=[count.kind])

    def rest(self, folds: StepFolds, inner: Block) -> Block:
        """An iteration as it was, by its number (0 would be known, and done though it may not be there)."""
        body, inside = folds.loop.body.block, Builder(inner, folds.loop.location)
        number, *carried = inner.args
        count = Numbers(inside, checked(number.type, TileType))
        self.new[body.args[0]] = counted(folds.loop, count, number)
        self.bind(body.args[1:], carried)
        self.operations(body.ops, inside)
        return inner

    def loop(
        self, like: ct.For, bounds: Sequence[Value], values: Sequence[Value], body: Block, b: Builder, expected: float
    ) -> list[Value]:
        """What a loop with the marks of another carries at its end. `expected` iterations mark it as joined."""
        b.location = like.location
        made = b.add(
            ct.For,
            *bounds,
            *values,
            types=[value.type for value in values],
            regions=[Region([body])],
            segments=(1, 1, 1, len(values)),
            **like.attributes | {"expected": expected},
        )
        return list(made.results)


def counted(loop: ct.For, count: Numbers, number: Value) -> Value:
    """The counter of an iteration, by how many are before it."""
    step, lower = constant_of(loop.step) or 0, constant_of(loop.lower_bound) or 0
    number = number if step == 1 else count.times(number, count.constant(step))
    return count.more(number, count.constant(lower)) if lower else number


class Steps:
    """The values of two iterations at once. `place`: where the source has each operation of the pair."""

    def __init__(self, folds: StepFolds, writer: Rewriter, outside: Builder, body: Block):
        self.folds, self.loop, self.writer = folds, folds.loop, writer
        self.outside, self.inside = outside, Builder(body, folds.loop.location)
        self.counter, *carried = self.loop.body.block.args
        self.pair = body.args[0]
        writer.bind(carried, body.args[1:])
        self.order = {op: number for number, op in enumerate(self.loop.body.block.ops)}
        self.place: dict[Op, int] = {}
        self.made: dict[tuple[tuple[object, ...], Value], Value] = {}
        self.known: dict[tuple[str, Value, Any], Any] = {}
        self.step = constant_of(self.loop.step) or 0
        self.lower = constant_of(self.loop.lower_bound) or 0

    def once(self, form: tuple[object, ...], value: Value, make: Callable[[Builder], Value]) -> Value:
        """A value in one of its forms, created at the place of its source: in the loop or before it."""
        found = self.made.get((form, value))
        if found is not None:
            return found
        within = value.op in self.order or value is self.counter
        found = self.made[form, value] = make(self.inside if within else self.outside)
        place = -1 if value.op is None else self.order.get(value.op, -1)
        for op in reversed(self.inside.block.ops if within else []):
            if op in self.place:
                break
            self.place[op] = place
        return found

    def anew(self, op: Op, operands: Sequence[Value], kind: Type, b: Builder, **more: object) -> Value:
        """An operation on other operands, its first result of another type."""
        b.location = op.location
        types = [kind, *(result.type for result in op.results[1:])]
        regions = [self.writer.region(each) for each in op.regions]
        attributes = op.attributes | more
        return b.add(type(op), *operands, types=types, regions=regions, segments=op.segments, **attributes).results[0]

    def same(self, value: Value) -> Value:
        """What is the same in both iterations, or of their folds."""
        op = value.op
        if value is self.counter or (op in self.order and value.index):
            raise CannotJoinError("each step has its own")
        if op is None or op not in self.order:
            return self.writer.new[value]
        return self.once(("same",), value, lambda b: self.anew(op, self.folded(op), value.type, b))

    def folded(self, op: Op) -> list[Value]:
        """The operands of an operation that is done once for both steps; one may be the fold of both."""
        added = self.folds.added.get(op)
        if added is not None and isinstance(op, ct.MmaF | ct.MmaI):
            return self.product(op)
        return [self.both(each) if each is added else self.same(each) for each in op.operands]

    def product(self, op: ct.MmaF | ct.MmaI) -> list[Value]:
        """The operands of a product that both steps are added up in, one behind the other."""
        rank = len(shape(op.lhs))
        return [self.joined(op.lhs, rank - 1), self.joined(op.rhs, rank - 2), self.same(op.acc)]

    def both(self, value: Value) -> Value:
        """The fold of both steps."""
        op = value.op
        if op is None or op not in self.order:
            raise CannotJoinError("it is reduced twice")
        return self.once(("both",), value, lambda b: self.anew(op, self.of_both(op), value.type, b))

    def of_both(self, op: Op) -> list[Value]:
        """The operands of the fold of both steps."""
        match op:
            case ct.MmaF() | ct.MmaI():
                return self.product(op)
            case ct.Reduce():
                return [self.joined(op.operands[0], op.dim)]
            case ct.Reshape() | ct.Broadcast():
                return [self.both(op.source)]
            case ct.MulF():
                invariant = self.folds.invariant
                return [self.same(each) if invariant(each) else self.both(each) for each in op.operands]
            case _:
                raise CannotJoinError(f"'{op.name}' of a fold")

    def joined(self, value: Value, dim: int) -> Value:
        """Both steps side by side along a dimension."""
        if shape(value)[dim] < PAIR:
            raise CannotJoinError("a dimension of one element")
        if self.walks(value, dim) or self.uniform(value, dim):
            return self.stretched(value, dim)
        op = value.op
        if op is None or value.index or op not in self.order:
            raise CannotJoinError("it is not a tile of a step")
        kind = doubled(value.type, dim)
        return self.once(("joined", dim), value, lambda b: self.anew(op, self.operands(op, dim), kind, b))

    def operands(self, op: Op, dim: int) -> list[Value]:
        """What an operation takes to make both steps side by side."""
        match op:
            case ct.LoadView():
                return self.loaded(op, dim)
            case ct.MmaF() | ct.MmaI():
                return self.multiplied(op, dim)
            case ct.Reduce() if len(op.operands) == 1:
                return [self.joined(op.operands[0], dim + (dim >= op.dim))]
            case ct.Reshape() | ct.Broadcast() | ct.Permute():
                return [self.joined(op.operands[0], source_dim(op, dim))]
            case ct.LoadPtr():
                return [self.same(each) if each is op.token else self.joined(each, dim) for each in op.operands]
            case TileOp() if op.placement is ELEMENTWISE:
                return [self.joined(each, dim) for each in op.operands]
            case _:
                raise CannotJoinError(f"'{op.name}' of two steps")

    def multiplied(self, op: ct.MmaF | ct.MmaI, dim: int) -> list[Value]:
        """The operands of a product of twice as many rows, columns or tiles."""
        rank = len(shape(op.lhs))
        left = self.same(op.lhs) if dim == rank - 1 else self.joined(op.lhs, dim)
        right = self.same(op.rhs) if dim == rank - 2 else self.joined(op.rhs, dim)
        return [left, right, self.joined(op.acc, dim)]

    def loaded(self, op: ct.LoadView, dim: int) -> list[Value]:
        """The view in tiles of twice the size, and the index of that of a pair."""
        view, kind, number = op.view.op, op.view.type, self.linear(op.index[dim], None)
        if not isinstance(view, ct.MakePartitionView) or not isinstance(kind, PartitionViewType):
            raise CannotJoinError("tiles of another view")
        first = None if number is None or number.rest is None else number.rest + self.lower
        if number is None or first is None or number.counter * self.step != 1 or first % PAIR:
            raise CannotJoinError("successive tiles would have to begin at an even one")
        wide = replace(kind, tile=doubled(op.tile.type, dim).shape)
        larger = self.once(("view", dim), op.view, lambda b: self.anew(view, [self.same(view.tensor_view)], wide, b))
        index = [
            self.numbered(first // PAIR) if place == dim else self.same(each) for place, each in enumerate(op.index)
        ]
        return [larger, *index, *([self.same(op.token)] if op.token is not None else [])]

    def numbered(self, more: int) -> Value:
        """The number of a pair, and so many more."""
        count = Numbers(self.inside, checked(self.pair.type, TileType))
        return self.once(
            ("pair", more), self.counter, lambda _: count.more(self.pair, count.constant(more)) if more else self.pair
        )

    def stretched(self, value: Value, dim: int) -> Value:
        """A tile that goes on along a dimension as it began."""
        op = value.op
        assert op is not None  # it walks or is uniform
        more = {"value": ct.DenseElements(op.value.array.reshape(()))} if isinstance(op, ct.Constant) else {}
        kind = doubled(value.type, dim)
        return self.once(("stretched", dim), value, lambda b: self.anew(op, self.going_on(op, dim), kind, b, **more))

    def going_on(self, op: Op, dim: int) -> list[Value]:
        """The operands of a tile that goes on."""
        match op:
            case ct.Constant() | ct.Iota():
                return []
            case ct.Broadcast() if shape(op.source)[dim] == 1:
                return [self.first(op.source)]
            case ct.Reshape() | ct.Broadcast() | ct.Permute():
                return [self.stretched(op.operands[0], source_dim(op, dim))]
            case _:
                return [self.stretched(each, dim) for each in op.operands]

    def first(self, value: Value) -> Value:
        """What a value is in the first iteration of a pair."""
        if value is self.counter:
            return self.once(("first",), value, self.began)
        op = value.op
        if op is None or self.steady(value):
            return self.same(value)
        return self.once(("first",), value, lambda b: self.anew(op, [*map(self.first, op.operands)], value.type, b))

    def began(self, b: Builder) -> Value:
        """The counter of the first iteration of a pair."""
        count = Numbers(b, checked(self.counter.type, TileType))
        return counted(self.loop, count, count.times(self.pair, count.constant(PAIR)))

    def steady(self, value: Value) -> bool:
        """Is it the same in both iterations, or of their folds?"""
        return self.asked("steady", value, None, self._steady)

    def _steady(self, value: Value, _: int | None) -> bool:
        op = value.op
        if op is None or op not in self.order or op in self.folds.added:
            return value is not self.counter
        return all(map(self.steady, op.operands))

    def uniform(self, value: Value, dim: int) -> bool:
        """Is it the same in both iterations, and in all places along a dimension?"""
        return self.asked("uniform", value, dim, self._uniform)

    def _uniform(self, value: Value, dim: int) -> bool:
        match value.op:
            case ct.Constant() as op:
                return op.value.splat
            case ct.Broadcast() as op if shape(op.source)[dim] == 1:
                return self.steady(op.source)
            case ct.Reshape() | ct.Broadcast() | ct.Permute() as op:
                source = source_of(op, dim)
                return source is not None and self.uniform(op.operands[0], source)
            case TileOp() as op if op.placement is ELEMENTWISE:
                return all(self.uniform(each, dim) for each in op.operands)
            case _:
                return False

    def walks(self, value: Value, dim: int) -> bool:
        """Does it begin, in each iteration, where it ended in the one before?"""
        found = self.linear(value, dim)
        return found is not None and found.counter * self.step == found.place * shape(value)[dim] != 0

    def linear(self, value: Value, dim: int | None) -> Linear | None:
        """An integer in terms of the counter and of its place along a dimension; None where it is not linear."""
        return self.asked("linear", value, dim, self._linear)

    def _linear(self, value: Value, dim: int | None) -> Linear | None:
        if value is self.counter:
            return Linear(1, 0, 0)
        if not isinstance(value.type, TileType) or not isinstance(value.type.element, IntType):
            return None
        number = constant_of(value)
        if number is not None:
            return Linear(0, 0, number)
        value = without_promises(value)
        match value.op:
            case ct.Iota():
                return Linear(0, 1, 0) if dim == 0 else None
            case ct.Reshape() | ct.Broadcast() | ct.Permute() as op:
                if dim is None or (isinstance(op, ct.Broadcast) and shape(op.source)[dim] == 1):
                    return self.linear(op.operands[0], None)
                source = source_of(op, dim)
                return None if source is None else self.linear(op.operands[0], source)
            case ct.AddI() | ct.SubI() | ct.MulI() as op:
                left, right = self.linear(op.lhs, dim), self.linear(op.rhs, dim)
                return None if left is None or right is None else left.combined(op, right)
            case _:
                return Linear(0, 0, None) if dim is None and self.folds.invariant(value) else None

    def asked(self, what: str, value: Value, dim: object, find: Callable[[Value, Any], Any]) -> Any:
        """An answer, found once."""
        key = what, value, dim
        if key not in self.known:
            self.known[key] = find(value, dim)
        return self.known[key]


@dataclass(frozen=True)
class Linear:
    """counter x the loop's counter + place x the place along a dimension + the rest, where that is a number. Both sides
    of what is said of it wrap as its type does.
    """

    counter: int
    place: int
    rest: int | None

    def combined(self, op: ct.AddI | ct.SubI | ct.MulI, other: Linear) -> Linear | None:
        """Their sum or difference; their product, where one is a number."""
        if isinstance(op, ct.MulI):
            if self.number is None:
                return None if other.number is None else other.combined(op, self)
            return Linear(0, 0, 0).plus(other, self.number)
        return self.plus(other, -1 if isinstance(op, ct.SubI) else 1)

    @property
    def number(self) -> int | None:
        """It, where it is a number."""
        return None if self.counter or self.place else self.rest

    def plus(self, other: Linear, factor: int) -> Linear:
        """The sum with so many times another."""
        rest = None if self.rest is None or other.rest is None else self.rest + factor * other.rest
        return Linear(self.counter + factor * other.counter, self.place + factor * other.place, rest)


def shape(value: Value) -> tuple[int, ...]:
    """The sizes of a tile."""
    return value.type.shape if isinstance(value.type, TileType) else ()


def doubled(kind: Type, dim: int) -> TileType:
    """A tile of twice the size along a dimension."""
    kind = checked(kind, TileType)
    return TileType(tuple(PAIR * size if each == dim else size for each, size in enumerate(kind.shape)), kind.element)


def source_of(op: ct.Reshape | ct.Broadcast | ct.Permute, dim: int) -> int | None:
    """The dimension of the source that a dimension of the result is, as it is, of two elements or more."""
    if isinstance(op, ct.Permute):
        return op.permutation[dim]
    before, after = shape(op.source), shape(op.result)
    if isinstance(op, ct.Broadcast):
        return dim if before[dim] == after[dim] else None
    found = [p for p, size in enumerate(before) if size == after[dim] and prod(before[:p]) == prod(after[:dim])]
    return found[0] if found else None


def source_dim(op: ct.Reshape | ct.Broadcast | ct.Permute, dim: int) -> int:
    """The same of one that is to be there."""
    found = source_of(op, dim)
    if found is None:
        raise CannotJoinError("a dimension is cut")
    return found
