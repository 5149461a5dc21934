"""Grids that depend on each other, fences between addresses, and memory of the device's heap for a tile block."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ir.core import Op, Value
from ir.dialects import nv_tileas, nvgpu, nvvm
from ir.dialects.nv_tileas import BARRIER_BYTES
from ir.dialects.nv_tileas_effects import ANSWER_BYTES, WORD_BYTES
from ir.types import GLOBAL_PTR, I1, I32, I64
from lowering.convert.tileas_to_nvgpu.agents import branch
from lowering.convert.tileas_to_nvgpu.assertions import text
from lowering.convert.tileas_to_nvgpu.channels import loaded, to_memory
from lowering.layouts.layout import Layout
from lowering.targets import Feature

if TYPE_CHECKING:
    from lowering.convert.tileas_to_nvgpu.emitter import Emitter
    from lowering.convert.tileas_to_nvgpu.expand import Expander


def wait(x: Expander, op: nv_tileas.WaitOnDependency) -> None:
    """Nothing on a target whose grids begin when those before have ended."""
    if x.target.has(Feature.GRID_DEPENDENCY):
        x.emitter.effect(nvvm.GridDependencyWait)


def launch(x: Expander, op: nv_tileas.LaunchDependents) -> None:
    """Nothing where dependent grids cannot begin before this one has ended."""
    if x.target.has(Feature.GRID_DEPENDENCY):
        x.emitter.effect(nvvm.GridLaunchDependents)


def fence(x: Expander, op: nv_tileas.FenceAlias) -> None:
    """Behind what was to be loaded before it."""
    x.emitter.flush_pending_loads()
    x.emitter.effect(nvvm.FenceProxy, kind="alias")


def allocate(x: Expander, op: nv_tileas.Alloca) -> None:
    """One thread calls the heap and leaves the address in scratch memory, where all read it."""
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


def free(x: Expander, op: nv_tileas.Free) -> None:
    """The thread that asked gives it back."""
    address = to_memory(x.emitter, x.scalar(op.ptr))
    once(x, lambda: x.emitter.effect(nvvm.Free, address))


def ask(emitter: Emitter, place: Value) -> None:
    """The thread asks for a cluster that has not started; the answer completes a barrier that it makes for that. The
    fence orders what was done there before it, and the barrier's first value, before the asynchronous answer.
    """
    barrier = emitter.pointer(place, None, 1, ANSWER_BYTES)
    emitter.effect(nvvm.MBarrierInit, barrier, segments=(1, 0), count=1)
    emitter.effect(nvvm.FenceProxy, kind="async", space="shared::cta")
    emitter.effect(nvvm.MBarrierArriveExpectTx, barrier, segments=(1, 0), txcount=ANSWER_BYTES)
    emitter.effect(nvvm.ClusterLaunchTryCancel, place, barrier)


def request(x: Expander, op: nv_tileas.RequestProgramId) -> None:
    """By the thread that has read the answer before, and will wait for this one."""
    once(x, lambda: ask(x.emitter, x.emitter.pointer(x.emitter.shared_base, None, 1, op.slot)))


def take_next(x: Expander, op: nv_tileas.CancelNextProgramId) -> None:
    """One thread asks, if no request has done so, waits for the answer and leaves what it says in scratch memory."""
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
    """By one of the threads that compute."""
    first: Value | None = x.emitter.when(Layout.trivial(x.emitter.warps).free().thread)
    if first is None:
        fill()
    else:
        branch(x, first, fill)


HANDLERS: dict[type[Op], Callable[[Any, Any], None]] = {
    nv_tileas.WaitOnDependency: wait,
    nv_tileas.LaunchDependents: launch,
    nv_tileas.FenceAlias: fence,
    nv_tileas.Alloca: allocate,
    nv_tileas.Free: free,
    nv_tileas.CancelNextProgramId: take_next,
    nv_tileas.RequestProgramId: request,
}
