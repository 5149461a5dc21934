"""The formats of printf, as far as they print numbers."""

from __future__ import annotations

import re

CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d*)?(?:hh|h|ll|l|j|z|t|L)?([diuoxXeEfFgGaA])|(.?))")
"""printf's conversions of numbers (C11, 7.21.6.1): the second group is what is none of them."""
LENGTH = re.compile(r"hh|h|ll|l|j|z|t|L")
"""Lengths of arguments, which say nothing of a tile: its type says how long its elements are."""


def conversions(text: str) -> int:
    """How many numbers a format prints."""
    return sum(match[1] is not None for match in CONVERSION.finditer(text))
