"""mbarrier: init, inval, expect_tx, complete_tx, arrive, arrive_drop, test_wait, try_wait, pending_count.

A wait whose phase is not complete blocks its lanes; they continue when it completes, or with a false predicate if
otherwise no lane of the machine can continue, which is legal for both waits. With hazards the first answer of each wait
is false, so that a wait without its retry loop orders nothing. Source: PTX ISA, "mbarrier".
"""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.async_order import Scope
from ptxsim.control import condition_of
from ptxsim.decode import Decode, Step, into
from ptxsim.errors import HazardError, OperandError
from ptxsim.findings import Kind
from ptxsim.floors import Floor
from ptxsim.mbarrier import pending_of, phase_of
from ptxsim.memory import Fault
from ptxsim.program import Register, Sink
from ptxsim.ptx_types import TYPES, Array
from ptxsim.shared_access import CLUSTER, OWN, Positions, lane_numbers, pick, positions
from ptxsim.transfers import Landing, Transfer
from ptxsim.waiting import FirstAnswers, Wait

_CELL = 8
_SCOPES = ("cta", "cluster")
_U32, _B64 = TYPES["u32"], TYPES["b64"]


def decode_mbarrier(d: Decode) -> Step | None:
    """Every mbarrier instruction."""
    action = d.need(*_ACTIONS)
    if d.type().name != "b64":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return _ACTIONS[action](d)


class Objects:
    """The mbarrier operand of an instruction, and its errors."""

    def __init__(self, d: Decode, number: int, space: str | None) -> None:
        self._d = d
        self.site = Site(d.machine, d.instruction)
        self._positions: Positions = positions(d, self.site, number, space, _CELL)
        self.mbarriers = d.binding.transfers.mbarriers

    def cells(self, lanes: Array | None) -> Array:
        """The 8-byte cells that the active lanes name."""
        return self._positions(lanes) >> 3

    def error(self, fault: Fault, lanes: Array | None) -> HazardError:
        """A misuse of an object by the lane at a position, as an error."""
        lane = int(lane_numbers(self._d, lanes)[fault.position])
        cell = int(self.cells(lanes)[fault.position])
        where = self._d.binding.transfers.name(cell)
        who = self._d.machine.describe(lane)
        message = f"{who} uses {fault.reason}: {where}"
        return self._d.machine.findings.fatal(Kind.MBARRIER_COUNT, message, self._d.instruction, who)


def _init(d: Decode) -> Step:
    space = d.take(*OWN)
    d.finish(2)
    objects = Objects(d, 0, space)
    counts = d.read(1, _U32)
    machine, tracker = d.machine, d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells = objects.cells(lanes)
        try:
            objects.mbarriers.init(cells, pick(counts, lanes).astype(np.int64))
        except Fault as fault:
            raise objects.error(fault, lanes) from None
        if tracker is not None:
            tracker.init_mbarrier(objects.site, lane_numbers(d, lanes), cells)

    return step


def _inval(d: Decode) -> Step:
    space = d.take(*OWN)
    d.finish(1)
    objects = Objects(d, 0, space)
    machine, transfers, tracker = d.machine, d.binding.transfers, d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells = objects.cells(lanes)
        try:
            transfers.check_idle(objects.site, lane_numbers(d, lanes), cells, "invalidates")
            if tracker is not None:
                tracker.drop_mbarrier(objects.site, lane_numbers(d, lanes), cells)
            objects.mbarriers.invalidate(cells)
        except Fault as fault:
            raise objects.error(fault, lanes) from None

    return step


def _transaction(sign: int) -> Callable[[Decode], Step]:
    """expect_tx (sign 1: more bytes are expected) and complete_tx (sign -1)."""

    def decode(d: Decode) -> Step:
        if d.flag("relaxed"):
            d.need(*_SCOPES)
        space = d.take(*OWN, CLUSTER)
        d.finish(2)
        objects = Objects(d, 0, space)
        amount = d.read(1, _U32)
        machine, tracker = d.machine, d.binding.hazards

        def step(mask: Array | None) -> None:
            lanes = machine.active(mask)
            if lanes is not None and not lanes.any():
                return
            cells = objects.cells(lanes)
            try:
                if tracker is not None:
                    tracker.use_mbarrier(objects.site, lane_numbers(d, lanes), cells)
                    if sign > 0:
                        d.binding.transfers.note_expected(objects.site, lane_numbers(d, lanes), cells)
                objects.mbarriers.add(cells, pick(amount, lanes).astype(np.int64) * sign)
            except Fault as fault:
                raise objects.error(fault, lanes) from None

        return step

    return decode


def _arrive(d: Decode) -> Step:
    return _arrival(d, drops=False)


def _arrive_drop(d: Decode) -> Step:
    return _arrival(d, drops=True)


def _arrival(d: Decode, drops: bool) -> Step:
    """arrive and arrive_drop with .expect_tx or .noComplete, on objects of the executing CTA or of the cluster."""
    expects, incomplete = d.flag("expect_tx"), d.flag("noComplete")
    order = d.take("release", "relaxed")
    scope = Scope.UNWRITTEN if order is None else Scope(d.need(*_SCOPES))
    space = d.take(*OWN, CLUSTER)
    if expects and incomplete:
        raise d.unsupported("mbarrier.arrive with both .expect_tx and .noComplete")
    d.finish(3 if expects or incomplete else 2, 3)
    target = _token_target(d, space)
    objects = Objects(d, 1, space)
    amount = d.read(2, _U32) if len(d.operands) == 3 else d.binding.constant(1, _U32)
    machine = d.machine
    count = _counter(d, objects, drops, expects, incomplete, order != "relaxed", scope)
    silent = d.binding.hazards is None and target is None and not incomplete

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells = objects.cells(lanes)
        try:
            if silent:
                given = pick(amount, lanes).astype(np.int64)
                counts, owed = (np.ones(cells.size, np.int64), given) if expects else (given, None)
                objects.mbarriers.count(cells, counts, owed, drops)
                return
            tokens = count(lane_numbers(d, lanes), cells, pick(amount, lanes).astype(np.int64))
        except Fault as fault:
            raise objects.error(fault, lanes) from None
        if target is not None:
            if lanes is None:
                target[...] = tokens
            else:
                target[lanes] = tokens

    return step


def _counter(
    d: Decode, objects: Objects, drops: bool, expects: bool, incomplete: bool, releases: bool, scope: Scope
) -> Callable[[Array, Array, Array], Array]:
    """The function that counts the arrivals of lanes (numbers, cells, amounts) and returns the previous states. Raises
    Fault.
    """
    mbarriers, tracker, transfers = objects.mbarriers, d.binding.hazards, d.binding.transfers

    def at_once(numbers: Array, cells: Array, amounts: Array) -> Array:
        counts, owed = (np.ones(cells.size, np.int64), amounts) if expects else (amounts, None)
        if tracker is not None:
            tracker.arrive(objects.site, numbers, cells, releases, scope)
            if expects:
                transfers.note_expected(objects.site, numbers, cells)
        if incomplete:
            _check_incomplete(objects, cells, counts)
        return mbarriers.arrive(cells, counts, owed, drops)

    def in_order(numbers: Array, cells: Array, amounts: Array) -> Array:
        """Lane by lane if some arrive at the next phase: their knowledge is not for waiters of this one."""
        counts = np.ones(cells.size, np.int64) if expects else amounts
        if cells.size == 1 or incomplete or not mbarriers.completes(cells, counts):
            return at_once(numbers, cells, amounts)
        tokens = np.empty(cells.size, np.uint64)
        for position in range(cells.size):
            here = slice(position, position + 1)
            try:
                tokens[here] = at_once(numbers[here], cells[here], amounts[here])
            except Fault as fault:
                raise Fault(position, fault.reason) from None
        return tokens

    return at_once if tracker is None else in_order


def decode_copy_arrival(d: Decode) -> Step:
    """cp.async.mbarrier.arrive{.noinc}: an arrival once all earlier cp.async of the thread are complete.

    Without .noinc the pending count is incremented first, so that the arrival is in addition to those that the phase
    expected.
    """
    d.need("async")
    d.need("mbarrier")
    d.need("arrive")
    counts_itself = not d.flag("noinc")
    space = d.take(*OWN)
    if d.type().name != "b64":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    objects = Objects(d, 0, space)
    machine, tracker, transfers = d.machine, d.binding.hazards, d.binding.transfers

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells, numbers = objects.cells(lanes), lane_numbers(d, lanes)
        try:
            if counts_itself:
                objects.mbarriers.add(cells, np.zeros(cells.size, np.int64), pending=1)
            if tracker is None:
                objects.mbarriers.count(cells, np.ones(cells.size, np.int64))
                return
        except Fault as fault:
            raise objects.error(fault, lanes) from None
        land = tracker.copies_until_now(numbers)
        for cell in dict.fromkeys(cells.tolist()):
            here = numbers[cells == cell]
            tracker.use_mbarrier(objects.site, here, np.full(here.size, cell))
            transfers.issue(_arrival_of(objects.site, here, cell, land))

    return step


def _arrival_of(site: Site, numbers: Array, cell: int, land: Landing) -> Transfer:
    """The arrivals of lanes once their copies are complete."""
    return Transfer(
        site,
        int(numbers[0]),
        _nothing,
        lambda data: land([(numbers, cell)]),
        cell=cell,
        arrivals=int(numbers.size),
        parts=lambda: [_arrival_of(site, numbers[n : n + 1], cell, land) for n in range(numbers.size)],
        arriving=(land, numbers),
    )


def _nothing() -> Array:
    return np.zeros(0, np.uint8)


def _token_target(d: Decode, space: str | None) -> Array | None:
    if isinstance(d.operands[0], Sink):
        return None
    if space == CLUSTER:
        raise d.error(OperandError, "an arrival on an mbarrier of the cluster returns no state; write `_`")
    return d.write(0, _B64)


def _check_incomplete(objects: Objects, cells: Array, counts: Array) -> None:
    """Raise Fault if an arrival that must not complete its phase would do so."""
    totals = np.bincount(np.unique(cells, return_inverse=True)[1], weights=counts)
    inverse = np.unique(cells, return_inverse=True)[1]
    left = pending_of(objects.mbarriers.states(cells)) - totals[inverse].astype(np.int64)
    if (left <= 0).any():
        raise Fault(int(np.argmax(left <= 0)), "an mbarrier whose phase this .noComplete arrival would complete")


def _wait(has_limit: bool) -> Callable[[Decode], None]:
    """test_wait and try_wait, with a state or a parity."""

    def decode(d: Decode) -> None:
        is_parity = d.flag("parity")
        order = d.take("acquire", "relaxed")
        scope = Scope.UNWRITTEN if order is None else Scope(d.need(*_SCOPES))
        space = d.take(*OWN)
        d.finish(3, 4 if has_limit else 3)
        target = d.write(0, TYPES["pred"])
        objects = Objects(d, 1, space)
        given = d.read(2, _U32 if is_parity else _B64)
        if len(d.operands) == 4:
            d.read(3, _U32)  # a limit on the waiting time, which only hardware has
        d.control = _blocking(d, objects, target, given, is_parity, order != "relaxed", scope)

    return decode


def _blocking(
    d: Decode, objects: Objects, target: Array, given: Array, is_parity: bool, acquires: bool, scope: Scope
) -> Wait:
    machine, tracker, transfers = d.machine, d.binding.hazards, d.binding.transfers
    first = FirstAnswers(machine.lanes)
    if tracker is not None:
        transfers.parts.append(first)

    def wanted(lanes: Array) -> Array:
        """The phase bits that lanes wait for."""
        values = given[lanes]
        if not is_parity:
            return phase_of(values)
        if (values > 1).any():
            lane = int(np.flatnonzero(lanes)[int(np.argmax(values > 1))])
            raise d.error(OperandError, f"{machine.describe(lane)} waits for parity {int(given[lane])}, not 0 or 1")
        return values.astype(np.int64)

    def arrive(lanes: Array) -> None:
        if tracker is not None:
            tracker.look(objects.site, np.flatnonzero(lanes), objects.cells(lanes))

    def ready(lanes: Array) -> Array:
        if not lanes.any():
            return lanes
        try:
            states = objects.mbarriers.states(objects.cells(lanes))
        except Fault as fault:
            raise objects.error(fault, lanes) from None
        result = lanes.copy()
        result[lanes] = phase_of(states) != wanted(lanes)
        return result

    def resume(lanes: Array, is_complete: bool) -> None:
        target[lanes] = is_complete
        if is_complete and tracker is not None:
            first.answered(lanes)
            tracker.waited(np.flatnonzero(lanes), objects.cells(lanes), acquires, scope)

    def refuses(lanes: Array) -> Array:
        return first.refuse(lanes, objects.cells(lanes), wanted(lanes), objects.mbarriers.progress)

    def describe(lane: int) -> str:
        one = np.zeros(machine.lanes, np.bool_)
        one[lane] = True
        cell = int(objects.cells(one)[0])
        return f"phase parity {int(wanted(one)[0])} of {transfers.name(cell)} ({objects.mbarriers.describe(cell)})"

    return Wait(
        d.pc, d.pc + 1, condition_of(d, d.instruction.guard), ready, resume, describe, arrive, True,
        lambda lanes: objects.cells(lanes), None if tracker is None else refuses,
    )  # fmt: skip


def _pending_count(d: Decode) -> Step:
    d.finish(2)
    source = d.read(1, _B64)
    if not isinstance(d.operands[0], Register):
        raise d.error(OperandError, "the destination must be a register")

    def count(state: Array, out: Array) -> None:
        np.copyto(out, pending_of(np.ascontiguousarray(state)), casting="unsafe")

    return into(d.write(0, _U32), count, source)


_ACTIONS: dict[str, Callable[[Decode], Step | None]] = {
    "init": _init,
    "inval": _inval,
    "expect_tx": _transaction(1),
    "complete_tx": _transaction(-1),
    "arrive": _arrive,
    "arrive_drop": _arrive_drop,
    "test_wait": _wait(has_limit=False),
    "try_wait": _wait(has_limit=True),
    "pending_count": _pending_count,
}
OPCODES = {"mbarrier": decode_mbarrier}
FLOORS = (
    Floor("mbarrier", "80", "7.0"),
    Floor("mbarrier.try_wait", "90", "7.8"),
    Floor("mbarrier expect_tx|complete_tx|shared::cluster", "90", "8.0"),
    Floor("mbarrier acquire|release", "", "8.0"),
    Floor("mbarrier relaxed !expect_tx !complete_tx", "90", "8.6"),
    Floor("mbarrier.arrive _", "", "7.1"),
    Floor("mbarrier.test_wait parity", "", "7.1"),
    Floor("mbarrier.arrive !noComplete !expect_tx #3", "90", "7.8"),
)
