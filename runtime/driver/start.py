"""Runs a Python script in place of `python SCRIPT ARGS`; PyTorch, Triton and numba-cuda use the simulated device.

Started as a file of its own in the script's interpreter, so it imports nothing of ours. PyTorch is that of a machine
without a GPU: tensors asked for on "cuda" are made on the CPU, and a launch lends their memory to the device. Triton's
benchmarks are left out, since no time passes.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

_DRIVER = "libcuda.so.1"


class _Storage(Protocol):
    """The memory of a tensor of PyTorch."""

    def data_ptr(self) -> int: ...

    def nbytes(self) -> int: ...


class _Tensor(Protocol):
    """A tensor of PyTorch."""

    def untyped_storage(self) -> _Storage: ...

    def storage_offset(self) -> int: ...

    def element_size(self) -> int: ...


class _Patches(importlib.abc.MetaPathFinder):
    """Calls a function with each of the named modules once it has been imported."""

    def __init__(self, patches: dict[str, Callable[[ModuleType], None]]) -> None:
        self._left = dict(patches)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own spec, whose loader patches it at the end."""
        patch = self._left.pop(fullname, None)
        spec = importlib.util.find_spec(fullname) if patch else None
        if spec is None or spec.loader is None or patch is None:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            patch(module)

        loader.exec_module = exec_module  # pyright: ignore[reportAttributeAccessIssue]
        return spec


def _patch_torch(torch: ModuleType) -> None:
    """Tensors on "cuda" are made on the CPU; torch.cuda answers for the one device."""
    if torch.cuda.is_available():
        return
    overrides = importlib.import_module("torch.overrides")

    class OnTheCpu(overrides.TorchFunctionMode):
        """Replaces the device of every call that names one."""

        def __torch_function__(
            self,
            func: Callable[..., object],
            types: object,
            args: Sequence[object] = (),
            kwargs: dict[str, object] | None = None,
        ) -> object:
            given = dict(kwargs or {})
            if "device" in given:
                given["device"] = _on_cpu(torch, given["device"])
            return func(*(_on_cpu(torch, each) for each in args), **given)

    OnTheCpu().__enter__()
    properties = _Properties()
    answers: dict[str, object] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "set_device": None,
        "synchronize": None,
        "empty_cache": None,
        "get_device_capability": (properties.major, properties.minor),
        "get_device_name": properties.name,
        "get_device_properties": properties,
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, _answer(value))
    torch._C._cuda_getCurrentRawStream = _answer(0)
    torch.Tensor.cuda = _itself
    torch.Tensor.data_ptr = _data_ptr()
    torch.Tensor.is_cuda = True


def _answer(value: object) -> Callable[..., object]:
    def answer(*_: object, **__: object) -> object:
        return value

    return answer


def _itself(self: object, *_: object, **__: object) -> object:
    return self


class _Properties:
    """What scripts ask of torch.cuda.get_device_properties."""

    name = "TileSat PTX simulator"

    def __init__(self) -> None:
        self.major, self.minor = _attribute(75), _attribute(76)
        self.multi_processor_count = _attribute(16)
        self.warp_size = 32
        self.total_memory = 64 << 30
        self.shared_memory_per_block_optin = _attribute(97)
        self.shared_memory_per_multiprocessor = _attribute(81)
        self.regs_per_multiprocessor = _attribute(82)


def _on_cpu(torch: ModuleType, value: object) -> object:
    if isinstance(value, torch.device):
        return torch.device("cpu") if getattr(value, "type", "") == "cuda" else value
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


def _driver() -> ctypes.CDLL:
    return ctypes.CDLL(_DRIVER)


def _attribute(number: int) -> int:
    value = ctypes.c_int()
    _driver().cuDeviceGetAttribute(ctypes.byref(value), number, 0)
    return value.value


def _data_ptr() -> Callable[[_Tensor], int]:
    """What replaces Tensor.data_ptr: the address at which the device finds the tensor, as long as its memory lives."""
    lent: dict[int, int] = {}

    def take_back(address: int) -> None:
        del lent[address]
        _driver().cuMemHostUnregister(ctypes.c_uint64(address))

    def data_ptr(self: _Tensor) -> int:
        storage = self.untyped_storage()
        start = int(storage.data_ptr())
        if not storage.nbytes():
            return 0
        if start not in lent:
            device = ctypes.c_uint64()
            host = ctypes.c_uint64(start)
            status = _driver().cuMemHostRegister_v2(host, ctypes.c_uint64(storage.nbytes()), 0)
            if status or _driver().cuMemHostGetDevicePointer_v2(ctypes.byref(device), host, 0):
                raise RuntimeError(f"tilesat: the device cannot use the memory of a tensor (status {status})")
            lent[start] = device.value
            weakref.finalize(storage, take_back, start)
        return lent[start] + int(self.storage_offset() * self.element_size())

    return data_ptr


def _patch_triton(module: ModuleType) -> None:
    module.CudaDriver.get_active_torch_device = _cpu


def _cpu(self: object) -> object:
    return importlib.import_module("torch").device("cpu")


def _patch_testing(testing: ModuleType) -> None:
    """Nothing is timed, so nothing runs to be timed: the autotuner takes its first candidate, tables are not made."""

    def do_bench(*_: object, quantiles: Sequence[float] | None = None, **__: object) -> object:
        return [1.0] * len(quantiles) if quantiles else 1.0

    def run(self: object, *_: object, **__: object) -> None:
        print("tilesat: a Triton benchmark is skipped: no time passes on the simulator", file=sys.stderr)

    vars(testing).update(do_bench=do_bench, do_bench_cudagraph=do_bench)
    testing.Mark.run = run


def _patch_numba(codegen: ModuleType) -> None:
    """Kernels are loaded as the PTX that numba-cuda makes, before it is linked to machine code."""

    def get_cubin(self: Any, cc: object = None) -> object:
        texts = self.get_asm_strs(cc)
        if len(texts) != 1 or self._linking_files or self.needs_cudadevrt:
            raise RuntimeError(
                "tilesat: a kernel that is linked with other files, or compiled with debug, is not simulated"
            )
        return importlib.import_module("cuda.core").ObjectCode.from_ptx(texts[0].encode())

    codegen.CUDACodeLibrary.get_cubin = get_cubin


def main() -> None:
    """Run sys.argv[1] as `__main__`, with the arguments that follow it."""
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    patches = {
        "torch": _patch_torch,
        "triton.backends.nvidia.driver": _patch_triton,
        "triton.testing": _patch_testing,
        "numba.cuda.codegen": _patch_numba,
    }
    sys.meta_path.insert(0, _Patches(patches))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
