"""Floating-point instructions against exact rational arithmetic, special values included."""

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.harness import LANES, assert_same_floats, floats, run_lanes
from tests.runtime.rational import rounded_array

MODES = ["rn", "rz", "rm", "rp"]
DTYPES = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "f16": np.dtype(np.float16)}


def _exact(
    operation: Callable[..., Fraction], special: Callable[..., float], mode: str
) -> Callable[..., Fraction | float]:
    """An operation on floats: exact where finite and not zero, otherwise the IEEE special case."""

    def compute(*values: float) -> Fraction | float:
        if all(math.isfinite(v) for v in values):
            try:
                result = operation(*(Fraction(v) for v in values))
            except ZeroDivisionError:
                return special(*values)
            if result != 0:
                return result
            nearest = special(*values)
            if mode == "rm" and nearest == 0 and any(v != 0 for v in values) and operation.__name__ in ("add", "fma"):
                # exact cancellation rounds to -0 downward; a zero product plus a zero keeps IEEE's sign rule
                terms = values if operation.__name__ == "add" else (values[0] * values[1], values[2])
                return nearest if all(t == 0 and not math.copysign(1, t) < 0 for t in terms) else -0.0
            return nearest
        return special(*values)

    return compute


def add(a: Fraction, b: Fraction) -> Fraction:
    return a + b


def sub(a: Fraction, b: Fraction) -> Fraction:
    return a - b


def mul(a: Fraction, b: Fraction) -> Fraction:
    return a * b


def fma(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c


def div(a: Fraction, b: Fraction) -> Fraction:
    return a / b


def _ieee(name: str) -> Callable[..., float]:
    def compute(*values: float) -> float:
        with np.errstate(all="ignore"):
            a = [np.float64(v) for v in values]
            return float(
                {"add": lambda: a[0] + a[1], "sub": lambda: a[0] - a[1], "mul": lambda: a[0] * a[1],
                 "fma": lambda: a[0] * a[1] + a[2], "div": lambda: a[0] / a[1]}[name]()
            )  # fmt: skip

    return compute


def _inputs(seed: str, dtype: np.dtype, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(list(seed.encode()))
    wide = [floats(rng, dtype) for _ in range(count)]
    near = [floats(rng, dtype, spread=6) for _ in range(count)]
    return [np.where(np.arange(LANES) % 2 == 0, w, n) for w, n in zip(wide, near, strict=True)]


def _expected(operation: Callable[..., Fraction], type_: str, mode: str, inputs: list[np.ndarray]) -> np.ndarray:
    compute = _exact(operation, _ieee(operation.__name__), mode)
    rows = zip(*([float(v) for v in values] for values in inputs), strict=True)
    return rounded_array([compute(*row) for row in rows], type_, mode, DTYPES[type_])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("operation", [add, mul, div])
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_two_operands_round_as_stated(type_: str, operation: Callable[..., Fraction], mode: str) -> None:
    inputs = _inputs(f"{type_}{operation.__name__}{mode}", DTYPES[type_], 2)
    found = run_lanes(f"{operation.__name__}.{mode}.{type_} %o, %a, %b;", *inputs, out=DTYPES[type_])
    assert_same_floats(found, _expected(operation, type_, mode, inputs))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_fma_rounds_once(type_: str, mode: str) -> None:
    inputs = _inputs(f"fma{type_}{mode}", DTYPES[type_], 3)
    # half of the lanes cancel: c is minus the product rounded to the type, so the result is its rounding error
    with np.errstate(all="ignore"):
        inputs[2] = np.where(np.arange(LANES) % 4 < 2, -(inputs[0] * inputs[1]), inputs[2])
    found = run_lanes(f"fma.{mode}.{type_} %o, %a, %b, %c;", *inputs, out=DTYPES[type_])
    assert_same_floats(found, _expected(fma, type_, mode, inputs))


def test_fma_f32_does_not_round_twice() -> None:
    # the product is a tie of float32, and c, too small for float64 beside it, decides which way it goes
    a = np.full(LANES, 1 + 2.0**-12, np.float32)
    b = np.full(LANES, 1 + 2.0**-12, np.float32)
    c = np.full(LANES, 2.0**-80, np.float32) * np.where(np.arange(LANES) % 2 == 0, 1, -1).astype(np.float32)
    found = run_lanes("fma.rn.f32 %o, %a, %b, %c;", a, b, c, out=np.float32)
    assert_same_floats(found, _expected(fma, "f32", "rn", [a, b, c]))
    assert np.unique(found).size == 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_reciprocal_and_root(type_: str, mode: str) -> None:
    dtype = DTYPES[type_]
    (values,) = _inputs(f"rcp{type_}{mode}", dtype, 1)
    ones = np.ones(LANES, dtype)
    found = run_lanes(f"rcp.{mode}.{type_} %o, %a;", values, out=dtype)
    assert_same_floats(found, _expected(div, type_, mode, [ones, values]))
    found = run_lanes(f"sqrt.{mode}.{type_} %o, %a;", values, out=dtype)
    for value, root in zip(values, found, strict=True):
        if not value > 0 or np.isinf(value):
            with np.errstate(all="ignore"):
                assert_same_floats(np.array([root]), np.array([np.sqrt(value)]))
            continue
        below, above = np.nextafter(root, dtype.type(0)), np.nextafter(root, dtype.type(np.inf))
        square = Fraction(float(root)) ** 2
        if mode in ("rz", "rm"):
            assert square <= Fraction(float(value)) < Fraction(float(above)) ** 2
        elif mode == "rp":
            assert Fraction(float(below)) ** 2 < Fraction(float(value)) <= square
        else:
            half_up = (Fraction(float(root)) + Fraction(float(above))) / 2
            half_down = (Fraction(float(root)) + Fraction(float(below))) / 2
            assert half_down**2 <= Fraction(float(value)) <= half_up**2


@pytest.mark.parametrize("operation", [add, sub, mul, fma])
@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_halves(type_: str, operation: Callable[..., Fraction]) -> None:
    dtype = np.dtype(np.float16) if type_ == "f16" else np.dtype(ml_dtypes.bfloat16)
    rng = np.random.default_rng(list(f"{type_}{operation.__name__}".encode()))
    count = 3 if operation is fma else 2
    inputs = [np.frombuffer(rng.bytes(2 * LANES), dtype) for _ in range(count)]
    near = [(rng.standard_normal(LANES) * 2.0 ** rng.integers(-4, 5, LANES)).astype(dtype) for _ in range(count)]
    inputs = [np.where(np.arange(LANES) % 2 == 0, w, n) for w, n in zip(inputs, near, strict=True)]
    compute = _exact(operation, _ieee(operation.__name__), "rn")
    rows = zip(*([float(v) for v in values] for values in inputs), strict=True)
    expected = rounded_array([compute(*row) for row in rows], type_, "rn", np.float64)
    raw = [values.view(np.uint16) for values in inputs]
    names = "abc"[:count]
    rounding = ".rn" if operation is fma else ""
    code = f"{operation.__name__}{rounding}.{type_} %o, {', '.join('%' + n for n in names)};"
    found = run_lanes(code, *raw, out=np.uint16).view(dtype).astype(np.float64)
    assert_same_floats(found, expected)
    # the packed form does the same to both halves
    code = "".join(f"mov.b32 %t{i}, {{%{n}, %{n}}};" for i, n in enumerate(names))
    code += f"{operation.__name__}{rounding}.{type_}x2 %o, {', '.join(f'%t{i}' for i in range(count))};"
    pair = run_lanes(code, *raw, out=np.uint32).view(dtype).astype(np.float64).reshape(-1, 2)
    assert_same_floats(pair[:, 0].copy(), expected)
    assert_same_floats(pair[:, 1].copy(), expected)


def test_flushing_and_saturation() -> None:
    a, b = _inputs("ftz", DTYPES["f32"], 2)
    a[:8] = np.array([1e-39, -1e-39, 2.0, -3.0, 0.25, np.nan, np.inf, -np.inf], np.float32)
    b[:8] = np.array([0, 0, 5.0, 0.5, 0.5, 1.0, 1.0, 1.0], np.float32)

    def flushed(values: np.ndarray) -> np.ndarray:
        small = np.abs(values) < np.finfo(np.float32).smallest_normal
        return np.where(small, np.copysign(np.float32(0), values), values)

    with np.errstate(all="ignore"):
        plain = flushed(flushed(a) + flushed(b))
        product = flushed(a) * flushed(b)
    assert_same_floats(run_lanes("add.ftz.f32 %o, %a, %b;", a, b, out=np.float32), plain)
    clipped = np.where(np.isnan(product), 0, np.clip(product, 0, 1)).astype(np.float32)
    found = run_lanes("mul.rn.ftz.sat.f32 %o, %a, %b;", a, b, out=np.float32)
    np.testing.assert_array_equal(found, flushed(clipped))


@pytest.mark.parametrize("opcode", ["min", "max"])
def test_minimum_and_maximum_order_zeros_and_drop_nan(opcode: str) -> None:
    a, b = _inputs(opcode, DTYPES["f32"], 2)
    a[:6] = np.array([0.0, -0.0, np.nan, 1.0, np.nan, -0.0], np.float32)
    b[:6] = np.array([-0.0, 0.0, 2.0, np.nan, np.nan, -0.0], np.float32)
    python = min if opcode == "min" else max

    def key(value: float) -> tuple[float, float]:
        return value, math.copysign(1, value)

    def reference(x: float, y: float, keeps_nan: bool) -> float:
        if math.isnan(x) or math.isnan(y):
            return math.nan if keeps_nan or (math.isnan(x) and math.isnan(y)) else (y if math.isnan(x) else x)
        return python(x, y, key=key)

    for modifier, keeps_nan in (("", False), (".NaN", True)):
        found = run_lanes(f"{opcode}{modifier}.f32 %o, %a, %b;", a, b, out=np.float32)
        rows = zip(a.tolist(), b.tolist(), strict=True)
        assert_same_floats(found, np.array([reference(x, y, keeps_nan) for x, y in rows], np.float32))
        assert (found.view(np.uint32)[np.isnan(found)] == 0x7FFFFFFF).all() or not keeps_nan
    found = run_lanes(f"{opcode}.xorsign.abs.f32 %o, %a, %b;", a, b, out=np.float32)
    with np.errstate(all="ignore"):
        magnitude = [reference(abs(x), abs(y), False) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    sign = np.where(np.signbit(a) ^ np.signbit(b), -1.0, 1.0)
    assert_same_floats(found, (np.array(magnitude) * sign).astype(np.float32))


@pytest.mark.parametrize(
    ("code", "function", "domain"),
    [
        ("ex2.approx.ftz.f32", np.exp2, (-100, 100)),
        ("rsqrt.approx.f32", lambda a: 1 / np.sqrt(a), (0.01, 1e6)),
        ("rcp.approx.ftz.f32", lambda a: 1 / a, (0.01, 1e6)),
        ("sqrt.approx.f32", np.sqrt, (0.01, 1e6)),
    ],
)
def test_approximate_functions(
    code: str, function: Callable[[np.ndarray], np.ndarray], domain: tuple[float, float]
) -> None:
    a = np.random.default_rng(5).uniform(*domain, LANES).astype(np.float32)
    found = run_lanes(f"{code} %o, %a;", a, out=np.float32)
    np.testing.assert_allclose(found, function(a.astype(np.float64)), rtol=2e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("code", "function", "domain", "relative", "absolute"),
    [
        ("lg2.approx.f32", np.log2, (0.5, 2), 0, 2.0**-22),
        ("sin.approx.f32", np.sin, (-3, 3), 0, 2.0**-20.5),
        ("cos.approx.f32", np.cos, (-3, 3), 0, 2.0**-20.5),
        ("sin.approx.f32", np.sin, (250, 314), 0, 2.0**-14.7),
        ("cos.approx.f32", np.cos, (-314, -250), 0, 2.0**-14.7),
        ("tanh.approx.f32", np.tanh, (-4, 4), 2.0**-11, 0),
    ],
)
def test_coarse_functions_are_as_coarse_as_the_isa_allows(
    code: str,
    function: Callable[[np.ndarray], np.ndarray],
    domain: tuple[float, float],
    relative: float,
    absolute: float,
) -> None:
    """Errors stated by the PTX ISA: code that needs more bits must not pass."""
    a = np.random.default_rng(5).uniform(*domain, LANES).astype(np.float32)
    exact = function(a.astype(np.float64))
    error = abs(run_lanes(f"{code} %o, %a;", a, out=np.float32) - exact) / (absolute + relative * abs(exact))
    assert 0.25 < error.max() <= 1


def test_approximate_functions_at_special_values() -> None:
    a = np.resize(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0], np.float32), LANES)
    for code, expected in (
        ("ex2.approx.f32", [1, 1, np.inf, 0, np.nan, 0.5]),
        ("lg2.approx.f32", [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan]),
        ("rsqrt.approx.f32", [np.inf, -np.inf, 0, np.nan, np.nan, np.nan]),
        ("rcp.approx.f32", [np.inf, -np.inf, 0, -0.0, np.nan, -1]),
        ("sqrt.approx.f32", [0.0, -0.0, np.inf, np.nan, np.nan, np.nan]),
    ):
        found = run_lanes(f"{code} %o, %a;", a, out=np.float32)
        assert_same_floats(found, np.resize(np.array(expected, np.float32), LANES))


def _halves(seed: int) -> np.ndarray:
    """Pairs of f16: numbers near one, and in every other lane bit patterns of any kind."""
    rng = np.random.default_rng(seed)
    wild = np.frombuffer(rng.bytes(4 * LANES), np.float16)
    near = (rng.standard_normal(2 * LANES) * 2).astype(np.float16)
    return np.where(np.arange(2 * LANES) % 4 == 0, wild, near).astype(np.float16)


def test_functions_and_relu_of_packed_halves() -> None:
    a, b, c = _halves(1), _halves(2), _halves(3)
    raw = [values.view(np.uint32) for values in (a, b, c)]
    with np.errstate(all="ignore"):
        for code, function in (("ex2.approx.f16x2", np.exp2), ("tanh.approx.f16x2", np.tanh)):
            found = run_lanes(f"{code} %o, %a;", raw[0], out=np.uint32).view(np.float16)
            assert_same_floats(found, function(a.astype(np.float64)).astype(np.float16))
        fused = (a.astype(np.float64) * b + c).astype(np.float16)
        relu = run_lanes("fma.rn.relu.f16x2 %o, %a, %b, %c;", *raw, out=np.uint32).view(np.float16)
        np.testing.assert_array_equal(relu, np.where(np.isnan(fused), fused, np.maximum(fused, 0)))
        total = a.astype(np.float32) + b.astype(np.float32)
        found = run_lanes("add.sat.f16x2 %o, %a, %b;", *raw[:2], out=np.uint32).view(np.float16)
        np.testing.assert_array_equal(found, np.where(np.isnan(total), 0, np.clip(total, 0, 1)).astype(np.float16))


@pytest.mark.parametrize("opcode", ["min", "max"])
@pytest.mark.parametrize("modifier", ["", ".NaN"])
def test_minimum_and_maximum_of_packed_halves(opcode: str, modifier: str) -> None:
    a, b = _halves(4), _halves(5)
    a[::4] = np.nan
    found = run_lanes(f"{opcode}{modifier}.f16x2 %o, %a, %b;", a.view(np.uint32), b.view(np.uint32), out=np.uint32)
    functions = {"min": (np.fmin, np.minimum), "max": (np.fmax, np.maximum)}
    expected = functions[opcode][bool(modifier)](a, b)
    np.testing.assert_array_equal(found.view(np.float16), expected)
    assert (found.view(np.uint16)[np.isnan(expected)] == 0x7FFF).all()


def test_flushing_of_halves_and_of_bf16_results() -> None:
    a, b = _halves(6), _halves(7)
    a[:4] = np.array([2.0**-20, -(2.0**-20), 2.0**-15, 1.0], np.float16)

    def flushed(values: np.ndarray) -> np.ndarray:
        return np.where(np.abs(values) < 2.0**-14, np.copysign(np.float32(0), values), values)

    with np.errstate(all="ignore"):
        product = flushed(flushed(a.astype(np.float32)) * flushed(b.astype(np.float32))).astype(np.float16)
    found = run_lanes("mul.ftz.f16x2 %o, %a, %b;", a.view(np.uint32), b.view(np.uint32), out=np.uint32)
    assert_same_floats(found.view(np.float16), product)
    exponents = np.linspace(-135, -120, LANES).astype(ml_dtypes.bfloat16)
    found = run_lanes("ex2.approx.ftz.bf16 %o, %a;", exponents.view(np.uint16), out=np.uint16).view(ml_dtypes.bfloat16)
    exact = np.exp2(exponents.astype(np.float64)).astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_array_equal(found.astype(np.float64), np.where(exact < 2.0**-126, 0, exact))


def test_sign_instructions() -> None:
    a, b = _inputs("sign", DTYPES["f32"], 2)
    for code, expected in (
        ("neg.f32 %o, %a;", a.view(np.uint32) ^ 0x80000000),
        ("abs.f32 %o, %a;", a.view(np.uint32) & 0x7FFFFFFF),
    ):
        np.testing.assert_array_equal(run_lanes(code, a, out=np.uint32), expected)
    expected = (b.view(np.uint32) & 0x7FFFFFFF) | (a.view(np.uint32) & 0x80000000)
    np.testing.assert_array_equal(run_lanes("copysign.f32 %o, %a, %b;", a, b, out=np.uint32), expected)
    pair = run_lanes("neg.f16x2 %o, %a;", a.view(np.uint32), out=np.uint32)
    np.testing.assert_array_equal(pair, a.view(np.uint32) ^ 0x80008000)


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a < b or a > b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "equ": lambda a, b: not (a < b or a > b),
    "neu": lambda a, b: a != b,
    "ltu": lambda a, b: not a >= b,
    "leu": lambda a, b: not a > b,
    "gtu": lambda a, b: not a <= b,
    "geu": lambda a, b: not a < b,
    "num": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "nan": lambda a, b: math.isnan(a) or math.isnan(b),
}


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("type_", ["f16", "f32", "f64"])
def test_comparisons(type_: str, comparison: str) -> None:
    a, b = _inputs(comparison + type_, DTYPES[type_], 2)
    b[: LANES // 4] = a[: LANES // 4]
    b[0], a[1] = np.nan, np.nan
    found = run_lanes(f"setp.{comparison}.{type_} %p, %a, %b; selp.u32 %o, 1, 0, %p;", a, b, out=np.uint32)
    reference = COMPARISONS[comparison]
    expected = [reference(float(x), float(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected, np.uint32))


@pytest.mark.parametrize("combine", ["and", "or", "xor"])
def test_comparison_combines_with_a_predicate(combine: str) -> None:
    a, b = _inputs(combine, DTYPES["f32"], 2)
    code = (
        f"setp.gt.f32 %q, %b, 0f00000000; setp.lt.{combine}.f32 %p|%q, %a, %b, !%q;"
        " selp.u32 %t0, 1, 0, %p; selp.u32 %t1, 2, 0, %q; or.b32 %o, %t0, %t1;"
    )
    found = run_lanes(code, a, b, out=np.uint32)
    python = {"and": bool.__and__, "or": bool.__or__, "xor": bool.__xor__}[combine]
    for x, y, bits in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        other = not y > 0
        assert bits == python(x < y, other) + 2 * python(not x < y, other)


def test_set_and_testp() -> None:
    a, b = _inputs("set", DTYPES["f32"], 2)
    found = run_lanes("set.gt.u32.f32 %o, %a, %b;", a, b, out=np.uint32)
    np.testing.assert_array_equal(found, np.where(a > b, np.uint32(0xFFFFFFFF), np.uint32(0)))
    found = run_lanes("set.leu.f32.f32 %o, %a, %b;", a, b, out=np.float32)
    np.testing.assert_array_equal(found, np.where(a > b, np.float32(0), np.float32(1)))
    found = run_lanes("testp.subnormal.f32 %p, %a; selp.u32 %o, 1, 0, %p;", a, out=np.uint32)
    small = (np.abs(a) > 0) & (np.abs(a) < np.finfo(np.float32).smallest_normal)
    np.testing.assert_array_equal(found, small.astype(np.uint32))
    assert small.any()
