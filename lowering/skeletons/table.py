"""Alternative skeletons: alternatives to the source's loops and products, under permissions if inexact. Each is tried
as a whole kernel, and cost decides (lowering/passes/candidates.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from egraph import placed
from egraph.permissions import AFN, NINF, REASSOC, granted
from ir.dialects import cuda_tile as ct
from ir.records import dataclass
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import (
    ATTENTION,
    BLOCKS,
    LAGGING,
    LANES,
    MERGED,
    MOMENTS,
    ONLINE,
    PAIRS,
    SCALING,
    SWAPPED,
    UNSIGNED,
)
from lowering.skeletons.by_lane import exact_by_lane, runs_of, sums_by_lane, supposed_runs
from lowering.skeletons.joined_steps import even_steps, levelled_steps
from lowering.skeletons.lagging import lagging_levels
from lowering.skeletons.merged_folds import crossing_of, merged_folds, supposed_crossing
from lowering.skeletons.moments import moments_online
from lowering.skeletons.online_sums import (
    attention_online,
    finite_attention_online,
    finite_sums_online,
    sums_online,
)
from lowering.skeletons.room import held_by_products
from lowering.skeletons.scaled_products import scales_behind
from lowering.skeletons.score_blocks import finite_online_by_blocks, online_by_blocks
from lowering.skeletons.swapped_products import heights_of, swapped
from lowering.skeletons.unsigned_scales import signs_to_factors
from lowering.slicing import HELD
from lowering.targets.features import Feature

if TYPE_CHECKING:
    from lowering.selection import Selection


@dataclass(frozen=True)
class Skeleton:
    """`name`: what --forbid calls it; `needs`: permissions; `made`: gives an entry itself where it finds nothing;
    `seen`: what it asks the entry's chosen program, its second argument; `supposed`: what that may be, by the entry
    alone; `timed`: it must be predicted to take less than this times the time too, where what overlaps in its loops is
    no longer what did (0: whatever the time); `held`: registers of a thread that its products' results take, beside a
    program that was found: it is not tried where that is too much.
    """

    name: str
    needs: frozenset[int]
    made: Callable[..., ct.Entry]
    seen: Callable[[Selection], Hashable] | None = None
    timed: float = 0.0
    supposed: Callable[[ct.Entry], Hashable] | None = None
    held: Callable[[ct.Entry, Selection], int] | None = None

    def crowded(self, other: ct.Entry, found: Selection) -> int:
        """Registers of a thread that the results of products take in an entry rewritten this way, where these are so
        many that it is not worth a trial; otherwise 0.
        """
        held = 0 if self.held is None else self.held(other, found)
        return held if held >= CROWDED else 0

    def foreseen(self, entry: ct.Entry, once: Callable[[Hashable, Callable[[], ct.Entry]], ct.Entry]) -> ct.Entry:
        """An entry rewritten this way before a program is found for it, as far as can be supposed."""
        if self.seen is None:
            return self.instead(entry, None, once)
        return entry if self.supposed is None else self.made(entry, self.supposed(entry))

    def instead(
        self, entry: ct.Entry, found: Selection | None, once: Callable[[Hashable, Callable[[], ct.Entry]], ct.Entry]
    ) -> ct.Entry:
        """An entry, for which a program was found, rewritten this way; made `once` for each entry and what was seen.
        `found`: None where nothing is `seen`.
        """
        asked = () if self.seen is None or found is None else (self.seen(found),)
        return once((self, entry, *asked), partial(self.made, entry, *asked))


def scales_there(found: Selection) -> bool:
    """Does a chosen program scale sums in tensor memory, or add up there what it reads?"""
    return any(isinstance(node, placed.TensorScaledProduct | placed.TensorReadProduct) for node in found.node.values())


def scales_missed(found: Selection) -> bool:
    """Whether the target has products that take scales and the program uses none."""
    taken = any(isinstance(node, placed.ScaledMmaF) for node in found.node.values())
    return found.target.has(Feature.MMA_BLOCK_SCALE) and not taken


EQUAL = 1.01
"""Times that the tables do not tell apart: an estimate."""

CROWDED = HELD
"""Registers of a thread for the results of an iteration's products from which two steps are not joined. On sm_80 and
sm_120a 7 of 7 attempts with 128 and more cost more than single steps (attention-128, flash_attention, attention and
attention_passes of the ablation; 0.5 to 3.3 s of CPU each); 7 of 9 with 96 and fewer cost less. On sm_90a 128 pay.
"""

SKELETONS = (
    Skeleton(SWAPPED, frozenset(), swapped, heights_of, timed=EQUAL),
    Skeleton(UNSIGNED, frozenset(), signs_to_factors, scales_missed),
    Skeleton(SCALING, frozenset({REASSOC}), scales_behind),
    Skeleton(ONLINE, frozenset({REASSOC, AFN, NINF}), finite_sums_online),
    Skeleton(ONLINE, frozenset({REASSOC, AFN}), sums_online),
    Skeleton(ATTENTION, frozenset({REASSOC, AFN, NINF}), finite_attention_online),
    Skeleton(ATTENTION, frozenset({REASSOC, AFN}), attention_online),
    Skeleton(BLOCKS, frozenset({REASSOC, AFN, NINF}), finite_online_by_blocks),
    Skeleton(BLOCKS, frozenset({REASSOC, AFN}), online_by_blocks),
    Skeleton(MOMENTS, frozenset({REASSOC, AFN}), moments_online),
    Skeleton(PAIRS, frozenset({REASSOC, AFN}), even_steps, timed=EQUAL, held=held_by_products),
    Skeleton(PAIRS, frozenset({REASSOC, AFN}), levelled_steps, timed=1.0, held=held_by_products),
    Skeleton(LAGGING, frozenset({REASSOC, AFN}), lagging_levels, scales_there),
    Skeleton(LANES, frozenset(), exact_by_lane, runs_of, supposed=supposed_runs),
    Skeleton(LANES, frozenset({REASSOC}), sums_by_lane, runs_of, supposed=supposed_runs),
    Skeleton(MERGED, frozenset(), merged_folds, crossing_of, supposed=supposed_crossing),
)
"""In the order in which they are tried, each on the cheapest kernel before it."""


def permitted(fast: Iterable[str], forbid: Iterable[str]) -> Iterator[Skeleton]:
    """Those that permissions allow and that are not forbidden."""
    given, names = granted(fast), tuple(forbid)
    return (each for each in SKELETONS if each.needs <= given and not forbidden(each.name, names))
