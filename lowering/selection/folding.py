"""How reductions are lowered on a target, decided in one place for prices, code and reports."""

from __future__ import annotations

from collections.abc import Sequence, Set

from egraph.combiners import Body
from egraph.placed import PlacedFold, PlacedReduce
from ir.core import Region
from ir.records import dataclass
from lowering.atoms.folds import thread_atom
from lowering.atoms.lanes import SHUFFLES, lanes_atom
from lowering.decode.combiners import combiner
from lowering.layouts.shapes import Reduction, Shape, reduce_dim
from lowering.placement import LayoutOracle
from lowering.targets import Target


@dataclass(frozen=True, slots=True)
class Folding:
    """The layouts before and after, and the atoms: for the registers of a thread ("" is one at a time), for lanes."""

    plan: Reduction
    thread: str = ""
    lanes: str = SHUFFLES


class Folds:
    """The reductions of a program; a combiner is read in the scalar ops of the next level, once."""

    def __init__(self, bodies: Sequence[Body], oracle: LayoutOracle, target: Target, forbid: Set[str]):
        self.bodies, self.oracle, self.target, self.forbid = bodies, oracle, target, forbid
        self._regions: dict[int, Region] = {}

    def of(self, node: PlacedReduce | PlacedFold, shape: Shape, tiles: int = 1) -> Folding:
        """For a reduction of a number of tiles of a shape; reductions of several tiles use their own combiner."""
        plan = reduce_dim(shape, node.dim, self.oracle.layout(node.source_layout))
        if tiles > 1:
            return Folding(plan)
        region = self._regions.get(node.body)
        if region is None:
            region = self._regions[node.body] = combiner(self.bodies[node.body].region)
        thread = thread_atom(self.target, self.forbid, region, plan.groups)
        return Folding(plan, thread, lanes_atom(self.target, self.forbid, region, plan.lane_bits))
