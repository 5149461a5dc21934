"""PTX that Triton made of the kernels in tests/runtime/triton for four architectures, each against NumPy."""

import math

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, launch
from tests.runtime.triton_launch import METADATA, Described, Launched, ptx_of


def _vector_add(name: str, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 2500), np.float32)
    found = Launched(name, (3,), x, y, np.zeros_like(x), x.size)[2]
    np.testing.assert_array_equal(found, x + y)


def _softmax(name: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((9, 400), np.float32) * 4
    found = Launched(name, (9,), x, np.zeros_like(x), 387, 400)[1][:, :387]
    powers = np.exp(x[:, :387].astype(np.float64) - x[:, :387].max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True), rtol=2e-5, atol=1e-9)


def _layer_norm(name: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((7, 656)) * 2 + 1).astype(np.float16)
    scale, shift = rng.standard_normal((2, 656), np.float32)
    run = Launched(name, (7,), x, scale, shift, np.zeros_like(x), np.zeros(7, np.float32), 656, 1e-5)
    wide = x.astype(np.float64)
    mean = wide.mean(axis=1, keepdims=True)
    expected = (wide - mean) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5) * scale + shift
    np.testing.assert_allclose(run[4], mean[:, 0], atol=1e-5)
    np.testing.assert_allclose(run[3], expected, atol=8e-3)


def philox(seed: int, numbers: np.ndarray) -> np.ndarray:
    """The first word of Philox 4x32-10 at counters (number, 0, 0, 0); Salmon et al., "Parallel random numbers"."""
    low = np.uint64(0xFFFFFFFF)
    key = [seed & 0xFFFFFFFF, seed >> 32]
    words = [numbers.astype(np.uint64), *(np.zeros(numbers.size, np.uint64) for _ in range(3))]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> np.uint64(32)) ^ words[1] ^ np.uint64(key[0]), second & low,
            (first >> np.uint64(32)) ^ words[3] ^ np.uint64(key[1]), first & low,
        ]  # fmt: skip
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words[0].astype(np.uint32)


def _dropout(name: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(1300, np.float32)
    run = Launched(name, (3,), x, np.zeros_like(x), np.zeros_like(x), x.size, 0.7, 123)
    word = philox(123, np.arange(x.size)).view(np.int32)
    random = np.where(word < 0, -word - 1, word).astype(np.float32) * np.float32(4.6566127342e-10)
    np.testing.assert_allclose(run[2], random, rtol=1e-6)
    kept = run[2] < np.float32(0.7)
    assert 0.65 < kept.mean() < 0.75
    np.testing.assert_allclose(run[1], np.where(kept, x / np.float32(0.7), 0), rtol=1e-6)


def _transpose(name: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((144, 80)).astype(np.float16 if "f16" in name else np.float32)
    found = Launched(name, (3, 3), x, np.zeros((80, 144), x.dtype), 144, 80)[1]
    np.testing.assert_array_equal(found, x.T)


def _scan(name: str, rng: np.random.Generator) -> None:
    x = rng.integers(-1000, 1000, (3, 450)).astype(np.int32)
    gate = rng.uniform(-1, 1, (3, 450)).astype(np.float32)
    run = Launched(name, (3,), x, gate, np.zeros_like(x), np.zeros_like(gate), 450)
    np.testing.assert_array_equal(run[2], np.cumsum(x, axis=1))
    state, states = np.zeros(3), []
    for column in range(450):
        state = state * gate[:, column] + x[:, column]
        states.append(state)
    np.testing.assert_allclose(run[3], np.stack(states, axis=1), rtol=1e-4, atol=2e-2)


def _histogram(name: str, rng: np.random.Generator) -> None:
    x = np.clip(rng.normal(30, 8, 1900), 3, 60).astype(np.int32)
    extremes = np.array([-1, 1000], np.int32)
    run = Launched(name, (4,), x, np.zeros(128, np.int32), extremes, x.size)
    np.testing.assert_array_equal(run[1].reshape(2, 64), np.tile(np.bincount(x, minlength=64), (2, 1)))
    np.testing.assert_array_equal(run[2], [x.max(), x.min()])


def _sort_rows(name: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((5, 256), np.float32)
    run = Launched(name, (5,), x, np.zeros_like(x), np.zeros(5, np.int32))
    np.testing.assert_array_equal(run[1], np.sort(x, axis=1))
    np.testing.assert_array_equal(run[2], np.argmax(x, axis=1))


def _narrow_floats(name: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal(1000) * 2.0 ** rng.integers(-18, 6, 1000)).astype(np.float32)
    run = Launched(
        name, (2,), x, np.zeros(1000, ml_dtypes.float8_e5m2), np.zeros(1000, ml_dtypes.bfloat16), np.zeros_like(x), 1000
    )
    small = x.astype(ml_dtypes.float8_e5m2)
    np.testing.assert_array_equal(run[1].view(np.uint8), small.view(np.uint8))
    wide = x.astype(np.float64)
    np.testing.assert_allclose(run[2].astype(np.float64), wide / (1 + np.exp(-wide)), rtol=2**-8, atol=1e-30)
    expected = small.astype(np.float64) + np.sin(wide) * np.log(np.abs(wide) + 1) + np.vectorize(math.erf)(wide)
    np.testing.assert_allclose(run[3], expected, rtol=1e-5, atol=1e-5)


def _integers(name: str, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-(2**63), 2**63, 500) >> rng.integers(0, 60, 500) for _ in range(2))
    b[b == 0] = 7
    found = Launched(name, (2,), a, b, np.zeros_like(a), 500)[2]

    def divide(x: int, y: int) -> int:
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    for x, y, value in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        narrow_x, narrow_y = (int(v) for v in np.array([x, y], np.int64).astype(np.int32))
        narrow = divide(narrow_x, narrow_y | 1)
        high = (x % 2**32) * (y % 2**32) >> 32
        quotient = divide(x, y)
        expected = quotient ^ ((x - quotient * y) << 3) ^ narrow ^ (high << 7)
        assert (expected - value) % 2**64 == 0


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


def _gemm_pointers(name: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((200, 224)).astype(np.float16), rng.standard_normal((224, 144)).astype(np.float16)
    found = Launched(name, (2, 2), a, b, np.zeros((200, 144), np.float32), 200, 144, 224)[2]
    np.testing.assert_allclose(found, product(a, b), atol=3e-4)


def _gemm_ragged(name: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((75, 50)).astype(np.float16), rng.standard_normal((50, 90)).astype(np.float16)
    found = Launched(name, (2, 2), a, b, np.zeros((75, 90), np.float32), 75, 90, 50)[2]
    np.testing.assert_allclose(found, product(a, b), atol=1e-4)


def _gemm_tf32(name: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((64, 96), np.float32), rng.standard_normal((96, 128), np.float32)
    found = Launched(name, (1, 2), a, b, np.zeros((64, 128), np.float32), 64, 128, 96)[2]
    np.testing.assert_allclose(found, product(a, b), atol=0.05)
    assert np.abs(found - product(a, b)).max() > 1e-4  # really tf32, not f32


def _gemm_described(name: str, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal((rows, 224)).astype(np.float16) for rows in (256, 128))
    c = np.zeros((256, 128), np.float16)
    arrays = [Described(a, (128, 64)), Described(b, (128, 64)), Described(c, (128, 128))]
    found = Launched(name, (2, 1), *arrays, 224)[2]
    np.testing.assert_allclose(found, product(a, b.T), atol=0.05, rtol=1e-3)


def _gemm_device_descriptors(name: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((128, 192)).astype(np.float16), rng.standard_normal((192, 256)).astype(np.float16)
    found = Launched(name, (1, 2), a, b, np.zeros((128, 256), np.float16), 128, 256, 192)[2]
    np.testing.assert_allclose(found, product(a, b), atol=0.05, rtol=1e-3)


def _gemm_fp8(name: str, rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal((rows, 256)).astype(ml_dtypes.float8_e4m3fn) for rows in (128, 256))
    found = Launched(name, (1, 2), a, b, np.zeros((128, 256), np.float32), 128, 256, 256, 0.25)[2]
    np.testing.assert_allclose(found, 0.25 * product(a, b.T), atol=2e-3)


def _gemm_int8(name: str, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-128, 128, (rows, 192)).astype(np.int8) for rows in (128, 256))
    found = Launched(name, (1, 2), a, b, np.zeros((128, 256), np.int32), 256, 192)[2]
    np.testing.assert_array_equal(found, product(a, b.T))


def _gemm_block_scaled(name: str, rng: np.random.Generator) -> None:
    k = 256
    a, b = (rng.standard_normal((rows, k)).astype(ml_dtypes.float8_e4m3fn) for rows in (128, 128))
    a_scale, b_scale = (rng.integers(124, 131, (128, k // 32)).astype(np.uint8) for _ in range(2))
    found = Launched(name, (1, 1), a, a_scale, b, b_scale, np.zeros((128, 128), np.float32), 128, k)[4]

    def scaled(values: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return values.astype(np.float64) * np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=1)

    np.testing.assert_allclose(found, scaled(a, a_scale) @ scaled(b, b_scale).T, atol=5e-3)


def _grouped_gemm(name: str, rng: np.random.Generator) -> None:
    shapes = np.array([[70, 64, 40], [64, 130, 33], [20, 30, 100]], np.int32)
    run = GroupedLaunch(name, shapes, rng)
    for a, b, c in zip(run.a, run.b, run.results(), strict=True):
        np.testing.assert_allclose(c, product(a, b), atol=2e-4)


class GroupedLaunch:
    """The products lie behind addresses in a table."""

    def __init__(self, name: str, shapes: np.ndarray, rng: np.random.Generator) -> None:
        self.memory = GlobalMemory()
        self.a = [rng.standard_normal((m, k)).astype(np.float16) for m, _, k in shapes]
        self.b = [rng.standard_normal((k, n)).astype(np.float16) for _, n, k in shapes]
        self.c = [(self.memory.alloc(4 * m * n), (m, n)) for m, n, _ in shapes.tolist()]
        rows = zip(self.a, self.b, self.c, strict=True)
        table = np.array([[self.memory.put(a), self.memory.put(b), c[0]] for a, b, c in rows], np.int64)
        args = [self.memory.put(table), self.memory.put(shapes), len(shapes), 0, 0]
        facts = METADATA[name]
        launch(
            ptx_of(name), (6,), (facts["threads"],), args, self.memory, dynamic_smem=facts["shared"],
            hazards=Launched.hazards,
        )  # fmt: skip

    def results(self) -> list[np.ndarray]:
        return [self.memory.get(address, shape, np.float32) for address, shape in self.c]


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, is_causal: bool) -> np.ndarray:
    score = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / math.sqrt(q.shape[-1])
    if is_causal:
        score = np.where(np.tri(q.shape[1], dtype=np.bool_), score, -np.inf)
    powers = np.exp(score - score.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ v.astype(np.float64)


def _attention(name: str, rng: np.random.Generator) -> None:
    is_causal = "causal" in name
    length = 200
    q, k, v = (rng.standard_normal((2, length, 64)).astype(np.float16) for _ in range(3))
    out = np.zeros(q.shape, np.float32)
    rows = 128 if is_causal else 64
    factor = math.log2(math.e) / math.sqrt(64)
    found = Launched(name, (-(-length // rows), 2), q, k, v, out, length, factor)[3]
    np.testing.assert_allclose(found, attention(q, k, v, is_causal), atol=3e-3)


CHECKS = {
    "vector_add": _vector_add, "softmax": _softmax, "layer_norm": _layer_norm, "dropout": _dropout,
    "transpose": _transpose, "transpose_f16": _transpose, "scan": _scan, "histogram": _histogram,
    "sort_rows": _sort_rows, "narrow_floats": _narrow_floats, "integers": _integers, "gemm_pointers": _gemm_pointers,
    "gemm_ragged": _gemm_ragged, "gemm_f32": _gemm_tf32, "gemm_descriptors": _gemm_described,
    "gemm_specialised": _gemm_described, "gemm_device_descriptors": _gemm_device_descriptors, "gemm_fp8": _gemm_fp8,
    "gemm_int8": _gemm_int8, "gemm_block_scaled": _gemm_block_scaled, "grouped_gemm": _grouped_gemm,
    "attention": _attention, "attention_causal": _attention,
}  # fmt: skip
# In these Triton 3.9 uses results of tcgen05.ld before the tcgen05.wait::ld, against the PTX ISA ("tcgen05.wait").
READS_BEFORE_WAIT = {
    "gemm_descriptors.sm_100", "gemm_device_descriptors.sm_100", "gemm_fp8.sm_100", "attention.sm_100",
    "attention_causal.sm_100",
}  # fmt: skip


def _check(name: str) -> None:
    CHECKS[name.split(".")[0]](name, np.random.default_rng(len(name)))


@pytest.mark.sampled(22)
@pytest.mark.parametrize("name", METADATA)
def test_equals_numpy(name: str) -> None:
    _check(name)


def _hazard_cases() -> list[object]:
    names = sorted(set(METADATA) - READS_BEFORE_WAIT)
    return [pytest.param(name, marks=() if name.endswith(".sm_90") else pytest.mark.slow) for name in names]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", _hazard_cases())
def test_is_free_of_hazards(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launched, "hazards", True)
    _check(name)


@pytest.mark.parametrize("name", sorted(READS_BEFORE_WAIT))
def test_reads_before_the_wait_are_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launched, "hazards", True)
    with pytest.raises(HazardError, match=r"in flight; tcgen05.wait::ld must come first"):
        _check(name)
