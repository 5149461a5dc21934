"""Makes docs/placed-operations.md from the declarations: python -m tests.lowering.placed_page [--check]."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from egraph import placed
from egraph.forms import PlacedForm, placed_classes
from egraph.rulefile import own_rules
from egraph.sexpr import end_of_list
from egraph.term import Column, Operand, Placed, Value
from egraph.terms import declarations
from lowering.selection.pricing import PRICES

OUTPUT = Path(__file__).resolve().parents[2] / "docs/placed-operations.md"
HEAD = """# Placed operations

Made by `python -m tests.lowering.placed_page` from the declarations in egraph/placed.py; do not edit. A placed
operation is an alternative of the e-graph: a value held in a layout ([architecture](architecture.md)), or in shared
memory. Each is declared once: its constructor in egglog, its columns by name, `--emit egraph` and this page derive from
that; its price and its lowering are found by its class ([how to add one](how-to-add-a-placed-operation.md)).

Operands are placed values, `v:` a logical one. "Made by" are the rules that offer it.

| Operation | Meaning | Operands | Columns | Price | Made by | Source |
|---|---|---|---|---|---|---|
"""


def first_line(of: Callable[..., Any] | type | None) -> str:
    """The first paragraph of a docstring."""
    return " ".join((of.__doc__ or "").split("\n\n")[0].split()) if of is not None else ""


def makers() -> dict[str, list[str]]:
    """The rules that make each constructor: those with it among their actions."""
    found: dict[str, list[str]] = {}
    for rule in (*declarations(), *own_rules()):
        if rule.is_rule:
            made = rule.text[end_of_list(rule.text, rule.text.index("(", 1)) :]
            for name in dict.fromkeys(re.findall(r"\(([\w.]+)", made)):
                found.setdefault(name, []).append(rule.name)
    return found


def described(column: Column[Any]) -> str:
    """A column with what its declaration says of it."""
    name = f"v:{column.name}" if isinstance(column, Value) else column.name
    return f"{name} ({column.doc})" if column.doc else name


def row(cls: type[Placed], rules: list[str]) -> str:
    """One line of the table."""
    values = [c for c in cls.columns if isinstance(c, Operand | Value)]
    numbers = [c for c in cls.columns if not isinstance(c, Operand | Value)]
    cells = [
        f"`{cls.constructor}`", first_line(cls), ", ".join(map(described, values)), ", ".join(map(described, numbers)),
        first_line(PRICES.find(cls)), ", ".join(rules), cls.reference,
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def page() -> str:
    """The whole page."""
    rules = makers()
    own = [cls for cls in placed_classes() if cls in placed.operations()]
    others = [cls for cls in placed_classes() if cls not in own]
    forms = ", ".join(f"`{cls.constructor}`" for cls in others if issubclass(cls, PlacedForm))
    leaves = ", ".join(f"`{cls.constructor}`" for cls in others if not issubclass(cls, PlacedForm))
    table = "".join(row(cls, rules.get(cls.constructor, [])) for cls in own)
    return (
        f"{HEAD}{table}\nElementwise and uniform operations of Tile IR have theirs by "
        f"their declarations: {forms}.\n\nLeaves that every thread holds (egraph/leaves.py): {leaves}.\n"
    )


def main() -> int:
    """Write the page, or say whether it is what this makes."""
    if "--check" in sys.argv[1:]:
        return int(OUTPUT.read_text() != page())
    OUTPUT.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
