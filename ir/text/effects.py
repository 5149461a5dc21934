"""Text forms of printing, tokens, automatic memory, updates through views and calls."""

from __future__ import annotations

from ir.checked import checked
from ir.core import Location, Op, Type, Value
from ir.dialects.cuda_tile import (
    Alloca,
    AtomicMode,
    AtomicRedView,
    Dictionary,
    GdcLaunchDependents,
    GdcWait,
    MemoryFenceAlias,
    MemoryOrder,
    MultimemLoadReduceView,
    MultimemReduceView,
    MultimemReduction,
    MultimemStoreView,
    PreviewCall,
    Print,
)
from ir.quoting import escape, symbol_text
from ir.text.access import Access, print_access
from ir.text.generic_input import parse_kept
from ir.text.generic_names import KEPT, MNEMONICS, attribute_text
from ir.text.parser import Parser, StructuredParser
from ir.text.printer import Printer, StructuredPrinter
from ir.text.syntax import mnemonic
from ir.types import TOKEN


def parse_print(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`print_tko "x %i", %x token=%t : T -> token`; types, token and result may be left out."""
    tokens = parser.tokens
    attributes = {"str": tokens.string("the format")}
    values: list[Value] = []
    while tokens.accept(","):
        values.append(parser.value())
    token = _token(parser)
    if values:
        tokens.expect(":", "before the types of 'cuda_tile.print_tko'")
        for index, value in enumerate(values):
            if index:
                tokens.expect(",", "between the types")
            parser.type_of(value, str(index))
    _token_result(parser)
    return cls([*values, *token], [TOKEN], attributes, (), location, (len(values), len(token)))


def _token(parser: Parser) -> list[Value]:
    """`token = %t`, which may be left out."""
    if not parser.tokens.accept("token"):
        return []
    parser.tokens.expect("=", "after token")
    return [parser.value()]


def _token_result(parser: Parser) -> None:
    """`-> token`, which may be left out."""
    tokens = parser.tokens
    if tokens.accept("->"):
        at = tokens.at
        found = parser.type()
        if found != TOKEN:
            tokens.fail(f"the result must be a token, written as {found}", index=at)


def print_print(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_print`."""
    made = printer.as_a(op, Print)
    values = "".join(f", {printer.name(value)}" for value in made.args)
    token = f" token={printer.name(made.token)}" if made.token is not None else ""
    types = f" : {printer.types(made.args)}" if made.args else ""
    return f"print_tko {escape(made.str_)}{values}{token}{types} -> token"


def parse_dependency(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`gdc_wait_tko token = %t -> token`; the token may be left out."""
    token = _token(parser)
    _token_result(parser)
    return cls(token, [TOKEN], None, (), location, (len(token),))


def print_dependency(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_dependency`."""
    token = f" token = {printer.name(op.operands[0])}" if op.operands else ""
    return f"{op.info.mnemonic}{token} -> token"


def parse_fence(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`memory_fence_alias_tko %t`."""
    made = cls([parser.value()], [TOKEN], None, (), location, (1,))
    _token_result(parser)
    return made


def print_fence(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_fence`."""
    return f"{op.info.mnemonic} {printer.name(op.operands[0])}"


def parse_alloca(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`alloca num_elem = 64, alignment = 16 global : tile<ptr<f32>>`."""
    tokens = parser.tokens
    attributes: dict[str, object] = {}
    for word in ("num_elem", "alignment"):
        if word == "alignment":
            tokens.expect(",", "before alignment")
        tokens.expect(word, "in 'cuda_tile.alloca'")
        tokens.expect("=", f"after {word}")
        attributes[word] = tokens.integer(word)
    if tokens.accept("global"):
        attributes["global"] = True
    tokens.expect(":", "before the type of 'cuda_tile.alloca'")
    return cls((), [parser.type()], attributes, (), location, ())


def print_alloca(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_alloca`."""
    made = printer.as_a(op, Alloca)
    place = " global" if made.global_ else ""
    return f"alloca num_elem = {made.num_elem}, alignment = {made.alignment}{place} : {made.result.type}"


def parse_view_update(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`atomic_red_view_tko relaxed device %v[%i], addf, %x token = %t : T, V, I -> token`."""
    access = Access(parser, cls)
    view, index = access.index()
    tokens = parser.tokens
    tokens.expect(",", "after the index")
    access.attributes["mode"] = parser.member("an atomic mode", AtomicMode)
    tokens.expect(",", "after the mode")
    value = parser.value()
    access.options()
    access.signature([(value, "value"), (view, "view"), *access.typed(view, index)], 1)
    segments = (1, len(index), 1, len(access.token))
    return cls([view, *index, value, *access.token], access.types, access.attributes, (), location, segments)


def print_view_update(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_view_update`."""
    made = printer.as_a(op, AtomicRedView)
    body = f"{printer.name(made.view)}[{printer.values(made.index)}], {made.mode}, {printer.name(made.value)}"
    return print_access(printer, op, body, [made.value, made.view, *printer.index_types(made.view, made.index)], " = ")


def parse_multimem(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`multimem_reduce_view_tko relaxed device %v, %x[%i] attributes {reduction = ...} : V, T, I -> R`.

    The tile and the reduction are there where the operation has them; a reduction that is left out is add.
    """
    access = Access(parser, cls)
    tokens = parser.tokens
    values = [parser.value()]
    if cls is not MultimemLoadReduceView:
        tokens.expect(",", "after the view")
        values.append(parser.value())
    view, tile = values[0], values[1:]
    tokens.expect("[", "before the index")
    index = [] if tokens.current == "]" else parser.values()
    tokens.expect("]", "after the index")
    access.options()
    if cls is not MultimemStoreView:
        access.attributes["reduction"] = _reduction(parser) if tokens.accept("attributes") else MultimemReduction.ADD
    typed = [(view, "view"), *((t, "tile") for t in tile), *access.typed(view, index)]
    typed += [(token, "token") for token in access.token]
    access.signature(typed, 2 if cls is MultimemLoadReduceView else 1)
    segments = (1, *(1 for _ in tile), len(index), len(access.token))
    return cls([*values, *index, *access.token], access.types, access.attributes, (), location, segments)


def _reduction(parser: Parser) -> MultimemReduction:
    """`{reduction = #cuda_tile.multimem_reduction_kind<max>}`."""
    tokens = parser.tokens
    for word in ("{", "reduction", "="):
        tokens.expect(word, "in the attributes")
    kind = MNEMONICS[MultimemReduction]
    at = tokens.at
    if tokens.take().removeprefix("#").removeprefix("cuda_tile.") != kind:
        tokens.fail(f"expected #cuda_tile.{kind}<...>", index=at)
    tokens.expect("<", f"after {kind}")
    found: MultimemReduction = parser.member("a reduction", MultimemReduction)
    for word in (">", "}"):
        tokens.expect(word, "after the reduction")
    return found


def print_multimem(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_multimem`, with the disassembler's blank where no bounds are promised."""
    tile = [] if isinstance(op, MultimemLoadReduceView) else [op.operands[1]]
    view, token = op.operands[0], op.operands[-1:] if op.segments[-1] else []
    index = op.operands[1 + len(tile) : 1 + len(tile) + op.segments[-2]]
    order, scope = (op.attributes.get(name) for name in ("order", "scope"))
    head = " ".join(str(part) for part in (op.info.mnemonic, order or MemoryOrder.WEAK, scope) if part is not None)
    text = f"{head} {', '.join(printer.name(v) for v in (view, *tile))}[{printer.values(index)}]"
    text += f" token = {printer.name(token[0])}" if token else ""
    inbounds: tuple[bool, ...] = op.attributes.get("inbounds", ())
    text += f" inbounds = [{', '.join(str(b).lower() for b in inbounds)}]" if any(inbounds) else " "
    reduction = op.attributes.get("reduction", MultimemReduction.ADD)
    text += f" attributes {{reduction = {attribute_text(reduction)}}}" if reduction != MultimemReduction.ADD else ""
    types = printer.types([view, *tile, *printer.index_types(view, index), *token])
    return f"{text} : {types} -> {printer.types(op.results)}"


def parse_call(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`preview$call @f(%a) {const_args = [5 : i32]} : (T) -> R`; one result needs no parentheses."""
    tokens = parser.tokens
    attributes: dict[str, object] = {"callee": tokens.symbol("the function's name")}
    tokens.expect("(", "after the function's name")
    values = [] if tokens.current == ")" else parser.values()
    tokens.expect(")", "after the arguments")
    at = tokens.at
    if tokens.current == "{":
        given = checked(parse_kept(parser), Dictionary)
        wrong = [name for name, _ in given.entries if name not in KEPT]
        if wrong:
            tokens.fail(f"'cuda_tile.preview_call' has no attribute {wrong[0]}", f"one of {', '.join(KEPT)}", at)
        attributes |= given.entries
    tokens.expect(":", "before the types of 'cuda_tile.preview_call'")
    tokens.expect("(", "before the argument types")
    for index, value in enumerate(values):
        if index:
            tokens.expect(",", "between the types")
        parser.type_of(value, str(index))
    tokens.expect(")", "after the argument types")
    tokens.expect("->", "before the result types")
    if tokens.accept("("):
        results: list[Type] = [] if tokens.current == ")" else parser.types()
        tokens.expect(")", "after the result types")
    else:
        results = [parser.type()]
    return cls(values, results, attributes, (), location, (len(values),))


def print_call(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_call`."""
    made = printer.as_a(op, PreviewCall)
    given = {name: op.attributes.get(name) for name in KEPT}
    kept = [f"{name} = {attribute_text(value)}" for name, value in given.items() if value or value == ()]
    kept = [text for text in kept if text != "const_args = []"]
    braces = f" {{{', '.join(kept)}}}" if kept else ""
    inputs = ", ".join(map(foreign_type, op.operands))
    outputs = [foreign_type(value) for value in op.results]
    result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    head = f"{mnemonic(type(op))} {symbol_text(made.callee)}({printer.values(op.operands)})"
    return f"{head}{braces} : ({inputs}) -> {result}"


def foreign_type(value: Value) -> str:
    """A type as MLIR prints it where no dialect is the default: with the prefix."""
    return f"!cuda_tile.{value.type}"


FORMS: dict[type[Op], tuple[StructuredParser, StructuredPrinter]] = {
    Print: (parse_print, print_print),
    GdcWait: (parse_dependency, print_dependency),
    GdcLaunchDependents: (parse_dependency, print_dependency),
    MemoryFenceAlias: (parse_fence, print_fence),
    Alloca: (parse_alloca, print_alloca),
    AtomicRedView: (parse_view_update, print_view_update),
    MultimemLoadReduceView: (parse_multimem, print_multimem),
    MultimemReduceView: (parse_multimem, print_multimem),
    MultimemStoreView: (parse_multimem, print_multimem),
    PreviewCall: (parse_call, print_call),
}
"""How each operation is read and printed."""
