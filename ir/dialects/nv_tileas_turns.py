"""nv_tileas where warps of one agent take turns: its warpgroups, or groups of its warps that each have a tile.

Part of the dialect of `nv_tileas`, which re-exports these names. A turn is a named barrier at which one side waits and
the other arrives (PTX ISA 8.8, bar.sync and bar.arrive); `of` is the number of the task at which they take turns.
"""

from __future__ import annotations

from ir.core import PURE, WRITE, Attr, Op, Operand, Result, op
from ir.dialects.nv_tileas_types import is_i1, is_i32


@op("nv_tileas.async.take_turn")
class TakeTurn(Op):
    """A warpgroup of an agent waits until the previous one has passed its turn on; 0 comes after the last."""

    of = Attr(int, 0, least=0)

    effect = WRITE


@op("nv_tileas.async.pass_turn")
class PassTurn(Op):
    """A warpgroup passes its turn on; by then it and its tensor stores have completed their reads of shared memory."""

    of = Attr(int, 0, least=0)

    effect = WRITE


@op("nv_tileas.async.begin_turns")
class BeginTurns(Op):
    """The last warpgroup of an agent passes a turn on, so that the first may begin."""

    of = Attr(int, 0, least=0)

    effect = WRITE


@op("nv_tileas.async.is_mine")
class IsMine(Op):
    """Whether `number` is that of this thread's group of an agent's warps."""

    number = Operand(is_i32)
    result = Result(is_i1)

    effect = PURE
