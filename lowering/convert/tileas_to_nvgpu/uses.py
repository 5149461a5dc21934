"""Live-in values of the regions of an op."""

from __future__ import annotations

from ir.core import Op, Value


def outer_values(op: Op) -> list[Value]:
    """Values that the op's regions use and that are defined outside them, in order of use."""
    inside: set[Value] = set()
    used: dict[Value, None] = {}
    for region in op.regions:
        for block in region.blocks:
            inside.update(block.args)
            for each in (o for top in block.ops for o in top.walk()):
                used.update(dict.fromkeys(each.operands))
                inside.update(each.results)
                for inner in each.regions:
                    inside.update(a for b in inner.blocks for a in b.args)
    return [v for v in used if v not in inside]
