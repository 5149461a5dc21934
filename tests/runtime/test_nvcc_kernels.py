"""PTX that nvcc made of ordinary CUDA kernels (data/nvcc/kernels.cu), each against NumPy."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, Report, launch

PTX = (Path(__file__).parent / "data" / "nvcc" / "kernels.ptx").read_text()


class Kernel:
    """One launch: arrays become addresses, and come back by their position."""

    def __init__(
        self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *args: object, shared: int = 0
    ) -> None:
        self.memory = GlobalMemory()
        self.arrays = {n: a for n, a in enumerate(args) if isinstance(a, np.ndarray)}
        self.addresses = {n: self.memory.put(a) for n, a in self.arrays.items()}
        values = [self.addresses.get(n, a) for n, a in enumerate(args)]
        self.report: Report = launch(PTX, grid, block, values, self.memory, dynamic_smem=shared, entry=name)

    def __getitem__(self, position: int) -> np.ndarray:
        array = self.arrays[position]
        return self.memory.get(self.addresses[position], array.shape, array.dtype)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(42)


def test_saxpy(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 1000), np.float32)
    kernel = Kernel("saxpy", (8,), (128,), 1000, 1.5, x, y)
    np.testing.assert_array_equal(kernel[3], (1.5 * x.astype(np.float64) + y).astype(np.float32))


def test_softmax(rng: np.random.Generator) -> None:
    x = rng.standard_normal((9, 300), np.float32) * 3
    kernel = Kernel("softmax", (9,), (128,), x, np.zeros_like(x), 300)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(kernel[1], e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-9)


def test_tiled_gemm_with_ragged_edges(rng: np.random.Generator) -> None:
    m, n, k = 37, 50, 41
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    kernel = Kernel("tiled", (4, 3), (16, 16), a, b, np.zeros((m, n), np.float32), m, n, k, shared=2048)
    np.testing.assert_allclose(kernel[2], a.astype(np.float64) @ b, atol=2e-5)


def test_histogram_with_shared_and_global_atomics(rng: np.random.Generator) -> None:
    data = (rng.standard_normal(5000) * 20 + 100).astype(np.uint8)
    kernel = Kernel("histogram", (5,), (192,), data, data.size, np.zeros(256, np.uint32))
    np.testing.assert_array_equal(kernel[2], np.bincount(data, minlength=256))


def test_divergent_loops(rng: np.random.Generator) -> None:
    x = rng.integers(1, 5000, 300).astype(np.uint64)
    kernel = Kernel("collatz", (3,), (128,), x, np.zeros(300, np.uint32), 300)

    def steps(v: int) -> int:
        count = 0
        while v != 1:
            v = 3 * v + 1 if v % 2 else v // 2
            count += 1
        return count

    np.testing.assert_array_equal(kernel[1], [steps(int(v)) for v in x])


def test_switch_constants_and_globals(rng: np.random.Generator) -> None:
    x = rng.integers(0, 64, 200).astype(np.int32)
    kernel = Kernel("dispatch", (2,), (128,), x, np.zeros(200, np.float32), 200)
    table = np.array([0.5, 1.5, -2.0, 3.25, 4.0, -5.0, 6.5, 7.0], np.float32)
    i, v = np.arange(200), table[x & 7]
    flipped = (v.view(np.int32) ^ 0x400000).view(np.float32)
    choices = [
        v * v + i, np.sqrt(np.abs(v)), v / (i + 1), np.floor(v) + 10 * (1 + (i & 3)), np.minimum(v, i), np.abs(v) * 3,
        v.astype(np.int32) << (i & 7), flipped,
    ]  # fmt: skip
    np.testing.assert_allclose(kernel[1], np.choose(x & 7, choices), rtol=1e-6)


def test_local_arrays_and_generic_pointers(rng: np.random.Generator) -> None:
    x = rng.standard_normal(64 * 16, np.float32)
    index = rng.integers(0, 32, 64).astype(np.int32)
    kernel = Kernel("permute", (1,), (64,), x, index, np.zeros(64, np.float32))
    expected = []
    for i in range(64):
        values = {(j * 7 + i) & 15: x[i * 16 + j] for j in range(16)}
        expected.append(x[index[i] & 15] if index[i] & 16 else values[index[i] & 15])
    np.testing.assert_array_equal(kernel[2], expected)


def test_half_and_bfloat_arithmetic(rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal(400).astype(np.float16) for _ in range(2))
    d = rng.standard_normal(200).astype(ml_dtypes.bfloat16)
    kernel = Kernel("halves", (2,), (128,), a, b, np.zeros_like(a), d, np.zeros(200, np.float32), 200)
    total = (a + b).astype(np.float16)
    v = np.maximum((a.astype(np.float64) * b + total).astype(np.float16), a * a)
    np.testing.assert_array_equal(kernel[2], v)
    f = d.astype(np.float32)
    expected = (f.astype(np.float64) * f + v[0::2]).astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(kernel[4], expected)


def test_integer_division_and_bit_tricks(rng: np.random.Generator) -> None:
    a = rng.integers(-(2**63), 2**63, 150) >> rng.integers(0, 60, 150)
    b = rng.integers(-(2**63), 2**63, 150) >> rng.integers(0, 60, 150)
    b[b == 0] = 3
    found = Kernel("integers", (2,), (128,), a, b, np.zeros((150, 5), np.int64), 150)[2]
    for x, y, row in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        assert row[0] == quotient
        assert row[1] == x - quotient * y
        assert row[2] == (x * y) >> 64


def test_doubles(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 180))
    found = Kernel("doubles", (2,), (96,), a, b, np.zeros(180), 180)[2]
    np.testing.assert_allclose(found, np.sqrt(a * a + 1) / b + np.exp(-np.abs(a)), rtol=4e-15)


def test_votes_and_block_reductions(rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 96).astype(np.int32)
    found = Kernel("votes", (1,), (96,), x, np.zeros((96, 8), np.uint32), 96)[1]
    for warp in range(3):
        v = x[32 * warp : 32 * warp + 32]
        rows = found[32 * warp : 32 * warp + 32]

        def bits(truth: np.ndarray) -> int:
            return sum(1 << n for n in np.flatnonzero(truth))

        np.testing.assert_array_equal(rows[:, 0], bits(v > 0))
        np.testing.assert_array_equal(rows[:, 1], int((v > 90).any()) + 2 * int((v > -90).all()))
        np.testing.assert_array_equal(rows[:, 2], [bits((v & 3) == (w & 3)) for w in v])
        np.testing.assert_array_equal(rows[:, 3].view(np.int32), v.sum())
        np.testing.assert_array_equal(rows[:, 4], (x > 10).sum())
        np.testing.assert_array_equal(rows[:, 5], int((x == 17).any()) + 2 * int((x < 1000).all()))
        odd = (v & 1) == 1
        np.testing.assert_array_equal(rows[:, 6], np.where(odd, bits(odd & ((v & 2) != 0)), 0xFFFFFFFF))
        lane = np.arange(32)
        up = np.where(lane % 8 >= 3, v[np.maximum(lane - 3, 0)], v)
        index = v[lane // 16 * 16 + (32 * warp + lane) * 5 % 16]
        np.testing.assert_array_equal(rows[:, 7].view(np.int32), up + index)


def test_last_block_reduces_with_fences(rng: np.random.Generator) -> None:
    x = rng.standard_normal(3000, np.float32)
    kernel = Kernel("lastblock", (7,), (128,), x, np.zeros(7, np.float32), np.zeros(1, np.float32), 3000)
    np.testing.assert_allclose(kernel[2][0], x.astype(np.float64).sum(), atol=1e-3)


def test_spin_lock_gives_way_to_its_holder() -> None:
    kernel = Kernel("locked", (2,), (32,), np.zeros(1, np.int32), 2)
    assert kernel[0][0] == 2 * 32 * 2


@pytest.mark.parametrize("extent", [64, 128])
def test_tensor_core_gemm(rng: np.random.Generator, extent: int) -> None:
    m, n, k = extent, 128, 96
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((n, k)).astype(np.float16)
    kernel = Kernel("gemm", (n // 64, m // 64), (128,), a, b, np.zeros((m, n), np.float32), m, n, k)
    np.testing.assert_allclose(kernel[2], a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)
    lines = PTX.splitlines()
    loads = [line for line in kernel.report.bank_conflicts if "ldmatrix" in lines[line - 1]]
    # rows are 80 bytes apart, which keeps ldmatrix free of conflicts but not the copies of two 64-byte rows at once
    assert sum(kernel.report.bank_conflicts[line] for line in loads) == 0
    warps = 4 * (n // 64) * (m // 64)
    assert sum(kernel.report.bank_conflicts.values()) == warps * 4 * 2 * 2 * (k // 32)
