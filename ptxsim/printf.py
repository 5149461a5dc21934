"""printf as called by device code: a format string and a buffer that holds the arguments like a C struct.

The host formats the text on a real device, so everything is as in C. Sources: CUDA C++ Programming Guide, "Formatted
Output"; ISO C, "The fprintf function".
"""

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass

_CONVERSION = re.compile(rb"%([-+ #0]*)(\d+|\*)?(?:\.(-?\d+|\*)?)?(hh|h|ll|l|j|z|t|L)?([a-zA-Z%])")
_WIDE = ("l", "ll", "j", "z", "t")
_FRACTION_BITS = 52  # of a double


class FormatError(Exception):
    """A conversion that the simulator does not support."""


@dataclass(frozen=True, slots=True)
class _Conversion:
    """One %...: precision is None where it is absent or negative."""

    flags: str
    width: int
    precision: int | None
    length: str
    kind: str

    @property
    def is_alternative(self) -> bool:
        return "#" in self.flags

    def sign(self, is_negative: bool) -> str:
        """The sign of a signed conversion."""
        return "-" if is_negative else "+" if "+" in self.flags else " " if " " in self.flags else ""

    def padded(self, prefix: str, body: str, takes_zeros: bool) -> str:
        """A sign or 0x and digits in the field's width."""
        space = self.width - len(prefix) - len(body)
        if "-" in self.flags:
            return prefix + body + " " * space
        if "0" in self.flags and takes_zeros:
            return prefix + "0" * space + body
        return " " * space + prefix + body


class _Arguments:
    """Values read in sequence from the buffer, each aligned to its size."""

    def __init__(self, data: Callable[[int, int], bytes]) -> None:
        self._data = data
        self._offset = 0
        self.count = 0

    def _next(self, code: str) -> int | float:
        size = struct.calcsize(code)
        self._offset = -(-self._offset // size) * size
        value = struct.unpack("<" + code, self._data(self._offset, size))[0]
        self._offset += size
        self.count += 1
        return value

    def integer(self, code: str) -> int:
        """The next value, in an integer format of the struct module."""
        return int(self._next(code))

    def double(self) -> float:
        """The next value, a double."""
        return float(self._next("d"))


def render(
    text: bytes, data: Callable[[int, int], bytes], string_at: Callable[[int, int | None], bytes]
) -> tuple[str, int]:
    """The output of printf, and the number of arguments it used.

    text: the format; data: bytes of the argument buffer by offset and size; string_at: the string at an address, at
    most this many bytes of it. Raises FormatError.
    """
    arguments = _Arguments(data)

    def convert(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, kind = ((group or b"").decode() for group in match.groups())
        if kind == "%":
            return b"%"
        columns = arguments.integer("i") if width == "*" else int(width or 0)
        if columns < 0:
            flags, columns = flags + "-", -columns
        digits = arguments.integer("i") if precision == "*" else int(precision or 0)
        has_point = b"." in match.group()
        found = _Conversion(flags, columns, digits if has_point and digits >= 0 else None, length, kind)
        return _value(arguments, found, string_at).encode("latin-1")

    result = _CONVERSION.sub(convert, text)
    return result.decode("latin-1"), arguments.count


def _value(arguments: _Arguments, found: _Conversion, string_at: Callable[[int, int | None], bytes]) -> str:
    kind, is_wide = found.kind, found.length in _WIDE
    bits = {"h": 16, "hh": 8}.get(found.length, 64)
    if kind in "di":
        value = _signed(arguments.integer("q" if is_wide else "i"), bits)
        return _integer(found, found.sign(value < 0), str(abs(value)))
    if kind in "uoxX":
        value = arguments.integer("Q" if is_wide else "I") & ((1 << bits) - 1)
        digits = format(value, {"u": "d"}.get(kind, kind))
        return _integer(found, "0" + kind if kind in "xX" and found.is_alternative and value else "", digits)
    if kind in "feEgGFaA":
        return _floating(found, arguments.double())
    if kind == "c":
        return found.padded("", chr(arguments.integer("i") & 0xFF), False)
    if kind == "s":
        address = arguments.integer("Q")
        text = string_at(address, found.precision).decode("latin-1") if address and found.precision != 0 else ""
        if not address and (found.precision is None or found.precision >= len("(null)")):
            text = "(null)"
        return found.padded("", text, False)
    if kind == "p":
        address = arguments.integer("Q")
        return found.padded("", hex(address) if address else "(nil)", False)
    raise FormatError(f"printf conversion %{kind} is not simulated")


def _integer(found: _Conversion, prefix: str, digits: str) -> str:
    if found.precision is not None:
        digits = "" if digits == "0" and found.precision == 0 else digits.rjust(found.precision, "0")
    if found.kind == "o" and found.is_alternative and not digits.startswith("0"):
        digits = "0" + digits
    return found.padded(prefix, digits, found.precision is None)


def _floating(found: _Conversion, value: float) -> str:
    sign = found.sign(math.copysign(1.0, value) < 0)
    if not math.isfinite(value):
        name = "nan" if math.isnan(value) else "inf"
        return found.padded(sign, name.upper() if found.kind.isupper() else name, False)
    if found.kind in "aA":
        body = _hexadecimal(abs(value), found.precision, found.is_alternative)
        prefix, body = (sign + "0X", body.upper()) if found.kind == "A" else (sign + "0x", body)
        return found.padded(prefix, body, True)
    precision = 6 if found.precision is None else found.precision
    return found.padded(
        sign, format(abs(value), f"{'#' if found.is_alternative else ''}.{precision}{found.kind}"), True
    )


def _hexadecimal(value: float, precision: int | None, is_alternative: bool) -> str:
    """%a without sign and 0x: one digit, the fraction in hexadecimal digits, a binary exponent."""
    [bits] = struct.unpack("<Q", struct.pack("<d", value))
    exponent, fraction = bits >> _FRACTION_BITS, bits & ((1 << _FRACTION_BITS) - 1)
    whole = fraction + ((exponent > 0) << _FRACTION_BITS)
    power = 0 if value == 0 else max(exponent, 1) - 1023
    digits = _FRACTION_BITS // 4
    if precision is not None and precision < digits:
        cut = 4 * (digits - precision)
        rest, half = whole & ((1 << cut) - 1), 1 << (cut - 1)
        whole >>= cut
        whole += rest > half or (rest == half and whole & 1)
        digits = precision
    first, tail = whole >> (4 * digits), whole & ((1 << (4 * digits)) - 1)
    text = format(tail, f"0{digits}x") if digits else ""
    text = text.rstrip("0") if precision is None else text.ljust(precision, "0")
    point = "." if text or is_alternative else ""
    return f"{first}{point}{text}p{power:+d}"


def _signed(value: int, bits: int) -> int:
    whole = value & ((1 << bits) - 1)
    return whole - (1 << bits) if whole >> (bits - 1) else whole
