"""Tensor memory of a CTA: which columns each tile takes and who uses it, which element lies in which lane and column.

Source: PTX ISA 8.8, Tensor Memory: 128 lanes by 512 columns of 32 bits; a warp reaches the 32 lanes of its number
modulo 4.
"""

from __future__ import annotations

import html
from collections.abc import Iterator

from viz.layout import PALETTE, Cell, draw_grid, extent, grid_text, span
from viz.picture import FAINT, INK, Drawing, Picture
from viz.record import Record, TensorTile

COLUMNS, LANES, LANES_OF_WARP = 512, 128, 32
STEP = 32
"""Columns of one cell of the map: the least that can be allocated (PTX ISA, tcgen05.alloc)."""

Place = tuple[int, int, int]
"""Lane, column of the CTA's allocation, bit of the column."""


def places(tile: TensorTile) -> list[Place]:
    """Where each element lies in the first stage."""
    lanes, columns, bits = (span([each[which] for each in tile.bits]) for which in range(3))
    return [(lane, tile.first + column, bit) for lane, column, bit in zip(lanes, columns, bits, strict=True)]


def stages(tile: TensorTile) -> Iterator[tuple[int, int]]:
    """First column of each stage, and the one behind its last."""
    for stage in range(tile.stages):
        first = tile.first + stage * tile.columns
        yield first, first + tile.columns


def map_text(record: Record) -> str:
    """The columns as text: a line a stage of a tile, then who uses it."""
    lines = [_title(record)]
    for tile in record.tensor_tiles:
        for stage, (first, end) in enumerate(stages(tile)):
            number = f", stage {stage}" if tile.stages > 1 else ""
            lines.append(f"columns {first:3} to {end - 1:3}: {tile.name}, {tile.text}{number}")
        lines += [f"    {use}" for use in tile.uses]
    return "\n".join(lines) + "\n"


def draw_map(record: Record, name: str = "tensor-memory") -> Picture:
    """A row a tile, over columns of 32: coloured where it lies; what lies in the same columns shares them in time."""
    head = "".join(f'<TD WIDTH="34">{column}</TD>' for column in range(0, COLUMNS, STEP))
    rows = [f'<TR><TD BORDER="0"></TD>{head}</TR>', *map(_row, record.tensor_tiles, range(len(record.tensor_tiles)))]
    table = f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="3" COLOR="{FAINT}">{"".join(rows)}</TABLE>'
    graph = Drawing.new(name, _title(record))
    graph.table("map", table)
    return Picture(name, graph.source, "", map_text(record))


def _row(tile: TensorTile, number: int) -> str:
    """A tile's name and uses, and the columns that its stages take."""
    words = '<BR ALIGN="LEFT"/>'.join(html.escape(text) for text in (f"{tile.name}: {tile.text}", *tile.uses))
    cells, ground = list[str](), PALETTE[number % len(PALETTE)]
    taken = [(first // STEP, -(-end // STEP)) for first, end in stages(tile)]
    at = 0
    for stage, (first, end) in enumerate(taken):
        cells += ["<TD></TD>"] * (first - at)
        label = f"stage {stage}" if tile.stages > 1 else tile.name
        cells.append(f'<TD COLSPAN="{end - first}" BGCOLOR="{ground}"><FONT COLOR="{INK}">{label}</FONT></TD>')
        at = end
    cells += ["<TD></TD>"] * (COLUMNS // STEP - at)
    return f'<TR><TD ALIGN="LEFT" BALIGN="LEFT"><FONT COLOR="{INK}">{words}</FONT></TD>{"".join(cells)}</TR>'


def _title(record: Record) -> str:
    allocated = f"{record.tensor_columns} of {COLUMNS} columns allocated"
    reach = f"warp w reaches lanes 32 (w mod 4) to 32 (w mod 4) + {LANES_OF_WARP - 1}"
    return f"{record.title}, tensor memory: {allocated}, {LANES} lanes; {reach}"


def tile_text(tile: TensorTile) -> str:
    """The grid as text; a cell is `l12 c3`, lane and column; `c3.16` begins at bit 16 of the column; `l12+3`: three
    further lanes, 32 apart, hold the same.
    """
    return grid_text(_cells(tile), tile.shape, _tile_title(tile))


def draw_tile(tile: TensorTile, name: str) -> Picture:
    """The grid as one table; cells of the same 32 lanes, which the same warps reach, share a colour."""
    return draw_grid(_cells(tile), tile.shape, _tile_title(tile), name)


def _cells(tile: TensorTile) -> list[Cell]:
    more = f"+{tile.copies}" if tile.copies else ""
    return [
        (f"l{lane}{more}", f"c{column}{f'.{bit}' if bit else ''}", PALETTE[lane // LANES_OF_WARP % len(PALETTE)])
        for lane, column, bit in places(tile)
    ]


def _tile_title(tile: TensorTile) -> str:
    return f"{tile.name} {extent(tile.shape)} in tensor memory: l lane, c column; {tile.text}"
