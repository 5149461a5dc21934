"""The record of one compilation, from which every picture is drawn, as plain JSON-compatible data.

A place is a source line that something comes from; lines of all levels, values and operations of schedules refer to
places by number, which links them to each other. viz does not import lowering: `tilesat.pictures` fills the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

VERSION = 1
"""Of the form that `to_json` writes; incremented when a reader of the old form would misread the new one."""

Place = tuple[str, int, int]
"""File, line, column; 1-based, a line of 0 where only the file is known."""


@dataclass(frozen=True, slots=True)
class Level:
    """A program as text; `places[i]`: numbers of the places that line i comes from."""

    name: str
    lines: list[str]
    places: list[list[int]]


@dataclass(frozen=True, slots=True)
class Term:
    """An e-node of a value class, before placement. `kids`: numbers of values; `words`: its other columns; `rule`,
    `origin`: as of a way.
    """

    op: str
    kids: list[int] = field(default_factory=list[int])
    words: str = ""
    rule: str = ""
    origin: str = ""


@dataclass(slots=True)
class Value:
    """A class of equal values. `names` are those of the source, none where rewriting made it, and then `name` says what
    it is made of; `loop`: the number of the innermost loop that it needs, -1 outside of all. Cells of operand lists are
    no values: those who have a list as an operand have its elements.
    """

    name: str
    type: str = ""
    names: list[str] = field(default_factory=list[str])
    op: str = ""
    places: list[int] = field(default_factory=list[int])
    loop: int = -1
    terms: list[Term] = field(default_factory=list[Term])
    forms: list[int] = field(default_factory=list[int])


@dataclass(slots=True)
class Way:
    """An e-node of a placed class, or a way of an effect.

    text: what it does, in words; mechanism: how data travel, where they do; cost: SM cycles of one CTA over all
    iterations, None where it is not legal, and `reason` says why; parts: the same by pipe, empty where nothing is
    known; kids: numbers of forms; stages: of the ring that it fills; variants: nodes of the extraction graph that it
    stands for (one a number of stages or warps); runner_up: how much more the best program costs that has this in place
    of what was chosen; rule: the one that made it, and origin: when and from what; empty where that was not recorded.
    """

    op: str
    text: str
    atom: str = ""
    mechanism: str = ""
    cost: float | None = None
    reason: str = ""
    parts: dict[str, float] = field(default_factory=dict[str, float])
    kids: list[int] = field(default_factory=list[int])
    chosen: bool = False
    stages: int = 0
    variants: int = 1
    runner_up: float | None = None
    rule: str = ""
    origin: str = ""


@dataclass(slots=True)
class Form:
    """A placed class: a value in a layout. `layout`: its number, -1 for one that all threads hold alike; `second`: what
    would be chosen without what was, in words.
    """

    value: int
    layout: int = -1
    natural: bool = False
    """Is it computed in this layout, not converted to it?"""
    ways: list[Way] = field(default_factory=list[Way])
    second: str = ""


@dataclass(slots=True)
class Effect:
    """A store, an update or another operation that stays in order; `kids` of its ways are forms."""

    name: str
    places: list[int]
    loop: int = -1
    ways: list[Way] = field(default_factory=list[Way])


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of the source; `parent` is the number of the one around it, -1 for none. around: of each value that goes
    round it, the numbers of the values that it is before, in, at the end of an iteration, and after the loop.
    """

    name: str
    places: list[int]
    parent: int = -1
    trips: float = 1.0
    around: list[list[int]] = field(default_factory=list[list[int]])


@dataclass(frozen=True, slots=True)
class Layout:
    """Who holds which element, as XOR bases over the row-major element index. Registers have reg, lane and warp; shared
    memory has `offset`, the place of each element bit in elements of `bytes` bytes. `used`: the shapes of those tiles
    that the chosen program holds so.
    """

    name: str
    text: str
    shapes: list[list[int]] = field(default_factory=list[list[int]])
    used: list[list[int]] = field(default_factory=list[list[int]])
    reg: list[int] = field(default_factory=list[int])
    lane: list[int] = field(default_factory=list[int])
    warp: list[int] = field(default_factory=list[int])
    offset: list[int] = field(default_factory=list[int])
    bytes: int = 0

    @property
    def shared(self) -> bool:
        """Is it one of shared memory?"""
        return self.bytes > 0


@dataclass(frozen=True, slots=True)
class TensorTile:
    """A tile in tensor memory: each bit of the row-major element index adds (by XOR) to the lane, to the column behind
    `first` and to the bit within the column, as `bits` says. `columns` of them each of `stages` takes; `copies`: lanes
    further on, 32 by 32, that hold the same. `uses`: who begins products with it, writes and reads it, in words.
    `line`: its number in the level nv_tileas.
    """

    name: str
    text: str
    shape: list[int]
    bits: list[tuple[int, int, int]]
    first: int
    columns: int
    line: int = -1
    stages: int = 1
    copies: int = 0
    uses: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Step:
    """What an agent does at a barrier or a ring, or between them; `line`: its number in the level nv_tileas."""

    text: str
    line: int
    places: list[int]
    depth: int = 0
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """Warps that run the same code."""

    name: str
    warps: list[int]
    steps: list[Step]


@dataclass(frozen=True, slots=True)
class Ring:
    """Buffers that are filled and emptied in turn."""

    stages: int
    bytes: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a modulo schedule: slot in which it starts, iterations behind the newest one, slots that it is
    under way, share of each unit in each of them.
    """

    name: str
    start: int
    span: int
    uses: dict[str, float]
    places: list[int] = field(default_factory=list[int])


@dataclass(frozen=True, slots=True)
class Schedule:
    """A modulo schedule of an innermost loop, in slots of `slot` cycles; `table[unit][slot]` is what is taken of it."""

    name: str
    places: list[int]
    slot: float
    interval: int
    stages: int
    proved: bool
    bounds: str
    operations: list[Operation]
    table: dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a ruleset: matches and milliseconds by rule; rows of all tables after it, None where they were
    not counted.
    """

    phase: str
    ruleset: str
    rules: dict[str, list[float]]
    rows: int | None = None


@dataclass(slots=True)
class Record:
    """One compilation."""

    kernel: str
    target: str
    source: str
    figures: dict[str, object] = field(default_factory=dict[str, object])
    places: list[Place] = field(default_factory=list[Place])
    levels: list[Level] = field(default_factory=list[Level])
    values: list[Value] = field(default_factory=list[Value])
    forms: list[Form] = field(default_factory=list[Form])
    effects: list[Effect] = field(default_factory=list[Effect])
    loops: list[Loop] = field(default_factory=list[Loop])
    layouts: list[Layout] = field(default_factory=list[Layout])
    tensor_tiles: list[TensorTile] = field(default_factory=list[TensorTile])
    tensor_columns: int = 0
    """Columns of tensor memory that the CTA allocates."""
    agents: list[Agent] = field(default_factory=list[Agent])
    rings: list[Ring] = field(default_factory=list[Ring])
    schedules: list[Schedule] = field(default_factory=list[Schedule])
    saturation: list[Iteration] = field(default_factory=list[Iteration])
    stopped: dict[str, str] = field(default_factory=dict[str, str])
    version: int = VERSION

    @property
    def title(self) -> str:
        """Kernel and target."""
        return f"@{self.kernel} for {self.target}"

    def level(self, name: str) -> Level | None:
        """A level by its name."""
        return next((each for each in self.levels if each.name == name), None)


def to_json(record: Record) -> str:
    """The record as JSON on one line; fields that hold their default are left out."""
    return json.dumps(record, default=_plain, separators=(",", ":"), ensure_ascii=False)


def _plain(each: object) -> dict[str, object]:
    """A dataclass without the fields that hold their default."""
    if not is_dataclass(each) or isinstance(each, type):
        raise TypeError(f"a record cannot hold {type(each).__name__}")
    found: dict[str, object] = {}
    for name, default in _defaults(type(each)):
        value = getattr(each, name)
        if value != default or name == "version":
            found[name] = round(value, 3) if isinstance(value, float) else _rounded(value)
    return found


def _rounded(value: object) -> object:
    """Mappings of floats with three digits behind the point."""
    if isinstance(value, Mapping):
        return {key: round(each, 3) if isinstance(each, float) else each for key, each in value.items()}  # type: ignore[misc]
    return value


_DEFAULTS: dict[type, list[tuple[str, object]]] = {}


def _defaults(kind: type[DataclassInstance]) -> Sequence[tuple[str, object]]:
    """Field names of a dataclass with their defaults; nothing equals that of a field without one."""
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = [
            (each.name, each.default if each.default_factory is MISSING else each.default_factory())
            for each in fields(kind)
        ]
    return _DEFAULTS[kind]
