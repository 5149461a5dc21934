"""The shape of a CTA, as classes of the extraction problem: consumer warps, CTAs an SM, stages of rings, agents.
Whatever depends on one of these decisions takes the class of its alternative as a child.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from weakref import proxy

from lowering.selection.context import Problem
from lowering.selection.resources import ADDRESSES
from lowering.selection.trips import PRODUCTS
from lowering.source.supported import registers_of
from lowering.targets import Feature
from lowering.targets.target import WARP

INFINITE = float("inf")
ROUND_TRIPS = 3
"""To the L2 cache before the first copy of a kernel that builds its tensor maps: claim a slot, publish the maps,
acquire them. Counted in the code; each takes the latency of global memory, an estimate.
"""
FIELDS = 14
"""Fields of a two-dimensional map, which one thread replaces in shared memory one after the other; an estimate."""


class Shape:
    """The classes of these decisions, created on demand."""

    def __init__(self, selector: Problem):
        self.selector: Problem = proxy(selector)  # not in a cycle: it goes when the search has ended
        self.warp_classes: dict[int, int] = {}
        self.stage_classes: dict[tuple[int, int], int] = {}
        self.cta_classes: dict[int, int] = {}
        self.maps: dict[int, int] = {}  # the class of each array's own tensor map; -1: the common cost of all
        self.agents: dict[bool, int] = {}  # the classes of a producer, by whether it issues only tensor copies

    @property
    def classes(self) -> tuple[int, ...]:
        """The classes of decisions that are shown to users."""
        return (*self.warp_classes.values(), *self.cta_classes.values(), *self.stage_classes.values())

    def warps(self, count: int) -> list[int]:
        """The child of a node for CTAs of `count` warps, if there is a choice."""
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
                f"{count} warps",
                found,
                cost=addresses + waiting if asked else INFINITE,
                group=s.group("warps"),
                alternative=count,
                resource=s.rows.of_warps(count),
            )
        return [found]

    def apart(self, warps: int, ctas: int) -> float:
        """Extra cycles of loops compared with the maximum of warps and CTAs, because less overlaps."""
        s = self.selector
        least = s.pace.apart(s.trips, max(s.oracle.offered), max(s.rows.ctas))
        return s.pace.apart(s.trips, warps, ctas) - least

    def producer(self, boxed: bool) -> int:
        """The child of a copy by a separate agent, by a tensor copy (`boxed`) or by cp.async: registers of the
        consumers.
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
        """The child of a tensor copy of an array if the kernel builds its maps itself: the time to do so."""
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
            found = self.maps[array] = s.new_class("tensor maps of its own" if array < 0 else "a tensor map of its own")
            s.builder.add("tensor maps of its own" if array < 0 else "a tensor map of its own", found, inner, cost)
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
        """The child of a node for `count` CTAs an SM, if there is a choice."""
        s = self.selector
        if len(s.rows.ctas) == 1:
            return []
        found = self.cta_classes.get(count)
        if found is None:
            found = self.cta_classes[count] = s.new_class(f"{count} CTAs/SM")
            for warps in s.oracle.warps:
                s.builder.add(
                    f"{count} CTAs",
                    found,
                    self.warps(warps),
                    self.apart(warps, count),
                    group=s.group("ctas"),
                    alternative=count,
                    resource=s.rows.of_ctas(count, warps),
                )
        return [found]

    def shared_by(self) -> Iterator[int]:
        """A class that every program has if the number of CTAs an SM affects all of it."""
        s = self.selector
        if len(s.rows.ctas) > 1:
            found = s.new_class("CTAs per SM")
            for count in s.rows.ctas:
                s.builder.add("shared", found, self.ctas(count))
            yield found

    def stage(self, loop: int, stages: int) -> int:
        """The class of a ring of `stages`, whose cost is the time that its loop still waits for memory."""
        s = self.selector
        found = self.stage_classes.get((loop, stages))
        if found is None:
            found = self.stage_classes[loop, stages] = s.new_class(f"{stages} stages in loop {loop}")
            trips = s.trips.of(loop)
            for ctas in s.rows.ctas:
                s.builder.add(
                    f"{stages} stages",
                    found,
                    self.ctas(ctas),
                    trips * s.pace.wait(loop, stages, ctas),
                    group=s.group("stages", self.same_ring(loop)),
                    alternative=stages,
                )
        return found

    def same_ring(self, loop: int) -> int:
        """The representative of the loops that share a ring, and thus its number of stages: those that agents fill."""
        s = self.selector
        agents = s.target.has(Feature.MBARRIER) and s.target.has(Feature.TMA)
        return next((together[0] for together in s.rings if loop in together), loop) if agents else loop
