"""Random inputs for every example, and NumPy's results in double precision.

Arrays are allocated with a row pitch and a spare row; what lies outside the logical array holds NaN, so a read beyond
the edge spoils the result, and a write beyond it is seen because the whole allocation is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Array = np.ndarray[Any, Any]

F16_TOLERANCE, F32_TOLERANCE = 2e-3, 1e-5
"""What the project promises: f16 inputs summed in f32 over K <= 512, and f32 softmax."""


@dataclass(frozen=True)
class Case:
    """One launch: `expected` gives, from the arguments, the logical part of the output argument `output`."""

    example: str
    shape: tuple[int, ...]
    grid: tuple[int, ...]
    arguments: list[Any]
    output: int
    expected: Array
    tolerance: float
    extents: dict[int, tuple[int, ...]]
    """The logical shape of each array argument, by position."""

    @property
    def source(self) -> Path:
        return EXAMPLES / f"{self.example}.mlir"

    def logical(self, arguments: list[Any]) -> Array:
        """The part of the output that the kernel owns."""
        return arguments[self.output][tuple(slice(extent) for extent in self.expected.shape)]

    def outside_untouched(self, arguments: list[Any]) -> bool:
        """Nothing was written beyond the logical output, nor to any input."""
        kept = arguments[self.output].copy()
        kept[tuple(slice(extent) for extent in self.expected.shape)] = np.nan
        inputs = [k for k, a in enumerate(self.arguments) if isinstance(a, np.ndarray) and k != self.output]
        same = all(np.array_equal(arguments[k], self.arguments[k], equal_nan=True) for k in inputs)
        return same and bool(np.isnan(kept).all())

    def as_cutile(self, arguments: list[Any]) -> list[Any]:
        """The same launch as cuTile passes it: each array as pointer, sizes, strides, then the float scalars."""
        given: list[Any] = []
        for position, argument in enumerate(arguments):
            if position in self.extents:
                strides = [stride // argument.itemsize for stride in argument.strides]
                given += [argument, *self.extents[position], *strides]
            elif isinstance(argument, float):
                given.append(argument)
        return given

    def fresh(self) -> list[Any]:
        """The arguments, arrays copied."""
        return [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]


def padded(data: Array, pitch: int) -> Array:
    """`data` in the corner of an allocation with `pitch` columns and one more row, NaN around it."""
    held = np.full((data.shape[0] + 1, pitch), np.nan, data.dtype)
    held[: data.shape[0], : data.shape[1]] = data
    return held


def blank(rows: int, pitch: int) -> Array:
    return np.full((rows + 1, pitch), np.nan, np.float32)


def heads_apart(data: Array, pitch: int) -> Array:
    """Heads one after the other, rows with `pitch` columns, NaN after each row and in one more head."""
    heads, rows, columns = data.shape
    held = np.full((heads + 1, rows, pitch), np.nan, data.dtype)
    held[:heads, :, :columns] = data
    return held


def up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def vecadd(example: str, n: int) -> Case:
    rng = np.random.default_rng(n)
    a, b = (np.append(rng.standard_normal(n).astype(np.float32), np.float32(np.nan)) for _ in range(2))
    c = np.full(n + 5, np.nan, np.float32)
    expected = a[:n].astype(np.float64) + b[:n]
    return Case(example, (n,), (up(n, 1024) // 1024,), [a, b, c, n], 2, expected, 1e-7, dict.fromkeys(range(3), (n,)))


def gemm(m: int, n: int, k: int) -> Case:
    rng = np.random.default_rng([m, n, k])
    a, b = (rng.standard_normal((rows, k)).astype(np.float16) for rows in (m, n))
    c = rng.standard_normal((m, n)).astype(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64).T + c
    half, single = up(k, 8) + 8, up(n, 4) + 4
    arrays = [padded(a, half), padded(b, half), padded(c, single), blank(m, single)]
    sizes = [m, n, k, half, half, single, single]
    grid = (up(m, 128) // 128, up(n, 128) // 128)
    extents = {0: (m, k), 1: (n, k), 2: (m, n), 3: (m, n)}
    return Case("gemm", (m, n, k), grid, arrays + sizes, 3, expected, F16_TOLERANCE, extents)


def gemm_negated(m: int, n: int, k: int) -> Case:
    """The scaled operand is rounded to f16 as the source says, before the product."""
    rng = np.random.default_rng([n, m, k])
    a, b = (rng.standard_normal((rows, k)).astype(np.float16) for rows in (m, n))
    s = rng.standard_normal(k).astype(np.float16)
    expected = (a * -s[None, :]).astype(np.float64) @ b.astype(np.float64).T
    half, single = up(k, 8), up(n, 4) + 4
    held = np.append(s, np.float16(np.nan))
    arrays = [padded(a, half), padded(b, half), held, blank(m, single)]
    grid = (up(m, 128) // 128, up(n, 128) // 128)
    arguments = [*arrays, m, n, k, half, half, single]
    extents = {0: (m, k), 1: (n, k), 2: (k,), 3: (m, n)}
    return Case("gemm_negated", (m, n, k), grid, arguments, 3, expected, F16_TOLERANCE, extents)


def softmax(m: int, n: int) -> Case:
    rng = np.random.default_rng([m, n])
    x = (rng.standard_normal((m, n)) * 4).astype(np.float32)
    power = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    pitch = up(n, 4) + 4
    arguments = [padded(x, pitch), blank(m, pitch), m, n, pitch, pitch]
    expected = power / power.sum(1, keepdims=True)
    return Case("softmax", (m, n), (m,), arguments, 1, expected, F32_TOLERANCE, {0: (m, n), 1: (m, n)})


def layernorm(m: int, n: int) -> Case:
    rng = np.random.default_rng([n, m])
    x = (rng.standard_normal((m, n)) * 2 + 1).astype(np.float32)
    weight, bias = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    pitch = up(n, 4) + 4
    held = [np.append(v, np.float32(np.nan)) for v in (weight, bias)]
    arguments = [padded(x, pitch), *held, blank(m, pitch), m, n, pitch, pitch, 1e-5]
    extents = {0: (m, n), 1: (n,), 2: (n,), 3: (m, n)}
    return Case("layernorm", (m, n), (m,), arguments, 3, expected, F32_TOLERANCE, extents)


def flash_attention(heads: int, m: int, n: int) -> Case:
    """Values follow their keys, so that the rows of the result differ; the scores are up to some tens."""
    rng = np.random.default_rng([heads, m, n])
    q, k, v = (rng.standard_normal((heads, rows, 64)).astype(np.float16) for rows in (m, n, n))
    v += k
    scale = 0.25
    score = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * scale
    power = np.exp(score - score.max(-1, keepdims=True))
    expected = power / power.sum(-1, keepdims=True) @ v.astype(np.float64)
    out = np.full((heads + 1, m, 64 + 16), np.nan, np.float16)
    arrays = [heads_apart(each, 64 + 8) for each in (q, k, v)] + [out]
    pitches = [each.shape[2] for each in arrays]
    extents = {0: q.shape, 1: k.shape, 2: k.shape, 3: q.shape}
    arguments = [*arrays, heads, m, n, *pitches, scale]
    grid = (up(m, 128) // 128, heads)
    return Case("flash_attention", (heads, m, n), grid, arguments, 3, expected, F16_TOLERANCE, extents)


QUICK: dict[str, Callable[[], Case]] = {
    "vecadd_ptr-3000": lambda: vecadd("vecadd_ptr", 3000),
    "vecadd_view-3000": lambda: vecadd("vecadd_view", 3000),
    "gemm-200x136x72": lambda: gemm(200, 136, 72),
    "gemm-130x96x56": lambda: gemm(130, 96, 56),
    "gemm_negated-200x136x72": lambda: gemm_negated(200, 136, 72),
    "softmax-3x1000": lambda: softmax(3, 1000),
    "layernorm-2x2500": lambda: layernorm(2, 2500),
    "flash_attention-2x200x100": lambda: flash_attention(2, 200, 100),
}
"""Shapes that are no multiples of the tile."""

RAGGED: dict[str, Callable[[], Case]] = {
    "gemm-130x100x50": lambda: gemm(130, 100, 50),
    "gemm-1x3x5": lambda: gemm(1, 3, 5),
    "gemm_negated-130x100x50": lambda: gemm_negated(130, 100, 50),
}
"""Rows that end inside a 16-byte copy: the cuTile sources promise nothing about sizes, the texts multiples of 8."""

SWEEP: dict[str, Callable[[], Case]] = {
    **QUICK,
    "vecadd_ptr-1": lambda: vecadd("vecadd_ptr", 1),
    "vecadd_ptr-2048": lambda: vecadd("vecadd_ptr", 2048),
    "vecadd_view-1": lambda: vecadd("vecadd_view", 1),
    "vecadd_view-2048": lambda: vecadd("vecadd_view", 2048),
    "gemm-128x128x64": lambda: gemm(128, 128, 64),
    "gemm-256x128x192": lambda: gemm(256, 128, 192),
    "gemm-128x128x512": lambda: gemm(128, 128, 512),
    "gemm-1x8x8": lambda: gemm(1, 8, 8),
    "gemm_negated-128x128x64": lambda: gemm_negated(128, 128, 64),
    "gemm_negated-128x256x512": lambda: gemm_negated(128, 256, 512),
    "gemm_negated-130x96x56": lambda: gemm_negated(130, 96, 56),
    "softmax-2x1024": lambda: softmax(2, 1024),
    "softmax-4x7": lambda: softmax(4, 7),
    "layernorm-2x1024": lambda: layernorm(2, 1024),
    "layernorm-2x17": lambda: layernorm(2, 17),
    "flash_attention-1x128x64": lambda: flash_attention(1, 128, 64),
    "flash_attention-2x256x320": lambda: flash_attention(2, 256, 320),
    "flash_attention-3x1x1": lambda: flash_attention(3, 1, 1),
    "flash_attention-1x129x65": lambda: flash_attention(1, 129, 65),
}
