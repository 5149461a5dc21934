"""atom and red on global, shared and generic addresses.

Lanes that meet at one address take their turns in lane order, one of the orders that hardware may choose.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from runtime.simulator.access import Site
from runtime.simulator.decode import Decode, Step
from runtime.simulator.families.floating import narrow, widen
from runtime.simulator.families.load_store import by_window, open_port, space_name
from runtime.simulator.program import Sink
from runtime.simulator.types import TYPES, Array, PtxType, unsigned

# New bits of cells from their old bits and the operands' bits.
Update: TypeAlias = Callable[[Array, list[Array]], Array]
# Operation to the types it exists for. Source: PTX ISA, "atom", "red".
_TYPES: dict[str, tuple[str, ...]] = {
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
    "add": ("u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
    "max": ("u32", "s32", "u64", "s64", "f16", "f16x2", "bf16", "bf16x2"),
}
_PLAIN: dict[str, Any] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
}


def decode_atomic(d: Decode) -> Step:
    """atom d, [a], b{, c} and red [a], b."""
    is_red = d.instruction.base == "red"
    d.take("sem", "relaxed", "acquire", "release", "acq_rel")
    d.take("cta", "cluster", "gpu", "sys")
    space = space_name(d.take("global", "shared", "shared::cta", "shared::cluster"))
    name = d.need(*_TYPES)
    type_ = d.type()
    needs_noftz = name == "add" and type_.name in ("f16", "f16x2", "bf16", "bf16x2")
    has_noftz = d.flag("noftz")
    has_policy = d.flag("L2::cache_hint")
    if type_.name not in _TYPES[name] or (has_noftz and not needs_noftz):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if is_red and name in ("exch", "cas"):
        raise d.unsupported(f"red.{name}")
    sources = 2 if name == "cas" else 1
    d.finish(sources + (1 if is_red else 2) + has_policy)
    where = 0 if is_red else 1
    raw = TYPES[f"b{type_.bits}"]
    values = [d.read(where + 1 + number, raw) for number in range(sources)]
    target = None if is_red or isinstance(d.operands[0], Sink) else d.write(0, raw)
    update = _update(name, type_)
    site = Site(d.machine, d.instruction)
    d.site = site
    address = d.address(where)
    port = open_port(d, site, space, address, type_.bytes)
    machine = d.machine
    storage = unsigned(type_.bits)
    size = type_.bytes
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        cells, index = port.cells(lanes)
        if tracker is not None:
            tracker.loads(cells, site, size, lanes, index, strong=True)
            tracker.stores(cells, site, size, lanes, index, None, strong=True)
        memory = cells.view(storage)
        operands = [value if lanes is None else value[lanes] for value in values]
        before = _in_turns(memory, index, operands, update)
        if target is not None:
            if lanes is None:
                target[...] = before
            else:
                target[lanes] = before

    return by_window(d, address, step) if space == "" else step


def _in_turns(memory: Array, index: Array, operands: list[Array], update: Update) -> Array:
    """Update cells, lane by lane where lanes share one; the values before each lane's turn."""
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    turn = np.empty(index.size, np.int64)
    turn[order] = np.arange(index.size) - np.repeat(starts, np.diff(np.append(starts, index.size)))
    before = np.empty(index.size, memory.dtype)
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
