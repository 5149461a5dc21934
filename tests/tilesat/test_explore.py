"""`tilesat explore`: the page of real kernels; its data are whole, its links lead somewhere, its size is bounded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tilesat.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = re.compile(r'<script type="application/json" id="records">(.*?)</script>', re.S)
MOST_BYTES = 3_000_000


def explore(out: Path, *arguments: str) -> list[dict[str, Any]]:
    assert main(["explore", *arguments, "-o", str(out)]) == 0
    found = DATA.search(out.read_text())
    assert found is not None
    return json.loads(found[1])


def check_links(record: dict[str, Any]) -> None:
    """Every number in a record names something, and each level is tied to the source."""
    places, forms, values = len(record["places"]), record["forms"], record["values"]
    lists = [each for level in record["levels"] for each in level["places"]]
    lists += [value.get("places", []) for value in values] + [effect["places"] for effect in record["effects"]]
    lists += [step["places"] for agent in record["agents"] for step in agent["steps"]]
    assert all(0 <= place < places for each in lists for place in each)
    for level in record["levels"]:
        assert len(level["lines"]) == len(level["places"])
        tied = sum(map(bool, level["places"]))
        assert tied > len(level["lines"]) / 3, level["name"]
    for number, value in enumerate(values):
        assert all(forms[form]["value"] == number for form in value.get("forms", ()))
        assert all(0 <= kid < len(values) for term in value.get("terms", ()) for kid in term.get("kids", ()))
    ways = [way for form in forms for way in form.get("ways", ())]
    assert all(0 <= kid < len(forms) for way in ways for kid in way.get("kids", ()))
    assert all(form.get("layout", -1) < len(record["layouts"]) for form in forms)
    assert any(way.get("chosen") for way in ways)
    for loop in record.get("loops", ()):
        assert all(-1 <= number < len(values) for each in loop.get("around", ()) for number in each)


def test_a_page_is_whole_and_small(tmp_path: Path) -> None:
    kernel, target, out = "flash_attention", "sm_90a", tmp_path / "k.html"
    (record,) = explore(out, str(EXAMPLES / f"{kernel}.mlir"), "--target", target)
    check_links(record)
    assert out.stat().st_size < MOST_BYTES
    names = [level["name"] for level in record["levels"]]
    assert names[0].endswith(f"{kernel}.mlir")
    assert names[1:6] == ["nv_tileaa", "nv_tileas", "nvgpu", "nvvm", "ptx"]
    assert record["source"].endswith(f"{kernel}.mlir")
    assert all(each["rows"] > 0 for each in record["saturation"])  # counted after each iteration


@pytest.mark.in_turn
def test_several_targets_and_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(EXAMPLES / f"{name}.mlir") for name in ("vecadd_view", "vecadd_ptr")]
    found = explore(tmp_path / "k.html", *files, "--target", "sm_80,sm_90a")
    assert [(each["kernel"], each["target"]) for each in found] == [
        ("vecadd_view", "sm_80"), ("vecadd_view", "sm_90a"), ("vecadd_ptr", "sm_80"), ("vecadd_ptr", "sm_90a"),
    ]  # fmt: skip
    assert re.search(r"k.html: 0\.\d MB; open it in a browser", capsys.readouterr().err)


def test_the_page_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(EXAMPLES / "vecadd_view.mlir"), "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("<!doctype html>")
    assert out.endswith("</html>\n")


def test_bytecode_is_shown_as_text(tmp_path: Path) -> None:
    """Its places are in a file that is not there any more."""
    source = tmp_path / "k.mlir"
    source.write_text((EXAMPLES / "vecadd_view.mlir").read_text())
    assert main(["cat", str(source), "--as", "bytecode", "-o", str(tmp_path / "k.bc")]) == 0
    source.unlink()
    (record,) = explore(tmp_path / "k.html", str(tmp_path / "k.bc"))
    level = record["levels"][0]
    assert level["name"] == "cuda_tile"
    assert any("addf" in line and places for line, places in zip(level["lines"], level["places"], strict=True))
    check_links(record)


def test_a_level_below_the_egraph_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lower = tmp_path / "k.nvgpu"
    assert main(["compile", str(EXAMPLES / "vecadd_view.mlir"), "--emit", "nvgpu", "-o", str(lower)]) == 0
    assert main(["explore", str(lower), "-o", str(tmp_path / "k.html")]) == 1
    assert "a kernel of this level has no e-graph to explore" in capsys.readouterr().err
    assert not (tmp_path / "k.html").exists()


def test_a_kernel_that_does_not_compile_leaves_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(EXAMPLES / "vecadd_view.mlir"), str(tmp_path / "none.mlir")]
    assert main(["explore", *files, "-o", str(tmp_path / "k.html")]) != 0
    assert "none.mlir" in capsys.readouterr().err
    assert not (tmp_path / "k.html").exists()


def test_viz_writes_the_same_page(tmp_path: Path) -> None:
    command = ["compile", str(EXAMPLES / "vecadd_view.mlir"), "-o", str(tmp_path / "k.ptx"), "--viz", str(tmp_path)]
    assert main(command) == 0
    found = DATA.search((tmp_path / "explorer.html").read_text())
    assert found is not None
    (record,) = json.loads(found[1])
    check_links(record)
