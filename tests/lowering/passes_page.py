"""Makes the tables of docs/passes.md from the passes: python -m tests.lowering.passes_page [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.generated_page import publish
from tilesat.commands.passes import markdown

OUTPUT = Path(__file__).resolve().parents[2] / "docs/passes.md"
TABLES = "<!-- tilesat passes --markdown -->\n"
"""What is behind it is made; what is before it is written."""


def page() -> str:
    """The whole page."""
    written, mark, _ = OUTPUT.read_text().partition(TABLES)
    return written + mark + "\n".join(markdown()) + "\n"


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
