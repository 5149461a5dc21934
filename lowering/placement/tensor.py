"""Products in tensor memory that are offered for a product of tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from ir.types import TileType
from lowering.atoms.tcgen05 import ALONE, LEFT, PAIR, WIDTHS, TensorAtom, tensor_atom
from lowering.atoms.wgmma import BOTH_SIGNED
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.tensor import left_factor, tensor_tile

Operands = Callable[[tuple[int, int], int, TensorAtom, int], Iterator[int]]


def tensor_products(
    a: TileType, b: TileType, c: TileType, counts: Sequence[int], operands: Operands,
    signed: tuple[bool, bool] = BOTH_SIGNED, form: str = ALONE,
) -> Iterator[tuple[TensorAtom, int, int, Layout]]:  # fmt: skip
    """The widest atom of a form for each number of warps, and the layouts: of A and B in shared memory, K-major and
    MN-major, as `operands` gives them; of D in registers, where it is read. A pair's has the columns of the whole tile,
    of which each CTA brings a half.
    """
    (m, k), n = a.shape[-2:], b.shape[-1]
    widths = [width for width in WIDTHS if form != PAIR or width == n]
    atoms = [tensor_atom(a.element, b.element, c.element, width, form, signed) for width in widths]
    for warps in counts if prod(a.shape[:-2]) == 1 else ():
        for atom in (each for each in atoms if each is not None):
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
        held = tensor_atom(a.element, b.element, c.element, atom.shape[1], LEFT)
        m, k = a.shape[-2:]
        layout = None if held is None else left_factor(m, k, atom.dtypes[0].width, d.n_warps)
        if held is not None and layout is not None:
            yield held, layout, right, d
