"""Tensor maps: the description of a tensor in global memory for TMA instructions, and the 128 bytes that hold it.

The real 128 bytes are opaque. Here they hold every field at a fixed offset, so a map that a kernel builds in shared
memory, copies and edits with tensormap.replace needs no registry. Codes of fields are those of tensormap.replace, not
those of the driver. Sources: cuda.h of CUDA 13.0 at cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; PTX ISA,
"tensormap.replace".
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ptxsim.errors import LaunchError

MAP_BYTES = 128
MAP_ALIGNMENT = 64
MOST_DIMENSIONS = 5


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type of tensor maps: bits in global memory, bits in shared memory, and its tensormap.replace code."""

    name: str
    code: int
    bits: int
    shared_bits: int
    is_float: bool


# PTX ISA, "tensormap.replace", values of .elemtype; the driver's enumeration differs from 9 on
_ELEMENTS = [
    ElementType("u8", 0, 8, 8, False),
    ElementType("u16", 1, 16, 16, False),
    ElementType("u32", 2, 32, 32, False),
    ElementType("s32", 3, 32, 32, False),
    ElementType("u64", 4, 64, 64, False),
    ElementType("s64", 5, 64, 64, False),
    ElementType("f16", 6, 16, 16, True),
    ElementType("f32", 7, 32, 32, True),
    ElementType("f32_ftz", 8, 32, 32, True),
    ElementType("f64", 9, 64, 64, True),
    ElementType("bf16", 10, 16, 16, True),
    ElementType("tf32", 11, 32, 32, True),
    ElementType("tf32_ftz", 12, 32, 32, True),
    ElementType("b4x16", 13, 4, 4, False),
    ElementType("b4x16_p64", 14, 4, 8, False),
    ElementType("b6x16_p32", 15, 6, 8, False),
]
ELEMENT_BY_CODE = {element.code: element for element in _ELEMENTS}
_ELEMENT_BY_NAME = {element.name: element for element in _ELEMENTS}
# Other tools' names of the same elements: NumPy, the driver's enumeration, and formats that TMA moves as bytes.
_ALIASES = {
    "uint8": "u8", "int8": "u8", "s8": "u8", "i8": "u8", "b8": "u8", "e4m3": "u8", "e5m2": "u8", "f8e4m3fn": "u8",
    "f8e5m2": "u8", "float8_e4m3fn": "u8", "float8_e5m2": "u8", "ue8m0": "u8", "f8e8m0fnu": "u8",
    "float8_e8m0fnu": "u8", "bool": "u8", "i1": "u8",
    "uint16": "u16", "int16": "u16", "s16": "u16", "i16": "u16", "b16": "u16",
    "uint32": "u32", "b32": "u32", "int32": "s32", "i32": "s32",
    "uint64": "u64", "b64": "u64", "int64": "s64", "i64": "s64",
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "16u4_align8b": "b4x16", "16u4_align16b": "b4x16_p64", "16u6_align16b": "b6x16_p32",
}  # fmt: skip
INTERLEAVES = ("none", "16B", "32B")
# Swizzle name to (swizzle_mode, swizzle_atomicity, bytes of the span). Source: PTX ISA, "tensormap.replace".
SWIZZLES = {
    "none": (0, 0, 0),
    "32B": (1, 0, 32),
    "64B": (2, 0, 64),
    "128B": (3, 0, 128),
    "128B_ATOM_32B": (3, 1, 128),
    "128B_ATOM_32B_FLIP_8B": (3, 2, 128),
    "128B_ATOM_64B": (3, 3, 128),
}
_SWIZZLE_BY_CODE = {(mode, atom): name for name, (mode, atom, _) in SWIZZLES.items()}
FILLS = ("zero", "nan")
_PROMOTIONS = ("none", "64B", "128B", "256B")
MODES = ("tile", "im2col")
# base, dimensions, strides, box, element strides, (rank-1, element, interleave, swizzle, fill, atomicity, mode),
# lower corner, upper corner, channels, pixels
_LAYOUT = struct.Struct("<Q5Q4Q5H5B7B3h3hHH")
# The field that tensormap.replace writes: byte offset, bytes, number of ordinals.
FIELDS = {
    "global_address": (0, 8, 0),
    "global_dim": (8, 8, 5),
    "global_stride": (48, 8, 4),
    "box_dim": (80, 2, 5),
    "element_stride": (90, 1, 5),
    "rank": (95, 1, 0),
    "elemtype": (96, 1, 0),
    "interleave_layout": (97, 1, 0),
    "swizzle_mode": (98, 1, 0),
    "fill_mode": (99, 1, 0),
    "swizzle_atomicity": (100, 1, 0),
}


def _element_name(dtype: npt.DTypeLike) -> str:
    name = dtype.lower() if isinstance(dtype, str) else np.dtype(dtype).name
    name = _ALIASES.get(name, name)
    if name not in _ELEMENT_BY_NAME:
        raise LaunchError(f"tensor map: dtype {dtype!r} is not one of {', '.join(_ELEMENT_BY_NAME)}")
    return name


@dataclass(frozen=True, slots=True)
class Corners:
    """The parameters of an im2col map that replace the box; corners innermost first (W, H, D), in pixels."""

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int


class TensorMap:
    """A launch argument for `.param .align 64 .b8 name[128]`: a tensor in global memory and the box that TMA moves.

    base: address from GlobalMemory.put; dtype: a NumPy dtype or a name such as "bf16" (8-bit floats move as u8);
    global_dim: elements, innermost first; global_strides: bytes, of all dimensions but the innermost; box: elements;
    element_strides: steps inside the box; swizzle: none, 32B, 64B, 128B, 128B_ATOM_32B, 128B_ATOM_32B_FLIP_8B,
    128B_ATOM_64B; interleave: none, 16B, 32B; oob_fill: zero or nan. Raises LaunchError if cuTensorMapEncodeTiled would
    fail. Source of the rules: cuda.h of CUDA 13.0.
    """

    def __init__(
        self,
        base: int,
        dtype: npt.DTypeLike,
        global_dim: Sequence[int],
        global_strides: Sequence[int],
        box: Sequence[int],
        element_strides: Sequence[int] | None = None,
        swizzle: str = "none",
        interleave: str = "none",
        oob_fill: str = "zero",
        l2_promotion: str = "none",
    ) -> None:
        self._fill(base, dtype, global_dim, global_strides, element_strides, swizzle, interleave, oob_fill)
        self.box = tuple(int(extent) for extent in box)
        self.corners: Corners | None = None
        if l2_promotion not in _PROMOTIONS:
            raise LaunchError(f"tensor map: l2_promotion {l2_promotion!r} is not one of {', '.join(_PROMOTIONS)}")
        self._check()

    @classmethod
    def im2col(
        cls,
        base: int,
        dtype: npt.DTypeLike,
        global_dim: Sequence[int],
        global_strides: Sequence[int],
        lower_corner: Sequence[int],
        upper_corner: Sequence[int],
        channels: int,
        pixels: int,
        element_strides: Sequence[int] | None = None,
        swizzle: str = "none",
        interleave: str = "none",
        oob_fill: str = "zero",
    ) -> "TensorMap":
        """A map for im2col loads and stores of a tensor {C, W, [H, [D,]] N}.

        lower_corner, upper_corner: offsets of the bounding box of base pixels, innermost first (W, H, D); channels,
        pixels: of one load. Raises LaunchError if cuTensorMapEncodeIm2col would fail.
        """
        result = cls.__new__(cls)
        result._fill(base, dtype, global_dim, global_strides, element_strides, swizzle, interleave, oob_fill)
        result.box = ()
        result.corners = Corners(
            tuple(int(value) for value in lower_corner), tuple(int(value) for value in upper_corner), channels, pixels
        )
        result._check()
        return result

    def _fill(
        self,
        base: int,
        dtype: npt.DTypeLike,
        global_dim: Sequence[int],
        global_strides: Sequence[int],
        element_strides: Sequence[int] | None,
        swizzle: str,
        interleave: str,
        oob_fill: str,
    ) -> None:
        self.base = int(base)
        self.element = _ELEMENT_BY_NAME[_element_name(dtype)]
        self.global_dim = tuple(int(extent) for extent in global_dim)
        self.global_strides = tuple(int(stride) for stride in global_strides)
        given = (1,) * len(self.global_dim) if element_strides is None else element_strides
        self.element_strides = tuple(int(stride) for stride in given)
        for name, value, known in (
            ("swizzle", swizzle, tuple(SWIZZLES)),
            ("interleave", interleave, INTERLEAVES),
            ("oob_fill", oob_fill, FILLS),
        ):
            if value not in known:
                raise LaunchError(f"tensor map: {name} {value!r} is not one of {', '.join(known)}")
        self.swizzle = swizzle
        self.interleave = interleave
        self.oob_fill = oob_fill

    @property
    def rank(self) -> int:
        """Dimensions of the tensor."""
        return len(self.global_dim)

    @property
    def loaded_box(self) -> tuple[int, ...]:
        """Elements of a tile of this map in shared memory: the box divided by the element strides, rounded up."""
        inner = self.box[:1]
        return (*inner, *(-(-b // s) for b, s in zip(self.box[1:], self.element_strides[1:], strict=True)))

    def _check(self) -> None:
        for problem in self.problems():
            raise LaunchError(f"tensor map: {problem}")

    def problems(self) -> list[str]:
        """Every rule of the encoding function that the fields violate."""
        rank = self.rank
        if not 1 <= rank <= MOST_DIMENSIONS:
            return [f"{rank} dimensions; a tensor map has 1 to {MOST_DIMENSIONS}"]
        sizes = (("global_strides", self.global_strides, rank - 1), ("element_strides", self.element_strides, rank))
        found = [f"{name} has {len(values)} entries, not {want}" for name, values, want in sizes if len(values) != want]
        if self.corners is None and len(self.box) != rank:
            found.append(f"box has {len(self.box)} entries, not {rank}")
        if found:
            return found
        return [*self._global_problems(), *(self._corner_problems() if self.corners else self._box_problems())]

    def _global_problems(self) -> list[str]:
        found: list[str] = []
        wide = self.interleave == "32B" or self.element.name in ("b4x16_p64", "b6x16_p32")
        unit = 32 if wide else 16
        if self.base % unit:
            found.append(f"base {self.base:#x} is not a multiple of {unit}")
        for axis, extent in enumerate(self.global_dim):
            if not 1 <= extent <= 1 << 32:
                found.append(f"global_dim[{axis}] = {extent} is not within 1 to 2^32")
        for axis, stride in enumerate(self.global_strides):
            if stride % unit or not 0 <= stride < 1 << 40:
                found.append(f"global_strides[{axis}] = {stride} bytes is not a multiple of {unit} below 2^40")
        for axis, stride in enumerate(self.element_strides):
            if not 1 <= stride <= 8:
                found.append(f"element_strides[{axis}] = {stride} is not within 1 to 8")
        multiple = {"b4x16": 2, "b4x16_p64": 128, "b6x16_p32": 128}.get(self.element.name, 1)
        if self.global_dim[0] % multiple:
            found.append(f"global_dim[0] = {self.global_dim[0]} of {self.element.name} is not a multiple of {multiple}")
        if self.interleave != "none" and self.rank < 3:
            found.append(f"interleave {self.interleave} needs at least 3 dimensions")
        if self.interleave == "32B" and self.swizzle != "32B":
            found.append("interleave 32B needs swizzle 32B")
        if self.interleave != "none" and self.element.name == "b6x16_p32":
            found.append("dtype b6x16_p32 needs interleave none")
        if self.oob_fill == "nan" and not self.element.is_float:
            found.append(f"oob_fill nan needs a floating-point dtype, not {self.element.name}")
        allowed = {
            "b6x16_p32": ("none", "128B", "128B_ATOM_32B", "128B_ATOM_64B"),
            "b4x16_p64": ("none", "128B", "128B_ATOM_32B"),
        }.get(self.element.name)
        if allowed is not None and self.swizzle not in allowed:
            found.append(f"swizzle {self.swizzle} of {self.element.name} is not one of {', '.join(allowed)}")
        return found

    def _inner_problems(self, name: str, inner: int) -> list[str]:
        """Rules on the elements that a row in shared memory holds."""
        size = inner * self.element.shared_bits
        if self.interleave != "none":
            return []
        if size % (16 * 8):
            return [f"{name} = {inner} of {self.element.name} is {size / 8:g} bytes, not a multiple of 16"]
        span = SWIZZLES[self.swizzle][2]
        if span and size > span * 8:
            return [f"{name} = {inner} of {self.element.name} is {size // 8} bytes, more than swizzle {self.swizzle}"]
        return []

    def _box_problems(self) -> list[str]:
        found = [
            f"box[{axis}] = {extent} is not within 1 to 256"
            for axis, extent in enumerate(self.box)
            if not 1 <= extent <= 256
        ]
        if found:
            return found
        if self.element.name in ("b4x16_p64", "b6x16_p32") and self.box[0] != 128:
            found.append(f"box[0] of {self.element.name} must be 128, not {self.box[0]}")
        return found + self._inner_problems("box[0]", self.box[0])

    def _corner_problems(self) -> list[str]:
        corners = self.corners
        if corners is None:
            return []
        if self.rank < 3:
            return [f"im2col needs 3 to 5 dimensions, not {self.rank}"]
        spatial = self.rank - 2
        limit = {1: 1 << 15, 2: 1 << 7, 3: 1 << 4}[spatial]
        for name, values in (("lower_corner", corners.lower), ("upper_corner", corners.upper)):
            if len(values) != spatial:
                return [f"{name} has {len(values)} entries, not {spatial}"]
            if any(not -limit <= value < limit for value in values):
                return [f"{name} {values} is not within {-limit} to {limit - 1}"]
        found: list[str] = []
        for axis in range(spatial):
            if self.global_dim[1 + axis] + corners.upper[axis] - corners.lower[axis] < 1:
                found.append(f"the bounding box is empty in dimension {1 + axis}")
        if not 1 <= corners.channels <= 256:
            found.append(f"channels {corners.channels} is not within 1 to 256")
        if not 1 <= corners.pixels <= 1024:
            found.append(f"pixels {corners.pixels} is not within 1 to 1024")
        return found or self._inner_problems("channels", corners.channels)

    def encode(self) -> bytes:
        """The 128 bytes of the map."""

        def padded(values: tuple[int, ...], count: int) -> tuple[int, ...]:
            return (*values, *(0,) * (count - len(values)))

        mode, atom, _ = SWIZZLES[self.swizzle]
        corners = self.corners or Corners((), (), 0, 0)
        codes = (
            self.rank - 1,
            self.element.code,
            INTERLEAVES.index(self.interleave),
            mode,
            FILLS.index(self.oob_fill),
            atom,
            int(self.corners is not None),
        )
        return _LAYOUT.pack(
            self.base,
            *padded(self.global_dim, 5),
            *padded(self.global_strides, 4),
            *padded(self.box, 5),
            *padded(self.element_strides, 5),
            *codes,
            *padded(corners.lower, 3),
            *padded(corners.upper, 3),
            corners.channels,
            corners.pixels,
        ).ljust(MAP_BYTES, b"\0")


@lru_cache(maxsize=1024)
def decode_map(data: bytes) -> TensorMap:
    """The map in 128 bytes. Raises LaunchError if they are not a valid map."""
    values = _LAYOUT.unpack(data[: _LAYOUT.size])
    rank, element, interleave, swizzle, fill, atom, mode = values[20:27]
    known = (
        rank < MOST_DIMENSIONS
        and element in ELEMENT_BY_CODE
        and interleave < len(INTERLEAVES)
        and fill < len(FILLS)
        and mode < len(MODES)
    )
    atom = atom if swizzle == SWIZZLES["128B"][0] else 0
    if not known or (swizzle, atom) not in _SWIZZLE_BY_CODE:
        raise LaunchError(
            "the 128 bytes are not a tensor map; pass a TensorMap, or set every field with tensormap.replace"
        )
    count = rank + 1
    common = (values[0], ELEMENT_BY_CODE[element].name, values[1 : 1 + count], values[6 : 6 + rank])
    strides = values[15 : 15 + count]
    layout = (_SWIZZLE_BY_CODE[swizzle, atom], INTERLEAVES[int(interleave)], FILLS[int(fill)])
    if mode == 0:
        return TensorMap(*common, values[10 : 10 + count], strides, *layout)
    spatial = count - 2
    corners = values[27 : 27 + spatial], values[30 : 30 + spatial]
    return TensorMap.im2col(*common, *corners, values[33], values[34], strides, *layout)
