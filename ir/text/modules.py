"""The text outside of bodies: modules, entries, globals, test functions, and several programs in one text."""

from __future__ import annotations

import re
from typing import Any

from ir.core import Block, Op, ParseError, Region, Type
from ir.dialects.cuda_tile import Entry, Global, Module, Return, TestingFunc, Visibility
from ir.text.generic_input import parse_dictionary
from ir.text.parser import MAX_DEPTH, Parser, is_terminator, parse_literal
from ir.text.syntax import DIALECT, classes
from ir.text.tokens import END

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


def read_modules(parser: Parser) -> list[Module]:
    """Parse the whole text: its modules, or one module for operations without a module line."""
    tokens = parser.tokens
    parser.aliases.skip()
    start = tokens.location()
    found = _modules(parser, END, 0)
    if not found:
        found = [Module((), (), {}, [Region([_contents(parser, END)])], start)]
    if tokens.current == "loc":
        parser.aliases.location()
    parser.aliases.skip()
    if tokens.current != END:
        tokens.fail(f"expected the end of the text, found {tokens.describe()}", "modules, or the entries of one")
    for each in found:
        parser.scopes.check(each)
    return found


def read_module(parser: Parser) -> Module:
    """The only module of a text."""
    found = read_modules(parser)
    if len(found) != 1:
        place = found[-1].location
        raise ParseError(f"the text has {len(found)} modules, expected one", place, "use parse_all or load_all")
    return found[0]


def _modules(parser: Parser, end: str, depth: int) -> list[Module]:
    """Modules one after the other up to `end`, which stays, or to what is none; those of MLIR's own are taken out."""
    tokens = parser.tokens
    found: list[Module] = []
    while tokens.current != end:
        if depth > MAX_DEPTH:
            tokens.fail(f"modules are nested deeper than {MAX_DEPTH}")
        if tokens.current == '"builtin.module"':
            found += _quoted_outer(parser, depth)
        elif tokens.current == '"cuda_tile.module"':
            found.append(_quoted_module(parser))
        elif tokens.current in ("module", "cuda_tile.module", "builtin.module"):
            found += _module(parser, depth)
        else:
            break
        parser.aliases.skip()
    return found


def _module(parser: Parser, depth: int) -> list[Module]:
    """`module @name attributes {...} { ... }`: ours, or MLIR's around others, which has no meaning of its own."""
    tokens = parser.tokens
    start = tokens.location()
    ours = tokens.take() == "cuda_tile.module"
    name = tokens.symbol("the module's name") if tokens.current.startswith("@") else ""
    at = tokens.at + 1
    given = _dictionary_after_word(parser)
    tokens.expect("{", "after the module's name" if name or ours else "after 'module'")
    parser.aliases.skip()
    inner = [] if ours else _modules(parser, "}", depth + 1)
    if inner:
        tokens.expect("}", "at the end of the outer module")
    else:
        attributes = ({"sym_name": name} if name else {}) | _known(parser, given, at)
        body = _contents(parser, "}")
        tokens.take()
        inner = [Module((), (), attributes, [Region([body])], start)]
    if tokens.current == "loc":
        parser.aliases.location()
    return inner


def _dictionary_after_word(parser: Parser) -> dict[str, object]:
    """`attributes {name = value, ...}`, which may be left out."""
    if not parser.tokens.accept("attributes"):
        return {}
    if parser.tokens.current != "{":
        parser.tokens.fail(f"expected {{ after 'attributes', found {parser.tokens.describe()}")
    return parse_dictionary(parser)


def _known(parser: Parser, given: dict[str, Any], at: int) -> dict[str, str]:
    """The attributes that the dialect declares for a module; on others, which MLIR allows, nothing depends."""
    declared = [attr.name for attr in Module.info.attributes if attr.name != "sym_name"]
    found = {name: given[name] for name in declared if name in given}
    for name, value in found.items():
        if not isinstance(value, str):
            parser.tokens.fail(f"'cuda_tile.module': attribute '{name}' must be a string", index=at)
    return found


def _quoted_outer(parser: Parser, depth: int) -> list[Module]:
    """`"builtin.module"() ({ ... }) : () -> ()`: the modules in MLIR's own, in generic form."""
    tokens = parser.tokens
    tokens.take()
    tokens.expect("(", "after the operation's name")
    tokens.expect(")", "after the operands")
    if tokens.accept("<"):
        parse_dictionary(parser)
        tokens.expect(">", "after the properties")
    tokens.expect("(", "before the regions")
    tokens.expect("{", "before a region")
    if tokens.current.startswith("^"):
        tokens.take()
        tokens.expect(":", "after the label")
    parser.aliases.skip()
    found = _modules(parser, "}", depth + 1)
    if not tokens.accept("}"):
        tokens.fail(f"expected a module, found {tokens.describe()}", "the outer module holds cuda_tile modules")
    tokens.expect(")", "after the regions")
    if tokens.tokens[tokens.at] == "{":
        parse_dictionary(parser)
    for each in (":", "(", ")", "->", "(", ")"):
        tokens.expect(each, "in the type of the outer module")
    if tokens.tokens[tokens.at] == "loc":
        parser.aliases.location()
    return found


def _quoted_module(parser: Parser) -> Module:
    """A module in generic form."""
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
    attributes: dict[str, object] = {"sym_name": tokens.symbol("the entry's name")}
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
    attributes: dict[str, object] = {}
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
