"""Tile blocks that are requested early and waited for late (clusterlaunchcontrol): the request is sent where the
program asks, and the wait for the response comes after the tile block's work.

If only the consumers need it, the wait is before its first use. If a producer may need it too, the wait is after the
last loop whose tiles it loads: the producer finishes its part of the tile block earlier, so it waits only until the
consumers have read its last stages, and copies for the next tile block during the code after the loop. A wait before
the loop would start each tile block with a trip to memory; a wait at the very end would keep the producer's copies from
running ahead. If another agent issues the products, waits run in parallel to them, so the wait stays at the request.
Exchanges within a cluster, and values sent to agents, move along. Between request and response the bytes belong to the
asynchronous response, so they have dedicated memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import PURE, Block, Op, Region
from ir.dialects import nv_tileas, scf
from ir.dialects.nv_tileas_effects import ANSWER_BYTES, BARRIER_BYTES
from lowering.schedule.rings import Copy, align


def postpone(ops: Sequence[Op]) -> None:
    """Wait behind the last loop of tiles of its tile block for each answer of a placed kernel, and ask where it did."""
    for op in [each for top in ops for each in top.walk() if isinstance(each, nv_tileas.CancelNextProgramId)]:
        answer = whole(op)
        block = answer.parent
        if block is not None and (found := behind_loops(block, answer)) is not None:
            moved, loop = found
            request = asking(answer)
            request.parent = block
            kept = [request if each is answer else each for each in block.ops if each is answer or each not in moved]
            at = kept.index(loop) + 1
            block.ops = [*kept[:at], *moved, *kept[at:]]


def whole(op: Op) -> Op:
    """The branch of a cluster's first CTA, where an operation is alone in it, or the operation itself."""
    around = op.parent.parent_op if op.parent is not None else None
    return around if isinstance(around, scf.If) and op.parent is not None and len(op.parent.ops) == 2 else op


def behind_loops(block: Block, answer: Op) -> tuple[list[Op], Op] | None:
    """What goes along with an answer, and the last loop of tiles that it may go behind; None where there is none, and
    where products are in tensor memory, which another agent may begin.
    """
    if any(isinstance(each, nv_tileas.TensorDot) for op in block.ops for each in op.walk()):
        return None
    moved, made = [answer], {*answer.results}
    found: tuple[list[Op], Op] | None = None
    for op in block.ops[block.ops.index(answer) + 1 :]:
        if any(not made.isdisjoint(each.operands) for each in op.walk()):
            if not isinstance(op, nv_tileas.Exchange) and (op.effect is not PURE or op.regions):
                break
            moved.append(op)
            made.update(op.results)
        elif isinstance(op, scf.For) and any(isinstance(each, Copy) for each in op.walk()):
            found = [*moved], op
    return found


def asking(answer: Op) -> Op:
    """The request for an answer, in a branch of its own where that is in one."""
    request = nv_tileas.RequestProgramId((), (), location=answer.location)
    if not isinstance(answer, scf.If):
        return request
    sides: list[Block] = []
    for region in answer.regions:
        sides.append(Block())
        if len(region.block.ops) == 2:
            sides[-1].append(request)
        sides[-1].append(scf.Yield((), (), segments=(0,), location=answer.location))
    return scf.If((answer.condition,), (), {}, [Region([side]) for side in sides], answer.location)


def ask_early(block: Block, alone: bool) -> list[tuple[Op, Op]]:
    """Split the requests of a scheduled kernel whose answers are not used at once; each with where its answer is.
    `alone`: those who compute need it alone.
    """
    found: list[tuple[Op, Op]] = []
    everything = [each for top in block.ops for each in top.walk()]
    requests = [op for op in everything if isinstance(op, nv_tileas.RequestProgramId)]
    for number, op in enumerate(each for each in everything if isinstance(each, nv_tileas.CancelNextProgramId)):
        request: Op | None = requests[number] if requests else None
        request = waited_late(op, request) if alone else request
        if request is not None:
            found.append((request, op))
    return found


def waited_late(op: Op, request: Op | None) -> Op | None:
    """Put an answer in front of its first use; the request, made where there is none and the answer has moved."""
    block = op.parent
    assert block is not None
    at = block.ops.index(op)
    first = next(place for place in range(at + 1, len(block.ops)) if uses(block.ops[place], op))
    if first == at + 1:
        return request
    block.ops.insert(first, op)
    if request is not None:
        block.ops.pop(at)
        return request
    request = block.ops[at] = nv_tileas.RequestProgramId((), (), location=op.location)
    request.parent = block
    return request


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
