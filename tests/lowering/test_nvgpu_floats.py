"""Float arith and math ops, scalar and packed: PTX on the simulator against NumPy."""

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ir.core import UnsupportedError
from ir.dialects import arith, math, vector
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile import Rounding
from ir.dialects.cuda_tile.numerics import convert_float
from ir.types import F8E4M3FN
from lowering.convert.nvgpu_to_nvvm import convert
from tests.lowering.nvgpu_harness import (
    BF16,
    DTYPES,
    F16,
    F32,
    F64,
    GLOBAL_PTR,
    I1,
    I8,
    I16,
    I32,
    I64,
    TF32,
    Kernel,
    VectorType,
    elementwise,
    floats,
    integers,
    one,
    run,
)  # fmt: skip
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer

COUNT = 384
ALL = [F16, BF16, F32, F64]


def same(got: np.ndarray, wanted: np.ndarray, what: str) -> None:
    """Equal bit for bit up to the sign of NaN."""
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    ok = (got == wanted) & (np.signbit(got) == np.signbit(wanted)) | np.isnan(got) & np.isnan(wanted)
    bad = np.flatnonzero(~ok)
    assert not len(bad), f"{what}: at {bad[:4]} got {got[bad[:4]]}, not {wanted[bad[:4]]}"


def maximum(a, b):
    """IEEE maximum: NaN wins, -0 < +0."""
    return np.where((a == 0) & (b == 0), np.where(np.signbit(a), b, a), np.maximum(a, b))


def minimum(a, b):
    return -maximum(-a, -b)


def maxnum(a, b):
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, maximum(a, b)))


def minnum(a, b):
    return -maxnum(-a, -b)


BINARY = {
    arith.AddF: np.add, arith.SubF: np.subtract, arith.MulF: np.multiply, arith.DivF: np.divide,
    arith.MaximumF: maximum, arith.MinimumF: minimum, arith.MaxNumF: maxnum, arith.MinNumF: minnum,
}  # fmt: skip


def rounded(function, kind, *operands: np.ndarray) -> np.ndarray:
    """The function in f64, rounded once (twice where f64 itself rounds, harmless below f64)."""
    with np.errstate(all="ignore"):
        if kind == F64:
            return function(*operands)
        return function(*(o.astype(np.float64) for o in operands)).astype(DTYPES[kind])


@pytest.mark.parametrize("kind", ALL, ids=str)
@pytest.mark.parametrize("packed", [False, True])
def test_binary_ops_round_once(kind, packed: bool) -> None:
    if packed and kind.width != 16:
        kind = F16 if kind == F32 else BF16
    rng = np.random.default_rng(kind.width)
    count = COUNT * (1 + packed)
    x, y = floats(rng, kind, count), floats(rng, kind, count)[::-1].copy()
    y[4:40] = x[4:40]
    results = elementwise([VectorType((2,), kind) if packed else kind] * 2, [one(c) for c in BINARY],
                          [x.reshape(-1, 2), y.reshape(-1, 2)] if packed else [x, y])  # fmt: skip
    for (cls, function), got in zip(BINARY.items(), results, strict=True):
        same(got.reshape(-1), rounded(function, kind, x, y), f"{cls.__name__} {kind}")


@pytest.mark.parametrize("kind", ALL, ids=str)
@pytest.mark.parametrize("packed", [False, True])
def test_fma_negation_and_magnitude(kind, packed: bool) -> None:
    if packed and kind.width != 16:
        kind = F16 if kind == F32 else BF16
    rng = np.random.default_rng(kind.width + 1)
    data = [rng.integers(-40, 40, COUNT * (1 + packed)).astype(DTYPES[kind]) for _ in range(3)]  # exact products in f64
    cases = [one(math.Fma), lambda k, a, b, c: k.value(arith.NegF, a), lambda k, a, b, c: k.value(math.AbsF, b)]
    register = VectorType((2,), kind) if packed else kind
    fused, negated, magnitude = elementwise([register] * 3, cases, [d.reshape(-1, 2) if packed else d for d in data])
    same(fused.reshape(-1), rounded(lambda a, b, c: a * b + c, kind, *data), "fma")
    same(negated.reshape(-1), -data[0], "negf")
    same(magnitude.reshape(-1), abs(data[1]), "absf")


@pytest.mark.parametrize("kind", ALL, ids=str)
def test_comparisons_know_nan(kind) -> None:
    rng = np.random.default_rng(kind.width + 2)
    x, y = floats(rng, kind, COUNT), floats(rng, kind, COUNT)
    y[3:50] = x[3:50]
    y[60:64] = np.nan
    x[64:66] = np.nan
    got = elementwise([kind] * 2, [one(arith.CmpF, I1, predicate=p) for p in arith.FLOAT_PREDICATES], [x, y])
    a, b = x.astype(np.float64), y.astype(np.float64)
    nan = np.isnan(a) | np.isnan(b)
    order = {"eq": a == b, "gt": a > b, "ge": a >= b, "lt": a < b, "le": a <= b, "ne": (a != b) & ~nan}
    for predicate, found in zip(arith.FLOAT_PREDICATES, got, strict=True):
        if predicate in ("ord", "uno"):
            wanted = ~nan if predicate == "ord" else nan
        else:
            wanted = order[predicate[1:]] | nan if predicate[0] == "u" else order[predicate[1:]]
        assert (found == wanted).all(), predicate


def cast(cls, to, **attributes):
    return lambda k, x: k.value(cls, x, types=[to], **attributes)


@pytest.mark.parametrize("kind", ALL, ids=str)
def test_conversions_between_floats(kind) -> None:
    rng = np.random.default_rng(kind.width + 3)
    x = floats(rng, kind, COUNT)
    others = [t for t in ALL if t != kind]
    cases = [cast(arith.ExtF if t.width > kind.width else arith.TruncF, t) for t in others]
    for to, got in zip(others, elementwise([kind], cases, [x]), strict=True):
        with np.errstate(all="ignore"):
            middle = x.astype(np.float32) if to == BF16 or kind == BF16 else x
            same(got, middle.astype(DTYPES[to]), f"{kind} to {to}")


def test_tf32_rounds_to_ten_bits_ties_away() -> None:
    rng = np.random.default_rng(4)
    x = floats(rng, F32, COUNT, special=False)
    (got,) = elementwise([F32], [cast(arith.TruncF, TF32)], [x])
    bits = (x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    same(got.view(np.uint32) & np.uint32(0xFFFFE000), bits, "tf32")


@pytest.mark.parametrize("kind", ALL, ids=str)
def test_conversions_with_integers(kind) -> None:
    rng = np.random.default_rng(kind.width + 5)
    x = (rng.standard_normal(COUNT) * 50).astype(DTYPES[kind])
    kinds = (I8, I16, I32, I64)
    cases = [cast(arith.FPToSI, t) for t in kinds] + [
        lambda k, v, t=t: k.value(arith.FPToUI, k.value(math.AbsF, v), types=[t]) for t in kinds
    ]
    got = elementwise([kind], cases, [x])
    wide = x.astype(np.float64)
    for t, found in zip(kinds, got[:4], strict=True):
        assert (found == np.trunc(wide).clip(-128, 127).astype(DTYPES[t]) if t == I8 else found == np.trunc(wide)).all()
    for t, found in zip(kinds, got[4:], strict=True):
        limit = 255 if t == I8 else 1 << 40
        assert (found.view(f"u{t.width // 8}") == np.trunc(abs(wide)).clip(0, limit)).all(), t


@pytest.mark.parametrize("kind", [I8, I16, I32, I64], ids=str)
def test_integers_become_floats(kind) -> None:
    rng = np.random.default_rng(kind.width + 6)
    x = integers(rng, kind, COUNT)
    cases = [cast(arith.SIToFP, t) for t in ALL] + [cast(arith.UIToFP, t) for t in ALL]
    got = elementwise([kind], cases, [x])
    unsigned = x.view(f"u{x.dtype.itemsize}")
    for source, found in zip([x] * 4 + [unsigned] * 4, got, strict=True):
        with np.errstate(all="ignore"):
            through = source.astype(np.float32) if found.dtype == ml_dtypes.bfloat16 else source
            same(found, through.astype(found.dtype), f"{kind} to {found.dtype}")


FUNCTIONS = {  # op -> (reference, domain, error of the accurate form in f32 ulp or absolute)
    math.Exp: (np.exp, (-104.5, 89.5)),
    math.Exp2: (np.exp2, (-150.0, 128.5)),
    math.Log: (np.log, (1e-6, 1e6)),
    math.Log2: (np.log2, (1e-6, 1e6)),
    math.Sqrt: (np.sqrt, (0.0, 1e6)),
    math.Rsqrt: (lambda v: 1 / np.sqrt(v), (1e-6, 1e6)),
    math.Tanh: (np.tanh, (-6.0, 6.0)),
    math.Sin: (np.sin, (-3.1, 3.1)),
    math.Cos: (np.cos, (-3.1, 3.1)),
    math.Floor: (np.floor, (-50.0, 50.0)),
    math.Ceil: (np.ceil, (-50.0, 50.0)),
    math.Trunc: (np.trunc, (-50.0, 50.0)),
}


@pytest.mark.parametrize("kind", [F16, BF16, F32], ids=str)
@pytest.mark.parametrize("rounding", ["rn", "approx"])
def test_functions_are_close(kind, rounding: str) -> None:
    rng = np.random.default_rng(kind.width + 7)
    spans = list(FUNCTIONS.values())
    data = [rng.uniform(low, high, COUNT) for _, (low, high) in spans]
    if rounding == "approx" or kind == BF16:
        data[:2] = np.clip(data[0], -87, 88), np.clip(data[1], -126, 127)  # approximate forms flush subnormal results
    if kind == F16:
        data = [np.clip(d, -9, 9) if d.min() < 0 else np.clip(d, 0.01, 6e4) for d in data]
    inputs = [d.astype(DTYPES[kind]) for d in data]
    cases = [lambda k, *v, i=i, c=c: k.value(c, v[i], rounding=rounding) for i, c in enumerate(FUNCTIONS)]
    results = elementwise([kind] * len(inputs), cases, inputs)
    for (cls, (function, _)), x, got in zip(FUNCTIONS.items(), inputs, results, strict=True):
        with np.errstate(all="ignore"):
            wanted = function(x.astype(np.float64)).astype(np.float32).astype(np.float64)
        loose = rounding == "approx" and cls in (math.Tanh, math.Exp)
        relative = {16: 2e-3 if kind == F16 else 8e-3, 32: 2e-3 if loose else 4e-7}[kind.width]
        absolute = 1e-6 if cls in (math.Sin, math.Cos, math.Log, math.Log2) else 1e-44
        finite = np.isfinite(wanted.astype(DTYPES[kind]).astype(np.float64))
        error = abs(got.astype(np.float64) - wanted)[finite] - absolute
        assert (error <= relative * abs(wanted[finite])).all(), f"{cls.__name__} {kind}: {error.max()}"


def test_exp_is_accurate_and_survives_extremes() -> None:
    rng = np.random.default_rng(8)
    x = np.concatenate([
        [0.0, -0.0, np.inf, -np.inf, np.nan, 88.72, 88.73, 1000.0, -1000.0, -87.4, -103.9, -104.1],
        rng.uniform(-87.3, 88.7, 1000), rng.standard_normal(1000) * 1e-3, rng.uniform(-104, -87.4, 36),
    ]).astype(np.float32)  # fmt: skip
    (got,) = elementwise([F32], [one(math.Exp)], [x])
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype(np.longdouble))
        wanted = exact.astype(np.float32)
    assert np.isnan(got[4])
    assert got[2] == np.inf
    assert got[3] == 0
    assert got[7] == np.inf
    assert got[8] == 0
    ordinary = np.isfinite(wanted) & (wanted > 1e-37)
    ulp = np.spacing(wanted[ordinary]).astype(np.float64)
    error = abs(got[ordinary] - exact[ordinary]) / ulp
    assert error.max() <= 2, (error.max(), x[ordinary][error.argmax()])
    tiny = np.isfinite(wanted) & (wanted <= 1e-37)
    assert (abs(got[tiny] - exact[tiny]) <= 3e-45 + 2e-7 * exact[tiny]).all()


HUGE = [(-1.1e5, 1.1e5), (-1e9, 1e9), (-3e38, 3e38)]
ACCURATE = {  # op -> (reference, largest ulp error allowed, samples)
    math.Log: (np.log, 2.5, [(1e-45, 1e-37), (0.9, 1.1), (0.99999, 1.00001), (1e-3, 100), (1e30, 3e38)]),
    math.Log2: (np.log2, 2.5, [(1e-45, 1e-37), (0.9, 1.1), (0.99999, 1.00001), (1e-3, 100), (1e30, 3e38)]),
    math.Tanh: (np.tanh, 2.5, [(-0.7, 0.7), (-1e-5, 1e-5), (-4, 4), (-20, 20), (-1e30, 1e30)]),
    math.Sin: (np.sin, 2.5, [(-0.8, 0.8), (-4, 4), (-1e-6, 1e-6), (-100, 100), (-1e5, 1e5), *HUGE]),
    math.Cos: (np.cos, 2.5, [(-0.8, 0.8), (-4, 4), (-1e-6, 1e-6), (-100, 100), (-1e5, 1e5), *HUGE]),
    math.Tan: (np.tan, 4, [(-0.8, 0.8), (-4, 4), (-1e-6, 1e-6), (1.57, 1.5715), (-100, 100), (-1e5, 1e5), *HUGE]),
    math.Sinh: (np.sinh, 4, [(-1.1, 1.1), (-1e-6, 1e-6), (-10, 10), (-89.4, 89.4), (88, 89.4)]),
    math.Cosh: (np.cosh, 3, [(-1.1, 1.1), (-1e-6, 1e-6), (-10, 10), (-89.4, 89.4), (88, 89.4)]),
}


@pytest.mark.parametrize("cls", ACCURATE, ids=lambda c: c.__name__)
def test_accurate_functions(cls) -> None:
    function, limit, spans = ACCURATE[cls]
    rng = np.random.default_rng(11)
    x = np.concatenate([rng.uniform(low, high, 500) for low, high in spans]).astype(np.float32)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], np.float32)
    (got,) = elementwise([F32], [one(cls)], [np.concatenate([special, np.resize(x, 2553)])])
    with np.errstate(all="ignore"):
        same(got[:5], function(special[:5]), cls.__name__)
        exact = function(np.resize(x, 2553).astype(np.longdouble))
    error = abs(got[7:] - exact) / np.spacing(abs(exact).astype(np.float32))
    assert error.max() <= limit, (error.max(), np.resize(x, 2553)[error.argmax()])


HALVES = {
    math.Exp: np.exp, math.Exp2: np.exp2, math.Tanh: np.tanh, math.Sin: np.sin, math.Cos: np.cos, math.Tan: np.tan,
    math.Sinh: np.sinh, math.Cosh: np.cosh, math.Log: np.log, math.Log2: np.log2, math.Sqrt: np.sqrt,
    math.Rsqrt: lambda v: 1 / np.sqrt(v),
}  # fmt: skip


@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
def test_functions_of_every_16_bit_number(kind) -> None:
    """All numbers of the type: half a unit of the last place and a little, a whole one of the logarithms next to 1."""
    x = np.arange(1 << 16).astype(np.uint16).view(DTYPES[kind])
    x = np.where(np.isfinite(x.astype(np.float32)), x, DTYPES[kind](1))
    results = elementwise([kind], [one(cls) for cls in HALVES], [x])
    wide = x.astype(np.float64)
    for (cls, function), found in zip(HALVES.items(), results, strict=True):
        with np.errstate(all="ignore"):
            exact = function(wide)
            rounded = exact.astype(DTYPES[kind])
            last = np.spacing(np.abs(rounded)).astype(np.float64)
            error = abs(found.astype(np.float64) - exact) / last
        error = error[np.isfinite(rounded.astype(np.float64))]
        assert error.max() <= (1.0 if cls in (math.Log, math.Log2) else 0.6), (cls, error.max())


@pytest.mark.parametrize("kind", [F16, BF16, F32], ids=str)
def test_angles_of_any_size(kind) -> None:
    """All magnitudes of the type, of f32 those next to multiples of pi/2 too."""
    rng = np.random.default_rng(41)
    top = np.log2(float(ml_dtypes.finfo(DTYPES[kind]).max))
    x = rng.choice([-1, 1], COUNT) * np.exp2(rng.uniform(-3, top, COUNT))
    turns = np.exp2(rng.uniform(10, min(top, 50) - 1, COUNT // 2)).astype(np.int64)
    x[: COUNT // 2] = turns * (np.pi / 2)
    x = x.astype(DTYPES[kind])
    cases = {math.Sin: np.sin, math.Cos: np.cos, math.Tan: np.tan}
    wide = x.astype(np.float64)
    for (cls, function), found in zip(cases.items(), elementwise([kind], [one(c) for c in cases], [x]), strict=True):
        exact = function(wide)
        last = np.spacing(np.abs(exact.astype(DTYPES[kind]))).astype(np.float64)
        error = abs(found.astype(np.float64) - exact) / last
        assert error.max() <= (4 if kind == F32 else 0.51), (cls, x[error.argmax()], error.max())


@pytest.mark.parametrize("kind", [F16, BF16], ids=str)
def test_pairs_are_taken_apart_and_built(kind) -> None:
    rng = np.random.default_rng(9)
    x = floats(rng, kind, 2 * COUNT).reshape(-1, 2)
    pair = VectorType((2,), kind)

    def halves(k, v):
        return [k.value(vector.Extract, v, types=[kind], position=(i,)) for i in range(2)]

    def swapped(k, v):
        low, high = halves(k, v)
        return k.value(vector.FromElements, high, low, types=[pair])

    def doubled(k, v):
        _, high = halves(k, v)
        return k.value(vector.FromElements, high, k.const(1.5, kind), types=[pair])

    def rebuilt(k, v):
        parts = [k.value(arith.ExtF, h, types=[F32]) for h in halves(k, v)]
        twice = [k.value(arith.AddF, p, p) for p in parts]
        return k.value(vector.FromElements, *(k.value(arith.TruncF, t, types=[kind]) for t in twice), types=[pair])

    def scaled(k, v):
        return k.value(arith.MulF, v, k.const(0.5, pair))

    cases = [swapped, doubled, rebuilt, scaled]
    a, b, c, d = (r.reshape(-1, 2) for r in elementwise([pair], cases, [x]))
    same(a, x[:, ::-1], "swapped")
    same(b[:, 0], x[:, 1], "high half")
    assert (b[:, 1] == 1.5).all()
    with np.errstate(all="ignore"):
        same(c, (x.astype(np.float32) * 2).astype(x.dtype), "rebuilt")
        same(d, (x.astype(np.float32) / 2).astype(x.dtype), "scaled")


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("source", [F32, F64, F16, BF16], ids=str)
def test_tf32_rounds_once_each_way(source, target: str) -> None:
    """Ties, numbers next to them (closer than f32 can distinguish, from f64), specials; before sm_90 by integers."""
    rng = np.random.default_rng(12)
    ties = (1 + np.arange(256) / 2048) * np.exp2(rng.integers(-9, 9, 256))
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 3.4e38, 1e-40, -65519.0]
    x = np.concatenate([special, ties, -ties, ties * (1 + 1e-13), ties * (1 - 1e-13), rng.standard_normal(248)])
    with np.errstate(over="ignore"):
        x = x.astype(DTYPES[source])
    modes = {"rn": Rounding.NEAREST_EVEN, "rz": Rounding.ZERO, "rna": Rounding.NEAREST_AWAY}
    if source == F64:
        del modes["rna"]  # Tile IR has it from f32 only
    cls = arith.TruncF if source.width >= 32 else arith.ExtF
    found = elementwise([source], [one(cls, TF32, rounding=mode) for mode in modes], [x], target=target)
    for rounding, got in zip(modes.values(), found, strict=True):
        same(got, convert_float(x, TF32, rounding), f"{source} {rounding}")


def test_doubles_become_bf16_by_one_rounding() -> None:
    tie = 1 + np.arange(1, 128, 2) / 256
    x = np.resize(np.concatenate([tie * (1 + 1e-13), tie * (1 - 1e-13), tie]), 384)
    (got,) = elementwise([F64], [one(arith.TruncF, BF16)], [x])
    same(got, convert_float(x, BF16, Rounding.NEAREST_EVEN), "bf16")


def test_bits_pass_through_casts() -> None:
    rng = np.random.default_rng(10)
    x = floats(rng, F32, COUNT, special=False)

    def magnitude(k, v):
        word = k.value(arith.Bitcast, v, types=[I32])
        cleared = k.value(arith.AndI, word, k.const(0x7FFFFFFF))
        return k.value(arith.Bitcast, cleared, types=[F32])

    def sign_half(k, v):
        half = k.value(arith.TruncF, v, types=[F16])
        return k.value(arith.Bitcast, half, types=[I16])

    def constant(k, v):
        return k.value(arith.AddF, v, k.value(arith.Bitcast, k.const(0x3F800000), types=[F32]))

    a, b, c = elementwise([F32], [magnitude, sign_half, constant], [x])
    same(a, abs(x), "magnitude")
    assert (b == x.astype(np.float16).view(np.int16)).all()
    same(c, x + np.float32(1), "constant")


def test_rounding_modes_and_fast_forms_are_spelled() -> None:
    k = Kernel(GLOBAL_PTR, F32, F32)
    out, x, y = k.params
    made = [k.value(arith.AddF, x, y, rounding=r) for r in ("rn", "rz", "rm", "rp")]
    made.append(k.value(arith.MulF, x, y, ftz=True))
    made += [k.value(arith.DivF, x, y, rounding=r) for r in ("rn", "approx", "full")]
    made += [k.value(math.Sqrt, x, rounding="approx"), k.value(math.Exp, x, rounding="approx")]
    for i, value in enumerate(made):
        k.store(value, k.element(out, k.const(i), F32))
    text = k.ptx()
    for opcode in ("add.rn.f32", "add.rz.f32", "add.rm.f32", "add.rp.f32", "mul.rn.ftz.f32", "div.rn.f32",
                   "div.approx.f32", "div.full.f32", "sqrt.approx.f32", "ex2.approx.f32"):  # fmt: skip
        assert opcode in text, opcode


def test_what_has_no_lowering_is_refused() -> None:
    k = Kernel(GLOBAL_PTR, F8E4M3FN)
    k.store(k.value(math.Exp, k.params[1]), k.params[0])
    with pytest.raises(UnsupportedError, match=r"math\.exp on f8E4M3FN"):
        convert(k.func())


def test_float_parameters_and_constants() -> None:
    numbers = {F16: 1.5, F32: -0.1, F64: 1e100}
    k = Kernel(*[F32, F64], GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at = k.index()
    k.store(k.value(arith.MulF, k.params[0], k.const(numbers[F32], F32)), k.element(k.params[2], at, F32))
    k.store(k.value(arith.AddF, k.params[1], k.const(numbers[F64], F64)), k.element(k.params[3], at, F64))
    single, double = run(k.ptx(), 1, 32, [3.0, 2e100, np.ones(32, np.float32), np.ones(32)])
    assert (single == np.float32(3) * np.float32(-0.1)).all()
    assert (double == 2e100 + 1e100).all()


@pytest.mark.parametrize("predicate", ["ogt", "ult", "oeq", "une"])
def test_extended_halves_are_compared_with_a_half_as_such(predicate: str) -> None:
    """Two by one HSETP2, without extension; with values that are not f16, as f32."""
    numbers = [0.0, 1.5, 6e-8, 65504.0, 0.1, 65520.0]
    k = Kernel(*[GLOBAL_PTR] * 2, threads=64)
    at = k.index()
    x = k.value(arith.ExtF, k.load(k.element(k.params[0], at, F16), F16), types=[F32])
    for place, number in enumerate(numbers):
        found = k.value(arith.CmpF, x, k.const(number, F32), types=[I1], predicate=predicate)
        spot = k.value(arith.AddI, at, k.const(64 * place), nsw=True)
        k.store(k.value(arith.ExtUI, found, types=[I32]), k.element(k.params[1], spot, I32))
    text = k.ptx()
    assert text.count("setp.") == len(numbers)
    assert len(re.findall(r"setp\.\w+\.f32", text)) == 3  # 6e-8, 0.1, 65520
    given = np.resize(np.array([0, -0.0, 1.5, 1.501, np.inf, -np.inf, np.nan, 6e-8, 65504, 0.1, -2], np.float16), 64)
    _, got = run(text, 1, 64, [given, np.zeros((len(numbers), 64), np.int32)], k.smem)
    wide, bounds = given.astype(np.float32), np.array(numbers, np.float32)[:, None]
    with np.errstate(invalid="ignore"):
        wanted = {"ogt": wide > bounds, "ult": ~(wide >= bounds), "oeq": wide == bounds, "une": wide != bounds}
    np.testing.assert_array_equal(got, wanted[predicate])


def turned() -> str:
    """What a rotation does to two halves: a c - b s and b c + a s, as cuTile exports it."""
    w = Writer("turned", **dict.fromkeys("abcs", "ptr<f16>"), x="ptr<f32>", y="ptr<f32>")
    w.promise(**dict.fromkeys((*"abcs", "x", "y"), 16))
    a, b, c, s = (w.load(w.view(getattr(w, name), [1024], [1], [1024]), 0).to("f32") for name in "abcs")
    first = w.op(ct.Fma, a, c, w.op(ct.NegF, b * s))
    second = w.op(ct.Fma, b, c, a * s)
    for array, made in ((w.x, first), (w.y, second)):
        w.store(made, w.view(array, [1024], [1], [1024]), 0)
    return w.text()


def test_a_number_and_its_negation_are_widened_once() -> None:
    """Arithmetic negates operands by itself, so the second conversion would be an instruction more."""

    def arguments() -> list[Any]:
        halves = [random((1024,), "f16", seed) for seed in range(4)]
        halves[1][:4], halves[3][:4] = [0.0, -0.0, np.inf, 6e-8], [1.0, 2.0, 3.0, -1.0]
        return [*halves, random((1024,), "f32", 5), random((1024,), "f32", 6)]

    kernel = check(Program("turned", turned, arguments, tolerance=0.0), "sm_80")
    assert kernel.ptx.count("cvt.f32.f16") == 4 * 1024 // kernel.manifest["block"][0]
