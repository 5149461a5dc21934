"""An entry together with the device functions that it can call, as one list of instructions.

Functions come before the entry, callees before their callers, because the scheduler runs the lanes with the smallest
instruction number first: lanes that call return before the others of their warp run ahead. A function's variables are
in a frame in local memory; its registers are rows of the register file, which recursive calls save.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ptxsim.errors import OperandError
from ptxsim.program import (
    Address,
    Element,
    Entry,
    Formal,
    Function,
    Guard,
    Instruction,
    Linked,
    Negated,
    Operand,
    Pair,
    ParsedModule,
    Register,
    Slot,
    Symbol,
    Vector,
)

# Functions that the simulator implements itself: bytes of their arguments and of their result, 0 for none. Source: CUDA
# C++ Programming Guide, "Formatted Output", "Assertion", "Dynamic Global Memory Allocation and Operations"; the system
# call is what __nv_aligned_device_malloc becomes.
BUILTINS: dict[str, tuple[tuple[int, ...], int]] = {
    "vprintf": ((8, 8), 4),
    "__assertfail": ((8, 8, 4, 8, 8), 0),
    "malloc": ((8,), 8),
    "free": ((8,), 0),
    "__cuda_syscall_aligned_malloc": ((8, 8), 8),
    "memcpy": ((8, 8, 8), 8),
    "memmove": ((8, 8, 8), 8),
    "memset": ((8, 4, 8), 8),
}
_FRAME_ALIGNMENT = 16
# Bytes of local memory for frames if recursion or alloca make the depth unknown. A device's default is 1024 (CUDA
# Driver API, CU_LIMIT_STACK_SIZE), which programs raise as needed.
_OPEN_STACK = 16384
# The address of a function is this plus a step for each function before it: no memory lies there.
_FIRST_CODE = 256
_CODE_STEP = 16


def code_addresses(module: ParsedModule) -> dict[str, int]:
    """The address of every function of a module."""
    return {name: _FIRST_CODE + number * _CODE_STEP for number, name in enumerate(module.functions)}


def with_functions(module: ParsedModule, entry: Entry) -> Entry:
    """The entry with the functions it can call in front; the entry itself if it calls none."""
    found = module.linked.get(entry.name)
    if found is None:
        found = module.linked[entry.name] = _with_functions(module, entry)
    return found


def _with_functions(module: ParsedModule, entry: Entry) -> Entry:
    pointed = [relocation.name for variable in module.variables for relocation in variable.relocations]
    graph = _Graph(module)
    graph.visit(entry, pointed if _has_indirect_call(entry, module) else [])
    if graph.order:
        return _Linker(module, entry, graph).linked()
    uses_alloca = any(instruction.base == "alloca" for instruction in entry.instructions)
    return replace(entry, stack=_OPEN_STACK) if uses_alloca else entry


def _has_indirect_call(entry: Entry, module: ParsedModule) -> bool:
    bodies = [entry, *(function.body for function in module.functions.values() if function.body is not None)]
    return any(_is_indirect(instruction) for body in bodies for instruction in body.instructions)


def calls(entry: Entry, name: str) -> bool:
    """Whether an entry, linked with its functions, calls a function by name."""
    return any(instruction.base == "call" and callee(instruction) == Symbol(name) for instruction in entry.instructions)


def callee(instruction: Instruction) -> Operand | None:
    """The function operand of a call, None if there is none."""
    operands = [operand for operand in instruction.operands if not isinstance(operand, Vector)]
    return operands[0] if operands else None


def _is_indirect(instruction: Instruction) -> bool:
    return instruction.base == "call" and isinstance(callee(instruction), Register)


class _Graph:
    """The functions that an entry reaches, callees first, and those of them that call themselves again."""

    def __init__(self, module: ParsedModule) -> None:
        self._module = module
        self.order: list[Function] = []
        self._callees: dict[str, set[str]] = {}

    def visit(self, entry: Entry, pointed: list[str]) -> None:
        """Find everything that an entry reaches; pointed: functions whose addresses variables hold."""
        pending = [entry, *(body for name in pointed if (body := self._body(name)) is not None)]
        seen = {entry.name, *pointed}
        addressed = {name for name in pointed if self._body(name) is not None}
        while pending:
            body = pending.pop()
            direct, taken = self._mentions(body)
            self._callees[body.name] = direct
            addressed |= taken
            for name in sorted((direct | taken) - seen):
                seen.add(name)
                found = self._body(name)
                if found is not None:
                    pending.append(found)
        indirect = {
            name
            for name in self._callees
            if any(_is_indirect(instruction) for instruction in self._body_of(name, entry).instructions)
        }
        for name in indirect:
            self._callees[name] |= addressed
        self._sort(entry.name)

    def _body(self, name: str) -> Entry | None:
        function = self._module.functions.get(name)
        return None if function is None else function.body

    def _body_of(self, name: str, entry: Entry) -> Entry:
        body = self._body(name)
        return entry if body is None or name == entry.name else body

    def _mentions(self, body: Entry) -> tuple[set[str], set[str]]:
        """Functions that a body calls by name, and functions whose address it takes."""
        direct: set[str] = set()
        taken: set[str] = set()
        for instruction in body.instructions:
            for operand in instruction.operands:
                if isinstance(operand, Symbol) and self._body(operand.name) is not None:
                    (direct if instruction.base == "call" else taken).add(operand.name)
        return direct, taken

    def _sort(self, root: str) -> None:
        done: set[str] = set()

        def place(name: str) -> None:
            if name in done:
                return
            done.add(name)
            for one in sorted(self._callees.get(name, set())):
                place(one)
            if name != root:
                self.order.append(self._module.functions[name])

        place(root)
        for name in sorted(self._callees):
            place(name)

    def reaches_itself(self, name: str) -> bool:
        """Whether a function can be called again before it returns."""
        pending, seen = list(self._callees.get(name, set())), set[str]()
        while pending:
            one = pending.pop()
            if one == name:
                return True
            if one not in seen:
                seen.add(one)
                pending += self._callees.get(one, set())
        return False

    def depth(self, name: str, frame: Callable[[str], int]) -> int:
        """The maximum size in bytes of the frames below a function, without recursion."""
        return max((frame(one) + self.depth(one, frame) for one in self._callees.get(name, set())), default=0)


@dataclass(slots=True)
class _Frame:
    """The slots of a function during layout."""

    size: int
    slots: dict[str, Slot]

    def add(self, name: str, size: int, align: int, unit: int) -> None:
        """Assign a location to a variable."""
        start = -(-self.size // align) * align
        self.slots[name] = Slot(start, size, unit)
        self.size = start + size


class _Linker:
    def __init__(self, module: ParsedModule, entry: Entry, graph: _Graph) -> None:
        self._module = module
        self._entry = entry
        self._graph = graph
        self._result = Entry(entry.name, entry.line, entry.parameters, list(entry.variables))
        self._result.directives = entry.directives

    def linked(self) -> Entry:
        """The merged entry."""
        result = self._result
        for function in self._graph.order:
            self._function(function)
        result.first = len(result.instructions)
        base = len(result.registers)
        rename = _Renaming(base, {})
        result.registers += [rename.register(register) for register in self._entry.registers]
        result.instructions += [rename.instruction(instruction) for instruction in self._entry.instructions]
        result.labels |= {name: pc + result.first for name, pc in self._entry.labels.items()}
        result.branch_targets |= self._entry.branch_targets
        result.stack = self._stack()
        return result

    def _stack(self) -> int:
        functions = self._result.functions
        uses_alloca = any(instruction.base == "alloca" for instruction in self._result.instructions)
        if uses_alloca or any(function.is_recursive for function in functions.values()):
            return _OPEN_STACK
        return self._graph.depth(self._entry.name, lambda name: functions[name].frame)

    def _function(self, function: Function) -> None:
        body, result = function.body, self._result
        if body is None:
            raise OperandError(f"function `{function.name}` has no body in this module", function.line)
        first = len(result.instructions)
        frame = _Frame(0, {})
        names = [*body.labels, *body.branch_targets, *(variable.name for variable in body.variables)]
        formals = [formal.name for formal in (*function.results, *function.arguments) if formal.register is None]
        rename = _Renaming(len(result.registers), {name: f"{function.name}::{name}" for name in (*names, *formals)})
        for formal in (*function.results, *function.arguments):
            if formal.register is None:
                frame.add(rename.name(formal.name), formal.size, formal.align, 1)
        for variable in body.variables:
            if variable.space in ("local", "param"):
                frame.add(rename.name(variable.name), variable.size, variable.align, variable.type.bytes)
            else:
                result.variables.append(replace(variable, name=rename.name(variable.name)))
        start = len(result.registers)
        result.registers += [rename.register(register) for register in body.registers]
        result.instructions += [rename.instruction(instruction) for instruction in body.instructions]
        result.instructions.append(Instruction("ret", "ret", (), [], None, body.line, "ret;"))
        result.labels |= {rename.name(name): pc + first for name, pc in body.labels.items()}
        for name, targets in body.branch_targets.items():
            result.branch_targets[rename.name(name)] = tuple(rename.name(target) for target in targets)
        result.slots |= frame.slots
        size = -(-frame.size // _FRAME_ALIGNMENT) * _FRAME_ALIGNMENT
        result.functions[function.name] = Linked(
            function.name,
            first,
            len(result.instructions) - first,
            size,
            tuple(rename.formals(function.results)),
            tuple(rename.formals(function.arguments)),
            range(start, len(result.registers)),
            self._graph.reaches_itself(function.name),
        )


@dataclass(frozen=True, slots=True)
class _Renaming:
    """The renaming of the names and register numbers of one body."""

    base: int
    names: dict[str, str]

    def name(self, name: str) -> str:
        """The name of a body's name in the merged entry."""
        return self.names.get(name, name)

    def register(self, register: Register) -> Register:
        """A register under its new number."""
        return Register(register.name, register.type, register.index + self.base)

    def formals(self, formals: list[Formal]) -> Iterator[Formal]:
        """Arguments or results under their names in the merged entry."""
        for formal in formals:
            register = None if formal.register is None else self.register(formal.register)
            yield Formal(self.name(formal.name), formal.size, formal.align, register)

    def instruction(self, instruction: Instruction) -> Instruction:
        """An instruction with its operands renamed."""
        guard = instruction.guard
        if guard is not None:
            guard = Guard(self.register(guard.register), guard.negated)
        operands = [self.operand(operand) for operand in instruction.operands]
        return replace(instruction, operands=operands, guard=guard)

    def operand(self, operand: Operand) -> Operand:
        """An operand renamed."""
        if isinstance(operand, Register):
            return self.register(operand)
        if isinstance(operand, Symbol):
            return Symbol(self.name(operand.name), operand.offset)
        if isinstance(operand, Element):
            index = self.register(operand.index) if isinstance(operand.index, Register) else operand.index
            return Element(self.name(operand.name), index)
        if isinstance(operand, Negated):
            return Negated(self.register(operand.register))
        if isinstance(operand, Vector):
            return Vector(tuple(self.operand(item) for item in operand.items))
        if isinstance(operand, Pair):
            return Pair(self.operand(operand.first), self.operand(operand.second))
        if isinstance(operand, Address):
            rest = tuple(self.operand(item) for item in operand.rest)
            return Address(self.operand(operand.base), operand.offset, rest)
        return operand
