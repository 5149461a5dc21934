"""The loop finder of the benchmarks, on listings as nvdisasm prints them."""

from benchmarks.sass import loops, mma_loop

NESTED = """
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


def test_loops_end_at_their_last_branch_back() -> None:
    assert {loop.label: loop.length for loop in loops(NESTED)} == {".L_x_0": 5, ".L_x_2": 8}


def test_mma_loop_is_the_innermost_with_all_mma() -> None:
    loop = mma_loop(NESTED)
    assert loop is not None
    assert (loop.label, loop.length, loop.tensor_core) == (".L_x_0", 5, 2)
    assert loop.mix["LDGSTS"] == 1


def test_no_mma_no_loop() -> None:
    assert mma_loop(NESTED.replace("HMMA", "HFMA2")) is None
