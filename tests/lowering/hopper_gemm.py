"""A warp-specialised GEMM built by hand at the nvgpu level: one producer warp, tensor copies, a ring, wgmma."""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from ir.core import Value
from ir.dialects import arith, gpu, llvm, nvgpu, nvvm, vector
from ir.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    GLOBAL_PTR,
    I1,
    I32,
    I64,
    SHARED_PTR,
    TENSOR_MAP,
    TF32,
    FloatType,
    VectorType,
)
from lowering.atoms.wgmma import WGMMA_ATOMS
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tma import TmaPlan, tma_plan
from lowering.layouts.wgmma import MatrixOperand, matrix_operand, operand_layout, wgmma_tile
from lowering.levels import descend
from ptxsim import GlobalMemory, TensorMap, launch
from tests.lowering.nvgpu_harness import Kernel

NUMPY = {
    F16: np.float16, BF16: ml_dtypes.bfloat16, TF32: np.float32, F8E4M3FN: ml_dtypes.float8_e4m3fn,
    F8E5M2: ml_dtypes.float8_e5m2,
}  # fmt: skip
MAP_DTYPES = {F16: "f16", BF16: "bf16", TF32: "f32", F8E4M3FN: "u8", F8E5M2: "u8"}


@dataclass(frozen=True)
class Shape:
    """What kind of GEMM: tile, consumer warpgroups, stages, types, majors and swizzles of the operands."""

    m: int = 128
    n: int = 128
    k: int = 64
    consumers: int = 1
    stages: int = 4
    a: FloatType = F16
    b: FloatType = F16
    a_k_major: bool = True
    b_k_major: bool = True
    swizzle: int = 128
    atom_n: int = 0
    groups_n: int = 1


class Operand:
    """One operand in the ring: A is (m, k), B (n, k); what is contiguous in memory is its major."""

    def __init__(self, rows: int, k: int, block: int, kind: FloatType, k_major: bool, swizzle: int):
        self.shape, self.kind, self.k_major = (rows, k), kind, k_major
        size = kind.width // 8
        self.layout: SharedLayout = operand_layout(self.shape, 1, size, k_major, swizzle)
        self.tile: MatrixOperand = matrix_operand(self.layout, self.shape, 1, block)
        self.boxes: TmaPlan = tma_plan(self.layout, self.shape, 1 if k_major else 0)
        self.bytes = rows * k * size

    def map(self, memory: GlobalMemory, array: np.ndarray) -> tuple[int, TensorMap]:
        """Put a (rows, k) array into memory in the operand's major order, and describe it."""
        stored = np.ascontiguousarray(array if self.k_major else array.T)
        size = stored.itemsize
        raw = stored.view(np.uint16) if stored.dtype == ml_dtypes.bfloat16 else stored
        raw = stored.view(np.uint8) if size == 1 else raw
        base = memory.put(raw)
        swizzle = nvgpu.SWIZZLE_NAMES[self.boxes.swizzle]
        outer, inner = stored.shape
        return base, TensorMap(base, MAP_DTYPES[self.kind], (inner, outer), (inner * size,), self.boxes.box,
                               swizzle=swizzle)  # fmt: skip


class HopperGemm(Kernel):
    """C[m, n] (f32) = A[m, k] B[n, k]^T. Parameters: maps of A and B, C, m, n, k."""

    def __init__(self, shape: Shape = Shape()):
        super().__init__(TENSOR_MAP, TENSOR_MAP, GLOBAL_PTR, I32, I32, I32, threads=128 * (1 + shape.consumers))
        self.s = shape
        n = shape.atom_n or min(256, shape.n // shape.groups_n)
        self.atom = WGMMA_ATOMS[shape.a, shape.b, n, False]
        self.tile = wgmma_tile(self.atom, shape.m, shape.n, shape.k, shape.consumers, shape.groups_n)
        self.a = Operand(shape.m, shape.k, 64, shape.a, shape.a_k_major, shape.swizzle)
        self.b = Operand(shape.n, shape.k, n, shape.b, shape.b_k_major, shape.swizzle)
        self.stage_bytes = self.a.bytes + self.b.bytes
        self.barriers = shape.stages * self.stage_bytes
        self.smem = self.barriers + 16 * shape.stages
        self.map_a, self.map_b, self.c, self.m, self.n, self.k = self.params
        self.thread = self.value(gpu.ThreadId, types=[I32], dimension="x")
        self.row = self.times(self.value(gpu.BlockId, types=[I32], dimension="y"), shape.m)
        self.column = self.times(self.value(gpu.BlockId, types=[I32], dimension="x"), shape.n)
        self.shared = self.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])

    def times(self, x: Value, factor: int) -> Value:
        return self.value(arith.MulI, x, self.const(factor))

    def plus(self, x: Value, y: Value | int) -> Value:
        return self.value(arith.AddI, x, self.const(y) if isinstance(y, int) else y)

    def div(self, x: Value, by: int) -> Value:
        return self.value(arith.DivUI, x, self.const(by))

    def rem(self, x: Value, by: int) -> Value:
        return self.value(arith.RemUI, x, self.const(by))

    def compare(self, x: Value, y: Value | int, predicate: str) -> Value:
        return self.value(arith.CmpI, x, self.const(y) if isinstance(y, int) else y, types=[I1], predicate=predicate)

    def effect(self, cls, *operands: Value, segments=None, **attributes) -> None:
        self.add(cls, *operands, types=[], segments=segments, **attributes)

    def when(self, condition: Value, then, otherwise=list) -> None:
        self.branch(condition, [], then, otherwise)

    def place(self, stage: Value, offset: int) -> Value:
        return self.value(llvm.GetElementPtr, self.shared, stage, element_bytes=self.stage_bytes, offset=offset)

    def full(self, stage: Value) -> Value:
        return self.value(llvm.GetElementPtr, self.shared, stage, element_bytes=8, offset=self.barriers)

    def empty(self, stage: Value) -> Value:
        offset = self.barriers + 8 * self.s.stages
        return self.value(llvm.GetElementPtr, self.shared, stage, element_bytes=8, offset=offset)

    def advance(self, stage: Value, phase: Value) -> tuple[Value, Value]:
        following = self.plus(stage, 1)
        wraps = self.compare(following, self.s.stages, "eq")
        flipped = self.value(arith.XOrI, phase, self.const(1))
        return (
            self.value(arith.Select, wraps, self.const(0), following),
            self.value(arith.Select, wraps, flipped, phase),
        )

    def producer(self) -> list[Value]:
        """Gives registers back; its first warp fills the ring."""
        self.effect(nvvm.SetMaxRegister, action="decrease", regCount=40)
        self.when(self.compare(self.div(self.thread, 32), 0, "eq"), self.fill)
        return []

    def fill(self) -> list[Value]:
        lane = self.value(nvvm.ElectSync, types=[I1])

        def body(step, carried):
            stage, phase = carried
            self.effect(nvvm.MBarrierTryWaitParity, self.empty(stage), phase)
            self.effect(nvvm.MBarrierArriveExpectTx, self.full(stage), lane, txcount=self.stage_bytes)
            depth = self.times(step, self.s.k)
            for operand, tensor, origin, base in (
                (self.a, self.map_a, self.row, 0),
                (self.b, self.map_b, self.column, self.a.bytes),
            ):
                for offset, (row, k) in operand.boxes.pieces:
                    spot = [self.plus(origin, row), self.plus(depth, k)]
                    coordinates = [spot[d] for d in operand.boxes.dims]
                    self.effect(nvvm.TensorLoad, self.place(stage, base + offset), tensor, *coordinates,
                                self.full(stage), lane, segments=(1, 1, 2, 1, 0, 1))  # fmt: skip
            return list(self.advance(stage, phase))

        self.loop(self.const(0), self.steps, self.const(1), [self.const(0), self.const(1)], body)
        return []

    def multiply(self, stage: Value, group: Value | None, accumulators: list[Value]) -> list[Value]:
        """All products of one stage, as one group of the warpgroup."""
        acc = list(accumulators)
        self.effect(nvvm.WgmmaFence)
        ma, mb = self.tile.blocks[:2]
        for step in self.tile.steps():
            row, column, k = self.tile.origin(0, step)
            a = self.place(stage, self.a.tile.displacement(row, k))
            b = self.place(stage, self.a.bytes + self.b.tile.displacement(column, k))
            if group is not None and self.tile.groups_m > 1:
                a = self.value(llvm.GetElementPtr, a, group, element_bytes=self.a.tile.displacement(64 * ma, 0))
            if group is not None and self.tile.groups_n > 1:
                shift = self.b.tile.displacement(self.atom.shape[1] * mb, 0)
                b = self.value(llvm.GetElementPtr, b, group, element_bytes=shift)
            names = [
                self.value(nvgpu.MatrixDescriptor, p, types=[I64], lbo=o.lbo, sbo=o.sbo, swizzle=o.swizzle_name)
                for p, o in ((a, self.a.tile), (b, self.b.tile))
            ]
            groups = slice(step.c.start // 4, step.c.stop // 4)
            types_a, types_b = self.atom.types
            made = self.add(
                nvgpu.WarpgroupMma, *names, *acc[groups], types=[nvgpu.ACCUMULATOR] * self.atom.groups,
                segments=(1, 1, 0, self.atom.groups), shape=self.atom.shape, type_a=types_a, type_b=types_b,
                trans_a=not self.a.tile.k_major, trans_b=not self.b.tile.k_major,
            )  # fmt: skip
            acc[groups] = made.results
        self.effect(nvvm.WgmmaCommitGroup)
        return acc

    def consume(self, group: Value | None) -> list[Value]:
        """A stage is given back one step later, when the wait of depth 1 has seen its products finish."""
        mb, nb, _ = self.tile.blocks
        leader = self.compare(self.rem(self.thread, 128), 0, "eq")

        def body(step, carried):
            stage, phase, before, *acc = carried
            self.effect(nvvm.MBarrierTryWaitParity, self.full(stage), phase)
            acc = self.multiply(stage, group, acc)
            self.effect(nvgpu.WarpgroupWait, pending=1)
            gives = self.value(arith.AndI, leader, self.compare(step, 0, "sgt"))
            self.effect(nvvm.MBarrierArrive, self.empty(before), gives)
            return [*self.advance(stage, phase), stage, *acc]

        zero = self.const(0.0, nvgpu.ACCUMULATOR)
        start = [self.const(0)] * 3 + [zero] * (mb * nb * self.atom.groups)
        acc = self.loop(self.const(0), self.steps, self.const(1), start, body)[3:]
        acc = self.add(nvgpu.WarpgroupWait, *acc, types=[nvgpu.ACCUMULATOR] * len(acc), pending=0).results
        self.epilogue(group, acc)
        return []

    def epilogue(self, group: Value | None, acc: list[Value]) -> None:
        mb, nb, _ = self.tile.blocks
        warp = self.rem(self.div(self.thread, 32), 4)
        lane = self.rem(self.thread, 32)
        row = self.plus(self.plus(self.times(warp, 16), self.div(lane, 4)), self.row)
        column = self.plus(self.times(self.rem(lane, 4), 2), self.column)
        if group is not None and self.tile.groups_m > 1:
            row = self.plus(row, self.times(group, 64 * mb))
        if group is not None and self.tile.groups_n > 1:
            column = self.plus(column, self.times(group, self.atom.shape[1] * nb))
        for at, value in enumerate(acc):
            block, eight = divmod(at, nb * self.atom.groups)
            for half in range(2):
                line, place = self.plus(row, 64 * block + 8 * half), self.plus(column, 8 * eight)
                inside = self.value(arith.AndI, self.compare(line, self.m, "slt"), self.compare(place, self.n, "slt"))
                index = self.plus(self.value(arith.MulI, line, self.n), place)
                pair = self.value(vector.Extract, value, types=[VectorType((2,), F32)], position=(half,))
                self.store(pair, self.element(self.c, index, F32), inside)

    def prepare(self) -> list[Value]:
        """One thread makes the barriers: a full one takes the producer's arrival, an empty one each consumer's."""
        for stage in range(self.s.stages):
            self.effect(nvvm.MBarrierInit, self.full(self.const(stage)), count=1)
            self.effect(nvvm.MBarrierInit, self.empty(self.const(stage)), count=self.s.consumers)
        self.effect(nvvm.FenceMBarrierInit)
        return []

    def compute(self) -> list[Value]:
        several = self.s.consumers > 1
        self.effect(nvvm.SetMaxRegister, action="increase", regCount=232 if several else 240)
        return self.consume(self.plus(self.div(self.thread, 128), -1) if several else None)

    def build(self) -> HopperGemm:
        self.steps = self.value(arith.CeilDivUI, self.k, self.const(self.s.k))
        self.when(self.compare(self.thread, 0, "eq"), self.prepare)
        self.effect(gpu.Barrier)
        self.when(self.compare(self.div(self.thread, 128), 0, "eq"), self.producer, self.compute)
        return self

    def func(self, target: str = "sm_90a") -> gpu.GpuFunc:
        made = super().func(target)
        made.attributes["maxnreg"] = 168 if self.s.consumers > 1 else 232
        return made

    def text(self) -> str:
        """The PTX."""
        return descend(self.func(), {}).ptx

    def run(self, ptx: str, a: np.ndarray, b: np.ndarray, hazards: bool = False) -> np.ndarray:
        """C for A (m, k) and B (n, k) on the simulator; C starts as sevens."""
        (m, k), n = a.shape, len(b)
        memory = GlobalMemory()
        maps = [operand.map(memory, array)[1] for operand, array in ((self.a, a), (self.b, b))]
        c = memory.put(np.full((m, n), 7, np.float32))
        grid = (-(-n // self.s.n), -(-m // self.s.m))
        launch(ptx, grid, (self.threads, 1, 1), [*maps, c, m, n, k], memory, dynamic_smem=self.smem, hazards=hazards)
        return memory.get(c, (m, n), np.float32)


def operands(shape: Shape, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Random A (m, k) and B (n, k); values that tf32 and f8 hold exactly keep the comparison sharp."""
    rng = np.random.default_rng(m * n + k)
    made = []
    for kind, size in ((shape.a, (m, k)), (shape.b, (n, k))):
        values = rng.standard_normal(size)
        if kind == TF32:
            values = np.round(values * 64) / 64
        made.append(values.astype(NUMPY[kind]))
    return made[0], made[1]


__all__ = ["HopperGemm", "Shape", "operands"]
