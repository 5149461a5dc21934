"""Instructions that delay or end: nanosleep, trap; and cache policies."""

from collections.abc import Callable

from ptxsim.decode import Decode, Step, assign
from ptxsim.errors import TrapError
from ptxsim.floors import Floor
from ptxsim.ptx_types import TYPES, Array


def decode_nanosleep(d: Decode) -> Step | None:
    """nanosleep.u32: no time passes here."""
    if d.type().name != "u32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    d.read(0, TYPES["u32"])
    return None


def decode_trap(d: Decode) -> Step:
    """trap and brkpt, without a debugger: end the launch with an error that names the first thread to execute it."""
    d.finish(0)
    machine = d.machine

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is None or lanes.any():
            lane = 0 if lanes is None else int(lanes.argmax())
            raise d.error(TrapError, f"{machine.describe(lane)} executes {d.instruction.base}")

    return step


def decode_createpolicy(d: Decode) -> Step:
    """createpolicy.fractional, .range and .cvt: an opaque cache policy, which the simulator does not read."""
    kind = d.need("fractional", "range", "cvt")
    if kind == "cvt":
        d.need("L2")
    else:
        d.take("global")
        d.need("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
        d.take("L2::evict_first", "L2::evict_unchanged")
    if d.type().name != "b64":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(*{"fractional": (1, 2), "range": (4, 4), "cvt": (2, 2)}[kind])
    zero = d.binding.constant(0, TYPES["b64"])
    return assign(d.write(0, TYPES["b64"]), lambda: zero)


def decode_event(d: Decode) -> Step | None:
    """pmevent: a marker for a profiler."""
    d.flag("mask")
    d.finish(1)
    d.constant_int(0)
    return None


OPCODES: dict[str, Callable[[Decode], Step | None]] = {
    "nanosleep": decode_nanosleep,
    "pmevent": decode_event,
    "brkpt": decode_trap,
    "trap": decode_trap,
    "createpolicy": decode_createpolicy,
}
FLOORS = (Floor("createpolicy", "80", "7.4"),)
