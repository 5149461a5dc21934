"""Hazard mode finds each synchronisation that a wgmma kernel lacks, and accepts the kernel that has them all."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, launch

# Two warpgroups; A and B are written by st.shared, used twice, then overwritten for a second round.
KERNEL = """.version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 sa[16384];
.shared .align 1024 .b8 sb[8192];
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 out)
{
  .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<4>; .reg .f32 %d<32>; .reg .f32 %sum;
  mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u64 %rd2, [out];
  mov.u32 %r1, sa; mov.u32 %r2, sb; mov.u32 %r20, 0; mov.f32 %sum, 0f00000000;
  shl.b32 %r3, %r0, 4; mul.wide.u32 %rd3, %r0, 16; add.u64 %rd0, %rd0, %rd3; add.u64 %rd1, %rd1, %rd3;
  shr.u32 %r4, %r0, 7; shl.b32 %r4, %r4, 13; add.u32 %r4, %r4, %r1; shr.u32 %r4, %r4, 4; cvt.u64.u32 %rd4, %r4;
  or.b64 %rd4, %rd4, 0x4000004000010000;
  shr.u32 %r5, %r2, 4; cvt.u64.u32 %rd5, %r5; or.b64 %rd5, %rd5, 0x4000004000010000;
ROUND:
  ld.global.v4.b32 {%r10,%r11,%r12,%r13}, [%rd0];
  add.u32 %r6, %r1, %r3; xor.b32 %r20, %r20, 0; st.shared.v4.b32 [%r6], {%r10,%r11,%r12,%r13};
  st.shared.v4.b32 [%r6+4096], {%r11,%r12,%r13,%r10}; st.shared.v4.b32 [%r6+8192], {%r12,%r11,%r10,%r13};
  st.shared.v4.b32 [%r6+12288], {%r13,%r12,%r11,%r10};
  ld.global.v4.b32 {%r10,%r11,%r12,%r13}, [%rd1];
  add.u32 %r7, %r2, %r3; st.shared.v4.b32 [%r7], {%r10,%r11,%r12,%r13};
  st.shared.v4.b32 [%r7+4096], {%r12,%r11,%r13,%r10};
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 %p1, %r0, %r0;
  MOVES
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {D},%rd4,%rd5,%p1,1,1,0,0;
  add.u64 %rd6, %rd4, 2; add.u64 %rd7, %rd5, 2; setp.eq.u32 %p1, %r0, %r0;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {D},%rd6,%rd7,%p1,1,1,0,0;
  wgmma.commit_group.sync.aligned;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {D},%rd6,%rd7,%p1,-1,1,0,0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  SUMS
  bar.sync 1;
  add.u32 %r20, %r20, 1; setp.lt.u32 %p2, %r20, 2; @%p2 bra ROUND;
  mul.wide.u32 %rd3, %r0, 4; add.u64 %rd2, %rd2, %rd3; st.global.f32 [%rd2], %sum;
  ret;
}"""
NAMES = ",".join(f"%d{i}" for i in range(32))
KERNEL = (
    KERNEL.replace("{D}", f"{{{NAMES}}}")
    .replace("MOVES", " ".join(f"mov.f32 %d{i}, 0f00000000;" for i in range(32)))
    .replace("SUMS", " ".join(f"add.f32 %sum, %sum, %d{i};" for i in range(32)))
)


def run(ptx: str, hazards: bool = True) -> np.ndarray:
    rng = np.random.default_rng(0)
    memory = GlobalMemory()
    a = memory.put(rng.standard_normal(2048).astype(np.float16))
    b = memory.put(rng.standard_normal(2048).astype(np.float16))
    out = memory.alloc(1024)
    launch(ptx, (1, 1, 1), (256, 1, 1), [a, b, out], memory, hazards=hazards)
    return memory.get(out, 256, np.float32)


def test_right_kernel_gives_the_same_with_and_without_hazards() -> None:
    eager, late = run(KERNEL, False), run(KERNEL)
    assert np.isfinite(eager).all()
    assert np.abs(eager).min() > 0
    np.testing.assert_array_equal(eager, late)


MUTATIONS = {
    "no wait": ("wgmma.wait_group.sync.aligned 0;", "", "in flight"),
    "wait for too few groups": ("wait_group.sync.aligned 0", "wait_group.sync.aligned 1", "in flight"),
    "no commit": ("wgmma.commit_group.sync.aligned;\n  wgmma.wait", "wgmma.wait", "in flight"),
    "no fence": ("wgmma.fence.sync.aligned;\n  wgmma.mma", "wgmma.mma", "no wgmma.fence"),
    "no proxy fence": ("fence.proxy.async.shared::cta;", "", "fence.proxy.async"),
    "no barrier before": ("bar.sync 0;", "", "race"),
    "no barrier after": ("bar.sync 1;", "", "may still read"),
    "accumulator read in flight": (
        "wgmma.commit_group.sync.aligned;\n  wgmma.fence", "add.f32 %sum, %sum, %d3;\n  wgmma.fence", "in flight",
    ),
    "accumulator written in flight": (
        "wgmma.commit_group.sync.aligned;\n  wgmma.fence", "mov.f32 %d3, %sum;\n  wgmma.fence", "in flight",
    ),
    "shared memory overwritten in flight": (
        "wgmma.wait_group.sync.aligned 0;", "st.shared.b32 [%r6], %r10; wgmma.wait_group.sync.aligned 0;",
        "may still read",
    ),
    "another shape on results in flight": (
        "m64n64k16.f32.f16.f16 {" + NAMES + "},%rd6,%rd7,%p1,-1",
        "m64n32k16.f32.f16.f16 {" + ",".join(NAMES.split(",")[:16]) + "},%rd6,%rd7,%p1,-1", "in flight",
    ),
    "shared memory that nobody wrote": ("add.u64 %rd6, %rd4, 2;", "add.u64 %rd6, %rd4, 256;", "nothing has written"),
    "accumulator never written": (
        "mov.f32 %d9, 0f00000000;", "", "has not written",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_missing_synchronisation_is_reported(name: str) -> None:
    old, new, message = MUTATIONS[name]
    assert old in KERNEL
    ptx = KERNEL.replace(old, new)
    if name == "shared memory that nobody wrote":
        ptx = ptx.replace("sa[16384]", "sa[32768]")
    if name == "accumulator never written":
        ptx = ptx.replace("setp.ne.u32 %p1, %r0, %r0;", "setp.eq.u32 %p1, %r0, %r0;")
    with pytest.raises(HazardError, match=message):
        run(ptx)


def test_operand_a_in_registers_must_not_change_in_flight() -> None:
    rs = KERNEL.replace("},%rd6,%rd7,%p1,-1,1,0,0;", "},{%r30,%r31,%r32,%r33},%rd7,%p1,-1,1,0;").replace(
        "ROUND:\n", "ROUND:\n mov.b32 %r30, 0x3c003c00; mov.b32 %r31, %r30; mov.b32 %r32, %r30; mov.b32 %r33, %r30;\n"
    )
    np.testing.assert_array_equal(run(rs, False), run(rs))
    wait = "wgmma.wait_group.sync.aligned 0;"
    with pytest.raises(HazardError, match="operand A"):
        run(rs.replace(wait, f"mov.b32 %r31, 0; {wait}"))
    run(rs.replace(wait, f"mov.b32 %r34, %r31; {wait}"))
    fence = "wgmma.fence.sync.aligned;\n  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" + NAMES + "},{"
    assert fence in rs
    changed = rs.replace(fence, "mov.b32 %r31, 0x3c003c00;\n" + fence.removeprefix("wgmma.fence.sync.aligned;"))
    with pytest.raises(HazardError, match=r"no wgmma\.fence"):
        run(changed)


RING = """.version 8.4
.target sm_90a
.address_size 64
.shared .align 1024 .b8 sa[8192];
.shared .align 1024 .b8 sb[8192];
.shared .align 8 .b64 bars[4];
.visible .entry k(.param .u64 a, .param .u64 out)
{
  .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<8>; .reg .f32 %d<32>; .reg .f32 %sum;
  mov.u32 %r0, %tid.x; ld.param.u64 %rd0, [a]; ld.param.u64 %rd2, [out];
  mov.u32 %r1, sa; mov.u32 %r2, sb; mov.u32 %r3, bars; mov.f32 %sum, 0f00000000; mov.u32 %r8, 0; mov.u32 %r9, 0;
  setp.eq.u32 %p0, %r0, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r3], 1; @%p0 mbarrier.init.shared::cta.b64 [%r3+8], 4;
  fence.mbarrier_init.release.cluster; bar.sync 0;
  setp.ge.u32 %p1, %r0, 128; @%p1 bra PRODUCER;
  shr.u32 %r4, %r1, 4; cvt.u64.u32 %rd4, %r4; or.b64 %rd4, %rd4, 0x4000004000010000;
  shr.u32 %r5, %r2, 4; cvt.u64.u32 %rd5, %r5; or.b64 %rd5, %rd5, 0x4000004000010000;
  and.b32 %r6, %r0, 31; setp.eq.u32 %p5, %r6, 0; setp.eq.u32 %p4, %r0, %r0;
  MOVES
CONSUME:
F: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], %r8; @!%p2 bra F;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {D},%rd4,%rd5,%p4,1,1,0,0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%p5 mbarrier.arrive.shared::cta.b64 _, [%r3+8];
  xor.b32 %r8, %r8, 1; add.u32 %r9, %r9, 1; setp.lt.u32 %p3, %r9, 3; @%p3 bra CONSUME;
  SUMS
  mov.u32 %r10, %ctaid.x; mad.lo.u32 %r10, %r10, 128, %r0;
  mul.wide.u32 %rd3, %r10, 4; add.u64 %rd2, %rd2, %rd3; st.global.f32 [%rd2], %sum;
  bra DONE;
PRODUCER:
  setp.ne.u32 %p4, %r0, 128; @%p4 bra DONE; mov.u32 %r8, 1;
FILL:
E: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3+8], %r8; @!%p2 bra E;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 16384;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 8192, [%r3];
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd0], 8192, [%r3];
  xor.b32 %r8, %r8, 1; add.u32 %r9, %r9, 1; add.u64 %rd0, %rd0, 8192; setp.lt.u32 %p3, %r9, 3; @%p3 bra FILL;
DONE:
  ret;
}"""
RING = (
    RING.replace("{D}", f"{{{NAMES}}}")
    .replace("MOVES", " ".join(f"mov.f32 %d{i}, 0f00000000;" for i in range(32)))
    .replace("SUMS", " ".join(f"add.f32 %sum, %sum, %d{i};" for i in range(32)))
)
RING_WAIT = "  wgmma.wait_group.sync.aligned 0;\n"
RING_ARRIVAL = "  @%p5 mbarrier.arrive.shared::cta.b64 _, [%r3+8];\n"


def run_ring(ptx: str, threads: int, hazards: bool = True) -> np.ndarray:
    """Three CTAs sum three products of a tile with itself; a thread behind the warpgroup fills the one stage."""
    rng = np.random.default_rng(0)
    memory = GlobalMemory()
    tiles, out = memory.put(rng.standard_normal(3 * 4096).astype(np.float16)), memory.alloc(3 * 512)
    launch(ptx, (3,), (threads,), [tiles, out], memory, hazards=hazards)
    return memory.get(out, 384, np.float32)


@pytest.mark.parametrize("threads", [160, 256, 288])
def test_bulk_copies_into_a_stage_that_wgmma_may_still_read(threads: int) -> None:
    """Also where a CTA does not end with a whole warpgroup."""
    np.testing.assert_array_equal(run_ring(RING, threads), run_ring(RING, threads, False))
    early = RING.replace(RING_WAIT + RING_ARRIVAL, RING_ARRIVAL + RING_WAIT)
    fewer = RING.replace(RING_WAIT, RING_WAIT.replace("0;", "1;"))
    fewer = fewer.replace("  add.f32 %sum, %sum, %d0;", RING_WAIT + "  add.f32 %sum, %sum, %d0;")
    unasked = RING.replace("@!%p2 bra E;", "")
    for broken, message in (
        (early, "may still read"),
        (fewer, "may still read"),
        (unasked, "0 pending arrivals|is still writing"),
    ):
        assert broken != RING
        with pytest.raises(HazardError, match=message):
            run_ring(broken, threads)
