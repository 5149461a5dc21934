"""Where the variables, parameters and functions of a launch lie."""

from dataclasses import dataclass, field

import numpy as np

from runtime.simulator.decode import Placed
from runtime.simulator.errors import LaunchError
from runtime.simulator.functions import code_addresses
from runtime.simulator.machine import LOCAL_BASE, PARAMETER_BASE, SHARED_BASE
from runtime.simulator.memory import GlobalMemory
from runtime.simulator.program import Entry, Module, Variable

# Frames of functions start on a boundary that suits every type.
_FRAME_ALIGNMENT = 16


@dataclass(slots=True)
class Placement:
    """Addresses of everything that has a name.

    symbols: by name; shared, local: bytes of each CTA and thread; fixed: bytes of local memory in front of the frames;
    parameters: the generic address of the first parameter; code: the address of every function.
    """

    symbols: dict[str, Placed] = field(default_factory=dict[str, Placed])
    shared: int = 0
    local: int = 0
    fixed: int = 0
    parameters: int = 0
    code: dict[str, int] = field(default_factory=dict[str, int])


def place(module: Module, kernel: Entry, memory: GlobalMemory, parameter_bytes: bytes, dynamic: int) -> Placement:
    """Give everything an address; initial values go to global memory. Raises LaunchError."""
    result = Placement(code=code_addresses(module))
    for name, address in result.code.items():
        result.symbols[name] = Placed("code", address, 0)
    for name, slot in kernel.slots.items():
        result.symbols[name] = Placed("frame", slot.offset, slot.size)
    externs: list[Variable] = []
    for variable in [*module.variables, *kernel.variables]:
        if variable.is_extern and variable.space == "shared":
            externs.append(variable)
        else:
            _place_variable(result, variable, memory)
    result.fixed = result.local
    if kernel.stack:
        result.local = -(-result.local // _FRAME_ALIGNMENT) * _FRAME_ALIGNMENT + kernel.stack
    align = max((variable.align for variable in externs), default=1)
    start = -(-result.shared // align) * align
    for variable in externs:
        result.symbols[variable.name] = Placed("shared", SHARED_BASE + start, dynamic)
    if externs or dynamic:
        result.shared = start + dynamic
    result.parameters = int(memory.put(np.frombuffer(parameter_bytes, np.uint8)))
    for parameter in kernel.parameters:
        result.symbols[parameter.name] = Placed("param", PARAMETER_BASE + parameter.offset, parameter.size)
    for variable in [*module.variables, *kernel.variables]:
        _write_addresses(result, variable, memory)
    return result


def _place_variable(result: Placement, variable: Variable, memory: GlobalMemory) -> None:
    if variable.space in ("global", "const") and not variable.is_extern:
        data = np.frombuffer(variable.initial or bytes(variable.size), np.uint8)
        result.symbols[variable.name] = Placed(variable.space, int(memory.put(data)), variable.size)
        return
    if variable.is_extern or variable.space not in ("shared", "local", "param"):
        raise LaunchError(f"variable `{variable.name}` cannot be placed", variable.line, variable.name)
    if variable.initial is not None:
        raise LaunchError("shared and local variables have no initial value", variable.line, variable.name)
    if variable.space == "shared":
        start = -(-result.shared // variable.align) * variable.align
        result.shared = start + variable.size
        result.symbols[variable.name] = Placed("shared", SHARED_BASE + start, variable.size)
        return
    start = -(-result.local // variable.align) * variable.align
    result.local = start + variable.size
    result.symbols[variable.name] = Placed("local", LOCAL_BASE + start, variable.size)


def _write_addresses(result: Placement, variable: Variable, memory: GlobalMemory) -> None:
    """Fill in the parts of an initial value that are addresses."""
    for relocation in variable.relocations:
        named = result.symbols.get(relocation.name)
        if named is None or named.space not in ("global", "const", "code"):
            raise LaunchError(
                f"the initial value of `{variable.name}` names `{relocation.name}`, which is not in global memory",
                variable.line, variable.name,
            )  # fmt: skip
        value = (named.address + relocation.addend) % (1 << 64)
        start = memory.offset(result.symbols[variable.name].address + relocation.position, relocation.size)
        memory.arena[start : start + relocation.size] = np.frombuffer(value.to_bytes(8, "little"), np.uint8)
