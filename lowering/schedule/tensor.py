"""Accumulators in tensor memory: a loop does not carry a sum that accumulates there; the tile is loaded after the loop.

    for k: acc = A(k) B(k) + acc        becomes        for k: D (+)= A(k) B(k);  commit D;  acc = load D

The first product does not accumulate. One warp of the consumers runs such a loop; all wait for its last product where
they load. Every other product is read when it is complete, and its addend stays in registers:

    r = A B + c; ...; use r             becomes        D = A B;  commit D;  ...;  r = c + load D;  use r

A sum to which a loop adds a product while its threads compute stays there too, in a dedicated layout; the loop may
scale it first; all wait for it:

    for: r = A B + r f                  becomes        store D;  for: D *= f;  D += A B;  commit D;  wait D

A left factor that threads compute is there too if its atom requires it: they write their rows, and synchronise before
the product. It overlays the scores that it is computed from, whose rows the same threads have loaded by then, unless
the product of the next scores is in flight.

Tensor memory is allocated before agents split, and freed when all have loaded what they need.
Source: PTX ISA 8.8, tcgen05; CUTLASS's sm_100 main loop, for one CTA.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ir.core import PURE, Block, Builder, Op, TileError, Value
from ir.dialects import arith, nv_tileas, scf
from ir.types import I1, I32, TensorType
from lowering.atoms.tcgen05 import BY_AGENT, BY_SCALES, M, tensor_named
from lowering.layouts.elements import moved_bits
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.layouts.tensor import (
    COLUMN_BITS,
    WARPS,
    left_pitch,
    memory_columns,
    over_accumulator,
    scale_memory,
    takes,
    tile_columns,
)
from lowering.schedule.pairs import paired, refuse_mixed
from lowering.schedule.rings import Copy
from lowering.schedule.states import LOOPS, Numbers, Site, enclosing, thread

READS = (nv_tileas.TensorLoad, nv_tileas.TensorScale)
"""Reads of accumulators by threads."""


class TensorMemoryError(TileError):
    """A product in tensor memory that other code reads or feeds otherwise than by its loop."""


class TensorAgentError(TensorMemoryError):
    """A product that a separate agent cannot issue."""


class TensorScaledError(TensorMemoryError):
    """A block-scaled product: the product of scaled factors is an alternative."""


def place_accumulators(func: nv_tileas.Func) -> int:
    """Rewrite all products in tensor memory of a placed kernel, in place; their number. Raises TensorMemoryError."""
    products = [op for op in func.walk() if isinstance(op, nv_tileas.Dot) and tensor_named(op.atom) is not None]
    refuse_mixed(products)
    shared: dict[Value, Value] = {}
    for product in reversed(products):  # of two that are read last, that which begins early is read behind the other
        if product.read:
            read_alone(func, product, shared)
        elif product.kept:
            keep(func, product)
        else:
            _Accumulator(func, product).rewrite()
    lie_over(func)
    return len(products)


def read_alone(func: nv_tileas.Func, product: nv_tileas.Dot, shared: dict[Value, Value]) -> None:
    """A product that is read where it is complete, in place of one that has its sum in registers. `shared`: the
    accumulators of those that a loop makes in the next iteration, by the product of its first one.
    """
    kind, block = product.result.type, product.parent
    assert isinstance(kind, TensorType)
    assert block is not None
    first, made = Builder(Block(), product.location), Builder(Block(), product.location)
    d = shared.get(product.result)
    if d is None:
        d = first.value(nv_tileas.AllocTensorMemory, types=[accumulator(kind)], segments=(0,))
    loop = block.parent_op
    if isinstance(loop, scf.For) and product.result in block.terminator.operands:
        shared[loop.init[block.terminator.operands.index(product.result)]] = d
    a = left(product, first, made)
    made.add(nv_tileas.TensorDot, a, product.b, d, types=(), segments=(1, 1, 1, 0, 0), atom=product.atom)
    made.add(nv_tileas.TensorCommit, d, types=())
    base, at = [] if zeros(product.c) else [product.c], block.ops.index(product)
    behind = Builder(Block(), product.location)
    more = {"paired": True} if base and product.paired else {}
    tile = behind.value(nv_tileas.TensorLoad, d, *base, types=[kind], segments=(1, 0, len(base), 0, 0), **more)
    reads = (n for n, op in enumerate(block.ops) if any(product.result in each.operands for each in op.walk()))
    late = next(reads, at + 1)
    for op in func.walk():
        op.operands = [tile if v is product.result else v for v in op.operands]
    block.ops[late:late] = adopted(behind.block, block)
    block.ops[at : at + 1] = adopted(made.block, block)
    func.body.block.ops[:0] = adopted(first.block, func.body.block)


def keep(func: nv_tileas.Func, product: nv_tileas.Dot) -> None:
    """A sum that a loop adds a product to, and may scale first, stays in tensor memory: stored before the loop, loaded
    after it.
    """
    body, kind = product.parent, product.result.type
    loop = None if body is None else body.parent_op
    if body is None or not isinstance(loop, scf.For):
        refuse(product, "it is in no loop")
        raise AssertionError
    assert isinstance(kind, TensorType)
    scaled = product.c.op if isinstance(product.c.op, arith.MulF) and product.c.op.parent is body else None
    carried, *factor = [product.c] if scaled is None else scaled.operands
    outside, place = loop.parent, body.terminator.operands.index(product.result)
    if outside is None or body.args[1 + place] is not carried:
        refuse(product, "its loop does not carry it")
        raise AssertionError
    first, before = Builder(Block(), product.location), Builder(Block(), product.location)
    behind, made, end = (Builder(Block(), product.location) for _ in range(3))
    d = first.value(nv_tileas.AllocTensorMemory, types=[accumulator(kind)], segments=(0,))
    before.add(nv_tileas.TensorStore, d, loop.init[place], types=())
    a = left(product, first, made)
    if scaled is not None:
        more: dict[str, Any] = {"paired": True} if scaled.attributes.get("paired") else {}
        made.add(nv_tileas.TensorScale, d, *factor, types=(), **more)
        body.ops.remove(scaled)
    adds = made.value(arith.Constant, types=[I1], value=True)
    made.add(nv_tileas.TensorDot, a, product.b, d, adds, types=(), segments=(1, 1, 1, 1, 0), atom=product.atom)
    made.add(nv_tileas.TensorCommit, d, types=())
    end.add(nv_tileas.TensorWait, d, types=(), segments=(1, 0))
    tile = behind.value(nv_tileas.TensorLoad, d, types=[kind], segments=(1, 0, 0, 0, 0), waited=True)
    result = loop.results[place]
    for op in func.walk():
        op.operands = [tile if v is result else v for v in op.operands]
    body.ops[-1:-1] = adopted(end.block, body)
    at = body.ops.index(product)
    body.ops[at : at + 1] = adopted(made.block, body)
    at = outside.ops.index(loop)
    outside.ops[at + 1 : at + 1] = adopted(behind.block, outside)
    outside.ops[at:at] = adopted(before.block, outside)
    func.body.block.ops[:0] = adopted(first.block, func.body.block)
    drop(loop, place)


def accumulator(kind: TensorType) -> nv_tileas.TensorMemoryType:
    """The type of an accumulator for a sum: an element a column."""
    return nv_tileas.TensorMemoryType(kind.shape, kind.element, moved_bits(kind.element) < COLUMN_BITS)


def left(product: nv_tileas.Dot, first: Builder, made: Builder) -> Value:
    """The left factor of a product, which threads write to tensor memory where registers hold it."""
    kind = product.a.type
    assert isinstance(kind, TensorType)
    if not isinstance(kind.layout, Layout):
        return product.a
    memory = nv_tileas.TensorMemoryType(kind.shape, kind.element)
    pitch = left_pitch(kind.shape[1], moved_bits(kind.element))
    p = first.value(nv_tileas.AllocTensorMemory, types=[memory], segments=(0,), left=True, pitch=pitch)
    made.add(nv_tileas.TensorStore, p, product.a, types=())
    return p


def lie_over(func: nv_tileas.Func) -> None:
    """Let left factors overlay the accumulators that they are computed from, at most one on each."""
    dots: dict[Value, list[nv_tileas.TensorDot]] = {}
    for op in func.walk():
        if isinstance(op, nv_tileas.TensorDot):
            dots.setdefault(op.d, []).append(op)
    taken: set[Value] = set()
    for store in [op for op in func.walk() if isinstance(op, nv_tileas.TensorStore)]:
        memory = store.d.op
        if isinstance(memory, nv_tileas.AllocTensorMemory) and memory.left:
            found = next((d for d in scores(store) if len(dots[d]) == 1 and d not in taken), None)
            if found is not None and isinstance(found.type, nv_tileas.TensorMemoryType):
                taken.add(found)
                memory.operands, memory.segments = [found], (1,)
                memory.attributes["pitch"] = found.type.shape[1]


def columns_apart(func: nv_tileas.Func) -> int:
    """Columns that all products of a placed kernel take where no left factor lies over an accumulator; of loops that
    follow one another the most of one.
    """
    return most_columns(func.body.block)


def most_columns(block: Block) -> int:
    """Columns of the products of a block, and the most that one of the loops in it takes."""
    own, inner = 0, 0
    for op in block.ops:
        inner = max([inner, *(most_columns(region.block) for region in op.regions if region.blocks)])
        if isinstance(op, nv_tileas.Dot) and tensor_named(op.atom) is not None:
            made, a = op.result.type, op.a.type
            assert isinstance(made, TensorType)
            assert isinstance(a, TensorType)
            own += memory_columns(accumulator(made))
            own += tile_columns(a.shape, moved_bits(a.element)) if isinstance(a.layout, Layout) else 0
            own += scale_memory(scale_bytes(op)) if isinstance(op, nv_tileas.ScaledDot) else 0
    return own + inner


def scale_bytes(op: nv_tileas.ScaledDot) -> int:
    """Bytes of the scales of both factors."""
    layouts = (v.type.layout for v in (op.a_scales, op.b_scales) if isinstance(v.type, TensorType))
    return sum(layout.size_bytes for layout in layouts if isinstance(layout, SharedLayout))


def scores(store: nv_tileas.TensorStore) -> Iterator[Value]:
    """Accumulators that what is stored is computed from, and that may take it: made and loaded in its block, with as
    many rows and columns, of which each warp writes none that another one loads.
    """
    block, kind = store.parent, store.value.type
    assert block is not None
    assert isinstance(kind, TensorType)
    assert isinstance(kind.layout, Layout)
    before = block.ops[: block.ops.index(store)]
    wanted = {store.value}
    for op in reversed(before):
        if wanted.intersection(op.results):
            wanted.update(v for each in op.walk() for v in each.operands)
            memory = op.d.type if isinstance(op, nv_tileas.TensorLoad) else None
            if not isinstance(memory, nv_tileas.TensorMemoryType) or not isinstance(op, nv_tileas.TensorLoad):
                continue
            made = any(isinstance(each, nv_tileas.TensorDot) and each.d is op.d for each in before[: before.index(op)])
            fits = takes(memory.shape, kind.shape, moved_bits(kind.element))
            if made and fits and over_accumulator(kind.layout, kind.shape[0]):
                yield op.d


def drop(loop: scf.For, place: int) -> None:
    """A loop no longer carries a value."""
    body = loop.body.block
    del body.args[1 + place], body.terminator.operands[place]
    del loop.operands[3 + place], loop.results[place]
    body.terminator.segments = (len(body.terminator.operands),)
    loop.segments = (1, 1, 1, len(loop.operands) - 3)
    for values in (body.args, loop.results):
        for index, value in enumerate(values):
            value.index = index


def zeros(value: Value) -> bool:
    """Is a tile nothing but zeros?"""
    made = value.op
    return isinstance(made, nv_tileas.Constant) and bool(made.value.splat) and made.value.item == 0


def refuse(op: Op, why: str) -> None:
    """Raise TensorMemoryError at an op, TensorAgentError where loops are around its own, TensorScaledError where its
    product, or one of a loop, is block-scaled.
    """
    inside = any(isinstance(each, LOOPS) and looped(each) for each in (op, *enclosing(op)))
    error, atom = (TensorAgentError, BY_AGENT) if inside else (TensorMemoryError, "tcgen05")
    if has(op, nv_tileas.ScaledDot, nv_tileas.TensorScaledDot):
        error, atom = TensorScaledError, BY_SCALES
    raise error(
        f"'{op.name}' cannot be placed in tensor memory: {why}", op.location, f"forbid the atom: --forbid {atom}"
    )


class _Accumulator:
    """One product and the loop that adds it up."""

    def __init__(self, func: nv_tileas.Func, product: nv_tileas.Dot):
        self.func = func
        self.product = product
        loop = None if product.parent is None else product.parent.parent_op
        if not isinstance(loop, scf.For) or loop.parent is None or not (loop.parent is func.body.block or looped(loop)):
            refuse(product, "it is in no top-level loop, nor in a nest of loops")
            raise AssertionError
        self.loop = loop
        self.body: Block = loop.body.block
        self.block: Block = loop.parent
        self.place = self.carried()
        for each in self.body.ops[:-1]:
            copies = isinstance(each, Copy) and each.asynchronous
            renames = isinstance(each, nv_tileas.Permute | nv_tileas.Reshape) and not tiles([*each.results])
            if not (each is product or copies or renames or (each.effect is PURE and not tiles([*each.results]))):
                refuse(product, f"its loop also contains '{each.name}'")

    def carried(self) -> int:
        """Its place among what the loop carries, from zero; nothing else there is a tile."""
        product, loop, body = self.product, self.loop, self.body
        if product.c not in body.args[1:]:
            refuse(product, "its loop does not carry the accumulator")
        place = body.args.index(product.c) - 1
        users = [each for each in nested(body) if product.result in each.operands or product.c in each.operands]
        left = body.terminator.operands
        if users != [product, body.terminator] or left[place] is not product.result:
            refuse(product, "its loop also uses the sum otherwise")
        if left.count(product.result) != 1 or tiles([v for i, v in enumerate(loop.init) if i != place]):
            refuse(product, "its loop carries other tiles")
        others = {each for i, each in enumerate(loop.results) if i != place}
        if any(v in others for each in self.func.walk() for v in each.operands):
            refuse(product, "all warps read other results of its loop, which only one warp runs")
        if not zeros(loop.init[place]):
            refuse(product, "its sum does not start from zero")
        return place

    def rewrite(self) -> None:
        """The loop without the accumulator, and its surroundings."""
        product, loop, at = self.product, self.loop, self.block.ops.index(self.loop)
        kind = product.result.type
        assert isinstance(kind, TensorType)
        before, behind = Builder(Block(), loop.location), Builder(Block(), loop.location)
        memory = accumulator(kind)
        d = before.value(nv_tileas.AllocTensorMemory, types=[memory], segments=(0,), paired=paired(product))
        self.add(d, before)
        result = loop.results[self.place]
        behind.add(nv_tileas.TensorCommit, d, types=())
        known = {"predicate": "ult" if loop.unsigned else "slt"}
        written = behind.value(arith.CmpI, loop.lower, loop.upper, types=[I1], **known)
        tile = behind.value(nv_tileas.TensorLoad, d, written, types=[kind], segments=(1, 1, 0, 0, 0))
        drop(self.loop, self.place)
        for op in self.func.walk():
            op.operands = [tile if v is result else v for v in op.operands]
        self.block.ops[at + 1 : at + 1] = adopted(behind.block, self.block)
        whole = self.func.body.block
        at = at if self.block is whole else 0
        whole.ops[at:at] = adopted(before.block, whole)

    def add(self, d: Value, before: Builder) -> None:
        """The product in place of the one that has a result; `before` the loop a place for its scales if it has any."""
        product, body = self.product, self.body
        op, scales = nv_tileas.TensorDot, list[Value]()
        if isinstance(product, nv_tileas.ScaledDot):
            memory = nv_tileas.TensorMemoryType((M, scale_memory(scale_bytes(product))), I32)
            place = before.value(nv_tileas.AllocTensorMemory, types=[memory], segments=(0,), left=True)
            op, scales = nv_tileas.TensorScaledDot, [product.a_scales, product.b_scales, place]
        b = Builder(Block(), product.location)
        adds = b.value(arith.CmpI, body.args[0], self.loop.lower, types=[I1], predicate="ne")
        more: dict[str, Any] = {"negated": True} if product.negated else {}
        b.add(
            op,
            product.a,
            product.b,
            d,
            adds,
            *scales,
            types=(),
            segments=(1, 1, 1, 1, 0, *(1 for _ in scales)),
            atom=product.atom,
            **more,
        )
        at = body.ops.index(product)
        body.ops[at : at + 1] = adopted(b.block, body)


def adopted(made: Block, block: Block) -> list[Op]:
    """The ops of a block that become another's."""
    for op in made.ops:
        op.parent = block
    return made.ops


def share_columns(block: Block, first: int) -> int:
    """Give the accumulators of a block their columns, from the `first` on: those of loops that follow one another lie
    over one another, with those that are read before the loop that goes on with them. Where they end.
    """
    inner = [region.block for op in steps(block) for region in op.regions if not isinstance(op, nv_tileas.REGIONS)]
    below = {each.d for body in inner for op in body.ops for each in op.walk() if isinstance(each, nv_tileas.TensorDot)}
    dots = [op for op in steps(block) if isinstance(op, nv_tileas.TensorDot)]
    own = dict.fromkeys(op.d for op in dots if op.d not in below)
    others = (v for op in dots for v in op.operands if v is not op.d)  # left factors and scales
    factors = dict.fromkeys(v for v in others if isinstance(v.type, nv_tileas.TensorMemoryType))
    for d in (*own, *factors):
        kind, made = d.type, d.op
        assert isinstance(kind, nv_tileas.TensorMemoryType)
        assert isinstance(made, nv_tileas.AllocTensorMemory)
        over = None if made.over is None else made.over.op
        made.attributes["column"] = first if over is None else over.attributes["column"]
        first += 0 if over is not None else memory_columns(kind)
    return max((share_columns(each, first) for each in inner), default=first)


def tiles(values: list[Value]) -> bool:
    """Is one of these a tile that registers hold?"""
    kinds = [v.type for v in values]
    return any(isinstance(kind, TensorType) and isinstance(kind.layout, Layout) and kind.layout.bits for kind in kinds)


def nested(body: Block) -> list[Op]:
    """All ops of a body."""
    return [each for op in body.ops for each in op.walk()]


def looped(loop: Op) -> bool:
    """Are there other loops around a loop?"""
    return any(isinstance(each, LOOPS) for each in enclosing(loop))


def multiplies(loop: Op) -> bool:
    """Does a loop begin products in tensor memory and neither read nor await any of them? One warp then runs it."""
    if not isinstance(loop, scf.For):
        return False
    begun = {each.d for each in loop.walk() if isinstance(each, nv_tileas.TensorDot)}
    awaits = (*READS, nv_tileas.TensorWait)
    return bool(begun) and not any(isinstance(each, awaits) and each.d in begun for each in loop.walk())


def in_phases(block: Block, numbers: Numbers) -> None:
    """Let loads of accumulators that are read more than once wait for one phase of their barrier after the other."""
    loads: dict[Value, list[nv_tileas.TensorLoad | nv_tileas.TensorWait]] = {}
    for op in (each for top in block.ops for each in top.walk()):
        known = isinstance(op, nv_tileas.TensorLoad) and (op.waited or op.stage is not None)
        if isinstance(op, nv_tileas.TensorWait | nv_tileas.TensorLoad) and not known:
            loads.setdefault(op.d, []).append(op)
    for together in loads.values():
        if len(together) == 1 and not any(isinstance(each, LOOPS) for each in enclosing(together[0])):
            continue
        sites: dict[Op, Site] = {}
        for load in together:
            assert load.parent is not None
            load.operands.append(numbers.zero)
            load.segments = (*load.segments[:-1], 1)
            step = numbers.other(numbers.zero)
            step.parent, step.location = load.parent, load.location
            load.parent.ops.insert(load.parent.ops.index(load) + 1, step)
            sites[load] = Site([len(load.operands) - 1], [step.results[0]], [step])
        thread(sites, [numbers.zero])


def order(block: Block, warps: int) -> None:
    """Synchronise the threads before a product that overwrites one they have read, or reads what they have written,
    unless they already do; all threads before a loop whose accumulators overlay those of another one. If each warpgroup
    of the `warps` has a block of rows, it issues only the products of that block, and waits for no other.
    """
    dots = [op for op in nested(block) if isinstance(op, nv_tileas.TensorDot)]
    for dot in dots:
        kind, made = dot.d.type, dot.d.op
        assert isinstance(kind, nv_tileas.TensorMemoryType)
        assert made is not None
        if kind.shape[0] // M == warps // WARPS and not any(multiplies(each) for each in enclosing(dot)):
            made.attributes["groups"] = kind.shape[0] // M
    for dot in dots:
        for begins in [op for op in nested(block) if isinstance(op, nv_tileas.TensorStore) and op.d is dot.d]:
            if not any(isinstance(op, nv_tileas.TensorScale) and op.d is dot.d for op in nested(block)):
                assert begins.parent is not None
                meet(begins.parent.ops[begins.parent.ops.index(begins) + 1], apart(dot))
    for dot in reversed(dots):  # a barrier before a later one may serve an earlier one of the next iteration
        if not met(dot, block):
            meet(dot, apart(dot))
    order_loops(block, repeated=False)


def apart(dot: nv_tileas.TensorDot) -> bool:
    """Does each warpgroup begin the product of its own rows?"""
    made = dot.d.op
    return isinstance(made, nv_tileas.AllocTensorMemory) and made.groups > 1


def meet(op: Op, group: bool = False) -> None:
    """A barrier before an operation, of all threads or of those of each warpgroup."""
    assert op.parent is not None
    made = nv_tileas.TensorMeet() if group else nv_tileas.Barrier((), (), {"publishes": False})
    made.parent, made.location = op.parent, op.location
    op.parent.ops.insert(op.parent.ops.index(op), made)


def order_loops(block: Block, repeated: bool) -> None:
    """A barrier before each loop or branch with products, and before a product behind one, where accumulators have been
    read since the last one.
    """
    ops = [*steps(block)]
    inner = [op for op in ops if op.regions and not isinstance(op, nv_tileas.REGIONS) and has(op, nv_tileas.TensorDot)]
    read = beside = repeated and bool(inner)
    for op in ops:
        if op in inner:
            if read:
                meet(op)
            for region in op.regions:
                order_loops(region.block, isinstance(op, LOOPS))
            read = beside = has(op, *READS)
        elif isinstance(op, nv_tileas.TensorDot | nv_tileas.TensorStore) and read and (beside or begins(op)):
            meet(op)
            read = False
        elif isinstance(op, nv_tileas.Barrier | nv_tileas.TensorLoad):
            read = isinstance(op, nv_tileas.TensorLoad)


def begins(op: Op) -> bool:
    """Do threads store what a sum of a loop begins with? It lies over the sums of other loops."""
    made = op.d.op if isinstance(op, nv_tileas.TensorStore) else None
    return isinstance(made, nv_tileas.AllocTensorMemory) and not made.left


def has(op: Op, *kinds: type[Op]) -> bool:
    """Is there such an operation in one?"""
    return any(isinstance(each, kinds) for each in op.walk())


def met(dot: nv_tileas.TensorDot, whole: Block) -> bool:
    """Is there a barrier on all ways from the last load of an accumulator to a product that is made in its place, and
    between what threads have written of its left factor and the product? `whole`: all of their program.
    """
    barriers = (nv_tileas.Barrier, nv_tileas.TensorMeet) if apart(dot) else (nv_tileas.Barrier,)
    block = dot.parent
    assert block is not None
    at = block.ops.index(dot)
    written = (i for i, op in enumerate(block.ops[:at]) if isinstance(op, nv_tileas.TensorStore) and op.d is dot.a)
    last = max(written, default=None)
    if last is not None and not any(isinstance(each, barriers) for each in block.ops[last:at]):
        return False
    loop = next((each for each in enclosing(dot) if isinstance(each, LOOPS)), None)
    if loop is None:
        return True
    ops = [op for region in loop.regions for op in steps(region.block)]
    loads = [op for op in loop.walk() if isinstance(op, READS) and op.d is dot.d]
    if dot not in ops or not loads or any(load not in ops for load in loads):
        return not loads
    at, last = ops.index(dot), max(ops.index(load) for load in loads)
    inside = len(loads) == sum(isinstance(op, READS) and op.d is dot.d for op in nested(whole))
    behind = ops[last + 1 :] if inside else []  # of the iteration before; the first one too comes behind other loads
    return any(isinstance(each, barriers) for each in (ops[last + 1 : at] if last < at else behind + ops[:at]))


def steps(block: Block) -> Iterator[Op]:
    """The ops of a block in order, with those of regions that are run once."""
    for op in block.ops:
        yield op
        if isinstance(op, nv_tileas.REGIONS):
            for region in op.regions:
                yield from steps(region.block)
