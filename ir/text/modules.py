"""What stands outside of bodies: modules, entries, globals, test functions, and several programs in one text."""

from __future__ import annotations

import re
from typing import Any

from ir.core import Block, Location, Op, Region, Type
from ir.dialects.cuda_tile import Entry, Global, Module, Return, TestingFunc, Visibility
from ir.text.parser import Parser, is_terminator, parse_literal
from ir.text.syntax import DIALECT, classes
from ir.text.tokens import END, Tokens

TOP_LEVEL = ("entry", "global", "testing$func", "module")
SPLIT = re.compile(r"^[ \t]*// -----[^\n]*$", re.MULTILINE)
"""What separates programs in one file (MLIR's -split-input-file)."""


def split_text(text: str) -> list[str]:
    """The programs of a text, each after as many empty lines as place it on its own lines."""
    parts: list[str] = []
    line = start = 0
    for match in [*SPLIT.finditer(text), None]:
        end = len(text) if match is None else match.start()
        parts.append("\n" * line + text[start:end])
        line += text.count("\n", start, end)
        start = end
    return parts


def parse_module(parser: Parser) -> Module:
    """The whole text: one module, or what one holds without its line."""
    tokens = parser.tokens
    parser.aliases.skip()
    start = tokens.location()
    wrapped = tokens.current in ("module", "builtin.module") and _next(parser) in ("module", DIALECT + "module")
    if wrapped:
        tokens.take()
        tokens.expect("{", "after 'module'")
    if tokens.current in ("module", "cuda_tile.module"):
        made = _module(parser, start)
    elif tokens.current == '"cuda_tile.module"' or (tokens.current == '"builtin.module"'):
        made = _quoted_module(parser)
    else:
        made = Module((), (), {}, [Region([_contents(parser, END)])], start)
    if wrapped:
        tokens.expect("}", "at the end of the outer module")
    if tokens.current == "loc":
        parser.aliases.location()
    parser.aliases.skip()
    if tokens.current != END:
        tokens.fail(f"expected the end of the text, found {tokens.describe()}", "one module or its entries a file")
    parser.scopes.check(made)
    return made


def _next(parser: Parser) -> str:
    """The token after `{`, where the one after the current is `{`."""
    tokens, at = parser.tokens.tokens, parser.tokens.at
    return tokens[at + 2] if tokens[at + 1] == "{" and len(tokens) > at + 2 else ""


def _module(parser: Parser, start: Location) -> Module:
    tokens = parser.tokens
    tokens.take()
    attributes: dict[str, Any] = {}
    if tokens.current.startswith("@"):
        attributes["sym_name"] = tokens.symbol("the module's name")
    if tokens.accept("attributes"):
        attributes |= _producer(tokens)
    tokens.expect("{", "after the module's name")
    body = _contents(parser, "}")
    tokens.take()
    made = Module((), (), attributes, [Region([body])], start)
    if tokens.current == "loc":
        parser.aliases.location()
    return made


def _producer(tokens: Tokens) -> dict[str, str]:
    """The one attribute of `{producer = "text", ...}` that a module knows."""
    if tokens.current != "{":
        tokens.fail(f"expected {{ after 'attributes', found {tokens.describe()}")
    start = tokens.at
    tokens.skip_balanced()
    end = tokens.at
    if "producer" not in tokens.tokens[start:end]:
        return {}
    tokens.at = tokens.tokens.index("producer", start, end) + 1
    tokens.expect("=", "after 'producer'")
    found = {"producer": tokens.string("the module's producer")}
    tokens.at = end
    return found


def _quoted_module(parser: Parser) -> Module:
    """A module in generic form, perhaps inside MLIR's own module."""
    tokens = parser.tokens
    at = tokens.at
    found: Op = parser.operation()
    if not isinstance(found, Module):
        tokens.fail(f"expected a module, found '{found.name}'", index=at)
    return found


def _contents(parser: Parser, end: str) -> Block:
    """Entries and globals up to the token `end`, which stays; loose operations become a test function."""
    tokens = parser.tokens
    body = Block()
    parser.aliases.skip()
    while tokens.current != end:
        word = tokens.current.removeprefix(DIALECT)
        if word == "entry":
            body.append(_entry(parser))
        elif word == "global":
            body.append(_global(parser))
        elif word == "testing$func":
            body.append(_testing(parser))
        elif end == END and _is_operation(parser):
            body.append(_loose(parser))
        elif tokens.current.startswith('"'):
            body.append(parser.operation())
        else:
            tokens.fail(f"expected 'entry', found {tokens.describe()}", "a module holds `entry @name(...) { ... }`")
        parser.aliases.skip()
    return body


def _is_operation(parser: Parser) -> bool:
    token = parser.tokens.current
    known = token in classes() and token.removeprefix(DIALECT) not in TOP_LEVEL
    quoted = token.startswith('"') and token[1:-1].removeprefix(DIALECT) not in TOP_LEVEL
    return known or quoted or token.startswith("%")


def _loose(parser: Parser) -> TestingFunc:
    """Operations outside of any function, as the public tests write them."""
    tokens = parser.tokens
    start = tokens.location()
    block = Block()
    while tokens.current != END and _is_operation(parser):
        block.append(parser.operation())
        parser.aliases.skip()
    if not is_terminator(block.ops[-1]):
        block.append(Return(location=tokens.location()))
    parser.names = {}
    return TestingFunc((), (), {"sym_name": ""}, [Region([block])], start)


def _entry(parser: Parser) -> Entry:
    tokens = parser.tokens
    start = tokens.location()
    tokens.take()
    attributes: dict[str, Any] = {"sym_name": tokens.symbol("the entry's name")}
    names, types = parser.typed_names("the entry's name")
    if tokens.current == "->":
        tokens.fail("an entry returns nothing", "write the results to memory")
    if tokens.accept("optimization_hints"):
        attributes["hints"] = parser.hints()
    region = parser.region(names, types, Return)
    made = Entry((), (), attributes, [region], start)
    if tokens.current == "loc":
        parser.place(made)
    return made


def _testing(parser: Parser) -> TestingFunc:
    """`testing$func @name(%a: T) -> R { ... }`."""
    tokens = parser.tokens
    start = tokens.location()
    tokens.take()
    name = tokens.symbol("the function's name")
    names, types = parser.typed_names("the function's name")
    results: list[Type] = []
    if tokens.accept("->"):
        if tokens.accept("("):
            results = [] if tokens.current == ")" else parser.types()
            tokens.expect(")", "after the result types")
        else:
            results = parser.types()
    region = parser.region(names, types, Return)
    made = TestingFunc((), (), {"sym_name": name, "result_types": tuple(results)}, [region], start)
    if tokens.current == "loc":
        parser.place(made)
    return made


def _global(parser: Parser) -> Global:
    """`global private constant @g alignment = 256 <f32: [1.0, 2.0]> : tile<2xf32>`."""
    tokens = parser.tokens
    start = tokens.location()
    tokens.take()
    attributes: dict[str, Any] = {}
    visible = {member.text: member for member in Visibility}
    if tokens.current in visible:
        attributes["symbol_visibility"] = visible[tokens.take()]
    if tokens.accept("constant"):
        attributes["constant"] = True
    attributes["sym_name"] = tokens.symbol("the global's name")
    if tokens.accept("alignment"):
        tokens.expect("=", "after alignment")
        attributes["alignment"] = tokens.integer("alignment")
    attributes["value"], attributes["type"] = parse_literal(parser, "global")
    made = Global((), (), attributes, (), start)
    if tokens.current == "loc":
        parser.place(made)
    return made
