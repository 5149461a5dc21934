"""atom and red on global, shared and generic addresses.

Lanes that access the same address take turns in lane order, one of the orders that hardware may choose.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ptxsim.access import Site
from ptxsim.decode import Decode, Step
from ptxsim.families.load_store import by_window, open_port, space_name
from ptxsim.floats import narrow, widen
from ptxsim.floors import Floor
from ptxsim.program import Sink
from ptxsim.ptx_types import TYPES, Array, PtxType, unsigned

# New bits of cells from their old bits and the operands' bits.
Update: TypeAlias = Callable[[Array, list[Array]], Array]
# Operation to the types it exists for. Source: PTX ISA, "atom", "red"; ptxas 13.5.
_TYPES: dict[str, tuple[str, ...]] = {
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64", "b128"),
    "cas": ("b16", "b32", "b64", "b128"),
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
}
_HALVES = ("f16", "f16x2", "bf16", "bf16x2")
# Vectors: (elements, type) to operations.
_VECTORS: dict[tuple[int, str], tuple[str, ...]] = {
    (2, "f32"): ("add",),
    (4, "f32"): ("add",),
    **{(count, name): ("add", "min", "max") for count in (2, 4, 8) for name in ("f16", "bf16")},
    **{(count, name): ("add", "min", "max") for count in (2, 4) for name in ("f16x2", "bf16x2")},
}
_PLAIN: dict[str, np.ufunc] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
}


@dataclass(frozen=True, slots=True)
class Form:
    """The effect of an atom or red: operation, element type, elements of a vector, space, operands."""

    name: str
    type: PtxType
    count: int
    space: str
    sources: int


def _form(d: Decode, is_red: bool) -> Form:
    d.take("relaxed", "release", *(() if is_red else ("acquire", "acq_rel")))
    d.take("cta", "cluster", "gpu", "sys")
    space = space_name(d.take("global", "shared", "shared::cta", "shared::cluster"))
    name = d.need(*_TYPES)
    type_ = d.type()
    count = int((d.take("v2", "v4", "v8") or "v1")[1:])
    is_half = type_.name in _HALVES
    known = type_.name in _TYPES[name] if count == 1 else name in _VECTORS.get((count, type_.name), ())
    known &= d.flag("noftz") == is_half and not (is_red and name in ("exch", "cas"))
    known &= count == 1 or space in ("", "global")
    if not known:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return Form(name, type_, count, space, 2 if name == "cas" else 1)


def decode_atomic(d: Decode) -> Step:
    """atom d, [a], b{, c} and red [a], b, on scalars and on vectors, whose elements are updated one by one."""
    is_red = d.instruction.base == "red"
    form = _form(d, is_red)
    has_policy = d.flag("L2::cache_hint")
    d.finish(form.sources + (1 if is_red else 2) + has_policy)
    where = 0 if is_red else 1
    raw = TYPES[f"b{form.type.bits}"]
    count, type_ = form.count, form.type
    operands = [d.vector(where + 1 + number, (count,)) for number in range(form.sources)]
    values = [[d.value(items[element], raw) for items in operands] for element in range(count)]
    results = () if is_red else d.vector(0, (count,))
    targets = [None if isinstance(item, Sink) else d.target(item, raw) for item in results] or [None] * count
    update = _update(form.name, type_)
    site = Site(d.machine, d.instruction)
    d.site = site
    address = d.address(where)
    size = type_.bytes * count
    port = open_port(d, site, form.space, address, size)
    machine = d.machine
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells, index = port.cells(lanes)
        if tracker is not None:
            tracker.loads(cells, site, size, lanes, index, strong=True)
            tracker.stores(cells, site, size, lanes, index, None, strong=True)
        memory = _elements(cells, type_)
        for element, target in enumerate(targets):
            given = [value if lanes is None else value[lanes] for value in values[element]]
            before = in_turns(memory, index * count + element, given, update)
            if target is not None and lanes is None:
                target[...] = before
            elif target is not None:
                target[lanes] = before

    return by_window(d, address, step) if form.space == "" else step


def _elements(cells: Array, type_: PtxType) -> Array:
    """A memory as elements of a type; 128 bits are pairs of words."""
    if type_.bits == 128:
        return cells.view(np.uint64).reshape(-1, 2)
    return cells.view(unsigned(type_.bits))


def in_turns(memory: Array, index: Array, operands: list[Array], update: Update) -> Array:
    """Update cells, lane by lane if lanes share one; returns the values before each lane's turn."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    turn = np.empty(index.size, np.int64)
    turn[order] = np.arange(index.size) - np.repeat(starts, np.diff(np.append(starts, index.size)))
    before = np.empty((index.size, *memory.shape[1:]), memory.dtype)
    for number in range(int(turn.max()) + 1):
        chosen = turn == number
        cells = index[chosen]
        old = memory[cells]
        before[chosen] = old
        memory[cells] = update(old, [operand[chosen] for operand in operands])
    return before


def _update(name: str, type_: PtxType) -> Update:
    """The new bits of a cell from its old bits and the operands' bits."""
    if name == "exch":
        return lambda old, given: given[0]
    if name == "cas" and type_.bits == 128:
        return lambda old, given: np.where((old == given[0]).all(axis=1)[:, None], given[1], old)
    if name == "cas":
        return lambda old, given: np.where(old == given[0], given[1], old)
    if name == "inc":
        return lambda old, given: np.where(old >= given[0], np.uint32(0), old + np.uint32(1))
    if name == "dec":
        return lambda old, given: np.where((old == 0) | (old > given[0]), given[0], old - np.uint32(1))
    operation = _PLAIN[name]
    storage = unsigned(type_.bits)
    if type_.kind == "packed" or type_.name == "f16":
        if name != "add":
            operation = np.fmin if name == "min" else np.fmax
        return lambda old, given: narrow(operation(widen(old, type_), widen(given[0], type_)), type_).view(storage)
    dtype = type_.dtype
    return lambda old, given: operation(old.view(dtype), given[0].view(dtype)).view(storage)


OPCODES: dict[str, Callable[[Decode], Step]] = {"atom": decode_atomic, "red": decode_atomic}
FLOORS = (
    Floor("atom b128", "90", "8.3"),
    Floor("atom v2|v4|v8", "90", "8.1"),
    Floor("red v2|v4|v8", "90", "8.1"),
    Floor("atom L2::cache_hint", "80", "7.4"),
    Floor("red L2::cache_hint", "80", "7.4"),
    Floor("atom bf16|bf16x2", "90", "7.8"),
    Floor("red bf16|bf16x2", "90", "7.8"),
)
