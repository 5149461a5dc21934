"""What arrivals at mbarriers publish to those who see their phases complete."""

from collections.abc import Sequence

import numpy as np

from ptxsim.ptx_types import Array


class Statements:
    """Statements (vector clocks) by mbarrier, identified by its 8-byte cell: one of all phases before that of the last
    arrival, and one of that phase.

    An arrival is at the running phase, so a later query is for all phases before it.
    """

    def __init__(self) -> None:
        self._row: dict[int, int] = {}
        self._said = np.zeros((0, 0), np.int32)
        self._open = np.zeros((0, 0), np.int32)
        self._phase = np.zeros(0, np.int64)

    def start(self) -> None:
        """A batch begins: there are no statements."""
        self._row.clear()
        for array in (self._said, self._open, self._phase):
            array.fill(0)

    def has_any(self, cells: Sequence[int]) -> bool:
        """Whether one of these mbarriers has statements or was queried."""
        return not self._row.keys().isdisjoint(cells)

    def add(self, cells: Sequence[int], phases: Array, words: Array) -> None:
        """Arrivals at the running phases of different mbarriers publish this [mbarrier, column]."""
        rows = self._rows(cells, words.shape[1])
        self._close(rows, phases)
        self._phase[rows] = phases
        self._open[rows, : words.shape[1]] = np.maximum(self._open[rows, : words.shape[1]], words)

    def of(self, cells: Sequence[int], completed: Array, width: int) -> Array:
        """The statements of the completed phases of different mbarriers, given their numbers: [mbarrier, width]."""
        rows = self._rows(cells, width)
        self._close(rows, completed)
        return self._said[rows, :width]

    def _close(self, rows: Array, running: Array) -> None:
        """Phases before the running ones are complete."""
        past = rows[self._phase[rows] < running]
        if past.size:
            self._said[past] = np.maximum(self._said[past], self._open[past])
            self._open[past] = 0

    def _rows(self, cells: Sequence[int], width: int) -> Array:
        """The rows of mbarriers, with room for this many columns."""
        rows = np.array([self._row.setdefault(cell, len(self._row)) for cell in cells])
        more = max(len(self._row) - self._phase.size, 0), max(width - self._said.shape[1], 0)
        if any(more):
            room = (0, more[0] and max(more[0], self._phase.size)), (0, more[1])
            self._said, self._open = (np.pad(words, room) for words in (self._said, self._open))
            self._phase = np.pad(self._phase, room[0])
        return rows
