"""Reductions over the CTAs of a cluster: partial results through distributed shared memory, in hazard mode and in
skewed orders of warps; long rows read once; the protocol with each of its parts changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.load import load
from lowering.clusters import planned
from ptxsim import SimulatorError
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.report import outline
from tests.programs.program import Program, check, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ORDERS = tuple(f"skewed:{seed}" for seed in range(5))
TARGETS = ("sm_90a", "sm_120a")
ROWS = 2
ERROR = 1e-4


def standardised(w: Writer, x: Tile, n: int) -> Tile:
    """LayerNorm without its weights."""
    centred = x - (x.reduce(0) * (1.0 / n)).splat(n)
    variance = (centred * centred).reduce(0) * (1.0 / n)
    return centred * (variance + 1e-5).rsqrt().splat(n)


def softmax(w: Writer, x: Tile, n: int) -> Tile:
    """Of a row."""
    powers = (x - x.reduce(0, "max").splat(n)).exp()
    return powers / powers.reduce(0).splat(n)


def of_rows(n: int, row: Callable[[Writer, Tile, int], Tile]) -> str:
    """A row of n elements a tile block."""
    w = Writer("rows", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    views = [w.view(each, [ROWS * n], [1], [n]) for each in (w.x, w.y)]
    w.store(row(w, w.load(views[0], w.ids[0]), n), views[1], w.ids[0])
    return w.text()


def rows(n: int, row: Callable[[Writer, Tile, int], Tile]) -> Program:
    def arguments() -> list[Any]:
        return [random((ROWS * n,), "f32", 1), np.full(ROWS * n, 7, np.float32)]

    return Program("rows", lambda: of_rows(n, row), arguments, (ROWS,), None, tolerance=ERROR)


@cache
def compiled(n: int = 1024, ctas: int = 2, target: str = "sm_90a", row: Any = standardised, **options: Any) -> Kernel:
    return tilesat.compile(of_rows(n, row), target, num_ctas=ctas, **options)


def error(kernel: Kernel, given: Program, **options: Any) -> float:
    """Of the second argument, in hazard mode."""
    return largest_error(simulate(kernel, given, **options)[1], interpret(kernel, given)[1])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [standardised, softmax])
@pytest.mark.parametrize(("n", "ctas"), [(64, 2), (1024, 2), (2048, 4), (4096, 8)])
def test_rows(n: int, ctas: int, row: Any, target: str) -> None:
    kernel = check(rows(n, row), target, num_ctas=ctas)
    assert "st.shared::cluster" in kernel.ptx
    assert kernel.manifest["cluster"] == [ctas, 1, 1]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [standardised, softmax])
def test_long_rows_are_read_once(row: Any, target: str) -> None:
    """A row of 32,768 f32 in a cluster of 4: 128 KB, a quarter in the registers of each CTA."""
    n, given = 32768, rows(32768, row)
    kernel = compiled(n, 4, target, row)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    x, y = given.arguments()
    report = kernel.run(ROWS, x, y, check=True)
    assert report is not None
    lines = kernel.ptx.splitlines()
    moved = {"ld.global": 0, "st.global": 0}
    for line, each in report.sectors.items():
        name = next(name for name in moved if name in lines[line - 1])
        moved[name] += 32 * each.sectors
    assert moved == {"ld.global": x.nbytes, "st.global": y.nbytes}


@pytest.mark.sampled(24)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [standardised, softmax])
def test_skewed_orders(row: Any, target: str, order: str) -> None:
    assert error(compiled(2048, 4, target, row), rows(2048, row), schedule=order) < ERROR


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("row", [standardised, softmax])
def test_skewed_orders_of_long_rows(row: Any, target: str, order: str) -> None:
    assert error(compiled(32768, 4, target, row), rows(32768, row), schedule=order) < ERROR


def test_all_ctas_hold_the_same_bits() -> None:
    """Of a sum that rounds: each CTA stores the sum in its own half."""
    n = 2048
    kernel = compiled(n, 4, row=lambda w, x, n: x.reduce(0).splat(n))
    y = simulate(kernel, rows(n, standardised))[1].reshape(ROWS, n)
    assert (y == y[:, :1]).all()
    assert len(np.unique(y[:, 0])) == ROWS


# --- other combiners, shapes and places


def folded(rows_: int, columns: int, kinds: tuple[str, ...], fold: Callable[[Writer, list[Tile]], list[Tile]]) -> str:
    """Tiles of rows, folded along them; of each what comes of it, and the first one less its row's."""
    w = Writer(
        "k", **{name: f"ptr<{kind}>" for name, kind in zip("ab", kinds, strict=False)}, c="ptr<i32>", y="ptr<f32>"
    )
    w.promise(**dict.fromkeys(("a", "b", "c", "y")[: len(kinds)], 16))
    tiles = [
        w.load(w.view(getattr(w, name), [2 * rows_, columns], [columns, 1], [rows_, columns]), w.ids[0], 0)
        for name in "ab"[: len(kinds)]
    ]
    made = fold(w, tiles)
    w.store(as_type(made[-1], "i32"), w.view(w.c, [2 * rows_], [1], [rows_]), w.ids[0])
    y = tiles[0] - made[0].column(columns)
    w.store(as_type(y, "f32"), w.view(w.y, [2 * rows_, columns], [columns, 1], [rows_, columns]), w.ids[0], 0)
    return w.text()


def as_type(tile: Tile, kind: str) -> Tile:
    return tile if str(tile.type.element) == kind else tile.to(kind)


def largest(w: Writer, tiles: list[Tile]) -> list[Tile]:
    """The largest of a row and where it is; of equal ones the first."""

    def better(left: Any, right: Any) -> list[Tile]:
        (a, i), (b, j) = left, right
        first = (b > a) | (a.eq(b) & (j < i))
        return [first.where(b, a), first.where(j, i)]

    return w.fold(tiles, 1, better, [float("-inf"), 0])


FOLDS: dict[str, tuple[tuple[str, ...], Any]] = {
    "sum": (("f32",), lambda w, t: [t[0].reduce(1)]),
    "product": (("f32",), lambda w, t: [(t[0] * 0.01 + 1.0).reduce(1, "mul")]),
    "largest of halves": (("f16",), lambda w, t: [t[0].reduce(1, "max")]),
    "least of bytes": (("i8",), lambda w, t: [t[0].reduce(1, "min").to("i32").to("i8")]),
    "where the largest is": (("f32", "i32"), largest),
    "sums of doubles": (("f64",), lambda w, t: [t[0].reduce(1)]),
}


def given_folds(name: str, rows_: int, columns: int) -> Program:
    kinds, fold = FOLDS[name]

    def arguments() -> list[Any]:
        size = (2 * rows_, columns)
        tiles = [random(size, kind, number) for number, kind in enumerate(kinds)]
        if len(kinds) > 1:
            tiles = [np.round(tiles[0] * 4) / 4, np.broadcast_to(np.arange(columns, dtype=np.int32), size).copy()]
        return [*tiles, np.full(2 * rows_, 7, np.int32), np.full(size, 7, np.float32)]

    names = ("a", "b")[: len(kinds)]
    assert names
    return Program(name, lambda: folded(rows_, columns, kinds, fold), arguments, (2,), None, tolerance=5e-3)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize(("size", "ctas"), [((1, 128), 4), ((8, 256), 2), ((4, 512), 8)])
def test_folds(name: str, size: tuple[int, int], ctas: int) -> None:
    kernel = check(given_folds(name, *size), "sm_90a", num_ctas=ctas)
    assert "st.shared::cluster" in kernel.ptx


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ORDERS)
def test_folds_in_skewed_orders(order: str) -> None:
    given = given_folds("where the largest is", 8, 256)
    kernel = tilesat.compile(given.source(), "sm_90a", num_ctas=4)
    found, wanted = simulate(kernel, given, schedule=order), interpret(kernel, given)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


def test_what_no_reduction_folds_is_rather_cut() -> None:
    """Rows of a tile with enough of them: no CTA needs anything from another."""
    entry = next(op for op in load(given_folds("sum", 64, 256).source()).walk() if isinstance(op, ct.Entry))
    plans = [planned(entry, ctas) for ctas in (2, 4, 8)]
    told = [
        sum(isinstance(op, nv_tileas.Exchange) for op in plan.walk()) for plan in plans if isinstance(plan, ct.Entry)
    ]
    assert told == [0, 0, 1]  # 64 rows are four times 16


def of_a_loop(steps: int, n: int) -> str:
    """A tile block goes through rows, each folded over its cluster; what it has found goes on to the next."""
    w = Writer("loop", x="ptr<f32>", y="ptr<f32>", steps="i32")
    w.promise(x=16, y=16)
    source, target = (w.view(each, [steps * n], [1], [n]) for each in (w.x, w.y))
    with w.loop(0, w.steps, carried=[w.const(0, "f32")]) as loop:
        row = w.load(source, loop.counter)
        top = row.reduce(0, "max")
        total = (row - top.splat(n)).reduce(0) + loop.values[0] * 0.5
        w.store(row + total.splat(n), target, loop.counter)
        loop.values = [total]
    return w.text()


def looped(steps: int, n: int = 512) -> Program:
    def arguments() -> list[Any]:
        return [random((8 * n,), "f32", 1), np.full(8 * n, 7, np.float32), steps]

    return Program("loop", lambda: of_a_loop(8, n), arguments, (1,), None, tolerance=ERROR)


@cache
def in_a_loop(ctas: int = 2, target: str = "sm_90a") -> Kernel:
    return tilesat.compile(of_a_loop(8, 512), target, num_ctas=ctas)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 8])
@pytest.mark.parametrize("steps", [1, 2, 3, 8])
def test_loops(steps: int, ctas: int, target: str) -> None:
    assert error(in_a_loop(ctas, target), looped(steps)) < ERROR


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_loops_in_skewed_orders(target: str, order: str) -> None:
    assert error(in_a_loop(4, target), looped(7), schedule=order) < ERROR


def test_loops_are_explained() -> None:
    """Without a search for schedules, which would take minutes."""
    assert "CTAs of the cluster wait for each other in this loop" in outline(in_a_loop(4).compiled)


@pytest.mark.parametrize("resident", [2, 8])
def test_persistent_clusters(resident: int) -> None:
    kernel = compiled(1024, 2, persistent="static")
    given = rows(1024, standardised)
    assert error(kernel, given, resident=resident) < ERROR


def sum_alone() -> str:
    """A sum that only the first CTA stores, behind a branch that all take or none."""
    w = Writer("k", x="ptr<f32>", y="ptr<f32>", flag="i32")
    w.promise(x=16)
    tile = w.load(w.view(w.x, [512], [1], [512]), 0)
    view = w.view(w.y, [1], [1], [1])
    w.store(tile.reduce(0).reshape(1), view, 0)

    def again() -> list[Tile]:
        w.store(tile * tile.reduce(0, "max").splat(512), w.view(w.x, [512], [1], [512]), 0)
        return []

    w.branch(w.flag > 0, again)
    return w.text()


@pytest.mark.parametrize("flag", [0, 1])
def test_what_is_whole_is_stored_once(flag: int) -> None:
    x = random((512,), "f32", 1)
    given = Program("k", sum_alone, lambda: [x.copy(), np.zeros(1, np.float32), flag], (1,), None)
    kernel = tilesat.compile(sum_alone(), "sm_90a", num_ctas=4)
    found, wanted = simulate(kernel, given), interpret(kernel, given)
    assert max(largest_error(a, b) for a, b in zip(found[:2], wanted[:2], strict=True)) < ERROR


def of_tiles(steps: int) -> str:
    """Rows of tiles, each folded within a warp: there is no CTA barrier between two rounds."""
    w = Writer("tiles", x="ptr<f32>", y="ptr<f32>", steps="i32")
    w.promise(x=16, y=16)
    source, target = (w.view(each, [8, 256 * steps], [256 * steps, 1], [8, 256]) for each in (w.x, w.y))
    with w.loop(0, w.steps) as loop:
        tile = w.load(source, 0, loop.counter)
        w.store(tile - tile.reduce(1, "max").column(256), target, 0, loop.counter)
    return w.text()


def tiles(steps: int) -> Program:
    def arguments() -> list[Any]:
        return [random((8, 256 * 8), "f32", 1), np.full((8, 256 * 8), 7, np.float32), steps]

    return Program("tiles", lambda: of_tiles(8), arguments, (1,), None)


@cache
def of_tiles_compiled(ctas: int) -> Kernel:
    return tilesat.compile(of_tiles(8), "sm_120a", num_ctas=ctas)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("order", ["together", *ORDERS])
@pytest.mark.parametrize("ctas", [2, 4])
def test_nothing_else_orders_rounds(ctas: int, order: str) -> None:
    kernel = of_tiles_compiled(ctas)
    body = kernel.ptx[kernel.ptx.index("$L6:") :]
    assert "bar.sync" not in body
    assert error(kernel, tiles(8), schedule=order) == 0


def of_columns(steps: int) -> str:
    """Tiles folded along their columns, each held by a separate lane."""
    w = Writer("columns", x="ptr<f32>", y="ptr<f32>", steps="i32")
    w.promise(x=16, y=16)
    source, target = (w.view(each, [128 * steps, 8], [8, 1], [128, 8]) for each in (w.x, w.y))
    with w.loop(0, w.steps) as loop:
        tile = w.load(source, loop.counter, 0)
        w.store(tile - tile.reduce(0).row(128), target, loop.counter, 0)
    return w.text()


def columns(steps: int) -> Program:
    def arguments() -> list[Any]:
        return [random((128 * 8, 8), "f32", 1), np.full((128 * 8, 8), 7, np.float32), steps]

    return Program("columns", lambda: of_columns(8), arguments, (1,), None)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_lanes_meet(target: str) -> None:
    """The lanes that arrive are not those that have stored."""
    kernel, given = tilesat.compile(of_columns(8), target, num_ctas=2), columns(5)
    assert max(error(kernel, given, schedule=order) for order in ("together", *ORDERS)) < ERROR
    at = kernel.ptx.index("st.shared::cluster")
    ptx = kernel.ptx[:at] + kernel.ptx[at:].replace("bar.warp.sync -1;", "", 1)
    with pytest.raises(SimulatorError, match=r"race|not ordered|hazard"):
        simulate(kernel, given, ptx=ptx)


STORE = r"(@%p\d+) st\.shared::cluster\.b32 \[(%r\d+)(\+\d+)?\], (%f\d+);"
STORES = r"((?:\s+@%p\d+ st\.shared::cluster.*)+)"
MEET = r"(\s+bar\.warp\.sync -1;)"
ARRIVAL = r"(@%p\d+) mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[(%r\d+)\];"
WAIT = r"\s+\$W1:\s+mbarrier\.try_wait.*\n.*bra \$W1;"
READS = r"((?:\s+ld\.shared\.b32 .*)+)"
CLUSTER = r"barrier\.cluster\.arrive\.release\.aligned;\s+barrier\.cluster\.wait\.acquire\.aligned;"
ROUND = r"(and\.b32 (%r\d+), (%r\d+), 1;\s+shr\.u32 %r\d+, \3, 1;\s+and\.b32 (%r\d+), %r\d+, 1;)"
"""The place (2) and the parity (4) of a round (3)."""

MUTANTS: dict[str, tuple[str, str]] = {
    "no barrier at the start": (CLUSTER, "bar.sync 0;"),
    "init released by nothing at the start": (
        r"fence\.mbarrier_init\.release\.cluster;(\s+\S+\s+barrier\.cluster\.arrive)\.release",
        r"\1.relaxed",
    ),
    "told nobody": (STORE, ""),
    "told this CTA only": (r"(xor\.b32 %r\d+, %r\d+), (%r\d+);(?=\s+mapa)", r"\1, 0;"),
    "told the first CTA only": (r"(mapa\.shared::cluster\.u32 %r\d+, %r\d+), %r\d+;(?=\s+and\.b32)", r"\1, 0;"),
    "told by one lane": (r"and\.b32 (%r\d+), %r1, 30;", r"and.b32 \1, %r1, 31;"),
    "one place for all CTAs": (r"shl\.b32 (%r\d+), (%r6), 5;", r"shl.b32 \1, \2, 0;"),
    "no arrival": (ARRIVAL, ""),
    "arrival at this CTA only": (ARRIVAL, r"mbarrier.arrive.shared::cta.b64 _, [%r58+24576];"),
    "arrival relaxed": (ARRIVAL, r"\1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [\2];"),
    "arrival at CTA scope": (ARRIVAL, r"\1 mbarrier.arrive.release.cta.shared::cluster.b64 _, [\2];"),
    "arrival of four lanes": (ARRIVAL, r"and.b32 %r11, %r1, 28; setp.eq.s32 %p13, %r11, 0; "
                                       r"@%p13 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [\2];"),
    "arrival before the stores": (STORES + MEET + r"((?:.*\n){3}.*mbarrier\.arrive\.release\.cluster.*)", r"\2\3\1"),
    "no wait": (WAIT, ""),
    "wait relaxed": (r"parity\.acquire\.cluster", "parity.relaxed.cluster"),
    "parity is 0": (r"(parity\.acquire\.cluster.*), (%r\d+);", r"\1, 0;"),
    "parity of the next round": (ROUND, r"\1 xor.b32 \4, \4, 1;"),
    "reads before the wait": (f"({WAIT})" + r"(\s+add\.s32.*)" + READS, r"\2\3\1"),
    "one place for all rounds": (ROUND + r"(\s+)shl\.b32 (%r\d+), \2, 6;", r"\1\5mov.b32 \6, 0;"),
    "one barrier for all rounds": (ROUND + r"([\s\S]*?)shl\.b32 (%r\d+), \2, 3;", r"\1\5mov.b32 \6, 0;"),
    "the round stays": (ROUND + r"([\s\S]*?)add\.s32 \3, \3, 1;", r"\1\5"),
    "counts one CTA": (r"(mbarrier\.init.*), 8;", r"\1, 4;"),
    "counts one more": (r"(mbarrier\.init.*), 8;", r"\1, 9;"),
    "counts one less": (r"(mbarrier\.init.*), 8;", r"\1, 7;"),
}  # fmt: skip
"""Pattern in PTX and what is written there instead. Two changes are right programs, and are not here: lane k may tell
the CTA of rank k in place of the one whose rank differs in k (the lanes hold the same), and all CTAs may write to each
other's place (the order of a commutative combination, the same in all). One is not seen: without `bar.warp.sync` the
lanes that arrive do not release what others have read; the simulator's shuffles order them. Where they have not stored
it, it is seen (`test_lanes_meet`). There is no barrier at the end: what other CTAs do to a CTA's shared memory comes
before the arrivals that it has waited for.
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel, given = of_tiles_compiled(2), tiles(8)
    ptx = changed(kernel.ptx, MUTANTS[name], count=1 if "start" in name else 0)
    wanted = interpret(kernel, given)[1]
    caught(
        lambda order: np.array_equal(simulate(kernel, given, ptx=ptx, schedule=order)[1], wanted), ("together", *ORDERS)
    )
