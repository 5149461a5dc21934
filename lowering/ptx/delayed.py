"""Values of the previous iteration: a loop that carries both a value and its predecessor.

    do: use(before, now); next = f(now); before, now = now, next

At the end of an iteration both `now` and `next` are needed, so each iteration has two moves. The copy to `before` can
be made where `next` is defined: `now` is then dead, `next` is defined in its register, and one move is left. An example
is the stage that products still read, which is released one iteration late.
"""

from __future__ import annotations

from ir.core import Value
from lowering.ptx.machine import MachineBlock, MachineInstruction, move_type, register_bits
from lowering.ptx.registers import Liveness


def hand_over_early(blocks: list[MachineBlock], live: Liveness) -> int:
    """Copy such values of single-block loops, in place, and return how many; if any, liveness must be recomputed."""
    count = 0
    for block in blocks:
        for edge in block.edges:
            if edge.to is block.source:
                handed = dict(edge.copies)
                for before, now in edge.copies:
                    following = handed.get(now) if isinstance(now, Value) and now is not before else None
                    if isinstance(now, Value) and isinstance(following, Value) and following is not now:
                        at = place(block, before, now, following, live)
                        if at is not None:
                            copy(blocks, block, at, now)
                            count += 1
    return count


def place(block: MachineBlock, before: Value, now: Value, following: Value, live: Liveness) -> int | None:
    """Where a loop defines the successor of `now`, if it reads neither `before` nor `now` after that."""
    at = next((at for at, each in enumerate(block.code) if following in each.defs), None)
    if at is None or register_bits(before.type) != register_bits(now.type):
        return None
    read = {value for each in block.code[at + 1 :] for value in each.uses} | {block.condition}
    read |= {value for edge in block.edges for _, value in edge.copies if value is before}
    return at if read.isdisjoint((before, now)) and before not in live.live_out[block.source] else None


def copy(blocks: list[MachineBlock], block: MachineBlock, at: int, now: Value) -> None:
    """Copy a value before an instruction of a loop; everything after it reads the copy."""
    made = Value(now.type, now.owner, now.index)
    block.code.insert(at, MachineInstruction(f"mov.{move_type(now.type)} %s, %s;", [made], [now]))
    for each in blocks:
        if each is not block:
            for instruction in each.code:
                if now in instruction.uses:
                    instruction.read(now, made)
            each.condition = made if each.condition is now else each.condition
        for edge in each.edges:
            edge.copies = [(to, made if value is now else value) for to, value in edge.copies]
