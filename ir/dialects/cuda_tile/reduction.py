"""cuda_tile reductions and prefix scans with a combiner region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ir.core import Attr, RegionField, Variadic, VariadicResult, flag, op
from ir.dialects.cuda_tile.attributes import ANCHOR, Array
from ir.dialects.cuda_tile.constraints import ANY_TILE, TileOp

Combiner = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]
"""What a combiner region computes, vectorised: (lhs of every operand, rhs of every operand) -> results."""


class Combining(TileOp):
    """Folds its operands along one dimension by a pure region.

    The region has 2N rank-0 arguments for N operands: (lhs0, rhs0, lhs1, rhs1, ...) as the disassembler prints them,
    and yields N. `identities` are Python numbers, one an operand.
    """

    operands_ = Variadic(ANY_TILE)
    dim = Attr(int)
    identities = Attr[tuple[Any, ...]](tuple)
    outs = VariadicResult()
    body = RegionField()

    placement = ANCHOR


@op("cuda_tile.reduce", opcode=88)
class Reduce(Combining):
    """Fold along `dim`; each result loses that dimension. The order of combination is not specified."""

    result_names = ("reduce",)

    @staticmethod
    def reference(operands: Sequence[Array], dim: int, combine: Combiner) -> list[Array]:
        """A balanced tree: the far half is folded onto the near half until one slice is left."""
        parts = [np.moveaxis(x, dim, 0) for x in operands]
        while len(parts[0]) > 1:
            half = len(parts[0]) // 2
            parts = [np.asarray(x) for x in combine([x[:half] for x in parts], [x[half:] for x in parts])]
        return [x[0] for x in parts]


@op("cuda_tile.scan", opcode=94)
class Scan(Combining):
    """Inclusive prefix fold along `dim`, from the far end with `reverse`."""

    reverse = flag()

    @staticmethod
    def reference(operands: Sequence[Array], dim: int, reverse: bool, combine: Combiner) -> list[Array]:
        """Doubling steps (Hillis and Steele): step s combines each slice with the one s before it."""
        parts = [np.moveaxis(x, dim, 0) for x in operands]
        parts = [x[::-1] if reverse else x for x in parts]
        size, step = len(parts[0]), 1
        while step < size:
            joined = combine([x[:-step] for x in parts], [x[step:] for x in parts])
            parts = [np.concatenate((x[:step], np.asarray(j))) for x, j in zip(parts, joined, strict=True)]
            step *= 2
        return [np.moveaxis(x[::-1] if reverse else x, 0, dim) for x in parts]
