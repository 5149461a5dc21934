"""A sample with layouts as the meanings of placed terms see it: state, and services that they ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from egraph.sexpr import Atom, Sexpr
from egraph.soundness import meaning
from egraph.soundness.model import Datum, NotCovered, Unsound
from egraph.soundness.sample import NO_HINTS, Hints, Sample
from egraph.soundness.sampling import Array
from ir.records import dataclass
from ir.types import TileType
from lowering.layouts.layout import Layout
from lowering.placement.oracle import LayoutOracle

WARPS = (1, 2, 4)


@dataclass(frozen=True, eq=False)
class Held(Datum):
    """A value in a layout: `data` is [threads, registers], or the value itself where `layout` is None."""

    layout: Layout | None = None


@dataclass(frozen=True)
class Access:
    """What is true of a view: bytes of an element, bytes that are aligned, bytes at a time that are inside of the array
    or outside.
    """

    element: int
    aligned: int
    inside: int

    def of(self, fact: str) -> int:
        """By the name of its fact."""
        return self.inside if fact == "view_bytes" else self.aligned


class LayoutSample(Sample, ABC):
    """State of a sample with layouts; `lowering.placement.meaning` says what relations and terms of it mean."""

    def __init__(self, rng: np.random.Generator, hints: Hints = NO_HINTS):
        super().__init__(rng, hints)
        self.warps = int(self.random.pick(WARPS))
        self.oracle = self.asked(rng)
        self.loads: dict[tuple[object, object, int], Datum] = {}
        self.gathers: dict[int, set[tuple[int, int, int]]] = {}  # operands of loads through pointers, by what they give
        self.views: dict[object, Access] = {}
        self.widths: dict[tuple[str, object], int] = {}
        self.cells: dict[int, Any] = {}  # of global memory, by address
        self.runs: dict[tuple[str, int], int] = {}
        self.padded = False  # is what a gather's mask leaves out anything but zero?
        self.leaves: dict[tuple[str, tuple[int, ...]], Datum] = {}
        self.kinds: dict[tuple[int, ...], TileType] = {}

    def asked(self, rng: np.random.Generator) -> LayoutOracle:
        """The oracle of a program of this sample's warps."""
        program: Any = SimpleNamespace(interner=self.interner, source={})
        return LayoutOracle(program, (self.warps,), boxed=bool(rng.spawn(1)[0].integers(2)), paired=True)

    @abstractmethod
    def fits(self, value: Datum, id_: int) -> bool:
        """Is it a layout of as many elements as the value has?"""

    @abstractmethod
    def held(self, value: Datum, id_: int) -> Held:
        """The value in a layout."""

    def renamed(self, before: Datum, after: Datum) -> None:
        """A numbered value that is what a gather gives."""
        for key, value in self.leaves.items():
            if value is before:
                self.leaves[key] = after
        self.env.update({name: after for name, value in self.env.items() if value is before})

    def gathered(self, held: Held, layout: Layout) -> Array:
        """The elements in order, from where a layout says that they lie; its replicas must agree."""
        places = layout.element_map()
        if held.layout is None or held.data.shape != places.shape:
            raise Unsound("a tile is read in a layout of another size")
        found = np.empty(layout.size, held.data.dtype)
        found[places] = held.data
        if not meaning.equal(found[places], held.data):
            raise Unsound("threads that hold the same element hold different values")
        return found

    def leaf(self, head: str, columns: Sequence[Sexpr]) -> Datum:
        """Any tile; what a loop carries, yields and leaves has one type."""
        size = 1 if head == "N" else 2
        for column in columns[:size]:
            if isinstance(column, Atom) and self.is_free(column):
                self.env[column.text] = int(self.random.rng.integers(3))
        key = tuple([self.integer(column) for column in columns[:size]])
        if key not in self.kinds:
            free = not columns[2:] or (isinstance(columns[2], Atom) and self.is_free(columns[2]))
            self.kinds[key] = self.random.tile_type() if free else self.type_at(columns[2])
        type_ = self.kinds[key]
        if columns[2:]:
            self._bind(columns[2], self.interner.types.id(type_))
        if (head, key) not in self.leaves:
            self.leaves[head, key] = Datum(type_, self.random.tile(type_))
        return self.leaves[head, key]

    def placed(self, form: Sexpr) -> Held:
        """An operand that is placed."""
        found = self.evaluate(form)
        if not isinstance(found, Held):
            raise NotCovered("an operand that is not a placed value")
        return found

    def type_at(self, form: Sexpr) -> TileType:
        """The tile type that a type column names."""
        found = self.interner.types[self.integer(form)]
        if not isinstance(found, TileType):
            raise Unsound(f"{found} is not a tile type")
        return found
