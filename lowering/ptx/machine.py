"""PTX instructions before registers have names: text with holes, the values defined and used, blocks and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ir.bits import bit_pattern
from ir.core import Block, Op, Type, Value
from ir.instruction import register_bits
from ir.records import dataclass
from ir.types import F32, F64, I1, TF32, FloatType, IntType

PREFIX = {1: "%p", 16: "%rs", 32: "%r", 64: "%rd"}
FLOAT_PREFIX = {16: "%h", 32: "%f", 64: "%fd"}
DECLARED = {"%p": "pred", "%rs": "b16", "%h": "b16", "%r": "b32", "%f": "b32", "%rd": "b64", "%fd": "b64"}
"""Register name -> type. Bit types fit every instruction of their size, so that a bitcast needs no move."""


Copy = tuple[Value, "Value | str"]
"""The move of an edge or a tie: a block argument or result, and its register or immediate."""


class MachineInstruction:
    """`text` with one %s for each of `args`; `defs` are written, `uses` read; `origin` is the op it stands for.

    `ties`: (def, use or immediate) that must share a register, because the instruction updates it in place; if they
    cannot, copies are made before it, followed by the text `after_copies`.
    """

    __slots__ = ("after_copies", "args", "defs", "origin", "text", "ties", "uses")

    def __init__(
        self,
        text: str,
        defs: list[Value],
        uses: list[Value],
        args: list[Value] | None = None,
        origin: Op | None = None,
        ties: Sequence[Copy] = (),
        after_copies: str = "",
    ):
        self.text = text
        self.origin = origin
        self.defs = defs
        self.uses = uses
        self.args = [*defs, *uses] if args is None else args
        self.ties = ties
        self.after_copies = after_copies

    def read(self, value: Value, other: Value) -> None:
        """Replace one used value by another."""
        self.uses = [other if each is value else each for each in self.uses]
        self.args = [other if each is value else each for each in self.args]
        self.ties = [(result, other if each is value else each) for result, each in self.ties]


@dataclass(slots=True)
class Edge:
    """A control-flow edge between blocks, with the values it passes."""

    to: Block
    copies: list[Copy] = field(default_factory=list[Copy])


@dataclass(slots=True)
class MachineBlock:
    """Instructions in order, then the branch: no edge is a return, two are chosen by `condition` (or its negation)."""

    source: Block
    code: list[MachineInstruction] = field(default_factory=list[MachineInstruction])
    edges: list[Edge] = field(default_factory=list[Edge])
    condition: Value | None = None
    negated: bool = False


def prefix_of(type: Type) -> str:
    """Register name prefix of a value's type."""
    bits = register_bits(type)
    return FLOAT_PREFIX[bits] if isinstance(type, FloatType) else PREFIX[bits]


def move_type(kind: Type) -> str:
    """The type of a mov between registers."""
    size = register_bits(kind)
    return "pred" if size == 1 else f"b{size}"


def immediate(type: Type, number: int | float) -> str:
    """A constant as PTX spells it in an operand or a mov."""
    if isinstance(type, IntType):
        return str(int(number))
    bits = bit_pattern(type, number)
    if type in (F32, TF32):
        return f"0f{bits:08X}"
    return f"0d{bits:016X}" if type == F64 else f"0x{bits:0{register_bits(type) // 4}X}"


def takes_immediate(type: Type) -> bool:
    """Whether instructions accept constants of this type; 16-bit floats and pairs need a register (ptxas)."""
    return (isinstance(type, IntType) and type != I1) or type in (F32, TF32, F64)
