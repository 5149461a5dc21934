"""simplify-by-uses: bits that nobody reads, products and masks by what reads them, comparisons by what they guard."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith, gpu, llvm
from ir.types import F32, F64, I1, I8, I32, I64
from lowering.convert.nvgpu_to_nvvm import convert
from lowering.convert.nvgpu_to_nvvm.uses import simplify_by_uses
from tests.lowering.nvgpu_harness import GLOBAL_PTR, Kernel, run

THREADS = 128
Made = Callable[[Kernel, Value, Value], Value]


def kernel(make: Made) -> Kernel:
    """y[thread] = make(kernel, thread, x[thread])"""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    found = make(k, thread, k.load(k.element(k.params[0], thread, I32), I32))
    k.store(found, k.element(k.params[1], thread, found.type))
    return k


def checked(make: Made, numbers: Callable[[np.ndarray, np.ndarray], np.ndarray], kind: type = np.int32) -> str:
    """The PTX of a kernel that gives these numbers of the threads and of random x."""
    k = kernel(make)
    assert simplify_again(k) == 0
    x = np.random.default_rng(1).integers(-(1 << 31), 1 << 31, THREADS).astype(np.int32)
    text = k.ptx()
    got = run(text, 1, THREADS, [x, np.zeros(THREADS, kind)])[1]
    np.testing.assert_array_equal(got, numbers(np.arange(THREADS), x).astype(kind))
    return text


def simplify_again(k: Kernel) -> int:
    """Changes that a second run makes."""
    func = convert(k.func())
    simplify_by_uses(func)
    return simplify_by_uses(func)


def bits(k: Kernel, cls: type, x: Value, number: int) -> Value:
    return k.value(cls, x, k.const(number))


def test_a_mask_of_bits_that_nobody_reads_is_left_out() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        masked = bits(k, arith.AndI, x, 0xFFF)
        return bits(k, arith.AndI, k.value(arith.AddI, masked, t), 0xFF)

    text = checked(make, lambda t, x: ((x & 0xFFF) + t) & 0xFF)
    assert "4095" not in text
    read = checked(
        lambda k, t, x: bits(k, arith.AndI, k.value(arith.AddI, bits(k, arith.AndI, x, 0xFFF), t), 0x1FFF),
        lambda t, x: ((x & 0xFFF) + t) & 0x1FFF,
    )
    assert "4095" in read  # the bit above it is


def test_a_number_whose_low_bits_are_zero_is_not_subtracted_below() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        high = bits(k, arith.AndI, x, 0xFF << 20)
        return bits(k, arith.AndI, k.value(arith.SubI, t, high), 63)

    assert "sub.s32" not in checked(make, lambda t, x: t & 63)


def test_what_lost_bits_promises_nothing() -> None:
    """The sum of a masked number cannot wrap, that of the number itself can: its promise does not outlive the mask."""
    k = kernel(
        lambda k, t, x: bits(k, arith.AndI, k.value(arith.AddI, bits(k, arith.AndI, x, 0xFFF), t, nsw=True), 0xFF)
    )
    func = convert(k.func())
    assert any(op.attributes.get("nsw") for op in func.body.blocks[0].ops)
    simplify_by_uses(func)
    read = [op for op in func.body.blocks[0].ops if isinstance(op, llvm.Add)]
    assert read
    assert not any(op.attributes.get("nsw") for op in read)


def test_shifted_there_and_back_is_a_mask() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        return bits(k, arith.ShLI, bits(k, arith.AndI, bits(k, arith.ShRUI, x, 4), 7), 4)

    text = checked(make, lambda t, x: x & 0x70)
    assert "shr" not in text
    assert "and.b32 %r3, %r2, 112;" in text or ", 112;" in text


def test_masks_that_join_others_share_a_shift() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        first, second = (bits(k, arith.ShLI, bits(k, arith.AndI, t, mask), 3) for mask in (3, 12))
        return k.value(arith.XOrI, k.value(arith.XOrI, first, x), bits(k, arith.XOrI, second, 1))

    text = checked(make, lambda t, x: (t & 3) * 8 ^ x ^ (t & 12) * 8 ^ 1)
    assert text.count("shl.b32 ") == 1
    assert ", 24;" in text
    assert ", 96;" in text


def test_elements_of_a_product_that_only_addresses_read_are_larger() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        low = bits(k, arith.MulI, bits(k, arith.AndI, t, 15), 4)
        return k.load(k.element(k.params[0], low, I32), I32)

    text = checked(make, lambda t, x: x[(t & 15) * 4])
    assert "shl" not in text
    assert re.search(r"mul.wide.s32 %rd\d+, %r\d+, 16;", text)

    def read(k: Kernel, t: Value, x: Value) -> Value:
        low = bits(k, arith.MulI, bits(k, arith.AndI, t, 15), 4)
        return k.value(arith.AddI, low, k.load(k.element(k.params[0], low, I32), I32))

    assert "shl" in checked(read, lambda t, x: (t & 15) * 4 + x[(t & 15) * 4])


def test_a_mask_joins_what_has_other_bits() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        high = bits(k, arith.AndI, x, 0xF00)
        return k.value(arith.XOrI, k.value(arith.AddI, high, bits(k, arith.AndI, t, 31)), high)

    text = checked(make, lambda t, x: t & 31)
    assert "add.s32" not in text


def guarded(mask: int, load: bool) -> str:
    """y[thread] = x[thread] where thread & mask is 0; the load too, or not."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    t = k.value(gpu.ThreadId, types=[I32], dimension="x")
    zero = k.value(arith.CmpI, bits(k, arith.AndI, t, mask), k.const(0), types=[I1], predicate="eq")
    pointer = k.element(k.params[0], t, I32)
    x = k.load(pointer, I32, zero, k.const(0)) if load else k.load(pointer, I32)
    k.store(x, k.element(k.params[1], t, I32), zero)
    assert simplify_again(k) == 0
    text, given = k.ptx(), np.arange(1, THREADS + 1, dtype=np.int32)
    got = run(text, 1, THREADS, [given, np.zeros(THREADS, np.int32)])[1]
    np.testing.assert_array_equal(got, np.where(np.arange(THREADS) & mask, 0, given))
    return text


def test_the_last_bits_of_a_thread_guard_stores_as_an_order() -> None:
    for mask, least in ((64, 64), (96, 32)):
        assert re.search(rf"setp.lt.u32 %p\d+, %r\d+, {least};", guarded(mask, False))
    assert "setp.eq" in guarded(64, True)  # ptxas makes a branch of the other
    assert "setp.eq" in guarded(32, False)  # 64 is left open


def test_a_mask_is_right_before_the_comparison_that_reads_it() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        mask = bits(k, arith.AndI, x, 4)
        more = bits(k, arith.XOrI, bits(k, arith.MulI, x, 77), 5)
        zero = k.value(arith.CmpI, mask, k.const(0), types=[I1], predicate="eq")
        return k.value(arith.Select, zero, more, x, types=[I32])

    text = checked(make, lambda t, x: np.where(x & 4, x, (x.astype(np.int64) * 77) ^ 5))
    assert re.search(r"and.b32 (%r\d+), %r\d+, 4;\n\s*setp.eq.s32 %p\d+, \1, 0;", text)


def test_the_first_of_labels_is_chosen_without_minima() -> None:
    """min over c_i ? base + i : 1000."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        base, found = bits(k, arith.MulI, t, 4), []
        for i in range(4):
            one = k.value(arith.CmpI, bits(k, arith.AndI, x, 1 << i), k.const(0), types=[I1], predicate="ne")
            found.append(k.value(arith.Select, one, bits(k, arith.AddI, base, i), k.const(1000), types=[I32]))
        first, second = (k.value(arith.MinSI, *found[i : i + 2]) for i in (0, 2))
        return k.value(arith.MinSI, first, second)

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.min([np.where(x >> i & 1, t * 4 + i, 1000) for i in range(4)], axis=0)

    text = checked(make, numbers)
    assert "min" not in text
    assert text.count("selp") == 4

    def crossed(k: Kernel, t: Value, x: Value) -> Value:  # which label is less, nobody knows
        one = k.value(arith.CmpI, x, k.const(0), types=[I1], predicate="slt")
        first = k.value(arith.Select, one, t, k.const(1000), types=[I32])
        second = k.value(arith.Select, one, k.value(arith.XOrI, t, k.const(5)), k.const(1000), types=[I32])
        return k.value(arith.MinSI, first, second)

    assert "min" in checked(crossed, lambda t, x: np.where(x < 0, np.minimum(t, t ^ 5), 1000))


def test_of_two_running_sums_one_stays_a_sum_away() -> None:
    """a, a + b, each plus three others or nothing: of i64 five sums, not seven."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        first = k.value(arith.ExtSI, x, types=[I64])
        some = k.value(arith.CmpI, t, k.const(40), types=[I1], predicate="slt")
        steps = [k.value(arith.ExtSI, bits(k, arith.XOrI, x, i), types=[I64]) for i in (3, 9, 27)]
        steps = [k.value(arith.Select, some, step, k.const(0, I64), types=[I64]) for step in steps]
        rest = k.value(arith.ExtSI, bits(k, arith.XOrI, x, 81), types=[I64])
        second = k.value(arith.AddI, first, rest)
        for step in steps:
            first, second = (k.value(arith.AddI, each, step) for each in (first, second))
        return k.value(arith.XOrI, first, second)

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        wide = x.astype(np.int64)
        total = wide + sum(np.where(t < 40, x ^ i, 0).astype(np.int64) for i in (3, 9, 27))
        return total ^ total + (x ^ 81)

    text = checked(make, numbers, np.int64)
    assert text[: text.index("xor.b64")].count("add.s64") == 4 + text[: text.index("ld.global")].count("add.s64")


def test_differences_of_i64_are_one() -> None:
    """((a - b) + (c - d)) - (e - f) as a + c + f - (b + d + e); one difference stays where it is."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        terms = [k.value(arith.ExtSI, bits(k, arith.XOrI, x, i), types=[I64]) for i in (0, 3, 9, 27, 81, 243)]
        a, b, c, d, e, f = (k.value(arith.MulI, each, each) for each in terms)
        difference = k.value(arith.SubI, e, f)
        sums = k.value(arith.AddI, k.value(arith.SubI, a, b), k.value(arith.SubI, c, d))
        other = k.value(arith.AddI, k.value(arith.SubI, b, c), a)
        chosen = k.value(arith.CmpI, t, k.const(40), types=[I1], predicate="slt")
        return k.value(arith.Select, chosen, k.value(arith.SubI, sums, difference), other, types=[I64])

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            a, b, c, d, e, f = ((x ^ i).astype(np.int64) ** 2 for i in (0, 3, 9, 27, 81, 243))
            return np.where(t < 40, a - b + c - d - (e - f), b - c + a)

    assert checked(make, numbers, np.int64).count("sub.s64") == 2


@pytest.mark.parametrize("places", [True, False])
def test_a_place_is_joined_of_its_tile_and_a_mask_with_another_use(places: bool) -> None:
    """16 x + (t & 15), as an address and in a comparison, where t & 15 is read once more; not where it is a number."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        low = bits(k, arith.AndI, t, 15)
        tile = bits(k, arith.MulI, bits(k, arith.AndI, x, 7), 16)
        place = k.value(arith.AddI, tile, low)
        found = k.load(k.element(k.params[0], place, I32), I32)
        inside = k.value(arith.CmpI, place, bits(k, arith.AddI, tile, 9), types=[I1], predicate="ult")
        total = k.value(arith.Select, inside, found, low, types=[I32])
        return total if places else k.value(arith.SubI, total, place)

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        place = 16 * (x & 7) + (t & 15)
        return np.where((t & 15) < 9, x[place], t & 15) - (0 if places else place)

    assert ("or.b32" in checked(make, numbers)) == places


def test_masks_of_an_exclusive_or_are_one() -> None:
    """(2 x & 48) ^ (8 x & 48), and the same of other masks where neither number has the bits of the other one's."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        y, z = (bits(k, arith.AndI, bits(k, arith.MulI, x, n), 48) for n in (2, 8))
        low, high = bits(k, arith.AndI, x, 7), bits(k, arith.AndI, bits(k, arith.MulI, t, 8), 0x178)
        return k.value(arith.AddI, k.value(arith.XOrI, y, z), k.value(arith.XOrI, low, high))

    text = checked(make, lambda t, x: ((2 * x ^ 8 * x) & 48) + ((x & 7) ^ (8 * t & 0x178)))
    assert len(re.findall(r"and\.b32 %r\d+, %r\d+, 48;", text)) == text.count("and.b32") - 2 == 1


@pytest.mark.parametrize("there", [True, False])
def test_what_is_masked_and_scaled_is_a_mask_of_what_is_scaled_already(there: bool) -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        whole = bits(k, arith.MulI, x, 4 if there else 16)
        scaled = bits(k, arith.MulI, bits(k, arith.AndI, x, 31), 4)
        return k.value(arith.AddI, k.value(arith.MulI, whole, t), scaled)

    text = checked(make, lambda t, x: x * (4 if there else 16) * t + (x & 31) * 4)
    assert text.count("shl.b32") == (1 if there else 2)
    assert (", 124;" in text) == there


@pytest.mark.parametrize("read", [29, 30])
def test_a_sum_of_64_bits_whose_highest_bits_nobody_reads_is_one_of_32(read: int) -> None:
    """29 bits of the low half of (x + 7) >> 3 are read: the carry of the sum is the 30th."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        wide = bits64(k, arith.AddI, k.value(arith.ExtUI, x, types=[I64]), 7)
        low = k.value(arith.TruncI, bits64(k, arith.ShRUI, wide, 3), types=[I32])
        return bits(k, arith.MulI, low, 1 << 32 - read)

    def bits64(k: Kernel, cls: type, x: Value, number: int) -> Value:
        return k.value(cls, x, k.const(number, I64))

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (x.view(np.uint32).astype(np.int64) + 7 >> 3) << 32 - read

    text = checked(make, numbers)
    wide = len(re.findall(r"add\.s64 %rd\d+, %rd\d+, 7;", text))
    assert (wide, text.count("add.s32")) == ((0, 1) if read < 30 else (1, 0))
    x = np.resize(np.array([-1, -7, -8, 0, 8], np.int32), THREADS)  # the first two carry
    np.testing.assert_array_equal(
        run(text, 1, THREADS, [x, np.zeros(THREADS, np.int32)])[1], numbers(x, x).astype(np.int32)
    )


@pytest.mark.parametrize("early", [True, False])
def test_a_product_that_is_known_late_is_added_last(early: bool) -> None:
    """(x + y 7) + z is (x + z) + y 7 where z is known before y, and stays where it is not."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        z = k.value(arith.DivUI, x, bits(k, arith.OrI, t, 2)) if early else None
        y = k.value(arith.DivSI, x, bits(k, arith.OrI, t, 1))
        total = k.value(arith.AddI, x, bits(k, arith.MulI, y, 7))
        return k.value(arith.AddI, total, z or k.value(arith.DivUI, x, bits(k, arith.OrI, t, 2)))

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        y = np.trunc(x / (t | 1)).astype(np.int64)
        return x + 7 * y + x.view(np.uint32) // (t | 2)

    text = checked(make, numbers)
    (product,) = re.findall(r"mad\.lo\.s32 (%r\d+)", text)
    assert bool(re.search(rf"st\.global\.b32 \[%rd\d+\], {product};", text)) == early


@pytest.mark.parametrize("twice", [False, True])
def test_what_is_known_late_is_added_behind_the_difference(twice: bool) -> None:
    """(a - b) + late, and late twice: a - b first, since what is taken away is known before."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        a, b = (k.value(arith.ExtSI, bits(k, arith.XOrI, x, i), types=[I64]) for i in (3, 9))
        a, b = (k.value(arith.MulI, each, each) for each in (a, b))
        c = k.value(arith.MulI, a, b)
        late = k.value(arith.MulI, c, c)
        other = late if twice else k.value(arith.MulI, late, c)
        return k.value(arith.AddI, k.value(arith.AddI, k.value(arith.SubI, a, b), late), k.value(arith.SubI, other, c))

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            a, b = ((x ^ i).astype(np.int64) ** 2 for i in (3, 9))
            c = a * b
            return a - b + c * c + (c * c if twice else c * c * c) - c

    text = checked(make, numbers, np.int64)
    (difference,) = re.findall(r"sub\.s64 (%rd\d+)", text)
    assert re.search(rf"add\.s64 %rd\d+, {difference}, ", text)


@pytest.mark.parametrize(
    ("cls", "known", "choices"),
    [
        (arith.AddF, (0.0, 0.0), 1), (arith.AddF, (-np.inf, -np.inf), 1), (arith.AddF, (np.inf, -np.inf), 2),
        (arith.AddF, (-0.0, 0.0), 1), (arith.SubF, (0.0, 0.0), 1), (arith.SubF, (-0.0, 0.0), 1),
        (arith.SubF, (0.0, -0.0), 1), (arith.SubF, (-np.inf, np.inf), 1), (arith.MulF, (0.0, -0.0), 1),
        (arith.MulF, (0.0, np.inf), 2), (arith.MulF, (-np.inf, -np.inf), 2), (arith.AddF, (1.0, 1.0), 2),
    ],
)  # fmt: skip
def test_results_of_two_choices_by_one_condition_are_one(cls, known: tuple[float, float], choices: int) -> None:
    """Where what both have in common is one of their numbers, with its sign."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        below = k.value(arith.CmpI, t, k.const(40), types=[I1], predicate="slt")
        number = k.value(arith.SIToFP, x, types=[F32])
        others = [number, k.value(arith.MulF, number, number)]
        chosen = [
            k.value(arith.Select, below, k.const(n, F32), other, types=[F32])
            for n, other in zip(known, others, strict=True)
        ]
        return k.value(cls, *chosen)

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        f = x.astype(np.float32)
        a, b = (np.where(t < 40, np.float32(n), other) for n, other in zip(known, (f, f * f), strict=True))
        with np.errstate(all="ignore"):
            return {arith.AddF: a + b, arith.SubF: a - b, arith.MulF: a * b}[cls]

    def bits_of(k: Kernel, t: Value, x: Value) -> Value:
        return k.value(arith.Bitcast, make(k, t, x), types=[I32])

    assert checked(make, numbers, np.float32).count("selp.f32") == choices
    if np.isfinite(known).all():
        checked(bits_of, lambda t, x: numbers(t, x).view(np.int32))  # the signs of zeros too


def test_the_lowest_bit_as_a_number_is_a_mask() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        bit = k.value(arith.TruncI, x, types=[I1])
        return k.value(arith.ExtUI, bit, types=[I8])

    text = checked(make, lambda t, x: x & 1, np.int8)
    assert "setp" not in text
    assert "selp" not in text


def test_numbers_of_64_bits_are_chosen_as_floats() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        wide = k.value(arith.SIToFP, x, types=[F64])
        below = k.value(arith.CmpI, x, k.const(0), types=[I1], predicate="slt")
        return k.value(arith.Select, below, k.value(arith.AddF, wide, wide), wide, types=[F64])

    assert "selp.f64" in checked(make, lambda t, x: np.where(x < 0, 2.0 * x, x), np.float64)


def test_a_float_is_chosen_as_one() -> None:
    """ptxas 13.5 takes -x as an operand of a choice of floats."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        odd = k.value(arith.CmpI, bits(k, arith.AndI, t, 1), k.const(0), types=[I1], predicate="ne")
        number = k.value(arith.SIToFP, bits(k, arith.AndI, x, 0xFFFF), types=[F32])
        chosen = k.value(arith.Select, odd, k.value(arith.NegF, number), number, types=[F32])
        return k.value(arith.Bitcast, chosen, types=[I32])

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        number = (x & 0xFFFF).astype(np.float32)
        return np.where(t & 1, -number, number).astype(np.float32).view(np.int32)

    assert "selp.f32" in checked(make, wanted)


def test_of_sums_that_share_a_term_only_the_other_is_chosen() -> None:
    def make(k: Kernel, t: Value, x: Value, read: bool = False) -> Value:
        base = bits(k, arith.MulI, t, 5)
        sums = [bits(k, arith.AddI, base, i) for i in (3, 9, 27, 81)]
        flags = [
            k.value(arith.CmpI, bits(k, arith.AndI, x, 1 << i), k.const(0), types=[I1], predicate="ne")
            for i in range(3)
        ]
        first = k.value(arith.Select, flags[0], *sums[:2], types=[I32])
        second = k.value(arith.Select, flags[1], *sums[2:], types=[I32])
        found = k.value(arith.Select, flags[2], first, second, types=[I32])
        return k.value(arith.XOrI, found, sums[3]) if read else found

    def numbers(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        first, second = np.where(x & 1, 3, 9), np.where(x & 2, 27, 81)
        return t * 5 + np.where(x & 4, first, second)

    text = checked(make, numbers)
    assert text.count("add.s32") + text.count("mad.lo.s32") == 1
    read = checked(lambda k, t, x: make(k, t, x, True), lambda t, x: numbers(t, x) ^ (t * 5 + 81))
    assert read.count("add.s32") > 1  # the last sum is there anyway
