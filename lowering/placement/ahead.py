"""Which loads a producer may make ahead of a loop's iterations: those that come after no store of the loop.

Judged on the source program, by tokens; what else the tile depends on, the producer computes again or is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.encode import Program
from ir.core import Op
from ir.dialects import cuda_tile as ct


def ahead(program: Program) -> Iterator[int]:
    """Numbers of the tiles that such loads make."""
    for op in program.source.values():
        if isinstance(op, ct.LoadView) and op.parent is not None and isinstance(op.parent.parent_op, ct.For):
            maker = None if op.token is None else op.token.owner
            if op.parent not in (maker, maker.parent if isinstance(maker, Op) else None):
                yield program.number_of(op.results[0])
