"""What compiling an entry gives: PTX, manifest, levels, and what was chosen on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from egraph.saturate import Saturated
from ir.core import Op
from ir.launch_records import LaunchManifest
from ir.records import dataclass
from lowering.selection import Selection
from lowering.selection.choices import Clustered


@dataclass
class Compiled:
    """A compiled entry. `stages` print a level when called, `modules` are the levels below the e-graph as ops,
    `nv_tileaa` the one above it.
    """

    ptx: str
    manifest: LaunchManifest
    stages: dict[str, Callable[[], str]]
    selection: Selection
    modules: dict[str, Op]
    nv_tileaa: Op
    explainer: Callable[[Compiled], str]
    timings: dict[str, float] = field(default_factory=dict[str, float])
    slices: bool = False  # is the kernel cut into slices of rows or columns?
    counts: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])  # statistics of passes
    persistent: str = "off"  # as it was asked for
    minctas: int = 0  # CTAs that must fit an SM; 0: none are asked for
    lacking: int = 0  # registers that a thread of so many CTAs wants and has not
    ways: Callable[[], Sequence[Clustered]] = tuple  # for CTAs to do the work of a tile block, where priced

    @property
    def cost(self) -> float:
        """Cost of the extracted program."""
        return self.selection.answer.cost

    @property
    def bound(self) -> float:
        """No program of the e-graph costs less."""
        return self.selection.answer.bound

    @property
    def saturated(self) -> Saturated:
        """The e-graph and its report."""
        return self.selection.saturated

    @property
    def limits(self) -> list[str]:
        """What a limit on counted work ended early, in words."""
        answer, found = self.selection.answer, list[str]()
        if self.saturated.report.ended:
            found.append(f"saturation ended early, {self.saturated.report.ended}; --saturate-budget allows more")
        if answer.ended:
            found.append(
                f"{answer.ended} ended the search: cost {answer.cost:g}, no program costs less than {answer.bound:g}; "
                "--extract-budget allows more"
            )
        return found

    def explain(self) -> str:
        """What saturation did and what extraction chose."""
        return self.explainer(self)
