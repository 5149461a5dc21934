"""Optimization hints: those that the compiler follows, and a warning for each other one that names it and its place."""

import re
import warnings
from pathlib import Path

import pytest

import tilesat
from ir.dialects.cuda_tile import hints
from lowering.layouts.conversions import estimate
from lowering.selection.hints import OBEYED
from lowering.targets import ALL_TARGETS
from lowering.targets.target import KIB
from runtime.ptxas import assemble
from tests.lowering.test_hopper import simulate
from tests.tilesat.example_cases import EXAMPLES, gemm
from tilesat.cli import main
from tilesat.execution import largest_error

KERNEL = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) optimization_hints=<ENTRY> {
  %t0 = make_token : token
  %x, %t1 = load_ptr_tko weak %p token=%t0 optimization_hints = <LOAD> : tile<ptr<f32>> -> tile<f32>, token
  %t2 = store_ptr_tko weak %q, %x token=%t1 : tile<ptr<f32>>, tile<f32> -> token
}
"""
VALUES = {
    "num_cta_in_cga": "2",
    "num_worker_warps_per_cta": "8",
    "occupancy": "2",
    "latency": "3",
    "allow_tma": "false",
}


def test_every_hint_is_obeyed_or_warned_of() -> None:
    assert set(OBEYED) <= set(VALUES) == {key for keys in hints.KEYS.values() for key in keys}


@pytest.mark.parametrize("key", sorted(set(VALUES) - set(OBEYED)))
@pytest.mark.parametrize(("arch", "target"), [("sm_90", "sm_90a"), ("default", "sm_90a"), ("sm_80", "sm_90a")])
def test_a_hint_without_effect_is_named_at_its_place(
    key: str, arch: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hint = f"{arch} = {{{key} = {VALUES[key]}}}"
    entry, load = (hint, "") if key in hints.ENTRY else ("", hint)
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL.replace("ENTRY", entry).replace("LOAD", load))
    place = f"{path}:1:1" if entry else f"{path}:3:13"
    message = f"optimization hint '{key} = {VALUES[key]}' has no effect yet"
    with warnings.catch_warnings(record=True, action="always") as caught:
        kernel = tilesat.compile(path, target)
    assert main(["compile", str(path), "--target", target, "-o", str(tmp_path / "k.ptx")]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "warning" in line]
    if arch == "sm_80":
        assert not caught
        assert not lines
        return
    (warning,) = caught
    (line,) = lines
    (found,) = kernel.ignored_hints
    assert str(warning.message).startswith(f"{place}: ")
    assert message in str(warning.message)
    assert warning.filename == __file__
    assert line.startswith(f"{place}: warning: ")
    assert message in line
    assert message in found.message


def test_hints_that_are_followed_are_not_warned_of() -> None:
    """A cluster of one CTA is what is launched anyway."""
    text = KERNEL.replace("ENTRY", "sm_80 = {num_cta_in_cga = 1}").replace("LOAD", "default = {}")
    with warnings.catch_warnings(action="error"):
        assert tilesat.compile(text).ignored_hints == []


def hinted(hints: str) -> str:
    """The GEMM of the examples with hints of its entry."""
    source = (EXAMPLES / "gemm.mlir").read_text()
    found = re.subn(r"(entry @\w+\([^)]*\))( \{)", rf"\1 optimization_hints=<default = {{{hints}}}>\2", source)
    assert found[1] == 1
    return found[0]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("target", "ctas", "warps"),
    [
        ("sm_80", 1, 8), ("sm_80", 2, 4), ("sm_90a", 2, 8), ("sm_120a", 2, 4),
        pytest.param("sm_90a", 1, 16, marks=pytest.mark.slow), pytest.param("sm_80", 1, 16, marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_shares_of_an_sm_are_as_asked(target: str, ctas: int, warps: int) -> None:
    """So many CTAs fit the registers and the shared memory of an SM, and so many warps compute; the result is right."""
    hints = f"occupancy = {ctas}, num_worker_warps_per_cta = {warps}"
    kernel, case = tilesat.compile(hinted(hints), target), gemm(136, 152, 72)
    assert kernel.ignored_hints == []
    assert kernel.compiled.selection.warps == warps
    tier = ALL_TARGETS[target]
    assert (kernel.manifest["dynamic_smem"] + KIB) * ctas <= tier.smem_bytes + KIB
    made = assemble(kernel.ptx, target)
    assert made.registers * kernel.manifest["block"][0] * ctas <= tier.registers_per_sm
    assert (made.spill_stores, made.infos, made.warnings) == (0, (), ())
    found = simulate(kernel, kernel.ptx, case.grid, case.fresh())
    assert largest_error(case.logical(found), case.expected) <= case.tolerance


def test_what_is_asked_of_a_target_is_one_record() -> None:
    """Caches know targets by identity: a new record for each compilation would fill them and find nothing."""
    tilesat.compile(hinted("occupancy = 2"), "sm_90a")
    before = estimate.cache_info()
    tilesat.compile(hinted("occupancy = 2"), "sm_90a")
    assert estimate.cache_info().misses == before.misses > 0
    assert estimate.cache_info().hits > before.hits


def test_warps_that_are_not_offered_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="num_worker_warps_per_cta = 2' has no effect"):
        tilesat.compile(hinted("num_worker_warps_per_cta = 2"))
