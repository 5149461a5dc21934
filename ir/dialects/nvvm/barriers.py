"""Barriers of the CTA, mbarriers in shared memory, fences. Shared addresses are those of the CTA's own memory."""

from __future__ import annotations

from ir.core import READ, WRITE, Attr, Operand, OptionalOperand, Result, flag
from ir.instruction import (
    BARRIER,
    DOUBLE_WORD,
    GLOBAL_OR_MAP,
    PREDICATE,
    REGISTER,
    SHARED,
    SM_80,
    SM_90,
    WORD,
    Instruction,
    Needs,
    instruction,
    memory_bits,
)
from ir.types import I1

MAX_BARRIERS = 16  # PTX ISA, bar: barriers 0 to 15 of a CTA
MAX_ARRIVALS = (1 << 20) - 1  # PTX ISA, mbarrier: range of the expected arrival count
MAX_TX_BYTES = (1 << 20) - 1  # PTX ISA, mbarrier: range of tx-count


@instruction("nvvm.barrier0", "bar.sync 0;", SM_80, source="PTX ISA 8.8, bar")
class Barrier0(Instruction):
    """Barrier of all threads of the CTA."""

    effect = WRITE


@instruction(
    "nvvm.barrier",
    "bar.sync {barrierId}, {numberOfThreads};",
    SM_80,
    source="PTX ISA 8.8, bar",
    seed="nvgpu.named_barrier",
)
class NamedBarrier(Instruction):
    """Barrier of `numberOfThreads` threads, in whole warps; 0 is the barrier of the whole CTA."""

    barrierId = Attr(int, least=0, most=MAX_BARRIERS - 1)
    numberOfThreads = Attr(int, least=32)
    effect = WRITE

    def verify(self) -> None:
        """Whole warps."""
        self.expect(self.numberOfThreads % 32 == 0, "threads must be whole warps, is {}", self.numberOfThreads)


@instruction("nvvm.barrier.sync", "bar.sync {number}, {numberOfThreads};", SM_80, source="PTX ISA 8.8, bar")
class NumberedBarrier(Instruction):
    """As nvvm.barrier, with a barrier number known only at run time."""

    number = Operand(WORD)
    numberOfThreads = Attr(int, least=32)
    effect = WRITE


@instruction(
    "nvvm.barrier.arrive", "@{predicate} bar.arrive {number}, {numberOfThreads};", SM_80, source="PTX ISA 8.8, bar"
)
class BarrierArrive(Instruction):
    """Count as one of the `numberOfThreads` threads that a barrier waits for, without waiting."""

    number = Operand(WORD)
    predicate = OptionalOperand(PREDICATE)
    numberOfThreads = Attr(int, least=32)
    effect = WRITE


OF_CTA = Needs(80, (7, 8))  # .shared::cta
CLUSTERS = Needs(90, (7, 8))
ALIAS = Needs(80, (7, 5))


class MBarrier(Instruction):
    """Shape shared by operations on an mbarrier: 8 bytes of shared memory, aligned to 8."""

    addr = Operand(BARRIER)
    predicate = OptionalOperand(PREDICATE)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.init.shared",
    "@{predicate} mbarrier.init.shared::cta.b64 [{addr}], {count};",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.init",
    seed="nvgpu.mbarrier.init",
)
class MBarrierInit(MBarrier):
    """An mbarrier whose phases each take `count` arrivals; the first phase is 0."""

    count = Attr(int, least=1, most=MAX_ARRIVALS)


@instruction(
    "nvvm.mbarrier.arrive.shared",
    "@{predicate} mbarrier.arrive.shared::cta.b64 _, [{addr}];",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.arrive",
    seed="nvgpu.mbarrier.arrive",
)
class MBarrierArrive(MBarrier):
    """One arrival of each thread; its earlier writes are visible to those that wait. The state is dropped."""


@instruction(
    "nvvm.mbarrier.arrive.expect_tx.shared",
    "@{predicate} mbarrier.arrive.expect_tx.shared::cta.b64 _, [{addr}], {txcount};",
    SM_90,
    source="PTX ISA 8.8, mbarrier.arrive",
    seed="nvgpu.mbarrier.arrive.expect_tx",
)
class MBarrierArriveExpectTx(MBarrier):
    """One arrival that also makes the phase wait for `txcount` more bytes of asynchronous copies."""

    txcount = Attr(int, least=0, most=MAX_TX_BYTES)


@instruction(
    "nvvm.cp.async.mbarrier.arrive.shared",
    "@{predicate} cp.async.mbarrier.arrive.noinc.shared::cta.b64 [{addr}];",
    OF_CTA,
    source="PTX ISA 8.8, cp.async.mbarrier.arrive",
    seed="nvgpu.mbarrier.cp_async_arrive",
)
class CpAsyncMBarrierArrive(MBarrier):
    """One arrival, of those that mbarrier.init counts, when all earlier cp.async of the thread have completed."""


@instruction(
    "nvvm.mbarrier.try_wait.parity.shared",
    "{label}:\nmbarrier.try_wait.parity{scoped}.shared::cta.b64 {done}, [{addr}], {phase};\n@!{done} bra {label};",
    CLUSTERS,
    source="PTX ISA 8.8, mbarrier.try_wait: it may give up before the phase completes, hence the loop",
    seed="nvgpu.mbarrier.try_wait.parity",
    temporaries={"done": I1},
)
class MBarrierTryWaitParity(Instruction):
    """Waits until the phase of this parity has completed: a fresh barrier passes parity 1 and blocks on parity 0.

    Earlier writes of the arriving threads are visible after it: threads of the CTA, or of the `cluster`.
    """

    addr = Operand(BARRIER)
    phase = Operand(WORD)
    cluster = flag()
    effect = WRITE

    def needs(self) -> Needs:
        """Scopes came with PTX 8.0."""
        return SM_90 if self.cluster else CLUSTERS

    @property
    def scoped(self) -> str:
        """Order and scope, unless they are the defaults."""
        return ".acquire.cluster" if self.cluster else ""


@instruction(
    "nvvm.fence.proxy",
    "fence.proxy.{kind}{place};",
    ALIAS,
    source="PTX ISA 8.8, membar/fence",
    seed="nvgpu.fence.proxy.async",
)
class FenceProxy(Instruction):
    """Orders the thread's accesses before those that wgmma and tensor copies perform for it (`async`; an empty `space`:
    all), or those through other addresses of the same memory (`alias`).
    """

    kind = Attr(str, among=("async", "alias"))
    space = Attr(str, "", among=("", "shared::cta", "global"))
    effect = WRITE

    def verify(self) -> None:
        """Only accesses of the async proxy can be restricted to one space."""
        self.expect(self.kind == "async" or not self.space, "a fence of '{}' has no space", self.kind)

    def needs(self) -> Needs:
        """The async proxy came with sm_90."""
        return SM_90 if self.kind == "async" else ALIAS

    @property
    def place(self) -> str:
        """The state space as a suffix."""
        return f".{self.space}" if self.space else ""


@instruction(
    "nvvm.fence.mbarrier.init",
    "fence.mbarrier_init.release.cluster;",
    SM_90,
    source="PTX ISA 8.8, membar/fence",
    upstream=True,
)
class FenceMBarrierInit(Instruction):
    """Makes mbarrier.init visible to asynchronous copies and to the cluster."""

    effect = WRITE


# Arrivals with a token, counts in registers, waits that a program polls itself


@instruction(
    "nvvm.mbarrier.inval.shared",
    "mbarrier.inval.shared::cta.b64 [{addr}];",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.inval",
    seed="nvgpu.mbarrier.inval",
)
class MBarrierInval(Instruction):
    """Ends an mbarrier: its memory may hold anything again, or another barrier."""

    addr = Operand(BARRIER)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.arrive.token",
    "mbarrier.arrive.shared::cta.b64 {token}, [{addr}], {count};",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.arrive",
    seed="nvgpu.mbarrier.arrive",
)
class MBarrierArriveToken(Instruction):
    """`count` arrivals, one by default; the token identifies their phase."""

    addr = Operand(BARRIER)
    count = OptionalOperand(WORD)
    token = Result(DOUBLE_WORD)
    effect = WRITE

    def needs(self) -> Needs:
        """Counts came with sm_90."""
        return OF_CTA if self.count is None else SM_90


@instruction(
    "nvvm.mbarrier.arrive.nocomplete",
    "mbarrier.arrive.noComplete.shared::cta.b64 {token}, [{addr}], {count};",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.arrive",
    seed="nvgpu.mbarrier.arrive.nocomplete",
)
class MBarrierArriveNoComplete(Instruction):
    """`count` arrivals that must not complete the phase; returns its token."""

    addr = Operand(BARRIER)
    count = Operand(WORD)
    token = Result(DOUBLE_WORD)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.arrive.expect_tx",
    "mbarrier.arrive.expect_tx.shared::cta.b64 {token}, [{addr}], {txcount};",
    SM_90,
    source="PTX ISA 8.8, mbarrier.arrive",
    seed="nvgpu.mbarrier.arrive.expect_tx",
)
class MBarrierArriveExpectTxToken(Instruction):
    """One arrival that makes the phase wait for `txcount` more bytes, which may be in a register; returns its token."""

    addr = Operand(BARRIER)
    txcount = Operand(WORD)
    token = Result(DOUBLE_WORD)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.expect_tx",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{addr}], {txcount};",
    SM_90,
    source="PTX ISA 8.8, mbarrier.expect_tx",
)
class MBarrierExpectTx(Instruction):
    """The phase waits for `txcount` more bytes; no arrival."""

    addr = Operand(BARRIER)
    txcount = Operand(WORD)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.arrive.cluster",
    "@{predicate} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [{addr}], {count};",
    SM_90,
    source="PTX ISA 8.8, mbarrier.arrive",
    seed="nvgpu.mbarrier.arrive",
)
class MBarrierArriveCluster(Instruction):
    """Arrivals at a barrier of any CTA of the cluster (`nvvm.mapa`); the state is dropped."""

    addr = Operand(BARRIER)
    count = OptionalOperand(WORD)
    predicate = OptionalOperand(PREDICATE)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.test.wait",
    "mbarrier.test_wait.shared::cta.b64 {done}, [{addr}], {token};",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.test_wait",
    seed="nvgpu.mbarrier.test.wait",
)
class MBarrierTestWait(Instruction):
    """Whether the phase of this token has completed."""

    addr = Operand(BARRIER)
    token = Operand(DOUBLE_WORD)
    done = Result(PREDICATE)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.test.wait.parity",
    "mbarrier.test_wait.parity.shared::cta.b64 {done}, [{addr}], {phase};",
    OF_CTA,
    source="PTX ISA 8.8, mbarrier.test_wait",
)
class MBarrierTestWaitParity(Instruction):
    """Whether the phase of this parity has completed."""

    addr = Operand(BARRIER)
    phase = Operand(WORD)
    done = Result(PREDICATE)
    effect = WRITE


@instruction(
    "nvvm.mbarrier.try_wait.parity",
    "mbarrier.try_wait.parity.shared::cta.b64 {done}, [{addr}], {phase}, {ticks};",
    CLUSTERS,
    source="PTX ISA 8.8, mbarrier.try_wait: the limit is in nanoseconds",
    seed="nvgpu.mbarrier.try_wait.parity",
)
class MBarrierTryWait(Instruction):
    """Waits up to `ticks` nanoseconds, by default a time chosen by hardware, for the phase of this parity; whether it
    completed.
    """

    addr = Operand(BARRIER)
    phase = Operand(WORD)
    ticks = OptionalOperand(WORD)
    done = Result(PREDICATE)
    effect = WRITE


# Clusters


@instruction(
    "nvvm.mapa", "mapa.shared::cluster.u32 {result}, {addr:register}, {rank};", CLUSTERS, source="PTX ISA 8.8, mapa"
)
class Mapa(Instruction):
    """The address in the cluster's shared memory that corresponds to `addr` in the CTA of this rank."""

    addr = Operand(SHARED)
    rank = Operand(WORD)
    result = Result(SHARED)


@instruction(
    "nvvm.cluster.arrive", "barrier.cluster.arrive.{order}.aligned;", SM_90, source="PTX ISA 8.8, barrier.cluster"
)
class ClusterArrive(Instruction):
    """One arrival of each thread at the barrier of the cluster; relaxed orders no memory."""

    order = Attr(str, "release", among=("release", "relaxed"))
    effect = WRITE


@instruction("nvvm.cluster.wait", "barrier.cluster.wait.acquire.aligned;", SM_90, source="PTX ISA 8.8, barrier.cluster")
class ClusterWait(Instruction):
    """Waits until all threads of the cluster have arrived."""

    effect = WRITE


@instruction(
    "nvvm.ld.shared.cluster", "ld.shared::cluster.b{bits} {result}, [{addr}];", CLUSTERS, source="PTX ISA 8.8, ld"
)
class LdCluster(Instruction):
    """A register from the shared memory of any CTA of the cluster (`nvvm.mapa`)."""

    addr = Operand(SHARED)
    result = Result(REGISTER)
    effect = READ

    @property
    def bits(self) -> int:
        """Size of the value in memory."""
        return memory_bits(self.result.type)


# Fences


@instruction("nvvm.fence.acq_rel", "fence.acq_rel.{scope};", SM_80, source="PTX ISA 8.8, membar/fence")
class FenceAcqRel(Instruction):
    """Orders the thread's accesses before and after it, as observed by other threads of the scope."""

    scope = Attr(str, among=("cta", "gpu", "sys", "cluster"))
    effect = WRITE

    def needs(self) -> Needs:
        """Clusters came with sm_90."""
        return CLUSTERS if self.scope == "cluster" else SM_80


TENSORMAP_FENCE = Needs(90, (8, 3))


@instruction(
    "nvvm.fence.proxy.acquire",
    "fence.proxy.tensormap::generic.acquire.{scope} [{addr:register}], 128;",
    TENSORMAP_FENCE,
    source="PTX ISA 8.8, membar/fence",
    seed="nvgpu.tma.fence.descriptor",
)
class FenceTensorMapAcquire(Instruction):
    """Makes released writes to a tensor map visible to the tensor copies that follow."""

    addr = Operand(GLOBAL_OR_MAP)
    scope = Attr(str, "gpu", among=("cta", "cluster", "gpu", "sys"))
    effect = WRITE


@instruction(
    "nvvm.fence.proxy.release",
    "fence.proxy.tensormap::generic.release.{scope};",
    TENSORMAP_FENCE,
    source="PTX ISA 8.8, membar/fence",
)
class FenceTensorMapRelease(Instruction):
    """Releases the thread's writes to tensor maps."""

    scope = Attr(str, "gpu", among=("cta", "cluster", "gpu", "sys"))
    effect = WRITE


# Grids that depend on each other


@instruction("nvvm.griddepcontrol.wait", "griddepcontrol.wait;", CLUSTERS, source="PTX ISA 8.8, griddepcontrol")
class GridDependencyWait(Instruction):
    """Waits until the grids that this one depends on have completed and their writes are visible."""

    effect = WRITE


@instruction(
    "nvvm.griddepcontrol.launch.dependents",
    "griddepcontrol.launch_dependents;",
    CLUSTERS,
    source="PTX ISA 8.8, griddepcontrol",
)
class GridLaunchDependents(Instruction):
    """Lets dependent grids start, once all CTAs have executed it or ended."""

    effect = WRITE


# Work of clusters that have not started

CLUSTER_LAUNCH = Needs(100, (8, 6))


@instruction(
    "nvvm.clusterlaunchcontrol.try.cancel",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [{addr}], [{mbar}];",
    CLUSTER_LAUNCH,
    source="PTX ISA 8.8, clusterlaunchcontrol.try_cancel",
)
class ClusterLaunchTryCancel(Instruction):
    """Request a cluster of the grid that has not started, which then never starts: a response of 16 bytes is written to
    `addr`, aligned to 16, by the async proxy, and counted at an mbarrier. After a negative response no thread of the
    cluster may make another request.
    """

    addr = Operand(SHARED)
    mbar = Operand(BARRIER)
    effect = WRITE


@instruction(
    "nvvm.clusterlaunchcontrol.query.cancel",
    "{{\n.reg .b128 answer;\nmov.b128 answer, {{ {low:register}, {high:register} }};\n"
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 {valid}, answer;\n"
    "mov.b32 {x}, 0;\nmov.b32 {y}, 0;\nmov.b32 {z}, 0;\n"
    "@{valid} clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{ {x}, {y}, {z}, _ }}, answer;\n}}",
    CLUSTER_LAUNCH,
    source="PTX ISA 8.8, clusterlaunchcontrol.query_cancel: the id of a failed request is undefined",
)
class ClusterLaunchQuery(Instruction):
    """Whether there is a cluster that will not start, from the two halves of a response, and the id of its first CTA,
    or 0.
    """

    low = Operand(DOUBLE_WORD)
    high = Operand(DOUBLE_WORD)
    valid = Result(PREDICATE)
    x = Result(WORD)
    y = Result(WORD)
    z = Result(WORD)
    effect = READ
