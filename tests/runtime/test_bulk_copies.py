"""cp.async.bulk, cp.reduce.async.bulk, st.async and red.async against NumPy, in every direction."""

import ml_dtypes
import numpy as np
import pytest

from ptxsim import GlobalMemory, SimulatorError, launch
from tests.runtime.async_harness import DUMP, FILL, INIT, kernel, wait

PARAMETERS = [".param .u64 data", ".param .u64 out"]
TO_SHARED = (
    INIT.format(count=1)
    + """ld.param.u64 %rd0, [data];
  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], {size};
  @%leader cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes{hint}
    [%tile+64], [%rd0+16], {size}, [%bars]{policy};
"""
)
DUMP_OUT = "ld.param.u64 %rd20, [out]; mov.u32 %r50, {size}; add.u32 %r51, %tile, 64;" + DUMP.replace(
    "{", "{{"
).replace("}", "}}")


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize(("space", "hint", "policy"), [
    ("shared::cluster", "", ""), ("shared::cta", "", ""), ("shared::cluster", ".L2::cache_hint", ", %rd5"),
])  # fmt: skip
def test_global_to_shared(space: str, hint: str, policy: str, hazards: bool) -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 256, 4096, dtype=np.uint8)
    memory = GlobalMemory()
    arguments = [memory.put(data), memory.alloc(2048)]
    body = "mov.b64 %rd5, 0x14F0000000000000;" + TO_SHARED.format(space=space, size=2048, hint=hint, policy=policy)
    launch(
        kernel(body + wait() + DUMP_OUT.format(size=2048), PARAMETERS), (2,), (64,), arguments, memory, hazards=hazards
    )
    np.testing.assert_array_equal(memory.get(arguments[1], 2048, np.uint8), data[16:2064])


FROM_SHARED = (
    """ld.param.u64 %rd20, [data]; mov.u32 %r50, 2048; mov.u32 %r51, %tile;"""
    + FILL.replace("{", "{{").replace("}", "}}")
    + """fence.proxy.async.shared::cta; bar.sync 0; ld.param.u64 %rd0, [out];
  {mask} @%leader cp{reduce}.async.bulk.global.shared::cta.bulk_group{operation} [%rd0+32], [%tile+16], 1024{extra};
  @%leader cp.async.bulk.commit_group; @%leader cp.async.bulk.wait_group 0;"""
)


def from_shared(data: np.ndarray, before: np.ndarray, operation: str = "", mask: str = "", extra: str = "",
                hazards: bool = True) -> np.ndarray:  # fmt: skip
    memory = GlobalMemory()
    arguments = [memory.put(data), memory.put(before)]
    reduce = ".reduce" if operation and "mask" not in operation else ""
    body = FROM_SHARED.format(operation=operation, mask=mask, extra=extra, reduce=reduce)
    launch(kernel(body, PARAMETERS), (1,), (64,), arguments, memory, hazards=hazards)
    return memory.get(arguments[1], before.shape, before.dtype)


@pytest.mark.parametrize("hazards", [False, True])
def test_shared_to_global(hazards: bool) -> None:
    rng = np.random.default_rng(2)
    data, before = rng.integers(0, 256, (2, 2048), dtype=np.uint8)
    expected = before.copy()
    expected[32:1056] = data[16:1040]
    np.testing.assert_array_equal(from_shared(data, before, hazards=hazards), expected)
    chosen = np.tile([bool(0xA5F0 >> bit & 1) for bit in range(16)], 64)
    expected[32:1056] = np.where(chosen, data[16:1040], before[32:1056])
    masked = from_shared(data, before, ".cp_mask", "mov.b16 %h0, 0xA5F0;", ", %h0", hazards)
    np.testing.assert_array_equal(masked, expected)


@pytest.mark.parametrize(
    ("operation", "dtype"),
    [
        *((f".{name}.{kind}", dtype) for name in ("add", "min", "max") for kind, dtype in
          (("u32", np.uint32), ("s32", np.int32), ("u64", np.uint64), ("s64", np.int64))
          if (name, kind) != ("add", "s64")),
        (".inc.u32", np.uint32), (".dec.u32", np.uint32), (".and.b32", np.uint32), (".or.b64", np.uint64),
        (".xor.b32", np.uint32), (".add.f32", np.float32), (".add.f64", np.float64), (".add.noftz.f16", np.float16),
        (".add.noftz.bf16", ml_dtypes.bfloat16), (".min.f16", np.float16), (".max.bf16", ml_dtypes.bfloat16),
    ],
)  # fmt: skip
def test_reductions_in_global_memory(operation: str, dtype: type) -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((2, 2048)) * 40
    data, before = (np.abs(values) if np.dtype(dtype).kind == "u" else values).astype(dtype)[
        :, : 2048 // np.dtype(dtype).itemsize
    ]
    name = operation.split(".")[1]
    size = data.itemsize
    old, new = before[32 // size : 1056 // size], data[16 // size : 1040 // size]
    if name in ("inc", "dec"):
        result = np.where(old >= new, 0, old + 1) if name == "inc" else np.where((old == 0) | (old > new), new, old - 1)
    elif name in ("and", "or", "xor"):
        result = {"and": old & new, "or": old | new, "xor": old ^ new}[name]
    else:
        wide = [part.astype(np.float64) if size == 2 else part for part in (old, new)]
        result = {"add": np.add, "min": np.minimum, "max": np.maximum}[name](*wide)
    expected = before.copy()
    expected[32 // size : 1056 // size] = result.astype(dtype)
    found = from_shared(data, before, operation)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (".add.f16", "cp.reduce"), (".min.f32", "cp.reduce"), (".add.noftz.f32", "cp.reduce"),
        (".inc.s32", "cp.reduce"), (".add.b32", "cp.reduce"),
    ],
)  # fmt: skip
def test_reductions_that_ptx_lacks_are_refused(operation: str, message: str) -> None:
    with pytest.raises(SimulatorError, match=message):
        from_shared(np.zeros(2048, np.uint8), np.zeros(2048, np.uint8), operation)


TO_PEER = (
    """
  ld.param.u64 %rd20, [data]; mov.u32 %r50, 1024; mov.u32 %r51, %source;
  mov.u32 %r20, %cluster_ctarank; mul.wide.u32 %rd22, %r20, 1024; add.u64 %rd20, %rd20, %rd22;
  """
    + FILL.replace("{", "{{").replace("}", "}}")
    + """
  mov.b32 %r21, 5; shl.b32 %r22, %tid, 4; add.u32 %r22, %r22, %tile;
      st.shared.v4.b32 [%r22], {{%r21, %r21, %r21, %r21}};
  @%leader mbarrier.init.shared::cta.b64 [%bars], 1; fence.mbarrier_init.release.cluster; fence.proxy.async;
  barrier.cluster.arrive; barrier.cluster.wait;
  xor.b32 %r23, %r20, 1; mapa.shared::cluster.u32 %r24, %tile, %r23; mapa.shared::cluster.u32 %r25, %bars, %r23;
  @%leader mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bars], 1024;
  {copy}
  """
    + wait().replace("{", "{{").replace("}", "}}")
    + """
  ld.param.u64 %rd20, [out]; add.u64 %rd20, %rd20, %rd22; mov.u32 %r50, 1024; mov.u32 %r51, %tile;
  """
    + DUMP.replace("{", "{{").replace("}", "}}")
    + """
  barrier.cluster.arrive; barrier.cluster.wait;"""
)
BULK = (
    "@%leader cp{reduce}.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{op} [%r24], "
    "[%source], 1024, [%r25];"
)
VECTOR = """shl.b32 %r26, %tid, 4; add.u32 %r27, %r26, %source; ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r27];
  add.u32 %r24, %r24, %r26;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r24], {%r30, %r31, %r32, %r33}, [%r25];"""
SCALARS = """shl.b32 %r26, %tid, 4; add.u32 %r27, %r26, %source; add.u32 %r24, %r24, %r26;
  ld.shared.b64 %rd8, [%r27]; st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r24], %rd8, [%r25];
  ld.shared.v2.b32 {%r30, %r31}, [%r27+8];
  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r24+8], %r30, [%r25];
  st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%r24+12], %r31, [%r25];"""
REDUCED = """shl.b32 %r26, %tid, 4; add.u32 %r27, %r26, %source; add.u32 %r24, %r24, %r26;
  ld.shared.v4.b32 {%r30, %r31, %r32, %r33}, [%r27];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r24], %r30, [%r25];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r24+4], %r31, [%r25];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r24+8], %r32, [%r25];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r24+12], %r33, [%r25];"""


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize(
    ("copy", "adds"),
    [
        (BULK.format(reduce="", op=""), False), (BULK.format(reduce=".reduce", op=".add.u32"), True), (VECTOR, False),
        (SCALARS, False), (REDUCED, True),
    ],
    ids=["bulk", "bulk-add", "st.async.v4", "st.async", "red.async"],
)  # fmt: skip
def test_to_the_other_cta_of_a_pair(copy: str, adds: bool, hazards: bool) -> None:
    rng = np.random.default_rng(4)
    data = rng.integers(0, 1 << 32, (2, 256), dtype=np.uint32)
    memory = GlobalMemory()
    arguments = [memory.put(data), memory.alloc(2048)]
    ptx = kernel(TO_PEER.format(copy=copy), PARAMETERS)
    launch(ptx, (2,), (64,), arguments, memory, cluster=(2, 1, 1), hazards=hazards)
    expected = data[::-1] + np.uint32(5 if adds else 0)
    np.testing.assert_array_equal(memory.get(arguments[1], (2, 256), np.uint32), expected)


def test_several_groups_complete_in_order() -> None:
    rng = np.random.default_rng(5)
    data = rng.integers(0, 256, 2048, dtype=np.uint8)
    memory = GlobalMemory()
    arguments = [memory.put(data), memory.alloc(2048)]
    body = (
        """ld.param.u64 %rd20, [data]; mov.u32 %r50, 2048; mov.u32 %r51, %tile;"""
        + FILL
        + """
      fence.proxy.async.shared::cta; bar.sync 0; ld.param.u64 %rd0, [out];
      @!%leader bra DONE;
      cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%tile], 512; cp.async.bulk.commit_group;
      cp.async.bulk.global.shared::cta.bulk_group [%rd0+512], [%tile+512], 512; cp.async.bulk.commit_group;
      cp.async.bulk.wait_group.read 1; mov.b32 %r0, 77; st.shared.b32 [%tile+16], %r0;
      cp.async.bulk.wait_group 1; ld.global.b32 %r1, [%rd0+16]; st.global.b32 [%rd0+1024], %r1;
      cp.async.bulk.wait_group 0;
      DONE:"""
    )
    launch(kernel(body, PARAMETERS), (1,), (64,), arguments, memory, hazards=True)
    found = memory.get(arguments[1], 2048, np.uint8)
    np.testing.assert_array_equal(found[:1024], data[:1024])
    np.testing.assert_array_equal(found[1024:1028], data[16:20])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[%tile+64]", "[%tile+72]"), "shared address 0x448 is not a multiple of 16"),
        (("[%rd0+16]", "[%rd0+8]"), "is not a multiple of 16"),
        ((", 2048, [", ", 2040, ["), "copies 2040 bytes; a bulk copy needs a multiple of 16"),
        (("[%rd0+16]", "[%rd0+4096]"), "not inside one allocation"),
        (("[%tile+64]", "[%tile+40000]"), "byte 40000 of 32800 bytes"),
        (("], [%bars];", "], [%bars+8];"), "completes on something that is not an mbarrier object"),
        (("shared::cta.global.mbarrier", "shared::cta.global.multicast::cluster.mbarrier"), "is not simulated"),
        (("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes", "cp.async.bulk.shared::cta.global"),
         "without one of"),
    ],
)  # fmt: skip
def test_wrong_bulk_copies_are_located(change: tuple[str, str], message: str) -> None:
    body = TO_SHARED.format(space="shared::cta", size=2048, hint="", policy="")
    body = body.replace(*change) if change[0] in body else body.replace("2048, [%bars];", "2048, [%bars+8];")
    memory = GlobalMemory()
    with pytest.raises(SimulatorError, match=message) as caught:
        launch(kernel(body, PARAMETERS), (1,), (32,), [memory.put(np.zeros(4096, np.uint8))] * 2, memory)
    assert caught.value.line is not None


def test_prefetches_only_check_their_operands() -> None:
    memory = GlobalMemory()
    data = memory.put(np.zeros(4096, np.uint8))
    body = "ld.param.u64 %rd0, [data]; @%leader cp.async.bulk.prefetch.L2.global [%rd0+{start}], {size};"
    launch(kernel(body.format(start=96, size=4000), PARAMETERS), (1,), (32,), [data, data], memory)
    with pytest.raises(SimulatorError, match=r"4016 bytes at .* not inside one allocation"):
        launch(kernel(body.format(start=96, size=4016), PARAMETERS), (1,), (32,), [data, data], memory)
