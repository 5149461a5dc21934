"""What one run of an experiment found, as plain data: a row of the table, one JSON line of the file."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from egraph.report import RESOLUTION

Plain = TypeVar("Plain")
Cell: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Cell]
"""A row of the table by its columns."""


@dataclass(frozen=True)
class Growth:
    """The e-graph after an iteration; rows: of all tables, None where they were not counted."""

    phase: str
    iteration: int
    ruleset: str
    matches: int
    seconds: float
    rows: int | None


@dataclass(frozen=True)
class RuleUse:
    """A rule in an iteration, as the engine reports it; rows: that it added by itself, None where not measured."""

    phase: str
    iteration: int
    rule: str
    matches: int
    seconds: float
    rows: int | None


@dataclass(frozen=True)
class SassLoop:
    """An innermost loop of the assembled code: instructions of an iteration, by unit, and matrix products."""

    address: int
    instructions: int
    counts: dict[str, int]
    products: dict[str, int]


@dataclass(frozen=True)
class Saturation:
    """loaded: rows before the first iteration; rulesets: rows by ruleset, empty where they were not counted after each
    iteration; resolution: seconds by which the engine's clock ticks.
    """

    stop: dict[str, str]
    ended: str
    loaded: int
    rows: int
    matches: int
    values: int
    placed: int
    nodes: int
    seconds: dict[str, float]
    growth: tuple[Growth, ...]
    rules: tuple[RuleUse, ...]
    rulesets: dict[str, int]
    resolution: float = RESOLUTION


@dataclass(frozen=True)
class Extraction:
    """cost, bound: in cycles, or in what the user's cost function counts; table_cost: of the same program by the
    target's tables, which `parts` add up to; busy: cycles by unit.
    """

    method: str
    cost: float
    bound: float
    gap: float
    optimal: bool
    seconds: float
    ended: str
    nodes: int
    classes: int
    table_cost: float
    parts: dict[str, float]
    busy: dict[str, float]
    warps: int
    resources: dict[str, float]


@dataclass(frozen=True)
class Code:
    """What ptxas makes of it. spills: bytes of stores and loads; shared_memory: bytes of the CTA, static and
    dynamic."""

    registers: int
    spills: int
    shared_memory: int
    instructions: int
    loops: tuple[SassLoop, ...]


@dataclass(frozen=True)
class Checked:
    """A run on the simulator against the reference interpreter: the largest error, and what is allowed."""

    correct: bool
    error: float
    tolerance: float
    instructions: int


@dataclass(frozen=True)
class Record:
    """One run. `key` names it among all others; `error` says why there is nothing, or nothing more."""

    key: str
    kernel: str
    target: str
    configuration: str
    given: dict[str, str] = field(default_factory=dict[str, str])
    error: str = ""
    seconds: float = 0.0
    passes: dict[str, float] = field(default_factory=dict[str, float])
    saturation: Saturation | None = None
    extraction: Extraction | None = None
    ptx_lines: int = 0
    code: Code | None = None
    no_code: str = ""
    """Why there is no `code`: ptxas is not installed, or was not asked."""
    checked: Checked | None = None

    def to_json(self) -> str:
        """One line."""
        return json.dumps(dataclasses.asdict(self), allow_nan=True)

    @staticmethod
    def from_json(text: str) -> Record:
        """From `to_json`. Raises ValueError for anything else."""
        try:
            return _made(Record, json.loads(text))
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a record of this version: {error}") from error

    @property
    def compile_seconds(self) -> float:
        """Of all passes, also those whose result another run had made: `seconds` has what this run took."""
        return sum(self.passes.values())

    def row(self) -> Row:
        """The columns of the table; None where there is nothing."""
        s, e, c = self.saturation, self.extraction, self.code
        found: Row = {
            "kernel": self.kernel,
            "target": self.target,
            "configuration": self.configuration,
            "seconds": round(self.seconds, 4),
            "compile_seconds": round(self.compile_seconds, 4),
        }
        found |= {
            "stop": s and (s.ended or "saturated"),
            "rows": s and s.rows,
            "matches": s and s.matches,
            "nodes": s and s.nodes,
            "iterations": s and len(s.growth),
            "saturate_seconds": s and round(sum(s.seconds.values()), 4),
        }
        found |= {
            "cost": e and e.cost,
            "bound": e and e.bound,
            "gap": e and round(e.gap, 6),
            "method": e and e.method,
            "extract_seconds": e and round(e.seconds, 4),
            "table_cost": e and e.table_cost,
            "warps": e and e.warps,
        }
        for part in ("tensor", "alu", "memory", "latency"):
            found[part] = e and e.parts.get(part, 0.0)
        found |= {
            "ptx_lines": self.ptx_lines,
            "registers": c and c.registers,
            "spills": c and c.spills,
            "shared_memory": c and c.shared_memory,
            "sass": c and c.instructions,
            "loop": c and max((each.instructions for each in c.loops), default=0),
        }
        found |= {"correct": self.checked and self.checked.correct, "error": self.error}
        return found


def _made(cls: type[Plain], data: Mapping[str, object]) -> Plain:
    """A dataclass from what `asdict` made of it."""
    hints = typing.get_type_hints(cls)
    return cls(**{name: _value(hints[name], value) for name, value in data.items()})


def _value(hint: object, value: object) -> object:
    options = typing.get_args(hint)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return None if value is None else _value(next(each for each in options if each is not type(None)), value)
    if typing.get_origin(hint) is tuple:
        return tuple(_value(options[0], each) for each in cast("Sequence[object]", value))
    if not isinstance(hint, type) or not dataclasses.is_dataclass(hint):
        return value
    return _made(hint, cast("Mapping[str, object]", value))
