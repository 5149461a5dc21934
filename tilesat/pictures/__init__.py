"""Pictures of a compiled kernel: its record, and what is drawn of it below a folder (`--viz DIR`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ir.core import Op, TileError
from tilesat.kernel import Kernel
from tilesat.output import write_file
from tilesat.pictures.record import record_of
from viz import (
    Picture,
    Record,
    draw_focus,
    draw_layout,
    draw_overview,
    draw_program,
    missing_dot,
    write_pictures,
)
from viz.explorer import page
from viz.overview import chosen_ways
from viz.tensor_memory import draw_map, draw_tile

EXPLORER = "explorer.html"
MOST_DETAILS = 40
"""Values with a picture of their own that nobody asked for, the dearest first: `dot` takes 40 ms for one."""
PROGRAMS = ("cuda_tile", "nv_tileas")
"""Levels that are drawn. Below them an operation is an instruction, a text says more."""

Focus = tuple[str, int]
"""The name of a value, and how far around it is drawn."""


def draw_all(kernels: Sequence[Kernel], folder: Path, focus: Sequence[Focus] = ()) -> Callable[[], list[Path]]:
    """Draw each kernel, below a folder for its target where there are several, and make one explorer of all; what is
    returned writes the files.

    Raises TileError before anything is written. Where `dot` is missing, that is said once.
    """
    folders = [folder / kernel.target if len(kernels) > 1 else folder for kernel in kernels]
    records = [record_of(kernel, texts=not focus) for kernel in kernels]
    drawn = [draw(kernel, record, focus) for kernel, record in zip(kernels, records, strict=True)]
    explorer = "" if focus else page(records)

    def write() -> list[Path]:
        missing = missing_dot()
        if missing:
            print(f"tilesat: {missing}", file=sys.stderr)
        written = [path for each, place in zip(drawn, folders, strict=True) for path in write_pictures(each, place)]
        if explorer:
            write_file(folder / EXPLORER, explorer)
            written.append(folder / EXPLORER)
        return written

    return write


def draw(kernel: Kernel, record: Record, focus: Sequence[Focus] = ()) -> list[Picture]:
    """The pictures of a kernel and its record.

    `overview` is the chosen program, from which links lead to `value-NAME`, all ways to make a value: those of `focus`,
    and without any those of the dearest tiles; `layoutN` is who holds what, also as text, `tensor-memory` which columns
    of tensor memory each tile takes, `tensor-TN` in which lane and column each element of one lies; `cuda_tile` and
    `nv_tileas` are the program there. Raises TileError for a name that no value has.
    """
    return [*values(record, focus), *([] if focus else [*grids(record), *programs(kernel)])]


def values(record: Record, focus: Sequence[Focus]) -> list[Picture]:
    """The overview, and values in detail."""
    asked = {find_value(record, name): radius for name, radius in focus} if focus else dict.fromkeys(dearest(record), 1)
    back = "overview.svg"
    details = [draw_focus(record, value, radius, asked, back) for value, radius in asked.items()]
    return [draw_overview(record, asked), *details]


def grids(record: Record) -> list[Picture]:
    """Who holds what of each tile of the chosen program, and where tiles lie in tensor memory."""
    used = [(layout, shape) for layout in record.layouts for shape in layout.used]
    found = [draw_layout(layout, shape, f"layout{number}") for number, (layout, shape) in enumerate(used)]
    if record.tensor_tiles:
        found += [draw_map(record), *(draw_tile(tile, f"tensor-{tile.name}") for tile in record.tensor_tiles)]
    return found


def programs(kernel: Kernel) -> list[Picture]:
    """The program where a screen can hold it."""
    found: dict[str, Op] = {"cuda_tile": kernel.entry, **kernel.compiled.modules}
    return [draw_program(found[name], name) for name in PROGRAMS]


def dearest(record: Record) -> list[int]:
    """The named values that cost most in the chosen program, at most `MOST_DETAILS`."""
    costs = {
        number: sum(way.cost or 0.0 for _, way in chosen_ways(record, value))
        for number, value in enumerate(record.values)
        if value.names
    }
    return sorted((number for number, cost in costs.items() if cost), key=lambda n: -costs[n])[:MOST_DETAILS]


def find_value(record: Record, name: str) -> int:
    """The number of the value with a name of the source. Raises TileError with the names that there are."""
    wanted = f"%{name.lstrip('%')}"
    for number, value in enumerate(record.values):
        if wanted in value.names:
            return number
    names = sorted({name for value in record.values for name in value.names})
    raise TileError(f"@{record.kernel} has no value {wanted}", hint=f"its values are {', '.join(names)}")
