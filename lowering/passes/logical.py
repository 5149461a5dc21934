"""The passes between Tile IR and nv_tileaa, which is equivalent, in upstream's terms."""

from __future__ import annotations

from ir.core import Op
from ir.dialects import cuda_tile as ct
from ir.dialects import nv_tileaa
from lowering.convert.cuda_tile_to_tileaa import convert
from lowering.convert.tileaa_to_cuda_tile import as_tile_ir
from lowering.passes.manager import Context


def to_tileaa(entry: ct.Entry, context: Context) -> nv_tileaa.Func:
    """Convert operations to arith, math and scf on tensors, views to memrefs, tokens to memory tokens."""
    made = convert(entry)
    context.count(operations=lambda: size(made))
    return made


def to_tile_ir(func: nv_tileaa.Func, context: Context) -> ct.Entry:
    """Convert back to Tile IR, whose operations are the e-graph's terms."""
    made = as_tile_ir(func)[1]
    context.count(operations=lambda: size(made))
    return made


def size(kernel: Op) -> int:
    """Operations of a kernel."""
    return sum(1 for _ in kernel.walk())
