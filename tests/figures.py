"""Do the pages name the command behind their figures? `python -m tests.figures` lists the sections that do not.

A section (text from one heading to the next) has figures if it has a table of numbers, or a sentence with a measured
quantity: a cost, a time, cycles, instructions, a count of spills or of mutants. It needs a command in itself or in a
section around it (not the page's introduction), or a link to a section of docs/benchmarks.md. Pages that a script makes
are compared by tests/generated_pages.py instead.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.generated_pages import said

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(r"^(#{1,6}) (.+)$")
FENCE = re.compile(r"^```")
COMMAND = re.compile(
    r"(?:^|[`$ (])(?:python3? (?:-m )?[\w./]+|(?:\.venv/bin/)?tilesat [a-z][\w-]*|pytest(?= )|make [a-z][\w-]*"
    r"|benchmarks\.[\w.]+|tilesat\.(?:compile|autotune)\b|bash \.ci/run)",
    re.MULTILINE,
)
"""What a reader can run: a program of this tree, or the call that makes a figure."""
LINKED = re.compile(r"\]\((?:\.\./)*(?:docs/)?benchmarks\.md#")
"""A link to the section that has the figures and their command."""
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.])")
MEASURED = re.compile(
    r"\d[\d,.]* (?:CPU )?(?:seconds|s of CPU|ms|cycles|(?:SASS )?instructions|bytes of spills|mutants|times as long)\b"
    r"|\bcosts? \d[\d,.]{3,}|\d (?:of|out of) \d+ mutants|\d[\d.]* %"
)
ROWS = 2
"""Rows with two numbers or more that make a table one of figures."""


@dataclass(frozen=True)
class Section:
    """A heading with the lines up to the next one. `line` counts from 1; `around`: its ancestors, outermost first."""

    page: Path
    line: int
    level: int
    title: str
    lines: tuple[str, ...]
    around: tuple[Section, ...]

    def prose(self) -> list[str]:
        """The lines outside of fenced blocks."""
        kept: list[str] = []
        fenced = False
        for line in self.lines:
            if FENCE.match(line):
                fenced = not fenced
            elif not fenced:
                kept.append(line)
        return kept

    def has_figures(self) -> bool:
        """A table of numbers, or a measured quantity in a sentence."""
        plain = [re.sub(r"`[^`]*`", "", line) for line in self.prose()]
        rows = [line for line in plain if line.startswith("|") and len(NUMBER.findall(line)) > 1]
        text = "\n".join(line for line in plain if not line.startswith("|"))
        return len(rows) >= ROWS or MEASURED.search(text) is not None

    def names_a_command(self) -> bool:
        """A command, or a link to one, here or in a section around."""
        text = "\n".join(self.lines)
        return bool(COMMAND.search(text) or LINKED.search(text)) or any(
            COMMAND.search("\n".join(each.lines)) for each in self.around if each.level > 1
        )


def sections(page: Path) -> Iterator[Section]:
    """The sections of a page, in order."""
    open_: list[Section] = []
    heading, start, body = (1, page.name), 1, list[str]()
    fenced = False

    def closed() -> Section:
        around = tuple(each for each in open_ if each.level < heading[0])
        made = Section(page, start, heading[0], heading[1], tuple(body), around)
        open_[:] = [*around, made]
        return made

    for number, line in enumerate(page.read_text().splitlines(), 1):
        fenced ^= FENCE.match(line) is not None
        if not fenced and (found := HEADING.match(line)):
            yield closed()
            heading, start, body = (len(found[1]), found[2]), number, []
        else:
            body.append(line)
    yield closed()


def pages() -> list[Path]:
    """README and the pages of docs/ that people write."""
    made = said()
    written = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in made]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *written]


def without_command() -> list[str]:
    """PAGE:LINE: TITLE of each section whose figures nobody could make again."""
    return [
        f"{each.page.relative_to(ROOT)}:{each.line}: {each.title}"
        for page in pages()
        for each in sections(page)
        if each.has_figures() and not each.names_a_command()
    ]


def main() -> int:
    """List them; 1 if there are any."""
    found = without_command()
    print(*found, sep="\n", end="\n" * bool(found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
