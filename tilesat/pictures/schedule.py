"""Agents, rings, barriers and modulo schedules in the record of a compilation."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ir.core import Block, Op
from ir.dialects import nv_tileas
from lowering.modulo.explain import order
from lowering.modulo.loops import loops
from lowering.modulo.search import Found, search
from lowering.schedule.explain import DOES, shared, warps
from lowering.selection import Selection
from tilesat.pictures.places import Places
from viz.record import Agent, Operation, Ring, Schedule, Step

KINDS = {
    "mbarrier_wait": "wait", "mbarrier_arrive": "arrive", "mbarrier_expect_tx": "arrive",
    "mbarrier_arrive_copies": "arrive", "tiled_tma_load": "copy", "tiled_tma_store": "copy", "tiled_copy": "copy",
    "gather_copy": "copy", "async.commit": "arrive", "async.wait": "wait", "store_wait": "wait", "dot_wait": "wait",
    "barrier": "wait", "async.fence": "wait", "send": "arrive", "receive": "wait", "dot": "product",
    "tiled_load": "copy", "gather": "copy", "tiled_store": "copy", "scatter": "copy", "staged_store": "copy",
    "atomic": "copy", "hold": "copy", "write_buffer": "copy", "shared_load": "copy", "convert_layout": "compute",
}  # fmt: skip
"""What a schedule shows of the placed program, by the end of an operation's name, and what kind it is."""
_LINE = re.compile(r" line (\d+)$")


class Scheduled:
    """Agents and rings of a placed program; `lines`: the number of the line on which each operation begins."""

    def __init__(self, program: Op, places: Places, lines: dict[Op, int]):
        self.program, self.places, self.lines = program, places, lines
        self.common: list[Op] = program.regions[0].block.ops
        self.switch = next((op for op in self.common if isinstance(op, nv_tileas.AgentSwitch)), None)

    def agents(self) -> Iterator[Agent]:
        """What all warps do together, then each agent."""
        switch = self.switch
        if switch is None:
            yield Agent("all warps", [], list(self.steps(self.program.regions[0].block, 0)))
            return
        for place, region in enumerate(switch.regions):
            first, count = switch.warp_id[place], switch.num_warps[place]
            name = f"{warps(first, count)}: {DOES[switch.roles[place]]}"
            yield Agent(name, list(range(first, first + count)), list(self.steps(region.block, 0)))

    def steps(self, block: Block, depth: int) -> Iterator[Step]:
        """Loops, barriers, copies and products of a block in order."""
        for op in block.ops:
            inner = [list(self.steps(each, depth + 1)) for region in op.regions for each in region.blocks]
            kind = kind_of(op)
            if inner and any(inner):
                kind = "loop" if op.name.endswith(("for", "while", "loop")) else "branch"
            if kind:
                yield Step(self.words(op), self.lines.get(op, -1), self.places.add([op.location]), depth, kind)
            for steps in inner:
                yield from steps

    def words(self, op: Op) -> str:
        """An operation in words, with what it says of its barrier or its atom."""
        name = op.name.removeprefix("nv_tileas.").removeprefix("async.")
        said = [
            f"{key} {value}" for key, value in op.attributes.items() if key in ("atom", "bytes", "pending", "empty")
        ]
        place = f", line {op.location.line}" if op.location.line else ""
        return f"{name}{' (' + ', '.join(said) + ')' if said else ''}{place}"

    def rings(self) -> Iterator[Ring]:
        """Pipelines and the buffers of shared memory."""
        for op in self.program.walk():
            line = self.lines.get(op, -1)
            if isinstance(op, nv_tileas.CreatePipeline):
                kind = op.result.type
                assert isinstance(kind, nv_tileas.PipelineType)
                yield Ring(kind.stages, 0, next(iter(shared(op))), line)
            elif isinstance(op, nv_tileas.AllocTensor):
                kind = op.results[0].type
                stages = getattr(kind, "stages", 1)
                yield Ring(stages, op.stage_bytes, f"buffer of {str(kind).partition(', #')[0]}>", line)


def kind_of(op: Op) -> str:
    """The kind of an operation that schedules show, else ""."""
    if isinstance(op, nv_tileas.Combining):
        return "compute"
    name = op.name.removeprefix("nv_tileas.")
    return KINDS.get(name.removeprefix("async."), KINDS.get(name, "")) if op.name.startswith("nv_tileas.") else ""


def schedules(selection: Selection, places: Places) -> Iterator[Schedule]:
    """The modulo schedule of each innermost loop, by the target's tables."""
    for loop in loops(selection):
        place = loop.item.op.location
        yield schedule(search(loop.graph), f"loop at line {place.line}", places.add([place]), place.file, places)


def schedule(found: Found, name: str, at: list[int], file: str, places: Places) -> Schedule:
    """A schedule as the record has it."""
    made, limits = found.schedule, found.bounds
    operations: list[Operation] = []
    for number in order(made):
        each = made.graph.operations[number]
        line = _LINE.search(each.name)
        where = places.on_line(file, int(line[1])) if line else []
        shares = {unit: each.takes(unit) for unit in each.uses}
        operations.append(Operation(each.name, made.starts[number], each.span, shares, where))
    bounds = f"resource bound {limits.resource:.0f} cycles: {limits.unit}"
    if limits.cycle:
        bounds += f"; recurrence bound {limits.recurrence:.0f} cycles"
    return Schedule(
        name, at, found.slot, made.interval, made.stages, found.proved, bounds, operations, made.table()
    )  # fmt: skip
