"""Integer division: quotients by a constant are high products and shifts, remainders what a quotient leaves.

ptxas 13.5 expands `div` and `rem` alike for all divisors, constants too: of an i32 by 12 or by 16 it made 19 SASS
instructions on sm_80, of an i64 72; the quotients here are 3 and 19. Source of the multipliers: Granlund, Montgomery,
"Division by Invariant Integers using Multiplication" (PLDI 1994); the shortest is taken for the range that facts give.
"""

from __future__ import annotations

from ir.core import Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I1, I32, I64
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of
from lowering.convert.nvgpu_to_nvvm.integers import (
    add,
    bit_and,
    extend,
    icmp,
    mul,
    select,
    shift_right,
    sub,
    truncate,
    xor,
)

SIGNED = (llvm.SDiv, llvm.SRem)
REMAINDERS = (llvm.SRem, llvm.URem)


def divide(e: Emitter, cls: type[Op], x: Value, y: Value) -> Value:
    """SDiv, UDiv, SRem or URem; of what is not negative, all are unsigned."""
    remainder, signed = cls in REMAINDERS, cls in SIGNED
    b = e.integer(y)
    if b == 1 or x.type == I1:  # a bit is divided by a bit that is set
        return e.constant(x.type, 0) if remainder else x
    if signed and e.facts.range(x)[0] >= 0 and e.facts.range(y)[0] >= 0:
        cls, signed = (llvm.URem if remainder else llvm.UDiv), False
    if not b:
        return _by_register(e, cls, x, y)
    divisor = b if signed else b & (1 << width_of(x)) - 1
    if width_of(x) < 32:  # differences, negatives and comparisons of 16 bits are two to four instructions each
        wide = divide(e, cls, extend(e, x, I32, signed), e.i32(divisor))
        result = truncate(e, wide, x.type)
        if wide in e.remainders:
            e.remainders[result] = x, divisor
        return result
    if remainder:
        return _remainder(e, x, divisor, signed)
    return _signed(e, x, divisor) if signed else _unsigned(e, x, divisor, _most(e, x))


def _by_register(e: Emitter, cls: type[Op], x: Value, y: Value) -> Value:
    """By what is not known; i64 that hold numbers of 32 bits without a sign take a quarter of the instructions."""
    (low, high), (least, most) = e.facts.range(x), e.facts.range(y)
    if x.type == I64 and cls not in SIGNED and min(low, least) >= 0 and max(high, most) < 1 << 32:
        return extend(e, e.value(cls, I32, truncate(e, x, I32), truncate(e, y, I32)), I64, False)
    return e.value(cls, x.type, x, y)


def _most(e: Emitter, x: Value) -> int:
    """The largest unsigned number that x may be."""
    low, high = e.facts.range(x)
    return high if low >= 0 else (1 << width_of(x)) - 1


def _remainder(e: Emitter, x: Value, divisor: int, signed: bool) -> Value:
    """x less the next multiple of the divisor towards zero."""
    size = abs(divisor)
    if size & size - 1 == 0 and not signed:
        return bit_and(e, x, e.constant(x.type, size - 1))
    known = e.integer(x)
    if known is None and not signed and _most(e, x) < size:
        return x
    if known is None and signed and size & size - 1 == 0:
        whole = bit_and(e, _towards_zero(e, x, size), e.constant(x.type, -size))
    else:
        quotient = _signed(e, x, size) if signed else _unsigned(e, x, size, _most(e, x))
        whole = mul(e, quotient, e.constant(x.type, size))
    rest = sub(e, x, whole)
    if known is None and size < 1 << width_of(x) - 1:
        e.facts.assume(rest, (1 - size if signed else 0, size - 1))
    if signed and divisor > 0:
        e.remainders[rest] = x, divisor
    return rest


def _unsigned(e: Emitter, x: Value, divisor: int, most: int) -> Value:
    """x / divisor for an x from 0 to `most`."""
    width, known = width_of(x), e.integer(x)
    if known is not None:
        return e.constant(x.type, (known & (1 << width) - 1) // divisor)
    if most < divisor:
        return e.constant(x.type, 0)
    if width > 32 and most < 1 << 32:
        return extend(e, _unsigned(e, truncate(e, x, I32), divisor, most), x.type, False)
    if divisor & divisor - 1 == 0:
        return _shifted(e, llvm.LShr, x, divisor.bit_length() - 1)
    quotient = _scaled(e, x, divisor, most)
    e.facts.assume(quotient, (0, most // divisor))
    return quotient


def _scaled(e: Emitter, x: Value, divisor: int, most: int) -> Value:
    """x * m / 2^(width + shift), where m is the reciprocal of the divisor rounded up.

    floor(x m / 2^p) is floor(x / d) for all x up to `most` where m d - 2^p times `most` is below 2^p.
    """
    width = width_of(x)
    for shift in range(divisor.bit_length() + 1):
        power = 1 << width + shift
        multiplier = -(-power // divisor)
        if multiplier >> width:
            break
        if (multiplier * divisor - power) * most < power:
            return _shifted(e, llvm.LShr, _high(e, x, multiplier, False), shift)
    if divisor % 2 == 0:  # a bit less of x leaves a bit more for the multiplier
        place = (divisor & -divisor).bit_length() - 1
        return _scaled(e, _shifted(e, llvm.LShr, x, place), divisor >> place, most >> place)
    shift = divisor.bit_length()  # the multiplier has one bit more than x: its product may, too
    multiplier = -(-(1 << width + shift) // divisor) - (1 << width)
    part = _high(e, x, multiplier, False)
    return _shifted(e, llvm.LShr, add(e, _shifted(e, llvm.LShr, sub(e, x, part), 1), part), shift - 1)


def _signed(e: Emitter, x: Value, divisor: int) -> Value:
    """x / divisor, rounded to zero."""
    width, known, size = width_of(x), e.integer(x), abs(divisor)
    if known is not None:
        return e.constant(x.type, abs(known) // size * (1 if (known < 0) == (divisor < 0) else -1))
    if size == 1:
        return sub(e, e.constant(x.type, 0), x) if divisor < 0 else x
    if size & size - 1 == 0:
        quotient = _shifted(e, llvm.AShr, _towards_zero(e, x, size), size.bit_length() - 1)
        return sub(e, e.constant(x.type, 0), quotient) if divisor < 0 else quotient
    low, high = e.facts.range(x)
    if width > 32 and low >= -1 << 31 and high < 1 << 31:
        return extend(e, _signed(e, truncate(e, x, I32), divisor), x.type, True)
    quotient = _scaled_with_sign(e, x, divisor, low, high)
    ends = sorted(abs(end) // size * (1 if (end < 0) == (divisor < 0) else -1) for end in (low, high))
    e.facts.assume(quotient, (ends[0], ends[1]))
    return quotient


def _towards_zero(e: Emitter, x: Value, size: int) -> Value:
    """x, and size - 1 more where it is negative, of a power of two: x / size and its multiple are parts of it."""
    width, place = width_of(x), size.bit_length() - 1
    last = _shifted(e, llvm.AShr, x, width - 1) if place > 1 else x
    return e.symmetric(llvm.Add, x, _shifted(e, llvm.LShr, last, width - place))  # x may be a sum read elsewhere


def _scaled_with_sign(e: Emitter, x: Value, divisor: int, low: int, high: int) -> Value:
    """As `_scaled`, m being above the reciprocal: the product rounds down, one too low for every negative x.

    For those the error may reach 2^p, since x m / 2^p is below x / d then. By a negative number likewise: the product
    is taken from the sign.
    """
    width, negative, divisor = width_of(x), divisor < 0, abs(divisor)
    shift, power, multiplier = 0, 0, 0
    for shift in range(divisor.bit_length()):
        power = 1 << width + shift
        multiplier = power // divisor + 1
        error = multiplier * divisor - power
        if error * high < power and error * -low <= power:
            break
    product = _high(e, x, multiplier, True)
    if multiplier >> width - 1:  # as a signed number it is 2^width less
        product = add(e, product, x)
    quotient = _shifted(e, llvm.AShr, product, shift)
    if negative:
        return sub(e, _shifted(e, llvm.AShr, x, width - 1), quotient)
    return add(e, quotient, _shifted(e, llvm.LShr, x, width - 1))


def _high(e: Emitter, x: Value, multiplier: int, signed: bool) -> Value:
    """The high half of a product."""
    return e.value(nvvm.MulHigh, x.type, x, e.constant(x.type, multiplier), **({"signed": True} if signed else {}))


def _shifted(e: Emitter, cls: type[Op], x: Value, by: int) -> Value:
    return shift_right(e, cls, x, e.constant(x.type, by))


def floor_divide(e: Emitter, x: Value, y: Value) -> Value:
    """Signed division rounded down; by a constant, of a negative x the complement of what its complement gives."""
    if x.type == I1:
        return x
    b = e.integer(y)
    if b is not None and b > 0:
        if b & (b - 1) == 0:
            return _shifted(e, llvm.AShr, x, b.bit_length() - 1)
        if e.facts.range(x)[0] >= 0:
            return divide(e, llvm.UDiv, x, y)
        if width_of(x) < 32:
            return truncate(e, floor_divide(e, extend(e, x, I32, True), e.i32(b)), x.type)
        sign = _shifted(e, llvm.AShr, x, width_of(x) - 1)
        low, high = e.facts.range(x)
        return xor(e, _unsigned(e, xor(e, x, sign), b, max(high, -1 - low)), sign)
    quotient, rest, y = _with_rest(e, llvm.SDiv, x, y)
    if e.facts.range(y)[0] > 0 and width_of(x) < 32:  # the rest has the sign of x
        return truncate(e, add(e, quotient, _shifted(e, llvm.AShr, rest, width_of(rest) - 1)), x.type)
    zero = e.constant(y.type, 0)
    crosses = icmp(e, "slt", xor(e, rest, y), zero)
    adjust = bit_and(e, icmp(e, "ne", rest, zero), crosses)
    return truncate(e, select(e, adjust, add(e, quotient, e.constant(y.type, -1)), quotient), x.type)


def ceil_divide(e: Emitter, x: Value, y: Value, signed: bool) -> Value:
    """Division rounded up: the truncated quotient, plus one where a remainder has the divisor's sign."""
    if x.type == I1:
        return x
    divisor = e.integer(y)
    if divisor and width_of(x) < 32:
        return truncate(e, ceil_divide(e, extend(e, x, I32, signed), extend(e, y, I32, signed), signed), x.type)
    if divisor is not None and divisor > 0 and e.facts.range(x)[0] >= 0 and e.facts.adds(x, plus=divisor - 1):
        return divide(e, llvm.UDiv, add(e, x, e.constant(x.type, divisor - 1), True), y)
    if divisor is not None and divisor > 0 and divisor & divisor - 1 == 0 and e.facts.range(x)[0] >= 0:
        raised = add(e, x, e.constant(x.type, divisor - 1))  # as a number without a sign it does not wrap
        quotient = _shifted(e, llvm.LShr, raised, divisor.bit_length() - 1)
        e.facts.assume(quotient, (0, -(-e.facts.range(x)[1] // divisor)))
        return quotient
    quotient, rest, y = _with_rest(e, llvm.SDiv if signed else llvm.UDiv, x, y)
    zero = e.constant(y.type, 0)
    if not signed:
        grows = icmp(e, "ne", rest, zero)
    elif e.facts.range(y)[0] > 0:
        grows = icmp(e, "sgt", rest, zero)
    else:
        grows = bit_and(e, icmp(e, "ne", rest, zero), icmp(e, "sge", xor(e, rest, y), zero))
    return truncate(e, select(e, grows, add(e, quotient, e.constant(y.type, 1)), quotient), x.type)


def _with_rest(e: Emitter, cls: type[Op], x: Value, y: Value) -> tuple[Value, Value, Value]:
    """The quotient, what it leaves, and the divisor; as i32 of what is narrower, where no quotient wraps."""
    signed, quotient = cls in SIGNED, divide(e, cls, x, y)
    if width_of(x) < 32 and (not signed or e.facts.range(y)[0] > 0):
        quotient, x, y = (extend(e, each, I32, signed) for each in (quotient, x, y))
    return quotient, sub(e, x, mul(e, quotient, y)), y


def floor_remainder(e: Emitter, condition: Value, x: Value, y: Value) -> Value | None:
    """r < 0 ? r + c : r with r = n rem c: n less the next multiple of c below it. None where it is not of this form."""
    negative, repaired = condition.owner, x.owner
    if type(negative) is not llvm.ICmp or type(repaired) is not llvm.Add or y not in e.remainders:
        return None
    number, divisor = e.remainders[y]
    if negative.predicate != "slt" or negative.operands[0] is not y or e.integer(negative.operands[1]) != 0:
        return None
    if repaired.operands[0] is not y or e.integer(repaired.operands[1]) != divisor:
        return None
    if divisor & divisor - 1 == 0:
        return bit_and(e, number, e.constant(y.type, divisor - 1))
    if width_of(y) < 32:
        number = extend(e, number, I32, True)
    factor = e.constant(number.type, divisor)
    rest = sub(e, number, mul(e, floor_divide(e, number, factor), factor))
    e.facts.assume(rest, (0, divisor - 1))
    return truncate(e, rest, y.type)
