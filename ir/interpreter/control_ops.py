"""Interpretation of loops, branches, reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import ir.dialects.cuda_tile as ct
from ir.checked import checked
from ir.core import Block
from ir.dialects.cuda_tile.attributes import Array, dtype_of
from ir.dialects.cuda_tile.constraints import tile_type
from ir.interpreter.block import HANDLERS, Results, TileBlock
from ir.interpreter.memory import InterpreterError
from ir.types import IntType, TileType

Combine = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]


def _for(block: TileBlock, op: ct.For) -> Results:
    lower, upper, step = (block.integer(v) for v in (op.lower_bound, op.upper_bound, op.step))
    width = checked(tile_type(op.step).element, IntType).width
    if op.unsigned_cmp:
        lower, upper, step = (v % (1 << width) for v in (lower, upper, step))
    if step <= 0:
        raise InterpreterError(f"the loop's step is {step}, it must be positive", op.location)
    carried = block.values(op.init_values)
    body = op.body.block
    dtype = dtype_of(tile_type(op.lower_bound).element)
    for position in range(lower, upper, step):
        block.environment[body.args[0]] = _position(position, width, dtype)
        for argument, value in zip(body.args[1:], carried, strict=True):
            block.environment[argument] = value
        terminator, values = block.block(body)
        if not isinstance(terminator, ct.Continue):
            return terminator, values
        carried = values
    return carried


def _loop(block: TileBlock, op: ct.Loop) -> Results:
    carried = block.values(op.init_values)
    body = op.body.block
    while True:
        for argument, value in zip(body.args, carried, strict=True):
            block.environment[argument] = value
        terminator, values = block.block(body)
        if isinstance(terminator, ct.Break):
            return values
        if not isinstance(terminator, ct.Continue):
            return terminator, values
        carried = values


def _if(block: TileBlock, op: ct.If) -> Results:
    if block.batched:
        return _batched_if(block, op)
    region = op.then_ if bool(block.array(op.condition)) else op.else_
    if not region.blocks:
        return []
    terminator, values = block.block(region.block)
    return values if isinstance(terminator, ct.Yield) else (terminator, values)


def _batched_if(block: TileBlock, op: ct.If) -> Results:
    """Both branches of a pure region, with each element selecting its own."""
    chosen = block.array(op.condition)
    then_values, else_values = (block.block(region.block)[1] for region in (op.then_, op.else_))
    return [np.where(chosen, a, b) for a, b in zip(then_values, else_values, strict=True)]


def _combiner(block: TileBlock, body: Block) -> Combine:
    """The region on whole slices at once; its arguments are lhs0, rhs0, lhs1, rhs1, ..."""
    if any(isinstance(r.type, TileType) and r.type.shape for op in body.ops for r in op.results):
        return _scalar_combiner(block, body)

    def combine(lhs: Sequence[Array], rhs: Sequence[Array]) -> Sequence[Array]:
        for i, (left, right) in enumerate(zip(lhs, rhs, strict=True)):
            block.environment[body.args[2 * i]] = left
            block.environment[body.args[2 * i + 1]] = right
        outer, block.batched = block.batched, True
        results = block.block(body)[1]
        block.batched = outer
        return [np.broadcast_to(r, part.shape) for r, part in zip(results, lhs, strict=True)]

    return combine


def _scalar_combiner(block: TileBlock, body: Block) -> Combine:
    """The region element by element, for the rare one that makes tiles from its scalars."""

    def combine(lhs: Sequence[Array], rhs: Sequence[Array]) -> Sequence[Array]:
        results = [np.empty(part.shape, part.dtype) for part in lhs]
        for place in np.ndindex(lhs[0].shape):
            for i, (left, right) in enumerate(zip(lhs, rhs, strict=True)):
                block.environment[body.args[2 * i]] = left[place]
                block.environment[body.args[2 * i + 1]] = right[place]
            for result, value in zip(results, block.block(body)[1], strict=True):
                result[place] = value
        return results

    return combine


def _combining(block: TileBlock, op: ct.Combining) -> Results:
    return op.interpret(block.values(op.operands), _combiner(block, op.body.block))


def _position(value: int, width: int, dtype: np.dtype[np.generic]) -> Array:
    """A loop counter in its integer type."""
    return np.asarray(value - (1 << width) if value >> (width - 1) == 1 else value, dtype)


HANDLERS.update({ct.For: _for, ct.Loop: _loop, ct.If: _if, **dict.fromkeys(ct.COMBINING, _combining)})
