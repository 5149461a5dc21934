"""The graph of a straight stretch of a scheduled kernel: operations between loops and branches, as the code has them.

Registers of most operations are emitted when their readers need them (`convert/tileas_to_nvgpu/registers.py`), and
ptxas orders what lies between two barriers. So the order of a stretch decides only which operations come before which
of its fences: barriers, waits, and all that has one in it. What another operation needs comes before the same fence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property

from ir.core import PURE, Block, Op, Value
from ir.dialects import nv_tileas
from ir.dialects.arith import element_of
from ir.records import dataclass
from ir.types import FloatType, TensorType
from lowering.cost import units_of
from lowering.counts import ISSUE
from lowering.modulo.ahead import free, registers_of
from lowering.modulo.graph import Dependence, Graph, Operation, delay
from lowering.modulo.listed import WAIT
from lowering.schedule.masked import moved
from lowering.schedule.readers import product_cycles
from lowering.schedule.scratch import scratch_of
from lowering.schedule.size import arithmetic_cost, layout_of, own
from lowering.targets import Target

LOADS = (nv_tileas.TiledLoad, nv_tileas.Gather)
GLOBAL = (*LOADS, nv_tileas.TiledStore, nv_tileas.Scatter, nv_tileas.TiledTmaStore)
FENCES = (
    nv_tileas.Barrier,
    nv_tileas.BarrierWait,
    nv_tileas.AsyncWait,
    nv_tileas.DotWait,
    nv_tileas.StoreWait,
    nv_tileas.TiledTmaStore,
    nv_tileas.TensorLoad,
    nv_tileas.TensorWait,
    nv_tileas.TensorMeet,
)
"""Operations that ptxas moves few accesses over; so is what passes tiles through scratch memory, with its barriers."""
CROSSED = (
    *FENCES, *LOADS, nv_tileas.TiledStore, nv_tileas.Scatter, nv_tileas.SharedLoad, nv_tileas.WriteBuffer,
    nv_tileas.AsyncTiledCopy, nv_tileas.AsyncGatherCopy, nv_tileas.AsyncCommit, nv_tileas.AsyncFence,
    nv_tileas.BarrierArrive, nv_tileas.BarrierArriveCopies, nv_tileas.BarrierExpectTx, nv_tileas.TiledTmaLoad,
    nv_tileas.TensorDot, nv_tileas.TensorStore, nv_tileas.TensorCommit,
)  # fmt: skip
"""Operations whose effect cannot change memory that a movable load reads. All others with an effect end a stretch."""
EAGER = (nv_tileas.Combining, nv_tileas.ConvertLayout, nv_tileas.Dot, *nv_tileas.PARTS)
"""Operations without an effect that are emitted where they are."""
WHOLE = (nv_tileas.Combining, nv_tileas.ConvertLayout, *nv_tileas.SELECTING)
"""Operations that wait for whole tiles, and are waited for whole."""


@dataclass(frozen=True)
class Stretch:
    """Operations of a block that follow each other, of the agent that computes on `warps` warps."""

    block: Block
    ops: tuple[Op, ...]
    target: Target
    warps: int

    @cached_property
    def places(self) -> dict[Value, int]:
        """The operation that makes each value."""
        return {result: number for number, op in enumerate(self.ops) for result in op.results}

    @cached_property
    def needs(self) -> list[list[int]]:
        """The operations whose results each operation reads."""
        return [[self.places[v] for v in op.operands if v in self.places] for op in self.ops]

    @cached_property
    def readers(self) -> list[list[int]]:
        """The operations that read results of each."""
        found: list[list[int]] = [[] for _ in self.ops]
        for number, needed in enumerate(self.needs):
            for each in needed:
                found[each].append(number)
        return found

    @cached_property
    def kept(self) -> frozenset[int]:
        """Operations whose results are also read behind the stretch."""
        inside = set(self.ops)
        behind = (each for op in self.block.ops if op not in inside for each in op.walk())
        return frozenset(self.places[v] for each in behind for v in each.operands if v in self.places)

    @cached_property
    def fences(self) -> list[int]:
        """The fences among the operations, in order."""
        return [number for number, op in enumerate(self.ops) if is_fence(op, self.target)]

    @cached_property
    def sections(self) -> list[int]:
        """Fences before the code of each operation: of one that is emitted for its readers, the first of them."""
        fences, found = set(self.fences), [0] * len(self.ops)
        before = flushed = len(fences)
        for number in range(len(self.ops) - 1, -1, -1):
            op = self.ops[number]
            before -= number in fences
            flushed = before if isinstance(op, nv_tileas.Barrier) else flushed  # pending loads come before it
            if on_demand(op):
                first = min((found[each] for each in self.readers[number]), default=len(fences))
                found[number] = min(first, flushed) if op.effect is not PURE else first
            else:
                found[number] = before
        return found

    @cached_property
    def late(self) -> tuple[int, ...]:
        """Loads that may come before a fence that they come after."""
        return tuple(
            number
            for number, op in enumerate(self.ops)
            if movable(op) and self.sections[number] > max((self.sections[n] for n in self.in_place(number)), default=0)
        )

    def needed(self, number: int) -> set[int]:
        """The operations that one needs, directly or not."""
        found, rest = set[int](), list(self.needs[number])
        while rest:
            each = rest.pop()
            if each not in found:
                found.add(each)
                rest += self.needs[each]
        return found

    def in_place(self, number: int) -> list[int]:
        """The operations among `needed` that are emitted where they are."""
        return [each for each in self.needed(number) if not on_demand(self.ops[each])]

    def freed(self, loads: Set[int]) -> set[int]:
        """Loads, and what is emitted for them."""
        found, rest = set(loads), list(loads)
        while rest:
            for each in self.needs[rest.pop()]:
                if each not in found and on_demand(self.ops[each]) and self.ops[each].effect is PURE:
                    found.add(each)
                    rest.append(each)
        return found

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """What each takes of the units, and the registers of its result."""
        return tuple(
            Operation(op.name, uses(op, self.target, self.warps), self.held(number))
            for number, op in enumerate(self.ops)
        )

    @cached_property
    def latencies(self) -> list[float]:
        """Cycles from the end of each operation to the use of its result."""
        return [latency(op, self.target) for op in self.ops]

    @cached_property
    def busy(self) -> float:
        """Cycles of the unit of an SM that has most to do."""
        units = {unit for each in self.operations for unit in each.uses if unit != WAIT}
        return max(sum(each.uses.get(unit, 0.0) for each in self.operations) for unit in units)

    def held(self, number: int) -> float:
        """Registers of a result; one that is emitted piece by piece holds any only from one section to another."""
        op = self.ops[number]
        if on_demand(op):
            sections = {self.sections[number], *(self.sections[each] for each in self.readers[number])}
            stays = len(sections) > 1 or number in self.kept
            if not stays or (op.effect is PURE and not is_float(op)):
                return 0.0
        return self.whole(number)

    def whole(self, number: int) -> float:
        """Registers of a result if a thread holds all that it has of it."""
        tiles = (v for v in self.ops[number].results if isinstance(v.type, TensorType) and not free(v))
        return float(sum(map(registers_of, tiles)))

    def graph(self, loads: Set[int]) -> Graph:
        """The dependences if these loads may come before any fence, and all else stays in its section."""
        freed, found = self.freed(loads), list[Dependence]()
        for number, needed in enumerate(self.needs):
            for each in dict.fromkeys(needed):
                whole = isinstance(self.ops[each], WHOLE) or isinstance(self.ops[number], WHOLE)
                wait = delay(self.operations[each], self.latencies[each], self.operations[number], whole)
                found.append(Dependence(each, number, wait))
        for number, section in enumerate(self.sections):
            if number in freed:
                continue
            if section:
                fence = self.fences[section - 1]
                found.append(Dependence(fence, number, self.operations[fence].busy, value=False))
            if section < len(self.fences) and number != self.fences[section]:
                found.append(Dependence(number, self.fences[section], 0.0, value=False))
        operations = list(self.operations)
        for load in loads:
            operations[load] = replace(operations[load], registers=self.whole(load))
        return Graph(tuple(operations), tuple(found))


def stretches(block: Block, target: Target, warps: int) -> Iterator[Stretch]:
    """The stretches of a block that have a fence."""
    ops: list[Op] = []
    for op in block.ops:
        if ends(op):
            yield from whole(block, ops, target, warps)
            ops = []
        else:
            ops.append(op)
    yield from whole(block, ops, target, warps)


def whole(block: Block, ops: Sequence[Op], target: Target, warps: int) -> Iterator[Stretch]:
    """A stretch, if there is anything to decide in it."""
    if any(map(movable, ops)) and any(is_fence(op, target) for op in ops):
        yield Stretch(block, tuple(ops), target, warps)


def ends(op: Op) -> bool:
    """Does an operation end a stretch: a loop, a branch, or an effect that may be one on any memory?"""
    if op.regions:
        return not isinstance(op, nv_tileas.Combining)
    return bool(op.attributes.get("order")) or (op.effect is not PURE and not isinstance(op, CROSSED))


def is_fence(op: Op, target: Target) -> bool:
    """Does an operation contain a barrier or a wait?"""
    return isinstance(op, FENCES) or (isinstance(op, EAGER) and scratch_of(op, target) > 0)


def movable(op: Op) -> bool:
    """Is it a load of memory that the kernel does not write?"""
    return isinstance(op, LOADS) and not (op.ordered or op.ahead or op.attributes.get("order"))


def on_demand(op: Op) -> bool:
    """Is its code emitted for its readers?"""
    if op.effect is PURE:
        return not isinstance(op, EAGER)
    return isinstance(op, nv_tileas.SharedLoad) or (isinstance(op, LOADS) and not op.ahead)


def is_float(op: Op) -> bool:
    """Does it make numbers that are computed, rather than coordinates?"""
    return all(isinstance(element_of(value.type), FloatType) for value in op.results)


def uses(op: Op, target: Target, warps: int) -> dict[str, float]:
    """Cycles of each unit of an SM that all warps take for an operation."""
    if own(op, target) == 0:
        return {}
    cost = arithmetic_cost(op, target, warps)
    if cost is not None:
        return units_of(cost, target)
    found = {ISSUE: own(op, target) * warps / target.throughput.issue}
    if isinstance(op, GLOBAL):
        found["global"] = moved(op) / target.throughput.global_bytes
    if isinstance(op, nv_tileas.Dot):
        found["tensor"] = product_cycles(op, target)
    if is_fence(op, target):
        found[WAIT] = found[ISSUE] + stopped(op, target)
    return found


def stopped(op: Op, target: Target) -> float:
    """Cycles that warps wait at a fence: for what a copy brings, as for its memory; others count as barriers."""
    brought = isinstance(op, nv_tileas.BarrierWait | nv_tileas.AsyncWait)
    return float(target.latency.global_ if brought else target.latency.barrier)


def latency(op: Op, target: Target) -> float:
    """Cycles from the end of an operation to the use of its result."""
    known = target.latency
    meets = float(known.shared) if isinstance(op, EAGER) and scratch_of(op, target) else 0.0
    match op:
        case nv_tileas.TiledLoad() | nv_tileas.Gather():
            return float(known.global_)
        case nv_tileas.Reduce():
            return meets + known.shuffle * steps(op)
        case _ if isinstance(op, (nv_tileas.ConvertLayout, *nv_tileas.SELECTING)):
            return meets or float(known.shuffle)
        case nv_tileas.Dot():
            return float(known.mma)
        case nv_tileas.SharedLoad():
            return float(known.shared)
        case _:
            return meets or float(known.alu)


def steps(op: nv_tileas.Reduce) -> int:
    """Shuffles of a reduction, one behind the other: one for each bit of the lane that holds parts of one result."""
    before, after = layout_of(op.sources[0]), layout_of(op.results[0])
    if before is None:
        return 0
    return sum(map(bool, before.lane)) - (sum(map(bool, after.lane)) if after is not None else 0)
