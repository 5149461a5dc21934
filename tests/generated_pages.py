"""Every page of docs/ that a script makes: `python -m tests.generated_pages [--check] [NAME...]` (`make docs-check`).

Writes all that can be made in seconds; with --check compares instead, and the exit status is 1 where one is not
current. `make test` compares the same pages, each beside the tests of what it is made of.
"""

from __future__ import annotations

import argparse
import re
import sys
from importlib import import_module
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = {
    "instructions.md": "tests.lowering.instruction_page",
    "passes.md": "tests.lowering.passes_page",
    "placed-operations.md": "tests.lowering.placed_page",
    "seed-coverage.md": "tests.seeds.page",
    "simulator.md": "tests.runtime.simulator_document",
    "tile-ir-coverage.md": "tests.ir.coverage",
    "tile-ir-diagnostics.md": "tests.ir.conformance.page",
}
"""The module that makes each: its `page()` is the text, its `OUTPUT` the file."""
SLOW = {
    "proved-rules.md": "pytest tests/egraph/test_proofs.py -m slow --bless",
    "tilegym.md": "python -m tests.cutile.page",
}
"""Pages of long runs, with what makes them: the proofs are compared by `make test-all`, the runs by nothing."""
MADE = re.compile(r"^(?:Made|Generated) by |This page is generated|^<!-- tilesat .* -->$", re.MULTILINE)
"""How a page says that it is made."""


def said() -> set[str]:
    """The pages of docs/ that say they are made."""
    return {path.name for path in DOCS.glob("*.md") if MADE.search(path.read_text())}


def main() -> int:
    """Write or compare the pages."""
    parser = argparse.ArgumentParser(prog="python -m tests.generated_pages")
    parser.add_argument("pages", nargs="*", metavar="NAME", help=f"of {', '.join(PAGES)}; all by default")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    if unknown := set(arguments.pages) - set(PAGES):
        parser.error(f"unknown page {sorted(unknown)[0]!r}: choose from {', '.join(PAGES)}")
    stale = 0
    for name, maker in PAGES.items():
        if arguments.pages and name not in arguments.pages:
            continue
        module = import_module(maker)
        text = module.page()
        current = (DOCS / name).read_text() == text
        if not arguments.check:
            module.OUTPUT.write_text(text)
        stale += not current
        state = "current" if current else f"not current: run python -m {maker}" if arguments.check else "written"
        print(f"docs/{name}: {state}", flush=True)
    return int(arguments.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
