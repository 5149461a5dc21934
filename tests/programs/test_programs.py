"""Every program of the corpus, compiled for sm_80, some for its successors: simulator = interpreter = NumPy."""

import re

import pytest

import tilesat
from ir.load import load
from ir.text import print_text
from lowering.targets import ALL_TARGETS
from tests.programs import (  # noqa: F401
    atomics,
    branches,
    control,
    cutile,
    cutile_cases,
    cutile_others,
    effects,
    elementwise,
    half_bytes,
    half_bytes_in_memory,
    literals,
    loops,
    memory,
    parts,
    products,
    promises,
    reductions,
    scans,
)
from tests.programs.program import PROGRAMS, TOLERANCE, check, clean, read_back, right
from tests.tilesat.example_cases import F16_TOLERANCE, F32_TOLERANCE
from tilesat.fuzz.generated import INEXACT

ELSEWHERE = (
    "cutile-attention-causal", "cutile-softmax_online", "matmul-bf16-out", "matmul-tf32-plain", "in-place-loop",
)  # fmt: skip
"""One of each kind, for the other targets that need nothing new."""


ELEMENTS = (
    "matmul-f16-sum-64", "matmul-i8-su", "matmul-i8-us-by-mad", "matmul-f64", "matmul-f8E4M3FN-half-sum",
    "f8E5M2-to-f32", "f32-to-f8E4M3FN", "matmul-f8-scaled", "matmul-i8-masked", "matmul-f16-sum-scaled",
    "matmul-literals",
)  # fmt: skip
"""Element types and accumulators that not every target has in the same instructions."""


BLACKWELL = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
"""The tiers whose test programs must spill nothing."""

NAMES = tuple(PROGRAMS)
READ_BACK = frozenset(NAMES[::3])
"""Of all: it takes a fifth of a test's time."""


def first_target(name: str) -> str:
    """The oldest target that has what a program needs: conversions of f8 came with sm_89."""
    return "sm_89" if "f8" in name else "sm_80"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", NAMES)
def test_program(name: str) -> None:
    kernel = check(PROGRAMS[name], first_target(name))
    if name in READ_BACK:
        read_back(kernel)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["sm_86", "sm_89", "sm_90"])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_program_for_other_targets(name: str, target: str) -> None:
    check(PROGRAMS[name], target)


@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in ALL_TARGETS if name not in ("sm_80", "sm_86", "sm_89", "sm_90")])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_program_on_every_name(name: str, target: str) -> None:
    check(PROGRAMS[name], target)


@pytest.mark.sampled(240)
@pytest.mark.parametrize("name", NAMES)
def test_program_on_every_tier_of_blackwell(name: str) -> None:
    """Right and without a spill or a word of ptxas; one run for tiers whose PTX differs in nothing but the name."""
    seen = set[str]()
    for kernel in tilesat.compile_for(PROGRAMS[name].source(), BLACKWELL):
        clean(kernel)
        text = re.sub(r"(?m)^\.(version|target) .*", "", kernel.ptx)
        if text not in seen:
            right(kernel, PROGRAMS[name])
        seen.add(text)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("target", ["sm_89", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", ELEMENTS)
def test_products_for_other_targets(name: str, target: str) -> None:
    read_back(check(PROGRAMS[name], target))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", ["f4-of-f32", "f4-to-f16", "f4-moved", "f4-quantised", "matmul-f4-scaled"])
def test_half_bytes_by_their_own_instructions(name: str, target: str) -> None:
    kernel = check(PROGRAMS[name], target)
    assert "e2m1x2" in kernel.ptx


@pytest.mark.sampled(40)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("f4-memory")])
def test_half_bytes_in_memory(name: str, target: str) -> None:
    read_back(check(PROGRAMS[name], target))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["sm_100a", "sm_120a"])
def test_large_scaled_product_in_slices(target: str) -> None:
    check(PROGRAMS["matmul-f8-scaled-256"], target)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize(
    "name",
    [
        "atomic-pairs-masked",
        "atomic-ticket",
        "strong-views-acquire",
        "gather-view-f16",
        "argmax-rows",
        "scan-recurrence",
        "parts-rotated",
        "loop-product",
        "loop-lock",
        "product-of-turned-reshape",
        "promise-then",
        "promise-no-trip",
        "promise-after-return",
    ],
)
def test_accesses_and_scans_for_other_targets(name: str, target: str) -> None:
    check(PROGRAMS[name], target)


@pytest.mark.parametrize("name", cutile.VALUES)
def test_frozen_bytecode_is_what_cutile_exports(name: str) -> None:
    """The frozen files stand in where the package is missing, so they must be its output."""
    kernel, values = cutile.VALUES[name]
    frozen = load((cutile.FROZEN / f"{name}.tileirbc").read_bytes())
    assert print_text(frozen) == print_text(load(cutile.export(kernel, values())))


PINNED = {
    "f16": 2e-3,  # 4 roundings of 2^-11: an operand and the result, in both runs
    "bf16": 1.6e-2,  # 4 of 2^-8
    "f32": 1e-5,  # a sum of 2^15 numbers in another order: the root of 2^15 roundings of 2^-24
    "f64": 1e-12,  # what our own functions of f64 may be off in chains; one alone is held to 1e-14 or 1e-13
}
"""The tolerance of each type, with its reason: a wider one must be argued for here."""


def test_tolerances_are_pinned() -> None:
    assert TOLERANCE == PINNED
    assert (PINNED["f16"], PINNED["f32"]) == (F16_TOLERANCE, F32_TOLERANCE)
    assert INEXACT == 4e-2
    wider = {name: program.tolerance for name, program in PROGRAMS.items() if program.tolerance > INEXACT}
    assert wider == {"matmul-f8E4M3FN-quantised": 0.25}  # sums rounded to 3 bits of mantissa: one step is 1/8 to 1/4
