"""Floating-point arithmetic of f16, bf16, f32 and f64 and of packed halves, with rounding, .ftz, .sat and .relu.

The approximate functions (.approx, .full) are computed to the last bit or nearly so; hardware differs from that within
the error bounds that the PTX ISA states for each instruction. A NaN result is the canonical NaN if the PTX ISA
specifies it (min, max, conversions); otherwise its payload is NumPy's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.decode import Decode, Step, assign, into
from ptxsim.exact import NEAREST_F32, NEAREST_F64, directed_f32, directed_f64
from ptxsim.floats import flush_f32, fma_odd, narrow, widen
from ptxsim.floors import Floor
from ptxsim.ptx_types import Array, PtxType

_DIRECTED = ("rz", "rm", "rp")
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
_CANONICAL_NAN = np.uint32(0x7FFFFFFF).view(np.float32)  # PTX ISA, "Floating-Point Instructions"


@dataclass(frozen=True, slots=True)
class Rounding:
    """The modifiers that affect a result."""

    mode: str
    flushes: bool
    saturates: bool
    relu: bool

    @property
    def is_plain(self) -> bool:
        """Whether plain IEEE round-to-nearest-even arithmetic is enough."""
        return self.mode == "rn" and not (self.flushes or self.saturates or self.relu)


def take_rounding(d: Decode, type_: PtxType, allow_relu: bool = False, required: bool = False) -> Rounding:
    """Consume rounding, .ftz, .sat and .relu; required: whether a rounding modifier must be present."""
    mode = d.need("rn", *_DIRECTED) if required else d.take("rn", *_DIRECTED) or "rn"
    flushes, saturates = d.flag("ftz"), d.flag("sat")
    relu = allow_relu and d.flag("relu")
    if (mode != "rn" or (flushes and type_.name.startswith("bf"))) and type_.name in _HALVES:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if (type_.name == "f64" and (flushes or saturates)) or (type_.name.startswith("bf") and saturates):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if relu and type_.name not in _HALVES:
        raise d.unsupported(f".relu on .{type_.name}")
    return Rounding(mode, flushes, saturates, relu)


def _float_type(d: Decode, names: tuple[str, ...] = (*_HALVES, "f32", "f64")) -> PtxType:
    type_ = d.type()
    if type_.name not in names:
        raise d.unsupported(f"`{d.instruction.base}` of .{type_.name}")
    return type_


def _shape_result(values: Array, rounding: Rounding) -> Array:
    if rounding.flushes:
        values = flush_f32(values) if values.dtype == np.float32 else values
    if rounding.saturates:  # PTX ISA: NaN results are flushed to +0.0
        values = np.where(values > 0, np.minimum(values, values.dtype.type(1)), values.dtype.type(0))
    if rounding.relu:
        values = np.where(np.isnan(values), values, np.maximum(values, values.dtype.type(0)))
    return values


def _half(d: Decode, name: str, type_: PtxType, rounding: Rounding, count: int) -> Step:
    """add, sub, mul or fma of 16-bit floats."""
    is_brain = type_.name.startswith("bf")

    def compute(*raw: Array) -> Array:
        a, b, *c = (widen(value, type_, rounding.flushes) for value in raw)
        if name == "fma":
            # the products of both formats fit in float64; the sum is rounded to odd
            result = fma_odd(a.astype(np.float64), b.astype(np.float64), c[0].astype(np.float64))
        elif name == "mul" and is_brain:
            result = a.astype(np.float64) * b  # float32 would round a subnormal product first
        else:
            result = _HALF_OPERATIONS[name](a, b)
        return narrow(_shape_result(result, rounding), type_, rounding.flushes)

    return assign(d.write(0, type_), compute, *(d.read(number, type_) for number in range(1, count + 1)))


_HALF_OPERATIONS: dict[str, np.ufunc] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}


def decode_add_sub(d: Decode) -> Step:
    """add and sub."""
    type_ = _float_type(d)
    rounding = take_rounding(d, type_)
    d.finish(3)
    name = d.instruction.base
    if type_.name in _HALVES:
        return _half(d, name, type_, rounding, 2)
    a, b, target = d.read(1, type_), d.read(2, type_), d.write(0, type_)
    if rounding.is_plain:
        return into(target, np.add if name == "add" else np.subtract, a, b)
    if name == "add":
        return _shaped(target, "add", rounding, a, b)
    return _shaped(target, "add", rounding, a, b, negate=1)


def _shaped(target: Array, name: str, rounding: Rounding, *sources: Array, negate: int | None = None) -> Step:
    """A step for f32 or f64 arithmetic."""
    return assign(target, arithmetic(name, rounding, target.dtype, negate), *sources)


def arithmetic(name: str, rounding: Rounding, dtype: object, negate: int | None = None) -> Callable[..., Array]:
    """f32 or f64 arithmetic with rounding, flushing and saturation; negate: a source to negate first."""
    is_single = dtype == np.float32
    nearest = (NEAREST_F32 if is_single else NEAREST_F64)[name]
    directed = directed_f32 if is_single else directed_f64

    def compute(*raw: Array) -> Array:
        values = [flush_f32(value) for value in raw] if rounding.flushes else list(raw)
        if negate is not None:
            values[negate] = -values[negate]
        result = nearest(*values) if rounding.mode == "rn" else directed(name, rounding.mode, *values)
        return _shape_result(result, rounding)

    return compute


def decode_mul(d: Decode) -> Step:
    """mul."""
    type_ = _float_type(d)
    rounding = take_rounding(d, type_)
    d.finish(3)
    if type_.name in _HALVES:
        return _half(d, "mul", type_, rounding, 2)
    a, b, target = d.read(1, type_), d.read(2, type_), d.write(0, type_)
    return into(target, np.multiply, a, b) if rounding.is_plain else _shaped(target, "mul", rounding, a, b)


def decode_fma(d: Decode) -> Step:
    """fma, and mad of floats, which is the same on every target with a version above sm_20."""
    is_fma = d.instruction.base == "fma"
    type_ = _float_type(d, (*_HALVES, "f32", "f64") if is_fma else ("f32", "f64"))
    rounding = take_rounding(d, type_, allow_relu=is_fma, required=True)
    d.finish(4)
    if type_.name in _HALVES:
        return _half(d, "fma", type_, rounding, 3)
    sources = [d.read(number, type_) for number in (1, 2, 3)]
    target = d.write(0, type_)
    if rounding.is_plain:
        return assign(target, (NEAREST_F32 if type_.name == "f32" else NEAREST_F64)["fma"], *sources)
    return _shaped(target, "fma", rounding, *sources)


def decode_div(d: Decode) -> Step:
    """div with a rounding mode, .approx or .full."""
    type_ = _float_type(d, ("f32", "f64"))
    approximate = d.take("approx", "full")
    if approximate and type_.name == "f64":
        raise d.unsupported(f"div.{approximate}.f64")
    rounding = take_rounding(d, type_, required=approximate is None)
    d.finish(3)
    return _shaped(d.write(0, type_), "div", rounding, d.read(1, type_), d.read(2, type_))


def decode_root(d: Decode) -> Step:
    """rcp and sqrt with a rounding mode or .approx."""
    type_ = _float_type(d, ("f32", "f64"))
    is_approximate = d.flag("approx")
    name = d.instruction.base
    if type_.name == "f64" and is_approximate:
        if name == "sqrt" or not d.flag("ftz"):
            raise d.unsupported(f"`{d.instruction.opcode}`")
        d.finish(2)
        return assign(d.write(0, type_), lambda a: _upper_half(1.0 / _flush_f64(a)), d.read(1, type_))
    rounding = take_rounding(d, type_, required=not is_approximate)
    d.finish(2)
    return _shaped(d.write(0, type_), name, rounding, d.read(1, type_))


def _upper_half(values: Array) -> Array:
    """Results of the 64-bit approximations: the low 32 bits are zero (PTX ISA, "rcp.approx.ftz.f64")."""
    return (values.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)


def _flush_f64(values: Array) -> Array:
    return np.where(np.abs(values) < np.finfo(np.float64).smallest_normal, np.copysign(0.0, values), values)


def _multiple(values: Array, grain: float) -> Array:
    """The nearest multiples of a power of two."""
    return np.rint(values / grain) * grain


def _angle(values: Array) -> Array:
    """Angles beyond 2 pi as turns that f32 holds: the error grows with the angle, 2^-14.7 at 100 pi (PTX ISA, sin)."""
    turns = (values.astype(np.float32) * np.float32(0.5 / np.pi)).astype(np.float64)
    return np.where(np.abs(values) > 2 * np.pi, turns * (2 * np.pi), values)


def _bits(values: Array, count: int) -> Array:
    """The nearest numbers of `count` significant bits."""
    fraction, exponent = np.frexp(values)
    return np.ldexp(_multiple(fraction, 2.0**-count), exponent)


# Evaluated in float64 and rounded, within the error that the PTX ISA allows. If the allowed error is much larger than
# the last bit, the result is made as coarse, so that code which needs the last bits does not pass here and fail on
# hardware: lg2 2^-22 absolute between 1/2 and 2, sin and cos 2^-20.5 absolute, tanh 2^-11 relative.
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "ex2": np.exp2,
    "lg2": lambda a: _multiple(np.log2(a), 2.0**-22),
    "sin": lambda a: _multiple(np.sin(_angle(a)), 2.0**-21),
    "cos": lambda a: _multiple(np.cos(_angle(a)), 2.0**-21),
    "tanh": lambda a: _bits(np.tanh(a), 11),
    "rsqrt": lambda a: np.where(a == 0, np.copysign(np.inf, a), 1.0 / np.sqrt(a)),
}


def decode_function(d: Decode) -> Step:
    """ex2, lg2, sin, cos, tanh and rsqrt, all approximate."""
    name = d.instruction.base
    halves = _HALVES if name in ("ex2", "tanh") else ()
    singles = ("f32", "f64") if name == "rsqrt" else ("f32",)
    type_ = _float_type(d, (*halves, *singles))
    d.need("approx")
    flushes = d.flag("ftz")
    if (flushes and (name == "tanh" or type_.name.startswith("f16"))) or (
        name == "ex2" and type_.name.startswith("bf") and not flushes
    ):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2)
    function = _FUNCTIONS[name]
    source, target = d.read(1, type_), d.write(0, type_)
    if type_.name in _HALVES:
        return assign(target, lambda a: _half_function(function, a, type_, flushes), source)
    if type_.name == "f64":
        flush: Callable[[Array], Array] = _flush_f64 if flushes else np.array
        return assign(target, lambda a: _upper_half(function(flush(a))), source)

    def compute(a: Array) -> Array:
        values = flush_f32(a) if flushes else a
        result = function(values.astype(np.float64)).astype(np.float32)
        return flush_f32(result) if flushes else result

    return assign(target, compute, source)


def _half_function(function: Callable[[Array], Array], raw: Array, type_: PtxType, flushes: bool) -> Array:
    """A function of 16-bit floats; with .ftz subnormal results become zero, a form that only bf16 has."""
    result = narrow(function(widen(raw, type_).astype(np.float64)), type_)
    if not flushes:
        return result
    return narrow(flush_f32(widen(result, type_)), type_)


def decode_abs_neg(d: Decode) -> Step:
    """abs and neg: change only the sign bit."""
    type_ = _float_type(d)
    flushes = d.flag("ftz")
    if flushes and type_.name not in ("f32", "f16", "f16x2"):
        raise d.unsupported(f".ftz on .{type_.name}")
    d.finish(2)
    bits: type[np.unsignedinteger] = {"f16": np.uint16, "bf16": np.uint16, "f64": np.uint64}.get(type_.name, np.uint32)
    sign = 0x80008000 if type_.name.endswith("x2") else 1 << (type_.bits - 1)
    is_abs = d.instruction.base == "abs"
    operand = bits(~sign & ((1 << type_.bits) - 1) if is_abs else sign)
    operation: np.ufunc = np.bitwise_and if is_abs else np.bitwise_xor
    source, target = d.read(1, type_), d.write(0, type_).view(bits)
    if not flushes:
        return into(target, lambda a, out: operation(a, operand, out), source.view(bits))

    def compute(a: Array) -> Array:
        flushed = flush_f32(a) if type_.name == "f32" else narrow(widen(a, type_, flushes=True), type_)
        return operation(flushed.view(bits), operand)

    return assign(target, compute, source)


def decode_copysign(d: Decode) -> Step:
    """copysign: the magnitude of b with the sign of a."""
    type_ = _float_type(d, ("f32", "f64"))
    d.finish(3)
    return assign(d.write(0, type_), lambda a, b: np.copysign(b, a), d.read(1, type_), d.read(2, type_))


def decode_min_max(d: Decode) -> Step:
    """min and max, with .NaN and .xorsign.abs; -0 is below +0 and NaN loses unless .NaN is given."""
    if len(d.operands) == 4:
        return _min_max_of_three(d)
    type_ = _float_type(d)
    flushes, keeps_nan = d.flag("ftz"), d.flag("NaN")
    xors_sign = d.flag("xorsign")
    if xors_sign:
        d.need("abs")
    if (type_.name == "f64" and (flushes or keeps_nan or xors_sign)) or (flushes and type_.name.startswith("bf")):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3)
    choose = _Choice(d.instruction.base == "min", keeps_nan, xors_sign)
    a, b, target = d.read(1, type_), d.read(2, type_), d.write(0, type_)
    if type_.name in _HALVES:
        return assign(
            target, lambda x, y: narrow(choose(widen(x, type_, flushes), widen(y, type_, flushes)), type_), a, b
        )
    if flushes:
        return assign(target, lambda x, y: choose(flush_f32(x), flush_f32(y)), a, b)
    return assign(target, choose, a, b)


def _min_max_of_three(d: Decode) -> Step:
    """min and max of three f32, with .ftz, .NaN and .abs, which applies to the sources (sm_100 on)."""
    type_ = _float_type(d, ("f32",))
    flushes, keeps_nan, is_abs = d.flag("ftz"), d.flag("NaN"), d.flag("abs")
    d.finish(4)
    choose = _Choice(d.instruction.base == "min", keeps_nan, xors_sign=False)

    def compute(*sources: Array) -> Array:
        values = [flush_f32(source) if flushes else source for source in sources]
        a, b, c = [np.abs(value) for value in values] if is_abs else values
        return choose(choose(a, b), c)

    return assign(d.write(0, type_), compute, *(d.read(number, type_) for number in (1, 2, 3)))


@dataclass(frozen=True, slots=True)
class _Choice:
    """min or max of two float arrays as defined by PTX."""

    is_min: bool
    keeps_nan: bool
    xors_sign: bool

    def __call__(self, a: Array, b: Array) -> Array:
        if self.xors_sign:
            sign = np.signbit(a) ^ np.signbit(b)
            result = self._plain(np.abs(a), np.abs(b))
            return np.where(np.isnan(result), result, np.where(sign, -result, result))
        return self._plain(a, b)

    def _plain(self, a: Array, b: Array) -> Array:
        operation: np.ufunc = np.fmin if self.is_min else np.fmax
        result: Array = operation(a, b)
        if not result.all():  # if a result is zero: choose its sign, which fmin and fmax leave open
            both = (a == 0) & (b == 0)
            negative = (np.signbit(a) | np.signbit(b)) if self.is_min else (np.signbit(a) & np.signbit(b))
            zero = np.zeros_like(result)
            zero[negative] = -0.0
            result = np.where(both, zero, result)
        nan = result != result
        if self.keeps_nan:
            nan = (a != a) | (b != b)
        if nan.any():
            canonical = _CANONICAL_NAN if result.dtype == np.float32 else np.float64(np.nan)
            result = np.where(nan, canonical, result)
        return result


OPCODES: dict[str, Callable[[Decode], Step]] = {
    "add": decode_add_sub,
    "sub": decode_add_sub,
    "mul": decode_mul,
    "fma": decode_fma,
    "mad": decode_fma,
    "div": decode_div,
    "rcp": decode_root,
    "sqrt": decode_root,
    "rsqrt": decode_function,
    "ex2": decode_function,
    "lg2": decode_function,
    "sin": decode_function,
    "cos": decode_function,
    "tanh": decode_function,
    "abs": decode_abs_neg,
    "neg": decode_abs_neg,
    "copysign": decode_copysign,
    "min": decode_min_max,
    "max": decode_min_max,
}
FLOORS = (
    Floor("add bf16|bf16x2", "90", "7.8"),
    Floor("sub bf16|bf16x2", "90", "7.8"),
    Floor("mul bf16|bf16x2", "90", "7.8"),
    Floor("fma bf16|bf16x2|relu", "80", "7.0"),
    Floor("max f16|f16x2|bf16|bf16x2|NaN", "80", "7.0"),
    Floor("min f16|f16x2|bf16|bf16x2|NaN", "80", "7.0"),
    Floor("max xorsign", "86", "7.2"),
    Floor("min xorsign", "86", "7.2"),
    Floor("max f32 #4", "100", "8.8"),
    Floor("min f32 #4", "100", "8.8"),
    Floor("ex2 f16|f16x2", "75", "7.0"),
    Floor("ex2 bf16|bf16x2", "90", "7.8"),
    Floor("tanh", "75", "7.0"),
    Floor("tanh bf16|bf16x2", "90", "7.8"),
    Floor("abs f16|f16x2", "", "6.5"),
)
