"""A target with changed numbers in its cost tables, for experiments: what if shuffles took twice as long?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from functools import cache

from ir.core import TileError
from lowering.targets.target import Latency, Rate, Target, Throughput

SOURCE = "given by the user"
TENSOR, LATENCY = "tensor.", "latency."


def changed(target: Target, rates: Iterable[tuple[str, float]]) -> Target:
    """The target with these rates replaced: a field of `Throughput`, `tensor.TYPE`, or `latency.FIELD`.

    Raises TileError for an unknown name, and for a number that is not above 0.
    """
    given = tuple(rates)
    return _changed(target, given) if given else target


def names(target: Target) -> list[str]:
    """The numbers of a target that can be changed."""
    own = [each.name for each in fields(Throughput) if each.name != "tensor"]
    return [
        *own,
        *(TENSOR + kind for kind in target.throughput.tensor),
        *(LATENCY + f.name.rstrip("_") for f in fields(Latency)),
    ]


@cache  # targets are compared by identity: one record for each table
def _changed(target: Target, rates: tuple[tuple[str, float], ...]) -> Target:
    throughput, latency = target.throughput, target.latency
    for name, value in rates:
        if name not in names(target):
            raise TileError(f"{target} has no rate {name!r}", hint=f"rates are {', '.join(names(target))}")
        if not value > 0:
            raise TileError(f"rate {name!r}: expected a number above 0, got {value:g}")
        rate = Rate(value, SOURCE)
        if name.startswith(TENSOR):
            throughput = replace(throughput, tensor={**throughput.tensor, name.removeprefix(TENSOR): rate})
        elif name.startswith(LATENCY):
            own = next(f.name for f in fields(Latency) if f.name.rstrip("_") == name.removeprefix(LATENCY))
            latency = replace(latency, **{own: rate})
        else:
            throughput = replace(throughput, **{name: rate})
    return replace(target, throughput=throughput, latency=latency)
