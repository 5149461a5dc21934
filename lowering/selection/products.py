"""Work of the threads for a product computed elsewhere: sums added in registers, accumulators loaded and scaled."""

from __future__ import annotations

from collections.abc import Iterable

from egraph import placed
from ir.types import TileType
from lowering.atoms.mma import MmaAtom
from lowering.atoms.pairs import adds
from lowering.atoms.tcgen05 import LEFT, LEFT_BITS
from lowering.atoms.wgmma import WgmmaAtom
from lowering.cost import FREE, Cost, Machine
from lowering.layouts.elements import REGISTER_BITS
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tensor import over_accumulator, scale_memory, tile_columns
from lowering.selection.literals import zeros
from lowering.selection.pricer import Pricer
from lowering.targets import Target

SELDOM = 0.1
"""Fraction of steps in which some row of a warp rescales a sum whose running level lags. Computed with NumPy for 4,096
normal scores in steps of 64 and 128: 0.02 and 0.03 where they deviate by 1.4 to 3 (in powers of two), 0.22 and 0.27 by
6.
"""


def promoted(pricer: Pricer, node: placed.Product, k: int, c: Layout, machine: Machine) -> tuple[Cost, int]:
    """The cost of adding the sums of each part of k in registers, and the registers of these sums."""
    atom = pricer.oracle.choice(node.choice).atom
    if not isinstance(node, placed.WarpgroupProduct) or not isinstance(atom, WgmmaAtom):
        return FREE, 0
    every = atom.promotion(fast=node.fast == 1)
    if not every:
        return FREE, 0
    parts = -(-k // every)
    added = machine.busy("fma_f32", float(parts * c.n_regs))
    return added + Cost(latency=parts * float(pricer.target.latency.mma)), c.n_regs


def emulated(target: Target, atom: object, count: float, operands: Iterable[object], machine: Machine) -> Cost:
    """The extra cost of `count` f8 products a warp over the f16 products that ptxas makes of them: operands are
    widened, two elements an instruction, and the halves' sums added. FREE for any other.
    """
    if not isinstance(atom, MmaAtom) or not atom.in_halves(target):
        return FREE
    elements = sum(each.n_regs for each in operands if isinstance(each, Layout))
    return machine.busy("convert", elements / 2) + machine.busy("fma_f32", count * target.throughput.f8_adds)


def by_threads(pricer: Pricer, node: placed.Product, c: Layout, machine: Machine) -> Cost:
    """The cost of loading an accumulator from tensor memory, with adding it to another value, or scaling and storing it
    again; of writing a left factor there, and waiting for all writes; of copying scales there.
    """
    cost = FREE
    written = pricer.registers(*pricer.owner[node.a]) if isinstance(node, placed.InTensorMemory) else 0
    if written:
        latency = pricer.target.latency
        cost += machine.tensor_store(written) + Cost(latency=float(latency.shared + latency.barrier))
    if isinstance(node, placed.TensorReadProduct):
        added = 0 if zeros(pricer.frozen, pricer.interner, node.c) else c.n_regs
        cost += machine.tensor_load(c.n_regs, adds(pricer.target, pricer.forbid, added))
    if isinstance(node, placed.TensorBlockScaledProduct):
        passes = sum(each.size_bytes for each in scales(pricer, node)) / pricer.target.throughput.smem_bytes
        cost += Cost(memory=passes, parts=(("shared", passes),))
    if isinstance(node, placed.TensorScaledProduct):
        scaled = adds(pricer.target, pricer.forbid, c.n_regs)
        share = SELDOM if pricer.owner[node.factor][0] in pricer.seldom else 1.0
        cost += (machine.tensor_load(c.n_regs, scaled) + machine.tensor_store(c.n_regs)).times(share)
    return cost


def scales(pricer: Pricer, node: placed.TensorBlockScaledProduct) -> list[SharedLayout]:
    """The shared layouts of the scales of both factors."""
    return [pricer.oracle.shared(pricer.owner[each][1]) for each in (node.a_scales, node.b_scales)]


def of_pair_otherwise(shared: SharedLayout, node: placed.Copy, loop: int) -> bool:
    """Is a tile that a pair of CTAs holds in halves loaded by anything but tensor copies in a loop? The pair's products
    wait for the bytes of those.
    """
    return shared.ctas > 1 and (node.mechanism != placed.Mechanism.TMA or loop < 0)


def outdone(pricer: Pricer, node: placed.Product, a: Layout | SharedLayout, c: Layout, loop: int) -> bool:
    """Is a left factor in the wrong memory: in shared memory although tensor memory is cheaper and needs no extra
    columns, which prunes the search; or written to tensor memory in each iteration of a `loop` in which it is
    invariant?
    """
    (value, _), kind = pricer.owner[node.a], pricer.value_type(pricer.owner[node.a][0])
    if not isinstance(node, placed.InTensorMemory) or not isinstance(kind, TileType):
        return False
    changed = loop < 0 or bool(pricer.frozen.analysis.get("deps", {}).get(value, 0) >> loop & 1)
    if isinstance(a, Layout):
        return not changed
    over = pricer.owner[node.cls][0] in pricer.over_scores and over_accumulator(c, kind.shape[0])
    return changed and over and pricer.bits(value) == LEFT_BITS and not pricer.forbidden(LEFT)


def columns(pricer: Pricer, node: placed.Product, c: Layout) -> int:
    """Columns of tensor memory of a product: its accumulator, a left factor that overlays no accumulator, scales."""
    if not isinstance(node, placed.InTensorMemory):
        return 0
    value, layout = pricer.owner[node.a]
    a, kind = pricer.oracle.layouts[layout], pricer.value_type(value)
    found = tile_columns(1 << c.bits, REGISTER_BITS)
    if isinstance(a, Layout) and isinstance(kind, TileType):
        over = pricer.owner[node.cls][0] in pricer.over_scores and over_accumulator(a, kind.shape[0])
        found += 0 if over else tile_columns(1 << a.bits, pricer.bits(value))
    if isinstance(node, placed.TensorBlockScaledProduct):
        found += scale_memory(sum(each.size_bytes for each in scales(pricer, node)))
    return found
