"""What a launch costs by how CTAs go through its tile blocks: each its own, in turns, or as they become free.

Extraction's cost is that of a CTA, in cycles of an SM; of a persistent kernel it holds `UNKNOWN_TRIPS` tile blocks.
CTAs that share an SM take turns: their cycles count one behind the other, but not what each waits for memory meanwhile.

    off        CTAs of an SM x tile block, and in each round over the device a start and what a tile block waits
    static     the same without the starts but the first; rings that no producer fills ahead are filled again
    dynamic    the same as static, with what drawing costs in the price of the tile block

Where an agent begins products in tensor memory, or several CTAs of an SM do, the steps of one tile block run beside
what threads do with the sums of another: of the two the shorter is hidden, in each tile block but the last.

What is left for the last round takes as long as if it were more. Where tile blocks differ, since the steps of a loop
depend on which it is, those that are drawn (by the hardware too) even out, but for the last; in turns a CTA may get the
longest each time, as it does where the grid's extent is a multiple of the number of CTAs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ir.core import Op, Value
from ir.dialects import cuda_tile as ct
from lowering.persistence.order import Order
from lowering.targets import Target
from lowering.targets.devices import multiprocessors

TRIPS = (
    2  # to memory before a CTA computes: parameters and tensor maps, then the first tiles; an estimate, as latencies
)
LONGEST = 2.0  # times the mean: of loops of 0 to n steps, as many of each


@dataclass(frozen=True)
class PricedProgram:
    """What a schedule has made: cycles of a CTA for a tile block, those that it waits for memory apart, CTAs of a tile
    block, CTAs that an SM holds, whether its rings are filled ahead, where it has some, and cycles of a tile block that
    run beside those of another.
    """

    busy: float
    waits: float
    ctas: int
    held: int
    ahead: bool
    hidden: float = 0.0


@dataclass(frozen=True)
class Scheduled:
    """A schedule that was tried, by the name of its option: cycles of a CTA for a tile block, those that its share of
    the memory takes, those that it waits for memory, CTAs an SM, and what that adds up to, less what is hidden under
    the next one's; or why there is no such program.
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
        return f"{way}: {parts}, {self.held} an SM: {self.total:,.0f}" + ", taken" * self.taken


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
    """Are values made of others, by operations that have no regions?"""
    waiting, seen = list(values), set[Value]()
    while waiting:
        value = waiting.pop()
        if value in on:
            return True
        if value not in seen and isinstance(value.owner, Op):
            seen.add(value)
            waiting += value.owner.operands
    return False
