"""cuda_tile shape operations: elements move, nothing is computed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ir.core import Attr, Builder, Operand, Result, Value, Variadic, op, same_type_as
from ir.dialects.cuda_tile.attributes import SHAPE, Array
from ir.dialects.cuda_tile.constraints import ANY_TILE, SCALAR_INT, TileOp, tile_type
from ir.types import TileType

__all__ = ["Broadcast", "Cat", "Extract", "Insert", "Permute", "Reshape", "Windowed", "joined"]


def _verify_alike(op: TileOp, message: str, source: TileType, result: TileType) -> None:
    """Element type and rank stay; `message` names both tiles."""
    op.expect(source.element == result.element, message + "the element types differ", source, result)
    op.expect(len(source.shape) == len(result.shape), message + "the ranks differ", source, result)


@op("cuda_tile.reshape", opcode=91)
class Reshape(TileOp):
    """The same elements in row-major order under another shape."""

    syntax = "$source : source -> result"
    result_names = ("reshape",)

    source = Operand(ANY_TILE)
    result = Result(ANY_TILE)

    placement = SHAPE
    needs_result_type = True

    def verify(self) -> None:
        """Element type and count stay."""
        source, result = tile_type(self.source), tile_type(self.result)
        message = "operand 'source' {} cannot be reshaped to {}: "
        self.expect(source.element == result.element, message + "the element types differ", source, result)
        same = source.size == result.size
        self.expect(same, message + "{} elements are not {}", source, result, source.size, result.size)

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

    def verify(self) -> None:
        """Each dimension stays, or grows from 1."""
        source, result = tile_type(self.source), tile_type(self.result)
        message = "operand 'source' {} cannot be broadcast to {}: "
        _verify_alike(self, message, source, result)
        for dimension, (a, b) in enumerate(zip(source.shape, result.shape, strict=True)):
            self.expect(a in (1, b), message + "dimension {} is neither 1 nor {}", source, result, dimension, b)

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

    def verify(self) -> None:
        """At least two dimensions, each of which the permutation names once."""
        source, result = tile_type(self.source), tile_type(self.result)
        self.expect(len(source.shape) > 1, "operand 'source' must have two dimensions or more, is {}", source)
        named = sorted(self.permutation) == list(range(len(source.shape)))
        message = "permutation {} must name each dimension of operand 'source' {} once"
        self.expect(named, message, self.permutation, source)
        wanted = TileType(tuple(source.shape[d] for d in self.permutation), source.element)
        self.expect(result == wanted, "result must be {}, is {}", wanted, result)

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
    mirrored = True

    def verify(self) -> None:
        """All dimensions but `dim` agree; along it the result is as long as both together."""
        lhs, rhs, result = tile_type(self.lhs), tile_type(self.rhs), tile_type(self.result)
        self.expect(0 <= self.dim < len(lhs.shape), "dim {} does not exist in operand 'lhs' {}", self.dim, lhs)
        fits = lhs.element == rhs.element and len(lhs.shape) == len(rhs.shape)
        fits = fits and all(a == b or d == self.dim for d, (a, b) in enumerate(zip(lhs.shape, rhs.shape, strict=True)))
        self.expect(fits, "operand 'rhs' {} cannot follow 'lhs' {} along dimension {}", rhs, lhs, self.dim)
        joined = list(lhs.shape)
        joined[self.dim] += rhs.shape[self.dim]
        wanted = TileType(tuple(joined), lhs.element)
        self.expect(result == wanted, "result must be {}, is {}", wanted, result)

    @property
    def joins(self) -> int:
        """Dimension `dim`."""
        return self.dim

    @staticmethod
    def reference(lhs: Array, rhs: Array, dim: int) -> Array:
        """numpy.concatenate."""
        return np.concatenate((lhs, rhs), axis=dim)


def joined(first: Value, second: Value, dim: int, b: Builder) -> Value:
    """Two tiles of one type, one behind the other along a dimension."""
    kind = tile_type(first)
    shape = tuple(size * 2 if d == dim else size for d, size in enumerate(kind.shape))
    return b.value(Cat, first, second, types=[TileType(shape, kind.element)], dim=dim)


class Windowed(TileOp):
    """Speaks of the part of a tile at tile-space indices, which count in parts; out of range is undefined."""

    placement = SHAPE
    mirrored = True
    whole: ClassVar[str]
    """The field that holds the tile."""
    part: ClassVar[str]
    """The field that holds the part."""

    @classmethod
    def selects(cls) -> bool:
        """Is the part the result?"""
        return cls.part == "result"

    @property
    def window(self) -> tuple[Value, Value, list[Value]]:
        """The tile, the part, and the indices."""
        return getattr(self, self.whole), getattr(self, self.part), getattr(self, "indices")  # noqa: B009


@op("cuda_tile.extract", opcode=38)
class Extract(Windowed):
    """A sub-tile of the result's shape at tile-space indices (unsigned; out of range is undefined)."""

    syntax = "$source[$indices] : source -> result"

    source = Operand(ANY_TILE)
    indices = Variadic(SCALAR_INT)
    result = Result(ANY_TILE)

    whole, part = "source", "result"
    needs_result_type = True

    def verify(self) -> None:
        """The result's sizes divide the source's; there is one index a dimension, all of one type."""
        source, result = tile_type(self.source), tile_type(self.result)
        message = "operand 'source' {} cannot be cut into {}: "
        _verify_alike(self, message, source, result)
        for dimension, (a, b) in enumerate(zip(source.shape, result.shape, strict=True)):
            self.expect(a % b == 0, message + "dimension {} is not a multiple of {}", source, result, dimension, b)
        count = len(self.indices)
        self.expect(count == len(source.shape), "{} indices for operand 'source' {}", count, source)
        for index in self.indices[1:]:
            self.same_type("indices", index, "indices[0]", self.indices[0])

    @staticmethod
    def reference(source: Array, *indices: Array, result_type: TileType) -> Array:
        """source[i0 * n0 : (i0 + 1) * n0, ...] for result sizes n."""
        window = tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(indices, result_type.shape, strict=True))
        return source[window]


@op("cuda_tile.insert", since=(13, 4), opcode=118)
class Insert(Windowed):
    """`destination` with the sub-tile at tile-space indices replaced by `source` (out of range is undefined)."""

    syntax = "$source, $destination[$indices] : source, destination"

    source = Operand(ANY_TILE)
    destination = Operand(ANY_TILE)
    indices = Variadic(SCALAR_INT)
    result = same_type_as("destination")

    whole, part = "destination", "source"

    def verify(self) -> None:
        """The source's sizes divide the destination's; there is one index a dimension, all of one type."""
        source, result = tile_type(self.source), tile_type(self.destination)
        message = "operand 'source' {} does not tile 'destination' {}: "
        _verify_alike(self, message, source, result)
        for dimension, (a, b) in enumerate(zip(source.shape, result.shape, strict=True)):
            self.expect(b % a == 0, message + "dimension {} is not a multiple of {}", source, result, dimension, a)
        count = len(self.indices)
        self.expect(count == len(source.shape), "{} indices for operand 'source' {}", count, source)
        for index in self.indices[1:]:
            self.same_type("indices", index, "indices[0]", self.indices[0])

    @staticmethod
    def reference(source: Array, destination: Array, *indices: Array) -> Array:
        """A copy with result[i0 * n0 : (i0 + 1) * n0, ...] = source for source sizes n."""
        result = np.array(destination)
        result[tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(indices, source.shape, strict=True))] = source
        return result
