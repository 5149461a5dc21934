"""Sums in tensor memory scaled by warps of their own instead of by those that compute the factors.

    consumers    for j: wait for S;  load it;  factors of this step: store them, arrive;  powers;  store P, arrive
    correction   for j: wait for the factors;  load them;  O *= factors;  arrive
    agent        for j: ...;  wait until P is stored and O scaled;  O += P V;  commit
The factors of a step are known long before its powers, so O is scaled while these are computed. Factors go through a
buffer in shared memory, a ring of one stage; both sides arrive at the barrier that the product waits for. Whatever the
consumers have waited for when they hand over factors, the correction warps have waited for with them: where scores
imply that the last product is complete, they need no other barrier, nor one that says that factors have been read.
Source: FlashAttention-4's correction warpgroup, which has one warpgroup for both blocks of rows; here as many warps as
compute, in the same layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ir.checked import checked
from ir.core import PURE, Block, Builder, Op, Value
from ir.dialects import arith, math, nv_tileas
from ir.records import dataclass
from ir.tensor_descriptors import TENSOR_COLUMNS
from ir.types import F32, TensorType
from lowering.atoms.barrier import (
    BEGINNER_MORE,
    BEGINNER_REGISTERS,
    CORRECTION_IN_LOOPS,
    CORRECTION_REGISTERS,
    REGISTER_MARGIN,
    register_shares,
)
from lowering.atoms.forbidden import forbidden
from lowering.atoms.names import BY_CORRECTION
from lowering.cost import LESS
from lowering.layouts.elements import element_bytes
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tensor import FEW_FACTORS, allocation
from lowering.schedule.begun_time import Begun, Scaled, scaled
from lowering.schedule.boundary import Slice
from lowering.schedule.multiplier import prune
from lowering.schedule.pipes import Handover, consume, imply, produce, stage_alone
from lowering.schedule.producer import Producer
from lowering.schedule.rings import align
from lowering.schedule.runs import place, read_of
from lowering.schedule.size import registers
from lowering.schedule.states import LOOPS, enclosing
from lowering.schedule.tensor import has, nested, share_columns
from lowering.schedule.units import GROUP
from lowering.selection.products import SELDOM
from lowering.targets import Target
from lowering.targets.target import WARP

if TYPE_CHECKING:
    from lowering.schedule.agents import Agents


class Products(Protocol):
    """The products of a kernel that agents begin (`lowering.schedule.begun.Products`), as correction sees them."""

    consumer: Block
    agents: Agents
    warps: int
    groups: int
    repeated: bool
    loads: list[nv_tileas.TensorLoad]
    written: list[nv_tileas.TensorStore | nv_tileas.TensorScale]
    fed: dict[Value, Handover]

    @property
    def skeletons(self) -> Slice:
        """The loops and branches around them."""
        ...

    def handover(self, *, written: bool) -> Handover:
        """A ring of one stage for each warpgroup, or for all."""
        ...


FREED = 56
"""Registers of a thread that computes beside its scores, and the fewest that it keeps: ptxas 13.5 spills none of 128
scores in 184 registers and 20 bytes in 176 (256 x 128 x 128, exact exponentials), none of 64 in 136 and 32 bytes in 128
(128 x 64 x 128), each without the scaling of sums.
"""
FEWEST = 136
EARLY = 16
"""Registers more of a product that is loaded an iteration early: 128 scores then spill 44 bytes in 184 registers (ptxas
13.5, TileGym's attention_sink), 64 none in 160 (256 x 64 x 128, in loops over tiles).
"""
SPLIT = 16
"""Registers more where ptxas splits packed f32x2 operations: in 184 registers 128 scores spill 56 bytes on sm_110a and
none on sm_100a and sm_103a; 64 scores spill none (ptxas 13.5).
"""
COLUMNS = 16  # that a correction warp scales at a time: what its registers have room for
OFTEN = 0.85
"""Fraction of steps in which some row of a warp has another factor than 1: of 32 steps of random scores
(docs/benchmarks.md, "Left factors in tensor memory"); of 256 it is 0.32.
"""
SHAPES = (nv_tileas.Broadcast, nv_tileas.Reshape)


@dataclass(frozen=True, eq=False)
class Factors:
    """The factors of one scaled sum, a few a thread: the tile, the ops that spread it over columns, the ring."""

    row: Value
    spread: Sequence[Op]
    ring: Handover
    buffer: nv_tileas.AllocTensor


def corrected(
    products: Products, loops: Sequence[Begun], target: Target, forbid: tuple[str, ...]
) -> tuple[Correction | None, str]:
    """The scaling of sums by warps of their own, if it is possible and predicted to be faster; and what to report."""
    made = Correction(products)
    if not made.scales:
        return None, ""
    reason = f"{BY_CORRECTION} is forbidden" if forbidden(BY_CORRECTION, forbid) else made.why_not(target)
    if reason:
        return None, f"; their sums are scaled by threads that compute: {reason}"
    times = [scaled(loop, made.summary(loop), target) for loop in loops]
    before, after = (sum(each) for each in zip(*times, strict=True))
    who = "warps of their own" if after < LESS * before else "threads that compute"
    both = f"predicted cycles an iteration {before:.0f} if threads that compute scale them, {after:.0f} if others do"
    return made if after < LESS * before else None, f"; their sums are scaled by {who}: {both}"


class Correction:
    """The scaled sums of a kernel whose products agents begin."""

    def __init__(self, products: Products):
        self.products = products
        self.scales = [op for op in products.written if isinstance(op, nv_tileas.TensorScale)]
        self.factors: dict[nv_tileas.TensorScale, Factors] = {}

    def why_not(self, target: Target) -> str:
        """Why they cannot be scaled by warps of their own; empty: they can."""
        if not all(alone(factors_of(op)[0]) for op in self.scales):
            return "a thread has the factors of many rows, or shares them with others"
        ctas = max(1, TENSOR_COLUMNS // allocation(share_columns(self.products.consumer, 0)))
        more = (REGISTER_MARGIN if ctas > 1 else 0) + (SPLIT if target.throughput.pair_slots > 1 else 0)
        given, wanted = self.left(ctas, target), max(FEWEST, FREED + self.scores()) + more
        if given < wanted:
            return f"threads that compute would have {given} registers and need {wanted}"
        return ""

    def scores(self) -> int:
        """Registers of the largest product that a thread loads in a loop, with the tiles that a loop carries beside it;
        a product that is loaded an iteration early is carried, and takes a few more.
        """
        loaded = {load.result.type: registers(load.result) for load in self.products.loads if not load.waited}
        loops = {loop for op in self.scales for loop in enclosing(op) if isinstance(loop, LOOPS)}
        carried = [[v for v in loop.regions[0].block.args if registers(v) > FEW_FACTORS] for loop in loops]
        beside = [sum(EARLY if v.type in loaded else registers(v) for v in each) for each in carried]
        return max(loaded.values(), default=0) + max(beside, default=0)

    def left(self, ctas: int, target: Target) -> int:
        """Registers of a thread that computes where there are so many CTAs an SM; 0 without room for the warps."""
        products = self.products
        own, others = WARP * products.warps, WARP * align(1 + products.groups, GROUP)
        if WARP * int(target.warps_per_sm) < ctas * (2 * own + others):
            return 0
        around = products.repeated
        scale, begin = (
            CORRECTION_IN_LOOPS if around else CORRECTION_REGISTERS,
            BEGINNER_REGISTERS + BEGINNER_MORE * around,
        )
        least = (own * scale + others * begin) / (own + others)
        shares = register_shares(own, own + others, least, target.shared_by(ctas))
        return shares.consumer if shares.moved else 0

    def summary(self, begun: Begun) -> Scaled:
        """Figures of a loop, for predicting its time."""
        inside = {*nested(begun.body)}
        scales = [op for op in self.scales if op in inside]
        lefts = [dot.a.op for dot in begun.dots]
        over = any(isinstance(memory, nv_tileas.AllocTensorMemory) and memory.over is not None for memory in lefts)
        columns = sum(registers(op.factor) for op in scales)
        seldom = all(lags(factors_of(op)[0]) for op in scales)
        return Scaled(columns, len(scales), SELDOM if seldom else OFTEN, over)

    # --- the change

    def begin(self) -> None:
        """Rings and buffers, before the agents part."""
        products = self.products
        common, warps = products.agents.common, products.warps // products.groups
        for op in self.scales:
            row, spread = factors_of(op)
            kind = row.type
            assert isinstance(kind, TensorType)
            ring = products.handover(written=True)
            ring.pipeline.attributes |= {"producers": warps, "consumers": warps, "each": "warp", "meet": True}
            ring.implied = products.fed[op.d].implied
            layout = SharedLayout.row_major(kind.shape, element_bytes(kind.element))
            buffer = common.add(
                nv_tileas.AllocTensor,
                types=[nv_tileas.BufferType(1, kind.shape, kind.element, layout)],
                offset=0,
                stage_bytes=align(layout.size_bytes, layout.alignment),
            )
            products.fed[op.d].pipeline.attributes["producers"] = 2 * warps
            self.factors[op] = Factors(row, spread, ring, buffer)

    def build(self) -> Block:
        """The code of the warps that scale, out of the consumers', before that changes."""
        for op, factors in self.factors.items():
            factors.ring.sites.append({})
            self.products.fed[op.d].sites.append({})
        block = Block()
        Corrector(self).block(self.products.consumer.ops, Builder(block, self.products.agents.common.location))
        prune(partial(nested, block))
        return block

    def hand_over(self) -> list[Handover]:
        """Threads that compute store the factors as soon as they know them, and scale nothing; the rings."""
        for op, factors in self.factors.items():
            block = op.parent
            assert block is not None
            made, ring = Builder(Block(), op.location), factors.ring
            iterator, buffer = ring.iterator, factors.buffer.result

            def write(inside: Builder, operands: Sequence[Value] = (buffer, iterator, factors.row)) -> None:
                inside.add(nv_tileas.WriteBuffer, *operands, types=(), atom="st.shared")

            filled = produce(made, ring.pipeline.result, iterator, write)
            imply(filled, nv_tileas.ProducerAcquire, ring.implied)
            ring.sites[0][filled] = stage_alone(filled, made)
            place(made, advanced(factors.row, op, block))
            block.ops.remove(op)
        prune(partial(nested, self.products.consumer))
        return [factors.ring for factors in self.factors.values()]

    @property
    def buffers(self) -> list[nv_tileas.AllocTensor]:
        """Of all factors."""
        return [factors.buffer for factors in self.factors.values()]


class Corrector(Producer):
    """Builds the code of the warps that scale."""

    def __init__(self, correction: Correction):
        products = correction.products
        self.correction = correction
        super().__init__(products.skeletons, [], {}, {}, products.agents.zero, products.agents.map_number)

    def block(self, ops: Sequence[Op], b: Builder) -> None:
        """What is needed of a block."""
        for op in ops:
            b.location = op.location
            if isinstance(op, nv_tileas.ConsumeOne):
                self.block(read_of(op).ops[:-1], b)
            elif isinstance(op, nv_tileas.TensorScale):
                self.scale(op, b)
            else:
                super().block([op], b)

    def scale(self, op: nv_tileas.TensorScale, b: Builder) -> None:
        """Wait for the factors, load them; scale the sum, and arrive for its product."""
        factors, fed, read = self.correction.factors[op], self.correction.products.fed[op.d], Block()
        ring, kind = factors.ring, factors.row.type
        assert isinstance(kind, TensorType)
        inside, iterator = Builder(read, op.location), ring.iterator
        shared = checked(factors.buffer.result.type, nv_tileas.BufferType).layout
        tile = TensorType(kind.shape, kind.element, shared)
        view = inside.value(nv_tileas.BufferView, factors.buffer.result, iterator, types=[tile], segments=(1, 1))
        loaded = inside.value(nv_tileas.SharedLoad, view, types=[kind], atom="ld.shared")
        (factor,) = consume(b, ring.pipeline.result, iterator, read, [loaded])
        made = b.block.ops[-1]
        imply(made, nv_tileas.ConsumerRelease, ring.implied)
        ring.sites[-1][made] = stage_alone(made, b)
        for each in factors.spread:
            factor = b.value(type(each), factor, types=[each.results[0].type], **each.attributes)

        def write(inside: Builder) -> None:
            inside.add(nv_tileas.TensorScale, op.d, factor, types=(), paired=op.paired, columns=COLUMNS)

        filled = produce(b, fed.pipeline.result, fed.iterator, write)
        imply(filled, nv_tileas.ProducerAcquire, fed.implied)
        fed.sites[-1][filled] = stage_alone(filled, b)


def factors_of(op: nv_tileas.TensorScale) -> tuple[Value, list[Op]]:
    """The factors of the rows, and the ops that spread them over columns, in order."""
    value, spread = op.factor, list[Op]()
    while isinstance(value.op, SHAPES):
        spread.append(value.op)
        value = value.op.operands[0]
    return value, spread[::-1]


def alone(row: Value) -> bool:
    """Has each thread factors that no other thread has, as few as let its warp pass over a sum?"""
    layout = row.type.layout if isinstance(row.type, TensorType) else None
    held = isinstance(layout, Layout) and all((*layout.lane, *layout.warp)) and layout.n_regs <= FEW_FACTORS
    return held and isinstance(row.type, TensorType) and row.type.element == F32


def lags(row: Value) -> bool:
    """Is a factor that of a level which stays while it rises by little (`lowering/skeletons/lagging.py`)?"""
    waiting, seen = [row], set[Value]()
    while waiting:
        value = waiting.pop()
        op = value.op
        if op is None or op.regions or value in seen:
            continue
        seen.add(value)
        if isinstance(op, arith.Select) and op.operands[1].op is None and near(op.operands[0]):
            return True
        waiting += op.operands
    return False


def near(test: Value) -> bool:
    """Is it a test of a magnitude?"""
    return isinstance(test.op, arith.CmpF) and any(isinstance(v.op, math.AbsF) for v in test.op.operands)


def sources(value: Value, block: Block) -> list[Op]:
    """The ops of a block that a value is computed from, in order."""
    wanted, found = {value}, list[Op]()
    for op in reversed(block.ops):
        if wanted.intersection(op.results):
            found.append(op)
            wanted.update(v for each in op.walk() for v in each.operands)
    return found[::-1]


def advanced(row: Value, scale: Op, block: Block) -> Op:
    """Move what only computes factors, and not in a region, up behind all that it depends on and all loads of products,
    in whose order their barriers are waited for. The op that factors may be handed over before.
    """
    before, needed = block.ops[: block.ops.index(scale)], {*sources(row, block)}
    fixed = [n for n, op in enumerate(before) if has(op, nv_tileas.TensorLoad) or (op in needed and held(op))]
    at = 1 + max(fixed, default=-1)
    moved = [op for op in before[at:] if op in needed]
    rest = [op for op in block.ops[at:] if op not in needed]
    block.ops[at:] = [*moved, *rest]
    return rest[0]


def held(op: Op) -> bool:
    """Must an op stay where it is?"""
    return bool(op.regions) or op.effect is not PURE
