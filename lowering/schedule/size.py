"""Estimates the SASS instructions of a warp for the operations of a scheduled kernel.

Arithmetic is counted by the tables that price it (`lowering.cost`), everything else by the numbers here. Compared with
the SASS of 12 attention kernels (tiles of 128 queries; sm_80, sm_90a, sm_120a; ptxas 13.5) loops are estimated 2 to 12
% too long, once 29 %, and kernels between 11 % too short and 11 % too long.
"""

from __future__ import annotations

from functools import cache
from math import prod

from ir.core import OPS, Op, Value
from ir.dialects import arith, nv_tileas, scf
from ir.dialects.cuda_tile.constraints import TileOp
from ir.types import IntType, TensorType
from lowering.atoms.mma import MMA_ATOMS, MmaAtom
from lowering.atoms.tcgen05 import tensor_named
from lowering.atoms.wgmma import wgmma_named
from lowering.cost import TENSOR_LOAD, Cost, Machine, priced
from lowering.counts import ISSUE, Form
from lowering.layouts.elements import element_bytes, tile_registers
from lowering.layouts.layout import Layout
from lowering.schedule.masks import is_mask
from lowering.targets import Target
from lowering.targets.target import WARP

KERNEL = 80.0  # parameters, thread numbers, barriers, the end
ACCESS = 6.0  # instructions around a vector of a global access: address, bounds, predicate
BOUNDS = 1.5  # of these, where a tile may end outside: 13 for 8 copies of attention's loop on sm_80, ptxas 13.5
RAGGED = 6.0  # more where it may copy a prefix: 103 for 16 copies of a GEMM's loop on sm_80, ptxas 13.5
AGENTS = 80.0  # barriers of rings, register reallocation, assignment of warps
WAITS: dict[type[Op], float] = {  # with the retry
    nv_tileas.AsyncWait: 2.0, nv_tileas.Barrier: 2.0, nv_tileas.TensorMeet: 1.0,
    nv_tileas.BarrierWait: 6.0, nv_tileas.BarrierArrive: 4.0,
    nv_tileas.DotWait: 1.0, nv_tileas.TensorCommit: 2.0, nv_tileas.AgentSwitch: AGENTS,
}  # fmt: skip
STAGE = 4.0  # the address of a stage
BOX = 6.0  # a tensor copy: coordinates, barrier, the copy
DESCRIPTOR = 2.0  # halves of a matrix descriptor beside each warpgroup product
VECTOR = 16  # bytes of the widest access
FREE = (
    nv_tileas.Broadcast, nv_tileas.Reshape, nv_tileas.Permute, nv_tileas.Constant, nv_tileas.MakeMemref,
    nv_tileas.Partition, arith.Constant,
)  # fmt: skip


def size(op: Op, target: Target) -> float:
    """Instructions of an operation and all that is in it."""
    inside = 0.0 if isinstance(op, nv_tileas.Combining) else sum(size(o, target) for o in below(op))
    return inside + own(op, target)


def below(op: Op) -> list[Op]:
    """The operations right inside one."""
    return [each for region in op.regions for block in region.blocks for each in block.ops]


def kernel(func: nv_tileas.Func, target: Target) -> float:
    """Instructions of a kernel."""
    return KERNEL + size(func, target)


def own(op: Op, target: Target) -> float:
    """Instructions of an operation without what is in it."""
    match op:
        case nv_tileas.Dot() | nv_tileas.TensorDot():
            return product(op)
        case nv_tileas.TensorLoad():
            added = 0 if op.base is None else registers(op.result)
            return WAITS[nv_tileas.BarrierWait] + registers(op.result) / TENSOR_LOAD + added
        case nv_tileas.Reduce():
            return sum(map(fold, op.sources, op.results))
        case nv_tileas.ConvertLayout():
            moved = registers(op.result)
            return 0.0 if op.source.type == op.result.type else 2.0 * moved
        case nv_tileas.SharedLoad():
            return 1.0 + registers(op.result) / 4
        case nv_tileas.TiledTmaLoad() | nv_tileas.TiledTmaStore():
            out = registers(op.value) / 2 if isinstance(op, nv_tileas.TiledTmaStore) else 0.0
            return STAGE + BOX * len(op.boxes) + out
        case nv_tileas.TiledLoad() | nv_tileas.Gather():
            return ACCESS * vectors(op.results[0])
        case nv_tileas.TiledStore() | nv_tileas.Scatter():
            return ACCESS * vectors(op.value)
        case nv_tileas.AsyncTiledCopy() | nv_tileas.AsyncGatherCopy():
            return copies(op)
        case nv_tileas.WriteBuffer():
            return STAGE + vectors(op.source)
        case nv_tileas.BufferView():
            return STAGE
        case scf.For():
            return 2.0 * sum(registers(v) for v in op.init if not isinstance(v.type, TensorType)) + 4.0
        case _:
            return WAITS[type(op)] if type(op) in WAITS else arithmetic(op, target)


def arithmetic(op: Op, target: Target) -> float:
    """Instructions of an elementwise operation; literals and renamings take none."""
    if isinstance(op, FREE) or len(op.results) != 1:
        return 0.0
    if isinstance(op, arith.AndI | arith.OrI) and is_mask(op.result):
        return 0.0  # ISETP joins its outcome with another one
    cost = arithmetic_cost(op, target, 1)
    if cost is None:
        return float(count_of(op.results[0]))
    results = {ISSUE: 1, "fma_f16": 2 * WARP}  # that an instruction makes: only a slot, or two in every lane
    return sum(
        cycles * float(getattr(target.throughput, pipe)) / results.get(pipe, WARP) for pipe, cycles in cost.parts
    )


def arithmetic_cost(op: Op, target: Target, warps: int) -> Cost | None:
    """What the tables say of an elementwise operation in every warp; None where they say nothing."""
    mnemonic = mnemonics().get(op.name, "")
    if not mnemonic or len(op.results) != 1:
        return None
    types = [v.type.element if isinstance(v.type, TensorType) else v.type for v in (*op.operands[:1], op.results[0])]
    flags = ("ftz",) if op.attributes.get("ftz") else ()
    form = Form(mnemonic, flags, tuple(dict.fromkeys(map(str, types))))
    return Machine(target, warps).elementwise(form, count_of(op.results[0]))


def count_of(value: Value) -> int:
    """Elements of a value that a thread holds."""
    layout = layout_of(value)
    return layout.n_regs if layout is not None else int(not isinstance(value.type, TensorType))


@cache
def mnemonics() -> dict[str, str]:
    """The operation of Tile IR that each one of arith and math comes from."""
    found: dict[str, str] = {}
    for cls in OPS.values():
        for name in (cls.lowers_to, cls.lowers_to_unsigned) if issubclass(cls, TileOp) else ():
            found.setdefault(name, cls.info.name.partition(".")[2])
    known = priced()
    found |= {"arith.extf": "ftof", "arith.truncf": "ftof", "arith.cmpi": "cmpi"}
    return {name: mnemonic for name, mnemonic in found.items() if name and mnemonic in known}


def product(op: nv_tileas.Dot | nv_tileas.TensorDot) -> float:
    """Matrix instructions of a warp, with the descriptors that they read."""
    if isinstance(op, nv_tileas.TensorDot):
        tensor = tensor_named(op.atom)
        return 0.0 if tensor is None else work(op) / prod(tensor.shape) * (1 + DESCRIPTOR) + 2
    ways, warpgroup, atom = prod(op.grid), wgmma_named(op.atom), warp_atom(op)
    if warpgroup is not None:
        return work(op) / prod(warpgroup.shape) / ways * (1 + DESCRIPTOR) + 2
    return work(op) / prod((1, 1, WARP) if atom is None else atom.shape) / ways


def warp_atom(op: nv_tileas.Dot) -> MmaAtom | None:
    """The instruction of a warp's tensor core that a product takes."""
    return next((atom for atom in MMA_ATOMS if atom.name == op.atom and atom.threads > 1), None)


def work(op: nv_tileas.Dot | nv_tileas.TensorDot) -> int:
    """Multiplications of a product."""
    *batch, m, k = op.a.type.shape if isinstance(op.a.type, TensorType | nv_tileas.TensorMemoryType) else (1, 1)
    return prod(batch) * m * k * (op.b.type.shape[-1] if isinstance(op.b.type, TensorType) else 1)


def fold(source: Value, result: Value) -> float:
    """Instructions of a reduction: registers, then the lanes that hold parts of one result, two a step."""
    before, after = layout_of(source), layout_of(result)
    if before is None:
        return 1.0
    kept = after.n_regs if after is not None else 1
    lanes = sum(map(bool, before.lane)) - (sum(map(bool, after.lane)) if after is not None else 0)
    return before.n_regs - kept + 2 * kept * max(0, lanes)


def layout_of(value: Value) -> Layout | None:
    """How threads hold a tile."""
    layout = value.type.layout if isinstance(value.type, TensorType) else None
    return layout if isinstance(layout, Layout) else None


def registers(value: Value) -> int:
    """Registers of a thread that hold a value."""
    layout = layout_of(value)
    if layout is None or not isinstance(value.type, TensorType):
        return 2 if isinstance(value.type, IntType) and value.type.width > 32 else 1
    return tile_registers(layout.n_regs, value.type.element)


def vectors(value: Value) -> float:
    """Accesses of a thread to a tile, as wide as they can be."""
    layout = layout_of(value)
    if layout is None or not isinstance(value.type, TensorType):
        return 1.0
    return max(1.0, layout.n_regs * element_bytes(value.type.element) / VECTOR)


def copies(op: nv_tileas.AsyncTiledCopy | nv_tileas.AsyncGatherCopy) -> float:
    """Instructions of asynchronous copies: those of a thread, each with its address."""
    if isinstance(op, nv_tileas.AsyncGatherCopy):
        layout = layout_of(op.ptr)
        return ACCESS * (layout.n_regs / op.width if layout is not None else 1)
    layout = op.threads if isinstance(op.threads, Layout) else None
    kind = op.buffer.type
    element = element_bytes(kind.element) if isinstance(kind, nv_tileas.BufferType) else 1
    each = ACCESS + (RAGGED if op.ragged and op.asynchronous else 0.0) - (BOUNDS if op.inside else 0.0)
    return each * (layout.n_regs * element / op.bytes if layout is not None else 1)
