"""Views at run time: the elements that a tile index selects, and their addresses."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

import numpy as np

from ir.core import Location, Value
from ir.dialects.cuda_tile.attributes import Array, dtype_of
from ir.dialects.cuda_tile.numerics import read_unsigned
from ir.interpreter.memory import NIBBLE, InterpreterError, memory_dtype
from ir.records import dataclass
from ir.types import FloatType, IntType, PartitionViewType, StridedViewType, TensorViewType, TileViewType


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided array: base address in bytes, sizes and strides in elements."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: IntType | FloatType


Index: TypeAlias = "Sequence[int | Array]"
"""One entry per tile dimension: a tile number, an element offset, or the positions along a sparse dimension."""


@dataclass(frozen=True, slots=True)
class TileView:
    """A tensor view that gives tiles by index; tile dimension i runs along view dimension `type.dim_map[i]`."""

    view: TensorView
    type: TileViewType

    @property
    def steps(self) -> tuple[int, ...]:
        """Elements between the origins of adjacent tiles along each dimension; 1 if an index counts elements."""
        type_ = self.type
        if isinstance(type_, StridedViewType):
            return type_.traversal
        return type_.tile if isinstance(type_, PartitionViewType) else (1,) * len(type_.tile)

    @property
    def index_space(self) -> tuple[int, ...]:
        """Number of indices along each tile dimension, the last tile possibly partial."""
        shape = self.view.shape
        return tuple(-(-shape[d] // step) for d, step in zip(self.type.dim_map, self.steps, strict=True))

    def elements(self, index: Index) -> tuple[Array, Array]:
        """Addresses and in-bounds mask of the tile at `index`, each of the tile's shape.

        Addresses count bytes, of 4-bit elements half bytes.
        """
        tile, rank = self.type.tile, len(self.type.tile)
        offset: Array = np.zeros((1,) * rank, np.int64)
        inside: Array = np.ones((1,) * rank, np.bool_)
        for axis, (size, position, dim) in enumerate(zip(tile, index, self.type.dim_map, strict=True)):
            spread = [1] * rank
            spread[axis] = size
            limit = self.view.shape[dim]
            # A tile far outside (indices are unsigned) has no element inside; clamping keeps int64 from wrapping.
            if isinstance(position, int):
                along = np.arange(size, dtype=np.int64) + min(position * self.steps[axis], limit)
            else:
                along = np.minimum(position, np.uint64(limit)).astype(np.int64)
            along = along.reshape(spread)
            inside = inside & (along < limit)
            offset = offset + along * self.view.strides[dim]
        if self.view.element.width == NIBBLE:
            address = self.view.base * 2 + offset
        else:
            address = self.view.base + offset * memory_dtype(self.view.element).itemsize
        return np.broadcast_to(address, tile), np.broadcast_to(inside, tile)


def make_tensor_view(
    type_: TensorViewType, base: Array, sizes: Sequence[Array], strides: Sequence[Array], location: Location
) -> TensorView:
    """Fill the dynamic sizes and strides of the type in order."""
    shape = _fill(type_.shape, sizes, "size", location)
    steps = _fill(type_.strides, strides, "stride", location)
    if type_.element.width == NIBBLE:
        _check_even(type_, shape, steps, location)
    return TensorView(int(base), shape, steps, type_.element)


def _check_even(type_: TensorViewType, shape: tuple[int, ...], strides: tuple[int, ...], location: Location) -> None:
    """Rows of 4-bit elements begin and end with a byte (CUDA Tile IR 13.4, element types)."""
    dense = [axis for axis, stride in enumerate(type_.strides) if stride == 1]
    sizes = [shape[axis] for axis in dense]
    steps = [stride for axis, stride in enumerate(strides) if axis not in dense]
    for what, numbers in (("size", sizes), ("stride", steps)):
        odd = [number for number in numbers if number % 2]
        if odd:
            message = f"a {what} of {odd[0]} elements of {type_.element} is odd, but two elements share a byte"
            raise InterpreterError(message, location, "pad the rows to an even size")


def _fill(static: Sequence[int | None], dynamic: Sequence[Array], what: str, location: Location) -> tuple[int, ...]:
    rest = iter(dynamic)
    filled = tuple(int(next(rest)) if s is None else s for s in static)
    if any(s < 0 for s in filled):
        raise InterpreterError(f"tensor view with a negative {what}: {filled}", location, "check the arguments passed")
    return filled


def tile_index(values: Sequence[Array]) -> tuple[int, ...]:
    """A tile-space index; its integers are interpreted as unsigned (CUDA Tile IR 13.4, load_view_tko)."""
    return tuple(int(read_unsigned(v)) for v in values)


def view_index(values: Sequence[Array]) -> Index:
    """An index into a view: scalars as unsigned integers, the positions along a sparse dimension as an array of
    them.
    """
    return [read_unsigned(v).astype(np.uint64) if v.ndim else int(read_unsigned(v)) for v in values]


def check_inbounds(promised: Sequence[bool], view: TileView, index: Index, location: Location) -> None:
    """Check the assumption that a tile is entirely inside along some dimensions."""
    for axis, (promise, size, position) in enumerate(zip(promised, view.type.tile, index, strict=False)):
        if not promise:
            continue
        limit = view.view.shape[view.type.dim_map[axis]]
        if isinstance(position, int):
            end, what = position * view.steps[axis] + size, f"tile {position}"
        else:
            end, what = int(position.max()) + 1, "an index"
        if end > limit:
            message = f"assumed to be in bounds, but {what} of dimension {axis} ends at {end}, past the size {limit}"
            raise InterpreterError(message, location)


def unspecified(shape: tuple[int, ...], element: IntType | FloatType) -> Array:
    """Values that the language leaves unspecified: NaN, or 0x55 in every byte of an integer."""
    dtype = dtype_of(element)
    if isinstance(element, FloatType):
        return np.full(shape, np.nan).astype(dtype)
    if element.width in (1, NIBBLE):
        return np.ones(shape, dtype)
    pattern = np.frombuffer(b"\x55" * (dtype.itemsize * prod(shape)), dtype).reshape(shape)
    return pattern.copy()


def padding(kind: str, shape: tuple[int, ...], element: IntType | FloatType) -> Array:
    """A tile of a view's padding value; kinds other than zero need a float element. Zero is all bits zero, as written
    by copies: for f8E8M0FNU, which has no zero, this is the smallest number.
    """
    if kind == "zero":
        return np.zeros(shape, dtype_of(element))
    number = {"neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}[kind]
    return np.full(shape, number).astype(dtype_of(element))


def view_operand(value: Value, environment: dict[Value, object]) -> TileView:
    """The view bound to a value; the verifier has checked its type."""
    found = environment[value]
    if not isinstance(found, TileView):
        raise TypeError(f"{value!r} is not bound to a view of tiles")
    return found
