"""Status codes of the driver and the runtime, and what they are called."""

from __future__ import annotations

SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NO_DEVICE, INVALID_DEVICE = 0, 1, 2, 100, 101
INVALID_IMAGE, NO_BINARY, INVALID_PTX, INVALID_HANDLE, NOT_FOUND = 200, 209, 218, 400, 500
ILLEGAL_ADDRESS, OUT_OF_RESOURCES, TIMEOUT, ASSERT, MISALIGNED, FAILED = 700, 701, 702, 710, 716, 719
TOO_LARGE, NOT_SUPPORTED = 720, 801

# code, name in the driver after CUDA_ERROR_, name in the runtime after cudaError, text. Source: cuda.h and
# driver_types.h of CUDA 13.0; since 10.1 both count alike.
NAMES = (
    (1, "INVALID_VALUE", "InvalidValue", "invalid argument"),
    (2, "OUT_OF_MEMORY", "MemoryAllocation", "out of memory"),
    (3, "NOT_INITIALIZED", "InitializationError", "initialization error"),
    (98, "INVALID_DEVICE_FUNCTION", "InvalidDeviceFunction", "invalid device function"),
    (100, "NO_DEVICE", "NoDevice", "no CUDA-capable device is detected"),
    (101, "INVALID_DEVICE", "InvalidDevice", "invalid device ordinal"),
    (200, "INVALID_IMAGE", "InvalidKernelImage", "device kernel image is invalid"),
    (201, "INVALID_CONTEXT", "DeviceUninitialized", "invalid device context"),
    (209, "NO_BINARY_FOR_GPU", "NoKernelImageForDevice", "no kernel image is available for execution on the device"),
    (218, "INVALID_PTX", "InvalidPtx", "a PTX JIT compilation failed"),
    (400, "INVALID_HANDLE", "InvalidResourceHandle", "invalid resource handle"),
    (500, "NOT_FOUND", "SymbolNotFound", "named symbol not found"),
    (600, "NOT_READY", "NotReady", "device not ready"),
    (700, "ILLEGAL_ADDRESS", "IllegalAddress", "an illegal memory access was encountered"),
    (701, "LAUNCH_OUT_OF_RESOURCES", "LaunchOutOfResources", "too many resources requested for launch"),
    (702, "LAUNCH_TIMEOUT", "LaunchTimeout", "the launch timed out and was terminated"),
    (704, "PEER_ACCESS_ALREADY_ENABLED", "PeerAccessAlreadyEnabled", "peer access is already enabled"),
    (710, "ASSERT", "Assert", "device-side assert triggered"),
    (712, "HOST_MEMORY_ALREADY_REGISTERED", "HostMemoryAlreadyRegistered", "the memory is already registered"),
    (713, "HOST_MEMORY_NOT_REGISTERED", "HostMemoryNotRegistered", "the pointer is not in registered memory"),
    (716, "MISALIGNED_ADDRESS", "MisalignedAddress", "misaligned address"),
    (719, "LAUNCH_FAILED", "LaunchFailure", "unspecified launch failure"),
    (720, "COOPERATIVE_LAUNCH_TOO_LARGE", "CooperativeLaunchTooLarge", "too many blocks in cooperative launch"),
    (801, "NOT_SUPPORTED", "NotSupported", "operation not supported"),
    (999, "UNKNOWN", "Unknown", "unknown error"),
)


class DriverError(Exception):
    """A call that fails.

    status: what the program gets; message: why, for the report, "" for nothing to tell; log: for the call's `fill`.
    """

    def __init__(self, status: int, message: str = "", log: str = "") -> None:
        self.status = status
        self.message = message
        self.log = log
        super().__init__(message)
