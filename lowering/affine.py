"""Differences of integers that are sums of the same terms, even with wrap-around: bounds of loops over a block of a
tile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ir.core import Value
from ir.dialects import cuda_tile as ct
from ir.dialects import llvm
from lowering.source.rewriting import without_promises

DEPTH = 6
"""Nesting of operations that is searched for terms: bounds of tiles are products of sums of an index."""
SUMS, DIFFERENCES, PRODUCTS = (ct.AddI, llvm.Add), (ct.SubI, llvm.Sub), (ct.MulI, llvm.Mul)
Number = Callable[[Value], int | None]
"""The constant that a value equals, if known."""


def difference(low: Value, high: Value, modulus: int, number: Number) -> int | None:
    """high - low modulo `modulus`, from 0 on; None if that is not a constant."""
    found: Counter[Value | None] = Counter()
    _add(found, high, 1, number, DEPTH)
    _add(found, low, -1, number, DEPTH)
    constant = found.pop(None, 0)
    return None if any(factor % modulus for factor in found.values()) else constant % modulus


def _add(found: Counter[Value | None], value: Value, factor: int, number: Number, depth: int) -> None:
    """Add a value's terms with their factors; the constant is that of None."""
    value = without_promises(value)
    known, made = number(value), value.op
    if known is not None:
        found[None] += factor * known
    elif depth and isinstance(made, (*SUMS, *DIFFERENCES)):
        left, right = made.operands
        _add(found, left, factor, number, depth - 1)
        _add(found, right, -factor if isinstance(made, DIFFERENCES) else factor, number, depth - 1)
    elif depth and isinstance(made, PRODUCTS) and (scale := number(made.operands[1])) is not None:
        _add(found, made.operands[0], factor * scale, number, depth - 1)
    else:
        found[value] += factor
