"""Parts shared by all conversions: modifiers, rounding to narrow formats, storing the result."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ptxsim.decode import Decode, Sources, Step, assign
from ptxsim.floats import FORMATS, f32_to_bf16, round_bits
from ptxsim.ptx_types import Array, PtxType


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


def refuse(d: Decode, wrong: bool) -> None:
    """Raise UnsupportedModifierError if a form does not exist."""
    if wrong:
        raise d.unsupported(f"`{d.instruction.opcode}`")


def store(d: Decode, to: PtxType, compute: Callable[[*Sources], Array], *sources: *Sources) -> Step:
    """A step that stores what compute(*sources) returns in the destination, extended if that is wider."""
    return assign(d.wide_target(d.operands[0], to), compute, *sources)


def shape(values: Array, form: Conversion) -> Array:
    """Values after .sat and .relu."""
    if form.saturates:
        values = np.where(values > 0, np.minimum(values, values.dtype.type(1)), values.dtype.type(0))
    if form.relu:
        values = np.where(np.isnan(values), values, np.maximum(values, values.dtype.type(0)))
    return values


def round_narrow(values: Array, name: str, mode: str, finite: bool) -> Array:
    """float32 or float64 values as the bits of a format narrower than f32; NaN becomes the canonical NaN."""
    if mode == "rn" and not finite and values.dtype == np.float32:
        if name == "bf16":
            return f32_to_bf16(values)
        if name == "f16":
            bits = values.astype(np.float16).view(np.uint16)
            return np.where(np.isnan(values), np.uint16(0x7FFF), bits)
    return round_bits(values.astype(np.float64), FORMATS[name], mode, finite)
