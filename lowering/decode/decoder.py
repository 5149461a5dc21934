"""The chosen e-nodes as an nv_tileas program: every value where its operands allow it, effects in skeleton order.

A value is placed in the innermost loop that its operands need, so loop-invariant values are hoisted. Memory tokens are
resolved here: an access whose token orders it after another gets a barrier in between (the threads of a CTA then see
each other's writes), and loads that must precede a store are placed before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from egraph.facts import limits
from egraph.skeleton import Return, SkeletonBranch, SkeletonEffect, SkeletonLoop
from ir.core import Block, Builder, Type, Value
from ir.core import Region as OpRegion
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas, scf
from ir.types import IntType, TileType, TokenType
from lowering import launch
from lowering.decode import accesses
from lowering.decode.context import Decoder, Scope, lowers_effect, lowers_item
from lowering.decode.types import uniform_type
from lowering.selection import BRANCH, Selection


def decode(selection: Selection, name: str) -> nv_tileas.Func:
    """Build the placed program. Raises UnsupportedError, located, for operations without a per-thread form."""
    d = Decoder(selection)
    entry = d.program.entry
    block = Block([uniform_type(a.type) for a in entry.parameters])
    d.scopes.append(Scope(Builder(block, entry.location), 0))
    d.arguments = block.args
    d.region(d.program.skeleton)
    target = d.selection.target
    attributes = {
        "sym_name": name,
        "target": target.name,
        "warps": d.selection.warps,
        "params": launch.parameters(entry),
        "ranges": tuple(ranges(d, entry.parameters)),
        "asked_ctas": target.asked_ctas,
        "cluster": (entry.cluster, 1, 1),
    }
    return nv_tileas.Func((), (), attributes, [OpRegion([block])], entry.location)


def ranges(d: Decoder, parameters: Sequence[Value]) -> Iterator[tuple[int, int, int, int]]:
    """Parameters with assumptions that hold in every execution: the number, the least and the greatest value, a power
    of two that divides it.
    """
    for number, parameter in enumerate(parameters):
        kind, cls = parameter.type, d.frozen.class_of(d.program.number_of(parameter))
        if isinstance(kind, TileType) and isinstance(kind.element, IntType):
            whole = limits(kind.element.width)
            low, high = (
                d.frozen.analysis["low"].get(cls, whole[0]),
                d.frozen.analysis["high"].get(cls, whole[1]),
            )
            divisor = d.frozen.analysis["divisor"].get(cls, 1)
            if (*whole, 1) != (low, high, divisor) and low <= high:  # contradictory assumptions are ignored
                yield number, low, high, divisor


@lowers_item(SkeletonEffect)
def store(d: Decoder, item: SkeletonEffect) -> None:
    """An operation with an effect, in the layout that was chosen for it."""
    if not item.alone:
        d.before(item)
    if d.selection.stores[item.item].atom:
        accesses.store_staged(d, item)
    else:
        lowers_effect.of(item.op)(d, item.op, item)


@lowers_item(SkeletonLoop)
def loop(d: Decoder, item: SkeletonLoop) -> None:
    """A loop: counted, or a while loop that ends when its body exits."""
    op, builder = item.op, d.builder
    bounds = [] if item.again else [d.uniform(k) for k in (item.lower, item.upper, item.step)]
    indices = [i for i, kind in enumerate(item.types) if not isinstance(kind, TokenType)]
    inits = [d.value_at(item.inits[i], d.selection.carried[item.loop, i]) for i in indices]
    body = Block([*(v.type for v in bounds[:1]), *(v.type for v in inits)])
    depth = len(d.scopes)
    carried = body.args[len(bounds[:1]) :]
    d.loops[item.loop] = (depth, body.args[0] if bounds else None, dict(zip(indices, carried, strict=True)))
    inside = d.order.inside(item)
    d.scopes.append(Scope(Builder(body, op.location), depth, d.scopes[-1].open | inside, inside))
    d.region(item.body)
    yields = carried_on(d, [(item.yields[i], d.selection.carried[item.loop, i]) for i in indices])
    again = d.uniform(item.again) if item.again else None
    d.release()
    if again is not None:
        d.builder.add(scf.Condition, again, *yields, types=())
    else:
        d.builder.add(scf.Yield, *yields, types=())
    left = d.scopes.pop().open
    d.scopes[-1].open |= left  # in addition to those open before: the body may not have run
    builder.location = op.location
    types, regions = [v.type for v in inits], [OpRegion([body])]
    if item.again:
        made = builder.add(scf.While, *inits, types=types, regions=regions, segments=(len(inits),))
    else:
        made = builder.add(
            scf.For,
            *bounds,
            *inits,
            types=types,
            segments=(1, 1, 1, len(inits)),
            regions=regions,
            **({"unsigned": True} if cast(ct.For, op).unsigned_cmp else {}),
        )
    d.results.update({(item.loop, i): r for i, r in zip(indices, made.results, strict=True)})


def carried_on(d: Decoder, values: Sequence[tuple[int, int]]) -> list[Value]:
    """The carried values of a loop, numbers and layouts. Values that need no further product are emitted first: a row
    sum reads a tile that is also an operand of the next product, and leaves a column of it. Not if tiles do not fit
    anyway (swa_attention of TileGym on sm_120a: 260 registers of 201, 60 bytes spilled with this order and 4 without).
    """
    classes = [d.frozen.held_in[d.frozen.class_of(number), layout] for number, layout in values]
    needed = d.needs.products(classes, d.values)
    once = several = 0
    for cls in dict.fromkeys(classes):
        several |= once & needed[cls]
        once |= needed[cls]
    crowded = any(d.selection.spilled.values())
    for cls in sorted(classes, key=lambda cls: not crowded and bool(needed[cls] & ~several)):
        d.placed(cls)
    return [d.values[cls] for cls in classes]


@lowers_item(SkeletonBranch)
def branch(d: Decoder, item: SkeletonBranch) -> None:
    """A branch, both sides in scopes of their own."""
    op = item.op
    condition = d.uniform(item.condition)
    indices = [i for i, kind in enumerate(item.types) if not isinstance(kind, TokenType)]
    regions: list[OpRegion] = []
    types: list[Type] = []
    left: set[int] = set()
    sides = ((item.then, item.then_yields), (item.otherwise, item.otherwise_yields))
    for side, (region, yields) in zip(item.scopes, sides, strict=True):
        block = Block()
        d.sides[side] = len(d.scopes)
        d.scopes.append(Scope(Builder(block, op.location), len(d.scopes), set(d.scopes[-1].open)))
        before = set(d.values)
        d.region(region)
        values = [d.value_at(yields[i], d.selection.carried.get((BRANCH + item.item, i), 0)) for i in indices]
        d.release()
        d.builder.add(scf.Yield, *values, types=())
        types = [v.type for v in values]
        depth = len(d.scopes) - 1
        left |= d.scopes.pop().open
        del d.sides[side]
        for placed in set(d.values) - before:  # values inside are not visible after it
            if d.depth[placed] >= depth:
                del d.values[placed], d.depth[placed]
        regions.append(OpRegion([block]))
    d.scopes[-1].open |= left
    d.builder.location = op.location
    made = d.builder.add(scf.If, condition, types=types, regions=regions)
    for i, result in zip(indices, made.results, strict=True):
        d.effects[item.item, i] = (len(d.scopes) - 1, result)


@lowers_item(Return)
def end(d: Decoder, item: Return) -> None:
    """The end of the kernel."""
    d.builder.location = item.op.location
    d.release()
    d.builder.add(nv_tileas.Return, types=())
