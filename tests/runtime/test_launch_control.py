"""clusterlaunchcontrol, griddepcontrol, named barriers, and tensor maps that a kernel edits."""

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, SimulatorError, TensorMap, launch
from tests.runtime.async_harness import DUMP, INIT, MAP, dims_of, kernel, strides_of, wait

OUT = ".param .u64 out"
# A persistent kernel: each CTA marks the tile it works on with 1 + the CTA that does so, and takes the next one.
STEAL = (
    INIT.format(count=1)
    + """ld.param.u64 %rd20, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %ctaid.z;
  mov.u32 %r3, %nctaid.x; mov.u32 %r4, %nctaid.y; mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
  add.u32 %r6, %r5, 1; mov.u32 %r9, 0;
TILE: @!%leader bra WORK;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 16;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{multicast}.b128 [%tile], [%bars];
WORK: mul.wide.u32 %rd21, %r5, 4; add.u64 %rd21, %rd21, %rd20; @%leader atom.global.add.u32 %r10, [%rd21], %r6;
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bars], %r9; @!%p1 bra W;
  ld.shared.b128 %q, [%tile]; fence.proxy.async.shared::cta;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
  @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r11, %r12, %r13, _}}, %q;
  @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r14, %q;
  @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r15, %q;
  @%p2 clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 %r16, %q;
  @%p2 mad.lo.u32 %r5, %r13, %r4, %r12; @%p2 mad.lo.u32 %r5, %r5, %r3, %r14;
  @%p2 sub.u32 %r17, %r11, %r14; @%p2 add.u32 %r5, %r5, %r17; xor.b32 %r9, %r9, 1; bar.sync 0; @%p2 bra TILE;"""
)


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("grid", [(1,), (9,), (4, 3, 2)])
def test_every_tile_is_done_once_and_some_are_stolen(grid: tuple[int, ...], hazards: bool) -> None:
    count = int(np.prod(grid))
    memory = GlobalMemory()
    out = memory.put(np.zeros(count, np.uint32))
    report = launch(kernel(STEAL.format(multicast=""), [OUT]), grid, (64,), [out], memory, hazards=hazards)
    worker = memory.get(out, (count,), np.uint32).astype(int) - 1
    assert ((worker >= 0) & (worker < count)).all()  # a tile done twice would have the sum of two workers
    running = sorted(set(worker.tolist()))
    assert all(worker[cta] == cta for cta in running)
    assert len(running) == -(-count // 4)
    assert report.instructions["ret"] == 2 * len(running)


def test_a_cluster_steals_a_cluster() -> None:
    """The response goes to both CTAs of the pair, each of which takes its own tile of the stolen cluster."""
    memory = GlobalMemory()
    out = memory.put(np.zeros(24, np.uint32))
    body = STEAL.format(multicast=".multicast::cluster::all").replace(
        "fence.mbarrier_init.release.cluster; bar.sync 0;",
        "fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r20, "
         "%cluster_ctarank;"
        "setp.eq.u32 %p3, %r20, 0;",
    ).replace("  clusterlaunchcontrol.try", "  @%p3 clusterlaunchcontrol.try")  # fmt: skip
    body = body.replace("xor.b32 %r9, %r9, 1; bar.sync 0;", "@%p2 add.u32 %r5, %r5, %r20; xor.b32 %r9, %r9, 1;"
                        "barrier.cluster.arrive; barrier.cluster.wait;")  # fmt: skip
    launch(kernel(body, [OUT]), (24,), (64,), [out], memory, cluster=(2, 1, 1), hazards=True)
    worker = memory.get(out, (24,), np.uint32).astype(int) - 1
    np.testing.assert_array_equal(worker % 2, np.arange(24) % 2)
    assert sorted(set(worker.tolist())) == list(range(6))
    np.testing.assert_array_equal(worker[::2] + 1, worker[1::2])


FENCE = "fence.proxy.async.shared::cta;"
RELEASE = "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"


@pytest.mark.parametrize(
    ("fence", "is_right"), [(FENCE, True), (RELEASE, True), ("", False), (f"@%leader {FENCE}", False)]
)
def test_a_fence_between_a_response_and_the_next_request(fence: str, is_right: bool) -> None:
    """It must be of all threads that read, or of one that knows of the reads."""
    text = STEAL.format(multicast="").replace(FENCE, fence)
    memory = GlobalMemory()
    out = memory.alloc(4 * 9)
    if is_right:
        launch(kernel(text, [OUT]), (9,), (64,), [out], memory, hazards=True)
        return
    with pytest.raises(HazardError, match=r"asks for a response where .* read the one before, and no fence\.proxy"):
        launch(kernel(text, [OUT]), (9,), (64,), [out], memory, hazards=True)


def test_a_fence_after_the_barrier_by_the_thread_that_asks() -> None:
    text = (
        STEAL.format(multicast="").replace(FENCE, "").replace("bar.sync 0; @%p2", f"bar.sync 0; @%leader {FENCE} @%p2")
    )
    memory = GlobalMemory()
    launch(kernel(text, [OUT]), (9,), (64,), [memory.alloc(36)], memory, hazards=True)


def test_asking_again_after_a_failure_is_an_error() -> None:
    body = STEAL.format(multicast="").replace("@%p2 bra TILE;", "bra TILE;")
    memory = GlobalMemory()
    with pytest.raises(HazardError, match="asks for another cluster after a request of its cluster failed"):
        launch(kernel(body, [OUT]), (3,), (64,), [memory.alloc(64)], memory)


def test_grid_dependencies_hold_by_themselves() -> None:
    memory = GlobalMemory()
    out = memory.put(np.full(32, 5, np.uint32))
    body = """ld.param.u64 %rd20, [out]; mul.wide.u32 %rd21, %tid, 4; add.u64 %rd20, %rd20, %rd21;
      griddepcontrol.wait; ld.global.b32 %r0, [%rd20]; griddepcontrol.launch_dependents;
      add.u32 %r0, %r0, 1; st.global.b32 [%rd20], %r0;"""
    for _ in range(2):
        launch(kernel(body, [OUT]), (1,), (32,), [out], memory)
    np.testing.assert_array_equal(memory.get(out, (32,), np.uint32), 7)
    for wrong in (
        "griddepcontrol;",
        "griddepcontrol.launch;",
        "clusterlaunchcontrol.try_cancel.shared::cta.b128 [%tile], [%bars];",
    ):
        with pytest.raises(SimulatorError):
            launch(kernel(wrong, []), (1,), (32,), [], memory)


NAMED = """ld.param.u64 %rd20, [out]; mul.wide.u32 %rd21, %tid, 4; add.u64 %rd20, %rd20, %rd21;
  shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %tile; setp.ge.u32 %p0, %tid, 64; @%p0 bra SECOND;
  st.shared.b32 [%r1], %tid; {arrive} 5, 128; mov.b32 %r3, 0; bra END;
SECOND: {wait} 5, 128; ld.shared.b32 %r3, [%r1+-256];
END: st.global.b32 [%rd20], %r3;"""


@pytest.mark.parametrize("arrive", ["bar.arrive", "barrier.arrive", "barrier.cta.arrive.aligned", "bar.sync"])
@pytest.mark.parametrize("wait_for", ["bar.sync", "barrier.sync", "barrier.cta.sync.aligned", "bar.cta.sync"])
def test_named_barriers_hand_over_from_warps_to_warps(arrive: str, wait_for: str) -> None:
    memory = GlobalMemory()
    out = memory.alloc(512)
    launch(kernel(NAMED.format(arrive=arrive, wait=wait_for), [OUT]), (1,), (128,), [out], memory, hazards=True)
    found = memory.get(out, (128,), np.uint32)
    np.testing.assert_array_equal(found[64:], np.arange(64))


# Builds a map for `data` in shared memory, copies it to %rd10 in global memory and loads with it.
BUILD = (
    """ld.param.u64 %rd10, [scratch]; ld.param.u64 %rd11, [data]; ld.param.u64 %rd20, [out];
  mov.b32 %r1, 0; shl.b32 %r2, %tid, 2; add.u32 %r2, %r2, %source; st.shared.b32 [%r2], %r1; bar.sync 0;
  @!%leader bra BUILT;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%source], %rd11;
  tensormap.replace.tile.rank.shared::cta.b1024.b32 [%source], 1;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%source], 0, 32;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%source], 1, 6;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%source], 0, 96;
  mov.b32 %r3, 10; tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%source], 1, %r3;
  mov.b64 %rd12, 192; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%source], 0, %rd12;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%source], 0, 1;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%source], 1, 1;
  tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%source], {element};
  tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%source], 0;
  tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%source], 0;
  tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%source], {fill};
BUILT: bar.warp.sync 0xffffffff;
  setp.lt.u32 %p1, %tid, 32;
  @%p1 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd10], [%source], 128;
  fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128; """
    + INIT.format(count=1)
    + """
  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 384;
  @%leader cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%tile], [%rd10, {{80, 7}}], [%bars];
  """
    + wait()
    + "mov.u32 %r50, 384; mov.u32 %r51, %tile;"
    + DUMP.replace("{", "{{").replace("}", "}}")
)


def build(body: str, hazards: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """(what the kernel loaded with its own map as bits, the array as bits)."""
    rng = np.random.default_rng(8)
    data = rng.standard_normal((10, 96)).astype(np.float16)
    memory = GlobalMemory()
    arguments = [memory.put(data), memory.alloc(512), memory.alloc(384)]
    launch(
        kernel(body, [".param .u64 data", ".param .u64 scratch", OUT]), (1,), (64,), arguments, memory, hazards=hazards
    )
    return memory.get(arguments[2], (6, 32), np.uint16), data.view(np.uint16)


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("element", [6, 10])  # f16, bf16: with the driver's code 9 the second would be f64
def test_a_kernel_builds_its_own_map(element: int, fill: int, hazards: bool) -> None:
    found, data = build(BUILD.format(element=element, fill=fill), hazards)
    np.testing.assert_array_equal(found[:3, :16], data[7:, 80:])
    outside = np.concatenate([found[3:].reshape(-1), found[:3, 16:].reshape(-1)])
    assert ((outside & 0x7C00) == 0x7C00).all() if fill else (outside == 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("rank.shared::cta.b1024.b32 [%source], 1", "rank.shared::cta.b1024.b32 [%source], 2"),
         "global_dim.2. = 0 is not within"),
        (("rank.shared::cta.b1024.b32 [%source], 1", "rank.shared::cta.b1024.b32 [%source], 7"), "not a tensor map"),
        (("box_dim.shared::cta.b1024.b32 [%source], 1, 6", "box_dim.shared::cta.b1024.b32 [%source], 5, 6"),
         "has ordinals 0 to 4, not 5"),
        (("mov.b64 %rd12, 192", "mov.b64 %rd12, 200"), "200 bytes is not a multiple of 16"),
        (("swizzle_mode.shared", "swizzle.shared"), "without one of"),
        (("rank.shared::cta.b1024.b32", "rank.shared::cta.b1024.b64"), "is not simulated"),
        (("[%source], 128;\n  fence", "[%source], 64;\n  fence"), "copies 128 bytes"),
        (("[%rd10], 128; ", "[%rd10], 64; "), "covers 128 bytes"),
        (("[%source], %rd11", "[%source+32], %rd11"), "not a multiple of 64"),
        (("element_stride.shared::cta.b1024.b32 [%source], 1, 1",
         "element_stride.shared::cta.b1024.b32 [%source], 1, 300"),
         "300 does not fit the field .element_stride"),
    ],
)  # fmt: skip
def test_wrong_edits_are_located(change: tuple[str, str], message: str) -> None:
    body = BUILD.format(element=6, fill=0)
    assert change[0] in body
    with pytest.raises(SimulatorError, match=message) as caught:
        build(body.replace(*change), hazards=False)
    assert caught.value.line is not None


EDIT = (
    """mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; ld.param.u64 %rd10, [scratch]; ld.param.u64 %rd11, [data];
  mul.wide.u32 %rd13, %tid, 4; add.u64 %rd14, %rd0, %rd13; setp.lt.u32 %p0, %tid, 32; @%p0 ld.b32 %r1, [%rd14];
  add.u64 %rd15, %rd10, %rd13; @%p0 st.global.b32 [%rd15], %r1; bar.sync 0;
  @%leader tensormap.replace.tile.global_address.global.b1024.b64 [%rd10], %rd11;
  {release} bar.sync 0; {acquire}"""
    + INIT.format(count=1)
    + """
  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 1024;
  @%leader cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes
    [%tile], [%rd10, {{0, 0}}], [%bars];
  """
    + wait()
)
RELEASE = "fence.proxy.tensormap::generic.release.gpu;"
ACQUIRE = "fence.proxy.tensormap::generic.acquire.gpu [%rd10], 128;"


def edit(release: str = RELEASE, acquire: str = ACQUIRE, hazards: bool = True) -> None:
    """A kernel copies its parameter's map to global memory and gives the copy another base."""
    rng = np.random.default_rng(9)
    first, second = rng.integers(0, 1 << 16, (2, 8, 64), dtype=np.uint16)
    memory = GlobalMemory()
    tensor = TensorMap(memory.put(first), "u16", dims_of(first), strides_of(first), (64, 8))
    arguments = [tensor, memory.put(second), memory.alloc(128)]
    body = EDIT.format(release=release, acquire=acquire)
    ptx = kernel(body, [MAP, ".param .u64 data", ".param .u64 scratch"])
    shared = launch(ptx, (2,), (64,), arguments, memory, hazards=hazards).shared
    assert shared[0][:1024].tobytes() == second.tobytes()


def test_a_copy_of_a_map_gets_another_base() -> None:
    edit()
    edit(hazards=False)
    edit(release="", acquire="", hazards=False)


@pytest.mark.parametrize(
    ("release", "acquire", "message"),
    [(RELEASE, "", "needs fence.proxy.tensormap::generic.acquire"), ("", ACQUIRE, "was changed and not released")],
)
def test_maps_need_their_fences(release: str, acquire: str, message: str) -> None:
    with pytest.raises(HazardError, match=message):
        edit(release, acquire)


def test_prefetches_of_maps_are_accepted() -> None:
    body = """mov.b64 %rd0, map; cvta.param.u64 %rd0, %rd0; prefetch.tensormap [%rd0]; prefetch.param.tensormap [map];
      cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd0, {0, 0}];"""
    memory = GlobalMemory()
    tensor = TensorMap(memory.alloc(1024), "u16", (64, 8), (128,), (64, 8))
    launch(kernel(body, [MAP]), (1,), (32,), [tensor], memory)
    with pytest.raises(SimulatorError, match="a tile map of 2 dimensions"):
        launch(kernel(body.replace("2d.L2.global.tile [%rd0, {0, 0}]", "3d.L2.global.tile [%rd0, {0, 0, 0}]"), [MAP]),
               (1,), (32,), [tensor], memory)  # fmt: skip
