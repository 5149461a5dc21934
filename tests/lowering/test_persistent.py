"""Persistent kernels: every tile once, whatever the grid and the number of CTAs; what the launcher gives; refusals."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ir.core import TileError
from ir.dialects import cuda_tile as ct
from ptxsim import SimulatorError
from runtime.cuda import CudaError, Device
from runtime.manifest import MOST_TILES, ManifestError, parse, persistent_grid
from runtime.ptxas import assemble
from tests.programs.program import DTYPES, Program, interpret, random, simulate
from tests.runtime.fake_driver import FakeDriver
from tests.tilesat.example_cases import QUICK
from tilesat.execution import largest_error
from tilesat.execution import simulate as simulate_ptx
from tilesat.fuzz.writer import Tile, Writer
from tilesat.kernel import Kernel

SCHEDULES = {"static": "sm_80", "atomic": "sm_80", "dynamic": "sm_100a"}
"""With the target that the small kernels are compiled for: dynamic takes a counter below sm_100."""


def counted() -> str:
    """Each tile block adds 1 to its own element of y [z, y, x], 100 where x is odd; it returns early in row 2."""
    w = Writer("counted", y="ptr<i32>")
    x, y, z = w.ids
    w.branch(y.eq(2), lambda: w.leave(ct.Return))
    added = (x & 1).eq(1).where(w.const(100, "i32"), w.const(1, "i32"))
    place = (z * w.grid[1] + y) * w.grid[0] + x
    w.update(w.y[place], added, mode="add")
    return w.text()


@cache
def kernel(text: str, target: str, schedule: str) -> Kernel:
    made = tilesat.compile(text, target, persistent=schedule)
    assembled = assemble(made.ptx, target)
    assert (assembled.warnings, assembled.infos, assembled.spill_stores) == ((), (), 0)
    return made


@pytest.mark.parametrize("resident", [1, 3, 148])
@pytest.mark.parametrize("grid", [(5, 1, 1), (3, 4, 2), (1, 3, 5)])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_tile_once(schedule: str, grid: tuple[int, int, int], resident: int) -> None:
    x, y, z = grid
    program = Program("counted", counted, lambda: [random((z, y, x), "i32", 1)], grid, None)
    made = kernel(counted(), SCHEDULES[schedule], schedule)
    (found,) = simulate(made, program, resident=resident)
    wanted = program.arguments()[0] + np.where(np.arange(x) % 2, 100, 1)[None, None, :]
    wanted[:, 2:3] = program.arguments()[0][:, 2:3]
    assert np.array_equal(found, wanted)
    assert np.array_equal(interpret(made, program)[0], wanted)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("gemm-200x136x72", "sm_80"),
        ("gemm-200x136x72", "sm_90a"),
        ("gemm-200x136x72", "sm_100a"),
        pytest.param("gemm-200x136x72", "sm_120a", marks=pytest.mark.slow),
        pytest.param("softmax-3x1000", "sm_90a", marks=pytest.mark.slow),
        pytest.param("layernorm-2x2500", "sm_90a", marks=pytest.mark.slow),
        pytest.param("layernorm-2x2500", "sm_100a", marks=pytest.mark.slow),
        pytest.param("flash_attention-2x200x100", "sm_90a", marks=pytest.mark.slow),
        ("vecadd_ptr-3000", "sm_80"),
    ],
)
def test_examples(name: str, target: str, schedule: str) -> None:
    """All tiles of a grid by four CTAs, and so by the interpreter; hazards are watched."""
    case = QUICK[name]()
    made = tilesat.compile(case.source, target, persistent=schedule)
    arguments = case.fresh()
    made.run(case.grid, *arguments, check=True)
    assert case.outside_untouched(arguments)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("order", ["together", "skewed:0", "skewed:1"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_rings_go_on_from_tile_to_tile(schedule: str, order: str) -> None:
    """More tiles than CTAs: a product's ring is used again by the next tile."""

    def source() -> str:
        w = Writer("gemm", a="ptr<f16>", b="ptr<f16>", d="ptr<f32>")
        w.promise(a=16, b=16, d=16)
        left, right = w.view(w.a, [320, 192], [192, 1], [64, 64]), w.view(w.b, [128, 192], [192, 1], [64, 64])
        with w.loop(0, 3, carried=[w.const(0.0, "f32", 64, 64)]) as loop:
            a, b = w.load(left, w.ids[0], loop.counter), w.load(right, w.ids[1], loop.counter)
            loop.values = [w.dot(a, b.T, loop.values[0])]
        w.store(loop.values[0], w.view(w.d, [320, 128], [128, 1], [64, 64]), w.ids[0], w.ids[1])
        return w.text()

    def arguments() -> list[Any]:
        return [random((320, 192), "f16", 1), random((128, 192), "f16", 2), random((320, 128), "f32", 3)]

    program = Program("gemm", source, arguments, (5, 2), None, 2e-3)
    made = kernel(source(), "sm_100a" if schedule == "dynamic" else "sm_90a", schedule)
    found = simulate(made, program, schedule=order, resident=3)
    assert largest_error(found[2], interpret(made, program)[2]) <= program.tolerance


@pytest.mark.sampled(5)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_all_tiles_share_comes_before_the_loop(schedule: str) -> None:
    """Promises about parameters are reached whatever the tile, so views of them keep their tensor maps."""
    plain, made = (tilesat.compile("examples/gemm.mlir", "sm_90a", persistent=each) for each in ("off", schedule))
    assert made.ptx.count("cp.async.bulk.tensor") == plain.ptx.count("cp.async.bulk.tensor") == 2


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_promises_behind_an_exit_stay_there(schedule: str) -> None:
    """A promise that no tile comes to says nothing of what is done before."""

    def source() -> str:
        w = Writer("exits", y="ptr<i32>", n="i32")
        w.update(w.y[w.ids[0]], (w.n < 8).where(w.const(100, "i32"), w.const(1, "i32")), mode="add")
        w.branch(w.ids[0].eq(0), lambda: w.leave(ct.Return))
        w.update(w.y[w.ids[0]], w.args["n"].assume(ct.Bounded(8, None)), mode="add")
        return w.text()

    program = Program("exits", source, lambda: [random((1,), "i32", 1), 5], (1,), None)
    made = kernel(source(), "sm_80", schedule)
    found = simulate(made, program, resident=1)[0]
    assert np.array_equal(found, program.arguments()[0] + 100)


def test_manifest_says_what_the_launcher_gives() -> None:
    static, dynamic = (parse(kernel(counted(), "sm_80", each).manifest) for each in ("static", "dynamic"))
    assert kernel(counted(), "sm_80", "atomic").ptx == kernel(counted(), "sm_80", "dynamic").ptx
    assert parse(kernel(counted(), "sm_100a", "dynamic").manifest).launched == []
    assert static.launched == ["grid x", "grid y", "grid z"]
    assert dynamic.launched == ["grid x", "grid y", "grid z", "tile counter"]
    assert static.arguments == dynamic.arguments == 1
    raw = kernel(counted(), "sm_80", "static").manifest
    wrong = {**raw, "params": [{**raw["params"][-1], "launch": "grid w"}]}
    with pytest.raises(ManifestError, match=r"params\[0\].launch = 'grid w' is not one of grid x, grid y, grid z"):
        parse(wrong)


def test_targets_that_take_tiles_in_different_ways() -> None:
    """Each is compiled as it would be alone."""
    targets = ["sm_100a", "sm_80", "sm_120a", "sm_90a"]
    together = tilesat.compile_for(counted(), targets, persistent="dynamic")
    for target, made in zip(targets, together, strict=True):
        assert made.ptx == kernel(counted(), target, "dynamic").ptx
        assert made.ptx.count("clusterlaunchcontrol.try_cancel") == (target in ("sm_100a", "sm_120a"))


@pytest.mark.parametrize("line", [
    "mbarrier.arrive.expect_tx", "bra $W1;", "mbarrier.inval", "bar.sync 0;", "mbarrier.init",
])  # fmt: skip
def test_each_step_of_a_request_is_needed(line: str) -> None:
    """Without it the simulator finds a fault, in one order of warps at least."""
    made = kernel(counted(), "sm_100a", "dynamic")
    lines = made.ptx.splitlines()
    place = max(i for i, each in enumerate(lines) if line in each)
    ptx = "\n".join([*lines[:place], *lines[place + 1 :]])
    y = np.zeros((2, 2, 9), np.int32)

    def in_any_order() -> None:
        for schedule in ("together", *(f"skewed:{seed}" for seed in range(5))):
            simulate_ptx(ptx, made.manifest, (9, 2, 2), [y], hazards=True, schedule=schedule, max_instructions=100_000)

    with pytest.raises(SimulatorError):
        in_any_order()


def test_grid_of_ctas() -> None:
    assert persistent_grid((3, 4, 2), 132) == (24, 1, 1)
    assert persistent_grid((30, 40, 2), 132) == (132, 1, 1)
    with pytest.raises(ManifestError, match="counts at most 1073741824 tile blocks, the grid has 1073741825"):
        persistent_grid((MOST_TILES + 1, 1, 1), 132)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_on_a_device(schedule: str) -> None:
    """As many CTAs as fit a device of two multiprocessors; the counter is zero at each launch."""
    made = kernel(counted(), "sm_80", schedule)
    device = Device(driver=FakeDriver())
    loaded = device.load(made.ptx, made.manifest)
    held = device.put(np.zeros((2, 2, 9), DTYPES["i32"]))
    launch = loaded.prepare((9, 2, 2), [held])
    launch()
    launch()
    assert np.array_equal(device.get(held), np.broadcast_to(np.where(np.arange(9) % 2, 200, 2), (2, 2, 9)))
    with pytest.raises(CudaError, match="expects 1 arguments, got 0"):
        loaded.prepare((9, 2, 2), [])


def looped() -> str:
    """A kernel that goes through tiles itself."""
    w = Writer("looped", y="ptr<i32>")
    with w.loop(w.ids[0], 10, w.grid[0]) as loop:
        w.update(w.y[loop.counter], w.const(1, "i32"), mode="add")
    return w.text()


def left() -> str:
    """A kernel that returns from inside a loop."""
    w = Writer("left", y="ptr<i32>")

    def body(values: list[Tile]) -> list[Tile]:
        w.branch(values[0].eq(3), lambda: w.leave(ct.Return))
        w.update(w.y[values[0]], w.const(1, "i32"), mode="add")
        return [values[0] + 1]

    w.endless([w.ids[0]], body)
    return w.text()


def test_persistent_kernel_is_not_wrapped() -> None:
    with pytest.warns(UserWarning, match="Kernel is already dynamic persistent"):
        made = tilesat.compile(looped(), "sm_80", persistent="static")
    assert made.ptx == tilesat.compile(looped(), "sm_80").ptx


def test_return_inside_a_loop_is_refused() -> None:
    with pytest.raises(TileError, match="cannot return from inside a loop"):
        tilesat.compile(left(), "sm_80", persistent="dynamic")


def test_unknown_schedule() -> None:
    names = "off, static, atomic, dynamic, auto"
    with pytest.raises(TileError, match=f"persistent: expected one of {names}, got 'stripes'"):
        tilesat.compile(counted(), "sm_80", persistent="stripes")
