"""Makes docs/seed-coverage.md by trying every item: python -m tests.seeds.page [--check]."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.generated_page import publish
from tests.seeds.items import ITEMS as FIRST
from tests.seeds.items import Item
from tests.seeds.rest import REST

OUTPUT = Path(__file__).resolve().parents[2] / "docs/seed-coverage.md"
ITEMS = (*FIRST, *REST)
HEAD = """# Coverage of the seed documents

Made by `python -m tests.seeds.page`, which tries each item; do not edit. The items are the roster of the nvgpu dialect
(33 rows), and everything else in the documents on nvgpu and on nv_tileas to LLVM that was not complete on 2026-11-22.
"Done": implemented and tried; a note after the tries says if the form differs. "Seed wrong": the document's text is not
PTX or not upstream MLIR, and the item is what the hardware has. "Left": missing or incomplete.

"""


def state(item: Item) -> str:
    """One word or two."""
    return "left" if item.left else "seed wrong" if item.wrong else "done"


def row(item: Item) -> str:
    """One line of the table; its tries are run."""
    found = [attempt() for attempt in item.tries]
    said = [text for text in (*found, item.wrong, item.here, item.left) if text]
    return f"| {item.name} | {state(item)} | {'; '.join(said)} |"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for section in dict.fromkeys(item.section for item in ITEMS):
        parts.append(f"## {section}\n\n| item | state | tried |\n|---|---|---|\n")
        parts += [row(item) + "\n" for item in ITEMS if item.section == section]
        parts.append("\n")
    counts = {word: sum(state(item) == word for item in ITEMS) for word in ("done", "seed wrong", "left")}
    parts.append(", ".join(f"{count} {word}" for word, count in counts.items()) + f", of {len(ITEMS)}.\n")
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(publish(OUTPUT, page()))
