"""nvvm of sm_90: mbarriers, tensor copies, warpgroup products, fences; names as in MLIR's nvvm dialect.

Deviations: registers as variadic operands and several results in place of one !llvm.struct; attributes are plain
strings; program order in place of tokens. Accumulators of wgmma share the registers of the results.
"""

from __future__ import annotations

from ir.core import CONTROL, WRITE, Attr, Op, Operand, OptionalOperand, Result, Variadic, VariadicResult, flag, op
from ir.types import I1, I32, I64
from ir.upstream import unit, width


class Barrier(Op):
    """Shape shared by the mbarrier ops: a shared pointer and a predicate."""

    addr = Operand()
    predicate = OptionalOperand(lambda t: t == I1)
    effect = WRITE


@op("nvvm.mbarrier.init.shared")
class MBarrierInit(Barrier):
    """mbarrier.init."""

    count = Attr(int)


@op("nvvm.mbarrier.arrive.shared")
class MBarrierArrive(Barrier):
    """mbarrier.arrive, the state dropped."""


@op("nvvm.mbarrier.arrive.expect_tx.shared")
class MBarrierArriveExpectTx(Barrier):
    """mbarrier.arrive.expect_tx."""

    txcount = Attr(int)


@op("nvvm.cp.async.mbarrier.arrive.shared")
class CpAsyncMBarrierArrive(Barrier):
    """cp.async.mbarrier.arrive.noinc."""


@op("nvvm.mbarrier.try_wait.parity.shared")
class MBarrierTryWaitParity(Op):
    """A loop around mbarrier.try_wait.parity, as upstream prints it."""

    addr = Operand()
    phase = Operand(lambda t: t == I32)
    effect = WRITE


@op("nvvm.cp.async.bulk.tensor.shared.cluster.global")
class TensorLoad(Op):
    """cp.async.bulk.tensor to shared memory, tile mode, completing on an mbarrier."""

    dstMem = Operand()
    tmaDescriptor = Operand()
    coordinates = Variadic(lambda t: t == I32)
    mbar = Operand()
    predicate = OptionalOperand(lambda t: t == I1)
    effect = WRITE


@op("nvvm.cp.async.bulk.tensor.global.shared.cta")
class TensorStore(Op):
    """cp.async.bulk.tensor to global memory, tile mode, in a bulk group."""

    tmaDescriptor = Operand()
    srcMem = Operand()
    coordinates = Variadic(lambda t: t == I32)
    predicate = OptionalOperand(lambda t: t == I1)
    effect = WRITE


@op("nvvm.cp.async.bulk.commit.group", upstream=True)
class BulkCommitGroup(Op):
    """cp.async.bulk.commit_group."""

    effect = CONTROL


@op("nvvm.cp.async.bulk.wait_group", upstream=True)
class BulkWaitGroup(Op):
    """cp.async.bulk.wait_group; `read`: until the sources were read."""

    group = Attr(int, form=width(32))
    read = flag(form=unit("read"))
    effect = CONTROL


@op("nvvm.prefetch")
class PrefetchTensorMap(Op):
    """prefetch.tensormap."""

    addr = Operand()
    predicate = OptionalOperand(lambda t: t == I1)
    effect = WRITE


@op("nvvm.fence.proxy")
class FenceProxy(Op):
    """fence.proxy of a kind and state space."""

    kind = Attr(str)
    space = Attr(str, "")
    effect = WRITE


@op("nvvm.fence.mbarrier.init", upstream=True)
class FenceMBarrierInit(Op):
    """fence.mbarrier_init.release.cluster."""

    effect = WRITE


@op("nvvm.setmaxregister")
class SetMaxRegister(Op):
    """setmaxnreg; `action` is increase or decrease."""

    regCount = Attr(int)
    action = Attr(str)
    effect = WRITE


@op("nvvm.elect.sync")
class ElectSync(Op):
    """elect.sync of the full warp."""

    result = Result(lambda t: t == I1)
    effect = WRITE


@op("nvvm.barrier")
class NamedBarrier(Op):
    """bar.sync of a numbered barrier."""

    barrierId = Attr(int)
    numberOfThreads = Attr(int)
    effect = WRITE


@op("nvvm.wgmma.fence.aligned", upstream=True)
class WgmmaFence(Op):
    """wgmma.fence."""

    effect = WRITE


@op("nvvm.wgmma.commit.group.sync.aligned", upstream=True)
class WgmmaCommitGroup(Op):
    """wgmma.commit_group."""

    effect = WRITE


@op("nvvm.wgmma.wait.group.sync.aligned")
class WgmmaWaitGroup(Op):
    """wgmma.wait_group; `values` pass through in their registers (ours)."""

    values = Variadic()
    group = Attr(int)
    out = VariadicResult()
    effect = WRITE


@op("nvvm.wgmma.mma_async")
class WgmmaMmaAsync(Op):
    """wgmma.mma_async: `a` is a descriptor or four registers, `c` the accumulators tied to the results.

    Without `c` the product starts from zero. `scaleD` false does so too; absent it is true. `scaleA` -1 negates A.
    Layouts row or col as upstream: B col and A row are K-major.
    """

    a = Variadic()
    b = Operand(lambda t: t == I64)
    scaleD = OptionalOperand(lambda t: t == I1)
    c = Variadic()
    shape: Attr[tuple[int, ...]] = Attr(tuple)
    typeA = Attr(str)
    typeB = Attr(str)
    typeD = Attr(str, "f32")
    scaleA = Attr(int, 1)
    layoutA = Attr(str, "row")
    layoutB = Attr(str, "col")
    out = VariadicResult()
    effect = WRITE


@op("nvvm.stmatrix")
class StMatrix(Op):
    """stmatrix of 8x8 16-bit matrices; layout row or col (.trans)."""

    ptr = Operand()
    sources = Variadic()
    layout = Attr(str, "row")
    effect = WRITE
