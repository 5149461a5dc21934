"""Multicast memory as an argument: one address behind which several arrays lie, one on each GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ptxsim import GlobalMemory

Array: TypeAlias = "npt.NDArray[Any]"  # quoted: numpy.typing would load NumPy
"""Of element types that are known at run time only."""


class Multicast:
    """Arrays of one shape and type, the copies of one array; what a parameter `ptr<T, <multicast>>` takes. On the
    simulator all copies lie on its one device.
    """

    def __init__(self, arrays: Sequence[Array]):
        self.arrays = list(arrays)
        if len({(each.shape, each.dtype) for each in self.arrays}) != 1:
            raise ValueError("Multicast: expected arrays of one shape and type, one at least")

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Type of the elements."""
        return self.arrays[0].dtype

    def copy(self) -> Multicast:
        """Copies of the arrays."""
        return Multicast([each.copy() for each in self.arrays])

    def tobytes(self) -> bytes:
        """The bytes of all copies."""
        return b"".join(each.tobytes() for each in self.arrays)

    def place(self, addresses: Sequence[int], memory: GlobalMemory) -> int:
        """The multicast address, in the simulator's memory, of arrays that are there."""
        return memory.multicast(self.arrays[0].nbytes, addresses)
