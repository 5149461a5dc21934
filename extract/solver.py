"""HiGHS behind the few calls that extraction needs; the only module that touches highspy.

One thread, and no limit in seconds unless one is asked for: HiGHS 1.15.1 reads its clock only for that limit, for logs
and statistics, so runs with the same limits take the same steps. A relaxation ends after a number of simplex
iterations. A 0-1 program ends after a number of looks: HiGHS asks its caller whether to go on at every node of branch
and bound and at every round of cuts at the root (HighsMipSolverData::checkLimits)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from threading import Event, Thread
from typing import Final, NamedTuple, Protocol, TypeVar
from weakref import WeakMethod

import numpy as np

from extract.budget import LOOK, PIVOT, PRESOLVE, Budget
from extract.program import IntegerProgram
from extract.settle import INFINITY

T = TypeVar("T")
RELATIVE_GAP: Final = 1e-9
"""HiGHS stops at 1e-4 by default, which is too far from optimal to be called optimal."""

OPTIONS: Final = {
    "output_flag": False,
    "threads": 1,
    "parallel": "off",
    "mip_rel_gap": RELATIVE_GAP,
    "mip_abs_gap": RELATIVE_GAP,
}

MOST_PIVOTS: Final = 2**31 - 1
"""HiGHS' integers have 32 bits."""

SETUP_PIVOTS: Final = 50
"""Simplex iterations' worth of work in a run that takes none."""

DUAL: Final = 1e-9
"""A row with a smaller dual value does not bind."""

WHOLE: Final = 1e-6
"""A row whose activity is this far from its limit has slack."""

WORTH_DROPPING: Final = 20
"""Slack rows that are dropped together: each time HiGHS factorises anew."""

FEASIBLE: Final = 2
"""kSolutionStatusFeasible."""

POLL: Final = 0.1
"""Seconds between looks for Ctrl-C while the solver runs in its thread."""

SHORT: Final = 6_000
"""Non-zeros of relaxations that run in the caller's thread, where Ctrl-C waits for their end: solved anew after a
branch or a cut they take 0.1 to 0.7 ms of CPU, and a thread for each 0.13 more (dives take hundreds of them)."""


class Cover(NamedTuple):
    """What every answer keeps to: the weights of its nodes and alternatives of groups sum to `most` at most."""

    nodes: dict[int, float]
    alternatives: dict[tuple[int, int], float]
    most: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run came to."""

    selected: list[int] | None
    """Nodes of the best solution, or None."""
    bound: float
    infeasible: bool
    finished: bool
    """Whether the solution is optimal for the rows there were."""
    interrupted: bool
    """Whether Ctrl-C ended the run."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A solution of the relaxation, in which nodes may be chosen in part."""

    bound: float
    value: dict[int, float] | None
    """Of each node; None when the budget ended first."""
    price: dict[int, float]
    """Reduced cost of each node: answers with it cost at least `bound` plus this."""
    carried: dict[tuple[int, int], float]
    """Value of each alternative of a group."""
    binding: list[list[int]]
    """The cuts that hold the bound up."""
    covers: list[Cover]
    """The covers that do."""
    infeasible: bool


def _weakly(method: Callable[[T], None]) -> Callable[[T], None]:
    """A method for HiGHS to call, which does not keep its object alive."""
    found = WeakMethod(method)

    def call(event: T) -> None:
        known = found()
        if known is not None:
            known(event)

    return call


class _Event(Protocol):
    """What HiGHS calls back with."""

    def interrupt(self) -> None: ...


class _Rows(Protocol):
    """A model of HiGHS that takes rows."""

    def addRows(self, *rows: object) -> object: ...


class Rows:
    """Rows that go to HiGHS together: one by one they took 40 us each, a tenth of the search of large graphs."""

    def __init__(self) -> None:
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.start: list[int] = []
        self.index: list[int] = []
        self.value: list[float] = []

    def add(self, lower: float, columns: list[int], upper: float, weights: list[float] | None) -> None:
        """One row behind the others."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.start.append(len(self.index))
        self.index += columns
        self.value += [1.0] * len(columns) if weights is None else weights

    def give(self, highs: _Rows) -> None:
        """Add them to what HiGHS has."""
        highs.addRows(
            len(self.lower),
            np.array(self.lower),
            np.array(self.upper),
            len(self.index),
            np.array(self.start, np.int32),
            np.array(self.index, np.int32),
            np.array(self.value),
        )


class Solver:
    """One program, solved again and again while rows are added. relaxed: without demanding whole numbers."""

    def __init__(self, program: IntegerProgram, *, relaxed: bool = False) -> None:
        highspy = import_module("highspy")  # loads a shared library; tree and greedy do without

        self.program = program
        self.kinds = highspy
        self.highs = highspy.Highs()
        self.stopped = False
        self.waiting: Callable[[], None] | None = None
        """Called about every `POLL` seconds while the solver runs."""
        self.non_zeros = len(program.index)
        self.n_rows = len(program.lower)
        self.cuts: dict[int, list[int]] = {}
        """Those added by `add_cut`, by row."""
        self.covers: dict[int, Cover] = {}
        """Those added by `add_cover`, by row."""
        self.fixed: dict[int, float] = {}
        """Columns that were given values."""
        self.rows = Rows()
        """Those that HiGHS has not been given yet."""
        self.looks = 0
        """How often HiGHS has asked whether to go on with a 0-1 program."""
        self.most_looks = math.inf
        for option, value in OPTIONS.items():
            self.highs.setOptionValue(option, value)
        self.highs.passModel(self._model(relaxed))
        self.highs.cbMipInterrupt += _weakly(self._look)
        self.highs.cbSimplexInterrupt += _weakly(self._poll)

    def __del__(self) -> None:
        """Let HiGHS go at once: its callbacks and it hold each other, and the model would stay until Python looks for
        such garbage (18 models and what they were made of in a compilation of TileGym's gemma).
        """
        if "highs" in self.__dict__:
            self.highs.callbacks.clear()

    def add_row(self, lower: float, columns: list[int], upper: float, weights: list[float] | None = None) -> None:
        """lower <= weighted sum of the columns <= upper; all weights are 1 by default."""
        self.non_zeros += len(columns)
        self.n_rows += 1
        self.rows.add(lower, columns, upper, weights)

    def _hand_over(self) -> None:
        """Give HiGHS the rows that were added."""
        if self.rows.lower:
            self.rows.give(self.highs)
            self.rows = Rows()

    def add_cut(self, nodes: list[int]) -> None:
        """At least one of these nodes is chosen."""
        self.cuts[self.n_rows] = nodes
        column = self.program.column
        self.add_row(1.0, [column[node] for node in nodes if node in column], INFINITY)

    def add_cover(self, cover: Cover) -> None:
        """Some nodes and alternatives together weigh so much at most."""
        self.covers[self.n_rows] = cover
        column, carried = self.program.column, self.program.alternative_column
        terms = [(column[node], weight) for node, weight in cover.nodes.items() if node in column]
        terms += [(carried[tag], weight) for tag, weight in cover.alternatives.items() if tag in carried]
        self.add_row(-INFINITY, [place for place, _ in terms], cover.most, [weight for _, weight in terms])

    def drop_slack(self, least: int = WORTH_DROPPING) -> None:
        """Take out the cuts and covers that the last solution of the relaxation does not meet with equality, where
        there are so many: others take their place, and what binds again is found again. Measured on the placement
        graph of intra_chunk_prepare (TileGym, sm_90a, 4,363 nodes): 19 solutions with cuts added between them took 1.58
        s of CPU, 0.98 with the slack rows dropped.
        """
        solution = self.highs.getSolution()
        activity, dual = solution.row_value, np.abs(np.array(solution.row_dual))
        slack = [row for row in self.cuts if activity[row] > 1.0 + WHOLE and dual[row] <= DUAL]
        slack += [row for row, cover in self.covers.items() if activity[row] < cover.most - WHOLE and dual[row] <= DUAL]
        if len(slack) < least:
            return
        self._hand_over()
        gone = np.array(sorted(slack), np.int32)
        self.highs.deleteRows(len(gone), gone)
        place = np.arange(self.n_rows) - np.searchsorted(gone, np.arange(self.n_rows))
        dropped = set(slack)
        self.cuts = {int(place[row]): cut for row, cut in self.cuts.items() if row not in dropped}
        self.covers = {int(place[row]): cover for row, cover in self.covers.items() if row not in dropped}
        self.n_rows -= len(gone)
        self.non_zeros = self.highs.getNumNz()

    def cut(self, cycles: list[list[int]]) -> None:
        """Forbid class cycles."""
        for cycle in cycles:
            self.add_row(-INFINITY, self.program.cycle_row(cycle), len(cycle) - 1.0)

    def fix(self, columns: dict[int, float], ceiling: float) -> None:
        """Give these columns their values and no others. ceiling: relaxations that cost as much end at once."""
        places = np.array([*(self.fixed.keys() - columns.keys()), *columns], np.int32)
        n = len(places) - len(columns)
        lower = np.array([*[0.0] * n, *columns.values()])
        upper = np.array([*[1.0] * n, *columns.values()])
        self.highs.changeColsBounds(len(places), places, lower, upper)
        self.stop_at(ceiling)
        self.fixed = columns

    def stop_at(self, ceiling: float) -> None:
        """Relaxations that cost as much end at once."""
        self.highs.setOptionValue("objective_bound", ceiling)

    def run(self, budget: Budget, point: dict[int, float] | None = None) -> Outcome:
        """Solve within a budget, beginning from a point."""
        highs, status = self.highs, self.kinds.HighsModelStatus
        self._hand_over()
        budget.spend(PRESOLVE * self.non_zeros)
        price = LOOK * max(1, self.non_zeros)
        self.looks, self.most_looks = 0, max(1, int(budget.left / price))
        self._limit_seconds(budget)
        if point:
            columns = np.array(list(point), np.int32)
            highs.setSolution(len(columns), columns, np.array(list(point.values())))
        interrupted = self._run_in_thread()
        budget.spend(price * self.looks)
        model, info = highs.getModelStatus(), highs.getInfo()
        if model == status.kInfeasible:
            return Outcome(None, -INFINITY, True, True, interrupted)
        selected = None
        if info.primal_solution_status == FEASIBLE:
            values = np.array(highs.getSolution().col_value[: len(self.program.nodes)])
            selected = [self.program.nodes[place] for place in np.flatnonzero(values > 0.5).tolist()]
        bound = info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else -INFINITY
        return Outcome(selected, bound, False, model == status.kOptimal, interrupted)

    def relax(self, budget: Budget) -> Relaxed:
        """Solve a relaxed program within a budget. Raises KeyboardInterrupt when Ctrl-C ended it."""
        highs, status = self.highs, self.kinds.HighsModelStatus
        self._hand_over()
        price = PIVOT * max(1, self.non_zeros)
        highs.setOptionValue("simplex_iteration_limit", max(1, min(MOST_PIVOTS, int(budget.left / price))))
        self._limit_seconds(budget)
        interrupted = self._run_here() if self.non_zeros <= SHORT else self._run_in_thread()
        budget.spend(price * (SETUP_PIVOTS + highs.getInfo().simplex_iteration_count))
        if interrupted:
            raise KeyboardInterrupt
        model = highs.getModelStatus()
        if model != status.kOptimal:
            return Relaxed(-INFINITY, None, {}, {}, [], [], model in (status.kInfeasible, status.kObjectiveBound))
        solution, nodes = highs.getSolution(), self.program.nodes
        columns = list(solution.col_value)
        values = dict(zip(nodes, columns, strict=False))  # alternatives come after the nodes
        carried = {tag: columns[place] for tag, place in self.program.alternative_column.items()}
        prices = dict(zip(nodes, list(solution.col_dual), strict=False))
        duals = list(solution.row_dual)
        binding = [cut for row, cut in self.cuts.items() if duals[row] > DUAL]
        covers = [cover for row, cover in self.covers.items() if duals[row] < -DUAL]
        bound = highs.getInfo().objective_function_value
        return Relaxed(bound, values, prices, carried, binding, covers, False)

    def _run_here(self) -> bool:
        """Run what ends before anybody waits for it; a Ctrl-C is raised at its end. In a callback it would be raised
        too, and lost: HiGHS drops what callbacks raise.
        """
        self.stopped = False
        self.highs.disableCallbacks()
        try:
            self.highs.run()
        finally:
            self.highs.enableCallbacks()
        return False

    def _run_in_thread(self) -> bool:
        """Run where Ctrl-C reaches this thread while the solver works; whether it came."""
        self.stopped = False
        finished = Event()  # a join that Ctrl-C ends takes its thread for dead (CPython 3.11)

        def work() -> None:
            try:
                self.highs.run()
            finally:
                finished.set()

        Thread(target=work, daemon=True).start()
        while not finished.is_set():
            try:
                finished.wait(POLL)
                if self.waiting is not None:
                    self.waiting()
            except KeyboardInterrupt:
                self.stopped = True
        return self.stopped

    def _limit_seconds(self, budget: Budget) -> None:
        """A limit of the clock, for the caller that asked for one."""
        if budget.seconds_left is not None:
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + budget.seconds_left)

    def _look(self, event: _Event) -> None:
        self.looks += 1
        if self.stopped or self.looks > self.most_looks:
            event.interrupt()

    def _poll(self, event: _Event) -> None:
        if self.stopped:
            event.interrupt()

    def _model(self, relaxed: bool) -> object:
        program, n = self.program, self.program.n_columns
        model = self.kinds.HighsLp()
        model.num_col_ = n
        model.num_row_ = len(program.lower)
        model.col_cost_ = program.costs()
        model.col_lower_ = np.zeros(n)
        model.col_upper_ = np.ones(n)
        model.row_lower_ = np.array(program.lower)
        model.row_upper_ = np.array(program.upper)
        model.a_matrix_.format_ = self.kinds.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.array(program.start, np.int32)
        model.a_matrix_.index_ = np.array(program.index, np.int32)
        model.a_matrix_.value_ = np.array(program.value)
        if not relaxed:
            model.integrality_ = [self.kinds.HighsVarType.kInteger] * n
        return model


class Weights:
    """A small linear program: weights from 0 to 1 that make most of given values, while no set of them that was
    refuted weighs more than 1.
    """

    def __init__(self, count: int) -> None:
        highspy = import_module("highspy")

        self.highs = highspy.Highs()
        for option, value in OPTIONS.items():
            self.highs.setOptionValue(option, value)
        self.places = np.arange(count, dtype=np.int32)
        self.highs.addVars(count, np.zeros(count), np.ones(count))
        self.value = 0.0
        """What the last weights made."""
        self.refuted: set[frozenset[int]] = set()

    def propose(self, values: list[float]) -> None:
        """Make most of these; what has no value has no weight."""
        worth = np.array(values)
        self.highs.changeColsCost(len(worth), self.places, -worth)
        self.highs.changeColsBounds(len(worth), self.places, np.zeros(len(worth)), np.where(worth > 0.0, 1.0, 0.0))

    def refute(self, places: list[int]) -> bool:
        """These together weigh 1 at most; False where that is known."""
        key = frozenset(places)
        if key in self.refuted:
            return False
        self.refuted.add(key)
        self.highs.addRow(-INFINITY, 1.0, len(places), np.array(sorted(places), np.int32), np.ones(len(places)))
        return True

    def best(self) -> list[float]:
        """The best weights yet."""
        self.highs.run()
        self.value = -self.highs.getInfo().objective_function_value
        return [min(1.0, max(0.0, weight)) for weight in self.highs.getSolution().col_value]
