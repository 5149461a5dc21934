"""Every call that crosses from the C library to the server, declared once.

A row is `name [alias...](parameter, ...)`; a parameter is one of

    i32 | u32 | u64 | f32 NAME    a value that is sent; handles and addresses are u64
    - TYPE NAME                   accepted by the C function, not sent
    text NAME                     a string that is sent
    in[N] NAME                    N bytes that are sent; N is a C expression of the other parameters
    out TYPE NAME                 a value that comes back; the C function takes a pointer, which may be null
    fill[N] NAME                  bytes that come back, at most N

The server calls the method of the first name with what is sent, in order, and gets what comes back as a tuple. Names
that begin with `sim_` are not exported: hand-written C calls them. Source of the signatures: cuda.h and
cuda_runtime_api.h of CUDA 13.0.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache

ROWS = """
cuInit(- u32 flags)
cuDriverGetVersion cudaDriverGetVersion cudaRuntimeGetVersion(out i32 version)

cuDeviceGetCount cudaGetDeviceCount(out i32 count)
cuDeviceGet(out i32 device, i32 ordinal)
cuDeviceGetName(fill[size] name, i32 size, i32 device)
cuDeviceGetUuid cuDeviceGetUuid_v2(fill[16] uuid, i32 device)
cuDeviceGetLuid(fill[8] luid, out u32 mask, i32 device)
cuDeviceGetPCIBusId cudaDeviceGetPCIBusId(fill[size] name, i32 size, i32 device)
cuDeviceGetByPCIBusId cudaDeviceGetByPCIBusId(out i32 device, text name)
cuDeviceTotalMem_v2 cuDeviceTotalMem(out u64 bytes, i32 device)
cuDeviceGetAttribute cudaDeviceGetAttribute(out i32 value, i32 attribute, i32 device)
cuDeviceComputeCapability(out i32 major, out i32 minor, i32 device)
cuDeviceCanAccessPeer cudaDeviceCanAccessPeer(out i32 can, i32 device, i32 peer)
cuDeviceGetDefaultMemPool cuDeviceGetMemPool cudaDeviceGetDefaultMemPool cudaDeviceGetMemPool(out u64 pool, i32 device)
cuMemPoolCreate cudaMemPoolCreate(out u64 pool, - u64 properties)
cuMemPoolDestroy cudaMemPoolDestroy(u64 pool)
cuMemPoolTrimTo cudaMemPoolTrimTo(u64 pool, - u64 size)
cuMemPoolSetAttribute cudaMemPoolSetAttribute(u64 pool, - i32 attribute, - u64 value)
cuMemPoolSetAccess cudaMemPoolSetAccess(u64 pool, - u64 access, - u64 count)
cudaSetDevice(i32 device)
cudaInitDevice(i32 device, - u32 device_flags, - u32 flags)
cudaGetDevice(out i32 device)
cudaChooseDevice(out i32 device, - u64 properties)
cudaDeviceReset cudaThreadExit()
sim_properties(fill[1032] properties, i32 device, u32 major_version)

cuDevicePrimaryCtxRetain(out u64 context, i32 device)
cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxRelease cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxReset(i32 device)
cuDevicePrimaryCtxGetState(i32 device, out u32 flags, out i32 active)
cuDevicePrimaryCtxSetFlags_v2 cuDevicePrimaryCtxSetFlags(i32 device, u32 flags)
cuCtxCreate_v2 cuCtxCreate(out u64 context, - u32 flags, i32 device)
cuCtxCreate_v4(out u64 context, - u64 parameters, - u32 flags, i32 device)
cuCtxDestroy_v2 cuCtxDestroy(u64 context)
cuCtxSetCurrent cuCtxPushCurrent_v2 cuCtxPushCurrent(u64 context)
cuCtxGetCurrent cuCtxPopCurrent_v2 cuCtxPopCurrent(out u64 context)
cuCtxGetDevice(out i32 device)
cuCtxGetDevice_v2(out i32 device, - u64 context)
cuCtxGetFlags cudaGetDeviceFlags(out u32 flags)
cuCtxSetFlags cudaSetDeviceFlags(- u32 flags)
cuCtxGetApiVersion(u64 context, out u32 version)
cuCtxSynchronize cudaDeviceSynchronize cudaThreadSynchronize()
cuCtxSynchronize_v2(- u64 context)
cuCtxSetLimit cudaDeviceSetLimit(i32 limit, u64 value)
cuCtxGetLimit cudaDeviceGetLimit(out u64 value, i32 limit)
cuCtxGetCacheConfig cudaDeviceGetCacheConfig(out i32 config)
cuCtxSetCacheConfig cudaDeviceSetCacheConfig(- i32 config)
cuCtxGetSharedMemConfig cudaDeviceGetSharedMemConfig(out i32 config)
cuCtxSetSharedMemConfig cudaDeviceSetSharedMemConfig(- i32 config)
cuCtxGetStreamPriorityRange cudaDeviceGetStreamPriorityRange(out i32 least, out i32 greatest)
cuCtxResetPersistingL2Cache cudaCtxResetPersistingL2Cache()
cuCtxEnablePeerAccess(u64 context, - u32 flags)
cudaDeviceEnablePeerAccess(i32 peer, - u32 flags)
cudaProfilerStart cuProfilerStart cudaProfilerStop cuProfilerStop()

sim_announce(in[size] image, - u64 size)
sim_load(out u64 module, in[size] image, - u64 size, fill[room] log, u64 room)
cuModuleUnload cuLibraryUnload cudaLibraryUnload(u64 module)
cuModuleGetFunction cuLibraryGetKernel cudaLibraryGetKernel(out u64 function, u64 module, text name)
cuModuleGetGlobal_v2 cuModuleGetGlobal cuLibraryGetGlobal cudaLibraryGetGlobal(out u64 address, out u64 bytes, u64 module, text name)
cuModuleGetFunctionCount cuLibraryGetKernelCount cudaLibraryGetKernelCount(out u32 count, u64 module)
cuModuleGetLoadingMode(out i32 mode)
cuLibraryGetModule(out u64 module, u64 library)
cuKernelGetFunction(out u64 function, u64 kernel)
cuKernelGetLibrary cuFuncGetModule(out u64 module, u64 kernel)
cuKernelGetName cuFuncGetName cudaFuncGetName(out u64 name, u64 kernel)
cuFuncIsLoaded(out i32 state, u64 function)
cuFuncLoad(u64 function)
cuFuncGetAttribute(out i32 value, i32 attribute, u64 function)
cuKernelGetAttribute(out i32 value, i32 attribute, u64 function, - i32 device)
cuFuncSetAttribute(u64 function, i32 attribute, i32 value)
cuKernelSetAttribute(i32 attribute, i32 value, u64 function, - i32 device)
cuFuncSetCacheConfig cuFuncSetSharedMemConfig(u64 function, - i32 config)
cuKernelSetCacheConfig(u64 function, - i32 config, - i32 device)
cuFuncGetParamInfo cuKernelGetParamInfo(u64 function, u64 number, out u64 offset, out u64 size)
sim_parameters(u64 function, out u32 count, fill[room] layout, - u64 room)
sim_function_attributes(fill[144] attributes, u64 function)
sim_launch(u64 function, in[36] extents, u32 dynamic, u32 cooperative, in[size] parameters, - u64 size)
cuOccupancyMaxActiveBlocksPerMultiprocessor(out i32 blocks, u64 function, i32 block, u64 dynamic)
cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out i32 blocks, u64 function, i32 block, u64 dynamic, - u32 flags)
cuOccupancyAvailableDynamicSMemPerBlock(out u64 dynamic, u64 function, i32 blocks, i32 block)
sim_active_clusters(out i32 clusters, u64 function, in[36] extents, u32 dynamic)
sim_potential_clusters(out i32 size, u64 function, in[36] extents, u32 dynamic)

sim_allocate(out u64 address, u64 bytes, u32 mapped)
sim_release(u64 address)
sim_write(u64 address, in[size] data, - u64 size)
sim_read(u64 address, fill[size] data, u64 size)
sim_share(u64 address, in[size] data, - u64 size)
sim_fetch(u64 address, u64 size, out u32 changed, fill[size] data)
sim_copy(u64 to, u64 source, u64 size)
sim_fill(u64 address, u32 value, u32 width, u64 count)
sim_range(u64 address, out u64 base, out u64 size)
cuMemGetInfo_v2 cuMemGetInfo cudaMemGetInfo(out u64 free, out u64 total)
cuTensorMapEncodeTiled(fill[128] map, i32 element, u32 rank, u64 base, in[8*rank] dims, in[rank?8*(rank-1):0] strides, in[4*rank] box, in[4*rank] steps, i32 interleave, i32 swizzle, i32 promotion, i32 oob)
cuTensorMapEncodeIm2col(fill[128] map, i32 element, u32 rank, u64 base, in[8*rank] dims, in[rank?8*(rank-1):0] strides, in[rank>2?4*(rank-2):0] lower, in[rank>2?4*(rank-2):0] upper, u32 channels, u32 pixels, in[4*rank] steps, i32 interleave, i32 swizzle, i32 promotion, i32 oob)

cuStreamCreate cudaStreamCreateWithFlags(out u64 stream, - u32 flags)
cudaStreamCreate(out u64 stream)
cuStreamCreateWithPriority cudaStreamCreateWithPriority(out u64 stream, - u32 flags, - i32 priority)
cuStreamDestroy_v2 cuStreamDestroy cudaStreamDestroy(u64 stream)
cuStreamSynchronize cudaStreamSynchronize cuStreamQuery cudaStreamQuery(u64 stream)
cuStreamWaitEvent cudaStreamWaitEvent(u64 stream, u64 event, - u32 flags)
cuStreamGetPriority cudaStreamGetPriority(u64 stream, out i32 priority)
cuStreamGetFlags cudaStreamGetFlags(u64 stream, out u32 flags)
cuStreamGetId cudaStreamGetId(u64 stream, out u64 number)
cuStreamGetCtx(u64 stream, out u64 context)
cuStreamGetDevice cudaStreamGetDevice(u64 stream, out i32 device)
cuStreamIsCapturing cudaStreamIsCapturing(u64 stream, out i32 capture)
cudaStreamGetCaptureInfo cuStreamGetCaptureInfo_v3(u64 stream, out i32 capture, out u64 number, - u64 graph, - u64 dependencies, - u64 edges, - u64 count)
cuStreamSetAttribute cudaStreamSetAttribute(u64 stream, - i32 attribute, - u64 value)
cuStreamAttachMemAsync cudaStreamAttachMemAsync(u64 stream, - u64 address, - u64 length, - u32 flags)
cuEventCreate cudaEventCreateWithFlags(out u64 event, - u32 flags)
cudaEventCreate(out u64 event)
cuEventRecord cudaEventRecord(u64 event, u64 stream)
cuEventRecordWithFlags cudaEventRecordWithFlags(u64 event, u64 stream, - u32 flags)
cuEventSynchronize cudaEventSynchronize cuEventQuery cudaEventQuery cuEventDestroy_v2 cuEventDestroy cudaEventDestroy(u64 event)
cuEventElapsedTime_v2 cuEventElapsedTime cudaEventElapsedTime(out f32 milliseconds, u64 start, u64 stop)
sim_refuse(text name)
"""

SCALARS = {"i32": ("int32_t", "i"), "u32": ("uint32_t", "I"), "u64": ("uint64_t", "Q"), "f32": ("float", "f")}
"""Types of values: what C calls them, and their code in `struct`."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a call; how: sent, skipped, text, in, out or fill; size: a C expression for in and fill."""

    how: str
    type: str
    name: str
    size: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A row: its number on the wire, its names, the first of which the server knows, and its parameters."""

    number: int
    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    def decode(self, payload: memoryview) -> list[int | float | str | bytes]:
        """The values that a request holds, in order."""
        values: list[int | float | str | bytes] = []
        at = 0
        for parameter in self.parameters:
            if parameter.how in ("text", "in"):
                (size,) = struct.unpack_from("<Q", payload, at)
                data = bytes(payload[at + 8 : at + 8 + size])
                values.append(data.decode(errors="replace") if parameter.how == "text" else data)
                at += 8 + size
            elif parameter.how == "sent":
                code = SCALARS[parameter.type][1]
                values += struct.unpack_from(f"<{code}", payload, at)
                at += struct.calcsize(f"<{code}")
        return values

    def encode(self, results: tuple[int | float | bytes, ...]) -> bytes:
        """What comes back: the values of out and fill parameters, in order."""
        parts: list[bytes] = []
        wanted = [parameter for parameter in self.parameters if parameter.how in ("out", "fill")]
        for parameter, value in zip(wanted, results, strict=True):
            if isinstance(value, bytes):
                parts += [struct.pack("<Q", len(value)), value]
            else:
                parts.append(struct.pack(f"<{SCALARS[parameter.type][1]}", value))
        return b"".join(parts)

    def encode_log(self, text: str) -> bytes:
        """What comes back of a call that fails: a log for its fill parameter, if it has one."""
        data = text.encode() + b"\0"
        has_log = text and any(parameter.how == "fill" for parameter in self.parameters)
        return struct.pack("<Q", len(data)) + data if has_log else b""


_PARAMETER = re.compile(r"(?:(-|out) )?(?:(in|fill)\[(.*)\]|(text|i32|u32|u64|f32)) (\w+)")


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot parse the parameter {text!r}")
    mode, buffer, size, type_, name = match.groups()
    if buffer:
        return Parameter(buffer, "", name, size)
    how = {"-": "skipped", "out": "out"}.get(mode, "text" if type_ == "text" else "sent")
    return Parameter(how, type_, name)


@cache
def functions() -> tuple[Function, ...]:
    """The rows, in order of their numbers."""
    rows: list[Function] = []
    for line in filter(None, ROWS.splitlines()):
        names, _, rest = line.partition("(")
        items = [item for item in rest.removesuffix(")").split(", ") if item]
        rows.append(Function(len(rows), tuple(names.split()), tuple(map(_parameter, items))))
    return tuple(rows)
