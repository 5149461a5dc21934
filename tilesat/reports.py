"""Tables of what passes took and counted, for standard error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def time_table(seconds: Mapping[str, float], target: str) -> str:
    """One line a pass, in the order of the road, and the total."""
    rows = [*seconds.items(), ("total", sum(seconds.values()))]
    width = max(len(stage) for stage, _ in rows)
    return "\n".join([f"seconds for {target}:", *(f"  {stage:<{width}}  {spent:8.4f}" for stage, spent in rows)])


def statistics_table(counts: Mapping[str, Mapping[str, float]], target: str) -> str:
    """One line a statistic, in the order of the passes."""
    return "\n".join([f"statistics for {target}:", *_statistics(counts)])


def _statistics(counts: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    from lowering.passes.table import PASSES

    width = max(map(len, counts), default=0)
    for name, numbers in counts.items():
        for each in PASSES[name].statistics:
            yield f"  {name:<{width}}  {numbers[each.name]:12g} {each.doc}"
