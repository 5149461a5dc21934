"""Writing of debug information: the file, function, line and column of every operation."""

from __future__ import annotations

from pathlib import PurePath

from ir.bytecode.locations import LOC
from ir.bytecode.output import Output, UniqueTable
from ir.bytecode.reader import FIXED_FIELDS
from ir.core import Location, Op, Version
from ir.dialects.cuda_tile import Entry

COMPILE_UNIT, FILE, SUBPROGRAM = 1, 2, 5
"""Debug tags besides `locations.LOC` (CUDA Tile IR 13.4, debug section)."""
NO_FLAGS = 0
"""A subprogram's flags, present from 13.5 on; no flag is in use (cuda-tile 1.7.0)."""
NO_PLACE = b"\x00"
"""The table entry for no attribute at all, as NVIDIA's writers leave it."""


class Places:
    """The locations of one function: its own, then one per operation in program order."""

    __slots__ = ("ids", "number", "scope", "writer")

    def __init__(self, writer: LocationWriter, number: int, scope: int):
        self.writer = writer
        self.number = number
        self.scope = scope
        self.ids: list[int] = []

    def add(self, op: Op) -> None:
        """Record the location of the next operation."""
        self.ids.append(self.writer.place(op.location, self.scope))


class LocationWriter:
    """The debug section; ids count from 1, 0 is no location."""

    __slots__ = ("flags", "functions", "strings", "table")

    def __init__(self, strings: UniqueTable, version: Version):
        self.strings = strings
        self.flags = (NO_FLAGS,) if version >= FIXED_FIELDS else ()
        self.table = UniqueTable(first=1)
        self.functions: list[Places] = []

    def function(self, entry: Entry) -> Places:
        """Start the locations of a function."""
        scope = self._subprogram(entry) if entry.location.line else 0
        made = Places(self, len(self.functions) + 1, scope)
        self.functions.append(made)
        made.add(entry)
        return made

    def _id(self, tag: int, *fields: int) -> int:
        output = Output()
        output.byte(tag)
        for each in fields:
            output.varint(each)
        return self.table.id(bytes(output.data))

    def _string(self, text: str) -> int:
        return self.strings.id(text.encode())

    def _subprogram(self, entry: Entry) -> int:
        path, line = PurePath(entry.location.file), entry.location.line
        parent = str(path.parent) if path.parent != PurePath(".") else ""
        file = self._id(FILE, self._string(path.name), self._string(parent))
        unit = self._id(COMPILE_UNIT, file)
        name = self._string(entry.sym_name)
        return self._id(SUBPROGRAM, file, line, name, name, unit, line, *self.flags)

    def place(self, location: Location, scope: int) -> int:
        """The id of a location, 0 if it is unknown or no function contains it."""
        if not location.line or not scope:
            return 0
        return self._id(LOC, scope, self._string(location.file), location.line, max(location.column, 0))

    def written(self) -> Output:
        """Functions' offsets, ids of 8 bytes, the table of attributes."""
        output = Output()
        output.varint(len(self.functions))
        output.align(4)
        total = 0
        for each in self.functions:
            output.data += total.to_bytes(4, "little")
            total += len(each.ids)
        output.varint(total)
        output.align(8)
        for each in self.functions:
            for number in each.ids:
                output.data += number.to_bytes(8, "little")
        if not self.table.items:
            self.table.id(NO_PLACE)
        return self.table.written(4, output)
