"""Which thread and register holds which element of a tile, as a grid.

A layout is read through `BitLayout`: XOR bases over the row-major flattened element index, as linear layouts are
(arXiv 2505.23819). viz does not import lowering, so any object with these three fields is drawn.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Protocol, TypeGuard, runtime_checkable

from viz.picture import INK, Drawing, Picture

MAX_ROWS, MAX_COLUMNS = 32, 32
"""A grid beyond 1024 cells is unreadable; the corner shows the pattern, which is linear and so repeats."""

PALETTE = (
    "#dbe9f6", "#fde2d2", "#dff0d8", "#f6dbe9", "#fff3c4", "#e3dcf2", "#d2f0ee", "#ececec",
)  # fmt: skip
"""Ground of a cell by lane / 4: mma and ldmatrix fragments are groups of four lanes (PTX ISA, mma fragments)."""


@runtime_checkable
class BitLayout(Protocol):
    """Basis k of each tuple is the element-index XOR mask of bit k of the register, lane or warp number."""

    @property
    def reg(self) -> tuple[int, ...]:
        """Bases of the register number."""
        ...

    @property
    def lane(self) -> tuple[int, ...]:
        """Bases of the lane number."""
        ...

    @property
    def warp(self) -> tuple[int, ...]:
        """Bases of the warp number."""
        ...


def is_bit_layout(layout: object) -> TypeGuard[BitLayout]:
    """Whether `layout` can be drawn (a layout of shared memory, for one, cannot)."""
    return isinstance(layout, BitLayout)


Holder = tuple[int, int, int]
"""(warp, lane, register)."""


def holders(layout: BitLayout, size: int) -> list[list[Holder]]:
    """For each element of a tile of `size` elements, everyone who holds it, first warp and lane first."""
    found: list[list[Holder]] = [[] for _ in range(size)]
    registers, lanes, warps = (_span(bases) for bases in (layout.reg, layout.lane, layout.warp))
    for w, from_warp in enumerate(warps):
        for lane, from_lane in enumerate(lanes):
            for r, from_register in enumerate(registers):
                found[from_warp ^ from_lane ^ from_register].append((w, lane, r))
    return found


def _span(bases: Sequence[int]) -> list[int]:
    """The XOR of the bases selected by each number's bits, for all numbers."""
    values = [0]
    for basis in bases:
        values += [value ^ basis for value in values]
    return values


def layout_text(layout: BitLayout, shape: tuple[int, ...]) -> str:
    """The grid as plain text; a cell is `w0 t12 r3` (warp, lane, register), `+n` where n more threads hold it."""
    rows, note = _grid(layout, shape)
    cells = [[_plain(holding) for holding in row] for row in rows]
    width = max(len(cell) for row in cells for cell in row)
    lines = [" ".join(cell.ljust(width) for cell in row).rstrip() for row in cells]
    return "\n".join([_title(layout, shape), *([note] if note else []), *lines]) + "\n"


def draw_layout(layout: BitLayout, shape: tuple[int, ...], name: str = "layout") -> Picture:
    """The grid as one HTML-label table; cells of four neighbouring lanes share a colour."""
    rows, note = _grid(layout, shape)
    cells = "".join("<TR>" + "".join(_cell(holding) for holding in row) + "</TR>" for row in rows)
    table = f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="2" COLOR="{INK}">{cells}</TABLE>'
    title = _title(layout, shape) + (f"\n{note}" if note else "")
    graph = Drawing.new(name, title)
    graph.table("grid", table)
    return Picture(name, graph.source, note)


def _grid(layout: BitLayout, shape: tuple[int, ...]) -> tuple[list[list[list[Holder]]], str]:
    """The tile as rows of its last dimension (leading dimensions flattened), cut to the limits, and what was cut."""
    columns = shape[-1] if shape else 1
    size = 1
    for extent in shape:
        size *= extent
    found = holders(layout, size)
    rows = [found[start : start + columns] for start in range(0, size, columns)]
    note = ""
    if len(rows) > MAX_ROWS or columns > MAX_COLUMNS:
        kept = f"{min(len(rows), MAX_ROWS)} of {len(rows)} rows, {min(columns, MAX_COLUMNS)} of {columns} columns"
        note = f"cut: the first {kept}"
    return [row[:MAX_COLUMNS] for row in rows[:MAX_ROWS]], note


def _title(layout: BitLayout, shape: tuple[int, ...]) -> str:
    extent = "x".join(map(str, shape)) or "scalar"
    return f"{extent}: w warp, t lane, r register; {layout}"


def _plain(holding: list[Holder]) -> str:
    if not holding:
        return "-"
    warp, lane, register = holding[0]
    more = f"+{len(holding) - 1}" if len(holding) > 1 else ""
    return f"w{warp} t{lane} r{register}{more}"


def _cell(holding: list[Holder]) -> str:
    if not holding:
        return '<TD BGCOLOR="white">-</TD>'
    warp, lane, register = holding[0]
    more = f" +{len(holding) - 1}" if len(holding) > 1 else ""
    ground = PALETTE[lane // 4 % len(PALETTE)]
    text = html.escape(f"w{warp} t{lane}")
    return f'<TD BGCOLOR="{ground}"><FONT POINT-SIZE="8">{text}<BR/>r{register}{more}</FONT></TD>'
