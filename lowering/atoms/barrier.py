"""Synchronisation instructions of sm_90 as records: mbarriers, fences, roles of warps."""

from __future__ import annotations

from ir.records import dataclass
from lowering.targets.target import Feature, Target

REGISTER_STEP = 8  # PTX ISA, setmaxnreg: counts are multiples of 8
PRODUCER_REGISTERS = 40  # ptxas 13.5 fits 16 ragged cp.async a thread into them without an instruction more
LEAST_REGISTERS = 24  # PTX ISA, setmaxnreg: counts from 24 to 256; most producers of tensor copies need no more
BEGINNER_REGISTERS = 32  # of a thread that issues products in tensor memory, at least (lowering/ptx/grant.py)
BEGINNER_MORE = 16  # of such a thread in loops over tiles, at most: 48 registers (same file, `IN_LOOPS`)
CORRECTION_REGISTERS = 40  # of one that scales sums there, 16 columns at a time: ptxas 13.5 spills none
CORRECTION_IN_LOOPS = 56  # in loops over tiles: ptxas 13.5 spills 4 bytes in 40 (attention, 256 x 128 x 128, sm_100a)
REGISTER_MARGIN = 40
"""Registers added to the peak pressure of values in the order of our code, where a thread's registers are set. With 25
ptxas 13.5 spills none of 18 kernels for sm_90a (TileGym, examples); with 35 one loop (LayerNorm, forward) gets 5
instructions longer, with 67 none.
"""


@dataclass(frozen=True, slots=True)
class SyncAtom:
    """One instruction; `slots` are the issue slots a warp spends on it when it need not wait."""

    name: str
    ptx: str
    features: frozenset[Feature]
    reference: str
    slots: float = 1.0

    def __str__(self) -> str:
        return self.name

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles of one warp, without the time that it waits for others."""
        return self.slots / target.throughput.issue


def _mbarrier(operation: str, ptx: str, slots: float = 1.0) -> SyncAtom:
    return SyncAtom(f"mbarrier.{operation}", ptx, frozenset({Feature.MBARRIER}), "PTX ISA, mbarrier", slots)


MBARRIER_INIT = _mbarrier("init", "mbarrier.init.shared::cta.b64")
MBARRIER_ARRIVE = _mbarrier("arrive", "mbarrier.arrive.shared::cta.b64")
MBARRIER_EXPECT_TX = _mbarrier("arrive.expect_tx", "mbarrier.arrive.expect_tx.shared::cta.b64")
MBARRIER_TRY_WAIT = _mbarrier("try_wait.parity", "mbarrier.try_wait.parity.shared::cta.b64", 2.0)  # test and branch
MBARRIER_CP_ASYNC = _mbarrier("cp_async_arrive", "cp.async.mbarrier.arrive.noinc.shared::cta.b64")
FENCE_PROXY = SyncAtom(
    "fence.proxy.async", "fence.proxy.async.shared::cta", frozenset({Feature.TMA}), "PTX ISA, membar/fence"
)
FENCE_INIT = SyncAtom(
    "fence.mbarrier_init", "fence.mbarrier_init.release.cluster", frozenset({Feature.MBARRIER}), "PTX ISA, membar/fence"
)
SETMAXNREG = SyncAtom(
    "setmaxnreg",
    "setmaxnreg.sync.aligned.u32",
    frozenset({Feature.SETMAXNREG}),
    "PTX ISA, setmaxnreg; takes effect only with .maxnreg (ptx.md section 1)",
)
NAMED_BARRIER = SyncAtom("bar.sync", "bar.sync", frozenset(), "PTX ISA, bar")
WGMMA_FENCE = SyncAtom("wgmma.fence", "wgmma.fence.sync.aligned", frozenset({Feature.WGMMA}), "PTX ISA, wgmma.fence")
WGMMA_COMMIT = SyncAtom(
    "wgmma.commit", "wgmma.commit_group.sync.aligned", frozenset({Feature.WGMMA}), "PTX ISA, wgmma.commit_group"
)
WGMMA_WAIT = SyncAtom(
    "wgmma.wait", "wgmma.wait_group.sync.aligned", frozenset({Feature.WGMMA}), "PTX ISA, wgmma.wait_group"
)

SYNC_ATOMS = (
    MBARRIER_INIT, MBARRIER_ARRIVE, MBARRIER_EXPECT_TX, MBARRIER_TRY_WAIT, MBARRIER_CP_ASYNC, FENCE_PROXY, FENCE_INIT,
    SETMAXNREG, NAMED_BARRIER, WGMMA_FENCE, WGMMA_COMMIT, WGMMA_WAIT,
)  # fmt: skip


def moves_registers(target: Target) -> bool:
    """Does setmaxnreg take effect? On sm_120a ptxas 13.5 ignores it beside the calls that it makes of tensor copies
    into `.shared::cluster` (C7506), and only these: ours name `.shared::cta` there.
    """
    return Feature.SETMAXNREG in target.features


def agents_gather(target: Target) -> bool:
    """Do agents fill rings by cp.async too? Not on sm_120a, where threads that compute do so: beside an agent two of
    TileGym's kernels would cost 11 and 25 % more (fmha_bwd_dkdv, intra_chunk_prepare), and one 0.5 % less.
    """
    return moves_registers(target) and bool({Feature.WGMMA, Feature.TCGEN05} & target.features)


@dataclass(frozen=True, slots=True)
class Shares:
    """Registers a thread, in multiples of 8 as setmaxnreg takes them: at launch, of consumers, of the others."""

    launch: int
    consumer: int
    other: int

    @property
    def moved(self) -> bool:
        """Have consumers more than they start with?"""
        return self.consumer > self.launch


def register_shares(consumers: int, others: int, least: float, target: Target) -> Shares:
    """All registers of an SM for one CTA, where the `others` threads give theirs to the `consumers` but for `least`, a
    multiple of 8 or the mean of several: what the consumers may not take stays with the others. If there are enough for
    each thread to have as many as it can address, none are moved: setmaxnreg would leave the consumers 248, the
    multiple of 8 below 255.
    """
    step, addressable = REGISTER_STEP, int(target.registers_per_thread)
    if int(target.registers_per_sm) // (consumers + others) >= addressable:
        return Shares(addressable, addressable, addressable)
    most = addressable // step * step
    launch = min(int(target.registers_per_sm) // (consumers + others) // step * step, most - step)
    other = min(launch, least)
    consumer = min(int((launch + (launch - other) * others / consumers) // step * step), most)
    left = (launch * (consumers + others) - consumer * consumers) // others // step * step
    return Shares(launch, consumer, max(int(other), min(left, launch)) if consumer > launch else launch)
