"""A module as the disassembler prints it: no dialect prefixes, defaults left out, values named after their ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ir.core import Op, OpT, Region, Type, Value
from ir.dialects.cuda_tile import Constant, Entry, Global, Module, TestingFunc, Visibility, tile_type
from ir.dialects.cuda_tile.attributes import TextEnum
from ir.quoting import escape, symbol_text
from ir.text.literals import dense_text
from ir.text.names import Names
from ir.text.syntax import Form, Kind, Step, form_of, mnemonic
from ir.types import GatherScatterViewType

StructuredPrinter = Callable[["Printer", Op, str], str]
PRINTED: dict[type[Op], StructuredPrinter] = {}
"""Operations whose text form is not declared but written out, see `ir.text.structured` and `ir.text.access`."""


def type_list(types: Iterable[Type]) -> str:
    """Types separated by commas."""
    return ", ".join(map(str, types))


class Printer:
    """Prints cuda_tile operations; each method returns text without a final newline."""

    __slots__ = ("locations", "names")

    def __init__(self, root: Op, locations: bool = False):
        self.names = Names(root)
        self.locations = locations

    def name(self, value: Value) -> str:
        """A use of a value."""
        return self.names.texts[value]

    def values(self, values: Iterable[Value]) -> str:
        """Uses separated by commas."""
        return ", ".join(self.names.texts[value] for value in values)

    def types(self, values: Iterable[Value]) -> str:
        """The values' types separated by commas."""
        return type_list(value.type for value in values)

    def index_types(self, view: Value, index: Sequence[Value]) -> Sequence[Value]:
        """The index values whose types are written: all of a gather-scatter view's, else one for all."""
        return index if isinstance(view.type, GatherScatterViewType) else index[:1]

    def signature(self, op: Op) -> str:
        """`(T, T) -> (R, R)`: the types in generic form."""
        return f"({self.types(op.operands)}) -> ({self.types(op.results)})"

    def as_a(self, op: Op, cls: type[OpT]) -> OpT:
        """`op` as the class that its printer was registered for."""
        if not isinstance(op, cls):
            raise TypeError(f"{op.name} was sent to the printer of {cls.__name__}")
        return op

    def module(self, module: Module) -> str:
        """Bare entries after a comment that names the producer, or a module with a name or a visibility around them."""
        line = bool(module.sym_name or module.sym_visibility)
        indent = "  " if line else ""
        entries = [f"{indent}{self.operation(op, indent)}\n" for op in module.body.block.ops]
        if not line:
            comment = "\n// ".join(f"Producer: {module.producer}".splitlines())
            return (f"// {comment}\n" if module.producer else "") + "".join(entries)
        given = {"producer": module.producer, "sym_visibility": module.sym_visibility}
        pairs = ", ".join(f"{name} = {escape(value)}" for name, value in given.items() if value)
        name = f" {symbol_text(module.sym_name)}" if module.sym_name else ""
        attributes = f" attributes {{{pairs}}}" if pairs else ""
        return f"cuda_tile.module{name}{attributes} {{\n{''.join(entries)}}}\n"

    def global_(self, op: Global) -> str:
        """`global private constant @g alignment = 256 <i32: 7> : tile<4xi32>`, blanks as the disassembler's."""
        private = " private" if op.symbol_visibility == Visibility.PRIVATE else ""
        constant = "constant " if op.constant else ""
        alignment = f" alignment = {op.alignment}" if op.alignment else ""
        literal = f"<{op.type.element}: {dense_text(op.value, op.type)}> : {op.type}"
        return f"global{private}  {constant}{symbol_text(op.sym_name)}{alignment} {literal}"

    def testing(self, op: TestingFunc, indent: str) -> str:
        """`testing$func @name(...) -> T { ... }`."""
        parameters = ", ".join(f"{self.name(a)}: {a.type}" for a in op.body.block.args)
        results = f" -> ({', '.join(map(str, op.result_types))})" if op.result_types else ""
        return f"testing$func {symbol_text(op.sym_name)}({parameters}){results} {self.body(op.body, indent, None)}"

    def entry(self, entry: Entry, indent: str) -> str:
        """`entry @name(...) { ... }`."""
        parameters = ", ".join(f"{self.name(a)}: {a.type}" for a in entry.body.block.args)
        hints = f" optimization_hints={entry.hints}" if entry.hints is not None else ""
        head = f"entry {symbol_text(entry.sym_name)}({parameters}){hints} "
        return head + self.body(entry.body, indent, None)

    def body(self, region: Region, indent: str, elided: type[Op] | None) -> str:
        """`{ ... }`; a terminator of class `elided` without operands is left out."""
        ops: Sequence[Op] = region.block.ops
        if elided is not None and ops and type(ops[-1]) is elided and not ops[-1].operands:
            ops = ops[:-1]
        inner = indent + "  "
        lines = "".join(f"{inner}{self.operation(op, inner)}\n" for op in ops)
        return f"{{\n{lines}{indent}}}"

    def operation(self, op: Op, indent: str) -> str:
        """One operation with the names of its results, and its place where places are asked for."""
        text = self._operation(op, indent)
        if not self.locations:
            return text
        place = op.location
        return f"{text} loc({escape(place.file)}:{place.line}:{place.column})" if place.line else f"{text} loc(unknown)"

    def _operation(self, op: Op, indent: str) -> str:
        targets = f"{self.names.targets(op)} = " if op.results else ""
        if isinstance(op, Entry):
            return self.entry(op, indent)
        if isinstance(op, Global):
            return self.global_(op)
        if isinstance(op, TestingFunc):
            return self.testing(op, indent)
        if isinstance(op, Constant):
            tile = tile_type(op.result)
            return f"{targets}constant <{tile.element}: {dense_text(op.value, tile)}> : {tile}"
        special = PRINTED.get(type(op))
        if special is not None:
            return targets + special(self, op, indent)
        form = form_of(type(op))
        if form is None:
            raise TypeError(f"'{op.name}' has no text form of its own; print it in generic form")
        return targets + self._declared(form, op)

    def _declared(self, form: Form, op: Op) -> str:
        text = mnemonic(type(op))
        for number, step in enumerate(form.steps):
            piece = self._step(step, op)
            blank = step.blank or (" " if number == 0 else "")
            text += step.gap if piece is None else blank + piece
        inputs = ", ".join(str(_field(op, name).type) for name in form.inputs)
        outputs = ", ".join(str(_field(op, name).type) for name in form.outputs)
        return f"{text} : {' -> '.join(part for part in (inputs, outputs) if part)}"

    def _step(self, step: Step, op: Op) -> str | None:
        """The text of one element, None where it is left out."""
        if step.kind == Kind.LITERAL:
            return step.name
        if step.kind in (Kind.OPERAND, Kind.VARIADIC):
            found: Value | list[Value] = getattr(op, _attribute_name(op, step.name))
            return self.values(found) if isinstance(found, list) else self.name(found)
        value: object = op.attributes.get(step.name, step.default)
        if step.kind == Kind.SYMBOL:
            return symbol_text(str(value))
        if step.kind == Kind.FLAG:
            return step.name if value else None
        if step.kind == Kind.OPTION:
            return None if value == step.default else f"{step.name}<{value}>"
        if isinstance(value, tuple):
            return f"[{', '.join(map(str, value))}]"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if isinstance(value, str):
            return escape(value)
        return value.text if isinstance(value, TextEnum) else str(value)


def _attribute_name(op: Op, name: str) -> str:
    """The Python name of a declared field: a keyword carries an underscore."""
    return name if hasattr(type(op), name) else f"{name}_"


def _field(op: Op, name: str) -> Value:
    found: Value = getattr(op, _attribute_name(op, name))
    return found
