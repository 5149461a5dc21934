"""What a producer needs from the kernel besides its copies, and how it obtains each value.

    rematerialised  counters, tile indices, views; loads that no store of the kernel is ordered with; tiles of row
                    numbers, pointers and masks, in layouts of the producer's own warps (relaid.py)
    hoisted         a scalar loaded before anything is written: loaded before the agents split, seen by both
    sent            any other scalar: a consumer sends it through shared memory where it is computed; likewise, without
                    a value, the signal that the stores a ring's copies are ordered after are complete

The producer keeps the loops and branches around its copies (the skeleton) and the parts of them that it needs: a slice
of the program. Both agents reach their waits in source order, so neither waits for something after its own wait.
Source: the seeds' ResolveAgentBoundary and MaterializeSchedule; program slicing after Weiser (1981).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence, Set

from ir.core import WRITE, Block, Builder, Op, Type, Value
from ir.dialects import arith, llvm, nv_tileas, scf
from ir.records import dataclass
from ir.types import GLOBAL_PTR, FloatType, IntType, TensorType
from lowering.layouts.layout import Layout
from lowering.schedule.fills import Boxed, Fill, Written
from lowering.schedule.relaid import operand_layouts, relayable, remade, spread
from lowering.schedule.rings import Staged
from lowering.schedule.states import enclosing

Placed = tuple[Value, Layout | None]
"""A value, and the layout in which it is needed if it is a tile."""


@dataclass
class Plan:
    """A loop whose copies a producer performs into a ring of `stages`, and how. `first` are the same copies
    for one stage before the loop, if it begins with one. Without a loop: copies that fill the ring once. `paired`: for
    the products of a pair of CTAs.
    """

    loop: scf.For | None
    copies: Sequence[Staged]
    fills: list[Fill]
    stages: int
    first: list[nv_tileas.TiledCopy]
    paired: bool = False

    @property
    def around(self) -> list[scf.For | scf.While | scf.If]:
        """The loops and branches around its copies, innermost first."""
        return [*enclosing(self.copies[0])]

    @property
    def after_store(self) -> bool:
        """Does it read data that the consumers have stored before the loop?"""
        return any(copy.after_store for copy in (*self.first, *self.copies) if not isinstance(copy, nv_tileas.Hold))

    @property
    def written(self) -> bool:
        """Does an agent compute and store the tiles?"""
        return any(isinstance(fill, Written) for fill in self.fills)

    def inputs(self) -> list[Placed]:
        """What its copies need: their tile's coordinates, and the view or the pointers where threads copy."""
        pairs = [*zip(self.copies, self.fills, strict=True), *zip(self.first, self.fills, strict=False)]
        return [each for copy, fill in pairs for each in source_operands(copy, fill)]


def source_operands(copy: Staged, fill: Fill) -> list[Placed]:
    """Operands of a copy that its producer must have: the index if a tensor map replaces the view; otherwise the view,
    or pointers and mask in the layout in which it copies.
    """
    if isinstance(fill, Boxed):
        assert isinstance(copy, nv_tileas.TiledCopy)
        return [(value, None) for value in copy.index]
    return [(value, fill.layout if spread(value) else None) for value in copy.operands]


class Way(enum.Enum):
    """How a producer obtains the results of an op."""

    REMATERIALISE = enum.auto()
    HOIST = enum.auto()
    SEND = enum.auto()


ControlFlow = scf.For | scf.While | scf.If


class Slice:
    """The slice of a kernel that an agent runs in addition to its own work.

    `skeleton`: the loops and branches it keeps, `needed`: values it reads, `ways`: how it obtains values computed
    elsewhere, `layouts`: those in which it needs a tile.
    """

    def __init__(self, skeleton: Iterable[ControlFlow], wanted: Iterable[Placed], early: Set[Op] = frozenset()):
        """`wanted`: what its work reads, tiles in layouts of its own. `early`: scalars that may be computed before the
        agents split.
        """
        self.early = early
        self.skeleton = dict.fromkeys(skeleton)  # in order
        self.needed: set[Value] = set()
        self.ways: dict[Value, Way | None] = {}
        self.layouts: dict[Value, dict[Layout, None]] = {}
        self.need([*((v, None) for each in self.skeleton for v in control(each)), *wanted])

    def need(self, values: Sequence[Placed]) -> None:
        """Add values and their dependences."""
        waiting = list(values)
        while waiting:
            value, layout = waiting.pop()
            if layout is not None:
                found = self.layouts.setdefault(value, {})
                if layout not in found:
                    found[layout] = None
                    waiting += self.parts(value, layout)
            elif value not in self.needed:
                self.needed.add(value)
                waiting += [(each, None) for each in self.sources(value)]

    def parts(self, value: Value, layout: Layout) -> list[Placed]:
        """What the producer needs to rematerialise a tile in a layout; not possible for carried values and branch
        results.
        """
        owner = value.owner
        if isinstance(owner, Block) or owner in self.skeleton or not relayable(owner):
            self.ways[value] = None
            return []
        self.ways[value] = Way.REMATERIALISE
        return self.operands(owner, layout)

    def operands(self, op: Op, layout: Layout) -> list[Placed]:
        """The operands of an op that is made again in a layout, each with its own."""
        return operand_layouts(op, layout)

    def remade(self, op: Op, layout: Layout, operands: Sequence[Value], b: Builder) -> Sequence[Value]:
        """Its results, of these operands."""
        return remade(op, layout, operands, b)

    def sources(self, value: Value) -> list[Value]:
        """What the producer needs to rematerialise a value."""
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op
            if not isinstance(loop, scf.For | scf.While) or value not in carried(loop):
                return []
            place = carried(loop).index(value)
            return [loop.init[place], left(loop)[place]]
        if isinstance(owner, scf.For | scf.While) and owner in self.skeleton:
            return [carried(owner)[value.index]]
        if owner in self.skeleton:
            return [region.block.terminator.operands[value.index] for region in owner.regions]
        self.ways[value] = way = self.way(owner, value)
        return list(owner.operands) if way is Way.REMATERIALISE else []

    def way(self, op: Op, value: Value) -> Way | None:
        """The cheapest legal way to obtain a result of an op outside the skeleton; None if there is none."""
        if op in self.early and loads_scalar(op):
            return Way.HOIST
        alone = loads_scalar(op) and not op.attributes.get("ordered", False)
        if (alone or computes(op)) and all(self.available(v) for v in op.operands):
            return Way.REMATERIALISE
        return Way.SEND if sendable(value.type) else None

    def available(self, value: Value) -> bool:
        """Can the producer have this value? Any scalar, at worst by sending it; not every view or tile of one
        element.
        """
        owner = value.owner
        if sendable(value.type) or isinstance(owner, Block):
            return sendable(value.type)
        return owner not in self.skeleton and self.way(owner, value) is not None

    @property
    def legal(self) -> bool:
        """Everything can be had."""
        return None not in self.ways.values()


class Boundary(Slice):
    """The slice of a kernel that the producer of `plans` runs."""

    def __init__(self, ops: Sequence[Op], plans: Sequence[Plan]):
        self.plans = plans
        around = (each for plan in plans for each in plan.around)
        super().__init__(around, (v for plan in plans for v in plan.inputs()), early(ops))

    @property
    def legal(self) -> bool:
        """Is everything available, without an agent waiting for something that the other one does only after its own
        wait?

        A consumer waits for a stage at its first copy, and the producer fills it at the last: in between nothing may be
        sent and no other stage filled.
        """
        for plan in self.plans:
            if plan.loop is None:
                continue
            ops = plan.loop.body.block.ops
            others = {copy for each in self.plans if each is not plan for copy in each.copies}
            first, last = (ops.index(copy) for copy in (plan.copies[0], plan.copies[-1]))
            for op in ops[first:last]:
                if op in self.skeleton or op in others or any(self.ways.get(r) is Way.SEND for r in op.results):
                    return False
        return super().legal


def control(op: scf.For | scf.While | scf.If) -> list[Value]:
    """The values that control a loop or branch."""
    match op:
        case scf.For():
            return [op.lower, op.upper, op.step]
        case scf.While():
            return op.body.block.terminator.operands[:1]
        case _:
            return [op.condition]


def carried(loop: scf.For | scf.While) -> list[Value]:
    """The values that a loop carries, as arguments of its body."""
    return loop.body.block.args[1:] if isinstance(loop, scf.For) else loop.body.block.args


def left(loop: scf.For | scf.While) -> list[Value]:
    """Their yielded values."""
    return loop.body.block.terminator.operands[1 if isinstance(loop, scf.While) else 0 :]


def early(ops: Sequence[Op]) -> set[Op]:
    """Top-level scalars that can be computed before the agents split: nothing has been written or waited for yet."""
    found: set[Op] = set()
    for op in ops:
        if any(each.effect is WRITE or is_strong(each) for each in op.walk()):
            break
        made = (v.owner for v in op.operands)
        if (computes(op) or loads_scalar(op)) and all(isinstance(owner, Block) or owner in found for owner in made):
            found.add(op)
    return found


def computes(op: Op) -> bool:
    """Scalar arithmetic and views, which any thread may compute again."""
    kinds = (
        nv_tileas.MakeMemref,
        nv_tileas.Partition,
        nv_tileas.ProgramId,
        nv_tileas.NumPrograms,
        nv_tileas.AddPtr,
        nv_tileas.IndexSpaceShape,
        nv_tileas.TensorShape,
        nv_tileas.Reshape,
        llvm.Bitcast,
    )
    plain = isinstance(op, kinds) or (type(op).__module__ == arith.__name__ and not op.regions)
    return plain and all(single(r.type) for r in op.results)


def loads_scalar(op: Op) -> bool:
    """A weak load of one element."""
    return isinstance(op, nv_tileas.Gather | nv_tileas.TiledLoad) and single(op.result.type) and not is_strong(op)


def is_strong(op: Op) -> bool:
    """A load that is ordered with other blocks' stores: it is performed once, in place."""
    return bool(op.attributes.get("order", ""))


def single(kind: Type) -> bool:
    """One element, which every thread holds; a view counts as one."""
    return not isinstance(kind, TensorType) or all(n == 1 for n in kind.shape)


def sendable(kind: Type) -> bool:
    """Scalars fit into a channel."""
    return isinstance(kind, IntType | FloatType) or kind == GLOBAL_PTR
