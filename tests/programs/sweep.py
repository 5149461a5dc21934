"""Random programs by the thousand, interpreter against simulator: `python -m tests.programs.sweep --count 5000`.

Each program is compiled for all targets from one e-graph, assembled, and run by the simulator in hazard mode on random
data. A line of JSON in --log for each program and target; a second run with the same log goes on where the first ended
and judges again what was wrong. The last lines sum up all of the log.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tilesat
from ir.core import UnsupportedError
from runtime.ptxas import assemble
from tests.programs.agents_random import nested
from tests.programs.generated import generated
from tests.programs.ordered import ordered
from tests.programs.program import Program, interpret, simulate
from tests.programs.promises_random import promised
from tilesat.execution import largest_error
from tilesat.kernel import Kernel

KINDS: dict[str, Callable[[int], Program]] = {
    "generated": generated, "ordered": ordered, "promised": promised, "nested": nested,
}  # fmt: skip
MIX = ("generated", "generated", "ordered", "generated", "promised", "generated", "ordered", "generated")
"""The kind of seed n is entry n modulo 8: most are tiles of every type, which meet the most rules. Nests of products
take a minute each: ask for them by --kinds.
"""

TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
OK, REFUSED, WRONG = "ok", "refused", "wrong"


def verdict(kernel: Kernel, program: Program, wanted: Sequence[Any], target: str, assembled: bool) -> str:
    """What is wrong with a compiled program; empty where nothing is."""
    if assembled:
        found = assemble(kernel.ptx, target)
        if found.warnings or found.infos:
            return f"ptxas: {(*found.warnings, *found.infos)[0]}"
    for position, (a, b) in enumerate(zip(simulate(kernel, program), wanted, strict=True)):
        if isinstance(a, np.ndarray) and (error := largest_error(a, b)) > program.tolerance:
            return f"argument {position} is {error:.3g} off"
    if program.expected is not None:
        for position, array in program.expected(*program.arguments()).items():
            if (error := largest_error(wanted[position], array)) > program.tolerance:
                return f"the interpreter's argument {position} is {error:.3g} off NumPy"
    return ""


def judge(program: Program, targets: Sequence[str], assembled: bool = True) -> Iterator[tuple[str, str, str]]:
    """(target, verdict, reason) for each target. Whatever is raised is wrong, but for a refusal in words."""
    try:
        kernels = tilesat.compile_for(program.source(), targets)
        wanted = interpret(kernels[0], program)
    except UnsupportedError as refusal:
        yield from ((target, REFUSED, str(refusal).splitlines()[0]) for target in targets)
        return
    except Exception as error:  # noqa: BLE001 (a traceback is a finding as much as a wrong number)
        yield from ((target, WRONG, f"{type(error).__name__}: {error}") for target in targets)
        return
    for target, kernel in zip(targets, kernels, strict=True):
        try:
            wrong = verdict(kernel, program, wanted, target, assembled)
        except Exception as error:  # noqa: BLE001
            wrong = f"{type(error).__name__}: {error}"
        yield target, WRONG if wrong else OK, wrong


def sweep(seeds: Sequence[int], targets: Sequence[str], log: Path, kinds: Sequence[str], assembled: bool) -> int:
    """Judge what the log does not have yet; returns how many are wrong in all of the log."""
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    verdicts: dict[tuple[str, str], str] = {(line["target"], line["program"]): line["verdict"] for line in lines}
    with log.open("a") as file:
        for seed in seeds:
            program = KINDS[kinds[seed % len(kinds)]](seed)
            missing = [target for target in targets if verdicts.get((target, program.name), WRONG) == WRONG]
            for target, found, reason in judge(program, missing, assembled) if missing else ():
                verdicts[target, program.name] = found
                entry = {"program": program.name, "target": target, "verdict": found, "reason": reason}
                file.write(json.dumps(entry) + "\n")
                file.flush()
                if found != OK:
                    print(f"{program.name} {target} {found}: {reason}", flush=True)
    counts = Counter((target, found) for (target, _), found in verdicts.items())
    for target in targets:
        of = {found: counts[target, found] for found in (OK, REFUSED, WRONG)}
        print(f"{target}: {sum(of.values())} programs, " + ", ".join(f"{n} {found}" for found, n in of.items()))
    return sum(n for (_, found), n in counts.items() if found == WRONG)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; 1 where anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.programs.sweep", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=100, help="programs (default 100)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--targets", default=",".join(TARGETS), help=f"default {','.join(TARGETS)}")
    parser.add_argument("--kinds", default=",".join(MIX), help=f"in turn, of {', '.join(KINDS)}; default a mix")
    parser.add_argument("--log", type=Path, default=Path("sweep.jsonl"), help="verdicts, kept and continued")
    parser.add_argument("--without-ptxas", action="store_true", help="do not assemble")
    given = parser.parse_args(argv)
    kinds = given.kinds.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"unknown kind {unknown[0]!r}: choose of {', '.join(KINDS)}")
    seeds = range(given.seed, given.seed + given.count)
    return int(sweep(seeds, given.targets.split(","), given.log, kinds, not given.without_ptxas) > 0)


if __name__ == "__main__":
    sys.exit(main())
