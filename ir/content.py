"""Determines whether a source is a program or a file name, and reads the file; loads no reader."""

from __future__ import annotations

from pathlib import Path
from typing import TypeGuard

LONGEST_NAME = 255
"""Characters of a file name that a message repeats (NAME_MAX of Linux)."""


def is_text(source: str | Path) -> TypeGuard[str]:
    """Whether a source is a program rather than a file name."""
    return isinstance(source, str) and ("{" in source or "\n" in source or not source.strip())


def content(path: Path) -> bytes:
    """The bytes of a file. Raises TileError if it cannot be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        from ir.core import Location, TileError  # loads modules that a cached kernel does not need

        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        name = str(path) if len(str(path)) <= LONGEST_NAME else f"{str(path)[:LONGEST_NAME]}..."
        raise TileError(f"cannot read the file: {reason}", Location(name), "pass a Tile IR file") from error
