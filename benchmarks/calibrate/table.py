"""Counting all forms on a target, the resulting rows, and how they differ from the committed ones."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import lowering.targets
from benchmarks.calibrate.forms import Case
from benchmarks.calibrate.kernels import FORBIDDEN, micro, sizes, terms
from benchmarks.calibrate.sass import added, along_path, listings, per_element
from ir.core import TileError
from lowering.counts import FILE, PIPES, Counts, Form, Row, by_pipe, load, look_up
from lowering.targets import ALL_TARGETS

COUNTED: Mapping[str, str] = {
    "sm_80": "", "sm_89": "^ftof", "sm_90a": "", "sm_100a": "", "sm_100": "^ftof", "sm_120a": "", "sm_120": "^ftof",
}  # fmt: skip
"""Tiers that are counted, and for those that differ from another one only in conversions, which forms."""
LIKE: Mapping[str, str] = {
    "sm_86": "sm_80", "sm_89": "sm_80", "sm_90": "sm_90a",
    "sm_100": "sm_100a", "sm_103a": "sm_100a", "sm_103": "sm_100", "sm_110a": "sm_100a", "sm_110": "sm_100",
    "sm_120": "sm_120a", "sm_121a": "sm_120a", "sm_121": "sm_120",
}  # fmt: skip
"""Tiers that have the instructions of another one; `--check --targets` counts them too."""
PATH = Path(lowering.targets.__path__[0]) / FILE
TOLERANCE = 0.1
"""The tolerance of a price: ptxas's choice between a move and a select, or its order of constants."""
NOISE = 0.25
"""Instructions per element within which rows are merged: a move or an address in four elements."""
SLACK = 0.5
"""Instructions by which prices may differ regardless of their size: half an instruction per element is packing."""


def count(cases: Iterable[Case], target: str, forbid: Sequence[str] = FORBIDDEN) -> dict[Form, Counts]:
    """The cost of an element of each form on a target, without some atoms; forms that the target lacks are left out and
    reported.
    """
    texts, parts = dict[str, str](), dict[Form, list[tuple[int, str, str, int]]]()
    for number, case in enumerate(cases):
        try:
            kernels = [
                (times, [micro(case, body, f"k{number}_{at}_{size}", size, target, forbid) for size in sizes(case)])
                for at, (times, body) in enumerate(terms(case))
            ]
        except TileError as error:
            print(f"{target}: {case.form.key} was not counted: {error}", file=sys.stderr)
            continue
        texts |= {each.name: each.ptx for _, pair in kernels for each in pair}
        parts[case.form] = [(times, a.name, b.name, b.elements - a.elements) for times, (a, b) in kernels]
    functions = listings(texts, target)
    pipes: dict[str, Counter[str]] = {name: along_path(functions[name]) for name in texts}
    return {
        form: added((times, per_element(pipes[a], pipes[b], more)) for times, a, b, more in found)
        for form, found in parts.items()
    }


class Known(NamedTuple):
    """A row's counts for a tier, and their origin."""

    counts: Counts
    source: str


@dataclass(frozen=True)
class Difference:
    """A form whose count differs from the table."""

    target: str
    form: Form
    says: Counts
    found: Counts

    def __str__(self) -> str:
        return f"{self.target} {self.form.key}: {_text(self.says)} in the table, {_text(self.found)} counted"


def differences(found: Mapping[Form, Counts], table: Mapping[str, Counts], target: str) -> Iterator[Difference]:
    """The forms for which the table is wrong by more than the tolerance, on any pipe."""
    for form, counts in found.items():
        says = look_up(table, form) or {}
        pairs = [(says.get(pipe, 0.0), counts.get(pipe, 0.0)) for pipe in PIPES if not pipe.startswith("int_")]
        said, counted = (each.get("int_add", 0.0) + each.get("int_mul", 0.0) for each in (says, counts))
        pairs.append((said, counted))
        if not all(alike(a, b) for a, b in pairs):
            yield Difference(target, form, says, counts)


def alike(a: float, b: float) -> bool:
    """Whether two counts are equal within `TOLERANCE` and `SLACK`."""
    return abs(a - b) <= max(SLACK, TOLERANCE * max(a, b))


def near(a: Counts | None, b: Counts) -> bool:
    """Whether two counts give one price. Integer pipes are taken together: ptxas distributes adds and moves
    between them.
    """
    parts = [(each.get("int_add", 0.0) + each.get("int_mul", 0.0), each) for each in (a or {}, b)]
    others = [name for name in PIPES if not name.startswith("int_")]
    same = all(abs(parts[0][1].get(name, 0.0) - parts[1][1].get(name, 0.0)) <= NOISE for name in others)
    return a is not None and same and abs(parts[0][0] - parts[1][0]) <= NOISE


def needed(kept: Mapping[str, Known], found: Mapping[Form, Counts], source: str) -> dict[str, Known]:
    """The rows of a tier with those of the counted forms; forms already covered by other rows need none."""
    counted = {form.key for form in found}
    rows = {key: known for key, known in kept.items() if key not in counted}
    for form, counts in sorted(found.items(), key=lambda item: len(item[0].modifiers)):
        if not near(look_up({key: known.counts for key, known in rows.items()}, form), counts):
            rows[form.key] = Known(counts, source)
    return rows


def committed() -> dict[str, dict[str, Known]]:
    """The rows of the file by tier and form."""
    found: dict[str, dict[str, Known]] = {tier: {} for tier in ALL_TARGETS}
    for key, rows in load().items():
        for row in rows:
            for tier in row["tiers"].split():
                found[tier][key] = Known(by_pipe(row), row["source"])
    return found


def update(counted: Mapping[str, Mapping[Form, Counts]], source: str) -> None:
    """Write the counts, also for tiers equivalent to those counted."""
    tiers = committed()
    for tier, found in counted.items():
        for each in (name for name in tiers if next(filter(counted.__contains__, (name, *likes(name))), "") == tier):
            tiers[each] = needed(tiers[each], found, source)
    write(merged(tiers))


def likes(tier: str) -> list[str]:
    """The tiers to which a tier is equivalent, the nearest first."""
    found: list[str] = []
    while tier in LIKE:
        tier = LIKE[tier]
        found.append(tier)
    return found


def merged(tiers: Mapping[str, Mapping[str, Known]]) -> dict[str, list[Row]]:
    """The rows of all tiers by form, with equal ones merged."""
    found: dict[str, list[tuple[list[str], Known]]] = {}
    for tier, rows in tiers.items():
        for key, known in rows.items():
            rest = found.setdefault(key, [])
            agree = (on for on, row in rest if near(row.counts, known.counts) and row.source == known.source)
            same = next(agree, None)
            if same is None:
                rest.append(([tier], known))
            else:
                same.append(tier)
    return {
        key: [{"tiers": " ".join(on), **known.counts, "source": known.source} for on, known in rows]
        for key, rows in sorted(found.items())
    }


def write(rows: Mapping[str, Sequence[Row]]) -> None:
    """The file: one row per line."""
    lines = [
        f"  {json.dumps(key)}: [\n" + ",\n".join(f"    {json.dumps(row)}" for row in found) + "\n  ]"
        for key, found in rows.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _text(counts: Counts) -> str:
    return ", ".join(f"{name} {count:g}" for name, count in counts.items()) or "nothing"
