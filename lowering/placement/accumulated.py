"""Which products may accumulate in tensor memory: products of tiles that their own loop loads, starting from zero and
read after it.

Decided on the source program, like `ahead` and `held`: one warp then runs the loop, nothing in it needs registers, and
the other warps do not have its other results. If that loop is nested in others, for example over tile blocks, the warp
is a separate agent, which continues with the next tile while the others read this one. Other products are read from
tensor memory one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from egraph.encode import EncodedProgram
from egraph.skeleton import SkeletonLoop
from ir.checked import checked
from ir.core import PURE, Block, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import shape_of
from ir.types import TileType, TokenType
from lowering.layouts.elements import moved_bits
from lowering.layouts.tensor import takes
from lowering.placement.held import RENAMED, origin, zero
from lowering.skeletons.lagging import lags

Product = ct.MmaF | ct.MmaI | ct.MmaFScaled


def accumulated(program: EncodedProgram) -> Iterator[int]:
    """Numbers of such products whose factors are used as loaded."""
    return (program.number_of(op.results[0]) for op in adding_up(program) if not signs(op))


def negated(program: EncodedProgram) -> Iterator[int]:
    """Numbers of those with one factor negated first."""
    return (program.number_of(op.results[0]) for op in adding_up(program) if signs(op))


def scaled_sums(program: EncodedProgram) -> Iterator[int]:
    """Numbers of block-scaled products accumulated this way, with factors and scales used as loaded."""
    return (program.number_of(op.results[0]) for op in adding_up(program, program.factors) if not signs(op))


def adding_up(program: EncodedProgram, among: Iterable[Op] | None = None) -> Iterator[Product]:
    """Such products, of the plain ones or `among` others; one factor may be negated, but not changed otherwise."""
    loops = {item.op for item in program.skeleton.walk() if isinstance(item, SkeletonLoop) and not item.again}
    read = {value for op in program.entry.walk() for value in op.operands if not isinstance(value.type, TokenType)}
    for op in products(program) if among is None else among:
        assert isinstance(op, Product)
        if len(shape_of(op.acc)) != 2:
            continue
        loop = None if op.parent is None else op.parent.parent_op
        if loop in loops and (around(loop) or top(loop)) and adds_up(op, checked(loop, ct.For), read):
            yield op


def by_agent(program: EncodedProgram) -> dict[int, bool]:
    """Numbers of those whose loop is nested in others, including block-scaled ones."""
    found = (*adding_up(program), *adding_up(program, program.factors))
    return {program.number_of(op.results[0]): isinstance(op, ct.MmaFScaled) for op in found if around(above(op))}


def above(op: Op | None) -> Op | None:
    """The enclosing operation."""
    return None if op is None or op.parent is None else op.parent.parent_op


def top(loop: Op | None) -> bool:
    """Is a loop at top level?"""
    return isinstance(above(loop), ct.Entry)


def around(loop: Op | None) -> bool:
    """Is a loop nested in other loops, with nothing else around it but branches?"""
    found, each = False, above(loop)
    while isinstance(each, ct.For | ct.Loop | ct.If):
        found, each = found or not isinstance(each, ct.If), above(each)
    return found and isinstance(each, ct.Entry)


def rescaled(program: EncodedProgram) -> Iterator[tuple[int, int, int]]:
    """Numbers of products of a loop that add to its scaled carried value; of the carried value and of the factor."""
    for found in rescaling(program):
        product, carried, factor = map(program.number_of, found)
        yield product, carried, factor


def summed(program: EncodedProgram) -> Iterator[tuple[int, int]]:
    """Numbers of products that a loop only adds to a value that it carries, and of that value; not of those that one
    warp may accumulate in a loop of its own.
    """
    alone = {*adding_up(program)}
    for op in products(program):
        loop = above(op)
        carried = isinstance(loop, ct.For) and op.acc in loop.body.block.args[1:]
        if carried and op not in alone and op.parent is not None and added(op, op.acc, op.parent):
            yield program.number_of(op.results[0]), program.number_of(op.acc)


def seldom_scaled(program: EncodedProgram) -> Iterator[int]:
    """Numbers of such factors that are 1 in most steps, because the running level of the sums lags."""
    return (program.number_of(factor) for *_, factor in rescaling(program) if lags(factor))


def rescaling(program: EncodedProgram) -> Iterator[tuple[Value, Value, Value]]:
    """Such products, their carried values, and the factors."""
    for op in products(program):
        scaled, body = op.acc.op, op.parent
        if isinstance(scaled, ct.MulF) and body is not None and scaled.parent is body and plain(scaled):
            for carried, factor in (scaled.operands, scaled.operands[::-1]):
                if stays(op, scaled, carried, body):
                    yield op.results[0], carried, factor
                    break


def over_scores(program: EncodedProgram) -> Iterator[int]:
    """Numbers of products whose left factor is computed from another product of their block, and may overlay its
    accumulator.
    """
    for op in products(program):
        factor, block = op.lhs.type, op.parent
        if not isinstance(factor, TileType) or block is None or op not in block.ops:
            continue  # the alternative with scaled factors is not part of the program
        wanted = {op.lhs}
        for each in reversed(block.ops[: block.ops.index(op)]):
            if not wanted.intersection(each.results):
                continue
            wanted.update(v for inner in each.walk() for v in inner.operands)
            made = each.results[0].type if isinstance(each, ct.MmaF) else None
            if isinstance(made, TileType) and takes(made.shape, factor.shape, moved_bits(factor.element)):
                yield program.number_of(op.results[0])
                break


def plain(op: ct.MulF) -> bool:
    """Is a product rounded to nearest, with its subnormals?"""
    return op.rounding is ct.Rounding.NEAREST_EVEN and not op.flush_to_zero


def stays(op: ct.MmaF | ct.MmaI, scaled: ct.MulF, carried: Value, body: Block) -> bool:
    """Does a loop only scale its carried value, add a product to it, and carry the result?"""
    if carried not in body.args[1:] or scaled.operands.count(carried) != 1:
        return False
    return added(op, carried, body, (carried, scaled))


def added(op: ct.MmaF | ct.MmaI, carried: Value, body: Block, *before: tuple[Value, Op]) -> bool:
    """Does a loop use a carried value, and what it makes of it `before` the product, for nothing but the product, and
    carry the result?
    """
    loop, end, result = body.parent_op, body.terminator, op.results[0]
    if not isinstance(loop, ct.For):
        return False
    chain = (*before, (op.acc, op), (result, end))
    alone = all([each for each in loop.walk() if v in each.operands] == [user] for v, user in chain)
    return alone and end.operands[body.args.index(carried) - 1] is result and end.operands.count(result) == 1


def products(program: EncodedProgram) -> Iterator[ct.MmaF | ct.MmaI]:
    """The matrix products of the source, of two dimensions: batches have no layout in tensor memory."""
    return (op for op in program.source.values() if isinstance(op, ct.MmaF | ct.MmaI) and len(shape_of(op.acc)) == 2)


def read_alone(program: EncodedProgram) -> Iterator[int]:
    """Numbers of all other products, and of those for which an agent may turn out not to be possible."""
    others = {*accumulated(program)} - by_agent(program).keys()
    return (n for n in (program.number_of(op.results[0]) for op in products(program)) if n not in others)


def adds_up(op: Product, loop: ct.For, read: set[Value]) -> bool:
    """Is this product the loop's only use of tiles besides loading them, and its sum the only result that is read?"""
    body = loop.body.block
    if op.acc not in body.args or op.acc is body.args[0]:
        return False
    place = body.args.index(op.acc) - 1
    left = body.terminator.operands
    users = [each for each in body.ops if op.results[0] in each.operands]
    adders = [each for each in body.ops if op.acc in each.operands]
    carried = users == [body.terminator] and [v is op.results[0] for v in left].count(True) == 1
    others = [v for i, v in enumerate(loop.init_values) if i != place]
    aside = [*signs(op), *(unpacking(v, op) for v in op.operands)]
    return (
        carried
        and left[place] is op.results[0]
        and adders == [op]
        and zero(loop.init_values[place])
        and not any(v in read for i, v in enumerate(loop.results) if i != place)
        and all(scalar(v) for v in others)
        and all(loaded(v, body) for v in factors(op))
        and all(each is op or each in aside or quiet(each) for each in body.ops[:-1])
        and len(signs(op)) < 2
    )


def factors(op: Product) -> list[Value]:
    """The operands of a product except its addend; the packed bytes if a block-scaled one has f4 unpacked from them."""
    found = (v for v in op.operands if v is not op.acc)
    return [made.source if isinstance(made := unpacking(v, op), ct.Unpack) else v for v in found]


def unpacking(value: Value, op: Product) -> Op | None:
    """The operation that unpacks a factor of a block-scaled product, before it is permuted or reshaped."""
    made = origin(value).op
    return made if isinstance(op, ct.MmaFScaled) and isinstance(made, ct.Unpack) else None


def signs(op: Product) -> list[ct.NegF]:
    """The negations of a product's factors, directly before the product or before a renaming."""
    return [made for v in (op.lhs, op.rhs) if isinstance(made := origin(v).op, ct.NegF)]


def loaded(factor: Value, body: Block) -> bool:
    """Does the loop load a factor from a view, if only to negate it?"""
    made = origin(factor).op
    made = origin(made.operands[0]).op if isinstance(made, ct.NegF) and made.parent is body else made
    return isinstance(made, ct.LoadView) and made.parent is body


def quiet(op: Op) -> bool:
    """Does an op of the body load tiles, rename them, or compute scalars?"""
    renames = isinstance(op, (ct.LoadView, *RENAMED))
    return renames or (op.effect is PURE and not op.regions and all(scalar(v) for v in op.results))


def scalar(value: Value) -> bool:
    """Is a value not a tile of several elements?"""
    kind = value.type
    return isinstance(kind, TokenType) or not isinstance(kind, TileType) or kind.size == 1
