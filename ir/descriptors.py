"""Types that describe memory to the hardware: tensor maps, mbarriers, matrix descriptors; spelled as in upstream's
nvgpu.

In nvvm they become the operands of upstream's nvvm: addresses and i64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import prod

from ir.core import Attribute, Type, spelled
from ir.narrowing import is_mapping, is_row
from ir.records import dataclass
from ir.types import SCALARS, FloatType, IntType, dims_text, read_dims

SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
"""Bytes of a row that a swizzle spans, by its name in the manifest."""
PROMOTIONS, FILLS, INTERLEAVES = ("none", "64B", "128B", "256B"), ("zero", "nan"), ("none", "16B", "32B")
SHARED_SPACE = 3
BARRIER_BYTES = 8  # an mbarrier; PTX ISA, mbarrier object

_FIELDS = (("swizzle", tuple(SPANS)), ("l2_promotion", PROMOTIONS), ("oob_fill", FILLS), ("interleave", INTERLEAVES))
_PART = re.compile(r"(\w+)\s*=\s*((?:[^,<>]|<[^<>]*>)+)")


def _parts(body: str, names: tuple[str, ...]) -> dict[str, str]:
    """`name = value` parts of a type. Raises ValueError for missing or unknown parts."""
    found = {name: value.strip() for name, value in _PART.findall(body)}
    if set(found) != set(names):
        raise ValueError(f"it has {', '.join(names)}")
    return found


def _enum(value: str, prefix: str, legal: tuple[str, ...]) -> str:
    """`swizzle_128b` as the manifest's 128B. Raises ValueError."""
    name = value.removeprefix(f"{prefix}_").replace("b", "B") if value.startswith(f"{prefix}_") else value
    if name not in legal:
        raise ValueError(f"{value} is not one of {', '.join(_spell(each, prefix) for each in legal)}")
    return name


def _spell(name: str, prefix: str) -> str:
    return f"{prefix}_{name.lower()}" if name[:1].isdigit() else name


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile in shared memory in upstream's memref notation: extents, the innermost last, and element."""

    shape: tuple[int, ...]
    element: IntType | FloatType

    def __str__(self) -> str:
        return f"memref<{dims_text(self.shape)}{self.element.mlir()}, {SHARED_SPACE}>"

    @property
    def row_bytes(self) -> int:
        """Bytes of the innermost dimension."""
        return self.shape[-1] * self.element.width // 8

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return prod(self.shape) * self.element.width // 8

    @staticmethod
    def read(text: str, type_of: Callable[[str], Type]) -> Tile:
        """From `memref<128x64xf16, 3>`. Raises ValueError."""
        match = re.fullmatch(rf"memref<([^,<>]*),\s*{SHARED_SPACE}>", text)
        if match is None:
            raise ValueError(f"{text} is not a memref in shared memory, memref<128x64xf16, {SHARED_SPACE}>")
        shape, name = read_dims(match[1])
        element = type_of(name)
        if not isinstance(element, IntType | FloatType) or not shape:
            raise ValueError(f"{text} has no extents or no element type")
        return Tile(shape, element)


@spelled("!nvgpu.tensormap.descriptor")
@dataclass(frozen=True, slots=True)
class TensorMapDescriptor(Type):
    """A tensor map whose boxes are tiles like `box`; the rest as in the launch manifest (cuTensorMapEncodeTiled)."""

    box: Tile
    swizzle: str = "none"
    l2_promotion: str = "none"
    oob_fill: str = "zero"
    interleave: str = "none"

    def __str__(self) -> str:
        return (
            f"!nvgpu.tensormap.descriptor<tensor = {self.box}, swizzle = {_spell(self.swizzle, 'swizzle')}, "
            f"l2promo = {_spell(self.l2_promotion, 'l2promo')}, oob = {self.oob_fill}, "
            f"interleave = {_spell(self.interleave, 'interleave')}>"
        )

    @staticmethod
    def of(record: object) -> TensorMapDescriptor:
        """The type of a manifest's record, whose extents are innermost first. Raises ValueError for other records."""
        said: Mapping[str, object] = record if is_mapping(record) else {}
        for name, legal in (*_FIELDS, ("dtype", tuple(SCALARS))):
            if said.get(name) not in legal:
                raise ValueError(f"must have {name}, one of {', '.join(legal)}")
        given = said.get("box")
        extents = [n for n in given if isinstance(n, int) and type(n) is int] if is_row(given) else []
        if not is_row(given) or not extents or len(extents) != len(given):
            raise ValueError("must have box, the extents of its boxes")
        box = Tile(tuple(reversed(extents)), SCALARS[str(said["dtype"])])
        return TensorMapDescriptor(box, *(str(said[name]) for name, _ in _FIELDS))

    @staticmethod
    def read(body: str, type_of: Callable[[str], Type], _: Callable[[str], Attribute]) -> TensorMapDescriptor:
        """From upstream's form."""
        found = _parts(body, ("tensor", "swizzle", "l2promo", "oob", "interleave"))
        return TensorMapDescriptor(
            Tile.read(found["tensor"], type_of),
            _enum(found["swizzle"], "swizzle", tuple(SPANS)),
            _enum(found["l2promo"], "l2promo", PROMOTIONS),
            _enum(found["oob"], "oob", FILLS),
            _enum(found["interleave"], "interleave", INTERLEAVES),
        )


@spelled("!nvgpu.warpgroup.descriptor")
@dataclass(frozen=True, slots=True)
class MatrixDescriptorType(Type):
    """64 bits that describe an operand of a warpgroup product in shared memory: rows x k, or k x rows if it is
    MN-major.
    """

    tile: Tile

    def __str__(self) -> str:
        return f"!nvgpu.warpgroup.descriptor<tensor = {self.tile}>"

    @staticmethod
    def read(body: str, type_of: Callable[[str], Type], _: Callable[[str], Attribute]) -> MatrixDescriptorType:
        """From upstream's form."""
        return MatrixDescriptorType(Tile.read(_parts(body, ("tensor",))["tensor"], type_of))


@spelled("!nvgpu.mbarrier.group")
@dataclass(frozen=True, slots=True)
class BarrierGroupType(Type):
    """`count` mbarriers in shared memory, 8 bytes each."""

    count: int

    def __str__(self) -> str:
        return f"!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = {self.count}>"

    @staticmethod
    def read(body: str, *_: object) -> BarrierGroupType:
        """From upstream's form."""
        found = _parts(body, ("memorySpace", "num_barriers"))
        if found["memorySpace"] != "#gpu.address_space<workgroup>":
            raise ValueError("mbarriers are in shared memory, #gpu.address_space<workgroup>")
        return BarrierGroupType(int(found["num_barriers"]))


BARRIER_TYPE = BarrierGroupType(1)
"""One mbarrier."""
