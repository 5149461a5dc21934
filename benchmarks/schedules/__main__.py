"""Steady loops of attention and GEMM beside other people's best kernels: SASS instructions for equal work, by unit.

python -m benchmarks.schedules [--target sm_80,sm_90a] [--only TEXT] [--peers PYTHON] [--packages PYTHON] [--fast NAMES]
[--json OUT]

PYTHON of --peers has the extra `peers`, that of --packages flash-attn-4 and torch (benchmarks/schedules/packages.py).
The steady loop is, of innermost loops with the most products a path, the shortest; its path is what `tilesat mca` takes
for an iteration. Instructions are divided by the work of the path, which the shapes of its products determine, and
multiplied by the work of one warpgroup in the issue's unit: 128 rows x 64 keys where heads are 64 wide, 64 rows x the
case's keys where they are 128 wide, 128 x 128 x 64 of a GEMM. All cycles are predicted by the target's tables.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

from benchmarks.peers.__main__ import cubins
from benchmarks.peers.cases import CASES, Case

WARPS = 4  # of a warpgroup
UNITS = ("tensor", "mufu", "fma_f32", "int_add", "shuffle", "uniform")


@dataclass(frozen=True)
class Steady:
    """A steady loop. path: instructions of an iteration; work: of one warpgroup in it, in units of the case; equal:
    instructions for one such unit, in all and by unit of the machine; alone: cycles of one warp for that; shared: with
    two warps a scheduler, limited by `limit`; total: instructions of the kernel.
    """

    path: int
    work: float
    equal: float
    units: dict[str, float]
    alone: float
    shared: float
    limit: str
    total: int


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.schedules", description="steady loops compared with those of other compilers"
    )
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name holds TEXT")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--packages", metavar="PYTHON", help="with flash-attn-4 and torch")
    parser.add_argument("--fast", default="", metavar="NAME[,NAME]", help="what is permitted to ours")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: dict[str, dict[str, dict[str, Steady | str]]] = {}
    fast = [name for name in arguments.fast.split(",") if name]
    for target in arguments.target.split(","):
        cases = [each for each in CASES if work_of(each) and arguments.only in each.name and target in each.targets]
        found[target] = steady_loops(cases, target, arguments.peers, arguments.packages, fast)
        print("\n".join(report(target, found[target])))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1, default=asdict) + "\n")


def work_of(case: Case) -> float:
    """Multiplications and additions of a warpgroup that are the case's unit of work; 0 for other cases."""
    constants: dict[str, Any] = case.constants
    if case.triton == "attention":
        width, keys = constants["D"], constants["N"]
        rows, keys = (128, 64) if width == 64 else (64, keys)
        return 2.0 * rows * keys * width
    return 128.0 * 128 * 64 if case.triton == "gemm" else 0.0


def steady_loops(
    cases: Sequence[Case], target: str, python: str, packages: str | None, fast: Sequence[str]
) -> dict[str, dict[str, Steady | str]]:
    """The steady loop of each case by each compiler, or why it refuses."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = cubins(cases, target, python, folder, fast)
        rows: dict[str, dict[str, Steady | str]] = {}
        for case in cases:
            row = dict(made[case.name])
            if packages is not None and (asked := package_of(case, target)):
                row[asked[0]] = package_cubin(packages, asked[1:], target, folder)
            rows[case.name] = {
                who: steady(code, target, work_of(case)) if isinstance(code, Path) else code
                for who, code in row.items()
            }
    return rows


def package_of(case: Case, target: str) -> tuple[str, ...]:
    """The package that does a case's work on a target, and the arguments that select it; nothing if there is none."""
    constants: dict[str, Any] = case.constants
    if target == "sm_90a" and case.triton == "attention" and constants["N"] == 128:
        return "FlashAttention-3", "attention", target, str(constants["D"]), "causal" if constants["CAUSAL"] else "full"
    if target == "sm_90a" and case.name == "gemm 128x256x64 f16":
        return "CUTLASS", "gemm", target
    return ()


def package_cubin(python: str, asked: Sequence[str], target: str, folder: Path) -> Path | str:
    """A package's kernel compiled by the ptxas that all use, or the last line of its output."""
    from runtime.ptxas import assemble

    ptx = folder / "package.ptx"
    command = [python, str(Path(__file__).with_name("packages.py")), *asked, str(ptx)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr.strip().splitlines()[-1]
    cubin = folder / f"{'-'.join(asked)}.cubin"
    cubin.write_bytes(assemble(ptx.read_text(), target).binary)
    return cubin


def steady(cubin: Path, target: str, work: float) -> Steady | str:
    """The steady loop of a cubin."""
    from lowering.targets import target as target_of
    from runtime.ptxas import disassemble
    from tilesat.mca.flow import loops, product_loop
    from tilesat.mca.listing import functions
    from tilesat.mca.timing import timing
    from tilesat.mca.units import product

    found = functions(disassemble(cubin.read_bytes(), encodings=True))
    loop = product_loop([loop for function in found for loop in loops(function)])
    if loop is None:
        return "no loop of products"
    shapes = [(each.opcode, shape) for each in loop.path if (shape := product(each.opcode)) is not None]
    done = sum(prod(shape) * (1 if "GMMA" in opcode else WARPS) for opcode, shape in shapes) / work
    figures = timing(loop.path, target_of(target))
    total = sum(each.family != "NOP" for function in found for each in function.instructions)
    return Steady(
        len(loop.path), done, len(loop.path) / done, {unit: figures.counts[unit] / done for unit in UNITS},
        figures.alone / done, figures.with_warps(2) / done, figures.limit(2), total,
    )  # fmt: skip


def report(target: str, rows: dict[str, dict[str, Steady | str]]) -> Iterator[str]:
    """A table of Markdown: one line a case and compiler."""
    yield f"\n{target}: instructions for equal work\n"
    titles = ("", "path", "work", "**equal**", *UNITS, "cycles alone", "two warps", "limit", "SASS")
    yield f"| {' | '.join(titles)} |"
    yield "|---" * len(titles) + "|"
    for name, row in rows.items():
        for who, each in row.items():
            if isinstance(each, str):
                yield f"| {name}, {who} | {each} |" + " |" * (len(titles) - 2)
                continue
            cells = [f"{each.path}", f"{each.work:g}", f"**{each.equal:.0f}**"]
            cells += [f"{each.units[unit]:.0f}" for unit in UNITS]
            cells += [f"{each.alone:,.0f}", f"{each.shared:,.0f}", each.limit, f"{each.total:,}"]
            yield f"| {name}, {who} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
