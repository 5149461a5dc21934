"""A bounded reader over bytes: every count is checked against what is left, every error names its byte offset."""

from __future__ import annotations

from ir.bytecode.output import PADDING
from ir.core import Location, TileError

REPORT = "the file is damaged or not Tile IR bytecode; export it again"


class BytecodeError(TileError):
    """Bytecode that violates the container's or an operation's encoding."""


class Cursor:
    """A position in `data`, bounded by `end` (exclusive)."""

    __slots__ = ("data", "end", "file", "position")

    def __init__(self, data: bytes, file: str, position: int = 0, end: int | None = None):
        self.data = data
        self.file = file
        self.position = position
        self.end = len(data) if end is None else end

    @property
    def location(self) -> Location:
        """The current byte offset."""
        return Location(self.file, offset=self.position)

    @property
    def remaining(self) -> int:
        """Bytes up to the bound."""
        return self.end - self.position

    def error(self, message: str, at: int = -1, hint: str = REPORT) -> BytecodeError:
        """An error at byte `at` (default: here), to be raised."""
        return BytecodeError(message, Location(self.file, offset=self.position if at < 0 else at), hint)

    def slice(self, length: int, what: str) -> Cursor:
        """A cursor over the next `length` bytes, which this one skips."""
        if length > self.remaining:
            raise self.error(f"{what} needs {length} bytes, {self.remaining} are left")
        inner = Cursor(self.data, self.file, self.position, self.position + length)
        self.position += length
        return inner

    def finish(self, what: str) -> None:
        """Nothing but padding may follow `what`, up to the bound."""
        rest = self.data[self.position : self.end]
        if rest.strip(PADDING):
            raise self.error(f"{len(rest)} bytes are left after {what}")

    def raw(self, length: int, what: str) -> bytes:
        """The next `length` bytes."""
        if length > self.remaining:
            raise self.error(f"{what} needs {length} bytes, {self.remaining} are left")
        start = self.position
        self.position += length
        return self.data[start : self.position]

    def byte(self, what: str) -> int:
        """One byte."""
        if self.position >= self.end:
            raise self.error(f"{what} is missing")
        value = self.data[self.position]
        self.position += 1
        return value

    def varint(self, what: str, bits: int = 64) -> int:
        """An unsigned LEB128 number of at most `bits` bits."""
        position, end, data = self.position, self.end, self.data
        value = shift = 0
        while position < end:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> bits:
                    raise self.error(f"{what} has more than {bits} bits")
                self.position = position
                return value
            shift += 7
            if shift >= bits:
                raise self.error(f"{what} has more than {bits} bits")
        raise self.error(f"{what} is cut off")

    def zigzag(self, what: str) -> int:
        """A signed number: the sign is the lowest bit of a varint.

        65 bits, because the Python writer encodes the bits of a negative f64 as a positive 64-bit number.
        """
        value = self.varint(what, 65)
        return (value >> 1) ^ -(value & 1)

    def count(self, what: str, least_bytes: int = 1) -> int:
        """A varint that counts things of at least `least_bytes` bytes each, so that it cannot exceed what is left."""
        start = self.position
        value = self.varint(f"number of {what}")
        if value * least_bytes > self.remaining:
            raise self.error(f"{value} {what} do not fit in the {self.remaining} bytes left", start)
        return value

    def integers(self, width: int, what: str) -> tuple[int, ...]:
        """A count, then that many signed little-endian integers of `width` bytes."""
        count = self.count(what, width)
        data = self.raw(count * width, what)
        return tuple(int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width))

    def align(self, alignment: int, origin: int = 0) -> None:
        """Skip padding up to a multiple of `alignment` bytes counted from byte `origin`."""
        skip = -(self.position - origin) % alignment
        if skip > self.remaining:
            raise self.error(f"padding to {alignment} bytes runs past the end")
        self.position += skip
