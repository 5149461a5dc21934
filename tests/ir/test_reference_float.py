"""Float semantics against exact rational arithmetic: every rounding mode, f16, bf16, f32, f64, conversions, NaN."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile import Ordering, Predicate, Rounding, Signedness
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, F64, I1, I8, I32, I64, TF32, TileType

FORMATS = {F16: (11, -14, 15), BF16: (8, -126, 127), F32: (24, -126, 127), F64: (53, -1022, 1023)}
"""Significand bits, least and greatest exponent (IEEE 754-2019; bfloat16 as its public description)."""
DTYPES = {F16: np.float16, BF16: ml_dtypes.bfloat16, F32: np.float32, F64: np.float64}
MODES = [Rounding.NEAREST_EVEN, Rounding.ZERO, Rounding.NEGATIVE_INF, Rounding.POSITIVE_INF]


def round_exactly(value, element, mode):
    """A Fraction in a format, by the definition of the rounding mode; returns a Python float."""
    bits, low, high = FORMATS[element]
    if value == 0:
        return 0.0
    exponent = max(floor_log2(abs(value)), low)
    unit = Fraction(2) ** (exponent - bits + 1)
    down = math.floor(value / unit)
    rest = value / unit - down
    up = rest > 0
    if mode == Rounding.NEAREST_EVEN:
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1)
    elif mode == Rounding.NEGATIVE_INF or (mode == Rounding.ZERO and value > 0):
        up = False
    rounded = (down + up) * unit
    greatest = (2 - Fraction(2) ** (1 - bits)) * Fraction(2) ** high
    if abs(rounded) > greatest:
        towards = {Rounding.ZERO: False, Rounding.NEGATIVE_INF: value < 0, Rounding.POSITIVE_INF: value > 0}
        infinite = towards.get(mode, True)
        return (1 if value > 0 else -1) * (math.inf if infinite else float(greatest))
    return float(rounded)


def floor_log2(value):
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def bits_float(element):
    """Finite floats of a format, drawn by their bits, so that denormals and extremes come up."""
    dtype = np.dtype(DTYPES[element])
    width = dtype.itemsize * 8
    whole = st.integers(0, (1 << width) - 1).map(lambda b: np.array([b], f"u{dtype.itemsize}").view(dtype)[0])
    small = st.integers(-40, 40).map(lambda n: dtype.type(n / 8))
    return st.one_of(small, whole.filter(is_finite))


def is_finite(number):
    with np.errstate(invalid="ignore"):  # a signalling NaN warns
        return bool(np.isfinite(number))


CASES = [(element, mode) for element in FORMATS for mode in MODES]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("element", "mode"), CASES, ids=str)
@given(data=st.data())
def test_arithmetic_is_rounded_once(element, mode, data):
    numbers = [data.draw(bits_float(element)) for _ in range(3)]
    a, b, c = (np.array([x]) for x in numbers)
    x, y, z = (Fraction(float(n)) for n in numbers)
    check(ct.AddF.reference(a, b, mode), x + y, element, mode)
    check(ct.SubF.reference(a, b, mode), x - y, element, mode)
    check(ct.MulF.reference(a, b, mode), x * y, element, mode)
    check(ct.Fma.reference(a, b, c, mode), x * y + z, element, mode)
    if y:
        check(ct.DivF.reference(a, b, mode), x / y, element, mode)


def check(got, exact, element, mode):
    assert got.dtype == DTYPES[element]
    assert float(got[0]) == round_exactly(exact, element, mode)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("element", "mode"), CASES, ids=str)
@given(data=st.data())
def test_square_root_is_rounded_once(element, mode, data):
    number = abs(data.draw(bits_float(element)))
    root = float(ct.Sqrt.reference(np.array([number]), mode)[0])
    exact = Fraction(float(number))
    spread = [Fraction(x) for x in neighbours(root, element)]
    if mode == Rounding.NEAREST_EVEN:
        below, above = (spread[0] + Fraction(root)) / 2, (spread[1] + Fraction(root)) / 2
        assert below**2 <= exact <= above**2
    elif mode == Rounding.POSITIVE_INF:
        assert Fraction(root) ** 2 >= exact
        assert number == 0 or spread[0] ** 2 < exact
    else:
        assert Fraction(root) ** 2 <= exact < spread[1] ** 2


def neighbours(root, element):
    value = np.array([root]).astype(DTYPES[element])
    zero, infinity = (np.array([x]).astype(DTYPES[element]) for x in (0, math.inf))
    return float(np.nextafter(value, zero)[0]), float(np.nextafter(value, infinity)[0])


def test_zero_sums_have_the_sign_of_the_mode():
    a = np.float32([1, 0, -0.0, 0])
    b = np.float32([-1, -0.0, -0.0, 0])
    assert np.signbit(ct.AddF.reference(a, b, Rounding.NEGATIVE_INF)).tolist() == [True, True, True, False]
    assert np.signbit(ct.AddF.reference(a, b, Rounding.ZERO)).tolist() == [False, False, True, False]


def test_denormals_are_flushed_with_their_sign():
    tiny = np.float32([1e-40, -1e-40, 1.5, 1e-30])
    assert ct.MulF.reference(tiny, np.float32([1, 1, 1, 1e-10]), MODES[0], True).tolist() == [0, 0, 1.5, 0]
    assert np.signbit(ct.AddF.reference(tiny[1:2], np.float32([-0.0]), MODES[0], True)).all()
    assert ct.AddF.reference(tiny, tiny)[0] != 0


@pytest.mark.parametrize("element", list(FORMATS), ids=str)
def test_extrema_order_zeros_and_nans(element):
    dtype = DTYPES[element]
    a = np.array([1, np.nan, 2, np.nan, 0.0, -0.0, -np.inf]).astype(dtype)
    b = np.array([3, 4, np.nan, np.nan, -0.0, 0.0, 7]).astype(dtype)
    largest = ct.MaxF.reference(a, b).astype(float)
    smallest = ct.MinF.reference(a, b).astype(float)
    np.testing.assert_array_equal(largest, [3, 4, 2, np.nan, 0, 0, 7])
    np.testing.assert_array_equal(smallest, [1, 4, 2, np.nan, 0, 0, -np.inf])
    assert np.signbit(largest[4:6]).tolist() == [False, False]
    assert np.signbit(smallest[4:6]).tolist() == [True, True]
    assert np.isnan(ct.MaxF.reference(a, b, True).astype(float)).tolist() == [False, True, True, True] + [False] * 3
    assert np.isnan(ct.MinF.reference(a, b, True).astype(float)).tolist() == [False, True, True, True] + [False] * 3


def test_comparisons_with_nan_follow_the_ordering():
    a, b = np.float32([1, np.nan, 2]), np.float32([1, 1, 3])
    for predicate, plain in [(Predicate.EQUAL, [True, False]), (Predicate.LESS_THAN, [False, True])]:
        assert ct.CmpF.reference(a, b, predicate, Ordering.ORDERED).tolist() == [plain[0], False, plain[1]]
        assert ct.CmpF.reference(a, b, predicate, Ordering.UNORDERED).tolist() == [plain[0], True, plain[1]]
    assert ct.CmpF.reference(a, b, Predicate.NOT_EQUAL, Ordering.ORDERED).tolist() == [False, False, True]


FUNCTIONS = {
    ct.Exp: math.exp, ct.Exp2: math.exp2, ct.Log: math.log, ct.Log2: math.log2, ct.Tanh: math.tanh, ct.Sin: math.sin,
    ct.Cos: math.cos, ct.Tan: math.tan, ct.Sinh: math.sinh, ct.Cosh: math.cosh, ct.Floor: math.floor,
    ct.Ceil: math.ceil, ct.Rsqrt: lambda x: 1 / math.sqrt(x), ct.AbsF: abs, ct.NegF: lambda x: -x,
}  # fmt: skip


@pytest.mark.parametrize("cls", FUNCTIONS, ids=lambda c: c.info.mnemonic)
@pytest.mark.parametrize("element", [F16, BF16, F32, F64], ids=str)
def test_functions_agree_with_the_library(cls, element):
    numbers = np.random.default_rng(7).uniform(0.1, 4, 64).astype(DTYPES[element])
    wanted = np.array([FUNCTIONS[cls](float(x)) for x in numbers])
    got = cls.reference(numbers)
    assert got.dtype == DTYPES[element]
    ulp = 2.0 ** (1 - FORMATS[element][0])
    np.testing.assert_allclose(got.astype(float), wanted, rtol=2 * ulp, atol=0)


def test_two_operand_functions():
    random = np.random.default_rng(3)
    x, y = random.uniform(0.2, 3, 32).astype(np.float32), random.uniform(-3, 3, 32).astype(np.float32)
    n = random.integers(-4, 5, 32).astype(np.int32)
    np.testing.assert_allclose(ct.Pow.reference(x, y), [float(a) ** float(b) for a, b in zip(x, y, strict=True)], 1e-6)
    np.testing.assert_allclose(ct.FPowI.reference(y, n), [float(a) ** int(b) for a, b in zip(y, n, strict=True)], 1e-6)
    np.testing.assert_allclose(ct.Atan2.reference(y, x), [math.atan2(a, b) for a, b in zip(y, x, strict=True)], 1e-6)
    np.testing.assert_allclose(ct.RemF.reference(y, x), [math.fmod(a, b) for a, b in zip(y, x, strict=True)], 1e-6)


@pytest.mark.parametrize("target", [F16, BF16], ids=str)
@given(data=st.data())
def test_narrowing_from_double_rounds_once(target, data):
    number = data.draw(st.one_of(st.floats(-1e5, 1e5), near_midpoint(target)))
    got = ct.FToF.reference(np.array([number]), result_type=TileType((1,), target))
    assert got.dtype == DTYPES[target]
    assert float(got[0]) == round_exactly(Fraction(number), target, Rounding.NEAREST_EVEN)


def near_midpoint(element):
    """Just next to the midpoint of two neighbours, where double rounding goes wrong."""
    bits = FORMATS[element][0]
    middle = st.integers(1 << (bits - 1), (1 << bits) - 1).map(lambda n: (n + 0.5) * 2.0 ** (1 - bits))
    return st.builds(lambda m, d: m * (1 + d * 2.0**-50), middle, st.sampled_from([-1, 0, 1]))


@given(st.integers(0, (1 << 32) - 1))
def test_tf32_keeps_ten_mantissa_bits(bits):
    number = np.array([bits], np.uint32).view(np.float32)
    got = ct.FToF.reference(number, result_type=TileType((1,), TF32))
    if not np.isfinite(number).all():
        np.testing.assert_array_equal(got, number)
        return
    assert got.view(np.uint32)[0] & 0x1FFF == 0
    kept, rest = divmod(bits & 0x7FFFFFFF, 1 << 13)  # to nearest, ties to even, on the magnitude's bits
    kept += rest > 1 << 12 or (rest == 1 << 12 and kept % 2 == 1)
    assert int(got.view(np.uint32)[0]) == (bits & 0x80000000) | (kept << 13)


def test_eight_bit_floats_convert_to_the_nearest():
    numbers = np.float32([0.3, -1.1, 447, 1e-3, 17.6])
    for element, dtype in ((F8E4M3FN, ml_dtypes.float8_e4m3fn), (F8E5M2, ml_dtypes.float8_e5m2)):
        got = ct.FToF.reference(numbers, result_type=TileType((5,), element))
        grid = np.arange(256, dtype=np.uint8).view(dtype).astype(float)
        grid = grid[np.isfinite(grid)]
        nearest = [grid[np.abs(grid - x).argmin()] for x in numbers.astype(float)]
        assert got.astype(float).tolist() == nearest
        wild = ct.FToF.reference(np.float32([1e9, -np.inf, np.nan]), result_type=TileType((3,), element)).astype(float)
        assert wild[:2].tolist() == [grid.max(), grid.min()]
        assert np.isnan(wild[2])


@given(st.floats(-1e12, 1e12), st.booleans(), st.sampled_from([I8, I32, I64]))
def test_float_to_integer_truncates_and_saturates(number, signed, element):
    bits = element.width
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    wanted = min(max(math.trunc(number), low), high)
    got = ct.FToI.reference(np.array([number]), Signedness(int(signed)), result_type=TileType((1,), element))
    assert got.dtype == ct.dtype_of(element)
    assert int(got[0]) % (1 << bits) == wanted % (1 << bits)


def test_float_to_integer_of_nan_and_infinity():
    special = np.float32([np.nan, np.inf, -np.inf])
    got = ct.FToI.reference(special, Signedness.SIGNED, result_type=TileType((3,), I32))
    assert got.tolist() == [0, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("target", [F16, BF16, F32, F64], ids=str)
@given(number=st.integers(-(2**63), 2**63 - 1), shift=st.integers(0, 62), signed=st.booleans())
def test_integer_to_float_rounds_once(target, number, shift, signed):
    number >>= shift
    value = np.array([number], np.int64)
    got = ct.IToF.reference(value, Signedness(int(signed)), result_type=TileType((1,), target))
    exact = number if signed else number % (1 << 64)
    assert float(got[0]) == round_exactly(Fraction(exact), target, Rounding.NEAREST_EVEN)


def test_predicates_become_numbers_by_signedness():
    bits = np.array([True, False])
    tile = TileType((2,), F32)
    assert ct.IToF.reference(bits, Signedness.UNSIGNED, result_type=tile).tolist() == [1, 0]
    assert ct.IToF.reference(bits, Signedness.SIGNED, result_type=tile).tolist() == [-1, 0]
    assert ct.ExtI.reference(bits, Signedness.SIGNED, result_type=TileType((2,), I32)).tolist() == [-1, 0]
    assert ct.FToI.reference(np.float32([2.5, 0.5]), Signedness.SIGNED, result_type=TileType((2,), I1)).dtype == bool


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_exact_zero_sums_have_the_sign_of_the_rounding(dtype):
    """IEEE 754-2019, 6.3: x - x is -0 when rounding down, +0 else; zeros of one sign keep it."""
    a, b = np.array([1.5, 0.0, -0.0, 0.0], dtype), np.array([-1.5, -0.0, -0.0, 0.0], dtype)
    for rounding, signs in ((ct.Rounding.NEGATIVE_INF, [1, 1, 1, 0]), (ct.Rounding.POSITIVE_INF, [0, 0, 1, 0])):
        for got in (ct.AddF.reference(a, b, rounding=rounding), ct.Fma.reference(a, a**0, b, rounding=rounding)):
            assert (got == 0).all()
            assert np.signbit(got).astype(int).tolist() == signs
