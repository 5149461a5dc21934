"""What a saturation did: one record an iteration, with what each rule matched, and why each phase stopped."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import field

from ir.records import dataclass

RESOLUTION = 0.001
"""Seconds by which egglog's clock ticks (measured on egglog 13.2.0): a rule of less in an iteration reads as 0."""


class StopReason(enum.Enum):
    """Why a phase ended."""

    SATURATED = "saturated"
    ROW_LIMIT = "row limit"
    MATCH_LIMIT = "match limit"
    ITERATION_LIMIT = "iteration limit"
    PAUSED = "paused"
    """It has not stopped: more is loaded before it goes on."""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a ruleset. matches, seconds: by rule, as egglog reports them (`RESOLUTION`); took: wall-clock
    seconds of it all; rows: of all tables after it, None where they were not counted; grown: by rule, how many rows the
    tables had more after it than before, measured where each rule ran by itself (a union can leave fewer), else None.
    """

    phase: str
    number: int
    ruleset: str
    matches: Mapping[str, int]
    seconds: Mapping[str, float]
    took: float = 0.0
    rows: int | None = None
    grown: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One rule in one iteration. new_rows: measured, None where the rule did not run by itself. Seconds come from
    egglog, whose clock ticks in milliseconds.
    """

    phase: str
    iteration: int
    rule: str
    matches: int
    new_rows: int | None
    seconds: float


@dataclass(repr=False)
class Report:
    """All iterations of a saturation, the reason each phase stopped, and wall-clock seconds by step."""

    iterations: list[Iteration] = field(default_factory=list[Iteration])
    stop: dict[str, StopReason] = field(default_factory=dict[str, StopReason])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    loaded: int = 0
    """Rows of all tables before the first iteration."""
    ended: str = ""
    """The limit that ended a phase before its fixpoint, in words; empty where none did."""

    @property
    def saturated(self) -> bool:
        """True where no phase hit a limit."""
        return all(reason is StopReason.SATURATED for reason in self.stop.values())

    @property
    def rows(self) -> list[Row]:
        """What each rule matched in each iteration."""
        return [
            Row(each.phase, each.number, rule, matches, _grown(each, rule), each.seconds.get(rule, 0.0))
            for each in self.iterations
            for rule, matches in each.matches.items()
        ]

    @property
    def sizes(self) -> list[tuple[str, int, int]]:
        """(phase, iteration, rows of all tables after it), of the iterations after which rows were counted; the last
        one of each phase is among them.
        """
        return [(each.phase, each.number, each.rows) for each in self.iterations if each.rows is not None]

    @property
    def size(self) -> int:
        """Rows of all tables at the end."""
        return max(self.sizes[-1:], default=("", 0, self.loaded))[2]

    def matches(self, prefix: str = "") -> int:
        """Matches of all rules whose name starts with `prefix`."""
        return sum(n for each in self.iterations for rule, n in each.matches.items() if rule.startswith(prefix))

    def by_rule(self) -> dict[str, tuple[int, int | None, float]]:
        """Matches, rows (None where they were not measured) and seconds of each rule, most matches first."""
        found: dict[str, tuple[int, int | None, float]] = {}
        for row in self.rows:
            matches, new_rows, seconds = found.get(row.rule, (0, None, 0.0))
            grown = new_rows if row.new_rows is None else (new_rows or 0) + row.new_rows
            found[row.rule] = matches + row.matches, grown, seconds + row.seconds
        return dict(sorted(found.items(), key=lambda item: -item[1][0]))

    def by_ruleset(self) -> dict[str, int]:
        """Rows that the iterations of each ruleset added to all tables. Iterations after which rows were not counted go
        with the next one that has a count, so only a run that counts after each (`measure`) tells rulesets apart: empty
        elsewhere.
        """
        found: dict[str, int] = {}
        before = self.loaded
        for each in self.iterations:
            if each.rows is None:
                return {}
            found[each.ruleset] = found.get(each.ruleset, 0) + each.rows - before
            before = each.rows
        return found

    def __str__(self) -> str:
        return self.table(most=len(self.rows))

    def __repr__(self) -> str:
        """One line; `str` has all rules."""
        ended = self.ended or "saturated"
        return f"<Report: {len(self.iterations)} iterations, {self.matches()} matches, {self.size} rows, {ended}>"

    def _repr_html_(self) -> str:
        """The rules with most matches, for notebooks."""
        from html import escape

        return f"<pre>{escape(self.table(most=8))}</pre>"

    def table(self, most: int = 20) -> str:
        """The rules with most matches, then how each phase ended. Rows where they were measured."""
        ordered = list(self.by_rule().items())[:most]
        measured = any(grown is not None for _, (_, grown, _) in ordered)
        lines = [f"{'rule':40} {'matches':>8}{' {:>8}'.format('rows') if measured else ''} {'ms':>8}"]
        for rule, (matches, grown, seconds) in ordered:
            rows = f" {'-' if grown is None else grown:>8}" if measured else ""
            lines.append(f"{rule:40} {matches:8}{rows} {seconds * 1e3:8.0f}")
        lines += [f"phase {phase}: {reason.value}" for phase, reason in self.stop.items()]
        lines += [f"{step}: {seconds * 1e3:.1f} ms" for step, seconds in self.seconds.items()]
        return "\n".join(lines)


def _grown(iteration: Iteration, rule: str) -> int | None:
    return None if iteration.grown is None else iteration.grown.get(rule, 0)


def summed(counts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sums of numbers by name."""
    found: dict[str, float] = {}
    for each in counts:
        for name, number in each.items():
            found[name] = found.get(name, 0.0) + number
    return found
