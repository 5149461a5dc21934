"""Directed roundings of 16-bit floats, scalar and packed, and of f64: PTX on the simulator against references."""

import numpy as np
import pytest

from ir.dialects import arith, math
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from tests.lowering.nvgpu_harness import (
    BF16,
    DTYPES,
    F16,
    F32,
    F64,
    I1,
    I8,
    I32,
    I64,
    TF32,
    VectorType,
    elementwise,
    floats,
    one,
)  # fmt: skip
from tests.lowering.test_nvgpu_floats import same

MODES = {"rz": ct.Rounding.ZERO, "rm": ct.Rounding.NEGATIVE_INF, "rp": ct.Rounding.POSITIVE_INF}
OPS = {
    arith.AddF: (ct.AddF, 2), arith.SubF: (ct.SubF, 2), arith.MulF: (ct.MulF, 2), arith.DivF: (ct.DivF, 2),
    math.Fma: (ct.Fma, 3), math.Sqrt: (ct.Sqrt, 1),
}  # fmt: skip


@pytest.mark.in_turn
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


@pytest.mark.parametrize("kind", [BF16, TF32, F16, F32], ids=str)
@pytest.mark.parametrize("integer", [I32, I64], ids=str)
@pytest.mark.parametrize("cls", [arith.SIToFP, arith.UIToFP], ids=lambda c: c.__name__)
def test_integers_become_floats_by_one_rounding(cls, integer, kind) -> None:
    """Numbers just above a tie of the narrow format, nearer to it than f32 can tell."""
    rng = np.random.default_rng(43)
    top = integer.width - 1
    places = rng.integers(26, top, 700)
    kept = {BF16: 8, TF32: 11, F16: 11, F32: 24}[kind]
    ties = (1 << places) | (1 << np.maximum(places - kept, 0))
    x = np.concatenate([ties | 1, ties - 1, ties, rng.integers(0, 2**top - 1, 204)]).astype(DTYPES[integer])
    x[::5] *= -1
    (got,) = elementwise([integer], [one(cls, kind)], [np.resize(x, 2304)])
    signed = ct.Signedness.SIGNED if cls is arith.SIToFP else ct.Signedness.UNSIGNED
    with np.errstate(over="ignore"):
        wanted = ct.IToF.reference(np.resize(x, 2304), signed, result_type=TileType((2304,), kind))
    same(got, wanted, f"{cls.__name__} {integer} {kind}")


def test_extrema_of_bits() -> None:
    """As signed numbers bits are 0 and -1, as unsigned ones 0 and 1."""
    rng = np.random.default_rng(44)
    x, y = (rng.integers(0, 2, 256).astype(np.int8) for _ in range(2))

    def of(cls):
        def build(k, a, b):
            bits = [k.value(arith.CmpI, v, k.const(0, I8), types=[I1], predicate="ne") for v in (a, b)]
            return k.value(arith.ExtUI, k.value(cls, *bits), types=[I8])

        return build

    classes = [arith.MaxSI, arith.MinSI, arith.MaxUI, arith.MinUI]
    both, either = (x & y), (x | y)
    for got, wanted in zip(
        elementwise([I8] * 2, [of(c) for c in classes], [x, y]), (both, either, either, both), strict=True
    ):
        assert (got == wanted).all()
    a, b = x.astype(bool), y.astype(bool)
    assert (ct.MaxI.reference(a, b, signedness=ct.Signedness.SIGNED) == both.astype(bool)).all()
    assert (ct.MinI.reference(a, b, signedness=ct.Signedness.SIGNED) == either.astype(bool)).all()
