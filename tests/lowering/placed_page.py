"""Makes docs/placed-operations.md from the declarations: python -m tests.lowering.placed_page [--check]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from egraph import placed
from egraph.term import Column, Operand, Placed, Value
from tests.generated_page import publish

OUTPUT = Path(__file__).resolve().parents[2] / "docs/placed-operations.md"
HEAD = """# Placed operations

Made by `python -m tests.lowering.placed_page` from the declarations in egraph/placed.py; do not edit. A placed
operation is an alternative of the e-graph: a value held in a layout ([architecture](architecture.md)), or in shared
memory. Each is declared once: its constructor in egglog, its columns by name, `--emit egraph` and this page derive from
that; its price and its lowering are found by its class ([how to add one](how-to-add-a-placed-operation.md)).

Operands are placed values, `v:` a logical one. The rules that make them are in `egraph/rules/{place,isel,store}.egg`,
and those of cat, extract, insert and scan in files by their names. Elementwise and uniform operations of Tile IR, and
leaves (egraph/leaves.py) that every thread holds, have theirs by their declarations.

| Operation | Meaning | Operands | Columns | Source |
|---|---|---|---|---|
"""


def described(column: Column[Any]) -> str:
    """A column with its description from the declaration."""
    name = f"v:{column.name}" if isinstance(column, Value) else column.name
    return f"{name} ({column.doc})" if column.doc else name


def row(cls: type[Placed]) -> str:
    """One line of the table."""
    values = [c for c in cls.columns if isinstance(c, Operand | Value)]
    numbers = [c for c in cls.columns if not isinstance(c, Operand | Value)]
    meaning = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    cells = [
        f"`{cls.constructor}`", meaning, ", ".join(map(described, values)), ", ".join(map(described, numbers)),
        cls.reference,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def page() -> str:
    """The whole page."""
    return HEAD + "".join(map(row, placed.operations()))


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
