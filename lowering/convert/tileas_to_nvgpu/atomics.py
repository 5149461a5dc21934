"""Atomic updates: one of the threads that hold replicas of an element performs the update and passes the old value
on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ir.core import Type, Value
from ir.dialects import nv_tileas, nvgpu, nvvm
from ir.types import IntType, TensorType, VectorType
from lowering.convert.tileas_to_nvgpu.compute import through_shared
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Held, Registers
from lowering.convert.tileas_to_nvgpu.views import access_type, owner, place_in, vector_of
from lowering.layouts.access import global_access
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout


@lowers(nv_tileas.Atomic)
def atomic(x: Expander, op: nv_tileas.Atomic) -> None:
    """One update an access; the old values, if used, in every thread."""
    emitter, pointers, values = x.emitter, x.tile(op.ptr), [x.tile(v) for v in op.values]
    mask = None if op.mask is None else x.tile(op.mask)
    shape = op.values[0].type.shape if isinstance(op.values[0].type, TensorType) else ()
    plan = global_access(pointers.layout, shape, max(0, len(shape) - 1), op.width)
    condition = owner(emitter, plan.free)
    old: dict[int, Value] = {}
    for access in plan.accesses:
        inside = emitter.both(None if mask is None else mask.scalar(access.registers[0]), condition)
        old |= update(emitter, op, pointers, values, access.registers, inside)
    if not op.results:
        return
    old |= {copy: old[original] for copy, original in plan.copies}
    result = Held(emitter, pointers.layout, values[0].element, [old[i] for i in range(pointers.count)])
    found = (
        through_shared(emitter, result, result.layout, replicated(result.layout, values[0].element))
        if (plan.free.thread)
        else result
    )
    x.values[op.results[0]] = found if shape else found.scalar(0)


def update(
    emitter: Emitter, op: nv_tileas.Atomic, pointers: Registers, values: Sequence[Registers],
    registers: Sequence[int], inside: Value | None,
) -> dict[int, Value]:  # fmt: skip
    """One update of consecutive elements; the old value of each register, if used."""
    kind = access_type(values[0].scalar_type, len(registers))
    given = [vector_of(emitter, v, registers) for v in values]
    guard = [] if inside is None else [inside]
    if op.kind.startswith("multimem."):
        return on_multicast(emitter, op, pointers.scalar(registers[0]), guard, given[0], registers)
    made = emitter.builder.add(
        nvgpu.Atomic,
        pointers.scalar(registers[0]),
        *guard,
        *given,
        types=[kind] * len(op.results),
        segments=(1, len(guard), len(given)),
        kind=op.kind,
        order=op.order,
        scope=op.scope,
    )
    if not made.results:
        return {}
    if len(registers) == 1:
        return {registers[0]: made.results[0]}
    return {r: emitter.extract(made.results[0], place_in(kind, i)) for i, r in enumerate(registers)}


LETTERS = {"add": "u", "min": "s", "max": "s", "umin": "u", "umax": "u", "and": "b", "or": "b", "xor": "b", "": "b"}
"""The letter of PTX's integer type for each reduction of multicast memory."""


def on_multicast(
    emitter: Emitter, op: nv_tileas.Atomic, at: Value, guard: Sequence[Value], given: Value, registers: Sequence[int]
) -> dict[int, Value]:
    """One multimem instruction: `given` is the stored value, or the passthrough of a load."""
    _, verb, reduction = (*op.kind.split("."), "")[:3]
    kind, element = given.type, given.type.element if isinstance(given.type, VectorType) else given.type
    held = f"{element}x2" if isinstance(kind, VectorType) else str(element)
    type_ = f"{LETTERS[reduction]}{element.width}" if isinstance(element, IntType) else held
    said: dict[str, Any] = {"type": type_, "order": op.order, "scope": op.scope}
    if verb == "st":
        emitter.effect(nvvm.MultimemSt, at, *guard, given, segments=(1, len(guard), 1), **said)
        return {}
    said["kind"] = reduction.removeprefix("u")
    if verb == "red":
        emitter.effect(nvvm.MultimemRed, at, *guard, given, segments=(1, len(guard), 1), **said)
        return {}
    kept = [given] if guard else []
    made = emitter.builder.add(
        nvvm.MultimemLdReduce, at, *guard, *kept, types=[kind], segments=(1, len(guard), len(kept)), **said
    ).results[0]
    if len(registers) == 1:
        return {registers[0]: made}
    return {r: emitter.extract(made, place_in(cast(VectorType, kind), i)) for i, r in enumerate(registers)}


def replicated(layout: Layout, element: Type) -> SharedLayout:
    """Scratch memory that holds a tile in the order of its elements."""
    return SharedLayout(tuple(1 << i for i in range(layout.bits)), layout.bits, element_bytes(element))
