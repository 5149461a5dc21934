"""Scales of factors moved after the loops that accumulate their products, if reassociation is permitted.

    for k: acc = mmaf(ftof(mulf(ftof(a), broadcast(s))), b, acc)      for k: acc = mmaf(a, b, acc)
                                                                     acc * broadcast(s)
Of a scale that is the same along k, and from before the loop, the sum over k of (s a) b is s times that of a b. The
loop no longer converts and multiplies what it loads, so that the product can read it as copied.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.facts import WIDENING
from ir.core import Block, Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import element_type, shape_of
from ir.dialects.nv_tileas_tokens import within
from ir.records import dataclass
from ir.types import BF16, F16, F32, FloatType, IntType, TileType, Type
from lowering.skeletons.passes import ran, spread
from lowering.source.rewriting import Rewriter, constant
from lowering.source.unrolling import trips_of

EXACT_INTEGERS = 8
"""Bits of integers that every 16-bit float holds: bf16 has 8 bits of mantissa, with the leading one."""

SCALES = (F16, BF16, F32)
"""Element types of scales: what f32, in which sums are, holds."""


@dataclass(frozen=True)
class Scaled:
    """A factor of a product: what is scaled, numbers that the factor's type has; the scale, of size 1 along k."""

    plain: Value
    scale: Value


@dataclass(frozen=True)
class Product:
    """A product that a loop adds up: its place among what the loop carries, its scaled factors by operand."""

    op: ct.MmaF
    place: int
    factors: dict[int, Scaled]


def scales_behind(entry: ct.Entry) -> ct.Entry:
    """The entry with such scales behind its loops; the same one where it has none. Names, places and hints stay."""
    uses = Uses(entry)
    found = [(op, product) for op in entry.walk() if isinstance(op, ct.For) for product in scaled_products(op, uses)]
    return _Writer(found).entry(entry) if found else entry


class Uses(dict[Value, list[Op]]):
    """The operations that read each value."""

    def __init__(self, entry: ct.Entry):
        super().__init__()
        for op in entry.walk():
            for value in op.operands:
                self.setdefault(value, []).append(op)


def scaled_products(loop: ct.For, uses: Uses) -> Iterator[Product]:
    """Products with scaled factors that a loop only accumulates in f32, from zero."""
    last = loop.body.block.ops[-1]
    for place, (carried, init) in enumerate(zip(loop.body.block.args[1:], loop.init_values, strict=True)):
        following = last.operands[place]
        op = following.op
        if not isinstance(op, ct.MmaF) or op.acc is not carried or op.parent is not loop.body.block:
            continue
        alone = uses[carried] == [op] and uses[following] == [last]
        if alone and element_type(carried) == F32 and len(shape_of(carried)) == 2 and zero(init):
            operands = ((0, op.lhs, 1), (1, op.rhs, 0))
            scaled = {which: found for which, value, k in operands if (found := factor(value, k, loop)) is not None}
            if scaled:
                yield Product(op, place, scaled)


def factor(value: Value, k: int, loop: ct.For) -> Scaled | None:
    """A factor that is a product of a scale and of what its type holds, perhaps rounded to its type."""
    product = value.op.from_.op if isinstance(value.op, ct.FToF) else value.op
    if isinstance(product, ct.MulF):
        for plain, scale in ((product.lhs, product.rhs), (product.rhs, product.lhs)):
            small = narrowest(scale)
            if inside(small, loop) or shape_of(small)[k] != 1 or element_type(small) not in SCALES:
                continue
            kept = unconverted(plain, element_type(value))
            if kept is not None:
                return Scaled(kept, small)
    return None


def narrowest(value: Value) -> Value:
    """The tile that a value repeats."""
    while isinstance(value.op, ct.Broadcast):
        value = value.op.source
    return value


def unconverted(value: Value, wanted: Type) -> Value | None:
    """What a value is converted from, where `wanted` has all its numbers; of small integers the converted value itself,
    whose rounding to `wanted` is exact and packs two; None where some number may be too large for `wanted`.
    """
    source = value.op.from_ if isinstance(value.op, ct.FToF | ct.IToF) else value
    kind = element_type(source)
    if isinstance(kind, IntType):
        return value if 1 < kind.width <= EXACT_INTEGERS and wanted_holds(wanted) else None
    return next(
        (each for each in (source, value) if element_type(each) == wanted or (element_type(each), wanted) in WIDENING),
        None,
    )


def wanted_holds(kind: Type) -> bool:
    """Has a float format all integers of EXACT_INTEGERS bits?"""
    return isinstance(kind, FloatType) and kind.width >= 16


def inside(value: Value, loop: ct.For) -> bool:
    """Is a value made in a loop?"""
    return within(value.owner if isinstance(value.owner, Block) else value.owner.parent, loop.body.block)


def zero(value: Value) -> bool:
    """Is a tile a literal of zeros?"""
    op = value.op
    return isinstance(op, ct.Constant) and op.value.splat and not op.value.item


class _Writer(Rewriter):
    """Operations anew, some products of plain factors, and what their loops add up scaled behind them."""

    def __init__(self, found: list[tuple[ct.For, Product]]):
        super().__init__()
        self.products: dict[Op, Product] = {product.op: product for _, product in found}
        self.loops: dict[Op, list[Product]] = {}
        for loop, product in found:
            self.loops.setdefault(loop, []).append(product)

    def operation(self, op: Op, b: Builder) -> None:
        """One; a product of plain factors; a loop, whose sums are scaled behind it."""
        product = self.products.get(op)
        if product is None:
            super().operation(op, b)
        else:
            self.product(product, b)
        for each in self.loops.get(op, ()):
            assert isinstance(op, ct.For)
            self.scale(op, each, b)

    def product(self, product: Product, b: Builder) -> None:
        """The product, of factors that are converted where they must be."""
        operands = [self.new[value] for value in product.op.operands]
        for which, scaled in product.factors.items():
            operands[which] = converted(self.new[scaled.plain], product.op.operands[which].type, b)
        made = b.value(ct.MmaF, *operands, types=[product.op.result.type], **product.op.attributes)
        self.bind([product.op.result], [made])

    def scale(self, loop: ct.For, product: Product, b: Builder) -> None:
        """A sum times the scales of its factors; it is 0 where there were none, though a scale may be NaN."""
        result = loop.results[product.place]
        kind, found, certain = result.type, self.new[result], bool(trips_of(loop))
        for scaled in product.factors.values():
            small = TileType(shape_of(scaled.scale), F32)
            one = converted(self.new[scaled.scale], small, b)
            if not certain:
                iterates = spread(ran(loop, self.new, b), (), small.shape, b)
                one = b.value(ct.Select, iterates, one, constant(b, 1.0, small), types=[small])
            alike = one if small == kind else b.value(ct.Broadcast, one, types=[kind])
            found = b.value(ct.MulF, found, alike, types=[kind])
        self.new[result] = found


def converted(value: Value, kind: Type, b: Builder) -> Value:
    """A tile in a float type that has its numbers."""
    return value if value.type == kind else b.value(ct.FToF, value, types=[kind])
