"""Functions of the CUDA device library that the simulator implements itself.

vprintf, __assertfail, malloc, free, memcpy, memmove and memset, called as functions without a body. Source: CUDA C++
Programming Guide, "C++ Language Extensions".
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.errors import AssertionFailedError, OutOfBoundsError
from ptxsim.families.load_store import port_at, windows
from ptxsim.memory import FIRST_GLOBAL_WINDOW, LOCAL_WINDOW, WINDOW_BITS
from ptxsim.printf import FormatError, render
from ptxsim.ptx_types import Array

_MOST_TEXT = 1 << 16
# Size of the malloc heap. Source: CUDA C++ Programming Guide, "Heap Memory Allocation": 8 MB by default.
HEAP = 8 << 20


@dataclass(frozen=True, slots=True)
class End:
    """One passed value on one side of a call: `take` gives bytes [lane, size] of lanes, `give` stores them."""

    size: int
    take: Callable[[Array], Array]
    give: Callable[[Array, Array], None]

    def words(self, lanes: Array) -> Array:
        """The values of lanes as unsigned integers."""
        return np.ascontiguousarray(self.take(lanes)).view(np.dtype(f"u{self.size}"))[:, 0]

    def answer(self, lanes: Array, values: Array) -> None:
        """Store integers of this width in lanes."""
        self.give(lanes, np.ascontiguousarray(values).view(np.uint8).reshape(lanes.size, self.size))


# ---- text


def _memory(d: Decode, lane: int, address: int, size: int) -> bytes:
    """Bytes at a generic address of a lane. Raises OutOfBoundsError."""
    machine = d.machine
    window = address >> WINDOW_BITS
    if window == LOCAL_WINDOW:
        start = int(d.binding.calls.origin[lane]) + (address & ((1 << WINDOW_BITS) - 1))
        first = lane * machine.local.stride
        if first <= start and start + size <= first + machine.local.size:
            return machine.local.bytes[start : start + size].tobytes()
    number = window - FIRST_GLOBAL_WINDOW
    memory = machine.memory
    if 0 <= number < len(memory.sizes):
        start = memory.physical[number] + (address & ((1 << WINDOW_BITS) - 1)) - (1 << (WINDOW_BITS - 1))
        if memory.physical[number] <= start and start + size <= memory.physical[number] + memory.sizes[number]:
            return memory.arena[start : start + size].tobytes()
    raise d.error(
        OutOfBoundsError, f"{machine.describe(lane)} passes address {address:#x}, where {size} bytes are not mapped"
    )


def _text(d: Decode, lane: int, address: int, most: int = _MOST_TEXT) -> bytes:
    """The string at a generic address, at most this many bytes of it."""
    result = bytearray()
    while len(result) < most:
        byte = _memory(d, lane, address + len(result), 1)
        if byte == b"\0":
            return bytes(result)
        result += byte
    if most < _MOST_TEXT:
        return bytes(result)
    raise d.error(OutOfBoundsError, f"the string at {address:#x} does not end")


def _printf(d: Decode, arguments: list[End], result: End | None) -> Step:
    """vprintf(format, buffer): the lanes print in lane order; the result is the number of arguments."""
    text, buffer = arguments
    machine, printed = d.machine, d.binding.printed

    def one(lane: int, where: int, data: int) -> int:
        try:
            line, count = render(
                _text(d, lane, where),
                lambda offset, size: _memory(d, lane, data + offset, size),
                lambda address, most: _text(d, lane, address, most or _MOST_TEXT),
            )
        except FormatError as error:
            raise d.unsupported(str(error)) from None
        printed.append(line)
        d.binding.printed_at.append(d.instruction.line)
        return count

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)
        pairs = zip(lanes.tolist(), text.words(lanes).tolist(), buffer.words(lanes).tolist(), strict=True)
        counts = [one(lane, where, data) for lane, where, data in pairs]
        if result is not None and counts:
            result.answer(lanes, np.array(counts, np.int32))

    return step


def _assertion(d: Decode, arguments: list[End], result: End | None) -> Step:
    """__assertfail(message, file, line, function, character size): ends the launch."""
    machine = d.machine

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)[:1]
        if lanes.size:
            message, file, line, function, _ = [int(end.words(lanes)[0]) for end in arguments]
            lane = int(lanes[0])
            said, where, inside = (_text(d, lane, address).decode("latin-1") for address in (message, file, function))
            raise d.error(
                AssertionFailedError,
                f"{machine.describe(lane)} fails the assertion `{said}` at {where}:{line} in {inside}",
            )

    return step


# ---- the heap


def _malloc(d: Decode, arguments: list[End], result: End | None) -> Step:
    """malloc(size) and its aligned form, which has an alignment after the size: global memory that lasts until free,
    across launches; 0 if the heap has no room.
    """
    size = arguments[0]
    machine, memory = d.machine, d.machine.memory

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)
        used, addresses = sum(memory.heap.values()), [0] * lanes.size
        for number, wanted in enumerate(size.words(lanes).tolist()):
            if used + wanted <= HEAP and memory.fits(wanted):
                addresses[number] = memory.alloc(wanted)
                memory.heap[addresses[number]] = wanted
                used += wanted
        machine.global_space.refresh()
        if result is not None:
            result.answer(lanes, np.array(addresses, np.uint64))

    return step


def _free(d: Decode, arguments: list[End], result: End | None) -> Step:
    """free(address) of a result of malloc, from this launch or an earlier one; 0 has no effect."""
    [address] = arguments
    machine, memory = d.machine, d.machine.memory

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)
        for lane, where in zip(lanes.tolist(), address.words(lanes).tolist(), strict=True):
            if where == 0:
                continue
            if where not in memory.heap:
                raise d.error(
                    OutOfBoundsError,
                    f"{machine.describe(lane)} frees {where:#x}, which malloc did not return or which is already freed",
                )
            memory.free(where)
            del memory.heap[where]
        machine.global_space.refresh()

    return step


# ---- bytes


def _masks(lanes: Array, addresses: list[Array]) -> Iterator[Array]:
    """Lanes, in groups whose addresses are in one state space each."""
    groups = [lanes]
    for address in addresses:
        groups = [part for group in groups for part in windows(address, group)]
    yield from groups


def _copy(d: Decode, arguments: list[End], result: End | None) -> Step:
    """memcpy and memmove(target, source, size): all bytes are read before the first is written."""
    return _moves(d, arguments[0], arguments[1], arguments[2], result)


def _fill(d: Decode, arguments: list[End], result: End | None) -> Step:
    """memset(target, byte, size)."""
    return _moves(d, arguments[0], None, arguments[2], result, arguments[1])


def _moves(d: Decode, target: End, source: End | None, size: End, result: End | None, byte: End | None = None) -> Step:
    machine = d.machine
    site = Site(machine, d.instruction)
    wanted = np.zeros(machine.lanes, np.uint64)
    ports = {unit: port_at(d, site, "", lambda: wanted, unit) for unit in (1, 4, 8)}
    site.counts_banks = site.counts_sectors = False
    tracker = d.binding.hazards

    def read(base: Array, counts: Array, unit: int, mask: Array) -> Array:
        """The elements [number, lane of the machine] at addresses of lanes."""
        found = np.zeros((int(counts.max()), machine.lanes), np.dtype(f"u{unit}"))
        for number in range(found.shape[0]):
            lanes = mask & (counts > number)
            np.copyto(wanted, base + np.uint64(number * unit))
            cells, index = ports[unit].cells(lanes)
            if tracker is not None:
                tracker.loads(cells, site, unit, lanes, index, False)
            found[number, lanes] = cells.take(index)
        return found

    def write(base: Array, counts: Array, unit: int, mask: Array, data: Array) -> None:
        for number in range(data.shape[0]):
            lanes = mask & (counts > number)
            np.copyto(wanted, base + np.uint64(number * unit))
            cells, index = ports[unit].cells(lanes)
            if tracker is not None:
                tracker.stores(cells, site, unit, lanes, index, data[number, lanes], False)
            cells[index] = data[number, lanes]

    def spread(end: End, lanes: Array) -> Array:
        values = np.zeros(machine.lanes, np.dtype(f"u{end.size}"))
        values[lanes] = end.words(lanes)
        return values

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)
        to, length = spread(target, lanes), spread(size, lanes)
        start = to if source is None else spread(source, lanes)
        value = np.zeros(machine.lanes, np.uint8) if byte is None else spread(byte, lanes).astype(np.uint8)
        active = np.zeros(machine.lanes, np.bool_)
        active[lanes] = True
        for group in _masks(active & (length > 0), [to, start]):
            odd = int(np.bitwise_or.reduce((to | start | length)[group]))
            unit = 8 if odd % 8 == 0 else 4 if odd % 4 == 0 else 1
            counts = np.where(group, length // np.uint64(unit), 0)
            if source is None:
                whole = np.repeat(value, unit).view(np.dtype(f"u{unit}"))
                data = np.broadcast_to(whole, (int(counts.max()), machine.lanes))
            else:
                data = read(start, counts, unit, group)
            write(to, counts, unit, group, data)
        if result is not None:
            result.answer(lanes, to[lanes])

    return step


FUNCTIONS: dict[str, Callable[[Decode, list[End], End | None], Step]] = {
    "vprintf": _printf,
    "__assertfail": _assertion,
    "malloc": _malloc,
    "__cuda_syscall_aligned_malloc": _malloc,
    "free": _free,
    "memcpy": _copy,
    "memmove": _copy,
    "memset": _fill,
}
