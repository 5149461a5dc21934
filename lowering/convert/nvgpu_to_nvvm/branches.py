"""Branches with known outcome, common code of both sides of a branch, and values that only one side reads.

Structured control flow carries predicates out of a body with an early exit: the edge that sets one is redirected to the
target of its test (jump threading; Source: LLVM, JumpThreading.cpp, for the case of a block that only tests).
Operations that both sides of a branch begin with are hoisted above it (Source: LLVM, SimplifyCFG.cpp,
hoistCommonCodeFromSuccessors), and values before a test in a loop that only one side reads are sunk into that side:
ptxas 13.5 duplicates the code before such a test (Collatz sequences: 24 instructions, 30 with the whole body before the
test). A value that only one agent reads is computed by that agent, with its own registers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from ir.core import PURE, Block, Op, Value
from ir.dialects import llvm, nvvm
from lowering.convert.nvgpu_to_nvvm.rematerialize import SLOW, find_loops, successors

STEPS = 4  # blocks searched for an earlier test of the same condition
Edge = tuple[Op, int]
"""A branch and the index of one of its successors."""


def simplify_branches(func: llvm.Func) -> int:
    """Rewrite a function in place; returns how many edges and operations changed."""
    blocks = func.body.blocks
    if len(blocks) == 1:
        return 0
    count, changed = 0, 1
    while changed:  # until nothing changes, so that reading printed text again changes nothing
        changed = _drop(blocks) + _thread(blocks) + _decide(blocks) + _merge(blocks) + _forward(blocks)
        if not func.consumers:  # agents keep their registers to themselves
            changed += _hoist(blocks)
        changed += _sink(blocks) + _part(blocks)
        count += changed
    return count


def edges_into(blocks: list[Block]) -> dict[Block, list[Edge]]:
    """The edges that lead to each block."""
    found: dict[Block, list[Edge]] = {block: [] for block in blocks}
    for block in blocks:
        for at, to in enumerate(successors(block)):
            found[to].append((block.ops[-1], at))
    return found


def given(edge: Edge) -> list[Value]:
    """The arguments that an edge passes."""
    branch, at = edge
    if isinstance(branch, llvm.CondBr):
        return branch.false_args if at else branch.true_args
    return list(branch.operands)


def lead(edge: Edge, to: Block, args: list[Value]) -> None:
    """Redirect an edge to a block with these arguments."""
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


def _drop(blocks: list[Block]) -> int:
    """Remove dead operations, such as address bases, so that a block with only those and a test counts as a test."""
    read, count = set[Value](), 0
    for block in reversed(blocks):  # in layout order uses follow
        kept: list[Op] = []
        for op in reversed(block.ops):
            if op.effect is PURE and read.isdisjoint(op.results):
                count += 1
            else:
                read.update(op.operands)
                kept.append(op)
        block.ops = kept[::-1]
    return count


def _prune(blocks: list[Block]) -> None:
    """Remove unreachable blocks."""
    reached = _reached(blocks[0])
    blocks[:] = [block for block in blocks if block in reached]


def _thread(blocks: list[Block]) -> int:
    """Redirect edges into a block that only jumps, or only tests what is known on them: an argument that is a constant
    there, or an earlier test.
    """
    empty = [block for block in blocks[1:] if len(block.ops) == 1 and _leads_on(block)]
    if not empty:
        return 0
    count = 0
    into, reached = edges_into(blocks), set[Block]()  # by edges that are not in `into`
    for block in empty:
        branch = block.ops[0]
        alone = {to: edges[0] for to, edges in into.items() if len(edges) == 1 and to not in reached}
        ways = [(edge, _way(branch, edge, alone)) for edge in into[block] if edge[0] is not branch]
        known = [(edge, out) for edge, out in ways if out is not None]
        if not known or not _kept(blocks, block):
            continue  # its arguments are used beyond its successors
        for edge, out in known:
            bound = dict(zip(block.args, given(edge), strict=True))
            to = successors(block)[out]
            lead(edge, to, [bound.get(v, v) for v in given((branch, out))])
            reached.add(to)
        count += len(known)
    if count:
        _prune(blocks)
    return count


def _leads_on(block: Block) -> bool:
    """Is its branch a test, or an unconditional jump elsewhere?"""
    branch = block.ops[0]
    return isinstance(branch, llvm.CondBr) or (isinstance(branch, llvm.Br) and branch.successors[0] is not block)


def _way(branch: Op, edge: Edge, alone: dict[Block, Edge]) -> int | None:
    """The successor that a branch takes when its block is entered by an edge; None if unknown. `alone`: edges that are
    the only ones into their block.
    """
    if isinstance(branch, llvm.Br):
        return 0
    condition = branch.operands[0]
    if condition.op is None and branch.parent is condition.owner:
        known = given(edge)[condition.index].op
        return None if not isinstance(known, llvm.Constant) else 0 if known.value else 1
    plain, negated = _plain(condition)
    if plain.owner is branch.parent or isinstance(plain.op, llvm.Constant):
        return None
    for _ in range(STEPS):
        before, at = edge
        if isinstance(before, llvm.CondBr) and before.successors[0] is not before.successors[1]:
            tested, inverse = _plain(before.condition)
            if tested is plain:
                return at if negated == inverse else 1 - at
        block = before.parent
        if block not in alone or plain.owner is block or (plain.op is not None and plain.op.parent is block):
            return None
        edge = alone[block]
    return None


def _kept(blocks: list[Block], block: Block) -> bool:
    """Are the arguments of a block unused beyond it? A successor with no other predecessor is passed them, if it is
    their only user.
    """
    readers = {v: {b for b in blocks for op in b.ops if v in op.operands} - {block} for v in block.args}
    behind = {reader for found in readers.values() for reader in found}
    if not behind:
        return True
    to = behind.pop()
    edges = edges_into(blocks)[to]
    if behind or len(edges) != 1 or edges[0][0] is not block.ops[0]:
        return False
    (edge,) = edges
    read = [v for v in block.args if readers[v]]
    same = {v: Value(v.type, to, len(to.args) + at) for at, v in enumerate(read)}
    to.args += same.values()
    for op in to.ops:
        op.operands = [same.get(v, v) for v in op.operands]
    lead(edge, to, [*given(edge), *read])
    return True


def _merge(blocks: list[Block]) -> int:
    """Append a block whose only predecessor ends in a jump to that predecessor."""
    count = 0
    into = edges_into(blocks)
    for block in blocks[1:]:
        edges = into[block]
        branch = edges[0][0] if len(edges) == 1 else None
        before = branch.parent if isinstance(branch, llvm.Br) else None
        if branch is None or before is None or before is block:
            continue
        substitute(blocks, dict(zip(block.args, given(edges[0]), strict=True)))
        before.ops[-1:] = block.ops
        for op in block.ops:
            op.parent = before
        block.ops = []
        count += 1
    blocks[:] = [block for block in blocks if block.ops]
    return count


def _forward(blocks: list[Block]) -> int:
    """Replace arguments that receive the same value, or themselves, on every edge by that value."""
    same: dict[Value, Value] = {}
    for block, edges in edges_into(blocks).items():
        handed = [given(edge) for edge in edges]
        for at, arg in enumerate(block.args):
            values = {each[at] for each in handed} - {arg}
            if len(values) == 1:
                same[arg] = values.pop()
    return substitute(blocks, same)


def substitute(blocks: list[Block], same: dict[Value, Value]) -> int:
    """Substitute values; returns how many operands changed."""
    count, replaced = 0, same.keys()
    for block in blocks if same else ():
        for op in block.ops:
            if not replaced.isdisjoint(op.operands):
                found = [_last(same, v) for v in op.operands]
                count += sum(a is not b for a, b in zip(found, op.operands, strict=True))
                op.operands = found
    return count


def _last(same: dict[Value, Value], value: Value) -> Value:
    while value in same:
        value = same[value]
    return value


def _decide(blocks: list[Block]) -> int:
    """Simplify a passed value that is a select on the condition of its own edge."""
    count = 0
    for branch in (block.ops[-1] for block in blocks):
        if not isinstance(branch, llvm.CondBr):
            continue
        condition, negated = _plain(branch.condition)
        for at in range(2):
            before = given((branch, at))
            found = [_chosen(value, condition, negated == bool(at)) for value in before]
            if changed := sum(a is not b for a, b in zip(before, found, strict=True)):
                lead((branch, at), branch.successors[at], found)
                count += changed
    return count


def _plain(condition: Value) -> tuple[Value, bool]:
    """A condition without its negations, and whether they are odd."""
    op = condition.op
    if isinstance(op, llvm.Xor) and isinstance(known := op.operands[1].op, llvm.Constant) and known.value:
        plain, negated = _plain(op.operands[0])
        return plain, not negated
    return condition, False


def _chosen(value: Value, condition: Value, holds: bool) -> Value:
    """A value, given a known condition."""
    while isinstance(op := value.op, llvm.Select):
        plain, negated = _plain(op.operands[0])
        if plain is not condition:
            return value
        value = op.operands[1 if holds != negated else 2]
    return value


def key(op: Op, same: dict[Value, Value]) -> tuple[object, ...]:
    """A key that is equal for operations that compute the same; `same` maps operands to their equivalents."""
    operands = tuple(same.get(v, v) for v in op.operands)
    return type(op), operands, tuple(op.attributes.items()), op.segments, tuple(r.type for r in op.results)


def _hoist(blocks: list[Block]) -> int:
    """Hoist operations, including loads, that both successors of a branch begin with above the branch."""
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
    """Remove the operations common to two blocks; `same` maps results to their equivalents."""
    there = {key(op, same): op for op in _movable(first)}
    moved: set[Op] = set()
    for op in _movable(second):
        found = there.pop(key(op, same), None)
        if found is not None:
            same |= dict(zip(op.results, found.results, strict=True))
            moved |= {op, found}
    found = [op for op in first.ops if op in moved]
    for block in (first, second):
        block.ops = [op for op in block.ops if op not in moved]
    return found


def _sink(blocks: list[Block]) -> int:
    """Sink operations before a test in a loop into the one successor that reads them; casts before any test, so that
    its block only tests.
    """
    tests = _in_loops(blocks)
    for block in blocks[1:]:
        *casts, branch = block.ops
        if casts and isinstance(branch, llvm.CondBr) and all(isinstance(op, llvm.PtrToInt) for op in casts):
            tests.setdefault(block, False)
    if not tests:
        return 0
    into = edges_into(blocks)
    readers = _readers(blocks, {result for block in tests for op in block.ops for result in op.results})
    count = 0
    for block, leaves in tests.items():
        ends = [to for to in successors(block) if len(into[to]) == 1]
        sunk: dict[Op, Block] = {}
        for op in reversed(block.ops[:-1]):
            if isinstance(op, llvm.ICmp) and not leaves:
                continue  # ptxas 13.5 joins it with others (layer norm: 803 SASS instructions, 807)
            to = _only_reader(op, readers, ends)
            if to is not None:
                sunk[op] = op.parent = to
                for value in op.operands:
                    if value in readers:
                        readers[value].update({block: -1, to: 1})
        for op, to in sunk.items():
            to.ops.insert(0, op)
        block.ops = [op for op in block.ops if op not in sunk]
        count += len(sunk)
    return count


def _part(blocks: list[Block]) -> int:
    """Operations before the agents split that one of them alone reads, to behind where it has its registers: at launch
    there are fewer. ptxas 13.5 spills six of them otherwise (attention, sm_100a).
    """
    heads = [block for block in blocks if any(isinstance(op, nvvm.SetMaxRegister) for op in block.ops)]
    if not heads:
        return 0
    beside, behind = _reached(blocks[0], heads), {head: _reached(head) for head in heads}
    own = {h: behind[h].difference(beside, *(r for other, r in behind.items() if other is not h)) for h in heads}
    common = [block for block in blocks if block in beside]
    users: dict[Value, set[Block]] = {result: set() for block in common for op in block.ops for result in op.results}
    for block in blocks:
        for value in (v for op in block.ops for v in op.operands if v in users):
            users[value].add(block)
    count = 0
    for block in reversed(common):
        for op in reversed(block.ops[:-1]):
            read = {block for result in op.results for block in users[result]}
            to = next((head for head in heads if read and read <= own[head]), None)
            moves = op.effect is PURE and not isinstance(op, llvm.Constant)  # literals stand where all may read them
            if moves and to is not None and (place := _behind_registers(to, op)):
                block.ops.remove(op)
                to.ops.insert(place, op)
                op.parent = to
                for value in (v for v in op.operands if v in users):
                    users[value].discard(block)
                    users[value].update([to, *(block for each in block.ops if value in each.operands)])
                count += 1
    return count


def _behind_registers(block: Block, op: Op) -> int:
    """The place behind a block's setmaxnreg; 0 where an operation before it reads what `op` makes."""
    place = next(at for at, each in enumerate(block.ops) if isinstance(each, nvvm.SetMaxRegister)) + 1
    before = {value for each in block.ops[:place] for value in each.operands}
    return 0 if before.intersection(op.results) else place


def _reached(start: Block, without: Sequence[Block] = ()) -> set[Block]:
    """A block and all that it may lead to, by ways that have nothing to do with some."""
    reached, work = {start}, [start]
    while work:
        new = [block for block in successors(work.pop()) if block not in reached and block not in without]
        reached.update(new)
        work += new
    return reached


def _readers(blocks: list[Block], values: Set[Value]) -> dict[Value, Counter[Block]]:
    """How many operands of each block are one of these values."""
    found: dict[Value, Counter[Block]] = {value: Counter() for value in values}
    for block in blocks:
        for op in block.ops:
            if not values.isdisjoint(op.operands):
                for value in op.operands:
                    if value in values:
                        found[value][block] += 1
    return found


def _in_loops(blocks: list[Block]) -> dict[Block, bool]:
    """Blocks of loops that end with a test, and whether it may leave a loop."""
    loops, found = find_loops(blocks), dict[Block, bool]()
    place = {block: at for at, block in enumerate(blocks)} if loops else {}
    for at, block in enumerate(blocks if loops else ()):
        around = [loop for loop in loops if loop[0] <= at <= loop[1]]
        if around and isinstance(block.ops[-1], llvm.CondBr):
            ends = [place[to] for to in successors(block)]
            found[block] = any(not first <= end <= last for first, last in around for end in ends)
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
