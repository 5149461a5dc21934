"""`tilesat compile` and `tilesat run` of a file that holds a kernel of a level below the e-graph."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ir.core import Location, Op, TileError
from ir.levels import LEVEL_OF, level_of, level_text
from tilesat.commands.partial import watching

if TYPE_CHECKING:
    from lowering.passes.manager import Watcher
    from lowering.passes.registry import Step
    from tilesat.levels import LoweredKernel

EGRAPH_OPTIONS = {
    "sig": "--sig", "entry": "--entry", "rules": "--rules", "without": "--without", "forbid": "--forbid",
    "fast": "--fast", "provenance": "--provenance", "json": "--json",
    "extract_budget": "--extract-budget", "saturate_budget": "--saturate-budget", "explain": "--explain",
    "viz": "--viz", "trace": "--trace", "check": "--check",
}  # fmt: skip
"""Options that speak of the source or of the e-graph, by their name among the arguments."""


def kernel_of(source: bytes, name: str, wanted: str | None, seconds: dict[str, float]) -> Op | None:
    """The verified kernel of a level below the e-graph that a file's content is; None for Tile IR and for nv_tileaa.

    Raises TileError for a bad kernel, and where the source is not of the level that is `wanted` (None: any).
    """
    text = level_text(source)
    found = "cuda_tile" if text is None else level_of(text)
    if wanted not in (None, found):
        raise TileError(
            f"expected {wanted}, the file holds {found}", Location(name, 1, 1), f"pass --from {found}, or none"
        )
    if text is None:
        return None
    from tilesat.levels import parse_kernel  # with the compiler, which other sources may not need

    return parse_kernel(text, name, seconds)


def refuse_options(kernel: Op, arguments: argparse.Namespace) -> None:
    """Raise TileError for options that mean nothing at a kernel's level."""
    level = LEVEL_OF[kernel.name]
    for attribute, option in EGRAPH_OPTIONS.items():
        if getattr(arguments, attribute, None):
            raise TileError(f"{option} has no meaning for a kernel of {level}", kernel.location, "leave it out")


def lowered(
    kernel: Op,
    arguments: argparse.Namespace,
    seconds: dict[str, float],
    watchers: Sequence[Watcher] = (),
    steps: Sequence[Step] = (),
) -> LoweredKernel:
    """The kernel's PTX by `steps`, by default its road. Raises TileError for options that mean nothing at its level."""
    from tilesat.levels import lower_kernel
    from tilesat.reports import statistics_table, time_table

    refuse_options(kernel, arguments)
    counting = getattr(arguments, "pass_statistics", False)
    made = lower_kernel(kernel, arguments.target, seconds, arguments.verify_each, watchers, counting, steps)
    if arguments.time:
        print(time_table(made.seconds, made.target), file=sys.stderr)
    if counting:
        print(statistics_table(made.lowered.counts, made.target), file=sys.stderr)
    return made


Outputs = list[tuple[Path | None, str | bytes]]


def compile_kernel(
    kernel: Op, steps: Sequence[Step], arguments: argparse.Namespace, seconds: dict[str, float]
) -> Outputs:
    """What to write where: the asked stage and the manifest."""
    with watching(arguments, steps) as watchers:
        made = lowered(kernel, arguments, seconds, watchers, steps)
    if arguments.emit not in made.stages:
        stages = ", ".join(made.stages)
        raise TileError(f"a kernel of {made.level} has no stage {arguments.emit}", kernel.location, f"it has {stages}")
    from tilesat import ahead_of_time

    outputs: Outputs = []
    if ahead_of_time.is_image(arguments.output) and arguments.emit == "ptx":
        outputs += ahead_of_time.images([made], arguments.output)
    else:
        outputs.append((arguments.output, made.stages[arguments.emit]))
    if arguments.header is not None:
        outputs.append((arguments.header, ahead_of_time.header([made])))
    if arguments.manifest is not None:
        outputs.append((arguments.manifest, json.dumps(made.manifest, indent=2) + "\n"))
    return outputs
