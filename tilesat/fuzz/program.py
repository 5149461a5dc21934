"""A program with what it is run on, and random numbers for its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from tilesat.spec import Argument, Array

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32, "f64": np.float64, "tf32": np.float32,
          "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
          "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}  # fmt: skip
TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 1e-5, "f64": 1e-12}
"""Relative beyond 1, absolute below: one rounding of the narrow formats, some of f32 in another order."""


@dataclass(frozen=True)
class Program:
    """`source()` is Tile IR text or bytecode; `arguments()` makes fresh random arrays and scalars.

    `expected` maps copies of the arguments to {position: array}, what NumPy says of those arguments after the run.
    """

    name: str
    source: Callable[[], str | bytes]
    arguments: Callable[[], list[Argument | int | float]]
    grid: tuple[int, ...] = (1,)
    expected: Callable[..., dict[int, Array]] | None = None
    tolerance: float = 1e-5
    steps: int = 8
    """Iterations of its longest loop, at most: each may round once more where loops are done another way."""


@dataclass(frozen=True)
class Random:
    """Random numbers as an argument: `random` with these."""

    shape: tuple[int, ...]
    kind: str = "f32"
    seed: int = 0
    scale: float = 1.0

    def __str__(self) -> str:
        scaled = f", {self.scale}" if self.scale != 1.0 else ""
        return f'random({self.shape}, "{self.kind}", {self.seed}{scaled})'


@dataclass(frozen=True)
class Made(Program):
    """A program whose arguments can be written down: numbers, arrays, and random numbers by their seeds.

    apart: threads read in global memory what others wrote, which shows where warps also run far apart.
    """

    data: tuple[Random | Array | int | float, ...] = ()
    apart: bool = False


def of(
    name: str,
    source: Callable[[], str],
    data: Sequence[Random | Array | int | float],
    grid: tuple[int, ...] = (1,),
    tolerance: float = 0.0,
    expected: Callable[..., dict[int, Array]] | None = None,
    apart: bool = False,
) -> Made:
    """A program with these arguments."""

    def arguments() -> list[Argument | int | float]:
        return [made(each) for each in data]

    return Made(name, source, arguments, grid, expected, tolerance, data=tuple(data), apart=apart)


def made(given: Random | Array | int | float) -> Array | int | float:
    """An argument, fresh."""
    if isinstance(given, Random):
        return random(given.shape, given.kind, given.seed, given.scale)
    return given.copy() if isinstance(given, np.ndarray) else given


def random(shape: Sequence[int], kind: str = "f32", seed: int = 0, scale: float = 1.0) -> Array:
    """Random numbers, never the same for two shapes, types or seeds: normal floats, integers of a few digits."""
    rng = np.random.default_rng([seed, *shape, *kind.encode()])
    if kind == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind == "f8E8M0FNU":
        return np.exp2(rng.integers(-6, 7, shape)).astype(DTYPES[kind])
    if kind.startswith("i"):
        bound = 100 if kind == "i8" else 1000
        return rng.integers(-bound, bound, shape).astype(DTYPES[kind])
    found = (rng.standard_normal(shape) * scale).astype(DTYPES[kind])
    if kind == "tf32":  # numbers that tf32 holds: 10 bits of mantissa
        found = (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return found
