"""What a saturation did: one row a rule and iteration, and why each phase stopped."""

from __future__ import annotations

import enum
from collections import defaultdict
from dataclasses import dataclass, field


class StopReason(enum.Enum):
    """Why a phase ended."""

    SATURATED = "saturated"
    ROW_LIMIT = "row limit"
    MATCH_LIMIT = "match limit"
    ITERATION_LIMIT = "iteration limit"


@dataclass(frozen=True, slots=True)
class Row:
    """One rule in one iteration. `new_rows`: growth is measured every few hundred matches and divided by matches.
    Seconds come from egglog, whose clock ticks in milliseconds.
    """

    phase: str
    iteration: int
    rule: str
    matches: int
    new_rows: float
    seconds: float


@dataclass
class Report:
    """All rows of a saturation, the reason each phase stopped, and wall-clock seconds by step."""

    rows: list[Row] = field(default_factory=list[Row])
    stop: dict[str, StopReason] = field(default_factory=dict[str, StopReason])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    sizes: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])
    """(phase, iteration, rows of all tables then) of every iteration; those of the last count"""
    ended: str = ""
    """The limit that ended a phase before its fixpoint, in words; empty where none did."""

    @property
    def saturated(self) -> bool:
        """True where no phase hit a limit."""
        return all(reason is StopReason.SATURATED for reason in self.stop.values())

    def matches(self, prefix: str = "") -> int:
        """Matches of all rules whose name starts with `prefix`."""
        return sum(row.matches for row in self.rows if row.rule.startswith(prefix))

    def __str__(self) -> str:
        return self.table(most=len(self.rows))

    def table(self, most: int = 20) -> str:
        """The rules with most matches, then how each phase ended."""
        total: dict[str, list[float]] = defaultdict(lambda: [0, 0, 0.0])
        for row in self.rows:
            entry = total[row.rule]
            entry[0] += row.matches
            entry[1] += row.new_rows
            entry[2] += row.seconds
        ordered = sorted(total.items(), key=lambda item: -item[1][0])[:most]
        lines = [f"{'rule':40} {'matches':>8} {'rows':>8} {'ms':>8}"]
        lines += [f"{rule:40} {int(m):8} {r:8.0f} {s * 1e3:8.1f}" for rule, (m, r, s) in ordered]
        lines += [f"phase {phase}: {reason.value}" for phase, reason in self.stop.items()]
        lines += [f"{step}: {seconds * 1e3:.1f} ms" for step, seconds in self.seconds.items()]
        return "\n".join(lines)
