"""The formats of printf, as far as they print numbers."""

from __future__ import annotations

import re
from fractions import Fraction
from math import copysign, isfinite

CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d*)?(?:hh|h|ll|l|j|z|t|L)?([diuoxXeEfFgGaA])|(.?))")
"""printf's conversions of numbers (C11, 7.21.6.1): the second group matches anything else."""
LENGTH = re.compile(r"hh|h|ll|l|j|z|t|L")
"""Length modifiers of arguments, which have no effect for a tile: its type determines the size of its elements."""


FLAGS = re.compile(r"%([-+ #0]*)(\d*)(?:\.(\d*))?")
"""Flags, width and precision of a conversion."""
FRACTION = 13
"""Hexadecimal digits of the fraction of an f64."""


def hexadecimal(conversion: str, number: float) -> str:
    """A number as %a prints it, which Python's formats lack: the shortest fraction if no precision is given, otherwise
    rounded to that many digits, ties to even (C11, 7.21.6.1; IEEE 754, 5.12.3).
    """
    found = FLAGS.match(conversion)
    flags, width, precision = found.groups("") if found else ("", "", "")
    sign = "-" if copysign(1.0, number) < 0 else "+" if "+" in flags else " " if " " in flags else ""
    prefix, zeros = "", "0" in flags and "-" not in flags
    if not isfinite(number):
        body, zeros = ("nan" if number != number else "inf"), False
    else:
        mantissa, power = abs(number).hex()[2:].split("p")
        first, fraction = mantissa.split(".")
        fraction = fraction.ljust(FRACTION, "0")
        if precision or "." in conversion:
            kept = min(int(precision or 0), FRACTION)
            rounded = round(Fraction(int(first + fraction, 16), 16 ** (FRACTION - kept)))
            digits = f"{rounded:0{kept + 1}x}"
            first, fraction = digits[: len(digits) - kept], digits[len(digits) - kept :].ljust(int(precision or 0), "0")
        else:
            fraction = fraction.rstrip("0")
        prefix, body = "0x", f"{first}{'.' if fraction or '#' in flags else ''}{fraction}p{power}"
    room = int(width or 0) - len(sign + prefix)
    text = sign + prefix + (body.rjust(room, "0") if zeros else body)
    text = text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))
    return text.upper() if conversion[-1] == "A" else text


def conversions(text: str) -> int:
    """The number of numbers that a format prints."""
    return sum(match[1] is not None for match in CONVERSION.finditer(text))
