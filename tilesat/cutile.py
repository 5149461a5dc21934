"""Runs programs of cuTile Python, with or without a GPU: as a context, a plugin of pytest and a command."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from tilesat.backend import backend, launched_at
from tilesat.cli import BACKENDS
from tilesat.failures import describe, user_errors

if TYPE_CHECKING:
    import argparse

    import pytest

__all__ = ["backend"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of `pytest -p tilesat.cutile`."""
    group = parser.getgroup("cutile", "cuTile's launches on the simulator")
    group.addoption("--cutile-on", default="sim", help="sim, ref or cuda (default sim)")
    group.addoption("--cutile-target", help="what kernels are compiled for (default sm_80, or the card)")
    group.addoption("--cutile-check", action="store_true", help="compare each launch with the reference interpreter")
    group.addoption("--cutile-hazards", action="store_true", help="a race, or a missing wait, fails the test")


def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Launches of all tests go to the backend, from before a conftest is imported until pytest ends; what kernels print
    is also a section of the test's report, with the lines that print it.
    """
    from tilesat.testing.prints import Prints

    given, prints = early_config.known_args_namespace, Prints()
    early_config.pluginmanager.register(prints)
    hazards = True if given.cutile_hazards else None
    entered = backend(given.cutile_on, given.cutile_target, prints.take, check=given.cutile_check, hazards=hazards)
    stack = ExitStack()
    stack.enter_context(entered)
    early_config.add_cleanup(stack.close)


def main(argv: list[str] | None = None) -> int:
    """`python -m tilesat.cutile [options] SCRIPT.py ARGS`: run a cuTile program with its launches on the simulator."""
    import argparse
    import runpy

    from tilesat.execution import WrongResultError

    parser = argparse.ArgumentParser(prog="python -m tilesat.cutile", description=main.__doc__)
    parser.add_argument("--on", choices=BACKENDS, default="sim")
    parser.add_argument("--target", metavar="T")
    parser.add_argument("--check", action="store_true", help="compare each launch with the reference interpreter")
    parser.add_argument("--hazards", action="store_true", help="look for races; print a table of them at the end")
    parser.add_argument("--plain-prints", action="store_true", help="what kernels print, without the line that does")
    suite = "in place of a script: a folder of tests for pytest, and pytest's own options behind it"
    parser.add_argument("--suite", nargs=argparse.REMAINDER, metavar="DIR", help=suite)
    parser.add_argument("script", type=Path, nargs="?")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(argv)
    if given.suite:
        return _suite(given)
    if given.script is None:
        parser.error("expected a script, or --suite DIR")
    sys.argv = [str(given.script), *given.arguments]
    sys.path.insert(0, str(given.script.resolve().parent))
    hazards, output = "report" if given.hazards else None, None if given.plain_prints else _with_its_line
    try:
        with backend(given.on, given.target, output, check=given.check, hazards=hazards) as made:
            runpy.run_path(str(given.script), run_name="__main__")
    except (WrongResultError, *user_errors()) as error:
        launched = launched_at(error.__traceback__)
        print(describe(error), *([f"launched at {launched}"] if launched else []), sep="\n", file=sys.stderr)
        return 1
    if given.hazards:
        print(*map(str, made.hazards), f"{made.launches} launches, {len(made.hazards)} hazards", sep="\n")
    return int(bool(made.hazards))


def _suite(given: argparse.Namespace) -> int:
    """Run a folder of tests with the plugin."""
    import pytest

    own = [f"--cutile-{name}" for name in ("check", "hazards") if getattr(given, name)]
    own += [f"--cutile-target={given.target}"] if given.target else []
    return int(pytest.main(["-p", "tilesat.cutile", f"--cutile-on={given.on}", *own, *given.suite]))


def _with_its_line(text: str, place: str) -> None:
    """Print what a kernel prints behind the line of its source."""
    print(f"{place}: {text}" if place else text, end="")


if __name__ == "__main__":
    sys.exit(main())
