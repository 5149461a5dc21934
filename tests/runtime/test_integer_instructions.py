"""Integer and bit instructions against Python's unbounded integers."""

from collections.abc import Callable

import numpy as np
import pytest

from ptxsim import GlobalMemory, launch
from tests.runtime.harness import LANES, integers, run_lanes
from tests.runtime.test_gemm_ptx import DATA

TYPES = {
    f"{kind}{bits}": np.dtype(f"{'u' if kind in 'ub' else 'i'}{bits // 8}") for kind in "usb" for bits in (16, 32, 64)
}


def _wrap(value: int, dtype: np.dtype) -> int:
    bits = dtype.itemsize * 8
    value %= 1 << bits
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def _check(code: str, out: np.dtype, reference: Callable[..., int], *inputs: np.ndarray) -> None:
    found = run_lanes(code, *inputs, out=out)
    expected = [_wrap(reference(*(int(v) for v in row)), out) for row in zip(*inputs, strict=True)]
    np.testing.assert_array_equal(found, np.array(expected, out))


def _truncated(a: int, b: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul.lo": lambda a, b: a * b,
    "min": min,
    "max": max,
    "div": _truncated,
    "rem": lambda a, b: a - _truncated(a, b) * b,
}


@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("opcode", BINARY)
def test_binary(opcode: str, type_: str) -> None:
    rng = np.random.default_rng(list(f"{opcode}.{type_}".encode()))
    dtype = TYPES[type_]
    _check(f"{opcode}.{type_} %o, %a, %b;", dtype, BINARY[opcode], integers(rng, dtype), integers(rng, dtype))


@pytest.mark.parametrize("type_", ["u16", "s16", "u32", "s32", "u64", "s64"])
def test_high_and_wide_products(type_: str) -> None:
    rng = np.random.default_rng(3)
    dtype = TYPES[type_]
    bits = dtype.itemsize * 8
    a, b, c = (integers(rng, dtype) for _ in range(3))
    _check(f"mul.hi.{type_} %o, %a, %b;", dtype, lambda x, y: (x * y) >> bits, a, b)
    _check(f"mad.hi.{type_} %o, %a, %b, %c;", dtype, lambda x, y, z: ((x * y) >> bits) + z, a, b, c)
    _check(f"mad.lo.{type_} %o, %a, %b, %c;", dtype, lambda x, y, z: x * y + z, a, b, c)
    if bits < 64:
        wide = TYPES[f"{type_[0]}{2 * bits}"]
        _check(f"mul.wide.{type_} %o, %a, %b;", wide, lambda x, y: x * y, a, b)
        _check(f"mad.wide.{type_} %o, %a, %b, %c;", wide, lambda x, y, z: x * y + z, a, b, integers(rng, wide))


@pytest.mark.parametrize("type_", ["s16", "s32", "s64"])
def test_abs_neg_sad(type_: str) -> None:
    rng = np.random.default_rng(4)
    dtype = TYPES[type_]
    a, b, c = (integers(rng, dtype) for _ in range(3))
    _check(f"abs.{type_} %o, %a;", dtype, abs, a)
    _check(f"neg.{type_} %o, %a;", dtype, lambda x: -x, a)
    _check(f"sad.{type_} %o, %a, %b, %c;", dtype, lambda x, y, z: z + abs(x - y), a, b, c)


def test_saturating_add_and_packed_minimum() -> None:
    rng = np.random.default_rng(5)
    a, b = integers(rng, np.int32), integers(rng, np.int32)
    _check("add.sat.s32 %o, %a, %b;", np.dtype(np.int32), lambda x, y: max(-(2**31), min(2**31 - 1, x + y)), a, b)
    _check("sub.sat.s32 %o, %a, %b;", np.dtype(np.int32), lambda x, y: max(-(2**31), min(2**31 - 1, x - y)), a, b)
    found = run_lanes("min.s16x2 %o, %a, %b;", a, b, out=np.int32)
    np.testing.assert_array_equal(found.view(np.int16), np.minimum(a.view(np.int16), b.view(np.int16)))
    relu = run_lanes("max.relu.s32 %o, %a, %b;", a, b, out=np.int32)
    np.testing.assert_array_equal(relu, np.maximum(np.maximum(a, b), 0))


def test_carry_chain_adds_and_multiplies_128_bits() -> None:
    rng = np.random.default_rng(6)
    a, b, c, d = (integers(rng, np.uint64) for _ in range(4))
    add = "add.cc.u64 %u0, %a, %b; addc.u64 %o, %c, %d;"
    _check(add, np.dtype(np.uint64), lambda x, y, z, w: (x + y + ((z + w) << 64)) >> 64, a, b, c, d)
    sub = "sub.cc.u64 %u0, %a, %b; subc.u64 %o, %c, %d;"
    _check(sub, np.dtype(np.uint64), lambda x, y, z, w: (x - y + ((z - w) << 64)) >> 64, a, b, c, d)
    mad = "mad.lo.cc.u64 %u0, %a, %b, %c; madc.hi.u64 %o, %a, %b, %d;"
    _check(mad, np.dtype(np.uint64), lambda x, y, z, w: (x * y + z + (w << 64)) >> 64, a, b, c, d)


def test_24_bit_products() -> None:
    rng = np.random.default_rng(8)
    a, b = integers(rng, np.uint32), integers(rng, np.uint32)

    def low(value: int) -> int:
        return value & 0xFFFFFF

    _check("mul24.lo.u32 %o, %a, %b;", np.dtype(np.uint32), lambda x, y: low(x) * low(y), a, b)
    _check("mul24.hi.u32 %o, %a, %b;", np.dtype(np.uint32), lambda x, y: (low(x) * low(y)) >> 16, a, b)


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_clamp(bits: int) -> None:
    rng = np.random.default_rng(9)
    amount = rng.integers(0, 2 * bits, LANES).astype(np.uint32)
    amount[:4] = [0, bits - 1, bits, 2**32 - 1]
    unsigned, signed = TYPES[f"u{bits}"], TYPES[f"s{bits}"]
    a, s = integers(rng, unsigned), integers(rng, signed)
    _check(f"shl.b{bits} %o, %a, %b;", unsigned, lambda x, n: x << min(n, bits), a, amount)
    _check(f"shr.u{bits} %o, %a, %b;", unsigned, lambda x, n: x >> min(n, bits), a, amount)
    _check(f"shr.s{bits} %o, %a, %b;", signed, lambda x, n: x >> min(n, bits), s, amount)


@pytest.mark.parametrize("side", ["l", "r"])
@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_funnel_shift(side: str, mode: str) -> None:
    rng = np.random.default_rng(10)
    a, b, c = (integers(rng, np.uint32) for _ in range(3))

    def reference(x: int, y: int, n: int) -> int:
        n = min(n, 32) if mode == "clamp" else n & 31
        whole = y << 32 | x
        return (whole << n) >> 32 if side == "l" else whole >> n

    _check(f"shf.{side}.{mode}.b32 %o, %a, %b, %c;", np.dtype(np.uint32), reference, a, b, c)


@pytest.mark.parametrize("table", [0x96, 0xE8, 0x80, 0xFE, 0xC0, 0x1B, 0x00, 0xFF, 0x2A])
def test_lop3(table: int) -> None:
    rng = np.random.default_rng(table)
    a, b, c = (integers(rng, np.uint32) for _ in range(3))

    def reference(x: int, y: int, z: int) -> int:
        bits = ((x >> n & 1) * 4 + (y >> n & 1) * 2 + (z >> n & 1) for n in range(32))
        return sum((table >> index & 1) << n for n, index in enumerate(bits))

    _check(f"lop3.b32 %o, %a, %b, %c, {table};", np.dtype(np.uint32), reference, a, b, c)


def test_lop3_with_predicate() -> None:
    rng = np.random.default_rng(12)
    a, b, c = (rng.integers(0, 4, LANES).astype(np.uint32) for _ in range(3))
    code = "setp.gt.u32 %q, %c, 1; lop3.and.b32 %t0|%p, %a, %b, %c, 0xC0, %q; selp.u32 %o, %t0, 77, %p;"
    _check(code, np.dtype(np.uint32), lambda x, y, z: x & y if (x & y) and z > 1 else 77, a, b, c)


def _select(x: int, y: int, selector: int) -> int:
    source = y << 32 | x
    result = 0
    for n in range(4):
        nibble = selector >> 4 * n & 15
        byte = source >> 8 * (nibble & 7) & 255
        result |= ((255 if byte >> 7 else 0) if nibble & 8 else byte) << 8 * n
    return result


def test_prmt_default_mode() -> None:
    rng = np.random.default_rng(13)
    a, b, c = (integers(rng, np.uint32) for _ in range(3))
    _check("prmt.b32 %o, %a, %b, %c;", np.dtype(np.uint32), _select, a, b, c)


@pytest.mark.parametrize(
    ("mode", "selectors"),
    [
        ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
        ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
        ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
        ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
        ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
        ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
    ],
)
def test_prmt_named_modes(mode: str, selectors: list[int]) -> None:
    rng = np.random.default_rng(14)
    a, b, c = (integers(rng, np.uint32) for _ in range(3))
    code = f"prmt.b32.{mode} %o, %a, %b, %c;"
    _check(code, np.dtype(np.uint32), lambda x, y, z: _select(x, y, selectors[z & 3]), a, b, c)


@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_bit_field_extract(type_: str) -> None:
    rng = np.random.default_rng(15)
    dtype = TYPES[type_]
    bits = dtype.itemsize * 8
    a = integers(rng, dtype)
    position, length = (rng.integers(0, bits + 12, LANES).astype(np.uint32) for _ in range(2))
    length[:3] = [0, bits, 255]

    def reference(x: int, b: int, c: int) -> int:
        b, c = b & 255, c & 255
        top = bits - 1
        sign = 0 if type_[0] == "u" or c == 0 else x >> min(b + c - 1, top) & 1
        return sum((x >> (b + n) & 1 if n < c and b + n <= top else sign) << n for n in range(bits))

    _check(f"bfe.{type_} %o, %a, %b, %c;", dtype, reference, a, position, length)


@pytest.mark.parametrize("bits", [32, 64])
def test_bit_field_insert(bits: int) -> None:
    rng = np.random.default_rng(16)
    dtype = TYPES[f"b{bits}"]
    a, b = integers(rng, dtype), integers(rng, dtype)
    position, length = (rng.integers(0, bits + 12, LANES).astype(np.uint32) for _ in range(2))
    length[:3] = [0, bits, 255]

    def reference(x: int, y: int, start: int, count: int) -> int:
        for n in range(count & 255):
            if (start & 255) + n < bits:
                place = (start & 255) + n
                y = y & ~(1 << place) | (x >> n & 1) << place
        return y

    _check(f"bfi.b{bits} %o, %a, %b, %c, %d;", dtype, reference, a, b, position, length)


@pytest.mark.parametrize("bits", [32, 64])
def test_counting(bits: int) -> None:
    rng = np.random.default_rng(17)
    u32 = np.dtype(np.uint32)
    a, s = integers(rng, TYPES[f"b{bits}"]), integers(rng, TYPES[f"s{bits}"])
    _check(f"popc.b{bits} %o, %a;", u32, int.bit_count, a)
    _check(f"clz.b{bits} %o, %a;", u32, lambda x: bits - x.bit_length(), a)
    _check(f"brev.b{bits} %o, %a;", a.dtype, lambda x: int(f"{x:0{bits}b}"[::-1], 2), a)
    _check(f"bfind.u{bits} %o, %a;", u32, lambda x: x.bit_length() - 1, a)
    _check(f"bfind.s{bits} %o, %a;", u32, lambda x: (x if x >= 0 else ~x).bit_length() - 1, s)
    shift = "bfind.shiftamt.u" + str(bits)
    _check(f"{shift} %o, %a;", u32, lambda x: bits - x.bit_length() if x else -1, a)


def test_dot_products() -> None:
    rng = np.random.default_rng(18)
    a, b, c = (integers(rng, np.uint32) for _ in range(3))

    def dot(x: int, y: int, z: int, x_signed: bool, y_signed: bool) -> int:
        def byte(value: int, n: int, is_signed: bool) -> int:
            part = value >> 8 * n & 255
            return part - 256 if is_signed and part > 127 else part

        return z + sum(byte(x, n, x_signed) * byte(y, n, y_signed) for n in range(4))

    u32 = np.dtype(np.uint32)
    _check("dp4a.u32.u32 %o, %a, %b, %c;", u32, lambda x, y, z: dot(x, y, z, False, False), a, b, c)
    _check("dp4a.s32.s32 %o, %a, %b, %c;", u32, lambda x, y, z: dot(x, y, z, True, True), a, b, c)
    _check("dp4a.s32.u32 %o, %a, %b, %c;", u32, lambda x, y, z: dot(x, y, z, True, False), a, b, c)


@pytest.mark.parametrize("opcode", ["and", "or", "xor"])
def test_logic(opcode: str) -> None:
    rng = np.random.default_rng(19)
    a, b = integers(rng, np.uint64), integers(rng, np.uint64)
    python = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}[opcode]
    _check(f"{opcode}.b64 %o, %a, %b;", np.dtype(np.uint64), python, a, b)
    code = f"setp.gt.u64 %p, %a, %b; setp.ne.u64 %q, %a, 0; {opcode}.pred %p, %p, %q; selp.u64 %o, 1, 0, %p;"
    _check(code, np.dtype(np.uint64), lambda x, y: python(int(x > y), int(x != 0)), a, b)


def test_guards_and_selection_leave_other_lanes_alone() -> None:
    rng = np.random.default_rng(20)
    a, b = integers(rng, np.int32), integers(rng, np.int32)
    code = "mov.b32 %o, %b; setp.lt.s32 %p, %a, 0; @%p add.s32 %o, %a, 5; @!%p sub.s32 %o, %b, 9;"
    _check(code, np.dtype(np.int32), lambda x, y: x + 5 if x < 0 else y - 9, a, b)
    _check("slct.s32.s32 %o, %a, %b, %a;", np.dtype(np.int32), lambda x, y: x if x >= 0 else y, a, b)
    _check("not.b32 %o, %a; cnot.b32 %o, %o;", np.dtype(np.int32), lambda x, y: int(~x == 0), a, b)


@pytest.mark.parametrize("name", ["24_lop3_prmt", "24_lop3_nobool"])
def test_bit_operation_files(name: str) -> None:
    words = np.random.default_rng(21).integers(0, 2**32, 12, dtype=np.uint32)
    memory = GlobalMemory()
    address = memory.put(words)
    launch((DATA / f"{name}.ptx").read_text(), (1,), (1,), [address], memory, hazards=True)
    a, b, c = (int(word) for word in words[:3])
    expected = [
        a ^ b ^ c,
        (a & b) | (a & c) | (b & c),
        a & b & c if name == "24_lop3_prmt" else a,
        _select(a, b, 0x5410),
        _select(a, b, c),
        _select(a, b, [0x3210, 0x4321, 0x5432, 0x6543][c & 3]),
        _select(a, 0, [0x0000, 0x1111, 0x2222, 0x3333][c & 3]),
        (b << 32 | a) << 7 >> 32 & 0xFFFFFFFF,
        a >> 3 & 31,
        (b & ~0xFF0) | (a & 0xFF) << 4,
    ]
    np.testing.assert_array_equal(memory.get(address, (10,), np.uint32), np.array(expected, np.uint32))
    signed = words[:2].view(np.int8).astype(np.int64)
    assert (
        memory.get(address + 40, (2,), np.int32).tolist()
        == [int((signed[:4] * signed[4:]).sum() + words[2:3].view(np.int32)[0])] * 2
    )
