"""Source places in PTX and SASS: there for those who ask, of the operation that an instruction computes, and without
an effect on the code.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilesat
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.cli import main
from tilesat.tileiras import joined

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGETS = ("sm_80", "sm_90a", "sm_120a")


def lines_of(ptx: str) -> set[int]:
    """Source lines that .loc directives name."""
    return {int(line) for line in re.findall(r"^ *\.loc \d+ (\d+) ", ptx, re.MULTILINE)}


def without(ptx: str) -> str:
    """PTX without its places."""
    return "".join(line for line in ptx.splitlines(True) if not line.strip().startswith((".loc", ".file")))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["softmax", "flash_attention"])
def test_places_change_no_code(name: str, target: str) -> None:
    plain = tilesat.compile(EXAMPLES / f"{name}.mlir", target)
    located = tilesat.compile(EXAMPLES / f"{name}.mlir", target, lineinfo=True)
    assert ".loc" not in plain.ptx
    assert without(located.ptx) == plain.ptx


def test_instructions_name_what_they_compute() -> None:
    """Registers are made when a store or a reduction asks for them, at the place of what they compute."""
    path = EXAMPLES / "softmax.mlir"
    ptx = tilesat.compile(path, "sm_80", lineinfo=True).ptx
    source = path.read_text().splitlines()
    place, named = "", set[tuple[str, str]]()
    for line in ptx.splitlines():
        found = re.match(r" *\.loc 1 (\d+) ", line)
        place = source[int(found[1]) - 1] if found else place
        instruction = re.match(r"\s*(?:@!?%p\d+ )?(ex2|shfl|(?:st|ld)\.global)\b", line)
        if instruction is not None:
            named.add((instruction[1], place.split(" = ")[1].split()[0]))
    assert named == {
        ("ex2", "exp"), ("shfl", "reduce"), ("ld.global", "load_view_tko"), ("st.global", "store_view_tko"),
    }  # fmt: skip
    assert ptx.endswith(f'.file 1 "{path}"\n')


def test_a_level_names_its_own_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    level = tmp_path / "k.nvgpu"
    assert main(["compile", str(EXAMPLES / "softmax.mlir"), "--emit", "nvgpu", "-o", str(level)]) == 0
    assert main(["compile", str(level), "--lineinfo"]) == 0
    ptx = capsys.readouterr().out
    assert f'.file 1 "{level}"' in ptx
    assert max(lines_of(ptx)) <= len(level.read_text().splitlines())


def test_annotate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(EXAMPLES / "softmax.mlir"), "--annotate"]) == 0
    assert re.search(r"ex2\.approx.*  // nvvm\.\S+ \S*softmax\.mlir:33:14$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.in_turn
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
def test_sass_has_source_lines(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", str(EXAMPLES / "softmax.mlir"), "--target", "sm_90a", "--emit", "sass"]
    assert main(command) == 0
    assert "//## File" not in capsys.readouterr().out
    assert main([*command, "--lineinfo"]) == 0
    shown = set(map(int, re.findall(r'//## File ".*softmax\.mlir", line (\d+)', capsys.readouterr().out)))
    assert {25, 32, 33, 42, 43} <= shown


def test_kernels_of_one_module_share_files() -> None:
    first = '.version 8.8\n.entry a() {\n    .loc 1 3 1\n    .loc 2 4 1\n}\n.file 1 "x.py"\n.file 2 "y.py"\n'
    second = '.version 8.8\n.entry b() {\n    .loc 1 7 1\n}\n.file 1 "y.py"\n'
    assert joined([first, second]) == (
        '.version 8.8\n.entry a() {\n    .loc 1 3 1\n    .loc 2 4 1\n}\n.file 1 "x.py"\n.file 2 "y.py"\n'
        ".entry b() {\n    .loc 2 7 1\n}\n"
    )
