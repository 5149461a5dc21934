"""cuda_tile operations on the order of memory accesses, printing, and external functions."""

from __future__ import annotations

from ir.core import WRITE, Attr, Operand, OptionalOperand, Result, Variadic, VariadicResult, op, optional
from ir.dialects.cuda_tile.attributes import SKELETON, Dictionary
from ir.dialects.cuda_tile.constraints import NUMBER, TOKEN_TYPE, TileOp
from ir.printf import CONVERSION


class Ordered(TileOp):
    """An effect ordered among memory accesses by tokens."""

    effect = WRITE
    placement = SKELETON


@op("cuda_tile.memory_fence_alias_tko", since=(13, 4), opcode=122)
class MemoryFenceAlias(Ordered):
    """Orders accesses through other addresses of the same memory: those before the token come before those after it."""

    token = Operand(TOKEN_TYPE)
    result_token = Result(TOKEN_TYPE)


@op("cuda_tile.gdc_launch_dependents_tko", since=(13, 4), opcode=119)
class GdcLaunchDependents(Ordered):
    """Lets dependent grids start (programmatic dependent launch)."""

    token = OptionalOperand(TOKEN_TYPE)
    result_token = Result(TOKEN_TYPE)


@op("cuda_tile.gdc_wait_tko", since=(13, 4), opcode=120)
class GdcWait(Ordered):
    """Waits until the grids that this one depends on have completed and their writes are visible."""

    token = OptionalOperand(TOKEN_TYPE)
    result_token = Result(TOKEN_TYPE)


@op("cuda_tile.print_tko", opcode=85)
class Print(Ordered):
    """Print a text in which printf's conversions represent the elements of the operands, in order.

    `str` is the format. Bytecode 13.1 has no tokens here: its prints get an unused result token.
    """

    args = Variadic(NUMBER)
    token = OptionalOperand(TOKEN_TYPE, since=(13, 2))
    str_ = Attr(str)
    result_token = Result(TOKEN_TYPE, since=(13, 2))

    def verify(self) -> None:
        """As many conversions as operands, all of them for numbers."""
        wanted = 0
        for match in CONVERSION.finditer(self.str_):
            self.expect(match[2] is None, "attribute 'str' has the unknown conversion '{}'", match[0])
            wanted += match[1] is not None
        self.expect(wanted == len(self.args), "attribute 'str' converts {} operands, got {}", wanted, len(self.args))


@op("cuda_tile.preview_call", since=(13, 5), opcode=16386)
class PreviewCall(Ordered):
    """A call of a function that is defined elsewhere; a preview feature, in bytecode 13.5 only.

    `const_args` are constants for it; `arg_attrs` and `res_attrs` a dictionary for each operand and each result.
    """

    operands_ = Variadic()
    callee = Attr(str)
    const_args: Attr[tuple[object, ...]] = Attr(tuple, ())
    arg_attrs: Attr[tuple[object, ...] | None] = optional(tuple)
    res_attrs: Attr[tuple[object, ...] | None] = optional(tuple)
    outs = VariadicResult()

    def verify(self) -> None:
        """One dictionary per operand and result, if given."""
        counts = {"arg_attrs": len(self.operands), "res_attrs": len(self.results)}
        for name, count in counts.items():
            given: tuple[object, ...] = self.attributes.get(name) or ()
            fits = len(given) in (0, count) and all(isinstance(each, Dictionary) for each in given)
            self.expect(fits, "attribute '{}' must be {} dictionaries, or none", name, count)
