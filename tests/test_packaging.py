"""The import names are plain words that other projects use too (docs/decisions/0001): say at once whose are found."""

import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tilesat.cli import main

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = PROJECT["tool"]["importlinter"]["root_packages"]
ALONE = {ROOT / "ptxsim" / "pyproject.toml", ROOT / "ptxsim" / "LICENSE"}
"""What makes a package of ptxsim alone; our wheel has no use for it."""


@pytest.mark.parametrize("name", PACKAGES)
def test_package_is_ours(name: str) -> None:
    """A PyPI project with the same import name (egraph, viz and extract exist) must not shadow this tree."""
    found = importlib.import_module(name).__file__
    assert found is not None
    assert Path(found).is_relative_to(ROOT), f"{name} is imported from {found}, not from this tree"


@pytest.mark.sampled(10)
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


def files(package: str) -> Iterator[Path]:
    """What a package holds; building a wheel leaves more in its folder."""
    for path in (ROOT / package).rglob("*"):
        made = any(
            part in ("build", "__pycache__") or part.endswith(".egg-info") for part in path.parts[len(ROOT.parts) :]
        )
        if path.is_file() and not made:
            yield path


def test_the_simulator_alone_has_all_its_packages() -> None:
    alone = tomllib.loads((ROOT / "ptxsim" / "pyproject.toml").read_text())
    folders = {path.parent.relative_to(ROOT) for path in files("ptxsim") if path.suffix == ".py"}
    assert sorted(alone["tool"]["setuptools"]["packages"]) == sorted(".".join(each.parts) for each in folders)
    assert alone["project"]["version"] == PROJECT["project"]["version"]
    assert alone["project"]["requires-python"] == PROJECT["project"]["requires-python"]


def test_no_module_of_the_simulator_has_a_name_of_pythons_own() -> None:
    """Python would find it in place of its own where the folder is the current one."""
    names = {path.stem for path in (ROOT / "ptxsim").glob("*.py")}
    assert not names & sys.stdlib_module_names


def test_every_python_folder_is_a_declared_package() -> None:
    """A new sub-folder without __init__.py would be left out of the wheel without a word."""
    for package in PACKAGES:
        folders = {path.parent for path in files(package) if path.suffix == ".py"}
        missing = [str(folder.relative_to(ROOT)) for folder in sorted(folders) if not (folder / "__init__.py").exists()]
        assert not missing


def test_every_other_file_of_a_package_is_declared() -> None:
    """Sources in C and rules that no pattern of package-data names would be left out of the wheel."""
    data = PROJECT["tool"]["setuptools"]["package-data"]
    for package in PACKAGES:
        for path in files(package):
            if path.suffix in (".py", ".md") or path in ALONE:
                continue
            home = next(folder for folder in path.parents if (folder / "__init__.py").exists())
            name = ".".join(home.relative_to(ROOT).parts)
            patterns = [*data["*"], *data.get(name, [])]
            found = path.relative_to(home)  # a pattern names each folder: `*.egg` finds none in rules/
            assert any(len(found.parts) == pattern.count("/") + 1 and found.match(pattern) for pattern in patterns), (
                path
            )


def test_the_lock_has_what_the_project_asks_for() -> None:
    """Every requirement of ours and of the extras that `make` installs is there, in a version that it allows."""
    asked = [Requirement(each) for each in PROJECT["project"]["dependencies"]]
    makefile = (ROOT / "Makefile").read_text()
    (extras,) = re.findall(r"^LOCKED := (.*)$", makefile, re.M)
    installed = {name for each in re.findall(r"-e '\.\[([\w,]+)\]'", makefile) for name in each.split(",")}
    assert installed == {*extras.split()}
    asked += [Requirement(each) for extra in installed for each in PROJECT["project"]["optional-dependencies"][extra]]
    locked: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.lock").read_text(), re.M):
        locked.setdefault(name, []).append(version)
    for each in asked:
        versions = locked.get(canonicalize_name(each.name), [])
        assert versions, f"{each.name} is not locked: make lock"
        assert all(version in each.specifier for version in versions), f"{each}: locked is {versions}: make lock"


def test_the_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"tilesat {PROJECT['project']['version']}\n"


def test_wheels_that_the_docs_install_have_the_version() -> None:
    pages = [path.read_text() for path in (ROOT / "docs").rglob("*.md")]
    named = {version for page in pages for version in re.findall(r"tilesat-(\d[\w.]*)-py3", page)}
    assert named == {PROJECT["project"]["version"]}


def test_releases_are_in_the_changelog() -> None:
    """Unreleased changes come first, then each release with its date; the newest is at most our version."""
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    releases = [re.fullmatch(r"(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)", each) for each in headings[1:]]
    assert all(releases), headings
    versions = [Version(each[1]) for each in releases if each]
    assert versions == sorted({*versions}, reverse=True)
    assert not versions or versions[0] <= Version(PROJECT["project"]["version"])


def test_importing_tilesat_is_light() -> None:
    """The command line answers --help and usage errors before anything heavy is loaded (egglog alone is 0.3 s)."""
    heavy = ["egglog", "numpy", "highspy", "graphviz", "ir", "lowering", "runtime"]
    code = f"import sys, tilesat, tilesat.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
