"""Tile blocks that are asked for early and waited for late (clusterlaunchcontrol): the request goes out where the
program asks, and the answer is waited for in front of its first use, with all of the tile block's work between.

Not where another agent is told what the answer says: that one needs it first, since its copies run ahead into the next
tile block. Between request and answer the bytes belong to the asynchronous answer, so they lie
where nothing else does.
"""

from __future__ import annotations

from ir.core import Block, Op
from ir.dialects import nv_tileas
from ir.dialects.nv_tileas_effects import ANSWER_BYTES, BARRIER_BYTES
from lowering.schedule.rings import align


def ask_early(block: Block) -> list[tuple[Op, Op]]:
    """Split the requests of a scheduled kernel whose answers are not used at once; each with where its answer is."""
    found: list[tuple[Op, Op]] = []
    for op in [each for top in block.ops for each in top.walk()]:
        if isinstance(op, nv_tileas.CancelNextProgramId) and op.parent is not None:
            ops = op.parent.ops
            first = next(place for place in range(ops.index(op) + 1, len(ops)) if uses(ops[place], op))
            if first > ops.index(op) + 1:
                request = nv_tileas.RequestProgramId((), (), location=op.location)
                request.parent = op.parent
                ops.insert(first, op)
                ops[ops.index(op)] = request
                found.append((request, op))
    return found


def uses(op: Op, made: Op) -> bool:
    """Does an operation, or one inside it, use results of another?"""
    return any(value.owner is made for each in op.walk() for value in each.operands)


def place(requests: list[tuple[Op, Op]], free: int) -> int:
    """Give each request and its answer their bytes, from `free` on; the end."""
    for pair in requests:
        free = align(free, ANSWER_BYTES)
        for op in pair:
            op.attributes["slot"] = free
        free += ANSWER_BYTES + BARRIER_BYTES
    return free
