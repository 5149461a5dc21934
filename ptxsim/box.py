"""The geometry of TMA: which bytes of global memory a box holds, and their addresses in shared memory.

A box is dense in shared memory, innermost dimension first; the swizzle then moves 16-byte chunks by their absolute
shared address. Sources: PTX ISA, "Tensor Data Movement", "Swizzling Modes"; CUTLASS, Swizzle<B,4,3> and <2,5,2>.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ptxsim.ptx_types import Array, unsigned
from ptxsim.tensormap import Corners, TensorMap

CHUNK = 16
# Swizzle name to (address bits that are XORed in, their position, the distance they are shifted down). 128B_ATOM_64B
# follows from the pattern of the other atoms: one bit per doubling of the atom.
_XOR = {
    "none": (0, 0, 0),
    "32B": (1, 7, 3),
    "64B": (3, 7, 3),
    "128B": (7, 7, 3),
    "128B_ATOM_32B": (3, 7, 2),
    "128B_ATOM_32B_FLIP_8B": (3, 7, 2),
    "128B_ATOM_64B": (1, 7, 1),
}
# Swizzles repeat after this many bytes: eight rows of 128 bytes.
_PERIOD = 1024


@lru_cache(maxsize=512)
def _swizzled(start: int, size: int, swizzle: str) -> tuple[Array, Array | None]:
    """Addresses of the chunks of `size` bytes from `start`, and which chunks swap their halves."""
    address = start + CHUNK * np.arange(-(-size // CHUNK))
    bits, position, down = _XOR[swizzle]
    address ^= ((address >> position) & bits) << (position - down)
    swapped = (address >> 7 & 1).astype(np.bool_) if swizzle.endswith("FLIP_8B") else None
    address.flags.writeable = False
    return address, swapped


def shared_chunks(start: int, size: int, swizzle: str) -> tuple[Array, Array | None]:
    """Shared addresses of the 16-byte chunks of a box at `start`, in box order; chunks that swap their halves."""
    inside = start % _PERIOD
    address, swapped = _swizzled(inside, size, swizzle)
    return address + (start - inside), swapped


def swap_halves(data: Array, swapped: Array | None) -> Array:
    """Bytes whose chunks marked True have their 8-byte halves exchanged."""
    if swapped is None:
        return data
    halves = data.view(np.uint64).reshape(-1, 2)
    return np.where(swapped[:, None], halves[:, ::-1], halves).reshape(-1).view(np.uint8)


@dataclass(frozen=True, slots=True)
class Units:
    """The pieces of a box: byte offsets from the map's base, and which are inside the tensor (None: all)."""

    offset: Array
    valid: Array | None


class Box:
    """The unit of transfer of a tensor map.

    unit: bytes of a piece in global memory; size: bytes in shared memory of a tile or an im2col column.
    """

    def __init__(self, tensor: TensorMap) -> None:
        self.map = tensor
        bits = tensor.element.bits
        self.unit = bits // 8 if bits >= 8 else (1 if bits == tensor.element.shared_bits else 4)
        # formats with gaps: 8 or 12 bytes of global memory fill 16 bytes of shared memory
        self._packed = 0 if bits == tensor.element.shared_bits else 2 * bits
        self._unit_bits = 8 * self.unit
        self._extent = (tensor.global_dim[0] * bits // self._unit_bits, *tensor.global_dim[1:])
        self._stride = (self.unit, *tensor.global_strides)
        self._chunked: Array | None = None
        if tensor.corners is None:
            self._set_tile(tensor.loaded_box)
        else:
            self.inner = tensor.corners.channels * bits // self._unit_bits
            self.size = self._shared_bytes(self.inner * tensor.corners.pixels)

    def _set_tile(self, loaded: tuple[int, ...]) -> None:
        tensor = self.map
        self.inner = loaded[0] * tensor.element.bits // self._unit_bits
        self._counts = (self.inner, *loaded[1:])
        self._steps = (1, *tensor.element_strides[1:])
        self._grid = self._offsets(self.inner, self.unit)
        if not self._packed and self.inner * self.unit % CHUNK == 0:
            self._chunked = self._offsets(self.inner * self.unit // CHUNK, CHUNK)
        self.size = self._shared_bytes(self._grid.size)
        self.row = self._shared_bytes(self.inner)

    def _offsets(self, inner: int, width: int) -> Array:
        """Byte offsets inside the box of pieces of `width` bytes, innermost fastest."""
        result = np.arange(inner, dtype=np.int64) * width
        for count, step, stride in zip(self._counts[1:], self._steps[1:], self._stride[1:], strict=True):
            result = (np.arange(count, dtype=np.int64)[:, None] * (step * stride) + result[None, :]).reshape(-1)
        return result

    def _shared_bytes(self, units: int) -> int:
        size = units * self.unit
        return size // self._packed * CHUNK if self._packed else size

    @property
    def used_bytes(self) -> int:
        """Of every 16 bytes in shared memory, those that are not a gap."""
        return self._packed or CHUNK

    @property
    def extent_bytes(self) -> int:
        """Bytes from the base to the end of the tensor."""
        return self._extent[0] * self.unit + sum(
            (extent - 1) * stride for extent, stride in zip(self._extent[1:], self._stride[1:], strict=True)
        )

    def first_unit(self, coordinate: int) -> int:
        """The innermost coordinate in pieces. Raises ValueError if it splits one."""
        bits = coordinate * self.map.element.bits
        multiple = 16 * self.map.element.bits if self._packed else self._unit_bits
        if bits % multiple:
            raise ValueError(
                f"coordinate {coordinate} of {self.map.element.name} is not a multiple of "
                f"{multiple // self.map.element.bits}"
            )
        return bits // self._unit_bits

    # ---- which pieces

    def tile(self, coordinates: Sequence[int]) -> Units:
        """The pieces of the box at these coordinates."""
        where = (self.first_unit(coordinates[0]), *coordinates[1:])
        start = sum(c * stride for c, stride in zip(where, self._stride, strict=True))
        valid: Array | None = None
        if not self._is_inside(where):
            valid = np.ones(1, np.bool_)
            for c, count, step, extent in zip(where, self._counts, self._steps, self._extent, strict=True):
                place = c + step * np.arange(count)
                inside = (place >= 0) & (place < extent)
                valid = (inside[:, None] & valid[None, :]).reshape(-1)
        return Units(self._grid + start, valid)

    def _is_inside(self, where: Sequence[int]) -> bool:
        return all(
            c >= 0 and c + step * (count - 1) < extent
            for c, count, step, extent in zip(where, self._counts, self._steps, self._extent, strict=True)
        )

    def whole_chunks(self, coordinates: Sequence[int]) -> Array | None:
        """Offsets of the box in 16-byte chunks, None unless it is inside the tensor and made of whole chunks."""
        if self._chunked is None:
            return None
        where = (self.first_unit(coordinates[0]), *coordinates[1:])
        if where[0] * self.unit % CHUNK or not self._is_inside(where):
            return None
        return self._chunked + sum(c * stride for c, stride in zip(where, self._stride, strict=True))

    @cached_property
    def _tile_bytes(self) -> Array:
        """The bytes of a tile, relative to its first one."""
        return (self._grid[:, None] + np.arange(self.unit)).reshape(-1)

    def bytes_inside(self, units: Units) -> Array:
        """The positions, relative to the base, of the bytes of pieces that are inside the tensor."""
        if self.map.corners is None and units.valid is None and units.offset.size == self._grid.size:
            first = units.offset[0] - self._grid[0]
            if (units.offset - first == self._grid).all():
                return self._tile_bytes + first
        inside = units.offset if units.valid is None else units.offset[units.valid]
        return (inside[:, None] + np.arange(self.unit)).reshape(-1)

    @property
    def chunks(self) -> Array | None:
        """Offsets in 16-byte chunks from the start of a tile that is inside the tensor and made of whole chunks."""
        return self._chunked

    def chunk_starts(self, coordinates: Sequence[Array]) -> Array | None:
        """As whole_chunks for the coordinates of several tiles: where each starts, in bytes."""
        bits = self.map.element.bits
        if self._chunked is None or (coordinates[0] * bits % (8 * CHUNK)).any():
            return None
        start = coordinates[0] * bits // 8
        where = coordinates[0] * bits // self._unit_bits, *coordinates[1:]
        for c, count, step, extent in zip(where, self._counts, self._steps, self._extent, strict=True):
            if int(c.min()) < 0 or int(c.max()) + step * (count - 1) >= extent:
                return None
        for c, stride in zip(coordinates[1:], self._stride[1:], strict=True):
            start = start + c * stride
        return start

    def rows(self, coordinates: Sequence[int]) -> Units:
        """gather4 and scatter4: the pieces of four rows; coordinates: column, then the rows."""
        column = self.first_unit(coordinates[0])
        place = column + np.arange(self.inner)
        row = np.array(coordinates[1:], np.int64)
        valid = ((row >= 0) & (row < self._extent[1]))[:, None] & ((place >= 0) & (place < self._extent[0]))[None, :]
        offset = row[:, None] * self._stride[1] + place[None, :] * self.unit
        return Units(offset.reshape(-1), None if valid.all() else valid.reshape(-1))

    def column(self, corners: Corners, coordinates: Sequence[int], offsets: Sequence[int]) -> Units:
        """im2col: the pieces of a column of pixels.

        coordinates: channel, base pixel (W, H, D), image; offsets: of the filter tap, (W, H, D).
        """
        pixels = _walk(self.map, corners, tuple(coordinates[1:]))
        pixels[:, :-1] += np.array(offsets, np.int64)
        inside = np.all((pixels >= 0) & (pixels < np.array(self._extent[1:])), axis=1)
        channel = self.first_unit(coordinates[0]) + np.arange(self.inner)
        valid = inside[:, None] & ((channel >= 0) & (channel < self._extent[0]))[None, :]
        offset = (pixels @ np.array(self._stride[1:], np.int64))[:, None] + channel[None, :] * self.unit
        return Units(offset.reshape(-1), None if valid.all() else valid.reshape(-1))

    # ---- moving them; base: the position in the arena of the map's first byte

    def load(self, arena: Array, base: int, units: Units) -> Array:
        """The bytes of a box as shared memory holds them, out-of-bounds pieces filled."""
        cells = self._cells(arena)
        index = (units.offset if units.valid is None else np.where(units.valid, units.offset, 0)) + base
        data = cells.take(index // self.unit)
        if units.valid is not None:
            data[~units.valid] = self._fill_bits()
        return self.spread(data.view(np.uint8))

    def store(self, arena: Array, base: int, units: Units, data: Array) -> None:
        """Write a box's bytes to the pieces inside the tensor."""
        values = self.pack(data).view(unsigned(self._unit_bits))
        index = (units.offset + base) // self.unit
        if units.valid is None:
            self._cells(arena)[index] = values
        else:
            self._cells(arena)[index[units.valid]] = values[units.valid]

    def _cells(self, arena: Array) -> Array:
        return arena[: arena.size // 8 * 8].view(unsigned(self._unit_bits))

    def _fill_bits(self) -> int:
        if self.map.oob_fill == "zero":
            return 0
        return (1 << (self._unit_bits - 1)) - 1  # a quiet NaN in every float format

    def spread(self, data: Array) -> Array:
        """Global bytes as shared memory holds them: gaps after every 8 or 12 bytes of the padded formats."""
        if not self._packed:
            return data
        result = np.zeros((data.size // self._packed, CHUNK), np.uint8)
        result[:, : self._packed] = data.reshape(-1, self._packed)
        return result.reshape(-1)

    def pack(self, data: Array) -> Array:
        """The inverse of spread."""
        if not self._packed:
            return data
        return np.ascontiguousarray(data.reshape(-1, CHUNK)[:, : self._packed]).reshape(-1)


def _walk(tensor: TensorMap, corners: Corners, start: tuple[int, ...]) -> Array:
    """Base pixels [pixels, (W, H, D, N)] from a start, along the bounding box, row by row, image by image."""
    spatial = tensor.rank - 2
    last = [tensor.global_dim[1 + axis] - 1 + corners.upper[axis] for axis in range(spatial)]
    place = list(start)
    result = np.empty((corners.pixels, spatial + 1), np.int64)
    for number in range(corners.pixels):
        result[number] = place
        for axis in range(spatial):
            place[axis] += tensor.element_strides[1 + axis]
            if place[axis] <= last[axis]:
                break
            place[axis] = corners.lower[axis]
        else:
            place[spatial] += 1
    return result


@lru_cache(maxsize=256)
def box_of(tensor: TensorMap) -> Box:
    """The box of a tensor map."""
    return Box(tensor)
