"""Kernels around one asynchronous instruction, and what TMA should do to memory, written without the simulator."""

from collections.abc import Sequence
from itertools import product

import numpy as np

SHARED_BASE = 1024
SHIFTS = {
    "none": (0, 0),
    "32B": (1, 4),
    "64B": (3, 4),
    "128B": (7, 4),
    "128B_ATOM_32B": (3, 5),
    "128B_ATOM_64B": (1, 6),
}

# Thread 0 is %leader. `tile` and `source` are buffers of 16 KB, `bars` four mbarriers.
PROLOGUE = """.version 8.8
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tile[16384];
.shared .align 1024 .b8 source[16384];
.shared .align 8 .b64 bars[4];
.visible .entry k({parameters})
{directives}
{{
  .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .b16 %h<8>; .reg .pred %p<16>; .reg .pred %leader; .reg .b32 %tid;
  .reg .b32 %tile, %source, %bars; .reg .f32 %f<16>; .reg .b128 %q;
  mov.u32 %tid, %tid.x; setp.eq.u32 %leader, %tid, 0;
  mov.u32 %tile, tile; mov.u32 %source, source; mov.u32 %bars, bars;
  {body}
  ret;
}}
"""
INIT = """@%leader mbarrier.init.shared::cta.b64 [%bars], {count};
  fence.mbarrier_init.release.cluster; bar.sync 0;"""
WAIT = """WAIT{n}: mbarrier.try_wait.parity.shared::cta.b64 %p15, [{bar}], {parity}; @!%p15 bra WAIT{n};"""
# Copies %r50 bytes of shared memory at %r51 to global memory at %rd20, all threads together.
DUMP = """mov.u32 %r52, %ntid.x; shl.b32 %r52, %r52, 4; shl.b32 %r53, %tid, 4;
DUMP: setp.ge.u32 %p14, %r53, %r50; @%p14 bra DUMPED;
  add.u32 %r54, %r51, %r53; ld.shared.v4.b32 {%r55, %r56, %r57, %r58}, [%r54];
  cvt.u64.u32 %rd21, %r53; add.u64 %rd21, %rd21, %rd20; st.global.v4.b32 [%rd21], {%r55, %r56, %r57, %r58};
  add.u32 %r53, %r53, %r52; bra DUMP;
DUMPED:"""
# Copies %r50 bytes of global memory at %rd20 to shared memory at %r51.
FILL = """mov.u32 %r52, %ntid.x; shl.b32 %r52, %r52, 4; shl.b32 %r53, %tid, 4;
FILL: setp.ge.u32 %p14, %r53, %r50; @%p14 bra FILLED;
  cvt.u64.u32 %rd21, %r53; add.u64 %rd21, %rd21, %rd20; ld.global.v4.b32 {%r55, %r56, %r57, %r58}, [%rd21];
  add.u32 %r54, %r51, %r53; st.shared.v4.b32 [%r54], {%r55, %r56, %r57, %r58};
  add.u32 %r53, %r53, %r52; bra FILL;
FILLED:"""
MAP = ".param .align 64 .b8 map[128]"


def kernel(body: str, parameters: Sequence[str] = (), directives: str = "") -> str:
    """PTX of one entry `k` with the given parameter declarations."""
    return PROLOGUE.format(parameters=", ".join(parameters), directives=directives, body=body)


def wait(bar: str = "%bars", parity: object = 0, number: int = 0) -> str:
    """A loop until the phase of a parity is complete."""
    return WAIT.format(n=number, bar=bar, parity=parity)


def box_of(
    array: np.ndarray, start: Sequence[int], box: Sequence[int], steps: Sequence[int], fill: object
) -> np.ndarray:
    """What a tile load brings; start, box and steps innermost first, array and result outermost first."""
    counts = [box[0], *(-(-extent // step) for extent, step in zip(box[1:], steps[1:], strict=True))]
    result = np.empty(counts[::-1], array.dtype)
    for index in product(*(range(count) for count in counts[::-1])):
        inner_first = index[::-1]
        where = [
            begin + (place if axis == 0 else place * steps[axis])
            for axis, (begin, place) in enumerate(zip(start, inner_first, strict=True))
        ][::-1]
        inside = all(0 <= place < extent for place, extent in zip(where, array.shape, strict=True))
        result[index] = array[tuple(where)] if inside else fill
    return result


def swizzled(data: bytes, address: int, swizzle: str) -> dict[int, bytes]:
    """16-byte chunks by shared address of dense bytes at an address."""
    bits, unit = SHIFTS[swizzle]
    result: dict[int, bytes] = {}
    for number in range(0, len(data), 16):
        where = address + number
        result[where ^ ((where >> 7 & bits) << unit)] = data[number : number + 16]
    return result


def assert_chunks(shared: np.ndarray, chunks: dict[int, bytes]) -> None:
    """Shared memory of a CTA (from address 1024 on) holds these chunks."""
    for address, data in chunks.items():
        found = shared[address - SHARED_BASE : address - SHARED_BASE + 16].tobytes()
        assert found == data, f"chunk at {address:#x}"


def strides_of(array: np.ndarray) -> list[int]:
    """Byte strides for a tensor map: innermost first, without the innermost."""
    return [int(stride) for stride in array.strides[::-1][1:]]


def dims_of(array: np.ndarray) -> list[int]:
    """Extents innermost first."""
    return [int(extent) for extent in array.shape[::-1]]
