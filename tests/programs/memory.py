"""Memory: strided, column-major and reordered views, padding, static shapes, gathers and scatters, tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Writer

M, N = 70, 45
ROUNDS = 6  # of loops that are to stay loops: few are written out


def copy(
    name: str,
    tile: tuple[int, int],
    kind: str = "f32",
    order: str = "row",
    padding: str | None = "zero",
    dim_map: tuple[int, int] | None = None,
    static: str = "",
    step: int = 1,
    index: str = "i32",
) -> None:
    """y = x + 1 by 2-D tiles; x is row-major, column-major, or has every `step`-th column of a wider array."""
    x_shape = (M, N * step) if order == "row" else (N, M * step)
    divide = dim_map or (0, 1)

    def source() -> str:
        w = Writer("copy", x=f"ptr<{kind}>", y=f"ptr<{kind}>", m=index, n=index, pitch=index)
        w.promise(x=16, y=16, m=1, n=1, pitch=1)
        one = w.const(step, index) if index != "i32" and step > 1 else step
        strides: list[Any] = [w.pitch, one] if order == "row" else [one, w.pitch]
        sizes: list[Any] = [w.m, w.n]
        if "shape" in static:
            sizes = [M, N]
        if "strides" in static:
            strides = [N * step, step] if order == "row" else [step, M * step]
        out: list[Any] = [N, 1]
        x = w.view(w.x, sizes, strides, tile, padding, dim_map)
        y = w.view(w.y, sizes, out, tile, None, dim_map)
        at = w.ids[:2]
        if index == "i64":
            at = [i.to("i64") for i in at]
        w.store(w.load(x, *at) + 1, y, *at)
        return w.text()

    def arguments() -> list[Any]:
        return [random(x_shape, kind, 1), random((M, N), kind, 2), M, N, x_shape[1]]

    def expected(x: Any, y: Any, *rest: Any) -> dict[int, Any]:
        read = x[:, ::step] if order == "row" else x[:, ::step].T
        return {1: read + x.dtype.type(1)}

    grid = tuple(-(-(M, N)[divide[i]] // tile[i]) for i in range(2))
    add(Program(name, source, arguments, grid, expected, {"f16": 2e-3, "bf16": 1.6e-2}.get(kind, 0.0)))


for kind in ("f32", "f16", "bf16", "i8", "i64"):
    copy(f"copy-{kind}", (32, 32), kind)
    copy(f"copy-{kind}-column-major", (32, 16), kind, "column")
copy("copy-strided", (16, 32), "f32", step=3)
copy("copy-strided-column", (16, 32), "f16", "column", step=2)
copy("copy-dim-map", (32, 16), "f32", dim_map=(1, 0))
copy("copy-dim-map-f16-column", (16, 32), "f16", "column", dim_map=(1, 0))
copy("copy-static-shape", (32, 32), "f32", static="shape")
copy("copy-static-strides", (32, 32), "f32", static="strides")
copy("copy-static-all", (16, 64), "f16", static="shape strides")
copy("copy-unpadded", (32, 32), "f32", padding=None)
copy("copy-i64-index", (32, 32), "f32", index="i64")
copy("copy-i64-index-column", (32, 32), "f16", "column", index="i64")
copy("copy-rows", (1, 64), "f32")
copy("copy-columns", (64, 1), "f32")
copy("copy-large-tile", (128, 64), "f32")


def padding(name: str, kind: str, pad: str, through_shared: bool = False) -> None:
    """Tiles that overhang, stored whole: what lies outside is the padding."""
    shape = (64, 64) if through_shared else (16, 64)

    def source() -> str:
        w = Writer("padding", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, y=16)
        x = w.load(w.view(w.x, [40, 40], [40, 1], shape, pad), 0, 0)
        w.store(
            x.T if through_shared else x,
            w.view(w.y, shape[::-1] if through_shared else shape, [64, 1], shape[::-1] if through_shared else shape),
            0,
            0,
        )
        return w.text()

    fill = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}[pad]

    def expected(x: Any, y: Any) -> dict[int, Any]:
        held = np.full((64, 64), fill, x.dtype)
        held[:40, :40] = x
        return {1: (held.T if through_shared else held)[: shape[0]]}

    add(Program(name, source, lambda: [random((40, 40), kind, 1), random(shape, kind, 2)], (1,), expected, 0.0))


for pad in ("zero", "neg_zero", "nan", "pos_inf", "neg_inf"):
    for kind in ("f32", "f16", "bf16"):
        padding(f"padding-{pad}-{kind}", kind, pad)
    padding(f"padding-{pad}-transposed", "f16", pad, True)


def gather(name: str, kind: str, masked: bool, padded: bool, index: str = "i32", rank: int = 1) -> None:
    """y[i] = x[index[i]] + 1, elements beyond n masked; in 2-D the tile is 8 x 32 of it."""
    n, block = 300, 256

    def source() -> str:
        w = Writer("gather", x=f"ptr<{kind}>", index=f"ptr<{index}>", y=f"ptr<{kind}>", n=index)
        at = (w.ids[0] * block).splat(block) + w.iota(block)
        if index != "i32":
            at = at.to(index)
        if rank == 2:
            at = at.reshape(8, 32)
        mask = at < w.n.splat(*at.shape) if masked else None
        where = w.gather(w.index[at], mask, 0 if masked or padded else None)[0]
        x = w.gather(w.x[where], mask, 7 if padded else None)[0]
        w.scatter(w.y[at], x + 1, mask)
        return w.text()

    size = n if masked else 2 * block

    def arguments() -> list[Any]:
        where = np.random.default_rng(5).integers(0, 200, size).astype(np.int64 if index == "i64" else np.int32)
        return [random((200,), kind, 1), where, random((size + 9,), kind, 2), n]

    def expected(x: Any, where: Any, y: Any, _: Any) -> dict[int, Any]:
        y[:size] = x[where] + x.dtype.type(1)
        return {2: y}

    add(Program(name, source, arguments, (2,), expected, {"f16": 2e-3, "bf16": 1.6e-2}.get(kind, 0.0)))


for kind in ("f32", "f16", "i8", "i64"):
    gather(f"gather-{kind}", kind, True, True)
gather("gather-unmasked", "f32", False, False)
gather("gather-padded-unmasked", "f32", False, True)
gather("gather-unpadded", "bf16", True, False)
gather("gather-i64-index", "f32", True, True, "i64")
gather("gather-2d", "f32", True, True, rank=2)
gather("gather-2d-f16", "f16", True, False, rank=2)


def columns(name: str, kind: str, padded: bool) -> None:
    """y[i, j] = x[j, i] for 50 of 64 rows: pointers that run along the first dimension; the others are padding."""
    rows, cols, n, pitch = 64, 32, 50, 56

    def source() -> str:
        w = Writer("columns", x=f"ptr<{kind}>", y=f"ptr<{kind}>", n="i32", pitch="i32")
        w.promise(x=16, y=16, pitch=8)
        i, j = w.iota(rows), w.iota(cols)
        mask = (i < w.n.splat(rows)).column(cols)
        x = w.gather(w.x[(j * w.pitch.splat(cols)).row(rows) + i.column(cols)], mask, 7 if padded else None)[0]
        w.scatter(w.y[(i * cols).column(cols) + j.row(rows)], x + 1, None if padded else mask)
        return w.text()

    def expected(x: Any, y: Any, *_: Any) -> dict[int, Any]:
        y[:n] = x[:, :n].T + x.dtype.type(1)
        if padded:
            y[n:] = 8
        return {1: y}

    arrays = (random((cols, pitch), kind, 1), random((rows, cols), kind, 2))
    add(Program(name, source, lambda: [*map(np.copy, arrays), n, pitch], (1,), expected, 2e-3))


columns("gather-columns", "f32", True)
columns("gather-columns-f16", "f16", False)


TOKEN_PARAMETERS = """
entry @k(%first: token, %p: tile<ptr<f32>>, %t: token, %n: tile<i32>, %q: tile<ptr<f32>>) {
  %both = join_tokens %first, %t : token
  %x, %read = load_ptr_tko weak %p token=%both : tile<ptr<f32>> -> tile<f32>, token
  %f = itof %n signed : tile<i32> -> tile<f32>
  %y = addf %x, %f : tile<f32>
  %done = store_ptr_tko weak %q, %y token=%read : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""
"""A token is no argument of a launch: it says that nothing came before."""
add(
    Program(
        "token-parameters", lambda: TOKEN_PARAMETERS, lambda: [random((1,), "f32", 1), 3, random((1,), "f32", 2)], (1,),
        lambda x, n, y: {2: x + np.float32(3)}, 0.0,
    )
)  # fmt: skip


def pointers(name: str, kind: str, tile: tuple[int, int], transposed: bool, promised: bool) -> None:
    """A 2-D tile by pointers base + row * pitch + column, masked at both edges, stored straight or transposed."""
    m, n = 50, 40

    def source() -> str:
        w = Writer("pointers", x=f"ptr<{kind}>", y=f"ptr<{kind}>", m="i32", n="i32", pitch="i32")
        if promised:
            w.promise(x=16, y=16, n=8, pitch=8)
        rows = (w.ids[0] * tile[0]).splat(tile[0]) + w.iota(tile[0])
        columns = (w.ids[1] * tile[1]).splat(tile[1]) + w.iota(tile[1])
        r, c = rows.column(tile[1]), columns.row(tile[0])
        mask = (r < w.m.splat(*tile)) & (c < w.n.splat(*tile))
        x, _ = w.gather(w.x[r * w.pitch.splat(*tile) + c], mask, 0)
        if transposed:
            w.scatter(w.y[c * w.m.splat(*tile) + r], x * 2, mask)
        else:
            w.scatter(w.y[r * w.pitch.splat(*tile) + c], x * 2, mask)
        return w.text()

    def expected(x: Any, y: Any, *rest: Any) -> dict[int, Any]:
        return {1: (x[:, :n] * 2).T} if transposed else {1: np.concatenate([x[:, :n] * 2, y[:, n:]], 1)}

    def arguments() -> list[Any]:
        return [random((m, 48), kind, 1), random((n, m) if transposed else (m, 48), kind, 2), m, n, 48]

    grid = (-(-m // tile[0]), -(-n // tile[1]))
    add(Program(name, source, arguments, grid, expected, {"f16": 2e-3}.get(kind, 0.0)))


for kind in ("f32", "f16", "i32"):
    pointers(f"pointers-{kind}", kind, (16, 32), False, True)
    pointers(f"pointers-{kind}-transposed", kind, (16, 32), True, True)
pointers("pointers-nothing-promised", "f16", (16, 32), False, False)


def scalars() -> str:
    """Loads and stores of one element through scalar pointers."""
    w = Writer("scalars", x="ptr<f32>", y="ptr<f32>", n="ptr<i64>")
    count = w.gather(w.n)[0].to("i32")
    a, b = w.gather(w.x)[0], w.gather(w.x[count])[0]
    w.scatter(w.y[w.ids[0]], a * b + w.ids[0].to("f32"))
    w.scatter(w.y[w.ids[0] + 4], a - b, a < b)
    return w.text()


def scalars_expected(x: Any, y: Any, n: Any) -> dict[int, Any]:
    y[:4] = x[0] * x[n[0]] + np.arange(4, dtype=np.float32)
    if x[0] < x[n[0]]:
        y[4:8] = x[0] - x[n[0]]
    return {1: y}


for seed in (1, 2):
    add(
        Program(
            f"scalars-{seed}",
            scalars,
            lambda s=seed: [random((20,), "f32", s), random((9,), "f32", 9), np.array([7 + s])],
            (4,),
            scalars_expected,
        )
    )


def in_place(name: str, body: Any, expected: Any, size: int = 256, kind: str = "f32") -> None:
    """A kernel on one array of `size` elements, read and written; `body(w)` orders its accesses by tokens."""

    def source() -> str:
        w = Writer("in_place", x=f"ptr<{kind}>")
        w.promise(x=16)
        body(w)
        return w.text()

    add(Program(name, source, lambda: [random((size,), kind, 1)], (1,), lambda x: {0: expected(x)}, 1e-6))


def rotate(w: Writer) -> None:
    """x[i] = x[i ^ 1] * 2: each element is read by another thread than the one that writes it."""
    at = w.iota(256)
    x, done = w.gather(w.x[at ^ 1])
    w.scatter(w.x[at], x * 2, token=done)


def reverse(w: Writer) -> None:
    """x = x[::-1] by views and pointers."""
    view = w.view(w.x, [256], [1], [256])
    x, done = w.load_token(view, 0)
    w.scatter(w.x[w.const(255, "i32", 256) - w.iota(256)], x, token=done)


def store_then_load(w: Writer) -> None:
    """What is stored first half, another thread's elements are then loaded and added."""
    view = w.view(w.x, [256], [1], [256])
    x, read = w.load_token(view, 0)
    stored = w.store(x * 2, view, 0, token=read)
    other, again = w.gather(w.x[(w.iota(256) + 37) & 255], token=stored)
    w.store(x * 2 + other, view, 0, token=again)


def chained(w: Writer, rounds: int = ROUNDS) -> None:
    """Rounds of load, shift, store in a loop, ordered by a carried token."""
    at = w.iota(256)
    with w.loop(0, rounds, carried=[w.token]) as loop:
        x, read = w.gather(w.x[(at + 1) & 255], token=loop.values[0])
        loop.values = [w.scatter(w.x[at], x * 0.5 + 1.0, token=read)]


def chained_views(w: Writer) -> None:
    """The same with views, and reading the mirrored element."""
    view = w.view(w.x, [256], [1], [256])
    with w.loop(0, ROUNDS, carried=[w.token]) as loop:
        x, first = w.load_token(view, 0, token=loop.values[0])
        y, second = w.gather(w.x[w.const(255, "i32", 256) - w.iota(256)], token=loop.values[0])
        loop.values = [w.store(x + y, view, 0, token=w.join(first, second))]


def after_loop(w: Writer) -> None:
    """A loop stores pieces, what follows reads them all."""
    piece = w.view(w.x, [256], [1], [32])
    with w.loop(0, 8, carried=[w.token]) as loop:
        x, read = w.load_token(piece, loop.counter, token=loop.values[0])
        loop.values = [w.store(x * 3, piece, loop.counter, token=read)]
    x, read = w.gather(w.x[w.const(255, "i32", 256) - w.iota(256)], token=loop.values[0])
    w.store(x, w.view(w.x, [256], [1], [256]), 0, token=read)


def mirrored(x: Any) -> Any:
    for _ in range(ROUNDS):
        x = x + x[::-1]
    return x


def shifted(x: Any, rounds: int = ROUNDS) -> Any:
    for _ in range(rounds):
        x = np.roll(x, -1) * np.float32(0.5) + np.float32(1)
    return x


in_place("in-place-swap", rotate, lambda x: x.reshape(-1, 2)[:, ::-1].reshape(-1) * 2)
in_place("in-place-reverse", reverse, lambda x: x[::-1])
in_place("in-place-store-load", store_then_load, lambda x: 2 * x + np.roll(2 * x, -37))
in_place("in-place-loop", chained, shifted)
in_place("in-place-few-trips", lambda w: chained(w, 3), lambda x: shifted(x, 3))
in_place("in-place-loop-views", chained_views, mirrored)
in_place("in-place-after-loop", after_loop, lambda x: 3 * x[::-1])


def two_stores() -> str:
    """One loaded tile, two results to two arrays and a reduced one to a third."""
    w = Writer("two", x="ptr<f16>", y="ptr<f32>", z="ptr<f16>", s="ptr<f32>", m="i32", n="i32")
    w.promise(x=16, y=16, z=16, s=4, m=1, n=8)
    view = lambda base, pad=None: w.view(base, [w.m, w.n], [w.n, 1], [16, 64], pad)  # noqa: E731
    x = w.load(view(w.x, "zero"), w.ids[0], w.ids[1])
    wide = x.to("f32")
    w.store(wide.exp(), view(w.y), w.ids[0], w.ids[1])
    w.store(-x, view(w.z), w.ids[0], w.ids[1])
    w.store(wide.reduce(1).reshape(16, 1), w.view(w.s, [w.m, 2], [2, 1], [16, 1]), w.ids[0], w.ids[1])
    return w.text()


def two_expected(x: Any, y: Any, z: Any, s: Any, *rest: Any) -> dict[int, Any]:
    wide = x.astype(np.float64)
    return {1: np.exp(wide), 2: -x, 3: np.stack([wide[:, :64].sum(1), wide[:, 64:].sum(1)], 1)}


add(
    Program(
        "two-stores",
        two_stores,
        lambda: [
            random((40, 88), "f16", 1),
            random((40, 88), "f32", 2),
            random((40, 88), "f16", 3),
            random((40, 2), "f32", 4),
            40,
            88,
        ],
        (3, 2),
        two_expected,
        2e-3,
    )
)


def assumptions() -> str:
    """Promises on tiles of pointers and integers make wide accesses; groups of eight masked alike."""
    w = Writer("assumptions", x="ptr<f16>", y="ptr<f16>", start="i32", n="i32")
    w.promise(x=16, y=16, start=8, n=8)
    at = w.start.splat(256) + w.iota(256)
    at = at.assume(ct.DivBy(8, 8, 0))
    mask = (at < w.n.splat(256)).to("i32", signed=False).assume(ct.SameElements((8,))).ne(0)
    x, _ = w.gather(w.x[at], mask, 0)
    w.scatter(w.y[at], x * 2.0, mask)
    return w.text()


add(
    Program(
        "assumptions",
        assumptions,
        lambda: [random((200,), "f16", 1), random((208,), "f16", 2), 8, 200],
        (1,),
        lambda x, y, *r: {1: np.concatenate([y[:8], x[8:] * np.float16(2), y[200:]])},
    )
)
