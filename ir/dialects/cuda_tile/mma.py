"""cuda_tile matrix multiply-accumulate."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ir.core import Attr, Operand, Type, Value, flag, op, same_type_as
from ir.dialects.cuda_tile.attributes import ANCHOR, NOT_LOWERED, Array, Signedness
from ir.dialects.cuda_tile.constraints import ANY_FLOAT, INT, TileOp, element_type, shape_of
from ir.dialects.cuda_tile.numerics import read_unsigned, round_float64
from ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, I8, I32, TF32


def _verify_shapes(op: TileOp, lhs: Value, rhs: Value, acc: Value) -> None:
    """[B,] M x K times [B,] K x N plus [B,] M x N."""
    shape = shape_of(lhs)
    alike = len(shape) == len(shape_of(rhs)) == len(shape_of(acc))
    message = "operands must have one rank, 'lhs' is {}, 'rhs' {}, 'acc' {}"
    op.expect(alike, message, lhs.type, rhs.type, acc.type)
    op.expect(len(shape) in (2, 3), "operand 'lhs' must have rank 2 or 3, is {}", lhs.type)
    *batch, m, k = shape
    other = shape_of(rhs)
    op.expect(
        other[:-1] == (*batch, k),
        "operand 'rhs' {} does not match 'lhs' {}: its shape must be {}xN",
        rhs.type,
        lhs.type,
        "x".join(map(str, (*batch, k))),
    )
    wanted = (*batch, m, other[-1])
    op.expect(shape_of(acc) == wanted, "operand 'acc' {} must have shape {}", acc.type, "x".join(map(str, wanted)))


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

    def verify(self) -> None:
        """Shapes fit, element types are among `accumulators`."""
        _verify_shapes(self, self.lhs, self.rhs, self.acc)
        lhs, rhs, acc = (element_type(value) for value in (self.lhs, self.rhs, self.acc))
        self.expect(lhs == rhs, "operand 'rhs' has element type {}, must have the type of 'lhs', {}", rhs, lhs)
        allowed = self.accumulators.get(lhs, ())
        self.expect(bool(allowed), "operand 'lhs' cannot have element type {}", lhs)
        names = " or ".join(map(str, allowed))
        self.expect(acc in allowed, "operand 'acc' has element type {}, {} accumulates in {}", acc, lhs, names)

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

    def verify(self) -> None:
        """Shapes fit; i8 accumulates in i32."""
        _verify_shapes(self, self.lhs, self.rhs, self.acc)
        wanted = {"lhs": (self.lhs, I8), "rhs": (self.rhs, I8), "acc": (self.acc, I32)}
        for name, (value, element) in wanted.items():
            self.expect(element_type(value) == element, "operand '{}' must be of {}, is {}", name, element, value.type)

    @staticmethod
    def reference(lhs: Array, rhs: Array, acc: Array, signedness_lhs: Signedness, signedness_rhs: Signedness) -> Array:
        """Exact in float64 (|product| < 2^16, K < 2^24), then modulo 2^32."""
        a = (lhs if signedness_lhs else read_unsigned(lhs)).astype(np.float64)
        b = (rhs if signedness_rhs else read_unsigned(rhs)).astype(np.float64)
        return (np.matmul(a, b).astype(np.int64) + acc).astype(np.int32)


@op("cuda_tile.mmaf_scaled", since=(13, 3), opcode=114)
class MmaFScaled(TileOp):
    """Matrix multiply-accumulate whose operands are scaled in blocks of B along K, accumulated in f32.

    Shapes: lhs [B,] M x K, lhs_scale [B,] M x K/B, rhs [B,] K x N, rhs_scale [B,] K/B x N, acc [B,] M x N.
    Source: CUDA Tile IR 13.4, mmaf_scaled.
    """

    syntax = "$lhs, $rhs, $acc, $lhs_scale, $rhs_scale : lhs, rhs, acc, lhs_scale, rhs_scale"

    lhs = Operand(ANY_FLOAT)
    rhs = Operand(ANY_FLOAT)
    acc = Operand(ANY_FLOAT)
    lhs_scale = Operand(ANY_FLOAT)
    rhs_scale = Operand(ANY_FLOAT)
    result = same_type_as("acc")

    placement = NOT_LOWERED
    blocks: ClassVar[dict[tuple[Type, Type], tuple[int, ...]]] = {
        (F8E4M3FN, F8E8M0FNU): (32,),
        (F8E5M2, F8E8M0FNU): (32,),
        (F4E2M1FN, F8E8M0FNU): (16, 32),
        (F4E2M1FN, F8E4M3FN): (16,),
    }
    """Legal block sizes by the element types of operands and scales."""

    def verify(self) -> None:
        """Shapes fit; the element types and the block size are among `blocks`."""
        _verify_shapes(self, self.lhs, self.rhs, self.acc)
        lhs, rhs, acc = (element_type(value) for value in (self.lhs, self.rhs, self.acc))
        scale, other = element_type(self.lhs_scale), element_type(self.rhs_scale)
        self.expect(lhs == rhs, "operand 'rhs' has element type {}, must have the type of 'lhs', {}", rhs, lhs)
        self.expect(scale == other, "operand 'rhs_scale' has element type {}, 'lhs_scale' has {}", other, scale)
        self.expect(acc == F32, "operand 'acc' has element type {}, must have f32", acc)
        allowed = self.blocks.get((lhs, scale), ())
        self.expect(bool(allowed), "operands of {} cannot be scaled by {}", lhs, scale)
        *rows, k = shape_of(self.lhs)
        *_, blocks = shape_of(self.lhs_scale) or (0,)
        block = k // blocks if blocks else 0
        sizes = " or ".join(map(str, allowed))
        self.expect(block in allowed, "{} scaled by {} takes blocks of {}, not {}", lhs, scale, sizes, block)
        wanted = {"lhs_scale": (*rows, blocks), "rhs_scale": (*rows[:-1], blocks, shape_of(self.rhs)[-1])}
        for name, shape in wanted.items():
            found: Value = getattr(self, name)
            fits = shape_of(found) == shape
            self.expect(fits, "operand '{}' {} must have shape {}", name, found.type, "x".join(map(str, shape)))

    @staticmethod
    def reference(lhs: Array, rhs: Array, acc: Array, lhs_scale: Array, rhs_scale: Array) -> Array:
        """Scaled operands multiplied and summed in float64, rounded to f32 at the end."""
        block = lhs.shape[-1] // lhs_scale.shape[-1]
        a = lhs.astype(np.float64) * np.repeat(lhs_scale.astype(np.float64), block, axis=-1)
        b = rhs.astype(np.float64) * np.repeat(rhs_scale.astype(np.float64), block, axis=-2)
        return round_float64(np.matmul(a, b) + acc.astype(np.float64), acc.dtype)
