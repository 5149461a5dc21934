"""The forms of operations that are calibrated, derived from the declarations of the operations: types, flags,
roundings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from egraph.forms import PlacedForm, placed_classes
from ir.core import Block, Builder, Op, VerifyError
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.constraints import FLOAT, TileOp
from ir.dialects.cuda_tile.conversion import roundings_between
from ir.types import SCALARS, TileType
from lowering.counts import CONSTANT, DIRECTIONS, WORDS, Form, modifiers

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
WORDS_OF_MEMORY = ("i32", "i64")
"""Integers on which single instructions are measured: for narrower ones packing and unpacking would be included."""
NARROW = ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN", "tf32")
EXPANDED = frozenset({"divi", "remi", "mulhii", "absi", "fpowi"})
"""Operations that are measured on all integers."""
ON_POINTERS = frozenset({"int_to_ptr", "ptr_to_int", "ptr_to_ptr", "offset", "get_global"})
"""Operations on pointers, which tensors in memory do not hold."""


@dataclass(frozen=True)
class Case:
    """A form and how to write it: the types of its operands in memory, its result's, its attributes.

    constant: the second operand is a literal.
    """

    operation: type[TileOp]
    operands: tuple[str, ...]
    result: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constant: bool = False

    @property
    def form(self) -> Form:
        """As the cost tables name it."""
        values = {name: int(value) for name, value in self.attributes.items() if name in WORDS or name == "rounding"}
        flags = (*modifiers(self.operation, values), *((CONSTANT,) if self.constant else ()))
        types = tuple(dict.fromkeys((self.operands[0], self.result)))
        return Form(self.operation.info.name.partition(".")[2], flags, types)

    @property
    def narrowest(self) -> int:
        """Bits of its narrowest element."""
        return min(SCALARS[kind].width for kind in (*self.operands, self.result) if kind != "i1")

    @property
    def widest(self) -> int:
        """Bits of its widest element."""
        return max(SCALARS[kind].width for kind in (*self.operands, self.result))


def cases() -> list[Case]:
    """Every form once, those with fewer modifiers first."""
    found: dict[str, Case] = {}
    for case in (case for cls in _operations() for case in _of(cls)):
        if case.form.key not in found and legal(case):
            found[case.form.key] = case
    return sorted(found.values(), key=lambda case: (case.form.mnemonic, len(case.form.modifiers)))


def legal(case: Case) -> bool:
    """Whether the operation has these flags on these types."""
    kinds = [TileType((1,), SCALARS[kind]) for kind in case.operands]
    result = None if case.operation.info.results[0].like else [TileType((1,), SCALARS[case.result])]
    made = Builder(Block(kinds))
    try:
        made.add(case.operation, *made.block.args, types=result, **case.attributes).verify()
    except VerifyError:
        return False
    return True


def _operations() -> Iterator[type[TileOp]]:
    """The elementwise operations that are priced by the tables."""
    for cls in placed_classes():
        if not issubclass(cls, PlacedForm) or not issubclass(cls.operation, TileOp):
            continue
        if cls.operation.lowers_to and cls.title() not in ON_POINTERS:
            yield cls.operation


def _of(cls: type[TileOp]) -> Iterator[Case]:
    """The forms of an operation."""
    for operands, result in _types(cls):
        for attributes in _attributes(cls, operands[0], result):
            yield Case(cls, operands, result, attributes)
            if cls in (ct.DivI, ct.RemI) and operands[0] in WORDS_OF_MEMORY:
                yield Case(cls, operands, result, attributes, constant=True)


def _types(cls: type[TileOp]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Types of operands and result with which an operation is measured."""
    if cls is ct.FToF:
        every = (*FLOATS, *NARROW)
        yield from (((a,), b) for a, b in product(every, every) if a != b and (a in FLOATS or b in FLOATS))
    elif cls is ct.IToF:
        yield from (((a,), b) for a, b in product(INTEGERS, FLOATS))
    elif cls is ct.FToI:
        yield from (((a,), b) for a, b in product(FLOATS, INTEGERS))
    elif cls in (ct.ExtI, ct.TruncI):
        up = cls is ct.ExtI
        grows = ((a, b) for a, b in product(INTEGERS, INTEGERS) if SCALARS[a].width < SCALARS[b].width)
        yield from (((a,), b) if up else ((b,), a) for a, b in grows)
    elif cls is ct.Bitcast:
        yield from (((a,), b) for a, b in (("f32", "i32"), ("i32", "f32"), ("f64", "i64"), ("i64", "f64")))
    elif cls is ct.Select:
        yield from ((("i1", a, a), a) for a in (*FLOATS, *WORDS_OF_MEMORY))
    elif cls in (ct.CmpF, ct.CmpI):
        yield from (((a, a), "i1") for a in (FLOATS if cls is ct.CmpF else WORDS_OF_MEMORY))
    elif cls is ct.FPowI:
        yield from (((a, "i32"), a) for a in FLOATS)
    else:
        integers = INTEGERS if cls.info.name.partition(".")[2] in EXPANDED else WORDS_OF_MEMORY
        floating = cls.info.operands[0].check is FLOAT
        yield from (((a,) * len(cls.info.operands), a) for a in (FLOATS if floating else integers))


def _attributes(cls: type[Op], source: str, result: str) -> Iterator[Mapping[str, Any]]:
    """Values of the attributes that affect a price; `legal` leaves out those that are invalid."""
    choices: dict[str, tuple[Any, ...]] = {}
    for attribute in cls.info.attributes:
        if attribute.name == "rounding":
            between = roundings_between(SCALARS[source], SCALARS[result]) if cls is ct.FToF else tuple(ct.Rounding)
            choices["rounding"] = (between[0],) if cls is ct.FToF else between
        elif attribute.name == "signedness":
            choices["signedness"] = tuple(ct.Signedness)[::-1]
        elif attribute.name in ("flush_to_zero", "propagate_nan"):
            choices[attribute.name] = (False, True)
        elif attribute.name == "predicate":
            choices["predicate"] = (ct.Predicate.LESS_THAN,)
        elif attribute.name == "ordering":
            choices["ordering"] = (ct.Ordering.ORDERED,)
    for values in product(*choices.values()):
        found = dict(zip(choices, values, strict=True))
        if not (found.get("flush_to_zero") and found.get("rounding") in DIRECTIONS):
            yield found  # ftz is a flag of the same instructions
