"""printf conversions against the C library's own printf, with every flag, width and precision."""

import ctypes
import itertools
import math
import struct

import numpy as np
import pytest

from ptxsim.printf import FormatError, render

LIBC = ctypes.CDLL(None)
DOUBLES = [
    0.0, -0.0, 1.0, -1.5, 1 / 3, 1e-7, -123456.789, 1e300, 5e-324, 2.0**-1030, 1.9999999999999998, 0.5, 2.5, math.inf,
    -math.inf, math.nan, 99999.95, 1e22,
]  # fmt: skip
FLAGS = ["", "-", "0", "+", " ", "#", "-#", "0+", "#0", "+ ", "-0", "#+0 "]
SIZES = ["", "9", "23"]
PRECISIONS = ["", ".", ".0", ".1", ".3", ".17"]
TEXT = b"a string\0"


def c_printf(text: str, *values: object) -> str:
    buffer = ctypes.create_string_buffer(4096)
    LIBC.snprintf(buffer, 4096, text.encode(), *values)
    return buffer.value.decode("latin-1")


def device_printf(text: str, data: bytes) -> str:
    def string(address: int, most: int | None) -> bytes:
        return TEXT[address - 64 : TEXT.index(b"\0")][:most]

    return render(text.encode(), lambda offset, size: data[offset : offset + size], string)[0]


def formats(kinds: str, lengths: tuple[str, ...] = ("",)) -> list[str]:
    parts = itertools.product(FLAGS, SIZES, PRECISIONS, lengths, kinds)
    return ["<%" + "".join(part) + ">" for part in parts]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", "feEgGFaA")
def test_doubles(kind: str) -> None:
    random = np.random.default_rng(1).standard_normal(12) * 10.0 ** np.arange(-6, 6)
    for text in formats(kind):
        for value in [*DOUBLES, *random.tolist()]:
            assert device_printf(text, struct.pack("<d", value)) == c_printf(text, ctypes.c_double(value)), (
                text,
                value,
            )


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", "diuoxX")
def test_integers(kind: str) -> None:
    for value in (0, 1, -1, 5, 255, 256, -32769, 1 << 31, (1 << 63) - 1, -(1 << 63), 123456789012):
        data = struct.pack("<q", value) if value < 1 << 63 else b""
        for text in formats(kind, ("hh", "h", "", "l", "ll")):
            assert device_printf(text, data) == c_printf(text, ctypes.c_longlong(value)), (text, value)


def test_text_and_pointers() -> None:
    for size, precision, flag in itertools.product(SIZES, ["", ".", ".0", ".3", ".6", ".20"], ["", "-"]):
        text = f"<%{flag}{size}{precision}s>"
        assert device_printf(text, struct.pack("<Q", 64)) == c_printf(text, TEXT[:-1]), text
        assert device_printf(text, struct.pack("<Q", 0)) == c_printf(text, None), text
    for size, flag in itertools.product(SIZES, ["", "-"]):
        assert device_printf(f"<%{flag}{size}c>", struct.pack("<i", 65)) == c_printf(f"<%{flag}{size}c>", 65)
        for value in (0, 0xDEADBEEF0):
            text = f"<%{flag}{size}p>"
            assert device_printf(text, struct.pack("<Q", value)) == c_printf(text, ctypes.c_void_p(value))
    assert device_printf("100%% %d%%", struct.pack("<i", 7)) == "100% 7%"


@pytest.mark.parametrize(("width", "precision"), [(12, 3), (-12, 3), (0, 0), (12, -1), (-1, 20)])
def test_widths_and_precisions_from_arguments(width: int, precision: int) -> None:
    # the double comes after two ints, at the next multiple of eight bytes
    data = struct.pack("<iid", width, precision, math.pi)
    text = "<%*.*f>"
    assert device_printf(text, data) == c_printf(text, width, precision, ctypes.c_double(math.pi))
    data = struct.pack("<iiq", width, precision, 42)
    assert device_printf("<%0*.*lld>", data) == c_printf("<%0*.*lld>", width, precision, ctypes.c_longlong(42))


def test_arguments_are_counted_and_aligned() -> None:
    data = struct.pack("<iiqi", 65, 0, -7, 9)
    text, count = render(b"%c %lld %d", lambda offset, size: data[offset : offset + size], lambda *_: b"")
    assert (text, count) == ("A -7 9", 3)


def test_unknown_conversion() -> None:
    with pytest.raises(FormatError, match="printf conversion %n is not simulated"):
        device_printf("%n", bytes(8))
