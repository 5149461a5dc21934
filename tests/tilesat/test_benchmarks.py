"""The measuring commands measure what they say: on a stand-in device, and on cubins whose facts ptxas tells."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import tilesat
from benchmarks import gpu, peers, sass
from runtime import cuda
from runtime.ptxas import assemble
from tests.runtime.fake_driver import FakeDriver
from tests.tilesat import example_cases
from tests.tilesat.example_cases import EXAMPLES, QUICK


def test_gpu_benchmark_without_a_card_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver(devices=0))
    monkeypatch.setattr(sys, "argv", ["gpu"])
    assert gpu.main() == 0
    assert "nothing was measured: no GPU can be used: cuInit failed" in capsys.readouterr().out


@pytest.mark.parametrize("spoiled", [False, True])
def test_gpu_benchmark_checks_examples_and_times_the_gemm(
    spoiled: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a device that is the simulator, where a launch takes one millisecond; a wrong example fails the command."""
    case = QUICK["vecadd_ptr-3000"]()
    case.expected[7] += 1e-3 * spoiled
    monkeypatch.setattr(example_cases, "SWEEP", {"vecadd_ptr-3000": lambda: case})
    monkeypatch.setattr(cuda, "load_driver", lambda: FakeDriver())
    monkeypatch.setattr(gpu, "COLD_BYTES", 1000)
    options = ["--sizes", "128", "--types", "bf16", "--repeat", "2", "--image", "ptx", "--json"]
    monkeypatch.setattr(sys, "argv", ["gpu", *options, str(tmp_path / "g.json")])
    assert gpu.main() == spoiled
    found = json.loads((tmp_path / "g.json").read_text())
    assert found["wrong"] == ["vecadd_ptr-3000"] * spoiled
    assert found["gemm"][0]["ms"]["tilesat"] == 1
    assert 0 < found["gemm"][0]["error"] < 1e-4
    assert "| bf16 | 128 | tilesat | 1.0000 | 0.0 | - |" in capsys.readouterr().out


@pytest.mark.parametrize(("capability", "target"), [("sm_90", "sm_90a"), ("sm_86", "sm_86"), ("sm_75", "sm_80")])
def test_best_target_is_made_for_the_card(capability: str, target: str) -> None:
    assert gpu.best_target(capability) == target


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_code_of_a_cubin_is_what_ptxas_says(target: str, tmp_path: Path) -> None:
    made = assemble(tilesat.compile(EXAMPLES / "gemm.mlir", target).ptx, target)
    (tmp_path / "gemm.cubin").write_bytes(made.binary)
    code = peers.read_code(tmp_path / "gemm.cubin")
    assert code.registers == made.registers
    assert code.spills == 0
    assert code.mma == (128 if target == "sm_80" else 8)
    assert code.mma < code.loop <= peers.LOOP_GOALS[target]
    assert code.loop < code.instructions


def test_same_program_goes_to_both_compilers(tmp_path: Path) -> None:
    source = tmp_path / "gemm.tileirbc"
    source.write_bytes(peers._bytecode())
    assert tilesat.compile(source).ptx == tilesat.compile(EXAMPLES / "gemm.mlir").ptx


def test_innermost_loop_with_most_products_counts() -> None:
    """An outer loop over two inner ones has more products than either, and is not what runs each step."""
    inner = "        /*0010*/ HGMMA R0, R1, R2 ;\n        /*0020*/ IADD3 R0, R1, R2, R3 ;\n"
    lines = [
        ".L_outer:",
        ".L_long:\n" + 2 * inner + "        /*0030*/ @P0 BRA `(.L_long) ;",
        ".L_short:\n" + inner + "        /*0040*/ @!P1 BRA `(.L_short) ;",
        "        /*0050*/ BRA `(.L_outer) ;",
    ]
    loop = sass.mma_loop("\n".join(lines))
    assert loop is not None
    assert (loop.label, loop.length, loop.tensor_core) == (".L_long", 5, 2)
