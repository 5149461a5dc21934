"""Which loads may run ahead of a loop's iterations: those not ordered after a store of the loop and, for loads through
pointers, whose addresses and mask depend only on its counter.

Decided on the source program, by tokens; other values that the tile depends on are rematerialised by the producer or
sent to it. A ring that consumers fill is also addressed for iterations that do not exist: alignment assumptions may not
hold for those.
"""

from __future__ import annotations

from collections.abc import Iterator

from egraph.encode import EncodedProgram
from egraph.frozen import Frozen
from ir.core import PURE, Block, Op, Value
from ir.dialects import cuda_tile as ct
from ir.types import TokenType


def ahead(program: EncodedProgram) -> Iterator[int]:
    """Numbers of the tiles of such loads."""
    for op in program.source.values():
        if isinstance(op, ct.LoadPtr) and not (op.order == ct.MemoryOrder.WEAK and foreseen(op)):
            continue
        body = op.parent
        if not isinstance(op, ct.LoadView | ct.LoadPtr) or body is None or not isinstance(body.parent_op, ct.For):
            continue
        if not behind_store(op.token, body):
            yield program.number_of(op.results[0])


def behind_store(token: Value | None, body: Block) -> bool:
    """May an operation with this token come after a store of the body? New tokens and those of loads order nothing."""
    waiting, seen = [token], set[Value]()
    while waiting:
        each = waiting.pop()
        maker = None if each is None else each.owner
        if maker is body:
            return True
        if each is None or each in seen or not isinstance(maker, Op) or maker.parent is not body:
            continue
        seen.add(each)
        weak = isinstance(maker, ct.LoadView | ct.LoadPtr) and maker.order == ct.MemoryOrder.WEAK
        if not (weak or isinstance(maker, ct.MakeToken | ct.JoinTokens)):
            return True
        waiting += [v for v in maker.operands if isinstance(v.type, TokenType)]
    return False


def promised(program: EncodedProgram, frozen: Frozen) -> set[int]:
    """Numbers of the tiles of loads in a loop whose alignment is assumed in its body but not proved by facts."""
    made = [row for row in program.facts.get("r.promised", ()) if frozen.class_of(row[0]) != frozen.class_of(row[1])]
    ops = {program.source[number] for number, *_ in made}
    promises = {op for op in ops if isinstance(op, ct.Assume) and isinstance(op.predicate, ct.DivBy)}
    return {program.number_of(op.results[0]) for op in loads(program) if promises and inside(op) & promises}


def loads(program: EncodedProgram) -> Iterator[Op]:
    """The weak loads of the source."""
    return (op for op in program.source.values() if isinstance(op, ct.LoadView | ct.LoadPtr))


def inside(load: Op) -> set[Op]:
    """The operations of its block that its operands depend on, including nested ones."""
    found, waiting = set[Op](), [load]
    while waiting:
        for value in waiting.pop().operands:
            maker = value.owner
            if isinstance(maker, Op) and maker.parent is load.parent and maker not in found:
                nested = list(maker.walk())
                found.update(nested)
                waiting += nested
    return found


def foreseen(load: Op) -> bool:
    """Do its operands follow from the loop counter and loop-invariant values by arithmetic alone?"""
    body = load.parent
    token = load.token if isinstance(load, ct.LoadView | ct.LoadPtr) else None
    waiting, seen = [v for v in load.operands if v is not token], set[Value]()
    while waiting:
        value = waiting.pop()
        maker = value.owner
        if maker is body:
            if value.index:
                return False
        elif isinstance(maker, Op) and maker.parent is body and value not in seen:
            if maker.effect is not PURE or maker.regions:
                return False
            waiting += maker.operands
        seen.add(value)
    return True
