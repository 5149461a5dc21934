"""call and the ret of a function, alloca and the stack pointer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ptxsim.callstack import CallStack, StackOverflowFault
from ptxsim.control import Condition, Lanes, condition_of, decode_exit
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError, OutOfBoundsError, SimulatorError
from ptxsim.families import library
from ptxsim.families.library import End
from ptxsim.floors import Floor
from ptxsim.functions import BUILTINS, callee
from ptxsim.program import Formal, Immediate, Linked, Operand, Register, Sink, Symbol, Vector
from ptxsim.ptx_types import TYPES, Array

# ---- passing values into and out of functions

# Byte positions in local memory of a variable, for lanes given by number.
Place = Callable[[Array], Array]


def _place(d: Decode, name: str) -> Place:
    """The location of a parameter variable: in the current frame, or at the same address for every lane."""
    stack = d.binding.calls
    placed = d.binding.symbols.get(name)
    if placed is None or placed.space not in ("frame", "local"):
        raise d.error(OperandError, f"`{name}` is not a .param variable of this body")
    offset = placed.address
    if placed.space == "frame":
        return lambda lanes: stack.origin[lanes] + stack.frame[lanes] + offset
    return lambda lanes: stack.origin[lanes] + offset


def _bytes_at(first: Array, size: int) -> Array:
    return first[:, None] + np.arange(size)


def _variable(d: Decode, name: str, size: int) -> End:
    local, place = d.machine.local.bytes, _place(d, name)

    def give(lanes: Array, data: Array) -> None:
        local[_bytes_at(place(lanes), size)] = data

    return End(size, lambda lanes: local[_bytes_at(place(lanes), size)], give)


def _register(d: Decode, register: Register) -> End:
    row = d.machine.registers.rows[register.index]
    size = row.itemsize * (row.shape[1] if row.ndim > 1 else 1)

    def take(lanes: Array) -> Array:
        return np.ascontiguousarray(row[lanes]).view(np.uint8).reshape(lanes.size, size)

    def give(lanes: Array, data: Array) -> None:
        row[lanes] = np.ascontiguousarray(data).view(row.dtype).reshape((lanes.size, *row.shape[1:]))

    return End(size, take, give)


def _actual(d: Decode, operand: Operand, size: int, is_result: bool) -> End | None:
    """An operand of a call: a parameter variable, a register or a constant; None for an unused result."""
    if isinstance(operand, Symbol):
        placed = d.binding.symbols.get(operand.name)
        if placed is None or placed.size != size:
            raise d.error(OperandError, f"`{operand.name}` is not a .param variable of {size} bytes")
        return _variable(d, operand.name, size)
    if isinstance(operand, Register):
        (d.writes if is_result else d.reads).add(operand.index)
        return _register(d, operand)
    if isinstance(operand, Sink) and is_result:
        return None
    if isinstance(operand, Immediate) and not is_result:
        type_ = TYPES["f32" if isinstance(operand.value, float) and size == 4 else f"b{8 * size}"]
        bits = d.immediate_bits(operand, type_)
        constant = np.frombuffer(bits.to_bytes(size, "little"), np.uint8)

        def refuse(lanes: Array, data: Array) -> None:
            raise d.error(OperandError, "a constant cannot take a result")

        return End(size, lambda lanes: np.tile(constant, (lanes.size, 1)), refuse)
    raise d.error(OperandError, "a call passes .param variables, registers and constants")


def _formal(d: Decode, formal: Formal) -> End:
    if formal.register is None:
        return _variable(d, formal.name, formal.size)
    return _register(d, formal.register)


def _pairs(
    d: Decode, actuals: Sequence[Operand], formals: tuple[Formal, ...], is_result: bool
) -> list[tuple[End, End]]:
    """(actual, formal) of all arguments or results."""
    what = "results" if is_result else "arguments"
    if len(actuals) != len(formals):
        raise d.error(OperandError, f"the function has {len(formals)} {what}, the call {len(actuals)}")
    result: list[tuple[End, End]] = []
    for actual, formal in zip(actuals, formals, strict=True):
        inside = _formal(d, formal)
        outside = _actual(d, actual, inside.size, is_result)
        if outside is not None and outside.size != inside.size:
            raise d.error(OperandError, f"`{formal.name}` has {inside.size} bytes, the call gives {outside.size}")
        if outside is not None:
            result.append((outside, inside))
    return result


# ---- calls


@dataclass(frozen=True, slots=True)
class Route:
    """One function that a call may enter, with the values passed to it and back."""

    function: Linked
    arguments: list[tuple[End, End]]
    results: list[tuple[End, End]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call; routes: by the address of the function; target: the address in each lane, None if there is only one
    route.
    """

    pc: int
    condition: Condition | None
    stack: CallStack
    routes: dict[int, Route]
    target: Array | None
    caller: Linked | None
    fail: Callable[[int, str], SimulatorError]

    def converged(self, lanes: Lanes) -> int | None:
        """Enter the function together if there is only one."""
        if self.condition is None and self.target is None:
            [route] = self.routes.values()
            self._enter(route, np.flatnonzero(lanes.machine.live_mask()))
            return route.function.first
        self.diverged(lanes, lanes.machine.live_mask())
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Enter the functions that the lanes of a mask name; the others continue."""
        here = mask if self.condition is None else self.condition.holds(mask)
        lanes.add(self.pc + 1, mask & ~here)
        if not here.any():
            return
        if self.target is None:
            [route] = self.routes.values()
            self._enter(route, np.flatnonzero(here))
            lanes.add(route.function.first, here)
            return
        for address in np.unique(self.target[here]).tolist():
            chosen = here & (self.target == address)
            route = self.routes.get(address)
            if route is None:
                lane = int(np.flatnonzero(chosen)[0])
                raise self.fail(lane, f"calls {address:#x}, which is not a function with these arguments")
            self._enter(route, np.flatnonzero(chosen))
            lanes.add(route.function.first, chosen)

    def _enter(self, route: Route, lanes: Array) -> None:
        values = [actual.take(lanes) for actual, _ in route.arguments]
        if self.caller is not None and self.caller.is_recursive:
            self.stack.save(lanes, self.caller.first, self.caller.registers)
        try:
            self.stack.push(lanes, self.pc, route.function.frame)
        except StackOverflowFault as fault:
            raise self.fail(fault.lane, _overflow(fault)) from None
        for (_, formal), value in zip(route.arguments, values, strict=True):
            formal.give(lanes, value)

    def leave(self, function: Linked, lanes: Array) -> None:
        """Lanes return from a function with its results."""
        route = next(route for route in self.routes.values() if route.function is function)
        values = [formal.take(lanes) for _, formal in route.results]
        self.stack.pop(lanes)
        if self.caller is not None and self.caller.is_recursive:
            self.stack.restore(lanes, self.caller.first, self.caller.registers)
        for (actual, _), value in zip(route.results, values, strict=True):
            actual.give(lanes, value)


def _overflow(fault: StackOverflowFault) -> str:
    return f"needs {fault.needed} bytes of stack; {fault.available} are simulated"


@dataclass(frozen=True, slots=True)
class Return:
    """ret of a function; calls: the calls of the program by instruction."""

    next: int
    condition: Condition | None
    stack: CallStack
    function: Linked
    calls: dict[int, Call]

    def converged(self, lanes: Lanes) -> int | None:
        """Return together if all lanes came from one call."""
        mask = lanes.machine.live_mask()
        if self.condition is None:
            numbers = np.flatnonzero(mask)
            callers = self.stack.callers(numbers)
            first = int(callers[0])
            if (callers == first).all():
                self.calls[first].leave(self.function, numbers)
                return first + 1
        self.diverged(lanes, mask)
        return None

    def diverged(self, lanes: Lanes, mask: Array) -> None:
        """Send the lanes of a mask back to their callers."""
        gone = mask if self.condition is None else self.condition.holds(mask)
        lanes.add(self.next, mask & ~gone)
        numbers = np.flatnonzero(gone)
        callers = self.stack.callers(numbers)
        for pc in np.unique(callers).tolist():
            chosen = numbers[callers == pc]
            self.calls[pc].leave(self.function, chosen)
            back = np.zeros_like(gone)
            back[chosen] = True
            lanes.add(pc + 1, back)


def decode_return(d: Decode) -> None:
    """ret{.uni} of an entry or a function."""
    functions = d.binding.functions.values()
    function = next((one for one in functions if one.first <= d.pc < one.first + one.length), None)
    if function is None:
        decode_exit(d)
        return
    d.take("uni")
    d.finish(0)
    condition = condition_of(d, d.instruction.guard)
    d.control = Return(d.pc + 1, condition, d.binding.calls, function, d.binding.call_sites)


def library_ends(
    d: Decode, name: str, arguments: Sequence[Operand], results: Sequence[Operand]
) -> tuple[list[End], End | None]:
    """Arguments and result of a function that the simulator performs."""
    sizes, given = BUILTINS[name]
    if len(arguments) != len(sizes) or len(results) > bool(given):
        raise d.error(OperandError, f"`{name}` has {len(sizes)} arguments and {int(bool(given))} results")
    ends = [_actual(d, operand, size, False) for operand, size in zip(arguments, sizes, strict=True)]
    result = _actual(d, results[0], given, True) if results else None
    return [end for end in ends if end is not None], result


def _operands(d: Decode) -> tuple[Operand, Sequence[Operand], Sequence[Operand]]:
    """Function, arguments and results of a call."""
    target = callee(d.instruction)
    if target is None:
        raise d.error(OperandError, "`call` names no function")
    position = d.operands.index(target)
    before = d.operands[0] if position == 1 else Vector(())
    after = d.operands[position + 1] if len(d.operands) > position + 1 else Vector(())
    if position > 1 or not isinstance(before, Vector):
        raise d.error(OperandError, "`call` is written `call (results), function, (arguments)`")
    arguments = after.items if isinstance(after, Vector) else ()
    return target, arguments, before.items


def decode_call(d: Decode) -> Step | None:
    """call{.uni} (results), function, (arguments){, prototype}."""
    d.take("uni")
    d.finish(1, 4)
    target, arguments, results = _operands(d)
    if isinstance(target, Symbol) and target.name in BUILTINS and target.name not in d.binding.functions:
        return library.FUNCTIONS[target.name](d, *library_ends(d, target.name, arguments, results))
    functions = d.binding.functions
    values: Array | None = None
    if isinstance(target, Register):
        values = d.value(target, TYPES["b64"])
        chosen = [one for one in functions.values() if _fits(one, arguments, results)]
    elif isinstance(target, Symbol) and target.name in functions:
        chosen = [functions[target.name]]
    else:
        name = target.name if isinstance(target, Symbol) else "this operand"
        raise d.error(OperandError, f"`{name}` is not a function with a body in this module")
    routes: dict[int, Route] = {}
    for function in chosen:
        routes[d.binding.code[function.name]] = Route(
            function, _pairs(d, arguments, function.arguments, False), _pairs(d, results, function.results, True)
        )
        d.writes.update(formal.register.index for formal in function.arguments if formal.register is not None)
    machine = d.machine
    caller = next((one for one in functions.values() if one.first <= d.pc < one.first + one.length), None)

    def fail(lane: int, message: str) -> SimulatorError:
        return d.error(OutOfBoundsError, f"{machine.describe(lane)} {message}")

    condition = condition_of(d, d.instruction.guard)
    call = Call(d.pc, condition, d.binding.calls, routes, values, caller, fail)
    d.binding.call_sites[d.pc] = call
    d.control = call
    return None


def _fits(function: Linked, arguments: Sequence[Operand], results: Sequence[Operand]) -> bool:
    return len(function.arguments) == len(arguments) and len(function.results) == len(results)


# ---- the stack pointer


def decode_alloca(d: Decode) -> Step:
    """alloca.u64 address, size{, alignment}: bytes of local memory until the function returns."""
    type_ = d.type()
    if type_.name != "u64":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(2, 3)
    size, target = d.read(1, type_), d.write(0, type_)
    alignment = d.constant_int(2) if len(d.operands) > 2 else 16
    machine, stack = d.machine, d.binding.calls

    def step(mask: Array | None) -> None:
        lanes = machine.lane_numbers(mask)
        try:
            target[lanes] = stack.reserve(lanes, size[lanes].astype(np.int64), alignment)
        except StackOverflowFault as fault:
            raise d.error(OutOfBoundsError, f"{machine.describe(fault.lane)} {_overflow(fault)}") from None

    return step


def decode_stack_pointer(d: Decode) -> Step:
    """stacksave and stackrestore."""
    type_ = d.type()
    if type_.name != "u64":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    stack, is_save = d.binding.calls, d.instruction.base == "stacksave"
    row = d.write(0, type_) if is_save else d.read(0, type_)
    machine = d.machine

    def step(mask: Array | None) -> None:
        lanes = machine.live_mask() if mask is None else mask
        if is_save:
            row[lanes] = stack.top[lanes]
        else:
            stack.top[lanes] = row[lanes]

    return step


OPCODES: dict[str, Callable[[Decode], Step | None]] = {
    "call": decode_call,
    "ret": decode_return,
    "alloca": decode_alloca,
    "stacksave": decode_stack_pointer,
    "stackrestore": decode_stack_pointer,
}
FLOORS = (
    Floor("alloca", "", "7.3"),
    Floor("stacksave", "", "7.3"),
    Floor("stackrestore", "", "7.3"),
)
