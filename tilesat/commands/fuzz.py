"""`tilesat fuzz`: random programs on every target; what is wrong is reduced and written as a test."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from egraph.permissions import check_permissions
from ir.core import TileError
from lowering.targets import target as target_named
from runtime.ptxas import PtxasNotFoundError, find
from tilesat.cli import FAILED, OK
from tilesat.fuzz.found import write_test
from tilesat.fuzz.judge import KINDS, MIX, WRONG, Judge, Verdict, likeness
from tilesat.fuzz.program import Made
from tilesat.fuzz.reduce import reduced, size
from tilesat.fuzz.sweep import Log, Sweep, unknown_kind
from tilesat.spec import SpecError

TIERS = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
"""Seven targets that differ in what they have."""
EXCLUDING = frozenset(("nnan", "ninf"))
"""Permissions for which arguments are finite."""
COUNT = 100
"""Programs where neither a number nor minutes are given."""


def run(arguments: argparse.Namespace) -> int:
    """Judge, tell of what is wrong, reduce it, sum up; 1 where anything is wrong."""
    targets = tuple(arguments.targets.split(",")) if arguments.targets else TIERS
    for each in targets:
        target_named(each)
    kinds = tuple(arguments.kinds.split(",")) if arguments.kinds else MIX
    if said := unknown_kind(kinds):
        raise SpecError(said)
    fast = tuple(name for name in arguments.fast.split(",") if name)
    check_permissions(fast)
    if "special" in kinds and (excluded := EXCLUDING.intersection(fast)):
        raise SpecError(f"kind 'special' has NaNs and infinities, which {min(excluded)} excludes: choose permitted")
    judge = Judge(tuple(map(str, arguments.rules)), _assembled(arguments), fast)
    count = arguments.programs or (None if arguments.minutes else COUNT)
    seconds = 60.0 * arguments.minutes if arguments.minutes else None
    scheduler = arguments.scheduler or ""
    sweep = Sweep(targets, judge, arguments.seed, count, seconds, kinds, arguments.jobs, scheduler)
    log = Log(arguments.log)
    seen: set[str] = set()
    for verdict in sweep.run(log):
        if verdict.found == WRONG:
            print(f"{verdict.program} for {verdict.target}: {verdict.reason}", flush=True)
            fault = likeness(verdict.reason)
            if fault not in seen and arguments.reduce:  # one test a fault
                seen.add(fault)
                _reduce(judge, verdict, arguments.output)
    print("\n".join(log.summary(targets)))
    return FAILED if log.wrong() else OK


def _assembled(arguments: argparse.Namespace) -> bool:
    """Whether PTX is assembled; prints a note if ptxas is missing."""
    if arguments.without_ptxas:
        return False
    try:
        find("ptxas")
    except PtxasNotFoundError as error:
        print(f"tilesat: warning: {error}; PTX is simulated and not assembled", file=sys.stderr)
        return False
    return True


def _reduce(judge: Judge, verdict: Verdict, folder: Path) -> None:
    """Write a test of the smallest program that is wrong in the same way."""
    kind, _, seed = verdict.program.partition("-")
    program, wanted = KINDS[kind](int(seed)), likeness(verdict.reason)
    assert isinstance(program, Made)
    reasons = [verdict.reason]

    def fails(candidate: Made) -> bool:
        found = next(iter(judge.judge(candidate, [verdict.target])))
        alike = found.found == WRONG and likeness(found.reason) == wanted
        if alike:
            reasons.append(found.reason)
        return alike

    try:
        small = reduced(program, fails)
    except TileError as error:  # a program that does not even read
        print(f"  not reduced: {error.message}")
        small = program
    path = write_test(folder, small, Verdict(program.name, verdict.target, WRONG, reasons[-1]), judge)
    before, after = (size(each) if len(reasons) > 1 else 0 for each in (program, small))
    shown = f"{before} operations reduced to {after}" if len(reasons) > 1 else "not reduced"
    print(f"  {shown}: {path}", flush=True)
