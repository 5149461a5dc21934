"""Tensor cores beyond what Tile IR can express: sparse and block-scaled products, matrices of bytes, transposition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ir.core import READ, WRITE, Attr, Operand, Variadic, VariadicResult, same_type_as
from ir.dialects.nvvm.matrix import WARP, WIDTHS, Shaped
from ir.instruction import REGISTER, REGISTER_32, SHARED, WORD, Form, Instruction, Needs, instruction, register_bits
from ir.types import F32, I32, SHARED_PTR, Type

SPARSE_SHAPES: dict[str, tuple[tuple[int, int, int], ...]] = {
    "f16": ((16, 8, 32), (16, 8, 16)),
    "bf16": ((16, 8, 32), (16, 8, 16)),
    "tf32": ((16, 8, 16), (16, 8, 8)),
    "s8": ((16, 8, 64), (16, 8, 32)),
    "u8": ((16, 8, 64), (16, 8, 32)),
    "e4m3": ((16, 8, 64),),
    "e5m2": ((16, 8, 64),),
}
"""(m, n, k) by operand type; half of A is stored. Source: PTX ISA 8.8, mma.sp; ptxas 13.5 accepts each."""
SELECTORS = {(16, 32): 2, (16, 16): 4, (32, 16): 2, (32, 8): 4, (8, 64): 1, (8, 32): 2}
"""Lanes that may hold the metadata of a quad (.sp selector below it), by bits of an element and k. Source: as above."""


@instruction(
    "nvvm.mma.sp.sync",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.{types} "
    "{out:vector}, {a:vector}, {b:vector}, {c:vector}, {metadata:register}, {selector};",
    Needs(80, (8, 5)),
    source="PTX ISA 8.8, mma.sp",
    seed="nvgpu.mma.sp.sync",
)
class MmaSparse(Shaped):
    """D = A B + C by a warp, where A keeps two of every four elements (for tf32 one of two), identified by
    `metadata`.
    """

    a = Variadic(REGISTER)
    b = Variadic(REGISTER)
    c = Variadic(REGISTER)
    metadata = Operand(WORD)
    kind = Attr(str, among=tuple(SPARSE_SHAPES))
    accumulator = Attr(str, among=("f32", "s32"))
    selector = Attr(int, 0, least=0, most=3)
    out = VariadicResult()
    effect = WRITE

    @property
    def types(self) -> str:
        """Types of D, A, B and C."""
        return f"{self.accumulator}.{self.kind}.{self.kind}.{self.accumulator}"

    def needs(self) -> Needs:
        """f8 requires sm_89."""
        return Needs(89, (8, 5)) if self.kind[0] == "e" else self.floor

    def verify(self) -> None:
        """A shape that exists, registers that hold its elements, a selector of a lane that may hold metadata."""
        shapes = SPARSE_SHAPES[self.kind]
        self.expect(self.shape in shapes, "no mma.sp {} of {}; there are {}", self.shape, self.kind, shapes)
        wanted = "s32" if self.kind in ("s8", "u8") else "f32"
        self.expect(self.accumulator == wanted, "no mma.sp of {} into {}", self.kind, self.accumulator)
        most = SELECTORS[WIDTHS[self.kind], self.k]
        self.expect(self.selector < most, "selector must be below {}, is {}", most, self.selector)
        m, n, k = self.shape
        width = WIDTHS[self.kind]
        sizes = (("a", self.a, m * k // 2 * width), ("b", self.b, k * n * width), ("c", self.c, m * n * 32))
        for name, values, bits in (*sizes, ("d", self.results, m * n * 32)):
            held = sum(register_bits(value.type) for value in values)
            self.expect(held == bits // WARP, "{} must have {} bits per lane, has {}", name, bits // WARP, held)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every shape and type."""
        for kind, shapes in SPARSE_SHAPES.items():
            for m, n, k in shapes:
                acc = "s32" if kind in ("s8", "u8") else "f32"
                held, whole = (size * WIDTHS[kind] // (WARP * 32) for size in (m * k // 2, k * n))
                c: tuple[Type, ...] = (I32 if acc == "s32" else F32,) * 4
                groups = ((I32,) * held, (I32,) * whole, c, (I32,))
                yield Form(groups, c, {"shape": (m, n, k), "kind": kind, "accumulator": acc})


BLOCK = Needs(120, (8, 7), frozenset({"sm_120a", "sm_121a"}))
POWERS_OF_16 = Needs(120, (9, 1), frozenset({"sm_120a", "sm_121a"}))
"""E8M0 factors of 16 elements. Source: ptxas 13.5 asks for PTX 9.1; that of CUDA 13.0 (PTX 9.0) knows no such form."""
BLOCK_KINDS = {
    "mxf8f6f4": (32, "1X", ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), ("ue8m0",)),
    "mxf4": (64, "2X", ("e2m1",), ("ue8m0",)),
    "mxf4nvf4": (64, "4X", ("e2m1",), ("ue4m3", "ue8m0")),
}
"""k, factors of a row, types of A and B, of the factors. Source: PTX ISA 8.8 and 9.1, mma.sync with .block_scale."""


@instruction(
    "nvvm.mma.block_scale",
    "mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale.scale_vec::{factors}.f32.{typeA}.{typeB}.f32.{scale} "
    "{out:vector}, {a:vector}, {b:vector}, {c:vector}, {scaleA:register}, {placeA}, {scaleB:register}, {placeB};",
    BLOCK,
    source="PTX ISA 8.8, mma.sync, .block_scale",
)
class MmaBlockScale(Instruction):
    """D = (A x factors) (B x factors) + C by a warp: a factor for 32 or 16 elements along k, bytes of a register.

    `bytes`: the first byte of the factors of A and of B in their registers; `threads`: the lanes of a quad that hold
    them, for A 0 (the first two) or 1, for B 0 to 3.
    """

    a = Variadic(REGISTER_32)
    b = Variadic(REGISTER_32)
    c = Variadic(REGISTER_32)
    scaleA = Operand(REGISTER_32)
    scaleB = Operand(REGISTER_32)
    kind = Attr(str, among=tuple(BLOCK_KINDS))
    typeA = Attr(str)
    typeB = Attr(str)
    scale = Attr(str, among=("ue8m0", "ue4m3"))
    bytes: Attr[tuple[int, int]] = Attr(tuple, (0, 0))
    threads: Attr[tuple[int, int]] = Attr(tuple, (0, 0))
    out = VariadicResult()
    effect = WRITE

    @property
    def k(self) -> int:
        """Columns of A."""
        return BLOCK_KINDS[self.kind][0]

    @property
    def factors(self) -> str:
        """PTX's modifier for the number of factors of a row."""
        return BLOCK_KINDS[self.kind][1]

    @property
    def placeA(self) -> str:
        """The byte of the register and the lanes of a quad that hold the factors of A."""
        return f"{{{self.bytes[0]}, {self.threads[0]}}}"

    @property
    def placeB(self) -> str:
        """The byte of the register and the lane of a quad that hold the factors of B."""
        return f"{{{self.bytes[1]}, {self.threads[1]}}}"

    def verify(self) -> None:
        """Types that the kind has, registers that hold A, B, C and D."""
        _, _, kinds, scales = BLOCK_KINDS[self.kind]
        self.expect(self.scale in scales, "factors of {} must be one of {}, are {}", self.kind, scales, self.scale)
        for name, kind in (("A", self.typeA), ("B", self.typeB)):
            self.expect(kind in kinds, "{} of {} must be one of {}, is {}", name, self.kind, kinds, kind)
        counts = [len(group) for group in (self.a, self.b, self.c, self.results)]
        self.expect(counts == [4, 2, 4, 4], "needs 4, 2, 4 and 4 registers of A, B, C and D, has {}", counts)
        step = int(self.factors[0])
        legal = len(self.bytes) == 2 and all(byte in range(0, 4, step) for byte in self.bytes)
        self.expect(legal, "bytes must be two of {}, are {}", [*range(0, 4, step)], self.bytes)
        legal = len(self.threads) == 2 and self.threads[0] in range(2) and self.threads[1] in range(4)
        self.expect(legal, "threads must be 0 or 1 and 0 to 3, are {}", self.threads)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every kind and pair of types."""
        groups = ((I32,) * 4, (I32,) * 2, (F32,) * 4, (I32,), (I32,))
        for kind, (_, _, types, scales) in BLOCK_KINDS.items():
            for a, b, scale in product(types, types, scales):
                yield Form(groups, (F32,) * 4, {"kind": kind, "typeA": a, "typeB": b, "scale": scale})

    def needs(self) -> Needs:
        """What it asks for."""
        return POWERS_OF_16 if (self.factors, self.scale) == ("4X", "ue8m0") else self.floor


BYTE_MATRICES = Needs(100, (8, 6), frozenset({"sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"}))


@instruction(
    "nvvm.ldmatrix.bytes",
    "ldmatrix.sync.aligned.{form} {out:vector}, [{ptr}];",
    BYTE_MATRICES,
    source="PTX ISA 8.8, ldmatrix",
    seed="nvgpu.ldmatrix",
)
class LdMatrixBytes(Instruction):
    """Matrices of bytes from shared memory, transposed (m16n16), or of four or six bits unpacked to bytes (m8n16).

    `num` matrices; of m16n16 each fills two registers, of m8n16 one.
    """

    ptr = Operand(SHARED)
    num = Attr(int, among=(1, 2, 4))
    shape = Attr(str, among=("m16n16", "m8n16"))
    kind = Attr(str, among=("b8", "b8x16.b4x16_p64", "b8x16.b6x16_p32"))
    out = VariadicResult()
    effect = READ

    @property
    def form(self) -> str:
        """Shape, number, memory and type, as PTX orders them."""
        trans = ".trans" if self.shape == "m16n16" else ""
        return f"{self.shape}.x{self.num}{trans}.shared.{self.kind}"

    def verify(self) -> None:
        """Forms that exist, a register for each 128 bytes of a matrix."""
        tall = self.shape == "m16n16"
        self.expect(not tall or self.num < 4, "m16n16 is loaded once or twice, not {} times", self.num)
        self.expect(tall or self.kind != "b8", "m8n16 unpacks four or six bits")
        count = self.num * (2 if tall else 1)
        self.expect(len(self.results) == count, "must have {} results, has {}", count, len(self.results))

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """All that exist."""
        for kind in ("b8", "b8x16.b4x16_p64", "b8x16.b6x16_p32"):
            for shape, nums, registers in (("m16n16", (1, 2), 2), ("m8n16", (1, 2, 4), 1)):
                for num in nums if shape == "m16n16" or kind != "b8" else ():
                    yield Form(((SHARED_PTR,),), (I32,) * (num * registers), {"num": num, "shape": shape, "kind": kind})


@instruction(
    "nvvm.stmatrix.bytes",
    "stmatrix.sync.aligned.m16n8.x{num}.trans.shared.b8 [{ptr}], {sources:vector};",
    BYTE_MATRICES,
    source="PTX ISA 8.8, stmatrix",
    seed="nvgpu.stmatrix",
)
class StMatrixBytes(Instruction):
    """16x8 matrices of bytes to shared memory, transposed, a register each."""

    ptr = Operand(SHARED)
    sources = Variadic(REGISTER_32)
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
        """Every number."""
        for num in (1, 2, 4):
            yield Form(((SHARED_PTR,), (I32,) * num), (), {})


@instruction(
    "nvvm.movmatrix",
    "movmatrix.sync.aligned.m8n8.trans.b16 {result}, {source:register};",
    Needs(80, (7, 8)),
    source="PTX ISA 8.8, movmatrix",
)
class MovMatrix(Instruction):
    """An 8x8 matrix of 16-bit elements, a register a lane, transposed within the warp."""

    source = Operand(WORD)
    result = same_type_as("source")
    effect = WRITE  # convergent
