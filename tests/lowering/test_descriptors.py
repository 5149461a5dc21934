"""Matrix descriptors of a tile that stays in shared memory: few are held through a loop."""

from __future__ import annotations

from ir.core import Block
from ir.types import I32
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.hopper import HOISTED, descriptor
from lowering.targets import target


def test_few_descriptors_are_held_through_a_loop() -> None:
    """A product with 32 steps of k kept 64 registers: paged decoding spilled 436 bytes on sm_90a. What is asked for
    again is found.
    """
    entry, body = Block([I32]), Block([])
    e = Emitter(entry, target("sm_90a"), (128, 1, 1))
    e.enter(body, hoist=True)
    made = [descriptor(e, entry.args[0], 2 * step, 1) for step in range(2 * HOISTED)]
    assert [value.op.parent is entry for value in made] == [True] * HOISTED + [False] * HOISTED
    assert [descriptor(e, entry.args[0], 2 * step, 1) for step in range(2 * HOISTED)] == made
