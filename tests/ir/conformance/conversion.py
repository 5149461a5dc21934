# ruff: noqa: E501
"""Conversions, packing, iota and offsets."""

from __future__ import annotations

from tests.ir.conformance import Case, case

SAME_SHAPE = "'{}' has type {}, must have the shape of '{}', {}"
INTEGER = "must be a tile of integers, is {}"
FLAT = "operand 'source' {} and result {} must have one dimension"
WIDTHS = "must differ in width: use bitcast"


def converted(name: str, source: str, result: str, tail: str = "") -> tuple[str, str]:
    """Parameters and body of a conversion."""
    return f"%a: {source}", f"%x = {name} %a{tail} : {source} -> {result}"


def packed(name: str) -> list[Case]:
    """What pack and unpack refuse alike; the bytes stand on the side of the result or the source."""

    def each(condition: str, wide: str, narrow: str, says: str, lines: int = 1) -> Case:
        sides = (wide, narrow) if name == "pack" else (narrow, wide)
        return case(name, condition, *converted(name, *sides), says.format(*sides), lines)

    widths = [
        each(f"bytes and {element}, of one width", f"tile<32x{element}>", "tile<32xi8>", WIDTHS)
        for element in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "i8")
    ]  # fmt: skip
    ranks = ("tile<32xf16>", "tile<32x2xi8>") if name == "pack" else ("tile<32x2xf16>", "tile<64xi8>")
    return [
        each("ranks that differ", *ranks, FLAT),
        each("two dimensions", "tile<32x32xf16>", "tile<32x64xi8>", FLAT),
        each("another number of bytes", "tile<32xf16>", "tile<32xi8>", "bits, result"),
        *widths,
    ]  # fmt: skip


def cases() -> list[Case]:
    """The cases of this page."""
    pointers = "%p: tile<8xptr<f32>>"
    return [
        case("bitcast", "a result of another shape", *converted("bitcast", "tile<4xi16>", "tile<2xi32>"), SAME_SHAPE.format("result", "tile<2xi32>", "source", "tile<4xi16>"), 2),
        case("bitcast", "a result of another width", *converted("bitcast", "tile<i32>", "tile<i16>"), "32 bits cannot be read as 16", 2),
        case("int_to_ptr", "an operand that is not i64", *converted("int_to_ptr", "tile<i32>", "tile<ptr<i8>>"), "operand 'source' must be a tile of i64, is tile<i32>"),
        case("ptr_to_int", "a result that is not i64", *converted("ptr_to_int", "tile<ptr<i8>>", "tile<i32>"), "result 'result' must be a tile of i64, is tile<i32>", 2),
        case("exti", "a result of the same width", *converted("exti", "tile<i8>", "tile<i8>", " signed"), "result tile<i8> must be wider than operand 'from', tile<i8>"),
        case("exti", "a narrower result", *converted("exti", "tile<2xi16>", "tile<2xi8>", " signed"), "result tile<2xi8> must be wider than operand 'from', tile<2xi16>"),
        case("exti", "a result of another shape", *converted("exti", "tile<2xi8>", "tile<i16>", " signed"), SAME_SHAPE.format("to", "tile<i16>", "from", "tile<2xi8>")),
        case("exti", "signedness left out", *converted("exti", "tile<2xi8>", "tile<2xi16>"), "expected signedness, found ':'", 2),
        case("trunci", "a wider result", *converted("trunci", "tile<2xi8>", "tile<2xi16>"), "result tile<2xi16> must be narrower than operand 'from', tile<2xi8>"),
        case("trunci", "a result of the same width", *converted("trunci", "tile<i8>", "tile<i8>"), "result tile<i8> must be narrower than operand 'from', tile<i8>"),
        case("trunci", "a result of another shape", *converted("trunci", "tile<2xi16>", "tile<i8>"), SAME_SHAPE.format("to", "tile<i8>", "from", "tile<2xi16>")),
        case("ftof", "a result of another shape", *converted("ftof", "tile<2xf16>", "tile<f32>"), SAME_SHAPE.format("to", "tile<f32>", "from", "tile<2xf16>")),
        case("ftof", "a result of the same type", *converted("ftof", "tile<2xf16>", "tile<2xf16>"), "operand and result have the same type, tile<2xf16>"),
        case("ftof", "a result that is not a float", *converted("ftof", "tile<2xf16>", "tile<2xi32>"), "result 'to' must be a tile of floats, is tile<2xi32>"),
        case("ftof", "a rounding that the formats do not have", *converted("ftof", "tile<2xf64>", "tile<2xf16>", " rounding<negative_inf>"), "rounding must be one of nearest_even, zero, is negative_inf"),
        case("ftof", "nearest_even to f8E8M0FNU", *converted("ftof", "tile<2xf32>", "tile<2xf8E8M0FNU>", " rounding<nearest_even>"), "rounding must be one of zero, positive_inf, is nearest_even"),
        case("ftoi", "a result of another shape", *converted("ftoi", "tile<2xf16>", "tile<i32>", " signed"), SAME_SHAPE.format("to", "tile<i32>", "from", "tile<2xf16>")),
        case("ftoi", "an operand that is not a float", *converted("ftoi", "tile<2xi16>", "tile<2xi32>", " signed"), "operand 'from' must be a tile of floats, is tile<2xi16>"),
        case("ftoi", "signedness left out", *converted("ftoi", "tile<2xf16>", "tile<2xi32>"), "expected signedness, found ':'", 2),
        case("ftoi", "a result of i4", *converted("ftoi", "tile<8xf32>", "tile<8xi4>", " signed"), "result 'to' " + INTEGER.format("tile<8xi4>")),
        case("ftoi", "an unknown rounding", *converted("ftoi", "tile<2xf32>", "tile<2xi64>", " unsigned rounding<sideways>"), "expected rounding, found 'sideways'"),
        case("ftoi", "a rounding that does not give integers", *converted("ftoi", "tile<2xf32>", "tile<2xi64>", " unsigned rounding<nearest_even>"), "rounding must be one of nearest_int_to_zero, is nearest_even"),
        case("itof", "a result of another shape", *converted("itof", "tile<2xi16>", "tile<f32>", " signed"), SAME_SHAPE.format("to", "tile<f32>", "from", "tile<2xi16>")),
        case("itof", "an operand that is not an integer", *converted("itof", "tile<2xf16>", "tile<2xf32>", " signed"), "operand 'from' " + INTEGER.format("tile<2xf16>")),
        case("itof", "an operand of i4", *converted("itof", "tile<8xi4>", "tile<8xf32>", " signed"), "operand 'from' " + INTEGER.format("tile<8xi4>")),
        case("itof", "signedness left out", *converted("itof", "tile<2xi8>", "tile<2xf16>"), "expected signedness, found ':'", 2),
        case("itof", "a result of f8E8M0FNU", *converted("itof", "tile<2xi8>", "tile<2xf8E8M0FNU>", " signed"), "result 'to' cannot be tile<2xf8E8M0FNU>: convert to another float first"),
        case("itof", "an unknown rounding", *converted("itof", "tile<2xi32>", "tile<2xf32>", " unsigned rounding<sideways>"), "expected rounding, found 'sideways'", 2),
        case("itof", "a rounding other than to nearest", *converted("itof", "tile<2xi32>", "tile<2xf32>", " unsigned rounding<negative_inf>"), "rounding must be one of nearest_even, is negative_inf"),
        case("iota", "a scalar", "", "%x = iota : tile<i64>", "result must have one dimension, is tile<i64>", 2),
        case("iota", "two dimensions", "", "%x = iota : tile<32x64xi32>", "result must have one dimension, is tile<32x64xi32>", 2),
        case("iota", "more values than the elements hold", "", "%x = iota : tile<512xi8>", "512 values do not fit result tile<512xi8>", 2),
        case("negi", "overflow<no_unsigned_wrap>", "%a: tile<i16>", "%x = negi %a overflow<no_unsigned_wrap> : tile<i16>", "overflow<no_unsigned_wrap> has no meaning for a negation"),
        case("offset", "a scalar offset for a tile", f"{pointers}, %i: tile<i32>", "%x = offset %p, %i : tile<8xptr<f32>>, tile<i32> -> tile<8xptr<f32>>", "'offset' has type tile<i32>, must have the shape of 'ptr', tile<8xptr<f32>>"),
        case("offset", "a pointer in place of the offset", f"{pointers}, %i: tile<8xptr<f32>>", "%x = offset %p, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>", "operand 'offset' has type tile<8xptr<f32>>, written as tile<8xi32>"),
        case("offset", "a float in place of the offset", f"{pointers}, %i: tile<8xf32>", "%x = offset %p, %i : tile<8xptr<f32>>, tile<8xf32> -> tile<8xptr<f32>>", "operand 'offset' must be a tile of integers, is tile<8xf32>"),
        case("offset", "a result with another pointee", f"{pointers}, %i: tile<8xi32>", "%x = offset %p, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f64>>", "result must have the type of 'ptr', tile<8xptr<f32>>"),
        case("offset", "a result of another shape", f"{pointers}, %i: tile<8xi32>", "%x = offset %p, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<16xptr<f32>>", "result must have the type of 'ptr', tile<8xptr<f32>>"),
        *packed("pack"),
        *packed("unpack"),
    ]  # fmt: skip
