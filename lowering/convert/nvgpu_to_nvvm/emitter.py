"""Emitting nvvm ops with value numbering: a pure op that exists in a dominating scope is reused.

A pure op of a loop body with loop-invariant operands is hoisted above the loop. Scopes mirror the structured control
flow of the source, so neither needs a dominator tree.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TypeVar

from ir.core import UNKNOWN, Block, Location, Op, Type, Value
from ir.dialects import llvm
from ir.dialects.gpu import GlobalArray
from ir.types import I1, I32, FloatType, IntType
from lowering.convert.nvgpu_to_nvvm.facts import Facts
from lowering.targets import Target

OpT = TypeVar("OpT", bound=Op)
Operands = tuple[Value, ...]


def wrap(value: int, width: int) -> int:
    """The signed number that `width` bits of `value` hold."""
    if width == 1:
        return value & 1
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


class Scope:
    """Ops known in one structured region; with `hoist` its pure ops may move to the enclosing scope."""

    __slots__ = ("block", "descriptors", "hoist", "table")

    def __init__(self, block: Block, hoist: bool):
        self.block = block
        self.hoist = hoist
        self.table: dict[tuple[object, ...], Op] = {}
        self.descriptors: dict[tuple[Value, Value | None, int], list[int]] = {}  # created here: their offsets


class Emitter:
    """Appends nvvm ops to the current block; `blocks` is the function's list in layout order."""

    def __init__(self, entry: Block, target: Target, threads: tuple[int, ...], forbid: Set[str] = frozenset()):
        """`threads` of a block, by dimension; `forbid`: atoms to exclude, by prefix of their names."""
        self.target = target
        self.forbid = forbid
        self.facts = Facts(threads)
        self.scopes = [Scope(entry, False)]
        self.blocks = [entry]
        self.level: dict[Value, int] = {}
        self.known: dict[Value, int | float] = {}
        self.remainders: dict[Value, tuple[Value, int]] = {}  # signed ones: the dividend, the divisor
        self.constants: dict[tuple[Type, int | float | str], Value] = {}
        self.constant_ops: list[Op] = []
        self.arrays: dict[str, GlobalArray] = {}  # of the module, read by functions
        self.location: Location = UNKNOWN
        self.landed: set[Op] = set()  # waits for products on the exit of a loop
        for arg in entry.args:
            self.level[arg] = 0

    @property
    def depth(self) -> int:
        """Number of structured regions around the current block."""
        return len(self.scopes) - 1

    def enter(self, block: Block, hoist: bool) -> None:
        """Continue in `block`, one scope deeper."""
        self.scopes.append(Scope(block, hoist))
        self.place(block)

    def leave(self) -> None:
        """Back to the enclosing scope."""
        self.scopes.pop()

    def place(self, block: Block) -> None:
        """Lay out `block` next and make it the current block of the current scope."""
        self.blocks.append(block)
        self.scopes[-1].block = block
        depth = self.depth
        for arg in block.args:
            self.level[arg] = depth

    def pure(self, cls: type[OpT], types: list[Type], operands: Operands, **attributes: object) -> OpT:
        """The op of this class, operands and attributes, found or made as far out as its operands allow."""
        key = (cls, types[0], operands, tuple(attributes.items())) if attributes else (cls, types[0], operands)
        scopes, level = self.scopes, self.level
        outer = 0
        for value in operands:
            found = level[value]
            if found > outer:
                outer = found
        known = self._found(key, outer)
        if known is not None:
            return known  # pyright: ignore[reportReturnType]
        depth = len(scopes) - 1
        while depth > outer and scopes[depth].hoist:
            depth -= 1
        made = cls(operands, types, attributes, (), self.location)
        scopes[depth].table[key] = made
        self._append(scopes[depth].block, made, depth)
        return made

    def value(self, cls: type[Op], type: Type, *operands: Value, **attributes: object) -> Value:
        """First result of `pure`."""
        return self.pure(cls, [type], operands, **attributes).results[0]

    def seen(self, cls: type[OpT], type: Type, *operands: Value) -> OpT | None:
        """What `pure` would find, without attributes; None where it would make an op."""
        outer = max(self.level[value] for value in operands)
        return self._found((cls, type, operands), outer)  # pyright: ignore[reportReturnType]

    def symmetric(self, cls: type[Op], x: Value, y: Value, **attributes: object) -> Value:
        """`value` of two commuting operands: an op of the other order is reused too. New ops keep their order: ptxas
        13.5 schedules by the order it reads, and a loop of attention grew by 2 % with the older operand first.
        """
        x, y = uncrossed(x, y)
        key = (cls, x.type, (y, x), tuple(attributes.items())) if attributes else (cls, x.type, (y, x))
        known = self._found(key, max(self.level[x], self.level[y]))
        return self.value(cls, x.type, x, y, **attributes) if known is None else known.results[0]

    def found(self, cls: type[Op], type: Type, *operands: Value, **attributes: object) -> Value | None:
        """First result of the op that `value` would reuse, None if it would create one."""
        key = (cls, type, operands, tuple(attributes.items())) if attributes else (cls, type, operands)
        known = self._found(key, max(self.level[v] for v in operands))
        return None if known is None else known.results[0]

    def _found(self, key: tuple[object, ...], outer: int) -> Op | None:
        """An op created in an enclosing scope, with operands defined at level `outer` at the latest."""
        scopes = self.scopes
        for scope in scopes[len(scopes) - 1 : outer - 1 if outer else None : -1]:
            known = scope.table.get(key)
            if known is not None:
                return known
        return None

    def landing(self, *operands: Value) -> int:
        """The scope where a pure op of these operands would be placed."""
        outer = max(self.level[v] for v in operands)
        depth = self.depth
        while depth > outer and self.scopes[depth].hoist:
            depth -= 1
        return depth

    def effect(
        self,
        cls: type[OpT],
        operands: list[Value],
        types: list[Type],
        segments: tuple[int, ...] | None = None,
        **attributes: object,
    ) -> OpT:
        """A new op at the current place."""
        made = cls(operands, types, attributes, (), self.location, segments)
        self._append(self.scopes[-1].block, made, len(self.scopes) - 1)
        return made

    def _append(self, block: Block, made: Op, depth: int) -> None:
        made.parent = block
        block.ops.append(made)
        for result in made.results:
            self.level[result] = depth

    def finish(self) -> None:
        """Put the constants at the head of the function."""
        self.blocks[0].ops[:0] = self.constant_ops

    def constant(self, type: Type, number: int | float) -> Value:
        """The constant of this type; integers are kept as signed numbers."""
        key: tuple[Type, int | float | str]
        if isinstance(type, IntType):
            number = wrap(int(number), type.width)
            key = (type, number)
        else:
            number = float(number)
            key = (type, number.hex())  # keeps -0.0 apart from 0.0
        value = self.constants.get(key)
        if value is None:
            made = llvm.Constant((), [type], {"value": number}, (), self.location)
            made.parent = self.blocks[0]
            self.constant_ops.append(made)
            value = made.results[0]
            self.level[value] = 0
            self.known[value] = number
            self.constants[key] = value
        return value

    def i32(self, number: int) -> Value:
        """An i32 constant."""
        return self.constant(I32, number)

    def boolean(self, number: bool) -> Value:
        """An i1 constant."""
        return self.constant(I1, int(number))

    def integer(self, value: Value) -> int | None:
        """The number of an integer constant."""
        known = self.known.get(value)
        return known if isinstance(known, int) else None


def uncrossed(x: Value, y: Value) -> tuple[Value, Value]:
    """Commuting operands c ? a : b and c ? b : a are a and b."""
    first, second = x.op, y.op
    if isinstance(first, llvm.Select) and isinstance(second, llvm.Select):
        condition, a, b = first.operands
        if second.operands[0] is condition and second.operands[1] is b and second.operands[2] is a:
            return a, b
    return x, y


def width_of(value: Value) -> int:
    """Bits of an integer or float value."""
    kind = value.type
    return kind.width if isinstance(kind, (IntType, FloatType)) else 0


def width_of_type(type: Type) -> int:
    """Bits of an integer type."""
    return type.width if isinstance(type, IntType) else 0
