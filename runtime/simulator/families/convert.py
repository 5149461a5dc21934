"""cvt between all integer and floating-point types, and the packed narrow formats.

A float source becomes float32 or float64 values, exactly; a float destination is rounded from those once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.simulator.decode import Decode, Step
from runtime.simulator.exact import directed_f64
from runtime.simulator.floats import (
    FORMATS,
    bf16_to_f32,
    f32_to_bf16,
    float8_table,
    flush_f32,
    round_bits,
    tf32_values,
    to_odd,
    two_sum,
)
from runtime.simulator.types import TYPES, Array, PtxType

_TO_INTEGRAL: dict[str, Any] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_MODES = ("rn", "rz", "rm", "rp", "rna")
_SCALARS = ("f16", "bf16", "tf32", "f32", "f64")
_EIGHT = ("e4m3x2", "e5m2x2")


@dataclass(frozen=True, slots=True)
class Conversion:
    """The modifiers of a cvt, and its types."""

    to: PtxType
    source: PtxType
    mode: str | None
    integral: str | None
    flushes: bool
    saturates: bool
    relu: bool
    finite: bool


def decode_cvt(d: Decode) -> Step:
    """cvt."""
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
    if to.name in ("f16x2", "bf16x2", *_EIGHT):
        return _packed(d, form)
    if (to.name not in _SCALARS and not to.is_integer) or (source.name not in _SCALARS and not source.is_integer):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if to.is_integer:
        return _to_integer(d, form)
    return _to_float(d, form)


def _refuse(d: Decode, wrong: bool) -> None:
    if wrong:
        raise d.unsupported(f"`{d.instruction.opcode}`")


def _store(d: Decode, to: PtxType, compute: Callable[[], Array]) -> Step:
    target = d.wide_target(d.operands[0], to)

    def step(mask: Array | None) -> None:
        result = compute()
        if mask is None:
            np.copyto(target, result, casting="unsafe")
        else:
            np.copyto(target, result, where=mask, casting="unsafe")

    return step


def _integers(d: Decode, form: Conversion) -> Step:
    """Truncation, extension, and saturation."""
    _refuse(d, bool(form.mode or form.integral or form.flushes or form.relu or form.finite))
    _refuse(d, "bits" in (form.to.kind, form.source.kind))
    d.finish(2)
    source = d.read_narrow(1, form.source)
    if not form.saturates:
        return _store(d, form.to, lambda: source.astype(form.to.dtype))
    low, high = _limits(form.to)
    least, greatest = _limits(form.source)
    _refuse(d, low <= least and greatest <= high)  # ptxas 13.5: "Illegal modifier '.sat'" where nothing can overflow
    if form.source.kind == "unsigned":
        return _store(d, form.to, lambda: np.minimum(source.astype(np.uint64), np.uint64(high)).astype(form.to.dtype))
    bottom, top = max(low, -(1 << 63)), min(high, (1 << 63) - 1)
    return _store(d, form.to, lambda: np.clip(source.astype(np.int64), bottom, top).astype(form.to.dtype))


def _limits(type_: PtxType) -> tuple[int, int]:
    if type_.kind == "signed":
        return -(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1
    return 0, (1 << type_.bits) - 1


def _source(d: Decode, number: int, type_: PtxType, flushes: bool) -> Callable[[], Array]:
    """What computes float32 or float64 values of a float source."""
    raw = d.read_narrow(number, type_)
    if type_.name == "f16":
        return lambda: raw.astype(np.float32)
    if type_.name == "bf16":
        return lambda: bf16_to_f32(raw)
    if type_.name == "tf32":
        return lambda: tf32_values(raw)
    if type_.name == "f32" and flushes:
        return lambda: flush_f32(raw)
    return lambda: raw


def _to_integer(d: Decode, form: Conversion) -> Step:
    """Rounded to an integer, clamped to the range of the type; NaN gives 0 (PTX ISA, "cvt")."""
    _refuse(d, bool(form.mode or form.relu or form.finite) or form.integral is None or form.to.kind == "bits")
    d.finish(2)
    values = _source(d, 1, form.source, form.flushes)
    round_: Any = _TO_INTEGRAL[form.integral or "rni"]
    low, high = _limits(form.to)
    dtype = form.to.dtype

    def compute() -> Array:
        whole = round_(values().astype(np.float64))
        # 2^63 and 2^64 are float64 values but the largest 64-bit integers are not: compare before converting
        over, under = whole >= float(high), whole <= float(low)
        inside = np.where(over | under | np.isnan(whole), 0.0, whole)
        wide = inside.astype(np.uint64 if form.to.name == "u64" else np.int64).astype(dtype)
        return np.where(over, dtype(high), np.where(under, dtype(low), wide))

    return _store(d, form.to, compute)


def _to_float(d: Decode, form: Conversion) -> Step:
    _refuse(d, form.to.name == "tf32" and form.source.name != "f32")
    _refuse(d, form.mode == "rna" and form.to.name != "tf32")
    _refuse(
        d, (form.relu or form.finite) and (form.to.name not in ("f16", "bf16", "tf32") or form.source.name != "f32")
    )
    _refuse(d, form.integral is not None and (form.to.name != form.source.name or form.to.name == "tf32"))
    _refuse(d, form.source.kind == "bits")
    d.finish(2)
    mode = form.mode or "rn"
    if form.source.is_integer:
        raw = d.read_narrow(1, form.source)
        if form.to.name == "f64" and form.source.bits == 64 and mode != "rn":
            return _store(d, form.to, lambda: directed_f64("add", mode, *_halves(raw)))
        if mode == "rn" and form.to.name in ("f32", "f64") and not form.saturates:
            return _store(d, form.to, lambda: raw.astype(form.to.dtype))
        return _store(d, form.to, lambda: _round(_shape(_exact_integer(raw), form), form, mode))
    values = _source(d, 1, form.source, form.flushes)
    integral: Any = _TO_INTEGRAL[form.integral] if form.integral else None

    def compute() -> Array:
        value = values()
        if integral is not None:
            value = integral(value)
        return _round(_shape(value, form), form, mode)

    return _store(d, form.to, compute)


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


def _shape(values: Array, form: Conversion) -> Array:
    if form.saturates:
        values = np.where(values > 0, np.minimum(values, values.dtype.type(1)), values.dtype.type(0))
    if form.relu:
        values = np.where(np.isnan(values), values, np.maximum(values, values.dtype.type(0)))
    return values


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


def round_narrow(values: Array, name: str, mode: str, finite: bool) -> Array:
    """float32 or float64 values as the bits of a format narrower than f32; NaN becomes the canonical NaN."""
    if mode == "rn" and not finite and values.dtype == np.float32:
        if name == "bf16":
            return f32_to_bf16(values)
        if name == "f16":
            bits = values.astype(np.float16).view(np.uint16)
            return np.where(np.isnan(values), np.uint16(0x7FFF), bits)
    return round_bits(values.astype(np.float64), FORMATS[name], mode, finite)


def _packed(d: Decode, form: Conversion) -> Step:
    """Two values into one register, the first source in the upper half; and 8-bit pairs to and from f16x2."""
    element = form.to.name[:-2]
    source = form.source.name
    is_eight = form.to.name in _EIGHT
    _refuse(d, form.saturates or form.flushes or form.integral is not None or form.mode not in ("rn", "rz"))
    _refuse(d, is_eight and (form.mode != "rn" or not form.finite))
    if source == "f32":
        d.finish(3)
        high, low = d.read(1, TYPES["f32"]), d.read(2, TYPES["f32"])
        mode = form.mode or "rn"
        storage: Any = np.uint8 if is_eight else np.uint16
        pair = np.empty((d.machine.lanes, 2), storage)
        packed = pair.view(form.to.dtype)[:, 0]

        def compute() -> Array:
            for column, values in ((0, low), (1, high)):
                pair[:, column] = round_narrow(_shape(values, form), element, mode, form.finite)
            return packed

        return _store(d, form.to, compute)
    d.finish(2)
    if is_eight and source in ("f16x2", "bf16x2"):
        raw = d.read(1, form.source)

        def narrow() -> Array:
            values = raw.view(np.float16).astype(np.float32) if source == "f16x2" else bf16_to_f32(raw.view(np.uint16))
            return round_narrow(_shape(values, form), element, "rn", finite=True).view(np.uint16)

        return _store(d, form.to, narrow)
    _refuse(d, form.to.name != "f16x2" or source not in _EIGHT or form.mode != "rn" or form.finite)
    bytes_ = d.read(1, form.source)
    table = float8_table(source[:-2])
    return _store(
        d, form.to, lambda: round_narrow(_shape(table[bytes_.view(np.uint8)], form), "f16", "rn", False).view(np.uint32)
    )


OPCODES: dict[str, Callable[[Decode], Step]] = {"cvt": decode_cvt}
