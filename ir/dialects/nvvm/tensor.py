"""Tensor memory and its matrix products, for one CTA or a pair; an address is an i32, lane above column.

`group`: the CTAs of .cta_group, 2 for a pair whose ranks differ in the lowest bit. ptxas takes one of both in a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import READ, WRITE, Attr, Op, Operand, OptionalOperand, Variadic, VariadicResult
from ir.dialects.nvvm.matrix import WIDTHS
from ir.instruction import (
    BARRIER,
    DOUBLE_WORD,
    HALF_WORD,
    PREDICATE,
    REGISTER_32,
    SHARED,
    WORD,
    Form,
    Instruction,
    Needs,
    instruction,
)
from ir.tensor_descriptors import TENSOR_COLUMNS, instruction_descriptor, scaled_descriptor
from ir.types import F32, I1, I16, I32, I64, SHARED_PTR, Constraint, Type

TCGEN05 = Needs(100, (8, 6), frozenset({"sm_100a", "sm_103a", "sm_110a"}))  # PTX ISA 8.8, tcgen05, Target ISA Notes
BYTE_PRODUCTS = Needs(100, (8, 6), frozenset({"sm_100a", "sm_110a"}), architectural=True)  # PTX ISA 8.8, kind::i8
GROUPS = (1, 2)  # CTAs that have tensor memory together; PTX ISA 8.8, tcgen05, .cta_group
ALLOCATED = (32, 64, 128, 256, 512)  # columns; PTX ISA 8.8, tcgen05.alloc
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128)  # .num: repetitions along the columns; PTX ISA 8.8, tcgen05.ld
SHAPES = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
"""Shape of an access to tensor memory -> registers a thread and repetition. Source: PTX ISA 8.8, tcgen05.ld, table."""
FACTOR = Constraint("a descriptor (i64) or an address in tensor memory (i32)", lambda t: t in (I64, I32), (I64, I32))
MOST_REGISTERS = 128  # of one access; same table
COPIED = ("128x256b", "128x128b", "4x256b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23", "32x128b.warpx4")
"""Shapes of copies from shared memory, with the lanes that receive duplicates. Source: PTX ISA 8.8, tcgen05.cp."""
SCALED_KINDS: dict[str, tuple[tuple[str, ...], dict[str, tuple[int, int]]]] = {
    "mxf8f6f4": (("e4m3", "e5m2"), {"ue8m0": (32, 1)}),
    "mxf4": (("e2m1",), {"ue8m0": (32, 2)}),
    "mxf4nvf4": (("e2m1",), {"ue4m3": (16, 4), "ue8m0": (16, 4)}),
}
"""Kind of a block-scaled product -> types of A and B; types of scales, each with the elements that one is of and the
scales of a row. Source: PTX ISA 8.8, tcgen05.mma, Block Scaling; f6, and f4 beside others, are not declared.
"""
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "f16": (("f16", "bf16"), ("f32", "f16")),
    "tf32": (("tf32",), ("f32",)),
    "f8f6f4": (("e4m3", "e5m2"), ("f32", "f16")),
    "i8": (("s8", "u8"), ("s32",)),
}
"""Kind of a product -> types of A and B, of D. Source: PTX ISA 8.8, tcgen05.mma, Kinds; f6 and f4 are not declared."""


@instruction(
    "nvvm.tcgen05.alloc",
    "tcgen05.alloc.cta_group::{group}.sync.aligned.shared::cta.b32 [{addr}], {columns};",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.alloc",
)
class TensorAlloc(Instruction):
    """A warp waits until the SM has `columns` of tensor memory free, takes them and writes their address to shared
    memory; in a pair, a warp of each CTA does so, and both addresses are the same.
    """

    addr = Operand(SHARED)
    columns = Attr(int, among=ALLOCATED)
    group = Attr(int, 1, among=GROUPS)
    effect = WRITE


@instruction(
    "nvvm.tcgen05.relinquish_alloc_permit",
    "tcgen05.relinquish_alloc_permit.cta_group::{group}.sync.aligned;",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.relinquish_alloc_permit",
)
class TensorRelinquish(Instruction):
    """The CTA gives up its permit to allocate: others may allocate without waiting for it to end."""

    group = Attr(int, 1, among=GROUPS)
    effect = WRITE


@instruction(
    "nvvm.tcgen05.dealloc",
    "tcgen05.dealloc.cta_group::{group}.sync.aligned.b32 {taddr:register}, {columns};",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.dealloc",
)
class TensorDealloc(Instruction):
    """A warp frees what its CTA has allocated."""

    taddr = Operand(WORD)
    columns = Attr(int, among=ALLOCATED)
    group = Attr(int, 1, among=GROUPS)
    effect = WRITE


@instruction("nvvm.tcgen05.mma", "", TCGEN05, source="PTX ISA 8.8, tcgen05.mma; Instruction descriptor")
class TensorMma(Instruction):
    """D = A B + D, or A B if `enable` is false or absent and `accumulate` is not set; issued by one thread.

    D is in tensor memory, `column` columns after `d`. `a` is a matrix descriptor, or an address of tensor memory, with
    A `columnA` columns after it; `b` is a descriptor. Layouts row or col as of wgmma: B col and A row are K-major. In a
    pair each CTA has half of the rows of D and A and half of the columns of B, at the same addresses; one thread of the
    CTA of even rank issues it.
    """

    d = Operand(WORD)
    a = Operand(FACTOR)
    b = Operand(DOUBLE_WORD)
    enable = OptionalOperand(PREDICATE)
    predicate = OptionalOperand(PREDICATE)
    shape: Attr[tuple[int, ...]] = Attr(tuple)
    typeA = Attr(str, among=tuple(kind for a, _ in KINDS.values() for kind in a))
    typeB = Attr(str, among=tuple(kind for a, _ in KINDS.values() for kind in a))
    typeD = Attr(str, "f32", among=("f32", "f16", "s32"))
    layoutA = Attr(str, "row", among=("row", "col"))
    layoutB = Attr(str, "col", among=("row", "col"))
    negated = Attr(bool, default=False)
    accumulate = Attr(bool, default=False)
    column = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    columnA = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    group = Attr(int, 1, among=GROUPS)
    effect = WRITE

    @property
    def kind(self) -> str:
        """The kind that supports these types."""
        return next(kind for kind, (a, _) in KINDS.items() if self.typeA in a)

    @property
    def idesc(self) -> int:
        """The instruction descriptor."""
        m, n, _ = self.shape
        majors = (self.layoutA == "col", self.layoutB == "row")
        return instruction_descriptor(m, n, self.typeA, self.typeB, self.typeD, majors, self.negated)

    @property
    def added(self) -> int:
        """Whether D is added, if no predicate determines it."""
        return int(self.accumulate)

    @property
    def text(self) -> str:
        """A in shared memory or in tensor memory."""
        a = "{a:register}" if self.a.type == I64 else "[{a:register}+{columnA}]"
        return (
            f"@{{predicate}} tcgen05.mma.cta_group::{{group}}.kind::{{kind}} [{{d:register}}+{{column}}], {a}, "
            "{b:register}, {idesc}, {enable:register|added};"
        )

    def needs(self) -> Needs:
        """Not all targets have i8."""
        return BYTE_PRODUCTS if self.kind == "i8" else self.floor

    def verify(self) -> None:
        """A shape and types that exist."""
        self.expect(len(self.shape) == 3, "shape must be (m, n, k), is {}", self.shape)
        m, n, k = self.shape
        kinds, sums = KINDS[self.kind]
        self.expect(self.typeB in kinds, "no tcgen05.mma of {} and {}", self.typeA, self.typeB)
        self.expect(self.typeD in sums, "no tcgen05.mma of {} into {}", self.typeA, self.typeD)
        self.verify_shape((m, n, k))
        self.expect(not (self.negated and self.kind == "i8"), "{} operands cannot be negated", self.typeA)
        transposes = WIDTHS[self.typeA] == 16 or WIDTHS[self.typeA] == 8
        major = (self.layoutA, self.layoutB) == ("row", "col")
        self.expect(major or transposes, "{} operands must be K-major", self.typeA)
        self.expect(self.a.type == I64 or self.layoutA == "row", "a in tensor memory is K-major")

    def verify_shape(self, shape: tuple[int, int, int]) -> None:
        """That of a dense product."""
        verify_shape(self, self.kind, self.typeA, shape, self.group)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """All types, both places of A, all ways to add, the shapes of f16."""
        plain = ((I32,), (I64,), (I64,), (), ())
        for kind, (types, sums) in KINDS.items():
            shapes = [(128, n, 256 // WIDTHS[types[0]]) for n in ((16, 128, 256) if kind == "f16" else (64,))]
            for shape in (*shapes, (64, 8, 256 // WIDTHS[types[0]])):
                for a, b, d in ((a, b, d) for a in types for b in types for d in sums):
                    yield Form(plain, (), {"shape": shape, "typeA": a, "typeB": b, "typeD": d})
            of_pair = {"shape": (256, 256, 256 // WIDTHS[types[0]]), "typeA": types[0], "typeB": types[-1]}
            yield Form(plain, (), {**of_pair, "typeD": sums[0], "group": 2})
        given = {"shape": (128, 64, 16), "typeA": "f16", "typeB": "f16"}
        yield Form(((I32,), (I32,), (I64,), (I1,), (I1,)), (), {**given, "column": 64, "columnA": 32})
        for layouts in (("col", "col"), ("row", "row"), ("col", "row")):
            named = {"layoutA": layouts[0], "layoutB": layouts[1], "negated": True, "accumulate": True}
            yield Form(plain, (), {**given, **named})


@instruction(
    "nvvm.tcgen05.cp",
    "@{predicate} tcgen05.cp.cta_group::1.{shape} [{taddr:register}+{column}], {source:register};",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.cp",
)
class TensorCopy(Instruction):
    """Copies rows of shared memory that a matrix descriptor names into lanes of tensor memory; issued by one thread.
    Products and copies that the thread issues later find them there.
    """

    taddr = Operand(WORD)
    source = Operand(DOUBLE_WORD)
    predicate = OptionalOperand(PREDICATE)
    shape = Attr(str, among=COPIED)
    column = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    effect = WRITE


@instruction(
    "nvvm.tcgen05.mma.block_scale",
    "@{predicate} tcgen05.mma.cta_group::1.kind::{kind}.block_scale.block{block} [{d:register}+{column}], "
    "{a:register}, {b:register}, {idesc}, [{scales:register}+{columnA}], [{scales:register}+{columnB}], "
    "{enable:register|added};",
    Needs(100, (8, 8), TCGEN05.only),
    source="PTX ISA 8.8, tcgen05.mma, Block Scaling",
)
class TensorMmaScaled(Instruction):
    """D = (A x scales) (B x scales) + D into f32, as nvvm.tcgen05.mma. The scales are in tensor memory: those of row r
    of A, or column r of B, in all lanes that are r modulo 32, r / 32 columns after `columnA` (`columnB`) of `scales`,
    starting at byte `byteA` (`byteB`).
    """

    d = Operand(WORD)
    a = Operand(DOUBLE_WORD)
    b = Operand(DOUBLE_WORD)
    scales = Operand(WORD)
    enable = OptionalOperand(PREDICATE)
    predicate = OptionalOperand(PREDICATE)
    shape: Attr[tuple[int, ...]] = Attr(tuple)
    kind = Attr(str, among=tuple(SCALED_KINDS))
    typeA = Attr(str, among=("e4m3", "e5m2", "e2m1"))
    typeB = Attr(str, among=("e4m3", "e5m2", "e2m1"))
    scale = Attr(str, among=("ue8m0", "ue4m3"))
    layoutA = Attr(str, "row", among=("row", "col"))
    layoutB = Attr(str, "col", among=("row", "col"))
    accumulate = Attr(bool, default=False)
    column = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    columnA = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    columnB = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    byteA = Attr(int, 0, least=0, most=3)
    byteB = Attr(int, 0, least=0, most=3)
    effect = WRITE

    @property
    def block(self) -> int:
        """Elements along k covered by one scale."""
        return SCALED_KINDS[self.kind][1][self.scale][0]

    @property
    def idesc(self) -> int:
        """The instruction descriptor."""
        m, n, _ = self.shape
        majors = (self.layoutA == "col", self.layoutB == "row")
        return scaled_descriptor(m, n, self.typeA, self.typeB, self.scale, (self.byteA, self.byteB), majors)

    @property
    def added(self) -> int:
        """Whether D is added, if no predicate determines it."""
        return int(self.accumulate)

    def verify(self) -> None:
        """A shape, types, scales and places that exist."""
        self.expect(len(self.shape) == 3, "shape must be (m, n, k), is {}", self.shape)
        m, n, k = self.shape
        types, scales = SCALED_KINDS[self.kind]
        for kind in (self.typeA, self.typeB):
            self.expect(kind in types, "no block-scaled product of kind {} of {}", self.kind, kind)
        self.expect(self.scale in scales, "kind {} takes no scales of {}", self.kind, self.scale)
        each, fits = scales[self.scale][1], m == 128 and 16 <= n <= 256 and n % 16 == 0
        wide = 64 if self.typeA == "e2m1" else 32
        self.expect(
            fits and k == wide,
            "no block-scaled product m{}n{}k{} of {}: m is 128, n a multiple of 16 to 256, k {}",
            m,
            n,
            k,
            self.typeA,
            wide,
        )
        for place in (self.byteA, self.byteB):
            self.expect(place % each == 0, "{} scales begin at byte {}, not a multiple", each, place)
        major = (self.layoutA, self.layoutB) == ("row", "col")
        self.expect(major or self.typeA != "e2m1", "e2m1 operands must be K-major")

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """All kinds, types and scales, both ways to add, majors of bytes, every byte."""
        plain = ((I32,), (I64,), (I64,), (I32,))
        for kind, (types, scales) in SCALED_KINDS.items():
            for scale, (_, each) in scales.items():
                given = {"shape": (128, 128, 64 if types == ("e2m1",) else 32), "kind": kind, "scale": scale}
                for a, b in ((a, b) for a in types for b in types):
                    yield Form((*plain, (), ()), (), {**given, "typeA": a, "typeB": b})
                last = {"byteA": 4 - each, "byteB": 4 - each, "columnA": 128, "columnB": 132, "accumulate": True}
                yield Form((*plain, (I1,), (I1,)), (), {**given, "typeA": types[0], "typeB": types[0], **last})
        turned = {"shape": (128, 256, 32), "kind": "mxf8f6f4", "typeA": "e4m3", "typeB": "e5m2", "scale": "ue8m0"}
        yield Form((*plain, (), ()), (), {**turned, "layoutA": "col", "layoutB": "row"})


def verify_shape(op: Op, kind: str, element: str, shape: tuple[int, int, int], group: int) -> None:
    """A dense shape of one CTA or of a pair. Source: PTX ISA 8.8, tcgen05.mma, Shapes; of a pair CUTLASS asks for
    multiples of 32 columns.
    """
    (m, n, k), depth = shape, 256 // WIDTHS[element]
    if group == 2:
        fits = m in (128, 256) and 32 <= n <= 256 and n % 32 == 0
        op.expect(
            fits and k == depth,
            "no tcgen05.mma m{}n{}k{} of {} by a pair: m is 128 or 256, n a multiple of 32 to 256, k {}",
            m,
            n,
            k,
            element,
            depth,
        )
        return
    step = {64: 8, 128: 16}.get(m, 0)
    fits = bool(step) and 8 <= n <= 256 and n % step == 0 and (kind != "i8" or n in (8, 24) or n % 16 == 0)
    op.expect(
        fits and k == depth,
        "no tcgen05.mma m{}n{}k{} of {}: m is 64 or 128, n a multiple of 8 or 16 to 256, k {}",
        m,
        n,
        k,
        element,
        depth,
    )


@instruction(
    "nvvm.tcgen05.commit",
    "@{predicate} tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.shared::cluster{options}.b64 [{addr}], "
    "{multicastMask:register};",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.commit",
)
class TensorCommit(Instruction):
    """One arrival at an mbarrier when all products and copies issued by the thread are complete; with a mask, at the
    mbarrier at that offset in each CTA that it names.
    """

    addr = Operand(BARRIER)
    multicastMask = OptionalOperand(HALF_WORD)
    predicate = OptionalOperand(PREDICATE)
    group = Attr(int, 1, among=GROUPS)
    effect = WRITE

    @property
    def options(self) -> str:
        """The suffix of a mask."""
        return "" if self.multicastMask is None else ".multicast::cluster"

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """With a mask and without."""
        for mask in ((), (I16,)):
            for group in GROUPS:
                yield Form(((SHARED_PTR,), mask, ()), (), {"group": group})


class TensorAccess(Instruction):
    """Shape shared by moves between registers and tensor memory: a warp reaches the lanes 32 (w % 4) to 32 (w % 4) + 31
    of its number w; `column` columns behind `taddr`. Of 16x32bx2 the second half lies `split` columns behind the first.
    `packed`: a register holds the low halves of two columns.
    """

    taddr = Operand(WORD)
    shape = Attr(str, "32x32b", among=tuple(SHAPES))
    num = Attr(int, among=COUNTS)
    column = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    split = Attr(int, 0, least=0, most=TENSOR_COLUMNS - 1)
    packed = Attr(bool, default=False)

    @property
    def place(self) -> str:
        """Where it lies."""
        halves = f", {self.split}" if self.shape == "16x32bx2" else ""
        return f"[{{taddr:register}}+{{column}}]{halves}"

    def registers(self, held: int) -> None:
        """As many registers as the form has."""
        self.expect(self.split == 0 or self.shape == "16x32bx2", "only .16x32bx2 has two halves, not .{}", self.shape)
        count = SHAPES[self.shape] * self.num
        self.expect(
            count <= MOST_REGISTERS, "no .{}.x{}: it has more than {} registers", self.shape, self.num, MOST_REGISTERS
        )
        self.expect(held == count, ".{}.x{} moves {} registers, has {}", self.shape, self.num, count, held)

    @classmethod
    def sizes(cls) -> Iterator[tuple[dict[str, object], tuple[Type, ...]]]:
        """Attributes and registers of every shape and number."""
        for shape, each in SHAPES.items():
            for num in COUNTS:
                if each * num <= MOST_REGISTERS:
                    given: dict[str, object] = {"shape": shape, "num": num, "column": 0 if num > 1 else 32}
                    yield given, (F32,) * (each * num)
            last: dict[str, object] = {"shape": shape, "num": 2, "split": 16 if shape == "16x32bx2" else 0}
            yield last | {"packed": True}, (F32,) * (each * 2)


@instruction(
    "nvvm.tcgen05.ld",
    "",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.ld",
)
class TensorLd(TensorAccess):
    """Tensor memory into registers, which are valid only after a wait."""

    out = VariadicResult()
    effect = READ

    @property
    def text(self) -> str:
        """Packed or not, in halves or not."""
        packed = ".pack::16b" if self.packed else ""
        return f"tcgen05.ld.sync.aligned.{{shape}}.x{{num}}{packed}.b32 {{out:vector}}, {self.place};"

    def verify(self) -> None:
        """Registers of the shape."""
        self.registers(len(self.results))

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every shape and number."""
        for given, held in cls.sizes():
            yield Form(((I32,),), held, given)


@instruction(
    "nvvm.tcgen05.st",
    "",
    TCGEN05,
    source="PTX ISA 8.8, tcgen05.st",
)
class TensorSt(TensorAccess):
    """Registers into tensor memory, which holds them only after a wait."""

    values = Variadic(REGISTER_32)
    effect = WRITE

    @property
    def text(self) -> str:
        """Packed or not, in halves or not."""
        packed = ".unpack::16b" if self.packed else ""
        return f"tcgen05.st.sync.aligned.{{shape}}.x{{num}}{packed}.b32 {self.place}, {{values:vector}};"

    def verify(self) -> None:
        """Registers of the shape."""
        self.registers(len(self.values))

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every shape and number."""
        for given, held in cls.sizes():
            yield Form(((I32,), held), (), given)


@instruction(
    "nvvm.tcgen05.wait",
    "tcgen05.wait::{kind}.sync.aligned;",
    TCGEN05,
    held="values",
    source="PTX ISA 8.8, tcgen05.wait",
)
class TensorWait(Instruction):
    """Waits for all loads (`ld`) or stores (`st`) that the thread has issued; `values` pass through in their registers
    (ours): readers of the results come after the wait.
    """

    values = Variadic(REGISTER_32)
    kind = Attr(str, among=("ld", "st"))
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """Results are the operands, passed through."""
        types = [v.type for v in self.values]
        self.expect([r.type for r in self.results] == types, "results must have the types of the operands")

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Both, with nothing that passes through."""
        yield from (Form(((),), (), {"kind": kind}) for kind in ("ld", "st"))


@instruction("nvvm.tcgen05.fence", "tcgen05.fence::{when}_thread_sync;", TCGEN05, source="PTX ISA 8.8, tcgen05.fence")
class TensorFence(Instruction):
    """Orders tcgen05 instructions `before` or `after` a synchronisation of threads with it."""

    when = Attr(str, among=("before", "after"))
    effect = WRITE
