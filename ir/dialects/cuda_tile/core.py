"""cuda_tile core: module and entry, literals, grid queries, assumptions, selection, pointer offsets."""

from __future__ import annotations

import numpy as np

from ir.core import CONTROL, Attr, Attribute, Operand, RegionField, Result, op, optional, same_type_as
from ir.dialects.cuda_tile.attributes import (
    ELEMENTWISE,
    SHAPE,
    SKELETON,
    UNIFORM,
    Array,
    DenseElements,
    OptimizationHints,
    dtype_of,
)
from ir.dialects.cuda_tile.constraints import ANY_TILE, BOOL, INT, POINTER, SCALAR_I32, TileOp
from ir.types import PointerType, TileType


@op("cuda_tile.module", opcode=75)
class Module(TileOp):
    """A symbol container; its one region holds the entries. `producer` says who wrote it."""

    sym_name = Attr(str, "")
    producer = Attr(str, "", since=(13, 3))
    body = RegionField()

    effect = CONTROL
    placement = SKELETON

    @property
    def entries(self) -> list[Entry]:
        """The kernels, in order."""
        return [each for each in self.body.block.ops if isinstance(each, Entry)]


@op("cuda_tile.entry", opcode=22)
class Entry(TileOp):
    """A kernel: its region's block arguments are the parameters, rank-0 tiles; it returns nothing."""

    sym_name = Attr(str)
    hints = optional(OptimizationHints)
    body = RegionField()

    effect = CONTROL
    placement = SKELETON


@op("cuda_tile.constant", opcode=16)
class Constant(TileOp):
    """A dense or splat tile literal."""

    value = Attr(DenseElements)
    result = Result(ANY_TILE)

    placement = SHAPE
    needs_result_type = True

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
    """The value unchanged, with a promise about it; undefined behaviour where the promise is broken."""

    syntax = "{predicate}, $value : value"

    value = Operand()
    predicate = Attr(Attribute)
    result = same_type_as("value")

    placement = SHAPE

    @staticmethod
    def reference(value: Array, predicate: Attribute) -> Array:
        """The value itself; the interpreter checks the promise."""
        return value


@op("cuda_tile.iota", opcode=58)
class Iota(TileOp):
    """0, 1, ... n-1 along a 1-D integer tile."""

    syntax = ": result"

    result = Result(INT)

    placement = SHAPE
    needs_result_type = True

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

    @staticmethod
    def reference(ptr: Array, offset: Array, result_type: TileType) -> Array:
        """Addresses are int64; the pointee's width is its storage in bytes, at least one."""
        element = result_type.element
        width = element.pointee.width if isinstance(element, PointerType) else 8
        return ptr + offset.astype(np.int64) * max(width // 8, 1)
