"""f8 conversions, one by one and as the bytes of a register: PTX on the simulator against ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest

from ir.dialects import arith, vector
from ir.dialects.cuda_tile import Rounding
from ir.dialects.cuda_tile.numerics import convert_float
from ir.types import F8E4M3FN, F8E5M2, F8E8M0FNU
from tests.lowering.nvgpu_harness import (
    BF16,
    DTYPES,
    F16,
    F32,
    F64,
    GLOBAL_PTR,
    Kernel,
    VectorType,
    elementwise,
    one,
    run,
)

KINDS = {F8E4M3FN: ml_dtypes.float8_e4m3fn, F8E5M2: ml_dtypes.float8_e5m2}
CODES = np.arange(256, dtype=np.uint8)


def saturated(x: np.ndarray, kind) -> np.ndarray:
    """Rounded once to nearest even; what is too large, infinities too, becomes the largest number."""
    largest = float(ml_dtypes.finfo(KINDS[kind]).max)
    return np.clip(x, -largest, largest).astype(KINDS[kind])


def same_codes(got: np.ndarray, wanted: np.ndarray) -> None:
    """Equal bit for bit, one NaN as good as another."""
    nan = np.isnan(wanted.astype(np.float32))
    assert np.isnan(got[nan].astype(np.float32)).all()
    assert (got[~nan].view(np.uint8) == wanted[~nan].view(np.uint8)).all()


@pytest.fixture(autouse=True)
def bytes_in_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, dtype in (*KINDS.items(), (F8E8M0FNU, ml_dtypes.float8_e8m0fnu)):
        monkeypatch.setitem(DTYPES, kind, np.dtype(dtype))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("to", [F16, BF16, F32, F64], ids=str)
def test_every_code_widens_exactly(kind, to) -> None:
    (got,) = elementwise([kind], [one(arith.ExtF, to)], [CODES.view(KINDS[kind])], target="sm_89")
    wanted = CODES.view(KINDS[kind]).astype(np.float64)
    nan = np.isnan(wanted)
    assert np.isnan(got[nan].astype(np.float64)).all()
    assert (got[~nan].astype(np.float64) == wanted[~nan]).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("source", [F16, BF16, F32, F64], ids=str)
def test_narrowing_rounds_once_and_saturates(kind, source) -> None:
    """Ties, numbers just off ties (some of f64 look like ties in f32), specials."""
    rng = np.random.default_rng(31)
    codes = CODES.view(KINDS[kind]).astype(np.float64)
    finite = np.unique(codes[np.isfinite(codes)])
    ties = (finite[1:] + finite[:-1]) / 2
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e9, -1e9, 1e-9]
    x = np.concatenate([special, ties, ties * (1 + 1e-12), ties * (1 - 1e-12), rng.standard_normal(500) * 100])
    with np.errstate(over="ignore"):
        x = np.resize(x, 1536).astype(DTYPES[source])
    (got,) = elementwise([source], [one(arith.TruncF, kind)], [x], target="sm_89")
    wanted = saturated(x.astype(np.float64), kind)
    if source == F64:  # ml_dtypes goes through f32: where one code is the nearest, that is it
        far = abs(x[:, None] - finite[None, :])
        clear = np.isfinite(x) & (np.partition(far, 1)[:, 0] < np.partition(far, 1)[:, 1])
        wanted[clear] = np.copysign(finite[far.argmin(1)], x)[clear].astype(KINDS[kind])
    same_codes(got, wanted)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_bytes_of_a_register_convert_in_pairs(kind) -> None:
    """Four bytes of a register take two conversions each way."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR)
    four = VectorType((4,), kind)
    at = k.index()
    word = k.load(k.element(k.params[0], at, four), four)
    parts = [k.value(vector.Extract, word, types=[kind], position=(i,)) for i in range(4)]
    wide = [k.value(arith.MulF, p, k.const(2.0, F32)) for p in (k.value(arith.ExtF, p, types=[F32]) for p in parts)]
    narrow = [k.value(arith.TruncF, w, types=[kind]) for w in wide]
    k.store(k.value(vector.FromElements, *narrow, types=[four]), k.element(k.params[1], at, four))
    text = k.ptx("sm_89")
    assert text.count("cvt.rn.f16x2.") == text.count("cvt.rn.satfinite.") == 2
    x = np.resize(CODES, 512).view(KINDS[kind])
    _, got = run(text, 1, 128, [x, np.ones(512, KINDS[kind])])
    with np.errstate(over="ignore"):
        same_codes(got, saturated(x.astype(np.float32) * 2, kind))


def test_scales_are_the_exponent_of_f32() -> None:
    """Every code of f8E8M0FNU widens; narrowing goes to the power below or above, negative numbers to NaN."""
    exact = CODES.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    (got,) = elementwise([F8E8M0FNU], [one(arith.ExtF, F32)], [CODES.view(ml_dtypes.float8_e8m0fnu)])
    assert np.isnan(got[255])
    assert (got[:255].astype(np.float64) == exact[:255]).all()
    rng = np.random.default_rng(32)
    powers = exact[:255].astype(np.float32)
    special = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 3e38, 1e-45, 5.9e-39, 1.1e-38])
    x = np.concatenate([special, powers, np.nextafter(powers, np.float32(np.inf)), np.exp(rng.uniform(-80, 80, 400))])
    x = np.resize(x.astype(np.float32), 1024)
    cases = [one(arith.TruncF, F8E8M0FNU, rounding=rounding) for rounding in ("rz", "rp")]
    for rounding, got in zip((Rounding.ZERO, Rounding.POSITIVE_INF), elementwise([F32], cases, [x]), strict=True):
        wanted = convert_float(x, F8E8M0FNU, rounding)
        assert (got.view(np.uint8) == wanted.view(np.uint8)).all(), rounding


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_negation_flips_the_sign(kind) -> None:
    (got,) = elementwise([kind], [one(arith.NegF, kind)], [CODES.view(KINDS[kind])])
    assert (got.view(np.uint8) == CODES ^ 0x80).all()
