"""Loops left by break, and every way out of a nest of branches: continue, break, return."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir.dialects import cuda_tile as ct
from tests.programs.program import Program, add, random
from tilesat.fuzz.writer import Tile, Writer


def collatz() -> str:
    """How many steps each tile block's number takes to 1: `while n != 1`, left at its head."""
    w = Writer("collatz", y="ptr<i32>")

    def body(values: list[Tile]) -> list[Tile]:
        n, count = values
        w.branch(n <= 1, lambda: w.leave(ct.Break, n, count), list)
        (following,) = w.branch((n & 1).eq(0), lambda: [n.div(2)], lambda: [n * 3 + 1])
        return [following, count + 1]

    _, count = w.endless([w.ids[0] + 1, w.const(0, "i32")], body)
    w.scatter(w.y[w.ids[0]], count)
    return w.text()


def steps(n: int) -> int:
    return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)


add(Program(
    "loop-collatz", collatz, lambda: [random((12,), "i32")], (12,),
    lambda y: {0: np.array([steps(n + 1) for n in range(12)])}, 0.0,
))  # fmt: skip


def newton() -> str:
    """Square roots of a tile, until the largest change is small: tiles carried, the result of another type."""
    w = Writer("newton", x="ptr<f32>", y="ptr<f32>", n="ptr<i32>")
    w.promise(x=16, y=16)
    i = w.ids[0].splat(256) * 256 + w.iota(256)
    x = w.gather(w.x[i])[0].absf() + 1.0

    def body(values: list[Tile]) -> list[Tile]:
        guess, count = values
        better = (guess + x / guess) * 0.5
        change = (better - guess).absf().reduce(0, "max")
        w.branch(change < 1e-4, lambda: w.leave(ct.Break, count, better), list)
        return [better, count + 1]

    count, root = w.endless([x, w.const(1, "i32")], body, [w.const(0, "i32"), x])
    w.scatter(w.y[i], root)
    w.scatter(w.n[w.ids[0]], (count > 3).to("i32", signed=False))
    return w.text()


add(Program(
    "loop-newton", newton, lambda: [random((512,), "f32", 1), random((512,), "f32", 2), random((2,), "i32", 3)], (2,),
    lambda x, y, n: {1: np.sqrt(np.abs(x) + 1), 2: np.ones(2)}, 1e-5,
))  # fmt: skip


def product() -> str:
    """A product whose loop over k has no trip count; everything is loaded inside."""
    w = Writer("product", a="ptr<f16>", b="ptr<f16>", y="ptr<f32>", k="i32")
    w.promise(a=16, b=16, y=16, k=16)
    a, b = w.view(w.a, [64, w.k], [w.k, 1], [64, 32]), w.view(w.b, [w.k, 64], [64, 1], [32, 64])

    def body(values: list[Tile]) -> list[Tile]:
        at, total = values
        total = w.dot(w.load(a, 0, at), w.load(b, at, 0), total)
        w.branch((at + 1) * 32 >= w.k, lambda: w.leave(ct.Break, at, total), list)
        return [at + 1, total * 0.5]

    _, total = w.endless([w.const(0, "i32"), w.const(0.0, "f32", 64, 64)], body)
    w.store(total, w.view(w.y, [64, 64], [64, 1], [64, 64]), 0, 0)
    return w.text()


def halved(a: Any, b: Any, y: Any, k: int) -> dict[int, Any]:
    total = np.zeros((64, 64))
    for at in range(0, k, 32):
        total = total * 0.5 + a[:, at : at + 32].astype(np.float64) @ b[at : at + 32].astype(np.float64)
    return {2: total}


add(Program(
    "loop-product", product,
    lambda: [random((64, 128), "f16", 1), random((128, 64), "f16", 2), random((64, 64), "f32", 3), 128], (1,),
    halved, 5e-3,
))  # fmt: skip


def persistent() -> str:
    """Tile blocks that take products one after another until none is left: a counted loop in an endless one."""
    w = Writer("persistent", a="ptr<f16>", b="ptr<f16>", y="ptr<f32>", m="i32", k="i32")
    w.promise(a=16, b=16, y=16, m=64, k=16)
    a, b = w.view(w.a, [w.m, w.k], [w.k, 1], [64, 32]), w.view(w.b, [w.k, 64], [64, 1], [32, 64])
    y = w.view(w.y, [w.m, 64], [64, 1], [64, 64])

    def body(values: list[Tile]) -> list[Tile]:
        (at,) = values
        w.branch(at * 64 >= w.m, lambda: w.leave(ct.Break, at), list)
        with w.loop(0, (w.k + 31).div(32), carried=[w.const(0.0, "f32", 64, 64)]) as loop:
            loop.values = [w.dot(w.load(a, at, loop.counter), w.load(b, loop.counter, 0), loop.values[0])]
        w.store(loop.values[0], y, at, 0)
        return [at + w.grid[0]]

    w.endless([w.ids[0]], body)
    return w.text()


add(Program(
    "loop-persistent", persistent,
    lambda: [random((192, 80), "f16", 1), random((80, 64), "f16", 2), random((192, 64), "f32", 3), 192, 80], (2,),
    lambda a, b, y, m, k: {2: a.astype(np.float64) @ b.astype(np.float64)}, 5e-3,
))  # fmt: skip


def drawn(persistent: bool) -> str:
    """Products whose rows a ticket says, one each tile block or in a loop until none is left; loads come after it."""
    w = Writer("drawn", ticket="ptr<i32>", a="ptr<f16>", b="ptr<f16>", y="ptr<f32>", m="i32", k="i32")
    w.promise(a=16, b=16, y=16, m=64, k=16)
    a, b = w.view(w.a, [w.m, w.k], [w.k, 1], [64, 32]), w.view(w.b, [w.k, 64], [64, 1], [32, 64])
    y = w.view(w.y, [w.m, 64], [64, 1], [64, 64])

    def product(at: Tile, token: Tile) -> Tile:
        with w.loop(0, (w.k + 31).div(32), carried=[w.const(0.0, "f32", 64, 64)]) as loop:
            parts = w.load(a, at, loop.counter, token=token), w.load(b, loop.counter, 0, token=token)
            loop.values = [w.dot(*parts, loop.values[0])]
        return w.store(loop.values[0], y, at, 0, token=token)

    def draw(values: list[Tile]) -> list[Tile]:
        at, token = w.update(w.ticket, w.const(1, "i32"), mode="add", order="acq_rel", token=values[0])
        if persistent:
            w.branch(at * 64 >= w.m, lambda: w.leave(ct.Break, token), list)
        return [product(at, token)]

    _ = w.endless([w.token], draw) if persistent else draw([w.token])
    return w.text()


for persistent in (False, True):
    add(Program(
        f"loop-drawn-{'persistent' if persistent else 'once'}", lambda persistent=persistent: drawn(persistent),
        lambda: [np.zeros(1, np.int32), random((192, 80), "f16", 1), random((80, 64), "f16", 2),
                 random((192, 64), "f32", 3), 192, 80],
        (2,) if persistent else (3,),
        lambda ticket, a, b, y, m, k: {3: a.astype(np.float64) @ b.astype(np.float64)}, 5e-3,
    ))  # fmt: skip


def groups() -> str:
    """Tiles of several arrays by one flat number, as in a grouped product: an endless loop in a counted one."""
    w = Writer("groups", x="ptr<f32>", sizes="ptr<i32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    i = w.iota(32)
    with w.loop(0, 3, carried=[w.ids[0], w.const(0, "i32")]) as outer:
        tile, first = outer.values
        count = w.gather(w.sizes[outer.counter])[0]

        def body(values: list[Tile]) -> list[Tile]:
            (at,) = values
            w.branch(at >= first + count, lambda: w.leave(ct.Break, at), list)
            where = (at * 32).splat(32) + i
            scale = (outer.counter + 1).to("f32").splat(32)
            w.scatter(w.y[where], w.gather(w.x[where])[0] * scale)
            return [at + w.grid[0]]

        (tile,) = w.endless([tile], body)
        outer.values = [tile, first + count]
    return w.text()


def grouped(x: Any, sizes: Any, y: Any) -> dict[int, Any]:
    scale = np.repeat(np.arange(1, 4), sizes).astype(np.float32)
    return {2: (x.reshape(-1, 32) * scale[:, None]).reshape(-1)}


add(Program(
    "loop-groups", groups,
    lambda: [random((9 * 32,), "f32", 1), np.array([2, 4, 3], np.int32), random((9 * 32,), "f32", 2)], (2,),
    grouped, 0.0,
))  # fmt: skip


def deep_exits() -> str:
    """continue and break two branches deep, both sides falling through; what follows runs where nothing left."""
    w = Writer("deep", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    i = w.iota(64)

    def body(values: list[Tile]) -> list[Tile]:
        at, total = values

        def odd() -> list[Tile]:
            w.branch(at.rem(5).eq(3), lambda: w.leave(ct.Continue, at + 2, total + 100.0), list)
            w.branch(at > 11, lambda: w.leave(ct.Break, at, total * 2.0), list)
            return [total + 1.0]

        (total,) = w.branch((at & 1).eq(1), odd, lambda: [total - 1.0])
        x = w.gather(w.x[(at * 64).splat(64) + i])[0]
        w.branch(at > 20, lambda: w.leave(ct.Break, at, total), list)
        return [at + 1, total + x]

    at, total = w.endless([w.ids[0], w.const(0.0, "f32", 64)], body)
    w.scatter(w.y[(w.ids[0] * 64).splat(64) + i], total + at.to("f32").splat(64))
    return w.text()


def deep(x: Any, y: Any) -> dict[int, Any]:
    found = np.zeros((4, 64), np.float32)
    for block in range(4):
        at, total = block, np.zeros(64, np.float32)
        while True:
            if at % 2:
                if at % 5 == 3:
                    at, total = at + 2, total + np.float32(100)
                    continue
                if at > 11:
                    total = total * np.float32(2)
                    break
                total = total + np.float32(1)
            else:
                total = total - np.float32(1)
            if at > 20:
                break
            at, total = at + 1, total + x[at]
        found[block] = total + np.float32(at)
    return {1: found}


add(
    Program(
        "loop-deep-exits", deep_exits, lambda: [random((32, 64), "f32", 1), random((4, 64), "f32", 2)], (4,), deep, 1e-6
    )
)


def returns() -> str:
    """return two branches deep, and continue in a counted loop from inside an if of an if."""
    w = Writer("returns", x="ptr<f32>", y="ptr<f32>", n="i32")
    w.promise(x=16, y=16)
    i = (w.ids[0] * 32).splat(32) + w.iota(32)
    x = w.gather(w.x[i])[0]

    def early() -> list[Tile]:
        w.branch(w.n > 2, lambda: [w.scatter(w.y[i], x * 3.0), w.leave(ct.Return)][:0], list)
        return [x * 5.0]

    (value,) = w.branch(w.ids[0] < 2, early, lambda: [x])
    with w.loop(0, w.n, carried=[value]) as loop:

        def even() -> list[Tile]:
            w.branch(loop.counter.eq(2), lambda: w.leave(ct.Continue, loop.values[0] * 0.5), list)
            return [loop.values[0] + 1.0]

        (following,) = w.branch((loop.counter & 1).eq(0), even, lambda: [loop.values[0] * 2.0])
        loop.values = [following - 0.25]
    w.scatter(w.y[i], loop.values[0])
    return w.text()


def returned(x: Any, y: Any, n: int) -> dict[int, Any]:
    found = x.copy()
    for block in range(4):
        value = x[block]
        if block < 2:
            if n > 2:
                found[block] = value * np.float32(3)
                continue
            value = value * np.float32(5)
        for k in range(n):
            if k % 2 == 0 and k == 2:
                value = value * np.float32(0.5)
                continue
            value = (value + np.float32(1) if k % 2 == 0 else value * np.float32(2)) - np.float32(0.25)
        found[block] = value
    return {1: found}


for n in (1, 5):
    add(Program(
        f"branch-returns-{n}", returns, lambda n=n: [random((4, 32), "f32", 1), random((4, 32), "f32", 2), n], (4,),
        returned, 1e-6,
    ))  # fmt: skip


def locked() -> str:
    """A lock taken by compare-and-swap in a loop, a plain sum behind it, the lock given back."""
    w = Writer("locked", lock="ptr<i32>", total="ptr<f32>", x="ptr<f32>")
    w.promise(x=16, total=16)
    i = w.iota(64)
    x = w.gather(w.x[(w.ids[0] * 64).splat(64) + i])[0]

    def body(values: list[Tile]) -> list[Tile]:
        found, token = w.update(w.lock, w.const(0, "i32"), w.const(1, "i32"), token=values[0], order="acquire")
        w.branch(found.eq(0), lambda: w.leave(ct.Break, token), list)
        return [token]

    (token,) = w.endless([w.token], body)
    before, token = w.gather(w.total[i], token=token)
    token = w.scatter(w.total[i], before + x, token=token)
    w.update(w.lock, w.const(0, "i32"), mode="xchg", token=token, order="release")
    return w.text()


add(Program(
    "loop-lock", locked, lambda: [np.zeros(1, np.int32), random((64,), "f32", 1), random((5, 64), "f32", 2)], (5,),
    lambda lock, total, x: {0: lock, 1: total + x.sum(0)}, 1e-5,
))  # fmt: skip


def ended() -> str:
    """The kernel ends in a loop in a loop: what was stored before stays, what follows either loop is not run."""
    w = Writer("ended", x="ptr<f32>", y="ptr<i32>", z="ptr<f32>")

    def inner(values: list[Tile]) -> list[Tile]:
        value, count = values
        w.branch(value < 0.0, lambda: w.leave(ct.Return), list)
        w.branch(value < 1.0, lambda: w.leave(ct.Break, count), list)
        return [value * 0.5, count + 1]

    def outer(values: list[Tile]) -> list[Tile]:
        row, total = values
        w.branch(row >= 4, lambda: w.leave(ct.Break, total), list)
        (count,) = w.endless([w.gather(w.x[w.ids[0] * 4 + row])[0], w.const(0, "i32")], inner, [w.const(0, "i32")])
        w.scatter(w.y[w.ids[0] * 4 + row], count)
        return [row + 1, total + count.to("f32").splat(32)]

    (total,) = w.endless([w.const(0, "i32"), w.const(0.0, "f32", 32)], outer, [w.const(0.0, "f32", 32)])
    w.scatter(w.z[(w.ids[0] * 32).splat(32) + w.iota(32)], total)
    return w.text()


def halvings(x: Any, y: Any, z: Any) -> dict[int, Any]:
    y, z = y.copy(), z.copy()
    for block, row in enumerate(x):
        counts = [max(0, int(np.frexp(value)[1])) for value in row]
        some = next((at for at, value in enumerate(row) if value < 0), None)
        y[block, :some] = counts[:some]
        if some is None:
            z[block] = sum(counts)
    return {1: y, 2: z}


def signed_rows() -> list[Any]:
    """Six rows of four positive numbers; in all but two one of them is negative."""
    x = np.abs(random((6, 4), "f32", 1)) * 20
    for block, at in enumerate((None, 0, 3, 1, None, 2)):
        x[block, [] if at is None else at] *= -1
    return [x, random((6, 4), "i32", 2), random((6, 32), "f32", 3)]


add(Program("loop-ends-kernel", ended, signed_rows, (6,), halvings, 0.0))

RETURNING = """cuda_tile.module @m { entry @k(%x: tile<ptr<i32>>, %n: tile<i32>) {
    %one = constant <i32: 1> : tile<i32>
    %id, %y, %z = get_tile_block_id : tile<i32>
    %place = offset %x, %id : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
    %few = cmpi less_than %id, %n, signed : tile<i32> -> tile<i1>
    loop {
      if %few { break }
      %early = store_ptr_tko weak %place, %one : tile<ptr<i32>>, tile<i32> -> token
      return
    }
    %late = store_ptr_tko weak %place, %id : tile<ptr<i32>>, tile<i32> -> token
    return } }"""
"""A loop whose body ends with the end of the kernel."""

add(
    Program(
        "loop-returns", lambda: RETURNING, lambda: [random((6,), "i32"), 4], (6,),
        lambda x, n: {0: np.array([0, 1, 2, 3, 1, 1], np.int32)}, 0.0,
    )
)  # fmt: skip


NARROW = """
cuda_tile.module @m {{ entry @narrow(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %a: tile<i{width}>, %b: tile<i{width}>) {{
  %seven = constant <i{width}: 7> : tile<i{width}>
  %zero = constant <f32: 0.0> : tile<f32>
  %sum = for {unsigned} %j in (%a to %b, step %seven) : tile<i{width}> iter_values(%s = %zero) -> (tile<f32>) {{
    %wide = exti %j {signedness} : tile<i{width}> -> tile<i32>
    %at = offset %x, %wide : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
    %v, %t = load_ptr_tko weak %at : tile<ptr<f32>> -> tile<f32>, token
    %next = addf %s, %v : tile<f32>
    continue %next : tile<f32>
  }}
  %u = store_ptr_tko weak %y, %sum : tile<ptr<f32>>, tile<f32> -> token
  return }} }}
"""


def narrow(width: int, unsigned: bool, first: int, end: int) -> None:
    """A counter of less than 32 bits, which PTX compares in 16."""
    text = NARROW.format(
        width=width, unsigned="unsigned" if unsigned else "", signedness="unsigned" if unsigned else "signed"
    )
    wrapped = [n - (1 << width) if n >> (width - 1) > 0 else n for n in (first, end)]

    def expected(x: Any, y: Any, a: int, b: int) -> dict[int, Any]:
        return {1: np.float32(sum(x[j] for j in range(first, end, 7))).reshape(1)}

    name = f"loop-counter-{'u' if unsigned else 'i'}{width}-{end}"
    add(Program(name, lambda: text, lambda: [random((256,)), random((1,)), *wrapped], (1,), expected))


narrow(8, True, 5, 245)
narrow(8, False, 3, 100)
narrow(8, False, 3, -5)
narrow(16, True, 9, 250)
narrow(16, False, 0, 90)
