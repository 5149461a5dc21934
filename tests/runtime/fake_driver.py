"""A stand-in for cuda.bindings.driver whose device is the PTX simulator: status codes, memory, modules, launches.

Parameters are read from the addresses that a launch is given, as the driver reads them, so packing is seen whole.
"""

from __future__ import annotations

import ctypes
import struct
from enum import IntEnum
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import numpy as np

from ptxsim import GlobalMemory, TensorMap, launch
from ptxsim.errors import LaunchError, SimulatorError
from ptxsim.parser import parse

SUCCESS, INVALID_VALUE, NO_DEVICE, INVALID_CONTEXT, INVALID_PTX = 0, 1, 100, 201, 218
ILLEGAL_ADDRESS, CAPTURE_UNSUPPORTED = 700, 900
UNSAFE = ("cuMemAlloc", "cuMemFree", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuCtxSynchronize")
"""What a thread may not call while a stream is captured. Source: CUDA C++ Programming Guide, prohibited and unhandled
operations; cuStreamBeginCapture, CU_STREAM_CAPTURE_MODE_GLOBAL.
"""
NAMES = {1: "CUDA_ERROR_INVALID_VALUE", 100: "CUDA_ERROR_NO_DEVICE", 201: "CUDA_ERROR_INVALID_CONTEXT",
         218: "CUDA_ERROR_INVALID_PTX",
         700: "CUDA_ERROR_ILLEGAL_ADDRESS", 900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}  # fmt: skip


class Names:
    """An enumeration of the driver: a member is its own name, and exists where the prefix is right."""

    def __init__(self, *prefixes: str) -> None:
        self._prefixes = prefixes

    def __getattr__(self, name: str) -> str:
        if not name.startswith(self._prefixes):
            raise AttributeError(name)
        return next(name.removeprefix(prefix) for prefix in self._prefixes if name.startswith(prefix))


class Unsigned(int):
    def __new__(cls, value: int) -> Unsigned:
        if value < 0:
            raise OverflowError("can't convert negative value")
        return super().__new__(cls, value)


class JitOption(IntEnum):
    CU_JIT_ERROR_LOG_BUFFER = 5
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6


class FakeDriver:
    """Every function returns (status, results...) as cuda-bindings does. `calls` lists the names in order. While it is
    `capturing` it refuses what breaks the capture of a graph. Its devices share one memory; modules, functions and
    launches belong to the context that is current in the thread.
    """

    CUdevice_attribute = Names("CU_DEVICE_ATTRIBUTE_")
    CUpointer_attribute = Names("CU_POINTER_ATTRIBUTE_")
    CUfunction_attribute = Names("CU_FUNC_ATTRIBUTE_")
    CUtensorMapDataType = Names("CU_TENSOR_MAP_DATA_TYPE_")
    CUtensorMapInterleave = SimpleNamespace(CU_TENSOR_MAP_INTERLEAVE_NONE="none")
    CUtensorMapSwizzle = SimpleNamespace(**{f"CU_TENSOR_MAP_SWIZZLE_{n}": n for n in ("NONE", "32B", "64B", "128B")})
    CUtensorMapL2promotion = SimpleNamespace(CU_TENSOR_MAP_L2_PROMOTION_L2_128B="128B")
    CUtensorMapFloatOOBfill = SimpleNamespace(
        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE="zero", CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA="nan"
    )
    CUjit_option = JitOption
    CUlaunchAttributeID = Names("CU_LAUNCH_ATTRIBUTE_")
    cuuint64_t = cuuint32_t = Unsigned

    def __init__(self, capability: tuple[int, int] = (9, 0), devices: int = 1, shared_bytes: int = 232448) -> None:
        self.attributes = {
            "COMPUTE_CAPABILITY_MAJOR": capability[0], "COMPUTE_CAPABILITY_MINOR": capability[1],
            "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": shared_bytes, "MULTIPROCESSOR_COUNT": 132,
        }  # fmt: skip
        self.devices, self.capturing = devices, False
        self.memory = GlobalMemory()
        self.live: set[int] = set()
        self.modules: dict[int, str] = {}
        self.functions: dict[int, tuple[str, str]] = {}
        self.contexts: dict[int, list[str]] = {}
        """The stack of each thread."""
        self.homes: dict[Any, str] = {}
        """The context that modules, functions and memory were made in."""
        self.calls: list[str] = []
        self.launched: list[Any] = []
        self.clock = 0.0

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("cu") and not name.startswith("cuuint"):
            self.calls.append(name)
            if name in UNSAFE and self.capturing:
                return lambda *_: (CAPTURE_UNSUPPORTED, None)
        return super().__getattribute__(name)

    def cuInit(self, flags: int) -> tuple[int]:
        return (SUCCESS if self.devices else NO_DEVICE,)

    def cuGetErrorName(self, status: int) -> tuple[int, bytes]:
        return SUCCESS, NAMES[status].encode()

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:
        return SUCCESS, b"as the driver says"

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return SUCCESS, self.devices

    def cuDeviceGet(self, ordinal: int) -> tuple[int, str]:
        return SUCCESS, f"device {ordinal}"

    def cuDeviceGetName(self, size: int, device: str) -> tuple[int, bytes]:
        return SUCCESS, b"Simulated GPU".ljust(size, b"\0")

    def cuDeviceGetAttribute(self, name: str, device: str) -> tuple[int, int]:
        return SUCCESS, self.attributes[name]

    def cuDevicePrimaryCtxRetain(self, device: str) -> tuple[int, str]:
        return SUCCESS, f"context of {device}"

    def cuDevicePrimaryCtxRelease(self, device: str) -> tuple[int]:
        return (SUCCESS,)

    @property
    def stack(self) -> list[str]:
        """The thread's contexts."""
        return self.contexts.setdefault(get_ident(), [])

    @property
    def context(self) -> str:
        """The thread's current one."""
        return self.stack[-1] if self.stack else ""

    def cuCtxSetCurrent(self, context: str) -> tuple[int]:
        self.stack[-1:] = [context] if context else []
        return (SUCCESS,)

    def cuCtxPushCurrent(self, context: str) -> tuple[int]:
        self.stack.append(context)
        return (SUCCESS,)

    def cuCtxPopCurrent(self) -> tuple[int, str]:
        return SUCCESS, self.stack.pop()

    def cuPointerGetAttribute(self, attribute: str, address: int) -> tuple[int, int]:
        assert attribute == "DEVICE_ORDINAL"
        home = self.homes.get(address)
        return (INVALID_VALUE, 0) if home is None else (SUCCESS, int(home.split()[-1]))

    def cuCtxSynchronize(self) -> tuple[int]:
        return (SUCCESS,)

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        if not self.context:
            return INVALID_CONTEXT, 0
        address = self.memory.alloc(size)
        self.live.add(int(address))
        self.homes[int(address)] = self.context
        return SUCCESS, address

    def cuMemFree(self, address: int) -> tuple[int]:
        self.live.remove(address)
        return (SUCCESS,)

    def cuMemcpyHtoD(self, to: int, source: int, size: int) -> tuple[int]:
        start = self.memory.offset(to, size)
        self.memory.arena[start : start + size] = np.frombuffer(ctypes.string_at(source, size), np.uint8)
        return (SUCCESS,)

    def cuMemcpyDtoH(self, to: int, source: int, size: int) -> tuple[int]:
        ctypes.memmove(to, self.memory.get(source, size, np.uint8).tobytes(), size)
        return (SUCCESS,)

    def cuMemsetD8Async(self, to: int, value: int, size: int, stream: int) -> tuple[int]:
        start = self.memory.offset(to, size)
        self.memory.arena[start : start + size] = value
        return (SUCCESS,)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: int, threads: int, shared: int) -> tuple[int, int]:
        return SUCCESS, 1

    def cuModuleLoadData(self, image: bytes) -> tuple[int, int]:
        return self._load(image.decode(errors="replace"))

    def cuModuleLoadDataEx(self, image: bytes, count: int, options: list[Any], values: list[Any]) -> tuple[int, int]:
        assert image.endswith(b"\0")
        assert options == [5, 6]
        assert count == 2
        assert len(values[0]) == values[1]
        text = image.rstrip(b"\0").decode()
        try:
            parse(text)
        except SimulatorError as error:
            said = str(error).encode()[: values[1] - 1]
            values[0][: len(said)] = said
            return INVALID_PTX, 0
        return self._load(text)

    def _load(self, text: str) -> tuple[int, int]:
        if not self.context:
            return INVALID_CONTEXT, 0
        self.modules[len(self.modules) + 1] = text
        self.homes["module", len(self.modules)] = self.context
        return SUCCESS, len(self.modules)

    def cuModuleUnload(self, module: int) -> tuple[int]:
        self.modules[module] = ""
        return (SUCCESS,)

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[int, int]:
        self.functions[len(self.functions) + 1] = self.modules[module], name.decode()
        self.homes["function", len(self.functions)] = self.homes["module", module]
        return SUCCESS, len(self.functions)

    def cuFuncSetAttribute(self, function: int, attribute: str, value: int) -> tuple[int]:
        assert attribute == "MAX_DYNAMIC_SHARED_SIZE_BYTES"
        return (SUCCESS,)

    def cuTensorMapEncodeTiled(
        self, dtype: str, rank: int, base: int, dims: list[int], strides: list[int], box: list[int], steps: list[int],
        interleave: str, swizzle: str, promotion: str, fill: str,
    ) -> tuple[int, Any]:  # fmt: skip
        names = {"FLOAT16": "f16", "BFLOAT16": "bf16", "FLOAT32": "f32", "TFLOAT32": "tf32", "UINT8": "u8"}
        swizzle = "none" if swizzle == "NONE" else swizzle
        assert len(dims) == rank
        try:
            made = TensorMap(base, names[dtype], dims, strides, box, steps, swizzle, interleave, fill, promotion)
        except LaunchError:
            return INVALID_VALUE, None
        return SUCCESS, SimpleNamespace(opaque=struct.unpack("<16Q", made.encode()))

    def CUlaunchConfig(self) -> Any:
        return SimpleNamespace()

    def CUlaunchAttribute(self) -> Any:
        return SimpleNamespace(value=SimpleNamespace(clusterDim=SimpleNamespace()))

    def cuLaunchKernelEx(self, config: Any, function: int, parameters: int, extra: int) -> tuple[int]:
        assert config.numAttrs == len(config.attrs)
        if self.homes["function", function] != self.context:
            return (INVALID_CONTEXT,)
        self.launched.append(config)
        self.clock += 1
        ptx, name = self.functions[function]
        if ptx.startswith("\x7fELF"):
            return (SUCCESS,)  # a cubin cannot be simulated
        entry = parse(ptx).entries[name]
        places = (ctypes.c_void_p * len(entry.parameters)).from_address(parameters)
        given = [ctypes.string_at(at or 0, p.size) for at, p in zip(places, entry.parameters, strict=True)]
        try:
            launch(
                ptx, grid=(config.gridDimX, config.gridDimY, config.gridDimZ),
                block=(config.blockDimX, config.blockDimY, config.blockDimZ),
                args=given, memory=self.memory, dynamic_smem=config.sharedMemBytes, entry=name,
            )  # fmt: skip
        except SimulatorError:
            return (ILLEGAL_ADDRESS,)
        return (SUCCESS,)

    def cuEventCreate(self, flags: int) -> tuple[int, dict[str, float]]:
        return SUCCESS, {}

    def cuEventRecord(self, event: dict[str, float], stream: int) -> tuple[int]:
        event["at"] = self.clock
        return (SUCCESS,)

    def cuEventElapsedTime(self, start: dict[str, float], stop: dict[str, float]) -> tuple[int, float]:
        return SUCCESS, stop["at"] - start["at"]

    def cuEventDestroy(self, event: dict[str, float]) -> tuple[int]:
        event.clear()
        return (SUCCESS,)
