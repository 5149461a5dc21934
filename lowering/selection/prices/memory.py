"""Prices of moving tiles: loads, copies to shared memory, reads of it, registers written there."""

from __future__ import annotations

from egraph import placed
from ir.types import PartitionViewType
from lowering.atoms.copy import WIDE_LOAD, widest
from lowering.cost import FREE, RAGGED, Cost, exposed
from lowering.layouts.access import (
    BYTE_MATRICES,
    LDMATRIX,
    access_plan,
    async_copy,
    byte_matrices,
    global_access,
    ldmatrix,
)
from lowering.layouts.boxes import boxes
from lowering.layouts.elements import element_bytes
from lowering.layouts.shared import PERIOD, SharedLayout
from lowering.placement.copied import contiguous_dim, copy_threads
from lowering.selection.pricer import NodeContext, NodeCost, Pricer, prices
from lowering.targets import Feature


@prices(placed.LoadView)
def load(pricer: Pricer, node: placed.LoadView, site: NodeContext) -> NodeCost | None:
    """Straight from global memory."""
    view: PartitionViewType = pricer.interner.types[node.view_type]
    size = element_bytes(view.view.element)
    if node.bytes > widest(pricer.target, pricer.forbid, WIDE_LOAD):
        return None
    contiguous = contiguous_dim(view) or 0
    plan = global_access(pricer.oracle.layout(node.layout), view.tile, contiguous, max(1, node.bytes // size))
    return NodeCost(pricer.machines[site.warps].load(plan, contiguous, size, node.bytes, site.looped))


@prices(placed.LoadPointer)
def gather(pricer: Pricer, node: placed.LoadPointer, site: NodeContext) -> NodeCost | None:
    """Through pointers."""
    kind = pricer.oracle.tile(node.type)
    dim = max(0, len(kind.shape) - 1)
    plan = global_access(pricer.oracle.layout(node.layout), kind.shape, dim, node.width)
    size = element_bytes(kind.element)
    if node.width * size > widest(pricer.target, pricer.forbid, WIDE_LOAD):
        return None
    return NodeCost(pricer.machines[site.warps].load(plan, dim, size, node.width * size, site.looped))


@prices(placed.Copy)
def copy(pricer: Pricer, node: placed.Copy, site: NodeContext) -> NodeCost | None:
    """One tile into one stage, which starts at a multiple of PERIOD."""
    view: PartitionViewType = pricer.interner.types[node.view_type]
    shared = pricer.oracle.shared(node.shared)
    if node.mechanism == placed.Mechanism.REGISTERS:
        cost = None if node.shared in pricer.oracle.scales else register_copy(pricer, view, shared, node.bytes, site)
    elif view.padding not in (None, "zero"):
        return None  # asynchronous copies pad with zeros out of bounds
    elif node.mechanism == placed.Mechanism.TMA:
        # outside loops the agent that fills rings loads it, or all threads if it cannot
        value, array = (pricer.owner[cls][0] for cls in (node.cls, node.view))
        threads = (
            site.looped or copied_by_threads(pricer, view, shared, node.bytes, node.inside, site.warps) is not None
        )
        brought = value in pricer.ahead if site.looped else threads and pricer.ahead.boxed(pricer.without_tma)
        usable = brought and value not in pricer.without_tma and pricer.host.maps(array)
        cost = box_copy(pricer, view, shared) if usable else None
    else:
        cost = copied_by_threads(pricer, view, shared, node.bytes, node.inside, site.warps)
        if cost is not None and not pricer.ahead.copied(pricer.owner[node.cls][0], boxed=False):
            cost += pricer.exposed(site.looped)
    return None if cost is None else NodeCost(cost, buffer=-(-shared.size_bytes // PERIOD) * PERIOD)


def register_copy(
    pricer: Pricer, view: PartitionViewType, shared: SharedLayout, nbytes: int, site: NodeContext
) -> Cost:
    """Load and store again; in a loop a thread waits for as many registers as are in flight at once."""
    machine = pricer.machines[site.warps]
    threads = copy_threads(view, site.warps, nbytes)
    contiguous, size = contiguous_dim(view) or 0, shared.element_bytes
    loads = global_access(threads, view.tile, contiguous, max(1, nbytes // size))
    stores = access_plan(threads, shared, "store")
    cost = machine.global_access(loads.thread, contiguous, len(loads.accesses), size)
    cost += machine.shared_access(stores.wavefronts, len(stores.accesses))
    return cost + (exposed(pricer.target, len(loads.accesses), nbytes) if site.looped else FREE)


def copied_by_threads(
    pricer: Pricer, view: PartitionViewType, shared: SharedLayout, nbytes: int, inside: int, warps: int
) -> Cost | None:
    """cp.async by all threads."""
    if not pricer.target.has(Feature.CP_ASYNC) or pricer.forbidden("cp.async"):
        return None
    machine = pricer.machines[warps]
    threads = copy_threads(view, warps, nbytes)
    contiguous = contiguous_dim(view) or 0
    plan = async_copy(threads, view.tile, contiguous, shared, nbytes)
    if plan is None or plan.bytes != nbytes:
        return None
    cost = machine.global_access(plan.source_thread, contiguous, len(plan.copies), shared.element_bytes)
    if inside < nbytes:
        cost += machine.busy("int_add", RAGGED * len(plan.copies))
    written = machine.shared_access(plan.wavefronts, len(plan.copies))
    issued = machine.instructions("load_store", len(plan.copies))
    return cost + Cost(memory=written.memory - issued, parts=written.parts[:1])


@prices(placed.GatherCopy)
def gather_copy(pricer: Pricer, node: placed.GatherCopy, site: NodeContext) -> NodeCost | None:
    """cp.async of the runs of a gathered tile by all threads; a mask determines how many bytes each reads."""
    kind, run = pricer.oracle.tile(node.type), node.width
    shared, layout = pricer.oracle.shared(node.shared), pricer.oracle.layout(node.layout)
    if not pricer.target.has(Feature.CP_ASYNC) or pricer.forbidden("cp.async"):
        return None
    plan = async_copy(layout, kind.shape, len(kind.shape) - 1, shared, run * shared.element_bytes)
    if plan is None or plan.vector != run:
        return None
    machine, copies = pricer.machines[layout.n_warps], len(plan.copies)
    cost = machine.global_access(plan.source_thread, len(kind.shape) - 1, copies, shared.element_bytes)
    written = machine.shared_access(plan.wavefronts, copies)
    issued = machine.instructions("load_store", copies)
    cost += Cost(memory=written.memory - issued, parts=written.parts[:1])
    cost += machine.busy("int_add", copies)
    if pricer.owner[node.cls][0] not in pricer.ahead:
        cost += pricer.exposed(site.looped)
    return NodeCost(cost, buffer=shared.size_bytes)


def box_copy(pricer: Pricer, view: PartitionViewType, shared: SharedLayout) -> Cost | None:
    """A tensor copy (TMA), issued by one thread of a separate agent."""
    contiguous = contiguous_dim(view)
    legal = pricer.target.has(Feature.TMA) and not pricer.forbidden("tma")
    if not legal or contiguous is None or boxes(view.tile, contiguous, shared) is None:
        return None
    cycles = shared.size_bytes / pricer.target.throughput.global_bytes
    return Cost(memory=cycles, parts=(("global", cycles),))


MATRIX_READS = {
    LDMATRIX: (ldmatrix, Feature.LDMATRIX),
    BYTE_MATRICES: (byte_matrices, Feature.LDMATRIX_BYTES),
}
"""Reads of matrices: their plan, and what has them."""


@prices(placed.SharedRead)
def shared_read(pricer: Pricer, node: placed.SharedRead, site: NodeContext) -> NodeCost | None:
    """A fragment, by ldmatrix or plain loads."""
    name: str = pricer.interner.attributes[node.atom]
    machine = pricer.machines[site.warps]
    layout, shared = pricer.oracle.layout(node.layout), pricer.oracle.shared(pricer.owner[node.source][1])
    if name in MATRIX_READS:
        planned, feature = MATRIX_READS[name]
        plan = planned(layout, shared)
        if plan is None or not pricer.target.has(feature) or pricer.forbidden(name):
            return None
        return NodeCost(machine.shared_access(plan.wavefronts, len(plan.instructions)))
    plain = access_plan(layout, shared)
    cost = machine.shared_access(plain.wavefronts, len(plain.accesses))
    packing = layout.n_regs if plain.vector * shared.element_bytes < 4 else 0
    return NodeCost(cost + machine.busy("int_add", packing))


@prices(placed.Hold)
def hold(pricer: Pricer, node: placed.Hold, site: NodeContext) -> NodeCost | None:
    """Registers to a buffer that a product reads: one of two in a loop, except for tensor memory, where all threads
    wait.
    """
    shared, layout = pricer.oracle.shared(site.layout), pricer.oracle.layout(pricer.owner[node.source][1])
    atom: str = pricer.interner.attributes[node.atom]
    written = None if pricer.forbidden(atom) else pricer.written(layout, shared, atom)
    if written is None or not pricer.target.features & {Feature.WGMMA, Feature.TCGEN05}:
        return None
    waits = float(pricer.target.latency.shared + pricer.target.latency.barrier)
    waited = pricer.target.has(Feature.TCGEN05)
    size = (1 + (site.looped and not waited)) * shared.size_bytes
    return NodeCost(written + Cost(latency=waits), buffer=size, shares=waited)


@prices(placed.WriteShared)
def write(pricer: Pricer, node: placed.WriteShared, site: NodeContext) -> NodeCost | None:
    """The store that copies the buffer to global memory has the price of both: `staged_store`."""
    return None
