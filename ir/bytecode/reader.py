"""From Tile IR bytecode to a cuda_tile module."""

from __future__ import annotations

from typing import Any, cast

from ir.bytecode.attributes import Attributes
from ir.bytecode.container import FIRST_PREVIEW_OPCODE, Section, Strings, read_container
from ir.bytecode.cursor import Cursor
from ir.bytecode.encoding import Encoding, encodings
from ir.bytecode.locations import Locations
from ir.bytecode.types import Types
from ir.core import Block, Location, Op, Region, Type, UnsupportedError, Value, Version
from ir.dialects.cuda_tile import Dictionary, Entry, Global, Module, Visibility
from ir.records import dataclass
from ir.types import TOKEN, FunctionType, TileType

PRIVATE, KERNEL, HAS_HINTS = 1, 2, 4
"""Bits of a function's flags (public dialect, FunctionFlags); upstream's reader ignores that a kernel is private."""
FIXED_FIELDS = (13, 5)
"""From this version on, hints and attributes of parameters are always present, without a flag."""
MAX_DEPTH = 64
"""Nested regions; real kernels stay below ten (deepest of 129 cuTile kernels: 5)."""
WHAT_TO_DO = "write the kernel without this operation"


@dataclass(frozen=True, slots=True)
class Tables:
    """State shared by all functions."""

    version: Version
    preview: bool
    strings: Strings
    types: Types
    attributes: Attributes
    locations: Locations
    encodings: dict[int, Encoding]


def read_bytecode(data: bytes, filename: str = "<bytes>") -> Module:
    """Read a module of version 13.1 to 13.5; its functions become entries, debug information their locations.

    Raises BytecodeError at a byte offset for damaged input, UnsupportedError for what this version cannot read,
    VerifyError if debug information attributes an operation to another function.
    """
    container = read_container(data, filename)

    def section(which: Section) -> Cursor:
        return container.section(which, filename, data)

    strings = Strings(section(Section.STRING))
    types = Types(section(Section.TYPE), container.version)
    attributes = Attributes(strings, types, section(Section.CONSTANT))
    locations = Locations(section(Section.DEBUG), strings)
    tables = Tables(
        container.version, container.preview, strings, types, attributes, locations, encodings(container.version)
    )
    body = Block()
    for each in _read_globals(section(Section.GLOBAL), tables):
        body.append(each)
    functions = section(Section.FUNCTION)
    for _ in range(functions.count("functions", 4) if functions.remaining else 0):
        body.append(_read_function(functions, tables))
    functions.finish("the last function")
    attributes = _read_producer(section(Section.PRODUCER), strings)
    return Module((), (), attributes, [Region([body])], Location(filename, offset=0))


def _read_producer(cursor: Cursor, strings: Strings) -> dict[str, Any]:
    """The producer section: one string, which names the program that made the file."""
    if not cursor.remaining:
        return {}
    found = strings.read(cursor, "producer")
    cursor.finish("the producer")
    return {"producer": found}


def _read_globals(cursor: Cursor, tables: Tables) -> list[Global]:
    """The global section: name, type, constant, alignment, and from 13.3 on visibility and constness."""
    found: list[Global] = []
    for _ in range(cursor.count("globals", 4) if cursor.remaining else 0):
        location = cursor.location
        attributes: dict[str, Any] = {"sym_name": tables.strings.read(cursor, "name of a global")}
        tile = tables.types.read_as(TileType, cursor, "type of a global")
        attributes |= {"type": tile, "value": tables.attributes.literal(cursor, tile)}
        attributes["alignment"] = cursor.varint("alignment of a global")
        if tables.version >= (13, 3):
            code = cursor.byte("visibility of a global")
            if code >= len(Visibility):
                raise cursor.error(f"visibility of a global cannot be {code}", cursor.position - 1)
            attributes["symbol_visibility"] = Visibility(code)
            attributes["constant"] = bool(cursor.varint("constness of a global"))
        found.append(Global((), (), attributes, (), location))
    cursor.finish("the last global")
    return found


def _read_function(cursor: Cursor, tables: Tables) -> Entry:
    at = cursor.position
    name = tables.strings.read(cursor, "name of a function")
    signature = tables.types.read_as(FunctionType, cursor, f"type of function {name!r}")
    flags = cursor.byte("flags of a function")
    if flags & ~(PRIVATE | KERNEL | HAS_HINTS):
        raise cursor.error(f"flags {flags:#x} of function @{name} have bits that do not exist", cursor.position - 1)
    if not flags & KERNEL:
        here = Location(cursor.file, offset=at)
        raise UnsupportedError(f"function @{name} is not a kernel", here, "only entries can be compiled")
    if signature.results:
        raise cursor.error(f"kernel @{name} returns {len(signature.results)} values; kernels return nothing", at)
    ids = tables.locations.of_function(cursor.varint("debug index of a function"))
    later = tables.version >= FIXED_FIELDS
    hints = tables.attributes.tagged_hints(cursor) if later or flags & HAS_HINTS else None
    if later:
        _skip_parameter_attributes(cursor, tables, name)
    code = cursor.slice(cursor.varint("length of a function body"), f"body of @{name}")
    block = Block(signature.params)
    body = _Body(tables, ids, list(block.args))
    while code.remaining:
        block.append(body.operation(code, 0))
    location = tables.locations.locate(ids, 0, at)
    tables.locations.check(name, ids)
    attributes: dict[str, Any] = {"sym_name": name} | ({"hints": hints} if hints and hints.entries else {})
    return Entry((), (), attributes, [Region([block])], location)


def _skip_parameter_attributes(cursor: Cursor, tables: Tables, name: str) -> None:
    """A dictionary for each parameter, or none at all; their possible contents are not public."""
    at = cursor.position
    given = tables.attributes.kept(cursor)
    if not isinstance(given, tuple):
        raise cursor.error(f"attributes of the parameters of @{name} are not an array", at)
    if any(not isinstance(each, Dictionary) or each.entries for each in cast("tuple[object, ...]", given)):
        raise UnsupportedError(f"@{name} has parameter attributes", Location(cursor.file, offset=at))


def _unknown(opcode: int, location: Location, at: int) -> UnsupportedError:
    what = f"operation with opcode {opcode}"
    where = f" (byte {at})" if location.line else ""
    return UnsupportedError(f"{what} is not supported yet{where}", location, WHAT_TO_DO)


class _Body:
    """Reads the operations of one function; `values` is the stack of values in scope."""

    __slots__ = ("ids", "number", "tables", "values")

    def __init__(self, tables: Tables, ids: memoryview[int], values: list[Value]):
        self.tables = tables
        self.ids = ids
        self.values = values
        self.number = 0

    def operation(self, cursor: Cursor, depth: int) -> Op:
        """Read one operation with its regions and bring its results into scope."""
        at = cursor.position
        self.number += 1
        location = self.tables.locations.locate(self.ids, self.number, at)
        opcode = cursor.varint("opcode")
        encoding = self.tables.encodings.get(opcode)
        if encoding is None:
            raise _unknown(opcode, location, at)
        if encoding.info.since > self.tables.version:
            since = ".".join(map(str, encoding.info.since))
            raise cursor.error(f"{encoding.info.name} was added in {since}, but the file is older", at)
        if opcode >= FIRST_PREVIEW_OPCODE and not self.tables.preview:
            raise cursor.error(f"{encoding.info.name} is a preview operation, but the header announces none", at)
        results = self._results(cursor, encoding)
        attributes, mask = self._attributes(cursor, encoding, results)
        operands, segments = self._operands(cursor, encoding, mask, at)
        regions = self._regions(cursor, encoding, depth) if encoding.info.regions else []
        if encoding.late_results:
            made = encoding.cls(operands, [*results, TOKEN], attributes, regions, location, segments)
            self.values += made.results[: len(results)]
            return made
        made = encoding.cls(operands, results, attributes, regions, location, segments)
        self.values += made.results
        return made

    def _results(self, cursor: Cursor, encoding: Encoding) -> list[Type]:
        info, types = encoding.info, self.tables.types
        at = cursor.position
        count = (
            cursor.count(f"results of {info.mnemonic}")
            if encoding.counted_results
            else len(info.results) - encoding.late_results
        )
        wanted = len(info.results) - encoding.late_results
        if not info.variadic_results and count != wanted:
            raise cursor.error(f"{info.name} has {count} results, it must have {wanted}", at)
        return [types.read(cursor, f"result type of {info.mnemonic}") for _ in range(count)]

    def _attributes(self, cursor: Cursor, encoding: Encoding, results: list[Type]) -> tuple[dict[str, Any], int]:
        mask = 0
        if encoding.masked:
            mask = cursor.varint(f"mask of {encoding.info.mnemonic}")
            if mask & ~encoding.known_bits:
                raise cursor.error(f"mask {mask:#x} of {encoding.info.name} names fields that do not exist")
        found: dict[str, Any] = {name: True for name, bit in encoding.flags if mask & bit}
        for name, bit, read in encoding.attributes:
            if not bit or mask & bit:
                found[name] = read(self.tables.attributes, cursor, results)
        return found, mask

    def _operands(self, cursor: Cursor, encoding: Encoding, mask: int, at: int) -> tuple[list[Value], tuple[int, ...]]:
        name = encoding.info.mnemonic
        operands: list[Value] = []
        segments: list[int] = []
        rest = 0
        if encoding.total_count:
            total = cursor.count(f"operands of {name}")
            rest = total - sum(not group.variadic for group in encoding.groups)
            if rest < 0:
                raise cursor.error(f"{encoding.info.name} has {total} operands, too few", at)
        for group in encoding.groups:
            if group.variadic:
                size = rest if encoding.total_count else cursor.count(f"operands of {name}")
            else:
                size = 1 if not group.bit or mask & group.bit else 0
            segments.append(size)
            operands += [self._value(cursor, name) for _ in range(size)]
        segments += [0] * (len(encoding.info.operands) - len(segments))  # groups newer than the file's version
        return operands, tuple(segments)

    def _value(self, cursor: Cursor, name: str) -> Value:
        index = cursor.varint("operand")
        if index >= len(self.values):
            raise cursor.error(f"{name} uses value {index}, {len(self.values)} are defined here")
        return self.values[index]

    def _regions(self, cursor: Cursor, encoding: Encoding, depth: int) -> list[Region]:
        info, at = encoding.info, cursor.position
        if depth >= MAX_DEPTH:
            raise cursor.error(f"regions are nested deeper than {MAX_DEPTH}")
        count = cursor.varint(f"regions of {info.mnemonic}")
        if count != len(info.regions):
            raise cursor.error(f"{info.name} has {count} regions, it must have {len(info.regions)}", at)
        return [self._region(cursor, encoding, depth) for _ in range(count)]

    def _region(self, cursor: Cursor, encoding: Encoding, depth: int) -> Region:
        name, at = encoding.info.mnemonic, cursor.position
        blocks = cursor.varint(f"blocks of {name}")
        if blocks == 0 and name == "if":
            return Region()
        if blocks != 1:
            raise cursor.error(f"a region of {name} has {blocks} blocks, it must have one", at)
        types = [
            self.tables.types.read(cursor, f"block argument type of {name}")
            for _ in range(cursor.count(f"block arguments of {name}"))
        ]
        block = Block(types)
        scope = len(self.values)
        self.values += block.args
        for _ in range(cursor.count(f"operations in {name}")):
            block.append(self.operation(cursor, depth + 1))
        del self.values[scope:]
        return Region([block])
