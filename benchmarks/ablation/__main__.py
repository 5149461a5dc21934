"""The effect of families of rules: cost, SASS of the hot loop and of the kernel, registers, and the cost of saturation.

python -m benchmarks.ablation [--kernel NAMES] [--target NAMES] [--family NAMES] [--column NAMES] [--json OUT.json]

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
import runpy
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any

import tilesat
from benchmarks.ablation.cases import CASES, COLUMNS, FAMILIES, Case
from lowering.atoms.names import BY_TRANSFORMER, PAIRS, PEELING, all_names
from lowering.skeletons.joined_steps import PAIR
from runtime.ptxas import assemble, disassemble
from tilesat.mca.flow import Loop, loops, product_loop
from tilesat.mca.listing import functions

TARGETS = "sm_80,sm_90a,sm_100a,sm_120a"
ALL = "all"
"""The name for all families together."""


@dataclass(frozen=True)
class Figures:
    """The result for a kernel: its cost, SASS instructions of the hot loop and in total, registers; rule matches and
    CPU seconds of a warm compilation to PTX. steps: of the source's loop, performed by one iteration of the hot loop.
    """

    cost: float
    hot: int
    steps: int
    sass: int
    registers: int
    matches: int
    seconds: float


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


@cache
def kernels() -> dict[str, Any]:
    """The cuTile kernels by name."""
    return runpy.run_path(str(Path(__file__).with_name("kernels.py")))


def compiled(case: Case, target: str, fast: Sequence[str], family: Sequence[str]) -> Any:
    """The kernel of a case, without the rules and skeletons of a family."""
    without, forbid = ([name for name in family if (name in all_names()) is there] for there in (False, True))
    more: dict[str, Any]
    source, more = (case.file, {}) if case.file else (kernels()[case.name], {"signature": case.signature})
    return tilesat.compile(source, target, fast=fast, without=without, forbid=forbid, **more)


@cache
def figures(case: Case, target: str, fast: tuple[str, ...], without: tuple[str, ...]) -> Figures:
    """Compile and count; a second compilation is timed, since the first loads the rules."""
    kernel = compiled(case, target, fast, without)
    start = time.process_time()
    compiled(case, target, fast, without)
    seconds = time.process_time() - start
    cubin = assemble(kernel.ptx, target)
    (function,) = functions(disassemble(cubin))
    code = [each for each in function.instructions if each.family != "NOP"]
    found = rolled(kernel.ptx, target)
    hot = None if case.passes else product_loop(found)
    counted = kernel
    if found:
        forbidden = (PEELING, PAIRS) if hot is None else (BY_TRANSFORMER,)
        counted = compiled(case, target, fast, (*without, *forbidden))
        found = rolled(counted.ptx, target)
        hot = None if hot is None else product_loop(found)
    inner = len(hot.path) if hot else sum(len(loop.path) for loop in found)
    steps = PAIR if hot and any(each.name == PAIRS and each.taken for each in counted.compiled.selection.loops) else 1
    matches = sum(sum(each.matches.values()) for each in kernel.compiled.saturated.report.iterations)
    return Figures(kernel.cost, inner or len(code), steps, len(code), cubin.registers, matches, seconds)


def rolled(ptx: str, target: str) -> list[Loop]:
    """The innermost loops of a kernel, none unrolled by ptxas."""
    (function,) = functions(disassemble(assemble(not_unrolled(ptx), target)))
    return loops(function)


def not_unrolled(ptx: str) -> str:
    """PTX with loops that ptxas does not unroll: an iteration is then one of the source, in all columns."""
    head, brace, body = ptx.partition("\n{\n")
    assert brace, "expected an entry"
    return f'{head}\n.pragma "nounroll";{brace}{body}'


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
    arguments = parser.parse_args(given)
    warnings.simplefilter("ignore")
    names = chosen(arguments.kernel, [case.name for case in CASES], "kernel")
    columns = chosen(arguments.column, list(COLUMNS), "column")
    families = chosen(arguments.family, [ALL, *FAMILIES], "family")
    cases = [case for case in CASES if case.name in names]
    print("| kernel | target | fast | family | cost | hot loop | SASS | registers | matches | CPU s | of hot loop |")
    print(f"|{'---|' * 11}")
    found: list[Row] = []
    for row in rows(cases, arguments.target.split(","), columns, families):
        found.append(row)
        print(line(row), flush=True)
    print(f"\n| target | fast | family | of hot loops | of softmax | longer loop | more code |\n|{'---|' * 7}")
    print("\n".join(means(found)))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([asdict(row) for row in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
