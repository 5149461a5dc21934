"""The record of a compiled kernel, of which all pictures are made."""

from __future__ import annotations

from math import prod
from typing import Any, cast

from ir.core import Op, TileError
from ir.dialects import llvm
from ir.text import located_lines
from lowering.compiled import Compiled
from tilesat.kernel import Kernel
from tilesat.pictures.egraph import EGraph
from tilesat.pictures.layouts import Layouts
from tilesat.pictures.places import Places
from tilesat.pictures.schedule import Scheduled, schedules
from tilesat.pictures.tensor import TensorTiles
from tilesat.pictures.texts import levels
from viz.record import Iteration, Record


def record_of(kernel: Kernel, source: str = "", texts: bool = True) -> Record:
    """The record of one compilation; `texts`: with the program at each level, as the explorer needs it, and not without
    need: ptxas is called. Raises TileError for a kernel without its e-graph: one that was pickled.
    """
    compiled = _compiled(kernel)
    selection, places = compiled.selection, Places()
    layouts = Layouts(selection)
    egraph = EGraph(selection, places, layouts)
    made = Record(str(kernel.entry.sym_name), kernel.target, source or kernel.entry.location.file)
    made.values, made.forms, made.effects, made.loops = egraph.fill()
    layouts.of_program(compiled.modules["nv_tileas"])
    _schedule(compiled, made, places, texts)
    made.saturation, made.stopped = iterations(compiled), stops(compiled)
    if texts:
        made.levels = list(levels(kernel, compiled, places, layouts))
    made.places, made.layouts = places.all, layouts.drawn
    made.figures = figures(kernel, compiled, made)
    return made


def scheduled(kernel: Kernel) -> Record:
    """A record of agents, rings and schedules alone. Raises TileError as `record_of`."""
    compiled, places = _compiled(kernel), Places()
    made = Record(str(kernel.entry.sym_name), kernel.target, kernel.entry.location.file)
    _schedule(compiled, made, places, texts=False)
    made.places = places.all
    return made


def _compiled(kernel: Kernel) -> Compiled:
    if not isinstance(kernel.compiled, Compiled):
        raise TileError("a stored kernel has no e-graph to show", hint="compile it in this process")
    return kernel.compiled


def _schedule(compiled: Compiled, made: Record, places: Places, texts: bool) -> None:
    """Agents, rings and schedules; with `texts` they know their lines in the placed program."""
    placed = compiled.modules["nv_tileas"]
    lines = begins(placed) if texts else {}
    tiles = TensorTiles(placed, lines)
    made.tensor_tiles, made.tensor_columns = list(tiles), tiles.columns
    found = Scheduled(placed, places, lines)
    made.agents, made.rings = list(found.agents()), list(found.rings())
    made.schedules = list(schedules(compiled.selection, places))


def begins(program: Op) -> dict[Op, int]:
    """The line of the printed program on which each operation begins, from 0."""
    return {op: number for number, (_, op) in enumerate(located_lines(program)) if op is not None}


def iterations(compiled: Compiled) -> list[Iteration]:
    """Saturation, iteration by iteration, as the engine reported it."""
    return [
        Iteration(
            each.phase, each.ruleset,
            {rule: [matches, each.seconds.get(rule, 0.0) * 1e3] for rule, matches in each.matches.items()}, each.rows,
        )
        for each in compiled.saturated.report.iterations
    ]  # fmt: skip


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
        **({"columns of tensor memory": record.tensor_columns} if record.tensor_columns else {}),
        "value classes": len(record.values),
        "placed classes": len(record.forms),
        "e-nodes": len(selection.saturated.frozen.nodes),
        "extraction nodes": graph.n_nodes,
        "not legal": sum(way.cost is None for form in record.forms for way in form.ways),
        **{each.name: len(each.lines) for each in record.levels if each.name in ("ptx", "sass")},
        "seconds": {name: round(taken, 3) for name, taken in kernel.seconds.items()},
    }
