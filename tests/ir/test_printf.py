"""%a, which Python's formats lack, compared with the C library's."""

import ctypes

import numpy as np
import pytest

from ir.printf import hexadecimal

FORMATS = ["%a", "%A", "%30a", "%-30a", "%030a", "%-030.4a", "%+.3a", "% .0a", "%#.0a", "%#a", "%.1A", "%.13a", "%.20a"]


@pytest.mark.parametrize("conversion", FORMATS)
def test_hexadecimal_floats_are_those_of_c(conversion: str) -> None:
    rng = np.random.default_rng(FORMATS.index(conversion))
    drawn = rng.integers(0, 1 << 64, 500, dtype=np.uint64).view(np.float64)
    narrow = rng.integers(0, 1 << 32, 500, dtype=np.uint64).astype(np.uint32).view(np.float32)
    fixed = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.5, 1.03125, 1.09375, 0.99999999, np.pi]
    for number in (*fixed, *drawn, *map(float, narrow)):
        text = ctypes.create_string_buffer(400)
        ctypes.CDLL(None).snprintf(text, 400, conversion.encode(), ctypes.c_double(number))
        if not np.isnan(number):  # whose sign C prints
            assert hexadecimal(conversion, float(number)) == text.value.decode()
    assert hexadecimal("%A", float("nan")) == "NAN"
