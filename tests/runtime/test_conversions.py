"""cvt against exact rational rounding, Python integers and ml_dtypes."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, UnsupportedModifierError, launch
from tests.runtime.harness import LANES, assert_same_floats, floats, integers, run_lanes
from tests.runtime.rational import round_to
from tests.runtime.test_gemm_ptx import DATA

INTEGERS = {
    f"{kind}{bits}": np.dtype(f"{'u' if kind == 'u' else 'i'}{bits // 8}") for kind in "us" for bits in (8, 16, 32, 64)
}
FLOATS = {"f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def _limits(dtype: np.dtype) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_integer_to_integer(source: str, target: str) -> None:
    rng = np.random.default_rng(1)
    from_, to = INTEGERS[source], INTEGERS[target]
    a = integers(rng, from_)
    found = run_lanes(f"cvt.{target}.{source} %o, %a;", a, out=to)
    np.testing.assert_array_equal(found, a.astype(to))
    low, high = _limits(to)
    least, greatest = _limits(from_)
    if low <= least and greatest <= high:
        with pytest.raises(UnsupportedModifierError):
            run_lanes(f"cvt.sat.{target}.{source} %o, %a;", a, out=to)
        return
    found = run_lanes(f"cvt.sat.{target}.{source} %o, %a;", a, out=to)
    np.testing.assert_array_equal(found, np.array([min(max(int(v), low), high) for v in a], to))


def test_narrow_values_in_wide_registers_extend() -> None:
    a = integers(np.random.default_rng(2), np.int32)
    code = "cvt.s8.s32 %t0, %a; cvt.u32.u8 %t1, %a; xor.b32 %o, %t0, %t1;"
    found = run_lanes(code, a, out=np.int32)
    np.testing.assert_array_equal(found, a.astype(np.int8).astype(np.int32) ^ (a & 255))


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", ["s8", "u16", "s32", "u32", "s64", "u64"])
def test_float_to_integer_rounds_and_clamps(target: str, source: str, mode: str) -> None:
    rng = np.random.default_rng(list(f"{target}{source}{mode}".encode()))
    a = np.where(np.arange(LANES) % 2 == 0, floats(rng, FLOATS[source]), floats(rng, FLOATS[source], spread=12))
    a[:4] = np.array([0.5, 1.5, -0.5, -2.5])
    to = INTEGERS[target]
    found = run_lanes(f"cvt.{mode}.{target}.{source} %o, %a;", a, out=to)
    low, high = _limits(to)
    rounding = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[mode]
    for value, result in zip(a.tolist(), found.tolist(), strict=True):
        if math.isnan(value):
            assert result == 0
        elif math.isinf(value):
            assert result == (high if value > 0 else low)
        else:
            assert result == min(max(rounding(Fraction(value)), low), high)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("target", FLOATS)
def test_integer_to_float(target: str, source: str, mode: str) -> None:
    rng = np.random.default_rng(list(f"{target}{source}{mode}".encode()))
    a = integers(rng, INTEGERS[source])
    found = run_lanes(f"cvt.{mode}.{target}.{source} %o, %a;", a, out=FLOATS[target])
    expected = np.array([round_to(Fraction(int(v)), target, mode) for v in a], FLOATS[target])
    np.testing.assert_array_equal(found, expected)


def _rounded(values: np.ndarray, name: str, mode: str) -> np.ndarray:
    exact = values.tolist()
    return np.array(
        [v if not math.isfinite(v) else math.copysign(round_to(Fraction(v), name, mode), v) for v in exact], np.float64
    )


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize(("target", "source"), [("f32", "f64"), ("f16", "f32"), ("f16", "f64")])
def test_float_to_narrower_float(target: str, source: str, mode: str) -> None:
    rng = np.random.default_rng(list(f"{target}{source}{mode}".encode()))
    a = np.where(np.arange(LANES) % 2 == 0, floats(rng, FLOATS[source]), floats(rng, FLOATS[source], spread=20))
    found = run_lanes(f"cvt.{mode}.{target}.{source} %o, %a;", a, out=FLOATS[target])
    assert_same_floats(found.astype(np.float64), _rounded(a, target, mode))


@pytest.mark.parametrize("mode", ["rn", "rz"])
def test_brain_floats(mode: str) -> None:
    rng = np.random.default_rng(7)
    a, b = floats(rng, np.float32), floats(rng, np.float32)
    found = run_lanes(f"cvt.{mode}.bf16.f32 %o, %a;", a, out=np.uint16).view(ml_dtypes.bfloat16)
    assert_same_floats(found.astype(np.float64), _rounded(a, "bf16", mode))
    pair = run_lanes(f"cvt.{mode}.bf16x2.f32 %o, %a, %b;", a, b, out=np.uint32).view(ml_dtypes.bfloat16)
    assert_same_floats(pair[1::2].astype(np.float64), _rounded(a, "bf16", mode))
    assert_same_floats(pair[0::2].astype(np.float64), _rounded(b, "bf16", mode))
    halves = run_lanes(f"cvt.{mode}.relu.f16x2.f32 %o, %a, %b;", a, b, out=np.uint32).view(np.float16)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(halves[1::2].astype(np.float64), np.maximum(_rounded(a, "f16", mode), 0))
    wide = run_lanes("cvt.rn.bf16.f32 %h0, %a; cvt.f32.bf16 %o, %h0;", a, out=np.float32)
    assert_same_floats(wide.astype(np.float64), _rounded(a, "bf16", "rn"))


@pytest.mark.parametrize("mode", ["rna", "rn", "rz"])
def test_tf32(mode: str) -> None:
    a = floats(np.random.default_rng(8), np.float32)
    # ties: the thirteen bits below a tf32 mantissa are exactly one half
    a[:32] = ((a[:32].view(np.uint32) & np.uint32(0xFFFFE000)) | np.uint32(0x1000)).view(np.float32)
    found = run_lanes(f"cvt.{mode}.tf32.f32 %o, %a;", a, out=np.float32)
    assert_same_floats(found.astype(np.float64), _rounded(a, "tf32", mode))


def test_rounding_to_integral_and_saturation() -> None:
    a = floats(np.random.default_rng(9), np.float32, spread=8)
    for mode, function in (("rni", np.rint), ("rzi", np.trunc), ("rmi", np.floor), ("rpi", np.ceil)):
        assert_same_floats(run_lanes(f"cvt.{mode}.f32.f32 %o, %a;", a, out=np.float32), function(a))
    found = run_lanes("cvt.sat.f32.f32 %o, %a;", a, out=np.float32)
    np.testing.assert_array_equal(found, np.where(np.isnan(a), 0, np.clip(a, 0, 1)))
    flushed = run_lanes("cvt.ftz.f32.f32 %o, %a;", a, out=np.float32)
    small = np.abs(a) < np.finfo(np.float32).smallest_normal
    assert_same_floats(flushed, np.where(small, np.copysign(np.float32(0), a), a))
    halves = floats(np.random.default_rng(10), np.float16)
    assert_same_floats(run_lanes("cvt.f32.f16 %o, %a;", halves, out=np.float32), halves.astype(np.float32))


@pytest.mark.parametrize(("name", "dtype"), [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_eight_bit_floats(name: str, dtype: type) -> None:
    rng = np.random.default_rng(11)
    a = np.where(np.arange(LANES) % 2 == 0, floats(rng, np.float32, spread=10), floats(rng, np.float32))
    b = floats(rng, np.float32, spread=10)
    code = f"cvt.rn.satfinite.{name}x2.f32 %o, %a, %b;"
    pair = run_lanes(code, a, b, out=np.uint16).view(dtype)
    largest = float(ml_dtypes.finfo(dtype).max)
    for values, found in ((a, pair[1::2]), (b, pair[0::2])):
        expected = np.clip(_rounded(values, name, "rn"), -largest, largest)
        assert_same_floats(found.astype(np.float64), expected)
    codes = rng.integers(0, 2**16, LANES).astype(np.uint16)
    wide = run_lanes(f"cvt.rn.f16x2.{name}x2 %o, %a;", codes, out=np.uint32).view(np.float16)
    assert_same_floats(wide, codes.view(dtype).astype(np.float16))


@pytest.mark.parametrize("name", ["22_cvt_std", "22_cvt_std_norbf", "22_cvt_fp8"])
def test_files_run(name: str) -> None:
    memory = GlobalMemory()
    data = np.random.default_rng(12).standard_normal(16).astype(np.float32)
    address = memory.put(data)
    launch((DATA / f"{name}.ptx").read_text(), (1,), (1,), [address], memory, hazards=name != "22_cvt_std_norbf")
    first = memory.get(address, (1,), np.uint32)[0]
    half = data[4:5].view(np.uint16)[0]
    if name == "22_cvt_std":
        assert first == int(half) << 16
    elif name == "22_cvt_std_norbf":
        assert first >> 16 == half
    else:
        codes = np.array([half]).view(ml_dtypes.float8_e5m2).astype(np.float16)
        assert first == np.maximum(codes, 0).view(np.uint32)[0]
