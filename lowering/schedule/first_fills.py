"""The first stages of a ring are in flight before their loop waits for other tiles.

Queries are copied to a separate buffer, waited for and read; the ring of keys and values after them does not depend on
that, so its first copies are issued before the wait, which leaves their groups pending. Groups arrive in the order in
which they are committed. Source: PTX ISA 8.8, cp.async.wait_group.
"""

from __future__ import annotations

from ir.core import PURE, Block, Op
from ir.dialects import nv_tileas

SHARED_READS = (nv_tileas.BufferView, nv_tileas.SharedLoad)


def begin_before_wait(block: Block, start: int, groups: int) -> None:
    """Move the ops of a block from `start` on, which copy so many groups to buffers that nobody reads yet, before the
    last wait for older groups, where nothing between them writes memory or reads what the copies overwrite.
    """
    place = last_wait(block.ops[:start])
    if place is None:
        return
    between, fills = block.ops[place + 1 : start], block.ops[start:]
    wanted = {value for op in fills for each in op.walk() for value in each.operands}
    needed: list[Op] = []
    for op in reversed(between):
        if wanted.intersection(op.results):
            if op.effect is not PURE and not isinstance(op, nv_tileas.AllocTensor):
                return
            needed.append(op)
            wanted.update(op.operands)
    wait = block.ops[place]
    wait.attributes["pending"] = wait.attributes["pending"] + groups
    rest = [op for op in between if op not in set(needed)]
    block.ops[place:] = [*needed[::-1], *fills, wait, *rest]


def last_wait(ops: list[Op]) -> int | None:
    """The place of the last wait for groups; None where an op behind it does more than read what has arrived. A barrier
    that only publishes says that no buffer is written again; any other may stand for readers of the ring's own place.
    """
    for place in reversed(range(len(ops))):
        op = ops[place]
        if isinstance(op, nv_tileas.AsyncWait):
            return place
        publishes = isinstance(op, nv_tileas.AsyncFence) or (isinstance(op, nv_tileas.Barrier) and op.publishes)
        reads = isinstance(op, (*SHARED_READS, nv_tileas.AllocTensor)) or (op.effect is PURE and not op.regions)
        if not publishes and not reads:
            return None
    return None
