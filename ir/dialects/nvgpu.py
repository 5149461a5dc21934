"""nvgpu: operations of a thread on values of several registers: fragments of matrices, vectors, predicated accesses.

Instructions whose operands are single registers of a thread occur here under their own names (`ir.dialects.nvvm`).
mma.sync, ldmatrix and device_async_copy follow upstream MLIR with pointers in place of memrefs and program order in
place of tokens; warpgroup products take matrix descriptors as i64 and accumulators as groups of registers, updated in
place. fragment, load, store, atomic, stmatrix and matrix_descriptor are ours.
"""

from __future__ import annotations

from math import prod

from ir.core import (
    READ,
    WRITE,
    Attr,
    Op,
    Operand,
    OptionalOperand,
    Result,
    Value,
    Variadic,
    VariadicResult,
    flag,
    op,
    same_type_as,
)
from ir.descriptors import BARRIER_BYTES, BARRIER_TYPE, BarrierGroupType, MatrixDescriptorType, Tile
from ir.dialects.nvvm.bulk import EVICTIONS
from ir.dialects.nvvm.matrix import (
    BYTE_INTEGERS,
    MAX_PENDING,
    MMA_SHAPES,
    WGMMA_D,
    WGMMA_K,
    WIDTHS,
    mixes,
    verify_wgmma_shape,
)
from ir.dialects.nvvm.memory import CACHE_OPERATORS, ORDERS, SCOPES
from ir.instruction import DESCRIPTOR, GLOBAL, POINTER, PREDICATE, SHARED, WORD
from ir.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    GLOBAL_PTR,
    I8,
    I32,
    TF32,
    Constraint,
    FloatType,
    IntType,
    Type,
    VectorType,
)

BARRIER_GROUP = Constraint("a group of mbarriers", lambda t: isinstance(t, BarrierGroupType))
ONE_BARRIER = Constraint("an mbarrier", lambda t: t == BARRIER_TYPE)
VECTOR = Constraint("a vector", lambda t: isinstance(t, VectorType))
FOUR_FLOATS = tuple([VectorType((2, 2), element) for element in (F16, BF16, F32)])
MMA_TYPES: dict[Type, str] = {
    F16: "f16",
    BF16: "bf16",
    F32: "tf32",
    TF32: "tf32",
    F64: "f64",
    F8E4M3FN: "e4m3",
    F8E5M2: "e5m2",
}
"""PTX's name of the type of an operand by its element."""


def mma_type(element: Type, signed: bool) -> str | None:
    """PTX's name of the type of an operand, None for one that mma.sync does not take."""
    return ("s8" if signed else "u8") if element == I8 else MMA_TYPES.get(element)


def byte_size(type: Type) -> int:
    """Bytes a value takes in memory."""
    if isinstance(type, VectorType):
        return prod(type.shape) * byte_size(type.element)
    return max(getattr(type, "width", 64), 8) // 8


@op("nvgpu.exp2_pair")
class Exp2Pair(Op):
    """2^x of two f32 by a polynomial of `degree` on the multiply-add pipe, subnormal results flushed; NaN of NaN."""

    operand = Operand(Constraint("a pair of f32", lambda t: t == VectorType((2,), F32)))
    degree = Attr(int, 5, among=(3, 5))
    result = same_type_as("operand")


@op("nvgpu.bytes_to_floats")
class BytesToFloats(Op):
    """A register of bytes as f16, bf16 or f32, which are exact: rows of two. `signed`: how bytes are read."""

    operand = Operand(Constraint("a register of bytes", lambda t: t == VectorType((1, 4), I8)))
    signed = flag()
    result = Result(Constraint("vector<2x2xT> of f16, bf16 or f32", lambda t: t in FOUR_FLOATS))


@op("nvgpu.mma.sync")
class MmaSync(Op):
    """Warp-wide D = A * B + C, A row-major, B column-major.

    f16, bf16: a vector<4x2xT>, b vector<2x2xT>, c vector<2x2xf32> (or f16) for (16, 8, 16). tf32: a vector<4x1xf32>, b
    vector<2x1xf32> for (16, 8, 8) with `tf32Enabled`. i8: a vector<4x4xi8>, b vector<2x4xi8>, c vector<2x2xi32>, which
    wraps; `signed`: how a and b are interpreted (ours, upstream has signed only). f64: a, b vector<1x1xf64>, c
    vector<1x2xf64> for (8, 8, 4). Source: MLIR nvgpu.mma.sync; fragments PTX ISA, mma.sync.
    """

    a = Operand()
    b = Operand()
    c = Operand()
    mmaShape: Attr[tuple[int, ...]] = Attr(tuple)
    tf32Enabled = flag()
    signed: Attr[tuple[bool, bool]] = Attr(tuple, (True, True))
    result = same_type_as("c")
    effect = WRITE  # convergent: all lanes must reach it together

    def verify(self) -> None:
        """A shape that exists, and fragments of its size."""
        kinds = [v.type for v in self.operands]
        a, b, c = (
            k if isinstance(k, VectorType) and len(k.shape) == 2 else self.fail("operands must be 2-D vectors")
            for k in kinds
        )
        left, right = (mma_type(each.element, signed) for each, signed in zip((a, b), self.signed, strict=True))
        shapes = MMA_SHAPES.get(left or "", ())
        self.expect(self.mmaShape in shapes, "no mma.sync {} for {}; there are {}", self.mmaShape, a.element, shapes)
        self.expect(left == right or mixes(left or "", right or ""), "a and b differ: {} and {}", a.element, b.element)
        m, n, k = self.mmaShape
        for name, kind, size in (("a", a, m * k), ("b", b, k * n), ("c", c, m * n)):
            self.expect(prod(kind.shape) * 32 == size, "{} must hold {} elements per lane", name, size // 32)
        self.expect(a.element != F32 or self.tf32Enabled, "f32 operands need tf32Enabled")
        self.expect(all(self.signed) or a.element == I8, "unsigned operands must be i8, are {}", a.element)


@op("nvgpu.mma.block_scale")
class MmaBlockScale(Op):
    """Warp-wide D = (A x scales) (B x scales) + C of m16n8k32 on bytes, where i8 holds two f4 (ours).

    Vectors as for mma.sync, and four scales of A and of B in a register each; `bytes` selects the ones used. Source:
    PTX ISA, mma with .block_scale.
    """

    a = Operand(VECTOR)
    b = Operand(VECTOR)
    c = Operand(VECTOR)
    a_scales = Operand(VECTOR)
    b_scales = Operand(VECTOR)
    kind = Attr(str)
    bytes: Attr[tuple[int, int]] = Attr(tuple)
    result = same_type_as("c")
    effect = WRITE  # convergent: all lanes must reach it together

    def verify(self) -> None:
        """Fragments of mma.sync's size, and a register of scales for each operand."""
        for name, value, size in (("a", self.a, 16), ("b", self.b, 8), ("c", self.c, 16)):
            self.expect(byte_size(value.type) == size, "{} must hold {} bytes, is {}", name, size, value.type)
        for value in (self.a_scales, self.b_scales):
            self.expect(byte_size(value.type) == 4, "scales must fill a register, are {}", value.type)


@op("nvgpu.ldmatrix")
class LdMatrix(Op):
    """`numTiles` 8x8 matrices of 16-bit elements from shared memory: lane 8j+i gives the 16-byte row i of matrix j.
    `bytes` (ours): 16x16 matrices of bytes, transposed: lane 16j+i gives row i, and each matrix fills two registers.
    """

    source = Operand(SHARED)
    numTiles = Attr(int, among=(1, 2, 4))
    transpose = flag()
    bytes = flag()
    result = Result(VECTOR)
    effect = READ

    def verify(self) -> None:
        """One register for each tile, two of bytes."""
        kind, count = self.result.type, self.numTiles * (1 + self.bytes)
        self.expect(byte_size(kind) == 4 * count, "result must hold {} registers, is {}", count, kind)
        self.expect(not self.bytes or self.transpose, "matrices of bytes are transposed")


@op("nvgpu.fragment")
class Fragment(Op):
    """An MMA fragment from its registers: n packed pairs -> vector<n x 2 x T>, n f32 -> vector<n x 1 x f32> (ours)."""

    registers = Variadic()
    result = Result(VECTOR)

    def verify(self) -> None:
        """The registers fill the fragment."""
        held = sum(byte_size(r.type) for r in self.registers)
        kind = self.result.type
        self.expect(held == byte_size(kind), "{} bytes of registers do not fill {}", held, kind)


@op("nvgpu.device_async_copy")
class DeviceAsyncCopy(Op):
    """Asynchronous copy of `bytes` (4, 8, 16) from global to shared memory, in the next group that is created.

    If `pred` is false the destination is filled with zeros and the source is not read; `src_bytes` (at most `bytes`)
    copies a prefix and zero-fills the rest. If `enable` is false nothing is copied. `bypass_l1` needs 16 bytes.
    """

    dst = Operand(SHARED)
    src = Operand(GLOBAL)
    pred = OptionalOperand(PREDICATE)
    src_bytes = OptionalOperand(WORD)
    enable = OptionalOperand(PREDICATE)
    bytes = Attr(int, among=(4, 8, 16))
    bypass_l1 = flag()
    effect = WRITE

    def verify(self) -> None:
        """Only copies of 16 bytes bypass L1."""
        self.expect(not self.bypass_l1 or self.bytes == 16, "bypass_l1 needs 16 bytes, has {}", self.bytes)


@op("nvgpu.load")
class Load(Op):
    """A scalar or vector from global or shared memory, 1 to 16 bytes; address aligned to its size (ours).

    If `pred` is false nothing is read and the result is `passthrough` (zero if absent). `cache` is PTX's operator,
    `order` (relaxed, acquire; empty: weak) and `scope` (cta, gpu, sys) its qualifiers, `evict` a policy of the L2
    cache.
    """

    ptr = Operand(POINTER)
    pred = OptionalOperand(PREDICATE)
    passthrough = OptionalOperand()
    cache = Attr(str, "", among=CACHE_OPERATORS)
    order = Attr(str, "", among=ORDERS)
    scope = Attr(str, "", among=SCOPES)
    evict = Attr(str, "", among=EVICTIONS)
    result = Result()
    effect = READ

    def verify(self) -> None:
        """A legal size; cache policies are for global memory only."""
        _verify_access(self, self.result.type)
        self.expect(
            not self.evict or self.ptr.type == GLOBAL_PTR, "only accesses to global memory take an L2 cache policy"
        )


@op("nvgpu.store")
class Store(Op):
    """Writes a scalar or vector of 1 to 16 bytes; nothing if `pred` is false (ours). `order`: relaxed or release.

    `compare_again`: the comparison that computes `pred` is repeated for this store (ours). `remote`: to the shared
    memory of any CTA of the cluster, at an address from `nvvm.mapa` (ours).
    """

    value = Operand()
    ptr = Operand(POINTER)
    pred = OptionalOperand(PREDICATE)
    cache = Attr(str, "", among=CACHE_OPERATORS)
    order = Attr(str, "", among=ORDERS)
    scope = Attr(str, "", among=SCOPES)
    compare_again = flag()
    remote = flag()
    effect = WRITE

    def verify(self) -> None:
        """A legal size."""
        _verify_access(self, self.value.type)


ATOMIC_KINDS = {
    "add": ("add", "u"), "fadd": ("add", "f"), "and": ("and", "b"), "or": ("or", "b"), "xor": ("xor", "b"),
    "smax": ("max", "s"), "smin": ("min", "s"), "umax": ("max", "u"), "umin": ("min", "u"), "exch": ("exch", "b"),
    "cas": ("cas", "b"),
}  # fmt: skip
"""PTX's operation and the letter of its type. Source: PTX ISA, atom; two's complement sums need no sign."""


@op("nvgpu.atomic")
class Atomic(Op):
    """Atomically update what `ptr` points to (ours); nothing happens if `pred` is false.

    `kind` is add, fadd, and, or, xor, smax, smin, umax, umin or exch of one value, or cas of the value to compare with
    and the new one.

    The optional result is the old value; if `pred` is false it is zero, or for cas the value to compare with. `order`
    and `scope` are PTX's.
    """

    ptr = Operand(POINTER)
    pred = OptionalOperand(PREDICATE)
    values = Variadic()
    kind = Attr(str, among=tuple(ATOMIC_KINDS))
    order = Attr(str, among=ORDERS[1:])
    scope = Attr(str, among=SCOPES[1:])
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """One value, two for cas, all of one type; at most one result of that type."""
        kinds = [v.type for v in (*self.values, *self.results)]
        self.expect(len(self.values) == 1 + (self.kind == "cas"), "{} values for {}", len(self.values), self.kind)
        self.expect(len(set(kinds)) == 1 and len(self.results) <= 1, "the old value and the new must have one type")


def _verify_access(access: Load | Store, type: Type) -> None:
    size = byte_size(type)
    most = (32,) if access.ptr.type == GLOBAL_PTR else ()
    sizes = "1, 2, 4, 8 or 16 bytes, or 32 of global memory"
    access.expect(size in (1, 2, 4, 8, 16, *most), "accesses take {}, {} takes {}", sizes, type, size)


# Warpgroup matrix products

SWIZZLES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
"""Swizzle name -> bits 62 and 63 of a matrix descriptor. Source: PTX ISA 8.8, wgmma, Matrix Descriptor Format."""

SWIZZLE_NAMES = {0: "none", 32: "32B", 64: "64B", 128: "128B"}
"""Swizzle span in bytes -> its name."""
ACCUMULATOR = VectorType((2, 2), F32)
"""Eight columns of D in one thread: two rows, eight apart, of two neighbouring columns."""

ACCUMULATORS: dict[Type, str] = {ACCUMULATOR: "f32", VectorType((2, 2), F16): "f16", VectorType((2, 2), I32): "s32"}
"""Types of eight columns of D in one thread, and PTX's name of their element."""


@op("nvgpu.warpgroup.wait")
class WarpgroupWait(Op):
    """Waits until at most `pending` groups are unfinished.

    `values` (accumulators, register operands) come out as results in the same registers: readers of the results come
    after the wait, and the registers are not reused before it. No instruction moves them.
    """

    values = Variadic()
    pending = Attr(int, 0, least=0, most=MAX_PENDING)
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """Results are the operands, passed through."""
        types = [v.type for v in self.values]
        self.expect([r.type for r in self.results] == types, "results must have the types of the operands")


ELEMENTS: dict[str, IntType | FloatType] = {
    "f16": F16,
    "bf16": BF16,
    "tf32": TF32,
    "e4m3": F8E4M3FN,
    "e5m2": F8E5M2,
    "s8": I8,
    "u8": I8,
}
"""Element types of the tiles of each type of descriptor; integers have no sign."""
ACCUMULATOR_GROUP = Constraint("vector<2x2> of f32, f16 or i32", lambda t: t in ACCUMULATORS)


@op("nvgpu.warpgroup.mma")
class WarpgroupMma(Op):
    """D (64 x n) = A (64 x k) * B (k x n) + D by four warps, asynchronously; `shape` is (64, n, k).

    `a` and `b` are matrix descriptors, of tiles of the shape's m x k and n x k (transposed if `trans_a`, `trans_b`), or
    i64 without tile types; `a` may instead be the fragment of mma.sync (vector<4x2xf16>, 4x1xf32 of tf32 or 4x4 of
    bytes), warp w holding rows 16 w to 16 w + 15. `accumulators`: n/8 groups vector<2x2xf32>, updated in place: operand
    i and result i share their registers. `scale_d` false: D = A * B, the accumulators are not read. `negated`: D = D -
    A * B, not for bytes. `trans_a`, `trans_b`: the operand is MN-major in shared memory (f16 and bf16 only). Element
    types: f16, bf16, tf32, e4m3, e5m2, s8, u8; the accumulators of f16 and f8 may be f16, those of bytes are i32.
    Source: PTX ISA 8.8, wgmma.mma_async.
    """

    a = Operand()
    b = Operand(DESCRIPTOR)
    scale_d = OptionalOperand(PREDICATE)
    accumulators = Variadic(ACCUMULATOR_GROUP)
    shape: Attr[tuple[int, ...]] = Attr(tuple)
    type_a = Attr(str, among=tuple(WGMMA_K))
    type_b = Attr(str, among=tuple(WGMMA_K))
    negated = flag()
    trans_a = flag()
    trans_b = flag()
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """A shape that exists, accumulators of its size, transposition only where PTX has it."""
        self.expect(len(self.shape) == 3, "shape must be (m, n, k), is {}", self.shape)
        m, n, k = self.shape
        mixed = mixes(self.type_a, self.type_b)
        self.expect(self.type_a == self.type_b or mixed, "no wgmma of {} and {}", self.type_a, self.type_b)
        verify_wgmma_shape(self, self.type_a, m, n, k)
        bytes_ = self.type_a in BYTE_INTEGERS
        self.expect(not (bytes_ and self.negated), "{} operands cannot be negated", self.type_a)
        groups = len(self.accumulators)
        self.expect(groups == n // 8, "n = {} needs {} accumulator groups, has {}", n, n // 8, groups)
        kind = self.accumulators[0].type
        self.expect([r.type for r in self.results] == [kind] * groups, "results must be the accumulators")
        self.expect(ACCUMULATORS[kind] in WGMMA_D[self.type_a], "no wgmma of {} into {}", self.type_a, kind)
        halves = WIDTHS[self.type_a] == 16
        self.expect(halves or not (self.trans_a or self.trans_b), "{} operands must be K-major", self.type_a)
        self.describes("a", self.a, (m, k), self.type_a, self.trans_a)
        self.describes("b", self.b, (n, k), self.type_b, self.trans_b)
        if DESCRIPTOR(self.a.type):
            return
        self.expect(not self.trans_a, "a register operand has no trans_a")
        held = byte_size(self.a.type) if isinstance(self.a.type, VectorType) else 0
        self.expect(held == 16, "a must be a descriptor or a fragment of 4 registers, is {}", self.a.type)

    def describes(self, name: str, operand: Value, shape: tuple[int, int], element: str, transposed: bool) -> None:
        """A typed descriptor is of the tile that the product reads."""
        kind = operand.type
        if isinstance(kind, MatrixDescriptorType):
            wanted = Tile(shape[::-1] if transposed else shape, ELEMENTS[element])
            self.expect(kind.tile == wanted, "{} must describe {}, describes {}", name, wanted, kind.tile)


@op("nvgpu.matrix_descriptor")
class MatrixDescriptor(Op):
    """The 64 bits that name an operand in shared memory; `lbo` and `sbo` in bytes, swizzle none, 32B, 64B or 128B.

    The address must be a multiple of 16. Advance along K or to another block by advancing `pointer` (constant and
    variable getelementptr terms that are multiples of 16 bytes cost one 32-bit addition) or by arith.addi of bytes/16.
    `tensor`: for tcgen05, which has its own format. Source: PTX ISA 8.8, wgmma and tcgen05, Matrix Descriptor Format.
    """

    pointer = Operand(SHARED)
    lbo = Attr(int, 16)
    sbo = Attr(int)
    swizzle = Attr(str, among=tuple(SWIZZLES))
    tensor = flag()
    result = Result(DESCRIPTOR)

    def verify(self) -> None:
        """Fields in range."""
        for name, stride in (("lbo", self.lbo), ("sbo", self.sbo)):
            legal = 0 <= stride < 1 << 18 and stride % 16 == 0
            self.expect(legal, "{} must be a multiple of 16 below 2^18 bytes, is {}", name, stride)


def descriptor_bits(lbo: int, sbo: int, swizzle: str) -> int:
    """The constant part of a matrix descriptor; strides in bytes."""
    return (lbo >> 4) << 16 | (sbo >> 4) << 32 | SWIZZLES[swizzle] << 62


@op("nvgpu.stmatrix")
class StMatrix(Op):
    """Stores 1, 2 or 4 8x8 matrices of 16-bit elements: lane 8j+i gives the 16-byte row i of matrix j.

    `value` is vector<n x 2 x T>, in the registers that ldmatrix of the same `transpose` would fill. Elements of 8 and
    32 bits (vector<n x 4 x T>, vector<n x 1 x T>) move as parts and pairs of 16-bit ones, not transposed.
    """

    value = Operand(VECTOR)
    ptr = Operand(SHARED)
    transpose = flag()
    effect = WRITE

    def verify(self) -> None:
        """One, two or four registers; transposed ones hold 16-bit pairs."""
        kind = self.value.type
        width = kind.element.width if isinstance(kind, VectorType) else 0
        whole = width in ((16,) if self.transpose else (8, 16, 32)) and byte_size(kind) in (4, 8, 16)
        self.expect(
            whole, "value must be 1, 2 or 4 registers of 16-bit elements (or 8 or 32, not transposed), is {}", kind
        )


@op("nvgpu.mbarrier.create")
class MBarrierCreate(Op):
    """The mbarriers, 8 bytes each, stored consecutively from byte `offset` after `base`."""

    base = Operand(SHARED)
    offset = Attr(int, 0, least=0)
    result = Result(BARRIER_GROUP)

    def verify(self) -> None:
        """Aligned, as far as the offset says."""
        self.expect(
            self.offset % BARRIER_BYTES == 0, "offset must be a multiple of {}, is {}", BARRIER_BYTES, self.offset
        )


@op("nvgpu.mbarrier.get")
class MBarrierGet(Op):
    """The mbarrier with number `index` + `number` of a group."""

    barriers = Operand(BARRIER_GROUP)
    index = OptionalOperand(WORD)
    number = Attr(int, 0, least=0)
    result = Result(ONE_BARRIER)

    def verify(self) -> None:
        """An existing mbarrier."""
        kind = self.barriers.type
        self.expect(isinstance(self.barriers.owner, MBarrierCreate), "the group must be made by nvgpu.mbarrier.create")
        count = kind.count if isinstance(kind, BarrierGroupType) else 0
        self.expect(self.number < count, "barrier {} does not exist: the group has {}", self.number, count)
