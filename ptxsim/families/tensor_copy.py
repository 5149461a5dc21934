"""TMA: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor of 1 to 5 dimensions, and their prefetch.

Loads write every byte of the box and complete that many bytes on the mbarrier; elements outside the tensor are zero or
NaN. Stores skip elements outside. Source: PTX ISA, "cp.async.bulk.tensor"; cuda.h, cuTensorMapEncodeTiled.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from ptxsim.access import Site
from ptxsim.box import CHUNK, Box, Units, box_of, shared_chunks, swap_halves
from ptxsim.bulk_operands import COMPLETE, SharedRange, Signal, multicast
from ptxsim.bundles import Bundle, Stretches
from ptxsim.decode import Decode, Step
from ptxsim.errors import (
    LaunchError,
    MisalignedError,
    OperandError,
    OutOfBoundsError,
    SimulatorError,
)
from ptxsim.families.load_store import address_values
from ptxsim.findings import Kind
from ptxsim.floors import Floor
from ptxsim.memory import SHARED_WINDOW, WINDOW_BITS
from ptxsim.program import Address, Operand, Vector
from ptxsim.ptx_types import TYPES, Array, unsigned
from ptxsim.reductions import OPERATIONS, Combine, combiner
from ptxsim.shared_access import CLUSTER
from ptxsim.tensormap import MAP_ALIGNMENT, MAP_BYTES, decode_map
from ptxsim.transfers import Transfer

Result = TypeVar("Result")
# Coordinates and im2col offsets.
Place: TypeAlias = tuple[list[int], list[int]]
_DIMENSIONS = ("1d", "2d", "3d", "4d", "5d")
_LOADS = ("tile", "tile::gather4", "im2col", "im2col::w", "im2col::w::128")
_STORES = ("tile", "tile::scatter4", "im2col_no_offs")
_PLACES = 512  # places cached by an instruction: CTAs times stages
_ALIGNMENT = 128  # shared addresses of TMA (PTX ISA, "cp.async.bulk.tensor")
# The PTX types as which element types of maps are reduced.
_REDUCED_AS = {"f32_ftz": "f32"}


def decode_tensor(d: Decode, is_reduction: bool) -> Step:
    """cp{.reduce}.async.bulk.tensor."""
    dimensions = int(d.need(*_DIMENSIONS)[0])
    target = d.need("shared::cta", CLUSTER, "global")
    d.need("global" if target != "global" else "shared::cta")
    if target == "global":
        return _store(d, dimensions, d.need(*OPERATIONS) if is_reduction else None)
    if is_reduction:
        raise d.unsupported("a tensor reduction into shared memory")
    return _load(d, dimensions, target)


@dataclass(frozen=True, slots=True)
class Mode:
    """How coordinates select elements: the load or store mode, the number of coordinates and of im2col offsets."""

    name: str
    coordinates: int
    offsets: int


def _mode(d: Decode, dimensions: int, names: Sequence[str]) -> Mode:
    name = d.take(*names) or "tile"
    if name in ("tile::gather4", "tile::scatter4"):
        if dimensions != 2:
            raise d.error(OperandError, f".{name} needs 2 dimensions, not {dimensions}")
        return Mode(name, 5, 0)
    if name.startswith("im2col"):
        if dimensions < 3:
            raise d.error(OperandError, f".{name} needs 3 to 5 dimensions, not {dimensions}")
        offsets = {"im2col": dimensions - 2, "im2col_no_offs": 0}.get(name, 2)
        return Mode(name, dimensions, offsets)
    return Mode(name, dimensions, 0)


class TensorOperand:
    """[tensorMap, {coordinates}] and the im2col offsets: the box that each lane names."""

    def __init__(self, d: Decode, site: Site, number: int, dimensions: int, mode: Mode, offsets: int | None) -> None:
        self._d = d
        self._site = site
        self._mode = mode
        self._dimensions = dimensions
        self._boxes: dict[bytes, tuple[Box, int]] = {}
        operand = d.address(number)
        self._address = address_values(d, Address(operand.base, operand.offset), 64)
        items = _items(d, operand.rest[0] if len(operand.rest) == 1 else None, mode.coordinates, "coordinates")
        self._coordinates = [d.value(item, TYPES["s32"]) for item in items]
        self._offsets: list[Array] = []
        if offsets is not None:
            items = _items(d, d.operands[offsets], mode.offsets, "im2col offsets")
            self._offsets = [d.narrow(item, TYPES["u16"]) for item in items]

    def _error(self, kind: type[SimulatorError], lane: int, message: str) -> SimulatorError:
        return self._site.error(kind, f"{self._d.machine.describe(lane)}: {message}")

    def _bytes(self, lane: int) -> bytes:
        """The 128 bytes of the lane's tensor map."""
        memory = self._d.machine.memory
        address = int(self._address()[lane])
        if address >> WINDOW_BITS == SHARED_WINDOW:
            raise self._error(OperandError, lane, "a tensor map must lie in .param, .const or .global memory")
        if address % MAP_ALIGNMENT:
            raise self._site.error(
                MisalignedError,
                f"{self._d.machine.describe(lane)}: tensor map at {address:#x}, not a multiple of {MAP_ALIGNMENT}",
            )
        try:
            start = memory.offset(address, MAP_BYTES)
        except LaunchError as problem:
            raise self._error(OutOfBoundsError, lane, problem.message) from None
        if self._d.binding.hazards is not None:
            missing = self._d.binding.transfers.maps.problem(address, int(self._d.machine.cta_of_lane[lane]))
            if missing is not None:
                who = self._d.machine.describe(lane)
                message = f"{who}: the tensor map at {address:#x} {missing}"
                self._d.machine.findings.found(Kind.TENSOR_MAP, message, self._d.instruction, who)
        return memory.arena[start : start + MAP_BYTES].tobytes()

    def box(self, lane: int) -> tuple[Box, int]:
        """The box of the lane's map, and the arena position at which the tensor starts."""
        data = self._bytes(lane)
        found = self._boxes.get(data)
        if found is None:
            found = self._boxes[data] = self._box(lane, data)
        return found

    def one_map(self, numbers: Array) -> tuple[Box, int] | None:
        """The box that all these lanes name, None if they name several maps."""
        addresses = self._address()[numbers]
        return None if (addresses != addresses[0]).any() else self.box(int(numbers[0]))

    def all_coordinates(self, numbers: Array) -> list[Array]:
        """The coordinates of lanes, innermost first."""
        return [values[numbers].astype(np.int64) for values in self._coordinates]

    def _box(self, lane: int, data: bytes) -> tuple[Box, int]:
        try:
            tensor = decode_map(data)
        except LaunchError as problem:
            raise self._error(OperandError, lane, problem.message) from None
        wants_column = self._mode.name.startswith("im2col")
        if tensor.rank != self._dimensions or (tensor.corners is not None) != wants_column:
            kind = "tile" if tensor.corners is None else "im2col"
            raise self._error(OperandError, lane, f"the tensor map is a {kind} map of {tensor.rank} dimensions")
        if tensor.interleave != "none":
            raise self._d.unsupported(f"a tensor map with interleave {tensor.interleave}")
        box = box_of(tensor)
        try:
            return box, self._d.machine.memory.offset(tensor.base, box.extent_bytes)
        except LaunchError as problem:
            raise self._error(OutOfBoundsError, lane, f"the tensor map covers {problem.message}") from None

    def chunks(self, box: Box, lane: int) -> Array | None:
        """Whole 16-byte chunks of a tile inside the tensor; see Box.whole_chunks."""
        if self._mode.name != "tile":
            return None
        return self._guarded(lane, lambda: box.whole_chunks(self.place(lane)[0]))

    def units(self, box: Box, lane: int) -> Units:
        """The pieces that the lane's coordinates select."""
        return self.units_at(box, lane, self.place(lane))

    def units_at(self, box: Box, lane: int, place: Place) -> Units:
        """The pieces that coordinates and offsets select."""
        coordinates, offsets = place
        corners = box.map.corners
        if corners is not None:
            taps = offsets or [0] * (self._dimensions - 2)
            return self._guarded(lane, lambda: box.column(corners, coordinates, taps))
        if self._mode.coordinates > self._dimensions:
            if box.map.box[1] != 1:
                raise self._error(
                    OperandError, lane, f".{self._mode.name} needs a box of one row, not {box.map.box[1]}"
                )
            return self._guarded(lane, lambda: box.rows(coordinates))
        return self._guarded(lane, lambda: box.tile(coordinates))

    def size(self, box: Box) -> int:
        """Bytes in shared memory."""
        return 4 * box.row if self._mode.coordinates > self._dimensions else box.size

    def place(self, lane: int) -> Place:
        """The lane's coordinates and im2col offsets."""
        coordinates = [int(values[lane]) for values in self._coordinates]
        return coordinates, [int(values[lane]) for values in self._offsets]

    def _guarded(self, lane: int, compute: Callable[[], Result]) -> Result:
        try:
            return compute()
        except ValueError as problem:
            raise self._error(OperandError, lane, str(problem)) from None


def _items(d: Decode, operand: Operand | None, count: int, what: str) -> tuple[Operand, ...]:
    items = operand.items if isinstance(operand, Vector) else () if operand is None else (operand,)
    if len(items) != count:
        raise d.error(OperandError, f"`{d.instruction.opcode}` takes {count} {what}, not {len(items)}")
    return items


def _load(d: Decode, dimensions: int, target: str) -> Step:
    mode = _mode(d, dimensions, _LOADS)
    d.need(COMPLETE)
    is_multicast = d.flag("multicast::cluster")
    group = d.take("cta_group::1", "cta_group::2")
    has_policy = d.flag("L2::cache_hint")
    if is_multicast and target != CLUSTER:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    has_offsets = mode.offsets > 0
    d.finish(3 + has_offsets + is_multicast + has_policy)
    machine, transfers = d.machine, d.binding.transfers
    site = Site(machine, d.instruction)
    destination = SharedRange(d, site, 0, target, _ALIGNMENT)
    signal = Signal(d, site, 2, CLUSTER if group == "cta_group::2" else target)
    tensor = TensorOperand(d, site, 1, dimensions, mode, 3 if has_offsets else None)
    destinations = multicast(d, site, 3 + has_offsets if is_multicast else None)
    places = Places(d, destination)
    if mode.name.startswith("im2col::w"):
        return _refuse(d, f".{mode.name}")
    together = None
    if mode.name == "tile" and not is_multicast:
        together = LoadTogether(d, tensor, destination, signal, places)

    def step(mask: Array | None) -> None:
        if together is not None and together.run(site, mask):
            return
        late: list[Transfer] = []
        for lane in d.machine.lane_numbers(mask).tolist():
            box, base = tensor.box(lane)
            start, cell, size = destination.start(lane), signal.cell(lane), tensor.size(box)
            read = _reader(tensor, box, base, lane, machine.memory.arena)
            for shift in destinations.shifts(lane, start):
                cells, swapped = places.of(box, lane, start + shift, size)
                write = _shared_writer(machine.shared.cells[CHUNK], cells, swapped)
                landing = _signal_cell(d, group, is_multicast, cell, start, shift)
                origin = _touched(tensor, box, base, lane) if transfers.is_late else None
                transfer = Transfer(site, lane, read, write, None, cells, landing, size, origin=origin)
                if transfers.is_late:
                    late.append(transfer)
                else:
                    transfers.issue(transfer)
        transfers.issue_all(late)

    return step


class LoadTogether:
    """Loads of whole boxes by threads of several CTAs as one data movement."""

    def __init__(
        self, d: Decode, tensor: TensorOperand, destination: SharedRange, signal: Signal, places: "Places"
    ) -> None:
        self._d, self._tensor, self._destination, self._signal = d, tensor, destination, signal
        self._places = places
        self._known: dict[tuple[bytes, bytes, Box], tuple[Array, Stretches] | None] = {}
        count = d.machine.memory.arena.size // CHUNK * CHUNK
        self._source = d.machine.memory.arena[:count].view(np.complex128)

    def run(self, site: Site, mask: Array | None) -> bool:
        """Execute for the lanes of a mask, if they name boxes of one map inside the tensor; returns whether it did."""
        machine, transfers = self._d.machine, self._d.binding.transfers
        lanes = machine.active(mask)
        lanes = machine.live_mask() if lanes is None else lanes
        numbers = np.flatnonzero(lanes)
        if transfers.is_late and (machine.geometry.cluster_size > 1 or transfers.maps.are_changed):
            return False
        found = self._tensor.one_map(numbers) if numbers.size > 1 else None
        if found is None:
            return False
        box, base = found
        starts = box.chunk_starts(self._tensor.all_coordinates(numbers))
        cells, places = self._signal.cells(lanes), self._destination.starts(lanes)
        targets = None if places is None or starts is None else self._targets(box, numbers, places)
        if starts is None or targets is None or base % CHUNK or not all(map(transfers.mbarriers.is_object, cells)):
            return False
        order, stretches = targets
        if (starts % CHUNK).any():
            return False
        bundle = Bundle(
            site, numbers.tolist(), cells, box.size, stretches, self._source, order, (starts + base) // CHUNK
        )
        if transfers.is_late:
            return transfers.issue_bundle(bundle)
        bundle.move(machine.shared.cells[CHUNK])
        for lane, cell in zip(bundle.lanes, cells, strict=True):
            transfers.bytes_arrive(site, lane, cell, box.size)
        return True

    def _targets(self, box: Box, numbers: Array, starts: Array) -> tuple[Array, Stretches] | None:
        """The chunks of a box, relative to its first byte, in shared-memory order, and the cells that the lanes write;
        None if a box is not contiguous, in the same order for all.
        """
        key = starts.tobytes(), numbers.tobytes(), box
        if key not in self._known:
            if len(self._known) >= _PLACES:
                self._known.clear()
            self._known[key] = self._ordered(box, numbers, starts)
        return self._known[key]

    def _ordered(self, box: Box, numbers: Array, starts: Array) -> tuple[Array, Stretches] | None:
        placed = [
            self._places.of(box, lane, start, box.size)
            for lane, start in zip(numbers.tolist(), starts.tolist(), strict=True)
        ]
        firsts = [int(cells.min()) for cells, _ in placed]
        inside = placed[0][0] - firsts[0]
        order = np.argsort(inside)
        is_stretch = bool((inside[order] == np.arange(inside.size)).all())
        is_same = all(bool((cells - first == inside).all()) for (cells, _), first in zip(placed, firsts, strict=True))
        if box.chunks is None or not (is_stretch and is_same) or any(swapped is not None for _, swapped in placed):
            return None
        return box.chunks[order] // CHUNK, Stretches(firsts, order.size)


def _refuse(d: Decode, what: str) -> Step:
    """A form that decodes but cannot run."""

    def step(mask: Array | None) -> None:
        if d.machine.lane_numbers(mask).size:
            raise d.unsupported(f"running {what}")

    return step


def _signal_cell(d: Decode, group: str | None, is_multicast: bool, cell: int, start: int, shift: int) -> int:
    """The mbarrier that a copy to one CTA completes on.

    With .cta_group::2 a multicast copy signals the CTA of each destination's pair that has the parity of the named
    mbarrier's CTA (PTX ISA, "cp.async.bulk.tensor: .cta_group").
    """
    if not is_multicast:
        return cell
    stride = d.machine.shared.stride
    if group != "cta_group::2":
        return cell + (shift >> 3)
    named = cell * 8 // stride
    landing = (start + shift) // stride
    return cell + ((landing & ~1 | named & 1) - named) * (stride >> 3)


def _reader(tensor: TensorOperand, box: Box, base: int, lane: int, arena: Array) -> Callable[[], Array]:
    chunks = tensor.chunks(box, lane)
    if chunks is not None and base % CHUNK == 0:
        index = (chunks + base) // CHUNK
        cells = arena[: arena.size // CHUNK * CHUNK].view(np.complex128)
        return lambda: cells.take(index).view(np.uint8)
    units = tensor.units(box, lane)
    return lambda: box.load(arena, base, units)


def _touched(tensor: TensorOperand, box: Box, base: int, lane: int) -> Callable[[], Array]:
    """The function that gives the positions of the bytes inside the tensor that the lane's coordinates currently
    select.
    """
    place = tensor.place(lane)

    def positions() -> Array:
        return box.bytes_inside(tensor.units_at(box, lane, place)) + base

    return positions


class Places:
    """The positions of boxes in shared memory; copies reuse few places, which are cached."""

    def __init__(self, d: Decode, where: SharedRange) -> None:
        self._d, self._where = d, where
        self._known: dict[tuple[int, int, str], tuple[Array, Array | None]] = {}

    def of(self, box: Box, lane: int, start: int, size: int) -> tuple[Array, Array | None]:
        """The 16-byte cells of a box at a position, in box order, and which swap their halves."""
        key = start, size, box.map.swizzle
        found = self._known.get(key)
        if found is None:
            self._where.cells(lane, start, size)
            found = _placed(self._d, box, lane, start, size)
            if len(self._known) >= _PLACES:
                self._known.clear()
            self._known[key] = found
        return found


def _placed(d: Decode, box: Box, lane: int, start: int, size: int) -> tuple[Array, Array | None]:
    shared = d.machine.shared
    inside = start % shared.stride + shared.base
    address, swapped = shared_chunks(inside, size, box.map.swizzle)
    cells = (address + (start - inside)) >> 4
    end = start // shared.stride * shared.stride + shared.size
    if int(cells.max()) * CHUNK + CHUNK > end:
        raise d.error(
            OutOfBoundsError,
            f"{d.machine.describe(lane)}: swizzle {box.map.swizzle} moves bytes of the box past shared memory",
        )
    return cells, swapped


def _shared_writer(target: Array, cells: Array, swapped: Array | None) -> Callable[[Array], None]:

    def write(data: Array) -> None:
        target[cells] = swap_halves(data, swapped).view(np.complex128)

    return write


def _store(d: Decode, dimensions: int, operation: str | None) -> Step:
    mode = _mode(d, dimensions, _STORES)
    d.need("bulk_group")
    has_policy = d.flag("L2::cache_hint")
    d.finish(2 + has_policy)
    machine, transfers = d.machine, d.binding.transfers
    site = Site(machine, d.instruction)
    origin = SharedRange(d, site, 1, "shared::cta", _ALIGNMENT)
    tensor = TensorOperand(d, site, 0, dimensions, mode, None)
    source = machine.shared.cells[CHUNK]
    places = Places(d, origin)

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            box, base = tensor.box(lane)
            cells, swapped = places.of(box, lane, origin.start(lane), tensor.size(box))
            read = _shared_reader(source, cells, swapped)
            combine = None if operation is None else _combiner(d, operation, box)
            write = _global_writer(tensor, box, base, lane, machine.memory.arena, combine)
            landing = _touched(tensor, box, base, lane) if transfers.is_late else None
            transfers.issue(
                Transfer(
                    site,
                    lane,
                    read,
                    write,
                    np.sort(cells),
                    updates=combine is not None,
                    landing=landing,
                    used=box.used_bytes,
                )
            )

    return step


def _combiner(d: Decode, operation: str, box: Box) -> Combine:
    name = box.map.element.name
    found = combiner(operation, _REDUCED_AS.get(name, name)) if name in TYPES or name in _REDUCED_AS else None
    if found is None or name == "tf32":
        raise d.unsupported(f"the reduction .{operation} on a tensor map of {name}")
    return found


def _shared_reader(source: Array, cells: Array, swapped: Array | None) -> Callable[[], Array]:
    return lambda: swap_halves(source.take(cells).view(np.uint8), swapped)


def _global_writer(
    tensor: TensorOperand, box: Box, base: int, lane: int, arena: Array, combine: Combine | None
) -> Callable[[Array], None]:
    chunks = tensor.chunks(box, lane)
    if chunks is not None and combine is None and base % CHUNK == 0:
        index = (chunks + base) // CHUNK
        target = arena[: arena.size // CHUNK * CHUNK].view(np.complex128)

        def write(data: Array) -> None:
            target[index] = data.view(np.complex128)

        return write
    units = tensor.units(box, lane)
    if combine is None:
        return lambda data: box.store(arena, base, units, data)
    bits = unsigned(8 * box.unit)

    def reduce(data: Array) -> None:
        before = box.load(arena, base, units).view(bits)
        box.store(arena, base, units, combine(before, data.view(bits)).view(np.uint8))

    return reduce


def decode_prefetch(d: Decode) -> Step:
    """cp.async.bulk.prefetch.tensor: checks its operands; the simulator has no caches."""
    dimensions = int(d.need(*_DIMENSIONS)[0])
    d.need("L2")
    d.need("global")
    mode = _mode(d, dimensions, _LOADS)
    has_policy = d.flag("L2::cache_hint")
    has_offsets = mode.offsets > 0
    d.finish(1 + has_offsets + has_policy)
    site = Site(d.machine, d.instruction)
    tensor = TensorOperand(d, site, 0, dimensions, mode, 1 if has_offsets else None)

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            box, _ = tensor.box(lane)
            if not mode.name.startswith("im2col::w"):
                tensor.units(box, lane)

    return step


FLOORS = (
    Floor("cp.async.bulk.tensor tile::gather4", "100", "8.6"),
    Floor("cp.async.bulk.tensor tile::gather4 shared::cluster", "100f 110f", "8.6"),
    Floor("cp.async.bulk.tensor tile::scatter4|cta_group::1|cta_group::2|im2col::w|im2col::w::128", "100f 110f", "8.6"),
    Floor("cp.async.bulk.prefetch.tensor tile::gather4", "100f 110f", "8.6"),
)
