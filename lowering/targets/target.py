"""What a target offers: limits and throughput, each number with its source; features, which follow from the minimum
targets of instructions (`lowering.targets.features`). Each tier has a file next to this one; nothing else in the
compiler may test an architecture by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache

from ir.records import dataclass
from lowering.targets.features import Feature, features_of

KIB = 1024
RESERVED = KIB
"""Bytes of shared memory reserved for each CTA; an SM has this many more than the `smem_bytes` that one CTA may
use. Source: CUDA C++ Programming Guide, compute capabilities, shared memory.
"""
MAP_WORDS = 16
"""Bytes of shared memory in which a kernel that builds its tensor maps keeps their address and that of their flag."""
LEAST_WARPS = 4  # of a CTA that we generate: one warpgroup
RESIDENT = 4  # resident warps of a scheduler, an estimate: as many as fit with 128 registers a thread
WARP = 32  # threads a warp on every target; PTX ISA, WARP_SZ


class Limit(int):
    """A whole number of a target that carries its source."""

    source: str

    def __new__(cls, value: int, source: str) -> Limit:
        """A value and its source."""
        limit = super().__new__(cls, value)
        limit.source = source
        return limit


class Rate(float):
    """A throughput per SM and cycle that carries its source."""

    source: str

    def __new__(cls, value: float, source: str) -> Rate:
        """A value and its source."""
        rate = super().__new__(cls, value)
        rate.source = source
        return rate


NO_TMEM = Limit(0, "PTX ISA: tensor memory belongs to tcgen05 targets")


REDUX = Rate(16, "CUDA C++ Best Practices Guide 13, section 12.1.1: warp-wide reductions, compute capability 8.x, 9.0")


PAIR_SPLIT = Rate(2, "SASS of ptxas 13.5 for sm_110a and sm_120a: two FFMA")
PAIR_WHOLE = Rate(1, "SASS of ptxas 13.5 for sm_100a and sm_103a: one FFMA2, FADD2 or FMUL2")
ALL_OF_IT = Rate(1, "mma.sync is the only one")
F8_WHOLE = Rate(0, "SASS of ptxas 13.5 for sm_89, sm_120a and sm_121a: one QMMA")
F8_HALVES = Rate(
    4, "SASS of ptxas 13.5 for sm_90a, sm_100a, sm_103a and sm_110a: two HMMA of f16, 4 FADD, F2FP of operands"
)
EXTREMUM_SPLIT = Rate(4, "SASS of ptxas 13.5 for sm_120a and sm_121a: two FMNMX between two RPCMOV")
EXTREMUM_WHOLE = Rate(1, "SASS of ptxas 13.5 for sm_100a, sm_103a and sm_110a: one FMNMX3")


@dataclass(frozen=True, slots=True)
class Throughput:
    """Per SM and cycle: results of scalar instructions, bytes of memory, dense floating-point operations of MMA.

    `tensor` counts a multiply-add as two operations, by the operand type's name. `pair_slots`: instructions that one of
    f32x2 becomes, `extremum_slots`: one min or max of three. `sync_share`: the part of `tensor` that mma.sync reaches.
    `tmem_bytes`: tensor memory to or from registers; 0 without tensor memory.
    `f8_adds`: if not 0, ptxas makes an mma.sync of f8 into two of f16 plus this many additions.
    """

    issue: Rate
    smem_bytes: Rate
    global_bytes: Rate
    fma_f32: Rate
    fma_f16: Rate
    fma_f64: Rate
    int_add: Rate
    int_mul: Rate
    mufu: Rate
    shuffle: Rate
    load_store: Rate
    convert: Rate
    tensor: Mapping[str, Rate]
    redux: Rate = REDUX
    pair_slots: Rate = PAIR_SPLIT
    extremum_slots: Rate = EXTREMUM_SPLIT
    sync_share: Rate = ALL_OF_IT
    f8_adds: Rate = F8_WHOLE
    tmem_bytes: Rate = Rate(0, str(NO_TMEM.source))


@dataclass(frozen=True, slots=True)
class Latency:
    """Cycles from issue to use."""

    alu: Rate
    shared: Rate
    global_: Rate
    mma: Rate
    barrier: Rate
    shuffle: Rate

    @property
    def exchange(self) -> float:
        """Latency that a step of shuffles costs in addition to its instructions: the share of one of `RESIDENT`
        warps.
        """
        return self.shuffle / RESIDENT


PORTABLE = 8  # CTAs of a cluster that every GPU with clusters takes; CUDA C++ Programming Guide, thread block clusters


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One SM tier; `ptx_version` is what the printer emits, `smem_bytes` the dynamic shared memory a CTA may have.

    Compared by identity, because there is one record for each tier and each share of it: cheap to hash as a cache key.
    """

    name: str
    ptx_version: tuple[int, int]
    smem_bytes: Limit
    registers_per_thread: Limit
    registers_per_sm: Limit
    threads_per_cta: Limit
    warps_per_sm: Limit
    ctas_per_sm: Limit
    throughput: Throughput
    latency: Latency
    tmem_columns: Limit = NO_TMEM
    features: frozenset[Feature] = field(init=False, repr=False)
    asked_ctas: int = 0  # CTAs an SM that a kernel requests, 0 if unspecified; the limits are those of its share
    asked_warps: int = 0  # consumer warps of a CTA that it requests
    asked_cluster: int = 1  # CTAs of a tile block that it requests
    asked_maps: bool = False  # does the kernel build its tensor maps itself?

    @cache  # noqa: B019 - targets are few and live as long as the process
    def asked(self, warps: int, cluster: int) -> Target:
        """The target as a kernel requests it: consumer warps, 0 if unspecified, and CTAs of a cluster."""
        same = (warps, cluster) == (self.asked_warps, self.asked_cluster)
        return self if same else replace(self, asked_warps=warps, asked_cluster=cluster)

    @cache  # noqa: B019 - as above
    def shared_by(self, ctas: int) -> Target:
        """The share of an SM of one of `ctas` CTAs. Each CTA takes `RESERVED` more shared memory than it can use."""
        ctas = max(1, min(ctas, int(self.warps_per_sm) // LEAST_WARPS))
        shared = (int(self.smem_bytes) + RESERVED) // ctas - RESERVED
        return replace(
            self,
            asked_ctas=ctas,
            smem_bytes=Limit(shared, self.smem_bytes.source),
            registers_per_sm=Limit(int(self.registers_per_sm) // ctas, self.registers_per_sm.source),
        )

    @cache  # noqa: B019 - as above
    def making_maps(self) -> Target:
        """The same for kernels that build their tensor maps, in `MAP_WORDS` additional bytes of shared memory."""
        limit = Limit(int(self.smem_bytes) - MAP_WORDS, self.smem_bytes.source)
        return replace(self, asked_maps=True, smem_bytes=limit)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", features_of(self.name))

    def has(self, feature: Feature) -> bool:
        """Does the target accept this instruction family?"""
        return feature in self.features

    def __str__(self) -> str:
        return self.name
