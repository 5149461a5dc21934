"""Products whose steps the CTAs of a cluster divide: sums through distributed shared memory, in hazard mode and in
skewed orders of warps; where they are taken, and the protocol with each of its parts changed.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileas
from ir.load import load
from lowering.clusters import Division, Refusal
from lowering.clusters.split import split
from lowering.passes import candidates, source
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.report import outline
from tests.programs.program import Program, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
TARGETS = ("sm_90a", "sm_120a")
TILE = (64, 64, 64)
ERROR = 1e-4


def product(kind: str = "f16", sums: str = "f32", steps: int = 0, tile: tuple[int, int, int] = TILE) -> str:
    """D = A B^T; of a known number of steps, or of as many as K has."""
    tm, tn, tk = tile
    w = Writer("product", a=f"ptr<{kind}>", b=f"ptr<{kind}>", d=f"ptr<{sums}>", m="i32", n="i32", k="i32")
    unit = 16 // (1 if kind == "i8" else 2)
    w.promise(a=16, b=16, d=16, m=1, n=4, k=unit)
    a = w.view(w.a, [w.m, w.k], [w.k, 1], [tm, tk], "zero")
    b = w.view(w.b, [w.n, w.k], [w.k, 1], [tn, tk], "zero")
    d = w.view(w.d, [w.m, w.n], [w.n, 1], [tm, tn])
    x, y, _ = w.ids
    with w.loop(0, steps or w.tiles(a)[1], carried=[w.const(0, sums, tm, tn)]) as loop:
        left, right = w.load(a, x, loop.counter), w.load(b, y, loop.counter).T
        loop.values = [w.dot(left, right, loop.values[0])]
    w.store(loop.values[0] * 2 if sums == "i32" else loop.values[0] * 0.5, d, x, y)
    return w.text()


@cache
def compiled(ctas: int = 4, target: str = "sm_90a", text: str = "", **options: Any) -> Kernel:
    """With so many CTAs along K, which only the choice by cost asks for."""

    def divided(entry: ct.Entry, ctas: int, parts: tuple[int, ...] = ()) -> list[Division] | Refusal:
        found = split(entry, ctas)
        return found if isinstance(found, Refusal) else [Division(found, parts)]

    assert candidates.divided is not divided  # which has been imported before the other plan is put in its place
    with patch.object(source, "divided", divided):
        kernel = tilesat.compile(text or product(), target, num_ctas=ctas, **options)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    assert kernel.manifest["cluster"] == [ctas, 1, 1]
    return kernel


def program(m: int, n: int, k: int, kind: str = "f16", sums: str = "f32", tile: tuple[int, int, int] = TILE) -> Program:
    def arguments() -> list[Any]:
        d = np.full((m, n), 7, np.int32 if sums == "i32" else np.float32)
        return [random((m, max(k, 1)), kind, 1), random((n, max(k, 1)), kind, 2), d, m, n, k]

    grid = (-(-m // tile[0]), -(-n // tile[1]))
    return Program("product", lambda: product(kind, sums, 0, tile), arguments, grid, None)


def error(kernel: Kernel, given: Program, **options: Any) -> float:
    a, b, d, *_, k = simulate(kernel, given, **options)
    scale, kind = (2, np.int64) if d.dtype == np.int32 else (0.5, np.float32)
    return largest_error(d, (a[:, :k].astype(kind) @ b[:, :k].astype(kind).T * scale).astype(d.dtype))


@pytest.mark.sampled(30)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 4, 8])
@pytest.mark.parametrize("size", [(64, 64, 512), (72, 136, 200), (1, 4, 1024)])
def test_products(size: tuple[int, int, int], ctas: int, target: str) -> None:
    kernel = compiled(ctas, target)
    made = [op for op in kernel.compiled.modules["nv_tileas"].walk() if isinstance(op, nv_tileas.CreateExchange)]
    meetings = sum(op.data >= 0 for op in made)  # before those over rings
    assert kernel.ptx.count("mbarrier.arrive.release.cluster") == len(made) == ctas.bit_length() - 1 + meetings
    assert error(kernel, program(*size)) < ERROR


@pytest.mark.sampled(10)
@pytest.mark.parametrize("steps", range(6))
def test_any_number_of_steps(steps: int) -> None:
    """Of four CTAs some have one more than others, or none."""
    assert error(compiled(), program(64, 72, 64 * steps)) < ERROR


@pytest.mark.sampled(48)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [2, 8])
def test_skewed_orders(ctas: int, target: str, order: str) -> None:
    assert error(compiled(ctas, target), program(64, 72, 776), schedule=order) < ERROR


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("kind", "sums"), [("bf16", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("target", TARGETS)
def test_other_types(kind: str, sums: str, target: str) -> None:
    kernel = compiled(4, target, product(kind, sums))
    assert error(kernel, program(64, 128, 448, kind, sums)) < ERROR


def test_large_tiles() -> None:
    tile = (128, 128, 64)
    kernel = compiled(2, "sm_90a", product(tile=tile))
    assert "wgmma" in kernel.ptx
    assert error(kernel, program(136, 128, 328, tile=tile)) < ERROR


@pytest.mark.sampled(20)
@pytest.mark.parametrize("order", ORDERS)
def test_places_over_drained_rings(order: str) -> None:
    """What is exchanged behind the loop lies over its ring, which has six stages, not four; before, CTAs meet."""
    tile = (128, 128, 64)
    kernel = compiled(4, "sm_90a", product(tile=tile))
    made = kernel.compiled.modules["nv_tileas"]
    places = [op for op in made.walk() if isinstance(op, nv_tileas.CreateExchange)]
    drained = [op for op in places if op.data >= 0]
    assert drained
    assert len([op for op in places if op.bytes == 16]) == len(drained)  # a meeting each
    assert set(kernel.compiled.selection.stages.values()) == {6}
    given = program(100, 200, 456, tile=tile)
    assert error(kernel, given, schedule=order) < ERROR


@pytest.mark.slow
def test_ctas_meet_before_they_write_over_rings() -> None:
    """Without the wait the other CTA may still read what lies there: all stages have been filled."""
    tile = (128, 128, 64)
    kernel, given = compiled(4, "sm_90a", product(tile=tile)), program(128, 128, 1600, tile=tile)
    wait = r"\s+(\$W\d+):\s+mbarrier\.try_wait\.parity\.acquire\.cluster.*\[%r\d\+\d+\], 0;\n.*bra \1;"
    ptx = changed(kernel.ptx, (wait, ""), count=1)
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order) <= ERROR, ORDERS)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("target", "resident"), [("sm_90a", 2), ("sm_90a", 8), ("sm_120a", 2)])
def test_persistent_clusters(target: str, resident: int) -> None:
    """Tile after tile, whose sums take two places in turn."""
    kernel = compiled(2, target, persistent="static")
    for order in ORDERS[:2]:
        assert error(kernel, program(136, 136, 200), resident=resident, schedule=order) < ERROR


# --- where


def entry_of(text: str) -> ct.Entry:
    return next(op for op in load(text).walk() if isinstance(op, ct.Entry))


def test_each_cta_keeps_a_part() -> None:
    """Of 64 x 64 in four: 16 columns, which no other CTA stores; no sum over CTAs is left in the plan."""
    made = split(entry_of(product()), 4)
    assert isinstance(made, ct.Entry)
    (store,) = (op for op in made.walk() if isinstance(op, ct.StoreView))
    assert store.tile.type.shape == (64, 16)  # type: ignore[union-attr]
    assert not [op for op in made.walk() if isinstance(op, nv_tileas.PartialSum)]
    told = [op.values[0].type.shape for op in made.walk() if isinstance(op, nv_tileas.Exchange)]
    assert told == [(64, 32), (64, 16)]


def carries_more() -> str:
    w = Writer("k", a="ptr<f16>", d="ptr<f32>")
    a, d = w.view(w.a, [64, 640], [640, 1], [64, 64]), w.view(w.d, [64, 64], [64, 1], [64, 64])
    with w.loop(0, 10, carried=[w.const(0, "f32", 64, 64), w.const(1, "f32", 64, 64)]) as loop:
        tile = w.load(a, 0, loop.counter)
        loop.values = [w.dot(tile, tile.T, loop.values[0]), loop.values[1] * 2.0]
    w.store(loop.values[0] + loop.values[1], d, 0, 0)
    return w.text()


def begins_at(init: str) -> str:
    """D = A A^T + C, or + 1, in whose sum the loop begins."""
    w = Writer("k", a="ptr<f16>", c="ptr<f32>", d="ptr<f32>", n="i32")
    w.promise(a=16, c=16, d=16)
    a = w.view(w.a, [64, 640], [640, 1], [64, 64])
    c, d = (w.view(each, [64, 64], [64, 1], [64, 64]) for each in (w.c, w.d))
    with w.loop(0, w.n, carried=[w.load(c, 0, 0) if init == "C" else w.const(1, "f32", 64, 64)]) as loop:
        tile = w.load(a, 0, loop.counter)
        loop.values = [w.dot(tile, tile.T, loop.values[0])]
    w.store(loop.values[0], d, 0, 0)
    return w.text()


def beginning(text: str, steps: int) -> Program:
    def arguments() -> list[Any]:
        c, d = random((64, 64), "f32", 2), np.zeros((64, 64), np.float32)
        return [random((64, 640), "f16", 1), c, d, steps]

    return Program("k", lambda: text, arguments, (1,), None)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("init", ["C", "one"])
@pytest.mark.parametrize("steps", [0, 3, 10])
def test_sums_that_do_not_begin_at_zero(steps: int, init: str, target: str) -> None:
    """It is added once."""
    text = begins_at(init)
    kernel, given = compiled(4, target, text), beginning(text, steps)
    assert largest_error(simulate(kernel, given)[2], interpret(kernel, given)[2]) < ERROR


def alone() -> str:
    w = Writer("k", a="ptr<f16>", d="ptr<f32>")
    tile = w.load(w.view(w.a, [64, 64], [64, 1], [64, 64]), 0, 0)
    w.store(w.dot(tile, tile.T, w.const(0, "f32", 64, 64)), w.view(w.d, [64, 64], [64, 1], [64, 64]), 0, 0)
    return w.text()


def no_product() -> str:
    w = Writer("k", a="ptr<f32>")
    view = w.view(w.a, [64, 64], [64, 1], [64, 64])
    w.store(w.load(view, 0, 0) + 1.0, view, 0, 0)
    return w.text()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (carries_more, "no loop only accumulates it"),
        (alone, "no loop only accumulates it"),
        (no_product, "it has no product whose K steps could be divided among CTAs"),
    ],
)
def test_refusals(text: Any, reason: str) -> None:
    found = split(entry_of(text()), 2)
    assert isinstance(found, Refusal)
    assert found.reason == reason


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", TARGETS)
def test_taken_where_multiprocessors_are_idle(target: str) -> None:
    """16 tile blocks of 64 x 64, too small to be cut: eight CTAs each, where sums may be taken in any order."""
    kernel = tilesat.compile(product(), target, num_ctas="auto", tile_blocks=16, fast=["reassoc"])
    assert kernel.manifest["cluster"] == [8, 1, 1]
    assert "8 CTAs along K" in outline(kernel.compiled)
    assert error(kernel, program(72, 136, 776)) < ERROR
    for options in ({"tile_blocks": 16}, {"fast": ["reassoc"]}):
        assert tilesat.compile(product(), target, num_ctas="auto", **options).manifest["cluster"] == [1, 1, 1]


@pytest.mark.in_turn
@pytest.mark.parametrize("steps", [0, 64])
def test_each_cta_is_priced_for_its_steps(steps: int) -> None:
    """Half of the loop of one CTA, whose number of steps is known or not; half of what is behind it, and the sum."""
    kernel = tilesat.compile(product(steps=steps), "sm_90a", num_ctas="auto", fast=["reassoc"])
    one, two = (
        next(each for each in kernel.compiled.selection.clusters if (each.ctas, each.along) == which)
        for which in ((1, False), (2, True))
    )
    assert one.cost / 2 < two.cost < one.cost / 2 + 1500


# --- the protocol


ARRIVAL = r"(@%p\d+) mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 _, \[(%r\d+)\];"
MUTANTS: dict[str, tuple[str, str]] = {
    "told nobody": (r"(?:@%p\d+ )?st\.shared::cluster.*;", ""),
    "told this CTA": (r"xor\.b32 (%r\d+), (%r\d+), 1;(?=\s+mapa)", r"mov.b32 \1, \2;"),
    "no arrival": (ARRIVAL, ""),
    "arrival relaxed": (ARRIVAL, r"\1 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [\2];"),
    "arrival at CTA scope": (ARRIVAL, r"\1 mbarrier.arrive.release.cta.shared::cluster.b64 _, [\2];"),
    "lanes do not meet": (r"bar\.warp\.sync -1;(?=\s+\S+ mbarrier\.arrive\.release\.cluster)", ""),
    "no wait": (r"\s+(\$W\d+):\s+mbarrier\.try_wait\.parity\.acquire.*\n.*bra \1;", ""),
    "wait relaxed": (r"parity\.acquire\.cluster", "parity.relaxed.cluster"),
    "parity of the next round": (r"(parity\.acquire\.cluster.*), 0;", r"\1, 1;"),
    "counts one less": (r"(mbarrier\.init.*), 8;", r"\1, 7;"),
    "counts one more": (r"(mbarrier\.init.*), 8;", r"\1, 9;"),
    "no barrier at the start": (
        r"barrier\.cluster\.arrive\.release\.aligned;\s+barrier\.cluster\.wait\.acquire\.aligned;", "bar.sync 0;"
    ),
}  # fmt: skip
"""Pattern in PTX of two CTAs and what is written there instead."""


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_of_the_protocol_are_caught(name: str) -> None:
    kernel, given = compiled(2, "sm_120a"), program(64, 72, 328)
    ptx = changed(kernel.ptx, MUTANTS[name])
    caught(lambda order: error(kernel, given, ptx=ptx, schedule=order) <= ERROR, ORDERS)
