"""Which operations of the nvvm level mean the same in LLVM."""

from __future__ import annotations

from ir.core import Op
from ir.dialects import llvm
from ir.instruction import Instruction
from ir.types import F16, F32, F64, IntType
from ir.upstream import is_upstream

UNDEFINED_BY_VALUE = (llvm.Shl, llvm.LShr, llvm.AShr, llvm.SDiv, llvm.UDiv, llvm.SRem, llvm.URem)
"""Undefined in LLVM for some second operands for which PTX defines the result: shifts beyond the width, and zero
divisors, which a masked-out lane may have.
"""
OTHERWISE = (llvm.FPToSI, llvm.FPToUI, llvm.MaxNum, llvm.MinNum, llvm.Maximum, llvm.Minimum)
"""Undefined in LLVM if the number does not fit, where PTX saturates; LLVM's extrema may return either of two zeros, and
either operand for a signalling NaN.
"""
REGISTERS = (llvm.SExt, llvm.ZExt, llvm.Trunc, llvm.Bitcast)
"""Conversions without floats."""
EXACT = (F32, F64)
"""Types of floats in which LLVM's back end computes with the instruction that we print, and on every target."""


def same_in_llvm(op: Op) -> bool:
    """Does LLVM's operation of this name mean the same, for all operands, to the bit?"""
    if isinstance(op, Instruction):
        return is_upstream(op)
    if not op.info.upstream or isinstance(op, OTHERWISE):
        return False
    if isinstance(op, UNDEFINED_BY_VALUE):
        return _defined(op)
    if isinstance(op, REGISTERS):
        return True
    if isinstance(op, llvm.FloatOp | llvm.FCmp):
        return is_upstream(op) and _exact(op)
    return True


def _defined(op: Op) -> bool:
    """Is the second operand a constant for which LLVM's operation is defined?"""
    by, kind = op.operands[1].owner, op.results[0].type
    if not isinstance(by, llvm.Constant) or not isinstance(kind, IntType):
        return False
    number = by.attributes["value"]
    return 0 <= number < kind.width if isinstance(op, llvm.Shl | llvm.LShr | llvm.AShr) else number not in (0, -1)


def _exact(op: Op) -> bool:
    """Are its floats of types whose arithmetic LLVM leaves to the instruction?"""
    types = [value.type for value in (*op.operands, *op.results)]
    if isinstance(op, llvm.FPExt | llvm.FPTrunc):
        return all(kind in (F16, *EXACT) for kind in types)
    return all(kind in EXACT or isinstance(kind, IntType) for kind in types)
