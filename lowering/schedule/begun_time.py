"""The time of an iteration if consumer threads issue its products, and if single-thread agents do.

An iteration takes as long as the issue of the busiest scheduler, or as the dependent instructions of a single warp,
whichever is longer. Both are counted in instructions (size.py); a single warp issues one in ALONE cycles.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Block
from ir.dialects import nv_tileas
from ir.records import dataclass
from ir.walks import walked
from lowering.schedule.size import STAGE, WAITS, product, size
from lowering.targets import Target

ALONE = 2.4  # `tilesat mca`, sm_100a: 1474 cycles for 600 instructions, 1045 for 418, 1225 for 514 (docs/benchmarks.md)
WAIT = WAITS[nv_tileas.BarrierWait]
ARRIVE = WAITS[nv_tileas.BarrierArrive]
COMMIT = WAITS[nv_tileas.TensorCommit]
MEET = WAITS[nv_tileas.Barrier]


@dataclass(frozen=True)
class Begun:
    """A block with products, run by `warps`, whose `groups` each have a block of rows: `waits` for stages in shared
    memory, `fed` products that threads write for, `read` others, `turned` of them whose rings need no empty barriers.
    """

    body: Block
    dots: Sequence[nv_tileas.TensorDot]
    warps: int
    groups: int
    waits: int
    fed: int
    read: int
    turned: int


@dataclass(frozen=True)
class Times:
    """Cycles of an iteration, predicted: if consumer threads issue its products, and if agents do."""

    before: float
    after: float

    @property
    def better(self) -> bool:
        """Do agents take less time?"""
        return self.after < self.before

    def said(self) -> str:
        """The prediction in words."""
        who = "agents of their own" if self.better else "consumer threads"
        both = f"{self.before:.0f} if consumer threads issue them, {self.after:.0f} if agents do"
        return f"products are issued by {who}: predicted cycles per iteration {both}"


def predicted(found: Begun, target: Target) -> Times:
    """Both ways."""
    size_of = sum(size(op, target) for op in found.body.ops)
    begun, views = (
        sum(map(product, found.dots)),
        [op for op in walked(found.body) if isinstance(op, nv_tileas.BufferView)],
    )
    rings, commits = found.waits * (WAIT + ARRIVE) + STAGE * len(views), COMMIT * len(found.dots)
    rest, mine, turns = size_of - begun - rings - commits, begun / found.groups, found.warps / target.throughput.issue
    signalled = found.fed + found.read - found.turned  # rings with an empty barrier
    computes = rest + rings + MEET * len(found.dots) + WAIT * found.fed
    relieved = rest + ARRIVE * signalled + WAIT * (found.fed - found.turned)
    begins = mine + rings + 2 * commits + WAIT * signalled
    before = max(turns * computes + mine + commits, ALONE * (computes + mine + commits))
    after = max(turns * relieved + begins, ALONE * relieved, ALONE * begins)
    return Times(before, after)


def together(times: Sequence[Times]) -> Times:
    """An iteration of each of several loops."""
    return Times(sum(each.before for each in times), sum(each.after for each in times))
