"""tensormap.replace and tensormap.cp_fenceproxy: tensor maps that a kernel edits; and prefetch.tensormap.

The new value of .rank is the rank minus one, and element types have codes of their own. Source: PTX ISA,
"tensormap.replace", "tensormap.cp_fenceproxy".
"""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.errors import LaunchError, MisalignedError, OperandError, OutOfBoundsError
from ptxsim.families.load_store import address_values
from ptxsim.families.matrix import all_members
from ptxsim.floors import Floor
from ptxsim.machine import WARP
from ptxsim.memory import SHARED_WINDOW, WINDOW_BITS
from ptxsim.ptx_types import Array
from ptxsim.shared_access import positions
from ptxsim.tensormap import FIELDS, MAP_ALIGNMENT, MAP_BYTES

_IMMEDIATE = ("elemtype", "interleave_layout", "swizzle_mode", "swizzle_atomicity", "fill_mode")
_SCOPES = ("cta", "cluster", "gpu", "sys")


def decode_tensormap(d: Decode) -> Step:
    """tensormap.replace.tile.field..., tensormap.cp_fenceproxy..."""
    if d.flag("cp_fenceproxy"):
        return _copy(d)
    d.need("replace")
    return _replace(d)


def _replace(d: Decode) -> Step:
    d.need("tile")
    field = d.need(*FIELDS)
    space = d.take("global", "shared::cta")
    d.need("b1024")
    offset, size, ordinals = FIELDS[field]
    wide = field in ("global_address", "global_stride")
    type_ = d.type()
    if type_.name != ("b64" if wide else "b32"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3 if ordinals else 2)
    if ordinals:
        ordinal = d.constant_int(1)
        if not 0 <= ordinal < ordinals:
            raise d.error(OperandError, f".{field} has ordinals 0 to {ordinals - 1}, not {ordinal}")
        offset += ordinal * size
    if field in _IMMEDIATE:
        d.constant_int(len(d.operands) - 1)
    values = d.read(len(d.operands) - 1, type_)
    place = MapPlace(d, 0, space)
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            value = int(values[lane])
            if value >> (8 * size):
                raise place.site.error(
                    OperandError, f"{d.machine.describe(lane)}: {value} does not fit the field .{field}"
                )
            memory, start = place.find(lane)
            data = np.frombuffer(value.to_bytes(size, "little"), np.uint8)
            if tracker is not None and memory is d.machine.shared.bytes:
                tracker.write(place.site, size, _one(d, lane), np.array([(start + offset) // size]), data)
            memory[start + offset : start + offset + size] = data
            place.changed(lane, is_released=False)

    return step


def _one(d: Decode, lane: int) -> Array:
    lanes = np.zeros(d.machine.lanes, np.bool_)
    lanes[lane] = True
    return lanes


class MapPlace:
    """The address operand of a tensor map in global or shared memory."""

    def __init__(self, d: Decode, number: int, space: str | None) -> None:
        self._d = d
        self.site = Site(d.machine, d.instruction)
        self._space = space
        self._is_shared = space == "shared::cta"
        self._values = address_values(d, d.address(number), 32 if self._is_shared else 64)
        self._own = positions(d, self.site, number, "shared::cta" if self._is_shared else None, 1)
        self._maps = d.binding.transfers.maps

    def find(self, lane: int) -> tuple[Array, int]:
        """The memory that holds a lane's map, and its position in it. Raises MisalignedError, OutOfBoundsError."""
        machine = self._d.machine
        address = int(self._values()[lane])
        if address % MAP_ALIGNMENT:
            raise self.site.error(
                MisalignedError,
                f"{machine.describe(lane)}: tensor map at {address:#x}, not a multiple of {MAP_ALIGNMENT}",
            )
        if self._is_shared or (self._space is None and address >> WINDOW_BITS == SHARED_WINDOW):
            start = int(self._own(_one(self._d, lane))[0])
            if start % machine.shared.stride + MAP_BYTES > machine.shared.size:
                raise self.site.error(
                    OutOfBoundsError, f"{machine.describe(lane)}: the tensor map reaches past the end of shared memory"
                )
            return machine.shared.bytes, start
        try:
            return machine.memory.arena, machine.memory.offset(address, MAP_BYTES)
        except LaunchError as problem:
            raise self.site.error(OutOfBoundsError, f"{machine.describe(lane)}: {problem.message}") from None

    def changed(self, lane: int, is_released: bool) -> None:
        """Record that a map in global memory changed."""
        if not self._is_shared:
            self._maps.changed(int(self._values()[lane]), is_released)


def _copy(d: Decode) -> Step:
    d.need("global")
    d.need("shared::cta")
    d.need("tensormap::generic")
    d.need("release")
    d.need(*_SCOPES)
    d.need("sync")
    d.need("aligned")
    d.finish(3)
    if d.constant_int(2) != MAP_BYTES:
        raise d.error(OperandError, f"tensormap.cp_fenceproxy copies {MAP_BYTES} bytes")
    all_members(d)
    target, source = MapPlace(d, 0, "global"), MapPlace(d, 1, "shared::cta")

    def step(mask: Array | None) -> None:
        lanes = d.machine.live_mask() if mask is None else mask
        for warp in np.flatnonzero(lanes.reshape(-1, WARP).any(axis=1)).tolist():
            lane = warp * WARP + int(np.argmax(lanes[warp * WARP : (warp + 1) * WARP]))
            memory, start = target.find(lane)
            origin, first = source.find(lane)
            memory[start : start + MAP_BYTES] = origin[first : first + MAP_BYTES]
            target.changed(lane, is_released=True)

    return step


def decode_prefetch_map(d: Decode) -> Step | None:
    """prefetch{.param,.const}.tensormap [a]: the simulator has no caches."""
    d.need("tensormap")
    d.take("param", "const")
    d.finish(1)
    d.address(0)
    return None


OPCODES: dict[str, Callable[[Decode], Step | None]] = {
    "tensormap": decode_tensormap,
    "prefetch.tensormap": decode_prefetch_map,
    "prefetch.param.tensormap": decode_prefetch_map,
    "prefetch.const.tensormap": decode_prefetch_map,
}
FLOORS = (
    Floor("tensormap.replace", "90a 100f 110f 120f", "8.3"),
    Floor("tensormap.cp_fenceproxy", "90", "8.3"),
    Floor("prefetch tensormap", "90", "8.0"),
)
