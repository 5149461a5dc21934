"""Channels: one thread of an agent stores a scalar to shared memory, the threads of another agent load it.

    sender     wait until the channel is empty; store; arrive at its full barrier
    receivers  wait until it is full; load; arrive at its empty barrier
An arrival releases the accesses of its thread and a wait acquires them; no other ordering is needed. Source: PTX ISA,
mbarrier.arrive (.release by default) and mbarrier.try_wait (.acquire by default).
"""

from __future__ import annotations

from ir.core import Type, Value
from ir.dialects import arith, llvm, nv_tileas, nvgpu, nvvm
from ir.dialects.nv_tileas import SCALAR_BYTES
from ir.records import dataclass
from ir.types import GLOBAL_PTR, I1, I32, I64
from lowering.convert.tileas_to_nvgpu.agents import branch, leads
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter


@dataclass
class Channel:
    """The place of a scalar, a byte offset in shared memory, and its barriers: the full one, then the empty one."""

    offset: int
    barriers: Value
    paired: bool

    def value(self, emitter: Emitter) -> Value:
        """Address of the scalar."""
        return emitter.pointer(emitter.shared_base, None, 1, self.offset)

    def barrier(self, emitter: Emitter, empty: bool) -> Value:
        """The full or the empty barrier."""
        return emitter.mbarrier(self.barriers, None, int(empty))


@lowers(nv_tileas.CreateChannel)
def create(x: Expander, op: nv_tileas.CreateChannel) -> None:
    """Remember the barriers; they are initialised before the agents split."""
    barriers = x.emitter.mbarriers(2, op.offset + SCALAR_BYTES)
    x.values[op.result] = Channel(op.offset, barriers, op.paired)
    x.mbarriers += [(barriers, 0, 1), (barriers, 1, op.receivers)]


@lowers(nv_tileas.Send)
def send(x: Expander, op: nv_tileas.Send) -> None:
    """The agent's first thread waits, stores and arrives."""
    emitter, channel = x.emitter, x.held(op.channel, Channel)
    value, phase = x.scalar(op.value), x.scalar(op.phase)

    def hand_over() -> None:
        before = emitter.emit(arith.XOrI, phase, emitter.constant(1))
        emitter.effect(nvvm.MBarrierTryWaitParity, channel.barrier(emitter, True), before)
        emitter.effect(nvgpu.Store, to_memory(emitter, value), channel.value(emitter), segments=(1, 1, 0))
        emitter.effect(nvvm.MBarrierArrive, channel.barrier(emitter, False), segments=(1, 0))

    first = emitter.compare("eq", emitter.thread, emitter.constant(0))
    sends = emitter.both(first, leads(emitter) if channel.paired else None)
    assert sends is not None
    branch(x, sends, hand_over)


@lowers(nv_tileas.Receive)
def receive(x: Expander, op: nv_tileas.Receive) -> None:
    """All threads that run this wait, load and arrive."""
    emitter, channel = x.emitter, x.held(op.channel, Channel)
    emitter.effect(nvvm.MBarrierTryWaitParity, channel.barrier(emitter, False), x.scalar(op.phase))
    x.values[op.result] = loaded(emitter, channel.value(emitter), op.result.type)
    emitter.effect(nvvm.MBarrierArrive, channel.barrier(emitter, True), segments=(1, 0))


def loaded(emitter: Emitter, place: Value, kind: Type) -> Value:
    """A scalar from shared memory."""
    raw = emitter.builder.add(nvgpu.Load, place, types=[held(kind)], segments=(1, 0, 0)).result
    return from_memory(emitter, raw, kind)


def held(kind: Type) -> Type:
    """The type of a scalar in memory: predicates and pointers as integers."""
    return I32 if kind == I1 else I64 if kind == GLOBAL_PTR else kind


def to_memory(emitter: Emitter, value: Value) -> Value:
    """A scalar as it is stored."""
    if value.type == I1:
        return emitter.emit(arith.ExtUI, value, types=[I32])
    return emitter.emit(llvm.PtrToInt, value, types=[I64]) if value.type == GLOBAL_PTR else value


def from_memory(emitter: Emitter, value: Value, kind: Type) -> Value:
    """A loaded scalar in its own type."""
    if kind == I1:
        return emitter.compare("ne", value, emitter.constant(0))
    return emitter.emit(llvm.IntToPtr, value, types=[GLOBAL_PTR]) if kind == GLOBAL_PTR else value
