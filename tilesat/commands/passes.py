"""`tilesat passes`: every pass with its levels, options and statistics, as text or as docs/passes.md has them."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from lowering.passes.levels import LEVELS
from lowering.passes.registry import Option, Pass
from lowering.passes.table import PASSES, ROAD
from tilesat.cli import OK


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    print("\n".join(markdown() if arguments.markdown else plain()))
    return OK


def plain() -> Iterator[str]:
    """A paragraph a pass."""
    for each in PASSES.values():
        yield f"{each.name}: {border(each)}"
        yield f"    {each.summary}"
        for option in each.options:
            yield f"    {{{option.name}={expected(option)}}} {option.doc}; default {default(option)}"
        for statistic in each.statistics:
            yield f"    counts {statistic.name}: {statistic.doc}"


def border(work: Pass) -> str:
    """The levels before and after."""
    return work.takes if work.takes == work.gives else f"{work.takes} -> {work.gives}"


def expected(option: Option) -> str:
    """What an option takes."""
    return "|".join(option.among) or option.kind


def default(option: Option) -> str:
    """What it is where it is left out."""
    return option.text(option.default) or "none"


def markdown() -> Iterator[str]:
    """Tables of the levels and the passes, and the road."""
    yield from ("| level | what it is | `tilesat opt` reads it |", "|---|---|---|")
    for level in LEVELS.values():
        yield f"| `{level.name}` | {level.meaning} | {'yes' if level.reads else 'no'} |"
    yield ""
    yield from ("| pass | levels | what it does |", "|---|---|---|")
    for each in PASSES.values():
        yield f"| `{each.name}` | {border(each)} | {each.summary} |"
    yield ""
    yield from ("| option | takes | default | meaning |", "|---|---|---|---|")
    for each in PASSES.values():
        for option in each.options:
            takes = expected(option).replace("|", "\\|")
            yield f"| `{each.name}{{{option.name}=...}}` | {takes} | {default(option)} | {option.doc} |"
    yield ""
    yield from ("| statistic | counts |", "|---|---|")
    for each in PASSES.values():
        for statistic in each.statistics:
            yield f"| `{each.name}` {statistic.name} | {statistic.doc} |"
    yield from ("", "```", ROAD.replace("),", "),\n").replace("(encode", "(\n  encode"), "```")
