"""How each operation is laid out in bytecode, derived from its declaration.

opcode; result types (counted if results or operands are variadic); a mask of flags, optional attributes and optional
operands, in this order; attributes in declaration order; operands (first a count if only one variadic group varies,
otherwise a count for each variadic group); regions. Attributes younger than the file's version are absent. Source:
operation encodings of the CUDA Tile IR specification 13.4, checked against the writer of cuda-tile 1.7.0.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import field
from functools import cache

import ir.dialects.cuda_tile as dialect
from ir.bytecode.attributes import Attributes
from ir.bytecode.cursor import Cursor
from ir.core import OPS, AttrField, Op, Operand, OperandGroup, OpInfo, OptionalOperand, Type, Variadic, Version
from ir.dialects.cuda_tile.attributes import DenseElements, OptimizationHints
from ir.dialects.cuda_tile.reduction import COMBINING
from ir.records import dataclass
from ir.types import TileType

AttributeReader = Callable[[Attributes, Cursor, list[Type]], object]
"""Reads the value of an attribute; the result types are known already."""
FUNCTION_LEVEL = {"cuda_tile.module", "cuda_tile.entry", "cuda_tile.global", "cuda_tile.testing$func"}
"""Held by the container itself, or by no bytecode, never written as operations."""
ATTRIBUTE_ORDER = {each.info.name: each.encoded for each in COMBINING}
"""Where the encoding's order is not the declaration's. Its bools are mandatory: a byte each, not a bit of the mask."""


@dataclass(frozen=True, slots=True)
class Group:
    """An operand group: how many values it takes."""

    variadic: bool
    bit: int = 0
    """Mask bit of an optional operand, 0 if it is always present."""


@dataclass(slots=True)
class Encoding:
    """The layout of one operation in one version."""

    cls: type[Op]
    info: OpInfo
    counted_results: bool
    total_count: bool
    """One count precedes all operands."""
    late_results: int = 0
    """Results newer than the file's version: the operation has them, its encoding does not."""
    masked: bool = False
    flags: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    attributes: list[tuple[str, int, AttributeReader]] = field(default_factory=list[tuple[str, int, AttributeReader]])
    """Name, mask bit (0: always present), reader."""
    groups: list[Group] = field(default_factory=list[Group])
    known_bits: int = 0


@cache
def encodings(version: Version) -> dict[int, Encoding]:
    """Every operation that the dialect declares, by opcode, with its layout in version `version`."""
    known = [cls for cls in OPS.values() if cls.__module__.startswith(dialect.__name__) and cls.info.opcode >= 0]
    return {cls.info.opcode: _derive(cls, version) for cls in known if cls.info.name not in FUNCTION_LEVEL}


def _derive(cls: type[Op], version: Version) -> Encoding:
    info = cls.info
    groups = [g for g in info.operands if g.since <= version]
    flexible = [g for g in info.operands if not isinstance(g, Operand)]
    variadic = any(isinstance(g, Variadic) for g in info.operands)
    made = Encoding(cls, info, info.variadic_results or variadic, len(flexible) == 1)
    made.late_results = sum(result.since > version for result in info.results)
    attributes = _ordered(info)
    bit = 1
    for attr in attributes:
        if _is_flag(info, attr):
            made.masked |= attr.since <= version
            made.flags.append((attr.name, bit))
            bit <<= 1
    for attr in attributes:
        if attr.since > version or _is_flag(info, attr):
            continue
        optional = attr.default is None
        made.masked |= optional
        made.attributes.append((attr.name, bit if optional else 0, _reader(info, attr)))
        bit <<= optional
    for group in groups:
        optional = isinstance(group, OptionalOperand) and not made.total_count
        made.masked |= optional
        made.groups.append(_group(group, bit if optional else 0))
        bit <<= optional
    made.known_bits = bit - 1
    return made


def _group(group: OperandGroup, bit: int) -> Group:
    return Group(not isinstance(group, Operand) and not bit, bit)


def _ordered(info: OpInfo) -> list[AttrField]:
    order = ATTRIBUTE_ORDER.get(info.name)
    if order is None:
        return list(info.attributes)
    return sorted(info.attributes, key=lambda a: order.index(a.name))


def _is_flag(info: OpInfo, attr: AttrField) -> bool:
    return attr.kind is bool and attr.name not in ATTRIBUTE_ORDER.get(info.name, ())


def _reader(info: OpInfo, attr: AttrField) -> AttributeReader:
    """How the value of an attribute is read, by its Python type and, for tuples, its name."""
    kind, what = attr.kind, f"{attr.name} of {info.mnemonic}"
    if issubclass(kind, enum.IntEnum):
        return _enum_reader(kind, what)
    if kind is bool:
        return lambda _attributes, cursor, _results: bool(cursor.byte(what))
    if kind is int:
        return lambda _attributes, cursor, _results: cursor.varint(what)
    if kind is str:
        return lambda attributes, cursor, _results: attributes.strings.read(cursor, what)
    if kind is DenseElements:
        return _literal
    if kind is OptimizationHints:
        return lambda attributes, cursor, _results: attributes.hints(cursor)
    if kind is tuple:
        return _TUPLES.get(attr.name, _identities)
    return lambda attributes, cursor, _results: attributes.predicate(cursor)


def _enum_reader(kind: type[enum.IntEnum], what: str) -> AttributeReader:
    members = {int(member): member for member in kind}

    def read(_attributes: Attributes, cursor: Cursor, _results: list[Type]) -> enum.IntEnum:
        code = cursor.byte(what)
        if code not in members:
            raise cursor.error(f"{what} cannot be {code}", cursor.position - 1)
        return members[code]

    return read


def _literal(attributes: Attributes, cursor: Cursor, results: list[Type]) -> DenseElements:
    if len(results) != 1 or not isinstance(results[0], TileType):
        raise cursor.error("a constant must have one result, a tile")
    return attributes.literal(cursor, results[0])


def _permutation(_attributes: Attributes, cursor: Cursor, _results: list[Type]) -> tuple[int, ...]:
    return cursor.integers(4, "permutation")


def _inbounds(_attributes: Attributes, cursor: Cursor, _results: list[Type]) -> tuple[bool, ...]:
    bits = tuple(bool(b) for b in cursor.integers(1, "inbounds"))
    return bits if any(bits) else ()


def _kept(attributes: Attributes, cursor: Cursor, _results: list[Type]) -> tuple[object, ...]:
    return attributes.array(cursor)


def _identities(attributes: Attributes, cursor: Cursor, _results: list[Type]) -> tuple[object, ...]:
    return attributes.numbers(cursor)


_TUPLES: dict[str, AttributeReader] = {
    "permutation": _permutation,
    "inbounds": _inbounds,
    "identities": _identities,
    "const_args": _kept,
    "arg_attrs": _kept,
    "res_attrs": _kept,
}
