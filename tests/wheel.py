"""The wheels, ptxsim alone too, outside the tree, tried on every supported Python of this machine: `make test-wheel`.

    python -m tests.wheel [PYTHON...]

PYTHON are interpreters; without any, those that PATH and pyenv have. Each gets an environment of its own with the
locked versions, in which a kernel is compiled, run and tested from an empty folder. Prints a line each; fails at the
first that fails.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
OLDEST = tuple(map(int, PROJECT["project"]["requires-python"].removeprefix(">=").split(".")))
NAMES = [f"python{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], OLDEST[1] + 8)]
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


def build(python: str, folder: Path, project: str = ".") -> Path:
    """The wheel of what git knows of the tree, or of a folder of it: no file that lies about gets in."""
    tree = folder / "tree"
    files = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    for name in filter(None, files.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tree / name)
    run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder / "wheels", tree / project], folder)
    (wheel,) = (folder / "wheels").glob("*.whl")
    return wheel


def environment(python: str, folder: Path, what: str) -> Path:
    """A new environment with what is asked for, in the locked versions; its bin."""
    run([python, "-m", "venv", folder / "venv"], folder)
    place = folder / "venv" / "bin"
    lock = ROOT / "requirements.lock"
    run([place / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", lock, what], folder)
    return place


def tried(python: str, wheel: Path, folder: Path) -> None:
    """Install a wheel and use it from a folder that holds two kernels and a test."""
    place = environment(python, folder, f"{wheel}[testing]")
    work = folder / "work"
    work.mkdir()
    for name in ("softmax.mlir", "vecadd_view.mlir"):
        shutil.copy(ROOT / "examples" / name, work)
    (work / "try.py").write_text(TRIED)
    (work / "test_vecadd.py").write_text(TESTED.format(arguments=ARGUMENTS))
    run([place / "python", "try.py", ",".join(PROJECT["tool"]["importlinter"]["root_packages"])], work)
    given = [word for each in ARGUMENTS for word in ("--arg", each)]
    run([place / "tilesat", "run", "vecadd_view.mlir", "--target", "sm_90a", "--grid", "4", "--check", *given], work)
    run([place / "python", "-m", "pytest", "-q", "test_vecadd.py"], work)


FILES = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCALE = ["scale.ptx", "--grid", "2", "--block", "32", "--arg", "f32[64]=arange", "--arg", "f32=3"]


def tried_alone(python: str, wheel: Path, folder: Path) -> None:
    """Install the simulator alone, run the script and the kernel of its README."""
    place = environment(python, folder, str(wheel))
    work = folder / "work"
    work.mkdir()
    for name, body in FILES.findall((ROOT / "ptxsim" / "README.md").read_text()):
        (work / name).write_text(body)
    run([place / "python", "scale.py"], work)
    run([place / "ptxsim", *SCALE], work)


def main() -> None:
    """Build, then try each Python."""
    found = sys.argv[1:] or pythons()
    if not found:
        sys.exit(f"no Python from {'.'.join(map(str, OLDEST))} on was found")
    with tempfile.TemporaryDirectory() as place:
        wheels = [build(sys.executable, Path(place, each), each) for each in (".", "ptxsim")]
        for wheel in wheels:
            print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        for i, python in enumerate(found):
            began = time.monotonic()
            folder = Path(place) / str(i)
            folder.mkdir()
            (folder / "alone").mkdir()
            tried(python, wheels[0], folder)
            tried_alone(python, wheels[1], folder / "alone")
            version = ".".join(map(str, version_of(python)))
            print(f"Python {version}: installed and tried in {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(found)} passed, 0 failed")


if __name__ == "__main__":
    main()
