"""Every conversion is run in NumPy on random layouts and must put every element where the destination wants it."""

import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lowering.atoms.mma import MMA_M16N8K16_F16
from lowering.layouts import Layout, LayoutError, coalesced, mma_tile, permute, row_per_warp, wavefronts
from lowering.layouts.access import LdMatrix
from lowering.layouts.conversions import (
    Identity,
    RegisterPermute,
    SharedRoundTrip,
    Shuffle,
    plan,
    shared_plan,
    shuffle_plan,
)
from lowering.targets import target


@st.composite
def slots_of(draw, bits, threads, spare=2, shears=4):
    """Random bases that cover `bits`: unit bits in any order, replicas, shears."""
    replicas = draw(st.integers(max(0, threads - bits), max(0, threads - bits) + spare))
    slots = list(draw(st.permutations([1 << k for k in range(bits)] + [0] * replicas)))
    for _ in range(draw(st.integers(0, shears))):
        i, j = draw(st.integers(0, len(slots) - 1)), draw(st.integers(0, len(slots) - 1))
        if i != j:
            slots[i] ^= slots[j]
    return slots


@st.composite
def warp_pairs(draw):
    """Two layouts of one tile whose warps hold the same elements."""
    inside, warps = draw(st.integers(0, 8)), draw(st.integers(0, 2))
    bits = inside + warps
    made = []
    for _ in range(2):
        slots = draw(slots_of(inside, 5))
        noise = [draw(st.integers(0, 2**inside - 1)) for _ in range(warps)]
        warp = tuple((1 << (inside + k)) ^ noise[k] for k in range(warps))
        made.append(Layout(tuple(slots[5:]), tuple(slots[:5]), warp, bits))
    return made


@st.composite
def any_pairs(draw):
    """Two layouts of one tile, elements anywhere in the CTA."""
    bits, warps = draw(st.integers(0, 9)), draw(st.integers(0, 2))
    made = []
    for _ in range(2):
        slots = draw(slots_of(bits, 5 + warps))
        made.append(Layout(tuple(slots[5 + warps :]), tuple(slots[:5]), tuple(slots[5 : 5 + warps]), bits))
    return made


def parity(values):
    values = np.array(values)
    for shift in (8, 4, 2, 1):
        values = values ^ values >> shift
    return values & 1


def linear(bases, numbers):
    return np.array([sum_xor(bases, int(n)) for n in numbers])


def sum_xor(bases, number):
    image = 0
    for k, base in enumerate(bases):
        if number >> k & 1:
            image ^= base
    return image


def exchange(held, exchanges):
    threads = np.arange(len(held))
    for step in exchanges:
        swapped = held[:, np.arange(held.shape[1]) ^ step.xor]
        held = np.where(parity(threads & step.mask)[:, None] == 1, swapped, held)
    return held


def run_shuffle(steps, held):
    threads = np.arange(len(held))
    held = exchange(held, steps.before)
    lanes = linear(steps.lane_map, threads)
    values = []
    for step in steps.rounds:
        source = (threads & ~31) | (lanes ^ step.lane)
        if steps.butterfly:
            assert ((threads ^ step.lane) == source).all()
        values.append(held[source, step.register])
    values = exchange(np.stack(values, axis=1), steps.after)
    return values[:, list(steps.reg_map)]


def addresses(part, access, threads):
    return np.array([(part.value(t & 31, t >> 5) ^ access.xor) + access.add for t in map(int, threads)])


def matrix_places(operation, instruction, warp):
    """(lane, register, address) of every element that one ldmatrix or stmatrix moves, from the PTX ISA."""
    pack = len(instruction.registers[0])
    rows = addresses(operation.address, instruction, range(32 * warp, 32 * warp + 8 * operation.num))
    for j, registers in enumerate(instruction.registers):
        for lane in range(32):
            for w, register in enumerate(registers):
                row, column = lane >> 2, pack * (lane & 3) + w
                if operation.trans:
                    row, column = 2 * (lane & 3) + w, lane >> 2
                yield lane, register, rows[8 * j + row] + column


def run_store(operation, held, memory):
    threads = np.arange(len(held))
    if isinstance(operation, LdMatrix):
        for warp in range(len(held) // 32):
            if not warp & operation.free.warp:
                for instruction in operation.instructions:
                    for lane, register, address in matrix_places(operation, instruction, warp):
                        memory[address] = held[32 * warp + lane, register]
        return
    active = threads[(threads & operation.free.thread) == 0]
    for access in operation.accesses:
        base = addresses(operation.thread, access, active)
        for i, register in enumerate(access.registers):
            memory[base + i] = held[active, register]


def run_load(operation, memory, shape):
    held = np.full(shape, -1)
    threads = np.arange(shape[0])
    if isinstance(operation, LdMatrix):
        for warp in range(shape[0] // 32):
            for instruction in operation.instructions:
                for lane, register, address in matrix_places(operation, instruction, warp):
                    held[32 * warp + lane, register] = memory[address]
    else:
        for access in operation.accesses:
            base = addresses(operation.thread, access, threads)
            assert (base % operation.vector == 0).all()
            for i, register in enumerate(access.registers):
                held[:, register] = memory[base + i]
    for copy, source in operation.copies:
        held[:, copy] = held[:, source]
    return held


def convert(conversion, held, shape):
    match conversion:
        case Identity():
            return held
        case RegisterPermute(reg_map=reg_map):
            return held[:, list(reg_map)]
        case Shuffle(steps=steps):
            return run_shuffle(steps, held)
        case SharedRoundTrip(shared=shared):
            memory = np.full(1 << shared.bits, -1)
            run_store(conversion.store, held, memory)
            return run_load(conversion.load, memory, shape)


def check(conversion, src, dst):
    values = np.random.default_rng(11).permutation(src.size)
    wanted = values[dst.element_map()]
    np.testing.assert_array_equal(convert(conversion, values[src.element_map()], wanted.shape), wanted)


@pytest.mark.in_turn
@settings(max_examples=400, deadline=None)
@given(warp_pairs())
def test_shuffles_serve_any_two_layouts_of_a_warp(pair):
    src, dst = pair
    found = shuffle_plan(src, dst, 32)
    assert found is not None
    check(found, src, dst)
    assert len(found.steps.rounds) == 1 << len(dst.reg) >> dst.free().reg.bit_count(), "one round a register is enough"


@pytest.mark.in_turn
@settings(max_examples=300, deadline=None)
@given(any_pairs(), st.sampled_from([8, 16, 32, 64]), st.sampled_from(["sm_80", "sm_90a"]))
def test_shared_memory_serves_any_two_layouts(pair, element_bits, name):
    src, dst = pair
    check(shared_plan(src, dst, element_bits, target(name)), src, dst)


@pytest.mark.in_turn
@settings(max_examples=200, deadline=None)
@given(any_pairs(), st.sampled_from([1, 16, 32, 64]))
def test_the_plan_chosen_is_right_and_costs_no_more_than_shared_memory(pair, element_bits):
    src, dst = pair
    found = plan(src, dst, element_bits)
    check(found, src, dst)
    assert found.cost <= shared_plan(src, dst, element_bits).cost


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_register_renaming_is_free(data):
    slots = data.draw(slots_of(8, 6))
    order = data.draw(st.permutations(slots[6:]))
    assume(len(slots) > 7)
    src = Layout(tuple(slots[6:]), tuple(slots[:5]), tuple(slots[5:6]), 8)
    dst = Layout(tuple(order), src.lane, src.warp, 8)
    found = plan(src, dst, 16)
    assert isinstance(found, Identity | RegisterPermute)
    assert found.cost == 0
    check(found, src, dst)


def test_swapping_a_lane_bit_with_a_register_bit_shuffles_half_the_registers():
    src = Layout((1, 2), (4, 8, 16, 32, 64), (128,), 8)
    dst = Layout((4, 2), (1, 8, 16, 32, 64), (128,), 8)
    found = shuffle_plan(src, dst, 32)
    check(found, src, dst)
    assert found.steps.butterfly
    assert found.steps.shuffles == 2


def test_lane_permutation_needs_no_select():
    src = Layout((1, 2), (4, 8, 16, 32, 64), (), 7)
    dst = Layout((1, 2), (64, 4, 8, 16, 32), (), 7)
    found = shuffle_plan(src, dst, 32)
    check(found, src, dst)
    assert found.steps.before == found.steps.after == ()


def test_a_slice_of_what_every_lane_holds_needs_no_shuffle():
    src = Layout((1, 2, 4), (0, 0, 8, 16, 32), (), 6)
    dst = Layout((1,), (2, 4, 8, 16, 32), (), 6)
    found = plan(src, dst, 32)
    assert isinstance(found, Shuffle)
    assert found.steps.shuffles == 0
    check(found, src, dst)


def test_elements_that_change_warps_go_through_shared_memory():
    src, dst = coalesced((64, 64), 1, 4, 4), row_per_warp((64, 64), 4, 4)
    assert shuffle_plan(src, coalesced((64, 64), 0, 4, 4), 32) is None
    assert isinstance(plan(src, coalesced((64, 64), 0, 4, 4), 32), SharedRoundTrip)
    check(plan(src, dst, 32), src, dst)


def conflict_free(operation, size):
    if isinstance(operation, LdMatrix):
        return operation.wavefronts == len(operation.instructions) * operation.num
    least = 0
    for access in operation.accesses:
        offsets = addresses(operation.thread, access, range(32)) * size
        counted = wavefronts(list(map(int, offsets)), size * operation.vector)
        least += max(1, size * operation.vector // 4)
        assert counted >= 1
    return operation.wavefronts == least


C_TILE = mma_tile(MMA_M16N8K16_F16, 128, 128, 64, 2, 2)


@pytest.mark.parametrize(
    ("src", "dst", "bits"),
    [
        (C_TILE.c, coalesced((128, 128), 1, 2, 4), 16),
        (C_TILE.c, coalesced((128, 128), 1, 4, 4), 32),
        (coalesced((128, 64), 1, 2, 4), C_TILE.a, 16),
        (coalesced((64, 128), 1, 2, 4), C_TILE.b, 16),
        (permute((128, 64), (1, 0), coalesced((128, 64), 1, 2, 4)), C_TILE.b, 16),
        (coalesced((128, 128), 1, 4, 4), C_TILE.c, 32),
        (coalesced((128, 128), 1, 2, 4), coalesced((128, 128), 0, 2, 4), 16),
    ],
)
@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_gemm_conversions_have_no_bank_conflict(src, dst, bits, name):
    found = plan(src, dst, bits, target(name))
    assert isinstance(found, SharedRoundTrip)
    check(found, src, dst)
    assert found.scratch_bytes == src.size * bits // 8
    assert conflict_free(found.store, bits // 8)
    assert conflict_free(found.load, bits // 8)


SMALL = mma_tile(MMA_M16N8K16_F16, 32, 16, 64, 2, 2)


def test_operands_are_read_back_by_ldmatrix():
    for src, dst, trans in (
        (coalesced((32, 64), 1, 2, 4), SMALL.a, False),
        (coalesced((64, 16), 1, 2, 4), SMALL.b, True),
    ):
        found = plan(src, dst, 16)
        check(found, src, dst)
        assert isinstance(found.load, LdMatrix)
        assert found.load.num == 4
        assert found.load.trans == trans
        assert found.store.vector == 8


def test_ldmatrix_is_preferred_to_plain_loads_of_the_same_cost():
    """The vectors of plain loads lay across the pairs of registers that a product takes: swa_attention of TileGym had
    293 moves in its loop.
    """
    src = Layout((1, 2, 4, 1024, 2048, 4096, 8192), (8, 16, 32, 64, 128), (256, 512), 14)
    keys = Layout((1, 8, 1024, 2048, 4096, 8192, 16, 32, 64), (2, 4, 128, 256, 512), (0, 0), 14)
    found = plan(src, keys, 16)
    check(found, src, keys)
    assert isinstance(found.load, LdMatrix)


def test_accumulators_leave_by_stmatrix_where_the_target_has_it():
    src, dst = SMALL.c, coalesced((32, 16), 1, 2, 4)
    found = plan(src, dst, 16, target("sm_90a"))
    check(found, src, dst)
    assert isinstance(found.store, LdMatrix)
    assert not isinstance(plan(src, dst, 16).store, LdMatrix)


def test_mismatched_tiles_are_refused():
    with pytest.raises(LayoutError, match="different size"):
        plan(coalesced((64,), 0, 4, 1), coalesced((128,), 0, 4, 1), 32)


@pytest.mark.slow
def test_planning_a_gemm_conversion_is_quick():
    start = time.perf_counter()
    shared_plan.__wrapped__(C_TILE.c, coalesced((128, 128), 1, 4, 4), 32)
    assert time.perf_counter() - start < 0.05
