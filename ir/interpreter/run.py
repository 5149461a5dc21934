"""Running a whole grid: arguments, tile blocks in order, structured control flow, memory operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

import ir.dialects.cuda_tile as ct
from ir.core import UNKNOWN, Block, Op, Region, TileError, UnsupportedError, Value, verify
from ir.dialects.cuda_tile.attributes import Array, dtype_of
from ir.dialects.cuda_tile.constraints import TileOp, shape_of, tile_type
from ir.dialects.cuda_tile.memory import combine as combine_atomic
from ir.interpreter.memory import InterpreterError, Memory, argument_fits
from ir.interpreter.promises import check_promise
from ir.interpreter.views import (
    PartitionView,
    TensorView,
    check_inbounds,
    make_tensor_view,
    padding,
    tile_index,
    unspecified,
    view_operand,
)
from ir.types import FloatType, IntType, PartitionViewType, PointerType, TensorViewType, TileType

Grid = tuple[int, int, int]
Environment = dict[Value, object]
Outcome = tuple[Op, list[Any]]
"""The terminator that ended a block, and what it carried."""
TOKEN = None


def run(module: ct.Module, grid: Sequence[int] = (1,), args: Sequence[object] = (), entry: str | None = None) -> None:
    """Run an entry for every tile block of `grid`, in order; arrays among `args` are read and written in place.

    args: one for each entry parameter; a C-contiguous array of the pointee's dtype for a pointer, a number otherwise.
    Raises InterpreterError at the operation that did something undefined, UnsupportedError for what is not interpreted.
    """
    verify(module)
    kernel = _pick(module, entry)
    memory = Memory()
    parameters = kernel.body.block.args
    if len(args) != len(parameters):
        raise InterpreterError(
            f"@{kernel.sym_name} takes {len(parameters)} arguments, {len(args)} are given", kernel.location
        )
    bound: Environment = {p: _bind(p, a, memory, kernel) for p, a in zip(parameters, args, strict=True)}
    extent = _extent(grid, kernel)
    with np.errstate(all="ignore"):
        for z in range(extent[2]):
            for y in range(extent[1]):
                for x in range(extent[0]):
                    _TileBlock(memory, (x, y, z), extent, dict(bound)).run(kernel.body)


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


def _bind(parameter: Value, argument: object, memory: Memory, kernel: ct.Entry) -> Array:
    """An argument as the 0-d array that its parameter stands for; pointers become addresses."""
    element = tile_type(parameter).element
    name = f"argument {parameter.index}" + (f" (%{parameter.name})" if parameter.name else "")
    if isinstance(element, PointerType):
        if not isinstance(argument, np.ndarray):
            raise InterpreterError(f"{name} must be an array, is {type(argument).__name__}", kernel.location)
        if element.pointee.width == 4:
            raise UnsupportedError(f"{name}: packed {element.pointee} in memory cannot be interpreted", kernel.location)
        array = cast("Array", argument)
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
        raise InterpreterError(f"{name}: {argument} does not fit {element}", kernel.location)
    if isinstance(element, IntType) and element.width > 1:
        return _signed(int(scalar), element.width, dtype)
    return scalar.astype(dtype)


def _signed(value: int, width: int, dtype: np.dtype[Any]) -> Array:
    return np.asarray(value - (1 << width) if value >> (width - 1) == 1 else value, dtype)


class _TileBlock:
    """One tile block: its place in the grid and the values bound so far."""

    __slots__ = ("batched", "block_id", "environment", "grid", "memory")

    def __init__(self, memory: Memory, block_id: Grid, grid: Grid, environment: Environment):
        self.memory = memory
        self.block_id = block_id
        self.grid = grid
        self.environment = environment
        self.batched = False
        """Inside a combiner region: rank-0 values stand for arrays of them."""

    def run(self, region: Region) -> None:
        """Run the kernel body."""
        try:
            self.block(region.block)
        except TileError as error:
            where = ", ".join(map(str, self.block_id))
            error.message = f"{error.message} [tile block ({where})]"
            raise

    def block(self, block: Block) -> Outcome:
        """Run a block up to its terminator."""
        for op in block.ops:
            if isinstance(op, TileOp) and op.is_terminator:
                return op, self.values(op.operands)
            ended = self.operation(op)
            if ended is not None:
                return ended
        owner = block.parent_op
        where = block.ops[-1].location if block.ops else owner.location if owner else UNKNOWN
        raise InterpreterError("a block ends without a terminator", where)

    def operation(self, op: Op) -> Outcome | None:
        """Run one operation and bind its results; a `continue` or `break` met inside it is passed on."""
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            results = handler(self, op)
            if isinstance(results, tuple):
                return results
        elif isinstance(op, TileOp) and hasattr(type(op), "reference"):
            results = [self.pure(op)]
        else:
            raise UnsupportedError(f"the interpreter cannot run '{op.name}' yet", op.location)
        for value, result in zip(op.results, results, strict=True):
            self.environment[value] = result
        return None

    def pure(self, op: TileOp) -> Array:
        """A pure operation by its reference semantics."""
        operands = self.values(op.operands)
        if self.batched and isinstance(op, ct.Reshape | ct.Broadcast | ct.Permute):
            return operands[0]  # rank-0 to rank-0: nothing moves
        return op.evaluate(operands)

    def values(self, operands: Sequence[Value]) -> list[Any]:
        """What the operands are bound to."""
        return [self.environment[v] for v in operands]

    def array(self, value: Value) -> Array:
        """What a tile value is bound to."""
        return cast("Array", self.environment[value])

    def integer(self, value: Value) -> int:
        """What a scalar integer tile is bound to."""
        return int(self.array(value))


Results = list[Any] | Outcome
Handler = Callable[[_TileBlock, Any], Results]


def _block_id(block: _TileBlock, op: ct.GetTileBlockId) -> Results:
    return [np.asarray(i, np.int32) for i in block.block_id]


def _num_blocks(block: _TileBlock, op: ct.GetNumTileBlocks) -> Results:
    return [np.asarray(n, np.int32) for n in block.grid]


def _token(block: _TileBlock, op: Op) -> Results:
    return [TOKEN]


def _assume(block: _TileBlock, op: ct.Assume) -> Results:
    value = block.environment[op.value]
    if isinstance(op.value.type, TileType):
        check_promise(op.predicate, cast("Array", value), op.value.type, op.location)
    return [value]


def _tensor_view(block: _TileBlock, op: ct.MakeTensorView) -> Results:
    type_ = cast("TensorViewType", op.result.type)
    sizes, strides = block.values(op.dynamic_shape), block.values(op.dynamic_strides)
    return [make_tensor_view(type_, block.array(op.base), sizes, strides, op.location)]


def _partition_view(block: _TileBlock, op: ct.MakePartitionView) -> Results:
    view = cast("TensorView", block.environment[op.tensor_view])
    return [PartitionView(view, cast("PartitionViewType", op.result.type))]


def _index_space(block: _TileBlock, op: ct.GetIndexSpaceShape) -> Results:
    return _sizes(view_operand(op.src, block.environment).index_space, op)


def _tensor_shape(block: _TileBlock, op: ct.GetTensorShape) -> Results:
    return _sizes(cast("TensorView", block.environment[op.src]).shape, op)


def _sizes(sizes: Sequence[int], op: Op) -> Results:
    return [np.asarray(s).astype(dtype_of(tile_type(r).element)) for s, r in zip(sizes, op.results, strict=True)]


def _pointee(value: Value) -> IntType | FloatType:
    return cast("PointerType", tile_type(value).element).pointee


def _load_ptr(block: _TileBlock, op: ct.LoadPtr) -> Results:
    shape, element = shape_of(op.result), _pointee(op.source)
    addresses = np.broadcast_to(block.array(op.source), shape)
    if op.mask is None:
        return [block.memory.load(addresses.reshape(-1), element, op.location).reshape(shape), TOKEN]
    mask = np.broadcast_to(block.array(op.mask), shape)
    if op.padding_value is None:
        loaded = unspecified(shape, element)
    else:
        loaded = np.array(np.broadcast_to(block.array(op.padding_value), shape))
    loaded[mask] = block.memory.load(addresses[mask], element, op.location)
    return [loaded, TOKEN]


def _store_ptr(block: _TileBlock, op: ct.StorePtr) -> Results:
    shape, element = shape_of(op.destination), _pointee(op.destination)
    addresses = np.broadcast_to(block.array(op.destination), shape)
    values = np.broadcast_to(block.array(op.value), shape)
    mask = np.ones(shape, np.bool_) if op.mask is None else np.broadcast_to(block.array(op.mask), shape)
    block.memory.store(addresses[mask], values[mask], element, op.location)
    return [TOKEN]


def _load_view(block: _TileBlock, op: ct.LoadView) -> Results:
    view, index = view_operand(op.view, block.environment), tile_index(block.values(op.index))
    check_inbounds(op.inbounds, view, index, op.location)
    addresses, inside = view.elements(index)
    element, kind = view.view.element, view.type.padding
    loaded = unspecified(inside.shape, element) if kind is None else padding(kind, inside.shape, element)
    loaded[inside] = block.memory.load(addresses[inside], element, op.location)
    return [loaded.reshape(shape_of(op.tile)), TOKEN]


def _store_view(block: _TileBlock, op: ct.StoreView) -> Results:
    view, index = view_operand(op.view, block.environment), tile_index(block.values(op.index))
    check_inbounds(op.inbounds, view, index, op.location)
    addresses, inside = view.elements(index)
    values = block.array(op.tile).reshape(inside.shape)
    block.memory.store(addresses[inside], values[inside], view.view.element, op.location)
    return [TOKEN]


def _atomic(block: _TileBlock, op: ct.AtomicRMW | ct.AtomicCAS) -> Results:
    """One element after another: several updates of one address see each other."""
    shape, element = shape_of(op.pointers), _pointee(op.pointers)
    addresses = np.broadcast_to(block.array(op.pointers), shape)
    old = unspecified(shape, element)
    mask = np.ones(shape, np.bool_) if op.mask is None else np.broadcast_to(block.array(op.mask), shape)
    given_values = (op.arg,) if isinstance(op, ct.AtomicRMW) else (op.cmp, op.val)
    arguments = [np.broadcast_to(block.array(v), shape) for v in given_values]
    for place in np.argwhere(mask):
        at = tuple(place)
        address = addresses[at].reshape(1)
        before = block.memory.load(address, element, op.location)
        given = [a[at].reshape(1) for a in arguments]
        if isinstance(op, ct.AtomicRMW):
            after = combine_atomic(op.mode, before, given[0])
        else:
            after = given[1] if before.tobytes() == given[0].tobytes() else before
        block.memory.store(address, after, element, op.location)
        old[at] = before[0]
    return [old, TOKEN]


def _for(block: _TileBlock, op: ct.For) -> Results:
    lower, upper, step = (block.integer(v) for v in (op.lower_bound, op.upper_bound, op.step))
    width = cast("IntType", tile_type(op.step).element).width
    if op.unsigned_cmp:
        lower, upper, step = (v % (1 << width) for v in (lower, upper, step))
    if step <= 0:
        raise InterpreterError(f"the loop's step is {step}, it must be positive", op.location)
    carried = block.values(op.init_values)
    body = op.body.block
    dtype = dtype_of(tile_type(op.lower_bound).element)
    for position in range(lower, upper, step):
        block.environment[body.args[0]] = _signed(position, width, dtype)
        for argument, value in zip(body.args[1:], carried, strict=True):
            block.environment[argument] = value
        terminator, values = block.block(body)
        if not isinstance(terminator, ct.Continue):
            return terminator, values
        carried = values
    return carried


def _loop(block: _TileBlock, op: ct.Loop) -> Results:
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


def _if(block: _TileBlock, op: ct.If) -> Results:
    if block.batched:
        return _batched_if(block, op)
    region = op.then_ if bool(block.array(op.condition)) else op.else_
    if not region.blocks:
        return []
    terminator, values = block.block(region.block)
    return values if isinstance(terminator, ct.Yield) else (terminator, values)


def _batched_if(block: _TileBlock, op: ct.If) -> Results:
    """Both sides of a pure region, each element taking its own."""
    chosen = block.array(op.condition)
    then_values, else_values = (block.block(region.block)[1] for region in (op.then_, op.else_))
    return [np.where(chosen, a, b) for a, b in zip(then_values, else_values, strict=True)]


def _combiner(block: _TileBlock, body: Block) -> Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]:
    """The region on whole slices at once; its arguments are lhs0, rhs0, lhs1, rhs1, ..."""

    def combine(lhs: Sequence[Array], rhs: Sequence[Array]) -> Sequence[Array]:
        for i, (left, right) in enumerate(zip(lhs, rhs, strict=True)):
            block.environment[body.args[2 * i]] = left
            block.environment[body.args[2 * i + 1]] = right
        outer, block.batched = block.batched, True
        results = block.block(body)[1]
        block.batched = outer
        return [np.broadcast_to(r, part.shape) for r, part in zip(results, lhs, strict=True)]

    return combine


def _reduce(block: _TileBlock, op: ct.Reduce) -> Results:
    return ct.Reduce.reference(block.values(op.operands), op.dim, _combiner(block, op.body.block))


def _scan(block: _TileBlock, op: ct.Scan) -> Results:
    return ct.Scan.reference(block.values(op.operands), op.dim, op.reverse, _combiner(block, op.body.block))


def _extract(block: _TileBlock, op: ct.Extract) -> Results:
    index = tile_index(block.values(op.indices))
    counts = [size // part for size, part in zip(shape_of(op.source), shape_of(op.result), strict=True)]
    if any(i >= n for i, n in zip(index, counts, strict=True)):
        raise InterpreterError(f"sub-tile {index} is outside the {tuple(counts)} sub-tiles of the source", op.location)
    return [block.pure(op)]


def _assert(block: _TileBlock, op: ct.Assert) -> Results:
    if not np.all(block.array(op.condition)):
        raise InterpreterError(f"assertion failed: {op.message}", op.location)
    return []


_HANDLERS: dict[type[Op], Handler] = {
    ct.GetTileBlockId: _block_id,
    ct.GetNumTileBlocks: _num_blocks,
    ct.MakeToken: _token,
    ct.JoinTokens: _token,
    ct.Assume: _assume,
    ct.MakeTensorView: _tensor_view,
    ct.MakePartitionView: _partition_view,
    ct.GetIndexSpaceShape: _index_space,
    ct.GetTensorShape: _tensor_shape,
    ct.LoadPtr: _load_ptr,
    ct.StorePtr: _store_ptr,
    ct.LoadView: _load_view,
    ct.StoreView: _store_view,
    ct.AtomicRMW: _atomic,
    ct.AtomicCAS: _atomic,
    ct.For: _for,
    ct.Loop: _loop,
    ct.If: _if,
    ct.Reduce: _reduce,
    ct.Scan: _scan,
    ct.Extract: _extract,
    ct.Assert: _assert,
}
"""What is not pure arithmetic; everything else runs by its `reference`."""
