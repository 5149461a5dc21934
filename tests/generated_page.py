"""Pages of docs that a script makes: written, or with --check compared with what is there."""

from __future__ import annotations

import sys
from pathlib import Path


def publish(output: Path, page: str) -> int:
    """Write a page; with --check among the arguments say by the exit status whether the file holds it."""
    if "--check" in sys.argv[1:]:
        return int(output.read_text() != page)
    output.write_text(page)
    return 0
