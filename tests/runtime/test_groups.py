"""Groups of lanes, and computations for all lanes of a group at once, compared with the plain implementation."""

import numpy as np
import pytest

from ptxsim.box import box_of
from ptxsim.decode import assign, into
from ptxsim.floats import f16_to_f32
from ptxsim.geometry import Geometry
from ptxsim.groups import Groups, warp_words
from ptxsim.machine import Machine
from ptxsim.mbarrier import Mbarriers
from ptxsim.memory import Fault, GlobalMemory
from ptxsim.pointwise import Guarded, LaneStep, Several
from ptxsim.program import Entry
from ptxsim.ptx_types import Array
from ptxsim.report import extra_wavefronts, phase_lanes
from ptxsim.tensormap import TensorMap
from ptxsim.warpgroups import fragment_index, matrix_index

CTAS, SLOTS = 8, 128
LANES = CTAS * SLOTS
LANE = np.arange(LANES)
MASKS = {
    "one warp of each CTA": LANE % SLOTS // 32 == 1,
    "every other CTA": LANE // SLOTS % 2 == 1,
    "one lane of each warp": LANE % 32 == 3,
    "one lane": LANE == 77,
    "all": LANE >= 0,
    "with holes": (LANE // SLOTS > 2) & (LANE % 7 != 0) & (LANE % SLOTS > 40),
}


def words(seed: int, dtype: type = np.uint32) -> Array:
    return np.random.default_rng(seed).integers(0, 1 << 31, LANES).astype(dtype)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_group_describes_its_mask(mask: Array) -> None:
    group = Groups(LANES, SLOTS).of(mask)
    seen = np.zeros(LANES, np.bool_)
    where = np.ones(group.shape, np.bool_) if group.where is None else group.where
    np.copyto(group.view(seen), where)
    np.testing.assert_array_equal(seen, mask)
    by_warp = mask.reshape(-1, 32)
    assert group.warps == np.count_nonzero(by_warp.any(axis=1))
    assert group.whole == bool((by_warp.any(axis=1) == by_warp.all(axis=1)).all())
    assert warp_words(mask).tolist() == [sum(1 << i for i in range(32) if row[i]) for row in by_warp]


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("guard", ["", "guard", "negated"])
@pytest.mark.parametrize("kind", ["into", "assign", "wider", "several", "constant"])
def test_bound_step_does_what_the_step_does_on_the_mask(mask: Array, guard: str, kind: str) -> None:
    a, b, chosen = words(1), words(2), words(3) % 3 == 0
    constant = np.full(LANES, 5, np.uint32)
    constant.flags.writeable = False
    found: list[Array] = []
    for bound in (False, True):
        target, wide = words(4), words(5, np.int64)
        step: LaneStep = into(target, np.add, a, b)
        if kind == "assign":
            step = assign(target, lambda x, y: x ^ y, a, b)
        elif kind == "wider":
            step = assign(wide, lambda x: x.view(np.int32), a)
        elif kind == "several":
            halves = target.view(np.uint16).reshape(-1, 2)
            step = Several([into(halves[:, n], np.positive, x.view(np.uint16)[::2]) for n, x in enumerate((a, b))])
        elif kind == "constant":
            step = assign(target, lambda x, y: x * y, a, constant)
        if guard:
            step = Guarded(step, chosen, guard == "negated")
        if bound:
            step.bind(Groups(LANES, SLOTS).of(mask))()
        else:
            step(mask)
        found.append(np.concatenate([target.astype(np.int64), wide]))
    np.testing.assert_array_equal(found[0], found[1])


def test_every_f16_becomes_the_f32_of_its_value() -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    expected = codes.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(f16_to_f32(codes), expected)
    numbers = ~np.isnan(expected)
    assert (np.signbit(f16_to_f32(codes))[numbers] == np.signbit(expected)[numbers]).all()


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("spread", [1, 2, 16, 40])
def test_bank_conflicts_by_phase(size: int, spread: int) -> None:
    rng = np.random.default_rng(size * spread)
    address = (rng.permutation(LANES) * spread % 2048).astype(np.uint32) * np.uint32(size)
    address[:256] = np.arange(256) * size
    lanes = LANE // 32 % 3 != 1
    for chosen in (None, lanes):
        expected = 0
        for first in range(0, LANES, phase_lanes(size)):
            if chosen is not None and not chosen[first]:
                continue
            touched = address[first : first + phase_lanes(size), None].astype(int) // 4 + np.arange(size // 4)
            banks = np.bincount(np.unique(touched) % 32, minlength=32)
            expected += max(int(banks.max()) - 1, 0)
        given = address if chosen is None else address[chosen]
        assert extra_wavefronts(given, chosen, size, phase_lanes(size)) == expected


def test_matrix_index_is_the_inverse_of_the_fragments() -> None:
    index = fragment_index(3, 24).reshape(-1)
    np.testing.assert_array_equal(matrix_index(3, 24)[index], np.arange(index.size))


def test_chunks_of_several_tiles_are_those_of_each() -> None:
    box = box_of(TensorMap(1 << 41, "f16", (256, 64), (512,), (64, 8), swizzle="128B"))
    places = [(0, 0), (64, 8), (192, 56)]
    columns = [np.array(axis) for axis in zip(*places, strict=True)]
    expected = [box.whole_chunks(place) for place in places]
    starts = box.chunk_starts(columns)
    assert starts is not None
    assert box.chunks is not None
    np.testing.assert_array_equal(starts[:, None] + box.chunks, expected)
    for outside in ((200, 0), (0, 57), (-8, 0), (4, 0)):
        assert box.chunk_starts([np.append(axis, c) for axis, c in zip(columns, outside, strict=True)]) is None


def mbarriers() -> tuple[Machine, Mbarriers]:
    entry = Entry("kernel", 1)
    machine = Machine(entry, Geometry((2, 1, 1), (64, 1, 1), (1, 1, 1)), 2, GlobalMemory(), 64, 0)
    return machine, Mbarriers(machine)


@pytest.mark.parametrize("cells", [[0] * 6, [0, 0, 1, 1, 1, 8], [0, 1, 0, 1, 0, 8], [8, 1, 0, 2, 3, 4]])
@pytest.mark.parametrize("room", [3, 6, 20])
def test_arrivals_without_states_are_those_with_them(cells: list[int], room: int) -> None:
    found: list[tuple[str, list[int]]] = []
    for name in ("arrive", "count"):
        machine, objects = mbarriers()
        every = np.unique(cells)
        objects.init(every, np.full(every.size, room))
        problem = ""
        try:
            getattr(objects, name)(np.array(cells), np.arange(1, 7) % 3 + 1, np.array([0, 0, 16, 0, 8, 0]))
        except Fault as fault:
            problem = f"{fault.position}: {fault.reason}"
        found.append((problem, machine.shared.cells[8].tolist() + objects.completed.tolist()))
    assert found[0] == found[1]


def test_arrivals_at_what_is_no_mbarrier_are_refused_without_states_too() -> None:
    _, objects = mbarriers()
    objects.init(np.array([0]), np.array([64]))
    with pytest.raises(Fault, match="not an mbarrier object"):
        objects.count(np.array([0, 0, 3, 3]), np.ones(4, np.int64))
