"""Atomic updates, strong loads and stores, views of overlapping tiles, gathers and scatters through views."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from ir.types import TOKEN, GatherScatterViewType, StridedViewType, TensorViewType
from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Tile, Writer

N, BLOCK = 300, 128
STRONG = {"order": ct.MemoryOrder.RELAXED, "scope": ct.Scope.DEVICE}
FOLDS: dict[str, Any] = {
    "add": np.add, "addf": np.add, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "max": np.maximum, "min": np.minimum, "umax": np.maximum, "umin": np.minimum,
}  # fmt: skip


def folded(mode: str, into: Any, at: Any, values: Any) -> Any:
    """NumPy's unbuffered update."""
    found = into.copy()
    if mode.startswith("u"):
        FOLDS[mode].at(found.view(f"u{found.itemsize}"), at, values.view(f"u{values.itemsize}"))
    else:
        FOLDS[mode].at(found, at, values)
    return found


def counting(name: str, mode: str, kind: str, bins: int = 37) -> None:
    """bins[at[i]] is updated by x[i]: many elements of a tile and of all tiles meet in one bin."""

    def source() -> str:
        w = Writer("counting", x=f"ptr<{kind}>", at="ptr<i32>", bins=f"ptr<{kind}>", n="i32")
        i = (w.ids[0] * BLOCK).splat(BLOCK) + w.iota(BLOCK)
        inside = i < w.n.splat(BLOCK)
        at = w.gather(w.at[i], inside, 0)[0]
        w.update(w.bins[at], w.gather(w.x[i], inside, 0)[0], mode=mode, mask=inside)
        return w.text()

    def arguments() -> list[Any]:
        at = np.random.default_rng(5).integers(0, bins, N).astype(np.int32)
        x, held = random((N,), kind, 1), random((bins,), kind, 2)
        return [x, at, (np.round(held * 8) / 8).astype(held.dtype) if kind.startswith("f") else held, N]

    def expected(x: Any, at: Any, held: Any, n: int) -> dict[int, Any]:
        return {2: folded(mode, held, at, x)}

    add(Program(name, source, arguments, (-(-N // BLOCK),), expected, {"f16": 3e-2}.get(kind, 1e-5)))


for mode in ("add", "max", "min", "umax", "umin", "and", "or", "xor"):
    counting(f"atomic-{mode}-i32", mode, "i32")
counting("atomic-add-i64", "add", "i64")
counting("atomic-umax-i64", "umax", "i64")
counting("atomic-add-f32", "addf", "f32")
counting("atomic-add-f16", "addf", "f16")


def old_values(name: str, shape: tuple[int, ...], kind: str, mode: str) -> None:
    """y = what the update found, in tiles smaller and larger than the block has threads: replicas must agree."""
    size = int(np.prod(shape))

    def source() -> str:
        w = Writer("old", x=f"ptr<{kind}>", held=f"ptr<{kind}>", y=f"ptr<{kind}>")
        w.promise(x=16, held=16, y=16)
        i = w.iota(size).reshape(*shape)
        x = w.gather(w.x[i])[0]
        mask = (i & 3).ne(1)
        found, _ = w.update(w.held[i], x, mode=mode, mask=mask)
        w.scatter(w.y[i], mask.where(found, x))
        return w.text()

    def expected(x: Any, held: Any, y: Any) -> dict[int, Any]:
        mask = np.arange(size) % 4 != 1
        new = x if mode == "xchg" else held + x
        return {1: np.where(mask, new, held), 2: np.where(mask, held, x)}

    arguments = lambda: [random((size,), kind, seed) for seed in (1, 2, 3)]  # noqa: E731
    add(Program(name, source, arguments, (1,), expected, {"f16": 2e-3}.get(kind, 1e-6)))


for shape in ((8,), (128,), (16, 64)):
    text = "x".join(map(str, shape))
    old_values(f"atomic-old-{text}", shape, "i32", "add")
old_values("atomic-old-f32", (64,), "f32", "addf")
old_values("atomic-old-xchg", (256,), "i64", "xchg")


def pairs(name: str, masked: bool) -> None:
    """Sums of 16-bit floats: neighbours go in pairs; the old values are used."""

    def source() -> str:
        w = Writer("pairs", x="ptr<f16>", held="ptr<f16>", y="ptr<f16>")
        w.promise(x=16, held=16, y=16)
        i = w.iota(1024)
        mask = i < w.const(768, "i32", 1024) if masked else None
        found, token = w.update(w.held[i], w.gather(w.x[i])[0], mode="addf", mask=mask)
        w.scatter(w.y[i], found, mask, token=token)
        return w.text()

    def expected(x: Any, held: Any, y: Any) -> dict[int, Any]:
        n = 768 if masked else 1024
        return {1: np.concatenate((held[:n] + x[:n], held[n:])), 2: np.concatenate((held[:n], y[n:]))}

    arguments = lambda: [random((1024,), "f16", seed) for seed in (1, 2, 3)]  # noqa: E731
    add(Program(name, source, arguments, (1,), expected, 2e-3))


pairs("atomic-pairs", False)
pairs("atomic-pairs-masked", True)


def ticket() -> str:
    """Each tile block draws a number, and stores its tile where it says: a scalar result that all threads use."""
    w = Writer("ticket", counter="ptr<i32>", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    mine, token = w.update(w.counter, w.const(1, "i32"), mode="add", order="acq_rel")
    i = w.iota(64)
    x = w.gather(w.x[(w.ids[0] * 64).splat(64) + i], token=token)[0]
    w.scatter(w.y[(mine * 64).splat(64) + i], x, token=token)
    return w.text()


add(Program(
    "atomic-ticket", ticket,
    lambda: [np.zeros(1, np.int32), random((4, 64), "f32", 1), random((4, 64), "f32", 2)], (4,),
    lambda counter, x, y: {0: np.array([4]), 1: x}, 0.0,
))  # fmt: skip


def swap(name: str, kind: str, size: int = 64, mask: str = "") -> None:
    """held = new where it is what was expected; the found value tells, and is the guess where the mask is false.

    Source: Tile IR, atomic_cas_tko.
    """
    taken = {"": np.full(size, True), "some": np.arange(size) % 4 != 1, "none": np.full(size, False)}[mask]

    def source() -> str:
        w = Writer("swap", guess=f"ptr<{kind}>", new=f"ptr<{kind}>", held=f"ptr<{kind}>", y=f"ptr<{kind}>")
        i = w.iota(size)
        guess, new = (w.gather(p[i])[0] for p in (w.guess, w.new))
        inside = {"": None, "some": (i & 3).ne(1), "none": i < 0}[mask]
        found, _ = w.update(w.held[i], guess, new, order="acq_rel", mask=inside)
        w.scatter(w.y[i], found)
        return w.text()

    def arguments() -> list[Any]:
        held = random((size,), kind, 1)
        guess = np.where(np.arange(size) % 3 == 0, held, random((size,), kind, 2)).astype(held.dtype)
        return [guess, random((size,), kind, 3), held, random((size,), kind, 4)]

    def expected(guess: Any, new: Any, held: Any, y: Any) -> dict[int, Any]:
        return {2: np.where(taken & (guess == held), new, held), 3: np.where(taken, held, guess)}

    add(Program(name, source, arguments, (1,), expected, 0.0))


for kind in ("i32", "i64", "f32", "f64"):
    swap(f"compare-and-swap-{kind}", kind)
    swap(f"compare-and-swap-masked-{kind}", kind, mask="some")
swap("compare-and-swap-few", "i32", 8, "some")
swap("compare-and-swap-many", "f32", 1024, "some")
swap("compare-and-swap-nowhere", "i64", 64, "none")


def lock(name: str, asks: bool) -> None:
    """One scalar compare-and-swap a block, which the mask allows or not; every thread uses what it found."""

    def source() -> str:
        w = Writer("lock", held="ptr<i32>", x="ptr<i32>", y="ptr<i32>", asks="i32")
        found, _ = w.update(w.held, w.const(5, "i32"), w.const(9, "i32"), mask=w.asks.ne(0))
        i = w.iota(256)
        w.scatter(w.y[i], w.gather(w.x[i])[0] + found.splat(256))
        return w.text()

    def expected(held: Any, x: Any, y: Any, asks: int) -> dict[int, Any]:
        return {0: held, 2: x + (held if asks else 5)}

    arguments = lambda: [np.array([7], np.int32), *(random((256,), "i32", s) for s in (1, 2)), int(asks)]  # noqa: E731
    add(Program(name, source, arguments, (1,), expected, 0.0))


lock("compare-and-swap-scalar", True)
lock("compare-and-swap-scalar-masked", False)


def flags(name: str, load: str, store: str, view: bool, masked: bool = True) -> None:
    """y = 2 x by strong accesses, through pointers or views; `masked`: the last tile overhangs."""
    size = N if masked else -(-N // BLOCK) * BLOCK

    def source() -> str:
        w = Writer("flags", x="ptr<f32>", y="ptr<f32>", n="i32")
        w.promise(x=16, y=16, n=4)
        how = [{"order": ct.MemoryOrder[o.upper()], "scope": ct.Scope.DEVICE} for o in (load, store)]
        if view:
            x, y = (w.view(p, [w.n], [1], [BLOCK], pad) for p, pad in ((w.x, "neg_inf"), (w.y, None)))
            loaded, token = w.load_token(x, w.ids[0], **how[0])
            w.store(loaded * 2, y, w.ids[0], token=token, **how[1])
        else:
            i = (w.ids[0] * BLOCK).splat(BLOCK) + w.iota(BLOCK)
            inside = i < w.n.splat(BLOCK) if masked else None
            loaded, token = w.gather(w.x[i], inside, 3.0, **how[0])
            w.scatter(w.y[i], loaded * 2, inside, token=token, **how[1])
        return w.text()

    arguments = lambda: [random((size,), "f32", 1), random((size,), "f32", 2), N]  # noqa: E731
    add(Program(name, source, arguments, (-(-N // BLOCK),), lambda x, y, n: {1: 2 * x}, 0.0))


flags("strong-pointers", "acquire", "release", False)
flags("strong-pointers-unmasked", "relaxed", "release", False, False)
flags("strong-views", "relaxed", "relaxed", True)
flags("strong-views-acquire", "acquire", "release", True)


def reduced_view(name: str, mode: str, kind: str, shape: tuple[int, int] = (40, 50)) -> None:
    """held += x by tiles that overhang."""

    def source() -> str:
        w = Writer("red", x=f"ptr<{kind}>", held=f"ptr<{kind}>", m="i32", n="i32")
        w.promise(x=16, held=16, m=1, n=1)
        x, held = (w.view(p, [w.m, w.n], [w.n, 1], [16, 32], pad) for p, pad in ((w.x, "zero"), (w.held, None)))
        tile = w.load(x, w.ids[0], w.ids[1])
        at = [held.value, w.ids[0].value, w.ids[1].value, tile.value, w.token.value]
        w.builder.add(ct.AtomicRedView, *at, types=[TOKEN], segments=(1, 2, 1, 1), mode=ct.AtomicMode[mode], **STRONG)
        return w.text()

    def expected(x: Any, held: Any, *rest: Any) -> dict[int, Any]:
        return {1: np.maximum(x, held) if mode == "MAX" else x + held}

    arguments = lambda: [random(shape, kind, 1), random(shape, kind, 2), *shape]  # noqa: E731
    add(Program(name, source, arguments, (3, 2), expected, 1e-6))


reduced_view("atomic-view-f32", "ADDF", "f32")
reduced_view("atomic-view-i32", "MAX", "i32")


def other_view(w: Writer, base: Tile, sizes: list[Any], strides: list[Any], cls: Any, kind: Any) -> Tile:
    """A view of tiles by `cls`; `kind` makes its type of the array's."""
    static = lambda given: tuple(None if isinstance(x, Tile) else x for x in given)  # noqa: E731
    dynamic = [[x for x in given if isinstance(x, Tile)] for given in (sizes, strides)]
    whole = TensorViewType(static(sizes), base.type.element.pointee, static(strides))
    array = w.op(
        ct.MakeTensorView, base, *dynamic[0], *dynamic[1], types=[whole],
        segments=(1, len(dynamic[0]), len(dynamic[1])),
    )  # fmt: skip
    return w.op(cls, array, types=[kind(whole)])


def overlapping() -> str:
    """Windows of 8 x 16 every 4 rows and 8 columns, each written to a tile of its own; padded beyond the edge."""
    w = Writer("windows", x="ptr<f32>", y="ptr<f32>", m="i32", n="i32")
    w.promise(x=16, y=16, m=1, n=1)
    kind = lambda whole: StridedViewType((8, 16), (4, 8), whole, (0, 1), "neg_inf")  # noqa: E731
    x = other_view(w, w.x, [w.m, w.n], [w.n, 1], ct.MakeStridedView, kind)
    counts = w.tiles(x)
    tile = w.load(x, w.ids[0], w.ids[1])
    at = w.ids[0] * counts[1] + w.ids[1]
    y = w.view(w.y, [320, 16], [16, 1], [8, 16])
    w.store(tile, y, at, 0)
    return w.text()


def windows(x: Any, y: Any, m: int, n: int) -> dict[int, Any]:
    rows, columns = -(-m // 4), -(-n // 8)
    padded = np.full((4 * rows + 8, 8 * columns + 16), -np.inf, np.float32)
    padded[:m, :n] = x
    found = y.copy()
    for i in range(rows):
        for j in range(columns):
            at = 8 * (i * columns + j)
            found[at : at + 8] = padded[4 * i : 4 * i + 8, 8 * j : 8 * j + 16]
    return {1: found}


add(Program(
    "strided-view", overlapping, lambda: [random((22, 37), "f32", 1), random((320, 16), "f32", 2), 22, 37], (6, 5),
    windows, 0.0,
))  # fmt: skip


def rows_by_index(name: str, kind: str, scatter: bool, sparse: int) -> None:
    """y[i] = x[index[i]] or y[index[i]] = x[i] by rows (or columns) of a gather-scatter view."""
    m, n = (48, 64) if sparse == 0 else (64, 48)

    def source() -> str:
        w = Writer("rows", x=f"ptr<{kind}>", index="ptr<i32>", y=f"ptr<{kind}>", m="i32")
        w.promise(x=16, index=16, y=16, m=1)
        tile = (16, 32) if sparse == 0 else (32, 16)
        index = w.load(w.view(w.index, [32], [1], [16]), w.ids[0])
        sizes: list[Any] = [w.m, n] if sparse == 0 else [m, n]
        view = lambda p, pad: other_view(  # noqa: E731
            w, p, sizes, [n, 1], ct.MakeGatherScatterView, lambda whole: GatherScatterViewType(tile, whole, sparse, pad)
        )
        plain = lambda p: w.view(p, [32, 64] if sparse == 0 else [64, 32], [64 if sparse == 0 else 32, 1], tile)  # noqa: E731
        start = w.ids[1] * 32
        at, dense = ([index, start], [w.ids[0], w.ids[1]]) if sparse == 0 else ([start, index], [w.ids[1], w.ids[0]])
        if scatter:
            w.store(w.load(plain(w.x), *dense), view(w.y, None), *at)
        else:
            w.store(w.load(view(w.x, "zero"), *at), plain(w.y), *dense)
        return w.text()

    small = (32, 64) if sparse == 0 else (64, 32)

    def arguments() -> list[Any]:
        index = np.random.default_rng(3).permutation(48)[:32].astype(np.int32)
        shapes = (small, (m, n)) if scatter else ((m, n), small)
        return [random(shapes[0], kind, 1), index, random(shapes[1], kind, 2), 40 if sparse == 0 else m]

    def expected(x: Any, index: Any, y: Any, rows: int) -> dict[int, Any]:
        found = y.copy()
        inside = index < (rows if sparse == 0 else n)
        if scatter and sparse == 0:
            found[index[inside]] = x[inside]
        elif scatter:
            found[:, index] = x
        elif sparse == 0:
            found[:] = np.where(inside[:, None], x[index], x.dtype.type(0))
        else:
            found[:] = x[:, index]
        return {2: found}

    add(Program(name, source, arguments, (2, 2), expected, 0.0))


for scatter in (False, True):
    word = "scatter" if scatter else "gather"
    rows_by_index(f"{word}-view", "f32", scatter, 0)
    rows_by_index(f"{word}-view-f16", "f16", scatter, 0)
    rows_by_index(f"{word}-view-columns", "f32", scatter, 1)
