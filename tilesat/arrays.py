"""Arrays of any library as the compiler sees them: type, sizes, strides, address, and memory that NumPy can reach.

NumPy and PyTorch arrays are taken as they are, all others by the protocols that they share: `__cuda_array_interface__`
(version 3) on a card, `__dlpack__` (DLPack, Python specification) and `__array_interface__` (version 3) on the host.
None of these libraries is imported here: an object comes with its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import ml_dtypes
import numpy as np

from ir.core import TileError
from tilesat.shown import shown
from tilesat.spec import NUMPY_NAMES, Array

UNSIGNED = {f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)}
NAMES: dict[str, str] = {**{name: kind for kind, name in NUMPY_NAMES.items() if kind != "tf32"}, **UNSIGNED}
"""Element types of signatures by NumPy's names; Tile IR's integers have no sign, cuTile's have."""
PROTOCOLS = CUDA, DLPACK, HOST = "__cuda_array_interface__", "__dlpack__", "__array_interface__"
ON_HOST = 1
"""kDLCPU of DLPack's device types."""


@dataclass(frozen=True)
class View:
    """An array: element type as signatures name it, sizes, strides in elements, address of its first element.

    `memory`: the elements from the first to the last in one dimension, where the host can reach them, else None, and
    `owner` keeps them alive. `changeable`: may a kernel write it?
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    memory: Array | None = None
    changeable: bool = True
    owner: Any = field(default=None, repr=False)

    @property
    def on_host(self) -> bool:
        """Can NumPy reach it?"""
        return self.memory is not None

    @property
    def span(self) -> int:
        """Elements from the first to the last, those between rows too."""
        if 0 in self.shape:
            return 0
        return 1 + sum((size - 1) * stride for size, stride in zip(self.shape, self.strides, strict=True))

    def __str__(self) -> str:
        """As messages name it."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def is_array(given: object) -> bool:
    """Is this an array of some library, or a view of one? A NumPy scalar is none."""
    if isinstance(given, np.generic | View):
        return isinstance(given, View)
    return isinstance(given, np.ndarray) or _is_torch(given) or any(_has(given, name) for name in PROTOCOLS)


def _has(given: object, protocol: str) -> bool:
    return hasattr(cast(Any, type(given)), protocol)


def on_card(given: Any) -> bool:
    """Is this an array in the memory of a card?"""
    if _is_torch(given):
        return bool(given.is_cuda)
    return not isinstance(given, np.ndarray) and _has(given, CUDA)


def is_fake(given: Any) -> bool:
    """Is this a tensor of PyTorch that has no elements to read, as torch.compile traces with: fake, or on "meta"?"""
    if not _is_torch(given):
        return False
    fake = any(kind.__name__ == "FakeTensor" and kind.__module__.startswith("torch.") for kind in type(given).__mro__)
    return fake or given.device.type == "meta"


def view_of(given: object, name: str) -> View:
    """The view of an array, without a copy; `name` is the parameter that messages speak of.

    Raises TileError for element types that Tile IR has not, negative strides, and memory that nobody can reach.
    """
    if isinstance(given, View):
        return given
    if isinstance(given, np.ndarray):
        return _numpy(cast(Array, given), name)
    array = cast(Any, given)
    if _is_torch(array):
        return _torch(array, name)
    if _has(array, CUDA):
        return _on_card(array.__cuda_array_interface__, name, array)
    if _has(array, DLPACK):
        kind, _ = array.__dlpack_device__()
        if int(kind) != ON_HOST:
            raise TileError(f"parameter '{name}': the array is on a device of DLPack's type {int(kind)}")
        try:
            return _numpy(np.from_dlpack(array), name)
        except (BufferError, RuntimeError, TypeError) as error:  # types that NumPy has not: by the next protocol
            if not _has(array, "__array__"):
                raise TileError(f"parameter '{name}': NumPy cannot take the array: {error}") from error
    return _numpy(np.asarray(array), name)


def _numpy(array: Array, name: str) -> View:
    """A NumPy array, or one that shares another's memory."""
    if array.dtype.name not in NAMES or not array.dtype.isnative:
        raise TileError(f"parameter '{name}': Tile IR has no element type {array.dtype.str}")
    size = array.dtype.itemsize
    _refuse_strides(array.strides, array.shape, size, name)
    strides = tuple(max(0, stride) // size for stride in array.strides)
    dtype, writeable = NAMES[array.dtype.name], array.flags.writeable
    plain = View(dtype, array.shape, strides, array.ctypes.data)
    bits = array.view(f"u{size}")  # NumPy cannot stride over all types of ml_dtypes
    flat = np.lib.stride_tricks.as_strided(bits, (plain.span,), (size,), writeable=writeable).view(array.dtype)
    return View(dtype, plain.shape, strides, plain.address, flat, writeable)


def _refuse_strides(strides: Sequence[int], shape: Sequence[int], size: int, name: str) -> None:
    """Raise TileError for strides in bytes that a kernel cannot go by."""
    if any(stride % size or (stride < 0 and extent > 1) for stride, extent in zip(strides, shape, strict=True)):
        message = f"parameter '{name}': strides of {tuple(strides)} bytes are not positive multiples of {size}"
        raise TileError(message, hint="pass a contiguous copy")


def _is_torch(given: object) -> bool:
    return any(kind.__module__ == "torch" and kind.__name__ == "Tensor" for kind in type(given).__mro__)


def _torch(tensor: Any, name: str) -> View:
    """A PyTorch tensor. NumPy has neither its bfloat16 nor its 8-bit floats: their bytes are viewed as integers."""
    kind = str(tensor.dtype).removeprefix("torch.")
    wanted = {"float8_e4m3fn": ml_dtypes.float8_e4m3fn, "float8_e5m2": ml_dtypes.float8_e5m2,
              "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu, "bfloat16": ml_dtypes.bfloat16}.get(kind)  # fmt: skip
    if kind not in NAMES:
        raise TileError(f"parameter '{name}': Tile IR has no element type {tensor.dtype}")
    if tensor.is_cuda:
        return View(NAMES[kind], tuple(tensor.shape), tuple(tensor.stride()), tensor.data_ptr(), owner=tensor)
    if str(tensor.layout) != "torch.strided" or tensor.device.type != "cpu":
        got = f"a tensor of layout {tensor.layout} on '{tensor.device}'"
        raise TileError(f"parameter '{name}': expected a strided tensor on cpu or cuda, got {got}")
    plain = tensor.detach()
    if wanted is None:
        return _numpy(plain.numpy(), name)
    import torch  # pyright: ignore[reportMissingImports]  # there, since a tensor is

    bits: Any = cast(Any, torch).int16 if tensor.element_size() == 2 else cast(Any, torch).int8
    return _numpy(plain.view(bits).numpy().view(wanted), name)


def _on_card(interface: dict[str, Any], name: str, owner: object) -> View:
    """An array in the memory of a card."""
    kind = np.dtype(interface["typestr"])
    if kind.name not in NAMES:
        raise TileError(f"parameter '{name}': Tile IR has no element type {interface['typestr']}")
    shape: tuple[int, ...] = tuple(interface["shape"])
    address, read_only = interface["data"]
    strides = interface.get("strides") or _contiguous(shape, kind.itemsize)
    _refuse_strides(strides, shape, kind.itemsize, name)
    steps = tuple(stride // kind.itemsize for stride in strides)
    return View(NAMES[kind.name], shape, steps, int(address or 0), None, not read_only, owner)


def _contiguous(shape: Sequence[int], size: int) -> tuple[int, ...]:
    """Strides of rows that lie one after the other."""
    strides: list[int] = []
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= max(1, extent)
    return tuple(strides)


def described(given: object) -> str:
    """An argument as messages name it."""
    return str(view_of(given, "")) if is_array(given) else shown(given)
