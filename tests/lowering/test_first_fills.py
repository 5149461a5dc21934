"""The first stages of a ring are on their way before what its loop also needs has arrived."""

from __future__ import annotations

import re
from functools import cache

import pytest

import tilesat
from ir.core import Block, Builder, Op, Value
from ir.dialects import arith, nv_tileas
from ir.types import F16, I32, TensorType
from lowering.layouts.layout import Layout
from lowering.layouts.shared import SharedLayout
from lowering.schedule.first_fills import begin_before_wait
from ptxsim import SimulatorError
from tests.lowering.test_hopper import check
from tests.tilesat.example_cases import EXAMPLES, flash_attention
from tilesat.kernel import Kernel

STAGES = nv_tileas.BufferType(1, (64,), F16, SharedLayout((1, 2, 4, 8, 16, 32), 6, 2))
TILE = TensorType((64,), I32, Layout((1,), (2, 4, 8, 16, 32), (), 6))


@cache
def compiled() -> Kernel:
    return tilesat.compile(EXAMPLES / "flash_attention.mlir", "sm_80")


def test_keys_are_on_their_way_before_queries_are_waited_for() -> None:
    before = compiled().ptx.partition("ldmatrix")[0]
    groups = re.findall(r"cp\.async\.(commit_group|wait_group \d+);", before)
    assert groups == ["commit_group"] * 3 + ["wait_group 2"]  # queries, two stages of keys and values
    check(flash_attention(2, 200, 100), compiled())


def test_queries_that_are_not_waited_for_are_a_hazard() -> None:
    changed = compiled().ptx.replace("cp.async.wait_group 2;", "cp.async.wait_group 3;", 1)
    assert changed != compiled().ptx
    with pytest.raises(SimulatorError):
        check(flash_attention(1, 128, 64), compiled(), changed)


class Stretch:
    """A copy that is waited for, some ops, and the copies of a stage."""

    def __init__(self, barrier: bool):
        self.block = Block([I32])
        self.b = Builder(self.block)
        self.b.add(nv_tileas.AsyncCommit, types=())
        self.b.add(nv_tileas.AsyncWait, types=(), pending=0)
        self.b.add(nv_tileas.Barrier, types=(), publishes=barrier)

    def fill(self, *wanted: Value) -> list[type[Op]]:
        """The fill of one stage, by an op that takes some values."""
        start = len(self.block.ops)
        self.b.value(arith.AddI, *wanted)
        self.b.add(nv_tileas.AsyncCommit, types=())
        begin_before_wait(self.block, start, 1)
        return [type(op) for op in self.block.ops]

    @property
    def pending(self) -> int:
        """Groups that the wait lets be."""
        (wait,) = [op for op in self.block.ops if isinstance(op, nv_tileas.AsyncWait)]
        return wait.pending


def test_what_copies_need_goes_with_them() -> None:
    made = Stretch(barrier=True)
    number = made.b.value(arith.Constant, types=[I32], value=3)
    made.b.value(arith.MulI, number, number)
    kinds = made.fill(number, made.block.args[0])
    assert kinds == [nv_tileas.AsyncCommit, arith.Constant, arith.AddI, nv_tileas.AsyncCommit, nv_tileas.AsyncWait,
                     nv_tileas.Barrier, arith.MulI]  # fmt: skip
    assert made.pending == 1


def test_copies_stay_behind_a_barrier_of_readers() -> None:
    made = Stretch(barrier=False)
    assert made.fill(made.block.args[0], made.block.args[0])[-2:] == [arith.AddI, nv_tileas.AsyncCommit]
    assert made.pending == 0


def test_copies_whose_place_has_to_arrive_stay_behind_the_wait() -> None:
    made = Stretch(barrier=True)
    buffer = made.b.value(nv_tileas.AllocTensor, types=[STAGES], stage_bytes=128, offset=0)
    view = made.b.value(nv_tileas.BufferView, buffer, types=[TILE], segments=(1, 0))
    read = made.b.value(nv_tileas.SharedLoad, view, types=[TILE], atom="ld.shared")
    assert made.fill(read, read)[-1] is nv_tileas.AsyncCommit
    assert made.pending == 0


def test_copies_without_a_wait_before_them_stay() -> None:
    made = Stretch(barrier=True)
    del made.block.ops[:]
    assert made.fill(made.block.args[0], made.block.args[0]) == [arith.AddI, nv_tileas.AsyncCommit]
