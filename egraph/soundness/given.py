"""Rules of the user's, tried before they are used: a rule with a counterexample is refused."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from egraph.engine import Engine
from egraph.facts import DECLARATIONS
from egraph.rulefile import Command, own_rules, read_commands
from egraph.soundness.check import Verdict, check
from egraph.terms import declarations
from ir.core import Location, TileError
from ir.records import dataclass

SEEDS = 12
"""Draws from so many seeds are searched for the counterexample that is read soonest."""
SAMPLES, TRIES = 20, 150
"""Samples of each rule, of whatever kind, and draws to find them in: docs/benchmarks.md says what they take."""
FEW = 6
"""Fewer samples than this are too few to rely on: a warning."""


@dataclass(frozen=True)
class Checked:
    """How many samples satisfied each rule that was tried; warnings about rules that none or few did, or that cannot be
    evaluated, each with its place, the reason and what to do.
    """

    samples: tuple[int, ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        """In one line."""
        number, least, most = len(self.samples), min(self.samples, default=0), max(self.samples, default=0)
        if not number:
            return "0 rules checked"
        each = f"{most} sample{'s' * (most != 1)}" if least == most else f"{least} to {most} samples"
        return f"1 rule checked on {each}" if number == 1 else f"{number} rules checked on {each} each"


def checked(commands: Iterable[Command]) -> Checked:
    """Try every rule among the commands. Raises TileError, located, for one that egglog refuses to load, and for one
    with a counterexample.
    """
    commands = list(commands)
    _load(commands)
    samples, warnings = list[int](), list[str]()
    for command in commands:
        if not command.is_rule:
            continue
        verdict, place = _verdict(command), Location(command.file, command.line, command.column)
        if verdict.failure:
            hint = "correct the rule, or pass --unchecked (in Python unchecked=True) to use it anyway"
            raise TileError(f"rule '{command.name}' is wrong: {verdict.failure}", place, hint)
        if verdict.satisfied:
            samples.append(verdict.satisfied)
        if verdict.satisfied < FEW:
            warnings.append(f"{place}: rule '{command.name}' is {_how_little(verdict)}")
    return Checked(tuple(samples), tuple(warnings))


def _load(commands: Iterable[Command]) -> None:
    """Let egglog read the commands: what it refuses has no samples."""
    tables = [command for command in own_rules() if not command.is_rule]
    Engine([*declarations(), *read_commands(DECLARATIONS, "<facts>"), *tables, *commands]).close()


def _how_little(verdict: Verdict) -> str:
    """Why a rule was tried on few samples or none, and what to do."""
    if verdict.reason:
        return f"not checked: {verdict.reason}"
    found = f"checked on only {verdict.satisfied} sample{'s' * (verdict.satisfied != 1)}"
    obstacle = f", mostly because of {verdict.obstacle}" if verdict.obstacle else ""
    what = found if verdict.satisfied else "not checked"
    return (
        f"{what}: {verdict.satisfied or 'none'} of {verdict.tries} random left sides satisfy it{obstacle}; loosen "
        "its guards or split the rule, or draw more: egraph.soundness.check_all(egraph.rulefile.read_file(path))"
    )


@cache
def _verdict(command: Command) -> Verdict:
    """What samples say; of counterexamples the shortest."""
    first = check(command, 0, SAMPLES, TRIES, grouped=1)
    others = [check(command, seed, SAMPLES, TRIES, grouped=1) for seed in range(SEEDS)] if first.failure else []
    return min((v for v in (first, *others) if v.failure), key=lambda v: len(v.failure), default=first)
