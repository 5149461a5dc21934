"""Loops without a trip count: they continue while a condition computed by their body holds."""

from __future__ import annotations

from ir.core import Block, Region
from ir.dialects import scf
from lowering.convert.tileas_to_nvgpu import stores
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import EVERYWHERE
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.convert.tileas_to_nvgpu.uses import outer_values


@lowers(scf.While)
def loop(x: Expander, op: scf.While) -> None:
    """A loop until its condition fails, with carried values register by register."""
    emitter = x.emitter
    for value in outer_values(op):
        found = x.values.get(value)
        if isinstance(found, Registers):
            found.force()
    emitter.flush_pending_loads()
    body = op.body.block
    forms: list[tuple[int, ...] | None] = [None] * len(op.results)
    inits = [x.carried(v, None) for v in op.init]
    flat = [v for group in inits for v in group]
    inner = Block([v.type for v in flat])
    outside, emitter.builder.block = emitter.builder.block, inner
    emitter.open.add(inner)
    emitter.depth += 1
    emitter.depth_of.update(dict.fromkeys(inner.args, emitter.depth))
    pending, emitter.pending = emitter.pending, []
    x.bind(body.args, forms, inits, inner.args)
    emitter.scratch_read = EVERYWHERE  # readers of an earlier iteration may be unfinished
    stored = emitter.scratch_stored = emitter.scratch_stored or stores.started_in(op)
    x.run(body.ops[:-1])
    end = body.terminator
    again, *values = end.operands
    left = [v for value in values for v in x.carried(value, None)]
    condition = x.scalar(again)
    emitter.flush_pending_loads()
    emitter.builder.add(scf.Condition, condition, *left, types=(), segments=(1, len(left)))
    emitter.pending = pending
    emitter.depth -= 1
    emitter.open.discard(inner)
    emitter.builder.block = outside
    made = emitter.builder.add(
        scf.While, *flat, types=[v.type for v in flat], segments=(len(flat),), regions=[Region([inner])]
    )
    if emitter.depth:
        emitter.depth_of.update(dict.fromkeys(made.results, emitter.depth))
    x.bind(op.results, forms, inits, made.results)
    emitter.scratch_read, emitter.scratch_stored = EVERYWHERE, stored
