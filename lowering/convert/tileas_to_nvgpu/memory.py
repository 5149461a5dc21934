"""Views, loads and stores, buffers in shared memory and copies to them, in per-thread code."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ir.checked import checked
from ir.core import Value
from ir.dialects import arith, nv_tileas, nvvm
from ir.types import I32, I64, PartitionViewType, TensorType, TensorViewType
from lowering.convert.tileas_to_nvgpu import agents, compute, views, windows
from lowering.convert.tileas_to_nvgpu.compute import layout_of, tensor_of
from lowering.convert.tileas_to_nvgpu.context import Expander, Ring, SharedTile, lowers
from lowering.convert.tileas_to_nvgpu.pointers import GatherLoad, gather_to_shared, scatter
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout


@lowers(nv_tileas.MakeMemref)
def memref(x: Expander, op: nv_tileas.MakeMemref) -> None:
    """Static sizes and strides are constants, the dynamic ones come in order."""
    kind = checked(op.result.type, TensorViewType)
    sizes, strides = iter(x.scalars(op.sizes)), iter(x.scalars(op.strides))
    emitter = x.emitter
    static: Callable[[int | None, Iterator[Value]], Value] = lambda known, rest: (  # noqa: E731
        next(rest) if known is None else emitter.constant(known, I32 if known < 1 << 31 else I64)
    )
    shape = [static(n, sizes) for n in kind.shape]
    steps = [static(n, strides) for n in kind.strides]
    x.values[op.result] = windows.Memref(x.scalar(op.base), shape, steps)


@lowers(nv_tileas.Partition)
def partition(x: Expander, op: nv_tileas.Partition) -> None:
    """A memref and its partition."""
    kind = op.result.type
    assert isinstance(kind, PartitionViewType)
    x.values[op.result] = windows.View(x.held(op.source, windows.Memref), kind)


@lowers(nv_tileas.IndexSpaceShape)
def index_space(x: Expander, op: nv_tileas.IndexSpaceShape) -> None:
    """ceil(size / tile) along each dimension."""
    view, emitter = x.held(op.source, windows.View), x.emitter
    for dim, result in enumerate(op.results):
        size, tile = view.memref.sizes[view.type.dim_map[dim]], view.type.tile[dim]
        tiles = emitter.emit(arith.CeilDivUI, size, emitter.constant(tile, size.type))
        x.values[result] = compute.resize(emitter, tiles, result.type)


@lowers(nv_tileas.TensorShape)
def tensor_shape(x: Expander, op: nv_tileas.TensorShape) -> None:
    """The sizes of a memref."""
    for result, size in zip(op.results, x.held(op.source, windows.Memref).sizes, strict=True):
        x.values[result] = compute.resize(x.emitter, size, result.type)


@lowers(nv_tileas.TiledLoad)
def tiled_load(x: Expander, op: nv_tileas.TiledLoad) -> None:
    """A tile straight into registers, on demand or ahead of it."""
    loaded = views.ViewLoad(
        x.emitter,
        layout_of(op.result),
        x.held(op.view, windows.View),
        x.scalars(op.index),
        op.bytes,
        cache=views.cache_of(op),
        evict=op.evict,
    )
    if op.ahead:
        loaded.fetch(range(loaded.count))
    x.lazily(op.result, loaded)


@lowers(nv_tileas.TiledStore)
def tiled_store(x: Expander, op: nv_tileas.TiledStore) -> None:
    """A tile out of registers."""
    view = x.held(op.view, windows.View)
    views.store_tile(x.emitter, x.tile(op.value), view, x.scalars(op.index), op.bytes, x.beside)


@lowers(nv_tileas.Gather)
def gather(x: Expander, op: nv_tileas.Gather) -> None:
    """Loads through pointers."""
    shape = op.result.type.shape if isinstance(op.result.type, TensorType) else ()
    element = op.result.type.element if isinstance(op.result.type, TensorType) else op.result.type
    mask = None if op.mask is None else x.tile(op.mask)
    other = None if op.other is None else x.tile(op.other)
    loaded = GatherLoad(
        x.emitter,
        element,
        x.tile(op.ptr),
        mask,
        other,
        shape,
        op.width,
        cache=views.cache_of(op),
        order=op.order,
        scope=op.scope,
    )
    if op.order:
        loaded.force()
    elif op.ahead:
        loaded.fetch(range(loaded.count))
    if isinstance(op.result.type, TensorType):
        x.lazily(op.result, loaded)
    else:
        x.values[op.result] = loaded.scalar(0)


@lowers(nv_tileas.Scatter)
def scatter_tile(x: Expander, op: nv_tileas.Scatter) -> None:
    """Stores through pointers."""
    shape = op.value.type.shape if isinstance(op.value.type, TensorType) else ()
    mask = None if op.mask is None else x.tile(op.mask)
    scatter(
        x.emitter, x.tile(op.ptr), x.tile(op.value), mask, shape, op.width, x.beside, order=op.order, scope=op.scope
    )


@lowers(nv_tileas.AllocTensor)
def alloc(x: Expander, op: nv_tileas.AllocTensor) -> None:
    """A place in shared memory."""
    kind = op.result.type
    assert isinstance(kind, nv_tileas.BufferType)
    assert isinstance(kind.layout, SharedLayout)
    x.values[op.result] = Ring(op.offset, op.stage_bytes, kind.layout)


@lowers(nv_tileas.BufferView)
def buffer_view(x: Expander, op: nv_tileas.BufferView) -> None:
    """One stage of a ring."""
    x.values[op.result] = x.stage(op.buffer, op.stage)


@lowers(nv_tileas.WriteBuffer)
def write_buffer(x: Expander, op: nv_tileas.WriteBuffer) -> None:
    """Registers to shared memory."""
    tile, source = x.stage(op.buffer, op.stage), x.tile(op.source)
    store = views.store_matrices if op.atom == "stmatrix" else views.store_shared
    store(x.emitter, source, tile.pointer, tile.layout)


@lowers(nv_tileas.AsyncTiledCopy)
def async_copy(x: Expander, op: nv_tileas.AsyncTiledCopy) -> None:
    """Global to shared memory; if a tile has fewer pieces than there are threads, each is copied once."""
    tile, threads = x.stage(op.buffer, op.stage), checked(op.threads, Layout)
    view, index = x.held(op.view, windows.View), x.scalars(op.index)
    enable = None if op.enable is None else x.scalar(op.enable)

    def copy() -> None:
        views.copy_to_shared(
            x.emitter,
            view,
            index,
            tile.pointer,
            tile.layout,
            threads,
            op.bytes,
            op.asynchronous,
            op.ragged,
            op.inside,
            enable,
            op.skips,
        )

    owner = views.owner(x.emitter, threads.free()) if op.asynchronous else None
    if owner is None:
        copy()
    else:  # a predicate on each copy would zero-fill, as for an out-of-bounds copy
        agents.branch(x, owner, copy)


@lowers(nv_tileas.AsyncGatherCopy)
def gather_copy(x: Expander, op: nv_tileas.AsyncGatherCopy) -> None:
    """Runs addressed by pointers to shared memory, each copied once."""
    tile, pointers = x.stage(op.buffer, op.stage), x.tile(op.ptr)
    mask = None if op.mask is None else x.tile(op.mask)
    enable = None if op.enable is None else x.scalar(op.enable)
    shape = tensor_of(op.ptr).shape

    def copy() -> None:
        gather_to_shared(x.emitter, pointers, mask, shape, op.width, tile.pointer, tile.layout, enable, op.skips)

    owner = views.owner(x.emitter, pointers.layout.free())
    if owner is None:
        copy()
    else:
        agents.branch(x, owner, copy)


@lowers(nv_tileas.AsyncCommit)
def commit(x: Expander, op: nv_tileas.AsyncCommit) -> None:
    """cp.async.commit_group."""
    x.emitter.effect(nvvm.CpAsyncCommitGroup)


@lowers(nv_tileas.AsyncWait)
def wait(x: Expander, op: nv_tileas.AsyncWait) -> None:
    """cp.async.wait_group."""
    x.emitter.effect(nvvm.CpAsyncWaitGroup, n=op.pending)


@lowers(nv_tileas.Barrier)
def barrier(x: Expander, op: nv_tileas.Barrier) -> None:
    """bar.sync; pending lazy loads are emitted before it."""
    x.emitter.barrier(op.publishes)


@lowers(nv_tileas.SharedLoad)
def shared_load(x: Expander, op: nv_tileas.SharedLoad) -> None:
    """Shared memory to registers, by ldmatrix or vector loads."""
    tile, kind = x.held(op.source, SharedTile), tensor_of(op.result)
    cls = views.SharedMatrices if op.atom.startswith("ldmatrix") else views.SharedVectors
    loaded = cls(x.emitter, layout_of(op.result), kind.element, tile.pointer, tile.layout)
    x.lazily(op.result, loaded)
