"""The record of a compiled kernel, of which all pictures are made."""

from __future__ import annotations

from itertools import groupby
from math import prod
from typing import Any, cast

from ir.core import Op, TileError
from ir.dialects import llvm
from ir.text import located_lines
from lowering.pipeline import Compiled
from tilesat.kernel import Kernel
from tilesat.pictures.egraph import EGraph
from tilesat.pictures.layouts import Layouts
from tilesat.pictures.places import Places
from tilesat.pictures.schedule import Scheduled, schedules
from tilesat.pictures.texts import levels
from viz.record import Iteration, Record


def record_of(kernel: Kernel, source: str = "", texts: bool = True) -> Record:
    """The record of one compilation; `texts`: with the program at each level, as the explorer needs it, and not without
    need: ptxas is called. Raises TileError for a kernel without its e-graph: one that was pickled.
    """
    compiled = kernel.compiled
    if not isinstance(compiled, Compiled):
        raise TileError("a stored kernel has no e-graph to show", hint="compile it in this process")
    selection = compiled.selection
    places, layouts = Places(), Layouts(selection)
    egraph = EGraph(selection, places, layouts)
    made = Record(str(kernel.entry.sym_name), kernel.target, source or kernel.entry.location.file)
    made.values, made.forms, made.effects, made.loops = egraph.fill()
    placed = compiled.modules["nv_tileas"]
    layouts.of_program(placed)
    scheduled = Scheduled(placed, places, begins(placed) if texts else {})
    made.agents, made.rings = list(scheduled.agents()), list(scheduled.rings())
    made.schedules = list(schedules(selection, places))
    made.saturation, made.stopped = iterations(compiled), stops(compiled)
    if texts:
        made.levels = list(levels(kernel, compiled, places, layouts))
    made.places, made.layouts = places.all, layouts.drawn
    made.figures = figures(kernel, compiled, made)
    return made


def begins(program: Op) -> dict[Op, int]:
    """The line of the printed program on which each operation begins, from 0."""
    return {op: number for number, (_, op) in enumerate(located_lines(program)) if op is not None}


def iterations(compiled: Compiled) -> list[Iteration]:
    """Saturation, iteration by iteration, as the engine reported it."""
    report = compiled.saturated.report
    rules: dict[tuple[str, int], dict[str, list[float]]] = {}
    for row in report.rows:
        entry = rules.setdefault((row.phase, row.iteration), {}).setdefault(row.rule, [0, 0.0])
        entry[0] += row.matches
        entry[1] += row.seconds * 1e3
    found: list[Iteration] = []
    for (phase, number), steps in groupby(report.sizes, key=lambda size: size[:2]):
        *_, (_, _, rows) = steps
        found.append(Iteration(phase, rows, rules.get((phase, number), {})))
    return found


def stops(compiled: Compiled) -> dict[str, str]:
    """Why each phase of saturation ended."""
    return {phase: reason.value for phase, reason in compiled.saturated.report.stop.items()}


def figures(kernel: Kernel, compiled: Compiled, record: Record) -> dict[str, Any]:
    """What is told of a whole compilation, in the order in which it is shown."""
    selection, func = compiled.selection, cast(llvm.Func, compiled.modules["nvvm"])
    answer, graph = selection.answer, selection.graph
    return {
        "cost": round(answer.cost, 1),
        "bound": round(answer.bound, 1),
        "method": str(answer.method),
        "warps": selection.warps,
        "threads": prod(func.block),
        "registers": func.registers,
        "shared memory": func.dynamic_smem,
        "value classes": len(record.values),
        "placed classes": len(record.forms),
        "e-nodes": len(selection.saturated.frozen.nodes),
        "extraction nodes": graph.n_nodes,
        "not legal": sum(way.cost is None for form in record.forms for way in form.ways),
        **{each.name: len(each.lines) for each in record.levels if each.name in ("ptx", "sass")},
        "seconds": {name: round(taken, 3) for name, taken in kernel.seconds.items()},
    }
