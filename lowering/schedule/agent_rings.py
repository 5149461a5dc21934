"""Rings that an agent fills for others, with the operations that take and yield their iterators in each agent."""

from __future__ import annotations

from dataclasses import field

from ir.core import Op
from ir.dialects import nv_tileas, scf
from ir.records import dataclass
from lowering.schedule.rings import Ring
from lowering.schedule.states import LOOPS, Site, enclosing


@dataclass
class Run:
    """A consumer's loop over a ring: the operand that starts its iterator, and the release after it of the stage that
    its last iteration still uses, if products run on from one iteration to the next.
    """

    loop: scf.For
    slot: int
    release: nv_tileas.ConsumerRelease | None

    @property
    def site(self) -> Site:
        """It takes and leaves the iterator."""
        return Site([self.slot], [self.loop.results[self.slot - 3]])


@dataclass
class AgentRing:
    """A ring that one agent fills for others, for one loop or for several consecutive ones of the same depth: iterators
    continue from one to the next, so stages are filled for the next loop before this one has ended.
    """

    memory: Ring
    pipeline: nv_tileas.CreatePipeline
    runs: list[Run] = field(default_factory=list[Run])
    alone: dict[Op, Site] = field(default_factory=dict[Op, Site])  # consumers of a stage before a loop
    passing: dict[Op, Site] = field(default_factory=dict[Op, Site])  # ops that skip stages read by others
    readers: list[dict[Op, Site]] = field(default_factory=list[dict[Op, Site]])  # of other agents than the consumers
    filled: dict[Op, Site] = field(default_factory=dict[Op, Site])  # by another agent than the producer

    @property
    def sites(self) -> dict[Op, Site]:
        """The ops that take and yield the consumers' iterator."""
        return {run.loop: run.site for run in self.runs} | self.alone | self.passing

    def release_last(self) -> None:
        """If the ring continues after a loop, the stage that its last iteration still uses is waited for."""
        for run in self.runs:
            goes_on = len(self.runs) > 1 or any(isinstance(each, LOOPS) for each in enclosing(run.loop))
            if run.release is not None and not goes_on:
                run.release.attributes["last"] = True
        for op in self.alone if not self.runs else ():
            for each in op.regions[0].block.ops:
                if isinstance(each, nv_tileas.ConsumerRelease):
                    each.attributes["last"] = True
