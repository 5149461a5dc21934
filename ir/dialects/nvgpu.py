"""nvgpu: tensor-core, matrix-load and asynchronous-copy ops of per-thread code, and predicated accesses (ours).

mma.sync, ldmatrix and device_async_* follow upstream MLIR with pointers in place of memrefs and program order in
place of tokens. fragment, load and store are ours.
"""

from __future__ import annotations

from math import prod

from ir.core import (
    CONTROL,
    READ,
    WRITE,
    Attr,
    Op,
    Operand,
    OptionalOperand,
    Result,
    Variadic,
    VariadicResult,
    flag,
    op,
    same_type_as,
)
from ir.types import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    GLOBAL_PTR,
    I1,
    I8,
    I32,
    SHARED_PTR,
    TF32,
    LLVMPointerType,
    Type,
    VectorType,
)

MMA_SHAPES = {F16: ((16, 8, 16), (16, 8, 8)), BF16: ((16, 8, 16), (16, 8, 8)), TF32: ((16, 8, 8), (16, 8, 4)),
              F32: ((16, 8, 8), (16, 8, 4)), I8: ((16, 8, 32), (16, 8, 16)),
              F8E4M3FN: ((16, 8, 32),), F8E5M2: ((16, 8, 32),), F64: ((8, 8, 4),)}  # fmt: skip
"""Legal (m, n, k) by operand element. Source: PTX ISA 8.8, mma.sync, dense .f16 .bf16 .tf32 .s8 .e4m3 .e5m2 .f64."""

CACHE_OPERATORS = ("", "nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt")


def byte_size(type: Type) -> int:
    """Bytes a value takes in memory."""
    if isinstance(type, VectorType):
        return prod(type.shape) * byte_size(type.element)
    return max(getattr(type, "width", 64), 8) // 8


def _is_pointer(type: Type) -> bool:
    return isinstance(type, LLVMPointerType)


@op("nvgpu.mma.sync")
class MmaSync(Op):
    """Warp-wide D = A * B + C, A row-major, B column-major.

    f16, bf16: a vector<4x2xT>, b vector<2x2xT>, c vector<2x2xf32> (or f16) for (16, 8, 16). tf32: a vector<4x1xf32>,
    b vector<2x1xf32> for (16, 8, 8) with `tf32Enabled`. i8: a vector<4x4xi8>, b vector<2x4xi8>, c vector<2x2xi32>,
    which wraps; `signed` says how a and b are read (ours, upstream has signed only). f64: a, b vector<1x1xf64>,
    c vector<1x2xf64> for (8, 8, 4). Source: MLIR nvgpu.mma.sync; fragments PTX ISA, mma.sync.
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
        """A shape that exists and fragments of its size."""
        kinds = [v.type for v in self.operands]
        a, b, c = (k if isinstance(k, VectorType) and len(k.shape) == 2 else self.fail("operands must be 2-D vectors")
                   for k in kinds)  # fmt: skip
        shapes = MMA_SHAPES.get(a.element, ())
        self.expect(self.mmaShape in shapes, "no mma.sync {} for {}; there are {}", self.mmaShape, a.element, shapes)
        same = a.element == b.element or {a.element, b.element} == {F32, TF32}
        self.expect(same, "a and b differ: {} and {}", a.element, b.element)
        m, n, k = self.mmaShape
        for name, kind, size in (("a", a, m * k), ("b", b, k * n), ("c", c, m * n)):
            self.expect(prod(kind.shape) * 32 == size, "{} must hold {} elements a lane", name, size // 32)
        self.expect(a.element != F32 or self.tf32Enabled, "f32 operands need tf32Enabled")
        self.expect(all(self.signed) or a.element == I8, "unsigned operands must be i8, are {}", a.element)


@op("nvgpu.ldmatrix")
class LdMatrix(Op):
    """`numTiles` 8x8 matrices of 16-bit elements from shared memory: lane 8j+i gives the 16-byte row i of matrix j."""

    source = Operand(lambda t: t == SHARED_PTR)
    numTiles = Attr(int)
    transpose = flag()
    result = Result(lambda t: isinstance(t, VectorType))
    effect = READ

    def verify(self) -> None:
        """One, two or four tiles and a register of each."""
        self.expect(self.numTiles in (1, 2, 4), "numTiles must be 1, 2 or 4, is {}", self.numTiles)
        kind = self.result.type
        self.expect(byte_size(kind) == 4 * self.numTiles, "result must hold {} registers, is {}", self.numTiles, kind)


@op("nvgpu.fragment")
class Fragment(Op):
    """An MMA fragment from its registers: n packed pairs -> vector<n x 2 x T>, n f32 -> vector<n x 1 x f32> (ours)."""

    registers = Variadic()
    result = Result(lambda t: isinstance(t, VectorType))

    def verify(self) -> None:
        """The registers fill the fragment."""
        held = sum(byte_size(r.type) for r in self.registers)
        kind = self.result.type
        self.expect(held == byte_size(kind), "{} bytes of registers do not fill {}", held, kind)


@op("nvgpu.device_async_copy")
class DeviceAsyncCopy(Op):
    """Asynchronous copy of `bytes` (4, 8, 16) from global to shared memory, in the next group that is created.

    Where `pred` is false the destination is filled with zeros and the source is not read; `src_bytes` (at most
    `bytes`) copies a prefix and zero-fills the rest. `bypass_l1` needs 16 bytes.
    """

    dst = Operand(lambda t: t == SHARED_PTR)
    src = Operand(lambda t: t == GLOBAL_PTR)
    pred = OptionalOperand(lambda t: t == I1)
    src_bytes = OptionalOperand(lambda t: t == I32)
    bytes = Attr(int)
    bypass_l1 = flag()
    effect = WRITE

    def verify(self) -> None:
        """A size that cp.async has."""
        self.expect(self.bytes in (4, 8, 16), "bytes must be 4, 8 or 16, is {}", self.bytes)
        self.expect(not self.bypass_l1 or self.bytes == 16, "bypass_l1 needs 16 bytes, has {}", self.bytes)


@op("nvgpu.device_async_create_group")
class DeviceAsyncCreateGroup(Op):
    """Closes the group of the thread's copies since the last one."""

    effect = CONTROL


@op("nvgpu.device_async_wait")
class DeviceAsyncWait(Op):
    """Waits until at most `num_groups` of the thread's groups are in flight."""

    num_groups = Attr(int, 0)
    effect = CONTROL


@op("nvgpu.load")
class Load(Op):
    """A scalar or vector from global or shared memory, 1 to 16 bytes; address aligned to its size (ours).

    Where `pred` is false nothing is read and the result is `passthrough` (zero if absent). `cache` is PTX's operator,
    `order` (relaxed, acquire; empty: weak) and `scope` (cta, gpu, sys) its qualifiers.
    """

    ptr = Operand(_is_pointer)
    pred = OptionalOperand(lambda t: t == I1)
    passthrough = OptionalOperand()
    cache = Attr(str, "")
    order = Attr(str, "")
    scope = Attr(str, "")
    result = Result()
    effect = READ

    def verify(self) -> None:
        """A legal size and cache operator."""
        _verify_access(self, self.result.type, self.cache)


@op("nvgpu.store")
class Store(Op):
    """Writes a scalar or vector of 1 to 16 bytes; nothing where `pred` is false (ours). `order`: relaxed or release.

    `compare_again`: a comparison behind `pred` is made again for this store (ours).
    """

    value = Operand()
    ptr = Operand(_is_pointer)
    pred = OptionalOperand(lambda t: t == I1)
    cache = Attr(str, "")
    order = Attr(str, "")
    scope = Attr(str, "")
    compare_again = flag()
    effect = WRITE

    def verify(self) -> None:
        """A legal size and cache operator."""
        _verify_access(self, self.value.type, self.cache)


@op("nvgpu.atomic")
class Atomic(Op):
    """Update in one step of what `ptr` points to (ours); nothing happens where `pred` is false.

    `kind` is add, fadd, and, or, xor, smax, smin, umax, umin or exch of one value, or cas of the value to compare with
    and the new one.

    The result, which may be left out, is the old value; where `pred` is false zero, of cas the value to compare with.
    `order` and `scope` are PTX's.
    """

    ptr = Operand(_is_pointer)
    pred = OptionalOperand(lambda t: t == I1)
    values = Variadic()
    kind = Attr(str)
    order = Attr(str)
    scope = Attr(str)
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """One value, two for cas, all of one type; at most one result of it."""
        kinds = [v.type for v in (*self.values, *self.results)]
        self.expect(len(self.values) == 1 + (self.kind == "cas"), "{} values for {}", len(self.values), self.kind)
        self.expect(len(set(kinds)) == 1 and len(self.results) <= 1, "the old value and the new must have one type")


def _verify_access(access: Op, type: Type, cache: str) -> None:
    size = byte_size(type)
    access.expect(size in (1, 2, 4, 8, 16), "accesses take 1, 2, 4, 8 or 16 bytes, {} takes {}", type, size)
    access.expect(cache in CACHE_OPERATORS, "unknown cache operator {}", cache)


@op("nvgpu.assert_fail")
class AssertFail(Op):
    """The thread ends the launch with a message, at a line of a file, in a function: texts in global memory (ours)."""

    message = Operand(_is_pointer)
    file = Operand(_is_pointer)
    function = Operand(_is_pointer)
    line = Attr(int)
    effect = WRITE
