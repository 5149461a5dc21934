"""Tiles in tensor memory: the lane and column of each row and column of a tile, and the register layout of threads.

Source: PTX ISA 8.8, tcgen05, Data Path Layouts D and F (one CTA, M = 128 and 64), and tcgen05.ld, 32x32b and 16x256b.
"""

from __future__ import annotations

from functools import cache

from ir.dialects.nv_tileas_types import TensorMemoryType
from ir.records import dataclass
from ir.tensor_descriptors import TENSOR_COLUMNS
from lowering.atoms.tcgen05 import FEW, LANES_OF_WARP, TensorAtom
from lowering.atoms.tcgen05 import M as LANES
from lowering.layouts.elements import moved_bits
from lowering.layouts.f2 import images, log2
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.shapes import Shape, dim_bits
from lowering.layouts.shared import SharedLayout

WARPS = 4  # that reach all lanes; PTX ISA, tcgen05.ld, Access restrictions
LEAST_COLUMNS = 32  # of an allocation; PTX ISA, tcgen05.alloc
COLUMN_BITS = 32  # of a lane of a column; PTX ISA, Tensor Memory
FEW_FACTORS = 4  # row factors of a thread, one for each of its rows; with more they are not row factors


@dataclass(frozen=True, slots=True)
class TensorTile:
    """An M x N x K tile cut into atoms. Lane: row of the atom; column: column of the atom, blocks along N, along M.

    `c` is the register layout of the warps: one row a thread, the columns of tensor memory in order, the highest
    bits of the column chosen by the warpgroup; of 64 rows `rows_in_halves`. `columns` are those of all blocks, `held`
    those that one thread reads.
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
    """Lay out D (m x n) for `warps` warps. Raises LayoutError if the atoms or the warps do not fill the tile evenly, or
    it does not fit in tensor memory.
    """
    am, an, ak = atom.shape
    for name, size, unit in (("M", m, am), ("N", n, an), ("K", k, ak)):
        if size < unit or size % unit or (size // unit) & (size // unit - 1):
            raise LayoutError(
                f"{atom.name} needs {name} to be a multiple of {unit}, got {size}",
                hint="choose a larger tile or another atom",
            )
    if am == FEW != m:
        raise LayoutError(f"{atom.name} needs a tile of {FEW} rows, got {m}", hint="choose an atom of 128 rows")
    columns = m // am * n
    if columns > TENSOR_COLUMNS or warps % WARPS or warps // WARPS > max(1, columns // LEAST_COLUMNS):
        raise LayoutError(
            f"an accumulator of {m} x {n} takes {columns} columns of tensor memory, which has {TENSOR_COLUMNS}, and "
            f"{LEAST_COLUMNS} of them or more for each four of {warps} warps",
            hint="choose another tile or number of warps",
        )
    c = rows_in_halves(n, warps) if m == FEW else rows_by_lane(m, n, warps)
    return TensorTile(atom, m, n, k, columns, columns // (warps // WARPS), c)


def rows_by_lane(m: int, n: int, warps: int) -> Layout:
    """How `warps` warps hold a tile of tensor memory in registers: one row a thread, columns in order, blocks of rows
    one after another, the highest bits of the column chosen by the warpgroup.
    """
    along = [1 << i for i in range(log2(n))] + [(LANES << i) * n for i in range(log2(m // LANES))]
    lanes = [n << i for i in range(log2(LANES))]
    groups, inner = log2(warps // WARPS), log2(LANES_OF_WARP)
    return Layout(
        tuple(along[: len(along) - groups]),
        tuple(lanes[:inner]),
        (*lanes[inner:], *along[len(along) - groups :]),
        log2(m * n),
    )


def rows_in_halves(n: int, warps: int) -> Layout:
    """The same for a tile of 64 rows, which lie in 16 lanes of each warp: two rows a thread, of every eight columns two
    neighbours of each, as tcgen05.ld.16x256b loads them; the highest bits of the column are chosen by the warpgroup.
    """
    eights, groups = [8 << i for i in range(log2(n // 8))], log2(warps // WARPS)
    inner, own = len(eights) - groups, [n << i for i in range(log2(FEW))]
    return Layout((1, own[3], *eights[:inner]), (2, 4, *own[:3]), (*own[4:], *eights[inner:]), log2(FEW * n))


def columns_of_registers(count: int, rows: int) -> int:
    """Columns of tensor memory that so many registers of each thread hold, of a tile of `rows` rows."""
    return count * LANES // rows if rows < LANES else count


def left_factor(m: int, k: int, width: int, warps: int) -> Layout | None:
    """The layout in which threads hold a left factor of `width`-bit elements that they write to tensor memory, rows in
    the same lanes as the accumulator's; None if a thread's share is not whole columns. Of 64 rows a pair of elements is
    a column, as tcgen05.st.16x128b stores them: what scores are loaded as. Source: CUTLASS, TmemAllocMode of UMMA_TS.
    """
    if m == FEW and (k < 8 * warps // WARPS or width != COLUMN_BITS // 2):
        return None
    layout = rows_in_halves(k, warps) if m == FEW else rows_by_lane(m, k, warps)
    return layout if layout.n_regs * width >= COLUMN_BITS and layout.reg[:1] == (1,) else None


def over_accumulator(layout: Layout, m: int) -> bool:
    """May a left factor of `m` rows in this layout overlay an accumulator that its threads have read? Yes if each warp
    writes only columns that no other warp reads: it owns all columns of its rows.
    """
    return layout.n_warps // WARPS in (1, m // LANES)


def takes(accumulator: tuple[int, ...], left: tuple[int, ...], width: int) -> bool:
    """Does a left factor of `width`-bit elements fit in the place of an accumulator of a shape?"""
    return accumulator[0] == left[0] and accumulator[1] >= left_pitch(left[1], width)


def left_pitch(k: int, width: int) -> int:
    """Columns of a block of rows of a left factor."""
    return k * width // COLUMN_BITS


def lane_of(element: int, shape: Shape) -> int:
    """The lane of an element of a tile; of 64 rows 16 are in the lower lanes of each warp."""
    rows, columns = shape[-2:]
    row = element // columns
    half = LANES_OF_WARP // (LANES // FEW)
    return row // half * LANES_OF_WARP + row % half if rows == FEW else row % LANES


def column_of(element: int, columns: int, width: int, pitch: int) -> int:
    """The column of an element of a tile whose rows have `columns` elements of `width` bits, blocks of rows `pitch`
    columns apart.
    """
    return element % columns * width // COLUMN_BITS + element // columns // LANES * pitch


SCALES = 4  # of a row in one column; PTX ISA, tcgen05.mma, Scale Factor layouts
SCALE_ROWS, SCALE_BYTES = 32, 512  # rows of one column; bytes that one tcgen05.cp.32x128b.warpx4 copies
SCALE_COLUMNS = SCALE_BYTES // SCALE_ROWS // SCALES  # that it fills


@cache
def scale_layout(shape: Shape, k_dim: int) -> SharedLayout | None:
    """The shared layout of one-byte scales, `k_dim` the dimension along K, from which 512 bytes at a time can be copied
    to tensor memory: 32 rows of 16 bytes, the four scales of a row in a word, rows 32 apart in the next words, then
    more scales of a row if there are fewer than 128 rows. Blocks of 128 rows and four scales are ordered along K first,
    as in CUTLASS and cuBLAS. None if a tile does not fill such a block.

    Source: PTX ISA, tcgen05.mma, Scale Factor layouts; CUTLASS, Sm1xxBlockScaledConfig.
    """
    fields = dim_bits(shape)
    k, rows = ([1 << field.shift + i for i in range(field.width)] for field in (fields[k_dim], fields[1 - k_dim]))
    word, lanes = log2(SCALES), log2(SCALE_ROWS)
    if len(k) < word or len(rows) < lanes or len(k) + len(rows) < log2(SCALE_BYTES):
        return None
    apart = rows[lanes : lanes + log2(SCALE_COLUMNS)]
    filled = word + log2(SCALE_COLUMNS) - len(apart)
    dense = [*k[:word], *apart, *k[word:filled], *rows[:lanes], *k[filled:], *rows[lanes + len(apart) :]]
    place = {element: 1 << i for i, element in enumerate(dense)}
    return SharedLayout(tuple(place[1 << i] for i in range(len(dense))), len(dense), 1)


def scale_copies(rows: int, count: int) -> list[int]:
    """For each 512 bytes of scales in such a layout, `count` of each of the `rows`, the first column that they go to:
    the columns of all rows side by side, then those of the next four scales.
    """
    blocks, words = max(1, rows // (SCALE_ROWS * SCALE_COLUMNS)), count // SCALES
    if blocks == 1:
        return [*range(0, scale_columns(rows, count), SCALE_COLUMNS)]
    return [SCALE_COLUMNS * (word * blocks + block) for block in range(blocks) for word in range(words)]


def scale_columns(rows: int, count: int) -> int:
    """Columns that these scales take."""
    return rows // SCALE_ROWS * (count // SCALES)


def scale_memory(nbytes: int) -> int:
    """Columns of tensor memory for `nbytes` of scales of both factors; what follows is aligned as accumulators are."""
    columns = nbytes // (SCALE_ROWS * SCALES)
    return -(-columns // LEAST_COLUMNS) * LEAST_COLUMNS


def scale_place(rows: int, row: int, scale: int) -> tuple[int, int]:
    """Column and byte of the `scale`-th scale of a row, a multiple of 32 of the `rows`."""
    return scale // SCALES * (rows // SCALE_ROWS) + row // SCALE_ROWS, scale % SCALES


def kept(layout: Layout) -> Layout:
    """The layout of a sum that stays in tensor memory, as threads load and store it: a register order used for nothing
    else, so that this layout implies tensor memory.
    """
    return Layout(layout.reg[::-1], layout.lane, layout.warp, layout.bits)


def as_loaded(layout: Layout, rows: int) -> list[int]:
    """A thread's registers of a tile of `rows` rows in the order in which loads have them: of 64 rows two neighbours of
    one row, those of the other, then further columns.
    """
    if rows >= LANES:
        return by_column(layout)
    one, *columns, row = sorted(layout.reg)
    register = {layout.element(each, 0, 0): each for each in range(layout.n_regs)}
    return [register[element] for element in images((one, row, *columns))]


def by_column(layout: Layout) -> list[int]:
    """A thread's registers in the order of the columns of tensor memory."""
    return sorted(range(layout.n_regs), key=lambda register: layout.element(register, 0, 0))


def tile_columns(shape: Shape, width: int) -> int:
    """Columns of a tile with elements of `width` bits; half of the lanes of one with 64 rows are not used."""
    rows, columns = shape[-2:]
    return max(LEAST_COLUMNS, -(-rows // LANES) * columns * width // COLUMN_BITS)


def element_bits(kind: TensorMemoryType) -> int:
    """Bits of a column that an element of a tile in tensor memory takes."""
    return COLUMN_BITS if kind.apart else moved_bits(kind.element)


def memory_columns(kind: TensorMemoryType) -> int:
    """Columns that it takes."""
    return tile_columns(kind.shape, element_bits(kind))


def allocation(columns: int) -> int:
    """Columns to allocate: a power of two."""
    return max(LEAST_COLUMNS, 1 << (columns - 1).bit_length())
