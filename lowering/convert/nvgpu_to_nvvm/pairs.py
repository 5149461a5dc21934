"""Pairs of f32 in one 64-bit register, packed for f32x2 and unpacked after it; neither becomes an instruction in ptxas
if both are in an aligned register pair, or are equal.
"""

from __future__ import annotations

from ir.bits import bit_pattern
from ir.core import Value
from ir.dialects import nvvm
from ir.types import F32, I64
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, wrap


@lowers(nvvm.AddF32x2, nvvm.SubF32x2, nvvm.MulF32x2, nvvm.FmaF32x2)
def arithmetic(c: Conversion, op: nvvm.Pairs) -> None:
    """f32x2: operands in two registers are packed, or already are."""
    held = [c.registers(value) for value in op.operands]
    made = c.e.value(type(op), I64, *(joined(c.e, registers) for registers in held), **op.attributes)
    c.define(op.results[0], [made] if op.results[0].type == I64 else parted(c.e, made))


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
