"""cp.async.bulk and cp.reduce.async.bulk without a tensor map, their groups, and the prefetch.

Sizes and addresses are multiples of 16 bytes. Source: PTX ISA, "cp.async.bulk", "cp.reduce.async.bulk".
"""

from collections.abc import Callable, Sequence

import numpy as np

from ptxsim.access import Site
from ptxsim.addresses import address_values
from ptxsim.bulk_operands import (
    COMPLETE,
    UNIT,
    SharedRange,
    Signal,
    global_position,
    multicast,
)
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError
from ptxsim.families import tensor_copy
from ptxsim.floors import Floor
from ptxsim.ptx_types import TYPES, Array, unsigned
from ptxsim.reductions import OPERATIONS, Combine, combiner
from ptxsim.shared_access import CLUSTER
from ptxsim.transfer import Transfer

# Types of reductions by destination. Source: PTX ISA, "cp.reduce.async.bulk".
_SHARED_TYPES = ("s32", "u32", "s64", "u64", "b32", "b64")
_GLOBAL_TYPES = ("f16", "bf16", "f32", "f64", "s32", "u32", "s64", "u64", "b32", "b64")


def decode_bulk(d: Decode) -> Step | None:
    """cp.async.bulk..., cp.reduce.async.bulk..."""
    is_reduction = d.flag("reduce")
    d.need("async")
    d.need("bulk")
    if d.flag("commit_group"):
        return _commit(d)
    if d.flag("wait_group"):
        return _wait(d)
    if d.flag("prefetch"):
        return tensor_copy.decode_prefetch(d) if d.flag("tensor") else _prefetch(d)
    if d.flag("tensor"):
        return tensor_copy.decode_tensor(d, is_reduction)
    target = d.need("shared::cta", CLUSTER, "global")
    source = d.need("shared::cta", "global")
    if target == "global":
        return _to_global(d, source, is_reduction)
    return _to_shared(d, target, source, is_reduction)


def _commit(d: Decode) -> Step | None:
    d.finish(0)
    transfers = d.binding.transfers
    return (lambda mask: transfers.commit(d.machine.lane_numbers(mask).tolist())) if transfers.is_late else None


def _wait(d: Decode) -> Step | None:
    is_read = d.flag("read")
    d.finish(1)
    pending = d.constant_int(0)
    if pending < 0:
        raise d.error(OperandError, "cp.async.bulk.wait_group needs a number of groups from 0 on")
    transfers = d.binding.transfers
    if not transfers.is_late:
        return None
    return lambda mask: transfers.wait(d.machine.lane_numbers(mask).tolist(), pending, is_read)


def _prefetch(d: Decode) -> Step:
    d.need("L2")
    d.need("global")
    has_policy = d.flag("L2::cache_hint")
    d.finish(2 + has_policy)
    site = Site(d.machine, d.instruction)
    source, size = address_values(d, d.address(0), 64), _size(d, site, 1)

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            global_position(d, site, lane, int(source()[lane]), size(lane))

    return step


def _size(d: Decode, site: Site, number: int) -> Callable[[int], int]:
    values = d.read(number, TYPES["u32"])

    def size(lane: int) -> int:
        found = int(values[lane])
        if found % UNIT or found == 0:
            raise site.error(
                OperandError, f"{d.machine.describe(lane)} copies {found} bytes; a bulk copy needs a multiple of {UNIT}"
            )
        return found

    return size


def _to_shared(d: Decode, target: str, source: str, is_reduction: bool) -> Step:
    d.need(COMPLETE)
    is_multicast = d.flag("multicast::cluster")
    has_policy = d.flag("L2::cache_hint")
    from_global = source == "global"
    if (is_multicast and not (from_global and target == CLUSTER)) or (has_policy and not from_global):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    if not from_global and target != CLUSTER:
        raise d.unsupported("a bulk copy from shared::cta to shared::cta")
    combine, width = _combine(d, _SHARED_TYPES) if is_reduction else (None, 1)
    d.finish(4 + is_multicast + has_policy)
    machine, transfers = d.machine, d.binding.transfers
    site = Site(machine, d.instruction)
    destination, signal = SharedRange(d, site, 0, target), Signal(d, site, 3, target)
    size = _size(d, site, 2)
    destinations = multicast(d, site, 4 if is_multicast else None)
    shared_source = None if from_global else SharedRange(d, site, 1, source)
    global_source = address_values(d, d.address(1), 64) if from_global else None

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            count = size(lane)
            start, cell = destination.start(lane), signal.cell(lane)
            reads, origin = None, None
            if global_source is not None:
                where = global_position(d, site, lane, int(global_source()[lane]), count)
                read = _reader(machine.memory.arena, where, count)
                origin = _stretch(where, count)
            elif shared_source is not None:
                where = shared_source.start(lane)
                reads = shared_source.cells(lane, where, count)
                read = _reader(machine.shared.bytes, where, count)
            else:
                continue
            for shift in destinations.shifts(lane, start):
                writes = destination.cells(lane, start + shift, count)
                write = _writer(machine.shared.bytes, start + shift, count, combine, width)
                transfers.issue(
                    Transfer(
                        site,
                        lane,
                        read,
                        write,
                        reads,
                        writes,
                        cell + (shift >> 3),
                        count,
                        updates=is_reduction,
                        origin=origin,
                    )
                )

    return step


def _to_global(d: Decode, source: str, is_reduction: bool) -> Step:
    if source != "shared::cta":
        raise d.unsupported(f"`{d.instruction.opcode}`")
    d.need("bulk_group")
    has_policy = d.flag("L2::cache_hint")
    has_mask = d.flag("cp_mask")
    combine, width = _combine(d, _GLOBAL_TYPES) if is_reduction else (None, 1)
    d.finish(3 + has_policy + has_mask)
    machine, transfers = d.machine, d.binding.transfers
    site = Site(machine, d.instruction)
    target = address_values(d, d.address(0), 64)
    origin, size = SharedRange(d, site, 1, source), _size(d, site, 2)
    chosen = d.read_narrow(3 + has_policy, TYPES["u16"]) if has_mask else None

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            count = size(lane)
            where = global_position(d, site, lane, int(target()[lane]), count)
            start = origin.start(lane)
            keeps = None if chosen is None else _byte_mask(int(chosen[lane]), count)
            write = _writer(machine.memory.arena, where, count, combine, width, keeps)
            read = _reader(machine.shared.bytes, start, count)
            cells, landing = origin.cells(lane, start, count), _stretch(where, count)
            transfers.issue(Transfer(site, lane, read, write, cells, updates=is_reduction, landing=landing))

    return step


def _stretch(where: int, count: int) -> Callable[[], Array]:
    return lambda: np.arange(where, where + count)


def _byte_mask(chosen: int, count: int) -> Array:
    """.cp_mask: bit i selects whether byte i of every 16 is copied."""
    bits: Array = (chosen >> np.arange(UNIT)) & 1
    return np.tile(bits.astype(np.bool_), count // UNIT)


def _combine(d: Decode, types: Sequence[str]) -> tuple[Combine, int]:
    operation = d.need(*OPERATIONS)
    type_ = d.type()
    is_half = type_.name in ("f16", "bf16")
    if d.flag("noftz") != (operation == "add" and is_half):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    found = combiner(operation, type_.name) if type_.name in types else None
    if found is None or (type_.name in ("f32", "f64") and operation != "add"):
        raise d.unsupported(f"`{d.instruction.opcode}`")
    return found, type_.bytes


def _reader(source: Array, where: int, count: int) -> Callable[[], Array]:
    return lambda: source[where : where + count].copy()


def _writer(
    target: Array, where: int, count: int, combine: Combine | None, width: int, keeps: Array | None = None
) -> Callable[[Array], None]:
    window = target[where : where + count]

    def write(data: Array) -> None:
        if combine is not None:
            bits = unsigned(8 * width)
            window[...] = combine(window.view(bits), data.view(bits)).view(np.uint8)
        elif keeps is not None:
            window[keeps] = data[keeps]
        else:
            window[...] = data

    return write


FLOORS = (
    Floor("cp.async.bulk", "90", "8.0"),
    Floor("cp.reduce.async.bulk", "90", "8.0"),
    Floor("cp.async.bulk shared::cta.global", "", "8.6"),
    Floor("cp.async.bulk cp_mask", "100", "8.6"),
)
