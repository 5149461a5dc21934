"""Every method on one graph: `python -m extract --compare FILE`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from extract.answer import Answer
from extract.errors import ExtractionError
from extract.graph import Graph
from extract.methods import METHODS, extract


@dataclass(frozen=True)
class Outcome:
    """A method's answer, or None and the reason; wall-clock seconds including preparation."""

    method: str
    answer: Answer | None
    seconds: float
    reason: str = ""


def compare(
    graph: Graph, methods: Sequence[str] = METHODS, *, budget: float | None = None, time_limit: float | None = None
) -> list[Outcome]:
    """The methods one after the other, each on a copy of the graph with nothing worked out yet."""
    found: list[Outcome] = []
    for method in methods:
        fresh, start = graph.copy(), time.perf_counter()
        try:
            answer, reason = extract(fresh, method, budget=budget, time_limit=time_limit), ""  # pyright: ignore[reportArgumentType]
        except ExtractionError as error:
            answer, reason = None, str(error)
        found.append(Outcome(method, answer, time.perf_counter() - start, reason))
    return found


def lines(outcomes: Sequence[Outcome]) -> list[str]:
    """The table as text; the last column shows how much more than the best a method's answer costs."""
    best = min((each.answer.cost for each in outcomes if each.answer), default=math.nan)
    bound = max((each.answer.bound for each in outcomes if each.answer), default=math.nan)
    made = [f"{'method':8} {'cost':>14} {'bound':>14} {'gap':>8} {'ms':>9} {'nodes':>7} {'above best':>11}"]
    for each in outcomes:
        answer = each.answer
        if answer is None:
            made.append(f"{each.method:8} none: {each.reason}")
            continue
        above = (answer.cost - best) / abs(best) if best else answer.cost - best
        gap = f"{100 * answer.gap:.2f} %" if math.isfinite(answer.gap) else "-"
        made.append(
            f"{each.method:8} {answer.cost:14.10g} {answer.bound:14.10g} {gap:>8} {1e3 * each.seconds:9.1f} "
            f"{len(answer.chosen):7} {100 * above:9.2f} %"
        )
    if not math.isnan(best):
        made.append(f"no answer costs less than {bound:.10g}")
    return made
