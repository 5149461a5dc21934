"""Running kernels on a GPU through the CUDA driver: needs a cubin or PTX, its launch manifest, NumPy and a driver.

    with Device() as device:
        run(Path("gemm.cubin").read_bytes(), json.loads(Path("gemm.json").read_text()), (8, 8, 1), arguments, device)

The driver is reached through the package cuda-bindings (`pip install cuda-bindings`). This module and
`runtime.manifest` import no part of the compiler, so that compiled kernels can be moved to a machine with a GPU.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import re
import struct
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from threading import get_ident
from types import ModuleType, TracebackType
from typing import Any, TypeAlias, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from runtime.manifest import (
    FILLS,
    GRID,
    GRID_LIMITS,
    PADDING_BYTES,
    POINTEES,
    SIZES,
    ZEROED,
    Manifest,
    Pointer,
    Scalar,
    TensorMapRecord,
    extents_of_map,
    parse,
)

Grid: TypeAlias = "tuple[int, int, int]"
Array: TypeAlias = "np.ndarray[Any, Any]"

MOST_MAPS = 4096
"""Tensor maps of 128 bytes that a device keeps; then all are dropped."""
_LOG_BYTES = 8192
"""Buffer for the log of the driver's assembler about rejected PTX."""


class CudaError(RuntimeError):
    """The driver reported an error, or an argument does not fit the kernel; the message says which."""


class NoDeviceError(CudaError):
    """No GPU is available: the message says whether the package, the driver or the GPU is missing."""


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """An array in a device's memory: its address, shape and NumPy type. `owned`: freed by its device, whose number is
    `ordinal`.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    owned: bool = True
    ordinal: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize


Argument: TypeAlias = "DeviceArray | np.generic | int | float"


class Device:
    """One GPU and its primary context, which PyTorch and Triton use too.

    Raises NoDeviceError if there is none. `driver` is the module cuda.bindings.driver, or a compatible object.
    """

    def __init__(self, ordinal: int = 0, driver: ModuleType | None = None) -> None:
        self._driver = load_driver() if driver is None else driver
        _start(self._driver)
        self.several = False
        count = self._call("cuDeviceGetCount")
        if not 0 <= ordinal < count:
            raise NoDeviceError(f"no CUDA device {ordinal}: this machine has {count}")
        self.ordinal = ordinal
        self._device = self._call("cuDeviceGet", ordinal)
        self.name = _text(self._call("cuDeviceGetName", 256, self._device))
        self.capability = (self._attribute("COMPUTE_CAPABILITY_MAJOR"), self._attribute("COMPUTE_CAPABILITY_MINOR"))
        self.shared_bytes = self._attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        self.multiprocessors = self._attribute("MULTIPROCESSOR_COUNT")
        self._context = self._call("cuDevicePrimaryCtxRetain", self._device)
        self.threads: set[int] = set()
        """Threads in which the context is current."""
        self.several = count > 1
        """Each call then switches to its context and back; a single device's context stays current."""
        if not self.several:
            self.enter()
        self._allocations: set[int] = set()
        self._modules: list[object] = []
        self._maps: dict[tuple[object, ...], bytes] = {}

    def enter(self) -> None:
        """Make the context current in this thread."""
        self._call("cuCtxSetCurrent", self._context)
        self.threads.add(get_ident())

    @contextmanager
    def current(self) -> Generator[None]:
        """Its context is the thread's current one meanwhile, and then what was before. What is done here does so by
        itself on a machine of several devices; where there is one, its context stays current.
        """
        _call(self._driver, "cuCtxPushCurrent", self._context)
        try:
            yield
        finally:
            _call(self._driver, "cuCtxPopCurrent")

    def ordinal_of(self, address: int) -> int:
        """The number of the device that memory is on. Raises CudaError for an address that the driver does not know."""
        attribute = self._driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._call("cuPointerGetAttribute", attribute, address)) if self.several else self.ordinal

    def __enter__(self) -> Device:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(quiet=error is not None)

    def close(self, quiet: bool = False) -> None:
        """Free everything allocated and loaded here, and release the context.

        quiet: suppress errors that follow from one already being reported (a faulted context).
        """
        steps = [("cuMemFree", address) for address in self._allocations]
        steps += [("cuModuleUnload", module) for module in self._modules]
        self._allocations, self._modules = set(), []
        _SHARED.pop((id(self._driver), self.ordinal), None)
        for name, what in [*steps, ("cuDevicePrimaryCtxRelease", self._device)]:
            try:
                self._call(name, what)
            except CudaError:
                if not quiet:
                    raise

    @property
    def architecture(self) -> str:
        """The plain target that this device is, such as "sm_90"."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        """Memory for an array, not set to anything."""
        kind = np.dtype(dtype)
        size = max(1, int(np.prod(shape, dtype=np.int64)) * kind.itemsize)  # the driver rejects empty allocations
        address = int(self._call("cuMemAlloc", size))
        self._allocations.add(address)
        return DeviceArray(address, shape, kind, ordinal=self.ordinal)

    def put(self, array: Array) -> DeviceArray:
        """A copy of a contiguous array in the device's memory. Raises CudaError for one with gaps."""
        if not array.flags.c_contiguous:
            raise CudaError(f"an array {array.dtype}{list(array.shape)} is not contiguous: pass np.ascontiguousarray")
        held = self.empty(array.shape, array.dtype)
        if array.nbytes:
            self._call("cuMemcpyHtoD", held.address, array.ctypes.data, array.nbytes)
        return held

    def get(self, held: DeviceArray, into: Array | None = None) -> Array:
        """The current contents of a device array, in a new array or in `into`; waits for earlier launches."""
        array = np.empty(held.shape, held.dtype) if into is None else into
        if array.nbytes != held.nbytes or not array.flags.c_contiguous:
            raise CudaError(f"{held.nbytes} bytes of the device do not match {array.dtype}{list(array.shape)}")
        if array.nbytes:
            self._call("cuMemcpyDtoH", array.ctypes.data, held.address, array.nbytes)
        return array

    def free(self, held: DeviceArray) -> None:
        """Free the memory of an array of this device."""
        if held.owned and held.address in self._allocations:
            self._allocations.remove(held.address)
            self._call("cuMemFree", held.address)

    def synchronize(self) -> None:
        """Wait until everything launched is done. Raises CudaError where a kernel failed."""
        self._call("cuCtxSynchronize")

    def load(self, image: bytes | str, manifest: Mapping[str, object] | Manifest) -> Kernel:
        """Load a cubin (bytes) or PTX (text) as its manifest says.

        Raises ManifestError, or CudaError if the device has a different architecture or the driver rejects the image.
        """
        checked = manifest if isinstance(manifest, Manifest) else parse(manifest)
        self._check_target(checked.target, isinstance(image, bytes) and image.startswith(b"\x7fELF"))
        if checked.dynamic_smem > self.shared_bytes:
            raise CudaError(
                f"kernel '{checked.entry}' needs {checked.dynamic_smem} bytes of shared memory, "
                f"{self.name} gives a CTA at most {self.shared_bytes}: compile for {self.architecture}"
            )
        module = self._load_module(image)
        self._modules.append(module)
        function = self._call("cuModuleGetFunction", module, checked.entry.encode())
        size = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", function, size, checked.dynamic_smem)
        return Kernel(self, checked, function)

    def time(
        self, work: Callable[[], object], repeat: int = 20, warm_up: int = 3, cold: DeviceArray | None = None
    ) -> list[float]:
        """Milliseconds of each of `repeat` calls of `work`, which launches on the default stream, between two events.

        cold: memory overwritten before each call, larger than the L2 cache, so that no call finds its data there; it
        also gives the host the time to launch ahead of the device.
        """
        pairs = [(self._call("cuEventCreate", 0), self._call("cuEventCreate", 0)) for _ in range(repeat)]
        for _ in range(warm_up):
            work()
        for start, stop in pairs:
            if cold is not None:
                self._call("cuMemsetD8Async", cold.address, 0, cold.nbytes, 0)
            self._call("cuEventRecord", start, 0)
            work()
            self._call("cuEventRecord", stop, 0)
        self.synchronize()
        spent = [float(self._call("cuEventElapsedTime", start, stop)) for start, stop in pairs]
        for event in [event for pair in pairs for event in pair]:
            self._call("cuEventDestroy", event)
        return spent

    def encode(self, record: TensorMapRecord, values: Sequence[int], place: str) -> bytes:
        """The 128 bytes of a tensor map for arguments `values` (addresses and numbers), encoded once for a base, sizes
        and strides. Raises CudaError with why.
        """
        base, dims, strides = extents_of_map(
            record.global_dim, record.global_strides, record.base, values, lambda: self._padding(record.oob_fill)
        )
        key = record.members, record.box, record.element_strides, base, *dims, *strides
        if key not in self._maps:
            if len(self._maps) >= MOST_MAPS:
                self._maps.clear()
            self._maps[key] = self._encoded(record, base, dims, strides, place)
        return self._maps[key]

    def _encoded(self, record: TensorMapRecord, base: int, dims: list[int], strides: list[int], place: str) -> bytes:
        driver = self._driver
        kinds = (
            driver.CUtensorMapDataType,
            driver.CUtensorMapInterleave,
            driver.CUtensorMapSwizzle,
            driver.CUtensorMapL2promotion,
            driver.CUtensorMapFloatOOBfill,
        )
        element, *modes = (getattr(kind, name) for kind, name in zip(kinds, record.members, strict=True))
        try:
            made = self._call(
                "cuTensorMapEncodeTiled",
                element,
                len(dims),
                base,
                [driver.cuuint64_t(n) for n in dims],
                [driver.cuuint64_t(n) for n in strides],
                [driver.cuuint32_t(n) for n in record.box],
                [driver.cuuint32_t(n) for n in record.element_strides],
                *modes,
            )
        except (CudaError, OverflowError) as error:  # OverflowError: a negative extent fits no unsigned integer
            raise CudaError(f"{place}: {_why_no_map(record, base, dims, strides) or error}") from None
        return struct.pack("<16Q", *(int(word) for word in made.opaque))

    def _padding(self, fill: str) -> int:
        """The address of memory that holds padding, for the map of a view without elements; it stays allocated."""
        held = self.empty((PADDING_BYTES,), np.uint8)
        self._call("cuMemsetD8Async", held.address, FILLS[fill], held.nbytes, 0)
        return held.address

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._call("cuDeviceGetAttribute", attribute, self._device))

    def _check_target(self, target: str, is_cubin: bool) -> None:
        """`a` runs on its own device only, `f` on later ones of its family; PTX of a plain target on all later ones."""
        match = re.fullmatch(r"sm_(\d+)(\d)([af]?)", target)
        if match is None:
            raise CudaError(f"the manifest's target {target!r} is not an architecture such as sm_90a")
        wanted, suffix = (int(match[1]), int(match[2])), match[3]
        same_major = wanted[0] == self.capability[0] and wanted[1] <= self.capability[1]
        fits = wanted == self.capability if suffix == "a" else same_major
        if not suffix and not is_cubin:
            fits = wanted <= self.capability
        if not fits:
            own = self.architecture + ("a" if self.capability >= (9, 0) else "")  # sm_90 is the first with an `a` form
            raise CudaError(
                f"the kernel is compiled for {target}, the device is {self.name} ({self.architecture}): "
                f"compile it with --target {own}"
            )

    def _load_module(self, image: bytes | str) -> object:
        if isinstance(image, bytes) and image.startswith(b"\x7fELF"):
            return self._call("cuModuleLoadData", image)
        text = image.encode() if isinstance(image, str) else image
        option = self._driver.CUjit_option
        log = bytearray(_LOG_BYTES)
        options = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        try:
            return self._call("cuModuleLoadDataEx", text + b"\0", len(options), options, [log, len(log)])
        except CudaError as error:
            said = bytes(log).partition(b"\0")[0].decode(errors="replace").strip()
            raise CudaError(f"{error}{': ' if said else ''}{said}") from None

    def _call(self, name: str, *arguments: object) -> Any:
        with self.current() if self.several else nullcontext():
            return _call(self._driver, name, *arguments)


@dataclass(frozen=True)
class Kernel:
    """A loaded kernel."""

    device: Device
    manifest: Manifest
    function: object = field(repr=False)

    def prepare(
        self,
        grid: Grid,
        arguments: Sequence[object],
        dependent: bool = False,
        stream: int = 0,
        cooperative: bool = False,
    ) -> Callable[[], None]:
        """A function that launches over `grid` tile blocks on a stream (0: the default one) without waiting. It
        allocates nothing, and calls the driver once.

        Arguments are those of the source's entry: arrays of the device and numbers; tensor maps are encoded here.
        dependent: the grid may start before the previous one has ended (programmatic stream serialization), for kernels
        that wait for it themselves (gdc_wait_tko). cooperative: the driver launches all CTAs at once or fails, for
        kernels whose CTAs wait for one another. For a persistent kernel as many CTAs are launched as fit the device at
        once, and counters are zeroed before each launch on the same stream, with one call each. Raises CudaError if an
        argument does not fit.
        """
        launched = self.manifest.launched
        if not self.manifest.persistent:
            self._check_grid(self.manifest.in_ctas(grid))
        if dependent and not self.manifest.dependent:
            raise CudaError(
                f"kernel '{self.manifest.entry}' does not wait for the grid before it: launch it without dependent"
            )
        given = [self._checked(argument, number) for number, argument in enumerate(arguments)]
        if len(given) < self.manifest.arguments:
            raise CudaError(
                f"kernel '{self.manifest.entry}' expects {self.manifest.arguments} arguments, got {len(given)}"
            )
        resident = self._resident() if self.manifest.persistent else 1
        sizes = self.manifest.memory(grid, resident)
        memory = {name: self.device.empty((size,), np.uint8) for name, size in sizes.items()}
        extents: dict[str, int] = dict(zip(GRID, grid, strict=True))
        given = [*given[: self.manifest.arguments], *(extents.get(name) or memory[name] for name in launched)]
        grid = self.manifest.in_ctas(self.manifest.launched_as(grid, resident))
        values = [argument.address if isinstance(argument, DeviceArray) else argument for argument in given]
        blocks: list[ctypes.Array[ctypes.c_char]] = []
        for place, parameter in enumerate(self.manifest.params):
            packed = self._pack(parameter, given, cast("list[int]", values), f"params[{place}]")
            blocks.append(ctypes.create_string_buffer(packed, len(packed)))
        pointers = (ctypes.c_void_p * len(blocks))(*(ctypes.addressof(block) for block in blocks))
        config, attributes = self._configuration(grid, dependent, cooperative)
        config.hStream = stream
        driver, function = self.device._driver, self.function  # pyright: ignore[reportPrivateUsage]

        zeroed = [memory[name] for name in ZEROED if name in memory]

        def launch(_kept: object = (blocks, pointers, attributes, memory)) -> None:  # read at each launch
            for counter in zeroed:
                _call(driver, "cuMemsetD8Async", counter.address, 0, counter.nbytes, stream)
            _call(driver, "cuLaunchKernelEx", config, function, ctypes.addressof(pointers), 0)

        def launch_there() -> None:
            with self.device.current():
                launch()

        return launch_there if self.device.several else launch

    def _pack(
        self, parameter: Pointer | Scalar | TensorMapRecord, given: list[Argument], values: list[int], place: str
    ) -> bytes:
        if isinstance(parameter, TensorMapRecord):
            return self.device.encode(parameter, values, f"{place} of kernel '{self.manifest.entry}'")
        argument = given[parameter.arg]
        where = f"argument {parameter.arg} of kernel '{self.manifest.entry}'"
        if isinstance(parameter, Scalar):
            return pack_scalar(parameter.dtype, argument, where)
        if not isinstance(argument, DeviceArray):
            raise CudaError(f"{where} is a pointer to {parameter.dtype}: pass an array, not {argument!r}")
        if not parameter.launch and argument.dtype.itemsize != POINTEES.get(
            parameter.dtype, 8
        ):  # pointers to pointers have 8 bytes
            raise CudaError(f"{where} is a pointer to {parameter.dtype}: the array holds {argument.dtype}")
        return struct.pack("<Q", argument.address)

    def _checked(self, argument: object, number: int) -> Argument:
        if not isinstance(argument, DeviceArray | np.generic | int | float):
            got = type(argument).__name__
            raise CudaError(f"argument {number} is {got}: pass an array of the device (put) or a number")
        if isinstance(argument, DeviceArray) and argument.ordinal != self.device.ordinal:
            where = f"kernel '{self.manifest.entry}' is loaded on device {self.device.ordinal}"
            raise CudaError(f"argument {number} is on device {argument.ordinal}, {where}: load it there too")
        return cast("Argument", argument)

    def _resident(self) -> int:
        """Tile blocks that fit the device at once: CTAs, or clusters of them."""
        if self.manifest.ctas > 1:
            return self._resident_clusters()
        threads = math.prod(self.manifest.block)
        call = self.device._call  # pyright: ignore[reportPrivateUsage]
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        return self.device.multiprocessors * int(call(name, self.function, threads, self.manifest.dynamic_smem))

    def _check_grid(self, grid: Grid) -> None:
        for extent, limit, axis, cluster in zip(grid, GRID_LIMITS, "xyz", self.manifest.along, strict=True):
            if not cluster <= extent <= limit:
                raise CudaError(f"grid {axis} = {extent // cluster} is not within 1 to {limit // cluster}")

    def _resident_clusters(self) -> int:
        """Clusters that fit the device at once."""
        config, _ = self._configuration(self.manifest.cluster, False)
        call = self.device._call  # pyright: ignore[reportPrivateUsage]
        return int(call("cuOccupancyMaxActiveClusters", self.function, config))

    def _configuration(self, grid: Grid, dependent: bool, cooperative: bool = False) -> tuple[Any, list[object]]:
        """The driver's launch configuration, and the attributes that it points to."""
        driver = self.device._driver  # pyright: ignore[reportPrivateUsage]
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        config.blockDimX, config.blockDimY, config.blockDimZ = self.manifest.block
        config.sharedMemBytes = self.manifest.dynamic_smem
        attributes: list[object] = []
        if self.manifest.cluster != (1, 1, 1):
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            dims = attribute.value.clusterDim
            dims.x, dims.y, dims.z = self.manifest.cluster
            attributes.append(attribute)
        if dependent:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            attribute.value.programmaticStreamSerializationAllowed = 1
            attributes.append(attribute)
        if cooperative:
            attribute = driver.CUlaunchAttribute()
            attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
            attribute.value.cooperative = 1
            attributes.append(attribute)
        config.attrs, config.numAttrs = attributes, len(attributes)
        return config, attributes


_SHARED: dict[tuple[int, int], Device] = {}


def shared(ordinal: int = 0) -> Device:
    """A device of this process, opened once for all launches and released when the process ends.

    Raises NoDeviceError where there is none of this number.
    """
    driver = load_driver()
    key = id(driver), ordinal
    if key not in _SHARED:
        _SHARED[key] = device = Device(ordinal, driver)  # which keeps the driver, so that its id stays its own
        atexit.register(device.close, quiet=True)
    return _SHARED[key]


def run(
    image: bytes | str,
    manifest: Mapping[str, object],
    grid: Grid,
    arguments: Sequence[object],
    device: Device | None = None,
) -> None:
    """Run a kernel over `grid` tile blocks on NumPy arrays and numbers; arrays are written in place.

    An array given twice is one allocation. Raises CudaError (NoDeviceError where no GPU is), ManifestError.
    """
    if device is None:
        with Device() as opened:
            run(image, manifest, grid, arguments, opened)
            return
    kernel = device.load(image, manifest)
    held: dict[int, tuple[Array, DeviceArray]] = {}
    try:
        for array in filter(_is_array, arguments):
            if id(array) not in held:
                held[id(array)] = (array, device.put(array))
        kernel.prepare(grid, [held[id(a)][1] if id(a) in held else a for a in arguments])()
        device.synchronize()
        for array, there in held.values():
            if array.flags.writeable:
                device.get(there, array)
    finally:
        with suppress(CudaError):  # after a fault every call fails; report the first failure
            for _, there in held.values():
                device.free(there)


def _is_array(given: object) -> TypeGuard[Array]:
    return isinstance(given, np.ndarray)


def load_driver() -> ModuleType:
    """The module cuda.bindings.driver. Raises NoDeviceError where it is not installed."""
    try:
        return import_module("cuda.bindings.driver")
    except ModuleNotFoundError:
        raise NoDeviceError("the CUDA driver's Python bindings are missing: pip install cuda-bindings") from None


def pack_scalar(dtype: str, value: object, where: str = "the argument") -> bytes:
    """A number as the bytes of a kernel parameter of an element type. Raises CudaError where it does not fit."""
    size, is_float = SIZES[dtype], "f" in dtype
    if isinstance(value, np.generic):
        packed = cast("np.generic", value)
        if packed.dtype.itemsize == size and (packed.dtype.kind not in "iub") == is_float:
            return packed.tobytes()
    elif isinstance(value, int) and not is_float:
        bits = 8 * size if dtype != "i1" else 1
        if -(1 << (bits - 1)) <= value < 1 << bits:
            return (value & ((1 << bits) - 1)).to_bytes(size, "little")
    elif isinstance(value, int | float) and dtype in _FLOAT_FORMATS:
        try:
            return struct.pack(_FLOAT_FORMATS[dtype], value)
        except OverflowError:
            pass
    elif isinstance(value, int | float) and dtype == "bf16":
        (bits,) = struct.unpack("<I", np.float32(value).tobytes())
        nearest = bits + 0x7FFF + (bits >> 16 & 1)  # half of the last place; ties go to the even one
        return struct.pack("<H", (bits if value != value else nearest) >> 16)
    raise CudaError(f"{where} is one {dtype}: {value!r} does not fit")


_FLOAT_FORMATS = {"f16": "<e", "f32": "<f", "tf32": "<f", "f64": "<d"}


def _start(driver: ModuleType) -> None:
    try:
        _call(driver, "cuInit", 0)
    except CudaError as error:
        raise NoDeviceError(f"no GPU can be used: {error}") from None
    except RuntimeError as error:  # cuda-bindings, where libcuda is not on the system
        raise NoDeviceError(f"no CUDA driver on this machine: {error}") from None


def _call(driver: ModuleType, name: str, *arguments: object) -> Any:
    """Call a driver function; its result without the status. Raises CudaError with the driver's own words."""
    status, *results = getattr(driver, name)(*arguments)
    code = int(status)
    if code:
        named, told = (_text(getattr(driver, f)(status)[1]) for f in ("cuGetErrorName", "cuGetErrorString"))
        raise CudaError(f"{name} failed: {named} ({told})")
    return results[0] if len(results) == 1 else tuple(results)


def _text(value: object) -> str:
    return value.partition(b"\0")[0].decode(errors="replace") if isinstance(value, bytes) else str(value)


def _why_no_map(record: TensorMapRecord, base: int, dims: list[int], strides: list[int]) -> str | None:
    """The rule that the fields violate: the driver only reports an invalid value."""
    from ptxsim.errors import LaunchError
    from ptxsim.tensormap import TensorMap

    try:
        TensorMap(
            base,
            record.dtype,
            dims,
            strides,
            record.box,
            record.element_strides,
            record.swizzle,
            record.interleave,
            record.oob_fill,
            record.l2_promotion,
        )
    except LaunchError as error:
        return str(error)
    return None
