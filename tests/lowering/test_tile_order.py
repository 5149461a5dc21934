"""The order of tile blocks in persistent kernels, and the choice of how CTAs go through them."""

from __future__ import annotations

import itertools
import re
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilesat
from ir.core import Block, Region, TileError
from ir.dialects import cuda_tile as ct
from ir.interpreter import run
from ir.load import load
from lowering.passes import source
from lowering.persistence import best_order, persistent
from lowering.persistence import order as tile_order
from lowering.persistence.order import WIDTHS, Order, different, orders, regrouped
from lowering.persistence.price import PricedProgram as Priced
from lowering.persistence.price import scheduled, uneven
from lowering.targets import target
from runtime.manifest import persistent_grid
from tests.lowering.report import outline
from tests.lowering.test_persistent import counted, kernel, left, looped
from tests.programs.program import Program, interpret, random, simulate
from tilesat.cli import main
from tilesat.execution import largest_error
from tilesat.execution import simulate as simulate_ptx
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

Grid = tuple[int, int, int]


def tickets() -> str:
    """Each tile block writes into its own element of y [z, y, x] how many have been there before it, and 1000 for
    each time.
    """
    w = Writer("tickets", n="ptr<i32>", y="ptr<i32>")
    x, y, z = w.ids
    place = (z * w.grid[1] + y) * w.grid[0] + x
    before, _ = w.update(w.n, w.const(1, "i32"), mode="add")
    w.update(w.y[place], before + 1000, mode="add")
    return w.text()


def taken(grid: Grid, width: int, resident: int) -> np.ndarray:
    """The order in which persistent tile blocks go through a grid, by the interpreter: tickets [z, y, x]."""
    made = persistent(load(tickets()).entries[0], "static", width)
    found, block = np.zeros(grid[::-1], np.int32), Block()
    block.ops = [made]
    module = ct.Module((), (), {}, [Region([block])])
    run(module, persistent_grid(grid, resident), [np.zeros(1, np.int32), found, *map(int, grid)])
    return found - 1000


@pytest.mark.sampled(14)
@pytest.mark.parametrize("grid", [(1, 1, 1), (7, 3, 1), (3, 7, 2), (33, 2, 1), (2, 1, 9)])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_tile_once_in_any_order(grid: Grid, width: int) -> None:
    """Whatever the extents are, and the groups that do not divide them."""
    for resident in (1, 2, 5, 132):
        found = taken(grid, width, resident)
        assert sorted(found.flat) == [*range(found.size)]


def test_every_tile_once_for_any_number_of_multiprocessors() -> None:
    for resident in range(1, 149):
        tiles = (1 + resident % 5, 1 + resident % 3, 1)
        found = taken(tiles, WIDTHS[resident % len(WIDTHS)], resident)
        assert sorted(found.flat) == [*range(found.size)]


def test_groups_along_x() -> None:
    """Two columns side by side, each row of them in turn; then those that are left."""
    found = taken((5, 3, 2), 2, 1)
    assert found[0].tolist() == [[0, 1, 6, 7, 12], [2, 3, 8, 9, 13], [4, 5, 10, 11, 14]]
    assert np.array_equal(found[1], found[0] + 15)
    plain = taken((5, 3, 2), 0, 1)
    assert np.array_equal(plain, np.arange(30).reshape(2, 3, 5))
    assert np.array_equal(taken((5, 3, 2), 32, 1), plain)  # groups as wide as the grid


@cache
def handed_over(width: int) -> Kernel:
    """Tickets of tile blocks that the hardware hands over, in groups."""
    with patch.object(source, "best_order", lambda *given: Order(width, 0, 0)):
        return tilesat.compile(tickets(), "sm_100a", persistent="dynamic")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 3, 2), (33, 2, 1), (2, 9, 2)])
@pytest.mark.parametrize("width", [0, 1, 2, 8])
def test_what_the_hardware_hands_over_is_taken_in_groups(width: int, grid: Grid) -> None:
    """By one CTA in the order of a stride, by several each tile once."""
    made, found = handed_over(width), np.zeros(grid[::-1], np.int32)
    simulate_ptx(made.ptx, made.manifest, grid, [np.zeros(1, np.int32), found], resident=1)
    assert np.array_equal(found - 1000, taken(grid, width, 1))
    for resident in (2, 5, 148):
        found = np.zeros(grid[::-1], np.int32)
        simulate_ptx(made.ptx, made.manifest, grid, [np.zeros(1, np.int32), found], hazards=True, resident=resident)
        assert sorted(found.flat) == [*range(1000, 1000 + found.size)]


@pytest.mark.parametrize(
    ("grid", "ids", "wanted"),
    [
        ((70_000, 50_000, 3), (69_999, 49_999, 2), (69_999, 49_999, 2)),  # 3.5 billion of each z: as they are
        ((2**31 - 1, 1, 1), (2**31 - 2, 0, 0), (2**31 - 2, 0, 0)),
        ((32_768, 65_535, 9), (2, 0, 8), (0, 1, 8)),  # two side by side, then those of the next y
        ((32_768, 65_535, 9), (32_767, 65_534, 0), (32_767, 65_534, 0)),
    ],
)
def test_grids_whose_tile_blocks_have_no_numbers(grid: Grid, ids: Grid, wanted: Grid) -> None:
    """Of 32 bits; the hardware counts them with three."""
    w = Writer("places", y="ptr<i32>")
    extents, places = ([w.const(each, "i32").value for each in numbers] for numbers in (grid, ids))
    made = regrouped(w.builder, extents, 2).coordinates(w.builder, places)
    for axis, value in enumerate(made):
        w.update(w.y[w.const(axis, "i32")], Tile(w, value), mode="add")
    found = np.zeros(3, np.int32)
    run(load(w.text()), (1, 1, 1), [found])
    assert tuple(found) == wanted


@pytest.mark.parametrize("width", [0, 2, 8, 16])
def test_bytes_are_those_of_the_order(width: int) -> None:
    """Tiles that 64 tile blocks, side by side in the order, have of x and of y, counted in a grid of 16 x 16."""
    order = np.argsort(taken((16, 16, 1), width, 1)[0].flat)
    x, y = order % 16, order // 16
    rounds = [slice(at, at + 64) for at in range(0, 256, 64)]
    for axis, values in ((0, x), (1, y)):
        counted = np.mean([len(set(values[each])) for each in rounds])
        assert counted == different(frozenset((axis,)), width or 16, 64, 16.0)
    assert different(frozenset((0, 1)), width or 16, 64, 16.0) == 64


def factors(a: str = "x", b: str = "y", uses: str = "xy", rows: int = 64) -> str:
    """D = A B^T of tiles, whose factors depend on axes of the grid."""
    w = Writer("factors", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>", k="i32")
    w.promise(a=16, b=16, d=16, k=8)
    ids = dict(zip("xyz", w.ids, strict=True))
    left, right = (w.view(each, [512, w.k], [w.k, 1], [size, 64], "zero") for each, size in ((w.a, rows), (w.b, 64)))
    with w.loop(0, w.tiles(left)[1], carried=[w.const(0.0, "f32", rows, 64)]) as loop:
        first, second = w.load(left, ids[a], loop.counter), w.load(right, ids[b], loop.counter)
        loop.values = [w.dot(first, second.T, loop.values[0])]
    place = (ids[uses[0]], ids[uses[-1]])
    w.store(loop.values[0], w.view(w.d, [512, 512], [512, 1], [rows, 64]), *place)
    return w.text()


@pytest.mark.parametrize(
    ("options", "width"),
    [
        ({}, 16),  # the root of 132
        ({"rows": 256}, 8),  # of fewer x, which cost more
        ({"a": "y"}, 0),  # x shares all
        ({"b": "x"}, 1),  # y does
        ({"a": "x", "b": "x", "uses": "x"}, 0),  # one axis
    ],
)
def test_the_order_follows_from_what_loads_depend_on(options: dict[str, Any], width: int) -> None:
    entry = load(factors(**options)).entries[0]
    found = best_order(entry, target("sm_90a"))
    assert found.width == width
    assert found.cycles == min(each.cycles for each in orders(entry, target("sm_90a")))


def test_few_tile_blocks_are_taken_as_they_are_counted() -> None:
    """All of them run at once, so no order saves a byte."""
    entry = load(factors()).entries[0]
    assert best_order(entry, target("sm_90a"), 100).width == 0
    assert best_order(entry, target("sm_80"), 100_000).width == 8


@pytest.mark.sampled(20)
@pytest.mark.parametrize(
    ("schedule", "name"),
    [*itertools.product(("static", "atomic"), ("sm_80", "sm_90a")), ("dynamic", "sm_100a"), ("dynamic", "sm_120a")],
)
def test_products_in_groups(name: str, schedule: str) -> None:
    """Five columns of three tiles in groups of two, by four CTAs."""

    def arguments() -> list[Any]:
        return [random((512, 72), "f16", 1), random((512, 72), "f16", 2), np.zeros((512, 512), np.float32), 72]

    program = Program("factors", factors, arguments, (5, 3), None)
    with patch.object(tile_order, "WIDTHS", (2,)):
        made = tilesat.compile(factors(), name, persistent=schedule)
    assert made.ptx != tilesat.compile(factors(), name, persistent=schedule).ptx
    for order in ("together", "skewed:1"):
        found = simulate(made, program, schedule=order, resident=4)
        assert largest_error(found[2], interpret(made, program)[2]) < 1e-4


@pytest.mark.in_turn
def test_targets_that_take_tiles_in_different_orders() -> None:
    """Each is compiled as it would be alone."""
    for schedule, targets in (("static", ["sm_80", "sm_90a"]), ("dynamic", ["sm_90a", "sm_100a", "sm_120a"])):
        for each in tilesat.compile_for(factors(), targets, persistent=schedule):
            assert each.ptx == tilesat.compile(factors(), each.target, persistent=schedule).ptx


@pytest.mark.in_turn
def test_orders_are_explained() -> None:
    for schedule, name in (("static", "sm_90a"), ("dynamic", "sm_100a")):
        text = outline(tilesat.compile(factors(), name, persistent=schedule).compiled)
        (lines,) = re.findall(r"order of tile blocks\n((?:    .*\n)+)", text)
        assert re.search(r"as the grid counts: [\d,]+ bytes of memory for a tile block, [\d,]+ cycles\n", lines)
        assert re.search(r"groups of 16 along x: [\d,]+ bytes .*, taken\n", lines)
    assert "order of tile blocks" not in outline(tilesat.compile(factors(), "sm_90a").compiled)


# --- the choice


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("blocks", "schedule"), [(0, "static"), (100, "off"), (1024, "static")])
def test_the_cheapest_schedule_is_taken(blocks: int, schedule: str) -> None:
    """Of a GEMM whose tile blocks fit an H100 at once nothing is gained."""
    made = tilesat.compile("examples/gemm.mlir", "sm_90a", persistent="auto", tile_blocks=blocks)
    found = {each.schedule: each for each in made.compiled.selection.schedules}
    assert [*found] == ["off", "static", "dynamic"]
    assert [name for name, each in found.items() if each.taken] == [schedule] == [made.compiled.persistent]
    alone = tilesat.compile("examples/gemm.mlir", "sm_90a", persistent=schedule)
    assert blocks == 1024 or made.ptx == alone.ptx
    text = outline(made.compiled)
    assert "tile blocks, by cycles of a launch, or of an SM for each of many" in text
    assert text.count(", taken") >= 1
    assert re.search(
        rf"    {schedule}.*: [\d,]+ \+ [\d,]+ of memory, waits [\d,]+(, hidden [\d,]+)?, 1 per SM: [\d,]+, taken\n",
        text,
    )


@pytest.mark.in_turn
def test_accumulators_in_tensor_memory_are_not_given_up() -> None:
    """Loops over tile blocks have theirs there too, and one block's is stored while the next one's is made."""
    made = tilesat.compile("examples/gemm.mlir", "sm_100a", persistent="auto")
    assert made.compiled.persistent == "static"
    assert "tcgen05.mma" in made.ptx


def test_rounds_of_a_launch() -> None:
    """132 SMs with one CTA each: a second round for one tile block, and no starts after the first where CTAs stay."""
    chip, plain = target("sm_90a"), orders(load(counted()).entries[0], target("sm_90a"))[0]
    program = Priced(10_000.0, 100.0, 1, 1, True)

    def total(schedule: str, blocks: int, **more: Any) -> float:
        return scheduled(schedule, program, plain, chip, blocks, **more).total

    for blocks, rounds in ((1, 1), (132, 1), (133, 2), (264, 2), (265, 3)):
        assert total("off", blocks) == rounds * 11_100
        assert total("static", blocks) == rounds * 10_100 + 1_000
    assert total("static", 265, uneven=True) == 2 * 30_000 + 300 + 1_000
    assert total("dynamic", 264, uneven=True) == 3 * 10_000 + 200 + 1_000
    crowded = Priced(10_000.0, 100.0, 1, 4, True)
    for blocks, turns, rounds in ((132, 1, 1), (133, 2, 1), (528, 4, 1), (529, 5, 2)):
        assert scheduled("off", crowded, plain, chip, blocks).total == turns * 10_000 + rounds * 1_100
    pairs = Priced(10_000.0, 100.0, 2, 1, True)
    assert [scheduled("off", pairs, plain, chip, n).total for n in (66, 67)] == [11_100, 22_200]
    assert scheduled("off", pairs, plain, chip).total == 22_200


def test_what_the_next_tile_block_hides() -> None:
    """Nothing where a CTA has one; under each but the last of those that it has."""
    chip, plain = target("sm_90a"), orders(load(counted()).entries[0], target("sm_90a"))[0]
    program = Priced(10_000.0, 100.0, 1, 1, True, hidden=3_000.0)
    for blocks, times in ((1, 0), (132, 0), (133, 1), (265, 2)):
        assert scheduled("static", program, plain, chip, blocks).total == (times + 1) * 10_100 + 1_000 - times * 3_000
    assert scheduled("static", program, plain, chip).total == 7_100 + plain.cycles


def ramp() -> str:
    """A tile block x takes x steps, as causal attention does."""
    w = Writer("ramp", y="ptr<i32>", n="i32")
    x, _, _ = w.ids
    with w.loop(0, x * w.n, carried=[w.const(0, "i32")]) as loop:
        loop.values = [loop.values[0] * 3 + 1]
    w.scatter(w.y[x], loop.values[0])
    return w.text()


def test_tile_blocks_that_differ_are_drawn() -> None:
    assert uneven(load(ramp()).entries[0])
    assert not uneven(load(factors()).entries[0])
    made = tilesat.compile(ramp(), "sm_80", persistent="auto", tile_blocks=4000)
    found = {each.schedule: each.total for each in made.compiled.selection.schedules}
    assert found["dynamic"] < found["static"]


def test_kernels_that_cannot_be_persistent_stay_as_they_are() -> None:
    made = tilesat.compile(left(), "sm_80", persistent="auto")
    assert made.ptx == tilesat.compile(left(), "sm_80").ptx
    assert "static: not possible, a persistent kernel cannot return from inside a loop" in outline(made.compiled)
    again = tilesat.compile(looped(), "sm_80", persistent="auto")  # without a warning: nothing was asked for
    assert again.ptx == tilesat.compile(looped(), "sm_80").ptx
    assert [each.schedule for each in again.compiled.selection.schedules] == ["off"]


@pytest.mark.in_turn
def test_the_choice_is_right_whatever_it_is() -> None:
    for name, blocks in itertools.product(("sm_80", "sm_100a"), (0, 9)):
        made = tilesat.compile(counted(), name, persistent="auto", tile_blocks=blocks)
        program = Program("counted", counted, lambda: [np.zeros((2, 2, 9), np.int32)], (9, 2, 2), None)
        found = simulate(made, program, resident=3)[0]
        assert np.array_equal(found, np.broadcast_to(np.where(np.arange(9) % 2, 100, 1), (2, 2, 9)))
        assert made.ptx == kernel(counted(), name, made.compiled.persistent).ptx


def test_tile_blocks_need_a_choice() -> None:
    with pytest.raises(TileError, match="tile_blocks: they are used only to choose the CTAs or the persistent form"):
        tilesat.compile(counted(), "sm_80", persistent="static", tile_blocks=4)


@pytest.mark.in_turn
def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compile", "examples/gemm.mlir", "--target", "sm_80", "--persistent", "auto", "--explain"]
    assert main([*arguments, "--tile-blocks", "1024", "-o", "/dev/null"]) == 0
    found = capsys.readouterr().err
    assert re.search(r"    off: .*\n    static, groups of 8 along x: .*, taken\n    dynamic, groups of 8", found)
