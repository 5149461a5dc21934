"""A value in a message, however large it is."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

MOST_SHOWN = 60
"""Characters of a value that a message repeats."""
MOST_BITS = 200
"""Of an integer that a message repeats: 60 digits."""


def shown(value: Any) -> str:
    """A value for a message: arrays by type and shape, what is long by its size."""
    if getattr(value, "shape", ()) and hasattr(value, "dtype"):
        return f"{value.dtype}{list(value.shape)}"
    text = repr_of(value)
    if len(text) <= MOST_SHOWN:
        return text
    if isinstance(value, Sized) and not isinstance(value, str | bytes):
        return f"a {type(value).__name__} of {len(value)} elements"
    return f"{text[: MOST_SHOWN - 3]}..."


def repr_of(value: object) -> str:
    """`repr`, but for integers of more digits than Python prints."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"an integer of {value.bit_length()} bits"
    try:
        return repr(value)
    except ValueError:  # a collection that holds such an integer
        return f"a {type(value).__name__}"
