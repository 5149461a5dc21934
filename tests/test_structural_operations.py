"""Which files name a structural operation: adding one touches those that CONTRIBUTING names, and no others."""

import pathlib

import pytest

from tests.structural_files import names, naming

COMMAND = ("tilesat/cli.py",)  # `tilesat cat` is another thing
MAKERS = ("egraph/printing.py", "lowering/clusters/rewrite.py")
"""Tiles are cut here by extracts, for printing and for clusters: not needed to have the operation."""
SELECTED = "lowering/source/inserts.py"
"""Inserts of few elements are made selects here: no layout has them otherwise, or at a higher cost."""

DECLARED, LOWERED = "ir/dialects/cuda_tile/shape.py", "lowering/convert/tileas_to_nvgpu/parts.py"
ALLOWED = {
    "cat": (DECLARED, "egraph/rules/cat.egg", LOWERED),
    "insert": (DECLARED, "egraph/rules/insert.egg", LOWERED, SELECTED),
    "extract": (DECLARED, "egraph/rules/extract.egg", LOWERED, *MAKERS),
    "scan": (
        "ir/dialects/cuda_tile/reduction.py",
        "egraph/rules/scan.egg",
        "lowering/convert/tileas_to_nvgpu/scans.py",
    ),
}
"""The declaration, the placed declaration, the lowering. The fourth is a test."""


@pytest.mark.parametrize("operation", ALLOWED)
def test_a_structural_operation_is_named_where_it_is_declared_and_lowered(operation: str) -> None:
    assert set(naming(operation)) - set(COMMAND) == set(ALLOWED[operation])
    assert len(set(ALLOWED[operation]) - {*MAKERS, SELECTED}) < 4


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('"""A scan of files."""\nscan = 1\n', False),
        ("isinstance(op, ct.Scan)\n", True),
        ('row = table["p.scan"]\n', True),
        ('ask = "ask_scan"\n', True),
        ('ask = "scan_layout"\n', True),
        ('for entry in os.scandir("scanned"): pass\n', False),
        ("from egraph.placed import PlacedScan\n", True),
    ],
)
def test_names_in_code_are_found_and_words_are_not(code: str, found: bool, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(code)
    assert names(path, "scan") == found


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("; (scan t) is not here\n", False),
        ("(rule ((= t (scan l))) ())\n", True),
        ("(relation ask_scan (i64))\n", True),
        ("(rule ((ask_scan t)) ())\n", True),
        ("(rule ((scan_layout t)) ())\n", True),
        ("(rule ((scanned t)) ())\n", False),
    ],
)
def test_names_in_rules_are_found(rule: str, found: bool, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.egg"
    path.write_text(rule)
    assert names(path, "scan") == found


@pytest.mark.parametrize(("code", "found"), [
    ('b.value(vector.Extract, x)\nmode = "extract"\n', False),
    ("b.value(ct.Extract, x)\n", True),
    ('row = table["p.extract"]\n', True),
])  # fmt: skip
def test_words_that_other_dialects_have_count_with_their_dialect(
    code: str, found: bool, tmp_path: pathlib.Path
) -> None:
    path = tmp_path / "a.py"
    path.write_text(code)
    assert names(path, "extract") == found
