"""Data derived from the lanes that use mbarriers together and from those mbarriers, cached because loops reuse a few
sets.
"""

from dataclasses import dataclass

import numpy as np

from ptxsim.geometry import WARP
from ptxsim.ptx_types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """Lanes that use mbarriers at 8-byte cells: for each warp and cell the first and the last lane.

    objects, first: cells and their first lanes [n, 1]; cells, last: the same with the last lanes; distinct: each cell
    once; warps: the warps of `last`, numbers in the machine; speakers: each of them once; told: the cells in ascending
    order; rows: the speakers that arrive at each, cell by cell, those of a cell starting at its position in `starts`;
    by_cta: the index in `distinct` that each of `last` uses if all lanes of a CTA use one cell, None otherwise;
    are_near: whether all use mbarriers of their own CTA.
    """

    objects: Array
    first: Array
    cells: Array
    last: Array
    distinct: list[int]
    warps: Array
    speakers: Array
    told: list[int]
    starts: Array
    rows: Array
    by_cta: Array | None
    are_near: bool


def use_of(numbers: Array, cells: Array, warps_per_cta: int, cells_per_cta: int) -> Use:
    """The use of cells by lanes (ascending numbers)."""
    warp = numbers // WARP
    inside = ((warp[1:] != warp[:-1]) | (cells[1:] != cells[:-1])).nonzero()[0] + 1
    starts = np.concatenate(([0], inside))
    ends = np.concatenate((inside, [numbers.size])) - 1
    last, at = numbers[ends], cells[ends]
    warps = last // WARP
    used, by = at.tolist(), warps.tolist()
    speakers = list(dict.fromkeys(by))
    speaker = {one: number for number, one in enumerate(speakers)}
    pairs = sorted({(cell, speaker[one]) for cell, one in zip(used, by, strict=True)})
    told = {cell: number for number, (cell, _) in reversed(list(enumerate(pairs)))}
    distinct = {cell: number for number, cell in enumerate(dict.fromkeys(used))}
    cta = [one // warps_per_cta for one in by]
    one_each = dict(zip(cta, used, strict=True))
    is_uniform = all(one_each[owner] == cell for owner, cell in zip(cta, used, strict=True))
    return Use(
        cells[starts],
        numbers[starts][:, None],
        at,
        last,
        list(distinct),
        warps,
        np.array(speakers),
        sorted(told),
        np.array(sorted(told.values())),
        np.array([row for _, row in pairs]),
        np.array([distinct[cell] for cell in used]) if is_uniform else None,
        all(owner == cell // cells_per_cta for owner, cell in zip(cta, used, strict=True)),
    )
