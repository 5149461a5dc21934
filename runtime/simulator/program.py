"""A parsed PTX module: entries, declarations, instructions and operands, with their lines."""

from dataclasses import dataclass, field
from typing import TypeAlias

from runtime.simulator.types import PtxType


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register; index counts the registers that an entry really uses."""

    name: str
    type: PtxType
    index: int


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer, or a float (hex_bits: 32 or 64 for the 0f and 0d forms, 0 for decimal text)."""

    value: int | float
    hex_bits: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register such as %tid.x, named without the percent sign."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable or parameter plus bytes, or the name of a label."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Negated:
    """A predicate source read through `!`."""

    register: "Register"


@dataclass(frozen=True, slots=True)
class Vector:
    """A brace-enclosed list of operands."""

    items: tuple["Operand", ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A destination written `d|p`."""

    first: "Operand"
    second: "Operand"


@dataclass(frozen=True, slots=True)
class Sink:
    """The bit bucket `_`."""


@dataclass(frozen=True, slots=True)
class Address:
    """A bracketed operand: base plus bytes, and what follows a comma inside the brackets."""

    base: "Operand"
    offset: int = 0
    rest: tuple["Operand", ...] = ()


Operand: TypeAlias = Register | Immediate | Special | Symbol | Negated | Vector | Pair | Sink | Address


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate before an instruction."""

    register: Register
    negated: bool


@dataclass(slots=True)
class Instruction:
    """One instruction; opcode is the full dotted text, base its first part, modifiers the others."""

    opcode: str
    base: str
    modifiers: tuple[str, ...]
    operands: list[Operand]
    guard: Guard | None
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in a state space; size in bytes is 0 for `.extern .shared x[]`."""

    name: str
    space: str
    type: PtxType
    size: int
    align: int
    line: int
    initial: bytes | None = None
    is_extern: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """An entry parameter; size and offset in bytes inside the parameter buffer."""

    name: str
    type: PtxType
    size: int
    offset: int
    is_array: bool


@dataclass(slots=True)
class Entry:
    """A kernel; labels map to instruction indices."""

    name: str
    line: int
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    variables: list[Variable] = field(default_factory=list[Variable])
    registers: list[Register] = field(default_factory=list[Register])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])


@dataclass(slots=True)
class Module:
    """A PTX file."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    variables: list[Variable] = field(default_factory=list[Variable])
