"""CPU time of compiling many kernels, by stage, next to another checkout of this project in the same run.

python -m benchmarks.compile_time DIR [--against CHECKOUT] [--target sm_80,sm_90a] [--only TEXT] [--every N] [--json
OUT.json]

Compiles DIR/<target>/**/*.bc, the bytecode that `benchmarks.corpus` exports (its --work DIR has it under bytecode), one
process per checkout, in turns: other work on the machine disturbs both equally. Each kernel is compiled once in a
process that has compiled another before (warm). Seconds are CPU seconds of `tilesat.compile`; those of a stage are its
share of the wall-clock seconds. Also reports where the two print different PTX, and the costs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve()
GOALS = {"median": 0.2, "largest": 2.0}  # CPU seconds
SERVE = "--serve"


@dataclass(frozen=True)
class Outcome:
    """One kernel by one checkout."""

    cpu: float
    stages: dict[str, float]
    """CPU seconds of each stage."""
    cost: float
    bound: float
    ptx: str
    """A hash of the text."""
    failed: str


class Checkout:
    """A process that compiles with the sources of one checkout."""

    def __init__(self, root: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(root)}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE), SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=environment, cwd=root,
        )  # fmt: skip

    def compile(self, path: Path, target: str) -> Outcome:
        """Raises RuntimeError if the process has died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([str(path), target]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process that compiled {path} for {target} died")
        return Outcome(**json.loads(line))


def serve() -> None:
    """Compile the files named on standard input, one per line."""
    sys.path.remove(str(HERE.parent))  # the folder of this script, which contains its own `tileiras`
    warnings.simplefilter("ignore")  # of hints
    for line in sys.stdin:
        path, target = json.loads(line)
        print(json.dumps(asdict(measured(path, target))), flush=True)


def measured(path: str, target: str) -> Outcome:
    """One compilation in this process."""
    import tilesat
    from ir.core import TileError

    before, wall = time.process_time(), time.perf_counter()
    try:
        kernel = tilesat.compile(path, target)
    except TileError as error:
        return Outcome(time.process_time() - before, {}, 0.0, 0.0, "", str(error).splitlines()[0])
    cpu, wall = time.process_time() - before, time.perf_counter() - wall
    stages = {name: seconds * cpu / wall for name, seconds in kernel.seconds.items()}
    return Outcome(cpu, stages, kernel.cost, kernel.bound, hashlib.sha256(kernel.ptx.encode()).hexdigest()[:12], "")


def main() -> None:
    arguments = _arguments()
    roots = [HERE.parents[1], *([arguments.against.resolve()] if arguments.against else [])]
    checkouts = [Checkout(root) for root in roots]
    rows: list[tuple[str, list[Outcome]]] = []
    for target in arguments.target.split(","):
        paths = sorted((arguments.folder / target).rglob("*.bc"))[:: arguments.every]
        for number, path in enumerate(path for path in paths if arguments.only in path.name):
            for checkout in checkouts if not rows and not number else ():
                checkout.compile(path, target)  # the first pays for imports and tables
            turns = checkouts[::-1] if number % 2 else checkouts
            found = {id(checkout): checkout.compile(path.resolve(), target) for checkout in turns}
            row = (f"{target} {path.parent.name} {path.stem}", [found[id(checkout)] for checkout in checkouts])
            rows.append(row)
            print(line(*row), file=sys.stderr, flush=True)
    if not rows:
        raise SystemExit(f"no bytecode for {arguments.target} in {arguments.folder}")
    print(report(rows))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({name: [asdict(each) for each in row] for name, row in rows}, indent=1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_time", description="CPU time of compilations")
    parser.add_argument("folder", type=Path, metavar="DIR", help="holds a folder of bytecode a target")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout, measured in turns")
    parser.add_argument("--target", default="sm_80,sm_90a")
    parser.add_argument("--only", default="", metavar="TEXT", help="kernels whose file name holds TEXT")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="one kernel of N: a quick look")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


def line(name: str, outcomes: list[Outcome]) -> str:
    """One kernel."""
    ours = outcomes[0]
    if ours.failed:
        return f"{'':7}  {name}: {ours.failed}"
    stages = " ".join(f"{stage} {seconds:.2f}" for stage, seconds in ours.stages.items() if seconds >= 0.01)
    ratio = f"  {ours.cpu / outcomes[1].cpu:4.2f} x" if len(outcomes) > 1 else ""
    return f"{ours.cpu:7.2f}{ratio}  {name}: {stages}{difference(outcomes)}"


def difference(outcomes: list[Outcome]) -> str:
    """Differences of PTX: their costs."""
    if len({each.ptx for each in outcomes}) == 1:
        return ""
    ours, theirs = outcomes
    if theirs.failed:
        return f"; there: {theirs.failed}"
    return f"; other PTX: cost {theirs.cost:.8g} -> {ours.cost:.8g}"


def report(rows: list[tuple[str, list[Outcome]]]) -> str:
    """All kernels together, and the slowest."""
    parts = [f"{len(rows)} compilations"]
    for place, who in enumerate(("this checkout", "the other one")[: len(rows[0][1])]):
        parts.append(f"{who}: {totals([row[place] for _, row in rows])}")
    slowest = sorted(rows, key=lambda row: -row[1][0].cpu)[:20]
    parts += ["the slowest:", *(line(*row) for row in slowest)]
    if len(rows[0][1]) > 1:
        changed = [line(*row) for row in rows if difference(row[1])]
        parts += [f"other PTX: {len(changed)}", *changed]
    return "\n".join(parts)


def totals(outcomes: Iterable[Outcome]) -> str:
    """Median, largest and sum, with the goals of the first two; sums of the stages."""
    done = [each for each in outcomes if not each.failed]
    seconds = [each.cpu for each in done]
    if not seconds:
        return "nothing compiled"
    stages: dict[str, float] = {}
    for each in done:
        for stage, spent in each.stages.items():
            stages[stage] = stages.get(stage, 0.0) + spent
    slow = sum(each > GOALS["largest"] for each in seconds)
    return (
        f"median {statistics.median(seconds):.3f} (goal {GOALS['median']}), largest {max(seconds):.2f} (goal "
        f"{GOALS['largest']}), {slow} above that, sum {sum(seconds):.1f} CPU s: "
        + ", ".join(f"{stage} {spent:.1f}" for stage, spent in stages.items())
    )


if __name__ == "__main__":
    serve() if SERVE in sys.argv else main()
