"""Control flow: branches, exits and CTA barriers, as objects that determine for the scheduler where lanes continue."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError, SimulatorError
from ptxsim.floors import Floor
from ptxsim.groups import FULL_WARP, warp_words
from ptxsim.machine import WARP, Machine
from ptxsim.program import Guard, Instruction, Negated, Pair, Register, Symbol
from ptxsim.ptx_types import TYPES, Array

if TYPE_CHECKING:
    from ptxsim.waiting import Wait

# Stores the result of bar.red: (released lanes, votes of all lanes, lanes that took part).
Finish: TypeAlias = Callable[[Array, Array, Array], None]
# PTX ISA, "bar, barrier": sixteen barriers per CTA.
_BARRIERS = 16


class Lanes(Protocol):
    """The interface to the scheduler that control flow needs."""

    machine: Machine
    barriers: "Barriers"

    def add(self, pc: int, mask: Array) -> None:
        """Let lanes continue at an instruction."""
        ...

    def exited(self) -> None:
        """React to lanes that exited."""
        ...

    def meet(self, pc: int, mask: Array, members: Array) -> Array:
        """The lanes whose whole warp group has reached a `.sync` instruction; the others wait there."""
        ...

    def park(self, wait: "Wait", mask: Array) -> None:
        """Let lanes wait until `wait` allows them to continue."""
        ...


class Control(Protocol):
    """The end of a basic block."""

    def converged(self, lanes: Lanes) -> int | None:
        """Where all live lanes continue together, or None once they were handed to `add`, a barrier or exit."""
        ...

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Hand the lanes of a mask on."""
        ...


@dataclass(frozen=True, slots=True)
class Fallthrough:
    """The block ends because a label follows."""

    next: int

    def converged(self, lanes: Lanes) -> int | None:
        """Continue with the next block."""
        return self.next

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Continue with the next block."""
        lanes.add(self.next, mask)


@dataclass(frozen=True, slots=True)
class Condition:
    """A guard bound to its register's lanes."""

    values: Array
    negated: bool

    def holds(self, lanes: Array) -> Array:
        """The lanes of a mask on which the guard is true."""
        return lanes & ~self.values if self.negated else lanes & self.values


@dataclass(frozen=True, slots=True)
class Branch:
    """bra, with or without a guard."""

    target: int
    next: int
    condition: Condition | None

    def converged(self, lanes: Lanes) -> int | None:
        """Branch together, or split the lanes."""
        if self.condition is None:
            return self.target
        live = lanes.machine.live
        values = self.condition.values
        true = int(np.count_nonzero(values if live is None else values & live))
        if true == 0:
            return self.target if self.condition.negated else self.next
        if true == lanes.machine.live_count:
            return self.next if self.condition.negated else self.target
        self.diverged(lanes, lanes.machine.live_mask())
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Split the lanes of a mask."""
        if self.condition is None:
            lanes.add(self.target, mask)
            return
        taken = self.condition.holds(mask)
        lanes.add(self.target, taken)
        lanes.add(self.next, mask & ~taken)


@dataclass(frozen=True, slots=True)
class BranchTable:
    """brx.idx: each lane branches to the label that its index selects."""

    index: Array
    targets: tuple[int, ...]
    next: int
    condition: Condition | None
    fail: Callable[[str], SimulatorError]

    def converged(self, lanes: Lanes) -> int | None:
        """Split the live lanes."""
        self.diverged(lanes, lanes.machine.live_mask())
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Split the lanes of a mask."""
        taken = mask if self.condition is None else self.condition.holds(mask)
        lanes.add(self.next, mask & ~taken)
        known = np.zeros_like(taken)
        for number, target in enumerate(self.targets):
            chosen = taken & (self.index == number)
            known |= chosen
            lanes.add(target, chosen)
        if (taken & ~known).any():
            lane = int(np.flatnonzero(taken & ~known)[0])
            who = lanes.machine.describe(lane)
            raise self.fail(f"{who} has index {int(self.index[lane])} but the table has {len(self.targets)} labels")


@dataclass(frozen=True, slots=True)
class GuardedMeeting:
    """A `.sync` instruction under a guard: lanes whose guard is false skip it."""

    pc: int
    next: int
    condition: Condition
    members: Array
    step: Step

    def converged(self, lanes: Lanes) -> int | None:
        """Split the live lanes by the guard."""
        self.diverged(lanes, lanes.machine.live_mask())
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Rendezvous, execute where complete, continue."""
        here = self.condition.holds(mask)
        lanes.add(self.next, mask & ~here)
        going = lanes.meet(self.pc, here, self.members)
        if going.any():
            self.step(going)
            lanes.add(self.next, going)


@dataclass(frozen=True, slots=True)
class Exit:
    """ret and exit of an entry."""

    next: int
    condition: Condition | None

    def converged(self, lanes: Lanes) -> int | None:
        """End the live lanes, or those that the guard selects."""
        if self.condition is None:
            lanes.machine.kill(None)
            return None
        self.diverged(lanes, lanes.machine.live_mask())
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """End lanes of a mask."""
        gone = mask if self.condition is None else self.condition.holds(mask)
        lanes.add(self.next, mask & ~gone)
        lanes.machine.kill(gone)
        lanes.exited()


@dataclass(frozen=True, slots=True)
class Arrival:
    """Lanes that wait at one barrier instruction."""

    pc: int
    next: int
    mask: Array
    expected: Array | None
    finish: Finish | None


@dataclass(frozen=True, slots=True)
class Barrier:
    """bar.sync, bar.arrive and bar.red, and their barrier.cta spellings.

    number, expected: lanes of the barrier number and of the thread count (None: the whole CTA); uniform: the number if
    it is a constant; predicate and finish: what bar.red reduces, and what stores its result.
    """

    pc: int
    next: int
    waits: bool
    number: Array
    uniform: int | None
    expected: Array | None
    condition: Condition | None
    predicate: Array | None
    finish: Finish | None

    def converged(self, lanes: Lanes) -> int | None:
        """Pass at once if every live thread of each CTA is here and none was here before."""
        simple = self.condition is None and self.expected is None and self.waits and self.predicate is None
        if simple and self.uniform is not None and not lanes.barriers.is_used(self.uniform):
            lanes.barriers.passed(self.uniform, None)
            return self.next
        self.diverged(lanes, lanes.machine.live_mask())
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Arrive; continue if the barrier does not wait or the guard is false."""
        here = mask
        if self.condition is not None:
            here = self.condition.holds(mask)
            lanes.add(self.next, mask & ~here)
        numbers = np.unique(self.number[here]).tolist() if self.uniform is None else [self.uniform]
        for number in numbers if here.any() else ():
            chosen = here if len(numbers) == 1 else here & (self.number == number)
            if self.waits:
                arrival = Arrival(self.pc, self.next, chosen, self.expected, self.finish)
                lanes.barriers.wait(number, arrival, self.predicate)
            else:
                lanes.barriers.arrive(number, self.pc, chosen, self.expected)
                lanes.add(self.next, chosen)
        lanes.barriers.release(lanes.add, numbers)


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
        if not 0 <= number < _BARRIERS:
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


def condition_of(d: Decode, guard: Guard | None) -> Condition | None:
    """The guard of an instruction bound to its register's lanes, or None."""
    if guard is None:
        return None
    return Condition(d.value(guard.register, TYPES["pred"]), guard.negated)


def _label(d: Decode, number: int, labels: dict[str, int]) -> int:
    operand = d.operands[number]
    if not isinstance(operand, Symbol) or operand.name not in labels:
        raise d.error(OperandError, f"operand {number + 1} of `{d.instruction.base}` is not a label of this entry")
    return labels[operand.name]


def decode_branch(d: Decode) -> None:
    """bra{.uni}."""
    d.take("uni")
    d.finish(1)
    d.control = Branch(_label(d, 0, d.binding.entry.labels), d.pc + 1, condition_of(d, d.instruction.guard))


def decode_branch_table(d: Decode) -> None:
    """brx.idx{.uni} index, table: a branch table, one label per lane."""
    labels, tables = d.binding.entry.labels, d.binding.entry.branch_targets
    d.need("idx")
    d.take("uni")
    d.finish(2)
    table = d.operands[1]
    if not isinstance(table, Symbol) or table.name not in tables:
        raise d.error(OperandError, "the second operand of brx.idx is not a .branchtargets label")
    unknown = [name for name in tables[table.name] if name not in labels]
    if unknown:
        raise d.error(OperandError, f"label `{unknown[0]}` of the branch table is not defined")
    targets = tuple(labels[name] for name in tables[table.name])
    condition = condition_of(d, d.instruction.guard)
    d.control = BranchTable(
        d.read(0, TYPES["u32"]), targets, d.pc + 1, condition, lambda message: d.error(OperandError, message)
    )


def decode_exit(d: Decode) -> None:
    """exit, and ret{.uni} of an entry."""
    d.take("uni")
    d.finish(0)
    d.control = Exit(d.pc + 1, condition_of(d, d.instruction.guard))


def decode_barrier(d: Decode) -> None:
    """bar and barrier{.cta}: .sync, .arrive, .red with .popc, .and, .or."""
    d.take("cta")
    action = d.need("sync", "arrive", "red")
    d.take("aligned")
    predicate: Array | None = None
    finish: Finish | None = None
    first = 0
    if action == "red":
        if len(d.operands) < 3:
            d.finish(3, 4)
        operation = d.need("popc", "and", "or")
        first = 1
        predicate, finish = _reduction(d, operation)
    last = len(d.operands) - (1 if action == "red" else 0)
    d.finish(first + 1 + (action == "arrive"), first + 2 + (action == "red"))
    number = d.read(first, TYPES["u32"])
    expected = d.read(first + 1, TYPES["u32"]) if last > first + 1 else None
    is_constant = not isinstance(d.operands[first], Register)
    uniform = int(number[0]) if is_constant else None
    if uniform is not None and uniform >= _BARRIERS:
        raise d.error(OperandError, f"barrier {uniform}: a CTA has barriers 0 to 15")
    condition = condition_of(d, d.instruction.guard)
    is_waiting = action != "arrive"
    d.control = Barrier(d.pc, d.pc + 1, is_waiting, number, uniform, expected, condition, predicate, finish)


def _reduction(d: Decode, operation: str) -> tuple[Array, Finish]:
    """The predicate lanes that bar.red reduces, and the function that stores the result for released lanes."""
    source = d.operands[-1]
    inverted = isinstance(source, Negated)
    lanes = d.value(source.register if isinstance(source, Negated) else source, TYPES["pred"])
    type_ = d.type()
    if isinstance(d.operands[0], Pair) or (operation == "popc") != (type_.name == "u32"):
        raise d.unsupported(f"`{d.instruction.opcode}` with these operands")
    destination = d.write(0, type_)
    machine = d.machine

    def finish(released: Array, votes: Array, wanted: Array) -> None:
        values = (votes ^ inverted) & wanted
        per_cta = values.reshape(machine.ctas, -1)
        if operation == "popc":
            result: Array = np.count_nonzero(per_cta, axis=1)
        elif operation == "or":
            result = np.any(per_cta, axis=1)
        else:
            result = ~np.any((~values & wanted).reshape(machine.ctas, -1), axis=1)
        np.putmask(destination, released, result[machine.cta_of_lane].astype(destination.dtype))

    return lanes, finish


OPCODES: dict[str, Callable[[Decode], None]] = {
    "bra": decode_branch,
    "brx": decode_branch_table,
    "exit": decode_exit,
    "bar": decode_barrier,
    "barrier": decode_barrier,
}
FLOORS = (
    Floor("bar cta", "", "7.8"),
    Floor("barrier cta", "", "7.8"),
)
