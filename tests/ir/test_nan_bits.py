"""NaNs of narrow formats as Python floats, there and back."""

import math

import pytest

from ir.bits import NANS, bit_pattern, number_of
from ir.nan_bits import narrowed, widened


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
