"""Directed roundings of 16-bit floats, scalar and packed, and of f64: PTX on the simulator against references."""

import numpy as np
import pytest

from ir.dialects import arith, math
from ir.dialects import cuda_tile as ct
from tests.lowering.nvgpu_harness import BF16, F16, F64, VectorType, elementwise, floats, one
from tests.lowering.test_nvgpu_floats import same

MODES = {"rz": ct.Rounding.ZERO, "rm": ct.Rounding.NEGATIVE_INF, "rp": ct.Rounding.POSITIVE_INF}
OPS = {
    arith.AddF: (ct.AddF, 2), arith.SubF: (ct.SubF, 2), arith.MulF: (ct.MulF, 2), arith.DivF: (ct.DivF, 2),
    math.Fma: (ct.Fma, 3), math.Sqrt: (ct.Sqrt, 1),
}  # fmt: skip


@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("cls", OPS, ids=lambda c: c.__name__)
def test_sixteen_bits_round_in_a_direction(cls, packed: bool, kind) -> None:
    """Sums, products, quotients and roots of every magnitude; overflow goes to the largest number or to infinity."""
    source, count = OPS[cls]
    rng = np.random.default_rng(41)
    data = [floats(np.random.default_rng([41, i]), kind, 768) for i in range(count)]
    for each in data:
        each[-64:] = rng.choice([6e4, -6e4, 1e-7, 3.0], 64)
    register = VectorType((2,), kind) if packed else kind
    cases = [one(cls, register if cls is math.Sqrt else None, rounding=mode) for mode in MODES]
    found = elementwise([register] * count, cases, [d.reshape(-1, 2) if packed else d for d in data])
    with np.errstate(all="ignore"):
        for rounding, got in zip(MODES.values(), found, strict=True):
            same(got.reshape(-1), source.reference(*data, rounding=rounding), f"{cls.__name__} {rounding}")


def test_roots_of_doubles_round_in_a_direction() -> None:
    x = abs(floats(np.random.default_rng(42), F64, 384))
    found = elementwise([F64], [one(math.Sqrt, rounding=mode) for mode in MODES], [x])
    with np.errstate(all="ignore"):
        for rounding, got in zip(MODES.values(), found, strict=True):
            same(got, ct.Sqrt.reference(x, rounding=rounding), str(rounding))
