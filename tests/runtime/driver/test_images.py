"""Fat binaries and what is inside, without a compiler."""

import struct
from ctypes.util import find_library

import pytest

from runtime.driver.errors import DriverError
from runtime.driver.images import FATBIN, lz4_block, parts, ptx_of

TEXT = b".version 8.0\n.target sm_80\n" + b"// the same words, the same words, the same words\n" * 20
PTX, ELF, LZ4, ZSTD = 1, 2, 1 << 13, 1 << 15


def entry(kind: int, architecture: int, data: bytes, flags: int = 0, full: int = 0) -> bytes:
    stored = data.ljust(-(-len(data) // 8) * 8, b"\0")
    compressed = len(data) if flags & (LZ4 | ZSTD) else 0
    head = struct.pack(
        "<HHIQIIIIQQQQ", kind, 0x0101, 64, len(stored), compressed, 0, 0, architecture, 0, flags, 0, full
    )
    return head[:28] + struct.pack("<I", architecture) + head[32:40] + struct.pack("<QQQ", flags, 0, full) + stored


def fatbin(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", FATBIN, 1, 16, len(body)) + body


def lz4(data: bytes) -> bytes:
    """One literal run of 60 bytes, then a match for the rest that overlaps itself: `data` has a period of 50."""
    head, rest = 77, len(data) - 77 - 5
    result = bytearray([15 << 4 | 15, head - 15]) + data[:head] + struct.pack("<H", 50)
    left = rest - 4 - 15
    while left >= 255:
        result.append(255)
        left -= 255
    result.append(left)
    return bytes(result) + bytes([5 << 4]) + data[-5:]


def test_the_newest_ptx_that_the_device_takes() -> None:
    image = fatbin(entry(ELF, 90, b"\x7fELF"), entry(PTX, 80, b"old"), entry(PTX, 90, b"new\0")) + fatbin(
        entry(PTX, 120, b"newest")
    )
    assert [part.capability for part in parts(image)] == [(9, 0), (8, 0), (9, 0), (12, 0)]
    assert [ptx_of(image, target) for target in ((8, 9), (9, 0), (10, 3), (12, 1))] == ["old", "new", "new", "newest"]
    assert ptx_of(b".version 8.0\0", (9, 0)) == ".version 8.0"


def test_ptx_for_one_architecture_or_family() -> None:
    own, family = 1 << 20, 1 << 21
    image = fatbin(entry(PTX, 90, b"90"), entry(PTX, 90, b"90a", own), entry(PTX, 100, b"100f", family))
    targets = ((9, 0), (10, 0), (10, 3), (12, 0))
    assert [ptx_of(image, target) for target in targets] == ["90a", "100f", "100f", "90"]
    with pytest.raises(DriverError, match="holds PTX for sm_100f, sm_90a, the device is sm_120: pass --target"):
        ptx_of(fatbin(entry(PTX, 90, b"", own), entry(PTX, 100, b"", family)), (12, 0))


def test_compressed_ptx() -> None:
    packed = lz4(TEXT)
    assert len(packed) < len(TEXT) / 5
    assert lz4_block(packed, len(TEXT)) == TEXT
    assert ptx_of(fatbin(entry(PTX, 80, packed, LZ4, len(TEXT))), (8, 0)) == TEXT.decode()
    for damaged, message in ((packed[:-9], "cut off"), (b"\x00\x00\x00" + packed, "damaged")):
        with pytest.raises(DriverError, match=message):
            lz4_block(damaged, len(TEXT))


def test_zstd_by_the_systems_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame with one raw block (RFC 8878, 3.1.1), which is stored as it is."""
    frame = b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(TEXT) - 256)
    frame += struct.pack("<I", len(TEXT) << 3 | 1)[:3] + TEXT
    image = fatbin(entry(PTX, 80, frame, ZSTD, len(TEXT)))
    if find_library("zstd") is not None:
        assert ptx_of(image, (8, 0)) == TEXT.decode()
        with pytest.raises(DriverError, match="damaged"):
            ptx_of(fatbin(entry(PTX, 80, frame[:-30], ZSTD, len(TEXT))), (8, 0))

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", missing)
    with pytest.raises(DriverError, match="compressed with zstd, and this system has no libzstd"):
        ptx_of(image, (8, 0))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (b"\x7fELF\x02", "the image is machine code .a cubin. and holds no PTX: load PTX instead"),
        (fatbin(entry(ELF, 90, b"\x7fELF")), "machine code for sm_90 and no PTX: build it with nvcc -gencode"),
        (fatbin(entry(PTX, 100, b"x")), "holds PTX for sm_100, the device is sm_90: pass --target"),
        (fatbin(), "the fat binary is cut off"),
    ],
)
def test_images_without_ptx_for_the_device(image: bytes, message: str) -> None:
    with pytest.raises(DriverError, match=message):
        ptx_of(image, (9, 0))
