"""Tensor cores: matrices between registers and shared memory, products of a warp (mma.sync) and a warpgroup (wgmma)."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import READ, WRITE, Attr, Op, Operand, OptionalOperand, Variadic, VariadicResult
from ir.instruction import (
    DOUBLE_WORD,
    PREDICATE,
    REGISTER,
    REGISTER_32,
    SHARED,
    SM_80,
    Form,
    Instruction,
    Needs,
    instruction,
    register_bits,
)
from ir.types import F16, F32, F64, I1, I32, I64, SHARED_PTR, Type, VectorType

BYTE_INTEGERS, BYTE_FLOATS, HALF_BYTES = ("s8", "u8"), ("e4m3", "e5m2"), ("s4", "u4")
BYTE_FLOAT_PRODUCTS = Needs(89, (8, 4))
MMA_SHAPES: dict[str, tuple[tuple[int, int, int], ...]] = {
    "f16": ((16, 8, 16), (16, 8, 8)),
    "bf16": ((16, 8, 16), (16, 8, 8)),
    "tf32": ((16, 8, 8), (16, 8, 4)),
    **dict.fromkeys(BYTE_INTEGERS, ((16, 8, 32), (16, 8, 16), (8, 8, 16))),
    **dict.fromkeys(HALF_BYTES, ((16, 8, 64), (16, 8, 32), (8, 8, 32))),
    **dict.fromkeys(BYTE_FLOATS, ((16, 8, 32), (16, 8, 16))),
    "f64": ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)),
    "b1": ((16, 8, 256), (16, 8, 128), (8, 8, 128)),
}
"""(m, n, k) by the type of an operand. Source: PTX ISA 8.8, mma.sync, dense; ptxas 13.5 accepts each."""
INTEGERS = (*BYTE_INTEGERS, *HALF_BYTES)
WIDTHS = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "f64": 64,
    "s32": 32,
    "b1": 1,
    **dict.fromkeys((*BYTE_INTEGERS, *BYTE_FLOATS), 8),
    **dict.fromkeys(HALF_BYTES, 4),
}
"""Bits of an element by PTX's name of its type."""
MMA_ACCUMULATORS = {
    "f16": ("f32", "f16"),
    "bf16": ("f32",),
    "tf32": ("f32",),
    "f64": ("f64",),
    "b1": ("s32",),
    **dict.fromkeys(INTEGERS, ("s32",)),
    **dict.fromkeys(BYTE_FLOATS, ("f32", "f16")),
}
"""Types of C and D by the type of A. Source: PTX ISA 8.8, mma.sync."""
WARP = 32


class Shaped(Instruction):
    """Base of products with a shape (m, n, k)."""

    shape: Attr[tuple[int, ...]] = Attr(tuple)

    @property
    def m(self) -> int:
        """Rows of A."""
        return self.shape[0]

    @property
    def n(self) -> int:
        """Columns of B."""
        return self.shape[1]

    @property
    def k(self) -> int:
        """Columns of A, including those that a sparse A does not store."""
        return self.shape[2]


@instruction(
    "nvvm.mma.sync",
    "mma.sync.aligned.m{m}n{n}k{k}.row.col.{types}{combined} {out:vector}, {a:vector}, {b:vector}, {c:vector};",
    SM_80,
    source="PTX ISA 8.8, mma.sync",
    seed="nvgpu.mma.sync",
)
class MmaSync(Shaped):
    """D = A B + C by a warp: registers of A, B and C in, registers of D out; `shape` (m, n, k), PTX's types."""

    a = Variadic(REGISTER)
    b = Variadic(REGISTER)
    c = Variadic(REGISTER)
    multiplicandAPtxType = Attr(str, among=tuple(MMA_SHAPES))
    multiplicandBPtxType = Attr(str, among=tuple(MMA_SHAPES))
    accumulatorPtxType = Attr(str, among=("f16", "f32", "f64", "s32"))
    b1Op = Attr(str, "", among=("", "and", "xor"))
    out = VariadicResult()
    effect = WRITE

    @property
    def combined(self) -> str:
        """How bits are combined before they are counted."""
        return f".{self.b1Op}.popc" if self.b1Op else ""

    @property
    def types(self) -> str:
        """Types of D, A, B and C."""
        acc = self.accumulatorPtxType
        return f"{acc}.{self.multiplicandAPtxType}.{self.multiplicandBPtxType}.{acc}"

    def needs(self) -> Needs:
        """f8 requires sm_89, and f16 results and k = 16 for it PTX 8.7; f64 with more than 8 rows requires sm_90."""
        if self.multiplicandAPtxType == "f64":
            return SM_80 if self.m == 8 else Needs(90, (7, 8))
        if self.multiplicandAPtxType not in BYTE_FLOATS:
            return SM_80
        narrow = self.accumulatorPtxType == "f16" or self.k == 16
        return Needs(BYTE_FLOAT_PRODUCTS.sm, (8, 7)) if narrow else BYTE_FLOAT_PRODUCTS

    def verify(self) -> None:
        """A shape that exists, and registers that hold its elements."""
        a, b, acc = self.multiplicandAPtxType, self.multiplicandBPtxType, self.accumulatorPtxType
        shapes = MMA_SHAPES[a]
        self.expect(self.shape in shapes, "no mma.sync {} of {}; there are {}", self.shape, a, shapes)
        self.expect(a == b or mixes(a, b), "no mma.sync of {} and {}", a, b)
        self.expect(acc in MMA_ACCUMULATORS[a], "no mma.sync of {} into {}", a, acc)
        self.expect((a == "b1") == bool(self.b1Op), "b1Op applies to operands of bits (b1) only")
        m, n, k = self.shape
        inputs = [("a", self.a, m * k, a), ("b", self.b, k * n, b), ("c", self.c, m * n, acc)]
        for name, values, size, kind in (*inputs, ("d", self.results, m * n, acc)):
            wanted = size * WIDTHS[kind] // WARP
            held = sum(register_bits(value.type) for value in values)
            self.expect(held == wanted, "{} must have {} bits per lane, has {}", name, wanted, held)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every shape and pair of types."""
        for a, shapes in MMA_SHAPES.items():
            for b in (name for name in MMA_SHAPES if name == a or mixes(a, name)):
                for shape in shapes:
                    for acc in MMA_ACCUMULATORS[a]:
                        m, n, k = shape
                        c = _registers(acc, m * n)
                        given = {
                            "shape": shape,
                            "multiplicandAPtxType": a,
                            "multiplicandBPtxType": b,
                            "accumulatorPtxType": acc,
                            **({"b1Op": "and"} if a == "b1" else {}),
                        }
                        yield Form((_registers(a, m * k), _registers(b, k * n), c), c, given)


def mixes(a: str, b: str) -> bool:
    """Whether A and B may have these two types."""
    return {a, b} in ({*BYTE_INTEGERS}, {*BYTE_FLOATS}, {*HALF_BYTES})


def _registers(kind: str, elements: int) -> tuple[Type, ...]:
    """Registers of a lane that hold this many elements of a warp."""
    if kind == "f64":
        return (F64,) * (elements // WARP)
    return (F32 if kind == "f32" else I32,) * (elements * WIDTHS[kind] // (WARP * 32))


@instruction(
    "nvvm.ldmatrix",
    "ldmatrix.sync.aligned.m8n8.x{num}{layout=col?.trans}.shared.b16 {out:vector}, [{ptr}];",
    SM_80,
    source="PTX ISA 8.8, ldmatrix",
    seed="nvgpu.ldmatrix",
)
class LdMatrix(Instruction):
    """`num` 8x8 matrices of 16-bit elements from shared memory: lane 8j+i gives the address of row i of matrix j.

    Layout col transposes each.
    """

    ptr = Operand(SHARED)
    num = Attr(int, among=(1, 2, 4))
    layout = Attr(str, "row", among=("row", "col"))
    out = VariadicResult()
    effect = READ

    def verify(self) -> None:
        """One register per matrix."""
        self.expect(len(self.results) == self.num, "must have {} results, has {}", self.num, len(self.results))
        whole = all(register_bits(result.type) == 32 for result in self.results)
        self.expect(whole, "results must be registers of 32 bits")

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every number and layout."""
        for num in (1, 2, 4):
            for layout in ("row", "col"):
                yield Form(((SHARED_PTR,),), (I32,) * num, {"num": num, "layout": layout})


@instruction(
    "nvvm.stmatrix",
    "stmatrix.sync.aligned.m8n8.x{num}{layout=col?.trans}.shared.b16 [{ptr}], {sources:vector};",
    Needs(90, (7, 8)),
    source="PTX ISA 8.8, stmatrix",
    seed="nvgpu.stmatrix",
)
class StMatrix(Instruction):
    """8x8 matrices of 16-bit elements to shared memory, one register each; addresses and layout as for ldmatrix."""

    ptr = Operand(SHARED)
    sources = Variadic(REGISTER_32)
    layout = Attr(str, "row", among=("row", "col"))
    effect = WRITE

    @property
    def num(self) -> int:
        """Matrices."""
        return len(self.sources)

    def verify(self) -> None:
        """One, two or four matrices."""
        self.expect(self.num in (1, 2, 4), "stores 1, 2 or 4 matrices, not {}", self.num)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every number and layout."""
        for num in (1, 2, 4):
            for layout in ("row", "col"):
                yield Form(((SHARED_PTR,), (I32,) * num), (), {"layout": layout})


# Products of a warpgroup

WGMMA_FENCE = "wgmma.fence.sync.aligned;"
WGMMA = Needs(90, (8, 0), frozenset({"sm_90a"}))
WGMMA_M, WGMMA_N = 64, range(8, 257, 8)
"""M, and N of float operands. Source: PTX ISA 8.8, wgmma.mma_async; each N has been assembled."""
BYTE_N = (8, 16, 24, *range(32, 257, 16))
"""N of s8 and u8 operands. Source: PTX ISA 8.8, wgmma.mma_async."""
WGMMA_K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
"""K of one wgmma by operand type. Source: PTX ISA 8.8, wgmma.mma_async."""
WGMMA_D = (
    {"f16": ("f32", "f16"), "bf16": ("f32",), "tf32": ("f32",)}
    | dict.fromkeys(BYTE_FLOATS, ("f32", "f16"))
    | dict.fromkeys(BYTE_INTEGERS, ("s32",))
)
"""Types of D by operand type. Source: PTX ISA 8.8, wgmma.mma_async, .dtype."""
WARPGROUP = 128
MAX_PENDING = 7  # PTX ISA, wgmma.wait_group


@instruction("nvvm.wgmma.fence.aligned", WGMMA_FENCE, WGMMA, source="PTX ISA 8.8, wgmma.fence", upstream=True)
class WgmmaFence(Instruction):
    """Orders register and shared-memory accesses before the warpgroup's next products; needed before the first one.

    Also needed whenever accumulators or a register operand were written by other instructions.
    """

    effect = WRITE


@instruction(
    "nvvm.wgmma.commit.group.sync.aligned",
    "wgmma.commit_group.sync.aligned;",
    WGMMA,
    source="PTX ISA 8.8, wgmma.commit_group",
    upstream=True,
)
class WgmmaCommitGroup(Instruction):
    """Closes the group of the warpgroup's products since the last one."""

    effect = WRITE


@instruction(
    "nvvm.wgmma.wait.group.sync.aligned",
    "wgmma.wait_group.sync.aligned {group};",
    WGMMA,
    held="values",
    source="PTX ISA 8.8, wgmma.wait_group",
    seed="nvgpu.warpgroup.wait",
)
class WgmmaWaitGroup(Instruction):
    """Waits until at most `group` groups are unfinished; `values` pass through in their registers (ours).

    Readers of the results come after the wait, and the registers are not reused before it.
    """

    values = Variadic(REGISTER)
    group = Attr(int, least=0, most=MAX_PENDING)
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """Results are the operands, passed through."""
        types = [v.type for v in self.values]
        self.expect([r.type for r in self.results] == types, "results must have the types of the operands")

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """With nothing in flight, and with something."""
        for group in (0, 1, MAX_PENDING):
            yield Form(((),), (), {"group": group})


@instruction(
    "nvvm.wgmma.mma_async",
    "wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{types} {out:vector}, {a:group}, {b:register}, "
    "{scaleD:register|scale}{modifiers};",
    WGMMA,
    tied=("out", "c"),
    after_copies=WGMMA_FENCE,
    source="PTX ISA 8.8, wgmma.mma_async",
    seed="nvgpu.warpgroup.mma",
)
class WgmmaMmaAsync(Shaped):
    """D = A B + D by a warpgroup: `a` is a descriptor or four registers, `c` the accumulators tied to the results.

    Without `c` the product starts from zero. So does `scaleD` false; by default it is true. -1 as `scaleA`, `scaleB`
    negates A, B. Layouts row or col as upstream: B col and A row are K-major.
    """

    a = Variadic(REGISTER)
    b = Operand(DOUBLE_WORD)
    scaleD = OptionalOperand(PREDICATE)
    c = Variadic(REGISTER_32)
    typeA = Attr(str, among=tuple(WGMMA_K))
    typeB = Attr(str, among=tuple(WGMMA_K))
    typeD = Attr(str, "f32", among=("f32", "f16", "s32"))
    scaleA = Attr(int, 1, among=(1, -1))
    scaleB = Attr(int, 1, among=(1, -1))
    layoutA = Attr(str, "row", among=("row", "col"))
    layoutB = Attr(str, "col", among=("row", "col"))
    out = VariadicResult()
    effect = WRITE

    @property
    def types(self) -> str:
        """Types of D, A and B."""
        return f"{self.typeD}.{self.typeA}.{self.typeB}"

    @property
    def scale(self) -> int:
        """Whether D is added, if no predicate determines it."""
        return int(bool(self.c))

    @property
    def modifiers(self) -> str:
        """Immediates that follow, by type: negation of A and B, then which operands in shared memory are MN-major."""
        if self.typeD == "s32":
            return ""
        text = f", {self.scaleA}, {self.scaleB}"
        if WIDTHS[self.typeA] == 16:
            text += f", {int(self.layoutA == 'col')}" if len(self.a) == 1 else ""
            text += f", {int(self.layoutB == 'row')}"
        return text

    def verify(self) -> None:
        """A shape that exists, registers of its size, transposition and negation only where PTX has them."""
        self.expect(len(self.shape) == 3, "shape must be (m, n, k), is {}", self.shape)
        a, (m, n, k) = self.typeA, self.shape
        self.expect(a == self.typeB or mixes(a, self.typeB), "no wgmma of {} and {}", a, self.typeB)
        self.expect(self.typeD in WGMMA_D[a], "no wgmma of {} into {}", a, self.typeD)
        verify_wgmma_shape(self, a, m, n, k)
        plain = (self.scaleA, self.scaleB) == (1, 1)
        self.expect(a not in BYTE_INTEGERS or plain, "{} operands cannot be negated", a)
        count = n * WGMMA_M * WIDTHS[self.typeD] // (32 * WARPGROUP)
        self.expect(len(self.results) == count, "n = {} needs {} results, has {}", n, count, len(self.results))
        self.expect(len(self.c) in (0, count), "needs {} accumulators or none, has {}", count, len(self.c))
        major = (self.layoutA, self.layoutB) == ("row", "col")
        self.expect(major or WIDTHS[a] == 16, "{} operands must be K-major", a)
        described = len(self.a) == 1 and self.a[0].type == I64
        held = len(self.a) == 4 and all(register_bits(v.type) == 32 for v in self.a)
        self.expect(described or held, "a must be an i64 descriptor or four registers of 32 bits")
        self.expect(described or self.layoutA == "row", "a in registers has no layout")

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """All types and layouts at n = 64, every n of f16 and of bytes."""
        for a in WGMMA_K:
            for b in (name for name in WGMMA_K if name == a or mixes(a, name)):
                for d in WGMMA_D[a]:
                    yield from (_wgmma(a, b, d, 64, first) for first in ((I64,), (I32,) * 4))
        yield from (_wgmma("f16", "f16", "f32", n, (I64,)) for n in WGMMA_N)
        yield from (_wgmma("s8", "s8", "s32", n, (I64,)) for n in BYTE_N)
        for layouts in (("col", "col"), ("row", "row"), ("col", "row")):
            yield _wgmma("bf16", "bf16", "f32", 32, (I64,), layoutA=layouts[0], layoutB=layouts[1], scaleA=-1)


def verify_wgmma_shape(op: Op, kind: str, m: int, n: int, k: int) -> None:
    """A shape that wgmma has for operands of this type."""
    columns = BYTE_N if kind in BYTE_INTEGERS else WGMMA_N
    legal = m == WGMMA_M and n in columns and k == WGMMA_K[kind]
    op.expect(
        legal, "no wgmma m{}n{}k{} of {}: m is 64, n {}, {}, ..., 256, k {}", m, n, k, kind, *columns[:2], WGMMA_K[kind]
    )


def _wgmma(a: str, b: str, d: str, n: int, first: tuple[Type, ...], **more: object) -> Form:
    held = (F32 if d == "f32" else VectorType((2,), F16) if d == "f16" else I32,) * (n * WIDTHS[d] // 64)
    given = {"shape": (WGMMA_M, n, WGMMA_K[a]), "typeA": a, "typeB": b, "typeD": d, **more}
    return Form((first, (I64,), (I1,), held), held, given)
