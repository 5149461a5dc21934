"""More cuTile kernels: fused epilogues, convolution, decoding, gradients, selection, layouts changed in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.cutile import kernel, wide
from tests.programs.program import random


def linear(x: Any, w: Any, bias: Any, res: Any, y: Any, *_: int) -> dict[int, Any]:
    return {4: np.maximum(wide(x) @ wide(w).T + wide(bias), 0) + wide(res)}


kernel(
    "linear",
    lambda: [
        random((70, 72), "f16", 1), random((80, 72), "f16", 2), random((80,), "f16", 3), random((70, 80), "f16", 4),
        random((70, 80), "f16", 5), (64,), (64,), (32,),
    ],
    (2, 2), linear, 3e-3,
)  # fmt: skip


def dual(x: Any, w1: Any, w2: Any, y: Any, *_: int) -> dict[int, Any]:
    gate, up = wide(x) @ wide(w1), wide(x) @ wide(w2)
    return {3: gate / (1 + np.exp(-gate)) * up}


kernel(
    "dual",
    lambda: [
        random((70, 72), "f16", 1, 0.3), random((72, 80), "f16", 2, 0.3), random((72, 80), "f16", 3, 0.3),
        random((70, 80), "f16", 5), (64,), (64,), (32,),
    ],
    (2, 2), dual, 3e-3,
)  # fmt: skip
kernel(
    "dequant",
    lambda: [
        random((70, 72), "f16", 1, 0.1), random((72, 80), "i8", 2), random((80,), "f32", 3, 0.1),
        random((70, 80), "f16", 5), (64,), (64,), (32,),
    ],
    (2, 2), lambda x, w, s, y, *_: {3: wide(x) @ wide(w) * s}, 4e-3,
)  # fmt: skip
kernel(
    "at_b",
    lambda: [random((72, 80), "f16", 1), random((72, 96), "f16", 2), random((80, 96), "f32", 5), (64,), (64,), (32,)],
    (2, 2), lambda a, b, c, *_: {2: wide(a).T @ wide(b)}, 2e-3,
)  # fmt: skip


def convolved(x: Any, w: Any, y: Any, *_: int) -> dict[int, Any]:
    n, height, width, channels = x.shape
    padded = np.pad(wide(x), ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return {2: np.stack(taps, 3).reshape(n * height * width, 9 * channels) @ wide(w)}


kernel(
    "conv",
    lambda: [
        random((2, 6, 5, 8), "f16", 1), random((72, 32), "f16", 2), random((60, 32), "f32", 5), (32,), (32,), (16,),
    ],
    (2, 1), convolved, 2e-3,
)  # fmt: skip
kernel(
    "gemv",
    lambda: [random((70, 300), "f16", 1), random((300,), "f16", 2), random((70,), "f16", 5), (16,), (64,)],
    (5,), lambda a, x, y, *_: {2: wide(a) @ wide(x)}, 3e-3,
)  # fmt: skip
kernel(
    "topk",
    lambda: [random((3, 100), "f32", 1), random((3, 4), "f32", 2), random((3, 4), "i32", 3), (4,), (128,)],
    (3,), lambda x, y, at, k, width: {1: -np.sort(-x, 1)[:, :k], 2: np.argsort(-x, 1)[:, :k]}, 0.0,
)  # fmt: skip
kernel(
    "nchw",
    lambda: [random((2, 20, 70), "f16", 1), random((2, 70, 20), "f16", 2), (32,), (64,)],
    (2, 1, 2), lambda x, y, *_: {1: x.transpose(0, 2, 1)}, 0.0,
)  # fmt: skip


def cached(k: Any, slots: Any, cache: Any, *_: int) -> dict[int, Any]:
    cache[slots] = k
    return {2: cache}


kernel(
    "kv_write",
    lambda: [random((3, 8, 64), "f16", 1), np.array([5, 0, 2], np.int32), random((6, 8, 64), "f16", 2), (8,), (64,)],
    (3,), cached, 0.0,
)  # fmt: skip


def masked(x: Any, mask: Any, y: Any, width: int) -> dict[int, Any]:
    power = np.where(mask != 0, np.exp(wide(x)), 0)
    return {2: power / power.sum(1, keepdims=True)}


kernel(
    "masked_softmax",
    lambda: [random((3, 200), "f32", 1), random((3, 200), "i8", 3) & 1, random((3, 200), "f32", 2), (256,)],
    (3,), masked, 1e-5,
)  # fmt: skip


def decoded(q: Any, k: Any, v: Any, out: Any, scale: float, lengths: Any, *_: int) -> dict[int, Any]:
    q, k, v = wide(q, k, v)
    score = q @ k.transpose(0, 1, 3, 2) * scale
    score = np.where(np.arange(k.shape[2]) < lengths[:, None, None, None], score, -np.inf)
    power = np.exp(score - score.max(-1, keepdims=True))
    return {3: power / power.sum(-1, keepdims=True) @ v}


for group in (16, 8, 1):
    kernel(
        f"decode-{group}",
        lambda g=group: [
            random((2, 2, g, 64), "f16", 1), random((2, 2, 100, 64), "f16", 2), random((2, 2, 100, 64), "f16", 3),
            random((2, 2, g, 64), "f16", 4), 0.125, np.array([70, 100], np.int32), (g,), (64,), (32,),
        ],
        (2, 2), decoded, 3e-3, "decode",
    )  # fmt: skip


def gradients(x: Any, dy: Any, w: Any, mean: Any, rstd: Any, dx: Any, dw: Any, rows: int, width: int) -> dict[int, Any]:
    x, dy, w = wide(x, dy, w)
    hat, weighted = (x - mean[:, None]) * rstd[:, None], w * dy
    first, second = (hat * weighted).mean(1, keepdims=True), weighted.mean(1, keepdims=True)
    sums = (dy * hat).reshape(len(dw), rows, -1).sum(1)
    return {5: (weighted - (hat * first + second)) * rstd[:, None], 6: sums}


kernel(
    "ln_backward",
    lambda: [
        random((8, 200), "f16", 1), random((8, 200), "f16", 2), random((200,), "f16", 3), random((8,), "f32", 4),
        np.abs(random((8,), "f32", 5)) + np.float32(0.5), random((8, 200), "f16", 6), random((2, 200), "f32", 7),
        (4,), (256,),
    ],
    (2,), gradients, 4e-3,
)  # fmt: skip
kernel(
    "prefix_sums",
    lambda: [random((64, 32), "f16", 1), random((64, 32), "f32", 2), (32,)],
    (2,), lambda x, y, n: {1: np.cumsum(wide(x), 1)}, 2e-3,
)  # fmt: skip
kernel(
    "squares_i64",
    lambda: [random((300,), "f32", 1), random((300,), "f32", 2), 3, (128,)],
    (3,), lambda x, y, n, tile: {1: x * x + n}, 1e-6,
)  # fmt: skip
kernel(
    "unchecked",
    lambda: [
        random((50,), "f32", 1), np.random.default_rng(7).integers(0, 50, 128).astype(np.int32),
        random((128,), "f32", 2), (64,),
    ],
    (2,), lambda x, index, y, tile: {2: x[index] + np.float32(1)}, 0.0,
)  # fmt: skip
