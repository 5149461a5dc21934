"""cuda_tile structured control flow."""

from __future__ import annotations

from collections.abc import Sequence

from ir.core import CONTROL, INSIDE, WRITE, Attr, Op, Operand, RegionField, Type, Variadic, VariadicResult, flag, op
from ir.dialects.cuda_tile.attributes import SKELETON
from ir.dialects.cuda_tile.constraints import BOOL, SCALAR_BOOL, SCALAR_INT, TileOp, verify_region, verify_types
from ir.types import TensorViewType, TileViewType

CONTINUE, BREAK, YIELD, RETURN = "cuda_tile.continue", "cuda_tile.break", "cuda_tile.yield", "cuda_tile.return"


class ControlOp(TileOp):
    """An operation of the effect skeleton."""

    effect = CONTROL
    placement = SKELETON


def verify_no_views(op: Op, what: str, types: Sequence[Type]) -> None:
    """Views stay where they are created: in the public dialect they must not cross a region's border."""
    for type_ in types:
        if isinstance(type_, TensorViewType | TileViewType):
            op.fail("{} a view, {}: make the view inside the region, from values", what, type_)


class Terminator(ControlOp):
    """The last operation of a block; its operands leave the region."""

    operands_ = Variadic()
    is_terminator = True

    def types(self) -> list[Type]:
        """The types of the operands."""
        return [value.type for value in self.operands]


@op("cuda_tile.for", opcode=41)
class For(ControlOp):
    """Counted loop from lower_bound to upper_bound (exclusive) by a positive step.

    Body block arguments: the induction variable, then the carried values; `continue` gives their next values. The
    results are the final ones. `unsigned_cmp` compares the bounds as unsigned. `expected` (ours, only inside the
    compiler): average iteration count assumed by the cost model, 0: unknown.
    """

    result_names = ("for",)

    lower_bound = Operand(SCALAR_INT)
    upper_bound = Operand(SCALAR_INT)
    step = Operand(SCALAR_INT)
    init_values = Variadic()
    unsigned_cmp = flag(since=(13, 2))
    expected = Attr(float, 0.0, since=INSIDE, least=0)
    outs = VariadicResult()
    body = RegionField()

    def verify(self) -> None:
        """Bounds and induction variable have one type; carried values keep theirs through body and results."""
        self.same_type("upper_bound", self.upper_bound, "lower_bound", self.lower_bound)
        self.same_type("step", self.step, "lower_bound", self.lower_bound)
        carried = [value.type for value in self.init_values]
        verify_no_views(self, "cannot carry", carried)
        verify_types(self, "results", [value.type for value in self.results], carried)
        last = verify_region(self, self.body, (CONTINUE,))
        arguments = [value.type for value in self.body.block.args]
        verify_types(self, "body arguments", arguments, [self.lower_bound.type, *carried])
        verify_types(last, "operands", [value.type for value in last.operands], carried)


@op("cuda_tile.loop", opcode=65)
class Loop(ControlOp):
    """Infinite loop left by `break`; body block arguments are the carried values, results are those of the break."""

    init_values = Variadic()
    outs = VariadicResult()
    body = RegionField()

    def verify(self) -> None:
        """Carried values keep their types; each break inside gives the results."""
        carried = [value.type for value in self.init_values]
        verify_no_views(self, "cannot carry", carried)
        verify_no_views(self, "cannot return", [value.type for value in self.results])
        last = verify_region(self, self.body, (CONTINUE, BREAK, RETURN))
        verify_types(self, "body arguments", [value.type for value in self.body.block.args], carried)
        if isinstance(last, Continue):
            verify_types(last, "operands", last.types(), carried)


@op("cuda_tile.if", opcode=50)
class If(ControlOp):
    """One of two regions by a scalar i1; each yields the results. The else region may have no blocks."""

    condition = Operand(SCALAR_BOOL)
    outs = VariadicResult()
    then_ = RegionField()
    else_ = RegionField()

    yields = True

    def verify(self) -> None:
        """Each branch yields the results unless it leaves a loop or the kernel."""
        wanted = [value.type for value in self.results]
        verify_no_views(self, "cannot return", wanted)
        if wanted and not self.else_.blocks:
            self.fail("must have an else region to yield its results")
        for region in (self.then_, self.else_) if self.else_.blocks else (self.then_,):
            last = verify_region(self, region, (YIELD, CONTINUE, BREAK, RETURN))
            verify_types(self, "block arguments", [value.type for value in region.block.args], ())
            if isinstance(last, Yield):
                verify_types(last, "operands", last.types(), wanted)


def enclosing_loop(op: Op) -> For | Loop:
    """The innermost for or loop around `op`, through ifs only; raises VerifyError without one."""
    parent = op.parent.parent_op if op.parent else None
    while isinstance(parent, If):
        parent = parent.parent.parent_op if parent.parent else None
    if not isinstance(parent, For | Loop):
        op.fail("must be inside a for or loop")
    return parent


@op("cuda_tile.continue", opcode=17)
class Continue(Terminator):
    """The next iteration of the innermost for or loop, with its carried values."""

    def verify(self) -> None:
        """Must be in a for or loop, possibly through ifs, and give the carried values."""
        loop = enclosing_loop(self)
        verify_types(self, "operands", self.types(), [value.type for value in loop.init_values])


@op("cuda_tile.break", opcode=10)
class Break(Terminator):
    """Leave the innermost loop with its results."""

    def verify(self) -> None:
        """Must be in a loop, possibly through ifs, and give its results."""
        loop = enclosing_loop(self)
        self.expect(isinstance(loop, Loop), "can only leave a 'cuda_tile.loop', the innermost loop is '{}'", loop.name)
        verify_types(self, "operands", self.types(), [value.type for value in loop.results])


@op("cuda_tile.yield", opcode=109)
class Yield(Terminator):
    """The results of an if, reduce or scan region."""

    def verify(self) -> None:
        """Must be in an if, reduce or scan."""
        parent = self.parent.parent_op if self.parent else None
        inside = isinstance(parent, TileOp) and parent.yields
        self.expect(inside, "must be inside an if, reduce or scan")


@op("cuda_tile.return", opcode=92)
class Return(Terminator):
    """The end of an entry, also from inside ifs and loops; tileiras 13.5 rejects it inside a for, and so do we."""

    def verify(self) -> None:
        """An entry returns nothing, a test function its declared results."""
        owner: Op | None = self
        while owner is not None and owner.name not in ("cuda_tile.entry", "cuda_tile.testing$func"):
            owner = owner.parent.parent_op if owner.parent else None
            if isinstance(owner, For):
                self.fail("cannot leave the kernel from inside a for: use a loop, or carry a flag and return after it")
        if owner is not None and owner.name != "cuda_tile.entry":
            verify_types(self, "operands", self.types(), owner.attributes.get("result_types", ()))
            return
        self.expect(not self.operands, "an entry returns nothing, got {} values", len(self.operands))


@op("cuda_tile.assert", opcode=5)
class Assert(TileOp):
    """Trap with a message if an element of the condition is false."""

    syntax = "$condition, {message} : condition"

    condition = Operand(BOOL)
    message = Attr(str, "")

    effect = WRITE
    placement = SKELETON
