"""Launches on a card: a kernel is loaded once in a process, and a launch that is repeated is one call of the driver.

What a launch needs (packed parameters, tensor maps, tables of lists) is prepared at the first one with arguments of the
same addresses, sizes, strides and numbers, and kept; later ones compare these and launch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from threading import get_ident
from typing import TYPE_CHECKING, Protocol, SupportsInt, TypeGuard, cast

from ir.narrowing import is_list, is_row

if TYPE_CHECKING:
    import numpy as np

    from runtime.cuda import Device, DeviceArray
    from runtime.cuda import Kernel as Loaded
    from tilesat.foreign import CudaInterface, Tensor
    from tilesat.grid import Grid

CUDA = "__cuda_array_interface__"
MOST = 1024
"""Prepared launches that are kept; then all are dropped. Each holds some hundred bytes, and tables on the card."""


class Program(Protocol):
    """What a card loads: a compiled kernel."""

    @property
    def ptx(self) -> str:
        """The code."""
        ...

    @property
    def manifest(self) -> Mapping[str, object]:
        """The launch manifest."""
        ...


class Launches:
    """The launches of a kernel, or of all kernels of a `Jit`, by their arguments."""

    def __init__(self) -> None:
        self.prepared: dict[Hashable, Callable[[], None]] = {}
        self._tables: list[tuple[Device, DeviceArray]] = []

    def again(self, key: Hashable) -> bool:
        """Launch what was prepared for these arguments; was anything?"""
        found = None if key is None else self.prepared.get(key)
        if found is not None:
            found()
        return found is not None

    def first(self, key: Hashable, stream: int, kernel: Program, blocks: Grid, values: Sequence[object]) -> None:
        """Prepare a launch, launch it, and keep it under a key that is not None."""
        import numpy as np

        from runtime.cuda import run

        device = device_of(values)
        if any(isinstance(each, np.ndarray) for each in values):
            run(kernel.ptx, kernel.manifest, blocks, values, device)  # copied there and back: nothing to keep
            return
        if len(self.prepared) >= MOST:
            self.clear()
        given = [self._on(device, each) if is_list(each) else each for each in values]
        launch = _current(device, loaded(kernel, device).prepare(blocks, given, stream=stream))
        launch()
        if key is not None:
            self.prepared[key] = launch

    def clear(self) -> None:
        """Forget all, and free the tables."""
        self.prepared.clear()
        for device, table in self._tables:
            device.free(table)
        self._tables.clear()

    def _on(self, device: Device, table: list[object]) -> DeviceArray:
        """A list of arrays as its table on the card: addresses, sizes and strides."""
        import numpy as np

        numbers = [getattr(each, "address", each) for each in table]
        held = device.put(np.array(numbers, np.int64))
        self._tables.append((device, held))
        return held


def at_once(kernel: Program, blocks: Grid, values: Sequence[object]) -> None:
    """Launch on the default stream, keep nothing, and wait for the end. Raises CudaError where the kernel failed."""
    launches, device = Launches(), device_of(values)
    launches.first(None, 0, kernel, blocks, values)
    device.synchronize()
    launches.clear()


def device_of(values: Iterable[object]) -> Device:
    """The device that a kernel runs on with these values: that of its arrays, which are on one; else the first."""
    from runtime.cuda import DeviceArray, shared

    flat = chain.from_iterable(each if is_list(each) else (each,) for each in values)
    return shared(next((each.ordinal for each in flat if isinstance(each, DeviceArray)), 0))


def _current(device: Device, launch: Callable[[], None]) -> Callable[[], None]:
    """A launch that makes the only device's context current in each thread that has not launched on it yet."""
    if device.several:  # it changes to it each time, and back
        return launch

    def launched() -> None:
        if get_ident() not in device.threads:
            device.enter()
        launch()

    return launched


def loaded(kernel: Program, device: Device) -> Loaded:
    """The kernel in the memory of a device, loaded at most once."""
    held: dict[int, Loaded] = kernel.__dict__.setdefault("on_devices", {})  # Kernel is frozen; nothing pickles it
    if id(device) not in held:
        held[id(device)] = device.load(kernel.ptx, kernel.manifest)
    return held[id(device)]


def key_of(grid: object, stream: int, args: Sequence[object], named: Mapping[str, object]) -> Hashable:
    """What decides a launch: address, type, sizes and strides of each array, each number; None where an argument is
    something else, or not on a card.
    """
    parts: list[Hashable] = [str(grid), stream, *named]
    return tuple(parts) if all(_part(each, parts) for each in (*args, *named.values())) else None


def _part(given: object, parts: list[Hashable]) -> bool:
    """Add what decides of an argument; false where that is not known."""
    kind = type(given)
    if kind in (int, float, bool):
        parts.append((kind, repr(given)))
    elif hasattr(kind, "is_cuda"):
        if not _is_torchs(given):
            return False
        parts.append((given.data_ptr(), given.dtype, given.shape, given.stride()))
    elif hasattr(kind, CUDA):
        said: CudaInterface | None = getattr(given, CUDA, None)
        if said is None:  # an array of JAX on the host
            return False
        parts.append((said["data"], said["typestr"], tuple(said["shape"]), said.get("strides")))
    elif is_row(given) and kind in (tuple, list):
        parts.append((kind, len(given)))
        return all(_part(each, parts) for each in given)
    elif _is_number(given):
        parts.append((given.dtype.str, given.tobytes()))
    else:
        return False
    return True


def _is_number(given: object) -> TypeGuard[np.generic]:
    """Is this a number of NumPy, or an array of no dimension? NumPy is not loaded for it."""
    return type(given).__module__ == "numpy" and hasattr(given, "tobytes") and not getattr(given, "shape", ())


def _is_torchs(given: object) -> TypeGuard[Tensor]:
    """Is this a tensor of PyTorch on a card? Of a subclass (a fake tensor) nothing is known."""
    return type(given).__name__ in ("Tensor", "Parameter") and getattr(given, "is_cuda", False) is True


def stream_of(args: Iterable[object]) -> int:
    """The stream that arrays on a card are written on now: PyTorch's current one for its tensors, else the first that
    `__cuda_array_interface__` names, else the default one.
    """
    torch = sys.modules.get("torch")
    tensor = next(filter(_is_torchs, args), None)
    if torch is not None and tensor is not None:
        return int(torch.cuda.current_stream(tensor.device).cuda_stream)
    said: Iterable[CudaInterface] = (each for each in (getattr(one, CUDA, None) for one in args) if each)
    return next((int(each) for each in (one.get("stream") for one in said) if each), 0)


def handle_of(stream: object) -> int:
    """The driver's handle of a stream as programs name one: PyTorch's, CuPy's, cuda-core's, a number, or none."""
    for name in ("cuda_stream", "ptr", "handle"):
        stream = getattr(stream, name, stream)
    return 0 if stream is None else int(cast("SupportsInt", stream))
