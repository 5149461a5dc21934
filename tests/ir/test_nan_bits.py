"""NaNs of narrow formats as Python floats, there and back."""

import math

import numpy as np
import pytest

from ir.bits import NANS, bit_pattern, number_of
from ir.nan_bits import narrowed, widened
from ir.types import F32


@pytest.mark.parametrize(("type_", "form"), NANS.items(), ids=map(str, NANS))
def test_every_payload_comes_back(type_, form):
    width, mantissa = form
    exponent = (1 << width - 1 - mantissa) - 1
    for payload in {1, 2, (1 << mantissa) - 1, 1 << mantissa - 1, (1 << mantissa - 1) - 1} - {0}:
        if payload >> mantissa:
            continue
        for sign in (0, 1):
            bits = sign << width - 1 | exponent << mantissa | payload
            number = widened(bits, width, mantissa)
            assert math.isnan(number)
            assert narrowed(number, width, mantissa) == bits
            assert bit_pattern(type_, number_of(type_, bits)) == bits


def test_the_plain_nan_is_quiet():
    assert narrowed(math.nan, 32, 23) == 0x7FC00000
    assert narrowed(widened(0x7FF0000000000001, 64, 52), 32, 23) == 0x7FC00000


@pytest.mark.parametrize("number", [0.0, -0.0, 1e-46, 7e-46, 3.4028235677973362e38, 3.4028235677973366e38, -1e39])
def test_bits_of_f32_are_numpys_where_they_round_to_zero_and_to_infinity(number):
    with np.errstate(over="ignore"):
        assert bit_pattern(F32, number) == int(np.float32(number).view(np.uint32))
