"""Schedules as traces that Perfetto and chrome://tracing read: a track a unit or an agent, a slice an operation.

A microsecond of the trace is a cycle. Source of the format: Trace Event Format (Google), JSON object format.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from viz.record import Agent, Operation, Record, Schedule

MORE_ITERATIONS = 4
"""Iterations that are drawn beyond those that fill the pipeline: enough to see its steady state."""


@dataclass(frozen=True, slots=True)
class Slice:
    """What happens on a track from a cycle on; `notes` stand beside it when it is clicked."""

    name: str
    start: float
    cycles: float
    notes: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class Track:
    """A row of a trace; slices that overlap get rows of their own below it."""

    name: str
    slices: Sequence[Slice]


@dataclass(frozen=True, slots=True)
class Process:
    """Tracks that belong together: those of a loop."""

    name: str
    tracks: Sequence[Track]


def trace(processes: Iterable[Process]) -> str:
    """The trace as JSON."""
    events = [event for number, each in enumerate(processes, 1) for event in _process(each, number)]
    about = "1 us is 1 cycle; predicted by tables, not measured"
    return json.dumps({"displayTimeUnit": "ns", "otherData": {"time": about}, "traceEvents": events}) + "\n"


def _process(process: Process, number: int) -> Iterator[dict[str, object]]:
    yield _name("process_name", process.name, number)
    thread = 0
    for track in process.tracks:
        for row, slices in enumerate(_rows(track.slices)):
            thread += 1
            yield _name("thread_name", track.name if not row else f"{track.name} ({row + 1})", number, thread)
            yield {"ph": "M", "name": "thread_sort_index", "pid": number, "tid": thread, "args": {"sort_index": thread}}
            for each in slices:
                yield {
                    "ph": "X",
                    "name": each.name,
                    "pid": number,
                    "tid": thread,
                    "ts": round(each.start, 3),
                    "dur": round(each.cycles, 3),
                    "args": each.notes,
                }


def _name(kind: str, name: str, process: int, thread: int = 0) -> dict[str, object]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _rows(slices: Sequence[Slice]) -> list[list[Slice]]:
    """Slices in rows without overlap: viewers nest what overlaps on one track. Each goes to the first row with room."""
    rows: list[list[Slice]] = [[]]
    for each in sorted(slices, key=lambda one: one.start):
        for row in rows:
            if not row or row[-1].start + row[-1].cycles <= each.start + 1e-6:
                row.append(each)
                break
        else:
            rows.append([each])
    return rows


def processes_of(record: Record) -> Iterator[Process]:
    """The modulo schedules of a compilation: units of each loop, and its agents where there are several."""
    for schedule in record.schedules:
        interval = schedule.interval * schedule.slot
        proof = "proved shortest" if schedule.proved else "not proved shortest"
        title = f"{schedule.name}, scheduled: an iteration every {interval:.0f} cycles, {proof}"
        units = [Track(unit, list(_unit(schedule, unit))) for unit in schedule.table]
        yield Process(title, [*units, *_agents(record.agents, schedule)])


def _iterations(schedule: Schedule) -> range:
    return range(schedule.stages + MORE_ITERATIONS)


def _unit(schedule: Schedule, unit: str) -> Iterator[Slice]:
    """What a unit does."""
    for number in _iterations(schedule):
        for each in schedule.operations:
            if each.uses.get(unit, 0.0) > 0:
                notes = {"share": round(each.uses[unit], 3), "iteration": number}
                yield _slice(schedule, each, number, notes)


def _agents(agents: Sequence[Agent], schedule: Schedule) -> Iterator[Track]:
    """What each agent does: operations whose place is that of a step of this agent alone."""
    places = [{place for step in agent.steps if step.kind != "loop" for place in step.places} for agent in agents]
    for number, agent in enumerate(agents if len(agents) > 1 else ()):
        others = {place for at, each in enumerate(places) if at != number for place in each}
        own = [each for each in schedule.operations if set(each.places) & (places[number] - others)]
        if own:
            slices = [_slice(schedule, each, i, {"iteration": i}) for i in _iterations(schedule) for each in own]
            yield Track(agent.name, slices)


def _slice(schedule: Schedule, operation: Operation, iteration: int, notes: Mapping[str, object]) -> Slice:
    start = (operation.start + iteration * schedule.interval) * schedule.slot
    return Slice(operation.name, start, operation.span * schedule.slot, notes)
