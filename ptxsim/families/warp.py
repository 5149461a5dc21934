"""Warp-wide exchange: shfl, vote, match, redux, activemask, elect, bar.warp.sync."""

from collections.abc import Callable

import numpy as np

from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError
from ptxsim.floors import Floor
from ptxsim.geometry import WARP
from ptxsim.pointwise import Pointwise, Several
from ptxsim.program import Immediate, Negated, Operand, Pair, Sink
from ptxsim.ptx_types import TYPES, Array

_U32 = TYPES["u32"]
_PREDICATE = TYPES["pred"]
_FIVE = np.uint32(31)


def _members(d: Decode, number: int) -> Array:
    """The member mask operand, which also makes the lanes wait for each other."""
    d.members = d.read(number, _U32)
    return d.members


def _store(target: Array, value: Array, mask: Array | None) -> None:
    if mask is None:
        np.copyto(target, value, casting="unsafe")
    else:
        np.copyto(target, value, where=mask, casting="unsafe")


def _present(d: Decode, members: Array) -> Callable[[Array | None], Array]:
    """The participating lanes: at the instruction, live, and named by their own member mask."""
    machine = d.machine
    lane_bit = machine.special["lanemask_eq"]

    def present(mask: Array | None) -> Array:
        lanes = machine.active(mask)
        named = (members & lane_bit) != 0
        return named if lanes is None else named & lanes

    return present


def _pair_targets(d: Decode, operand: Operand, type_name: str) -> tuple[Array | None, Array | None]:
    """Destinations d|p, either of which may be missing."""
    if isinstance(operand, Pair):
        first = None if isinstance(operand.first, Sink) else d.target(operand.first, TYPES[type_name])
        second = None if isinstance(operand.second, Sink) else d.target(operand.second, _PREDICATE)
        return first, second
    return d.target(operand, TYPES[type_name]), None


def decode_shfl(d: Decode) -> Step:
    """shfl.sync.{up,down,bfly,idx}.b32 d{|p}, a, b, c, membermask."""
    d.need("sync")
    mode = d.need("up", "down", "bfly", "idx")
    if d.type().name != "b32":
        raise d.unsupported(f"shfl of .{d.type().name}")
    d.finish(5)
    a, b, c = d.read(1, _U32), d.read(2, _U32), d.read(3, _U32)
    members = _members(d, 4)
    target, valid_target = _pair_targets(d, d.operands[0], "b32")
    machine = d.machine
    lane = machine.special["laneid"]
    first = np.arange(machine.lanes) - lane
    is_fixed = isinstance(d.operands[2], Immediate) and isinstance(d.operands[3], Immediate)
    kept: list[tuple[Array, Array]] = []
    tracker = d.binding.hazards
    present = _present(d, members)

    def source() -> tuple[Array, Array]:
        if kept:
            return kept[0]
        found, valid = _shuffle_source(mode, lane, b, c)
        result = first + np.where(valid, found, lane), valid
        if is_fixed:
            kept.append(result)
        return result

    def step(mask: Array | None) -> None:
        lanes, valid = source()
        if tracker is not None:
            tracker.registers.check_shuffle(d.instruction, present(mask), lanes)
        if target is not None:
            _store(target, a.take(lanes), mask)
        if valid_target is not None:
            _store(valid_target, valid, mask)

    return step


def _shuffle_source(mode: str, lane: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The source lane and whether it is in range. Source: PTX ISA, "shfl.sync", pseudocode."""
    b, clamp, segment = (b & _FIVE).astype(np.int64), (c & _FIVE).astype(np.int64), (c >> np.uint32(8)) & _FIVE
    segment = segment.astype(np.int64)
    here = lane.astype(np.int64)
    last = (here & segment) | (clamp & ~segment)
    if mode == "up":
        found = here - b
        return found, found >= last
    if mode == "down":
        found = here + b
    elif mode == "bfly":
        found = here ^ b
    else:
        found = (here & segment) | (b & ~segment)
    return found, found <= last


def ballot(lanes: Array) -> Array:
    """A 32-bit word per warp with a bit for each lane that is set."""
    return np.packbits(lanes.reshape(-1, WARP), axis=1, bitorder="little").view(np.uint32)[:, 0]


def decode_vote(d: Decode) -> Step:
    """vote.sync.{all,any,uni}.pred and vote.sync.ballot.b32."""
    d.need("sync")
    mode = d.need("all", "any", "uni", "ballot")
    if d.type().name != ("b32" if mode == "ballot" else "pred"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3)
    operand = d.operands[1]
    source = d.value(operand.register if isinstance(operand, Negated) else operand, _PREDICATE)
    inverted = isinstance(operand, Negated)
    present = _present(d, _members(d, 2))
    target = d.write(0, d.type())

    def step(mask: Array | None) -> None:
        here = present(mask)
        true = here & (source ^ inverted)
        _store(target, np.repeat(_count_votes(mode, here, true), WARP), mask)

    return step


def _count_votes(mode: str, here: Array, true: Array) -> Array:
    """The result of a vote for each warp."""
    if mode == "ballot":
        return ballot(true)
    some: Array = np.any(true.reshape(-1, WARP), axis=1)
    others: Array = np.any((here & ~true).reshape(-1, WARP), axis=1)
    if mode == "any":
        return some
    return ~others if mode == "all" else ~(some & others)


def decode_match(d: Decode) -> Step:
    """match.any.sync and match.all.sync of .b32 and .b64."""
    mode = d.need("any", "all")
    d.need("sync")
    type_ = d.type()
    if type_.name not in ("b32", "b64"):
        raise d.unsupported(f"match of .{type_.name}")
    d.finish(3)
    source = d.read(1, type_)
    present = _present(d, _members(d, 2))
    target, all_target = _pair_targets(d, d.operands[0], "b32")
    if all_target is not None and mode == "any":
        raise d.error(OperandError, "match.any has no predicate destination")

    def step(mask: Array | None) -> None:
        here = present(mask).reshape(-1, WARP)
        values = source.reshape(-1, WARP)
        same = (values[:, :, None] == values[:, None, :]) & here[:, None, :]
        words = ballot(same.reshape(-1))
        if mode == "all":
            everyone = np.repeat(ballot(here.reshape(-1)), WARP)
            agree = words == everyone
            words = np.where(agree, everyone, np.uint32(0))
            if all_target is not None:
                _store(all_target, agree, mask)
        if target is not None:
            _store(target, words, mask)

    return step


# Reduction and its identity, by operation and kind of type. Source: PTX ISA, "redux.sync".
_REDUCTIONS: dict[str, tuple[np.ufunc, dict[str, int]]] = {
    "add": (np.add, {"u32": 0, "s32": 0}),
    "min": (np.minimum, {"u32": 0xFFFFFFFF, "s32": 0x7FFFFFFF}),
    "max": (np.maximum, {"u32": 0, "s32": -0x80000000}),
    "and": (np.bitwise_and, {"b32": 0xFFFFFFFF}),
    "or": (np.bitwise_or, {"b32": 0}),
    "xor": (np.bitwise_xor, {"b32": 0}),
}


def decode_redux(d: Decode) -> Step:
    """redux.sync.op.type d, a, membermask; .f32 min and max with .abs and .NaN."""
    d.need("sync")
    name = d.need(*_REDUCTIONS)
    type_ = d.type()
    if type_.name == "f32":
        return _redux_float(d, name)
    operation, identities = _REDUCTIONS[name]
    if type_.name not in identities:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3)
    source, target = d.read(1, type_), d.write(0, type_)
    present = _present(d, _members(d, 2))
    identity = type_.dtype(identities[type_.name])

    def step(mask: Array | None) -> None:
        values = np.where(present(mask), source, identity).reshape(-1, WARP)
        _store(target, np.repeat(operation.reduce(values, axis=1), WARP), mask)

    return step


def _redux_float(d: Decode, name: str) -> Step:
    if name not in ("min", "max"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    is_abs, keeps_nan = d.flag("abs"), d.flag("NaN")
    d.finish(3)
    f32 = TYPES["f32"]
    source, target = d.read(1, f32), d.write(0, f32)
    present = _present(d, _members(d, 2))
    operation: np.ufunc = {
        ("min", False): np.fmin,
        ("max", False): np.fmax,
        ("min", True): np.minimum,
        ("max", True): np.maximum,
    }[name, keeps_nan]
    identity = np.float32(np.inf if name == "min" else -np.inf)

    def step(mask: Array | None) -> None:
        here = present(mask)
        values = np.abs(source) if is_abs else source
        result = operation.reduce(np.where(here, values, identity).reshape(-1, WARP), axis=1)
        if not keeps_nan:
            only_nan = ~(here & ~np.isnan(source)).reshape(-1, WARP).any(axis=1)
            result = np.where(only_nan, np.float32(np.nan), result)
        _store(target, np.repeat(result, WARP), mask)

    return step


def decode_activemask(d: Decode) -> Step:
    """activemask.b32: the lanes that currently run together."""
    if d.type().name != "b32":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    target = d.write(0, _U32)
    machine = d.machine

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        here = np.ones(machine.lanes, np.bool_) if lanes is None else lanes
        _store(target, np.repeat(ballot(here), WARP), mask)

    return step


def decode_elect(d: Decode) -> Step:
    """elect.sync d|p, membermask: the lowest member lane."""
    d.need("sync")
    d.finish(2)
    members = _members(d, 1)
    target, elected = _pair_targets(d, d.operands[0], "b32")
    lane = d.machine.special["laneid"]

    # the predicate first: the other destination may be the register of the members
    steps: list[Pointwise] = []
    if elected is not None:
        steps.append(Pointwise(elected, _leads, (members, lane), writes=False))
    if target is not None:
        steps.append(Pointwise(target, _leader, (members,), writes=False))
    return Several(steps)


def _leader(members: Array) -> Array:
    """The lowest lane of each member mask."""
    return np.bitwise_count((members & -members) - np.uint32(1)).astype(np.uint32)


def _leads(members: Array, lane: Array) -> Array:
    return lane == _leader(members)


def decode_warp_barrier(d: Decode) -> Step:
    """bar.warp.sync membermask: the lanes wait for each other; the rendezvous is its only effect."""
    d.need("warp")
    d.need("sync")
    d.finish(1)
    _members(d, 0)
    tracker = d.binding.hazards
    present = _present(d, d.read(0, _U32))

    def step(mask: Array | None) -> None:
        if tracker is not None:
            tracker.warp_met(present(mask))

    return step


OPCODES: dict[str, Callable[[Decode], Step]] = {
    "shfl": decode_shfl,
    "vote": decode_vote,
    "match": decode_match,
    "redux": decode_redux,
    "activemask": decode_activemask,
    "elect": decode_elect,
    "bar.warp": decode_warp_barrier,
}
FLOORS = (
    Floor("redux", "80", "7.0"),
    Floor("redux f32", "100f", "8.6"),
    Floor("elect", "90", "8.0"),
)
