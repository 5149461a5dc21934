"""What an iteration takes where threads that compute begin its products, and where agents of one thread each do.

An iteration takes as long as the busiest scheduler issues, or as a warp by itself waits for its own instructions, the
longer of both. Both are counted in instructions (size.py); a warp by itself issues one in ALONE cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ir.core import Block
from ir.dialects import nv_tileas
from lowering.schedule.size import STAGE, WAITS, product, size
from lowering.targets import Target

ALONE = 2.4  # `tilesat mca`, sm_100a: 1474 cycles for 600 instructions, 1045 for 418, 1225 for 514 (docs/benchmarks.md)
WAIT = WAITS[nv_tileas.BarrierWait]
ARRIVE = WAITS[nv_tileas.BarrierArrive]
COMMIT = WAITS[nv_tileas.TensorCommit]
MEET = WAITS[nv_tileas.Barrier]


@dataclass(frozen=True)
class Begun:
    """A block with products, run by so many `warps`, whose `groups` each have a block of rows: `waits` for stages in
    shared memory, `fed` products that threads write for, `read` ones alone, `turned` of which no ring has to say when
    it is empty.
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
    """Cycles of an iteration, predicted: by threads that compute, by agents."""

    before: float
    after: float


def predicted(found: Begun, target: Target) -> Times:
    """Both ways."""
    whole = sum(size(op, target) for op in found.body.ops)
    begun = sum(map(product, found.dots))
    rings = found.waits * (WAIT + ARRIVE) + STAGE * sum(
        isinstance(each, nv_tileas.BufferView) for op in found.body.ops for each in op.walk()
    )
    commits = COMMIT * len(found.dots)
    rest = whole - begun - rings - commits
    mine, turns = begun / found.groups, max(1.0, found.warps / target.throughput.issue)
    shared = rings + MEET * len(found.dots) + WAIT * found.fed
    begins = rest + shared + mine + commits
    handed = ARRIVE * (found.fed + found.read - found.turned) + WAIT * (found.fed - found.turned)
    agent = mine + rings + 2 * commits + WAIT * (found.fed + found.read - found.turned)
    before = max(turns * (rest + shared) + mine + commits, ALONE * begins)
    after = max(turns * (rest + handed) + agent, ALONE * (rest + handed), ALONE * agent)
    return Times(before, after)


def preferable(found: Begun, target: Target) -> Times | None:
    """The prediction where agents are predicted to take less time."""
    times = predicted(found, target)
    return times if times.after < times.before else None
