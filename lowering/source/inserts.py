"""Parts of a tile replaced by comparing places, where no thread can hold its share of every part.

    insert y [n, m], x [a n, b m] at i, j       select(iota == i and iota == j, y repeated, x)
An `insert` whose threads hold a share of each part only renames or selects registers (egraph/rules/insert.egg). A part
of few elements has too many others beside it for that, and one element is a scalar, which lies in no thread's share.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.checked import checked
from ir.core import Builder, Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import Predicate, Signedness
from ir.types import I1, I32, IntType, TileType
from lowering.source.rewriting import Rewriter
from lowering.targets.target import LEAST_WARPS, WARP

THREADS = WARP * LEAST_WARPS
"""A part of fewer elements is held by some threads twice, and with it the whole: a row of 64 in a tile of 32 x 64 f32
takes 32 registers in each of 128 threads, 16 by comparing places.
"""


def by_places(entry: ct.Entry) -> ct.Entry:
    """The entry with such parts selected by their places; the same one where it has none."""
    return _Writer().entry(entry) if any(map(of_few, entry.walk())) else entry


def of_few(op: Op) -> bool:
    """Is this an insert of a part that has fewer elements than a CTA has threads, and is not the whole?"""
    if not isinstance(op, ct.Insert):
        return False
    part = checked(op.source.type, TileType)
    return part.size < THREADS and part != op.destination.type


class _Writer(Rewriter):
    """Operations anew, such inserts as selects."""

    def operation(self, op: Op, b: Builder) -> None:
        """One: an insert of few elements, or another, as it is."""
        if isinstance(op, ct.Insert) and of_few(op):
            self.select(op, b)
        else:
            super().operation(op, b)

    def select(self, op: ct.Insert, b: Builder) -> None:
        """The part, repeated, where the indices say, and the destination elsewhere."""
        whole, part = (checked(each.type, TileType) for each in (op.destination, op.source))
        counts = [large // small for large, small in zip(whole.shape, part.shape, strict=True)]
        apart = tuple(size for pair in zip(counts, part.shape, strict=True) for size in pair)

        def spread(value: Value, kept: Sequence[int]) -> Value:
            """A tile along the dimensions `kept` of `apart`, the same along the others, in the shape of the whole."""
            element = checked(value.type, TileType).element
            thin = tuple(size if d in kept else 1 for d, size in enumerate(apart))
            value = b.value(ct.Reshape, value, types=[TileType(thin, element)])
            value = b.value(ct.Broadcast, value, types=[TileType(apart, element)])
            return b.value(ct.Reshape, value, types=[TileType(whole.shape, element)])

        here = [
            spread(is_place(b, self.new[index], count), [2 * d])
            for d, (index, count) in enumerate(zip(op.indices, counts, strict=True))
            if count > 1
        ]
        mask = here[0]
        for other in here[1:]:
            mask = b.value(ct.AndI, mask, other)
        source = spread(self.new[op.source], range(1, len(apart), 2))
        self.bind([op.result], [b.value(ct.Select, mask, source, self.new[op.destination])])


def is_place(b: Builder, index: Value, count: int) -> Value:
    """[count] x i1: which place of so many an index, read as unsigned, names."""
    width = checked(checked(index.type, TileType).element, IntType).width
    if width != I32.width:
        way, more = (ct.TruncI, {}) if width > I32.width else (ct.ExtI, {"signedness": Signedness.UNSIGNED})
        index = b.value(way, index, types=[TileType((), I32)], **more)
    places = TileType((count,), I32)
    wanted = b.value(ct.Reshape, index, types=[TileType((1,), I32)])
    wanted = b.value(ct.Broadcast, wanted, types=[places])
    return b.value(
        ct.CmpI,
        b.value(ct.Iota, types=[places]),
        wanted,
        types=[TileType((count,), I1)],
        predicate=Predicate.EQUAL,
        signedness=Signedness.UNSIGNED,
    )
