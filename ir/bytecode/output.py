"""Bytes out: varints, padded sections, tables of unique items. Mirrors `cursor` and `container`."""

from __future__ import annotations

from collections.abc import Sequence

PADDING = b"\xcb"
"""The fill byte for alignment (CUDA Tile IR 13.4, bytecode container)."""


class Output:
    """A growing run of bytes."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def byte(self, value: int) -> None:
        """One byte."""
        self.data.append(value)

    def varint(self, value: int) -> None:
        """An unsigned LEB128 number."""
        if value < 0:
            raise ValueError(f"{value} cannot be written as an unsigned number")
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def zigzag(self, value: int) -> None:
        """A signed number: the sign is the lowest bit of a varint."""
        self.varint(value << 1 if value >= 0 else ~(value << 1))

    def integers(self, values: Sequence[int], width: int) -> None:
        """A count, then signed little-endian integers of `width` bytes."""
        self.varint(len(values))
        for value in values:
            self.data += value.to_bytes(width, "little", signed=True)

    def align(self, alignment: int) -> None:
        """Pad to a multiple of `alignment` bytes from the start."""
        self.data += PADDING * (-len(self.data) % alignment)

    def section(self, identity: int, payload: Output, alignment: int) -> None:
        """A section with its payload at a multiple of `alignment`."""
        self.byte(identity | (0x80 if alignment > 1 else 0))
        self.varint(len(payload.data))
        if alignment > 1:
            self.varint(alignment)
            self.align(alignment)
        self.data += payload.data


class UniqueTable:
    """Items numbered in order of first use, each kept once."""

    __slots__ = ("first", "items")

    def __init__(self, first: int = 0):
        self.first = first
        self.items: dict[bytes, int] = {}

    def id(self, item: bytes) -> int:
        """The number of an item."""
        return self.items.setdefault(item, self.first + len(self.items))

    def written(self, width: int, output: Output | None = None) -> Output:
        """Count, offsets of `width` bytes each at a multiple of `width`, items."""
        output = output or Output()
        output.varint(len(self.items))
        output.align(width)
        offset = 0
        for item in self.items:
            output.data += offset.to_bytes(width, "little")
            offset += len(item)
        for item in self.items:
            output.data += item
        return output
