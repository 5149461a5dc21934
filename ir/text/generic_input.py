"""MLIR generic form of cuda_tile operations as input: `%0 = "cuda_tile.addi"(%a, %b) <{...}> : (T, T) -> T`."""

from __future__ import annotations

from collections.abc import Callable

from ir.core import OPS, AttrField, Attribute, Block, Op, Region, Type, Value
from ir.dialects.cuda_tile import DenseElements, Dictionary, Module, OptimizationHints, TileOp, TypedNumber
from ir.dialects.cuda_tile.attributes import TextEnum
from ir.dialects.cuda_tile.well_formed import why_not
from ir.quoting import unescape
from ir.records import dataclass
from ir.text.generic_names import FUNCTIONS, KEPT, mlir_name
from ir.text.generic_parts import integer_array, operand_segments
from ir.text.literals import parse_dense, parse_scalar
from ir.text.parser import MAX_DEPTH, Parser, check_literal
from ir.text.syntax import SPELLINGS, enum_members
from ir.text.tokens import END
from ir.types import F64, I64, FloatType, FunctionType, IntType, TileType


@dataclass(frozen=True, slots=True)
class Spelled:
    """A member of an enumeration as written: `#cuda_tile.rounding<zero>`, `#zero` or a word."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """Elements with the tile type written after them."""

    value: DenseElements
    tile: TileType


def parse_quoted(parser: Parser, word: str, at: int) -> Op:
    """The rest of an operation after its quoted name."""
    tokens = parser.tokens
    location = tokens.location(at)
    operands = _operands(parser)
    if tokens.current == "[":
        tokens.fail("branches between blocks are not part of cuda_tile")
    found: dict[str, object] = {}
    if tokens.accept("<"):
        found |= parse_dictionary(parser)
        tokens.expect(">", "after the properties")
    regions = _regions(parser)
    if tokens.current == "{":
        found |= parse_dictionary(parser)
    inputs, outputs = _signature(parser, len(operands))
    for index, (value, written) in enumerate(zip(operands, inputs, strict=True)):
        if value.type != written:
            tokens.fail(f"operand {index} has type {value.type}, written as {written}", index=at)
    name = unescape(word)
    cls = OPS.get("cuda_tile." + _plain(name))
    if cls is None or not name.startswith("cuda_tile.") or not issubclass(cls, TileOp):
        for type_ in (*inputs, *outputs):
            if why_not(type_):
                tokens.fail(f"type {type_} does not exist: {why_not(type_)}", index=at)
        tokens.fail(f"'{name}' is not an operation of cuda_tile", index=at)
    segments = operand_segments(tokens, cls, found.pop("operandSegmentSizes", None), len(operands), at)
    attributes = _attributes(parser, cls, found, at)
    if len(regions) != len(cls.info.regions):
        message = f"'{cls.info.name}' has {len(cls.info.regions)} regions, got {len(regions)}"
        tokens.fail(message, index=at)
    if cls is Module and not regions[0].blocks:
        regions = [
            Region([Block()])
        ]  # printed as nothing between the braces, as MLIR prints a block without operations
    return cls(operands, outputs, attributes, regions, location, segments)


def _plain(name: str) -> str:
    """The dialect's own mnemonic of what the disassembler spells otherwise."""
    mnemonic = name.removeprefix("cuda_tile.")
    return next((plain for plain, spelling in SPELLINGS.items() if spelling == mnemonic), mnemonic)


def _operands(parser: Parser) -> list[Value]:
    tokens = parser.tokens
    tokens.expect("(", "after the operation's name")
    found = [] if tokens.current == ")" else parser.values()
    tokens.expect(")", "after the operands")
    return found


def _signature(parser: Parser, operands: int) -> tuple[list[Type], list[Type]]:
    """`: (T, T) -> T` or `-> (T, T)`."""
    tokens = parser.tokens
    tokens.expect(":", "before the types of the operation")
    at = tokens.at
    function = parse_function_type(parser)
    if len(function.params) != operands:
        tokens.fail(f"{operands} operands, but {len(function.params)} types", index=at)
    return list(function.params), list(function.results)


def parse_function_type(parser: Parser) -> FunctionType:
    """`(T, T) -> (R)`; one result needs no parentheses."""
    tokens = parser.tokens
    inputs = _types(parser, "before the operand types")
    tokens.expect("->", "before the result types")
    outputs = _types(parser, "") if tokens.current == "(" else [parser.type()]
    return FunctionType(tuple(inputs), tuple(outputs))


def _types(parser: Parser, where: str) -> list[Type]:
    tokens = parser.tokens
    tokens.expect("(", where)
    found = [] if tokens.current == ")" else parser.types()
    tokens.expect(")", "after the types")
    return found


def _regions(parser: Parser) -> list[Region]:
    """`({ ... }, { ... })`."""
    tokens = parser.tokens
    found: list[Region] = []
    if not tokens.accept("("):
        return found
    while not tokens.accept(")"):
        if found:
            tokens.expect(",", "between the regions")
        found.append(_region(parser))
    return found


def _region(parser: Parser) -> Region:
    """One block, whose label and arguments may be left out; a region of nothing has no block."""
    tokens = parser.tokens
    start = tokens.at
    tokens.expect("{", "before a region")
    if tokens.accept("}"):
        return Region()
    parser.depth += 1
    if parser.depth > MAX_DEPTH:
        tokens.fail(f"regions are nested deeper than {MAX_DEPTH}", index=start)
    outer = parser.names
    parser.names = dict(outer)
    block = Block()
    if tokens.current.startswith("^"):
        label = tokens.at
        tokens.take()
        names, types = parser.typed_names("the label") if tokens.current == "(" else ([], [])
        tokens.expect(":", "after the label")
        block = Block(types)
        for name, value in zip(names, block.args, strict=True):
            parser.define(name, [value], label)
    while not tokens.accept("}"):
        if tokens.current == END:
            tokens.fail("unclosed '{'", index=start)
        if tokens.current.startswith("^"):
            tokens.fail("a region of cuda_tile has one block")
        block.append(parser.operation())
    parser.names = outer
    parser.depth -= 1
    return Region([block])


def _attributes(parser: Parser, cls: type[Op], found: dict[str, object], at: int) -> dict[str, object]:
    """The written attributes under their declared names, as values of their declared kinds."""
    function = found.pop("function_type", None)
    if cls.info.name in FUNCTIONS:
        for name in ("arg_attrs", "res_attrs"):
            given = found.pop(name, ())
            if not isinstance(given, tuple):
                parser.tokens.fail(f"'{cls.info.name}': attribute '{name}' must be a list of dictionaries", index=at)
            if any(not isinstance(each, Dictionary) or each.entries for each in given):  # pyright: ignore[reportUnknownVariableType]
                parser.tokens.fail(f"'{cls.info.name}': attributes of parameters are not supported", index=at)
    names = {mlir_name(a): a for a in cls.info.attributes} | {a.name: a for a in cls.info.attributes}
    made: dict[str, object] = {}
    for name, value in found.items():
        attr = names.get(name)
        if attr is None:
            known = ", ".join(sorted(names)) or "none"
            parser.tokens.fail(f"'{cls.info.name}' has no attribute {name}", f"its attributes: {known}", at)
        if isinstance(value, Literal):
            made[attr.name] = value.value
            if any(a.name == "type" for a in cls.info.attributes):
                made["type"] = value.tile
            continue
        made[attr.name] = _convert(parser, cls, attr, value, at)
    if cls.info.name in FUNCTIONS and isinstance(function, FunctionType) and function.results:
        made["result_types"] = function.results
    return made


def _convert(parser: Parser, cls: type[Op], attr: AttrField, value: object, at: int) -> object:
    kind = attr.kind
    if issubclass(kind, TextEnum):
        members = enum_members(kind)
        if isinstance(value, int) and not isinstance(value, bool) and value in [int(m) for m in members.values()]:
            return kind(value)
        if isinstance(value, Spelled) and value.text in members:
            return members[value.text]
        hint = f"one of {', '.join(members)}"
        parser.tokens.fail(f"'{cls.info.name}': attribute '{attr.name}' cannot be {_shown(value)}", hint, at)
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str):
        return value
    if kind is tuple and isinstance(value, tuple):
        if attr.name == "inbounds":
            value = tuple(map(bool, value))  # pyright: ignore[reportUnknownArgumentType]
        return value  # pyright: ignore[reportUnknownVariableType]
    if kind in (Attribute, OptimizationHints) and isinstance(value, Attribute):
        return value
    return parser.tokens.fail(f"'{cls.info.name}': attribute '{attr.name}' cannot be {_shown(value)}", index=at)


def _shown(value: object) -> str:
    return f"'{value.text}'" if isinstance(value, Spelled) else str(value)


def parse_dictionary(parser: Parser) -> dict[str, object]:
    """`{name = value, flag}`."""
    tokens = parser.tokens
    tokens.expect("{", "before the attributes")
    found: dict[str, object] = {}
    while not tokens.accept("}"):
        if found:
            tokens.expect(",", "between the attributes")
        name = tokens.key("an attribute", found)
        read = parse_kept if name in KEPT else parse_attribute
        found[name] = read(parser) if tokens.accept("=") else True
    return found


def parse_kept(parser: Parser, depth: int = 0) -> object:
    """An attribute whose numbers keep their types: for a function that is defined elsewhere."""
    tokens = parser.tokens
    token = tokens.current
    if depth > MAX_DEPTH:
        tokens.fail(f"attributes are nested deeper than {MAX_DEPTH}")
    if token == "[":
        return _list(parser, depth, parse_kept)
    if token == "{":
        tokens.take()
        entries: dict[str, object] = {}
        while not tokens.accept("}"):
            if entries:
                tokens.expect(",", "between the attributes")
            name = tokens.key("an attribute", entries)
            entries[name] = parse_kept(parser, depth + 1) if tokens.accept("=") else True
        return Dictionary(tuple(entries.items()))
    if token[:1].isdigit() or token[:1] == "-":
        return TypedNumber(*_typed_number(parser))
    return parse_attribute(parser, depth)


def parse_attribute(parser: Parser, depth: int = 0) -> object:
    """Any attribute that cuda_tile uses: numbers, strings, symbols, lists, literals, enumerations, promises, hints."""
    tokens = parser.tokens
    token = tokens.current
    if depth > MAX_DEPTH:
        tokens.fail(f"attributes are nested deeper than {MAX_DEPTH}")
    if token in ("true", "false", "unit"):
        tokens.take()
        return token != "false"
    if token.startswith('"'):
        return tokens.string("an attribute")
    if token.startswith("@"):
        return tokens.symbol("an attribute")
    if token == "[":
        return _list(parser, depth, parse_attribute)
    if token == "array":
        return integer_array(tokens, parser.type)
    if token == "dense":
        return _dense(parser)
    if token.startswith("#"):
        return _dialect_attribute(parser, depth)
    if token == "(":
        return parse_function_type(parser)
    if token[:1].isdigit() or token[:1] == "-":
        return _number(parser)
    return parser.type()


def _list(parser: Parser, depth: int, read: Callable[[Parser, int], object]) -> tuple[object, ...]:
    tokens = parser.tokens
    tokens.expect("[")
    found: list[object] = []
    while not tokens.accept("]"):
        if found:
            tokens.expect(",", "between the elements")
        found.append(read(parser, depth + 1))
    return tuple(found)


def _dense(parser: Parser) -> Literal:
    """`dense<1.0> : tile<4xf32>`: the type comes last, so the elements are passed over first."""
    tokens = parser.tokens
    tokens.take()
    start = tokens.at
    if tokens.current != "<":
        tokens.fail("expected '<' after dense")
    tokens.skip_balanced()
    tokens.expect(":", "after the elements")
    at = tokens.at
    tile = parser.type()
    if not isinstance(tile, TileType) or not isinstance(tile.element, IntType | FloatType):
        tokens.fail("a literal has a tile type of numbers", index=at)
    end = tokens.at
    tokens.at = start + 1
    value, shape, first = parse_dense(tokens, tile.element)
    tokens.expect(">", "after the elements")
    check_literal(parser, value, shape, tile, first)
    tokens.at = end
    return Literal(value, tile)


def _number(parser: Parser) -> int | float | bool:
    return _typed_number(parser)[0]


def _typed_number(parser: Parser) -> tuple[int | float | bool, IntType | FloatType]:
    """`5 : i32`, `1.0 : f32`, `0xFF800000 : f32`; i64 and f64 where no type is written."""
    tokens = parser.tokens
    at = tokens.at
    token = tokens.take()
    element: Type = F64 if "." in token else I64
    if tokens.accept(":"):
        element = parser.type()
    end = tokens.at
    if str(element) == "index":
        element = I64
    if not isinstance(element, IntType | FloatType):
        tokens.fail(f"a number cannot have type {element}", index=at)
    tokens.at = at
    value = parse_scalar(tokens, element)
    tokens.at = end
    return value, element


def _dialect_attribute(parser: Parser, depth: int) -> object:
    """`#cuda_tile.rounding<zero>`, `#zero`, `#cuda_tile.div_by<16>` or an alias."""
    tokens = parser.tokens
    at = tokens.at
    token = tokens.current
    if token in parser.aliases.bodies:
        tokens.at = parser.aliases.expand(token)
        found = parse_attribute(parser, depth + 1)
        tokens.at = at + 1
        return found
    name = token[1:].removeprefix("cuda_tile.")
    if name in ("div_by", "same_elements", "bounded"):
        return parser.promise()
    tokens.take()
    if name == "optimization_hints":
        return parser.hint_list()
    if not tokens.accept("<"):
        return Spelled(name)
    text = tokens.take()
    tokens.expect(">", f"after {token}")
    return Spelled(text)
