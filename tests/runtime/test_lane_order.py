"""Order by lanes in hazard mode: one lane that tells for its warp, with bar.warp.sync before and without."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, launch
from tests.runtime.async_harness import INIT, kernel, wait

MEET = "bar.warp.sync -1;"
RACE = r"race: thread \(\d+,0,0\) of CTA \(0,0,0\) {} byte \d+ of shared memory, which {} with no barrier between"
# Two warps. Each lane of the first has a word of `tile`, at %r1; the second reads them in reverse, at %r2.
ROLES = """and.b32 %r0, %tid, 31; shl.b32 %r1, %r0, 2; add.u32 %r1, %r1, %tile; sub.u32 %r2, 31, %r0;
  shl.b32 %r2, %r2, 2; add.u32 %r2, %r2, %tile; setp.ge.u32 %p0, %tid, 32; setp.eq.u32 %p1, %r0, 0; mov.u32 %r3, 7;"""


def _run(body: str, found: str | None) -> None:
    """found: the message expected, None for a right program."""
    text = kernel(body)
    if found is None:
        launch(text, (3,), (64,), [], GlobalMemory(), hazards=True)
        return
    with pytest.raises(HazardError, match=found):
        launch(text, (3,), (64,), [], GlobalMemory(), hazards=True)


WRITTEN = RACE.format("reads", r"thread \(\d+,0,0\) of CTA \(0,0,0\) wrote")
READ = RACE.format("writes", r"(thread \(\d+,0,0\) of CTA \(0,0,0\)|several threads) read")


@pytest.mark.parametrize(
    ("count", "between", "found"),
    [
        (1, f"{MEET} @%p1 ARRIVE", None),
        (1, "@%p1 ARRIVE", WRITTEN),  # lane 0 tells of its own word alone
        (1, f"@%p1 st.shared.b32 [%r1+512], %r3; {MEET} @%p1 ARRIVE", None),
        (1, f"{MEET} st.shared.b32 [%r1], %r0; @%p1 ARRIVE", WRITTEN),  # they met too early
        (1, "@%p1 bar.warp.sync 1; @%p1 ARRIVE", WRITTEN),  # the others did not
        (32, "ARRIVE", None),  # each for itself
        (31, "ARRIVE", WRITTEN),  # the last one comes with the next phase
        (33, "ARRIVE st.shared.b32 [%r1+512], %r3; @%p1 ARRIVE", None),  # what came between is not read
        (33, "ARRIVE st.shared.b32 [%r1], %r3; @%p1 ARRIVE", WRITTEN),
        (33, "@%p1 ARRIVE ARRIVE", None),
        (1, "vote.sync.any.pred %p2, %p1, -1; @%p1 ARRIVE", WRITTEN),  # which orders no memory
    ],
)
def test_words_of_a_warp_behind_an_mbarrier(count: int, between: str, found: str | None) -> None:
    arrive = "mbarrier.arrive.shared.b64 _, [%bars];"
    body = f"""{ROLES} {INIT.format(count=count)} @%p0 bra OTHER;
      st.shared.b32 [%r1], %r3; {between.replace("ARRIVE", arrive)} bra END;
      OTHER: {wait()} ld.shared.b32 %r4, [%r2]; END:"""
    _run(body, found)


@pytest.mark.parametrize(
    ("between", "found"),
    [
        (f"{MEET} @%p1 ARRIVE", None),
        ("@%p1 ARRIVE", READ),
        ("setp.lt.u32 %p2, %r0, 31; @%p2 bra ON; bra OFF; ON: OFF: ARRIVE", None),
    ],
)
@pytest.mark.parametrize("address", ["%r1", "%tile"])
def test_words_that_a_warp_has_read(between: str, found: str | None, address: str) -> None:
    """Each lane another word, or all the same one."""
    count = 1 if "@%p1" in between else 32
    body = f"""{ROLES} {INIT.format(count=count)} @!%p0 st.shared.b32 [%r1], %r3; bar.sync 0; @%p0 bra OTHER;
      ld.shared.b32 %r4, [{address}]; {between.replace("ARRIVE", "mbarrier.arrive.shared.b64 _, [%bars];")} bra END;
      OTHER: {wait()} st.shared.b32 [%r2], %r3; END:"""
    _run(body, found)


@pytest.mark.parametrize(
    ("between", "found"),
    [
        (f"{MEET} @%p1 st.release.cta.shared.b32 [%bars], %r3;", None),
        ("@%p1 st.release.cta.shared.b32 [%bars], %r3;", WRITTEN),
        (f"{MEET} fence.acq_rel.cta; @%p1 st.relaxed.cta.shared.b32 [%bars], %r3;", None),
        ("fence.acq_rel.cta; @%p1 st.relaxed.cta.shared.b32 [%bars], %r3;", WRITTEN),  # the fence of lane 0 alone
        (f"{MEET} @%p1 red.release.cta.shared.add.u32 [%bars], 7;", None),
        ("@%p1 red.release.cta.shared.add.u32 [%bars], 7;", WRITTEN),
    ],
)
def test_words_of_a_warp_behind_a_flag(between: str, found: str | None) -> None:
    body = f"""{ROLES} @%leader st.shared.b32 [%bars], 0; bar.sync 0; @%p0 bra OTHER;
      st.shared.b32 [%r1], %r3; {between} bra END;
      OTHER: ASK: ld.acquire.cta.shared.b32 %r5, [%bars]; setp.ne.u32 %p3, %r5, 7; @%p3 bra ASK;
      ld.shared.b32 %r4, [%r2]; END:"""
    _run(body, found)


@pytest.mark.parametrize("barrier", ["bar.sync 1, 64;", "barrier.cluster.arrive; barrier.cluster.wait;"])
def test_a_barrier_meets_for_the_lanes(barrier: str) -> None:
    """After it another arrival of one lane takes nothing back."""
    body = f"""{ROLES} {INIT.format(count=1)} @!%p0 st.shared.b32 [%r1], %r3; {barrier}
      @%leader mbarrier.arrive.shared.b64 _, [%bars]; ld.shared.b32 %r4, [%r2];"""
    _run(body, None)


def test_lanes_that_copy_before_one_of_them_tells() -> None:
    """What a cp.async wrote is done at the wait of its thread."""
    body = f"""{ROLES} {INIT.format(count=1)}
      ld.param.u64 %rd0, [data]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1;
      @%p0 bra OTHER; cp.async.ca.shared.global [%r1], [%rd0], 4; cp.async.wait_all; MEET
      @%p1 mbarrier.arrive.shared.b64 _, [%bars]; bra END;
      OTHER: {wait()} ld.shared.b32 %r4, [%r2]; END:"""
    memory = GlobalMemory()
    data = memory.put(np.arange(32, dtype=np.uint32))
    launch(kernel(body.replace("MEET", MEET), [".param .u64 data"]), (1,), (64,), [data], memory, hazards=True)
    with pytest.raises(HazardError, match=WRITTEN):
        launch(kernel(body.replace("MEET", ""), [".param .u64 data"]), (1,), (64,), [data], memory, hazards=True)
