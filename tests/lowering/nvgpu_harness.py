"""Kernels at the nvgpu level built by hand, assembled by ptxas and run on the simulator."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

from ir.core import Block, Builder, Op, Region, Type, Value, verify
from ir.dialects import arith, gpu, llvm, nvgpu, scf
from ir.types import (
    BF16,
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
    FloatType,
    IntType,
    VectorType,
)  # fmt: skip
from lowering.levels import descend
from ptxsim import GlobalMemory, launch

DTYPES = {
    I1: np.uint8, I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64, F16: np.float16, F32: np.float32,
    F64: np.float64, BF16: ml_dtypes.bfloat16, TF32: np.float32,
}  # fmt: skip
PTXAS = next(p for base in sys.path for p in Path(base or ".").glob("nvidia/*/bin/ptxas"))


def assemble(ptx: str, target: str = "sm_80") -> str:
    """ptxas with every complaint an error; returns what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(ptx)
        command = [
            PTXAS,
            f"-arch={target}",
            "-Werror",
            "-warn-spills",
            "-v",
            "-o",
            Path(folder, "kernel.cubin"),
            source,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    assert done.returncode == 0, f"{text}\n{ptx}"
    assert "(C75" not in text, text
    assert "0 bytes spill stores" in text, text
    return text


class Kernel(Builder):
    """A builder that owns a kernel: parameters, thread index, constants, nested blocks."""

    def __init__(self, *params: Type, threads: int = 128, smem: int = 0):
        super().__init__(Block(params))
        self.entry = self.block
        self.params = self.entry.args
        self.threads = threads
        self.smem = smem

    def const(self, value: float, kind: Type = I32) -> Value:
        return self.value(arith.Constant, types=[kind], value=value)

    def index(self) -> Value:
        thread = self.value(gpu.ThreadId, types=[I32], dimension="x")
        block = self.value(gpu.BlockId, types=[I32], dimension="x")
        return self.value(arith.AddI, self.value(arith.MulI, block, self.const(self.threads)), thread)

    def element(self, base: Value, index: Value, kind: Type, offset: int = 0) -> Value:
        size = nvgpu.byte_size(kind)
        return self.value(llvm.GetElementPtr, base, index, element_bytes=size, offset=offset)

    def load(self, ptr: Value, kind: Type, pred: Value | None = None, other: Value | None = None, **more) -> Value:
        operands = [ptr, *([pred] if pred else []), *([other] if other else [])]
        segments = (1, int(pred is not None), int(other is not None))
        return self.add(nvgpu.Load, *operands, types=[kind], segments=segments, **more).results[0]

    def store(self, value: Value, ptr: Value, pred: Value | None = None) -> None:
        self.add(nvgpu.Store, value, ptr, *([pred] if pred else []), types=[], segments=(1, 1, int(pred is not None)))

    def loop(self, lower: Value, upper: Value, step: Value, inits: list[Value], body, **more) -> list[Value]:
        """scf.for; `body(iv, carried)` returns the next carried values."""
        kinds = [v.type for v in inits]
        outer, block = self.block, Block([lower.type, *kinds])
        self.block = block
        self.add(scf.Yield, *body(block.args[0], list(block.args[1:])), types=[])
        self.block = outer
        return self.add(scf.For, lower, upper, step, *inits, types=kinds, regions=[Region([block])], **more).results

    def branch(self, condition: Value, kinds: list[Type], then, otherwise) -> list[Value]:
        """scf.if; each side returns its values."""
        outer, regions = self.block, []
        for side in (then, otherwise):
            self.block = Block()
            self.add(scf.Yield, *side(), types=[])
            regions.append(Region([self.block]))
        self.block = outer
        return self.add(scf.If, condition, types=kinds, regions=regions).results

    def func(self, target: str = "sm_80") -> gpu.GpuFunc:
        self.block = self.entry
        if not self.entry.ops or not isinstance(self.entry.ops[-1], gpu.Return):
            self.add(gpu.Return, types=[])
        attributes = {"sym_name": "kernel", "target": target, "block": (self.threads, 1, 1), "dynamic_smem": self.smem}
        made = gpu.GpuFunc((), (), attributes, [Region([self.entry])])
        verify(made)
        return made

    def ptx(self, target: str = "sm_80") -> str:
        text = descend(self.func(target), {}).ptx
        assemble(text, target)
        return text


def run(ptx: str, grid: int, threads: int, args: list, smem: int = 0) -> list[np.ndarray]:
    """Launch on the simulator; arrays are copied in and their final contents returned."""
    memory = GlobalMemory()
    placed = [memory.put(a) if isinstance(a, np.ndarray) else a for a in args]
    launch(ptx, (grid,), (threads, 1, 1), placed, memory, dynamic_smem=smem)
    return [memory.get(p, a.shape, a.dtype) for p, a in zip(placed, args, strict=True) if isinstance(a, np.ndarray)]


def elementwise(kinds: list[Type], cases: list, inputs: list[np.ndarray], target: str = "sm_80") -> list[np.ndarray]:
    """Run every case (build(kernel, *values) -> value) on each element of the inputs; one kernel for all."""
    count = len(inputs[0])
    k = Kernel(*[GLOBAL_PTR] * (len(kinds) + len(cases)))
    at = k.index()
    values = [k.load(k.element(p, at, kind), kind) for p, kind in zip(k.params, kinds, strict=False)]
    outputs = []
    for build, pointer in zip(cases, k.params[len(kinds) :], strict=True):
        made = build(k, *values)
        k.store(made, k.element(pointer, at, made.type))
        kind = made.type
        lanes = kind.shape[0] if isinstance(kind, VectorType) else 1
        dtype = DTYPES[kind.element if isinstance(kind, VectorType) else kind]
        outputs.append(np.full(count * lanes, 77).astype(dtype))
    ptx = k.ptx(target)
    return run(ptx, -(-count // k.threads), k.threads, [*inputs, *outputs])[len(inputs) :]


def one(cls: type[Op], kind: Type | None = None, **attributes):
    """A case made of one op."""
    return lambda k, *values: k.value(cls, *values, types=None if kind is None else [kind], **attributes)


def integers(rng: np.random.Generator, kind: IntType, count: int) -> np.ndarray:
    """Random integers of every magnitude, extremes among them."""
    info = np.iinfo(DTYPES[kind])
    wide = rng.integers(info.min, info.max, count, endpoint=True, dtype=np.int64)
    shifts = rng.integers(0, kind.width, count)
    made = (wide >> shifts).astype(DTYPES[kind])
    made[:4] = info.min, info.max, -1, 0
    return made


def floats(rng: np.random.Generator, kind: FloatType, count: int, special: bool = True) -> np.ndarray:
    """Random floats over many magnitudes; zeros, infinities and NaN in front where `special`."""
    made = rng.standard_normal(count) * np.exp2(rng.integers(-6, 6, count))
    if special:
        made[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, 1.0
    return made.astype(DTYPES[kind])


__all__ = [
    "BF16",
    "DTYPES",
    "F16",
    "F32",
    "F64",
    "GLOBAL_PTR",
    "I1",
    "I8",
    "I16",
    "I32",
    "I64",
    "SHARED_PTR",
    "TF32",
    "Kernel",
    "VectorType",
    "assemble",
    "elementwise",
    "floats",
    "integers",
    "one",
    "run",
]  # fmt: skip
