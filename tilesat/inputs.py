"""What a command reads: a file, or standard input where the file is `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from ir import load

STANDARD_INPUT = Path("-")


def content(path: Path) -> tuple[bytes, str]:
    """The bytes of a file or of standard input, and its name for messages. Raises OSError."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(), "<stdin>"
    return path.read_bytes(), str(path)


def source(path: Path) -> tuple[bytes, str]:
    """The same. Raises TileError."""
    return content(path) if path == STANDARD_INPUT else (load.content(path), str(path))
