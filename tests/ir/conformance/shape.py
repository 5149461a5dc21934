# ruff: noqa: E501
"""Shapes that change: reshape, broadcast, permute, cat, extract; and products of matrices."""

from __future__ import annotations

from tests.ir.conformance import Case, case

TWO = "%a: tile<4x8xf32>, %i: tile<i32>"


def moved(name: str, condition: str, source: str, result: str, says: str, lines: int = 1) -> Case:
    """A reshape or a broadcast."""
    return case(name, condition, f"%a: {source}", f"%x = {name} %a : {source} -> {result}", says, lines)


def permuted(condition: str, source: str, order: str, result: str, says: str, lines: int = 0) -> Case:
    """A permute."""
    return case("permute", condition, f"%a: {source}", f"%x = permute %a {order} : {source} -> {result}", says, lines)


def joined(condition: str, lhs: str, rhs: str, dim: int, result: str, says: str, lines: int = 1) -> Case:
    """A cat."""
    body = f"%x = cat %a, %b dim = {dim} : {lhs}, {rhs} -> {result}"
    return case("cat", condition, f"%a: {lhs}, %b: {rhs}", body, says, lines)


def product(name: str, condition: str, shapes: str, says: str, lines: int = 1) -> Case:
    """A matrix product of tiles; `shapes` are those of its operands, without `tile<>`."""
    types = [f"tile<{shape}>" for shape in shapes.split()]
    letters = "abcde"[: len(types)]
    parameters = ", ".join(f"%{letter}: {type_}" for letter, type_ in zip(letters, types, strict=True))
    signed = " signed signed" if name == "mmai" else ""
    names = ", ".join(f"%{letter}" for letter in letters)
    return case(name, condition, parameters, f"%x = {name} {names}{signed} : {', '.join(types)}", says, lines)


def shapes() -> list[Case]:
    """What only moves elements."""
    return [
        moved("reshape", "another element type", "tile<i16>", "tile<1xi32>", "operand 'source' tile<i16> cannot be reshaped to tile<1xi32>: the element types differ", 2),
        moved("reshape", "more elements than a scalar", "tile<i16>", "tile<1x2x1xi16>", "operand 'source' tile<i16> cannot be reshaped to tile<1x2x1xi16>: 1 elements are not 2"),
        moved("reshape", "more elements", "tile<2x2xf32>", "tile<8xf32>", "4 elements are not 8"),
        moved("reshape", "fewer elements", "tile<2x2xf32>", "tile<f32>", "4 elements are not 1"),
        moved("broadcast", "another element type", "tile<2x2xf32>", "tile<2x2xf64>", "operand 'source' tile<2x2xf32> cannot be broadcast to tile<2x2xf64>: the element types differ"),
        moved("broadcast", "another rank", "tile<2xf32>", "tile<2x2xf32>", "operand 'source' tile<2xf32> cannot be broadcast to tile<2x2xf32>: the ranks differ"),
        moved("broadcast", "a size that shrinks", "tile<4x4xf32>", "tile<2x4xf32>", "operand 'source' tile<4x4xf32> cannot be broadcast to tile<2x4xf32>: dimension 0 is neither 1 nor 2"),
        moved("broadcast", "a result of dynamic size", "tile<1x4xf32>", "tile<?x4xf32>", "'tile<?x4xf32>' is not a type"),
        moved("broadcast", "a result without elements", "tile<1x2xf32>", "tile<0x2xf32>", "dimension 0 is not a positive power of two"),
        moved("broadcast", "a result of negative size", "tile<1x4xf32>", "tile<-4x4xf32>", "is not a type"),
        moved("broadcast", "a result with sizes that are no powers of two", "tile<1x1xf32>", "tile<3x9xf32>", "dimension 3 is not a positive power of two"),
        moved("broadcast", "a result of too many elements", "tile<1x1xf32>", "tile<8192x8192xf32>", "a tile has at most 16777216 elements"),
        permuted("a tile of one dimension", "tile<4xf32>", "[0]", "tile<4xf32>", "operand 'source' must have two dimensions or more, is tile<4xf32>"),
        permuted("a dimension named twice", "tile<2x4xf32>", "[0, 0]", "tile<2x2xf32>", "permutation (0, 0) must name each dimension of operand 'source' tile<2x4xf32> once"),
        permuted("too few dimensions", "tile<2x4xf32>", "[0]", "tile<2x4xf32>", "permutation (0,) must name each dimension"),
        permuted("a dimension that does not exist", "tile<2x4xf32>", "[0, 2]", "tile<2x4xf32>", "permutation (0, 2) must name each dimension"),
        permuted("a negative dimension", "tile<2x4xf32>", "[0, -1]", "tile<2x4xf32>", "permutation (0, -1) must name each dimension"),
        permuted("a result in the order of the source", "tile<2x4xf32>", "[1, 0]", "tile<2x4xf32>", "result must be tile<4x2xf32>, is tile<2x4xf32>"),
        permuted("a result of another element type", "tile<2x4xf32>", "[1, 0]", "tile<4x2xf16>", "result must be tile<4x2xf32>, is tile<4x2xf16>"),
        permuted("a result of another rank", "tile<2x4xf32>", "[1, 0]", "tile<4x2x1xf32>", "result must be tile<4x2xf32>, is tile<4x2x1xf32>"),
        joined("a result of another element type", "tile<2x2xf32>", "tile<2x2xf32>", 1, "tile<2x4xf64>", "result must be tile<2x4xf32>, is tile<2x4xf64>"),
        joined("operands of different element type, the first odd", "tile<2x2xf64>", "tile<2x2xf32>", 1, "tile<2x4xf32>", "operand 'rhs' tile<2x2xf32> cannot follow 'lhs' tile<2x2xf64> along dimension 1"),
        joined("operands of different element type, the second odd", "tile<2x2xf32>", "tile<2x2xf64>", 1, "tile<2x4xf32>", "operand 'rhs' tile<2x2xf64> cannot follow 'lhs' tile<2x2xf32> along dimension 1"),
        joined("a result of another rank", "tile<2x2xf32>", "tile<2x2xf32>", 1, "tile<2x4x1xf32>", "result must be tile<2x4xf32>, is tile<2x4x1xf32>"),
        joined("operands of different rank, the first longer", "tile<1x2x2xf32>", "tile<2x2xf32>", 1, "tile<2x4x1xf32>", "operand 'rhs' tile<2x2xf32> cannot follow 'lhs' tile<1x2x2xf32> along dimension 1"),
        joined("operands of different rank, the second longer", "tile<2x2xf32>", "tile<1x2x2xf32>", 1, "tile<2x4x1xf32>", "operand 'rhs' tile<1x2x2xf32> cannot follow 'lhs' tile<2x2xf32> along dimension 1"),
        joined("a negative dimension", "tile<2x2xf32>", "tile<2x2xf32>", -1, "tile<2x4xf32>", "dim -1 does not exist in operand 'lhs' tile<2x2xf32>"),
        joined("a dimension that does not exist", "tile<2x2xf32>", "tile<2x2xf32>", 2, "tile<2x4xf32>", "dim 2 does not exist in operand 'lhs' tile<2x2xf32>", 2),
        joined("a result that is too long", "tile<2x2xf32>", "tile<2x2xf32>", 1, "tile<2x16xf32>", "result must be tile<2x4xf32>, is tile<2x16xf32>"),
        joined("a result that grows along the other dimension", "tile<2x2xf32>", "tile<2x2xf32>", 1, "tile<4x4xf32>", "result must be tile<2x4xf32>, is tile<4x4xf32>"),
        case("extract", "a result of another element type", TWO, "%x = extract %a[%i, %i] : tile<4x8xf32> -> tile<2x4xi32>", "operand 'source' tile<4x8xf32> cannot be cut into tile<2x4xi32>: the element types differ", 2),
        case("extract", "a result of another rank", TWO, "%x = extract %a[%i, %i] : tile<4x8xf32> -> tile<4xf32>", "operand 'source' tile<4x8xf32> cannot be cut into tile<4xf32>: the ranks differ"),
        case("extract", "too many indices", "%a: tile<8xf32>, %i: tile<i32>", "%x = extract %a[%i, %i] : tile<8xf32> -> tile<2xf32>", "2 indices for operand 'source' tile<8xf32>"),
        case("extract", "too few indices", TWO, "%x = extract %a[%i] : tile<4x8xf32> -> tile<2x4xf32>", "1 indices for operand 'source' tile<4x8xf32>"),
        case("extract", "an index that is no scalar", "%a: tile<8xf32>, %i: tile<2xi32>", "%x = extract %a[%i] : tile<8xf32> -> tile<4xf32>", "operand 'indices' must be a scalar tile of integers, is tile<2xi32>"),
        case("extract", "sizes that do not divide the source's", TWO, "%x = extract %a[%i, %i] : tile<4x8xf32> -> tile<8x4xf32>", "operand 'source' tile<4x8xf32> cannot be cut into tile<8x4xf32>: dimension 0 is not a multiple of 8"),
    ]  # fmt: skip


def matrices() -> list[Case]:
    """Products of matrices, plain and scaled."""
    rhs, scales = (
        "operand 'rhs' has element type {}, must have the type of 'lhs', {}",
        "operand 'rhs_scale' has element type {}, 'lhs_scale' has {}",
    )
    rank, acc = (
        "operands must have one rank, 'lhs' is {}, 'rhs' {}, 'acc' {}",
        "operand 'acc' has element type {}, {} accumulates in {}",
    )
    return [
        product("mmaf", "operands of f32 and f16", "4x8xf32 8x16xf16 4x16xf32", rhs.format("f16", "f32")),
        product("mmaf", "operands of f32 and f64", "4x8xf32 8x16xf64 4x16xf32", rhs.format("f64", "f32")),
        product("mmaf", "operands of two 8-bit formats", "4x4xf8E4M3FN 4x4xf8E5M2 4x4xf32", rhs.format("f8E5M2", "f8E4M3FN")),
        product("mmaf", "K that differs", "4x16xf32 8x16xf32 4x16xf32", "operand 'rhs' tile<8x16xf32> does not match 'lhs' tile<4x16xf32>: its shape must be 16xN"),
        product("mmaf", "M that differs", "16x8xf32 8x16xf32 4x16xf32", "operand 'acc' tile<4x16xf32> must have shape 16x16"),
        product("mmaf", "N that differs", "4x8xf32 8x16xf32 4x32xf32", "operand 'acc' tile<4x32xf32> must have shape 4x16"),
        product("mmaf", "a batch that differs", "2x4x8xf32 2x8x16xf32 4x4x16xf32", "operand 'acc' tile<4x4x16xf32> must have shape 2x4x16"),
        product("mmaf", "a first operand of rank 1", "4xf32 8x16xf32 4x16xf32", rank.format("tile<4xf32>", "tile<8x16xf32>", "tile<4x16xf32>")),
        product("mmaf", "a second operand of rank 1", "4x8xf32 8xf32 4x16xf32", rank.format("tile<4x8xf32>", "tile<8xf32>", "tile<4x16xf32>")),
        product("mmaf", "an accumulator of rank 1", "4x8xf32 8x16xf32 4xf32", rank.format("tile<4x8xf32>", "tile<8x16xf32>", "tile<4xf32>")),
        product("mmaf", "a batch of one operand only", "2x2x2xf32 2x2xf32 2x2xf32", rank.format("tile<2x2x2xf32>", "tile<2x2xf32>", "tile<2x2xf32>")),
        case("mmaf", "a signedness", "%a: tile<4x4xf32>", "%x = mmaf %a, %a, %a signed signed : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>", "found 'signed'"),
        product("mmaf", "operands of i8", "2x2xi8 2x2xi8 2x2xi32", "operand 'lhs' must be a tile of floats, is tile<2x2xi8>"),
        product("mmaf", "an accumulator of f8E4M3FN", "2x2xf8E4M3FN 2x2xf8E4M3FN 2x2xf8E4M3FN", acc.format("f8E4M3FN", "f8E4M3FN", "f16 or f32")),
        product("mmaf", "8-bit operands and an accumulator of f64", "2x2xf8E4M3FN 2x2xf8E4M3FN 2x2xf64", acc.format("f64", "f8E4M3FN", "f16 or f32")),
        product("mmaf", "an accumulator of bf16", "2x2xbf16 2x2xbf16 2x2xbf16", acc.format("bf16", "bf16", "f32")),
        product("mmaf", "operands of bf16 and an accumulator of f16", "2x2xbf16 2x2xbf16 2x2xf16", acc.format("f16", "bf16", "f32")),
        product("mmaf", "an accumulator of tf32", "2x2xtf32 2x2xtf32 2x2xtf32", acc.format("tf32", "tf32", "f32")),
        product("mmaf", "operands of tf32 and an accumulator of f16", "2x2xtf32 2x2xtf32 2x2xf16", acc.format("f16", "tf32", "f32")),
        product("mmaf", "operands of f16 and an accumulator of f64", "2x2xf16 2x2xf16 2x2xf64", acc.format("f64", "f16", "f16 or f32")),
        product("mmaf", "operands of f32 and an accumulator of f64", "2x2xf32 2x2xf32 2x2xf64", acc.format("f64", "f32", "f32")),
        product("mmai", "operands of f32", "2x2xf32 2x2xf32 2x2xi32", "operand 'lhs' must be a tile of integers, is tile<2x2xf32>"),
        product("mmai", "operands of i16", "2x2xi16 2x2xi16 2x2xi32", "operand 'lhs' must be of i8, is tile<2x2xi16>"),
        product("mmai", "operands of i32", "2x2xi32 2x2xi32 2x2xi32", "operand 'lhs' must be of i8, is tile<2x2xi32>"),
        product("mmai", "operands of i64", "2x2xi64 2x2xi64 2x2xi64", "operand 'lhs' must be of i8, is tile<2x2xi64>"),
        product("mmaf_scaled", "8-bit operands with scales of f8E4M3FN", "4x32xf8E5M2 32x4xf8E5M2 4x4xf32 4x1xf8E4M3FN 1x4xf8E4M3FN", "operands of f8E5M2 cannot be scaled by f8E4M3FN"),
        product("mmaf_scaled", "an accumulator of f16", "4x32xf8E5M2 32x4xf8E5M2 4x4xf16 4x1xf8E8M0FNU 1x4xf8E8M0FNU", "operand 'acc' has element type f16, must have f32"),
        product("mmaf_scaled", "operands of two formats", "4x32xf4E2M1FN 32x4xf8E5M2 4x4xf32 4x1xf8E8M0FNU 1x4xf8E8M0FNU", rhs.format("f8E5M2", "f4E2M1FN")),
        product("mmaf_scaled", "scales of two formats", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 4x1xf8E8M0FNU 1x4xf8E4M3FN", scales.format("f8E4M3FN", "f8E8M0FNU")),
        product("mmaf_scaled", "scales of another M", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 2x1xf8E8M0FNU 1x4xf8E8M0FNU", "operand 'lhs_scale' tile<2x1xf8E8M0FNU> must have shape 4x1"),
        product("mmaf_scaled", "scales of another N", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 4x1xf8E8M0FNU 1x2xf8E8M0FNU", "operand 'rhs_scale' tile<1x2xf8E8M0FNU> must have shape 1x4"),
        product("mmaf_scaled", "scales of another batch", "4x4x32xf4E2M1FN 4x32x4xf4E2M1FN 4x4x4xf32 2x4x1xf8E8M0FNU 4x1x4xf8E8M0FNU", "operand 'lhs_scale' tile<2x4x1xf8E8M0FNU> must have shape 4x4x1"),
        product("mmaf_scaled", "operands of f16", "4x32xf16 32x4xf16 4x4xf32 4x1xf8E8M0FNU 1x4xf8E8M0FNU", "operands of f16 cannot be scaled by f8E8M0FNU"),
        product("mmaf_scaled", "scales of f32", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 4x1xf32 1x4xf32", "operands of f4E2M1FN cannot be scaled by f32"),
        product("mmaf_scaled", "different numbers of scales along K", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 4x2xf8E8M0FNU 1x4xf8E8M0FNU", "operand 'rhs_scale' tile<1x4xf8E8M0FNU> must have shape 2x4"),
        product("mmaf_scaled", "8-bit operands in blocks of 16", "4x32xf8E4M3FN 32x4xf8E4M3FN 4x4xf32 4x2xf8E8M0FNU 2x4xf8E8M0FNU", "f8E4M3FN scaled by f8E8M0FNU takes blocks of 32, not 16"),
        product("mmaf_scaled", "4-bit operands in blocks of 8", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 4x4xf8E8M0FNU 4x4xf8E8M0FNU", "f4E2M1FN scaled by f8E8M0FNU takes blocks of 16 or 32, not 8"),
        product("mmaf_scaled", "4-bit operands with scales of f8E4M3FN in blocks of 8", "4x32xf4E2M1FN 32x4xf4E2M1FN 4x4xf32 4x4xf8E4M3FN 4x4xf8E4M3FN", "f4E2M1FN scaled by f8E4M3FN takes blocks of 16, not 8"),
    ]  # fmt: skip


def cases() -> list[Case]:
    """The cases of this page."""
    return [*shapes(), *matrices()]
