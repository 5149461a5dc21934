"""Functions of f64: their error in units of the last place against mpmath, over the whole range, and special values."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from ir.dialects import arith, math
from tests.lowering.nvgpu_harness import DTYPES, F32, F64, I8, I32, I64, elementwise, one

LARGEST = np.finfo(np.float64).max
LEAST = 5e-324
COUNT = 384


def spread(low: float, high: float) -> Callable[[Any, int], np.ndarray]:
    """Of both signs, exponents of two evenly between two bounds."""
    return lambda rng, n: rng.choice([-1.0, 1.0], n) * np.exp2(rng.uniform(low, high, n))


def between(low: float, high: float) -> Callable[[Any, int], np.ndarray]:
    """Evenly between two bounds."""
    return lambda rng, n: rng.uniform(low, high, n)


def positive(low: float, high: float) -> Callable[[Any, int], np.ndarray]:
    """Above zero, exponents of two evenly between two bounds."""
    return lambda rng, n: np.exp2(rng.uniform(low, high, n))


def near_multiples(rng: Any, n: int) -> np.ndarray:
    """Within some units of the last place of multiples of pi/2, small and huge."""
    with mpmath.workprec(1200):
        turns = [int(2.0**k) for k in rng.uniform(0, 600, n)]
        values = np.array([float(mpmath.pi / 2 * k) for k in turns])
    return values * (1 + rng.integers(-2, 3, n) * 2.0**-52)


def near_roots(rng: Any, n: int) -> np.ndarray:
    """sqrt(1/2) 2^k, where a mantissa begins, and up to 2^-19 beside it: what one upper word cannot tell apart."""
    return np.ldexp(np.sqrt(0.5) * (1 + rng.uniform(-1, 1, n) * 2.0**-19), rng.integers(-3, 4, n))


WORST = (
    6381956970095103 * 2.0**797
)  # nearest to a multiple of pi/2; Muller, Elementary Functions, 3rd edition, table 11.1
CANCELLED = float.fromhex("0x1.b5777eb2c2b0fp+11")
"""Of 2228 pi/2: its second part takes away three quarters of what the first one leaves."""
ANGLES = [spread(-3, 7), spread(-40, 0), spread(7, 40), spread(28, 32), spread(40, 1023.9), spread(-1074, -1000)]
FUNCTIONS: dict[Any, tuple[str, float, list[Any]]] = {
    # op: mpmath's name, units of the last place allowed, samples
    math.Exp: ("exp", 1.0, [between(-708, 709.7), between(-746, -708), spread(-60, 3), spread(-1074, -1000)]),
    math.Exp2: ("exp2", 1.0, [between(-1022, 1024), between(-1076, -1022), spread(-60, 3), spread(-1074, -1000)]),
    math.Log: (
        "log",
        1.0,
        [positive(-1022, 1024), positive(-1074, -1022), between(0.5, 2), between(0.999, 1.001), near_roots],
    ),
    math.Log2: (
        "log2",
        2.0,
        [positive(-1022, 1024), positive(-1074, -1022), between(0.5, 2), between(0.999, 1.001), near_roots],
    ),
    math.Sinh: ("sinh", 2.5, [between(-710.4, 710.4), between(-3, 3), spread(-60, 0), spread(-1074, -1000)]),
    math.Cosh: ("cosh", 1.5, [between(-710.4, 710.4), between(-3, 3), spread(-60, 0), between(709, 710.4)]),
    math.Tanh: ("tanh", 2.5, [between(-22, 22), between(-1, 1), spread(-60, 0), spread(-1074, -1000), spread(4, 900)]),
    math.Sin: ("sin", 1.0, [*ANGLES, near_multiples]),
    math.Cos: ("cos", 1.0, [*ANGLES, near_multiples]),
    math.Tan: ("tan", 2.5, [*ANGLES, near_multiples]),
    math.Rsqrt: ("rsqrt", 1.5, [positive(-1022, 1024), positive(-1074, -1022), between(0.5, 2)]),
}
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, LEAST, LARGEST])
EXACT = {
    "exp2": lambda x: mpmath.power(2, x), "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
}  # fmt: skip


def ulps(found: np.ndarray, exact: list[Any]) -> np.ndarray:
    """|found - exact| in units of the last place of the exact number rounded; overflow must be infinite."""
    errors = []
    for got, wanted in zip(found.tolist(), exact, strict=True):
        if abs(wanted) > LARGEST * (1 + mpmath.mpf(2) ** -54):
            errors.append(0.0 if got == float(np.copysign(np.inf, float(mpmath.sign(wanted)))) else np.inf)
            continue
        rounded = abs(float(wanted))
        errors.append(float(abs(mpmath.mpf(got) - wanted) / np.spacing(min(rounded, LARGEST))))
    return np.array(errors)


def largest_error(cls: Any, count: int) -> tuple[float, str]:
    """Of `count` arguments a span: units of the last place, and where."""
    name, _, samples = FUNCTIONS[cls]
    rng = np.random.default_rng(11)
    x = np.concatenate(
        [make(rng, count) for make in samples] + ([[WORST, CANCELLED]] if name in ("sin", "cos", "tan") else [])
    )
    x = np.resize(x, -(-len(x) // COUNT) * COUNT)
    (found,) = elementwise([F64], [one(cls)], [x])
    with mpmath.workprec(160):
        function = EXACT.get(name) or getattr(mpmath, name)
        error = ulps(found, [function(mpmath.mpf(v)) for v in x.tolist()])
    worst = int(error.argmax())
    return float(error[worst]), f"{name}({float(x[worst]).hex()}) = {found[worst]!r}, off by {error[worst]:.3g} ulp"


@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda c: c.__name__)
def test_error_is_bounded_over_the_whole_range(cls: Any) -> None:
    error, where = largest_error(cls, 48)
    assert error <= FUNCTIONS[cls][1], where


@pytest.mark.slow
@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda c: c.__name__)
def test_error_is_bounded_on_many_samples(cls: Any) -> None:
    error, where = largest_error(cls, 3000)
    assert error <= FUNCTIONS[cls][1], where


@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda c: c.__name__)
def test_special_values(cls: Any) -> None:
    name = FUNCTIONS[cls][0]
    (found,) = elementwise([F64], [one(cls)], [np.resize(SPECIAL, COUNT)])
    with np.errstate(all="ignore"):
        wanted = 1 / np.sqrt(SPECIAL) if name == "rsqrt" else getattr(np, name)(SPECIAL)
    same = equal(found[: len(SPECIAL)], wanted)
    assert same[:5].all(), (found[:5], wanted[:5])
    assert (same | np.isclose(found[: len(SPECIAL)], wanted, rtol=1e-15, atol=0)).all()


def equal(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Bit for bit, NaNs counted as one."""
    return (found == wanted) & (np.signbit(found) == np.signbit(wanted)) | np.isnan(found) & np.isnan(wanted)


def exact_remainder(x: float, y: float) -> float:
    """fmod by fractions."""
    a, b = Fraction(abs(x)), Fraction(abs(y))
    return float(np.copysign(float(a - b * (a // b)), x))


@pytest.mark.parametrize("near", [False, True])
def test_remainders_are_exact(near: bool) -> None:
    """Exponents of all sizes, quotients of up to 2098 bits; near: operands of nearly one size, whole quotients too."""
    rng = np.random.default_rng(17)
    x, y = (spread(-1074, 1024)(rng, COUNT) for _ in range(2))
    if near:
        y = np.clip(y, -1e300, 1e300)
        x = y * rng.integers(1, 1 << 20, COUNT) * (1 + rng.integers(-1, 2, COUNT) * 2.0**-52)
        x[:32], y[:32] = LEAST * rng.integers(1, 1 << 30, 32), LEAST * rng.integers(1, 1000, 32)
    (found,) = elementwise([F64] * 2, [one(arith.RemF)], [x, y])
    good = equal(found, np.array([exact_remainder(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]))
    assert good.all(), (x[~good][:3], y[~good][:3], found[~good][:3])


def test_remainders_powers_and_angles_of_special_values() -> None:
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.0, -4.0, LEAST, -LARGEST, 0.5])
    x, y = (np.resize(a.reshape(-1), COUNT) for a in np.meshgrid(special, special))
    names = {arith.RemF: np.fmod, math.PowF: np.power, math.Atan2: np.arctan2}
    results = elementwise([F64] * 2, [one(cls) for cls in names], [x, y])
    for function, found in zip(names.values(), results, strict=True):
        with np.errstate(all="ignore"):
            wanted = function(x, y)
        good = equal(found, wanted) | np.isclose(found, wanted, rtol=4e-16, atol=0)
        assert good.all(), (function, x[~good][:4], y[~good][:4], found[~good][:4], wanted[~good][:4])


def test_powers_are_within_an_ulp() -> None:
    rng = np.random.default_rng(19)
    count = COUNT // 4
    near_one = 1 + rng.uniform(-1, 1, count) * 2.0 ** rng.uniform(-50, -1, count)
    x = np.concatenate(
        [positive(-1074, 1024)(rng, count), positive(-3, 3)(rng, count), near_one, between(1, 40)(rng, count)]
    )
    y = rng.uniform(-1, 1, COUNT) * 1080 / np.maximum(np.abs(np.log2(x)), 1e-17)
    y[-count:] = rng.integers(-150, 150, count)
    (found,) = elementwise([F64] * 2, [one(math.PowF)], [x, y])
    with mpmath.workprec(200):
        exact = [mpmath.power(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        error = ulps(found, exact)
    assert error.max() <= 1.0, (x[error.argmax()], y[error.argmax()], error.max())


@pytest.mark.parametrize("kind", [I8, I32, I64], ids=str)
def test_integer_powers(kind: Any) -> None:
    rng = np.random.default_rng(23)
    x = rng.choice([-1, 1], COUNT) * np.exp2(rng.uniform(-4, 4, COUNT))
    n = rng.integers(-120, 120, COUNT).astype(DTYPES[kind])
    (found,) = elementwise([F64, kind], [lambda k, a, b: k.value(math.FPowI, a, b)], [x, n])
    with mpmath.workprec(200):
        error = ulps(found, [mpmath.mpf(a) ** int(b) for a, b in zip(x.tolist(), n.tolist(), strict=True)])
    assert error.max() <= 1.0


@pytest.mark.parametrize(("kind", "integer", "limit"), [(F64, I64, 1.0), (F32, I32, 3.0), (F32, I64, 3.0)], ids=str)
def test_integer_powers_with_more_bits_than_the_float(kind: Any, integer: Any, limit: float) -> None:
    """Bases next to 1: rounding the exponent would cost as many units as the result has binary digits."""
    rng = np.random.default_rng(31)
    dtype, bits = DTYPES[kind], 24 if kind == F32 else 53
    n = rng.integers(1 << bits, 1 << min(integer.width - 1, bits + 8), COUNT) | 1
    most = 60 if kind == F32 else 500
    x = 1 + np.trunc(rng.uniform(-most, most, COUNT) / n * 2.0 ** (bits - 1)) * 2.0 ** (1 - bits)
    x = x.astype(dtype)
    n = n.astype(DTYPES[integer])
    (found,) = elementwise([kind, integer], [lambda k, a, b: k.value(math.FPowI, a, b)], [x, n])
    with mpmath.workprec(200):
        exact = [mpmath.power(mpmath.mpf(float(a)), int(b)) for a, b in zip(x.tolist(), n.tolist(), strict=True)]
        last = [float(np.spacing(dtype(float(v)))) for v in exact]
        error = [float(abs(mpmath.mpf(float(f)) - v) / u) for f, v, u in zip(found, exact, last, strict=True)]
    assert len(set(x.tolist())) > 3
    assert max(error) <= limit, max(error)


def test_angles_are_within_two_ulp() -> None:
    rng = np.random.default_rng(29)
    y, x = spread(-1074, 1024)(rng, COUNT), spread(-1074, 1024)(rng, COUNT)
    x[COUNT // 4 :] = y[COUNT // 4 :] * spread(-3, 3)(rng, COUNT - COUNT // 4)
    (found,) = elementwise([F64] * 2, [one(math.Atan2)], [y, x])
    with mpmath.workprec(2400):
        exact = [mpmath.atan2(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(y.tolist(), x.tolist(), strict=True)]
        error = ulps(found, exact)
    assert error.max() <= 2.0, (y[error.argmax()], x[error.argmax()], error.max())
