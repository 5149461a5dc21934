"""cvt between all integer and floating-point types, and the packed narrow formats.

A float source becomes float32 or float64 values, exactly; a float destination is rounded from those once.
"""

from collections.abc import Callable

import numpy as np

from ptxsim.decode import Decode, Step
from ptxsim.exact import directed_f64
from ptxsim.families.conversion import Conversion, refuse, round_narrow, shape, store
from ptxsim.families.convert_narrow import PACKED, decode_pack, decode_packed
from ptxsim.floats import FORMATS, bf16_to_f32, flush_f32, round_bits, tf32_values, to_odd, two_sum
from ptxsim.floors import Floor
from ptxsim.ptx_types import Array, PtxType

_TO_INTEGRAL: dict[str, np.ufunc] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_MODES = ("rn", "rz", "rm", "rp", "rna", "rs")
_SCALARS = ("f16", "bf16", "tf32", "f32", "f64")


def decode_cvt(d: Decode) -> Step:
    """cvt."""
    if d.flag("pack"):
        return decode_pack(d)
    if len(d.types) != 2:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    to, source = d.types
    form = Conversion(
        to,
        source,
        d.take(*_MODES),
        d.take(*_TO_INTEGRAL),
        d.flag("ftz"),
        d.flag("sat"),
        d.flag("relu"),
        d.flag("satfinite"),
    )
    if form.flushes and "f32" not in (to.name, source.name):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if to.is_integer and source.is_integer:
        return _integers(d, form)
    if to.name in PACKED:
        return decode_packed(d, form)
    if (to.name not in _SCALARS and not to.is_integer) or (source.name not in _SCALARS and not source.is_integer):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    refuse(d, form.saturates and "bf16" in (to.name, source.name))
    refuse(d, source.name == "tf32" or (8 in (to.bits, source.bits) and "bf16" in (to.name, source.name)))
    if to.is_integer:
        return _to_integer(d, form)
    return _to_float(d, form)


def _integers(d: Decode, form: Conversion) -> Step:
    """Truncation, extension, and saturation."""
    refuse(d, bool(form.mode or form.integral or form.flushes or form.relu or form.finite))
    refuse(d, "bits" in (form.to.kind, form.source.kind))
    d.finish(2)
    source = d.read_narrow(1, form.source)
    if not form.saturates:
        return store(d, form.to, lambda raw: raw.astype(form.to.dtype), source)
    low, high = _limits(form.to)
    least, greatest = _limits(form.source)
    refuse(d, low <= least and greatest <= high)  # ptxas 13.5: "Illegal modifier '.sat'" if nothing can overflow
    if form.source.kind == "unsigned":
        return store(
            d, form.to, lambda raw: np.minimum(raw.astype(np.uint64), np.uint64(high)).astype(form.to.dtype), source
        )
    bottom, top = max(low, -(1 << 63)), min(high, (1 << 63) - 1)
    return store(d, form.to, lambda raw: np.clip(raw.astype(np.int64), bottom, top).astype(form.to.dtype), source)


def _limits(type_: PtxType) -> tuple[int, int]:
    if type_.kind == "signed":
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1


def _widened(type_: PtxType, flushes: bool) -> Callable[[Array], Array]:
    """The function that computes float32 or float64 values of a float source."""
    if type_.name == "f16":
        return lambda raw: raw.astype(np.float32)
    if type_.name == "bf16":
        return bf16_to_f32
    if type_.name == "tf32":
        return tf32_values
    if type_.name == "f32" and flushes:
        return flush_f32
    return lambda raw: raw


def _to_integer(d: Decode, form: Conversion) -> Step:
    """Rounded to an integer, clamped to the range of the type; NaN gives 0 (PTX ISA, "cvt")."""
    refuse(d, bool(form.mode or form.relu or form.finite) or form.integral is None or form.to.kind == "bits")
    d.finish(2)
    values, source = _widened(form.source, form.flushes), d.read_narrow(1, form.source)
    round_: np.ufunc = _TO_INTEGRAL[form.integral or "rni"]
    low, high = _limits(form.to)
    dtype = form.to.dtype

    def compute(raw: Array) -> Array:
        whole = round_(values(raw).astype(np.float64))
        # 2^63 and 2^64 are float64 values but the largest 64-bit integers are not: compare before converting
        over, under = whole >= float(high), whole <= float(low)
        inside = np.where(over | under | np.isnan(whole), 0.0, whole)
        wide = inside.astype(np.uint64 if form.to.name == "u64" else np.int64).astype(dtype)
        return np.where(over, dtype(high), np.where(under, dtype(low), wide))

    return store(d, form.to, compute, source)


def _to_float(d: Decode, form: Conversion) -> Step:
    _check_to_float(d, form)
    d.finish(2)
    mode = form.mode or "rn"
    if form.source.is_integer:
        raw = d.read_narrow(1, form.source)
        if form.to.name == "f64" and form.source.bits == 64 and mode != "rn":
            return store(d, form.to, lambda whole: directed_f64("add", mode, *_halves(whole)), raw)
        if mode == "rn" and form.to.name in ("f32", "f64") and not form.saturates:
            return store(d, form.to, lambda whole: whole.astype(form.to.dtype), raw)
        return store(d, form.to, lambda whole: _round(shape(_exact_integer(whole), form), form, mode), raw)
    values, source = _widened(form.source, form.flushes), d.read_narrow(1, form.source)
    integral: np.ufunc | None = _TO_INTEGRAL[form.integral] if form.integral else None

    def compute(raw: Array) -> Array:
        value = values(raw)
        if integral is not None:
            value = integral(value)
        return _round(shape(value, form), form, mode)

    return store(d, form.to, compute, source)


def _check_to_float(d: Decode, form: Conversion) -> None:
    """Reject what ptxas 13.5 rejects: a rounding mode is allowed exactly if bits can be lost, extras only if they
    exist.
    """
    to, source = form.to.name, form.source.name
    refuse(d, form.source.kind == "bits")
    if form.relu or form.finite or to == "tf32":
        modes = ("rn", "rz", "rna") if to == "tf32" and not form.relu else ("rn", "rz")
        refuse(d, to not in ("f16", "bf16", "tf32") or source != "f32" or form.mode not in modes)
        refuse(d, form.integral is not None or (to == "tf32" and (form.flushes or form.saturates)))
        return
    refuse(d, form.mode in ("rna", "rs") or (form.integral is not None and to != source))
    refuse(d, form.mode is not None and to == source)
    if form.source.is_integer:
        refuse(d, form.mode is None or (form.flushes and to != "f32"))
    elif source != "bf16" and not (source == "f16" and to == "bf16"):
        refuse(d, (form.mode is None) != (form.source.bits <= form.to.bits))


def _halves(raw: Array) -> tuple[Array, Array]:
    """A 64-bit integer as two float64 values that add up to it exactly."""
    low = (raw & raw.dtype.type(0xFFFFFFFF)).astype(np.float64)
    high = (raw >> raw.dtype.type(32)).astype(np.float64) * 2.0**32
    return high, low


def _exact_integer(raw: Array) -> Array:
    """Integers as float64, rounded to odd where 53 bits do not hold them."""
    if raw.dtype.itemsize < 8:
        return raw.astype(np.float64)
    return to_odd(*two_sum(*_halves(raw)))


def _round(values: Array, form: Conversion, mode: str) -> Array:
    """Values in the destination's storage type."""
    name = form.to.name
    if name == "f64":
        return values.astype(np.float64)
    if name == "f32":
        if values.dtype == np.float32:
            result = values
        elif mode == "rn":
            result = values.astype(np.float32)
        else:
            result = round_bits(values, FORMATS["f32"], mode).view(np.float32)
        return flush_f32(result) if form.flushes else result
    return round_narrow(values, name, mode, form.finite).view(form.to.dtype)


OPCODES: dict[str, Callable[[Decode], Step]] = {"cvt": decode_cvt}
FLOORS = (
    Floor("cvt bf16|bf16x2|tf32", "80", "7.0"),
    Floor("cvt f16x2.f32", "80", "7.0"),
    Floor("cvt relu", "80", "7.0"),
    Floor("cvt f32.bf16", "80", "7.1"),
    Floor("cvt tf32 rn|rz", "90", "7.8"),
    Floor("cvt bf16.bf16", "90", "7.8"),
    Floor("cvt bf16 s8|s16|s32|s64|u8|u16|u32|u64|f16|f64", "90", "7.8"),
    Floor("cvt satfinite f16.f32|bf16.f32|f16x2.f32|bf16x2.f32|tf32.f32", "", "8.1"),
    Floor("cvt rn.satfinite.tf32|rz.satfinite.tf32", "100", "8.6"),
)
