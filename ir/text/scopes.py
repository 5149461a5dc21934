"""Debug scopes of text: `loc(...)` around `#cuda_tile.di_loc<loc(...) in #cuda_tile.di_subprogram<...>>`."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import Op
from ir.dialects.cuda_tile import Entry, Global, Module, TestingFunc
from ir.quoting import unescape
from ir.scopes import NO_SCOPE, Scope, check_function, check_global, check_operations
from ir.text.aliases import MAX_NESTING, Aliases

PLACE, BLOCK, SUBPROGRAM = (f"#cuda_tile.di_{each}" for each in ("loc", "lexical_block", "subprogram"))
LONGEST = 1000
"""Tokens of a subprogram whose aliases are replaced; one of NVIDIA's printer has about 50."""


class Unread(Exception):
    """A place is written in a way that says nothing of scopes."""


class Scopes:
    """The scope of every operation whose place names one."""

    __slots__ = ("aliases", "by_alias", "expanded", "found", "used")

    def __init__(self, aliases: Aliases):
        self.aliases = aliases
        self.used = PLACE in aliases.tokens.source
        self.by_alias: dict[str, Scope] = {}
        self.expanded: dict[str, list[str]] = {}
        self.found: dict[Op, Scope] = {}

    def keep(self, op: Op, at: int) -> None:
        """Note the scope of an operation whose place starts at token `at`."""
        if self.used:
            try:
                self.found[op], _ = self._place(at, 0)
            except Unread:
                return

    def check(self, module: Module) -> None:
        """Raises VerifyError where places are in functions that they cannot be in."""
        if not self.found:
            return
        for each in module.body.block.ops:
            scope = self.found.get(each, NO_SCOPE)
            if isinstance(each, Global):
                check_global(each.sym_name, scope, each.location)
            elif isinstance(each, Entry | TestingFunc):
                check_function(each.sym_name, scope, each.location)
                inner = ((self.found[op], op.location) for op in each.walk() if op in self.found)
                check_operations(each.sym_name, scope, inner)

    # A place, from the token at `at`; each method returns the token after what it read.

    def _place(self, at: int, depth: int) -> tuple[Scope, int]:
        aliased = self._aliased(self._place, at, depth)
        if aliased is not None:
            return aliased
        token = self.aliases.tokens.tokens[at]
        if token == "loc":
            scope, at = self._place(self._after("(", at + 1), depth + 1)
            return scope, self._after(")", at)
        if token == PLACE:
            _, at = self._place(self._after("<", at + 1), depth + 1)
            scope, at = self._scope(self._after("in", at), depth + 1)
            return scope, self._after(">", at)
        if token == "callsite":
            _, at = self._place(self._after("(", at + 1), depth + 1)
            caller, at = self._place(self._after("at", at), depth + 1)
            return Scope(caller.subprogram, caller.linkage, caller.block, call=True), self._after(")", at)
        if token == "fused":
            return self._fused(at + 1, depth + 1)
        return self._named(at, depth + 1)

    def _aliased(self, read: Callable[[int, int], tuple[Scope, int]], at: int, depth: int) -> tuple[Scope, int] | None:
        """The expansion of the alias at `at`, parsed once by `read`; None if there is no alias."""
        token = self.aliases.tokens.tokens[at]
        if depth > MAX_NESTING:
            raise Unread
        if token not in self.aliases.bodies:
            return None
        if token not in self.by_alias:
            self.by_alias[token], _ = read(self.aliases.bodies[token][0], depth + 1)
        return self.by_alias[token], at + 1

    def _fused(self, at: int, depth: int) -> tuple[Scope, int]:
        """`fused<metadata>[place, ...]`: the first that has a scope."""
        tokens = self.aliases.tokens.tokens
        if tokens[at] == "<":
            at = self._end(at)
        found, at = NO_SCOPE, self._after("[", at)
        while True:
            scope, at = self._place(at, depth)
            found = scope if found.subprogram is None else found
            if tokens[at] != ",":
                return Scope(found.subprogram, found.linkage, found.block), self._after("]", at)
            at += 1

    def _named(self, at: int, depth: int) -> tuple[Scope, int]:
        """`unknown`, `"file":line:column` or `"name"(place)`."""
        tokens = self.aliases.tokens.tokens
        if tokens[at] == "unknown":
            return NO_SCOPE, at + 1
        if not tokens[at].startswith('"'):
            raise Unread
        if tokens[at + 1] == "(":
            scope, at = self._place(at + 2, depth)
            return Scope(scope.subprogram, scope.linkage, scope.block), self._after(")", at)
        at += 1
        while tokens[at] in (":", "to") or tokens[at].isdecimal():
            at += 1
        return NO_SCOPE, at

    def _scope(self, at: int, depth: int) -> tuple[Scope, int]:
        """A subprogram, or the one that a lexical block is in."""
        aliased = self._aliased(self._scope, at, depth)
        if aliased is not None:
            return aliased
        token = self.aliases.tokens.tokens[at]
        if token == BLOCK:
            start = self._after("=", self._after("scope", self._after("<", at + 1)))
            outer, _ = self._scope(start, depth + 1)
            return Scope(outer.subprogram, outer.linkage, block=True), self._end(at + 1)
        if token != SUBPROGRAM:
            raise Unread
        end = self._end(at + 1)
        body = self._expanded(at, end)
        name = body.index("linkageName") + 2 if "linkageName" in body else len(body)
        if name >= len(body) or not body[name].startswith('"'):
            raise Unread
        return Scope(tuple(body), unescape(body[name])), end

    def _expanded(self, at: int, end: int) -> list[str]:
        """The tokens of an attribute, aliases replaced; the names of attributes may be left out and are."""
        found: list[str] = []
        for token in self.aliases.tokens.tokens[at:end]:
            if token in self.aliases.bodies:
                if token not in self.expanded:
                    self.expanded[token] = []  # one that refers to itself ends here
                    self.expanded[token] = self._expanded(*self.aliases.bodies[token])
                found += self.expanded[token]
            elif not token.startswith("#cuda_tile."):
                found.append(token)
            if len(found) > LONGEST:
                raise Unread
        return found

    def _after(self, expected: str, at: int) -> int:
        if self.aliases.tokens.tokens[at] != expected:
            raise Unread
        return at + 1

    def _end(self, at: int) -> int:
        """The token after the bracketed group that starts at `at`."""
        tokens = self.aliases.tokens
        kept, tokens.at = tokens.at, at
        try:
            if tokens.current not in ("<", "("):
                raise Unread
            tokens.skip_balanced()
            return tokens.at
        finally:
            tokens.at = kept
