"""What the threads do for a product that is made elsewhere: sums added in registers, accumulators loaded and scaled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from egraph import placed
from lowering.atoms.mma import MmaAtom
from lowering.atoms.pairs import adds
from lowering.atoms.wgmma import WgmmaAtom
from lowering.cost import FREE, Cost, Machine
from lowering.layouts.layout import Layout
from lowering.selection.literals import zeros
from lowering.targets import Target

if TYPE_CHECKING:
    from lowering.selection.pricing import Pricer


def promoted(pricer: Pricer, node: placed.Product, k: int, c: Layout, machine: Machine) -> tuple[Cost, int]:
    """What adding the sums of each part of k in registers costs, and the registers of these sums."""
    atom = pricer.oracle.choice(node.choice).atom
    if not isinstance(node, placed.WarpgroupProduct) or not isinstance(atom, WgmmaAtom):
        return FREE, 0
    every = atom.promotion(fast=node.fast == 1)
    if not every:
        return FREE, 0
    parts = -(-k // every)
    added = machine.busy("fma_f32", float(parts * c.n_regs))
    return added + Cost(latency=parts * float(pricer.target.latency.mma)), c.n_regs


def emulated(target: Target, atom: MmaAtom, count: float, operands: Iterable[object], machine: Machine) -> Cost:
    """What `count` products a warp of f8 cost beside those of f16 that ptxas makes of them: operands are widened, two
    elements an instruction, and the halves' sums added. FREE for any other.
    """
    if not atom.in_halves(target):
        return FREE
    elements = sum(each.n_regs for each in operands if isinstance(each, Layout))
    return machine.busy("convert", elements / 2) + machine.busy("fma_f32", count * target.throughput.f8_adds)


def by_threads(pricer: Pricer, node: placed.Product, c: Layout, machine: Machine) -> Cost:
    """What loading an accumulator from tensor memory costs, with what it is added to, or scaled by and stored again."""
    if isinstance(node, placed.TensorReadProduct):
        added = 0 if zeros(pricer.frozen, pricer.interner, node.c) else c.n_regs
        return machine.tensor_load(c.n_regs, adds(pricer.target, pricer.forbid, added))
    if isinstance(node, placed.TensorScaledProduct):
        scaled = adds(pricer.target, pricer.forbid, c.n_regs)
        return machine.tensor_load(c.n_regs, scaled) + machine.tensor_store(c.n_regs)
    return FREE
