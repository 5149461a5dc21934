"""S-expressions of egglog text with their lines: enough to split a file into commands and to read a rule's parts.

egglog parses the commands itself; this reader exists because one parse of a large string is quadratic in egglog 13.2.0,
because rules are named, counted and switched off by name before they are loaded, and because the soundness tests are
generated from the text of the rules.
"""

from __future__ import annotations

import re

from ir.core import Location, TileError
from ir.dataclass import dataclass

_BRACKET = re.compile(r';[^\n]*|"(?:[^"\\]|\\.)*"?|[()]')
_TOKEN = re.compile(r'\s+|;[^\n]*|"(?:[^"\\]|\\.)*"|[()]|[^\s()";]+')


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
                raise TileError("')' closes nothing", Location(file, line, 1), "remove it")
            at, start, items = stack.pop()
            closed = List(tuple(items), at, start, match.end())
            if stack:
                stack[-1][2].append(closed)
            else:
                found.append(closed)
        elif not token[0].isspace() and token[0] != ";":
            if not stack:
                raise TileError(f"'{token}' stands outside of any command", Location(file, line, 1), "wrap it in (...)")
            stack[-1][2].append(Atom(token, line))
        line += token.count("\n")
        position = match.end()
    if stack:
        raise TileError("'(' is never closed", Location(file, stack[0][0], 1), "add the missing ')'")
    return found


@dataclass(frozen=True, slots=True)
class Span:
    """Where a top-level list stands: offsets in the text, and its line."""

    start: int
    end: int
    line: int


def spans(text: str, file: str) -> list[Span]:
    """The top-level lists of `text`, found by brackets alone (four times faster than reading them).

    Raises TileError, located in `file`, for what `read` refuses.
    """
    found: list[Span] = []
    depth, start, end, line, counted = 0, 0, 0, 1, 0
    for match in _BRACKET.finditer(text):
        token = match.group()
        if token == "(":
            if not depth:
                start = match.start()
                line, counted = line + text.count("\n", counted, start), start
                _only_space(text, end, start, file)
            depth += 1
        elif token == ")":
            depth -= 1
            if depth < 0:
                break
            if not depth:
                end = match.end()
                found.append(Span(start, end, line))
        elif token[0] == ";" and not depth:
            _only_space(text, end, match.start(), file)
            end = match.end()
        elif token[0] == '"' and (len(token) < 2 or token[-1] != '"'):
            break
    else:
        if not depth:
            _only_space(text, end, len(text), file)
            return found
    read(text, file)  # says what is wrong, and where
    return found


def _only_space(text: str, start: int, end: int, file: str) -> None:
    if text[start:end].strip():
        read(text, file)
