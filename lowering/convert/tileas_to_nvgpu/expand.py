"""nv_tileas to nvgpu: one function an op. Tiles become `Registers`, views become addresses, loops carry registers."""

from __future__ import annotations

from collections.abc import Set

from ir.core import Block, Region
from ir.dialects import gpu, nv_tileas
from lowering.convert.tileas_to_nvgpu import agents, own_maps, tensor
from lowering.convert.tileas_to_nvgpu.compute import register_type
from lowering.convert.tileas_to_nvgpu.context import Environment, Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.targets.target import WARP, Target


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
    known = len(func.params) == len(source.args)  # handwritten placed programs may lack their parameters
    return gpu.GpuFunc(
        (), (), {
            "sym_name": func.sym_name, "target": func.target, "block": (threads, 1, 1),
            "dynamic_smem": expander.shared_bytes, "maxnreg": expander.maxnreg, "consumers": expander.consumers,
            "cluster": func.cluster, "ranges": func.ranges,
            "minctas": min(func.asked_ctas, int(target.warps_per_sm) * WARP // threads),
            "arrays": tuple(emitter.arrays.values()), "params": (*func.params, *expander.records) if known else (),
        }, [Region([block])], func.location,
    )  # fmt: skip


@lowers(nv_tileas.Return)
def end(x: Expander, op: nv_tileas.Return) -> None:
    """The end of the thread: its shared and tensor memory must have been read."""
    tensor.end(x)
    for leave in x.at_end:
        leave()
    x.emitter.effect(gpu.Return)
