"""Printing: one of the threads that all hold the numbers calls the driver."""

from __future__ import annotations

from ir.core import Value
from ir.dialects import gpu, nv_tileas
from lowering.convert.tileas_to_nvgpu.agents import branch
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.layouts.layout import Layout


@lowers(nv_tileas.Print)
def print_text(x: Expander, op: nv_tileas.Print) -> None:
    """A text, its numbers in order: register i of a tile holds element i."""
    emitter, numbers = x.emitter, list[Value]()
    for value in op.args:
        tile = x.tile(value)
        numbers += [tile.scalar(i) for i in range(tile.count)]

    def call() -> None:
        emitter.effect(gpu.Printf, *numbers, segments=(len(numbers),), format=op.format)

    first = emitter.when(Layout.trivial(emitter.warps).free().thread)
    if first is None:
        call()
    else:
        branch(x, first, call)
