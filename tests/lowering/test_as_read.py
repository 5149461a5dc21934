"""Loops carry what their copies and waits read; these see the same as before, in each iteration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ir.core import Block, Op, Value
from ir.dialects import llvm, nvvm
from ir.types import I1, I32, SHARED_PTR, TENSOR_MAP
from lowering.convert.nvgpu_to_nvvm.as_read import MOST_COPIES, carry_as_read

MASK = (1 << 32) - 1
BASE, STAGES, BYTES = 4096, 3, 16384


class Producer:
    """A loop of a counter, a stage and a parity that fills a stage by `copies`; `factors`: of the counter, one of which
    a copy has as a coordinate. `read`: the counter is read as it is, too; `straight`: so is the parity.
    """

    def __init__(self, copies: int = 2, factors: tuple[int, ...] = (64,), read: bool = False, straight: bool = False,
                 shift: int = 6):  # fmt: skip
        self.entry, self.body, self.exit = Block([I32, TENSOR_MAP, I32]), Block([I32, I32, I32]), Block()
        self.blocks = [self.entry, self.body, self.exit]
        size, self.map, rank = self.entry.args
        smem = self.op(self.entry, llvm.AddressOf, [], SHARED_PTR, global_name="smem")
        bound = self.op(self.entry, llvm.LShr, [size, self.number(shift)], I32)
        own = self.op(self.entry, llvm.GetElementPtr, [smem, rank], SHARED_PTR)
        self.entry.append(llvm.Br([self.number(0)] * 3, (), {"successors": (self.body,)}, segments=(3,)))
        counter, stage, parity = self.body.args
        before = self.op(self.body, llvm.Xor, [parity, self.number(1)], I32)
        self.wait = self.body.append(nvvm.MBarrierTryWaitParity((smem, parity if straight else before), ()))
        place = self.op(self.body, llvm.Mul, [stage, self.number(BYTES)], I32)
        beside = self.op(self.body, llvm.GetElementPtr, [own, place], SHARED_PTR)
        scaled = [self.op(self.body, llvm.Mul, [counter, self.number(each)], I32) for each in factors]
        self.copies: list[Op] = []
        for at in range(copies):
            offset = {"offset": 1024 * (at + 1)}
            to = self.body.append(llvm.GetElementPtr((beside,), (SHARED_PTR,), offset, segments=(1, 0))).results[0]
            where = [scaled[at % len(scaled)], counter if read else self.number(5)]
            self.copies.append(
                self.body.append(nvvm.TensorLoad((to, self.map, *where, smem), (), segments=(1, 1, 2, 1, 0, 0)))
            )
        raised = self.op(self.body, llvm.Add, [stage, self.number(1)], I32)
        wrapped = self.op(self.body, llvm.ICmp, [raised, self.number(STAGES)], I1, predicate="eq")
        following = self.op(self.body, llvm.Select, [wrapped, self.number(0), raised], I32)
        turned = self.op(self.body, llvm.Select, [wrapped, before, parity], I32)
        next_ = self.op(self.body, llvm.Add, [counter, self.number(1)], I32)
        again = self.op(self.body, llvm.ICmp, [next_, bound], I1, predicate="slt")
        self.body.append(llvm.CondBr(
            [again, next_, following, turned], (), {"successors": (self.body, self.exit)}, segments=(1, 3, 0)
        ))  # fmt: skip
        self.exit.append(llvm.Return((), ()))

    def op(self, block: Block, cls: type[Op], operands: list[Value], kind: Any, **attributes: Any) -> Value:
        """An operation at a block's end; its result."""
        segments = (1, 1) if cls is llvm.GetElementPtr else ()
        return block.append(cls(operands, [kind], attributes, segments=segments)).results[0]

    def number(self, value: int) -> Value:
        made = llvm.Constant((), (I32,), {"value": value})
        made.parent = self.entry
        self.entry.ops.insert(0, made)
        return made.result

    def change(self) -> int:
        return carry_as_read(
            cast(llvm.Func, SimpleNamespace(body=SimpleNamespace(blocks=self.blocks), block=(32, 1, 1)))
        )

    def run(self, size: int) -> list[tuple[int, ...]]:
        """What waits and copies read, iteration by iteration."""
        known: dict[Value, int] = {self.entry.args[0]: size, self.map: 0, self.entry.args[2]: 1 << 14}
        found = self.straight(self.entry, known)
        carried = [known[v] for v in self.entry.ops[-1].operands]
        while True:
            known.update(zip(self.body.args, carried, strict=True))
            found += self.straight(self.body, known)
            again, *following = (known[v] for v in self.body.ops[-1].operands)
            if not again:
                return found
            carried = following

    def straight(self, block: Block, known: dict[Value, int]) -> list[tuple[int, ...]]:
        read: list[tuple[int, ...]] = []
        for op in block.ops[:-1]:
            x = [known.get(v, 0) for v in op.operands]
            if op is self.wait or op in self.copies:
                read.append(tuple(x))
            else:
                known[op.results[0]] = evaluated(op, x)
        return read


def evaluated(op: Op, x: list[int]) -> int:
    """What an operation gives, as a number without a sign."""
    signed = [each - (1 << 32) if each >> 31 else each for each in x]
    match op:
        case llvm.Constant():
            return int(op.value) & MASK
        case llvm.AddressOf():
            return BASE
        case llvm.GetElementPtr():
            return sum(x) + op.offset & MASK
        case llvm.Add():
            return x[0] + x[1] & MASK
        case llvm.Mul():
            return x[0] * x[1] & MASK
        case llvm.LShr():
            return x[0] >> x[1]
        case llvm.Xor():
            return x[0] ^ x[1]
        case llvm.ICmp(predicate="eq"):
            return int(x[0] == x[1])
        case llvm.ICmp(predicate="ult"):
            return int(x[0] < x[1])
        case llvm.ICmp(predicate="slt"):
            return int(signed[0] < signed[1])
        case llvm.Select():
            return x[1] if x[0] else x[2]
        case _:
            raise TypeError(op.name)


SIZES = (64, 200, 64 * 9)


@pytest.mark.parametrize("factors", [(64,), (64, 128), (48, 96)])
@pytest.mark.parametrize("copies", [1, 2, 5])
def test_copies_read_the_same(copies: int, factors: tuple[int, ...]) -> None:
    before, after = (Producer(copies, factors) for _ in range(2))
    assert after.change() == 3  # the counter, the parity, the base of the destinations
    assert len(after.body.ops) < len(before.body.ops)
    assert [after.run(size) for size in SIZES] == [before.run(size) for size in SIZES]


def test_what_is_carried() -> None:
    """A coordinate, the parity that is waited for; the first copy takes its address without a displacement."""
    made = Producer()
    made.change()
    assert made.copies[0].operands[2] is made.body.args[0]
    assert made.wait.operands[1] is made.body.args[2]
    first, second = (copy.operands[0].op for copy in made.copies)
    assert isinstance(first, llvm.GetElementPtr)
    assert isinstance(second, llvm.GetElementPtr)
    assert (first.offset, second.offset) == (0, 1024)


@pytest.mark.parametrize(
    ("given", "changed"),
    [
        ({"read": True}, 1), ({"straight": True}, 2), ({"copies": MOST_COPIES + 1}, 1), ({"factors": (64, 96)}, 1),
        ({"factors": (1,)}, 1), ({"shift": 0}, 1), ({"shift": 5}, 1),
    ],
)  # fmt: skip
def test_what_stays(given: dict[str, Any], changed: int) -> None:
    """Counters that are read as they are, or by too many copies, or whose bound's multiples may be no numbers of 32
    bits, and parities beside them; parities that are read as they are.
    """
    before, after = Producer(**given), Producer(**given)
    assert after.change() == changed
    assert after.run(64) == before.run(64)


def test_columns_up_to_the_last() -> None:
    """The bound of 2^31 - 1 columns in steps of 64 is a number without a sign: the loop of so many ends at once where
    it begins near its end.
    """
    before, after = Producer(), Producer()
    after.change()
    size = (1 << 31) - 1 + 63
    for made, begin in ((before, (size >> 6) - 2), (after, ((size >> 6) - 2) * 64)):
        made.entry.ops[-1].operands[0] = made.number(begin)
    assert after.run(size) == before.run(size)
