"""Clusters: barrier.cluster, mapa, getctarank. Source: PTX ISA, "barrier.cluster", "mapa", "getctarank"."""

from collections.abc import Callable

import numpy as np

from ptxsim.control import condition_of
from ptxsim.decode import Decode, Step
from ptxsim.errors import HazardError, OperandError
from ptxsim.findings import Kind
from ptxsim.floors import Floor
from ptxsim.memory import RANK_SHIFT, SHARED_WINDOW, WINDOW_BITS
from ptxsim.ptx_types import TYPES, Array
from ptxsim.waiting import Wait

_CLUSTER = "shared::cluster"
_RANK_BITS = 8  # number of ranks that an address can hold


def decode_cluster_barrier(d: Decode) -> Step | None:
    """barrier.cluster.arrive{.release,.relaxed}{.aligned} and barrier.cluster.wait{.acquire}{.aligned}."""
    d.need("cluster")
    action = d.need("arrive", "wait")
    order = d.take("release", "relaxed") if action == "arrive" else d.take("acquire")
    d.take("aligned")
    d.finish(0)
    if action == "arrive":
        return _arrive(d, releases=order != "relaxed")
    d.control = _wait(d)
    return None


def _misuse(d: Decode, wrong: Array, problem: str) -> HazardError:
    who = d.machine.describe(int(np.flatnonzero(wrong)[0]))
    return d.machine.findings.fatal(Kind.CLUSTER_BARRIER, f"{who} {problem}", d.instruction, who)


def _arrive(d: Decode, releases: bool) -> Step:
    machine, transfers = d.machine, d.binding.transfers
    barrier, tracker = transfers.cluster_barrier, d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.live_mask() if mask is None else mask
        if not lanes.any():
            return
        wrong = barrier.wrong_arrival(lanes)
        if wrong.any():
            raise _misuse(d, wrong, "arrives again at the cluster barrier; barrier.cluster.wait must come between")
        barrier.arrive(lanes, releases)
        if tracker is not None:
            tracker.lanes.met(lanes)
        transfers.mbarriers.note_change()

    return step


def _wait(d: Decode) -> Wait:
    barrier = d.binding.transfers.cluster_barrier

    def arrive(lanes: Array) -> None:
        wrong = barrier.wrong_wait(lanes)
        if wrong.any():
            raise _misuse(d, wrong, "waits at the cluster barrier without a preceding barrier.cluster.arrive")

    def resume(lanes: Array, is_complete: bool) -> None:
        barrier.waited(lanes)

    return Wait(d.pc, d.pc + 1, condition_of(d, d.instruction.guard), barrier.ready, resume, barrier.describe, arrive)


def decode_mapa(d: Decode) -> Step:
    """mapa{.shared::cluster}.type d, a, rank: the address of the same variable in another CTA of the cluster."""
    is_shared = d.take(_CLUSTER) is not None
    type_ = d.type()
    if type_.name not in ("u32", "u64") or (type_.name == "u32" and not is_shared):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3)
    target = d.write(0, type_)
    source, rank = d.read(1, type_), d.read(2, TYPES["u32"])
    machine = d.machine
    size = machine.geometry.cluster_size
    keeps = type_.dtype(~(((1 << _RANK_BITS) - 1) << RANK_SHIFT) % (1 << type_.bits))

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        wrong = rank >= size if lanes is None else lanes & (rank >= size)
        if wrong.any():
            lane = int(np.flatnonzero(wrong)[0])
            raise d.error(
                OperandError, f"{machine.describe(lane)} maps to CTA {int(rank[lane])} of a cluster of {size} CTAs"
            )
        if not is_shared:
            _require_shared(d, source, lanes)
        mapped = (source & keeps) | (rank.astype(type_.dtype) << type_.dtype(RANK_SHIFT))
        if mask is None:
            np.copyto(target, mapped)
        else:
            np.putmask(target, mask, mapped)

    return step


def _require_shared(d: Decode, address: Array, lanes: Array | None) -> None:
    wrong = (address >> np.uint64(WINDOW_BITS)) != SHARED_WINDOW
    if lanes is not None:
        wrong &= lanes
    if wrong.any():
        lane = int(np.flatnonzero(wrong)[0])
        raise d.error(OperandError, f"{d.machine.describe(lane)}: {int(address[lane]):#x} is not a shared address")


def decode_getctarank(d: Decode) -> Step:
    """getctarank{.shared::cluster}.type d, a: the rank of the CTA that a shared address belongs to."""
    is_shared = d.take(_CLUSTER) is not None
    type_ = d.type()
    if type_.name not in ("u32", "u64") or (type_.name == "u32" and not is_shared):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2)
    target, source = d.write(0, TYPES["u32"]), d.read(1, type_)
    machine = d.machine

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if not is_shared:
            _require_shared(d, source, lanes)
        found = ((source >> type_.dtype(RANK_SHIFT)) & type_.dtype((1 << _RANK_BITS) - 1)).astype(np.uint32)
        if mask is None:
            np.copyto(target, found)
        else:
            np.putmask(target, mask, found)

    return step


OPCODES: dict[str, Callable[[Decode], Step | None]] = {
    "barrier.cluster": decode_cluster_barrier,
    "mapa": decode_mapa,
    "getctarank": decode_getctarank,
}
FLOORS = (
    Floor("barrier.cluster", "90", "7.8"),
    Floor("barrier.cluster acquire|release|relaxed", "", "8.0"),
    Floor("mapa", "90", "7.8"),
    Floor("getctarank", "90", "7.8"),
)
