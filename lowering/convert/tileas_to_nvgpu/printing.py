"""Printing: one of the threads that all hold the numbers calls the driver."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ir.core import Op, Value
from ir.dialects import gpu, nv_tileas
from lowering.convert.tileas_to_nvgpu.agents import branch

if TYPE_CHECKING:
    from lowering.convert.tileas_to_nvgpu.expand import Expander
from lowering.layouts.layout import Layout


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


HANDLERS: dict[type[Op], Callable[[Any, Any], None]] = {nv_tileas.Print: print_text}
