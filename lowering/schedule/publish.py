"""What makes writes to shared memory visible."""

from __future__ import annotations

from ir.core import Builder
from ir.dialects import nv_tileas
from lowering.targets import Feature, Target


def publish(b: Builder, target: Target, fills: bool = False, tensor: bool = False) -> None:
    """A barrier behind writes to shared memory, with the fence that asynchronous readers need. `fills`: what has been
    read before may be filled again behind it. `tensor`: products in tensor memory may read it.
    """
    if tensor or target.has(Feature.WGMMA):
        b.add(nv_tileas.AsyncFence, types=())
    b.add(nv_tileas.Barrier, types=(), publishes=not fills)
