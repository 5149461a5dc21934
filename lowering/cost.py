"""The cost of a placed node on a target: cycles of one SM for one CTA, from the target's throughputs.

A cost is a vector over the pipes of the SM; only `scalar` turns it into a number. Latencies that nothing hides (a load
straight into registers inside a loop, a conversion through shared memory) are added unchanged.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cache

from ir.core import OPS, TileError
from ir.dialects.cuda_tile.constraints import TileOp
from ir.records import dataclass
from lowering.atoms.pairs import F32X2, share
from lowering.counts import DECLARED, ISSUE, Counts, Form, counts, measured
from lowering.layouts.access import GlobalPlan, ThreadPart
from lowering.layouts.elements import REGISTER_BYTES
from lowering.layouts.f2 import Echelon
from lowering.targets.target import WARP, Target

SECTOR = 32  # bytes of a global memory transaction; CUDA C++ Best Practices Guide, coalesced access
LESS = 0.99  # of the time: the tables do not tell a smaller difference of one loop apart
UNKNOWN_TRIPS = 32  # for a loop with an unknown trip count: long enough that its body outweighs the surrounding code
RAGGED = 7  # extra instructions of a cp.async that may copy a prefix: count, address shift; sm_80 SASS of ptxas 13.5
TENSOR_LOAD = 32  # registers of a tcgen05.ld: they are consecutive, so wider loads constrain allocation more
TENSOR_PART = 16  # registers of a tcgen05.st of a left factor, which is computed piece by piece: with 32, attention of
# 256 x 128 x 128 spills 12 bytes (ptxas 13.5), with 16 none
ADDRESS = 3  # instructions around one global access (bounds, pointer); counted likewise
IN_FLIGHT = 32
"""Registers of a thread that loads in a loop fill at once, in addition to those live in the loop. Source: SASS of
TileGym's bnsd, sm_120a: 80 loads of 2 and 4 bytes go out in three groups between products, and `tilesat mca` predicts
1,450 to 1,820 cycles more than for 16 loads of 16 bytes, two global latencies (2026-11-24).
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """SM cycles by pipe, for the whole CTA and one execution; `latency` is unoverlapped waiting time.

    parts: busy time of each unit (a pipe of `Throughput`, `issue`, `shared` or `global`); those of `memory` may
    overlap. Extraction uses the sums, schedules the parts.
    """

    tensor: float = 0.0
    alu: float = 0.0
    memory: float = 0.0
    latency: float = 0.0
    parts: tuple[tuple[str, float], ...] = ()

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.tensor + other.tensor,
            self.alu + other.alu,
            self.memory + other.memory,
            self.latency + other.latency,
            self.parts + other.parts,
        )

    def times(self, share: float) -> Cost:
        """The cost of an execution in a fraction of cases."""
        parts = tuple((unit, share * cycles) for unit, cycles in self.parts)
        return Cost(share * self.tensor, share * self.alu, share * self.memory, share * self.latency, parts)

    def uses(self) -> dict[str, float]:
        """Cycles by unit."""
        found: dict[str, float] = {"tensor": self.tensor} if self.tensor else {}
        for unit, cycles in self.parts:
            found[unit] = found.get(unit, 0.0) + cycles
        return found

    def scalar(self) -> float:
        """One number to minimise: the pipes overlap only partly, so their sum orders programs as their time does."""
        return self.tensor + self.alu + self.memory + self.latency


EXPONENTIALS = ("exp", "exp2")
"""Functions whose MUFU instruction is ex2."""
ASYNCHRONOUS = ("global", "shared", "tensor")
"""Units whose time is not instruction issue, which is counted separately."""


def units_of(cost: Cost, target: Target) -> dict[str, float]:
    """Cycles by unit; instructions take issue slots in addition to their pipe."""
    uses, rates = cost.uses(), target.throughput
    issue = uses.pop(ISSUE, 0.0)
    for unit, cycles in uses.items():
        rate = getattr(rates, unit, None)
        issue += cycles * rate / WARP / rates.issue if isinstance(rate, float) and unit not in ASYNCHRONOUS else 0.0
    return {unit: cycles for unit, cycles in (*uses.items(), (ISSUE, issue)) if cycles}


FREE = Cost()
_FREE = frozenset(
    (
        "make_tensor_view",
        "make_partition_view",
        "make_token",
        "join_tokens",
        "get_tensor_shape",
        "get_tile_block_id",
        "get_num_tile_blocks",
    )
)


def priced() -> frozenset[str]:
    """The mnemonics that `Machine.elementwise` has a cost for."""
    return _FREE.union(DECLARED, measured())


def exposed(target: Target, accesses: int = 1, nbytes: int = REGISTER_BYTES) -> Cost:
    """The waits for global memory of `accesses` loads of `nbytes` a thread that no pipeline hides."""
    registers = accesses * max(1, nbytes // REGISTER_BYTES)
    return Cost(latency=float(-(-registers // IN_FLIGHT) * target.latency.global_))


@dataclass(frozen=True)
class Machine:
    """A target as seen by a CTA of `warps` warps."""

    target: Target
    warps: int
    _rates: dict[str, float] = field(default_factory=dict[str, float], repr=False)

    def instructions(self, pipe: str, each: float) -> float:
        """Cycles of `each` instructions in every warp on a pipe named as in `Throughput`."""
        rate = self._rates.get(pipe)
        if rate is None:
            rate = self._rates[pipe] = float(getattr(self.target.throughput, pipe))
        return each * self.warps * WARP / rate

    def busy(self, pipe: str, each: float) -> Cost:
        """The cost of `each` instructions in every warp on a pipe."""
        cycles = self.instructions(pipe, each)
        return Cost(alu=cycles, parts=((pipe, cycles),))

    def elementwise(self, form: Form, registers: int) -> Cost:
        """An arithmetic op on `registers` elements a thread. Raises TileError for an op that no table has."""
        if form.mnemonic in _FREE:
            return FREE
        found = counts(self.target.name, form)
        if found is None:
            hint = "a rule file may add terms of sort V; one of sort P needs a cost and a lowering of its own"
            raise TileError(f"the cost tables do not know '{form.mnemonic}'", hint=hint)
        if form.mnemonic in EXPONENTIALS and "mufu" in found:
            found = {**found, "mufu": found["mufu"] * self.target.throughput.ex2_slots}
        return self.counted(found, registers, share(self.target) if F32X2 in form.modifiers else 1.0)

    def counted(self, found: Counts, registers: int, each: float = 1.0) -> Cost:
        """Results by pipe of an element, times `each`, for `registers` elements a thread."""
        cost = FREE
        for pipe, count in found.items():
            total = max(1.0, each * count * registers) if count < 1 and pipe != ISSUE else each * count * registers
            cost += self.slots(total) if pipe == ISSUE else self.busy(pipe, total)
        return cost

    def slots(self, each: float) -> Cost:
        """The cost of `each` instructions in every warp that only take an issue slot."""
        cycles = each * self.warps / self.target.throughput.issue
        return Cost(alu=cycles, parts=((ISSUE, cycles),))

    def global_access(self, thread: tuple[ThreadPart, ...], contiguous: int, accesses: int, element_bytes: int) -> Cost:
        """`accesses` loads or stores a thread: sectors that a warp touches, and the instructions around each.

        Rows are assumed to lie in different sectors. Lane bits that stay inside a sector add none.
        """
        per_sector = SECTOR // element_bytes
        rows: list[int] = []
        for lane in range(len(thread[0].lane) if thread else 0):
            place = 0
            for dim, part in enumerate(thread):
                coordinate = part.lane[lane] // per_sector if dim == contiguous else part.lane[lane]
                place |= coordinate << 24 * dim  # a tile dimension has at most 2^24 elements
            rows.append(place)
        sectors = 1 << Echelon(rows).rank
        busy = accesses * self.warps * sectors * SECTOR / self.target.throughput.global_bytes
        issue = self.instructions("load_store", accesses)
        addresses = self.busy("int_add", ADDRESS * accesses)
        return addresses + Cost(memory=max(busy, issue), parts=(("global", busy), ("load_store", issue)))

    def load(self, plan: GlobalPlan, contiguous: int, element_bytes: int, nbytes: int, looped: bool) -> Cost:
        """Loads of `nbytes` into registers. In a loop a thread waits for as many as are in flight at once; a value
        narrower than a register is loaded into its own register and moved into place by an instruction.
        """
        accesses = len(plan.accesses)
        moved = accesses * max(0.0, 1 - nbytes / REGISTER_BYTES)
        cost = self.global_access(plan.thread, contiguous, accesses, element_bytes) + self.busy("int_add", moved)
        return cost + (exposed(self.target, accesses, nbytes) if looped else FREE)

    def spill(self, registers: int) -> Cost:
        """`registers` a thread stored to local memory and read back: 4 bytes a lane, whole lines of the L1 cache, which
        is the same memory as shared memory. A thread waits for each reload; other warps of the scheduler hide their
        share of that wait.
        """
        hidden = max(1.0, self.warps / self.target.throughput.issue)
        waits = Cost(latency=registers * float(self.target.latency.shared) / hidden)
        return self.shared_access(2 * registers, 2 * registers) + waits

    def shared_access(self, wavefronts: int, accesses: int) -> Cost:
        """Accesses of every warp that take `wavefronts` passes over the banks in all.

        Fewer instructions for the same bytes leave issue slots to others: this is the advantage of ldmatrix over
        ld.shared.
        """
        passes = wavefronts * self.warps * 128 / self.target.throughput.smem_bytes  # 32 banks of 4 bytes a pass
        slots = accesses * self.warps / self.target.throughput.issue
        issue = self.instructions("load_store", accesses)
        return Cost(alu=slots, memory=max(passes, issue), parts=(("shared", passes), ("load_store", issue)))

    def tensor_load(self, registers: int, added: float) -> Cost:
        """Reading the result of products in tensor memory into `registers` of each thread: wait, load, and add to
        others, which costs the same as that many multiply-adds.
        """
        passes = registers * REGISTER_BYTES * WARP * self.warps / self.target.throughput.tmem_bytes
        issue = self.instructions("load_store", -(-registers // TENSOR_LOAD))
        latency = self.target.latency
        parts = (("tensor memory", passes), ("load_store", issue))
        moved = Cost(memory=max(passes, issue), latency=float(latency.mma + latency.shared), parts=parts)
        return moved + self.busy("fma_f32", added)

    def tensor_store(self, registers: int) -> Cost:
        """Storing `registers` of each thread to tensor memory, which is assumed to be as wide."""
        return replace(self.tensor_load(registers, 0), latency=0.0)


@cache
def priced_as(mnemonic: str) -> str:
    """The row of the cost tables for an operation: its own, or that of the scalar operation it lowers to."""
    declared = OPS.get(f"cuda_tile.{mnemonic}")
    if mnemonic in priced() or declared is None or not issubclass(declared, TileOp):
        return mnemonic
    return declared.lowers_to.partition(".")[2]
