"""Operands of bulk copies: ranges of shared and global memory, mbarriers to signal, destination CTAs."""

from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode
from ptxsim.errors import LaunchError, MisalignedError, OperandError, OutOfBoundsError
from ptxsim.ptx_types import TYPES, Array
from ptxsim.shared_access import position_of, positions

UNIT = 16  # bulk copies move multiples of 16 bytes at multiples of 16 (PTX ISA, "cp.async.bulk")
COMPLETE = "mbarrier::complete_tx::bytes"


def global_position(d: Decode, site: Site, lane: int, address: int, size: int) -> int:
    """The arena position of bytes at a global address. Raises OutOfBoundsError, MisalignedError."""
    if address % UNIT:
        raise site.error(
            MisalignedError, f"{d.machine.describe(lane)}: global address {address:#x} is not a multiple of {UNIT}"
        )
    try:
        return d.machine.memory.offset(address, size)
    except LaunchError as problem:
        raise site.error(OutOfBoundsError, f"{d.machine.describe(lane)}: {problem.message}") from None


class SharedRange:
    """A range of shared memory that an operand names: its start, by lane."""

    def __init__(self, d: Decode, site: Site, number: int, space: str, alignment: int = UNIT) -> None:
        self._d = d
        self._site = site
        self._find = position_of(d, site, number, space, 1)
        self._find_all = positions(d, site, number, space, 1)
        self._alignment = alignment

    def starts(self, lanes: Array) -> Array | None:
        """The byte positions of the lanes of a mask, None if one is misaligned."""
        shared = self._d.machine.shared
        found = self._find_all(lanes)
        return None if ((found % shared.stride + shared.base) % self._alignment).any() else found

    def start(self, lane: int) -> int:
        """The byte position in the machine's shared memory. Raises MisalignedError."""
        machine = self._d.machine
        position = self._find(lane)
        address = position % machine.shared.stride + machine.shared.base
        if address % self._alignment:
            raise self._site.error(
                MisalignedError,
                f"{machine.describe(lane)}: shared address {address:#x} is not a multiple of {self._alignment}",
            )
        return position

    def cells(self, lane: int, start: int, size: int) -> Array:
        """The 16-byte cells of bytes from a position. Raises OutOfBoundsError."""
        shared = self._d.machine.shared
        inside = start % shared.stride
        if inside + size > shared.size:
            raise self._site.error(
                OutOfBoundsError,
                f"{self._d.machine.describe(lane)}: {size} bytes at byte {inside} of the {shared.size} bytes of "
                "shared memory",
            )
        return np.arange(start // UNIT, (start + size) // UNIT)


class Signal:
    """The mbarrier operand of a copy."""

    def __init__(self, d: Decode, site: Site, number: int, space: str) -> None:
        self._find = position_of(d, site, number, space, 8)
        self._find_all = positions(d, site, number, space, 8)

    def cells(self, lanes: Array) -> list[int]:
        """The 8-byte cells of the mbarriers of the lanes of a mask."""
        return (self._find_all(lanes) >> 3).tolist()

    def cell(self, lane: int) -> int:
        """The mbarrier's 8-byte cell."""
        return self._find(lane) >> 3


@dataclass(frozen=True, slots=True)
class Destinations:
    """The CTAs that a copy writes: the one that the address names, or those of a multicast mask."""

    d: Decode
    site: Site
    mask: Array | None

    def shifts(self, lane: int, start: int) -> list[int]:
        """Byte distances from the named CTA's shared memory to that of each destination."""
        if self.mask is None:
            return [0]
        machine = self.d.machine
        size = machine.geometry.cluster_size
        chosen = int(self.mask[lane])
        if chosen == 0 or chosen >> size:
            raise self.site.error(
                OperandError, f"{machine.describe(lane)} copies to the CTAs of mask {chosen:#x} in a cluster of {size}"
            )
        rank = start // machine.shared.stride % size
        return [(other - rank) * machine.shared.stride for other in range(size) if chosen >> other & 1]


def multicast(d: Decode, site: Site, number: int | None) -> Destinations:
    """The destinations of a copy whose CTA mask is operand `number` (None: no multicast)."""
    return Destinations(d, site, None if number is None else d.read_narrow(number, TYPES["u16"]))
