"""Products in tensor memory that are offered for a product of tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from ir.types import TileType
from lowering.atoms.tcgen05 import ALONE, FEW, FEW_WIDTHS, LEFT, PAIR, M, TensorAtom, scaled_tensor_atoms, tensor_atom
from lowering.atoms.wgmma import BOTH_SIGNED
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tensor import left_factor, scale_layout, tensor_tile

Operands = Callable[[tuple[int, int], int, TensorAtom, int], Iterator[int]]


def tensor_products(
    a: TileType,
    b: TileType,
    c: TileType,
    counts: Sequence[int],
    operands: Operands,
    signed: tuple[bool, bool] = BOTH_SIGNED,
    form: str = ALONE,
) -> Iterator[tuple[TensorAtom, int, int, Layout]]:
    """The widest atom of a form for each number of warps, and the layouts: of A and B in shared memory, K-major and
    MN-major, as `operands` gives them; of D in registers, where it is read. A pair's has the columns of the whole tile,
    of which each CTA brings a half.
    """
    rows = FEW if a.shape[-2] == FEW and form == ALONE else M
    widths = [width for width in FEW_WIDTHS if form != PAIR or width == b.shape[-1]]
    atoms = [tensor_atom(a.element, b.element, c.element, width, form, signed, rows) for width in widths]
    yield from _widest([each for each in atoms if each is not None], a, b, counts, operands)


def _widest(
    atoms: Sequence[TensorAtom], a: TileType, b: TileType, counts: Sequence[int], operands: Operands
) -> Iterator[tuple[TensorAtom, int, int, Layout]]:
    """The first atom that fills the tile for each number of warps, and the layouts."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    for warps in counts if prod(a.shape[:-2]) == 1 else ():
        for atom in atoms:
            try:
                tile = tensor_tile(atom, m, n, k, warps)
            except LayoutError:
                continue  # a narrower one may fill the tile
            for right in operands((k, n), 0, atom, atom.shape[1]):
                for left in operands((m, k), 1, atom, atom.shape[0]):
                    yield atom, left, right, tile.c
            break


def left_products(
    a: TileType, b: TileType, c: TileType, counts: Sequence[int], operands: Operands
) -> Iterator[tuple[TensorAtom, Layout, int, Layout]]:
    """The same where the left factor lies in tensor memory, with the layout in which threads write it."""
    found = dict.fromkeys((atom, right, d) for atom, _, right, d in tensor_products(a, b, c, counts, operands))
    for atom, right, d in found:
        held = tensor_atom(a.element, b.element, c.element, atom.shape[1], LEFT, m=atom.shape[0])
        m, k = a.shape[-2:]
        layout = None if held is None else left_factor(m, k, atom.dtypes[0].width, d.n_warps)
        if held is not None and layout is not None:
            yield held, layout, right, d


def scaled_products(
    a: TileType, b: TileType, c: TileType, s: TileType, t: TileType, counts: Sequence[int], operands: Operands
) -> Iterator[tuple[TensorAtom, int, int, Layout, SharedLayout, SharedLayout]]:
    """The same of block-scaled products, with the layouts in shared memory of the scales of A and of B."""
    across, down = (scale_layout(each.shape[-2:], k_dim) for each, k_dim in ((s, 1), (t, 0)))
    if across is not None and down is not None:
        atoms = scaled_tensor_atoms(a.element, b.element, c.element, s.element, a.shape[-1] // s.shape[-1])
        for atom, left, right, d in _widest(atoms, a, b, counts, operands):
            yield atom, left, right, d, across, down
