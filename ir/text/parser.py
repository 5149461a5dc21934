"""Tile IR text to a module: what the disassembler prints and what the public test-suite writes, prefixes or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ir.core import Attribute, Block, Location, Op, OpT, Region, Type, Value
from ir.dialects.cuda_tile import Constant, DenseElements, OptimizationHints, TileOp
from ir.dialects.cuda_tile.attributes import Bounded, DivBy, HintValue, SameElements
from ir.text.aliases import Aliases
from ir.text.literals import parse_dense
from ir.text.scopes import Scopes
from ir.text.syntax import DIALECT, Form, Kind, Step, classes, enum_members, form_of
from ir.text.tokens import END, MAX_DIGITS, Tokens
from ir.text.type_text import TypeTextError, read_type
from ir.types import FloatType, IntType, TileType

MAX_DEPTH = 64
"""Nested regions; real kernels stay below ten (deepest of 129 cuTile kernels: 5)."""


class Parser:
    """Recursive descent over tokens; `names` maps each visible name to its values (several for a pack)."""

    __slots__ = ("aliases", "depth", "names", "scopes", "tokens")

    def __init__(self, source: str, filename: str):
        self.tokens = Tokens(source, filename)
        self.aliases = Aliases(self.tokens)
        self.scopes = Scopes(self.aliases)
        self.names: dict[str, list[Value]] = {}
        self.depth = 0

    # Regions and operations

    def typed_names(self, after: str) -> tuple[list[str], list[Type]]:
        """`(%a: type, ...)`."""
        tokens = self.tokens
        names: list[str] = []
        types: list[Type] = []
        tokens.expect("(", f"after {after}")
        while not tokens.accept(")"):
            if names:
                tokens.expect(",", "between the arguments")
            names.append(self.fresh_name())
            tokens.expect(":", "after an argument's name")
            types.append(self.type())
            if tokens.current == "loc":
                self.aliases.location()
        return names, types

    def region(self, names: Sequence[str], types: Sequence[Type], end: type[Op] | None) -> Region:
        """`{ ... }` with the given block arguments; an empty terminator `end` is added where it is left out."""
        tokens = self.tokens
        start = tokens.at
        tokens.expect("{", "before the body")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            tokens.fail(f"regions are nested deeper than {MAX_DEPTH}", index=start)
        outer = self.names
        self.names = dict(outer)
        block = Block(types)
        for name, value in zip(names, block.args, strict=True):
            self.define(name, [value], start)
        while tokens.current != "}":
            if tokens.current == END:
                tokens.fail("unclosed '{'", index=start)
            block.append(self.operation())
        if end is not None and not (block.ops and is_terminator(block.ops[-1])):
            block.append(end(location=tokens.location()))
        tokens.take()
        self.names = outer
        self.depth -= 1
        return Region([block])

    def operation(self) -> Op:
        """One operation with the names of its results."""
        tokens = self.tokens
        start = tokens.at
        targets = self._targets() if tokens.current.startswith("%") else []
        at = tokens.at
        word = tokens.take()
        cls = classes().get(word)
        location = tokens.location(at)
        if cls is None:
            made = self._other(word, at)
        else:
            form = form_of(cls)
            made = self._follow(form, cls, location) if form else STRUCTURED.get(cls, misplaced)(self, cls, location)
        if tokens.current == "loc":
            self.place(made)
        if targets:
            self._bind(targets, made, start)
        return made

    def place(self, made: Op) -> None:
        """Give an operation the place that a trailing `loc(...)` names."""
        self.scopes.keep(made, self.tokens.at)
        found = self.aliases.location()
        if found is not None:
            made.location = found

    def _other(self, word: str, at: int) -> Op:
        """An operation in generic form, or the error for what is none."""
        if word.startswith('"'):
            return QUOTED[0](self, word, at)
        if not word:
            self.tokens.fail("expected an operation, found the end of the text", index=at)
        name = word.removeprefix(DIALECT)
        from difflib import get_close_matches  # for errors only

        close = get_close_matches(name, [known for known in classes() if not known.startswith(DIALECT)])
        hint = f"did you mean {' or '.join(close)}?" if close else ""
        return self.tokens.fail(f"'{word}' is not an operation of cuda_tile", hint, at)

    def _targets(self) -> list[tuple[str, int, int]]:
        """`%a, %b:2 =`: names with their sizes and tokens."""
        tokens = self.tokens
        found: list[tuple[str, int, int]] = []
        while True:
            at = tokens.at
            name = self.fresh_name()
            size = tokens.integer("the size of a pack") if tokens.accept(":") else 1
            found.append((name, size, at))
            if not tokens.accept(","):
                break
        tokens.expect("=", "after the names of the results")
        return found

    def _bind(self, targets: list[tuple[str, int, int]], made: Op, start: int) -> None:
        wanted = sum(size for _, size, _ in targets)
        if wanted != len(made.results):
            self.tokens.fail(f"'{made.name}' has {len(made.results)} results, but {wanted} are named", index=start)
        taken = 0
        for name, size, at in targets:
            self.define(name, made.results[taken : taken + size], at)
            taken += size

    # Values

    def fresh_name(self) -> str:
        """A value's name where one is defined."""
        token = self.tokens.current
        if not token.startswith("%") or "#" in token:
            self.tokens.fail(f"expected a value's name such as %x, found {self.tokens.describe()}")
        self.tokens.at += 1
        return token

    def define(self, name: str, values: list[Value], at: int) -> None:
        """Bring a name into scope."""
        if name in self.names:
            self.tokens.fail(f"'{name}' is defined twice", "names are unique within nested regions", at)
        self.names[name] = values
        if not name[1:].isdigit():
            for value in values:
                value.name = name[1:]

    def value(self) -> Value:
        """A use of a value: `%x` or one of a pack, `%x#1`."""
        tokens = self.tokens
        token = tokens.current
        name, _, number = token.partition("#")
        found = self.names.get(name)
        if found is None or not token.startswith("%"):
            if token.startswith("%"):
                hint = "a value is defined before its use, in the same region or one around it"
                tokens.fail(f"'{name}' is not defined here", hint)
            tokens.fail(f"expected a value such as %x, found {tokens.describe()}")
        index = int(number[:MAX_DIGITS]) if number else 0
        if index >= len(found):
            tokens.fail(f"'{name}' has {len(found)} results, there is no {token}")
        tokens.at += 1
        return found[index]

    def values(self) -> list[Value]:
        """One or more values, separated by commas."""
        found = [self.value()]
        while self.tokens.accept(","):
            found.append(self.value())
        return found

    # Types

    def type(self) -> Type:
        """A type, with or without the dialect's prefix."""
        tokens = self.tokens
        text = tokens.current
        if "!" in text and self.aliases.bodies:
            text = self.aliases.type_text(text)
        try:
            found = read_type(text)
        except TypeTextError as error:
            tokens.fail(f"expected a type: {error.message}" if tokens.current else "expected a type", error.hint)
        tokens.at += 1
        return found

    def types(self) -> list[Type]:
        """One or more types, separated by commas."""
        found = [self.type()]
        while self.tokens.accept(","):
            found.append(self.type())
        return found

    def type_of(self, value: Value, what: str) -> None:
        """A type that must be the one `value` was defined with."""
        at = self.tokens.at
        found = self.type()
        if found != value.type:
            self.tokens.fail(f"operand '{what}' has type {value.type}, written as {found}", index=at)

    # Attributes

    def hints(self) -> OptimizationHints:
        """`= <arch = {key = value, ...}, ...>`."""
        self.tokens.expect("=", "after optimization_hints")
        return self.hint_list()

    def hint_list(self) -> OptimizationHints:
        """`<arch = {key = value, ...}, ...>`."""
        tokens = self.tokens
        tokens.expect("<", "before the hints")
        entries: dict[str, tuple[tuple[str, HintValue], ...]] = {}
        while not tokens.accept(">"):
            if entries:
                tokens.expect(",", "between the architectures")
            arch = tokens.key("an architecture", entries)
            tokens.expect("=", "after an architecture")
            tokens.expect("{")
            found: dict[str, HintValue] = {}
            while not tokens.accept("}"):
                if found:
                    tokens.expect(",", "between the hints")
                key = tokens.key("a hint", found)
                tokens.expect("=", "after a hint's name")
                found[key] = self._hint(key)
            entries[arch] = tuple(found.items())
        return OptimizationHints(tuple(entries.items()))

    def _hint(self, key: str) -> HintValue:
        """A truth value, a string or a number with or without its type."""
        tokens = self.tokens
        if tokens.current in ("true", "false"):
            return tokens.take() == "true"
        if tokens.current.startswith('"'):
            return tokens.string(key)
        number = tokens.integer(key)
        if tokens.accept(":"):
            self.type()
        return number

    def promise(self) -> Attribute:
        """div_by<...>, same_elements<...> or bounded<...>, also with #cuda_tile. before it."""
        tokens = self.tokens
        at = tokens.at
        if tokens.current in self.aliases.bodies:
            body = self.aliases.expand(tokens.current)
            if tokens.tokens[body] in self.aliases.bodies:
                tokens.fail("an alias of an alias is not an assumption")
            tokens.at = body
            found = self.promise()
            tokens.at = at + 1
            return found
        word = tokens.take().removeprefix("#").removeprefix(DIALECT)
        if word not in ("div_by", "same_elements", "bounded"):
            hint = "assume takes div_by<..>, same_elements<[..]> or bounded<.., ..>"
            tokens.fail(f"'{word}' is not an assumption", hint, at)
        tokens.expect("<", f"after {word}")
        made: Attribute
        if word == "div_by":
            divisor = tokens.integer("the divisor")
            every = along = None
            if tokens.accept(","):
                tokens.expect("every")
                every = tokens.integer("every")
                tokens.expect("along")
                along = tokens.integer("along")
            made = DivBy(divisor, every, along)
        elif word == "bounded":
            lower = self._bound()
            tokens.expect(",", "between the bounds")
            made = Bounded(lower, self._bound())
        else:
            made = SameElements(self.integers())
        tokens.expect(">", f"at the end of {word}")
        return made

    def _bound(self) -> int | None:
        return None if self.tokens.accept("?") else self.tokens.integer("a bound")

    def integers(self) -> tuple[int, ...]:
        """`[1, 0]`."""
        tokens = self.tokens
        tokens.expect("[")
        found: list[int] = []
        while not tokens.accept("]"):
            if found:
                tokens.expect(",")
            found.append(tokens.integer("a list"))
        return tuple(found)

    def member(self, step_name: str, kind: type[Any]) -> Any:
        """One member of an enumeration, by its text."""
        tokens = self.tokens
        members = enum_members(kind)
        found = members.get(tokens.current)
        if found is None:
            tokens.fail(f"expected {step_name}, found {tokens.describe()}", f"one of {', '.join(members)}")
        tokens.at += 1
        return found

    # Declared forms

    def _follow(self, form: Form, cls: type[OpT], location: Location) -> OpT:
        tokens = self.tokens
        operands: dict[str, list[Value]] = {}
        attributes: dict[str, Any] = {}
        for step in form.steps:
            kind = step.kind
            if kind == Kind.LITERAL:
                tokens.expect(step.name, f"in '{cls.info.name}'")
            elif kind == Kind.OPERAND:
                operands[step.name] = [self.value()]
            elif kind == Kind.VARIADIC:
                operands[step.name] = self.values() if tokens.current != "]" else []
            elif kind == Kind.FLAG:
                self._flags(form, attributes)
            else:
                self._attribute(step, attributes)
        tokens.expect(":", f"before the types of '{cls.info.name}'")
        for index, name in enumerate(form.inputs):
            if index:
                tokens.expect(",", "between the types")
            for value in operands[name][:1]:
                self.type_of(value, name)
        results = self._result_types(form, cls)
        flat = [value for group in form.groups for value in operands[group]]
        segments = tuple(len(operands[group]) for group in form.groups)
        return cls(flat, results, attributes, (), location, segments)

    def _result_types(self, form: Form, cls: type[Op]) -> list[Type] | None:
        if form.inferred:
            return None
        if form.inputs:
            self.tokens.expect("->", f"before the result type of '{cls.info.name}'")
        found = [self.type()]
        return found * len(cls.info.results) if form.shared else found

    def _flags(self, form: Form, attributes: dict[str, Any]) -> None:
        """Read the words of an operation that stand here, in any order, each once."""
        while self.tokens.current in form.flags and self.tokens.current not in attributes:
            attributes[self.tokens.take()] = True

    def _attribute(self, step: Step, attributes: dict[str, Any]) -> None:
        """Read one attribute where it is written."""
        tokens, kind = self.tokens, step.value_kind
        if step.kind == Kind.OPTION:
            if tokens.accept(step.name):
                tokens.expect("<", f"after {step.name}")
                attributes[step.name] = self.member(step.name, kind)
                tokens.expect(">", f"after the {step.name}")
        elif step.kind == Kind.INTEGERS:
            attributes[step.name] = self.integers()
        elif step.kind == Kind.SYMBOL:
            attributes[step.name] = tokens.symbol(step.name)
        elif kind is int:
            attributes[step.name] = tokens.integer(step.name)
        elif kind is str:
            attributes[step.name] = tokens.string(step.name)
        elif kind is Attribute:
            attributes[step.name] = self.promise()
        else:
            attributes[step.name] = self.member(step.name, kind)


def is_terminator(op: Op) -> bool:
    """Whether an operation ends its block."""
    return isinstance(op, TileOp) and op.is_terminator


StructuredParser = Callable[[Parser, type[Op], Location], Op]
QUOTED: list[Callable[[Parser, str, int], Op]] = []
"""How an operation in generic form is read: filled by `ir.text`, whose reader of that form builds on this module."""
STRUCTURED: dict[type[Op], StructuredParser] = {}
"""Operations whose text form is not declared but written out, see `ir.text.structured` and `ir.text.access`."""


def misplaced(parser: Parser, cls: type[Op], location: Location) -> NoReturn:
    """A module or an entry where an operation of a body is meant."""
    parser.tokens.fail(f"'{cls.info.name}' is not allowed inside a body", index=parser.tokens.at - 1)


def parse_constant(parser: Parser, cls: type[Op], location: Location) -> Op:
    """`constant <f32: 1.0> : tile<4xf32>`."""
    value, tile = parse_literal(parser, "constant")
    return cls((), [tile], {"value": value}, (), location)


def parse_literal(parser: Parser, what: str) -> tuple[DenseElements, TileType]:
    """`<f32: 1.0> : tile<4xf32>`: the elements and their tile type."""
    tokens = parser.tokens
    if tokens.accept("dense"):
        tokens.fail("dense<...> literals are written <type: value>", "for example constant <f32: 0.0> : tile<16xf32>")
    tokens.expect("<", f"after '{what}'")
    at = tokens.at
    element = parser.type()
    if not isinstance(element, IntType | FloatType):
        tokens.fail(f"a literal cannot have element type {element}", index=at)
    tokens.expect(":", "after the literal's type")
    value, shape, start = parse_dense(tokens, element)
    tokens.expect(">", "after the literal")
    tokens.expect(":", f"before the type of '{what}'")
    at = tokens.at
    tile = parser.type()
    if not isinstance(tile, TileType) or tile.element != element:
        tokens.fail(f"a literal of {element} cannot have type {tile}", index=at)
    check_literal(parser, value, shape, tile, start)
    return value, tile


def check_literal(
    parser: Parser, value: DenseElements, shape: tuple[int, ...] | None, tile: TileType, start: int
) -> None:
    """Refuse elements whose number or shape is not the tile's."""
    if shape is not None and shape != tile.shape:
        parser.tokens.fail(f"the literal has shape {shape}, its type is {tile}", index=start)
    if not value.splat and value.size != tile.size:
        parser.tokens.fail(f"the literal has {value.size} elements, its type is {tile}", index=start)


STRUCTURED[Constant] = parse_constant
