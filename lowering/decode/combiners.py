"""Combiner regions of reductions and scans, with the scalar ops of the next level."""

from __future__ import annotations

from ir.core import Block, Builder
from ir.core import Region as OpRegion
from ir.dialects import arith, scf
from ir.dialects import cuda_tile as ct
from lowering.convert.elementwise import scalar_op
from lowering.decode.types import uniform_type


def combiner(region: OpRegion) -> OpRegion:
    """A combiner region with the scalar ops of the next level."""
    source = region.block
    block = Block([uniform_type(a.type) for a in source.args])
    values = dict(zip(source.args, block.args, strict=True))
    b = Builder(block)
    for op in source.ops:
        operands = [values[v] for v in op.operands]
        b.location = op.location
        if isinstance(op, ct.Yield):
            b.add(scf.Yield, *operands, types=())
        elif isinstance(op, ct.Constant):
            kind = uniform_type(op.result.type)
            values[op.result] = b.value(arith.Constant, types=[kind], value=op.value.item)
        else:
            kind = uniform_type(op.results[0].type)
            attributes = {a.name: op.attributes.get(a.name, a.default) for a in op.info.attributes}
            found, extra = scalar_op(type(op), attributes, operands[0].type, kind, op)
            values[op.results[0]] = b.value(found, *operands, types=[kind], **extra)
    return OpRegion([block])
