"""Every example: the PTX on the simulator, the source on the interpreter and NumPy give the same numbers."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tilesat
from runtime.ptxas import assemble
from tests.tilesat.example_cases import EXAMPLES, QUICK, RAGGED, SWEEP, Case
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

TARGETS = ("sm_80", "sm_86", "sm_89")
BLACKWELL = ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a")
BYTECODE = Path(__file__).resolve().parents[1] / "data" / "bytecode"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))


@cache
def compiled(source: Path, target: str) -> Kernel:
    return tilesat.compile(source, target)


def check(case: Case, source: Path, target: str) -> None:
    kernel = compiled(source, target)
    for on in ("sim", "ref"):
        arguments = case.fresh()
        kernel.run(case.grid, *(arguments if source.suffix == ".mlir" else case.as_cutile(arguments)), on=on)
        error = largest_error(case.logical(arguments), case.expected)
        assert error <= case.tolerance, f"{on}: largest error {error:.3g}, tolerance {case.tolerance}"
        assert case.outside_untouched(arguments), f"{on} wrote outside its output"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", QUICK)
def test_example_computes_right_on_sm_80(name: str) -> None:
    case = QUICK[name]()
    check(case, case.source, "sm_80")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [*QUICK, *RAGGED])
def test_cutile_bytecode_computes_right_on_sm_80(name: str) -> None:
    """As the cuda-tile package exported it: other argument order, other assumptions, same numbers."""
    case = {**QUICK, **RAGGED}[name]()
    check(case, BYTECODE / f"{case.example}.13.3.tileirbc", "sm_80")


@pytest.mark.in_turn
@pytest.mark.parametrize("name", RAGGED)
def test_rows_that_end_inside_a_copy_compute_right(name: str, tmp_path: Path) -> None:
    """Aligned pitches without a promise on the sizes: the last copy of a row is a partial one, or a narrower one."""
    case = RAGGED[name]()
    source = tmp_path / "ragged.mlir"
    source.write_text(re.sub(r"div_by<8>, %(n|k)_bounded", r"bounded<0, ?>, %\1_bounded", case.source.read_text()))
    assert source.read_text() != case.source.read_text()
    check(case, source, "sm_80")


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SWEEP)
def test_example_computes_right_everywhere(name: str, target: str) -> None:
    case = SWEEP[name]()
    check(case, case.source, target)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("example", NAMES)
def test_ptxas_accepts_without_warning_or_spill(example: str, target: str) -> None:
    made = assemble(compiled(EXAMPLES / f"{example}.mlir", target).ptx, target)
    assert made.spill_stores == made.spill_loads == 0
    assert not made.warnings
    assert not made.infos  # C75xx: ptxas undid something that was asked for


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", BLACKWELL)
@pytest.mark.parametrize(
    "example", [*NAMES, *(f"blackwell/{path.stem}" for path in (EXAMPLES / "blackwell").glob("*.mlir"))]
)
def test_examples_spill_nothing_on_blackwell(example: str, target: str) -> None:
    """NVFP4 without `uscale` too: 608 bytes on sm_120a where tensor cores took no signs of scales."""
    made = assemble(compiled(EXAMPLES / f"{example}.mlir", target).ptx, target)
    assert (made.spill_stores, made.stack, made.warnings, made.infos) == (0, 0, (), ())


def test_cases_can_fail() -> None:
    """The padding is NaN and the inputs are not: a stray read or write changes what is compared."""
    case = QUICK["gemm-200x136x72"]()
    arguments = case.fresh()
    assert case.outside_untouched(arguments)
    arguments[3][200, 0] = 1
    assert not case.outside_untouched(arguments)
    assert np.isnan(arguments[0][0, 72:]).all()
    assert np.abs(case.expected).mean() > 1
