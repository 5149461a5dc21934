# ruff: noqa: E501
"""Literals and types."""

from __future__ import annotations

from tests.ir.conformance import Case, case


def constant(condition: str, literal: str, type_: str, says: str, lines: int = 1) -> Case:
    """A constant with a wrong literal."""
    return case("constant", condition, "", f"%x = constant {literal} : {type_}", says, lines)


def typed(condition: str, type_: str, says: str, lines: int = 1) -> Case:
    """A parameter of a type that does not exist."""
    return case("type", condition, f"%a: {type_}", "return", says, lines)


def cases() -> list[Case]:
    """The cases of this page."""
    return [
        constant("a string where the literal is meant", '"word"', "tile<i8>", "expected '<'"),
        constant("a bare number", "10.0", "tile<f32>", "expected '<'"),
        constant("a type that is no tile", "<f32: 10.0>", "tensor<f32>", "'tensor' is not a type"),
        constant("true for i8", "<i8: true>", "tile<i8>", "expected an integer of type i8, found 'true'"),
        constant("false for i8", "<i8: false>", "tile<i8>", "expected an integer of type i8, found 'false'"),
        constant("rows of another number than the type's", "<i1: [[true, true], [true, false]]>", "tile<4x2xi1>", "the literal has shape (2, 2), its type is tile<4x2xi1>"),
        constant("four dimensions of other sizes", "<i32: [[[[1, 2], [3, 4]]]]>", "tile<2x1x2x2xi32>", "the literal has shape (1, 1, 2, 2), its type is tile<2x1x2x2xi32>"),
        constant("an integer among floats", "<f32: [1.5, 2147483647]>", "tile<2xf32>", "expected a float literal for f32, found '2147483647'"),
        constant("too many elements", "<f32: [0.5, 1.5, 2.5]>", "tile<2xf32>", "the literal has shape (3,), its type is tile<2xf32>"),
        constant("too few elements", "<i32: [1, 2, 3]>", "tile<8xi32>", "the literal has shape (3,), its type is tile<8xi32>"),
        constant("a middle dimension of another size", "<i32: [[[1, 2], [3, 4], [5, 6], [7, 8]]]>", "tile<1x2x2xi32>", "the literal has shape (1, 4, 2), its type is tile<1x2x2xi32>"),
        constant("rows of different length", "<i1: [[true, false], [true]]>", "tile<2x2xi1>", "rows of a literal have different shapes: (1,) after (2,)", 2),
        constant("inner rows of different length", "<i1: [[[true, false], [true]]]>", "tile<1x2x2xi1>", "rows of a literal have different shapes: (1,) after (2,)"),
        constant("planes of different height", "<i32: [[[1, 2]], [[3, 4], [5, 6]]]>", "tile<2x2x2xi32>", "rows of a literal have different shapes: (2, 2) after (1, 2)"),
        constant("a word for a number", "<i16: ABC>", "tile<i16>", "expected an integer of type i16, found 'ABC'"),
        constant("hexadecimal digits beyond the width", "<i8: 0x10AB>", "tile<i8>", "'0x10AB' does not fit in i8"),
        constant("a number above i8", "<i8: 256>", "tile<i8>", "'256' does not fit in i8"),
        constant("a number below i8", "<i8: -129>", "tile<i8>", "'-129' does not fit in i8"),
        constant("a number above i16", "<i16: 65536>", "tile<i16>", "'65536' does not fit in i16"),
        constant("a number below i16", "<i16: -32769>", "tile<i16>", "'-32769' does not fit in i16"),
        constant("bits of a float beyond its width", "<f16: 0x12345678>", "tile<f16>", "0x12345678 has more than the 16 bits of f16"),
        constant("another element type than the tile's", "<f16: 42.0>", "tile<f32>", "a literal of f16 cannot have type tile<f32>"),
        constant("an unknown element type", "<number: 42.0>", "tile<f32>", "'number' is not a type", 2),
        constant("an aggregate element type", "<tile<i32>: 42>", "tile<i32>", "a literal cannot have element type tile<i32>"),
        typed("several pointers to f4E2M1FN", "tile<2xptr<f4E2M1FN>>", "half bytes have no addresses of their own", 0),
        typed("a pointer to i4", "tile<ptr<i4>>", "i4 cannot be stored in memory", 0),
        typed("a pointer to a tile", "tile<ptr<tile<2x2xf32>>>", "is not a type"),
        typed("a dynamic size", "tile<4x?xf32>", "'tile<4x?xf32>' is not a type", 2),
        typed("an element type of 28 bits", "tile<8x4xi28>", "'i28' is not an element type"),
        typed("a size of zero", "tile<1x0x2xf32>", "dimension 0 is not a positive power of two"),
        typed("a negative size", "tile<1x-1x4xf32>", "is not a type"),
        typed("sizes that are no powers of two", "tile<8x5xf32>", "dimension 5 is not a positive power of two"),
        typed("too many elements", "tile<1024x1024x1024xf32>", "a tile has at most 16777216 elements, got 1073741824", 0),
        typed("a scalar of f4E2M1FN", "tile<f4E2M1FN>", "a tile of f4E2M1FN must have an even number of elements"),
        typed("an odd number of f4E2M1FN", "tile<1x1x1xf4E2M1FN>", "a tile of f4E2M1FN must have an even number of elements"),
    ]  # fmt: skip
