"""The time of a tile of a persistent loop: by all warpgroups together, or by groups of warps that alternate on tiles.

    cooperative    the main loop, then all else
    ping-pong      the main loops one behind the other, or all that the busiest unit has to do for a tile, or half of
                   what a group does for one of its tiles, of which it has every other; the longest of them
The main loop is predicted as any (predict.py), all else is at its cost in the tables, with the latencies that wait.
"""

from __future__ import annotations

from collections import defaultdict

from egraph.skeleton import SkeletonLoop
from ir.records import dataclass
from lowering.cost import units_of
from lowering.loops import paths
from lowering.modulo.ahead import TURN
from lowering.modulo.predict import predicted
from lowering.selection import Selection
from lowering.selection.choices import TileTime
from lowering.selection.trips import trip_counts

COOPERATIVE, PING_PONG = "cooperative", "ping-pong"


@dataclass(frozen=True)
class Parts:
    """Cycles of a tile: its innermost loops, all else, and what the busiest unit does of both."""

    main: float
    rest: float
    busy: float
    unit: str


def parts(selection: Selection) -> Parts:
    """Of a decoded choice with loops in a loop over tiles, which is the outermost one."""
    time, tiles = predicted(selection), tiles_of(selection)
    units: dict[str, float] = defaultdict(float)
    for node in selection.answer.chosen.values():
        trips, cost = selection.priced.get(node, (0.0, None))
        for unit, cycles in units_of(cost, selection.target).items() if cost is not None else ():
            units[unit] += trips * cycles / tiles
    unit = max(units, key=lambda each: units[each], default="")
    return Parts(sum(each.cycles for each in time.loops) / tiles, time.rest / tiles, units.get(unit, 0.0), unit)


def tiles_of(selection: Selection) -> float:
    """Iterations of the outermost loop around others."""
    skeleton = selection.saturated.program.skeleton
    outer = {path[0] for path in paths(skeleton).values() if len(path) > 1}
    trips = trip_counts(selection.saturated)
    return max(
        (trips[item.loop] for item in skeleton.walk() if isinstance(item, SkeletonLoop) and item.loop in outer),
        default=1,
    )


def cooperative(selection: Selection) -> TileTime:
    """All warpgroups on one tile."""
    found = parts(selection)
    return TileTime(COOPERATIVE, f"{selection.warps} warps", found.main, found.rest, found.main + found.rest)


def in_turn(selection: Selection, groups: int, epilogues: bool) -> TileTime:
    """Groups on successive tiles, each with the warps of the choice; `epilogues` take turns too."""
    found = parts(selection)
    total = max(found.main + TURN, found.busy, (found.main + found.rest) / groups, found.rest * epilogues)
    shaped = f"{groups} x {selection.warps} warps"
    limit = found.unit if total == found.busy else ""
    return TileTime(PING_PONG, shaped, found.main, found.rest, total, limit)
