"""Arithmetic on pairs of f32 in one register, and f32 arithmetic with 16-bit sources (both from sm_100 on)."""

from collections.abc import Callable

import numpy as np

from ptxsim.decode import Decode, Step, assign
from ptxsim.families.floating import arithmetic, take_rounding, widen
from ptxsim.floors import Floor
from ptxsim.ptx_types import TYPES, Array

_F32 = TYPES["f32"]


def is_packed(d: Decode) -> bool:
    """Whether an instruction is handled here: its type is .f32x2, or .f32 with a 16-bit source type."""
    names = [name for name in d.instruction.modifiers if name in TYPES]
    return names == ["f32x2"] or names in (["f32", "f16"], ["f32", "bf16"])


def decode_arithmetic(d: Decode) -> Step:
    """add, sub, mul and fma."""
    if len(d.types) == 2:
        return _mixed(d)
    type_ = d.type()
    name = d.instruction.base
    rounding = take_rounding(d, _F32, required=name == "fma")
    if rounding.saturates:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    count = 3 if name == "fma" else 2
    d.finish(count + 1)
    operation = arithmetic("add" if name == "sub" else name, rounding, np.float32, negate=1 if name == "sub" else None)

    def compute(*raw: Array) -> Array:
        return operation(*(value.view(np.float32) for value in raw)).view(np.uint64)

    return assign(d.write(0, type_), compute, *(d.read(number, type_) for number in range(1, count + 1)))


def _mixed(d: Decode) -> Step:
    """add, sub: d = a + c; fma: d = a * b + c, where a and b are 16-bit floats and c is f32."""
    name = d.instruction.base
    narrow = d.types[1]
    rounding = take_rounding(d, _F32, required=name == "fma")
    if name == "mul" or rounding.flushes:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    halves = 2 if name == "fma" else 1
    d.finish(halves + 2)
    operation = arithmetic("add" if name == "sub" else name, rounding, np.float32, negate=1 if name == "sub" else None)

    def compute(*raw: Array) -> Array:
        return operation(*(widen(value, narrow) for value in raw[:-1]), raw[-1])

    sources = [d.read(number, narrow) for number in range(1, halves + 1)]
    return assign(d.write(0, _F32), compute, *sources, d.read(halves + 1, _F32))


OPCODES: dict[str, Callable[[Decode], Step]] = {
    "add": decode_arithmetic,
    "sub": decode_arithmetic,
    "mul": decode_arithmetic,
    "fma": decode_arithmetic,
}
FLOORS = (
    Floor("add f32x2|f32.f16|f32.bf16", "100", "8.6"),
    Floor("sub f32x2|f32.f16|f32.bf16", "100", "8.6"),
    Floor("mul f32x2", "100", "8.6"),
    Floor("fma f32x2|f32.f16|f32.bf16", "100", "8.6"),
)
