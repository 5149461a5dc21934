"""Running the rules: algebra and analyses to a fixpoint, then placement in turns with an oracle, under limits.

egglog has no limits of its own, so every iteration is one step from Python. Phase "algebra" repeats analyses to their
fixpoint, then one iteration of canon and algebra. Phase "placement" repeats demand, place and isel to their fixpoint,
then shows the rows of every `ask_...` relation to the oracle and loads its answers, until nothing is new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from egraph import facts, vocabulary
from egraph.encode import EncodedProgram
from egraph.engine import Engine
from egraph.frozen import Frozen
from egraph.permissions import allowed
from egraph.report import Iteration, Report, StopReason
from egraph.rulefile import Command, own_rules, permitted, read_commands, select
from egraph.schedulers import TURNS, Rules, Turns, apart, scheduler
from egraph.spreading import spread
from egraph.terms import declarations, packed
from egraph.userrules import user_rules
from ir.core import TileError
from ir.records import dataclass

if TYPE_CHECKING:
    from egraph.provenance import Recorder

ALGEBRA, PLACEMENT = "algebra", "placement"

NEEDED = ("analysis", "canon")
"""Rulesets that run to their end even where a limit has ended the rewrites."""

ATTEMPTS = (("analysis", "canon", "algebra"), NEEDED, ("analysis",))
"""Rulesets of the first phase. Where rules grow so far that what follows does not end, the next are taken: a program
without their terms is better than none."""

KEPT = frozenset({"instead"})
"""Relations of ours that are kept beside the user's: which replacements are permitted."""

ASK = "ask_"
"""What the names of relations start with that hold questions to the oracle."""

ROWS_PER_MATCH = 2
"""Rows that a budget of matches allows: the kernels under tests/data/programs end with 0.9 to 2.7 rows a match."""


MATCHES_PER_VALUE = 200
"""The kernels under tests/data/programs take 5 to 90 matches a value."""

MEASURED = 1000
"""Matches after which rows are counted: every 256 it took 4 % of the saturation of a large kernel."""

ITERATIONS, ITERATIONS_PER_VALUE = 400, 3
"""Facts walk one operation of a chain in each iteration, and so does demand that changes layouts. The largest kernel
under tests/data/programs takes 45 of a phase."""

NEVER = 1 << 62
"""An iteration that is not reached."""

PATIENCE = 32
"""Iterations of placement after which demand is followed along chains (`egraph.spreading`), twice as many each time
that they were not enough: no kernel under tests/data/programs takes so many between two answers of the oracle."""


@dataclass(frozen=True)
class Limits:
    """Counted work, and no clock: the same e-graph on any machine at any load.

    Of each phase, matches of all rules, rows that it adds to all tables, and iterations. The largest kernel under
    tests/data/programs ends after 7,731 matches with 12,092 rows in 80 iterations. These only stop a rule that grows
    without end; the report names the one that did.
    """

    matches: int = 200_000
    rows: int = 400_000
    iterations: int = ITERATIONS

    @staticmethod
    def of(
        program: EncodedProgram, budget: int | None = None, rows: int | None = None, iterations: int | None = None
    ) -> Limits:
        """The limits for a program, of a budget of matches, of rows or of iterations of a phase where one is given."""
        values = len(program.values)
        matches = Limits.matches + MATCHES_PER_VALUE * values if budget is None else budget
        return Limits(
            matches, rows or ROWS_PER_MATCH * matches, iterations or ITERATIONS + ITERATIONS_PER_VALUE * values
        )


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


@dataclass(frozen=True)
class Source:
    """What the engine was given beside the program: declarations and rules, the oracle's answers turn by turn,
    permissions.
    """

    commands: tuple[Command, ...]
    answers: tuple[Mapping[str, Sequence[tuple[int, ...]]], ...]
    fast: tuple[str, ...]


@dataclass
class Saturated:
    """The frozen e-graph of a program and how it came about."""

    frozen: Frozen
    report: Report
    program: EncodedProgram
    source: Source = field(default_factory=lambda: Source((), (), ()))
    recorder: Recorder | None = None
    """What was noted for provenance, where that was asked for."""


@dataclass
class _Run:
    """One program in one engine."""

    engine: Engine
    limits: Limits
    report: Report
    commands: tuple[Command, ...] = ()
    """The rules, where demand may be followed along chains."""
    scheduler: Turns = field(default_factory=Turns)
    counting: bool = False
    """Are rows counted after every iteration?"""
    asking: frozenset[str] = frozenset()
    """Names of the rules that ask the oracle."""
    asked: bool = True
    """Has any of them matched since questions were last read?"""
    matches: int = 0
    measured: int = 0
    """Matches when rows were last counted."""
    rows_before: int = 0
    ended: list[str] = field(default_factory=list[str])
    """The limits that ended phases, in words."""
    answers: list[Mapping[str, Sequence[tuple[int, ...]]]] = field(
        default_factory=list[Mapping[str, Sequence[tuple[int, ...]]]]
    )
    """What the oracle has said in each of its turns."""

    def stop(self, phase: str, reason: StopReason) -> bool:
        """Report the end of a phase; whether it came to its fixpoint."""
        if self.report.iterations and self.report.iterations[-1].rows is None:
            self.report.iterations[-1] = replace(self.report.iterations[-1], rows=self.measure())
        self.report.stop[phase] = reason
        if reason is not StopReason.SATURATED:
            self.ended.append(in_words(phase, reason, self.limits))
        return reason is StopReason.SATURATED

    def step(self, phase: str, iteration: int, ruleset: str) -> bool:
        """One iteration of a ruleset, reported; True where it changed anything."""
        done = self.scheduler.step(self.engine, ruleset, phase, iteration)
        self.matches += sum(done.matches.values())
        self.asked = self.asked or not self.asking.isdisjoint(done.matches)
        due = self.counting or self.matches - self.measured >= min(MEASURED, self.limits.matches)
        rows = self.measure() if due else None
        self.report.iterations.append(
            Iteration(phase, iteration, ruleset, done.matches, done.rule_seconds, done.seconds, rows, done.grown)
        )
        return done.updated

    def measure(self) -> int:
        """Count rows."""
        self.measured = self.matches
        self.engine.growth()
        return self.engine.rows

    def exceeded(self, iteration: int) -> StopReason | None:
        """The limit that is hit, if any."""
        if self.engine.rows - self.rows_before > self.limits.rows:
            return StopReason.ROW_LIMIT
        if self.matches > self.limits.matches:
            return StopReason.MATCH_LIMIT
        return StopReason.ITERATION_LIMIT if iteration >= self.limits.iterations else None

    def renew(self) -> None:
        """Count from here what a program cannot do without: a small budget ends rewrites, not this."""
        if self.matches > self.measured:
            self.measure()
        self.matches, self.measured, self.rows_before = 0, 0, self.engine.rows
        matches, rows = max(self.limits.matches, Limits.matches), max(self.limits.rows, Limits.rows)
        self.limits = Limits(matches, rows, self.limits.iterations)

    def algebra(self, rulesets: Sequence[str]) -> bool:
        """Rewrites until nothing is new or a limit ends them; whether the facts are whole, as they must be: what is not
        known yet of a value (the loops that it depends on) reads as if it were not so.
        """
        if self.stop(ALGEBRA, self.fixpoint(ALGEBRA, rulesets)[1]):
            return True
        self.renew()
        return self.fixpoint(ALGEBRA, NEEDED)[1] is StopReason.SATURATED

    def fixpoint(
        self, phase: str, rulesets: Sequence[str], iteration: int = 0, pause: int = NEVER
    ) -> tuple[int, StopReason]:
        """Iterate `rulesets`, each to its own fixpoint before the next, until none changes anything, or the iteration
        is `pause`.
        """
        quiet = 0  # rulesets, one after the other, that have found nothing since anything changed
        while True:
            for ruleset in rulesets:
                quiet += 1
                while self.step(phase, iteration, ruleset):
                    quiet = 1
                    iteration += 1
                    reason = self.exceeded(iteration)
                    if reason is not None or iteration >= pause:
                        return iteration, reason or StopReason.PAUSED
                    if ruleset in ("canon", "algebra"):
                        quiet = 0  # it may have more
                        break  # new terms get their facts before the next round of rewrites
                if quiet >= len(rulesets):
                    if not self.scheduler.rested():
                        return iteration, StopReason.SATURATED
                    quiet = 0

    def placed(self, iteration: int) -> tuple[int, StopReason]:
        """Demand, place and isel to their fixpoint. Where that takes long, demand is followed along chains."""
        patience = PATIENCE
        while True:
            pause = iteration + patience if self.commands else NEVER
            iteration, reason = self.fixpoint(PLACEMENT, ("placement",), iteration, pause)
            if reason is not StopReason.PAUSED:
                return iteration, reason
            self.engine.load(spread(self.engine, self.commands))
            patience *= 2

    def attempt(
        self,
        program: EncodedProgram,
        fast: Iterable[str],
        rulesets: Sequence[str],
        oracle: Oracle | None,
        *,
        last: bool,
    ) -> Frozen | None:
        """Both phases on a fresh e-graph; None where rewrites grew so far that the rest did not end. The last attempt
        takes what placement found until its limit.
        """
        seconds = self.report.seconds
        with self.engine.program():
            started = time.perf_counter()
            self.engine.load(packed(program.facts))
            self.engine.load({"allow": allowed(fast)})
            self.scheduler.step(self.engine, "load", "load", 0)
            self.report.loaded = self.measure() if self.counting else self.engine.rows
            loaded = time.perf_counter()
            whole = self.algebra(rulesets)
            rewritten = time.perf_counter()
            if not whole:
                return None
            self.renew()
            if oracle is not None and not self.stop(PLACEMENT, self.placement(oracle)) and not last:
                return None
            placed = time.perf_counter()
            frozen = self.engine.freeze()
        seconds |= {"load": loaded - started, "algebra": rewritten - loaded, "placement": placed - rewritten}
        seconds["freeze"] = time.perf_counter() - placed
        return frozen

    def placement(self, oracle: Oracle) -> StopReason:
        """Alternate demand, placement and selection with the oracle until it answers old questions with nothing new.

        All answers to new questions may be known already; the oracle's answer to no question is still needed then.
        """
        iteration = 0
        seen: dict[str, set[tuple[int, ...]]] = {}
        loaded: dict[str, set[tuple[int, ...]]] = {}
        relations: dict[str, list[tuple[int, ...]]] = {}
        answered = True
        while True:
            if answered:
                iteration, reason = self.placed(iteration)
                if reason is not StopReason.SATURATED:
                    return reason
            if self.asked:
                relations, self.asked = self.engine.relations((ASK,)), False
            query = Query(relations, seen)
            answers, asked = oracle(query), any(query.new(name) for name in relations)
            for name, rows in relations.items():
                seen.setdefault(name, set()).update(rows)
            new = {name: [r for r in rows if r not in loaded.get(name, ())] for name, rows in answers.items()}
            if any(new.values()):
                for name, rows in new.items():
                    loaded.setdefault(name, set()).update(rows)
                self.engine.load(new)
                self.answers.append(new)
                answered = True
            elif asked:
                answered = False
            else:
                return StopReason.SATURATED


def in_words(phase: str, reason: StopReason, limits: Limits) -> str:
    """The limit that ended a phase."""
    counts = {
        StopReason.ROW_LIMIT: f"{limits.rows} rows",
        StopReason.MATCH_LIMIT: f"{limits.matches} matches",
        StopReason.ITERATION_LIMIT: f"{limits.iterations} iterations",
    }
    return f"{phase} at its limit of {counts[reason]}"


@dataclass(frozen=True)
class _Loaded:
    """An engine, what its rules know of (`vocabulary.everything`), and those that are in rulesets of their own."""

    engine: Engine
    constructors: frozenset[str]
    commands: tuple[Command, ...]
    rules: Rules | None
    recorder: Recorder | None
    asking: frozenset[str]
    """Names of the rules that ask the oracle."""


MOST_ENGINES = 8
"""Engines that a thread keeps: each takes some 10 MB and 0.1 s to make, and a sweep goes through many sets of rules."""


PLAIN, APART, TRACED = "plain", "apart", "traced"
"""Kinds of engines."""


class _Engines(threading.local):
    """The engines of one thread, by the user's rules, the rules left out, the permissions, and whether rules run by
    themselves.
    """

    def __init__(self) -> None:
        self.loaded: dict[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str], _Loaded] = {}


_ENGINES = _Engines()


def engine_for(
    rules: Sequence[Path | str] = (),
    without: Iterable[str] = (),
    operations: frozenset[str] | None = None,
    fast: Iterable[str] = (),
) -> Engine:
    """This thread's engine for our rules, the user's files `rules`, less those named by prefix in `without` and those
    that need a permission that `fast` does not give.

    Only rules that a program of `operations` can use are loaded (all where it is None or there are user rules); a
    program that needs more replaces the engine by one that serves it and all before it.
    Raises TileError, located, for a file that cannot be read, that holds what egraph/userrules.py does not allow, or
    that egglog refuses.
    """
    return _loaded(rules, without, operations, fast, PLAIN).engine


def _loaded(
    rules: Sequence[Path | str],
    without: Iterable[str],
    operations: frozenset[str] | None,
    fast: Iterable[str],
    kind: str,
) -> _Loaded:
    """The same with what it was made of. `kind`: PLAIN, APART (each rule is in a ruleset of its own), or TRACED."""
    extra = user_rules([Path(path) for path in rules])
    given = tuple(sorted(set(fast)))
    key = (tuple([f"{c.file}:{c.line}:{c.text}" for c in extra]), tuple(sorted(set(without))), given, kind)
    if operations is None or extra:
        operations = vocabulary.everything()
    loaded = _ENGINES.loaded
    found = loaded.pop(key, None)
    if found is None or found.engine.broken or not operations <= found.constructors:
        known = found.constructors if found is not None else frozenset[str]()
        every = select([*own_rules(), *extra], without)  # rules that load a program cannot be left out
        found = _engine(permitted(every, given), extra, operations | known, kind)
    loaded[key] = found  # the last one used is the last to go
    while len(loaded) > MOST_ENGINES:
        loaded.pop(next(iter(loaded))).engine.close()
    return found


def _engine(rules: Sequence[Command], extra: Sequence[Command], operations: frozenset[str], kind: str) -> _Loaded:
    """An engine with the rules that a program of `operations` can use; `extra` are those of the user."""
    commands = [*declarations(), *read_commands(facts.DECLARATIONS, "<facts>"), *rules]
    wanted = vocabulary.reachable(commands, operations)
    usable = vocabulary.usable(commands, wanted)
    own = apart(usable) if kind == APART else None
    recorder = None
    if kind == TRACED:
        from egraph.provenance import Recorder  # for those who ask

        recorder = Recorder.of(usable)
    loading = usable if own is None else own.commands
    if recorder is not None:
        loading = recorder.commands(loading)
    kept = KEPT | {c.text.split()[1] for c in extra if c.head == "relation"}
    engine = Engine(loading, kept)
    asking = frozenset(c.name for c in usable if f"({ASK}" in c.text)
    return _Loaded(engine, wanted, tuple(usable), own, recorder, asking)


def saturate(
    program: EncodedProgram,
    oracle: Oracle | None = None,
    rules: Sequence[Path | str] = (),
    without: Iterable[str] = (),
    limits: Limits | None = None,
    fast: Iterable[str] = (),
    scheduling: str = TURNS,
    counting: bool = False,
    provenance: bool = False,
    ahead: frozenset[str] = frozenset(),
) -> Saturated:
    """Saturate an encoded kernel.

    `rules` are more rule files, `without` name prefixes of rules to leave out, `fast` the permissions given
    (egraph.permissions), `scheduling` one of `egraph.schedulers`; `counting`: rows are counted after every iteration;
    `provenance`: what each rule matches is noted, with the first of the schedulers only; `ahead`: operations of
    programs that follow, whose rules are loaded with those of this one.
    Raises TileError for bad rule files and for rules that contradict each other.
    """
    limits = limits or Limits()
    start = time.perf_counter()
    if provenance and scheduling != TURNS:
        raise TileError(f"provenance is recorded only with the scheduler {TURNS}, not with {scheduling}")
    kind = TRACED if provenance else PLAIN if scheduling == TURNS else APART
    fast = tuple(fast)
    loaded = _loaded(rules, without, vocabulary.operations(program.facts) | ahead, fast, kind)
    ready = time.perf_counter()
    report = Report()
    early: list[str] = []
    for rulesets in ATTEMPTS:
        report = Report(seconds={"rules": ready - start})
        recorder = None if loaded.recorder is None else loaded.recorder.fresh()
        turns = recorder or scheduler(scheduling, {} if loaded.rules is None else loaded.rules.own)
        followed = loaded.commands if recorder is None else ()  # what is followed has no rule to note
        run = _Run(loaded.engine, limits, report, followed, turns, counting or loaded.rules is not None, loaded.asking)
        frozen = run.attempt(program, fast, rulesets, oracle, last=rulesets == ATTEMPTS[-1])
        early += [text for text in run.ended if text not in early]
        if frozen is not None:
            report.ended = ", then ".join(early)
            source = Source(loaded.commands, tuple(run.answers), fast)
            return Saturated(frozen, report, program, source, recorder)
    raise TileError(
        f"the analysis facts do not reach a fixpoint: {', then '.join(early)}; most matches: {busiest(report)}",
        program.entry.location,
        "leave out the rules that grow without end (without=..., --without)",
    )


def busiest(report: Report) -> str:
    """The three rules with most matches."""
    return ", ".join(f"{rule} ({matches})" for rule, (matches, _, _) in list(report.by_rule().items())[:3])
