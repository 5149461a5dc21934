"""The cost of a launch by schedule of tile blocks: one per CTA, round-robin, or dynamic.

Extraction's cost is that of a CTA, in cycles of an SM; for a persistent kernel it covers `UNKNOWN_TRIPS` tile blocks.
CTAs that share an SM alternate: their cycles add up, but their waits for memory overlap.

    off        CTAs of an SM x tile block, and in each wave over the device a start-up and the waits of a tile block
    static     the same with only the first start-up; rings that no producer fills ahead are refilled
    dynamic    the same as static, with the cost of drawing included in the tile block

If an agent issues products in tensor memory, or several CTAs of an SM do, the steps of one tile block overlap with the
threads' work on the sums of another: the shorter of the two is hidden, in every tile block but the last.

A partial last wave takes as long as a full one. If tile blocks differ, because the steps of a loop depend on the tile
block, dynamic schedules (including the hardware's) even out, except for the last; round-robin, a CTA may get the
longest each time, as it does if the grid's extent is a multiple of the number of CTAs.
"""

from __future__ import annotations

from math import ceil

from ir.core import Op, Value
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from lowering.persistence.order import Order
from lowering.targets import Target
from lowering.targets.devices import multiprocessors

TRIPS = (
    2  # to memory before a CTA computes: parameters and tensor maps, then the first tiles; an estimate, as latencies
)
LONGEST = 2.0  # times the mean: for loops of 0 to n steps, equally many of each


@dataclass(frozen=True)
class PricedProgram:
    """A program under a schedule: cycles of a CTA for a tile block, its waits for memory separately, CTAs of a tile
    block, CTAs an SM, whether its rings, if any, are filled ahead, and cycles of a tile block that overlap with
    another.
    """

    busy: float
    waits: float
    ctas: int
    held: int
    ahead: bool
    hidden: float = 0.0


@dataclass(frozen=True)
class Scheduled:
    """A schedule that was tried, by the name of its option: cycles of a CTA for a tile block, cycles for its share of
    memory bandwidth, waits for memory, CTAs an SM, and the total minus what is hidden by the next tile block; or why
    there is no such program.
    """

    schedule: str
    busy: float = 0.0
    memory: float = 0.0
    waits: float = 0.0
    held: int = 1
    total: float = float("inf")
    order: str = ""
    reason: str = ""
    taken: bool = False
    hidden: float = 0.0

    def __str__(self) -> str:
        if self.reason:
            return f"{self.schedule}: not possible, {self.reason}"
        way = f"{self.schedule}, {self.order}" if self.order else self.schedule
        parts = f"{self.busy:,.0f} + {self.memory:,.0f} of memory, waits {self.waits:,.0f}"
        parts += f", hidden {self.hidden:,.0f}" if self.hidden else ""
        return f"{way}: {parts}, {self.held} per SM: {self.total:,.0f}" + ", taken" * self.taken


def scheduled(
    schedule: str, program: PricedProgram, order: Order, target: Target, tile_blocks: int = 0, uneven: bool = False
) -> Scheduled:
    """The price of a program for a launch of `tile_blocks`, in cycles; 0: in cycles of an SM, of one of many."""
    latency, drawn = float(target.latency.global_), schedule != "static"
    start = TRIPS * latency
    again = start if schedule == "off" else 0.0 if program.ahead else latency
    waits, memory = program.waits + again, order.cycles / program.ctas
    work, longest = program.busy + memory, LONGEST if uneven else 1.0
    hidden = min(program.hidden, work)
    if not tile_blocks:
        total = ((work - hidden) * (1.0 if drawn else longest) + waits / program.held) * program.ctas
    else:
        chips = multiprocessors(target.name) / program.ctas  # as many tile blocks run at once with one CTA an SM
        rounds = ceil(tile_blocks / max(1, int(chips * program.held)))
        whole, left = divmod(tile_blocks, max(1, int(chips * program.held)))
        turns = whole * program.held + ceil(left / chips)
        turns = max(longest, tile_blocks / chips + 1.0) if uneven and drawn else turns * longest
        total = work * turns - hidden * max(0.0, turns - 1.0) + waits * rounds + (start - again)
    shown = f"groups of {order.width} along x" if order.width else ""
    return Scheduled(schedule, program.busy, memory, waits, program.held, total, shown, hidden=hidden)


def uneven(entry: ct.Entry) -> bool:
    """Do the steps of a loop depend on the tile block?"""
    ids = {value for op in entry.walk() if isinstance(op, ct.GetTileBlockId) for value in op.results}
    loops = (op for op in entry.walk() if isinstance(op, ct.For))
    return any(depends((loop.lower_bound, loop.upper_bound), ids) for loop in loops)


def depends(values: tuple[Value, ...], on: set[Value]) -> bool:
    """Do values depend on others, through operations without regions?"""
    waiting, seen = list(values), set[Value]()
    while waiting:
        value = waiting.pop()
        if value in on:
            return True
        if value not in seen and isinstance(value.owner, Op):
            seen.add(value)
            waiting += value.owner.operands
    return False
