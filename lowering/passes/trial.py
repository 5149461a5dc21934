"""A candidate that has been compiled as far as its schedule: what may be compared with others."""

from __future__ import annotations

from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.records import dataclass
from lowering.passes.manager import Context
from lowering.passes.registry import Step
from lowering.selection import Selection

UNSPILLED = 1.05  # an estimate: of attention's priced registers ptxas 13.5 stored 0 of 32, 134 of 32, 175 of 128


@dataclass(frozen=True)
class Trial:
    """A program: the kernel, or it in slices; the passes that made it; what they chose and made."""

    entry: ct.Entry
    steps: tuple[Step, ...]
    found: Selection
    made: nv_tileas.Func
    context: Context

    @property
    def name(self) -> str:
        """What was tried, in words, and the shape of its CTAs."""
        begun = ", found first" if self.found.aside else ""
        return f"{self.context.path[-1]}{begun}, {self.found.shaped}"

    @property
    def spills(self) -> int:
        """Registers that were priced as spilled."""
        return sum(self.found.spilled.values())

    @property
    def most(self) -> float:
        """What is preferable costs less than this."""
        return self.found.answer.cost * (UNSPILLED if self.spills else 1.0)

    def preferable(self, best: Trial) -> bool:
        """Does it cost less? Where fewer registers spill it may cost a little more: ptxas spills more than priced."""
        return self.found.answer.cost < (best.most if self.spills < best.spills else best.found.answer.cost)
