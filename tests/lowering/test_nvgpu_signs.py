"""Signs, magnitudes and quotients of floats that are another operation: PTX on the simulator against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ir.core import Value
from ir.dialects import arith, gpu, math
from ir.types import F32, F64, I1, I32, FloatType
from tests.lowering.nvgpu_harness import DTYPES, GLOBAL_PTR, Kernel, run

THREADS = 64
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.3, -7.5, 1e30, -1e30, np.inf, -np.inf, 1e-40, -1e-40]


def made(kind: FloatType, make: Callable[[Kernel, Value], Value], expected: Callable[[np.ndarray], np.ndarray]) -> str:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    k.store(make(k, k.load(k.element(k.params[0], thread, kind), kind)), k.element(k.params[1], thread, kind))
    given = np.resize(np.array(NUMBERS), THREADS).astype(DTYPES[kind])
    got = run(k.ptx(), 1, THREADS, [given, np.zeros(THREADS, DTYPES[kind])])[1]
    assert got.tobytes() == expected(given).astype(DTYPES[kind]).tobytes()
    return k.ptx()


def test_a_magnitude_is_taken_once() -> None:
    def make(k: Kernel, x: Value) -> Value:
        return k.value(math.AbsF, k.value(arith.NegF, k.value(math.AbsF, x)))

    for kind in (F32, F64):
        assert made(kind, make, np.abs).count("abs.f") == 1


def test_no_magnitude_is_below_zero() -> None:
    def make(k: Kernel, x: Value) -> Value:
        below = k.value(arith.CmpF, k.value(math.AbsF, x), k.const(0.0, F64), types=[I1], predicate="olt")
        return k.value(arith.Select, below, k.const(5.0, F64), x, types=[F64])

    assert "setp" not in made(F64, make, lambda x: x)


def test_a_magnitude_is_zero_where_its_number_is() -> None:
    def make(k: Kernel, x: Value) -> Value:
        zero = k.value(arith.CmpF, k.value(math.AbsF, x), k.const(0.0, F64), types=[I1], predicate="oeq")
        return k.value(arith.Select, zero, k.const(5.0, F64), x, types=[F64])

    assert "abs" not in made(F64, make, lambda x: np.where(x == 0, 5.0, x))


def test_numbers_that_were_widened_are_compared_as_they_were() -> None:
    def make(k: Kernel, x: Value) -> Value:
        wide = [k.value(arith.ExtF, v, types=[F64]) for v in (x, k.value(arith.MulF, x, x))]
        below = k.value(arith.CmpF, *wide, types=[I1], predicate="olt")
        return k.value(arith.Select, below, k.const(5.0, F32), x, types=[F32])

    with np.errstate(over="ignore", under="ignore"):
        assert ".f64" not in made(F32, make, lambda x: np.where(x < x * x, np.float32(5.0), x))
