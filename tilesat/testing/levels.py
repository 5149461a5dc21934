"""The text of one level of a kernel, by the names of its operations or instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TypeAlias

from tilesat.testing.conditions import ExpectationError, Quantity, check, hidden

__tracebackhide__ = hidden

SHOWN = 5
"""Lines, or names, that a failure repeats."""
_GENERIC = re.compile(r'(?:^|[\s=])"(?:tilesat\.)?([\w.$]+)"\(')
_NAMES = {
    "ptx": re.compile(r"^\s+(?:@!?%\w+\s+)?([a-z][\w.:]*)"),
    "sass": re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)"),
    "egraph": re.compile(r"^  ([\w./-]+)"),
    "cuda_tile": re.compile(r"^\s*(?:[%(][^=]*= )?([a-z]\w*(?:\.\w+)*)\b"),
}
"""How a line of a level names what it holds; levels that are not here print in MLIR's generic form."""
Noted: TypeAlias = Callable[[list[str]], None]
_LABEL = re.compile(r"^(\$?\w+):$", re.MULTILINE)


@dataclass(frozen=True)
class Line:
    """A line that holds an operation or an instruction: its number from 1, the name, the text."""

    number: int
    name: str
    text: str

    def __str__(self) -> str:
        return f"line {self.number}: {self.text.strip()[:110]}"


def lines_of(level: str, text: str, first: int = 1) -> list[Line]:
    """The lines of a level that hold something."""
    form = _NAMES.get(level, _GENERIC)
    found = ((number, form.search(line), line) for number, line in enumerate(text.splitlines(), first))
    return [Line(number, name[1], line) for number, name, line in found if name]


def matches(name: str, pattern: str, dialect: bool = False) -> bool:
    """Is a name the pattern, or the pattern and more behind a dot? `*` is anything; `dialect`: it may be left out."""
    every = (name, name.partition(".")[2]) if dialect else (name,)
    return any(fnmatchcase(each, pattern) or fnmatchcase(each, f"{pattern}.*") for each in every if each)


class Level:
    """The text of a level, or a loop of it. what: how messages call it; more: the command that prints it; noted: takes
    what could not be looked up.
    """

    def __init__(self, level: str, text: Callable[[], str], what: str, more: Callable[[], str], noted: Noted):
        self.level = level
        self._text = text
        self._what = what
        self._more = more
        self._noted = noted

    @cached_property
    def text(self) -> str:
        """What `--emit` prints."""
        return self._text()

    def __str__(self) -> str:
        return self.text

    @cached_property
    def lines(self) -> list[Line]:
        """The lines that hold an operation or an instruction, in order."""
        return lines_of(self.level, self.text)

    @property
    def names(self) -> list[str]:
        """Their names, in order."""
        return [line.name for line in self.lines]

    def find(self, *patterns: str) -> list[Line]:
        """The lines whose name matches one of the patterns."""
        dialect = self.level not in _NAMES
        return [line for line in self.lines if any(matches(line.name, pattern, dialect) for pattern in patterns)]

    def count(self, *patterns: str) -> int:
        """How many lines have a name that matches one of the patterns."""
        return len(self.find(*patterns))

    def expect(self, *patterns: str, **conditions: object) -> None:
        """Expect so many operations or instructions of these names: count, count__le ...; without, at least one.

        A pattern is a name (`wgmma.mma_async`) or its first parts (`wgmma`); `*` is anything, the dialect of an
        operation may be left out. Several patterns count together.
        """
        if not patterns:
            raise ExpectationError(f"expect() of {self._what} needs the name of an operation or an instruction")
        known = {"count": Quantity(lambda: self.count(*patterns), lambda: self._shown(patterns))}
        self._noted(check(conditions or {"count__ge": 1}, known, f"{' or '.join(patterns)} in {self._what}"))

    def loop(self, pattern: str) -> Level:
        """Of PTX: the part from the label of the innermost loop that holds such an instruction to its last branch back,
        the one with the most of them.
        """
        if self.level != "ptx":
            raise ExpectationError(f"loops of {self.level} are not found by names; k.ptx and k.loop() have some")
        parts = self._loops()
        holding = [part for part in parts if any(matches(line.name, pattern) for line in part)]
        inner = [part for part in holding if not any(_inside(other, part) for other in holding)]
        if not inner:
            inside = _most(Counter(line.name for part in parts for line in part))
            raise ExpectationError(f"{self._what} has no loop with {pattern!r}; its {len(parts)} loops hold {inside}")
        chosen = max(inner, key=lambda part: sum(matches(line.name, pattern) for line in part))
        found = Level("ptx", lambda: "\n".join(line.text for line in chosen), "", self._more, self._noted)
        found._what = f"the loop of {pattern} in {self._what}"
        found.lines = chosen
        return found

    def _loops(self) -> list[list[Line]]:
        """The lines between every label and the last branch back to it."""
        found: list[list[Line]] = []
        for label in _LABEL.finditer(self.text):
            after = self.text[label.end() :]
            back = list(re.finditer(rf"\bbra(?:\.uni)? {re.escape(label[1])};", after))
            if back:
                first = self.text.count("\n", 0, label.end())
                last = first + after.count("\n", 0, back[-1].end())
                found.append([line for line in self.lines if first < line.number <= last + 1])
        return found

    def _shown(self, patterns: Sequence[str]) -> list[str]:
        """What there is of some names, or what is near them; and the command."""
        found = self.find(*patterns)
        rest = [f"... {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        lines = [str(line) for line in found[:SHOWN]] + rest if found else [self._near(patterns)]
        return [*lines, f"more: {self._more()}"]

    def _near(self, patterns: Sequence[str]) -> str:
        counts = Counter(self.names)
        parts = {part for pattern in patterns for part in re.split(r"[.*]", pattern) if part}
        near = [name for name in counts if parts & set(name.split("."))]
        near += [name for pattern in patterns for name in get_close_matches(pattern, counts, SHOWN) if name not in near]
        return f"there are {_most(Counter({name: counts[name] for name in near} if near else counts))}"


def _inside(inner: Sequence[Line], outer: Sequence[Line]) -> bool:
    return inner is not outer and outer[0].number <= inner[0].number and inner[-1].number <= outer[-1].number


def _most(counts: Counter[str]) -> str:
    most = [f"{name} ({count})" for name, count in counts.most_common(2 * SHOWN)]
    return ", ".join(most) + (" and others" if len(counts) > 2 * SHOWN else "") if most else "nothing"
