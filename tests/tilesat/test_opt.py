"""`tilesat opt`, `tilesat passes`, and what `compile` and `opt` show of passes."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lowering.passes.table import PASSES, ROAD
from tests.lowering import passes_page
from tests.lowering.test_oversized import COPY
from tests.tilesat.example_cases import EXAMPLES
from tilesat.cli import main

ROOT = Path(__file__).resolve().parents[2]
GEMM = str(EXAMPLES / "gemm.mlir")
NEGATED = str(EXAMPLES / "gemm_negated.mlir")
VECADD = str(EXAMPLES / "vecadd_view.mlir")
TARGETS = ("sm_80", "sm_90a", "sm_120a")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.sampled(36)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.mlir")), ids=lambda path: path.stem)
def test_the_pipeline_that_is_printed_is_the_compiler(
    example: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = printed(capsys, "compile", str(example), "--target", target, "--print-pipeline").strip()
    assert pipeline == ROAD
    ptx = printed(capsys, "compile", str(example), "--target", target)
    assert ".entry" in ptx
    assert printed(capsys, "opt", str(example), "--target", target, "--passes", pipeline) == ptx


@pytest.mark.in_turn
def test_options_of_compile_are_options_of_passes(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--without", "sink-negf", "--forbid", "ldmatrix", "--extractor", "greedy", "--saturate-budget", "90000"]
    pipeline = printed(capsys, "compile", NEGATED, *options, "--print-pipeline").strip()
    assert "saturate{without=sink-negf budget=90000},extract{forbid=ldmatrix method=greedy}" in pipeline
    ptx = printed(capsys, "compile", NEGATED, *options)
    assert printed(capsys, "opt", NEGATED, "--passes", pipeline) == ptx
    assert ptx != printed(capsys, "compile", NEGATED)
    part = printed(capsys, "compile", NEGATED, "--stop-after", "saturate", "--print-pipeline").strip()
    assert part == ROAD.partition("best-of-candidates(")[0] + "encode,saturate"


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("stop", "passes"),
    [
        ("decode", 19),
        ("tileas-materialize-schedule", 15),
        ("optimize-execution-unit-mapping", 12),
        ("rematerialize", 4),
    ],
)
def test_a_level_is_taken_up_where_it_was_left(
    stop: str, passes: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In processes of their own: nothing but the text declares what it holds."""
    file, here = str(tmp_path / "k.mlir"), {"cwd": ROOT, "check": True, "text": True, "capture_output": True}
    command = [sys.executable, "-m", "tilesat"]
    subprocess.run([*command, "compile", GEMM, "--target", "sm_90a", "--stop-after", stop, "-o", file], **here)  # pyright: ignore
    rest = subprocess.run([*command, "compile", file, "--print-pipeline"], **here).stdout.strip()  # pyright: ignore
    assert rest.count(",") + 1 == passes
    found = subprocess.run([*command, "opt", file, "--passes", rest], **here).stdout  # pyright: ignore
    assert found == printed(capsys, "compile", GEMM, "--target", "sm_90a")


def test_every_level_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", NEGATED, "--print-before", "all", "--print-after", "all", "--verify-each"]) == 0
    shown = capsys.readouterr().err
    heads = re.findall(r"// -----// (before|after) ([\w-]+), (\w+), sm_80(, whole)? //----- //", shown)
    made = [(name, level) for when, name, level, _ in heads if when == "after"]
    assert sorted(made) == sorted((name, PASSES[name].gives) for name in PASSES if name in ROAD)
    assert sum(when == "before" for when, *_ in heads) == len(made)
    for text in (
        "entry @gemm_negated(", "(r.negf ", "  negf(", "p.mmaf(", "cost ", '"nv_tileas.tiled_copy"',
        '"nv_tileas.async.tiled_copy"', '"tilesat.nvgpu.mma.sync"', '"llvm.cond_br"', "bra $B", ".visible .entry",
    ):  # fmt: skip
        assert text in shown, text


def test_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", GEMM, "--passes", "unroll-loops,tileas-slicing{half=1}", "--print-diff"]) == 0
    first, second = capsys.readouterr().err.split("// -----// changed by ")[1:]
    assert first == "unroll-loops, cuda_tile, sm_80 //----- //\n"
    assert second.startswith("tileas-slicing, cuda_tile, sm_80 //----- //\n@@ ")
    assert "\n-" in second
    assert re.search(r"\n\+.*mmaf.*tile<64x128xf32>", second)
    assert main(["compile", VECADD, "--print-diff", "--print-after", "encode,print-ptx"]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "// -----// encode makes encoded of cuda_tile, encoded, sm_80, whole //----- //",
        "// -----// print-ptx makes ptx of machine, ptx, sm_80 //----- //",
    ]


def test_timing_and_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", VECADD, "--passes", ROAD, "--pass-timing", "--pass-statistics"]) == 0
    shown = capsys.readouterr().err
    assert re.search(r"^  select-instructions +\d+\.\d{4}$", shown, re.M)
    found = re.search(r"^  select-instructions +(\d+) PTX instructions$", shown, re.M)
    assert found
    assert int(found[1]) > 20
    assert main(["compile", VECADD, "--pass-statistics"]) == 0
    assert found[0] in capsys.readouterr().err


def test_several_targets_stop_in_files_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "k.mlir"
    assert main(["compile", GEMM, "--target", "sm_80,sm_90a", "--stop-after", "decode", "-o", str(out)]) == 0
    assert 'target = "sm_80"' in (tmp_path / "k.sm_80.mlir").read_text()
    assert 'target = "sm_90a"' in (tmp_path / "k.sm_90a.mlir").read_text()
    assert not out.exists()


def test_a_failing_pass_leaves_its_input_and_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, left = tmp_path / "k.mlir", tmp_path / "left.mlir"
    source.write_text(COPY.format(n=1 << 24))
    assert main(["compile", str(source), "--target", "sm_90a", "--reproducer", str(left)]) == 1
    shown = capsys.readouterr().err
    assert f"'check-supported' failed; {left} has its input and the command" in shown
    assert "'cuda_tile.broadcast': tile<16777216xptr<f32>> takes 65536 registers" in shown
    first = left.read_text().splitlines()[0]
    words = shlex.split(first.removeprefix("// "))
    assert words[:6] == ["tilesat", "opt", str(left), "--target", "sm_90a", "--passes"]
    assert words[6] == ROAD.partition("simplify-induction-variables,")[2]
    assert main(words[1:]) == 1
    assert "'cuda_tile.broadcast': tile<16777216xptr<f32>> takes 65536 registers" in capsys.readouterr().err


def test_a_defect_in_a_pass_leaves_its_input_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a defect")

    monkeypatch.setattr("lowering.passes.code.grant", broken)
    left = tmp_path / "left.mlir"
    with pytest.raises(KeyError):
        main(["compile", VECADD, "--reproducer", str(left)])
    assert "'grant-registers' failed" in capsys.readouterr().err
    words = shlex.split(left.read_text().splitlines()[0].removeprefix("// "))
    assert words[-1] == "select-instructions,grant-registers,coalesce-registers,print-ptx"  # from the last text
    monkeypatch.undo()
    assert printed(capsys, *words[1:]) == printed(capsys, "compile", VECADD)


def test_nothing_is_left_where_nothing_fails(tmp_path: Path) -> None:
    left = tmp_path / "left.mlir"
    assert main(["compile", VECADD, "-o", str(tmp_path / "k.ptx"), "--reproducer", str(left)]) == 0
    assert not left.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["opt", GEMM, "--passes", "rematerialize"],
         "<passes>:1:1: error: 'rematerialize' takes nvvm, but the program here is cuda_tile"),
        (["opt", GEMM, "--passes", "tileas-slicing{half=3}"],
         "expected half up to 2, the number of ways to cut the largest products, got 3"),
        (["opt", GEMM, "--passes", "encode", "--print-after", "decode"], "the pipeline has no pass 'decode'"),
        (["compile", GEMM, "--print-after", "decoed"], "there is no pass 'decoed'"),
        (["compile", GEMM, "--stop-after", "decoed"], "the pipeline has no pass 'decoed'"),
        (["compile", GEMM, "--stop-after", "decode", "--emit", "nvvm"],
         "--emit and --stop-after both select what to print"),
        (["compile", GEMM, "--stop-after", "decode", "--manifest", "k.json"], "--manifest needs the whole pipeline"),
    ],
)  # fmt: skip
def test_bad_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err


def test_a_kernel_for_another_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "k.nvvm")
    assert main(["compile", VECADD, "--emit", "nvvm", "-o", file]) == 0
    assert main(["opt", file, "--target", "sm_90a", "--passes", "rematerialize"]) == 1
    assert "the kernel was compiled for sm_80, not for sm_90a" in capsys.readouterr().err


def test_passes_are_listed_and_documented(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, "passes")
    for name, work in PASSES.items():
        assert re.search(rf"^{name}: .*{work.gives}\n    {re.escape(work.summary)}$", shown, re.M)
    assert passes_page.OUTPUT.read_text() == passes_page.page(), "run python -m tests.lowering.passes_page"
    assert ROAD in passes_page.OUTPUT.read_text()
