"""Integer arithmetic: add sub mul mad sad div rem abs neg min max, carries, dot products, 24-bit forms."""

from collections.abc import Callable

import numpy as np

from ptxsim.decode import Decode, Step, assign, into
from ptxsim.floors import Floor
from ptxsim.ptx_types import TYPES, Array, PtxType, signed, unsigned

_WIDTHS = (16, 32, 64)


def _integer_type(d: Decode, widths: tuple[int, ...] = _WIDTHS) -> PtxType:
    type_ = d.type()
    if type_.kind not in ("unsigned", "signed") or type_.bits not in widths:
        raise d.unsupported(f"`{d.instruction.base}` of .{type_.name}")
    return type_


def decode_add_sub(d: Decode) -> Step:
    """add and sub, with .sat on s32, with .cc; add.u16x2 and add.s16x2."""
    if pair := d.take("u16x2", "s16x2"):
        return _add_pairs(d, pair)
    type_ = _integer_type(d)
    is_add = d.instruction.base == "add"
    if d.flag("cc"):
        return _with_carry(d, type_, is_add, reads_carry=False, writes_carry=True)
    saturates = d.flag("sat")
    d.finish(3)
    a, b = d.read(1, type_), d.read(2, type_)
    if not saturates:
        return into(d.write(0, type_), np.add if is_add else np.subtract, a, b)
    if type_.name != "s32":
        raise d.unsupported(f".sat on .{type_.name}")
    operation: np.ufunc = np.add if is_add else np.subtract
    low, high = -(1 << 31), (1 << 31) - 1
    return assign(
        d.write(0, type_), lambda x, y: np.clip(operation(x.astype(np.int64), y.astype(np.int64)), low, high), a, b
    )


def _add_pairs(d: Decode, pair: str) -> Step:
    if d.instruction.base != "add":
        raise d.unsupported(f"sub.{pair}")
    d.finish(3)
    u32 = TYPES["u32"]
    return assign(
        d.write(0, u32),
        lambda a, b: (a.view(np.uint16) + b.view(np.uint16)).view(np.uint32),
        d.read(1, u32),
        d.read(2, u32),
    )


def decode_addc(d: Decode) -> Step:
    """addc{.cc} and subc{.cc}."""
    type_ = _integer_type(d, (32, 64))
    return _with_carry(d, type_, d.instruction.base == "addc", reads_carry=True, writes_carry=d.flag("cc"))


def _with_carry(d: Decode, type_: PtxType, is_add: bool, reads_carry: bool, writes_carry: bool) -> Step:
    if type_.bits not in (32, 64):
        raise d.unsupported(f"a carry on .{type_.name}")
    d.finish(3)
    whole = TYPES[f"u{type_.bits}"]
    a, b, target = d.read(1, whole), d.read(2, whole), d.write(0, whole)
    carry = d.machine.carry

    def step(mask: Array | None) -> None:
        # a - b is a + ~b + 1, whose carry out means no borrow (PTX ISA, "sub.cc", "subc")
        addend = b if is_add else ~b
        incoming = carry if reads_carry else np.full(carry.shape, not is_add)
        partial = a + addend
        result = partial + incoming
        out = (partial < a) | (result < partial)
        _store(target, result, mask)
        if writes_carry:
            _store(carry, out, mask)

    return step


def _store(target: Array, value: Array, mask: Array | None) -> None:
    if mask is None:
        np.copyto(target, value, casting="unsafe")
    else:
        np.putmask(target, mask, value)


def high_product(a: Array, b: Array) -> Array:
    """The upper half of the double-width product of two arrays of one integer type."""
    bits = a.dtype.itemsize * 8
    is_signed = a.dtype.kind == "i"
    if bits < 64:
        wide = np.int64 if is_signed else np.uint64
        return ((a.astype(wide) * b.astype(wide)) >> wide(bits)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    x, y = a.view(np.uint64), b.view(np.uint64)
    middle = (x >> half) * (y & low) + (((x & low) * (y & low)) >> half)
    other = (x & low) * (y >> half) + (middle & low)
    result = (x >> half) * (y >> half) + (middle >> half) + (other >> half)
    if is_signed:
        zero = np.uint64(0)
        result = result - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)
    return result.view(a.dtype)


def decode_mul(d: Decode) -> Step:
    """mul.lo, mul.hi, mul.wide."""
    type_ = _integer_type(d)
    part = d.need("lo", "hi", "wide")
    d.finish(3)
    a, b = d.read(1, type_), d.read(2, type_)
    if part == "lo":
        return into(d.write(0, type_), np.multiply, a, b)
    if part == "hi":
        return assign(d.write(0, type_), high_product, a, b)
    wide = _wide(d, type_)
    return into(d.write(0, wide), lambda x, y, out: np.multiply(x, y, out=out, dtype=wide.dtype), a, b)


def _wide(d: Decode, type_: PtxType) -> PtxType:
    if type_.bits == 64:
        raise d.unsupported(f".wide on .{type_.name}")
    return TYPES[f"{type_.name[0]}{2 * type_.bits}"]


def decode_mad(d: Decode) -> Step:
    """mad.lo, mad.hi{.sat}, mad.wide, and their carry forms mad.cc and madc."""
    type_ = _integer_type(d)
    part = d.need("lo", "hi", "wide")
    is_carrying = d.instruction.base == "madc"
    writes_carry = d.flag("cc")
    saturates = d.flag("sat")
    d.finish(4)
    a, b = d.read(1, type_), d.read(2, type_)
    result = _wide(d, type_) if part == "wide" else type_
    c, target = d.read(3, result), d.write(0, result)
    if is_carrying or writes_carry:
        if part == "wide" or saturates or type_.bits == 16:
            raise d.unsupported(f"`{d.instruction.opcode}`")
        return _mad_carry(d, part, (a, b, c, target), is_carrying, writes_carry)
    if saturates:
        if part != "hi" or type_.name != "s32":
            raise d.unsupported(f"`{d.instruction.opcode}`")
        low, high = -(1 << 31), (1 << 31) - 1
        return assign(target, lambda x, y, z: np.clip(high_product(x, y).astype(np.int64) + z, low, high), a, b, c)
    if part == "hi":
        return assign(target, lambda x, y, z: high_product(x, y) + z, a, b, c)
    dtype = result.dtype

    def multiply_add(x: Array, y: Array, z: Array, out: Array) -> None:
        np.add(np.multiply(x, y, dtype=dtype), z, out)

    return into(target, multiply_add, a, b, c)


def _mad_carry(
    d: Decode, part: str, operands: tuple[Array, Array, Array, Array], reads_carry: bool, writes_carry: bool
) -> Step:
    a, b, c, target = operands
    carry = d.machine.carry
    dtype = unsigned(target.dtype.itemsize * 8)

    def step(mask: Array | None) -> None:
        product = (high_product(a, b) if part == "hi" else a * b).view(dtype)
        partial = product + c.view(dtype)
        result = partial + carry if reads_carry else partial
        out = (partial < product) | (result < partial)
        _store(target.view(dtype), result, mask)
        if writes_carry:
            _store(carry, out, mask)

    return step


def decode_mul24(d: Decode) -> Step:
    """mul24 and mad24, .lo and .hi: the product of the low 24 bits, 48 bits wide."""
    type_ = _integer_type(d, (32,))
    part = d.need("lo", "hi")
    is_mad = d.instruction.base == "mad24"
    saturates = d.flag("sat")
    if saturates and not (is_mad and part == "hi" and type_.name == "s32"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(4 if is_mad else 3)
    up = type_.dtype(8)

    def product(x: Array, y: Array) -> Array:
        wide = ((x << up) >> up).astype(np.int64) * ((y << up) >> up).astype(np.int64)
        return (wide if part == "lo" else wide >> 16).astype(np.uint32).view(type_.dtype)

    a, b, target = d.read(1, type_), d.read(2, type_), d.write(0, type_)
    if saturates:
        low, high = -(1 << 31), (1 << 31) - 1
        return assign(
            target, lambda x, y, z: np.clip(product(x, y).astype(np.int64) + z, low, high), a, b, d.read(3, type_)
        )
    if is_mad:
        return assign(target, lambda x, y, z: product(x, y) + z, a, b, d.read(3, type_))
    return assign(target, product, a, b)


def decode_sad(d: Decode) -> Step:
    """sad: c + |a - b|."""
    type_ = _integer_type(d)
    d.finish(4)
    whole = unsigned(type_.bits)

    def compute(a: Array, b: Array, c: Array) -> Array:
        a_raw, b_raw = a.view(whole), b.view(whole)
        return c.view(whole) + np.where(a < b, b_raw - a_raw, a_raw - b_raw)

    target = d.write(0, type_).view(whole)
    return assign(target, compute, d.read(1, type_), d.read(2, type_), d.read(3, type_))


def quotient(a: Array, b: Array) -> Array:
    """a / b truncated toward zero; all ones if b is zero, as on hardware (unspecified in PTX)."""
    is_zero = b == 0
    divisor = np.where(is_zero, b.dtype.type(1), b)
    result = a // divisor
    if a.dtype.kind == "i":
        # NumPy rounds down; add one if the exact quotient is negative and not an integer
        result = result + ((result * divisor != a) & ((a < 0) != (divisor < 0)))
    return np.where(is_zero, np.invert(a.dtype.type(0)), result)


def decode_div(d: Decode) -> Step:
    """div."""
    type_ = _integer_type(d)
    d.finish(3)
    return assign(d.write(0, type_), quotient, d.read(1, type_), d.read(2, type_))


def decode_rem(d: Decode) -> Step:
    """rem: a - (a / b) * b, with the sign of a."""
    type_ = _integer_type(d)
    d.finish(3)
    return assign(d.write(0, type_), lambda a, b: a - quotient(a, b) * b, d.read(1, type_), d.read(2, type_))


def decode_abs_neg(d: Decode) -> Step:
    """abs and neg of signed integers."""
    type_ = _integer_type(d)
    if type_.kind != "signed":
        raise d.unsupported(f"`{d.instruction.base}` of .{type_.name}")
    d.finish(2)
    operation: np.ufunc = np.absolute if d.instruction.base == "abs" else np.negative
    return into(d.write(0, type_), operation, d.read(1, type_))


def decode_min_max(d: Decode) -> Step:
    """min and max, also .u16x2 and .s16x2, with .relu on signed types."""
    operation: np.ufunc = np.minimum if d.instruction.base == "min" else np.maximum
    pair = d.take("u16x2", "s16x2")
    is_relu = d.flag("relu")
    if pair is None:
        type_ = _integer_type(d)
        element = type_.dtype
    else:
        type_, element = TYPES["b32"], (np.uint16 if pair == "u16x2" else np.int16)
    if is_relu and (pair != "s16x2" and type_.name != "s32"):
        raise d.unsupported(f".relu on .{pair or type_.name}")
    d.finish(3)

    def compute(a: Array, b: Array) -> Array:
        result = operation(a.view(element), b.view(element))
        result = np.maximum(result, 0) if is_relu else result
        return result.view(type_.dtype)

    return assign(d.write(0, type_), compute, d.read(1, type_), d.read(2, type_))


def decode_dot(d: Decode) -> Step:
    """dp4a and dp2a: c plus the dot product of four bytes (dp2a: two halves and two bytes)."""
    if len(d.types) != 2 or any(type_.name not in ("u32", "s32") for type_ in d.types):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    a_type, b_type = d.types
    is_signed = "s32" in (a_type.name, b_type.name)
    half = d.need("lo", "hi") if d.instruction.base == "dp2a" else None
    d.finish(4)
    a_bytes = (signed if a_type.name == "s32" else unsigned)(8 if half is None else 16)
    b_bytes = (signed if b_type.name == "s32" else unsigned)(8)

    def compute(a: Array, b: Array, c: Array) -> Array:
        x = a.view(a_bytes).reshape(c.size, -1).astype(np.int64)
        y = b.view(b_bytes).reshape(-1, 4).astype(np.int64)
        if half is not None:
            y = y[:, 2:] if half == "hi" else y[:, :2]
        return ((x * y).sum(axis=1) + c.view(np.int32 if is_signed else np.uint32)).astype(np.uint32)

    u32 = TYPES["u32"]
    return assign(d.write(0, u32), compute, d.read(1, u32), d.read(2, u32), d.read(3, u32))


OPCODES: dict[str, Callable[[Decode], Step]] = {
    "add": decode_add_sub,
    "sub": decode_add_sub,
    "addc": decode_addc,
    "subc": decode_addc,
    "mul": decode_mul,
    "mad": decode_mad,
    "madc": decode_mad,
    "mul24": decode_mul24,
    "mad24": decode_mul24,
    "sad": decode_sad,
    "div": decode_div,
    "rem": decode_rem,
    "abs": decode_abs_neg,
    "neg": decode_abs_neg,
    "min": decode_min_max,
    "max": decode_min_max,
    "dp4a": decode_dot,
    "dp2a": decode_dot,
}
FLOORS = (
    Floor("add u16x2|s16x2", "90", "8.0"),
    Floor("max u16x2|s16x2|relu.s32", "90", "8.0"),
    Floor("min u16x2|s16x2|relu.s32", "90", "8.0"),
)
