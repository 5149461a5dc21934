"""A warp-specialised Hopper GEMM: a producer warp fills a ring by TMA, a warpgroup multiplies. And what breaks it."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, SimulatorError, TensorMap, launch

K = 320
D = ",".join(f"%d{i}" for i in range(32))
# C[64, 64] = A[64, K] * B[64, K]^T; two stages of 64 columns; barriers: full 0, full 1, empty 0, empty 1
PTX = f""".version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 sa[16384];
.shared .align 1024 .b8 sb[16384];
.shared .align 8 .b64 bars[4];
.visible .entry k(.param .align 64 .b8 ma[128], .param .align 64 .b8 mb[128], .param .u64 out, .param .u32 steps)
{{
  .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .f32 %d<32>;
  mov.u32 %r0, %tid.x; mov.u32 %r1, bars; mov.u32 %r2, sa; mov.u32 %r3, sb; ld.param.u32 %r4, [steps];
  mov.b64 %rd0, ma; cvta.param.u64 %rd0, %rd0; mov.b64 %rd1, mb; cvta.param.u64 %rd1, %rd1;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 1; @%p0 mbarrier.init.shared::cta.b64 [%r1+8], 1;
  @%p0 mbarrier.init.shared::cta.b64 [%r1+16], 1; @%p0 mbarrier.init.shared::cta.b64 [%r1+24], 1;
  fence.mbarrier_init.release.cluster; bar.sync 0;
  mov.u32 %r5, 0; mov.u32 %r6, 0;
  setp.lt.u32 %p1, %r0, 128; @%p1 bra CONSUMER;
  setp.ne.u32 %p2, %r0, 128; @%p2 bra DONE;
PRODUCE:
  and.b32 %r7, %r5, 1; shl.b32 %r8, %r7, 3; add.u32 %r9, %r1, %r8; shl.b32 %r10, %r7, 13;
  shr.u32 %r11, %r5, 1; and.b32 %r11, %r11, 1; xor.b32 %r11, %r11, 1;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9+16], %r11; @!%p3 bra EMPTY;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r9], 16384;
  add.u32 %r12, %r2, %r10; add.u32 %r13, %r3, %r10; mov.u32 %r14, 0;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r12], [%rd0, {{%r6, %r14}}], [%r9];
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r13], [%rd1, {{%r6, %r14}}], [%r9];
  add.u32 %r6, %r6, 64; add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, %r4; @%p4 bra PRODUCE;
  bra DONE;
CONSUMER:
  shr.u32 %r15, %r2, 4; cvt.u64.u32 %rd4, %r15; or.b64 %rd4, %rd4, 0x4000004000010000;
  shr.u32 %r15, %r3, 4; cvt.u64.u32 %rd5, %r15; or.b64 %rd5, %rd5, 0x4000004000010000;
  setp.ne.u32 %p5, %r0, %r0;
CONSUME:
  and.b32 %r7, %r5, 1; shl.b32 %r8, %r7, 3; add.u32 %r9, %r1, %r8; shr.u32 %r11, %r5, 1; and.b32 %r11, %r11, 1;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], %r11; @!%p3 bra FULL;
  mul.wide.u32 %rd6, %r7, 512; add.u64 %rd7, %rd4, %rd6; add.u64 %rd8, %rd5, %rd6;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{D}}}, %rd7, %rd8, %p5, 1, 1, 0, 0;
  setp.eq.u32 %p5, %r0, %r0; add.u64 %rd7, %rd7, 2; add.u64 %rd8, %rd8, 2;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{D}}}, %rd7, %rd8, %p5, 1, 1, 0, 0;
  add.u64 %rd7, %rd7, 2; add.u64 %rd8, %rd8, 2;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{D}}}, %rd7, %rd8, %p5, 1, 1, 0, 0;
  add.u64 %rd7, %rd7, 2; add.u64 %rd8, %rd8, 2;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{D}}}, %rd7, %rd8, %p5, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  setp.eq.u32 %p6, %r0, 37; @%p6 mbarrier.arrive.shared::cta.b64 _, [%r9+16];
  add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, %r4; @%p4 bra CONSUME;
  ld.param.u64 %rd2, [out]; mul.wide.u32 %rd3, %r0, 128; add.u64 %rd2, %rd2, %rd3;
  {" ".join(f"st.global.f32 [%rd2+{4 * i}], %d{i};" for i in range(32))}
DONE:
  ret;
}}"""


def run(ptx: str, hazards: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, K)).astype(np.float16) for _ in range(2))
    memory = GlobalMemory()
    maps = [TensorMap(memory.put(x), np.float16, (K, 64), (2 * K,), (64, 64), swizzle="128B") for x in (a, b)]
    out = memory.alloc(128 * 32 * 4)
    launch(ptx, (2,), (160,), [*maps, out, K // 64], memory, hazards=hazards, max_blocks=20000)
    registers = memory.get(out, (128, 32), np.float32)
    thread, i = np.arange(128)[:, None], np.arange(32)[None, :]
    found = np.zeros((64, 64), np.float32)
    found[16 * (thread // 32) + thread % 32 // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (thread % 4) + i % 2] = (
        registers
    )
    return found, a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize("hazards", [False, True])
def test_gemm(hazards: bool) -> None:
    found, wanted = run(PTX, hazards)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


WAIT = "wgmma.wait_group.sync.aligned 0;"
ARRIVE = "setp.eq.u32 %p6, %r0, 37; @%p6 mbarrier.arrive.shared::cta.b64 _, [%r9+16];"
WAIT_EMPTY = "EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9+16], %r11; @!%p3 bra EMPTY;"
WAIT_FULL = "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r9], %r11; @!%p3 bra FULL;"
WRONG = {
    "arrive before the wait": (f"{WAIT}\n  {ARRIVE}", f"{ARRIVE}\n  {WAIT}"),
    "no wait for the empty slot": (WAIT_EMPTY, ""),
    "no wait for the full slot": (WAIT_FULL, ""),
    "one group left": ("wait_group.sync.aligned 0", "wait_group.sync.aligned 1"),
    "producer parity": ("xor.b32 %r11, %r11, 1;", ""),
    "consumer parity": ("and.b32 %r11, %r11, 1;\nFULL", "mov.u32 %r11, 0;\nFULL"),
    "tx count": ("16384;\n  add", "8192;\n  add"),
    "stage stride": ("mul.wide.u32 %rd6, %r7, 512", "mul.wide.u32 %rd6, %r7, 256"),
    "K advance": ("add.u64 %rd7, %rd7, 2; add.u64 %rd8, %rd8, 2;\n  wgmma.mma", "add.u64 %rd7, %rd7, 2;\n  wgmma.mma"),
    "stride": ("or.b64 %rd4, %rd4, 0x4000004000010000", "or.b64 %rd4, %rd4, 0x4000002000010000"),
    "swizzle": ("or.b64 %rd5, %rd5, 0x4000004000010000", "or.b64 %rd5, %rd5, 0x8000004000010000"),
    "no fence": ("wgmma.fence.sync.aligned;", ""),
    "first product accumulates": ("setp.ne.u32 %p5, %r0, %r0;\nCONSUME", "setp.eq.u32 %p5, %r0, %r0;\nCONSUME"),
    "every thread arrives": ("@%p6 mbarrier.arrive", "mbarrier.arrive"),
    "no barrier after the init": ("fence.mbarrier_init.release.cluster; bar.sync 0;", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_gemm_is_caught(name: str) -> None:
    old, new = WRONG[name]
    assert old in PTX
    try:
        found, wanted = run(PTX.replace(old, new))
    except SimulatorError:
        return
    assert not np.allclose(found, wanted, rtol=1e-3, atol=1e-3)
