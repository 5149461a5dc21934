"""The order in which operands are computed: copies to shared memory first, then what needs most registers."""

from __future__ import annotations

import re

import pytest

import tilesat
from ir.text import print_generic
from tests.programs.program import Program, check, random
from tilesat.fuzz.writer import Writer

ROWS, KEYS, WIDTH = 64, 128, 64


def weighted() -> str:
    """exp(q kT) v without an accumulator of its own."""
    w = Writer("weighted", q="ptr<f16>", k="ptr<f16>", v="ptr<f16>", y="ptr<f32>")
    w.promise(q=16, k=16, v=16, y=16)
    q, k, v = (
        w.load(w.view(base, [rows, WIDTH], [WIDTH, 1], [rows, WIDTH]), 0, 0)
        for base, rows in ((w.q, ROWS), (w.k, KEYS), (w.v, KEYS))
    )
    weights = (w.dot(q, k.T) * 0.125).exp().to("f16")
    w.store(w.dot(weights, v), w.view(w.y, [ROWS, WIDTH], [WIDTH, 1], [ROWS, WIDTH]), 0, 0)
    return w.text()


@pytest.mark.in_turn
@pytest.mark.parametrize("forbid", [(), ("cp.async",)])
def test_values_are_read_once_their_weights_are_there(forbid: tuple[str, ...]) -> None:
    """They were brought first and held while the weights were computed: 1,360 bytes of spills in sliding windows."""
    kernel = tilesat.compile(weighted(), "sm_80", forbid=forbid)
    text = print_generic(kernel.compiled.modules["nv_tileas"])
    ops = re.findall(r'"nv_tileas\.(dot|shared_load|tiled_load|async\.tiled_copy)"', text)
    first = ops.index("dot")
    assert ops.count("dot") == 2
    assert {"shared_load", "tiled_load", "async.tiled_copy"}.intersection(ops[first + 1 : -1])


def test_values_that_take_no_registers_are_brought_at_once() -> None:
    """wgmma reads them from shared memory; their copy began when the weights were there, and each was waited for."""
    text = print_generic(tilesat.compile(weighted(), "sm_90a").compiled.modules["nv_tileas"])
    ops = re.findall(r'"nv_tileas\.(dot|async\.tiled_copy|async\.wait|barrier)"', text)
    assert ops == [*["async.tiled_copy"] * 3, "async.wait", "barrier", "dot", "dot"]


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_is_right(target: str) -> None:
    check(
        Program(
            "weighted", weighted,
            lambda: [
                random((ROWS, WIDTH), "f16", 1), random((KEYS, WIDTH), "f16", 2), random((KEYS, WIDTH), "f16", 3),
                random((ROWS, WIDTH), "f32", 4),
            ],
            tolerance=2e-3,
        ),
        target,
    )  # fmt: skip
