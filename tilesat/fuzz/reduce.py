"""A smaller program that is wrong in the same way, by delta debugging on operations (Zeller and Hildebrandt, TSE 2002).

An operation goes when each of its results can be replaced: by an operand of the same type, by zeros, by a new token. A
branch may become one of its sides, a loop one trip. What nothing uses goes with it; every candidate must verify.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ir.core import Block, Op, Region, TileError, Value, verify
from ir.dialects import cuda_tile as ct
from ir.load import load
from ir.text import print_text
from ir.types import FloatType, IntType, TileType, TokenType
from tilesat.fuzz.program import Made, made

TRIALS = 250
"""Candidates that are judged; each takes a compilation."""
WRITES = (ct.StoreView, ct.StorePtr, ct.AtomicRMW, ct.AtomicCAS)
ENDS = (ct.Yield, ct.Continue, ct.Break, ct.Return)
Fails = Callable[[Made], bool]
Change = Callable[[Op], bool]
"""Changes an operation where it lies; False where it cannot."""


def reduced(program: Made, fails: Fails, trials: int = TRIALS) -> Made:
    """The smallest program found that still fails; the same one where it does not fail to begin with."""
    search = _Search(fails, trials)
    best = replace(program, source=_text(program), expected=None)
    if not search.fails(best):
        return program
    before = -1
    while before != size(best) and search.left > 0:
        before = size(best)
        for change in (_silenced, _first_side, _second_side, _erased):
            best = search.chunks(best, change)
    return search.parameters(best)


def size(program: Made) -> int:
    """Operations of a program."""
    return sum(1 for _ in load(str(program.source())).entries[0].walk())


class _Search:
    """Judges candidates, as many as it may."""

    def __init__(self, fails: Fails, trials: int):
        self.judged = fails
        self.left = trials
        self.tried: set[str] = set()

    def fails(self, candidate: Made) -> bool:
        """Is a candidate wrong in the same way? One that does not verify is not, nor one that was tried."""
        text = str(candidate.source())
        if text in self.tried:
            return False
        self.tried.add(text)
        try:
            verify(load(text))
        except TileError:
            return False
        self.left -= 1
        return self.judged(candidate)

    def chunks(self, best: Made, change: Change) -> Made:
        """Change as many operations as can be, halves of them first, then smaller parts, the last ones first."""
        part = size(best)
        while part >= 1 and self.left > 0:
            end = size(best)
            while end > 0 and self.left > 0:
                candidate = _changed(best, range(max(0, end - part), end), change)
                if candidate is not None and size(candidate) < size(best) and self.fails(candidate):
                    best = candidate
                    end = min(end, size(best))
                else:
                    end -= part
            part //= 2
        return best

    def parameters(self, best: Made) -> Made:
        """Leave out the parameters that nothing uses."""
        for number in reversed(range(len(best.data))):
            module = load(str(best.source()))
            body = module.entries[0].regions[0].block
            if self.left <= 0 or any(body.args[number] in op.operands for op in module.entries[0].walk()):
                continue
            del body.args[number]
            for index, each in enumerate(body.args):
                each.index = index
            data = (*best.data[:number], *best.data[number + 1 :])
            candidate = _made(replace(best, data=data), print_text(module))
            best = candidate if self.fails(candidate) else best
        return best


def _text(program: Made) -> Callable[[], str]:
    text = str(program.source())
    return lambda: text


def _made(program: Made, text: str) -> Made:
    data = program.data
    return replace(program, source=lambda: text, arguments=lambda: [made(each) for each in data])


def _changed(program: Made, chosen: Sequence[int], change: Change) -> Made | None:
    """The program with some operations changed, by their numbers; None where none of them can be."""
    module = load(str(program.source()))
    ops = list(module.entries[0].walk())
    count = sum(change(ops[number]) for number in reversed(chosen) if number < len(ops))
    if not count:
        return None
    for each in module.entries:
        _clean(each)
    return _made(program, print_text(module))


def _silenced(op: Op) -> bool:
    """Take out an operation that writes."""
    return isinstance(op, WRITES) and _erased(op)


def _erased(op: Op) -> bool:
    """Take an operation out; its results become other values."""
    block = op.parent
    if block is None or isinstance(op, (ct.Entry, ct.Constant, *ENDS)):
        return False
    if isinstance(op.parent.parent_op if op.parent else None, ct.Reduce | ct.Scan):
        return False
    found = [_other(op, result) for result in op.results]
    if op not in block.ops or any(each is None for each in found):
        return False
    place = block.ops.index(op)
    for result, other in zip(op.results, found, strict=True):
        assert other is not None
        if isinstance(other, Op):
            other.parent = block
            block.ops.insert(place, other)
            other = other.results[0]
        _replace(_root(op), result, other)
    block.ops.remove(op)
    return True


def _other(op: Op, result: Value) -> Value | Op | None:
    """What may stand for a result: an operand of its type, zeros, the first token; None where there is nothing."""
    same = [each for each in op.operands if each.type == result.type]
    if same:
        return same[0]
    kind = result.type
    if isinstance(kind, TokenType):
        return ct.MakeToken((), [kind])
    if isinstance(kind, TileType) and isinstance(kind.element, IntType | FloatType):
        return ct.Constant((), [kind], {"value": ct.DenseElements(np.zeros((), ct.dtype_of(kind.element)))})
    return None


def _first_side(op: Op) -> bool:
    """A branch becomes its first side, a loop one trip."""
    return isinstance(op, ct.If | ct.For) and _flattened(op, op.regions[0])


def _second_side(op: Op) -> bool:
    """A branch becomes its second side."""
    return isinstance(op, ct.If) and _flattened(op, op.regions[1])


def _flattened(op: Op, region: Region) -> bool:
    block = op.parent
    if block is None or op not in block.ops or not region.blocks:
        return False
    if not isinstance(region.block.terminator, ct.Yield | ct.Continue):
        return False
    _spliced(op, block, region.block)
    return True


def _spliced(op: Op, block: Block, body: Block) -> None:
    """Put the operations of a body in place of the operation that it belongs to."""
    last = body.ops.pop()
    root, place = _root(op), block.ops.index(op)
    begin = [op.operands[0], *op.operands[3:]] if isinstance(op, ct.For) else []
    block.ops[place : place + 1] = body.ops
    for each in body.ops:
        each.parent = block
    handed = list(last.operands)
    for argument, value in zip(body.args, begin, strict=True):
        _replace(root, argument, value)
        handed = [value if each is argument else each for each in handed]
    for result, value in zip(op.results, handed, strict=True):
        _replace(root, result, value)


def _root(op: Op) -> Op:
    """The entry that holds an operation."""
    while op.parent is not None and op.parent.parent_op is not None and not isinstance(op, ct.Entry):
        op = op.parent.parent_op
    return op


def _replace(root: Op, old: Value, new: Value) -> None:
    for each in root.walk():
        each.operands = [new if operand is old else operand for operand in each.operands]


def _clean(entry: Op) -> None:
    """Take out what has no effect and no use."""
    while True:
        used = {id(operand) for op in entry.walk() for operand in op.operands}
        dead = [op for op in _inside(entry) if _pure(op) and not any(id(each) in used for each in op.results)]
        if not dead:
            return
        for op in dead:
            assert op.parent is not None
            op.parent.ops.remove(op)


def _inside(entry: Op) -> Iterator[Op]:
    return (op for op in entry.walk() if op.parent is not None and op is not entry)


def _pure(op: Op) -> bool:
    """May an operation go where nothing uses it? Loads, too: of weak ones nobody knows."""
    return bool(op.results) and not isinstance(op, (ct.Entry, ct.If, ct.For, ct.Loop, *ENDS, *WRITES))
