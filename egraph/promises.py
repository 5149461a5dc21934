"""Promises of `assume` on the side of a branch or in a loop that may make no trip: which become terms of their region.

Terms do not know where they are used, and equal terms are one, so a fact about x itself must hold in every execution.
What a region promises about x is said of another term, `(promised x p s)`: x rounded towards zero to a multiple
(div_by) or clamped into bounds (bounded). That keeps the promise p everywhere, and in an execution that runs region s
it is x, so there it is compiled as x. It depends on s: neither it nor what needs it is computed outside, where it need
not be x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from egraph.facts import pointee_bytes
from ir.dialects import cuda_tile as ct
from ir.types import PointerType, TileType

if TYPE_CHECKING:
    import numpy.typing as npt

Promise = ct.DivBy | ct.Bounded | ct.SameElements


def regional(op: ct.Assume) -> bool:
    """Does it become a term of its region? Only promises about a scalar do, that say more than every access needs.

    A tile would lose what is known of its groups of equal or consecutive elements.
    """
    kind, promise = op.value.type, op.predicate
    if not isinstance(kind, TileType) or kind.shape:
        return False
    needed = pointee_bytes(kind.element) if isinstance(kind.element, PointerType) else 1
    return isinstance(promise, ct.Bounded) or (isinstance(promise, ct.DivBy) and promise.divisor > needed)


def kept(promise: Promise, values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What `promised` is of integers, or of addresses."""
    if isinstance(promise, ct.DivBy) and not promise.every:
        return values - np.fmod(values, promise.divisor)
    if not isinstance(promise, ct.Bounded):
        raise ValueError(f"{promise} is not an assumption about a scalar")
    low = -(1 << 63) if promise.lower is None else promise.lower
    high = (1 << 63) - 1 if promise.upper is None else promise.upper
    return np.clip(values, low, high)
