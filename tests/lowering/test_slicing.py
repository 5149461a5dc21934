"""Kernels cut into slices: what is cut, that the interpreter says the same of them, and where no cut is legal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ir.core import verify
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from ir.types import TileType
from lowering.passes import source
from lowering.placement import LayoutOracle
from lowering.slicing import find_cuts, fitted, sliced
from tests.lowering.report import outline
from tests.programs.products import attention, matmul
from tests.programs.program import PROGRAMS, Program, check, interpret, random, simulate
from tilesat import compile
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer

M, N, K = 32, 16, 16
Body = Callable[[Writer, Tile], Tile]
matmul("256x256x32", (256, 256, 32), (264, 200, 72))
matmul("128x512x32", (128, 512, 32), (136, 520, 40))
attention("attention", "f16", 256, 128, 100, 64)
attention("spilling", "f16", 128, 128, 100, 128)
OWN = {name: PROGRAMS.pop(name) for name in ("256x256x32", "128x512x32", "attention", "spilling")}  # not of the corpus


def kernel(body: Body, steps: int = 3) -> str:
    """d = body(a b), a and b read tile by tile; the writer's `d`, `e` and `table` are there for `body` too."""
    w = Writer("kernel", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", e="ptr<f32>", table="ptr<i32>")
    a = w.view(w.a, [M, steps * K], [steps * K, 1], [M, K])
    b = w.view(w.b, [steps * K, N], [N, 1], [K, N])
    with w.loop(0, steps, carried=[w.const(0, "f32", M, N)]) as loop:
        loop.values = [w.dot(w.load(a, 0, loop.counter), w.load(b, loop.counter, 0), loop.values[0])]
    w.store(body(w, loop.values[0]), out(w), 0, 0)
    return w.text()


def out(w: Writer, name: str = "d") -> Tile:
    return w.view(getattr(w, name), [M, N], [N, 1], [M, N])


def arguments(steps: int = 3) -> list[Any]:
    """Factors are whole numbers, so that sums are exact in whatever order NumPy adds them."""
    left, right = (
        np.rint(2 * random(shape, "f16", seed)) for shape, seed in (((M, steps * K), 1), ((steps * K, N), 2))
    )
    return [left, right, random((M, N), "f32", 3), random((M, N), "f32", 4), random((M,), "i32", 5)]


def cut(text: str, dim: int, count: int = 2) -> tuple[ct.Module, ct.Module] | None:
    """The module as it is, and with its last product in slices."""
    whole, module = load(text), load(text)
    entry = module.entries[0]
    product = [op for op in entry.walk() if isinstance(op, ct.MmaF)][-1]
    plan = find_cuts(entry, product.results, dim, count)
    if plan is None:
        return None
    made = sliced(entry, plan)
    ops = module.body.block.ops
    ops[ops.index(entry)] = made
    verify(module)
    return whole, module


def masked(w: Writer, x: Tile) -> Tile:
    """Numbers of rows, a literal array for each element."""
    row = w.iota(M).column(N)
    literal = w.const(np.arange(M * N).reshape(M, N) % 7, "f32", M, N)
    return (row < 20).where(x + literal, -1.0)


def normed(w: Writer, x: Tile) -> Tile:
    return x / (x * x).reduce(1).column(N)


def fused(w: Writer, x: Tile) -> Tile:
    return x + w.load(out(w, "e"), 0, 0)


def in_place(w: Writer, x: Tile) -> Tile:
    """Read and overwritten before the end: the token says that every slice is read first."""
    tile, token = w.load_token(out(w, "e"), 0, 0)
    w.store(x * 2.0, out(w, "e"), 0, 0, token=token)
    return x + tile


def reshaped(w: Writer, x: Tile) -> Tile:
    shape = TileType((4, M // 4, 1, 2, N // 2), x.type.element)
    return w.op(ct.Reshape, w.op(ct.Reshape, x, types=[shape]) + 1.0, types=[x.type])


def gathered(w: Writer, x: Tile) -> Tile:
    """Through pointers, scattered back to the other array."""
    place = w.iota(M).column(N) * N + w.iota(N).row(M)
    tile, _ = w.gather(w.e[place], place < 400, 0.5)
    w.scatter(w.e[place], tile * 2.0, place < 300)
    return x + tile


def chosen(w: Writer, x: Tile) -> Tile:
    """A branch that yields a tile."""
    flag = w.ids[0] < 1
    return w.branch(flag, lambda: [x * 3.0], lambda: [x - 1.0])[0]


def twice(w: Writer, x: Tile) -> Tile:
    """A second loop over the product, which also carries a number."""
    with w.loop(0, 3, carried=[x, w.i32(1)]) as loop:
        loop.values = [loop.values[0] * 0.5 + 1.0, loop.values[1] + loop.counter]
    return loop.values[0] + loop.values[1].to("f32").splat(M, N)


BODIES: tuple[Body, ...] = (lambda w, x: x, masked, fused, in_place, reshaped, gathered, chosen, twice)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_slices_compute_the_same(body: Body, dim: int) -> None:
    pair = cut(kernel(body), dim)
    assert pair is not None
    left, right = arguments(), arguments()
    for module, given in zip(pair, (left, right), strict=True):
        run(module, (1,), given)
    assert largest_error(left[2], right[2]) <= 1e-6
    assert np.array_equal(left[3], right[3])
    assert not np.array_equal(left[2], arguments()[2])
    loops = [sum(isinstance(op, ct.For) for op in module.walk()) for module in pair]
    assert loops[1] == 2 * loops[0]


def test_rows_are_cut_where_rows_are_folded() -> None:
    """Sums of rows want whole rows: no cut by columns."""
    assert cut(kernel(normed), 0, 4) is not None
    assert cut(kernel(normed), 1) is None


def crossed(w: Writer, x: Tile) -> Tile:
    """The product and its own transpose: rows of one are columns of the other."""
    square = w.dot(w.load(w.view(w.a, [K, K], [K, 1], [K, K]), 0, 0), w.load(w.view(w.b, [K, K], [K, 1], [K, K]), 0, 0))
    w.store(square + square.T, w.view(w.e, [K, K], [K, 1], [K, K]), 0, 0)
    return x


def stored_in_the_loop(w: Writer, x: Tile) -> Tile:
    """A loop of cut tiles that stores cannot run once a slice."""
    with w.loop(0, 2, carried=[x]) as loop:
        w.store(loop.values[0], out(w, "e"), 0, 0)
        loop.values = [loop.values[0] + 1.0]
    return loop.values[0]


def counted(w: Writer, x: Tile) -> Tile:
    """Atomic sums are not done in parts."""
    place = w.iota(M).column(N) * N + w.iota(N).row(M)
    return w.update(w.e[place], x, mode="addf")[0]


@pytest.mark.parametrize("body", [crossed, stored_in_the_loop, counted])
def test_where_no_slice_is_independent(body: Body) -> None:
    assert cut(kernel(body), 0) is None


def test_a_slice_ends_before_the_next_begins() -> None:
    """What was summed is stored before the next slice's loop: registers hold one slice at a time."""
    pair = cut(kernel(lambda w, x: x), 0)
    assert pair is not None
    order = [type(op) for op in pair[1].entries[0].body.block.ops if isinstance(op, ct.For | ct.StoreView)]
    assert order == [ct.For, ct.StoreView, ct.For, ct.StoreView]


def test_what_is_cut_before_a_loop_that_is_not() -> None:
    """The loop over columns waits for all slices of its rows: it waited for the first alone (a KeyError)."""
    w = Writer("kernel", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>")
    rows = w.load(w.view(w.a, [M, K], [K, 1], [M, K]), 0, 0)
    columns = w.view(w.b, [K, 3 * N], [3 * N, 1], [K, N])
    sums = w.view(w.d, [M, 3 * N], [3 * N, 1], [M, N])
    with w.loop(0, 3) as loop:
        with w.loop(0, 2, carried=[w.const(0, "f32", M, N)]) as inner:
            inner.values = [w.dot(rows, w.load(columns, 0, loop.counter), inner.values[0])]
        w.store(inner.values[0], sums, 0, loop.counter)
    pair = cut(w.text(), 0)
    assert pair is not None
    factors = [np.rint(2 * random(shape, "f16")) for shape in ((M, K), (K, 3 * N))]
    left, right = ([*factors, random((M, 3 * N), "f32")] for _ in pair)
    for module, given in zip(pair, (left, right), strict=True):
        run(module, (1,), given)
    assert np.array_equal(left[2], right[2])
    assert np.array_equal(left[2], 2 * factors[0].astype(np.float64) @ factors[1])


def test_accumulators_fit_afterwards() -> None:
    entry = load(OWN["256x256x32"].source()).entries[0]
    assert {op.acc.type.size for op in fitted(entry).walk() if isinstance(op, ct.MmaF)} == {128 * 256}


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("name", "target"),
    [("256x256x32", "sm_80"), ("128x512x32", "sm_90a")] + [
        pytest.param(name, target, marks=pytest.mark.slow)
        for name in ("256x256x32", "128x512x32") for target in ("sm_100a", "sm_120a")
    ],
)  # fmt: skip
def test_large_accumulators(name: str, target: str) -> None:
    """128 x 512 and 256 x 256 were refused."""
    check(OWN[name], target)


def sums(rows: int, columns: int, carried: int = 2) -> Program:
    """Sums over the rows of some arrays, tile by tile; whole tiles are carried and their rows added behind the loop."""
    steps, names = 3, "abc"[:carried]

    def source() -> str:
        w = Writer("sums", **dict.fromkeys(names, "ptr<f32>"), **{f"{name}s": "ptr<f32>" for name in names})
        w.promise(**dict.fromkeys(names, 16))
        views = [w.view(getattr(w, n), [steps * rows, columns], [columns, 1], [rows, columns]) for n in names]
        with w.loop(0, steps, carried=[w.const(0, "f32", rows, columns) for _ in names]) as loop:
            tiles = [w.load(view, loop.counter, 0) for view in views]
            loop.values = [total + tile for total, tile in zip(loop.values, tiles, strict=True)]
        for name, total in zip(names, loop.values, strict=True):
            w.store(total.reduce(0), w.view(getattr(w, f"{name}s"), [columns], [1], [columns]), 0)
        return w.text()

    def arguments() -> list[Any]:
        arrays = [random((steps * rows, columns), "f32", i) for i in range(carried)]
        return [*arrays, *(random((columns,), "f32", 9) for _ in names)]

    def expected(*arrays: Any) -> dict[int, Any]:
        return {carried + i: arrays[i].astype(np.float64).sum(0) for i in range(carried)}

    return Program("sums", source, arguments, (1,), expected, 1e-4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_tiles_that_a_loop_carries(target: str) -> None:
    """Two of 128 registers a thread spilled 236 bytes: all registers of an SM."""
    made = check(sums(32, 1024), target)
    assert "\nlarge tiles are cut into slices of rows or columns" in outline(made.compiled)


def test_explanation_says_so() -> None:
    report = outline(compile(OWN["256x256x32"].source(), "sm_80").compiled)
    assert "\nlarge tiles are cut into slices of rows or columns" in report


@pytest.mark.in_turn
def test_slices_have_as_many_warps_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their e-graph held both numbers, which doubled its size; their cost is still compared with the other one."""
    made: list[LayoutOracle] = []

    class Noted(LayoutOracle):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr(source, "LayoutOracle", Noted)
    compile(OWN["spilling"].source(), "sm_80")
    assert [each.warps for each in made] == [(4, 8), (8,)]
    assert [each.offered for each in made] == [(4, 8), (4, 8)]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_attention_in_slices(target: str) -> None:
    program = OWN["attention"]
    made = compile(program.source(), target)
    found, reference = simulate(made, program), interpret(made, program)
    assert largest_error(found[3], reference[3]) <= program.tolerance
