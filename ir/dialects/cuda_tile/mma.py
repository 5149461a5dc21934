"""cuda_tile matrix multiply-accumulate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ir.core import Attr, Operand, Type, flag, op, same_type_as
from ir.dialects.cuda_tile.attributes import ANCHOR, Array, Signedness
from ir.dialects.cuda_tile.constraints import ANY_FLOAT, INT, TileOp
from ir.dialects.cuda_tile.numerics import read_unsigned, round_float64
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, TF32


@op("cuda_tile.mmaf", opcode=73)
class MmaF(TileOp):
    """Matrix multiply-accumulate on float tiles: result = lhs @ rhs + acc.

    Shapes: lhs [B,] M x K, rhs [B,] K x N, acc and result [B,] M x N. Accumulates in the element type of acc;
    `fast_acc` lets f8 operands accumulate in fewer bits. Source: CUDA Tile IR 13.4, mmaf.
    """

    syntax = "$lhs, $rhs, $acc fast_acc? : lhs, rhs, acc"

    lhs = Operand(ANY_FLOAT)
    rhs = Operand(ANY_FLOAT)
    acc = Operand(ANY_FLOAT)
    fast_acc = flag(since=(13, 3))
    result = same_type_as("acc")

    placement = ANCHOR
    accumulators: ClassVar[dict[Type, tuple[Type, ...]]] = {
        F8E4M3FN: (F16, F32),
        F8E5M2: (F16, F32),
        F16: (F16, F32),
        BF16: (F32,),
        TF32: (F32,),
        F32: (F32,),
        F64: (F64,),
    }

    @staticmethod
    def reference(lhs: Array, rhs: Array, acc: Array, fast_acc: bool = False) -> Array:
        """Products and sums in at least float32, rounded to the accumulator type at the end."""
        wide = np.float64 if acc.dtype == np.float64 else np.float32
        return round_float64(np.matmul(lhs.astype(wide), rhs.astype(wide)) + acc.astype(wide), acc.dtype)


@op("cuda_tile.mmai", opcode=74)
class MmaI(TileOp):
    """Matrix multiply-accumulate of i8 tiles into i32, wrapping."""

    syntax = "$lhs, $rhs, $acc {signedness_lhs} {signedness_rhs} : lhs, rhs, acc"

    lhs = Operand(INT)
    rhs = Operand(INT)
    acc = Operand(INT)
    signedness_lhs = Attr(Signedness)
    signedness_rhs = Attr(Signedness)
    result = same_type_as("acc")

    placement = ANCHOR

    @staticmethod
    def reference(lhs: Array, rhs: Array, acc: Array, signedness_lhs: Signedness, signedness_rhs: Signedness) -> Array:
        """Exact in float64 (|product| < 2^16, K < 2^24), then modulo 2^32."""
        a = (lhs if signedness_lhs else read_unsigned(lhs)).astype(np.float64)
        b = (rhs if signedness_rhs else read_unsigned(rhs)).astype(np.float64)
        return (np.matmul(a, b).astype(np.int64) + acc).astype(np.int32)
