"""Scans whose dimension the CTAs of a cluster divide: each scans its part, what the parts before come to goes through
distributed shared memory. In hazard mode and in skewed orders of warps, compared with the interpreter.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.dialects import cuda_tile as ct
from lowering.clusters import Refusal, planned
from runtime.ptxas import assemble
from tests.lowering.protocol import caught, changed
from tests.lowering.test_clusters import entry_of
from tests.programs.program import Program, check, interpret, random, simulate
from tilesat.execution import largest_error
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

ORDERS = ("together", *(f"skewed:{seed}" for seed in range(5)))
ROWS = 3
ERROR = 1e-4


def of_rows(n: int, kind: str = "i32", fold: str = "add", reverse: bool = False, deep: int = 0) -> str:
    """Each tile block scans a row of n elements, or `deep` rows along them."""
    w = Writer("scans", x=f"ptr<{kind}>", y=f"ptr<{kind}>")
    w.promise(x=16, y=16)
    shape, size = ((deep, n), [ROWS * deep, n]) if deep else ((n,), [ROWS * n])
    x, y = (w.view(each, size, [n, 1] if deep else [1], list(shape)) for each in (w.x, w.y))
    index = (w.ids[0], 0) if deep else (w.ids[0],)
    tile = w.load(x, *index)
    scanned = w.scan(tile, len(shape) - 1, fold, reverse)
    w.store(scanned + tile if fold == "add" else scanned, y, *index)
    return w.text()


def given(text: str, n: int, kind: str = "i32", deep: int = 0) -> Program:
    shape = (ROWS * deep, n) if deep else (ROWS * n,)
    tolerance = 0 if kind == "i32" else ERROR
    return Program(
        "scans", lambda: text, lambda: [random(shape, kind, 1), random(shape, kind, 2)], (ROWS,), None, tolerance
    )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize(("n", "ctas"), [(64, 2), (1024, 2), (2048, 4), (2048, 8)])
@pytest.mark.parametrize("reverse", [False, True])
def test_rows(reverse: bool, n: int, ctas: int, target: str) -> None:
    text = of_rows(n, reverse=reverse)
    kernel = check(given(text, n), target, num_ctas=ctas)
    assert kernel.manifest["cluster"] == [ctas, 1, 1]
    assert "st.shared::cluster" in kernel.ptx
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("kind", "fold"), [("f32", "add"), ("f32", "max"), ("i32", "min"), ("i32", "xor"), ("i32", "mul")]
)
def test_other_combiners(kind: str, fold: str) -> None:
    check(given(of_rows(512, kind, fold), 512, kind), "sm_90a", num_ctas=4)


@pytest.mark.parametrize("reverse", [False, True])
def test_several_rows(reverse: bool) -> None:
    """Of tiles that are too few rows to be cut by them."""
    text = of_rows(256, reverse=reverse, deep=8)
    kernel = check(given(text, 256, deep=8), "sm_90a", num_ctas=4)
    assert kernel.manifest["cluster"] == [4, 1, 1]


def test_rows_are_cut_rather_than_scanned_over_ctas() -> None:
    kernel = tilesat.compile(of_rows(64, deep=64), "sm_90a", num_ctas=2)
    assert "st.shared::cluster" not in kernel.ptx


@cache
def compiled(ctas: int = 4) -> Kernel:
    return tilesat.compile(of_rows(1024), "sm_90a", num_ctas=ctas)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("order", ORDERS[1:])
def test_skewed_orders(order: str) -> None:
    program = given(of_rows(1024), 1024)
    assert np.array_equal(simulate(compiled(), program, schedule=order)[1], interpret(compiled(), program)[1])


@pytest.mark.in_turn
@pytest.mark.parametrize("ctas", [2, 4])
def test_in_a_loop_and_with_a_reduction(ctas: int) -> None:
    """Rows one after the other, each with its sum: exchanges of both in rounds."""
    w = Writer("both", x="ptr<f32>", y="ptr<f32>", steps="i32")
    w.promise(x=16, y=16)
    x, y = (w.view(each, [8, 512], [512, 1], [1, 512]) for each in (w.x, w.y))
    with w.loop(0, w.steps) as loop:
        tile = w.load(x, loop.counter, 0).reshape(512)
        made = w.scan(tile, 0, "add") / (tile.reduce(0) + 700.0).splat(512)
        w.store(made.reshape(1, 512), y, loop.counter, 0)
    text = w.text()
    program = Program(
        "both", lambda: text, lambda: [random((8, 512), "f32", 1), np.zeros((8, 512), np.float32), 5], (1,), None
    )
    kernel = tilesat.compile(text, "sm_90a", num_ctas=ctas)
    for order in ORDERS[:3]:
        found = simulate(kernel, program, schedule=order)[1]
        assert largest_error(found, interpret(kernel, program)[1]) < ERROR


@pytest.mark.parametrize("persistent", ["static", "dynamic"])
def test_persistent(persistent: str) -> None:
    kernel, program = (
        tilesat.compile(of_rows(256), "sm_100a", num_ctas=2, persistent=persistent),
        given(of_rows(256), 256),
    )
    assert np.array_equal(simulate(kernel, program, resident=2)[1], interpret(kernel, program)[1])


def of_pairs(w: Writer, tile: Tile) -> Tile:
    """A linear recurrence, whose order matters: a reduction would not keep it."""
    ones = w.const(1.0, "f32", *tile.shape)

    def combine(first: list[Tile], second: list[Tile]) -> list[Tile]:
        return [first[0] * second[0], first[1] * second[0] + second[1]]

    return w.fold([ones, tile], 0, combine, [1.0, 0.0], scan=True)[1]


def differences(w: Writer, tile: Tile) -> Tile:
    """Of two places by what is not the same the other way round."""

    def combine(first: list[Tile], second: list[Tile]) -> list[Tile]:
        return [first[0] - second[0]]

    return w.fold([tile], 0, combine, [0.0], scan=True)[0]


@pytest.mark.parametrize("scan", [of_pairs, differences])
def test_what_does_not_commute_is_not_cut(scan: Any) -> None:
    w = Writer("k", x="ptr<f32>")
    view = w.view(w.x, [512], [1], [512])
    w.store(scan(w, w.load(view, 0)), view, 0)
    found = planned(entry_of(w.text()), 2)
    assert isinstance(found, Refusal)
    assert "cannot be cut in two" in found.reason


MUTANTS: dict[str, tuple[str, str]] = {
    "sent to nobody": (r"@%p\d+ st\.shared::cluster\.b32 .*", ""),
    "sent to this CTA": (r"(mapa\.shared::cluster\.u32 %r\d+, %r\d+), %r\d+;", r"\1, %r_own;"),
    "no arrival": (r"@%p\d+ mbarrier\.arrive\.release\.cluster\.shared::cluster\.b64 .*", ""),
    "arrival relaxed": (r"arrive\.release\.cluster\.shared", "arrive.relaxed.cluster.shared"),
    "arrival at CTA scope": (r"arrive\.release\.cluster\.shared", "arrive.release.cta.shared"),
    "no wait": (r"\s+\$W1:\s+mbarrier\.try_wait.*\n.*bra \$W1;", ""),
    "wait relaxed": (r"parity\.acquire\.cluster", "parity.relaxed.cluster"),
    "the half that comes first is carried on": (r"(selp\.b32 %r\d+), (%r\d+), (%r\d+), (%p\d+);", r"\1, \3, \2, \4;"),
    "counts one less": (r"(mbarrier\.init.*), (\d+);", r"\1, 1;"),
}  # fmt: skip
"""Pattern in PTX and what is written there instead; those of the exchange are in `test_cluster_reductions`."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_caught(name: str) -> None:
    kernel, program = compiled(2), given(of_rows(1024), 1024)
    pattern, text = MUTANTS[name]
    own = re.search(r"mov\.u32 (%r\d+), %cluster_ctarank;", kernel.ptx)
    assert own is not None
    ptx = changed(kernel.ptx, (pattern, text.replace("%r_own", own[1])))
    wanted = interpret(kernel, program)[1]
    caught(lambda order: np.array_equal(simulate(kernel, program, ptx=ptx, schedule=order)[1], wanted), ORDERS)


def test_scans_stay_in_the_source() -> None:
    """A plan for one dimension more than before, nothing else."""
    entry = planned(entry_of(of_rows(1024)), 4)
    assert isinstance(entry, ct.Entry)
    assert sum(isinstance(op, ct.Scan) for op in entry.walk()) == 1
    assert sum(isinstance(op, ct.Reduce) for op in entry.walk()) == 2
