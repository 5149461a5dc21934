"""`tilesat opt`: any pipeline of passes on a program of any level that reads back; prints what it became."""

from __future__ import annotations

import argparse

from ir.core import Op
from lowering.passes.levels import level_of
from lowering.passes.syntax import check_levels, parse, until
from tilesat import inputs
from tilesat.cli import DEFAULT_TARGET, OK
from tilesat.commands import from_level, partial
from tilesat.levels import own_target
from tilesat.output import deliver
from tilesat.source import find_entry, logical_kernel, read


def run(arguments: argparse.Namespace) -> int:
    """Read, run the passes, print the level that they end at."""
    seconds: dict[str, float] = {}
    steps = parse(arguments.passes)
    if arguments.stop_after is not None:
        steps = until(steps, arguments.stop_after)
    program, target = _program(arguments, seconds)
    check_levels(steps, level_of(program))
    outcomes = partial.through(steps, program, [target], arguments, seconds)
    deliver((arguments.output, each.text()) for each in outcomes)
    partial.report(outcomes, arguments)
    return OK


def _program(arguments: argparse.Namespace, seconds: dict[str, float]) -> tuple[Op, str]:
    """The verified kernel that the file holds, and its target. Raises TileError where another one is asked for."""
    source, name = inputs.source(arguments.file)
    kernel = from_level.kernel_of(source, name, arguments.level, seconds)
    if kernel is not None:
        return kernel, own_target(kernel, arguments.target)
    target = arguments.target or DEFAULT_TARGET
    logical = logical_kernel(source, name, seconds)
    if logical is not None:
        return logical, target
    return find_entry(read(source, seconds, name), arguments.entry)[1], target
