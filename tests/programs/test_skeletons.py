"""Loops in place of the source's, where permissions allow them: simulator = interpreter = NumPy."""

from typing import Any

import numpy as np
import pytest

import tilesat
from egraph import saturate, vocabulary
from egraph.encode import encode
from egraph.permissions import AFN, NINF, REASSOC
from ir.core import TileError
from ir.dialects import cuda_tile as ct
from lowering.skeletons.by_lane import exact_by_lane, sums_by_lane
from lowering.skeletons.joined_steps import even_steps, levelled_steps
from lowering.skeletons.lagging import lagging_levels
from lowering.skeletons.merged_folds import merged_folds
from lowering.skeletons.moments import moments_online
from lowering.skeletons.online_sums import (
    attention_online,
    finite_attention_online,
    finite_sums_online,
    sums_online,
)
from lowering.skeletons.scaled_products import scales_behind
from lowering.skeletons.score_blocks import finite_online_by_blocks, online_by_blocks
from lowering.skeletons.swapped_products import swapped
from lowering.skeletons.table import SKELETONS, permitted
from lowering.skeletons.unsigned_scales import signs_to_factors
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Tile, Writer
from tilesat.source import find_entry, read

M, N, K, STEP = 64, 64, 512, 64
PLAIN, ROWS, ALONG = "plain", "rows", "along"
"""How a factor is scaled: not, by a number for each row (of b: column), or by one that varies along k."""


def gemm(
    left: str = PLAIN, right: str = PLAIN, a: str = "f16", b: str = "f16", factor: str = "f16", start: float = 0.0,
    read: bool = False, late: bool = False, counted: bool = False,
) -> str:  # fmt: skip
    """y = (s a) (b t): factors of the type `factor` out of arrays of types `a` and `b`. start: of the sum; read: its
    maximum is carried too; late: scales are loaded in the loop; counted: an argument says how many steps there are.
    """
    more = {"n": "i32"} if counted else {}
    w = Writer("gemm", a=f"ptr<{a}>", b=f"ptr<{b}>", s="ptr<f32>", t="ptr<f32>", y="ptr<f32>", **more)
    w.promise(a=16, b=16, s=16, t=16, y=16)
    views = [w.view(w.a, [M, K], [K, 1], [M, STEP]), w.view(w.b, [K, N], [N, 1], [STEP, N])]
    out = w.view(w.y, [M, N], [N, 1], [M, N])

    def scale(how: str, base: Tile, size: int, shape: tuple[int, int], column: bool) -> Tile | None:
        if how == PLAIN:
            return None
        along = (how == ALONG) is column
        count = STEP if how == ALONG else size
        found = w.gather(base[w.iota(count)])[0]
        return found.row(shape[0]) if along else found.column(shape[1])

    def scales() -> list[Tile | None]:
        return [scale(left, w.s, M, (M, STEP), True), scale(right, w.t, N, (STEP, N), False)]

    def scaled(tile: Tile, by: Tile | None) -> Tile:
        if by is not None:
            tile = (tile if tile.type.element == by.type.element else tile.to("f32")) * by
        return tile if str(tile.type.element) == factor else tile.to(factor)

    before = None if late else scales()
    carried = [w.const(start, "f32", M, N), *([w.const(0.0, "f32", M)] if read else [])]
    with w.loop(0, w.n if counted else K // STEP, carried=carried) as loop:
        by = before or scales()
        operands = [
            scaled(w.load(views[0], 0, loop.counter), by[0]), scaled(w.load(views[1], loop.counter, 0), by[1])
        ]  # fmt: skip
        loop.values = [
            w.dot(*operands, loop.values[0]),
            *([loop.values[1].max(loop.values[0].reduce(1, "max"))] if read else []),
        ]
    w.store(loop.values[0], out, 0, 0)
    return w.text()


def entry_of(text: str) -> ct.Entry:
    return find_entry(read(text, {}), None)[1]


def arguments(a: str = "f16", b: str = "f16") -> list[Any]:
    """Scales are powers of two: a scaled factor is rounded nowhere, and both ways differ in nothing but f32 sums."""
    s, t = (np.float32(2) ** np.random.default_rng(seed).integers(-2, 3, STEP).astype(np.float32) for seed in (3, 4))
    return [random((M, K), a, 1), random((K, N), b, 2), s, t, np.zeros((M, N), np.float32)]


def expected(left: str, right: str) -> Any:
    def numpy_says(a: Any, b: Any, s: Any, t: Any, y: Any) -> dict[int, Any]:
        rows = s.astype(np.float64)[:, None] if left == ROWS else 1.0
        columns = t.astype(np.float64)[None, :] if right == ROWS else 1.0
        return {4: rows * (a.astype(np.float64) @ b.astype(np.float64)) * columns}

    return numpy_says


MOVED = {
    "rows": (ROWS, PLAIN, "f16", "f16", "f16"), "columns": (PLAIN, ROWS, "f16", "f16", "f16"),
    "both": (ROWS, ROWS, "f16", "f16", "f16"), "i8": (PLAIN, ROWS, "f16", "i8", "f16"),
    "f32": (ROWS, PLAIN, "f32", "f32", "f32"),
}  # fmt: skip
LATER = [pytest.param(target, marks=pytest.mark.slow) for target in ("sm_90a", "sm_120a")]
TARGETS = ["sm_80", "sm_100a", *LATER]
"""Of each family of products one in every run, all at night."""


@pytest.mark.sampled(36)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MOVED)
def test_scales_move_behind_their_products(name: str, target: str) -> None:
    left, right, a, b, factor = MOVED[name]
    text = gemm(left, right, a, b, factor)
    tolerance = 1e-3 if b == "i8" else 1e-4  # sums of up to 10^4 cancel
    program = Program(name, lambda: text, lambda: arguments(a, b), (1,), expected(left, right), tolerance)
    moved = check(program, target, fast=("reassoc",))
    as_written = tilesat.compile(text, target)
    assert moved.cost < as_written.cost
    assert tilesat.compile(text, target, fast=("reassoc",), forbid=("loop.scale",)).ptx == as_written.ptx


@pytest.mark.parametrize("steps", [0, 1])
def test_a_sum_of_no_products_is_zero_whatever_the_scale(steps: int) -> None:
    """Nothing is multiplied with a scale that is NaN where the loop has no iterations."""
    kernel = tilesat.compile(gemm(left=ROWS, counted=True), "sm_80", fast=("reassoc",))
    assert {each.name for each in kernel.compiled.selection.loops if each.taken} == {"loop.scale"}
    found: list[Any] = []
    for on in ("sim", "ref"):
        given = [*arguments(), steps]
        given[2][3] = np.nan
        given[4][:] = 7.0
        kernel.run((1,), *given, on=on)
        found.append(given[4])
    np.testing.assert_allclose(*found, rtol=1e-4, atol=1e-4)
    assert np.isnan(found[1]).any() == bool(steps)


STAYING = {
    "numbers that the factor's type may not hold": {"left": ROWS, "a": "f32"},
    "a scale that varies along k": {"left": ALONG},
    "a scale that varies along k, of b": {"right": ALONG},
    "a sum that does not begin with zero": {"left": ROWS, "start": 1.0},
    "a sum that the loop reads": {"left": ROWS, "read": True},
    "a scale that is loaded in the loop": {"left": ROWS, "late": True},
    "no scale": {},
}


@pytest.mark.parametrize("what", STAYING)
def test_scales_stay(what: str) -> None:
    entry = entry_of(gemm(**STAYING[what]))
    assert scales_behind(entry) is entry
    moved = entry_of(gemm(left=ROWS))
    assert scales_behind(moved) is not moved


WIDTH, TILE, ROWS_OF = 200, 64, 8


def softmax(
    power: str = "exp", between: bool = False, other: bool = False, start: float = 0.0, backward: bool = False
) -> str:
    """A row in three passes. between: something is stored between them; other: the second reads another array; start:
    of the sum; backward: the maximum is read in the loop of the sum, for more than the difference.
    """
    w = Writer("softmax", x="ptr<f32>", z="ptr<f32>", y="ptr<f32>", n="i32")
    w.promise(x=16, z=16, y=16, n=1)
    row = w.ids[0]
    views = [w.view(base, [ROWS_OF, w.n], [WIDTH, 1], [1, TILE], "neg_inf") for base in (w.x, w.z)]
    out = w.view(w.y, [ROWS_OF, w.n], [WIDTH, 1], [1, TILE])
    steps = w.tiles(views[0])[1]
    with w.loop(0, steps, carried=[w.const(-np.inf, "f32", 1, 1)]) as first:
        piece = w.load(views[0], row, first.counter)
        first.values = [first.values[0].max(piece.reduce(1, "max").reshape(1, 1))]
    highest = first.values[0]
    if between:
        w.store(highest.broadcast(1, TILE), out, row, 0)
    spread = highest.broadcast(1, TILE)
    with w.loop(0, steps, carried=[w.const(start, "f32", 1, 1)]) as second:
        piece = w.load(views[int(other)], row, second.counter)
        found = getattr(piece - spread, power)()
        found = found + spread if backward else found
        second.values = [second.values[0] + found.reduce(1).reshape(1, 1)]
    total = second.values[0].broadcast(1, TILE)
    with w.loop(0, steps) as third:
        piece = w.load(views[0], row, third.counter)
        w.store(getattr(piece - highest.broadcast(1, TILE), power)() / total, out, row, third.counter)
    return w.text()


def rows() -> list[Any]:
    """Rows of every kind: random, its first, its last tile masked out, all of it, a NaN, +inf early and late."""
    x = random((ROWS_OF, WIDTH), "f32", 1, 4.0)
    x[1, :TILE] = -np.inf
    x[2, -TILE:] = -np.inf
    x[3] = -np.inf
    x[4, 70] = np.nan
    x[5, 3], x[6, 190] = np.inf, np.inf
    x[7, 1:] = -np.inf
    return [x, random((ROWS_OF, WIDTH), "f32", 2), np.zeros((ROWS_OF, WIDTH), np.float32), WIDTH]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("power", ["exp", "exp2"])
def test_sums_online_agree_with_three_passes(power: str, target: str) -> None:
    def numpy_says(x: Any, z: Any, y: Any, n: int) -> dict[int, Any]:
        with np.errstate(all="ignore"):
            wide = x.astype(np.float64)
            highest = np.fmax.reduce(wide, axis=1, keepdims=True)
            made = getattr(np, power)(wide - highest)
            return {2: made / made.sum(1, keepdims=True)}

    text = softmax(power)
    program = Program(power, lambda: text, rows, (ROWS_OF,), numpy_says, 1e-5)
    online = check(program, target, fast=("reassoc", "afn", "contract"))
    two = tilesat.compile(text, target, fast=("reassoc", "afn", "contract"), forbid=("loop.online",))
    assert online.cost < two.cost
    loops = [
        sum(op.name == "cuda_tile.for" for op in kernel.compiled.saturated.program.entry.walk())
        for kernel in (online, two)
    ]
    assert loops == [2, 3]


def test_rules_are_loaded_once_for_the_kernel_and_its_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The form with a running maximum selects, the written one does not: more rules, loaded with the first."""
    loaded = list[frozenset[str]]()
    engine = saturate._engine

    def counting(rules: Any, extra: Any, operations: frozenset[str], kind: str) -> Any:
        loaded.append(operations)
        return engine(rules, extra, operations, kind)

    monkeypatch.setattr(saturate, "_ENGINES", saturate._Engines())
    monkeypatch.setattr(saturate, "_engine", counting)
    kernel = tilesat.compile(softmax("exp"), "sm_80", fast=("reassoc", "afn"))
    assert [each.name for each in kernel.compiled.selection.loops if each.taken] == ["loop.online", "loop.lanes"]
    (operations,) = loaded
    written = vocabulary.operations(encode(entry_of(softmax("exp"))).facts)
    assert "select" in operations - written


def finite_rows() -> list[Any]:
    """Rows of finite elements, some with a masked tail; one has a last tile that is masked out completely."""
    x, z, y, width = rows()
    x[:] = random((ROWS_OF, WIDTH), "f32", 7, 4.0)
    x[1, WIDTH - 5 :], x[2, -TILE:], x[3, 1:] = -np.inf, -np.inf, -np.inf
    x[3, ::TILE] = 1.0
    return [x, z, y, width]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("power", ["exp", "exp2"])
def test_sums_online_of_finite_maxima_have_no_guard(power: str, target: str) -> None:
    def numpy_says(x: Any, z: Any, y: Any, n: int) -> dict[int, Any]:
        wide = x.astype(np.float64)
        made = getattr(np, power)(wide - wide.max(1, keepdims=True))
        return {2: made / made.sum(1, keepdims=True)}

    text = softmax(power)
    program = Program(power, lambda: text, finite_rows, (ROWS_OF,), numpy_says, 1e-5)
    fast = ("reassoc", "afn", "contract")
    plain = check(program, target, fast=(*fast, "ninf"))
    assert plain.cost < tilesat.compile(text, target, fast=fast).cost


def test_sums_online_of_no_elements() -> None:
    """A row without a tile: nothing is stored, and nothing divides by what no loop has found."""
    kernel = tilesat.compile(softmax(), "sm_80", fast=("reassoc", "afn"))
    x, z, y, _ = rows()
    kernel.run((ROWS_OF,), x, z, y, 0, on="sim")
    assert not y.any()


APART = {
    "a store between them": {"between": True},
    "another array": {"other": True},
    "a sum that does not begin with zero": {"start": 1.0},
    "the maximum read for something else": {"backward": True},
}


@pytest.mark.parametrize("what", APART)
def test_passes_stay_apart(what: str) -> None:
    entry = entry_of(softmax(**APART[what]))
    assert sums_online(entry) is entry
    assert finite_sums_online(entry) is entry
    joined = entry_of(softmax())
    assert sums_online(joined) is not joined


def test_skeletons_need_their_permissions() -> None:
    assert [each.made for each in permitted((), ())] == [swapped, signs_to_factors, exact_by_lane, merged_folds]
    assert [each.made for each in permitted(("afn", "triton"), ("product", "scales", "fold"))] == [exact_by_lane]
    assert [each.made for each in permitted(("reassoc",), ("scales",))] == [
        swapped, scales_behind, exact_by_lane, sums_by_lane, merged_folds,
    ]  # fmt: skip
    assert [each.made for each in permitted(("reassoc", "afn"), ("loop.scale", "loop.lanes", "scales"))] == [
        swapped, sums_online, attention_online, online_by_blocks, moments_online, even_steps, levelled_steps,
        lagging_levels, merged_folds,
    ]  # fmt: skip
    assert list(permitted((), ("loop", "product", "scales", "fold"))) == []
    assert [(each.made, each.needs) for each in SKELETONS if each.needs] == [
        (scales_behind, {REASSOC}), (finite_sums_online, {REASSOC, AFN, NINF}), (sums_online, {REASSOC, AFN}),
        (finite_attention_online, {REASSOC, AFN, NINF}), (attention_online, {REASSOC, AFN}),
        (finite_online_by_blocks, {REASSOC, AFN, NINF}), (online_by_blocks, {REASSOC, AFN}),
        (moments_online, {REASSOC, AFN}), (even_steps, {REASSOC, AFN}), (levelled_steps, {REASSOC, AFN}),
        (lagging_levels, {REASSOC, AFN}), (sums_by_lane, {REASSOC}),
    ]  # fmt: skip
    with pytest.raises(TileError, match=r"no atom has a name that starts with 'loop\.scaled'"):
        tilesat.compile(gemm(), forbid=("loop.scaled",))


PIECES = 8
"""More trips than are written out."""


def fold_loop(
    kind: str = "f32", fold: str = "max", start: float = 0.0, factor: bool = False, read: bool = False, other: str = ""
) -> str:
    """y[row] = the fold of a row of x, which a loop carries. start: of the sum; factor: what is carried is halved in
    each iteration; read: it is added to what is folded; other: tiles are folded so, and their folds by `fold`.
    """
    w = Writer("folded", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
    w.promise(x=16, y=16)
    row = w.ids[0]
    view = w.view(w.x, [ROWS_OF, PIECES * TILE], [PIECES * TILE, 1], [1, TILE])
    begin = w.const(start if kind.startswith("f") else int(start), kind, 1)
    with w.loop(0, PIECES, carried=[begin]) as loop:
        (carried,) = loop.values
        piece = w.load(view, row, loop.counter)
        piece = piece + carried.reshape(1, 1).broadcast(1, TILE) if read else piece
        found = piece.reduce(1, other or fold)
        carried = carried * 0.5 if factor else carried
        loop.values = [carried + found if fold == "add" else getattr(carried, fold)(found)]
    out = w.view(w.y, [ROWS_OF], [1], [1])
    w.store(loop.values[0], out, row)
    return w.text()


def numbers(kind: str) -> list[Any]:
    x = random((ROWS_OF, PIECES * TILE), kind, 5)
    if kind == "f32":
        x[1, 70], x[2], x[3, 3], x[4, :TILE] = np.nan, np.nan, np.inf, -np.inf
    return [x, random((ROWS_OF,), kind, 6)]


EXACT = {
    "maxima": ("f32", "max", -np.inf), "minima": ("f32", "min", np.inf), "maxima below a start": ("f32", "max", 2.0),
    "integer sums": ("i32", "add", 0), "integer maxima": ("i32", "max", -5),
}  # fmt: skip


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_80", "sm_100a"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_folds_are_carried_as_tiles_without_permission(name: str, target: str) -> None:
    kind, fold, start = EXACT[name]
    text = fold_loop(kind, fold, start)
    kernel = check(Program(name, lambda: text, lambda: numbers(kind), (ROWS_OF,), None, 0.0), target)
    assert kernel.cost < tilesat.compile(text, target, forbid=("loop.lanes",)).cost


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factor", [False, True])
def test_sums_are_carried_as_tiles_by_permission(factor: bool, target: str) -> None:
    def numpy_says(x: Any, y: Any) -> dict[int, Any]:
        weights = np.repeat(0.5 ** np.arange(PIECES - 1, -1, -1) if factor else np.ones(PIECES), TILE)
        return {1: (x.astype(np.float64) * weights).sum(1)}

    text = fold_loop("f32", "add", factor=factor)
    arguments = [random((ROWS_OF, PIECES * TILE), "f32", 5), random((ROWS_OF,), "f32", 6)]
    program = Program("sums", lambda: text, lambda: [x.copy() for x in arguments], (ROWS_OF,), numpy_says, 1e-4)
    kernel = check(program, target, fast=("reassoc",))
    as_written = tilesat.compile(text, target)
    assert kernel.cost < as_written.cost
    assert as_written.ptx == tilesat.compile(text, target, forbid=("loop.lanes",)).ptx


FOLDED = {
    "what is carried is read for more": {"fold": "max", "read": True},
    "folds of one kind by another": {"fold": "max", "other": "min"},
    "a sum that does not begin with zero": {"fold": "add", "start": 1.0},
    "maxima of what is halved": {"fold": "max", "factor": True},
}


@pytest.mark.parametrize("what", FOLDED)
def test_folds_stay_in_their_loops(what: str) -> None:
    entry = entry_of(fold_loop(**FOLDED[what]))
    assert exact_by_lane(entry) is entry
    assert sums_by_lane(entry) is entry
    maxima, sums = entry_of(fold_loop()), entry_of(fold_loop(fold="add"))
    assert exact_by_lane(maxima) is not maxima
    assert exact_by_lane(sums) is sums  # of floats, whose order permissions alone change
    assert sums_by_lane(sums) is not sums
