"""From per-thread code (nvgpu, gpu, scf, arith, math, vector) to the nvvm level: one pattern an op, scf to branches.

`convert` is the whole interface. Value numbering, folding and hoisting happen while ops are emitted (emitter,
integers, addresses), so that the producer may repeat itself.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from ir.core import Block, Op, Region, UnsupportedError, Value
from ir.descriptors import TensorMapDescriptor
from ir.dialects import arith, gpu, llvm, nvgpu, scf, ub, vector
from ir.instruction import Instruction
from ir.types import TENSOR_MAP
from lowering.convert.nvgpu_to_nvvm import control, counted_bits, functions, hopper, memory, pairs, powers
from lowering.convert.nvgpu_to_nvvm.elementwise import ELEMENTWISE
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.values import register_types
from lowering.targets import target as target_named

__all__ = ["convert", "counted_bits", "functions", "powers"]

PATTERNS: dict[type[Op], Callable[[Any, Any], None]] = {
    nvgpu.Load: memory.load,
    nvgpu.Store: memory.store,
    nvgpu.Atomic: memory.atomic,
    gpu.Printf: memory.print_text,
    nvgpu.DeviceAsyncCopy: memory.async_copy,
    nvgpu.MmaSync: memory.mma_sync,
    nvgpu.MmaBlockScale: memory.mma_block_scale,
    nvgpu.LdMatrix: memory.ldmatrix,
    nvgpu.Fragment: memory.fragment,
    vector.Extract: memory.extract,
    vector.FromElements: memory.from_elements,
    gpu.Shuffle: memory.shuffle,
    gpu.Barrier: memory.barrier,
    gpu.ThreadId: memory.coordinate("tid"),
    gpu.BlockId: memory.coordinate("ctaid"),
    gpu.GridDim: memory.coordinate("nctaid"),
    gpu.DynamicSharedMemory: memory.shared_memory,
    gpu.GetGlobal: memory.get_global,
    llvm.GetElementPtr: memory.pointer,
    llvm.PtrToInt: memory.pointer_to_integer,
    llvm.IntToPtr: memory.integer_to_pointer,
    scf.For: control.loop,
    scf.While: control.endless,
    scf.If: control.branch,
    **hopper.PATTERNS,
    **pairs.PATTERNS,
}
"""Op class -> pattern (conversion, op). Elementwise ops stand in ELEMENTWISE."""


class Conversion:
    """One function on its way: which registers hold each nvgpu value."""

    def __init__(self, entry: Block, target: str, threads: tuple[int, ...], forbid: Set[str]):
        self.e = Emitter(entry, target_named(target), threads, forbid)
        self.held: dict[Value, list[Value]] = {}

    def registers(self, value: Value) -> list[Value]:
        """Registers of an nvgpu value."""
        return self.held[value]

    def register(self, value: Value) -> Value:
        """The register of an nvgpu value that takes one."""
        return self.held[value][0]

    def define(self, value: Value, registers: list[Value]) -> None:
        """Say which registers hold an nvgpu value."""
        self.held[value] = registers

    def ops(self, ops: list[Op]) -> None:
        """Convert a run of ops; the terminator of a region is its owner's business."""
        e, held = self.e, self.held
        for op in ops:
            e.location = op.location
            kind = type(op)
            elementwise = ELEMENTWISE.get(kind)
            if elementwise is not None:
                operands = [held[v] for v in op.operands]
                held[op.results[0]] = self._mapped(elementwise, op, operands)
                continue
            pattern = PATTERNS.get(kind)
            if pattern is not None:
                pattern(self, op)
            elif isinstance(op, Instruction):
                memory.instruction(self, op)
            elif kind is arith.Constant:
                types = register_types(op.results[0].type)
                held[op.results[0]] = [e.constant(t, op.attributes["value"]) for t in types]
            elif kind is ub.Poison:
                held[op.results[0]] = [e.constant(t, 0) for t in register_types(op.results[0].type)]
            elif kind not in (scf.Yield, scf.Condition) and kind is not gpu.Return:
                raise UnsupportedError(f"no nvvm pattern for '{op.name}'", op.location, "lower it before this level")

    def _mapped(self, pattern: Callable[..., Value], op: Op, operands: list[list[Value]]) -> list[Value]:
        """The pattern on each register; an operand with one register serves all."""
        count = max(map(len, operands))
        if count == 1:
            return [pattern(self.e, op, *(o[0] for o in operands))]
        return [pattern(self.e, op, *(o[i] if len(o) > 1 else o[0] for o in operands)) for i in range(count)]


def convert(func: gpu.GpuFunc, forbid: Set[str] = frozenset()) -> llvm.Func:
    """The kernel at the nvvm level, without atoms whose names start with one of `forbid`.

    Raises UnsupportedError with the op's location where an op has no pattern.
    """
    source = func.body.block
    entry = Block([TENSOR_MAP if isinstance(a.type, TensorMapDescriptor) else a.type for a in source.args])
    for made, given in zip(entry.args, source.args, strict=True):
        made.name = given.name
    conversion = Conversion(entry, func.target, func.block, forbid)
    for given, made in zip(source.args, entry.args, strict=True):
        conversion.define(given, [made])
    for number, low, high, divisor in func.ranges:
        conversion.e.facts.assume(entry.args[number], (low, high), divisor)
    conversion.ops(source.ops)
    conversion.e.effect(llvm.Return, [], [])
    conversion.e.finish()
    attributes = gpu.kernel_attributes(func)
    attributes["arrays"] = (*func.arrays, *conversion.e.arrays.values())
    return llvm.Func((), (), attributes, [Region(conversion.e.blocks)], func.location)
