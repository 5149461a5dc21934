"""Addresses and predicates needed again only after a heavy loop are rematerialised there, not kept live across it.

Value numbering finds that a store after a loop uses the coordinates of a load before it; a loop that carries an
accumulator has no registers for them. ptxas 13.5 does not do this itself: flash attention by mma.sync on sm_90a spills
40 bytes a thread without this pass and none with it. Source: Briggs, Cooper, Torczon, "Rematerialization" (PLDI 1992).
"""

from __future__ import annotations

from ir.core import PURE, Block, Op, Value
from ir.dialects import llvm, nvvm
from ir.types import IntType, LLVMPointerType
from lowering.convert.nvgpu_to_nvvm.values import bits_of

HEAVY = 64  # 32-bit registers that a loop carries: half of an accumulator of 128 columns
SLOW = (llvm.SDiv, llvm.UDiv, llvm.SRem, llvm.URem)  # tens of instructions: worth a register
HELD = (llvm.Constant, llvm.AddressOf)  # literals; an array's address, which ptxas 13.5 computes in the uniform pipe

Span = tuple[int, int]


def rematerialize(blocks: list[Block]) -> int:
    """Rematerialise values across heavy loops, in place, and return how many; `blocks` in layout order."""
    loops = find_loops(blocks)
    heavy = [loop for loop in loops if sum(-(-bits_of(a.type) // 32) for a in blocks[loop[0]].args) >= HEAVY]
    if not heavy:
        return 0
    busy = {v for first, last in heavy for block in blocks[first : last + 1] for op in block.ops for v in op.operands}
    place = {value: i for i, block in enumerate(blocks) for op in block.ops for value in op.results}
    count = 0
    for i, block in enumerate(blocks):
        crossed = [first for first, last in heavy if last < i]
        if crossed and not any(first <= i <= last for first, last in loops):
            rewriter = Rematerializer(place, busy, max(crossed))
            rewriter.rewrite(block)
            count += len(rewriter.made)
    return count


def find_loops(blocks: list[Block]) -> list[Span]:
    """First and last block of every loop, found by its back edge."""
    number = {block: i for i, block in enumerate(blocks)}
    back = [(number[to], i) for i, block in enumerate(blocks) for to in successors(block) if number[to] <= i]
    return sorted(set(back))


def successors(block: Block) -> tuple[Block, ...]:
    """The successors of a block."""
    return block.ops[-1].attributes.get("successors", ()) if block.ops else ()


class Rematerializer:
    """Rewrites one block: values computed in blocks before `start` that are not used by the loops before it
    (`busy`).
    """

    def __init__(self, place: dict[Value, int], busy: set[Value], start: int):
        self.place = place
        self.busy = busy
        self.start = start
        self.made: dict[Value, Value] = {}
        self.known: dict[Value, bool] = {}

    def rewrite(self, block: Block) -> None:
        """Each op on values rematerialised just before their first use."""
        ops, block.ops = block.ops, []
        for op in ops:
            op.operands = [self.again(v, block) for v in op.operands]
            block.ops.append(op)

    def again(self, value: Value, block: Block) -> Value:
        """The value, or a copy made in this block."""
        op = value.op
        if op is None or value in self.busy or isinstance(op, HELD) or not self.cheap(value):
            return value
        found = self.made.get(value)
        if found is None:
            operands = [self.again(v, block) for v in op.operands]
            copy = type(op)(operands, [r.type for r in op.results], op.attributes, (), op.location, op.segments)
            copy.parent = block
            block.ops.append(copy)
            found = self.made[value] = copy.results[value.index]
        return found

    def cheap(self, value: Value) -> bool:
        """Was it computed before the loop, by integer arithmetic on values that are available anyway?"""
        found = self.known.get(value)
        if found is None:
            op = value.op
            before = self.place.get(value, self.start) < self.start
            found = op is not None and before and simple(op) and all(self.at_hand(v) for v in op.operands)
            self.known[value] = found
        return found

    def at_hand(self, value: Value) -> bool:
        """Parameters, constants and arrays, values live in a loop, and what can be computed from them."""
        op = value.op
        return op is None or isinstance(op, HELD) or value in self.busy or self.cheap(value)


def simple(op: Op) -> bool:
    """Integer or address arithmetic with one result."""
    if op.effect is not PURE or len(op.results) != 1 or isinstance(op, SLOW):
        return False
    return isinstance(op, nvvm.SpecialRegister) or isinstance(op.results[0].type, IntType | LLVMPointerType)
