"""Straight-line code is list-scheduled: loads come before barriers and waits that they need not come after, where that
is predicted to take less time and their tiles fit the registers.

Code of innermost loops has its modulo schedule. Everything else is issued in the order of the source, by each warp; a
load behind a barrier then waits for memory that it could have asked for before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from math import ceil

from ir.core import Block, Op, Value
from ir.dialects import nv_tileas, scf
from ir.records import dataclass
from ir.types import TensorType
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import LOADS_AHEAD
from lowering.modulo.ahead import free, registers_of, through
from lowering.modulo.listed import Listed, listed, peak
from lowering.modulo.predict import SOONER
from lowering.modulo.stretches import Stretch, on_demand, stretches
from lowering.selection.choices import StretchTime
from lowering.selection.resources import ADDRESSES, SAFETY
from lowering.targets import Target
from lowering.targets.occupancy import occupancy
from lowering.targets.target import RESIDENT, WARP


@dataclass(frozen=True)
class Room:
    """What an SM has for the CTAs of a kernel: `most` registers of a thread for tiles, if as many warps share it as the
    latencies of the tables assume; `threads` of a CTA and its bytes of shared memory.
    """

    target: Target
    threads: int
    shared: int

    @property
    def most(self) -> float:
        """Registers of a thread for tiles; a hint may ask for more CTAs."""
        asked = max(1, self.target.asked_ctas)
        warps = max(self.threads // WARP, RESIDENT * int(self.target.throughput.issue) // asked)
        share = int(self.target.registers_per_sm) // (WARP * warps)
        return share - ADDRESSES - (SAFETY if asked > 1 else 0)

    def ctas(self, live: float) -> int:
        """CTAs an SM whose threads hold so many registers for tiles: as many as a hint asks for."""
        fits = occupancy(self.target, self.threads, ceil(live) + ADDRESSES, self.shared).count
        return max(1, self.target.asked_ctas or fits)


@dataclass(frozen=True)
class Way:
    """A schedule of a stretch: the most registers of a thread that tiles hold, and the operation at which; cycles of an
    SM for that of each CTA, with as many CTAs as these registers allow.
    """

    found: Listed
    live: float
    place: int
    cycles: float

    @property
    def times(self) -> tuple[float, float]:
        """Cycles of the SM for each CTA, and of a CTA with the SM to itself, as of a launch that does not fill it."""
        return self.cycles, self.found.cycles

    def better(self, other: Way) -> bool:
        """Is a CTA clearly faster, and an SM full of them not slower?"""
        return self.cycles <= other.cycles and self.found.cycles < SOONER * other.found.cycles


@dataclass(frozen=True)
class Order:
    """A stretch in the order of the source, and with loads issued earlier, each with the operation that it then
    precedes; why it stays as it is, empty if it does not.
    """

    stretch: Stretch
    before: Way
    after: Way
    ahead: tuple[tuple[int, int], ...] = ()
    why_not: str = ""

    @property
    def time(self) -> StretchTime:
        """What a report says of it; located at its first load that comes earlier, or could."""
        first = self.ahead[0][0] if self.ahead else self.stretch.late[0]
        location = self.stretch.ops[first].location
        return StretchTime(location, self.before.times, self.after.times, len(self.ahead), self.why_not)


def schedule(func: nv_tileas.Func, target: Target, forbid: Sequence[str] = ()) -> list[Order]:
    """Order the straight-line code of a scheduled kernel in place; what was decided where there was a choice."""
    room, found = room_of(func, target), list[Order]()
    for block, warps in straight(func):
        for stretch in stretches(block, target, warps):
            if stretch.late:
                found.append(chosen(stretch, room, forbid))
    for each in found:
        if not each.why_not:
            apply(each)
    return found


def straight(func: nv_tileas.Func) -> Iterator[tuple[Block, int]]:
    """The blocks outside of innermost loops that compute, and the warps of each."""
    rest = [(func.body.block, func.warps)]
    while rest:
        block, warps = rest.pop()
        yield block, warps
        for op in block.ops:
            if isinstance(op, nv_tileas.AgentSwitch):
                agents = zip(op.regions, op.roles, strict=True)
                rest += [(region.block, warps) for region, role in agents if role == nv_tileas.CONSUME]
            elif isinstance(op, scf.If) or (isinstance(op, scf.For | scf.While) and has_loop(op)):
                rest += [(region.block, warps) for region in op.regions]


def has_loop(op: Op) -> bool:
    """Is there a loop in it?"""
    return any(isinstance(each, scf.For | scf.While) for each in op.walk() if each is not op)


def room_of(func: nv_tileas.Func, target: Target) -> Room:
    """What an SM has for the CTAs of a scheduled kernel."""
    switch = next((op for op in func.body.block.ops if isinstance(op, nv_tileas.AgentSwitch)), None)
    warps = sum(switch.agent_strides) if switch is not None else func.warps
    return Room(target, WARP * warps, func.shared_bytes)


def chosen(stretch: Stretch, room: Room, forbid: Sequence[str]) -> Order:
    """The order of a stretch: that of the source, or a faster one whose tiles fit the registers."""
    around = live_through(stretch)

    def way(loads: Set[int], first: Collection[int] = ()) -> Way:
        graph = stretch.graph(loads)
        found = listed(graph, stretch.latencies, first)
        live, place = peak(graph, found.order, stretch.kept)
        return Way(found, live + around, place, max(stretch.busy, found.cycles / room.ctas(live + around)))

    before = way(frozenset())
    if forbidden(LOADS_AHEAD, forbid):
        return Order(stretch, before, before, why_not=f"{LOADS_AHEAD}: forbidden by the caller")
    loads, limit = set(stretch.late), room.most
    while loads:
        tried = [way(loads), way(loads, stretch.freed(loads))]
        fitting = [each for each in tried if each.live <= limit]
        if fitting:
            after = min(fitting, key=lambda each: each.times)
            ahead = tuple(places(stretch, loads, after.found))
            why_not = "" if ahead and after.better(before) else "no order is predicted to be clearly faster"
            return Order(stretch, before, after, ahead, why_not)
        when = {number: place for place, number in enumerate(tried[0].found.order)}
        early = [each for each in loads if when[each] <= when[tried[0].place]]
        loads.discard(max(early or loads, key=stretch.whole))
    return Order(
        stretch, before, before, why_not=f"loaded tiles would need more than {max(limit, 0):.0f} registers per thread"
    )


def places(stretch: Stretch, loads: set[int], found: Listed) -> Iterator[tuple[int, int]]:
    """The loads that come before more fences than in the source, each with the operation that it precedes."""
    when = {number: place for place, number in enumerate(found.order)}
    for load in sorted(loads, key=when.__getitem__):
        section = sum(when[fence] < when[load] for fence in stretch.fences)
        if section < stretch.sections[load]:
            needed = max(stretch.in_place(load), default=-1)
            yield (
                load,
                next(
                    number
                    for number in range(needed + 1, len(stretch.ops))
                    if not on_demand(stretch.ops[number]) and when[number] > when[load]
                ),
            )


def apply(order: Order) -> None:
    """Move loads, and what only their readers need, to their places, where they are issued."""
    stretch, block = order.stretch, order.stretch.block
    before: dict[Op, list[Op]] = {}
    for load, place in order.ahead:
        stretch.ops[load].attributes["ahead"] = True
        needed = [stretch.ops[each] for each in sorted(stretch.needed(load))]
        before.setdefault(stretch.ops[place], []).extend((*needed, stretch.ops[load]))
    block.ops[:] = dict.fromkeys(each for op in block.ops for each in (*before.get(op, ()), op))


def live_through(stretch: Stretch) -> float:
    """Registers of tiles that are made before a stretch and read in it or later."""
    ops = stretch.block.ops
    later = ops[ops.index(stretch.ops[0]) :]
    made = {result for op in later for each in op.walk() for result in each.results}
    made |= {arg for op in later for each in op.walk() for region in each.regions for arg in region.block.args}
    values: set[Value] = {v for op in later for each in op.walk() for v in each.operands if v not in made}
    if stretch.block.parent_op is not None:
        values.update(through(stretch.block.parent_op))
    return float(sum(registers_of(v) for v in values if isinstance(v.type, TensorType) and not free(v)))
