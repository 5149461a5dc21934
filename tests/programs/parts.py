"""Parts of tiles: extract, cat and insert, at indices known and unknown, of small and of large tiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import TileType
from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Tile, Writer

Shape = tuple[int, ...]


def whole(w: Writer, base: Tile, shape: Shape) -> Tile:
    """An array as one tile of a view."""
    return w.view(base, shape, [int(np.prod(shape[d + 1 :])) for d in range(len(shape))], shape)


def part_of(shape: Shape, part: Shape, index: Any) -> tuple[slice, ...]:
    return tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(index, part, strict=True))


def extract(name: str, shape: Shape, part: Shape, index: Shape, kind: str = "f32", known: bool = True) -> None:
    """y = the part of x + x at an index, which is a constant or read from memory."""

    def source() -> str:
        w = Writer("extract", x=f"ptr<{kind}>", at="ptr<i32>", y=f"ptr<{kind}>")
        w.promise(x=16, y=16)
        x = w.load(whole(w, w.x, shape), *[0] * len(shape))
        x = x + x if kind != "i1" else x ^ w.const(True, "i1", *shape)
        where = [w.i32(i) if known else w.gather(w.at[w.i32(d)])[0] for d, i in enumerate(index)]
        y = w.op(ct.Extract, x, *where, types=[TileType(part, x.type.element)], segments=(1, len(where)))
        w.store(y, whole(w, w.y, part), *[0] * len(shape))
        return w.text()

    def expected(x: Any, at: Any, y: Any) -> dict[int, Any]:
        found = x[part_of(shape, part, index)]
        return {2: ~found if kind == "i1" else found + found}

    arguments = lambda: [random(shape, kind, 1), np.array(index, np.int32), random(part, kind, 2)]  # noqa: E731
    add(Program(name, source, arguments, (1,), expected, 0.0))


for known in (True, False):
    word = "" if known else "-unknown"
    extract(f"extract-rows{word}", (64, 32), (16, 32), (2, 0), known=known)
    extract(f"extract-columns{word}", (32, 128), (32, 32), (0, 3), known=known)
    extract(f"extract-corner{word}", (32, 64), (8, 16), (3, 1), known=known)
    extract(f"extract-row{word}", (64, 64), (1, 64), (37, 0), known=known)
    extract(f"extract-element{word}", (1024,), (1,), (611,), known=known)
    extract(f"extract-f16{word}", (64, 64), (64, 32), (0, 1), "f16", known)
    extract(f"extract-1d-i64{word}", (256,), (64,), (1,), "i64", known)
    extract(f"extract-i1{word}", (32, 32), (16, 16), (1, 1), "i1", known)
extract("extract-large-unknown", (128, 128), (4, 128), (21, 0), known=False)


def cat(name: str, shape: Shape, dim: int, kind: str = "f32", swapped: bool = False) -> None:
    """y = x and 2 x side by side."""
    joined = tuple(2 * n if d == dim else n for d, n in enumerate(shape))

    def source() -> str:
        w = Writer("cat", x=f"ptr<{kind}>", z=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, z=16, y=16)
        zeros = [0] * len(shape)
        x, z = (w.load(whole(w, p, shape), *zeros) for p in (w.x, w.z))
        both = (z, x + x) if swapped else (x + x, z)
        w.store(w.op(ct.Cat, *both, types=[TileType(joined, x.type.element)], dim=dim), whole(w, w.y, joined), *zeros)
        return w.text()

    def expected(x: Any, z: Any, y: Any) -> dict[int, Any]:
        return {2: np.concatenate((z, x + x) if swapped else (x + x, z), dim)}

    arguments = lambda: [random(shape, kind, 1), random(shape, kind, 2), random(joined, kind, 3)]  # noqa: E731
    add(Program(name, source, arguments, (1,), expected, 0.0))


cat("cat-rows", (32, 64), 0)
cat("cat-columns", (64, 32), 1)
cat("cat-columns-f16", (32, 64), 1, "f16", True)
cat("cat-1d", (64,), 0)
cat("cat-elements", (1,), 0)
cat("cat-middle", (4, 8, 16), 1, "i32")


def rotated() -> str:
    """Rotary embedding: halves of each row taken apart, rotated, joined and reduced with a product behind it."""
    w = Writer("rotated", x="ptr<f16>", cos="ptr<f32>", sin="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, cos=16, sin=16, y=16)
    x = w.load(whole(w, w.x, (64, 64)), 0, 0)
    cos, sin = (w.load(whole(w, p, (64, 32)), 0, 0) for p in (w.cos, w.sin))
    half = TileType((64, 32), x.type.element)
    a, b = (w.op(ct.Extract, x, w.i32(0), w.i32(i), types=[half], segments=(1, 2)).to("f32") for i in range(2))
    turned = w.op(ct.Cat, a * cos - b * sin, a * sin + b * cos, types=[TileType((64, 64), cos.type.element)], dim=1)
    narrow = turned.to("f16")
    w.store(w.dot(narrow, narrow.T), whole(w, w.y, (64, 64)), 0, 0)
    return w.text()


def rotation(x: Any, cos: Any, sin: Any, y: Any) -> dict[int, Any]:
    a, b = x[:, :32].astype(np.float32), x[:, 32:].astype(np.float32)
    turned = np.concatenate((a * cos - b * sin, a * sin + b * cos), 1).astype(np.float16).astype(np.float64)
    return {3: turned @ turned.T}


add(Program(
    "parts-rotated", rotated,
    lambda: [random((64, 64), "f16", 1), random((64, 32), "f32", 2), random((64, 32), "f32", 3), random((64, 64))],
    (1,), rotation, 5e-3,
))  # fmt: skip


def insert(name: str, shape: Shape, part: Shape, index: Shape, kind: str = "f32", known: bool = True) -> None:
    """y = x with a part replaced by z."""

    def source() -> str:
        w = Writer("insert", x=f"ptr<{kind}>", z=f"ptr<{kind}>", at="ptr<i32>", y=f"ptr<{kind}>")
        w.promise(x=16, z=16, y=16)
        zeros = [0] * len(shape)
        x, z = w.load(whole(w, w.x, shape), *zeros), w.load(whole(w, w.z, part), *zeros)
        where = [w.i32(i) if known else w.gather(w.at[w.i32(d)])[0] for d, i in enumerate(index)]
        y = w.op(ct.Insert, z, x, *where, segments=(1, 1, len(where)))
        w.store(y, whole(w, w.y, shape), *zeros)
        return w.text()

    def expected(x: Any, z: Any, at: Any, y: Any) -> dict[int, Any]:
        found = x.copy()
        found[part_of(shape, part, index)] = z
        return {3: found}

    arguments = lambda: [  # noqa: E731
        random(shape, kind, 1),
        random(part, kind, 2),
        np.array(index, np.int32),
        random(shape, kind, 3),
    ]
    add(Program(name, source, arguments, (1,), expected, 0.0))


for known in (True, False):
    word = "" if known else "-unknown"
    insert(f"insert-rows{word}", (64, 32), (16, 32), (2, 0), known=known)
    insert(f"insert-columns{word}", (32, 64), (32, 16), (0, 3), "f16", known)
    insert(f"insert-corner{word}", (32, 64), (8, 16), (3, 1), known=known)
    insert(f"insert-row{word}", (32, 64), (1, 64), (19, 0), "i32", known)
    insert(f"insert-element{word}", (32, 64), (1, 1), (3, 5), known=known)
insert("insert-few", (128, 128), (2, 2), (21, 62))
insert("insert-few-planes-unknown", (8, 16, 16), (1, 4, 16), (5, 2, 0), "f16", known=False)
insert("insert-element-i8-unknown", (256,), (1,), (200,), "i8", known=False)
