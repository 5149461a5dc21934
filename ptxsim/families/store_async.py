"""st.async and red.async: stores to shared memory of the cluster that complete on an mbarrier. Source: PTX ISA."""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.bulk_operands import COMPLETE
from ptxsim.decode import Decode, Step
from ptxsim.floors import Floor
from ptxsim.program import Operand
from ptxsim.ptx_types import TYPES, Array, unsigned
from ptxsim.reductions import OPERATIONS, Combine, combiner
from ptxsim.shared_access import CLUSTER, positions
from ptxsim.transfer import Transfer

_STORED = ("b32", "b64", "u32", "u64", "s32", "s64", "f32", "f64")
_REDUCED = ("u32", "s32", "u64", "s64", "b32", "b64")


def decode_store_async(d: Decode) -> Step:
    """st.async{.weak}{.shared::cluster}.mbarrier::complete_tx::bytes{.v2,.v4}.type [a], b, [mbar]."""
    d.need("async")
    d.take("weak")
    space = d.take(CLUSTER)
    d.need(COMPLETE)
    count = int((d.take("v2", "v4") or "v1")[1:])
    type_ = d.type()
    if type_.name not in _STORED or count * type_.bits > 128:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3)
    items = d.vector(1, (count,))
    return _store(d, space, items, type_.bits, None)


def decode_reduce_async(d: Decode) -> Step:
    """red.async.relaxed.cluster{.shared::cluster}.mbarrier::complete_tx::bytes.op.type [a], b, [mbar]."""
    d.need("async")
    d.need("relaxed")
    d.need("cluster")
    space = d.take(CLUSTER)
    d.need(COMPLETE)
    operation = d.need(*OPERATIONS)
    type_ = d.type()
    found = combiner(operation, type_.name) if type_.name in _REDUCED else None
    if found is None or (type_.bits == 64 and operation != "add"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.finish(3)

    def combine(before: Array, given: Array) -> Array:
        bits = unsigned(type_.bits)
        return found(before.view(bits), given.view(bits)).view(np.uint8)

    return _store(d, space, (d.operands[1],), type_.bits, combine)


def _store(d: Decode, space: str | None, items: tuple[Operand, ...], bits: int, combine: Combine | None) -> Step:
    machine, transfers = d.machine, d.binding.transfers
    site = Site(machine, d.instruction)
    values = [d.value(item, TYPES[f"b{bits}"]) for item in items]
    size = len(items) * bits // 8
    target = positions(d, site, 0, space, size)
    signal = positions(d, site, 2, space, 8)
    shared = machine.shared.bytes

    def write_at(start: int, data: Array) -> None:
        window = shared[start : start + size]
        window[...] = data if combine is None else combine(window, data)

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        numbers = d.machine.lane_numbers(mask).tolist()
        if not numbers:
            return
        starts, cells = target(lanes).tolist(), (signal(lanes) >> 3).tolist()
        for lane, start, cell in zip(numbers, starts, cells, strict=True):
            data = np.array([value[lane] for value in values]).view(np.uint8)
            transfers.issue(
                Transfer(
                    site,
                    lane,
                    lambda data=data: data,
                    lambda data, start=start: write_at(start, data),
                    target=np.array([start // size]),
                    cell=cell,
                    size=size,
                    unit=size,
                    updates=combine is not None,
                )
            )

    return step


OPCODES: dict[str, Callable[[Decode], Step]] = {"st.async": decode_store_async, "red.async": decode_reduce_async}
FLOORS = (
    Floor("st.async", "90", "8.1"),
    Floor("red.async", "90", "8.1"),
)
