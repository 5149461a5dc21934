"""The device behind the driver's calls: one for each process that connects. Methods are named after the calls."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ptxsim import (
    AssertionFailedError,
    DeadlockError,
    LaunchError,
    MisalignedError,
    Module,
    OperandError,
    OutOfBoundsError,
    ParseError,
    SimulatorError,
    StepLimitError,
    TargetError,
    TrapError,
    UnknownOpcodeError,
    UnsupportedModifierError,
)
from ptxsim.launch import Kernel
from ptxsim.ptx_types import Array
from runtime.driver import limits
from runtime.driver.answers import Answers, Options
from runtime.driver.errors import (
    ASSERT,
    FAILED,
    ILLEGAL_ADDRESS,
    INVALID_HANDLE,
    INVALID_PTX,
    INVALID_VALUE,
    MISALIGNED,
    NO_BINARY,
    NOT_FOUND,
    NOT_SUPPORTED,
    OUT_OF_RESOURCES,
    TIMEOUT,
    TOO_LARGE,
    DriverError,
)
from runtime.driver.images import capability_of, parts, ptx_of
from runtime.driver.memory import DeviceMemory
from runtime.driver.report import Summary
from runtime.driver.tensormaps import encode_im2col, encode_tiled

_DEFAULT_SHARED = 48 << 10
# What ends a kernel: its status for the program, and what the report calls it.
_FAULTS: tuple[tuple[type[SimulatorError], int, str], ...] = (
    (OutOfBoundsError, ILLEGAL_ADDRESS, "out of bounds"),
    (MisalignedError, MISALIGNED, "misaligned access"),
    (DeadlockError, TIMEOUT, "deadlock"),
    (StepLimitError, TIMEOUT, "no end"),
    (AssertionFailedError, ASSERT, "assertion"),
    (TrapError, FAILED, "trap"),
    (SimulatorError, FAILED, "failure"),
)
_NOT_SIMULATED = (UnknownOpcodeError, UnsupportedModifierError, OperandError, ParseError, TargetError)


@dataclass(slots=True)
class Loaded:
    """A module; kernels: the handles of its entries that the program asked for."""

    module: Module
    ptx: str
    kernels: dict[str, int]


@dataclass(slots=True)
class Function:
    """An entry; dynamic, carveout: what the program set with cuFuncSetAttribute."""

    module: int
    kernel: Kernel
    attributes: dict[int, int]


def print_at_once(text: str) -> None:
    """Print what a kernel prints, between what the program prints."""
    print(text, end="", flush=True)


class Device(Answers):
    """One simulated device. Raises DriverError from its methods; what it finds goes to the summary."""

    def __init__(self, options: Options, summary: Summary, output: Callable[[str], object] = print_at_once) -> None:
        super().__init__(options)
        self._summary = summary
        self._output = output
        self._memory = DeviceMemory()
        self._shared: dict[int, Array] = {}
        self._modules: dict[int, Loaded] = {}
        self._functions: dict[int, Function] = {}

    # Modules and functions

    def sim_announce(self, image: bytes) -> None:
        """A fat binary of the program, before it asks anything."""
        for part in parts(image):
            if part.data is not None:
                self.announced = max(part.capability, self.announced or part.capability)

    def sim_load(self, image: bytes, room: int) -> tuple[int, bytes]:
        text = ptx_of(image, self.capability)
        try:
            module = Module(text, self._memory)
        except SimulatorError as error:
            self._summary.add_error("", "a module cannot be loaded", error, "", refused=True)
            raise DriverError(INVALID_PTX, log=str(error)) from None
        needed = capability_of(int(re.sub(r"\D", "", module.target)))
        if needed > self.capability:
            module.unload()
            have, want = ("sm_{}{}".format(*each) for each in (self.capability, needed))
            raise DriverError(NO_BINARY, f"the PTX is for {module.target}, the device is {have}: pass --target {want}")
        handle = next(self.handles)
        self._modules[handle] = Loaded(module, text, {})
        return handle, b""

    def cuModuleUnload(self, module: int) -> None:
        self._module(module).module.unload()
        for handle in self._modules.pop(module).kernels.values():
            del self._functions[handle]

    def cuModuleGetFunction(self, module: int, name: str) -> tuple[int]:
        loaded = self._module(module)
        if name not in loaded.kernels:
            if name not in loaded.module.entries:
                raise DriverError(NOT_FOUND)
            handle = next(self.handles)
            try:
                self._functions[handle] = Function(module, loaded.module.kernel(name), {})
            except SimulatorError as error:
                self._summary.add_error(name, "kernel cannot be used", error, loaded.ptx, refused=True)
                raise DriverError(INVALID_PTX) from None
            loaded.kernels[name] = handle
        return (loaded.kernels[name],)

    def cuModuleGetGlobal_v2(self, module: int, name: str) -> tuple[int, int]:
        loaded = self._module(module)
        if name not in loaded.module.symbols:
            raise DriverError(NOT_FOUND)
        symbol = loaded.module.symbol(name)
        return int(symbol.address), symbol.size

    def cuModuleGetFunctionCount(self, module: int) -> tuple[int]:
        return (len(self._module(module).module.entries),)

    def cuModuleGetLoadingMode(self) -> tuple[int]:
        return (1,)  # CU_MODULE_EAGER_LOADING

    def cuLibraryGetModule(self, library: int) -> tuple[int]:
        self._module(library)
        return (library,)

    def cuKernelGetFunction(self, kernel: int) -> tuple[int]:
        self._function(kernel)
        return (kernel,)

    def cuKernelGetLibrary(self, kernel: int) -> tuple[int]:
        return (self._function(kernel).module,)

    def cuKernelGetName(self, kernel: int) -> tuple[int]:
        raise DriverError(NOT_SUPPORTED, "the name of a kernel cannot be read back")

    def cuFuncIsLoaded(self, function: int) -> tuple[int]:
        return (1,)

    def cuFuncLoad(self, function: int) -> None:
        self._function(function)

    def cuFuncGetAttribute(self, attribute: int, function: int) -> tuple[int]:
        return (self._attributes(self._function(function)).get(attribute, 0),)

    cuKernelGetAttribute = cuFuncGetAttribute

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> None:
        given = self._function(function)
        if attribute not in _SETTABLE:
            raise DriverError(INVALID_VALUE)  # Triton asks for newer ones first
        if attribute == _MAX_DYNAMIC and not 0 <= value <= self._most_shared() - given.kernel.static_shared:
            raise DriverError(INVALID_VALUE)
        given.attributes[attribute] = value

    def cuKernelSetAttribute(self, attribute: int, value: int, function: int) -> None:
        self.cuFuncSetAttribute(function, attribute, value)

    def cuFuncSetCacheConfig(self, function: int) -> None:
        self._function(function)

    cuKernelSetCacheConfig = cuFuncSetCacheConfig

    def cuFuncGetParamInfo(self, function: int, number: int) -> tuple[int, int]:
        parameters = self._function(function).kernel.parameters
        if number >= len(parameters):
            raise DriverError(INVALID_VALUE)
        return parameters[number].offset, parameters[number].size

    def sim_parameters(self, function: int) -> tuple[int, bytes]:
        parameters = self._function(function).kernel.parameters
        layout = b"".join(struct.pack("<II", parameter.offset, parameter.size) for parameter in parameters)
        return len(parameters), layout

    def sim_function_attributes(self, function: int) -> tuple[bytes]:
        """A cudaFuncAttributes as far as its last field before what is reserved."""
        known = self._attributes(self._function(function))
        return (struct.pack("<3Q13i", *(known.get(number, 0) for number in (1, 2, 3, 0, *range(4, 16)))),)

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: int, block: int, dynamic: int) -> tuple[int]:
        return (self._blocks(self._function(function), block, dynamic),)

    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags = cuOccupancyMaxActiveBlocksPerMultiprocessor

    def cuOccupancyAvailableDynamicSMemPerBlock(self, function: int, blocks: int, block: int) -> tuple[int]:
        _, whole, _ = limits.shared_limits(self.capability)
        each = whole // max(1, blocks) - limits.RESERVED_SHARED
        static = self._function(function).kernel.static_shared
        return (max(0, min(each, self._most_shared()) - static),)

    def sim_active_clusters(self, function: int, extents: bytes, dynamic: int) -> tuple[int]:
        values = struct.unpack("<9I", extents)
        threads, ctas = _product(values[3:6]), _product(values[6:9])
        blocks = self._blocks(self._function(function), threads, dynamic) * self.options.multiprocessors
        return (blocks // max(1, ctas),)

    def sim_potential_clusters(self, function: int, extents: bytes, dynamic: int) -> tuple[int]:
        return (limits.MAX_CLUSTER if self.capability >= (9, 0) else 1,)

    # Launches

    def sim_launch(self, function: int, extents: bytes, dynamic: int, cooperative: int, parameters: bytes) -> None:
        self.check_fault()
        given = self._function(function)
        loaded = self._module(given.module)
        values = struct.unpack("<9I", extents)
        grid, block, cluster = values[:3], values[3:6], values[6:9]
        self._check_extents(given, grid, block, dynamic, bool(cooperative))
        arguments = [parameters[each.offset : each.offset + each.size] for each in given.kernel.parameters]
        self._summary.launches += 1
        with self._judged(given.kernel.name, loaded.ptx):
            report = loaded.module.launch(
                grid,
                block,
                arguments,
                cluster,
                dynamic,
                given.kernel.name,
                hazards="report" if self.options.hazards else False,
                suppress=self.options.suppress,
                max_instructions=self.options.max_instructions,
                schedule=self.options.schedule,
                cooperative=bool(cooperative),
            )
            self._summary.add_hazards(given.kernel.name, report.hazards)
            self._summary.suppressed += sum(hazard.count for hazard in report.suppressed)
            for text in report.printed:
                self._output(text)

    def _check_extents(
        self, given: Function, grid: tuple[int, ...], block: tuple[int, ...], dynamic: int, is_cooperative: bool
    ) -> None:
        """What the driver refuses before it launches. Raises DriverError."""
        allowed = given.attributes.get(_MAX_DYNAMIC, max(0, _DEFAULT_SHARED - given.kernel.static_shared))
        if not all(grid) or not all(block) or block[2] > 64 or _product(block) > limits.MAX_THREADS:
            raise DriverError(INVALID_VALUE, f"launch of {given.kernel.name}: grid {grid}, block {block}")
        if dynamic > allowed:
            raise DriverError(
                INVALID_VALUE,
                f"launch of {given.kernel.name}: {dynamic} bytes of dynamic shared memory; without "
                f"MAX_DYNAMIC_SHARED_SIZE_BYTES a kernel has {allowed}",
            )
        if _product(block) > given.kernel.max_threads:
            raise DriverError(
                OUT_OF_RESOURCES,
                f"launch of {given.kernel.name}: {_product(block)} threads, it takes {given.kernel.max_threads}",
            )
        room = self._blocks(given, _product(block), dynamic) * self.options.multiprocessors
        if is_cooperative and _product(grid) > room:
            raise DriverError(TOO_LARGE, f"cooperative launch of {given.kernel.name}: {grid} CTAs, room for {room}")

    @contextmanager
    def _judged(self, name: str, ptx: str) -> Generator[None]:
        """Turn what ends a launch into a status and a line of the report."""
        try:
            yield
        except _NOT_SIMULATED as error:
            self._summary.add_error(name, "kernel is not simulated", error, ptx, refused=True)
            raise DriverError(NOT_SUPPORTED) from None
        except LaunchError as error:
            self._summary.add_error(name, "launch", error, ptx)
            raise DriverError(INVALID_VALUE) from None
        except SimulatorError as error:
            self._summary.add_hazards(name, error.hazards)
            self.fault, what = next((status, what) for kind, status, what in _FAULTS if isinstance(error, kind))
            if not error.hazards or error.line not in {hazard.line for hazard in error.hazards}:
                self._summary.add_error(name, what, error, ptx)
            raise DriverError(self.fault) from None

    # Memory

    def sim_allocate(self, size: int, mapped: int) -> tuple[int]:
        self.check_fault()
        if size > limits.MEMORY_BYTES:
            raise DriverError(2)
        return (int(self._memory.alloc_mapped(size) if mapped else self._memory.alloc(size)),)

    def sim_release(self, address: int) -> None:
        self.check_fault()
        self._memory.release(address)
        self._shared.pop(address, None)

    def sim_write(self, address: int, data: bytes) -> None:
        self.check_fault()
        self._memory.write(address, data)

    def sim_read(self, address: int, size: int) -> tuple[bytes]:
        self.check_fault()
        return (self._memory.get(address, size, "u1").tobytes(),)

    def sim_share(self, address: int, data: bytes) -> None:
        """What both sides see, before a launch; kept, so that only what a kernel changes goes back."""
        self.sim_write(address, data)
        self._shared[address] = np.frombuffer(data, np.uint8)

    def sim_fetch(self, address: int, size: int) -> tuple[int, bytes]:
        self.check_fault()
        now = self._memory.get(address, size, np.uint8)
        if np.array_equal(now, self._shared[address]):
            return 0, b""
        self._shared[address] = now
        return 1, now.tobytes()

    def sim_copy(self, to: int, source: int, size: int) -> None:
        self.check_fault()
        if size:
            self._memory.copy(to, source, size)

    def sim_fill(self, address: int, value: int, width: int, number: int) -> None:
        self.check_fault()
        if number:
            self._memory.fill(address, value.to_bytes(4, "little")[:width], number)

    def sim_range(self, address: int) -> tuple[int, int]:
        return self._memory.range_of(address)

    def cuMemGetInfo_v2(self) -> tuple[int, int]:
        return limits.MEMORY_BYTES - self._memory.arena.size, limits.MEMORY_BYTES

    cuTensorMapEncodeTiled = staticmethod(encode_tiled)
    cuTensorMapEncodeIm2col = staticmethod(encode_im2col)

    def sim_refuse(self, name: str) -> None:
        raise DriverError(NOT_SUPPORTED, f"{name} is not simulated{_HINTS.get(name, '')}")

    def _module(self, handle: int) -> Loaded:
        if handle not in self._modules:
            raise DriverError(INVALID_HANDLE)
        return self._modules[handle]

    def _function(self, handle: int) -> Function:
        if handle not in self._functions:
            raise DriverError(INVALID_HANDLE)
        return self._functions[handle]

    def _most_shared(self) -> int:
        return limits.shared_limits(self.capability)[0]

    def _attributes(self, function: Function) -> dict[int, int]:
        """Function attributes by their numbers in CUfunction_attribute. Registers are not known: 32 are claimed."""
        kernel = function.kernel
        version = self.capability[0] * 10 + self.capability[1]
        virtual = int(re.sub(r"\D", "", self._modules[function.module].module.target))
        known = {
            0: kernel.max_threads,
            1: kernel.static_shared,
            2: kernel.const,
            3: kernel.local,
            4: 32,
            5: virtual,
            6: version,
            _MAX_DYNAMIC: max(0, _DEFAULT_SHARED - kernel.static_shared),
            10: int(kernel.cluster is not None),
        }
        for axis, extent in enumerate(kernel.cluster or ()):
            known[11 + axis] = extent
        return known | function.attributes

    def _blocks(self, function: Function, threads: int, dynamic: int) -> int:
        """CTAs that fit on a multiprocessor by threads and shared memory; registers are not counted."""
        _, whole, most_threads = limits.shared_limits(self.capability)
        if not 0 < threads <= function.kernel.max_threads:
            return 0
        shared = function.kernel.static_shared + dynamic
        if shared > self._most_shared():
            return 0
        held = -(-threads // limits.WARP) * limits.WARP
        return min(most_threads // held, whole // (shared + limits.RESERVED_SHARED), limits.MAX_BLOCKS)


_HINTS = {
    "cuGetExportTable": ": a CUDA runtime is linked into the program, whose symbols are stripped; keep them, or build "
    "with nvcc -cudart shared",
}
_SETTABLE = range(8, 16)
"""Attributes of CUfunction_attribute in CUDA 13.0 that a program may set."""
_MAX_DYNAMIC = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""


def _product(extents: tuple[int, ...]) -> int:
    result = 1
    for extent in extents:
        result *= extent
    return result
