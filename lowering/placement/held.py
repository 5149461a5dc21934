"""Which factors of matrix products registers may hold before shared memory does: what no copy brings there by itself.

Judged on the source program. Computed left factors are not among them: products take those from registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.encode import Program
from ir.core import Value
from ir.dialects import cuda_tile as ct

RENAMED = (ct.Permute, ct.Reshape, ct.Assume)  # the same elements: what they are made of is asked instead


def held(program: Program) -> Iterator[int]:
    """Numbers of right factors that are computed, and of factors that are loaded through pointers."""
    for op in program.source.values():
        if isinstance(op, ct.MmaF | ct.MmaI):
            for factor in (op.lhs, op.rhs):
                value = origin(factor)
                maker = value.op
                gathered = isinstance(maker, ct.LoadPtr)
                if gathered or (factor is op.rhs and maker is not None and not isinstance(maker, ct.LoadView)):
                    yield program.number_of(value)


def origin(value: Value) -> Value:
    """What a tile is before it is permuted or reshaped."""
    while isinstance(value.op, RENAMED):
        value = value.op.operands[0]
    return value
