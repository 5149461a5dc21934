"""Faults that hazards=True once passed over, each with the program that is right."""

from pathlib import Path

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, launch
from tests.runtime.async_harness import kernel, wait

PROTOCOLS = Path(__file__).parent / "data" / "protocols"
FENCE = "fence.proxy.async;"
# Thread 32 stores what thread 0 copies from shared memory to global memory, or from there to shared memory.
SHARED = """mov.u32 %r50, %tile; setp.eq.u32 %p13, %tid, 32; ld.param.u64 %rd20, [data];
  shl.b32 %r51, %tid, 2; add.u32 %r50, %r50, %r51; st.shared.b32 [%r50], %tid;
  BEFORE bar.sync 0; AFTER
  @%leader cp.async.bulk.global.shared::cta.bulk_group [%rd20], [%tile], 256;
  @%leader cp.async.bulk.commit_group; @%leader cp.async.bulk.wait_group 0;"""
GLOBAL = """setp.eq.u32 %p13, %tid, 32; ld.param.u64 %rd20, [data];
  mul.wide.u32 %rd21, %tid, 4; add.u64 %rd21, %rd20, %rd21;
  @%leader mbarrier.init.shared.b64 [%bars], 1; st.global.b32 [%rd21], %tid;
  BEFORE bar.sync 0; AFTER
  @%leader mbarrier.arrive.expect_tx.shared.b64 _, [%bars], 256;
  @%leader cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%tile], [%rd20], 256, [%bars];
  """ + wait()


def _copy(body: str, before: str, after: str) -> None:
    memory = GlobalMemory()
    text = kernel(body.replace("BEFORE", before).replace("AFTER", after), [".param .u64 data"])
    launch(text, (1,), (64,), [memory.alloc(1024)], memory, hazards=True)


@pytest.mark.parametrize("body", [SHARED, GLOBAL], ids=["shared", "global"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (FENCE, ""),  # every writer before the barrier
        ("", FENCE),  # every thread after it
        ("", f"@%leader {FENCE}"),  # the thread of the copy, which knows of the writes
        ("", f"@%p13 {FENCE} bar.sync 0;"),  # another one that knows of them, and a barrier
    ],
)
def test_a_fence_that_counts(body: str, before: str, after: str) -> None:
    _copy(body, before, after)


@pytest.mark.parametrize("body", [SHARED, GLOBAL], ids=["shared", "global"])
def test_a_fence_after_the_barrier_by_another_thread_alone(body: str) -> None:
    with pytest.raises(HazardError, match=r"wrote, and no fence\.proxy\.async after that is ordered before this"):
        _copy(body, "", f"@%p13 {FENCE}")


ENDED = """setp.eq.u32 %p13, %tid, 32; @%leader mbarrier.init.shared.b64 [%bars], COUNT; bar.sync 0;
  @%p13 mbarrier.arrive.relaxed.cta.shared.b64 _, [%bars]; BETWEEN
  @%leader mbarrier.inval.shared.b64 [%bars]; END: mov.u32 %r0, 3;"""


@pytest.mark.parametrize(
    ("count", "between", "is_right"),
    [
        (1, "@!%leader bra END;" + wait(), True),  # its phase was seen
        (2, "bar.sync 0;", True),
        (2, "", False),
        (1, "bar.warp.sync -1;", False),
    ],
)
def test_inval_after_a_relaxed_arrival(count: int, between: str, is_right: bool) -> None:
    text = kernel(ENDED.replace("COUNT", str(count)).replace("BETWEEN", between))
    if is_right:
        launch(text, (1,), (64,), [], GlobalMemory(), hazards=True)
        return
    with pytest.raises(
        HazardError, match=r"invalidates the mbarrier at .* which thread \(32,0,0\) .* arrives at with no"
    ):
        launch(text, (1,), (64,), [], GlobalMemory(), hazards=True)


def test_an_arrival_at_a_cta_that_has_ended() -> None:
    text = (PROTOCOLS / "multicast_ring.ptx").read_text()
    start, _, end = text.rpartition("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;")

    def run(text: str, schedule: str) -> None:
        memory = GlobalMemory()
        args = [memory.put(np.arange(1536, dtype=np.uint32)), memory.alloc(512), 6]
        launch(text, (2,), (96,), args, memory, hazards=True, schedule=schedule)

    run(text, "skewed:0")
    with pytest.raises(
        HazardError, match=r"uses an mbarrier in the shared memory of CTA .* whose threads have all exited"
    ):
        run(start + end, "skewed:0")


FIRST = (
    "ld.param.u64 %rd20, [data]; mul.wide.u32 %rd21, %tid, 4; add.u64 %rd20, %rd20, %rd21; st.global.b32 [%rd20], %tid;"
)
SECOND = """ld.param.u64 %rd20, [data]; mul.wide.u32 %rd21, %tid, 4; add.u64 %rd20, %rd20, %rd21;
  ld.global.b32 %r0, [%rd20+1024]; griddepcontrol.wait; ld.global.b32 %r1, [%rd20]; add.u32 %r0, %r0, %r1;
  st.global.b32 [%rd20+512], %r0;"""


@pytest.mark.parametrize("dependent", [False, True])
def test_a_grid_waits_for_the_one_before(dependent: bool) -> None:
    """What the first launch did not change may be read before."""

    def run(second: str) -> np.ndarray:
        memory = GlobalMemory()
        data = memory.put(np.arange(512, dtype=np.uint32) + np.uint32(1000))
        for body, follows in ((FIRST, False), (second, dependent)):
            launch(kernel(body, [".param .u64 data"]), (1,), (64,), [data], memory, hazards=True, dependent=follows)
        return memory.get(data, (512,), np.uint32)[128:192]

    np.testing.assert_array_equal(run(SECOND), np.arange(64) * 2 + 1256)
    without = SECOND.replace("griddepcontrol.wait;", "")
    if not dependent:
        run(without)
        return
    with pytest.raises(HazardError, match=r"reads global memory that the launch before writes; griddepcontrol\.wait"):
        run(without)
    with pytest.raises(HazardError, match="writes global memory that the launch before writes"):
        run(
            without.replace("ld.global.b32 %r1, [%rd20];", "")
            .replace("%r0, %r0, %r1", "%r0, %r0, 1")
            .replace("+512", "")
        )
