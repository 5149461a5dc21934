"""Loads, stores, asynchronous copies, shuffles and tensor-core ops: PTX on the simulator against NumPy."""

import ml_dtypes
import numpy as np
import pytest

from ir.core import Block, Value, VerifyError, verify
from ir.dialects import arith, gpu, llvm, nvgpu, nvvm, vector
from tests.lowering.nvgpu_harness import (
    BF16,
    DTYPES,
    F16,
    F32,
    F64,
    GLOBAL_PTR,
    I1,
    I8,
    I16,
    I32,
    I64,
    SHARED_PTR,
    TF32,
    Kernel,
    VectorType,
    elementwise,
    floats,
    integers,
    run,
)  # fmt: skip

V = VectorType
THREADS = 128
ACCESSES = [
    I8, I16, I32, I64, F16, BF16, F32, F64, V((2,), I8), V((4,), I8), V((16,), I8), V((2,), F16), V((8,), F16),
    V((4,), BF16), V((4,), F32), V((2,), F32), V((2,), F64), V((2,), I64), V((1,), F16), V((4,), I16), V((8,), I8),
]  # fmt: skip


def random_bytes(seed: int, kind, count: int = THREADS) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 255, (count, nvgpu.byte_size(kind)), dtype=np.uint8)


@pytest.mark.parametrize("through_shared", [False, True])
def test_accesses_of_every_width(through_shared: bool) -> None:
    pointers = [GLOBAL_PTR] * (2 * len(ACCESSES))
    k = Kernel(*pointers, smem=16 * THREADS)
    at = k.index()
    shared = k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    for i, kind in enumerate(ACCESSES):
        value = k.load(k.element(k.params[2 * i], at, kind), kind)
        if through_shared:
            k.store(value, k.element(shared, at, kind))
            k.add(gpu.Barrier, types=[])
            other = k.value(arith.XOrI, at, k.const(5))
            value = k.load(k.element(shared, other, kind), kind)
            k.add(gpu.Barrier, types=[])
        k.store(value, k.element(k.params[2 * i + 1], at, kind))
    data = [random_bytes(i, kind) for i, kind in enumerate(ACCESSES)]
    args = [array for d in data for array in (d, np.zeros_like(d))]
    results = run(k.ptx(), 1, THREADS, args, k.smem)
    order = np.arange(THREADS) ^ 5 if through_shared else np.arange(THREADS)
    for kind, d, got in zip(ACCESSES, data, results[1::2], strict=True):
        assert (got == d[order]).all(), kind


def test_predicated_accesses_touch_nothing_outside() -> None:
    count = 77
    x = np.random.default_rng(0).standard_normal((count, 4)).astype(np.float32)
    wide = V((4,), F32)
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, GLOBAL_PTR, I32)
    at = k.index()
    inside = k.value(arith.CmpI, at, k.params[3], types=[I1], predicate="slt")
    spot = k.element(k.params[0], at, wide)
    zeroed = k.load(spot, wide, inside)
    other = k.load(k.element(k.params[1], at, wide), wide)
    kept = k.load(spot, wide, inside, other)
    k.store(zeroed, k.element(k.params[1], at, wide))
    outside = k.value(arith.XOrI, inside, k.const(1, I1))
    k.store(other, k.element(k.params[2], at, wide), inside)
    k.store(kept, k.element(k.params[2], at, wide, offset=16 * THREADS), outside)
    y = np.random.default_rng(1).standard_normal((THREADS, 4)).astype(np.float32)
    out = np.full((2 * THREADS, 4), 7, np.float32)
    ptx = k.ptx()
    assert "bra" not in ptx
    _, zeroed_out, got = run(ptx, 1, THREADS, [x, y, out, count])
    padded = np.zeros((THREADS, 4), np.float32)
    padded[:count] = x
    assert (zeroed_out == padded).all()
    assert (got[:count] == y[:count]).all()
    assert (got[count:THREADS] == 7).all()
    assert (got[THREADS : THREADS + count] == 7).all()
    assert (got[THREADS + count :] == y[count:]).all()


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_shared_memory_is_named_once(target: str) -> None:
    """Both sides of a branch and what follows it access the array itself: its address is made once, by ptxas too."""
    k = Kernel(GLOBAL_PTR, threads=32, smem=16)
    at = k.index()
    shared = k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    first = k.value(arith.CmpI, at, k.const(0), types=[I1], predicate="eq")

    def stored(number: int) -> list[Value]:
        word = k.load(k.element(k.params[0], k.const(number), I32), I32)
        k.store(word, k.element(shared, k.const(number), I32), first)
        k.add(gpu.Barrier, types=[])
        return []

    zero = k.value(arith.CmpI, k.load(k.params[0], I32), k.const(0), types=[I1], predicate="ne")
    k.branch(zero, [], lambda: stored(0), lambda: stored(1))
    both = k.load(shared, I32, first)
    k.store(both, k.element(k.params[0], at, I32))
    text = k.ptx(target)
    assert text.count("dynamic_smem") == 2  # its declaration, and one mov
    numbers = np.arange(5, 37, dtype=np.int32)
    (got,) = run(text, 1, 32, [numbers], k.smem)
    assert (got == np.where(np.arange(32) == 0, 5, 0)).all()


def test_predicates_known_at_compile_time() -> None:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32)
    at = k.index()
    never, always = k.const(0, I1), k.const(1, I1)
    value = k.load(k.element(k.params[0], at, F32), F32, never, k.const(2.5, F32))
    read = k.load(k.element(k.params[0], at, F32), F32, always)
    k.store(k.value(arith.AddF, value, read), k.element(k.params[1], at, F32), always)
    k.store(read, k.element(k.params[0], at, F32), never)
    x = np.random.default_rng(2).standard_normal(32).astype(np.float32)
    ptx = k.ptx()
    assert ptx.count("ld.global") == 1
    assert "@" not in ptx
    _, got = run(ptx, 1, 32, [x, x * 0 + 9])
    assert (got == x + np.float32(2.5)).all()


def test_truth_values_in_memory() -> None:
    x = np.random.default_rng(3).integers(0, 2, THREADS).astype(np.uint8)

    def flipped(k, v):
        return k.value(arith.XOrI, v, k.const(1, I1))

    (got,) = elementwise([I1], [flipped], [x])
    assert (got == 1 - x).all()


@pytest.mark.parametrize("bytes_", [4, 8, 16])
def test_async_copies_fill_with_zeros(bytes_: int) -> None:
    count = 50
    element = V((bytes_ // 4,), I32)
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, I32, smem=2 * bytes_ * THREADS)
    at = k.index()
    shared = k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    inside = k.value(arith.CmpI, at, k.params[2], types=[I1], predicate="slt")
    first = k.element(shared, at, element)
    second = k.element(shared, at, element, offset=bytes_ * THREADS)
    source = k.element(k.params[0], at, element)
    k.add(nvgpu.DeviceAsyncCopy, first, source, inside, types=[], segments=(1, 1, 1, 0, 0), bytes=bytes_,
          bypass_l1=bytes_ == 16)  # fmt: skip
    part = k.value(arith.Select, inside, k.const(4), k.const(0))
    k.add(nvgpu.DeviceAsyncCopy, second, source, part, types=[], segments=(1, 1, 0, 1, 0), bytes=bytes_)
    k.add(nvvm.CpAsyncCommitGroup, types=[])
    k.add(nvvm.CpAsyncWaitGroup, types=[], n=0)
    k.add(gpu.Barrier, types=[])
    for i, spot in enumerate((first, second)):
        k.store(k.load(spot, element), k.element(k.params[1], at, element, offset=i * bytes_ * THREADS))
    words = bytes_ // 4
    x = integers(np.random.default_rng(4), I32, count * words).reshape(count, words)
    _, got = run(k.ptx(), 1, THREADS, [x, np.full((2 * THREADS, words), 9, np.int32), count], k.smem)
    wanted = np.zeros((THREADS, words), np.int32)
    wanted[:count] = x
    assert (got[:THREADS] == wanted).all()
    wanted[:, 1:] = 0
    assert (got[THREADS:] == wanted).all()


@pytest.mark.parametrize("known", [None, True, False])
def test_async_copies_that_are_not_enabled_write_nothing(known: bool | None) -> None:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, I32, smem=4 * THREADS)
    at = k.index()
    spot = k.element(k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR]), at, I32)
    k.store(k.const(7), spot)
    inside = k.value(arith.CmpI, at, k.const(20), types=[I1], predicate="slt")
    below = k.value(arith.CmpI, at, k.params[2], types=[I1], predicate="slt")
    enable = below if known is None else k.value(arith.Constant, types=[I1], value=known)
    k.add(nvgpu.DeviceAsyncCopy, spot, k.element(k.params[0], at, I32), inside, enable, types=[],
          segments=(1, 1, 1, 0, 1), bytes=4)  # fmt: skip
    k.add(nvvm.CpAsyncCommitGroup, types=[])
    k.add(nvvm.CpAsyncWaitGroup, types=[], n=0)
    k.add(gpu.Barrier, types=[])
    k.store(k.load(spot, I32), k.element(k.params[1], at, I32))
    x, threads = np.arange(100, 100 + THREADS, dtype=np.int32), np.arange(THREADS)
    _, got = run(k.ptx(), 1, THREADS, [x, np.full(THREADS, 9, np.int32), 30], k.smem)
    copied = threads < 30 if known is None else np.full(THREADS, known)
    assert (got == np.where(copied, np.where(threads < 20, x, 0), 7)).all()


@pytest.mark.parametrize("mode", gpu.SHUFFLE_MODES)
def test_shuffles_of_every_type(mode: str) -> None:
    rng = np.random.default_rng(5)
    kinds = [F32, I32, F16, BF16, I8, I16, I64, F64, V((2,), F16), V((4,), F32)]
    k = Kernel(*[GLOBAL_PTR] * (2 * len(kinds)), I32)
    at = k.index()
    for i, kind in enumerate(kinds):
        value = k.load(k.element(k.params[2 * i], at, kind), kind)
        moved = k.value(gpu.Shuffle, value, k.params[-1], mode=mode)
        k.store(moved, k.element(k.params[2 * i + 1], at, kind))
    data = [rng.integers(0, 255, (THREADS, nvgpu.byte_size(kind)), dtype=np.uint8) for kind in kinds]
    offset = 5
    results = run(k.ptx(), 1, THREADS, [a for d in data for a in (d, np.zeros_like(d))] + [offset])
    lane = np.arange(THREADS) % 32
    source = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": lane * 0 + offset}[mode]
    source = np.where((source < 0) | (source > 31), lane, source) + np.arange(THREADS) // 32 * 32
    for kind, d, got in zip(kinds, data, results[1::2], strict=True):
        assert (got == d[source]).all(), (mode, kind)


def test_shuffled_truth_values() -> None:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR)
    at = k.index()
    value = k.load(k.element(k.params[0], at, I1), I1)
    k.store(k.value(gpu.Shuffle, value, k.const(1), mode="xor"), k.element(k.params[1], at, I1))
    x = np.random.default_rng(6).integers(0, 2, THREADS).astype(np.uint8)
    _, got = run(k.ptx(), 1, THREADS, [x, np.full(THREADS, 9, np.uint8)])
    assert (got == x[np.arange(THREADS) ^ 1]).all()


def lane_parts(k: Kernel):
    lane = k.value(arith.RemUI, k.index(), k.const(32))
    return k.value(arith.DivUI, lane, k.const(4)), k.value(arith.RemUI, lane, k.const(4))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", [F16, BF16, TF32], ids=str)
@pytest.mark.parametrize("accumulator", [F32, F16], ids=str)
def test_mma_with_fragments_from_registers(kind, accumulator) -> None:
    """One warp: D = A B^T + C with every fragment loaded element by element by its documented layout."""
    if accumulator == F16 and kind != F16:
        accumulator = F32
    shape = (16, 8, 16) if kind != TF32 else (16, 8, 8)
    m, n, depth = shape
    element = F32 if kind == TF32 else kind
    per = 32 // kind.width
    k = Kernel(*[GLOBAL_PTR] * 4, threads=32)
    row, col = lane_parts(k)

    def register(base, rows: int, columns: int, width: int):
        """The pair (or number) at (row + rows, per * col + columns) of a matrix `width` wide."""
        spot = k.value(arith.AddI, k.value(arith.MulI, row, k.const(width)), k.value(arith.MulI, col, k.const(per)))
        index = k.value(arith.AddI, spot, k.const(rows * width + columns))
        packed = V((2,), element) if per == 2 else F32
        return k.load(k.element(base, index, element), packed)

    half = depth // 2
    a = [register(k.params[0], r, c, depth) for c in (0, half) for r in (0, 8)]
    b = [register(k.params[1], 0, c, depth) for c in (0, half)]
    inner = 2 if per == 2 else 1
    left = k.value(nvgpu.Fragment, *a, types=[V((4, inner), element)])
    right = k.value(nvgpu.Fragment, *b, types=[V((2, inner), element)])
    spots = [
        k.value(arith.AddI, k.value(arith.MulI, row, k.const(n)),
                k.value(arith.AddI, k.value(arith.MulI, col, k.const(2)), k.const(8 * i * n)))
        for i in range(2)
    ]  # fmt: skip
    pair = V((2,), accumulator)
    halves = [k.load(k.element(k.params[2], s, accumulator), pair) for s in spots]
    start = k.value(nvgpu.Fragment, *halves, types=[V((2, 2), accumulator)])
    more = {"tf32Enabled": True} if kind == TF32 else {}
    made = k.value(nvgpu.MmaSync, left, right, start, mmaShape=shape, **more)
    for i, spot in enumerate(spots):
        part = k.value(vector.Extract, made, types=[pair], position=(i,))
        k.store(part, k.element(k.params[3], spot, accumulator))
    rng = np.random.default_rng(7)
    x = rng.integers(-8, 9, (m, depth)).astype(DTYPES[element])
    y = rng.integers(-8, 9, (n, depth)).astype(DTYPES[element])
    z = rng.integers(-8, 9, (m, n)).astype(DTYPES[accumulator])
    *_, got = run(k.ptx(), 1, 32, [x, y, z, z * 0 + 1])
    wanted = x.astype(np.float64) @ y.astype(np.float64).T + z.astype(np.float64)
    assert (got == wanted.astype(got.dtype)).all()


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("tiles", [1, 2, 4])
def test_ldmatrix(tiles: int, transpose: bool) -> None:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32, smem=tiles * 128)
    lane = k.index()
    shared = k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    line = V((8,), F16)
    inside = k.value(arith.CmpI, lane, k.const(8 * tiles), types=[I1], predicate="slt")
    k.store(k.load(k.element(k.params[0], lane, line), line, inside), k.element(shared, lane, line), inside)
    k.add(gpu.Barrier, types=[])
    row = k.value(arith.RemUI, lane, k.const(8 * tiles))
    found = k.value(nvgpu.LdMatrix, k.element(shared, row, line), types=[V((tiles, 2), F16)], numTiles=tiles,
                    transpose=transpose)  # fmt: skip
    for i in range(tiles):
        part = k.value(vector.Extract, found, types=[V((2,), F16)], position=(i,))
        k.store(part, k.element(k.params[1], lane, V((2,), F16), offset=128 * i))
    x = floats(np.random.default_rng(8), F16, tiles * 64, special=False).reshape(tiles, 8, 8)
    _, got = run(k.ptx(), 1, 32, [x, np.ones((tiles, 8, 8), np.float16)], k.smem)
    assert (got == (x.transpose(0, 2, 1) if transpose else x)).all()


def test_elements_of_vectors() -> None:
    wide, grid = V((8,), F16), V((2, 2), F32)
    k = Kernel(*[GLOBAL_PTR] * 4)
    at = k.index()
    value = k.load(k.element(k.params[0], at, wide), wide)
    parts = [k.value(vector.Extract, value, types=[F16], position=(i,)) for i in range(8)]
    k.store(k.value(vector.FromElements, *parts[::-1], types=[wide]), k.element(k.params[1], at, wide))
    square = [k.value(arith.ExtF, p, types=[F32]) for p in parts[2:6]]
    matrix = k.value(vector.FromElements, *square, types=[grid])
    line = k.value(vector.Extract, matrix, types=[V((2,), F32)], position=(1,))
    k.store(line, k.element(k.params[2], at, V((2,), F32)))
    small = V((4,), I8)
    letters = [k.value(arith.FPToSI, p, types=[I8]) for p in parts[:4]]
    packed = k.value(vector.FromElements, *letters, types=[small])
    back = k.value(vector.Extract, packed, types=[I8], position=(2,))
    k.store(k.value(vector.FromElements, back, *letters[1:], types=[small]), k.element(k.params[3], at, small))
    x = (np.random.default_rng(9).standard_normal((THREADS, 8)) * 30).astype(np.float16)
    out = [np.ones((THREADS, 8), np.float16), np.ones((THREADS, 2), np.float32), np.ones((THREADS, 4), np.int8)]
    _, reverse, line_out, letters_out = run(k.ptx(), 1, THREADS, [x, *out])
    assert (reverse == x[:, ::-1]).all()
    assert (line_out == x[:, 4:6].astype(np.float32)).all()
    assert (letters_out == np.trunc(x[:, [2, 1, 2, 3]]).astype(np.int8)).all()


def test_addresses_as_integers() -> None:
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, threads=32, smem=256)
    at = k.index()
    shared = k.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
    number = k.value(llvm.PtrToInt, k.element(shared, at, F32), types=[I32])
    moved = k.value(arith.XOrI, number, k.const(64))
    k.store(k.load(k.element(k.params[0], at, F32), F32), k.value(llvm.IntToPtr, moved, types=[SHARED_PTR]))
    k.add(gpu.Barrier, types=[])
    base = k.value(llvm.PtrToInt, k.params[1], types=[I64])
    wide = k.value(arith.ExtUI, k.value(arith.MulI, at, k.const(4)), types=[I64])
    target = k.value(llvm.IntToPtr, k.value(arith.AddI, base, wide), types=[GLOBAL_PTR])
    k.store(k.load(k.element(shared, at, F32), F32), target)
    x = np.random.default_rng(10).standard_normal(32).astype(np.float32)
    _, got = run(k.ptx(), 1, 32, [x, x * 0 + 3], k.smem)
    assert (got == x[np.arange(32) ^ 16]).all()


def test_ill_formed_ops_are_refused_with_their_name() -> None:
    k = Kernel(GLOBAL_PTR)
    bad = [
        lambda: k.load(k.params[0], V((3,), F32)),
        lambda: k.load(k.params[0], F32, cache="wrong"),
        lambda: k.value(arith.CmpI, k.const(1), k.const(2), types=[I1], predicate="less"),
        lambda: k.value(vector.Extract, k.const(0.0, V((2,), F16)), types=[F16], position=(2,)),
        lambda: k.value(gpu.Shuffle, k.const(1), k.const(2), mode="sideways"),
        lambda: k.value(gpu.ThreadId, types=[I32], dimension="w"),
        lambda: k.value(arith.AddI, k.const(1), k.const(2, I64)),
    ]
    for make in bad:
        op = make().op
        with pytest.raises(VerifyError, match=op.name.replace(".", r"\.")):
            verify(op)


def test_bfloat_constants_round_to_nearest_even() -> None:
    numbers = [1.00390625, 1.01171875, -3.3e38, 1e-40, float("inf")]
    k = Kernel(GLOBAL_PTR, threads=32)
    for i, number in enumerate(numbers):
        k.store(k.const(number, BF16), k.element(k.params[0], k.const(i), BF16))
    (got,) = run(k.ptx(), 1, 32, [np.ones(len(numbers), ml_dtypes.bfloat16)])
    assert (got.view(np.uint16) == np.array(numbers).astype(ml_dtypes.bfloat16).view(np.uint16)).all()


def test_only_bytes_have_no_sign() -> None:
    x, y, z = (Block([V((n, 2), F16)]).args[0] for n in (4, 2, 2))
    made = nvgpu.MmaSync([x, y, z], [z.type], {"mmaShape": (16, 8, 16), "signed": (False, True)})
    with pytest.raises(VerifyError, match="unsigned operands must be i8, are f16"):
        made.verify()
