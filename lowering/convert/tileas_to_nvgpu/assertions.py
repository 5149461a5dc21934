"""Assertions: a thread that holds a false element calls the driver, which ends the launch."""

from __future__ import annotations

from functools import reduce

from ir.core import Value
from ir.dialects import arith, gpu, nv_tileas, nvvm
from lowering.convert.tileas_to_nvgpu.agents import branch
from lowering.convert.tileas_to_nvgpu.context import Expander, lowers
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.literals import address
from lowering.symbols import name_of


@lowers(nv_tileas.Assert)
def check(x: Expander, op: nv_tileas.Assert) -> None:
    """All elements of a thread at once."""
    emitter, tile = x.emitter, x.tile(op.condition)
    values = [tile.scalar(i) for i in range(tile.count)]
    holds = reduce(lambda a, b: emitter.emit(arith.AndI, a, b), values)
    fails = emitter.emit(arith.XOrI, holds, emitter.constant(True, holds.type))
    texts = [text(emitter, each) for each in (op.message, op.file, x.kernel)]
    branch(x, fails, lambda: emitter.effect(nvvm.AssertFail, *texts, line=op.line))


def text(emitter: Emitter, value: str) -> Value:
    """The address of a text that ends in a zero byte."""
    data = value.encode() + bytes(1)
    known = {array.data: array for array in emitter.arrays.values()}
    return address(emitter, known.get(data) or gpu.GlobalArray(name_of("text", data), 1, data))
