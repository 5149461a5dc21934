"""Clusters: special registers, distributed shared memory, barriers, multicast, pairs of CTAs."""

import numpy as np
import pytest

from ptxsim import DeadlockError, GlobalMemory, HazardError, LaunchError, SimulatorError, TensorMap, launch
from tests.runtime.async_harness import INIT, MAP, SHARED_BASE, assert_chunks, kernel, swizzled, wait

OUT = ".param .u64 out"
# %r0: number of the CTA in the grid; %rd20: address of the thread's 32-bit result
NUMBER = """mov.u32 %r40, %ctaid.x; mov.u32 %r41, %ctaid.y; mov.u32 %r42, %ctaid.z; mov.u32 %r43, %nctaid.x;
  mov.u32 %r44, %nctaid.y; mad.lo.u32 %r0, %r42, %r44, %r41; mad.lo.u32 %r0, %r0, %r43, %r40;
  ld.param.u64 %rd20, [out]; mov.u32 %r43, %ntid.x; mad.lo.u32 %r43, %r0, %r43, %tid;
  mul.wide.u32 %rd21, %r43, 4; add.u64 %rd20, %rd20, %rd21;"""
SYNC = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
REGISTERS = [
    "clusterid.x", "clusterid.y", "clusterid.z", "nclusterid.x", "nclusterid.y", "nclusterid.z", "cluster_ctaid.x",
    "cluster_ctaid.y", "cluster_ctaid.z", "cluster_nctaid.x", "cluster_nctaid.y", "cluster_nctaid.z", "cluster_ctarank",
    "cluster_nctarank",
]  # fmt: skip


def run(
    body: str, grid: tuple[int, ...] = (4,), cluster: tuple[int, int, int] = (2, 1, 1), threads: int = 32,
    hazards: bool = True, directives: str = "",
) -> np.ndarray:  # fmt: skip
    """The 32-bit results of all threads, [CTA, thread]."""
    memory = GlobalMemory()
    count = int(np.prod(grid))
    out = memory.alloc(4 * count * threads)
    ptx = kernel(NUMBER + body, [OUT], directives)
    launch(ptx, grid, (threads,), [out], memory, cluster=cluster, hazards=hazards)
    return memory.get(out, (count, threads), np.uint32)


@pytest.mark.parametrize("name", REGISTERS)
@pytest.mark.parametrize(
    ("grid", "cluster"),
    [((4, 6, 2), (2, 3, 1)), ((4, 2, 2), (1, 2, 2)), ((40, 3, 1), (4, 1, 1)), ((3, 2, 1), (1, 1, 1))],
)
def test_special_registers(name: str, grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> None:
    found = run(f"mov.u32 %r1, %{name}; st.global.b32 [%rd20], %r1;", grid, cluster, hazards=False)[:, 0]
    z, y, x = (axis.reshape(-1) for axis in np.meshgrid(*(np.arange(extent) for extent in grid[::-1]), indexing="ij"))
    inside = [place % extent for place, extent in zip((x, y, z), cluster, strict=True)]
    register, _, axis = name.partition(".")
    number = "xyz".index(axis) if axis else 0
    expected = {
        "clusterid": (x, y, z)[number] // cluster[number],
        "nclusterid": np.full(x.size, grid[number] // cluster[number]),
        "cluster_ctaid": inside[number],
        "cluster_nctaid": np.full(x.size, cluster[number]),
        "cluster_ctarank": inside[0] + cluster[0] * (inside[1] + cluster[1] * inside[2]),
        "cluster_nctarank": np.full(x.size, np.prod(cluster)),
    }[register]
    np.testing.assert_array_equal(found, expected)


def test_explicit_clusters() -> None:
    body = "mov.pred %p0, %is_explicit_cluster; selp.u32 %r1, 1, 0, %p0; st.global.b32 [%rd20], %r1;"
    assert run(body).all()
    assert not run(body, cluster=(1, 1, 1)).any()
    assert run(body, cluster=(1, 1, 1), directives=".explicitcluster .reqnctapercluster 2, 1, 1").all()


def test_cluster_launches_are_checked() -> None:
    for options, message in (
        ({"grid": (5,)}, "grid .5, 1, 1. cannot be divided into clusters"),
        ({"grid": (32,), "cluster": (32, 1, 1)}, "has 32 CTAs; 16 is the limit"),
        ({"directives": ".reqnctapercluster 4, 1, 1"}, "requires clusters of"),
        ({"cluster": (4, 1, 1), "directives": ".maxclusterrank 2"}, "more CTAs than .maxclusterrank 2"),
    ):
        with pytest.raises(LaunchError, match=message):
            run("", **options)


EXCHANGE = """mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; add.u32 %r3, %r1, {step};
      rem.u32 %r3, %r3, %r2;
  shl.b32 %r4, %tid, 2; add.u32 %r5, %tile, %r4; mad.lo.u32 %r6, %r0, 1000, %tid; st.shared.b32 [%r5], %r6;
  {sync} {read} st.global.b32 [%rd20], %r7; {sync}"""
READS = {
    "window": "mapa.shared::cluster.u32 %r8, %r5, %r3; ld.shared::cluster.b32 %r7, [%r8];",
    "variable": "mapa.shared::cluster.u32 %r8, tile, %r3; add.u32 %r8, %r8, %r4; ld.shared::cluster.b32 %r7, [%r8];",
    "generic": "cvt.u64.u32 %rd1, %r5; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r3; ld.b32 %r7, [%rd2];",
    "own": "mov.u32 %r8, %r5; ld.shared::cluster.b32 %r7, [%r8];",
    "atomic": "mapa.shared::cluster.u32 %r8, %r5, %r3; atom.shared::cluster.add.u32 %r7, [%r8], 1;",
    "rank": "mapa.shared::cluster.u32 %r8, %r5, %r3; getctarank.shared::cluster.u32 %r7, %r8;",
    "generic rank": "cvt.u64.u32 %rd1, %r5; cvta.shared::cta.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r3; "
    "getctarank.u64 %r7, %rd2;",
    "windows": """cvt.u64.u32 %rd1, %r5; cvta.shared.u64 %rd1, %rd1; mapa.u64 %rd2, %rd1, %r3;
      isspacep.shared::cluster %p0, %rd2; isspacep.shared::cta %p1, %rd2; isspacep.shared::cta %p2, %rd1;
      selp.u32 %r7, 1, 0, %p0; @%p1 add.u32 %r7, %r7, 2; @%p2 add.u32 %r7, %r7, 4;""",
}


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("read", list(READS))
@pytest.mark.parametrize("size", [2, 4])
def test_distributed_shared_memory(read: str, size: int, hazards: bool) -> None:
    body = EXCHANGE.format(step=1, sync=SYNC, read=READS[read])
    found = run(body, (8,), (size, 1, 1), 64, hazards)
    cta = np.arange(8)
    peer = cta // size * size + (cta + 1) % size
    thread = np.arange(64)
    expected = {
        "own": 1000 * cta[:, None] + thread,
        "rank": np.repeat(peer % size, 64).reshape(8, 64),
        "generic rank": np.repeat(peer % size, 64).reshape(8, 64),
        "windows": np.full((8, 64), 5),
    }.get(read, 1000 * peer[:, None] + thread)
    np.testing.assert_array_equal(found, expected)


def test_remote_stores_and_reductions() -> None:
    body = """mov.b32 %r4, 0; @%leader st.shared.b32 [%tile], %r4; {sync}
      mapa.shared::cluster.u32 %r5, %tile, 0; red.shared::cluster.add.u32 [%r5], %tid; {sync}
      mov.u32 %r6, %cluster_ctarank; setp.ne.u32 %p0, %r6, 0; @%p0 bra OTHER;
      ld.shared.b32 %r7, [%tile]; mapa.shared::cluster.u32 %r8, %tile, 1; @%leader st.shared::cluster.b32 [%r8+8], %r7;
      OTHER: {sync} @%p0 ld.shared.b32 %r7, [%tile+8]; st.global.b32 [%rd20], %r7;"""
    np.testing.assert_array_equal(run(body.format(sync=SYNC)), 2 * sum(range(32)))


def test_arrive_and_wait_overlap_with_work() -> None:
    body = """mov.b32 %r4, 11; st.shared.b32 [%tile], %r4; barrier.cluster.arrive.release; mov.u32 %r9, 3;
      barrier.cluster.wait.acquire; mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1;
      mapa.shared::cluster.u32 %r5, %tile, %r1; ld.shared::cluster.b32 %r7, [%r5]; add.u32 %r7, %r7, %r9;
      st.global.b32 [%rd20], %r7; barrier.cluster.arrive.relaxed; barrier.cluster.wait;"""
    np.testing.assert_array_equal(run(body), 14)


def test_threads_that_left_count_as_arrived() -> None:
    body = (
        "setp.ge.u32 %p0, %tid, 8; @%p0 exit; barrier.cluster.arrive; barrier.cluster.wait; st.global.b32 [%rd20], 6;"
    )
    np.testing.assert_array_equal(run(body)[:, :8], 6)


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("barrier.cluster.wait;", HazardError, "cluster barrier without a preceding barrier.cluster.arrive"),
        ("barrier.cluster.arrive; barrier.cluster.arrive;", HazardError, "arrives again at the cluster barrier"),
        ("setp.eq.u32 %p0, %r0, 0; @%p0 bra OUT; barrier.cluster.arrive; barrier.cluster.wait; OUT: bar.sync 0;"
         "setp.ne.u32 %p1, %r0, 9; @%p0 bar.sync 1, 64;", DeadlockError,
          "wait for the cluster barrier, at which 32 threads"),
        ("mapa.shared::cluster.u32 %r1, %tile, 2;", SimulatorError, "maps to CTA 2 of a cluster of 2 CTAs"),
        ("xor.b32 %r1, %tile, 0x1000000; ld.shared.b32 %r2, [%r1];", SimulatorError, "at shared address"),
        ("or.b32 %r1, %tile, 0x4000000; ld.shared::cluster.b32 %r2, [%r1];", SimulatorError, "CTA 4 of a cluster of 2"),
        ("mapa.u32 %r1, %tile, 0;", SimulatorError, "mapa.u32"),
        ("mapa.u64 %rd1, %rd20, 1;", SimulatorError, "is not a shared address"),
        ("getctarank.u64 %r1, %rd20;", SimulatorError, "is not a shared address"),
        ("barrier.cluster.sync;", SimulatorError, "without one of"),
        ("barrier.cluster.arrive.acquire;", SimulatorError, "modifier .acquire"),
    ],
)  # fmt: skip
def test_misuse_is_located(body: str, error: type[SimulatorError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        run(body, hazards=False)
    assert caught.value.line is not None


LOAD_PAIR = """mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %clusterid.x;
  shl.b32 %r2, %r2, 3; mov.b16 %h0, {mask}; setp.eq.u32 %p0, %r1, {issuer}; and.pred %p0, %p0, %leader;"""
MULTICAST = (
    INIT.format(count=1)
    + SYNC
    + LOAD_PAIR
    + """
  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 1024;
  @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
    [%tile], [%rd0, {{0, %r2}}], [%bars], %h0;"""
    + wait()
    + SYNC
)


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("issuer", [0, 1, 3])
def test_multicast_fills_every_cta_of_the_mask(issuer: int, hazards: bool) -> None:
    rng = np.random.default_rng(1)
    array = rng.integers(0, 1 << 16, (16, 64), dtype=np.uint16)
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(array), "u16", (64, 16), (128,), (64, 8), swizzle="128B")
    ptx = kernel(MULTICAST.format(mask=15, issuer=issuer), [MAP])
    shared = launch(ptx, (8,), (32,), [tensor], memory, cluster=(4, 1, 1), hazards=hazards).shared
    for cta in range(8):
        expected = array[cta // 4 * 8 : cta // 4 * 8 + 8]
        assert_chunks(shared[cta], swizzled(expected.tobytes(), SHARED_BASE, "128B"))


def test_multicast_to_some() -> None:
    """Only CTAs 1 and 2 of four get the box; the others would wait forever."""
    rng = np.random.default_rng(2)
    array = rng.integers(0, 1 << 16, (8, 64), dtype=np.uint16)
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(array), "u16", (64, 8), (128,), (64, 8))
    body = MULTICAST.format(mask=6, issuer=0)
    with pytest.raises(DeadlockError, match=r"1024 bytes owed\), the first is thread \(0,0,0\) of CTA \(0,0,0\)"):
        launch(kernel(body, [MAP]), (4,), (32,), [tensor], memory, cluster=(4, 1, 1))
    some = body.replace("SYNC_END", "").replace(
        "@%leader mbarrier.arrive",
         "mov.u32 %r3, 6; shr.u32 %r3, %r3, %r1; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 1;"
        " @!%p1 bra SKIP; @%leader mbarrier.arrive").replace("@%p0 cp", "SKIP: @%p0 cp").replace(
        "WAIT0:", "@!%p1 bra END; WAIT0:").replace(wait().split(";")[-2] + ";",
         wait().split(";")[-2] + "; END: ")  # fmt: skip
    shared = launch(kernel(some, [MAP]), (4,), (32,), [tensor], memory, cluster=(4, 1, 1), hazards=True).shared
    for cta in (1, 2):
        assert shared[cta][:1024].tobytes() == array.tobytes()
    for cta in (0, 3):
        assert (shared[cta][:1024] == 0xFF).all()
    with pytest.raises(SimulatorError, match="copies to the CTAs of mask 0x10 in a cluster of 4"):
        launch(kernel(MULTICAST.format(mask=16, issuer=0), [MAP]), (4,), (32,), [tensor], memory, cluster=(4, 1, 1))


PAIR = (
    INIT.format(count=1)
    + SYNC
    + LOAD_PAIR
    + """
  and.b32 %r5, %bars, 0xFEFFFFFF; @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 2048;
  mul.lo.u32 %r4, %r1, 32;
  @%leader cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.cta_group::2
    [%tile], [%rd0, {{%r4, %r2}}], [%r5]; setp.ne.u32 %p2, %r1, 0; @%p2 bra READY; """
    + wait()
    + "READY: "
    + SYNC
)


@pytest.mark.parametrize("hazards", [False, True])
def test_both_ctas_of_a_pair_signal_the_even_one(hazards: bool) -> None:
    rng = np.random.default_rng(3)
    array = rng.integers(0, 1 << 16, (32, 64), dtype=np.uint16)
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(array), "u16", (64, 32), (128,), (32, 16))
    ptx = kernel(PAIR.format(mask=0, issuer=0), [MAP])
    shared = launch(ptx, (4,), (32,), [tensor], memory, cluster=(2, 1, 1), hazards=hazards).shared
    for cta in range(4):
        row, column = cta // 2 * 8, cta % 2 * 32
        assert shared[cta][:1024].tobytes() == array[row : row + 16, column : column + 32].tobytes()


def test_multicast_of_a_pair_signals_the_parity_of_the_named_barrier() -> None:
    """Every CTA of two pairs gets the box; only the even CTAs' barriers hear of it, twice."""
    array = np.arange(512, dtype=np.uint16).reshape(8, 64)
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(array), "u16", (64, 8), (128,), (64, 8))
    body = (
        INIT.format(count=1)
        + SYNC
        + LOAD_PAIR.format(mask=15, issuer=1)
        + """
      and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; and.pred %p2, %p1, %leader;
      @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 2048; and.b32 %r5, %bars, 0xFEFFFFFF;
      @%p0 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::2
        [%tile], [%rd0, {0, 0}], [%r5], %h0; @!%p1 bra READY;"""
        + wait()
        + "READY: "
        + SYNC
    )
    shared = launch(kernel(body, [MAP]), (4,), (32,), [tensor], memory, cluster=(4, 1, 1), hazards=True).shared
    for cta in range(4):
        assert shared[cta][:1024].tobytes() == array.tobytes()
