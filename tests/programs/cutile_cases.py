"""cuTile kernels that frameworks are made of: products, attention, norms, softmax, rotary embeddings, activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.cutile import kernel, wide
from tests.programs.program import random


def product(a: Any, b: Any, c: Any, *rest: Any) -> dict[int, Any]:
    return {2: wide(a) @ wide(b)}


for kind, tolerance in (("f16", 2e-3), ("bf16", 1.6e-2)):
    kernel(
        f"matmul-{kind}",
        lambda k=kind: [
            random((136, 72), k, 1),
            random((72, 200), k, 2),
            random((136, 200), k, 3),
            (64,),
            (64,),
            (32,),
        ],
        (12,),
        product,
        tolerance,
        "matmul",
    )
kernel(
    "matmul-large",
    lambda: [
        random((144, 80), "f16", 1),
        random((80, 272), "f16", 2),
        random((144, 272), "f32", 3),
        (128,),
        (128,),
        (64,),
    ],
    (6,),
    product,
    2e-3,
    "matmul",
)
kernel(
    "matmul-unaligned",
    lambda: [random((70, 45), "f16", 1), random((45, 67), "f16", 2), random((70, 67), "f16", 3), (32,), (32,), (32,)],
    (9,),
    product,
    2e-3,
    "matmul",
)
kernel(
    "matmul_tf32",
    lambda: [random((72, 72), "tf32", 1), random((72, 80), "tf32", 2), random((72, 80), "f32", 3), (64,), (64,), (32,)],
    (2, 2),
    product,
    2e-3,
)
kernel(
    "matmul_persistent",
    lambda: [
        random((136, 72), "f16", 1),
        random((72, 136), "f16", 2),
        random((136, 136), "f16", 3),
        (64,),
        (64,),
        (32,),
    ],
    (4,),
    product,
    2e-3,
)
kernel(
    "batch_matmul",
    lambda: [
        random((2, 72, 72), "f16", 1),
        random((2, 72, 80), "f16", 2),
        random((2, 72, 80), "f32", 3),
        (64,),
        (64,),
        (32,),
    ],
    (2, 2, 2),
    product,
    2e-3,
)
kernel(
    "split_k",
    lambda: [
        random((40, 200), "f16", 1),
        random((200, 40), "f16", 2),
        random((3, 40, 40), "f32", 3),
        (32,),
        (32,),
        (32,),
    ],
    (2, 2, 3),
    lambda a, b, c, *r: {2: np.stack([wide(a[:, i : i + 96]) @ wide(b[i : i + 96]) for i in (0, 96, 192)])},
    2e-3,
)


def attended(
    q: Any, k: Any, v: Any, out: Any, scale: float, heads: int, width: int, tm: int, tn: int, causal: bool
) -> dict[int, Any]:
    q, k, v = wide(q, k, v)
    score = q @ k.transpose(0, 1, 3, 2) * scale
    if causal:
        score = np.where(np.tri(*score.shape[-2:], dtype=bool), score, -np.inf)
    power = np.exp(score - score.max(-1, keepdims=True))
    return {3: power / power.sum(-1, keepdims=True) @ v}


def heads(length: int, width: int, kind: str, causal: bool, tm: int = 64, tn: int = 64) -> Callable[[], list[Any]]:
    return lambda: [
        *(random((2, 2, length, width), kind, i) for i in range(4)),
        0.125,
        (2,),
        (width,),
        (tm,),
        (tn,),
        (causal,),
    ]


kernel("attention", heads(100, 64, "f16", False), (2, 4), attended, 2e-3)
kernel("attention-causal", heads(100, 64, "f16", True), (2, 4), attended, 2e-3, "attention")
kernel("attention-bf16", heads(80, 32, "bf16", True, 32, 32), (3, 4), attended, 1.6e-2, "attention")
kernel("attention-128", heads(130, 128, "f16", True, 128, 64), (2, 4), attended, 2e-3, "attention")


def rms(x: Any, weight: Any, y: Any, eps: float, *rest: Any) -> dict[int, Any]:
    x = wide(x)
    return {2: x / np.sqrt((x**2).mean(1, keepdims=True) + eps) * wide(weight)}


for kind, tolerance in (("f16", 2e-3), ("bf16", 1.6e-2), ("f32", 1e-5)):
    kernel(
        f"rms_norm-{kind}",
        lambda k=kind: [random((3, 700), k, 1), random((700,), k, 2), random((3, 700), k, 3), 1e-5, (256,)],
        (3,),
        rms,
        tolerance,
        "rms_norm",
    )
kernel(
    "rms_norm_gather",
    lambda: [random((5, 300), "f16", 1), random((300,), "f16", 2), random((5, 300), "f16", 3), 1e-5, (512,)],
    (2,),
    rms,
    2e-3,
)


def normed(x: Any, weight: Any, bias: Any, y: Any, mean: Any, rstd: Any, eps: float, tile: int) -> dict[int, Any]:
    x = wide(x)
    scale = 1 / np.sqrt(x.var(1) + eps)
    return {3: (x - x.mean(1, keepdims=True)) * scale[:, None] * weight + bias, 4: x.mean(1), 5: scale}


kernel(
    "layer_norm",
    lambda: [
        random((3, 700), "f32", 1),
        random((700,), "f32", 2),
        random((700,), "f32", 3),
        random((3, 700), "f32", 4),
        random((3,), "f32", 5),
        random((3,), "f32", 6),
        1e-5,
        (256,),
    ],
    (3,),
    normed,
    2e-5,
)
kernel(
    "layer_norm-f16",
    lambda: [
        random((3, 700), "f16", 1),
        random((700,), "f16", 2),
        random((700,), "f16", 3),
        random((3, 700), "f16", 4),
        random((3,), "f32", 5),
        random((3,), "f32", 6),
        1e-5,
        (256,),
    ],
    (3,),
    normed,
    2e-3,
    "layer_norm",
)


def softmaxed(x: Any, y: Any, *rest: Any) -> dict[int, Any]:
    power = np.exp(wide(x) - wide(x).max(1, keepdims=True))
    return {1: power / power.sum(1, keepdims=True)}


kernel(
    "softmax_online", lambda: [random((3, 700), "f32", 1), random((3, 700), "f32", 2), (256,)], (3,), softmaxed, 1e-5
)
kernel(
    "softmax_rows",
    lambda: [random((10, 100), "f16", 1), random((10, 100), "f16", 2), (4,), (128,)],
    (3,),
    softmaxed,
    2e-3,
)
kernel(
    "swiglu",
    lambda: [random((3, 500), "f16", 1), random((3, 500), "f16", 2), random((3, 500), "f16", 3), (256,)],
    (3, 2),
    lambda g, u, y, t: {2: wide(g) / (1 + np.exp(-wide(g))) * wide(u)},
    2e-3,
)
kernel(
    "gelu",
    lambda: [random((70, 45), "f16", 1), random((70, 45), "f16", 2), (32,)],
    (3, 2),
    lambda x, y, t: {1: 0.5 * wide(x) * (1 + np.tanh(0.7978845608 * (wide(x) + 0.044715 * wide(x) ** 3)))},
    2e-3,
)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    low, high = wide(x[..., 0, :], x[..., 1, :])
    c, s = wide(cos, sin)
    return np.stack([low * c - high * s, high * c + low * s], -2)


kernel(
    "rope",
    lambda: [
        random((2, 2, 5, 2, 64), "f32", 1),
        random((5, 64), "f32", 2),
        random((5, 64), "f32", 3),
        random((2, 2, 5, 2, 64), "f32", 4),
        (64,),
    ],
    (2, 2, 5),
    lambda x, c, s, y, h: {3: turned(x, c, s)},
    1e-5,
)
kernel(
    "rope_in_place",
    lambda: [random((2, 2, 5, 2, 32), "f16", 1), random((5, 32), "f16", 2), random((5, 32), "f16", 3), (32,)],
    (2, 2, 5),
    lambda x, c, s, h: {0: turned(x, c, s)},
    4e-3,
)
for kind in ("f32", "f16"):
    kernel(
        f"transpose-{kind}",
        lambda k=kind: [random((70, 100), k, 1), random((100, 70), k, 2), (32,), (64,)],
        (3, 2),
        lambda x, y, m, n: {1: x.T},
        0.0,
        "transpose",
    )
kernel(
    "embedding",
    lambda: [
        random((50, 100), "f16", 1),
        np.random.default_rng(3).integers(0, 50, 7).astype(np.int32),
        random((7, 100), "f16", 2),
        (128,),
    ],
    (7,),
    lambda table, tokens, y, w: {2: table[tokens]},
    0.0,
)
kernel(
    "cross_entropy",
    lambda: [
        random((4, 300), "f32", 1),
        np.random.default_rng(3).integers(0, 300, 4).astype(np.int32),
        random((4,), "f32", 2),
        (128,),
    ],
    (4,),
    lambda x, labels, y, t: {2: np.log(np.exp(wide(x)).sum(1)) - x[np.arange(4), labels]},
    1e-5,
)


def dropped(x: Any, y: Any, seed: int, keep: float, tile: int) -> dict[int, Any]:
    with np.errstate(over="ignore"):
        mixed = (np.arange(x.size, dtype=np.int32) + np.int32(seed)) * np.int32(747796405) + np.int32(1)
        mixed = (mixed ^ (mixed // np.int32(65536))) * np.int32(277803737)
    kept = (mixed & 0xFFFF).astype(np.float32) < np.float32(keep) * 65536
    return {1: np.where(kept, x / np.float32(keep), 0)}


kernel("dropout", lambda: [random((900,), "f32", 1), random((900,), "f32", 2), 5, 0.75, (256,)], (4,), dropped, 1e-6)
for mode in (0, 1):
    kernel(
        f"clamp_branch-{mode}",
        lambda m=mode: [random((300,), "f32", 1), random((300,), "f32", 2), m, (128,)],
        (3,),
        lambda x, y, m, t: {1: np.maximum(x, 0) if m == 0 else np.minimum(x, np.resize(x[:128], 300))},
        0.0,
        "clamp_branch",
    )
kernel(
    "moe_gemm",
    lambda: [
        random((96, 72), "f16", 1),
        random((4, 80, 72), "f16", 2),
        np.array([2, 0, 3], np.int32),
        random((96, 80), "f16", 3),
        (32,),
        (32,),
        (32,),
    ],
    (3, 3),
    lambda x, w, e, y, *r: {3: np.concatenate([wide(x[32 * i : 32 * i + 32]) @ wide(w[j]).T for i, j in enumerate(e)])},
    2e-3,
)
kernel(
    "fused_mlp",
    lambda: [
        random((70, 64), "f16", 1, 0.2),
        random((64, 192), "f16", 2, 0.2),
        random((192, 64), "f16", 3, 0.2),
        random((70, 64), "f16", 4),
        (64,),
        (64,),
        (64,),
        (32,),
    ],
    (2,),
    lambda x, a, b, y, *r: {3: np.maximum(wide(x) @ wide(a), 0).astype(np.float16).astype(np.float64) @ wide(b)},
    2e-3,
)


def grouped(x: Any, weight: Any, bias: Any, y: Any, eps: float, *rest: Any) -> dict[int, Any]:
    x = wide(x)
    centred = x - x.mean((2, 3), keepdims=True)
    return {3: centred / np.sqrt(x.var((2, 3), keepdims=True) + eps) * weight[..., None] + bias[..., None]}


kernel(
    "group_norm",
    lambda: [
        random((2, 3, 8, 100), "f32", 1),
        random((3, 8), "f32", 2),
        random((3, 8), "f32", 3),
        random((2, 3, 8, 100), "f32", 4),
        1e-5,
        (8,),
        (64,),
    ],
    (2, 3),
    grouped,
    2e-5,
)
kernel(
    "column_sums",
    lambda: [random((100, 200), "f16", 1), random((200,), "f32", 2), (32,), (64,)],
    (4,),
    lambda x, y, *r: {1: wide(x).sum(0)},
    2e-5,
)


def quantized(x: Any, q: Any, scales: Any, tile: int) -> dict[int, Any]:
    pieces = np.concatenate([x, np.zeros((3, 56), np.float32)], 1).reshape(3, 2, 128)
    scale = np.abs(pieces).max(2) / np.float32(127)
    return {1: (pieces / scale[..., None]).astype(np.int8).reshape(3, -1)[:, :200], 2: scale}


kernel(
    "quantize",
    lambda: [random((3, 200), "f32", 1), random((3, 200), "i8", 2), random((3, 2), "f32", 3), (128,)],
    (3, 2),
    quantized,
    1e-6,
)


def summed(x: Any, y: Any, n: int, tile: int) -> dict[int, Any]:
    pieces = np.concatenate([x, np.zeros((len(x), -x.shape[1] % tile))], 1).reshape(len(x), -1, tile)
    kept = [j for j in range(pieces.shape[1]) if j % 3 != 1]
    return {1: np.concatenate([pieces[:n, kept].sum(1), y[n:]])}


kernel(
    "early_return",
    lambda: [random((6, 500), "f32", 1), random((6, 64), "f32", 2), 4, (64,)],
    (6,),
    summed,
    1e-5,
)


def skipped(a: Any, b: Any, c: Any, tm: int, tn: int, tk: int) -> dict[int, Any]:
    a, b, c = wide(a, b, c)
    for m in range(0, len(a), tm):
        steps = [k for k in range(0, a.shape[1], tk) if k <= m + tm]
        c[m : m + tm] = sum(a[m : m + tm, k : k + tk] @ b[k : k + tk] for k in steps)
    return {2: c}


kernel(
    "skip_masked_blocks",
    lambda: [random((96, 96), "f16", 1), random((96, 64), "f16", 2), random((96, 64), "f32", 3), (32,), (32,), (16,)],
    (3, 2),
    skipped,
    2e-3,
)
