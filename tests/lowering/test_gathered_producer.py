"""Gathered tiles that a producer brings: row numbers, pointers and masks computed again in layouts of its own warps."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilesat
from lowering.modulo import assignment
from lowering.schedule.explain import agents
from tests.lowering.protocol import caught, changed
from tests.lowering.report import outline
from tests.lowering.test_gathered_products import K, grouped
from tests.programs.program import Program, check, largest_error, random, simulate
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
FORMS: dict[str, dict[str, Any]] = {
    "rows": {}, "tail": {"depth": 2 * K + 24}, "one-short-step": {"depth": 40}, "both": {"both": True},
    "columns": {"turned": True}, "runs-of-4-bytes": {"divisor": 2, "depth": 2 * K + 6},
    "odd": {"depth": 7 * K, "kind": "bf16"}, "two-groups": {"m": 128}, "wide": {"m": 128, "n": 128},
}  # fmt: skip


def producer_of(warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All gathered tiles are brought by so many warps."""
    monkeypatch.setattr(assignment, "shortest", lambda *_: warps)


def gathers(kernel: Kernel) -> bool:
    """Does a producer gather? Then what it copies arrives at barriers, and nobody waits for groups."""
    return "cp.async.mbarrier.arrive.noinc" in kernel.ptx and "cp.async.wait_group" not in kernel.ptx


def each_tile(name: str, tiles: int = 3, depth: int = 5 * K, stored: bool = False, viewed: bool = False) -> Program:
    """D = A[rows] B for all tiles of rows in one CTA, the rows of each loaded in a loop around that of the product.
    `stored`: the kernel writes the row numbers itself, so that nobody else may load them; `viewed`: they are a tile
    of a view.
    """
    m, n, rows = 64, 64, 100

    def source() -> str:
        w = Writer("tiles", a="ptr<f16>", b="ptr<f16>", rows="ptr<i32>", d="ptr<f32>", k="i32", count="i32")
        w.promise(a=16, b=16, rows=16, d=16, k=8)
        b = w.view(w.b, [w.k, n], [n, 1], [K, n])
        d = w.view(w.d, [w.count * m, n], [n, 1], [m, n])
        numbers = w.view(w.rows, [w.count * m], [1], [m])
        steps = (w.k + (K - 1)).div(K)
        with w.loop(0, w.count) as tile:
            places = w.rows[w.iota(m) + (tile.counter * m).splat(m)]
            written = w.scatter(places, w.iota(m) + tile.counter.splat(m)) if stored else None
            row = w.gather(places, token=written)[0] if not viewed else w.load(numbers, tile.counter)
            known = (row < rows).column(K)
            starts = (row * w.k.splat(m)).column(K)
            with w.loop(0, steps, carried=[w.const(0.0, "f32", m, n)]) as loop:
                along = (loop.counter * K).splat(K) + w.iota(K)
                mask = known & (along < w.k.splat(K)).row(m)
                x = w.gather(w.a[starts + along.row(m)], mask, 0.0)[0]
                loop.values = [w.dot(x, w.load(b, loop.counter, 0), loop.values[0])]
            w.store(loop.values[0], d, tile.counter, 0)
        return w.text()

    def arguments() -> list[Any]:
        order = np.random.default_rng(7).integers(0, rows + 20, tiles * m).astype(np.int32)
        arrays = [random((rows + 20, depth), "f16", 1), random((depth, n), "f16", 2), order]
        return [*arrays, random((max(tiles, 1) * m, n), "f32", 3), depth, tiles]

    def expected(a: Any, b: Any, order: Any, d: Any, *rest: Any) -> dict[int, Any]:
        if stored:
            order = np.concatenate([np.arange(m) + tile for tile in range(tiles)])
        held = np.where((order < rows)[:, None], a[order].astype(np.float64), 0.0)
        return {3: held @ b.astype(np.float64)} if tiles else {}

    return Program(name, source, arguments, (1,), expected, 4e-3)


def right(program: Program, kernel: Kernel, ptx: str = "", order: str = "together") -> bool:
    """The simulator's arrays against NumPy's, hazards looked for."""
    found = simulate(kernel, program, ptx=ptx, schedule=order)
    assert program.expected is not None
    wanted = program.expected(*program.arguments())
    return all(largest_error(found[k], np.asarray(array)) <= program.tolerance for k, array in wanted.items())


@pytest.mark.sampled(88)
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("warps", [1, 2, 4])
@pytest.mark.parametrize("form", FORMS)
def test_a_producer_gathers(form: str, warps: int, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks, tails, fewer steps than stages, one consuming warpgroup and two, in every number of producing warps."""
    producer_of(warps, monkeypatch)
    program = grouped(form, **FORMS[form])
    kernel = check(program, target, spills=warps < 4 or "4-bytes" in form, cache=False)  # forced
    assert gathers(kernel)
    assert right(program, kernel, order="skewed:1")


@pytest.mark.sampled(12)
@pytest.mark.parametrize("warps", [2, 4])
@pytest.mark.parametrize("tiles", [0, 1, 3])
@pytest.mark.parametrize("depth", [0, 3 * K + 8, 9 * K])
def test_rows_of_each_tile_are_loaded_by_the_producer(
    tiles: int, depth: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """The ring goes round the outer loop: no tiles, one, three; no steps, an even and an odd number."""
    producer_of(warps, monkeypatch)
    program = each_tile("tiles", tiles, depth)
    kernel = tilesat.compile(program.source(), "sm_90a", cache=False)
    assert gathers(kernel)
    assert all(right(program, kernel, order=order) for order in ORDERS[:3])


def test_row_numbers_in_shared_memory_stay_with_those_who_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tile of a view is copied there: what a copy does not say is whether a store comes behind it."""
    producer_of(4, monkeypatch)
    assert not gathers(check(each_tile("viewed", viewed=True), "sm_90a", cache=False))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("order", ORDERS[1:])
def test_warps_far_apart(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    producer_of(4, monkeypatch)
    program = grouped("both", m=128, both=True)
    assert right(program, tilesat.compile(program.source(), "sm_90a", cache=False), order=order)


def test_row_numbers_that_the_kernel_stores_stay_with_those_who_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other agent may load what this one has stored: the ring is theirs, and the numbers are right."""
    producer_of(4, monkeypatch)
    kernel = check(each_tile("stored", stored=True), "sm_90a", cache=False)
    assert not gathers(kernel)
    assert "setmaxnreg" not in kernel.ptx


MUTATIONS = {
    "consumers do not wait": (r"\$W\d+:\n.*try_wait.*\n.*bra \$W\d+;(?=\n(?:.*\n){0,6}?\s*fence\.proxy)", ""),
    "consumers do not fence": (r"fence\.proxy\.async[^;]*;(?=\n(?:.*\n){0,20}?\s*wgmma)", ""),
    "copies do not arrive": (r"cp\.async\.mbarrier\.arrive\.noinc[^;]*;", ""),
    "threads arrive, copies do not": (r"cp\.async\.mbarrier\.arrive\.noinc(\S+) ([^;]*;)", r"mbarrier.arrive\1 _, \2"),
    "the mask does not reach the copies": (
        r"(cp\.async\.c[ag]\.shared\.global \[[^]]*\], \[[^]]*\], 16), %r\d+;", r"\1;",
    ),
}  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MUTATIONS)
def test_each_part_of_the_protocol_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    producer_of(4, monkeypatch)
    program = grouped("rows", depth=9 * K)
    kernel = tilesat.compile(program.source(), "sm_90a", cache=False)
    assert right(program, kernel)
    broken = changed(kernel.ptx, MUTATIONS[name])
    caught(lambda order: right(program, kernel, broken, order), ORDERS)


def test_a_stage_is_not_filled_before_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer's wait, before its first copy."""
    producer_of(4, monkeypatch)
    program = grouped("rows", depth=9 * K)
    kernel = tilesat.compile(program.source(), "sm_90a", cache=False)
    copies = kernel.ptx.index("cp.async.c")
    wait = [m for m in re.finditer(r"\$W\d+:\n.*try_wait.*\n.*bra \$W\d+;", kernel.ptx) if m.start() < copies][-1]
    broken = kernel.ptx[: wait.start()] + kernel.ptx[wait.end() :]
    caught(lambda order: right(program, kernel, broken, order), ORDERS)


@pytest.mark.in_turn
def test_the_choice_is_predicted() -> None:
    """128 x 128 x 64: the tensor cores need 512 cycles, which copies by those who compute make longer. Where three CTAs
    share an SM they hide that.
    """
    kernel = tilesat.compile(grouped("large", m=128, n=128).source(), "sm_90a", cache=False)
    assert gathers(kernel)
    text = outline(kernel.compiled)
    found = re.search(
        r"gathered tiles: no producer (\d+), a producer of 4 warps (\d+).*taken: a producer of 4 warps", text
    )
    assert found is not None
    assert int(found[2]) == 512 < int(found[1])
    small = tilesat.compile(grouped("small").source(), "sm_90a", cache=False)
    assert not gathers(small)
    assert re.search(
        r"gathered tiles: no producer \d+ of \d CTAs per SM, .*taken: no producer", outline(small.compiled)
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("warps", [1, 2, 4])
def test_idle_warps_come_after_a_small_producer(warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    producer_of(warps, monkeypatch)
    kernel = tilesat.compile(grouped("rows").source(), "sm_90a", cache=False)
    lines = list(agents(kernel.compiled.modules["nv_tileas"]))
    idle = f", then {4 - warps} idle" if warps < 4 else ""
    assert f"copies by all threads{idle}" in "\n".join(lines)
    assert kernel.manifest["block"][0] == 256
