"""Which files name a structural operation: adding one touches those that CONTRIBUTING names, and no others."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
PACKAGES = ("ir", "egraph", "lowering", "runtime", "viz", "tilesat")
TESTING = ("tilesat/fuzz/",)  # programs at random: part of the tests
COMMAND = ("tilesat/cli.py",)  # `tilesat cat` is another thing

DECLARED = ("ir/dialects/nv_tileaa.py", "ir/dialects/nv_tileas.py")  # at the levels below Tile IR
RULES = ("egraph/rules/demand.egg", "egraph/rules/place.egg")

ALLOWED = {
    "cat": (
        *("ir/dialects/cuda_tile/shape.py", *DECLARED),
        *("egraph/placed.py", *RULES),
        "lowering/convert/tileas_to_nvgpu/parts.py",
        "lowering/placement/parts.py",
    ),
    "scan": (
        *("ir/dialects/cuda_tile/reduction.py", *DECLARED),
        *("egraph/leaves.py", "egraph/placed.py", *RULES),
        *("lowering/decode/values.py", "lowering/selection/prices/values.py", "lowering/schedule/scratch.py"),
        "lowering/convert/tileas_to_nvgpu/scans.py",
        "lowering/placement/values.py",
    ),
}
"""Declarations, placed declarations with their rules, lowerings, and the meaning that soundness tests take."""


def names(path: pathlib.Path, operation: str) -> bool:
    """Does a file name an operation in code: its classes, its name at a level or in a rule? Prose is free to."""
    text = path.read_text()
    if operation not in text.lower():
        return False
    if path.suffix == ".egg":
        code = re.sub(r";.*", "", text)
        return re.search(rf"\((?:p\.)?{operation}\s", code) is not None
    classes = {operation.capitalize(), f"Placed{operation.capitalize()}"}
    spelled = {operation} | {f"{level}.{operation}" for level in ("p", "r", "cuda_tile", "nv_tileaa", "nv_tileas")}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                if name in classes:
                    return True
            case ast.Constant(value=str() as word):
                if word in spelled:
                    return True
            case _:
                pass
    return False


@pytest.mark.parametrize("operation", ALLOWED)
def test_a_structural_operation_is_named_where_it_is_declared_and_lowered(operation: str) -> None:
    files = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in (".py", ".egg"))
    found = {str(path.relative_to(ROOT)) for path in files if names(path, operation)}
    found = {name for name in found if not name.startswith(TESTING) and name not in COMMAND}
    assert found == set(ALLOWED[operation])


def test_names_in_code_are_found_and_words_are_not(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.py"
    for code, wanted in (
        ('"""A scan of files."""\nscan = 1\n', False),
        ("isinstance(op, ct.Scan)\n", True),
        ('row = table["p.scan"]\n', True),
        ("from egraph.placed import PlacedScan\n", True),
    ):
        path.write_text(code)
        assert names(path, "scan") == wanted, code
    rules = tmp_path / "a.egg"
    rules.write_text("; (scan t) is not here\n")
    assert not names(rules, "scan")
    rules.write_text("(rule ((= t (scan l))) ())\n")
    assert names(rules, "scan")
