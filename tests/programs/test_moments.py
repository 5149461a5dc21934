"""Sums of squares about a mean in the pass that finds it: simulator = interpreter = NumPy."""

from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from lowering.skeletons.moments import moments_online
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Tile, Writer
from tilesat.source import find_entry, read

FAST = ("reassoc", "afn")
ROWS, WIDTH, TILE = 6, 400, 64
TARGETS = ["sm_80", "sm_90a", *(pytest.param(target, marks=pytest.mark.slow) for target in ("sm_100a", "sm_120a"))]


def moments(
    kind: str = "f32", rows: int = 1, masked: bool = True, spelled: str = "fma", down: bool = False,
    padding: Any = "zero", bound: str = "tiles", off: int = 0, scale: int = TILE, other: bool = False,
    start: float = 0.0, begin: int = 0, centre: str = "mean", outside: float = 0.0,
    predicate: ct.Predicate = ct.Predicate.LESS_THAN,
) -> str:  # fmt: skip
    """s = the sum of a row of x of n elements, q = the sum of squares about its mean. rows: of a tile; spelled: how the
    square is; down: columns in place of rows; bound: of the loops, their number of tiles, or m; off: from the size that
    the mask compares with; scale: of the counter in the mask; other: squares of z; start: of their sum; begin: of the
    loops; centre: of the squares, "late" where it is loaded in the loop; outside: what a mask puts there.
    """
    w = Writer("moments", x=f"ptr<{kind}>", z=f"ptr<{kind}>", s="ptr<f32>", q="ptr<f32>", n="i32", m="i32")
    w.promise(x=16, z=16)
    shape, tile, dim = ([w.n, ROWS], [TILE, rows], 0) if down else ([ROWS, w.n], [rows, TILE], 1)
    views = [w.view(base, shape, [ROWS, 1] if down else [WIDTH, 1], tile, padding) for base in (w.x, w.z)]
    outs = [w.view(base, [ROWS], [1], [rows]) for base in (w.s, w.q)]
    block, steps = w.ids[0], w.tiles(views[0])[dim] if bound == "tiles" else w.m

    def loaded(view: Tile, counter: Tile) -> Tile:
        found = w.load(view, *((counter, block) if down else (block, counter)))
        return found if kind == "f32" else found.to("f32")

    def spread(value: Tile) -> Tile:
        return value.row(TILE) if down else value.column(TILE)

    with w.loop(begin, steps, carried=[w.const(0.0, "f32", *tile)]) as first:
        first.values = [first.values[0] + loaded(views[0], first.counter)]
    total = first.values[0].reduce(dim)
    w.store(total, outs[0], block)
    mean = total / w.n.to("f32").splat(rows)
    about = spread(w.const(0.5, "f32", rows) if centre == "one" else mean)
    lane, size = w.iota(TILE), (w.n + off if off else w.n).splat(TILE)
    with w.loop(begin, steps, carried=[w.const(start, "f32", *tile)]) as second:
        piece = loaded(views[int(other)], second.counter)
        about = loaded(views[1], second.counter) if centre == "late" else about
        away = piece - about
        if masked:
            inside = ((second.counter * scale).splat(TILE) + lane).compare(predicate, size)
            along = inside.column(rows) if down else inside.row(rows)
            away = along.where(away, w.const(outside, "f32", *tile))
        second.values = [squared(w, away, second.values[0], spelled)]
    w.store(second.values[0].reduce(dim), outs[1], block)
    return w.text()


def squared(w: Writer, away: Tile, carried: Tile, spelled: str) -> Tile:
    if spelled == "fma":
        return w.op(ct.Fma, away, away, carried)
    if spelled == "power":
        return carried + w.op(ct.FPowI, away, w.const(2, "i32", *away.shape))
    if spelled == "fifth":
        return carried + w.op(ct.FPowI, away, w.const(5, "i32", *away.shape))
    return carried + away * (carried if spelled == "product" else away)


def entry_of(text: str) -> ct.Entry:
    return find_entry(read(text, {}), None)[1]


def arguments(kind: str = "f32", width: int = WIDTH - 13, down: bool = False) -> list[Any]:
    """Rows of every kind: spread about zero, far from it, the first element far from all others, a step, an infinity, a
    NaN.
    """
    x = random((ROWS, WIDTH), "f32", 1)
    x[1] += 300.0
    x[2, 0] = 900.0
    x[3, width // 2 :] += 100.0
    x[4, 70], x[5, 3] = np.inf, np.nan
    x = np.ascontiguousarray(x.T) if down else x
    x = x.astype(np.float16) if kind == "f16" else x
    return [x, random(x.shape, kind, 2), np.zeros(ROWS, np.float32), np.zeros(ROWS, np.float32), width, 7]


def expected(down: bool = False, masked: bool = True) -> Any:
    def numpy_says(x: Any, z: Any, s: Any, q: Any, n: int, m: int) -> dict[int, Any]:
        wide = (x.T if down else x).astype(np.float64)[:, :n]
        with np.errstate(all="ignore"):
            about = wide - wide.mean(1, keepdims=True)
            return {3: (about * about).sum(1)}

    return numpy_says


JOINED: dict[str, dict[str, Any]] = {
    "rows": {}, "products": {"spelled": "product of one"}, "powers": {"spelled": "power"}, "f16": {"kind": "f16"},
    "two rows": {"rows": 2}, "columns": {"down": True, "rows": 2},
}  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", JOINED)
def test_moments_in_one_pass_agree_with_two(name: str, target: str) -> None:
    given = JOINED[name]
    kind, down = given.get("kind", "f32"), given.get("down", False)
    text, grid = moments(**given), (ROWS // given.get("rows", 1),)
    program = Program(name, lambda: text, lambda: arguments(kind, down=down), grid, expected(down), 2e-4)
    joined = check(program, target, fast=FAST)
    apart = tilesat.compile(text, target, fast=FAST, forbid=("loop.moments",))
    assert joined.cost < apart.cost
    loops = [
        sum(op.name == "cuda_tile.for" for op in kernel.compiled.saturated.program.entry.walk())
        for kernel in (joined, apart)
    ]
    assert loops == [1, 2]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("width", [1, TILE - 1, TILE, TILE + 1, 2 * TILE, WIDTH])
def test_moments_of_few_elements(width: int) -> None:
    """Lanes that have added nothing count for nothing; of one element the squares are zero."""
    program = Program("few", moments, lambda: arguments(width=width), (ROWS,), expected(), 2e-4)
    check(program, "sm_80", fast=FAST)


def test_moments_of_no_elements() -> None:
    kernel = tilesat.compile(moments(), "sm_80", fast=FAST)
    x, z, s, q, _, m = arguments()
    s[:], q[:] = 7.0, 7.0
    kernel.run((ROWS,), x, z, s, q, 0, m, on="sim")
    assert not s.any()
    assert not q.any()


@pytest.mark.in_turn
@pytest.mark.parametrize("centre", ["mean", "one"])
def test_moments_without_a_mask_are_of_whole_tiles(centre: str) -> None:
    """Any number of iterations, and any value that squares are about: 0.5 of the first 7 tiles of each row."""
    text = moments(masked=False, bound="m", centre=centre)

    def finite() -> list[Any]:
        x, z, s, q, _, m = arguments()
        return [np.nan_to_num(x, posinf=3.0), z, s, q, WIDTH, m]

    kernel = check(Program("whole", lambda: text, finite, (ROWS,), None, 2e-4), "sm_80", fast=FAST)
    entry = kernel.compiled.saturated.program.entry
    assert sum(op.name == "cuda_tile.for" for op in entry.walk()) == 1


APART: dict[str, dict[str, Any]] = {
    "a mask of another size": {"off": 1}, "a mask of what lies outside": {"predicate": ct.Predicate.GREATER_THAN},
    "a mask that the last element is behind": {"predicate": ct.Predicate.LESS_THAN_OR_EQUAL},
    "a mask of wider tiles": {"scale": 2 * TILE}, "elements outside that count": {"outside": 1.0},
    "padding that is not zero": {"padding": None}, "padding of infinities": {"padding": "pos_inf"},
    "loops past the last tile": {"bound": "m"}, "loops that leave the first tile out": {"begin": 1},
    "another array": {"other": True}, "squares that do not begin with zero": {"start": 1.0},
    "differences from what the loop loads": {"centre": "late"}, "fifth powers": {"spelled": "fifth"},
    "products with what is carried": {"spelled": "product"},
}  # fmt: skip


@pytest.mark.parametrize("what", APART)
def test_two_passes_stay_apart(what: str) -> None:
    entry = entry_of(moments(**APART[what]))
    assert moments_online(entry) is entry
    joined = entry_of(moments())
    assert moments_online(joined) is not joined


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_squares_are_products(target: str) -> None:
    """`x ** 2` is exported as a power; a power in general takes logarithms, that of 3 and 4 products."""
    power, product, fifth = (
        tilesat.compile(moments(spelled=spelled), target) for spelled in ("power", "product of one", "fifth")
    )
    assert power.ptx == product.ptx
    assert fifth.cost > 1.5 * power.cost


@pytest.mark.in_turn
@pytest.mark.parametrize("kind", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("exponent", [3, 4])
def test_small_powers_are_products(exponent: int, kind: str) -> None:
    """Each rounded, as the interpreter does it: bit for bit, of numbers of both signs, zeros, infinities and NaNs."""

    def powers() -> str:
        w = Writer("powers", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
        x = w.gather(w.x[w.iota(256)])[0]
        w.scatter(w.y[w.iota(256)], w.op(ct.FPowI, x, w.const(exponent, "i32", 256)))
        return w.text()

    def arguments() -> list[Any]:
        x = random((256,), kind, 8, 3.0)
        x[:4] = [0.0, -0.0, -np.inf, np.nan]
        return [x, np.zeros_like(x)]

    check(Program("powers", powers, arguments, (1,), None, 0.0), "sm_80")
