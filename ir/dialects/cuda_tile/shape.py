"""cuda_tile shape operations: elements move, nothing is computed."""

from __future__ import annotations

import numpy as np

from ir.core import Attr, Operand, Result, Variadic, op
from ir.dialects.cuda_tile.attributes import SHAPE, Array
from ir.dialects.cuda_tile.constraints import ANY_TILE, SCALAR_INT, TileOp
from ir.types import TileType


@op("cuda_tile.reshape", opcode=91)
class Reshape(TileOp):
    """The same elements in row-major order under another shape."""

    syntax = "$source : source -> result"
    result_names = ("reshape",)

    source = Operand(ANY_TILE)
    result = Result(ANY_TILE)

    placement = SHAPE
    needs_result_type = True

    @staticmethod
    def reference(source: Array, result_type: TileType) -> Array:
        """Row-major reshape."""
        return source.reshape(result_type.shape)


@op("cuda_tile.broadcast", opcode=11)
class Broadcast(TileOp):
    """Dimensions of size 1 repeated to the result's size; ranks are equal."""

    syntax = "$source : source -> result"
    result_names = ("bcast",)

    source = Operand(ANY_TILE)
    result = Result(ANY_TILE)

    placement = SHAPE
    needs_result_type = True

    @staticmethod
    def reference(source: Array, result_type: TileType) -> Array:
        """NumPy broadcasting at equal rank."""
        return np.broadcast_to(source, result_type.shape)


@op("cuda_tile.permute", opcode=83)
class Permute(TileOp):
    """Transposed dimensions: dimension i of the result is dimension permutation[i] of the source."""

    syntax = "$source [permutation] : source -> result"

    source = Operand(ANY_TILE)
    permutation = Attr[tuple[int, ...]](tuple)
    result = Result(ANY_TILE)

    placement = SHAPE

    @staticmethod
    def reference(source: Array, permutation: tuple[int, ...]) -> Array:
        """numpy.transpose."""
        return np.transpose(source, permutation)


@op("cuda_tile.cat", opcode=12)
class Cat(TileOp):
    """Two tiles joined along dimension `dim`."""

    syntax = "$lhs, $rhs dim = {dim} : lhs, rhs -> result"

    lhs = Operand(ANY_TILE)
    rhs = Operand(ANY_TILE)
    dim = Attr(int)
    result = Result(ANY_TILE)

    placement = SHAPE

    @staticmethod
    def reference(lhs: Array, rhs: Array, dim: int) -> Array:
        """numpy.concatenate."""
        return np.concatenate((lhs, rhs), axis=dim)


@op("cuda_tile.extract", opcode=38)
class Extract(TileOp):
    """A sub-tile of the result's shape at tile-space indices (unsigned; out of range is undefined)."""

    syntax = "$source[$indices] : source -> result"

    source = Operand(ANY_TILE)
    indices = Variadic(SCALAR_INT)
    result = Result(ANY_TILE)

    placement = SHAPE
    needs_result_type = True

    @staticmethod
    def reference(source: Array, *indices: Array, result_type: TileType) -> Array:
        """source[i0 * n0 : (i0 + 1) * n0, ...] for result sizes n."""
        window = tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(indices, result_type.shape, strict=True))
        return source[window]
