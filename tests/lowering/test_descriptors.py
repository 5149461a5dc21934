"""Matrix descriptors: those of a tile that stays in shared memory are held through a loop, but few; those of a stage
are one and its sums with numbers.
"""

from __future__ import annotations

from ir.core import Block
from ir.dialects import llvm, nvvm
from ir.types import I32
from lowering.convert.nvgpu_to_nvvm.emitter import Emitter
from lowering.convert.nvgpu_to_nvvm.hopper import HOISTED, Words, descriptor
from lowering.targets import target


def test_few_descriptors_are_held_through_a_loop() -> None:
    """A product with 32 steps of k kept 64 registers: paged decoding spilled 436 bytes on sm_90a. What is asked for
    again is found.
    """
    entry, body = Block([I32]), Block([])
    e = Emitter(entry, target("sm_90a"), (128, 1, 1))
    e.enter(body, hoist=True)
    words = [Words(entry.args[0], None, 2 * step, 1) for step in range(2 * HOISTED)]
    made = [descriptor(e, each) for each in words]
    assert [value.op.parent is entry for value in made] == [True] * HOISTED + [False] * HOISTED
    assert [descriptor(e, each) for each in words] == made


def test_descriptors_of_a_stage_are_one_and_its_sums_with_numbers() -> None:
    """Its first step of k takes no sum: what it adds is in the base, which a loop does not change."""
    entry, body = Block([I32]), Block([I32])
    e = Emitter(entry, target("sm_90a"), (128, 1, 1))
    e.enter(body, hoist=True)
    for step in (6, 8, 4, 6):
        descriptor(e, Words(entry.args[0], body.args[0], step, 1))
    assert [type(op) for op in entry.ops] == [llvm.Add]
    assert [type(op) for op in body.ops] == [llvm.Add, nvvm.Pack, llvm.Add, llvm.Add]
    e.finish()
    numbers = {op.results[0]: op.attributes["value"] for op in entry.ops if isinstance(op, llvm.Constant)}
    assert numbers[entry.ops[-1].operands[1]] == 6
    assert [numbers[op.operands[1]] for op in body.ops[2:]] == [2, -2]
