"""PTX templates of sm_90: mbarriers, tensor copies, warpgroup products, fences.

Opcode spellings: PTX ISA 8.8; every template is assembled by ptxas for sm_90a in the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ir.core import Op, Value
from ir.dialects import nvvm_hopper as hopper
from ir.types import I1
from lowering.ptx.templates import template

if TYPE_CHECKING:
    from lowering.ptx.machine import Copy
    from lowering.ptx.select import Selector

HALVES = ("f16", "bf16")
FENCE = "wgmma.fence.sync.aligned;"


def _guard(s: Selector, op: Op, uses: list[Value]) -> str:
    """`@p ` of the optional predicate, the op's last operand group."""
    return f"@{s.predicate(op.operands[-1], uses)} " if op.segments[-1] else ""


@template(hopper.MBarrierInit)
def mbarrier_init(s: Selector, op: hopper.MBarrierInit) -> None:
    """mbarrier.init."""
    uses: list[Value] = []
    s.emit(f"mbarrier.init.shared::cta.b64 {s.address(op.addr, uses)}, {op.count};", [], uses)


@template(hopper.MBarrierArrive)
def mbarrier_arrive(s: Selector, op: hopper.MBarrierArrive) -> None:
    """mbarrier.arrive into the sink."""
    uses: list[Value] = []
    guard = _guard(s, op, uses)
    s.emit(f"{guard}mbarrier.arrive.shared::cta.b64 _, {s.address(op.addr, uses)};", [], uses)


@template(hopper.MBarrierArriveExpectTx)
def expect_tx(s: Selector, op: hopper.MBarrierArriveExpectTx) -> None:
    """mbarrier.arrive.expect_tx into the sink."""
    uses: list[Value] = []
    guard = _guard(s, op, uses)
    address = s.address(op.addr, uses)
    s.emit(f"{guard}mbarrier.arrive.expect_tx.shared::cta.b64 _, {address}, {op.txcount};", [], uses)


@template(hopper.CpAsyncMBarrierArrive)
def cp_async_arrive(s: Selector, op: hopper.CpAsyncMBarrierArrive) -> None:
    """cp.async.mbarrier.arrive.noinc."""
    uses: list[Value] = []
    guard = _guard(s, op, uses)
    s.emit(f"{guard}cp.async.mbarrier.arrive.noinc.shared::cta.b64 {s.address(op.addr, uses)};", [], uses)


@template(hopper.MBarrierTryWaitParity)
def try_wait(s: Selector, op: hopper.MBarrierTryWaitParity) -> None:
    """try_wait may give up before the phase completes, hence the loop."""
    label, done = s.label(), Value(I1, op, -1)
    s.emit(f"@!%s bra {label};", [], [done])
    uses: list[Value] = []
    operands = f"{s.address(op.addr, uses)}, {s.use(op.phase, uses)}"
    s.emit(f"mbarrier.try_wait.parity.shared::cta.b64 %s, {operands};", [done], uses)
    s.emit(f"{label}:", [], [])


def _coordinates(s: Selector, op: hopper.TensorLoad | hopper.TensorStore, uses: list[Value]) -> str:
    """`[map, {c0, c1}]`."""
    tensor_map = s.register(op.tmaDescriptor, uses)
    return f"[{tensor_map}, {{{', '.join([s.use(v, uses) for v in op.coordinates])}}}]"


@template(hopper.TensorLoad)
def tensor_load(s: Selector, op: hopper.TensorLoad) -> None:
    """cp.async.bulk.tensor, global to shared memory of this CTA: for the cluster's, ptxas 13.5 asks before each copy on
    sm_120a whether the address is another CTA's, and calls a function where it is (36 instructions, 8 bytes of stack).
    """
    uses: list[Value] = []
    guard, rank = _guard(s, op, uses), len(op.coordinates)
    target = s.address(op.dstMem, uses)
    source = _coordinates(s, op, uses)
    opcode = f"cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
    s.emit(f"{guard}{opcode} {target}, {source}, {s.address(op.mbar, uses)};", [], uses)


@template(hopper.TensorStore)
def tensor_store(s: Selector, op: hopper.TensorStore) -> None:
    """cp.async.bulk.tensor, shared to global."""
    uses: list[Value] = []
    guard, rank = _guard(s, op, uses), len(op.coordinates)
    target = _coordinates(s, op, uses)
    opcode = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    s.emit(f"{guard}{opcode} {target}, {s.address(op.srcMem, uses)};", [], uses)


@template(hopper.BulkCommitGroup)
def bulk_commit(s: Selector, op: Op) -> None:
    """cp.async.bulk.commit_group."""
    s.emit("cp.async.bulk.commit_group;", [], [])


@template(hopper.BulkWaitGroup)
def bulk_wait(s: Selector, op: hopper.BulkWaitGroup) -> None:
    """cp.async.bulk.wait_group."""
    s.emit(f"cp.async.bulk.wait_group{'.read' if op.read else ''} {op.group};", [], [])


@template(hopper.PrefetchTensorMap)
def prefetch(s: Selector, op: hopper.PrefetchTensorMap) -> None:
    """prefetch.tensormap."""
    uses: list[Value] = []
    guard = _guard(s, op, uses)
    s.emit(f"{guard}prefetch.tensormap [{s.register(op.addr, uses)}];", [], uses)


@template(hopper.FenceProxy)
def fence_proxy(s: Selector, op: hopper.FenceProxy) -> None:
    """fence.proxy."""
    s.emit(f"fence.proxy.{op.kind}{'.' + op.space if op.space else ''};", [], [])


@template(hopper.FenceMBarrierInit)
def fence_mbarrier_init(s: Selector, op: Op) -> None:
    """fence.mbarrier_init."""
    s.emit("fence.mbarrier_init.release.cluster;", [], [])


@template(hopper.SetMaxRegister)
def setmaxnreg(s: Selector, op: hopper.SetMaxRegister) -> None:
    """setmaxnreg."""
    s.emit(setmaxnreg_text(op), [], [])


def setmaxnreg_text(op: hopper.SetMaxRegister) -> str:
    """The instruction, whose count may change once it is known what the code needs."""
    return f"setmaxnreg.{op.action[:3]}.sync.aligned.u32 {op.regCount};"


@template(hopper.ElectSync)
def elect(s: Selector, op: hopper.ElectSync) -> None:
    """elect.sync, the lane number dropped."""
    s.emit("elect.sync _|%s, -1;", [op.result], [])


@template(hopper.NamedBarrier)
def named_barrier(s: Selector, op: hopper.NamedBarrier) -> None:
    """bar.sync."""
    s.emit(f"bar.sync {op.barrierId}, {op.numberOfThreads};", [], [])


@template(hopper.WgmmaFence)
def wgmma_fence(s: Selector, op: Op) -> None:
    """wgmma.fence."""
    s.emit(FENCE, [], [])


@template(hopper.WgmmaCommitGroup)
def wgmma_commit(s: Selector, op: Op) -> None:
    """wgmma.commit_group."""
    s.emit("wgmma.commit_group.sync.aligned;", [], [])


@template(hopper.WgmmaWaitGroup)
def wgmma_wait(s: Selector, op: hopper.WgmmaWaitGroup) -> None:
    """wgmma.wait_group; it reads what passes through, so that no register of it is given away before."""
    uses: list[Value] = []
    for value in op.values:
        s.use(value, uses)
    s.emit(f"wgmma.wait_group.sync.aligned {op.group};", [], uses, [])


@template(hopper.WgmmaMmaAsync)
def wgmma(s: Selector, op: hopper.WgmmaMmaAsync) -> None:
    """wgmma.mma_async; scale-d is a predicate, immediates follow by type (ptx.md section 2)."""
    uses: list[Value] = []
    a = [s.register(v, uses) for v in op.a]
    s.register(op.b, uses)
    from_registers = len(a) > 1
    scale = "0" if not op.c else "1"
    if op.scaleD is not None:
        scale = s.register(op.scaleD, uses)
    args = [*op.results, *uses]
    ties: list[Copy] = []
    for result, value in zip(op.results, op.c, strict=False):
        constant = s.use(value, uses)
        ties.append((result, uses[-1] if constant == "%s" else constant))
    m, n, k = op.shape
    modifiers = [scale] if op.typeD == "s32" else [scale, str(op.scaleA), "1"]
    if op.typeA in HALVES:
        modifiers += [*([] if from_registers else [str(int(op.layoutA == "col"))]), str(int(op.layoutB == "row"))]
    d = "{" + ", ".join(["%s"] * len(op.results)) + "}"
    left = "{" + ", ".join(a) + "}" if from_registers else a[0]
    kinds = f"m{m}n{n}k{k}.{op.typeD}.{op.typeA}.{op.typeB}"
    text = f"wgmma.mma_async.sync.aligned.{kinds} {d}, {left}, %s, {', '.join(modifiers)};"
    s.emit(text, list(op.results), uses, args, ties, FENCE)


@template(hopper.StMatrix)
def stmatrix(s: Selector, op: hopper.StMatrix) -> None:
    """stmatrix."""
    uses: list[Value] = []
    trans = ".trans" if op.layout == "col" else ""
    address = s.address(op.ptr, uses)
    sources = ", ".join([s.register(v, uses) for v in op.sources])
    s.emit(f"stmatrix.sync.aligned.m8n8.x{len(op.sources)}{trans}.shared.b16 {address}, {{{sources}}};", [], uses)
