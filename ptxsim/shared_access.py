"""Operands that name shared memory by lane: mbarrier objects, and sources and destinations of the async proxy."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode
from ptxsim.errors import OutOfBoundsError
from ptxsim.families.load_store import address_values
from ptxsim.memory import SHARED_WINDOW, WINDOW_BITS, ClusterSpace, Fault, WindowSpace
from ptxsim.ptx_types import Array

# Byte positions in the machine's shared memory for the active lanes (None: all).
Positions: TypeAlias = Callable[[Array | None], Array]
OWN = ("shared", "shared::cta")
CLUSTER = "shared::cluster"
_PATTERNS = 256  # patterns of addresses that an operand caches


def pick(values: Array, lanes: Array | None) -> Array:
    """The values of the active lanes."""
    return values if lanes is None else values[lanes]


def lane_numbers(d: Decode, lanes: Array | None) -> Array:
    """The numbers of the active lanes."""
    return np.arange(d.machine.lanes) if lanes is None else np.flatnonzero(lanes)


def positions(d: Decode, site: Site, number: int, space: str | None, size: int) -> Positions:
    """Byte positions of `size` bytes at operand `number`, an address in a state space (None: generic)."""
    machine = d.machine
    window: WindowSpace | ClusterSpace = machine.shared if space in OWN else machine.cluster_shared
    values = address_values(d, d.address(number), 64 if space is None else 32)

    known: dict[tuple[bytes, bytes | None], Array] = {}

    def find(lanes: Array | None) -> Array:
        address = pick(values(), lanes)
        key = address.tobytes(), None if lanes is None else lanes.tobytes()
        found = known.get(key)
        if found is None:
            if len(known) >= _PATTERNS:
                known.clear()
            found = known[key] = compute(address, lanes)
        return found

    def compute(address: Array, lanes: Array | None) -> Array:
        if space is None:
            foreign = (address >> np.uint64(WINDOW_BITS)) != SHARED_WINDOW
            if foreign.any():
                position = int(np.argmax(foreign))
                lane = int(lane_numbers(d, lanes)[position])
                raise site.error(
                    OutOfBoundsError,
                    f"{machine.describe(lane)} needs a shared address here, not {int(address[position]):#x}",
                )
            address = address.astype(np.uint32)
        try:
            return window.position(address, size, lanes)
        except Fault as fault:
            raise site.fault(fault, lanes) from None

    return find


def position_of(d: Decode, site: Site, number: int, space: str | None, size: int) -> Callable[[int], int]:
    """As `positions`, for one lane at a time."""
    machine = d.machine
    window: WindowSpace | ClusterSpace = machine.shared if space in OWN else machine.cluster_shared
    values = address_values(d, d.address(number), 64 if space is None else 32)
    find = positions(d, site, number, space, size)

    def position(lane: int) -> int:
        address = int(values()[lane])
        if space is not None or address >> WINDOW_BITS == SHARED_WINDOW:
            found = window.one(address & 0xFFFFFFFF, size, lane)
            if found is not None:
                return found
        one = np.zeros(machine.lanes, np.bool_)
        one[lane] = True
        return int(find(one)[0])  # raises, naming the lane

    return position
