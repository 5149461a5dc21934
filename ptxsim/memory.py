"""Memory: the global allocations of a caller, and the state spaces that instructions access.

Every global allocation is in the middle of its own window of the virtual address space, so an address that is off by
less than half a window is not in any allocation. Shared and local memory have a window each, which makes every generic
address unambiguous. Physically each space is one array of bytes.
"""

import mmap
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ptxsim.errors import LaunchError
from ptxsim.ptx_types import Array

# The 64-bit virtual address space is divided into windows of 1 TiB: more than any 32-bit index times any element size.
WINDOW_BITS = 40
SHARED_WINDOW = 1
LOCAL_WINDOW = 2
FIRST_GLOBAL_WINDOW = 3
# Allocations start in the middle of their window, so that negative offsets are caught as well.
_MIDDLE = 1 << (WINDOW_BITS - 1)
# The bits of a shared address from this one up hold the rank of the CTA in its cluster. CUTLASS clears bit 24 to name
# the even CTA of a pair (Sm100MmaPeerBitMask), so the hardware has it there too.
RANK_SHIFT = 24
# cudaMalloc aligns to at least 256 bytes (CUDA C++ Programming Guide, "Device Memory Accesses").
ALLOCATION_ALIGNMENT = 256
# Fresh memory holds 0xFF bytes: NaN in every float format, so that a missing write shows.
FRESH = 0xFF
# The size of an allocation that has been freed: no access fits in it.
_FREED = -1
# The size of a multicast object: only multimem instructions access one.
_MULTICAST = -2
# One element of each access width; complex128 only because NumPy moves 16 bytes at once with it.
CELL: dict[int, type[np.generic]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64, 16: np.complex128}


class Address(int):
    """A 64-bit address of global memory."""

    def __repr__(self) -> str:
        return f"Address({int(self):#x})"


class GlobalMemory:
    """Global memory of a device, filled and read by the caller around launches.

    heap: sizes by address of kernels' live malloc allocations; multicasts: by number of the allocation, bytes and
    addresses of the replicas of a multicast object; changed: the bytes that the last launch changed, None if it ran
    without hazards.
    """

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.physical: list[int] = []
        self.arena: Array = np.zeros(0, np.uint8)
        self.changed: Array | None = None
        self._shared: Array | None = None
        self._used = 0
        self._holes: list[tuple[int, int]] = []
        self.heap: dict[int, int] = {}
        self.multicasts: dict[int, tuple[int, tuple[int, ...]]] = {}

    def note_changes(self, before: Array | None) -> None:
        """A launch ended; before: the memory's contents when it began. `changed` then holds the bytes that it
        changed.
        """
        self.changed = None
        if before is not None:
            self.changed = np.zeros(self.arena.size, np.bool_)
            self.changed[: before.size] = before != self.arena[: before.size]

    def alloc(self, size: int) -> Address:
        """Reserve bytes that hold 0xFF until something writes them."""
        if size < 0:
            raise LaunchError(f"an allocation of {size} bytes is impossible")
        extent = _extent(size)
        start = self._hole(extent)
        if start is None:
            self.reserve(extent)
            start = self._used
            self._used += extent
        self.sizes.append(size)
        self.physical.append(start)
        return self.address(len(self.sizes) - 1)

    def multicast(self, size: int, replicas: Sequence[int]) -> Address:
        """The address of a multicast object over replicas, which are addresses of `size` bytes inside allocations.

        Source: CUDA Driver API, "Multicast Object Management". Raises LaunchError if a replica does not fit.
        """
        if not replicas:
            raise LaunchError("a multicast object needs a replica")
        for replica in replicas:
            self.offset(replica, size)
        self.sizes.append(_MULTICAST)
        self.physical.append(0)
        self.multicasts[len(self.sizes) - 1] = (size, tuple(int(replica) for replica in replicas))
        return self.address(len(self.sizes) - 1)

    def address(self, number: int) -> Address:
        """The start of allocation `number`."""
        return Address(((number + FIRST_GLOBAL_WINDOW) << WINDOW_BITS) + _MIDDLE)

    def _hole(self, extent: int) -> int | None:
        """The position of freed bytes that an extent fits in, which are taken; None if there are none."""
        for place, (start, size) in enumerate(self._holes):
            if size >= extent:
                left = [(start + extent, size - extent)] if size > extent else []
                self._holes[place : place + 1] = left
                return start
        return None

    def fits(self, size: int) -> bool:
        """Whether an allocation would move nothing, so that it can be made during a launch."""
        extent = _extent(size)
        return self._used + extent <= self.arena.size or any(hole >= extent for _, hole in self._holes)

    def reserve(self, size: int) -> None:
        """Ensure that the next allocations, of this many bytes in total, move nothing."""
        if self._used + size > self.arena.size:
            grown = np.full(max(self._used + size, 2 * self.arena.size), FRESH, np.uint8)
            grown[: self._used] = self.arena[: self._used]
            self.arena = grown

    def share(self) -> None:
        """Make writes visible to processes forked from now on, in both directions, until the memory grows."""
        if self._shared is not self.arena:
            self._shared = np.frombuffer(mmap.mmap(-1, max(self.arena.size, 1)), np.uint8, self.arena.size)
            self._shared[:] = self.arena
            self.arena = self._shared

    def free(self, address: int) -> None:
        """End an allocation; its addresses are never used again. Raises LaunchError unless one starts there."""
        number = self.started_at(address)
        if number is None:
            raise LaunchError(f"free of {int(address):#x}, which is not the start of an allocation")
        start, extent = self.physical[number], _extent(self.sizes[number])
        self.sizes[number] = _FREED
        self.arena[start : start + extent] = FRESH
        holes: list[tuple[int, int]] = []
        for first, size in sorted([*self._holes, (start, extent)]):
            if holes and sum(holes[-1]) == first:
                holes[-1] = (holes[-1][0], holes[-1][1] + size)
            else:
                holes.append((first, size))
        if sum(holes[-1]) == self._used:
            self._used = holes.pop()[0]
        self._holes = holes

    def drop(self, address: int) -> None:
        """End an allocation that is not visible elsewhere: later ones may reuse its addresses."""
        self.free(address)
        if self.address(len(self.sizes) - 1) == address:
            self.sizes.pop()
            self.physical.pop()

    def started_at(self, address: int) -> int | None:
        """The number of the allocation, not freed, that starts at an address, or None."""
        number = (int(address) >> WINDOW_BITS) - FIRST_GLOBAL_WINDOW
        if not 0 <= number < len(self.sizes) or self.sizes[number] < 0:
            return None
        return number if self.address(number) == int(address) else None

    def put(self, array: npt.ArrayLike) -> Address:
        """Copy an array (row-major) into a new allocation and return its address."""
        data = np.ascontiguousarray(array)
        address = self.alloc(data.nbytes)
        self.set(address, data)
        return address

    def set(self, address: int, array: npt.ArrayLike) -> None:
        """Copy an array (row-major) to an address inside an allocation. Raises LaunchError if it does not fit."""
        data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        start = self.offset(address, data.size)
        self.arena[start : start + data.size] = data

    def get(self, address: int, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> Array:
        """A copy of the array of this shape and dtype that lies at an address inside an allocation."""
        wanted = np.dtype(dtype)
        count = int(np.prod(shape, dtype=np.int64))
        start = self.offset(address, count * wanted.itemsize)
        data = self.arena[start : start + count * wanted.itemsize].tobytes()
        return np.frombuffer(data, wanted).reshape(shape).copy()

    def offset(self, address: int, size: int) -> int:
        """The position in the arena of bytes at an address. Raises LaunchError if no allocation holds them all."""
        window = (int(address) >> WINDOW_BITS) - FIRST_GLOBAL_WINDOW
        inside = int(address) & ((1 << WINDOW_BITS) - 1)
        if not 0 <= window < len(self.sizes) or not 0 <= inside - _MIDDLE <= self.sizes[window] - size:
            raise LaunchError(f"{size} bytes at {int(address):#x} are not inside one allocation of this GlobalMemory")
        return self.physical[window] + inside - _MIDDLE


def _extent(size: int) -> int:
    """Bytes of the arena that an allocation takes."""
    return -(-max(size, 1) // ALLOCATION_ALIGNMENT) * ALLOCATION_ALIGNMENT


class Fault(Exception):
    """Internal: the access number `position` of an index computation is bad; `reason` says how."""

    def __init__(self, position: int, reason: str, misaligned: bool = False) -> None:
        self.position = position
        self.reason = reason
        self.misaligned = misaligned
        super().__init__(reason)


class GlobalSpace:
    """Address arithmetic on a GlobalMemory whose allocations do not move during a launch."""

    def __init__(self, memory: GlobalMemory) -> None:
        self._memory = memory
        self.refresh()
        count = memory.arena.size // 16 * 16
        self.cells = {size: memory.arena[:count].view(dtype) for size, dtype in CELL.items()}

    def refresh(self) -> None:
        """Update after allocations were made or freed."""
        self._starts = np.array([*self._memory.physical, 0], np.int64)
        self._sizes = np.array([*self._memory.sizes, 0], np.int64)

    def index(self, address: Array, size: int) -> Array:
        """The cell numbers of accesses of `size` bytes at u64 addresses. Raises Fault."""
        shift = size.bit_length() - 1
        window = int(address[0]) >> WINDOW_BITS
        number = window - FIRST_GLOBAL_WINDOW
        if 0 <= number < len(self._memory.sizes):
            base = (window << WINDOW_BITS) + _MIDDLE
            inside = address - np.uint64(base)
            limit = self._memory.sizes[number] - size
            # below the base the subtraction wraps to a huge number, so one comparison checks both ends
            if int(np.maximum.reduce(inside)) <= limit and not int(np.bitwise_or.reduce(inside)) & (size - 1):
                return (inside.view(np.int64) + self._memory.physical[number]) >> shift
        return self._index_scattered(address, size) >> shift

    def _index_scattered(self, address: Array, size: int) -> Array:
        """Byte positions for accesses that are in several allocations, or invalid."""
        number = (address >> np.uint64(WINDOW_BITS)).astype(np.int64) - FIRST_GLOBAL_WINDOW
        count = len(self._memory.sizes)
        known = (number >= 0) & (number < count)
        number = np.where(known, number, count)
        inside = (address & np.uint64((1 << WINDOW_BITS) - 1)).astype(np.int64) - _MIDDLE
        limit = self._sizes[number] - size
        good = known & (inside >= 0) & (inside <= limit)
        if not good.all():
            position = int(np.argmin(good))
            raise Fault(position, self._explain(int(address[position]), size))
        aligned = (inside & (size - 1)) == 0
        if not aligned.all():
            position = int(np.argmin(aligned))
            raise Fault(position, f"address {int(address[position]):#x} is not a multiple of {size}", misaligned=True)
        return inside + self._starts[number]

    def replicas(self, address: Array, lanes: Array, size: int) -> tuple[Array, list[Array]]:
        """The first lanes of a mask that address one multicast object, and their addresses in each of its replicas.

        Raises Fault, whose position counts the lanes of the mask.
        """
        first = int(address[np.argmax(lanes)])
        number = (first >> WINDOW_BITS) - FIRST_GLOBAL_WINDOW
        here = lanes & (address >> np.uint64(WINDOW_BITS) == np.uint64(first >> WINDOW_BITS))
        found = self._memory.multicasts.get(number)
        if found is None:
            raise Fault(0, f"{size} bytes at {first:#x}, which is not a multicast object")
        total, replicas = found
        inside = address - np.uint64(self._memory.address(number))
        wrong = here & ((inside > np.uint64(total)) | (inside + np.uint64(size) > np.uint64(total)))
        if wrong.any():
            lane = int(np.argmax(wrong))
            position = int(np.count_nonzero(lanes[:lane]))
            where = int(inside[lane : lane + 1].view(np.int64)[0])
            raise Fault(position, f"{size} bytes at byte {where} of a multicast object of {total} bytes")
        return here, [inside + np.uint64(replica) for replica in replicas]

    def _explain(self, address: int, size: int) -> str:
        number = (address >> WINDOW_BITS) - FIRST_GLOBAL_WINDOW
        if not 0 <= number < len(self._memory.sizes):
            return f"{size} bytes at {address:#x}, which is not near any global allocation"
        inside = (address & ((1 << WINDOW_BITS) - 1)) - _MIDDLE
        total = self._memory.sizes[number]
        if total == _FREED:
            return f"{size} bytes at byte {inside} of allocation {number}, which is freed"
        if total == _MULTICAST:
            return f"{size} bytes at {address:#x}, a multicast object, which multimem instructions alone access"
        return f"{size} bytes at byte {inside} of allocation {number}, which has {total} bytes"


class WindowSpace:
    """Shared or local memory: one range of `size` bytes per owner (CTA or thread), at the same addresses for each.

    base: the first address; ranges are consecutive in `cells`; `owner` gives each thread its range, and `shift` is an
    offset of each thread's addresses (None: no offset).
    """

    def __init__(self, name: str, base: int, size: int, owners: int, owner: Array, shift: Array | None = None) -> None:
        self.name = name
        self.shift = shift
        self.base = base
        self.size = size
        self.stride = -(-max(size, 1) // 16) * 16
        self.bytes = np.full(owners * self.stride, FRESH, np.uint8)
        self.cells = {width: self.bytes.view(dtype) for width, dtype in CELL.items()}
        self._start = owner.astype(np.int64) * self.stride - base

    def position(self, address: Array, size: int, lanes: Array | None) -> Array:
        """Byte positions in `bytes` of accesses of `size` bytes by these lanes (None: all). Raises Fault."""
        where = address.astype(np.int64)
        if self.shift is not None:
            where -= self.shift if lanes is None else self.shift[lanes]
        good = (where >= self.base) & (where <= self.base + self.size - size)
        if not good.all():
            position = int(np.argmin(good))
            value = int(where[position])
            raise Fault(
                position,
                f"{size} bytes at {self.name} address {value:#x}, byte {value - self.base} of {self.size} bytes",
            )
        aligned = (where & (size - 1)) == 0
        if not aligned.all():
            position = int(np.argmin(aligned))
            raise Fault(position, f"{self.name} address {int(where[position]):#x} is not a multiple of {size}", True)
        return where + (self._start if lanes is None else self._start[lanes])

    def one(self, address: int, size: int, lane: int) -> int | None:
        """The byte position of an access of one lane; None if `position` raises."""
        where = address if self.shift is None else address - int(self.shift[lane])
        if not self.base <= where <= self.base + self.size - size or where & (size - 1):
            return None
        return where + int(self._start[lane])

    def index(self, address: Array, size: int, lanes: Array | None) -> Array:
        """The cell numbers of accesses of `size` bytes. Raises Fault."""
        return self.position(address, size, lanes) >> (size.bit_length() - 1)

    def clear(self) -> None:
        """Forget all contents."""
        self.bytes.fill(FRESH)


class ClusterSpace:
    """The shared memory of all CTAs of a cluster, addressed by rank and address (the shared::cluster window)."""

    def __init__(self, shared: WindowSpace, cta_of_lane: Array, size: int) -> None:
        self._shared = shared
        self._size = size
        self._first = cta_of_lane - cta_of_lane % size

    def position(self, address: Array, size: int, lanes: Array | None) -> Array:
        """Byte positions in the shared bytes of accesses of `size` bytes. Raises Fault."""
        shared = self._shared
        where = address.astype(np.int64)
        rank = where >> RANK_SHIFT
        inside = (where & ((1 << RANK_SHIFT) - 1)) - shared.base
        good = (rank < self._size) & (inside >= 0) & (inside <= shared.size - size)
        if not good.all():
            position = int(np.argmin(good))
            value = int(where[position])
            raise Fault(
                position,
                f"{size} bytes at shared::cluster address {value:#x}: byte {int(inside[position])} of {shared.size} in "
                f"CTA {int(rank[position])} of a cluster of {self._size}",
            )
        aligned = (where & (size - 1)) == 0
        if not aligned.all():
            position = int(np.argmin(aligned))
            raise Fault(
                position, f"shared::cluster address {int(where[position]):#x} is not a multiple of {size}", True
            )
        first = self._first if lanes is None else self._first[lanes]
        return (first + rank) * shared.stride + inside

    def one(self, address: int, size: int, lane: int) -> int | None:
        """The byte position of an access of one lane; None if `position` raises."""
        shared, rank = self._shared, address >> RANK_SHIFT
        inside = (address & ((1 << RANK_SHIFT) - 1)) - shared.base
        if rank >= self._size or not 0 <= inside <= shared.size - size or address & (size - 1):
            return None
        return (int(self._first[lane]) + rank) * shared.stride + inside

    def index(self, address: Array, size: int, lanes: Array | None) -> Array:
        """The cell numbers of accesses of `size` bytes. Raises Fault."""
        return self.position(address, size, lanes) >> (size.bit_length() - 1)
