"""Products of a warpgroup: groups of registers, matrix descriptors."""

from __future__ import annotations

from typing import NamedTuple, cast

from ir.core import Value
from ir.descriptors import BARRIER_BYTES
from ir.dialects import llvm, nvgpu, nvvm
from ir.tensor_descriptors import operand_bits
from ir.types import I32, I64, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.addresses import element_pointer
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter

ADDRESS_BITS = 18  # of a shared address that a matrix descriptor holds; PTX ISA, wgmma, matrix-descriptor-encode
HOISTED = 16  # descriptors, of two registers each, held through a loop; ptxas 13.5: a product of 512 x 16 x 512
# spills 436 bytes with all 32 (sm_90a), attention's loop grows by 2 % with none of 8
UNIT_BITS = 4  # descriptors count in 16 bytes; same source
LOW_WORD = (1 << 32) - 1


@lowers(nvgpu.WarpgroupWait)
def warpgroup_wait(c: Conversion, op: nvgpu.WarpgroupWait) -> None:
    """nvgpu.warpgroup.wait; values passing through are renamed but keep their registers. Some waits are at the end of a
    loop.
    """
    held = [c.registers(v) for v in op.values]
    if op in c.e.landed:
        _spread(c, op.results, held, [r for registers in held for r in registers])
        return
    flat = [r for registers in held for r in registers]
    made = c.e.effect(nvvm.WgmmaWaitGroup, flat, [r.type for r in flat], group=op.pending)
    _spread(c, op.results, held, made.results)


def _spread(c: Conversion, results: list[Value], held: list[list[Value]], flat: list[Value]) -> None:
    at = 0
    for result, registers in zip(results, held, strict=True):
        c.define(result, flat[at : at + len(registers)])
        at += len(registers)


@lowers(nvgpu.WarpgroupMma)
def warpgroup_mma(c: Conversion, op: nvgpu.WarpgroupMma) -> None:
    """nvgpu.warpgroup.mma; accumulators that are not read, or known to be zero, are not operands."""
    e, a = c.e, c.registers(op.a)
    held = [c.registers(v) for v in op.accumulators]
    accumulators = [r for registers in held for r in registers]
    scale = None if op.scale_d is None else c.register(op.scale_d)
    known = 1 if scale is None else e.integer(scale)
    guard = [] if scale is None or known is not None else [scale]
    empty = known == 0 or all(e.known.get(r) == 0.0 for r in accumulators)
    guard, tied = ([], []) if empty else (guard, accumulators)
    made = e.effect(
        nvvm.WgmmaMmaAsync,
        [*a, c.register(op.b), *guard, *tied],
        [r.type for r in accumulators],
        (len(a), 1, len(guard), len(tied)),
        shape=op.shape,
        typeA=op.type_a,
        typeB=op.type_b,
        typeD=nvgpu.ACCUMULATORS[op.accumulators[0].type],
        scaleA=-1 if op.negated else 1,
        layoutA="col" if op.trans_a else "row",
        layoutB="row" if op.trans_b else "col",
    )
    _spread(c, op.results, held, made.results)


@lowers(nvgpu.StMatrix)
def stmatrix(c: Conversion, op: nvgpu.StMatrix) -> None:
    """nvgpu.stmatrix."""
    layout = "col" if op.transpose else "row"
    c.e.effect(nvvm.StMatrix, [c.register(op.ptr), *c.registers(op.value)], [], layout=layout)


# Matrix descriptors


@lowers(nvgpu.MatrixDescriptor)
def matrix_descriptor(c: Conversion, op: nvgpu.MatrixDescriptor) -> None:
    """nvgpu.matrix_descriptor: the low word varies with the address, the high word is constant."""
    bits = (operand_bits if op.tensor else nvgpu.descriptor_bits)(op.lbo, op.sbo, op.swizzle)
    words = Words(*_low_word(c.e, c.register(op.pointer), bits & LOW_WORD), bits >> 32)
    c.define(op.result, [descriptor(c.e, words)])


class Words(NamedTuple):
    """The low word of a descriptor as the sum of a base, a stage's term and a constant; the high word."""

    base: Value
    stage: Value | None
    offset: int
    high: int


def descriptor(e: Emitter, words: Words) -> Value:
    """Both words together. Those that differ by a constant are sums with the first of them, in 64 bits: that is one
    instruction for a pair of uniform registers (UIADD3.64), while two words take one each. The address field cannot
    carry, since shared memory ends below 2^18 bytes. A tile that stays in shared memory throughout a loop has one for
    each step of k: the first `HOISTED` are hoisted above the loop, the others are computed once a block where a product
    uses them.
    """
    base, stage, offset, high = words
    depth = e.landing(base) if stage is None else e.landing(base, stage)
    held = e.scopes[depth].descriptors
    start = held.setdefault((base, stage, high), [offset])[0]
    low = ints.add(e, base, e.i32(start))
    one = e.value(nvvm.Pack, I64, low if stage is None else ints.add(e, low, stage), e.i32(high))
    apart = e.constant(I64, offset - start)
    made = held[base, stage, high]
    if offset not in made and (depth == e.depth or sum(map(len, held.values())) < HOISTED):
        made.append(offset)
    if offset in made:
        return ints.add(e, one, apart)
    scope = e.scopes[-1]
    key = ("descriptor", scope.block, words)
    found = scope.table.get(key)
    if found is None:
        found = scope.table[key] = e.effect(llvm.Add, [one, apart], [I64])
    return found.results[0]


def _low_word(e: Emitter, pointer: Value, field: int) -> tuple[Value, Value | None, int]:
    """(address >> 4) + field in three parts: an aligned base, terms above it, and constants, which include the field:
    the address ends below the field, so descriptors with other fields differ by a constant too.
    """
    offset, terms = 0, list[Value]()
    root = pointer
    while isinstance(root.owner, llvm.GetElementPtr) and root.type == SHARED_PTR:
        gep = root.owner
        if gep.offset % (1 << UNIT_BITS):
            break
        offset += gep.offset
        if gep.index is not None:
            terms.append(ints.mul(e, gep.index, e.i32(gep.element_bytes)))
        root = gep.base
    if terms and not isinstance(root.owner, llvm.AddressOf):
        root, terms = _behind_constants(pointer), []
    base = e.value(llvm.PtrToInt, I32, root)
    low = ints.shift_right(e, llvm.LShr, ints.bit_and(e, base, e.i32((1 << ADDRESS_BITS) - 1)), e.i32(UNIT_BITS))
    offset = (offset >> UNIT_BITS) + field
    if not terms:
        return low, None, offset
    total = terms[0]
    for term in terms[1:]:
        total = ints.add(e, total, term)
    stage = _units(e, total) or ints.shift_right(e, llvm.AShr, total, e.i32(UNIT_BITS))
    return low, stage, offset


def _behind_constants(pointer: Value) -> Value:
    """The pointer without the constant displacements on its outside."""
    while isinstance(pointer.owner, llvm.GetElementPtr) and pointer.owner.index is None:
        if pointer.owner.offset % (1 << UNIT_BITS):
            break
        pointer = pointer.owner.base
    return pointer


def _units(e: Emitter, term: Value) -> Value | None:
    """term / 16 if every part of it is a multiple of 16 by a constant factor, None if that is not visible."""
    known = e.integer(term)
    if known is not None:
        return e.i32(known >> UNIT_BITS) if known % (1 << UNIT_BITS) == 0 else None
    op = term.op
    if isinstance(op, llvm.Mul):
        factor = e.integer(op.rhs)
        if factor is not None and factor % (1 << UNIT_BITS) == 0:
            return ints.mul(e, op.lhs, e.i32(factor >> UNIT_BITS))
    if isinstance(op, llvm.Shl):
        count = e.integer(op.rhs)
        if count is not None and UNIT_BITS <= count < 32:
            return ints.shl(e, op.lhs, e.i32(count - UNIT_BITS))
    if isinstance(op, llvm.Add):
        parts = [_units(e, v) for v in op.operands]
        if parts[0] is not None and parts[1] is not None:
            return ints.add(e, parts[0], parts[1])
    return None


# Barriers


@lowers(nvgpu.MBarrierCreate)
def barriers(c: Conversion, op: nvgpu.MBarrierCreate) -> None:
    """nvgpu.mbarrier.create: the address that they are counted from."""
    c.define(op.result, [c.register(op.base)])


@lowers(nvgpu.MBarrierGet)
def barrier(c: Conversion, op: nvgpu.MBarrierGet) -> None:
    """nvgpu.mbarrier.get: its address."""
    group = cast(nvgpu.MBarrierCreate, op.barriers.owner)
    index = None if op.index is None else c.register(op.index)
    offset = group.offset + BARRIER_BYTES * op.number
    c.define(op.result, [element_pointer(c.e, c.register(op.barriers), index, BARRIER_BYTES, offset, False)])
