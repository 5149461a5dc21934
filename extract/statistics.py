"""What an extraction did, as a table for people."""

from __future__ import annotations

from typing import Final

from extract.answer import Moment, Report

MAX_MOMENTS: Final = 12
"""Rows of the history shown: the first and the last ones."""

COLUMNS: Final = ("nodes", "classes", "children", "groups")


def table(report: Report) -> str:
    """Sizes before and after simplification, its steps, and the best cost and the bound over time."""
    lines = [f"{'':16}" + "".join(f"{name:>10}" for name in COLUMNS)]
    for title, sizes in (("below the roots", report.before), ("simplified", report.after), ("undecided", report.left)):
        lines.append(f"{title:16}" + "".join(f"{sizes[name]:>10}" for name in COLUMNS))
    steps = ", ".join(f"{count} {step}" for step, count in report.steps.items())
    lines.append(f"{'in':16}{1e3 * report.simplifying:.1f} ms: {steps or 'nothing to simplify'}")
    lines += ["", f"{'seconds':>10}{'cost':>16}{'bound':>16}  by"]
    lines += [_row(moment) for moment in _shown(report.trace)]
    return "\n".join(lines)


def _row(moment: Moment) -> str:
    return f"{moment.seconds:>10.3f}{moment.cost:>16.10g}{moment.bound:>16.10g}  {moment.method}"


def _shown(trace: tuple[Moment, ...]) -> list[Moment]:
    half = MAX_MOMENTS // 2
    return [*trace] if len(trace) <= MAX_MOMENTS else [*trace[:half], *trace[-half:]]
