"""Address arithmetic: however sums are regrouped, hoisted and folded, the address is the one that was requested."""

import re

import numpy as np
import pytest

from ir.core import Location
from ir.dialects import arith, gpu, llvm
from lowering.convert.nvgpu_to_nvvm import convert
from lowering.ptx import emit
from tests.lowering.nvgpu_harness import F32, GLOBAL_PTR, I32, I64, SHARED_PTR, Kernel, run

THREADS = 32
TRIPS = 3


class Index:
    """A random sum of products, built as ops and evaluated as a Python number."""

    def __init__(self, rng: np.random.Generator, depth: int = 4):
        kinds = ["constant", "thread", "outer", "inner"]
        self.kind = str(rng.choice(kinds if depth == 0 else [*kinds, "add", "add", "add", "mul", "sub"]))
        self.number = int(rng.integers(-9, 30))
        self.nsw = bool(rng.integers(0, 2))
        self.wide = bool(rng.integers(0, 4) == 0)
        count = {"add": 2, "sub": 2, "mul": 1}.get(self.kind, 0)
        self.parts = [Index(rng, depth - 1) for _ in range(count)]

    def build(self, k: Kernel, leaves: dict):
        if self.kind == "constant":
            return k.const(self.number)
        if self.kind in leaves:
            return leaves[self.kind]
        more = {"nsw": True} if self.nsw else {}
        left = self.parts[0].build(k, leaves)
        if self.kind == "mul":
            return k.value(arith.MulI, left, k.const(self.number), **more)
        cls = arith.AddI if self.kind == "add" else arith.SubI
        return k.value(cls, left, self.parts[1].build(k, leaves), **more)

    def number_of(self, leaves: dict) -> int:
        if self.kind == "constant":
            return self.number
        if self.kind in leaves:
            return leaves[self.kind]
        left = self.parts[0].number_of(leaves)
        if self.kind == "mul":
            return left * self.number
        right = self.parts[1].number_of(leaves)
        return left + right if self.kind == "add" else left - right


def chain(rng: np.random.Generator) -> list:
    """Steps of getelementptr: (index or None, element bytes, displacement, index as i64)."""
    steps = []
    for _ in range(int(rng.integers(1, 4))):
        index = Index(rng) if rng.integers(0, 5) else None
        scale = int(rng.choice([1, 2, 4, 12, 16]))
        steps.append((index, scale, int(rng.integers(-64, 4096)), bool(rng.integers(0, 2)), bool(rng.integers(0, 2))))
    return steps


def follow(k: Kernel, base, steps: list, leaves: dict):
    for index, scale, offset, wide, outermost in steps:
        operands = [base]
        if index is not None:
            value = index.build(k, leaves)
            operands.append(k.value(arith.ExtSI, value, types=[I64]) if wide else value)
        base = k.value(llvm.GetElementPtr, *operands, element_bytes=scale, offset=offset, outermost=outermost)
    return base


def expected(steps: list, leaves: dict) -> int:
    return sum((i.number_of(leaves) * s if i else 0) + o for i, s, o, _, _ in steps)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("space", [GLOBAL_PTR, SHARED_PTR], ids=["global", "shared"])
def test_random_addresses_in_nested_loops(seed: int, space) -> None:
    rng = np.random.default_rng(seed)
    chains = [chain(rng) for _ in range(6)]
    k = Kernel(GLOBAL_PTR, I32, threads=THREADS, smem=64)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    base = k.params[0] if space == GLOBAL_PTR else k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    word = I64 if space == GLOBAL_PTR else I32
    origin = k.value(llvm.PtrToInt, base, types=[word])

    def inner(iv, outer):
        leaves = {"thread": thread, "outer": outer, "inner": iv}
        row = k.value(arith.AddI, k.value(arith.MulI, outer, k.const(TRIPS)), iv)
        row = k.value(arith.AddI, k.value(arith.MulI, row, k.const(THREADS)), thread)
        for i, steps in enumerate(chains):
            pointer = k.value(llvm.PtrToInt, follow(k, base, steps, leaves), types=[word])
            moved = k.value(arith.SubI, pointer, origin)
            moved = moved if word == I64 else k.value(arith.ExtSI, moved, types=[I64])
            spot = k.value(arith.AddI, k.value(arith.MulI, row, k.const(len(chains))), k.const(i))
            k.store(moved, k.element(k.params[0], spot, I64))
        return []

    def outer(iv, carried):
        k.loop(k.const(0), k.params[1], k.const(1), [], lambda jv, _: inner(jv, iv))
        return []

    k.loop(k.const(0), k.params[1], k.const(1), [], outer)
    (got,) = run(k.ptx(), 1, THREADS, [np.zeros((TRIPS, TRIPS, THREADS, len(chains)), np.int64), TRIPS], k.smem)
    for outer_, inner_, thread_, i in np.ndindex(*got.shape):
        leaves = {"thread": thread_, "outer": outer_, "inner": inner_}
        wanted = expected(chains[i], leaves)
        assert got[outer_, inner_, thread_, i] == wanted, (seed, i, leaves, chains[i])


def test_constants_reach_the_displacement() -> None:
    k = Kernel(GLOBAL_PTR, threads=32, smem=4096)
    at = k.index()
    shared = k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    for i in range(4):
        index = k.value(arith.AddI, k.value(arith.AddI, at, k.const(8)), k.const(32 * i))
        value = k.load(k.value(llvm.GetElementPtr, shared, index, element_bytes=4, offset=4), F32)
        near = k.value(arith.AddI, at, k.const(32 * i), nsw=True)
        k.store(value, k.element(k.params[0], near, F32))
    text = k.ptx()
    assert re.findall(r"ld\.shared\.b32 %f\d+, \[%r\d+\+(\d+)\]", text) == ["36", "164", "292", "420"]
    assert len(set(re.findall(r"st\.global\.b32 \[(%rd\d+)", text))) == 1


def test_constants_of_differences_reach_the_displacement() -> None:
    """255 - thread, 127 - thread, of 32 threads: 224 and 96 above the flipped thread, which is one address. What may
    wrap stays as it is.
    """
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=THREADS)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    parts = [k.load(k.element(k.params[0], k.value(arith.SubI, k.const(c), thread), F32), F32) for c in (255, 127)]
    spot = k.element(k.params[1], thread, F32)
    k.store(k.value(arith.SubF, *parts), spot)
    given = k.load(spot, I32)
    k.store(k.load(k.element(k.params[0], k.value(arith.SubI, k.const(-(1 << 31)), given), F32), F32), spot)
    text = k.ptx()
    assert text.count("xor.b32") == 1
    assert re.search(r"\+896\]", text)
    assert re.search(r"\+384\]", text)
    assert len(re.findall(r"sub\.s32", text)) == 1


def test_elements_in_reverse_are_those_of_the_sum_flipped() -> None:
    """128 block + t and 128 block + (127 - t): one sum, whose low bits are flipped; in a place of any multiple of 64
    what is flipped may be carried, and both are sums.
    """
    for unit, sums in ((128, 1), (64, 2)):
        k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=128)
        thread, block = (k.value(cls, types=[I32], dimension="x") for cls in (gpu.ThreadId, gpu.BlockId))
        start = k.value(arith.MulI, block, k.const(unit))
        there = k.value(arith.AddI, start, thread)
        back = k.value(arith.AddI, start, k.value(arith.SubI, k.const(127), thread))
        value = k.load(k.element(k.params[0], there, F32), F32)
        k.store(value, k.element(k.params[1], back, F32))
        text = k.ptx()
        assert len(re.findall(r"add\.s32", text)) == sums
        x = np.arange(unit + 128, dtype=np.float32)
        _, got = run(text, 2, 128, [x, np.zeros(unit + 128, np.float32)], k.smem)
        np.testing.assert_array_equal(got[:64], x[127:63:-1])  # where tiles overlap, either's element
        np.testing.assert_array_equal(got[-64:], x[-128:-64][::-1])


def test_sums_that_may_wrap_stay_sums() -> None:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at = k.index()
    start = k.load(k.element(k.params[0], at, I32), I32)
    wrapped = k.value(arith.AddI, start, k.const(5))
    spot = k.value(llvm.PtrToInt, k.element(k.params[1], wrapped, I32), types=[I64])
    moved = k.value(arith.SubI, spot, k.value(llvm.PtrToInt, k.params[1], types=[I64]))
    k.store(moved, k.element(k.params[1], at, I64))
    x = np.array([2**31 - 1, 2**31 - 6, -3, 0] * 8, np.int32)
    _, got = run(k.ptx(), 1, 32, [x, np.zeros(32, np.int64)])
    with np.errstate(over="ignore"):
        assert (got == (x + np.int32(5)).astype(np.int64) * 4).all()


def test_lines_can_name_their_source() -> None:
    k = Kernel(GLOBAL_PTR, F32, threads=32)
    k.location = Location("kernel.mlir", 12, 3)
    k.store(k.value(arith.AddF, k.params[1], k.params[1]), k.params[0])
    func = convert(k.func())
    assert "// llvm.fadd kernel.mlir:12:3" in emit(func, annotate=True)
    assert "//" not in emit(func)


def test_32_bit_terms_are_widened_by_the_product_that_scales_them() -> None:
    """mul.wide and add.s64, which ptxas makes one IMAD.WIDE of; the other two ways take two to four instructions each:
    cvt and shl of the term, or mad.wide, also for a row times its pitch.
    """
    k = Kernel(GLOBAL_PTR, I32, I32, threads=32)
    at, (row, pitch) = k.index(), k.params[1:]
    far = k.value(arith.MulI, *(k.value(arith.ExtSI, x, types=[I64]) for x in (row, pitch)))
    lane = k.value(arith.ExtSI, at, types=[I64])
    index = k.value(arith.AddI, far, lane)
    k.store(k.load(k.element(k.params[0], at, F32), F32), k.element(k.params[0], index, F32))
    text = k.ptx()
    assert "mad.wide" not in text
    assert len(re.findall(r"mul\.wide\.s32 %rd\d+, %r\d+, 4;", text)) == 1
    x = np.arange(96, dtype=np.float32)
    (got,) = run(text, 1, 32, [x, 2, 32], k.smem)
    np.testing.assert_array_equal(got, np.concatenate([x[:64], x[:32]]))


@pytest.mark.parametrize("exact", [True, False])
def test_rows_a_constant_apart_lie_pitches_apart(exact: bool) -> None:
    """row * pitch + column of an i64 index, for rows r and r + 1, which cannot wrap where r is even."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, I32, threads=32)
    at, pitch = k.index(), k.value(arith.ExtSI, k.params[2], types=[I64])
    start = k.load(k.element(k.params[0], at, I32), I32)
    first = k.value(arith.ShLI, start, k.const(1)) if exact else start
    column = k.value(arith.ExtSI, at, types=[I64])
    zero = k.value(llvm.PtrToInt, k.params[0], types=[I64])
    for count in range(2):
        row = k.value(arith.AddI, first, k.const(count)) if count else first
        far = k.value(arith.MulI, k.value(arith.ExtSI, row, types=[I64]), pitch)
        there = k.element(k.params[0], k.value(arith.AddI, far, column), F32)
        moved = k.value(arith.SubI, k.value(llvm.PtrToInt, there, types=[I64]), zero)
        k.store(moved, k.element(k.params[1], k.value(arith.AddI, at, k.const(32 * count), nsw=True), I64))
    text = k.ptx()
    (register,) = re.findall(r"ld\.param\.b32 (%r\d+), ", text)
    assert len(re.findall(rf"mul\.wide\.s32 %rd\d+, {register}, 4;", text)) == exact
    starts = np.array([0, 1, -3, 2**30 - 1, 2**30, 2**31 - 1, -(2**31), 7] * 4, np.int32)
    _, got = run(text, 1, 32, [starts, np.zeros((2, 32), np.int64), 1000], k.smem)
    with np.errstate(over="ignore"):
        rows = [(starts * np.int32(2) if exact else starts) + np.int32(count) for count in range(2)]
    np.testing.assert_array_equal(got, [4 * (row.astype(np.int64) * 1000 + np.arange(32)) for row in rows])
