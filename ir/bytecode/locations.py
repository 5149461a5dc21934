"""Debug information of Tile IR bytecode: one attribute id for each operation, resolved to file, line and column."""

from __future__ import annotations

from ir.bytecode.container import Strings, Table
from ir.bytecode.cursor import Cursor
from ir.core import Location

LOC, CALL_SITE = 4, 6
"""Debug tags that lead to a place; 1 compile unit, 2 file, 3 lexical block and 5 subprogram do not."""
MAX_INLINING = 64
"""Call sites followed to the innermost place; a deeper chain is damage or of no use to a reader."""
Place = tuple[str, int, int]


class Locations:
    """The debug section; operation i of a function (in program order, from 1) has the i-th id, 0 is the function."""

    __slots__ = ("attributes", "file", "ids", "places", "starts", "strings")

    def __init__(self, source: Cursor, strings: Strings):
        self.file = source.file
        self.strings = strings
        self.places: dict[int, Place | None] = {0: None}
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
        """The place of operation `number` of a function, with its byte offset; only the offset where none is known."""
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
            item.varint("scope of a location")
            name = self.strings.read(item, "file of a location")
            return name, item.varint("line"), item.varint("column")
        return None
