"""Semantics of tiles in shared memory, and of loads through views: which offset of a buffer holds which element.

A value in a shared layout is its elements in the order of their offsets. The tile of a view at an index in global
memory is arbitrary, but the same for every read. An access of more bytes than are aligned or in bounds there (`views`)
is an error, and so is an instruction that cannot move a tile between two layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from egraph.placed import Mechanism
from egraph.sexpr import Atom, Sexpr
from egraph.soundness.model import Datum, NotCovered, Unsound
from ir.checked import checked
from ir.records import dataclass
from ir.types import F16, F32, I8, I32, FloatType, IntType, PartitionViewType, TensorViewType, TileType
from lowering.atoms.copy import CP_ASYNC
from lowering.atoms.tma import TMA_ALIGNMENT
from lowering.layouts.access import BYTE_MATRICES, byte_matrices, ldmatrix
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.shared import SWIZZLE_BITS, SharedLayout, swizzled
from lowering.placement import views
from lowering.placement.context import Held, LayoutSample

PLACES = ("want_shared", "staged", "boxed", "ahead", "gather_staged")
"""Relations of a value and a shared layout."""
NUMBERED = ("r.ahead", "r.held", "r.runs", "r.taken")
"""Relations of value numbers: heuristics about what is worth doing; they claim nothing."""
ANSWERS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "run_bytes": (("ask_run", (0, 1, 2)),),
    "shared_read": (("ask_shared", (0, 1, 2)),),
    "narrow_copy": (("ask_narrow", (0, 1, 2)),),
    "boxed_read": (("ask_boxed", (0, 1, 2)),),
    "ahead_read": (("ask_boxed", (0, 1, 2)),),
    "hold_layout": (("ask_hold", (0, 1, 2)),),
    "permute_shared": (("ask_permute_shared", (0, 1, 3)),),
}
"""Relations of answers, as in `meaning`."""
OF_LAYOUTS = ("boxed_read", "ahead_read")
"""Those whose register layout rules do not require to be demanded."""
MATRICES = ("ldmatrix", "stmatrix")
_SHAPES = ((16, 64), (64, 16), (32, 32), (4, 8), (2, 16, 32))
_ELEMENTS = (F16, F16, F32, I8, I32)


@dataclass(frozen=True, eq=False)
class Stored(Datum):
    """A value in shared memory: `data` by offset."""

    layout: SharedLayout | None = None


def tile(sample: LayoutSample) -> Datum:
    """A tile that a copy can move."""
    type_ = TileType(_SHAPES[int(sample.random.rng.integers(len(_SHAPES)))], sample.random.pick(_ELEMENTS))
    return Datum(type_, sample.random.tile(type_))


def has_fragments(type_: TileType) -> bool:
    """Is a tile one of matrices of 8 x 8?"""
    return len(type_.shape) == 2 and min(type_.shape) >= 8


def fragments(type_: TileType, warps: int) -> Layout:
    """A tile of matrices of 8 x 8, a row of which four lanes hold. Source: PTX ISA, ldmatrix."""
    _, columns = type_.shape
    lanes = (2, 4, columns, 2 * columns, 4 * columns)
    bits = type_.size.bit_length() - 1
    bases = [1 << k for k in range(bits) if 1 << k not in lanes]
    apart = [bases.pop() if len(bases) > 1 else 0 for _ in range(warps.bit_length() - 1)]
    return Layout(tuple(bases), lanes, tuple(apart), bits)


def layout_for(sample: LayoutSample, value: Datum) -> int:
    """Any shared layout of a value."""
    type_ = _moved(sample, value)
    size, bits = element_bytes(type_.element), type_.size.bit_length() - 1
    if type_.shape and sample.random.chance(0.7):
        try:
            return sample.oracle.layout_id(swizzled(type_.shape, None, size, sample.random.pick(tuple(SWIZZLE_BITS))))
        except LayoutError:
            pass
    bases = tuple(1 << int(k) for k in sample.random.rng.permutation(bits))
    return sample.oracle.layout_id(SharedLayout(bases, bits, size))


def fits(sample: LayoutSample, value: Datum, id_: int) -> bool:
    """Is it a shared layout of as many elements of as many bytes as the value has?"""
    type_, found = value.type, sample.oracle.layouts[id_]
    if not isinstance(type_, TileType) or not isinstance(found, SharedLayout):
        return False
    return 1 << found.bits == type_.size and found.element_bytes == element_bytes(type_.element)


def stored(sample: LayoutSample, value: Datum, id_: int) -> Stored:
    """A value in a shared layout."""
    if not fits(sample, value, id_):
        raise Unsound(f"layout {id_} is not one of {value.type} in shared memory")
    return _image(value.type, np.asarray(value.data).reshape(-1), sample.oracle.shared(id_))


def relation(sample: LayoutSample, head: str, arguments: Sequence[Sexpr]) -> None:
    """Match a relation about memory."""
    if head in PLACES:
        value, at = sample.datum(arguments[0]), arguments[1]
        if isinstance(at, Atom) and sample.is_free(at):
            sample.env[at.text] = layout_for(sample, value)
        sample.require(fits(sample, value, sample.integer(at)))
    elif head == "loaded":
        loaded(sample, arguments)
    else:
        sample.leaf("N", arguments[:1])


def loaded(sample: LayoutSample, arguments: Sequence[Sexpr]) -> None:
    """A value loaded through a view, with a fresh view and index."""
    if isinstance(arguments[0], Atom) and sample.is_free(arguments[0]):
        sample.env[arguments[0].text] = tile(sample)
    value = sample.datum(arguments[0])
    type_ = _moved(sample, value)
    sample.require(bool(type_.shape))
    names = [checked(each, Atom).text for each in arguments[1:]]
    number = len(sample.loads)
    view, index = ("view", number), ("index", number)
    ids = sample.interner.types.id(type_), sample.interner.types.id(seen_as(sample, type_))
    for name, found in zip(names, (Datum(None, view), Datum(None, index), number, *ids), strict=True):
        sample.env[name] = found
    sample.loads[view, index, number] = value
    sample.views[view] = views.drawn(sample, element_bytes(type_.element))


def seen_as(sample: LayoutSample, type_: TileType) -> PartitionViewType:
    """A view of tiles of a type in an array of any sizes, one of whose dimensions is contiguous."""
    unit = len(type_.shape) - 1 if sample.random.chance(0.7) else int(sample.random.rng.integers(len(type_.shape)))
    strides = tuple(1 if d == unit else None for d in range(len(type_.shape)))
    array = TensorViewType((None,) * len(strides), checked(type_.element, IntType, FloatType), strides)
    return PartitionViewType(type_.shape, array, tuple(range(len(strides))), "zero")


def _moved(sample: LayoutSample, value: Datum) -> TileType:
    """The type of a tile of several elements that are whole bytes."""
    type_ = sample.tile_type(value)
    sample.require(type_.size > 1)
    sample.require(isinstance(type_.element, IntType | FloatType) and type_.element.width >= 8)
    return type_


def _image(type_: Any, elements: Any, layout: SharedLayout) -> Stored:
    """Elements in order, written to their offsets."""
    data = np.empty_like(elements)
    data[layout.offset_map()] = elements
    return Stored(type_, data, layout)


def _operand(sample: LayoutSample, form: Sexpr) -> Stored:
    """An operand in shared memory."""
    found = sample.evaluate(form)
    if not isinstance(found, Stored):
        raise NotCovered("an operand that is not in shared memory")
    return found


def _instruction(sample: LayoutSample, form: Sexpr, layout: Layout, shared: SharedLayout) -> None:
    """The instruction that moves a tile: that of matrices does so between some layouts only."""
    name = sample.interner.attributes[sample.integer(form)]
    lacks = name in MATRICES and ldmatrix(layout, shared) is None
    if lacks or (name == BYTE_MATRICES and byte_matrices(layout, shared) is None):
        raise Unsound(f"{name} does not move this tile between these layouts")


# --- placed operations


def copied(sample: LayoutSample, items: Sequence[Sexpr]) -> Stored:
    """The tile of a view and an index, copied `a` bytes at a time, where `b` bytes are uniformly inside or outside
    the array.
    """
    view, index = (sample.placed(item).data for item in items[:2])
    number, shared, a, b, kind = (sample.integer(items[k]) for k in (2, 5, 6, 7, 8))
    access = sample.views[view]
    if a > access.aligned or b > access.inside or (kind == Mechanism.REGISTERS and a > access.inside):
        raise Unsound(f"a copy of {a} bytes, {b} at a time inside, where {access}")
    if (kind == Mechanism.CP_ASYNC and a not in CP_ASYNC) or (kind == Mechanism.TMA and a != TMA_ALIGNMENT):
        raise Unsound(f"no copy of kind {kind} moves {a} bytes")
    return stored(sample, _found(sample, view, index, number, items[3]), shared)


def gotten(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """The same, loaded to registers by vectors that a thread holds as a whole."""
    view, index = (sample.placed(item).data for item in items[:2])
    number, seen, id_, nbytes = (sample.integer(items[k]) for k in (2, 4, 5, 6))
    value = _found(sample, view, index, number, items[3])
    type_, kind = sample.tile_type(value), checked(sample.interner.types[seen], PartitionViewType)
    count = nbytes // element_bytes(type_.element)
    if nbytes > sample.views[view].inside or count < 1:
        raise Unsound(f"a load of {nbytes} bytes where {sample.views[view]}")
    places = np.unravel_index(sample.oracle.layout(id_).element_map(), type_.shape)
    along = kind.view.strides.index(1)
    for thread in range(len(places[0])):
        held = {tuple(int(p[thread, r]) for p in places) for r in range(places[0].shape[1])}
        for place in held:
            first = place[along] // count * count
            if any((*place[:along], first + k, *place[along + 1 :]) not in held for k in range(count)):
                raise Unsound(f"a thread does not hold {count} elements of a vector")
    return sample.held(value, id_)


def _found(sample: LayoutSample, view: object, index: object, number: int, ty: Sexpr) -> Datum:
    """The tile that is loaded there."""
    value = sample.loads.get((view, index, number))
    if value is None or value.type != sample.type_at(ty):
        raise Unsound("a view, index or type that differs from the load's")
    return value


def read(sample: LayoutSample, items: Sequence[Sexpr]) -> Held:
    """From shared memory to registers."""
    source, layout = _operand(sample, items[0]), sample.oracle.layout(sample.integer(items[3]))
    shared = checked(source.layout, SharedLayout)
    if source.type != sample.type_at(items[1]) or layout.size != np.size(source.data):
        raise Unsound("a tile is read as a different type")
    _instruction(sample, items[2], layout, shared)
    return Held(source.type, np.asarray(source.data)[shared.offset_map()][layout.element_map()], layout)


def written(sample: LayoutSample, items: Sequence[Sexpr]) -> Stored:
    """From registers to shared memory."""
    source, shared = sample.placed(items[0]), sample.oracle.shared(sample.integer(items[2]))
    if source.layout is None or source.type != sample.type_at(items[1]):
        raise Unsound("a tile is written as a different type, or not from a layout")
    _instruction(sample, items[3], source.layout, shared)
    return _image(source.type, sample.gathered(source, source.layout), shared)


def permuted(sample: LayoutSample, items: Sequence[Sexpr]) -> Stored:
    """The same bytes as a tile of other dimensions."""
    source = _operand(sample, items[0])
    order: tuple[int, ...] = sample.interner.attributes[sample.integer(items[1])]
    shared = checked(source.layout, SharedLayout).permute(checked(source.type, TileType).shape, order)
    return Stored(sample.type_at(items[2]), source.data, shared)


def reshaped(sample: LayoutSample, items: Sequence[Sexpr]) -> Stored:
    """The same bytes as a tile of another shape."""
    source = _operand(sample, items[0])
    return Stored(sample.type_at(items[1]), source.data, source.layout)
