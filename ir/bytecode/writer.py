"""From a cuda_tile module to Tile IR bytecode: the inverse of `reader`, driven by the same derived encodings."""

from __future__ import annotations

from typing import Any

from ir.bytecode.container import (
    FIRST_PREVIEW_OPCODE,
    MAGIC,
    NEWEST,
    OLDEST,
    PREVIEW_TAG,
    PRODUCER_SINCE,
    WRITTEN,
    Section,
)
from ir.bytecode.encoding import Encoding, encodings
from ir.bytecode.output import Output, UniqueTable
from ir.bytecode.reader import FIXED_FIELDS, HAS_HINTS, KERNEL
from ir.bytecode.write_attributes import AttributeWriter
from ir.bytecode.write_locations import LocationWriter
from ir.bytecode.write_types import TypeWriter
from ir.core import UNKNOWN, AttrField, Location, Op, Region, UnsupportedError, Value, Version
from ir.dialects.cuda_tile import Entry, Global, Module, OptimizationHints, Visibility
from ir.records import dataclass
from ir.types import FunctionType


@dataclass(frozen=True, slots=True)
class Tables:
    """State shared by all functions."""

    version: Version
    strings: UniqueTable
    types: TypeWriter
    constants: UniqueTable
    attributes: AttributeWriter
    locations: LocationWriter
    encodings: dict[type[Op], Encoding]


def write_bytecode(module: Module, version: Version = WRITTEN) -> bytes:
    """A verified module as bytecode of `version` (13.1 to 13.5), with the locations of its operations.

    Raises UnsupportedError, located, for anything that the version cannot represent. The module's own name is dropped,
    since the container has no field for it, and before 13.3 so is its producer, which has no meaning to a compiler.
    """
    if module.sym_visibility not in ("", "public"):
        hint = "write it as text, or leave the attribute out"
        raise UnsupportedError(f"bytecode cannot represent a {module.sym_visibility} module", module.location, hint)
    if not OLDEST <= version <= NEWEST:
        raise UnsupportedError(f"bytecode version {version[0]}.{version[1]} cannot be written", module.location)
    strings, constants, types = UniqueTable(), UniqueTable(), TypeWriter(version)
    attributes = AttributeWriter(strings, types, constants)
    by_class = {encoding.cls: encoding for encoding in encodings(version).values()}
    tables = Tables(version, strings, types, constants, attributes, LocationWriter(strings, version), by_class)
    functions, globals_ = Output(), Output()
    functions.varint(len(module.entries))
    for each in module.body.block.ops:
        if isinstance(each, Entry):
            _write_function(each, tables, functions)
        elif not isinstance(each, Global):
            raise UnsupportedError(f"'{each.name}' has no bytecode form", each.location, "write it as text")
    _write_globals(module.globals, tables, globals_)
    preview = any(op.info.opcode >= FIRST_PREVIEW_OPCODE for entry in module.entries for op in entry.walk())
    tag = PREVIEW_TAG if preview else 0
    producer = Output()
    if module.producer and version >= PRODUCER_SINCE:
        tables.attributes.string(producer, module.producer)
    return _assemble(tag, functions, globals_ if module.globals else None, producer, tables)


def _assemble(tag: int, functions: Output, globals_: Output | None, producer: Output, tables: Tables) -> bytes:
    """Sections in the order of NVIDIA's writers."""
    output = Output()
    output.data += MAGIC + bytes([*tables.version, tag, 0])
    output.section(Section.FUNCTION, functions, 8)
    if globals_ is not None:
        output.section(Section.GLOBAL, globals_, 1)
    output.section(Section.CONSTANT, tables.constants.written(8), 8)
    output.section(Section.DEBUG, tables.locations.written(), 8)
    output.section(Section.TYPE, tables.types.table.written(4), 4)
    if producer.data:
        output.section(Section.PRODUCER, producer, 1)
    output.section(Section.STRING, tables.strings.written(4), 4)
    output.byte(Section.END)
    return bytes(output.data)


def _write_globals(found: list[Global], tables: Tables, output: Output) -> None:
    output.varint(len(found))
    for each in found:
        tables.attributes.string(output, each.sym_name)
        output.varint(tables.types.id(each.type))
        tables.attributes.literal(output, each.value, each.type)
        output.varint(each.alignment)
        if tables.version >= (13, 3):
            output.byte(each.symbol_visibility)
            output.varint(int(each.constant))
        elif each.constant or each.symbol_visibility != Visibility.PUBLIC:
            raise UnsupportedError("a constant or private global needs bytecode 13.3", each.location)


def _write_function(entry: Entry, tables: Tables, output: Output) -> None:
    hints = entry.hints
    arguments = entry.body.block.args
    tables.attributes.string(output, entry.sym_name)
    try:
        output.varint(tables.types.id(FunctionType(tuple(a.type for a in arguments), ())))
    except UnsupportedError as error:
        raise _located(error, entry.location) from error
    later = tables.version >= FIXED_FIELDS
    output.byte(KERNEL | (HAS_HINTS if hints is not None and not later else 0))
    places = tables.locations.function(entry)
    output.varint(places.number)
    if hints is not None or later:
        tables.attributes.tagged_hints(output, hints or OptimizationHints(()))
    if later:
        tables.attributes.kept(output, ())  # no parameter has attributes
    body = _Body(tables, places.add)
    for value in arguments:
        body.number(value)
    code = Output()
    for op in entry.body.block.ops:
        body.operation(op, code)
    output.varint(len(code.data))
    output.data += code.data


def _located(error: UnsupportedError, location: Location) -> UnsupportedError:
    """The same error at an operation's location."""
    if error.location != UNKNOWN and error.location.file != "<bytecode>":
        return error
    return UnsupportedError(error.message, location, error.hint)


class _Body:
    """Writes the operations of one function; values are numbered as a stack, as the reader counts them."""

    __slots__ = ("add_place", "next", "numbers", "tables")

    def __init__(self, tables: Tables, add_place: Any):
        self.tables = tables
        self.add_place = add_place
        self.numbers: dict[Value, int] = {}
        self.next = 0

    def number(self, value: Value) -> None:
        """Bring a value into scope."""
        self.numbers[value] = self.next
        self.next += 1

    def operation(self, op: Op, output: Output) -> None:
        """One operation with its regions."""
        encoding = self.tables.encodings.get(type(op))
        version = ".".join(map(str, self.tables.version))
        if encoding is None:
            raise UnsupportedError(f"'{op.name}' has no bytecode form", op.location)
        if encoding.info.since > self.tables.version:
            since = ".".join(map(str, encoding.info.since))
            hint = f"write version {since} or later"
            raise UnsupportedError(f"'{op.name}' was added in {since}, not in {version}", op.location, hint)
        self.add_place(op)
        try:
            self._encode(op, encoding, output)
        except UnsupportedError as error:
            raise _located(error, op.location) from error

    def _encode(self, op: Op, encoding: Encoding, output: Output) -> None:
        results = op.results[: len(op.results) - encoding.late_results]
        output.varint(encoding.info.opcode)
        if encoding.counted_results:
            output.varint(len(results))
        for value in results:
            output.varint(self.tables.types.id(value.type))
        self._attributes(op, encoding, output)
        self._operands(op, encoding, output)
        if encoding.info.regions:
            output.varint(len(op.regions))
            for region in op.regions:
                self._region(region, output)
        for value in results:
            self.number(value)

    def _attributes(self, op: Op, encoding: Encoding, output: Output) -> None:
        mask = sum(bit for name, bit in encoding.flags if op.attributes.get(name))
        values: list[tuple[AttrField, object]] = []
        written = {name for name, _ in encoding.flags}
        declared = {attr.name: attr for attr in op.info.attributes}
        for name, bit, _ in encoding.attributes:
            value = op.attributes.get(name, declared[name].default)
            written.add(name)
            if not bit or value is not None:
                values.append((declared[name], value))
                mask |= bit
        for name, attr in declared.items():
            young = attr.since > self.tables.version
            if (name not in written or young) and op.attributes.get(name, attr.default) != attr.default:
                message = f"attribute '{name}' of '{op.name}' needs bytecode {attr.since[0]}.{attr.since[1]}"
                raise UnsupportedError(message, op.location, "write a later version")
        for group, size in zip(encoding.groups, op.segments, strict=False):
            if group.bit and size:
                mask |= group.bit
        if encoding.masked:
            output.varint(mask)
        for attr, value in values:
            self.tables.attributes.attribute(output, op, attr, value)

    def _operands(self, op: Op, encoding: Encoding, output: Output) -> None:
        if any(op.segments[len(encoding.groups) :]):
            name = op.info.operands[len(encoding.groups)].name
            raise UnsupportedError(f"operand '{name}' of '{op.name}' needs later bytecode", op.location)
        if encoding.total_count:
            output.varint(len(op.operands))
        at = 0
        for group, size in zip(encoding.groups, op.segments, strict=False):
            if group.variadic and not encoding.total_count:
                output.varint(size)
            for value in op.operands[at : at + size]:
                output.varint(self.numbers[value])
            at += size

    def _region(self, region: Region, output: Output) -> None:
        output.varint(len(region.blocks))
        scope = self.next
        for block in region.blocks:
            output.varint(len(block.args))
            for value in block.args:
                output.varint(self.tables.types.id(value.type))
                self.number(value)
            output.varint(len(block.ops))
            for op in block.ops:
                self.operation(op, output)
        self.next = scope
