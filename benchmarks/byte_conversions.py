"""Bytes as floats by conversions and as mantissas (conversion.bytes): results by pipe for a byte, counted in SASS.

python -m benchmarks.byte_conversions [--targets T,T]

Each target and type is counted on the micro-kernels of `benchmarks.calibrate`, with conversion.bytes forbidden and not;
where extraction keeps conversions the second count is the first one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from benchmarks.calibrate.forms import Case, cases
from benchmarks.calibrate.kernels import FORBIDDEN
from benchmarks.calibrate.table import count
from lowering.atoms.bytes import BYTES, as_mantissas, cycles
from lowering.counts import Counts
from lowering.targets import ALL_TARGETS

TARGETS = "sm_80,sm_90a,sm_100a,sm_120a"
ALLOWED = tuple(name for name in FORBIDDEN if name != BYTES)


def byte_cases() -> list[Case]:
    """The conversions that have both forms."""
    return [case for case in cases() if as_mantissas(case.form)]


def rows(target: str) -> Iterator[tuple[Case, Counts, Counts]]:
    """Each conversion with its counts by I2F, and as mantissas where that is chosen."""
    chosen = byte_cases()
    usual, made = (count(chosen, target, forbid) for forbid in (FORBIDDEN, ALLOWED))
    for case in chosen:
        yield case, usual[case.form], made[case.form]


def text(found: Counts) -> str:
    """Counts in a cell."""
    return ", ".join(f"{number:.2f} {pipe}" for pipe, number in sorted(found.items()) if number)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="bytes as floats, counted in SASS")
    parser.add_argument("--targets", default=TARGETS, metavar="T[,T]")
    print("| target | form | by conversions | cycles | as mantissas | cycles |\n|---|---|---|---|---|---|")
    for target in parser.parse_args().targets.split(","):
        for case, usual, made in rows(target):
            times = [f"{1000 * cycles(ALL_TARGETS[target], found):.1f}" for found in (usual, made)]
            print(f"| {target} | {case.form.key} | {text(usual)} | {times[0]} | {text(made)} | {times[1]} |")


if __name__ == "__main__":
    main()
