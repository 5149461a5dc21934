"""The users of each value of a function, and the bits they read; state of the rules and the rewrites so far."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ir.core import PURE, Block, Op, Type, Value
from ir.dialects import llvm, nvvm
from ir.types import I1, IntType
from lowering.convert.nvgpu_to_nvvm.demands import MODULAR, demanded, number, ones
from lowering.convert.nvgpu_to_nvvm.emitter import wrap
from lowering.convert.nvgpu_to_nvvm.facts import Facts

Pair = tuple[Block | None, frozenset[Value]]
"""Two terms in a block."""
Shared = tuple[type[Op], Block | None, frozenset[Value]]
"""The operation that combines terms in a block."""


class Uses:
    """One walk over a function: the users of each value, and the bits they read."""

    def __init__(self, func: llvm.Func):
        self.blocks = func.body.blocks
        self.facts = Facts(func.block)
        ops = [op for block in self.blocks for op in block.ops]
        self.bits = demanded(ops)
        self.users: dict[Value, list[Op]] = {}
        self.constants: dict[tuple[Type, int], Value] = {}
        self.addresses: dict[tuple[Value, Value, int, int], Value] = {}  # the same, with an index
        self.shifted: dict[tuple[Block | None, Value, int], Value] = {}  # sums with a constant, of a block
        self.products: dict[tuple[Value, int], Value] = {}  # already walked past
        self.parts: dict[Value, nvvm.Unpack] = {}  # the halves of an i64
        self.both: dict[frozenset[Value], Value] = {}  # conjunctions already walked past
        dead = self._read(ops)
        if dead:
            for block in self.blocks:  # a dead op would still refer to a load that is emitted differently
                block.ops = [op for op in block.ops if op not in dead]
        self.ranks = ranks(ops)
        self.pairs = Counter[Pair]()  # how many sums of three would rather add two older terms first
        self.together: dict[Op, list[list[Value]]] = {}  # by the last operation of a chain: terms that share several
        self.joined: dict[Shared, Value] = {}  # what chains share
        self.sums: dict[Pair, Value] = {}
        self.same: dict[Value, Value] = {}
        self.loose: set[Value] = set()  # values whose unread bits have changed

    def _read(self, ops: list[Op]) -> set[Op]:
        """Record the users of each value, and the constants; returns the dead values."""
        users, dead = self.users, set[Op]()
        for op in reversed(ops):  # uses follow definitions: dead ops are found before their operands are visited
            if op.effect is PURE:
                for result in op.results:
                    if result in users:
                        break
                else:
                    dead.add(op)
                    continue
            for value in op.operands:
                known = users.get(value)
                if known is None:
                    users[value] = [op]
                else:
                    known.append(op)
            if type(op) is llvm.Constant and (bits := number(op.results[0])) is not None:
                self.constants[op.results[0].type, bits] = op.results[0]
        return dead

    def append(self, op: Op, block: Block) -> Value:
        """Append an op with a result to the ops already walked; returns the result."""
        self.keep(op, block)
        return op.results[0]

    def keep(self, op: Op, block: Block) -> None:
        """Append an op to the ops already walked."""
        op.parent = block
        block.ops.append(op)
        if isinstance(op, llvm.Mul):
            if (factor := number(op.operands[1])) is not None:
                self.products[op.operands[0], factor] = op.results[0]
        elif isinstance(op, llvm.And):
            if op.results[0].type == I1:
                self.both[frozenset(op.operands)] = op.results[0]
        elif isinstance(op, llvm.GetElementPtr) and op.index is not None:
            self.addresses[op.base, op.index, op.element_bytes, op.offset] = op.results[0]

    def constant(self, kind: Type, bits: int) -> Value:
        """A constant, at the head of the function."""
        bits &= (1 << kind.width) - 1 if isinstance(kind, IntType) else -1
        found = self.constants.get((kind, bits))
        if found is None:
            made = llvm.Constant((), [kind], {"value": wrap(bits, kind.width) if isinstance(kind, IntType) else bits})
            made.parent = self.blocks[0]
            self.blocks[0].ops.insert(0, made)
            found = self.constants[kind, bits] = made.results[0]
        return found

    def computed(self, cls: type[Op], op: Op, *operands: Value, type: Type | None = None, **attributes: Any) -> Value:
        """The result of a new op on operands, of the first one's type by default, in place of `op`."""
        assert op.parent is not None
        made = cls(operands, [type or operands[0].type], attributes, (), op.location)
        for value in operands:
            self.users.setdefault(value, []).append(made)
        return self.append(made, op.parent)

    def only(self, value: Value, op: Op, *kinds: type[Op]) -> Op | None:
        """The op of a kind that defines a value in the block of `op`, its only user."""
        made = value.op
        fits = isinstance(made, kinds) and made.parent is op.parent and len(self.users[value]) == 1
        return made if fits else None

    def replace(self, op: Op, value: Value) -> None:
        """Let the users of an op's result read another value."""
        self.same[op.results[0]] = value
        for operand in op.operands:
            self.users[operand].remove(op)
        self.users.setdefault(value, []).extend(self.users.get(op.results[0], ()))

    def renew(self, op: Op) -> None:
        """Update its operands; an op with changed unread bits loses its flags."""
        same, loose = self.same, self.loose
        changed = False
        for at, value in enumerate(op.operands):
            if value in same:
                op.operands[at], changed = same[value], True
            changed = changed or value in loose
        if changed and len(op.results) == 1 and self.bits.get(op.results[0]) != ones(op.results[0]):
            self.loose.add(op.results[0])
            if isinstance(op, MODULAR):
                op.attributes.pop("nsw", None)


def ranks(ops: list[Op]) -> dict[Value, int]:
    """The effect after which each value is known: a load, which cannot move up; -1 for none."""
    found: dict[Value, int] = {}
    for at, op in enumerate(ops):
        rank = at
        if op.effect is PURE:
            rank = -1
            for value in op.operands:
                known = found.get(value, -1)
                if known > rank:
                    rank = known
        for value in op.results:
            found[value] = rank
    return found
