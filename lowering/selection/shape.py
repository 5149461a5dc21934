"""How a CTA is shaped, as classes of the extraction problem: warps that compute, CTAs that share an SM, stages of
rings, agents. Whatever depends on one of these decisions takes the class of its alternative as a child.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING
from weakref import proxy

from lowering.selection.resources import ADDRESSES
from lowering.selection.trips import PRODUCTS
from lowering.source.supported import registers_of
from lowering.targets import Feature
from lowering.targets.target import WARP

if TYPE_CHECKING:
    from lowering.selection.graph import Selector

INFINITE = float("inf")
ROUND_TRIPS = 3
"""To the L2 cache before the first copy of a kernel that makes its tensor maps: a slot is claimed, maps are published,
maps are acquired. Counted in the code; what each takes is the latency of global memory, an estimate."""
FIELDS = 14
"""Of a map of two dimensions, which one thread replaces in shared memory one after the other; each an estimate."""


class Shape:
    """The classes of these decisions, made as they are asked for."""

    def __init__(self, selector: Selector):
        self.selector: Selector = proxy(selector)  # not in a cycle: it goes when the search has ended
        self.warp_classes: dict[int, int] = {}
        self.stage_classes: dict[tuple[int, int], int] = {}
        self.cta_classes: dict[int, int] = {}
        self.maps: dict[int, int] = {}  # the class of each array's own tensor map; of -1 what all of them take
        self.agents: dict[bool, int] = {}  # the classes of a producer, by whether it makes tensor copies alone

    @property
    def classes(self) -> tuple[int, ...]:
        """All that stand for a decision that people are shown."""
        return (*self.warp_classes.values(), *self.cta_classes.values(), *self.stage_classes.values())

    def warps(self, count: int) -> list[int]:
        """What a node that is made for CTAs of `count` warps takes as a child, where there is a choice."""
        s = self.selector
        if len(s.oracle.offered) == 1:
            return []
        found = self.warp_classes.get(count)
        if found is None:
            found = self.warp_classes[count] = s.new_class(f"{count} warps")
            asked = s.target.asked_warps in (0, count)
            addresses = ADDRESSES * count / s.target.throughput.issue  # each warp computes its own
            waiting = 0.0 if len(s.rows.ctas) > 1 else self.apart(count, 1)
            s.builder.add(
                f"{count} warps", found, cost=addresses + waiting if asked else INFINITE, group=s.group("warps"),
                alternative=count, resource=s.rows.of_warps(count),
            )  # fmt: skip
        return [found]

    def apart(self, warps: int, ctas: int) -> float:
        """Cycles that loops take longer than with the most warps and CTAs there may be, since less overlaps."""
        s = self.selector
        least = s.pace.apart(s.trips, max(s.oracle.offered), max(s.rows.ctas))
        return s.pace.apart(s.trips, warps, ctas) - least

    def producer(self, boxed: bool) -> int:
        """What a copy takes as a child that an agent of its own makes, by a tensor copy (`boxed`) or by cp.async:
        registers of those that compute.
        """
        s = self.selector
        found = self.agents.get(boxed)
        if found is None:
            found = self.agents[boxed] = s.new_class("a producer" if boxed else "a producer that copies by cp.async")
            inner, use = ([], s.rows.of_producer) if boxed else ([self.producer(True)], s.rows.of_copier)
            for warps, ctas in product(s.oracle.warps, s.rows.ctas):
                children = [*inner, *self.warps(warps), *self.ctas(ctas)]
                s.builder.add("producer", found, children, resource=use(warps, ctas))
        return found

    def own_map(self, array: int) -> list[int]:
        """What a tensor copy of an array takes as a child where the kernel makes its maps itself: the time of that."""
        s = self.selector
        if not s.target.asked_maps:
            return []
        found = self.maps.get(array)
        if found is None:
            latency, inner = s.target.latency, list[int]()
            if array >= 0:
                inner, cost = self.own_map(-1), FIELDS * float(latency.shared)
            else:
                cost = ROUND_TRIPS * float(latency.global_) + float(latency.barrier)
            found = self.maps[array] = s.new_class("own tensor maps" if array < 0 else "an own tensor map")
            s.builder.add("own tensor maps" if array < 0 else "an own tensor map", found, inner, cost)
        return [found]

    def single_stages(self, loop: int) -> bool:
        """Are rings of one stage offered in a loop? In one around others, whose epilogue hides the next copy, where
        products read shared memory themselves.
        """
        tensor = self.selector.target.has(Feature.TCGEN05)
        return self.single_anywhere or (tensor and loop in self.selector.around)

    @cached_property
    def single_anywhere(self) -> bool:
        """Are they offered in all loops? Where products read shared memory themselves: others read tiles into
        registers, as loads without a ring do (attention of 128 x 128 on sm_120a has none with or without). And where
        threads have registers for the largest accumulator beside a producer, for as many CTAs an SM as a hint asks
        for: a ring of one stage, which takes little memory, would leave one CTA an SM else.
        """
        s = self.selector
        if not s.target.has(Feature.WGMMA):
            return False
        sums = [op.acc for op in s.program.source.values() if isinstance(op, PRODUCTS)]
        return not sums or any(
            max(registers_of(acc, WARP * warps) for acc in sums) <= s.rows.beside_producer(warps)
            for warps in s.oracle.warps
        )

    def ctas(self, count: int) -> list[int]:
        """What a node takes as a child that is made for `count` CTAs an SM, where there is a choice."""
        s = self.selector
        if len(s.rows.ctas) == 1:
            return []
        found = self.cta_classes.get(count)
        if found is None:
            found = self.cta_classes[count] = s.new_class(f"{count} CTAs/SM")
            for warps in s.oracle.warps:
                s.builder.add(
                    f"{count} CTAs", found, self.warps(warps), self.apart(warps, count), group=s.group("ctas"),
                    alternative=count, resource=s.rows.of_ctas(count, warps),
                )  # fmt: skip
        return [found]

    def shared_by(self) -> Iterator[int]:
        """A class that every program has where the number of CTAs an SM makes a difference to all of it."""
        s = self.selector
        if len(s.rows.ctas) > 1:
            found = s.new_class("CTAs an SM")
            for count in s.rows.ctas:
                s.builder.add("shared", found, self.ctas(count))
            yield found

    def stage(self, loop: int, stages: int) -> int:
        """The class of a ring of `stages`, which costs the time that its loop still waits for memory."""
        s = self.selector
        found = self.stage_classes.get((loop, stages))
        if found is None:
            found = self.stage_classes[loop, stages] = s.new_class(f"{stages} stages in loop {loop}")
            trips = s.trips.of(loop)
            for ctas in s.rows.ctas:
                s.builder.add(
                    f"{stages} stages", found, self.ctas(ctas), trips * s.pace.wait(loop, stages, ctas),
                    group=s.group("stages", self.same_ring(loop)), alternative=stages,
                )  # fmt: skip
        return found

    def same_ring(self, loop: int) -> int:
        """The loop that stands for all that share its ring, and so its number of stages: those that agents fill."""
        s = self.selector
        agents = s.target.has(Feature.MBARRIER) and s.target.has(Feature.TMA)
        return next((together[0] for together in s.rings if loop in together), loop) if agents else loop
