"""Checks of the assumptions of `assume`."""

from __future__ import annotations

import numpy as np

from ir.core import Location
from ir.dialects.cuda_tile.attributes import Array, Bounded, DivBy, SameElements
from ir.interpreter.memory import InterpreterError, memory_dtype
from ir.types import PointerType, TileType


def check_promise(predicate: object, values: Array, type_: TileType, location: Location) -> None:
    """Raise InterpreterError if an assumption is violated: undefined behaviour on a device, an error here."""
    if isinstance(predicate, DivBy):
        good = _divisible(predicate, values, type_)
    elif isinstance(predicate, Bounded):
        wide = values.astype(np.int64)
        lower = -(1 << 63) if predicate.lower is None else predicate.lower
        upper = (1 << 63) - 1 if predicate.upper is None else predicate.upper
        good = (wide >= lower) & (wide <= upper)
    elif isinstance(predicate, SameElements):
        good = _equal_in_groups(predicate.values, values)
    else:
        raise TypeError(f"unknown assumption {predicate!r}")
    if not np.all(good):
        first = int(np.argmin(np.broadcast_to(good, values.shape).reshape(-1)))
        number = int(values.reshape(-1)[first])
        shown = f"{number:#x}" if isinstance(type_.element, PointerType) else str(number)
        where = f" (element {first})" if values.size > 1 else ""
        raise InterpreterError(
            f"assumption {predicate} violated: value is {shown}{where}", location, "check the arguments passed"
        )


def _divisible(predicate: DivBy, values: Array, type_: TileType) -> Array:
    """The first of each group of `every` elements is divisible; the others continue from it in steps of one element."""
    if predicate.every is None:
        return values % predicate.divisor == 0
    along = predicate.along or 0
    element = type_.element
    step = memory_dtype(element.pointee).itemsize if isinstance(element, PointerType) else 1
    size = values.shape[along]
    ramp: Array = np.arange(int(size), dtype=np.int64)
    place = ramp % max(predicate.every, 1)
    spread = [1] * values.ndim
    spread[along] = size
    first = np.take(values, ramp - place, axis=along)
    return (first % predicate.divisor == 0) & (values == first + (place * step).reshape(spread))


def _equal_in_groups(groups: tuple[int, ...], values: Array) -> Array:
    good: Array = np.ones(values.shape, np.bool_)
    for axis, group in enumerate(groups[: values.ndim]):
        ramp: Array = np.arange(int(values.shape[axis]), dtype=np.int64)
        first = np.take(values, ramp - ramp % max(group, 1), axis=axis)
        good &= values == first
    return good
