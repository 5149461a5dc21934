"""Exchanges between the CTAs of a cluster: each stores its values to the shared memory of all and arrives at a barrier
there; a CTA that has seen all arrivals at its own barrier reads what was sent to it.

    store     to the place of this CTA's rank in each CTA that takes part, st.shared::cluster on mapa of an address
    arrive    the lanes of a warp synchronise, then one lane for each CTA arrives there, releasing at cluster scope
    wait      for the arrivals of all warps of all CTAs, acquiring at cluster scope
    read      own shared memory

In a loop, rounds alternate between two buffers, each with its own barrier. A warp that arrives in round n + 1 has read
what was sent to it in round n, and has waited for nothing later; so a warp that has waited for round n + 1 may
overwrite the buffer of round n. Its arrival in round n + 2 is ordered after every other warp's arrival in round n,
because the wait in between acquires what that arrival released: no arrival counts for the wrong phase. A CTA need not
wait for others before it ends either: their accesses to its shared memory precede the arrivals that each of its warps
has waited for. Source: PTX ISA 8.8, memory consistency model (release and acquire patterns, causality order),
mbarrier.arrive and try_wait; the seeds' DSMEM handshake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ir.core import Value
from ir.dialects import arith, llvm, nv_tileas, nvvm
from ir.dialects.nv_tileas import BARRIER_BYTES
from ir.records import dataclass
from ir.types import SHARED_PTR, TensorType
from lowering.convert.tileas_to_nvgpu.agents import LANE_BITS, initialise, part_number
from lowering.convert.tileas_to_nvgpu.atomics import replicated
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers
from lowering.convert.tileas_to_nvgpu.views import SharedVectors, SharedWindow, store, vector_of
from lowering.layouts.access import access_plan
from lowering.layouts.shared import SharedLayout
from lowering.schedule.sent import places


@dataclass
class ReceiveBuffer:
    """The receive buffer of a CTA: the barriers of its rounds, followed by their data."""

    op: nv_tileas.CreateExchange
    barriers: Value

    def remote(self, emitter: Emitter, offset: int, distance: Value) -> Value:
        """Address of a byte of the shared memory of the CTA whose rank is this one's with these bits flipped."""
        build = emitter.prelude.value
        own = build(
            llvm.GetElementPtr,
            emitter.shared_base,
            types=[SHARED_PTR],
            segments=(1, 0),
            element_bytes=1,
            offset=offset,
            outermost=False,
        )
        return build(nvvm.Mapa, own, build(arith.XOrI, emitter.rank, distance), types=[SHARED_PTR])


@lowers(nv_tileas.CreateExchange)
def create(x: Expander, op: nv_tileas.CreateExchange) -> None:
    """Remember the barriers; they are initialised before the agents split, or here if all threads `meet`."""
    barriers = x.emitter.mbarriers(op.rounds, op.offset)
    x.values[op.result] = ReceiveBuffer(op, barriers)
    x.mbarriers += [(barriers, number, op.ctas * op.warps) for number in range(op.rounds)]
    x.emitter.clustered = True
    if op.meets:
        initialise(x)
        x.emitter.cluster_barrier()


@lowers(nv_tileas.Exchange)
def exchange(x: Expander, op: nv_tileas.Exchange) -> None:
    """Store to all, arrive at all, wait for all, read."""
    emitter, place = x.emitter, x.values[op.place] if op.place is not None else None
    if not isinstance(place, ReceiveBuffer):
        raise TypeError(f"{op} has no location")
    if not op.values:
        emitter.flush_pending_loads()  # pending loads come before the exchange
    tiles = [x.tile(value) for value in op.values]
    stage, phase = turn(emitter, x.scalar(op.operands[-1]), place.op.rounds)
    bits = [bit for bit in range(op.among.bit_length()) if op.among >> bit & 1]
    offsets = places(op.values)
    for tile, offset in zip(tiles, offsets, strict=True):
        if op.other:
            store_at(emitter, place, tile, offset, emitter.constant(op.among), stage, replicas_of(tile))
        else:
            tell(emitter, place, tile, offset, bits, stage, part_number(emitter, op.among))
    arrive(emitter, place, bits, stage)
    emitter.effect(nvvm.MBarrierTryWaitParity, emitter.mbarrier(place.barriers, stage), phase, cluster=True)
    own = emitter.pointer(emitter.shared_base, stage, place.op.parts * place.op.bytes, place.op.first)
    results = iter(op.results)
    for tile, offset in zip(tiles, offsets, strict=True):
        for rank in range(place.op.parts):
            source = emitter.pointer(own, None, 1, rank * place.op.bytes + offset)
            read = SharedVectors(emitter, tile.layout, tile.element, source, shared_layout(tile))
            read.force()  # the next exchange may overwrite this buffer
            result = next(results)
            x.values[result] = read if isinstance(result.type, TensorType) else read.scalar(0)


def turn(emitter: Emitter, number: Value, rounds: int) -> tuple[Value, Value]:
    """The buffer of a round, and the parity of its barrier's phase."""
    if rounds == 1:
        return emitter.constant(0), emitter.constant(0)
    one = emitter.constant(1)
    stage = emitter.emit(arith.AndI, number, one)
    return stage, emitter.emit(arith.AndI, emitter.emit(arith.ShRUI, number, one), one)


def tell(
    emitter: Emitter, place: ReceiveBuffer, tile: Registers, offset: int, bits: Sequence[int], stage: Value, rank: Value
) -> None:
    """Send a tile to all CTAs. Threads that hold replicas serve one CTA each, as far as there are replicas."""
    replicas = replicas_of(tile)
    free = [bit for bit in range(LANE_BITS + len(tile.layout.warp)) if replicas >> bit & 1][: len(bits)]
    spread = [0] * (max(free, default=-1) + 1)
    for bit, thread in zip(bits, free, strict=False):
        spread[thread] = 1 << bit
    unused = replicas & ~sum(1 << bit for bit in free)
    near = emitter.linear(spread)
    for far in subsets(bits[len(free) :]):
        distance = emitter.constant(far) if not free else near
        if free and far:
            distance = emitter.prelude.value(arith.XOrI, near, emitter.constant(far))
        store_at(emitter, place, tile, offset, distance, stage, unused, rank)


def store_at(
    emitter: Emitter, place: ReceiveBuffer, tile: Registers, offset: int, distance: Value, stage: Value, unused: int,
    rank: Value | None = None,
) -> None:  # fmt: skip
    """Store a tile to the CTA whose rank is this one's with these bits flipped, at the slot of a rank there, by the
    threads whose number has none of the bits `unused`.
    """
    base = place.remote(emitter, place.op.first + offset, distance)
    if rank is not None:
        base = emitter.pointer(base, emitter.multiply(rank, place.op.bytes))
    base = emitter.pointer(base, stage, place.op.parts * place.op.bytes)
    plan, condition = access_plan(tile.layout, shared_layout(tile), "store"), emitter.when(unused)
    window = SharedWindow(emitter, base, plan.thread, shared_layout(tile).element_bytes, unused)
    for access in plan.accesses:
        store(emitter, vector_of(emitter, tile, access.registers), window.pointer(access), condition, remote=True)


def replicas_of(tile: Registers) -> int:
    """The bits of thread numbers that only distinguish replicas."""
    return access_plan(tile.layout, shared_layout(tile), "store").free.thread


def shared_layout(tile: Registers) -> SharedLayout:
    """Memory that holds a tile in the order of its elements."""
    return replicated(tile.layout, tile.element)


def subsets(bits: Sequence[int]) -> Iterator[int]:
    """All numbers that have no other bits, 0 first."""
    for number in range(1 << len(bits)):
        yield sum(1 << bit for place, bit in enumerate(bits) if number >> place & 1)


def arrive(emitter: Emitter, place: ReceiveBuffer, bits: Sequence[int], stage: Value) -> None:
    """One lane of a warp for each CTA, after the stores of the warp's lanes and their reads of an earlier round."""
    emitter.effect(nvvm.SyncWarp, emitter.constant(-1))
    near = emitter.linear([1 << bit for bit in bits])
    chosen = emitter.when((1 << LANE_BITS) - place.op.ctas)
    barrier = emitter.pointer(place.remote(emitter, place.op.offset, near), stage, BARRIER_BYTES)
    when = [] if chosen is None else [chosen]
    emitter.effect(nvvm.MBarrierArriveCluster, barrier, *when, segments=(1, 0, len(when)))
