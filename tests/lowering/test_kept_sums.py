"""Sums that a loop adds products to in tensor memory while its threads compute the factors: by where the factor lies,
starts, numbers of steps, loops over tiles, orders of warps; what is refused; and with parts of the protocol left out.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from egraph import placed
from lowering.atoms.tcgen05 import BY_AGENT_READ
from lowering.compiled import Compiled
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import ORDERS
from tests.lowering.test_tensor_agents import clean
from tests.programs.program import Program, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ROWS, STEP, WIDTH = 128, 64, 64
ERROR = 4e-3
KINDS = ("shared", "left", "tiles", "begun")
"""What threads compute: a factor that they write to shared memory, a left factor in tensor memory; the first one in a
loop over tiles, and with a sum that does not begin with zeros.
"""


def source(kind: str, twice: bool = False) -> str:
    """y += (0.5 a) b over k, or (0.25 q k) v over keys; `twice`: the sum is read in the loop too."""
    w = Writer("kept", a="ptr<f16>", b="ptr<f16>", v="ptr<f16>", y="ptr<f32>", n="i32", count="i32")
    w.promise(a=16, b=16, v=16, y=16, n=STEP, count=1)

    def view(array: Tile, shape: list[Any], tile: list[int]) -> Tile:
        return w.view(array, shape, [shape[1], 1], tile)

    def one(number: Tile) -> None:
        out = view(w.y, [w.count * ROWS, WIDTH], [ROWS, WIDTH])
        start = w.load(out, number, 0) if kind == "begun" else w.const(0.0, "f32", ROWS, WIDTH)
        with w.loop(0, w.n.div(STEP), carried=[start]) as loop:
            (total,) = loop.values
            k = loop.counter
            if kind == "left":
                query = w.load(view(w.a, [w.count * ROWS, WIDTH], [ROWS, WIDTH]), number, 0)
                keys = w.load(view(w.b, [w.n, WIDTH], [STEP, WIDTH]), k, 0)
                factor = (w.dot(query, keys.T) * 0.25).to("f16")
            else:
                factor = (w.load(view(w.a, [w.count * ROWS, w.n], [ROWS, STEP]), number, k).to("f32") * 0.5).to("f16")
            found = w.dot(factor, w.load(view(w.v, [w.n, WIDTH], [STEP, WIDTH]), k, 0), total)
            loop.values = [found + total.max(found) * 0.0 if twice else found]
        w.store(loop.values[0], out, number, 0)

    if kind == "tiles":
        with w.loop(w.ids[0], w.count, carried=[]) as loop:
            one(loop.counter)
    else:
        one(w.ids[0])
    return w.text()


def program(kind: str, steps: int, tiles: int = 2) -> Program:
    n = steps * STEP

    def arguments() -> list[Any]:
        length = WIDTH if kind == "left" else max(n, 1)
        a = random((tiles * ROWS, length), "f16", 1)
        b, v = (random((max(n, 1), WIDTH), "f16", seed) for seed in (2, 3))
        return [a, b, v, random((tiles * ROWS, WIDTH), "f32", 4), n, tiles]

    return Program("kept", lambda: source(kind), arguments, (1 if kind == "tiles" else tiles,), None)


def expected(kind: str, a: Any, b: Any, v: Any, y: Any, n: Any, tiles: Any) -> Any:
    del tiles
    a, b, v = (x.astype(np.float64) for x in (a, b[: int(n)], v[: int(n)]))
    factor = 0.25 * (a @ b.T) if kind == "left" else 0.5 * a[:, : int(n)]
    return factor.astype(np.float16).astype(np.float64) @ v + (y if kind == "begun" else 0.0)


@cache
def compiled(kind: str, target: str = "sm_100a", forbid: tuple[str, ...] = ()) -> Kernel:
    """Without a spill or a warning; the sum stays in tensor memory."""
    kernel = clean(source(kind), target, forbid=forbid)
    assert keeps(kernel)
    return kernel


def keeps(kernel: Kernel) -> bool:
    assert isinstance(kernel.compiled, Compiled)
    return any(isinstance(node, placed.TensorKeptProduct) for node in kernel.compiled.selection.node.values())


def error(kind: str, steps: int, order: str = "together", ptx: str = "", **given: Any) -> float:
    run = program(kind, steps)
    found = simulate(compiled(kind, **given), run, ptx=ptx, schedule=order)[3]
    return largest_error(found, expected(kind, *run.arguments())) / ERROR


@pytest.mark.sampled(4)
@pytest.mark.parametrize("steps", [3, 0, 1, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_right_in_hazard_mode(kind: str, steps: int) -> None:
    assert error(kind, steps) < 1


@pytest.mark.sampled(10)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", KINDS)
def test_right_in_any_order_of_warps(kind: str, order: str) -> None:
    assert error(kind, 4, order) < 1


@pytest.mark.in_turn
@pytest.mark.parametrize("order", ORDERS[:2])
def test_right_where_consumers_begin_products_of_left_factors(order: str) -> None:
    assert error("left", 3, order, forbid=(BY_AGENT_READ,)) < 1


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_103a", "sm_110a"])
def test_other_targets(target: str) -> None:
    assert error("shared", 3, target=target) < 1


def test_nothing_of_the_sum_is_read_in_the_loop() -> None:
    text = compiled("shared").ptx
    last = max(found.start() for found in re.finditer(r"tcgen05\.mma", text))
    assert "tcgen05.ld" not in text[:last]


def test_a_sum_that_the_loop_also_reads_is_in_registers() -> None:
    assert not keeps(clean(source("shared", twice=True)))


def two_sums() -> str:
    """A sum of 128 x 128 and one of 128 x 64, in loops one after the other, of eight warps: two share each lane."""
    w = Writer("kept", a="ptr<f16>", b="ptr<f16>", c="ptr<f16>", y="ptr<f32>", z="ptr<f32>", n="i32")
    w.promise(a=16, b=16, c=16, y=16, z=16, n=STEP)
    left = w.view(w.a, [ROWS, w.n], [w.n, 1], [ROWS, STEP])
    for right, out, width in ((w.b, w.y, 128), (w.c, w.z, 64)):
        held = w.view(right, [w.n, width], [width, 1], [STEP, width])
        with w.loop(0, w.n.div(STEP), carried=[w.const(0.0, "f32", ROWS, width)]) as loop:
            factor = (w.load(left, 0, loop.counter).to("f32") * 0.5).to("f16")
            loop.values = [w.dot(factor, w.load(held, loop.counter, 0), loop.values[0])]
        w.store(loop.values[0], w.view(out, [ROWS, width], [width, 1], [ROWS, width]), 0, 0)
    hint = "optimization_hints=<sm_100 = {num_worker_warps_per_cta = 8}>"
    return re.sub(r"\)\s*\{", f") {hint} {{", w.text(), count=1)


@pytest.mark.in_turn
def test_a_sum_begins_after_all_have_loaded_the_one_before() -> None:
    """Both lie over the same columns; there was no barrier where no thread reads the sum in its loop."""
    kernel = clean(two_sums(), "sm_100a")
    assert keeps(kernel)
    assert kernel.warps == 8
    n = 3 * STEP
    given = [random((ROWS, n), "f16", 1), random((n, 128), "f16", 2), random((n, 64), "f16", 3)]
    outputs = [np.zeros((ROWS, width), np.float32) for width in (128, 64)]
    run = Program("two", two_sums, lambda: [*given, *outputs, n], (1,), None)
    a, b, c = (x.astype(np.float64) for x in given)
    for order in ("together", *ORDERS[:3]):
        found = simulate(kernel, run, schedule=order)
        for place, right in ((3, b), (4, c)):
            assert largest_error(found[place], 0.5 * a @ right) < ERROR


CHANGES = {
    "no wait for the product": (r"    (\$W\d+):\n    mbarrier\.try_wait\S+ %p\d+, \[%r\d+\+\d+\], %r\d+;\n"
                                r"    @!%p\d+ bra \1;\n    tcgen05\.fence::after_thread_sync;\n", ""),
    "threads do not meet": (r"    bar\.sync 1, 128;\n", ""),
    "no wait for what the sum begins with": (r"    tcgen05\.wait::st\S+\n", ""),
    "the first product does not add": (r"(tcgen05\.mma.*), 1;", r"\1, 0;"),
}  # fmt: skip


@pytest.mark.in_turn
@pytest.mark.parametrize("change", CHANGES)
def test_mutants_are_caught(change: str) -> None:
    text = changed(compiled("begun").ptx, CHANGES[change])
    caught(lambda order: error("begun", 4, order, ptx=text) < 1, ("together", *ORDERS))
