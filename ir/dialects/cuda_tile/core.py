"""cuda_tile core: module and entry, literals, grid queries, assumptions, selection, pointer offsets."""

from __future__ import annotations

import numpy as np

from ir.core import (
    CONTROL,
    Attr,
    Attribute,
    Block,
    Op,
    Operand,
    Region,
    RegionField,
    Result,
    Value,
    op,
    optional,
    same_type_as,
)
from ir.dialects.cuda_tile.attributes import (
    ELEMENTWISE,
    SHAPE,
    SKELETON,
    UNIFORM,
    Array,
    Bounded,
    DenseElements,
    DivBy,
    OptimizationHints,
    SameElements,
    dtype_name,
    dtype_of,
)
from ir.dialects.cuda_tile.constraints import (
    ANY_TILE,
    BOOL,
    INT,
    POINTER,
    SCALAR_I32,
    TileOp,
    tile_type,
    verify_region,
    width_of,
)
from ir.dialects.cuda_tile.storage import Global
from ir.dialects.cuda_tile.testing import TestingFunc
from ir.dialects.cuda_tile.well_formed import verify_all_types, verify_scopes
from ir.types import I4, IntType, PointerType, TensorViewType, TileType, TokenType

VISIBILITIES = ("", "public", "private", "nested")
"""Visibility of a symbol, if given (MLIR, symbols and symbol tables)."""
LARGEST_DIVISOR = 1 << 62
"""The public dialect rejects larger divisors (CUDA Tile IR 13.4, div_by)."""


@op("cuda_tile.module", opcode=75)
class Module(TileOp):
    """A symbol container; its one region holds entries and globals. `producer` names the program that wrote it.

    `sym_visibility` is MLIR's attribute of any symbol, empty if absent; bytecode cannot hold it.
    """

    sym_name = Attr(str, "")
    producer = Attr(str, "", since=(13, 3))
    sym_visibility = Attr(str, "")
    body = RegionField()

    effect = CONTROL
    placement = SKELETON

    def verify(self) -> None:
        """Holds entries and globals with distinct names, and all their types exist."""
        visible = self.sym_visibility
        self.expect(
            visible in VISIBILITIES,
            "attribute 'sym_visibility' must be one of {}, is {!r}",
            ", ".join(VISIBILITIES[1:]),
            visible,
        )
        self.expect(len(self.body.blocks) == 1, "a region must have one block, has {}", len(self.body.blocks))
        names: dict[str, Op] = {}
        for each in self.body.block.ops:
            if not isinstance(each, Entry | Global | TestingFunc):
                each.fail("is not allowed in a module: expected an entry or a global")
            first = names.setdefault(each.sym_name, each)
            each.expect(first is each, "symbol @{} is already defined at {}", each.sym_name, first.location)
        verify_all_types(self)

    @property
    def entries(self) -> list[Entry]:
        """The kernels, in order."""
        return [each for each in self.body.block.ops if isinstance(each, Entry)]

    @property
    def globals(self) -> list[Global]:
        """The global arrays, in order."""
        return [each for each in self.body.block.ops if isinstance(each, Global)]


@op("cuda_tile.entry", opcode=22)
class Entry(TileOp):
    """A kernel: its region's block arguments are rank-0 tiles, or tokens that depend on nothing; it returns nothing.

    `given` (ours, only inside the compiler): the last parameters, passed by the launcher after the source's own.
    `cluster` (ours, likewise): CTAs that do the work of one tile block; tile-block numbers along x count them. `split`:
    the same for CTAs without a cluster, which leave their partial results in `sums` bytes of memory per tile block.
    """

    sym_name = Attr(str)
    hints = optional(OptimizationHints)
    given: Attr[tuple[str, ...]] = Attr(tuple, ())
    cluster = Attr(int, 1, least=1)
    split = Attr(int, 1, least=1)
    sums = Attr(int, 0, least=0)
    body = RegionField()

    effect = CONTROL
    placement = SKELETON

    def verify(self) -> None:
        """Arguments are scalars or tokens; the body ends with return and uses values only after their definition."""
        verify_region(self, self.body, ("cuda_tile.return",))
        for index, value in enumerate(self.body.block.args):
            scalar = isinstance(value.type, TileType) and not value.type.shape
            held = scalar or isinstance(value.type, TokenType)
            message = "parameter {} of @{} must be a rank-0 tile or a token, is {}"
            self.expect(held, message, index, self.sym_name, value.type)
        verify_scopes(self.body, set())

    def with_body(self, body: Block) -> Entry:
        """The same entry around another body; parameters keep their names."""
        for old, new in zip(self.body.block.args, body.args, strict=True):
            new.name = old.name
        made = Entry((), (), self.attributes, [Region([body])], self.location)
        made.parent = self.parent
        return made

    @property
    def parameters(self) -> list[Value]:
        """The launch arguments: the body's arguments except tokens, which hold nothing."""
        return [value for value in self.body.block.args if not isinstance(value.type, TokenType)]


@op("cuda_tile.constant", opcode=16)
class Constant(TileOp):
    """A dense or splat tile literal."""

    value = Attr(DenseElements)
    result = Result(ANY_TILE)

    placement = SHAPE
    needs_result_type = True

    def verify(self) -> None:
        """One element or all of the tile's, of its dtype; pointers and i4 have no literals."""
        tile = tile_type(self.result)
        literal = not isinstance(tile.element, PointerType) and tile.element != I4
        self.expect(literal, "result must be a tile of numbers other than i4, is {}", tile)
        size, dtype = self.value.size, self.value.dtype
        self.expect(size in (1, tile.size), "attribute 'value' has {} elements, result is {}", size, tile)
        self.expect(dtype == dtype_name(tile.element), "attribute 'value' is {}, result is {}", dtype, tile)

    @staticmethod
    def reference(value: DenseElements, result_type: TileType) -> Array:
        """The literal's elements."""
        return value.expand(result_type.shape)


@op("cuda_tile.get_tile_block_id", opcode=48)
class GetTileBlockId(TileOp):
    """The coordinates of this tile block in the grid."""

    syntax = ": block_id_x"
    result_names = ("blockId_x", "blockId_y", "blockId_z")

    block_id_x = Result(SCALAR_I32)
    block_id_y = Result(SCALAR_I32)
    block_id_z = Result(SCALAR_I32)

    placement = UNIFORM


@op("cuda_tile.get_num_tile_blocks", opcode=46)
class GetNumTileBlocks(TileOp):
    """The extents of the grid, in tile blocks."""

    syntax = ": grid_size_x"
    result_names = ("gridSize_x", "gridSize_y", "gridSize_z")

    grid_size_x = Result(SCALAR_I32)
    grid_size_y = Result(SCALAR_I32)
    grid_size_z = Result(SCALAR_I32)

    placement = UNIFORM


@op("cuda_tile.assume", opcode=6)
class Assume(TileOp):
    """The value unchanged, with an assumption about it; undefined behaviour if it is violated."""

    syntax = "{predicate}, $value : value"

    value = Operand()
    predicate = Attr(Attribute)
    result = same_type_as("value")

    placement = SHAPE

    def verify(self) -> None:
        """The assumption must suit the type."""
        predicate, type_ = self.predicate, self.value.type
        element = type_.element if isinstance(type_, TileType) else None
        whole = isinstance(element, IntType)
        if isinstance(predicate, DivBy):
            fits = whole or isinstance(element, PointerType) or isinstance(type_, TensorViewType)
            self.expect(fits, "div_by needs integers, pointers or a tensor view, operand 'value' is {}", type_)
            self._verify_div_by(predicate, type_.shape if isinstance(type_, TileType) else ())
        elif isinstance(predicate, Bounded):
            self.expect(whole, "bounded needs integers, operand 'value' is {}", type_)
            self._verify_bounds(predicate, element.width if isinstance(element, IntType) else 0)
        elif isinstance(predicate, SameElements):
            fits = whole or isinstance(element, PointerType)
            self.expect(fits, "same_elements needs integers or pointers, operand 'value' is {}", type_)
            self._verify_groups(predicate.values, type_.shape if isinstance(type_, TileType) else ())
        else:
            self.fail("attribute 'predicate' must be div_by, bounded or same_elements, is {}", predicate)

    def _verify_groups(self, sizes: tuple[int, ...], shape: tuple[int, ...]) -> None:
        fits = len(sizes) == len(shape)
        self.expect(fits, "same_elements has {} sizes, operand 'value' is {}", len(sizes), self.value.type)
        for dimension, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
            message = "same_elements size {} must be 0 to {}, the size of dimension {}"
            self.expect(0 <= size <= whole, message, size, whole, dimension)

    def _verify_div_by(self, predicate: DivBy, shape: tuple[int, ...]) -> None:
        divisor, every, along = predicate.divisor, predicate.every, predicate.along
        power = divisor > 0 and divisor & (divisor - 1) == 0
        self.expect(power, "the divisor of div_by must be a positive power of two, is {}", divisor)
        self.expect(divisor <= LARGEST_DIVISOR, "the divisor of div_by must be at most 2^62, is {}", divisor)
        self.expect((every is None) == (along is None), "'every' and 'along' of div_by must be given together")
        if every is None or along is None:
            return
        exists = 0 <= along < len(shape)
        self.expect(exists, "'along {}' does not exist in operand 'value' {}", along, self.value.type)
        size = shape[along]
        self.expect(0 <= every <= size, "'every {}' must be 0 to {}, the size of dimension {}", every, size, along)

    def _verify_bounds(self, predicate: Bounded, width: int) -> None:
        lowest, highest = -(1 << (width - 1)), (1 << (width - 1)) - 1
        lower = lowest if predicate.lower is None else predicate.lower
        upper = highest if predicate.upper is None else predicate.upper
        self.expect(lower <= upper, "the lower bound {} is above the upper bound {}", lower, upper)
        inside = lowest <= lower and upper <= highest
        self.expect(inside, "bounds {} to {} do not fit in operand 'value' {}", lower, upper, self.value.type)

    @staticmethod
    def reference(value: Array, predicate: Attribute) -> Array:
        """The value itself; the interpreter checks the assumption."""
        return value


@op("cuda_tile.iota", opcode=58)
class Iota(TileOp):
    """0, 1, ... n-1 along a 1-D integer tile."""

    syntax = ": result"

    result = Result(INT)

    placement = SHAPE
    needs_result_type = True

    def verify(self) -> None:
        """One dimension, whose indices fit the element type."""
        tile = tile_type(self.result)
        self.expect(len(tile.shape) == 1, "result must have one dimension, is {}", tile)
        self.expect(tile.shape[0] <= 1 << tile.element.width, "{} values do not fit result {}", tile.shape[0], tile)

    @staticmethod
    def reference(result_type: TileType) -> Array:
        """Consecutive integers."""
        return np.arange(result_type.shape[0]).astype(dtype_of(result_type.element))


@op("cuda_tile.select", opcode=95)
class Select(TileOp):
    """Elementwise choice by an i1 tile of the same shape."""

    syntax = "$cond, $val_if_true, $val_if_false : cond, val_if_true"

    cond = Operand(BOOL)
    val_if_true = Operand(ANY_TILE)
    val_if_false = Operand(ANY_TILE)
    result = same_type_as("val_if_true")

    placement = ELEMENTWISE
    lowers_to = "arith.select"

    def verify(self) -> None:
        """The values have one type, wider than four bits unless they are i1, the condition their shape."""
        self.expect(width_of(self.val_if_true) != 4, "operand 'val_if_true' cannot be {}", self.val_if_true.type)
        self.same_type("val_if_false", self.val_if_false, "val_if_true", self.val_if_true)
        self.same_shape("cond", self.cond, "val_if_true", self.val_if_true)

    @staticmethod
    def reference(cond: Array, val_if_true: Array, val_if_false: Array) -> Array:
        """numpy.where."""
        return np.where(cond, val_if_true, val_if_false)


@op("cuda_tile.offset", opcode=81)
class Offset(TileOp):
    """A pointer tile advanced by an integer tile (signed), in elements of the pointee."""

    syntax = "$ptr, $offset : ptr, offset -> result"

    ptr = Operand(POINTER)
    offset = Operand(INT)
    result = same_type_as("ptr")

    placement = ELEMENTWISE
    lowers_to = "llvm.getelementptr"
    needs_result_type = True

    def verify(self) -> None:
        """Pointers and offsets have one shape."""
        self.same_shape("offset", self.offset, "ptr", self.ptr)

    @staticmethod
    def reference(ptr: Array, offset: Array, result_type: TileType) -> Array:
        """Addresses are int64 and count bytes; i1 takes one, two elements of four bits share one."""
        element = result_type.element
        width = element.pointee.width if isinstance(element, PointerType) else 8
        bits = 8 if width == 1 else width
        return ptr + offset.astype(np.int64) * bits // 8
