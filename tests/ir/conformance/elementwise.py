"""Arithmetic, comparison and mathematical functions: the same few conditions for one operation after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tests.ir.conformance import Case, case

INT, FLOAT = "i32", "f32"
Family = Callable[["Elementwise"], tuple[str, str, str, str]]
"""Condition, parameters, body and part of the message for one operation."""


class Elementwise:
    """An operation on `count` tiles of one type, and how its text goes on after the operands."""

    def __init__(self, name: str, count: int, element: str, tail: str = ""):
        self.name = name
        self.count = count
        self.element = element
        self.tail = tail
        self.first, self.second = OPERANDS.get(name, ("lhs", "rhs") if count > 1 else ("source", ""))

    def use(self, written: str, tail: str | None = None) -> str:
        """The operation on %a, %b, ... with its type written so."""
        names = ", ".join(f"%{letter}" for letter in "abc"[: self.count])
        return f"%x = {self.name} {names}{self.tail if tail is None else tail} : {written}"

    def parameters(self, *types: str) -> str:
        """`%a: T, %b: T, ...`; the last type given stands for those that follow."""
        given = [*types, *[types[-1]] * (self.count - len(types))]
        return ", ".join(f"%{letter}: {type_}" for letter, type_ in zip("abc", given, strict=False))


OPERANDS = {
    "mulhii": ("x", "y"), "pow": ("source", "exponent"), "atan2": ("x", "y"),
}  # fmt: skip


def different_inputs(what: str, first: str, second: str) -> Family:
    """Two operands whose types differ."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        lhs, rhs = first.replace("E", op.element), second.replace("E", op.element)
        says = f"operand '{op.second}' has type {rhs}, must have the type of '{op.first}', {lhs}"
        return f"operands of different {what}", op.parameters(lhs, rhs, lhs), op.use(lhs), says

    return family


def written_otherwise(what: str, written: str) -> Family:
    """The type after the colon is not that of the operands."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        real, said = f"tile<2x4x{op.element}>", written.replace("E", op.element)
        says = f"operand '{op.first}' has type {real}, written as {said}"
        return f"operands and written type of different {what}", op.parameters(real), op.use(said), says

    return family


def wrong_element(element: str, wanted: str) -> Family:
    """An element type that the operation does not take."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        type_ = f"tile<2x4x{element}>"
        says = f"operand '{op.first}' must be a tile of {wanted}, is {type_}"
        return f"elements of {element}", op.parameters(type_), op.use(type_), says

    return family


def flushed(element: str) -> Family:
    """`flush_to_zero` where the elements are not f32."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        type_ = f"tile<4x{element}>"
        body = op.use(type_, " flush_to_zero")
        return f"flush_to_zero of {element}", op.parameters(type_), body, f"flush_to_zero needs f32, operand is {type_}"

    return family


def rounded(mode: str, element: str, says: str) -> Family:
    """A rounding that the operation, or its element type, does not have."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        type_ = f"tile<4x{element}>"
        body = op.use(type_, f" rounding<{mode}>")
        condition = f"rounding<{mode}> of {element}" if mode in ("approx", "full") else f"rounding<{mode}>"
        return condition, op.parameters(type_), body, says.format(type_)

    return family


def generic_rounding(mode: str) -> Family:
    """The same in generic form, past the grammar of the short form."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        type_ = "tile<4xf32>"
        names = ", ".join(f"%{letter}" for letter in "abc"[: op.count])
        types = ", ".join([type_] * op.count)
        attributes = f"<{{rounding_mode = #cuda_tile.rounding<{mode}>}}>"
        body = f'%x = "cuda_tile.{op.name}"({names}) {attributes} : ({types}) -> {type_}'
        return f"rounding<{mode}> in generic form", op.parameters(type_), body, "rounding must be"

    return family


def no_signedness(op: Elementwise) -> tuple[str, str, str, str]:
    """Neither signed nor unsigned."""
    type_ = f"tile<2x{op.element}>"
    return "signedness left out", op.parameters(type_), op.use(type_, ""), "expected signedness, found ':'"


def stray_word(word: str) -> Family:
    """A word that the operation does not know."""

    def family(op: Elementwise) -> tuple[str, str, str, str]:
        type_ = f"tile<2x{op.element}>"
        return f"the word {word!r}", op.parameters(type_), op.use(type_, f" {word}"), f"found '{word}'"

    return family


def rounded_down(op: Elementwise) -> tuple[str, str, str, str]:
    """An unsigned quotient rounded towards minus infinity."""
    type_ = "tile<i1>"
    body = op.use(type_, " unsigned rounding<negative_inf>")
    says = "rounding<negative_inf> needs signed operands"
    return "unsigned, rounding<negative_inf>", op.parameters(type_), body, says


def third_operand(op: Elementwise) -> tuple[str, str, str, str]:
    """An addend of another type."""
    lhs, acc = "tile<2x4xf32>", "tile<2x4xf16>"
    says = f"operand 'acc' has type {acc}, must have the type of 'lhs', {lhs}"
    return "an addend of different element type", op.parameters(lhs, lhs, acc), op.use(lhs), says


INTEGERS, FLOATS = "integers", "f16, bf16, f32 or f64"
ALLOWED = "rounding must be one of nearest_even, zero, negative_inf, positive_inf"
FAMILIES: dict[str, Family] = {
    "rank": different_inputs("rank", "tile<2x4xE>", "tile<1x2x4xE>"),
    "shape": different_inputs("shape", "tile<2x4xE>", "tile<4x2xE>"),
    "elements": different_inputs("element type", "tile<2x4xE>", "tile<2x4xf16>"),
    "int_elements": different_inputs("element type", "tile<2x4xE>", "tile<2x4xi16>"),
    "written_rank": written_otherwise("rank", "tile<1x2x4xE>"),
    "written_shape": written_otherwise("shape", "tile<4x2xE>"),
    "written_elements": written_otherwise("element type", "tile<2x4xf16>"),
    "written_int_elements": written_otherwise("element type", "tile<2x4xi16>"),
    "of_f32": wrong_element("f32", INTEGERS),
    "of_f16": wrong_element("f16", INTEGERS),
    "of_i4": wrong_element("i4", INTEGERS),
    "of_f8": wrong_element("f8E5M2", FLOATS),
    "of_tf32": wrong_element("tf32", FLOATS),
    "of_i1": wrong_element("i1", FLOATS),
    "of_i16": wrong_element("i16", FLOATS),
    "of_i32": wrong_element("i32", FLOATS),
    "of_i8": wrong_element("i8", FLOATS),
    "flush_f16": flushed("f16"),
    "flush_bf16": flushed("bf16"),
    "flush_f64": flushed("f64"),
    "approx": rounded("approx", "f32", ALLOWED),
    "full": rounded("full", "f32", ALLOWED),
    "approx_f16": rounded("approx", "f16", "rounding<approx> needs f32, operand is {}"),
    "approx_bf16": rounded("approx", "bf16", "rounding<approx> needs f32, operand is {}"),
    "approx_f64": rounded("approx", "f64", "rounding<approx> needs f32, operand is {}"),
    "full_f16": rounded("full", "f16", "rounding<full> needs f32, operand is {}"),
    "full_f64": rounded("full", "f64", "rounding<full> needs f32, operand is {}"),
    "even": rounded("nearest_even", "f32", "rounding must be full or approx"),
    "unknown_mode": rounded("sideways", "f32", "expected rounding, found 'sideways'"),
    "two_modes": rounded("approx, full", "f32", "expected '>'"),
    "generic_full": generic_rounding("full"),
    "generic_approx": generic_rounding("approx"),
    "generic_integral": generic_rounding("nearest_int_to_zero"),
    "signedness": no_signedness,
    "unsigned": stray_word("unsigned"),
    "stray": stray_word("sideways"),
    "addend": third_operand,
    "down": rounded_down,
}
"""Conditions by the names that `SUITE` uses."""

_INTS = "rank written_rank shape written_shape int_elements written_int_elements"
_FLTS = "rank written_rank shape written_shape elements written_elements"
_UNARY = "written_rank written_shape written_elements of_i32 of_f8"
_MODES = "unknown_mode approx full generic_full generic_approx"
SUITE: dict[str, tuple[int, str, str, str]] = {
    "addi": (2, INT, "", f"{_INTS} of_f32 of_i4"),
    "andi": (2, INT, "", f"{_INTS} of_f32"),
    "addf": (2, FLOAT, "", f"{_FLTS} elements of_f8 of_i32 flush_f16 flush_f64 approx full "
             "generic_full generic_approx"),
    "divi": (2, INT, " signed", f"{_INTS} int_elements of_f32 signedness signedness down"),
    "divf": (2, FLOAT, " rounding<approx>", f"{_FLTS} elements of_f8 of_i32 flush_f16 approx_f16 full_f16 flush_bf16 "
             "generic_integral flush_f64 approx_f64 full_f64 two_modes unknown_mode"),
    "maxi": (2, INT, " signed", f"{_INTS} int_elements of_f32 signedness signedness"),
    "maxf": (2, FLOAT, "", "shape written_shape elements written_elements elements elements of_i32 unsigned stray "
             "flush_bf16"),
    "mini": (2, INT, " signed", f"{_INTS} int_elements of_f32 signedness signedness"),
    "minf": (2, FLOAT, "", f"{_FLTS} elements of_i32 unsigned stray flush_bf16"),
    "muli": (2, INT, "", "rank written_rank"),
    "mulf": (2, FLOAT, "", f"{_FLTS} elements of_f8 of_i32 flush_f16 flush_bf16 {_MODES}"),
    "fma": (3, FLOAT, "", f"{_FLTS} addend of_f8 of_i32 flush_f16 flush_bf16 {_MODES}"),
    "mulhii": (2, INT, "", f"{_INTS} int_elements of_f32"),
    "negf": (1, FLOAT, "", "written_rank written_shape written_elements of_i32 of_i1 of_i32"),
    "negi": (1, INT, "", "of_f16"),
    "ori": (2, INT, "", f"{_INTS} int_elements of_f32"),
    "remi": (2, INT, " signed", "rank shape int_elements of_f32 signedness signedness"),
    "remf": (2, FLOAT, "", f"{_FLTS} elements of_f8 of_i32 of_i16 unsigned"),
    "subi": (2, INT, "", "rank shape int_elements of_f32"),
    "subf": (2, FLOAT, "", f"{_FLTS} of_f8 of_i32 flush_f16 {_MODES}"),
    "shli": (2, INT, "", f"{_INTS} int_elements of_f32"),
    "shri": (2, INT, " signed", f"{_INTS} int_elements of_f32 signedness signedness"),
    "xori": (2, INT, "", f"{_INTS} int_elements of_f32"),
    "absi": (1, INT, "", "of_f32 written_rank"),
    "absf": (1, FLOAT, "", f"{_UNARY} of_i16 of_tf32 written_rank"),
    "ceil": (1, FLOAT, "", f"{_UNARY} of_i16"),
    "cos": (1, FLOAT, "", _UNARY),
    "cosh": (1, FLOAT, "", _UNARY),
    "exp2": (1, FLOAT, "", f"{_UNARY} flush_f16 of_i8 flush_f64"),
    "exp": (1, FLOAT, "", "written_rank written_shape written_elements of_i32 of_i16 approx_f16 approx_bf16 "
            "approx_f64"),
    "floor": (1, FLOAT, "", _UNARY),
    "log": (1, FLOAT, "", f"{_UNARY} of_i32"),
    "log2": (1, FLOAT, "", f"{_UNARY} of_i32"),
    "pow": (2, FLOAT, "", f"{_FLTS} of_i32 of_f8 of_i32"),
    "rsqrt": (1, FLOAT, "", f"{_UNARY} flush_f64 of_i16"),
    "sqrt": (1, FLOAT, "", f"{_UNARY} of_i16 unknown_mode approx_f16 flush_f16 generic_full of_i16"),
    "sin": (1, FLOAT, "", _UNARY),
    "sinh": (1, FLOAT, "", _UNARY),
    "tan": (1, FLOAT, "", f"{_UNARY} written_shape written_elements"),
    "atan2": (2, FLOAT, "", "of_i32 elements of_tf32"),
    "tanh": (1, FLOAT, "", f"{_UNARY} even approx_f16 approx_bf16 approx_f64"),
}  # fmt: skip
"""Operands, element type, what follows the operands, and a name of `FAMILIES` for each line of the suite."""


def cases() -> list[Case]:
    """Every condition of every operation once, with the number of the suite's lines."""
    found: list[Case] = []
    for name, (count, element, tail, families) in SUITE.items():
        op = Elementwise(name, count, element, tail)
        for family, lines in Counter(families.split()).items():
            found.append(case(name, *FAMILIES[family](op), lines))
    return found
