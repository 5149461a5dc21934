"""Interpretation of accesses through pointers and of atomic updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

import ir.dialects.cuda_tile as ct
from ir.core import Location, Value
from ir.dialects.cuda_tile.attributes import Array, AtomicMode
from ir.dialects.cuda_tile.constraints import shape_of, tile_type
from ir.dialects.cuda_tile.memory import combine
from ir.interpreter.block import HANDLERS, TOKEN, Results, TileBlock
from ir.interpreter.memory import NIBBLE, InterpreterError
from ir.interpreter.views import unspecified
from ir.types import FloatType, IntType, PointerType

Change = Callable[[Array, Array], Array]
"""The effect of an update: (old elements, which of the update's elements they are) -> new elements."""


def _pointee(value: Value) -> IntType | FloatType:
    return cast("PointerType", tile_type(value).element).pointee


def _offset(block: TileBlock, op: ct.Offset) -> Results:
    """Four-bit elements share a byte: an odd offset is in the middle of one and has no address."""
    if _pointee(op.ptr).width == NIBBLE and np.any(block.array(op.offset) & 1):
        message = f"an odd offset in elements of {_pointee(op.ptr)} ends within a byte"
        raise InterpreterError(message, op.location, "make a view at the even element before it")
    return [block.pure(op)]


def _load_ptr(block: TileBlock, op: ct.LoadPtr) -> Results:
    shape, element = shape_of(op.result), _pointee(op.source)
    addresses = np.broadcast_to(block.array(op.source), shape)
    if op.mask is None:
        return [block.memory.load(addresses.reshape(-1), element, op.location).reshape(shape), TOKEN]
    mask = np.broadcast_to(block.array(op.mask), shape)
    if op.padding_value is None:
        loaded = unspecified(shape, element)
    else:
        loaded = np.array(np.broadcast_to(block.array(op.padding_value), shape))
    loaded[mask] = block.memory.load(addresses[mask], element, op.location)
    return [loaded, TOKEN]


def _store_ptr(block: TileBlock, op: ct.StorePtr) -> Results:
    shape, element = shape_of(op.destination), _pointee(op.destination)
    addresses = np.broadcast_to(block.array(op.destination), shape)
    values = np.broadcast_to(block.array(op.value), shape)
    mask = _mask(block, op.mask, shape)
    block.memory.store(addresses[mask], values[mask], element, op.location)
    return [TOKEN]


def _in_turns(
    block: TileBlock, addresses: Array, element: IntType | FloatType, location: Location, new: Change
) -> Array:
    """Change each address once for every time it is named, in order; returns what each found there.

    A turn changes each address once, all at the same time; elements that share an address wait for the next turn.
    """
    found = unspecified(addresses.shape, element)
    waiting: Array = np.arange(addresses.size)
    while waiting.size:
        places, first = np.unique(addresses[waiting], return_index=True)
        which = waiting[first]
        found[which] = before = block.memory.load(places, element, location)
        block.memory.store(places, new(before, which), element, location)
        waiting = np.delete(waiting, first)
    return found


def update(
    block: TileBlock,
    addresses: Array,
    mode: AtomicMode,
    values: Array,
    element: IntType | FloatType,
    location: Location,
) -> Array:
    """Read-modify-write at a 1-D array of addresses; returns the old elements."""
    return _in_turns(block, addresses, element, location, lambda old, which: combine(mode, old, values[which]))


def _rmw(block: TileBlock, op: ct.AtomicRMW) -> Results:
    shape, element = shape_of(op.pointers), _pointee(op.pointers)
    mask = _mask(block, op.mask, shape)
    addresses = np.broadcast_to(block.array(op.pointers), shape)[mask]
    old = unspecified(shape, element)
    values = np.broadcast_to(block.array(op.arg), shape)[mask]
    old[mask] = update(block, addresses, op.mode, values, element, op.location)
    return [old, TOKEN]


def _cas(block: TileBlock, op: ct.AtomicCAS) -> Results:
    """Equality is bitwise: a NaN can be swapped out, and -0 is not +0. Masked-off elements are treated as equal."""
    shape, element = shape_of(op.pointers), _pointee(op.pointers)
    mask = _mask(block, op.mask, shape)
    addresses = np.broadcast_to(block.array(op.pointers), shape)[mask]
    expected, desired = (np.broadcast_to(block.array(v), shape)[mask] for v in (op.cmp, op.val))
    bits = f"u{expected.dtype.itemsize}"

    def swap(old: Array, which: Array) -> Array:
        equal = old.view(bits) == np.ascontiguousarray(expected[which]).view(bits)
        return np.where(equal, desired[which], old)

    old = np.array(np.broadcast_to(block.array(op.cmp), shape))
    old[mask] = _in_turns(block, addresses, element, op.location, swap)
    return [old, TOKEN]


def _mask(block: TileBlock, mask: Value | None, shape: tuple[int, ...]) -> Array:
    return np.ones(shape, np.bool_) if mask is None else np.broadcast_to(block.array(mask), shape)


HANDLERS.update(
    {ct.Offset: _offset, ct.LoadPtr: _load_ptr, ct.StorePtr: _store_ptr, ct.AtomicRMW: _rmw, ct.AtomicCAS: _cas}
)
