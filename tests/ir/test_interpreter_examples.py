"""Every example, as text and as exported bytecode, computes what plain NumPy computes."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ir.bytecode import read_bytecode
from ir.interpreter import run
from ir.text import parse

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data/bytecode"
VERSIONS = ("13.1", "13.2", "13.3", "13.4")
FORMS = ("text", *VERSIONS)


def load(name, form):
    if form == "text":
        path = ROOT / "examples" / f"{name}.mlir"
        return parse(path.read_text(), str(path))
    path = DATA / f"{name}.{form}.tileirbc"
    return read_bytecode(path.read_bytes(), str(path))


def padded(rng, rows, columns, dtype, multiple):
    """A matrix in a buffer whose row pitch is a multiple of `multiple` elements, NaN between the rows."""
    pitch = -(-columns // multiple) * multiple
    buffer = np.full((rows, pitch), np.nan, dtype)
    buffer[:, :columns] = rng.standard_normal((rows, columns))
    return buffer


def cutile(buffer, *sizes):
    """An array argument as cuTile passes it: pointer, sizes, strides in elements."""
    strides = [s // buffer.itemsize for s in buffer.strides]
    return [buffer, *(sizes or buffer.shape), *strides]


def near(found, wanted, tolerance):
    scale = np.maximum(np.abs(wanted), 1)
    np.testing.assert_array_less(np.abs(found - wanted) / scale, tolerance)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [1024, 1500])
@pytest.mark.parametrize("kind", ["ptr", "view"])
def test_vecadd(kind, n, form):
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    c = np.full(n + 8, 7, np.float32)
    name = f"vecadd_{kind}"
    args = [a, b, c, n] if form == "text" else [*cutile(a), *cutile(b), *cutile(c, n)]
    run(load(name, form), (-(-n // 1024),), args)
    np.testing.assert_array_equal(c[:n], a + b)
    np.testing.assert_array_equal(c[n:], 7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 256, 128), (200, 136, 72), (65, 32, 8)])
def test_gemm(m, n, k, form):
    rng = np.random.default_rng(m)
    a, b = padded(rng, m, k, np.float16, 8), padded(rng, n, k, np.float16, 8)
    c, d = padded(rng, m, n, np.float32, 4), padded(rng, m, n, np.float32, 4)
    if form == "text":
        args = [a, b, c, d, m, n, k, a.shape[1], b.shape[1], c.shape[1], d.shape[1]]
    else:
        args = [*cutile(a, m, k), *cutile(b, n, k), *cutile(c, m, n), *cutile(d, m, n)]
    run(load("gemm", form), (-(-m // 128), -(-n // 128)), args)
    wanted = a[:, :k].astype(np.float64) @ b[:, :k].T.astype(np.float64) + c[:, :n]
    near(d[:, :n], wanted, 1e-5)
    assert np.isnan(d[:, n:]).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 64), (200, 136, 72)])
def test_gemm_negated(m, n, k, form):
    rng = np.random.default_rng(k)
    a, b, d = (padded(rng, r, c, t, p) for r, c, t, p in
               ((m, k, np.float16, 8), (n, k, np.float16, 8), (m, n, np.float32, 4)))  # fmt: skip
    s = rng.standard_normal(k).astype(np.float16)
    if form == "text":
        args = [a, b, s, d, m, n, k, a.shape[1], b.shape[1], d.shape[1]]
    else:
        args = [*cutile(a, m, k), *cutile(b, n, k), *cutile(s), *cutile(d, m, n)]
    run(load("gemm_negated", form), (-(-m // 128), -(-n // 128)), args)
    scaled = (a[:, :k] * -s).astype(np.float64)
    near(d[:, :n], scaled @ b[:, :k].T.astype(np.float64), 1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("m", "n"), [(3, 1024), (5, 999), (2, 1)])
def test_softmax(m, n, form):
    rng = np.random.default_rng(n)
    x, y = padded(rng, m, n, np.float32, 4) * 8, padded(rng, m, n, np.float32, 4)
    args = [x, y, m, n, x.shape[1], y.shape[1]] if form == "text" else [*cutile(x, m, n), *cutile(y, m, n)]
    run(load("softmax", form), (m,), args)
    wide = x[:, :n].astype(np.float64)
    power = np.exp(wide - wide.max(axis=1, keepdims=True))
    near(y[:, :n], power / power.sum(axis=1, keepdims=True), 1e-5)
    assert np.isnan(y[:, n:]).all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("m", "n"), [(2, 2048), (3, 1500), (2, 77)])
def test_layernorm(m, n, form):
    rng = np.random.default_rng(n)
    x, y = padded(rng, m, n, np.float32, 4) * 3 + 1, padded(rng, m, n, np.float32, 4)
    weight, bias = rng.standard_normal((2, n)).astype(np.float32)
    eps = 1e-3
    if form == "text":
        args = [x, weight, bias, y, m, n, x.shape[1], y.shape[1], eps]
    else:
        args = [*cutile(x, m, n), *cutile(weight), *cutile(bias), *cutile(y, m, n), eps]
    run(load("layernorm", form), (m,), args)
    wide = x[:, :n].astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * weight + bias
    near(y[:, :n], wanted, 1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_float_operations(version):
    t = np.random.default_rng(1).standard_normal(64).astype(np.float32)
    y = np.zeros(64, np.float32)
    run(load("floats", version), (1,), [*cutile(t), *cutile(y)])
    w = t.astype(np.float64)
    u = np.where(w > 0.5, np.exp(-w), np.log(np.abs(w) + 1))
    u += np.sqrt(np.abs(w)) + np.tanh(w) + 1 / np.sqrt(w * w + 1) + np.exp2(w) + np.log2(w * w + 2)
    u = np.maximum(u, np.minimum(w, 0.25)) + np.floor(w) - np.ceil(w * 0.5) + np.sin(w) * np.cos(w)
    wanted = (u / 3).astype(np.float16).astype(np.float64) + t.astype(ml_dtypes.bfloat16).astype(np.float64)
    np.testing.assert_allclose(y, wanted, rtol=2e-3)


@pytest.mark.parametrize("version", VERSIONS)
def test_integer_operations(version):
    t = np.random.default_rng(2).integers(-5000, 5000, 64).astype(np.int32)
    t[:3] = 0, -1, 7
    y = np.zeros(64, np.int32)
    run(load("integers", version), (1,), [*cutile(t), *cutile(y)])
    u = (t // 7) + (t % 5) * 3 - (t >> 2) + (t << 3)
    u = u ^ (t & 0x55) | (t * t)
    u = np.minimum(np.maximum(u, -1000), 100000) + -(-t // 3)
    u = u + (t.astype(np.int64) * 3 + np.arange(64)).astype(np.int32) + np.trunc(t * 0.5).astype(np.int32)
    np.testing.assert_array_equal(y, np.where(u == 4, -u, u))


@pytest.mark.parametrize("version", VERSIONS)
def test_control_flow_and_reductions(version):
    x = np.random.default_rng(3).standard_normal(64).astype(np.float32)
    y = np.array([0, 0, 0, 40], np.int32)
    run(load("control", version), (2,), [*cutile(x), *cutile(y), 20])
    total = int(np.cumsum(x[::-1].astype(np.float64)).sum())
    assert y[0] == pytest.approx(total, abs=1)
    assert y[1:].tolist() == [x.argmax(), sum(range(8)), 42]


@pytest.mark.parametrize("version", VERSIONS)
def test_shapes_gathers_and_batched_products(version):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((16, 16)).astype(ml_dtypes.bfloat16)
    y = np.zeros((32, 16), np.float32)
    run(load("shapes", version), (1,), [*cutile(x), *cutile(y)])
    t = x.T.astype(np.float64)
    near(y[:16], t @ t.T, 1e-5)  # tile = xᵀ; cat((tile, tileᵀ))[16:] = tileᵀ
    np.testing.assert_array_equal(y[16:], np.where(np.tri(16, dtype=bool), 2, x.astype(np.float32)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("heads", "m", "n"), [(1, 128, 128), (2, 150, 70)])
def test_flash_attention(heads, m, n, form):
    rng = np.random.default_rng(n)
    q, k, v, out = (rng.standard_normal((heads, rows, 64)).astype(np.float16) for rows in (m, n, n, m))
    arrays, scale = (q, k, v, out), np.float32(0.25)
    args = (
        [*arrays, heads, m, n, *[64] * 4, scale] if form == "text" else [*(x for a in arrays for x in cutile(a)), scale]
    )
    run(load("flash_attention", form), (-(-m // 128), heads), args)
    score = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * scale
    power = np.exp(score - score.max(-1, keepdims=True))
    near(out, power / power.sum(-1, keepdims=True) @ v.astype(np.float64), 1e-3)
