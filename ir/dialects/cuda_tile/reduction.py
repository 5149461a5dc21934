"""cuda_tile reductions and prefix scans with a combiner region."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from ir.core import PURE, Attr, RegionField, Variadic, VariadicResult, flag, op
from ir.dialects.cuda_tile.attributes import ANCHOR, Array
from ir.dialects.cuda_tile.constraints import (
    ANY_TILE,
    TileOp,
    element_type,
    shape_of,
    tile_type,
    verify_region,
    verify_types,
)
from ir.types import I1, FloatType, TileType

__all__ = ["COMBINING", "Combining", "Reduce", "Scan"]

Combiner = Callable[[Sequence[Array], Sequence[Array]], Sequence[Array]]
"""The function that a combiner region computes, vectorised: (lhs of every operand, rhs of every operand) -> results."""


class Combining(TileOp):
    """Reduces its operands along one dimension by a pure region.

    The region has 2N rank-0 arguments for N operands: (lhs0, rhs0, lhs1, rhs1, ...) as the disassembler prints them,
    and yields N. `identities` are Python numbers, one per operand.
    """

    operands_ = Variadic(ANY_TILE)
    dim = Attr(int)
    identities: Attr[tuple[int | float, ...]] = Attr(tuple)
    outs = VariadicResult()
    body = RegionField()

    placement = ANCHOR
    yields = True
    keeps: ClassVar[bool] = False
    """Whether results keep the dimension: what each place comes to, not the whole."""
    encoded: ClassVar[tuple[str, ...]] = ("dim", "identities")
    """The attributes as bytecode and text order them; flags among them are written out."""

    def verify(self) -> None:
        """Operands have one shape; the region combines pairs of scalars of their element types, without effects."""
        self.expect(bool(self.operands), "must have an operand")
        first, count = self.operands[0], len(self.operands)
        for index, value in enumerate(self.operands):
            self.same_shape(f"operands[{index}]", value, "operands[0]", first)
        rank = len(shape_of(first))
        self.expect(0 <= self.dim < rank, "dim {} does not exist in operand {}", self.dim, first.type)
        self.expect(len(self.identities) == count, "{} identities for {} operands", len(self.identities), count)
        for identity, value in zip(self.identities, self.operands, strict=True):
            element = element_type(value)
            fits = isinstance(identity, float) == isinstance(element, FloatType)
            fits = fits and isinstance(identity, bool) == (element == I1)
            self.expect(fits, "identity {!r} is not of the element type of {}", identity, value.type)
        verify_types(self, "results", [value.type for value in self.results], self.wanted_results())
        scalars = [TileType((), tile_type(value).element) for value in self.operands]
        last = verify_region(self, self.body, ("cuda_tile.yield",))
        arguments = [value.type for value in self.body.block.args]
        verify_types(self, "region arguments", arguments, [t for t in scalars for _ in range(2)])
        verify_types(last, "operands", [value.type for value in last.operands], scalars)
        for each in self.body.block.ops[:-1]:
            if each.effect is not PURE:
                each.fail("has a side effect; the region of '{}' at {} must be pure", self.name, self.location)

    def interpret(self, operands: Sequence[Array], combine: Combiner) -> list[Array]:
        """The results, by `reference` of the class and the flags of this operation."""
        reference: Callable[..., list[Array]] = getattr(type(self), "reference")  # noqa: B009
        return reference(operands, self.dim, *self.flags, combine)

    @property
    def flags(self) -> tuple[int, ...]:
        """Attributes beside the dimension that change the meaning."""
        return tuple(int(self.attributes.get(name, False)) for name in self.flagged())

    @classmethod
    def flagged(cls) -> tuple[str, ...]:
        """Their names."""
        return tuple(name for name in cls.encoded if name not in Combining.encoded)

    def wanted_results(self) -> list[TileType]:
        """The types that the results must have."""
        return [tile_type(value) for value in self.operands]


@op("cuda_tile.reduce", opcode=88)
class Reduce(Combining):
    """Reduce along `dim`; each result loses that dimension. The order of combination is not specified."""

    result_names = ("reduce",)

    def wanted_results(self) -> list[TileType]:
        """Each operand without dimension `dim`."""
        types = [tile_type(value) for value in self.operands]
        return [TileType((*t.shape[: self.dim], *t.shape[self.dim + 1 :]), t.element) for t in types]

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
    """Inclusive prefix scan along `dim`, from the far end with `reverse`."""

    reverse = flag()

    keeps = True
    encoded = ("dim", "reverse", "identities")

    @staticmethod
    def reference(operands: Sequence[Array], dim: int, reverse: int, combine: Combiner) -> list[Array]:
        """Doubling steps (Hillis and Steele): step s combines each slice with the one s before it."""
        parts = [np.moveaxis(x, dim, 0) for x in operands]
        parts = [x[::-1] if reverse else x for x in parts]
        size, step = len(parts[0]), 1
        while step < size:
            joined = combine([x[:-step] for x in parts], [x[step:] for x in parts])
            parts = [np.concatenate((x[:step], np.asarray(j))) for x, j in zip(parts, joined, strict=True)]
            step *= 2
        return [np.moveaxis(x[::-1] if reverse else x, 0, dim) for x in parts]


COMBINING: tuple[type[Combining], ...] = (Reduce, Scan)
"""What folds a dimension."""
