"""The barriers of CTAs: who has arrived, who waits, and who may continue."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from ptxsim.errors import OperandError
from ptxsim.geometry import WARP
from ptxsim.groups import FULL_WARP, warp_words
from ptxsim.machine import Machine
from ptxsim.program import Instruction
from ptxsim.ptx_types import Array

# Stores the result of bar.red: (released lanes, votes of all lanes, lanes that took part).
Finish: TypeAlias = Callable[[Array, Array, Array], None]
# PTX ISA, "bar, barrier": sixteen barriers per CTA.
BARRIERS = 16


@dataclass(frozen=True, slots=True)
class Arrival:
    """Lanes that wait at one barrier instruction."""

    pc: int
    next: int
    mask: Array
    expected: Array | None
    finish: Finish | None


class Observer(Protocol):
    """Observer of the lanes that barriers synchronise."""

    def met(self, number: int, lanes: Array | None) -> None:
        """Lanes (None: all live ones) completed a barrier."""
        ...

    def arrived(self, number: int, lanes: Array) -> None:
        """Lanes arrived at a barrier without waiting."""
        ...


class Barriers:
    """The sixteen barriers of every CTA of a machine."""

    def __init__(self, machine: Machine, instructions: Sequence[Instruction]) -> None:
        self._machine = machine
        self._instructions = instructions
        self._arrivals: dict[int, list[Arrival]] = {}
        self._credit: dict[int, Array] = {}
        self._expected: dict[int, Array] = {}
        self._votes: dict[int, Array] = {}
        self.observer: Observer | None = None
        self.progress = 0
        self.waits: Counter[int] = Counter()

    def is_used(self, number: int) -> bool:
        """Whether lanes wait at a barrier or have arrived at it."""
        return bool(self._arrivals.get(number)) or bool(number in self._credit and self._credit[number].any())

    def passed(self, number: int, lanes: Array | None) -> None:
        """Notify the observer that lanes (None: all live ones) met at a barrier."""
        if self.observer is not None:
            self.observer.met(number, lanes)

    def waiting(self) -> list[tuple[int, int, Array]]:
        """(barrier number, instruction, lanes) of all that wait."""
        return [(n, arrival.pc, arrival.mask) for n, arrivals in self._arrivals.items() for arrival in arrivals]

    def wait(self, number: int, arrival: Arrival, predicate: Array | None) -> None:
        """Lanes start to wait at a barrier."""
        self._check(number, arrival.pc)
        self.progress += 1
        self.waits[self._instructions[arrival.pc].line] += int(np.count_nonzero(warp_words(arrival.mask)))
        self._arrivals.setdefault(number, []).append(arrival)
        if arrival.expected is not None:
            self._note_expected(number, arrival.mask, arrival.expected)
        if predicate is not None:
            votes = self._votes.setdefault(number, np.zeros(self._machine.lanes, np.bool_))
            np.putmask(votes, arrival.mask, predicate)

    def arrive(self, number: int, pc: int, mask: Array, expected: Array | None) -> None:
        """Lanes count as arrived without waiting. A warp counts whole (PTX ISA, "bar.arrive")."""
        self._check(number, pc)
        self.progress += 1
        if self.observer is not None:
            self.observer.arrived(number, mask)
        credit = self._credit.setdefault(number, np.zeros(self._machine.ctas, np.int64))
        warps = warp_words(mask) != 0
        credit += WARP * np.count_nonzero(warps.reshape(self._machine.ctas, -1), axis=1)
        if expected is not None:
            self._note_expected(number, mask, expected)

    def _note_expected(self, number: int, mask: Array, expected: Array) -> None:
        counts = self._expected.setdefault(number, np.zeros(self._machine.ctas, np.int64))
        if expected.flags.writeable:
            most = np.where(mask, expected, 0).reshape(self._machine.ctas, -1).max(axis=1)
        else:  # a constant, the same in every lane
            words = warp_words(mask).reshape(self._machine.ctas, -1)
            most = np.where(words.any(axis=1), np.int64(expected[0]), 0)
        np.maximum(counts, most, out=counts)

    def _check(self, number: int, pc: int) -> None:
        if not 0 <= number < BARRIERS:
            instruction = self._instructions[pc]
            raise OperandError(f"barrier {number}: a CTA has barriers 0 to 15", instruction.line, instruction.text)

    def release(self, add: Callable[[int, Array], None], numbers: Sequence[int] | None = None) -> None:
        """Release the lanes of every complete barrier; numbers: the barriers that changed, None for all."""
        for number in list(self._arrivals) if numbers is None else numbers:
            arrivals = self._arrivals.get(number)
            if not arrivals:
                continue
            here = arrivals[0].mask
            for arrival in arrivals[1:]:
                here = here | arrival.mask
            complete = self._complete(number, here)
            if not complete.any():
                continue
            lanes = None if complete.all() else complete[self._machine.cta_of_lane]
            self.passed(number, here if lanes is None else here & lanes)
            votes = self._votes.get(number)
            rest: list[Arrival] = []
            for arrival in arrivals:
                going = arrival.mask if lanes is None else arrival.mask & lanes
                if arrival.finish is not None and votes is not None:
                    arrival.finish(going, votes, here)
                add(arrival.next, going)
                staying = None if lanes is None else arrival.mask & ~lanes
                if staying is not None and staying.any():
                    rest.append(Arrival(arrival.pc, arrival.next, staying, arrival.expected, arrival.finish))
            self._settle(number, rest, complete)

    def _settle(self, number: int, rest: list[Arrival], complete: Array) -> None:
        if rest:
            self._arrivals[number] = rest
        else:
            del self._arrivals[number]
        for counts in (self._credit, self._expected):
            if number in counts:
                counts[number][complete] = 0

    def _complete(self, number: int, here: Array) -> Array:
        """The CTAs whose barrier is complete, as a mask over CTAs."""
        shape = (self._machine.ctas, -1)
        words = warp_words(here)
        live = FULL_WARP if self._machine.live is None else warp_words(self._machine.live)
        absent = live & ~words
        some: Array = np.any(words.reshape(shape), axis=1)
        everyone: Array = ~np.any(absent.reshape(shape), axis=1)
        expected = self._expected.get(number)
        if expected is None:
            return some & everyone
        # dead lanes of a warp whose live lanes are all here count as arrived, since a warp counts whole
        per_warp = np.where((absent == 0) & (words != 0), WARP, np.bitwise_count(words))
        count = per_warp.reshape(shape).sum(axis=1)
        if number in self._credit:
            count = count + self._credit[number]
        complete: Array = np.where(expected > 0, count >= expected, everyone)
        return some & complete
