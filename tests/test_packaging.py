"""The import names are plain words that other projects use too (docs/decisions/0001): say at once whose are found."""

import importlib
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["importlinter"]["root_packages"]


@pytest.mark.parametrize("name", PACKAGES)
def test_package_is_ours(name: str) -> None:
    """A PyPI project with the same import name (egraph, viz and extract exist) must not shadow this tree."""
    found = importlib.import_module(name).__file__
    assert found is not None
    assert Path(found).is_relative_to(ROOT), f"{name} is imported from {found}, not from this tree"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", PACKAGES)
def test_no_other_distribution_installs_the_name(name: str) -> None:
    others = set(metadata.packages_distributions().get(name, [])) - {"tilesat"}
    assert not others, f"uninstall {sorted(others)}: they also install the package {name}"


def test_distribution_holds_exactly_our_packages() -> None:
    installed = metadata.distribution("tilesat").read_text("top_level.txt")
    assert installed is not None
    assert sorted(installed.split()) == sorted(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_package_is_typed(name: str) -> None:
    assert (ROOT / name / "py.typed").exists()


def test_every_python_folder_is_a_declared_package() -> None:
    """A new sub-folder without __init__.py would be left out of the wheel without a word."""
    for package in PACKAGES:
        folders = {path.parent for path in (ROOT / package).rglob("*.py")}
        missing = [str(folder.relative_to(ROOT)) for folder in sorted(folders) if not (folder / "__init__.py").exists()]
        assert not missing


def test_every_other_file_of_a_package_is_declared() -> None:
    """Sources in C and rules that no pattern of package-data names would be left out of the wheel."""
    data = PROJECT["tool"]["setuptools"]["package-data"]
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*"):
            if path.is_dir() or path.suffix in (".py", ".pyc", ".md"):
                continue
            home = next(folder for folder in path.parents if (folder / "__init__.py").exists())
            name = ".".join(home.relative_to(ROOT).parts)
            patterns = [*data["*"], *data.get(name, [])]
            found = path.relative_to(home)  # a pattern names each folder: `*.egg` finds none in rules/
            assert any(len(found.parts) == pattern.count("/") + 1 and found.match(pattern) for pattern in patterns), (
                path
            )


def test_importing_tilesat_is_light() -> None:
    """The command line answers --help and usage errors before anything heavy is loaded (egglog alone is 0.3 s)."""
    heavy = ["egglog", "numpy", "highspy", "graphviz", "ir", "lowering", "runtime"]
    code = f"import sys, tilesat, tilesat.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
