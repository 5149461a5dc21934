"""The declared text forms (`TileOp.syntax`) cut into steps that the parser and the printer both follow."""

from __future__ import annotations

import enum
import re
from functools import cache
from typing import Any

from ir.core import OPS, Op, OperandGroup, OpInfo, Variadic
from ir.dialects.cuda_tile import TileOp
from ir.dialects.cuda_tile.attributes import TextEnum
from ir.records import dataclass

DIALECT = "cuda_tile."
SPELLINGS = {"pow": "fpowf", "preview_call": "preview$call"}
"""Mnemonics that NVIDIA's disassembler spells differently from the public dialect; both are read."""
OLD_SPELLINGS = {"print": "print_tko"}
"""Mnemonics of earlier versions, which are read and not written."""


class Kind(enum.IntEnum):
    """The meaning of one step of a text form."""

    LITERAL = 0  # punctuation or a fixed word
    OPERAND = 1
    VARIADIC = 2
    ATTRIBUTE = 3  # its value, always there
    OPTION = 4  # name<value>, absent at the default
    FLAG = 5  # a word, absent when false
    INTEGERS = 6  # [1, 0]
    SYMBOL = 7  # @name


@dataclass(frozen=True, slots=True)
class Step:
    """One element: `blank` is printed before it, `gap` where it is absent; an attribute has its Python type too."""

    kind: Kind
    name: str
    blank: str
    gap: str = ""
    value_kind: Any = None
    default: Any = None


@dataclass(frozen=True, slots=True)
class Form:
    """A text form: steps, then the names whose types are written before and after the arrow.

    `operand_slots` are the segments in which the parsed operands are passed to the op; `inferred` says that no result
    type is written, so that they follow from the operands.
    """

    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    groups: dict[str, OperandGroup]
    inferred: bool
    shared: bool
    flags: frozenset[str]
    """Optional keywords; several may follow each other in any order."""


_ELEMENT = re.compile(r"(\s*)(?:\$(\w+)|@\{(\w+)\}|\{(\w+)\}|<(\w+)>(_?)|(\w+)\?|\[(\w+)\]|(\w+|[^\w\s]))")


@cache
def form_of(cls: type[Op]) -> Form | None:
    """The declared form of an operation, None where it has a form of its own."""
    if not issubclass(cls, TileOp) or not cls.syntax:
        return None
    info = cls.info
    body, _, types = cls.syntax.rpartition(":")
    steps = tuple(_step(info, match) for match in _ELEMENT.finditer(body.rstrip()))
    before, arrow, after = types.partition("->")
    groups = {group.name: group for group in info.operands}
    inputs, outputs = _names(before), _names(after)
    if not arrow:  # only results are named: one type for all of them
        results = {result.name for result in info.results}
        outputs = tuple(name for name in inputs if name in results)
        inputs = tuple(name for name in inputs if name not in results)
    inferred = not outputs
    flags = frozenset(step.name for step in steps if step.kind == Kind.FLAG)
    return Form(steps, inputs, outputs, groups, inferred, not arrow and not inferred, flags)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in re.split(r"[,\s]+", text) if name)


def _step(info: OpInfo, match: re.Match[str]) -> Step:
    blank, operand, symbol, attribute, option, gap, flag, integers, literal = match.groups()
    blank = " " if blank else ""
    if operand:
        group = next(g for g in info.operands if g.name == operand)
        return Step(Kind.VARIADIC if isinstance(group, Variadic) else Kind.OPERAND, operand, blank)
    if literal:
        return Step(Kind.LITERAL, literal, blank)
    name = symbol or attribute or option or flag or integers
    attr = next(a for a in info.attributes if a.name == name)
    kinds = {Kind.SYMBOL: symbol, Kind.ATTRIBUTE: attribute, Kind.OPTION: option, Kind.FLAG: flag}
    kind = next((kind for kind, found in kinds.items() if found), Kind.INTEGERS)
    return Step(kind, name, blank, " " if gap else "", attr.kind, attr.default)


@cache
def enum_members(kind: type[TextEnum]) -> dict[str, TextEnum]:
    """The members of an attribute's enumeration by their text."""
    return {member.text: member for member in kind}


@cache
def classes() -> dict[str, type[Op]]:
    """The operations of cuda_tile by every word that may name them."""
    found = {name.removeprefix(DIALECT): cls for name, cls in OPS.items() if name.startswith(DIALECT)}
    found |= {spelling: found[name] for name, spelling in SPELLINGS.items()}
    found |= {spelling: found[name] for spelling, name in OLD_SPELLINGS.items()}
    return found | {DIALECT + name: cls for name, cls in found.items()}


@cache
def mnemonic(cls: type[Op]) -> str:
    """How the disassembler spells an operation."""
    plain = cls.info.mnemonic
    return SPELLINGS.get(plain, plain)
