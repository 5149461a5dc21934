"""The layouts of a compilation, called as `--explain` calls them, and found again in printed programs."""

from __future__ import annotations

import re

from ir.core import Op
from ir.types import TensorType
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.selection import Selection
from viz.record import Layout as Drawn

SPELLED = re.compile(r"#nv_tileas\.(?:linear|shared)<[^<>]*>")
_TILE = re.compile(r"tile<((?:\d+x)*)\w+>")


class Layouts:
    """Gives each layout its number in the record."""

    def __init__(self, selection: Selection):
        self.selection = selection
        self.drawn: list[Drawn] = []
        self._numbers: dict[Layout | SharedLayout, int] = {}

    def of(self, id: int, type: str) -> int:
        """The number of the layout of an id for a value of some type; -1 for what all threads hold alike."""
        if id <= 0:
            return -1
        found = _TILE.fullmatch(type)
        shape = [int(part) for part in found[1].split("x") if part] if found else []
        return self.add(self.selection.oracle.layouts[id], shape)

    def add(self, layout: Layout | SharedLayout, shape: list[int]) -> int:
        """The number of a layout, which holds a tile of this shape."""
        number = self._numbers.get(layout)
        if number is None:
            number = self._numbers[layout] = len(self.drawn)
            self.drawn.append(drawn(layout, f"L{self.selection.oracle.layout_id(layout)}"))
        if shape and shape not in self.drawn[number].shapes:
            self.drawn[number].shapes.append(shape)
        return number

    def of_program(self, program: Op) -> None:
        """The layouts of the values of a placed program, some of which extraction did not see."""
        for op in program.walk():
            for value in op.results:
                kind = value.type
                if isinstance(kind, TensorType) and isinstance(kind.layout, Layout | SharedLayout) and kind.shape:
                    used = self.drawn[self.add(kind.layout, list(kind.shape))].used
                    if list(kind.shape) not in used:
                        used.append(list(kind.shape))

    def shortened(self, text: str) -> str:
        """A line of a program with the names of layouts in place of their bases."""
        known = {layout.mlir(): self.drawn[number].name for layout, number in self._numbers.items()}
        return SPELLED.sub(lambda found: f"#{known[found[0]]}" if found[0] in known else found[0], text)


def drawn(layout: Layout | SharedLayout, name: str) -> Drawn:
    """A layout as the record holds it."""
    if isinstance(layout, SharedLayout):
        return Drawn(name, str(layout), offset=list(layout.offset), bytes=layout.element_bytes)
    return Drawn(name, str(layout), reg=list(layout.reg), lane=list(layout.lane), warp=list(layout.warp))
