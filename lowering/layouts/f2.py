"""Linear algebra over GF(2) on plain integers: a vector is an int, a matrix a tuple of columns ("bases").

The image of index i under bases b is the XOR of b[k] over the set bits k of i. Ints keep the 14-bit maps of a GEMM
in microseconds; NumPy is used only for whole tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Bases = tuple[int, ...]
IndexArray: TypeAlias = "NDArray[np.int64]"


def apply(bases: Sequence[int], index: int) -> int:
    """Image of one index."""
    image = 0
    while index:
        low = index & -index
        image ^= bases[low.bit_length() - 1]
        index ^= low
    return image


def images(bases: Iterable[int]) -> list[int]:
    """Images of 0 .. 2**len(bases)-1, in order."""
    table = [0]
    for base in bases:
        table += [image ^ base for image in table]
    return table


def image_array(bases: Iterable[int]) -> IndexArray:
    """NumPy twin of `images`."""
    table = np.zeros(1, dtype=np.int64)
    for base in bases:
        table = np.concatenate([table, table ^ base])
    return table


def compose(outer: Sequence[int], inner: Sequence[int]) -> Bases:
    """Bases of x -> outer(inner(x))."""
    return tuple(apply(outer, base) for base in inner)


def log2(size: int) -> int:
    """Exponent of a power of two. Raises ValueError for any other number."""
    if size <= 0 or size & (size - 1):
        raise ValueError(f"{size} is not a power of two")
    return size.bit_length() - 1


class Echelon:
    """Row echelon form of a growing list of vectors that records how each row is composed of them."""

    __slots__ = ("count", "rows")

    def __init__(self, vectors: Iterable[int] = ()):
        self.rows: dict[int, tuple[int, int]] = {}  # leading bit -> (row, mask of the vectors it is the XOR of)
        self.count = 0
        for vector in vectors:
            self.add(vector)

    def reduce(self, vector: int) -> tuple[int, int]:
        """(what is left of `vector`, mask of the vectors taken away); the rest is 0 iff `vector` is in the span."""
        mask = 0
        while vector:
            row = self.rows.get(vector.bit_length())
            if row is None:
                break
            vector ^= row[0]
            mask ^= row[1]
        return vector, mask

    def add(self, vector: int) -> bool:
        """Append a vector; False if it was in the span already (it still takes the next number)."""
        rest, mask = self.reduce(vector)
        if rest:
            self.rows[rest.bit_length()] = (rest, mask ^ (1 << self.count))
        self.count += 1
        return rest != 0

    def solve(self, vector: int) -> int | None:
        """A mask of vectors whose XOR is `vector`, None if there is none."""
        rest, mask = self.reduce(vector)
        return None if rest else mask

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return len(self.rows)


@cache
def echelon(bases: Bases) -> Echelon:
    """Shared echelon form of `bases`; callers must not add to it."""
    return Echelon(bases)


def rank(bases: Iterable[int]) -> int:
    """Dimension of the span."""
    return Echelon(bases).rank


def kernel(bases: Sequence[int]) -> list[int]:
    """A basis of the indices whose image is 0."""
    form = Echelon()
    found: list[int] = []
    for k, base in enumerate(bases):
        rest, mask = form.reduce(base)
        if rest:
            form.rows[rest.bit_length()] = (rest, mask ^ (1 << k))
        else:
            found.append(mask ^ (1 << k))
        form.count += 1
    return found


def invert(bases: Bases) -> Bases:
    """Inverse of a square matrix. Raises ValueError when it is singular."""
    form = echelon(bases)
    inverse = [form.solve(1 << k) for k in range(len(bases))]
    if None in inverse or form.rank != len(bases):
        raise ValueError("singular matrix")
    return tuple(column for column in inverse if column is not None)


def complete(bases: Iterable[int], candidates: Iterable[int]) -> list[int]:
    """Those candidates, taken in order, that keep `bases` and what was taken before linearly independent."""
    form = Echelon(bases)
    return [vector for vector in candidates if form.add(vector)]


def intersection(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A basis of span(a) & span(b)."""
    a, b = complete((), a), complete((), b)
    return complete((), (apply(a, mask & ((1 << len(a)) - 1)) for mask in kernel([*a, *b])))


def common_complement(a: Sequence[int], b: Sequence[int], bits: int) -> list[int]:
    """A basis of a subspace of the `bits`-bit space that meets both spans only in 0 and completes the larger one.

    Exists for any two subspaces of equal dimension; the smaller one is extended first.
    """
    a, b = complete((), a), complete((), b)
    units = [1 << k for k in range(bits)]
    while len(a) != len(b):
        small, large = (a, b) if len(a) < len(b) else (b, a)
        small += complete(small, [*large, *units])[: len(large) - len(small)]
    shared = intersection(a, b)
    only_a, only_b = complete(shared, a), complete(shared, b)
    # x ^ y lies in neither span when x is outside b and y outside a; the rest of the space lies in neither anyway.
    diagonal = [x ^ y for x, y in zip(only_a, only_b, strict=True)]
    return diagonal + complete([*a, *b], units)
