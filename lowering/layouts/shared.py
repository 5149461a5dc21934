"""Shared-memory layouts: the offset of each element of a tile, as a linear map from element bits to offset bits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ir.core import Attribute, spelled
from ir.records import dataclass
from lowering.layouts.f2 import Bases, IndexArray, apply, image_array, invert, log2
from lowering.layouts.layout import Layout, LayoutError, read_bases
from lowering.layouts.shapes import Shape, dim_bits

# Swizzle span in bytes -> number of XORed address bits; source: ptx.md section 3 (TMA, wgmma, tcgen05 swizzles):
# a ^= (a >> 7 & (2**bits - 1)) << 4.
SWIZZLE_BITS = {0: 0, 32: 1, 64: 2, 128: 3}
CHUNK_BYTES = 16  # unit that a swizzle moves; same source
SWIZZLE_ROW_BYTES = 128  # one pass over the 32 banks; same source
PERIOD = 8 * SWIZZLE_ROW_BYTES  # bytes after which every swizzle repeats; same source


_SPELLING = re.compile(r"offset\s*=\s*\[(.*?)\]\s*,\s*bytes\s*=\s*(\d{1,18})(?:\s*,\s*ctas\s*=\s*(\d{1,2}))?")


@spelled("#nv_tileas.shared")
@dataclass(frozen=True, slots=True)
class SharedLayout(Attribute):
    """Offset (in elements) of element e = XOR of offset[k] over the set bits k of e; a permutation of the tile.

    The XOR acts on the offset from the buffer's start, so it equals the hardware's swizzle of the absolute address when
    the buffer is aligned to `alignment` bytes. `ctas`: 2 if a pair of CTAs holds the tile, the lower half of the
    offsets in the one of even rank, the upper half at the same place in the other one.
    """

    offset: Bases
    bits: int
    element_bytes: int
    ctas: int = 1

    def __post_init__(self) -> None:
        if len(self.offset) != self.bits:
            raise LayoutError(f"a shared layout of {1 << self.bits} elements needs {self.bits} bases")

    def __str__(self) -> str:
        ctas = f", ctas={self.ctas}" if self.ctas > 1 else ""
        return f"#shared<offset=[{', '.join(map(str, self.offset))}], bytes={self.element_bytes}{ctas}>"

    def _repr_html_(self) -> str:
        """The bases, for notebooks."""
        size = f"{1 << self.bits} elements of {self.element_bytes} bytes"
        return f"<b>shared layout of {size}</b><p>offsets {', '.join(map(str, self.offset))}</p>"

    def mlir(self) -> str:
        """The bases, the bytes of an element, and the CTAs if there are several."""
        ctas = f", ctas = {self.ctas}" if self.ctas > 1 else ""
        return f"#nv_tileas.shared<offset = [{', '.join(map(str, self.offset))}], bytes = {self.element_bytes}{ctas}>"

    @staticmethod
    def read(body: str, *_: object) -> SharedLayout:
        """From what `mlir` writes."""
        match = _SPELLING.fullmatch(body)
        if match is None:
            raise ValueError("expected offset = [...], bytes = N")
        offset = read_bases(match[1])
        return SharedLayout(offset, len(offset), int(match[2]), int(match[3] or 1))

    @property
    def size_bytes(self) -> int:
        """Bytes of the buffer, in each CTA."""
        return (1 << self.bits) * self.element_bytes // self.ctas

    @property
    def alignment(self) -> int:
        """Bytes to which the buffer must be aligned: whole swizzle atoms (8 rows of 128 bytes), a row for small
        buffers, which tensor copies may fill (PTX ISA, cp.async.bulk.tensor).
        """
        return min(max(self.size_bytes, SWIZZLE_ROW_BYTES), PERIOD)

    def place(self, element: int) -> int:
        """Offset in elements of one element."""
        return apply(self.offset, element)

    def offset_map(self) -> IndexArray:
        """Offset in elements of every element."""
        return image_array(self.offset)

    def elements(self) -> Bases:
        """The inverse map: bases from offset bits to element bits."""
        return invert(self.offset)

    def run_bytes(self, shape: Shape, dim: int) -> int:
        """Bytes of contiguous neighbours along a dimension."""
        field = dim_bits(shape)[dim]
        bases = enumerate(self.offset[field.shift : field.shift + field.width])
        return self.element_bytes << next((i for i, base in bases if base != 1 << i), field.width)

    def permute(self, shape: Shape, perm: Sequence[int]) -> SharedLayout:
        """The same bytes as a tile of permuted dimensions: result dimension i is dimension perm[i] of `shape`."""
        old = dim_bits(shape)
        bases: list[int] = []
        for source in reversed([old[p] for p in perm]):
            bases += self.offset[source.shift : source.shift + source.width]
        return SharedLayout(tuple(bases), self.bits, self.element_bytes, self.ctas)

    @staticmethod
    def of_pair(half: SharedLayout, shape: Shape, dim: int) -> SharedLayout:
        """A tile of this shape of which each CTA of a pair holds a half along a dimension, in layout `half`."""
        field = dim_bits(shape)[dim]
        top = field.shift + field.width - 1
        bases = (*half.offset[:top], 1 << half.bits, *half.offset[top:])
        return SharedLayout(bases, half.bits + 1, half.element_bytes, 2)

    @property
    def own(self) -> SharedLayout:
        """The part of a tile that one CTA holds: all of it, except in a pair."""
        if self.ctas == 1:
            return self
        top = self.offset.index(1 << self.bits - 1)
        return SharedLayout((*self.offset[:top], *self.offset[top + 1 :]), self.bits - 1, self.element_bytes)

    @staticmethod
    def row_major(shape: Shape, element_bytes: int) -> SharedLayout:
        """The tile as it is flattened, without swizzle."""
        bits = sum(field.width for field in dim_bits(shape))
        return SharedLayout(tuple(1 << k for k in range(bits)), bits, element_bytes)


@cache
def swizzled(shape: Shape, order: tuple[int, ...] | None, element_bytes: int, mode: int = 128) -> SharedLayout:
    """Rows of `mode` bytes along order[0], swizzled as TMA and wgmma do; `order` lists dimensions fastest first.

    None means row-major. Rows longer than the span are cut into panels `[panel][row][mode bytes]`; shorter rows are
    packed densely, and the XOR still acts on address bits. mode: 0 (no swizzle), 32, 64 or 128 bytes.
    """
    if mode not in SWIZZLE_BITS:
        raise LayoutError(f"no swizzle of {mode} bytes; choose 0, 32, 64 or 128")
    order = order if order is not None else tuple(reversed(range(len(shape))))
    fields = dim_bits(shape)
    positions = [1 << (fields[d].shift + k) for d in order for k in range(fields[d].width)]
    row = fields[order[0]].width if order else 0
    span = min(row, log2(mode // element_bytes)) if mode else row
    dense = positions[:span] + positions[row:] + positions[span:row]  # element bit at each dense offset bit
    place = {element: 1 << k for k, element in enumerate(dense)}
    chunk, line = log2(CHUNK_BYTES // element_bytes), log2(SWIZZLE_ROW_BYTES // element_bytes)
    for k in range(SWIZZLE_BITS[mode]):
        if line + k < len(dense):
            place[dense[line + k]] ^= 1 << (chunk + k)
    bits = len(dense)
    return SharedLayout(tuple(place[1 << k] for k in range(bits)), bits, element_bytes)


@cache
def side_by_side(layout: Layout, element_bytes: int) -> SharedLayout:
    """The layout in which threads that hold elements in `layout` read a full access at a time: a thread's elements are
    adjacent, in register order. Otherwise in the order of the elements.
    """
    threads = 0
    for base in layout.thread:
        threads |= base
    own = [base for base in layout.reg if base.bit_count() == 1 and not base & threads]
    first = own[: log2(CHUNK_BYTES // element_bytes)]
    order = first + [1 << k for k in range(layout.bits) if 1 << k not in first]
    return SharedLayout(tuple(1 << order.index(1 << k) for k in range(layout.bits)), layout.bits, element_bytes)
