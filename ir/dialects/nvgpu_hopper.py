"""nvgpu of sm_90: mbarriers, tensor copies (TMA), warpgroup matrix products, fences and roles of warps.

Names follow upstream MLIR where it has the op. Deviations: pointers to shared memory in place of memrefs and mbarrier
groups, matrix descriptors as i64 in place of a descriptor type, accumulators as groups of registers that the op updates
in place, program order in place of tokens. Ours: arrival of cp.async, named barriers, setmaxnreg, elect, stmatrix,
tma.commit, tma.wait and matrix_descriptor.
"""

from __future__ import annotations

from ir.core import CONTROL, WRITE, Attr, Op, Operand, OptionalOperand, Result, Variadic, VariadicResult, flag, op
from ir.dialects.nvgpu import byte_size
from ir.types import F16, F32, I1, I32, I64, SHARED_PTR, TENSOR_MAP, LLVMPointerType, Type, VectorType

SWIZZLES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}
"""Swizzle name -> bits 62 and 63 of a matrix descriptor. Source: PTX ISA 8.8, wgmma, Matrix Descriptor Format."""

SWIZZLE_NAMES = {0: "none", 32: "32B", 64: "64B", 128: "128B"}
"""Swizzle span in bytes -> its name."""

WGMMA_K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}
"""K of one wgmma by operand type. Source: PTX ISA 8.8, wgmma.mma_async."""

WGMMA_M, WGMMA_N = 64, range(8, 257, 8)
"""M, and N of float operands. Source: PTX ISA 8.8, wgmma.mma_async; each N was assembled."""

BYTE_N = (8, 16, 24, *range(32, 257, 16))
"""N of s8 and u8 operands. Source: PTX ISA 8.8, wgmma.mma_async."""

MAX_TENSOR_RANK = 5  # PTX ISA, cp.async.bulk.tensor
MAX_TX_BYTES = (1 << 20) - 1  # PTX ISA, mbarrier: range of tx-count
MAX_BARRIERS = 16  # PTX ISA, bar: barriers 0 to 15 of a block
MAX_ARRIVALS = (1 << 20) - 1  # PTX ISA, mbarrier: range of the expected arrival count
ACCUMULATOR = VectorType((2, 2), F32)
"""Eight columns of D in one thread: two rows, eight apart, of two neighbouring columns."""

WGMMA_D: dict[Type, tuple[str, ...]] = {
    ACCUMULATOR: ("f16", "bf16", "tf32", "e4m3", "e5m2"), VectorType((2, 2), F16): ("f16", "e4m3", "e5m2"),
    VectorType((2, 2), I32): ("s8", "u8"),
}  # fmt: skip
"""Operand types by accumulator. Source: PTX ISA 8.8, wgmma.mma_async, .dtype."""


def _is_shared(type: Type) -> bool:
    return type == SHARED_PTR


def _is_map(type: Type) -> bool:
    return type == TENSOR_MAP or type == LLVMPointerType(0)


def _is_i1(type: Type) -> bool:
    return type == I1


def _is_i32(type: Type) -> bool:
    return type == I32


# mbarriers


@op("nvgpu.mbarrier.init")
class MBarrierInit(Op):
    """Makes the 8 bytes at `barrier` an mbarrier whose phases each take `count` arrivals; the first phase is 0."""

    barrier = Operand(_is_shared)
    count = Attr(int)
    effect = WRITE

    def verify(self) -> None:
        """A count that an mbarrier holds."""
        self.expect(1 <= self.count <= MAX_ARRIVALS, "count must be 1 to {}, is {}", MAX_ARRIVALS, self.count)


@op("nvgpu.mbarrier.arrive")
class MBarrierArrive(Op):
    """One arrival of each thread whose `pred` holds; what it wrote before is seen by those that wait."""

    barrier = Operand(_is_shared)
    pred = OptionalOperand(_is_i1)
    effect = WRITE


@op("nvgpu.mbarrier.arrive.expect_tx")
class MBarrierArriveExpectTx(Op):
    """One arrival that also makes the phase wait for `txcount` more bytes of asynchronous copies."""

    barrier = Operand(_is_shared)
    pred = OptionalOperand(_is_i1)
    txcount = Attr(int)
    effect = WRITE

    def verify(self) -> None:
        """A byte count in range."""
        self.expect(0 <= self.txcount <= MAX_TX_BYTES, "txcount must be 0 to {}, is {}", MAX_TX_BYTES, self.txcount)


@op("nvgpu.mbarrier.try_wait.parity")
class MBarrierTryWaitParity(Op):
    """Waits until the phase of this parity has completed: a fresh barrier passes parity 1 and blocks on parity 0."""

    barrier = Operand(_is_shared)
    parity = Operand(_is_i32)
    effect = WRITE


@op("nvgpu.mbarrier.cp_async_arrive")
class MBarrierCpAsyncArrive(Op):
    """One arrival, counted among those of mbarrier.init, when all earlier cp.async of the thread have completed."""

    barrier = Operand(_is_shared)
    effect = WRITE


# Tensor copies


def _verify_coordinates(op: Op, count: int) -> None:
    op.expect(1 <= count <= MAX_TENSOR_RANK, "needs 1 to {} coordinates, has {}", MAX_TENSOR_RANK, count)


@op("nvgpu.tma.async.load")
class TmaLoad(Op):
    """One thread copies the box at `coordinates` (elements, innermost first) into shared memory, densely.

    Elements out of bounds arrive as zeros; all bytes of the box count towards the barrier's tx-count. `dst` is aligned
    to 128 bytes, and to the swizzle atom (8 times the swizzle span) of the map.
    """

    dst = Operand(_is_shared)
    barrier = Operand(_is_shared)
    descriptor = Operand(_is_map)
    coordinates = Variadic(_is_i32)
    pred = OptionalOperand(_is_i1)
    effect = WRITE

    def verify(self) -> None:
        """One to five coordinates."""
        _verify_coordinates(self, len(self.coordinates))


@op("nvgpu.tma.async.store")
class TmaStore(Op):
    """One thread copies a dense box from shared memory to `coordinates`; elements out of bounds are not written.

    Completion is that of the bulk group which the thread commits next.
    """

    src = Operand(_is_shared)
    descriptor = Operand(_is_map)
    coordinates = Variadic(_is_i32)
    pred = OptionalOperand(_is_i1)
    effect = WRITE

    def verify(self) -> None:
        """One to five coordinates."""
        _verify_coordinates(self, len(self.coordinates))


@op("nvgpu.tma.commit")
class TmaCommit(Op):
    """Closes the bulk group of the thread's stores since the last one."""

    effect = CONTROL


@op("nvgpu.tma.wait")
class TmaWait(Op):
    """Waits until at most `pending` of the thread's bulk groups are unfinished; `read`: until their source was read."""

    pending = Attr(int, 0)
    read = flag()
    effect = CONTROL


@op("nvgpu.tma.prefetch.descriptor")
class TmaPrefetchDescriptor(Op):
    """Brings a tensor map into the descriptor cache."""

    descriptor = Operand(_is_map)
    pred = OptionalOperand(_is_i1)
    effect = WRITE


# Fences and roles


@op("nvgpu.fence.proxy.async")
class FenceProxyAsync(Op):
    """Orders the thread's accesses to shared memory before those that wgmma and tensor copies make for it.

    `everywhere`: its accesses to global memory too.
    """

    everywhere = flag()
    effect = WRITE


@op("nvgpu.fence.mbarrier_init")
class FenceMBarrierInit(Op):
    """Makes mbarrier.init visible to asynchronous copies and to the cluster."""

    effect = WRITE


@op("nvgpu.setmaxnreg")
class SetMaxNReg(Op):
    """All warps of a warpgroup give back ("dec") or wait for ("inc") registers, so that each thread has `count`."""

    action = Attr(str)
    count = Attr(int)
    effect = WRITE

    def verify(self) -> None:
        """Source of the limits: PTX ISA 8.8, setmaxnreg."""
        self.expect(self.action in ("inc", "dec"), "action must be inc or dec, is {}", self.action)
        legal = 24 <= self.count <= 256 and self.count % 8 == 0
        self.expect(legal, "count must be a multiple of 8 from 24 to 256, is {}", self.count)


@op("nvgpu.elect")
class Elect(Op):
    """True in one lane of the warp, the same at every execution; all 32 lanes take part."""

    result = Result(_is_i1)
    effect = WRITE  # convergent


@op("nvgpu.named_barrier")
class NamedBarrier(Op):
    """`threads` threads (whole warps) of the block meet at barrier `id`; 0 is the one of gpu.barrier."""

    id = Attr(int)
    threads = Attr(int)
    effect = WRITE

    def verify(self) -> None:
        """A barrier that the hardware has and whole warps."""
        self.expect(0 <= self.id < MAX_BARRIERS, "id must be 0 to {}, is {}", MAX_BARRIERS - 1, self.id)
        self.expect(self.threads > 0 and self.threads % 32 == 0, "threads must be whole warps, is {}", self.threads)


# Warpgroup matrix products


@op("nvgpu.warpgroup.fence")
class WarpgroupFence(Op):
    """Orders register and shared-memory accesses before the warpgroup's next products; needed before the first one.

    And whenever accumulators or a register operand were written by other instructions.
    """

    effect = WRITE


@op("nvgpu.warpgroup.commit")
class WarpgroupCommit(Op):
    """Closes the group of the warpgroup's products since the last one."""

    effect = WRITE


@op("nvgpu.warpgroup.wait")
class WarpgroupWait(Op):
    """Waits until at most `pending` groups are unfinished.

    `values` (accumulators, register operands) come out as results in the same registers: what reads the results stands
    behind the wait, and the registers are not reused before it. No instruction moves them.
    """

    values = Variadic()
    pending = Attr(int, 0)
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """Results are the operands, passed through."""
        self.expect(0 <= self.pending <= 7, "pending must be 0 to 7, is {}", self.pending)  # PTX ISA, wgmma.wait_group
        types = [v.type for v in self.values]
        self.expect([r.type for r in self.results] == types, "results must have the types of the operands")


@op("nvgpu.warpgroup.mma")
class WarpgroupMma(Op):
    """D (64 x n) = A (64 x k) * B (k x n) + D by four warps, asynchronously; `shape` is (64, n, k).

    `a` and `b` are matrix descriptors (i64); `a` may instead be the fragment of mma.sync (vector<4x2xf16>, 4x1xf32 of
    tf32 or 4x4 of bytes), warp w holding rows 16 w to 16 w + 15. `accumulators`: n/8 groups vector<2x2xf32>, updated in
    place: operand i and result i share their registers. `scale_d` false: D = A * B, the accumulators are not read.
    `negated`: D = D - A * B, not of bytes. `trans_a`, `trans_b`: the operand is MN-major in shared memory (f16 and bf16
    only). Element types: f16, bf16, tf32, e4m3, e5m2, s8, u8; the accumulators of f16 and f8 may be f16, those of bytes
    are i32. Source: PTX ISA 8.8, wgmma.mma_async.
    """

    a = Operand()
    b = Operand(lambda t: t == I64)
    scale_d = OptionalOperand(_is_i1)
    accumulators = Variadic(lambda t: t in WGMMA_D)
    shape: Attr[tuple[int, ...]] = Attr(tuple)
    type_a = Attr(str)
    type_b = Attr(str)
    negated = flag()
    trans_a = flag()
    trans_b = flag()
    out = VariadicResult()
    effect = WRITE

    def verify(self) -> None:
        """A shape that exists, accumulators of its size, transposition only where PTX has it."""
        self.expect(len(self.shape) == 3, "shape must be (m, n, k), is {}", self.shape)
        m, n, k = self.shape
        self.expect(self.type_a in WGMMA_K, "no wgmma of {}; there are {}", self.type_a, sorted(WGMMA_K))
        mixed = {self.type_a, self.type_b} in ({"e4m3", "e5m2"}, {"s8", "u8"})
        self.expect(self.type_a == self.type_b or mixed, "no wgmma of {} and {}", self.type_a, self.type_b)
        columns = BYTE_N if self.type_a in ("s8", "u8") else WGMMA_N
        legal = m == WGMMA_M and n in columns and k == WGMMA_K[self.type_a]
        self.expect(legal, "no wgmma m{}n{}k{} of {}: m is 64, n {}, {}, ..., 256, k {}", m, n, k, self.type_a,
                    *columns[:2], WGMMA_K[self.type_a])  # fmt: skip
        self.expect(columns is WGMMA_N or not self.negated, "{} operands cannot be negated", self.type_a)
        groups = len(self.accumulators)
        self.expect(groups == n // 8, "n = {} needs {} accumulator groups, has {}", n, n // 8, groups)
        kind = self.accumulators[0].type
        self.expect([r.type for r in self.results] == [kind] * groups, "results must be the accumulators")
        self.expect(self.type_a in WGMMA_D[kind], "no wgmma of {} into {}", self.type_a, kind)
        halves = self.type_a in ("f16", "bf16")
        self.expect(halves or not (self.trans_a or self.trans_b), "{} operands must be K-major", self.type_a)
        if self.a.type == I64:
            return
        self.expect(not self.trans_a, "a register operand has no trans_a")
        held = byte_size(self.a.type) if isinstance(self.a.type, VectorType) else 0
        self.expect(held == 16, "a must be an i64 descriptor or a fragment of 4 registers, is {}", self.a.type)


@op("nvgpu.matrix_descriptor")
class MatrixDescriptor(Op):
    """The 64 bits that name an operand in shared memory; `lbo` and `sbo` in bytes, swizzle none, 32B, 64B or 128B.

    The address must be a multiple of 16. Advance along K or to another block by advancing `pointer` (constant and
    variable getelementptr terms that are multiples of 16 bytes cost one 32-bit addition) or by arith.addi of bytes/16.
    Source: PTX ISA 8.8, wgmma, Matrix Descriptor Format.
    """

    pointer = Operand(_is_shared)
    lbo = Attr(int, 16)
    sbo = Attr(int)
    swizzle = Attr(str)
    result = Result(lambda t: t == I64)

    def verify(self) -> None:
        """Fields in range."""
        self.expect(self.swizzle in SWIZZLES, "swizzle must be one of {}, is {}", list(SWIZZLES), self.swizzle)
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

    value = Operand(lambda t: isinstance(t, VectorType))
    ptr = Operand(_is_shared)
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
