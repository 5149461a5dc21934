"""ld, ldu and st in every state space, scalar and vector, and prefetches and hints."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError, OutOfBoundsError
from ptxsim.families import wide_access
from ptxsim.floors import Floor
from ptxsim.memory import CELL, FIRST_GLOBAL_WINDOW, FRESH, LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BITS, Fault
from ptxsim.program import Address, Immediate, Register, Sink, Symbol
from ptxsim.ptx_types import TYPES, Array, PtxType, unsigned

# Modifiers that change performance or ordering only; the simulator runs memory operations one at a time, in program
# order, so every ordering holds. Source: PTX ISA, "ld", "st", "Cache Operators".
_CACHE_LOAD = ("ca", "cg", "cs", "lu", "cv")
_CACHE_STORE = ("wb", "cg", "cs", "wt")
_ORDER_LOAD = ("weak", "relaxed", "acquire", "volatile", "mmio")
_ORDER_STORE = ("weak", "relaxed", "release", "volatile", "mmio")
_SCOPE = ("cta", "cluster", "gpu", "sys")
_EVICTION = ("evict_normal", "evict_first", "evict_last", "evict_unchanged", "no_allocate")
_LINE = 128  # bytes of a cache line; PTX ISA, "discard"
_WIDE = ((8, 32), (4, 64))  # 256 bits; PTX ISA, "ld", sm_100 on, global memory only
_ADDRESS_BITS = {"shared": 32, "shared::cluster": 32, "local": 32}  # of the addresses in a window of a state space
_SPACES = (
    "global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Hints:
    """Ordering and cache modifiers of a load or store; has_policy: whether a cache-policy operand follows."""

    order: str | None
    cache: str | None
    is_read_only: bool
    eviction: str | None
    level2: str | None
    prefetch: str | None
    has_policy: bool

    @property
    def is_strong(self) -> bool:
        """PTX ISA, "Strong operation"."""
        return self.order not in (None, "weak")

    def fits(self, space: str, bits: int, count: int) -> bool:
        """Whether an access of this many bits and elements in a space may have these. Source: ptxas 13.5."""
        is_global = space in ("", "global")
        special = self.order in ("volatile", "mmio")
        wrong = [
            self.order not in (None, "weak", "volatile") and space == "local",
            self.order == "mmio" and (not is_global or count > 1),
            special and bool(self.has_policy or self.eviction or self.level2),
            bool(self.eviction or self.level2 or self.prefetch or self.has_policy) and not is_global,
            self.is_read_only and (space != "global" or self.order is not None or self.cache in ("lu", "cv")),
            self.level2 is not None and bits != 256,
        ]
        return not any(wrong)


def take_hints(d: Decode, is_load: bool) -> Hints:
    """Consume ordering, scope, cache, eviction and prefetch modifiers."""
    order = d.take(*(_ORDER_LOAD if is_load else _ORDER_STORE))
    if order == "mmio":  # PTX ISA, "ld": .mmio comes with .relaxed.sys
        d.need("relaxed")
        d.need("sys")
    elif order not in (None, "weak", "volatile"):
        d.need(*_SCOPE)
    is_read_only = is_load and d.flag("nc")
    cache = d.take(*(_CACHE_LOAD if is_load else _CACHE_STORE))
    eviction, level2 = (d.take(*(prefix + name for name in _EVICTION)) for prefix in ("L1::", "L2::"))
    prefetch = d.take("L2::64B", "L2::128B", "L2::256B") if is_load else None
    return Hints(order, cache, is_read_only, eviction, level2, prefetch, d.flag("L2::cache_hint"))


def address_values(d: Decode, address: Address, bits: int) -> Callable[[], Array]:
    """The function that computes the lanes of an address, as unsigned integers of `bits` bits."""
    type_ = TYPES[f"u{bits}"]
    base = address.base
    if isinstance(base, Symbol) and d.placed(base).space == "frame":
        frame, inside = d.binding.calls.frame, np.uint32(d.symbol_address(base) + address.offset)
        return lambda: frame + inside
    if isinstance(base, Symbol):
        constant = d.located(base, d.symbol_address(base) + address.offset, type_)
        return lambda: constant
    if isinstance(base, Immediate):
        constant = d.binding.constant((int(base.value) + address.offset) % (1 << bits), type_)
        return lambda: constant
    if not isinstance(base, Register):
        raise d.error(OperandError, "an address is a register, a variable or a constant, plus an offset")
    if base.type.bits == 64 and bits == 32:
        values = d.value(base, TYPES["u64"])
        offset64 = np.uint64(address.offset % (1 << 64))
        return lambda: (values + offset64).astype(np.uint32)
    if base.type.bits == 32 and bits == 64:
        narrow = d.value(base, TYPES["u32"])
        offset_wide = np.uint64(address.offset % (1 << 64))
        return lambda: narrow.astype(np.uint64) + offset_wide
    row = d.value(base, type_)
    if address.offset == 0:
        return lambda: row
    offset = d.binding.constant(address.offset % (1 << bits), type_)
    scratch = np.empty_like(row)
    return lambda: np.add(row, offset, scratch)


@dataclass(frozen=True, slots=True)
class Port:
    """Where a memory instruction reads and writes: `cells(lanes)` gives (cell array, indices) for active lanes."""

    cells: Callable[[Array | None], tuple[Array, Array]]


def open_port(d: Decode, site: Site, space: str, address: Address, size: int) -> Port:
    """Index computation for accesses of `size` bytes in a state space ("" is generic)."""
    if space == "param" and (is_local(d, address) or d.is_in_function):
        space = "local"
    return port_at(d, site, space, address_values(d, address, _ADDRESS_BITS.get(space, 64)), size)


def port_at(d: Decode, site: Site, space: str, values: Callable[[], Array], size: int) -> Port:
    """The same for addresses computed by `values`: 32-bit ones in a window of the state space, otherwise 64-bit
    ones.
    """
    machine = d.machine
    if space in ("shared", "shared::cluster"):
        shared = machine.shared.cells[size]
        window = machine.cluster_shared if space == "shared::cluster" else None
        site.counts_banks = True
        return Port(lambda lanes: (shared, site.shared_index(_pick(values(), lanes), size, lanes, window)))
    if space == "local":
        local = machine.local.cells[size]
        return Port(lambda lanes: (local, site.window_index(machine.local, _pick(values(), lanes), size, lanes)))
    site.counts_sectors = True
    cells = machine.global_space.cells[size]
    if space == "param":
        shift = np.uint64(d.binding.parameter_shift)
        return Port(lambda lanes: (cells, site.global_index(_pick(values(), lanes) + shift, size, lanes)))
    if space != "":
        return Port(lambda lanes: (cells, site.global_index(_pick(values(), lanes), size, lanes)))
    shared = machine.shared.cells[size]
    local = machine.local.cells[size]
    site.counts_banks = True
    any_shared = machine.cluster_shared if machine.geometry.cluster_size > 1 else machine.shared

    def generic(lanes: Array | None) -> tuple[Array, Array]:
        wanted = _pick(values(), lanes)
        window = wanted >> np.uint64(WINDOW_BITS)
        first = int(window[0])
        if (window != first).any() and not (window >= FIRST_GLOBAL_WINDOW).all():
            raise _MixedWindowsError
        if first == SHARED_WINDOW:
            return shared, site.shared_index(wanted.astype(np.uint32), size, lanes, any_shared)
        if first == LOCAL_WINDOW:
            return local, site.window_index(machine.local, wanted.astype(np.uint32), size, lanes)
        return cells, site.global_index(wanted, size, lanes)

    return Port(generic)


def is_local(d: Decode, address: Address) -> bool:
    """Whether an address names a variable in local memory."""
    return isinstance(address.base, Symbol) and d.placed(address.base).space in ("local", "frame")


class _MixedWindowsError(Exception):
    """Internal: generic addresses of one access are in several state spaces; handle each space separately."""


def _pick(values: Array, lanes: Array | None) -> Array:
    return values if lanes is None else values[lanes]


def by_window(d: Decode, address: Address, step: Step) -> Step:
    """A step that repeats a generic access for each state space if its lanes point to several."""
    values = address_values(d, address, 64)
    machine = d.machine

    def separate(mask: Array | None) -> None:
        try:
            step(mask)
        except _MixedWindowsError:
            for lanes in windows(values(), machine.live_mask() if mask is None else mask):
                step(lanes)

    return separate


def windows(address: Array, lanes: Array) -> Iterator[Array]:
    """Groups of lanes whose generic addresses are in one state space."""
    window = np.minimum(address >> np.uint64(WINDOW_BITS), np.uint64(FIRST_GLOBAL_WINDOW))
    for one in np.unique(window[lanes]):
        yield lanes & (window == one)


def _element(d: Decode) -> tuple[PtxType, int]:
    lanes = int((d.take("v2", "v4", "v8") or "v1")[1:])
    type_ = d.type()
    is_wide = (lanes, type_.bits) in _WIDE
    if (type_.bits * lanes > 128 and not is_wide) or type_.kind in ("pred", "packed"):
        raise d.unsupported(f"an access of {lanes} x .{type_.name}")
    return type_, lanes


def space_name(modifier: str | None) -> str:
    """The state space that a modifier names; "" is generic, and shared memory of the cluster is a separate space."""
    return modifier if modifier == "shared::cluster" else (modifier or "").split("::")[0]


def _space(d: Decode) -> str:
    return space_name(d.take(*_SPACES))


def _checked(d: Decode, hints: Hints, space: str, bits: int, count: int) -> bool:
    """Reject hints that are invalid for the access; whether it is strong."""
    if not hints.fits(space, bits, count):
        raise d.unsupported(f"`{d.instruction.opcode}`, a combination of modifiers that does not exist,")
    return hints.is_strong


def decode_load(d: Decode) -> Step:
    """ld and ldu."""
    hints = take_hints(d, is_load=True)
    space = _space(d)
    type_, count = _element(d)
    d.finish(2 + hints.has_policy)
    strong = _checked(d, hints, space, type_.bits * count, count)
    items = d.vector(0, (count,))
    address = d.address(1)
    if type_.bits * count > 128:
        if space not in ("", "global"):
            raise d.unsupported(f"a 256-bit access to .{space}")
        return wide_access.decode_wide_load(d, type_, items, address_values(d, address, 64), strong)
    targets = [None if isinstance(item, Sink) else d.wide_target(item, type_) for item in items]
    if space == "param" and not isinstance(address.base, Register) and not is_local(d, address):
        return _load_parameter(d, type_, address, targets)
    size = type_.bytes * count
    site = Site(d.machine, d.instruction)
    d.site = site
    port = open_port(d, site, space, address, size)
    machine = d.machine
    if type_.bits == 128:
        return _load_quad(d, site, port, targets[0])
    cell = unsigned(type_.bits) if type_.is_float else type_.dtype
    tracker = d.binding.hazards
    raw = [None if target is None else _as_cell(target, type_) for target in targets]

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells, index = port.cells(lanes)
        if tracker is not None:
            tracker.loads(cells, site, size, lanes, index, strong)
        values = cells.take(index).view(cell)
        for number, target in enumerate(raw):
            if target is not None:
                column = values if count == 1 else values[number::count]
                if lanes is None:
                    target[...] = column
                else:
                    target[lanes] = column

    return by_window(d, address, step) if space == "" else step


def _as_cell(target: Array, type_: PtxType) -> Array:
    """Float destinations as bits, so that a load copies NaN payloads unchanged."""
    return target.view(unsigned(type_.bits)) if type_.is_float else target


def _load_quad(d: Decode, site: Site, port: Port, target: Array | None) -> Step:
    machine = d.machine
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells, index = port.cells(lanes)
        if tracker is not None:
            tracker.loads(cells, site, 16, lanes, index, strong=False)
        values = cells.take(index).view(np.uint64).reshape(-1, 2)
        if target is not None:
            if lanes is None:
                target[...] = values
            else:
                target[lanes] = values

    return step


def _load_parameter(d: Decode, type_: PtxType, address: Address, targets: list[Array | None]) -> Step:
    """A parameter is the same for all threads and known at decoding, so the load becomes a constant."""
    base = address.base
    if not isinstance(base, Symbol):
        raise d.error(OperandError, "ld.param needs a parameter name or a register")
    placed = d.placed(base)
    if placed.space != "param":
        raise d.error(OperandError, f"`{base.name}` is not a parameter")
    start = base.offset + address.offset
    if start < 0 or start + type_.bytes * len(targets) > placed.size:
        raise d.error(
            OutOfBoundsError,
            f"{type_.bytes * len(targets)} bytes at byte {start} of a parameter of {placed.size} bytes",
        )
    offset = d.binding.parameter_offset(placed) + start
    moves: list[tuple[Array, Array]] = []
    for number, target in enumerate(targets):
        where = offset + number * type_.bytes
        data = d.binding.parameter_bytes[where : where + type_.bytes]
        if target is not None:
            value = np.frombuffer(data, CELL[type_.bytes] if type_.is_float else type_.dtype)
            raw = _as_cell(target, type_)
            moves.append((raw, value.astype(raw.dtype)))

    def step(mask: Array | None) -> None:
        for target, value in moves:
            if mask is None:
                target[...] = value
            else:
                target[mask] = value

    return step


def decode_store(d: Decode) -> Step:
    """st."""
    hints = take_hints(d, is_load=False)
    space = _space(d)
    type_, count = _element(d)
    d.finish(2 + hints.has_policy)
    strong = _checked(d, hints, space, type_.bits * count, count)
    address = d.address(0)
    if space == "const" or (space == "param" and not is_local(d, address) and not d.is_in_function):
        raise d.unsupported(f"a store to .{space}")
    items = d.vector(1, (count,))
    if type_.bits * count > 128:
        if space not in ("", "global"):
            raise d.unsupported(f"a 256-bit access to .{space}")
        return wide_access.decode_wide_store(d, type_, items, address_values(d, address, 64), strong)
    raw_type = type_ if type_.bits == 128 else TYPES[f"b{type_.bits}"]
    values = [
        d.value(item, type_) if isinstance(item, Immediate) and type_.is_float else d.narrow(item, raw_type)
        for item in items
    ]
    size = type_.bytes * count
    site = Site(d.machine, d.instruction)
    d.site = site
    port = open_port(d, site, space, address, size)
    machine = d.machine
    whole = np.empty((machine.lanes, size), np.uint8)
    if type_.bits == 128:
        columns = [whole.view(np.uint64)]
    else:
        matrix = whole.view(unsigned(type_.bits))
        columns = [matrix[:, number] for number in range(count)]
        values = [value.view(unsigned(type_.bits)) for value in values]
    packed = whole.view(CELL[size]).reshape(-1)
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        for column, value in zip(columns, values, strict=True):
            np.copyto(column, value)
        cells, index = port.cells(lanes)
        data = packed if lanes is None else packed[lanes]
        if tracker is not None:
            tracker.stores(cells, site, size, lanes, index, data, strong)
        cells[index] = data

    return by_window(d, address, step) if space == "" else step


def decode_prefetch(d: Decode) -> Step | None:
    """prefetch and prefetchu: hints with no effect here."""
    is_uniform = d.instruction.base == "prefetchu"
    space = None if is_uniform else d.take("global", "local")
    level = d.need("L1") if is_uniform else d.need("L1", "L2", "L2::evict_last", "L2::evict_normal")
    if "::" in level and space != "global":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(1)
    return None


def decode_priority(d: Decode) -> Step | None:
    """applypriority{.global}.L2::evict_normal [a], 128: a hint with no effect here."""
    d.take("global")
    d.need("L2::evict_normal")
    d.finish(2)
    if d.constant_int(1) != _LINE:
        raise d.unsupported("applypriority of anything but 128 bytes")
    return None


def decode_discard(d: Decode) -> Step:
    """discard{.global}.L2 [a], 128: the contents of a cache line are lost."""
    d.take("global")
    d.need("L2")
    d.finish(2)
    if d.constant_int(1) != _LINE:
        raise d.unsupported("discard of anything but 128 bytes")
    site = Site(d.machine, d.instruction)
    values = address_values(d, d.address(0), 64)
    machine = d.machine
    whole = machine.global_space.cells[1]
    lines = whole[: whole.size // _LINE * _LINE].reshape(-1, _LINE)

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        try:
            lines[machine.global_space.index(_pick(values(), lanes), _LINE)] = FRESH
        except Fault as fault:
            raise site.fault(fault, lanes) from None

    return step


OPCODES = {
    "ld": decode_load,
    "ldu": decode_load,
    "st": decode_store,
    "applypriority": decode_priority,
    "discard": decode_discard,
    "prefetch": decode_prefetch,
    "prefetchu": decode_prefetch,
}
FLOORS = (
    Floor("ld b128", "", "8.3"),
    Floor("st b128", "", "8.3"),
    Floor("ld L1::*|L2::*", "", "7.4"),
    Floor("st L1::*|L2::*", "", "7.4"),
    Floor("ld L2::cache_hint", "80", "7.4"),
    Floor("st L2::cache_hint", "80", "7.4"),
    Floor("ld v8|v4.b64|v4.f64|v4.u64|v4.s64", "100", "8.8"),
    Floor("st v8|v4.b64|v4.f64|v4.u64|v4.s64", "100", "8.8"),
    Floor("discard", "80", "7.4"),
    Floor("applypriority", "80", "7.4"),
    Floor("prefetch L2::evict_last|L2::evict_normal", "80", "7.4"),
    Floor("ld mmio", "", "8.2"),
    Floor("st mmio", "", "8.2"),
    Floor("ld L2::256B", "80", "7.4"),
)
