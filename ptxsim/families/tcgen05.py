"""tcgen05: tensor memory and the fifth-generation tensor core. Allocation, ordering, copies; moves and products are in
other modules.

Without hazard tracking everything completes when it is issued. Source: PTX ISA, "TensorCore 5th Generation Family
Instructions".
"""

from collections.abc import Callable

import numpy as np

from ptxsim.access import Site
from ptxsim.control import condition_of
from ptxsim.decode import Decode, Step
from ptxsim.descriptors import DescriptorError, tcgen05_descriptor
from ptxsim.elements import unpack
from ptxsim.errors import OperandError
from ptxsim.families.load_store import address_values
from ptxsim.families.matrix import all_members
from ptxsim.families.tcgen05_mma import decode_mma
from ptxsim.families.tcgen05_move import decode_load, decode_store
from ptxsim.families.tcgen05_site import TensorSite, group_size
from ptxsim.floors import Floor
from ptxsim.grains import grains
from ptxsim.machine import WARP
from ptxsim.multiprocessor import Request
from ptxsim.ptx_types import TYPES, Array
from ptxsim.shared_access import CLUSTER, OWN, Positions, position_of, positions
from ptxsim.shared_tiles import TileReader
from ptxsim.tensor_memory import LANES, SLAB, TensorMemoryError
from ptxsim.waiting import Wait


def decode_tcgen05(d: Decode) -> Step | None:
    """Every tcgen05 instruction."""
    action = d.need(*_ACTIONS)
    return _ACTIONS[action](d)


def _aligned(d: Decode) -> None:
    d.need("sync")
    d.need("aligned")
    all_members(d)


def _per_warp(site: TensorSite, mask: Array | None) -> list[int]:
    """The first active lane of every warp that takes part."""
    lanes = site.machine.active(mask)
    here = site.machine.live_mask() if lanes is None else lanes
    by_warp = here.reshape(-1, WARP)
    warps = np.flatnonzero(by_warp.any(axis=1))
    return (warps * WARP + by_warp[warps].argmax(axis=1)).tolist()


def _alloc(d: Decode) -> None:
    """tcgen05.alloc: a warp, all lanes of which must arrive, waits until its CTA may have the columns."""
    size = group_size(d)
    _aligned(d)
    space = d.take(*OWN)
    _need_type(d, "b32")
    d.finish(2)
    site = TensorSite(d)
    where = positions(d, site, 0, space, 4)
    columns = d.read(1, TYPES["u32"])
    memory, mbarriers = site.core.memory, d.binding.transfers.mbarriers

    def request(lane: int) -> Request:
        try:
            found = memory.request(site.cta(lane), lane // WARP, int(columns[lane]), size == 2)
            memory.serve()
        except TensorMemoryError as problem:
            raise site.wrong(lane, str(problem)) from None
        return found

    def arrive(lanes: Array) -> None:
        mbarriers.note_change()  # wait for the rest of a warp, or the other CTA of a pair

    def ready(lanes: Array) -> Array:
        absent: Array = np.any((d.machine.live_mask() & ~lanes).reshape(-1, WARP), axis=1)
        whole = [lane for lane in _per_warp(site, lanes) if not absent[lane // WARP]]
        for lane in whole:
            request(lane)
        result = np.zeros(d.machine.lanes, np.bool_)
        for lane in whole:
            if request(lane).first is not None:
                first = lane // WARP * WARP
                result[first : first + WARP] = True
        return lanes & result

    def resume(lanes: Array, is_complete: bool) -> None:
        for lane in _per_warp(site, lanes):
            _store(d, site, lane, where, memory.take(request(lane)))
        mbarriers.note_change()

    def describe(lane: int) -> str:
        return memory.describe(request(lane))

    condition = condition_of(d, d.instruction.guard)
    d.control = Wait(d.pc, d.pc + 1, condition, ready, resume, describe, arrive)


def _store(d: Decode, site: TensorSite, lane: int, where: Positions, address: int) -> None:
    """tcgen05.alloc stores the address of the columns in shared memory, by one lane of a warp."""
    tracker = d.binding.hazards
    one = np.zeros(d.machine.lanes, np.bool_)
    one[lane] = True
    cell = where(one) >> 2
    data = np.array([address], np.uint32)
    if tracker is not None:
        tracker.write(site, 4, one, cell, data)
        # not a generic write: the async proxy may overwrite the word later without a proxy fence
        tracker.proxies.async_wrote(grains(cell, 4, tracker.grain).reshape(-1))
    d.machine.shared.cells[4][cell] = data


def _dealloc(d: Decode) -> Step:
    group_size(d)
    _aligned(d)
    _need_type(d, "b32")
    d.finish(2)
    site = TensorSite(d)
    address, columns = d.read(0, TYPES["u32"]), d.read(1, TYPES["u32"])

    def step(mask: Array | None) -> None:
        for lane in _per_warp(site, mask):
            cta, first, count = site.cta(lane), int(address[lane]), int(columns[lane])
            if site.core.order is not None:
                site.core.order.freed(site, lane, cta, first & 0xFFFF, count)
            try:
                site.core.memory.free(cta, first, count)
            except TensorMemoryError as problem:
                raise site.wrong(lane, str(problem)) from None
            d.binding.transfers.mbarriers.note_change()

    return step


def _relinquish(d: Decode) -> Step:
    group_size(d)
    _aligned(d)
    d.finish(0)
    site = TensorSite(d)

    def step(mask: Array | None) -> None:
        for lane in _per_warp(site, mask):
            site.core.memory.relinquish(site.cta(lane))
            d.binding.transfers.mbarriers.note_change()

    return step


def _need_type(d: Decode, name: str) -> None:
    if d.type().name != name:
        raise d.unsupported(f"`{d.instruction.opcode}`")


def _fence(d: Decode) -> None:
    """tcgen05.fence: operations here run in program order, so only its form is checked."""
    d.finish(0)


def _wait(is_store: bool) -> Callable[[Decode], Step | None]:
    def decode(d: Decode) -> Step | None:
        _aligned(d)
        d.finish(0)
        site, tracker = TensorSite(d), d.binding.hazards
        order = site.core.order
        if order is None or tracker is None:
            return None

        def step(mask: Array | None) -> None:
            lanes = d.machine.active(mask)
            here = d.machine.live_mask() if lanes is None else lanes
            order.wait(tracker.clocks.present(here), is_store)
            if not is_store:
                tracker.flights.wait_loads(mask)

        return step

    return decode


def _commit(d: Decode) -> Step:
    group_size(d)
    d.need("mbarrier::arrive::one")
    space = d.take(CLUSTER, *OWN)
    is_multicast = d.flag("multicast::cluster")
    _need_type(d, "b64")
    d.finish(1 + is_multicast)
    site = TensorSite(d)
    where = position_of(d, site, 0, space, 8)
    targets = d.read(1, TYPES["u16"]) if is_multicast else None
    size, stride = d.machine.geometry.cluster_size, d.machine.shared.stride

    def cells(lane: int) -> list[int]:
        position = where(lane)
        if targets is None:
            return [position >> 3]
        chosen = [rank for rank in range(16) if int(targets[lane]) >> rank & 1]
        if any(rank >= size for rank in chosen):
            raise site.wrong(lane, f"commits to CTAs {chosen} of a cluster of {size}")
        first, inside = site.cta(lane) // size * size, position % stride
        return [((first + rank) * stride + inside) >> 3 for rank in chosen]

    def step(mask: Array | None) -> None:
        lanes = d.machine.lane_numbers(mask).tolist()
        if lanes:  # under a predicate that may be false for all of them
            site.core.commit(site, lanes, [cells(lane) for lane in lanes])

    return step


# Shape and multicast -> rows, bytes of a row, and the lanes of row 0..rows-1 of each copy
_COPIES: dict[str, tuple[int, int, list[Array]]] = {
    "128x256b": (128, 32, [np.arange(128)]),
    "128x128b": (128, 16, [np.arange(128)]),
    "4x256b": (4, 32, [np.arange(4) * SLAB]),
    "64x128b.warpx2::02_13": (64, 16, [np.arange(64), np.arange(64) + 64]),
    "64x128b.warpx2::01_23": (64, 16, [np.arange(64) // 32 * 64 + np.arange(64) % 32 + shift for shift in (0, 32)]),
    "32x128b.warpx4": (32, 16, [np.arange(32) + SLAB * slab for slab in range(4)]),
}


def _copy(d: Decode) -> Step:
    """tcgen05.cp: rows that a descriptor names go to lanes of tensor memory, unpacked to bytes if requested."""
    size = group_size(d)
    shape = d.need("128x256b", "128x128b", "4x256b", "64x128b", "32x128b")
    spread = d.take("warpx2::02_13", "warpx2::01_23", "warpx4")
    name = shape if spread is None else f"{shape}.{spread}"
    bits = 0
    if d.flag("b8x16"):
        bits = int(d.need("b4x16_p64", "b6x16_p32")[1])
    d.finish(2)
    if name not in _COPIES:
        raise d.unsupported(f"`{d.instruction.opcode}`")
    rows, row_bytes, copies = _COPIES[name]
    site = TensorSite(d)
    address, descriptor = address_values(d, d.address(0), 32), d.read(1, TYPES["b64"])
    reader = TileReader(d.machine, tcgen05_descriptor, "u8", rows, row_bytes, True, 2 * bits or None)

    def run(lane: int) -> None:
        target, bits_given = int(address()[lane]), descriptor[lane : lane + 1]
        first, column = target >> 16, target & 0xFFFF
        number = site.begin(lane, "tcgen05.cp", name)
        for cta in site.core.group(site.cta(lane), size):
            site.core.memory.check(cta, column, row_bytes // 4)
            tile = reader.tile(bits_given, np.array([cta]))
            site.reads_shared(lane, number, reader, tile)
            raw = reader.raw(tile)[0]
            if bits:
                # 4-bit values go to the middle of the byte, where kind::f8f6f4 reads them
                raw = unpack(raw.reshape(rows, -1, 16), bits).reshape(rows, -1) << (2 if bits == 4 else 0)
            words = np.ascontiguousarray(raw).view(np.uint32)
            for lanes in copies:
                places = (lanes + first) % LANES
                site.writes(number, cta, places[:, None], column + np.arange(row_bytes // 4))
                site.core.memory.words[cta, places[:, None], column + np.arange(row_bytes // 4)] = words

    return _single(d, site, run)


def _shift(d: Decode) -> Step:
    """tcgen05.shift.down: rows of 32 bytes move down by one lane in a slab of 32; the last is lost, the first stays."""
    size = group_size(d)
    d.need("down")
    d.finish(1)
    site = TensorSite(d)
    address = address_values(d, d.address(0), 32)

    def run(lane: int) -> None:
        target = int(address()[lane])
        first, column = target >> 16, target & 0xFFFF
        if first % SLAB or first >= LANES:
            raise TensorMemoryError(f"shifts lane {first}; the lane of the address is a multiple of {SLAB}")
        number = site.begin(lane, "tcgen05.shift", "")
        rows, columns = np.arange(first, first + SLAB)[:, None], column + np.arange(8)
        for cta in site.core.group(site.cta(lane), size):
            site.core.memory.check(cta, column, 8)
            site.reads(number, cta, rows, columns, ("tcgen05.mma", "tcgen05.cp", "tcgen05.shift"))
            site.writes(number, cta, rows[1:], columns)
            words = site.core.memory.words[cta]
            words[rows[1:], columns] = words[rows[:-1], columns]

    return _single(d, site, run)


def _single(d: Decode, site: Site, run: Callable[[int], None]) -> Step:
    """A step that runs once for each active thread."""

    def step(mask: Array | None) -> None:
        for lane in d.machine.lane_numbers(mask).tolist():
            try:
                run(lane)
            except (DescriptorError, TensorMemoryError) as problem:
                raise site.error(OperandError, f"{d.machine.describe(lane)}: {problem}") from None

    return step


def _product(d: Decode) -> Step:
    site = TensorSite(d)
    product = decode_mma(d, site)
    single = _single(d, site, product.run)

    def step(mask: Array | None) -> None:
        lanes = d.machine.lane_numbers(mask)
        try:
            done = lanes.size > 1 and product.run_together(lanes)
        except (DescriptorError, TensorMemoryError):
            done = False  # one thread after the other, so that errors name the thread
        if not done:
            single(mask)

    return step


_ACTIONS: dict[str, Callable[[Decode], Step | None]] = {
    "alloc": _alloc,
    "dealloc": _dealloc,
    "relinquish_alloc_permit": _relinquish,
    "fence::before_thread_sync": _fence,
    "fence::after_thread_sync": _fence,
    "wait::ld": _wait(False),
    "wait::st": _wait(True),
    "commit": _commit,
    "cp": _copy,
    "shift": _shift,
    "ld": decode_load,
    "st": decode_store,
    "mma": _product,
}

OPCODES = {"tcgen05": decode_tcgen05}
FLOORS = (
    Floor("tcgen05", "100f 110f", "8.6"),
    Floor("tcgen05.ld.red", "103f 110f", "8.6"),
    Floor("tcgen05.mma block16|block32", "", "8.8"),
    Floor("tcgen05.mma scale_vec::*", "100a 103a 110a", "8.6"),
    Floor("tcgen05.mma scale_vec::4X", "", "8.7"),
    Floor("tcgen05.mma kind::i8", "100a 110a", "8.6"),
    Floor("tcgen05.mma !block_scale !sp imm #6|#7", "100f", "8.6"),
    Floor("tcgen05.shift", "100a 103a 110a", "8.6"),
)
