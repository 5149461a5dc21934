"""A GEMM loop built by hand at the nvgpu level: right on the simulator, short in PTX, no spill in ptxas."""

import re

import numpy as np
import pytest

from ir.dialects import arith, gpu, llvm, nvgpu, nvvm, scf, vector
from lowering.convert.nvgpu_to_nvvm import convert
from lowering.levels import descend
from ptxsim import GlobalMemory, launch
from tests.lowering.nvgpu_harness import F16, F32, GLOBAL_PTR, I1, I32, SHARED_PTR, Kernel, VectorType, assemble

TILE, DEPTH, STAGES = 128, 64, 3
ROW_BYTES = DEPTH * 2
OPERAND_BYTES = TILE * ROW_BYTES
STAGE_BYTES = 2 * OPERAND_BYTES
ACCUMULATOR = VectorType((2, 2), F32)


class Gemm(Kernel):
    """C[m, n] = A[m, k] B[n, k]^T with f16 operands: 128x128x64 tiles, 4 warps of 64x64, a ring of cp.async stages.

    Says the same address arithmetic over and over, as a simple producer would.
    """

    def __init__(self):
        super().__init__(GLOBAL_PTR, GLOBAL_PTR, GLOBAL_PTR, I32, I32, I32, smem=STAGES * STAGE_BYTES)
        self.a, self.b, self.c, self.m, self.n, self.k = self.params
        self.thread = self.value(gpu.ThreadId, types=[I32], dimension="x")
        self.row = self.times(self.value(gpu.BlockId, types=[I32], dimension="y"), TILE)
        self.column = self.times(self.value(gpu.BlockId, types=[I32], dimension="x"), TILE)
        self.shared = self.value(gpu.DynamicSharedMemory, types=[SHARED_PTR])
        self.lane, self.warp = self.rem(self.thread, 32), self.div(self.thread, 32)

    def times(self, x, factor):
        return self.value(arith.MulI, x, self.const(factor))

    def plus(self, x, y):
        return self.value(arith.AddI, x, self.const(y) if isinstance(y, int) else y)

    def rem(self, x, by):
        return self.value(arith.RemUI, x, self.const(by))

    def div(self, x, by):
        return self.value(arith.DivUI, x, self.const(by))

    def below(self, x, limit):
        return self.value(arith.CmpI, x, limit, types=[I1], predicate="slt")

    def copy_tile(self, stage, step):
        """Each thread copies 8 chunks of 16 bytes of A and of B; chunks are swizzled by the row."""
        row, chunk = self.div(self.thread, 8), self.rem(self.thread, 8)
        swizzled = self.value(arith.XOrI, chunk, self.rem(row, 8))
        for which, (source, limit, origin) in enumerate(((self.a, self.m, self.row), (self.b, self.n, self.column))):
            for i in range(8):
                line = self.plus(self.plus(origin, row), 16 * i)
                depth = self.plus(self.times(step, DEPTH), self.times(chunk, 8))
                inside = self.value(arith.AndI, self.below(line, limit), self.below(depth, self.k))
                index = self.plus(self.value(arith.MulI, line, self.k), depth)
                spot = self.plus(self.times(row, ROW_BYTES), self.times(swizzled, 16))
                spot = self.plus(self.plus(self.times(stage, STAGE_BYTES), spot), which * OPERAND_BYTES + 2048 * i)
                target = self.value(llvm.GetElementPtr, self.shared, spot)
                self.add(nvgpu.DeviceAsyncCopy, target, self.element(source, index, F16), inside, types=[],
                         segments=(1, 1, 1, 0, 0), bytes=16, bypass_l1=True)  # fmt: skip
        self.add(nvvm.CpAsyncCommitGroup, types=[])

    def matrices(self, stage, operand, part, depth_step, i):
        """Four 8x8 matrices, 16 rows by 16 along k: A by rows first, B along k first.

        So the two registers of a B fragment are neighbours: HMMA reads them as one register pair, and ptxas copies
        registers that are not (245 moves in this loop when A's order serves B too).
        """
        high, low = self.div(self.lane, 16), self.rem(self.lane, 8)
        middle = self.rem(self.div(self.lane, 8), 2)
        along_rows, along_k = (middle, high) if operand == 0 else (high, middle)
        line = self.plus(self.plus(low, self.times(along_rows, 8)), self.times(part, 64))
        line = self.plus(line, 16 * i)
        chunk = self.plus(along_k, 2 * depth_step)
        swizzled = self.value(arith.XOrI, chunk, low)
        spot = self.plus(self.times(stage, STAGE_BYTES), self.times(line, ROW_BYTES))
        spot = self.plus(spot, self.times(swizzled, 16))
        pointer = self.value(llvm.GetElementPtr, self.shared, spot, offset=operand * OPERAND_BYTES)
        return self.value(nvgpu.LdMatrix, pointer, types=[VectorType((4, 2), F16)], numTiles=4)

    def multiply(self, stage, acc):
        pair, right = VectorType((2,), F16), VectorType((2, 2), F16)
        for step in range(DEPTH // 16):
            a = [self.matrices(stage, 0, self.rem(self.warp, 2), step, i) for i in range(4)]
            b = []
            for i in range(4):
                four = self.matrices(stage, 1, self.div(self.warp, 2), step, i)
                parts = [self.value(vector.Extract, four, types=[pair], position=(j,)) for j in range(4)]
                b += [self.value(nvgpu.Fragment, *parts[j : j + 2], types=[right]) for j in (0, 2)]
            acc = [
                self.value(nvgpu.MmaSync, a[i], b[j], acc[8 * i + j], mmaShape=(16, 8, 16))
                for i in range(4)
                for j in range(8)
            ]
        return acc

    def next_stage(self, stage):
        following = self.plus(stage, 1)
        wraps = self.value(arith.CmpI, following, self.const(STAGES), types=[I1], predicate="eq")
        return self.value(arith.Select, wraps, self.const(0), following)

    def main_loop(self):
        def body(step, carried):
            read, write, *acc = carried
            self.add(nvvm.CpAsyncWaitGroup, types=[], n=STAGES - 2)
            self.add(gpu.Barrier, types=[])
            self.copy_tile(write, self.plus(step, STAGES - 1))
            acc = self.multiply(read, acc)
            return [self.next_stage(read), self.next_stage(write), *acc]

        for stage in range(STAGES - 1):
            self.copy_tile(self.const(stage), self.const(stage))
        steps = self.value(arith.CeilDivUI, self.k, self.const(DEPTH))
        start = [self.const(0), self.const(STAGES - 1)] + [self.const(0.0, ACCUMULATOR)] * 32
        return self.loop(self.const(0), steps, self.const(1), start, body)[2:]

    def build(self):
        acc = self.main_loop()
        self.add(nvvm.CpAsyncWaitGroup, types=[], n=0)
        group, inside = self.div(self.lane, 4), self.times(self.rem(self.lane, 4), 2)
        for at, value in enumerate(acc):
            i, j = divmod(at, 8)
            for half in range(2):
                row = self.plus(self.plus(self.row, self.times(self.rem(self.warp, 2), 64)), group)
                row = self.plus(row, 16 * i + 8 * half)
                column = self.plus(self.plus(self.column, self.times(self.div(self.warp, 2), 64)), inside)
                column = self.plus(column, 8 * j)
                pred = self.value(arith.AndI, self.below(row, self.m), self.below(column, self.n))
                index = self.plus(self.value(arith.MulI, row, self.n), column)
                pair = self.value(vector.Extract, value, types=[VectorType((2,), F32)], position=(half,))
                self.store(pair, self.element(self.c, index, F32), pred)
        return self


@pytest.fixture(scope="module")
def ptx() -> str:
    return descend(Gemm().build().func(), {}).ptx


def main_loop(ptx: str) -> list[str]:
    start = ptx.index("$L0:")
    return ptx[start : ptx.index("bra $L0", start)].splitlines()[1:]


@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 64), (200, 136, 72), (96, 264, 328)])
def test_gemm_on_the_simulator(ptx: str, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m + n + k)
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((n, k)).astype(np.float16)
    memory = GlobalMemory()
    args = [memory.put(a), memory.put(b), memory.put(np.full((m, n), 7, np.float32)), m, n, k]
    grid = (-(-n // TILE), -(-m // TILE))
    report = launch(ptx, grid, (128, 1, 1), args, memory, dynamic_smem=STAGES * STAGE_BYTES)
    got = memory.get(args[2], (m, n), np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    assert abs(got - wanted).max() < 2e-3
    assert not sum(report.bank_conflicts.values())


def test_gemm_assembles_without_spills(ptx: str) -> None:
    assert re.search(r"Used (\d+) registers", assemble(ptx))


def test_loop_holds_only_what_must_be_there(ptx: str) -> None:
    loop = main_loop(ptx)
    opcodes = [line.split()[0].split(".")[0] for line in loop if not line.strip().startswith("@")]
    assert opcodes.count("mma") == 128
    assert opcodes.count("ldmatrix") == 32
    assert opcodes.count("cp") == 18  # 16 copies, commit, wait
    assert not {"mov", "div", "rem", "cvt", "not", "neg"} & set(opcodes)
    assert not [line for line in loop if "mul." in line and "mul.wide" not in line]
    assert len(loop) <= 128 + 32 + 18 + 16 * 5 + 26  # a copy: address 3, predicate 2; stages, counters, branch


def test_address_constants_are_displacements(ptx: str) -> None:
    loads = [line for line in main_loop(ptx) if "ldmatrix" in line]
    assert len({re.search(r"\[(%\w+)", line).group(1) for line in loads}) == 8  # 4 k steps, 2 operands
    assert sum("+" in line.split("[")[1] for line in loads) == 28


def test_conversion_is_deterministic(ptx: str) -> None:
    assert descend(Gemm().build().func(), {}).ptx == ptx


def test_loops_of_the_source_stay_loops() -> None:
    func = Gemm().build().func()
    assert sum(isinstance(op, scf.For) for op in func.walk()) == 1
    blocks = convert(func).body.blocks
    assert len(blocks) == 3  # before, body, after


@pytest.mark.slow
@pytest.mark.parametrize("target", ["sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"])
def test_gemm_assembles_for_newer_targets(target: str) -> None:
    Gemm().build().ptx(target)
