"""cp.async: copies from global to shared memory, their groups and their waits.

Without hazard tracking a copy happens when it is issued. With it, the data arrives as late as is legal: at the wait
that covers it, in the issuing thread (PTX ISA, "Data Movement and Conversion Instructions: cp.async").
"""

import numpy as np

from ptxsim.access import Site
from ptxsim.addresses import address_values
from ptxsim.decode import Decode, Step
from ptxsim.errors import OperandError
from ptxsim.families import bulk, mbarrier
from ptxsim.floors import Floor
from ptxsim.hazards import Tracker
from ptxsim.program import Immediate, Register
from ptxsim.ptx_types import TYPES, Array


def decode_cp(d: Decode) -> Step | None:
    """cp.async and its commit_group, wait_group and wait_all; bulk copies are in other modules."""
    if "bulk" in d.instruction.modifiers:
        return bulk.decode_bulk(d)
    if "mbarrier" in d.instruction.modifiers:
        return mbarrier.decode_copy_arrival(d)
    if not d.flag("async"):
        raise d.unsupported("`cp` without .async")
    if d.flag("commit_group"):
        d.finish(0)
        return _commit(d)
    if d.flag("wait_group"):
        d.finish(1)
        return _wait(d, d.constant_int(0))
    if d.flag("wait_all"):
        d.finish(0)
        return _wait_all(d)
    return _copy(d)


def _commit(d: Decode) -> Step | None:
    tracker = d.binding.hazards
    return None if tracker is None else tracker.commit


def _wait(d: Decode, pending: int) -> Step | None:
    tracker = d.binding.hazards
    if pending < 0:
        raise d.error(OperandError, "cp.async.wait_group needs a number of groups from 0 on")
    return None if tracker is None else lambda mask: tracker.wait(mask, pending)


def _wait_all(d: Decode) -> Step | None:
    tracker = d.binding.hazards
    if tracker is None:
        return None

    def step(mask: Array | None) -> None:
        tracker.commit(mask)
        tracker.wait(mask, 0)

    return step


def _copy(d: Decode) -> Step:
    cache = d.need("ca", "cg")
    d.need("shared", "shared::cta")
    d.need("global")
    d.take("L2::64B", "L2::128B", "L2::256B")
    has_policy = d.flag("L2::cache_hint")
    d.finish(3, 4 + has_policy)
    size = d.constant_int(2)
    if size not in ((16,) if cache == "cg" else (4, 8, 16)):
        raise d.error(OperandError, f"cp.async.{cache} copies {'16' if cache == 'cg' else '4, 8 or 16'} bytes")
    machine = d.machine
    to_shared = address_values(d, d.address(0), 32)
    from_global = address_values(d, d.address(1), 64)
    site = Site(machine, d.instruction)
    site.counts_banks = site.counts_sectors = True
    d.site = site
    source_bytes, ignored = _source_size(d, size, has_policy)
    tracker = d.binding.hazards

    def step(mask: Array | None) -> None:
        lanes = machine.active(mask)
        if lanes is not None and not lanes.any():
            return
        target = to_shared() if lanes is None else to_shared()[lanes]
        source = from_global() if lanes is None else from_global()[lanes]
        index = site.shared_index(target, size, lanes)
        if source_bytes is None and ignored is None:
            data = _taken(site, source, size, lanes, tracker)
        else:
            data = _partial(site, source, size, lanes, source_bytes, ignored, tracker)
        if tracker is None:
            machine.shared.cells[size][index] = data
        else:
            tracker.copy(site, size, lanes, index, data)

    return step


def _source_size(d: Decode, size: int, has_policy: bool) -> tuple[Array | None, Array | None]:
    """The optional source size or ignore-source predicate; None if the whole source is copied."""
    if len(d.operands) - has_policy < 4:
        return None, None
    operand = d.operands[3]
    if isinstance(operand, Immediate):
        value = d.constant_int(3)
        if not 0 <= value <= size:
            raise d.error(OperandError, f"a source size of {value} bytes is not within 0 to {size}")
        return (None if value == size else d.read(3, TYPES["u32"])), None
    if isinstance(operand, Register) and operand.type.kind == "pred":
        return None, d.read(3, TYPES["pred"])
    return d.read(3, TYPES["u32"]), None


def _partial(
    site: Site,
    source: Array,
    size: int,
    lanes: Array | None,
    source_bytes: Array | None,
    ignored: Array | None,
    tracker: Tracker | None,
) -> Array:
    """Data for copies with fewer source bytes than destination bytes: the rest is zero, and is not read. The address
    must be aligned even if nothing is read (PTX ISA, cp.async: alignment as in "Addresses as Operands").
    """
    machine = site.machine
    if ignored is not None:
        wanted = np.where(ignored if lanes is None else ignored[lanes], 0, size)
    else:
        given = source_bytes if source_bytes is not None else np.full(machine.lanes, size)
        wanted = given if lanes is None else given[lanes]
    if (wanted == size).all():
        return _taken(site, source, size, lanes, tracker)
    wanted = wanted.astype(np.int64)
    worst = int(wanted.max())
    if worst > size:
        raise site.error(OperandError, f"a source size of {worst} bytes is more than the {size} bytes copied")
    lengths = np.flatnonzero(np.bincount(wanted, minlength=size + 1))
    data = np.zeros((source.size, size), np.uint8)
    numbers = np.arange(machine.lanes) if lanes is None else np.flatnonzero(lanes)
    misaligned = source % np.uint64(size) != 0
    if misaligned.any():
        lane = int(numbers[int(np.argmax(misaligned))])
        raise site.misaligned(lane, f"address {int(source[misaligned][0]):#x} is not a multiple of {size}")
    for length in lengths[lengths > 0]:
        chosen = wanted == length
        active = np.zeros(machine.lanes, np.bool_)
        active[numbers[chosen]] = True
        data[chosen, : int(length)] = _read_bytes(site, source[chosen], size, int(length), active, tracker)
    return data.view(machine.shared.cells[size].dtype).reshape(-1)


def _read_bytes(site: Site, source: Array, size: int, length: int, active: Array, tracker: Tracker | None) -> Array:
    """The first `length` bytes at addresses that are aligned to `size`; nothing beyond them is accessed."""
    if length == size:
        return _taken(site, source, size, active, tracker).view(np.uint8).reshape(-1, size)
    unit = length & -length
    parts = [
        _taken(site, source + np.uint64(start), unit, active, tracker).view(np.uint8).reshape(-1, unit)
        for start in range(0, length, unit)
    ]
    return np.concatenate(parts, axis=1)


def _taken(site: Site, source: Array, size: int, lanes: Array | None, tracker: Tracker | None) -> Array:
    """What lanes read at global addresses. Reports reads of bytes that a copy of the async proxy is writing."""
    cells = site.machine.global_space.cells[size]
    index = site.global_index(source, size, lanes)
    if tracker is not None:
        tracker.loads(cells, site, size, lanes, index, False)
    return cells.take(index)


OPCODES = {"cp": decode_cp}
FLOORS = (
    Floor("cp.async", "80", "7.0"),
    Floor("cp.async !bulk L2::*", "", "7.4"),
)
