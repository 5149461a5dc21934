"""Caches of values that depend only on a set of lanes: the same few sets recur."""

from collections.abc import Callable
from typing import Generic, TypeVar

from ptxsim.ptx_types import Array

T = TypeVar("T")


class ByLanes(Generic[T]):
    """The result of `make` for a mask or a list of lanes; the cache is cleared once it holds `most` sets."""

    def __init__(self, make: Callable[[Array], T], most: int) -> None:
        self._make = make
        self._most = most
        self._known: dict[bytes, T] = {}

    def __call__(self, lanes: Array) -> T:
        """Computed now, or cached from an earlier use of this set; exceptions of `make` are not cached."""
        key = lanes.tobytes()
        if key not in self._known:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known[key] = self._make(lanes)
        return self._known[key]
