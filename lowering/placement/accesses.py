"""Semantics of the source's loads and stores, for checking rules about them. A load through a view gives an arbitrary
tile, identified by its view, index and token; a load through pointers reads the sample's memory.

Rules relate a load's result to both, and a store's value is in the buffer that a copy writes to memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Datum, Unsound
from ir.types import PartitionViewType
from lowering.layouts.elements import element_bytes
from lowering.placement import memory, views
from lowering.placement.context import LayoutSample

ANSWERS: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
    "load_layout": (("ask_load", (0, 1)),),
    "write_layout": (("ask_write", (0, 1, 2)),),
}
STATED = ("loaded", "gathered")
"""Relations of a load's result and its operands."""
BY_POINTERS, BY_VIEW = "load_ptr_tko", "load_view_tko"


def viewed(sample: LayoutSample, form: List) -> Datum:
    """A load through a view with fresh operands: a tile and a token."""
    found = memory.tile(sample)
    number = len(sample.loads)
    view = view_of(sample, found)
    operands = (view, Datum(None, ("index", number)), number)
    columns = form.items[1:]
    for item, value in zip(columns, (*operands, *(0 for _ in columns[len(operands) :])), strict=True):
        sample.env[cast(Atom, item).text] = value
    sample.loads[view.data, operands[1].data, number] = found
    return Datum(None, (found, Datum(None, ("token", number))))


def view_of(sample: LayoutSample, tile: Datum) -> Datum:
    """A new view of tiles of a type."""
    seen = memory.seen_as(sample, sample.tile_type(tile))
    view = Datum(seen, ("view", len(sample.views)))
    sample.views[view.data] = views.drawn(sample, element_bytes(seen.view.element))
    return view


def stated(sample: LayoutSample, head: str, arguments: Sequence[Sexpr]) -> None:
    """Test what a rule states about a load: its first result, for these operands and types."""
    value, first, second = (sample.datum(item) for item in arguments[:3])
    if head == "gathered":
        third = sample.datum(arguments[3])
        if (id(first), id(second), id(third)) not in sample.gathers.get(id(value), ()):
            raise Unsound("a tile is not the one that these pointers, mask and padding load")
    elif sample.loads.get((first.data, second.data, sample.integer(arguments[3]))) is not value:
        raise Unsound("a tile is not the one that this view and index select")
    elif sample.interner.types[sample.integer(arguments[5])] != first.type:
        raise Unsound("a load through a view of a different type")
    if value.type != sample.type_at(arguments[-1 if head == "gathered" else 4]):
        raise Unsound("a load's tile has a different type")


def remembered(sample: LayoutSample, form: List, found: Datum) -> None:
    """A load through pointers, for what rules state about it."""
    operands = tuple([id(sample.datum(item)) for item in form.items[1:4]])
    sample.gathers.setdefault(id(found.data[0]), set()).add((operands[0], operands[1], operands[2]))


def saved(sample: LayoutSample, arguments: Sequence[Sexpr]) -> None:
    """The numbers of a store's value and of its view."""
    value, view = (sample.leaf("N", (item,)) for item in arguments)
    sample.require(value is not view)
    if not isinstance(view.type, PartitionViewType):
        tile = memory.tile(sample)
        sample.renamed(value, tile)
        sample.renamed(view, view_of(sample, tile))
