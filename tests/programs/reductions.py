"""Reductions over each dimension of 1-D, 2-D and 3-D tiles by every combiner; broadcasts of what is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import I32, I64, TileType
from tests.programs.program import TOLERANCE, Program, add, random
from tilesat.fuzz.writer import Tile, Writer

Body = Callable[[Tile], Tile]
FOLDS: dict[str, Callable[..., Any]] = {
    "add": np.add.reduce,
    "mul": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
    "and": np.bitwise_and.reduce,
    "or": np.bitwise_or.reduce,
    "xor": np.bitwise_xor.reduce,
}


def strides_of(shape: tuple[int, ...]) -> list[int]:
    """Row-major strides."""
    found = [1]
    for extent in reversed(shape[1:]):
        found.insert(0, found[0] * extent)
    return found


def whole(
    name: str,
    shape: tuple[int, ...],
    kind: str,
    body: Body,
    expected: Callable[[Any], Any] | None,
    tolerance: float | None = None,
    scale: float = 1.0,
) -> None:
    """y = body(x) for one tile that covers the array of static shape; y takes whatever shape comes out."""
    out: list[tuple[tuple[int, ...], str]] = []

    def source() -> str:
        w = Writer("whole", x=f"ptr<{kind}>", y=f"ptr<{out_kind()}>")
        w.promise(x=16, y=16)
        x = w.load(w.view(w.x, shape, strides_of(shape), shape), *[0] * len(shape))
        y = body(x)
        if not y.shape:
            y = y.reshape(1)
        w.store(y, w.view(w.y, y.shape, strides_of(y.shape), y.shape), *[0] * len(y.shape))
        return w.text()

    def result() -> tuple[tuple[int, ...], str]:
        if not out:
            w = Writer("shape", x=f"ptr<{kind}>")
            y = body(w.load(w.view(w.x, shape, strides_of(shape), shape), *[0] * len(shape)))
            out.append((y.shape or (1,), str(y.type.element)))
        return out[0]

    def out_kind() -> str:
        return result()[1]

    def arguments() -> list[Any]:
        result_shape, result_kind = result()
        return [random(shape, kind, 1, scale), random(result_shape, result_kind, 2)]

    def numpy_says(x: Any, y: Any) -> dict[int, Any]:
        assert expected is not None
        return {1: np.asarray(expected(x)).astype(y.dtype).reshape(y.shape)}

    allowed = TOLERANCE.get(kind, 0.0) if tolerance is None else tolerance
    add(Program(name, source, arguments, (1,), numpy_says if expected else None, allowed))


def fold(name: str, shape: tuple[int, ...], kind: str, dim: int, how: str = "add", **more: Any) -> None:
    def expected(x: Any) -> Any:
        wide = x if kind.startswith("i") else x.astype(np.float64)
        with np.errstate(all="ignore"):
            return FOLDS[how](wide, axis=dim, dtype=x.dtype if kind.startswith("i") else np.float64)

    whole(name, shape, kind, lambda x: x.reduce(dim, how), expected, **more)


for how in ("add", "mul", "max", "min"):
    fold(f"reduce-1d-f32-{how}", (512,), "f32", 0, how, scale=1.0 if how != "mul" else 0.3, tolerance=2e-5)
    fold(f"reduce-2d-f32-{how}-rows", (32, 64), "f32", 1, how, tolerance=2e-5)
    fold(f"reduce-2d-f32-{how}-columns", (32, 64), "f32", 0, how, tolerance=2e-5)
for kind in ("i32", "i64", "i16", "i8"):
    for how in ("add", "max", "min", "mul", "and", "or", "xor"):
        fold(f"reduce-1d-{kind}-{how}", (256,), kind, 0, how)
    fold(f"reduce-2d-{kind}-columns", (16, 64), kind, 0)
    fold(f"reduce-2d-{kind}-rows", (64, 16), kind, 1, "max")
for kind in ("f16", "bf16"):
    fold(f"reduce-1d-{kind}", (256,), kind, 0, scale=0.1, tolerance=3e-2)
    fold(f"reduce-2d-{kind}-max", (16, 128), kind, 1, "max")
    fold(f"reduce-2d-{kind}-columns", (16, 128), kind, 0, scale=0.1, tolerance=3e-2)
for how in ("and", "or", "xor"):
    fold(f"reduce-i1-{how}", (8, 64), "i1", 1, how)
for shape in ((1,), (2,), (16,), (32,), (64,), (128,), (4096,), (16384,)):
    fold(f"reduce-1d-{shape[0]}", shape, "f32", 0, tolerance=3e-5)
for shape, dim in (
    ((1, 1024), 1),
    ((1024, 1), 0),
    ((1024, 1), 1),
    ((2, 2), 0),
    ((128, 128), 0),
    ((128, 128), 1),
    ((4, 8, 16), 0),
    ((4, 8, 16), 1),
    ((4, 8, 16), 2),
    ((64, 256), 1),
    ((256, 64), 0),
    ((2, 4, 8, 16), 2),
):
    fold(f"reduce-{'x'.join(map(str, shape))}-{dim}", shape, "f32", dim, tolerance=3e-5)

whole("reduce-all-2d", (32, 64), "f32", lambda x: x.reduce(1).reduce(0), lambda x: x.sum(dtype=np.float64), 2e-5)
whole(
    "reduce-all-2d-other-way", (32, 64), "f32", lambda x: x.reduce(0).reduce(0), lambda x: x.sum(dtype=np.float64), 2e-5
)
whole("reduce-flattened", (16, 64), "f32", lambda x: x.reshape(1024).reduce(0), lambda x: x.sum(dtype=np.float64), 2e-5)
whole(
    "reduce-and-broadcast-rows",
    (16, 64),
    "f32",
    lambda x: x - x.reduce(1, "max").column(64),
    lambda x: x - x.max(1, keepdims=True),
)
whole(
    "reduce-and-broadcast-columns",
    (16, 64),
    "f32",
    lambda x: x - x.reduce(0, "max").row(16),
    lambda x: x - x.max(0, keepdims=True),
)
whole(
    "reduce-both-ways",
    (32, 32),
    "f32",
    lambda x: x.reduce(0).row(32) + x.reduce(1).column(32),
    lambda x: x.sum(0, keepdims=True) + x.sum(1, keepdims=True),
)
whole(
    "softmax-columns",
    (64, 32),
    "f32",
    lambda x: (lambda p: p / p.reduce(0).row(64))((x - x.reduce(0, "max").row(64)).exp()),
    lambda x: np.exp(x - x.max(0)) / np.exp(x - x.max(0)).sum(0),
)
whole(
    "variance",
    (8, 256),
    "f32",
    lambda x: (lambda c: (c * c).reduce(1) * (1 / 256))(x - (x.reduce(1) * (1 / 256)).column(256)),
    lambda x: x.astype(np.float64).var(1),
)
whole(
    "argmax-by-hand",
    (128,),
    "f32",
    lambda x: x.eq(x.reduce(0, "max").splat(128)).where(x.writer.iota(128), 128).reduce(0, "min"),
    lambda x: np.argmax(x),
)
whole("count", (8, 32), "f32", lambda x: (x > 0.0).to("i32", signed=False).reduce(1), lambda x: (x > 0).sum(1))
whole("any-row", (8, 32), "f32", lambda x: (x > 2.0).reduce(1, "or"), lambda x: (x > 2).any(1))
whole("permuted", (32, 64), "f32", lambda x: x.T, lambda x: x.T)
whole("permuted-f16", (64, 32), "f16", lambda x: x.T + 1.0, lambda x: x.T + np.float16(1))
whole("permuted-i8", (64, 32), "i8", lambda x: x.T, lambda x: x.T)
whole("permuted-i64", (16, 32), "i64", lambda x: x.T * 3, lambda x: x.T * 3)
whole("permuted-i1", (16, 32), "i1", lambda x: x.T, lambda x: x.T)
whole("permuted-3d", (4, 8, 16), "f32", lambda x: x.permute(2, 0, 1), lambda x: x.transpose(2, 0, 1))
whole("permuted-3d-back", (4, 8, 16), "f32", lambda x: x.permute(2, 0, 1).permute(1, 2, 0) * 2.0, lambda x: x * 2)
whole("permuted-added", (32, 32), "f32", lambda x: x + x.T, lambda x: x + x.T)
whole("permuted-reduced", (32, 64), "f32", lambda x: x.T.reduce(0), lambda x: x.sum(1, dtype=np.float64))
whole("reshaped", (32, 64), "f32", lambda x: x.reshape(64, 32) + 1.0, lambda x: x.reshape(64, 32) + 1)
whole(
    "reshaped-reduced",
    (32, 64),
    "f32",
    lambda x: x.reshape(32, 4, 16).reduce(1),
    lambda x: x.reshape(32, 4, 16).sum(1, dtype=np.float64),
)
whole(
    "reshaped-permuted",
    (8, 64),
    "f32",
    lambda x: x.reshape(8, 4, 16).permute(1, 0, 2).reshape(32, 16),
    lambda x: x.reshape(8, 4, 16).transpose(1, 0, 2),
)
whole("row-broadcast", (64,), "f32", lambda x: x.row(16) * 2.0, lambda x: np.broadcast_to(x * 2, (16, 64)))
whole(
    "column-broadcast", (64,), "f32", lambda x: x.column(16) * 2.0, lambda x: np.broadcast_to(x[:, None] * 2, (64, 16))
)
whole("column-broadcast-f16", (32,), "f16", lambda x: x.column(64), lambda x: np.broadcast_to(x[:, None], (32, 64)))
whole("outer-product", (32,), "f32", lambda x: x.column(32) * x.row(32), lambda x: np.outer(x, x))
whole(
    "middle-broadcast",
    (4, 1, 16),
    "f32",
    lambda x: x.broadcast(4, 8, 16) + 1.0,
    lambda x: np.broadcast_to(x + 1, (4, 8, 16)),
)
whole("scalar-splat", (1,), "f32", lambda x: x.reshape().splat(8, 32) * 2.0, lambda x: np.broadcast_to(x * 2, (8, 32)))
whole("iota-added", (256,), "i32", lambda x: x + x.writer.iota(256), lambda x: x + np.arange(256))
whole("iota-i64", (256,), "i64", lambda x: x * x.writer.iota(256, "i64"), lambda x: x * np.arange(256))
whole("iota-i8", (64,), "i8", lambda x: x + x.writer.iota(64, "i8"), lambda x: x + np.arange(64))
whole(
    "iota-2d",
    (16, 32),
    "i32",
    lambda x: x + x.writer.iota(16).column(32) * 32 + x.writer.iota(32).row(16),
    lambda x: x + np.arange(512).reshape(16, 32),
)
whole(
    "triangle",
    (32, 32),
    "f32",
    lambda x: (x.writer.iota(32).column(32) >= x.writer.iota(32).row(32)).where(x, -np.inf),
    lambda x: np.where(np.tri(32, dtype=bool), x, -np.inf),
)


def rows_at_once(name: str, shape: tuple[int, int], kind: str) -> None:
    """A softmax over whole rows held in registers."""

    def softmax(x: Tile) -> Tile:
        wide = x if kind == "f32" else x.to("f32")
        power = (wide - wide.reduce(1, "max").column(shape[1])).exp()
        result = power / power.reduce(1).column(shape[1])
        return result if kind == "f32" else result.to(kind)

    def expected(x: Any) -> Any:
        wide = x.astype(np.float64)
        power = np.exp(wide - wide.max(1, keepdims=True))
        return power / power.sum(1, keepdims=True)

    whole(name, shape, kind, softmax, expected)


rows_at_once("softmax-row-4096", (1, 4096), "f32")
rows_at_once("softmax-row-16384", (1, 16384), "f32")
rows_at_once("softmax-row-16384-f16", (1, 16384), "f16")
rows_at_once("softmax-row-32768", (1, 32768), "f32")
rows_at_once("softmax-rows-64x256", (64, 256), "f32")
rows_at_once("softmax-row-32768-f16", (1, 32768), "f16")


def outside() -> None:
    """The maximum, but at most a number that follows from the tile block and an address: the combiner asks for both."""
    scalar = TileType((), I64)

    def source() -> str:
        w = Writer("reduce-outside", x="ptr<i64>", y="ptr<i64>")

        def join(a: list[Tile], b: list[Tile]) -> list[Tile]:
            block = Tile(w, w.builder.add(ct.GetTileBlockId, types=[TileType((), I32)] * 3).results[0]).to("i64")
            first, fourth = (w.op(ct.PtrToInt, w.x[w.i32(k)], types=[scalar]) for k in (0, 3))
            return [a[0].max(b[0]).min(fourth - first + block * 500)]

        at = w.iota(64) + (w.ids[0] * 64).splat(64)
        w.scatter(w.y[at], w.fold([w.gather(w.x[at])[0]], 0, join, [-(1 << 63)])[0].splat(64))
        return w.text()

    def expected(x: Any, y: Any) -> dict[int, Any]:
        most = np.minimum(x.reshape(2, 64).max(1), [24, 524])
        assert list(most) == [24, 524]
        return {1: np.repeat(most, 64)}

    def arguments() -> list[Any]:
        return [random((128,), "i64", 1), random((128,), "i64", 2)]

    add(Program("reduce-outside", source, arguments, (2,), expected, 0.0))


outside()
