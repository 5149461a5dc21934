"""`--trace`: of the schedule that the choice allows, and of the loops that ptxas made."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilesat
from lowering.targets import SM_90A
from runtime import ptxas
from tests.tilesat.test_mca import listing, word
from tests.tilesat.test_tileiras import has_ptxas
from tests.viz.test_trace import events
from tilesat.cli import main
from tilesat.mca.listing import functions
from tilesat.mca.timing import ROUNDS, steady, timing
from tilesat.mca.traces import ITERATIONS

EXAMPLES = Path(__file__).parents[2] / "examples"
GEMM = str(EXAMPLES / "gemm.mlir")


def test_instructions_in_time_are_those_that_timing_counts() -> None:
    """A load whose barrier the next one waits for: an iteration takes as long as `timing` says."""
    code = [("LDS R0, [R1]", word(2, writes=0)), ("FADD R2, R0, R3", word(4, waits=1)), ("BRA `(.L_x)", word(5))]
    (function,) = functions(listing(".L_x", *code))
    found = steady(function.instructions, SM_90A, 3)
    assert [each.iteration for each in found] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert found[0].at == 0.0
    assert found[3].at - found[0].at == found[6].at - found[3].at == timing(function.instructions, SM_90A).alone
    load, add = found[:2]
    assert load.ready == add.at == float(SM_90A.latency.shared)
    assert add.begins == add.at
    assert add.ready is None
    assert ROUNDS > ITERATIONS


def test_the_trace_of_a_gemm_shows_copies_ahead_of_products(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ptxas.PtxasNotFoundError("ptxas is not installed")

    monkeypatch.setattr("tilesat.pictures.traces.assemble", missing)  # then without the loops in SASS
    out = tmp_path / "k.json"
    assert main(["compile", GEMM, "--target", "sm_90a", "-o", str(tmp_path / "k.ptx"), "--trace", str(out)]) == 0
    processes, tracks, slices = events(out.read_text())
    assert [name.partition(",")[0] for name in processes.values()] == ["loop at line 46"]
    assert list(tracks.values())[:2] == ["global", "tensor"]
    assert [name.partition(":")[0] for name in list(tracks.values())[3:]] == ["warps 0 to 3", "warp 4"]
    of_agent = {tracks[1, each["tid"]].partition(":")[0]: each["name"].split()[0] for each in slices}
    assert of_agent["warp 4"] == "copy"
    assert of_agent["warps 0 to 3"] == "wgmma"


@pytest.mark.in_turn
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
def test_mca_writes_what_a_warp_and_its_units_do(tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(tilesat.compile(EXAMPLES / "layernorm.mlir", "sm_80").ptx)
    out = tmp_path / "k.json"
    assert main(["mca", str(tmp_path / "k.ptx"), "--trace", str(out), "-o", str(tmp_path / "k.txt")]) == 0
    processes, tracks, slices = events(out.read_text())
    assert processes
    assert all("loop at 0x" in name and "sm_80" in name for name in processes.values())
    assert "issue of one warp, stalls included" in tracks.values()
    assert {"int_add", "load_store"} & set(tracks.values())
    assert all(each["args"]["instruction"].find(each["name"]) >= 0 for each in slices)


def test_a_level_below_the_egraph_has_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lower = tmp_path / "k.nvgpu"
    assert main(["compile", str(EXAMPLES / "vecadd_view.mlir"), "--emit", "nvgpu", "-o", str(lower)]) == 0
    assert main(["compile", str(lower), "--trace", str(tmp_path / "k.json")]) == 1
    assert "--trace has no meaning for a kernel of nvgpu" in capsys.readouterr().err
