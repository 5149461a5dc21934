"""Asynchronous copies between global and shared memory: cp.async of a thread, tensor copies of a box (TMA)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from ir.core import CONTROL, WRITE, Attr, Operand, OptionalOperand, Value, Variadic, flag
from ir.dialects.nvvm.tensor import TCGEN05
from ir.instruction import (
    BARRIER,
    DOUBLE_WORD,
    GLOBAL,
    HALF_WORD,
    MAP,
    PREDICATE,
    SHARED,
    SM_80,
    SM_90,
    WORD,
    Form,
    Instruction,
    Needs,
    instruction,
)
from ir.types import I1, I16, I32, I64, SHARED_PTR, TENSOR_MAP, Type
from ir.upstream import unit, width

MAX_TENSOR_RANK = 5  # PTX ISA, cp.async.bulk.tensor


@instruction(
    "nvvm.cp.async.shared.global",
    "@{predicate} cp.async.{modifier}.shared.global [{dst}], [{src}], {size}, {cpSize};",
    SM_80,
    source="PTX ISA 8.8, cp.async",
    seed="nvgpu.device_async_copy",
)
class CpAsyncSharedGlobal(Instruction):
    """Copy `size` bytes from global to shared memory; only `cpSize` are read and the rest are zeros. cg bypasses L1."""

    dst = Operand(SHARED)
    src = Operand(GLOBAL)
    cpSize = OptionalOperand(WORD)
    predicate = OptionalOperand(PREDICATE)
    size = Attr(int, among=(4, 8, 16))
    modifier = Attr(str, "ca", among=("ca", "cg"))
    effect = WRITE

    def verify(self) -> None:
        """Only copies of 16 bytes bypass L1."""
        self.expect(self.modifier == "ca" or self.size == 16, "modifier cg needs 16 bytes, has {}", self.size)


@instruction(
    "nvvm.cp.async.commit.group",
    "cp.async.commit_group;",
    SM_80,
    source="PTX ISA 8.8, cp.async.commit_group",
    seed="nvgpu.device_async_create_group",
    upstream=True,
)
class CpAsyncCommitGroup(Instruction):
    """Closes the group of the thread's copies since the last one."""

    effect = CONTROL


@instruction(
    "nvvm.cp.async.wait.group",
    "cp.async.wait_group {n};",
    SM_80,
    source="PTX ISA 8.8, cp.async.wait_group",
    seed="nvgpu.device_async_wait",
    upstream=True,
)
class CpAsyncWaitGroup(Instruction):
    """Waits until at most `n` of the thread's groups are in flight."""

    n = Attr(int, form=width(32), least=0)
    effect = CONTROL


def _ranks(groups: Callable[[tuple[Type, ...], tuple[Type, ...]], tuple[tuple[Type, ...], ...]]) -> Iterator[Form]:
    """Every rank, with a predicate and without; `groups` of coordinates and predicate."""
    for rank in range(1, MAX_TENSOR_RANK + 1):
        for guard in ((), (I1,)):
            yield Form(groups((I32,) * rank, guard), (), {})


class TensorCopy(Instruction):
    """Shape shared by tensor copies: each has a group of `coordinates`, at its own position among the operands."""

    @property
    def rank(self) -> int:
        """Number of the coordinates."""
        return len(cast("list[Value]", getattr(self, "coordinates")))  # noqa: B009 (declared by each class)

    def verify(self) -> None:
        """One to five coordinates."""
        legal = 1 <= self.rank <= MAX_TENSOR_RANK
        self.expect(legal, "needs 1 to {} coordinates, has {}", MAX_TENSOR_RANK, self.rank)


class FourRows(TensorCopy):
    """Shape shared by copies of four rows of a matrix."""

    def verify(self) -> None:
        """A column and four rows."""
        self.expect(self.rank == 5, "needs a column and four rows, has {}", self.rank)


@instruction(
    "nvvm.cp.async.bulk.tensor.shared.cluster.global",
    "@{predicate} cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes{hinted} "
    "[{dstMem}], [{tmaDescriptor:register}, {coordinates:list}], [{mbar}], {l2CacheHint:register};",
    Needs(90, (8, 6)),
    source="PTX ISA 8.8, cp.async.bulk.tensor: .shared::cta as destination since 8.6. For .shared::cluster ptxas 13.5 "
    "asks before each copy on sm_120a whether the address is another CTA's, and calls a function where it is (36 "
    "instructions, 8 bytes of stack)",
    seed="nvgpu.tma.async.load",
)
class TensorLoad(TensorCopy):
    """One thread copies the box at `coordinates` (elements, innermost first) into shared memory, densely.

    Elements out of bounds arrive as zeros; all bytes of the box count towards the barrier's tx-count. `dstMem` is
    aligned to 128 bytes, and to the swizzle atom (8 times the swizzle span) of the map.
    """

    dstMem = Operand(SHARED)
    tmaDescriptor = Operand(MAP)
    coordinates = Variadic(WORD)
    mbar = Operand(BARRIER)
    l2CacheHint = OptionalOperand(DOUBLE_WORD)
    predicate = OptionalOperand(PREDICATE)
    effect = WRITE

    @property
    def hinted(self) -> str:
        """The suffix of a cache policy."""
        return "" if self.l2CacheHint is None else ".L2::cache_hint"

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every rank, with a predicate and without, and a policy."""
        yield from _ranks(lambda places, guard: ((SHARED_PTR,), (TENSOR_MAP,), places, (SHARED_PTR,), (), guard))
        yield Form(((SHARED_PTR,), (TENSOR_MAP,), (I32, I32), (SHARED_PTR,), (I64,), ()), (), {})


@instruction(
    "nvvm.cp.async.bulk.tensor.global.shared.cta",
    "@{predicate} cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group "
    "[{tmaDescriptor:register}, {coordinates:list}], [{srcMem}];",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.tensor",
    seed="nvgpu.tma.async.store",
)
class TensorStore(TensorCopy):
    """One thread copies a dense box from shared memory to `coordinates`; elements out of bounds are not written.

    It completes with the bulk group that the thread commits next.
    """

    tmaDescriptor = Operand(MAP)
    srcMem = Operand(SHARED)
    coordinates = Variadic(WORD)
    predicate = OptionalOperand(PREDICATE)
    effect = WRITE

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every rank, with a predicate and without."""
        return _ranks(lambda places, guard: ((TENSOR_MAP,), (SHARED_PTR,), places, guard))


@instruction(
    "nvvm.cp.async.bulk.commit.group",
    "cp.async.bulk.commit_group;",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.commit_group",
    upstream=True,
)
class BulkCommitGroup(Instruction):
    """Closes the bulk group of the thread's stores since the last one."""

    effect = CONTROL


@instruction(
    "nvvm.cp.async.bulk.wait_group",
    "cp.async.bulk.wait_group{read?.read} {group};",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.wait_group",
    upstream=True,
)
class BulkWaitGroup(Instruction):
    """Waits until at most `group` of the thread's bulk groups are unfinished; `read`: until their sources have
    been read.
    """

    group = Attr(int, form=width(32), least=0)
    read = flag(form=unit("read"))
    effect = CONTROL


@instruction(
    "nvvm.prefetch",
    "@{predicate} prefetch.tensormap [{addr:register}];",
    SM_90,
    source="PTX ISA 8.8, prefetch",
    seed="nvgpu.tma.prefetch.descriptor",
)
class PrefetchTensorMap(Instruction):
    """Brings a tensor map into the descriptor cache."""

    addr = Operand(MAP)
    predicate = OptionalOperand(PREDICATE)
    effect = WRITE


# Tensor copies in all modes


@instruction(
    "nvvm.cp.async.bulk.tensor.shared.cluster.global.multicast",
    "@{predicate} cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{options} "
    "[{dstMem}], [{tmaDescriptor:register}, {coordinates:list}], [{mbar}], {multicastMask:register}, "
    "{l2CacheHint:register};",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.tensor",
    seed="nvgpu.tma.async.load",
)
class TensorLoadCluster(TensorCopy):
    """A tensor copy into the CTAs that `multicastMask` names, at the same offset in each, with a policy of the L2
    cache.

    Each CTA's barrier at the offset of `mbar` counts the bytes. Without a mask, the destination is the CTA that
    contains `dstMem`. `paired` (.cta_group::2): in the pair of each of these CTAs, the bytes are counted by the barrier
    of the CTA whose rank has the parity of that of `mbar`'s CTA.
    """

    dstMem = Operand(SHARED)
    tmaDescriptor = Operand(MAP)
    coordinates = Variadic(WORD)
    mbar = Operand(BARRIER)
    multicastMask = OptionalOperand(HALF_WORD)
    l2CacheHint = OptionalOperand(DOUBLE_WORD)
    predicate = OptionalOperand(PREDICATE)
    paired = flag()
    effect = WRITE

    @property
    def options(self) -> str:
        """Suffixes of the optional operands, and of a pair's."""
        multicast = "" if self.multicastMask is None else ".multicast::cluster"
        group = ".cta_group::2" if self.paired else ""
        return multicast + group + ("" if self.l2CacheHint is None else ".L2::cache_hint")

    def needs(self) -> Needs:
        """Pairs are those of tensor memory."""
        return TCGEN05 if self.paired else self.floor

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every rank with neither, each and both of the options; for a pair those of a matrix."""
        for rank in range(1, MAX_TENSOR_RANK + 1):
            for mask in ((), (I16,)):
                for hint in ((), (I64,)):
                    plain = ((SHARED_PTR,), (TENSOR_MAP,), (I32,) * rank, (SHARED_PTR,), mask, hint, ())
                    yield from (Form(plain, (), more) for more in ({}, {"paired": True})[: 1 + (rank == 2)])


@instruction(
    "nvvm.cp.async.bulk.tensor.shared.cta.global.im2col",
    "cp.async.bulk.tensor.{rank}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
    "[{dstMem}], [{tmaDescriptor:register}, {coordinates:list}], [{mbar}], {offsets:vector};",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.tensor, im2col mode",
    seed="nvgpu.tma.async.load",
)
class TensorLoadIm2col(TensorCopy):
    """A tensor copy of the pixels that a convolution filter covers; `offsets` of the filter by dimension."""

    dstMem = Operand(SHARED)
    tmaDescriptor = Operand(MAP)
    coordinates = Variadic(WORD)
    mbar = Operand(BARRIER)
    offsets = Variadic(HALF_WORD)
    effect = WRITE

    def verify(self) -> None:
        """Three to five coordinates, two offsets fewer."""
        self.expect(3 <= self.rank <= MAX_TENSOR_RANK, "im2col needs 3 to 5 coordinates, has {}", self.rank)
        self.expect(len(self.offsets) == self.rank - 2, "needs {} offsets, has {}", self.rank - 2, len(self.offsets))

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every rank."""
        for rank in range(3, MAX_TENSOR_RANK + 1):
            places = ((SHARED_PTR,), (TENSOR_MAP,), (I32,) * rank, (SHARED_PTR,), (I16,) * (rank - 2))
            yield Form(places, (), {})


SCATTER_TARGETS = frozenset({"sm_100a", "sm_103a", "sm_110a"})
"""Targets with scatter4. Source: ptxas 13.5.37."""
GATHER = Needs(100, (8, 6))


@instruction(
    "nvvm.cp.async.bulk.tensor.shared.cta.global.gather4",
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
    "[{dstMem}], [{tmaDescriptor:register}, {coordinates:list}], [{mbar}];",
    GATHER,
    source="PTX ISA 8.8, cp.async.bulk.tensor, tile::gather4",
    seed="nvgpu.tma.async.load",
)
class TensorGather4(FourRows):
    """Four rows of a matrix into shared memory: coordinates are a column and four rows."""

    dstMem = Operand(SHARED)
    tmaDescriptor = Operand(MAP)
    coordinates = Variadic(WORD)
    mbar = Operand(BARRIER)
    effect = WRITE

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """The only one."""
        yield Form(((SHARED_PTR,), (TENSOR_MAP,), (I32,) * 5, (SHARED_PTR,)), (), {})


@instruction(
    "nvvm.cp.async.bulk.tensor.global.shared.cta.scatter4",
    "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
    "[{tmaDescriptor:register}, {coordinates:list}], [{srcMem}];",
    Needs(100, (8, 6), SCATTER_TARGETS),
    source="PTX ISA 8.8, cp.async.bulk.tensor, tile::scatter4",
    seed="nvgpu.tma.async.store",
)
class TensorScatter4(FourRows):
    """Four rows of a matrix from shared memory: coordinates are a column and four rows."""

    tmaDescriptor = Operand(MAP)
    srcMem = Operand(SHARED)
    coordinates = Variadic(WORD)
    effect = WRITE

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """The only one."""
        yield Form(((TENSOR_MAP,), (SHARED_PTR,), (I32,) * 5), (), {})


REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
"""Source: PTX ISA 8.8, cp.reduce.async.bulk.tensor, .redOp; the type is the map's."""


@instruction(
    "nvvm.cp.async.bulk.tensor.reduce",
    "@{predicate} cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta.{kind}.tile.bulk_group{hinted} "
    "[{tmaDescriptor:register}, {coordinates:list}], [{srcMem}], {l2CacheHint:register};",
    SM_90,
    source="PTX ISA 8.8, cp.reduce.async.bulk.tensor",
    seed="nvgpu.tma.async.reduce",
)
class TensorReduce(TensorCopy):
    """One thread combines a dense box of shared memory into the array at `coordinates`, element by element."""

    tmaDescriptor = Operand(MAP)
    srcMem = Operand(SHARED)
    coordinates = Variadic(WORD)
    l2CacheHint = OptionalOperand(DOUBLE_WORD)
    predicate = OptionalOperand(PREDICATE)
    kind = Attr(str, among=REDUCTIONS)
    effect = WRITE

    @property
    def hinted(self) -> str:
        """The suffix of a cache policy."""
        return "" if self.l2CacheHint is None else ".L2::cache_hint"

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every operation and rank."""
        for kind in REDUCTIONS:
            yield Form(((TENSOR_MAP,), (SHARED_PTR,), (I32, I32), (), ()), (), {"kind": kind})
        for rank in range(1, MAX_TENSOR_RANK + 1):
            yield Form(((TENSOR_MAP,), (SHARED_PTR,), (I32,) * rank, (I64,), (I1,)), (), {"kind": "add"})


@instruction(
    "nvvm.cp.async.bulk.tensor.prefetch",
    "cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile [{tmaDescriptor:register}, {coordinates:list}];",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.prefetch.tensor",
)
class TensorPrefetch(TensorCopy):
    """Brings the box at `coordinates` into the L2 cache."""

    tmaDescriptor = Operand(MAP)
    coordinates = Variadic(WORD)
    effect = WRITE

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every rank."""
        for rank in range(1, MAX_TENSOR_RANK + 1):
            yield Form(((TENSOR_MAP,), (I32,) * rank), (), {})
