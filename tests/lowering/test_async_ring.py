"""The ring of sm_90a where tensor copies are not legal or not wanted: a producer warpgroup copies by cp.async."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import tilesat
from ptxsim import GlobalMemory, SimulatorError, launch
from runtime.ptxas import assemble
from tests.lowering.test_hopper import check
from tests.programs.agents import AGENTS
from tests.programs.program import check as check_program
from tests.tilesat.example_cases import EXAMPLES, Case, gemm, padded
from tilesat.fuzz.writer import Writer
from tilesat.kernel import Kernel

Options = tuple[int, int, tuple[str, ...]]
TMA, MIXED = (8, 8, ("tma",)), (4, 8, ())


@cache
def compiled(options: Options) -> Kernel:
    """The GEMM of the examples; promised are rows of B from multiples of `unit` elements on, and k of `depth`."""
    unit, depth, forbid = options
    text = (EXAMPLES / "gemm.mlir").read_text()
    text = text.replace("%b_pitch = assume div_by<8>", f"%b_pitch = assume div_by<{unit}>")
    text = text.replace("%depth = assume div_by<8>", f"%depth = assume div_by<{depth}>")
    return tilesat.compile(text, "sm_90a", forbid=forbid)


def case_of(k: int, unit: int) -> Case:
    """Rows of B that start at odd multiples of `unit` elements; no extent is a multiple of the tile's."""
    made = gemm(130, 96, k)
    pitch = -(-k // (2 * unit)) * 2 * unit + unit
    arguments: list[Any] = list(made.arguments)
    arguments[1], arguments[8] = padded(made.arguments[1][:96, :k], pitch), pitch
    return replace(made, arguments=arguments)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("options", "arrivals", "copies"),
    [
        (TMA, 128, {16: 16}),
        ((8, 1, ("tma",)), 128, {16: 2 * 16}),  # in the loop of whole accesses and in that of the last tile
        (MIXED, 129, {8: 16}),
        ((4, 1, ()), 129, {8: 2 * 16}),
        ((2, 2, ()), 129, {4: 32}),
    ],
    ids=["tma forbidden", "tma forbidden, ragged", "8 bytes", "8 bytes, ragged", "4 bytes"],
)
def test_copies_of_every_width_fill_the_ring(options: Options, arrivals: int, copies: dict[int, int]) -> None:
    """A and B by cp.async where tensor copies are forbidden; else only B, whose rows are not 16-byte aligned."""
    kernel, (unit, depth, _) = compiled(options), options
    counts = re.findall(r"mbarrier\.init\S+ \S+ (\d+);", kernel.ptx)
    stages = len(counts) // 2
    assert counts == [str(arrivals), "4"] * stages  # full: producers; empty: a lane of each consumer warp
    sizes = [int(n) for n in re.findall(r"cp\.async\.c\w\.\S+ \[\S+\], \[\S+\], (\d+)", kernel.ptx)]
    assert {size: sizes.count(size) for size in sizes} == copies
    assert ("cp.async.bulk.tensor" in kernel.ptx) == (arrivals == 129)
    made = assemble(kernel.ptx, "sm_90a")
    assert (made.spill_stores, made.warnings, made.infos) == (0, (), ())
    check(case_of({8: 392, 2: 390, 1: 389}[depth], unit), kernel)


def test_rows_at_any_element_are_loaded_by_the_consumers() -> None:
    """Neither copy is legal for B: plain loads, and then no product runs on while its operand is overwritten."""
    kernel = compiled((1, 1, ()))
    assert re.findall(r"mbarrier\.init\S+ \S+ (\d+);", kernel.ptx)[0] == "1"
    assert kernel.ptx.count("cp.async.bulk.tensor") == 1
    assert "cp.async.c" not in kernel.ptx
    check(case_of(389, 1), kernel)


HINTS = {
    "sm_90 = {allow_tma = false}": 1,
    "default = {allow_tma = false}": 1,
    "default = {allow_tma = false}, sm_90 = {allow_tma = true}": 2,
    "sm_100 = {allow_tma = false}": 2,
    "sm_90 = {latency = 2}": 2,
}


def hinted(hints: str) -> str:
    """The GEMM of the examples with hints on the load of B."""
    return (EXAMPLES / "gemm.mlir").read_text().replace(
        "%b_tiles[%bn, %kt] token = %start", f"%b_tiles[%bn, %kt] token = %start optimization_hints = <{hints}>"
    )  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("hints", HINTS)
def test_hint_forbids_tensor_copies_of_one_load(hints: str) -> None:
    kernel = tilesat.compile(hinted(hints), "sm_90a")
    assert kernel.ptx.count("cp.async.bulk.tensor") == HINTS[hints]
    assert kernel.ptx.count("cp.async.cg") == (0 if HINTS[hints] == 2 else 8)
    check(gemm(130, 96, 392), kernel)


def test_hint_of_one_of_two_equal_loads_holds_for_both() -> None:
    """They are one load after saturation."""
    text = hinted("sm_90 = {allow_tma = false}")
    load = next(line for line in text.splitlines() if "%b_tile, %b_token" in line)
    again = load.replace("%b_tile, %b_token", "%b_again, %again_token").replace("false", "true")
    text = text.replace(load, f"{load}\n{again}").replace("permute %b_tile", "permute %b_again")
    assert tilesat.compile(text, "sm_90a").ptx.count("cp.async.bulk.tensor") == 1


def test_each_piece_of_a_small_tile_is_copied_once() -> None:
    """A tile of 64 pieces of 16 bytes: half of the producer's 128 threads copy nothing, and all of them arrive."""
    w = Writer("small", x="ptr<f32>", y="ptr<f32>")
    w.promise(x=16, y=16)
    x, y = w.view(w.x, [160, 16], [16, 1], (16, 16)), w.view(w.y, [16, 16], [16, 1], (16, 16))
    with w.loop(0, 10, carried=[w.const(0.0, "f32", 16, 16)]) as loop:
        loop.values = [loop.values[0] + w.load(x, loop.counter, 0)]
    w.store(loop.values[0], y, 0, 0)
    kernel = tilesat.compile(w.text(), "sm_90a", forbid=("tma",))
    rng = np.random.default_rng(8)
    data, memory = rng.standard_normal((160, 16)).astype(np.float32), GlobalMemory()
    source, out = memory.put(data), memory.put(np.full((16, 16), np.nan, np.float32))
    made = launch(
        kernel.ptx, (1,), tuple(kernel.manifest["block"]), [source, out], memory,
        dynamic_smem=kernel.manifest["dynamic_smem"], hazards=True,
    )  # fmt: skip
    lines = kernel.ptx.splitlines()
    copied = [traffic.sectors for line, traffic in made.sectors.items() if "cp.async" in lines[line - 1]]
    assert copied == [10 * 16 * 2]  # ten tiles of sixteen rows of two sectors
    expected = data.reshape(10, 16, 16).sum(axis=0)
    np.testing.assert_allclose(memory.get(out, (16, 16), np.float32), expected, rtol=1e-5, atol=1e-5)


QUICK = ("agents-expert", "agents-linked-list", "agents-stored-before", "agents-persistent", "agents-ring-around-ring")
"""Scalars handed over to all threads of a producer, rings in loops of loops, two rings of one producer."""


def check_copied(name: str) -> None:
    kernel = check_program(AGENTS[name], "sm_90a", forbid=("tma",))
    assert "cp.async.mbarrier.arrive.noinc" in kernel.ptx
    assert "cp.async.bulk" not in kernel.ptx


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", QUICK)
def test_programs_of_agents_by_cp_async(name: str) -> None:
    check_copied(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in AGENTS if name not in QUICK])
def test_other_programs_of_agents_by_cp_async(name: str) -> None:
    check_copied(name)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("which", range(4))
def test_one_producer_fills_rings_of_both_kinds(which: int) -> None:
    """Two loops of two loads each, one of the four denied tensor copies: its ring counts threads, the other one not."""
    program = AGENTS["agents-two-loops"]
    text = str(program.source())
    place = list(re.finditer(r"load_view_tko weak %\S+\[[^]]*\] token = %\S+", text))[which].end()
    hinted = f"{text[:place]} optimization_hints = <sm_90 = {{allow_tma = false}}>{text[place:]}"
    kernel = check_program(replace(program, source=lambda: hinted), "sm_90a")
    assert kernel.ptx.count("cp.async.mbarrier.arrive.noinc") == 1
    assert kernel.ptx.count("cp.async.bulk.tensor") >= 3
    counts = set(re.findall(r"mbarrier\.init\S+ \S+ (\d+);", kernel.ptx))
    assert {"1", "129"} <= counts


MUTATIONS: dict[str, tuple[Options, str, str]] = {
    "one arrival too few is awaited": (TMA, r"(mbarrier\.init\S+ \S+) 128;", r"\1 127;"),
    "one arrival too many is awaited": (MIXED, r"(mbarrier\.init\S+ \S+) 129;", r"\1 130;"),
    "nobody says that copies have landed": (TMA, r"cp\.async\.mbarrier\.arrive\S+ \S+;", ""),
    "the arrival counts itself": (TMA, r"(cp\.async\.mbarrier\.arrive)\.noinc", r"\1"),
    "the arrival does not wait for the copies": (
        TMA, r"cp\.async\.mbarrier\.arrive\.noinc\.shared::cta\.b64 (\S+);", r"mbarrier.arrive.shared::cta.b64 _, \1;",
    ),
    "no fence before the products read": (TMA, r"fence\.proxy\.async\.shared::cta;", ""),
    "no fence where only B is copied": (MIXED, r"fence\.proxy\.async\.shared::cta;", ""),
    "the producer does not wait": (TMA, r"\$W2:\s.*\s.*bra \$W2;", ""),
    "consumers do not release": (TMA, r"@%p\d+ mbarrier\.arrive\.\S+ _, \[\S+\];", ""),
    "every thread announces the bytes": (MIXED, r"@%p\d+ (mbarrier\.arrive\.expect_tx)", r"\1"),
    "every thread starts the box": (MIXED, r"@%p\d+ (cp\.async\.bulk\.tensor)", r"\1"),
    "producers number their threads otherwise": (TMA, r"(add\.s32 %r\d+, %r\d+), -128;", r"\1, -120;"),
    "a copy reads beyond the edge": (TMA, r"(cp\.async\.cg\.\S+ \S+ \S+ 16), %r\d+;", r"\1;"),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", MUTATIONS)
def test_mutations_are_caught(name: str) -> None:
    """A wrong number, a hazard or a deadlock. The ring goes round more than once."""
    options, old, new = MUTATIONS[name]
    kernel, case = compiled(options), case_of(456, options[0])
    changed, count = re.subn(old, new, kernel.ptx, count=1)
    assert count == 1
    with pytest.raises((SimulatorError, AssertionError)):
        check(case, kernel, changed)
