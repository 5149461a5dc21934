"""PTX that nvcc made of kernels with calls, recursion, local memory, printf, doubles (data/nvcc/functions.cu)."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ptxsim import GlobalMemory, OutOfBoundsError, Report, TrapError, launch
from tests.runtime import rational

PTX = (Path(__file__).parent / "data" / "nvcc" / "functions.ptx").read_text()


class Kernel:
    """One launch: arrays become addresses, and come back by their position."""

    def __init__(self, name: str, blocks: int, threads: int, *args: object, ptx: str = PTX) -> None:
        self.memory = GlobalMemory()
        self.arrays = {n: a for n, a in enumerate(args) if isinstance(a, np.ndarray)}
        self.addresses = {n: self.memory.put(a) for n, a in self.arrays.items()}
        values = [self.addresses.get(n, a) for n, a in enumerate(args)]
        self.report: Report = launch(ptx, (blocks,), (threads,), values, self.memory, entry=name, hazards=True)

    def __getitem__(self, position: int) -> np.ndarray:
        array = self.arrays[position]
        return self.memory.get(self.addresses[position], array.shape, array.dtype)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2024)


def test_nested_calls_in_divergent_code(rng: np.random.Generator) -> None:
    n = 150
    x = rng.uniform(-1.5, 1.5, n).astype(np.float32)
    run = Kernel("nested", 3, 64, x, np.zeros(n, np.float32), np.zeros(n), np.zeros(n, np.int64), n)

    def weigh(value: float, power: int) -> tuple[float, float]:
        return value**power + 0.5, value**power

    for i in range(n):
        value = float(x[i])
        if i % 5 < 2:
            result, scratch = weigh(value, i % 4)
        else:
            inner, first = weigh(value, 2)
            outer, second = weigh(inner, 1)
            result, scratch = 2 * outer, first + second
        steps = range(i % 7)
        total = 0.25 + sum(float(x[(i + j) % n]) for j in steps) + (steps[-1] if steps else -1)
        np.testing.assert_allclose(run[1][i], result + scratch, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(run[2][i], total, rtol=1e-14)
        assert run[3][i] == sum(j % 3 == 0 for j in steps)


def test_recursion_keeps_registers_and_frames_of_every_depth(rng: np.random.Generator) -> None:
    n = rng.integers(0, 12, 64).astype(np.int32)
    run = Kernel("recursive", 1, 64, n, np.zeros_like(n), np.zeros_like(n), np.zeros_like(n))
    fibonacci = [0, 1]
    while len(fibonacci) < 12:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])

    def deepest(above: list[int], depth: int, limit: int) -> int:
        mine = [above[j] + depth * (j + 1) for j in range(4)]
        return (deepest(mine, depth + 1, limit) if depth < limit else 0) + mine[depth & 3]

    np.testing.assert_array_equal(run[1], [fibonacci[v] for v in n])
    np.testing.assert_array_equal(run[2], [10 * (v % 2 == 0) + ((v + 1) % 2) for v in n])
    np.testing.assert_array_equal(run[3], [deepest([0] * 4, 0, v % 6) for v in n])


def test_recursion_without_end_is_a_located_error() -> None:
    n = np.full(32, 10**6, np.int32)
    with pytest.raises(OutOfBoundsError, match=r"thread \(0,0,0\) .* bytes of stack; \d+ are simulated") as caught:
        Kernel("recursive", 1, 32, n, np.zeros_like(n), np.zeros_like(n), np.zeros_like(n))
    assert "call" in (caught.value.text or "")


def test_calls_through_pointers_and_virtual_functions(rng: np.random.Generator) -> None:
    a, b = rng.integers(-1000, 1000, (2, 100)).astype(np.int32)
    which = rng.integers(0, 3, 100).astype(np.int32)
    run = Kernel("pointers", 2, 64, a, b, which, np.zeros_like(a), np.zeros(100), 100)
    np.testing.assert_array_equal(run[3], np.choose(which, [a + b, a * b, (a << 3) ^ (b + 7)]))
    side, radius = 0.5 + (a & 15), 0.25 + (b & 15)
    np.testing.assert_array_equal(run[4], np.where(which == 1, side * side, 3.0 * radius * radius))


def test_a_call_to_no_function_is_a_located_error() -> None:
    a = np.ones(1, np.int32)
    broken = (
        PTX.replace("{generic(", "{0, generic(", 1)
        if "{generic(" in PTX
        else PTX.replace("= {_Z4plus", "= {0, _Z4plus", 1)
    )
    assert broken != PTX
    with pytest.raises(OutOfBoundsError, match="calls 0x0, which is not a function"):
        Kernel("pointers", 1, 1, a, a, np.zeros(1, np.int32), a, np.zeros(1), 1, ptx=broken)


def test_printf(rng: np.random.Generator) -> None:
    x = rng.integers(-500, 500, 40).astype(np.int32)
    run = Kernel("prints", 1, 40, x, np.frombuffer(b"everything\0", np.uint8))
    expected = [
        f"thread {i}: {v * 0.5:5.2f}|{v:<6d}|{v % 2**32:#x}|text|{chr(97 + i % 26)}|{v << 33}|%|{v % 2**32}\n"
        for i, v in enumerate(x.tolist())
        if v % 3 == 0
    ]
    assert len(expected) > 5
    assert sorted(run.report.printed) == sorted([*expected, "everything ends\n"])


def test_assertions_and_traps() -> None:
    x = np.arange(64, dtype=np.int32)
    Kernel("asserts", 1, 64, x)
    Kernel("traps", 1, 64, x)
    x[37] = 123
    with pytest.raises(
        TrapError, match=r"thread \(37,0,0\) .*fails the assertion `x\[threadIdx.x\] < 100` at .*\.cu:\d+"
    ):
        Kernel("asserts", 1, 64, x)
    with pytest.raises(TrapError, match=r"thread \(37,0,0\) of CTA \(0,0,0\) executes trap"):
        Kernel("traps", 1, 64, x)


def test_sorting_in_local_memory(rng: np.random.Generator) -> None:
    x = rng.integers(-(2**20), 2**20, (64, 24)).astype(np.int32)
    run = Kernel("sorts", 2, 32, x, np.zeros_like(x), np.zeros(64, np.uint8))
    np.testing.assert_array_equal(run[1], np.sort(x, axis=1))
    np.testing.assert_array_equal(run[2], [np.bincount(row & 63).max() for row in x])


def test_branch_table(rng: np.random.Generator) -> None:
    code = rng.integers(0, 12, 97).astype(np.uint8)
    code[code == 9] = np.where(rng.random((code == 9).sum()) < 0.7, 1, 9)
    start = rng.integers(-1000, 1000, 96).astype(np.int32)
    run = Kernel("machine", 3, 32, code, start, np.zeros(96, np.int64), 20)

    def wrap(value: int) -> int:
        value &= 2**64 - 1
        return value - 2**64 if value >> 63 else value

    def quotient(value: int, by: int) -> int:
        return abs(value) // by * (1 if value >= 0 else -1)

    for i in range(96):
        value, last = int(start[i]), 0
        for s in range(20):
            operation = code[(i + s * 5) % 97]
            if operation == 9:
                break
            reverse = int(f"{value % 2**64:064b}"[::-1], 2)
            value = wrap(
                [
                    value + 11, value * 3 - s, value ^ (value >> 7), -value, value << 2, quotient(value, 5),
                    value - quotient(value, 1000003) * 1000003, value | (1 << (s & 31)),
                    (value % 2**64).bit_count() + value, 0, reverse >> 20, reverse >> 20,
                ][operation]
            )  # fmt: skip
            last = value
        assert run[2][i] == last


def test_double_precision(rng: np.random.Generator) -> None:
    n = 70
    a, b = rng.standard_normal((2, n)) * 10.0 ** rng.integers(-3, 4, (2, n))
    run = Kernel("doubles", 2, 64, a, b, np.zeros((n, 10)), np.zeros(n, np.int64), np.zeros(n, np.float32), n)
    found = run[2]
    for i in range(n):
        x, y = float(a[i]), float(b[i])
        exact = [Fraction(x) + Fraction(y), Fraction(x) * Fraction(y), Fraction(x) * Fraction(y) + 1]
        rounded = [rational.round_to(v, "f64", mode) for v, mode in zip(exact, ("rm", "rp", "rz"), strict=True)]
        root = math.sqrt(abs(x))
        rounded += [x / y, root if Fraction(root) ** 2 <= abs(Fraction(x)) else math.nextafter(root, 0)]
        np.testing.assert_array_equal(found[i, :5], rounded)
        expected = [
            math.sin(x) * math.cos(y), math.log(abs(x) + 1) + np.cbrt(y), math.atan2(x, y),
            math.floor(x) + math.ceil(y) + np.rint(x * y), math.fmod(x, y),
        ]  # fmt: skip
        np.testing.assert_allclose(found[i, 5:], expected, rtol=4e-15, atol=1e-15)
        assert run[3][i] == int(np.rint(x * 1e6))
        up = np.float32(x)
        assert run[4][i] == (up if float(up) >= x else np.nextafter(up, np.float32(np.inf)))


def test_atomics(rng: np.random.Generator) -> None:
    x = rng.integers(-(2**30), 2**30, 300).astype(np.int32)
    run = Kernel(
        "atomics", 3, 128, x, np.zeros(1, np.uint64), np.zeros(1), np.zeros(1, np.uint32),
        np.array([-(2**31), 2**31 - 1], np.int32), np.full(1, -np.inf, np.float32), np.zeros(2, np.uint32), 300,
    )  # fmt: skip
    assert run[1][0] == (x & 0xFFFF).sum()
    assert run[2][0] == 0.5 * x.astype(np.float64).sum()
    assert run[3][0] == 300 % 13
    np.testing.assert_array_equal(run[4], [x.max(), x.min()])
    assert run[5][0] == np.float32(x.astype(np.float32) * np.float32(0.25)).max()
    np.testing.assert_array_equal(
        run[6],
        [np.bitwise_xor.reduce(np.uint32(1) << (x & 31).astype(np.uint32)), np.bitwise_or.reduce(x.view(np.uint32))],
    )


def test_warp_intrinsics(rng: np.random.Generator) -> None:
    x = rng.integers(0, 2**32, 96).astype(np.uint32)
    run = Kernel("warps", 1, 96, x, *(np.zeros(96, np.uint32) for _ in range(4)))
    rows = x.reshape(3, 32)
    np.testing.assert_array_equal(run[1].reshape(3, 32), np.sort(rows, axis=1))
    np.testing.assert_array_equal(run[2].reshape(-1, 16), np.cumsum(x.reshape(-1, 16) & 0xFF, axis=1))
    bit = np.uint32(1) << np.arange(32, dtype=np.uint32)
    for warp, row in enumerate(rows):
        same = (row[:, None] & 7) == (row[None, :] & 7)
        np.testing.assert_array_equal(run[3].reshape(3, 32)[warp], (same * bit).sum(axis=1))
        odd = (row & 1) == 1
        chosen = row[odd]
        mixed = chosen.max() ^ np.uint32(chosen.sum(dtype=np.uint64) % 2**32) ^ np.bitwise_or.reduce(chosen)
        expected = np.where(odd, mixed, np.uint32(0)) + (np.cumsum(odd) - odd).astype(np.uint32)
        np.testing.assert_array_equal(run[4].reshape(3, 32)[warp], expected)


def test_wide_integers(rng: np.random.Generator) -> None:
    n = 60
    a, b = (
        rng.integers(0, 2**64, 2 * n, dtype=np.uint64) >> rng.integers(0, 50, 2 * n).astype(np.uint64) for _ in "ab"
    )
    run = Kernel("wide", 1, 64, a, b, np.zeros(8 * n, np.uint64), np.zeros(n, np.int32), n)
    words = run[2].reshape(n, 4, 2).tolist()

    def signed(value: int, bits: int) -> int:
        value &= (1 << bits) - 1
        return value - (1 << bits) if value >> (bits - 1) else value

    for i in range(n):
        x, y = (int(v[2 * i]) | int(v[2 * i + 1]) << 64 for v in (a, b))
        expected = [x + y, x * y, (x >> 37) - (y << 11), x // (y >> 60 | 1)]
        assert [low | high << 64 for low, high in words[i]] == [value % 2**128 for value in expected]
        p, q = int(a[2 * i]) % 2**32, int(b[2 * i]) % 2**32
        dots = 7 + sum(signed(p >> s, 8) * signed(q >> s, 8) for s in (0, 8, 16, 24))
        dots += -3 + signed(p, 16) * signed(q, 8) + signed(p >> 16, 16) * signed(q >> 8, 8)
        pool = p | q << 32
        dots += sum((pool >> 8 * nibble & 0xFF) << 8 * place for place, nibble in enumerate((0, 7, 2, 5)))
        dots += ((i << 32 | i + 1) << (i & 31) >> 32) % 2**32
        low = int(a[2 * i])
        dots += (low & -low).bit_length() + 32 - i.bit_length()
        assert run[3][i] == signed(dots, 32)
