"""Instruction counts of elementwise operations on a target, by pipe: one row for each form and the tiers that share it.

The rows (`lowering/targets/counts.json`) are written by `python -m benchmarks.calibrate`, which counts the SASS of
micro-kernels; each row names its source. A form needs no row if `DECLARED`, or the row of the form without its last
modifiers, has the same counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ir.core import AttrField, Op, Type
from ir.dialects.cuda_tile import Rounding, Signedness
from ir.types import I32, SCALARS, TileType

Counts = Mapping[str, float]
"""Results by pipe of `Throughput` for an element; `issue`: instructions that take only an issue slot."""
Row = Mapping[str, Any]
FILE = "counts.json"
ISSUE = "issue"
PIPES = ("mufu", "fma_f32", "fma_f16", "fma_f64", "int_add", "int_mul", "convert", ISSUE)

DIVISION = 20  # integer instructions of a 32-bit division by a variable, beside MUFU; sm_80 SASS of ptxas 13.5
DECLARED: Mapping[str, tuple[str, float]] = {
    **dict.fromkeys(("addf", "subf", "mulf", "fma", "maxf", "minf"), ("fma_f32", 1.0)),
    **dict.fromkeys(("addi", "subi", "negi", "andi", "ori", "xori", "mini", "maxi", "absi"), ("int_add", 1.0)),
    **dict.fromkeys(("shli", "shri", "select", "cmpi", "cmpf", "absf", "negf"), ("int_add", 1.0)),
    **dict.fromkeys(("exti", "trunci", "bitcast"), ("int_add", 1.0)),
    **dict.fromkeys(("int_to_ptr", "ptr_to_int", "ptr_to_ptr", "get_global"), ("int_add", 1.0)),
    **dict.fromkeys(("muli", "mulhii"), ("int_mul", 1.0)),
    **dict.fromkeys(("ftof", "itof", "ftoi", "floor", "ceil"), ("convert", 1.0)),
    "offset": ("int_add", 2.0),  # of pointers; counted in sm_80 SASS of ptxas 13.5
    "get_index_space_shape": ("int_add", DIVISION),
}
"""Pipe and instructions of an element unless a row overrides them: those that the PTX printer emits. Two elements
of 16-bit floats share one.
"""
DIRECTED, DIRECTIONS = "directed", (Rounding.ZERO, Rounding.NEGATIVE_INF, Rounding.POSITIVE_INF)
"""The modifier for directed rounding of operations that round to nearest by default: all directions cost the same."""
CONSTANT = "constant"  # the modifier of a division by a constant
PACKED = frozenset({"addf", "subf", "mulf", "fma", "maxf", "minf", "negf", "absf"})
WORDS: Mapping[str, Mapping[int, str]] = {
    "signedness": {int(Signedness.UNSIGNED): "unsigned"},
    "flush_to_zero": {1: "ftz"},
    "propagate_nan": {1: "nan"},
    "saturating": {1: "saturating"},
}
"""The modifier for an attribute's integer; a rounding other than the operation's default adds its name."""


class Form(NamedTuple):
    """An operation on elements of some types: of its first operand and of its result, once if they are the same."""

    mnemonic: str
    modifiers: tuple[str, ...]
    types: tuple[str, ...]

    @property
    def key(self) -> str:
        """Its name in the data files: divf.full.ftz.f32, ftof.f32.f16."""
        return ".".join((self.mnemonic, *self.modifiers, *self.types))

    def nearest(self) -> Iterator[Form]:
        """This form, then the form without its last modifier, and so on."""
        return (self._replace(modifiers=self.modifiers[:kept]) for kept in range(len(self.modifiers), -1, -1))

    @property
    def bits(self) -> int:
        """Width of an element of the result; 64 for non-numbers such as pointers."""
        return SCALARS[self.types[-1]].width if self.types[-1] in SCALARS else 64


def modifiers(operation: type[Op], values: Mapping[str, int]) -> tuple[str, ...]:
    """The modifiers for the attributes of an operation, integers by name: rounding first, then in their order."""
    found: list[str] = []
    for attribute in operation.info.attributes:
        value = values.get(attribute.name, -1)
        if attribute.name == "rounding" and value >= 0 and value != _default(attribute):
            to_nearest = _default(attribute) == Rounding.NEAREST_EVEN
            found.insert(0, DIRECTED if to_nearest and value in DIRECTIONS else Rounding(value).text)
        elif (word := WORDS.get(attribute.name, {}).get(value)) is not None:
            found.append(word)
    return tuple(found)


def _default(attribute: AttrField) -> int:
    """The default integer of an attribute; -1 if it has none."""
    return int(attribute.default) if isinstance(attribute.default, int) else -1


def load() -> Mapping[str, Sequence[Row]]:
    """All rows by the key of a form: `tiers` with blanks between them, counts by pipe, `source`."""
    return json.loads((Path(__file__).parent / "targets" / FILE).read_text())


@cache
def rows(tier: str) -> Mapping[str, Counts]:
    """The counts of a tier by the key of a form; a family has those of the tier that it begins with."""
    tier = re.sub("f$", "a", tier)
    return {key: by_pipe(row) for key, found in _loaded().items() for row in found if tier in row["tiers"].split()}


def by_pipe(row: Row) -> Counts:
    """The counts of a row, without its metadata."""
    return {name: float(count) for name, count in row.items() if name in PIPES}


_loaded = cache(load)


@cache
def measured() -> frozenset[str]:
    """The mnemonics that have rows."""
    return frozenset(key.partition(".")[0] for key in _loaded())


def counts(tier: str, form: Form) -> Counts | None:
    """The counts for an element of a form on a tier; None for an operation in no table."""
    return look_up(rows(tier), form)


def look_up(table: Mapping[str, Counts], form: Form) -> Counts | None:
    """The row of a form or of the nearest one, otherwise the declared counts, otherwise the row of 32 bits."""
    for each in form.nearest():
        if (row := table.get(each.key)) is not None:
            return row
    found, plain = declared(form), [".".join((form.mnemonic, kind)) for kind in ("f32", "i32")]
    return next((table[key] for key in plain if key in table), None) if found is None else found


def declared(form: Form) -> Counts | None:
    """The entry of a form in `DECLARED`; None if there is none."""
    pipe, each = DECLARED.get(form.mnemonic, ("", 0.0))
    if pipe == "fma_f32" and form.bits == 64:
        pipe = "fma_f64"
    return {pipe: each / 2 if form.mnemonic in PACKED and form.bits == 16 else each} if pipe else None


def type_names(first: Type | None, result: Type | None) -> tuple[str, ...]:
    """The element types of an operand and a result as forms name them, once if they are the same."""
    names = (str(kind.element) if isinstance(kind, TileType) else str(I32) for kind in (first, result))
    return tuple(dict.fromkeys(names))
