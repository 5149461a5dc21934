"""Rules of the user's, tried before they are used: a rule with a counterexample is refused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from egraph.rulefile import Command
from egraph.soundness.check import Verdict, check
from ir.core import Location, TileError
from ir.records import dataclass

SEEDS = 12
"""Draws from so many seeds are searched for the counterexample that is read soonest."""
SAMPLES, TRIES = 16, 200
"""Samples of each rule, and draws to find them in: see docs/benchmarks.md (2026-11-24) for what they take."""


@dataclass(frozen=True)
class Checked:
    """Rules that samples satisfied, and those that could not be tried, each with its place and the reason."""

    tried: int
    untried: tuple[str, ...]

    def __str__(self) -> str:
        """In one line."""
        return f"{self.tried} rule{'s' * (self.tried != 1)} checked on {SAMPLES} samples each"


def checked(commands: Iterable[Command]) -> Checked:
    """Try every rule among the commands. Raises TileError, located, for one with a counterexample."""
    tried, untried = 0, list[str]()
    for command in commands:
        if not command.is_rule:
            continue
        verdict, place = _verdict(command), Location(command.file, command.line, command.column)
        if verdict.failure:
            hint = "correct the rule, or pass --unchecked (in Python unchecked=True) to use it anyway"
            raise TileError(f"rule '{command.name}' is wrong: {verdict.failure}", place, hint)
        if verdict.satisfied:
            tried += 1
        else:
            reason = verdict.reason or f"none of {verdict.tries} samples satisfies its left side"
            untried.append(f"{place}: rule '{command.name}' is not checked: {reason}")
    return Checked(tried, tuple(untried))


@cache
def _verdict(command: Command) -> Verdict:
    """What samples say; of counterexamples the shortest."""
    first = check(command, wanted=SAMPLES, tries=TRIES)
    others = [check(command, seed, SAMPLES, TRIES) for seed in range(SEEDS)] if first.failure else []
    return min((v for v in (first, *others) if v.failure), key=lambda v: len(v.failure), default=first)
