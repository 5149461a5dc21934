"""Interpretation of grid queries, tokens, assumptions, globals, automatic memory, printing and assertions."""

from __future__ import annotations

import re
from typing import cast

import numpy as np

import ir.dialects.cuda_tile as ct
from ir.checked import checked
from ir.core import OPS, Op, UnsupportedError
from ir.dialects.cuda_tile.attributes import Array
from ir.dialects.cuda_tile.constraints import shape_of, tile_type
from ir.interpreter.block import HANDLERS, TOKEN, Results, TileBlock
from ir.interpreter.memory import InterpreterError, memory_dtype
from ir.interpreter.promises import check_promise
from ir.interpreter.views import tile_index
from ir.printf import CONVERSION, LENGTH, hexadecimal
from ir.types import IntType, PointerType, TileType

SCRATCH_LIMIT = 1 << 30
"""Maximum bytes of one alloca; a typing error should not exhaust the machine's memory."""
UNWRITTEN = 0x55
"""The value of each byte of unwritten memory."""


def _block_id(block: TileBlock, op: ct.GetTileBlockId) -> Results:
    return [np.asarray(i, np.int32) for i in block.block_id]


def _num_blocks(block: TileBlock, op: ct.GetNumTileBlocks) -> Results:
    return [np.asarray(n, np.int32) for n in block.grid]


def _token(block: TileBlock, op: Op) -> Results:
    return [TOKEN]


def _assume(block: TileBlock, op: ct.Assume) -> Results:
    value = block.environment[op.value]
    if isinstance(op.value.type, TileType):
        check_promise(op.predicate, cast("Array", value), op.value.type, op.location)
    return [value]


def _windowed(block: TileBlock, op: ct.Windowed) -> Results:
    whole, part, indices = op.window
    index = tile_index(block.values(indices))
    counts = [size // small for size, small in zip(shape_of(whole), shape_of(part), strict=True)]
    if any(i >= n for i, n in zip(index, counts, strict=True)):
        raise InterpreterError(f"sub-tile {index} is outside the {tuple(counts)} sub-tiles", op.location)
    return [block.pure(op)]


def _assert(block: TileBlock, op: ct.Assert) -> Results:
    if not np.all(block.array(op.condition)):
        raise InterpreterError(f"assertion failed: {op.message}", op.location)
    return []


def _global(block: TileBlock, op: ct.GetGlobal) -> Results:
    return [np.asarray(block.launch.globals[op.name_], np.int64)]


def _alloca(block: TileBlock, op: ct.Alloca) -> Results:
    pointee = checked(tile_type(op.result).element, PointerType).pointee
    size = op.num_elem * memory_dtype(pointee).itemsize
    if size > SCRATCH_LIMIT:
        raise UnsupportedError(f"cannot interpret an alloca of {size} bytes", op.location)
    memory = np.full(size, UNWRITTEN, np.uint8)
    return [np.asarray(block.memory.add(memory, "the memory of an alloca", op.alignment), np.int64)]


def _call(block: TileBlock, op: ct.PreviewCall) -> Results:
    hint = "interpret the kernel without the call, or write what the function does in Tile IR"
    raise UnsupportedError(f"@{op.callee} is defined outside this module: there is nothing to run", op.location, hint)


def _print(block: TileBlock, op: ct.Print) -> Results:
    """printf with tiles as nested lists of their elements."""
    values = iter(zip(block.values(op.args), op.args, strict=True))

    def convert(match: re.Match[str]) -> str:
        if match[1] is None:
            return "%"
        array, value = next(values)
        element = tile_type(value).element
        return _listed(np.asarray(array), match[0], match[1], element)

    block.launch.output(CONVERSION.sub(convert, op.str_))
    return [TOKEN]


def _listed(array: Array, conversion: str, kind: str, element: object) -> str:
    if array.ndim:
        return f"[{', '.join(_listed(row, conversion, kind, element) for row in array)}]"
    plain = LENGTH.sub("", conversion)
    number: object = array[()]
    if kind in "diuoxX":
        whole = int(number)
        if kind in "uoxX" and isinstance(element, IntType):
            whole &= (1 << element.width) - 1
        return plain % whole
    return hexadecimal(plain, float(number)) if kind in "aA" else plain % float(number)


HANDLERS.update(
    {
        ct.GetTileBlockId: _block_id,
        ct.GetNumTileBlocks: _num_blocks,
        ct.MakeToken: _token,
        ct.JoinTokens: _token,
        ct.MemoryFenceAlias: _token,
        ct.GdcLaunchDependents: _token,
        ct.GdcWait: _token,
        ct.Assume: _assume,
        ct.GetGlobal: _global,
        ct.Alloca: _alloca,
        **{cls: _windowed for cls in OPS.values() if issubclass(cls, ct.Windowed)},
        ct.PreviewCall: _call,
        ct.Print: _print,
        ct.Assert: _assert,
    }
)
"""Tile blocks run one after another and each sees all earlier effects, so fences and waits have nothing to do."""
