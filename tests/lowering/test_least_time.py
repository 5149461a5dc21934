"""The least time of loops whose units overlap: a bound that no program falls below, by weights that add up to 1."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilesat
from extract import extract
from lowering.selection.units import CLOSE, SPREAD, Units, UnitTime, least_time, on_busiest, shared

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
KERNELS = [(name, target) for name in ("gemm", "layernorm") for target in ("sm_80", "sm_90a")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "target"), KERNELS)
def test_no_program_takes_fewer_cycles_than_the_bound(name: str, target: str) -> None:
    """The cheapest programs for random prices, most of them far off; each weighted sum is a bound too."""
    selection = tilesat.compile(EXAMPLES / f"{name}.mlir", target=target).compiled.selection
    units, least, random = Units(selection), least_time(selection), np.random.default_rng(3)
    assert 0 < least.bound <= least.best.cycles <= least.time.cycles <= selection.answer.cost
    weights = on_busiest(least.time)
    found: list[float] = []
    for _ in range(6):
        prices = selection.graph.cost * random.uniform(0, 1, selection.graph.n_nodes) ** 4
        nodes = list(extract(selection.graph.with_cost(prices), "greedy").chosen.values())
        time = units.time(nodes)
        found.append(time.cycles)
        weighted = float(units.weighted(weights).cost[nodes].sum())
        assert weighted <= time.cycles * (1 + 1e-9)
        weights = shared(weights, time, 1)
    assert min(found) >= least.bound
    assert max(found) > 1.2 * least.bound


@pytest.mark.in_turn
def test_what_extraction_chooses_by_sums_is_close_to_the_least_time() -> None:
    """docs/decisions/0006: why the sum is what extraction minimises."""
    for name, target in (*KERNELS, ("flash_attention", "sm_80"), ("flash_attention", "sm_90a")):
        least = least_time(tilesat.compile(EXAMPLES / f"{name}.mlir", target=target).compiled.selection)
        assert least.gap <= 2 * CLOSE, (name, target)


def test_weights_of_a_loop_add_up_to_one() -> None:
    first = UnitTime({0: {"tensor": 8.0, "issue": 4.0}, 1: {"mufu": 2.0}}, 3.0)
    assert first.cycles == 13.0
    weights = on_busiest(first)
    assert weights == {0: {"tensor": 1.0}, 1: {"mufu": 1.0}}
    second = UnitTime({0: {"tensor": 1.0, "issue": 9.0}, 2: {"shared": 5.0}}, 0.0)
    assert shared(weights, second, 1) == {0: {"tensor": 0.5, "issue": 0.5}, 1: {"mufu": 1.0}, 2: {"shared": 1.0}}
    third = shared(shared(weights, second, 1), first, 2)
    assert sum(third[0].values()) == pytest.approx(1.0)
    assert third[0]["tensor"] == pytest.approx(2 / 3)
    assert 0 < SPREAD < CLOSE + 1e-9


def test_a_kernel_without_loops_has_the_bound_of_its_sum() -> None:
    selection = tilesat.compile(EXAMPLES / "softmax.mlir", target="sm_80").compiled.selection
    least = least_time(selection)
    assert least.time.loops == {}
    assert (least.time.cycles, least.bound) == (pytest.approx(selection.answer.cost), selection.answer.bound)


def test_explain_says_for_which_model_each_bound_holds() -> None:
    kernel = tilesat.compile(EXAMPLES / "gemm.mlir", target="sm_90a")
    text = kernel.report
    said = (
        r"units: (\d+) cycles if operations of a loop overlap \(busiest: tensor\), "
        r"no program takes fewer than (\d+) "
    )
    found = re.search(said, text)
    assert found is not None
    least = least_time(kernel.compiled.selection)
    assert [int(number) for number in found.groups()] == [round(least.time.cycles), round(least.bound)]
    assert "cost and bound are sums without overlap" in text
