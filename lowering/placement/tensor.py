"""Products in tensor memory that are offered for a product of tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from ir.types import TileType
from lowering.atoms.tcgen05 import WIDTHS, TensorAtom, tensor_atom
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.tensor import tensor_tile

Operands = Callable[[tuple[int, int], int, TensorAtom, int], Iterator[int]]


def tensor_products(
    a: TileType, b: TileType, c: TileType, counts: Sequence[int], operands: Operands
) -> Iterator[tuple[TensorAtom, int, int, Layout]]:
    """The widest atom for each number of warps, and the layouts: of A and B in shared memory, K-major and MN-major, as
    `operands` gives them; of D in registers, where it is read.
    """
    (m, k), n = a.shape[-2:], b.shape[-1]
    atoms = [atom for width in WIDTHS if (atom := tensor_atom(a.element, b.element, c.element, width)) is not None]
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
