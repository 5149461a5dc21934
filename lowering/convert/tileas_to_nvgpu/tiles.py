"""Values of a thread: constants, coordinates, arithmetic, tiles under other shapes and layouts, products."""

from __future__ import annotations

from ir.core import Op
from ir.dialects import arith, gpu, llvm, math, nv_tileas
from ir.types import I32, TensorType
from lowering.atoms.mma import MMA_ATOMS
from lowering.atoms.wgmma import wgmma_named
from lowering.convert.tileas_to_nvgpu import agents, compute
from lowering.convert.tileas_to_nvgpu.compute import layout_of, tensor_of
from lowering.convert.tileas_to_nvgpu.context import Expander, SharedTile, lazy, lowers
from lowering.convert.tileas_to_nvgpu.literals import Literal, get_global
from lowering.convert.tileas_to_nvgpu.registers import Computed, Renamed
from lowering.layouts.conversions import plan as plan_conversion
from lowering.layouts.elements import moved_bits
from lowering.layouts.shapes import slice_for_broadcast
from lowering.layouts.shared import SharedLayout

ATOMS = {atom.name: atom for atom in MMA_ATOMS}


@lazy
@lowers(
    arith.IntBinary, arith.FloatBinary, arith.Cast, arith.WideMultiply, arith.CmpI, arith.CmpF, arith.Select,
    arith.RemF, arith.NegF, math.FloatUnary, math.IntUnary, math.Fma, math.Atan2, math.PowF, math.FPowI,
    llvm.PtrToInt, llvm.IntToPtr, llvm.Bitcast,
)  # fmt: skip
def elementwise(x: Expander, op: Op) -> None:
    """arith and math on scalars or placed tiles."""
    result = op.results[0]
    if not isinstance(result.type, TensorType):
        operands = x.scalars(op.operands)
        x.values[result] = x.emitter.emit(type(op), *operands, types=[result.type], **op.attributes)
        return
    operands = [x.tile(v) for v in op.operands]
    x.values[result] = compute.elementwise(x.emitter, op, operands, layout_of(result), result.type.element)


@lowers(arith.Constant)
def number(x: Expander, op: arith.Constant) -> None:
    """A scalar constant."""
    x.values[op.result] = x.emitter.constant(op.value, op.result.type)


@lowers(nv_tileas.Constant)
def constant(x: Expander, op: nv_tileas.Constant) -> None:
    """A tile literal: one constant if its elements are all equal, otherwise an array of the module."""
    kind, layout = tensor_of(op.result), layout_of(op.result)
    if not op.value.splat:
        x.values[op.result] = Literal(x.emitter, layout, kind.element, op.value, op.location)
        return
    item = op.value.item
    value = x.emitter.constant(item, kind.element)
    x.values[op.result] = Computed(x.emitter, layout, kind.element, lambda _: value)


@lowers(nv_tileas.GetGlobal)
def module_array(x: Expander, op: nv_tileas.GetGlobal) -> None:
    """The base of a module's array."""
    x.values[op.result] = get_global(x.emitter, op)


@lazy
@lowers(nv_tileas.Iota)
def iota(x: Expander, op: nv_tileas.Iota) -> None:
    """Element numbers."""
    kind = tensor_of(op.result)
    x.values[op.result] = compute.iota(x.emitter, layout_of(op.result), kind.element)


@lowers(nv_tileas.ProgramId)
def program_id(x: Expander, op: nv_tileas.ProgramId) -> None:
    """%ctaid."""
    x.values[op.result] = x.emitter.prelude.value(gpu.BlockId, types=[I32], dimension="xyz"[op.axis])


@lowers(nv_tileas.NumPrograms)
def num_programs(x: Expander, op: nv_tileas.NumPrograms) -> None:
    """%nctaid."""
    x.values[op.result] = x.emitter.prelude.value(gpu.GridDim, types=[I32], dimension="xyz"[op.axis])


@lazy
@lowers(nv_tileas.Broadcast)
def broadcast(x: Expander, op: nv_tileas.Broadcast) -> None:
    """Registers of the small tile under the numbers of the large one."""
    kind, source = tensor_of(op.result), x.tile(op.source)
    shape = op.source.type.shape if isinstance(op.source.type, TensorType) else ()
    plan = slice_for_broadcast(shape, kind.shape, layout_of(op.result))
    x.values[op.result] = Renamed(x.emitter, layout_of(op.result), kind.element, source, plan.reg_map)


@lazy
@lowers(nv_tileas.Reshape, nv_tileas.Permute)
def rename(x: Expander, op: nv_tileas.Reshape | nv_tileas.Permute) -> None:
    """Reshape and permute: the same registers."""
    result = op.results[0]
    if isinstance(result.type, TensorType) and isinstance(result.type.layout, SharedLayout):
        x.values[result] = SharedTile(x.held(op.operands[0], SharedTile).pointer, result.type.layout)
        return
    source = x.tile(op.operands[0])
    if not isinstance(result.type, TensorType):
        x.values[result] = source.scalar(0)
        return
    x.values[result] = Renamed(x.emitter, layout_of(result), result.type.element, source, range(source.count))


@lowers(nv_tileas.AddPtr)
def addptr(x: Expander, op: nv_tileas.AddPtr) -> None:
    """Pointer plus offset."""
    emitter, result = x.emitter, op.result
    if not isinstance(result.type, TensorType):
        x.values[result] = emitter.pointer(x.scalar(op.ptr), x.scalar(op.offset), op.element_bytes)
        return
    pointers, offsets = x.tile(op.ptr), x.tile(op.offset)
    x.values[result] = Computed(
        emitter,
        layout_of(result),
        result.type.element,
        lambda i: emitter.pointer(pointers.scalar(i), offsets.scalar(i), op.element_bytes),
    )


@lowers(nv_tileas.ConvertLayout)
def convert(x: Expander, op: nv_tileas.ConvertLayout) -> None:
    """The same tile under another layout."""
    source, layout = x.tile(op.source), layout_of(op.result)
    conversion = plan_conversion(source.layout, layout, moved_bits(source.element), x.target)
    x.values[op.result] = compute.convert(x.emitter, source, layout, conversion)


@lowers(nv_tileas.Dot, nv_tileas.ScaledDot)
def dot(x: Expander, op: nv_tileas.Dot) -> None:
    """A matrix product by its atom."""
    (*batch, m, k), n = tensor_of(op.a).shape, tensor_of(op.b).shape[-1]
    if (warpgroup := wgmma_named(op.atom)) is not None:
        left = x.values[op.a] if isinstance(x.values[op.a], SharedTile) else x.tile(op.a)
        right = x.held(op.b, SharedTile)
        x.values[op.result] = agents.product(x, op, warpgroup, left, right, x.tile(op.c), (m, n, k))
        return
    a, b, c, *scales = map(x.tile, op.operands)  # these of a scaled_dot
    shape = (batch[0] if batch else 1, m, n, k)
    atom, layout = ATOMS[op.atom], layout_of(op.result)
    if atom.threads == 1:
        x.values[op.result] = compute.scalar_product(x.emitter, atom, shape, a, b, c, layout)
    else:
        x.values[op.result] = compute.product(x.emitter, atom, shape, op.grid, a, b, c, layout, scales)
