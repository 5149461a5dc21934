"""The extraction problem as its parts see it: state, and services on classes, groups, loops and warps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence

from egraph.frozen import Frozen
from egraph.saturate import Saturated
from extract import GraphBuilder
from lowering.cost import Cost
from lowering.layouts.layout import Layout
from lowering.loops import Loops, buildable, paths
from lowering.placement import LayoutOracle
from lowering.selection.choices import places
from lowering.selection.pricing import Pricer
from lowering.selection.resources import Rows
from lowering.selection.trips import Pace, Trips, trip_counts
from lowering.targets import Target


class Problem(ABC):
    """What is known of a saturated program before its graph is built, and the classes made so far.

    `rings`, `rows` and `builder` follow once the rings are known (`lowering.selection.graph`).
    """

    rings: list[list[int]]
    rows: Rows
    builder: GraphBuilder

    def __init__(
        self,
        saturated: Saturated,
        oracle: LayoutOracle,
        target: Target,
        forbid: frozenset[str],
        written: frozenset[int] = frozenset(),
    ):
        self.saturated = saturated
        self.frozen: Frozen = saturated.frozen
        self.program = saturated.program
        self.oracle = oracle
        self.target = target
        self.forbid = forbid
        self.paths = paths(saturated.program.skeleton)
        self.around = {each for path in self.paths.values() for each in path[:-1]}  # loops with loops inside
        self.innermost_loops: dict[int, int] = {}  # by dependence mask
        self.trips = Trips(trip_counts(saturated), self.paths)
        self.pace = Pace(saturated, target)
        self.owner = places(self.frozen)
        self.loops = Loops(saturated, self.owner, written)
        self.buildable = buildable(self.frozen, self.loops.stands)
        self.pricer = Pricer(saturated, oracle, target, forbid, self.owner)
        self.dense: dict[int, int] = {}
        self.reached: list[int] = []
        self.names: list[str] = []
        self.layout_names: dict[int, str] = {}
        self.priced: dict[int, tuple[float, Cost]] = {}
        self.within: dict[int, int] = {}  # node of a value -> its innermost loop
        self.groups: dict[Hashable, int] = {}

    @abstractmethod
    def made_by(self, warps: int) -> Sequence[int]:
        """What a node made for CTAs of that many warps takes as a child, where there is a choice."""

    def new_class(self, name: str) -> int:
        """A class of the extraction problem."""
        self.names.append(name)
        return len(self.names) - 1

    def cls(self, placed: int) -> int:
        """The extraction class of a placed e-class."""
        found = self.dense.get(placed)
        if found is None:
            value, layout = self.owner.get(placed, (-1, -1))
            found = self.dense[placed] = self.new_class(f"value {value} in {self.spelled(layout)}")
            self.reached.append(placed)
        return found

    def spelled(self, layout: int) -> str:
        """A layout in words; many classes have the same."""
        found = self.layout_names.get(layout)
        if found is None:
            found = self.layout_names[layout] = str(self.oracle.layouts[layout]) if layout >= 0 else "any layout"
        return found

    def at(self, number: int, layout: int) -> int | None:
        """The class of source value `number` in `layout`, None where it was not wanted there."""
        placed = self.frozen.held_in.get((self.frozen.class_of(number), layout))
        return self.cls(placed) if placed in self.buildable else None

    def group(self, *key: Hashable) -> int:
        """The choice group of a decision."""
        return self.groups.setdefault(key, len(self.groups))

    def analysis(self, name: str, number: int, default: int) -> int:
        """A fact about a source value."""
        return self.frozen.analysis.get(name, {}).get(self.frozen.class_of(number), default)

    def warps_of(self, layout: int) -> int:
        """Warps of the CTAs that a layout is made for; the fewest for uniform values, which all have."""
        placed = self.oracle.layouts[layout]
        return placed.n_warps if layout and isinstance(placed, Layout) else min(self.oracle.warps)

    def loop_of(self, value: int) -> int:
        """The innermost loop that a value needs, -1 where it needs none."""
        return self.innermost(self.frozen.analysis.get("deps", {}).get(value, 0))

    def innermost(self, deps: int) -> int:
        """The innermost loop in a dependence mask, -1 where there is none."""
        found = self.innermost_loops.get(deps)
        if found is None:
            paths = (path for path in self.paths.values() if deps >> path[-1] & 1)
            found = self.innermost_loops[deps] = max(paths, key=len, default=(-1,))[-1]
        return found
