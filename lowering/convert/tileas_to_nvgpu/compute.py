"""Arithmetic of one thread: elementwise ops, matrix products and layout conversions."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import Op, Type, Value
from ir.dialects import arith, gpu, math, nvgpu, vector
from ir.types import (
    F16,
    F32,
    GLOBAL_PTR,
    I1,
    I4,
    I8,
    I32,
    TF32,
    FloatType,
    IntType,
    PointerType,
    TensorType,
    VectorType,
)
from lowering.atoms.mma import MmaAtom
from lowering.atoms.pairs import PAIRED
from lowering.atoms.powers import by_polynomial
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import ByGroup, Computed, Grouped, Held, Registers, Renamed
from lowering.convert.tileas_to_nvgpu.views import (
    SharedMatrices,
    SharedVectors,
    store_matrices,
    store_shared,
)
from lowering.layouts.access import LdMatrix, global_access
from lowering.layouts.conversions import Conversion, Identity, RegisterPermute, SharedRoundTrip, Shuffle
from lowering.layouts.layout import Layout
from lowering.layouts.mma import fma_tile, mma_tile
from lowering.layouts.shared import SharedLayout
from lowering.layouts.shuffles import Exchange, ShuffleSteps

WORD = 4  # bytes of a register


def register_type(element: Type) -> Type:
    """The register type of one element: pointers become global addresses."""
    return GLOBAL_PTR if isinstance(element, PointerType) else element


def elementwise(emitter: Emitter, op: Op, operands: Sequence[Registers], layout: Layout, element: Type) -> Registers:
    """The same op on every register; on packed pairs if all operands and the result are 16-bit floats, or if the op
    requests it.
    """
    cls, attributes = type(op), op.attributes
    kind = register_type(element)

    def scalar(i: int) -> Value:
        return emitter.emit(cls, *(o.scalar(i) for o in operands), types=[kind], **attributes)

    def pair(i: int) -> Value:
        pairs = [o.pair(i) for o in operands]
        return emitter.emit(cls, *pairs, types=[pairs[0].type], **attributes)

    def packed(i: int) -> Value:
        pairs = [o.pair(i) for o in operands]
        rest = {name: value for name, value in attributes.items() if name != "paired"}
        return emitter.emit(PAIRED[cls], *pairs, types=[pairs[0].type], **rest)

    if isinstance(op, arith.SIToFP | arith.UIToFP) and op.mantissas:
        return mantissas(emitter, op, operands[0], layout, element)
    if isinstance(op, math.Exp2) and op.pairs:
        return powers(emitter, op, operands[0], layout)
    if attributes.get("paired"):
        op.expect(element == F32 and layout.n_regs > 1, "pairs are of two f32 that a thread holds")
        return Computed(emitter, layout, element, None, packed)
    result = Computed(emitter, layout, element, scalar)
    halves = result.packed and all(o.packed and o.element == element for o in operands)
    return Computed(emitter, layout, element, None, pair) if halves else result


def mantissas(
    emitter: Emitter, op: arith.SIToFP | arith.UIToFP, operand: Registers, layout: Layout, element: Type
) -> Registers:
    """Floats out of registers of bytes."""
    op.expect(operand.element == I8 and layout.n_regs % WORD == 0, "mantissas are whole registers of bytes")
    signed = {"signed": True} if isinstance(op, arith.SIToFP) else {}

    def make(start: int, shape: tuple[int, int]) -> Value:
        kind = VectorType(shape, result.scalar_type)
        return emitter.emit(nvgpu.BytesToFloats, operand.group(start, (1, WORD)), types=[kind], **signed)

    result = ByGroup(emitter, layout, element, (WORD // 2, 2), make)
    return result


def powers(emitter: Emitter, op: math.Exp2, operand: Registers, layout: Layout) -> Registers:
    """2^x of f32, a part of the pairs by polynomials."""
    op.expect(operand.element == F32 and layout.n_regs > 1, "pairs are of two f32 that a thread holds")

    def scalar(i: int) -> Value:
        if by_polynomial(i // 2, op.pairs):
            return emitter.extract(result.pair(i // 2), (i % 2,))
        return emitter.emit(math.Exp2, operand.scalar(i), types=[F32], rounding=op.rounding, ftz=True)

    def pair(i: int) -> Value:
        if by_polynomial(i, op.pairs):
            x = operand.pair(i)
            return emitter.emit(nvgpu.Exp2Pair, x, types=[x.type], degree=op.degree)
        return Registers.make_pair(result, i)

    result = Computed(emitter, layout, F32, scalar, pair)
    return result


def iota(emitter: Emitter, layout: Layout, element: Type) -> Registers:
    """Each register's own element number: a thread part plus a constant."""
    plan = global_access(layout, (1 << layout.bits,), 0, 1)
    where = {r: access for access in plan.accesses for r in access.registers}
    where |= {copy: where[original] for copy, original in plan.copies}

    def scalar(i: int) -> Value:
        access = where[i]
        part = emitter.linear((*plan.thread[0].lane, *plan.thread[0].warp))
        if access.xor[0]:
            part = emitter.emit(arith.XOrI, part, emitter.constant(access.xor[0]))
        return resize(emitter, emitter.add_constant(part, access.add[0]), element)

    return Computed(emitter, layout, element, scalar)


def resize(emitter: Emitter, value: Value, kind: Type) -> Value:
    """An element number as another integer type."""
    own, width = (getattr(each, "width", 32) for each in (value.type, kind))
    if width == own:
        return value
    return emitter.emit(arith.ExtSI if width > own else arith.TruncI, value, types=[kind])


def product(
    emitter: Emitter,
    atom: MmaAtom,
    shape: tuple[int, int, int, int],
    grid: tuple[int, int],
    a: Registers,
    b: Registers,
    c: Registers,
    layout: Layout,
    scales: Sequence[Registers] = (),
) -> Registers:
    """a @ b + c on tensor cores: k outermost, with the fragments of the next k step requested before this step's
    products. If the atom takes scales, those of a and b for four steps of k are the bytes of one register.
    """
    batch, m, n, k = shape
    steps = mma_tile(atom, m, n, k, *grid, batch).steps()
    tf32 = a.element in (TF32, F32)
    columns = 1 if tf32 else max(1, 32 // a.scalar_type.width)
    a_shape = (2 ** len(atom.a.reg) // columns, columns)
    b_shape = (2 ** len(atom.b.reg) // columns, columns)
    c_shape = atom.c_form
    more = {"tf32Enabled": True} if tf32 else {} if all(atom.signed) else {"signed": atom.signed}
    accumulators: dict[int, Value] = {s.c.start: c.group(s.c.start, c_shape) for s in steps}
    by_k = [[s for s in steps if s.k == j] for j in range(1 + max(s.k for s in steps))]

    def fetch(j: int) -> None:
        for s in by_k[j]:
            a.group(s.a.start, a_shape)
            b.group(s.b.start, b_shape)

    fetch(0)
    for j, now in enumerate(by_k):
        if j + 1 < len(by_k):
            fetch(j + 1)
        for s in now:
            old = accumulators[s.c.start]
            operands = [a.group(s.a.start, a_shape), b.group(s.b.start, b_shape), old]
            if atom.scales is not None:
                operands += [scale_word(x, first) for x, first in zip(scales, s.scales, strict=True)]
                places = (s.scales[0] % WORD, s.scales[1] % WORD)
                kind = atom.scales.kind
                made = emitter.emit(nvgpu.MmaBlockScale, *operands, types=[old.type], kind=kind, bytes=places)
            else:
                made = emitter.emit(nvgpu.MmaSync, *operands, types=[old.type], mmaShape=atom.shape, **more)
            accumulators[s.c.start] = made
    return Grouped(emitter, layout, c.element, [accumulators[i] for i in sorted(accumulators)], c_shape)


def scale_word(scales: Registers, first: int) -> Value:
    """Four neighbouring scales as a register, those of a few repeated."""
    start = first - first % WORD
    if scales.count >= start + WORD:
        return scales.group(start, (1, WORD))
    few = [scales.scalar(i % scales.count) for i in range(WORD)]
    return scales.emitter.emit(vector.FromElements, *few, types=[VectorType((1, WORD), scales.scalar_type)])


def scalar_product(
    emitter: Emitter,
    atom: MmaAtom,
    shape: tuple[int, int, int, int],
    a: Registers,
    b: Registers,
    c: Registers,
    layout: Layout,
) -> Registers:
    """a @ b + c by multiply-adds, k outermost; operands are widened on use, f16 sums are kept in f32."""
    batch, m, n, k = shape
    sum_type = F32 if c.element == F16 else c.scalar_type
    wide: dict[tuple[int, int], Value] = {}

    def widened(which: int, i: int) -> Value:
        """Register i of a (0), b (1) or c (2) in the type of the sums."""
        if (which, i) not in wide:
            wide[which, i] = widen(emitter, (a, b, c)[which].scalar(i), sum_type, (*atom.signed, True)[which])
        return wide[which, i]

    def add(x: Value, y: Value, into: Value) -> Value:
        if isinstance(sum_type, FloatType):
            return emitter.emit(math.Fma, x, y, into, types=[sum_type])
        product = emitter.emit(arith.MulI, x, y, types=[sum_type])
        return emitter.emit(arith.AddI, product, into, types=[sum_type])

    sums = [widened(2, i) for i in range(c.count)]
    for left, right, into in fma_tile(m, n, k, emitter.warps, batch).steps(k):
        sums[into] = add(widened(0, left), widened(1, right), sums[into])
    if c.element != sum_type:
        sums = [emitter.emit(arith.TruncF, x, types=[c.element]) for x in sums]
    return Held(emitter, layout, c.element, sums)


def widen(emitter: Emitter, value: Value, to: Type, signed: bool) -> Value:
    """A number in a wider type; tf32 is an f32 already."""
    if value.type in (to, TF32):
        return value
    return emitter.emit(
        arith.ExtF if isinstance(to, FloatType) else arith.ExtSI if signed else arith.ExtUI, value, types=[to]
    )


def through_shared(
    emitter: Emitter,
    source: Registers,
    layout: Layout,
    shared: SharedLayout,
    stmatrix: bool = False,
    ldmatrix: bool = False,
) -> Registers:
    """Another layout of a tile by a round trip through scratch memory, by matrix instructions if the op names them."""
    scratch = emitter.scratch()
    element = source.element
    (store_matrices if stmatrix else store_shared)(emitter, source, scratch, shared)
    emitter.scratch_written()
    reader = SharedMatrices if ldmatrix else SharedVectors
    return emitter.from_scratch(reader(emitter, layout, element, scratch, shared))


def convert(emitter: Emitter, source: Registers, layout: Layout, conversion: Conversion) -> Registers:
    """The same tile in another layout, following the conversion plan."""
    if getattr(source.element, "width", 64) < 8 and not isinstance(conversion, Identity | RegisterPermute):
        return _through_integers(emitter, source, layout, conversion)
    match conversion:
        case Identity():
            return Renamed(emitter, layout, source.element, source, range(source.count))
        case RegisterPermute():
            return Renamed(emitter, layout, source.element, source, conversion.reg_map)
        case Shuffle():
            return shuffle(emitter, source, layout, conversion.steps)
        case SharedRoundTrip():
            ways = [isinstance(way, LdMatrix) for way in (conversion.store, conversion.load)]
            return through_shared(emitter, source, layout, conversion.shared, *ways)


def shuffle(emitter: Emitter, source: Registers, layout: Layout, steps: ShuffleSteps) -> Registers:
    """Register exchanges, one shuffle a value, value exchanges: elements change lanes within each warp."""
    values = exchange(emitter, [source.scalar(i) for i in range(source.count)], steps.before)
    lane = None if steps.butterfly else emitter.linear(steps.lane_map)
    moved: list[Value] = []
    for step in steps.rounds:
        value = values[step.register]
        if lane is not None:
            where = emitter.emit(arith.XOrI, lane, emitter.constant(step.lane)) if step.lane else lane
            value = emitter.emit(gpu.Shuffle, value, where, mode="idx")
        elif step.lane:
            value = emitter.emit(gpu.Shuffle, value, emitter.constant(step.lane), mode="xor")
        moved.append(value)
    moved = exchange(emitter, moved, steps.after)
    return Held(emitter, layout, source.element, [moved[i] for i in steps.reg_map])


def exchange(emitter: Emitter, values: list[Value], exchanges: Sequence[Exchange]) -> list[Value]:
    """In threads of odd parity under each mask, value r becomes value r ^ xor."""
    for mask, xor in exchanges:
        odd = emitter.odd([mask >> i & 1 for i in range(mask.bit_length())])
        values = [emitter.emit(arith.Select, odd, values[r ^ xor], v) for r, v in enumerate(values)]
    return values


def _through_integers(emitter: Emitter, source: Registers, layout: Layout, conversion: Conversion) -> Registers:
    """Predicates and half bytes have no address and no shuffle: they are passed as 32-bit integers or as bytes."""
    element = source.element
    carrier = I32 if element == I1 else I8

    def wide(i: int) -> Value:
        value = source.scalar(i)
        bits = value if isinstance(element, IntType) else emitter.emit(arith.Bitcast, value, types=[I4])
        return emitter.emit(arith.ExtUI, bits, types=[carrier])

    def narrow(i: int) -> Value:
        if element == I1:
            return emitter.compare("ne", moved.scalar(i), emitter.constant(0))
        bits = emitter.emit(arith.TruncI, moved.scalar(i), types=[I4])
        return bits if element == I4 else emitter.emit(arith.Bitcast, bits, types=[element])

    moved = convert(emitter, Computed(emitter, source.layout, carrier, wide), layout, conversion)
    return Computed(emitter, layout, element, narrow)


def tensor_of(value: Value) -> TensorType:
    """The type of a value known to be a placed tile."""
    kind = value.type
    if not isinstance(kind, TensorType):
        raise TypeError(f"{kind} is not a placed tile")
    return kind


def layout_of(value: Value) -> Layout:
    """The distributed layout of a placed tile."""
    layout = tensor_of(value).layout
    if not isinstance(layout, Layout):
        raise TypeError(f"{layout} is not a distributed layout")
    return layout
