"""Literals whose elements differ, of every type and rank, and arrays of the module."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.program import DTYPES, Program, add, random
from tilesat.fuzz.writer import Writer


def literal(name: str, kind: str, shape: tuple[int, ...], looped: bool = False) -> None:
    """y = x chosen by a literal or, where bits are not numbers to add, the literal itself."""
    numbers = random(shape, kind, 7)
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]

    def source() -> str:
        w = Writer("literal", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, y=16)
        views = [w.view(base, list(shape), strides, list(shape)) for base in (w.x, w.y)]
        at = [0] * len(shape)
        if looped:
            with w.loop(0, 5, carried=[w.load(views[0], *at)]) as loop:
                loop.values = [loop.values[0] + w.const(numbers, kind, *shape)]
            w.store(loop.values[0], views[1], *at)
            return w.text()
        x, fixed = w.load(views[0], *at), w.const(numbers, kind, *shape)
        w.store(x ^ fixed if kind == "i1" else x + fixed, views[1], *at)
        return w.text()

    def expected(x: Any, y: Any) -> dict[int, Any]:
        if looped:
            return {1: x + numbers + numbers + numbers + numbers + numbers}
        return {1: x ^ numbers if kind == "i1" else x + numbers}

    add(Program(name, source, lambda: [random(shape, kind, 1), random(shape, kind, 2)], expected=expected))


for kind in ("f32", "f16", "bf16", "f64", "i1", "i8", "i16", "i32", "i64"):
    literal(f"literal-{kind}", kind, (256,))
for shape in ((2,), (4, 4), (2, 2), (8, 16), (4, 8, 4), (64, 32), (1024,)):
    literal(f"literal-{'x'.join(map(str, shape))}", "f32", shape)
literal("literal-looped", "f32", (16, 32), looped=True)


def bytes_of_floats() -> str:
    w = Writer("narrow", y="ptr<f32>")
    w.promise(y=16)
    w.store(w.const(random((64,), "f8E4M3FN", 4), "f8E4M3FN", 64).to("f32"), w.view(w.y, [64], [1], [64]), 0)
    return w.text()


add(Program(
    "literal-f8", bytes_of_floats, lambda: [random((64,), "f32", 1)],
    expected=lambda y: {0: random((64,), "f8E4M3FN", 4).astype(np.float32)},
))  # fmt: skip


def transposed() -> str:
    """A literal in the layout of another tile's transpose, and the same numbers twice: one array."""
    numbers = random((32, 16), "f32", 3)
    w = Writer("transposed", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    x = w.load(w.view(w.x, [16, 32], [32, 1], [16, 32]), 0, 0)
    sum_ = x.T + w.const(numbers, "f32", 32, 16)
    w.store(
        sum_.T * w.const(numbers.ravel(), "f32", 512).reshape(16, 32), w.view(w.y, [16, 32], [32, 1], [16, 32]), 0, 0
    )
    return w.text()


def transposed_says(x: Any, y: Any) -> dict[int, Any]:
    numbers = random((32, 16), "f32", 3)
    return {1: (x + numbers.T) * numbers.reshape(16, 32)}


add(Program(
    "literal-transposed", transposed, lambda: [random((16, 32), "f32", 1), random((16, 32), "f32", 2)],
    expected=transposed_says,
))  # fmt: skip


def product() -> str:
    """A literal operand of a matrix product: fragments from the module's array."""
    w = Writer("product", x="ptr<f16>", y="ptr<f32>")
    w.promise(x=16, y=16)
    x = w.load(w.view(w.x, [32, 32], [32, 1], [32, 32]), 0, 0)
    w.store(
        w.dot(x, w.const(random((32, 32), "f16", 5), "f16", 32, 32)), w.view(w.y, [32, 32], [32, 1], [32, 32]), 0, 0
    )
    return w.text()


add(Program(
    "literal-product", product, lambda: [random((32, 32), "f16", 1), random((32, 32), "f32", 2)],
    expected=lambda x, y: {1: x.astype(np.float64) @ random((32, 32), "f16", 5).astype(np.float64)}, tolerance=2e-3,
))  # fmt: skip


def table(name: str, kind: str, alignment: int = 0) -> None:
    """y[i] = table[x[i] mod 64]; a second table of the same numbers is an array of its own."""
    numbers = random((64,), kind, 9)

    def source() -> str:
        w = Writer("lookup", x="ptr<i32>", y=f"ptr<{kind}>", n="i32")
        w.promise(x=16, y=16, n=1)
        first, second = (w.array(each, numbers, kind, alignment) for each in ("table", "other"))
        at = w.load(w.view(w.x, [w.n], [1], [128]), w.ids[0]) & 63
        found = (at < 32).where(w.gather(first[at])[0], w.gather(second[at])[0])
        w.store(found, w.view(w.y, [w.n], [1], [128]), w.ids[0])
        return w.text()

    def expected(x: Any, y: Any, n: int) -> dict[int, Any]:
        return {1: numbers[x & 63].astype(DTYPES[kind])}

    add(Program(name, source, lambda: [random((500,), "i32", 1), random((500,), kind, 2), 500], (4,), expected))


for kind in ("f32", "f16", "i8", "i64"):
    table(f"global-{kind}", kind)
table("global-aligned", "f32", alignment=256)


def counted() -> str:
    """A global that the kernel writes: one tile block puts numbers into it and reads them back."""
    w = Writer("counted", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    kept = w.array("kept", random((128,), "f32", 6), "f32")[w.iota(128)]
    old, seen = w.gather(kept)
    done = w.scatter(kept, old + w.load(w.view(w.x, [128], [1], [128]), 0), token=seen)
    w.store(w.gather(kept, token=done)[0], w.view(w.y, [128], [1], [128]), 0)
    return w.text()


add(Program(
    "global-written", counted, lambda: [random((128,), "f32", 1), random((128,), "f32", 2)],
    expected=lambda x, y: {1: x + random((128,), "f32", 6)},
))  # fmt: skip


def signalling(name: str, kind: str, integer: str, bits: int) -> None:
    """The bits of a NaN that signals, alone, as a tile of one number and among others, stored as integers."""
    source = f"""
entry @k(%p: tile<ptr<{integer}>>, %f: tile<ptr<{kind}>>) {{
  %start = make_token : token
  %i = iota : tile<4xi32>
  %r = reshape %p : tile<ptr<{integer}>> -> tile<1xptr<{integer}>>
  %b = broadcast %r : tile<1xptr<{integer}>> -> tile<4xptr<{integer}>>
  %at = offset %b, %i : tile<4xptr<{integer}>>, tile<4xi32> -> tile<4xptr<{integer}>>
  %four = constant <i32: 4> : tile<4xi32>
  %next = offset %at, %four : tile<4xptr<{integer}>>, tile<4xi32> -> tile<4xptr<{integer}>>
  %one = constant <{kind}: 0x{bits:X}> : tile<4x{kind}>
  %many = constant <{kind}: [1.0, 0x{bits:X}, 2.0, 0x{bits:X}]> : tile<4x{kind}>
  %x = bitcast %one : tile<4x{kind}> -> tile<4x{integer}>
  %y = bitcast %many : tile<4x{kind}> -> tile<4x{integer}>
  %t1 = store_ptr_tko weak %at, %x token=%start : tile<4xptr<{integer}>>, tile<4x{integer}> -> token
  %t2 = store_ptr_tko weak %next, %y token=%start : tile<4xptr<{integer}>>, tile<4x{integer}> -> token
  %alone = constant <{kind}: 0x{bits:X}> : tile<{kind}>
  %t3 = store_ptr_tko weak %f, %alone token=%start : tile<ptr<{kind}>>, tile<{kind}> -> token
}}
"""
    dtype = DTYPES[integer]
    held = np.array([bits], f"u{dtype().itemsize}").view(dtype)[0]

    def expected(p: Any, f: Any) -> dict[int, Any]:
        one, two = (np.asarray(x, DTYPES[kind]).view(dtype)[()] for x in (1.0, 2.0))
        return {0: np.array([held] * 4 + [one, held, two, held], dtype)}

    add(Program(name, lambda: source, lambda: [random((8,), integer, 1), random((1,), kind, 2)], (1,), expected, 0.0))


for kind, integer, bits in (
    ("f32", "i32", 0x7F800001), ("f16", "i16", 0xFD55), ("bf16", "i16", 0x7F81), ("f64", "i64", 0x7FF0000000000001),
):  # fmt: skip
    signalling(f"literal-signalling-{kind}", kind, integer, bits)
