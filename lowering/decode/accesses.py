"""Effects with operands: stores, strong loads and updates, exchanges between CTAs, assertions and prints."""

from __future__ import annotations

from typing import Any

from egraph.accesses import MultimemAccess
from egraph.skeleton import SkeletonEffect
from ir.core import Type, Value
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from lowering.atoms.tma import reduction
from lowering.decode.context import Decoder, lowers_effect
from lowering.placement.printing import copies
from lowering.selection import StoreChoice, staged

SCOPES = {ct.Scope.TL_BLK: "cta", ct.Scope.DEVICE: "gpu", ct.Scope.SYS: "sys"}
"""PTX's name of each scope: a tile block is a CTA."""
KINDS = {
    ct.AtomicMode.AND: "and", ct.AtomicMode.OR: "or", ct.AtomicMode.XOR: "xor", ct.AtomicMode.ADD: "add",
    ct.AtomicMode.ADDF: "fadd", ct.AtomicMode.MAX: "smax", ct.AtomicMode.MIN: "smin", ct.AtomicMode.UMAX: "umax",
    ct.AtomicMode.UMIN: "umin", ct.AtomicMode.XCHG: "exch",
}  # fmt: skip
"""The name of each update in nvgpu.atomic."""


def ordering(order: ct.MemoryOrder, scope: ct.Scope | None) -> dict[str, Any]:
    """PTX's qualifiers; none for a weak access."""
    return {} if scope is None else {"order": order.text, "scope": SCOPES[scope]}


@lowers_effect(ct.LoadPtr)
def load(d: Decoder, op: ct.LoadPtr, item: SkeletonEffect) -> None:
    """A strong load through pointers."""
    choice, operands, kinds = result_of(d, op, item)
    segments = (1, int(op.mask is not None), int(op.padding_value is not None))
    order = ordering(op.order, op.scope)
    made = d.builder.add(
        nv_tileas.Gather, *operands, types=kinds, segments=segments, width=choice.width, ordered=True, **order
    )
    d.effects[item.item, 0] = (len(d.scopes) - 1, made.results[0])
    opened(d, item)


@lowers_effect(ct.AtomicRMW, ct.AtomicCAS)
def update(d: Decoder, op: ct.AtomicRMW | ct.AtomicCAS, item: SkeletonEffect) -> None:
    """An atomic update, and its result if used."""
    choice, operands, kinds = result_of(d, op, item)
    order = ordering(op.order, op.scope)
    values = 1 if isinstance(op, ct.AtomicRMW) else 2
    kind = KINDS[op.mode] if isinstance(op, ct.AtomicRMW) else "cas"
    if isinstance(op, MultimemAccess):
        kind, order = op.kind, dict[str, Any]({"order": "", "scope": ""}, **order)
    made = d.builder.add(
        nv_tileas.Atomic,
        *operands,
        types=kinds if d.used(item.item, 0) else (),
        segments=(1, values, int(op.mask is not None)),
        kind=kind,
        width=choice.width,
        **order,
    )
    if made.results:
        d.effects[item.item, 0] = (len(d.scopes) - 1, made.results[0])
    opened(d, item)


def result_of(
    d: Decoder, op: ct.LoadPtr | ct.AtomicRMW | ct.AtomicCAS, item: SkeletonEffect
) -> tuple[StoreChoice, list[Value], list[Type]]:
    """The form of an access, its operands, the type of its result; sets the location of the following ops."""
    choice = d.selection.stores[item.item]
    operands = [d.value_at(k, choice.layout) for k in item.placed]
    d.builder.location = op.location
    return choice, operands, [d.placed_type(op.result.type, choice.layout)]


def opened(d: Decoder, item: SkeletonEffect) -> None:
    """Record that the access of an item was added at the end of the innermost scope."""
    d.opened(d.order.store_id(item), len(d.scopes) - 1)


@lowers_effect(ct.StorePtr)
def store(d: Decoder, op: ct.StorePtr, item: SkeletonEffect) -> None:
    """A store through pointers."""
    choice = d.selection.stores[item.item]
    operands = [d.value_at(k, choice.layout) for k in item.operands[: 2 + (op.mask is not None)]]
    d.builder.location = op.location
    order = ordering(op.order, op.scope)
    d.builder.add(nv_tileas.Scatter, *operands, types=(), width=choice.width, **order)
    opened(d, item)


@lowers_effect(ct.StoreView)
def store_view(d: Decoder, op: ct.StoreView, item: SkeletonEffect) -> None:
    """A tile of a view from registers."""
    choice = d.selection.stores[item.item]
    value = d.value_at(item.operands[0], choice.layout)
    rest = [d.uniform(k) for k in item.operands[1 : -1 if op.token is not None else None]]
    d.builder.location = op.location
    d.builder.add(nv_tileas.TiledStore, value, *rest, types=(), bytes=choice.width)
    opened(d, item)


def store_staged(d: Decoder, item: SkeletonEffect) -> None:
    """Through shared memory: a store, or an update of a tile."""
    choice = d.selection.stores[item.item]
    value, place = staged(item)
    held = d.placed(d.frozen.native[d.frozen.class_of(value), choice.layout])
    rest = [d.uniform(k) for k in place]
    more: dict[str, Any] = {"reduction": kind} if (kind := reduction(item.op)) else {}
    d.builder.location = item.op.location
    d.builder.add(
        nv_tileas.StagedStore,
        held,
        *rest,
        types=(),
        shared=d.selection.oracle.shared(choice.shared),
        atom=choice.atom,
        bytes=choice.width,
        ordered=bool(d.order.of_store(item)),
        parts=choice.parts,
        **more,
    )
    opened(d, item)


@lowers_effect(nv_tileas.Exchange)
def exchange(d: Decoder, op: nv_tileas.Exchange, item: SkeletonEffect) -> None:
    """An exchange between the CTAs of a cluster, and where its results are known."""
    choice = d.selection.stores[item.item]
    operands = [d.value_at(k, choice.layout) for k in item.operands]
    kinds = [d.placed_type(result.type, choice.layout) for result in op.results]
    d.builder.location = op.location
    made = d.builder.add(
        nv_tileas.Exchange,
        *operands,
        types=kinds,
        segments=(len(operands), 0, 0),
        among=op.among,
        other=op.other,
        drained=choice.drained,
    )
    d.effects.update({(item.item, k): (len(d.scopes) - 1, result) for k, result in enumerate(made.results)})


@lowers_effect(ct.Assert)
def check(d: Decoder, op: ct.Assert, item: SkeletonEffect) -> None:
    """An assertion."""
    condition = d.value_at(item.operands[0], d.selection.stores[item.item].layout)
    at = d.builder.location = op.location
    where: dict[str, Any] = {"file": at.file, "line": max(at.line, 0)}
    d.builder.add(nv_tileas.Assert, condition, types=(), message=op.message, **where)


@lowers_effect(ct.Print)
def print_text(d: Decoder, op: ct.Print, item: SkeletonEffect) -> None:
    """A text with the elements of tiles."""
    args = [d.value_at(*place) for place in copies(item, d.selection.oracle, d.selection.stores[item.item].width)]
    d.builder.location = op.location
    d.builder.add(nv_tileas.Print, *args, types=(), segments=(len(args),), format=op.str_)
