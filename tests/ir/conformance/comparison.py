# ruff: noqa: E501
"""Comparisons and selection."""

from __future__ import annotations

from tests.ir.conformance import Case, case

INTS, FLOATS = "%a: tile<4xi32>, %b: tile<4xi32>", "%a: tile<4xf32>, %b: tile<4xf32>"
MIXED_I, MIXED_F = "%a: tile<i16>, %b: tile<i32>", "%a: tile<f16>, %b: tile<f32>"
CHOICE = "%c: tile<4xi1>, %a: tile<4xf32>, %b: tile<4xf32>"
SHAPES = "'result' has type {}, must have the shape of 'lhs', {}"


def compared(kind: str, types: str, result: str) -> str:
    """A comparison in generic form."""
    attributes = {
        "cmpi": "{comparison_predicate = #cuda_tile.comparison_predicate<equal>, signedness = #cuda_tile.signedness<signed>}",
        "cmpf": "{comparison_predicate = #cuda_tile.comparison_predicate<equal>, comparison_ordering = #cuda_tile.comparison_ordering<ordered>}",
    }[kind]
    return f'%x = "cuda_tile.{kind}"(%a, %b) {attributes} : ({types}) -> {result}'


def cases() -> list[Case]:
    """The cases of this page."""
    f, i = "tile<4xf32>", "tile<4xi32>"
    return [
        case("cmpi", "an unknown predicate", INTS, f"%x = cmpi roughly %a, %b, signed : {i} -> tile<4xi1>", "expected predicate, found 'roughly'", 2),
        case("cmpi", "no predicate", INTS, f"%x = cmpi %a, %b, signed : {i} -> tile<4xi1>", "expected predicate, found '%a'", 4),
        case("cmpi", "elements of f32", FLOATS, f"%x = cmpi equal %a, %b, signed : {f} -> tile<4xi1>", "operand 'lhs' must be a tile of integers, is tile<4xf32>", 2),
        case("cmpi", "operands of different element type", MIXED_I, compared("cmpi", "tile<i16>, tile<i32>", "tile<i1>"), "operand 'rhs' has type tile<i32>, must have the type of 'lhs', tile<i16>", 2),
        case("cmpi", "a result of another shape", INTS, compared("cmpi", f"{i}, {i}", "tile<i1>"), SHAPES.format("tile<i1>", i)),
        case("cmpi", "a result that is not i1", INTS, compared("cmpi", f"{i}, {i}", i), "result 'result' must be a tile of i1, is tile<4xi32>", 2),
        case("cmpi", "an ordering in place of the signedness", INTS, f"%x = cmpi equal %a, %b, ordered : {i} -> tile<4xi1>", "expected signedness, found 'ordered'"),
        case("cmpf", "an unknown predicate", FLOATS, f"%x = cmpf roughly ordered %a, %b : {f} -> tile<4xi1>", "expected predicate, found 'roughly'"),
        case("cmpf", "an unknown ordering", FLOATS, f"%x = cmpf equal mixed %a, %b : {f} -> tile<4xi1>", "expected ordering, found 'mixed'"),
        case("cmpf", "no predicate", FLOATS, f"%x = cmpf ordered %a, %b : {f} -> tile<4xi1>", "expected predicate, found 'ordered'"),
        case("cmpf", "elements of i32", INTS, f"%x = cmpf equal ordered %a, %b : {i} -> tile<4xi1>", "operand 'lhs' must be a tile of f16, bf16, f32 or f64, is tile<4xi32>"),
        case("cmpf", "operands of different type in generic form", MIXED_F, compared("cmpf", "tile<f16>, tile<f32>", "tile<i1>"), "operand 'rhs' has type tile<f32>, must have the type of 'lhs', tile<f16>"),
        case("cmpf", "a result of another shape", FLOATS, compared("cmpf", f"{f}, {f}", "tile<2x2xi1>"), SHAPES.format("tile<2x2xi1>", f), 2),
        case("cmpf", "a result of another rank", FLOATS, compared("cmpf", f"{f}, {f}", "tile<4x1xi1>"), SHAPES.format("tile<4x1xi1>", f)),
        case("cmpf", "a result of rank 1 from scalars", "%a: tile<f32>, %b: tile<f32>", compared("cmpf", "tile<f32>, tile<f32>", "tile<1xi1>"), SHAPES.format("tile<1xi1>", "tile<f32>")),
        case("cmpf", "a result that is not i1", FLOATS, compared("cmpf", f"{f}, {f}", f), "result 'result' must be a tile of i1, is tile<4xf32>"),
        case("cmpf", "operands of different shape", "%a: tile<1x2xf32>, %b: tile<2x2xf32>", "%x = cmpf equal ordered %a, %b : tile<1x2xf32> -> tile<1x2xi1>", "operand 'rhs' has type tile<2x2xf32>"),
        case("cmpf", "operands of different element type", "%a: tile<2xf32>, %b: tile<2xf64>", "%x = cmpf equal ordered %a, %b : tile<2xf32> -> tile<2xi1>", "operand 'rhs' has type tile<2xf64>"),
        case("cmpf", "a signedness in place of the ordering", FLOATS, f"%x = cmpf less_than signed %a, %b : {f} -> tile<4xi1>", "expected ordering, found 'signed'"),
        case("select", "the condition's type left out", CHOICE, f"%x = select %c, %a, %b : {f}", "operand 'cond' has type tile<4xi1>, written as tile<4xf32>"),
        case("select", "the values' type left out", CHOICE, "%x = select %c, %a, %b : tile<4xi1>,", "expected a type"),
        case("select", "values of different type", "%c: tile<4xi1>, %a: tile<4xi32>, %b: tile<4xi64>", "%x = select %c, %a, %b : tile<4xi1>, tile<4xi32>", "operand 'val_if_false' has type tile<4xi64>", 2),
        case("select", "values and written type of different element type", CHOICE, "%x = select %c, %a, %b : tile<4xi1>, tile<4xf64>", "operand 'val_if_true' has type tile<4xf32>, written as tile<4xf64>"),
        case("select", "a condition that is not i1", f"%c: tile<4xi32>, {FLOATS}", f"%x = select %c, %a, %b : tile<4xi32>, {f}", "operand 'cond' must be a tile of i1, is tile<4xi32>", 2),
        case("select", "a condition of another rank", f"%c: tile<1x4xi1>, {FLOATS}", f"%x = select %c, %a, %b : tile<1x4xi1>, {f}", "'cond' has type tile<1x4xi1>, must have the shape of 'val_if_true', tile<4xf32>"),
        case("select", "a scalar condition for tiles", f"%c: tile<i1>, {FLOATS}", f"%x = select %c, %a, %b : tile<i1>, {f}", "'cond' has type tile<i1>, must have the shape of 'val_if_true', tile<4xf32>"),
        case("select", "an operand left out", CHOICE, f"%x = select %c, %a : tile<4xi1>, {f}", "expected ','"),
        case("select", "elements of four bits", "%c: tile<4xi1>, %a: tile<4xf4E2M1FN>, %b: tile<4xf4E2M1FN>", "%x = select %c, %a, %b : tile<4xi1>, tile<4xf4E2M1FN>", "operand 'val_if_true' cannot be tile<4xf4E2M1FN>"),
    ]  # fmt: skip
