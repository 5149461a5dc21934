"""State shared by the tcgen05 instructions of a launch: tensor memory, its hazards, and commits in flight."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from ptxsim.access import Site
from ptxsim.async_order import Scope
from ptxsim.findings import Kind
from ptxsim.hazards import Tracker
from ptxsim.machine import Machine
from ptxsim.ptx_types import Array
from ptxsim.tensor_memory import TensorMemory
from ptxsim.tensor_order import TensorOrder
from ptxsim.transfers import Transfer, Transfers


class TensorCore:
    """Tensor memory of a machine, and with hazard tracking the operations on it."""

    def __init__(self, machine: Machine, transfers: Transfers, tracker: Tracker | None) -> None:
        self.machine = machine
        self.memory = TensorMemory(machine)
        self.tracker = tracker
        self.order = None if tracker is None else TensorOrder(machine, tracker.clocks, tracker.tensor_grain)
        self._transfers = transfers
        self._commits: dict[int, list[Transfer]] = {}
        self._room = np.empty(0, np.float32)

    def product(self, shape: tuple[int, ...]) -> Array:
        """A buffer for products of f32, the same for all instructions."""
        size = math.prod(shape)
        if size > self._room.size:
            self._room = np.empty(size, np.float32)
        return self._room[:size].reshape(shape)

    def start(self) -> None:
        """A batch begins."""
        self.memory.start()
        self._commits.clear()
        if self.order is not None:
            self.order.start()

    def end(self) -> None:
        """A batch ends. Reports columns or permits to allocate that were not given back."""
        if self.order is not None:
            for problem in self.memory.kept():
                self.machine.findings.found(Kind.TENSOR_ALLOCATION, problem, None, problem.split(" of ")[0])
        left = self.memory.left()
        if left and self.order is not None:
            self.machine.findings.found(
                Kind.TENSOR_ALLOCATION,
                f"CTA {self.machine.describe_cta(left[0])} ends with tensor memory allocated; "
                "every tcgen05.alloc needs a tcgen05.dealloc before the exit",
                None,
                f"CTA {self.machine.describe_cta(left[0])}",
            )

    def group(self, cta: int, size: int) -> list[int]:
        """The CTAs of a group, the even one first; for two CTAs the pair in the cluster."""
        return [cta] if size == 1 else [cta & ~1, cta | 1]

    def commit(self, site: Site, lanes: Sequence[int], cells: Sequence[Sequence[int]]) -> None:
        """Arrive at mbarriers, each at its thread's cell, when all operations that the threads have issued are
        complete.

        An arrival publishes what its thread knows, as mbarrier.arrive does.
        """
        slots = self.machine.slots
        is_regular = all(len(one) == 1 for one in cells) and len({lane // slots for lane in lanes}) == len(lanes)
        if self.tracker is not None and is_regular:  # threads of different CTAs publish nothing new to each other
            self.tracker.arrive(site, np.array(lanes), np.array([cell for (cell,) in cells]), True, Scope.ASYNC)
        for lane, chosen in zip(lanes, cells, strict=True):
            self._commit(site, lane, chosen, is_regular)

    def _commit(self, site: Site, lane: int, cells: Sequence[int], has_arrived: bool) -> None:
        if self.order is None or self.tracker is None:  # everything is complete
            for cell in cells:
                self._transfers.issue(Transfer(site, lane, _nothing, _ignore, cell=cell, arrivals=1))
            return
        count = len(self.order.operations)
        earlier = self._commits.setdefault(lane, [])
        for cell in cells:
            transfer = Transfer(site, lane, _nothing, _ignore, cell=cell, arrivals=1)
            transfer.write = self._arrival(transfer, count, list(earlier))
            if not has_arrived:
                self.tracker.arrive(site, np.array([lane]), np.array([cell]), True, Scope.ASYNC)
            self._transfers.issue(transfer, is_ready=True)
            earlier.append(transfer)

    def _arrival(self, transfer: Transfer, count: int, earlier: list[Transfer]) -> Callable[[Array], None]:
        def arrive(data: Array) -> None:
            self.finish(transfer, count, earlier)

        return arrive

    def finish(self, transfer: Transfer, count: int, earlier: list[Transfer]) -> None:
        """The operations of a commit are complete, and with them those of its thread's earlier commits."""
        if self.order is None or self.tracker is None or transfer.cell is None:
            return
        for one in earlier:
            if not one.is_done:
                self._transfers.complete(one)
        commits = self._commits[transfer.lane]
        commits[:] = [one for one in commits if one is not transfer and not one.is_done]
        self.order.complete(count, transfer.lane, self.tracker.order.column_of(transfer.cell), transfer.phase)


def _nothing() -> Array:
    return np.zeros(0, np.uint8)


def _ignore(data: Array) -> None:
    return
