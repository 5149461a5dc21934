"""Loops carry values in the form in which they are read, so that an iteration need not compute it.

    i, 64 i                 becomes     c = 64 i, and c + 64 for the next iteration: a coordinate of tensor copies
    p, p ^ 1                becomes     q = p ^ 1, q: the parity of the round before, which a producer waits for
    (base + i) + 16384      becomes     (base + 16384) + i, where base stays: a destination of tensor copies
A counter is compared with its bound times the factor, unsigned. A parity is changed only together with such a counter:
if ptxas 13.5 multiplies the counter it may keep all values of a loop in uniform registers, and moves the flipped parity
there under a predicate (prefill_attention_paged_lpt of TileGym on sm_90a: 57 instructions for 55). Copies take no
displacement in their address (ptxas 13.5 adds it: UIADD3), so it is folded into the value computed before the loop.
Source: strength reduction with linear-function test replacement (Allen, Cocke, Kennedy, "Reduction of Operator
Strength", 1981); reassociation by loop depth (Briggs and Cooper, "Effective Partial Redundancy Elimination", 1994).
"""

from __future__ import annotations

from dataclasses import field
from typing import cast

from ir.core import PURE, Block, Op, Value
from ir.dialects import llvm, nvvm
from ir.records import dataclass
from ir.types import I32, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm.branches import Edge, edges_into, given, lead, substitute
from lowering.convert.nvgpu_to_nvvm.emitter import wrap
from lowering.convert.nvgpu_to_nvvm.facts import Facts
from lowering.convert.nvgpu_to_nvvm.rematerialize import find_loops
from lowering.convert.nvgpu_to_nvvm.stages import handed_on, number, put_before

WORDS = 1 << 32
COPIES = (nvvm.TensorLoad, nvvm.TensorLoadCluster)
MOST_COPIES = 12
"""The most copies that read a carried coordinate: for more, ptxas 13.5 lacks uniform registers, and moves the
coordinate there for each (a loop of LayerNorm's backward pass on sm_90a: 59 instructions with 12 copies, for 60; 180
with 32, for 163).
"""


def carry_as_read(func: llvm.Func) -> int:
    """Rewrite in place, and return how many values and addresses changed."""
    blocks = func.body.blocks
    spans = find_loops(blocks)
    if not spans or not any(isinstance(op, COPIES) for block in blocks for op in block.ops):
        return 0
    into, facts, users = edges_into(blocks), Facts(func.block), readers(blocks)
    count = 0
    scaled: set[Block] = set()
    for first, last in spans:
        for argument in blocks[first].args:
            plan = Counter.planned(argument, blocks[first : last + 1], into[blocks[first]], users, facts)
            if plan is not None:
                plan.write(blocks)
                users = readers(blocks)
                scaled.add(blocks[first])
                count += 1
    heads = {blocks[first] for first, last in spans if not any(first < other <= last for other, _ in spans)}
    for parity in parities(blocks, spans, into, users) if scaled else ():
        if all(each.owner in scaled for each in parity.arguments if each.owner in heads):
            count += parity.write(blocks, into)
    return count + sum(displace_outside(blocks, *span) for span in spans)


def readers(blocks: list[Block]) -> dict[Value, list[Op]]:
    """The users of each live value; uses follow definitions in the layout."""
    found: dict[Value, list[Op]] = {}
    for op in reversed([op for block in blocks for op in block.ops]):
        if op.effect is not PURE or any(result in found for result in op.results):
            for value in dict.fromkeys(op.operands):
                found.setdefault(value, []).append(op)
    return found


# --- counters


@dataclass
class Counter:
    """A counter that is only read in multiples of `factor`; `bound` ends the loop."""

    argument: Value
    factor: int
    products: list[llvm.Mul]
    raised: llvm.Add
    test: llvm.ICmp
    begins: list[Edge]

    @staticmethod
    def planned(
        argument: Value, loop: list[Block], edges: list[Edge], users: dict[Value, list[Op]], facts: Facts
    ) -> Counter | None:
        """The plan for an argument of a loop's first block; None if it is read otherwise, or multiples of its bound do
        not fit in 32 bits.
        """
        again = [edge for edge in edges if edge[0].parent in loop]
        begins = [edge for edge in edges if edge not in again]
        following = {given(edge)[argument.index] for edge in again}
        raised = next(iter(following)).op if len(following) == 1 else None
        if argument.type != I32 or not isinstance(raised, llvm.Add) or raised.lhs is not argument:
            return None
        if (number(raised.rhs) or 0) <= 0:
            return None
        products = [op for op in users.get(argument, []) if op is not raised]
        factors = [_factor(op, argument) for op in products]
        if not factors or not all(factors) or any(factor % min(factors) for factor in factors):
            return None
        reading = [each for op in products for each in users[op.results[0]]]
        if not any(isinstance(each, COPIES) for each in reading) or len(reading) > MOST_COPIES:
            return None
        ends = [op for op in users[raised.result] if op not in [edge[0] for edge in again]]
        test = ends[0] if len(ends) == 1 else None
        if not isinstance(test, llvm.ICmp) or test.lhs is not raised.result or test.predicate not in ("slt", "ult"):
            return None
        ends_loop = [isinstance(op, llvm.CondBr) and op.condition is test.result and not at for op, at in again]
        if not all(ends_loop) or any(sum(v is raised.result for v in edge[0].operands) > 1 for edge in again):
            return None
        made = Counter(argument, min(factors), cast("list[llvm.Mul]", products), raised, test, begins)
        return made if made.factor > 1 and made.fits(facts, loop) else None

    def fits(self, facts: Facts, loop: list[Block]) -> bool:
        """Are all multiples, up to that of the first counter value after the loop, non-negative?"""
        starts = [given(edge)[self.argument.index] for edge in self.begins]
        inside = {result for block in loop for op in block.ops for result in op.results}
        if self.test.rhs in inside or self.test.rhs.owner in loop or any(start in inside for start in starts):
            return False
        (low, high), step = facts.range(self.test.rhs), number(self.raised.rhs) or 0
        first = min(facts.range(start)[0] for start in starts)
        below = low >= 0 or all(self.guarded(edge) for edge in self.begins)
        return first >= 0 and below and max(high, 1) - 1 + step < WORDS // self.factor

    def guarded(self, edge: Edge) -> bool:
        """Does an edge lead into the loop only if its first counter value is less than the bound?"""
        branch, at = edge
        guard = branch.condition.op if isinstance(branch, llvm.CondBr) else None
        if not isinstance(guard, llvm.ICmp) or guard.predicate != "slt" or at:
            return False
        return guard.lhs is given(edge)[self.argument.index] and guard.rhs is self.test.rhs

    def write(self, blocks: list[Block]) -> None:
        """Carry the multiple."""
        entry = blocks[0]
        for edge in self.begins:
            args = list(given(edge))
            args[self.argument.index] = self.multiple(args[self.argument.index], entry)
            lead(edge, edge[0].attributes["successors"][edge[1]], args)
        same: dict[Value, Value] = {}
        for product in self.products:
            times = (number(product.rhs) or 0) // self.factor
            if times == 1:
                same[product.result] = self.argument
                cast(Block, product.parent).ops.remove(product)
            else:
                product.operands[1] = constant(times, entry)
                product.attributes = {}
        self.raised.operands[1] = constant(self.factor * (number(self.raised.rhs) or 0), entry)
        self.raised.attributes = {}
        self.test.operands[1] = self.multiple(self.test.rhs, entry)
        self.test.attributes = {**self.test.attributes, "predicate": "ult"}
        substitute(blocks, same)

    def multiple(self, value: Value, entry: Block) -> Value:
        """A value times the factor, at the end of its block."""
        known = number(value)
        if known is not None:
            return constant(known * self.factor, entry)
        home = value.owner if isinstance(value.owner, Block) else cast(Block, value.owner.parent)
        return put_before(home.ops[-1], llvm.Mul((value, constant(self.factor, entry)), [I32]))


def _factor(op: Op, value: Value) -> int:
    """The constant by which a product multiplies a value; 0 if it does not."""
    return max(number(op.rhs) or 0, 0) if isinstance(op, llvm.Mul) and op.lhs is value else 0


def constant(value: int, entry: Block) -> Value:
    """A constant, at the function's head."""
    made = llvm.Constant((), [I32], {"value": wrap(value, 32)})
    made.parent = entry
    entry.ops.insert(0, made)
    return made.result


# --- parities


@dataclass
class Parity:
    """Block arguments that pass a parity to one another, the flips between them (with the flipped operand), and its
    opposites, which are its only uses.
    """

    arguments: dict[Value, None] = field(default_factory=dict[Value, None])
    turns: dict[llvm.Select, int] = field(default_factory=dict[llvm.Select, int])
    opposites: list[llvm.Xor] = field(default_factory=list[llvm.Xor])

    def gather(self, first: Value, into: dict[Block, list[Edge]], onto: dict[Value, list[Value]]) -> bool:
        """Collect everything that flows into an argument, transitively; False if it is not a parity."""
        waiting, seen = [first], set[Value]()
        while waiting:
            value = waiting.pop()
            if value in seen or number(value) in (0, 1):
                continue
            seen.add(value)
            waiting += onto.get(value, ())
            if isinstance(value.owner, Block):
                if not into[value.owner]:
                    return False
                self.arguments[value] = None
                waiting += [given(edge)[value.index] for edge in into[value.owner]]
            elif isinstance(value.op, llvm.Select) and (at := turned(value.op)) is not None:
                self.turns[value.op] = at
                waiting.append(value.op.operands[3 - at])
            else:
                return False
        return bool(self.turns)

    def read_opposite(self, users: dict[Value, list[Op]]) -> bool:
        """Is only its opposite read, and by more than the flips?"""
        found = False
        for value in (*self.arguments, *(turn.result for turn in self.turns)):
            for op in users.get(value, ()):
                if isinstance(op, llvm.Xor) and opposite(op) is value:
                    self.opposites.append(op)
                    found = found or any(each not in self.turns for each in users[op.result])
                elif op not in self.turns and not isinstance(op, llvm.Br | llvm.CondBr):
                    return False
        return found

    def write(self, blocks: list[Block], into: dict[Block, list[Edge]]) -> int:
        """Carry the opposite; returns how many arguments changed."""
        for argument in self.arguments:
            block = cast(Block, argument.owner)
            for edge in into[block]:
                args = list(given(edge))
                if (known := number(args[argument.index])) is not None:
                    args[argument.index] = constant(known ^ 1, blocks[0])
                    lead(edge, block, args)
        substitute(blocks, {op.result: op.lhs for op in self.opposites})
        for op in self.opposites:
            cast(Block, op.parent).ops.remove(op)
        for turn, at in self.turns.items():  # right before it: one instruction of both
            value = turn.operands[3 - at]
            turn.operands[at] = put_before(turn, llvm.Xor((value, constant(1, blocks[0])), [I32]))
        return len(self.arguments)


def parities(
    blocks: list[Block], spans: list[tuple[int, int]], into: dict[Block, list[Edge]], users: dict[Value, list[Op]]
) -> list[Parity]:
    """The parities of which only the opposite is read."""
    found: list[Parity] = []
    onto, seen = handed_on(into), set[Value]()
    for first, _ in spans:
        for argument in blocks[first].args:
            if argument.type == I32 and argument not in seen:
                parity = Parity()
                if parity.gather(argument, into, onto) and parity.read_opposite(users):
                    found.append(parity)
                seen.update(parity.arguments)
    return found


def opposite(op: llvm.Xor) -> Value | None:
    """The value whose opposite an operation computes."""
    return op.lhs if number(op.rhs) == 1 and op.result.type == I32 else None


def turned(op: llvm.Select) -> int | None:
    """Which operand is the opposite of the other: selected if a condition holds, or if it does not."""
    for at in (1, 2):
        made = op.operands[at].op
        if isinstance(made, llvm.Xor) and opposite(made) is op.operands[3 - at]:
            return at
    return None


# --- destinations


def displace_outside(blocks: list[Block], first: int, last: int) -> int:
    """Displace the bases of copy destinations before a loop, and return how many."""
    body, users = blocks[first : last + 1], readers(blocks)
    inside, count = set(body), 0
    for op in [op for block in body for op in block.ops if isinstance(op, llvm.GetElementPtr)]:
        base = op.base.op
        if op.index is None or op.offset or op.base.type != SHARED_PTR or base is None or base.parent in inside:
            continue
        places = [each for each in users.get(op.result, ()) if each is not op]
        if isinstance(base, llvm.AddressOf) or not places or not all(_destination(each, users) for each in places):
            continue
        home, away = cast(Block, base.parent), min(int(each.attributes["offset"]) for each in places)
        moved = llvm.GetElementPtr((op.base,), [SHARED_PTR], {"offset": away}, segments=(1, 0))
        op.operands[0] = put_before(home.ops[-1], moved)
        for each in places:
            each.attributes = {**each.attributes, "offset": each.attributes["offset"] - away}
        count += 1
    return count


def _destination(op: Op, users: dict[Value, list[Op]]) -> bool:
    """Is it a displaced address used only as the destination of copies?"""
    if not isinstance(op, llvm.GetElementPtr) or op.index is not None:
        return False
    return all(
        isinstance(each, COPIES) and sum(v is op.result for v in each.operands) == 1 and each.dstMem is op.result
        for each in users.get(op.result, ())
    )
