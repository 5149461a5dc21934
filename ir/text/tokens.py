"""The tokens of Tile IR text: one compiled expression cuts them, a cursor hands them out with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection
from typing import NoReturn

from ir.core import Location, ParseError
from ir.quoting import is_bare, unescape

TILE_TOKEN = re.compile(
    r"""(?:\s++|//[^\n]*+)*+(
      (?:!cuda_tile\.)?\b(?:tile|tensor_view|partition_view|strided_view|gather_scatter_view|ptr)
          <[^<>{}%"@]*(?:<[^<>{}%"@]*(?:<[^<>{}%"@]*>[^<>{}%"@]*)*>[^<>{}%"@]*)*>  # a whole type, three levels deep
    | %[\w$.\-]+(?:\#\d+)?                                            # SSA value
    | [A-Za-z_][\w$.]*                                                # word, operation name
    | ->
    | -?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)             # number
    | "(?:[^"\\\n]|\\.)*"
    | @(?:[\w$.\-]+|"(?:[^"\\\n]|\\.)*")                              # symbol
    | [#!][A-Za-z_][\w$.]*                                            # attribute or type with its dialect
    | \^[\w$.\-]+                                                     # label of a block
    | [()\[\]{}<>=,:?*+\-]
    )""",
    re.VERBOSE,
)
_ANGLES = r"<(?:[^<>\"]|\"[^\"]*\"|<(?:[^<>\"]|\"[^\"]*\"|<(?:[^<>\"]|<[^<>]*>)*>)*>)*>"
LEVEL_TOKEN = re.compile(
    rf"""(?:\s++|//[^\n]*+)*+(
      (?:[!\#][A-Za-z_][\w$.]*|\b(?:tensor|vector)){_ANGLES}           # a whole type or attribute, four levels deep
    | %[\w$.\-]+(?:\#\d+)?
    | [A-Za-z_][\w$.]*
    | ->
    | -?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)
    | "(?:[^"\\\n]|\\.)*"
    | @(?:[\w$.\-]+|"(?:[^"\\\n]|\\.)*")
    | [#!][A-Za-z_][\w$.]*
    | \^[\w$.\-]+
    | [()\[\]{{}}<>=,:?*+\-]
    )""",
    re.VERBOSE,
)
"""Tokens of the levels below cuda_tile."""
_TRAILING = re.compile(r"(?:\s++|//[^\n]*+)*+\Z")
SHOWN = 60
"""Characters of a token that a message repeats."""
MAX_DIGITS = 20
"""Characters of an integer; the longest of 64 bits has 20."""
END = ""
"""The token after the last one."""


class Tokens:
    """A cursor over the tokens of one text; errors carry the place of a token."""

    __slots__ = ("at", "file", "line_starts", "source", "starts", "tokens")

    def __init__(self, source: str, file: str, pattern: re.Pattern[str] = TILE_TOKEN):
        self.source = source
        self.file = file
        self.at = 0
        self.line_starts = [0, *(m.end() for m in re.finditer("\n", source))]
        self.tokens: list[str] = []
        self.starts: list[int] = []
        end = 0
        for match in pattern.finditer(source):
            if match.start() != end:  # words within a comment that ends the text are no tokens
                if _TRAILING.match(source, end):
                    break
                self._bad_character(end)
            end = match.end()
            self.tokens.append(match[1])
            self.starts.append(match.start(1))
        if not _TRAILING.match(source, end):
            self._bad_character(end)
        self.tokens.append(END)
        self.starts.append(len(source.rstrip()))

    def _bad_character(self, offset: int) -> NoReturn:
        blank = re.compile(r"(?:\s++|//[^\n]*+)*+").match(self.source, offset)
        offset = blank.end() if blank else offset
        hint = "a string must end on its line" if self.source[offset] == '"' else ""
        raise ParseError(f"unexpected character {self.source[offset]!r}", self.place(offset), hint)

    def place(self, offset: int) -> Location:
        """The line and column of a character."""
        line = bisect_right(self.line_starts, offset)
        return Location(self.file, line, offset - self.line_starts[line - 1] + 1)

    def location(self, index: int | None = None) -> Location:
        """The place of a token, by default the current one."""
        return self.place(self.starts[self.at if index is None else index])

    @property
    def current(self) -> str:
        """The token at the cursor, END after the last."""
        return self.tokens[self.at]

    def take(self) -> str:
        """The current token; the cursor moves on."""
        token = self.tokens[self.at]
        if token:
            self.at += 1
        return token

    def accept(self, token: str) -> bool:
        """Whether the current token is `token`; it is then taken."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str, after: str = "", hint: str = "") -> None:
        """Take exactly `token` or raise a located error."""
        if self.tokens[self.at] != token:
            where = f" {after}" if after else ""
            self.fail(f"expected '{token}'{where}, found {self.describe()}", hint)
        self.at += 1

    def describe(self) -> str:
        """The current token for a message."""
        token = self.current
        shown = token if len(token) <= SHOWN else f"{token[:SHOWN]}..."
        return f"'{shown}'" if token else "the end of the text"

    def fail(self, message: str, hint: str = "", index: int | None = None) -> NoReturn:
        """Raise a ParseError at a token, by default the current one."""
        raise ParseError(message, self.location(index), hint)

    def integer(self, what: str) -> int:
        """A decimal integer."""
        token = self.current
        if not re.fullmatch(r"-?\d+", token):
            self.fail(f"expected an integer for {what}, found {self.describe()}")
        if len(token) > MAX_DIGITS:
            self.fail(f"{what} has more than {MAX_DIGITS} digits")
        self.at += 1
        return int(token)

    def string(self, what: str) -> str:
        """A quoted string, its escapes resolved."""
        token = self.current
        if not token.startswith('"'):
            self.fail(f"expected a string for {what}, found {self.describe()}")
        self.at += 1
        return unescape(token)

    def symbol(self, what: str) -> str:
        """An @name, without its sign."""
        token = self.current
        if not token.startswith("@"):
            self.fail(f"expected a symbol such as @kernel for {what}, found {self.describe()}")
        self.at += 1
        return unescape(token[1:]) if token.startswith('@"') else token[1:]

    def key(self, what: str, known: Collection[str]) -> str:
        """The name of `what` in a dictionary, a word or quoted, that is not in `known`."""
        at = self.at
        token = self.take()
        name = unescape(token) if token.startswith('"') else token
        if not name or not (token.startswith('"') or is_bare(token)):
            self.at = at
            self.fail(f"expected the name of {what}, found {self.describe()}")
        if name in known:
            self.fail(f"{what}, {name}, is written twice", index=at)
        return name

    def skip_balanced(self) -> None:
        """Pass over a bracketed group that starts at the cursor."""
        pairs = {"(": ")", "[": "]", "{": "}", "<": ">"}
        if self.current not in pairs:
            self.fail(f"expected a bracket, found {self.describe()}")
        start, expected = self.at, [pairs[self.take()]]
        while expected:
            token = self.take()
            if token == END:
                self.fail(f"'{self.tokens[start]}' is never closed", index=start)
            if token in pairs:
                expected.append(pairs[token])
            elif token == expected[-1]:
                expected.pop()
