"""llvm: functions, control-flow graph, pointers and scalar ops of the nvvm level; names as in MLIR's llvm dialect."""

from __future__ import annotations

from ir.core import Attr, Op, Operand, OptionalOperand, Result, op, same_type_as
from ir.types import I32, I64, IntType, LLVMPointerType


@op("llvm.getelementptr")
class GetElementPtr(Op):
    """base + sext(index) * element_bytes + offset; `offset` in bytes, index (i32 or i64) optional.

    Shared addresses are 32 bits and wrap; global ones are computed in 64 bits.
    """

    base = Operand(lambda t: isinstance(t, LLVMPointerType))
    index = OptionalOperand(lambda t: t in (I32, I64))
    element_bytes = Attr(int, 1)
    offset = Attr(int, 0)
    result = same_type_as("base")


@op("llvm.ptrtoint")
class PtrToInt(Op):
    """The address as an integer (i32 for shared, i64 for global), truncated or zero-extended."""

    pointer = Operand(lambda t: isinstance(t, LLVMPointerType))
    result = Result(lambda t: isinstance(t, IntType))


@op("llvm.inttoptr")
class IntToPtr(Op):
    """The pointer with this address."""

    address = Operand(lambda t: isinstance(t, IntType))
    result = Result(lambda t: isinstance(t, LLVMPointerType))
