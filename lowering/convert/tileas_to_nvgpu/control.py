"""Counted loops and branches over registers: live-in values of their bodies are emitted before them."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Block, Region, Type, Value
from ir.dialects import nv_tileas, scf
from lowering.convert.tileas_to_nvgpu import agents, stores
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import EVERYWHERE
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.convert.tileas_to_nvgpu.tiles import ATOMS
from lowering.convert.tileas_to_nvgpu.uses import outer_values


def loop(x: Expander, op: scf.For) -> None:
    """A loop over registers: live-in values of the body are emitted before it."""
    emitter = x.emitter
    for value in outer_values(op):
        found = x.values.get(value)
        if isinstance(found, Registers):
            found.force()
    emitter.flush_pending_loads()  # the body may store, or use shared memory again
    bounds = x.scalars([op.lower, op.upper, op.step])
    body = op.body.block
    forms = [carried_form(argument, op) for argument in body.args[1:]]
    inits = [x.carried(v, form) for v, form in zip(op.init, forms, strict=True)]
    flat = [v for group in inits for v in group]
    inner = Block([bounds[0].type, *(v.type for v in flat)])
    outside, emitter.builder.block = emitter.builder.block, inner
    emitter.open.add(inner)
    emitter.depth += 1
    emitter.depth_of.update(dict.fromkeys(inner.args, emitter.depth))
    pending, emitter.pending = emitter.pending, []
    x.values[body.args[0]] = inner.args[0]
    x.bind(body.args[1:], forms, inits, inner.args[1:])
    emitter.scratch_read = EVERYWHERE  # readers of an earlier iteration may be unfinished
    stored = emitter.scratch_stored = emitter.scratch_stored or stores.started_in(op)
    _body(x, body, forms)
    emitter.pending = pending
    emitter.depth -= 1
    emitter.open.discard(inner)
    emitter.builder.block = outside
    made = emitter.builder.add(
        scf.For,
        *bounds,
        *flat,
        types=[v.type for v in flat],
        segments=(1, 1, 1, len(flat)),
        regions=[Region([inner])],
        **({"unsigned": True} if op.unsigned else {}),
    )
    for region in made.regions:
        region.parent = made
    if emitter.depth:
        emitter.depth_of.update(dict.fromkeys(made.results, emitter.depth))
    x.bind(op.results, forms, inits, made.results)
    emitter.scratch_read, emitter.scratch_stored = EVERYWHERE, stored


def _body(x: Expander, body: Block, forms: Sequence[tuple[int, ...] | None]) -> None:
    x.run(body.ops[:-1])
    ends = body.terminator.operands
    flat = [v for value, form in zip(ends, forms, strict=True) for v in x.carried(value, form)]
    x.emitter.flush_pending_loads()
    x.emitter.builder.add(scf.Yield, *flat, types=())


def carried_form(argument: Value, loop: scf.For) -> tuple[int, ...] | None:
    """Accumulators of tensor-core products are carried as fragments, everything else register by register.

    A value is such an accumulator if a product reads or defines it: it may be scaled before the product adds to it.
    """
    made = loop.body.block.terminator.operands[argument.index - 1].op
    for op in loop.body.block.ops:
        if isinstance(op, nv_tileas.Dot) and (op.c is argument or op is made):
            atom = ATOMS.get(op.atom)
            if atom is None:
                return agents.GROUP
            if atom.threads > 1:
                return atom.c_form
    return None


@lowers(scf.If)
def branch(x: Expander, op: scf.If) -> None:
    """A uniform branch; values used inside are emitted before it."""
    emitter = x.emitter
    for value in outer_values(op):
        found = x.values.get(value)
        if isinstance(found, Registers):
            found.force()
    emitter.flush_pending_loads()  # either side may store, or use shared memory again
    condition = x.scalar(op.condition)
    outside, regions, kinds, groups = emitter.builder.block, list[Region](), list[Type](), list[list[Value]]()
    emitter.depth += 1
    stored = emitter.scratch_stored or stores.started_in(op)
    for region in op.regions:
        emitter.scratch_stored = stored
        inner = emitter.builder.block = Block()
        emitter.open.add(inner)
        pending, emitter.pending = emitter.pending, []
        emitter.scratch_read = EVERYWHERE
        x.run(region.block.ops[:-1])
        groups = [x.carried(v, None) for v in region.block.terminator.operands]
        emitter.flush_pending_loads()
        emitter.builder.add(scf.Yield, *[v for g in groups for v in g], types=())
        emitter.pending = pending
        emitter.open.discard(inner)
        kinds = [v.type for g in groups for v in g]
        regions.append(Region([inner]))
    emitter.depth -= 1
    emitter.builder.block = outside
    made = emitter.builder.add(scf.If, condition, types=kinds, regions=regions)
    x.bind(op.results, [None] * len(op.results), groups, made.results)
    emitter.scratch_read, emitter.scratch_stored = EVERYWHERE, stored
