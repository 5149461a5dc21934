"""The one loop finder of assembled code, on listings as nvdisasm prints them without the bits of instructions."""

import pytest

from tilesat.mca.flow import Loop, loops, product_loop
from tilesat.mca.listing import NO_BARRIER, functions
from tilesat.mca.waits import round_trips, serial_loads

NESTED = """
	.section	.text.k,"ax",@progbits
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
.L_x_2:
        /*0010*/                   CS2R R4, SRZ ;
.L_x_0:
        /*0020*/                   LDSM.16.M88.4 R4, [R2] ;
        /*0030*/              @!P0 LDGSTS.E.BYPASS.128 [R11+0x800], [R4.64] ;
        /*0040*/                   HMMA.16816.F32 R4, R4, R8, R4 ;
        /*0050*/                   HMMA.16816.F32 R8, R4, R8, R8 ;
        /*0060*/               @P1 BRA `(.L_x_0) ;
        /*0070*/                   IADD3 R10, R10, 0x10, RZ ;
        /*0080*/              @!P4 BRA `(.L_x_2) ;
        /*0090*/               @P2 BRA `(.L_x_9) ;
        /*00a0*/                   EXIT ;
.L_x_9:
.L_x_3:
        /*00b0*/                   BRA `(.L_x_3);
"""


def listing(*code: str) -> str:
    """Instructions and labels, as `nvdisasm -c` prints them."""
    lines = ['\t.section\t.text.k,"ax",@progbits']
    for each in code:
        lines.append(f"{each}:" if each.startswith(".") else f"        /*{16 * len(lines):04x}*/   {each} ;")
    return "\n".join(lines) + "\n"


def found(text: str) -> list[Loop]:
    return [loop for function in functions(text) for loop in loops(function)]


def test_loops_end_at_their_last_branch_back() -> None:
    (loop,) = found(NESTED)
    assert (loop.address, loop.length, loop.beside) == (0x20, 5, 0)
    assert {each.reads for each in loop.path} == {NO_BARRIER}


def test_product_loop_is_the_innermost_with_all_products() -> None:
    loop = product_loop(found(NESTED))
    assert loop is not None
    assert (loop.address, loop.length, loop.products) == (0x20, 5, 2)
    assert loop.mix["LDGSTS"] == 1


def test_no_products_no_loop() -> None:
    assert product_loop(found(NESTED.replace("HMMA", "HFMA2"))) is None


def test_of_two_inner_loops_the_one_with_most_products_counts() -> None:
    """An outer loop over two inner ones has more products than either, and is not what runs each step."""
    inner = ("HGMMA.64x64x16.F32 R24, gdesc[UR8], R24", "IADD3 R0, R1, R2, R3")
    text = listing(
        ".L_0", "MOV R1, RZ", ".L_1", *inner, *inner, "@P0 BRA `(.L_1)", ".L_2", *inner, "@!P1 BRA `(.L_2)",
        "@P2 BRA `(.L_0)", "EXIT",
    )  # fmt: skip
    assert [loop.products for loop in found(text)] == [2, 1]
    loop = product_loop(found(text))
    assert loop is not None
    assert (loop.length, loop.products) == (5, 2)


def test_code_that_lies_in_a_loop_and_is_not_of_it_does_not_count() -> None:
    """An early exit put into the middle of a loop; a retry behind its end, which goes back into the middle."""
    text = listing(
        ".L_0", "HMMA.16816.F32 R4, R4, R8, R4", "@P0 BRA `(.L_1)", "STG.E desc[UR4][R2.64], R9", "EXIT", ".L_1",
        "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R6], R5", "@!P1 BRA `(.L_3)", ".L_2", "@P2 BRA `(.L_0)", "EXIT",
        ".L_3", "LDL R6, [R1]", "SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [R6], R5", "@!P1 BRA `(.L_3)", "BRA `(.L_2)",
    )  # fmt: skip
    (loop,) = found(text)
    assert (loop.length, len(loop.path), loop.beside) == (5, 5, 4)


CODE = (
    "LDG.E.64 R4, desc[UR4][R2.64]",
    "@P0 LDG.E R6, desc[UR4][R2.64+0x10]",
    "FADD R7, R5, R6",
    "FADD R8, R6, R6",
    "LDG.E R9, desc[UR4][R7.64]",
    "STG.E desc[UR4][R2.64], R9",
    "LDG.E R9, desc[UR4][R7.64]",
    "MOV R9, RZ",
    "FADD R9, R9, R9",
    "LDGSTS.E.BYPASS.128 [R11], desc[UR4][R2.64]",
    "LDGDEPBAR",
    "DEPBAR.LE SB0, 0x0",
    "UTMALDG.2D [UR8], [UR16]",
    "SYNCS.ARRIVE.TRANS64 RZ, [UR7], R2",
    "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7+0x30030], R0",
)


def test_serial_round_trips() -> None:
    """Two loads in flight are one trip; an address that was loaded is a second; a copy and a barrier one each."""
    every = functions(listing(*CODE))[0].instructions
    counts = [round_trips(every[:end]) for end in range(1, len(CODE) + 1)]
    assert counts == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4]


@pytest.mark.parametrize(("pending", "trips"), [(0, 1), (1, 0), (2, 0)])
def test_waiting_for_copies_of_iterations_before_is_no_serial_load(pending: int, trips: int) -> None:
    code = functions(listing(*CODE[9:11], f"DEPBAR.LE SB0, 0x{pending:x}"))[0].instructions
    assert len(serial_loads(code)) == trips
    assert round_trips(code) == 1
