"""Layouts, shapes, shared memory, banks and access plans against direct simulation in NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lowering.atoms.mma import MMA_M16N8K16_F16
from lowering.layouts import (
    Layout,
    LayoutError,
    SharedLayout,
    access_plan,
    async_copy,
    bank_conflicts,
    coalesced,
    global_access,
    ldmatrix,
    linear_wavefronts,
    mma_tile,
    permute,
    reduce_dim,
    row_per_warp,
    slice_for_broadcast,
    swizzled,
    wavefronts,
    without_replicas,
)


@st.composite
def layouts(draw, max_bits=8, warps=2):
    """Any layout that covers its tile: a random arrangement of the unit bits, sheared, with replicas."""
    bits = draw(st.integers(0, max_bits))
    units = [1 << k for k in range(bits)]
    replicas = draw(st.integers(max(0, 5 + warps - bits), max(0, 5 + warps - bits) + 2))
    slots = draw(st.permutations(units + [0] * replicas))
    for _ in range(draw(st.integers(0, 3))):
        i, j = draw(st.integers(0, len(slots) - 1)), draw(st.integers(0, len(slots) - 1))
        if i != j:
            slots[i] ^= slots[j]
    return Layout(tuple(slots[5 + warps :]), tuple(slots[:5]), tuple(slots[5 : 5 + warps]), bits)


@st.composite
def shapes_of(draw, bits):
    """A power-of-two shape of 2**bits elements, rank 1 to 3."""
    cuts = sorted(draw(st.lists(st.integers(0, bits), max_size=2)))
    edges = [0, *cuts, bits]
    return tuple(1 << (b - a) for a, b in itertools.pairwise(edges))


def thread_values(part, threads):
    return np.array([part.value(t & 31, t >> 5) for t in range(threads)])


@given(layouts())
def test_element_agrees_with_the_vectorised_twin(layout):
    table = layout.element_map()
    assert table.shape == (32 * layout.n_warps, layout.n_regs)
    for thread in (0, 1, 17, 32 * layout.n_warps - 1):
        for reg in range(layout.n_regs):
            assert table[thread, reg] == layout.element(reg, thread & 31, thread >> 5)
    assert layout.covers() == (len(np.unique(table)) == layout.size)
    assert layout.is_injective() == (len(np.unique(table)) == table.size)


@given(layouts())
def test_threads_with_zero_free_bits_hold_every_element_once(layout):
    free = layout.free()
    threads = [t for t in range(32 * layout.n_warps) if not t & free.thread]
    regs = [r for r in range(layout.n_regs) if not r & free.reg]
    held = layout.element_map()[np.ix_(threads, regs)]
    assert sorted(held.ravel()) == list(range(layout.size))


def test_text_form_is_short_and_unique():
    layout = coalesced((16, 64), 1, 2, 4)
    assert str(layout) == "#linear<reg=[1, 2, 4], lane=[8, 16, 32, 64, 128], warp=[256, 512]>"
    assert str(Layout.trivial(2)) == "#linear<reg=[], lane=[0, 0, 0, 0, 0], warp=[0]>"


def test_malformed_layouts_are_refused():
    with pytest.raises(LayoutError, match="5 lane bases"):
        Layout((), (1, 2), (), 2)
    with pytest.raises(LayoutError, match="outside a tile of 4"):
        Layout((8,), (0,) * 5, (), 2)


@given(st.data(), layouts())
def test_permute_moves_every_register_to_its_new_index(data, layout):
    shape = data.draw(shapes_of(layout.bits))
    perm = tuple(data.draw(st.permutations(range(len(shape)))))
    values = np.random.default_rng(1).permutation(layout.size).reshape(shape)
    result = permute(shape, perm, layout)
    np.testing.assert_array_equal(
        values.transpose(perm).ravel()[result.element_map()], values.ravel()[layout.element_map()]
    )


@given(st.data(), layouts())
def test_broadcast_operand_register_holds_the_result_register(data, layout):
    shape = data.draw(shapes_of(layout.bits))
    small = tuple(1 if data.draw(st.booleans()) else size for size in shape)
    operand = np.random.default_rng(2).permutation(int(np.prod(small))).reshape(small)
    sliced, reg_map = slice_for_broadcast(small, shape, layout)
    result = np.broadcast_to(operand, shape).ravel()[layout.element_map()]
    held = operand.ravel()[sliced.element_map()]
    np.testing.assert_array_equal(held[:, list(reg_map)], result)
    assert sliced.free().reg == 0
    assert sliced.covers()


def test_broadcast_of_a_lower_rank_and_of_a_wrong_shape():
    layout = coalesced((16, 64), 1, 4, 2)
    row = slice_for_broadcast((64,), (16, 64), layout).layout
    assert row == slice_for_broadcast((1, 64), (16, 64), layout).layout
    with pytest.raises(LayoutError, match=r"cannot broadcast \(3, 64\)"):
        slice_for_broadcast((3, 64), (16, 64), layout)


@given(layouts())
def test_dropping_replicas_keeps_every_value(layout):
    slim, reg_map = without_replicas(layout)
    np.testing.assert_array_equal(slim.element_map()[:, list(reg_map)], layout.element_map())


def simulate_reduction(shape, dim, layout, values):
    """Follow the plan: groups, butterflies, then warps through memory. Returns the held results."""
    plan = reduce_dim(shape, dim, layout)
    held = values.ravel()[layout.element_map()]
    partial = np.stack([held[:, list(group)].sum(axis=1) for group in plan.groups], axis=1)
    threads = np.arange(len(partial))
    for bit in plan.lane_bits:
        partial = partial + partial[threads ^ (1 << bit)]
    for bit in plan.warp_bits:
        partial = partial + partial[threads ^ (32 << bit)]
    return plan, partial


@settings(max_examples=200)
@given(st.data(), layouts())
def test_reduction_sums_every_element_once(data, layout):
    shape = data.draw(shapes_of(layout.bits))
    dim = data.draw(st.integers(0, len(shape) - 1))
    values = np.random.default_rng(4).integers(1, 1000, shape)
    try:
        plan, held = simulate_reduction(shape, dim, layout, values)
    except LayoutError:
        assume(False)  # a thread bit mixes dimensions: refused
    np.testing.assert_array_equal(held, values.sum(axis=dim).ravel()[plan.layout.element_map()])


@pytest.mark.parametrize("dim", [0, 1])
def test_anchors_fragments_and_their_relatives_always_reduce(dim):
    fragment = mma_tile(MMA_M16N8K16_F16, 64, 32, 32, 2, 2).c
    for layout, shape in (
        (fragment, (64, 32)),
        (coalesced((64, 32), 1, 4, 4), (64, 32)),
        (coalesced((8, 16), 0, 2, 4), (8, 16)),
        (permute((64, 32), (1, 0), fragment), (32, 64)),
        (row_per_warp((8, 1024), 4, 4), (8, 1024)),
    ):
        values = np.random.default_rng(6).integers(1, 1000, shape)
        plan, held = simulate_reduction(shape, dim, layout, values)
        np.testing.assert_array_equal(held, values.sum(axis=dim).ravel()[plan.layout.element_map()])


def test_rows_held_by_one_warp_reduce_without_shared_memory():
    assert reduce_dim((8, 1024), 1, row_per_warp((8, 1024), 4, 4)).warp_bits == ()
    assert reduce_dim((8, 1024), 1, coalesced((8, 1024), 1, 4, 4)).warp_bits == (0, 1)


@pytest.mark.parametrize("shape", [(128, 64), (16, 16), (4,), (2, 4, 32), (1, 1)])
@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_coalesced_lanes_of_a_row_touch_one_run_of_memory(shape, size):
    for dim in range(len(shape)):
        layout = coalesced(shape, dim, size, 4)
        assert layout.covers()
        plan = global_access(layout, shape, dim, 16 // size)
        assert plan.vector == min(16 // size, shape[dim])
        lanes = [plan.thread[dim].value(lane, 0) for lane in range(32)]
        run = min(32, shape[dim] // plan.vector)
        assert lanes[:run] == [lane * plan.vector for lane in range(run)]


# --- shared memory ---


@pytest.mark.parametrize("mode", [0, 32, 64, 128])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize(
    ("shape", "order"), [((32, 64), None), ((64, 16), (0, 1)), ((8, 256), None), ((2, 16, 8), None)]
)
def test_swizzle_is_the_hardware_xor_on_panelled_rows(shape, order, size, mode):
    order = order or tuple(reversed(range(len(shape))))
    shared = swizzled(shape, order, size, mode)
    bits = {0: 0, 32: 1, 64: 2, 128: 3}[mode]
    row = shape[order[0]] * size
    span = min(row, mode) if mode else row
    for flat, index in enumerate(np.ndindex(*shape)):
        inner, outer, stride = index[order[0]] * size, 0, 1
        for d in order[1:]:
            outer += index[d] * stride
            stride *= shape[d]
        address = inner // span * (stride * span) + outer * span + inner % span
        address ^= (address >> 7 & (1 << bits) - 1) << 4
        assert shared.place(flat) * size == address
    assert sorted(shared.offset_map()) == list(range(int(np.prod(shape))))


def test_unknown_swizzle_is_refused():
    with pytest.raises(LayoutError, match="choose 0, 32, 64 or 128"):
        swizzled((8, 8), None, 2, 96)


@given(st.lists(st.integers(0, 63), min_size=5, max_size=5), st.sampled_from([1, 2, 4, 8, 16]))
def test_closed_form_of_bank_passes_equals_counting(bases, width):
    lane_bytes = [base * width for base in bases]
    offsets = [0]
    for base in lane_bytes:
        offsets += [offset ^ base for offset in offsets]
    assert linear_wavefronts(lane_bytes, width) == wavefronts(offsets, width)


def test_known_conflicts():
    assert bank_conflicts([4 * lane for lane in range(32)], 4) == 0
    assert bank_conflicts([128 * lane for lane in range(32)], 4) == 31
    assert bank_conflicts([0] * 32, 4) == 0, "one word is broadcast"
    assert bank_conflicts([16 * lane for lane in range(32)], 16) == 0
    assert bank_conflicts([128 * lane for lane in range(32)], 16) == 28


@st.composite
def shared_layouts(draw, bits, size):
    order = draw(st.permutations(range(bits)))
    place = [1 << k for k in order]
    for _ in range(draw(st.integers(0, 3)) if bits > 1 else 0):
        i, j = draw(st.integers(0, bits - 1)), draw(st.integers(0, bits - 1))
        if i != j:
            place[i] ^= place[j]
    return SharedLayout(tuple(place), bits, size)


@pytest.mark.in_turn
@settings(max_examples=150)
@given(st.data(), layouts(), st.sampled_from([1, 2, 4, 8]))
def test_store_then_load_moves_any_layout_through_any_shared_layout(data, layout, size):
    shared = data.draw(shared_layouts(layout.bits, size))
    values = np.random.default_rng(8).permutation(layout.size)
    held = values[layout.element_map()]
    threads = np.arange(32 * layout.n_warps)
    memory = np.full(layout.size, -1)
    writes = np.zeros(layout.size, dtype=int)
    store = access_plan(layout, shared, "store")
    part = thread_values(store.thread, len(threads))
    active = threads[(threads & store.free.thread) == 0]
    for access in store.accesses:
        for i, register in enumerate(access.registers):
            where = (part[active] ^ access.xor) + access.add + i
            memory[where] = held[active, register]
            np.add.at(writes, where, 1)
    np.testing.assert_array_equal(memory[shared.offset_map()], values)
    np.testing.assert_array_equal(writes, 1)

    load = access_plan(layout, shared, "load")
    got = np.full(held.shape, -1)
    for access in load.accesses:
        base = (part ^ access.xor) + access.add
        assert (base % load.vector == 0).all()
        for i, register in enumerate(access.registers):
            got[:, register] = memory[base + i]
    for copy, source in load.copies:
        got[:, copy] = got[:, source]
    np.testing.assert_array_equal(got, held)


@settings(max_examples=60)
@given(st.data(), layouts(), st.sampled_from([2, 4, 8]))
def test_bank_passes_of_a_plan_equal_counting(data, layout, size):
    shared = data.draw(shared_layouts(layout.bits, size))
    plan = access_plan(layout, shared)
    counted = 0
    for access in plan.accesses:
        offsets = [((plan.thread.value(lane, 0) ^ access.xor) + access.add) * size for lane in range(32)]
        counted += wavefronts(offsets, size * plan.vector)
    assert plan.wavefronts == counted


@settings(max_examples=150)
@given(st.data(), layouts(), st.sampled_from([1, 2, 4, 8]))
def test_global_plan_names_the_right_coordinates(data, layout, widest):
    shape = data.draw(shapes_of(layout.bits))
    dim = data.draw(st.integers(0, len(shape) - 1))
    plan = global_access(layout, shape, dim, widest)
    table = layout.element_map()
    threads = len(table)
    parts = [thread_values(part, threads) for part in plan.thread]
    seen = set()
    for access in plan.accesses:
        coordinates = [(p ^ x) + a for p, x, a in zip(parts, access.xor, access.add, strict=True)]
        assert len(access.registers) == plan.vector <= widest
        assert (coordinates[dim] % plan.vector == 0).all()
        for i, register in enumerate(access.registers):
            index = [c + i if d == dim else c for d, c in enumerate(coordinates)]
            np.testing.assert_array_equal(np.ravel_multi_index(index, shape), table[:, register])
            seen.add(register)
    for copy, source in plan.copies:
        np.testing.assert_array_equal(table[:, copy], table[:, source])
        assert source in seen
        seen.add(copy)
    assert seen == set(range(layout.n_regs))


@pytest.mark.parametrize("mode", [64, 128])
@pytest.mark.parametrize(("shape", "dim"), [((128, 64), 1), ((64, 128), 1), ((32, 32), 1), ((64, 64), 0)])
def test_async_copy_places_the_tile_and_has_no_conflict(shape, dim, mode):
    layout = coalesced(shape, dim, 2, 4)
    shared = swizzled(shape, (dim, 1 - dim), 2, mode)
    plan = async_copy(layout, shape, dim, shared, 16)
    assert plan is not None
    assert plan.bytes == 16
    values = np.random.default_rng(9).permutation(layout.size).reshape(shape)
    memory = np.full(layout.size, -1)
    for thread in range(128):
        if thread & plan.free.thread:
            continue
        lane, warp = thread & 31, thread >> 5
        for copy in plan.copies:
            start = [
                (part.value(lane, warp) ^ x) + a
                for part, x, a in zip(plan.source_thread, copy.source.xor, copy.source.add, strict=True)
            ]
            offset = (plan.target_thread.value(lane, warp) ^ copy.target.xor) + copy.target.add
            for i in range(plan.vector):
                index = [c + i if d == dim else c for d, c in enumerate(start)]
                memory[offset + i] = values[tuple(index)]
    np.testing.assert_array_equal(memory[shared.offset_map()], values.ravel())
    if mode == 128 or shape[dim] * 2 <= mode:  # a row longer than the span has its panels on the same banks
        assert plan.wavefronts == 4 * len(plan.copies), "16-byte writes take four passes when free of conflicts"


def test_async_copy_falls_back_to_what_is_proven():
    layout, shared = coalesced((64, 64), 1, 2, 4), swizzled((64, 64), None, 2)
    assert async_copy(layout, (64, 64), 1, shared, 4).bytes == 4
    assert async_copy(layout, (64, 64), 1, shared, 2) is None
    assert async_copy(layout, (64, 64), 0, shared, 16) is None, "rows are contiguous, columns are not"


@pytest.mark.parametrize("rows", [8, 16, 64, 128])
@pytest.mark.parametrize("row_bytes", [16, 32, 64, 128, 256])
def test_128_byte_swizzle_has_no_conflict_for_rows_of_any_length(rows, row_bytes):
    """Eight rows of 16 bytes (an ldmatrix phase) and eight consecutive 16-byte chunks (a cp.async phase)."""
    columns = row_bytes // 2
    shared = swizzled((rows, columns), None, 2, 128)
    for column in range(0, columns, 8):
        assert wavefronts([2 * shared.place(r * columns + column) for r in range(8)] * 4, 16) == 4
    if rows * row_bytes >= 512:
        chunks = [2 * shared.place(8 * lane) for lane in range(32)]
        assert bank_conflicts(chunks, 16) == 0


def test_plain_rows_of_128_bytes_conflict_on_ldmatrix():
    tile = mma_tile(MMA_M16N8K16_F16, 64, 32, 64, 2, 2)
    plan = ldmatrix(tile.a, SharedLayout.row_major((64, 64), 2))
    assert plan.wavefronts == 8 * len(plan.instructions) * plan.num
