"""nvvm: the GPU instructions of the last level; names as in MLIR's nvvm dialect where it has them.

Deviation: an instruction that fills several registers has several results where upstream returns one !llvm.struct.
Ours: nvvm.ld, nvvm.st (predicated vector accesses), nvvm.mov.pack, nvvm.mov.unpack (register pairs).
"""

from __future__ import annotations

from ir.core import CONTROL, READ, WRITE, Attr, Op, Operand, OptionalOperand, Result, Variadic, VariadicResult, op
from ir.core import same_type_as as like
from ir.dialects.gpu import DIMENSIONS
from ir.dialects.llvm import FloatUnary
from ir.types import I1, I32, IntType
from ir.upstream import width


class SpecialRegister(Op):
    """Shape shared by the reads of thread and block coordinates."""

    result = Result(lambda t: t == I32)


def _special(kind: str, dimension: str) -> type[SpecialRegister]:
    """Declare nvvm.read.ptx.sreg.<kind>.<dimension>."""
    doc = f"%{kind}.{dimension}."
    cls = type(f"Read_{kind}_{dimension}", (SpecialRegister,), {"__doc__": doc, "register": f"%{kind}.{dimension}"})
    return op(f"nvvm.read.ptx.sreg.{kind}.{dimension}", upstream=True)(cls)


SPECIAL_REGISTERS = {(k, d): _special(k, d) for k in ("tid", "ctaid", "nctaid", "ntid") for d in DIMENSIONS}
"""Op class by (tid, ctaid, nctaid or ntid; dimension)."""


@op("nvvm.barrier0")
class Barrier0(Op):
    """bar.sync 0."""

    effect = WRITE


@op("nvvm.shfl.sync")
class ShflSync(Op):
    """shfl.sync of a 32-bit value among all lanes; `kind` is bfly, up, down or idx, `clamp` PTX's operand c."""

    value = Operand()
    offset = Operand(lambda t: t == I32)
    kind = Attr(str)
    clamp = Attr(int)
    result = like("value")
    effect = WRITE


@op("nvvm.mma.sync")
class MmaSync(Op):
    """mma.sync: registers of A, B and C in, registers of D out; `shape` (m, n, k), PTX operand types a, b and c = d."""

    a = Variadic()
    b = Variadic()
    c = Variadic()
    shape: Attr[tuple[int, ...]] = Attr(tuple)
    multiplicandAPtxType = Attr(str)
    multiplicandBPtxType = Attr(str)
    accumulatorPtxType = Attr(str)
    out = VariadicResult()
    effect = WRITE


@op("nvvm.ldmatrix")
class LdMatrix(Op):
    """ldmatrix of `num` 8x8 16-bit matrices; layout row or col (.trans)."""

    ptr = Operand()
    num = Attr(int)
    layout = Attr(str, "row")
    out = VariadicResult()
    effect = READ


@op("nvvm.cp.async.shared.global")
class CpAsyncSharedGlobal(Op):
    """cp.async of `size` bytes; modifier ca or cg; cpSize bytes are read, the rest zero-filled."""

    dst = Operand()
    src = Operand()
    cpSize = OptionalOperand(lambda t: t == I32)
    size = Attr(int)
    modifier = Attr(str, "ca")
    effect = WRITE


@op("nvvm.cp.async.commit.group", upstream=True)
class CpAsyncCommitGroup(Op):
    """Closes the thread's group of copies."""

    effect = CONTROL


@op("nvvm.cp.async.wait.group", upstream=True)
class CpAsyncWaitGroup(Op):
    """Waits until at most `n` groups are in flight."""

    n = Attr(int, form=width(32))
    effect = CONTROL


@op("nvvm.ld")
class Ld(Op):
    """ld.global or ld.shared into one register a result (ours); where `pred` is false they keep `passthrough`."""

    ptr = Operand()
    pred = OptionalOperand(lambda t: t == I1)
    passthrough = Variadic()
    cache = Attr(str, "")
    order = Attr(str, "")
    scope = Attr(str, "")
    out = VariadicResult()
    effect = READ


@op("nvvm.st")
class St(Op):
    """st.global or st.shared of registers (ours), only where `pred` holds."""

    ptr = Operand()
    pred = OptionalOperand(lambda t: t == I1)
    values = Variadic()
    cache = Attr(str, "")
    order = Attr(str, "")
    scope = Attr(str, "")
    effect = WRITE


@op("nvvm.atom")
class Atom(Op):
    """atom.global of one register (ours; llvm.atomicrmw and cmpxchg upstream), only where `pred` holds.

    `kind` and `type` are PTX's operation and type. The result, which may be left out, is 0 where `pred` is false, of
    cas the value to compare with.
    """

    ptr = Operand()
    pred = OptionalOperand(lambda t: t == I1)
    values = Variadic()
    kind = Attr(str)
    type = Attr(str)
    order = Attr(str)
    scope = Attr(str)
    out = VariadicResult()
    effect = WRITE


@op("nvvm.vprintf")
class VPrintf(Op):
    """A call of the driver's vprintf (ours): a format, a global address, and the numbers in a buffer of the thread."""

    format = Operand()
    args = Variadic()
    effect = WRITE


@op("nvvm.assertfail")
class AssertFail(Op):
    """A call of the driver's __assertfail (ours); the texts are global addresses."""

    message = Operand()
    file = Operand()
    function = Operand()
    line = Attr(int)
    effect = WRITE


@op("nvvm.mov.pack")
class Pack(Op):
    """One register from its parts, low part first (ours; llvm.insertelement upstream)."""

    parts = Variadic()
    result = Result()


@op("nvvm.mov.unpack")
class Unpack(Op):
    """The parts of a register, low part first (ours; llvm.extractelement upstream)."""

    whole = Operand()
    out = VariadicResult()


@op("nvvm.convert.f32x2.to.f16x2")
class ConvertF32x2(Op):
    """Two f32 rounded into one packed pair of f16 or bf16."""

    low = Operand()
    high = Operand()
    rounding = Attr(str, "rn")
    result = Result()


@op("nvvm.mul.hi")
class MulHigh(Op):
    """The high half of an unsigned product of i32 or i64 (ours; llvm.nvvm.mulhi.ui upstream)."""

    lhs = Operand()
    rhs = Operand()
    result = like("lhs")


@op("nvvm.convert.f32x2.to.f8x2")
class ConvertF32x2ToF8x2(Op):
    """Two f32 rounded to nearest into two bytes, the low one first; what is too large becomes the largest."""

    low = Operand()
    high = Operand()
    result = Result()


@op("nvvm.convert.f8x2.to.f16x2")
class ConvertF8x2ToF16x2(Op):
    """Two bytes as a pair of f16, exactly."""

    source = Operand()
    result = Result()


@op("nvvm.convert.f32.to.f4")
class ConvertF32ToF4(Op):
    """2, 4 or 8 f32 rounded to nearest, the half bytes of an i8, i16 or i32, the first one lowest; what is too large
    becomes the largest, and NaN the largest positive number (upstream has convert.f32x2.to.f4x2).
    """

    sources = Variadic()
    result = Result()

    def verify(self) -> None:
        """As many numbers as the result has half bytes."""
        kind, count = self.result.type, len(self.sources)
        fits = count in (2, 4, 8) and isinstance(kind, IntType) and kind.width == 4 * count
        self.expect(fits, "{} numbers do not fill the half bytes of {}", count, kind)


@op("nvvm.convert.f4x2.to.f16x2")
class ConvertF4x2ToF16x2(Op):
    """The half bytes of an i8 as a pair of f16, exactly; the low one first."""

    source = Operand()
    result = Result()


@op("nvvm.ex2")
class Ex2(FloatUnary):
    """ex2.approx."""


@op("nvvm.lg2")
class Lg2(FloatUnary):
    """lg2.approx."""


@op("nvvm.sin")
class Sin(FloatUnary):
    """sin.approx."""


@op("nvvm.cos")
class Cos(FloatUnary):
    """cos.approx."""


@op("nvvm.tanh")
class Tanh(FloatUnary):
    """tanh.approx."""


@op("nvvm.rsqrt")
class Rsqrt(FloatUnary):
    """rsqrt.approx."""


@op("nvvm.rcp")
class Rcp(FloatUnary):
    """1 / x: rcp.approx, or the number that IEEE's division rounds to."""

    rounding = Attr(str, "approx")
