"""S-expressions of egglog text with their lines: enough to split a file into commands and to read a rule's parts.

egglog parses the commands itself; this reader exists because one parse of a large string is quadratic in egglog 13.2.0,
because rules are named, counted and switched off by name before they are loaded, and because the soundness tests are
generated from the text of the rules.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ir.core import Location, TileError
from ir.records import dataclass

_MAX_DEPTH = 12
"""Lists inside one another that `_LIST` finds; deeper ones are read token by token. Our rules nest up to 10."""
_HIDDEN = re.compile(r';[^\n]*|"(?:[^"\\]|\\.)*"')
_TOKEN = re.compile(r'\s+|;[^\n]*|"(?:[^"\\]|\\.)*"|[()]|[^\s()";]+')


def _nested(depth: int) -> str:
    """A regular expression of a list with up to `depth` lists inside one another."""
    pattern = r"\([^()]*\)"
    for _ in range(depth):
        pattern = rf"\([^()]*(?:{pattern}[^()]*)*\)"
    return pattern


_LIST = re.compile(_nested(_MAX_DEPTH))


@dataclass(frozen=True, slots=True)
class Atom:
    """A symbol, number or quoted string (quotes kept)."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class List:
    """A parenthesised list; `start` and `end` are offsets in the source text."""

    items: tuple[Sexpr, ...]
    line: int
    start: int
    end: int

    @property
    def head(self) -> str:
        """The leading symbol, empty where there is none."""
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Atom) else ""


Sexpr = Atom | List


def read(text: str, file: str) -> list[List]:
    """All top-level lists of `text`.

    Raises TileError, located in `file`, for unbalanced parentheses, open strings and stray symbols.
    """
    stack: list[tuple[int, int, list[Sexpr]]] = []
    found: list[List] = []
    line, position = 1, 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise TileError("a string is not closed", Location(file, line, 1), 'add the missing "')
        token = match.group()
        if token == "(":
            stack.append((line, position, []))
        elif token == ")":
            if not stack:
                raise TileError("')' without a matching '('", Location(file, line, 1), "remove it")
            at, start, items = stack.pop()
            closed = List(tuple(items), at, start, match.end())
            if stack:
                stack[-1][2].append(closed)
            else:
                found.append(closed)
        elif not token[0].isspace() and token[0] != ";":
            if not stack:
                raise TileError(f"'{token}' is outside any command", Location(file, line, 1), "wrap it in (...)")
            stack[-1][2].append(Atom(token, line))
        line += token.count("\n")
        position = match.end()
    if stack:
        raise TileError("'(' is never closed", Location(file, stack[0][0], 1), "add the missing ')'")
    return found


class Span(NamedTuple):
    """Where a top-level list stands: offsets in the text, and its line."""

    start: int
    end: int
    line: int


def spans(text: str, file: str) -> list[Span]:
    """The top-level lists of `text`, found by one regular expression (ten times faster than reading them).

    Raises TileError, located in `file`, for what `read` refuses.
    """
    bare = _bare(text)
    found: list[Span] = []
    start, end, line = 0, 0, 1
    for match in _LIST.finditer(bare):
        if bare[end : match.start()].strip():
            break
        line += text.count("\n", start, match.start())
        start, end = match.span()
        found.append(Span(start, end, line))
    if not bare[end:].strip() and '"' not in bare:  # a quote that is left over opens a string that nothing closes
        return found
    return [Span(each.start, each.end, each.line) for each in read(text, file)]  # says what is wrong, and where


def end_of_list(text: str, start: int) -> int:
    """The offset behind the list that opens at `start`; the end of the text where none is closed."""
    found = _LIST.match(_bare(text), start)
    return found.end() if found else len(text)


def _bare(text: str) -> str:
    """The text with spaces for comments and strings, whose brackets mean nothing."""
    return _HIDDEN.sub(lambda match: " " * len(match.group()), text)
