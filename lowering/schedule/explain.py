"""What the agents of a scheduled kernel are, in words: their warps, their rings, and what crosses between them."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import Op
from ir.dialects import nv_tileas

DOES = {
    "consume": "computation",
    "produce": "copies, issued by one thread",
    "copy": "copies by all threads",
    "multiply": "products, issued by one thread",
    "transform": "tiles for the computation",
    "correct": "sums in tensor memory, scaled for the computation",
}


def agents(func: nv_tileas.Func) -> Iterator[str]:
    """One line each; none where all warps run the same code."""
    common = func.body.block.ops
    switch = next((op for op in common if isinstance(op, nv_tileas.AgentSwitch)), None)
    if switch is None:
        return
    yield "agents"
    groups = [switch.groups_of(agent) for agent in range(len(switch.roles))]
    blocks = switch.blocks or [-1] * len(groups)
    places = zip(switch.warp_id, switch.num_warps, switch.agent_strides, switch.roles, groups, blocks, strict=True)
    for first, count, stride, role, parts, block in sorted(places):
        turns = f", by {parts} groups of {count // parts}, which take tiles in turn" if parts > 1 else ""
        turns += f", for the rows of warpgroup {block}" if block >= 0 else ""
        idle = f", then {stride - count} idle" if stride > count else ""
        yield f"  {warps(first, count)}: {DOES[role]}{turns}{idle}"
    if switch.products:
        yield f"  {switch.products}"
    yield from (f"  {line}" for op in common for line in shared(op))
    for op in switch.walk():
        if isinstance(op, nv_tileas.Send):
            yield f"  handed over as {op.value.type}, {op.location}"


def warps(first: int, count: int) -> str:
    """A run of warps."""
    return f"warp {first}" if count == 1 else f"warps {first} to {first + count - 1}"


def shared(op: Op) -> Iterator[str]:
    """What an op before the agents split gives to all of them."""
    if isinstance(op, nv_tileas.CreatePipeline):
        kind = op.result.type
        assert isinstance(kind, nv_tileas.PipelineType)
        of = " of an accumulator" if op.accumulators else ""
        yield f"a ring{of}: {kind.stages} stages, full after {op.producers} arrivals, empty after {op.consumers}"
    if isinstance(op, nv_tileas.Gather | nv_tileas.TiledLoad):
        yield f"loaded before the agents split, {op.location}"
