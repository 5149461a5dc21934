"""Which programs are tried of a kernel that spills registers: in slices, without spills, whole once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ir.core import TileError
from lowering.passes import candidates
from lowering.passes.candidates import UNSPILLED, Trial, best_of_candidates, cheapest_of_slices
from lowering.passes.registry import Step
from lowering.passes.syntax import parse

STEPS = parse("encode,saturate,extract")
Tried = tuple[str, bool, float, int]
"""A kernel, whether it may not spill, what it must cost less than, its warps."""


def trial(
    cost: float, spills: int, bound: float, *, aside: bool = False, entry: str = "whole", cycles: float = 0.0
) -> Trial:
    """A program that cost so much, of 8 warps where 4 were offered too; it takes as many cycles, where none are
    given.
    """
    found = SimpleNamespace(
        answer=SimpleNamespace(cost=cost, bound=bound), spilled={"loop": spills}, warps=8, aside=aside,
        offered={"warps": (4, 8)}, shaped="8 warps", cycles=cycles or cost, ranked=(),
    )  # fmt: skip
    context = SimpleNamespace(path=(entry,))
    return Trial(cast(Any, entry), STEPS, cast(Any, found), cast(Any, None), cast(Any, context))


def tried(
    monkeypatch: pytest.MonkeyPatch, whole: Trial, found: dict[tuple[str, bool], Trial], first_bound: float = 0.0
) -> tuple[Trial, list[Tried]]:
    """The best, and what was tried; what is not in `found` has no program. `first_bound`: that of the slices."""
    asked: list[Tried] = []

    def attempt(entry: str, context: object, steps: Sequence[Step]) -> Trial:
        options = {step.work.name: step.options for step in steps}
        extract, warps = options["extract"], options["encode"]["warps"]
        asked.append((entry, extract["unspilled"], extract["below"], warps))
        if (entry, extract["unspilled"]) not in found:
            raise TileError("no answer costs less")
        return found[entry, extract["unspilled"]]

    def least_cost(entry: object, context: object, steps: Sequence[Step]) -> float:
        assert {step.work.name: step.options for step in steps}["extract"]["below"] == whole.most
        return first_bound

    monkeypatch.setattr(candidates, "attempt", attempt)
    monkeypatch.setattr(candidates, "least_cost", least_cost)
    monkeypatch.setattr(candidates, "predicted", lambda found: found)
    context = SimpleNamespace(trying=str)
    return cheapest_of_slices([whole], cast(Any, ["slices"]), STEPS, cast(Any, context)), asked


@pytest.mark.parametrize("slices", [[], ["slices"]])
def test_a_whole_kernel_is_put_aside_far_from_its_bound_only_where_there_are_slices(
    slices: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[bool, bool]] = []
    whole = trial(103.0, 0, 97.0)
    whole = replace(whole, context=cast(Any, SimpleNamespace(levels={})))

    def attempt(entry: str, context: object, steps: Sequence[Step]) -> Trial:
        (options,) = (step.options for step in steps if step.work.name == "extract")
        asked.append((options["aside"], options["sliced"]))
        return whole

    def soonest(best: Trial, trials: list[Trial], context: object) -> Trial:
        return best

    def once(key: tuple[object, object], make: object) -> object:
        """Its slices."""
        assert key[0] == "slices"
        return slices

    def permitted(fast: object, forbid: object) -> tuple[()]:
        return ()

    monkeypatch.setattr(candidates, "attempt", attempt)
    monkeypatch.setattr(candidates, "permitted", permitted)
    monkeypatch.setattr(candidates, "soonest", soonest)
    monkeypatch.setattr(candidates, "choice", lambda best, target: False)

    def count(**counts: int) -> None:
        assert counts == {"programs": 1}

    shared = SimpleNamespace(once=once, uncut={}, unfit={})
    context = SimpleNamespace(
        shared=shared, target=None, trying=str, levels=dict[str, Any](), count=count, divisions=()
    )
    best_of_candidates(cast(Any, "whole"), cast(Any, context), STEPS)
    assert asked == [(True, bool(slices))]


UNSEEN: dict[str, Any] = {"foreseen": lambda entry, once: entry, "crowded": lambda other, found: 0}
"""Alternatives that are not expected by the source, and hold few registers."""


@pytest.mark.parametrize(("cost", "first"), [(90.0, "other"), (110.0, "whole")])
def test_kernels_with_other_loops_are_counted_as_programs(
    cost: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever is the cheaper one, which comes first and is what slices are compared with."""
    found = {"whole": trial(103.0, 0, 97.0), "other": trial(cost, 0, 97.0, entry="other")}

    def whole(entry: str, steps: Sequence[Step], context: object, name: str) -> Trial:
        return found[entry]

    def instead(entry: str, chosen: object, once: object) -> str:
        assert (entry, chosen) == ("whole", found["whole"].found)
        return "other"

    def permitted(fast: object, forbid: object) -> list[object]:
        return [SimpleNamespace(name="loop.other", instead=instead, timed=False, **UNSEEN)]

    def once(key: object, make: Any) -> object:
        return make()

    monkeypatch.setattr(candidates, "whole", whole)
    monkeypatch.setattr(candidates, "permitted", permitted)
    context = cast(Any, SimpleNamespace(shared=SimpleNamespace(once=once, uncut={}, unfit={})))
    trials = candidates.of_skeletons(cast(Any, "whole"), STEPS, context)
    assert [each.entry for each in trials] == sorted(found, key=lambda entry: entry != first)
    assert [str(each) for each in trials[0].found.loops] == [f"loop.other: cost {cost:.0f}{', taken' * (cost < 103)}"]


@pytest.mark.parametrize(("cycles", "first"), [(70.0, "other"), (80.0, "whole")])
def test_loops_that_overlap_otherwise_must_take_less_time_too(
    cycles: float, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"whole": trial(103.0, 0, 97.0), "other": trial(90.0, 0, 90.0, entry="other")}
    times = {id(found["whole"].found): 75.0, id(found["other"].found): cycles}
    way = SimpleNamespace(name="loop.other", instead=lambda *_: "other", timed=True, **UNSEEN)
    monkeypatch.setattr(candidates, "whole", lambda entry, *_: found[entry])
    monkeypatch.setattr(candidates, "permitted", lambda *_: [way])
    monkeypatch.setattr(candidates, "predicted", lambda chosen: SimpleNamespace(cycles=times[id(chosen)]))
    context = cast(Any, SimpleNamespace(shared=SimpleNamespace(once=None, uncut={}, unfit={})))
    trials = candidates.of_skeletons(cast(Any, "whole"), STEPS, context)
    assert trials[0].entry == first
    assert f"predicted {cycles:.0f} cycles, 75" in str(trials[0].found.loops[0])


def test_a_whole_kernel_that_must_lose_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without spills there is none, and with spills it would have to cost 5 % less than its bound allows."""
    slices = trial(100.0, 0, 90.0, entry="slices")
    best, asked = tried(monkeypatch, trial(103.0, 16, 97.5, aside=True), {("slices", False): slices})
    assert best is slices
    assert [(entry, unspilled) for entry, unspilled, _, _ in asked] == [("slices", False)]


@pytest.mark.parametrize(("first_bound", "order"), [
    (75.0, [("slices", False, 103.0 * UNSPILLED), ("whole", True, 90.0)]),
    (82.0, [("slices", False, 103.0 * UNSPILLED), ("whole", True, 90.0)]),
    (83.0, [("whole", True, 103.0 * UNSPILLED), ("slices", False, 80.0)]),
    (109.0, [("whole", True, 103.0 * UNSPILLED)]),
])  # fmt: skip
def test_slices_come_first_where_their_bound_is_not_clearly_the_higher_one(
    first_bound: float, order: list[tuple[str, bool, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes first limits what the other may cost; what must cost too much is not tried."""
    found = {("slices", False): trial(90.0, 0, 76.0, entry="slices"), ("whole", True): trial(80.0, 0, 75.0)}
    best, asked = tried(monkeypatch, trial(103.0, 16, 75.0), found, first_bound)
    assert best.found.answer.cost == 80.0
    assert [(entry, unspilled, below) for entry, unspilled, below, _ in asked] == order


@pytest.mark.parametrize("spills", [0, 8])
def test_a_whole_kernel_that_may_win_must_cost_less(spills: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By 5 % where the slices do not spill."""
    slices, again = trial(100.0, spills, 90.0, entry="slices"), trial(80.0, 16, 80.0)
    whole = trial(103.0, 16, 75.0, aside=True)
    best, asked = tried(monkeypatch, whole, {("slices", False): slices, ("whole", False): again})
    assert best is again
    assert asked[-1] == ("whole", False, 100.0 / (1.0 if spills else UNSPILLED), 0)
    best, _ = tried(monkeypatch, whole, {("slices", False): slices})
    assert best is slices


def test_the_search_for_a_whole_kernel_goes_on_where_it_is_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = trial(102.0, 16, 102.0)
    best, asked = tried(monkeypatch, trial(103.0, 16, 75.0, aside=True), {("whole", False): ended})
    assert best is ended
    assert asked[-1] == ("whole", False, float("inf"), 0)


def test_slices_that_spill_are_tried_without_spills_by_one_number_of_warps_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """First by that of the whole kernel; a search among all numbers would contain that one again."""
    slices = trial(50.0, 8, 50.0, entry="slices")
    best, asked = tried(monkeypatch, trial(103.0, 16, 97.0), {("slices", False): slices})
    assert best is slices
    assert [(unspilled, warps) for entry, unspilled, _, warps in asked if entry == "slices"] == [
        (False, 8), (True, 8), (True, 4)
    ]  # fmt: skip


@pytest.mark.parametrize(("cost", "cycles", "spills", "kept"), [
    (107.0, 96.0, 8, True), (107.0, 98.0, 8, False), (109.0, 50.0, 8, False), (107.0, 50.0, 9, False),
])  # fmt: skip
def test_what_a_search_met_is_kept_if_it_is_clearly_faster_and_costs_little_more(
    cost: float, cycles: float, spills: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not if only slightly faster, 9 % more expensive, or with more registers spilled."""
    met = trial(cost, spills, 60.0, aside=True, cycles=cycles)
    cheapest = trial(100.0, 8, 90.0)
    best, _ = tried(monkeypatch, met, {("whole", False): cheapest})
    assert best is (met if kept else cheapest)
    near = cost < 108 and spills <= 8
    shapes = [(each.shape, each.cycles) for each in best.found.ranked]
    assert shapes == ([("whole, 8 warps", 100.0), ("whole, found first, 8 warps", cycles)] if near else [])
