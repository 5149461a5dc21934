"""The PTX inside what a program loads: PTX text, a fat binary, or nothing but machine code.

Source of the layout of fat binaries: fatbinary headers of the CUDA toolkit and what `cuobjdump` prints of the same
files; there is no public document. An entry: kind u16 (1: PTX, 2: ELF), version u16, bytes of its header u32, bytes of
its data u64, bytes of compressed data u32, ..., compute capability u32 at 28, flags u64 at 40, bytes when decompressed
u64 at 56.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.driver.errors import INVALID_IMAGE, NO_BINARY, DriverError

FATBIN = 0xBA55ED50
_PTX, _ELF = 1, 2
_LZ4, _ZSTD = 1 << 13, 1 << 15
_SUFFIXES = {1 << 20: "a", 1 << 21: "f"}
"""For one architecture, or for its family: seen in what nvcc 13.0 makes for compute_90a, 100a, 100f and 120a."""
_ARCHITECTURE, _FLAGS, _FULL_SIZE = 28, 40, 56

Capability = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Part:
    """An entry of a fat binary: its architecture, such as (9, 0), and PTX as stored; None for machine code."""

    capability: Capability
    data: bytes | None
    flags: int = 0
    full_size: int = 0

    @property
    def suffix(self) -> str:
        """What follows the architecture: "a", "f" or nothing."""
        return next((suffix for flag, suffix in _SUFFIXES.items() if self.flags & flag), "")

    @property
    def name(self) -> str:
        """The architecture, such as "sm_90a"."""
        return _name(self.capability) + self.suffix

    def fits(self, capability: Capability) -> bool:
        """Whether a device takes its PTX: `a` only its own, `f` later ones of the family, plain all later ones."""
        same = self.capability == capability if self.suffix == "a" else self.capability[0] == capability[0]
        return self.capability <= capability and (same or not self.suffix)


def capability_of(number: int) -> Capability:
    """(9, 0) of 90, (12, 1) of 121."""
    return number // 10, number % 10


def parts(image: bytes) -> list[Part]:
    """The entries of one or more fat binaries in a row. Raises DriverError where they are cut off."""
    found: list[Part] = []
    start = 0
    while start + 16 <= len(image) and struct.unpack_from("<I", image, start)[0] == FATBIN:
        header, size = struct.unpack_from("<6xHQ", image, start)
        at, end = start + header, start + header + size
        while at + 64 <= min(end, len(image)):
            kind, head, stored, compressed = struct.unpack_from("<H2xIQI", image, at)
            (number,) = struct.unpack_from("<I", image, at + _ARCHITECTURE)
            (flags,) = struct.unpack_from("<Q", image, at + _FLAGS)
            (full,) = struct.unpack_from("<Q", image, at + _FULL_SIZE)
            data = image[at + head : at + head + (compressed or stored)]
            found.append(Part(capability_of(number), data if kind == _PTX else None, flags, full))
            at += head + stored
        start = end
    if not found:
        raise DriverError(INVALID_IMAGE, "the fat binary is cut off")
    return found


def ptx_of(image: bytes, capability: Capability) -> str:
    """The PTX that a device of this capability would compile. Raises DriverError where there is none."""
    if len(image) >= 4 and struct.unpack_from("<I", image)[0] == FATBIN:
        return _text(_chosen(parts(image), capability))
    if image.startswith(b"\x7fELF"):
        raise DriverError(NO_BINARY, "the image is machine code (a cubin) and holds no PTX: load PTX instead")
    return image.rstrip(b"\0").decode(errors="replace")


def _chosen(entries: Sequence[Part], capability: Capability) -> Part:
    texts = [entry for entry in entries if entry.data is not None]
    if not texts:
        held = ", ".join(sorted({entry.name for entry in entries}))
        raise DriverError(
            NO_BINARY,
            f"the program holds machine code for {held} and no PTX: build it with nvcc "
            f"-gencode arch=compute_{capability[0]}{capability[1]},code=compute_{capability[0]}{capability[1]}",
        )
    fitting = [entry for entry in texts if entry.fits(capability)]
    if not fitting:
        held = ", ".join(sorted({entry.name for entry in texts}))
        raise DriverError(
            NO_BINARY, f"the program holds PTX for {held}, the device is {_name(capability)}: pass --target"
        )
    return max(fitting, key=lambda entry: (entry.capability, entry.suffix))


def _name(capability: Capability) -> str:
    return f"sm_{capability[0]}{capability[1]}"


def _text(part: Part) -> str:
    data = part.data or b""
    if part.flags & _LZ4:
        data = lz4_block(data, part.full_size)
    elif part.flags & _ZSTD:
        data = _zstd(data, part.full_size)
    return data.rstrip(b"\0").decode(errors="replace")


def lz4_block(data: bytes, size: int) -> bytes:
    """Decompress an LZ4 block of `size` bytes. Source: LZ4 Block Format Description (lz4/doc). Raises DriverError."""
    result = bytearray()
    at = 0

    def length(start: int) -> int:
        nonlocal at
        value = start
        while start == 15:
            value += data[at]
            at += 1
            if data[at - 1] != 255:
                break
        return value

    try:
        while len(result) < size:
            token = data[at]
            at += 1
            literals = length(token >> 4)
            result += data[at : at + literals]
            at += literals
            if len(result) >= size:
                break
            offset = data[at] | data[at + 1] << 8
            at += 2
            count = length(token & 15) + 4
            first = len(result) - offset
            if offset == 0 or first < 0:
                raise DriverError(INVALID_IMAGE, "the compressed PTX is damaged")
            while count:  # the copied bytes may overlap those that they make
                piece = result[first : first + count]
                result += piece
                first += len(piece)
                count -= len(piece)
    except IndexError:
        raise DriverError(INVALID_IMAGE, "the compressed PTX is cut off") from None
    return bytes(result)


def _zstd(data: bytes, size: int) -> bytes:
    """Decompress a zstd frame of `size` bytes with the system's libzstd. Raises DriverError."""
    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise DriverError(
            INVALID_IMAGE,
            "the program's PTX is compressed with zstd, and this system has no libzstd.so.1: install it (Debian: apt "
            "install libzstd1), or build the program with nvcc --no-compress",
        ) from None
    decompress = library.ZSTD_decompress
    decompress.restype = ctypes.c_size_t
    decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    result = ctypes.create_string_buffer(size)
    if decompress(result, size, data, len(data)) != size:
        raise DriverError(INVALID_IMAGE, "the compressed PTX is damaged")
    return result.raw
