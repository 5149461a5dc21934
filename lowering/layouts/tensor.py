"""Accumulators in tensor memory: which row and column of a tile lies in which lane and column, and what threads read.

Source: PTX ISA 8.8, tcgen05, Data Path Layout D (one CTA, M = 128) and tcgen05.ld, 32x32b.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ir.tensor_descriptors import TENSOR_COLUMNS
from lowering.atoms.tcgen05 import LANES_OF_WARP, TensorAtom
from lowering.atoms.tcgen05 import M as LANES
from lowering.layouts.f2 import log2
from lowering.layouts.layout import Layout, LayoutError

WARPS = 4  # that reach all lanes; PTX ISA, tcgen05.ld, Access restrictions
LEAST_COLUMNS = 32  # of an allocation; PTX ISA, tcgen05.alloc


@dataclass(frozen=True, slots=True)
class TensorTile:
    """An M x N x K tile cut into atoms. Lane: row of the atom; column: column of the atom, blocks along N, along M.

    `c` is what the warps hold of it in registers: one row a thread, the columns of tensor memory in order, the highest
    bits of the column chosen by the warpgroup. `columns` are those of all blocks, `held` those that one thread reads.
    """

    atom: TensorAtom
    m: int
    n: int
    k: int
    columns: int
    held: int
    c: Layout

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Atoms along m, n, k."""
        m, n, k = self.atom.shape
        return self.m // m, self.n // n, self.k // k

    def column(self, i: int, j: int) -> int:
        """First column of tensor memory of block (i, j)."""
        return i * self.n + j * self.atom.shape[1]


@cache
def tensor_tile(atom: TensorAtom, m: int, n: int, k: int, warps: int) -> TensorTile:
    """Lay out D (m x n) for `warps` warps. Raises LayoutError where the atoms or the warps do not fill the tile evenly,
    or tensor memory does not hold it.
    """
    am, an, ak = atom.shape
    for name, size, unit in (("M", m, am), ("N", n, an), ("K", k, ak)):
        if size < unit or size % unit or (size // unit) & (size // unit - 1):
            raise LayoutError(
                f"{atom.name} needs {name} to be a multiple of {unit}, got {size}",
                hint="choose a larger tile or another atom",
            )
    columns = m // am * n
    if columns > TENSOR_COLUMNS or warps % WARPS or warps // WARPS > max(1, columns // LEAST_COLUMNS):
        raise LayoutError(
            f"an accumulator of {m} x {n} takes {columns} columns of tensor memory, which has {TENSOR_COLUMNS}, and "
            f"{LEAST_COLUMNS} of them or more for each four of {warps} warps",
            hint="choose another tile or number of warps",
        )
    along = [1 << i for i in range(log2(n))] + [(am << i) * n for i in range(log2(m // am))]
    lanes = [n << i for i in range(log2(am))]
    groups = log2(warps // WARPS)
    inner = log2(LANES_OF_WARP)
    layout = Layout(
        tuple(along[: len(along) - groups]), tuple(lanes[:inner]),
        (*lanes[inner:], *along[len(along) - groups :]), log2(m * n),
    )  # fmt: skip
    return TensorTile(atom, m, n, k, columns, columns >> groups, layout)


def kept(layout: Layout) -> Layout:
    """The layout of a sum that stays in tensor memory, as threads load and store it: another order of their registers,
    which nothing else has, so that what has it lies there.
    """
    return Layout(layout.reg[::-1], layout.lane, layout.warp, layout.bits)


def by_column(layout: Layout) -> list[int]:
    """A thread's registers in the order of the columns of tensor memory."""
    return sorted(range(layout.n_regs), key=lambda register: layout.element(register, 0, 0))


def accumulator_columns(size: int) -> int:
    """Columns that an accumulator of so many elements takes."""
    return max(LEAST_COLUMNS, size // LANES)


def allocation(columns: int) -> int:
    """Columns to allocate for as many: a power of two."""
    return max(LEAST_COLUMNS, 1 << (columns - 1).bit_length())
