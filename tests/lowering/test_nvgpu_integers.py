"""Integer arith ops: PTX on the simulator against Python integers."""

import re
from typing import Any

import numpy as np
import pytest

from ir.core import Block, Value, VerifyError, verify
from ir.dialects import arith, gpu, llvm, math, ub
from tests.lowering.nvgpu_harness import (
    DTYPES,
    GLOBAL_PTR,
    I1,
    I8,
    I16,
    I32,
    I64,
    Kernel,
    elementwise,
    integers,
    one,
    run,
)

COUNT = 384


def wrap(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def unsigned(function):
    return lambda a, b, w: function(a % (1 << w), b % (1 << w), w)


BINARY = {
    arith.AddI: lambda a, b, w: a + b,
    arith.SubI: lambda a, b, w: a - b,
    arith.MulI: lambda a, b, w: a * b,
    arith.DivSI: lambda a, b, w: truncated(a, b),
    arith.DivUI: unsigned(lambda a, b, w: a // b),
    arith.RemSI: lambda a, b, w: a - truncated(a, b) * b,
    arith.RemUI: unsigned(lambda a, b, w: a % b),
    arith.FloorDivSI: lambda a, b, w: a // b,
    arith.CeilDivSI: lambda a, b, w: -(-a // b),
    arith.CeilDivUI: unsigned(lambda a, b, w: -(-a // b)),
    arith.AndI: lambda a, b, w: a & b,
    arith.OrI: lambda a, b, w: a | b,
    arith.XOrI: lambda a, b, w: a ^ b,
    arith.MaxSI: lambda a, b, w: max(a, b),
    arith.MaxUI: unsigned(lambda a, b, w: max(a, b)),
    arith.MinSI: lambda a, b, w: min(a, b),
    arith.MinUI: unsigned(lambda a, b, w: min(a, b)),
    arith.MulHUI: unsigned(lambda a, b, w: a * b >> w),
}
SHIFTS = {
    arith.ShLI: lambda a, b, w: a << b,
    arith.ShRSI: lambda a, b, w: a >> b,
    arith.ShRUI: lambda a, b, w: (a % (1 << w)) >> b,
}
COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def compare(predicate: str):
    def expected(a: int, b: int, w: int) -> int:
        if predicate[0] == "u":
            a, b = a % (1 << w), b % (1 << w)
        return int(COMPARE[predicate[-2:]](a, b))

    return expected


def check(kind, cases: dict, x: np.ndarray, y: np.ndarray) -> None:
    """`cases`: name -> (build, expected(a, b, width))."""
    results = elementwise([kind, kind], [build for build, _ in cases.values()], [x, y])
    for (name, (_, expected)), got in zip(cases.items(), results, strict=True):
        width = got.dtype.itemsize * 8
        for a, b, found in zip(x.tolist(), y.tolist(), got.tolist(), strict=True):
            wanted = wrap(expected(a, b, kind.width), width)
            assert wrap(found, width) == wanted, f"{name}({a}, {b}) = {found}, not {wanted}"


@pytest.mark.parametrize("kind", [I8, I16, I32, I64], ids=str)
def test_binary_ops_agree_with_python(kind) -> None:
    rng = np.random.default_rng(kind.width)
    x, y = integers(rng, kind, COUNT), integers(rng, kind, COUNT)
    y[y == 0] = 3
    x[(x == np.iinfo(x.dtype).min) & (y == -1)] = 5  # the quotient would overflow
    cases = {cls.__name__: (one(cls), expected) for cls, expected in BINARY.items()}
    cases["AbsI"] = (lambda k, x, y: k.value(math.AbsI, x), lambda a, b, w: abs(a))
    cases |= {p: (one(arith.CmpI, I1, predicate=p), compare(p)) for p in arith.INT_PREDICATES}
    check(kind, cases, x, y)


def zeros(bits: str) -> int:
    """Zeros before the first one."""
    return (bits + "1").index("1")


COUNTED = {
    math.CtPop: lambda a, b, w: f"{a % (1 << w):b}".count("1"),
    math.CtLz: lambda a, b, w: zeros(f"{a % (1 << w):0{w}b}"),
    math.CtTz: lambda a, b, w: zeros(f"{a % (1 << w):0{w}b}"[::-1]),
}


@pytest.mark.parametrize("kind", [I8, I16, I32, I64], ids=str)
def test_counted_bits_agree_with_python(kind) -> None:
    """Of random numbers and of each power of two."""
    x = integers(np.random.default_rng(kind.width + 2), kind, COUNT)
    x[4 : 4 + kind.width] = [wrap(1 << at, kind.width) for at in range(kind.width)]
    cases = {cls.__name__: (lambda k, x, y, cls=cls: k.value(cls, x), e) for cls, e in COUNTED.items()}
    check(kind, cases, x, x)


def test_poison_is_some_number() -> None:
    def unless_poison(k: Kernel, x: Value) -> Value:
        same = k.value(arith.CmpI, x, x, types=[I1], predicate="eq")
        return k.value(arith.Select, same, x, k.value(ub.Poison, types=[I32]))

    x = integers(np.random.default_rng(5), I32, 128)
    assert np.array_equal(elementwise([I32], [unless_poison, lambda k, _: k.value(ub.Poison, types=[I32])], [x])[0], x)
    with pytest.raises(VerifyError, match="must be an integer or a float, is !llvm"):
        verify(ub.Poison((), [GLOBAL_PTR]))


def test_bits_of_registers_are_counted_in_32() -> None:
    with pytest.raises(VerifyError, match="operand 'operand' must be an i32, is i64"):
        verify(llvm.CtPop(Block([I64]).args))


@pytest.mark.parametrize("kind", [I8, I16, I32, I64], ids=str)
def test_shifts_agree_with_python(kind) -> None:
    rng = np.random.default_rng(kind.width + 1)
    amounts = rng.integers(0, kind.width, COUNT).astype(DTYPES[kind])
    check(kind, {c.__name__: (one(c), e) for c, e in SHIFTS.items()}, integers(rng, kind, COUNT), amounts)


DIVISORS = (1, 2, 3, 5, 6, 7, 9, 10, 12, 14, 28, 96, 100, 641, 4096, 4097, 65537, 10**9, (1 << 31) - 1, 1 << 31,
            (1 << 33) + 1, 10**18, (1 << 62) + 3, (1 << 63) - 1)  # fmt: skip


def edges(kind, divisors: tuple[int, ...]) -> np.ndarray:
    """Random numbers, the least and the greatest, and what lies around multiples of each divisor."""
    rng, width = np.random.default_rng(kind.width), kind.width
    near = [wrap(d * k + r, width) for d in divisors for k in (0, 1, -1, (1 << width) // d) for r in (-1, 0, 1)]
    near += [wrap((1 << width - s) + r, width) for s in (0, 1) for r in (-2, -1, 0, 1)]
    found = np.concatenate([np.array(near, DTYPES[kind]), integers(rng, kind, 64)])
    return np.resize(found, -(-found.size // 128) * 128)  # whole CTAs


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", [I8, I16, I32, I64], ids=str)
def test_division_by_constants_rounds_each_way(kind) -> None:
    """Positive and negative ones, those that need a multiplier of one bit more, and unsigned ones above half."""
    signed = [arith.DivSI, arith.RemSI, arith.FloorDivSI, arith.CeilDivSI]
    half = 1 << kind.width - 1
    small = tuple(d for d in DIVISORS if d < half)
    cases = [(c, s * d) for c in signed for d in small for s in (1, -1)]
    cases += [
        (c, d) for c in (arith.DivUI, arith.RemUI, arith.CeilDivUI) for d in (*small, half, half + 3, 2 * half - 1)
    ]
    for start in range(0, len(cases), 30):
        some = cases[start : start + 30]
        x = edges(kind, tuple({abs(d) for _, d in some}))
        x[x == np.iinfo(x.dtype).min] += any(d == -1 for _, d in some)  # the quotient would overflow

        def build(cls, divisor: int):
            return lambda k, a, b: k.value(cls, a, k.const(wrap(divisor, kind.width), kind))

        check(kind, {f"{c.__name__} {d}": (build(c, d), lambda a, b, w, c=c, d=d: BINARY[c](a, d, w)) for c, d in some},
              x, x)  # fmt: skip


@pytest.mark.parametrize("divisor", [3, 7, 12, 641, 4096])
def test_python_remainders_by_constants(divisor: int) -> None:
    """A remainder with the repair of its sign, as Python's % is written down, of both widths."""

    def build(k, a, b):
        rest = k.value(arith.RemSI, a, k.const(divisor, a.type))
        zero = k.const(0, a.type)
        negative = k.value(arith.CmpI, rest, zero, types=[I1], predicate="slt")
        return k.value(arith.Select, negative, k.value(arith.AddI, rest, k.const(divisor, a.type)), rest)

    for kind in (I16, I32, I64):
        x = edges(kind, (divisor,))
        check(kind, {"modulo": (build, lambda a, b, w: a % divisor)}, x, x)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", [I32, I64], ids=str)
@pytest.mark.parametrize("bits", [5, 16, 31, 32, 40])
def test_division_of_what_is_known_to_be_small(kind, bits: int) -> None:
    """A range takes a shorter multiplier, and 64 bits that hold 32 are divided as 32."""
    if bits > kind.width - 1:
        pytest.skip("all of the width")
    most = (1 << bits) - 1
    divisors = tuple(d for d in DIVISORS if d <= most)

    def small(cls, divisor: int, less: int):
        """Numbers from -less up."""

        def made(k, a, b):
            number = k.value(arith.SubI, k.value(arith.AndI, a, k.const(most, kind)), k.const(less, kind))
            return k.value(cls, number, k.const(divisor, kind))

        return made, lambda a, b, w: BINARY[cls]((a & most) - less, divisor, w)

    x = edges(kind, divisors[::4])
    signed = [arith.DivSI, arith.RemSI, arith.FloorDivSI]
    for cls in (*signed, arith.CeilDivSI, arith.DivUI, arith.RemUI):
        check(kind, {str(d): small(cls, d, 0) for d in divisors}, x, x)
    for cls in signed:
        check(kind, {str(d): small(cls, d, most // 2) for d in divisors}, x, x)
        if bits < kind.width - 1:
            check(kind, {str(d): small(cls, d, most + 3) for d in divisors}, x, x)


@pytest.mark.parametrize("kind", [I32, I64], ids=str)
def test_rounding_a_quotient_by_a_power_of_two_up_takes_a_sum_and_a_shift(kind) -> None:
    """Up to the largest number without a sign: what it is raised by may take the place of the sign."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at, top = k.index(), (1 << kind.width - 1) - 1
    x = k.value(arith.AndI, k.load(k.element(k.params[0], at, kind), kind), k.const(top, kind))
    k.store(k.value(arith.CeilDivSI, x, k.const(8, kind)), k.element(k.params[1], at, kind))
    text = k.ptx()
    assert (text.count("shr."), text.count("setp."), text.count("selp.")) == (1, 0, 0)
    x = np.array([0, 1, 7, 8, 9, top - 8, top - 7, top - 1, top, -1, -8] * 3, DTYPES[kind])[:32]
    _, got = run(text, 1, 32, [x, np.zeros(32, DTYPES[kind])], k.smem)
    np.testing.assert_array_equal(got, [-(-(int(each) & top) // 8) for each in x])


@pytest.mark.parametrize("kind", [I8, I16, I32], ids=str)
def test_division_by_a_register_that_is_positive(kind) -> None:
    """What is left of bytes and of 16 bits is computed in 32, where no product and no difference wraps."""

    def small(cls):
        def made(k, a, b):
            divisor = k.value(arith.AddI, k.value(arith.AndI, b, k.const(15, kind)), k.const(1, kind))
            return k.value(cls, a, divisor)

        return made, lambda a, b, w: BINARY[cls](a, (b & 15) + 1, w)

    x = edges(kind, (3, 7, 16))
    cases = (arith.FloorDivSI, arith.CeilDivSI, arith.CeilDivUI, arith.RemSI, arith.DivSI)
    check(kind, {cls.__name__: small(cls) for cls in cases}, x, np.resize(np.arange(16, dtype=x.dtype), x.size))


@pytest.mark.parametrize("kind", [I16, I32, I64], ids=str)
def test_multiples_of_constants_are_subtracted_by_one_instruction(kind) -> None:
    k = Kernel(GLOBAL_PTR, threads=32)
    spot = k.element(k.params[0], k.index(), kind)
    k.store(k.value(arith.RemSI, k.load(spot, kind), k.const(10, kind)), spot)
    text = k.ptx()
    assert len(re.findall(r"mad\.lo\.s\d\d %\w+, %\w+, -10,", text)) == 1
    assert "sub" not in text


@pytest.mark.parametrize("kind", [I8, I16], ids=str)
def test_narrow_products_are_products_of_words(kind) -> None:
    """ptxas 13.5 extends factors of 16 bits with their sign, each by an instruction."""
    k = Kernel(GLOBAL_PTR, threads=32)
    spot = k.element(k.params[0], k.index(), kind)
    x = k.load(spot, kind)
    k.store(k.value(arith.MulI, k.value(arith.MulI, x, x), x), spot)
    text = k.ptx()
    assert text.count("mul.lo.s32") == 2
    assert text.count("cvt.u32") == 1
    assert "and" not in text
    x = np.arange(-16, 16).astype(DTYPES[kind])
    (got,) = run(text, 1, 32, [x], k.smem)
    np.testing.assert_array_equal(got, x * x * x)


@pytest.mark.parametrize("extension", [arith.ExtSI, arith.ExtUI])
def test_sums_of_a_product_and_a_byte_in_16_bits_are_of_words(extension) -> None:
    """A byte's sign is extended to 16 bits by two instructions."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=256)
    at = k.index()
    x = k.load(k.element(k.params[0], at, I8), I8)
    product = k.value(arith.MulI, k.value(arith.ExtUI, x, types=[I16]), k.const(300, I16))
    k.store(k.value(arith.AddI, k.value(extension, x, types=[I16]), product), k.element(k.params[1], at, I16))
    text = k.ptx()
    assert (text.count("mad.lo.s32"), text.count("add.s16"), text.count("cvt.s16.s8")) == (1, 0, 0)
    x = np.arange(256).astype(np.int8)
    _, got = run(text, 1, 256, [x, np.zeros(256, np.int16)], k.smem)
    byte = x.view(np.uint8).astype(np.int64)
    wanted = byte * 300 + (x if extension is arith.ExtSI else byte)
    np.testing.assert_array_equal(got, wanted.astype(np.int16))


BITS = (0x27, 0x1E, 0x60, 0x40000007)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("predicate", ["slt", "ult", "sge", "uge", "sle", "ugt"])
def test_bounds_between_the_numbers_that_bits_allow(predicate: str) -> None:
    """x & m, and that with more bits added, below each number: the next number that x may be is as good a bound."""

    def case(mask: int, more: int, bound: int):
        def build(k, a, b):
            x = k.value(arith.AddI, k.value(arith.AndI, a, k.const(mask)), k.const(more))
            return k.value(arith.ExtUI, k.value(arith.CmpI, x, k.const(bound), types=[I1], predicate=predicate),
                           types=[I32])  # fmt: skip

        return build, lambda a, b, w: compare(predicate)((a & mask) + more, bound, w)

    x = np.arange(-64, 64, dtype=np.int32) * 0x1000001
    for mask in BITS:
        bounds = (1, 3, 8, 13, 24, 32, 39, 40, 64, 96, 100, 0x3FFFFFFF, 0x40000008, 0x7FFFFFFF)
        cases = {f"{mask:#x} + {more} {predicate} {c}": case(mask, more, c) for c in bounds for more in (0, 8, 24)}
        check(I32, cases, x, x)


def test_bounds_between_the_numbers_that_bits_allow_are_one_comparison() -> None:
    """Of x with bits 0, 1, 2 and 5: x < 8, x < 20, x < 32, x + 8 < 32, and all of them where 32 is a register's."""
    k = Kernel(GLOBAL_PTR, I32, threads=64)
    at = k.index()
    x = k.value(arith.AndI, at, k.const(0x27))
    limit = k.value(arith.MulI, k.params[1], k.const(32))
    total = k.const(0)
    for more, bound in ((0, 8), (0, 20), (0, 32), (8, 32), (0, None), (8, None), (24, None)):
        side = limit if bound is None else k.const(bound)
        number = k.value(arith.AddI, x, k.const(more))
        below = k.value(arith.CmpI, number, side, types=[I1], predicate="slt")
        total = k.value(arith.AddI, total, k.value(arith.ExtUI, below, types=[I32]))
    k.store(total, k.element(k.params[0], at, I32))
    text = k.ptx()
    assert text.count("setp") == 2
    (got,) = run(text, 1, 64, [np.zeros(64, np.int32), 1], k.smem)
    np.testing.assert_array_equal(got, np.where(np.arange(64) < 32, 7, 0))


def test_bounds_of_what_is_added_without_a_carry_are_one_comparison() -> None:
    """32 y + 8 < 40, 32 y + 16 < 48 and 32 y + 24 < 40 without a sign are 32 y < 32, also where 32 y has the sign's bit
    or wraps.
    """
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=64)
    at = k.index()
    x = k.value(arith.MulI, k.load(k.element(k.params[0], at, I32), I32), k.const(32))
    total = k.const(0)
    for more, bound in ((8, 40), (16, 48), (24, 40)):
        number = k.value(arith.AddI, x, k.const(more))
        below = k.value(arith.CmpI, number, k.const(bound), types=[I1], predicate="ult")
        total = k.value(arith.AddI, total, k.value(arith.ExtUI, below, types=[I32]))
    k.store(total, k.element(k.params[1], at, I32))
    text = k.ptx()
    assert text.count("setp") == 1
    y = np.array([0, 1, 2, -1, 1 << 26, (1 << 26) - 1, 1 << 27, (1 << 27) - 1] * 8, np.int32)
    _, got = run(text, 1, 64, [y, np.zeros(64, np.int32)], k.smem)
    x = y.astype(np.uint32) * np.uint32(32)
    np.testing.assert_array_equal(
        got, sum((x + np.uint32(m) < b).astype(np.int32) for m, b in ((8, 40), (16, 48), (24, 40)))
    )


def test_what_is_known_of_quotients_of_negative_numbers() -> None:
    """-999 to -971 by 100 are -9 and their remainders negative; of -1000 it is -10 and 0."""

    def build(k, a, b):
        number = k.value(arith.SubI, k.value(arith.AndI, a, k.const(29)), k.const(1000))
        rest = k.value(arith.RemSI, number, k.const(100))
        negative = k.value(arith.CmpI, rest, k.const(0), types=[I1], predicate="slt")
        return k.value(arith.Select, negative, k.value(arith.DivSI, number, k.const(100)), rest)

    x = integers(np.random.default_rng(5), I32, 128)
    check(I32, {"quotient": (build, lambda a, b, w: -9 if a & 29 else 0)}, x, x)


def test_no_division_by_a_constant_reaches_ptxas() -> None:
    """ptxas makes 19 instructions of one for i32, 72 for i64."""
    k = Kernel(GLOBAL_PTR, I32, I64)
    out, *numbers = k.params
    for place, x in enumerate(numbers):
        for cls in (
            arith.DivSI,
            arith.RemSI,
            arith.DivUI,
            arith.RemUI,
            arith.FloorDivSI,
            arith.CeilDivSI,
            arith.CeilDivUI,
        ):
            for divisor in (7, 12, 16):
                made = k.value(cls, x, k.const(divisor, x.type))
                k.store(made, k.element(out, k.const(place), x.type))
    assert not re.findall(r"\b(?:div|rem)\.", k.ptx())


@pytest.mark.parametrize("kind", [I8, I16, I32, I64], ids=str)
def test_conversions_between_widths(kind) -> None:
    rng = np.random.default_rng(kind.width + 2)
    x = integers(rng, kind, COUNT)
    cases = {}
    for to in (I8, I16, I32, I64):
        if to.width > kind.width:
            cases[f"extsi {to}"] = (one_of(arith.ExtSI, to), lambda a, b, w: a)
            cases[f"extui {to}"] = (one_of(arith.ExtUI, to), lambda a, b, w: a % (1 << w))
        elif to.width < kind.width:
            cases[f"trunci {to}"] = (one_of(arith.TruncI, to), lambda a, b, w: a)
        cases[f"index_cast {to}"] = (one_of(arith.IndexCast, to), lambda a, b, w: a)
    check(kind, cases, x, x)


def one_of(cls, to):
    return lambda k, a, b: k.value(cls, a, types=[to])


def test_wide_products() -> None:
    rng = np.random.default_rng(5)
    x, y = integers(rng, I32, COUNT), integers(rng, I32, COUNT)
    cases = {
        "signed": (one(arith.MulSIWide, I64), lambda a, b, w: a * b),
        "unsigned": (one(arith.MulUIWide, I64), lambda a, b, w: (a % (1 << w)) * (b % (1 << w))),
    }
    check(I32, cases, x, y)


def test_truth_values_are_logic() -> None:
    rng = np.random.default_rng(6)
    x, y = integers(rng, I32, COUNT), integers(rng, I32, COUNT)

    def bits(make):
        def build(k, a, b):
            p = k.value(arith.CmpI, a, b, types=[I1], predicate="slt")
            q = k.value(arith.CmpI, a, k.const(17), types=[I1], predicate="sgt")
            return make(k, p, q)

        return build

    def both(a: int, b: int) -> tuple[int, int]:
        return int(a < b), int(a > 17)

    cases = {}
    for cls, expected in (
        (arith.AndI, lambda p, q: p & q), (arith.OrI, lambda p, q: p | q), (arith.XOrI, lambda p, q: p ^ q),
        (arith.AddI, lambda p, q: p ^ q), (arith.MulI, lambda p, q: p & q),
    ):  # fmt: skip
        cases[cls.__name__] = (
            bits(lambda k, p, q, cls=cls: k.value(cls, p, q)), lambda a, b, w, e=expected: e(*both(a, b)),
        )  # fmt: skip
    for predicate in arith.INT_PREDICATES:
        sign = -1 if predicate[0] == "s" else 1
        cases[predicate] = (
            bits(lambda k, p, q, c=predicate: k.value(arith.CmpI, p, q, types=[I1], predicate=c)),
            lambda a, b, w, c=predicate, s=sign: int(COMPARE[c[-2:]](*(s * v for v in both(a, b)))),
        )
    cases["extsi"] = (bits(lambda k, p, q: k.value(arith.ExtSI, p, types=[I32])), lambda a, b, w: -both(a, b)[0])
    cases["extui"] = (bits(lambda k, p, q: k.value(arith.ExtUI, p, types=[I64])), lambda a, b, w: both(a, b)[0])
    cases["trunci"] = (lambda k, a, b: k.value(arith.TruncI, a, types=[I1]), lambda a, b, w: a & 1)
    cases["select"] = (
        bits(lambda k, p, q: k.value(arith.Select, p, q, k.value(arith.XOrI, q, k.const(1, I1)))),
        lambda a, b, w: both(a, b)[1] if both(a, b)[0] else 1 - both(a, b)[1],
    )
    cases["not chain"] = (
        bits(lambda k, p, q: k.value(arith.AndI, k.value(arith.XOrI, p, k.const(1, I1)), q)),
        lambda a, b, w: (1 - both(a, b)[0]) & both(a, b)[1],
    )
    check(I32, cases, x, y)


def test_integer_parameters_of_each_width() -> None:
    numbers = {I8: -7, I16: -1234, I32: -123456789, I64: -(1 << 40) - 5}
    k = Kernel(*numbers, I1, GLOBAL_PTR, threads=32)
    at = k.index()
    total = k.const(0, I64)
    for param, kind in zip(k.params, numbers, strict=False):
        wide = param if kind == I64 else k.value(arith.ExtSI, param, types=[I64])
        total = k.value(arith.AddI, total, wide)
    total = k.value(arith.Select, k.params[4], total, k.const(0, I64))
    k.store(total, k.element(k.params[5], at, I64))
    (out,) = run(k.ptx(), 1, 32, [*numbers.values(), 1, np.zeros(32, np.int64)])
    assert (out == sum(numbers.values())).all()


@pytest.mark.parametrize(("kind", "wide"), [(I32, False), (I64, False), (I32, True)])
@pytest.mark.parametrize("predicate", ["eq", "ne"])
def test_numbers_apart_by_a_constant_are_compared_with_it(kind: Any, wide: bool, predicate: str) -> None:
    """Is start + c the label, for 4 constants c: the difference of label and start is one, an i64 label is looked at
    once. Sums that wrap, and labels beyond i32, are right too.
    """
    label = I64 if wide else kind
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at = k.index()
    start = k.load(k.element(k.params[0], at, kind), kind)
    wanted = k.load(k.element(k.params[1], at, label), label)
    for c in range(1, 5):
        x = k.value(arith.AddI, start, k.const(c, kind))
        x = k.value(arith.ExtSI, x, types=[I64]) if wide else x
        same = k.value(arith.CmpI, x, wanted, types=[I1], predicate=predicate)
        spot = k.value(arith.AddI, at, k.const(32 * (c - 1)), nsw=True)
        k.store(k.value(arith.ExtUI, same, types=[I32]), k.element(k.params[2], spot, I32))
    text = k.ptx()
    assert len(re.findall(r"setp\.\w+\.[su]64", text)) == (4 if kind == I64 else 1 if wide else 0)
    assert len(re.findall(r"sub\.s", text)) == 1
    width = 64 if kind == I64 else 32
    top = 2 ** (width - 1) - 1
    starts = np.array([0, 7, -3, top, top - 2, -top - 1] * 6, f"i{width // 8}")[:32]
    far = np.array([0, 2, 2**32 + 3 if label == I64 else 3, 4] * 8, f"i{label.width // 8}")
    with np.errstate(over="ignore"):
        labels = far + starts.astype(far.dtype)
        sums = [starts + starts.dtype.type(c) for c in range(1, 5)]
    expected = np.stack([(each.astype(np.int64) == labels) ^ (predicate == "ne") for each in sums])
    assert expected.any()
    _, _, got = run(text, 1, 32, [starts, labels, np.zeros((4, 32), np.int32)], k.smem)
    np.testing.assert_array_equal(got, expected)


def test_what_a_mask_leaves_is_extended_without_a_sign() -> None:
    """ptxas takes the upper half of an unsigned extension for 0, and shifts for that of a signed one."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at = k.index()
    x = k.load(k.element(k.params[0], at, I32), I32)
    for i, value in enumerate((k.value(arith.AndI, x, k.const(15)), k.value(arith.AndI, x, k.const(-2)))):
        wide = k.value(arith.XOrI, k.value(arith.ExtSI, value, types=[I64]), k.const(1, I64))
        k.store(wide, k.element(k.params[1], k.value(arith.AddI, at, k.const(32 * i), nsw=True), I64))
    text = k.ptx()
    assert (text.count("cvt.u64.u32"), text.count("cvt.s64.s32")) == (1, 1)
    x = np.array([0, 5, -1, -7] * 8, np.int32)
    _, got = run(text, 1, 32, [x, np.zeros((2, 32), np.int64)], k.smem)
    np.testing.assert_array_equal(got, [(x & 15).astype(np.int64) ^ 1, (x & -2).astype(np.int64) ^ 1])


def test_sums_with_what_a_mask_leaves_of_64_bits_are_of_32() -> None:
    """(x & 15) + 1 is 32 bits, whose upper half is known to be zero: by it y is divided, and multiplied."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at = k.index()
    x = k.load(k.element(k.params[0], at, I64), I64)
    divisor = k.value(arith.AddI, k.value(arith.AndI, x, k.const(15, I64)), k.const(1, I64))
    k.store(k.value(arith.RemSI, x, divisor), k.element(k.params[1], at, I64))
    text = k.ptx()
    assert len(re.findall(r"add\.s32 %r\d+, %r\d+, 1;", text)) == len(re.findall(r"and\.b32", text)) == 1
    assert "and.b64" not in text
    x = np.array([0, 14, 15, -1, -(2**63), 2**63 - 1, 2**40 + 7, -(2**33)] * 4, np.int64)
    _, got = run(text, 1, 32, [x, np.zeros(32, np.int64)], k.smem)
    np.testing.assert_array_equal(got, np.fmod(x, (x & 15) + 1))


@pytest.mark.parametrize("predicate", ["sgt", "ugt", "slt", "ne"])
def test_a_choice_whose_ranges_decide_a_comparison_is_its_condition(predicate: str) -> None:
    """Is (t < 32 ? 32 - 16 * (t & 1) : 0) beyond 3, 7, ..., 23: what its ranges decide is the condition, and 16 is
    compared with 19 and 23.
    """
    threads, bounds = 64, range(3, 24, 4)
    k = Kernel(GLOBAL_PTR, threads=threads)
    t = k.value(gpu.ThreadId, types=[I32], dimension="x")
    odd = k.value(arith.MulI, k.value(arith.AndI, t, k.const(1)), k.const(16))
    below = k.value(arith.CmpI, t, k.const(32), types=[I1], predicate="slt")
    x = k.value(arith.Select, below, k.value(arith.SubI, k.const(32), odd), k.const(0), types=[I32])
    for place, bound in enumerate(bounds):
        found = k.value(arith.CmpI, x, k.const(bound), types=[I1], predicate=predicate)
        where = k.value(arith.AddI, k.value(arith.MulI, t, k.const(len(bounds))), k.const(place))
        k.store(k.value(arith.ExtUI, found, types=[I32]), k.element(k.params[0], where, I32))
    text = k.ptx()
    assert text.count("setp.") == 3
    (got,) = run(text, 1, threads, [np.zeros(threads * len(bounds), np.int32)])
    number = np.where(np.arange(threads) < 32, 32 - 16 * (np.arange(threads) & 1), 0)[:, None]
    wanted = {"gt": number > bounds, "lt": number < bounds, "ne": number != bounds}[predicate[-2:]]
    np.testing.assert_array_equal(got.reshape(threads, -1), wanted)
