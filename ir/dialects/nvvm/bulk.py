"""Copies of runs of bytes by the copy engine, policies of the L2 cache, tensor maps made on the device."""

from __future__ import annotations

from collections.abc import Iterator

from ir.core import WRITE, Attr, Operand, OptionalOperand, Result
from ir.instruction import (
    BARRIER,
    DOUBLE_WORD,
    GLOBAL,
    POINTER,
    REGISTER,
    SHARED,
    SM_90,
    WORD,
    Form,
    Instruction,
    Needs,
    instruction,
    state_space,
)
from ir.types import GLOBAL_PTR, I32, I64, SHARED_PTR


@instruction(
    "nvvm.cp.async.bulk.shared.cluster.global",
    "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{dstMem}], [{srcMem}], {size}, [{mbar}];",
    Needs(90, (8, 6)),
    source="PTX ISA 8.8, cp.async.bulk: .shared::cta as destination since 8.6",
)
class BulkLoad(Instruction):
    """`size` bytes from global to shared memory, all multiples of 16; they count towards the barrier's tx-count."""

    dstMem = Operand(SHARED)
    srcMem = Operand(GLOBAL)
    size = Operand(WORD)
    mbar = Operand(BARRIER)
    effect = WRITE


@instruction(
    "nvvm.cp.async.bulk.global.shared.cta",
    "cp.async.bulk.global.shared::cta.bulk_group [{dstMem}], [{srcMem}], {size};",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk",
)
class BulkStore(Instruction):
    """`size` bytes from shared to global memory, all multiples of 16, in the thread's bulk group."""

    dstMem = Operand(GLOBAL)
    srcMem = Operand(SHARED)
    size = Operand(WORD)
    effect = WRITE


@instruction(
    "nvvm.cp.async.bulk.prefetch",
    "cp.async.bulk.prefetch.L2.global [{srcMem}], {size};",
    SM_90,
    source="PTX ISA 8.8, cp.async.bulk.prefetch",
)
class BulkPrefetch(Instruction):
    """Brings `size` bytes into the L2 cache."""

    srcMem = Operand(GLOBAL)
    size = Operand(WORD)
    effect = WRITE


BULK_KINDS = {
    "add": ("f16", "bf16", "f32", "f64", "u32", "s32", "u64"),
    "min": ("f16", "bf16", "u32", "s32", "u64", "s64"),
    "max": ("f16", "bf16", "u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "inc": ("u32",),
    "dec": ("u32",),
}
"""Types by operation. Source: PTX ISA 8.8, cp.reduce.async.bulk; ptxas accepts each."""


@instruction(
    "nvvm.cp.reduce.async.bulk.global.shared.cta",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [{dstMem}], [{srcMem}], {size};",
    SM_90,
    source="PTX ISA 8.8, cp.reduce.async.bulk",
)
class BulkReduce(Instruction):
    """`size` bytes of shared memory combined into global memory, element by element."""

    dstMem = Operand(GLOBAL)
    srcMem = Operand(SHARED)
    size = Operand(WORD)
    kind = Attr(str, among=tuple(BULK_KINDS))
    type = Attr(str)
    effect = WRITE

    @property
    def operation(self) -> str:
        """Operation and type; sums of halves keep subnormal numbers."""
        flush = ".noftz" if self.kind == "add" and self.type in ("f16", "bf16") else ""
        return f"{self.kind}{flush}.{self.type}"

    def verify(self) -> None:
        """A type that the operation supports."""
        kinds = BULK_KINDS[self.kind]
        self.expect(self.type in kinds, "no {} of {}; there are {}", self.kind, self.type, kinds)

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every operation and type."""
        for kind, types in BULK_KINDS.items():
            for type_ in types:
                yield Form(((GLOBAL_PTR,), (SHARED_PTR,), (I32,)), (), {"kind": kind, "type": type_})


EVICTIONS = ("", "evict_last", "evict_normal", "evict_first", "evict_unchanged")
"""Eviction priority of an L2 cache line relative to others; empty: the default. Source: PTX ISA 8.8, createpolicy."""


@instruction(
    "nvvm.createpolicy.fractional",
    "createpolicy.fractional.L2::{primary}.b64 {result}, 1.0;",
    Needs(80, (7, 4)),
    source="PTX ISA 8.8, createpolicy",
)
class CreatePolicy(Instruction):
    """A policy of the L2 cache for the accesses that take it as a hint."""

    primary = Attr(str, among=EVICTIONS[1:])
    result = Result(DOUBLE_WORD)


@instruction(
    "nvvm.st.async",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b{bits} [{addr}], {value:register}, [{mbar}];",
    Needs(90, (8, 1)),
    source="PTX ISA 8.8, st.async",
)
class StAsync(Instruction):
    """Store a register to the shared memory of a CTA of the cluster; its bytes count towards the barrier there."""

    addr = Operand(SHARED)
    value = Operand(REGISTER)
    mbar = Operand(BARRIER)
    effect = WRITE

    @property
    def bits(self) -> int:
        """Size of the value."""
        return 64 if self.value.type == I64 else 32

    def verify(self) -> None:
        """Words and double words."""
        self.expect(self.value.type in (I32, I64), "value must be i32 or i64, is {}", self.value.type)


REPLACED = {
    "global_address": "b64",
    "rank": "b32",
    "box_dim": "b32",
    "global_dim": "b32",
    "global_stride": "b64",
    "element_stride": "b32",
    "elemtype": "b32",
    "interleave_layout": "b32",
    "swizzle_mode": "b32",
    "fill_mode": "b32",
}
"""Field of a tensor map -> its type. Source: PTX ISA 8.8, tensormap.replace."""
ORDINAL = ("box_dim", "global_dim", "global_stride", "element_stride")
NUMBERED = ("elemtype", "interleave_layout", "swizzle_mode", "fill_mode")
TENSORMAP = Needs(90, (8, 3), frozenset({"sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"}))


@instruction(
    "nvvm.tensormap.replace", "", TENSORMAP, source="PTX ISA 8.8, tensormap.replace", seed="nvgpu.tensormap.update"
)
class TensorMapReplace(Instruction):
    """One field of a tensor map in memory; `ordinal` is the dimension. `rank` is one less than the rank."""

    addr = Operand(POINTER)
    value = OptionalOperand(REGISTER)
    field = Attr(str, among=tuple(REPLACED))
    ordinal = Attr(int, 0, least=0, most=4)
    number = Attr(int, 0, least=0)
    effect = WRITE

    @property
    def space(self) -> str:
        """The memory that holds the map."""
        return "shared::cta" if state_space(self.addr) == "shared" else "global"

    @property
    def type(self) -> str:
        """PTX's type of the field."""
        return REPLACED[self.field]

    @property
    def text(self) -> str:
        """Enumerations are immediates, all others registers."""
        value = "{number}" if self.field in NUMBERED else "{ordinal}, {value}" if self.field in ORDINAL else "{value}"
        return f"tensormap.replace.tile.{{field}}.{{space}}.b1024.{{type}} [{{addr}}], {value};"

    def verify(self) -> None:
        """A number for enumerations, a register of the field's size for others."""
        given = None if self.value is None else self.value.type
        wanted = None if self.field in NUMBERED else I64 if self.type == "b64" else I32
        self.expect(given == wanted, "{} expects {}, got {}", self.field, wanted or "a number", given or "a number")

    @classmethod
    def forms(cls) -> Iterator[Form]:
        """Every field in both memories."""
        for field, kind in REPLACED.items():
            value = () if field in NUMBERED else (I64,) if kind == "b64" else (I32,)
            for pointer in (GLOBAL_PTR, SHARED_PTR):
                yield Form(((pointer,), value), (), {"field": field})


@instruction(
    "nvvm.tensormap.cp_fenceproxy",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{scope}.sync.aligned [{dst}], [{src}], 128;",
    Needs(90, (8, 3)),
    source="PTX ISA 8.8, tensormap.cp_fenceproxy",
    seed="nvgpu.tensormap.create.descriptor",
)
class TensorMapPublish(Instruction):
    """A warp copies a tensor map from shared to global memory and releases it to tensor copies."""

    dst = Operand(GLOBAL)
    src = Operand(SHARED)
    scope = Attr(str, "gpu", among=("cta", "cluster", "gpu", "sys"))
    effect = WRITE
