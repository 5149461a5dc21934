"""Runs tcgen05 instructions of one thread between given and returned contents of tensor memory."""

from dataclasses import dataclass

import numpy as np

from ptxsim import GlobalMemory, launch
from tests.runtime.wgmma_harness import Placement

SHARED = 65536
# SWIZZLE field of tcgen05 descriptors by width of the swizzle
SWIZZLE_CODE = {0: 0, 128: 2, 64: 4, 32: 6}


def descriptor(placement: Placement) -> int:
    """A placement as a descriptor of tcgen05."""
    fields = (placement.start >> 4) | (placement.leading >> 4) << 16 | (placement.stride >> 4) << 32
    return fields | 1 << 46 | placement.base_offset << 49 | SWIZZLE_CODE[placement.swizzle] << 61


@dataclass(frozen=True)
class Shape:
    """An instruction descriptor in words."""

    m: int
    n: int
    a: int
    b: int
    result: int = 1
    negate: tuple[int, int] = (0, 0)
    transpose: tuple[int, int] = (0, 0)
    sparse: int = 0
    saturate: int = 0

    def bits(self) -> int:
        low = self.sparse << 2 | self.saturate << 3 | self.result << 4 | self.a << 7 | self.b << 10
        flags = self.negate[0] << 13 | self.negate[1] << 14 | self.transpose[0] << 15 | self.transpose[1] << 16
        return low | flags | self.n >> 3 << 17 | self.m >> 4 << 24

    def scaled(self, scale_type: int, scale_a: int, scale_b: int) -> int:
        """The variant for block scaling."""
        plain = self.bits() & ~(3 << 4)
        return plain | scale_b << 4 | scale_type << 23 | scale_a << 29


def kernel(code: str, group: int, before: str = "", after: str = "", target: str = "sm_100a") -> str:
    """All 128 threads fill tensor memory, thread 0 of the first CTA runs `code`, all threads read it back.

    In `code`: %tm is the base of tensor memory, %lead holds in the thread that runs it.
    """
    cluster = f".reqnctapercluster {group},1,1" if group > 1 else ""
    sync = "barrier.cluster.arrive; barrier.cluster.wait;" if group > 1 else "bar.sync 0;"
    commit = f"tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster"
    commit += ".multicast::cluster.b64 [%bar], 3;" if group > 1 else ".b64 [%bar];"
    words = ",".join(f"%w{i}" for i in range(32))
    quads = [(16 * i, "{" + ",".join(f"%w{4 * i + j}" for j in range(4)) + "}") for i in range(8)]
    loads = " ".join(f"ld.global.v4.b32 {quad}, [%rd2+{offset}];" for offset, quad in quads)
    stores = " ".join(f"st.global.v4.b32 [%rd2+{offset}], {quad};" for offset, quad in quads)
    return f""".version 8.8
.target {target}
.address_size 64
.shared .align 1024 .b8 smem[{SHARED}];
.shared .align 8 .b64 done;
.shared .align 4 .b32 slot;
.visible .entry k(.param .u64 image, .param .u64 given, .param .u64 out, .param .u64 extra)
.reqntid 128
{cluster}
{{
  .reg .b32 %r<40>, %w<32>, %tm, %bar, %row; .reg .b64 %rd<30>; .reg .pred %p<8>, %lead, %first; .reg .b16 %h<4>;
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, smem; mov.u32 %bar, done; mov.u32 %r3, slot;
  setp.eq.u32 %first, %r0, 0; shr.u32 %r4, %r0, 5; setp.eq.u32 %p0, %r4, 0;
  or.b32 %r5, %r0, %r1; setp.eq.u32 %lead, %r5, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  @%p0 tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [%r3], 512;
  ld.param.u64 %rd0, [image]; mul.wide.u32 %rd1, %r1, {SHARED}; add.u64 %rd0, %rd0, %rd1;
  shl.b32 %r6, %r0, 4; mov.u32 %r7, 0;
COPY:
  add.u32 %r8, %r6, %r7; cvt.u64.u32 %rd1, %r8; add.u64 %rd1, %rd0, %rd1;
  ld.global.v4.b32 {{%r9,%r10,%r11,%r12}}, [%rd1]; add.u32 %r13, %r2, %r8;
  st.shared.v4.b32 [%r13], {{%r9,%r10,%r11,%r12}};
  add.u32 %r7, %r7, 2048; setp.lt.u32 %p1, %r7, {SHARED}; @%p1 bra COPY;
  fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync; {sync} tcgen05.fence::after_thread_sync;
  ld.shared.b32 %tm, [%r3];
  shl.b32 %row, %r4, 21; add.u32 %row, %row, %tm;
  mul.lo.u32 %r14, %r1, 128; add.u32 %r14, %r14, %r0; ld.param.u64 %rd2, [given]; mul.wide.u32 %rd3, %r14, 2048;
  add.u64 %rd2, %rd2, %rd3; mov.u32 %r15, 0; mov.u32 %r16, %row;
FILL:
  {loads} tcgen05.st.sync.aligned.32x32b.x32.b32 [%r16], {{{words}}}; tcgen05.wait::st.sync.aligned;
  add.u64 %rd2, %rd2, 128; add.u32 %r16, %r16, 32; add.u32 %r15, %r15, 32; setp.lt.u32 %p1, %r15, 512; @%p1 bra FILL;
  ld.param.u64 %rd4, [extra];
  {before}
  tcgen05.fence::before_thread_sync; {sync} tcgen05.fence::after_thread_sync;
  @!%lead bra WAIT;
  {code}
  {commit}
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra WAIT;
  tcgen05.fence::after_thread_sync;
  {after}
  ld.param.u64 %rd2, [out]; add.u64 %rd2, %rd2, %rd3; mov.u32 %r15, 0; mov.u32 %r16, %row;
READ:
  tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{words}}}, [%r16]; tcgen05.wait::ld.sync.aligned; {stores}
  add.u64 %rd2, %rd2, 128; add.u32 %r16, %r16, 32; add.u32 %r15, %r15, 32; setp.lt.u32 %p1, %r15, 512; @%p1 bra READ;
  tcgen05.fence::before_thread_sync; {sync} tcgen05.fence::after_thread_sync;
  @%p0 tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;
  @%p0 tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 %tm, 512;
  ret;
}}"""


def run(
    code: str,
    shared: np.ndarray,
    tensor: np.ndarray,
    group: int = 1,
    extra: np.ndarray | None = None,
    hazards: bool = False,
    before: str = "",
    after: str = "",
    target: str = "sm_100a",
) -> np.ndarray:
    """Tensor memory [cta, 128, 512] after `code`, from shared memory [cta, bytes] and tensor memory before it."""
    memory = GlobalMemory()
    given = np.zeros(1) if extra is None else extra
    image = np.zeros((group, SHARED), np.uint8)
    image[:, : shared.shape[1]] = shared
    args = [memory.put(image), memory.put(tensor.astype(np.uint32))]
    out = memory.alloc(group * 128 * 512 * 4)
    args += [out, memory.put(given)]
    launch(kernel(code, group, before, after, target), (group, 1, 1), (128, 1, 1), args, memory, hazards=hazards)
    return memory.get(out, (group, 128, 512), np.uint32)
