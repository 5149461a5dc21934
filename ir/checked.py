"""A check where types alone do not say what a value is."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def checked(value: object, *kinds: type[T]) -> T:
    """The value, known to be of one of these classes. Raises TypeError for a defect of the compiler: it is not."""
    if not isinstance(value, kinds):
        raise TypeError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, got {value!r}")
    return value
