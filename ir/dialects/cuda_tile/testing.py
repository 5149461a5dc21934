"""The function of the public conformance tests: its parameters may have any type. Text only, never compiled."""

from __future__ import annotations

from ir.core import CONTROL, Attr, RegionField, op
from ir.dialects.cuda_tile.attributes import SKELETON
from ir.dialects.cuda_tile.constraints import TileOp, verify_region, verify_types
from ir.dialects.cuda_tile.well_formed import verify_scopes


@op("cuda_tile.testing$func", opcode=0x3001)
class TestingFunc(TileOp):
    """A function whose parameters may have any type and which may return values."""

    sym_name = Attr(str)
    result_types = Attr[tuple[object, ...]](tuple, ())
    body = RegionField()

    effect = CONTROL
    placement = SKELETON

    def verify(self) -> None:
        """The body returns the declared types and uses values only after their definition."""
        last = verify_region(self, self.body, ("cuda_tile.return",))
        verify_types(last, "operands", [v.type for v in last.operands], self.result_types)  # pyright: ignore[reportArgumentType]
        verify_scopes(self.body, set())
