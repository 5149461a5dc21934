"""Golden files: the text that a level is to have, renewed by --bless."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from tilesat.testing.conditions import ExpectationFailed, hidden

__tracebackhide__ = hidden

LONGEST = 60
"""Lines of a difference that are shown."""
CONTEXT = 2
_NUMBERED = re.compile(r"([%$^]\w*?)\d+\b")


def check(path: Path, text: str, bless: bool, more: str) -> None:
    """The text must be what the file holds; with `bless` it is written there. Raises ExpectationFailed."""
    if bless:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    if not path.exists():
        lines = [f"there is no golden file {path}", "run pytest --bless, and read what it wrote", f"more: {more}"]
        raise ExpectationFailed("\n  ".join(lines))
    wanted = path.read_text()
    if text != wanted:
        shown = list(difference(wanted, text))
        rest = [f"... {len(shown) - LONGEST} more lines"] if len(shown) > LONGEST else []
        lines = [f"{path} differs from the kernel as compiled now (- golden, + now):", *shown[:LONGEST], *rest]
        raise ExpectationFailed("\n  ".join([*lines, "if that is intended: pytest --bless", f"more: {more}"]))


def difference(before: str, after: str) -> Iterator[str]:
    """The lines that differ, with some around them. Numbers of values do not count, since one line more renumbers all
    that follow, unless nothing else differs.
    """
    a, b = before.splitlines(), after.splitlines()
    plain = [[_NUMBERED.sub(r"\1", line) for line in lines] for lines in (a, b)]
    if plain[0] == plain[1]:
        yield "only numbers of values differ"
        plain = [a, b]
    for group in SequenceMatcher(None, *plain, autojunk=False).get_grouped_opcodes(CONTEXT):
        yield f"@@ line {group[0][3] + 1} @@"
        for kind, first, last, new_first, new_last in group:
            if kind == "equal":
                yield from (f"  {line}" for line in b[new_first:new_last])
            else:
                yield from (f"- {line}" for line in a[first:last])
                yield from (f"+ {line}" for line in b[new_first:new_last])
