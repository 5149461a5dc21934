"""nv_tileas: placed tiles combined along a dimension by a region."""

from __future__ import annotations

from typing import Any, ClassVar

from ir.core import Attr, Op, RegionField, Value, Variadic, VariadicResult, flag, op
from ir.dialects import cuda_tile as ct
from ir.dialects.mirrored import declared
from ir.dialects.nv_tileas_types import is_tile
from ir.types import TensorType


class Combining(Op):
    """Tiles in one layout combined along dimension `dim` by the combiner region, which takes lhs0, rhs0, lhs1, rhs1,
    ... and gives one of each: registers, then lanes, then warps, through shared memory at `scratch`.
    """

    sources = Variadic(is_tile)
    dim = Attr(int, least=0)
    scratch = Attr(int, 0, least=0)
    identities = Attr[Any](tuple)
    outs = VariadicResult()
    combiner = RegionField()

    def verify(self) -> None:
        """Tiles of one shape, a dimension of theirs, an identity each, a combiner of all of them."""
        sources = self.sources
        self.expect(bool(sources), "needs a tile")
        shapes = {value.type.shape for value in sources if isinstance(value.type, TensorType)}
        self.expect(len(shapes) == 1, "the tiles must have one shape")
        rank = rank_of(sources[0])
        self.expect(self.dim < rank, "dim must be below {}, is {}", rank, self.dim)
        self.expect(
            len(self.identities) == len(sources), "needs {} identities, has {}", len(sources), len(self.identities)
        )
        self.expect(len(self.results) == len(sources), "must have {} results", len(sources))
        self.expect(len(self.combiner.blocks) == 1, "the combiner must have one block")
        block = self.combiner.block
        elements = [value.type.element for value in sources if isinstance(value.type, TensorType) for _ in range(2)]
        self.expect([v.type for v in block.args] == elements, "the combiner must take {}", [*map(str, elements)])
        ends = [v.type for v in block.terminator.operands] if block.ops else []
        self.expect(ends == elements[::2], "the combiner must give {}", [*map(str, elements[::2])])


def rank_of(value: Value) -> int:
    """Dimensions of a tile."""
    return len(value.type.shape) if isinstance(value.type, TensorType) else 0


@op("nv_tileas.reduce")
class Reduce(Combining):
    """One dimension reduced: registers by `thread_atom`, then lanes by `atom`, then warps."""

    atom = Attr(str, "shfl", among=("shfl", "redux"))
    thread_atom = Attr(str, "", among=("", "f32x2", "minmax3"))


class Keeping(Combining):
    """What keeps the dimension: each place has what all up to it come to, from the end that its flags name."""

    means: ClassVar[type[ct.Combining]]

    @property
    def flags(self) -> dict[str, bool]:
        """Its flags by name."""
        return {name: bool(self.attributes.get(name, False)) for name in self.means.flagged()}


KEEPING = {
    of: declared(of, "nv_tileas", Keeping, {name: flag() for name in of.flagged()}) for of in ct.COMBINING if of.keeps
}
"""By the operation of Tile IR, with its flags."""
