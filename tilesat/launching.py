"""The arguments of one launch: arrays of any library in the memory where the kernel runs, numbers in their types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ir.core import TileError
from ir.dialects.cuda_tile import Entry
from ir.narrowing import is_list, is_row
from tilesat import half_bytes
from tilesat.arrays import View, is_array, is_fake, memory_type, on_card, on_stream, refuse_odd, view_of
from tilesat.spec import Array, is_numpy

if TYPE_CHECKING:
    from tilesat.calling import Calling


@dataclass
class Launch:
    """What the entry takes: `values` in order. `kept`: arrays that a kernel may not write, their memory before, and
    copies that it was given instead. `packed`: arrays of f4 numbers, and the bytes that it was given for them.
    `first`: the first array on a GPU, and that GPU's number.
    """

    values: list[object]
    first: tuple[View, int] | None = None
    kept: list[tuple[View, Array, Array]] = field(default_factory=list[tuple[View, Array, Array]])
    packed: list[tuple[View, Array]] = field(default_factory=list[tuple[View, Array]])

    def end(self, entry: Entry) -> None:
        """Give back what the kernel wrote to copies. Raises TileError where it wrote what it may not."""
        for view, held in self.packed:
            if view.memory is not None:
                view.memory[:] = half_bytes.unpacked(held)
        for view, before, after in self.kept:
            if before.tobytes() != after.tobytes():
                message = f"parameter '{view.name}': entry '{entry.sym_name}' writes {view}, which is read-only"
                raise TileError(message, entry.location, "pass a copy that may be written")


def place_of(given: Sequence[object], named: Mapping[str, object]) -> str:
    """Where a kernel runs that nobody said a place for: on the card where an array is there, else on the simulator."""
    return "cuda" if any(map(on_card, _flat([*given, *named.values()]))) else "sim"


def only_traced(given: Sequence[object], named: Mapping[str, object]) -> bool:
    """Is this call one of a trace, whose tensors have no elements? Then nothing is launched."""
    return any(map(is_fake, _flat([*given, *named.values()])))


def _flat(given: Sequence[object]) -> list[object]:
    """The items of tuples and lists."""
    found: list[object] = []
    for each in given:
        found += _flat(each) if is_row(each) else [each]
    return found


def prepared(
    entry: Entry,
    calling: Calling | None,
    given: Sequence[object],
    named: Mapping[str, object],
    on: str,
    whole: bool,
    stream: int = 0,
) -> Launch:
    """The launch of `entry` with these arguments: those of the kernel's Python function, or, where there are as many as
    the entry has parameters and they are not said to be the `whole`, those of the entry itself. `stream`: of a card.

    Raises TileError that names the parameter.
    """
    given = [on_stream(each, stream) for each in given]
    named = {name: on_stream(each, stream) for name, each in named.items()}
    itself = not whole and not named and calling is not None and len(given) == calling.count
    if calling is None or itself:
        if named:
            raise TileError(f"entry '{entry.sym_name}' has no names: pass its arguments by position", entry.location)
        values = [_own_view(each, str(position)) for position, each in enumerate(given)]
    else:
        values = calling.arguments(given, named)
    launch, placed = Launch([]), dict[tuple[int, int, str], object]()

    def place(value: object) -> object:
        if is_list(value):
            return [place(each) for each in value]
        if not isinstance(value, View):
            return value
        key = value.address, value.span, value.dtype
        if key not in placed:
            placed[key] = _placed(value, on, launch, entry)
        return placed[key]

    launch.values = [place(value) for value in values]
    return launch


def _own_view(given: object, name: str) -> object:
    """A view of an array of another library; NumPy's, of whose gaps an entry does not know, are checked later."""
    foreign = given.dtype == half_bytes.NUMBERS if is_numpy(given) else is_array(given)
    return view_of(given, name) if foreign else given


def _placed(view: View, on: str, launch: Launch, entry: Entry) -> object:
    """An array where the kernel runs: flat memory of the host, or an address of the card."""
    if view.memory is None:
        return _on_card(view, on, launch, entry)
    if not view.span:
        return np.zeros(1, view.memory.dtype)  # an address that nothing is read from
    memory = view.memory
    if memory.dtype == half_bytes.NUMBERS:
        refuse_odd(view)
        memory = half_bytes.packed(memory)
        if view.changeable:
            launch.packed.append((view, memory))
    if view.changeable:
        return memory
    launch.kept.append((view, memory, memory.copy()))
    return launch.kept[-1][2]


def _on_card(view: View, on: str, launch: Launch, entry: Entry) -> object:
    """The address of an array on a card. Raises TileError where the kernel does not run there."""
    if on != "cuda":
        message = f"parameter '{view.name}': the array {view} is on the card, '{on}' runs on the host"
        raise TileError(message, entry.location, "run it on 'cuda', or pass an array on the host")
    from runtime.cuda import DeviceArray

    card = _number(view)
    other, own = launch.first = launch.first or (view, card)
    if card != own:
        message = f"parameter '{view.name}': the array {view} is on card {card}, that of '{other.name}' on card {own}"
        raise TileError(message, entry.location, f"pass a copy on card {own}")
    if view.dtype == half_bytes.NAME:
        return DeviceArray(view.address, (view.span // 2,), half_bytes.MEMORY, owned=False, ordinal=card)
    return DeviceArray(view.address, (view.span,), memory_type(view.dtype), owned=False, ordinal=card)


def card_of(given: Sequence[object], named: Mapping[str, object]) -> int:
    """The number of the card on which a kernel runs with these arguments: that of the first array on one, else 0."""
    first = next(filter(on_card, _flat([*given, *named.values()])), None)
    return 0 if first is None else _number(view_of(first, ""))


def _number(view: View) -> int:
    """The number of the card that an array is on."""
    from runtime.cuda import shared

    return shared().ordinal_of(view.address) if view.card is None else view.card
