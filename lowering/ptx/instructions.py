"""PTX of declared instructions: fills the holes of the text that each class gives (grammar: `ir.instruction`).

A text is parsed once per class, at its first instruction, into lines of pieces: text, or a function that adds text.
Lines are emitted last to first, as selection walks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from functools import cache
from typing import Any

from ir.checked import checked
from ir.core import Attr, Operand, OperandGroup, OptionalOperand, Result, Value, VariadicResult
from ir.dialects import llvm
from ir.instruction import Instruction, register_bits
from ir.records import dataclass
from lowering.ptx.machine import Copy, bit_pattern, immediate, move_type
from lowering.ptx.select import Selector, lowers

HOLE = re.compile(
    r"\[\{(?P<address>\w+)\}\]|(?<!\{)\{(?P<name>\w+)"
    r"(?:\.(?P<index>\d+)|(?:=(?P<value>\w+))?\?(?P<suffix>[.\w]+)|(?::(?P<how>\w+))?(?:\|(?P<other>\w+))?)\}"
)
GUARD = re.compile(r"@(!?)\{(\w+)\} ")


@dataclass(slots=True)
class Filled:
    """A line being filled: text, registers in the order of its holes, definitions and uses."""

    s: Any  # the Selector
    op: Instruction
    own: dict[str, Value]
    label: str
    args: list[Value] = field(default_factory=list[Value])
    defs: list[Value] = field(default_factory=list[Value])
    uses: list[Value] = field(default_factory=list[Value])

    def read(self, ask: Callable[[Value, list[Value]], str], value: Value) -> str:
        """An operand's text; a register of it becomes an argument."""
        uses = self.uses
        before = len(uses)
        text = ask(value, uses)
        self.args += uses[before:]
        return text

    def write(self, value: Value) -> str:
        """A result's hole."""
        self.args.append(value)
        self.defs.append(value)
        return "%s"

    def register(self, value: Value) -> str:
        """A register that the operation itself holds, as an operand."""
        self.args.append(value)
        self.uses.append(value)
        return "%s"


Piece = Callable[[Filled], str]


@dataclass(frozen=True, slots=True)
class Line:
    """The pieces of one line."""

    pieces: tuple[Piece | str, ...]
    guarded: bool

    def fill(self, filled: Filled) -> str:
        """The text, with a hole for each register."""
        return "".join([piece if isinstance(piece, str) else piece(filled) for piece in self.pieces])


@lowers(Instruction)
def print_instruction(s: Selector, op: Instruction) -> None:
    """Emit the lines of an instruction."""
    cls = type(op)
    own = {name: Value(kind, op, -1 - i) for i, (name, kind) in enumerate(cls.temporaries.items())}
    lines = lines_of(cls, op.text)
    label = s.label() if "{label}" in cls.ptx else ""
    for line in reversed(lines):
        filled = Filled(s, op, own, label)
        text = line.fill(filled)
        _emit(filled, text, line.guarded and text.startswith("@"))


def plain_text(op: Instruction) -> str:
    """The text of an instruction without operands."""
    (line,) = lines_of(type(op), op.text)
    return line.fill(Filled(None, op, {}, ""))


def _emit(filled: Filled, text: str, guarded: bool) -> None:
    """The line with its further uses; a result that keeps its value if the guard is false is initialised before it."""
    op, s, uses = filled.op, filled.s, filled.uses
    ties: list[Copy] = []
    if op.tied is not None:
        for result, value in zip(getattr(op, op.tied[0]), getattr(op, op.tied[1]), strict=False):
            given = s.use(value, uses)
            ties.append((result, uses[-1] if given == "%s" else given))
    if op.held:
        held: list[Value] = getattr(op, op.held)
        for value in held:
            s.use(value, uses)
    kept = op.kept() if guarded and filled.defs else []
    s.emit(text, filled.defs, [*uses, *filled.defs] if kept else uses, filled.args, ties, op.after_copies)
    for result, value in zip(filled.defs, kept, strict=bool(kept)):
        inner: list[Value] = []
        number = value if isinstance(value, int) else constant_of(s.root(value))
        given = s.register(checked(value, Value), inner) if number is None else immediate(result.type, number)
        s.emit(f"mov.{move_type(result.type)} %s, {given};", [result], inner)


def constant_of(value: Value) -> int | float | None:
    """The number of a constant."""
    op = value.owner
    return op.attributes["value"] if isinstance(op, llvm.Constant) else None


# Reading the text of a class


@cache
def lines_of(cls: type[Instruction], text: str) -> tuple[Line, ...]:
    """The lines of a text. Raises ValueError for a hole that names nothing."""
    defined: set[str] = set()
    return tuple(_line(cls, line, defined) for line in text.split("\n"))


def _line(cls: type[Instruction], text: str, defined: set[str]) -> Line:
    pieces: list[Piece | str] = []
    guard = GUARD.match(text)
    if guard is not None:
        pieces.append(_guard(cls, guard[2], guard[1]))
    at = guard.end() if guard else 0
    for hole in HOLE.finditer(text, at):
        before, at = _literal(text[at : hole.start()]), hole.end()
        name = hole["address"] or hole["name"]
        how = "address" if hole["address"] else hole["how"] or "use"
        if hole["suffix"]:
            pieces += [before, _suffix(cls, name, hole["value"], hole["suffix"])]
        elif isinstance(getattr(cls, name, None), OptionalOperand) and not hole["other"]:
            pieces += [before.removesuffix(", "), _optional(name, how, before)]
        else:
            pieces += (
                [before, _one(name, int(hole["index"]))]
                if hole["index"]
                else [before, _hole(cls, name, how, hole["other"], defined)]
            )
    pieces.append(_literal(text[at:]))
    return Line(tuple(piece for piece in pieces if piece != ""), guard is not None)


def _literal(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}").replace("%", "%%")


def _guard(cls: type[Instruction], name: str, sign: str) -> Piece:
    if name in cls.temporaries:
        return lambda filled: f"@{sign}{filled.register(filled.own[name])} "

    def guard(filled: Filled) -> str:
        value: Value | None = getattr(filled.op, name)
        return "" if value is None else f"@{filled.read(filled.s.predicate, value)} "

    return guard


def _hole(cls: type[Instruction], name: str, how: str, other: str | None, defined: set[str]) -> Piece:
    if name == "label":
        return lambda filled: filled.label
    if name in cls.temporaries:
        first = name not in defined
        defined.add(name)
        return lambda f: f.write(f.own[name]) if first else f.register(f.own[name])
    declared = getattr(cls, name, None)
    if isinstance(declared, VariadicResult) or (isinstance(declared, property) and how == "results"):
        return _results(name, how)
    if isinstance(declared, Result):
        return lambda filled: filled.write(getattr(filled.op, name))
    if isinstance(declared, Operand):
        return lambda filled: filled.read(getattr(filled.s, how), getattr(filled.op, name))
    if isinstance(declared, OptionalOperand):
        return _either(name, other or "")
    if isinstance(declared, OperandGroup):
        return _group(name, how)
    if declared is None:
        raise ValueError(f"{cls.info.name}: its PTX names '{name}', which is not a field or property of it")
    return lambda filled: str(getattr(filled.op, name)).replace("%", "%%")


def _suffix(cls: type[Instruction], name: str, value: str | None, suffix: str) -> Piece:
    """A suffix for an attribute that is set, or has a value."""
    declared = getattr(cls, name, None)
    if not isinstance(declared, Attr) or (value is not None and value not in declared.among):
        raise ValueError(f"{cls.info.name}: its PTX tests '{name}{f'={value}' if value else ''}', which never holds")
    if value is None:
        return lambda filled: suffix if getattr(filled.op, name) else ""
    return lambda filled: suffix if getattr(filled.op, name) == value else ""


def _one(name: str, index: int) -> Piece:
    """One operand of a group."""
    return lambda filled: filled.read(filled.s.use, getattr(filled.op, name)[index])


def _optional(name: str, how: str, before: str) -> Piece:
    """An operand and the comma before it, or neither."""
    comma = ", " if before.endswith(", ") else ""

    def piece(filled: Filled) -> str:
        value: Value | None = getattr(filled.op, name)
        return "" if value is None else comma + filled.read(getattr(filled.s, how), value)

    return piece


def _either(name: str, other: str) -> Piece:
    def piece(filled: Filled) -> str:
        value: Value | None = getattr(filled.op, name)
        return str(getattr(filled.op, other)) if value is None else filled.read(filled.s.register, value)

    return piece


def _results(name: str, how: str) -> Piece:
    """A group of results: `sink` leaves out unused ones, `sink16` only unused ones of 16 bits."""
    sinks = how.startswith("sink")

    def piece(filled: Filled) -> str:
        results: list[Value] = getattr(filled.op, name)
        needed = filled.s.needed
        texts = [
            "_" if sinks and r not in needed and (how == "sink" or register_bits(r.type) == 16) else filled.write(r)
            for r in results
        ]
        if how == "sink" and not texts:
            return "_"
        return texts[0] if how in ("group", "sink") and len(texts) == 1 else _braces(texts)

    return piece


def _group(name: str, how: str) -> Piece:
    """A group of operands."""
    if how not in GROUPS:
        raise ValueError(f"a group of operands is written as {', '.join(GROUPS)}, not '{how}'")
    read = GROUPS[how]

    def piece(filled: Filled) -> str:
        texts = read(filled, getattr(filled.op, name))
        if how == "registers":
            return ", ".join(texts)
        return texts[0] if how in ("group", "stored") and len(texts) == 1 else _braces(texts)

    return piece


def _braces(texts: list[str]) -> str:
    return "{" + ", ".join(texts) + "}"


def _vector(filled: Filled, values: list[Value]) -> list[str]:
    register = filled.s.register
    return [filled.read(register, value) for value in values]


def _list(filled: Filled, values: list[Value]) -> list[str]:
    return [filled.read(filled.s.use, value) for value in values]


def _stored(filled: Filled, values: list[Value]) -> list[str]:
    number = constant_of(filled.s.root(values[0])) if len(values) == 1 else None
    return _vector(filled, values) if number is None else [immediate(values[0].type, number)]


def _bits(filled: Filled, values: list[Value]) -> list[str]:
    numbers = [constant_of(value) for value in values]
    return [
        filled.read(filled.s.register, value) if number is None else str(bit_pattern(value.type, number))
        for value, number in zip(values, numbers, strict=True)
    ]


GROUPS: dict[str, Callable[[Filled, list[Value]], list[str]]] = {
    "vector": _vector,
    "list": _list,
    "group": _vector,
    "registers": _vector,
    "stored": _stored,
    "bits": _bits,
}
"""How a group of operands is read, by the word after the colon."""
