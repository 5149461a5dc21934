"""Both wheels, tilesat and ptxsim alone, tried outside the tree on every supported Python here: `make test-wheel`.

    python -m tests.wheel [PYTHON...]

PYTHON: interpreters; by default those that PATH and pyenv have. For each, both wheels are installed with the locked
versions, each into an empty environment, in which a kernel is compiled, run and tested from an empty folder. The wheels
stay in out/wheels. Prints a line for each; exits with the output of the first command that fails. Takes about 25 CPU
seconds a Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OLDEST = tuple(map(int, PROJECT["project"]["requires-python"].removeprefix(">=").split(".")))
NAMES = [f"python{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], OLDEST[1] + 8)]
KEPT = ROOT / "out" / "wheels"
AT_ONCE = 2
"""Pythons tried at a time: CI has two cores."""
ARGUMENTS = ["f32[4000]=normal:1", "f32[4000]=normal:2", "f32[4000]=zeros", "i32=4000"]
TRIED = """
import sys
from importlib import import_module
from pathlib import Path
import tilesat

for name in sys.argv[1].split(","):
    place = Path(import_module(name).__file__)
    assert place.is_relative_to(sys.prefix), f"{name} is imported from {place}"
kernel = tilesat.compile("softmax.mlir", "sm_90a")
assert kernel.cost == kernel.bound
"""
TESTED = """
def test_vecadd(tile):
    k = tile.compile("vecadd_view.mlir", target="sm_80")
    k.runs(grid=4, args={arguments})
"""


def version_of(python: str) -> tuple[int, ...]:
    """(3, 12), or () where it does not run, as pyenv's stand-ins of versions that are not chosen."""
    code = "import sys, venv; print(sys.version_info.major, sys.version_info.minor)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else ()


def candidates() -> Iterator[str]:
    """Interpreters that PATH or pyenv may have."""
    yield from filter(None, map(shutil.which, NAMES))
    if pyenv := shutil.which("pyenv"):
        for version in subprocess.check_output([pyenv, "versions", "--bare"], text=True).split():
            yield str(Path(subprocess.check_output([pyenv, "prefix", version], text=True).strip(), "bin", "python"))


def pythons() -> list[str]:
    """One interpreter of each supported version that this machine has."""
    found: dict[tuple[int, ...], str] = {}
    for each in candidates():
        version = version_of(each)
        if version >= OLDEST:
            found.setdefault(version, each)
    return [found[version] for version in sorted(found)]


def run(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command without what this tree or environment adds; its output where it fails."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


FOLDERS = {"tilesat": ".", "ptxsim": "ptxsim"}


def build(python: str, folder: Path, project: str) -> Path:
    """Build one of the two wheels from the files that git knows, so that nothing else in the tree gets in."""
    tree = folder / "tree"
    files = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, files.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "wheels", tree / FOLDERS[project]], folder)
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


def installed(python: Path, what: str) -> None:
    """Install into an environment without a pip of its own, in the locked versions; modules are compiled when used."""
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check"]
    run([*pip, "--no-compile", "-c", ROOT / "requirements.lock", what], python.parent)


def tried(bin: Path, work: Path) -> None:
    """Use the installed package from a folder that holds two kernels and a test."""
    for name in ("softmax.mlir", "vecadd_view.mlir"):
        shutil.copy(ROOT / "examples" / name, work)
    (work / "try.py").write_text(TRIED)
    (work / "test_vecadd.py").write_text(TESTED.format(arguments=ARGUMENTS))
    run([bin / "python", "try.py", ",".join(PROJECT["tool"]["importlinter"]["root_packages"])], work)
    given = [word for each in ARGUMENTS for word in ("--arg", each)]
    run([bin / "tilesat", "run", "vecadd_view.mlir", "--target", "sm_90a", "--grid", "4", "--check", *given], work)
    run([bin / "python", "-m", "pytest", "-q", "test_vecadd.py"], work)


FILES = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCALE = ["scale.ptx", "--grid", "2", "--block", "32", "--arg", "f32[64]=arange", "--arg", "f32=3"]


def tried_alone(bin: Path, work: Path) -> None:
    """Run the script and the kernel of the simulator's README."""
    for name, body in FILES.findall((ROOT / "ptxsim" / "README.md").read_text()):
        (work / name).write_text(body)
    run([bin / "python", "scale.py"], work)
    run([bin / "ptxsim", *SCALE], work)


def try_all(python: str, whole: Path, simulator: Path, folder: Path) -> str:
    """Try both wheels on one Python, each in an environment of its own; returns the line that reports it."""
    began = time.monotonic()
    for name, wheel, use in (("tilesat", f"{whole}[testing]", tried), ("ptxsim", str(simulator), tried_alone)):
        work = folder / name / "work"
        work.mkdir(parents=True)
        run([python, "-m", "venv", "--without-pip", folder / name / "venv"], work)
        bin = folder / name / "venv" / "bin"
        installed(bin / "python", wheel)
        use(bin, work)
    version = ".".join(map(str, version_of(python)))
    return f"Python {version}: installed and tried in {time.monotonic() - began:.0f} s"


def main() -> None:
    """Build, then try each Python, two at a time."""
    found = sys.argv[1:] or pythons()
    if not found:
        sys.exit(f"no Python from {'.'.join(map(str, OLDEST))} on was found")
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(AT_ONCE) as pool:
        built = pool.map(lambda project: build(sys.executable, Path(place, project), project), ("tilesat", "ptxsim"))
        whole, simulator = built
        for wheel in (whole, simulator):
            kept = shutil.copy(wheel, KEPT)
            print(f"{Path(kept).relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        for line in pool.map(lambda i: try_all(found[i], whole, simulator, Path(place, str(i))), range(len(found))):
            print(line, flush=True)
    print(f"{len(found)} passed, 0 failed")


if __name__ == "__main__":
    main()
