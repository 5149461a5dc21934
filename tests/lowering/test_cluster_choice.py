"""The number of CTAs of a cluster as a choice: what each would cost, what multicast saves, how many tile blocks."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

import tilesat
from ir.core import TileError
from lowering.selection.choices import Clustered
from tests.lowering.report import outline
from tests.lowering.test_cluster_reductions import of_rows, rows, standardised
from tests.lowering.test_clusters import counted, error, product, program
from tests.programs.program import interpret, simulate
from tilesat.cli import main
from tilesat.execution import largest_error
from tilesat.kernel import Kernel


@cache
def chosen(target: str = "sm_90a", **options: Any) -> Kernel:
    return tilesat.compile(product("f16", "nk"), target, num_ctas="auto", **options)


def tried(kernel: Kernel) -> dict[int, Clustered]:
    """The first way of each number of CTAs."""
    return {each.ctas: each for each in reversed(kernel.compiled.selection.clusters)}


@pytest.mark.in_turn
def test_the_cheapest_is_taken_and_right() -> None:
    """Tiles of 256 x 256, which one CTA computes in slices: two share B."""
    kernel = chosen()
    found = tried(kernel)
    assert sorted(found) == [1, 2, 4, 8]
    best = min(found.values(), key=lambda each: each.total)
    assert kernel.manifest["cluster"] == [best.ctas, 1, 1] == [2, 1, 1]
    assert not kernel.compiled.slices
    for size in ((200, 136, 184), (300, 260, 136)):
        assert error(kernel, program(*size)) < 1e-4


@pytest.mark.in_turn
def test_what_multicast_saves_is_counted() -> None:
    """Half of B, of 256 x 64 f16 in each of the loop's trips, at 64 bytes a cycle."""
    found = tried(chosen())
    assert found[1].saves == 0
    assert found[2].saves == 32 * (256 * 64 * 2 / 2) / 64
    assert tried(chosen("sm_120a"))[2].saves == 0  # where ptxas would make a call of multicast


@pytest.mark.in_turn
def test_costs_are_those_of_the_programs() -> None:
    """As they are compiled for so many CTAs."""
    found = tried(chosen())
    for ctas in (1, 2, 4):
        kernel = tilesat.compile(product("f16", "nk"), "sm_90a", num_ctas=ctas)
        assert kernel.cost == pytest.approx(found[ctas].cost, rel=0.01)


def test_explain_says_what_each_would_have_cost() -> None:
    text = outline(chosen().compiled)
    (lines,) = re.findall(r"clusters, by .*\n((?:    .*\n)+)", text)
    assert re.fullmatch(
        r"    1 CTA: \([\d,]+\) x 1 = [\d,]+\n"
        r"    2 CTAs, 2x1: \([\d,]+ - 8,192 saved by multicast\) x 2 = [\d,]+, taken\n"
        r"    2 CTAs, 1x2: .*\n    4 CTAs, 2x2: .*\n    8 CTAs, 4x2: .*\n    8 CTAs, 2x4: .*\n", lines
    )  # fmt: skip
    assert "cut into slices" not in text


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("blocks", "ctas"), [(0, 1), (16, 8), (40, 2), (132, 1)])
def test_tile_blocks_that_leave_multiprocessors_idle(blocks: int, ctas: int) -> None:
    """A long row a tile block: 132 fill an H100, 16 leave eight of nine SMs without work."""
    kernel = tilesat.compile(of_rows(32768, standardised), "sm_90a", num_ctas="auto", tile_blocks=blocks)
    assert kernel.manifest["cluster"] == [ctas, 1, 1]
    given = rows(32768, standardised)
    assert largest_error(simulate(kernel, given)[1], interpret(kernel, given)[1]) < 1e-4


def test_a_single_cta_is_the_program_without_the_option() -> None:
    text = of_rows(1024, standardised)
    kernels = [tilesat.compile(text, "sm_90a", num_ctas=ctas) for ctas in ("auto", 0)]
    assert kernels[0].ptx == kernels[1].ptx
    assert kernels[1].compiled.selection.clusters == ()


def test_what_no_plan_divides_stays_whole() -> None:
    kernel = tilesat.compile(counted(), "sm_90a", num_ctas="auto")
    assert kernel.manifest["cluster"] == [1, 1, 1]
    found = tried(kernel)
    reasons = {each.reason for each in found.values() if each.ctas > 1}
    assert all(reason.startswith("'cuda_tile.offset': tile<ptr<i32>> cannot be cut") for reason in reasons)
    assert "2 CTAs: not possible, 'cuda_tile.offset': tile<ptr<i32>> cannot be cut" in outline(kernel.compiled)


@pytest.mark.in_turn
def test_several_targets() -> None:
    """Each has its own choice; sm_80 has no clusters."""
    kernels = tilesat.compile_for(product("f16", "nk"), ["sm_80", "sm_90a"], num_ctas="auto")
    assert [kernel.manifest["cluster"][0] for kernel in kernels] == [1, 2]
    assert [*tried(kernels[0])] == [1]


def test_a_hint_gives_way() -> None:
    text = product("f16", "nk").replace(") {", ") optimization_hints=<default = {num_cta_in_cga = 8}> {", 1)
    with pytest.warns(UserWarning, match="'num_cta_in_cga = 8' has no effect: the kernel was compiled for another"):
        kernel = tilesat.compile(text, "sm_90a", num_ctas="auto")
    assert kernel.manifest["cluster"] == [2, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_ctas": "most"}, "num_ctas: expected a number of CTAs, or 0, or 'auto', or parts of the tile such as "),
        (
            {"num_ctas": 2, "tile_blocks": 4},
            "tile_blocks: they are used only to choose the CTAs or the persistent form",
        ),
        ({"num_ctas": "auto", "tile_blocks": -1}, "tile_blocks: expected a number of tile blocks, or 0, got -1"),
        ({"num_ctas": "auto", "tile_blocks": True}, "tile_blocks: expected a number of tile blocks, or 0, got True"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TileError, match=re.escape(message)):
        tilesat.compile(counted(), "sm_90a", **options)


def test_the_command_line_takes_it(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.mlir"
    path.write_text(of_rows(32768, standardised))
    options = ["--target", "sm_90a", "--num-ctas", "auto", "--tile-blocks", "16"]
    assert main(["compile", str(path), *options]) == 0
    assert ".reqnctapercluster 8, 1, 1" in capsys.readouterr().out
    assert main(["compile", str(path), "--target", "sm_90a", "--tile-blocks", "16"]) == 1
    assert "pass num_ctas='auto' or persistent='auto' too" in capsys.readouterr().err
