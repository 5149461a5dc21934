"""The prices of elementwise operations, from the SASS that they become.

python -m benchmarks.calibrate [--check] [--targets T,T] [--forms REGEX] count; write the rows, or compare python -m
benchmarks.calibrate --gpu [--forms REGEX] cycles and latencies of this GPU

Without --check the rows of the forms that were counted replace those in lowering/targets/counts.json. With it nothing
is written, and the exit status is 1 if a price differs by more than the tolerance. Counting all forms of a tier takes
about a minute. A GPU's figures go to benchmarks/calibrate/clocks.json; prices do not use them, the printed table shows
both.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime

from benchmarks.calibrate import clocks, table
from benchmarks.calibrate.forms import Case, cases
from benchmarks.gpu import best_target, found_device
from ir.core import TileError
from lowering.counts import rows
from lowering.targets import ALL_TARGETS
from runtime.ptxas import version


def main() -> int:
    arguments = _arguments()
    chosen = [case for case in cases() if re.search(arguments.forms, case.form.key)]
    if arguments.gpu:
        return _on_gpu(chosen)
    targets = arguments.targets.split(",")
    if unknown := [name for name in targets if name not in ALL_TARGETS]:
        raise SystemExit(f"unknown target {unknown[0]!r}: choose from {', '.join(ALL_TARGETS)}")
    found = {target: table.count(_of_tier(chosen, target), target) for target in targets}
    if not arguments.check:
        source = f"SASS count, ptxas {version()}, {datetime.now(UTC):%Y-%m-%d}"
        table.update(found, source)
        print(f"{sum(map(len, found.values()))} counts of {len(chosen)} forms written to {table.PATH}")
        return 0
    wrong = [each for target, forms in found.items() for each in table.differences(forms, rows(target), target)]
    print(*wrong, sep="\n")
    print(f"{len(wrong)} of {sum(map(len, found.values()))} prices differ")
    return 1 if wrong else 0


def _of_tier(chosen: list[Case], target: str) -> list[Case]:
    """The chosen forms that are counted on a target."""
    return [case for case in chosen if re.search(table.COUNTED.get(target, ""), case.form.key)]


def _on_gpu(chosen: list[Case]) -> int:
    device = found_device()
    if device is None:
        return 0
    with device:
        target = best_target(device.architecture)
        found = list(clocks.measure(chosen, device, target))
        clocks.report(found, target, f"measured on {device.name}, {datetime.now(UTC):%Y-%m-%d}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="prices of elementwise operations from their SASS")
    parser.add_argument("--check", action="store_true", help="compare with the committed rows, write nothing")
    parser.add_argument("--targets", default=",".join(table.COUNTED), metavar="T[,T]")
    parser.add_argument("--forms", default="", metavar="REGEX", help="only forms whose names match, such as ^exp2")
    parser.add_argument("--gpu", action="store_true", help="measure cycles and latencies on this machine's GPU")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TileError as error:
        sys.exit(f"error: {error}")
