"""Instructions of sm_100 and newer: 256-bit accesses, vector atomics, packed f32, mixed precision, three operands."""

from fractions import Fraction

import numpy as np
import pytest

from ptxsim import GlobalMemory, HazardError, MisalignedError, launch
from tests.runtime import rational
from tests.runtime.harness import LANES, assert_same_floats, floats, integers, run_lanes

F16 = np.float16


def exact(values: np.ndarray) -> list[Fraction | float]:
    return [Fraction(float(v)) if np.isfinite(v) else float(v) for v in values]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "fma"])
def test_packed_f32(operation: str, mode: str) -> None:
    rng = np.random.default_rng(1)
    pairs = [np.stack([floats(rng, np.float32, 20), floats(rng, np.float32, 20)], axis=1) for _ in range(3)]
    names = ["%a", "%b", "%c"][: 3 if operation == "fma" else 2]
    inputs = [pair.view(np.uint64)[:, 0] for pair in pairs[: len(names)]]
    found = run_lanes(f"{operation}.{mode}.f32x2 %o, {', '.join(names)};", *inputs, out=np.uint64)
    for half, registers in ((0, "{%f0, _}"), (1, "{_, %f0}")):
        moves = " ".join(f"mov.b64 {registers.replace('%f0', f'%s{n}')}, {name};" for n, name in enumerate(names))
        sources = ", ".join(f"%s{n}" for n in range(len(names)))
        code = f"{{ .reg .f32 %s<3>; {moves} {operation}.{mode}.f32 %o, {sources}; }}"
        scalar = run_lanes(code, *inputs, out=np.float32)
        assert_same_floats(np.ascontiguousarray(found.view(np.float32).reshape(-1, 2)[:, half]), scalar)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source", ["f16", "bf16"])
def test_f32_with_16_bit_sources(source: str, mode: str) -> None:
    rng = np.random.default_rng(2)
    h = [floats(rng, F16, 6) for _ in range(2)]
    raw = h if source == "f16" else [(v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for v in h]
    wide = [
        v.astype(np.float64) if source == "f16" else (v.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        for v in raw
    ]
    c = floats(rng, np.float32, 6)
    finite = np.isfinite(wide[0]) & np.isfinite(wide[1]) & np.isfinite(c)
    for code, terms in (
        (f"fma.{mode}.f32.{source} %o, %a, %b, %c;", lambda x, y, z: x * y + z),
        (f"add.{mode}.f32.{source} %o, %a, %c;", lambda x, _, z: x + z),
        (f"sub.{mode}.f32.{source} %o, %a, %c;", lambda x, _, z: x - z),
    ):
        found = run_lanes(code, *raw, c, out=np.float32)
        for lane in np.flatnonzero(finite):
            value = terms(*(Fraction(float(v[lane])) for v in (*wide, c)))
            assert float(found[lane]) == rational.round_to(value, "f32", mode)


@pytest.mark.parametrize("modifier", ["", ".NaN", ".abs", ".NaN.abs"])
@pytest.mark.parametrize("operation", ["min", "max"])
def test_three_operands(operation: str, modifier: str) -> None:
    rng = np.random.default_rng(3)
    values = [floats(rng, np.float32, 3) for _ in range(3)]
    found = run_lanes(f"{operation}{modifier}.f32 %o, %a, %b, %c;", *values, out=np.float32)
    sides = np.abs(values) if "abs" in modifier else np.array(values)
    choose = {"min": np.fmin, "max": np.fmax}[operation].reduce(sides)
    if "NaN" in modifier:
        choose = np.where(np.isnan(sides).any(axis=0), np.float32(np.nan), choose)
    np.testing.assert_array_equal(found, choose)


@pytest.mark.parametrize(("shape", "register"), [("v8.b32", "%r"), ("v4.b64", "%x"), ("v8.f32", "%f")])
def test_256_bit_accesses(shape: str, register: str) -> None:
    rng = np.random.default_rng(4)
    count = int(shape[1])
    data = rng.integers(0, 2**32, (64, 8)).astype(np.uint32)
    names = ", ".join(f"{register}{10 + n}" for n in range(count))
    turned = ", ".join(f"{register}{10 + (n + 1) % count}" for n in range(count))
    ptx = f""".version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 p, .param .u64 q) {{
  .reg .b64 %rd<4>; .reg .b64 %x<20>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .pred %p0;
  ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [q]; mov.u32 %r0, %tid.x; setp.ne.u32 %p0, %r0, 5;
  mad.wide.u32 %rd0, %r0, 32, %rd0; mad.wide.u32 %rd1, %r0, 32, %rd1;
  @%p0 ld.global.L2::evict_last.{shape} {{{names}}}, [%rd0];
  @%p0 st.{shape} [%rd1], {{{turned}}};
  ret; }}"""
    memory = GlobalMemory()
    source, target = memory.put(data), memory.alloc(data.nbytes)
    report = launch(ptx, (1,), (64,), [source, target], memory, hazards=True)
    words = 1 if "32" in shape else 2
    expected = np.roll(data, -words, axis=1)
    expected[5] = 0xFFFFFFFF
    np.testing.assert_array_equal(memory.get(target, data.shape, np.uint32), expected)
    assert [entry.per_access for entry in report.sectors.values()] == [31.5, 31.5]
    with pytest.raises(MisalignedError, match="is not a multiple of 32"):
        launch(ptx, (1,), (8,), [int(source) + 16, target], memory)


def _on_word(body: str, data: np.ndarray, threads: int = 96, hazards: bool = True) -> np.ndarray:
    """Run with %rd0 at an array and thread number %r0; the array afterwards."""
    ptx = f""".version 8.8
.target sm_100
.address_size 64
.visible .entry k(.param .u64 p) {{
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b16 %h<20>; .reg .b128 %q<4>; .reg .pred %p<3>;
  .shared .align 16 .b8 buffer[1024];
  ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;
  {body}
  ret; }}"""
    memory = GlobalMemory()
    address = memory.put(data)
    launch(ptx, (1,), (threads,), [address], memory, hazards=hazards)
    return memory.get(address, data.shape, data.dtype)


SUMS = (
    "red.global.add.v4.f32 [%rd0], {%f1, %f2, %f3, %f4}",
    "atom.global.v4.f32.add {%f5, %f6, %f7, %f8}, [%rd0], {%f1, %f2, %f3, %f4}",
)


@pytest.mark.parametrize("form", SUMS, ids=["red", "atom"])
def test_vector_atomics(form: str) -> None:
    start = np.array([1, 2, 3, 4], np.float32)
    body = " ".join(f"add.u32 %r{n}, %r0, {n}; cvt.rn.f32.u32 %f{n}, %r{n};" for n in (1, 2, 3, 4)) + f"{form};"
    found = _on_word(body, start)
    np.testing.assert_array_equal(found, start + np.arange(96).sum() + 96 * np.arange(1, 5))


def test_vector_minimum_of_halves() -> None:
    start = np.array([500, 10, -7, 4], np.float16)
    body = """cvt.rn.f16.u32 %h1, %r0; neg.f16 %h2, %h1;
      red.global.min.noftz.v4.f16 [%rd0], {%h1, %h2, %h1, %h2};"""
    np.testing.assert_array_equal(_on_word(body, start), [0, -95, -7, -95])


def test_128_bit_exchange_and_compare() -> None:
    start = np.array([7, 9], np.uint64)
    body = """mov.u64 %rd1, 7; mov.u64 %rd2, 9; mov.b128 %q0, {%rd1, %rd2}; cvt.u64.u32 %rd3, %r0;
      add.u64 %rd4, %rd3, 5; mov.b128 %q1, {%rd3, %rd4}; atom.global.cas.b128 %q2, [%rd0], %q0, %q1;
      setp.eq.u32 %p0, %r0, 90;
      @%p0 atom.global.exch.b128 %q3, [%rd0], %q2;"""
    # thread 0 finds (7, 9) and stores (0, 5); thread 90 then stores what it found
    np.testing.assert_array_equal(_on_word(body, start), [0, 5])


def test_clearing_shared_memory() -> None:
    body = """mov.u32 %r1, buffer; mad.lo.u32 %r2, %r0, 8, %r1; st.shared.u32 [%r2], %r0; st.shared.u32 [%r2+4], %r0;
      bar.sync 0; setp.eq.u32 %p0, %r0, 0; cvta.shared.u64 %rd1, %rd2; mov.u64 %rd3, 96;
      @%p0 st.bulk.weak.shared::cta [%r1], %rd3, 0; bar.sync 0; ld.shared.u32 %r3, [%r2];
      mad.wide.u32 %rd4, %r0, 4, %rd0; st.global.u32 [%rd4], %r3;""".replace("cvta.shared.u64 %rd1, %rd2;", "")
    found = _on_word(body, np.ones(96, np.uint32))
    np.testing.assert_array_equal(found, np.where(np.arange(96) < 12, 0, np.arange(96)))
    with pytest.raises(HazardError, match="race"):
        _on_word(body.replace("0; bar.sync 0; ld.shared", "0; ld.shared"), np.ones(96, np.uint32))


def test_discarded_lines_are_lost_and_clocks_move_on() -> None:
    start = np.arange(128, dtype=np.uint32)
    body = """setp.eq.u32 %p0, %r0, 3; add.u64 %rd1, %rd0, 128; @%p0 discard.global.L2 [%rd1], 128;
      mov.u64 %rd2, %clock64; mov.u64 %rd3, %clock64; setp.gt.u64 %p1, %rd3, %rd2; mov.u64 %rd4, %globaltimer;
      add.u64 %rd5, %rd4, 20000;
    again: mov.u64 %rd4, %globaltimer; setp.lt.u64 %p2, %rd4, %rd5; @%p2 bra again;
      @%p1 st.global.u32 [%rd0+4], 77;"""
    found = _on_word(body, start, hazards=False)
    expected = start.copy()
    expected[32:64], expected[1] = 0xFFFFFFFF, 77
    np.testing.assert_array_equal(found, expected)


def test_hints_change_nothing() -> None:
    body = """createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5; mad.wide.u32 %rd2, %r0, 4, %rd0;
      createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %rd3, [%rd0], 256, 1024;
      prefetch.global.L2::evict_last [%rd2]; applypriority.global.L2::evict_normal [%rd0], 128; pmevent 3;
      ld.global.nc.L1::evict_first.L2::cache_hint.b32 %r1, [%rd2], %rd1; add.u32 %r1, %r1, 1;
      st.global.L1::no_allocate.L2::cache_hint.b32 [%rd2], %r1, %rd3;"""
    start = np.arange(96, dtype=np.uint32) * 3
    np.testing.assert_array_equal(_on_word(body, start), start + 1)


def test_find_nth_set_bit() -> None:
    rng = np.random.default_rng(7)
    mask = integers(rng, np.uint32)
    base = rng.integers(0, 32, LANES).astype(np.uint32)
    offset = rng.integers(-6, 7, LANES).astype(np.int32)
    found = run_lanes("fns.b32 %o, %a, %b, %c;", mask, base, offset, out=np.uint32)
    for m, b, n, got in zip(mask.tolist(), base.tolist(), offset.tolist(), found.tolist(), strict=True):
        places = [p for p in range(32) if m >> p & 1]
        if n == 0:
            expected = b if b in places else 2**32 - 1
        else:
            ahead = [p for p in places if p >= b] if n > 0 else [p for p in reversed(places) if p <= b]
            expected = ahead[abs(n) - 1] if len(ahead) >= abs(n) else 2**32 - 1
        assert got == expected


def test_small_integer_forms() -> None:
    rng = np.random.default_rng(8)
    a, b, c = (integers(rng, np.int32) for _ in range(3))
    found = run_lanes("add.u16x2 %o, %a, %b;", a, b, out=np.uint32)
    np.testing.assert_array_equal(found.view(np.uint16), a.view(np.uint16) + b.view(np.uint16))
    found = run_lanes("mad24.hi.sat.s32 %o, %a, %b, %c;", a, b, c, out=np.int32)
    low = [(v.astype(np.int64) << 40) >> 40 for v in (a, b)]
    np.testing.assert_array_equal(found, np.clip((low[0] * low[1] >> 16) + c, -(2**31), 2**31 - 1))
    found = run_lanes(
        "setp.lt.s32 %p, %a, %b; lop3.or.b32 %t0|%q, %a, %b, %c, 0x96, !%p; selp.u32 %o, 1, 0, %q;",
        a,
        b,
        c,
        out=np.uint32,
    )
    np.testing.assert_array_equal(found, ((a ^ b ^ c) != 0) | ~(a < b))
