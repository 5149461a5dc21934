"""What may not be chosen: names of atoms, and of whatever has an alternative, by how they begin."""

from __future__ import annotations

from collections.abc import Iterable


def forbidden(name: str, prefixes: Iterable[str]) -> bool:
    """Does a name begin with one of these, as `--forbid` gives them?"""
    return name.startswith(tuple(prefixes))
