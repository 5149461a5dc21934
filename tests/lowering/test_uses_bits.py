"""simplify-by-uses on bits, bytes, choices and the order of sums: random programs, and each rule where it must act."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith, gpu, llvm, nvvm
from ir.types import F32, I1, I8, I16, I32, I64, IntType
from lowering.convert.nvgpu_to_nvvm import convert
from lowering.convert.nvgpu_to_nvvm.uses import simplify_by_uses
from tests.lowering.nvgpu_harness import GLOBAL_PTR, Kernel, run
from tests.lowering.test_uses import bits, checked, kernel

THREADS, GIVEN, STEPS, KEPT = 64, 4, 50, 8
Word = tuple[Value, np.ndarray]


class RandomBits:
    """Words of a kernel, each with its number in every thread: masks, shifts, bytes, logic, sums, choices, 64 bits."""

    def __init__(self, k: Kernel, rng: np.random.Generator, given: np.ndarray):
        self.k, self.rng = k, rng
        thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
        self.words: list[Word] = []
        for i in range(GIVEN):
            spot = k.value(arith.AddI, thread, k.const(i * THREADS))
            self.words.append((k.load(k.element(k.params[0], spot, I32), I32), given[i]))

    def pick(self) -> Word:
        return self.words[-1 - int(self.rng.integers(0, min(len(self.words), 7)))]

    def step(self) -> None:
        k, rng, (x, a), (y, b) = self.k, self.rng, self.pick(), self.pick()
        kind = int(rng.integers(0, 14))
        if kind == 0:
            mask = int(rng.choice([0xFF, 0xFF00, 0xFF0000, 0xFFFF, 0xFF00FF, 0xF0, 0x7FFFFFFF, 0xFF000000]))
            made = bits(k, arith.AndI, x, mask), a & np.uint32(mask)
        elif kind in (1, 2):
            place = int(rng.choice([1, 4, 8, 16, 24]))
            cls, found = (arith.ShRUI, a >> np.uint32(place)) if kind == 1 else (arith.ShLI, a << np.uint32(place))
            made = bits(k, cls, x, place), found
        elif kind == 3:
            narrow, dtype = (I8, np.uint8) if rng.integers(0, 2) else (I16, np.uint16)
            cut = k.value(arith.TruncI, x, types=[narrow])
            made = k.value(arith.ExtUI, cut, types=[I32]), a.astype(dtype).astype(np.uint32)
        elif kind == 4:
            at = int(rng.integers(0, 32))
            bit = k.value(arith.CmpI, bits(k, arith.AndI, x, 1 << at), k.const(0), types=[I1], predicate="ne")
            (p, c), (q, d) = self.pick(), self.pick()
            made = k.value(arith.Select, bit, p, q, types=[I32]), np.where(a >> np.uint32(at) & np.uint32(1), c, d)
        elif kind == 5:
            made = self.wide(x, y), a >> np.uint32(24) | b << np.uint32(8)
        elif kind == 6:
            made = self.chosen(x, y, a, b)
        elif kind == 7:
            more, place = int(rng.integers(-9, 9)), int(rng.choice([1, 4, 28, 30, 31]))
            total = bits(k, arith.AddI, x, more)
            odd = k.value(arith.CmpI, bits(k, arith.AndI, total, 1), k.const(0), types=[I1], predicate="ne")
            number = a + np.uint32(more % (1 << 32))
            raised = number << np.uint32(place)
            made = (
                k.value(arith.Select, odd, y, bits(k, arith.ShLI, total, place), types=[I32]),
                np.where(number & 1, b, raised),
            )
        elif kind == 8:
            place = int(rng.choice([8, 16, 20, 28, 31]))
            field = (a << np.uint32(place)).astype(np.int32) >> place
            made = bits(k, arith.ShRSI, bits(k, arith.ShLI, x, place), place), field.astype(np.uint32)
        else:
            logic: tuple[tuple[type, Callable[[np.ndarray, np.ndarray], np.ndarray]], ...] = (
                (arith.AndI, np.bitwise_and), (arith.OrI, np.bitwise_or), (arith.OrI, np.bitwise_or),
                (arith.XOrI, np.bitwise_xor), (arith.AddI, np.add),
            )  # fmt: skip
            cls, numpy = logic[kind - 9]
            made = k.value(cls, x, y), numpy(a, b)
        self.words.append(made)

    def wide(self, x: Value, y: Value) -> Value:
        """Four bytes in the middle of an i64 that bytes of two words are put into."""
        k = self.k
        low, high = (k.value(arith.ExtUI, each, types=[I64]) for each in (x, y))
        both = k.value(arith.OrI, k.value(arith.ShLI, high, k.const(32, I64)), low)
        return k.value(arith.TruncI, k.value(arith.ShRUI, both, k.const(24, I64)), types=[I32])

    def chosen(self, x: Value, y: Value, a: np.ndarray, b: np.ndarray) -> Word:
        """One of two words, by bytes of both that are zero or not."""
        k, rng = self.k, self.rng
        predicate = str(rng.choice(["eq", "ne"]))
        joined, numpy = ((arith.AndI, np.logical_and), (arith.OrI, np.logical_or))[int(rng.integers(0, 2))]
        found: list[Value] = []
        numbers: list[np.ndarray] = []
        for word, number in ((x, a), (y, b), (x, a)):
            place, mask = 8 * int(rng.integers(0, 4)), int(rng.choice([0xFF, 0x3, 0xFFFF]))
            part = bits(k, arith.AndI, bits(k, arith.ShRUI, word, place), mask)
            found.append(k.value(arith.CmpI, part, k.const(0), types=[I1], predicate=predicate))
            nothing = number >> np.uint32(place) & np.uint32(mask) == 0
            numbers.append(nothing if predicate == "eq" else ~nothing)
        condition = k.value(joined, k.value(joined, found[0], found[1]), found[2])
        picked = numpy(numpy(numbers[0], numbers[1]), numbers[2])
        return k.value(arith.Select, condition, x, y, types=[I32]), np.where(picked, a, b)


@pytest.mark.parametrize("seed", range(12))
def test_random_bits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    given = rng.integers(0, 1 << 32, (GIVEN, THREADS), dtype=np.uint32)
    program = RandomBits(k, rng, given)
    for _ in range(STEPS):
        program.step()
    kept = program.words[-KEPT:]
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    for i, (value, _) in enumerate(kept):
        k.store(value, k.element(k.params[1], k.value(arith.AddI, thread, k.const(i * THREADS)), I32))
    got = run(k.ptx(), 1, THREADS, [given, np.zeros((KEPT, THREADS), np.uint32)])[1]
    np.testing.assert_array_equal(got, np.stack([numbers for _, numbers in kept]))


def four(k: Kernel, first: Value, words: int = 4) -> list[Value]:
    """Words that the thread loads."""
    spots = [bits(k, arith.AndI, k.value(arith.AddI, first, k.const(i)), 127) for i in range(words)]
    return [k.load(k.element(k.params[0], spot, I32), I32) for spot in spots]


def rolled(x: np.ndarray) -> list[np.ndarray]:
    return [np.roll(x, -i).astype(np.uint32) for i in range(4)]


def test_four_bytes_of_four_words_are_three_permutations() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        word = None
        for at, each in enumerate(four(k, t)):
            byte = bits(k, arith.AndI, bits(k, arith.ShRUI, each, 8), 255)
            placed = bits(k, arith.ShLI, byte, 8 * at)
            word = placed if word is None else k.value(arith.OrI, word, placed)
        assert word is not None
        return word

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return sum((each >> 8 & 255) << (8 * at) for at, each in enumerate(rolled(x))).astype(np.int32)

    text = checked(make, wanted)
    assert text.count("prmt.b32") == 3
    assert "shl.b32" not in text.partition("ld.global")[2]


def test_the_bytes_of_half_a_word_are_one_permutation() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        first, second = (k.value(arith.TruncI, each, types=[I16]) for each in four(k, t, 2))
        low = k.value(arith.AndI, first, k.const(255, I16))
        high = k.value(arith.ShLI, k.value(arith.AndI, second, k.const(255, I16)), k.const(8, I16))
        return k.value(arith.ExtUI, k.value(arith.OrI, low, high), types=[I32])

    text = checked(make, lambda t, x: (rolled(x)[0] & 255 | (rolled(x)[1] & 255) << 8).astype(np.int32))
    assert text.count("prmt.b32") == 1


def test_bytes_of_64_bits_are_their_registers() -> None:
    def halves(k: Kernel, t: Value, x: Value) -> Value:
        low, high = (k.value(arith.ExtUI, each, types=[I64]) for each in (x, t))
        word = None
        for at in range(8):
            part = low if at < 4 else high
            byte = k.value(arith.AndI, k.value(arith.ShRUI, part, k.const(8 * (at % 4), I64)), k.const(255, I64))
            placed = k.value(arith.ShLI, byte, k.const(8 * at, I64))
            word = placed if word is None else k.value(arith.OrI, word, placed)
        assert word is not None
        return word

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x.astype(np.uint32).astype(np.int64) | t.astype(np.int64) << 32

    text = checked(halves, wanted, np.int64)
    assert "st.global.v2.b32" in text
    assert all(opcode not in text.partition("ld.global")[2] for opcode in ("or.b64", "shr", "shl", "prmt", "and"))

    def word(k: Kernel, t: Value, x: Value) -> Value:
        wide = k.value(arith.MulI, *(k.value(arith.ExtUI, x, types=[I64]) for _ in range(2)))
        found = None
        for at in range(4):
            byte = k.value(arith.TruncI, k.value(arith.ShRUI, wide, k.const(32 + 8 * at, I64)), types=[I8])
            placed = bits(k, arith.ShLI, k.value(arith.ExtUI, byte, types=[I32]), 8 * at)
            found = placed if found is None else k.value(arith.OrI, found, placed)
        assert found is not None
        return found

    text = checked(word, lambda t, x: (x.astype(np.uint32).astype(np.uint64) ** 2 >> np.uint64(32)).astype(np.int32))
    assert all(opcode not in text.partition("ld.global")[2] for opcode in ("or.b32", "shr", "shl.b32 ", "prmt", "and"))


def test_bytes_that_are_zero_are_one_comparison() -> None:
    def make(k: Kernel, t: Value, x: Value, cls: type = arith.OrI, predicate: str = "ne") -> Value:
        found = None
        for each in four(k, t, 2):
            for at in (0, 1, 3):
                byte = k.value(arith.TruncI, bits(k, arith.ShRUI, each, 8 * at), types=[I8])
                held = k.value(arith.CmpI, byte, k.const(0, I8), types=[I1], predicate=predicate)
                found = held if found is None else k.value(cls, found, held)
        return k.value(arith.Select, found, x, t, types=[I32])

    def bytes_of(x: np.ndarray) -> np.ndarray:
        return np.stack([each >> np.uint32(8 * at) & 255 for each in rolled(x)[:2] for at in (0, 1, 3)])

    text = checked(make, lambda t, x: np.where(bytes_of(x).any(0), x, t))
    assert text.count("setp") == 1
    assert "shr" not in text
    text = checked(lambda k, t, x: make(k, t, x, arith.AndI, "eq"), lambda t, x: np.where(~bytes_of(x).any(0), x, t))
    assert text.count("setp") == 1
    text = checked(lambda k, t, x: make(k, t, x, arith.AndI), lambda t, x: np.where(bytes_of(x).all(0), x, t))
    assert text.count("setp") == 6
    assert "shr" not in text
    assert re.search(r"setp.ge(.and)?.u32", text)  # the highest byte


def test_a_byte_in_the_middle_is_one_permutation() -> None:
    text = checked(
        lambda k, t, x: bits(k, arith.AddI, bits(k, arith.AndI, bits(k, arith.ShRUI, x, 16), 255), 3),
        lambda t, x: (x.astype(np.uint32) >> 16 & 255).astype(np.int32) + 3,
    )
    assert "prmt.b32" in text


def test_the_high_half_of_a_word_is_a_part_of_it() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        high = k.value(arith.TruncI, bits(k, arith.ShRUI, x, 16), types=[I16])
        return k.value(arith.ExtUI, k.value(arith.AddI, high, high), types=[I32])

    text = checked(make, lambda t, x: (x.astype(np.uint32) >> 15 & 0xFFFE).astype(np.int32))
    assert "mov.b32 {" in text
    assert "shr" not in text


def test_masks_of_numbers_apart_are_one() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        low = bits(k, arith.AndI, x, 255)
        first = bits(k, arith.AndI, bits(k, arith.ShLI, low, 22), 7 << 22)
        return k.value(arith.OrI, first, bits(k, arith.AndI, bits(k, arith.ShLI, low, 28), 1 << 31))

    text = checked(make, lambda t, x: (x & 7) << 22 | (x & 8) << 28)
    assert text.count("and.b32") == 2


def test_what_an_operand_decides_is_left_out() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        both = k.value(arith.AndI, x, t)
        return k.value(arith.OrI, k.value(arith.XOrI, both, bits(k, arith.AddI, x, 1)), t)

    assert "xor" not in checked(make, lambda t, x: (x & t ^ x + 1) | t)

    def within(k: Kernel, t: Value, x: Value) -> Value:
        return k.value(arith.AndI, k.value(arith.XOrI, k.value(arith.OrI, x, t), bits(k, arith.AddI, x, 1)), t)

    assert "or.b32 " not in checked(within, lambda t, x: ((x | t) ^ x + 1) & t).replace("xor.b32", "")


def test_shifts_that_undo_each_other_are_one() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        return bits(k, arith.ShLI, bits(k, arith.AndI, bits(k, arith.ShRUI, x, 4), 1), 2)

    text = checked(make, lambda t, x: (x >> 4 & 1) << 2)
    assert text.count("shr.u32") == 1
    assert "shl" not in text.partition("ld.global")[2].partition("and")[0]

    def unread(k: Kernel, t: Value, x: Value) -> Value:
        moved = bits(k, arith.ShLI, bits(k, arith.ShRUI, x, 4), 22)
        return bits(k, arith.AndI, moved, 7 << 22)

    assert "shr" not in checked(unread, lambda t, x: (x >> 4 & 7) << 22)


def test_a_sum_with_a_constant_is_raised_by_itself() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        total = bits(k, arith.AddI, x, 1)
        odd = k.value(arith.CmpI, bits(k, arith.AndI, total, 1), k.const(0), types=[I1], predicate="ne")
        return k.value(arith.Select, odd, bits(k, arith.ShLI, total, 30), t, types=[I32])

    text = checked(make, lambda t, x: np.where(x & 1, t, (x.astype(np.uint32) + np.uint32(1) << np.uint32(30))))
    assert "setp.eq.s32" in text
    assert "1073741824" in text


def test_a_field_with_its_sign_is_one_instruction() -> None:
    text = checked(
        lambda k, t, x: bits(k, arith.ShRSI, bits(k, arith.ShLI, x, 28), 28),
        lambda t, x: (x << 28).astype(np.int32) >> 28,
    )
    assert re.search(r"bfe.s32 %r\d+, %r\d+, 0, 4;", text)
    assert "shr" not in text


def test_one_of_two_sums_is_a_sum_with_one_of_two() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        odd = k.value(arith.CmpI, bits(k, arith.AndI, t, 1), k.const(0), types=[I1], predicate="ne")
        shared = k.value(arith.MulI, x, x)
        arms = [k.value(arith.AddI, shared, each) for each in (t, x)]
        return k.value(arith.Select, odd, *arms, types=[I32])

    text = checked(make, lambda t, x: x * x + np.where(t & 1, t, x))
    assert text.count("selp") == 1
    assert text.count("mad.lo.s32") + text.count("add.s32") == 1


def odd(k: Kernel, t: Value, bit: int = 1) -> Value:
    """Has a number this bit?"""
    return k.value(arith.CmpI, bits(k, arith.AndI, t, bit), k.const(0), types=[I1], predicate="ne")


def test_one_of_two_constants_is_added_behind_the_choice() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        arms = [bits(k, arith.AddI, x, number) for number in (77, -123)]
        return k.value(arith.Select, odd(k, t), *arms, types=[I32])

    text = checked(make, lambda t, x: x + np.where(t & 1, 77, -123).astype(np.int32))
    assert re.search(r"selp.b32 %r\d+, 77, -123", text)
    assert text.count("add.s32") == 1


def test_one_of_a_number_and_its_sum_stays() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        return k.value(arith.Select, odd(k, t), bits(k, arith.AddI, x, 77), x, types=[I32])

    text = checked(make, lambda t, x: x + np.where(t & 1, 77, 0).astype(np.int32))
    assert re.search(r"add.s32 %r\d+, %r\d+, 77;", text)


def test_one_of_several_numbers_is_a_sum_with_one_of_their_constants() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        first = k.value(arith.Select, odd(k, t), bits(k, arith.AddI, x, 77), x, types=[I32])
        second = k.value(arith.Select, odd(k, t), *(bits(k, arith.AddI, x, n) for n in (5, 9)), types=[I32])
        return k.value(arith.Select, odd(k, t, 2), first, second, types=[I32])

    text = checked(make, lambda t, x: x + np.where(t & 2, np.where(t & 1, 77, 0), np.where(t & 1, 5, 9)))
    assert text.count("add.s32") == 1


def test_one_of_several_addresses_is_one_of_their_displacements() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        spot = bits(k, arith.AndI, t, 31)
        found = [k.load(k.element(k.params[0], bits(k, arith.AddI, spot, 32 * i), I32), I32) for i in range(4)]
        pairs = [k.value(arith.Select, odd(k, t), *pair, types=[I32]) for pair in (found[:2], found[2:])]
        return k.value(arith.Select, odd(k, t, 2), *pairs, types=[I32])

    text = checked(make, lambda t, x: x[(t & 31) + 32 * (np.where(t & 2, 0, 2) + np.where(t & 1, 0, 1))])
    assert "selp.b64" not in text
    assert text.count("ld.global") == 2  # x itself is the other one


def test_a_mask_below_all_bits_of_a_term_needs_no_sum() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        total = k.value(arith.AddI, bits(k, arith.ShLI, t, 3), x)
        low = bits(k, arith.AndI, total, 6)
        return k.value(arith.AddI, k.value(arith.MulI, low, x), bits(k, arith.AndI, total, 56))

    text = checked(make, lambda t, x: (x & 6) * x + ((t * 8 + x) & 56))
    (masked,) = re.findall(r"and.b32 %r\d+, (%r\d+), 6;", text)
    assert re.search(rf"ld.global[\w.]* {masked},", text)


def test_a_number_that_is_cut_and_widened_is_read_as_it_was() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        cut = k.value(arith.TruncI, k.value(arith.TruncI, x, types=[I8]), types=[IntType(4)])
        cut = k.value(arith.ExtUI, k.value(arith.ExtUI, cut, types=[I8]), types=[I32])
        return bits(k, arith.ShRSI, bits(k, arith.ShLI, cut, 28), 28)

    text = checked(make, lambda t, x: (x << 28).astype(np.int32) >> 28)
    assert "cvt.u" not in text
    assert "and.b" not in text


@pytest.mark.parametrize("mask", [0xFF, 0xFFFF, 0x1FFFF])
@pytest.mark.parametrize("cls", [arith.UIToFP, arith.SIToFP])
def test_a_float_of_16_bits_is_one_of_an_i16(mask: int, cls: type) -> None:
    text = checked(
        lambda k, t, x: k.value(cls, bits(k, arith.AndI, x, mask), types=[F32]), lambda t, x: x & mask, np.float32
    )
    assert ("cvt.rn.f32.u16" in text) == (mask == 0xFFFF) == ("and.b" not in text)


@pytest.mark.parametrize(
    ("predicate", "step", "other"),
    [("sle", 1, "lt"), ("sgt", 1, "ge"), ("sge", -1, "gt"), ("slt", -1, "le"), ("sge", 1, ""), ("slt", 2, "")],
)
@pytest.mark.parametrize("left", [True, False])
def test_a_number_next_to_another_is_compared_without_the_sum(
    predicate: str, step: int, other: str, left: bool
) -> None:
    compare = {"sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal, "slt": np.less}[predicate]
    swapped = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}

    def make(k: Kernel, t: Value, x: Value) -> Value:
        total, y = bits(k, arith.AddI, t, step), bits(k, arith.AndI, x, 127)
        written = {"sle": "sge", "sgt": "slt", "sge": "sle", "slt": "sgt"}[predicate]
        sides = (total, y, predicate) if left else (y, total, written)
        found = k.value(arith.CmpI, *sides[:2], types=[I1], predicate=sides[2])
        return k.value(arith.Select, found, x, t, types=[I32])

    text = checked(make, lambda t, x: np.where(compare(t + step, x & 127), x, t))
    if other:
        assert f"setp.{other if left else swapped[other]}" in text
        assert "add.s32" not in text


def test_labels_of_groups_in_order_are_not_compared() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        start = bits(k, arith.ShLI, t, 2)
        labels = [start, *(bits(k, arith.AddI, start, i) for i in range(1, 4))]
        first, second = (
            k.value(arith.Select, odd(k, x, bit), *pair, types=[I32])
            for bit, pair in ((1, labels[:2]), (2, labels[2:]))
        )
        made = [
            k.value(arith.CmpI, first, second, types=[I1], predicate="slt"),
            k.value(arith.CmpI, first, second, types=[I1], predicate="sge"),
            k.value(arith.CmpI, second, first, types=[I1], predicate="sgt"),
            k.value(arith.CmpI, second, first, types=[I1], predicate="sle"),
        ]
        found = [k.value(arith.ExtUI, each, types=[I32]) for each in made]
        for i, each in enumerate(found[1:]):
            found[0] = k.value(arith.OrI, found[0], bits(k, arith.ShLI, each, i + 1))
        return k.value(arith.AddI, found[0], x)

    text = checked(make, lambda t, x: x + 5)
    assert "setp" not in text


def test_any_of_several_comparisons_is_a_chain() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        floats = [k.value(arith.SIToFP, each, types=[F32]) for each in four(k, t)]
        a, b, c, d = (
            k.value(arith.CmpF, each, k.const(float(i), F32), types=[I1], predicate="ogt")
            for i, each in enumerate(floats)
        )
        return k.value(arith.ExtUI, k.value(arith.OrI, k.value(arith.OrI, a, b), k.value(arith.OrI, c, d)), types=[I32])

    text = checked(
        make, lambda t, x: np.any([r.astype(np.int32).astype(np.float32) > i for i, r in enumerate(rolled(x))], 0)
    )
    assert "or.pred" not in text
    assert text.count("setp.gt.or.f32") == 3


def test_of_a_mask_that_more_is_made_of_the_other_comparison_is_joined() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        low = bits(k, arith.AndI, t, 3)
        none = k.value(arith.CmpI, low, k.const(0), types=[I1], predicate="eq")
        less = k.value(arith.CmpI, x, k.const(7), types=[I1], predicate="slt")
        return k.value(arith.AddI, k.value(arith.ExtUI, k.value(arith.AndI, none, less), types=[I32]), low)

    text = checked(make, lambda t, x: ((t & 3 == 0) & (x < 7)) + (t & 3))
    assert re.search(r"setp.lt.and.s32 %p\d+, %r\d+, 7, ", text)


def test_one_of_two_loads_is_a_load_of_one_of_two_addresses() -> None:
    def make(k: Kernel, t: Value, x: Value, between: bool = False) -> Value:
        odd = k.value(arith.CmpI, bits(k, arith.AndI, t, 1), k.const(0), types=[I1], predicate="ne")
        first, second = four(k, bits(k, arith.AddI, t, 1), 2)
        if between:
            k.store(x, k.element(k.params[1], t, I32))
        return k.value(arith.Select, odd, first, second, types=[I32])

    text = checked(make, lambda t, x: np.where(t & 1, np.roll(x, -1), np.roll(x, -2)))
    assert text.count("ld.global") == 2  # x itself is the other one
    func = convert(kernel(lambda k, t, x: make(k, t, x, between=True)).func())
    simplify_by_uses(func)
    assert sum(isinstance(op, nvvm.Ld) for op in func.walk()) == 3  # a store between them may be to either


def test_sums_of_three_share_two_terms() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        p, q = bits(k, arith.MulI, t, 77), bits(k, arith.XOrI, t, 5)
        found = [k.value(arith.AddI, k.value(arith.AddI, each, p), q) for each in four(k, t, 3)]
        return k.value(arith.XOrI, k.value(arith.XOrI, found[0], found[1]), found[2])

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        a, b, c, _ = (each.astype(np.int32) + t * 77 + (t ^ 5) for each in rolled(x))
        return a ^ b ^ c

    k = kernel(make)
    func = convert(k.func())
    before = sum(isinstance(op, llvm.Add) for op in func.walk())
    simplify_by_uses(func)
    assert sum(isinstance(op, llvm.Add) and op.results[0] in _read(func) for op in func.walk()) == before - 2
    checked(make, wanted)


def _read(func: llvm.Func) -> set[Value]:
    return {value for op in func.walk() for value in op.operands}


def test_a_tree_of_sums_is_a_chain() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        a, b, c, d = four(k, t)
        return k.value(arith.AddI, k.value(arith.AddI, a, b), k.value(arith.AddI, c, d))

    k = kernel(make)
    func = convert(k.func())
    simplify_by_uses(func)
    stored = next(op for op in func.walk() if isinstance(op, nvvm.St)).operands[1]
    depth = 0
    while isinstance(stored.op, llvm.Add):
        assert not isinstance(stored.op.rhs.op, llvm.Add)
        stored, depth = stored.op.lhs, depth + 1
    assert depth == 3
    checked(make, lambda t, x: sum(each.astype(np.int32) for each in rolled(x)))


def test_a_negative_term_is_taken_from_the_sum() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        minus = k.value(arith.SubI, k.const(0), x)
        return k.value(arith.MulI, k.value(arith.AddI, minus, t), k.value(arith.SubI, t, minus))

    text = checked(make, lambda t, x: (t - x) * (t + x))
    assert "neg" not in text
    assert (text.count("sub.s32"), text.count("add.s32")) == (1, 1)


def test_bytes_are_a_chain_too() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        a, b, c, d = (k.value(arith.TruncI, each, types=[I8]) for each in four(k, t))
        return k.value(arith.XOrI, k.value(arith.XOrI, a, b), k.value(arith.XOrI, c, d))

    text = checked(make, lambda t, x: np.bitwise_xor.reduce(np.stack(rolled(x))).astype(np.int8), np.int8)
    first, *others = re.findall(r"xor.b16 (%rs\d+), (%rs\d+), %rs\d+", text)
    for (made, _), (_, read) in zip([first, *others], others, strict=False):
        assert read == made


def test_guards_share_what_they_have_in_common() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        a, b, c = (
            k.value(arith.CmpI, x, k.const(bound), types=[I1], predicate=predicate)
            for bound, predicate in ((1 << 30, "slt"), (-(1 << 30), "sgt"), (17, "ne"))
        )
        odd = k.value(arith.CmpI, t, k.const(3), types=[I1], predicate="sgt")
        both = k.value(arith.AndI, k.value(arith.AndI, a, b), c)
        all_ = k.value(arith.AndI, k.value(arith.AndI, k.value(arith.AndI, odd, a), b), c)
        return k.value(
            arith.AddI,
            k.value(arith.Select, both, x, t, types=[I32]),
            k.value(arith.Select, all_, t, k.const(5), types=[I32]),
        )

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        both = (x < 1 << 30) & (x > -(1 << 30)) & (x != 17)
        return np.where(both, x, t) + np.where(both & (t > 3), t, 5)

    text = checked(make, wanted)
    assert len(re.findall(r"and\.pred|setp\.\w+\.and", text)) == 3


def test_terms_of_64_bits_without_a_common_bit_need_no_carry() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        wide, high = (k.value(arith.ExtUI, each, types=[I64]) for each in (bits(k, arith.AndI, t, 15), x))
        scaled = k.value(arith.MulI, high, k.const(16, I64))
        total = k.value(arith.AddI, scaled, wide)
        return k.value(
            arith.TruncI, k.value(arith.ShRUI, k.value(arith.MulI, total, scaled), k.const(3, I64)), types=[I32]
        )

    text = checked(
        make,
        lambda t, x: _product(x.astype(np.uint32).astype(np.uint64) * 16, t).astype(np.int32),
    )
    assert "or.b64" in text


def _product(scaled: np.ndarray, t: np.ndarray) -> np.ndarray:
    return ((scaled + (t & 15).astype(np.uint64)) * scaled >> np.uint64(3)).astype(np.int32)


def test_a_truth_value_that_is_scaled_is_one_of_two_numbers() -> None:
    def make(k: Kernel, t: Value, x: Value) -> Value:
        odd = k.value(arith.CmpI, x, k.const(7), types=[I1], predicate="slt")
        number = k.value(arith.UIToFP, odd, types=[F32])
        scaled = k.value(arith.MulF, number, k.const(0.75, F32))
        return k.value(arith.Bitcast, scaled, types=[I32])

    text = checked(
        make, lambda t, x: np.where(x < 7, np.float32(0.75), np.float32(0)).astype(np.float32).view(np.int32)
    )
    assert "mul.rn.f32" not in text
