"""Tiles of warpgroup products, canonical operands, boxes of tensor copies, and the atoms behind them."""

import itertools

import numpy as np
import pytest

from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, I8, I32, TF32
from lowering.atoms.barrier import SYNC_ATOMS
from lowering.atoms.mma import MMA_ATOMS
from lowering.atoms.tma import TMA_ATOMS
from lowering.atoms.wgmma import WGMMA_ATOMS, wgmma_atom, wgmma_atoms, wgmma_named
from lowering.layouts.f2 import log2
from lowering.layouts.layout import LayoutError
from lowering.layouts.mma import mma_tile
from lowering.layouts.shared import SharedLayout, swizzled
from lowering.layouts.tma import tma_plan
from lowering.layouts.wgmma import matrix_operand, operand_layout, warpgroup_grids, wgmma_tile
from lowering.targets.sm80 import SM_80
from lowering.targets.sm90a import SM_90A


def atom(n: int = 128, kind=F16, from_registers: bool = False):
    return WGMMA_ATOMS[kind, kind, n, from_registers]


@pytest.mark.parametrize("from_registers", [False, True])
def test_atoms_of_every_n_and_type(from_registers: bool) -> None:
    sizes = {n for a, b, n, rs in WGMMA_ATOMS if rs == from_registers and a == b == TF32}
    assert sizes == set(range(8, 257, 8))
    for each in WGMMA_ATOMS.values():
        m, n, k = each.shape
        assert k * each.dtypes[0].width == 256
        assert each.operand_registers[2] * 128 == m * n
        assert each.legal(SM_90A)
        assert not each.legal(SM_80)


def test_cost_is_that_of_the_tensor_cores_or_of_shared_memory() -> None:
    """m64n256k16 keeps the tensor cores busy for 128 cycles; below N = 64 reading A and B takes longer."""
    assert atom(256).cycles(SM_90A) == 128
    assert atom(64).cycles(SM_90A) == 32
    assert atom(8).cycles(SM_90A) == (64 + 8) * 32 / 128
    assert atom(8, from_registers=True).cycles(SM_90A) < atom(8).cycles(SM_90A)
    assert atom(256, F8E4M3FN).cycles(SM_90A) == 128
    assert atom(256, TF32).flops == atom(256).flops // 2


def test_offers_widest_first() -> None:
    offered = wgmma_atoms(SM_90A, BF16, BF16, F32)
    assert [a.shape[1] for a in offered if not a.from_registers] == [256, 128, 64, 32, 16, 8]
    assert not wgmma_atoms(SM_80, BF16, BF16, F32)
    assert not wgmma_atoms(SM_90A, F32, F32, F32)


def test_other_records_know_their_targets() -> None:
    assert all(a.legal(SM_90A) for a in (*TMA_ATOMS, *SYNC_ATOMS))
    assert not any(a.legal(SM_80) for a in TMA_ATOMS)
    assert sum(a.legal(SM_80) for a in SYNC_ATOMS) == 1
    assert TMA_ATOMS[0].cycles(SM_90A, 1 << 14) > TMA_ATOMS[0].cycles(SM_90A, 1 << 10)
    assert all(a.cycles(SM_90A) > 0 for a in SYNC_ATOMS)


TILES = [(128, 128, 64, 1, 1, 128), (128, 128, 64, 2, 1, 128), (64, 256, 32, 2, 2, 64), (256, 64, 16, 4, 2, 32)]


@pytest.mark.parametrize(("m", "n", "k", "groups", "groups_n", "width"), TILES)
def test_accumulators_follow_the_instruction(m: int, n: int, k: int, groups: int, groups_n: int, width: int) -> None:
    """Every register of every step lies where the instruction puts it; together they hold each element once."""
    tile = wgmma_tile(atom(width), m, n, k, groups, groups_n)
    assert tile.c.is_injective()
    assert tile.c.size == m * n
    places = tile.c.element_map().reshape(groups, 128, -1)
    position = np.array([[tile.atom.d_position(t, i) for i in range(width // 2)] for t in range(128)])
    for group, step in itertools.product(range(groups), tile.steps()):
        row, column, _ = tile.origin(group, step)
        wanted = (row + position[..., 0]) * n + column + position[..., 1]
        assert (places[group][:, step.c.start : step.c.stop] == wanted).all()


@pytest.mark.parametrize("kind", [F16, TF32, F8E4M3FN], ids=str)
def test_register_operand_is_four_warps_of_mma_sync(kind) -> None:
    """Rows of A over four warps as mma.sync holds them; the accumulator feeds the next product in place."""
    tile = wgmma_tile(atom(64, kind, True), 128, 64, 64, 1)
    narrow = next(a for a in MMA_ATOMS if a.dtypes[0] == kind)
    warp = mma_tile(narrow, 128, 64, 64, 4, 1).a
    step = tile.steps()[0]
    count = len(step.a)
    mine = tile.a.element_map().reshape(4, 32, -1)[:, :, :count]
    theirs = warp.element_map().reshape(4, 32, -1)[:, :, :count]
    rows = np.arange(4)[:, None, None]
    assert (mine // 64 - 16 * rows == theirs // 64 - 32 * rows).all()
    assert (mine % 64 == theirs % 64).all()


def test_accumulator_is_the_next_register_operand() -> None:
    first = wgmma_tile(atom(128), 128, 128, 64, 2)
    second = wgmma_tile(atom(64, from_registers=True), 128, 64, 128, 2)
    assert first.c == second.a


def test_tiles_that_atoms_do_not_fill_are_refused() -> None:
    with pytest.raises(LayoutError, match="M to be a multiple of 128"):
        wgmma_tile(atom(), 64, 128, 64, 2)
    with pytest.raises(LayoutError, match="K to be a multiple of 16"):
        wgmma_tile(atom(), 64, 128, 8, 1)
    with pytest.raises(LayoutError, match="not a power of two"):
        wgmma_tile(atom(24), 64, 24, 16, 1)
    assert warpgroup_grids(atom(64), 64, 128, 2) == ((1, 2),)
    assert warpgroup_grids(atom(64), 128, 128, 2) == ((2, 1), (1, 2))
    assert warpgroup_grids(atom(128), 64, 128, 2) == ()


# Canonical operands


def canonical(mn: int, k: int, plan, element: int) -> int:
    """Byte address of an element from a block's start, before the swizzle. Source: PTX ISA, Canonical Layouts."""
    byte, size, span = k * element, 16 // element, plan.swizzle
    if plan.k_major and not span:
        return mn % 8 * 16 + mn // 8 * plan.sbo + byte // 16 * plan.lbo + byte % 16
    if plan.k_major:
        return mn % 8 * span + mn // 8 * plan.sbo + byte
    if not span:
        return mn % size * element + mn // size * plan.sbo + k % 8 * 16 + k // 8 * plan.lbo
    wide = span // element
    return mn % wide * element + mn // wide * plan.lbo + k % 8 * span + k // 8 * plan.sbo


def swizzle(address: int, span: int) -> int:
    return address ^ (address >> 7 & {0: 0, 32: 1, 64: 3, 128: 7}[span]) << 4


OPERANDS = [
    (shape, k_dim, element, k_major, span)
    for shape, k_dim in (((128, 64), 1), ((64, 128), 0), ((64, 128), 1))
    for element in (1, 2, 4)
    for k_major in (True, False)
    for span in (0, 32, 64, 128)
    if (k_major or element == 2) and shape[k_dim if k_major else 1 - k_dim] * element >= span
]


@pytest.mark.parametrize(("shape", "k_dim", "element", "k_major", "span"), OPERANDS)
@pytest.mark.parametrize("size", [64, 16])
def test_descriptors_reach_every_element(shape, k_dim, element, k_major, span, size) -> None:
    """Start of the block + canonical address, swizzled, is where the shared layout puts the element."""
    layout = operand_layout(shape, k_dim, element, k_major, span)
    plan = matrix_operand(layout, shape, k_dim, size)
    assert (plan.k_major, plan.swizzle) == (k_major, span)
    rng = np.random.default_rng(span + element)
    depth = 32 // element
    for _ in range(200):
        mn0 = int(rng.integers(shape[1 - k_dim] // size)) * size
        k0 = int(rng.integers(shape[k_dim] // depth)) * depth
        mn, k = int(rng.integers(size)), int(rng.integers(depth))
        start = plan.displacement(mn0, k0)
        assert start % 16 == 0
        row, column = (mn0 + mn, k0 + k) if k_dim else (k0 + k, mn0 + mn)
        place = layout.place(row * shape[1] + column) * element
        assert swizzle(start + canonical(mn, k, plan, element), span) == place


def test_operands_no_descriptor_reaches_are_refused() -> None:
    row_major = SharedLayout.row_major((128, 64), 2)
    with pytest.raises(LayoutError, match="canonical"):
        matrix_operand(row_major, (128, 64), 1, 64)
    with pytest.raises(LayoutError, match="canonical"):  # MN-major exists for 16-bit elements only
        matrix_operand(operand_layout((64, 128), 0, 1, False, 128), (64, 128), 0, 64)
    with pytest.raises(LayoutError, match="canonical"):  # rows of 64 bytes swizzled as rows of 128 bytes
        matrix_operand(swizzled((128, 32), None, 2, 128), (128, 32), 1, 64)
    with pytest.raises(LayoutError, match="no rows of 128 bytes"):
        operand_layout((128, 32), 1, 2, True, 128)


# Boxes


@pytest.mark.parametrize(
    ("shape", "contiguous", "span", "pieces"),
    [((128, 64), 1, 128, 1), ((64, 128), 1, 128, 2), ((64, 128), 0, 64, 2), ((512, 32), 1, 64, 2), ((64, 64), 1, 0, 8)],
)
def test_boxes_write_the_layout(shape, contiguous: int, span: int, pieces: int) -> None:
    """Simulated copies of all pieces put every element where the layout says."""
    layout = operand_layout(shape, contiguous, 2, True, span)
    plan = tma_plan(layout, shape, contiguous)
    assert len(plan.pieces) == pieces
    assert plan.total_bytes == layout.size_bytes
    assert plan.dims[0] == contiguous
    got: dict[int, int] = {}
    for offset, origin in plan.pieces:
        for dense, place in enumerate(np.ndindex(*plan.box[::-1])):
            coordinate = list(origin)
            for d, c in zip(plan.dims, reversed(place), strict=True):
                coordinate[d] += c
            element = coordinate[0] * shape[1] + coordinate[1]
            got[element] = swizzle(offset + 2 * dense, plan.swizzle) // 2
    assert got == {e: layout.place(e) for e in range(1 << log2(shape[0] * shape[1]))}


def test_boxes_of_plain_rows_and_more_dimensions() -> None:
    plan = tma_plan(SharedLayout.row_major((2, 64, 32), 4), (2, 64, 32), 2)
    assert (plan.dims, plan.box, plan.swizzle, len(plan.pieces)) == ((2, 1, 0), (32, 64, 2), 0, 1)
    tall = tma_plan(SharedLayout.row_major((1024, 16), 2), (1024, 16), 1)
    assert (tall.box, [p.origin for p in tall.pieces]) == ((16, 256), [(256 * i, 0) for i in range(4)])


def test_layouts_no_box_writes_are_refused() -> None:
    layout = operand_layout((128, 64), 1, 2, True, 128)
    with pytest.raises(LayoutError, match="along dimension 0"):
        tma_plan(layout, (128, 64), 0)
    with pytest.raises(LayoutError, match="at most 5"):
        tma_plan(SharedLayout.row_major((2,) * 6, 4), (2,) * 6, 5)
    with pytest.raises(LayoutError):  # rows of 8 bytes
        tma_plan(SharedLayout.row_major((64, 4), 2), (64, 4), 1)


def test_atoms_by_name() -> None:
    assert len(WGMMA_ATOMS) == len(list(WGMMA_ATOMS)) == 448
    for key, each in WGMMA_ATOMS.items():
        assert wgmma_named(each.name) is each is WGMMA_ATOMS[key]
    assert wgmma_named(MMA_ATOMS[0].name) is None
    others = [wgmma_atom(x, x, F16, n, rs) for x in (F16, F8E4M3FN, F8E5M2) for n in (8, 256) for rs in (False, True)]
    others += [wgmma_atom(I8, I8, I32, 64, rs, (p, q)) for rs, p, q in itertools.product((False, True), repeat=3)]
    for each in others:
        assert each is not None
        assert wgmma_named(each.name) is each
    assert len({each.name for each in others if each}) == 20
    assert wgmma_atom(BF16, BF16, F16, 64, False) is None
    assert wgmma_atom(I8, I8, F32, 64, False) is None
    assert wgmma_atom(F32, F32, F32, 64, False) is None
    half = wgmma_atom(F16, F16, F16, 128, False)
    assert half is not None
    assert half.operand_registers == (0, 0, 32)
    assert (F16, BF16, 64, False) not in WGMMA_ATOMS
    assert (F16, F16, 12, False) not in WGMMA_ATOMS
