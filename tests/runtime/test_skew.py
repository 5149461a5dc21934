"""Warps far apart: what the step of the warps orders by accident is not ordered there."""

import re

import numpy as np
import pytest

from ptxsim import DeadlockError, GlobalMemory, LaunchError, launch
from tests.runtime.test_memory import kernel

SEEDS = range(4)
# Each thread stores to global memory and reads what the same lane of another warp stored.
THROUGH_GLOBAL = """mad.wide.u32 %rd2, %r0, 4, %rd1; st.global.u32 [%rd2], %r0; {sync}
  add.u32 %r1, %r0, {distance}; and.b32 %r1, %r1, 127; mad.wide.u32 %rd3, %r1, 4, %rd1; ld.global.u32 %r2, [%rd3];
  st.global.u32 [%rd2+512], %r2;"""


def _read(body: str, schedule: str) -> np.ndarray:
    memory = GlobalMemory()
    out = memory.alloc(1024)
    launch(kernel(body), (1,), (128,), [memory.alloc(16), out], memory, schedule=schedule)
    return memory.get(out, 256, np.int32)[128:]


@pytest.mark.parametrize("distance", [32, 64])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_missing_barrier_shows_in_the_numbers(seed: int, distance: int) -> None:
    right = (np.arange(128) + distance) % 128
    with_barrier = THROUGH_GLOBAL.format(sync="bar.sync 0;", distance=distance)
    without = THROUGH_GLOBAL.format(sync="", distance=distance)
    np.testing.assert_array_equal(_read(with_barrier, f"skewed:{seed}"), right)
    np.testing.assert_array_equal(_read(without, "together"), right)  # in step nothing is seen
    assert (_read(without, f"skewed:{seed}") == -1).any()  # fresh memory


def test_seeds_give_different_orders() -> None:
    body = """shr.u32 %r1, %r0, 5; and.b32 %r2, %r0, 31; setp.eq.u32 %p0, %r2, 0;
      @%p0 atom.global.add.u32 %r3, [%rd1], 1; mad.wide.u32 %rd2, %r1, 4, %rd1; @%p0 st.global.u32 [%rd2+512], %r3;"""
    orders = {tuple(_read(body, f"skewed:{seed}")[:4] + 1) for seed in range(8)}
    assert len(orders) > 3
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert tuple(_read(body, "skewed:3")) == tuple(_read(body, "skewed:3"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_warp_that_spins_gives_way(seed: int) -> None:
    """All warps take a lock in turn."""
    body = """and.b32 %r2, %r0, 31; setp.ne.u32 %p0, %r2, 0; @%p0 bra out;
      take: atom.global.cas.b32 %r3, [%rd1], 0xffffffff, 1; setp.ne.u32 %p1, %r3, 0xffffffff; @%p1 bra take;
      ld.global.u32 %r4, [%rd1+512]; add.u32 %r4, %r4, 1; bar.warp.sync 1; st.global.u32 [%rd1+512], %r4;
      st.global.u32 [%rd1], 0xffffffff; out:"""
    assert _read(body, f"skewed:{seed}")[0] == 3  # from -1


def test_a_deadlock_is_found_at_once() -> None:
    body = "shr.u32 %r1, %r0, 5; setp.eq.u32 %p0, %r1, 2; @%p0 bar.sync 1, 128;"
    with pytest.raises(DeadlockError, match="32 threads wait for barrier 1"):
        _read(body, "skewed:1")


@pytest.mark.parametrize("schedule", ["", "skewed", "skewed:", "skewed:-1", "skewed:x", "backwards"])
def test_unknown_schedules_are_refused(schedule: str) -> None:
    message = re.escape(f'schedule {schedule!r}: expected "together" or "skewed:SEED" with a whole number')
    with pytest.raises(LaunchError, match=message):
        _read("mov.u32 %r1, 0;", schedule)
