"""Prices of matrix products, and their registers in addition to carried values."""

from __future__ import annotations

from math import prod
from typing import cast

from egraph import leaves, placed
from ir.types import FloatType, TileType
from lowering.atoms.mma import MmaAtom
from lowering.atoms.wgmma import IMM_SCALE
from lowering.cost import Cost
from lowering.layouts.layout import Layout
from lowering.selection.choices import Held
from lowering.selection.pricer import NodeContext, NodeCost, Pricer, prices
from lowering.selection.products import by_threads, columns, emulated, outdone, promoted
from lowering.targets import Feature
from lowering.targets.target import WARP


@prices(placed.Product)
def product(pricer: Pricer, node: placed.Product, site: NodeContext) -> NodeCost | None:
    """Tensor cores at the atom's rate; scalar multiply-adds only where no tensor core computes the product."""
    choice = pricer.oracle.choice(node.choice)
    scalar = choice.atom.threads == 1 and pricer.owner[node.cls][0] in pricer.tensor_products
    a, b = (pricer.oracle.layouts[pricer.owner[c][1]] for c in (node.a, node.b))
    c, machine, atom = pricer.oracle.layout(site.layout), pricer.machines[site.warps], choice.atom
    unwanted = scalar or not pricer.allowed(choice) or pricer.agent_forbidden(node)
    if unwanted or outdone(pricer, node, a, c, site.loop) or (placed.negated(node) and pricer.forbidden(IMM_SCALE)):
        return None
    work = 2.0 ** ((a.bits + b.bits + c.bits) / 2)  # multiply-adds of the tile: sqrt(mk * kn * mn)
    (m, n, k), (registers, held) = atom.shape, live(pricer, node, site)
    if isinstance(a, Layout) and isinstance(b, Layout) and isinstance(atom, MmaAtom) and atom.threads == 1:
        kind = cast(TileType, pricer.value_type(pricer.owner[node.a][0])).element
        if isinstance(kind, FloatType) and kind.width < 16 and not pricer.target.has(Feature.CVT_FP8):
            return None
        operands = a.n_regs + b.n_regs
        fma, convert = work / atom.scalar_rate(pricer.target), machine.busy("convert", operands)
        cost = Cost(alu=fma, parts=(("fma_f32", fma),)) + convert
        return NodeCost(cost, registers=registers, held=held)
    copies = site.warps / prod(choice.grid) if isinstance(atom, MmaAtom) else 1  # by warps, if the tile is small
    count = work / (m * n * k) * copies
    cost = emulated(pricer.target, atom, count / site.warps, (a, b), machine)
    issued = count * atom.threads / WARP / pricer.target.throughput.issue
    cost += Cost(tensor=count * atom.cycles(pricer.target), alu=issued, parts=(("issue", issued),))
    sums, more = promoted(pricer, node, int(work / (1 << c.bits)), c, machine)
    cost += by_threads(pricer, node, c, machine)
    return NodeCost(cost + sums, registers=registers + more, held=held, columns=columns(pricer, node, c))


def live(pricer: Pricer, node: placed.Product, site: NodeContext) -> tuple[int, tuple[Held, ...]]:
    """Registers of a product in addition to carried values, and the operands that stay in registers throughout its
    loop.

    The result takes the place of the carried value if it is carried. An operand read from shared memory is live only
    for a step of k; a computed one is live as a whole, and so is a register operand of a warpgroup product, which must
    be complete before it starts.
    """
    first, second, accumulator = (pricer.owner[c] for c in (node.a, node.b, node.c))
    fragments, held = 0, list[Held]()
    for child, (value, layout) in ((node.a, first), (node.b, second)):
        registers, pieces = pricer.registers(value, layout), pricer.pieces(node, site.layout, child)
        if registers and site.loop >= 0 and not pricer.frozen.analysis.get("deps", {}).get(value, 0) >> site.loop & 1:
            held.append(Held(child, registers, pieces))
        else:
            fragments += pieces if pricer.streams(child) or isinstance(node, placed.InTensorMemory) else registers
    if isinstance(node, placed.ScaledMmaF):
        fragments += sum(pricer.registers(*pricer.owner[child]) for child in (node.a_scales, node.b_scales))
    carried = pricer.owner[node.cls][0] in pricer.yields or any(
        isinstance(each, leaves.Carry) for each in pricer.frozen.by_class.get(accumulator[0], ())
    )
    return fragments + (0 if carried else pricer.registers(accumulator[0], site.layout)), tuple(held)
