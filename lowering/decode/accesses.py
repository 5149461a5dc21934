"""Accesses through pointers that stay in order and give a tile: strong loads and atomic updates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from egraph.accesses import MultimemAccess
from egraph.skeleton import SkeletonEffect
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from lowering.selection import StoreChoice

if TYPE_CHECKING:
    from lowering.decode.decoder import Decoder

SCOPES = {ct.Scope.TL_BLK: "cta", ct.Scope.DEVICE: "gpu", ct.Scope.SYS: "sys"}
"""PTX's name of each scope: a tile block is a CTA."""
KINDS = {
    ct.AtomicMode.AND: "and", ct.AtomicMode.OR: "or", ct.AtomicMode.XOR: "xor", ct.AtomicMode.ADD: "add",
    ct.AtomicMode.ADDF: "fadd", ct.AtomicMode.MAX: "smax", ct.AtomicMode.MIN: "smin", ct.AtomicMode.UMAX: "umax",
    ct.AtomicMode.UMIN: "umin", ct.AtomicMode.XCHG: "exch",
}  # fmt: skip
"""What nvgpu.atomic calls each update."""


def ordering(order: ct.MemoryOrder, scope: ct.Scope | None) -> dict[str, Any]:
    """PTX's qualifiers; none for a weak access."""
    return {} if scope is None else {"order": order.text, "scope": SCOPES[scope]}


def access(d: Decoder, item: SkeletonEffect, choice: StoreChoice) -> None:
    """The access, and where its result stands."""
    op = item.op
    assert isinstance(op, ct.LoadPtr | ct.AtomicRMW | ct.AtomicCAS)
    operands = [d.value_at(k, choice.layout) for k in item.placed]
    used = d.used(item.item, 0)
    kinds = [d.placed_type(op.result.type, choice.layout)]
    order = ordering(op.order, op.scope)
    d.builder.location = op.location
    if isinstance(op, ct.LoadPtr):
        segments = (1, int(op.mask is not None), int(op.padding_value is not None))
        made = d.builder.add(
            nv_tileas.Gather, *operands, types=kinds, segments=segments, width=choice.width, ordered=True, **order
        )
    else:
        values = 1 if isinstance(op, ct.AtomicRMW) else 2
        kind = KINDS[op.mode] if isinstance(op, ct.AtomicRMW) else "cas"
        if isinstance(op, MultimemAccess):
            kind, order = op.kind, dict[str, Any]({"order": "", "scope": ""}, **order)
        made = d.builder.add(
            nv_tileas.Atomic, *operands, types=kinds if used else (), segments=(1, values, int(op.mask is not None)),
            kind=kind, width=choice.width, **order,
        )  # fmt: skip
    if made.results:
        d.effects[item.item, 0] = (len(d.scopes) - 1, made.results[0])


def exchange(d: Decoder, item: SkeletonEffect, choice: StoreChoice) -> None:
    """What the CTAs of a cluster tell each other, and where it is known."""
    op = item.op
    assert isinstance(op, nv_tileas.Exchange)
    operands = [d.value_at(k, choice.layout) for k in item.operands]
    kinds = [d.placed_type(result.type, choice.layout) for result in op.results]
    d.builder.location = op.location
    made = d.builder.add(nv_tileas.Exchange, *operands, types=kinds, segments=(len(operands), 0, 0), among=op.among,
                         other=op.other, drained=choice.drained)  # fmt: skip
    d.effects.update({(item.item, k): (len(d.scopes) - 1, result) for k, result in enumerate(made.results)})
