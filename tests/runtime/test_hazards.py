"""hazards=True: each missing wait, barrier or initialisation is found, and correct programs are not accused."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, launch
from tests.runtime.test_gemm_ptx import DATA
from tests.runtime.test_memory import kernel

RING = (DATA / "01_cpasync_ldmatrix_mma_f16.ptx").read_text()
FIRST_BARRIER = "cp.async.wait_group 1;\n\tbar.sync 0;"


def _ring(text: str, hazards: bool = True) -> np.ndarray:
    """The error of the one-warp GEMM against NumPy."""
    rng = np.random.default_rng(7)
    a, b = rng.standard_normal((16, 96)).astype(np.float16), rng.standard_normal((8, 96)).astype(np.float16)
    memory = GlobalMemory()
    pa, pb, pc = memory.put(a), memory.put(b), memory.alloc(512)
    launch(text, (1,), (32,), [pa, pb, pc, 96, 8], memory, hazards=hazards)
    return np.abs(memory.get(pc, (16, 8), np.float32) - a.astype(np.float64) @ b.astype(np.float64).T).max()


def test_the_ring_is_free_of_hazards() -> None:
    assert _ring(RING) < 2e-5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (FIRST_BARRIER, "bar.sync 0;", "in flight"),
        (FIRST_BARRIER, "cp.async.wait_group 2;\n\tbar.sync 0;", "in flight"),
        (FIRST_BARRIER, "cp.async.wait_group 1;", "race: .* reads byte .* wrote with no barrier between"),
        ("\tbar.sync 0;\n\tmov.u32 %r14", "\tmov.u32 %r14", "race: .* writes byte .* read with no barrier between"),
        ("cp.async.commit_group;\n\tmov.f32", "mov.f32", "in flight"),
        ("xor.b32 %r22,%r14,1", "mov.b32 %r22,%r14", "in flight|race"),
        ("@%p1 cp.async.cg.shared.global [%r12],[%rd5],16;", "", "nothing has written"),
        ("mov.f32 %f3,%f0;", "", "reads register `%f3`, which it has not written"),
    ],
)
def test_what_the_ring_needs_is_missed(old: str, new: str, message: str) -> None:
    assert old in RING
    broken = RING.replace(old, new)
    with pytest.raises(HazardError, match=message) as caught:
        _ring(broken)
    assert caught.value.line is not None
    assert "thread (" in str(caught.value)
    if "in flight" in message or "race" in message:
        _ring(broken, hazards=False)  # copies at once without the tracking: only a hazard, not a fault


def _run(body: str, threads: int = 64) -> None:
    memory = GlobalMemory()
    launch(kernel(body), (2,), (threads,), [memory.alloc(4096)] * 2, memory, hazards=True)


ADDRESSES = "mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, {other}; mad.lo.u32 %r3, %r3, 4, %r1;"
EXCHANGE = ADDRESSES + "st.shared.u32 [%r2], %r0; {sync} ld.shared.u32 %r4, [%r3];"


@pytest.mark.parametrize(
    ("other", "sync", "is_safe"),
    [
        (0, "", True),
        (1, "", False),
        (1, "bar.warp.sync 0xffffffff;", True),
        (1, "shfl.sync.idx.b32 %r5, %r0, 0, 31, 0xffffffff;", False),
        (1, "bar.sync 0;", True),
        (32, "bar.warp.sync 0xffffffff;", False),
        (32, "bar.sync 0;", True),
        (32, "membar.cta;", False),
    ],
)
def test_exchange_between_threads_needs_the_right_barrier(other: int, sync: str, is_safe: bool) -> None:
    body = EXCHANGE.format(other=other, sync=sync)
    if is_safe:
        _run(body)
        return
    with pytest.raises(HazardError, match=r"race: thread .* reads byte \d+ of shared memory, which thread .* wrote"):
        _run(body)


def test_a_barrier_of_two_warps_orders_only_these() -> None:
    body = (
        "shr.u32 %r5, %r0, 5; setp.eq.u32 %p0, %r5, 2; "
        + ADDRESSES.format(other=32)
        + "st.shared.u32 [%r2], %r0; @!%p0 bar.sync 1, 64; @!%p0 ld.shared.u32 %r4, [%r3];"
    )
    _run(body, threads=96)
    third = "@!%p0 bar.sync 1, 64; setp.eq.u32 %p1, %r5, 0; @%p1 ld.shared.u32 %r4, [%r2+256];"
    with pytest.raises(HazardError, match=r"thread \(64,0,0\) of CTA \(0,0,0\) wrote"):
        _run(body.replace("@!%p0 ld.shared.u32 %r4, [%r3];", third), threads=96)


def test_overwriting_what_another_thread_reads_is_a_race() -> None:
    body = EXCHANGE.format(other=32, sync="bar.sync 0;") + "{again} st.shared.u32 [%r2], %r4;"
    _run(body.replace("{again}", "bar.sync 0;"))
    with pytest.raises(HazardError, match=r"race: .* writes byte .* read with no barrier between"):
        _run(body.replace("{again}", ""))


def test_equal_values_may_be_written_by_many_but_different_ones_race() -> None:
    _run("mov.u32 %r1, buffer; st.shared.u32 [%r1], 7; bar.sync 0; ld.shared.u32 %r2, [%r1];")
    with pytest.raises(HazardError, match="writes a different value at the same time"):
        _run("mov.u32 %r1, buffer; st.shared.u32 [%r1], %r0;")


def test_atomics_do_not_race_with_each_other() -> None:
    start = "mov.u32 %r1, buffer; setp.eq.u32 %p0, %r0, 0; @%p0 st.shared.u32 [%r1], 0; {sync}"
    _run(start.replace("{sync}", "bar.sync 0;") + "red.shared.add.u32 [%r1], %r0; atom.shared.add.u32 %r2, [%r1], 1;")
    with pytest.raises(HazardError, match="race"):
        _run(start.replace("{sync}", "") + "red.shared.add.u32 [%r1], %r0;")


def test_shuffles_from_lanes_that_take_no_part() -> None:
    body = "setp.lt.u32 %p0, %r0, 16; @!%p0 bra out; shfl.sync.idx.b32 %r4, %r0, {source}, 31, 0xffff; out:"
    _run(body.format(source=3), threads=32)
    with pytest.raises(HazardError, match="reads from lane 20, which does not take part"):
        _run(body.format(source=20), threads=32)


MEMBERS = {
    "shfl": "shfl.sync.idx.b32 %r4, %r0, 3, 31, {mask};",
    "vote": "vote.sync.ballot.b32 %r4, %p0, {mask};",
    "match any": "match.any.sync.b32 %r4, %r0, {mask};",
    "match all": "match.all.sync.b32 %r4, %r0, {mask};",
    "redux": "redux.sync.add.s32 %r4, %r0, {mask};",
    "elect": "elect.sync _|%p1, {mask};",
    "bar.warp": "bar.warp.sync {mask};",
}


@pytest.mark.parametrize("name", MEMBERS)
def test_lanes_outside_their_own_member_mask(name: str) -> None:
    """By all lanes, under a guard, and by lanes that came alone."""
    low = "setp.lt.u32 %p0, %r0, 16; "
    branch = low + "@!%p0 bra out; {} out:"
    halves = low + "selp.u32 %r5, 0xffff, 0xffff0000, %p0; "
    _run(branch.format(MEMBERS[name].format(mask="0xffff")), threads=32)
    _run(low + "@%p0 " + MEMBERS[name].format(mask="0xffff"), threads=32)
    outside = r"thread \({},0,0\) .* names the members 0x0000{}, but is not one of them; it is lane {}"
    for body, message in (
        (low + MEMBERS[name].format(mask="0xffff"), outside.format(16, "ffff", 16)),
        (low + "@%p0 " + MEMBERS[name].format(mask="0xff00"), outside.format(0, "ff00", 0)),
        (branch.format(MEMBERS[name].format(mask="0x0fff")), outside.format(12, "0fff", 12)),
        (halves + MEMBERS[name].format(mask="-1").replace("-1", "%r5") + "setp.eq.u32 %p2, %r0, 3; "
         "selp.u32 %r5, 0xff, 0xffff, %p2; @%p0 " + MEMBERS[name].format(mask="%r5"),
         r"names the members 0x0000ffff, one of which names other members"),
    ):  # fmt: skip
        with pytest.raises(HazardError, match=message):
            _run(body, threads=32)


def test_uninitialised_registers_by_lane() -> None:
    body = "setp.lt.u32 %p0, %r0, 10; @%p0 mov.u32 %r4, 1; selp.u32 %r5, %r4, 2, %p0; add.u32 %r5, %r5, 1;"
    _run(body)
    with pytest.raises(HazardError, match=r"thread \(10,0,0\) of CTA \(0,0,0\) reads register `%r4`"):
        _run(body + "add.u32 %r5, %r4, 1;")
    with pytest.raises(HazardError, match="reads register `%p3`"):
        _run("@%p3 bra out; out:")


HANDED_ON = (
    "shr.u32 %r5, %r0, 5; setp.eq.u32 %p0, %r5, 0; mov.u32 %r1, buffer; and.b32 %r2, %r0, 31; "
    "mad.lo.u32 %r2, %r2, 4, %r1; @!%p0 bra take; {producer} bra out; take: {consumer} out:"
)


def test_what_a_warp_did_before_bar_arrive_is_ordered_before_who_waits() -> None:
    """The first warp arrives at one barrier when its stage is full, the second at another when it has read it."""
    store, load = "st.shared.u32 [%r2], %r0;", "xor.b32 %r3, %r2, 4; ld.shared.u32 %r4, [%r3];"
    full = f"{store} bar.arrive 1, 64;"
    taken = f"bar.sync 1, 64; {load}"
    _run(HANDED_ON.format(producer=full, consumer=taken))
    again = f"bar.sync 2, 64; {store} bar.arrive 1, 64;"
    _run(HANDED_ON.format(producer=f"{full} {again}", consumer=f"{taken} bar.arrive 2, 64; {taken}"))
    with pytest.raises(HazardError, match=r"race: thread \(32,0,0\) .* reads byte 4 .* wrote with no barrier between"):
        _run(HANDED_ON.format(producer=f"bar.arrive 1, 64; {store}", consumer=taken))
    with pytest.raises(HazardError, match=r"race: thread .* byte \d+ .* with no barrier between"):
        _run(HANDED_ON.format(producer=f"{full} {again}", consumer=f"bar.sync 1, 64; bar.arrive 2, 64; {load} {taken}"))


def test_bar_arrive_by_one_warp_says_nothing_of_another() -> None:
    """Of three warps the first arrives; what the second wrote stays unordered for the third."""
    body = (
        "shr.u32 %r5, %r0, 5; mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, 4, %r1; st.shared.u32 [%r2], %r0; "
        "setp.eq.u32 %p0, %r5, 0; setp.eq.u32 %p1, %r5, 2; @%p0 bar.arrive 1, 64; @%p1 bar.sync 1, 64; "
        "@%p1 ld.shared.u32 %r4, [%r2-{distance}];"
    )
    _run(body.format(distance=256), threads=96)
    with pytest.raises(HazardError, match=r"reads byte 128 of shared memory, which thread \(32,0,0\) .* wrote"):
        _run(body.format(distance=128), threads=96)
