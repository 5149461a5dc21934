"""What the simulated device says of itself: attributes by number, properties, limits.

Source of numbers: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; of codes and structs:
cuda.h and driver_types.h of CUDA 12.9 and 13.0.
"""

from __future__ import annotations

import re
import struct

NAME = "TileSat PTX simulator"
UUID = b"TileSat-PTX-sim\0"
DRIVER_VERSION = 13000
MEMORY_BYTES = 64 << 30
"""What the device says it has; the process may have less."""
MULTIPROCESSORS = 8
"""Few, so that grids made to fill the device stay small."""
MAX_THREADS, WARP, REGISTERS, MAX_BLOCKS, RESERVED_SHARED = 1024, 32, 65536, 32, 1024
MAX_CLUSTER = 8
"""CTAs of a cluster that every device with clusters takes; 16 only with a kernel's leave."""
# KiB of shared memory: of a CTA that asks for it, of a multiprocessor; threads of a multiprocessor.
_BY_CAPABILITY = {
    (7, 5): (64, 64, 1024),
    (8, 0): (163, 164, 2048),
    (8, 6): (99, 100, 1536),
    (8, 7): (163, 164, 1536),
    (8, 9): (99, 100, 1536),
    (9, 0): (227, 228, 2048),
    (10, 0): (227, 228, 2048),
    (10, 3): (227, 228, 2048),
    (11, 0): (227, 228, 1536),
    (12, 0): (99, 100, 1536),
    (12, 1): (99, 100, 1536),
}

Capability = tuple[int, int]


def shared_limits(capability: Capability) -> tuple[int, int, int]:
    """Bytes of shared memory of a CTA and of a multiprocessor, and its threads."""
    most, whole, threads = _BY_CAPABILITY.get(capability) or _BY_CAPABILITY[9, 0]
    return most << 10, whole << 10, threads


def attributes(capability: Capability, multiprocessors: int) -> dict[int, int]:
    """Device attributes by their numbers; those left out are 0."""
    most, whole, threads = shared_limits(capability)
    clusters = int(capability >= (9, 0))
    return {
        1: MAX_THREADS, 2: 1024, 3: 1024, 4: 64, 5: 2**31 - 1, 6: 65535, 7: 65535,
        8: 48 << 10, 9: 64 << 10, 10: WARP, 11: 2**31 - 1, 12: REGISTERS,
        13: 1_000_000, 14: 512, 15: 1, 16: multiprocessors, 19: 1, 30: 512, 31: 1, 33: 1,  # clock in kHz; ..., PCI bus
        36: 1_000_000, 37: 4096, 38: 32 << 20, 39: threads, 40: 1, 41: 1, 51: 32, 75: capability[0], 76: capability[1],
        78: 1, 79: 1, 80: 1, 81: whole, 82: REGISTERS, 83: 1, 89: 1, 90: 1, 95: 1, 97: most, 99: 1, 106: MAX_BLOCKS,
        111: RESERVED_SHARED, 115: 1, 120: clusters, 127: clusters, 129: 1,
    }  # fmt: skip


# Fields of cudaDeviceProp, with codes of `struct` (N: size_t); an attribute's number where one says the same.
_HEAD = """
name:256s uuid:16s luid:8s mask:I global:N shared@8:N registers@12:i warp@10:i pitch@11:N threads@1:i
x@2:i y@3:i z@4:i gx@5:i gy@6:i gz@7:i
"""
_PROPERTIES = {
    12: _HEAD
    + """
clock@13:i constant@9:N major@75:i minor@76:i texture@14:N texture_pitch@51:N overlap@15:i units@16:i timeout:i
integrated:i map@19:i compute_mode:i textures:40i surface_alignment@30:N concurrent@31:i ecc:i bus@33:i pci:i domain:i
tcc:i engines@40:i unified@41:i memory_clock@36:i bus_width@37:i l2@38:i persisting:i sm_threads@39:i priorities@78:i
global_l1@79:i local_l1@80:i sm_shared@81:N sm_registers@82:i managed@83:i multi:i group:i native:i ratio:i pageable:i
concurrent_managed@89:i preemption@90:i host_pointer:i cooperative@95:i cooperative_multi:i optin@97:N page_tables:i
direct:i blocks@106:i window:i reserved_shared@111:N register_host@99:i sparse:i read_only:i timeline:i pools@115:i
rdma:i flush:I ordering:i handles:I deferred:i ipc:i cluster@120:i pointers@129:i rest:63i
""",
    13: _HEAD
    + """
constant@9:N major@75:i minor@76:i texture@14:N texture_pitch@51:N units@16:i
integrated:i map@19:i textures:39i surface_alignment@30:N concurrent@31:i ecc:i bus@33:i pci:i domain:i
tcc:i engines@40:i unified@41:i bus_width@37:i l2@38:i persisting:i sm_threads@39:i priorities@78:i
global_l1@79:i local_l1@80:i sm_shared@81:N sm_registers@82:i managed@83:i multi:i group:i native:i pageable:i
concurrent_managed@89:i preemption@90:i host_pointer:i cooperative@95:i optin@97:N page_tables:i
direct:i blocks@106:i window:i reserved_shared@111:N register_host@99:i sparse:i read_only:i timeline:i pools@115:i
rdma:i flush:I ordering:i handles:I deferred:i ipc:i cluster@120:i pointers@129:i numa:5i multinode:i rest:56i
""",
}
_FIELD = re.compile(r"(\w+?)(?:@(\d+))?:(\d*)([A-Za-z])")


def properties(capability: Capability, multiprocessors: int, version: int) -> bytes:
    """A cudaDeviceProp of CUDA 12 or 13."""
    known = attributes(capability, multiprocessors)
    codes = "@"
    values: list[int | bytes] = []
    for name, number, count, code in _FIELD.findall(_PROPERTIES[version]):
        codes += count + code
        if code == "s":
            values.append(NAME.encode() if name == "name" else UUID if name == "uuid" else b"")
        elif name == "global":
            values.append(MEMORY_BYTES)
        else:
            values += [known.get(int(number or -1), 0)] * int(count or 1)
    return struct.pack(codes + "0N", *values)
