"""Numbers of stages that loops carry become addresses of barriers, and everything made of them stays as it was."""

from __future__ import annotations

from typing import Any

import pytest

from ir.core import Block, Op, Value
from ir.dialects import llvm
from ir.types import I1, I32, SHARED_PTR
from lowering.convert.nvgpu_to_nvvm.stages import MOST_SUMS, carry_addresses

BASE, STAGES, TRIPS = 3072, 6, 14


class Ring:
    """Two loops one behind the other that carry a stage; each makes the address of a barrier and `sums` others."""

    def __init__(self, sums: int, other: int = 512, first: int = 1):
        self.entry, self.exit = Block(), Block()
        self.base = self.op(self.entry, llvm.AddressOf, [], SHARED_PTR, global_name="smem")
        whole = self.op(self.entry, llvm.PtrToInt, [self.base], I32)
        self.fields = [self.op(self.entry, llvm.Add, [whole, self.number(7 * i)], I32) for i in range(sums)]
        self.loops = [Block([I32]), Block([I32])]
        self.made: list[list[Op]] = [self.body(loop, other) for loop in self.loops]
        self.go(self.entry, self.loops[0], self.number(first))
        self.blocks = [self.entry, *self.loops, self.exit]
        self.exit.append(llvm.Return((), ()))

    def op(self, block: Block, cls: type[Op], operands: list[Value], kind: Any, **attributes: Any) -> Value:
        """An operation at a block's end; its result."""
        segments = (1, 1) if cls is llvm.GetElementPtr else ()
        return block.append(cls(operands, [kind], attributes, segments=segments)).results[0]

    def number(self, value: int) -> Value:
        return self.op(self.entry, llvm.Constant, [], I32, value=value)

    def go(self, block: Block, to: Block, value: Value) -> None:
        block.append(llvm.Br([value], (), {"successors": (to,)}, segments=(1,)))

    def body(self, loop: Block, other: int) -> list[Op]:
        """The ops that others read."""
        (stage,) = loop.args
        place = self.op(loop, llvm.Mul, [stage, self.number(8)], I32)
        made = [self.op(loop, llvm.GetElementPtr, [self.base, place], SHARED_PTR)]
        for field in self.fields:
            multiple = self.op(loop, llvm.Mul, [stage, self.number(other)], I32)
            made.append(self.op(loop, llvm.Add, [field, multiple], I32))
        raised = self.op(loop, llvm.Add, [stage, self.number(1)], I32)
        wrapped = self.op(loop, llvm.ICmp, [raised, self.number(STAGES)], I1, predicate="eq")
        following = self.op(loop, llvm.Select, [wrapped, self.number(0), raised], I32)
        to = self.exit if loop is self.loops[-1] else self.loops[-1]
        out = [] if to is self.exit else [following]
        again = self.op(self.entry, llvm.Constant, [], I1, value=1)
        readers = [
            (llvm.PtrToInt, [value]) if value.type == SHARED_PTR else (llvm.Add, [value, value]) for value in made
        ]
        uses = [self.op(loop, kind, operands, I32) for kind, operands in readers]
        loop.append(llvm.CondBr([again, following, *out], (), {"successors": (loop, to)}, segments=(1, 1, len(out))))
        return [use.op for use in uses if use.op is not None]

    def run(self) -> list[int]:
        """What the readers see in `TRIPS` iterations of each loop."""
        known: dict[Value, int] = {}
        self.straight(self.entry, known)
        carried, found = known[self.entry.ops[-1].operands[0]], list[int]()
        for loop, readers in zip(self.loops, self.made, strict=True):
            for _ in range(TRIPS):
                known[loop.args[0]] = carried
                self.straight(loop, known)
                carried = known[loop.ops[-1].operands[1]]
                found += [known[reader.results[0]] for reader in readers]
        return found

    def straight(self, block: Block, known: dict[Value, int]) -> None:
        for op in block.ops[:-1]:
            x = [known[v] for v in op.operands]
            match op:
                case llvm.Constant():
                    value = int(op.value)
                case llvm.AddressOf():
                    value = BASE
                case llvm.PtrToInt() | llvm.IntToPtr():
                    value = x[0]
                case llvm.GetElementPtr():
                    value = sum(x) + op.offset
                case llvm.Add():
                    value = x[0] + x[1]
                case llvm.Sub():
                    value = x[0] - x[1]
                case llvm.Mul():
                    value = x[0] * x[1]
                case llvm.ICmp():
                    value = int(x[0] == x[1])
                case llvm.Select():
                    value = x[1] if x[0] else x[2]
                case _:
                    raise TypeError(op.name)
            known[op.results[0]] = value


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("sums", range(MOST_SUMS + 1))
def test_readers_see_the_same(sums: int, first: int) -> None:
    ring = Ring(sums, first=first)
    before = ring.run()
    assert carry_addresses(ring.blocks) == 2
    assert ring.run() == before
    assert not any(isinstance(op, llvm.GetElementPtr) for loop in ring.loops for op in loop.ops)


@pytest.mark.parametrize(("sums", "other"), [(MOST_SUMS + 1, 512), (1, 12)])
def test_stays_a_number(sums: int, other: int) -> None:
    """Where more sums would need values of their own, or a multiple is none of the address."""
    ring = Ring(sums, other)
    before = [op for block in ring.blocks for op in block.ops]
    assert carry_addresses(ring.blocks) == 0
    assert [op for block in ring.blocks for op in block.ops] == before
