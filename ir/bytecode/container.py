"""The container of Tile IR bytecode: header, sections, offset tables.

Header: 7F 'TileIR' 00, major, minor, u16 tag. Then sections until id 0: id (bit 7: an alignment follows the length),
varint length, padding, payload, in any order. Source: bytecode page of the CUDA Tile IR specification 13.4, checked
against the writer of the PyPI package cuda-tile 1.7.0.
"""

from __future__ import annotations

import enum
from itertools import pairwise

from ir.bytecode.cursor import Cursor
from ir.core import Location, UnsupportedError, Version
from ir.records import dataclass

MAGIC = b"\x7fTileIR\x00"
OLDEST, NEWEST = (13, 1), (13, 5)
WRITTEN = (13, 4)
"""The version written by default: the last one that cuda-tile 1.7.0 does not call development."""
PREVIEW_TAG = 1
"""Bit 0 of the header's tag: preview features are used; other bits are not defined in 13.1 to 13.5."""
FIRST_PREVIEW_OPCODE = 0x4000
"""Operations from here on need the preview tag (opcode ranges of the public dialect)."""
PRODUCER_SINCE = (13, 3)
"""The first version with a producer section (public dialect, version of the module's attribute)."""
ALIGNED = 0x80
"""Bit of a section's id: an alignment follows the length."""
MAX_ALIGNMENT = 4096
"""Writers use 4 and 8; a larger power of two only wastes bytes, an absurdly large one means a damaged file."""


class Section(enum.IntEnum):
    """Section ids."""

    END = 0
    STRING = 1
    FUNCTION = 2
    DEBUG = 3
    CONSTANT = 4
    TYPE = 5
    GLOBAL = 6
    PRODUCER = 7


@dataclass(frozen=True, slots=True)
class Container:
    """The version and the location of each section's payload."""

    version: Version
    preview: bool
    sections: dict[Section, Cursor]
    end: int

    def section(self, which: Section, file: str, data: bytes) -> Cursor:
        """The payload of a section, empty if the file has none."""
        found = self.sections.get(which)
        return Cursor(data, file, found.position, found.end) if found else Cursor(data, file, self.end, self.end)


def read_container(data: bytes, file: str) -> Container:
    """Check the header and index the sections."""
    cursor = Cursor(data, file)
    version, preview = _read_header(cursor)
    sections: dict[Section, Cursor] = {}
    while True:
        at = cursor.position
        head = cursor.byte("section id")
        if head == Section.END:
            if cursor.remaining:
                raise cursor.error(f"{cursor.remaining} bytes are left after the end of the sections", at)
            return Container(version, preview, sections, at)
        which = _section(head & ~ALIGNED, cursor, at)
        if which in sections:
            raise cursor.error(f"section {which.name.lower()} appears twice", at)
        length = cursor.varint("section length")
        if head & ALIGNED:
            alignment = cursor.varint("section alignment")
            if not 0 < alignment <= MAX_ALIGNMENT or alignment & (alignment - 1):
                raise cursor.error(f"section alignment {alignment} is not a power of two up to {MAX_ALIGNMENT}", at)
            cursor.align(alignment)
        sections[which] = cursor.slice(length, f"section {which.name.lower()}")


def _section(identity: int, cursor: Cursor, at: int) -> Section:
    """The section of a header; the end marker has neither alignment nor length, so it is not a section here."""
    if identity == Section.END or identity not in Section.__members__.values():
        raise cursor.error(f"unknown section {identity}", at)
    return Section(identity)


def announces_preview(data: bytes) -> bool:
    """Whether the header declares the use of preview features; False for damaged headers."""
    at = len(MAGIC) + 2
    return data[: len(MAGIC)] == MAGIC and len(data) > at and bool(data[at] & PREVIEW_TAG)


def _read_header(cursor: Cursor) -> tuple[Version, bool]:
    if cursor.data[: len(MAGIC)] != MAGIC:
        raise cursor.error("not Tile IR bytecode: it does not start with 7F 'TileIR' 00", 0)
    cursor.position = len(MAGIC)
    version = (cursor.byte("major version"), cursor.byte("minor version"))
    tag = int.from_bytes(cursor.raw(2, "version tag"), "little")
    if not OLDEST <= version <= NEWEST or tag & ~PREVIEW_TAG:
        raise UnsupportedError(
            f"bytecode version {version[0]}.{version[1]} (tag {tag}) is not supported",
            Location(cursor.file, offset=len(MAGIC)),
            "versions 13.1 to 13.5 are read; export with bytecode_version='13.4'",
        )
    return version, bool(tag & PREVIEW_TAG)


class Table:
    """Items found through an array of offsets: strings, constants, types or debug attributes."""

    __slots__ = ("data_end", "data_start", "offsets", "source")

    def __init__(self, source: Cursor, width: int, what: str, origin: int):
        """Read `count`, padding to `width` counted from `origin`, then `count` offsets of `width` bytes."""
        self.source = source
        count = source.count(what, width) if source.remaining else 0
        if count:
            source.align(width, origin)
        raw = source.raw(count * width, f"offsets of {what}")
        self.offsets = [int.from_bytes(raw[i : i + width], "little") for i in range(0, len(raw), width)]
        self.data_start, self.data_end = source.position, source.end
        size = self.data_end - self.data_start
        for this, following in pairwise([*self.offsets, size]):
            if not this <= following <= size:
                raise source.error(f"offsets of {what} are not ascending within the table")

    def __len__(self) -> int:
        return len(self.offsets)

    def item(self, index: int) -> Cursor:
        """A cursor over one item, which must exist."""
        start = self.data_start + self.offsets[index]
        last = index + 1 == len(self.offsets)
        end = self.data_end if last else self.data_start + self.offsets[index + 1]
        return Cursor(self.source.data, self.source.file, start, end)


class Strings:
    """The string table."""

    __slots__ = ("decoded", "table")

    def __init__(self, source: Cursor):
        self.table = Table(source, 4, "strings", source.position)
        self.decoded: dict[int, str] = {}

    def read(self, cursor: Cursor, what: str) -> str:
        """The string whose id follows in `cursor`."""
        at = cursor.position
        index = cursor.varint(what)
        found = self.decoded.get(index)
        if found is None:
            if index >= len(self.table):
                raise cursor.error(f"{what}: string {index} does not exist, there are {len(self.table)}", at)
            item = self.table.item(index)
            try:
                found = item.raw(item.remaining, what).decode()
            except UnicodeDecodeError as error:
                raise cursor.error(f"{what}: string {index} is not UTF-8", at) from error
            self.decoded[index] = found
        return found
