"""PTX fundamental types: their width, their kind and the NumPy type that holds them."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PtxType:
    """A type modifier of an instruction or a declaration.

    bits: width in memory (pred: 8, as the simulator stores it); kind: "bits", "unsigned", "signed", "float" (NumPy
    has the type), "packed" (floats that NumPy lacks, held as bits), "element" (narrower than a byte) or "pred".
    """

    name: str
    bits: int
    kind: str
    dtype: Any

    @property
    def bytes(self) -> int:
        """Width in bytes."""
        return self.bits // 8

    @property
    def is_integer(self) -> bool:
        """Whether integer arithmetic applies (untyped bits count as unsigned)."""
        return self.kind in ("bits", "unsigned", "signed")

    @property
    def is_float(self) -> bool:
        """Whether floating-point arithmetic applies."""
        return self.kind in ("float", "packed")


_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_SIGNED = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def _all_types() -> dict[str, PtxType]:
    types: dict[str, PtxType] = {}
    for bits in (8, 16, 32, 64):
        types[f"b{bits}"] = PtxType(f"b{bits}", bits, "bits", _UNSIGNED[bits])
        types[f"u{bits}"] = PtxType(f"u{bits}", bits, "unsigned", _UNSIGNED[bits])
        types[f"s{bits}"] = PtxType(f"s{bits}", bits, "signed", _SIGNED[bits])
    types["b128"] = PtxType("b128", 128, "bits", None)
    types["pred"] = PtxType("pred", 8, "pred", np.bool_)
    types["f16"] = PtxType("f16", 16, "float", np.float16)
    types["f32"] = PtxType("f32", 32, "float", np.float32)
    types["f64"] = PtxType("f64", 64, "float", np.float64)
    # PTX ISA, "Packed floating point data types" and "Alternate floating point data formats"
    for name, bits in (
        ("f16x2", 32), ("bf16", 16), ("bf16x2", 32), ("tf32", 32), ("f32x2", 64), ("e4m3", 8), ("e5m2", 8),
        ("e4m3x2", 16), ("e5m2x2", 16), ("e2m3x2", 16), ("e3m2x2", 16), ("e2m1x2", 8), ("ue8m0x2", 16),
        ("e4m3x4", 32), ("e5m2x4", 32), ("e2m3x4", 32), ("e3m2x4", 32), ("e2m1x4", 16),
    ):  # fmt: skip
        types[name] = PtxType(name, bits, "packed", _UNSIGNED[bits])
    for name, bits in (("s4", 4), ("u4", 4), ("b1", 1)):  # elements of mma fragments, never of registers
        types[name] = PtxType(name, bits, "element", None)
    return types


TYPES = _all_types()


def unsigned(bits: int) -> type[np.unsignedinteger]:
    """The NumPy unsigned type of a width in bits."""
    return _UNSIGNED[bits]


def signed(bits: int) -> type[np.signedinteger]:
    """The NumPy signed type of a width in bits."""
    return _SIGNED[bits]
