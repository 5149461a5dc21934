"""Text forms of the operations with regions, and of terminators: how each is read and how it is printed."""

from __future__ import annotations

from typing import Any

from ir.core import Location, Op, Region, Type, Value
from ir.dialects.cuda_tile import COMBINING, Break, Combining, Continue, For, If, Loop, Return, Yield
from ir.text.literals import parse_scalar, scalar_text
from ir.text.parser import Parser, StructuredParser
from ir.text.printer import Printer, StructuredPrinter, type_list
from ir.types import I1, FloatType, IntType, TileType


def parse_for(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`for unsigned %i in (%lb to %ub, step %s) : T iter_values(%a = %x) -> (T) { ... }`."""
    tokens = parser.tokens
    attributes = {"unsigned_cmp": True} if tokens.accept("unsigned") else {}
    names = [parser.fresh_name()]
    tokens.expect("in", "after the induction variable")
    tokens.expect("(")
    bounds = [parser.value()]
    tokens.expect("to", "after the lower bound")
    bounds.append(parser.value())
    tokens.expect(",", "after the upper bound")
    tokens.expect("step")
    bounds.append(parser.value())
    tokens.expect(")", "after the step")
    tokens.expect(":", "before the type of the induction variable")
    parser.type_of(bounds[0], "lower_bound")
    inits: list[Value] = []
    results: list[Type] = []
    if tokens.accept("iter_values"):
        _iter_values(parser, names, inits)
        tokens.expect("->", "after iter_values(...)")
        results = _parenthesised_types(parser)
    carried = [value.type for value in inits]
    if results != carried:
        written, wanted = type_list(results), type_list(carried)
        tokens.fail(f"the loop's results ({written}) must have the types of its carried values ({wanted})")
    region = parser.region(names, [bounds[0].type, *carried], Continue)
    return cls([*bounds, *inits], results, attributes, [region], location, (1, 1, 1, len(inits)))


def _iter_values(parser: Parser, names: list[str], inits: list[Value]) -> None:
    """`(%a = %x, ...)`: appends the names and the values."""
    tokens = parser.tokens
    tokens.expect("(", "after iter_values")
    while not tokens.accept(")"):
        if inits:
            tokens.expect(",", "between the carried values")
        names.append(parser.fresh_name())
        tokens.expect("=", "after a carried value's name")
        inits.append(parser.value())


def _parenthesised_types(parser: Parser) -> list[Type]:
    tokens = parser.tokens
    tokens.expect("(", "before the result types")
    found = [] if tokens.current == ")" else parser.types()
    tokens.expect(")", "after the result types")
    return found


def print_for(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_for`."""
    loop = printer.as_a(op, For)
    iv, *carried = loop.body.block.args
    low, high, step = (printer.name(v) for v in (loop.lower_bound, loop.upper_bound, loop.step))
    unsigned = "unsigned " if loop.unsigned_cmp else ""
    head = f"for {unsigned}{printer.name(iv)} in ({low} to {high}, step {step}) : {iv.type} "
    if carried:
        head += f"{_printed_iter_values(printer, carried, loop.init_values)} -> ({printer.types(loop.results)}) "
    return head + printer.body(loop.body, indent, Continue)


def _printed_iter_values(printer: Printer, names: list[Value], inits: list[Value]) -> str:
    pairs = (f"{printer.name(a)} = {printer.name(b)}" for a, b in zip(names, inits, strict=True))
    return f"iter_values({', '.join(pairs)})"


def parse_loop(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`loop iter_values(%a = %x) : T -> R { ... }`; without carried values the types are those of the results."""
    tokens = parser.tokens
    names: list[str] = []
    inits: list[Value] = []
    results: list[Type] = []
    if tokens.accept("iter_values"):
        _iter_values(parser, names, inits)
        tokens.expect(":", "after iter_values(...)")
        for index, init in enumerate(inits):
            if index:
                tokens.expect(",", "between the types of the carried values")
            parser.type_of(init, f"init_values[{index}]")
        if tokens.accept("->"):
            results = parser.types()
    elif tokens.accept(":"):
        results = parser.types()
    region = parser.region(names, [value.type for value in inits], Continue)
    return cls(inits, results, None, [region], location, (len(inits),))


def print_loop(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_loop`."""
    loop = printer.as_a(op, Loop)
    head = "loop "
    if loop.init_values:
        pairs = _printed_iter_values(printer, loop.body.block.args, loop.init_values)
        head += f"{pairs} : {printer.types(loop.init_values)} "
        head += f"-> {printer.types(loop.results)} " if loop.results else ""
    elif loop.results:
        head += f": {printer.types(loop.results)} "
    return head + printer.body(loop.body, indent, Continue)


def parse_if(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`if %c -> (T) { ... } else { ... }`."""
    tokens = parser.tokens
    condition = parser.value()
    results = _parenthesised_types(parser) if tokens.accept("->") else []
    then = parser.region((), (), Yield)
    other = parser.region((), (), Yield) if tokens.accept("else") else Region()
    return cls([condition], results, None, [then, other], location)


def print_if(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_if`."""
    choice = printer.as_a(op, If)
    head = f"if {printer.name(choice.condition)} "
    head += f"-> ({printer.types(choice.results)}) " if choice.results else ""
    head += printer.body(choice.then_, indent, Yield)
    return head + (f" else {printer.body(choice.else_, indent, Yield)}" if choice.else_.blocks else "")


def parse_terminator(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`yield %a, %b : T, T` and its like; operands may be absent."""
    tokens = parser.tokens
    values: list[Value] = []
    if tokens.current.startswith("%"):
        values = parser.values()
        tokens.expect(":", f"before the types of '{cls.info.name}'")
        for index, value in enumerate(values):
            if index:
                tokens.expect(",", "between the types")
            parser.type_of(value, str(index))
    return cls(values, (), None, (), location, (len(values),))


def print_terminator(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_terminator`."""
    word = op.info.mnemonic
    return f"{word} {printer.values(op.operands)} : {printer.types(op.operands)}" if op.operands else word


def parse_combining(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`reduce %x dim=0 identities=[0.0 : f32] : T -> R (%a: T, %b: T) { ... }`; scan has reverse= too."""
    tokens = parser.tokens
    operands = parser.values()
    attributes: dict[str, Any] = {}
    assert issubclass(cls, Combining)
    for word in cls.encoded:
        tokens.expect(word, f"in '{cls.info.name}'")
        tokens.expect("=")
        attributes[word] = _combining_attribute(parser, word)
    tokens.expect(":", f"before the types of '{cls.info.name}'")
    for index, value in enumerate(operands):
        if index:
            tokens.expect(",", "between the types")
        parser.type_of(value, str(index))
    tokens.expect("->", "before the result types")
    results = parser.types()
    names, types = parser.typed_names("the result types")
    region = parser.region(names, types, None)
    return cls(operands, results, attributes, [region], location, (len(operands),))


def _combining_attribute(parser: Parser, word: str) -> Any:
    tokens = parser.tokens
    if word == "dim":
        return tokens.integer("dim")
    if word == "reverse":
        if tokens.current not in ("true", "false"):
            tokens.fail(f"expected true or false for reverse, found {tokens.describe()}")
        return tokens.take() == "true"
    found: list[Any] = []
    tokens.expect("[", "after identities=")
    while not tokens.accept("]"):
        if found:
            tokens.expect(",", "between the identities")
        found.append(_identity(parser))
    return tuple(found)


def _identity(parser: Parser) -> Any:
    """`0xFF800000 : f32`; i1 is written without its type."""
    tokens = parser.tokens
    if tokens.current in ("true", "false"):
        return tokens.take() == "true"
    at = tokens.at
    tokens.take()
    tokens.expect(":", "after an identity", "for example 0.000000e+00 : f32")
    element = parser.type()
    end = tokens.at
    if not isinstance(element, IntType | FloatType):
        tokens.fail(f"an identity cannot have type {element}", index=end - 1)
    tokens.at = at
    value = parse_scalar(tokens, element)
    tokens.at = end
    return value


def print_combining(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_combining`, with the blank that the disassembler leaves before the region's line."""
    fold = printer.as_a(op, Combining)
    reverse = f"reverse={'true' if fold.attributes.get('reverse') else 'false'} " if "reverse" in fold.encoded else ""
    elements = [value.type.element for value in fold.operands if isinstance(value.type, TileType)]
    identities = ", ".join(
        scalar_text(value, element) if element == I1 else f"{scalar_text(value, element)} : {element}"
        for value, element in zip(fold.identities, elements, strict=True)
        if isinstance(element, IntType | FloatType)
    )
    head = f"{op.info.mnemonic} {printer.values(op.operands)} dim={fold.dim} {reverse}identities=[{identities}]"
    arguments = ", ".join(f"{printer.name(a)}: {a.type}" for a in fold.body.block.args)
    head += f" : {printer.types(op.operands)} -> {printer.types(op.results)} \n{indent}({arguments}) "
    return head + printer.body(fold.body, indent, None)


FORMS: dict[type[Op], tuple[StructuredParser, StructuredPrinter]] = {
    For: (parse_for, print_for),
    Loop: (parse_loop, print_loop),
    If: (parse_if, print_if),
    **dict.fromkeys(COMBINING, (parse_combining, print_combining)),
    Continue: (parse_terminator, print_terminator),
    Break: (parse_terminator, print_terminator),
    Yield: (parse_terminator, print_terminator),
    Return: (parse_terminator, print_terminator),
}
"""How each operation is read and printed."""
