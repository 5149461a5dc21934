"""tests/passes: each pass has a file, and files whose checks do not hold, or show nothing, fail."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import pytest

from lowering.passes.table import PASSES
from tests.lowering.test_levels import ASSERTED
from tests.passes.runs import FailedRun, check

FILES = Path(__file__).resolve().parents[1] / "passes"


def test_each_pass_has_a_file() -> None:
    assert {path.stem for path in FILES.glob("*.mlir")} == set(PASSES)


RUN = "// RUN: tilesat opt %s --passes unroll-loops,encode | filecheck %s\n"


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("encode", RUN + "// CHECK: (r.cmpi", ""),
        ("encode", RUN + "// CHECK: (r.arg 99", "Couldn't match"),
        ("encode", RUN.replace(",encode", "") + "// CHECK: assert", "no RUN line has the pass encode in its pipeline"),
        ("unroll-loops", RUN + "// CHECK: (r.cmpi", ""),  # without encode there are no rows at all
        ("encode", RUN + "// CHECK: {{cmpi}}", "the checks hold without the pass"),
        ("encode", "// CHECK: assert", "no line that begins with // RUN:"),
        ("encode", "// RUN: cat %s\n", "RUN: cat is not one of tilesat, filecheck"),
        ("encode", RUN.replace("tilesat", "not tilesat") + "// CHECK: (r.cmpi", "ended with 0"),
        ("encode", "// RUN: not tilesat opt %s --passes \\\n// encode,print-ptx 2>&1 | filecheck %s\n"
         "// CHECK: 'print-ptx' takes machine", ""),
    ],
)  # fmt: skip
def test_files_fail_where_they_should(tmp_path: Path, name: str, lines: str, said: str) -> None:
    path = tmp_path / f"{name}.mlir"
    path.write_text(lines + "\n" + ASSERTED)
    with pytest.raises(FailedRun, match=re.escape(said)) if said else nullcontext():
        check(path)
