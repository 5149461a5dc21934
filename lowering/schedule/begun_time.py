"""The time of an iteration if consumer threads issue its products, and if single-thread agents do.

An iteration takes as long as the issue of the busiest scheduler, or as the dependent instructions of a single warp,
whichever is longer. Both are counted in instructions (size.py); a single warp issues one in ALONE cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from ir.core import Block
from ir.dialects import nv_tileas
from ir.records import dataclass
from ir.walks import walked
from lowering.atoms.tcgen05 import tensor_named
from lowering.cost import TENSOR_LOAD
from lowering.schedule.size import STAGE, WAITS, arithmetic_cost, product, size, work
from lowering.targets import Target

ALONE = 2.4  # `tilesat mca`, sm_100a: 1474 cycles for 600 instructions, 1045 for 418, 1225 for 514 (docs/benchmarks.md)
WAIT = WAITS[nv_tileas.BarrierWait]
ARRIVE = WAITS[nv_tileas.BarrierArrive]
COMMIT = WAITS[nv_tileas.TensorCommit]
MEET = WAITS[nv_tileas.Barrier]
AROUND = 90.0
"""Cycles of a thread that loads, multiplies and stores `TENSOR_LOAD` columns: by `tilesat mca` an iteration without the
scaling takes 382 less for 128 columns (256 x 128 x 128, sm_100a), 259 (256 x 64 x 128), 227 for 64 (256 x 128 x 64).
"""
PASSED = 4.0  # compare, vote, branch: instructions where all factors are 1
HANDED = 6.0  # store the factors, arrive
CORRECTS = WAIT + ARRIVE + 6.0  # of a warp that scales, beside the scaling: two barriers, factors, its loop


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
class Scaled:
    """Sums that threads scale in an iteration: the `columns` of a thread, in `parts` of the code, in a `share` of the
    iterations; `serial`: the next scores are made where these powers lie, behind their product.
    """

    columns: int
    parts: int
    share: float
    serial: bool


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
    rest, mine, rings, commits = parts(found, target)
    turns = found.warps / target.throughput.issue
    signalled = found.fed + found.read - found.turned  # rings with an empty barrier
    computes = rest + rings + MEET * len(found.dots) + WAIT * found.fed
    relieved = threads(found, rest)
    begins = mine + rings + 2 * commits + WAIT * signalled
    before = max(turns * computes + mine + commits, ALONE * (computes + mine + commits))
    after = max(turns * relieved + begins, ALONE * relieved, ALONE * begins)
    return Times(before, after)


def parts(found: Begun, target: Target) -> tuple[float, float, float, float]:
    """Instructions of an iteration: a warp's without products, those of a block's products, of rings of tiles, of
    commits.
    """
    size_of, begun = sum(size(op, target) for op in found.body.ops), sum(map(product, found.dots))
    views = [op for op in walked(found.body) if isinstance(op, nv_tileas.BufferView)]
    rings, commits = found.waits * (WAIT + ARRIVE) + STAGE * len(views), COMMIT * len(found.dots)
    return size_of - begun - rings - commits, begun / found.groups, rings, commits


def threads(found: Begun, rest: float) -> float:
    """Instructions of a warp that computes, where agents begin its products."""
    return rest + ARRIVE * (found.fed + found.read - found.turned) + WAIT * (found.fed - found.turned)


def scaled(found: Begun, sums: Scaled, target: Target) -> tuple[float, float]:
    """Cycles of an iteration whose products agents begin, if the threads that compute scale its sums, and if other
    warps do. The busiest unit takes as long in either way; a block of rows takes as long as its threads, and its
    products where they wait for these.
    """
    rest, mine, rings, commits = parts(found, target)
    own = threads(found, rest)
    ways = sums.columns / 2 + 3 * sums.columns / TENSOR_LOAD + PASSED * sums.parts  # instructions of the scaling
    delay = sums.share * AROUND * sums.columns / TENSOR_LOAD + ALONE * PASSED * sums.parts
    tensor = sum(map(partial(tensor_cycles, target=target), found.dots))
    beside = tensor / found.groups if sums.serial else 0.0
    turns, begins = found.warps / target.throughput.issue, mine + rings + 2 * commits
    units = max(tensor, *busy(found, target).values())
    by_threads = max(units, turns * (own + sums.share * ways) + begins, beside + ALONE * own + delay)
    handed = own + HANDED * sums.parts
    issued = turns * (handed + CORRECTS * sums.parts + sums.share * ways) + begins
    return by_threads, max(units, issued, beside + ALONE * handed)


def tensor_cycles(dot: nv_tileas.TensorDot, target: Target) -> float:
    """Cycles of the tensor cores for a product."""
    atom = tensor_named(dot.atom)
    return 0.0 if atom is None else work(dot) / prod(atom.shape) * atom.cycles(target)


def busy(found: Begun, target: Target) -> dict[str, float]:
    """Cycles of an SM's units for the arithmetic of an iteration."""
    units: dict[str, float] = {"": 0.0}
    for op in walked(found.body):
        cost = arithmetic_cost(op, target, found.warps)
        for unit, cycles in () if cost is None else cost.parts:
            units[unit] = units.get(unit, 0.0) + cycles
    return units


def together(times: Sequence[Times]) -> Times:
    """An iteration of each of several loops."""
    return Times(sum(each.before for each in times), sum(each.after for each in times))
