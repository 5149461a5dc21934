"""Combiner regions of reductions and scans, with the scalar ops of the next level."""

from __future__ import annotations

from egraph.combiners import captured
from ir.core import Block, Builder, Op, UnsupportedError, Value
from ir.core import Region as OpRegion
from ir.dialects import arith, scf
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.dialects.cuda_tile.constraints import TileOp
from lowering.convert.elementwise import scalar_op
from lowering.decode.types import uniform_type


def combiner(region: OpRegion) -> OpRegion:
    """A combiner region with the scalar ops of the next level."""
    source = region.block
    block = Block([uniform_type(a.type) for a in source.args])
    values = dict(zip(source.args, block.args, strict=True))
    b = Builder(block)
    for op in source.ops:
        b.location = op.location
        for outer in op.operands:
            if outer not in values:
                literal = captured(outer, op).value.item
                values[outer] = b.value(arith.Constant, types=[uniform_type(outer.type)], value=literal)
        operands = [values[v] for v in op.operands]
        if isinstance(op, ct.Yield):
            b.add(scf.Yield, *operands, types=())
        elif isinstance(op, ct.Constant):
            kind = uniform_type(op.result.type)
            values[op.result] = b.value(arith.Constant, types=[kind], value=op.value.item)
        elif isinstance(op, ct.Reshape | ct.Broadcast | ct.Permute | ct.Assume):
            values[op.results[0]] = operands[0]  # a no-op on scalars
        else:
            values[op.results[0]] = scalar(b, op, operands)
    return OpRegion([block])


def scalar(b: Builder, op: Op, operands: list[Value]) -> Value:
    """One operation on scalars. Raises UnsupportedError, located, for anything but arithmetic."""
    if not isinstance(op, TileOp) or op.placement is not ELEMENTWISE or not operands:
        raise UnsupportedError(
            f"'{op.name}' in a combiner is not supported yet", op.location, "combine by arithmetic and select"
        )
    kind = uniform_type(op.results[0].type)
    if isinstance(op, ct.NegI):
        zero = b.value(arith.Constant, types=[kind], value=0)
        return b.value(arith.SubI, zero, *operands, types=[kind])
    attributes = {a.name: op.attributes.get(a.name, a.default) for a in op.info.attributes}
    found, extra = scalar_op(type(op), attributes, operands[0].type, kind, op)
    return b.value(found, *operands, types=[kind], **extra)
