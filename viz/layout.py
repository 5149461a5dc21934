"""A grid of which thread and register holds which element of a tile, or its position in shared memory.

Layouts are XOR bases over the row-major flattened element index, as linear layouts are (arXiv 2505.23819).
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from math import prod

from viz.picture import INK, Drawing, Picture
from viz.record import Layout

MAX_ROWS, MAX_COLUMNS = 32, 32
"""A grid beyond 1024 cells is unreadable; the corner shows the pattern, which is linear and so repeats."""

PALETTE = ("#dbe9f6", "#fde2d2", "#dff0d8", "#f6dbe9", "#fff3c4", "#e3dcf2", "#d2f0ee", "#ececec")
"""Ground of a cell: of registers by lane / 4, since mma and ldmatrix fragments are groups of four lanes (PTX ISA, mma
fragments); of shared memory by the 16 bytes of its row of 128 that it is in, the unit that swizzles move."""
BANK_BYTES, BANKS = 4, 32
"""Of shared memory; CUDA C++ Programming Guide, shared memory."""
CHUNK_BYTES = 16
"""Four banks: what a swizzle moves as a whole; PTX ISA, swizzling modes."""

Holder = tuple[int, int, int]
"""(warp, lane, register)."""


def holders(layout: Layout, size: int) -> list[list[Holder]]:
    """For each element of a tile of `size` elements, all its holders, first warp and lane first."""
    found: list[list[Holder]] = [[] for _ in range(size)]
    registers, lanes, warps = (span(bases) for bases in (layout.reg, layout.lane, layout.warp))
    for w, from_warp in enumerate(warps):
        for lane, from_lane in enumerate(lanes):
            for r, from_register in enumerate(registers):
                found[from_warp ^ from_lane ^ from_register].append((w, lane, r))
    return found


def offsets(layout: Layout) -> list[int]:
    """The byte at which each element lies in a buffer of shared memory."""
    return [offset * layout.bytes for offset in span(layout.offset)]


def span(bases: Sequence[int]) -> list[int]:
    """The XOR of the bases selected by each number's bits, for all numbers."""
    values = [0]
    for basis in bases:
        values += [value ^ basis for value in values]
    return values


Cell = tuple[str, str, str]
"""Two lines of text, and the ground."""


def layout_text(layout: Layout, shape: Sequence[int]) -> str:
    """The grid as plain text; a cell is `w0 t12 r3` (warp, lane, register), `+n` where n more threads hold it, or the
    byte offset and the bank in shared memory, `@144 b4`.
    """
    return grid_text(_cells(layout, prod(shape)), shape, _title(layout, shape))


def draw_layout(layout: Layout, shape: Sequence[int], name: str = "layout") -> Picture:
    """The grid as one HTML-label table; cells of four neighbouring lanes, or of 16 bytes, share a colour."""
    return draw_grid(_cells(layout, prod(shape)), shape, _title(layout, shape), name)


def grid_text(cells: Sequence[Cell], shape: Sequence[int], title: str) -> str:
    """A tile's cells as plain text below a title."""
    grid, note = _grid(cells, shape)
    texts = [[f"{first} {second}".strip() for first, second, _ in row] for row in grid]
    width = max(len(text) for row in texts for text in row)
    lines = [" ".join(text.ljust(width) for text in row).rstrip() for row in texts]
    return "\n".join([title, *([note] if note else []), *lines]) + "\n"


def draw_grid(cells: Sequence[Cell], shape: Sequence[int], title: str, name: str) -> Picture:
    """A tile's cells as one HTML-label table."""
    grid, note = _grid(cells, shape)
    rows = "".join("<TR>" + "".join(map(_cell, row)) + "</TR>" for row in grid)
    table = f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="2" COLOR="{INK}">{rows}</TABLE>'
    graph = Drawing.new(name, title + (f"\n{note}" if note else ""))
    graph.table("grid", table)
    return Picture(name, graph.source, note, grid_text(cells, shape, title))


def _cells(layout: Layout, size: int) -> list[Cell]:
    """Each element's cell."""
    return [*map(_shared_cell, offsets(layout))] if layout.shared else [*map(_held_cell, holders(layout, size))]


def _grid(cells: Sequence[Cell], shape: Sequence[int]) -> tuple[list[Sequence[Cell]], str]:
    """The tile as rows of its last dimension (leading dimensions flattened), cut to the limits, and what was cut."""
    columns, size = shape[-1] if shape else 1, prod(shape)
    rows = [cells[start : start + columns] for start in range(0, size, columns)]
    note = ""
    if len(rows) > MAX_ROWS or columns > MAX_COLUMNS:
        kept = f"{min(len(rows), MAX_ROWS)} of {len(rows)} rows, {min(columns, MAX_COLUMNS)} of {columns} columns"
        note = f"cut: the first {kept}"
    return [row[:MAX_COLUMNS] for row in rows[:MAX_ROWS]], note


def extent(shape: Sequence[int]) -> str:
    """A shape in a title."""
    return "x".join(map(str, shape)) or "scalar"


def _title(layout: Layout, shape: Sequence[int]) -> str:
    what = "@ byte, b bank" if layout.shared else "w warp, t lane, r register"
    return f"{layout.name} {extent(shape)}: {what}; {layout.text}"


def _held_cell(holding: list[Holder]) -> Cell:
    if not holding:
        return "-", "", "white"
    warp, lane, register = holding[0]
    more = f"+{len(holding) - 1}" if len(holding) > 1 else ""
    return f"w{warp} t{lane}", f"r{register}{more}", PALETTE[lane // 4 % len(PALETTE)]


def _shared_cell(offset: int) -> Cell:
    bank = offset // BANK_BYTES % BANKS
    return f"@{offset}", f"b{bank}", PALETTE[offset // CHUNK_BYTES % len(PALETTE)]


def _cell(cell: Cell) -> str:
    first, second, ground = cell
    text = f"{html.escape(first)}<BR/>{html.escape(second)}" if second else html.escape(first)
    return f'<TD BGCOLOR="{ground}"><FONT POINT-SIZE="8">{text}</FONT></TD>'
