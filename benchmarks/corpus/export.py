"""Writes the bytecode of every kernel that a source launches; runs in the environment of the corpus.

PYTHON -m benchmarks.corpus.export OUT --target sm_80 (--calls | --suite DIR) [--variants N]

OUT gets one NAME.bc per kernel, and index.json: name, file, how often it was launched, or why cuTile rejected it. A
suite is a folder: its test files are run by pytest, all other programs of Python as scripts, and their output is
ignored.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import re
import runpy
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.corpus.capture import Launch, fake_device

BYTECODE_VERSION = "13.4"
"""The newest version that cuda-tile 1.7.0 writes and that tileiras 13.5 supports."""
SECONDS = 20
"""CPU seconds. A script or test that runs longer is stopped; its launches until then count."""

IDLE_RUNS = 4
"""Runs of a parametrised test without a new kernel after which the remaining ones are skipped."""


class Collected:
    """The kernels so far: the first `variants` distinct signatures of each."""

    def __init__(self, out: Path, target: str, variants: int):
        self.out, self.target, self.variants = out, target, variants
        self.rows: dict[str, dict[str, Any]] = {}
        self.seen: dict[tuple[str, str], set[str]] = {}

    def add(self, launch: Launch) -> None:
        key = (str(launch.file), launch.name)
        known = self.seen.setdefault(key, set())
        text = repr(launch.signature)
        if text in known or len(known) >= self.variants:
            return
        known.add(text)
        stem = re.sub(r"\W+", "_", f"{launch.file.stem}.{launch.name.rpartition('.')[2]}")
        name = f"{stem}_{hashlib.sha256((launch.file.parent.name + launch.name + text).encode()).hexdigest()[:4]}"
        row: dict[str, Any] = {"file": launch.file.name, "kernel": launch.name, "signature": text}
        try:
            data = export(launch, self.target)
        except Exception as error:  # noqa: BLE001 - cuTile raises errors of many classes; each is reported
            lines = [line for line in str(error).splitlines() if line.strip()]
            row["refused"] = f"{type(error).__name__}: {lines[0] if lines else ''}"
        else:
            (self.out / f"{name}.bc").write_bytes(data)
        self.rows[name] = row
        self.write([])

    def write(self, problems: list[str]) -> None:
        """The results so far: foreign programs may end the process."""
        index = {"kernels": self.rows, "problems": problems}
        (self.out / "index.json").write_text(json.dumps(index, indent=1) + "\n")


def export(launch: Launch, target: str) -> bytes:
    """Bytecode of one kernel as cuTile would hand it to tileiras for that GPU."""
    from cuda.tile import compilation

    output = io.BytesIO()
    compilation.export_kernel(
        launch.kernel, [launch.signature], output, gpu_code=re.sub(r"[af]$", "", target),
        output_format="tileir_bytecode", bytecode_version=BYTECODE_VERSION,
    )  # fmt: skip
    return output.getvalue()


def run_suite(folder: Path, collected: Collected, problems: list[str]) -> None:
    """The programs of a folder: scripts that define kernels at top level, tests by pytest."""
    tests = sorted(folder.rglob("test_*.py"))
    sys.path[:0] = [str(folder), *map(str, folder.parents[:2])]
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(errors="replace")
        if path not in tests and "__main__" in text and "ct.kernel" in text:
            with _limited(path.name, problems):
                sys.argv = [str(path)]
                sys.path.insert(0, str(path.parent))
                runpy.run_path(str(path), run_name="__main__")
    if tests:
        import pytest

        options = ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=no", "-W", "ignore", "-c", os.devnull]
        options += ["--rootdir", str(folder), "--continue-on-collection-errors"]
        pytest.main([*options, *map(str, tests)], plugins=[Sampled(collected, problems)])


class Sampled:
    """A pytest plugin: no test runs longer than the limit, and a function whose last runs gave no new kernel is
    skipped.
    """

    def __init__(self, collected: Collected, problems: list[str]):
        self.collected, self.problems = collected, problems
        self.idle: Counter[str] = Counter()

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> bool | None:
        return True if self.idle[item.nodeid.partition("[")[0]] >= IDLE_RUNS else None

    def pytest_runtest_setup(self, item: Any) -> None:
        signal.signal(signal.SIGVTALRM, _late)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        item.known = len(self.collected.rows)

    def pytest_runtest_teardown(self, item: Any) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self.idle[item.nodeid.partition("[")[0]] += len(self.collected.rows) == item.known

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            lines = str(report.longrepr).splitlines() or [""]
            self.problems.append(f"{report.nodeid}: {lines[-1]}")


def run_calls(problems: list[str]) -> None:
    from benchmarks.corpus.operators import OPERATORS
    from benchmarks.corpus.suites import SUITES

    for call in [*OPERATORS, *SUITES]:
        with _limited(call.operator, problems):
            call.run()


@contextlib.contextmanager
def _limited(what: object, problems: list[str]) -> Iterator[None]:
    """Run a part; an exception from it becomes a line of the report."""

    signal.signal(signal.SIGVTALRM, _late)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code may fail in any way; the report states how
        if not (isinstance(error, SystemExit) and not error.code):
            place = traceback.extract_tb(error.__traceback__)[-1]
            first = (str(error).splitlines() or [""])[0]
            problems.append(f"{what}: {type(error).__name__}: {first} ({Path(place.filename).name}:{place.lineno})")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _late(*_: object) -> None:
    raise TimeoutError(f"longer than {SECONDS} s of CPU time")


def main() -> None:
    parser = argparse.ArgumentParser(description="bytecode of the kernels that a source launches")
    parser.add_argument("out", type=Path)
    parser.add_argument("--target", required=True)
    parser.add_argument("--suite", type=Path)
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--variants", type=int, default=1)
    arguments = parser.parse_args()
    os.environ.setdefault("TILEGYM_LOG_LEVEL", "ERROR")
    arguments.out.mkdir(parents=True, exist_ok=True)
    number = int(re.sub(r"\D", "", arguments.target))
    collected, problems = Collected(arguments.out, arguments.target, arguments.variants), []
    with fake_device((number // 10, number % 10), collected.add):
        if arguments.suite is not None:
            run_suite(arguments.suite.resolve(), collected, problems)
        if arguments.calls:
            run_calls(problems)
    collected.write(problems)
    refused = sum("refused" in row for row in collected.rows.values())
    print(f"{len(collected.rows)} kernels, {refused} refused by cuTile, {len(problems)} programs failed")


if __name__ == "__main__":
    main()
