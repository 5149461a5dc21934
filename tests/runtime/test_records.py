"""Cached records of grains and of uses of mbarriers, compared with the state they represent."""

import numpy as np
import pytest

from ptxsim.geometry import WARP
from ptxsim.mbarrier_uses import use_of
from ptxsim.records import GENERIC, IS_READ, NOBODY, OBJECT, READERS, Records
from ptxsim.statements import Statements

BITS = {"readers": READERS, "is_object": OBJECT, "is_read": IS_READ, "generic": GENERIC}


@pytest.mark.parametrize("field", BITS)
def test_a_bit_of_a_record_is_that_of_its_field(field: str) -> None:
    records, where = Records(8), np.array([[1, 2], [5, 6]])
    records.start()
    records.all[field][5] = True
    for name, bits in BITS.items():
        assert records.look(where).has(bits) == (name == field)
        assert records.look(where).is_idle(bits) == (name != field)


@pytest.mark.parametrize("field", ["landing", "in_flight"])
def test_what_a_copy_writes_is_not_idle(field: str) -> None:
    records = Records(8)
    records.start()
    assert records.look(np.arange(8)).is_idle(OBJECT)
    records.all[field][3] = 1
    assert not records.look(np.arange(8)).is_idle(0)
    assert records.look(np.arange(3)).is_idle(0)


def test_the_last_lane_that_writes_a_grain_is_in_its_record() -> None:
    records, writer = Records(8), np.array([[40], [7], [3]])
    records.start()
    records.written(np.array([[0, 1], [2, 3], [3, 4]]), writer, 10 + writer, 20 + writer, strong=True)
    assert records.all["writer"].tolist() == [40, 40, 7, 3, 3, NOBODY, NOBODY, NOBODY]
    assert records.all["epoch"].tolist() == [50, 50, 17, 13, 13, 0, 0, 0]
    assert records.all["column"].tolist() == [60, 60, 27, 23, 23, 0, 0, 0]
    assert records.all["generic"].tolist() == records.all["strong"].tolist() == [True] * 5 + [False] * 3
    assert records.look(np.arange(5)).is_written
    assert not records.look(np.arange(6)).is_written


@pytest.mark.parametrize("seed", range(20))
def test_a_use_says_of_each_warp_and_cell_what_all_lanes_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = np.flatnonzero(rng.random(8 * WARP) < rng.choice([0.1, 0.9]))
    cells = rng.integers(2, 4, numbers.size) if seed % 2 else seed % 4 + numbers // (2 * WARP)
    use = use_of(numbers, cells, warps_per_cta=2, cells_per_cta=1)
    pairs = sorted({(cell, lane // WARP) for cell, lane in zip(cells.tolist(), numbers.tolist(), strict=True)})
    ends = np.append(use.starts[1:], use.rows.size)
    found = [
        (cell, int(use.speakers[row]))
        for cell, first, end in zip(use.told, use.starts.tolist(), ends.tolist(), strict=True)
        for row in use.rows[first:end].tolist()
    ]
    assert found == pairs
    assert use.distinct == list(dict.fromkeys(cells.tolist()))
    assert (use.warps == use.last // WARP).all()
    chosen = np.searchsorted(numbers, use.last), np.searchsorted(numbers, use.first[:, 0])
    assert (cells[chosen[0]] == use.cells).all()
    assert (cells[chosen[1]] == use.objects).all()
    if use.by_cta is None:
        assert seed % 2
    else:
        assert [use.distinct[place] for place in use.by_cta.tolist()] == use.cells.tolist()
        assert np.unique(use.warps).size == use.warps.size
    assert use.are_near == bool((numbers // (2 * WARP) == cells).all())


@pytest.mark.parametrize("seed", range(5))
def test_statements_are_of_all_completed_phases(seed: int) -> None:
    rng = np.random.default_rng(seed)
    statements, said = Statements(), list[tuple[int, int, list[int]]]()
    completed, width = np.zeros(12, np.int64), 3
    for _ in range(60):
        width += int(rng.integers(0, 2))
        completed += rng.random(12) < 0.2
        cells = rng.permutation(12)[: rng.integers(1, 6)].tolist()
        if rng.random() < 0.6:
            words = rng.integers(0, 1000, (len(cells), width)).astype(np.int32)
            statements.add(cells, completed[cells], words)
            said += zip(cells, completed[cells].tolist(), words.tolist(), strict=True)
        for cell, row in zip(cells, statements.of(cells, completed[cells], width).tolist(), strict=True):
            heard = [words for at, phase, words in said if at == cell and phase < completed[cell]]
            assert row == [max((words[i] for words in heard if i < len(words)), default=0) for i in range(width)]
    statements.start()
    assert not statements.has_any(range(12))
    assert not statements.of([1], np.array([9]), width).any()
