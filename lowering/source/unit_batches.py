"""Products with a batch dimension of one as products of two dimensions, which all instructions have.

    mmaf(a [1, M, K], b [1, K, N], c [1, M, N])      reshape(mmaf(a [M, K], b [K, N], c [M, N]))
A sum that a loop carries for such a product alone is carried in two dimensions, so that nothing stands between it and
the product: it may then lie in tensor memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.source.rewriting import Rewriter
from lowering.source.unrolling import continues_early

Product: TypeAlias = "ct.MmaF | ct.MmaI | ct.MmaFScaled"
PRODUCTS = (ct.MmaF, ct.MmaI, ct.MmaFScaled)


def without_unit_batches(entry: ct.Entry) -> ct.Entry:
    """The entry with such products in two dimensions; the same one where it has none."""
    return _Writer(entry).entry(entry) if any(map(of_one, entry.walk())) else entry


def of_one(op: Op) -> bool:
    """Is this a product with a batch dimension of one?"""
    return isinstance(op, PRODUCTS) and cast(TileType, op.acc.type).shape[:-2] == (1,)


class _Writer(Rewriter):
    """Operations anew, such products in two dimensions. `sums`: places of sums that loops carry for them alone,
    `carried`: these sums at the end of an iteration; `flat`: what a sum in two dimensions is called.
    """

    def __init__(self, entry: ct.Entry):
        super().__init__()
        self.sums = {op: places for op in entry.walk() if isinstance(op, ct.For) and (places := [*carried(op)])}
        self.carried = {op.body.block.terminator.operands[i] for op, places in self.sums.items() for i in places}
        self.flat: dict[Value, Value] = {}

    def operation(self, op: Op, b: Builder) -> None:
        """One: a product with a batch of one, a loop that carries its sum, or another, as it is."""
        if isinstance(op, ct.For) and op in self.sums:
            self.loop(op, self.sums[op], b)
        elif isinstance(op, PRODUCTS) and of_one(op):
            self.product(op, b)
        else:
            super().operation(op, b)

    def product(self, op: Product, b: Builder) -> None:
        """A product of two dimensions, and its result with the batch."""
        made = b.add(type(op), *(self.in_two(value, b) for value in op.operands), **op.attributes)
        self.flat[op.result] = made.result
        if op.result not in self.carried:
            self.bind([op.result], [b.value(ct.Reshape, made.result, types=[op.result.type])])

    def in_two(self, value: Value, b: Builder) -> Value:
        """A tile without its batch: of one whose other dimensions are permuted the source is reshaped, so that a
        permuted factor stays one.
        """
        if value in self.flat:
            return self.flat[value]
        made = value.op
        if isinstance(made, ct.Permute) and made.permutation[0] == 0:
            order = tuple(d - 1 for d in made.permutation[1:])
            return b.value(ct.Permute, self.in_two(made.source, b), types=[in_two(value)], permutation=order)
        return b.value(ct.Reshape, self.new[value], types=[in_two(value)])

    def loop(self, loop: ct.For, places: list[int], b: Builder) -> None:
        """A loop that carries sums in two dimensions."""
        old = loop.body.block
        values = [self.in_two(v, b) if i in places else self.new[v] for i, v in enumerate(loop.init_values)]
        bounds = [self.new[each] for each in (loop.lower_bound, loop.upper_bound, loop.step)]
        body = Block([old.args[0].type, *(value.type for value in values)])
        for before, after in zip(old.args, body.args, strict=True):
            after.name = after.name or before.name
            (self.flat if before.index - 1 in places and before.index else self.new)[before] = after
        inner = Builder(body, loop.location)
        self.operations(old.ops[:-1], inner)
        ends = old.terminator.operands
        inner.location = old.terminator.location
        inner.add(ct.Continue, *(self.flat[v] if i in places else self.new[v] for i, v in enumerate(ends)), types=())
        made = b.add(ct.For, *bounds, *values, types=[value.type for value in values], regions=[Region([body])],
                     segments=loop.segments, **loop.attributes)  # fmt: skip
        results = [
            b.value(ct.Reshape, result, types=[before.type]) if i in places else result
            for i, (before, result) in enumerate(zip(loop.results, made.results, strict=True))
        ]
        self.bind(loop.results, results)


def carried(loop: ct.For) -> Iterator[int]:
    """Places of sums that a loop carries for one product with a batch of one, and for nothing else."""
    body, reads = loop.body.block, [v for op in loop.walk() if op is not loop for v in op.operands]
    for place, (argument, end) in enumerate(zip(body.args[1:], body.terminator.operands, strict=True)):
        op = end.op
        sums = isinstance(op, PRODUCTS) and of_one(op) and op.acc is argument and op.parent is body
        if sums and not continues_early(loop) and reads.count(argument) == reads.count(end) == 1:
            yield place


def in_two(value: Value) -> TileType:
    """The type of a tile without its batch of one."""
    kind = cast(TileType, value.type)
    return TileType(kind.shape[1:], kind.element)
