"""nv_tileas between agents: barriers of a ring's stages, tensor copies, the switch, channels for scalars.

Part of the dialect of `nv_tileas`, which re-exports these names. Source of names: the seeds' async.pipeline operations,
MaterializeSchedule and OptimizeExecutionUnitMapping.
"""

from __future__ import annotations

from ir.core import (
    CONTROL,
    WRITE,
    Attr,
    Attribute,
    Op,
    Operand,
    OptionalOperand,
    Result,
    Variadic,
    VariadicRegion,
    flag,
    op,
)
from ir.dialects.nv_tileas_types import is_buffer, is_channel, is_i1, is_i32, is_integer, is_pipeline, is_stage, is_tile
from ir.dialects.nvvm.bulk import EVICTIONS
from ir.dialects.nvvm.copies import REDUCTIONS

SCALAR_BYTES = 8  # the widest scalar


@op("nv_tileas.async.mbarrier_wait")
class BarrierWait(Op):
    """Wait until a stage is full, or `empty`, in the round of parity `phase`."""

    pipeline = Operand(is_pipeline)
    stage = Operand(is_i32)
    phase = Operand(is_i32)
    empty = flag()

    effect = WRITE


@op("nv_tileas.async.mbarrier_expect_tx")
class BarrierExpectTx(Op):
    """One thread arrives at a stage's full barrier and announces `bytes` of tensor copies; 0: the stage is skipped."""

    pipeline = Operand(is_pipeline)
    stage = Operand(is_i32)
    bytes = Attr(int, least=0)

    effect = WRITE


@op("nv_tileas.async.mbarrier_arrive_copies")
class BarrierArriveCopies(Op):
    """Each thread arrives at a stage's full barrier when all its asynchronous copies so far have completed."""

    pipeline = Operand(is_pipeline)
    stage = Operand(is_i32)

    effect = WRITE


@op("nv_tileas.async.mbarrier_arrive_products")
class BarrierArriveProducts(Op):
    """One arrival at a stage's full barrier when all products in tensor memory that a thread has issued are
    complete.
    """

    pipeline = Operand(is_pipeline)
    stage = Operand(is_i32)

    effect = WRITE


@op("nv_tileas.async.mbarrier_arrive")
class BarrierArrive(Op):
    """This warp (or thread) has read a stage: it arrives at the empty barrier; if `enable` is false, it does not.
    `full`: it has written a stage in tensor memory, and arrives at the full barrier.
    """

    pipeline = Operand(is_pipeline)
    stage = Operand(is_i32)
    enable = OptionalOperand(is_i1)
    full = flag()

    effect = WRITE


@op("nv_tileas.async.tiled_tma_load")
class TiledTmaLoad(Op):
    """Copy one tile into a stage by the tensor memory accelerator; its bytes arrive at the stage's full barrier.

    `tensormap` is an index among the kernel's tensor maps, `dims` are the tile's dimensions innermost first, `tile` its
    extents along them; `boxes` lists (element offset along each of them, byte offset in the stage) of every box.
    `evict`: a policy of the L2 cache. `alike`: the tile is the same in all CTAs of the cluster whose ranks differ in
    these bits, and each of them loads a part into all: `boxes` are those of the first CTA, the next one's are `step`
    further (likewise). `halved`: the tile is in a pair of CTAs, each of which loads its half; the odd CTA's half is
    `step` after the other.
    """

    buffer = Operand(is_buffer)
    stage = Operand(is_stage)
    pipeline = Operand(is_pipeline)
    index = Variadic(is_integer)
    tensormap = Attr(int, least=0)
    dims: Attr[tuple[int, ...]] = Attr(tuple)
    tile: Attr[tuple[int, ...]] = Attr(tuple)
    boxes: Attr[tuple[tuple[tuple[int, ...], int], ...]] = Attr(tuple)
    evict = Attr(str, "", among=EVICTIONS)
    alike = Attr(int, 0, least=0)
    step: Attr[tuple[int, ...]] = Attr(tuple, ())
    halved = flag()

    effect = WRITE

    def verify(self) -> None:
        """Parts have a step."""
        wanted = len(self.dims) + 1 if self.alike or self.halved else 0
        self.expect(len(self.step) == wanted, "step must have {} numbers, has {}", wanted, len(self.step))


@op("nv_tileas.async.tiled_tma_store")
class TiledTmaStore(Op):
    """Registers to a tile in scratch shared memory, layout `shared`, by `atom`; one thread starts the copies of its
    boxes.

    `tensormap`, `dims`, `tile` and `boxes` as in tiled_tma_load, `ordered`, `reduction` and `parts` as in staged_store.
    The accelerator clips elements outside the array. Later operations may use registers and other memory at once;
    scratch is reused once it has been read.
    """

    value = Operand(is_tile)
    index = Variadic(is_integer)
    shared = Attr(Attribute)
    parts = Attr(int, 1, least=1)
    scratch = Attr(int, 0, least=0)
    atom = Attr(str, among=("stmatrix", "st.shared"))
    tensormap = Attr(int, least=0)
    dims: Attr[tuple[int, ...]] = Attr(tuple)
    tile: Attr[tuple[int, ...]] = Attr(tuple)
    boxes: Attr[tuple[tuple[tuple[int, ...], int], ...]] = Attr(tuple)
    ordered = flag()
    reduction = Attr(str, "", among=("", *REDUCTIONS))

    effect = WRITE


@op("nv_tileas.async.store_wait")
class StoreWait(Op):
    """Wait until this thread's tensor stores have reached global memory; after a barrier all threads see them."""

    effect = WRITE


CONSUME, PRODUCE, COPY, MULTIPLY, TRANSFORM, CORRECT = ROLES = (
    "consume",
    "produce",
    "copy",
    "multiply",
    "transform",
    "correct",
)
"""The task of an agent: all its warps compute; one thread fills stages; all its threads fill stages; one thread issues
products in tensor memory; all its warps compute tiles for the first; all its warps scale sums in tensor memory.
"""


@op("nv_tileas.async.agent_switch")
class AgentSwitch(Op):
    """Agents run concurrently, one region each; agent i runs on `num_warps[i]` warps starting at number `warp_id[i]`.

    `agent_strides[i]` is the distance from its first warp to the next agent's; together they make up the CTA, warps
    without an agent are idle. `roles[i]` is one of ROLES. `groups[i]` groups of its warps, of equal size, each run its
    code separately; one by default. `blocks[i]`: the block of rows of the warpgroup whose products it issues; -1, the
    default: of all. `products`: which agent issues the products that threads read, and why. Source of names: the seeds'
    OptimizeExecutionUnitMapping.
    """

    num_warps: Attr[tuple[int, ...]] = Attr(tuple)
    warp_id: Attr[tuple[int, ...]] = Attr(tuple)
    agent_strides: Attr[tuple[int, ...]] = Attr(tuple)
    roles: Attr[tuple[str, ...]] = Attr(tuple)
    groups: Attr[tuple[int, ...]] = Attr(tuple, ())
    blocks: Attr[tuple[int, ...]] = Attr(tuple, ())
    products = Attr(str, "")
    agents = VariadicRegion()
    effect = CONTROL

    def verify(self) -> None:
        """One of everything for each region, known roles, disjoint warps."""
        lists = (self.num_warps, self.warp_id, self.agent_strides, self.roles)
        self.expect(all(len(each) == len(self.regions) for each in lists), "must give warps and role of each region")
        for role in self.roles:
            self.expect(role in ROLES, "role must be one of {}, is {}", list(ROLES), role)
        self.expect(len(self.groups) in (0, len(self.regions)), "must give the groups of every region, or of none")
        self.expect(len(self.blocks) in (0, len(self.regions)), "must give the block of every region, or of none")
        for groups, count in zip(self.groups, self.num_warps, strict=False):
            self.expect(groups > 0 and count % groups == 0, "{} groups cannot share {} warps", groups, count)
        end = 0
        for first, count, stride in sorted(zip(self.warp_id, self.num_warps, self.agent_strides, strict=True)):
            self.expect(
                first == end and 0 < count <= stride, "agents must have consecutive warps that they do not share"
            )
            end += stride

    def groups_of(self, agent: int) -> int:
        """Groups of an agent's warps that each run its code."""
        return self.groups[agent] if self.groups else 1


@op("nv_tileas.async.create_channel")
class CreateChannel(Op):
    """8 bytes for a scalar and two mbarriers after it, starting at byte `offset` of shared memory.

    One arrival of the sender fills it, one arrival of each of the `receivers` threads empties it. `paired`: they are
    those of a pair's products, which the CTA of even rank issues: the other one sends nothing.
    """

    offset = Attr(int, least=0)
    receivers = Attr(int, 1, least=1)
    paired = flag()
    result = Result(is_channel)

    effect = WRITE


@op("nv_tileas.async.send")
class Send(Op):
    """Wait until the channel is empty in the round of parity `phase`, and send a scalar; one thread does."""

    channel = Operand(is_channel)
    value = Operand()
    phase = Operand(is_stage)

    effect = WRITE


@op("nv_tileas.async.receive")
class Receive(Op):
    """Wait until the channel is full in the round of parity `phase`, take the scalar and leave the channel empty."""

    channel = Operand(is_channel)
    phase = Operand(is_stage)
    result = Result()

    effect = WRITE
