"""Values of terms outside of a kernel: what an operation gives on concrete operands, and when that is undefined."""

from __future__ import annotations

from typing import Any

import numpy as np

from egraph import facts
from egraph.soundness import meaning
from ir.core import Op, Type
from ir.dialects.cuda_tile import Bounded, DivBy, NegF, SameElements, TileOp, dtype_of
from ir.dialects.cuda_tile.attributes import Array
from ir.records import dataclass
from ir.types import I32, TOKEN, IntType, PointerType, TileType


class Reject(Exception):
    """The sample does not satisfy the rule's left side."""


class Unsound(Exception):
    """The rule states what is not true of the sample."""


class NotCovered(Exception):
    """The rule speaks of what cannot be evaluated."""


class Unbound(Exception):
    """A variable has no value yet."""


@dataclass(frozen=True, eq=False)
class Datum:
    """A term's value: a tile, a token (a set of events), a tuple of results, or an operand list; None where missing."""

    type: Type | None
    data: Any


@dataclass(frozen=True, eq=False)
class Carried(Datum):
    """A value of a loop's body: its tile in each trip, `data` in the first; none where the loop makes no trip."""

    tiles: tuple[Any, ...] = ()


def tiles(value: Datum) -> tuple[Any, ...]:
    """The tiles that a value has been."""
    return value.tiles if isinstance(value, Carried) else (value.data,)


def undefined(op: Op, data: list[Datum]) -> bool:
    """Whether the result is undefined: a broken promise, a division by zero, a shift by the width or more."""
    name, attributes = op.info.mnemonic, op.attributes
    overflow = int(attributes.get("overflow", 0))
    arrays = [d.data for d in data]
    if name in ("addi", "subi", "muli") and overflow:
        function = {"addi": "+", "subi": "-", "muli": "*"}[name]
        width = _width(data[0])
        signed = not overflow & 1 or meaning.fits(function, arrays[0], arrays[1], width)
        return not (signed and (not overflow & 2 or meaning.fits_unsigned(function, arrays[0], arrays[1], width)))
    if name in ("divi", "remi"):
        least = facts.limits(_width(data[0]))[0]
        overflows = (meaning.integers(arrays[0]) == least) & (meaning.integers(arrays[1]) == -1)
        return bool(np.any(meaning.integers(arrays[1]) == 0) or np.any(overflows))
    if name in ("shli", "shri"):
        amount = meaning.integers(arrays[1])
        return bool(overflow or np.any((amount < 0) | (amount >= _width(data[0]))))
    if name in ("trunci", "negi"):
        return overflow != 0
    if name == "assume":
        return not _promised(attributes["predicate"], arrays[0], data[0].type)
    return False


def _width(value: Datum) -> int:
    type_ = value.type
    return type_.element.width if isinstance(type_, TileType) else 64


def _promised(promise: object, data: Array, type_: Type | None) -> bool:
    """Whether a promise of assume is true of a tile."""
    if not isinstance(type_, TileType) or not isinstance(type_.element, IntType | PointerType):
        return False
    if isinstance(promise, Bounded):
        above = promise.lower is None or promise.lower <= meaning.low(data)
        return above and (promise.upper is None or meaning.high(data) <= promise.upper)
    if isinstance(promise, SameElements):
        return all(type_.shape[d] % n == 0 and meaning.constant(data, d, n) for d, n in enumerate(promise.values))
    if not isinstance(promise, DivBy):
        return False
    if not promise.every:
        return meaning.is_multiple(data, promise.divisor)
    d, group = promise.along or 0, promise.every
    fits = type_.shape[d] % group == 0
    return fits and meaning.contiguous(data, type_, d, group) and meaning.aligned(data, d, group, promise.divisor)


def evaluate(op: Op, data: list[Datum]) -> Datum:
    """The value of an operation: its reference semantics, or a model of the few that have none outside of a kernel."""
    name = op.info.mnemonic
    if name == "load_ptr_tko":
        return Datum(None, _load(op, data))
    if name == "join_tokens":
        return Datum(TOKEN, frozenset[int]().union(*[t.data for t in data[0].data]))
    if name in ("get_tile_block_id", "get_num_tile_blocks"):
        least = int(name == "get_num_tile_blocks")
        return Datum(None, tuple(Datum(r.type, np.asarray(n + least, np.int32)) for n, r in enumerate(op.results)))
    if not isinstance(op, TileOp):
        raise NotCovered(f"'{op.name}' has no reference semantics")
    if not hasattr(type(op), "reference"):
        raise NotCovered(f"'{op.name}' has no value outside a kernel")
    if any(isinstance(each.data, tuple) for each in data):
        raise NotCovered(f"'{op.name}' of a list has no value outside a kernel")
    with np.errstate(all="ignore"):
        found = np.asarray(op.evaluate([d.data for d in data]))
    return Datum(op.results[0].type, found)


APPROXIMATIONS = (4, 5)
"""Roundings (approximate, full) whose result is only near the exact one."""


def nudged(data: Array, rounding: int) -> Array:
    """Another result of an approximation, 2 units in the last place from the nearest in about half of the elements: a
    function of the nearest one and of the rounding.
    """
    array = np.ascontiguousarray(data)
    bits = array.view(f"u{array.dtype.itemsize}").reshape(np.shape(data))
    with np.errstate(invalid="ignore", over="ignore"):
        mixed = (bits.astype(np.uint64) ^ np.uint64(rounding * 0x9E37)) * np.uint64(0x9E3779B97F4A7C15)
        moved = bits ^ ((mixed >> np.uint64(62)) & np.uint64(2)).astype(bits.dtype)
        size = np.abs(array.astype(np.float64)).reshape(bits.shape)
    ordinary = (size > facts.smallest_normal(array.dtype) * 2) & np.isfinite(size)
    return np.where(ordinary, np.ascontiguousarray(moved).view(array.dtype).reshape(bits.shape), data)


def _load(op: Op, data: list[Datum]) -> tuple[Datum, Datum]:
    """A gather from a memory whose every byte address has a fixed value; masked elements are the padding, or 0."""
    pointers, mask, padding, token = (d.data for d in data)
    type_ = op.results[0].type
    if not isinstance(type_, TileType):
        raise NotCovered("a load of something other than a tile")
    memory = (meaning.integers(pointers) * 2654435761 % 101).astype(dtype_of(type_.element))
    other = np.zeros_like(memory) if padding is None else padding
    loaded = memory if mask is None else np.where(mask, memory, other)
    return Datum(type_, loaded), Datum(TOKEN, token or frozenset())


def flips_signs(op: Op) -> bool:
    """Is it the negation of a tile that has no arithmetic? Rules make it of factors of products, which flip signs."""
    kind = op.operands[0].type if isinstance(op, NegF) else None
    return isinstance(kind, TileType) and kind.element in facts.SYMMETRIC


def several(mnemonic: str, types: list[Type | None]) -> list[Type]:
    """Result types of an operation with several results."""
    if mnemonic == "load_ptr_tko" and isinstance(types[0], TileType) and isinstance(types[0].element, PointerType):
        return [TileType(types[0].shape, types[0].element.pointee), TOKEN]
    if mnemonic in ("get_tile_block_id", "get_num_tile_blocks"):
        return [TileType((), I32)] * 3
    raise NotCovered(f"'{mnemonic}' has no value outside a kernel")
