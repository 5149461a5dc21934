"""Distributed layouts: which element of a tile each register of each thread holds, as a linear map over F2.

Sizes are powers of two. An element is named by its row-major flattened index (last dimension in the lowest bits), so
reshaping does not change a layout. Source of the idea: Linear Layouts, arXiv 2505.23819.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ir.core import Attribute, TileError, spelled
from ir.records import dataclass
from lowering.layouts.f2 import Bases, Echelon, IndexArray, apply, image_array, images, log2, rank

LANE_BITS = 5  # 32 threads a warp on every target; source: PTX ISA, WARP_SZ


_SPELLING = re.compile(
    r"reg\s*=\s*\[(.*?)\]\s*,\s*lane\s*=\s*\[(.*?)\]\s*,\s*warp\s*=\s*\[(.*?)\]\s*,\s*size\s*=\s*(\d{1,18})"
)


def read_bases(text: str) -> Bases:
    """The bases in `1, 2, 4`."""
    return tuple(int(base) for base in text.split(",") if base.strip())


class LayoutError(TileError):
    """A tile, warp count or access that no layout of the required kind can serve."""


@spelled("#nv_tileas.linear")
@dataclass(frozen=True, slots=True)
class Layout(Attribute):
    """Element held by (reg, lane, warp) = XOR of the bases over the set bits of the three numbers.

    A base of 0 means that both halves hold the same data. `bits` is log2 of the tile size.
    """

    reg: Bases
    lane: Bases
    warp: Bases
    bits: int

    def __post_init__(self) -> None:
        if len(self.lane) != LANE_BITS:
            raise LayoutError(f"a layout needs {LANE_BITS} lane bases, got {len(self.lane)}")
        union = 0
        for base in self.reg + self.lane + self.warp:
            union |= base
        if union >> self.bits:
            raise LayoutError(f"layout {self} names elements outside a tile of {1 << self.bits}")

    @staticmethod
    def trivial(warps: int) -> Layout:
        """A scalar that every thread of `warps` warps holds in one register."""
        return Layout((), (0,) * LANE_BITS, (0,) * log2(warps), 0)

    @staticmethod
    def copies(warps: int, size: int) -> Layout:
        """A tile that every thread of `warps` warps holds as a whole."""
        bits = log2(size)
        return Layout(tuple(1 << k for k in range(bits)), (0,) * LANE_BITS, (0,) * log2(warps), bits)

    def __str__(self) -> str:
        reg, lane, warp = (", ".join(map(str, bases)) for bases in (self.reg, self.lane, self.warp))
        return f"#linear<reg=[{reg}], lane=[{lane}], warp=[{warp}]>"

    def _repr_html_(self) -> str:
        """The bases, for notebooks."""
        size = f"{1 << self.bits} elements, {1 << len(self.warp)} warps, {1 << len(self.reg)} registers per thread"
        named = (("register", self.reg), ("lane", self.lane), ("warp", self.warp))
        rows = "".join(f"<tr><td>{name}</td><td>{', '.join(map(str, bases))}</td></tr>" for name, bases in named)
        return f"<b>layout of {size}</b><table>{rows}</table>"

    def mlir(self) -> str:
        """The bases and the size of the tile."""
        reg, lane, warp = (", ".join(map(str, bases)) for bases in (self.reg, self.lane, self.warp))
        return f"#nv_tileas.linear<reg = [{reg}], lane = [{lane}], warp = [{warp}], size = {self.size}>"

    @staticmethod
    def read(body: str, *_: object) -> Layout:
        """From what `mlir` writes."""
        match = _SPELLING.fullmatch(body)
        if match is None:
            raise ValueError("expected reg = [...], lane = [...], warp = [...], size = N")
        reg, lane, warp = (read_bases(match[i]) for i in (1, 2, 3))
        return Layout(reg, lane, warp, log2(int(match[4])))

    @property
    def n_regs(self) -> int:
        """Registers (one element each) a thread."""
        return 1 << len(self.reg)

    @property
    def n_warps(self) -> int:
        """Warps of the CTA."""
        return 1 << len(self.warp)

    @property
    def size(self) -> int:
        """Elements of the tile."""
        return 1 << self.bits

    @property
    def bases(self) -> Bases:
        """All bases: registers, lanes, warps."""
        return self.reg + self.lane + self.warp

    @property
    def thread(self) -> Bases:
        """Bases of the thread number in the CTA (lane bits, then warp bits)."""
        return self.lane + self.warp

    def element(self, reg: int, lane: int = 0, warp: int = 0) -> int:
        """Flattened index of the element in a register."""
        return apply(self.reg, reg) ^ apply(self.lane, lane) ^ apply(self.warp, warp)

    def register_elements(self) -> list[int]:
        """Element of every register in thread 0: the constant part of each register."""
        return images(self.reg)

    def element_map(self) -> IndexArray:
        """Element of every (thread of the CTA, register): shape [32 * warps, n_regs]."""
        return image_array(self.thread)[:, None] ^ image_array(self.reg)[None, :]

    def covers(self) -> bool:
        """Does some thread hold every element?"""
        return rank(self.bases) == self.bits

    def is_injective(self) -> bool:
        """Is no element held twice?"""
        return rank(self.bases) == len(self.bases)

    def free(self) -> Free:
        """The bits that only distinguish replicas."""
        return _free(self)

    def vector_bits(self, minor: Sequence[int]) -> int:
        """log2 of the widest aligned vector along `minor` that every thread holds.

        `minor` lists the element vectors (usually 1 << bit) that the bits of an address step through, lowest first.
        """
        return vector_bits(self.reg, self.thread, minor)


@dataclass(frozen=True, slots=True)
class Free:
    """Bit masks of register, lane and warp numbers that change no element; the others index elements uniquely."""

    reg: int
    lane: int
    warp: int

    @property
    def thread(self) -> int:
        """Mask over the thread number in the CTA: the copy to store is the one where these bits are 0."""
        return self.lane | self.warp << LANE_BITS


@cache
def _free(layout: Layout) -> Free:
    form = Echelon()
    masks: list[int] = []
    for bases in (layout.reg, layout.lane, layout.warp):
        masks.append(sum(1 << k for k, base in enumerate(bases) if not form.add(base)))
    return Free(*masks)


def vector_bits(reg: Sequence[int], thread: Sequence[int], minor: Sequence[int]) -> int:
    """How many of the `minor` vectors, from the first, are spanned by `reg` and never changed by `thread`.

    `minor` must be single bits; a thread base that touches one would give threads rotated vectors.
    """
    form = Echelon(reg)
    touched = 0
    for base in thread:
        touched |= base
    for count, unit in enumerate(minor):
        if touched & unit or form.solve(unit) is None:
            return count
    return len(minor)
