"""`tilesat check FILE`: parse and verify only."""

from __future__ import annotations

import argparse

from tilesat.cli import OK
from tilesat.source import read


def run(arguments: argparse.Namespace) -> int:
    """Print what the module holds; errors are raised."""
    module = read(arguments.file, {})
    operations = sum(1 for _ in module.walk())
    entries = ", ".join(f"@{entry.sym_name}" for entry in module.entries) or "no entry"
    print(f"{arguments.file}: ok, {entries}, {operations} operations")
    return OK
