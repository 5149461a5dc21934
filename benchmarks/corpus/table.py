"""The tables of the corpus: which compiler compiles what, spills, lengths, seconds."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.corpus.compilers import Outcome

LONGER = 1.1
"""A whole kernel of more than this many times tileiras' instructions is listed."""
OTHERS = ("sm_100a", "sm_103a")
"""Targets whose products use the Blackwell tensor cores: tileiras' use of them is listed separately."""


@dataclass(frozen=True)
class Row:
    """One kernel on one target."""

    source: str
    kernel: str
    target: str
    ours: Outcome
    theirs: Outcome | None

    @property
    def ratio(self) -> float | None:
        """Whole SASS against tileiras'."""
        if self.theirs is None or not (self.ours.compiled and self.theirs.compiled):
            return None
        return self.ours.instructions / self.theirs.instructions

    @property
    def hot_ratio(self) -> float | None:
        """The largest ratio of the innermost loops, longest with longest, and so on; a loop that they lack is compared
        with one instruction, which counts as ours being longer.
        """
        if self.ratio is None or self.theirs is None:
            return None
        ours, theirs = self.ours.loops, self.theirs.loops
        if not ours:
            return 0.0
        if len(ours) > len(theirs):
            return sum(ours) / sum(theirs) if theirs else float("inf")
        return max(a / b for a, b in zip(ours, theirs, strict=False))

    @property
    def steady_ratio(self) -> float | None:
        """Instructions per multiply-add in the steady loops with products, our worst against theirs.

        A loop that is split at its masks has pieces with the same products; the piece without masks runs most often,
        and is the shortest. A kernel in slices has loops that each do a part of the work.
        """
        ours, theirs = (steady(each) if each is not None else [] for each in (self.ours, self.theirs))
        return max(ours) / max(theirs) if ours and theirs else None

    @property
    def longer(self) -> bool:
        """More than `LONGER` times tileiras' SASS, and with a longer hot loop."""
        return self.ratio is not None and self.ratio > LONGER and (self.hot_ratio or 0.0) > 1.0


def steady(outcome: Outcome) -> list[float]:
    """Instructions per multiply-add of a thread in each loop with products; for loops with the same products, in the
    shortest.
    """
    least: dict[float, int] = {}
    for length, done in outcome.work:
        least[done] = min(length, least.get(done, length))
    return [length / done for done, length in least.items()]


def report(rows: Sequence[Row], sources: Sequence[str], targets: Sequence[str]) -> str:
    """One row per source and target, then the kernels that lose."""
    lines = [
        "| source | target | kernels | compiled: ours | tileiras | spill: ours | tileiras | SASS: median ratio | "
        "above 1.1 | of these a hot loop longer | compile, CPU s: median | max |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for target in targets:
        for source in [*sources, "all"] if len(sources) > 1 else sources:
            here = [row for row in rows if row.target == target and source in (row.source, "all")]
            lines.append(_line(source, target, here))
    longer = [row for row in rows if row.longer]
    lines += ["", f"Above {LONGER} times tileiras' SASS with a longer hot loop:", ""]
    lines += [
        f"- {row.target} {row.source} {row.kernel}: {row.ours.instructions} to {row.theirs.instructions}, "
        f"loops {_loops(row.ours)} to {_loops(row.theirs)}{_steady(row)}"
        for row in longer
        if row.theirs is not None
    ]
    return "\n".join(lines)


def _line(source: str, target: str, rows: Sequence[Row]) -> str:
    theirs = [row.theirs for row in rows if row.theirs is not None]
    ratios = [row.ratio for row in rows if row.ratio is not None]
    seconds = [row.ours.seconds for row in rows if row.ours.compiled]
    above = [row for row in rows if row.ratio is not None and row.ratio > LONGER]
    cells = [
        source, target, len(rows), sum(row.ours.compiled for row in rows), sum(each.compiled for each in theirs),
        sum(row.ours.spills > 0 for row in rows), sum(each.spills > 0 for each in theirs),
        f"{statistics.median(ratios):.2f}" if ratios else "-", len(above), sum(row.longer for row in above),
        f"{statistics.median(seconds):.2f}" if seconds else "-", f"{max(seconds):.2f}" if seconds else "-",
    ]  # fmt: skip
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def _steady(row: Row) -> str:
    return "" if row.steady_ratio is None else f"; {row.steady_ratio:.2f} times for a multiply-add where it is steady"


def _loops(outcome: Outcome) -> str:
    return ", ".join(map(str, outcome.loops[:4])) + (" ..." if len(outcome.loops) > 4 else "") or "none"


def failures(rows: Iterable[Row]) -> str:
    """Everything that another engineer can take up: kernels that are rejected, spill, are longer, or compile slowly."""
    rows = list(rows)
    refused = [row for row in rows if not row.ours.compiled]
    groups: dict[str, list[Row]] = {}
    for row in refused:
        groups.setdefault(_cause(row.ours), []).append(row)
    lines = ["# Refused", ""]
    for cause, members in sorted(groups.items(), key=lambda item: -len(item[1])):
        kind = "TRACEBACK " if members[0].ours.defect else ""
        lines.append(f"## {kind}{cause} ({len(members)})\n")
        for row in members:
            also = " (tileiras refuses it too)" if row.theirs is not None and not row.theirs.compiled else ""
            lines.append(f"- {row.target} {row.source}/{row.kernel}{also}")
        lines.append("")
    lines += ["# Spills (LDL + STL, ours / tileiras)", ""]
    for row in sorted(rows, key=lambda row: -row.ours.spills):
        if row.ours.spills:
            lines.append(f"- {row.target} {row.source}/{row.kernel}: {row.ours.spills} / {_of(row, 'spills')}")
    lines += ["", "# Longer: ratio of SASS, ours / tileiras, innermost loops ours / tileiras, * a hot loop longer", ""]
    for row in sorted(rows, key=lambda row: -(row.ratio or 0)):
        if row.theirs is not None and row.ratio is not None and row.ratio > LONGER:
            lines.append(
                f"- {row.ratio:.2f}{'*' if row.longer else ''} {row.target} {row.source}/{row.kernel}: "
                f"{row.ours.instructions} / {row.theirs.instructions}; {_loops(row.ours)} / {_loops(row.theirs)}"
                f"{_steady(row)}"
            )
    lines += ["", "# Slow: CPU seconds of a warm compile", ""]
    for row in sorted(rows, key=lambda row: -row.ours.seconds)[:60]:
        lines.append(f"- {row.ours.seconds:.2f} {row.target} {row.source}/{row.kernel}")
    return "\n".join(lines) + "\n"


def _of(row: Row, field: str) -> object:
    if row.theirs is None:
        return "-"
    return getattr(row.theirs, field) if row.theirs.compiled else "refused"


def _cause(outcome: Outcome) -> str:
    """The message without its location, so that equal causes are grouped."""
    first = outcome.error.splitlines()[0]
    return first.partition(": error: ")[2] or first
