"""Exchange between the lanes of a warp, with partial masks and divergence."""

from collections.abc import Callable

import numpy as np
import pytest

from ptxsim import GlobalMemory, launch
from tests.runtime.harness import LANES, floats, integers, run_lanes
from tests.runtime.test_gemm_ptx import DATA

WARPS = LANES // 32


def _shuffle(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The pseudocode of the PTX ISA, "shfl.sync", for one lane."""
    segment, value, clamp = c >> 8 & 31, b & 31, c & 31
    last = (lane & segment) | (clamp & ~segment & 31)
    first = lane & segment
    if mode == "up":
        source, valid = lane - value, lane - value >= last
    elif mode == "down":
        source, valid = lane + value, lane + value <= last
    elif mode == "bfly":
        source, valid = lane ^ value, (lane ^ value) <= last
    else:
        source = first | (value & ~segment & 31)
        valid = source <= last
    return (source if valid else lane), valid


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 8])
def test_shuffle_by_a_constant_and_by_a_register(mode: str, width: int) -> None:
    rng = np.random.default_rng(width)
    a, b = integers(rng, np.uint32), rng.integers(0, 32, LANES).astype(np.uint32)
    c = (32 - width) << 8 | (0 if mode == "up" else 31)
    for operand, shifts in (("%b", b), ("5", np.full(LANES, 5))):
        code = f"shfl.sync.{mode}.b32 %t0|%p, %a, {operand}, {c}, 0xffffffff;"
        code += "selp.u32 %t1, 0x80000000, 0, %p; xor.b32 %o, %t0, %t1;"
        found = run_lanes(code, a, b, out=np.uint32)
        for n in range(LANES):
            source, valid = _shuffle(mode, n % 32, int(shifts[n]), c)
            assert found[n] == a[n - n % 32 + source] ^ (0x80000000 if valid else 0)


def _words(truth: np.ndarray) -> np.ndarray:
    bits = (truth.reshape(-1, 32).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
    return np.repeat(bits, 32).astype(np.uint32)


def test_votes_under_a_partial_mask() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, LANES).astype(np.uint32)
    a[32:64] = 1
    lane = np.arange(LANES) % 32
    member = lane < 20
    code = "mov.u32 %t9, %laneid; setp.lt.u32 %q, %t9, 20; setp.ne.u32 %p, %a, 0; mov.u32 %o, 99;"
    found = run_lanes(code + "@%q vote.sync.ballot.b32 %o, %p, 0xfffff;", a, out=np.uint32)
    np.testing.assert_array_equal(found, np.where(member, _words((a != 0) & member), 99))
    for mode, function in (
        ("all", np.all),
        ("any", np.any),
        ("uni", lambda x, axis: np.all(x, axis) | ~np.any(x, axis)),
    ):
        found = run_lanes(
            code + f"@%q vote.sync.{mode}.pred %p, !%p, 0xfffff; selp.u32 %o, 1, 0, %p;", a, out=np.uint32
        )
        zero = (a == 0).reshape(-1, 32)[:, :20]
        expected = np.repeat(function(zero, axis=1), 32)
        np.testing.assert_array_equal(found[member], expected[member])


def test_match() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, LANES).astype(np.uint64) << np.uint64(40)
    a[64:96] = a[64]
    found = run_lanes("match.any.sync.b64 %o, %a, 0xffffffff;", a, out=np.uint32)
    for n in range(LANES):
        warp = a[n - n % 32 : n - n % 32 + 32]
        assert found[n] == sum(1 << k for k in np.flatnonzero(warp == a[n]))
    found = run_lanes("match.all.sync.b64 %t0|%p, %a, 0xffffffff; selp.u32 %o, %t0, 7, %p;", a, out=np.uint32)
    same = np.repeat([np.unique(row).size == 1 for row in a.reshape(-1, 32)], 32)
    np.testing.assert_array_equal(found, np.where(same, 0xFFFFFFFF, 7))
    assert same.any()


REDUCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "add.s32": lambda w: w.sum(axis=1, dtype=np.int32),
    "min.s32": lambda w: w.min(axis=1),
    "max.s32": lambda w: w.max(axis=1),
    "min.u32": lambda w: w.view(np.uint32).min(axis=1).view(np.int32),
    "and.b32": lambda w: np.bitwise_and.reduce(w, axis=1),
    "or.b32": lambda w: np.bitwise_or.reduce(w, axis=1),
    "xor.b32": lambda w: np.bitwise_xor.reduce(w, axis=1),
}


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_redux(operation: str) -> None:
    a = integers(np.random.default_rng(3), np.int32)
    found = run_lanes(f"redux.sync.{operation} %o, %a, 0xffffffff;", a, out=np.int32)
    np.testing.assert_array_equal(found, np.repeat(REDUCTIONS[operation](a.reshape(-1, 32)), 32))
    code = "mov.u32 %t9, %laneid; and.b32 %t9, %t9, 1; setp.eq.u32 %p, %t9, 1; mov.u32 %o, 5;"
    found = run_lanes(code + f"@%p redux.sync.{operation} %o, %a, 0xaaaaaaaa;", a, out=np.int32)
    odd = REDUCTIONS[operation](np.ascontiguousarray(a.reshape(-1, 32)[:, 1::2]))
    np.testing.assert_array_equal(found.reshape(-1, 32)[:, 1::2], np.repeat(odd, 16).reshape(-1, 16))
    np.testing.assert_array_equal(found.reshape(-1, 32)[:, 0::2], 5)


def test_redux_file() -> None:
    memory = GlobalMemory()
    address = memory.alloc(28)
    launch((DATA / "23_redux.ptx").read_text(), (1,), (32,), [address], memory, hazards=True)
    lanes = np.arange(32, dtype=np.uint32)
    expected = [496, 496, 0, 31, 0, 31, np.bitwise_xor.reduce(lanes)]
    np.testing.assert_array_equal(memory.get(address, (7,), np.uint32), expected)


def test_redux_of_floats() -> None:
    a = floats(np.random.default_rng(4), np.float32)
    a[:32] = np.nan
    found = run_lanes("redux.sync.max.f32 %o, %a, 0xffffffff;", a, out=np.float32)
    warps = a.reshape(-1, 32)
    np.testing.assert_array_equal(found[::32], np.fmax.reduce(warps, axis=1))
    found = run_lanes("redux.sync.min.abs.NaN.f32 %o, %a, 0xffffffff;", a, out=np.float32)
    np.testing.assert_array_equal(found[::32], np.minimum.reduce(np.abs(warps), axis=1))


def test_elect_activemask_and_lane_masks() -> None:
    a = np.arange(LANES).astype(np.uint32)
    code = "mov.u32 %t0, %laneid; setp.ge.u32 %p, %t0, 12; mov.u32 %o, 0; @!%p bra done;"
    found = run_lanes(code + "elect.sync %t1|%q, 0xfffff000; selp.u32 %o, %t1, 1, %q; done:", a, out=np.uint32)
    lane = a % 32
    np.testing.assert_array_equal(found, np.where(lane == 12, 12, np.where(lane > 12, 1, 0)))
    found = run_lanes(code + "activemask.b32 %o; done:", a, out=np.uint32)
    np.testing.assert_array_equal(found, np.where(lane >= 12, 0xFFFFF000, 0))
    one = np.uint32(1)
    for name, expected in (
        ("lt", (one << lane) - one),
        ("le", (one << lane) * 2 - one),
        ("eq", one << lane),
        ("ge", ~((one << lane) - one)),
        ("gt", ~((one << lane) * 2 - one)),
    ):
        found = run_lanes(f"mov.u32 %o, %lanemask_{name};", a, out=np.uint32)
        np.testing.assert_array_equal(found, expected)


def test_lanes_that_arrive_apart_meet_at_a_shuffle() -> None:
    # odd lanes run a loop first; both halves must still exchange at the one shuffle after it
    a = integers(np.random.default_rng(5), np.uint32)
    code = """
      mov.u32 %t0, %laneid; and.b32 %t1, %t0, 1; setp.eq.u32 %p, %t1, 0; mov.u32 %t2, 0; @%p bra join;
    spin: add.u32 %t2, %t2, 1; setp.lt.u32 %q, %t2, %t0; @%q bra spin;
    join: shfl.sync.bfly.b32 %t3, %a, 1, 31, 0xffffffff; add.u32 %o, %t3, %t2;"""
    found = run_lanes(code, a, out=np.uint32)
    lane = np.arange(LANES) % 32
    np.testing.assert_array_equal(found, a[np.arange(LANES) ^ 1] + np.where(lane % 2, lane, 0).astype(np.uint32))


def test_lanes_that_jump_back_to_a_shuffle_are_waited_for() -> None:
    # even lanes stand at the shuffle first, which has the smaller instruction number; odd ones come from behind it
    a = integers(np.random.default_rng(6), np.uint32)
    code = """
      mov.u32 %t0, %laneid; and.b32 %t1, %t0, 1; setp.eq.u32 %p, %t1, 1; mov.u32 %t4, %a; @%p bra far;
    near: shfl.sync.bfly.b32 %t3, %t4, 1, 31, 0xffffffff; mov.u32 %o, %t3; bra done;
    far: add.u32 %t4, %a, 7; bra near;
    done:"""
    guarded = code.replace("near: shfl", "near: setp.eq.u32 %q, %t4, %t4; @%q shfl")
    for text in (code, guarded):
        found = run_lanes(text, a, out=np.uint32)
        odd = np.arange(LANES) % 2
        np.testing.assert_array_equal(found, (a + 7 * odd.astype(np.uint32))[np.arange(LANES) ^ 1])
