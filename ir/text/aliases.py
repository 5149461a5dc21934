"""Aliases (`#name = ...`, `!name = ...`) and locations (`loc(...)`): what a text defines once and refers to."""

from __future__ import annotations

import re

from ir.core import Location
from ir.quoting import unescape
from ir.text.tokens import END, MAX_DIGITS, Tokens

MAX_NESTING = 16
"""Aliases within aliases; MLIR's printers nest two or three deep."""
LONGEST_TYPE = 4096
"""Characters of a type after its aliases are replaced; a view of rank 8 with 64-bit sizes has about 400."""
MAX_EXPANSIONS = 100_000
"""Uses of attribute aliases in one text."""
_TYPE_NAME = re.compile(r"!(?!cuda_tile\.)[A-Za-z_][\w$.]*")
_OPEN, _CLOSE = frozenset("([{<"), frozenset(")]}>")


class Aliases:
    """Where each alias is defined: the token range of its body, which the parser of the program passes over."""

    __slots__ = ("bodies", "ends", "expanded", "places", "tokens")

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        self.bodies: dict[str, tuple[int, int]] = {}
        self.ends: dict[int, int] = {}
        self.expanded = 0
        self.places: dict[str, Location | None] = {}
        if "#" not in tokens.source and "!" not in tokens.source:
            return
        at, last = 0, len(tokens.tokens) - 1
        while at < last:
            token = tokens.tokens[at]
            if token[0] in "#!" and tokens.tokens[at + 1] == "=" and self._starts_line(at):
                end = self._end(at + 2)
                self.bodies.setdefault(token, (at + 2, end))
                self.ends[at] = end
                at = end  # a body is passed over once, so that unclosed brackets cost no more than one scan
            else:
                at += 1

    def _starts_line(self, at: int) -> bool:
        start = self.tokens.starts[at]
        line = self.tokens.line_starts[self.tokens.place(start).line - 1]
        return not self.tokens.source[line:start].strip()

    def _end(self, at: int) -> int:
        """The first token of a line after all brackets are closed."""
        depth, start = 0, at
        tokens = self.tokens.tokens
        while tokens[at] != END:
            if depth <= 0 and at > start and self._starts_line(at):
                break
            depth += (tokens[at] in _OPEN) - (tokens[at] in _CLOSE)
            at += 1
        if tokens[at] == END and depth > 0:
            self.tokens.fail("a bracket of this alias is never closed", index=start)
        return at

    def skip(self) -> None:
        """Pass over definitions at the cursor."""
        while self.tokens.at in self.ends:
            self.tokens.at = self.ends[self.tokens.at]

    def type_text(self, text: str) -> str:
        """A type's text with type aliases expanded."""
        for _ in range(MAX_NESTING):
            replaced = _TYPE_NAME.sub(self._body_text, text) if "!" in text else text
            if replaced == text:
                break
            if len(replaced) > LONGEST_TYPE:
                self.tokens.fail(f"a type written by aliases is longer than {LONGEST_TYPE} characters")
            text = replaced
        return text

    def expand(self, name: str) -> int:
        """The first token of an alias's body; a text that refers to aliases without end is refused."""
        self.expanded += 1
        if self.expanded > MAX_EXPANSIONS:
            self.tokens.fail(f"more than {MAX_EXPANSIONS} uses of attribute aliases")
        return self.bodies[name][0]

    def _body_text(self, match: re.Match[str]) -> str:
        body = self.bodies.get(match[0])
        return match[0] if body is None else "".join(self.tokens.tokens[body[0] : body[1]])

    # Locations

    def location(self) -> Location | None:
        """The place that a `loc(...)` at the cursor names, None where there is none; the cursor passes it."""
        tokens = self.tokens
        tokens.expect("loc")
        start = tokens.at
        tokens.skip_balanced()
        return self._place(start, tokens.at, 0)

    def _place(self, at: int, end: int, depth: int) -> Location | None:
        """The first file, line and column within a token range: of nested places MLIR writes the innermost first."""
        tokens = self.tokens.tokens
        while at < end:
            token = tokens[at]
            if token.startswith('"') and tokens[at + 1] == ":":
                line, column = tokens[at + 2], tokens[at + 4] if tokens[at + 3] == ":" else "0"
                if line.isdecimal() and column.isdecimal() and max(len(line), len(column)) <= MAX_DIGITS:
                    return Location(unescape(token), int(line), int(column))
            elif token.startswith("#") and token in self.bodies and depth < MAX_NESTING:
                if token not in self.places:
                    self.places[token] = self._place(*self.bodies[token], depth + 1)
                if self.places[token] is not None:
                    return self.places[token]
            at += 1
        return None
