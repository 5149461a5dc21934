"""Branches whose way is known, what both sides of one compute, and what only one of them reads.

Structured control carries predicates out of a body where a loop is left in its middle: the edge that sets one goes on
to where the test of it leads (jump threading; Source: LLVM, JumpThreading.cpp, of which this is the case of a block
that only tests). Operations that both sides of a branch begin with are done before it (Source: LLVM, SimplifyCFG.cpp,
hoistCommonCodeFromSuccessors), and of a test in the middle of a loop what one side alone reads is done there: ptxas
13.5 copies what is before such a test (Collatz sequences: 24 instructions, 30 with the whole body before the test).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ir.core import PURE, Block, Op, Value
from ir.dialects import llvm, nvvm
from lowering.convert.nvgpu_to_nvvm.rematerialize import SLOW, find_loops, successors

Edge = tuple[Op, int]
"""A branch and which of its successors."""


def simplify_branches(func: llvm.Func) -> int:
    """Rewrite a function in place; says how many edges and operations were changed."""
    blocks = func.body.blocks
    if len(blocks) == 1:
        return 0
    count, changed = 0, 1
    while changed:  # a text of the level, read again, is left as it is
        changed = _thread(blocks)
        if not func.consumers:  # agents keep their registers to themselves
            changed += _hoist(blocks) + _sink(blocks)
        count += changed
    return count


def edges_into(blocks: list[Block]) -> dict[Block, list[Edge]]:
    """The edges that lead to each block."""
    found: dict[Block, list[Edge]] = {block: [] for block in blocks}
    for block in blocks:
        for at, to in enumerate(successors(block)):
            found[to].append((block.ops[-1], at))
    return found


def _given(edge: Edge) -> list[Value]:
    """The arguments that an edge hands over."""
    branch, at = edge
    if isinstance(branch, llvm.CondBr):
        return branch.false_args if at else branch.true_args
    return list(branch.operands)


def _lead(edge: Edge, to: Block, args: list[Value]) -> None:
    """Make an edge go to a block with these arguments."""
    branch, at = edge
    kept = list(branch.attributes["successors"])
    kept[at] = to
    if isinstance(branch, llvm.CondBr):
        groups = [branch.true_args, branch.false_args]
        groups[at] = args
        branch.operands = [branch.condition, *groups[0], *groups[1]]
        branch.segments = (1, len(groups[0]), len(groups[1]))
    else:
        branch.operands = args
        branch.segments = (len(args),) if branch.segments else branch.segments
    branch.attributes = {**branch.attributes, "successors": tuple(kept)}


def _prune(blocks: list[Block]) -> None:
    """Take out blocks that nothing leads to any more."""
    reached, work = {blocks[0]}, [blocks[0]]
    while work:
        for to in successors(work.pop()):
            if to not in reached:
                reached.add(to)
                work.append(to)
    blocks[:] = [block for block in blocks if block in reached]


def _thread(blocks: list[Block]) -> int:
    """Edges into a block that only tests one of its arguments, where that is a constant."""
    tests = [block for block in blocks[1:] if len(block.ops) == 1 and isinstance(block.ops[0], llvm.CondBr)]
    tests = [block for block in tests if block.ops[0].operands[0] in block.args]
    if not tests:
        return 0
    count = 0
    into = edges_into(blocks)
    used = {v for block in blocks for op in block.ops for v in op.operands if v.owner is not block}
    for block in tests:
        branch = block.ops[0]
        if not used.isdisjoint(block.args):
            continue  # its arguments are read behind it
        tested = branch.operands[0].index
        for edge in into[block]:
            if edge[0] is branch:
                continue
            given = _given(edge)
            known = given[tested].op
            if not isinstance(known, llvm.Constant):
                continue
            out = 0 if known.value else 1
            bound = dict(zip(block.args, given, strict=True))
            _lead(edge, successors(block)[out], [bound.get(v, v) for v in _given((branch, out))])
            count += 1
    if count:
        _prune(blocks)
    return count


def _key(op: Op, same: dict[Value, Value]) -> tuple[Any, ...]:
    operands = tuple(same.get(v, v) for v in op.operands)
    return type(op), operands, tuple(op.attributes.items()), op.segments, tuple(r.type for r in op.results)


def _hoist(blocks: list[Block]) -> int:
    """Operations that both successors of a branch begin with, loads too, to before the branch."""
    into = edges_into(blocks)
    same: dict[Value, Value] = {}
    count = 0
    for block in reversed(blocks):
        branch = block.ops[-1]
        if type(branch) is not llvm.CondBr:
            continue
        first, second = branch.successors
        if first is second or len(into[first]) != 1 or len(into[second]) != 1:
            continue
        moved = _common(first, second, same)
        for op in moved:
            op.parent = block
        block.ops[-1:-1] = moved
        count += len(moved)
    if same:
        for op in (op for block in blocks for op in block.ops):
            op.operands = [same.get(v, v) for v in op.operands]
    return count


def _common(first: Block, second: Block, same: dict[Value, Value]) -> list[Op]:
    """Takes out of two blocks what both have; `same` says which results stand for which."""
    there = {_key(op, same): op for op in _movable(first)}
    moved: set[Op] = set()
    for op in _movable(second):
        found = there.pop(_key(op, same), None)
        if found is not None:
            same |= dict(zip(op.results, found.results, strict=True))
            moved |= {op, found}
    found = [op for op in first.ops if op in moved]
    for block in (first, second):
        block.ops = [op for op in block.ops if op not in moved]
    return found


def _sink(blocks: list[Block]) -> int:
    """Operations before a test in the middle of a loop, read in one of its successors alone, to there."""
    tests = _in_the_middle(blocks)
    if not tests:
        return 0
    into = edges_into(blocks)
    readers: dict[Value, Counter[Block]] = defaultdict(Counter)
    for block in blocks:
        for op in block.ops:
            for value in op.operands:
                readers[value][block] += 1
    count = 0
    for block in tests:
        ends = [to for to in successors(block) if len(into[to]) == 1]
        sunk: dict[Op, Block] = {}
        for op in reversed(block.ops[:-1]):
            to = _only_reader(op, readers, ends)
            if to is not None:
                sunk[op] = op.parent = to
                for value in op.operands:
                    readers[value].update({block: -1, to: 1})
        for op, to in sunk.items():
            to.ops.insert(0, op)
        block.ops = [op for op in block.ops if op not in sunk]
        count += len(sunk)
    return count


def _in_the_middle(blocks: list[Block]) -> list[Block]:
    """Blocks that may leave their loop, and do not go back themselves."""
    loops = find_loops(blocks)
    place = {block: at for at, block in enumerate(blocks)} if loops else {}
    found: list[Block] = []
    for at, block in enumerate(blocks if loops else ()):
        to = [place[end] for end in successors(block)]
        around = [loop for loop in loops if loop[0] <= at <= loop[1]]
        if len(to) == 2 and min(to) > at and any(not first <= end <= last for first, last in around for end in to):
            found.append(block)
    return found


def _only_reader(op: Op, readers: dict[Value, Counter[Block]], ends: list[Block]) -> Block | None:
    """The block that alone reads the results of an operation without effects."""
    if op.effect is not PURE or isinstance(op, (llvm.Constant, *SLOW)):
        return None
    found = {block for result in op.results for block, count in readers[result].items() if count}
    return next((to for to in ends if found == {to}), None)


def _movable(block: Block) -> Iterator[Op]:
    """Operations without effects, and plain loads before any other effect."""
    reads = True
    for op in block.ops[:-1]:
        if op.effect is PURE:
            yield op
        else:
            reads = reads and isinstance(op, nvvm.Ld) and not op.order
            if reads:
                yield op
