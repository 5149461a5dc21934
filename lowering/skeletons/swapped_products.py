"""Products with fewer rows than an instruction, computed transposed: a b = (b' a')', ' the transpose.

    for k: acc = mmaf(a, b, acc)        for k: acc' = mmaf(b', a', acc')        acc = permute(acc')
A warpgroup's product has 64 rows, one in tensor memory 64 or 128, a warp's 16; all have as few columns as 8. The 16
rows of a decoding step fill none of the first two, as columns they do. Transposes are layouts: nothing moves. Exact: a
product's terms are the same, and no program may count on the order of their sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ir.checked import checked
from ir.core import Block, Builder, Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.dialects.cuda_tile.constraints import TileOp, shape_of
from ir.types import TileType
from lowering.atoms import mma, tcgen05, wgmma
from lowering.skeletons.scaled_products import Uses
from lowering.source.rewriting import Rewriter
from lowering.source.unrolling import continues_early
from lowering.targets.target import Feature, Target

if TYPE_CHECKING:
    from lowering.selection import Selection

Product = ct.MmaF | ct.MmaI


class Height(NamedTuple):
    """Rows of an instruction; `apart`: it adds up in tensor memory, so that what threads read in each step
    (attention's scores) they would have to reduce across lanes.
    """

    rows: int
    apart: bool = False


HEIGHTS = {
    Feature.TCGEN05: (Height(tcgen05.M, apart=True), Height(tcgen05.FEW, apart=True)),
    Feature.WGMMA: (Height(wgmma.M),),
    Feature.MMA_SYNC: (Height(max(atom.shape[0] for atom in mma.MMA_ATOMS)),),
}
"""Those of the products of a family."""


def heights_of(found: Selection) -> tuple[Height, ...]:
    """Heights of products that the target of a chosen program has."""
    return heights(found.target)


def heights(target: Target) -> tuple[Height, ...]:
    """Heights of products that a target has, the tallest first."""
    return tuple(each for feature, found in HEIGHTS.items() if target.has(feature) for each in found)


def swapped(entry: ct.Entry, tall: tuple[Height, ...]) -> ct.Entry:
    """The entry with products swapped that so fill an instruction of some height, and do not as they are; the same one
    where it has none. Names, places and hints stay.
    """
    uses = Uses(entry)
    products: set[Op] = {op for op in entry.walk() if isinstance(op, Product) and lies(op, tall, uses)}
    return _Writer(entry, products).entry(entry) if products else entry


def lies(op: Product, tall: tuple[Height, ...], uses: Uses) -> bool:
    """Does a product have as many columns as some instruction has rows, but not the rows? In tensor memory only where
    a loop does nothing but add it up.
    """
    *_, m, n = shape_of(op.result)
    return any(m < each.rows <= n and (not each.apart or added_up(op, uses)) for each in tall)


def added_up(op: Product, uses: Uses) -> bool:
    """Does a loop add a product to what it carries, and nothing else with it?"""
    block = op.acc.owner
    loop = block.parent_op if isinstance(block, Block) else None
    if not isinstance(loop, ct.For) or not isinstance(block, Block):
        return False
    last, place = block.ops[-1], block.args.index(op.acc) - 1
    return last.operands[place] is op.result and uses[op.acc] == [op] and uses[op.result] == [last]


def turned_values(products: set[Op]) -> Iterator[Value]:
    """What is computed transposed: what products add to, what elementwise operations make that of, and what loops carry
    of it.
    """
    waiting = [op.operands[2] for op in products]
    seen: set[Value] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        yield value
        loop = value.owner.parent_op if isinstance(value.owner, Block) else None
        if isinstance(loop, ct.For) and not continues_early(loop):
            place = loop.body.block.args.index(value) - 1
            waiting += [loop.init_values[place], loop.body.block.ops[-1].operands[place]]
        elif value.op is not None and elementwise(value.op):
            waiting += value.op.operands


def elementwise(op: Op) -> bool:
    """Computes each element of a tile from the elements of tiles of its shape?"""
    return (
        isinstance(op, TileOp)
        and op.placement == ELEMENTWISE
        and len(op.results) == 1
        and all(shape_of(value) == shape_of(op.results[0]) for value in op.operands)
    )


class _Writer(Rewriter):
    """Operations anew, some products swapped; `turned` are values whose transposes are at hand, `read` those that
    something reads as they are.
    """

    def __init__(self, entry: ct.Entry, products: set[Op]):
        super().__init__()
        self.products = products
        self.wanted = set(turned_values(products))
        self.turned: dict[Value, Value] = {}
        self.read = {value for op in entry.walk() for value in self.read_by(op)}

    def operation(self, op: Op, b: Builder) -> None:
        """One; a product or what it adds to transposed, and the value as a transpose of that."""
        if op in self.products:
            self.product(op, b)
        elif isinstance(op, ct.For) and self.places(op):
            self.loop(op, self.places(op), b)
        elif self.turns(op):
            operands = [self.transposed(value, b) for value in op.operands]
            kind = transpose(op.results[0].type)
            self.bind_transposed(op.results[0], b.value(type(op), *operands, types=[kind], **op.attributes), b)
        else:
            super().operation(op, b)

    def turns(self, op: Op) -> bool:
        """Is an elementwise operation done on transposes?"""
        return len(op.results) == 1 and op.results[0] in self.wanted and elementwise(op)

    def read_by(self, op: Op) -> Iterator[Value]:
        """What an operation reads that is not transposed."""
        loop = op.parent.parent_op if isinstance(op, ct.Continue) and op.parent is not None else op
        if isinstance(loop, ct.For):
            carried = op.operands if isinstance(op, ct.Continue) else loop.init_values
            turned = self.places(loop)
            yield from (value for place, value in enumerate(carried) if place not in turned)
            yield from () if isinstance(op, ct.Continue) else op.operands[:3]
        elif op not in self.products and not self.turns(op):
            yield from op.operands

    def places(self, loop: ct.For) -> list[int]:
        """Which of the values that a loop carries it carries transposed."""
        return (
            []
            if continues_early(loop)
            else [place for place, value in enumerate(loop.body.block.args[1:]) if value in self.wanted]
        )

    def product(self, op: Op, b: Builder) -> None:
        """The product of the transposed factors in the other order."""
        lhs, rhs, acc = (self.transposed(value, b) for value in op.operands)
        attributes = dict(op.attributes)
        if isinstance(op, ct.MmaI):
            attributes.update(signedness_lhs=op.signedness_rhs, signedness_rhs=op.signedness_lhs)
        made = b.value(type(op), rhs, lhs, acc, types=[transpose(op.results[0].type)], **attributes)
        self.bind_transposed(op.results[0], made, b)

    def loop(self, loop: ct.For, places: list[int], b: Builder) -> None:
        """A loop that carries some values transposed."""
        inits = [
            self.transposed(value, b) if place in places else self.new[value]
            for place, value in enumerate(loop.init_values)
        ]
        inner = Block([loop.body.block.args[0].type, *(value.type for value in inits)])
        inside = Builder(inner, loop.location)
        self.new[loop.body.block.args[0]] = inner.args[0]
        for place, (before, after) in enumerate(zip(loop.body.block.args[1:], inner.args[1:], strict=True)):
            after.name = before.name
            if place in places:
                self.bind_transposed(before, after, inside)
            else:
                self.new[before] = after
        self.operations(loop.body.block.ops[:-1], inside)
        last = [
            self.transposed(value, inside) if place in places else self.new[value]
            for place, value in enumerate(loop.body.block.ops[-1].operands)
        ]
        inside.add(ct.Continue, *last, types=())
        b.location = loop.location
        bounds = [self.new[value] for value in (loop.lower_bound, loop.upper_bound, loop.step)]
        made = b.add(
            ct.For,
            *bounds,
            *inits,
            types=[value.type for value in inits],
            regions=[Region([inner])],
            segments=(1, 1, 1, len(inits)),
            **loop.attributes,
        )
        for place, (before, after) in enumerate(zip(loop.results, made.results, strict=True)):
            if place in places:
                self.bind_transposed(before, after, b)
            else:
                self.bind([before], [after])

    def transposed(self, value: Value, b: Builder) -> Value:
        """The transpose of a value."""
        found = self.turned.get(value)
        if found is not None:
            return found
        if isinstance(value.op, ct.Constant) and value.op.value.splat:
            return b.value(ct.Constant, types=[transpose(value.type)], value=value.op.value)
        return permuted(self.new[value], b)

    def bind_transposed(self, old: Value, new: Value, b: Builder) -> None:
        """A new value that is the transpose of an old one."""
        self.turned[old] = new
        if old in self.read:
            self.new[old] = permuted(new, b)


def transpose(kind: object) -> TileType:
    """The type of the transpose, of the last two dimensions, of a tile."""
    tile = checked(kind, TileType)
    *batch, m, n = tile.shape
    return TileType((*batch, n, m), tile.element)


def permuted(value: Value, b: Builder) -> Value:
    """The transpose of the last two dimensions."""
    *batch, m, n = range(len(shape_of(value)))
    return b.value(ct.Permute, value, types=[transpose(value.type)], permutation=(*batch, n, m))
