"""What is used of other libraries' objects, none of which is imported here: arrays, their protocols, modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, Protocol, TypedDict, TypeGuard

from tilesat.spec import Array


class CudaInterface(TypedDict):
    """`__cuda_array_interface__`, version 3: strides and sizes as NumPy's, address and whether it is read-only."""

    typestr: str
    shape: Sequence[int]
    data: tuple[int | None, bool]
    strides: NotRequired[Sequence[int] | None]
    stream: NotRequired[int | None]


class DlpackArray(Protocol):
    """An array that DLPack describes (the Python specification of version 1.1)."""

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class TorchDevice(Protocol):
    """A device of PyTorch."""

    @property
    def type(self) -> str:
        """Such as cpu, cuda or meta."""
        ...


class Tensor(Protocol):
    """A tensor of PyTorch."""

    @property
    def dtype(self) -> object:
        """Type of its elements."""
        ...

    @property
    def shape(self) -> Sequence[int]:
        """Sizes."""
        ...

    @property
    def device(self) -> TorchDevice:
        """Where it lies."""
        ...

    @property
    def layout(self) -> object:
        """Such as torch.strided."""
        ...

    @property
    def is_cuda(self) -> bool:
        """Does it lie on a card?"""
        ...

    def get_device(self) -> int:
        """The number of its card."""
        ...

    def data_ptr(self) -> int:
        """Address of its first element."""
        ...

    def stride(self) -> Sequence[int]:
        """Strides in elements."""
        ...

    def element_size(self) -> int:
        """Bytes of an element."""
        ...

    def detach(self) -> Tensor:
        """The same memory without a gradient."""
        ...

    def view(self, dtype: object, /) -> Tensor:
        """The same memory as another type."""
        ...

    def numpy(self) -> Array:
        """The same memory as an array of NumPy."""
        ...


def is_torch(given: object) -> TypeGuard[Tensor]:
    """Is this a tensor of PyTorch, or of a subclass?"""
    return any(kind.__module__ == "torch" and kind.__name__ == "Tensor" for kind in type(given).__mro__)
