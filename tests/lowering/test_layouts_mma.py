"""Every closed form of the PTX ISA's fragments and of ldmatrix, point by point, and whole tiles against a matmul."""

import numpy as np
import pytest

from lowering.atoms.mma import (
    FMA_F32,
    MMA_ATOMS,
    MMA_M8N8K4_F64,
    MMA_M16N8K8_TF32,
    MMA_M16N8K16_BF16,
    MMA_M16N8K16_F16,
    MMA_M16N8K32_E4M3,
)
from lowering.layouts import LayoutError, fma_tile, ldmatrix, mma_tile, swizzled, warp_grids

SYNC = [atom for atom in MMA_ATOMS if atom.shape[:2] == (16, 8)]


def fragment_element(fragment, cols, lane, reg):
    row = col = 0
    for number, bases in ((lane, fragment.lane), (reg, fragment.reg)):
        for bit, (r, c) in enumerate(bases):
            if number >> bit & 1:
                row, col = row ^ r, col ^ c
    return row, col


@pytest.mark.parametrize("atom", SYNC, ids=str)
def test_fragments_equal_their_closed_forms(atom):
    """ptx.md section 3: g = lane >> 2, t = lane & 3, e = 32 / bits elements a register."""
    k = atom.shape[2]
    e = 32 // atom.dtypes[0].width
    for lane in range(32):
        g, t = lane >> 2, lane & 3
        for r in range(atom.operand_registers[0]):
            for w in range(e):
                expected = (g + 8 * (r & 1), 4 * e * (r >> 1) + e * t + w)
                assert fragment_element(atom.a, k, lane, r * e + w) == expected
        for r in range(atom.operand_registers[1]):
            for w in range(e):
                assert fragment_element(atom.b, 8, lane, r * e + w) == (4 * e * r + e * t + w, g)
        for i in range(4):
            assert fragment_element(atom.c, 8, lane, i) == (g + 8 * (i >> 1), 2 * t + (i & 1))


def test_the_double_fragment_equals_its_closed_form():
    """ptx.md section 3: A[g][t], B[t][g], C[g][2t + i]."""
    atom = MMA_M8N8K4_F64
    for lane in range(32):
        g, t = lane >> 2, lane & 3
        assert fragment_element(atom.a, 4, lane, 0) == (g, t)
        assert fragment_element(atom.b, 8, lane, 0) == (t, g)
        assert [fragment_element(atom.c, 8, lane, i) for i in (0, 1)] == [(g, 2 * t), (g, 2 * t + 1)]


@pytest.mark.parametrize("atom", [*SYNC, MMA_M8N8K4_F64], ids=str)
def test_one_atom_tile_is_the_fragment(atom):
    m, n, k = atom.shape
    tile = mma_tile(atom, m, n, k, 1, 1)
    for layout, fragment, cols in ((tile.a, atom.a, k), (tile.b, atom.b, n), (tile.c, atom.c, n)):
        for lane in range(32):
            for reg in range(layout.n_regs):
                row, col = fragment_element(fragment, cols, lane, reg)
                assert layout.element(reg, lane) == row * cols + col


@pytest.mark.parametrize(
    ("atom", "m", "n", "k", "wm", "wn", "batch", "copies"),
    [
        (MMA_M16N8K16_F16, 64, 32, 32, 2, 2, 1, 1),
        (MMA_M16N8K16_BF16, 32, 64, 16, 1, 4, 2, 1),
        (MMA_M16N8K8_TF32, 64, 16, 32, 4, 1, 1, 1),
        (MMA_M16N8K32_E4M3, 32, 16, 64, 2, 1, 1, 1),
        (MMA_M16N8K16_F16, 16, 16, 32, 1, 2, 1, 4),
        *((atom, 32, 16, atom.shape[2], 2, 1, 1, 1) for atom in SYNC if atom.shape[2] * atom.dtypes[0].width <= 128),
    ],
)
def test_steps_on_tile_layouts_compute_the_product(atom, m, n, k, wm, wn, batch, copies):
    """Run every step of every warp as a small matmul on gathered fragments; the union must be A @ B."""
    rng = np.random.default_rng(5)
    tile = mma_tile(atom, m, n, k, wm, wn, batch, copies)
    a, b = rng.integers(-9, 9, (batch, m, k)), rng.integers(-9, 9, (batch, k, n))
    held_a, held_b = a.ravel()[tile.a.element_map()], b.ravel()[tile.b.element_map()]
    where_c = tile.c.element_map()
    held_c = np.zeros(where_c.shape, dtype=np.int64)
    am, an, ak = atom.shape
    for warp in range(wm * wn * copies):
        threads = slice(32 * warp, 32 * warp + 32)
        for step in tile.steps():
            fragments = []
            for fragment, cols, size, held, regs in (
                (atom.a, ak, (am, ak), held_a, step.a),
                (atom.b, an, (ak, an), held_b, step.b),
            ):
                matrix = np.full(size, 99)
                for lane in range(32):
                    for i, reg in enumerate(regs):
                        matrix[fragment_element(fragment, cols, lane, i)] = held[threads][lane, reg]
                fragments.append(matrix)
            product = fragments[0] @ fragments[1]
            for lane in range(32):
                for i, reg in enumerate(step.c):
                    held_c[32 * warp + lane, reg] += product[fragment_element(atom.c, an, lane, i)]
    np.testing.assert_array_equal(held_c, (a @ b).ravel()[where_c])
    assert tile.a.covers()
    assert tile.b.covers()
    assert tile.c.covers()
    assert tile.c.is_injective() == (copies == 1)


def test_accumulator_of_one_product_is_the_a_operand_of_the_next():
    scores = mma_tile(MMA_M16N8K16_F16, 64, 64, 32, 4, 1)
    values = mma_tile(MMA_M16N8K16_F16, 64, 32, 64, 4, 1)
    assert scores.c == values.a


def test_warps_beyond_a_small_tile_compute_copies():
    """A tile of 16 x 16 fills two of four warps; one that fills none is left to scalar multiply-adds."""
    assert warp_grids(MMA_M16N8K16_F16, 16, 16, 8) == ((1, 2),)
    assert warp_grids(MMA_M16N8K16_F16, 16, 8, 4) == ((1, 1),)
    assert warp_grids(MMA_M16N8K16_F16, 8, 64, 4) == ()


def test_tile_too_small_for_the_warps_is_refused_with_what_to_do():
    with pytest.raises(LayoutError, match=r"needs M to be a multiple of 64, got 32\n  hint: choose"):
        mma_tile(MMA_M16N8K16_F16, 32, 32, 32, 4, 1)
    assert warp_grids(MMA_M16N8K16_F16, 32, 32, 4) == ((1, 4), (2, 2)) or warp_grids(MMA_M16N8K16_F16, 32, 32, 4) == (
        (2, 2),
        (1, 4),
    )


def test_most_square_warp_tile_comes_first():
    assert warp_grids(MMA_M16N8K16_F16, 128, 128, 4)[0] == (2, 2)
    assert warp_grids(MMA_M16N8K16_F16, 128, 32, 4)[0] == (4, 1)


@pytest.mark.parametrize(
    ("m", "n", "k", "warps", "batch"),
    [(32, 32, 4, 4, 1), (8, 8, 8, 4, 1), (64, 16, 2, 1, 1), (1, 128, 4, 2, 1), (4, 8, 4, 4, 2), (2, 4, 8, 1, 64),
     (32, 16, 2, 4, 8), (1, 1, 4, 4, 1024)],
)  # fmt: skip
def test_scalar_fma_tile_computes_the_product(m, n, k, warps, batch):
    rng = np.random.default_rng(7)
    tile = fma_tile(m, n, k, warps, batch)
    a, b = rng.integers(-9, 9, (batch, m, k)), rng.integers(-9, 9, (batch, k, n))
    held_a, held_b = a.ravel()[tile.a.element_map()], b.ravel()[tile.b.element_map()]
    held_c = np.zeros(tile.c.element_map().shape, dtype=np.int64)
    for x, y, z in tile.steps(k):
        held_c[:, z] += held_a[:, x] * held_b[:, y]
    np.testing.assert_array_equal(held_c, (a @ b).ravel()[tile.c.element_map()])
    assert tile.c.covers()
    assert FMA_F32.operand_registers == (1, 1, 1)


def simulate_ldmatrix(plan, memory, warp, element_bytes):
    """Registers [32, count] of a warp from the instruction's definition on an element-addressed buffer."""
    row = 16 // element_bytes
    width = 4 // element_bytes
    found = {}
    for instruction in plan.instructions:
        base = [(plan.address.value(lane, warp) ^ instruction.xor) + instruction.add for lane in range(8 * plan.num)]
        assert all(address % row == 0 for address in base)
        for j, registers in enumerate(instruction.registers):
            matrix = np.stack([memory[base[8 * j + i] : base[8 * j + i] + row] for i in range(8)])
            for lane in range(32):
                for w, register in enumerate(registers):
                    if plan.trans:
                        value = matrix[2 * (lane & 3) + w, lane >> 2]
                    else:
                        value = matrix[lane >> 2, width * (lane & 3) + w]
                    found[lane, register] = value
    for copy, source in plan.copies:
        for lane in range(32):
            found[lane, copy] = found[lane, source]
    return found


CASES = [
    # atom, operand, shape of the shared tile, order, transposed
    (MMA_M16N8K16_F16, "a", 2, None, False),
    (MMA_M16N8K16_F16, "b", 2, None, True),
    (MMA_M16N8K16_F16, "b", 2, (0, 1), False),
    (MMA_M16N8K16_BF16, "a", 2, (0, 1), True),
    (MMA_M16N8K8_TF32, "a", 4, None, False),
    (MMA_M16N8K8_TF32, "b", 4, (0, 1), False),
    (MMA_M16N8K32_E4M3, "a", 1, None, False),
    (MMA_M16N8K32_E4M3, "b", 1, (0, 1), False),
]


@pytest.mark.parametrize("mode", [0, 32, 64, 128])
@pytest.mark.parametrize(("atom", "operand", "size", "order", "trans"), CASES)
def test_ldmatrix_fills_the_fragment(atom, operand, size, order, trans, mode):
    tile = mma_tile(atom, 64, 32, 64, 2, 2)
    layout, shape = (tile.a, (64, 64)) if operand == "a" else (tile.b, (64, 32))
    shared = swizzled(shape, order, size, mode)
    plan = ldmatrix(layout, shared)
    assert plan is not None
    assert plan.trans == trans
    assert plan.num == 4
    values = np.random.default_rng(3).permutation(layout.size)
    memory = np.empty(layout.size, dtype=np.int64)
    memory[shared.offset_map()] = values
    wanted = values[layout.element_map()]
    for warp in range(4):
        found = simulate_ldmatrix(plan, memory, warp, size)
        assert set(found) == {(lane, reg) for lane in range(32) for reg in range(layout.n_regs)}
        assert all(found[lane, reg] == wanted[32 * warp + lane, reg] for lane, reg in found)
    if mode == 128:
        assert plan.wavefronts == len(plan.instructions) * plan.num, "a 128-byte swizzle must have no conflict"


@pytest.mark.parametrize(("operand", "shape", "order"), [("a", (64, 64), None), ("b", (64, 32), None)])
def test_each_ldmatrix_fills_registers_of_one_k_block(operand, shape, order):
    tile = mma_tile(MMA_M16N8K16_F16, 64, 32, 64, 2, 2)
    plan = ldmatrix(getattr(tile, operand), swizzled(shape, order, 2, 128))
    block_of = {register: step.k for step in tile.steps() for register in getattr(step, operand)}
    for instruction in plan.instructions:
        assert len({block_of[r] for matrix in instruction.registers for r in matrix}) == 1


def test_ldmatrix_is_refused_where_the_rows_do_not_fit():
    tile = mma_tile(MMA_M16N8K8_TF32, 64, 32, 64, 2, 2)
    assert ldmatrix(tile.b, swizzled((64, 32), None, 4, 128)) is None, "32-bit elements cannot be transposed"
    half = mma_tile(MMA_M16N8K16_F16, 64, 32, 64, 2, 2)
    assert ldmatrix(half.c, swizzled((64, 32), (0, 1), 4, 128)) is None


def test_fewer_matrices_where_the_tile_is_small():
    tile = mma_tile(MMA_M16N8K16_F16, 16, 8, 16, 1, 1)
    assert ldmatrix(tile.b, swizzled((16, 8), None, 2, 0)).num == 2
    assert ldmatrix(tile.a, swizzled((16, 16), None, 2, 0), 1).num == 1
    assert len(ldmatrix(tile.a, swizzled((16, 16), None, 2, 0), 1).instructions) == 4
