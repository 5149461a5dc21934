"""Calls whose answers depend on no kernel: the device, its context, streams and events."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from runtime.driver import limits
from runtime.driver.errors import INVALID_DEVICE, NOT_SUPPORTED, DriverError
from runtime.driver.images import Capability

_CONTEXT = 1
_DEFAULT_CAPABILITY = (9, 0)


@dataclass(frozen=True, slots=True)
class Options:
    """How kernels run. capability: None for the newest that the program holds PTX for, else 9.0."""

    capability: Capability | None = None
    multiprocessors: int = limits.MULTIPROCESSORS
    hazards: bool = True
    suppress: tuple[str, ...] = ()
    schedule: str = "together"
    max_instructions: int | None = None


class Answers:
    """There is one device with one context, and everything has happened when a call returns.

    announced: the newest capability that the program's own PTX is for; fault: the status of a kernel that failed.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.handles = count(2)  # 1 is the context
        self.announced: Capability | None = None
        self.fault = 0
        self._limits: dict[int, int] = {}

    @property
    def capability(self) -> Capability:
        """The compute capability."""
        return self.options.capability or self.announced or _DEFAULT_CAPABILITY

    def check_fault(self) -> None:
        """A kernel that failed leaves the context unusable, as on a device."""
        if self.fault:
            raise DriverError(self.fault)

    # The device

    def cuInit(self) -> None:
        """Nothing to start."""

    def cuDriverGetVersion(self) -> tuple[int]:
        return (limits.DRIVER_VERSION,)

    def cuDeviceGetCount(self) -> tuple[int]:
        return (1,)

    def cuDeviceGet(self, ordinal: int) -> tuple[int]:
        return (_only(ordinal),)

    def cuDeviceGetName(self, size: int, device: int) -> tuple[bytes]:
        return (_c_string(f"{limits.NAME} (sm_{self.capability[0]}{self.capability[1]})", size),)

    def cuDeviceGetUuid(self, device: int) -> tuple[bytes]:
        return (limits.UUID,)

    def cuDeviceGetLuid(self, device: int) -> tuple[bytes, int]:
        return bytes(8), 1

    def cuDeviceGetPCIBusId(self, size: int, device: int) -> tuple[bytes]:
        return (_c_string("0000:01:00.0", size),)

    def cuDeviceGetByPCIBusId(self, name: str) -> tuple[int]:
        return (0,)

    def cuDeviceTotalMem_v2(self, device: int) -> tuple[int]:
        return (limits.MEMORY_BYTES,)

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[int]:
        _only(device)
        return (limits.attributes(self.capability, self.options.multiprocessors).get(attribute, 0),)

    def cuDeviceComputeCapability(self, device: int) -> tuple[int, int]:
        return self.capability

    def cuDeviceCanAccessPeer(self, device: int, peer: int) -> tuple[int]:
        return (0,)

    def cuDeviceGetDefaultMemPool(self, device: int) -> tuple[int]:
        return (_CONTEXT,)

    def cuMemPoolCreate(self) -> tuple[int]:
        return (_CONTEXT,)  # all pools are one

    def cuMemPoolDestroy(self, pool: int) -> None: ...

    cuMemPoolTrimTo = cuMemPoolSetAttribute = cuMemPoolSetAccess = cuMemPoolDestroy

    def cudaSetDevice(self, device: int) -> None:
        _only(device)

    cudaInitDevice = cudaSetDevice

    def cudaGetDevice(self) -> tuple[int]:
        return (0,)

    def cudaChooseDevice(self) -> tuple[int]:
        return (0,)

    def cudaDeviceReset(self) -> None:
        """Nothing is thrown away: a program that goes on may use what it has."""

    def sim_properties(self, device: int, version: int) -> tuple[bytes]:
        _only(device)
        return (limits.properties(self.capability, self.options.multiprocessors, version),)

    # Contexts

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int]:
        _only(device)
        return (_CONTEXT,)

    def cuDevicePrimaryCtxRelease_v2(self, device: int) -> None:
        _only(device)

    def cuDevicePrimaryCtxGetState(self, device: int) -> tuple[int, int]:
        return 0, 1

    def cuDevicePrimaryCtxSetFlags_v2(self, device: int, flags: int) -> None:
        _only(device)

    def cuCtxCreate_v2(self, device: int) -> tuple[int]:
        _only(device)
        return (_CONTEXT,)

    cuCtxCreate_v4 = cuCtxCreate_v2

    def cuCtxDestroy_v2(self, context: int) -> None: ...

    def cuCtxSetCurrent(self, context: int) -> None: ...

    def cuCtxGetCurrent(self) -> tuple[int]:
        return (_CONTEXT,)

    def cuCtxGetDevice(self) -> tuple[int]:
        return (0,)

    cuCtxGetDevice_v2 = cuCtxGetDevice

    def cuCtxGetFlags(self) -> tuple[int]:
        return (0,)

    def cuCtxSetFlags(self) -> None: ...

    def cuCtxGetApiVersion(self, context: int) -> tuple[int]:
        return (limits.DRIVER_VERSION,)

    def cuCtxSynchronize(self) -> None:
        self.check_fault()

    cuCtxSynchronize_v2 = cuCtxSynchronize

    def cuCtxSetLimit(self, limit: int, value: int) -> None:
        self._limits[limit] = value

    def cuCtxGetLimit(self, limit: int) -> tuple[int]:
        return (self._limits.get(limit, 0),)

    def cuCtxGetCacheConfig(self) -> tuple[int]:
        return (0,)

    def cuCtxSetCacheConfig(self) -> None: ...

    cuCtxGetSharedMemConfig = cuCtxGetCacheConfig
    cuCtxSetSharedMemConfig = cuCtxSetCacheConfig

    def cuCtxGetStreamPriorityRange(self) -> tuple[int, int]:
        return 0, 0

    def cuCtxResetPersistingL2Cache(self) -> None: ...

    def cuCtxEnablePeerAccess(self, context: int) -> None:
        raise DriverError(NOT_SUPPORTED, "there is one device")

    cudaDeviceEnablePeerAccess = cuCtxEnablePeerAccess

    def cudaProfilerStart(self) -> None: ...

    # Streams and events: everything has happened when a call returns

    def cuStreamCreate(self) -> tuple[int]:
        return (next(self.handles),)

    cudaStreamCreate = cuStreamCreateWithPriority = cuStreamCreate
    cuEventCreate = cudaEventCreate = cuStreamCreate

    def cuStreamDestroy_v2(self, stream: int) -> None: ...

    def cuStreamSynchronize(self, stream: int) -> None:
        self.check_fault()

    def cuStreamWaitEvent(self, stream: int, event: int) -> None: ...

    def cuStreamGetPriority(self, stream: int) -> tuple[int]:
        return (0,)

    cuStreamGetFlags = cuStreamGetDevice = cuStreamIsCapturing = cuStreamGetPriority

    def cuStreamGetId(self, stream: int) -> tuple[int]:
        return (stream,)

    def cuStreamGetCtx(self, stream: int) -> tuple[int]:
        return (_CONTEXT,)

    def cudaStreamGetCaptureInfo(self, stream: int) -> tuple[int, int]:
        return 0, 0

    def cuStreamSetAttribute(self, stream: int) -> None: ...

    cuStreamAttachMemAsync = cuStreamSetAttribute

    def cuEventRecord(self, event: int, stream: int) -> None:
        self.check_fault()

    cuEventRecordWithFlags = cuEventRecord

    def cuEventSynchronize(self, event: int) -> None:
        self.check_fault()

    def cuEventElapsedTime_v2(self, start: int, stop: int) -> tuple[float]:
        return (0.0,)


def _only(device: int) -> int:
    if device != 0:
        raise DriverError(INVALID_DEVICE)
    return 0


def _c_string(text: str, size: int) -> bytes:
    return text.encode()[: max(0, size - 1)] + b"\0"
