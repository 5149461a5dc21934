"""vector: splitting and building register arrays."""

from __future__ import annotations

from math import prod

from ir.core import Attr, Op, Operand, Result, Variadic, op
from ir.types import Type, VectorType
from ir.upstream import renamed


@op("vector.extract", upstream=True)
class Extract(Op):
    """The scalar or sub-vector at the static `position`: vector<4x2xf16>[i] is a vector<2xf16>, [i, j] a f16."""

    source = Operand(lambda t: isinstance(t, VectorType))
    position: Attr[tuple[int, ...]] = Attr(tuple, form=renamed("static_position"))
    result = Result()

    @staticmethod
    def result_type(source: Type, position: tuple[int, ...]) -> Type:
        """Type of the part of `source` at `position`."""
        if not isinstance(source, VectorType):
            return source
        rest = source.shape[len(position) :]
        return VectorType(rest, source.element) if rest else source.element

    def verify(self) -> None:
        """The position is inside the source."""
        kind = self.source.type
        inside = isinstance(kind, VectorType) and len(self.position) <= len(kind.shape)
        inside = inside and all(0 <= p < d for p, d in zip(self.position, getattr(kind, "shape", ()), strict=False))
        self.expect(inside, "position {} is outside {}", self.position, kind)
        wanted = self.result_type(kind, self.position)
        self.expect(self.result.type == wanted, "result must be {}, is {}", wanted, self.result.type)


@op("vector.from_elements", upstream=True)
class FromElements(Op):
    """A vector from its scalars in row-major order."""

    elements = Variadic()
    result = Result(lambda t: isinstance(t, VectorType))

    def verify(self) -> None:
        """As many scalars as the vector holds, all of its element type."""
        kind = self.result.type
        if isinstance(kind, VectorType):
            self.expect(len(self.elements) == prod(kind.shape), "{} needs {} elements", kind, prod(kind.shape))
            self.expect(all(e.type == kind.element for e in self.elements), "elements must be {}", kind.element)
