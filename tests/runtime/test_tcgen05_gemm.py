"""A whole tcgen05 GEMM with TMA, right with and without hazard tracking, and broken in many ways."""

from pathlib import Path

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, SimulatorError, TensorMap, launch

PTX = (Path(__file__).parent / "data" / "ptx" / "17_tcgen05_gemm_f16.ptx").read_text()
K = 192


def run(ptx: str, hazards: bool) -> tuple[np.ndarray, np.ndarray]:
    """What the kernel computes, and what NumPy does."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((128, K)).astype(np.float16) for _ in range(2))
    memory = GlobalMemory()
    maps = [TensorMap(memory.put(x), np.float16, (K, 128), (2 * K,), (64, 128), swizzle="128B") for x in (a, b)]
    out = memory.alloc(128 * 128 * 4)
    launch(ptx, (1, 1, 1), (128, 1, 1), [*maps, out, K], memory, hazards=hazards, max_blocks=20000)
    return memory.get(out, (128, 128), np.float32), a.astype(np.float64) @ b.astype(np.float64).T


@pytest.mark.parametrize("hazards", [False, True])
def test_gemm(hazards: bool) -> None:
    found, wanted = run(PTX, hazards)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


LAST = "tcgen05.mma.cta_group::1.kind::f16 [%r7],%rd6,%rd7,%r10,1;"
COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4+8];"
WRONG = {
    "K advance": ("add.s64 %rd6,%rd4,4;", "add.s64 %rd6,%rd4,5;"),
    "stride of B": ("or.b64 %rd5,%rd5,0x4000404000010000", "or.b64 %rd5,%rd5,0x4000402000010000"),
    "swizzle of A": ("or.b64 %rd4,%rd4,0x4000404000010000", "or.b64 %rd4,%rd4,0x8000404000010000"),
    "no version": ("or.b64 %rd4,%rd4,0x4000404000010000", "or.b64 %rd4,%rd4,0x4000004000010000"),
    "instruction descriptor, N": ("0x08200010", "0x08100010"),
    "instruction descriptor, bf16": ("0x08200010", "0x08200490"),
    "instruction descriptor, f16 result": ("0x08200010", "0x08200000"),
    "first product accumulates": ("setp.ne.u32 %p2,%r11,%r11", "setp.eq.u32 %p2,%r11,%r11"),
    "later products overwrite": ("setp.eq.u32 %p2,%r11,%r11;\n\t@%p5", "setp.ne.u32 %p2,%r11,%r11;\n\t@%p5"),
    "parity": ("xor.b32 %r12,%r12,1;", ""),
    "tx count": ("[%r4],32768", "[%r4],16384"),
    "lane offset of a warp": ("shl.b32 %r13,%r1,21", "shl.b32 %r13,%r1,20"),
    "column": ("[%r14+32]", "[%r14+33]"),
    "commit missing": (COMMIT, ""),
    "no allocation": ("@%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5],128;", ""),
    "too small an allocation": ("b32 [%r5],128", "b32 [%r5],64"),
    "no deallocation": ("@%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7,128;", ""),
    "deallocation of the wrong size": ("b32 %r7,128", "b32 %r7,64"),
    "load not waited for": ("tcgen05.wait::ld.sync.aligned;", ""),
    "commit before the last product": (f"{LAST}\n\t{COMMIT}", f"{COMMIT}\n\t{LAST}"),
    "products not waited for": ("WAITD:\tmbarrier.try_wait.parity.shared::cta.b64 %p4,[%r4+8],%r12; @!%p4 bra WAITD;",
                                "WAITD:"),
    "copies not waited for": ("WF:\tmbarrier.try_wait.parity.shared::cta.b64 %p3,[%r4],%r12; @!%p3 bra WF;", ""),
    "tensor memory used before the barrier": (
        "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n\tld.shared", "ld.shared",
    ),
    "tensor memory freed while in use": (
        "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;\n\t@%p0 tcgen05.dealloc",
        "@%p0 tcgen05.dealloc",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_broken_gemm_is_caught(name: str) -> None:
    old, new = WRONG[name]
    assert old in PTX
    try:
        found, wanted = run(PTX.replace(old, new), True)
    except SimulatorError:
        return
    assert not np.allclose(found, wanted, rtol=1e-3, atol=1e-3)


HAZARDS = {
    "load not waited for": "tcgen05.wait::ld must come first",
    "products not waited for": "loads from tensor memory that nothing has written",
    "copies not waited for": "still writing",
    "commit before the last product": "may still read",
    "no deallocation": "ends with tensor memory allocated",
}


@pytest.mark.parametrize("name", HAZARDS)
def test_the_message_says_what_is_missing(name: str) -> None:
    with pytest.raises(HazardError, match=HAZARDS[name]):
        run(PTX.replace(*WRONG[name]), True)
