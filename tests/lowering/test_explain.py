"""The report of `--explain`: every tile of the source with its choice, its runner-up and what was not legal."""

import re
from pathlib import Path

import pytest

import tilesat
from extract import extract
from tests.lowering.report import outline

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def gemm() -> tilesat.Kernel:
    return tilesat.compile(EXAMPLES / "gemm.mlir")


@pytest.fixture(scope="module")
def report(gemm: tilesat.Kernel) -> str:
    return gemm.report


def entry(report: str, name: str) -> str:
    """The lines about one value."""
    return re.search(rf"^%{name} : .*\n(?:    .*\n)*", report, re.M).group()  # type: ignore[union-attr]


def test_says_how_saturation_went_and_what_extraction_costs(gemm: tilesat.Kernel, report: str) -> None:
    assert re.search(r"^  mma/select +\d+", report, re.M)
    assert re.search(r"algebra: \d+ iterations, \d+ rows at its end, stopped: saturated", report)
    assert re.search(r"placement: \d+ iterations, \d+ rows at its end, stopped: saturated", report)
    assert f"cost {gemm.cost:g}, no program costs less than {gemm.bound:g} (gap " in report
    assert re.search(r"e-graph: \d+ value classes, \d+ placed classes, \d+ nodes", report)


@pytest.mark.parametrize("name", ["acc_zero", "acc", "a_tile", "b_tile", "b_transposed", "acc_next", "c_tile", "sum"])
def test_names_every_tile_of_the_source_by_name_and_line(report: str, name: str) -> None:
    source = (EXAMPLES / "gemm.mlir").read_text().splitlines()
    line = next(n for n, text in enumerate(source, 1) if re.search(rf"%{name}\b", text))
    assert f"gemm.mlir:{line}:" in entry(report, name)


def test_states_choice_and_runner_up_with_costs(report: str) -> None:
    tile = entry(report, "a_tile")
    assert re.search(r"cp.async of 16 bytes, cost \d+\n +else L\d+: cp.async of 16 bytes and L\d+: ld.shared", tile)
    assert re.search(r"ldmatrix from L\d+, cost \d+\n +else L\d+: ld.shared", tile)
    assert "mma.sync.m16n8k16.f16.f16 on " in entry(report, "acc_next")


def test_the_runner_up_costs_what_extraction_without_the_choice_finds(gemm: tilesat.Kernel, report: str) -> None:
    selection = gemm.compiled.selection
    product = next(n for n in selection.answer.chosen.values() if selection.graph.node_op[n] == "p.mmaf")
    other = extract(selection.graph.forbid([product]), "auto")
    assert other.cost > gemm.cost
    assert f"the program then costs {other.cost:g} ({other.cost - gemm.cost:+g})" in entry(report, "acc_next")


def test_states_warps_and_stages_with_runner_up(report: str) -> None:
    assert re.search(r"\n4 warps compute\n    4 warps, cost \d+\n        else 8 warps; the program then costs", report)
    assert re.search(r"    4 stages in loop 0, cost [\d.]+\n        else 3 stages in loop 0; the program then", report)
    assert re.search(r"\nregisters in loop 0: 192 of 201 per thread\n", report)


def test_every_layout_that_is_named_is_described(report: str) -> None:
    body, legend = report.split("\nlayouts\n")
    assert set(re.findall(r"\bL\d+\b", body)) == set(re.findall(r"^L\d+", legend, re.M))


@pytest.mark.in_turn
def test_says_why_a_candidate_is_not_legal() -> None:
    without = tilesat.compile(EXAMPLES / "gemm.mlir", forbid=["ldmatrix", "cp.async", "mma.sync"]).report
    assert "not legal: ldmatrix: forbidden by the caller" in entry(without, "a_tile")
    assert "not legal: cp.async: forbidden by the caller" in entry(without, "a_tile")
    assert "not legal: mma.sync.m16n8k16.f16.f16: forbidden by the caller" in entry(without, "acc_next")
    softmax = tilesat.compile(EXAMPLES / "softmax.mlir").report
    assert "not legal: cp.async: pads with neg_inf" in entry(softmax, "x_tile")


@pytest.mark.in_turn
def test_says_what_the_program_does_without() -> None:
    report = tilesat.compile(EXAMPLES / "gemm_negated.mlir").report
    assert "not computed: the program does not need it" in entry(report, "scale_all")


@pytest.mark.in_turn
def test_says_which_loops_are_split_at_their_masks() -> None:
    less = r": \d+ per iteration, \d+ without masks except in the last: "
    split = tilesat.compile(EXAMPLES / "layernorm.mlir", "sm_80")
    assert re.search(
        r"\nmasks \(instructions of a warp, predicted\)(\n  loop at .*)*?\n  loop at .*" + less + "split$",
        outline(split.compiled),
        re.M,
    )
    whole = tilesat.compile(EXAMPLES / "layernorm.mlir", "sm_80", forbid=["loop.peel"])
    assert re.search(less + r"not split: loop\.peel: forbidden by the caller$", outline(whole.compiled), re.M)
    assert whole.ptx.count("bra ") < split.ptx.count("bra ")


def test_shows_what_a_permission_let_replace_a_value() -> None:
    explained = tilesat.compile(EXAMPLES / "softmax.mlir", "sm_80", fast=["afn", "ftz"]).report
    power = explained.partition("%power : ")[2].partition("%sum_all : ")[0]
    assert re.search(r"instead, free: by permission L\d+: exp2, cost \d+", power)
    assert "by permission" not in tilesat.compile(EXAMPLES / "softmax.mlir", "sm_80").report
