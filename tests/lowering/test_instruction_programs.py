"""Instructions that nothing chooses yet, in kernels of level nvgpu on the simulator, against NumPy on random data."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ir.core import Block, Region, Value
from ir.dialects import arith, gpu, llvm, nvvm, scf
from ir.text import print_generic
from ir.types import F16, F32, GLOBAL_PTR, I1, I16, I32, I64, VectorType
from ptxsim import GlobalMemory, launch
from tests.lowering.nvgpu_harness import Kernel, assemble, elementwise
from tilesat import lower

COUNT = 256
RNG = np.random.default_rng(11)
WORDS = RNG.integers(-(1 << 31), 1 << 31, COUNT, dtype=np.int64).astype(np.int32)
FLOATS = (RNG.standard_normal(COUNT) * np.exp2(RNG.integers(-12, 12, COUNT))).astype(np.float32)


def warps(values: np.ndarray) -> np.ndarray:
    return values.reshape(-1, 32)


REDUCED = {
    "add": lambda w: w.sum(1, dtype=np.int32), "min": lambda w: w.min(1), "max": lambda w: w.max(1),
    "umin": lambda w: w.view(np.uint32).min(1).view(np.int32),
    "umax": lambda w: w.view(np.uint32).max(1).view(np.int32),
    "and": lambda w: np.bitwise_and.reduce(w, 1), "or": lambda w: np.bitwise_or.reduce(w, 1),
    "xor": lambda w: np.bitwise_xor.reduce(w, 1),
}  # fmt: skip


def test_redux_of_integers() -> None:
    cases = [lambda k, x, kind=kind: k.add(nvvm.Redux, x, types=[I32], kind=kind).result for kind in REDUCED]
    for kind, got in zip(REDUCED, elementwise([I32], cases, [WORDS]), strict=True):
        assert (warps(got) == REDUCED[kind](warps(WORDS))[:, None]).all(), kind


@pytest.mark.parametrize("name", ["min", "max"])
def test_redux_of_floats(name: str) -> None:
    def plain(k, x):
        return k.add(nvvm.FloatRedux, x, types=[F32], kind=name).result

    def magnitudes(k, x):
        return k.add(nvvm.FloatRedux, x, types=[F32], kind=name, abs=True).result

    for values, got in zip(
        (FLOATS, abs(FLOATS)), elementwise([F32], [plain, magnitudes], [FLOATS], "sm_100a"), strict=True
    ):
        assert (warps(got) == getattr(warps(values), name)(1)[:, None]).all()


def test_votes_and_matches() -> None:
    small = (WORDS & 3).astype(np.int32)

    def positive(k, x):
        return k.value(arith.CmpI, x, k.const(1), types=[I1], predicate="sgt")

    def ballot(k, x):
        return k.add(nvvm.Ballot, positive(k, x), types=[I32]).result

    def vote(kind):
        return lambda k, x: k.value(
            arith.ExtUI, k.add(nvvm.Vote, positive(k, x), types=[I1], kind=kind).result, types=[I32]
        )

    def match(k, x):
        return k.add(nvvm.MatchAny, x, types=[I32]).result

    ballots, all_, any_, matches = elementwise([I32], [ballot, vote("all"), vote("any"), match], [small])
    holds = warps(small) > 1
    bits = (holds.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(1).astype(np.uint32)
    assert (warps(ballots).view(np.uint32) == bits[:, None]).all()
    assert (warps(all_) == holds.all(1)[:, None]).all()
    assert (warps(any_) == holds.any(1)[:, None]).all()
    same = (warps(small)[:, :, None] == warps(small)[:, None, :]).astype(np.uint64) << np.arange(32, dtype=np.uint64)
    assert (warps(matches).view(np.uint32) == same.sum(2).astype(np.uint32)).all()


def pair(k: Kernel, low: Value, high: Value) -> Value:
    return k.add(nvvm.Pack, low, high, types=[I64]).result


def half(k: Kernel, whole: Value, index: int) -> Value:
    return k.add(nvvm.Unpack, whole, types=[F32, F32]).results[index]


def test_packed_arithmetic_is_that_of_its_halves() -> None:
    x, y, z, w = (RNG.permutation(FLOATS) for _ in range(4))

    def added(k, a, b, c, d):
        return half(k, k.add(nvvm.AddF32x2, pair(k, a, b), pair(k, c, d), types=[I64]).result, 0)

    def multiplied(k, a, b, c, d):
        return half(k, k.add(nvvm.MulF32x2, pair(k, a, b), pair(k, c, d), types=[I64]).result, 1)

    def fused(k, a, b, c, d):
        made = k.add(nvvm.FmaF32x2, pair(k, a, b), pair(k, c, d), pair(k, b, a), types=[I64])
        return half(k, made.result, 0)

    got = elementwise([F32] * 4, [added, multiplied, fused], [x, y, z, w], "sm_100a")
    assert (got[0] == x + z).all()
    assert (got[1] == y * w).all()
    wide = x.astype(np.float64) * z.astype(np.float64) + y.astype(np.float64)
    assert (got[2] == wide.astype(np.float32)).mean() > 0.99  # f64 rounds the sum twice
    assert np.allclose(got[2], wide, rtol=2e-7)


def test_extrema_of_three() -> None:
    x, y, z = (RNG.permutation(FLOATS) for _ in range(3))
    cases = [lambda k, *v, cls=cls: k.add(cls, *v, types=[F32]).result for cls in (nvvm.Max3, nvvm.Min3)]
    most, least = elementwise([F32] * 3, cases, [x, y, z], "sm_100a")
    assert (most == np.maximum(np.maximum(x, y), z)).all()
    assert (least == np.minimum(np.minimum(x, y), z)).all()


@pytest.mark.parametrize(("kind", "dtype"), [("e2m3", ml_dtypes.float6_e2m3fn), ("e3m2", ml_dtypes.float6_e3m2fn)])
def test_six_bits_and_back(kind: str, dtype: type) -> None:
    """Rounded to nearest, the largest where too large; widened exactly."""
    x, y = FLOATS, RNG.permutation(FLOATS)

    def there_and_back(k, low, high):
        made = k.add(nvvm.ConvertF32x2ToF6x2, low, high, types=[I16], kind=kind).result
        return k.add(nvvm.ConvertF6x2ToF16x2, made, types=[VectorType((2,), F16)], kind=kind).result

    (got,) = elementwise([F32, F32], [there_and_back], [x, y], "sm_120a")
    largest = float(ml_dtypes.finfo(dtype).max)
    for place, values in enumerate((x, y)):
        wanted = np.clip(values, -largest, largest).astype(dtype).astype(np.float16)
        assert (got[place::2] == wanted).all()


def test_powers_of_two() -> None:
    x, y = abs(FLOATS), abs(RNG.permutation(FLOATS))

    def scales(k, low, high):
        return k.add(nvvm.ConvertF32x2ToScales, low, high, types=[I16], rounding="rp", finite=True).result

    (got,) = elementwise([F32, F32], [scales], [x, y], "sm_100a")
    for place, values in enumerate((x, y)):
        exponents = np.ceil(np.log2(values.astype(np.float64))) + 127
        assert ((got.view(np.uint16) >> 8 * place & 0xFF) == exponents).all()


def shared(k: Kernel, offset: int) -> Value:
    base = k.value(gpu.DynamicSharedMemory, types=[llvm.LLVMPointerType(3)])
    return k.value(llvm.GetElementPtr, base, element_bytes=1, offset=offset)


def test_tokens_of_mbarriers_order_what_threads_exchange() -> None:
    """Each thread stores, arrives, and asks for its phase until it has completed; the barrier ends; text reads back."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, smem=1024)
    thread = k.value(gpu.ThreadId, types=[I32], dimension="x")
    first = k.value(arith.CmpI, thread, k.const(0), types=[I1], predicate="eq")

    def make():
        k.add(nvvm.MBarrierInit, shared(k, 512), types=[], segments=(1, 0), count=128)
        return []

    k.branch(first, [], make, list)
    k.add(gpu.Barrier, types=[])
    place = k.value(llvm.GetElementPtr, shared(k, 0), thread, element_bytes=4, offset=0)
    k.store(k.load(k.element(k.params[0], thread, F32), F32), place)
    token = k.add(nvvm.MBarrierArriveToken, shared(k, 512), types=[I64], segments=(1, 0)).token
    wait_for(k, token)
    other = k.value(arith.SubI, k.const(127), thread)
    back = k.value(llvm.GetElementPtr, shared(k, 0), other, element_bytes=4, offset=0)
    k.store(k.load(back, F32), k.element(k.params[1], thread, F32))
    k.add(gpu.Barrier, types=[])

    def end():
        k.add(nvvm.MBarrierInval, shared(k, 512), types=[])
        return []

    k.branch(first, [], end, list)
    ptx = k.ptx("sm_80")
    assert lower(print_generic(k.func("sm_80"))).ptx == ptx
    memory = GlobalMemory()
    data = RNG.standard_normal(128).astype(np.float32)
    places = [memory.put(data), memory.put(np.full_like(data, 7))]
    launch(ptx, (1,), (128, 1, 1), places, memory, dynamic_smem=1024, hazards=True)
    assert (memory.get(places[1], data.shape, np.float32) == data[::-1]).all()


def wait_for(k: Kernel, token: Value) -> None:
    """A loop around mbarrier.test_wait."""
    outer, k.block = k.block, Block()
    done = k.add(nvvm.MBarrierTestWait, shared(k, 512), token, types=[I1]).done
    k.add(scf.Condition, k.value(arith.XOrI, done, k.const(True, I1)), types=[])
    outer, k.block = k.block, outer
    k.add(scf.While, types=[], regions=[Region([outer])])


def test_a_cluster_reads_the_memory_of_another_cta() -> None:
    """mapa, cluster barrier and cluster registers: each CTA of two reads what the other one wrote."""
    k = Kernel(GLOBAL_PTR, GLOBAL_PTR, smem=1024)
    thread, at = k.value(gpu.ThreadId, types=[I32], dimension="x"), k.index()
    k.store(k.load(k.element(k.params[0], at, F32), F32), k.value(
        llvm.GetElementPtr, shared(k, 0), thread, element_bytes=4, offset=0))  # fmt: skip
    meet(k)
    rank = k.add(nvvm.CLUSTER_REGISTERS["cluster.ctarank"], types=[I32]).result
    other = k.value(arith.XOrI, rank, k.const(1))
    remote = k.add(nvvm.Mapa, shared(k, 0), other, types=[llvm.LLVMPointerType(3)]).result
    place = k.value(llvm.GetElementPtr, remote, thread, element_bytes=4, offset=0)
    k.store(k.add(nvvm.LdCluster, place, types=[F32]).result, k.element(k.params[1], at, F32))
    meet(k)
    ptx = k.ptx("sm_90a")
    assemble(ptx, "sm_90a")
    memory = GlobalMemory()
    data = RNG.standard_normal(256).astype(np.float32)
    places = [memory.put(data), memory.put(np.full_like(data, 7))]
    launch(ptx, (2,), (128, 1, 1), places, memory, cluster=(2, 1, 1), dynamic_smem=1024, hazards=True)
    assert (memory.get(places[1], data.shape, np.float32) == np.roll(data, 128)).all()


def meet(k: Kernel) -> None:
    k.add(nvvm.ClusterArrive, types=[])
    k.add(nvvm.ClusterWait, types=[])
