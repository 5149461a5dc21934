"""The state of the CTAs that run together as one vector: registers, special registers, live threads, memory.

Lane n of every array is thread n % slots of CTA n // slots, where slots is the block size rounded up to whole warps;
the lanes beyond the block never live. Register contents are undefined before they are written (0xFF bytes here).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ptxsim.clusters import Clusters, check_clusters
from ptxsim.errors import LaunchError
from ptxsim.findings import Findings
from ptxsim.groups import Groups
from ptxsim.lane_boxes import LaneBoxes
from ptxsim.memory import FRESH, RANK_SHIFT, ClusterSpace, GlobalMemory, GlobalSpace, WindowSpace
from ptxsim.multiprocessor import Residents
from ptxsim.program import Entry, Register
from ptxsim.ptx_types import Array, unsigned
from ptxsim.register_pool import RegisterPool

WARP = 32
# Threads of a CTA. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MAX_THREADS = 1024
# Shared memory starts here, not at 0, so that address 0 and small negative offsets are out of bounds. The hardware
# reserves the first 1024 bytes in the same way from sm_90 on (CUDA C++ Programming Guide, "Compute Capability 9.0").
SHARED_BASE = 1024
LOCAL_BASE = 1024
# Parameters have small addresses in their own state space, as Triton's `mov.b32 %r, parameter` needs.
PARAMETER_BASE = 1024


@dataclass(frozen=True, slots=True)
class Geometry:
    """Grid, block and cluster extents of a launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def slots(self) -> int:
        """Lanes of a CTA: its threads in whole warps."""
        return -(-self.threads // WARP) * WARP

    @property
    def ctas(self) -> int:
        """CTAs of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]


@dataclass(slots=True)
class Registers:
    """One row of lanes per register, rows of one width together."""

    rows: list[Array] = field(default_factory=list[Array])
    banks: list[Array] = field(default_factory=list[Array])

    @classmethod
    def allocate(cls, registers: list[Register], lanes: int) -> "Registers":
        """Rows for these registers, in their order."""
        result = cls()
        result.rows = [np.empty(0)] * len(registers)
        for bits in sorted({register.type.bits for register in registers}):
            members = [register for register in registers if register.type.bits == bits]
            for is_predicate in (False, True):
                same = [register for register in members if (register.type.kind == "pred") == is_predicate]
                if not same:
                    continue
                if bits == 128:
                    bank = np.zeros((len(same), lanes, 2), np.uint64)
                else:
                    bank = np.zeros((len(same), lanes), np.bool_ if is_predicate else unsigned(bits))
                result.banks.append(bank)
                for row, register in zip(bank, same, strict=True):
                    result.rows[register.index] = row
        return result

    def clear(self) -> None:
        """Give every register the contents of fresh memory; predicates become false."""
        for bank in self.banks:
            if bank.dtype == np.bool_:
                bank.fill(False)
            else:
                bank.view(np.uint8).fill(FRESH)


class Machine:
    """The vector of `ctas` CTAs of a launch that run together."""

    def __init__(
        self, entry: Entry, geometry: Geometry, ctas: int, memory: GlobalMemory, shared_size: int, local_size: int
    ) -> None:
        self.geometry = geometry
        self.ctas = ctas
        self.slots = geometry.slots
        self.lanes = ctas * self.slots
        self.warps = self.lanes // WARP
        self.memory = memory
        self.registers = Registers.allocate(entry.registers, self.lanes)
        lane = np.arange(self.lanes)
        self.cta_of_lane = lane // self.slots
        self.thread_of_lane = lane % self.slots
        self.global_space = GlobalSpace(memory)
        rank = self.cta_of_lane % geometry.cluster_size
        self.rank_base = rank << RANK_SHIFT if geometry.cluster_size > 1 else None
        self.shared = WindowSpace("shared", SHARED_BASE, shared_size, ctas, self.cta_of_lane, self.rank_base)
        self.cluster_shared = ClusterSpace(self.shared, self.cta_of_lane, geometry.cluster_size)
        self.local = WindowSpace("local", LOCAL_BASE, local_size, self.lanes, lane)
        limit = entry.directives.get("maxnreg", (0,))[0]
        self.register_pool = RegisterPool(ctas, self.slots // WARP, limit)
        self.exists = self.thread_of_lane < geometry.threads
        self.live: Array | None = None
        self.live_count = 0
        self.clusters = Clusters(geometry, ctas)
        is_explicit = geometry.cluster_size > 1 or "explicitcluster" in entry.directives
        self.special = {**self._special(), **self.clusters.special(self.cta_of_lane, is_explicit)}
        self.clock = 0
        self.findings = Findings()
        self.residents = Residents(self)
        self.groups = Groups(self.lanes, self.slots)
        self.boxes = LaneBoxes(ctas, self.slots)
        self.carry = np.zeros(self.lanes, np.bool_)
        self.cta_index = np.zeros((ctas, 3), np.int64)

    def _special(self) -> dict[str, Array]:
        result: dict[str, Array] = {}
        x, y, z = self.geometry.block
        thread = self.thread_of_lane
        lane = (thread % WARP).astype(np.uint32)
        columns = {"x": thread % x, "y": thread // x % y, "z": thread // (x * y)}
        for axis, (name, values) in enumerate(columns.items()):
            result[f"tid.{name}"] = values.astype(np.uint32)
            result[f"ntid.{name}"] = self._uniform((x, y, z)[axis])
            result[f"ctaid.{name}"] = self._uniform(0)
            result[f"nctaid.{name}"] = self._uniform(self.geometry.grid[axis])
        result["laneid"] = lane
        result["warpid"] = (thread // WARP).astype(np.uint32)
        result["nwarpid"] = self._uniform(self.slots // WARP)
        one = np.uint32(1)
        result["lanemask_eq"] = one << lane
        result["lanemask_lt"] = (one << lane) - one
        result["lanemask_le"] = result["lanemask_lt"] | result["lanemask_eq"]
        result["lanemask_gt"] = ~result["lanemask_le"]
        result["lanemask_ge"] = ~result["lanemask_lt"]
        result["gridid"] = np.ones(self.lanes, np.uint64)
        result["current_graph_exec"] = np.zeros(self.lanes, np.uint64)  # not launched by a graph
        result["smid"] = self._uniform(0)  # every CTA runs on the one multiprocessor
        result["nsmid"] = self._uniform(1)
        return result

    def _uniform(self, value: int) -> Array:
        return np.full(self.lanes, value, np.uint32)

    def batches(self) -> Iterator[int]:
        """Load the clusters of the grid in turn, as many at a time as fit; yields how many CTAs are live."""
        self.clusters.start()
        while self.clusters.waiting:
            self.cta_index, count = self.clusters.load()
            for axis, name in enumerate("xyz"):
                for register, index in (("ctaid", self.cta_index), ("clusterid", self.clusters.index)):
                    row = self.special[f"{register}.{name}"]
                    np.copyto(row, index[self.cta_of_lane, axis], casting="unsafe")
            live = self.exists & (self.cta_of_lane < count)
            self.live_count = int(np.count_nonzero(live))
            self.live = None if self.live_count == self.lanes else live
            self.registers.clear()
            self.shared.clear()
            self.local.clear()
            self.register_pool.start()
            yield count

    def live_mask(self) -> Array:
        """The live lanes as an array even when all live."""
        return np.ones(self.lanes, np.bool_) if self.live is None else self.live

    def active(self, mask: Array | None) -> Array | None:
        """The lanes denoted by a mask of the scheduler: None means all live lanes; the result's None means all
        lanes.
        """
        if mask is None:
            return self.live
        return mask if self.live is None else mask & self.live

    def lane_numbers(self, mask: Array | None) -> Array:
        """The numbers of the lanes denoted by a mask of the scheduler."""
        lanes = self.active(mask)
        return np.arange(self.lanes) if lanes is None else np.flatnonzero(lanes)

    def kill(self, mask: Array | None) -> None:
        """Make lanes exit."""
        live = np.zeros(self.lanes, np.bool_) if mask is None else self.live_mask() & ~mask
        self.live_count = int(np.count_nonzero(live))
        self.live = None if self.live_count == self.lanes else live

    def describe_cta(self, number: int) -> str:
        """Name a CTA of the machine by its index in the grid."""
        return "(" + ",".join(str(int(value)) for value in self.cta_index[number]) + ")"

    def describe(self, lane: int) -> str:
        """Name the thread of a lane as CTA and thread index."""
        x, y, _ = self.geometry.block
        thread = int(self.thread_of_lane[lane])
        cta = self.describe_cta(int(self.cta_of_lane[lane]))
        return f"thread ({thread % x},{thread // x % y},{thread // (x * y)}) of CTA {cta}"


def check_geometry(geometry: Geometry) -> None:
    """Raise LaunchError for extents that no device accepts."""
    for name, extents in (("grid", geometry.grid), ("block", geometry.block), ("cluster", geometry.cluster)):
        if any(extent < 1 for extent in extents):
            raise LaunchError(f"{name} {extents} has an extent below 1")
    if geometry.threads > MAX_THREADS:
        raise LaunchError(f"block {geometry.block} has {geometry.threads} threads; {MAX_THREADS} is the limit")
    check_clusters(geometry)
