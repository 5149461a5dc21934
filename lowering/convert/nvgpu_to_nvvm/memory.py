"""Memory, tensor-core and warp ops: registers in, registers out, one pattern an op."""

from __future__ import annotations

from math import prod

from ir.checked import checked
from ir.core import Op, Type, UnsupportedError, Value, Variadic
from ir.dialects import gpu, llvm, nvgpu, nvvm, vector
from ir.instruction import Instruction
from ir.types import F8E4M3FN, GLOBAL_PTR, I1, I8, I16, I32, I64, VectorType
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.addresses import element_pointer
from lowering.convert.nvgpu_to_nvvm.comparisons import compared_again
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.values import bitcast, bits_of, lanes_of, pack, register_types, unpack
from lowering.symbols import name_of

SHARED_SYMBOL = "dynamic_smem"
FULL_WARP_CLAMP = {"xor": 31, "down": 31, "idx": 31, "up": 0}  # PTX ISA, shfl.sync operand c: segment of 32 lanes
SHUFFLE_KINDS = {"xor": "bfly", "down": "down", "idx": "idx", "up": "up"}


@lowers(Instruction)
def instruction(c: Conversion, op: Instruction) -> None:
    """An instruction is already legal: each value becomes its registers. If its predicate is known, it loses the
    predicate or is removed.
    """
    operands: list[Value] = []
    segments: list[int] = []
    for group in op.info.operands:
        values: list[Value] = group.of(op)
        if group.name == "predicate" and values:
            pred = predicate_of(c, values[0])
            if pred is False:
                return
            held = [] if pred is True else [pred]
        else:
            held = [register for value in values for register in c.registers(value)]
            one = isinstance(group, Variadic) or len(held) == len(values)
            op.expect(one, "operand '{}' must be held in one register", group.name)
        operands += held
        segments.append(len(held))
    kinds = [register_types(result.type) for result in op.results]
    made = c.e.effect(type(op), operands, [kind for each in kinds for kind in each], tuple(segments), **op.attributes)
    at = 0
    for result, each in zip(op.results, kinds, strict=True):
        c.define(result, made.results[at : at + len(each)])
        at += len(each)


def predicate_of(c: Conversion, pred: Value | None) -> Value | bool:
    """The i1 register of an optional predicate, or its value if it is known."""
    if pred is None:
        return True
    register = c.register(pred)
    known = c.e.integer(register)
    return register if known is None else bool(known)


@lowers(nvgpu.Load)
def load(c: Conversion, op: nvgpu.Load) -> None:
    """nvgpu.load -> nvvm.ld."""
    e, wanted = c.e, register_types(op.results[0].type)
    kinds = register_types(memory_type(op.results[0].type))
    pred, cache = predicate_of(c, op.pred), op.cache
    kept: list[Value] = []
    if pred is not True:
        given = op.passthrough
        kept = [e.constant(t, 0) for t in wanted] if given is None else c.registers(given)
    if pred is False:
        c.define(op.results[0], kept)
        return
    kept = as_bytes(e, kept, kinds)
    guard = [] if pred is True else [pred]
    hint = [e.value(nvvm.CreatePolicy, I64, primary=op.evict)] if op.evict else []
    made = e.effect(
        nvvm.Ld,
        [c.register(op.ptr), *guard, *kept, *hint],
        kinds,
        (1, len(guard), len(kept), len(hint)),
        cache=cache,
        order=op.order,
        scope=op.scope,
    )
    c.define(op.results[0], as_bits(e, made.results) if wanted[0] == I1 else made.results)


@lowers(nvgpu.Store)
def store(c: Conversion, op: nvgpu.Store) -> None:
    """nvgpu.store -> nvvm.st."""
    e, pred = c.e, predicate_of(c, op.pred)
    if pred is False:
        return
    values = as_bytes(e, c.registers(op.value), register_types(memory_type(op.value.type)))
    guard = [] if pred is True else [compared_again(e, pred) if op.compare_again else pred]
    e.effect(
        nvvm.St,
        [c.register(op.ptr), *guard, *values],
        [],
        (1, len(guard), len(values)),
        cache=op.cache,
        order=op.order,
        scope=op.scope,
        remote=op.remote,
    )


@lowers(nvgpu.Atomic)
def atomic(c: Conversion, op: nvgpu.Atomic) -> None:
    """nvgpu.atomic -> nvvm.atom."""
    e, pred = c.e, predicate_of(c, op.pred)
    kinds = [kind for r in op.results for kind in register_types(r.type)]
    values = [c.register(v) for v in op.values]
    if pred is False:
        for result in op.results:
            c.define(result, [values[0]] if op.kind == "cas" else [e.constant(kind, 0) for kind in kinds])
        return
    guard = [] if pred is True else [pred]
    made = e.effect(
        nvvm.Atom,
        [c.register(op.ptr), *guard, *values],
        kinds,
        (1, len(guard), len(values)),
        kind=nvgpu.ATOMIC_KINDS[op.kind][0],
        type=atomic_type(op.kind, values[0].type),
        order=op.order,
        scope=op.scope,
    )
    for result in op.results:
        c.define(result, made.results)


def atomic_type(kind: str, type: Type) -> str:
    """The PTX type of an atomic operation: floats with their rounding, integers by signedness."""
    letter = nvgpu.ATOMIC_KINDS[kind][1]
    if letter == "f":
        name = f"{type.element}x2" if isinstance(type, VectorType) else str(type)
        return name if name in ("f32", "f64") else f"noftz.{name}"
    return f"{letter}{bits_of(type)}"


@lowers(gpu.Printf)
def print_text(c: Conversion, op: gpu.Printf) -> None:
    """gpu.printf -> nvvm.vprintf, its format an array of the module."""
    data = op.format.encode() + bytes(1)
    name = name_of("text", data)
    c.e.arrays[name] = gpu.GlobalArray(name, 1, data)
    format = c.e.value(llvm.AddressOf, GLOBAL_PTR, global_name=name)
    c.e.effect(nvvm.VPrintf, [format, *(c.register(v) for v in op.args)], [], (1, len(op.args)))


def memory_type(kind: Type) -> Type:
    """What an access moves: predicates take a byte each."""
    if isinstance(kind, VectorType) and kind.element == I1:
        return VectorType(kind.shape, I8)
    return I8 if kind == I1 else kind


def as_bytes(e: Emitter, registers: list[Value], kinds: list[Type]) -> list[Value]:
    """Predicates as bytes in registers of `kinds`; anything else as it is."""
    if not registers or registers[0].type != I1:
        return registers
    bytes_ = [ints.extend(e, r, I8, False) for r in registers]
    lanes = lanes_of(kinds[0])
    return [pack(e, bytes_[i * lanes : (i + 1) * lanes], kind) for i, kind in enumerate(kinds)]


def as_bits(e: Emitter, registers: list[Value]) -> list[Value]:
    """Bytes as predicates: what is not zero is true."""
    words = [ints.extend(e, byte, I16, False) for r in registers for byte in unpack(e, r)]
    return [ints.icmp(e, "ne", word, e.constant(I16, 0)) for word in words]


@lowers(nvgpu.DeviceAsyncCopy)
def async_copy(c: Conversion, op: nvgpu.DeviceAsyncCopy) -> None:
    """nvgpu.device_async_copy -> nvvm.cp.async.shared.global.

    A false predicate becomes a source size of zero: ptxas folds the select into the predicate operand of LDGSTS (seen
    in SASS for sm_80), so that zero-filling costs no instruction. The select stays beside its copy for that.
    """
    e, pred, enable = c.e, predicate_of(c, op.pred), predicate_of(c, op.enable)
    if enable is False:
        return
    size: Value | None = c.register(op.src_bytes) if op.src_bytes is not None else None
    if pred is False:
        size = e.i32(0)
    elif pred is not True:
        size = _source_size(e, pred, e.i32(op.bytes) if size is None else size)
    sizes, guards = [] if size is None else [size], [] if enable is True else [enable]
    operands = [c.register(op.dst), c.register(op.src), *sizes, *guards]
    segments, modifier = (1, 1, len(sizes), len(guards)), "cg" if op.bypass_l1 else "ca"
    e.effect(nvvm.CpAsyncSharedGlobal, operands, [], segments, size=op.bytes, modifier=modifier)


def _source_size(e: Emitter, pred: Value, size: Value) -> Value:
    """select(pred, size, 0), one a block and never hoisted."""
    scope = e.scopes[-1]
    key = ("source size", scope.block, pred, size)
    found = scope.table.get(key)
    if found is None:
        found = scope.table[key] = e.effect(llvm.Select, [pred, size, e.i32(0)], [I32])
    return found.results[0]


@lowers(nvgpu.MmaSync)
def mma_sync(c: Conversion, op: nvgpu.MmaSync) -> None:
    """nvgpu.mma.sync -> nvvm.mma.sync."""
    a, b, acc = (c.registers(v) for v in op.operands)
    elements = [checked(v.type, VectorType).element for v in op.operands]
    first, second = (nvgpu.mma_type(e, signed) for e, signed in zip(elements[:2], op.signed, strict=True))
    made = c.e.effect(
        nvvm.MmaSync,
        [*a, *b, *acc],
        [r.type for r in acc],
        (len(a), len(b), len(acc)),
        shape=op.mmaShape,
        multiplicandAPtxType=first,
        multiplicandBPtxType=second,
        accumulatorPtxType="s32" if elements[2] == I32 else str(elements[2]),
    )
    c.define(op.results[0], made.results)


@lowers(nvgpu.MmaBlockScale)
def mma_block_scale(c: Conversion, op: nvgpu.MmaBlockScale) -> None:
    """nvgpu.mma.block_scale -> nvvm.mma.block_scale."""
    a, b, acc, *scales = (c.registers(v) for v in op.operands)
    elements = [checked(v.type, VectorType).element for v in op.operands[:2]]
    first, second = ("e2m1" if element == I8 else nvgpu.MMA_TYPES[element] for element in elements)
    made = c.e.effect(
        nvvm.MmaBlockScale,
        [*a, *b, *acc, *(word for each in scales for word in each)],
        [r.type for r in acc],
        (len(a), len(b), len(acc), 1, 1),
        kind=op.kind,
        typeA=first,
        typeB=second,
        scale="ue4m3" if checked(op.a_scales.type, VectorType).element == F8E4M3FN else "ue8m0",
        bytes=op.bytes,
    )
    c.define(op.results[0], made.results)


@lowers(nvgpu.LdMatrix)
def ldmatrix(c: Conversion, op: nvgpu.LdMatrix) -> None:
    """nvgpu.ldmatrix -> nvvm.ldmatrix, of bytes nvvm.ldmatrix.bytes."""
    kinds, layout = register_types(op.results[0].type), "col" if op.transpose else "row"
    source = [c.register(op.source)]
    if op.bytes:
        made = c.e.effect(nvvm.LdMatrixBytes, source, kinds, num=op.numTiles, shape="m16n16", kind="b8")
    else:
        made = c.e.effect(nvvm.LdMatrix, source, kinds, num=op.numTiles, layout=layout)
    c.define(op.results[0], made.results)


@lowers(nvgpu.Fragment)
def fragment(c: Conversion, op: nvgpu.Fragment) -> None:
    """nvgpu.fragment: no instruction, its operands' registers side by side."""
    c.define(op.results[0], [r for v in op.operands for r in c.registers(v)])


@lowers(vector.Extract)
def extract(c: Conversion, op: vector.Extract) -> None:
    """vector.extract: the registers at the position, or an element of one of them."""
    source = op.operands[0]
    registers, kind = c.registers(source), source.type
    shape = kind.shape if isinstance(kind, VectorType) else ()
    start, stride = 0, prod(shape)
    for position, size in zip(op.position, shape, strict=False):
        stride //= size
        start += position * stride
    lanes = lanes_of(registers[0].type)
    if start % lanes == 0 and stride % lanes == 0:
        c.define(op.results[0], registers[start // lanes : (start + stride) // lanes])
        return
    parts = [unpack(c.e, registers[i // lanes])[i % lanes] for i in range(start, start + stride)]
    c.define(op.results[0], _packed(c.e, parts, op.results[0].type))


@lowers(vector.FromElements)
def from_elements(c: Conversion, op: vector.FromElements) -> None:
    """vector.from_elements: 16-bit elements packed in pairs, bytes in fours."""
    parts = [c.register(v) for v in op.operands]
    c.define(op.results[0], _packed(c.e, parts, op.results[0].type))


def _packed(e: Emitter, parts: list[Value], kind: Type) -> list[Value]:
    kinds = register_types(kind)
    lanes = lanes_of(kinds[0])
    return [pack(e, parts[i * lanes : (i + 1) * lanes], t) for i, t in enumerate(kinds)]


@lowers(gpu.Shuffle)
def shuffle(c: Conversion, op: gpu.Shuffle) -> None:
    """gpu.shuffle -> nvvm.shfl.sync of each 32-bit piece."""
    offset = c.register(op.offset)
    c.define(op.results[0], [_shuffled(c.e, r, offset, op.mode, op) for r in c.registers(op.value)])


def _shuffled(e: Emitter, value: Value, offset: Value, mode: str, op: Op) -> Value:
    kind = value.type
    width = bits_of(kind)
    if width == 32:
        made = e.effect(nvvm.ShflSync, [value, offset], [kind], kind=SHUFFLE_KINDS[mode], clamp=FULL_WARP_CLAMP[mode])
        return made.results[0]
    if kind == I1:
        word = ints.extend(e, value, I32, False)
        return ints.icmp(e, "ne", _shuffled(e, word, offset, mode, op), e.i32(0))
    if width in (8, 16):
        integer = I8 if width == 8 else I16
        word = ints.extend(e, bitcast(e, value, integer), I32, False)
        return bitcast(e, ints.truncate(e, _shuffled(e, word, offset, mode, op), integer), kind)
    if width != 64:
        raise UnsupportedError(f"gpu.shuffle of {kind}", op.location, "shuffle values of 1 to 64 bits")
    pair = VectorType((2,), I32)
    halves = unpack(e, bitcast(e, value, pair) if kind != I64 else e.value(llvm.Bitcast, pair, value))
    return bitcast(e, pack(e, [_shuffled(e, h, offset, mode, op) for h in halves], pair), kind)


@lowers(llvm.GetElementPtr)
def pointer(c: Conversion, op: llvm.GetElementPtr) -> None:
    """llvm.getelementptr with its constants gathered."""
    index = op.index
    made = element_pointer(
        c.e,
        c.register(op.base),
        None if index is None else c.register(index),
        op.element_bytes,
        op.offset,
        op.outermost,
    )
    c.define(op.results[0], [made])


@lowers(llvm.PtrToInt)
def pointer_to_integer(c: Conversion, op: llvm.PtrToInt) -> None:
    """llvm.ptrtoint."""
    c.define(op.results[0], [c.e.value(llvm.PtrToInt, op.results[0].type, c.register(op.pointer))])


@lowers(llvm.IntToPtr)
def integer_to_pointer(c: Conversion, op: llvm.IntToPtr) -> None:
    """llvm.inttoptr."""
    c.define(op.results[0], [c.e.value(llvm.IntToPtr, op.results[0].type, c.register(op.address))])


@lowers(gpu.DynamicSharedMemory)
def shared_memory(c: Conversion, op: gpu.DynamicSharedMemory) -> None:
    """gpu.dynamic_shared_memory -> address of the external shared array."""
    address = c.e.value(llvm.AddressOf, op.results[0].type, global_name=SHARED_SYMBOL)
    c.define(op.results[0], [address])


@lowers(gpu.GetGlobal)
def get_global(c: Conversion, op: gpu.GetGlobal) -> None:
    """gpu.get_global -> address of the array."""
    c.define(op.result, [c.e.value(llvm.AddressOf, op.result.type, global_name=op.symbol)])


COORDINATES = {gpu.ThreadId: "tid", gpu.BlockId: "ctaid", gpu.GridDim: "nctaid"}


@lowers(gpu.ThreadId, gpu.BlockId, gpu.GridDim)
def coordinate(c: Conversion, op: gpu.ThreadId | gpu.BlockId | gpu.GridDim) -> None:
    """Coordinate reads -> nvvm.read.ptx.sreg."""
    c.define(op.results[0], [c.e.value(nvvm.SPECIAL_REGISTERS[COORDINATES[type(op)], op.dimension], I32)])


@lowers(gpu.Barrier)
def barrier(c: Conversion, op: Op) -> None:
    """gpu.barrier -> nvvm.barrier0."""
    c.e.effect(nvvm.Barrier0, [], [])
