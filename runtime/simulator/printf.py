"""printf as device code calls it: a format string and a buffer that holds the arguments like a C struct."""

import re
import struct
from collections.abc import Callable

_CONVERSION = re.compile(rb"%([-+ #0]*)(\d+|\*)?(?:\.(\d+|\*)?)?(hh|h|ll|l|j|z|t|L)?([a-zA-Z%])")
_WIDE = (b"l", b"ll", b"j", b"z", b"t")


class FormatError(Exception):
    """A conversion that the simulator does not know."""


class _Arguments:
    """Values read one after the other from the buffer, each aligned to its size."""

    def __init__(self, data: Callable[[int, int], bytes]) -> None:
        self._data = data
        self._offset = 0
        self.count = 0

    def next(self, code: str) -> int | float:
        """The next value, in a format of the struct module."""
        size = struct.calcsize(code)
        self._offset = -(-self._offset // size) * size
        value = struct.unpack("<" + code, self._data(self._offset, size))[0]
        self._offset += size
        self.count += 1
        return value


def render(text: bytes, data: Callable[[int, int], bytes], string_at: Callable[[int], bytes]) -> tuple[str, int]:
    """The text that printf makes, and the number of arguments it used.

    text: the format; data: bytes of the argument buffer by offset and size; string_at: the string at an address.
    Raises FormatError.
    """
    arguments = _Arguments(data)

    def convert(match: re.Match[bytes]) -> bytes:
        flags, width, precision, length, kind = match.groups()
        if kind == b"%":
            return b"%"
        spec = "%" + flags.decode()
        spec += str(arguments.next("i")) if width == b"*" else (width or b"").decode()
        if b"." in match.group()[: -len(kind)]:
            spec += "." + (str(arguments.next("i")) if precision == b"*" else (precision or b"0").decode())
        return _value(arguments, spec, length or b"", kind.decode(), string_at).encode("latin-1")

    result = _CONVERSION.sub(convert, text)
    return result.decode("latin-1"), arguments.count


def _value(arguments: _Arguments, spec: str, length: bytes, kind: str, string_at: Callable[[int], bytes]) -> str:
    is_wide = length in _WIDE
    if kind in "di":
        value = arguments.next("q" if is_wide else "i")
        return (spec + "d") % {b"h": _signed(value, 16), b"hh": _signed(value, 8)}.get(length, value)
    if kind in "uoxX":
        value = int(arguments.next("Q" if is_wide else "I"))
        value = {b"h": value & 0xFFFF, b"hh": value & 0xFF}.get(length, value)
        # C writes 0777 for %#o where Python writes 0o777
        return (spec + ("d" if kind == "u" else kind)) % value
    if kind in "fegEGF":
        return (spec + kind) % arguments.next("d")
    if kind == "c":
        return (spec + "s") % chr(int(arguments.next("i")) & 0xFF)
    if kind == "s":
        return (spec + "s") % string_at(int(arguments.next("Q"))).decode("latin-1")
    if kind == "p":
        return (spec + "s") % hex(int(arguments.next("Q")))
    raise FormatError(f"printf conversion %{kind} is not simulated")


def _signed(value: int | float, bits: int) -> int:
    whole = int(value) & ((1 << bits) - 1)
    return whole - (1 << bits) if whole >> (bits - 1) else whole
