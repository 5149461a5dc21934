"""Loops that run at most once: the upper bound is at most a step above the lower one."""

from __future__ import annotations

from ir.core import Value
from ir.dialects import llvm
from lowering.affine import difference
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter, width_of


def at_most_once(e: Emitter, lower: Value, upper: Value, step: Value, unsigned: bool) -> bool:
    """Does a loop never run a second time, even with wrap-around?

    An upper bound that is the lower one plus d modulo 2^width, 0 < d <= step, is d above it whenever it is above it at
    all. If the upper bound is a minimum, or the lower bound a maximum, one such pair is enough.
    """
    size, modulus = e.integer(step), 1 << width_of(lower)
    if size is None or not 0 < size < modulus // 2:
        return False
    lows, highs = ([lower], [upper]) if unsigned else (_parts(lower, llvm.SMax), _parts(upper, llvm.SMin))
    return any(0 < (difference(low, high, modulus, e.integer) or 0) <= size for low in lows for high in highs)


def _parts(value: Value, cls: type[llvm.SMin] | type[llvm.SMax]) -> list[Value]:
    """The operands of a minimum or maximum."""
    made = value.op
    return [each for v in made.operands for each in _parts(v, cls)] if isinstance(made, cls) else [value]
