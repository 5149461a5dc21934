"""Read-modify-write operations of the async proxy on arrays of bits."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ptxsim.floats import narrow, widen
from ptxsim.ptx_types import TYPES, Array, unsigned

# New bits from the bits in memory and the bits given.
Combine: TypeAlias = Callable[[Array, Array], Array]
OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_BITWISE: dict[str, np.ufunc] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
_ORDERED: dict[str, np.ufunc] = {"add": np.add, "min": np.minimum, "max": np.maximum}
_FLOAT: dict[str, np.ufunc] = {"add": np.add, "min": np.fmin, "max": np.fmax}


def combiner(operation: str, type_name: str) -> Combine | None:
    """The operation on a type, or None if PTX has no such reduction."""
    type_ = TYPES[type_name]
    storage = unsigned(type_.bits)
    if operation in _BITWISE:
        function = _BITWISE[operation]
        return None if type_.is_float else function
    if operation in ("inc", "dec"):
        if type_.kind != "unsigned":
            return None
        return _increment if operation == "inc" else _decrement
    if type_.kind == "packed" or type_.name == "f16":
        function = _FLOAT[operation]
        return lambda old, given: narrow(function(widen(old, type_), widen(given, type_)), type_).view(storage)
    if type_.kind == "bits" or (operation, type_name) == ("add", "s64"):  # PTX ISA, "cp.reduce.async.bulk": add has u64
        return None
    function = (_FLOAT if type_.is_float else _ORDERED)[operation]
    return lambda old, given: function(old.view(type_.dtype), given.view(type_.dtype)).view(storage)


def _increment(old: Array, given: Array) -> Array:
    """Count up to the given limit, then start from 0."""
    result: Array = np.where(old >= given, np.zeros_like(old), old + np.ones_like(old))
    return result


def _decrement(old: Array, given: Array) -> Array:
    """Count down; from 0 or from above the given limit, start at the limit."""
    result: Array = np.where((old == 0) | (old > given), given, old - np.ones_like(old))
    return result
