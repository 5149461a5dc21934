"""cuda_tile structured control flow."""

from __future__ import annotations

from ir.core import CONTROL, WRITE, Attr, Operand, RegionField, Variadic, VariadicResult, flag, op
from ir.dialects.cuda_tile.attributes import SKELETON
from ir.dialects.cuda_tile.constraints import BOOL, SCALAR_BOOL, SCALAR_INT, TileOp


class ControlOp(TileOp):
    """An operation of the effect skeleton."""

    effect = CONTROL
    placement = SKELETON


class Terminator(ControlOp):
    """The last operation of a block; its operands leave the region."""

    operands_ = Variadic()
    is_terminator = True


@op("cuda_tile.for", opcode=41)
class For(ControlOp):
    """Counted loop from lower_bound to upper_bound (exclusive) by a positive step.

    Body block arguments: the induction variable, then the carried values; `continue` gives their next ones. The
    results are the last ones. `unsigned_cmp` compares the bounds as unsigned.
    """

    result_names = ("for",)

    lower_bound = Operand(SCALAR_INT)
    upper_bound = Operand(SCALAR_INT)
    step = Operand(SCALAR_INT)
    init_values = Variadic()
    unsigned_cmp = flag(since=(13, 2))
    outs = VariadicResult()
    body = RegionField()


@op("cuda_tile.loop", opcode=65)
class Loop(ControlOp):
    """Endless loop left by `break`; body block arguments are the carried values, results are those of the break."""

    init_values = Variadic()
    outs = VariadicResult()
    body = RegionField()


@op("cuda_tile.if", opcode=50)
class If(ControlOp):
    """One of two regions by a scalar i1; each yields the results. The else region may be without blocks."""

    condition = Operand(SCALAR_BOOL)
    outs = VariadicResult()
    then_ = RegionField()
    else_ = RegionField()


@op("cuda_tile.continue", opcode=17)
class Continue(Terminator):
    """The next iteration of the innermost for or loop, with its carried values."""


@op("cuda_tile.break", opcode=10)
class Break(Terminator):
    """Leave the innermost loop with its results."""


@op("cuda_tile.yield", opcode=109)
class Yield(Terminator):
    """The results of an if, reduce or scan region."""


@op("cuda_tile.return", opcode=92)
class Return(Terminator):
    """The end of an entry."""


@op("cuda_tile.assert", opcode=5)
class Assert(TileOp):
    """Trap with a message where an element of the condition is false."""

    syntax = "$condition, {message} : condition"

    condition = Operand(BOOL)
    message = Attr(str, "")

    effect = WRITE
    placement = SKELETON
