"""Views at run time: which elements a tile index names, and where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ir.core import Location, Value
from ir.dialects.cuda_tile.attributes import Array
from ir.dialects.cuda_tile.numerics import read_unsigned
from ir.interpreter.memory import InterpreterError, memory_dtype
from ir.types import FloatType, IntType, PartitionViewType, TensorViewType


@dataclass(frozen=True, slots=True)
class TensorView:
    """A strided array: base address in bytes, sizes and strides in elements."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    element: IntType | FloatType


@dataclass(frozen=True, slots=True)
class PartitionView:
    """A tensor view cut into tiles; tile dimension i runs along view dimension `type.dim_map[i]`."""

    view: TensorView
    type: PartitionViewType

    @property
    def index_space(self) -> tuple[int, ...]:
        """Number of tiles along each tile dimension, the last one possibly partial."""
        shape = self.view.shape
        return tuple(-(-shape[d] // t) for d, t in zip(self.type.dim_map, self.type.tile, strict=True))

    def elements(self, index: Sequence[int]) -> tuple[Array, Array]:
        """Addresses and in-bounds mask of the tile at `index`, each of the tile's shape."""
        tile, rank = self.type.tile, len(self.type.tile)
        offset: Array = np.zeros((1,) * rank, np.int64)
        inside: Array = np.ones((1,) * rank, np.bool_)
        for axis, (size, position, dim) in enumerate(zip(tile, index, self.type.dim_map, strict=True)):
            spread = [1] * rank
            spread[axis] = size
            limit = self.view.shape[dim]
            # A tile far outside (indices are unsigned) has no element inside; clamping keeps int64 from wrapping.
            first = min(position * size, limit)
            along = (np.arange(size, dtype=np.int64) + first).reshape(spread)
            inside = inside & (along < limit)
            offset = offset + along * self.view.strides[dim]
        width = memory_dtype(self.view.element).itemsize
        return (
            np.broadcast_to(self.view.base + offset * width, tile),
            np.broadcast_to(inside, tile),
        )  # fmt: skip


def make_tensor_view(
    type_: TensorViewType, base: Array, sizes: Sequence[Array], strides: Sequence[Array], location: Location
) -> TensorView:
    """Fill the dynamic sizes and strides of the type in order."""
    shape = _fill(type_.shape, sizes, "size", location)
    return TensorView(int(base), shape, _fill(type_.strides, strides, "stride", location), type_.element)


def _fill(static: Sequence[int | None], dynamic: Sequence[Array], what: str, location: Location) -> tuple[int, ...]:
    rest = iter(dynamic)
    filled = tuple(int(next(rest)) if s is None else s for s in static)
    if any(s < 0 for s in filled):
        raise InterpreterError(f"tensor view with a negative {what}: {filled}", location, "check the arguments passed")
    return filled


def tile_index(values: Sequence[Array]) -> tuple[int, ...]:
    """A tile-space index; its integers are read as unsigned (CUDA Tile IR 13.4, load_view_tko)."""
    return tuple(int(read_unsigned(v)) for v in values)


def check_inbounds(promised: Sequence[bool], view: PartitionView, index: Sequence[int], location: Location) -> None:
    """Check the promise that a tile lies wholly inside along some dimensions."""
    for axis, (promise, size, position) in enumerate(zip(promised, view.type.tile, index, strict=False)):
        limit = view.view.shape[view.type.dim_map[axis]]
        if promise and (position + 1) * size > limit:
            raise InterpreterError(
                f"promised to be in bounds, but tile {position} of dimension {axis} ends at {(position + 1) * size}, "
                f"past the size {limit}",
                location,
            )


def unspecified(shape: tuple[int, ...], element: IntType | FloatType) -> Array:
    """Values that the language leaves open: NaN, or 0x55 in every byte of an integer."""
    dtype = memory_dtype(element)
    if isinstance(element, FloatType):
        return np.full(shape, np.nan).astype(dtype)
    pattern = np.frombuffer(b"\x55" * (dtype.itemsize * prod(shape)), dtype).reshape(shape)
    return pattern.astype(np.bool_) if element.width == 1 else pattern.copy()


def padding(kind: str, shape: tuple[int, ...], element: IntType | FloatType) -> Array:
    """A tile of a view's padding value; kinds other than zero need a float element."""
    number = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}[kind]
    dtype = memory_dtype(element)
    filled = np.full(shape, number).astype(dtype)
    return filled.astype(np.bool_) if element.width == 1 else filled


def view_operand(value: Value, environment: dict[Value, object]) -> PartitionView:
    """The partition view bound to a value; the verifier has checked its type."""
    found = environment[value]
    if not isinstance(found, PartitionView):
        raise TypeError(f"{value!r} is not bound to a partition view")
    return found
