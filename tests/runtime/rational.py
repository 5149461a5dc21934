"""Rounding by exact rational arithmetic: the reference that the simulator's bit tricks are judged by."""

import math
from fractions import Fraction

import numpy as np

# name: (explicit fraction bits, exponent bias, largest finite value as (numerator, exponent))
FORMATS = {
    "f64": (52, 1023, Fraction(2**53 - 1) * Fraction(2) ** 971),
    "f32": (23, 127, Fraction(2**24 - 1) * 2**104),
    "f16": (10, 15, Fraction(65504)),
    "bf16": (7, 127, Fraction(255) * 2**120),
    "tf32": (10, 127, Fraction(2047) * 2**117),
    "e4m3": (3, 7, Fraction(448)),
    "e5m2": (2, 15, Fraction(57344)),
}


def round_to(value: Fraction, name: str, mode: str = "rn") -> float:
    """A rational rounded to a format, as a float (infinite where it overflows to infinity)."""
    fraction_bits, bias, largest = FORMATS[name]
    if value == 0:
        return 0.0
    size = abs(value)
    exponent = math.floor(math.log2(size.numerator)) - math.floor(math.log2(size.denominator)) + 1
    while Fraction(2) ** exponent > size:
        exponent -= 1
    quantum = Fraction(2) ** (max(exponent, 1 - bias) - fraction_bits)
    whole, rest = divmod(size / quantum, 1)
    negative = value < 0
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rna": rest >= Fraction(1, 2),
        "rz": False,
        "rm": negative and rest > 0,
        "rp": not negative and rest > 0,
    }[mode]
    rounded = (whole + up) * quantum
    if rounded > largest:
        outward = mode in ("rn", "rna") or mode == ("rm" if negative else "rp")
        result = math.inf if outward else float(largest)
    else:
        result = float(rounded)
    return -result if negative else result


def rounded_array(values: list[Fraction | float], name: str, mode: str, dtype: object) -> np.ndarray:
    """Rationals rounded, floats taken as they are (infinities, NaN, signed zeros)."""
    return np.array([v if isinstance(v, float) else round_to(v, name, mode) for v in values], dtype)
