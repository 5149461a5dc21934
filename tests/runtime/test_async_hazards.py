"""hazards=True on copies of the async proxy, mbarriers and clusters: every misuse is found, its right twin is "
"silent."""

import numpy as np
import pytest

from ptxsim import DeadlockError, GlobalMemory, HazardError, SimulatorError, TensorMap, launch
from tests.runtime.async_harness import DUMP, FILL, INIT, MAP, kernel, wait
from tests.runtime.test_mbarriers import PIPELINE, run_pipeline

PARAMETERS = [MAP, ".param .u64 data", ".param .u64 out"]
SYNC = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;"


def run(body: str, grid: int = 1, cluster: int = 1, hazards: bool = True, threads: int = 64) -> np.ndarray:
    """Run on a map of an 8 x 64 u16 array, 4 KB of data and 4 KB of output; the output."""
    rng = np.random.default_rng(1)
    memory = GlobalMemory()
    array = rng.integers(0, 1 << 16, (8, 64), dtype=np.uint16)
    tensor = TensorMap(memory.put(array), "u16", (64, 8), (128,), (64, 8))
    arguments = [tensor, memory.put(rng.integers(0, 256, 4096, dtype=np.uint8)), memory.put(np.zeros(4096, np.uint8))]
    prologue = "mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [out];"
    ptx = kernel(prologue + body, PARAMETERS)
    launch(ptx, (grid,), (threads,), arguments, memory, cluster=(cluster, 1, 1), hazards=hazards)
    return memory.get(arguments[2], 4096, np.uint8)


def check(
    body: str, changes: dict[str, str], message: str, error: type[SimulatorError] = HazardError, **options: int
) -> None:
    """The body is silent, and with the changes it stops with a located message."""
    run(body, **options)
    broken = body
    for old, new in changes.items():
        assert old in broken, old
        broken = broken.replace(old, new)
    with pytest.raises(error, match=message) as caught:
        run(broken, **options)
    assert caught.value.line is not None


EXPECT = "@%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 1024;"
TMA = (
    "@%leader cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%rd0, {0, "
    "0}], [%bars];"
)
READ = "shl.b32 %r1, %tid, 4; add.u32 %r1, %r1, %tile; ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%r1];"
LOAD = INIT.format(count=1) + EXPECT + TMA + wait() + READ


@pytest.mark.parametrize(
    ("changes", "message", "error"),
    [
        ({wait(): ""}, r"thread \(0,0,0\) .* reads byte 0 of shared memory, which the copy of line \d+ by thread "
         r".* is still "
         "writing; wait for the mbarrier", HazardError),
        ({wait(): wait(parity=1)}, "is still writing", HazardError),
        ({wait(): wait(bar="%bars+8"), "1;\n  fence": "1; @%leader mbarrier.init.shared::cta.b64 [%bars+8], 1; "
          "@%leader mbarrier.arrive.shared.b64 _, [%bars+8];\n  fence"}, "is still writing", HazardError),
        ({"], 1024;": "], 512;"}, "wrong tx count|still owes|owe", SimulatorError),
        ({"], 1024;": "], 2048;"}, "0 of 1 arrivals pending, 1024 bytes owed", DeadlockError),
        ({"[%tile], [%rd0": "[%tile+64], [%rd0"}, "shared address 0x440 is not a multiple of 128", SimulatorError),
        ({EXPECT: "", TMA: TMA + EXPECT.replace("arrive.expect_tx", "expect_tx.relaxed.cta").replace("_, ", "")},
         "1 of 1 arrivals pending", DeadlockError),
        ({wait(): wait() + "@%leader mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bars], 64;"},
         "at the end of the CTA .* still owes 64 bytes", HazardError),
        ({"bar.sync 0;": ""}, "race: thread .* uses the mbarrier at byte .* which thread .* wrote with no barrier",
         HazardError),
        ({READ: "", wait(): ""}, "still in flight when its CTA ends; wait for the mbarrier at shared address",
         HazardError),
        ({wait(): "@%leader mbarrier.inval.shared.b64 [%bars];"}, "invalidates the mbarrier at .* while a copy",
         HazardError),
        ({wait(): "@%leader mbarrier.init.shared.b64 [%bars], 1;" + wait()}, "which is part of an mbarrier object",
         HazardError),
        ({READ: "ld.shared.b32 %r2, [%bars];"}, "which is part of an mbarrier object", HazardError),
        ({READ: "st.shared.b32 [%bars+4], %tid;"}, "which is part of an mbarrier object", HazardError),
        ({wait(): "st.shared.b32 [%tile+32], %tid;" + wait()}, "writes byte 32 .* is still writing", HazardError),
        ({wait(): TMA.replace("0, 0", "0, 1") + wait()}, "copies to byte 0 .* is still writing", HazardError),
    ],
)  # fmt: skip
def test_loads(changes: dict[str, str], message: str, error: type[SimulatorError]) -> None:
    check(LOAD, changes, message, error)


def test_only_who_waited_may_read() -> None:
    """One warp waits; the other reads after a barrier, or too early."""
    body = (
        INIT.format(count=1)
        + EXPECT
        + TMA
        + "setp.ge.u32 %p3, %tid, 32; @%p3 bra OTHER;"
        + wait()
        + "OTHER: bar.sync 0;"
        + READ
    )
    check(
        body,
        {"OTHER: bar.sync 0;": "@!%p3 bra END; OTHER: nanosleep.u32 100; END:"},
        "is still writing|has not seen complete",
    )


def test_the_first_warp_may_not_lend_its_wait() -> None:
    """The second warp goes on because of a flag that does not order memory."""
    body = (
        INIT.format(count=1)
        + EXPECT
        + TMA
        + """setp.ge.u32 %p3, %tid, 32; @%p3 bra OTHER;"""
        + wait()
        + """
      mov.b32 %r8, 1; @%leader st.relaxed.cta.shared.b32 [%source], %r8; bra END;
      OTHER: ld.relaxed.cta.shared.b32 %r9, [%source]; setp.eq.u32 %p4, %r9, 1; @!%p4 bra OTHER;
      {wait} END:"""
    )
    first = "@%leader st.relaxed.cta.shared.b32 [%source], 0; "
    safe = first + body.replace("{wait}", wait(number=1)) + READ
    check(safe, {wait(number=1): ""}, "a copy wrote for an mbarrier whose phase this thread has not seen complete")


def test_overwriting_what_others_still_read_needs_the_empty_barrier() -> None:
    release = "mbarrier.arrive.shared::cta.b64 _, [%bars+8];"
    body = (
        """@%leader mbarrier.init.shared::cta.b64 [%bars], 1; @%leader mbarrier.init.shared::cta.b64 [%bars+8], 64;
      fence.mbarrier_init.release.cluster; bar.sync 0;"""
        + EXPECT
        + TMA
        + wait()
        + READ
        + release
    )
    body += "@!%leader bra END;" + wait("%bars+8", 0, 1) + "END:" + EXPECT + TMA + wait(parity=1, number=2) + READ
    check(
        body,
        {wait("%bars+8", 0, 1): ""},
        r"race: thread .* writes byte \d+ of shared memory, which .* read with no barrier",
    )
    run(body.replace(release, release.replace("arrive.", "arrive.release.cta.")))
    with pytest.raises(HazardError, match="race"):
        run(body.replace(release, release.replace("arrive.", "arrive.relaxed.cta.")))
    with pytest.raises(HazardError, match="race"):
        run(body.replace(wait("%bars+8", 0, 1), wait("%bars+8", 0, 1).replace("parity.", "parity.relaxed.cta.")))


WRITE = "shl.b32 %r1, %tid, 4; add.u32 %r1, %r1, %tile; st.shared.v4.b32 [%r1], {%tid, %tid, %r1, %r1};"
FENCE = "fence.proxy.async.shared::cta;"
TMA_STORE = "@%leader cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd0, {0, 0}], [%tile];"
COMMIT = "@%leader cp.async.bulk.commit_group;"
WAIT_READ = "@%leader cp.async.bulk.wait_group.read 0;"
STORE = WRITE + FENCE + "bar.sync 0;" + TMA_STORE + COMMIT + WAIT_READ


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({FENCE: ""}, "changed with no fence.proxy.async after it"),
        ({FENCE: "fence.proxy.async.global;"}, "changed with no fence.proxy.async after it"),
        ({FENCE: "@%leader " + FENCE}, "changed with no fence.proxy.async after it"),
        ({WRITE + FENCE: FENCE + WRITE}, "changed with no fence.proxy.async after it"),
        ({"bar.sync 0;": ""}, "race: thread .* starts an operation that reads byte"),
        ({WAIT_READ: ""}, "exits while this copy may still read its shared memory"),
        ({COMMIT: ""}, "exits while this copy may still read its shared memory"),
        ({WAIT_READ: WRITE + WAIT_READ},
         r"writes byte 0 of shared memory, which the copy of line \d+ .* may still read"),
        ({WAIT_READ: WAIT_READ + WRITE}, "race: thread .* writes byte .* read with no barrier between"),
        ({WRITE: "mov.b32 %r1, 1; @%leader st.shared.b32 [%tile], %r1;"},
         "reads byte 4 of shared memory, which nothing has written"),
        ({WAIT_READ: "ld.global.b32 %r9, [%rd3];" + WAIT_READ}, "reads a byte of global memory that the copy of line"),
        ({WAIT_READ: "@%leader cp.async.ca.shared.global [%source], [%rd3], 4; cp.async.wait_all;" + WAIT_READ},
         "reads a byte of global memory that the copy of line"),
        ({WAIT_READ: "@%leader cp.async.ca.shared.global [%source], [%rd3], 8, 4; cp.async.wait_all;" + WAIT_READ},
         "reads a byte of global memory that the copy of line"),
        ({WAIT_READ: "@%leader st.global.b32 [%rd3], %r1;" + WAIT_READ},
         "writes a byte of global memory that the copy of line"),
        ({WAIT_READ: WAIT_READ + "ld.global.b32 %r9, [%rd3];"}, "reads a byte of global memory that the copy of line"),
    ],
)  # fmt: skip
def test_stores(changes: dict[str, str], message: str) -> None:
    # %rd3: the array that the map names; it is the allocation before `data`, whose windows are 1 TiB apart
    where = "sub.u64 %rd3, %rd1, 0x10000000000;"
    check(where + STORE, changes, message)


@pytest.mark.parametrize("place", ["writer", "issuer", "after both"])
def test_a_fence_on_either_side_of_the_barrier_will_do(place: str) -> None:
    body = {
        "writer": WRITE + FENCE + "bar.sync 0;",
        "issuer": WRITE + "bar.sync 0; @%leader " + FENCE,
        "after both": WRITE + "bar.sync 0;" + FENCE + "bar.sync 0;",
    }[place]
    run(body + TMA_STORE + COMMIT + WAIT_READ)


def test_reading_while_a_store_reads_is_fine() -> None:
    run(STORE.replace(WAIT_READ, READ + WAIT_READ))


def test_waiting_for_the_wrong_number_of_groups() -> None:
    body = (
        WRITE
        + FENCE
        + "bar.sync 0;"
        + (TMA_STORE + COMMIT) * 2
        + "@%leader cp.async.bulk.wait_group.read 0; bar.sync 0;"
        + WRITE
    )
    check(body, {"wait_group.read 0": "wait_group.read 1"}, "may still read")


def test_async_writes_over_generic_ones_need_a_fence() -> None:
    body = INIT.format(count=1) + WRITE + FENCE + "bar.sync 0;" + EXPECT + TMA + wait() + READ
    check(body, {FENCE: ""}, "copies to byte 0 .* changed with no fence.proxy.async after it")


GLOBAL_WRITE = (
    "shl.b32 %r1, %tid, 4; cvt.u64.u32 %rd5, %r1; add.u64 %rd5, %rd5, %rd2; st.global.v4.b32 [%rd5], "
    "{%tid, %tid, %r1, %r1};"
)
GLOBAL_FENCE = "fence.proxy.async.global;"
GLOBAL_COPY = (
    """@%leader cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%tile], [%rd2], 1024, [%bars];"""
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {GLOBAL_FENCE: ""},
            r"copies a byte of global memory that thread \(\d+,0,0\) .* wrote with no fence.proxy.async",
        ),
        ({GLOBAL_FENCE: FENCE}, "wrote with no fence.proxy.async"),
        ({GLOBAL_FENCE: "@%leader " + GLOBAL_FENCE}, "wrote with no fence.proxy.async"),
        (
            {GLOBAL_FENCE + "bar.sync 0;": GLOBAL_FENCE},
            r"race: thread \(0,0,0\) .* copies a byte of global memory that thread .* wrote with no barrier between",
        ),
        ({GLOBAL_FENCE + "bar.sync 0;": GLOBAL_FENCE + "bar.warp.sync -1;"}, r"that thread \(32,0,0\) .* no barrier"),
    ],
)
def test_global_writes_that_a_copy_reads_need_a_fence(changes: dict[str, str], message: str) -> None:
    body = INIT.format(count=1) + GLOBAL_WRITE + GLOBAL_FENCE + "bar.sync 0;" + EXPECT + GLOBAL_COPY + wait() + READ
    check(body, changes, message)
    run(body.replace(GLOBAL_FENCE, "fence.proxy.async;"))
    run(body.replace(GLOBAL_FENCE + "bar.sync 0;", "bar.sync 0; @%leader " + GLOBAL_FENCE))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({GLOBAL_FENCE: ""}, "wrote with no fence.proxy.async"),
        (
            {"TAKEN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bars+8], 0; @!%p1 bra TAKEN;": ""},
            "wrote with no fence.proxy.async|wrote with no barrier between",
        ),
        ({"@!%p1 bra TAKEN;": ""}, "wrote with no fence.proxy.async|wrote with no barrier between"),
        ({"arrive.release.cta.shared::cta.b64 _, [%bars+8]": "arrive.relaxed.cta.shared::cta.b64 _, [%bars+8]"},
         "wrote with no barrier between"),
    ],
)  # fmt: skip
def test_stores_of_one_agent_that_a_copy_of_another_reads(changes: dict[str, str], message: str) -> None:
    """The second warp stores and fences, the first waits for it and starts the copy."""
    body = (
        "@%leader mbarrier.init.shared::cta.b64 [%bars+8], 32;"
        + INIT.format(count=1)
        + "setp.lt.u32 %p0, %tid, 32; @%p0 bra COPY;"
        + GLOBAL_WRITE
        + GLOBAL_FENCE
        + "mbarrier.arrive.release.cta.shared::cta.b64 _, [%bars+8]; bra DONE; COPY:"
        + "TAKEN: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bars+8], 0; @!%p1 bra TAKEN;"
        + EXPECT
        + GLOBAL_COPY
        + "DONE:"
        + wait()
        + READ
    )
    check(body, changes, message)


def test_overwriting_global_memory_that_a_copy_may_still_read() -> None:
    body = INIT.format(count=1) + EXPECT + GLOBAL_COPY + wait() + READ + GLOBAL_WRITE
    check(
        body,
        {wait() + READ + GLOBAL_WRITE: GLOBAL_WRITE + wait() + READ},
        "writes a byte of global memory .* may still read",
    )


def test_a_copy_reads_what_a_copy_still_writes() -> None:
    out = "@%leader cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%source], 1024;"
    fill = FILL.replace("FILL", "F")
    body = (
        "mov.u64 %rd20, %rd1; mov.u32 %r50, 1024; mov.u32 %r51, %source;"
        + fill
        + FENCE
        + INIT.format(count=1)
        + out
        + COMMIT
    )
    body += "@%leader cp.async.bulk.wait_group 0;" + EXPECT + GLOBAL_COPY + wait() + READ
    check(body, {"wait_group 0": "wait_group.read 0"}, "copies a byte of global memory that the copy of line")


def test_cp_async_arrivals_cover_only_earlier_copies() -> None:
    copy = "add.u32 %r2, %r1, %source; add.u64 %rd5, %rd1, %rd6; cp.async.cg.shared.global [%r2], [%rd5], 16;"
    arrive = "cp.async.mbarrier.arrive.noinc.shared.b64 [%bars];"
    start = INIT.format(count=64) + "shl.b32 %r1, %tid, 4; cvt.u64.u32 %rd6, %r1;"
    read = "xor.b32 %r3, %r2, 16; ld.shared.b32 %r4, [%r3];"
    check(start + copy + arrive + wait() + read, {copy + arrive: arrive + copy}, "while a cp.async of .* is in flight")


def test_mbarrier_arrivals_order_generic_accesses() -> None:
    swap = "shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile; xor.b32 %r2, %r1, 128; st.shared.b32 [%r1], %tid;"
    body = (
        INIT.format(count=64) + swap + "mbarrier.arrive.shared.b64 _, [%bars];" + wait() + "ld.shared.b32 %r3, [%r2];"
    )
    check(body, {wait(): ""}, "race: thread .* reads byte .* wrote with no barrier between")
    check(body, {"mbarrier.arrive.shared": "mbarrier.arrive.relaxed.cta.shared"}, "race: thread .* reads byte")
    check(body, {"try_wait.parity.shared": "try_wait.parity.relaxed.cta.shared"}, "race: thread .* reads byte")


def test_fences_make_relaxed_arrivals_and_waits_order() -> None:
    swap = "shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile; xor.b32 %r2, %r1, 128; st.shared.b32 [%r1], %tid;"
    release, acquire = "fence.acq_rel.cta;", "fence.acquire.cluster;"
    body = INIT.format(count=64) + swap + release + "mbarrier.arrive.relaxed.cta.shared.b64 _, [%bars];"
    body += wait().replace("parity.", "parity.relaxed.cta.") + acquire + "ld.shared.b32 %r3, [%r2];"
    check(body, {release: ""}, "race: thread .* reads byte")
    check(body, {acquire: ""}, "race: thread .* reads byte")
    check(body, {release: "fence.acquire.cta;"}, "race: thread .* reads byte")
    check(body, {acquire: "fence.release.cta;"}, "race: thread .* reads byte")
    run(body.replace(release, "membar.cta;").replace(acquire, "fence.sc.gpu;"))
    with pytest.raises(HazardError, match=r"race: thread .* reads byte"):  # the fence must come after what it releases
        run(body.replace(swap + release, release + swap))


# Warp 0 writes data and sets a flag, warp 1 waits for the flag and reads the data.
FLAG = """mov.b32 %r8, 0; @%leader st.shared.b32 [%source], %r8; bar.sync 0; shl.b32 %r1, %tid, 2;
      add.u32 %r1, %r1, %tile;
  setp.ge.u32 %p3, %tid, 32; @%p3 bra OTHER; st.shared.b32 [%r1], %tid; bar.warp.sync 0xffffffff; {release} bra END;
  OTHER: {acquire} setp.eq.u32 %p4, %r9, 1; @!%p4 bra OTHER; {after} ld.shared.b32 %r9, [%r1+-128]; END:"""


@pytest.mark.parametrize(
    ("release", "acquire", "after", "is_safe"),
    [
        ("@%leader st.release.cta.shared.b32 [%source], 1;", "ld.acquire.cta.shared.b32 %r9, [%source];", "", True),
        ("@%leader red.release.cta.shared.add.u32 [%source], 1;", "atom.acquire.cta.shared.or.b32 %r9, [%source], 0;",
         "", True),
        ("membar.cta; @%leader st.volatile.shared.b32 [%source], 1;", "ld.volatile.shared.b32 %r9, [%source];",
         "membar.cta;", True),
        ("fence.acq_rel.cta; @%leader atom.shared.exch.b32 %r9, [%source], 1;",
         "ld.relaxed.cta.shared.b32 %r9, [%source];",
         "fence.acq_rel.cta;", True),
        ("@%leader st.relaxed.cta.shared.b32 [%source], 1;", "ld.acquire.cta.shared.b32 %r9, [%source];", "", False),
        ("@%leader st.release.cta.shared.b32 [%source], 1;", "ld.relaxed.cta.shared.b32 %r9, [%source];", "", False),
        ("@%leader st.volatile.shared.b32 [%source], 1;", "ld.volatile.shared.b32 %r9, [%source];", "membar.cta;",
         False),
        ("@%leader st.volatile.shared.b32 [%source], 1; membar.cta;", "ld.volatile.shared.b32 %r9, [%source];",
         "membar.cta;", False),
    ],
)  # fmt: skip
def test_flags_order_when_they_release_and_acquire(release: str, acquire: str, after: str, is_safe: bool) -> None:
    release = release.replace("], 1;", "], %r7;").replace("add.u32 [%source], %r7", "add.u32 [%source], 1")
    body = "mov.b32 %r7, 1;" + FLAG.format(release=release, acquire=acquire, after=after)
    if is_safe:
        run(body)
        return
    with pytest.raises(HazardError, match=r"race: thread .* reads byte .* wrote with no barrier between"):
        run(body)


@pytest.mark.parametrize(
    ("change", "message", "error"),
    [
        (("EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5+16], %r3; @!%p1 bra EMPTY;", ""),
         "is still|race|with 0 pending arrivals", HazardError),
        (("FULL: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r5], %r3; @!%p1 bra FULL;", ""),
         "still writing|nothing", HazardError),
        (("{release} mbarrier.arrive", "mbarrier.arrive.relaxed.cta"), "race|arrive", SimulatorError),
        (("mov.u32 %r3, 1;\nPRODUCE", "mov.u32 %r3, 0;\nPRODUCE"), "wait for phase parity 0", DeadlockError),
        (("{bytes};", "256;"), "wrong tx count|owe", SimulatorError),
        (("[%bars+16], {consumers}", "[%bars+16], 96"), "race|arrivals pending", SimulatorError),
        (("@%p2 xor.b32 %r3, %r3, 1;\n  setp.lt.u32 %p3, %r1, %r30; @%p3 bra CONSUME",
         "setp.lt.u32 %p3, %r1, %r30; @%p3 bra CONSUME"),
         "still writing|race|deadlock|wait for", SimulatorError),
        (("[%r6], [%rd0", "[%tile], [%rd0"), "still writing|race|nothing", HazardError),
    ],
)  # fmt: skip
def test_every_piece_of_the_pipeline_is_needed(
    change: tuple[str, str], message: str, error: type[SimulatorError]
) -> None:
    assert change[0] in PIPELINE
    with pytest.raises(error, match=message):
        run_pipeline(PIPELINE.replace(*change).format(consumers=128, release="", bytes=512), hazards=True)


PEER = """mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1; shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile;
  st.shared.b32 [%r1], %tid; {first} mapa.shared::cluster.u32 %r12, %r1, %r11;
      ld.shared::cluster.b32 %r13, [%r12]; {last}"""


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("", SYNC, "which may not have started; a barrier.cluster must keep them together"),
        ("barrier.cluster.arrive.relaxed; barrier.cluster.wait;", SYNC, "which may not have started|race"),
        ("bar.sync 0;", SYNC, "which may not have started"),
        (SYNC + "setp.eq.u32 %p5, %r10, 1; @%p5 exit;", "", "whose threads have all exited"),
    ],
)
def test_clusters_must_stay_together(first: str, last: str, message: str) -> None:
    run(PEER.format(first=SYNC, last=SYNC), grid=2, cluster=2)
    with pytest.raises(HazardError, match=message):
        run(PEER.format(first=first, last=last), grid=2, cluster=2)


def test_remote_writes_race_without_a_cluster_barrier() -> None:
    body = """mov.u32 %r10, %cluster_ctarank; xor.b32 %r11, %r10, 1; shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile;
      barrier.cluster.arrive; barrier.cluster.wait; mapa.shared::cluster.u32 %r12, %r1, %r11;
      st.shared::cluster.b32 [%r12], %tid; {sync} ld.shared.b32 %r13, [%r1]; barrier.cluster.arrive;
      barrier.cluster.wait;"""
    check(
        body.replace("{sync}", SYNC),
        {SYNC: "bar.sync 0;"},
        "race: thread .* reads byte|nothing has written",
        grid=2,
        cluster=2,
    )


def test_a_remote_barrier_must_be_initialised_before_it_is_used() -> None:
    body = (
        """@%leader mbarrier.init.shared::cta.b64 [%bars], 2; {sync}
      mov.u32 %r10, %cluster_ctarank; mapa.shared::cluster.u32 %r12, %bars, 0;
      @%leader mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12]; setp.ne.u32 %p4, %r10, 0; @%p4 bra END;
      """
        + wait().replace("parity.", "parity.acquire.cluster.")
        + "END: "
        + SYNC
    )
    ready = "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait; bar.sync 0;"
    run(body.replace("{sync}", "bar.sync 0;" + SYNC), grid=2, cluster=2)
    run(body.replace("{sync}", ready), grid=2, cluster=2)
    with pytest.raises(HazardError, match="uses the mbarrier at"):
        run(body.replace("{sync}", ready.split(";", 1)[1]), grid=2, cluster=2)
    with pytest.raises(HazardError, match=r"uses the mbarrier at|may not have started"):
        run(body.replace("{sync}", "bar.sync 0;"), grid=2, cluster=2)


# Rank 1 stores into the memory of rank 0 and arrives there; rank 0 waits and reads.
REMOTE = (
    INIT.format(count=1)
    + SYNC
    + """mov.u32 %r10, %cluster_ctarank; OWNER
  mapa.shared::cluster.u32 %r12, %bars, %r11; mapa.shared::cluster.u32 %r13, %tile, %r11;
  setp.eq.u32 %p4, %r10, 0; @%p4 bra HERE;
  @%leader st.shared::cluster.b32 [%r13], %tid; @%leader ARRIVE _, [%r12]; bra END;
HERE: W: WAIT %p15, [%bars], 0; @!%p15 bra W; ld.shared.b32 %r14, [%tile]; END: """
    + SYNC
)
ARRIVE, WAIT = "mbarrier.arrive{}.shared::cluster.b64", "mbarrier.try_wait.parity{}.shared::cta.b64"


@pytest.mark.parametrize("arrive", [".release.cluster", ".release.cta", ""])
@pytest.mark.parametrize("waits", [".acquire.cluster", ".acquire.cta", ""])
def test_what_another_cta_releases_is_acquired_at_the_scope_of_the_cluster(arrive: str, waits: str) -> None:
    """The scope of each must include the other's thread. A wait without one has that of the CTA, but hears arrivals
    without one.
    """
    text = (
        REMOTE.replace("OWNER", "mov.u32 %r11, 0;")
        .replace("ARRIVE", ARRIVE.format(arrive))
        .replace("WAIT ", WAIT.format(waits) + " ")
    )
    if ".cta" not in arrive + waits and (waits or not arrive):
        run(text, grid=2, cluster=2)
        return
    with pytest.raises(HazardError, match=r"reads byte 0 of shared memory, which thread .* wrote with no barrier"):
        run(text, grid=2, cluster=2)


@pytest.mark.parametrize("scope", ["", ".acquire.cta", ".acquire.cluster"])
def test_threads_of_one_cta_need_no_wider_scope(scope: str) -> None:
    own = REMOTE.replace("setp.eq.u32 %p4, %r10, 0; @%p4 bra HERE;", "").replace("bra END;", "")
    own = own.replace("OWNER", "mov.u32 %r11, %r10;").replace("ARRIVE", ARRIVE.format(""))
    run(own.replace("WAIT ", WAIT.format(scope) + " "), grid=2, cluster=2)


def test_an_init_between_two_arrivals_at_a_cluster_barrier_takes_nothing_back() -> None:
    """What the first of them said has no room yet for the mbarrier."""
    body = """setp.ge.u32 %p0, %tid, 32; @%p0 bra OTHER; shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile;
      st.shared.b32 [%r1], %tid; {arrive} bra MEET;
      OTHER: setp.eq.u32 %p1, %tid, 32; @%p1 mbarrier.init.shared.b64 [%bars], 1; {arrive}
      MEET: barrier.cluster.wait; ld.shared.b32 %r2, [%tile+4];"""
    run(body.replace("{arrive}", "barrier.cluster.arrive;"))
    with pytest.raises(HazardError, match="race"):
        run(body.replace("{arrive}", "barrier.cluster.arrive.relaxed;"))


def test_bytes_in_flight_are_poisoned() -> None:
    """Without the checks' word for it: what a copy writes holds 0xFF until it is waited for."""
    body = (
        INIT.format(count=1)
        + EXPECT
        + TMA
        + wait()
        + "mov.u64 %rd20, %rd2; mov.u32 %r50, 1024; mov.u32 %r51, %tile;"
        + DUMP
    )
    late, early = run(body), run(body, hazards=False)
    np.testing.assert_array_equal(late, early)
    assert (late[:1024] != 0xFF).any()


def test_an_arrival_at_the_next_phase_is_not_for_waiters_of_this_one() -> None:
    """Three warps arrive in one instruction; with a count of two, the third counts for the phase after."""
    body = """shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile; setp.ge.u32 %p3, %tid, 96; @%p3 bra OTHER;
      st.shared.b32 [%r1], %tid; bar.warp.sync 0xffffffff; and.b32 %r2, %tid, 31; setp.eq.u32 %p4, %r2, 0;
      @%p4 mbarrier.arrive.shared.b64 _, [%bars]; bra END;
      OTHER: """ + wait() + "ld.shared.b32 %r3, [%r1+{which}]; END:"  # fmt: skip
    for count, which, is_safe in ((3, -128, True), (2, -256, True), (2, -384, True), (2, -128, False)):
        ptx = INIT.format(count=count) + body.replace("{which}", str(which))
        if is_safe:
            run(ptx, threads=128)
        else:
            with pytest.raises(HazardError, match=r"race: thread \(96,0,0\) .* which thread \(64,0,0\) .* wrote"):
                run(ptx, threads=128)
