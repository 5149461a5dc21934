"""Functions of two operands: powers, remainders and angles on the simulator against NumPy, special values and all."""

import numpy as np
import pytest

from ir.dialects import arith, math
from tests.lowering.nvgpu_harness import (
    BF16,
    DTYPES,
    F16,
    F32,
    I8,
    I16,
    I32,
    I64,
    VectorType,
    elementwise,
    floats,
    one,
)
from tests.lowering.test_nvgpu_floats import same

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 7.5, -1e-40, 1e-40, 3e38, -3e38, 16777215.0, 16777217.0,
     np.inf, -np.inf, np.nan], np.float32,
)  # fmt: skip
PAIRS = np.stack(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
"""Every special value with every other."""


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Errors in units of the last place of f32; subnormal results count as the least normal one's."""
    wanted = exact.astype(np.float32)
    ordinary = np.isfinite(wanted) & np.isfinite(got)
    same(got[~ordinary], wanted[~ordinary], "not finite")
    unit = np.spacing(np.maximum(abs(wanted[ordinary]), np.float32(2.0**-126)))
    return abs(got[ordinary].astype(np.longdouble) - exact[ordinary]) / unit


def compute(cls, x: np.ndarray, y: np.ndarray, kind=F32, other=None) -> np.ndarray:
    """The op on pairs of elements; the harness wants whole CTAs of 128 threads."""
    count = -(-len(x) // 128) * 128
    (got,) = elementwise([kind, other or kind], [one(cls, kind)], [np.resize(x, count), np.resize(y, count)])
    return got[: len(x)]


FUNCTIONS = {math.PowF: np.power, math.Atan2: np.arctan2, arith.RemF: np.fmod}


@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda c: c.__name__)
def test_special_values(cls) -> None:
    x, y = PAIRS
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[cls](x.astype(np.float64), y.astype(np.float64))
        wanted = exact.astype(np.float32)
    got = compute(cls, x, y)
    plain = np.isfinite(wanted) & (wanted != 0)
    same(got[~plain], wanted[~plain], cls.__name__)
    assert (abs(got[plain] - exact[plain]) <= 8e-7 * abs(exact[plain]) + 1e-44).all()


def test_powers_within_three_ulp() -> None:
    """The exponent's error grows with the result's: bases near 1, large exponents, results over the whole range."""
    rng = np.random.default_rng(21)
    x = np.exp(rng.uniform(-80, 80, 3000)).astype(np.float32)
    y = (rng.uniform(-87, 88, 3000) / np.log(x)).astype(np.float32)
    near = (1 + rng.uniform(-1e-3, 1e-3, 1000)).astype(np.float32)
    far = (rng.uniform(-80, 80, 1000) / np.log(near.astype(np.float64))).astype(np.float32)
    x, y = np.concatenate([x, near]), np.concatenate([y, far])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    assert ulps(compute(math.PowF, x, y), exact).max() <= 3


def test_negative_bases_take_integers_only() -> None:
    rng = np.random.default_rng(22)
    x, y = -np.exp(rng.uniform(-3, 3, 1024)).astype(np.float32), rng.integers(-20, 20, 1024).astype(np.float32)
    y[::3] += np.float32(0.5)
    exact = np.full(1024, np.nan, np.longdouble)
    whole = y == np.floor(y)
    exact[whole] = np.power(x[whole].astype(np.longdouble), y[whole].astype(np.longdouble))
    assert ulps(compute(math.PowF, x, y), exact).max() <= 3


@pytest.mark.parametrize("integer", [I8, I16, I32, I64], ids=str)
def test_integer_powers(integer) -> None:
    rng = np.random.default_rng(23)
    x = (rng.choice([-1, 1], 1024) * np.exp(rng.uniform(-2, 2, 1024))).astype(np.float32)
    n = rng.integers(-30, 30, 1024).astype(DTYPES[integer])
    if integer.width >= 32:
        x[:64] = -1
        n[:64] = rng.integers(2**24, 2**31 - 1, 64)
    exact = np.power(x.astype(np.longdouble), n.astype(np.longdouble))
    assert ulps(compute(math.FPowI, x, n, other=integer), exact).max() <= 3


def test_angles_within_four_ulp() -> None:
    rng = np.random.default_rng(24)
    y, x = (rng.choice([-1, 1], 4096) * np.exp(rng.uniform(-20, 20, 4096)) for _ in range(2))
    x[:1024] = y[:1024] * rng.uniform(-4, 4, 1024)
    y, x = y.astype(np.float32), x.astype(np.float32)
    exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
    assert ulps(compute(math.Atan2, y, x), exact).max() <= 4


@pytest.mark.parametrize("kind", [F32, F16, BF16], ids=str)
def test_remainders_are_exact(kind) -> None:
    """Quotients of every size, among them those just below and above integers."""
    rng = np.random.default_rng(25)
    low, high = (-14, 15) if kind == F16 else (-125, 127)
    x, y = (rng.choice([-1, 1], 2048) * np.exp2(rng.uniform(low, high, 2048)) for _ in range(2))
    y[:512] = x[:512] / rng.integers(1, 1000, 512)
    x[512:700] = y[512:700] * rng.integers(1, 1000, 188)
    with np.errstate(over="ignore"):
        x, y = x.astype(DTYPES[kind]), y.astype(DTYPES[kind])
    with np.errstate(invalid="ignore"):
        exact = np.fmod(x.astype(np.float64), y.astype(np.float64))
    same(compute(arith.RemF, x, y, kind), exact.astype(DTYPES[kind]), str(kind))


@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda c: c.__name__)
def test_pairs_go_element_by_element(cls, kind) -> None:
    rng = np.random.default_rng(26)
    x, y = abs(floats(rng, kind, 512, special=False)), floats(rng, kind, 512, special=False)
    pair = VectorType((2,), kind)
    (got,) = elementwise([pair] * 2, [one(cls)], [x.reshape(-1, 2), y.reshape(-1, 2)])
    with np.errstate(over="ignore"):
        exact = FUNCTIONS[cls](x.astype(np.float64), y.astype(np.float64)).astype(DTYPES[kind])
    finite = np.isfinite(exact)
    same(got.reshape(-1)[~finite], exact[~finite], "overflow")
    got, exact = got.reshape(-1)[finite].astype(np.float64), exact[finite].astype(np.float64)
    assert (abs(got - exact) <= (8e-3 if kind == BF16 else 1e-3) * abs(exact) + 1e-7).all()
