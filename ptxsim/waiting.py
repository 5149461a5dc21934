"""Blocking waits: lanes stay at an instruction until an action of other lanes or copies lets them continue."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.control import Condition, Lanes
from ptxsim.ptx_types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """The end of a basic block at which lanes may block.

    arrive: called once for lanes that arrive here, before anything else; ready: the lanes of a mask that may continue;
    resume: called for lanes that continue, with False if they gave up; gives_up: whether the instruction may return
    before its condition holds; describe: what a lane waits for; cells: the mbarrier cells that lanes wait for; refuses:
    the lanes of a mask that continue at once with a false answer, whether or not they would have to wait.
    """

    pc: int
    next: int
    condition: Condition | None
    ready: Callable[[Array], Array]
    resume: Callable[[Array, bool], None]
    describe: Callable[[int], str]
    arrive: Callable[[Array], None] | None = None
    gives_up: bool = False
    cells: Callable[[Array], Array] | None = None
    refuses: Callable[[Array], Array] | None = None

    def converged(self, lanes: Lanes) -> int | None:
        """Continue together if no lane needs to wait."""
        mask = lanes.machine.live_mask()
        if self.condition is None and self.refuses is None:
            if self.arrive is not None:
                self.arrive(mask)
            going = self.ready(mask)
            if bool(going[mask].all()):
                self.resume(mask, True)
                return self.next
            self._split(lanes, mask, going)
            return None
        self.diverged(lanes, mask)
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Continue with the lanes that need not wait, and those whose guard is false."""
        here = mask
        if self.condition is not None:
            here = self.condition.holds(mask)
            lanes.add(self.next, mask & ~here)
            if not here.any():
                return
        if self.arrive is not None:
            self.arrive(here)
        ready = self.ready(here)
        if self.refuses is not None:
            refused = self.refuses(here)
            if refused.any():
                self.resume(refused, False)
                lanes.add(self.next, refused)
                here = here & ~refused
        self._split(lanes, here, ready)

    def _split(self, lanes: Lanes, here: Array, ready: Array) -> None:
        going = here & ready
        if going.any():
            self.resume(going, True)
            lanes.add(self.next, going)
        staying = here & ~ready
        if staying.any():
            lanes.park(self, staying)


class FirstAnswers:
    """Makes the first answer of a wait that may give up false, so that a wait without a retry loop is detected.

    The first answer of each wait is false; a lane that asks again for the same object and phase waits. A lane that asks
    for another is refused as well, unless nothing happened in between: it may poll several objects in turn.
    """

    def __init__(self, lanes: int) -> None:
        self._asked = np.zeros(lanes, np.bool_)
        self._cell = np.zeros(lanes, np.int64)
        self._phase = np.zeros(lanes, np.int64)
        self._progress = np.zeros(lanes, np.int64)

    def start(self) -> None:
        """A batch begins: no lane has asked."""
        self._asked.fill(False)

    def end(self) -> None:
        """A batch ends."""

    def refuse(self, lanes: Array, cells: Array, phases: Array, progress: int) -> Array:
        """The lanes of a mask that now get the answer false.

        cells, phases: the object and phase that each of these lanes asks for; progress: counts the changes of all
        objects.
        """
        again = self._asked[lanes]
        again &= ((self._cell[lanes] == cells) & (self._phase[lanes] == phases)) | (self._progress[lanes] == progress)
        refused = lanes.copy()
        refused[lanes] = ~again
        self._asked |= refused
        self._cell[lanes], self._phase[lanes], self._progress[lanes] = cells, phases, progress
        return refused

    def answered(self, lanes: Array) -> None:
        """Lanes saw what they waited for; their next query is a new one."""
        self._asked[lanes] = False


class Waiters:
    """The lanes that wait, by instruction."""

    def __init__(self) -> None:
        self._parked: dict[int, tuple[Wait, Array]] = {}

    def __bool__(self) -> bool:
        return bool(self._parked)

    def park(self, wait: Wait, mask: Array) -> None:
        """Lanes start to wait."""
        earlier = self._parked.get(wait.pc)
        self._parked[wait.pc] = (wait, mask if earlier is None else earlier[1] | mask)

    def wake(self, add: Callable[[int, Array], None]) -> bool:
        """Let lanes continue that may; returns whether any did."""
        any_went = False
        for pc, (wait, mask) in list(self._parked.items()):
            going = mask & wait.ready(mask)
            if going.any():
                self._release(pc, going)
                wait.resume(going, True)
                add(wait.next, going)
                any_went = True
        return any_went

    def give_up(self, add: Callable[[int, Array], None]) -> bool:
        """Let lanes continue before their condition holds, if the instruction allows it; returns whether any did."""
        any_went = False
        for pc, (wait, mask) in list(self._parked.items()):
            if wait.gives_up:
                self._release(pc, mask)
                wait.resume(mask, False)
                add(wait.next, mask)
                any_went = True
        return any_went

    def _release(self, pc: int, going: Array) -> None:
        wait, mask = self._parked.pop(pc)
        staying = mask & ~going
        if staying.any():
            self._parked[pc] = (wait, staying)

    def waiting(self) -> list[tuple[int, Array, str]]:
        """(instruction, lanes, what the first of them waits for) of all that wait."""
        return [(pc, mask, wait.describe(int(np.flatnonzero(mask)[0]))) for pc, (wait, mask) in self._parked.items()]

    def wanted_cells(self) -> Array:
        """The mbarrier cells that lanes wait for."""
        found = [wait.cells(mask) for wait, mask in self._parked.values() if wait.cells is not None]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def clear(self) -> None:
        """A batch begins: no lane waits."""
        self._parked.clear()
