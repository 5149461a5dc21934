"""Dependent grids, fences between addresses, and device-heap memory for a tile block."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Value
from ir.dialects import nv_tileas, nvgpu, nvvm
from ir.dialects.nv_tileas import BARRIER_BYTES
from ir.dialects.nv_tileas_effects import ANSWER_BYTES, WORD_BYTES
from ir.types import GLOBAL_PTR, I1, I32, I64
from lowering.convert.tileas_to_nvgpu.agents import branch
from lowering.convert.tileas_to_nvgpu.assertions import text
from lowering.convert.tileas_to_nvgpu.channels import loaded, to_memory
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.layouts.layout import Layout
from lowering.targets import Feature


@lowers(nv_tileas.WaitOnDependency)
def wait(x: Expander, op: nv_tileas.WaitOnDependency) -> None:
    """A no-op on a target whose grids start only after the previous ones have ended."""
    if x.target.has(Feature.GRID_DEPENDENCY):
        x.emitter.effect(nvvm.GridDependencyWait)


@lowers(nv_tileas.LaunchDependents)
def launch(x: Expander, op: nv_tileas.LaunchDependents) -> None:
    """A no-op if dependent grids cannot start before this one has ended."""
    if x.target.has(Feature.GRID_DEPENDENCY):
        x.emitter.effect(nvvm.GridLaunchDependents)


@lowers(nv_tileas.FenceAlias)
def fence(x: Expander, op: nv_tileas.FenceAlias) -> None:
    """A fence, after pending loads."""
    x.emitter.flush_pending_loads()
    x.emitter.effect(nvvm.FenceProxy, kind="alias")


@lowers(nv_tileas.Alloca)
def allocate(x: Expander, op: nv_tileas.Alloca) -> None:
    """One thread allocates from the heap and writes the address to scratch memory, where all read it."""
    emitter = x.emitter
    place = emitter.scratch()

    def call() -> None:
        address = emitter.builder.value(nvvm.Malloc, types=[I64], bytes=op.bytes, alignment=op.alignment)
        message = f"no room on the heap for {op.bytes} bytes of an alloca: raise CU_LIMIT_MALLOC_HEAP_SIZE"
        texts = [text(emitter, each) for each in (message, op.file, x.kernel)]
        none = emitter.compare("eq", address, emitter.constant(0, I64))
        branch(x, none, lambda: emitter.effect(nvvm.AssertFail, *texts, line=op.line))
        emitter.effect(nvgpu.Store, address, place, segments=(1, 1, 0))

    once(x, call)
    emitter.scratch_written()
    x.values[op.result] = loaded(emitter, place, GLOBAL_PTR)


@lowers(nv_tileas.Free)
def free(x: Expander, op: nv_tileas.Free) -> None:
    """The allocating thread frees it."""
    address = to_memory(x.emitter, x.scalar(op.ptr))
    once(x, lambda: x.emitter.effect(nvvm.Free, address))


def ask(emitter: Emitter, place: Value) -> None:
    """The thread requests a cluster that has not started; the response completes a barrier initialised for it. The
    fence orders earlier accesses there, and the barrier's initialisation, before the asynchronous response.
    """
    barrier = emitter.pointer(place, None, 1, ANSWER_BYTES)
    emitter.effect(nvvm.MBarrierInit, barrier, segments=(1, 0), count=1)
    emitter.effect(nvvm.FenceProxy, kind="async", space="shared::cta")
    emitter.effect(nvvm.MBarrierArriveExpectTx, barrier, segments=(1, 0), txcount=ANSWER_BYTES)
    emitter.effect(nvvm.ClusterLaunchTryCancel, place, barrier)


@lowers(nv_tileas.RequestProgramId)
def request(x: Expander, op: nv_tileas.RequestProgramId) -> None:
    """By the thread that has read the previous response and will wait for this one."""
    once(x, lambda: ask(x.emitter, x.emitter.pointer(x.emitter.shared_base, None, 1, op.slot)))


@lowers(nv_tileas.CancelNextProgramId)
def take_next(x: Expander, op: nv_tileas.CancelNextProgramId) -> None:
    """One thread sends the request, if none is pending, waits for the response and writes its contents to scratch
    memory.
    """
    emitter = x.emitter
    scratch = emitter.scratch()
    place = emitter.pointer(emitter.shared_base, None, 1, op.slot) if op.slot else scratch
    barrier = emitter.pointer(place, None, 1, ANSWER_BYTES)
    words = emitter.pointer(scratch, None, 1, 0 if op.slot else ANSWER_BYTES + BARRIER_BYTES)

    def wait() -> None:
        if not op.slot:
            ask(emitter, place)
        emitter.effect(nvvm.MBarrierTryWaitParity, barrier, emitter.constant(0))
        halves = [loaded(emitter, emitter.pointer(place, None, 1, offset), I64) for offset in (0, ANSWER_BYTES // 2)]
        emitter.effect(nvvm.MBarrierInval, barrier)
        answer = emitter.builder.add(nvvm.ClusterLaunchQuery, *halves, types=[I1, I32, I32, I32]).results
        for number, value in enumerate(answer):
            word = emitter.pointer(words, None, 1, WORD_BYTES * number)
            emitter.effect(nvgpu.Store, to_memory(emitter, value), word, segments=(1, 1, 0))

    once(x, wait)
    emitter.scratch_written()
    for number, (result, kind) in enumerate(zip(op.results, (I1, I32, I32, I32), strict=True)):
        word = emitter.pointer(words, None, 1, WORD_BYTES * number)
        x.values[result] = loaded(emitter, word, kind)


def once(x: Expander, fill: Callable[[], None]) -> None:
    """By one of the consumer threads."""
    first: Value | None = x.emitter.when(Layout.trivial(x.emitter.warps).free().thread)
    if first is None:
        fill()
    else:
        branch(x, first, fill)
