"""Work limits of a search, counted rather than timed: the same answer on any machine under any load.

One unit is about a millisecond of the machine on which the prices below were measured (one core of a shared AMD EPYC,
HiGHS 1.15.1); steps of an algorithm are charged at fixed prices. A limit in seconds exists only if a caller sets one,
and makes the answer depend on the machine.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

SIMPLIFY: Final = 0.020
"""Units a node of simplification."""

PASS: Final = 0.003
"""Units a node of one bottom-up pass."""

ASCENT: Final = 0.0003
"""Units a node of the cuts of a dual ascent, or of the classes that it takes in for them."""

NARROW: Final = 0.03
"""Units a node of dynamic programming over small treewidth."""

FLOW: Final = 0.0008
"""Units a vertex that a search for a path visits."""

STATE: Final = 0.0004
"""Units a sum of use that dynamic programming over a resource row looks at."""

PIVOT: Final = 3e-6
"""Units an iteration of the dual simplex method and non-zero of the program: 2.1 to 3.6 ns measured on programs of
6,000 to 110,000 non-zeros."""

LOOK: Final = 4e-3
"""Units a non-zero, of one node of branch and bound or one round of cuts at its root: 1.3 to 5 us measured."""

PRESOLVE: Final = 3e-3
"""Units a non-zero, for presolve and the first relaxation of a 0-1 program: 0.5 to 5 us measured."""

DEFAULT_BUDGET: Final = 10_000.0
"""Units of `auto`."""

LONG_BUDGET: Final = 60_000.0
"""Units of proof methods requested by name."""


class Budget:
    """A limit on a count of work. Parts of a budget share its count, and end before it or with it.

    work: units. seconds: a limit in wall-clock seconds besides; where it is given and `work` is not, the work that so
    many seconds allow where the prices were measured, so that shares of it make sense.
    """

    __slots__ = ("_count", "_deadline", "limit", "seconds", "work")

    def __init__(self, work: float | None = None, *, seconds: float | None = None, default: float = DEFAULT_BUDGET):
        if work is None:
            work = default if seconds is None else 1000.0 * seconds
        self.work = work
        self.limit = work
        self.seconds = seconds
        self._deadline = None if seconds is None else perf_counter() + seconds
        self._count = [0.0]

    @property
    def spent(self) -> float:
        """Units, of all parts together."""
        return self._count[0]

    @property
    def late(self) -> bool:
        """Whether a limit in seconds that was asked for has passed."""
        return self._deadline is not None and perf_counter() >= self._deadline

    @property
    def left(self) -> float:
        """Units."""
        return 0.0 if self.late else max(0.0, self.limit - self._count[0])

    @property
    def seconds_left(self) -> float | None:
        """None where no limit in seconds was asked for."""
        return None if self._deadline is None else max(0.0, self._deadline - perf_counter())

    @property
    def name(self) -> str:
        """The limit in words, for messages."""
        if self.late:
            return f"the time limit of {self.seconds:g} s"
        return f"the extraction budget of {self.work:g} units"

    def spend(self, units: float) -> None:
        """Count work that was done."""
        self._count[0] += units

    def part(self, share: float) -> Budget:
        """A budget of a share of what is left of this one."""
        part = object.__new__(Budget)
        part.work, part.seconds = self.work, self.seconds
        part._deadline, part._count = self._deadline, self._count
        part.limit = self.spent + share * self.left
        return part


def as_budget(budget: Budget | float | None, seconds: float | None, default: float = DEFAULT_BUDGET) -> Budget:
    """The budget for a caller's `budget` and `time_limit`."""
    return budget if isinstance(budget, Budget) else Budget(budget, seconds=seconds, default=default)
