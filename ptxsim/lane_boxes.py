"""Rows and lanes of an array [row, lane] as slices if they are regular, which NumPy copies faster than index arrays.

Lanes are regular if they are the same contiguous lanes of several CTAs, as those of consumer warpgroups are.
"""

from functools import lru_cache
from typing import TypeAlias

import numpy as np

from ptxsim.by_lanes import ByLanes
from ptxsim.ptx_types import Array

Index: TypeAlias = tuple[Array | slice, ...]
_KEPT = 256  # sets of lanes cached


def _slice(numbers: Array) -> slice | None:
    """Ascending numbers without a gap as a slice."""
    first, last = int(numbers[0]), int(numbers[-1])
    if last - first + 1 != numbers.size or (numbers.size > 1 and not (np.diff(numbers) == 1).all()):
        return None
    return slice(first, last + 1)


class LaneBoxes:
    """Indices into [row, cta, lane of the CTA] for lists of rows and lanes."""

    def __init__(self, ctas: int, slots: int) -> None:
        self._ctas, self._slots = ctas, slots
        self._box = ByLanes(self._find, _KEPT)
        self._last: tuple[Array | None, tuple[Array | slice, slice] | None] = None, None

    def _find(self, lanes: Array) -> tuple[Array | slice, slice] | None:
        ctas = np.unique(lanes // self._slots)
        if lanes.size == 0 or lanes.size % ctas.size:
            return None
        inside = lanes.reshape(ctas.size, -1) - ctas[:, None] * self._slots
        within = _slice(inside[0])
        if within is None or not (inside == inside[0]).all():
            return None
        found = _slice(ctas)
        return ctas if found is None else found, within

    def index(self, rows: Array | slice, lanes: Array) -> Index | None:
        """The selection of rows and lanes, not changed afterwards; None if the lanes are not regular."""
        if lanes is not self._last[0]:
            self._last = lanes, self._box(lanes)
        box = self._last[1]
        if box is None:
            return None
        ctas, within = box
        if isinstance(rows, slice) or isinstance(ctas, slice):
            return rows, ctas, within
        return rows[:, None], ctas, within

    def take(self, array: Array, rows: Array | slice, lanes: Array) -> Array:
        """array[row, lane] for rows and lanes: [row, lane], possibly a view."""
        index = self.index(rows, lanes)
        if index is None:
            return array[rows, lanes] if isinstance(rows, slice) else array[rows[:, None], lanes]
        part: Array = array.reshape(array.shape[0], self._ctas, self._slots)[index]
        return part.reshape(part.shape[0], -1)

    def put(self, array: Array, rows: Array | slice, lanes: Array, values: Array | int) -> None:
        """Store values [row, lane] (or [1, lane], or a single value for all) at rows and lanes."""
        index = self.index(rows, lanes)
        if index is None:
            array[(rows, lanes) if isinstance(rows, slice) else (rows[:, None], lanes)] = values
            return
        boxes = array.reshape(array.shape[0], self._ctas, self._slots)
        if isinstance(values, np.ndarray):
            ctas = index[1]
            count = ctas.stop - ctas.start if isinstance(ctas, slice) else int(ctas.size)
            values = values.reshape(values.shape[0], count, -1)
        boxes[index] = values


def row_index(rows: Array) -> Array | slice:
    """Rows as a slice if they are consecutive."""
    found = _row_slice(rows.tobytes()) if rows.size else None
    return rows if found is None else found


@lru_cache(maxsize=4096)
def _row_slice(rows: bytes) -> slice | None:
    return _slice(np.frombuffer(rows, np.int64))
