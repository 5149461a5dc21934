"""Branches, barriers, exits, launches: what runs, in what order, and what is refused."""

import numpy as np
import pytest

from ptxsim import (
    DeadlockError,
    GlobalMemory,
    LaunchError,
    OperandError,
    ParseError,
    SimulatorError,
    StepLimitError,
    TrapError,
    UnknownOpcodeError,
    UnsupportedModifierError,
    launch,
)
from tests.runtime.test_memory import kernel


def run(body: str, threads: int = 64, grid: tuple[int, ...] = (1,), hazards: bool = True) -> np.ndarray:
    """Store %r9 of every thread; return [cta, thread]."""
    memory = GlobalMemory()
    ctas = int(np.prod(grid))
    out = memory.alloc(4 * threads * ctas)
    store = f"""mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ctaid.y; mov.u32 %r12, %nctaid.x;
      mad.lo.u32 %r10, %r11, %r12, %r10;
      mad.lo.u32 %r10, %r10, {threads}, %r0; mad.wide.u32 %rd1, %r10, 4, %rd1; st.global.u32 [%rd1], %r9;"""
    launch(kernel(body + store), grid, (threads,), [out, out], memory, hazards=hazards, max_blocks=200_000)
    return memory.get(out, (ctas, threads), np.uint32)


def test_nested_divergence_reconverges() -> None:
    body = """
      mov.u32 %r9, 0; and.b32 %r1, %r0, 3;
      setp.eq.u32 %p0, %r1, 0; @%p0 bra zero; setp.eq.u32 %p1, %r1, 1; @%p1 bra one;
      mov.u32 %r2, 0;
    loop: add.u32 %r9, %r9, %r1; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r0; @%p2 bra loop; bra.uni join;
    zero: mov.u32 %r9, 1000; bra join;
    one:  add.u32 %r9, %r0, 2000;
    join: add.u32 %r9, %r9, 1;"""
    t = np.arange(64)
    expected = np.where(t % 4 == 0, 1000, np.where(t % 4 == 1, t + 2000, t % 4 * np.maximum(t, 1))) + 1
    np.testing.assert_array_equal(run(body)[0], expected)


def test_branch_table() -> None:
    body = """
      and.b32 %r1, %r0, 3; setp.lt.u32 %p0, %r0, 60; mov.u32 %r9, 9;
    table: .branchtargets a0, a1, a2, a1;
      @%p0 brx.idx %r1, table; bra done;
    a0: mov.u32 %r9, 10; bra done;
    a1: mov.u32 %r9, 11; bra done;
    a2: mov.u32 %r9, 12;
    done:"""
    t = np.arange(64)
    np.testing.assert_array_equal(run(body)[0], np.where(t < 60, np.array([10, 11, 12, 11])[t % 4], 9))


def test_a_grid_of_many_ctas_with_different_trip_counts() -> None:
    body = """
      mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r1, %r2, 7, %r1; mov.u32 %r9, 0; mov.u32 %r3, buffer;
      mad.lo.u32 %r4, %r0, 4, %r3; xor.b32 %r5, %r0, 1; mad.lo.u32 %r5, %r5, 4, %r3;
    loop: st.shared.u32 [%r4], %r1; bar.sync 0; ld.shared.u32 %r6, [%r5]; add.u32 %r9, %r9, %r6; bar.sync 0;
      sub.u32 %r1, %r1, 1; setp.gt.s32 %p0, %r1, 0; @%p0 bra loop;"""
    for hazards in (False, True):
        found = run(body, threads=32, grid=(7, 30), hazards=hazards)
        cta = np.arange(210)
        np.testing.assert_array_equal(found, np.repeat(cta * (cta + 1) // 2, 32).reshape(210, 32))


def test_exited_threads_do_not_hold_barriers_or_warps() -> None:
    body = """
      setp.ge.u32 %p0, %r0, 50; @%p0 exit; bar.sync 0; shfl.sync.idx.b32 %r9, %r0, 3, 31, 0xffffffff;
      bar.warp.sync 0xffffffff;
      setp.lt.u32 %p1, %r0, 5; @%p1 ret; bar.sync 1; add.u32 %r9, %r9, 100;"""
    found = run(body)[0]
    t = np.arange(64)
    expected = np.where(t >= 50, 0xFFFFFFFF, np.where(t < 5, 0xFFFFFFFF, t // 32 * 32 + 103))
    np.testing.assert_array_equal(found, expected)


def test_named_barriers_pass_data_from_producer_to_consumer() -> None:
    """Warp 0 fills a buffer twice for warps 1 and 2: full and empty barriers with arrive and sync."""
    body = """
      mov.u32 %r1, buffer; mov.u32 %r9, 0; mov.u32 %r5, 0; shr.u32 %r2, %r0, 5; and.b32 %r3, %r0, 31;
      mad.lo.u32 %r4, %r3, 4, %r1; setp.ne.u32 %p0, %r2, 0; @%p0 bra consumer;
    producer: setp.eq.u32 %p1, %r5, 0; @%p1 bra fill; bar.sync 2, 96;
    fill: mad.lo.u32 %r6, %r5, 1000, %r3; st.shared.u32 [%r4], %r6; bar.arrive 1, 96;
      add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra producer; bra done;
    consumer: bar.sync 1, 96; xor.b32 %r7, %r3, 31; mad.lo.u32 %r7, %r7, 4, %r1; ld.shared.u32 %r8, [%r7];
      add.u32 %r9, %r9, %r8; setp.eq.u32 %p1, %r5, 2; @%p1 bra last; bar.arrive 2, 96;
    last: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3; @%p1 bra consumer;
    done:"""
    t = np.arange(96)
    np.testing.assert_array_equal(run(body, threads=96)[0], np.where(t < 32, 0, 3000 + 3 * (31 - t % 32)))


def test_barrier_reductions() -> None:
    body = """
      setp.lt.u32 %p0, %r0, 40; bar.red.popc.u32 %r1, 0, %p0; barrier.cta.red.popc.aligned.u32 %r2, 3, 64, !%p0;
      bar.red.and.pred %p1, 0, %p0; bar.red.or.pred %p2, 0, !%p0; selp.u32 %r3, 1, 0, %p1; selp.u32 %r4, 2, 0, %p2;
      mad.lo.u32 %r9, %r1, 1000, %r2; mad.lo.u32 %r9, %r9, 10, %r3; add.u32 %r9, %r9, %r4;"""
    assert (run(body) == (40 * 1000 + 24) * 10 + 2).all()


def test_partial_warps_and_three_dimensional_blocks() -> None:
    memory = GlobalMemory()
    out = memory.alloc(4 * 2 * 45)
    body = """mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y;
      mad.lo.u32 %r5, %r2, %r4, %r1;      mad.lo.u32 %r5, %r5, %r3, %r0; mov.u32 %r6, %ctaid.z;
      mad.lo.u32 %r7, %r6, 45, %r5; mad.wide.u32 %rd1, %r7, 4, %rd1;
      shl.b32 %r8, %r1, 8; shl.b32 %r9, %r2, 16; or.b32 %r9, %r9, %r8; or.b32 %r9, %r9, %r0;
      bar.sync 0; st.global.u32 [%rd1], %r9;"""
    report = launch(kernel(body), (1, 1, 2), (5, 3, 3), [out, out], memory)
    found = memory.get(out, (2, 3, 3, 5), np.uint32)
    z, y, x = np.meshgrid(np.arange(3), np.arange(3), np.arange(5), indexing="ij")
    np.testing.assert_array_equal(found, np.stack([z << 16 | y << 8 | x] * 2))
    assert report.instructions["bar.sync"] == 2 * 2


@pytest.mark.parametrize(
    "divergent",
    [
        "@%p0 bra skip; bar.sync 1; bra done; skip: bar.sync 2; done:",
        "@%p0 shfl.sync.idx.b32 %r9, %r0, 0, 31, 0xffffffff;",
    ],
)
def test_deadlocks_are_reported_with_places(divergent: str) -> None:
    with pytest.raises(DeadlockError, match="no thread can go on") as caught:
        run(f"setp.lt.u32 %p0, %r0, 7; mov.u32 %r9, 0;\n{divergent}\nbar.sync 0;")
    assert "bar.sync" in str(caught.value) or "shfl" in str(caught.value)
    assert "thread (0,0,0) of CTA (0,0,0)" in str(caught.value)
    assert caught.value.line is not None


def test_endless_loops_end_with_an_error() -> None:
    with pytest.raises(StepLimitError, match="raise the launch's max_blocks"):
        run("forever: add.u32 %r9, %r0, 1;\nbra forever;")


@pytest.mark.parametrize("opcode", ["trap", "brkpt"])
def test_trap_names_the_thread(opcode: str) -> None:
    with pytest.raises(TrapError, match=rf"thread \(33,0,0\) of CTA \(0,0,0\) executes {opcode}"):
        run(f"setp.eq.u32 %p0, %r0, 33; @%p0 {opcode}; mov.u32 %r9, 0;")


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        ("frobnicate.u32 %r9, %r0;", UnknownOpcodeError, "opcode `frobnicate` is not simulated"),
        ("add.foo.u32 %r9, %r0, 1;", UnsupportedModifierError, "modifier .foo"),
        ("add.rn.u32 %r9, %r0, 1;", UnsupportedModifierError, "modifier .rn"),
        ("ld.global.wild.u32 %r9, [%rd0];", UnsupportedModifierError, "modifier .wild"),
        ("mul.u32 %r9, %r0, %r0;", UnsupportedModifierError, "without one of .lo, .hi, .wide"),
        ("add.u32 %r9, %r0;", OperandError, "takes 3 operands here, not 2"),
        ("add.u64 %rd3, %rd0, %r0;", OperandError, "register `%r0` is .b32"),
        ("mov.u32 %r9, %pm0;", UnsupportedModifierError, "special register %pm0"),
        ("add.u32 %r9, %tid.x, 1;", OperandError, "%tid.x can be read by mov only"),
        ("bar.sync.u32 0;", UnsupportedModifierError, "type .u32 of"),
        ("mov.u32 %r9, nowhere;", OperandError, "neither a register nor a variable"),
        ("bra nowhere;", OperandError, "not a label"),
        ("add.u32 %r99, %r0, 1;", ParseError, "register `%r99` is not declared"),
        ("cp.async.cg.shared.global [%r0], [%rd0], 8;", OperandError, "copies 16 bytes"),
        ("fma.rn.f32 %f0, %f1, %f2;", OperandError, "takes 4 operands"),
        ("cvt.rna.f16.f32 %h0, %f0;", UnsupportedModifierError, "cvt.rna.f16.f32"),
        ("call foo;", OperandError, "`foo` is not a function"),
        ("bar.sync 16;", OperandError, "barriers 0 to 15"),
        ("lop3.b32 %r9, %r0, %r0, %r0, 300;", OperandError, "0 to 255"),
        ("ld.shared.b32 %r9, [%r0;", ParseError, "brackets"),
    ],
)
def test_what_is_not_simulated_is_refused_with_its_line(
    statement: str, error: type[SimulatorError], message: str
) -> None:
    ptx = kernel(f"mov.u32 %r9, 0;\n{statement}")
    line = next(n for n, text in enumerate(ptx.splitlines(), 1) if text == statement)
    memory = GlobalMemory()
    with pytest.raises(error) as caught:
        launch(ptx, (1,), (32,), [memory.alloc(8)] * 2, memory)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"PTX line {line} `")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no .version directive"),
        ("hello", "expected a directive"),
        (".version 8.0\n.target sm_80\n.address_size 32\n", "only .address_size 64"),
        (".version 8.0\n.target sm_80\n.visible .entry k() { ret;", "`}` is missing"),
        (".version 8.0\n.target sm_80\n.visible .entry k() .wrong 3 { ret; }", "expected `{` or a directive"),
        (".version 8.0\n.target sm_80\n.visible .entry k() { .reg .b33 %r; ret; }", "type .b33"),
        (".version 8.0\n.target sm_80\n.visible .entry k() { x: x: ret; }", "defined twice"),
        (".version 8.0\n.target sm_80\n.visible .entry k() { @%p ret; }", "not a declared predicate"),
        (".version 8.0\n.target sm_80\n.shared .b8 x[4] .visible .entry k() { }", "expected a directive"),
    ],
)
def test_malformed_modules_are_located(text: str, message: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        launch(text, (1,), (32,), [], GlobalMemory())
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ([1], {}, "expects 2 arguments (a, b), got 1"),
        ([0.5, 1], {}, "parameter `a` (.u32): 0.5 is a float"),
        ([2**32, 1], {}, "4294967296 does not fit"),
        (["address", 1], {}, "an address needs a 64-bit parameter"),
        ([1, b"12"], {}, "expected 4 bytes"),
        ([1, 1], {"entry": "other"}, "no entry `other`"),
        ([1, 1], {"grid": (0, 1, 1)}, "extent below 1"),
        ([1, 1], {"block": (2048,)}, "1024 is the limit"),
        ([1, 1], {"block": (64,)}, "requires .reqntid (32,)"),
        ([1, 1], {"cluster": (2, 1, 1)}, "cannot be divided into clusters"),
        ([1, 1], {"dynamic_smem": -1}, "negative"),
        ([1, 1], {"dynamic_smem": (163 << 10) + 4}, "166916 bytes of shared memory; sm_80 has 166912"),
    ],
)
def test_launches_are_checked(arguments: list[object], options: dict[str, object], message: str) -> None:
    ptx = ".version 8.0\n.target sm_80\n.visible .entry k(.param .u32 a, .param .f32 b)\n.reqntid 32\n{ ret; }"
    memory = GlobalMemory()
    address = memory.alloc(4)
    values = [address if value == "address" else value for value in arguments]
    settings = {"grid": (1,), "block": (32,), **options}
    with pytest.raises(LaunchError) as caught:
        launch(ptx, settings.pop("grid"), settings.pop("block"), values, memory, **settings)
    assert message in str(caught.value)


def test_scopes_hide_registers_and_directives_are_read_over() -> None:
    ptx = """//
.version 8.0
.target sm_80, debug
.address_size 64
.file 1 "a//b.cu"
.visible .entry k(
  .param .u64 k_param_0   /* the only
                             parameter */
)
.maxntid 32, 1, 1
.minnctapersm 2
.pragma "nounroll";
{
  .reg .b32 %r<3>; .reg .b64 %rd; .reg .pred p;
  .shared .align 4 .u32 first; .shared .u16 second[4][2];
  .loc 1 2 3
  mov.u32 %r1, 5;
  { .reg .b32 %r1; .reg .b32 t; mov.u32 %r1, 7; mov.u32 t, %r1; 
    { .reg .b32 t; mov.u32 t, 100; add.u32 %r1, %r1, t; } mov.u32 %r2, t; }
  add.u32 %r1, %r1, %r2; // 5 + 7
  ld.param.u64 %rd, [k_param_0]; st.global.u32 [%rd], %r1;
  mov.u32 %r1, second+4; mov.u32 %r2, first; sub.u32 %r1, %r1, %r2; st.global.u32 [%rd + 4], %r1;
}
.section .debug_str { .b8 1, 2 }
"""
    memory = GlobalMemory()
    out = memory.alloc(8)
    launch(ptx, (1,), (1,), [out], memory)
    np.testing.assert_array_equal(memory.get(out, (2,), np.uint32), [12, 8])


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("lanes", [32, 1])
def test_an_arrival_counts_and_does_not_wait(lanes: int, hazards: bool) -> None:
    """Warp 0 arrives, whole or one lane of it, which counts as a warp, before warp 1 may go on."""
    arrives = f"""
      mov.u32 %r9, 0; mov.u32 %r1, buffer; shr.u32 %r2, %r0, 5; setp.ne.u32 %p0, %r2, 0; @%p0 bra second;
      st.shared.u32 [%r1], 77; setp.ge.u32 %p1, %r0, {lanes}; bar.warp.sync 0xffffffff; @%p1 bra done;
      bar.arrive 1, 64; mov.u32 %r9, 5; bra done;
    second: bar.sync 1, 64; ld.shared.u32 %r9, [%r1];
    done:"""
    t = np.arange(64)
    np.testing.assert_array_equal(run(arrives, hazards=hazards)[0], np.where(t < lanes, 5, np.where(t < 32, 0, 77)))


@pytest.mark.parametrize("hazards", [False, True])
def test_without_an_arrival_the_others_deadlock(hazards: bool) -> None:
    body = """
      mov.u32 %r9, 0; shr.u32 %r2, %r0, 5; setp.ne.u32 %p0, %r2, 0; @%p0 bra second; bra done;
    second: bar.sync 1, 64;
    done:"""
    with pytest.raises(DeadlockError, match="32 threads wait for barrier 1"):
        run(body, hazards=hazards)
