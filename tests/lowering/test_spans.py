"""Tiles that are live at the same time, in loops and outside: their registers decide the number of warps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilesat
from egraph.saturate import Saturated
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.text import parse
from lowering.cost import FREE, Machine
from lowering.passes import candidates, source, trial
from lowering.selection import select
from lowering.selection.pressure import Pressure
from lowering.selection.spans import points, total
from lowering.targets import Target
from runtime.ptxas import assemble
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer

ROWS, COLUMNS, DEPTH = 128, 128, 64


def gated() -> Program:
    """Three tiles and the sums of a fourth, made of a product and two gates that all of them use."""
    shape = [ROWS, COLUMNS]

    def source() -> str:
        w = Writer("gated", a="ptr<f16>", b="ptr<f16>", g="ptr<f16>", u="ptr<f16>", o="ptr<f16>", s="ptr<f32>", n="i32")
        w.promise(a=16, b=16, g=16, u=16, o=16, s=16, n=16)
        a, b = (
            w.view(w.a, [ROWS, w.n], [w.n, 1], [ROWS, DEPTH]),
            w.view(w.b, [w.n, COLUMNS], [COLUMNS, 1], [DEPTH, COLUMNS]),
        )
        with w.loop(0, w.tiles(a)[1], carried=[w.const(0.0, "f32", *shape)]) as loop:
            loop.values = [w.dot(w.load(a, 0, loop.counter), w.load(b, loop.counter, 0), loop.values[0])]
        product = loop.values[0]
        gate, up = (w.load(w.view(p, shape, [COLUMNS, 1], shape), 0, 0).to("f32") for p in (w.g, w.u))
        opened = ((gate * 0.5).tanh(rounding=ct.Rounding.APPROX) + 1.0) * 0.5
        passed = gate * opened
        hidden = passed * up
        out = w.view(w.o, [3 * ROWS, COLUMNS], [COLUMNS, 1], shape)
        first = w.store((product * up * (opened * (-opened + 1.0))).to("f16"), out, 0, 0, allow_tma=False)
        w.store((product * passed).to("f16"), out, 1, 0, token=first, allow_tma=False)
        w.store(hidden.to("f16"), out, 2, 0, allow_tma=False)
        w.store((product * hidden).reduce(1), w.view(w.s, [ROWS], [1], [ROWS]), 0)
        return w.text()

    def arguments() -> list[Any]:
        shapes = ((ROWS, 2 * DEPTH), (2 * DEPTH, COLUMNS), (ROWS, COLUMNS), (ROWS, COLUMNS), (3 * ROWS, COLUMNS))
        return [*(random(s, "f16", seed) for seed, s in enumerate(shapes, 1)), random((ROWS,), "f32", 6), 2 * DEPTH]

    def expected(*arrays: Any) -> dict[int, Any]:
        a, b, g, u = (x.astype(np.float64) for x in arrays[:4])
        product, opened = a @ b, 1 / (1 + np.exp(-g))
        hidden = g * opened * u
        made = [product * u * opened * (1 - opened), product * g * opened, hidden]
        return {4: np.concatenate(made), 5: (product * hidden).sum(1)}

    return Program("gated", source, arguments, (1,), expected, 2e-2)


def backward(size: int = 64, steps: int = 3) -> Program:
    """Gradients of keys and values by tf32 products: the weights are held while those of the output are computed."""
    whole = [size, size]

    def source() -> str:
        w = Writer("backward", q="ptr<f16>", k="ptr<f16>", v="ptr<f16>", g="ptr<f16>", o="ptr<f32>", n="i32")
        w.promise(q=16, k=16, v=16, g=16, o=16, n=1)
        keys, values = (w.load(w.view(p, whole, [size, 1], whole), 0, 0) for p in (w.k, w.v))
        queries, grads = (w.view(p, [w.n, size], [size, 1], whole) for p in (w.q, w.g))
        zero = w.const(0.0, "f32", *whole)
        with w.loop(0, w.tiles(queries)[0], carried=[zero, zero]) as loop:
            query, grad = (w.load(view, loop.counter, 0).to("f32") for view in (queries, grads))
            score = w.dot(query.to("tf32"), keys.T.to("f32").to("tf32"))
            weight = (score * 0.0625).exp()
            dv = w.dot(weight.T.to("tf32"), grad.to("tf32"), loop.values[1])
            back = w.dot(grad.to("tf32"), values.T.to("f32").to("tf32"))
            dk = w.dot((weight * (back - 1.0)).T.to("tf32"), query.to("tf32"), loop.values[0])
            loop.values = [dk, dv]
        out = w.view(w.o, [2 * size, size], [size, 1], whole)
        w.store(loop.values[0], out, 0, 0)
        w.store(loop.values[1], out, 1, 0)
        return w.text()

    def arguments() -> list[Any]:
        shapes = ((size * steps, size), (size, size), (size, size), (size * steps, size))
        return [
            *(random(s, "f16", seed) for seed, s in enumerate(shapes, 1)),
            random((2 * size, size), "f32", 5),
            size * steps,
        ]

    def expected(*arrays: Any) -> dict[int, Any]:
        q, k, v, g = (x.astype(np.float64) for x in arrays[:4])
        weight = np.exp(q @ k.T / 16)
        return {4: np.concatenate([(weight * (g @ v.T - 1)).T @ q, weight.T @ g])}

    return Program(
        "backward", source, arguments, (1,), expected, 0.1
    )  # tf32 has 10 bits, the sums are of some hundreds


def held(program: Program, warps: int = 4) -> list[tuple[str, int, int]]:
    """What ends at each point, loops around it, registers of the tiles that are held there."""
    entry = parse(program.source()).entries[0]
    found = points(entry.body.block)
    return [(type(op).__name__, len(loops), total(after, warps)) for op, loops, _, after in found]


def test_tiles_that_later_operations_need_are_held() -> None:
    """After the first store the product, both gates and the opened one: what the others store is made of them later."""
    tile, row = ROWS * COLUMNS // 128, 1
    assert held(gated()) == [
        ("For", 0, tile), ("MmaF", 1, 0), ("Continue", 1, 0),
        ("StoreView", 0, 4 * tile), ("StoreView", 0, 3 * tile), ("StoreView", 0, 2 * tile),
        ("Reduce", 0, row), ("StoreView", 0, 0), ("Return", 0, 0),
    ]  # fmt: skip


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", pytest.param("sm_90a", marks=pytest.mark.slow)])
def test_an_epilogue_takes_warps_for_its_tiles(target: str) -> None:
    """Only loops had registers: four warps spilled 1,368 bytes behind theirs."""
    check(gated(), target)


@pytest.mark.in_turn
def test_products_overlap_tiles() -> None:
    """Of those only operands and sums were counted: 268 bytes were spilled."""
    check(backward(), "sm_120a")


def narrow(width: int = 512, step: int = 128, columns: int = 32, steps: int = 2) -> Program:
    """D = V^T P, a step of V as large as no shared memory of sm_120a: its columns are read two bytes at a time."""

    def source() -> str:
        w = Writer("narrow", v="ptr<f16>", p="ptr<f16>", o="ptr<f32>", n="i32")
        w.promise(v=16, p=16, o=16, n=1)
        values = w.view(w.v, [w.n, width], [width, 1], [step, width])
        powers = w.view(w.p, [w.n, columns], [columns, 1], [step, columns])
        with w.loop(0, w.tiles(values)[0], carried=[w.const(0.0, "f32", width, columns)]) as loop:
            left, right = w.load(values, loop.counter, 0).T, w.load(powers, loop.counter, 0)
            loop.values = [w.dot(left, right, loop.values[0])]
        w.store(loop.values[0], w.view(w.o, [width, columns], [columns, 1], [width, columns]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        n = step * steps
        return [random((n, width), "f16", 1), random((n, columns), "f16", 2), random((width, columns), "f32", 3), n]

    def expected(v: Any, p: Any, *rest: Any) -> dict[int, Any]:
        return {2: v.astype(np.float64).T @ p.astype(np.float64)}

    return Program("narrow", source, arguments, (1,), expected, 2e-3)


@pytest.mark.in_turn
def test_narrow_loads_take_a_register_an_element() -> None:
    """They were counted as packed already: 44 bytes were spilled."""
    check(narrow(), "sm_120a")


def scanned(size: int = 64) -> Program:
    """Running sums of a product's rows: a scan takes a list of tiles, a view a list of strides, and both end alike."""

    def source() -> str:
        w = Writer("scanned", a="ptr<f16>", b="ptr<f16>", o="ptr<f32>", n="i32")
        w.promise(a=16, b=16, o=16, n=16)
        a, b = (w.load(w.view(p, [size, w.n], [w.n, 1], [size, size]), 0, 0) for p in (w.a, w.b))
        (sums,) = w.fold([w.dot(a, b)], 1, lambda x, y: [x[0] + y[0]], [0.0], scan=True)
        w.store(sums, w.view(w.o, [size, size], [size, 1], [size, size]), 0, 0)
        return w.text()

    def arguments() -> list[Any]:
        return [*(random((size, size), "f16", seed) for seed in (1, 2)), random((size, size), "f32", 3), size]

    def expected(a: Any, b: Any, *rest: Any) -> dict[int, Any]:
        return {2: np.cumsum(a.astype(np.float64) @ b.astype(np.float64), 1)}

    return Program("scanned", source, arguments, (1,), expected, 2e-2)


@pytest.mark.parametrize("warps", [4, 8])
def test_every_number_of_warps_is_offered(warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a list was in the layout that came last, so only that one's warps could make a view:
    intra_chunk_prepare of TileGym spilled 104 bytes with 8 on sm_120a and costs 27 % less with 4.
    """

    def asked(saturated: Any, oracle: Any, target: Target, *rest: Any) -> Any:
        assert set(oracle.warps) == {4, 8}
        return select(saturated, oracle, replace(target, asked_warps=warps), *rest)

    monkeypatch.setattr(source, "select", asked)
    assert f".reqntid {32 * warps}," in tilesat.compile(scanned().source(), "sm_80").ptx


@pytest.mark.in_turn
def test_what_does_not_spill_may_cost_a_little_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the cheapest program spills, it is compared with the cheapest that does not: moe_actgrad_bwd of TileGym on
    sm_120a had 4 warps, 36 bytes of spills and 2,256 instructions, and has 8 warps and 1,256.
    """
    monkeypatch.setattr(Machine, "spill", lambda machine, registers: FREE)
    for each in (candidates, trial):
        monkeypatch.setattr(each, "UNSPILLED", 2.0)
    built: list[Saturated] = []
    roots = Pressure.roots
    monkeypatch.setattr(
        Pressure, "roots", lambda pressure: built.append(pressure.selector.saturated) or roots(pressure)
    )
    check(gated(), "sm_80")
    assert len({id(each) for each in built}) == len(built), "a problem is built once for all searches"
    for each in (candidates, trial):
        monkeypatch.setattr(each, "UNSPILLED", 0.5)  # nothing else is cheap enough
    assert assemble(tilesat.compile(gated().source(), "sm_80").ptx, "sm_80").spill_stores


def weighted(size: int = 64, steps: int = 2) -> Program:
    """What a product adds up comes before the sums of its operand's rows, as cuTile's attention carries them."""

    def source() -> str:
        w = Writer("weighted", q="ptr<f16>", k="ptr<f16>", v="ptr<f16>", o="ptr<f32>", s="ptr<f32>", n="i32")
        w.promise(q=16, k=16, v=16, o=16, s=16, n=1)
        whole = [size, size]
        queries = w.load(w.view(w.q, whole, [size, 1], whole), 0, 0)
        keys, values = (w.view(p, [w.n, size], [size, 1], whole) for p in (w.k, w.v))
        zero, none = w.const(0.0, "f32", *whole), w.const(0.0, "f32", size)
        with w.loop(0, w.tiles(keys)[0], carried=[zero, none]) as loop:
            weight = (w.dot(queries, w.load(keys, loop.counter, 0).T) * 2**-6).exp()
            sums = w.dot(weight.to("f16"), w.load(values, loop.counter, 0), loop.values[0])
            loop.values = [sums, loop.values[1] + weight.reduce(1)]
        w.store(loop.values[0], w.view(w.o, whole, [size, 1], whole), 0, 0)
        w.store(loop.values[1], w.view(w.s, [size], [1], [size]), 0)
        return w.text()

    def arguments() -> list[Any]:
        shapes = ((size, size), (size * steps, size), (size * steps, size))
        tiles = [random(shape, "f16", seed) for seed, shape in enumerate(shapes, 1)]
        return [*tiles, random((size, size), "f32", 4), random((size,), "f32", 5), size * steps]

    def expected(q: Any, k: Any, v: Any, *rest: Any) -> dict[int, Any]:
        weight = np.exp(q.astype(np.float64) @ k.T.astype(np.float64) / 64)
        return {3: weight @ v.astype(np.float64), 4: weight.sum(1)}

    return Program("weighted", source, arguments, (1,), expected, 2e-2)  # weights of f16, sums of 128


@pytest.mark.in_turn
def test_rows_are_summed_before_the_product_that_takes_them() -> None:
    """The tile of 32 registers was held until the product was done: attention_varlen of TileGym spilled 36 bytes."""
    order = [(name, depth) for name, depth, _ in held(weighted()) if depth]
    assert order == [("MmaF", 1), ("Reduce", 1), ("MmaF", 1), ("Continue", 1)]
    kernel = check(weighted(), "sm_80")
    found = [type(op) for op in kernel.compiled.modules["nv_tileas"].walk()]
    products = [at for at, kind in enumerate(found) if kind is nv_tileas.Dot]
    assert len(products) == 2
    assert products[0] < found.index(nv_tileas.Reduce) < products[1]
