"""Which rules of a ruleset run in an iteration, and what is measured of each.

    turns      all rules search, then all are applied: egglog's own iteration
    alone      one rule after the other, each on what those before it made; rows are counted after each
    back-off   the same, and a rule with too many matches rests for some iterations, twice as long each time

The last two end at the fixpoint of the first where rules come to one; iterations and matches differ, and where rules
subsume terms, some may be left that the other order never made (596 and 598 nodes of a GEMM).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from egraph.engine import Engine, IterationReport
from egraph.rulefile import Command
from ir.records import dataclass

TURNS, ALONE, BACK_OFF = "turns", "alone", "back-off"
SCHEDULERS = (TURNS, ALONE, BACK_OFF)

APART = ("analysis", "canon", "algebra", "demand", "place", "isel")
COMBINED = {"placement": ("demand", "place", "isel")}
"""Rulesets that are combinations of others."""

MATCH_LIMIT, BAN_LENGTH = 1000, 5
"""Matches of a rule in one iteration, and iterations that it rests when it has more: those of egg's BackoffScheduler
(egg 0.10, run.rs). Here the matches that were too many are applied; egg drops them."""

_RULESET = re.compile(r":ruleset\s+[^\s()]+")


@dataclass(frozen=True)
class Rules:
    """Commands whose rules are in rulesets of their own, and those rulesets by the one that they were in."""

    commands: tuple[Command, ...]
    own: Mapping[str, tuple[tuple[str, str], ...]]
    """ruleset -> (the ruleset of one rule, the name of the rule), in the order of the files"""


def apart(commands: Iterable[Command]) -> Rules:
    """Give each rule a ruleset of its own. The combined rulesets stay empty and are not to be run."""
    found: dict[str, list[tuple[str, str]]] = {name: [] for name in APART}
    rulesets: list[Command] = []
    others: list[Command] = []
    for command in commands:
        if command.ruleset in found:
            own = f"{command.ruleset}.{len(found[command.ruleset])}"
            found[command.ruleset].append((own, command.name))
            rulesets.append(Command.of(f"(ruleset {own})", command.file, command.line))
            text = _RULESET.sub(f":ruleset {own}", command.text, count=1)
            others.append(replace(command, text=text, ruleset=own))
        else:
            others.append(command)
    own = {name: tuple(rules) for name, rules in found.items()}
    own |= {name: tuple(rule for part in parts for rule in own[part]) for name, parts in COMBINED.items()}
    return Rules((*rulesets, *others), own)


class Turns:
    """egglog's own iteration."""

    def step(self, engine: Engine, ruleset: str, phase: str, iteration: int) -> IterationReport:
        """One iteration; phase and number are for those who keep them."""
        return engine.run(ruleset)

    def rested(self) -> bool:
        """Does a rule rest that could have matched? Then nothing new does not mean saturated, and all run again."""
        return False


@dataclass
class Alone(Turns):
    """Each rule by itself."""

    own: Mapping[str, Sequence[tuple[str, str]]]

    def step(self, engine: Engine, ruleset: str, phase: str, iteration: int) -> IterationReport:
        """One after the other; rows counted after each that changed anything. What loads a program runs as one."""
        if ruleset not in self.own:
            return engine.run(ruleset)
        done = [(name, self.rule(engine, own, name)) for own, name in self.own[ruleset] if self.runs(name)]
        return IterationReport(
            ruleset,
            {rule: n for _, (each, _) in done for rule, n in each.matches.items()},
            {rule: s for _, (each, _) in done for rule, s in each.rule_seconds.items()},
            any(each.updated for _, (each, _) in done),
            sum(each.seconds for _, (each, _) in done),
            {name: grown for name, (each, grown) in done if each.matches},
        )

    def rule(self, engine: Engine, own: str, name: str) -> tuple[IterationReport, int]:
        """One rule, and the rows that the tables have more."""
        done = engine.run(own)
        return done, engine.growth() if done.updated else 0

    def runs(self, name: str) -> bool:
        """Is it the turn of a rule?"""
        return True


@dataclass
class BackOff(Alone):
    """Each rule by itself; one that matches too often rests."""

    resting: dict[str, int] = field(default_factory=dict[str, int])
    banned: dict[str, int] = field(default_factory=dict[str, int])
    """How often a rule had too many matches."""

    def rule(self, engine: Engine, own: str, name: str) -> tuple[IterationReport, int]:
        """One rule; too many matches let it rest."""
        done, grown = super().rule(engine, own, name)
        times = self.banned.get(name, 0)
        if sum(done.matches.values()) > MATCH_LIMIT << times:
            self.banned[name] = times + 1
            self.resting[name] = BAN_LENGTH << times
        return done, grown

    def runs(self, name: str) -> bool:
        """Not while it rests."""
        left = self.resting.get(name, 0)
        if left:
            self.resting[name] = left - 1
        return not left

    def rested(self) -> bool:
        """All that rest may run again."""
        found = any(self.resting.values())
        self.resting.clear()
        return found


def scheduler(name: str, own: Mapping[str, Sequence[tuple[str, str]]]) -> Turns:
    """The scheduler of a name in SCHEDULERS; `own` as `apart` gives it."""
    return Turns() if name == TURNS else Alone(own) if name == ALONE else BackOff(own)
