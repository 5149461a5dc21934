"""How CTAs divide a tile: every legal cut for each bit of the rank, by an estimate, then by price."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import UnsupportedError
from lowering.clusters import Division, Refusal, divisions, promising
from lowering.clusters.converted import estimate
from lowering.clusters.plan import MOST_WAYS, NEAR, by
from runtime.ptxas import assemble
from tests.lowering.report import outline
from tests.lowering.test_cluster_reductions import of_rows, standardised
from tests.lowering.test_clusters import counted, entry_of, error, product, program
from tests.programs.program import Program, interpret, random, simulate
from tilesat.cli import main
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel


def transposed() -> str:
    """A tile and its transpose, whose rows alone are known to be aligned."""
    w = Writer("transposed", x="ptr<f32>", y="ptr<f32>", m="i32", n="i32")
    w.promise(x=16, y=16, m=4)
    x = w.view(w.x, [w.m, w.n], [w.n, 1], [64, 64], "zero")
    y = w.view(w.y, [w.n, w.m], [w.m, 1], [64, 64])
    w.store(w.load(x, w.ids[0], w.ids[1]).T * 2.0, y, w.ids[1], w.ids[0])
    return w.text()


def sums(dim: int) -> str:
    """Of rows or of columns of 128 x 128, stored with the tile they are computed from."""
    w = Writer("sums", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    x, y = (w.view(pointer, [256, 128], [128, 1], [128, 128]) for pointer in (w.x, w.y))
    tile = w.load(x, w.ids[0], 0)
    shape = (128, 1) if dim else (1, 128)
    (total,) = w.fold([tile], dim, lambda one, other: [one[0] + other[0]], [0.0])
    w.store(tile - total.reshape(*shape).broadcast(128, 128), y, w.ids[0], 0)
    return w.text()


@cache
def compiled(ctas: int | str, target: str = "sm_90a") -> Kernel:
    kernel = tilesat.compile(transposed(), target, num_ctas=ctas)
    assembled = assemble(kernel.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    return kernel


def parts(text: str, ctas: int) -> list[str]:
    found = divisions(entry_of(text), ctas)
    assert not isinstance(found, Refusal)
    return [by(each.parts) for each in found]


@pytest.mark.parametrize(
    ("text", "ctas", "wanted"),
    [
        (product("f16", "nk"), 2, ["2x1", "1x2"]),
        (product("f16", "nk"), 4, ["2x2", "4x1", "1x4"]),
        (product("f16", "nk"), 8, ["4x2", "2x4"]),  # halves of a product have at least 64 rows or columns
        (sums(1), 2, ["2x1", "1x2"]),  # whole rows first, then what needs an exchange
        (sums(0), 2, ["1x2", "2x1"]),
        (sums(1), 4, ["4x1", "2x2"]),  # 1x2 is estimated far above 2x1, so what it could become is left out
        (of_rows(1024, standardised), 2, ["2"]),  # one row
    ],
)
def test_every_legal_cut_is_a_candidate(text: str, ctas: int, wanted: list[str]) -> None:
    assert parts(text, ctas) == wanted


@pytest.mark.in_turn
@pytest.mark.parametrize("target", ["sm_90a", "sm_120a"])
@pytest.mark.parametrize("ctas", [2, 4])
def test_the_cheapest_cut_is_taken(ctas: int, target: str) -> None:
    """Whole rows are stored where they are aligned: a fifth less than by the first of equal dimensions."""
    kernel, first = compiled(ctas, target), compiled({2: "2x1", 4: "2x2"}[ctas], target)
    found = kernel.compiled.selection.clusters
    assert kernel.cost == min(each.cost for each in found) < 0.95 * first.cost
    assert first.cost == pytest.approx(found[0].cost)
    assert first.compiled.selection.clusters == ()  # it was no choice


@pytest.mark.sampled(10)
@pytest.mark.parametrize("order", ["together", *(f"skewed:{seed}" for seed in range(5))])
@pytest.mark.parametrize("ctas", [2, "2x1", 4, "1x4", "4x1"])
def test_every_cut_is_right(ctas: int | str, order: str) -> None:
    """With tails along both dimensions."""
    arguments = lambda: [random((100, 137), "f32", 1), np.zeros((137, 100), np.float32), 100, 137]  # noqa: E731
    given = Program("transposed", transposed, arguments, (2, 3), None)
    kernel = compiled(ctas)
    found, wanted = simulate(kernel, given, schedule=order)[1], interpret(kernel, given)[1]
    assert np.array_equal(found, wanted)
    assert np.array_equal(found, 2 * arguments()[0].T)


@pytest.mark.in_turn
@pytest.mark.parametrize("cut", ["1x2", "4x1"])
def test_products_cut_as_asked_for(cut: str) -> None:
    kernel = tilesat.compile(product("f16", "nk"), "sm_90a", num_ctas=cut)
    assert error(kernel, program(300, 260, 136)) < 1e-4


def test_what_is_estimated_far_above_the_best_is_not_compiled() -> None:
    """Four CTAs by rows or columns alone bring half as much again of one operand."""
    found = divisions(entry_of(product("f16", "nk")), 4)
    assert isinstance(found, list)
    kept = promising(found)
    assert [by(each.parts) for each in kept] == ["2x2"]
    least = min(estimate(each.entry) for each in found)
    assert all(estimate(each.entry) > NEAR * least for each in found if each not in kept)


def test_few_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are as good; the planned one is first, and stays whatever its estimate is."""
    found = divisions(entry_of(transposed()), 2)
    assert isinstance(found, list)
    many = [Division(found[0].entry, (1, n)) for n in range(10)]
    assert promising(many) == many[:MOST_WAYS]
    estimates = {each.entry: 10.0 - n for n, each in enumerate(found)}
    monkeypatch.setattr("lowering.clusters.plan.estimate", lambda entry: 10 * estimates[entry])
    assert promising(found) == found
    monkeypatch.setattr("lowering.clusters.plan.estimate", lambda entry: 2.0 ** estimates[entry])
    assert promising(found)[0] is found[0]


def test_explain_prices_each_cut() -> None:
    text = outline(compiled(2).compiled)
    (lines,) = re.findall(r"clusters, by .*\n((?:    .*\n)+)", text)
    assert re.fullmatch(
        r"    1 CTA: \(.*\n    2 CTAs, 2x1: \(.*\n    2 CTAs, 1x2: \([\d,]+\) x 2 = [\d,]+, taken\n", lines
    )


@pytest.mark.parametrize(
    ("text", "cut", "message"),
    [
        (product("f16", "nk"), "1x8", "8 CTAs cannot divide a tile block: 'cuda_tile.entry': its largest tile cannot"),
        (product("f16", "nk"), "3x1", "clusters of 3 CTAs: expected a power of two up to 8"),
        (counted(), "1x2", "'cuda_tile.offset': tile<ptr<i32>> cannot be cut in two: no dimension of it has 32"),
    ],
)
def test_cuts_that_cannot_be(text: str, cut: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(message)):
        tilesat.compile(text, "sm_90a", num_ctas=cut)


def test_the_command_line_takes_a_cut(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "transposed.mlir"
    path.write_text(transposed())
    made: list[str] = []
    for cut in ("2x1", "1x2", "2"):
        assert main(["compile", str(path), "--target", "sm_90a", "--num-ctas", cut]) == 0
        made.append(capsys.readouterr().out)
    assert made[0] != made[1] == made[2]
