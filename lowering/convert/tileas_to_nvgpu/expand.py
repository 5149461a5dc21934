"""nv_tileas to nvgpu: one method an op. Tiles become `Registers`, views become addresses, loops carry registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any, TypeVar, cast

from ir.core import Block, Op, Region, Type, Value
from ir.descriptors import TensorMapDescriptor
from ir.dialects import arith, gpu, nv_tileas, nvvm, scf
from ir.types import I32, I64, PartitionViewType, TensorType
from lowering.atoms.mma import MMA_ATOMS
from lowering.atoms.wgmma import wgmma_named
from lowering.convert.tileas_to_nvgpu import (
    agents,
    assertions,
    atomics,
    beside,
    channels,
    compute,
    effects,
    endless,
    exchanges,
    own_maps,
    parts,
    printing,
    scans,
    stores,
    switch,
    tensor,
    views,
    windows,
)
from lowering.convert.tileas_to_nvgpu.agents import SharedTile
from lowering.convert.tileas_to_nvgpu.compute import layout_of, register_type, tensor_of
from lowering.convert.tileas_to_nvgpu.emitter import EVERYWHERE, Emitter
from lowering.convert.tileas_to_nvgpu.literals import Literal, get_global
from lowering.convert.tileas_to_nvgpu.pointers import GatherLoad, gather_to_shared, scatter
from lowering.convert.tileas_to_nvgpu.registers import Computed, Grouped, Held, Registers, Renamed
from lowering.convert.tileas_to_nvgpu.uses import outer_values
from lowering.layouts.conversions import plan as plan_conversion
from lowering.layouts.elements import moved_bits
from lowering.layouts.layout import Layout
from lowering.layouts.shapes import slice_for_broadcast
from lowering.layouts.shared import SharedLayout
from lowering.schedule.scratch import scratch_of
from lowering.targets.target import WARP, Target

Environment = dict[Value, Any]
ATOMS = {atom.name: atom for atom in MMA_ATOMS}
T = TypeVar("T")


class Ring:
    """Stages of one buffer: address of stage 0 and the bytes from one stage to the next."""

    def __init__(self, offset: int, stage_bytes: int, layout: SharedLayout):
        self.offset, self.stage_bytes, self.layout = offset, stage_bytes, layout


def expand(func: nv_tileas.Func, target: Target, forbid: Set[str] = frozenset()) -> gpu.GpuFunc:
    """The per-thread program of a scheduled kernel, without atoms whose names start with one of `forbid`."""
    source = func.body.block
    block = Block([register_type(a.type) for a in source.args])
    emitter = Emitter(block, func.warps, func.cluster)
    environment: Environment = dict(zip(source.args, block.args, strict=True))
    expander = Expander(emitter, environment, target, func)
    own_maps.make(expander, func)
    agents.prefetch(expander, len(func.tensormaps), forbid)
    expander.ops(source)
    block.args += expander.maps[: len(expander.records)]
    emitter.finish()
    threads = expander.threads or WARP * func.warps
    known = len(func.params) == len(source.args)  # a placed program made by hand may say nothing of its parameters
    return gpu.GpuFunc(
        (), (), {
            "sym_name": func.sym_name, "target": func.target, "block": (threads, 1, 1),
            "dynamic_smem": expander.shared_bytes, "maxnreg": expander.maxnreg, "consumers": expander.consumers,
            "cluster": func.cluster, "ranges": func.ranges,
            "minctas": min(func.asked_ctas, int(target.warps_per_sm) * WARP // threads),
            "arrays": tuple(emitter.arrays.values()), "params": (*func.params, *expander.records) if known else (),
        }, [Region([block])], func.location,
    )  # fmt: skip


class Expander:
    """The walk over a scheduled kernel; `values` holds what each nv_tileas value became."""

    def __init__(self, emitter: Emitter, values: Environment, target: Target, func: nv_tileas.Func):
        self.emitter, self.values, self.target = emitter, values, target
        self.kernel, self.records, self.shared_bytes = func.sym_name, func.tensormaps, func.shared_bytes
        self.mbarriers: list[tuple[Value, int, int]] = []  # group, number in it and arrivals of each
        self.maps: list[Value] = []  # tensor-map parameters, behind the kernel's own, or those that it makes itself
        self.own: own_maps.OwnMaps | None = None
        self.maxnreg = 0
        self.consumers = 0  # threads that are given registers of the others
        self.threads = 0  # of the block, where agents part; else all compute
        self.beside: list[Registers] = []  # what is computed together with the next tile that is stored
        self.elected: Value | None = None  # true in the thread that acts for its agent; None where it is alone
        self.multiplies = False  # is this the code of the one thread that begins products?

    def tensor_map(self, number: int) -> Value:
        """A tensor map: a parameter, unless the kernel has made it."""
        while len(self.maps) <= number:
            at, entry = len(self.maps), self.emitter.block
            self.maps.append(Value(TensorMapDescriptor.of(self.records[at]), entry, len(entry.args) + at))
        return self.maps[number]

    def barriers(self, value: Value) -> agents.Barriers:
        """The barriers of a pipeline."""
        return self._as(value, agents.Barriers)

    def channel(self, value: Value) -> channels.Channel:
        """The place of a scalar that crosses between agents."""
        return self._as(value, channels.Channel)

    def ops(self, block: Block) -> None:
        """Every op of a block in order."""
        self.run(block.ops)

    def run(self, ops: Sequence[Op]) -> None:
        """Ops in order."""
        done: set[Op] = set()
        for number, op in enumerate(ops):
            if isinstance(op, nv_tileas.Scatter | nv_tileas.TiledStore):
                rest = [each for each in ops[number + 1 :] if each not in done]
                self.beside = beside.carried(self, rest, done) if beside.carries(op) else []
            if op not in done:
                self.handle(op)

    def handle(self, op: Op) -> None:
        """One op."""
        self.emitter.at(op.location)
        if (start := getattr(op, "scratch", None)) is not None:
            self.emitter.scratch_bytes = range(start, start + scratch_of(op, self.target))
        self.emitter.scratch_apart = getattr(op, "apart", False)
        handler = _HANDLERS.get(type(op), Expander.elementwise)
        handler(self, op)

    def lazy(self, op: Op) -> bool:
        """Does an op on tiles make nothing before its registers are asked for?"""
        handler = _HANDLERS.get(type(op), Expander.elementwise)
        made = handler in (Expander.elementwise, Expander.iota, Expander.broadcast, Expander.rename)
        return made and isinstance(op.results[0].type, TensorType)

    def scalar(self, value: Value) -> Value:
        """A value known to be uniform."""
        return self._as(value, Value)

    def tile(self, value: Value) -> Registers:
        """A value known to be a placed tile; a scalar counts as a tile of one."""
        found = self.values[value]
        if isinstance(found, Value):
            layout = Layout.trivial(self.emitter.warps)
            return Held(self.emitter, layout, value.type, [found])
        return self._as(value, Registers)

    def _as(self, value: Value, kind: type[T]) -> T:
        found = self.values[value]
        if not isinstance(found, kind):
            raise TypeError(f"{value} is {type(found).__name__}, not {kind.__name__}")
        return found

    def scalars(self, values: Sequence[Value]) -> list[Value]:
        """Several uniform values."""
        return [self.scalar(v) for v in values]

    # --- values

    def elementwise(self, op: Op) -> None:
        """arith and math on scalars or placed tiles."""
        result = op.results[0]
        if not isinstance(result.type, TensorType):
            operands = self.scalars(op.operands)
            self.values[result] = self.emitter.emit(type(op), *operands, types=[result.type], **op.attributes)
            return
        operands = [self.tile(v) for v in op.operands]
        self.values[result] = compute.elementwise(self.emitter, op, operands, layout_of(result), result.type.element)

    def number(self, op: arith.Constant) -> None:
        """A scalar constant."""
        self.values[op.result] = self.emitter.constant(op.value, op.result.type)

    def constant(self, op: nv_tileas.Constant) -> None:
        """A tile literal: one constant where its elements are all equal, else an array of the module."""
        kind, layout = tensor_of(op.result), layout_of(op.result)
        if not op.value.splat:
            self.values[op.result] = Literal(self.emitter, layout, kind.element, op.value, op.location)
            return
        item = op.value.item
        value = self.emitter.constant(item, kind.element)
        self.values[op.result] = Computed(self.emitter, layout, kind.element, lambda _: value)

    def get_global(self, op: nv_tileas.GetGlobal) -> None:
        """The base of a module's array."""
        self.values[op.result] = get_global(self.emitter, op)

    def iota(self, op: nv_tileas.Iota) -> None:
        """Element numbers."""
        kind = tensor_of(op.result)
        self.values[op.result] = compute.iota(self.emitter, layout_of(op.result), kind.element)

    def program_id(self, op: nv_tileas.ProgramId) -> None:
        """%ctaid."""
        self.values[op.result] = self.emitter.prelude.value(gpu.BlockId, types=[I32], dimension="xyz"[op.axis])

    def num_programs(self, op: nv_tileas.NumPrograms) -> None:
        """%nctaid."""
        self.values[op.result] = self.emitter.prelude.value(gpu.GridDim, types=[I32], dimension="xyz"[op.axis])

    def broadcast(self, op: nv_tileas.Broadcast) -> None:
        """Registers of the small tile under the numbers of the large one."""
        kind, source = tensor_of(op.result), self.tile(op.source)
        shape = op.source.type.shape if isinstance(op.source.type, TensorType) else ()
        plan = slice_for_broadcast(shape, kind.shape, layout_of(op.result))
        self.values[op.result] = Renamed(self.emitter, layout_of(op.result), kind.element, source, plan.reg_map)

    def rename(self, op: nv_tileas.Reshape | nv_tileas.Permute) -> None:
        """Reshape and permute: the same registers."""
        result = op.results[0]
        if isinstance(result.type, TensorType) and isinstance(result.type.layout, SharedLayout):
            self.values[result] = SharedTile(self._as(op.operands[0], SharedTile).pointer, result.type.layout)
            return
        source = self.tile(op.operands[0])
        if not isinstance(result.type, TensorType):
            self.values[result] = source.scalar(0)
            return
        self.values[result] = Renamed(self.emitter, layout_of(result), result.type.element, source, range(source.count))

    def addptr(self, op: nv_tileas.AddPtr) -> None:
        """Pointer plus offset."""
        emitter, result = self.emitter, op.result
        if not isinstance(result.type, TensorType):
            self.values[result] = emitter.pointer(self.scalar(op.ptr), self.scalar(op.offset), op.element_bytes)
            return
        pointers, offsets = self.tile(op.ptr), self.tile(op.offset)
        self.values[result] = Computed(
            emitter, layout_of(result), result.type.element,
            lambda i: emitter.pointer(pointers.scalar(i), offsets.scalar(i), op.element_bytes),
        )  # fmt: skip

    # --- views

    def memref(self, op: nv_tileas.MakeMemref) -> None:
        """Static sizes and strides are constants, the dynamic ones come in order."""
        kind = op.result.type
        sizes, strides = iter(self.scalars(op.sizes)), iter(self.scalars(op.strides))
        emitter = self.emitter
        static: Callable[[int | None, Any], Value] = lambda known, rest: (  # noqa: E731
            next(rest) if known is None else emitter.constant(known, I32 if known < 1 << 31 else I64)
        )
        shape = [static(n, sizes) for n in cast(Any, kind).shape]
        steps = [static(n, strides) for n in cast(Any, kind).strides]
        self.values[op.result] = windows.Memref(self.scalar(op.base), shape, steps)

    def partition(self, op: nv_tileas.Partition) -> None:
        """A memref and the way it is cut."""
        kind = op.result.type
        assert isinstance(kind, PartitionViewType)
        self.values[op.result] = windows.View(self._as(op.source, windows.Memref), kind)

    def index_space(self, op: nv_tileas.IndexSpaceShape) -> None:
        """ceil(size / tile) along each dimension."""
        view, emitter = self._as(op.source, windows.View), self.emitter
        for dim, result in enumerate(op.results):
            size, tile = view.memref.sizes[view.type.dim_map[dim]], view.type.tile[dim]
            tiles = emitter.emit(arith.CeilDivUI, size, emitter.constant(tile, size.type))
            self.values[result] = compute.resize(emitter, tiles, result.type)

    def tensor_shape(self, op: nv_tileas.TensorShape) -> None:
        """The sizes of a memref."""
        for result, size in zip(op.results, self._as(op.source, windows.Memref).sizes, strict=True):
            self.values[result] = compute.resize(self.emitter, size, result.type)

    # --- memory

    def tiled_load(self, op: nv_tileas.TiledLoad) -> None:
        """A tile straight into registers, when they are asked for."""
        loaded = views.ViewLoad(
            self.emitter, layout_of(op.result), self._as(op.view, windows.View), self.scalars(op.index), op.bytes,
            cache=views.cache_of(op), evict=op.evict,
        )  # fmt: skip
        self._lazily(op.result, loaded)

    def _lazily(self, result: Value, loaded: Registers) -> None:
        self.emitter.pending.append(loaded)
        self.values[result] = loaded

    def tiled_store(self, op: nv_tileas.TiledStore) -> None:
        """A tile out of registers."""
        view = self._as(op.view, windows.View)
        views.store_tile(self.emitter, self.tile(op.value), view, self.scalars(op.index), op.bytes, self.beside)

    def gather(self, op: nv_tileas.Gather) -> None:
        """Loads through pointers."""
        shape = op.result.type.shape if isinstance(op.result.type, TensorType) else ()
        element = op.result.type.element if isinstance(op.result.type, TensorType) else op.result.type
        mask = None if op.mask is None else self.tile(op.mask)
        other = None if op.other is None else self.tile(op.other)
        loaded = GatherLoad(
            self.emitter, element, self.tile(op.ptr), mask, other, shape, op.width, cache=views.cache_of(op),
            order=op.order, scope=op.scope,
        )  # fmt: skip
        if op.order:
            loaded.force()
        if isinstance(op.result.type, TensorType):
            self._lazily(op.result, loaded)
        else:
            self.values[op.result] = loaded.scalar(0)

    def scatter(self, op: nv_tileas.Scatter) -> None:
        """Stores through pointers."""
        shape = op.value.type.shape if isinstance(op.value.type, TensorType) else ()
        mask = None if op.mask is None else self.tile(op.mask)
        scatter(
            self.emitter, self.tile(op.ptr), self.tile(op.value), mask, shape, op.width, self.beside,
            order=op.order, scope=op.scope,
        )  # fmt: skip

    def alloc(self, op: nv_tileas.AllocTensor) -> None:
        """A place in shared memory."""
        kind = op.result.type
        assert isinstance(kind, nv_tileas.BufferType)
        assert isinstance(kind.layout, SharedLayout)
        self.values[op.result] = Ring(op.offset, op.stage_bytes, kind.layout)

    def stage(self, buffer: Value, stage: Value | None) -> SharedTile:
        """The tile of one stage: base + stage * stage_bytes + offset; the constant goes into the instructions."""
        ring, emitter = self._as(buffer, Ring), self.emitter
        base = emitter.shared_base
        if stage is not None:
            base = emitter.pointer(base, self.scalar(stage), ring.stage_bytes)
        return SharedTile(emitter.pointer(base, None, 1, ring.offset), ring.layout)

    def buffer_view(self, op: nv_tileas.BufferView) -> None:
        """One stage of a ring."""
        self.values[op.result] = self.stage(op.buffer, op.stage)

    def write_buffer(self, op: nv_tileas.WriteBuffer) -> None:
        """Registers to shared memory."""
        tile, source = self.stage(op.buffer, op.stage), self.tile(op.source)
        store = views.store_matrices if op.atom == "stmatrix" else views.store_shared
        store(self.emitter, source, tile.pointer, tile.layout)

    def async_copy(self, op: nv_tileas.AsyncTiledCopy) -> None:
        """Global to shared memory; where a tile has fewer pieces than there are threads, each is copied once."""
        tile, threads = self.stage(op.buffer, op.stage), cast(Layout, op.threads)
        view, index = self._as(op.view, windows.View), self.scalars(op.index)
        enable = None if op.enable is None else self.scalar(op.enable)

        def copy() -> None:
            views.copy_to_shared(
                self.emitter, view, index, tile.pointer, tile.layout, threads, op.bytes, op.asynchronous, op.ragged,
                op.inside, enable, op.skips,
            )  # fmt: skip

        owner = views.owner(self.emitter, threads.free()) if op.asynchronous else None
        if owner is None:
            copy()
        else:  # a predicate on each copy would fill in zeros, as one out of bounds does
            agents.branch(self, owner, copy)

    def gather_copy(self, op: nv_tileas.AsyncGatherCopy) -> None:
        """Runs behind pointers to shared memory, each copied once."""
        tile, pointers = self.stage(op.buffer, op.stage), self.tile(op.ptr)
        mask = None if op.mask is None else self.tile(op.mask)
        enable = None if op.enable is None else self.scalar(op.enable)
        shape = tensor_of(op.ptr).shape

        def copy() -> None:
            gather_to_shared(self.emitter, pointers, mask, shape, op.width, tile.pointer, tile.layout, enable, op.skips)

        owner = views.owner(self.emitter, pointers.layout.free())
        if owner is None:
            copy()
        else:
            agents.branch(self, owner, copy)

    def commit(self, op: nv_tileas.AsyncCommit) -> None:
        """cp.async.commit_group."""
        self.emitter.effect(nvvm.CpAsyncCommitGroup)

    def wait(self, op: nv_tileas.AsyncWait) -> None:
        """cp.async.wait_group."""
        self.emitter.effect(nvvm.CpAsyncWaitGroup, n=op.pending)

    def barrier(self, op: nv_tileas.Barrier) -> None:
        """bar.sync; what was loaded lazily before it is loaded now."""
        self.emitter.barrier(op.publishes)

    def shared_load(self, op: nv_tileas.SharedLoad) -> None:
        """Shared memory to registers, by ldmatrix or vector loads."""
        tile, kind = self._as(op.source, SharedTile), tensor_of(op.result)
        cls = views.SharedMatrices if op.atom.startswith("ldmatrix") else views.SharedVectors
        loaded = cls(self.emitter, layout_of(op.result), kind.element, tile.pointer, tile.layout)
        self._lazily(op.result, loaded)

    # --- tiles

    def convert(self, op: nv_tileas.ConvertLayout) -> None:
        """The same tile under another layout."""
        source, layout = self.tile(op.source), layout_of(op.result)
        conversion = plan_conversion(source.layout, layout, moved_bits(source.element), self.target)
        self.values[op.result] = compute.convert(self.emitter, source, layout, conversion)

    def dot(self, op: nv_tileas.Dot) -> None:
        """A matrix product by its atom."""
        (*batch, m, k), n = tensor_of(op.a).shape, tensor_of(op.b).shape[-1]
        if (warpgroup := wgmma_named(op.atom)) is not None:
            left = self.values[op.a] if isinstance(self.values[op.a], SharedTile) else self.tile(op.a)
            right = self._as(op.b, SharedTile)
            self.values[op.result] = agents.product(self, op, warpgroup, left, right, self.tile(op.c), (m, n, k))
            return
        a, b, c, *scales = map(self.tile, op.operands)  # these of a scaled_dot
        shape = (batch[0] if batch else 1, m, n, k)
        atom, layout = ATOMS[op.atom], layout_of(op.result)
        if atom.threads == 1:
            self.values[op.result] = compute.scalar_product(self.emitter, atom, shape, a, b, c, layout)
        else:
            self.values[op.result] = compute.product(self.emitter, atom, shape, op.grid, a, b, c, layout, scales)

    # --- control

    def loop(self, op: scf.For) -> None:
        """A loop over registers: what the body uses from outside is made before it."""
        emitter = self.emitter
        for value in outer_values(op):
            found = self.values.get(value)
            if isinstance(found, Registers):
                found.force()
        emitter.flush_pending_loads()  # the body may store, or use shared memory again
        bounds = self.scalars([op.lower, op.upper, op.step])
        body = op.body.block
        forms = [carried_form(argument, op) for argument in body.args[1:]]
        inits = [self.carried(v, form) for v, form in zip(op.init, forms, strict=True)]
        flat = [v for group in inits for v in group]
        inner = Block([bounds[0].type, *(v.type for v in flat)])
        outside, emitter.builder.block = emitter.builder.block, inner
        emitter.open.add(inner)
        emitter.depth += 1
        emitter.depth_of.update(dict.fromkeys(inner.args, emitter.depth))
        pending, emitter.pending = emitter.pending, []
        self.values[body.args[0]] = inner.args[0]
        self.bind(body.args[1:], forms, inits, inner.args[1:])
        emitter.scratch_read = EVERYWHERE  # an earlier iteration may have left readers behind
        stored = emitter.scratch_stored = emitter.scratch_stored or stores.started_in(op)
        self._body(body, forms)
        emitter.pending = pending
        emitter.depth -= 1
        emitter.open.discard(inner)
        emitter.builder.block = outside
        made = emitter.builder.add(
            scf.For, *bounds, *flat, types=[v.type for v in flat], segments=(1, 1, 1, len(flat)),
            regions=[Region([inner])], **({"unsigned": True} if op.unsigned else {}),
        )  # fmt: skip
        for region in made.regions:
            region.parent = made
        if emitter.depth:
            emitter.depth_of.update(dict.fromkeys(made.results, emitter.depth))
        self.bind(op.results, forms, inits, made.results)
        emitter.scratch_read, emitter.scratch_stored = EVERYWHERE, stored

    def _body(self, body: Block, forms: Sequence[tuple[int, ...] | None]) -> None:
        self.run(body.ops[:-1])
        ends = body.terminator.operands
        flat = [v for value, form in zip(ends, forms, strict=True) for v in self.carried(value, form)]
        self.emitter.flush_pending_loads()
        self.emitter.builder.add(scf.Yield, *flat, types=())

    def carried(self, value: Value, form: tuple[int, ...] | None) -> list[Value]:
        """The values that cross a loop edge for one nv_tileas value."""
        found = self.values[value]
        if isinstance(found, Value):
            return [found]
        registers = self._as(value, Registers)
        if form is None:
            return registers.carried()
        size = form[0] * form[1]
        return [registers.group(i, form) for i in range(0, registers.count, size)]

    def bind(
        self, targets: Sequence[Value], forms: Sequence[tuple[int, ...] | None], like: Sequence[list[Value]],
        values: Sequence[Value],
    ) -> None:  # fmt: skip
        """Give each nv_tileas value its share of the flat loop values."""
        at = 0
        for target, form, group in zip(targets, forms, like, strict=True):
            share = list(values[at : at + len(group)])
            at += len(group)
            kind = target.type
            if not isinstance(kind, TensorType):
                self.values[target] = share[0]
            elif form is None:
                self.values[target] = Held(self.emitter, layout_of(target), kind.element, share, carried=True)
            else:
                self.values[target] = Grouped(self.emitter, layout_of(target), kind.element, share, form)

    def branch(self, op: scf.If) -> None:
        """A uniform branch; values used inside are made before it."""
        emitter = self.emitter
        for value in outer_values(op):
            found = self.values.get(value)
            if isinstance(found, Registers):
                found.force()
        emitter.flush_pending_loads()  # either side may store, or use shared memory again
        condition = self.scalar(op.condition)
        outside, regions, kinds, groups = emitter.builder.block, list[Region](), list[Type](), list[list[Value]]()
        emitter.depth += 1
        stored = emitter.scratch_stored or stores.started_in(op)
        for region in op.regions:
            emitter.scratch_stored = stored
            inner = emitter.builder.block = Block()
            emitter.open.add(inner)
            pending, emitter.pending = emitter.pending, []
            emitter.scratch_read = EVERYWHERE
            self.run(region.block.ops[:-1])
            groups = [self.carried(v, None) for v in region.block.terminator.operands]
            emitter.flush_pending_loads()
            emitter.builder.add(scf.Yield, *[v for g in groups for v in g], types=())
            emitter.pending = pending
            emitter.open.discard(inner)
            kinds = [v.type for g in groups for v in g]
            regions.append(Region([inner]))
        emitter.depth -= 1
        emitter.builder.block = outside
        made = emitter.builder.add(scf.If, condition, types=kinds, regions=regions)
        self.bind(op.results, [None] * len(op.results), groups, made.results)
        emitter.scratch_read, emitter.scratch_stored = EVERYWHERE, stored

    def end(self, op: nv_tileas.Return) -> None:
        """The end of the thread: its shared and its tensor memory must have been read."""
        tensor.end(self)
        own_maps.end(self)
        self.emitter.effect(gpu.Return)


def carried_form(argument: Value, loop: scf.For) -> tuple[int, ...] | None:
    """Accumulators of tensor-core products are carried as fragments, everything else register by register.

    A value is one where a product takes or makes it: an accumulator may be scaled before the product adds to it.
    """
    made = loop.body.block.terminator.operands[argument.index - 1].op
    for op in loop.body.block.ops:
        if isinstance(op, nv_tileas.Dot) and (op.c is argument or op is made):
            atom = ATOMS.get(op.atom)
            if atom is None:
                return agents.GROUP
            if atom.threads > 1:
                return atom.c_form
    return None


_HANDLERS: dict[type[Op], Callable[[Expander, Any], None]] = {
    **agents.HANDLERS,
    **switch.HANDLERS,
    **channels.HANDLERS,
    **assertions.HANDLERS,
    **atomics.HANDLERS,
    **effects.HANDLERS,
    **endless.HANDLERS,
    **exchanges.HANDLERS,
    **parts.HANDLERS,
    **printing.HANDLERS,
    **scans.HANDLERS,
    **stores.HANDLERS,
    arith.Constant: Expander.number,
    nv_tileas.Constant: Expander.constant,
    nv_tileas.GetGlobal: Expander.get_global,
    nv_tileas.Iota: Expander.iota,
    nv_tileas.ProgramId: Expander.program_id,
    nv_tileas.NumPrograms: Expander.num_programs,
    nv_tileas.Broadcast: Expander.broadcast,
    nv_tileas.Reshape: Expander.rename,
    nv_tileas.Permute: Expander.rename,
    nv_tileas.AddPtr: Expander.addptr,
    nv_tileas.MakeMemref: Expander.memref,
    nv_tileas.Partition: Expander.partition,
    nv_tileas.IndexSpaceShape: Expander.index_space,
    nv_tileas.TensorShape: Expander.tensor_shape,
    nv_tileas.TiledLoad: Expander.tiled_load,
    nv_tileas.TiledStore: Expander.tiled_store,
    nv_tileas.Gather: Expander.gather,
    nv_tileas.Scatter: Expander.scatter,
    nv_tileas.AllocTensor: Expander.alloc,
    nv_tileas.BufferView: Expander.buffer_view,
    nv_tileas.AsyncTiledCopy: Expander.async_copy,
    nv_tileas.WriteBuffer: Expander.write_buffer,
    nv_tileas.AsyncGatherCopy: Expander.gather_copy,
    nv_tileas.AsyncCommit: Expander.commit,
    nv_tileas.AsyncWait: Expander.wait,
    nv_tileas.Barrier: Expander.barrier,
    nv_tileas.SharedLoad: Expander.shared_load,
    nv_tileas.ConvertLayout: Expander.convert,
    nv_tileas.Dot: Expander.dot,
    nv_tileas.ScaledDot: Expander.dot,
    nv_tileas.Return: Expander.end,
    **tensor.HANDLERS,
    scf.If: Expander.branch,
}
