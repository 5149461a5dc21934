"""One address space for all array arguments: each array is an allocation with unmapped space around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ir.core import Location, TileError
from ir.dialects.cuda_tile.attributes import Array, dtype_of
from ir.dialects.cuda_tile.numerics import from_bits, to_bits
from ir.types import F8E5M3FNU, I8, FloatType, IntType, PointerType

FIRST_ADDRESS = 1 << 32
"""Above any offset from a null pointer that a program could plausibly make, so that null accesses are caught."""
ALIGNMENT = 256
"""Bytes; what cudaMalloc promises (CUDA C++ Programming Guide, device memory accesses)."""
GUARD = 1 << 20
"""Bytes between allocations: running off the end of one array does not reach the next."""
NIBBLE = 4
"""Bits of the elements that are stored two to a byte."""


class InterpreterError(TileError):
    """The program's behaviour is an error or undefined: an access out of bounds, a violated assumption."""


class Memory:
    """Array arguments by address. The same array passed twice is one allocation."""

    __slots__ = ("arrays", "ends", "names", "next_address", "starts")

    def __init__(self) -> None:
        self.arrays: list[Array] = []
        self.names: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.next_address = FIRST_ADDRESS

    def allocate(self, array: Array, name: str, location: Location) -> int:
        """The address of `array`, which is used in place; it must be C-contiguous."""
        if not array.flags.c_contiguous:
            raise InterpreterError(
                f"{name} is not contiguous", location, "pass the whole buffer and give its pitch as the row stride"
            )
        for known, start in zip(self.arrays, self.starts, strict=True):
            if known.ctypes.data == array.ctypes.data and known.nbytes == array.nbytes and array.nbytes:
                return start
            if np.may_share_memory(known, array) and np.shares_memory(known, array):
                raise InterpreterError(f"{name} overlaps another argument", location, "pass the whole buffer twice")
        return self.add(array, name)

    def add(self, array: Array, name: str, alignment: int = ALIGNMENT) -> int:
        """The address of an array that shares memory with no other, a multiple of `alignment` bytes."""
        start = self.next_address + -self.next_address % max(alignment, 1)
        self.arrays.append(array)
        self.names.append(name)
        self.starts.append(start)
        self.ends.append(start + array.nbytes)
        used = array.nbytes + GUARD
        self.next_address = start + used + -used % ALIGNMENT
        return start

    def release(self, count: int) -> None:
        """Forget all but the first `count` allocations; their addresses are not used again."""
        for kept in (self.arrays, self.names, self.starts, self.ends):
            del kept[count:]

    def load(self, addresses: Array, element: IntType | FloatType, location: Location) -> Array:
        """The elements at a 1-D array of addresses (of 4-bit elements: half bytes)."""
        if element.width == NIBBLE:
            pairs = self.load(addresses >> 1, I8, location).view(np.uint8)
            return from_bits((pairs >> ((addresses & 1) * NIBBLE).astype(np.uint8)) & np.uint8(0xF), element)
        dtype = memory_dtype(element)
        loaded = np.empty(addresses.shape, dtype)
        for cells, index, which in self._split(addresses, dtype, location, writes=False):
            loaded[which] = cells[index]
        if element == F8E5M3FNU:
            return from_bits(loaded, element)
        return loaded.astype(np.bool_) if dtype_of(element) == np.bool_ else loaded

    def store(self, addresses: Array, values: Array, element: IntType | FloatType, location: Location) -> None:
        """Write elements at a 1-D array of addresses; of several writes to one address the last one persists."""
        if element.width == NIBBLE:
            self._store_nibbles(addresses, to_bits(values, element), location)
            return
        dtype = memory_dtype(element)
        if element == F8E5M3FNU:
            values = to_bits(values, element)
        for cells, index, which in self._split(addresses, dtype, location, writes=True):
            cells[index] = values[which].astype(dtype)

    def _store_nibbles(self, addresses: Array, bits: Array, location: Location) -> None:
        """Low halves, then high halves: two elements of a byte do not overwrite each other."""
        for half in (0, 1):
            mine = (addresses & 1) == half
            places = addresses[mine] >> 1
            before = self.load(places, I8, location).view(np.uint8)
            kept = before & np.uint8(0xF0 if half == 0 else 0x0F)
            self.store(places, (kept | (bits[mine] << np.uint8(half * NIBBLE))).view(np.int8), I8, location)

    def _split(
        self, addresses: Array, dtype: np.dtype[np.generic], location: Location, writes: bool
    ) -> Sequence[tuple[Array, Array, Any]]:
        """For each allocation accessed: its elements as `dtype`, the indices into them, the positions in
        `addresses`.
        """
        if not addresses.size:
            return []
        starts, ends = np.array(self.starts, np.int64), np.array(self.ends, np.int64)
        owner = np.searchsorted(starts, addresses, side="right") - 1
        bad = owner < 0
        bad |= addresses + dtype.itemsize > np.where(bad, 0, ends[owner] if len(ends) else 0)
        if bad.any():
            self._out_of_bounds(int(addresses[int(bad.argmax())]), dtype, location, writes)
        parts: list[tuple[Array, Array, object]] = []
        touched = owner[:1] if (owner == owner[0]).all() else np.unique(owner)
        for which in touched:
            mine: object = slice(None) if len(touched) == 1 else np.nonzero(owner == which)[0]
            offset = addresses[mine] - starts[which]
            self._check_access(int(which), offset, dtype, location, writes)
            parts.append((self._cells(int(which), dtype), offset // dtype.itemsize, mine))
        return parts

    def _cells(self, which: int, dtype: np.dtype[np.generic]) -> Array:
        flat = self.arrays[which].reshape(-1).view(np.uint8)
        return flat[: flat.size - flat.size % dtype.itemsize].view(dtype)

    def _check_access(
        self, which: int, offsets: Array, dtype: np.dtype[np.generic], location: Location, writes: bool
    ) -> None:
        if writes and not self.arrays[which].flags.writeable:
            raise InterpreterError(f"store to {self.names[which]}, a read-only array", location, "pass a copy")
        skewed = offsets % dtype.itemsize != 0
        if skewed.any():
            byte = int(offsets[int(skewed.argmax())])
            raise InterpreterError(
                f"misaligned access of {dtype.itemsize} bytes at byte {byte} of {self.names[which]}", location
            )

    def _out_of_bounds(self, address: int, dtype: np.dtype[np.generic], location: Location, writes: bool) -> None:
        access = f"{'store' if writes else 'load'} of {dtype.itemsize} bytes"
        gaps = [max(start - address, address - end + 1, 0) for start, end in zip(self.starts, self.ends, strict=True)]
        nearest = int(np.argmin(gaps)) if gaps else -1
        if nearest < 0 or gaps[nearest] > GUARD:
            raise InterpreterError(f"{access} at address {address:#x}, which is in no array", location)
        raise InterpreterError(
            f"{access} out of bounds: byte {address - self.starts[nearest]} of {self.names[nearest]}, "
            f"which has {self.arrays[nearest].nbytes} bytes",
            location,
            "mask the access, or check the sizes and strides passed",
        )


def memory_dtype(element: IntType | FloatType) -> np.dtype[np.generic]:
    """How an element is stored in memory: i1 and pairs of 4-bit elements take a byte."""
    if element == F8E5M3FNU or element.width in (1, NIBBLE):
        return np.dtype(np.uint8)
    return dtype_of(element)


def argument_fits(array: Array, pointer: PointerType) -> bool:
    """Whether an array's dtype matches the pointee: the same kind and width, regardless of signedness."""
    pointee = pointer.pointee
    if pointee == F8E5M3FNU or pointee.width == NIBBLE:
        return array.dtype.kind in "iu" and array.dtype.itemsize == 1
    if array.dtype == dtype_of(pointee):
        return True
    if isinstance(pointee, IntType):
        return array.dtype.kind in "iu" and array.dtype.itemsize == memory_dtype(pointee).itemsize
    return False
