"""scf: structured loops and branches of per-thread code."""

from __future__ import annotations

from ir.core import CONTROL, Op, Operand, Region, RegionField, Variadic, VariadicResult, flag, op
from ir.types import I1, IntType
from ir.upstream import unit


def end_of(op: Op, region: Region) -> Op:
    """The last operation of a region. Raises VerifyError, at the operation that contains it, if there is none."""
    whole = len(region.blocks) == 1 and bool(region.block.ops)
    op.expect(whole, "a region must have one block, which ends in a terminator")
    return region.block.terminator


@op("scf.for", upstream=True)
class For(Op):
    """for iv in [lower, upper) by step, carrying `init`; body arguments are iv and the carried values.

    Bounds are i8 to i64 and compared signed unless `unsigned`. The body ends in scf.yield of the next carried values.
    """

    lower = Operand()
    upper = Operand()
    step = Operand()
    init = Variadic()
    unsigned = flag(form=unit("unsignedCmp"))
    body = RegionField()
    out = VariadicResult()
    effect = CONTROL

    def verify(self) -> None:
        """Bounds of one integer type; carried values, body arguments, yields and results agree."""
        kinds = [v.type for v in (self.lower, self.upper, self.step)]
        self.expect(isinstance(kinds[0], IntType) and kinds[0].width >= 8, "bounds must be i8 to i64")
        self.expect(len(set(kinds)) == 1, "bounds and step must have one type")
        carried = [v.type for v in self.init]
        end, block = end_of(self, self.body), self.body.block
        self.expect([a.type for a in block.args] == [kinds[0], *carried], "body arguments must be iv and init")
        self.expect([r.type for r in self.results] == carried, "results must have the types of init")
        self.expect(isinstance(end, Yield) and [v.type for v in end.operands] == carried, "bad scf.yield")


@op("scf.while")
class While(Op):
    """A loop with its test at the end: the body runs, at least once, until its scf.condition is false.

    The body's arguments are the carried values, `init` at first; the results are what the last condition forwards.
    Deviation: upstream's second region, which here would hand on all values as they are, is left out.
    """

    init = Variadic()
    body = RegionField()
    out = VariadicResult()
    effect = CONTROL

    def verify(self) -> None:
        """Carried values, body arguments, what the condition forwards and results agree."""
        carried = [v.type for v in self.init]
        end, block = end_of(self, self.body), self.body.block
        self.expect([a.type for a in block.args] == carried, "body arguments must be init")
        self.expect([r.type for r in self.results] == carried, "results must have the types of init")
        self.expect(isinstance(end, Condition) and [v.type for v in end.values] == carried, "bad scf.condition")


@op("scf.condition")
class Condition(Op):
    """Ends the body of a while: continue if `again` holds, with these values."""

    again = Operand(lambda t: t == I1)
    values = Variadic()
    effect = CONTROL


@op("scf.if", upstream=True)
class If(Op):
    """Runs `then` if the condition holds, otherwise `otherwise`; both end in scf.yield of the results."""

    condition = Operand(lambda t: t == I1)
    then = RegionField()
    otherwise = RegionField()
    out = VariadicResult()
    effect = CONTROL

    def verify(self) -> None:
        """Both regions yield values of the result types."""
        wanted = [r.type for r in self.results]
        for region in self.regions:
            end = end_of(self, region)
            self.expect(isinstance(end, Yield) and [v.type for v in end.operands] == wanted, "bad scf.yield")


@op("scf.yield", upstream=True)
class Yield(Op):
    """Ends a region with its values."""

    values = Variadic()
    effect = CONTROL

    def is_upstream(self) -> bool:
        """Must be in a loop or a branch; upstream has no other regions that it may end."""
        return self.parent is not None and isinstance(self.parent.parent_op, For | If)


def verify_ends(kernel: Op, returns: type[Op]) -> None:
    """Yields and conditions end regions inside a kernel, `returns` the kernel. Raises VerifyError at one elsewhere, and
    if the kernel ends otherwise.
    """
    ends = (Yield, Condition, returns)
    for each in kernel.walk():
        allowed = (returns,) if each is kernel else (Yield, Condition)
        for block in (block for region in each.regions for block in region.blocks):
            last = len(block.ops) - 1
            for place, inside in enumerate(block.ops):
                if isinstance(inside, ends) and not (place == last and isinstance(inside, allowed)):
                    inside.fail(
                        "must end {}", "the kernel" if isinstance(inside, returns) else "a region in the kernel"
                    )
    kernel.expect(isinstance(end_of(kernel, kernel.regions[0]), returns), "must end in {}", returns.info.name)
