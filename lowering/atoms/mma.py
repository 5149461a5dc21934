"""Matrix instructions as records: shape, types, fragments, mnemonic. Adding one is adding a record to `MMA_ATOMS`."""

from __future__ import annotations

from typing import NamedTuple

from ir.dataclass import dataclass
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, TF32, FloatType
from lowering.targets.target import Feature, Target

Pairs = tuple[tuple[int, int], ...]
WARP = 32


class Fragment(NamedTuple):
    """Operand map of one warp: bit k of the lane (of the element register) adds, by XOR, these (row, col) bits."""

    lane: Pairs
    reg: Pairs


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """One instruction: c[M x N] += a[M x K] @ b[K x N].

    Fragments map to (row, col) of the M x K, K x N and M x N operands and count elements, not b32 registers; elements
    narrower than 32 bits are packed in one register from the low register bits. `dtypes` are of A, B and C. `ptx` is
    the mnemonic; `negates` names the operands whose sign costs nothing.
    """

    name: str
    shape: tuple[int, int, int]
    dtypes: tuple[FloatType, FloatType, FloatType]
    features: frozenset[Feature]
    a: Fragment
    b: Fragment
    c: Fragment
    ptx: str
    source: str
    threads: int = WARP
    negates: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        m, n, k = self.shape
        for fragment, rows, cols in ((self.a, m, k), (self.b, k, n), (self.c, m, n)):
            if self.threads == WARP and WARP << len(fragment.reg) != rows * cols:
                raise ValueError(f"{self.name}: a fragment holds {WARP << len(fragment.reg)} of {rows}x{cols} elements")

    def __str__(self) -> str:
        return self.name

    @property
    def operand_registers(self) -> tuple[int, int, int]:
        """b32 registers of A, B and C of one thread."""
        widths = [t.width for t in self.dtypes]
        counts = [1 << len(f.reg) for f in (self.a, self.b, self.c)]
        a, b, c = (max(1, count * width // 32) for count, width in zip(counts, widths, strict=True))
        return a, b, c

    @property
    def flops(self) -> int:
        """Floating-point operations of one instruction over all its threads, a multiply-add counting as two."""
        m, n, k = self.shape
        return 2 * m * n * k * (1 if self.threads == WARP else WARP)

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles that one warp-wide instruction keeps its pipe busy."""
        if self.threads == 1:
            return WARP / target.throughput.fma_f32
        return self.flops / target.throughput.tensor[self.dtypes[0].name]


def _warp_fragments(element_bits: int, k: int) -> tuple[Fragment, Fragment, Fragment]:
    """A, B and C of m16n8: g = lane >> 2, t = lane & 3, e elements a b32 register.

    A: row g + 8 (r & 1), k = 4e (r >> 1) + e t + w. B: k = 4e r + e t + w, n = g. C: row g + 8 (i >> 1), 2t + (i & 1).
    """
    e = 32 // element_bits
    inside = [1 << x for x in range(e.bit_length() - 1)]
    blocks = [4 * e << x for x in range((k // (4 * e)).bit_length() - 1)]
    a_lane = ((0, e), (0, 2 * e), (1, 0), (2, 0), (4, 0))
    a_reg = (*((0, x) for x in inside), (8, 0), *((0, x) for x in blocks))
    b_lane = ((e, 0), (2 * e, 0), (0, 1), (0, 2), (0, 4))
    b_reg = tuple((x, 0) for x in inside + blocks)
    c_lane = ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
    return Fragment(a_lane, a_reg), Fragment(b_lane, b_reg), Fragment(c_lane, ((0, 1), (8, 0)))


def _mma_sync(k: int, a: FloatType, b: FloatType, ptx_types: str, feature: Feature) -> MmaAtom:
    fragments = _warp_fragments(a.width, k)
    return MmaAtom(
        f"mma.sync.m16n8k{k}.{ptx_types}",
        (16, 8, k),
        (a, b, F32),
        frozenset({feature}),
        *fragments,
        ptx=f"mma.sync.aligned.m16n8k{k}.row.col.f32.{ptx_types}.f32",
        source="PTX ISA, matrix fragments for mma; ptx.md section 3 (compared at 142 272 points)",
    )


MMA_M16N8K16_F16 = _mma_sync(16, F16, F16, "f16.f16", Feature.MMA_SYNC)
MMA_M16N8K16_BF16 = _mma_sync(16, BF16, BF16, "bf16.bf16", Feature.MMA_SYNC)
MMA_M16N8K8_TF32 = _mma_sync(8, TF32, TF32, "tf32.tf32", Feature.MMA_SYNC)
MMA_M16N8K32_E4M3 = _mma_sync(32, F8E4M3FN, F8E4M3FN, "e4m3.e4m3", Feature.MMA_FP8)
MMA_M16N8K32_E5M2 = _mma_sync(32, F8E5M2, F8E5M2, "e5m2.e5m2", Feature.MMA_FP8)

_ONE = Fragment(((0, 0),) * 5, ())
FMA_F32 = MmaAtom(
    name="fma.rn.f32",
    shape=(1, 1, 1),
    dtypes=(F32, F32, F32),
    features=frozenset(),
    a=_ONE,
    b=_ONE,
    c=_ONE,
    ptx="fma.rn.f32",
    source="PTX ISA, fma; SASS FFMA negates any operand, so ptxas folds a neg.f32 into it",
    threads=1,
    negates=frozenset({"a", "b", "c"}),
)

MMA_ATOMS: tuple[MmaAtom, ...] = (
    MMA_M16N8K16_F16,
    MMA_M16N8K16_BF16,
    MMA_M16N8K8_TF32,
    MMA_M16N8K32_E4M3,
    MMA_M16N8K32_E5M2,
    FMA_F32,
)


def atoms_for(target: Target, a: FloatType, b: FloatType, c: FloatType) -> list[MmaAtom]:
    """The matrix instructions of a target for these operand and accumulator types."""
    return [atom for atom in MMA_ATOMS if atom.dtypes == (a, b, c) and atom.legal(target)]
