"""mbarrier: counts, phases, tokens, transactions; waits that block; pipelines of warps with different roles."""

import numpy as np
import pytest

from ptxsim import DeadlockError, GlobalMemory, HazardError, SimulatorError, TensorMap, launch
from tests.runtime.async_harness import DUMP, INIT, MAP, kernel, wait

OUT = ".param .u64 out"
STORE = """ld.param.u64 %rd20, [out]; mul.wide.u32 %rd21, %tid, 4; add.u64 %rd20, %rd20, %rd21;
  st.global.b32 [%rd20], {value};"""


def values(body: str, threads: int = 64, value: str = "%r0", hazards: bool = True, grid: int = 1) -> np.ndarray:
    """What every thread of the last CTA leaves in a register."""
    memory = GlobalMemory()
    out = memory.alloc(4 * threads)
    ptx = kernel(body + STORE.format(value=value), [OUT])
    launch(ptx, (grid,), (threads,), [out], memory, hazards=hazards)
    return memory.get(out, (threads,), np.int32)


COUNT = """mbarrier.pending_count.b64 {to}, {token};"""


@pytest.mark.parametrize("hazards", [False, True])
def test_tokens_count_down_in_lane_order(hazards: bool) -> None:
    body = INIT.format(count=64) + "mbarrier.arrive.shared::cta.b64 %rd0, [%bars]; "
    found = values(body + COUNT.format(to="%r0", token="%rd0"), hazards=hazards)
    np.testing.assert_array_equal(found, 64 - np.arange(64))


def test_counts_and_several_phases_in_one_instruction() -> None:
    body = INIT.format(count=5) + "mbarrier.arrive.shared::cta.b64 %rd0, [%bars], 5; "
    found = values(body + COUNT.format(to="%r0", token="%rd0"), threads=32)
    np.testing.assert_array_equal(found, 5)
    phase = "shr.u64 %rd1, %rd0, 61; and.b64 %rd1, %rd1, 1; cvt.u32.u64 %r0, %rd1;"
    np.testing.assert_array_equal(values(body + phase, threads=32), np.arange(32) % 2)


def test_parity_and_token_waits_alternate() -> None:
    """Three rounds: each thread arrives, waits by token and by parity, and counts."""
    body = INIT.format(count=64) + "mov.u32 %r0, 0; mov.u32 %r1, 0;\nROUND:"
    body += """mbarrier.arrive.release.cta.shared::cta.b64 %rd0, [%bars];
      TOKEN: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p0, [%bars], %rd0; @!%p0 bra TOKEN;
      PARITY: mbarrier.try_wait.parity.shared.b64 %p0, [%bars], %r1, 1000; @!%p0 bra PARITY;
      add.u32 %r0, %r0, 1; xor.b32 %r1, %r1, 1; setp.lt.u32 %p1, %r0, 3; @%p1 bra ROUND;"""
    np.testing.assert_array_equal(values(body), 3)


def test_a_fresh_barrier_passes_parity_one_only() -> None:
    body = (
        INIT.format(count=1)
        + """mbarrier.try_wait.parity.shared.b64 %p0, [%bars], 1; selp.u32 %r0, 1, 0, %p0;
      mbarrier.test_wait.parity.shared.b64 %p1, [%bars], 0; selp.u32 %r1, 2, 0, %p1; or.b32 %r0, %r0, %r1;"""
    )
    np.testing.assert_array_equal(values(body, hazards=False), 1)


def test_a_failed_look_is_no_deadlock_while_there_is_other_work() -> None:
    """Every thread looks once, and only then arrives: the look must come back false."""
    body = (
        INIT.format(count=64)
        + """mbarrier.try_wait.parity.shared.b64 %p0, [%bars], 0; selp.u32 %r0, 1, 0, %p0;
      mbarrier.arrive.shared.b64 _, [%bars];"""
        + wait()
    )
    np.testing.assert_array_equal(values(body), 0)


def test_transactions_hold_the_phase() -> None:
    body = (
        INIT.format(count=1)
        + """@%leader mbarrier.arrive.expect_tx.shared.b64 _, [%bars], 100;
      bar.sync 0; mbarrier.test_wait.parity.shared.b64 %p0, [%bars], 0; selp.u32 %r0, 1, 0, %p0; bar.sync 0;
      @%leader mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bars], 28;
      @%leader mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%bars], 64; bar.sync 0;
      mbarrier.test_wait.parity.shared.b64 %p0, [%bars], 0; selp.u32 %r1, 2, 0, %p0; or.b32 %r0, %r0, %r1; bar.sync 0;
      @%leader mbarrier.complete_tx.shared::cta.b64 [%bars], 64; bar.sync 0;
      mbarrier.test_wait.parity.shared.b64 %p0, [%bars], 0; selp.u32 %r1, 4, 0, %p0; or.b32 %r0, %r0, %r1;"""
    )
    np.testing.assert_array_equal(values(body, hazards=False), 4)


@pytest.mark.parametrize("instruction", ["try_wait.parity", "test_wait.parity"])
def test_the_first_answer_of_each_wait_is_false(instruction: str) -> None:
    """With hazards, and of a complete phase too; the second waits, so one that hangs is a deadlock as before."""
    look = f"mbarrier.{instruction}.shared.b64 %p0, [%bars], {{}}; selp.u32 %r1, {{}}, 0, %p0; or.b32 %r0, %r0, %r1;"
    body = INIT.format(count=1) + "mov.u32 %r0, 0;" + look.format(1, 1) + look.format(1, 2)
    loop = f"mov.u32 %r2, 0; L: mbarrier.{instruction}.shared.b64 %p0, [%bars], {{parity}}; add.u32 %r2, %r2, 1;"
    loop += "@!%p0 bra L; mad.lo.u32 %r0, %r2, 4, %r0;"
    np.testing.assert_array_equal(values(body + loop.format(parity=1)), 8)
    np.testing.assert_array_equal(values(body + loop.format(parity=1), hazards=False), 7)
    with pytest.raises(DeadlockError, match="64 threads wait for phase parity 0 of the mbarrier at shared address"):
        values(body + loop.format(parity=0))


def test_looking_at_two_mbarriers_in_turn_ends() -> None:
    """One instruction tests one object and then the other: the first result is not false forever."""
    body = (
        INIT.format(count=1)
        + """mov.u32 %r1, 1; mov.u32 %r0, 0;
      @%leader mbarrier.init.shared::cta.b64 [%bars+8], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
      L: xor.b32 %r1, %r1, 1; mad.lo.u32 %r2, %r1, 8, %bars;
      mbarrier.test_wait.parity.shared.b64 %p0, [%r2], 1; add.u32 %r0, %r0, 1; @!%p0 bra L;"""
    )
    np.testing.assert_array_equal(values(body), 2)


@pytest.mark.parametrize("which", ["FULL", "EMPTY"])
def test_a_wait_without_its_loop_is_seen(which: str) -> None:
    body = PIPELINE.format(consumers=128, release="", bytes=512)
    once = body.replace(f"@!%p1 bra {which};", "")
    assert once != body
    assert run_pipeline(once, hazards=False) < 1e-5  # nothing to see without the tracking
    with pytest.raises(HazardError):
        run_pipeline(once, hazards=True)


def test_transactions_may_complete_before_they_are_expected() -> None:
    body = (
        INIT.format(count=1)
        + """@%leader mbarrier.complete_tx.shared::cta.b64 [%bars], 48; bar.sync 0;
      @%leader mbarrier.arrive.expect_tx.shared.b64 _, [%bars], 48; mov.u32 %r0, 7;"""
        + wait()
    )
    np.testing.assert_array_equal(values(body), 7)


def test_dropped_threads_are_not_expected_again() -> None:
    """64 arrive once, 32 of them for the last time; two more phases need only the other 32."""
    body = (
        INIT.format(count=64)
        + """setp.lt.u32 %p0, %tid, 32; mov.u32 %r0, 0;
      @%p0 mbarrier.arrive_drop.shared::cta.b64 %rd0, [%bars]; @!%p0 mbarrier.arrive.shared::cta.b64 %rd0, [%bars];"""
    )
    body += wait() + "@!%p0 mbarrier.arrive.shared::cta.b64 %rd0, [%bars];" + wait(parity=1, number=1)
    body += "@!%p0 mbarrier.arrive.shared::cta.b64 %rd0, [%bars];" + wait(number=2) + "mov.u32 %r0, 3;"
    np.testing.assert_array_equal(values(body), 3)


def test_no_complete_leaves_the_phase_open() -> None:
    body = (
        INIT.format(count=65)
        + """mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd0, [%bars], 1;
      mbarrier.pending_count.b64 %r0, %rd0;"""
    )
    np.testing.assert_array_equal(values(body), 65 - np.arange(64))
    with pytest.raises(HazardError, match=r"phase this \.noComplete arrival would complete"):
        values(body.replace("64 %rd0, [%bars], 1;", "64 %rd0, [%bars], 2;"))


def test_generic_addresses_and_the_cluster_window_name_the_same_object() -> None:
    body = (
        INIT.format(count=3)
        + """cvt.u64.u32 %rd0, %bars; cvta.shared.u64 %rd0, %rd0;
      @%leader mbarrier.arrive.b64 %rd1, [%rd0]; @%leader mbarrier.arrive.shared::cta.b64 _, [%bars];
      mapa.shared::cluster.u32 %r1, %bars, 0;
      @%leader mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1]; mov.u32 %r0, 9;"""
    )
    np.testing.assert_array_equal(values(body + wait()), 9)


COPY_ASYNC = """ld.param.u64 %rd2, [data]; mul.wide.u32 %rd3, %tid, 16; add.u64 %rd2, %rd2, %rd3;
  shl.b32 %r2, %tid, 4; add.u32 %r2, %r2, %tile; cp.async.cg.shared.global [%r2], [%rd2], 16;
  cp.async.mbarrier.arrive{noinc}.shared.b64 [%bars]; {arrive}"""


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize(("noinc", "arrive", "count"), [
    (".noinc", "", 64), ("", "mbarrier.arrive.shared.b64 _, [%bars];", 64), (".noinc",
     "mbarrier.arrive.shared.b64 _, [%bars];", 128),
])  # fmt: skip
def test_cp_async_arrives_when_it_is_complete(noinc: str, arrive: str, count: int, hazards: bool) -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 1 << 32, (64, 4), dtype=np.uint32)
    memory = GlobalMemory()
    source, out = memory.put(data), memory.alloc(1024)
    body = INIT.format(count=count) + COPY_ASYNC.format(noinc=noinc, arrive=arrive) + wait()
    body += "ld.param.u64 %rd20, [out]; mov.u32 %r50, 1024; mov.u32 %r51, %tile;"
    # every thread reads what its neighbour copied, so that only the mbarrier orders them
    body += DUMP.replace("shl.b32 %r53, %tid, 4;", "xor.b32 %r53, %tid, 1; shl.b32 %r53, %r53, 4;")
    launch(kernel(body, [".param .u64 data", OUT]), (1,), (64,), [source, out], memory, hazards=hazards)
    np.testing.assert_array_equal(memory.get(out, (64, 4), np.uint32), data)


PIPELINE = """
  @%leader mbarrier.init.shared::cta.b64 [%bars], 1; @%leader mbarrier.init.shared::cta.b64 [%bars+8], 1;
  @%leader mbarrier.init.shared::cta.b64 [%bars+16], {consumers};
      @%leader mbarrier.init.shared::cta.b64 [%bars+24], {consumers};
  fence.mbarrier_init.release.cluster; bar.sync 0;
  ld.param.u32 %r30, [tiles]; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;
  setp.ge.u32 %p0, %tid, 128; @%p0 bra PRODUCER;
  setmaxnreg.inc.sync.aligned.u32 232;
  mov.f32 %f0, 0f00000000;
CONSUME:
  shl.b32 %r4, %r2, 3; add.u32 %r5, %bars, %r4; shl.b32 %r6, %r2, 13; add.u32 %r6, %r6, %tile;
FULL: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5], %r3; @!%p1 bra FULL;
  shl.b32 %r7, %tid, 2; add.u32 %r7, %r7, %r6; ld.shared.f32 %f1, [%r7]; add.f32 %f0, %f0, %f1;
  {release} mbarrier.arrive.shared::cta.b64 _, [%r5+16];
  add.u32 %r1, %r1, 1; xor.b32 %r2, %r2, 1; setp.eq.u32 %p2, %r2, 0; @%p2 xor.b32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r1, %r30; @%p3 bra CONSUME;
  bar.sync 1, 128;
  ld.param.u64 %rd20, [out]; mul.wide.u32 %rd21, %tid, 4; add.u64 %rd20, %rd20, %rd21; st.global.f32 [%rd20], %f0;
  bra DONE;
PRODUCER:
  setmaxnreg.dec.sync.aligned.u32 40;
  setp.ne.u32 %p4, %tid, 128; @%p4 bra DONE;
  mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; mov.u32 %r3, 1;
PRODUCE:
  shl.b32 %r4, %r2, 3; add.u32 %r5, %bars, %r4; shl.b32 %r6, %r2, 13; add.u32 %r6, %r6, %tile;
EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5+16], %r3; @!%p1 bra EMPTY;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], {bytes};
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r6], [%rd0, {{0, %r1}}], [%r5];
  add.u32 %r1, %r1, 1; xor.b32 %r2, %r2, 1; setp.eq.u32 %p2, %r2, 0; @%p2 xor.b32 %r3, %r3, 1;
  setp.lt.u32 %p3, %r1, %r30; @%p3 bra PRODUCE;
DONE:
"""


def run_pipeline(body: str, hazards: bool, tiles: int = 7, directives: str = ".maxnreg 136") -> np.ndarray:
    """Sum over rows of a matrix that one warp loads row by row and 128 threads add up; the error against NumPy."""
    rng = np.random.default_rng(13)
    data = rng.standard_normal((tiles, 128)).astype(np.float32)
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(data), "f32", (128, tiles), (512,), (128, 1))
    out = memory.alloc(512)
    ptx = kernel(body, [MAP, OUT, ".param .u32 tiles"], directives)
    launch(ptx, (3,), (256,), [tensor, out, tiles], memory, hazards=hazards)
    return np.abs(memory.get(out, (128,), np.float32) - data.sum(axis=0)).max()


@pytest.mark.parametrize("hazards", [False, True])
def test_a_warp_specialised_pipeline(hazards: bool) -> None:
    assert run_pipeline(PIPELINE.format(consumers=128, release="", bytes=512), hazards) < 1e-5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("mov.u32 %r3, 1;\nPRODUCE", "mov.u32 %r3, 0;\nPRODUCE"),
         "phase parity 0 of the mbarrier at shared address 0x8410"),
        (("], 512;\n  cp", "], 516;\n  cp"), r"phase 0, 0 of 1 arrivals pending, 4 bytes owed"),
        (("[%bars+16], 128", "[%bars+16], 129"), r"1 of 129 arrivals pending"),
        (("bar.sync 1, 128", "bar.sync 1, 160"), "wait for barrier 1"),
        (("u32 232", "u32 240"), "wait for 240 registers per thread; the pool of its CTA has"),
    ],
)  # fmt: skip
def test_pipelines_that_stall_say_who_waits_where(change: tuple[str, str], message: str) -> None:
    body = PIPELINE.format(consumers=128, release="", bytes=512)
    assert change[0] in body
    with pytest.raises(DeadlockError, match=message) as caught:
        run_pipeline(body.replace(*change), hazards=False)
    assert caught.value.line is not None
    assert "the first is thread (" in str(caught.value)


def test_setmaxnreg_without_maxnreg_is_ignored_as_ptxas_does() -> None:
    body = PIPELINE.format(consumers=128, release="", bytes=512).replace("u32 232", "u32 256")
    assert run_pipeline(body, False, directives="") < 1e-5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("setmaxnreg.inc.sync.aligned.u32 100;", "multiple of 8 from 24 to 256, not 100"),
        ("setmaxnreg.inc.sync.aligned.u32 264;", "multiple of 8 from 24 to 256, not 264"),
        ("setmaxnreg.dec.sync.aligned.u32 200;", "has 136 registers per thread; setmaxnreg.dec cannot make that 200"),
        ("setmaxnreg.inc.sync.aligned.u32 64;", "has 136 registers per thread; setmaxnreg.inc cannot make that 64"),
        ("@%leader setmaxnreg.dec.sync.aligned.u32 40;", "not all threads of the warp of thread .0,0,0. of CTA"),
        ("@%leader setmaxnreg.inc.sync.aligned.u32 240;", "not all threads of the warp of thread .0,0,0. of CTA"),
        ("setmaxnreg.dec.aligned.u32 40;", "without one of .sync"),
        ("mbarrier.init.shared::cta.b64 [%bars], 0;", "an mbarrier with count 0; 1 to 1048575 are possible"),
        ("mbarrier.arrive.shared::cta.b64 _, [%bars];", "is not an mbarrier object: it was never initialised"),
        ("mbarrier.arrive.shared::cta.b64 _, [%bars+4];", "is not a multiple of 8"),
        ("mbarrier.arrive.shared::cta.b64 _, [0];", "shared address 0x0"),
        ("mbarrier.arrive.b64 _, [%rd30];", "needs a shared address here"),
        ("mbarrier.arrive.shared::cluster.b64 %rd0, [%bars];", "returns no state; write `_`"),
        ("mbarrier.arrive.fast.shared::cta.b64 _, [%bars];", r"modifier \.fast"),
        ("mbarrier.try_wait.parity.shared.b64 [%bars], 0;", "takes 3 to 4 operands"),
        (INIT.format(count=1) + "mbarrier.try_wait.parity.shared.b64 %p0, [%bars], 2;",
         "waits for parity 2, not 0 or 1"),
        (INIT.format(count=1) + "@%leader mbarrier.inval.shared.b64 [%bars]; bar.sync 0; "
         "mbarrier.arrive.shared.b64 _, [%bars];", "is not an mbarrier object"),
        (INIT.format(count=40) + "mbarrier.arrive.expect_tx.shared.b64 _, [%bars], 600000;",
         "would owe 19200000 bytes"),
        (INIT.format(count=32) + "@%leader mbarrier.arrive.expect_tx.shared.b64 _, [%bars], 8;"
         "mbarrier.arrive.shared.b64 _, [%bars];", "with 0 pending arrivals, and arrives 1 times"),
    ],
)  # fmt: skip
def test_misuse_is_located(body: str, message: str) -> None:
    with pytest.raises(SimulatorError, match=message) as caught:
        launch(kernel(body, [], ".maxnreg 136"), (1,), (32,), [], GlobalMemory())
    assert caught.value.line is not None


def test_a_wait_that_hangs_names_line_thread_address_and_phase() -> None:
    body = INIT.format(count=2) + "@%leader mbarrier.arrive.shared.b64 _, [%bars];" + wait()
    with pytest.raises(DeadlockError) as caught:
        launch(kernel(body), (2,), (32,), [], GlobalMemory())
    text = str(caught.value)
    assert "WAIT0" not in text
    assert "mbarrier.try_wait.parity.shared::cta.b64 %p15,[%bars],0" in text.replace(", ", ",")
    for part in ("64 threads wait for phase parity 0", "shared address 0x8400 of CTA (0,0,0)",
     "1 of 2 arrivals pending",
                 "the first is thread (0,0,0) of CTA (0,0,0)"):  # fmt: skip
        assert part in text


def test_many_ctas_keep_their_own_barriers() -> None:
    body = (
        INIT.format(count=32)
        + """mov.u32 %r1, %ctaid.x; and.b32 %r1, %r1, 3; mov.u32 %r0, 0; mov.u32 %r2, 0;
      LOOP: mbarrier.arrive.shared.b64 _, [%bars];"""
        + wait(parity="%r2")
        + """add.u32 %r0, %r0, 1; xor.b32 %r2, %r2, 1;
      setp.le.u32 %p0, %r0, %r1; @%p0 bra LOOP;"""
    )
    np.testing.assert_array_equal(values(body, threads=32, hazards=False, grid=40), 4)


def test_the_report_counts_who_waited() -> None:
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(np.zeros((7, 128), np.float32)), "f32", (128, 7), (512,), (128, 1))
    body = PIPELINE.format(consumers=128, release="", bytes=512)
    ptx = kernel(body, [MAP, OUT, ".param .u32 tiles"], ".maxnreg 136")
    report = launch(ptx, (1,), (256,), [tensor, memory.alloc(512), 7], memory)
    line = {name: ptx[: ptx.index(name)].count("\n") + 1 for name in ("FULL:", "setmaxnreg.inc", "bar.sync 1")}
    assert report.barrier_waits[line["FULL:"]] == 7 * 4  # four warps wait for each tile
    assert report.barrier_waits[line["setmaxnreg.inc"]] == 4  # until the producers have given registers back
    assert set(report.barrier_waits) == set(line.values())


ENDED = (
    INIT.format(count=64)
    + "mbarrier.arrive.shared.b64 _, [%bars];"
    + wait()
    + "{barrier} @%leader mbarrier.inval.shared.b64 [%bars]; {after} mov.u32 %r0, 3;"
)


def test_inval_comes_after_every_use_of_the_mbarrier() -> None:
    """All threads wait; the first ends the object. With what comes later the memory may be used again."""
    again = "bar.sync 0; setp.eq.u32 %p1, %tid, 40; @%p1 st.shared.b32 [%bars], 1;"
    np.testing.assert_array_equal(values(ENDED.format(barrier="bar.sync 0;", after=again)), 3)
    uses = r"race: thread \(0,0,0\) .* invalidates the mbarrier at byte 32768 of shared memory, which .* used with no"
    for barrier in ("", "bar.warp.sync -1;"):
        np.testing.assert_array_equal(values(ENDED.format(barrier=barrier, after=""), hazards=False), 3)
        with pytest.raises(HazardError, match=uses):
            values(ENDED.format(barrier=barrier, after=""))
    with pytest.raises(HazardError, match=r"race: thread \(40,0,0\) .* writes byte 32768 .*, which thread \(0,0,0\)"):
        values(ENDED.format(barrier="bar.sync 0;", after=again.replace("bar.sync 0;", "")))


def test_who_waits_for_the_last_arrivals_may_end_the_object() -> None:
    """The other threads arrive with release and do not look; their arrivals are known to who saw the phase complete."""
    body = INIT.format(count=64) + "mbarrier.arrive.{}shared.b64 _, [%bars]; @!%leader bra OUT;" + wait()
    body += "mbarrier.inval.shared.b64 [%bars]; OUT: mov.u32 %r0, 5;"
    np.testing.assert_array_equal(values(body.format("")), 5)
    np.testing.assert_array_equal(values(body.format("relaxed.cta.")), 5)
    unseen = (INIT.format(count=65) + "mbarrier.arrive.shared.b64 _, [%bars]; {} @%leader mbarrier.inval.shared.b64 "
              "[%bars]; mov.u32 %r0, 5;")  # fmt: skip
    np.testing.assert_array_equal(values(unseen.format("bar.sync 0;")), 5)
    with pytest.raises(HazardError, match=r"invalidates the mbarrier at byte 32768 of shared memory, which .* used"):
        values(unseen.format(""))
