"""Inline PTX: one operation's instructions from selection, with LLVM's operands as placeholders.

Selection sees a single operation: it folds only constants, address displacements and negated predicates of others.
"""

from __future__ import annotations

from ir.core import PURE, Op, Value
from ir.dialects import llvm
from ir.instruction import Instruction
from ir.records import dataclass
from ir.types import GLOBAL_PTR
from lowering.llvm.values import constraint
from lowering.ptx.machine import DECLARED, MachineInstruction, prefix_of
from lowering.ptx.select import Selector, lowers

LABEL = "again"
"""The label of a loop inside one operation; braces make it the operation's own."""


@dataclass(frozen=True)
class Assembly:
    """An `llvm.inline_asm`: its text, its constraints, the results that it writes and the operands that it reads; those
    that are `places` LLVM writes as [register+displacement].
    """

    text: str
    constraints: str
    results: tuple[Value, ...]
    operands: tuple[Value, ...]
    effects: bool
    places: tuple[bool, ...]

    def elements(self) -> list[str]:
        """Attributes of the operands: LLVM asks what lies at a place. Without a result upstream's translation takes the
        first for the result's (LLVM 23, LLVMToLLVMIRTranslation.cpp: the index of the operand, which counts from 1).
        """
        return [*([] if self.results else ["{}"]), *("{elementtype = i8}" if place else "{}" for place in self.places)]


class Inline(Selector):
    """Selection of one operation at a time."""

    def __init__(self, func: llvm.Func):
        super().__init__(func)
        self.places: set[Value] = set()
        self.needed = {value for block in self.blocks for op in block.ops for value in op.operands}

    def root(self, value: Value) -> Value:
        """Each value has its own register: LLVM's types are distinct."""
        return value

    def foldable(self, value: Value, into: Op, *kinds: type[Op]) -> Op | None:
        """Nothing: results of other operations are operands."""
        return None

    def address(self, pointer: Value, uses: list[Value]) -> str:
        """[base+displacement]; inline PTX may not name symbols, so that the base is a register. In global memory what
        LLVM makes of the pointer.
        """
        if pointer.type == GLOBAL_PTR:
            self.places.add(pointer)
            return self.register(pointer, uses)
        offset, op = 0, pointer.owner
        while type(op) is llvm.GetElementPtr and op.index is None:
            offset += op.offset
            pointer = op.operands[0]
            op = pointer.owner
        return f"[{self.register(pointer, uses)}+{offset}]" if offset else f"[{self.register(pointer, uses)}]"

    def label(self) -> str:
        """The same for all: braces hide it."""
        return LABEL

    def assembly(self, op: Op) -> Assembly:
        """The inline PTX of an operation."""
        self.code, self.places = [], set()
        lowers.of(op)(self, op)
        return _assembly(op, self.code[::-1], self.places)


def _assembly(op: Op, code: list[MachineInstruction], places: set[Value]) -> Assembly:
    tied = _tied(op)
    written = [value for each in code for value in each.defs]
    results = [value for value in op.results if value in tied or value in written]
    names = {value: f"${at}" for at, value in enumerate(results)}
    own = [value for value in dict.fromkeys(written) if value not in names]
    names |= {value: f"{prefix_of(value.type).strip('%')}_{at}" for at, value in enumerate(own)}
    read = [value for each in code for value in each.args if value not in names]
    operands = [*(tied[value] for value in results if value in tied)]
    alone = list(dict.fromkeys(read))
    names |= {value: f"${len(results) + len(operands) + at}" for at, value in enumerate(alone)}
    lines = [each.text.replace("$", "$$") % tuple(names[value] for value in each.args) for each in code]
    if own or any(line.startswith(LABEL) for line in lines):
        declared = [f".reg .{DECLARED[prefix_of(value.type)]} {names[value]};" for value in own]
        lines = ["{", *declared, *lines, "}"]
    early = "&" if len(code) > 1 else ""
    constraints = [
        *(f"={early}{constraint(value.type)}" for value in results),
        *(str(at) for at, value in enumerate(results) if value in tied),
        *("*m" if value in places else constraint(value.type) for value in alone),
        *(("~{memory}",) if op.effect is not PURE else ()),
    ]
    return Assembly(
        " ".join(lines),
        ",".join(constraints),
        tuple(results),
        (*operands, *alone),
        op.effect is not PURE,
        tuple(value in places for value in (*operands, *alone)),
    )


def _tied(op: Op) -> dict[Value, Value]:
    """Results and the operands whose registers they are."""
    if not isinstance(op, Instruction):
        return {}
    if op.held:
        held: list[Value] = getattr(op, op.held)
        return dict(zip(op.results, held, strict=True))
    if op.tied is None:
        return {}
    return dict(zip(getattr(op, op.tied[0]), getattr(op, op.tied[1]), strict=False))
