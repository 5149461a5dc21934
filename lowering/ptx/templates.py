"""Selection patterns of the llvm operations: several of them may become one PTX instruction, or one of them several.

Opcode spellings: PTX ISA 8.8. Hardware instructions declare their own text (`ir.instruction`).
"""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm
from ir.instruction import ptx_type
from ir.types import F32, F64, I1, I8, I32, I64, IntType
from lowering.ptx.instructions import constant_of
from lowering.ptx.machine import immediate, move_type, register_bits
from lowering.ptx.mixed import narrowed, sources
from lowering.ptx.select import Selector, lowers

FLOAT_COMPARE = {
    "oeq": "eq", "one": "ne", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge", "ueq": "equ",
    "une": "neu", "ult": "ltu", "ule": "leu", "ugt": "gtu", "uge": "geu", "ord": "num", "uno": "nan",
}  # fmt: skip


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


@lowers(llvm.SDiv, llvm.UDiv, llvm.SRem, llvm.URem, llvm.SMax, llvm.SMin, llvm.UMax, llvm.UMin)
def integer_binary(s: Selector, op: Op) -> None:
    """Quotients, remainders and extrema; the maximum of a number and its negative is abs."""
    x, negative = op.operands[0], op.operands[1].op
    of = negative.operands if isinstance(negative, llvm.Sub) and type(op) is llvm.SMax else []
    if of and of[1] is x and constant_of(of[0]) == 0:
        uses: list[Value] = []
        s.emit(f"abs.s{bits(op.results[0])} %s, {s.register(x, uses)};", [op.results[0]], uses)
        return
    simple(s, op, f"{INTEGER[type(op)]}{bits(op.results[0])}")


WORD: dict[type[Op], str] = {llvm.CtPop: "popc", llvm.CtLz: "clz", llvm.BitReverse: "brev"}


@lowers(llvm.CtPop, llvm.CtLz, llvm.BitReverse)
def word(s: Selector, op: Op) -> None:
    """popc, clz, brev."""
    simple(s, op, f"{WORD[type(op)]}.b32")


@lowers(llvm.Shl, llvm.LShr, llvm.AShr)
def shift(s: Selector, op: Op) -> None:
    """Shifts; PTX shift counts are 32-bit for every width. A left shift and then an arithmetic right shift is a bfe."""
    uses: list[Value] = []
    x, amount = op.operands
    raised = s.foldable(x, op, llvm.Mul) if isinstance(op, llvm.AShr) and bits(x) == 32 else None
    if raised is not None and (place := power_of_two(raised)) is not None and place == constant_of(amount):
        held = s.register(raised.operands[0], uses)
        s.emit(f"bfe.s32 %s, {held}, 0, {32 - place};", [op.results[0]], uses)
        return
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


@lowers(llvm.Add)
def add(s: Selector, op: llvm.Add) -> None:
    """A sum; with a single-use product of the same block it becomes a multiply-add.

    No mad.wide: ptxas 13.5 turns mul.wide and add.s64 into one IMAD.WIDE, but mad.wide into a shift or a product and an
    addition in two halves each, or moves it to the uniform pipe and its result back.
    """
    result, uses = op.results[0], list[Value]()
    for x, y in (op.operands, op.operands[::-1]):
        product = s.foldable(x, op, llvm.Mul)
        if product is not None and power_of_two(product) is None and wide_product(s, product, []) is None:
            a, b = (s.use(v, uses) for v in product.operands)
            s.emit(f"mad.lo.s{bits(result)} %s, {a}, {b}, {s.use(y, uses)};", [result], uses)
            return
    simple(s, op, f"add.s{bits(result)}")


@lowers(llvm.Sub)
def subtract(s: Selector, op: llvm.Sub) -> None:
    """A difference."""
    known = op.operands[0].owner
    if isinstance(known, llvm.Constant) and known.attributes["value"] == 0:
        uses: list[Value] = []
        s.emit(f"neg.s{bits(op.results[0])} %s, {s.use(op.operands[1], uses)};", [op.results[0]], uses)
        return
    simple(s, op, f"sub.s{bits(op.results[0])}")


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


@lowers(llvm.Mul)
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


@lowers(llvm.And, llvm.Or)
def logic(s: Selector, op: Op) -> None:
    """And, or; on predicates, a single-use comparison is merged into them (setp.and). Not if both compare masks,
    because ptxas 13.5 makes each a LOP3 with a predicate and combines three predicates in one PLOP3. If one compares a
    mask, even one with other uses, the other one is merged.
    """
    name = "and" if isinstance(op, llvm.And) else "or"
    if op.results[0].type != I1:
        simple(s, op, f"{name}.b{bits(op.results[0])}")
        return
    found = [s.foldable(value, op, llvm.ICmp, llvm.FCmp) for value in op.operands]
    masked = [comparison is not None and mask_of(s, comparison) is not None for comparison in found]
    for at in sorted(range(2), key=lambda at: (masked[at], _finds_bits(found[at]))):
        comparison, y = found[at], op.operands[1 - at]
        if comparison is not None and comparison.results[0] is not y and not all(masked):
            uses: list[Value] = []
            opcode, a, b = compared(s, comparison, uses)
            other = s.predicate(y, uses)
            order, _, kind = opcode.partition(".")
            s.emit(f"setp.{order}.{name}.{kind} %s, {a}, {b}, {other};", [op.results[0]], uses)
            mask_before(s, comparison)
            return
    simple(s, op, f"{name}.pred")


@lowers(llvm.Xor)
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
        kind = f"{kind}.{ptx_type(x.type)}" if kind else ptx_type(x.type)
        return f"{FLOAT_COMPARE[predicate]}.{kind}", s.use(x, uses), s.use(y, uses)
    letter = "u" if predicate[0] == "u" else "s"
    if mask_of(s, op) is not None:
        uses.append(x)
        return f"{predicate}.s{bits(x)}", "%s", "0"
    left, factor = s.use(x, uses), constant_of(y)
    if letter == "u" and isinstance(factor, int):
        return f"{predicate[-2:]}.u{bits(x)}", left, str(factor & ((1 << bits(x)) - 1))
    return f"{predicate[-2:]}.{letter}{bits(x)}", left, s.use(y, uses)


@lowers(llvm.ICmp, llvm.FCmp)
def compare(s: Selector, op: Op) -> None:
    """setp."""
    uses: list[Value] = []
    opcode, a, b = compared(s, op, uses)
    s.emit(f"setp.{opcode} %s, {a}, {b};", [op.results[0]], uses)
    mask_before(s, op)


def _finds_bits(comparison: Op | None) -> bool:
    """Does it compare the bits of a mask with zero?"""
    if comparison is None or comparison.attributes["predicate"] not in ("eq", "ne"):
        return False
    mask = comparison.operands[0].owner
    return constant_of(comparison.operands[1]) == 0 and isinstance(mask, llvm.And)


def mask_of(s: Selector, op: Op) -> llvm.And | None:
    """The single-use mask that a comparison tests for zero."""
    if op.attributes["predicate"] not in ("eq", "ne") or constant_of(op.operands[1]) != 0:
        return None
    mask = s.foldable(op.operands[0], op, llvm.And)
    return mask if isinstance(mask, llvm.And) and isinstance(constant_of(mask.operands[1]), int) else None


def mask_before(s: Selector, op: Op) -> None:
    """That mask, right before the comparison: ptxas 13.5 merges both into one LOP3 with a predicate result, but keeps
    two instructions if others lie between (scan-rows-reverse on sm_80: 162 instructions, 154 with the masks here).
    """
    if (mask := mask_of(s, op)) is not None:
        simple(s, mask, f"and.b{bits(mask.results[0])}")


@lowers(llvm.Select)
def select(s: Selector, op: llvm.Select) -> None:
    """selp, with the float type for floats: ptxas 13.5 then merges an f64 with a selected sum (remainders of f16: 143
    instead of 146), and an f32 with its sign.
    """
    uses: list[Value] = []
    condition, x, y = op.operands
    flipped = s.foldable(x, op, llvm.Xor)
    if flipped is not None and flipped.operands[0] is y and constant_of(flipped.operands[1]) is not None:
        in_place(s, op, flipped)
        return
    operands = f"{s.use(x, uses)}, {s.use(y, uses)}, {s.register(condition, uses)}"
    kind = str(x.type) if x.type in (F32, F64) else f"b{bits(x)}"
    s.emit(f"selp.{kind} %s, {operands};", [op.results[0]], uses)


def in_place(s: Selector, op: llvm.Select, flipped: Op) -> None:
    """c ? x ^ 1 : x, where nothing else reads x ^ 1, as x ^ 1 under the predicate c: ptxas 13.5 makes one LOP3 of it,
    but a LOP3 and a SEL of selp. (This is the parity of a ring, in each iteration.)
    """
    uses: list[Value] = []
    guard = s.register(op.operands[0], uses)
    s.register(op.operands[2], uses)
    text = f"@{guard} xor.b{bits(op.results[0])} %s, %s, {constant_of(flipped.operands[1])};"
    s.emit(text, [op.results[0]], uses, [uses[0], op.results[0], uses[1]], [(op.results[0], uses[1])])


@lowers(llvm.InlineAsm)
def directive(s: Selector, op: llvm.InlineAsm) -> None:
    """Its text."""
    s.emit(op.asm_string.replace("%", "%%"), [], [])


@lowers(llvm.Constant)
def constant(s: Selector, op: llvm.Constant) -> None:
    """A constant that some instruction takes only in a register."""
    kind = op.results[0].type
    s.emit(f"mov.{move_type(kind)} %s, {immediate(kind, op.attributes['value'])};", [op.results[0]], [])


@lowers(llvm.SExt, llvm.ZExt)
def extend(s: Selector, op: Op) -> None:
    """cvt to a wider integer; bytes are read from the low half of a 16-bit register, half bytes (to i8) by a mask.

    A masked value is not negative, and extending unsigned numbers needs no instruction.
    """
    letter = "s" if isinstance(op, llvm.SExt) and not is_masked(op.operands[0]) else "u"
    uses: list[Value] = []
    source = op.operands[0]
    width = source.type.width if isinstance(source.type, IntType) else 32
    operand = s.register(source, uses)
    if width < 8 or (width == 8 and letter == "u" and bits(op.results[0]) == 16):
        s.emit(f"and.b16 %s, {operand}, {(1 << width) - 1};", [op.results[0]], uses)
        return
    s.emit(f"cvt.{letter}{bits(op.results[0])}.{letter}{width} %s, {operand};", [op.results[0]], uses)


def is_masked(value: Value) -> bool:
    """Is it the AND of something and a constant without the sign bit?"""
    inner = value.op
    mask = constant_of(inner.operands[1]) if isinstance(inner, llvm.And) else None
    return isinstance(mask, int) and mask >= 0 and bits(value) >= 32


@lowers(llvm.Trunc, llvm.PtrToInt, llvm.IntToPtr)
def resize(s: Selector, op: Op) -> None:
    """cvt between register sizes; equal sizes share a register and never come here."""
    uses: list[Value] = []
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt.u{bits(op.results[0])}.u{bits(op.operands[0])} %s, {operand};", [op.results[0]], uses)


# Addresses


@lowers(llvm.GetElementPtr)
def element_pointer(s: Selector, op: llvm.GetElementPtr) -> None:
    """base + index * scale, then the displacement; an i32 index is extended by the product, as `add` says."""
    result, base, index = op.results[0], op.operands[0], op.index
    uses: list[Value] = []
    width = bits(result)
    if index is None:
        s.emit(f"add.s{width} %s, {s.register(base, uses)}, {op.offset};", [result], uses)
        return
    scale = op.element_bytes
    extended = index.op
    unsigned = isinstance(extended, llvm.ZExt) and extended.operands[0].type == I32 and scale != 1
    if width == 64 and (index.type == I32 or unsigned):
        short = extended.operands[0] if extended is not None and unsigned else index
        scaled = Value(I64, op, -1)
        s.emit(f"add.s64 %s, {s.register(base, uses)}, %s;", [result], [*uses, scaled])
        inner: list[Value] = []
        s.emit(f"mul.wide.{'u' if unsigned else 's'}32 %s, {s.use(short, inner)}, {scale};", [scaled], inner)
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


@lowers(llvm.AddressOf)
def address_of(s: Selector, op: llvm.AddressOf) -> None:
    """The address of a shared array."""
    s.emit(f"mov.b{bits(op.results[0])} %s, {op.global_name};", [op.results[0]], [])


# Floats

FLOAT_BINARY: dict[type[Op], str] = {llvm.FAdd: "add", llvm.FSub: "sub", llvm.FMul: "mul", llvm.FDiv: "div"}
EXTREMA: dict[type[Op], str] = {llvm.MaxNum: "max", llvm.MinNum: "min", llvm.Maximum: "max", llvm.Minimum: "min"}


@lowers(llvm.FAdd, llvm.FSub, llvm.FMul, llvm.FDiv)
def float_binary(s: Selector, op: Op) -> None:
    """The rounding is always spelled: without it ptxas may contract a product and a sum (PTX ISA, fma contraction)."""
    if mixed(s, op):
        return
    simple(s, op, f"{FLOAT_BINARY[type(op)]}{flags(op, 'rounding')}.{ptx_type(op.results[0].type)}")


@lowers(llvm.Fma)
def fused(s: Selector, op: llvm.Fma) -> None:
    """fma."""
    if mixed(s, op):
        return
    saturate = ".sat" if op.saturate else ""
    simple(s, op, f"fma{flags(op, 'rounding')}{saturate}.{ptx_type(op.results[0].type)}")


def mixed(s: Selector, op: Op) -> bool:
    """Emit an operation on extended floats as one with 16-bit sources, if that saves an extension. A product is fma
    with -0.0, which does not change any product.
    """
    narrow = sources(op)
    if not any(op.operands[at] in s.extensions for at in narrow):
        return False
    uses: list[Value] = []
    shorts = [narrowed(op.operands[at]) for at in narrow]
    operands = [s.register(value, uses) for value in shorts]
    operands += [s.use(value, uses) for at, value in enumerate(op.operands) if at not in narrow]
    product = isinstance(op, llvm.FMul)
    opcode = "fma" if product or isinstance(op, llvm.Fma) else FLOAT_BINARY[type(op)]
    text = ", ".join([*operands, immediate(F32, -0.0)] if product else operands)
    s.emit(f"{opcode}{flags(op, 'rounding')}.f32.{shorts[0].type} %s, {text};", [op.results[0]], uses)
    return True


@lowers(llvm.MaxNum, llvm.MinNum, llvm.Maximum, llvm.Minimum)
def extremum(s: Selector, op: Op) -> None:
    """min, max; .NaN propagates NaN."""
    nan = ".NaN" if isinstance(op, (llvm.Maximum, llvm.Minimum)) else ""
    simple(s, op, f"{EXTREMA[type(op)]}{flags(op)}{nan}.{ptx_type(op.results[0].type)}")


@lowers(llvm.FNeg, llvm.FAbs)
def sign(s: Selector, op: Op) -> None:
    """neg, abs."""
    simple(s, op, f"{'neg' if isinstance(op, llvm.FNeg) else 'abs'}{flags(op)}.{ptx_type(op.results[0].type)}")


INTEGRAL: dict[type[Op], str] = {llvm.Floor: "rmi", llvm.Ceil: "rpi", llvm.RoundToZero: "rzi"}


@lowers(llvm.Floor, llvm.Ceil, llvm.RoundToZero)
def to_integral(s: Selector, op: Op) -> None:
    """cvt.rmi, cvt.rpi, cvt.rzi."""
    kind = ptx_type(op.results[0].type)
    simple(s, op, f"cvt.{INTEGRAL[type(op)]}{flags(op)}.{kind}.{kind}")


@lowers(llvm.Sqrt)
def square_root(s: Selector, op: Op) -> None:
    """sqrt."""
    simple(s, op, f"sqrt{flags(op, 'rounding')}.{ptx_type(op.results[0].type)}")


# Conversions


@lowers(llvm.FPExt, llvm.FPTrunc)
def convert_float(s: Selector, op: Op) -> None:
    """cvt between floats."""
    to, source = op.results[0].type, op.operands[0].type
    uses: list[Value] = []
    rounding = "" if isinstance(op, llvm.FPExt) else f".{op.attributes.get('rounding', 'rn')}"
    ftz = flags(op) if F64 not in (to, source) and "bf16" not in (str(to), str(source)) else ""
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt{rounding}{ftz}.{to}.{ptx_type(source)} %s, {operand};", [op.results[0]], uses)


@lowers(llvm.SIToFP, llvm.UIToFP)
def integer_to_float(s: Selector, op: Op) -> None:
    """cvt.rn from an integer; from a signed byte of a word by bfe, which ptxas 13.5 makes a part of I2F, but not a
    shift and a conversion of bytes.
    """
    letter = "s" if isinstance(op, llvm.SIToFP) else "u"
    kind = f"{ptx_type(op.results[0].type)}.{letter}{bits(op.operands[0])}"
    uses: list[Value] = []
    if (byte := signed_byte(s, op)) is not None:
        number = Value(I32, op, -1)
        s.emit(f"cvt.{op.attributes.get('rounding', 'rn')}.{kind} %s, %s;", [op.results[0]], [number])
        s.emit(f"bfe.s32 %s, {s.register(byte[0], uses)}, {byte[1]}, 8;", [number], uses)
        return
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt.{op.attributes.get('rounding', 'rn')}.{kind} %s, {operand};", [op.results[0]], uses)


def signed_byte(s: Selector, op: Op) -> tuple[Value, int] | None:
    """The word and the place of a byte that is extended for a conversion alone, and shifted down before."""
    wide = s.foldable(op.operands[0], op, llvm.SExt) if isinstance(op, llvm.SIToFP) else None
    cut = wide.operands[0].op if wide is not None and bits(op.operands[0]) == 32 else None
    moved = cut.operands[0].op if isinstance(cut, llvm.Trunc) and cut.results[0].type == I8 else None
    place = constant_of(moved.operands[1]) if isinstance(moved, llvm.LShr) and bits(moved.results[0]) == 32 else None
    return (moved.operands[0], place) if moved is not None and place in (8, 16, 24) else None


@lowers(llvm.FPToSI, llvm.FPToUI)
def float_to_integer(s: Selector, op: Op) -> None:
    """cvt.rzi to an integer."""
    letter, to = "s" if isinstance(op, llvm.FPToSI) else "u", op.results[0].type
    width = to.width if isinstance(to, IntType) else 32
    uses: list[Value] = []
    operand = s.register(op.operands[0], uses)
    s.emit(f"cvt.rzi{flags(op)}.{letter}{width}.{ptx_type(op.operands[0].type)} %s, {operand};", [op.results[0]], uses)
