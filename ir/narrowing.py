"""Type guards for containers of elements that nobody has checked yet: after `isinstance` a checker knows no element."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeGuard


def is_list(given: object) -> TypeGuard[list[object]]:
    """Is this a list?"""
    return isinstance(given, list)


def is_tuple(given: object) -> TypeGuard[tuple[object, ...]]:
    """Is this a tuple?"""
    return isinstance(given, tuple)


def is_row(given: object) -> TypeGuard[Sequence[object]]:
    """Is this a tuple or a list?"""
    return isinstance(given, tuple | list)


def is_iterable(given: object) -> TypeGuard[Iterable[object]]:
    """Can this be iterated over?"""
    return isinstance(given, Iterable)


def is_mapping(given: object) -> TypeGuard[Mapping[str, object]]:
    """Is this a mapping? Its keys are taken to be strings, as those of JSON are."""
    return isinstance(given, Mapping)
