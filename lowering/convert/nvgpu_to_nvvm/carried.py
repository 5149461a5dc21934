"""Values that loops carry beside others which are always the same: one of them is enough.

Two arguments of a block are alike where every edge into it hands over values alike: the same value, or operations alike
on operands alike, where the two themselves may be taken for alike: what follows from that alone is never refuted. The
iterators of two rings of as many stages, which begin alike and go on together, are such a pair.
Source: Alpern, Wegman, Zadeck, Detecting Equality of Variables in Programs, POPL 1988 (the optimistic partition).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations

from ir.core import PURE, Block, Value
from ir.dialects import llvm
from ir.types import IntType
from lowering.convert.nvgpu_to_nvvm.branches import Edge, edges_into, given, key, lead, substitute
from lowering.convert.nvgpu_to_nvvm.rematerialize import successors

Pair = tuple[Value, Value]


def merge_carried_values(blocks: list[Block]) -> int:
    """Merge in place, and say how many arguments of blocks were left out."""
    if not any(to.args for block in blocks for to in successors(block)):
        return 0
    into = edges_into(blocks)
    alike = Alike(into)
    same: dict[Value, Value] = {}
    for first, second in candidates(into):
        if first not in same and second not in same:
            same |= alike.arguments(first, second)
    if same:
        substitute(blocks, same)
        for block, edges in into.items():
            leave_out(block, edges, same)
        for block in blocks:
            number(block, blocks)
    return len(same)


def candidates(into: dict[Block, list[Edge]]) -> Iterator[Pair]:
    """Pairs of integers of a block that loops back, for which all edges have operations of a kind."""
    for block, edges in into.items():
        kinds: dict[tuple[object, ...], list[Value]] = {}
        for at, argument in enumerate(block.args if len(edges) > 1 else ()):
            if isinstance(argument.type, IntType):
                kind = (argument.type, *(rough(given(edge)[at]) for edge in edges))
                kinds.setdefault(kind, []).append(argument)
        for each in kinds.values():
            yield from combinations(each, 2)


def rough(value: Value) -> Hashable:
    """What two values that are alike have in common."""
    op = value.op
    return None if op is None else op.value if isinstance(op, llvm.Constant) else (type(op), value.index)


class Alike:
    """Which values of a function are always the same, by the edges into its blocks."""

    def __init__(self, into: dict[Block, list[Edge]]):
        self.into = into

    def arguments(self, first: Value, second: Value) -> dict[Value, Value]:
        """The arguments that are as earlier ones of their blocks if these two are alike; none where they are not."""
        assumed: dict[Pair, None] = {}
        if not self.holds(first, second, assumed):
            return {}
        pairs = (sorted(pair, key=lambda value: value.index) for pair in assumed if pair[0].op is None)
        return {later: earlier for earlier, later in pairs}

    def holds(self, x: Value, y: Value, assumed: dict[Pair, None]) -> bool:
        """Is one value as the other, if those of the pairs `assumed` are? Adds what it takes for granted."""
        if x is y or (x, y) in assumed:
            return True
        if x.type != y.type:
            return False
        assumed[x, y] = None
        a, b = x.op, y.op
        if a is not None and b is not None:
            plain = a.effect is PURE and not a.regions and x.index == y.index and key(a, {})[2:] == key(b, {})[2:]
            pairs = list(zip(a.operands, b.operands, strict=False))
            return type(a) is type(b) and plain and all(self.holds(*pair, assumed) for pair in pairs)
        block = x.owner
        if a is not b or block is not y.owner or not isinstance(block, Block):
            return False
        edges = self.into[block]
        return bool(edges) and all(self.holds(given(edge)[x.index], given(edge)[y.index], assumed) for edge in edges)


def leave_out(block: Block, edges: list[Edge], same: dict[Value, Value]) -> None:
    """Take arguments out of a block and the edges into it."""
    kept = [at for at, argument in enumerate(block.args) if argument not in same]
    if len(kept) == len(block.args):
        return
    for edge in edges:
        args = given(edge)
        lead(edge, block, [args[at] for at in kept])
    block.args = [block.args[at] for at in kept]
    for at, argument in enumerate(block.args):
        argument.index = at


def number(block: Block, blocks: list[Block]) -> None:
    """Operations of a block that have become alike are one."""
    known: dict[tuple[object, ...], list[Value]] = {}
    same: dict[Value, Value] = {}
    for op in block.ops:
        if op.effect is PURE and not op.regions:
            found = known.setdefault(key(op, same), op.results)
            if found is not op.results:
                same |= dict(zip(op.results, found, strict=True))
    if same:
        block.ops = [op for op in block.ops if not op.results or op.results[0] not in same]
        substitute(blocks, same)
