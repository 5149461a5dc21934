"""Pictures of a table, by matplotlib (the extra lab): each function gives a Plot, which notebooks show.

growth          rows of the e-graph by iteration, a curve a run
heat_map        matches of each rule in each iteration of a run
cost_by_budget  cost and bound against the budget of extraction
pareto          cost against compile time; the runs that no other beats in both are joined
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ir.core import TileError
from tilesat.lab.record import Record
from tilesat.lab.table import Table
from tilesat.output import write_file

MOST_CURVES, MOST_RULES = 12, 40
"""Curves that have a line of the legend, and rules of a heat map: more cannot be read. Titles say what was left out."""
DOTS = 120
"""Of an inch."""


@dataclass(frozen=True)
class Plot:
    """A matplotlib Figure that needs no window and no `%matplotlib`."""

    figure: Any

    @property
    def axes(self) -> Any:
        """The axes of the plot, and of its colours where it has any."""
        return self.figure.axes

    def png(self) -> bytes:
        """A picture file."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=DOTS)
        return out.getvalue()

    def _repr_png_(self) -> bytes:
        return self.png()

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all; PNG."""
        write_file(Path(path), self.png())


def _figure(width: float = 8, height: float = 5) -> tuple[Any, Any]:
    """A figure with axes, without a window. Raises TileError where matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise TileError("matplotlib is not installed", hint="pip install 'tilesat[lab]'")
    figure = import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def growth(table: Table) -> Plot:
    """Rows of all tables after each iteration, of the runs that counted them (`measure`)."""
    figure, axes = _figure()
    counted = [each for each in table if each.saturation and each.saturation.rulesets]
    for place, record in enumerate(counted):
        assert record.saturation is not None
        rows = [record.saturation.loaded, *(each.rows for each in record.saturation.growth)]
        axes.plot(range(len(rows)), rows, label=_label(record) if place < MOST_CURVES else None)
    axes.set_xlabel("iteration")
    axes.set_ylabel("rows of all tables")
    more = f", {len(counted) - MOST_CURVES} of {len(counted)} not named" if len(counted) > MOST_CURVES else ""
    axes.set_title(f"size of the e-graph{more}" if counted else "no run counted rows: measure='none'")
    if counted:
        axes.legend(fontsize="small")
    return Plot(figure)


def heat_map(record: Record) -> Plot:
    """Matches of each rule in each iteration, as the engine reports them; colours are logarithmic."""
    rules: dict[str, dict[int, int]] = {}
    count = 0
    if record.saturation is not None:
        places = {(each.phase, each.iteration): at for at, each in enumerate(record.saturation.growth)}
        count = len(record.saturation.growth)
        for use in record.saturation.rules:
            at = places[use.phase, use.iteration]
            rules.setdefault(use.rule, {})[at] = rules.get(use.rule, {}).get(at, 0) + use.matches
    busiest = sorted(rules, key=lambda rule: -sum(rules[rule].values()))
    shown = busiest[:MOST_RULES]
    figure, axes = _figure(9, 1.5 + 0.18 * len(shown))
    if shown:
        cells = [[rules[rule].get(at, 0) or float("nan") for at in range(count)] for rule in shown]
        norm = import_module("matplotlib.colors").LogNorm()
        figure.colorbar(axes.imshow(cells, aspect="auto", norm=norm, interpolation="nearest"), label="matches")
        axes.set_yticks(range(len(shown)), shown, fontsize=6)
    axes.set_xlabel("iteration")
    cut = f", {len(shown)} of {len(busiest)} rules" if len(shown) < len(busiest) else ""
    axes.set_title(f"{_label(record)}{cut}")
    return Plot(figure)


def cost_by_budget(table: Table) -> Plot:
    """Cost and bound of runs that differ in `budget`, a pair of curves for what is the same beside it."""
    figure, axes = _figure()
    series: dict[str, list[tuple[float, float, float]]] = {}
    for record in table:
        if record.extraction is not None and "budget" in record.given:
            rest = {name: value for name, value in record.given.items() if name != "budget"}
            name = ", ".join((record.kernel, record.target, *(f"{n}={v}" for n, v in rest.items())))
            found = record.extraction
            series.setdefault(name, []).append((float(record.given["budget"]), found.cost, found.bound))
    for place, (name, points) in enumerate(series.items()):
        budgets, costs, bounds = zip(*sorted(points), strict=True)
        axes.plot(budgets, costs, "o-", color=f"C{place}", label=f"{name}: cost")
        axes.plot(budgets, bounds, "v--", color=f"C{place}", label=f"{name}: bound")
    axes.set_xscale("log")
    axes.set_xlabel("budget of extraction, units")
    axes.set_ylabel("cycles")
    axes.set_title("cost against budget" if series else "no run has a budget: vary it")
    if series:
        axes.legend(fontsize="small")
    return Plot(figure)


def pareto(table: Table) -> Plot:
    """Cost against seconds of compilation, a point a run."""
    figure, axes = _figure()
    runs = [(each.compile_seconds, each.extraction.table_cost, each) for each in table if each.extraction is not None]
    groups: dict[str, list[tuple[float, float]]] = {}
    for seconds, cost, record in runs:
        groups.setdefault(f"{record.kernel}, {record.target}", []).append((seconds, cost))
    for place, (name, points) in enumerate(groups.items()):
        axes.plot(*zip(*points, strict=True), "o", color=f"C{place}", alpha=0.5, label=name)
        axes.step(*zip(*front(points), strict=True), where="post", color=f"C{place}")
    axes.set_xlabel("seconds of all passes")
    axes.set_ylabel("cost, cycles")
    axes.set_title("cost and compile time")
    if groups:
        axes.legend(fontsize="small")
    return Plot(figure)


def front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one is below in both coordinates, from left to right."""
    found: list[tuple[float, float]] = []
    for point in sorted(points):
        if not found or point[1] < found[-1][1]:
            found.append(point)
    return found


def every(table: Table) -> Iterator[tuple[str, bytes]]:
    """The name and content of a file for each plot; the heat map is that of the first run."""
    plots: dict[str, Callable[[Table], Plot]] = {"growth": growth, "cost-by-budget": cost_by_budget, "pareto": pareto}
    for name, draw in plots.items():
        yield f"{name}.png", draw(table).png()
    whole = [each for each in table if each.saturation is not None]
    if whole:
        yield "rules.png", heat_map(whole[0]).png()


def _label(record: Record) -> str:
    return f"{record.kernel}, {record.target}, {record.configuration}"
