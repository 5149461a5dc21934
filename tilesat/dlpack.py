"""Reads DLPack descriptions of arrays: device, type, sizes, strides and address.

The capsule from `__dlpack__` is read directly and kept: the exporter frees the array when the capsule is deleted. NumPy
reads such capsules only for the host and for its own element types. Source: DLPack 1.1, dlpack.h and the Python
specification. Before version 1 there is no flag for writable arrays: NumPy treats them as read-only, and so does this
module.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

if TYPE_CHECKING:
    from tilesat.foreign import DlpackArray

StructureT = TypeVar("StructureT", bound=Structure)

VERSION = 1, 0
"""The newest layout that is read; makers of later minor versions keep it."""
HOST, CUDA, PINNED, MANAGED = 1, 2, 3, 13
"""kDLCPU, kDLCUDA, kDLCUDAHost and kDLCUDAManaged."""
ON_HOST, ON_CARD = (HOST, PINNED), (CUDA, MANAGED)
DEVICES = {4: "OpenCL", 7: "Vulkan", 8: "Metal", 9: "VPI", 10: "ROCm", 14: "oneAPI", 15: "WebGPU", 16: "Hexagon"}
READ_ONLY, COPIED = 1, 2
"""Flags of version 1: the kernel may not write it; it is a copy, in which nobody would see what is written."""
LEGACY_STREAM = 1
"""CUDA's default stream, as `__dlpack__(stream=...)` names it."""
CODES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (1, 8): "u8", (1, 16): "u16", (1, 32): "u32",
         (1, 64): "u64", (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16", (6, 8): "i1",
         (10, 8): "f8E4M3FN", (12, 8): "f8E5M2", (14, 8): "f8E8M0FNU"}  # fmt: skip
"""Element types by DLDataTypeCode and bits."""


class Tensor(Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device", c_int32),
        ("ordinal", c_int32),
        ("rank", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("offset", c_uint64),
    ]


class Managed(Structure):
    """DLManagedTensor, of before version 1."""

    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class Versioned(Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", Tensor),
    ]


class _Asked(TypedDict, total=False):
    stream: int


@dataclass(frozen=True)
class Described:
    """An array: element type as signatures name it (None: Tile IR has none), strides in elements."""

    dtype: str | None
    kind: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    changeable: bool
    capsule: object


def device_of(array: DlpackArray) -> tuple[int, int]:
    """The type of an array's device, and its number."""
    kind, ordinal = array.__dlpack_device__()
    return int(kind), int(ordinal)


def read(array: DlpackArray, stream: int | None = None) -> Described:
    """What an array says. `stream`: on CUDA, the one that uses it next, which its maker lets wait for what writes it.

    Raises what `__dlpack__` does (BufferError: it cannot be given away), and BufferError for a layout of a later
    version.
    """
    asked: _Asked = {} if stream is None else {"stream": stream}
    try:
        capsule = array.__dlpack__(max_version=VERSION, **asked)
    except TypeError:  # a maker of before version 1
        capsule = array.__dlpack__(**asked)
    name = _name(capsule)
    if name == b"dltensor":
        return _described(_contents(capsule, name, Managed).tensor, False, capsule)
    if name != b"dltensor_versioned":
        raise BufferError(f"__dlpack__ gives a capsule named {name!r}")
    made = _contents(capsule, name, Versioned)
    if made.major != VERSION[0]:
        raise BufferError(f"DLPack {made.major}.{made.minor} is not known here")
    return _described(made.tensor, not made.flags & (READ_ONLY | COPIED), capsule)


def _described(tensor: Tensor, changeable: bool, capsule: object) -> Described:
    shape: tuple[int, ...] = tuple(tensor.shape[: tensor.rank])
    strides: tuple[int, ...] = tuple(tensor.strides[: tensor.rank]) if tensor.strides else _rows(shape)
    dtype = CODES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    kind = f"(code {tensor.code}, {tensor.bits} bits, {tensor.lanes} lanes)"
    return Described(dtype, kind, shape, strides, (tensor.data or 0) + tensor.offset, changeable, capsule)


def _rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of rows that lie one after the other."""
    strides, size = list[int](), 1
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= max(1, extent)
    return tuple(strides)


def _name(capsule: object) -> bytes:
    """The name of a capsule. Raises BufferError for another object."""
    if type(capsule).__name__ != "PyCapsule":
        raise BufferError(f"__dlpack__ gives a {type(capsule).__name__}, not a capsule")
    ask = _function("PyCapsule_GetName", c_char_p, ctypes.py_object)
    return ask(capsule)


def _contents(capsule: object, name: bytes, kind: type[StructureT]) -> StructureT:
    ask = _function("PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p)
    return kind.from_address(ask(capsule, name))


def _function(
    name: str, result: type[c_char_p | c_void_p], *arguments: type[ctypes.py_object[object] | c_char_p]
) -> Callable[..., Any]:
    """A function of Python's C interface, with types of its own: those of `ctypes.pythonapi` are everybody's."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))
