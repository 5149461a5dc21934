"""Attention that goes through tiles of queries in a loop, whose products agents begin: by main loops of a tile, heads
that share keys, numbers of steps and of tiles, orders of warps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from lowering.atoms.names import BY_CORRECTION
from lowering.atoms.tcgen05 import BY_AGENT_READ
from tests.lowering import test_begun as begun
from tests.lowering.report import report
from tests.lowering.test_begun import ERROR, HEADS, LEAST, SHAPES, Shape, expected
from tests.lowering.test_clusters import ORDERS
from tests.lowering.test_tensor_agents import clean, switch
from tests.programs.program import Program, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel


def own(shape: Shape) -> str:
    """The kernel's own loop over heads and tiles of queries, which its CTAs take turns at. "causal": of the keys that
    all rows see all but the last step in a loop without masks, the others in one behind it; "behind": all keys in one
    loop that hides those behind the row; "grouped": all heads have one of keys.
    """
    rows, step, width, kind, hides = shape
    w = Writer("attention", q=f"ptr<{kind}>", k=f"ptr<{kind}>", v=f"ptr<{kind}>", o="ptr<f32>", m="i32", n="i32")
    w.promise(q=16, k=16, v=16, o=16, m=1, n=1)
    many = (w.m + (rows - 1)).div(rows)
    steps = (w.n + (step - 1)).div(step)

    def view(array: Tile, tile: int, count: Tile) -> Tile:
        return w.view(array, [HEADS, count, width], [count * width, width, 1], [1, tile, width])

    def load(array: Tile, tile: int, count: Tile, of: Tile, number: Tile) -> Tile:
        return w.load(view(array, tile, count), of, number, 0).reshape(tile, width)

    with w.loop(w.ids[0], many * HEADS, w.grid[0]) as tiles:
        tile, head = tiles.counter.rem(many), tiles.counter.div(many)
        shared = w.const(0, "i32") if hides == "grouped" else head
        q = load(w.q, rows, w.m, head, tile)

        def part(first: Tile, last: Tile, state: list[Tile], masked: bool) -> list[Tile]:
            with w.loop(first, last, carried=state) as loop:
                highest, total, out = loop.values
                score = w.dot(q, load(w.k, step, w.n, shared, loop.counter).T)
                if masked:
                    key = (loop.counter * step).splat(step) + w.iota(step)
                    seen = (key < w.n.splat(step)).row(rows)
                    if hides in ("causal", "behind"):
                        behind = (tile * rows).splat(rows) + w.iota(rows)
                        seen = seen & (key.row(rows) <= behind.column(step))
                    score = seen.where(score, -float("inf"))
                new = highest.max(score.reduce(1, "max") * 0.25)
                power = (score * 0.25 - new.column(step)).exp2()
                fade = (highest - new).exp2()
                value = load(w.v, step, w.n, shared, loop.counter)
                out = w.dot(power.to(kind), value, out * fade.column(width))
                loop.values = [new, total * fade + power.reduce(1), out]
            return loop.values

        state = [w.const(LEAST, "f32", rows), w.const(0.0, "f32", rows), w.const(0.0, "f32", rows, width)]
        if hides == "causal":
            whole = ((tile * rows).div(step).min(w.n.div(step)) - 1).max(0)
            state = part(w.const(0, "i32"), whole, state, False)
            last = ((tile + 1) * rows).div(step).min(steps)
            _, total, out = part(whole, last, state, True)
        else:
            _, total, out = part(w.const(0, "i32"), steps, state, True)
        done = out / total.max(1e-30).column(width)
        w.store(done.reshape(1, rows, width), view(w.o, rows, w.m), head, tile, 0)
    return w.text()


OWN: dict[str, Shape] = {
    "own": (128, 64, 64, "f16", ""), "own-tall": (256, 64, 128, "f16", ""),
    "own-grouped": (128, 128, 64, "bf16", "grouped"), "own-causal": (256, 64, 128, "f16", "behind"),
    "two": (128, 64, 64, "f16", "causal"), "two-kept": (128, 64, 128, "f16", "causal"),
    "two-tall": (256, 128, 64, "bf16", "causal"),
}  # fmt: skip
"""Kernels with a loop of their own; all else is a kernel of one tile that tile blocks are put around."""
NAMES = [*OWN, *SHAPES]


def shape_of(name: str) -> Shape:
    return OWN.get(name) or SHAPES[name]


@cache
def compiled(name: str, target: str = "sm_100a", by_agents: bool = True) -> Kernel:
    """Without a spill or a warning; agents have the rows that they should."""
    forbid = [BY_CORRECTION] if by_agents else [BY_AGENT_READ]
    if name in OWN:
        kernel = clean(own(OWN[name]), target, fast=["triton"], forbid=forbid)
    else:
        kernel = clean(begun.source(SHAPES[name]), target, fast=["triton"], forbid=forbid, persistent="static")
    made = switch(kernel)
    assert made.roles.count("multiply") == (by_agents and max(1, 1 + max(made.blocks, default=0)))
    return kernel


def error(
    name: str, queries: int, keys: int, ctas: int = 1, order: str = "together", ptx: str = "", **given: Any
) -> float:
    """Of tiles that so many CTAs go through."""
    shape = shape_of(name)
    run = begun.program(shape, queries, keys)
    if name in OWN:
        run = Program("attention", lambda: own(shape), run.arguments, (ctas,), None)
    found = simulate(compiled(name, **given), run, ptx=ptx, schedule=order, resident=ctas)[3]
    return largest_error(found, expected(shape, *run.arguments())) / ERROR[shape[3]]


@pytest.mark.sampled(30)
@pytest.mark.parametrize("name", NAMES)
def test_tile_after_tile(name: str) -> None:
    """One CTA for all tiles: what one leaves the next begins with; hazard mode."""
    assert error(name, 3 * shape_of(name)[0] - 20, 200) < 1


@pytest.mark.sampled(40)
@pytest.mark.parametrize("ctas", [1, 2, 3, 9])
@pytest.mark.parametrize("name", ["one", "tall", "own", "two", "two-tall"])
def test_tiles_a_cta(name: str, ctas: int) -> None:
    """None in some of nine."""
    assert error(name, 2 * shape_of(name)[0] + 1, 100, ctas) < 1


@pytest.mark.sampled(120)
@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("name", ["one", "tall", "wide", "own", "two", "two-kept"])
def test_any_number_of_steps(name: str, steps: int) -> None:
    assert error(name, 140, shape_of(name)[1] * steps) < 1


@pytest.mark.sampled(120)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "name",
    [
        "one",
        "wide",
        "tall",
        "far",
        "own-tall",
        "own-grouped",
        "own-causal",
        "two",
        "two-kept",
        "two-tall",
        "twice-kept",
        "twice-tall",
    ],
)
def test_skewed_orders(name: str, order: str) -> None:
    assert error(name, 2 * shape_of(name)[0] + 9, 200, order=order) < 1


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_103a", "sm_110a"])
@pytest.mark.parametrize("name", ["one", "tall", "two"])
def test_other_targets(name: str, target: str) -> None:
    assert error(name, 300, 100, target=target) < 1


@pytest.mark.in_turn
def test_the_report_says_who_begins_products() -> None:
    said = report(compiled("own-tall"))
    assert "warp 9: products, issued by one thread, for the rows of warpgroup 0" in said
    assert "products are issued by agents of their own: predicted cycles per iteration" in said
    forbidden = compiled("own-tall", by_agents=False)
    assert f"consumer threads issue the products: {BY_AGENT_READ} is forbidden" in report(forbidden)
    assert compiled("own-tall").cost == forbidden.cost


@pytest.mark.in_turn
def test_one_main_loop_has_no_turns() -> None:
    """The rings of scores, powers and sums order tile after tile; two loops have a turn each, and an end where threads
    do not read all sums in them.
    """
    assert len(begun.tensor_rings(compiled("own"))) == 4
    assert len(begun.tensor_rings(compiled("two"))) == 2 * 3 + 1 + 2
    assert len(begun.tensor_rings(compiled("two-kept"))) == 2 * 2 + 3 + 2
    assert all(not begun.missing_fences(compiled(name), compiled(name).ptx) for name in ("own", "two", "own-tall"))
