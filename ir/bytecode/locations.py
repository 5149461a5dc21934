"""Debug information of Tile IR bytecode: one attribute id for each operation, resolved to file, line and column."""

from __future__ import annotations

import struct

from ir.bytecode.container import Strings, Table
from ir.bytecode.cursor import Cursor
from ir.core import Location
from ir.scopes import NO_SCOPE, Scope, check_function, check_operations

BLOCK, LOC, SUBPROGRAM, CALL_SITE = 3, 4, 5, 6
"""Debug tags of locations and scopes; 1 is a compile unit, 2 a file."""
MAX_INLINING = 64
"""Call sites followed to the innermost location; a deeper chain means damage, or is of no use to a reader."""
Place = tuple[str, int, int]


class Locations:
    """The debug section; operation i of a function (in program order, from 1) has the i-th id, 0 is the function."""

    __slots__ = ("attributes", "file", "ids", "outer", "places", "scopes", "starts", "strings")

    def __init__(self, source: Cursor, strings: Strings):
        self.file = source.file
        self.strings = strings
        self.places: dict[int, Place | None] = {0: None}
        self.outer: dict[int, int] = {}
        self.scopes: dict[int, Scope] = {0: NO_SCOPE}
        self.starts: list[int] = []
        self.ids: memoryview[int] = memoryview(b"")
        self.attributes: Table | None = None
        if not source.remaining:
            return
        origin = source.position
        functions = source.count("functions with debug information", 4)
        source.align(4, origin)
        raw = source.raw(4 * functions, "debug offsets of functions")
        self.starts = [int.from_bytes(raw[i : i + 4], "little") for i in range(0, len(raw), 4)]
        total = source.count("debug entries", 8)
        source.align(8, origin)
        self.ids = memoryview(source.raw(8 * total, "debug entries"))
        self.attributes = Table(source, 4, "debug attributes", origin)

    def of_function(self, index: int) -> memoryview[int]:
        """The raw 8-byte ids of function `index` (from 1; 0 has none)."""
        if not 0 < index <= len(self.starts):
            return memoryview(b"")
        end = self.starts[index] * 8 if index < len(self.starts) else len(self.ids)
        return self.ids[self.starts[index - 1] * 8 : end]

    def locate(self, ids: memoryview[int], number: int, offset: int) -> Location:
        """The location of operation `number` of a function, with its byte offset; only the offset if none is known."""
        place = None
        entry = ids[8 * number : 8 * number + 8]
        if len(entry) == 8:
            attribute = int.from_bytes(entry, "little")
            if attribute not in self.places:
                self.places[attribute] = self._resolve(attribute)
            place = self.places[attribute]
        if place is None:
            return Location(self.file, offset=offset)
        return Location(place[0], place[1], place[2], offset)

    def check(self, name: str, ids: memoryview[int]) -> None:
        """Raises VerifyError if a function's locations are not in the function."""
        count = len(ids) // 8
        if not count:
            return
        own, *others = struct.unpack(f"<{count}Q", ids[: 8 * count])
        function = self._scope(own)
        check_function(name, function, self.locate(ids, 0, 0))
        each = ((self._scope(attribute), attribute) for attribute in dict.fromkeys(others))
        check_operations(name, function, ((scope, self._located(attribute)) for scope, attribute in each))

    def _located(self, attribute: int) -> Location:
        place = self.places.get(attribute)
        return Location(*place) if place else Location(self.file, offset=0)

    def _scope(self, attribute: int, depth: int = 0) -> Scope:
        """The function that a location names: for nested call sites, that of the outermost caller."""
        found = self.scopes.get(attribute) if depth <= MAX_INLINING else NO_SCOPE
        if found is None:
            outer = self.outer.get(attribute)
            found = self._scope(outer, depth + 1) if outer is not None else self._resolve_scope(attribute, depth)
            self.scopes[attribute] = found
        return found

    def _resolve_scope(self, attribute: int, depth: int) -> Scope:
        table = self.attributes
        if table is None or not 0 < attribute <= len(table):
            return NO_SCOPE
        item = table.item(attribute - 1)
        start = item.position
        tag = item.byte("debug tag")
        if tag == SUBPROGRAM:
            item.varint("file of a subprogram")
            item.varint("line of a subprogram")
            self.strings.read(item, "name of a subprogram")
            linkage = self.strings.read(item, "linkage name of a subprogram")
            return Scope(bytes(item.data[start : item.end]), linkage)
        if tag == CALL_SITE:
            item.varint("callee of a call site")
            outer = self._scope(item.varint("caller of a call site"), depth + 1)
            return Scope(outer.subprogram, outer.linkage, outer.block, call=True)
        if tag not in (BLOCK, LOC):
            return NO_SCOPE
        outer = self._scope(item.varint("scope"), depth + 1)
        return Scope(outer.subprogram, outer.linkage, block=True) if tag == BLOCK else outer

    def _resolve(self, attribute: int) -> Place | None:
        table = self.attributes
        for _ in range(MAX_INLINING):
            if table is None or not 0 < attribute <= len(table):
                return None
            item = table.item(attribute - 1)
            tag = item.byte("debug tag")
            if tag == CALL_SITE:
                attribute = item.varint("callee of a call site")
                continue
            if tag != LOC:
                return None
            self.outer[attribute] = item.varint("scope of a location")
            name = self.strings.read(item, "file of a location")
            return name, item.varint("line"), item.varint("column")
        return None
