"""Existence of a schedule with a given interval, and the one with the fewest registers, by a 0-1 program.

A variable for each operation and slot of the steady state, a whole number for each operation's iteration; a dependence
is a row for each slot, which makes relaxations much tighter than one row a dependence. Source: A. E. Eichenberger,
E. S. Davidson, Efficient Formulation for Optimal Modulo Schedulers, PLDI 1997 (structured constraints).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from math import ceil, inf, isfinite
from types import ModuleType
from typing import Protocol

import numpy as np

from extract.budget import LOOK, PRESOLVE, Budget
from ir.records import dataclass
from lowering.modulo.graph import Dependence, Graph, Schedule


class _Event(Protocol):
    """What HiGHS calls back with."""

    def interrupt(self) -> None: ...


@dataclass(frozen=True)
class Answer:
    """A schedule, or none: because there is none (`finished`), or because the budget ended the search."""

    schedule: Schedule | None
    finished: bool


def feasible(graph: Graph, interval: int, budget: Budget) -> Answer:
    """Any schedule of a graph in slots with this interval."""
    return _Program(graph, interval).solve(budget, None)


def fewest_registers(begin: Schedule, budget: Budget) -> Answer:
    """The schedule with the interval of `begin` whose results are held for the fewest register slots."""
    program = _Program(begin.graph, begin.interval)
    program.hold_results()
    return program.solve(budget, begin)


class _Program:
    """The 0-1 program of one interval. Columns: slots of operation 0, of operation 1, ...; iterations; lifetimes."""

    def __init__(self, graph: Graph, interval: int):
        self.graph, self.interval = graph, interval
        self.count = len(graph.operations)
        self.costs = [0.0] * (self.count * (interval + 1))
        self.rows: list[tuple[float, dict[int, float], float]] = []
        self.lives: dict[int, int] = {}
        for operation in range(self.count):
            self.rows.append((1.0, dict.fromkeys(self.slots(operation), 1.0), 1.0))
        for each in graph.dependences:
            self.wait(each)
        for unit in graph.owned:
            self.share(unit)

    def slot(self, operation: int, slot: int) -> int:
        """The column that says whether an operation starts in this slot of the steady state."""
        return operation * self.interval + slot

    def slots(self, operation: int) -> range:
        """Those of all slots."""
        return range(operation * self.interval, (operation + 1) * self.interval)

    def iteration(self, operation: int) -> int:
        """The column of the iteration, counted from the newest, that an operation works on."""
        return self.count * self.interval + operation

    def wait(self, each: Dependence) -> None:
        """A row a slot: who starts there or later, and whoever starts before the delay has passed."""
        delay = ceil(each.delay)
        if each.source == each.target:
            if delay > self.interval * each.distance:
                self.rows.append((1.0, {}, 1.0))  # no schedule at all
            return
        for slot in range(self.interval):
            late, end = divmod(slot + delay - 1, self.interval)
            row = {self.slot(each.source, s): 1.0 for s in range(slot, self.interval)}
            row |= {self.slot(each.target, s): 1.0 for s in range(end + 1)}
            row |= {self.iteration(each.source): 1.0, self.iteration(each.target): -1.0}
            self.rows.append((-inf, row, each.distance - late + 1.0))

    def share(self, unit: str) -> None:
        """No slot of a unit is taken more than once."""
        rows: list[dict[int, float]] = [{} for _ in range(self.interval)]
        for number, each in enumerate(self.graph.operations):
            part = each.takes(unit)
            for start in range(self.interval) if part else ():
                column = self.slot(number, start)
                for slot in range(start, start + each.span):
                    row = rows[slot % self.interval]
                    row[column] = row.get(column, 0.0) + part
        self.rows += [(-inf, row, 1.0) for row in rows if sum(row.values()) > 1.0]

    def hold_results(self) -> None:
        """A column for each result's lifetime, at the price of its registers."""
        for each in self.graph.dependences:
            source = self.graph.operations[each.source]
            if each.value and source.registers:
                life = self.lives.get(each.source)
                if life is None:
                    life = self.lives[each.source] = len(self.costs)
                    self.costs.append(source.registers)
                row = {life: 1.0}
                ends = ((each.source, 1.0), (each.target, -1.0)) if each.source != each.target else ()
                for end, sign in ends:
                    row |= {self.slot(end, s): sign * s for s in range(self.interval)}
                    row[self.iteration(end)] = sign * self.interval
                self.rows.append((float(self.interval * each.distance), row, inf))

    def solve(self, budget: Budget, begin: Schedule | None) -> Answer:
        """Run HiGHS until the budget of nodes or rounds of cuts is used up."""
        highspy = import_module("highspy")
        highs = highspy.Highs()
        from extract.solver import OPTIONS  # a compilation that asks for no schedule needs no solver

        for option, value in OPTIONS.items():
            highs.setOptionValue(option, value)
        highs.passModel(self.model(highspy))
        non_zeros = sum(len(row) for _, row, _ in self.rows)
        budget.spend(PRESOLVE * non_zeros)
        most, looks = max(1, int(budget.left / (LOOK * non_zeros))), 0

        def look(event: _Event) -> None:
            nonlocal looks
            looks += 1
            if looks > most:
                event.interrupt()

        highs.cbMipInterrupt += look
        if begin is not None:
            point = self.point(begin)
            highs.setSolution(len(point), np.array(list(point), np.int32), np.array(list(point.values())))
        highs.run()
        budget.spend(LOOK * non_zeros * looks)
        status = highspy.HighsModelStatus
        finished = highs.getModelStatus() in (status.kOptimal, status.kInfeasible)
        values = list(highs.getSolution().col_value) if isfinite(highs.getInfo().objective_function_value) else []
        return Answer(self.schedule(values) if values else None, finished)

    def model(self, highspy: ModuleType) -> object:
        """The program as HiGHS takes it."""
        slots, columns = self.count * self.interval, len(self.costs)
        most = sum(
            -(-max([each.span, *(ceil(d.delay) for d in after)]) // self.interval) + 1
            for each, after in zip(self.graph.operations, self.graph.after, strict=True)
        )
        upper = np.full(columns, inf)
        upper[:slots] = 1.0
        upper[slots : slots + self.count] = most  # each operation needs at most its delay more than one before it
        upper[self.symmetric()] = 0.0
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = columns, len(self.rows)
        model.col_cost_, model.col_lower_, model.col_upper_ = np.array(self.costs), np.zeros(columns), upper
        model.row_lower_ = np.array([low for low, _, _ in self.rows])
        model.row_upper_ = np.array([high for _, _, high in self.rows])
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.cumsum([0, *(len(row) for _, row, _ in self.rows)]).astype(np.int32)
        model.a_matrix_.index_ = np.array([c for _, row, _ in self.rows for c in row], np.int32)
        model.a_matrix_.value_ = np.array([v for _, row, _ in self.rows for v in row.values()])
        kind = highspy.HighsVarType
        model.integrality_ = [kind.kInteger] * (slots + self.count) + [kind.kContinuous] * (
            columns - slots - self.count
        )
        return model

    def symmetric(self) -> list[int]:
        """Columns that are 0 because all starts may move together: the busiest operation starts in slot 0."""
        return [] if not self.count else list(self.slots(self.anchor))[1:]

    @property
    def anchor(self) -> int:
        """The busiest operation."""
        return max(range(self.count), key=lambda each: self.graph.operations[each].busy)

    def point(self, begin: Schedule) -> Mapping[int, float]:
        """A schedule as values of columns, moved so that the anchor starts in slot 0."""
        move = -begin.starts[self.anchor] % self.interval
        starts = [start + move for start in begin.starts]
        found = dict.fromkeys(range(len(self.costs)), 0.0)
        for operation, start in enumerate(starts):
            found[self.slot(operation, start % self.interval)] = 1.0
            found[self.iteration(operation)] = float(start // self.interval)
        for operation, life in self.lives.items():
            found[life] = float(begin.lifetimes()[operation])
        return found

    def schedule(self, values: list[float]) -> Schedule:
        """The schedule that columns say. Raises AssertionError for one that is not legal: a bug in this module."""
        starts: list[int] = []
        for operation in range(self.count):
            slot = max(range(self.interval), key=lambda s: values[self.slot(operation, s)])
            starts.append(slot + self.interval * round(values[self.iteration(operation)]))
        least = min(starts, default=0) // self.interval * self.interval
        found = Schedule(self.graph, self.interval, tuple(start - least for start in starts))
        for fault in found.violations():
            raise AssertionError(f"the solver's schedule is not legal: {fault}")
        return found
