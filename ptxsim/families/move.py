"""mov, cvta, isspacep, selp, slct: moving values between registers, and addresses between state spaces."""

from collections.abc import Callable

import numpy as np

from ptxsim.addresses import address_values
from ptxsim.decode import Decode, Step, assign, into
from ptxsim.errors import OperandError
from ptxsim.floors import Floor
from ptxsim.memory import LOCAL_WINDOW, RANK_SHIFT, SHARED_WINDOW, WINDOW_BITS
from ptxsim.pointwise import Several
from ptxsim.program import Address, Element, Operand, Sink, Special, Symbol, Vector
from ptxsim.ptx_types import TYPES, Array, PtxType, unsigned

# The first generic address of each state space that has a window; global addresses equal their generic ones.
WINDOWS = {"shared": SHARED_WINDOW << WINDOW_BITS, "local": LOCAL_WINDOW << WINDOW_BITS}


# Types of mov besides .pred and .b128, of selp, and of slct. Source: PTX ISA, the pages of these instructions.
_MOVED = ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")


def _plain_type(d: Decode, type_: PtxType, others: tuple[str, ...] = ()) -> PtxType:
    if type_.name not in (*_MOVED, *others):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return type_


def decode_mov(d: Decode) -> Step:
    """mov of scalars, addresses and predicates, and the packing and unpacking of {a, b, ...}."""
    type_ = _plain_type(d, d.type(), ("pred", "b128"))
    d.finish(2)
    target, source = d.operands
    if isinstance(source, Special) and source.name in CLOCKS:
        return _read_clock(d, type_, source.name)
    if isinstance(target, Vector):
        return _unpack(d, type_, target, source)
    if isinstance(source, Vector):
        return _pack(d, type_, target, source)
    if isinstance(source, Element) or (isinstance(source, Symbol) and d.placed(source).space == "frame"):
        return assign(d.write(0, type_), _address_lanes(d, type_, source))
    return into(d.write(0, type_), _copy, d.read(1, type_))


def _address_lanes(d: Decode, type_: PtxType, source: Symbol | Element) -> Callable[[], Array]:
    """The function that computes the address of a variable or of one of its elements."""
    symbol, shift = d.element(source) if isinstance(source, Element) else (source, None)
    base = address_values(d, Address(symbol, 0), type_.bits)
    if shift is None:
        return base
    return lambda: base() + shift().astype(unsigned(type_.bits))


# The clocks, their width, and by how much each advances when some thread reads one: time does not pass otherwise. The
# steps let loops terminate that wait for some cycles or nanoseconds.
CLOCKS = {
    "clock": (32, 0, 64),
    "clock_hi": (32, 32, 64),
    "clock64": (64, 0, 64),
    "globaltimer": (64, 0, 1000),
    "globaltimer_lo": (32, 0, 1000),
    "globaltimer_hi": (32, 32, 1000),
}


def _read_clock(d: Decode, type_: PtxType, name: str) -> Step:
    """mov of %clock, %clock64, %globaltimer and their halves."""
    bits, shift, pace = CLOCKS[name]
    if type_.bits != bits or not type_.is_integer:
        raise d.error(OperandError, f"%{name} has {bits} bits; read it with a type of that width")
    target, machine = d.write(0, type_), d.machine

    def step(mask: Array | None) -> None:
        machine.clock += 1
        value = type_.dtype(machine.clock * pace >> shift & ((1 << bits - 1) - 1))
        if mask is None:
            target.fill(value)
        else:
            target[mask] = value

    return step


def _copy(source: Array, out: Array) -> None:
    np.copyto(out, source)


def _pack(d: Decode, type_: PtxType, target: Operand, source: Vector) -> Step:
    part = _part(d, type_, len(source.items))
    values = [d.value(item, part) for item in source.items]
    # parts are narrower than the whole, so none of them is a register that moving another part changes
    whole = _parts(d.target(target, type_ if type_.bits == 128 else TYPES[f"b{type_.bits}"]), part, len(values))
    return Several([into(whole[:, number], _copy, value) for number, value in enumerate(values)])


def _parts(whole: Array, part: PtxType, count: int) -> Array:
    """A register's lanes as [lane, part]."""
    return whole.view(part.dtype).reshape(-1, count)


def _unpack(d: Decode, type_: PtxType, target: Vector, source: Operand) -> Step:
    part = _part(d, type_, len(target.items))
    whole = _parts(d.value(source, type_ if type_.bits == 128 else TYPES[f"b{type_.bits}"]), part, len(target.items))
    return Several(
        [
            into(d.target(item, part), _copy, whole[:, number])
            for number, item in enumerate(target.items)
            if not isinstance(item, Sink)
        ]
    )


def _part(d: Decode, type_: PtxType, count: int) -> PtxType:
    bits = type_.bits // count
    if count not in (2, 4, 8) or bits not in (8, 16, 32, 64):
        raise d.unsupported(f"{count} parts of a .{type_.name}")
    return TYPES[f"b{bits}"]


def decode_cvta(d: Decode) -> Step:
    """cvta{.to}.space: between a state space's addresses and generic ones."""
    to_space = d.flag("to")
    spaces = ("shared", "shared::cta", "shared::cluster", "global", "const", "param", "param::entry", "local")
    space = d.need(*spaces).split("::")[0]
    type_ = d.type()
    if type_.name != "u64":
        raise d.unsupported(f"cvta of type .{type_.name}")
    d.finish(2)
    operand = d.operands[1]
    if isinstance(operand, Symbol | Element):
        source = _address_lanes(d, type_, operand)
    else:
        values = d.read(1, type_)
        source = lambda: values  # noqa: E731 - the two have one shape
    base = np.uint64(d.binding.parameter_shift if space == "param" else WINDOWS.get(space, 0))
    operation: np.ufunc = np.subtract if to_space else np.add
    return assign(d.write(0, type_), lambda: operation(source(), base))


def decode_isspacep(d: Decode) -> Step:
    """isspacep.space: whether a generic address lies in a state space."""
    name = d.need("shared", "shared::cta", "shared::cluster", "global", "local", "const", "param", "param::entry")
    space = name.split("::")[0]
    d.finish(2)
    source = d.read(1, TYPES["u64"])
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space)
    shift = np.uint64(WINDOW_BITS)
    if space == "param":
        first, size = np.uint64(d.binding.parameter_base), np.uint64(len(d.binding.parameter_bytes))
        return assign(d.write(0, TYPES["pred"]), lambda value: value - first < size, source)
    if window is None:
        return assign(d.write(0, TYPES["pred"]), lambda value: (value >> shift) > LOCAL_WINDOW, source)
    ranks = d.machine.rank_base
    if ranks is not None and name in ("shared", "shared::cta"):
        own = ((SHARED_WINDOW << WINDOW_BITS) + ranks).astype(np.uint64) >> np.uint64(RANK_SHIFT)
        return assign(
            d.write(0, TYPES["pred"]), lambda value, mine: (value >> np.uint64(RANK_SHIFT)) == mine, source, own
        )
    return assign(d.write(0, TYPES["pred"]), lambda value: (value >> shift) == window, source)


def decode_selp(d: Decode) -> Step:
    """selp: the first source where the predicate is true, otherwise the second."""
    type_ = _plain_type(d, d.type())
    d.finish(4)
    chosen = d.read(3, TYPES["pred"])
    return assign(d.write(0, type_), np.where, chosen, d.read(1, type_), d.read(2, type_))


def decode_slct(d: Decode) -> Step:
    """slct: the first source where the third is not negative, otherwise the second."""
    is_flushed = d.flag("ftz")
    if len(d.types) != 2 or d.types[1].name not in ("s32", "f32"):
        raise d.unsupported("slct with these types")
    value, sign = _plain_type(d, d.types[0]), d.types[1]
    d.finish(4)
    if is_flushed and sign.name != "f32":
        raise d.unsupported("slct.ftz with .s32")
    # a subnormal that flushes becomes a signed zero, and -0.0 >= 0 holds, unlike -subnormal >= 0
    limit = np.float32(-np.finfo(np.float32).smallest_normal) if is_flushed else None

    def select(a: Array, b: Array, c: Array) -> Array:
        return np.where(c >= 0 if limit is None else c > limit, a, b)

    return assign(d.write(0, value), select, d.read(1, value), d.read(2, value), d.read(3, sign))


OPCODES = {
    "mov": decode_mov,
    "cvta": decode_cvta,
    "isspacep": decode_isspacep,
    "selp": decode_selp,
    "slct": decode_slct,
}
FLOORS = (
    Floor("mov b128", "", "8.3"),
    Floor("cvta.param", "", "7.7"),
    Floor("isspacep param", "", "7.7"),
    Floor("mov %cluster*|%nclusterid*|%is_explicit_cluster", "90", "7.8"),
    Floor("mov %aggr_smem_size", "90", "8.1"),
    Floor("mov %current_graph_exec", "", "8.0"),
)
