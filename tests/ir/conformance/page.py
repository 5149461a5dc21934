"""Makes docs/tile-ir-diagnostics.md from the cases: python -m tests.ir.conformance.page [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from ir.core import TileError, verify
from ir.dialects.cuda_tile.hints import verify_hints
from ir.text import parse_all
from tests.generated_page import publish
from tests.ir.conformance import (
    Case,
    access,
    comparison,
    control,
    conversion,
    elementwise,
    literal,
    promise,
    scope,
    shape,
)
from tests.ir.conformance import view as views

PAGES = (elementwise, comparison, conversion, literal, shape, promise, control, access, views, scope)
OUTPUT = Path(__file__).resolve().parents[3] / "docs/tile-ir-diagnostics.md"
SUITE_LINES = 833
"""`expected-error` lines of the public suite's files up to bytecode 13.3."""
NOT_STORED = 16
"""Lines of get_shape_invalid and permute_invalid, of which no public copy was found; their conditions are here too."""
OF_A_TEST_PASS = 1
"""A line that speaks of a pass which only the suite's own tool has."""
HEAD = """# Diagnostics of CUDA Tile IR

Made by `python -m tests.ir.conformance.page` from the programs in tests/ir/conformance; do not edit. Each row is one
condition that the public conformance suite lists for an operation, in our words, and the message of our readers or our
verifier; `tests/ir/test_conformance.py` checks every one and, if NVIDIA's disassembler is installed, compares those
that bytecode can express with it. "lines" counts the suite's `expected-error` lines for the condition; 0 means a
condition of ours, or one of debug scopes, for which the suite compares the text of 46 programs. Wrong optimization
hints are rejected by `tilesat check --hints error` only: the public dialect ignores them.

"""


def cases() -> list[Case]:
    """All cases, page after page."""
    return [case for page in PAGES for case in page.cases()]


def refusal(case: Case) -> TileError | None:
    """The error that a case's program ends in, hints included; None where it is accepted."""
    try:
        for module in parse_all(case.program, "case.mlir"):
            verify(module)
            verify_hints(module)
    except TileError as error:
        return error
    return None


def summary(found: list[Case]) -> str:
    """How much of the suite the cases cover."""
    lines = sum(case.lines for case in found)
    public = sum(case.lines > 0 for case in found)
    left = SUITE_LINES - NOT_STORED - OF_A_TEST_PASS
    return (
        f"{len(found)} conditions, {public} of them of the suite, where they stand for {lines} of the {left} lines\n"
        f"that could be read. It has {SUITE_LINES}: no copy of two small files with {NOT_STORED} lines was found, and\n"
        f"{OF_A_TEST_PASS} is about a pass of the suite's own tool.\n"
    )


def page() -> str:
    """The whole page."""
    found = cases()
    rows = ["| operation | condition | lines | our message |", "|---|---|---|---|"]
    for case in found:
        error = refusal(case)
        message = "accepted" if error is None else error.message.partition("': ")[2] or error.message
        if error is not None and not error.message.startswith("'cuda_tile."):
            message = error.message
        escaped = message.replace("|", "\\|")
        rows.append(f"| `{case.operation}` | {case.condition} | {case.lines} | {escaped} |")
    return f"{HEAD}{summary(found)}\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
