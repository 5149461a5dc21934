"""Device memory of the stand-in, part of which the program sees at the same addresses."""

from __future__ import annotations

import numpy as np

from ptxsim import Address, GlobalMemory
from ptxsim.memory import FIRST_GLOBAL_WINDOW, WINDOW_BITS
from runtime.driver.errors import INVALID_VALUE, OUT_OF_MEMORY, DriverError

# Windows that the program maps as well: above 8 TiB, where address sanitizers keep nothing, and below the places that
# Linux gives to programs (0x55...) and libraries (0x7f...).
_MAPPED = range(8 - FIRST_GLOBAL_WINDOW, 80 - FIRST_GLOBAL_WINDOW)
# Device memory proper starts at 2^47, above every address of a process on x86-64 and AArch64.
_FIRST_DEVICE = (1 << (47 - WINDOW_BITS)) - FIRST_GLOBAL_WINDOW
_NOWHERE = -1


class DeviceMemory(GlobalMemory):
    """Global memory with two ranges of addresses: the device's own, and what a host maps at the same place."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes += [_NOWHERE] * _FIRST_DEVICE
        self.physical += [0] * _FIRST_DEVICE

    def alloc_mapped(self, size: int) -> Address:
        """Reserve bytes at an address that a process can map. Raises DriverError where all places are taken."""
        place = next((number for number in _MAPPED if self.sizes[number] == _NOWHERE), None)
        if place is None:
            raise DriverError(OUT_OF_MEMORY, f"more than {len(_MAPPED)} allocations of managed or page-locked memory")
        self.alloc(size)
        self.sizes[place], self.physical[place] = self.sizes.pop(), self.physical.pop()
        return self.address(place)

    def release(self, address: int) -> None:
        """End an allocation of either kind. Raises DriverError unless one starts at the address."""
        if self.started_at(address) is None:
            raise DriverError(INVALID_VALUE, f"free of {address:#x}, which is not the start of an allocation")
        self.free(address)

    def range_of(self, address: int) -> tuple[int, int]:
        """The start and size of the allocation that holds an address. Raises DriverError where there is none."""
        number = (address >> WINDOW_BITS) - FIRST_GLOBAL_WINDOW
        if 0 <= number < len(self.sizes) and self.sizes[number] > address - self.address(number) >= 0:
            return int(self.address(number)), self.sizes[number]
        raise DriverError(INVALID_VALUE)

    def write(self, address: int, data: bytes) -> None:
        """Copy bytes to an address. Raises LaunchError where they do not fit."""
        self.set(address, np.frombuffer(data, np.uint8))

    def fill(self, address: int, element: bytes, count: int) -> None:
        """Repeat an element from an address on. Raises LaunchError where it does not fit."""
        start = self.offset(address, count * len(element))
        self.arena[start : start + count * len(element)].reshape(count, -1)[:] = np.frombuffer(element, np.uint8)

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy bytes inside the memory. Raises LaunchError where a side does not fit."""
        first, start = self.offset(source, size), self.offset(to, size)
        self.arena[start : start + size] = self.arena[first : first + size].copy()
