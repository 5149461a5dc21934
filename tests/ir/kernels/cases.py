"""The kernels with random arguments and what NumPy says that they compute."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from tests.ir.kernels import elementwise, memory, products, reductions

F4, F8, F8E5, E8M0 = (
    ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu,
)  # fmt: skip
BF16 = ml_dtypes.bfloat16


@dataclass(frozen=True)
class Case:
    """A kernel: `values(rng)` makes its arguments, `wanted(*copies of them)` the arrays it leaves, None unchanged."""

    kernel: Any
    values: Callable[[np.random.Generator], list[Any]]
    wanted: Callable[..., list[Any]]
    grid: tuple[int, ...] = (1,)
    tolerance: float = 0.0
    since: tuple[int, int] = (13, 1)
    prints: str = ""
    ordered: bool = False
    """Tile blocks depend on their order by design."""


CASES: dict[str, Case] = {}


def case(kernel, **fields):
    """Declare a kernel's case: the decorated function is `wanted`."""

    def declare(wanted):
        CASES[wanted.__name__] = Case(kernel, wanted=wanted, **fields)
        return wanted

    return declare


def normal(rng, *shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def ints(rng, low, high, *shape, dtype=np.int32):
    return rng.integers(low, high, shape).astype(dtype)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-42, 3.4e38, 1.0, -1.0, 2.5e-38, 7.0], np.float32)


def special(rng, *shape):
    """Random floats with NaN, infinities, zeros, denormals and extremes among them."""
    found = normal(rng, *shape)
    places = rng.choice(found.size, found.size // 2, replace=False)
    found.reshape(-1)[places] = rng.choice(SPECIAL, len(places))
    return found


def flushed(x):
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)


# Elementwise


@case(elementwise.saxpy, values=lambda r: [1.5, normal(r, 128), normal(r, 128)], grid=(2,), tolerance=1e-6)
def saxpy(a, x, y):
    return [None, None, np.float32(a) * x + y]


@case(
    elementwise.rounding_modes,
    values=lambda r: [normal(r, 64), normal(r, 64) + np.float32(2), np.zeros((5, 64), np.float32)],
)
def rounding_modes(x, y, out):
    a, b = x.astype(np.float64), y.astype(np.float64)
    exact = [a + b, a - b, a * b, a / b, np.sqrt(np.abs(a))]
    towards = [0.0, -np.inf, np.inf, 0.0, np.inf]
    for row, (value, direction) in enumerate(zip(exact, towards, strict=True)):
        near = value.astype(np.float32)
        past = np.sign(near - value) * (np.sign(direction - value) if direction else -np.sign(value)) < 0
        out[row] = np.where(past, np.nextafter(near, np.float32(direction)), near)
    return [None, None, out]


@case(
    elementwise.swiglu,
    values=lambda r: [normal(r, 16, 32, dtype=BF16), normal(r, 16, 32, dtype=BF16), np.zeros((16, 32), BF16)],
    grid=(2, 2),
    tolerance=1e-2,
)
def swiglu(x, gate, out):
    g = gate.astype(np.float64)
    return [None, None, (x.astype(np.float64) * g / (1 + np.exp(-g))).astype(BF16)]


@case(elementwise.gelu, values=lambda r: [normal(r, 128), np.zeros(128, np.float32)], grid=(2,), tolerance=1e-5)
def gelu(x, out):
    t = x.astype(np.float64)
    return [None, 0.5 * t * (1 + np.tanh(0.7978845608 * (t + 0.044715 * t**3)))]


@case(
    elementwise.trigonometry, values=lambda r: [normal(r, 64), np.zeros(64, np.float32)], tolerance=1e-4, since=(13, 2)
)
def trigonometry(x, out):
    t = x.astype(np.float64)
    u = np.sin(t) + np.cos(t) * np.tan(t) + np.sinh(t) - np.cosh(t) + np.arctan2(t, np.abs(t) + 0.5)
    return [None, u + (np.abs(t) + 0.25) ** t]


@case(elementwise.powers_of_integers, values=lambda r: [normal(r, 64), np.zeros(64, np.float32)], tolerance=1e-5)
def powers_of_integers(x, out):
    t = x.astype(np.float64)
    return [None, t**3 + np.floor(t) - np.ceil(t) + 1 / np.sqrt(t * t + 1)]


@case(elementwise.logarithms, values=lambda r: [np.abs(normal(r, 64)) + 0.1, np.zeros(64, np.float32)], tolerance=1e-5)
def logarithms(x, out):
    t = x.astype(np.float64)
    return [None, np.log(t) + np.log2(t) * np.exp2(-t) + np.exp(-t)]


@case(
    elementwise.integer_bits,
    values=lambda r: [ints(r, -(2**31), 2**31, 64), ints(r, -(2**31), 2**31, 64), np.zeros(64, np.int32)],
)
def integer_bits(x, y, out):
    with np.errstate(over="ignore"):
        u = (x << (y & 7)) | (x >> (y & 15)) ^ ~y
        return [None, None, u + np.minimum(x, y) * np.maximum(x, 3) - np.abs(x)]


@case(
    elementwise.unsigned_division,
    values=lambda r: [ints(r, 0, 2**32, 64, dtype=np.uint32), ints(r, 1, 9999, 64, dtype=np.uint32),
                      np.zeros(64, np.uint32)],
)  # fmt: skip
def unsigned_division(x, y, out):
    return [None, None, (-(-x.astype(np.int64) // y)).astype(np.uint32) + x % y + (x >> 3)]


@case(
    elementwise.signed_division,
    values=lambda r: [ints(r, -500, 500, 64), ints(r, 1, 40, 64) * r.choice([-1, 1], 64).astype(np.int32),
                      np.zeros(64, np.int32)],
)  # fmt: skip
def signed_division(x, y, out):
    return [None, None, (x // y) * 1000 + x % y + -(-x // y) * 7]


@case(elementwise.comparisons, values=lambda r: [special(r, 64), special(r, 64), np.zeros(64, np.int32)])
def comparisons(x, y, out):
    u = 1 * (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * (x > y) + 32 * (x >= y) + 64 * np.isnan(x)
    return [None, None, u]


@case(elementwise.extremes_with_nan, values=lambda r: [special(r, 64), special(r, 64), np.zeros((3, 64), np.float32)])
def extremes_with_nan(x, y, out):
    return [None, None, np.stack([np.fmax(x, y), np.minimum(x, y), np.fmax(flushed(x), flushed(y))])]


@case(
    elementwise.conversions,
    values=lambda r: [normal(r, 64) * 3, np.zeros(64, np.int32), np.zeros(64, np.float16), np.zeros(64, BF16),
                      np.zeros(64, np.int64)],
)  # fmt: skip
def conversions(x, i32, f16, bf16, i64):
    whole = (x * np.float32(1000)).astype(np.int16).astype(np.int64)
    return [None, (x * np.float32(100)).astype(np.int32), x.astype(np.float16), x.astype(BF16), whole]


@case(
    elementwise.integers_to_floats,
    values=lambda r: [ints(r, -(2**62), 2**62, 64, dtype=np.int64), ints(r, 0, 60000, 64, dtype=np.uint16),
                      np.zeros(64, np.float32), np.zeros(64, np.float16)],
)  # fmt: skip
def integers_to_floats(x, y, f32, f16):
    return [None, None, x.astype(np.float32), y.astype(np.float16)]


@case(
    elementwise.narrow_floats,
    values=lambda r: [normal(r, 64) * 20, np.zeros(64, F8), np.zeros(64, F8E5)],
)
def narrow_floats(x, e4, e5):
    first = x.astype(F8)
    return [None, first, (first.astype(np.float32) * 2).astype(F8E5)]


@case(elementwise.reinterpreted, values=lambda r: [normal(r, 64), np.zeros(64, np.float32)])
def reinterpreted(x, out):
    return [None, (x.view(np.int32) ^ 0x55).view(np.float32)]


@case(
    elementwise.rotary,
    values=lambda r: [normal(r, 8, 32), normal(r, 16), normal(r, 16), np.zeros((8, 32), np.float32)],
    grid=(2,),
    tolerance=1e-5,
)
def rotary(x, cos, sin, out):
    left, right = x[:, :16], x[:, 16:]
    return [None, None, None, np.concatenate([left * cos - right * sin, right * cos + left * sin], 1)]


# Reductions


@case(
    reductions.softmax_rows,
    values=lambda r: [normal(r, 20, 50), np.zeros((20, 50), np.float32)],
    grid=(3,),
    tolerance=1e-6,
)
def softmax_rows(x, out):
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return [None, e / e.sum(1, keepdims=True)]


@case(
    reductions.layer_norm,
    values=lambda r: [normal(r, 16, 64, dtype=np.float16), normal(r, 64), normal(r, 64),
                      np.zeros((16, 64), np.float16), 1e-5],
    grid=(2,),
    tolerance=3e-3,
)  # fmt: skip
def layer_norm(x, weight, bias, out, eps):
    t = x.astype(np.float64)
    t = t - t.mean(1, keepdims=True)
    return [None, None, None, t / np.sqrt((t * t).mean(1, keepdims=True) + eps) * weight + bias, None]


@case(
    reductions.rms_norm,
    values=lambda r: [normal(r, 16, 64, dtype=BF16), normal(r, 64, dtype=BF16), np.zeros((16, 64), BF16)],
    grid=(2,),
    tolerance=2e-2,
)
def rms_norm(x, weight, out):
    t = x.astype(np.float64)
    return [None, None, t / np.sqrt((t * t).mean(1, keepdims=True) + 1e-6) * weight.astype(np.float64)]


@case(
    reductions.batch_statistics,
    values=lambda r: [normal(r, 37, 32), np.zeros(32, np.float32), np.zeros(32, np.float32), 37],
    grid=(2,),
    tolerance=1e-5,
)
def batch_statistics(x, mean, variance, n):
    return [None, x.astype(np.float64).mean(0), x.astype(np.float64).var(0), None]


@case(
    reductions.arg_extremes,
    values=lambda r: [ints(r, -5, 5, 16, 64).astype(np.float32), np.zeros(16, np.int32), np.zeros(16, np.int32)],
    grid=(2,),
)
def arg_extremes(x, lowest, highest):
    return [None, x.argmin(1), x.argmax(1)]


@case(
    reductions.products_and_minima, values=lambda r: [normal(r, 8, 64), np.zeros((2, 64), np.float32)], tolerance=1e-5
)
def products_and_minima(x, out):
    return [None, np.stack([x.astype(np.float64).prod(0), x.min(0)])]


@case(reductions.prefix_sums, values=lambda r: [normal(r, 8, 64), np.zeros((16, 64), np.float32)], tolerance=1e-4)
def prefix_sums(x, out):
    t = x.astype(np.float64)
    return [None, np.concatenate([t.cumsum(1), t[::-1].cumsum(0)[::-1]])]


@case(
    reductions.prefix_products,
    values=lambda r: [r.uniform(0.8, 1.2, (8, 64)).astype(np.float32), np.zeros((8, 64), np.float32)],
    tolerance=1e-4,
)
def prefix_products(x, out):
    return [None, x.astype(np.float64)[:, ::-1].cumprod(1)[:, ::-1]]


@case(
    reductions.integer_sums,
    values=lambda r: [ints(r, -(2**31), 2**31, 8, 64), np.zeros(8, np.int32)],
)
def integer_sums(x, out):
    return [None, x.sum(1, dtype=np.int64).astype(np.int32)]


@case(reductions.welford, values=lambda r: [normal(r, 8, 64), np.zeros((3, 8), np.float32)], tolerance=1e-4)
def welford(x, out):
    t = x.astype(np.float64)
    return [None, np.stack([np.full(8, 64.0), t.mean(1), ((t - t.mean(1, keepdims=True)) ** 2).sum(1)])]


@case(
    reductions.segmented_scan,
    values=lambda r: [normal(r, 64), (r.random(64) < 0.2).astype(np.int32), np.zeros(64, np.float32)],
    tolerance=1e-5,
)
def segmented_scan(x, starts, out):
    total = 0.0
    for i, (value, start) in enumerate(zip(x.astype(np.float64), starts, strict=True)):
        total = value if start else total + value
        out[i] = total
    return [None, None, out]


@case(
    reductions.cross_entropy,
    values=lambda r: [normal(r, 16, 64), ints(r, 0, 64, 16), np.zeros(16, np.float32)],
    grid=(2,),
    tolerance=1e-5,
)
def cross_entropy(x, target, loss):
    t = x.astype(np.float64)
    return [None, None, np.log(np.exp(t).sum(1)) - t[np.arange(16), target]]


# Products


@case(
    products.matmul,
    values=lambda r: [normal(r, 50, 40, dtype=np.float16), normal(r, 40, 20, dtype=np.float16),
                      np.zeros((50, 20), np.float16)],
    grid=(2, 2),
    tolerance=2e-3,
)  # fmt: skip
def matmul(a, b, c):
    return [None, None, a.astype(np.float64) @ b.astype(np.float64)]


@case(
    products.batched,
    values=lambda r: [normal(r, 4, 32, 16, dtype=BF16), normal(r, 4, 16, 16, dtype=BF16),
                      np.zeros((4, 32, 16), np.float32)],
    grid=(2,),
    tolerance=1e-5,
)  # fmt: skip
def batched(a, b, c):
    return [None, None, a.astype(np.float64) @ b.astype(np.float64)]


@case(
    products.transposed,
    values=lambda r: [normal(r, 32, 16), normal(r, 16, 16), np.zeros((32, 16), np.float32)],
    tolerance=1e-2,
)
def transposed(a, b, c):
    return [None, None, a.astype(np.float64) @ b.T.astype(np.float64)]


@case(
    products.persistent,
    values=lambda r: [normal(r, 64, 32, dtype=np.float16), normal(r, 32, 48, dtype=np.float16),
                      np.zeros((64, 48), np.float32), 6],
    grid=(4,),
    tolerance=1e-5,
)  # fmt: skip
def persistent(a, b, c, tiles):
    return [None, None, a.astype(np.float64) @ b.astype(np.float64), None]


@case(
    products.eight_bit,
    values=lambda r: [normal(r, 32, 16, dtype=F8), normal(r, 16, 16, dtype=F8), np.zeros((32, 16), np.float32)],
    tolerance=1e-5,
)
def eight_bit(a, b, c):
    return [None, None, a.astype(np.float64) @ b.astype(np.float64)]


@case(
    products.integers,
    values=lambda r: [ints(r, -128, 128, 32, 16, dtype=np.int8), ints(r, 0, 256, 16, 16, dtype=np.uint8),
                      np.zeros((32, 16), np.int32)],
)  # fmt: skip
def integers(a, b, c):
    return [None, None, a.astype(np.int32) @ b.astype(np.int32)]


@case(
    products.scaled,
    values=lambda r: [normal(r, 32, 64, dtype=F8), np.exp2(ints(r, -3, 4, 32, 2)).astype(E8M0),
                      normal(r, 64, 16, dtype=F8), np.exp2(ints(r, -3, 4, 2, 16)).astype(E8M0),
                      np.zeros((32, 16), np.float32)],
    tolerance=1e-5,
    since=(13, 3),
)  # fmt: skip
def scaled(a, a_scale, b, b_scale, c):
    wide = a.astype(np.float64) * a_scale.astype(np.float64).repeat(32, 1)
    return [None, None, None, None, wide @ (b.astype(np.float64) * b_scale.astype(np.float64).repeat(32, 0))]


@case(
    products.attention,
    values=lambda r: [normal(r, 64, 16, dtype=np.float16), normal(r, 48, 16, dtype=np.float16),
                      normal(r, 48, 16, dtype=np.float16), np.zeros((64, 16), np.float16), 0.36],
    grid=(2,),
    tolerance=3e-3,
)  # fmt: skip
def attention(q, k, v, out, scale):
    s = np.exp2(q.astype(np.float64) @ k.T.astype(np.float64) * scale)
    return [None, None, None, s / s.sum(1, keepdims=True) @ v.astype(np.float64), None]


@case(
    products.split_k,
    values=lambda r: [normal(r, 32, 64, dtype=np.float16), normal(r, 64, 16, dtype=np.float16), normal(r, 32, 16)],
    grid=(4,),
    tolerance=1e-5,
)
def split_k(a, b, c):
    return [None, None, a.astype(np.float64) @ b.astype(np.float64) + c]


@case(
    products.grouped,
    values=lambda r: [[normal(r, 32, 16, dtype=np.float16) for _ in range(3)],
                      [normal(r, 16, 16, dtype=np.float16) for _ in range(3)],
                      [np.zeros((32, 16), np.float32) for _ in range(3)], 3],
    tolerance=1e-5,
)  # fmt: skip
def grouped(a, b, c, groups):
    wanted = [x.astype(np.float64) @ y.astype(np.float64) for x, y in zip(a, b, strict=True)]
    return [None, None, wanted, None]


# Memory and control flow


@case(
    memory.gather_rows,
    values=lambda r: [normal(r, 20, 16), ints(r, 0, 23, 8), np.zeros((8, 16), np.float32)],
)
def gather_rows(x, rows, out):
    return [None, None, np.where(rows[:, None] < 20, x[np.minimum(rows, 19)], np.float32(-1))]


@case(
    memory.scatter_masked,
    values=lambda r: [normal(r, 32), r.permutation(32).astype(np.int32), normal(r, 32)],
)
def scatter_masked(x, places, out):
    out[places[x > 0]] = x[x > 0]
    return [None, None, out]


@case(memory.histogram, values=lambda r: [ints(r, 0, 1000, 128), ints(r, 0, 9, 8)], grid=(4,))
def histogram(x, counts):
    return [None, counts + np.bincount(x & 7, minlength=8)]


@case(
    memory.atomic_updates,
    values=lambda r: [ints(r, -(2**31), 2**31, 32), ints(r, -(2**31), 2**31, 192), np.zeros(32, np.int32)],
)
def atomic_updates(x, out, old):
    parts = out.reshape(6, 32)
    after = [np.maximum(parts[0], x), np.minimum(parts[1], x), parts[2] ^ x, parts[3] | x, parts[4] & x, x]
    return [None, np.concatenate(after), parts.sum(0, dtype=np.int64).astype(np.int32)]


@case(
    memory.locked_sum,
    values=lambda r: [np.zeros(1, np.int32), normal(r, 32), normal(r, 128)],
    grid=(4,),
    tolerance=1e-5,
)
def locked_sum(lock, out, x):
    return [np.zeros(1, np.int32), out + x.reshape(4, 32).sum(0), None]


@case(
    memory.overlapping,
    values=lambda r: [normal(r, 60), np.zeros(128, np.float32)],
    grid=(4,),
    since=(13, 3),
)
def overlapping(x, out):
    padded = np.concatenate([x, np.zeros(32, np.float32)])
    return [None, np.concatenate([padded[8 * i : 8 * i + 32] for i in range(4)])]


@case(
    memory.chosen_slices,
    values=lambda r: [normal(r, 20, 5), ints(r, 0, 23, 8), normal(r, 12, 7)],
    since=(13, 3),
)
def chosen_slices(x, rows, out):
    padded = np.zeros((24, 8), np.float32)
    padded[:20, :5] = x
    out[1:9, [0, 2, 4, 6]] = padded[rows, 3:7]
    return [None, None, out]


@case(
    memory.reduced_into_view,
    values=lambda r: [ints(r, -50, 50, 32, 8), ints(r, -50, 50, 8, 12)],
    grid=(4,),
    since=(13, 3),
)
def reduced_into_view(x, out):
    out[:, 8:] += x.reshape(4, 8, 8).sum(0, dtype=np.int32)[:, :4]
    return [None, out]


@case(memory.moved, values=lambda r: [normal(r, 8, 16), np.zeros((16, 8), np.float32)])
def moved(x, out):
    v = np.concatenate([x.T, x.T], 1)[8:, :16]
    return [None, v.reshape(2, 4, 16).transpose(2, 0, 1).reshape(16, 8)]


@case(
    memory.inserted,
    values=lambda r: [normal(r, 8, 16), normal(r, 4, 4), np.zeros((8, 16), np.float32)],
    since=(13, 4),
)
def inserted(x, y, out):
    x[4:8, 12:16] = y
    return [None, None, x]


@case(
    memory.packed_fours,
    values=lambda r: [ints(r, 0, 256, 32, dtype=np.uint8), np.zeros(32, np.uint8)],
    since=(13, 3),
)
def packed_fours(x, out):
    codes = np.stack([x & 15, x >> 4], 1).reshape(-1)
    halves = (codes.view(F4).astype(np.float32) * 0.5).astype(F4).view(np.uint8)
    return [None, halves[::2] | halves[1::2] << 4]


@case(
    memory.words_to_bytes,
    values=lambda r: [ints(r, -(2**31), 2**31, 8), np.zeros(32, np.uint8)],
    since=(13, 3),
)
def words_to_bytes(x, out):
    return [None, x.view(np.uint8)]


@case(memory.collatz, values=lambda r: [ints(r, 1, 60, 8), np.zeros(8, np.int32)], grid=(8,))
def collatz(x, steps):
    for i, value in enumerate(x.tolist()):
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps[i] += 1
    return [None, steps]


@case(memory.branches, values=lambda r: [normal(r, 32), np.zeros(32, np.float32), int(r.integers(3))])
def branches(x, out, mode):
    return [None, (x + 1, x * 2, -x)[mode], None]


@case(memory.early_exit, values=lambda r: [normal(r, 128), np.zeros(128, np.float32), 3], grid=(4,))
def early_exit(x, out, n):
    out[:96] = x[:96] * 3
    return [None, out, None]


@case(
    memory.told,
    values=lambda r: [np.array([3, 1, 4, 1], np.int32), np.zeros(4, np.int32)],
    since=(13, 2),
    prints="1 tiles: [ 3.00,  1.00,  4.00,  1.00]\n",
)
def told(x, out):
    return [None, x]


@case(memory.dependent, values=lambda r: [normal(r, 64), np.zeros(64, np.float32)], grid=(2,), since=(13, 4))
def dependent(x, out):
    return [None, x + 1]


@case(
    memory.transposing_copy,
    values=lambda r: [normal(r, 32, 16), np.zeros((16, 32), np.float32)],
    grid=(2, 2),
)
def transposing_copy(x, out):
    tiles = x.T.reshape(2, 8, 2, 16).transpose(2, 1, 0, 3)
    return [None, tiles.reshape(16, 32)]
