"""A value in a message, however large it is."""

from __future__ import annotations

from collections.abc import Sequence, Sized

MOST_SHOWN = 60
"""Characters of a value that a message repeats."""
MOST_BITS = 200
"""Of an integer that a message repeats: 60 digits."""


def shown(value: object) -> str:
    """A value for a message: arrays by type and shape, what is long by its size."""
    shape: Sequence[int] = getattr(value, "shape", ())
    kind: object = getattr(value, "dtype", None)
    if shape and kind is not None:
        return f"{kind}{list(shape)}"
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
