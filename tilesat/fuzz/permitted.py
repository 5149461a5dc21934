"""Random programs on which permissions have something to do: passes over rows in pieces, sums and maxima that loops
carry, exponentials below a maximum, attention, moments, scaled products, quotients and roots, fused sums, branches on
computed numbers; masks, promises, mixed types, special values, loops of few iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ir.dialects import cuda_tile as ct
from tilesat.fuzz.program import DTYPES, Made, of
from tilesat.fuzz.writer import Tile, Writer
from tilesat.spec import Array

T = TypeVar("T")
INF = float("inf")
LOG2E = 1.4426950408889634
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 6e4, -6e4, 1e30, 1.0)
LEFT_OUT = ("window", "begin", "hole")
"""Masks that leave out whole tiles at first."""
TRIPS = (0, 1, 2, 3, 4, 5, 6, 7, 8)


class PermittedWriter:
    """Writes one program. special: arrays have infinities, NaNs, subnormals, rows of nothing but -inf, and masks leave
    out whole tiles; else all numbers are finite, and of each tile something is left in every row.
    """

    def __init__(self, seed: int, special: bool):
        self.finite = not special
        self.rng = np.random.default_rng([seed, 17])
        self.special = special
        self.data: dict[str, tuple[str, Array]] = {}
        self.rows = int(self.pick((1, 4, 8, 16, 32)))
        self.width = int(self.pick((16, 32, 64, 128)))
        self.trips = int(self.pick(TRIPS))
        self.known = bool(self.rng.integers(3))
        self.family = str(self.pick(tuple(FAMILIES)))

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, one_in: int = 2) -> bool:
        """Once in so many times."""
        return not self.rng.integers(one_in)

    # --- arguments

    def numbers(self, shape: Sequence[int], kind: str = "f32", scale: float = 1.0, rows: bool = True) -> Array:
        """Random numbers; special ones among them, and rows (the first dimension) of nothing but one of them."""
        found = self.rng.standard_normal(tuple(shape)) * scale
        if self.special and self.chance(2):
            many = self.rng.random(found.shape) < self.pick((0.02, 0.3))
            found = np.where(many, self.pick((-np.inf, *SPECIALS)), found)
        if self.special and rows and found.ndim > 1 and self.chance(2):
            for row in range(found.shape[0]):
                if self.chance(3):
                    a, b = sorted(self.rng.integers(0, found.shape[1] + 1, 2).tolist())
                    span = self.pick((slice(None), slice(a, b), slice(0, self.width)))
                    found[row, span] = self.pick((-np.inf,) * len(SPECIALS) + SPECIALS)
        with np.errstate(all="ignore"):
            return found.astype(DTYPES[kind])

    def argument(
        self, name: str, shape: Sequence[int], kind: str = "f32", scale: float = 1.0, rows: bool = True
    ) -> None:
        """One more array that is read."""
        self.data[name] = kind, self.numbers(shape, kind, scale, rows)

    def output(self, name: str, shape: Sequence[int], kind: str = "f32") -> None:
        """One more array that is written."""
        self.data[name] = kind, np.full(tuple(shape), 77).astype(DTYPES[kind])

    def begin(self) -> Writer:
        """The entry, with all arguments so far as parameters and its number of iterations behind them."""
        w = Writer("permitted", **{name: f"ptr<{kind}>" for name, (kind, _) in self.data.items()}, n="i32")
        w.promise(**dict.fromkeys(self.data, 16))
        self.w = w
        self.bound = w.i32(self.trips) if self.known else w.n
        return w

    def view(self, name: str, tile: Sequence[int], padding: str = "zero") -> Tile:
        """An array in tiles."""
        shape = self.data[name][1].shape
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
        return self.w.view(self.w.args[name], shape, strides, tile, padding)

    def whole(self, name: str) -> Tile:
        """An array as one tile."""
        shape = self.data[name][1].shape
        return self.w.load(self.view(name, shape), *[0] * len(shape))

    def put(self, tile: Tile, name: str) -> None:
        """Store a tile as a whole array."""
        shape = self.data[name][1].shape
        self.w.store(tile, self.view(name, shape), *[0] * len(shape))

    def program(self, name: str) -> Made:
        """What is written, with its arguments."""
        FAMILIES[self.family](self)
        text = self.w.text()
        return of(name, lambda: text, [*(x for _, x in self.data.values()), self.trips], tolerance=0.0)

    # --- parts

    def literal(self) -> float:
        """A number that rules look for, or another one."""
        return float(self.pick((0.5, 2.0, 0.125, LOG2E, 0.3, -1.5, 1.0, 0.0, -0.0, 0.08838834764831845)))

    def mask_of(self, counter: Tile, size: int) -> Tile:
        """Of a piece of `width` columns: those before `size`, or before the row's own number."""
        columns = self.w.iota(self.width) + (counter * self.width).splat(self.width)
        shape = self.rng.integers(4)
        if shape < 2:
            return (columns < size).row(self.rows)
        if shape == 2 and not self.finite:
            return (columns >= self.width + 3).row(self.rows)
        rows = self.w.iota(self.rows).column(self.width)
        return columns.row(self.rows).compare(ct.Predicate.LESS_THAN_OR_EQUAL, rows * int(self.pick((1, 3, 7))))

    def prologue(self, x: Tile, ways: Sequence[int]) -> Tile:
        """What is made of a loaded piece, the same in each pass."""
        for way in ways:
            if way == 0:
                x = x * 0.3
            elif way == 1:
                x = x * x + 0.5
            elif way == 2:
                x = x.max(-3.0)
            elif way == 3:
                x = -x
            elif way == 4:
                x = x.to("bf16").to("f32")
        return x

    def power(self, x: Tile, base_two: bool) -> Tile:
        """An exponential."""
        return x.exp2() if base_two else x.exp()

    def guarded(self, m: Tile) -> Tile:
        """A maximum, or 0 where it is that of nothing."""
        return m.eq(-INF).where(self.w.like(0.0, m), m)

    # --- families

    def softmax(self) -> None:
        """Maximum, sum of exponentials and perhaps the quotients or sums of products, in passes over pieces."""
        rows, width, kind = self.rows, self.width, str(self.pick(("f32", "f32", "f16", "bf16")))
        size = max(1, self.trips) * width - int(self.pick((0, 0, 3, width // 2)))
        self.argument("x", (rows, size), kind, float(self.pick((1.0, 4.0, 30.0))))
        weighed = self.chance(3)
        if weighed:
            self.argument("v", (rows, size), "f32", rows=False)
        self.output("m", (rows,))
        self.output("l", (rows,))
        third = self.chance()
        if third:
            self.output("y", (rows, max(1, self.trips) * width), str(self.pick(("f32", "f16"))))
        w = self.begin()
        masked, padding = self.chance(), str(self.pick(("zero", "neg_inf")))
        start, outer = float(self.pick((-INF, -INF, -3e38, 0.0))), int(self.rng.integers(0, 1 << 30))
        ways = [int(each) for each in self.rng.integers(0, 5, self.rng.integers(0, 3))]
        scale, base_two, guard = float(self.pick((1.0, 0.25, LOG2E))), self.chance(3), self.chance()
        term_mask = masked and self.chance(3)
        x = self.view("x", (rows, width), padding)

        def piece(j: Tile) -> Tile:
            self.rng = np.random.default_rng(outer)
            found = self.prologue(w.load(x, 0, j).to("f32") if kind != "f32" else w.load(x, 0, j), ways)
            return self.mask_of(j, size).where(found, -INF) if masked else found

        with w.loop(0, self.bound, carried=[w.const(start, "f32", rows)]) as first:
            first.values = [first.values[0].max(piece(first.counter).reduce(1, "max"))]
        (m,) = first.values
        level = self.guarded(m) if guard else m

        def term(j: Tile) -> Tile:
            found = piece(j) - level.column(width)
            found = self.power(found * scale if scale != 1.0 else found, base_two)
            return self.mask_of(j, size).where(found, 0.0) if term_mask else found

        with w.loop(0, self.bound, carried=[w.const(0.0, "f32", rows)]) as second:
            p = term(second.counter)
            if weighed and not third:
                p = p * w.load(self.view("v", (rows, width)), 0, second.counter)
            second.values = [second.values[0] + p.reduce(1, "add")]
        (total,) = second.values
        self.put(m, "m")
        self.put(total.log() + m if self.rng.integers(3) == 0 and not weighed else total, "l")
        if third:
            y = self.view("y", (rows, width))
            with w.loop(0, self.bound) as last:
                p = term(last.counter) / total.column(width)
                if weighed:
                    p = p * w.load(self.view("v", (rows, width)), 0, last.counter)
                w.store(p.to(self.data["y"][0]) if self.data["y"][0] != "f32" else p, y, 0, last.counter)

    def scores(self, q: Tile, k: Tile, scale: float) -> Tile:
        """Of queries and a block of keys."""
        s = self.w.dot(q, k.T)
        return s * scale if scale != 1.0 else s

    def seen(self, shape: str, columns: Tile, rows: int, keys: int, limit: int) -> Tile:
        """[rows, n] x i1: which of the keys with these numbers the rows look at, by the shape of a mask."""
        (n,) = columns.shape
        if shape == "causal":
            return columns.row(rows) <= self.w.iota(rows).column(n)
        if shape == "window":
            return columns.row(rows) >= (self.w.iota(rows) * (keys // rows)).column(n)
        if shape == "begin":
            return (columns >= keys - limit).row(rows)
        if shape == "hole":
            return (columns.compare(ct.Predicate.LESS_THAN, n) | (columns >= 3 * n)).row(rows)
        return (columns < limit).row(rows)

    def attention(self) -> None:
        """Attention: in passes over blocks of keys, over a whole row of scores, or written online."""
        m, d, n = int(self.pick((16, 64))), int(self.pick((16, 32, 64))), int(self.pick((16, 32, 64)))
        way = str(self.pick(("passes", "row", "online", "online")))
        if way == "row":
            n, self.trips = int(self.pick((128, 256))), 1
        keys = max(1, self.trips) * n
        kind = str(self.pick(("f16", "f16", "bf16")))
        self.argument("q", (m, d), kind, rows=False)
        self.argument("k", (keys, d), kind)
        self.argument("v", (keys, d), kind, rows=False)
        self.output("o", (m, d))
        self.output("l", (m,))
        w = self.begin()
        q, scale, base_two = self.whole("q"), float(self.pick((1.0, 0.125, 0.125 * LOG2E))), self.chance()
        masked, guard, divided = self.chance(), self.chance(), self.chance()
        kv, vv = self.view("k", (n, d)), self.view("v", (n, d))
        limit = keys - int(self.pick((0, 1, n // 2, n - 1) if self.finite else (0, 1, n // 2, n, keys)))
        shape = str(self.pick(("end", "end", "causal", *(() if self.finite and way != "row" else LEFT_OUT))))
        guard = guard or (masked and shape in LEFT_OUT and way == "online")  # else NaN, or not where steps are joined

        def score(j: Tile) -> Tile:
            s = self.scores(q, w.load(kv, j, 0), scale)
            if not masked:
                return s
            mask = self.seen(shape, w.iota(n) + (j * n).splat(n), m, keys, limit)
            return mask.where(s, -INF)

        if way == "row":
            s = score(w.i32(0))
            level = s.reduce(1, "max")
            p = self.power(s - (self.guarded(level) if guard else level).column(n), base_two)
            total = p.reduce(1, "add")
            p = p / total.column(n) if divided else p
            o = w.dot(p.to(kind), w.load(vv, 0, 0))
            self.put(o if divided else o / total.column(d), "o")
            self.put(total, "l")
        elif way == "passes":
            with w.loop(0, self.bound, carried=[w.const(-INF, "f32", m)]) as first:
                first.values = [first.values[0].max(score(first.counter).reduce(1, "max"))]
            level = self.guarded(first.values[0]) if guard else first.values[0]
            with w.loop(0, self.bound, carried=[w.const(0.0, "f32", m)]) as second:
                p = self.power(score(second.counter) - level.column(n), base_two)
                second.values = [second.values[0] + p.reduce(1, "add")]
            (total,) = second.values
            with w.loop(0, self.bound, carried=[w.const(0.0, "f32", m, d)]) as third:
                p = self.power(score(third.counter) - level.column(n), base_two)
                p = p / total.column(n) if divided else p
                third.values = [w.dot(p.to(kind), w.load(vv, third.counter, 0), third.values[0])]
            (o,) = third.values
            self.put(o if divided else o / total.column(d), "o")
            self.put(total, "l")
        else:
            begin = [w.const(-INF, "f32", m), w.const(0.0, "f32", m), w.const(0.0, "f32", m, d)]
            with w.loop(0, self.bound, carried=begin) as loop:
                before, total, o = loop.values
                s = score(loop.counter)
                after = before.max(s.reduce(1, "max"))
                level = self.guarded(after) if guard else after
                p, f = self.power(s - level.column(n), base_two), self.power(before - level, base_two)
                loop.values = [
                    after,
                    total * f + p.reduce(1, "add"),
                    w.dot(p.to(kind), w.load(vv, loop.counter, 0), o * f.column(d)),
                ]
            after, total, o = loop.values
            self.put(o / total.column(d), "o")
            self.put(after + (total.log2() if base_two else total.log()), "l")

    def moments(self) -> None:
        """A mean, and squares about it, in passes over pieces; the end of the last may be masked."""
        rows, width = self.rows, self.width
        short = int(self.pick((0, 0, 1, width // 2, width - 1))) if self.trips else 0
        size = max(1, self.trips) * width - short
        self.argument("x", (rows, size), str(self.pick(("f32", "f32", "f16"))), float(self.pick((1.0, 100.0))))
        self.output("q", (rows,))
        self.output("t", (rows,))
        w = self.begin()
        x = self.view("x", (rows, width))
        tiles = w.tiles(x)[1] if self.trips else self.bound
        shift, masked, kind = float(self.pick((0.0, 3.0))), short > 0 or self.chance(), self.data["x"][0]

        def piece(j: Tile) -> Tile:
            found = w.load(x, 0, j)
            return found.to("f32") if kind != "f32" else found

        with w.loop(0, tiles, carried=[w.const(0.0, "f32", rows, width)]) as first:
            first.values = [first.values[0] + piece(first.counter)]
        t = first.values[0].reduce(1, "add")
        centre = t * (1.0 / size) + shift
        with w.loop(0, tiles, carried=[w.const(0.0, "f32", rows, width)]) as second:
            away = piece(second.counter) - centre.column(width)
            if masked:
                columns = w.iota(width) + (second.counter * width).splat(width)
                away = (columns < size).row(rows).where(away, 0.0)
            second.values = [second.values[0] + away * away]
        q = second.values[0].reduce(1, "add") * (1.0 / size)
        self.put(q, "q")
        self.put((q + 1e-5).rsqrt() if self.chance() else t, "t")

    def lanes(self) -> None:
        """Folds of tiles that a loop carries, of several kinds, some with a factor; two folds side by side."""
        rows, width = self.rows, self.width
        steps = max(1, self.trips)
        self.argument("x", (rows, steps * width), str(self.pick(("f32", "f32", "f16"))))
        self.argument("f", (rows,), rows=False)
        self.data["i"] = "i32", self.rng.integers(-1000, 1000, (rows, steps * width)).astype(np.int32)
        for name, kind in (("a", "f32"), ("b", "f32"), ("c", "i32"), ("d", "i32")):
            self.output(name, (rows,), kind)
        w = self.begin()
        x, i, f, kind = self.view("x", (rows, width)), self.view("i", (rows, width)), self.whole("f"), self.data["x"][0]
        factor, low, minimum = self.chance(), float(self.pick((-INF, 0.0))), self.chance()
        start = [
            w.const(low, "f32", rows),
            w.const(float(self.pick((0.0, -0.0))), "f32", rows),
            w.const(0, "i32", rows),
            w.const(int(self.pick((0, -(1 << 31)))), "i32", rows),
        ]
        with w.loop(0, self.bound, carried=start) as loop:
            tile, whole = w.load(x, 0, loop.counter), w.load(i, 0, loop.counter)
            tile = tile.to("f32") if kind != "f32" else tile
            a, b, c, d = loop.values
            fold = tile.reduce(1, "min" if minimum else "max")
            loop.values = [
                a.min(fold) if minimum else a.max(fold),
                (b * f if factor else b) + (tile * tile if self.chance() else tile).reduce(1, "add"),
                c + whole.reduce(1, "add"),
                d.max(whole.reduce(1, "max")),
            ]
        for name, value in zip("abcd", loop.values, strict=True):
            self.put(value, name)

    def products(self) -> None:
        """Products that a loop adds up, of factors that are scaled by row or column, converted, or negated."""
        m, n, k = (int(self.pick((16, 32, 64))) for _ in range(3))
        kind, steps = str(self.pick(("f16", "bf16"))), max(1, self.trips)
        stored = str(self.pick((kind, "i8"))) if not self.special else kind
        self.argument("a", (m, steps * k), kind, rows=False)
        self.data["b"] = (
            (stored, self.rng.integers(-9, 9, (steps * k, n)).astype(np.int8))
            if stored == "i8"
            else (kind, self.numbers((steps * k, n), kind, rows=False))
        )
        for name, size in (
            ("s", m),
            ("t", n),
        ):  # an infinite scale makes NaN of factors of both signs, or keeps a sum's
            self.argument(name, (size,), rows=False)
            self.data[name][1][np.isinf(self.data[name][1])] = 2.0
        self.output("y", (m, n))
        w = self.begin()
        av, bv, s, t = self.view("a", (m, k)), self.view("b", (k, n)), self.whole("s"), self.whole("t")
        left, right, negated = self.chance(), self.chance(), self.chance(3)
        s_rows, t_rows = s.reshape(m, 1), t.reshape(1, n)
        with w.loop(0, self.bound, carried=[w.const(0.0, "f32", m, n)]) as loop:
            a, b = w.load(av, 0, loop.counter), w.load(bv, loop.counter, 0)
            a = (a.to("f32") * s_rows.broadcast(m, k)).to(kind) if left else a
            b = (b.to("f32") * t_rows.broadcast(k, n)).to(kind) if right else b.to(kind) if stored == "i8" else b
            loop.values = [w.dot(-a if negated else a, b, loop.values[0])]
        y = loop.values[0]
        y = -y if self.chance(3) else y
        self.put(y * 0.5 + t.row(m) if self.chance() else y, "y")

    def straight(self) -> None:
        """Chains of elementwise operations, scales by row and column, folds, scans, conversions, selects."""
        rows, width = self.rows, self.width
        for name in "abc":
            self.argument(name, (rows, width))
        self.argument("r", (rows,), rows=False)
        self.argument("s", (width,), rows=False)
        state = self.rng.bit_generator.state
        kinds: list[tuple[tuple[int, ...], str]] = []
        for again in (False, True):
            self.rng.bit_generator.state = state
            if again:
                for place, (shape, kind) in enumerate(kinds):
                    self.output(f"y{place}", shape, kind)
            self.begin()
            pool = [self.whole(name) for name in "abc"]
            scales = [self.whole("r").column(width), self.whole("s").row(rows)]
            for _ in range(int(self.rng.integers(3, 12))):
                self.step(pool, scales)
            last = pool[-3:]
            kinds = [(each.shape, str(each.type.element)) for each in last]
            for place, each in enumerate(last if again else ()):
                self.put(each, f"y{place}")

    def step(self, pool: list[Tile], scales: Sequence[Tile]) -> None:
        """One more tile of f32, of the same shape as all."""
        w, (rows, width) = self.w, pool[0].shape
        tiles = [each for each in pool if each.shape == (rows, width) and str(each.type.element) == "f32"]
        a, b, c = (tiles[-1 - int(self.rng.integers(0, min(4, len(tiles))))] for _ in range(3))
        scale = self.pick(scales)
        number = self.literal()
        made: list[Callable[[], Tile]] = [
            lambda: a * b + c, lambda: c - a * b, lambda: a * b - c, lambda: w.op(ct.Fma, a, b, c), lambda: a + number,
            lambda: number - a if number else w.like(0.0, a) - a, lambda: a * scale, lambda: (a * scale) * number,
            lambda: (a - b) * number, lambda: ((a - b) * number).min(10.0).exp(), lambda: a.min(5.0).exp(),
            lambda: a.min(5.0).exp2(), lambda: ((a * scale) * LOG2E - c).min(5.0).exp2(), lambda: a / b,
            lambda: a / scale, lambda: a / (scale.absf() + 1.0), lambda: w.like(1.0, a) / a.absf().sqrt(),
            lambda: a.absf().sqrt(), lambda: (a * a + 1e-5).rsqrt(), lambda: -(a + b), lambda: -(a - b),
            lambda: -w.op(ct.Fma, a, b, c), lambda: a * w.like(0.0, a) + b, lambda: w.op(ct.Fma, a, w.like(0.0, a), b),
            lambda: (a - a.reduce(1, "max").column(width)).exp(), lambda: a.reduce(1, "add").column(width) * 0.1 + b,
            lambda: a.reduce(0, "add").row(rows) * 0.1, lambda: w.scan(a, 1, "add", self.chance()) * 0.1,
            lambda: a.to("f16").to("f32"), lambda: a.to("bf16").to("f32") + b, lambda: a.max(b), lambda: a.min(number),
            lambda: (pool[0] < pool[1]).where(a, b), lambda: (pool[0] < 0.5).where(a * number, w.like(0.0, a)),
            lambda: a.absf().max(0.1).log(), lambda: a.absf().max(0.1).log2(), lambda: (a + b) - b,
            lambda: w.op(ct.DivF, a, b, rounding=ct.Rounding.APPROX),
            lambda: w.op(ct.DivF, a, scale, rounding=ct.Rounding.FULL),
            lambda: w.op(ct.Exp, a.min(5.0), rounding=ct.Rounding.APPROX),
            lambda: w.op(ct.Sqrt, a.absf(), rounding=ct.Rounding.APPROX),
            lambda: w.const(0.0, "f32", width).row(rows).reduce(1, "add").column(width) + a,
        ]  # fmt: skip
        pool.append(self.pick(made)())

    def control(self) -> None:
        """Branches and numbers of iterations that depend on computed numbers."""
        rows, width = self.rows, self.width
        for name in "abc":
            self.argument(name, (rows, width))
        self.output("y", (rows, width))
        self.output("z", (1,), "i32")
        w = self.begin()
        a, b, c = (self.whole(name) for name in "abc")
        x = a * b + c
        most = x.reduce(1, "max").reduce(0, "max")
        self.put((most > 1.0).to("i32", signed=False).reshape(1), "z")
        (y,) = w.branch(most > 1.5, lambda: [x * 0.5 + b], lambda: [x - a * b])
        trips = most.max(0.0).min(6.0).to("i32") if self.chance() else self.bound
        with w.loop(0, trips, carried=[y]) as loop:
            loop.values = [loop.values[0] * 0.5 + x]
        self.put(loop.values[0], "y")


FAMILIES: dict[str, Callable[[PermittedWriter], None]] = {
    "softmax": PermittedWriter.softmax,
    "attention": PermittedWriter.attention,
    "moments": PermittedWriter.moments,
    "lanes": PermittedWriter.lanes,
    "products": PermittedWriter.products,
    "straight": PermittedWriter.straight,
    "control": PermittedWriter.control,
}


def permitted(seed: int, family: str = "") -> Made:
    """A random program on finite numbers; of one family, where that is given."""
    return _written("permitted", seed, family, special=False)


def special(seed: int, family: str = "") -> Made:
    """One on infinities, NaNs and subnormals too, for permissions that exclude none of them."""
    return _written("special", seed, family, special=True)


def _written(name: str, seed: int, family: str, special: bool) -> Made:
    writer = PermittedWriter(seed, special)
    writer.family = family or writer.family
    return writer.program(f"{name}-{seed}")
