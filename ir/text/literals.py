"""Numbers and dense literals in text: MLIR's decimal and hexadecimal floats, nested lists, raw hexadecimal data."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ir.dialects.cuda_tile.attributes import Array, DenseElements, Rounding, dtype_of
from ir.dialects.cuda_tile.numerics import TF32_DROPPED_BITS, convert_float, from_bits, to_bits
from ir.quoting import unescape
from ir.text.tokens import MAX_DIGITS, Tokens
from ir.types import F8E5M3FNU, F16, F32, F64, I1, TF32, FloatType, IntType, TileType

Scalar = IntType | FloatType

SIGNIFICANT_BITS = {
    "f16": 11, "bf16": 8, "f32": 24, "f64": 53, "tf32": 11, "f8E4M3FN": 4, "f8E5M2": 3, "f8E8M0FNU": 1, "f4E2M1FN": 2,
    "fnv8E5M3FNU": 4,
}  # fmt: skip
"""Bits of the significand, the hidden one included (IEEE 754-2019; OCP 8-bit floating point 1.0; PTX ISA, tf32)."""
HEX_ABOVE = 100
"""Lists of more elements are printed as raw hexadecimal data (MLIR's threshold, seen in disassembly)."""
MAX_RANK = 32
"""Nested lists in a literal; 2^24 elements fill 24 dimensions of two."""
SHORT_DIGITS = 6
"""Digits of the first attempt to print a float (MLIR's printer)."""
_FLOAT = re.compile(r"-?\d+(?:\.\d*(?:[eE][+-]?\d+)?)?")
_HEX = re.compile(r"0x[0-9A-Fa-f]+")


def parse_scalar(tokens: Tokens, element: Scalar) -> Any:
    """One number of type `element` as a bool, int or float."""
    found = parse_element(tokens, element)
    return float(found) if isinstance(element, FloatType) else found


def parse_element(tokens: Tokens, element: Scalar) -> Any:
    """One number of type `element` as a bool, an int or a float; a hexadecimal float literal is its bits, in its dtype.

    There a Python float would not do: a NaN that signals is quieted where it changes its width.
    """
    token = tokens.current
    if isinstance(element, IntType):
        return _parse_integer(tokens, element)
    if _HEX.fullmatch(token):
        bits = int(token, 16)
        if bits >> element.width:
            tokens.fail(f"{token} has more than the {element.width} bits of {element}")
        tokens.at += 1
        return _from_bits(bits, element)
    if not _FLOAT.fullmatch(token):
        tokens.fail(f"expected a number of type {element}, found {tokens.describe()}")
    if "." not in token:
        tokens.fail(f"expected a float literal for {element}, found '{token}'", f"write {token}.0")
    tokens.at += 1
    if element in (F16, F32, F64):  # rounded once by all
        return DenseElements.of(float(token), element).item
    return convert_float(np.asarray(float(token)), element, Rounding.NEAREST_EVEN)[()]


def _parse_integer(tokens: Tokens, element: IntType) -> int | bool:
    token = tokens.current
    if token in ("true", "false") and element == I1:
        tokens.at += 1
        return token == "true"
    if not re.fullmatch(r"-?(?:0x[0-9A-Fa-f]+|\d+)", token):
        tokens.fail(f"expected an integer of type {element}, found {tokens.describe()}")
    value = int(token, 16 if "x" in token else 10) if len(token) <= MAX_DIGITS else 1 << element.width
    if not -(1 << (element.width - 1)) <= value < 1 << element.width:
        tokens.fail(f"{tokens.describe()} does not fit in {element}")
    tokens.at += 1
    if element == I1:
        return bool(value)
    return value - (1 << element.width) if value >> (element.width - 1) > 0 else value


def _from_bits(bits: int, element: FloatType) -> Any:
    if element == TF32:
        return np.array([bits << TF32_DROPPED_BITS], np.uint32).view(np.float32)[0]
    storage = dtype_of(element).itemsize if element != F8E5M3FNU else 1
    return from_bits(np.array([bits], f"u{storage}"), element)[0]


def _to_bits(value: object, element: FloatType) -> int:
    bits = int(to_bits(np.array([value], dtype_of(element)), element)[0])
    return bits >> TF32_DROPPED_BITS if element == TF32 else bits


def parse_elements(tokens: Tokens, element: Scalar) -> tuple[Array, tuple[int, ...] | None]:
    """A number, a nested list or a string of raw data; the shape is None for a number (a splat) and raw data."""
    token = tokens.current
    dtype = dtype_of(element)
    if token.startswith('"'):
        return _parse_raw(tokens, element), None
    if token != "[":
        return np.array([parse_element(tokens, element)], dtype), None
    flat: list[object] = []
    shape = _parse_list(tokens, element, flat)
    return np.array(flat, dtype).reshape(shape), shape


def _parse_list(tokens: Tokens, element: Scalar, flat: list[object], depth: int = 0) -> tuple[int, ...]:
    """Append the numbers of a bracketed list to `flat`; returns its shape."""
    start = tokens.at
    if depth > MAX_RANK:
        tokens.fail(f"a literal has at most {MAX_RANK} dimensions")
    tokens.expect("[")
    inner: tuple[int, ...] | None = None
    count = 0
    while tokens.current != "]":
        if count:
            tokens.expect(",", "between the elements of a literal")
        at = tokens.at
        if tokens.current == "[":
            found = _parse_list(tokens, element, flat, depth + 1)
        else:
            flat.append(parse_element(tokens, element))
            found = ()
        if inner is not None and found != inner:
            tokens.fail(f"rows of a literal have different shapes: {found} after {inner}", index=at)
        inner = found
        count += 1
    tokens.expect("]")
    if not count:
        tokens.fail("an empty list is not a literal", index=start)
    return (count, *(inner or ()))


def _parse_raw(tokens: Tokens, element: Scalar) -> Array:
    """Elements from "0x..." data in memory order, one byte an element for i1."""
    text = unescape(tokens.current)
    dtype = dtype_of(element) if element != F8E5M3FNU else np.dtype(np.uint8)
    if not _HEX.fullmatch(text) or len(text) % 2:
        tokens.fail('raw data of a literal must be "0x" and two hexadecimal digits a byte')
    data = bytes.fromhex(text[2:])
    width = 3 if element == TF32 else dtype.itemsize  # tf32 is stored in 19 bits, rounded up to bytes
    if len(data) % width:
        tokens.fail(f"{len(data)} bytes are not a whole number of {element} elements of {width} bytes")
    tokens.at += 1
    if element == TF32:
        padded = np.zeros((len(data) // 3, 4), np.uint8)
        padded[:, :3] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return (padded.view("<u4").reshape(-1) << np.uint32(TF32_DROPPED_BITS)).view(np.float32)
    if element == I1:
        return np.frombuffer(data, np.uint8) != 0
    if element == F8E5M3FNU:
        return from_bits(np.frombuffer(data, np.uint8), element)
    return np.frombuffer(data, np.uint8).view(dtype)


def parse_dense(tokens: Tokens, element: Scalar) -> tuple[DenseElements, tuple[int, ...] | None, int]:
    """A literal, its shape where it is a list, and the token it starts at."""
    start = tokens.at
    if not tokens.current.startswith(("[", '"')):
        return DenseElements.of(parse_element(tokens, element), element), None, start
    array, shape = parse_elements(tokens, element)
    return DenseElements(array), shape, start


def scalar_text(value: Any, element: Scalar) -> str:
    """A number as MLIR prints it."""
    if isinstance(element, FloatType):
        number = float(value)
        return float_text(number, element) if math.isfinite(number) else f"0x{_to_bits(value, element):X}"
    if element == I1:
        return "true" if value else "false"
    return str(int(value))


def float_text(value: float, element: FloatType) -> str:
    """A float as MLIR prints it: six digits where they are exact, else enough digits, else its bits."""
    if math.isfinite(value):
        short = _decimal(value, SHORT_DIGITS, True)
        if _to_bits(convert_float(np.asarray(float(short)), element, Rounding.NEAREST_EVEN), element) == _to_bits(
            value, element
        ):
            return short
        long = _decimal(value, 2 + SIGNIFICANT_BITS[element.name] * 59 // 196, False)
        if "." in long:
            return long
    return f"0x{_to_bits(value, element):X}"


def _decimal(value: float, digits: int, padded: bool) -> str:
    """`value` with at most `digits` digits, the way LLVM's APFloat prints it.

    LLVM first drops low digits by a division that truncates, by an estimate of log2(10) as 196/59, and only then
    rounds half up; keeping both steps makes our text equal to the disassembler's.
    """
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.{'0' * digits}e+00" if padded else f"{sign}0.0E+0"
    numerator, denominator = abs(value).as_integer_ratio()
    shift = denominator.bit_length() - 1
    significand, exponent = numerator * 5**shift, -shift
    removable = (significand.bit_length() - (digits * 196 + 58) // 59) * 59 // 196
    if removable > 0:
        significand, exponent = significand // 10**removable, exponent + removable
    text = str(significand)
    if len(text) > digits:
        dropped = len(text) - digits
        significand = significand // 10**dropped + (text[digits] >= "5")
        text, exponent = str(significand), exponent + dropped
    kept = text.rstrip("0")
    exponent += len(text) - len(kept)
    return sign + (_scientific(kept, exponent, digits) if padded else _compact(kept, exponent, digits))


def _scientific(text: str, exponent: int, digits: int) -> str:
    power = exponent + len(text) - 1
    return f"{text[0]}.{text[1:].ljust(digits, '0')}e{power:+03d}"


MAX_PADDING = 3
"""Zeros that LLVM's APFloat writes before it turns to an exponent."""


def _compact(text: str, exponent: int, digits: int) -> str:
    leading = exponent + len(text) - 1
    too_long = exponent > MAX_PADDING or len(text) + exponent > digits
    if too_long if exponent >= 0 else leading < -MAX_PADDING:
        return f"{text[0]}.{text[1:] or '0'}E{leading:+d}"
    if exponent >= 0:
        return text + "0" * exponent
    if leading >= 0:
        return f"{text[: leading + 1]}.{text[leading + 1 :]}"
    return f"0.{'0' * (-leading - 1)}{text}"


def dense_text(value: DenseElements, tile: TileType, raw: bool = True) -> str:
    """The elements of a constant as the disassembler prints them, without the element type; many as `raw` data."""
    element = tile.element
    if not isinstance(element, IntType | FloatType):
        raise TypeError(f"{tile} has no literals")
    flat = value.array.reshape(-1)
    if value.splat:
        return scalar_text(flat[0], element)
    if raw and flat.size > HEX_ABOVE:
        return f'"0x{_raw_data(flat, element).hex().upper()}"'
    return _nested(value.expand(tile.shape), element)


def _raw_data(flat: Array, element: Scalar) -> bytes:
    if element == TF32:
        words = (flat.view(np.uint32) >> np.uint32(TF32_DROPPED_BITS)).astype("<u4")
        return words.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    return to_bits(flat, element).tobytes() if element == F8E5M3FNU else flat.tobytes()


def _nested(array: Array, element: Scalar) -> str:
    if array.ndim == 0:
        return scalar_text(array[()], element)
    return f"[{', '.join(_nested(row, element) for row in array)}]"


def constant_name(value: DenseElements, tile: TileType) -> str:
    """The name that the disassembler gives a constant: its value where that is a small whole number, and its type."""
    flat = value.array.reshape(-1)
    if not value.splat:
        return f"cst_{tile.element}"
    if tile.element == I1:
        return "true" if flat[0] else "false"
    if isinstance(tile.element, IntType):
        return f"cst_{int(flat[0])}_{tile.element}"
    number = float(flat[0])
    if math.isnan(number):
        return f"cst_NaN_{tile.element}"
    whole = number.is_integer() and 0 <= number < 2.0**64 and math.copysign(1, number) > 0
    return f"cst_{int(number)}_{tile.element}" if whole else f"cst_{tile.element}"
