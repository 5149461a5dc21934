"""Regions of shared memory: each grain keeps the state that a shadow of single grains would have."""

import numpy as np
import pytest

from ptxsim.geometry import Geometry
from ptxsim.groups import WARP
from ptxsim.hazards import Tracker
from ptxsim.machine import Machine
from ptxsim.memory import GlobalMemory
from ptxsim.program import Entry
from ptxsim.ptx_types import Array
from ptxsim.regions import Regions

GRAIN, BYTES, CTAS = 4, 512, 2


def _machine(block: int = 32) -> Machine:
    geometry = Geometry((CTAS, 1, 1), (block, 1, 1), (1, 1, 1))
    return Machine(Entry("kernel", 1), geometry, CTAS, GlobalMemory(), BYTES, 0)


@pytest.mark.parametrize("seed", range(8))
def test_regions_hold_the_state_of_every_grain(seed: int) -> None:
    rng = np.random.default_rng(seed)
    regions = Regions(_machine(), GRAIN)
    count = CTAS * BYTES // GRAIN
    kept, expected = np.zeros(count, np.int64), np.zeros(count, np.int64)
    regions.shadows.append(kept)
    tiles: list[Array] = []
    for number in range(1, 60):
        start = int(rng.integers(CTAS)) * (count // CTAS)
        where = start + rng.permutation(count // CTAS)[: int(rng.integers(1, 40))]
        kind = rng.integers(5)
        if kind == 0:
            regions.shatter(where)
            kept[where] = number
        elif kind == 4 and number % 5 == 0:  # a batch begins, with all state as at first
            regions.start()
            kept.fill(0)
            expected.fill(0)
            continue
        elif kind == 1:
            tiles.append(np.stack([where, (where + count // CTAS) % count]))
            where = tiles[int(rng.integers(len(tiles)))]
            kept[regions.of_tiles(where)] = number
        else:
            where = np.arange(start + int(rng.integers(8)), start + 8 + int(rng.integers(1, 100)))
            kept[regions.of_cells(where, GRAIN)] = number
        expected[where] = number
        np.testing.assert_array_equal(kept[regions.first], expected)


def test_a_tile_that_is_used_as_a_whole_is_one_region() -> None:
    regions = Regions(_machine(), GRAIN)
    tile = np.arange(16, 48)[None, :]
    assert regions.of_tiles(tile).tolist() == [[16]]
    assert regions.of_tiles(tile[:, ::2].copy()).tolist() == [[16]]
    assert regions.of_tiles(tile).tolist() == [[16, 17]]


def test_a_batch_begins_with_the_regions_of_the_async_proxy() -> None:
    regions = Regions(_machine(), GRAIN)
    tile = np.arange(16, 48)[None, :]
    for _ in range(3):
        regions.start()
        assert regions.of_tiles(tile).tolist() == [[16]]
        regions.shatter(np.arange(20, 24))
        assert regions.of_tiles(tile)[0].tolist() == list(range(16, 48))
        assert regions.first.tolist()[:64] == list(range(64))


def test_the_last_lane_of_a_warp_represents_the_others_at_an_mbarrier() -> None:
    """What look, arrive and waited note, late and for one lane a warp, is what each lane would note at once."""
    found: list[list[Array]] = []
    numbers = np.flatnonzero(np.arange(CTAS * 64) % 7 != 0)
    cells = 2 + numbers // 64 * (BYTES // 8) + (numbers % 64 > 50)
    for by_warp in (True, False):
        tracker = Tracker(_machine(64), Entry("kernel", 1))
        tracker.start()
        tracker.init_mbarrier(None, np.array([0, 0, 64, 64]), np.array([2, 3, 66, 67]))  # type: ignore[arg-type]
        tracker.met(0, np.ones(CTAS * 64, np.bool_))
        for chosen in (numbers, numbers[::3], numbers[5:]):
            picked = np.searchsorted(numbers, chosen)
            if by_warp:
                tracker.look(None, chosen, cells[picked])  # type: ignore[arg-type]
            else:
                tracker._note_read(cells[picked][:, None] * (8 // tracker.grain), chosen[:, None], strong=False)
            tracker.clocks.publish(tracker.clocks.present(np.arange(CTAS * 64) % 64 < WARP))
        tracker._note_used()
        found.append([tracker._reader.copy(), tracker._read_epoch.copy(), tracker._is_read.copy()])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
