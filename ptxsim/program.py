"""A parsed PTX module: entries, declarations, instructions and operands, with their lines."""

from dataclasses import dataclass, field
from typing import TypeAlias

from ptxsim.ptx_types import PtxType


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register; index counts the registers that an entry actually uses."""

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
class Element:
    """The address of element `index` of an array variable, counted in its scalar type."""

    name: str
    index: "int | Register"


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


Operand: TypeAlias = Register | Immediate | Special | Symbol | Element | Negated | Vector | Pair | Sink | Address


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
class Relocation:
    """Part of an initial value that is an address: bytes into the value, what it names, plus bytes."""

    position: int
    size: int
    name: str
    addend: int


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
    relocations: tuple["Relocation", ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """An entry parameter; size and offset in bytes inside the parameter buffer."""

    name: str
    type: PtxType
    size: int
    offset: int
    is_array: bool


@dataclass(frozen=True, slots=True)
class Formal:
    """An argument or result of a function: a parameter variable, or a register if the function declares one."""

    name: str
    size: int
    align: int
    register: Register | None = None


@dataclass(slots=True)
class Function:
    """A device function; body is None if the module only declares it."""

    name: str
    line: int
    results: list[Formal] = field(default_factory=list[Formal])
    arguments: list[Formal] = field(default_factory=list[Formal])
    body: "Entry | None" = None


@dataclass(frozen=True, slots=True)
class Linked:
    """A function contained in an entry that calls it.

    first, length: its first instruction and its number of instructions; frame: bytes of its variables in local memory,
    aligned to 16; results and arguments: as declared, under the names of the entry's slots or registers; registers:
    indices of its registers; is_recursive: whether it can be called again before it returns.
    """

    name: str
    first: int
    length: int
    frame: int
    results: tuple[Formal, ...]
    arguments: tuple[Formal, ...]
    registers: range
    is_recursive: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable of a function: bytes from the start of its frame; unit: bytes of an element."""

    offset: int
    size: int
    unit: int


@dataclass(slots=True)
class Entry:
    """A kernel; labels map to instruction indices.

    first: its first instruction; the functions it calls precede it, and are in `functions` by name. slots: their
    variables; stack: bytes of local memory for their frames.
    """

    name: str
    line: int
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    variables: list[Variable] = field(default_factory=list[Variable])
    registers: list[Register] = field(default_factory=list[Register])
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    first: int = 0
    functions: dict[str, Linked] = field(default_factory=dict[str, Linked])
    slots: dict[str, Slot] = field(default_factory=dict[str, Slot])
    stack: int = 0


@dataclass(slots=True)
class ParsedModule:
    """A PTX file; linked: the requested entries with the functions that they call."""

    version: tuple[int, int] = (0, 0)
    target: str = ""
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    variables: list[Variable] = field(default_factory=list[Variable])
    linked: dict[str, Entry] = field(default_factory=dict[str, Entry])
