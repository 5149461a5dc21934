"""Pairs of f32 in one 64-bit register, packed for f32x2 and unpacked after it; neither becomes an instruction in ptxas
if both are in an aligned register pair, or are equal.
"""

from __future__ import annotations

from ir.bits import bit_pattern
from ir.core import Value
from ir.dialects import llvm, nvgpu, nvvm
from ir.types import F32, I32, I64
from lowering.atoms.powers import POLYNOMIALS
from lowering.convert.nvgpu_to_nvvm import integers as ints
from lowering.convert.nvgpu_to_nvvm.accurate import MAGIC, f32
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, wrap
from lowering.convert.nvgpu_to_nvvm.values import bitcast

BIAS = 127  # of the exponent of an f32
BELOW, ABOVE = -float(BIAS), float(BIAS + 1)
"""Exponents with a zero and with an infinity for 2^n: below and above all numbers whose power is one."""


@lowers(nvvm.AddF32x2, nvvm.SubF32x2, nvvm.MulF32x2, nvvm.FmaF32x2)
def arithmetic(c: Conversion, op: nvvm.Pairs) -> None:
    """f32x2: operands in two registers are packed, or already are."""
    held = [c.registers(value) for value in op.operands]
    made = c.e.value(type(op), I64, *(joined(c.e, registers) for registers in held), **op.attributes)
    c.define(op.results[0], [made] if op.results[0].type == I64 else parted(c.e, made))


@lowers(nvgpu.Exp2Pair)
def power(c: Conversion, op: nvgpu.Exp2Pair) -> None:
    """2^n p(x - n), n = floor x, rounded by a sum whose low bits are then the exponent of 2^n.

    A product, not an addition to the exponent, puts them together, so that 0, infinity and NaN are right.
    """
    e = c.e
    clamped = [
        e.value(llvm.Minimum, F32, e.value(llvm.Maximum, F32, x, f32(e, BELOW)), f32(e, ABOVE))
        for x in c.registers(op.operand)
    ]
    x, shift = joined(e, clamped), MAGIC + BIAS
    shifted = e.value(nvvm.AddF32x2, I64, x, twice(e, shift), rounding="rm", ftz=True)
    whole = e.value(nvvm.AddF32x2, I64, shifted, twice(e, -shift), ftz=True)
    rest = e.value(nvvm.SubF32x2, I64, x, whole, ftz=True)
    coefficients = POLYNOMIALS[op.degree].coefficients
    value = twice(e, coefficients[-1])
    for coefficient in (*coefficients[-2::-1], 1.0):
        value = e.value(nvvm.FmaF32x2, I64, value, rest, twice(e, coefficient), ftz=True)
    powers = [bitcast(e, ints.shl(e, bitcast(e, n, I32), e.i32(23)), F32) for n in parted(e, shifted)]
    c.define(op.result, parted(e, e.value(nvvm.MulF32x2, I64, value, joined(e, powers), ftz=True)))


def twice(e: Emitter, number: float) -> Value:
    """A pair of one number."""
    return joined(e, [f32(e, number)] * 2)


def joined(e: Emitter, registers: list[Value]) -> Value:
    """Two f32 in one register; two halves of the same register are that register."""
    if len(registers) == 1:
        return registers[0]
    first = registers[0].owner
    if type(first) is nvvm.Unpack and first.results == registers:
        return first.operands[0]
    if all(x in e.known for x in registers):
        low, high = (bit_pattern(F32, e.known[x]) for x in registers)
        return e.constant(I64, wrap(high << 32 | low, 64))
    return e.value(nvvm.Pack, I64, *registers)


def parted(e: Emitter, whole: Value) -> list[Value]:
    """The two f32 of a register."""
    return list(e.pure(nvvm.Unpack, [F32, F32], (whole,)).results)
