"""Each op of sm_90 on the simulator and through ptxas: barriers, tensor copies, products, roles."""

import re

import numpy as np
import pytest

from ir.core import VerifyError, verify
from ir.dialects import arith, gpu, llvm, math, nvgpu, nvvm, vector
from ir.types import F16, F32, GLOBAL_PTR, I1, I32, I64, SHARED_PTR, TENSOR_MAP, VectorType
from lowering.atoms.wgmma import WGMMA_ATOMS
from lowering.convert.nvgpu_to_nvvm import convert
from lowering.layouts.wgmma import matrix_operand, operand_layout, wgmma_tile
from lowering.ptx import emit
from ptxsim import GlobalMemory, TensorMap, launch
from tests.lowering.nvgpu_harness import Kernel, assemble

ACC = nvgpu.ACCUMULATOR
PAIR = VectorType((2,), F16)


class Warpgroup(Kernel):
    """A kernel of one warpgroup with helpers for barriers and coordinates."""

    def __init__(self, *params, smem: int, threads: int = 128):
        super().__init__(*params, threads=threads, smem=smem)
        self.thread = self.value(gpu.ThreadId, types=[I32], dimension="x")
        self.lane = self.value(arith.RemUI, self.thread, self.const(32))
        self.warp = self.value(arith.DivUI, self.thread, self.const(32))
        self.base = self.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
        self.first = self.compare(self.thread, 0)

    def compare(self, x, y, predicate="eq"):
        y = self.const(y) if isinstance(y, int) else y
        return self.value(arith.CmpI, x, y, types=[I1], predicate=predicate)

    def at(self, offset, index=None, scale=1):
        operands = [self.base] if index is None else [self.base, index]
        return self.value(llvm.GetElementPtr, *operands, element_bytes=scale, offset=offset)

    def effect(self, cls, *operands, segments=None, **attributes):
        self.add(cls, *operands, types=[], segments=segments, **attributes)

    def barrier(self, offset: int, count: int) -> None:
        """Make an mbarrier that everybody sees."""

        def init():
            self.effect(nvvm.MBarrierInit, self.at(offset), count=count)
            self.effect(nvvm.FenceMBarrierInit)
            return []

        self.branch(self.first, [], init, list)
        self.effect(gpu.Barrier)

    def wait(self, offset: int, parity: int) -> None:
        self.effect(nvvm.MBarrierTryWaitParity, self.at(offset), self.const(parity))

    def simulate(self, *args, hazards: bool = True) -> None:
        ptx = self.ptx("sm_90a")
        placed, memory = args[:-1], args[-1]
        launch(ptx, (1,), (self.threads, 1, 1), list(placed), memory, dynamic_smem=self.smem, hazards=hazards)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_tensor_copies_of_every_rank(rank: int) -> None:
    """A box is loaded with a part out of bounds and stored elsewhere."""
    box, extents = (16, 4, 2, 2, 2)[:rank], (24, 5, 3, 3, 2)[:rank]
    size = int(np.prod(box)) * 4
    k = Warpgroup(TENSOR_MAP, TENSOR_MAP, smem=size + 128)
    k.effect(nvvm.PrefetchTensorMap, k.params[0], k.first, segments=(1, 1))
    k.barrier(size, 1)
    start = [k.const(c) for c in (12, 2, 1, 1, 0)[:rank]]
    k.effect(nvvm.MBarrierArriveExpectTx, k.at(size), k.first, txcount=size)
    k.effect(nvvm.TensorLoad, k.at(0), k.params[0], *start, k.at(size), k.first, segments=(1, 1, rank, 1, 0, 1))
    k.wait(size, 0)
    k.effect(nvvm.FenceProxy, kind="async", space="shared::cta")

    def store():
        k.effect(nvvm.TensorStore, k.params[1], k.at(0), *[k.const(0)] * rank, segments=(1, 1, rank, 0))
        k.effect(nvvm.BulkCommitGroup)
        k.effect(nvvm.BulkWaitGroup, group=0, read=True)
        k.effect(nvvm.BulkWaitGroup, group=0)
        return []

    k.branch(k.first, [], store, list)
    memory = GlobalMemory()
    source = np.random.default_rng(rank).standard_normal(extents[::-1]).astype(np.float32)
    target = np.full(box[::-1], 7, np.float32)
    maps, places = [], []
    for array in (source, target):
        places.append(memory.put(array))
        strides = array.strides[::-1][1:]
        maps.append(TensorMap(places[-1], "f32", array.shape[::-1], strides, box))
    k.simulate(*maps, memory)
    wanted = np.zeros_like(target)
    begin = (12, 2, 1, 1, 0)[:rank][::-1]
    inside = source[tuple(slice(b, b + e) for b, e in zip(begin, box[::-1], strict=True))]
    wanted[tuple(slice(0, e) for e in inside.shape)] = inside
    assert (memory.get(places[1], target.shape, np.float32) == wanted).all()


def test_arrivals_order_shared_memory() -> None:
    """Every thread writes, arrives (the odd ones twice) and reads what another one wrote."""
    k = Warpgroup(GLOBAL_PTR, GLOBAL_PTR, smem=1024)
    k.barrier(512, 128 + 64)
    odd = k.compare(k.value(arith.RemUI, k.thread, k.const(2)), 1)
    value = k.load(k.element(k.params[0], k.thread, F32), F32)
    k.store(value, k.at(0, k.thread, 4))
    k.effect(nvvm.MBarrierArrive, k.at(512))
    k.effect(nvvm.MBarrierArrive, k.at(512), odd)
    k.wait(512, 0)
    other = k.value(arith.SubI, k.const(127), k.thread)
    k.store(k.load(k.at(0, other, 4), F32), k.element(k.params[1], k.thread, F32))
    memory = GlobalMemory()
    data = np.random.default_rng(0).standard_normal(128).astype(np.float32)
    places = [memory.put(data), memory.put(np.full_like(data, 7))]
    k.simulate(*places, memory)
    assert (memory.get(places[1], data.shape, np.float32) == data[::-1]).all()


def test_arrival_of_asynchronous_copies() -> None:
    """cp.async of each thread, its completion counted by the barrier, then read by another warp."""
    k = Warpgroup(GLOBAL_PTR, GLOBAL_PTR, smem=2048 + 64)
    k.barrier(2048, 128)
    kind = VectorType((4,), F32)
    source = k.element(k.params[0], k.thread, kind)
    k.effect(nvgpu.DeviceAsyncCopy, k.at(0, k.thread, 16), source, segments=(1, 1, 0, 0, 0), bytes=16, bypass_l1=True)
    k.effect(nvvm.CpAsyncMBarrierArrive, k.at(2048))
    k.wait(2048, 0)
    other = k.value(arith.SubI, k.const(127), k.thread)
    k.store(k.load(k.at(0, other, 16), kind), k.element(k.params[1], k.thread, kind))
    memory = GlobalMemory()
    data = np.random.default_rng(1).standard_normal((128, 4)).astype(np.float32)
    places = [memory.put(data), memory.put(np.full_like(data, 7))]
    k.simulate(*places, memory)
    assert (memory.get(places[1], data.shape, np.float32) == data[::-1]).all()


def test_elect_and_named_barriers() -> None:
    """One lane a warp is elected; warps 0 and 1 exchange values behind a barrier of their own."""
    k = Warpgroup(GLOBAL_PTR, smem=1024)
    chosen = k.value(nvvm.ElectSync, types=[I1])
    one = k.value(arith.ExtUI, chosen, types=[I32])
    low = k.compare(k.warp, 2, "ult")

    def exchange():
        number = k.value(arith.AddI, k.value(arith.MulI, k.thread, k.const(10)), one)
        k.store(number, k.at(0, k.thread, 4))
        k.effect(nvvm.NamedBarrier, barrierId=3, numberOfThreads=64)
        partner = k.value(arith.XOrI, k.thread, k.const(32))
        return [k.load(k.at(0, partner, 4), I32)]

    (value,) = k.branch(low, [I32], exchange, lambda: [one])
    k.store(value, k.element(k.params[0], k.thread, I32))
    memory = GlobalMemory()
    place = memory.put(np.full(128, 7, np.int32))
    k.simulate(place, memory)
    got = memory.get(place, (128,), np.int32)
    thread = np.arange(64) ^ 32
    assert ((got[:64] - 10 * thread).reshape(2, 32).sum(1) == 1).all()
    assert (got[64:].reshape(2, 32).sum(1) == 1).all()


def test_setmaxnreg_comes_with_maxnreg() -> None:
    k = Warpgroup(GLOBAL_PTR, smem=1024, threads=256)
    high = k.compare(k.thread, 128, "uge")

    def side(action, count):
        def build():
            k.effect(nvvm.SetMaxRegister, action=action, regCount=count)
            k.store(k.thread, k.element(k.params[0], k.thread, I32))
            return []

        return build

    k.branch(high, [], side("increase", 200), side("decrease", 40))
    made = k.func("sm_90a")
    assert ".maxnreg" not in emit(convert(made))
    made.attributes["maxnreg"] = 128
    text = emit(convert(made))
    assert ".maxnreg 128" in text
    assemble(text, "sm_90a")


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("tiles", [1, 2, 4])
def test_stmatrix_is_the_inverse_of_ldmatrix(tiles: int, transpose: bool) -> None:
    """Registers loaded plainly, stored by stmatrix to shared memory, compared with what ldmatrix would read."""
    k = Warpgroup(GLOBAL_PTR, GLOBAL_PTR, smem=1024, threads=32)
    kind = VectorType((tiles, 2), F16)
    pairs = []
    for i in range(tiles):
        number = k.value(arith.AddI, k.lane, k.const(32 * i))
        pairs.append(k.load(k.element(k.params[0], number, PAIR), PAIR))
    rows = k.value(arith.RemUI, k.lane, k.const(8 * tiles))
    value = k.value(nvgpu.Fragment, *pairs, types=[kind])
    k.effect(nvgpu.StMatrix, value, k.at(0, rows, 16), transpose=transpose)
    k.effect(gpu.Barrier)
    back = k.value(nvgpu.LdMatrix, k.at(0, rows, 16), types=[kind], numTiles=tiles, transpose=transpose)
    for i in range(tiles):
        part = k.value(vector.Extract, back, types=[PAIR], position=(i,))
        number = k.value(arith.AddI, k.lane, k.const(32 * i))
        k.store(part, k.element(k.params[1], number, PAIR))
    memory = GlobalMemory()
    data = np.random.default_rng(2).standard_normal(tiles * 64).astype(np.float16)
    places = [memory.put(data), memory.put(np.full_like(data, 7))]
    k.simulate(*places, memory)
    assert (memory.get(places[1], data.shape, np.float16) == data).all()


@pytest.mark.parametrize(("kind", "transpose"), [(VectorType((4, 1), F32), True), (VectorType((3, 2), F16), False)])
def test_registers_that_stmatrix_does_not_take_are_refused(kind: VectorType, transpose: bool) -> None:
    k = Warpgroup(smem=1024)
    made = nvgpu.StMatrix([k.const(1.0, kind), k.base], [], {"transpose": transpose})
    with pytest.raises(VerifyError, match="must be 1, 2 or 4 registers"):
        verify(made)


# Products


class Products(Warpgroup):
    """Tiles brought by tensor copies into shared memory, one warpgroup, waits of depth 0."""

    def __init__(self, tiles, *more):
        sizes = [int(np.prod(shape)) * 2 for shape, _, _ in tiles]
        self.offsets = [sum(sizes[:i]) for i in range(len(sizes))]
        self.total = sum(sizes)
        super().__init__(*[TENSOR_MAP] * len(tiles), *more, smem=self.total + 128)
        self.barrier(self.total, 1)
        self.effect(nvvm.MBarrierArriveExpectTx, self.at(self.total), self.first, txcount=self.total)
        for (shape, k_dim, k_major), tensor, offset in zip(tiles, self.params, self.offsets, strict=False):
            fast = k_dim if k_major else 1 - k_dim
            for i in range(shape[fast] // 64):
                at = self.at(offset + i * 128 * shape[1 - fast])
                start = [self.const(64 * i), self.const(0)]
                self.effect(nvvm.TensorLoad, at, tensor, *start, self.at(self.total), self.first,
                            segments=(1, 1, 2, 1, 0, 1))  # fmt: skip
        self.wait(self.total, 0)

    @staticmethod
    def map(memory, array, fast):
        stored = np.ascontiguousarray(array if fast == 1 else array.T)
        rows, columns = stored.shape
        return TensorMap(memory.put(stored), "f16", (columns, rows), (columns * 2,), (64, rows), swizzle="128B")

    def name(self, offset, operand):
        return self.value(nvgpu.MatrixDescriptor, self.at(offset), types=[I64], lbo=operand.lbo, sbo=operand.sbo,
                          swizzle=operand.swizzle_name)  # fmt: skip

    def mma(self, a, b, acc, scale=None, trans_b=False):
        n = 8 * len(acc)
        operands = [a, b, *([scale] if scale is not None else []), *acc]
        return self.add(nvgpu.WarpgroupMma, *operands, types=[ACC] * len(acc),
                        segments=(1, 1, int(scale is not None), len(acc)), shape=(64, n, 16), type_a="f16",
                        type_b="f16", trans_b=trans_b).results  # fmt: skip

    def finish(self, acc, pending=0):
        self.effect(nvvm.WgmmaCommitGroup)
        return list(self.add(nvgpu.WarpgroupWait, *acc, types=[v.type for v in acc], pending=pending).results)

    def write(self, acc, pointer, columns):
        row = self.value(arith.AddI, self.value(arith.MulI, self.warp, self.const(16)),
                         self.value(arith.DivUI, self.lane, self.const(4)))  # fmt: skip
        column = self.value(arith.MulI, self.value(arith.RemUI, self.lane, self.const(4)), self.const(2))
        index = self.value(arith.AddI, self.value(arith.MulI, row, self.const(columns)), column)
        for group, value in enumerate(acc):
            for half in range(2):
                pair = self.value(vector.Extract, value, types=[VectorType((2,), F32)], position=(half,))
                self.store(pair, self.element(pointer, index, F32, 4 * (8 * half * columns + 8 * group)))


def random(*shapes):
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.standard_normal(shape).astype(np.float16) for shape in shapes]


def test_product_of_a_product_from_registers() -> None:
    """O = exp2(A B^T) V: the accumulator of the first product is, rounded, the register operand of the second."""
    m, n, k, width = 64, 64, 64, 128
    tiles = [((m, k), 1, True), ((n, k), 1, True), ((n, width), 0, False)]
    t = Products(tiles, GLOBAL_PTR)
    plans = [matrix_operand(operand_layout(s, d, 2, major, 128), s, d, size)
             for (s, d, major), size in zip(tiles, (64, 64, 128), strict=True)]  # fmt: skip
    first = wgmma_tile(WGMMA_ATOMS[F16, F16, n, False], m, n, k, 1)
    second = wgmma_tile(WGMMA_ATOMS[F16, F16, width, True], m, width, n, 1)
    assert first.c == second.a
    zero = t.const(0.0, ACC)
    acc = [zero] * (n // 8)
    t.effect(nvvm.WgmmaFence)
    for step in first.steps():
        names = [t.name(t.offsets[i] + plans[i].displacement(0, 16 * step.k), plans[i]) for i in range(2)]
        acc = t.mma(*names, acc)
    acc = t.finish(acc)
    registers = []
    for value in acc:
        for half in range(2):
            parts = [t.value(vector.Extract, value, types=[F32], position=(half, i)) for i in range(2)]
            parts = [t.value(arith.TruncF, t.value(math.Exp2, p), types=[F16]) for p in parts]
            registers.append(t.value(vector.FromElements, *parts, types=[PAIR]))
    fragments = [t.value(nvgpu.Fragment, *registers[4 * i : 4 * i + 4], types=[VectorType((4, 2), F16)])
                 for i in range(n // 16)]  # fmt: skip
    out = [zero] * (width // 8)
    t.effect(nvvm.WgmmaFence)
    for step in second.steps():
        assert (step.a.start, step.a.stop) == (8 * step.k, 8 * step.k + 8)
        b = t.name(t.offsets[2] + plans[2].displacement(0, 16 * step.k), plans[2])
        out = t.mma(fragments[step.k], b, out, trans_b=True)
    out = t.finish([*out, *fragments])[: width // 8]
    t.write(out, t.params[3], width)
    a, b, v = random((m, k), (n, k), (n, width))
    a, b = a * np.float16(0.125), b * np.float16(0.5)
    memory = GlobalMemory()
    maps = [t.map(memory, a, 1), t.map(memory, b, 1), t.map(memory, v, 1)]
    place = memory.put(np.full((m, width), 7, np.float32))
    t.simulate(*maps, place, memory)
    p = np.exp2(a.astype(np.float64) @ b.astype(np.float64).T).astype(np.float16)
    wanted = p.astype(np.float64) @ v.astype(np.float64)
    assert abs(memory.get(place, wanted.shape, np.float32) - wanted).max() < 2e-3 * abs(wanted).max()


def plain_product(build, outputs: int) -> tuple[np.ndarray, list[np.ndarray], str]:
    """One 64x32x16 product of an A and B; `build(kernel, a, b)` returns lists of accumulators to write."""
    tiles = [((64, 64), 1, True), ((32, 64), 1, True)]
    t = Products(tiles, *[GLOBAL_PTR] * outputs, I32)
    plans = [matrix_operand(operand_layout(s, d, 2, True, 128), s, d, size)
             for (s, d, _), size in zip(tiles, (64, 32), strict=True)]  # fmt: skip
    made = build(t, *(t.name(offset, plan) for offset, plan in zip(t.offsets, plans, strict=True)))
    for acc, pointer in zip(made, t.params[2:], strict=False):
        t.write(acc, pointer, 32)
    a, b = random((64, 64), (32, 64))
    memory = GlobalMemory()
    maps = [t.map(memory, x, 1) for x in (a, b)]
    places = [memory.put(np.full((64, 32), 7, np.float32)) for _ in range(outputs)]
    t.simulate(*maps, *places, 3, memory)
    product = a[:, :16].astype(np.float64) @ b[:, :16].astype(np.float64).T
    return product, [memory.get(p, (64, 32), np.float32) for p in places], t.ptx("sm_90a")


def test_an_accumulator_that_is_needed_later_survives() -> None:
    def build(t, a, b):
        t.effect(nvvm.WgmmaFence)
        one = t.finish(t.mma(a, b, [t.const(0.0, ACC)] * 4))
        t.effect(nvvm.WgmmaFence)
        two = t.finish(t.mma(a, b, one))
        return one, two

    product, (one, two), ptx = plain_product(build, 2)
    assert abs(one - product).max() < 1e-4
    assert abs(two - 2 * product).max() < 1e-4
    assert len(re.findall(r"mov\.b32 %f\d+, %f\d+;", ptx)) == 16


def test_accumulators_that_are_not_zero_or_not_read() -> None:
    def build(t, a, b):
        start = [t.const(0.5 * i, ACC) for i in range(4)]
        t.effect(nvvm.WgmmaFence)
        return (
            t.finish(t.mma(a, b, start)),
            t.finish(t.mma(a, b, start, t.const(0, I1))),
            t.finish(t.mma(a, b, start, t.compare(t.params[-1], 3))),
            t.finish(t.mma(a, b, start, t.compare(t.params[-1], 4))),
        )

    product, (kept, dropped, true, false), _ = plain_product(build, 4)
    started = product + np.repeat(np.arange(4) * 0.5, 8)
    for got, wanted in ((kept, started), (dropped, product), (true, started), (false, product)):
        assert abs(got - wanted).max() < 1e-4


def test_a_loop_keeps_accumulators_in_place() -> None:
    """Three products in a loop whose first does not read the accumulator."""

    def build(t, a, b):
        def body(step, acc):
            t.effect(nvvm.WgmmaFence)
            return t.finish(t.mma(a, b, acc, t.compare(step, 0, "sgt")))

        start = [t.const(9.0, ACC)] * 4
        return [t.loop(t.const(0), t.params[-1], t.const(1), start, body)]

    product, (got,), ptx = plain_product(build, 1)
    assert abs(got - 3 * product).max() < 1e-4
    assert not re.findall(r"mov\.b32 %f\d+, %f\d+;", ptx)


@pytest.mark.parametrize(
    ("cls", "operands", "attributes", "message"),
    [
        (nvvm.MBarrierInit, 1, {"count": 0}, "count"),
        (nvvm.SetMaxRegister, 0, {"action": "increase", "regCount": 100}, "multiple of 8"),
        (nvvm.SetMaxRegister, 0, {"action": "up", "regCount": 96}, "must be one of 'increase', 'decrease'"),
        (nvvm.NamedBarrier, 0, {"barrierId": 16, "numberOfThreads": 64}, "barrierId' must be at most 15"),
        (nvvm.NamedBarrier, 0, {"barrierId": 1, "numberOfThreads": 63}, "whole warps"),
        (nvgpu.MatrixDescriptor, 1, {"sbo": 8, "swizzle": "128B"}, "sbo"),
        (nvgpu.MatrixDescriptor, 1, {"sbo": 1024, "swizzle": "128"}, "swizzle"),
    ],
)
def test_attributes_out_of_range_are_refused(cls, operands: int, attributes: dict, message: str) -> None:
    k = Warpgroup(smem=1024)
    types = [I64] if cls is nvgpu.MatrixDescriptor else []
    k.add(cls, *[k.base] * operands, types=types, **attributes)
    with pytest.raises(VerifyError, match=message):
        k.func("sm_90a")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"shape": (64, 36, 16)}, "no wgmma m64n36k16"),
        ({"shape": (64, 32, 8)}, "no wgmma m64n32k8"),
        ({"shape": (64, 64, 16)}, "needs 8 accumulator groups"),
        ({"type_b": "bf16"}, "no wgmma of f16 and bf16"),
        ({"type_a": "tf32", "type_b": "tf32", "shape": (64, 32, 8), "trans_b": True}, "K-major"),
        ({"type_a": "s8"}, "no wgmma of s8"),
        ({"type_a": "s8", "type_b": "u8", "shape": (64, 40, 32)}, "no wgmma m64n40k32 of s8"),
        ({"type_a": "s8", "type_b": "u8", "shape": (64, 32, 32)}, "no wgmma of s8 into vector<2x2xf32>"),
        ({"type_a": "s8", "type_b": "u8", "shape": (64, 32, 32), "negated": True}, "s8 operands cannot be negated"),
    ],
)
def test_products_that_do_not_exist_are_refused(changed: dict, message: str) -> None:
    k = Warpgroup(smem=1024)
    name = k.value(nvgpu.MatrixDescriptor, k.base, types=[I64], sbo=1024, swizzle="128B")
    attributes = {"shape": (64, 32, 16), "type_a": "f16", "type_b": "f16", **changed}
    acc = [k.const(0.0, ACC)] * 4
    made = nvgpu.WarpgroupMma([name, name, *acc], [ACC] * 4, attributes, segments=(1, 1, 0, 4))
    with pytest.raises(VerifyError, match=message):
        verify(made)


@pytest.mark.parametrize(("n", "negated"), [(8, False), (24, True), (64, False), (256, False)])
def test_every_type_assembles(n: int, negated: bool) -> None:
    """One kernel holds a product of every type and place of A; the accumulators pass from one to the next."""
    k = Warpgroup(GLOBAL_PTR, smem=65536)
    acc = [k.const(0.0, ACC)] * (n // 8)
    for atom in (atom for (_, _, size, _), atom in WGMMA_ATOMS.items() if size == n):
        name = k.value(nvgpu.MatrixDescriptor, k.base, types=[I64], sbo=1024, swizzle="128B")
        left, a = name, atom.dtypes[0]
        if atom.from_registers:
            word = VectorType((32 // a.width,), a) if a.width < 32 else a
            place = k.element(k.params[0], k.thread, word)
            registers = [k.load(place, word) for _ in range(4)]
            left = k.value(nvgpu.Fragment, *registers, types=[VectorType((4, 32 // a.width), a)])
        k.effect(nvvm.WgmmaFence)
        types_a, types_b = atom.types
        made = k.add(nvgpu.WarpgroupMma, left, name, *acc, types=[ACC] * len(acc), shape=atom.shape,
                     segments=(1, 1, 0, len(acc)), type_a=types_a, type_b=types_b, negated=negated)  # fmt: skip
        k.effect(nvvm.WgmmaCommitGroup)
        passed = [*made.results, left]
        acc = k.add(nvgpu.WarpgroupWait, *passed, types=[v.type for v in passed], pending=0).results[:-1]
    for group, value in enumerate(acc):
        part = k.value(vector.Extract, value, types=[VectorType((2,), F32)], position=(1,))
        k.store(part, k.element(k.params[0], k.thread, F32, 8 * group))
    assert k.ptx("sm_90a").count("mma_async") == 14


def test_descriptor_terms_join_its_low_word() -> None:
    """Constants and terms that are multiples of 16 bytes: one multiplication, additions, no 64-bit arithmetic."""
    k = Warpgroup(GLOBAL_PTR, I32, smem=65536)
    stage = k.params[1]
    for i in range(4):
        pointer = k.at(1024 + 32 * i, stage, 16384)
        name = k.value(nvgpu.MatrixDescriptor, pointer, types=[I64], sbo=1024, swizzle="128B")
        k.store(name, k.element(k.params[0], k.const(i), I64))
    memory = GlobalMemory()
    place = memory.put(np.zeros(4, np.uint64))
    ptx = k.ptx("sm_90a")
    launch(ptx, (1,), (128, 1, 1), [place, 2], memory, dynamic_smem=65536)
    got = [int(x) for x in memory.get(place, (4,), np.uint64)]
    base = got[0] & 0x3FFF
    assert got == [(1 << 62 | 64 << 32 | 1 << 16 | base) + 2 * i for i in range(4)]
    assert (base - 2 * 1024 - 64) % 64 == 0
    assert not re.search(r"(add|or|and|shl)\.\w?64 %rd\d+, %rd\d+, \d{6,}", ptx)
