"""llvm: functions, control-flow graph, pointers and scalar ops of the nvvm level; names as in MLIR's llvm dialect.

Deviations: branches hold their successors as the attribute `successors` (a tuple of blocks), getelementptr counts its
`offset` in bytes, and float ops carry PTX's `rounding` and `ftz`.
"""

from __future__ import annotations

from typing import Any

from ir.core import (
    CONTROL,
    WRITE,
    Attr,
    Block,
    Op,
    Operand,
    OptionalOperand,
    RegionField,
    Result,
    Value,
    Variadic,
    flag,
    op,
)
from ir.core import same_type_as as like
from ir.dialects.arith import FLOAT_PREDICATES, INT_PREDICATES
from ir.dialects.gpu import GlobalArray, verify_cluster, verify_parameters
from ir.instruction import verify_floors
from ir.types import I1, I32, I64, Constraint, IntType, LLVMPointerType
from ir.upstream import SAME, codes, overflow


@op("llvm.func")
class Func(Op):
    """A kernel as a control-flow graph; the first block's arguments are its parameters.

    `registers`: the number that a thread needs according to liveness, the mean over agents that move registers; 0 if
    not counted. The others as in gpu.func.
    """

    sym_name = Attr(str)
    target = Attr(str)
    block: Attr[tuple[int, ...]] = Attr(tuple)
    cluster: Attr[tuple[int, ...]] = Attr(tuple, (1, 1, 1))
    dynamic_smem = Attr(int, 0)
    maxnreg = Attr(int, 0)
    minctas = Attr(int, 0)
    consumers = Attr(int, 0)
    registers = Attr(int, 0)
    params = Attr[Any](tuple, ())
    arrays: Attr[tuple[GlobalArray, ...]] = Attr(tuple, ())
    body = RegionField()
    effect = CONTROL

    def verify(self) -> None:
        """Three block dimensions and a record of each parameter; blocks end in branches to blocks of the function."""
        self.expect(len(self.block) == 3, "block must have three dimensions, has {}", self.block)
        verify_cluster(self, self.cluster)
        blocks = self.body.blocks
        self.expect(bool(blocks), "needs a block")
        verify_parameters(self, self.params, [value.type for value in blocks[0].args])
        for block in blocks:
            ends = [isinstance(op, Br | CondBr | Return) for op in block.ops]
            self.expect(bool(ends) and ends[-1] and not any(ends[:-1]), "each block must end in its only branch")

    def verify_inside(self) -> None:
        """The target has all instructions; warpgroup products are in order."""
        from ir.dialects.wgmma_order import verify_wgmma  # the check is for both levels, above their operations

        verify_floors(self, self.target)
        verify_wgmma(self)


@op("llvm.br", upstream=True)
class Br(Op):
    """Jump to `successors[0]` with its arguments."""

    args = Variadic()
    successors: Attr[tuple[Block, ...]] = Attr(tuple)
    effect = CONTROL

    def verify(self) -> None:
        """One successor, which accepts the arguments."""
        _verify_edges(self, [self.args])


@op("llvm.cond_br", upstream=True)
class CondBr(Op):
    """Jump to `successors[0]` if the condition holds, otherwise to `successors[1]`."""

    condition = Operand(lambda t: t == I1)
    true_args = Variadic()
    false_args = Variadic()
    successors: Attr[tuple[Block, ...]] = Attr(tuple)
    effect = CONTROL

    def verify(self) -> None:
        """Two successors, which accept their arguments."""
        _verify_edges(self, [self.true_args, self.false_args])


def _verify_edges(branch: Br | CondBr, groups: list[list[Value]]) -> None:
    branch.expect(len(branch.successors) == len(groups), "must have {} successors", len(groups))
    for to, args in zip(branch.successors, groups, strict=True):
        wanted = [value.type for value in to.args]
        found = [value.type for value in args]
        branch.expect(found == wanted, "its block expects {}, got {}", [*map(str, wanted)], [*map(str, found)])


@op("llvm.return", upstream=True)
class Return(Op):
    """Ends the thread."""

    effect = CONTROL


@op("llvm.mlir.constant", upstream=True)
class Constant(Op):
    """A number of the result's type; on a packed pair both halves hold it."""

    value: Attr[int | float] = Attr(float, form=SAME)
    result = Result()


@op("llvm.mlir.addressof")
class AddressOf(Op):
    """Address of a global symbol, here the dynamic shared memory."""

    global_name = Attr(str)
    result = Result(lambda t: isinstance(t, LLVMPointerType))


@op("llvm.getelementptr")
class GetElementPtr(Op):
    """base + sext(index) * element_bytes + offset; `offset` in bytes, index (i32 or i64) optional.

    `outermost`: the term is cheaper to add again (one wide multiply-add) than to keep in a register of its own, so it
    is not moved below terms that change more often. Shared addresses are 32 bits and wrap; global ones are computed in
    64 bits.
    """

    base = Operand(lambda t: isinstance(t, LLVMPointerType))
    index = OptionalOperand(lambda t: t in (I32, I64))
    element_bytes = Attr(int, 1)
    offset = Attr(int, 0)
    outermost = flag()
    result = like("base")


@op("llvm.ptrtoint", upstream=True)
class PtrToInt(Op):
    """The address as an integer (i32 for shared, i64 for global), truncated or zero-extended."""

    pointer = Operand(lambda t: isinstance(t, LLVMPointerType))
    result = Result(lambda t: isinstance(t, IntType))


@op("llvm.inttoptr", upstream=True)
class IntToPtr(Op):
    """The pointer with this address."""

    address = Operand(lambda t: isinstance(t, IntType))
    result = Result(lambda t: isinstance(t, LLVMPointerType))


class Binary(Op):
    """Shape shared by two-operand ops."""

    lhs = Operand()
    rhs = Operand()
    result = like("lhs")


class FloatOp(Op):
    """Rounding shared by float ops."""

    rounding = Attr(str, "rn")
    ftz = flag()


class FloatBinary(FloatOp):
    """Shape shared by two-operand float ops."""

    lhs = Operand()
    rhs = Operand()
    result = like("lhs")


class FloatUnary(FloatOp):
    """Shape shared by one-operand float ops."""

    operand = Operand()
    result = like("operand")


class Cast(FloatOp):
    """Shape shared by conversions."""

    value = Operand()
    result = Result()


@op("llvm.add", upstream=True)
class Add(Binary):
    """Sum modulo 2^width; `nsw` asserts no signed wrap."""

    nsw = flag(form=overflow("llvm"))


@op("llvm.sub", upstream=True)
class Sub(Binary):
    """Difference modulo 2^width."""

    nsw = flag(form=overflow("llvm"))


@op("llvm.mul", upstream=True)
class Mul(Binary):
    """Product modulo 2^width."""

    nsw = flag(form=overflow("llvm"))


@op("llvm.sdiv", upstream=True)
class SDiv(Binary):
    """Signed quotient towards zero."""


@op("llvm.udiv", upstream=True)
class UDiv(Binary):
    """Unsigned quotient."""


@op("llvm.srem", upstream=True)
class SRem(Binary):
    """Signed remainder with the sign of the dividend."""


@op("llvm.urem", upstream=True)
class URem(Binary):
    """Unsigned remainder."""


@op("llvm.and", upstream=True)
class And(Binary):
    """Bitwise and."""


@op("llvm.or", upstream=True)
class Or(Binary):
    """Bitwise or."""


@op("llvm.xor", upstream=True)
class Xor(Binary):
    """Bitwise exclusive or."""


@op("llvm.shl", upstream=True)
class Shl(Binary):
    """Shift left."""


@op("llvm.lshr", upstream=True)
class LShr(Binary):
    """Logical shift right."""


@op("llvm.ashr", upstream=True)
class AShr(Binary):
    """Arithmetic shift right."""


@op("llvm.intr.smax", upstream=True)
class SMax(Binary):
    """Signed maximum."""


@op("llvm.intr.smin", upstream=True)
class SMin(Binary):
    """Signed minimum."""


@op("llvm.intr.umax", upstream=True)
class UMax(Binary):
    """Unsigned maximum."""


@op("llvm.intr.umin", upstream=True)
class UMin(Binary):
    """Unsigned minimum."""


class Word(Op):
    """Shape shared by functions of the 32 bits of a register."""

    operand = Operand(Constraint("an i32", lambda type: type == I32))
    result = like("operand")


@op("llvm.intr.ctpop", upstream=True)
class CtPop(Word):
    """Number of set bits."""


@op("llvm.intr.ctlz", upstream=True)
class CtLz(Word):
    """Zeros above the highest set bit; 32 for zero."""

    is_zero_poison = Attr(bool, among=(False,), form=SAME)


@op("llvm.intr.bitreverse", upstream=True)
class BitReverse(Word):
    """The bits in reverse order."""


@op("llvm.icmp", upstream=True)
class ICmp(Op):
    """Integer comparison; predicates as in arith.cmpi."""

    lhs = Operand()
    rhs = Operand()
    predicate = Attr(str, form=codes(INT_PREDICATES))
    result = Result(lambda t: t == I1)


@op("llvm.fcmp", upstream=True)
class FCmp(Op):
    """Float comparison; predicates as in arith.cmpf."""

    lhs = Operand()
    rhs = Operand()
    predicate = Attr(str, form=codes(FLOAT_PREDICATES, first=1))
    ftz = flag()
    result = Result(lambda t: t == I1)


@op("llvm.select", upstream=True)
class Select(Op):
    """The first value if the condition holds, otherwise the second."""

    condition = Operand(lambda t: t == I1)
    true_value = Operand()
    false_value = Operand()
    result = like("true_value")


@op("llvm.sext", upstream=True)
class SExt(Cast):
    """Sign extension."""


@op("llvm.zext", upstream=True)
class ZExt(Cast):
    """Zero extension."""


@op("llvm.trunc", upstream=True)
class Trunc(Cast):
    """The low bits."""


@op("llvm.bitcast", upstream=True)
class Bitcast(Cast):
    """The same bits under another type."""


@op("llvm.fpext", upstream=True)
class FPExt(Cast):
    """To a wider float."""


@op("llvm.fptrunc", upstream=True)
class FPTrunc(Cast):
    """To a narrower float."""


@op("llvm.sitofp", upstream=True)
class SIToFP(Cast):
    """Signed integer to float."""


@op("llvm.uitofp", upstream=True)
class UIToFP(Cast):
    """Unsigned integer to float."""


@op("llvm.fptosi", upstream=True)
class FPToSI(Cast):
    """Float to signed integer towards zero."""


@op("llvm.fptoui", upstream=True)
class FPToUI(Cast):
    """Float to unsigned integer towards zero."""


@op("llvm.fadd", upstream=True)
class FAdd(FloatBinary):
    """Sum."""


@op("llvm.fsub", upstream=True)
class FSub(FloatBinary):
    """Difference."""


@op("llvm.fmul", upstream=True)
class FMul(FloatBinary):
    """Product."""


@op("llvm.fdiv", upstream=True)
class FDiv(FloatBinary):
    """Quotient."""


@op("llvm.intr.maxnum", upstream=True)
class MaxNum(FloatBinary):
    """Maximum; the other operand if one is NaN."""


@op("llvm.intr.minnum", upstream=True)
class MinNum(FloatBinary):
    """Minimum; the other operand if one is NaN."""


@op("llvm.intr.maximum", upstream=True)
class Maximum(FloatBinary):
    """Maximum; NaN if either is NaN."""


@op("llvm.intr.minimum", upstream=True)
class Minimum(FloatBinary):
    """Minimum; NaN if either is NaN."""


@op("llvm.fneg", upstream=True)
class FNeg(FloatUnary):
    """Sign flip."""


@op("llvm.intr.fabs", upstream=True)
class FAbs(FloatUnary):
    """Magnitude."""


@op("llvm.intr.sqrt", upstream=True)
class Sqrt(FloatUnary):
    """Square root."""


@op("llvm.intr.floor", upstream=True)
class Floor(FloatUnary):
    """Largest integer not above x."""


@op("llvm.intr.ceil", upstream=True)
class Ceil(FloatUnary):
    """Smallest integer not below x."""


@op("llvm.intr.trunc", upstream=True)
class RoundToZero(FloatUnary):
    """x rounded to an integer towards zero."""


@op("llvm.intr.fma", upstream=True)
class Fma(FloatOp):
    """a * b + c with one rounding; `saturate` clamps the result to [0, 1]."""

    a = Operand()
    b = Operand()
    c = Operand()
    saturate = flag()
    result = like("a")


@op("llvm.inline_asm", upstream=True)
class InlineAsm(Op):
    """A PTX directive as text, without operands; it keeps its position."""

    effect = WRITE

    asm_string = Attr(str)
    constraints = Attr(str, "")
    has_side_effects = flag()

    def verify(self) -> None:
        """Whole lines; nothing that could be taken for a label or an instruction's operand."""
        message = "attribute 'asm_string' must be a directive that ends in ';', is {}"
        self.expect(self.asm_string.startswith(".") and self.asm_string.endswith(";"), message, self.asm_string)
