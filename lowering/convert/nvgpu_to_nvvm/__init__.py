"""From per-thread code (nvgpu, gpu, scf, arith, math, vector) to the nvvm level: one pattern an op, scf to branches.

`convert` is the whole interface. Value numbering, folding and hoisting happen while ops are emitted (emitter,
integers, addresses), so the previous pass may emit duplicates.
"""

from __future__ import annotations

from collections.abc import Set

from ir.core import Block, Region
from ir.descriptors import TensorMapDescriptor
from ir.dialects import arith, gpu, llvm, ub
from ir.types import TENSOR_MAP
from lowering.convert.nvgpu_to_nvvm import (
    byte_floats,
    control,
    counted_bits,
    elementwise,
    functions,
    hopper,
    memory,
    pairs,
    powers,
)
from lowering.convert.nvgpu_to_nvvm.context import Conversion, lowers
from lowering.convert.nvgpu_to_nvvm.values import register_types

__all__ = [
    "byte_floats", "control", "convert", "counted_bits", "elementwise", "functions", "hopper", "memory", "pairs",
    "powers",
]  # fmt: skip
"""Importing them fills the table of patterns."""


@lowers(arith.Constant)
def constant(c: Conversion, op: arith.Constant) -> None:
    """A constant in each register."""
    c.define(op.result, [c.e.constant(t, op.value) for t in register_types(op.result.type)])


@lowers(ub.Poison)
def poison(c: Conversion, op: ub.Poison) -> None:
    """Unused values: zeros."""
    c.define(op.result, [c.e.constant(t, 0) for t in register_types(op.result.type)])


def convert(func: gpu.GpuFunc, forbid: Set[str] = frozenset()) -> llvm.Func:
    """The kernel at the nvvm level, without atoms whose names start with one of `forbid`.

    Raises UnsupportedError with the op's location if an op has no pattern.
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
