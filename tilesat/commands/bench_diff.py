"""`tilesat bench-diff OLD NEW`: two recorded runs; 1 where something is worse than it may be."""

from __future__ import annotations

import argparse

from ir.core import Location, TileError
from tilesat.cli import FAILED, OK
from tilesat.testing.record import Thresholds, changes, read_run, table, totals


def run(arguments: argparse.Namespace) -> int:
    """Print what changed, the sums, and what is worse."""
    (before, counted), (after, counts) = (read_run(path) for path in (arguments.old, arguments.new))
    if counted != counts:
        hint = "record both with ptxas, or both with --without-ptxas"
        raise TileError("one run counts SASS, the other PTX", Location(str(arguments.new)), hint)
    thresholds = Thresholds(arguments.threshold / 100, arguments.time_threshold / 100)
    found = list(changes(before, after, thresholds))
    if found:
        print("\n".join(table(found)))
    print("\n".join(totals(before, after)))
    worse = sum(len(each.worse) + each.failed for each in found)
    print(f"{len(after)} kernels, {len(found)} changed, {worse} worse than the threshold allows")
    return FAILED if worse else OK
