"""The addresses of the variables, parameters and functions of a module and of a launch."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ptxsim.decode import Placed
from ptxsim.errors import LaunchError
from ptxsim.functions import code_addresses
from ptxsim.machine import LOCAL_BASE, PARAMETER_BASE, SHARED_BASE
from ptxsim.memory import GlobalMemory
from ptxsim.program import Address, Element, Entry, Operand, Pair, ParsedModule, Symbol, Variable, Vector

# Frames of functions start on a boundary that suits every type.
_FRAME_ALIGNMENT = 16


@dataclass(slots=True)
class Statics:
    """The data that lives as long as a module: its variables in global memory and the addresses of its functions.

    placed: by name, those of a body as `body::name`; code: the address of every function.
    """

    placed: dict[str, Placed] = field(default_factory=dict[str, Placed])
    code: dict[str, int] = field(default_factory=dict[str, int])

    def free(self, memory: GlobalMemory) -> None:
        """Free the memory of the variables; later allocations may reuse their addresses."""
        for placed in reversed(self.placed.values()):
            memory.drop(placed.address)
        self.placed.clear()


def place_statics(module: ParsedModule, memory: GlobalMemory) -> Statics:
    """Put the variables of a module in global memory with their initial values. Raises LaunchError."""
    result = Statics(code=code_addresses(module))
    named = [(variable.name, variable) for variable in module.variables]
    bodies = [function.body for function in module.functions.values() if function.body is not None]
    for body in (*module.entries.values(), *bodies):
        named += [(f"{body.name}::{variable.name}", variable) for variable in body.variables]
    try:
        for name, variable in named:
            if variable.space not in ("global", "const"):
                continue
            if variable.is_extern:
                raise LaunchError(
                    f"variable `{variable.name}` is defined in another module", variable.line, variable.name
                )
            data = np.frombuffer(variable.initial or bytes(variable.size), np.uint8)
            result.placed[name] = Placed(variable.space, int(memory.put(data)), variable.size, variable.type.bytes)
        for name, variable in named:
            _write_addresses(result, name, variable, memory)
    except LaunchError:
        result.free(memory)
        raise
    return result


def _write_addresses(statics: Statics, name: str, variable: Variable, memory: GlobalMemory) -> None:
    """Fill in the parts of an initial value that are addresses."""
    for relocation in variable.relocations:
        own = name.removesuffix(variable.name) + relocation.name
        placed = statics.placed.get(own, statics.placed.get(relocation.name))
        address = statics.code.get(relocation.name) if placed is None else placed.address
        if address is None:
            raise LaunchError(
                f"the initial value of `{variable.name}` names `{relocation.name}`, which is not in global memory",
                variable.line,
                variable.name,
            )
        value = (address + relocation.addend) % (1 << 64)
        start = statics.placed[name].address + relocation.position
        memory.set(start, np.frombuffer(value.to_bytes(8, "little"), np.uint8)[: relocation.size])


@dataclass(slots=True)
class Placement:
    """Addresses of everything that a launch names.

    symbols: by name; shared, local: bytes of each CTA and thread; fixed: bytes of local memory in front of the frames.
    """

    symbols: dict[str, Placed] = field(default_factory=dict[str, Placed])
    shared: int = 0
    local: int = 0
    fixed: int = 0


def place(module: ParsedModule, statics: Statics, kernel: Entry, dynamic: int) -> Placement:
    """Assign an address to everything that an entry names. Raises LaunchError."""
    result = Placement(dict(statics.placed))
    for name, address in statics.code.items():
        result.symbols[name] = Placed("code", address, 0, 1)
    for name, slot in kernel.slots.items():
        result.symbols[name] = Placed("frame", slot.offset, slot.size, slot.unit)
    externs: list[Variable] = []
    for variable in [*_used(module.variables, kernel), *kernel.variables]:
        if variable.is_extern and variable.space == "shared":
            externs.append(variable)
        elif variable.space not in ("global", "const"):
            _place_variable(result, variable)
        elif (own := statics.placed.get(f"{kernel.name}::{variable.name}")) is not None:
            result.symbols[variable.name] = own
    result.fixed = result.local
    if kernel.stack:
        result.local = -(-result.local // _FRAME_ALIGNMENT) * _FRAME_ALIGNMENT + kernel.stack
    align = max((variable.align for variable in externs), default=1)
    start = -(-result.shared // align) * align
    for variable in externs:
        result.symbols[variable.name] = Placed("shared", SHARED_BASE + start, dynamic, variable.type.bytes)
    if externs or dynamic:
        result.shared = start + dynamic
    for parameter in kernel.parameters:
        result.symbols[parameter.name] = Placed(
            "param", PARAMETER_BASE + parameter.offset, parameter.size, parameter.type.bytes
        )
    return result


def _used(variables: list[Variable], kernel: Entry) -> list[Variable]:
    """Variables at module scope, without those of a CTA or thread that the entry and its functions do not name."""
    if all(variable.space in ("global", "const") or variable.is_extern for variable in variables):
        return variables
    names = {name for instruction in kernel.instructions for name in _names(instruction.operands)}
    return [
        variable
        for variable in variables
        if variable.space in ("global", "const") or variable.is_extern or variable.name in names
    ]


def _names(operands: list[Operand] | tuple[Operand, ...]) -> Iterator[str]:
    for operand in operands:
        if isinstance(operand, Symbol | Element):
            yield operand.name
        elif isinstance(operand, Vector):
            yield from _names(operand.items)
        elif isinstance(operand, Pair):
            yield from _names((operand.first, operand.second))
        elif isinstance(operand, Address):
            yield from _names((operand.base, *operand.rest))


def _place_variable(result: Placement, variable: Variable) -> None:
    if variable.is_extern or variable.space not in ("shared", "local", "param"):
        raise LaunchError(f"variable `{variable.name}` cannot be placed", variable.line, variable.name)
    if variable.initial is not None:
        raise LaunchError("shared and local variables have no initial value", variable.line, variable.name)
    if variable.space == "shared":
        start = -(-result.shared // variable.align) * variable.align
        result.shared = start + variable.size
        result.symbols[variable.name] = Placed("shared", SHARED_BASE + start, variable.size, variable.type.bytes)
        return
    start = -(-result.local // variable.align) * variable.align
    result.local = start + variable.size
    result.symbols[variable.name] = Placed("local", LOCAL_BASE + start, variable.size, variable.type.bytes)
