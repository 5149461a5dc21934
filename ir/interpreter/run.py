"""Running a whole grid: arguments, globals, tile blocks in grid order or in an order drawn from a seed."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

import ir.dialects.cuda_tile as ct
from ir.core import Value, verify
from ir.dialects.cuda_tile.attributes import Array, dtype_of, is_array
from ir.dialects.cuda_tile.constraints import tile_type
from ir.dialects.cuda_tile.numerics import to_bits
from ir.interpreter import control_ops, effect_ops, pointer_ops, view_ops
from ir.interpreter.block import TOKEN, Environment, Grid, Launch, TileBlock
from ir.interpreter.memory import ALIGNMENT, NIBBLE, InterpreterError, Memory, argument_fits, memory_dtype
from ir.narrowing import is_list
from ir.types import F8E5M3FNU, I64, IntType, PointerType

HANDLER_MODULES = (control_ops, effect_ops, pointer_ops, view_ops)
"""Importing them fills `HANDLERS`."""


def run(
    module: ct.Module,
    grid: Sequence[int] = (1,),
    args: Sequence[object] = (),
    entry: str | None = None,
    seed: int | None = None,
    output: Callable[[str], object] | None = None,
    block: Callable[[Launch, Grid, Environment], TileBlock] = TileBlock,
) -> None:
    """Run an entry for every tile block of `grid`; arrays among `args` are read and written in place.

    args: one for each entry parameter; a C-contiguous array of the pointee's dtype for a pointer (4-bit elements and
    fnv8E5M3FNU as bytes), for a pointer to i64 also a list of integers and of arrays, which represent their addresses;
    a number otherwise. seed: determines the order of the tile blocks, to reveal programs that depend on an order; None
    is x fastest, then y, then z. output: receives what the kernel prints, standard output by default. block: makes a
    tile block, which may follow more than the values of its operations. Raises
    InterpreterError at the operation whose behaviour is undefined, UnsupportedError for what is not interpreted.
    """
    verify(module)
    kernel = _pick(module, entry)
    memory = Memory()
    parameters = kernel.parameters
    if len(args) != len(parameters):
        raise InterpreterError(
            f"@{kernel.sym_name} expects {len(parameters)} arguments, got {len(args)}", kernel.location
        )
    bound: Environment = {p: _bind(p, a, memory, kernel) for p, a in zip(parameters, args, strict=True)}
    bound.update((argument, TOKEN) for argument in kernel.body.block.args if argument not in bound)
    launch = Launch(memory, _extent(grid, kernel), output or sys.stdout.write)
    launch.globals = {each.sym_name: _place(each, memory) for each in module.globals}
    width, height, depth = launch.grid
    order = [(x, y, z) for z in range(depth) for y in range(height) for x in range(width)]
    if seed is not None:
        random.Random(seed).shuffle(order)
    with np.errstate(all="ignore"):
        for block_id in order:
            block(launch, block_id, dict(bound)).run(kernel.body)


def _place(each: ct.Global, memory: Memory) -> int:
    """The address of a global, whose elements are copied for this run."""
    element = each.type.element
    values = np.array(each.value.expand(each.type.shape))
    if isinstance(element, PointerType):
        raise TypeError(f"{each.type} has no literals")
    if element.width == NIBBLE:
        bits = to_bits(values, element)
        stored = np.asarray(bits[::2] | bits[1::2] << np.uint8(NIBBLE)) if bits.size > 1 else bits
    elif element == F8E5M3FNU:
        stored = to_bits(values, element)
    else:
        stored = values.astype(memory_dtype(element))
    stored.flags.writeable = not each.constant
    return memory.add(stored, f"global @{each.sym_name}", max(each.alignment, ALIGNMENT))


def _pick(module: ct.Module, name: str | None) -> ct.Entry:
    entries = module.entries
    found = [e for e in entries if name in (None, e.sym_name)]
    if len(found) != 1:
        names = ", ".join(f"@{e.sym_name}" for e in entries) or "none"
        wanted = f"no entry @{name}" if name is not None else "the entry is not named"
        raise InterpreterError(f"{wanted}; the module has: {names}", module.location, "pass entry=NAME")
    return found[0]


def _extent(grid: Sequence[int], kernel: ct.Entry) -> Grid:
    sizes = [*map(int, grid), 1, 1, 1][: max(3, len(grid))]
    if len(sizes) != 3 or min(sizes) < 1:
        raise InterpreterError(f"grid {tuple(grid)} must be one to three positive numbers", kernel.location)
    return sizes[0], sizes[1], sizes[2]


def _table(items: list[object], memory: Memory, name: str, kernel: ct.Entry) -> Array:
    """An i64 array in which each array of a list is replaced by its address."""
    numbers: list[int] = []
    for index, item in enumerate(items):
        if is_array(item):
            numbers.append(memory.allocate(item, f"{name}[{index}]", kernel.location))
        elif isinstance(item, int | np.integer):
            numbers.append(int(cast("int", item)))
        else:
            raise InterpreterError(f"{name}[{index}] must be an array or an integer", kernel.location)
    return np.array(numbers, np.int64)


def _bind(parameter: Value, argument: object, memory: Memory, kernel: ct.Entry) -> Array:
    """An argument as the 0-d array of its parameter; pointers become addresses."""
    element = tile_type(parameter).element
    name = f"argument {parameter.index}" + (f" (%{parameter.name})" if parameter.name else "")
    if isinstance(element, PointerType):
        array = _table(argument, memory, name, kernel) if is_list(argument) and element.pointee == I64 else argument
        if not is_array(array):
            raise InterpreterError(f"{name} must be an array, is {type(array).__name__}", kernel.location)
        if not argument_fits(array, element):
            raise InterpreterError(f"{name} points to {element.pointee}, the array is {array.dtype}", kernel.location)
        return np.asarray(memory.allocate(array, name, kernel.location), np.int64)
    scalar = np.asarray(argument)
    dtype = dtype_of(element)
    if scalar.ndim or scalar.dtype.kind not in "biuf":
        raise InterpreterError(f"{name} must be a number of type {element}", kernel.location)
    if isinstance(element, IntType) and scalar.dtype.kind == "f":
        raise InterpreterError(f"{name} must be an integer, is {argument}", kernel.location)
    if isinstance(element, IntType) and not -(1 << (element.width - 1)) <= int(scalar) < 1 << element.width:
        raise InterpreterError(f"{name}: {argument} does not fit in {element}", kernel.location)
    if isinstance(element, IntType) and element.width > 1:
        return _signed(int(scalar), element.width, dtype)
    return scalar.astype(dtype)


def _signed(value: int, width: int, dtype: np.dtype[np.generic]) -> Array:
    return np.asarray(value - (1 << width) if value >> (width - 1) == 1 else value, dtype)
