"""Tuning without a card by assembled code: how often its parts run, what a grid takes, and what the table says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cuda.tile as ct
import numpy as np
import pytest

import tilesat
from ir.tensor_descriptors import instruction_descriptor
from lowering.targets import target
from runtime import ptxas
from runtime.ptxas import Diagnostic, PtxasError, PtxasNotFoundError
from tests.tilesat.example_cases import EXAMPLES
from tilesat import assembled
from tilesat.mca.levels import ONCE, Level, Times, copies, levels
from tilesat.mca.listing import Function, Instruction, functions
from tilesat.mca.timing import MOST, once, timing
from tilesat.tuned import Tuned
from tilesat.tuning import autotune

SM_80 = target("sm_80")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILESAT_CACHE_DIR", str(tmp_path / "kernels"))


def function(*code: str) -> Function:
    """A listing as `nvdisasm -c -gp` prints it; a number before an instruction is its line of PTX."""
    lines = ['\t.section\t.text.k,"ax",@progbits']
    for each in code:
        number, _, rest = each.partition(" ")
        if number.isdigit():
            lines.append(f'\t//## File ".nv_debug_ptx_txt", line {number}')
        text = rest if number.isdigit() else each
        lines.append(f"{text}:" if text.startswith(".") else f"        /*{16 * len(lines):04x}*/   {text} ;")
    (made,) = functions("\n".join(lines) + "\n")
    return made


def of_lines(**loops: tuple[range, float]) -> Any:
    """A judge that knows loops of the source by the lines of PTX that are theirs."""

    def times(code: Any, inner: frozenset[str]) -> Times:
        for name, (lines, count) in loops.items():
            if name not in inner and any(each.line in lines for each in code):
                return Times(count, name)
        return ONCE

    return times


def families(level: Level) -> list[str]:
    return [each.family for each in level.code]


def test_a_line_holds_until_the_next() -> None:
    made = function("7 MOV R1, R2", "FADD R1, R1, R1", "9 EXIT")
    assert [each.line for each in made.instructions] == [7, 7, 9]
    with_bits = (
        '\t.section\t.text.k,"ax",@progbits',
        '\t//## File "k.py", line 3',
        "        /*0000*/   EXIT ;   /* 0x000000000000794d */",
        "                            /* 0x000fea0003800000 */",
    )
    assert functions("\n".join(with_bits))[0].instructions[0].line == 3


NESTED = (
    "1 MOV R1, R2", ".L_0", "5 FADD R3, R3, R3", ".L_1", "10 FFMA R4, R4, R4, R4", "11 FFMA R5, R5, R5, R5",
    "12 @P0 BRA `(.L_1)", "6 FADD R3, R3, R3", "6 @P1 BRA `(.L_0)", "2 STG.E [R6.64], R3", "2 EXIT",
)  # fmt: skip


def test_levels_of_nested_loops() -> None:
    found = levels(function(*NESTED), SM_80, of_lines(inner=(range(10, 13), 60.0), outer=(range(5, 7), 6.0)))
    assert [(families(each), each.times.count, each.repeats) for each in found] == [
        (["MOV", "STG", "EXIT"], 1.0, False),
        (["FADD", "FADD", "BRA"], 6.0, False),
        (["FFMA", "FFMA", "BRA"], 60.0, True),
    ]


def test_a_loop_around_another_is_not_the_same_loop() -> None:
    """What fills a ring before the loop of a tile stands at the lines of that loop, in a loop over tiles."""
    found = levels(function(*NESTED), SM_80, of_lines(steps=(range(5, 13), 60.0)))
    assert [each.times.count for each in found] == [1.0, 1.0, 60.0]


def test_of_two_ways_the_one_that_takes_longer_counts() -> None:
    made = function(
        "1 @P0 BRA `(.L_2)", ".L_0", "5 UTMALDG.2D [UR4], [UR6]", "5 MOV R1, R1", "5 MOV R1, R1", "5 @P1 BRA `(.L_0)",
        "5 EXIT", ".L_2", "7 HMMA.16816.F32 R4, R4, R8, R4", "7 HMMA.16816.F32 R4, R4, R8, R4", "7 @P1 BRA `(.L_2)",
        "2 EXIT",
    )  # fmt: skip
    found = levels(made, SM_80, of_lines(producer=(range(5, 6), 9.0), consumer=(range(7, 8), 9.0)))
    assert [families(each) for each in found] == [["BRA", "EXIT"], ["HMMA", "HMMA", "BRA"]]


@pytest.mark.parametrize("warps", [1, 2, 8])
def test_products_in_tensor_memory_take_their_time(warps: int) -> None:
    """One warp issues a step of 128 x 128 x 64 in five cycles, which keeps the tensor cores busy for 256, however many
    warps compute beside it: its way takes longer than that of those.
    """
    bits = instruction_descriptor(128, 128, "f16", "f16", "f32")
    multiply = "5 UTCHMMA gdesc[UR6], gdesc[UR8], tmem[UR10], tmem[UR18], idesc[UR19], UP0"
    made = function(
        "1 @P2 BRA `(.L_2)", f"1 UMOV UR19, {bits:#x}", ".L_0", *[multiply] * 4, "6 @P0 BRA `(.L_0)", "1 EXIT",
        ".L_2", "10 FFMA R4, R4, R4, R4", "10 FFMA R4, R4, R4, R4", "12 @P0 BRA `(.L_2)", "2 EXIT",
    )  # fmt: skip
    first, loop = levels(made, target("sm_100a"), of_lines(step=(range(5, 7), 10.0), sums=(range(10, 13), 10.0)))
    assert families(loop) == [*["UTCHMMA"] * 4, "BRA"]
    assert loop.cycles(target("sm_100a"), warps) == pytest.approx(2560)
    assert first.times == ONCE


def test_iterations_are_shared_by_loops_of_one() -> None:
    """Whole tiles and those with masks have a loop each: all iterations go to the shorter."""
    made = function(
        ".L_0", "5 FADD R1, R1, R1", "5 @P0 BRA `(.L_0)", ".L_1", "5 FSEL R1, R1, R2, P1", "5 FADD R1, R1, R1",
        "5 @P0 BRA `(.L_1)", "2 EXIT",
    )  # fmt: skip
    found = levels(made, SM_80, of_lines(steps=(range(5, 6), 32.0)))
    assert [(len(each.code), each.times.count) for each in found if each.repeats] == [(2, 32.0), (3, 1.0)]


def test_what_ptxas_unrolls_counts_as_several() -> None:
    code = function(
        ".L_0", "5 FADD R1, R1, R1", "6 FMUL R2, R2, R2", "5 FADD R1, R1, R1", "6 FMUL R2, R2, R2", "7 @P0 BRA `(.L_0)"
    ).instructions
    assert copies(code) == 2
    assert copies(code[:2]) == 1
    assert copies(()) == 1
    level = Level(code, Times(64.0, "steps"), copies(code), repeats=True)
    assert level.cycles(SM_80, 1) == 32 * timing(code, SM_80).of_many(1)


def test_a_loop_is_left_at_its_begin_too() -> None:
    made = function(
        ".L_0", "5 @P0 BRA `(.L_1)", "5 FADD R1, R1, R1", "5 BRA `(.L_0)", ".L_1", "2 STG.E [R6.64], R3", "2 EXIT"
    )
    loop, straight = levels(made, SM_80, of_lines(steps=(range(5, 6), 8.0)))
    assert families(loop) == ["BRA", "FADD", "BRA"]
    assert families(straight) == ["STG", "EXIT"]


def instruction(opcode: str, operands: str = "", writes: int = 7, waits: frozenset[int] = frozenset()) -> Instruction:
    return Instruction(0, "", opcode, operands, "", 1, writes, 7, waits)


def test_code_that_runs_once_waits_for_its_loads() -> None:
    load, add = instruction("LDG.E", writes=0), instruction("FADD", waits=frozenset({0}))
    latency = float(SM_80.latency.global_)
    assert latency <= once((load, add), SM_80, 1) <= latency + 4
    assert once((load,), SM_80, 1) >= latency  # and has not ended before they are there
    assert once((), SM_80, 3) == 0


def test_many_warps_take_what_their_unit_takes() -> None:
    code = (*(instruction("MUFU.EX2") for _ in range(8)), instruction("BRA"))
    made = timing(code, SM_80)
    assert made.of_many(16) == 16 * made.cycles["mufu"]
    assert made.of_many(MOST) == made.with_warps(MOST)


@ct.kernel
def product(a, b, c, m: ct.Constant[int], n: ct.Constant[int], k: ct.Constant[int]):
    made = ct.zeros((m, n), ct.float32)
    for i in range(ct.cdiv(a.shape[1], k)):
        made = ct.mma(ct.load(a, (ct.bid(0), i), (m, k)), ct.load(b, (i, ct.bid(1)), (k, n)), made)
    ct.store(c, (ct.bid(0), ct.bid(1)), ct.astype(made, ct.float16))


def tuned(steps: int, tier: str = "sm_80", configurations: Any = ({"n": 64},), **options: Any) -> Tuned:
    a, b, c = (np.zeros(shape, np.float16) for shape in ((256, 64 * steps), (64 * steps, 256), (256, 256)))
    return autotune(
        product, [{"m": 64, "k": 64, **each} for each in configurations], (a, b, c),
        grid=lambda given: (4, 256 // given["n"]), target=tier, **options,
    )  # fmt: skip


def by_code(found: Tuned) -> list[float]:
    return [each.assembled for each in found.rows if each.assembled is not None]


@pytest.mark.in_turn
def test_the_table_says_what_it_is_by() -> None:
    found = tuned(4, configurations=({"n": 64}, {"n": 128}), measure=1)
    head, names, first, _ = str(found).splitlines()
    assert head.endswith("for sm_80: predicted from assembled code by the target's tables, not measured; searched")
    assert names.split("  ")[-1].strip() == "by code"
    (cycles,) = by_code(found)  # of the best by cost only
    assert first.endswith(f"{cycles:.0f}")
    assert not found.measured
    again = tuned(4, configurations=({"n": 64}, {"n": 128}), measure=1)
    assert (again.found, again.rows, again.how) == ("cached", found.rows, found.how)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tier", ["sm_80", "sm_90a"])
def test_loops_count_as_often_as_they_run(tier: str) -> None:
    """The kernel is compiled for all sizes; how often its loop runs is known of the sizes at hand."""
    short, long = (by_code(tuned(steps, tier))[0] for steps in (8, 64))
    assert 3 < long / short < 8
    again = by_code(tuned(64, tier, ({"n": 64, "persistent": "static"},)))[0]
    assert 0.7 < again / long < 1.5  # its loop over tiles is none of the source's, and runs once for each


@pytest.mark.in_turn
def test_rounds_of_as_many_ctas_as_an_sm_holds() -> None:
    kernel = tilesat.compile(EXAMPLES / "vecadd_view.mlir", "sm_80", lineinfo=True)
    known = assembled.work(kernel)
    one, some, more, much = (
        assembled.cycles(kernel, known, (count, 1, 1), multiprocessors=10) for count in (10, 20, 10 * 64, 10 * 640)
    )
    assert one < some < 2 * one  # two share an SM and hide one another's waits
    assert much == pytest.approx(10 * more, rel=0.3)


def test_memory_is_a_bound() -> None:
    kernel = tilesat.compile(EXAMPLES / "vecadd_view.mlir", "sm_80", lineinfo=True)
    busy = assembled.Work({}, 1e6)
    assert assembled.cycles(kernel, busy, (30, 1, 1), multiprocessors=10) == 3e6


@pytest.mark.in_turn
def test_the_order_is_that_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {64: 300.0, 128: 200.0}
    monkeypatch.setattr(assembled, "of_grid", lambda *given: costs[256 // given[5][1]])
    found = tuned(4, configurations=({"n": 64}, {"n": 128}))
    assert [(row.configuration["n"], row.assembled) for row in found.rows] == [(128, 200.0), (64, 300.0)]
    monkeypatch.setattr(assembled, "of_grid", lambda *given: 1000 - costs[256 // given[5][1]])
    again = tuned(4, configurations=({"n": 64}, {"n": 128}), cache=False)
    assert [row.configuration["n"] for row in again.rows] == [64, 128]


def test_without_ptxas_the_order_is_that_of_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(program: str = "ptxas") -> Path:
        raise PtxasNotFoundError(f"{program} is not installed; get it with pip")

    monkeypatch.setattr(ptxas, "find", find)
    found = tuned(4)
    assert by_code(found) == []
    assert "not from assembled code (ptxas is not installed; get it with pip) and not measured" in str(found)


def test_what_ptxas_refuses_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> Any:
        raise PtxasError("sm_80", [Diagnostic(0, "", "too much of it")])

    monkeypatch.setattr(ptxas, "assemble", refuse)
    with pytest.raises(tilesat.TileError, match=r"no configuration of @product can be compiled, .*too much of it"):
        tuned(4)
