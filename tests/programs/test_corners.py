"""Unusual loops around products: the right result on every road, with no step, with few and with more than stages."""

from typing import Any

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.programs import corners_in_order  # noqa: F401
from tests.programs.corners import PRODUCTS, program
from tests.programs.counters import COUNTERS, counter
from tests.programs.far_places import STRIDES, far_row, far_rows, long_sum
from tests.programs.masked_scores import MASKS, masked_scores
from tests.programs.narrow_indices import narrow_index, narrow_offset
from tests.programs.program import Program, check, interpret, simulate
from tests.programs.truth_values import truth_values
from tilesat.execution import largest_error

SPILL = ("steps_in_a_branch",)
"""Accumulators on both sides of a branch and around it do not fit the registers of their threads."""


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_in_tensor_memory_or_elsewhere(name: str) -> None:
    check(program(name), "sm_100a", spills=name in SPILL)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_for_other_targets(name: str, target: str) -> None:
    check(program(name), target, spills=name in SPILL)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", ["scalar_read_behind", "carried_index_read_behind", "same_left_factor", "two_sums"])
def test_few_steps(name: str, target: str, steps: int) -> None:
    check(program(name, steps), target)


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_120a"])
def test_truth_values(target: str) -> None:
    check(truth_values(), target)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("literal", [False, True], ids=["asked-for", "literal"])
@pytest.mark.parametrize("name", COUNTERS)
def test_counters_at_the_end_of_their_type(name: str, literal: bool) -> None:
    check(counter(name, literal))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_rows_of_more_than_32_bits(target: str, dynamic: bool) -> None:
    check(far_row(dynamic), target)


@pytest.mark.in_turn
@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_strides_of_more_than_31_bits(target: str, stride: str) -> None:
    check(far_rows(STRIDES[stride]), target)


def test_tensor_copies_bring_what_their_coordinates_reach() -> None:
    for size, copies in ((2**31 - 1, True), (2**31, False)):
        assert ("cp.async.bulk.tensor.2d.shared" in tilesat.compile(long_sum(size), "sm_90a").ptx) == copies


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", MASKS)
def test_masked_scores(name: str) -> None:
    check(masked_scores(name), "sm_90a")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_100a"])
@pytest.mark.parametrize("name", MASKS)
def test_masked_scores_for_other_targets(name: str, target: str) -> None:
    check(masked_scores(name), target)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", ["i8", "i16", "i64"])
@pytest.mark.parametrize("ctas", [1, 2])
def test_indices_of_any_type(kind: str, ctas: int) -> None:
    agrees(narrow_index(kind), "sm_90a", num_ctas=ctas)


@pytest.mark.parametrize("kind", ["i8", "i16", "i64"])
def test_offsets_of_any_type(kind: str) -> None:
    agrees(narrow_offset(kind), "sm_80")


def agrees(program: Program, target: str, **options: Any) -> None:
    """`check` but for reading nv_tileaa back: there indices and offsets are wider than in the source."""
    kernel = tilesat.compile(program.source(), target, **options)
    assert assemble(kernel.ptx, target).warnings == ()
    assert program.expected is not None
    wanted = np.asarray(program.expected(*program.arguments())[1])
    for found in (simulate(kernel, program)[1], interpret(kernel, program)[1]):
        assert largest_error(found, wanted) <= program.tolerance
