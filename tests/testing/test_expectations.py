"""The fixture `tile`: what may be expected, and what failures say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.core import TileError
from runtime import ptxas
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.fuzz.judge import FAR_APART
from tilesat.fuzz.ordered import ordered
from tilesat.testing import golden
from tilesat.testing.conditions import OPERATORS, ExpectationError, ExpectationFailed
from tilesat.testing.kernel import CheckedKernel
from tilesat.testing.tile import KEPT, Tile

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS_PTXAS = pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
GEMM = ["f16[128,64]=normal:1", "f16[128,64]=normal:2", "f32[128,128]=normal:3", "f32[128,128]=zeros"]
GEMM += [f"i32={n}" for n in (128, 128, 64, 64, 64, 128, 128)]
ADD = ["f32[100]=normal:1", "f32[100]=normal:2", "f32[100]=zeros", 100]


@pytest.fixture
def gemm(tile: Tile) -> CheckedKernel:
    return tile.compile(EXAMPLES / "gemm.mlir", "sm_90a")


@pytest.fixture
def add(tile: Tile) -> CheckedKernel:
    return tile.compile(EXAMPLES / "vecadd_ptr.mlir", forbid=["f32x2"])


@pytest.mark.in_turn
@NEEDS_PTXAS
def test_the_example_of_the_docs(gemm: CheckedKernel) -> None:
    gemm.expect(cost__le=36_200, gap__le=0.01, registers__le=240, spills=0, shared_memory__le=227 * 1024)
    gemm.expect(
        stack=0, warnings=0, threads=256, warps=4, sass__lt=800, instructions__gt=500, nodes__gt=100, bound__gt=0
    )
    gemm.ptx.expect("wgmma.mma_async", count=8)
    gemm.ptx.expect("ldmatrix", count=0)
    gemm.sass.expect("HGMMA", count=8)
    gemm.nv_tileas.expect("nv_tileas.convert_layout", count=0)
    gemm.nvgpu.expect("warpgroup.mma")
    gemm.nvvm.expect("wgmma*", count__ge=8)
    gemm.egraph.expect("mmaf", count=1)
    gemm.cuda_tile.expect("mmaf", count=1)
    gemm.loop("wgmma").expect(instructions__le=60, serial_loads=0, products=8, spills=0, cycles__lt=600, beside__le=10)
    gemm.loop("wgmma").expect("HGMMA", count=8)
    gemm.loop("cp.async.bulk.tensor").expect("wgmma", count=0)
    gemm.chosen("%acc").expect(atom="wgmma.m64n128k16", stages__ge=4, warps=4)
    gemm.chosen("a_tile").expect(atom="tma", stages=6, bytes=16, cost__gt=0)


def test_runs_returns_what_the_kernel_wrote(gemm: CheckedKernel) -> None:
    a, b, c, d = (np.random.default_rng(i).standard_normal((128, n)) for i, n in enumerate((64, 64, 128, 128)))
    a, b, c, d = a.astype(np.float16), b.astype(np.float16), c.astype(np.float32), d.astype(np.float32)
    wanted = a.astype(np.float64) @ b.T.astype(np.float64) + c
    found = gemm.runs(1, [a, b, c, d, 128, 128, 64, 64, 64, 128, 128], expected={3: wanted}, tolerance=2e-3)
    assert not np.array_equal(found[3], d)
    assert np.array_equal(d, np.random.default_rng(3).standard_normal((128, 128)).astype(np.float32))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda k: k.expect(), r"checks nothing; it accepts cost, bound, gap"),
        (lambda k: k.expect(price=1), r"@vecadd_ptr for sm_80 has no 'price'; it has cost, bound, gap"),
        (lambda k: k.expect(cost__below=1), r"unknown operator 'below'; known are eq, ne, le, lt, ge, gt"),
        (lambda k: k.chosen("%a_tile").expect(atom__le="x"), r"a string is compared by eq and ne, not by le"),
        (lambda k: k.chosen("%a_tilt"), r"no tile value %a_tilt; near it are %a_tile"),
        (lambda k: k.ptx.expect(count=1), "needs the name of an operation or an instruction"),
        (lambda k: k.ptx.expect("add", size=1), "has no 'size'; it has count"),
        (lambda k: k.ptx.loop("add"), r"has no loop with 'add'; its 0 loops hold nothing"),
        (lambda k: k.nvvm.loop("add"), r"loops of nvvm are not found by names"),
        (lambda k: k.matches_golden("sas"), r"no level 'sas'; there are cuda_tile, nv_tileaa"),
    ],
)
def test_what_does_not_exist_is_an_error_that_lists_what_does(add: CheckedKernel, wrong: Any, message: str) -> None:
    with pytest.raises(ExpectationError, match=message):
        wrong(add)


def test_an_unknown_level_lists_those_that_there_are(add: CheckedKernel) -> None:
    with pytest.raises(AttributeError, match="no 'nvgpux'; its levels are cuda_tile, nv_tileaa, egraph"):
        _ = add.nvgpux


@NEEDS_PTXAS
def test_a_loop_that_is_not_there_lists_those_that_are(gemm: CheckedKernel, add: CheckedKernel) -> None:
    with pytest.raises(ExpectationError, match=r"no innermost loop with mma.sync in SASS; its loops:\n  28 inst"):
        gemm.loop("mma.sync")
    with pytest.raises(ExpectationError, match="no innermost loop with anything in SASS; its loops: none"):
        add.loop()


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_operator_holds_and_fails(add: CheckedKernel, operator: str) -> None:
    threads = add.kernel.manifest["block"][0]
    values = {"eq": (0, -1), "ne": (1, 0), "le": (0, -1), "lt": (1, 0), "ge": (0, 1), "gt": (-1, 0)}[operator]
    add.expect(**{f"threads__{operator}": threads + values[0]})
    with pytest.raises(ExpectationFailed, match=f"threads: expected .*{threads + values[1]}, got {threads}"):
        add.expect(**{f"threads__{operator}": threads + values[1]})


def failure(wrong: Any) -> str:
    with pytest.raises(ExpectationFailed) as caught:
        wrong()
    return str(caught.value)


def test_a_dear_kernel_shows_its_dearest_choices_with_their_runners_up(gemm: CheckedKernel) -> None:
    said = failure(lambda: gemm.expect(cost__le=30_000, threads=3))
    assert re.search(r"^  cost: expected at most 30000, got 36157.6$", said, re.M)
    assert re.search(r"^  threads: expected 3, got 256$", said, re.M)
    assert re.search(
        r"^ +%acc_next$\n +L\d+: wgmma.*\n +else L\d+: wgmma.*; the program then costs 36211.6", said, re.M
    )
    assert re.search(r"more: tilesat compile \S*examples/gemm.mlir --target sm_90a --explain -o k.ptx$", said, re.M)


def test_a_wrong_count_shows_the_lines_of_ptx(add: CheckedKernel) -> None:
    said = failure(lambda: add.ptx.expect("add.rn.f32", count=3))
    lines = add.kernel.ptx.splitlines()
    number = next(n for n, line in enumerate(lines, 1) if "add.rn.f32" in line)
    assert f"line {number}: {lines[number - 1].strip()}" in said
    assert "count: expected 3, got 8" in said
    assert re.search(r"more: tilesat compile \S*vecadd_ptr.mlir --target sm_80 --forbid f32x2 --emit ptx$", said)
    assert "there are add.s32 (8), add.rn.f32 (8), add.s64" in failure(lambda: add.ptx.expect("add.f64"))


def test_another_choice_is_shown_with_its_runner_up(gemm: CheckedKernel) -> None:
    said = failure(lambda: gemm.chosen("%acc").expect(atom="mma.sync", stages__ge=8))
    assert said.startswith("%acc = %acc_next of @gemm for sm_90a\n  atom: expected mma.sync, got wgmma.m64n128k16.f16")
    assert "stages: expected at least 8, got 6" in said
    assert re.search(r"else L\d+: .*; the program then costs", said)
    assert failure(lambda: gemm.chosen("%acc").expect(atom__ne="wgmma")).count("expected anything but wgmma") == 1
    assert "expected wgmma.m64n12" in failure(lambda: gemm.chosen("%acc").expect(atom="wgmma.m64n12"))


@pytest.mark.in_turn
@NEEDS_PTXAS
def test_a_long_loop_shows_what_it_holds(gemm: CheckedKernel) -> None:
    said = failure(lambda: gemm.loop("wgmma").expect(instructions__le=36, length__le=36))
    assert re.search(r"^  instructions, length:\n    loop at 0x\w+: UIADD3 \d+, .*HGMMA 8", said, re.M)
    assert "-o k.ptx && tilesat mca k.ptx" in said
    assert "count: expected at least 1, got 0" in failure(lambda: gemm.loop("wgmma").expect("LDSM"))


def test_a_wrong_result_says_where(add: CheckedKernel) -> None:
    ptx = add.kernel.ptx
    object.__setattr__(add.kernel.compiled, "ptx", ptx.replace("add.rn.f32", "sub.rn.f32"))
    try:
        said = failure(lambda: add.runs(1, ADD))
    finally:
        object.__setattr__(add.kernel.compiled, "ptx", ptx)
    assert re.search(r"arg2: WRONG, largest error .*: -?\d\S* at \[\d+\], expected ", said)
    assert re.search(r"more: tilesat run \S*vecadd_ptr.mlir .*--grid 1,1,1 --check --arg 'f32\[100\]=normal:1' ", said)
    assert "--arg i32=100" in said
    assert "arg2: WRONG" in failure(lambda: add.runs(1, ADD, expected={2: np.ones(100)}))


def test_a_race_names_the_lines_of_ptx_and_source(tile: Tile) -> None:
    k = tile.compile(EXAMPLES / "gemm.mlir", "sm_80", forbid=["ldmatrix"])
    ptx = k.kernel.ptx
    broken = re.sub(r"cp\.async\.wait_group \d+;", "", ptx)
    object.__setattr__(k.kernel.compiled, "ptx", broken)
    try:
        said = failure(lambda: k.runs(1, GEMM))
    finally:
        object.__setattr__(k.kernel.compiled, "ptx", ptx)
    place = re.search(r"PTX line (\d+) `ld.shared.*?` \((\S+gemm\.mlir):(\d+)\): .*cp.async", said)
    assert place is not None
    source = Path(place[2]).read_text().splitlines()[int(place[3]) - 1]
    assert "mmaf" in source or "load_view" in source
    assert re.search(rf"^{place[1]} +\S+gemm.mlir:{place[3]} +copy-in-flight", said, re.M)


def test_a_lost_barrier_shows_where_warps_run_apart(tile: Tile) -> None:
    """A program whose threads read what others wrote; hazards are of shared memory, and see nothing."""
    program = next(p for p in map(ordered, range(9)) if "bar.sync" in tile.compile(p.source()).ptx.text)
    k = tile.compile(program.source())
    k.runs(1, program.arguments(), schedule="skewed:0")
    ptx = k.kernel.ptx
    object.__setattr__(k.kernel.compiled, "ptx", re.sub(r".*bar\.sync.*\n", "", ptx))
    try:
        found = [failure_of(lambda s=s: k.runs(1, program.arguments(), schedule=s)) for s in FAR_APART]
    finally:
        object.__setattr__(k.kernel.compiled, "ptx", ptx)
    assert any("arg0: WRONG" in each for each in found)


def failure_of(run: Any) -> str:
    """What a failure says; nothing where there is none."""
    try:
        run()
    except ExpectationFailed as error:
        return str(error)
    return ""


def test_a_kernel_that_writes_nothing_checks_nothing(add: CheckedKernel) -> None:
    assert "changed no array: nothing was compared" in failure(lambda: add.runs(1, [*ADD[:3], 0]))


def test_programs_come_as_files_text_and_bytecode_and_are_compiled_once(tile: Tile, tmp_path: Path) -> None:
    from ir.bytecode import write_bytecode
    from ir.load import load

    text = (EXAMPLES / "vecadd_ptr.mlir").read_text()
    first, second = tile.compile(text), tile.compile(text)
    assert first.kernel is second.kernel
    assert first.kernel is not tile.compile(text, "sm_86").kernel
    assert tile.compile(write_bytecode(load(text))).kernel.ptx == first.kernel.ptx
    assert "vecadd_ptr.mlir" in failure(lambda: tile.compile("../../examples/vecadd_ptr.mlir").expect(threads=1))
    command = failure(lambda: first.expect(cost=0)).rpartition("more: ")[2]
    assert Path(command.split()[2]).read_text() == text
    for wrong, message in (("gone.mlir", "no file gone.mlir in"), (3, "expected a path, text, bytecode or a cuTile")):
        with pytest.raises(ExpectationError, match=message):
            tile.compile(wrong)
    with pytest.raises(TileError, match="not a cuTile kernel"):
        tile.compile(text, signature="f32[?]")


def test_the_cache_is_bounded(tile: Tile) -> None:
    cache = dict.fromkeys(range(2 * KEPT))
    bounded = Tile(Path(__file__), "test", False, [], cache, Path)
    bounded.compile(EXAMPLES / "vecadd_ptr.mlir")
    assert len(cache) == KEPT
    assert 2 * KEPT - 1 in cache


def test_cutile_kernels(tile: Tile) -> None:
    pytest.importorskip("cuda.tile")
    path = EXAMPLES / "cutile" / "vecadd.py"
    k = tile.compile(f"{path}:vecadd_view", "sm_90a", signature="f32[?]; f32[?]; f32[?]")
    k.ptx.expect("add*.f32*")
    x, y, z = (np.random.default_rng(i).standard_normal(1300).astype(np.float32) for i in range(3))
    k.runs(2, [x, 1300, 1, y, 1300, 1, z, 1300, 1], expected={6: x + y})
    assert re.search(r"more: tilesat compile \S+\.tileirbc --target sm_90a", failure(lambda: k.ptx.expect("mma")))


def test_a_golden_file_that_is_not_there_can_be_blessed(tmp_path: Path) -> None:
    path = tmp_path / "golden" / "k.ptx"
    with pytest.raises(
        ExpectationFailed, match=r"no golden file .*k.ptx\n  run pytest --bless.*\n  more: tilesat compile"
    ):
        golden.check(path, "text\n", False, "tilesat compile k.mlir")
    golden.check(path, "text\n", True, "")
    golden.check(path, "text\n", False, "")


def test_difference_leaves_numbers_of_values_out() -> None:
    before = "%0 = a()\n%1 = b(%0)\n%2 = c(%1)\n%3 = d(%2)\n%4 = e(%3)\n"
    after = "%0 = a()\n%1 = new()\n%2 = b(%0)\n%3 = c(%2)\n%4 = d(%3)\n%5 = e(%4)\n"
    shown = list(golden.difference(before, after))
    assert [line for line in shown if line[0] in "+-"] == ["+ %1 = new()"]
    renumbered = list(golden.difference("%0 = a()\n", "%1 = a()\n"))
    assert renumbered[0] == "only numbers of values differ"
    assert "+ %1 = a()" in renumbered


def test_a_missing_tool_leaves_expectations_out(tile: Tile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    left_out: list[str] = []
    own = Tile(Path(__file__), "test", False, left_out, {}, Path)
    ptxas.find.cache_clear()
    try:
        k = own.compile(EXAMPLES / "vecadd_ptr.mlir")
        k.expect(registers=1, cost__gt=0)
        k.loop("wgmma").expect(instructions=1)
        k.sass.expect("FADD", count=1)
        k.matches_golden("sass")
        with pytest.raises(ExpectationFailed, match="cost"):
            k.expect(registers=1, cost=0)
    finally:
        ptxas.find.cache_clear()
    assert len(left_out) == 4
    assert left_out[0].startswith(
        "registers of @vecadd_ptr for sm_80: ptxas is not installed; get it with `pip install"
    )
