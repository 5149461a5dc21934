"""Reads a level below cuda_tile from MLIR generic form, as `print_generic` writes it.

Every operation is one that `@op` declared; its operands, attributes and results are checked against the declaration.
"""

from __future__ import annotations

from math import prod

from ir.bits import number_of
from ir.core import OPS, AttrField, Attribute, Block, Op, Region, Type, Value
from ir.dialects.cuda_tile.attributes import DenseElements
from ir.dialects.cuda_tile.numerics import TF32_DROPPED_BITS
from ir.levels import OURS
from ir.quoting import unescape
from ir.text.generic_parts import integer_array, operand_segments
from ir.text.level_types import level_attribute, level_type
from ir.text.literals import parse_dense, parse_scalar
from ir.text.tokens import END, LEVEL_TOKEN, Tokens
from ir.text.type_text import TypeTextError
from ir.types import F64, I64, TF32, FloatType, IntType, TensorType, VectorType
from ir.upstream import SAME

MAX_DEPTH = 64
"""Nested regions and attributes; compiled kernels stay below twenty."""


def read_level(text: str, filename: str = "<text>") -> Op:
    """The one operation, with all below it, that the text spells; unverified. Raises ParseError, located."""
    return _Reader(Tokens(text, filename, LEVEL_TOKEN)).whole()


class _Reader:
    """Recursive descent; `values` are the names in scope, `blocks` the labels of the regions around."""

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        self.values: dict[str, Value] = {}
        self.blocks: dict[str, Block] = {}
        self.defined: set[str] = set()
        self.depth = 0

    def whole(self) -> Op:
        found = self.operation()
        if self.tokens.current != END:
            self.tokens.fail(f"expected the end of the text, found {self.tokens.describe()}")
        return found

    # Operations

    def operation(self) -> Op:
        """`%a, %b:2 = "dialect.name"(...)[^bb1] <{...}> ({...}) : (...) -> (...)`."""
        tokens = self.tokens
        targets = self._targets() if tokens.current.startswith("%") else []
        at = tokens.at
        name = tokens.string("the name of an operation")
        name = name.removeprefix(OURS)
        cls = OPS.get(name)
        if cls is None:
            from difflib import get_close_matches  # for errors only

            near = get_close_matches(name, OPS)
            tokens.fail(f"'{name}' is not an operation", f"did you mean {' or '.join(near)}?" if near else "", at)
        operands = self._operands()
        attributes = self._properties(cls, at)
        regions = self._regions()
        inputs, outputs = self._signature()
        if len(inputs) != len(operands):
            tokens.fail(f"{len(operands)} operands, but {len(inputs)} types", index=at)
        for index, (value, written) in enumerate(zip(operands, inputs, strict=True)):
            if value.type != written:
                tokens.fail(f"operand {index} has type {value.type.mlir()}, written as {written.mlir()}", index=at)
        if len(regions) != len(cls.info.regions) and not cls.info.variadic_regions:
            message = f"'{name}' has {len(cls.info.regions)} regions, got {len(regions)}"
            tokens.fail(message, index=at)
        segments = operand_segments(tokens, cls, attributes.pop("operandSegmentSizes", None), len(operands), at)
        made = cls(operands, outputs, attributes, regions, tokens.location(at), segments)
        self._bind(targets, made, at)
        return made

    def _targets(self) -> list[tuple[str, int]]:
        tokens = self.tokens
        found: list[tuple[str, int]] = []
        while True:
            name = tokens.take()
            if not name.startswith("%"):
                tokens.fail(f"expected the name of a result, found '{name}'", index=tokens.at - 1)
            found.append((name, tokens.integer("the size of a pack") if tokens.accept(":") else 1))
            if not tokens.accept(","):
                tokens.expect("=", "after the names of the results")
                return found

    def _bind(self, targets: list[tuple[str, int]], made: Op, at: int) -> None:
        results = made.results
        if targets and sum(size for _, size in targets) != len(results):
            self.tokens.fail(f"'{made.name}' has {len(results)} results, but another number of names", index=at)
        place = 0
        for name, size in targets:
            for part in range(size):
                self._define(name if size == 1 else f"{name}#{part}", results[place], at)
                place += 1

    def _define(self, name: str, value: Value, at: int) -> None:
        if name in self.values:
            self.tokens.fail(f"{name} is defined twice", index=at)
        self.values[name] = value

    def _operands(self) -> list[Value]:
        tokens = self.tokens
        tokens.expect("(", "after the operation's name")
        found: list[Value] = []
        while not tokens.accept(")"):
            if found:
                tokens.expect(",", "between the operands")
            at = tokens.at
            name = tokens.take()
            value = self.values.get(name)
            if value is None:
                what = f"{name} is not defined here" if name.startswith("%") else f"expected an operand, found '{name}'"
                tokens.fail(what, index=at)
            found.append(value)
        return found

    def _signature(self) -> tuple[list[Type], list[Type]]:
        tokens = self.tokens
        tokens.expect(":", "before the types of the operation")
        inputs = self._types()
        tokens.expect("->", "before the result types")
        return inputs, self._types() if tokens.current == "(" else [self.type()]

    def _types(self) -> list[Type]:
        tokens = self.tokens
        tokens.expect("(", "before the types")
        found: list[Type] = []
        while not tokens.accept(")"):
            if found:
                tokens.expect(",", "between the types")
            found.append(self.type())
        return found

    def type(self) -> Type:
        """A type, one token."""
        at = self.tokens.at
        try:
            return level_type(self.tokens.take())
        except TypeTextError as error:
            self.tokens.fail(error.message, error.hint, at)

    # Regions

    def _regions(self) -> list[Region]:
        tokens = self.tokens
        found: list[Region] = []
        if not tokens.accept("("):
            return found
        while not tokens.accept(")"):
            if found:
                tokens.expect(",", "between the regions")
            found.append(self._region())
        return found

    def _region(self) -> Region:
        """Blocks with their labels; the first may go without."""
        tokens = self.tokens
        start = tokens.at
        tokens.expect("{", "before a region")
        self._deeper("regions", start)
        outer, labels, defined = self.values, self.blocks, self.defined
        self.values, self.blocks, self.defined = dict(outer), {}, set()
        made: list[Block] = []
        while not tokens.accept("}"):
            if tokens.current == END:
                tokens.fail("unclosed '{'", index=start)
            if tokens.current.startswith("^"):
                made.append(self._label())
            elif not made:
                made.append(Block())
            else:
                made[-1].append(self.operation())
        for label in self.blocks.keys() - self.defined:
            tokens.fail(f"the region has no block {label}", index=start)
        self.values, self.blocks, self.defined = outer, labels, defined
        self.depth -= 1
        return Region(made)

    def _deeper(self, what: str, at: int) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.tokens.fail(f"{what} are nested deeper than {MAX_DEPTH}", index=at)

    def _label(self) -> Block:
        tokens = self.tokens
        at = tokens.at
        label = tokens.take()
        if label in self.defined:
            tokens.fail(f"block {label} is defined twice", index=at)
        self.defined.add(label)
        block = self.blocks.setdefault(label, Block())
        if tokens.accept("("):
            while not tokens.accept(")"):
                if block.args:
                    tokens.expect(",", "between the arguments")
                name = tokens.take()
                tokens.expect(":", "after an argument's name")
                value = Value(self.type(), block, len(block.args))
                block.args.append(value)
                self._define(name, value, at)
        tokens.expect(":", "after the label")
        return block

    # Attributes

    def _properties(self, cls: type[Op], at: int) -> dict[str, object]:
        """Successors and `<{...}>` under their declared names, of their declared kinds."""
        tokens = self.tokens
        found: dict[str, object] = {}
        if tokens.accept("["):
            found["successors"] = self._successors()
        if tokens.accept("<"):
            found |= self._dictionary()
            tokens.expect(">", "after the properties")
        declared = {(attr.form or SAME).name or attr.name: attr for attr in cls.info.attributes}
        made: dict[str, object] = {}
        for name, value in found.items():
            attr = declared.get(name)
            if attr is not None:
                made[attr.name] = self._converted(cls, attr, value, at)
            elif name == "operandSegmentSizes":
                made[name] = value
            else:
                known = ", ".join(sorted(declared)) or "none"
                tokens.fail(f"'{cls.info.name}' has no attribute {name}", f"its attributes: {known}", at)
        return made

    def _converted(self, cls: type[Op], attr: AttrField, value: object, at: int) -> object:
        """The value of a declared attribute from upstream's form, of the declared kind."""
        if attr.form is not None and attr.form.read is not None:
            try:
                value = attr.form.read(value)
            except ValueError as error:
                self.tokens.fail(f"'{cls.info.name}': attribute '{attr.name}' {error}", index=at)
        self._check(cls, attr, value, at)
        return value

    def _check(self, cls: type[Op], attr: AttrField, value: object, at: int) -> None:
        kind = attr.kind
        number = kind is float and type(value) in (int, float, bool)
        exact = type(value) is kind if kind in (int, bool, str) else isinstance(value, kind)
        if not (exact or number):
            self.tokens.fail(
                f"'{cls.info.name}': attribute '{attr.name}' must be {_KINDS.get(kind, kind.__name__)}", index=at
            )

    def _successors(self) -> tuple[Block, ...]:
        tokens = self.tokens
        found: list[Block] = []
        while not tokens.accept("]"):
            if found:
                tokens.expect(",", "between the successors")
            label = tokens.take()
            if not label.startswith("^"):
                tokens.fail(f"expected the label of a block, found '{label}'", index=tokens.at - 1)
            found.append(self.blocks.setdefault(label, Block()))
        return tuple(found)

    def _dictionary(self) -> dict[str, object]:
        tokens = self.tokens
        tokens.expect("{", "before the attributes")
        found: dict[str, object] = {}
        while not tokens.accept("}"):
            if found:
                tokens.expect(",", "between the attributes")
            name = tokens.key("an attribute", found)
            tokens.expect("=", f"after the attribute {name}")
            found[name] = self.attribute()
        return found

    def attribute(self) -> object:
        """A value: number, string, list, dictionary, literal, type, or one of a dialect."""
        tokens = self.tokens
        at, token = tokens.at, tokens.current
        if token.startswith('"'):
            return unescape(tokens.take())
        if token in ("true", "false"):
            return tokens.take() == "true"
        if token == "[":
            return self._list(at)
        if token == "{":
            self._deeper("attributes", at)
            found = self._dictionary()
            self.depth -= 1
            return found
        if token == "unit":
            tokens.take()
            return True
        if token == "array":
            return integer_array(tokens, self.type)
        if token == "dense":
            return self._dense()
        if token.startswith("#"):
            return self._of_dialect(at)
        if token[:1].isdigit() or token[:1] == "-":
            return self._number()
        return self.type()

    def _of_dialect(self, at: int) -> Attribute:
        try:
            return level_attribute(self.tokens.take())
        except TypeTextError as error:
            self.tokens.fail(error.message, error.hint, at)

    def _list(self, at: int) -> tuple[object, ...]:
        tokens = self.tokens
        tokens.take()
        self._deeper("attributes", at)
        found: list[object] = []
        while not tokens.accept("]"):
            if found:
                tokens.expect(",", "between the elements")
            found.append(self.attribute())
        self.depth -= 1
        return tuple(found)

    def _number(self) -> int | float | bool:
        """`5 : i32`, `1.0 : f32`, `0xFF800000 : f32`; i64 and f64 where no type is written."""
        tokens = self.tokens
        at = tokens.at
        element: Type = F64 if "." in tokens.take() else I64
        if tokens.accept(":"):
            element = self.type()
        end, tokens.at = tokens.at, at
        if not isinstance(element, IntType | FloatType):
            tokens.fail(f"a number cannot have type {element}")
        value = self._bits(element) if isinstance(element, FloatType) else None
        if value is None:
            value = parse_scalar(tokens, element)
        tokens.at = end
        return value

    def _bits(self, element: FloatType) -> float | None:
        """The float whose bits are the current token; None where that is written in decimal."""
        token = self.tokens.current
        if not token.startswith("0x"):
            return None
        dropped = TF32_DROPPED_BITS if element == TF32 else 0
        bits = int(token, 16) << dropped
        if bits >> element.width:
            self.tokens.fail(f"{token} has more than the {element.width - dropped} bits of {element}")
        return float(number_of(element, bits))

    def _dense(self) -> DenseElements | int | float:
        """`dense<1.0> : vector<2xf16>`, a number, or of a tensor, elements."""
        tokens = self.tokens
        tokens.take()
        start = tokens.at
        if tokens.current != "<":
            tokens.fail(f"expected '<' after dense, found {tokens.describe()}")
        tokens.skip_balanced()
        tokens.expect(":", "after the elements")
        kind = self.type()
        if not isinstance(kind, VectorType | TensorType) or not isinstance(kind.element, IntType | FloatType):
            tokens.fail("a literal has a tensor or vector type of numbers", index=start)
        end, tokens.at = tokens.at, start + 1
        if isinstance(kind, VectorType) and isinstance(kind.element, FloatType):
            bits = self._bits(kind.element)
            if bits is not None:
                tokens.at = end
                return bits
        value, shape, first = parse_dense(tokens, kind.element)
        tokens.expect(">", "after the elements")
        size = prod(kind.shape)
        if (shape is not None and shape != kind.shape) or (not value.splat and value.size != size):
            tokens.fail(f"the literal does not have the elements of {kind}", index=first)
        tokens.at = end
        return value if isinstance(kind, TensorType) else value.item


_KINDS: dict[type, str] = {
    int: "an integer",
    bool: "true or false",
    str: "a string",
    tuple: "a list",
    float: "a number",
    Attribute: "an attribute of a dialect",
    Type: "a type",
}
