"""`tilesat mca`: control codes, loops and their paths, cycles by unit, the warps of a scheduler in time."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import tilesat
from ir.core import TileError
from ir.tensor_descriptors import instruction_descriptor, scaled_descriptor
from lowering.targets import SM_80, SM_90A, SM_100A, target
from runtime.ptxas import assemble, disassemble
from tests.tilesat.test_tileiras import has_ptxas
from tilesat.cli import main
from tilesat.mca import units
from tilesat.mca.descriptors import described
from tilesat.mca.flow import loops
from tilesat.mca.listing import NO_BARRIER, Instruction, functions
from tilesat.mca.report import figures, lines
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
    assert found.waits == {"LDS": float(SM_80.latency.shared) - 2}
    assert found.cycles == {"issue": 3.0, "load_store": 4.0, "shared": 4.0, "fma_f32": 2.0}
    assert found.limit(1) == "latency"
    assert found.with_warps(1) == alone
    assert found.with_warps(16) == pytest.approx(16 * found.cycles["load_store"], rel=0.05)
    assert found.limit(16) == "load_store"


def test_products_of_a_warpgroup_run_on_until_they_are_waited_for() -> None:
    group = "HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0"
    wait = "WARPGROUP.DEPBAR.LE gsb0, 0x{}"
    each = units.cycles(instruction("HGMMA.64x64x16.F32 R24, gdesc[UR8], R24"), SM_90A)
    assert each == 2 * 64 * 64 * 16 / SM_90A.throughput.tensor["f16"]
    times = {}
    for pending in (0, 1):
        (loop,) = loops(functions(listing(".L_0", group, wait.format(pending), "@P0 BRA `(.L_0)"))[0])
        times[pending] = timing(loop.path, SM_90A).alone
    assert each <= times[1] < times[0]
    assert times[0] > each + float(SM_90A.latency.mma)


def instruction(text: str, descriptor: int | None = None) -> Instruction:
    """An instruction by itself."""
    return replace(functions(listing(text))[0].instructions[0], descriptor=descriptor)


def path_of(*code: str | tuple[str, int]) -> tuple[Instruction, ...]:
    """An iteration of a loop of these instructions."""
    (loop,) = loops(functions(listing(".L_0", *code, "@P0 BRA `(.L_0)"))[0])
    return loop.path


DENSE = instruction_descriptor(128, 128, "f16", "f16", "f32")
TENSOR = "{} gdesc[UR6], gdesc[UR8], tmem[UR10], tmem[UR18], idesc[UR19], UP0"


@pytest.mark.parametrize(
    ("opcode", "bits", "shape", "cycles"),
    [
        ("UTCHMMA", DENSE, (128, 128, 16), 64),
        ("UTCHMMA", instruction_descriptor(128, 256, "f16", "f16", "f32"), (128, 256, 16), 128),
        ("UTCHMMA", instruction_descriptor(128, 128, "tf32", "tf32", "f32"), (128, 128, 8), 64),
        ("UTCHMMA.2CTA", instruction_descriptor(256, 128, "f16", "f16", "f32"), (256, 128, 16), 64),
        ("UTCHMMA", instruction_descriptor(64, 256, "f16", "f16", "f32"), (64, 256, 16), 128),  # half of the lanes
        ("UTCHMMA", instruction_descriptor(128, 32, "f16", "f16", "f32"), (128, 32, 16), 40),  # 160 rows of 32 bytes
        ("UTCQMMA", instruction_descriptor(128, 128, "e4m3", "e4m3", "f32"), (128, 128, 32), 64),
        ("UTCIMMA", instruction_descriptor(128, 128, "s8", "s8", "s32"), (128, 128, 32), 64),
        ("UTCOMMA.4X", scaled_descriptor(128, 128, "e2m1", "e2m1", "ue4m3", (0, 0)), (128, 128, 64), 64),
        ("UTCHMMA", DENSE | units.SPARSE, None, 0),
        ("UTCHMMA", None, None, 0),
    ],
)  # fmt: skip
def test_products_in_tensor_memory(
    opcode: str, bits: int | None, shape: tuple[int, int, int] | None, cycles: float
) -> None:
    """Their time is that of all tensor cores of an SM, or of what they read of its shared memory."""
    text = TENSOR.format(opcode)
    each = instruction(text.replace(", UP0", ", tmem[UR12], UP0") if "4X" in opcode else text, bits)
    assert units.shape(each) == shape
    assert units.cycles(each, SM_100A) == cycles


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (["UMOV UR18, 0x0", f"UMOV UR19, {DENSE:#x}"], DENSE),
        ([f"MOV R4, {DENSE:#x}", "FADD R5, R5, R5", "R2UR UR19, R4"], DENSE),
        (["HFMA2 R4, -RZ, RZ, 0, 5.9604644775390625e-08", "R2UR UR19, R4"], 1),
        ([f"UMOV UR19, {DENSE:#x}", "UIADD3.64 UR18, UPT, UPT, UR4, 0x2, URZ"], None),
        ([f"UMOV UR19, {DENSE:#x}", "@!UP6 UMOV UR19, 0x8100010"], None),  # either
        ([f"UMOV UR19, {DENSE:#x}", "UISETP.NE.AND UP0, UPT, UR19, URZ, UPT", "LDCU UR20, c[0x0][0x3b4]"], DENSE),
        (["LDCU UR19, c[0x0][0x3b4]"], None),
        (["UIADD3 UR18, UPT, UPT, UR4, 0x2, URZ"], None),
    ],
)  # fmt: skip
def test_descriptors_are_followed_to_numbers(before: list[str], found: int | None) -> None:
    (function,) = functions(listing(*before, ".L_0", TENSOR.format("UTCHMMA"), "@P0 BRA `(.L_0)", "EXIT"))
    (each,) = (each for each in described(function).instructions if each.family == "UTCHMMA")
    assert each.descriptor == found


def test_a_descriptor_that_the_loop_changes_is_not_known() -> None:
    code = [f"UMOV UR19, {DENSE:#x}", ".L_0", TENSOR.format("UTCHMMA"), "UMOV UR19, 0x1", "@P0 BRA `(.L_0)", "EXIT"]
    (loop,) = loops(functions(listing(*code))[0])
    assert [each.descriptor for each in loop.path if each.family == "UTCHMMA"] == [None]
    assert timing(loop.path, SM_100A).cycles == {"issue": 3.0}


def test_one_warp_begins_products_in_tensor_memory() -> None:
    """They run on by themselves, an iteration ahead at most; how many warps compute makes no difference to an agent."""
    code = [f"UMOV UR19, {DENSE:#x}", ".L_0", *[TENSOR.format("UTCHMMA")] * 4, "UTCBAR [UR4], URZ", "@P0 BRA `(.L_0)"]
    (loop,) = loops(functions(listing(*code))[0])
    found = timing(loop.path, SM_100A)
    assert found.cycles == {"issue": 6.0, "tensor": 256.0, "shared": 256.0}
    assert found.alone == found.with_warps(2) == found.of_many(8) == 256
    assert found.waits == {"tensor": 256 - 6 - 2}
    assert (found.agent, found.limit(1), found.limit(2)) == (True, "tensor", "tensor")


def test_threads_that_compute_begin_a_product_once() -> None:
    """Other warps pass over it: of two the tensor cores are busy for one product, not two."""
    code = [f"UMOV UR19, {DENSE:#x}", ".L_0", "FADD R1, R1, R1", TENSOR.format("UTCHMMA"), "FADD R2, R2, R2",
            "@P0 BRA `(.L_0)"]  # fmt: skip
    (loop,) = loops(functions(listing(*code))[0])
    found = timing(loop.path, SM_100A)
    assert found.of_all(2) == {"issue": 7.0, "tensor": 64.0, "shared": 64.0, "fma_f32": 4.0}
    assert found.with_warps(2) == pytest.approx(64, rel=0.05)
    issued = [each.warp for each in steady(loop.path, SM_100A, 3, 2) if each.instruction.family == "UTCHMMA"]
    assert set(issued) == {0}


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("LDTM.x32 R36, tmem[UR5]", 32), ("LDTM R36, tmem[UR5]", 1), ("LDTM.16dp256bit.x4 R4, tmem[UR5]", 16),
        ("LDTM.16dp64bit.x2 R4, tmem[UR5]", 2), ("LDTM.16dp128bit.x2 R4, tmem[UR5]", 4),
        ("STTM.x16 tmem[UR5+0x80], R20", 16),
    ],
)  # fmt: skip
def test_registers_from_and_to_tensor_memory(text: str, cycles: float) -> None:
    """Each warp has its lanes: a register of all its threads in a cycle."""
    assert units.taken(instruction(text), SM_100A) == {"tensor memory": cycles}


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("LDSM.16.M88.4 R4, [R2]", 16), ("LDSM.16.MT88.2 R4, [R2]", 8), ("LDS.128 R4, [R2]", 16), ("LDS R4, [R2]", 4),
        ("STS.64 [R2], R4", 8), ("LDGSTS.E.BYPASS.128 [R2], [R4.64]", 16), ("LDG.E.128 R4, [R2.64]", 0),
    ],
)  # fmt: skip
def test_shared_memory_has_a_bandwidth(text: str, bytes_: int) -> None:
    """128 bytes a cycle of an SM, whose four quarters do the same: a cycle for a byte of each of a warp's threads."""
    assert units.taken(instruction(text), SM_80).get("shared", 0) == bytes_


@pytest.mark.parametrize(("accesses", "stalls"), [(6, 0), (9, 3)])
def test_accesses_to_shared_memory_queue(accesses: int, stalls: int) -> None:
    """Each takes 16 cycles, and four may wait to be begun: more keep the warp."""
    load = ("LDSM.16.M88.4 R4, [R2]", word(4))
    first = steady(path_of(*[load] * accesses, *[("FADD R2, R2, R2", word(4))] * 60), SM_80, 1)
    loads = [each for each in first if each.instruction.family == "LDSM"]
    assert [each.at for each in loads[:5]] == [0, 4, 8, 12, 16]
    gaps = [after.begins - each.begins for each, after in pairwise(loads)]
    assert gaps == [16] * (accesses - 1)
    assert sum(after.at - each.at > 4 for each, after in pairwise(loads)) == stalls


def test_what_never_runs_is_no_access() -> None:
    """Loads of [RZ] stand before fences in the loop of an agent of one warp."""
    code = ["@!PT LDS RZ, [RZ]", "UTMALDG.3D [UR8], [UR4]"]
    found = timing(path_of(*code), SM_90A)
    assert found.agent
    assert found.cycles == {"issue": 3.0}


def test_products_of_warps_reach_a_share_of_the_rate() -> None:
    """On tiers where others are faster; a quarter of tcgen05's on sm_100a, all there is on sm_80."""
    product = instruction("HMMA.16816.F32 R4, R8, R12, R4")
    flops = 2 * 16 * 8 * 16
    assert units.cycles(product, SM_80) == flops / (2048 / 4)
    assert units.cycles(product, SM_100A) == flops / (8192 / 4 / 4)
    assert units.cycles(product, SM_90A) == pytest.approx(flops / (4096 * 0.62 / 4))


def kernel(exponentials: int) -> str:
    """A warp that brings tiles, one that begins products, others that compute, without and with masks."""
    computing = [*["MUFU.EX2 R1, R1"] * exponentials, "LDTM.x32 R36, tmem[UR5]"]
    return listing(
        "ISETP.NE.AND P0, PT, R1, 0x80, PT", "@P0 BRA `(.L_1)", ".L_0", "UTMALDG.3D [UR8], [UR4]", "@P1 BRA `(.L_0)",
        ".L_1", "ISETP.NE.AND P0, PT, R1, 0xa0, PT", "@P0 BRA `(.L_3)", f"UMOV UR19, {DENSE:#x}", ".L_2",
        *[TENSOR.format("UTCHMMA")] * 4, "@P1 BRA `(.L_2)", "EXIT",
        ".L_3", *computing, "@P1 BRA `(.L_3)", ".L_4", *computing, "FSEL R1, R1, R2, P2", "@P1 BRA `(.L_4)", "EXIT",
    )  # fmt: skip


@pytest.mark.parametrize(("exponentials", "warps", "limit"), [(8, 1, "tensor"), (48, 1, "mufu"), (24, 2, "mufu")])
def test_agents_share_an_sm(exponentials: int, warps: int, limit: str) -> None:
    """An iteration of each takes as long as the busiest unit of all; the loop with masks is not the steady one."""
    (function,) = figures(kernel(exponentials), SM_100A, warps)
    found = function.agents
    assert found is not None
    copies, products, computing, masked = (loop.address for loop in function.loops)
    assert [address for address, _ in found.agents] == [copies, products, computing] != masked
    assert found.cycles["tensor"] == 256
    assert found.cycles["mufu"] == 8 * exponentials * warps
    assert found.limit == limit
    assert max(found.cycles.values()) <= found.predicted < 1.2 * max(found.cycles.values())


def test_agents_where_none_of_the_units_is_busy() -> None:
    """One loop waits for its own results."""
    slow = listing(
        "@P0 BRA `(.L_1)", ".L_0", "UTMALDG.3D [UR8], [UR4]", "@P1 BRA `(.L_0)", "EXIT",
        ".L_1", *(("FADD R2, R2, R2", word(4)),) * 50, "@P1 BRA `(.L_1)", "EXIT",
    )  # fmt: skip
    (function,) = figures(slow, SM_90A)
    assert function.agents is not None
    assert function.agents.limit == f"the loop at 0x{function.loops[1].address:x}"
    assert "agents together: 203 cycles per iteration of each, limited by the loop at" in "\n".join(
        lines([function], SM_90A)
    )


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


@pytest.mark.sampled(8)
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
    assert any(loop.products for loop in function.loops)
    assert "not known" not in str(function)
    tensor = sum(loop.cycles.get("tensor", 0) for loop in function.loops)
    assert tensor > 0


@pytest.mark.in_turn
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
