"""Instructions that order, delay or end: membar, fence, nanosleep, trap, and cache policies.

Memory operations run one at a time in program order, so every fence of the generic proxy already holds.
"""

from collections.abc import Callable

from runtime.simulator.decode import Decode, Step, assign
from runtime.simulator.errors import TrapError
from runtime.simulator.types import TYPES, Array

_SCOPES = ("cta", "cluster", "gpu", "sys", "gl")


def decode_fence(d: Decode) -> Step | None:
    """membar.level, fence{.sem}.scope and fence.proxy.async{.space}."""
    if d.flag("proxy"):
        return _proxy_fence(d)
    d.take("sc", "acq_rel", "acquire", "release")
    d.need(*_SCOPES)
    d.finish(0)
    return None


def _proxy_fence(d: Decode) -> Step | None:
    """fence.proxy.async: generic accesses before it come before accesses of the async proxy after it."""
    d.need("async")
    d.take("global", "shared::cta", "shared::cluster")
    d.finish(0)
    tracker = d.binding.hazards
    return None if tracker is None else tracker.proxy_fence


def decode_nanosleep(d: Decode) -> Step | None:
    """nanosleep.u32: time does not pass here."""
    if d.type().name != "u32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    d.read(0, TYPES["u32"])
    return None


def decode_trap(d: Decode) -> Step:
    """trap: ends the launch with an error that names the first thread to execute it."""
    d.finish(0)
    machine = d.machine

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is None or lanes.any():
            lane = 0 if lanes is None else int(lanes.argmax())
            raise d.error(TrapError, f"{machine.describe(lane)} executes trap")

    return step


def decode_createpolicy(d: Decode) -> Step:
    """createpolicy.fractional: an opaque cache policy, which the simulator does not read."""
    d.need("fractional")
    d.take("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged")
    d.take("L2::evict_first", "L2::evict_unchanged")
    if d.type().name != "b64":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1, 2)
    zero = d.binding.constant(0, TYPES["b64"])
    return assign(d.write(0, TYPES["b64"]), lambda: zero)


OPCODES: dict[str, Callable[[Decode], Step | None]] = {
    "membar": decode_fence,
    "fence": decode_fence,
    "nanosleep": decode_nanosleep,
    "trap": decode_trap,
    "createpolicy": decode_createpolicy,
}
