"""Predicted times of chosen programs: what overlaps in loops, what CTAs of an SM share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilesat
from lowering.modulo.predict import predicted
from lowering.targets import target
from runtime.ptxas import assemble, disassemble
from tests.lowering.report import outline
from tilesat.mca.report import figures

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_loop_takes_no_less_than_its_busiest_unit() -> None:
    """128 x 128 x 64 multiply-adds at 1,024 a cycle, in a loop of unknown trips."""
    selection = tilesat.compile(EXAMPLES / "gemm.mlir").compiled.selection
    (loop,) = predicted(selection).loops
    assert (loop.unit, loop.busy) == ("tensor", 1024.0)
    assert loop.cycles == loop.trips * max(loop.busy, loop.waiting)
    assert predicted(selection, 1000).loops[0].cycles == loop.trips * loop.busy


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_ctas_share_what_one_waits_for(target: str) -> None:
    selection = tilesat.compile(EXAMPLES / "flash_attention.mlir", target).compiled.selection
    one, two = (predicted(selection, ctas) for ctas in (1, 2))
    assert (one.rest, one.loops[0].busy) == (two.rest, two.loops[0].busy)
    assert one.loops[0].waiting == pytest.approx(2 * two.loops[0].waiting)
    assert predicted(selection) == (two if target == "sm_80" else one)


def test_an_early_product_is_waited_for_less() -> None:
    selection = tilesat.compile(EXAMPLES / "flash_attention.mlir", "sm_90a").compiled.selection
    assert selection.early
    early = predicted(selection).loops[0].waiting
    selection.early = frozenset()
    assert early < predicted(selection).loops[0].waiting


def test_the_report_says_what_the_bound_is_of() -> None:
    kernel = tilesat.compile(EXAMPLES / "softmax.mlir")
    said = r"^predicted: \d+ cycles of a CTA, 0 of them in innermost loops.*; cost and bound are sums without overlap$"
    assert re.search(said, outline(kernel.compiled), re.M)


@pytest.mark.in_turn
def test_loads_that_no_ring_brings_are_waited_for_as_the_code_does() -> None:
    """gemm_negated loads a scale in each iteration; the loop that ptxas makes takes what is predicted, within 12 %. On
    sm_90a a tensor copy brings it unless that is forbidden.
    """
    kernel = tilesat.compile(EXAMPLES / "gemm_negated.mlir", "sm_90a", without=["load/boxed"])
    selection = kernel.compiled.selection
    (loop,) = predicted(selection).loops
    (function,) = figures(
        disassemble(assemble(kernel.ptx, "sm_90a"), encodings=True), target("sm_90a"), selection.warps // 4
    )
    assert loop.waiting > 1.5 * loop.busy
    assert loop.waiting == pytest.approx(max(each.predicted for each in function.loops), rel=0.12)
