"""One PTX template an nvvm-level op.

Opcode spellings: PTX ISA 8.8; every template is assembled by ptxas for sm_80 in the tests. Those of sm_90 stand in
hopper.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ir.core import Op, Type, Value
from ir.dialects import llvm, nvvm
from ir.types import I1, I32, I64, FloatType, IntType, LLVMPointerType, VectorType
from lowering.ptx.machine import bit_pattern, immediate, register_bits

if TYPE_CHECKING:
    from lowering.ptx.select import Selector

Template = Callable[["Selector", Any], None]
TEMPLATES: dict[type[Op], Template] = {}
FLOAT_COMPARE = {
    "oeq": "eq", "one": "ne", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge", "ueq": "equ",
    "une": "neu", "ult": "ltu", "ule": "leu", "ugt": "gtu", "uge": "geu", "ord": "num", "uno": "nan",
}  # fmt: skip


def template(*classes: type[Op]) -> Callable[[Template], Template]:
    """Register the template of these ops."""

    def register(function: Template) -> Template:
        for cls in classes:
            TEMPLATES[cls] = function
        return function

    return register


def suffix(type: Type) -> str:
    """The PTX type of a float, packed or not."""
    if isinstance(type, VectorType):
        return f"{type.element}x{type.shape[0]}"
    return "f32" if str(type) == "tf32" else str(type)


def bits(value: Value) -> int:
    """Register size of a value."""
    return register_bits(value.type)


def flags(op: Op, *names: str) -> str:
    """Modifiers .ftz and the rounding."""
    ftz = ".ftz" if op.attributes.get("ftz") else ""
    return f".{op.attributes.get('rounding', 'rn')}{ftz}" if "rounding" in names else ftz


def simple(s: Selector, op: Op, opcode: str) -> None:
    """One instruction with all operands in order."""
    uses: list[Value] = []
    operands = ", ".join([s.use(v, uses) for v in op.operands])
    s.emit(f"{opcode} %s, {operands};", [op.results[0]], uses)


# Integers

INTEGER: dict[type[Op], str] = {
    llvm.SDiv: "div.s", llvm.UDiv: "div.u", llvm.SRem: "rem.s", llvm.URem: "rem.u",
    llvm.Shl: "shl.b", llvm.LShr: "shr.u", llvm.AShr: "shr.s",
    llvm.SMax: "max.s", llvm.SMin: "min.s", llvm.UMax: "max.u", llvm.UMin: "min.u",
}  # fmt: skip


@template(llvm.SDiv, llvm.UDiv, llvm.SRem, llvm.URem, llvm.SMax, llvm.SMin, llvm.UMax, llvm.UMin)
def integer_binary(s: Selector, op: Op) -> None:
    """Quotients, remainders and extrema."""
    simple(s, op, f"{INTEGER[type(op)]}{bits(op.results[0])}")


@template(llvm.Shl, llvm.LShr, llvm.AShr)
def shift(s: Selector, op: Op) -> None:
    """Shifts; PTX counts in 32 bits whatever the width."""
    uses: list[Value] = []
    x, amount = op.operands
    first = s.use(x, uses)
    width = bits(op.results[0])
    second = s.use(amount, uses)
    if second == "%s" and width != 32:
        uses.pop()
        count = Value(I32, op, -1)
        uses.append(count)
        s.emit(f"{INTEGER[type(op)]}{width} %s, {first}, %s;", [op.results[0]], uses)
        inner: list[Value] = []
        s.register(amount, inner)
        s.emit(f"cvt.u32.u{width} %s, %s;", [count], inner)
        return
    s.emit(f"{INTEGER[type(op)]}{width} %s, {first}, {second};", [op.results[0]], uses)


@template(llvm.Add)
def add(s: Selector, op: llvm.Add) -> None:
    """A sum; an i32 product of the same block that nothing else uses makes it a multiply-add.

    No mad.wide: ptxas 13.5 makes one IMAD.WIDE of mul.wide and add.s64, but of mad.wide a shift or a product and an
    addition in two halves each, or moves it to the uniform pipe and its result back.
    """
    result, uses = op.results[0], list[Value]()
    for x, y in (op.operands, op.operands[::-1]):
        product = s.foldable(x, op, llvm.Mul)
        if product is not None and power_of_two(product) is None and bits(result) == 32:
            a, b = (s.use(v, uses) for v in product.operands)
            s.emit(f"mad.lo.s32 %s, {a}, {b}, {s.use(y, uses)};", [result], uses)
            return
    simple(s, op, f"add.s{bits(result)}")


@template(llvm.Sub)
def subtract(s: Selector, op: llvm.Sub) -> None:
    """A difference."""
    known = op.operands[0].owner
    if isinstance(known, llvm.Constant) and known.attributes["value"] == 0:
        uses: list[Value] = []
        s.emit(f"neg.s{bits(op.results[0])} %s, {s.use(op.operands[1], uses)};", [op.results[0]], uses)
        return
    simple(s, op, f"sub.s{bits(op.results[0])}")


def constant_of(value: Value) -> int | float | None:
    """The number of a constant."""
    op = value.owner
    return op.attributes["value"] if isinstance(op, llvm.Constant) else None


def power_of_two(op: Op) -> int | None:
    """log2 of a product's constant factor."""
    factor = constant_of(op.operands[1])
    if not isinstance(factor, int):
        return None
    factor &= (1 << bits(op.results[0])) - 1
    return factor.bit_length() - 1 if factor and factor & (factor - 1) == 0 else None


def wide_product(s: Selector, op: Op, uses: list[Value]) -> str | None:
    """`wide.s32 %s, a, b` where both factors are i32 extended the same way (or a constant that fits)."""
    if op.results[0].type != I64:
        return None
    x, y = op.operands
    inner, factor = x.owner, constant_of(y)
    for cls, letter, span in ((llvm.SExt, "s", range(-(1 << 31), 1 << 31)), (llvm.ZExt, "u", range(1 << 32))):
        if not isinstance(inner, cls) or inner.operands[0].type != I32:
            continue
        if isinstance(factor, int):
            if factor in span:
                return f"wide.{letter}32 %s, {s.use(inner.operands[0], uses)}, {factor}"
        elif isinstance(y.owner, cls) and y.owner.operands[0].type == I32:
            a, b = s.use(inner.operands[0], uses), s.use(y.owner.operands[0], uses)
            return f"wide.{letter}32 %s, {a}, {b}"
    return None


@template(llvm.Mul)
def multiply(s: Selector, op: llvm.Mul) -> None:
    """A product: widening, a shift for a power of two, else mul.lo."""
    uses: list[Value] = []
    result = op.results[0]
    wide = wide_product(s, op, uses)
    shift_by = power_of_two(op)
    if wide is not None:
        s.emit(f"mul.{wide};", [result], uses)
    elif shift_by is not None:
        s.emit(f"shl.b{bits(result)} %s, {s.use(op.operands[0], uses)}, {shift_by};", [result], uses)
    else:
        simple(s, op, f"mul.lo.s{bits(result)}")


@template(llvm.And, llvm.Or)
def logic(s: Selector, op: Op) -> None:
    """And, or; on predicates a comparison used once is done together with them (setp.and)."""
    name = "and" if isinstance(op, llvm.And) else "or"
    if op.results[0].type != I1:
        simple(s, op, f"{name}.b{bits(op.results[0])}")
        return
    for x, y in (op.operands, op.operands[::-1]):
        comparison = s.foldable(x, op, llvm.ICmp, llvm.FCmp)
        if comparison is not None and y is not x:
            uses: list[Value] = []
            opcode, a, b = compared(s, comparison, uses)
            other = s.predicate(y, uses)
            order, _, kind = opcode.partition(".")
            s.emit(f"setp.{order}.{name}.{kind} %s, {a}, {b}, {other};", [op.results[0]], uses)
            return
    simple(s, op, f"{name}.pred")


@template(llvm.Xor)
def exclusive_or(s: Selector, op: llvm.Xor) -> None:
    """Exclusive or; with all ones a not."""
    uses: list[Value] = []
    result, factor = op.results[0], constant_of(op.operands[1])
    kind = "pred" if result.type == I1 else f"b{bits(result)}"
    if (factor == -1 and result.type != I1) or (factor is not None and result.type == I1):
        s.emit(f"not.{kind} %s, {s.use(op.operands[0], uses)};", [result], uses)
        return
    simple(s, op, f"xor.{kind}")


def compared(s: Selector, op: Op, uses: list[Value]) -> tuple[str, str, str]:
    """(order.type, left, right) of a comparison."""
    x, y = op.operands
    predicate: str = op.attributes["predicate"]
    if isinstance(op, llvm.FCmp):
        kind = flags(op).lstrip(".")
        kind = f"{kind}.{suffix(x.type)}" if kind else suffix(x.type)
        return f"{FLOAT_COMPARE[predicate]}.{kind}", s.use(x, uses), s.use(y, uses)
    letter = "u" if predicate[0] == "u" else "s"
    left, factor = s.use(x, uses), constant_of(y)
    if letter == "u" and isinstance(factor, int):
        return f"{predicate[-2:]}.u{bits(x)}", left, str(factor & ((1 << bits(x)) - 1))
    return f"{predicate[-2:]}.{letter}{bits(x)}", left, s.use(y, uses)


@template(llvm.ICmp, llvm.FCmp)
def compare(s: Selector, op: Op) -> None:
    """setp."""
    uses: list[Value] = []
    opcode, a, b = compared(s, op, uses)
    s.emit(f"setp.{opcode} %s, {a}, {b};", [op.results[0]], uses)


@template(llvm.Select)
def select(s: Selector, op: llvm.Select) -> None:
    """selp."""
    uses: list[Value] = []
    condition, x, y = op.operands
    operands = f"{s.use(x, uses)}, {s.use(y, uses)}, {s.register(condition, uses)}"
    s.emit(f"selp.b{bits(op.results[0])} %s, {operands};", [op.results[0]], uses)


@template(llvm.Constant)
def constant(s: Selector, op: llvm.Constant) -> None:
    """A constant that some instruction takes only in a register."""
    kind = op.results[0].type
    s.emit(f"mov.{move_type(kind)} %s, {immediate(kind, op.attributes['value'])};", [op.results[0]], [])


def move_type(kind: Type) -> str:
    """The type of a mov between registers."""
    size = register_bits(kind)
    return "pred" if size == 1 else f"b{size}"


@template(llvm.SExt, llvm.ZExt)
def extend(s: Selector, op: Op) -> None:
    """cvt to a wider integer; bytes are read from the low half of a 16-bit register, half bytes (to i8) by a mask.

    What a mask leaves is not negative, and unsigned numbers are extended by no instruction.
    """
    letter = "s" if isinstance(op, llvm.SExt) and not is_masked(op.operands[0]) else "u"
    uses: list[Value] = []
    source = op.operands[0]
    width = source.type.width if isinstance(source.type, IntType) else 32
    operand = s.register(source, uses)
    if width < 8:
        s.emit(f"and.b16 %s, {operand}, {(1 << width) - 1};", [op.results[0]], uses)
        return
    s.emit(f"cvt.{letter}{bits(op.results[0])}.{letter}{width} %s, {operand};", [op.results[0]], uses)


def is_masked(value: Value) -> bool:
    """Is it the AND of something and a constant without the sign bit?"""
    inner = value.op
    mask = constant_of(inner.operands[1]) if isinstance(inner, llvm.And) else None
    return isinstance(mask, int) and mask >= 0 and bits(value) >= 32


@template(llvm.Trunc, llvm.PtrToInt, llvm.IntToPtr)
def resize(s: Selector, op: Op) -> None:
    """cvt between register sizes; equal sizes share a register and never come here."""
    uses: list[Value] = []
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt.u{bits(op.results[0])}.u{bits(op.operands[0])} %s, {operand};", [op.results[0]], uses)


# Addresses


@template(llvm.GetElementPtr)
def element_pointer(s: Selector, op: llvm.GetElementPtr) -> None:
    """base + index * scale, then the displacement; an i32 index is extended by the product, as `add` says."""
    result, base, index = op.results[0], op.operands[0], op.index
    uses: list[Value] = []
    width = bits(result)
    if index is None:
        s.emit(f"add.s{width} %s, {s.register(base, uses)}, {op.offset};", [result], uses)
        return
    scale = op.element_bytes
    if width == 64 and index.type == I32:
        scaled = Value(I64, op, -1)
        s.emit(f"add.s64 %s, {s.register(base, uses)}, %s;", [result], [*uses, scaled])
        inner: list[Value] = []
        s.emit(f"mul.wide.s32 %s, {s.use(index, inner)}, {scale};", [scaled], inner)
        return
    if scale == 1:
        operands = f"{s.register(base, uses)}, {s.use(index, uses)}"
        s.emit(f"add.s{width} %s, {operands};", [result], uses)
        return
    scaled = Value(index.type, op, -1)
    s.emit(f"add.s{width} %s, {s.register(base, uses)}, %s;", [result], [*uses, scaled])
    inner: list[Value] = []
    power = scale.bit_length() - 1
    opcode, factor = (f"shl.b{width}", power) if scale == 1 << power else (f"mul.lo.s{width}", scale)
    s.emit(f"{opcode} %s, {s.use(index, inner)}, {factor};", [scaled], inner)


@template(llvm.AddressOf)
def address_of(s: Selector, op: llvm.AddressOf) -> None:
    """The address of a shared array."""
    s.emit(f"mov.b{bits(op.results[0])} %s, {op.global_name};", [op.results[0]], [])


# Floats

FLOAT_BINARY: dict[type[Op], str] = {llvm.FAdd: "add", llvm.FSub: "sub", llvm.FMul: "mul", llvm.FDiv: "div"}
EXTREMA: dict[type[Op], str] = {llvm.MaxNum: "max", llvm.MinNum: "min", llvm.Maximum: "max", llvm.Minimum: "min"}


@template(llvm.FAdd, llvm.FSub, llvm.FMul, llvm.FDiv)
def float_binary(s: Selector, op: Op) -> None:
    """The rounding is always spelled: without it ptxas may contract a product and a sum (PTX ISA, fma contraction)."""
    simple(s, op, f"{FLOAT_BINARY[type(op)]}{flags(op, 'rounding')}.{suffix(op.results[0].type)}")


@template(llvm.Fma)
def fused(s: Selector, op: llvm.Fma) -> None:
    """fma."""
    saturate = ".sat" if op.saturate else ""
    simple(s, op, f"fma{flags(op, 'rounding')}{saturate}.{suffix(op.results[0].type)}")


@template(llvm.MaxNum, llvm.MinNum, llvm.Maximum, llvm.Minimum)
def extremum(s: Selector, op: Op) -> None:
    """min, max; .NaN propagates NaN."""
    nan = ".NaN" if isinstance(op, (llvm.Maximum, llvm.Minimum)) else ""
    simple(s, op, f"{EXTREMA[type(op)]}{flags(op)}{nan}.{suffix(op.results[0].type)}")


@template(llvm.FNeg, llvm.FAbs)
def sign(s: Selector, op: Op) -> None:
    """neg, abs."""
    simple(s, op, f"{'neg' if isinstance(op, llvm.FNeg) else 'abs'}{flags(op)}.{suffix(op.results[0].type)}")


@template(nvvm.MulHigh)
def high_product(s: Selector, op: Op) -> None:
    """mul.hi."""
    simple(s, op, f"mul.hi.u{bits(op.results[0])}")


@template(llvm.Floor, llvm.Ceil)
def to_integral(s: Selector, op: Op) -> None:
    """cvt.rmi, cvt.rpi."""
    kind = suffix(op.results[0].type)
    simple(s, op, f"cvt.{'rmi' if isinstance(op, llvm.Floor) else 'rpi'}{flags(op)}.{kind}.{kind}")


@template(llvm.Sqrt)
def square_root(s: Selector, op: Op) -> None:
    """sqrt."""
    simple(s, op, f"sqrt{flags(op, 'rounding')}.{suffix(op.results[0].type)}")


APPROXIMATE: dict[type[Op], str] = {
    nvvm.Ex2: "ex2", nvvm.Lg2: "lg2", nvvm.Sin: "sin", nvvm.Cos: "cos",
    nvvm.Tanh: "tanh", nvvm.Rsqrt: "rsqrt",
}  # fmt: skip


@template(*APPROXIMATE)
def approximate(s: Selector, op: Op) -> None:
    """The special function unit."""
    simple(s, op, f"{APPROXIMATE[type(op)]}.approx{flags(op)}.{suffix(op.results[0].type)}")


@template(nvvm.Rcp)
def reciprocal(s: Selector, op: nvvm.Rcp) -> None:
    """rcp.approx or rcp with a rounding."""
    ftz = ".ftz" if op.ftz else ""
    simple(s, op, f"rcp.{op.rounding}{ftz}.{suffix(op.results[0].type)}")


# Register pairs


@template(nvvm.Pack)
def pack(s: Selector, op: nvvm.Pack) -> None:
    """mov of parts into one register."""
    uses: list[Value] = []
    parts: list[str] = []
    for part in op.operands:
        number = constant_of(part)
        parts.append(s.register(part, uses) if number is None else str(bit_pattern(part.type, number)))
    s.emit(f"mov.b{bits(op.results[0])} %s, {{{', '.join(parts)}}};", [op.results[0]], uses)


@template(nvvm.Unpack)
def unpack(s: Selector, op: nvvm.Unpack) -> None:
    """mov of one register into its parts."""
    uses: list[Value] = []
    wanted = [r for r in op.results if r in s.needed]
    holes = ", ".join("%s" if r in s.needed or bits(r) != 16 else "_" for r in op.results)
    defs = wanted if bits(op.results[0]) == 16 else list(op.results)  # the sink _ works for 16-bit parts only (ptxas)
    s.emit(f"mov.b{bits(op.operands[0])} {{{holes}}}, {s.register(op.operands[0], uses)};", defs, uses)


# Memory


def space(pointer: Value) -> str:
    """The state space of a pointer."""
    kind = pointer.type
    return "shared" if isinstance(kind, LLVMPointerType) and kind.space == 3 else "global"


def access_type(values: list[Value]) -> str:
    """Vector and element of an access."""
    first = values[0].type
    width = first.width if isinstance(first, (IntType, FloatType)) else register_bits(first)
    return (f".v{len(values)}" if len(values) > 1 else "") + f".b{max(width, 8)}"


def group(holes: list[str]) -> str:
    """One operand, or a vector of them."""
    return holes[0] if len(holes) == 1 else "{" + ", ".join(holes) + "}"


@template(nvvm.Ld)
def load(s: Selector, op: nvvm.Ld) -> None:
    """ld; under a predicate the passthrough is moved in first."""
    pointer, results = op.operands[0], op.results
    cache = op.attributes.get("cache", "") if space(pointer) == "global" else ""
    opcode = f"ld{ordering(op)}.{space(pointer)}{'.' + cache if cache else ''}{access_type(results)}"
    uses: list[Value] = []
    target = group(["%s"] * len(results))
    if not op.segments[1]:
        s.emit(f"{opcode} {target}, {s.address(pointer, uses)};", list(results), uses)
        return
    guard = s.predicate(op.operands[1], uses)
    address = s.address(pointer, uses)
    s.emit(f"@{guard} {opcode} {target}, {address};", list(results), [*uses, *results], [uses[0], *results, *uses[1:]])
    for result, kept in zip(results, op.operands[2:], strict=True):
        inner: list[Value] = []
        number = constant_of(s.root(kept))
        text = s.register(kept, inner) if number is None else immediate(kept.type, number)
        s.emit(f"mov.{move_type(result.type)} %s, {text};", [result], inner)


@template(nvvm.St)
def store(s: Selector, op: nvvm.St) -> None:
    """st."""
    pointer, values = op.operands[0], op.operands[1 + op.segments[1] :]
    cache = op.attributes.get("cache", "")
    opcode = f"st{ordering(op)}.{space(pointer)}{'.' + cache if cache else ''}{access_type(values)}"
    uses: list[Value] = []
    guard = f"@{s.predicate(op.operands[1], uses)} " if op.segments[1] else ""
    address = s.address(pointer, uses)
    if len(values) == 1:
        number = constant_of(s.root(values[0]))
        text = s.register(values[0], uses) if number is None else immediate(values[0].type, number)
    else:
        text = group([s.register(v, uses) for v in values])
    s.emit(f"{guard}{opcode} {address}, {text};", [], uses)


@template(nvvm.Atom)
def atomic(s: Selector, op: nvvm.Atom) -> None:
    """atom, into the sink where nobody asks for the old value.

    Under a predicate the result of a thread that does nothing is moved in first: zero, or what cas compares with.
    """
    uses: list[Value] = []
    guard = f"@{s.predicate(op.operands[1], uses)} " if op.segments[1] else ""
    address = s.address(op.operands[0], uses)
    values = ", ".join([s.register(v, uses) for v in op.operands[1 + op.segments[1] :]])
    opcode = f"atom{ordering(op)}.{space(op.operands[0])}.{op.kind}.{op.type}"
    results = [r for r in op.results if r in s.needed]
    if not results:
        s.emit(f"{guard}{opcode} _, {address}, {values};", [], uses)
        return
    if not guard:
        s.emit(f"{opcode} %s, {address}, {values};", results, uses)
        return
    s.emit(f"{guard}{opcode} %s, {address}, {values};", results, [*uses, *results], [uses[0], *results, *uses[1:]])
    kept: list[Value] = []
    cas = op.kind == "cas"
    source = s.register(op.operands[1 + op.segments[1]], kept) if cas else immediate(results[0].type, 0)
    s.emit(f"mov.{move_type(results[0].type)} %s, {source};", results, kept)


def ordering(op: Op) -> str:
    """The qualifiers of an access that is not weak."""
    order = op.attributes.get("order", "")
    return f".{order}.{op.attributes['scope']}" if order else ""


@template(nvvm.CpAsyncSharedGlobal)
def async_copy(s: Selector, op: nvvm.CpAsyncSharedGlobal) -> None:
    """cp.async."""
    uses: list[Value] = []
    operands = f"{s.address(op.operands[0], uses)}, {s.address(op.operands[1], uses)}, {op.size}"
    if op.segments[2]:
        operands += f", {s.use(op.operands[2], uses)}"
    s.emit(f"cp.async.{op.modifier}.shared.global {operands};", [], uses)


@template(nvvm.LdMatrix)
def ldmatrix(s: Selector, op: nvvm.LdMatrix) -> None:
    """ldmatrix."""
    uses: list[Value] = []
    trans = ".trans" if op.attributes.get("layout") == "col" else ""
    holes = ", ".join(["%s"] * op.num)
    address = s.address(op.operands[0], uses)
    s.emit(f"ldmatrix.sync.aligned.m8n8.x{op.num}{trans}.shared.b16 {{{holes}}}, {address};", list(op.results), uses)


@template(nvvm.MmaSync)
def mma_sync(s: Selector, op: nvvm.MmaSync) -> None:
    """mma.sync."""
    attributes = op.attributes
    m, n, k = attributes["shape"]
    acc = attributes["accumulatorPtxType"]
    kinds = f"{acc}.{attributes['multiplicandAPtxType']}.{attributes['multiplicandBPtxType']}.{acc}"
    uses: list[Value] = []
    for value in op.operands:
        s.register(value, uses)
    groups = ", ".join("{" + ", ".join(["%s"] * count) + "}" for count in (op.segments[2], *op.segments))
    s.emit(f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{kinds} {groups};", list(op.results), uses)


# Control and coordinates


@template(nvvm.ShflSync)
def shuffle(s: Selector, op: nvvm.ShflSync) -> None:
    """shfl.sync of the full warp."""
    uses: list[Value] = []
    operands = f"{s.register(op.operands[0], uses)}, {s.use(op.operands[1], uses)}, {op.clamp}, -1"
    s.emit(f"shfl.sync.{op.attributes['kind']}.b32 %s, {operands};", [op.results[0]], uses)


@template(nvvm.Barrier0)
def barrier(s: Selector, op: Op) -> None:
    """bar.sync 0."""
    s.emit("bar.sync 0;", [], [])


@template(nvvm.CpAsyncCommitGroup)
def commit_group(s: Selector, op: Op) -> None:
    """cp.async.commit_group."""
    s.emit("cp.async.commit_group;", [], [])


@template(nvvm.CpAsyncWaitGroup)
def wait_group(s: Selector, op: nvvm.CpAsyncWaitGroup) -> None:
    """cp.async.wait_group."""
    s.emit(f"cp.async.wait_group {op.n};", [], [])


@template(*nvvm.SPECIAL_REGISTERS.values())
def special_register(s: Selector, op: Any) -> None:
    """mov from a special register."""
    s.emit(f"mov.u32 %s, %{op.register};", [op.results[0]], [])
