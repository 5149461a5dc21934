"""`tilesat mca`: control codes, loops and their paths, cycles by unit, the warps of a scheduler in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilesat
from ir.core import TileError
from lowering.targets import SM_80, SM_90A, target
from runtime.ptxas import assemble, disassemble
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.cli import main
from tilesat.mca import units
from tilesat.mca.flow import loops
from tilesat.mca.listing import NO_BARRIER, Instruction, functions
from tilesat.mca.report import figures
from tilesat.mca.timing import steady, timing

EXAMPLES = Path(__file__).parents[2] / "examples"
EXAMPLE = """
	.section	.text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   S2R R152, SR_TID.X ;                          /* 0x0000000000987919 */
                                                                                 /* 0x000e620000002100 */
        /*0010*/                   ISETP.NE.AND P0, PT, R152, RZ, PT ;           /* 0x000000ff9800720c */
                                                                                 /* 0x002fda0003f05270 */
        /*0020*/               @P0 EXIT ;                                        /* 0x000000000000094d */
                                                                                 /* 0x000fea0003800000 */
"""


def word(stall: int = 1, writes: int = NO_BARRIER, waits: int = 0) -> int:
    """The upper half of an instruction with these control codes."""
    return stall << 41 | writes << 46 | NO_BARRIER << 49 | waits << 52


def listing(*code: str | tuple[str, int]) -> str:
    """A disassembly of instructions, with their upper halves where they matter, and labels."""
    lines = ['	.section	.text.k,"ax",@progbits']
    address = 0
    for each in code:
        text, upper = each if isinstance(each, tuple) else (each, word())
        if text.startswith("."):
            lines.append(f"{text}:")
        else:
            lines += [f"        /*{address:04x}*/  {text} ;  /* 0x{0:016x} */", f"      /* 0x{upper:016x} */"]
            address += 16
    return "\n".join(lines) + "\n"


def test_control_codes() -> None:
    (function,) = functions(EXAMPLE)
    first, second, third = function.instructions
    assert (first.opcode, first.stall, first.writes, first.reads, first.waits) == ("S2R", 1, 1, NO_BARRIER, frozenset())
    assert (second.family, second.stall, second.writes, second.waits) == ("ISETP", 13, NO_BARRIER, {1})
    assert str(third) == "@P0 EXIT"


def test_no_code() -> None:
    with pytest.raises(TileError, match="the file holds no code that nvdisasm can show"):
        functions("\t.target\tsm_80\n")


def test_a_wait_out_of_line_counts_once() -> None:
    text = listing(
        "IADD3 R1, R1, R2", ".L_0", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R6], R5", "@!P0 BRA `(.L_2)", ".L_1",
        "FFMA R1, R1, R2, R3", "FFMA R4, R4, R2, R3", "@P1 BRA `(.L_0)", "EXIT",
        ".L_2", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R6], R5", "@!P0 BRA `(.L_2)", "BRA `(.L_1)",
    )  # fmt: skip
    (loop,) = loops(functions(text)[0])
    assert [each.family for each in loop.path] == ["SYNCS", "BRA", "FFMA", "FFMA", "BRA"]
    assert loop.beside == 3
    assert loop.address == 16


def test_the_longer_way_is_the_path_and_the_inner_loop_is_the_loop() -> None:
    text = listing(
        ".L_0", "@P2 BRA `(.L_1)", "FADD R1, R1, R1", "FADD R2, R2, R2", "BRA `(.L_3)", ".L_1", "FMUL R1, R1, R1",
        ".L_3", "@P0 BRA `(.L_0)", ".L_4", "MUFU.EX2 R1, R1", ".L_5", "FADD R3, R3, R3", "@P0 BRA `(.L_5)",
        "@P1 BRA `(.L_4)", "EXIT", ".L_6", "BRA `(.L_6)",
    )  # fmt: skip
    found = loops(functions(text)[0])
    assert [[each.family for each in loop.path] for loop in found] == [
        ["BRA", "FADD", "FADD", "BRA", "BRA"], ["FADD", "BRA"],
    ]  # fmt: skip
    assert [loop.beside for loop in found] == [1, 0]


def test_one_warp_waits_for_what_it_asked() -> None:
    """A load of shared memory sets a barrier that the addition waits for; the stalls are the compiler's."""
    code = (
        ".L_0",
        ("LDS R1, [R2]", word(2, writes=0)),
        ("FADD R3, R1, R1", word(4, waits=1)),
        ("@P0 BRA `(.L_0)", word(5)),
    )
    (loop,) = loops(functions(listing(*code))[0])
    alone = float(SM_80.latency.shared) + 4 + 5 + 2
    found = timing(loop.path, SM_80)
    assert found.alone == alone
    assert found.cycles == {"issue": 3.0, "load_store": 4.0, "fma_f32": 1.0 if SM_80.throughput.fma_f32 == 128 else 2.0}
    assert found.limit(1) == "latency"
    assert found.with_warps(1) == alone
    assert found.with_warps(16) == pytest.approx(16 * found.cycles["load_store"], rel=0.05)
    assert found.limit(16) == "load_store"


def test_products_of_a_warpgroup_run_on_until_they_are_waited_for() -> None:
    group = "HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0"
    wait = "WARPGROUP.DEPBAR.LE gsb0, 0x{}"
    each = units.cycles("HGMMA.64x64x16.F32", SM_90A)
    assert each == 2 * 64 * 64 * 16 / SM_90A.throughput.tensor["f16"]
    times = {}
    for pending in (0, 1):
        (loop,) = loops(functions(listing(".L_0", group, wait.format(pending), "@P0 BRA `(.L_0)"))[0])
        times[pending] = timing(loop.path, SM_90A).alone
    assert each <= times[1] < times[0]
    assert times[0] > each + float(SM_90A.latency.mma)


def path_of(*code: str | tuple[str, int]) -> tuple[Instruction, ...]:
    """An iteration of a loop of these instructions."""
    (loop,) = loops(functions(listing(".L_0", *code, "@P0 BRA `(.L_0)"))[0])
    return loop.path


PHASES = (*(("MUFU.EX2 R1, R1", word(2)),) * 16, *(("FADD R2, R2, R2", word(4)),) * 40)
"""A warp computes exponentials, whose unit takes one every 8 cycles, then sums, each of which waits for the last."""


def test_warps_share_units_and_issue_slots() -> None:
    path = path_of(*PHASES)
    found = timing(path, SM_90A)
    assert found.cycles["mufu"] == 16 * 8
    assert found.alone > found.cycles["mufu"] + 39 * 4
    for warps in (2, 4, 8):
        shared = found.with_warps(warps)
        assert max(found.alone, warps * max(found.cycles.values())) <= shared * (1 + 1e-9)
        assert shared <= warps * found.alone
    assert found.limit(1) == "latency"
    assert found.limit(8) == "mufu"
    assert sorted({each.at for each in steady(path, SM_90A, 2, 4)}) == [e.at for e in steady(path, SM_90A, 2, 4)]


@pytest.mark.parametrize("warps", [1, 2, 4])
def test_warps_take_turns_at_named_barriers(warps: int) -> None:
    """What lies between is one warp's alone: the next one's turn begins when it has heard of the end of this one."""
    take, leave = ("BAR.SYNC.DEFER_BLOCKING R4, 0x100", word(1)), ("BAR.ARV R2, 0x100", word(1))
    path = path_of(take, *(("FADD R2, R2, R2", word(4)),) * 50, leave, ("FMUL R3, R3, R3", word(5)))
    turn = 1 + 50 * 4 + float(SM_90A.latency.shared)
    found = timing(path, SM_90A)
    assert found.with_warps(warps) == pytest.approx(warps * turn, rel=0.02)
    rounds = [each for each in steady(path, SM_90A, 3, warps) if each.instruction.opcode.startswith("BAR.SYNC")]
    order = [each.warp for each in rounds]
    assert order == [(order[0] + place) % warps for place in range(len(order))]


def test_a_meeting_of_a_warpgroup_is_no_turn() -> None:
    """A barrier with a number of its own: the warps of a warpgroup are on schedulers of their own, and in step."""
    path = path_of(
        ("BAR.SYNC.DEFER_BLOCKING 0x1, 0x80", word(1)), ("BAR.ARV 0x2, 0x100", word(1)), ("FADD R2, R2, R2", word(4))
    )
    assert timing(path, SM_90A).with_warps(2) < 2 * timing(path, SM_90A).alone


@pytest.mark.parametrize(
    ("opcode", "shape"),
    [
        ("HMMA.16816.F32.BF16", (16, 8, 16)), ("QMMA.SF.16832.F32.E4M3.E4M3.E8", (16, 8, 32)), ("DMMA.884", (8, 8, 4)),
        ("QGMMA.64x128x32.F32.E4M3.E4M3", (64, 128, 32)), ("HGMMA.64x8x8.F32.TF32", (64, 8, 8)), ("FFMA", None),
        ("IMMA.16832.S8.S8.SAT", (16, 8, 32)), ("HFMA2.MMA", None),
    ],
)  # fmt: skip
def test_products(opcode: str, shape: tuple[int, int, int] | None) -> None:
    assert units.product(opcode) == shape


@pytest.mark.sampled(2)
@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
@pytest.mark.parametrize("name", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_every_opcode_of_an_example_has_a_unit(name: str) -> None:
    kernel = tilesat.compile(EXAMPLES / "flash_attention.mlir", name)
    text = disassemble(assemble(kernel.ptx, name), encodings=True)
    assert not {each.family for f in functions(text) for each in f.instructions if not units.unit(each.opcode)}
    (function,) = figures(text, target(name), warps=2)
    assert function.instructions == sum(len(each.instructions) for each in functions(text))
    longest = max(function.loops, key=lambda loop: loop.instructions)
    assert longest.predicted >= longest.alone >= longest.instructions
    # of products in tensor memory no opcode names the shape, and an agent of their own begins them
    assert longest.products or any(loop.counts.get("tensor memory") for loop in function.loops)


@pytest.mark.skipif(not has_ptxas(), reason="ptxas is not installed")
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ptx, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
    kernel = tilesat.compile(EXAMPLES / "gemm.mlir", "sm_90a")
    ptx.write_text(kernel.ptx)
    cubin.write_bytes(assemble(kernel.ptx, "sm_90a").binary)
    assert main(["mca", str(ptx)]) == 0
    shown = capsys.readouterr().out
    assert "predicted by the tables of sm_90a" in shown
    assert "products: 8 HGMMA.64x128x16.F32" in shown
    assert main(["mca", str(cubin)]) == 0
    assert capsys.readouterr().out == shown
    assert main(["mca", str(cubin), "--json", "--warps", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "sm_90a"
    loop = max(found["functions"][0]["loops"], key=lambda each: each["cycles"].get("tensor", 0))
    assert (loop["limit"], loop["warps"]) == ("tensor", 2)
    assert loop["predicted"] == 2 * loop["cycles"]["tensor"]


def test_what_is_not_code_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "k.txt"
    text.write_text("hello")
    assert main(["mca", str(text)]) == 1
    assert "cannot read the file: expected a cubin, or PTX with a .target" in capsys.readouterr().err
    text.write_text(".version 8.0\n.target sm_10\n")
    assert main(["mca", str(text), "--target", "sm_1"]) == 1
    assert "sm_1" in capsys.readouterr().err
    assert main(["mca", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
