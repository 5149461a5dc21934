"""Loads, stores, atomics and copies: values, vectors, spaces, traffic counts, faults."""

from collections.abc import Callable

import numpy as np
import pytest

from ptxsim import GlobalMemory, LaunchError, MisalignedError, OutOfBoundsError, launch
from tests.runtime.harness import LANES, integers, run_lanes


def kernel(body: str, parameters: str = ".param .u64 a, .param .u64 b", shared: int = 4096) -> str:
    return f""".version 8.8
.target sm_90
.address_size 64
.shared .align 16 .b8 buffer[{shared}];
.visible .entry k({parameters})
{{
  .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>; .reg .b128 %q<2>;
  mov.u32 %r0, %tid.x;
  ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b];
{body}
  ret;
}}"""


def test_put_and_get_are_inverse() -> None:
    memory = GlobalMemory()
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal((3, 5)).astype(np.float16), np.arange(7, dtype=np.int64), np.array(3.5)]
    addresses = [memory.put(a) for a in arrays]
    for array, address in zip(arrays, addresses, strict=True):
        np.testing.assert_array_equal(memory.get(address, array.shape, array.dtype), array)
    np.testing.assert_array_equal(memory.get(addresses[1] + 16, (2,), np.int64), [2, 3])
    with pytest.raises(LaunchError, match="not inside one allocation"):
        memory.get(addresses[1], (8,), np.int64)
    transposed = arrays[0].T
    np.testing.assert_array_equal(memory.get(memory.put(transposed), (5, 3), np.float16), transposed)


@pytest.mark.parametrize(
    ("type_", "lanes"), [("u32", 1), ("u32", 2), ("u32", 4), ("b64", 2), ("b16", 4), ("u8", 4), ("b8", 2), ("f32", 4)]
)
@pytest.mark.parametrize("space", ["global", "shared", ""])
def test_vectors_round_trip(type_: str, lanes: int, space: str) -> None:
    rng = np.random.default_rng(1)
    bits = int(type_[1:])
    data = np.frombuffer(rng.bytes(64 * lanes * bits // 8), np.uint8)
    prefix = {8: "%h", 16: "%h", 32: "%r", 64: "%rd"}[bits] if type_ != "f32" else "%f"
    items = ", ".join(f"{prefix}{n + 4}" for n in range(lanes))
    vector = f"v{lanes}." if lanes > 1 else ""
    items = f"{{{items}}}" if lanes > 1 else items
    size = lanes * bits // 8
    dot = f".{space}" if space else ""
    through = f"""
      mad.wide.u32 %rd0, %r0, {size}, %rd0; mad.wide.u32 %rd1, %r0, {size}, %rd1;
      mov.u32 %r1, buffer; mad.lo.u32 %r1, %r0, {size}, %r1; cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd3, %rd2;
      ld.global.{vector}{type_} {items}, [%rd0];"""
    if space == "shared":
        through += f"st.shared.{vector}{type_} [%r1], {items}; ld.shared.{vector}{type_} {items}, [%r1];"
    elif space == "":
        through += f"st.{vector}{type_} [%rd3], {items}; ld.{vector}{type_} {items}, [%rd3];"
    store = f"st{dot if space != 'shared' else '.global'}.{vector}{type_} [%rd1], {items};"
    memory = GlobalMemory()
    a, b = memory.put(data), memory.alloc(data.nbytes)
    launch(kernel(through + store), (1,), (64,), [a, b], memory, hazards=True)
    np.testing.assert_array_equal(memory.get(b, data.shape, np.uint8), data)


def test_b128_moves_whole() -> None:
    data = np.random.default_rng(2).integers(0, 2**63, 64).astype(np.uint64)
    body = """mad.wide.u32 %rd0, %r0, 16, %rd0; mad.wide.u32 %rd1, %r0, 16, %rd1;
      ld.global.b128 %q0, [%rd0]; mov.b128 {%rd4, %rd5}, %q0; mov.b128 %q1, {%rd5, %rd4}; st.global.b128 [%rd1], %q1;"""
    memory = GlobalMemory()
    a, b = memory.put(data), memory.alloc(data.nbytes)
    launch(kernel(body), (1,), (32,), [a, b], memory)
    np.testing.assert_array_equal(memory.get(b, (32, 2), np.uint64), data.reshape(32, 2)[:, ::-1])


def test_narrow_loads_extend_into_wide_registers() -> None:
    a = integers(np.random.default_rng(3), np.int8)
    code = (
        "ld.param.u64 %u0, [p0]; cvt.u64.u32 %u1, %lane; add.u64 %u0, %u0, %u1;"
        "ld.global.s8 %t0, [%u0]; ld.global.u8 %t1, [%u0]; shl.b32 %t1, %t1, 16; xor.b32 %o, %t0, %t1;"
    )
    found = run_lanes(code, a, out=np.int32)
    np.testing.assert_array_equal(found, a.astype(np.int32) ^ (a.view(np.uint8).astype(np.int32) << 16))


def test_cache_and_eviction_hints_are_accepted() -> None:
    body = """mad.wide.u32 %rd0, %r0, 16, %rd0; mad.wide.u32 %rd1, %r0, 16, %rd1;
      createpolicy.fractional.L2::evict_first.b64 %rd9, 1.0;
      ld.global.nc.L1::no_allocate.L2::128B.v4.b32 {%r4, %r5, %r6, %r7}, [%rd0];
      ld.global.L1::evict_last.L2::cache_hint.b32 %r4, [%rd0], %rd9;
      st.global.cg.b32 [%rd1], %r4; st.global.L1::evict_first.v2.b32 [%rd1+8], {%r6, %r7};
      st.relaxed.gpu.global.b32 [%rd1+4], %r5; membar.gl; fence.acq_rel.gpu; fence.sc.cta; prefetch.global.L2 [%rd0];"""
    data = np.arange(128, dtype=np.uint32)
    memory = GlobalMemory()
    a, b = memory.put(data), memory.alloc(data.nbytes)
    launch(kernel(body), (1,), (32,), [a, b], memory)
    np.testing.assert_array_equal(memory.get(b, (128,), np.uint32), data)


@pytest.mark.parametrize(
    ("size", "stride", "extra"),
    [
        (4, 4, 0), (4, 8, 1), (4, 128, 31), (4, 0, 0), (4, 12, 0), (8, 8, 0), (8, 16, 2), (16, 16, 0), (16, 32, 4),
        (16, 128, 28), (2, 2, 0), (1, 128, 31),
    ],
)  # fmt: skip
def test_bank_conflicts_by_stride(size: int, stride: int, extra: int) -> None:
    """64-bit accesses go by half warps, 128-bit ones by quarter warps; equal words are shared."""
    body = f"""mov.u32 %r1, buffer; mad.lo.u32 %r1, %r0, {stride}, %r1;
      {"ld.shared.u8 %h0, [%r1];" if size == 1 else ""}
      {"ld.shared.u16 %h0, [%r1];" if size == 2 else ""}
      {"ld.shared.b32 %r4, [%r1];" if size == 4 else ""}
      {"ld.shared.v2.b32 {%r4, %r5}, [%r1];" if size == 8 else ""}
      {"ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1];" if size == 16 else ""}"""
    memory = GlobalMemory()
    report = launch(kernel(body), (3,), (64,), [memory.alloc(8)] * 2, memory) if stride * 64 <= 4096 else None
    if report is None:
        report = launch(kernel(body, shared=8192), (3,), (64,), [memory.alloc(8)] * 2, memory)
    assert sum(report.bank_conflicts.values()) == 3 * 2 * extra


@pytest.mark.parametrize(("stride", "per_access"), [(4, 4), (8, 8), (32, 32), (0, 1), (128, 32)])
def test_sectors_by_stride(stride: int, per_access: int) -> None:
    body = f"""mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 64, %r0; mad.wide.u32 %rd0, %r1, {stride}, %rd0;
      ld.global.b32 %r4, [%rd0];"""
    memory = GlobalMemory()
    address = memory.alloc(128 * 64 * 5)
    ptx = kernel(body)
    report = launch(ptx, (5,), (64,), [address, address], memory)
    line = next(n for n, text in enumerate(ptx.splitlines(), 1) if "ld.global" in text)
    assert report.sectors[line].accesses == 10
    assert report.sectors[line].per_access == per_access


@pytest.mark.parametrize(
    "access", ["ld.global.b32 %r4, [%rd0];", "st.global.b32 [%rd0], %r0;", "red.global.add.u32 [%rd0], 1;"]
)
@pytest.mark.parametrize(("offset", "where"), [(0, 40), (-4, 0), (1 << 34, 0), (-(1 << 36), 0)])
def test_global_accesses_outside_an_allocation_are_caught(access: str, offset: int, where: int) -> None:
    body = f"""mul.wide.u32 %rd2, %r0, 4; add.s64 %rd0, %rd0, %rd2; add.s64 %rd0, %rd0, {offset};
      {access}"""
    memory = GlobalMemory()
    memory.alloc(4096)
    address = memory.alloc(40 * 4)
    memory.alloc(4096)
    ptx = kernel(body)
    with pytest.raises(OutOfBoundsError) as caught:
        launch(ptx, (1,), (64,), [address, address], memory)
    line = next(n for n, text in enumerate(ptx.splitlines(), 1) if access in text)
    assert caught.value.line == line
    assert caught.value.text == access
    assert f"thread ({where},0,0) of CTA (0,0,0)" in str(caught.value)
    assert "4 bytes at byte" in str(caught.value)


def test_wild_addresses_are_caught() -> None:
    memory = GlobalMemory()
    with pytest.raises(OutOfBoundsError, match="not near any global allocation"):
        launch(kernel("mov.u64 %rd2, 0; ld.global.b32 %r4, [%rd2+16];"), (1,), (32,), [memory.alloc(8)] * 2, memory)
    truncated = "cvt.u32.u64 %r4, %rd0; cvt.u64.u32 %rd2, %r4; st.global.b32 [%rd2], %r0;"
    with pytest.raises(OutOfBoundsError, match="not near any global allocation"):
        launch(kernel(truncated), (1,), (32,), [memory.alloc(8)] * 2, memory)


@pytest.mark.parametrize("offset", [4096 - 60 * 4, -16])
def test_shared_accesses_outside_the_cta_are_caught(offset: int) -> None:
    body = f"mov.u32 %r1, buffer; mad.lo.u32 %r1, %r0, 4, %r1; st.shared.b32 [%r1+{offset}], %r0;"
    memory = GlobalMemory()
    with pytest.raises(
        OutOfBoundsError, match=r"thread \((60|0),0,0\) of CTA \(0,0,0\).*shared address.*of 4096 bytes"
    ):
        launch(kernel(body), (2,), (64,), [memory.alloc(8)] * 2, memory)


@pytest.mark.parametrize(
    "access",
    [
        "ld.global.v4.b32 {%r4,%r5,%r6,%r7}, [%rd0+8];",
        "ld.shared.b64 %rd4, [%r1+4];",
        "cp.async.cg.shared.global [%r1+8], [%rd0], 16;",
        "cp.async.ca.shared.global [%r1], [%rd0+2], 4;",
        "mov.u32 %r5, 0; cp.async.cg.shared.global [%r1], [%rd0+8], 16, %r5;",  # nothing is read
        "setp.eq.u32 %p0, %r0, %r0; cp.async.cg.shared.global [%r1], [%rd0+8], 16, %p0;",
    ],
)
def test_misaligned_accesses_are_caught(access: str) -> None:
    memory = GlobalMemory()
    with pytest.raises(MisalignedError, match=r"thread \(0,0,0\) of CTA \(0,0,0\).*not a multiple of"):
        launch(kernel(f"mov.u32 %r1, buffer; {access}"), (1,), (32,), [memory.alloc(4096)] * 2, memory)


def test_inactive_lanes_do_not_access() -> None:
    body = """setp.lt.u32 %p0, %r0, 10; mul.wide.u32 %rd2, %r0, 4; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
      mov.u32 %r4, 7; @%p0 ld.global.b32 %r4, [%rd0]; setp.lt.u32 %p1, %r0, 20; @%p1 st.global.b32 [%rd1], %r4;"""
    memory = GlobalMemory()
    a, b = memory.put(np.arange(100, 110, dtype=np.uint32)), memory.alloc(80)
    report = launch(kernel(body), (1,), (50,), [a, b], memory)
    np.testing.assert_array_equal(memory.get(b, (20,), np.uint32), [*range(100, 110), *[7] * 10])
    assert report.instructions["st.global.b32"] == 2


def test_parameters_by_value() -> None:
    ptx = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u8 small, .param .f32 real, .param .u64 .ptr .global .align 16 out,
  .param .align 16 .b8 block[24],
  .param .f64 wide, .param .s32 negative, .param .f16 half)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<2>; .reg .f64 %d<2>; .reg .b16 %h<2>;
  ld.param.u64 %rd0, [out]; ld.param.u8 %r0, [small]; ld.param.f32 %f0, [real]; ld.param.f64 %d0, [wide];
  ld.param.s32 %r1, [negative]; ld.param.b16 %h0, [half]; ld.param.v2.b32 {%r2, %r3}, [block+8];
  mov.b64 %rd1, block; cvta.param.u64 %rd1, %rd1; ld.b64 %rd2, [%rd1+16];
  st.global.u32 [%rd0], %r0; st.global.f32 [%rd0+4], %f0; st.global.f64 [%rd0+8], %d0; st.global.u32 [%rd0+16], %r1;
  st.global.v2.b32 [%rd0+24], {%r2, %r3}; st.global.b64 [%rd0+32], %rd2; st.global.b16 [%rd0+40], %h0;
}"""
    memory = GlobalMemory()
    out = memory.alloc(48)
    block = np.arange(6, dtype=np.uint32)
    launch(ptx, (1,), (1,), [200, 2.5, out, block.tobytes(), -3.25, -7, 1.5], memory)
    words = memory.get(out, (12,), np.uint32)
    assert words[0] == 200
    assert words[1:2].view(np.float32)[0] == 2.5
    assert words[2:4].view(np.float64)[0] == -3.25
    assert words[4:5].view(np.int32)[0] == -7
    np.testing.assert_array_equal(words[6:10], [2, 3, 4, 5])
    assert words[10:11].view(np.float16)[0] == 1.5


ATOMICS: dict[str, Callable[[int, int], int]] = {
    "add.u32": lambda old, b: (old + b) & 0xFFFFFFFF,
    "max.u32": max,
    "min.u32": min,
    "and.b32": int.__and__,
    "or.b32": int.__or__,
    "xor.b32": int.__xor__,
    "exch.b32": lambda old, b: b,
    "inc.u32": lambda old, b: 0 if old >= b else old + 1,
    "dec.u32": lambda old, b: b if old == 0 or old > b else old - 1,
}


@pytest.mark.parametrize("operation", ATOMICS)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_take_turns(operation: str, space: str) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 40, 64).astype(np.uint32)
    slots = rng.integers(0, 5, 64).astype(np.uint32)
    start = rng.integers(0, 40, 8).astype(np.uint32)
    fetch = """mul.wide.u32 %rd2, %r0, 4; add.u64 %rd3, %rd0, %rd2; ld.global.b32 %r4, [%rd3];
      ld.global.b32 %r5, [%rd3+256];      mad.wide.u32 %rd5, %r5, 4, %rd1; mov.u32 %r6, buffer;
      mad.lo.u32 %r7, %r5, 4, %r6; mad.lo.u32 %r8, %r0, 4, %r6;
      setp.lt.u32 %p0, %r0, 8; add.u64 %rd4, %rd1, %rd2;"""
    if space == "shared":
        body = (
            fetch
            + f"""@%p0 ld.global.b32 %r9, [%rd4]; @%p0 st.shared.b32 [%r8], %r9; bar.sync 0;
          atom.shared.{operation} %r10, [%r7], %r4; bar.sync 0; @%p0 ld.shared.b32 %r9, [%r8];
          @%p0 st.global.b32 [%rd4], %r9;"""
        )
    else:
        body = fetch + f"atom.global.{operation} %r10, [%rd5], %r4;"
    body += "st.global.b32 [%rd3+512], %r10;"
    memory = GlobalMemory()
    a = memory.put(np.concatenate([values, slots, np.zeros(64, np.uint32)]))
    b = memory.put(start)
    launch(kernel(body), (1,), (64,), [a, b], memory, hazards=True)
    cells, old = start.tolist(), []
    for value, slot in zip(values.tolist(), slots.tolist(), strict=True):
        old.append(cells[slot])
        cells[slot] = ATOMICS[operation](cells[slot], value)
    np.testing.assert_array_equal(memory.get(b, (8,), np.uint32), cells)
    np.testing.assert_array_equal(memory.get(a + 512, (64,), np.uint32), old)


def test_float_atomics_and_compare_and_swap() -> None:
    rng = np.random.default_rng(6)
    data = rng.integers(-50, 50, LANES).astype(np.float32)
    memory = GlobalMemory()
    a, b = memory.put(data[:64]), memory.put(np.array([0.5, 0, 0, 0], np.float32))
    body = """mul.wide.u32 %rd2, %r0, 4; add.u64 %rd2, %rd0, %rd2; ld.global.f32 %f0, [%rd2];
      red.relaxed.gpu.global.add.f32 [%rd1], %f0; cvt.rn.f16x2.f32 %r4, %f0, %f0;
      mov.u32 %r5, 0; atom.global.cas.b32 %r6, [%rd1+8], %r5, %r0; red.global.add.u32 [%rd1+12], 2;"""
    launch(kernel(body), (1,), (64,), [a, b], memory)
    found = memory.get(b, (4,), np.float32)
    assert found[0] == 0.5 + data[:64].sum()
    assert found[2:].view(np.uint32).tolist() == [1, 128]


def test_packed_half_atomic() -> None:
    memory = GlobalMemory()
    a, b = memory.alloc(4), memory.put(np.array([1.5, -2.0], np.float16))
    body = "mov.b32 %r4, 0x3c004000; red.global.add.noftz.f16x2 [%rd1], %r4;"
    launch(kernel(body), (2,), (32,), [a, b], memory)
    np.testing.assert_array_equal(memory.get(b, (2,), np.float16), [1.5 + 64 * 2, -2.0 + 64])


@pytest.mark.parametrize("hazards", [False, True])
@pytest.mark.parametrize("size", [4, 8, 16])
def test_cp_async_with_source_size_fills_with_zeros(size: int, hazards: bool) -> None:
    rng = np.random.default_rng(7)
    data = rng.integers(1, 255, 32 * size).astype(np.uint8)
    lengths = rng.integers(0, size + 1, 32).astype(np.uint32)
    body = f"""mad.wide.u32 %rd3, %r0, 4, %rd1; ld.global.u32 %r4, [%rd3]; mad.wide.u32 %rd0, %r0, {size}, %rd0;
      mov.u32 %r1, buffer; mad.lo.u32 %r1, %r0, {size}, %r1;
      cp.async.ca.shared.global.L2::64B [%r1], [%rd0], {size}, %r4; cp.async.commit_group;
      cp.async.wait_group 0; bar.sync 0; ld.shared.b32 %r5, [%r1];
      mad.wide.u32 %rd3, %r0, 4, %rd1; st.global.b32 [%rd3], %r5;"""
    memory = GlobalMemory()
    a, b = memory.put(data), memory.put(lengths)
    report = launch(kernel(body), (1,), (32,), [a, b], memory, hazards=hazards)
    expected = data.reshape(32, size).copy()
    expected[np.arange(size)[None] >= lengths[:, None]] = 0
    np.testing.assert_array_equal(report.shared[0, : 32 * size].reshape(32, size), expected)
    np.testing.assert_array_equal(memory.get(b, (32,), np.uint32), expected[:, :4].copy().view(np.uint32)[:, 0])


def test_cp_async_never_reads_beyond_its_source_size() -> None:
    memory = GlobalMemory()
    a = memory.put(np.arange(20, dtype=np.uint8))
    body = """mov.u32 %r1, buffer; setp.eq.u32 %p0, %r0, 0; @!%p0 bra done; add.u64 %rd2, %rd0, 16;
      cp.async.cg.shared.global [%r1], [%rd2], 16, 4; setp.eq.u32 %p1, %r0, 0; add.u64 %rd3, %rd0, 4096;
      cp.async.cg.shared.global [%r1+16], [%rd3], 16, 0; cp.async.ca.shared.global [%r1+32], [%rd3], 4, %p1; done:"""
    report = launch(kernel(body), (1,), (32,), [a, a], memory)
    np.testing.assert_array_equal(report.shared[0, :36], [16, 17, 18, 19] + [0] * 32)
    with pytest.raises(OutOfBoundsError, match="16 bytes at byte 16"):
        launch(kernel(body.replace("16, 4;", "16;")), (1,), (32,), [a, a], memory)


def test_a_register_without_a_percent_sign_is_an_address() -> None:
    body = """.reg .b64 base; .reg .b32 a1; mov.u64 base, %rd0; mul.wide.u32 %rd2, %r0, 8; add.u64 base, base, %rd2;
      ld.global.u32 a1, [base + 4]; add.u64 base, %rd1, %rd2; st.global.u32 [base+0], a1;
      st.global.u32 [base + 0x4], %r0;"""
    memory = GlobalMemory()
    data = np.arange(64, dtype=np.uint32)
    source, target = memory.put(data), memory.alloc(256)
    launch(kernel(body), (1,), (32,), [source, target], memory)
    found = memory.get(target, (32, 2), np.uint32)
    np.testing.assert_array_equal(found, np.stack([data[1::2], np.arange(32)], axis=1))
