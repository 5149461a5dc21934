"""What a command reads: a file, or standard input where the file is `-`."""

from __future__ import annotations

import sys
from pathlib import Path

STANDARD_INPUT = Path("-")


def source(path: Path) -> tuple[Path | bytes, str]:
    """What to load of a path: itself, or the bytes of standard input; and its name for messages. Raises OSError."""
    return content(path) if path == STANDARD_INPUT else (path, str(path))


def content(path: Path) -> tuple[bytes, str]:
    """The bytes of a file or of standard input, and its name for messages. Raises OSError."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read(), "<stdin>"
    return path.read_bytes(), str(path)
