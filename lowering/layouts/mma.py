"""Layouts of a whole tile for a matrix instruction: one fragment a warp, repeated over registers and warps."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ir.records import dataclass
from lowering.atoms.mma import Fragment, MmaAtom
from lowering.layouts.f2 import log2
from lowering.layouts.layout import LANE_BITS, Layout, LayoutError

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MmaTile:
    """An M x N x K tile (optionally a batch of them) cut into atoms over a grid of warp_m x warp_n warps.

    Each warp owns contiguous rows and columns. Warp number: low bits along m, then n. Register order, lowest first:
    a: atom, k blocks, m blocks, batch. b: atom, n blocks, k blocks, batch. c: atom, n blocks, m blocks, batch.
    `scales` of a and b, if the atom takes them: k blocks, m (n) blocks, batch, so that those of a row for four steps
    of k are the bytes of one register.
    So the accumulator of one product is, register by register, the A operand of the next if warp_n is 1, and an
    ldmatrix.x4 of b (two atoms) stays inside one k block, as fragment double-buffering requires.
    """

    atom: MmaAtom
    m: int
    n: int
    k: int
    warp_m: int
    warp_n: int
    batch: int
    a: Layout
    b: Layout
    c: Layout
    scales: tuple[Layout, ...] = ()

    @property
    def blocks(self) -> tuple[int, int, int]:
        """Atoms a warp along m, n, k."""
        m, n, k = self.atom.shape
        return self.m // (m * self.warp_m), self.n // (n * self.warp_n), self.k // k

    def steps(self) -> list[MmaStep]:
        """All matrix instructions of a warp, k outermost so that fragments of the next k can be loaded meanwhile."""
        mb, nb, kb = self.blocks
        a, b, c = (len(f.reg) for f in (self.atom.a, self.atom.b, self.atom.c))
        scales = self.atom.scales
        factors = 0 if scales is None else self.atom.shape[2] // scales.block
        return [
            MmaStep(
                k,
                _run((s * mb + i) * kb + k, 1 << a),
                _run((s * kb + k) * nb + j, 1 << b),
                _run((s * mb + i) * nb + j, 1 << c),
                (((s * mb + i) * kb + k) * factors, ((s * nb + j) * kb + k) * factors),
            )
            for k in range(kb)
            for s in range(self.batch)
            for i in range(mb)
            for j in range(nb)
        ]


class MmaStep(NamedTuple):
    """One matrix instruction: its k block and the element registers of A, B and C (accumulator, read and written), and
    the first element registers of the scales of A and B, if any.
    """

    k: int
    a: range
    b: range
    c: range
    scales: tuple[int, int]


def _run(index: int, count: int) -> range:
    return range(index * count, (index + 1) * count)


def _powers(unit: int, count: int) -> list[int]:
    return [unit << k for k in range(log2(count))]


@cache
def mma_tile(
    atom: MmaAtom, m: int, n: int, k: int, warp_m: int, warp_n: int, batch: int = 1, copies: int = 1
) -> MmaTile:
    """Lay out A (m x k), B (k x n) and C (m x n), computed redundantly by `copies` grids of warps, each holding all of
    it.

    Raises LayoutError if the atoms do not fill the tile evenly.
    """
    am, an, ak = atom.shape
    for name, size, unit in (("M", m, am * warp_m), ("N", n, an * warp_n), ("K", k, ak)):
        if size < unit or size % unit:
            raise LayoutError(
                f"{atom.name} on {warp_m}x{warp_n} warps needs {name} to be a multiple of {unit}, got {size}",
                hint="choose a larger tile, fewer warps or another atom",
            )
    mb, nb, kb = m // (am * warp_m), n // (an * warp_n), k // ak
    m_reg, n_reg, k_reg = _powers(am, mb), _powers(an, nb), _powers(ak, kb)
    m_warp, n_warp = _powers(am * mb, warp_m), _powers(an * nb, warp_n)
    none_m, none_n = [0] * len(m_warp), [0] * len(n_warp)
    alike = [(0, 0)] * log2(copies)

    def build(fragment: Fragment, rows: int, cols: int, reg: list[Pair], warp: list[Pair]) -> Layout:
        flat = [row * cols + col for row, col in (*fragment.reg, *reg)] + _powers(rows * cols, batch)
        lane = tuple(row * cols + col for row, col in fragment.lane)
        bases = tuple(row * cols + col for row, col in (*warp, *alike))
        return Layout(tuple(flat), lane, bases, log2(batch * rows * cols))

    a = build(atom.a, m, k, [(0, x) for x in k_reg] + [(x, 0) for x in m_reg], [(x, 0) for x in m_warp + none_n])
    b = build(atom.b, k, n, [(0, x) for x in n_reg] + [(x, 0) for x in k_reg], [(0, x) for x in none_m + n_warp])
    c_warp = [(x, 0) for x in m_warp] + [(0, x) for x in n_warp]
    c = build(atom.c, m, n, [(0, x) for x in n_reg] + [(x, 0) for x in m_reg], c_warp)
    if atom.scales is None:
        return MmaTile(atom, m, n, k, warp_m, warp_n, batch, a, b, c)
    few = k // atom.scales.block
    steps = _powers(few // kb, kb)
    rows, columns = [(0, x) for x in steps] + [(x, 0) for x in m_reg], [(x, 0) for x in steps] + [(0, x) for x in n_reg]
    a_scales = build(atom.scales.a, m, few, rows, [(x, 0) for x in m_warp + none_n])
    b_scales = build(atom.scales.b, few, n, columns, [(0, x) for x in none_m + n_warp])
    return MmaTile(atom, m, n, k, warp_m, warp_n, batch, a, b, c, (a_scales, b_scales))


@cache
def warp_grids(atom: MmaAtom, m: int, n: int, warps: int) -> tuple[tuple[int, int], ...]:
    """Grids (warp_m, warp_n) of `warps` warps that the atom fills, most square warp tiles first; of fewer warps if the
    tile is too small for all: the others compute copies.

    A square warp tile reads the fewest operand bytes for its products.
    """
    am, an, _ = atom.shape
    grids = [(1 << i, warps >> i) for i in range(log2(warps) + 1)]
    legal = [(wm, wn) for wm, wn in grids if m % (am * wm) == 0 and n % (an * wn) == 0]
    if not legal and warps > 1:
        return warp_grids(atom, m, n, warps // 2)
    return tuple(sorted(legal, key=lambda g: (m // g[0] + n // g[1], g)))


class FmaTile(NamedTuple):
    """A scalar-fma matmul: c is blocked; a (m x k) and b (k x n) are c's layout sliced, with all of k in registers.

    Register order: a: k, then m bits of c. b: k, then n bits of c. c: n bits, then m bits. A batch comes last in each,
    `held` products of it in one thread.
    """

    a: Layout
    b: Layout
    c: Layout
    held: int

    def steps(self, k: int) -> list[tuple[int, int, int]]:
        """(a, b, c) element registers of every fma, k outermost."""
        rows, cols = self.a.n_regs // k // self.held, self.b.n_regs // k // self.held
        return [
            ((s * rows + i) * k + x, (s * cols + j) * k + x, (s * rows + i) * cols + j)
            for x in range(k) for s in range(self.held) for i in range(rows) for j in range(cols)
        ]  # fmt: skip


@cache
def fma_tile(m: int, n: int, k: int, warps: int, batch: int = 1) -> FmaTile:
    """Blocked layouts for an m x n x k product on scalar fma: near-square register tiles, lanes first along n."""
    m_bits, n_bits, k_bits, s_bits = log2(m), log2(n), log2(k), log2(batch)
    held = max(0, m_bits + n_bits + s_bits - LANE_BITS - log2(warps))
    n_held = min(n_bits, (held + 1) // 2)
    m_held = min(m_bits, held - n_held)
    n_held = min(n_bits, held - m_held)
    s_held = held - n_held - m_held
    n_reg, m_reg, s_reg = (_powers(1, 1 << x) for x in (n_held, m_held, s_held))
    n_thread = [1 << x for x in range(n_held, n_bits)]
    m_thread = [1 << x for x in range(m_held, m_bits)]
    threads = [(0, 0, x) for x in n_thread[:3]] + [(0, x, 0) for x in m_thread[:2]]
    threads += [(0, 0, x) for x in n_thread[3:]] + [(0, x, 0) for x in m_thread[2:]]
    threads += [(1 << x, 0, 0) for x in range(s_held, s_bits)]
    threads += [(0, 0, 0)] * (LANE_BITS + log2(warps) - len(threads))

    def build(reg: list[int], row: int, col: int, bits: int) -> Layout:
        """`row` and `col`: elements from one row (column) of c to the next in this operand."""
        bases = [s << bits | i * row | j * col for s, i, j in threads]
        held = (*reg, *(s << bits for s in s_reg))
        return Layout(held, tuple(bases[:LANE_BITS]), tuple(bases[LANE_BITS:]), bits + s_bits)

    c = build(n_reg + [x * n for x in m_reg], n, 1, m_bits + n_bits)
    a = build(_powers(1, k) + [x * k for x in m_reg], k, 0, m_bits + k_bits)
    b = build(_powers(n, k) + n_reg, 0, 1, k_bits + n_bits)
    return FmaTile(a, b, c, 1 << s_held)
