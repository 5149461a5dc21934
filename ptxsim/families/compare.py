"""setp and set: comparisons of every type, optionally combined with a predicate; testp."""

from collections.abc import Callable
from typing import cast

import numpy as np

from ptxsim.decode import Decode, Step, assign, into
from ptxsim.errors import OperandError
from ptxsim.floats import bf16_to_f32, flush_f32
from ptxsim.floors import Floor
from ptxsim.program import Negated, Operand, Pair, Sink
from ptxsim.ptx_types import TYPES, Array, PtxType

_PREDICATE = TYPES["pred"]
_ORDERED: dict[str, np.ufunc] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED_NAMES = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
# An unordered comparison is the negation of the opposite ordered comparison.
_UNORDERED = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
_COMBINE: dict[str, np.ufunc] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
# Pairs of result and source that set does not have. Source: ptxas 13.5.
_NO_SET = {
    ("f32", "f16"),
    ("f32", "bf16"),
    ("f16", "bf16"),
    ("bf16x2", "f16x2"),
    ("f16x2", "bf16x2"),
    ("f32", "f16x2"),
    ("f32", "bf16x2"),
}
_TESTS = ("finite", "infinite", "number", "notanumber", "normal", "subnormal")


def _relation(d: Decode, type_: PtxType) -> Callable[[Array, Array], Array]:
    """The comparison that the modifiers name, on values of a type."""
    if not type_.is_float:
        name = d.need(*_ORDERED, *_UNSIGNED_NAMES)
        if name in _UNSIGNED_NAMES and type_.kind != "unsigned":
            raise d.unsupported(f".{name} on .{type_.name}")
        if type_.kind == "bits" and name not in ("eq", "ne"):
            raise d.unsupported(f".{name} on .{type_.name}")
        return _ORDERED[_UNSIGNED_NAMES.get(name, name)]
    name = d.need(*_ORDERED, *_UNORDERED, "num", "nan")
    if name == "ne":  # NumPy's != holds for NaN, PTX's ne does not
        return lambda a, b: (a < b) | (a > b)
    if name == "equ":
        return lambda a, b: ~((a < b) | (a > b))
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name in _UNORDERED:
        opposite = _ORDERED[_UNORDERED[name]]
        return lambda a, b: ~opposite(a, b)
    return _ORDERED[name]


def _comparable(type_: PtxType, is_flushed: bool) -> Callable[[Array], Array]:
    """The function that computes the comparable values of a source from its bits."""
    if type_.name == "bf16":
        return bf16_to_f32
    if type_.name == "bf16x2":
        return lambda raw: bf16_to_f32(raw.view(np.uint16))
    if type_.name in ("f16", "f16x2"):
        if is_flushed:
            return lambda raw: _flush_f16(raw.view(np.float16).astype(np.float32))
        return lambda raw: raw.view(np.float16).astype(np.float32)
    return flush_f32 if is_flushed else _unchanged


def _unchanged(raw: Array) -> Array:
    return raw


def _flush_f16(values: Array) -> Array:
    return np.where(np.abs(values) < np.finfo(np.float16).smallest_normal, np.float32(0), values)


def _check(d: Decode, type_: PtxType) -> bool:
    is_flushed = d.flag("ftz")
    known = type_.is_integer and 16 <= type_.bits <= 64
    if not known and type_.name not in ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"):
        raise d.unsupported(f"a comparison of .{type_.name}")
    if is_flushed and type_.name not in ("f32", "f16", "f16x2"):
        raise d.unsupported(f".ftz on .{type_.name}")
    return is_flushed


def decode_setp(d: Decode) -> Step:
    """setp.cmp{.boolop}{.ftz}.type p{|q}, a, b{, {!}c}; for .f16x2 and .bf16x2 p and q are the two halves."""
    type_ = d.type()
    is_flushed = _check(d, type_)
    relation = _relation(d, type_)
    combine = d.take("and", "or", "xor")
    d.finish(3 if combine is None else 4)
    a, b, values = d.read(1, type_), d.read(2, type_), _comparable(type_, is_flushed)
    extra = None if combine is None else _predicate(d, d.operands[3])
    first, second = _predicate_targets(d, d.operands[0])
    is_pair = type_.name.endswith("x2")
    if isinstance(d.operands[0], Pair) and type_.name in ("f16", "bf16"):
        raise d.error(OperandError, "setp of .f16 and .bf16 writes one predicate")
    if combine is None and second is None and not is_pair:
        if isinstance(relation, np.ufunc) and values is _unchanged:
            compare = cast("Callable[[Array, Array, Array], Array]", relation)
            return into(first, compare, a, b)
        return assign(first, lambda x, y: relation(values(x), values(y)), a, b)
    operation = _COMBINE[combine] if combine else None
    if extra is not None and operation is not None and second is None and not is_pair:
        other, inverted = extra

        def combined(x: Array, y: Array, z: Array) -> Array:
            return operation(relation(values(x), values(y)), ~z if inverted else z)

        return assign(first, combined, a, b, other)

    def step(mask: Array | None) -> None:
        truth = relation(values(a), values(b))
        low, high = (truth[0::2], truth[1::2]) if is_pair else (truth, ~truth)
        if operation is not None and extra is not None:
            third = ~extra[0] if extra[1] else extra[0]
            low, high = operation(low, third), operation(high, third)
        everywhere = True if mask is None else mask
        np.copyto(first, low, where=everywhere)
        if second is not None:
            np.copyto(second, high, where=everywhere)

    return step


def _predicate(d: Decode, operand: Operand) -> tuple[Array, bool]:
    """The lanes of a predicate, and whether they are negated."""
    is_negated = isinstance(operand, Negated)
    return d.value(operand.register if isinstance(operand, Negated) else operand, _PREDICATE), is_negated


def _predicate_targets(d: Decode, operand: Operand) -> tuple[Array, Array | None]:
    if isinstance(operand, Pair):
        second = None if isinstance(operand.second, Sink) else d.target(operand.second, _PREDICATE)
        return d.target(operand.first, _PREDICATE), second
    return d.target(operand, _PREDICATE), None


def decode_set(d: Decode) -> Step:
    """set.cmp{.boolop}{.ftz}.dtype.stype: all ones or 1.0 where the comparison holds."""
    if len(d.types) != 2:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    result, type_ = d.types
    is_flushed = _check(d, type_)
    relation = _relation(d, type_)
    combine = d.take("and", "or", "xor")
    d.finish(3 if combine is None else 4)
    # PTX ISA, "set" and its half-precision form
    one = {"u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "u16": 0xFFFF, "s16": 0xFFFF, "f32": 0x3F800000, "f16": 0x3C00,
           "bf16": 0x3F80, "f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result.name)  # fmt: skip
    is_pair = type_.name.endswith("x2")
    widths = (16, 32) if type_.name in ("f16", "bf16") else (32,)
    if result.is_integer and (result.kind == "bits" or result.bits not in widths or result.name == "s16"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if (result.name, type_.name) in _NO_SET or (is_flushed and result.name == "bf16"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if one is None or is_pair != (result.name.endswith("x2") or (is_pair and result.bits == 32)):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    a, b, values = d.read(1, type_), d.read(2, type_), _comparable(type_, is_flushed)
    extra = None if combine is None else _predicate(d, d.operands[3])
    operation = _COMBINE[combine] if combine else None
    unit = np.uint16 if is_pair else TYPES[f"u{result.bits}"].dtype
    value = unit(one & 0xFFFF if is_pair else one)
    target = d.write(0, result).view(TYPES[f"u{result.bits}"].dtype)

    def step(mask: Array | None) -> None:
        truth = relation(values(a), values(b))
        if operation is not None and extra is not None:
            other = ~extra[0] if extra[1] else extra[0]
            truth = operation(truth, np.repeat(other, 2) if is_pair else other)
        bits = np.where(truth, value, unit(0)).view(target.dtype)
        if mask is None:
            np.copyto(target, bits)
        else:
            np.putmask(target, mask, bits)

    return step


def decode_testp(d: Decode) -> Step:
    """testp: the class of a float."""
    test = d.need(*_TESTS)
    type_ = d.type()
    if type_.name not in ("f32", "f64"):
        raise d.unsupported(f"testp of .{type_.name}")
    d.finish(2)
    source, target = d.read(1, type_), d.write(0, _PREDICATE)
    smallest = np.finfo(type_.dtype).smallest_normal

    def classify(a: Array) -> Array:
        size = np.abs(a)
        if test in ("finite", "infinite"):
            return np.isfinite(a) if test == "finite" else np.isinf(a)
        if test in ("number", "notanumber"):
            return ~np.isnan(a) if test == "number" else np.isnan(a)
        if test == "normal":
            return np.isfinite(a) & (size >= smallest)
        return (size < smallest) & (size > 0)

    def step(mask: Array | None) -> None:
        np.copyto(target, classify(source), where=True if mask is None else mask)

    return step


OPCODES: dict[str, Callable[[Decode], Step]] = {"setp": decode_setp, "set": decode_set, "testp": decode_testp}
FLOORS = (
    Floor("set bf16|bf16x2", "90", "7.8"),
    Floor("setp bf16|bf16x2", "90", "7.8"),
)
