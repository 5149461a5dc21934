"""Hazard mode on tcgen05: what each missing wait, fence or barrier is reported as, and what is in order by itself."""

import numpy as np
import pytest

from ptxsim import DeadlockError, GlobalMemory, HazardError, launch
from tests.runtime.tcgen05_harness import Shape, descriptor, kernel
from tests.runtime.test_tcgen05_mma import code, noise, places, shared_image
from tests.runtime.wgmma_harness import draw


def run(ptx: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    pa, pb = places()
    a, b = draw(rng, (128, 16), "f16"), draw(rng, (48, 16), "f16")
    memory = GlobalMemory()
    args = [memory.put(shared_image(1, (0, a, pa), (0, b, pb))), memory.put(noise(1)), memory.alloc(128 * 2048)]
    launch(ptx, (1,), (128,), [*args, memory.put(np.zeros(1))], memory, hazards=True, max_blocks=5000)
    return memory.get(args[2], (128, 512), np.float32)


def product(n: int = 48, enable: int = 1, column: int = 64, a: str = "%rd10") -> str:
    pa, pb = places()
    text = code("f16", str(descriptor(pa)), descriptor(pb), Shape(128, n, 0, 0).bits(), enable)
    return text.replace("%tm, 64", f"%tm, {column}").replace("[%r21], %rd10", f"[%r21], {a}")


COMMIT = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];"
SYNC = "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;"
COPY = (
    f"mov.u64 %rd12, {descriptor(places()[0])}; add.u32 %r25, %tm, 200; tcgen05.cp.cta_group::1.128x256b [%r25], %rd12;"
)
FROM_TENSOR = "add.u32 %r26, %tm, 200; " + product(a="[%r26]")


@pytest.mark.parametrize(
    "text",
    [
        product() + product(),  # one shape on one accumulator
        COPY + FROM_TENSOR,  # a copy before a product that reads it
        product() + product(16, 0, 300),  # different accumulators
        product(48, 0) + COPY,
    ],
)
def test_operations_in_order_by_themselves(text: str) -> None:
    assert np.isfinite(run(kernel(text, 1))[:, 64:112]).all()


@pytest.mark.parametrize(
    "text",
    [
        product() + product(32),  # another shape on an accumulator in flight
        product(48, 1, 200) + FROM_TENSOR,  # A is a result in flight
    ],
)
def test_operations_that_need_a_commit_between(text: str) -> None:
    with pytest.raises(HazardError, match=r"uses tensor memory that the tcgen05\.mma"):
        run(kernel(text, 1))


MUTATIONS = {
    "proxy fence": ("fence.proxy.async.shared::cta;", "", "no fence.proxy.async"),
    "barrier before the product": (f"{SYNC}\n  @!%lead", "@!%lead", "no barrier between"),
    "wait::st": (
        "tcgen05.wait::st.sync.aligned;\n  add.u64", "add.u64", "tcgen05.wait::st|tcgen05.ld or st may still use",
    ),
    "wait for the commit": (
        "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra WAIT;", "", "tensor memory that",
    ),
    "load before the wait": (
        "WAIT:\n", "WAIT: add.u32 %r21, %row, 64; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r30}, [%r21];\n",
        "tensor memory that",
    ),
    "wait::ld": ("tcgen05.wait::ld.sync.aligned;", "", "tcgen05.wait::ld"),
    "barrier before dealloc": (f"{SYNC}\n  @%p0 tcgen05.relinq", "@%p0 tcgen05.relinq", "no barrier between"),
    "barrier after alloc": (f"{SYNC}\n  ld.shared.b32 %tm", "ld.shared.b32 %tm", "race|nothing has written"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_what_is_missing_is_reported(name: str) -> None:
    old, new, message = MUTATIONS[name]
    ptx = kernel(product(), 1)
    assert old in ptx
    with pytest.raises(HazardError, match=message):
        run(ptx.replace(old, new))


def test_a_missing_commit_is_a_deadlock() -> None:
    with pytest.raises(DeadlockError):
        run(kernel(product(), 1).replace(COMMIT, ""))


def test_shared_memory_of_a_product_in_flight_must_stay() -> None:
    text = product() + f"mov.u32 %r30, 0; st.shared.b32 [%r2+{descriptor(places()[0]) % (1 << 14) * 16 - 1024}], %r30;"
    with pytest.raises(HazardError, match="may still read"):
        run(kernel(text, 1))
    waited = f"{product()} {COMMIT} SPIN: mbarrier.try_wait.parity.shared::cta.b64 %p6, [%bar], 0; @!%p6 bra SPIN;"
    ptx = kernel(waited + text[len(product()) :], 1).replace(f"{COMMIT}\nWAIT", "WAIT")
    assert np.isfinite(run(ptx)[:, 64:112]).all()


def test_accumulating_on_what_nobody_wrote() -> None:
    ptx = kernel(product(), 1)
    assert "FILL:" in ptx
    with pytest.raises(HazardError, match="nothing has written"):
        run(ptx.replace("mov.u32 %r15, 0; mov.u32 %r16, %row;\nFILL", "mov.u32 %r15, 480; mov.u32 %r16, %row;\nFILL"))


def test_loading_what_nobody_wrote() -> None:
    """All 512 columns are read back; without the stores before it the product has written 48 of them."""
    ptx = kernel(product(48, 0), 1)
    run(ptx)
    skipped = ptx.replace("mov.u32 %r15, 0; mov.u32 %r16, %row;\nFILL", "mov.u32 %r15, 480; mov.u32 %r16, %row;\nFILL")
    with pytest.raises(HazardError, match=r"tcgen05\.ld.*loads from tensor memory that nothing has written"):
        run(skipped)


@pytest.mark.parametrize(("steps", "is_cleared"), [(1, True), (0, True), (0, False), (1, False)])
def test_an_accumulator_of_no_steps(steps: int, is_cleared: bool) -> None:
    """Where a branch leaves out what writes an accumulator first, its other side must store a zero."""
    ptx = f""".version 8.8
.target sm_100a
.address_size 64
.shared .align 4 .b32 slot;
.visible .entry k(.param .u64 image, .param .u64 given, .param .u64 out, .param .u64 extra)
.reqntid 32
{{
  .reg .b32 %r<8>; .reg .pred %p<4>;
  mov.u32 %r1, slot; mov.u32 %r3, 0; mov.u32 %r4, {steps};
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], 32; bar.warp.sync -1; ld.shared.b32 %r2, [%r1];
  setp.eq.u32 %p0, %r4, 0; @%p0 bra NONE;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {{%r3}}; bra DONE;
NONE:
  {"tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r3};" if is_cleared else ""}
DONE:
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r5}}, [%r2]; tcgen05.wait::ld.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32; ret;
}}"""
    memory = GlobalMemory()
    arguments = [memory.alloc(16) for _ in range(4)]
    if steps or is_cleared:
        launch(ptx, (1,), (32,), arguments, memory, hazards=True)
        return
    with pytest.raises(HazardError, match="loads from tensor memory that nothing has written"):
        launch(ptx, (1,), (32,), arguments, memory, hazards=True)
