"""InsertOCGKnobs: pragmas for OCG, the scheduler inside ptxas, as the seeds have them.

ptxas 13.5 supports neither: each gives "Pragma '...' unsupported", and the code does not change. They are for users
with an OCG that reads them. Source of gates and texts: the seeds, InsertOCGKnobs.
"""

from __future__ import annotations

from ir.core import Block, Builder, Op
from ir.dialects import llvm
from lowering.targets import Feature, target

BUSY = '.pragma "global knob SchedResBusyXU64=1";'
"""At the entry of a kernel with products, on targets whose products have tensor memory: 100 to 103 and 110."""
FENCE = '.pragma "next knob FenceCode";'
"""Before each fence, each operation on an mbarrier and each barrier of the cluster."""
PRODUCTS = ("nvvm.mma.", "nvvm.wgmma.mma_async", "nvvm.tcgen05.mma")
ANCHORS = ("nvvm.fence.", "nvvm.mbarrier.", "nvvm.cp.async.mbarrier.", "nvvm.cluster.")
"""Operations, by name prefix."""


def insert_knobs(func: llvm.Func) -> int:
    """Insert the pragmas into a kernel, in place, and return how many."""
    count, blocks = 0, func.body.blocks
    products = any(op.name.startswith(PRODUCTS) for block in blocks for op in block.ops)
    for block in blocks:
        ops: list[Op] = []
        for op in block.ops:
            ops += [knob(FENCE, block, op), op] if op.name.startswith(ANCHORS) else [op]
        count += len(ops) - len(block.ops)
        block.ops[:] = ops
    if products and target(func.target).has(Feature.OCG_BUSY):
        blocks[0].ops.insert(0, knob(BUSY, blocks[0], blocks[0].ops[0]))
        count += 1
    return count


def knob(text: str, block: Block, at: Op) -> Op:
    """A pragma before an operation of a block."""
    made = Builder(Block(), at.location).add(llvm.InlineAsm, types=(), asm_string=text, has_side_effects=True)
    made.parent = block
    return made
