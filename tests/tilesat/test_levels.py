"""The commands on files that hold a kernel of a level below cuda_tile."""

import re
from collections.abc import Set
from pathlib import Path

import numpy as np
import pytest

import tilesat
from ir.dialects.gpu import GpuFunc
from ir.dialects.llvm import Func
from lowering.convert import nvgpu_to_nvvm
from tilesat.cli import main

VECADD = Path(__file__).resolve().parents[2] / "examples" / "vecadd_view.mlir"
LEVELS = ("nv_tileas", "nvgpu", "nvvm")
READ = ("nv_tileaa", *LEVELS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The vector sum for sm_80 at each level, and as PTX."""
    folder = tmp_path_factory.mktemp("levels")
    kernel = tilesat.compile(VECADD)
    made = {level: folder / f"k.{level}" for level in (*READ, "ptx")}
    for level, path in made.items():
        path.write_text(kernel.stages[level])
    return made


@pytest.mark.in_turn
@pytest.mark.parametrize("level", READ)
def test_compile_takes_up_what_it_printed(level: str, files: dict[str, Path], tmp_path: Path) -> None:
    out, manifest = tmp_path / "k.ptx", tmp_path / "k.json"
    arguments = ["compile", str(files[level]), "--from", level, "-o", str(out), "--manifest", str(manifest)]
    assert main(arguments) == 0
    assert out.read_text() == files["ptx"].read_text()
    direct = tmp_path / "direct.json"
    assert main(["compile", str(VECADD), "-o", str(out), "--manifest", str(direct)]) == 0
    assert manifest.read_text() == direct.read_text()


def test_a_dash_is_standard_output(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(files["nvgpu"]), "--emit", "nvvm", "-o", "-"]) == 0
    assert capsys.readouterr().out == files["nvvm"].read_text()


@pytest.mark.parametrize("level", READ)
def test_run_of_a_level(level: str, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "out.npz"
    arrays = ["--arg", "f32[3000]=normal:1", "--arg", "f32[3000]=normal:2", "--arg", "f32[3000]=zeros"]
    command = ["run", str(files[level]), "--grid", "3", *arrays, "--arg", "i32=3000", "--hazards", "--save", str(saved)]
    assert main(command) == 0
    assert "vecadd_view: sim over (3, 1, 1) tile blocks in " in capsys.readouterr().out
    with np.load(saved) as held:
        assert np.array_equal(held["arg2"], held["arg0"] + held["arg1"])


@pytest.mark.parametrize(
    ("level", "arguments", "message"),
    [
        (
            "nvvm",
            ["compile", "--emit", "egraph"],
            "a kernel of nvvm has no stage egraph\n.*\n.*\nhint: it has nvvm",
        ),
        ("nvgpu", ["compile", "--forbid", "ldmatrix"], "--forbid has no meaning for a kernel of nvgpu"),
        ("nvgpu", ["compile", "--fast", "nsz"], "--fast has no meaning for a kernel of nvgpu"),
        ("nv_tileas", ["compile", "--provenance"], "--provenance has no meaning for a kernel of nv_tileas"),
        ("nvgpu", ["compile", "--explain"], "--explain has no meaning for a kernel of nvgpu"),
        ("nvgpu", ["compile", "--from", "nvvm"], "expected nvvm, the file holds nvgpu"),
        ("nv_tileaa", ["compile", "--from", "cuda_tile"], "expected cuda_tile, the file holds nv_tileaa"),
        ("nvgpu", ["compile", "--target", "sm_90a"], "the kernel was compiled for sm_80, not for sm_90a"),
        ("nvvm", ["run", "--grid", "1", "--check"], "--check has no meaning for a kernel of nvvm"),
        ("nvvm", ["run", "--grid", "1", "--on", "ref"], "a kernel of nvvm cannot run on ref"),
        ("nvvm", ["run", "--grid", "1"], "entry 'vecadd_view' expects 4 arguments, got 0"),
    ],
)
def test_messages(
    level: str, arguments: list[str], message: str, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([arguments[0], str(files[level]), *arguments[1:]]) == 1
    error = capsys.readouterr().err
    assert re.search(message, error), error


def test_tile_ir_where_a_level_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(VECADD), "--from", "nvgpu"]) == 1
    assert "expected nvgpu, the file holds cuda_tile" in capsys.readouterr().err


def test_a_bad_kernel_leaves_no_file(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, out = tmp_path / "bad.nvvm", tmp_path / "k.ptx"
    bad.write_text(files["nvvm"].read_text().replace('"llvm.return"', '"llvm.retrun"'))
    assert main(["compile", str(bad), "-o", str(out)]) == 1
    assert "'llvm.retrun' is not an operation" in capsys.readouterr().err
    assert not out.exists()


def test_a_long_line_is_cut_around_the_place(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.nvvm"
    bad.write_text(files["nvvm"].read_text().replace('target = "sm_80"', 'target = "sm_80", other = 3'))
    assert main(["compile", str(bad)]) == 1
    place, line, caret, _ = capsys.readouterr().err.splitlines()
    assert place.endswith("'llvm.func' has no attribute other")
    assert len(line) < 160
    assert line[caret.index("^") :].startswith('"tilesat.llvm.func"')


def test_each_level_is_verified_when_asked(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A conversion that makes what its level does not allow is caught there, and only then."""
    convert = nvgpu_to_nvvm.convert

    def broken(kernel: GpuFunc, forbid: Set[str]) -> Func:
        made = convert(kernel, forbid)
        made.attributes["block"] = (32, 1)
        return made

    monkeypatch.setattr(nvgpu_to_nvvm, "convert", broken)
    assert main(["compile", str(files["nvgpu"])]) == 0
    assert main(["compile", str(files["nvgpu"]), "--verify-each"]) == 1
    assert main(["compile", str(VECADD), "--verify-each"]) == 1
    assert capsys.readouterr().err.count("'llvm.func': block must have three dimensions, has (32, 1)") == 2


def test_nv_tileaa_is_a_source(files: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """For any target, with the options of the e-graph, and as Tile IR."""
    assert main(["compile", str(files["nv_tileaa"]), "--target", "sm_90a", "--forbid", "cp.async"]) == 0
    assert ".target sm_90a" in capsys.readouterr().out
    assert main(["compile", str(files["nv_tileaa"]), "--emit", "cuda_tile"]) == 0
    assert capsys.readouterr().out.startswith("cuda_tile.module @vecadd_view {\n  entry @vecadd_view(")
    arrays = ["--arg", "f32[3000]=normal:1", "--arg", "f32[3000]=normal:2", "--arg", "f32[3000]=zeros"]
    assert main(["run", str(files["nv_tileaa"]), "--grid", "3", *arrays, "--arg", "i32=3000", "--check"]) == 0


def test_nv_tileaa_is_checked_and_printed_as_tile_ir(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(files["nv_tileaa"])]) == 0
    assert "ok, @vecadd_view, " in capsys.readouterr().out
    bytecode = tmp_path / "k.tileirbc"
    assert main(["cat", str(files["nv_tileaa"]), "--as", "bytecode", "-o", str(bytecode)]) == 0
    assert tilesat.compile(bytecode).ptx == files["ptx"].read_text()
    bad = tmp_path / "bad.nv_tileaa"
    bad.write_text(files["nv_tileaa"].read_text().replace("axis = 1 : i64", "axis = 7 : i64"))
    assert main(["check", str(bad)]) == 1
    assert "attribute 'axis' must be one of 0, 1, 2, is 7" in capsys.readouterr().err
