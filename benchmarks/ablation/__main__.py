"""The effect of families of rules: cost, SASS of the hot loop and of the kernel, registers, and the cost of saturation.

python -m benchmarks.ablation [--kernel NAMES] [--target NAMES] [--family NAMES] [--column NAMES] [--json OUT.json]
python -m benchmarks.ablation --reads [--kernel NAMES] [--target NAMES] [--column NAMES]
python -m benchmarks.ablation --beside WORKTREE [--kernel NAMES] [--target NAMES] [--column NAMES]

Each kernel of benchmarks/ablation/cases.py is compiled under the permissions of a column, with all rules and without
those of a family (of all families, where none is named). The hot loop is that with the most products; a kernel without
products, or with products in several passes, has all its innermost loops counted, one without loops all its code. Of a
hot loop that does two steps at once half is counted, and agents compute no factors for it (agent.transform forbidden),
since what they compute would be counted nowhere. Of loops that ptxas would unroll one iteration is counted (.pragma
"nounroll"), and where all are counted each is counted once, with its masks and for single steps (loop.peel and
loop.pairs forbidden), since one that is split is still one pass. All else is of the code as it ships. Nothing is
measured on a card.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path

from benchmarks.ablation import beside
from benchmarks.ablation.cases import CASES, COLUMNS, FAMILIES, Case
from benchmarks.ablation.figures import Figures, figures, reads

TARGETS = "sm_80,sm_90a,sm_100a,sm_120a"
ALL = "all"
"""The name for all families together."""


@dataclass(frozen=True)
class Row:
    """A kernel for a target and a column, with and without a family."""

    kernel: str
    target: str
    column: str
    family: str
    without: Figures
    ours: Figures

    @property
    def hot(self) -> int:
        """Instructions of our hot loop, for as many steps as it performs without the family."""
        return round(self.ours.hot * self.without.steps / self.ours.steps)

    @property
    def ratio(self) -> float:
        """The fraction of the hot loop's instructions that remains."""
        return self.hot / self.without.hot


def rows(
    cases: Sequence[Case], targets: Sequence[str], columns: Sequence[str], families: Sequence[str]
) -> Iterator[Row]:
    """Every combination."""
    for target in targets:
        for column in columns:
            for family in families:
                prefixes = (
                    FAMILIES[family] if family != ALL else tuple(sorted({p for f in FAMILIES.values() for p in f}))
                )
                for case in cases:
                    pair = [figures(case, target, COLUMNS[column], without) for without in (prefixes, ())]
                    yield Row(case.name, target, column, family, *pair)


def line(row: Row) -> str:
    """A line of the table."""
    old, new = row.without, row.ours
    pairs = (
        f"{old.cost:.6g} to {new.cost:.6g}", f"{old.hot} to {row.hot}", f"{old.sass} to {new.sass}",
        f"{old.registers} to {new.registers}", f"{old.matches} to {new.matches}",
        f"{old.seconds:.2f} to {new.seconds:.2f}",
    )  # fmt: skip
    return f"| {row.kernel} | {row.target} | {row.column} | {row.family} | {' | '.join(pairs)} | {row.ratio:.3f} |"


def means(found: Sequence[Row]) -> Iterator[str]:
    """Geometric means of the remaining fractions of hot loops, for all kernels and for those called softmax."""
    keys = dict.fromkeys((row.target, row.column, row.family) for row in found)
    for key in keys:
        of = [row for row in found if (row.target, row.column, row.family) == key]
        softmax = [row for row in of if row.kernel.startswith("softmax")]
        longer = [row.kernel for row in of if row.hot > row.without.hot]
        more = [row.kernel for row in of if row.ours.sass > row.without.sass]
        shown = " | ".join(f"{mean(part):.3f}" if part else "" for part in (of, softmax))
        yield f"| {' | '.join(key)} | {shown} | {', '.join(longer)} | {', '.join(more)} |"


def mean(found: Sequence[Row]) -> float:
    """The geometric mean of the ratios."""
    return exp(sum(log(row.ratio) for row in found) / len(found))


def chosen(given: str | None, known: Sequence[str], what: str) -> list[str]:
    """Selected names out of the known ones, all by default. Raises SystemExit for an unknown one."""
    names = given.split(";" if what == "column" else ",") if given else list(known)
    for name in names:
        if name not in known:
            raise SystemExit(f"--{what}: expected one of {', '.join(known)}, got {name!r}")
    return names


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablation", description="kernels without families of rules"
    )
    parser.add_argument("--kernel", metavar="NAME[,NAME]")
    parser.add_argument("--target", default=TARGETS, metavar="T[,T]")
    parser.add_argument("--family", default=ALL, metavar="NAME[,NAME]", help="default %(default)s")
    parser.add_argument("--column", metavar="TITLE[;TITLE]")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--reads", action="store_true", help="only count loads of tiles from global memory")
    parser.add_argument("--beside", type=Path, metavar="WORKTREE", help="compare with the kernels of another commit")
    arguments = parser.parse_args(given)
    warnings.simplefilter("ignore")
    names = chosen(arguments.kernel, [case.name for case in CASES], "kernel")
    columns = chosen(arguments.column, list(COLUMNS), "column")
    families = chosen(arguments.family, [ALL, *FAMILIES], "family")
    cases = [case for case in CASES if case.name in names]
    targets = arguments.target.split(",")
    if arguments.reads:
        print(f"| kernel | target | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 2)}")
        for case in cases:
            for tier in targets:
                counted = [str(reads(case, tier, COLUMNS[column])) for column in columns]
                print(f"| {case.name} | {tier} | {' | '.join(counted)} |", flush=True)
        return
    if arguments.beside is not None:
        for text in beside.lines(arguments.beside.resolve(), cases, targets, columns):
            print(text, flush=True)
        return
    print("| kernel | target | fast | family | cost | hot loop | SASS | registers | matches | CPU s | of hot loop |")
    print(f"|{'---|' * 11}")
    found: list[Row] = []
    for row in rows(cases, targets, columns, families):
        found.append(row)
        print(line(row), flush=True)
    print(f"\n| target | fast | family | of hot loops | of softmax | longer loop | more code |\n|{'---|' * 7}")
    print("\n".join(means(found)))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
