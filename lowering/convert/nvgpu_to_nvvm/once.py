"""Loops that run at most once: their upper bound lies no more than a step above the lower one."""

from __future__ import annotations

from collections import Counter

from ir.core import Value
from ir.dialects import llvm
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of

DEPTH = 6
"""Operations, one in another, in which terms are looked for: bounds of tiles are products of sums of an index."""


def at_most_once(e: Emitter, lower: Value, upper: Value, step: Value, unsigned: bool) -> bool:
    """Does a loop run no second time, whatever wraps?

    An upper bound that is the lower one plus d modulo 2^width, 0 < d <= step, is d above it wherever it is above it at
    all. Of a smaller one that is the less of two, or a lower one that is the greater, one pair like that is enough.
    """
    size, half = e.integer(step), 1 << width_of(lower) - 1
    if size is None or not 0 < size < half:
        return False
    lows, highs = ([lower], [upper]) if unsigned else (_parts(lower, llvm.SMax), _parts(upper, llvm.SMin))
    return any(0 < _distance(e, low, high) % (2 * half) <= size for low in lows for high in highs)


def _parts(value: Value, cls: type[llvm.SMin] | type[llvm.SMax]) -> list[Value]:
    """What a value is the least or the greatest of."""
    made = value.op
    return [each for v in made.operands for each in _parts(v, cls)] if isinstance(made, cls) else [value]


def _distance(e: Emitter, low: Value, high: Value) -> int:
    """high - low modulo 2^width where that is a constant, else 0."""
    difference: Counter[Value | None] = Counter()
    _add(e, difference, high, 1, DEPTH)
    _add(e, difference, low, -1, DEPTH)
    modulus = 1 << width_of(low)
    constant = difference.pop(None, 0)
    return 0 if any(factor % modulus for factor in difference.values()) else constant


def _add(e: Emitter, found: Counter[Value | None], value: Value, factor: int, depth: int) -> None:
    """Add a value's terms with their factors; the constant is that of None."""
    known, made = e.integer(value), value.op
    if known is not None:
        found[None] += factor * known
    elif depth and isinstance(made, llvm.Add | llvm.Sub):
        left, right = made.operands
        _add(e, found, left, factor, depth - 1)
        _add(e, found, right, -factor if isinstance(made, llvm.Sub) else factor, depth - 1)
    elif depth and isinstance(made, llvm.Mul) and (scale := e.integer(made.operands[1])) is not None:
        _add(e, found, made.operands[0], factor * scale, depth - 1)
    else:
        found[value] += factor
