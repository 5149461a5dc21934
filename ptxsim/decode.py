"""Services for instruction families to turn an instruction into a closure, done once per launch.

A decoder takes a Decode and returns a Step. It must ask for every modifier it honours and then call `finish`, which
rejects the rest: no modifier is ever ignored. Steps receive a mask: None for all live lanes (a step that only writes
registers may then write dead lanes as well), otherwise the lanes to work on.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVarTuple, cast

import numpy as np

from ptxsim.access import Site
from ptxsim.callstack import CallSite, CallStack
from ptxsim.errors import OperandError, SimulatorError, UnsupportedModifierError
from ptxsim.hazards import Tracker
from ptxsim.machine import PARAMETER_BASE, Machine
from ptxsim.pointwise import Pointwise
from ptxsim.program import (
    Address,
    Element,
    Entry,
    Immediate,
    Instruction,
    Linked,
    Negated,
    Operand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from ptxsim.ptx_types import TYPES, Array, PtxType, signed, unsigned
from ptxsim.transfers import Transfers
from ptxsim.waiting import Control

Step: TypeAlias = Callable[[Array | None], None]
Sources = TypeVarTuple("Sources")


class Shareable(Protocol):
    """Work on registers whose result a later instruction of the same basic block may reuse.

    key: equal for equal work, None if it cannot be shared; registers: indices whose change makes it stale.
    """

    key: object
    registers: frozenset[int]

    def share(self, earlier: "Shareable") -> None:
        """Use the result of earlier work with an equal key."""
        ...


@dataclass(frozen=True, slots=True)
class Placed:
    """The location of a variable or parameter: its state space and its address in that space; unit: bytes of an
    element.
    """

    space: str
    address: int
    size: int
    unit: int


@dataclass(slots=True)
class Binding:
    """What the decoders of one launch share: the machine, the symbols, the parameter bytes, constant arrays.

    parameter_base: the generic address of the first parameter; entry: with the functions that it can call; code: the
    address of every function of the module; target, version: of the module; call_sites: the decoded calls by
    instruction; printed, printed_at: the output of printf, and the PTX lines of the calls.
    """

    machine: Machine
    symbols: dict[str, Placed]
    parameter_bytes: bytes
    parameter_base: int
    transfers: Transfers
    calls: CallStack
    entry: Entry
    code: dict[str, int]
    target: str
    version: tuple[int, int]
    hazards: Tracker | None = None
    call_sites: dict[int, CallSite] = field(default_factory=dict[int, CallSite])
    printed: list[str] = field(default_factory=list[str])
    printed_at: list[int] = field(default_factory=list[int])
    constants: dict[tuple[str, int], Array] = field(default_factory=dict[tuple[str, int], Array])

    @property
    def functions(self) -> dict[str, Linked]:
        """The functions that the entry can call."""
        return self.entry.functions

    def constant(self, bits_value: int, type_: PtxType) -> Array:
        """A constant in every lane, from its bits. Read-only, shared between instructions."""
        key = (type_.name, bits_value)
        found = self.constants.get(key)
        if found is None:
            if type_.kind == "pred":
                found = np.full(self.machine.lanes, bool(bits_value))
            else:
                found = np.full(self.machine.lanes, bits_value, unsigned(type_.bits)).view(type_.dtype)
            found.flags.writeable = False
            self.constants[key] = found
        return found

    def parameter_offset(self, placed: Placed) -> int:
        """The offset of a parameter in parameter_bytes."""
        return placed.address - PARAMETER_BASE

    @property
    def parameter_shift(self) -> int:
        """The offset that turns an address in the parameter state space into a generic one."""
        return self.parameter_base - PARAMETER_BASE


class Decode:
    """One instruction during decoding: typed access to its modifiers and operands."""

    def __init__(self, binding: Binding, instruction: Instruction, pc: int = 0) -> None:
        self.binding = binding
        self.pc = pc
        self.machine = binding.machine
        self.instruction = instruction
        self.operands = instruction.operands
        self._types = [TYPES[name] for name in instruction.modifiers if name in TYPES]
        self._types_used = False
        self._left = [name for name in instruction.modifiers if name not in TYPES]
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.checks: set[int] = set()
        self.site: Site | None = None
        self.members: Array | None = None
        self.control: Control | None = None
        self.shareable: list[Shareable] = []

    @property
    def is_in_function(self) -> bool:
        """Whether the instruction belongs to a device function, not to the entry."""
        return any(one.first <= self.pc < one.first + one.length for one in self.binding.functions.values())

    # ---- errors

    def error(self, kind: type[SimulatorError], message: str) -> SimulatorError:
        """An error at this instruction."""
        return kind(message, self.instruction.line, self.instruction.text)

    def unsupported(self, message: str) -> SimulatorError:
        """The error for a form that is not simulated."""
        return self.error(UnsupportedModifierError, f"{message} is not simulated")

    # ---- modifiers

    def take(self, *names: str) -> str | None:
        """Consume the first modifier that is one of these names."""
        for name in self._left:
            if name in names:
                self._left.remove(name)
                return name
        return None

    def flag(self, name: str) -> bool:
        """Consume a modifier; whether it was present."""
        return self.take(name) is not None

    def need(self, *names: str) -> str:
        """Consume one of these modifiers, which must be present."""
        found = self.take(*names)
        if found is None:
            raise self.unsupported(f"`{self.instruction.base}` without one of " + ", ".join(f".{n}" for n in names))
        return found

    def take_prefixed(self, prefix: str) -> str | None:
        """Consume the first modifier that starts with a prefix."""
        for name in self._left:
            if name.startswith(prefix):
                self._left.remove(name)
                return name
        return None

    @property
    def types(self) -> list[PtxType]:
        """The type modifiers, in order."""
        self._types_used = True
        return self._types

    def finish(self, least: int, most: int | None = None) -> None:
        """Reject unconsumed modifiers and a wrong number of operands."""
        if self._types and not self._types_used:
            raise self.unsupported(f"type .{self._types[0].name} of `{self.instruction.opcode}`")
        if self._left:
            raise self.unsupported(f"modifier .{self._left[0]} of `{self.instruction.opcode}`")
        count = len(self.operands)
        if not least <= count <= (least if most is None else most):
            wanted = str(least) if most is None else f"{least} to {most}"
            raise self.error(OperandError, f"`{self.instruction.base}` takes {wanted} operands here, not {count}")

    def type(self, count: int = 1) -> PtxType:
        """The only type modifier; with a count, the last of exactly that many."""
        if len(self.types) != count:
            raise self.unsupported(f"`{self.instruction.opcode}` with {len(self.types)} types")
        if self.types[-1].kind == "element":
            raise self.unsupported(f"`{self.instruction.base}` of .{self.types[-1].name}")
        return self.types[-1]

    # ---- operands

    def read(self, number: int, type_: PtxType) -> Array:
        """The lanes of a source operand in a type of the operand's own width."""
        return self.value(self.operands[number], type_)

    def value(self, operand: Operand, type_: PtxType) -> Array:
        """The lanes of a source operand in a type of the operand's own width."""
        if isinstance(operand, Register):
            return self._register(operand, type_)
        if isinstance(operand, Immediate):
            return self.binding.constant(self.immediate_bits(operand, type_), type_)
        if isinstance(operand, Special):
            return self._special(operand, type_)
        if isinstance(operand, Symbol):
            return self._symbol(operand, type_)
        if isinstance(operand, Negated) and type_.kind == "pred":
            return self._negated(operand)
        raise self.error(OperandError, f"this operand cannot be a source of type .{type_.name}")

    def _register(self, operand: Register, type_: PtxType) -> Array:
        if operand.type.bits != type_.bits or (operand.type.kind == "pred") != (type_.kind == "pred"):
            raise self.error(
                OperandError,
                f"register `{operand.name}` is .{operand.type.name}; expected an operand of type .{type_.name}",
            )
        self.reads.add(operand.index)
        row = self.machine.registers.rows[operand.index]
        return row if type_.dtype is None or row.dtype == type_.dtype else row.view(type_.dtype)

    def read_narrow(self, number: int, type_: PtxType) -> Array:
        """The low bits of a source register that may be wider than the type (ld, st and cvt allow that)."""
        return self.narrow(self.operands[number], type_)

    def narrow(self, operand: Operand, type_: PtxType) -> Array:
        """The low bits of a source operand that may be a register wider than the type."""
        if isinstance(operand, Register) and operand.type.kind != "pred" and type_.bits < operand.type.bits <= 64:
            self.reads.add(operand.index)
            row = self.machine.registers.rows[operand.index]
            return row.view(type_.dtype)[:: operand.type.bits // type_.bits]
        return self.value(operand, type_)

    def write(self, number: int, type_: PtxType) -> Array:
        """The lanes of a destination operand in a type of its own width."""
        return self.target(self.operands[number], type_)

    def target(self, operand: Operand, type_: PtxType) -> Array:
        """The lanes of a destination operand in a type of its own width; `_` gives lanes that are never read."""
        if isinstance(operand, Sink):
            return np.empty(self.machine.lanes, type_.dtype)
        if not isinstance(operand, Register):
            raise self.error(OperandError, "the destination must be a register")
        was_read = operand.index in self.reads
        row = self._register(operand, type_)
        if not was_read:
            self.reads.discard(operand.index)
        self.writes.add(operand.index)
        return row

    def wide_target(self, operand: Operand, type_: PtxType) -> Array:
        """The lanes of a destination register that may be wider than the type, to be assigned with extension."""
        if not isinstance(operand, Register) or operand.type.bits == type_.bits or operand.type.kind == "pred":
            return self.target(operand, type_)
        if not type_.bits < operand.type.bits <= 64 or type_.is_float:
            raise self.error(
                OperandError, f"register `{operand.name}` is .{operand.type.name}; it cannot hold .{type_.name}"
            )
        self.writes.add(operand.index)
        row = self.machine.registers.rows[operand.index]
        return row.view((signed if type_.kind == "signed" else unsigned)(operand.type.bits))

    def _negated(self, operand: Negated) -> Array:
        raise self.error(OperandError, f"`!{operand.register.name}` is not allowed here; negate it with not.pred first")

    def _symbol(self, operand: Symbol, type_: PtxType) -> Array:
        if self.placed(operand).space == "frame":
            raise self.error(OperandError, f"the address of `{operand.name}`, a variable of a function, needs mov")
        address = self.symbol_address(operand)
        if type_.bits < 32 or address >> type_.bits:
            raise self.error(OperandError, f"the address of `{operand.name}` does not fit in type .{type_.name}")
        return self.located(operand, address, type_)

    def located(self, operand: Symbol, address: int, type_: PtxType) -> Array:
        """The lanes of an address of a variable; in a cluster every CTA has shared addresses of its own."""
        ranks = self.machine.rank_base
        if ranks is None or self.placed(operand).space != "shared":
            return self.binding.constant(address % (1 << type_.bits), type_)
        return (ranks + address).astype(type_.dtype)

    def _special(self, operand: Special, type_: PtxType) -> Array:
        if self.instruction.base not in ("mov", "cvt"):  # ptxas 13.5: "Special register argument not allowed"
            raise self.error(OperandError, f"%{operand.name} can be read by mov only")
        values = self.machine.special.get(operand.name)
        if values is None:
            raise self.unsupported(f"special register %{operand.name}")
        if values.dtype.itemsize * 8 == type_.bits:
            return values.view(type_.dtype)
        if values.dtype.itemsize * 8 > type_.bits:
            return values.view(type_.dtype)[:: values.dtype.itemsize // type_.bytes]
        raise self.error(OperandError, f"%{operand.name} has 32 bits; read it with a 32-bit type")

    def immediate_bits(self, operand: Immediate, type_: PtxType) -> int:
        """The bits of a constant in a type."""
        value = operand.value
        if isinstance(value, int):
            if type_.is_float and type_.kind != "packed":
                raise self.error(OperandError, f"integer constant {value} for type .{type_.name}; write it as 0f or 0d")
            if type_.kind == "pred":
                return int(value != 0)
            return value % (1 << type_.bits)
        width = operand.hex_bits or (64 if type_.name == "f64" else 32)
        if width != type_.bits and not (type_.name == "f64" and width == 32):
            raise self.error(OperandError, f"a {width}-bit float constant for type .{type_.name}")
        if type_.bits == 64:
            return int(np.float64(value).view(np.uint64))
        return int(np.float32(value).view(np.uint32))

    def symbol_address(self, operand: Symbol) -> int:
        """The address of a variable in its own state space."""
        return self.placed(operand).address + operand.offset

    def element(self, operand: Element) -> tuple[Symbol, Callable[[], Array] | None]:
        """An array element as a byte offset from its variable, plus the offset from a register, in int64 lanes."""
        unit = self.placed(operand).unit
        if not isinstance(operand.index, Register):
            return Symbol(operand.name, operand.index * unit), None
        type_ = TYPES[f"s{operand.index.type.bits}"]
        index = self.value(operand.index, type_)
        return Symbol(operand.name), lambda: index.astype(np.int64) * unit

    def placed(self, operand: Symbol | Element) -> Placed:
        """The location of a variable. Raises OperandError for unknown names."""
        found = self.binding.symbols.get(operand.name)
        if found is None:
            raise self.error(OperandError, f"`{operand.name}` is neither a register nor a variable")
        return found

    def constant_int(self, number: int) -> int:
        """The value of an operand that must be an integer constant."""
        operand = self.operands[number]
        if not isinstance(operand, Immediate) or not isinstance(operand.value, int):
            raise self.error(OperandError, f"operand {number + 1} must be an integer constant")
        return operand.value

    def vector(self, number: int, lengths: tuple[int, ...]) -> tuple[Operand, ...]:
        """The items of a brace-enclosed operand; a single operand counts as a list of one."""
        operand = self.operands[number]
        items = operand.items if isinstance(operand, Vector) else (operand,)
        if len(items) not in lengths:
            wanted = " or ".join(str(length) for length in lengths)
            raise self.error(OperandError, f"operand {number + 1} must list {wanted} registers, not {len(items)}")
        return items

    def address(self, number: int) -> Address:
        """An operand that must be in brackets, or an array element."""
        operand = self.operands[number]
        if isinstance(operand, Element):
            symbol, shift = self.element(operand)
            if shift is None:
                return Address(Symbol(symbol.name), symbol.offset)
            raise self.error(OperandError, "an element indexed by a register needs mov first")
        if not isinstance(operand, Address):
            raise self.error(OperandError, f"operand {number + 1} must be an address in brackets")
        return operand


def into(destination: Array, compute: Callable[[*Sources, Array], object], *sources: *Sources) -> Pointwise:
    """A step that calls compute(*sources, destination), which must read its sources before it writes.

    compute works lane by lane on arrays of any shape and uses nothing else that has lanes.
    """
    return Pointwise(destination, compute, cast("tuple[Array, ...]", sources), writes=True)


def assign(destination: Array, compute: Callable[[*Sources], Array], *sources: *Sources) -> Step:
    """A step that stores what compute(*sources) returns, cast to the destination's type.

    With sources, compute works lane by lane on one-dimensional arrays and uses nothing else that has lanes; without
    sources it returns a value for each lane of the machine.
    """
    if sources:
        return Pointwise(destination, compute, cast("tuple[Array, ...]", sources), writes=False)

    def step(mask: Array | None) -> None:
        result = cast("Callable[[], Array]", compute)()
        if mask is None:
            np.copyto(destination, result, casting="unsafe")
        else:
            np.putmask(destination, mask, result.astype(destination.dtype, copy=False))

    return step
