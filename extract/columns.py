"""The flat arrays of an e-graph as Python lists, and the checks of what callers give.

Every method walks single nodes, and indexing a list is ten times faster than indexing an array of NumPy, which is not
loaded for lists of Python's own numbers: that is a tenth of a process that compiles one kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from extract.errors import GraphError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

T = TypeVar("T")
LEAST, MOST = -(1 << 31), (1 << 31) - 1


class Columns(NamedTuple):
    """One list a field of `Graph`, of the same meaning; nobody changes them."""

    node_class: list[int]
    child_offset: list[int]
    child_class: list[int]
    cost: list[float]
    group: list[int]
    alternative: list[int]
    resource: list[list[float]]
    limit: list[float]
    root: list[int]


def integers(name: str, values: ArrayLike) -> list[int]:
    """Integers of 32 bits; a single one is a list of one. Raises GraphError for anything else."""
    plain = _plain(values, int)
    if plain is None:
        import numpy as np

        array = np.atleast_1d(np.asarray(values))
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise GraphError(f"{name} must hold integers, not {array.dtype}")
        plain = array.ravel().tolist()
    if plain and (max(plain) > MOST or min(plain) < LEAST):
        raise GraphError(f"{name} holds a value that does not fit in 32 bits")
    return plain


def numbers(name: str, values: ArrayLike) -> list[float]:
    """Numbers as floats; a single one is a list of one. Raises GraphError for anything else."""
    plain = _plain(values, float)
    if plain is not None:
        return plain
    found = rows(name, values)
    if len(found) > 1:
        raise GraphError(f"{name} has shape ({len(found)}, {len(found[0])}), expected one dimension")
    return found[0] if found else []


def rows(name: str, values: ArrayLike) -> list[list[float]]:
    """Rows of numbers, of one where there is one dimension. Raises GraphError for anything else."""
    given = cast("list[list[float]]", values)
    if isinstance(values, list) and given and all(_plain(row, float) is not None for row in given):
        return given
    import numpy as np

    array = np.atleast_2d(np.asarray(values))
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == np.bool_):
        raise GraphError(f"{name} must hold numbers, not {array.dtype}")
    return array.astype(np.float64).tolist()


def _plain(values: ArrayLike, kind: type[T]) -> list[T] | None:
    """A list of Python's own numbers as it is, None for what else there is."""
    if not isinstance(values, list | tuple) or not set(map(type, cast("Sequence[object]", values))) <= {kind}:
        return None
    return list(cast("Sequence[T]", values))


def first_outside(values: Sequence[int], end: int) -> int | None:
    """The place of the first number that is not one of 0 .. end - 1."""
    if not values or (min(values) >= 0 and max(values) < end):
        return None
    return next(place for place, value in enumerate(values) if not 0 <= value < end)


def first_no_cost(values: Sequence[float]) -> int | None:
    """The place of the first that is NaN or minus infinity."""
    if sum(values) > -math.inf:
        return None
    return next((place for place, value in enumerate(values) if not value > -math.inf), None)


def first_no_use(values: Sequence[float]) -> int | None:
    """The place of the first that is not a finite number of 0 or more."""
    if sum(values) < math.inf and min(values, default=0.0) >= 0.0:
        return None
    return next((place for place, value in enumerate(values) if not 0.0 <= value < math.inf), None)
