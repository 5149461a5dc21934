"""cvt to and from 8, 6 and 4-bit floats, scale factors, stochastic rounding and cvt.pack, against independent code."""

import ml_dtypes
import numpy as np
import pytest

from tests.runtime.harness import LANES, floats, integers, run_lanes

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
SMALL = {
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn, "e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
LARGEST = {name: float(ml_dtypes.finfo(dtype).max) for name, dtype in SMALL.items()}
BITS = {"e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}


def codes(values: np.ndarray, name: str, relu: bool = False) -> np.ndarray:
    """What .rn.satfinite makes of float32 or float64 values."""
    clipped = np.clip(values, -LARGEST[name], LARGEST[name])
    if relu:
        clipped = np.where(np.signbit(clipped) & ~np.isnan(clipped), 0, clipped)
    found = clipped.astype(SMALL[name]).view(np.uint8) & ((1 << BITS[name]) - 1)
    nan = {"e4m3": 0x7F, "e5m2": 0x7F}.get(name, (1 << (BITS[name] - 1)) - 1)
    return np.where(np.isnan(values), nan, found).astype(np.uint32)


def spread(name: str) -> int:
    return 4 if name == "e2m1" else 8


def near(rng: np.random.Generator, name: str, dtype: object = np.float32) -> np.ndarray:
    """Values around the range of a format: representable ones, halfway ones, overflows, specials."""
    representable = np.arange(1 << BITS[name], dtype=np.uint8).view(SMALL[name]).astype(np.float64)
    representable = representable[np.isfinite(representable)]
    ordered = np.unique(representable)
    pool = np.concatenate([ordered, (ordered[1:] + ordered[:-1]) / 2, ordered * 1.01, [LARGEST[name] * 1.5]])
    values = rng.choice(pool, LANES).astype(dtype)
    values[:40] = floats(rng, np.float32)[:40].astype(dtype)
    return rng.permutation(values)


def destination(name: str, value: str) -> tuple[str, str]:
    """(declarations, code that puts the packed pair `value` computes in %o, 16 bits)."""
    if name == "e2m1":
        return ".reg .b8 %e;", f"{value.format(d='%e')} mov.b16 %o, {{%e, 0}};"
    return "", value.format(d="%o")


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("name", SMALL)
def test_pairs_of_f32(name: str, relu: bool) -> None:
    rng = np.random.default_rng(1)
    a, b = near(rng, name), near(rng, name)
    modifier = ".relu" if relu else ""
    declared, code = destination(name, f"cvt.rn.satfinite{modifier}.{name}x2.f32 {{d}}, %a, %b;")
    found = run_lanes(f"{{ {declared} {code} }}", a, b, out=np.uint16)
    np.testing.assert_array_equal(found, codes(a, name, relu) << spread(name) | codes(b, name, relu))


@pytest.mark.parametrize("source", ["f16", "bf16"])
@pytest.mark.parametrize("name", SMALL)
def test_pairs_of_halves(name: str, source: str) -> None:
    rng = np.random.default_rng(2)
    dtype = np.float16 if source == "f16" else ml_dtypes.bfloat16
    pairs = np.stack([near(rng, name, dtype), near(rng, name, dtype)], axis=1)
    declared, code = destination(name, f"cvt.rn.satfinite.{name}x2.{source}x2 {{d}}, %a;")
    found = run_lanes(f"{{ {declared} {code} }}", pairs.view(np.uint32)[:, 0], out=np.uint16)
    low, high = (codes(pairs[:, n].astype(np.float64), name) for n in (0, 1))
    np.testing.assert_array_equal(found, high << spread(name) | low)


@pytest.mark.parametrize("target", ["f16", "bf16"])
@pytest.mark.parametrize("name", SMALL)
def test_every_code_widens_exactly(name: str, target: str) -> None:
    dtype = np.float16 if target == "f16" else ml_dtypes.bfloat16
    low = np.arange(LANES) % (1 << BITS[name])
    high = low[::-1]
    packed = (high << spread(name) | low).astype(np.uint16)
    prepare, operand = ("mov.b16 {%e, _}, %a;", "%e") if name == "e2m1" else ("", "%a")
    code = f"{{ .reg .b8 %e; {prepare} cvt.rn.{target}x2.{name}x2 %o, {operand}; }}"
    found = run_lanes(code, packed, out=np.uint32).view(dtype).reshape(-1, 2).astype(np.float64)
    for column, expected in ((0, low), (1, high)):
        exact = expected.astype(np.uint8).view(SMALL[name]).astype(np.float64)
        np.testing.assert_array_equal(found[:, column], exact)


def scale_code(values: np.ndarray, mode: str, finite: bool) -> np.ndarray:
    """The power of two at or above (rp) or below (rz) a magnitude, as its exponent plus 127."""
    result = []
    for value in np.abs(values.astype(np.float64)).tolist():
        if np.isnan(value):
            result.append(255)
            continue
        if np.isinf(value):
            result.append(254 if finite else 255)
            continue
        mantissa, exponent = np.frexp(value) if value else (0.5, -200)
        floor = int(exponent) - 1
        up = mode == "rp" and mantissa != 0.5 and value > 2.0**-127
        result.append(min(max(floor + up + 127, 0), 254 if finite else 255))
    return np.array(result, np.uint32)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("mode", ["rz", "rp"])
def test_scale_factors(mode: str, finite: bool) -> None:
    rng = np.random.default_rng(3)
    a, b = floats(rng, np.float32), floats(rng, np.float32, 3)
    b[:4] = [2.0**-127, 2.0**-126, 1.5 * 2.0**-127, 2.0**-128]
    modifier = ".satfinite" if finite else ""
    found = run_lanes(f"cvt.{mode}{modifier}.ue8m0x2.f32 %o, %a, %b;", a, b, out=np.uint16)
    expected = scale_code(a, mode, finite) << 8 | scale_code(b, mode, finite)
    np.testing.assert_array_equal(found, expected)
    pairs = np.stack([a, b], axis=1).astype(ml_dtypes.bfloat16)
    found = run_lanes(f"cvt.{mode}{modifier}.ue8m0x2.bf16x2 %o, %a;", pairs.view(np.uint32)[:, 0], out=np.uint16)
    low, high = (scale_code(pairs[:, n].astype(np.float64), mode, finite) for n in (0, 1))
    np.testing.assert_array_equal(found, high << 8 | low)


def test_scale_factors_back() -> None:
    code = np.arange(LANES)
    found = run_lanes("cvt.rn.bf16x2.ue8m0x2 %o, %a;", (code << 8 | code[::-1]).astype(np.uint16), out=np.uint32)
    values = found.view(ml_dtypes.bfloat16).reshape(-1, 2).astype(np.float64)
    exact = np.where(code == 255, np.nan, 2.0 ** (code - 127.0))
    np.testing.assert_array_equal(values, np.stack([exact[::-1], exact], axis=1))


@pytest.mark.parametrize(("name", "count"), [("f16", 13), ("bf16", 16)])
def test_stochastic_rounding_of_pairs(name: str, count: int) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.standard_normal(LANES).astype(np.float32) * np.float32(8) for _ in range(2))
    bits = rng.integers(0, 2**32, LANES).astype(np.uint32)
    found = run_lanes(f"cvt.rs.{name}x2.f32 %o, %a, %b, %c;", a, b, bits, out=np.uint32)
    drop = 13 if name == "f16" else 16
    for values, random, got in ((a, bits >> 16, found >> 16), (b, bits & 0xFFFF, found & 0xFFFF)):
        # the magnitude plus the random bits, cut off: for results that are normal numbers
        cut = (values.view(np.uint32) + (random & ((1 << count) - 1))) >> drop << drop
        expected = cut.view(np.float32).astype(np.float16 if name == "f16" else ml_dtypes.bfloat16)
        np.testing.assert_array_equal(got, expected.view(np.uint16))


@pytest.mark.parametrize("name", SMALL)
def test_stochastic_rounding_of_quadruples_is_one_of_the_neighbours(name: str) -> None:
    rng = np.random.default_rng(5)
    values = [rng.uniform(-LARGEST[name], LARGEST[name], LANES).astype(np.float32) for _ in range(2)]
    bits = rng.integers(0, 2**32, LANES).astype(np.uint32)
    declare = ".reg .b16 %e;" if name == "e2m1" else ""
    into, after = ("%e", "cvt.u32.u16 %o, %e;") if name == "e2m1" else ("%o", "")
    code = f"{{ {declare} cvt.rs.satfinite.{name}x4.f32 {into}, {{%a, %b, %b, %a}}, %c; {after} }}"
    found = run_lanes(code, *values, bits, out=np.uint32)
    table = np.unique(np.arange(1 << BITS[name], dtype=np.uint8).view(SMALL[name]).astype(np.float64))
    table = table[np.isfinite(table)]
    ups = 0
    for position, value in ((3, values[0]), (2, values[1]), (1, values[1]), (0, values[0])):
        code_ = (found >> (position * spread(name)) & ((1 << BITS[name]) - 1)).astype(np.uint8)
        got = code_.view(SMALL[name]).astype(np.float64)
        above = np.searchsorted(table, value.astype(np.float64), side="left")
        floor = table[np.maximum(above - 1, 0)]
        assert np.isin(got, table).all()
        assert ((got == table[np.minimum(above, table.size - 1)]) | (got == floor)).all()
        ups += int((got != floor).sum())
    assert 0.3 < ups / (4 * LANES) < 0.7


@pytest.mark.parametrize("name", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_packing_integers(name: str) -> None:
    rng = np.random.default_rng(6)
    width, signed = int(name[1:]), name[0] == "s"
    a, b, c = (integers(rng, np.int32) for _ in range(3))
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    above = ", %c" if width < 16 else ""
    found = run_lanes(f"cvt.pack.sat.{name}.s32{'.b32' if above else ''} %o, %a, %b{above};", a, b, c, out=np.uint32)
    first, second = (np.clip(value.astype(np.int64), low, high) % (1 << width) for value in (a, b))
    expected = first << width | second
    if above:
        expected |= c.astype(np.int64) << (2 * width)
    np.testing.assert_array_equal(found, expected % 2**32)
