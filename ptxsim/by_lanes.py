"""What follows from a set of lanes alone, remembered: the same few sets come again and again."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ptxsim.ptx_types import Array

T = TypeVar("T")


class ByLanes(Generic[T]):
    """What `make` makes of a mask or a list of lanes; all is forgotten once `most` sets are remembered."""

    def __init__(self, make: Callable[[Array], T], most: int) -> None:
        self._make = make
        self._most = most
        self._known: dict[bytes, T] = {}

    def __call__(self, lanes: Array) -> T:
        """Made now, or when this set came before; what `make` raises is not remembered."""
        key = lanes.tobytes()
        if key not in self._known:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = self._make(lanes)
        return self._known[key]
