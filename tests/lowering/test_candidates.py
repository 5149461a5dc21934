"""Programs with more warps or CTAs: which are ranked by predicted time, and that assembled code says the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import tilesat
from extract import Graph
from ir.core import TileError, VerifyError
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.load import load
from lowering.modulo.predict import predicted
from lowering.passes import candidates
from lowering.passes.manager import Context, Shared, run
from lowering.passes.registry import Step
from lowering.passes.syntax import parse, with_options
from lowering.passes.table import ROAD
from lowering.selection import Selection
from lowering.targets import target
from runtime.ptxas import assemble, disassemble
from tests.tilesat.example_cases import EXAMPLES
from tilesat.failures import user_errors
from tilesat.mca.report import figures

TIER = "sm_90a"


def chosen(example: str, tier: str = TIER, **options: object) -> tuple[Selection, str]:
    """What extraction with options chooses for an example, and its PTX."""
    entry = load(EXAMPLES / f"{example}.mlir").entries[0]
    (outcome,) = run(with_options(parse(ROAD), "extract", **options), entry, (tier,))
    return outcome.context.levels["chosen"], outcome.text()


def cycles(ptx: str, warps: int) -> float:
    """Of an iteration of the longest loop, for all warps of a CTA."""
    (function,) = figures(disassemble(assemble(ptx, TIER), encodings=True), target(TIER), warps // 4)
    return max(loop.predicted for loop in function.loops)


@pytest.mark.in_turn
def test_a_program_that_costs_more_takes_less_time() -> None:
    """Four warps negate and scale while no product runs, and wait for it; of eight four others multiply meanwhile."""
    found, ptx = chosen("gemm_negated")
    cheapest, cheapest_ptx = chosen("gemm_negated", warps=4)
    assert (found.warps, cheapest.warps) == (8, 4)
    assert [each.shape for each in found.ranked] == ["4 warps", "8 warps"]
    assert [each.cost for each in found.ranked] == [cheapest.answer.cost, found.answer.cost]
    assert found.ranked[0].cost < found.ranked[1].cost
    assert found.ranked[0].cycles > found.ranked[1].cycles == predicted(found).cycles
    assert cycles(cheapest_ptx, 4) > 1.1 * cycles(ptx, 8)


@pytest.mark.in_turn
def test_the_report_shows_the_ranking() -> None:
    lines = tilesat.compile(EXAMPLES / "gemm_negated.mlir", TIER).report.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("predicted: "))
    assert lines[place + 1].startswith("    4 warps: ")
    assert lines[place + 2].startswith("    8 warps: ")


def test_loops_that_keep_a_unit_busy_are_not_ranked() -> None:
    """The product of an iteration is waited for in the next one: the tensor cores never rest."""
    found, _ = chosen("gemm")
    (loop,) = predicted(found).loops
    assert loop.waiting == pytest.approx(loop.busy, rel=1e-3)
    assert (loop.exposed, found.ranked) == (0.0, ())


def test_a_product_of_registers_is_waited_for() -> None:
    """Their contents are computed again in the next iteration."""
    (loop,) = predicted(chosen("gemm_negated", warps=4)[0]).loops
    assert loop.waiting > loop.busy
    assert loop.exposed == loop.trips * (loop.waiting - loop.busy)


def test_only_the_usual_extraction_is_ranked() -> None:
    assert chosen("gemm_negated", method="tree")[0].ranked == ()
    assert chosen("gemm_negated", costs=lambda graph: graph.cost)[0].ranked == ()


def test_a_shape_that_is_asked_for() -> None:
    assert chosen("layernorm", ctas=2)[0].ctas == 2
    with pytest.raises(TileError, match=r"gemm.mlir:9:3: error: expected 4 or 8 warps, got 5$"):
        chosen("gemm", warps=5)
    assert chosen("softmax", warps=8)[0].warps == 4  # there is no choice


def test_costs_that_forbid_every_number_of_ctas() -> None:
    """As `benchmarks.variants` does to force a number that is not offered: it reports that there is no program."""

    def none(graph: Graph) -> NDArray[np.float64]:
        numbers = [op[0].isdigit() and op.partition(" ")[2] == "CTAs" for op in graph.node_op]
        assert any(numbers)
        return np.where(numbers, np.inf, graph.cost)

    with pytest.raises(TileError, match=r"no lowering for sm_90a: .* cannot be built"):
        chosen("layernorm", costs=none)


def test_a_candidate_that_breaks_a_level_s_rules_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """What costs too much is left quietly; a wrong program of a candidate that nobody would see is not."""
    tried: list[str] = []
    built = candidates.scheduled

    def broken(entry: ct.Entry, context: Context, steps: Sequence[Step]) -> nv_tileas.Func:
        tried.append(context.path[-1])
        if len(tried) == 2:
            raise fault("'nv_tileas.dot': operand 0 must be a tile", entry.location)
        return built(entry, context, steps)

    monkeypatch.setattr(candidates, "scheduled", broken)
    fault: type[TileError] = VerifyError
    with pytest.raises(candidates.CandidateError, match=r"candidate 'warps 8' .*gemm_negated.mlir:.*'nv_tileas.dot'"):
        chosen("gemm_negated")
    assert not issubclass(candidates.CandidateError, user_errors())
    fault = TileError
    tried.clear()
    assert chosen("gemm_negated")[0].warps == 4
    assert tried[:2] == ["whole", "warps 8"]


def test_a_first_look_that_breaks_a_level_s_rules_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def through(self: Context, steps: Sequence[Step], program: object) -> None:
        raise VerifyError("'cuda_tile.addi': operand 1 must be a tile")

    monkeypatch.setattr(Context, "through", through)
    entry, tier = load(EXAMPLES / "gemm.mlir").entries[0], target(TIER)
    slices = Context(tier, Shared((tier,))).trying("slices 1")
    with pytest.raises(candidates.CandidateError, match="candidate 'slices 1' is not legal at its level"):
        candidates.least_cost(entry, slices, parse("encode,saturate,extract"))
