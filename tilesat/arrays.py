"""Arrays of any library, described for the compiler: type, sizes, strides, address, and memory that NumPy can access.

NumPy and PyTorch arrays are used directly, all others through common protocols: `__cuda_array_interface__` (version 3)
on a GPU, `__dlpack__` on both (`tilesat.dlpack`), `__array_interface__` (version 3) on the host. None of these
libraries is imported here.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TypeGuard, cast

import ml_dtypes
import numpy as np

from ir.core import TileError
from ir.narrowing import is_list, is_row
from tilesat import dlpack, half_bytes
from tilesat.foreign import CudaInterface, DlpackArray, Tensor, is_torch
from tilesat.shown import shown
from tilesat.spec import NUMPY_NAMES, Array, is_numpy, numpy_type

SIGNLESS = {"u8": "i8", "u16": "i16", "u32": "i32", "u64": "i64"}
UNSIGNED = {f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)}
NAMES: dict[str, str] = {**{name: kind for kind, name in NUMPY_NAMES.items() if kind != "tf32"}, **UNSIGNED}
"""Element types of signatures by NumPy's names; Tile IR's integers are signless, cuTile's are signed or unsigned."""
PROTOCOLS = CUDA, DLPACK, HOST = "__cuda_array_interface__", "__dlpack__", "__array_interface__"
DEVICE = "__dlpack_device__"
PAIRS = "float4_e2m1fn_x2"
"""PyTorch's type of two f4 that share a byte; sizes and strides of its tensors count bytes."""
NONE = ctypes.c_char()
"""Memory for arrays without elements."""


@dataclass(frozen=True)
class View:
    """An array: element type as signatures name it, sizes, strides in elements, address of its first element.

    `memory`: the elements from the first to the last in one dimension, if the host can access them, otherwise None;
    `owner` keeps them alive. `changeable`: may a kernel write it? `name`: the parameter, for messages; `card`: the
    number of its GPU, None if only the driver knows it.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    memory: Array | None = None
    changeable: bool = True
    owner: object = field(default=None, repr=False)
    name: str = ""
    card: int | None = None

    @property
    def on_host(self) -> bool:
        """Can NumPy access it?"""
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


def of_bytes(view: View) -> View:
    """An array of bytes as one of twice as many numbers along the dimension whose stride is 1."""
    (dense,) = [axis for axis, stride in enumerate(view.strides) if stride == 1][-1:] or (len(view.shape) - 1,)
    shape = (*view.shape[:dense], 2 * view.shape[dense], *view.shape[dense + 1 :])
    strides = tuple(stride if axis == dense else 2 * stride for axis, stride in enumerate(view.strides))
    return replace(view, dtype=half_bytes.NAME, shape=shape, strides=strides)


def refuse_odd(view: View) -> None:
    """Raise TileError where a row of an array of numbers would end inside a byte."""
    dense = max((axis for axis, stride in enumerate(view.strides) if stride == 1), default=-1)
    odd = any(stride % 2 for axis, stride in enumerate(view.strides) if axis != dense and view.shape[axis] > 1)
    if dense < 0 or view.shape[dense] % 2 or odd:
        message = f"parameter '{view.name}': two {half_bytes.NAME} share a byte: expected rows with an even number of"
        raise TileError(
            f"{message} contiguous elements, got sizes {view.shape} and strides {view.strides}", hint="pad the rows"
        )


def is_array(given: object) -> bool:
    """Is this an array of some library, or a view of one? A NumPy scalar is not."""
    if isinstance(given, np.generic | View):
        return isinstance(given, View)
    return isinstance(given, np.ndarray) or is_torch(given) or any(_has(given, name) for name in PROTOCOLS)


def _has(given: object, protocol: str) -> bool:
    return hasattr(type(given), protocol)


def _exported(given: object, name: str = DLPACK) -> TypeGuard[DlpackArray]:
    """Does this have a method of DLPack?"""
    return _has(given, name)


def on_card(given: object) -> bool:
    """Is this an array in GPU memory?"""
    if isinstance(given, View):
        return not given.on_host
    if is_torch(given):
        return bool(given.is_cuda)
    if isinstance(given, np.ndarray):
        return False
    if _exported(given, DEVICE):  # JAX's arrays have all attributes, wherever they are
        return dlpack.device_of(given)[0] in dlpack.ON_CARD
    return _has(given, CUDA)


def on_stream(given: object, stream: int) -> object:
    """An argument with those of its arrays that only DLPack describes on a card, exported for a stream: it waits for
    what still writes them, as their makers see to.
    """
    if is_row(given) and type(given) in (tuple, list):
        made = [on_stream(each, stream) for each in given]
        return made if is_list(given) else tuple(made)
    if not isinstance(given, View) and not is_torch(given) and _has(given, DLPACK) and on_card(given):
        return given if _interface(given) else view_of(given, "", stream)
    return given


def is_fake(given: object) -> bool:
    """Is this a tensor of PyTorch that has no elements to read, as torch.compile traces with: fake, or on "meta"?"""
    if not is_torch(given):
        return False
    fake = any(kind.__name__ == "FakeTensor" and kind.__module__.startswith("torch.") for kind in type(given).__mro__)
    return fake or given.device.type == "meta"


def view_of(given: object, name: str, stream: int = 0) -> View:
    """The view of an array, without a copy; `name` is the parameter that messages speak of, `stream` the one of a card
    that reads it.

    Raises TileError for element types that Tile IR lacks, negative strides, and inaccessible memory.
    """
    if isinstance(given, View):
        return replace(given, name=name)
    if is_numpy(given):
        return _numpy(given, name)
    if is_torch(given):
        return _torch(given, name)
    interface = _interface(given)
    if interface:
        return _on_card(interface, name, given)
    if not _exported(given):
        return _numpy(np.asarray(given), name)
    kind, ordinal = dlpack.device_of(given)
    if kind not in (*dlpack.ON_HOST, *dlpack.ON_CARD):
        got = f"one on a device of {dlpack.DEVICES.get(kind, f'type {kind} of DLPack')}"
        raise TileError(f"parameter '{name}': expected an array on the host or a CUDA card, got {got}")
    try:
        said = dlpack.read(given, (stream or dlpack.LEGACY_STREAM) if kind in dlpack.ON_CARD else None)
    except (BufferError, RuntimeError, TypeError) as error:
        raise TileError(f"parameter '{name}': cannot export the array through DLPack: {error}") from error
    return _described(said, kind in dlpack.ON_HOST, ordinal, name)


def _described(said: dlpack.Described, on_host: bool, ordinal: int, name: str) -> View:
    """An array that DLPack describes."""
    if said.dtype is None:
        raise TileError(f"parameter '{name}': Tile IR has no element type {said.kind} of DLPack")
    if any(stride < 0 and extent > 1 for stride, extent in zip(said.strides, said.shape, strict=True)):
        message = f"parameter '{name}': strides of {said.strides} elements are not positive"
        raise TileError(message, hint="pass a contiguous copy")
    card = None if on_host else ordinal
    strides = tuple(max(0, stride) for stride in said.strides)
    plain = View(said.dtype, said.shape, strides, said.address, None, said.changeable, said.capsule, name, card)
    if not on_host:
        return plain
    kind = memory_type(said.dtype)
    address = said.address if plain.span else ctypes.addressof(NONE)
    held = (ctypes.c_char * (plain.span * kind.itemsize)).from_address(address)
    setattr(held, "capsule", said.capsule)  # noqa: B010  which lives as long as the memory is looked at
    memory = np.frombuffer(cast("bytes", held), np.uint8).view(kind)
    memory.flags.writeable = said.changeable
    return replace(plain, memory=memory)


def memory_type(dtype: str) -> np.dtype[np.generic]:
    """NumPy's type for an element type of signatures; Tile IR's integers have no sign."""
    return numpy_type(SIGNLESS.get(dtype, dtype))


def _interface(array: object) -> CudaInterface | None:
    """What an array says by `__cuda_array_interface__`, where Tile IR has its type; JAX's raise AttributeError on the
    host, and have no name for bfloat16.
    """
    said: CudaInterface | None = getattr(array, CUDA, None)
    if said is None or (_has(array, DLPACK) and np.dtype(said["typestr"]).name not in NAMES):
        return None
    return said


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
    return View(dtype, plain.shape, strides, plain.address, flat, writeable, None, name)


def _refuse_strides(strides: Sequence[int], shape: Sequence[int], size: int, name: str) -> None:
    """Raise TileError for byte strides that a kernel cannot use."""
    if any(stride % size or (stride < 0 and extent > 1) for stride, extent in zip(strides, shape, strict=True)):
        message = f"parameter '{name}': strides of {tuple(strides)} bytes are not positive multiples of {size}"
        raise TileError(message, hint="pass a contiguous copy")


def _torch(tensor: Tensor, name: str) -> View:
    """A PyTorch tensor. NumPy has neither its bfloat16 nor its 8-bit floats: their bytes are viewed as integers."""
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind == PAIRS:
        return of_bytes(_torch(tensor.detach().view(import_module("torch").uint8), name))
    wanted = {
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
        "bfloat16": ml_dtypes.bfloat16,
    }.get(kind)
    if kind not in NAMES:
        raise TileError(f"parameter '{name}': Tile IR has no element type {tensor.dtype}")
    if tensor.is_cuda:
        shape, strides, card = tuple(tensor.shape), tuple(tensor.stride()), tensor.get_device()
        return View(NAMES[kind], shape, strides, tensor.data_ptr(), None, True, tensor, name, card)
    if str(tensor.layout) != "torch.strided" or tensor.device.type != "cpu":
        got = f"a tensor of layout {tensor.layout} on '{tensor.device}'"
        raise TileError(f"parameter '{name}': expected a strided tensor on cpu or cuda, got {got}")
    plain = tensor.detach()
    if wanted is None:
        return _numpy(plain.numpy(), name)
    torch = import_module("torch")  # there, since a tensor is
    bits = torch.int16 if tensor.element_size() == 2 else torch.int8
    return _numpy(plain.view(bits).numpy().view(wanted), name)


def _on_card(interface: CudaInterface, name: str, owner: object) -> View:
    """An array in GPU memory."""
    kind = np.dtype(interface["typestr"])
    if kind.name not in NAMES:
        raise TileError(f"parameter '{name}': Tile IR has no element type {interface['typestr']}")
    shape: tuple[int, ...] = tuple(interface["shape"])
    address, read_only = interface["data"]
    strides = interface.get("strides") or _contiguous(shape, kind.itemsize)
    _refuse_strides(strides, shape, kind.itemsize, name)
    steps = tuple(stride // kind.itemsize for stride in strides)
    return View(NAMES[kind.name], shape, steps, int(address or 0), None, not read_only, owner, name)


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
