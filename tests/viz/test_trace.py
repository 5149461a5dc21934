"""Traces are in the form that Perfetto reads: named processes and tracks, slices that do not overlap on one of them."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from viz.record import Agent, Operation, Record, Schedule, Step
from viz.trace import MORE_ITERATIONS, Process, Slice, Track, processes_of, trace


def events(text: str) -> tuple[dict[int, str], dict[tuple[int, int], str], list[dict[str, Any]]]:
    """Names of processes and tracks, and slices; checks what the format asks for."""
    found = json.loads(text)
    assert set(found) == {"displayTimeUnit", "otherData", "traceEvents"}
    processes: dict[int, str] = {}
    tracks: dict[tuple[int, int], str] = {}
    slices: list[dict[str, Any]] = []
    for each in found["traceEvents"]:
        if each["ph"] == "X":
            assert each["name"]
            assert each["dur"] > 0
            slices.append(each)
        elif each["name"] == "process_name":
            processes[each["pid"]] = each["args"]["name"]
        elif each["name"] == "thread_name":
            tracks[each["pid"], each["tid"]] = each["args"]["name"]
    assert {(each["pid"], each["tid"]) for each in slices} <= set(tracks)
    assert {pid for pid, _ in tracks} <= set(processes)
    ends: dict[tuple[int, int], float] = defaultdict(float)
    for each in sorted(slices, key=lambda one: one["ts"]):
        key = each["pid"], each["tid"]
        assert each["ts"] >= ends[key] - 1e-3
        ends[key] = each["ts"] + each["dur"]
    return processes, tracks, slices


def test_slices_that_overlap_get_rows_of_their_own() -> None:
    slices = [Slice("a", 0, 10), Slice("b", 5, 10), Slice("c", 10, 2), Slice("d", 15, 1)]
    processes, tracks, found = events(trace([Process("loop", [Track("alu", slices), Track("tensor", [])])]))
    assert processes == {1: "loop"}
    assert list(tracks.values()) == ["alu", "alu (2)", "tensor"]
    assert [(each["tid"], each["name"]) for each in found] == [(1, "a"), (1, "c"), (1, "d"), (2, "b")]


def test_a_schedule_has_a_track_a_unit_and_an_agent() -> None:
    """A copy by the producer and a product, in 8 slots of 4 cycles, the product two iterations later."""
    record = Record("k", "sm_90a", "k.mlir", places=[("k", 1, 1), ("k", 2, 1), ("k", 3, 1)])
    record.agents = [
        Agent("computation", [0, 1, 2, 3], [Step("for", 0, [2], 0, "loop"), Step("dot", 1, [0], 1, "product")]),
        Agent("copies", [4], [Step("for", 0, [2], 0, "loop"), Step("copy", 2, [1], 1, "copy")]),
    ]
    operations = [
        Operation("copy", 2, 4, {"global": 1.0}, [1]),
        Operation("product", 16, 8, {"tensor": 1.0, "issue": 0.25}, [0]),
    ]
    table = {"global": [0.0, 0, 1, 1, 1, 1, 0, 0], "tensor": [1.0] * 8, "issue": [0.25] * 8}
    record.schedules = [Schedule("loop at line 3", [2], 4.0, 8, 3, True, "", operations, table)]
    (made,) = processes_of(record)
    processes, tracks, found = events(trace([made]))
    assert processes[1] == "loop at line 3, scheduled: an iteration every 32 cycles, proved shortest"
    assert list(tracks.values()) == ["global", "tensor", "issue", "computation", "copies"]
    starts = [each["ts"] for each in found if tracks[1, each["tid"]] == "global"]
    assert starts == [8.0 + 32 * number for number in range(3 + MORE_ITERATIONS)]
    first = next(each for each in found if tracks[1, each["tid"]] == "issue")
    assert (first["ts"], first["dur"], first["args"]) == (64.0, 32.0, {"share": 0.25, "iteration": 0})
    by_agent = {tracks[1, each["tid"]]: each["name"] for each in found}
    assert (by_agent["computation"], by_agent["copies"]) == ("product", "copy")


@pytest.mark.parametrize("agents", [0, 1])
def test_one_agent_has_no_track(agents: int) -> None:
    record = Record("k", "sm_80", "k", agents=[Agent("all warps", [], [])] * agents)
    record.schedules = [
        Schedule("loop", [], 1.0, 1, 1, False, "", [Operation("a", 0, 1, {"alu": 1.0})], {"alu": [1.0]})
    ]
    (made,) = processes_of(record)
    assert [track.name for track in made.tracks] == ["alu"]
    assert "not proved shortest" in made.name
