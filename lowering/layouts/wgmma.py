"""Tiles for warpgroup products: D and register-A layouts, the instructions of a warpgroup, shared operands.

A shared operand is legal if the wgmma canonical layouts can describe it; its plan holds the constant part of the
matrix descriptor and the byte displacement of every block. Source: PTX ISA, wgmma, Shared Memory Matrix Layout; ptx.md
section 3, Canonical operand layouts.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ir.dialects.nvgpu import SWIZZLE_NAMES, descriptor_bits
from ir.records import dataclass
from lowering.atoms.wgmma import GROUP_COLUMNS, K_BYTES, ROWS_OF_WARPS, WarpgroupFragment, WgmmaAtom
from lowering.layouts.f2 import apply, log2
from lowering.layouts.layout import Layout, LayoutError
from lowering.layouts.shapes import Shape, dim_bits
from lowering.layouts.shared import CHUNK_BYTES, SWIZZLE_BITS, SharedLayout, swizzled

CORE_ROWS = 8  # rows of a core matrix, 16 bytes each; PTX ISA, wgmma, Core Matrices
TRANSPOSED = 2  # bytes of the largest elements that may be MN-major; PTX ISA, wgmma.mma_async, imm-trans
IGNORED_LBO = 16  # bytes; the field is not read for swizzled K-major operands; CUTLASS writes 1
Pair = tuple[int, int]


class WgmmaStep(NamedTuple):
    """One instruction of a warpgroup: its block (in atoms, within the warpgroup) and its registers.

    `a`: element registers of a register operand; `c`: element registers of D, four a group of eight columns.
    """

    m: int
    n: int
    k: int
    a: range
    c: range


@dataclass(frozen=True, slots=True)
class WgmmaTile:
    """An M x N x K tile cut into atoms over a grid of groups_m x groups_n warpgroups, each with contiguous rows, cols.

    Warp number: two bits of the warp in its group, then groups along m, then n. Register order, lowest first: a: atom,
    k blocks, m blocks. c: two columns, eight rows, columns of the atom, n blocks, m blocks. So if groups_n is 1 the
    accumulator of one product is, register by register, the register operand A of the next.
    """

    atom: WgmmaAtom
    m: int
    n: int
    k: int
    groups_m: int
    groups_n: int
    a: Layout
    c: Layout

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Atoms a warpgroup along m, n, k."""
        m, n, k = self.atom.shape
        return self.m // (m * self.groups_m), self.n // (n * self.groups_n), self.k // k

    @property
    def warpgroups(self) -> int:
        """Warpgroups that compute."""
        return self.groups_m * self.groups_n

    def steps(self) -> list[WgmmaStep]:
        """All instructions of a warpgroup, k outermost: the same accumulators recur as late as possible."""
        mb, nb, kb = self.blocks
        a, c = 1 << len(self.atom.a.reg), 4 * self.atom.groups
        return [
            WgmmaStep(i, j, k, _run(i * kb + k, a), _run(i * nb + j, c))
            for k in range(kb)
            for i in range(mb)
            for j in range(nb)
        ]

    def origin(self, group: int, step: WgmmaStep) -> tuple[int, int, int]:
        """First row of A, column of B and k of an instruction of warpgroup `group`."""
        mb, nb, _ = self.blocks
        m, n, k = self.atom.shape
        along_m, along_n = group % self.groups_m, group // self.groups_m
        return m * (along_m * mb + step.m), n * (along_n * nb + step.n), k * step.k


def _run(index: int, count: int) -> range:
    return range(index * count, (index + 1) * count)


def _powers(unit: int, count: int) -> list[int]:
    return [unit << k for k in range(log2(count))]


@cache
def wgmma_tile(atom: WgmmaAtom, m: int, n: int, k: int, warpgroups: int, groups_n: int = 1) -> WgmmaTile:
    """Lay out A (m x k) and D (m x n); groups_n of the warpgroups stand along n.

    Raises LayoutError if the atoms do not fill the tile evenly or N of the atom is not a power of two.
    """
    am, an, ak = atom.shape
    groups_m = warpgroups // groups_n
    for name, size, unit in (("M", m, am * groups_m), ("N", n, an * groups_n), ("K", k, ak)):
        if not unit or size < unit or size % unit or (size // unit) & (size // unit - 1):
            raise LayoutError(
                f"{atom.name} on {groups_m}x{groups_n} warpgroups needs {name} to be a multiple of {unit}, got {size}",
                hint="choose a larger tile, fewer warpgroups or another atom",
            )
    if an & (an - 1):
        raise LayoutError(
            f"{atom.name}: N = {an} is not a power of two, as tile sizes are", hint="choose 8, 16, ..., 256"
        )
    mb, nb, kb = m // (am * groups_m), n // (an * groups_n), k // ak
    group_rows, group_cols = _powers(am * mb, groups_m), _powers(an * nb, groups_n)

    def build(fragment: WarpgroupFragment, cols: int, reg: list[Pair], warp: list[Pair]) -> Layout:
        flat = [row * cols + col for row, col in (*fragment.reg, *reg)]
        lane = tuple(row * cols + col for row, col in fragment.lane)
        warps = tuple(row * cols + col for row, col in (*ROWS_OF_WARPS, *warp))
        return Layout(tuple(flat), lane, warps, log2(m * cols))

    rows = [(x, 0) for x in _powers(am, mb)]
    along_m = [(x, 0) for x in group_rows]
    a = build(atom.a, k, [(0, x) for x in _powers(ak, kb)] + rows, along_m + [(0, 0)] * len(group_cols))
    columns = [(0, x) for x in _powers(GROUP_COLUMNS, an * nb // GROUP_COLUMNS)]
    c = build(atom.c, n, columns + rows, along_m + [(0, x) for x in group_cols])
    return WgmmaTile(atom, m, n, k, groups_m, groups_n, a, c)


@cache
def warpgroup_grids(atom: WgmmaAtom, m: int, n: int, warpgroups: int) -> tuple[tuple[int, int], ...]:
    """Grids (groups_m, groups_n) that the atom fills; rows before columns, so that a row stays in one warpgroup."""
    am, an, _ = atom.shape
    grids = [(warpgroups >> i, 1 << i) for i in range(log2(warpgroups) + 1)]
    return tuple((gm, gn) for gm, gn in grids if m % (am * gm) == 0 and n % (an * gn) == 0)


# Shared operands


@dataclass(frozen=True, slots=True)
class MatrixOperand:
    """Matrix descriptors for blocks of a tile in shared memory.

    `swizzle` (span in bytes, 0 none), `lbo`, `sbo` (bytes) are the descriptor's fields; `k_major` false sets the
    instruction's trans flag. `mn_bytes`, `k_bytes`: byte displacement of each bit of the two coordinates.
    `alignment`: bytes to which the buffer must be aligned, so that base_offset is 0.
    """

    swizzle: int
    k_major: bool
    lbo: int
    sbo: int
    mn_bytes: tuple[int, ...]
    k_bytes: tuple[int, ...]
    alignment: int

    @property
    def swizzle_name(self) -> str:
        """As nvgpu.matrix_descriptor spells it."""
        return SWIZZLE_NAMES[self.swizzle]

    @property
    def bits(self) -> int:
        """The descriptor of address 0."""
        return descriptor_bits(self.lbo, self.sbo, self.swizzle_name)

    def displacement(self, mn: int, k: int) -> int:
        """Bytes from the buffer's start to the block whose first element is (mn, k); adds over disjoint blocks."""
        return apply(self.mn_bytes, mn) + apply(self.k_bytes, k)


@cache
def operand_layout(shape: Shape, k_dim: int, element_bytes: int, k_major: bool, swizzle: int) -> SharedLayout:
    """The dense canonical layout of an operand tile: panels of `swizzle` bytes (16 without swizzle) along its major.

    `shape` has two dimensions, `k_dim` is the one along K: 1 for A (m, k), 0 for B (k, n), 1 for B (n, k).
    A tensor copy writes each panel as one box. Raises LayoutError if the tile is narrower than a panel.
    """
    fast = k_dim if k_major else 1 - k_dim
    span = swizzle or CHUNK_BYTES
    if swizzle not in SWIZZLE_BITS or shape[fast] * element_bytes < span:
        raise LayoutError(
            f"a tile of {shape[fast]} elements of {element_bytes} bytes has no rows of {span} bytes",
            hint="choose a swizzle of 128, 64, 32 or 0 bytes that is no wider than the tile",
        )
    if swizzle:
        return swizzled(shape, (fast, 1 - fast), element_bytes, swizzle)
    fields = dim_bits(shape)
    inner, outer = ([1 << (fields[d].shift + i) for i in range(fields[d].width)] for d in (fast, 1 - fast))
    chunk = log2(CHUNK_BYTES // element_bytes)
    dense = inner[:chunk] + outer + inner[chunk:]
    place = {element: 1 << i for i, element in enumerate(dense)}
    return SharedLayout(tuple(place[1 << i] for i in range(len(dense))), len(dense), element_bytes)


def unswizzled(layout: SharedLayout, swizzle: int) -> tuple[int, ...] | None:
    """Byte of each element bit before the XOR of a swizzle, None if the layout is not a dense one with this swizzle."""
    bits = SWIZZLE_BITS[swizzle]
    dense: list[int] = []
    for place in layout.offset:
        byte = place * layout.element_bytes
        byte ^= (byte >> 7 & ((1 << bits) - 1)) << 4
        if byte & (byte - 1):
            return None
        dense.append(byte)
    return tuple(dense)


@cache
def matrix_operand(
    layout: SharedLayout, shape: Shape, k_dim: int, mn_size: int, least: int = TRANSPOSED
) -> MatrixOperand:
    """Descriptors of one instruction with `mn_size` rows of A or columns of B (64 or N) for blocks of a tile in shared
    memory.

    `least`: bytes of the smallest elements that it reads MN-major; tcgen05 can read bytes this way, wgmma cannot.
    Raises LayoutError if no canonical layout fits.
    """
    fields = dim_bits(shape)
    mn, k = fields[1 - k_dim], fields[k_dim]
    for swizzle in (128, 64, 32, 0):
        dense = unswizzled(layout, swizzle)
        if dense is None:
            continue
        mn_bytes = dense[mn.shift : mn.shift + mn.width]
        k_bytes = dense[k.shift : k.shift + k.width]
        for k_major in (True, False):
            if not k_major and not least <= layout.element_bytes <= TRANSPOSED:
                continue
            strides = _strides(mn_bytes, k_bytes, layout.element_bytes, mn_size, k_major, swizzle)
            if strides is not None:
                lbo, sbo = strides
                return MatrixOperand(swizzle, k_major, lbo, sbo, mn_bytes, k_bytes, CORE_ROWS * (swizzle or 16))
    raise LayoutError(
        f"shared layout {layout} of {shape} is not a canonical wgmma operand",
        hint="expected panels of 32, 64 or 128 swizzled bytes along one dimension (operand_layout)",
    )


def _strides(mn: tuple[int, ...], k: tuple[int, ...], element: int, size: int, k_major: bool, swizzle: int
             ) -> tuple[int, int] | None:  # fmt: skip
    """(LBO, SBO) if dense byte displacements follow the canonical layout, otherwise None."""
    wanted = log2(size)
    depth = log2(K_BYTES // element)
    if len(mn) < wanted or len(k) < depth:
        return None
    span = swizzle or CHUNK_BYTES
    fast, slow = (k, mn) if k_major else (mn, k)
    fast_count, slow_count = (depth, wanted) if k_major else (wanted, depth)
    inside = log2(span // element)
    rows = log2(CORE_ROWS)
    if k_major and swizzle:
        inside = min(inside, depth)
    if len(fast) < inside or len(slow) < rows:
        return None
    natural = all(fast[i] == element << i for i in range(inside))
    if not natural or any(slow[i] != span << i for i in range(rows)):
        return None
    along_fast = _stride(fast[inside:fast_count])
    along_slow = _stride(slow[rows:slow_count])
    if along_fast is None or along_slow is None:
        return None
    default = CORE_ROWS * span
    if k_major:
        return (IGNORED_LBO if swizzle else along_fast or default), along_slow or default
    if swizzle:
        return along_fast or IGNORED_LBO, along_slow or default
    return along_slow or default, along_fast or default


def _stride(bytes_: tuple[int, ...]) -> int | None:
    """The constant stride of a run of bits, 0 for an empty run, None if it is not constant or too wide."""
    if not bytes_:
        return 0
    steady = all(byte == bytes_[0] << i for i, byte in enumerate(bytes_))
    return bytes_[0] if steady and bytes_[0] % 16 == 0 and bytes_[0] < 1 << 18 else None
