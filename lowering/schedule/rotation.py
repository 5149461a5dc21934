"""Loops rotated by a product: the product of the next iteration is issued while this one uses its own.

    for j: S = Q K(j); rest(j, S)        becomes        S = Q K(first); for j: T = Q K(j + step); rest(j, S); S = T

The product and the copies of its factors depend only on the counter, so they can be issued one iteration early; the
last one is unused. flight.py places the waits. Source: FlashAttention-3 (arXiv 2407.08608, section 3.2); modulo
scheduling with two stages (Rau, MICRO 1994).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.core import PURE, Block, Builder, Op, Region, Value
from ir.dialects import arith, nv_tileas, scf
from ir.records import dataclass
from lowering.schedule.readers import readers_first
from lowering.schedule.rings import COPIES, Copy, slice_of
from lowering.targets import Target


@dataclass(frozen=True)
class Early:
    """A product of a loop and all of the body that it needs, in order; `brought` are all tiles that the loop copies."""

    product: nv_tileas.Dot
    ops: tuple[Op, ...]
    brought: tuple[nv_tileas.TiledCopy, ...]

    @property
    def copies(self) -> list[Op]:
        """The tiles that are copied for the product alone."""
        return [each for each in self.ops if isinstance(each, Copy)]


def find(loop: scf.For) -> Early | None:
    """The first product that may be issued one iteration early: one of two asynchronous products, which needs only the
    counter and tiles copied for it, and whose sum starts from a new value.
    """
    body = loop.body.block
    products = [op for op in loop.walk() if isinstance(op, nv_tileas.Dot)]
    brought = tuple(op for op in loop.walk() if isinstance(op, nv_tileas.TiledCopy))
    waited = all(
        each.read or each.kept for each in products
    )  # then what threads have written for them may be written again
    copies = [op for op in loop.walk() if isinstance(op, COPIES if waited else (*COPIES, nv_tileas.Hold))]
    if len(products) != 2 or len(brought) < len(copies) or not set(brought) <= set(body.ops):
        return None
    if not all(each in body.ops and runs_on(each) for each in products):
        return None
    ops = needed(products[0], body)
    if ops is None or not alone(ops, products[0], body):
        return None
    return Early(products[0], tuple(ops), brought)


def runs_on(dot: nv_tileas.Dot) -> bool:
    """May a product run while its warps compute? Those of warpgroups, and what is read from tensor memory later."""
    return dot.read or dot.kept or (dot.atom.startswith("wgmma") and not dot.promote)


def needed(dot: nv_tileas.Dot, body: Block) -> list[Op] | None:
    """The ops of a body that a product needs, itself the last; None where they need what the loop carries, or do more
    than compute and copy.
    """
    wanted: set[Value] = set(dot.operands)
    found: list[Op] = [dot]
    for op in reversed(body.ops[: body.ops.index(dot)]):
        if wanted.intersection(op.results):
            ahead = isinstance(op, Copy) and op.asynchronous and not op.ordered
            if not ahead and (op.effect is not PURE or op.regions):
                return None
            found.append(op)
            wanted.update(op.operands)
    return None if wanted.intersection(body.args[1:]) else found[::-1]


def alone(ops: Sequence[Op], dot: nv_tileas.Dot, body: Block) -> bool:
    """Are tiles copied for the product alone, and does another product of the body come behind it?"""
    inside = set(ops)
    made = {r for op in ops if isinstance(op, Copy) for r in op.results}
    if not made:
        return False
    waiting = list(made)
    while waiting:
        value = waiting.pop()
        for user in body.ops:
            if value in user.operands and user is not dot:
                if user not in inside:
                    return False
                waiting += user.results
    return dot.result not in body.terminator.operands


def rotate(func: nv_tileas.Func, target: Target) -> int:
    """Rotate the loops of a placed kernel in place, each by one product; how many could be."""
    blocks = [block for op in list(func.walk()) for region in op.regions for block in region.blocks]
    rings = max((op.ring for op in func.walk() if isinstance(op, nv_tileas.TiledCopy)), default=0)
    count = 0
    for block in blocks:
        count += rotate_block(block, rings + count + 1)
    for dot in (
        [op for op in func.walk() if isinstance(op, nv_tileas.Dot) and not (op.read or op.kept)] if count else ()
    ):
        readers_first(dot, target, func.warps)
    return count


def rotate_block(block: Block, ring: int) -> int:
    """Rotate the loops of a block that can be; what they make early comes from rings numbered from `ring` on."""
    loops = [op for op in block.ops if isinstance(op, scf.For)]
    marked = [op for op in loops if any(isinstance(each, nv_tileas.Dot) and each.early for each in op.body.block.ops)]
    plans = [(op, find(op)) for op in marked]
    able = [(loop, found) for loop, found in plans if found is not None]
    for number, (loop, found) in enumerate(able, ring):
        before = Block()
        rotate_loop(loop, found, number, Builder(before, loop.location))
        place = block.ops.index(loop)
        block.ops[place:place] = before.ops
        for op in before.ops:
            op.parent = block
    return len(able)


def rotate_loop(loop: scf.For, found: Early, ring: int, b: Builder) -> None:
    """Rewrite a loop in place; the product of its first iteration is built before it. The tiles of early products come
    from a ring of their own, which is an iteration ahead of that of the others.
    """
    body, dot = loop.body.block, found.product
    for copy in found.copies:
        copy.attributes["ring"] = ring
    dot.attributes.pop("early", None)
    first = cloned(found.ops, {body.args[0]: loop.lower}, b)
    inner = Block([*(a.type for a in body.args), dot.result.type])
    values: dict[Value, Value] = dict(zip(body.args, inner.args, strict=False))
    inside = Builder(inner, loop.location)
    dropped = {dot, *found.copies}
    used = set(users(body, dropped))
    head = before_waiting(body, found)
    ahead = {**values}
    values[dot.result] = inner.args[-1]
    cloned([op for op in body.ops[:-1] if op in used and op in head], values, inside)
    inside.location = loop.location
    ahead[body.args[0]] = inside.value(arith.AddI, inner.args[0], loop.step)
    cloned(found.ops, ahead, inside)
    behind = others(body, found) - head
    cloned([op for op in body.ops if op in used and op in behind], values, inside)
    cloned([op for op in body.ops[:-1] if op in used and op not in head | behind], values, inside)
    inside.location = body.terminator.location
    inside.add(scf.Yield, *(values.get(v, v) for v in body.terminator.operands), ahead[dot.result], types=())
    loop.regions = [Region([inner])]
    loop.regions[0].parent = loop
    loop.operands.append(first[dot.result])
    loop.segments = (1, 1, 1, len(loop.init) + 1)
    loop.results.append(Value(dot.result.type, loop, len(loop.results)))


def before_waiting(body: Block, found: Early) -> set[Op]:
    """What a body does with the product before it waits for anything: up to its first reduction."""
    reduce = next((op for op in body.ops if isinstance(op, nv_tileas.Reduce)), None)
    if reduce is None:
        return set()
    wanted: set[Value] = set(reduce.operands)
    head: set[Op] = {reduce}
    for op in reversed(body.ops[: body.ops.index(reduce)]):
        if wanted.intersection(op.results) and op is not found.product:
            head.add(op)
            wanted.update(v for each in op.walk() for v in each.operands)
    return head if all(op.effect is PURE for op in head) else set()


def others(body: Block, found: Early) -> set[Op]:
    """What brings the tiles of other products, if they are known ahead. They are waited for right behind the early one:
    the wait is a loop, which ptxas 13.5 mixes no code across; without one it puts the exponentials among the products.
    """
    copies = [op for op in found.brought if op not in found.copies]
    slices = {op: slice_of(op.operands, body) for op in copies}
    return {each for op, made in slices.items() if made is not None for each in (*made, op)}


def users(body: Block, dropped: set[Op]) -> Iterator[Op]:
    """The ops of a body that those which stay need."""
    wanted: set[Value] = set(body.terminator.operands)
    for op in reversed(body.ops[:-1]):
        if op not in dropped and (op.effect is not PURE or op.regions or wanted.intersection(op.results)):
            yield op
            wanted.update(v for each in op.walk() for v in each.operands)


def cloned(ops: Sequence[Op], values: dict[Value, Value], b: Builder) -> dict[Value, Value]:
    """The ops once more, `values` for their operands; what they make now."""
    for op in ops:
        values.update(zip(op.results, clone(op, values, b).results, strict=True))
    return values


def clone(op: Op, values: dict[Value, Value], b: Builder) -> Op:
    """An op once more."""
    b.location = op.location
    regions = [copied(each, values) for each in op.regions]
    return b.add(
        type(op), *(values.get(v, v) for v in op.operands), types=[r.type for r in op.results], segments=op.segments,
        regions=regions, **op.attributes,
    )  # fmt: skip


def copied(region: Region, values: dict[Value, Value]) -> Region:
    """A region once more."""
    blocks: list[Block] = []
    for block in region.blocks:
        inner = Block([a.type for a in block.args])
        values.update(zip(block.args, inner.args, strict=True))
        cloned(block.ops, values, Builder(inner))
        blocks.append(inner)
    return Region(blocks)
