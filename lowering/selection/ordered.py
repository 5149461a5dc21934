"""Alternatives for ordered accesses through pointers: strong loads and atomic updates."""

from __future__ import annotations

from typing import cast

from egraph.accesses import MultimemAccess, TileUpdate
from egraph.skeleton import SkeletonEffect
from ir.core import UnsupportedError
from ir.dialects import cuda_tile as ct
from ir.dialects.nv_tileas_cluster import Exchange
from ir.types import BF16
from lowering.cost import Cost
from lowering.layouts.access import global_access
from lowering.layouts.elements import element_bytes
from lowering.schedule.sent import sent_bytes
from lowering.selection.choices import BRANCH, Alternative, StoreChoice
from lowering.selection.context import Problem
from lowering.targets import Feature

WORD = 4  # bytes of the least access to multicast memory; PTX ISA, multimem
PAIRED = 2  # bytes of the floats that atomic sums take in pairs; PTX ISA, atom.add.noftz.f16x2

HANDSHAKE = 500.0
"""Cycles from a store to another CTA's shared memory until that CTA has seen the arrival after it, including its wait:
an estimate, twice the latency of the network between SMs and a barrier. Source: 180 cycles of an H100's network, Luo et
al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture (arXiv 2402.13499).
"""
LEAST_DRAINED = 1024  # bytes that overlay rings; fewer are not worth another barrier
PLACE = 32  # bytes of an exchange without values: a barrier, and the least room
ROUNDS = 2  # of an exchange in a loop; elsewhere one is enough


def ways(s: Problem, item: SkeletonEffect, trips: float) -> list[Alternative]:
    """A strong load or an atomic update through pointers: operands and result in one layout."""
    pointers = s.frozen.class_of(item.operands[0])
    kind = ct.tile_type(item.op.results[0])
    if isinstance(item.op, ct.AtomicRMW) and kind.element == BF16 and not s.target.has(Feature.ATOMIC_BF16):
        raise UnsupportedError(
            f"'{item.op.name}': {s.target.name} has no atomic sum of bf16",
            item.op.location,
            "sum in f32, or compile for sm_90a or later",
        )
    size, dim = element_bytes(kind.element), max(0, len(kind.shape) - 1)
    found: list[Alternative] = []
    for layout in [layout for wanted, layout in s.frozen.held_in if wanted == pointers]:
        children = [s.at(k, layout) for k in item.placed]
        if None not in children:
            width = access_width(s, item, size)
            plan = global_access(s.oracle.layout(layout), kind.shape, dim, width)
            if isinstance(item.op, MultimemAccess) and plan.vector * size < WORD:
                continue
            machine = s.pricer.machines[s.warps_of(layout)]
            waits = s.pricer.exposed(not isinstance(item.op, TileUpdate))  # old values are not waited for
            cost = machine.global_access(plan.thread, dim, len(plan.accesses), size) + waits
            there = [c for c in children if c is not None]
            found.append(
                Alternative(
                    there, cost, trips, StoreChoice(item.item, layout, plan.vector), ("carried", BRANCH + item.item, 0)
                )
            )
    if isinstance(item.op, MultimemAccess) and not found:
        raise UnsupportedError(
            f"'{item.op.whole.name}': pairs of 16-bit elements are not proved to be 4-byte aligned",
            item.op.location, "declare even sizes and strides and a 4-byte aligned base with assume div_by",
        )  # fmt: skip
    return found


def told(s: Problem, item: SkeletonEffect, trips: float) -> list[Alternative]:
    """An exchange between CTAs: sent and received values in one layout."""
    op = cast(Exchange, item.op)
    first, found = s.frozen.class_of(item.operands[0]), list[Alternative]()
    rounds = ROUNDS if s.loop_of(s.frozen.class_of(item.results[0])) >= 0 else 1
    size = rounds * op.parts * sent_bytes(op.values)
    sent = {s.frozen.class_of(k) for k in item.operands}
    for layout in [layout for wanted, layout in s.frozen.held_in if wanted == first]:
        children = [s.at(k, layout) for k in item.operands]
        if None not in children:
            machine, registers = s.pricer.machines[s.warps_of(layout)], s.oracle.layout(layout).n_regs if layout else 1
            accesses = 2 * op.parts * registers * len(children)
            cost = machine.shared_access(accesses, accesses) + Cost(latency=HANDSHAKE)
            use = dict.fromkeys((*s.rows.shared, *s.rows.after), float(size))
            group, given = ("carried", BRANCH + item.item, 0), [c for c in children if c is not None]
            found.append(Alternative(given, cost, trips, StoreChoice(item.item, layout, 1), group, use=use))
            if rounds == 1 and size > LEAST_DRAINED and not s.loops.before_last.issuperset(sent):
                use = {**dict.fromkeys(s.rows.shared, 2.0 * PLACE), **dict.fromkeys(s.rows.after, size + 2.0 * PLACE)}
                cost += Cost(latency=HANDSHAKE)  # preceded by a barrier
                choice = StoreChoice(item.item, layout, 1, drained=True)
                found.append(Alternative(given, cost, trips, choice, group, use=use))
    return found


def access_width(s: Problem, item: SkeletonEffect, size: int) -> int:
    """Elements that one access takes: vectors in loads, pairs in sums of 16-bit floats."""
    op = item.op
    runs = [s.analysis("pointer_run", item.operands[0], 1)]
    if isinstance(op, ct.AtomicCAS) or (isinstance(op, ct.AtomicRMW) and size != PAIRED):
        return 1
    mask = cast("ct.LoadPtr | ct.AtomicRMW", op).mask
    if mask is not None:
        runs.append(s.analysis("mask_run", item.operands[1 + isinstance(op, ct.AtomicRMW)], 1))
    return max(1, min(*runs, (16 if isinstance(op, ct.LoadPtr) else 4) // size))
