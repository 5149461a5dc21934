"""Products and moves of tensor memory beyond what the compiler makes: sparse and weight-stationary products, loads that
find an extremum, lanes moved by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import READ, WRITE, Attr, Operand, OptionalOperand, Result, Value, VariadicResult
from ir.dialects.nvvm.matrix import WIDTHS
from ir.dialects.nvvm.tensor import (
    GROUPS,
    KINDS,
    MOST_REGISTERS,
    TCGEN05,
    TensorAccess,
    TensorMma,
    verify_shape,
)
from ir.instruction import PREDICATE, REGISTER_32, WORD, Form, Instruction, Needs, instruction
from ir.tensor_descriptors import instruction_descriptor
from ir.types import F32, I32, I64

LD_RED = Needs(100, (8, 8), frozenset({"sm_103a", "sm_110a"}))  # PTX ISA 8.8, tcgen05.ld, .red
SHIFT = Needs(100, (8, 6), TCGEN05.only, architectural=True)  # PTX ISA 8.8, tcgen05.shift
STATIONARY = ((32, 64, 128), (64, 128, 256))
"""Rows and columns of a weight-stationary product. Source: PTX ISA 8.8, tcgen05.mma.ws, Shapes."""
REDUCIBLE = ("32x32b", "16x32bx2")
"""Shapes of loads that find an extremum. Source: PTX ISA 8.8, tcgen05.ld, .red."""


@instruction("nvvm.tcgen05.mma.sp", "", TCGEN05, source="PTX ISA 8.8, tcgen05.mma.sp; Sparse Matrices")
class TensorMmaSparse(TensorMma):
    """nvvm.tcgen05.mma of twice the k, where A keeps two of each four elements (of tf32 one of two, of pairs of
    neighbours where elements are smaller) and the tensor memory at `metadata` says which.
    """

    metadata = Operand(WORD)

    @property
    def idesc(self) -> int:
        """The instruction descriptor."""
        m, n, _ = self.shape
        majors = (self.layoutA == "col", self.layoutB == "row")
        return instruction_descriptor(m, n, self.typeA, self.typeB, self.typeD, majors, self.negated, sparse=True)

    @property
    def text(self) -> str:
        """A in shared memory or in tensor memory."""
        a = "{a:register}" if self.a.type == I64 else "[{a:register}+{columnA}]"
        return (
            f"@{{predicate}} tcgen05.mma.sp.cta_group::{{group}}.kind::{{kind}} [{{d:register}}+{{column}}], {a}, "
            "{b:register}, [{metadata:register}], {idesc}, {enable:register|added};"
        )

    def verify_shape(self, shape: tuple[int, int, int]) -> None:
        """That of a dense product, of twice the k."""
        m, n, k = shape
        self.expect(k % 2 == 0, "k of a sparse product is even, is {}", k)
        verify_shape(self, self.kind, self.typeA, (m, n, k // 2), self.group)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """All kinds, both places of A, one CTA and a pair."""
        plain = ((I32,), (I64,), (I64,), (), (), (I32,))
        for types, sums in KINDS.values():
            depth = 512 // WIDTHS[types[0]]
            given = {"typeA": types[0], "typeB": types[-1], "typeD": sums[0]}
            for rows, group in ((128, 1), (64, 1), (256, 2)):
                yield Form(plain, (), {**given, "shape": (rows, 64, depth), "group": group})
        given = {"shape": (128, 128, 32), "typeA": "f16", "typeB": "f16", "accumulate": True}
        yield Form(((I32,), (I32,), (I64,), (), (), (I32,)), (), given)


@instruction("nvvm.tcgen05.mma.ws", "", TCGEN05, source="PTX ISA 8.8, tcgen05.mma.ws")
class TensorMmaStationary(TensorMma):
    """nvvm.tcgen05.mma that keeps B where products are made, with as few as 32 rows; of one CTA."""

    @property
    def text(self) -> str:
        """A in shared memory or in tensor memory."""
        a = "{a:register}" if self.a.type == I64 else "[{a:register}+{columnA}]"
        return (
            f"@{{predicate}} tcgen05.mma.ws.cta_group::1.kind::{{kind}} [{{d:register}}+{{column}}], {a}, "
            "{b:register}, {idesc}, {enable:register|added};"
        )

    def verify_shape(self, shape: tuple[int, int, int]) -> None:
        """Its own rows and columns."""
        (m, n, k), (rows, columns), depth = shape, STATIONARY, 256 // WIDTHS[self.typeA]
        fits = m in rows and n in columns and k == depth and self.group == 1
        self.expect(
            fits,
            "no tcgen05.mma.ws m{}n{}k{} of {}: m is one of {}, n of {}, k {}, by one CTA",
            m,
            n,
            k,
            self.typeA,
            rows,
            columns,
            depth,
        )

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """All kinds and rows, both places of A."""
        plain = ((I32,), (I64,), (I64,), (), ())
        for types, sums in KINDS.values():
            for rows, columns in zip(*STATIONARY, strict=True):
                shape = (rows, columns, 256 // WIDTHS[types[0]])
                yield Form(plain, (), {"shape": shape, "typeA": types[0], "typeB": types[0], "typeD": sums[0]})
        given = {"shape": (32, 64, 16), "typeA": "bf16", "typeB": "bf16", "accumulate": True}
        yield Form(((I32,), (I32,), (I64,), (), ()), (), given)


@instruction("nvvm.tcgen05.ld.red", "", LD_RED, source="PTX ISA 8.8, tcgen05.ld, .red")
class TensorLdReduced(TensorAccess):
    """nvvm.tcgen05.ld that also finds the least or the largest of a thread's registers."""

    operation = Attr(str, among=("min", "max"))
    kind = Attr(str, "f32", among=("f32", "s32", "u32"))
    absolute = Attr(bool, default=False)
    nan = Attr(bool, default=False)
    reduced = Result(REGISTER_32)
    out = VariadicResult()
    effect = READ

    @property
    def loaded(self) -> list[Value]:
        """What the registers are."""
        return self.results[1:]

    @property
    def text(self) -> str:
        """By the operation and the type."""
        of = f"{self.operation}{'.abs' if self.absolute else ''}{'.NaN' if self.nan else ''}.{self.kind}"
        head = f"tcgen05.ld.red.sync.aligned.{{shape}}.x{{num}}.{of}"
        return f"{head} {{loaded:results}}, {{reduced}}, {self.place};"

    def verify(self) -> None:
        """Two registers and more of a shape that has this; only f32 have magnitudes and NaN."""
        self.registers(len(self.results) - 1)
        self.expect(
            self.shape in REDUCIBLE, "tcgen05.ld.red cannot load .{}: expected one of {}", self.shape, REDUCIBLE
        )
        self.expect(self.num > 1, "tcgen05.ld.red finds an extremum of two registers or more")
        self.expect(not self.packed, "tcgen05.ld.red does not pack")
        plain = not self.absolute and not self.nan
        self.expect(plain or self.kind == "f32", "only f32 have .abs and .NaN, not {}", self.kind)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Both shapes and operations, all types."""
        for shape in REDUCIBLE:
            for operation, kind in (("min", "f32"), ("max", "f32"), ("max", "s32"), ("min", "u32")):
                given = {"shape": shape, "num": 4, "operation": operation, "kind": kind}
                yield Form(((I32,),), ((F32 if kind == "f32" else I32),) * 5, given)
            last = {"shape": shape, "num": MOST_REGISTERS, "operation": "max", "absolute": True, "nan": True}
            yield Form(((I32,),), (F32,) * (MOST_REGISTERS + 1), last)


@instruction(
    "nvvm.tcgen05.shift",
    "@{predicate} tcgen05.shift.cta_group::{group}.down [{taddr:register}+{column}];",
    SHIFT,
    source="PTX ISA 8.8, tcgen05.shift",
)
class TensorShift(Instruction):
    """Moves rows of 32 bytes of tensor memory, but for the last, up by one lane; begun by one thread."""

    taddr = Operand(WORD)
    predicate = OptionalOperand(PREDICATE)
    column = Attr(int, 0, least=0, most=504)
    group = Attr(int, 1, among=GROUPS)
    effect = WRITE
