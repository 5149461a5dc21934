"""Prices of values in registers: arithmetic, conversions, reductions, prefixes, parts of tiles."""

from __future__ import annotations

from egraph import leaves, placed
from egraph.forms import PlacedForm
from egraph.term import Node, Term
from ir.checked import checked
from ir.core import Operand as One
from ir.core import Variadic
from ir.dialects.cuda_tile import DenseElements, Exp2
from ir.types import F32, I32, TileType
from lowering.atoms.bytes import as_mantissas, bytes_atom
from lowering.atoms.folds import thread_share
from lowering.atoms.lanes import REDUX
from lowering.atoms.pairs import F32X2, pairs_atom
from lowering.atoms.powers import CLAMPS, OF, POLYNOMIALS, SHIFTS, WHOLE, legal
from lowering.cost import FREE, Cost
from lowering.counts import Form
from lowering.layouts.access import MAX_BYTES, global_access
from lowering.layouts.conversions import estimate
from lowering.layouts.elements import element_bytes, moved_bits
from lowering.layouts.layout import Layout
from lowering.layouts.prefixes import Part, prefix_dim
from lowering.layouts.shared import areas
from lowering.selection.pricer import NodeContext, NodeCost, Pricer, prices


@prices(Node)
def unknown(pricer: Pricer, node: Node, site: NodeContext) -> NodeCost | None:
    """A term declared only by a user's rule file. Raises TileError."""
    return NodeCost(pricer.machines[site.warps].elementwise(Form(node.op, (), (str(I32),)), 1))


@prices(
    placed.Identity, placed.Assume, placed.Instead, placed.Reshape, placed.Broadcast, placed.Permute,
    placed.PermuteShared, placed.ReshapeShared, placed.TileList, placed.PlacedSplat, leaves.Projection,
    leaves.Missing, leaves.Nil, leaves.Cons, leaves.Argument, leaves.LoopLeaf, leaves.ItemResult, leaves.Promised,
)  # fmt: skip
def free(pricer: Pricer, node: Term, site: NodeContext) -> NodeCost | None:
    """Free: renamed registers, and existing values."""
    return NodeCost(FREE)


@prices(PlacedForm)
def arithmetic(pricer: Pricer, node: PlacedForm, site: NodeContext) -> NodeCost | None:
    """By the cost tables."""
    if any(pricer.stays(child) for child in node.children):
        return None
    form = pricer.form(node)
    tile = pricer.oracle.layouts[site.layout]
    registers = tile.n_regs if isinstance(tile, Layout) else 1  # shared operands are renamed, not computed
    if bytes_atom(pricer.target, pricer.forbid, form, tile):
        return NodeCost(pricer.machines[site.warps].counted(as_mantissas(form), registers))
    if form.types[-1] == str(F32) and pairs_atom(pricer.target, pricer.forbid, node.title(), F32, registers):
        form = form._replace(modifiers=(*form.modifiers, F32X2))
    return NodeCost(pricer.machines[site.warps].elementwise(form, registers))


def partly(pricer: Pricer, node: PlacedForm, site: NodeContext) -> bool:
    """Is this a tile of powers of two of which a part may be computed by polynomials (lowering/atoms/powers.py)?"""
    if node.operation is not Exp2 or not legal(pricer.target, pricer.forbid):
        return False
    form, tile = pricer.form(node), pricer.oracle.layouts[site.layout]
    flushed = "ftz" in form.modifiers and form.types == (str(F32),)
    return flushed and isinstance(tile, Layout) and tile.n_regs >= WHOLE


def in_parts(pricer: Pricer, whole: Cost, site: NodeContext, pairs: int, degree: int) -> Cost:
    """The cost of such a tile with so many of `OF` pairs by polynomials, given that by ex2 alone."""
    machine, registers = pricer.machines[site.warps], pricer.oracle.layout(site.layout).n_regs
    f32 = (str(F32),)
    found = whole.times(1 - pairs / OF)
    for form, each in (
        (Form("fma", (F32X2,), f32), POLYNOMIALS[degree].paired),
        (Form("maxf", (), f32), CLAMPS),
        (Form("shli", (), (str(I32),)), SHIFTS),
    ):
        found += machine.elementwise(form, registers).times(each * pairs / OF)
    return found


@prices(placed.Convert)
def convert(pricer: Pricer, node: placed.Convert, site: NodeContext) -> NodeCost | None:
    """Scratch is the memory of a round trip through shared memory."""
    if node.layout in pricer.oracle.kept or pricer.stays(node.source):
        return None
    key = (node.type, node.source_layout, node.layout)
    if key not in pricer.conversions:
        here, there = pricer.oracle.layout(node.source_layout), pricer.oracle.layout(node.layout)
        kind = pricer.oracle.tile(node.type)
        bits = moved_bits(kind.element)
        cost = estimate(here, there, bits, pricer.target)
        scratch = kind.size * bits // 8 if cost else 0
        parts = (("shared", cost),) if cost else ()
        fits = scratch <= pricer.target.smem_bytes
        pricer.conversions[key] = NodeCost(Cost(latency=cost, parts=parts), scratch=scratch) if fits else None
    return pricer.conversions[key]


@prices(placed.PlacedReduce, placed.PlacedFold)
def reduce(pricer: Pricer, node: placed.PlacedReduce | placed.PlacedFold, site: NodeContext) -> NodeCost | None:
    """Registers, then lanes by shuffles or redux, then warps through scratch."""
    kinds, each = pricer.operands(node), pricer.combining(node)
    layout = pricer.oracle.layout(node.source_layout)
    folding = pricer.folds.of(node, kinds[0].shape)
    plan, machine = folding.plan, pricer.machines[site.warps]
    results = len(plan.groups)
    registers = layout.n_regs * thread_share(pricer.target, folding.thread)
    redux = results * len(kinds) if folding.lanes == REDUX else 0
    steps = 0 if redux else len(plan.lane_bits) * results
    cost = machine.busy("fma_f32", each * (registers + steps))
    cost += machine.busy("shuffle", len(kinds) * steps) + machine.busy("redux", redux)
    latency = (1 if redux else len(plan.lane_bits)) * pricer.target.latency.exchange
    scratch = 0
    if plan.warp_bits:
        latency += 2 * float(pricer.target.latency.barrier + pricer.target.latency.shared)
        cost += machine.busy("fma_f32", each * (results << len(plan.warp_bits)))
        scratch = areas(plan.parts, [element_bytes(kind.element) for kind in kinds])[-1]
    return NodeCost(cost + Cost(latency=latency), scratch=scratch)


@prices(placed.PlacedKeeping)
def prefixes(pricer: Pricer, node: placed.PlacedKeeping, site: NodeContext) -> NodeCost | None:
    """A step for each bit of the coordinate: values and totals combined, totals exchanged."""
    layout = pricer.oracle.layout(node.layout)
    kinds, each = pricer.operands(node), pricer.combining(node)
    plan = prefix_dim(kinds[0].shape, node.dim, layout)
    if plan is None:
        return None
    machine, totals = pricer.machines[site.warps], layout.n_regs
    cost, latency = FREE, 0.0
    for step in plan.steps:
        if step.part is Part.REGISTER:
            totals //= 2
        elif step.part is Part.LANE:
            cost += machine.busy("shuffle", len(kinds) * totals)
            latency += pricer.target.latency.exchange
        else:
            latency += 2 * float(pricer.target.latency.barrier + pricer.target.latency.shared)
        chosen = 0 if step.part is Part.REGISTER else len(kinds)
        cost += machine.busy("fma_f32", (each + chosen) * layout.n_regs + (each + 2 * chosen) * totals)
    return NodeCost(cost + Cost(latency=latency), scratch=plan.scratch_bytes(element_bytes(k.element) for k in kinds))


@prices(placed.Constant)
def constant(pricer: Pricer, node: placed.Constant, site: NodeContext) -> NodeCost | None:
    """Free if all elements are equal, otherwise a load of an array of the module."""
    literal: DenseElements = pricer.interner.attributes[node.value]
    layout = pricer.oracle.layouts[site.layout]
    if literal.splat or not isinstance(layout, Layout):
        return NodeCost(FREE)
    size = element_bytes(pricer.oracle.tile(node.type).element)
    plan = global_access(layout, (1 << layout.bits,), 0, max(1, MAX_BYTES // size))
    return NodeCost(pricer.machines[site.warps].global_access(plan.thread, 0, len(plan.accesses), size))


@prices(placed.Moved)
def moved(pricer: Pricer, node: placed.Moved, site: NodeContext) -> NodeCost | None:
    """Free, unless an index is not known: then a select for every register of the largest tile."""
    operands = dict(zip(node.means.info.operands, node.children, strict=True))
    indices = [cls for group, cls in operands.items() if isinstance(group, Variadic)]
    if all(pricer.known_list(pricer.owner[cls][0]) for cls in indices):
        return NodeCost(FREE)
    tiles = [pricer.oracle.layout(pricer.owner[cls][1]) for group, cls in operands.items() if isinstance(group, One)]
    return NodeCost(pricer.machines[site.warps].busy("int_add", max(tile.n_regs for tile in tiles)))


@prices(placed.ExtractShared)
def extract_shared(pricer: Pricer, node: placed.ExtractShared, site: NodeContext) -> NodeCost | None:
    """A round trip of the whole through scratch memory."""
    value, source = pricer.owner[node.source]
    kind, layout = checked(pricer.value_type(value), TileType), pricer.oracle.layout(source)
    size = element_bytes(kind.element)
    machine, latency = pricer.machines[site.warps], pricer.target.latency
    words = max(1, layout.n_regs * size // 4) + max(1, pricer.oracle.layout(site.layout).n_regs * size // 4)
    cost = machine.shared_access(words, words) + Cost(latency=float(2 * latency.barrier + 2 * latency.shared))
    return NodeCost(cost, scratch=kind.size * size)


@prices(placed.Iota)
def iota(pricer: Pricer, node: placed.Iota, site: NodeContext) -> NodeCost | None:
    """One integer instruction an element."""
    registers = pricer.oracle.layout(site.layout).n_regs
    return NodeCost(pricer.machines[site.warps].busy("int_add", registers))
