"""scf to branches: loops with the test at the bottom, guarded once where they may run zero times."""

from __future__ import annotations

from ir.core import Block, Op, Value
from ir.dialects import gpu, llvm, nvgpu, nvvm, scf
from ir.types import I32, IntType
from lowering.convert.nvgpu_to_nvvm import comparisons
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of
from lowering.convert.nvgpu_to_nvvm.once import at_most_once
from lowering.convert.nvgpu_to_nvvm.rows import Rows
from lowering.convert.nvgpu_to_nvvm.values import register_types


def trip_count(c: Conversion, op: scf.For) -> int | None:
    """Number of iterations where bounds and step are constants."""
    bounds = [c.e.integer(c.register(v)) for v in op.operands[:3]]
    if any(b is None for b in bounds):
        return None
    lower, upper, step = (int(b or 0) for b in bounds)
    if op.unsigned:
        lower, upper, step = (each % (1 << width_of(c.register(op.lower))) for each in (lower, upper, step))
    return max(0, -(-(upper - lower) // step)) if step > 0 else None


@lowers(scf.For)
def loop(c: Conversion, op: scf.For) -> None:
    """scf.for -> guard, body with the test at its end, exit."""
    e, source = c.e, op.body.block
    trips = trip_count(c, op)
    inits = [c.registers(v) for v in op.init]
    if trips is not None and trips < 2:
        _unrolled(c, op, inits, trips)
        return
    lower = c.register(op.lower)
    yields = source.terminator.operands
    carried = [i for i, arg in enumerate(source.args[1:]) if yields[i] is not arg]
    start = [r for i in carried for r in inits[i]]
    body = Block([lower.type, *(r.type for r in start)])
    e.enter(body, True)
    c.define(source.args[0], [body.args[0]])
    if not op.unsigned:  # a body runs only below the upper bound, and the step is positive
        (low, _), (_, high) = (e.facts.range(c.register(v)) for v in (op.lower, op.upper))
        e.facts.assume(body.args[0], (low, high - 1))
    for i, registers in enumerate(inits):
        c.define(source.args[i + 1], registers)
    _bind(c, [source.args[i + 1] for i in carried], body.args[1:])
    c.ops(source.ops)
    _close(c, op, body, carried, start, trips is not None)


def _close(c: Conversion, op: scf.For, body: Block, carried: list[int], start: list[Value], runs: bool) -> None:
    """Emit the latch, the guard and the exit of a converted body; `runs` says at least one iteration is certain."""
    e, yields = c.e, op.body.block.terminator.operands
    lower, upper, step = (c.register(v) for v in op.operands[:3])
    rows: Rows | None = None
    following = [r for i in carried for r in c.registers(yields[i])]
    results = [r for i in carried for r in c.registers(op.init[i])]
    exit_block = Block([] if runs else [r.type for r in results])
    wait = None if runs else landing_wait(op)
    landing = None if wait is None else _landing(e, following, exit_block)
    out, left = ([] if runs or landing else following), landing or exit_block
    if at_most_once(e, lower, upper, step, op.unsigned):
        e.effect(llvm.Br, out, [], successors=(left,))
    else:
        rows = Rows(e, body, step, following)
        carried_on = [*following, *rows.carry()]
        fits = _fits(e, op, upper, step)
        bump = ints.add(e, body.args[0], step, fits and not op.unsigned)
        again = _goes_on(e, op, bump, upper) if fits else _left(e, op, body.args[0], upper, step)
        e.effect(
            llvm.CondBr,
            [again, bump, *carried_on, *out],
            [],
            (1, 1 + len(carried_on), len(out)),
            successors=(body, left),
        )
    e.leave()
    begin = [lower, *start, *(rows.first(lower) if rows is not None else ())]
    guard = e.boolean(True) if runs else _below(e, op, lower, upper)
    if e.integer(guard) == 1:
        e.effect(llvm.Br, begin, [], successors=(body,))
    else:
        e.effect(llvm.CondBr, [guard, *begin, *start], [], (1, len(begin), len(start)), successors=(body, exit_block))
    if wait is not None and landing is not None:
        e.landed.add(wait)
        e.blocks.append(landing)
    e.place(exit_block)
    for i, result in enumerate(op.results):
        c.define(result, c.registers(op.init[i]))
    _bind(c, [op.results[i] for i in carried], following if runs else exit_block.args)
    if runs:
        for value in following:  # they dominate the exit, which is the latch's only way out
            e.level[value] = min(e.level[value], e.depth)


def landing_wait(op: scf.For) -> nvgpu.WarpgroupWait | None:
    """The wait behind a loop that hands products in flight on, beside its next iteration, to instructions that are no
    products. ptxas 13.5 wants it before the loop's results meet those of no iteration, which other instructions make:
    C7515, all products one after the other.
    """
    ops, body = op.parent.ops if op.parent is not None else [], op.body.block
    behind = next(iter(ops[ops.index(op) + 1 :]), None)
    if not isinstance(behind, nvgpu.WarpgroupWait) or behind.pending:
        return None
    waits = [each for each in body.ops if isinstance(each, nvgpu.WarpgroupWait) and not each.pending]
    return behind if any(set(each.values) & set(body.args) for each in waits) else None


def _landing(e: Emitter, values: list[Value], exit_block: Block) -> Block:
    """A block on the way out of a loop that waits for products in flight; `values` are the loop's last ones, of which
    integers are no sums.
    """
    landing = Block()
    sums = [value for value in dict.fromkeys(values) if not isinstance(value.type, IntType)]
    waited = nvvm.WgmmaWaitGroup(sums, [value.type for value in sums], {"group": 0}, location=e.location)
    landing.append(waited)
    landed = dict(zip(sums, waited.results, strict=True))
    out = [landed.get(value, value) for value in values]
    landing.append(llvm.Br(out, [], {"successors": (exit_block,)}, (), e.location))
    return landing


def _fits(e: Emitter, op: scf.For, upper: Value, step: Value) -> bool:
    """Is the number behind the last iteration's, at most upper - 1 + step, surely one of the counter's type?"""
    if e.integer(step) == 1:
        return True
    return e.facts.adds(upper, step, plus=-1) and not (op.unsigned and e.facts.range(upper)[0] < 0)


def _left(e: Emitter, op: scf.For, counter: Value, upper: Value, step: Value) -> Value:
    """Is there another iteration, where the next counter may wrap? What is left, from 1 on, fits without a sign."""
    left, step = (ints.widened(e, x, False) for x in (ints.sub(e, upper, counter), step))
    return ints.icmp(e, "ult", step, left)


def _goes_on(e: Emitter, op: scf.For, bump: Value, upper: Value) -> Value:
    """Is there another iteration from the next counter on, which is needed as it is? Compared with the old one, both
    would be held at a time: ptxas 13.5 makes a move of that.
    """
    if bump.type == I32 and e.integer(bump) is None and comparisons.decided(e, "slt", bump, upper) is None:
        return comparisons.compared(e, "ult" if op.unsigned else "slt", bump, upper)
    return _below(e, op, bump, upper)


def _below(e: Emitter, op: scf.For, counter: Value, upper: Value) -> Value:
    """Is there another iteration? PTX compares no bytes."""
    counter, upper = (ints.widened(e, x, not op.unsigned) for x in (counter, upper))
    return ints.icmp(e, "ult" if op.unsigned else "slt", counter, upper)


@lowers(scf.While)
def endless(c: Conversion, op: scf.While) -> None:
    """scf.while -> body with the test at its end, exit."""
    e, source = c.e, op.body.block
    start = [r for v in op.init for r in c.registers(v)]
    body = Block([r.type for r in start])
    e.enter(body, True)
    _bind(c, source.args, body.args)
    c.ops(source.ops)
    again, *ends = source.terminator.operands
    following = [r for v in ends for r in c.registers(v)]
    exit_block = Block([r.type for r in following])
    e.effect(
        llvm.CondBr,
        [c.register(again), *following, *following],
        [],
        (1, len(following), len(following)),
        successors=(body, exit_block),
    )
    e.leave()
    e.effect(llvm.Br, start, [], successors=(body,))
    e.place(exit_block)
    _bind(c, op.results, exit_block.args)


def _unrolled(c: Conversion, op: scf.For, inits: list[list[Value]], trips: int) -> None:
    """A loop of no or one iteration in line."""
    source = op.body.block
    if not trips:
        for result, registers in zip(op.results, inits, strict=True):
            c.define(result, registers)
        return
    c.define(source.args[0], c.registers(op.lower))
    for arg, registers in zip(source.args[1:], inits, strict=True):
        c.define(arg, registers)
    c.ops(source.ops)
    for result, value in zip(op.results, source.terminator.operands, strict=True):
        c.define(result, c.registers(value))


def _bind(c: Conversion, values: list[Value], registers: list[Value]) -> None:
    """Hand out a flat list of registers to values; each takes as many as its type needs."""
    at = 0
    for value in values:
        count = len(register_types(value.type))
        c.define(value, registers[at : at + count])
        at += count


@lowers(scf.If)
def branch(c: Conversion, op: scf.If) -> None:
    """scf.if -> cond_br; a known condition keeps one side only."""
    e = c.e
    condition = c.register(op.condition)
    known = e.integer(condition)
    if known is not None:
        side = op.then if known else op.otherwise
        c.ops(side.block.ops)
        for result, value in zip(op.results, side.block.terminator.operands, strict=True):
            c.define(result, c.registers(value))
        return
    sides = [_side(c, region.block, condition, region is op.then) for region in (op.then, op.otherwise)]
    if sides[0][0] is None and sides[1][0] is None:
        chosen = [ints.select(e, condition, *pair) for pair in zip(sides[0][2], sides[1][2], strict=True)]
        _bind(c, list(op.results), chosen)
        return
    merge = Block([t for r in op.results for t in register_types(r.type)])
    entries: list[tuple[Block, list[Value]]] = []
    for first, last, values in sides:
        if first is None:
            entries.append((merge, values))
            continue
        made = llvm.Br(values, [], {"successors": (merge,)}, (), op.location)
        (last or first).append(made)
        entries.append((first, []))
    (then, then_args), (otherwise, else_args) = entries
    e.effect(
        llvm.CondBr,
        [condition, *then_args, *else_args],
        [],
        (1, len(then_args), len(else_args)),
        successors=(then, otherwise),
    )
    e.place(merge)
    _bind(c, op.results, merge.args)


Side = tuple[Block | None, Block | None, list[Value]]
"""First and last block of a branch's side, none where it computes nothing, and the yielded registers."""


def _side(c: Conversion, source: Block, condition: Value, holds: bool) -> Side:
    """Convert one side, on which a condition holds or does not."""
    e, yields = c.e, source.terminator.operands
    if len(source.ops) == 1:
        return None, None, [r for v in yields for r in c.registers(v)]
    first = Block()
    e.enter(first, False)
    e.facts.enter(condition, holds)
    c.ops(source.ops)
    last = e.scopes[-1].block
    values = [r for v in yields for r in c.registers(v)]
    e.facts.leave()
    e.leave()
    if last is first and not first.ops:
        e.blocks.pop()
        return None, None, values
    return first, last, values


@lowers(scf.Yield, scf.Condition, gpu.Return)
def terminator(c: Conversion, op: Op) -> None:
    """The end of a region is its owner's business."""
