"""Running the rules: algebra and analyses to a fixpoint, then placement in turns with an oracle, under limits.

egglog has no limits of its own, so every iteration is one step from Python. Phase "algebra" repeats analyses to their
fixpoint, then one iteration of canon and algebra. Phase "placement" repeats demand, place and isel to their fixpoint,
then shows the rows of every `ask_...` relation to the oracle and loads its answers, until nothing is new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from egraph import facts, vocabulary
from egraph.encode import Program
from egraph.engine import Engine, IterationReport
from egraph.frozen import Frozen
from egraph.report import Report, Row, StopReason
from egraph.rulefile import own_rules, read_commands, select
from egraph.terms import declarations, packed
from egraph.userrules import user_rules

ALGEBRA, PLACEMENT = "algebra", "placement"

FAST_MATH = {"nsz": 0, "contract": 1}
"""Permissions for inexact rules, as rows of `allow`: no-signed-zeros, and contraction of a product and a sum."""


ROWS_PER_MATCH = 2
"""Rows that a budget of matches allows: the kernels under tests/data/programs end with 0.9 to 2.7 rows a match."""


@dataclass(frozen=True)
class Limits:
    """Counted work, and no clock: the same e-graph on any machine at any load.

    matches: of all rules over both phases; rows: of all tables; iterations: of one phase. The largest kernel under
    tests/data/programs ends after 7,731 matches with 12,092 rows in 80 iterations; facts walk one operation an
    iteration, so a chain of n operations takes n. These only stop a rule that grows without end; the report names the
    one that did.
    """

    matches: int = 200_000
    rows: int = 400_000
    iterations: int = 2000

    @staticmethod
    def of(budget: int | None, iterations: int) -> Limits:
        """The limits of a budget of matches; None: the default."""
        matches = Limits.matches if budget is None else budget
        return Limits(matches, ROWS_PER_MATCH * matches, iterations)


@dataclass(frozen=True)
class Query:
    """What placement asks of Python: `rows(name)` are all rows of a relation `ask_...`, `new(name)` the fresh ones."""

    relations: Mapping[str, list[tuple[int, ...]]]
    seen: Mapping[str, set[tuple[int, ...]]]

    def rows(self, name: str) -> list[tuple[int, ...]]:
        """Every row."""
        return self.relations.get(name, [])

    def new(self, name: str) -> list[tuple[int, ...]]:
        """Rows that no earlier query held."""
        known = self.seen.get(name, set())
        return [row for row in self.rows(name) if row not in known]


Oracle = Callable[[Query], Mapping[str, Sequence[tuple[int, ...]]]]


@dataclass
class Saturated:
    """The frozen e-graph of a program and how it came about."""

    frozen: Frozen
    report: Report
    program: Program


@dataclass
class _Run:
    """One program in one engine."""

    engine: Engine
    limits: Limits
    matches: int = 0
    report: Report = field(default_factory=Report)

    def step(self, phase: str, iteration: int, ruleset: str) -> bool:
        """One iteration of a ruleset, reported; True where it changed anything."""
        done = self.engine.run(ruleset)
        self.record(phase, iteration, done)
        return done.updated

    def record(self, phase: str, iteration: int, done: IterationReport) -> None:
        total = sum(done.matches.values())
        self.matches += total
        for rule, matches in done.matches.items():
            share = done.new_rows * matches / total
            self.report.rows.append(Row(phase, iteration, rule, matches, share, done.rule_seconds.get(rule, 0.0)))
        self.report.sizes.append((phase, iteration, self.engine.rows))

    def exceeded(self, iteration: int) -> StopReason | None:
        """The limit that is hit, if any."""
        if self.engine.rows > self.limits.rows:
            return StopReason.ROW_LIMIT
        if self.matches > self.limits.matches:
            return StopReason.MATCH_LIMIT
        return StopReason.ITERATION_LIMIT if iteration >= self.limits.iterations else None

    def fixpoint(self, phase: str, rulesets: Sequence[str], iteration: int = 0) -> tuple[int, StopReason]:
        """Iterate `rulesets`, each to its own fixpoint before the next, until none changes anything."""
        while True:
            changed = False
            for ruleset in rulesets:
                while self.step(phase, iteration, ruleset):
                    changed = True
                    iteration += 1
                    reason = self.exceeded(iteration)
                    if reason is not None:
                        return iteration, reason
                    if ruleset in ("canon", "algebra"):
                        break  # new terms get their facts before the next round of rewrites
            if not changed or len(rulesets) == 1:
                return iteration, StopReason.SATURATED

    def placement(self, oracle: Oracle) -> StopReason:
        """Demand, placement and selection in turns with the oracle, until it has nothing new to say to old questions.

        Answers to new questions may all be known already; what the oracle says when nothing is asked is still to come.
        """
        iteration = 0
        seen: dict[str, set[tuple[int, ...]]] = {}
        loaded: dict[str, set[tuple[int, ...]]] = {}
        while True:
            iteration, reason = self.fixpoint(PLACEMENT, ("placement",), iteration)
            if reason is not StopReason.SATURATED:
                return reason
            relations = self.engine.relations(("ask_",))
            query = Query(relations, seen)
            answers, asked = oracle(query), any(query.new(name) for name in relations)
            for name, rows in relations.items():
                seen.setdefault(name, set()).update(rows)
            new = {name: [r for r in rows if r not in loaded.get(name, ())] for name, rows in answers.items()}
            if not any(new.values()):
                if asked:
                    continue
                return StopReason.SATURATED
            for name, rows in new.items():
                loaded.setdefault(name, set()).update(rows)
            self.engine.load(new)


def ended(stop: Mapping[str, StopReason], limits: Limits) -> str:
    """The limit that ended a phase, in words."""
    counts = {
        StopReason.ROW_LIMIT: f"{limits.rows} rows",
        StopReason.MATCH_LIMIT: f"{limits.matches} matches",
        StopReason.ITERATION_LIMIT: f"{limits.iterations} iterations",
    }
    return " and ".join(f"{phase} at its limit of {counts[why]}" for phase, why in stop.items() if why in counts)


@dataclass(frozen=True)
class _Loaded:
    """An engine and the constructors that its rules know of."""

    engine: Engine
    constructors: frozenset[str]


class _Engines(threading.local):
    """The engines of one thread, by the user's rules and the rules left out."""

    def __init__(self) -> None:
        self.loaded: dict[tuple[tuple[str, ...], tuple[str, ...]], _Loaded] = {}


_ENGINES = _Engines()


def engine_for(
    rules: Sequence[Path | str] = (), without: Iterable[str] = (), operations: frozenset[str] | None = None
) -> Engine:
    """This thread's engine for our rules, the user's files `rules`, less those named by prefix in `without`.

    Only rules that a program of `operations` can use are loaded (all where it is None or there are user rules); a
    program that needs more replaces the engine by one that serves it and all before it.
    Raises TileError, located, for a file that cannot be read, that holds what egraph/userrules.py does not allow, or
    that egglog refuses.
    """
    extra = user_rules([Path(path) for path in rules])
    key = (tuple([f"{c.file}:{c.line}:{c.text}" for c in extra]), tuple(sorted(set(without))))
    rules_left = select([*own_rules(), *extra], without)  # what loads a program is no rule that could be left out
    commands = [*declarations(), *read_commands(facts.DECLARATIONS, "<facts>"), *rules_left]
    if operations is None or extra:
        operations = vocabulary.everything()
    found = _ENGINES.loaded.get(key)
    if found is None or found.engine.broken or not operations <= found.constructors:
        known = found.constructors if found is not None else frozenset[str]()
        wanted = vocabulary.reachable(commands, operations | known)
        found = _ENGINES.loaded[key] = _Loaded(Engine(vocabulary.usable(commands, wanted)), wanted)
    return found.engine


def saturate(
    program: Program,
    oracle: Oracle | None = None,
    rules: Sequence[Path | str] = (),
    without: Iterable[str] = (),
    limits: Limits | None = None,
    fast: Iterable[str] = (),
) -> Saturated:
    """Saturate an encoded kernel.

    `rules` are more rule files, `without` name prefixes of rules to leave out, `fast` the FAST_MATH permissions given.
    Raises TileError for bad rule files and for rules that contradict each other.
    """
    limits = limits or Limits()
    start = time.perf_counter()
    engine = engine_for(rules, without, vocabulary.operations(program.facts))
    ready = time.perf_counter()
    run = _Run(engine, limits)
    with engine.program():
        engine.load(packed(program.facts))
        engine.load({"allow": [(FAST_MATH[name],) for name in fast]})
        engine.run("load")
        loaded = time.perf_counter()
        _, run.report.stop[ALGEBRA] = run.fixpoint(ALGEBRA, ("analysis", "canon", "algebra"))
        algebra = time.perf_counter()
        if oracle is not None:
            run.report.stop[PLACEMENT] = run.placement(oracle)
        placed = time.perf_counter()
        frozen = engine.freeze()
    run.report.ended = ended(run.report.stop, limits)
    run.report.seconds = {
        "rules": ready - start,
        "load": loaded - ready,
        "algebra": algebra - loaded,
        "placement": placed - algebra,
        "freeze": time.perf_counter() - placed,
    }
    return Saturated(frozen, run.report, program)
