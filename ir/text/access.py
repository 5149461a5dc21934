"""Text forms of views and of memory accesses: how each is read and how it is printed."""

from __future__ import annotations

from ir.core import Location, Op, Type, Value
from ir.dialects.cuda_tile import (
    AtomicCAS,
    AtomicMode,
    AtomicRMW,
    GetIndexSpaceShape,
    GetTensorShape,
    LoadPtr,
    LoadView,
    MakeTensorView,
    MemoryOrder,
    OptimizationHints,
    Scope,
    StorePtr,
    StoreView,
)
from ir.text.generic_names import tile_attributes
from ir.text.parser import Parser, StructuredParser
from ir.text.printer import Printer, StructuredPrinter
from ir.types import I1, GatherScatterViewType, PointerType, TensorViewType, TileType, TileViewType


def parse_tensor_view(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`make_tensor_view %p, shape = [%m, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, ...>`."""
    tokens = parser.tokens
    base = parser.value()
    lists: list[tuple[list[int | Value], int]] = []
    for word in ("shape", "strides"):
        tokens.expect(",", f"before {word}")
        tokens.expect(word)
        tokens.expect("=", f"after {word}")
        lists.append((_sizes(parser), tokens.at - 1))
    tokens.expect(":", "before the type of 'cuda_tile.make_tensor_view'")
    dynamic = [value for entries, _ in lists for value in entries if isinstance(value, Value)]
    typed = [(base, "base")] if _written(base) or _names_base(parser, dynamic) else []
    typed += [(value, "dynamic_shape") for value in dynamic[:1]]
    for number, (value, name) in enumerate(typed):
        if number:
            tokens.expect(",", "between the types")
        parser.type_of(value, name)
    if typed:
        tokens.expect("->", "before the view's type")
    at = tokens.at
    view = parser.type()
    if not isinstance(view, TensorViewType):
        tokens.fail(f"expected a tensor_view type, found {view}", index=at)
    for (entries, where), wanted, word in zip(lists, (view.shape, view.strides), ("shape", "strides"), strict=True):
        written = tuple(None if isinstance(entry, Value) else entry for entry in entries)
        if len(written) != len(wanted):
            tokens.fail(f"{word} has {len(written)} entries, the view's type {len(wanted)}", index=where)
        if written != wanted:
            tokens.fail(f"{word} does not fit the view's type {view}", "expected a value where the type has '?'", where)
    sizes = tuple(sum(isinstance(entry, Value) for entry in entries) for entries, _ in lists)
    return cls([base, *dynamic], [view], None, (), location, (1, *sizes))


def _names_base(parser: Parser, dynamic: list[Value]) -> bool:
    """Whether the type at the cursor is the base's, which may be written where it need not be."""
    at = parser.tokens.at
    type_ = parser.type()
    alone = parser.tokens.current != ","
    parser.tokens.at = at
    return isinstance(type_, TileType) and isinstance(type_.element, PointerType) and not (dynamic and alone)


def _sizes(parser: Parser) -> list[int | Value]:
    """`[%m, 64]`."""
    tokens = parser.tokens
    tokens.expect("[")
    found: list[int | Value] = []
    while not tokens.accept("]"):
        if found:
            tokens.expect(",", "between the sizes")
        found.append(parser.value() if tokens.current.startswith("%") else tokens.integer("a size"))
    return found


def print_tensor_view(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_tensor_view`."""
    made = printer.as_a(op, MakeTensorView)
    view = made.result.type
    if not isinstance(view, TensorViewType):
        raise TypeError(f"{made!r} does not make a tensor view")
    dynamic = [*made.dynamic_shape, *made.dynamic_strides]
    names = iter([printer.name(value) for value in dynamic])
    shape, strides = (
        ", ".join(next(names) if size is None else str(size) for size in sizes) for sizes in (view.shape, view.strides)
    )
    head = f"make_tensor_view {printer.name(made.base)}, shape = [{shape}], strides = [{strides}] : "
    typed = ([made.base] if _written(made.base) else []) + dynamic[:1]
    return f"{head}{printer.types(typed)} -> {view}" if typed else f"{head}{view}"


def _written(base: Value) -> bool:
    """Whether the type of a view's base is written: where its pointers have an attribute."""
    type_ = base.type
    return isinstance(type_, TileType) and isinstance(type_.element, PointerType) and type_.element.attr is not None


def parse_shape_query(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`get_index_space_shape %v : partition_view<...> -> tile<i32>`, one type for the results of every dimension."""
    tokens = parser.tokens
    view = parser.value()
    tokens.expect(":", f"before the types of '{cls.info.name}'")
    parser.type_of(view, "src")
    tokens.expect("->", "before the result type")
    found = parser.type()
    type_ = view.type
    rank = len(type_.tile) if isinstance(type_, TileViewType) else 1
    rank = len(type_.shape) if isinstance(type_, TensorViewType) else rank
    return cls([view], [found] * rank, None, (), location)


def print_shape_query(printer: Printer, op: Op, indent: str) -> str:
    """The form of `parse_shape_query`."""
    (view,) = op.operands
    head = f"{op.info.mnemonic} {printer.name(view)} : {view.type}"
    return f"{head} -> {op.results[0].type}" if op.results else head


class Access:
    """What is common to memory accesses while one is read."""

    __slots__ = ("attributes", "cls", "parser", "token", "tokens", "types")

    def __init__(self, parser: Parser, cls: type[Op]):
        self.parser = parser
        self.cls = cls
        self.tokens = parser.tokens
        self.attributes: dict[str, object] = {"order": parser.member("a memory ordering", MemoryOrder)}
        if self.tokens.current in Scope.__members__ or not self.tokens.current.startswith("%"):
            self.attributes["scope"] = parser.member("a memory scope or a value", Scope)
        self.token: list[Value] = []
        self.types: list[Type] = []

    def options(self) -> None:
        """`token = %t optimization_hints = <...> inbounds = [...]`, each optional."""
        tokens = self.tokens
        if tokens.accept("token"):
            tokens.expect("=", "after token")
            self.token = [self.parser.value()]
        if tokens.accept("optimization_hints"):
            self.attributes["hints"] = self.parser.hints()
        if tokens.accept("inbounds"):
            tokens.expect("=", "after inbounds")
            self.attributes["inbounds"] = self._inbounds()

    def _inbounds(self) -> tuple[bool, ...]:
        tokens = self.tokens
        tokens.expect("[")
        found: list[bool] = []
        while not tokens.accept("]"):
            if found:
                tokens.expect(",")
            if tokens.current not in ("true", "false"):
                tokens.fail(f"expected true or false in inbounds, found {tokens.describe()}")
            found.append(tokens.take() == "true")
        return tuple(found) if any(found) else ()

    def signature(self, values: list[tuple[Value, str]], results: int) -> None:
        """`: T, T -> R, token`: the types of the values, then those of the results."""
        tokens, parser = self.tokens, self.parser
        tokens.expect(":", f"before the types of '{self.cls.info.name}'")
        for index, (value, name) in enumerate(values):
            if index:
                tokens.expect(",", "between the types")
            parser.type_of(value, name)
        tokens.expect("->", "before the result types")
        at = tokens.at
        self.types = parser.types()
        if len(self.types) != results:
            tokens.fail(f"'{self.cls.info.name}' has {results} results, written with {len(self.types)}", index=at)

    def index(self) -> tuple[Value, list[Value]]:
        """`%view[%i, %j]`."""
        view = self.parser.value()
        self.tokens.expect("[", "after the view")
        found = [] if self.tokens.current == "]" else self.parser.values()
        self.tokens.expect("]", "after the index")
        return view, found

    @staticmethod
    def typed(view: Value, index: list[Value]) -> list[tuple[Value, str]]:
        """The index values whose types are written: all of a gather-scatter view's, else one for all."""
        every = isinstance(view.type, GatherScatterViewType)
        return [(value, "index") for value in (index if every else index[:1])]


def parse_load_ptr(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`load_ptr_tko weak %p, %mask, %padding token=%t : P, M, T -> T, token`, without either or without the mask."""
    access = Access(parser, cls)
    values = parser.values()
    if len(values) > 3:
        parser.tokens.fail("load_ptr_tko takes a pointer, a mask and a padding value")
    access.options()
    padded_only = len(values) == 2 and pads(*values)
    names = ("source", "padding_value") if padded_only else ("source", "mask", "padding_value")
    access.signature(list(zip(values, names, strict=False)), 2)
    masked = len(values) > 1 and not padded_only
    segments = (1, int(masked), int(padded_only or len(values) > 2), len(access.token))
    return cls([*values, *access.token], access.types, access.attributes, (), location, segments)


def pads(source: Value, value: Value) -> bool:
    """Is the one value after the pointers a padding value? It is where it has their pointee's type, unless that is i1:
    then it is the mask, as upstream's parser has it.
    """
    kind, pointers = value.type, source.type
    if not isinstance(kind, TileType) or not isinstance(pointers, TileType) or kind.element == I1:
        return False
    return isinstance(pointers.element, PointerType) and kind.element == pointers.element.pointee


def parse_store_ptr(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`store_ptr_tko weak %p, %value, %mask token=%t : P, T, M -> token`."""
    access = Access(parser, cls)
    values = parser.values()
    if not 2 <= len(values) <= 3:
        parser.tokens.fail("store_ptr_tko takes a pointer, a value and possibly a mask")
    access.options()
    access.signature(list(zip(values, ("destination", "value", "mask"), strict=False)), 1)
    segments = (1, 1, int(len(values) > 2), len(access.token))
    return cls([*values, *access.token], access.types, access.attributes, (), location, segments)


def parse_load_view(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`load_view_tko weak %v[%i, %j] token = %t : V, I -> T, token`."""
    access = Access(parser, cls)
    view, index = access.index()
    access.options()
    access.signature([(view, "view"), *access.typed(view, index)], 2)
    segments = (1, len(index), len(access.token))
    return cls([view, *index, *access.token], access.types, access.attributes, (), location, segments)


def parse_store_view(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`store_view_tko weak %tile, %v[%i, %j] token = %t : T, V, I -> token`."""
    access = Access(parser, cls)
    tile = parser.value()
    parser.tokens.expect(",", "after the tile")
    view, index = access.index()
    access.options()
    access.signature([(tile, "tile"), (view, "view"), *access.typed(view, index)], 1)
    segments = (1, 1, len(index), len(access.token))
    return cls([tile, view, *index, *access.token], access.types, access.attributes, (), location, segments)


def parse_atomic_rmw(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`atomic_rmw_tko relaxed device %p, add, %x, %mask token=%t : P, T, M -> T, token`."""
    access = Access(parser, cls)
    values = [parser.value()]
    parser.tokens.expect(",", "after the pointers")
    access.attributes["mode"] = parser.member("an atomic mode", AtomicMode)
    parser.tokens.expect(",", "after the mode")
    values += parser.values()
    if len(values) > 3:
        parser.tokens.fail("atomic_rmw_tko takes pointers, an argument and possibly a mask")
    access.options()
    access.signature(list(zip(values, ("pointers", "arg", "mask"), strict=False)), 2)
    segments = (1, 1, int(len(values) > 2), len(access.token))
    return cls([*values, *access.token], access.types, access.attributes, (), location, segments)


def parse_atomic_cas(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`atomic_cas_tko relaxed device %p, %cmp, %val, %mask token=%t : P, T, M -> T, token`."""
    access = Access(parser, cls)
    values = parser.values()
    if not 3 <= len(values) <= 4:
        parser.tokens.fail("atomic_cas_tko takes pointers, two values and possibly a mask")
    access.options()
    written = [(values[0], "pointers"), (values[1], "cmp"), *((v, "mask") for v in values[3:])]
    access.signature(written, 2)
    segments = (1, 1, 1, int(len(values) > 3), len(access.token))
    return cls([*values, *access.token], access.types, access.attributes, (), location, segments)


def print_access(printer: Printer, op: Op, body: str, types: list[Value], equals: str) -> str:
    """An access: ordering and scope, `body`, options, then the types of some values and the results."""
    order, scope, hints = (op.attributes.get(name) for name in ("order", "scope", "hints"))
    order = MemoryOrder.WEAK if order is None else order
    words = [op.info.mnemonic, str(order)]
    words += [str(scope)] if scope is not None else []
    words.append(body)
    token = op.operands[-1] if op.segments[-1] else None
    words += [f"token{equals}{printer.name(token)}"] if token is not None else []
    words += [f"optimization_hints = {hints}"] if isinstance(hints, OptimizationHints) else []
    inbounds: tuple[bool, ...] = op.attributes.get("inbounds", ())
    words += [f"inbounds = [{', '.join(str(b).lower() for b in inbounds)}]"] if any(inbounds) else []
    return f"{' '.join(words)} : {printer.types(types)} -> {printer.types(op.results)}"


def print_pointer_access(printer: Printer, op: Op, indent: str) -> str:
    """Loads, stores and atomics through pointers; a load in generic form where its own would read as another."""
    padded = isinstance(op, LoadPtr) and op.mask is None and op.padding_value is not None
    if padded and not pads(*op.operands[:2]):
        return f'"{op.name}"({printer.values(op.operands)}){tile_attributes(op)} : {printer.signature(op)}'
    values = op.operands[: len(op.operands) - op.segments[-1]]
    if isinstance(op, AtomicRMW):
        body = f"{printer.name(values[0])}, {op.mode}, {printer.values(values[1:])}"
    else:
        body = printer.values(values)
    typed = [*values[:2], *values[3:]] if isinstance(op, AtomicCAS) else values
    return print_access(printer, op, body, typed, "=")


def print_view_access(printer: Printer, op: Op, indent: str) -> str:
    """Loads and stores through views."""
    access = printer.as_a(op, LoadView) if isinstance(op, LoadView) else printer.as_a(op, StoreView)
    tile = [access.tile] if isinstance(access, StoreView) else []
    body = f"{printer.name(access.view)}[{printer.values(access.index)}]"
    body = ", ".join([*(printer.name(value) for value in tile), body])
    return print_access(printer, op, body, [*tile, access.view, *printer.index_types(access.view, access.index)], " = ")


FORMS: dict[type[Op], tuple[StructuredParser, StructuredPrinter]] = {
    MakeTensorView: (parse_tensor_view, print_tensor_view),
    GetIndexSpaceShape: (parse_shape_query, print_shape_query),
    GetTensorShape: (parse_shape_query, print_shape_query),
    LoadPtr: (parse_load_ptr, print_pointer_access),
    StorePtr: (parse_store_ptr, print_pointer_access),
    LoadView: (parse_load_view, print_view_access),
    StoreView: (parse_store_view, print_view_access),
    AtomicRMW: (parse_atomic_rmw, print_pointer_access),
    AtomicCAS: (parse_atomic_cas, print_pointer_access),
}
"""How each operation is read and printed."""
