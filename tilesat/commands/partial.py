"""Pipelines that end before PTX, or that are only printed: `--stop-after` and `--print-pipeline`; watchers of all."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tilesat.cli import OK
from tilesat.output import deliver, named

if TYPE_CHECKING:
    from ir.core import Op
    from lowering.passes.manager import Outcome, Watcher
    from lowering.passes.registry import Step


def asked(arguments: argparse.Namespace) -> bool:
    """Does the command end before PTX?"""
    return arguments.print_pipeline or arguments.stop_after is not None


def run(
    program: Op, targets: Sequence[str], steps: Sequence[Step], arguments: argparse.Namespace, seconds: dict[str, float]
) -> int:
    """Print the pipeline, or run it up to its pass and print what that made for each target.

    Raises TileError for options that speak of what is not made.
    """
    from ir.core import TileError
    from lowering.passes.syntax import show, until

    if arguments.stop_after is not None:
        steps = until(steps, arguments.stop_after)
    if arguments.print_pipeline:
        deliver([(arguments.output, show(steps))])
        return OK
    for option in ("manifest", "header", "viz", "trace", "explain"):
        if getattr(arguments, option):
            raise TileError(f"--{option} needs the whole pipeline", hint="leave --stop-after out")
    if arguments.emit != "ptx":
        raise TileError("--emit and --stop-after both select what to print", hint="leave one of them out")
    outcomes = through(steps, program, targets, arguments, seconds)
    several = len(outcomes) > 1
    deliver((named(arguments.output, str(each.context.target), several), each.text()) for each in outcomes)
    report(outcomes, arguments)
    return OK


def through(
    steps: Sequence[Step], program: Op, targets: Sequence[str], arguments: argparse.Namespace, seconds: dict[str, float]
) -> list[Outcome]:
    """A program through a pipeline for some targets, watched as the command line wants it."""
    from extract.collector import gc_disabled
    from lowering.passes.manager import run as run_passes

    with gc_disabled(), watching(arguments, steps) as watchers:
        return run_passes(steps, program, targets, watchers, arguments.verify_each, arguments.pass_statistics, seconds)


@contextmanager
def watching(arguments: argparse.Namespace, steps: Sequence[Step]) -> Generator[tuple[Watcher, ...]]:
    """The watchers that the command line asks for; where a pass fails in the block, its reproducer is written."""
    if not (arguments.print_before or arguments.print_after or arguments.print_diff or arguments.reproducer):
        yield ()
        return
    from tilesat.watching import Watching

    found = Watching.of(arguments, steps, arguments.entry)
    with found.failing():
        yield found.watchers


def report(outcomes: Sequence[Outcome], arguments: argparse.Namespace) -> None:
    """`--pass-timing` and `--pass-statistics`, on standard error."""
    from tilesat.reports import statistics_table, time_table

    for each in outcomes:
        context, target = each.context, str(each.context.target)
        if arguments.time:
            print(time_table(context.seconds, target), file=sys.stderr)
        if arguments.pass_statistics:
            print(statistics_table(context.counts, target), file=sys.stderr)
