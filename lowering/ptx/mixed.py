"""f32 arithmetic on extended f16 or bf16, as one instruction with 16-bit sources: from sm_100 on (PTX ISA 8.8,
Mixed Precision Floating Point Instructions: add, sub, fma). Extensions are exact, so the result is the same.
"""

from __future__ import annotations

from ir.core import Block, Op, Value
from ir.dialects import llvm
from ir.types import BF16, F16, F32


def sources(op: Op) -> list[int]:
    """Which operands may be 16-bit: one of a sum, the first of a difference, both factors."""
    if op.results[0].type != F32 or op.attributes.get("ftz") or op.attributes.get("saturate"):
        return []
    first, second = (narrowed(value).type for value in op.operands[:2])
    if isinstance(op, (llvm.Fma, llvm.FMul)):  # a product is fma with -0.0, which keeps the sign of a zero in rn alone
        exact = isinstance(op, llvm.Fma) or op.attributes.get("rounding", "rn") == "rn"
        return [0, 1] if first == second != F32 and exact else []
    if first != F32:
        return [0]
    return [1] if second != F32 and isinstance(op, llvm.FAdd) else []


def narrowed(value: Value) -> Value:
    """The f16 or bf16 value that an f32 extends, or the value itself."""
    op = value.op
    return op.operands[0] if isinstance(op, llvm.FPExt) and op.operands[0].type in (F16, BF16) else value


def extensions(blocks: list[Block]) -> frozenset[Value]:
    """The extensions that are unused once every instruction that can take 16-bit sources does."""
    read: dict[Value, int] = {}
    folded: dict[Value, int] = {}
    for block in blocks:
        for op in block.ops:
            for value in op.operands:
                if narrowed(value) is not value:
                    read[value] = read.get(value, 0) + 1
            if isinstance(op, (llvm.FAdd, llvm.FSub, llvm.FMul, llvm.Fma)):
                for at in sources(op):
                    folded[op.operands[at]] = folded.get(op.operands[at], 0) + 1
    return frozenset(value for value, count in folded.items() if count == read[value])
