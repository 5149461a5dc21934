"""Matrix instructions as records: shape, types, fragments, mnemonic. Adding one is adding a record to `MMA_ATOMS`."""

from __future__ import annotations

from typing import Any, NamedTuple

from ir.records import dataclass
from ir.types import BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, I8, I32, TF32, FloatType, IntType, Type
from lowering.targets.target import WARP, Feature, Target

Numeric = FloatType | IntType
Pairs = tuple[tuple[int, int], ...]


class Fragment(NamedTuple):
    """Operand map of one warp: bit k of the lane (of the element register) adds, by XOR, these (row, col) bits."""

    lane: Pairs
    reg: Pairs


class Scales(NamedTuple):
    """Factors of A and B, one for each block of neighbours along k: `a` maps to (row, block), `b` to (block, column).

    Selector 0 reads of A row g in lane 0 of a quad and row g + 8 in lane 1, of B column g in lane 0; the others hold
    copies. Factors of several steps of k lie in the bytes of one register, of which the instruction names one.
    """

    element: FloatType
    block: int
    kind: str
    a: Fragment
    b: Fragment

    @property
    def unsigned(self) -> bool:
        """Is a type with a sign read as one without (ue4m3)?"""
        return self.element == F8E4M3FN


@dataclass(frozen=True, slots=True)
class MmaAtom:
    """One instruction: c[M x N] += a[M x K] @ b[K x N].

    Fragments map to (row, col) of the M x K, K x N and M x N operands and count elements, not b32 registers; elements
    narrower than 32 bits are packed in one register from the low register bits. `dtypes` are of A, B and C. `ptx` is
    the mnemonic; `negates` names the operands whose sign costs nothing; `signed` says how integers of A and B are read;
    `scales` are those of a block-scaled product, which computes (a x scales) @ (b x scales).
    """

    name: str
    shape: tuple[int, int, int]
    dtypes: tuple[Numeric, Numeric, Numeric]
    features: frozenset[Feature]
    a: Fragment
    b: Fragment
    c: Fragment
    ptx: str
    source: str
    threads: int = WARP
    negates: frozenset[str] = frozenset()
    signed: tuple[bool, bool] = (True, True)
    scales: Scales | None = None

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
    def c_form(self) -> tuple[int, int]:
        """Rows and columns of the accumulator of one thread: pairs of neighbouring columns."""
        return 2 ** len(self.c.reg) // 2, 2

    @property
    def flops(self) -> int:
        """Floating-point operations of one instruction over all its threads, a multiply-add counting as two."""
        m, n, k = self.shape
        return 2 * m * n * k * (1 if self.threads == WARP else WARP)

    def scalar_rate(self, target: Target) -> float:
        """Multiply-adds of an SM in one cycle, of an atom of one thread."""
        rates = target.throughput
        return {F64: rates.fma_f64, I32: rates.int_mul}.get(self.dtypes[2], rates.fma_f32)

    def computes(self, a: Type, c: Type, signed: tuple[bool, bool]) -> bool:
        """Does this scalar atom take operands of type `a`, widened to its own, into `c`?"""
        alike = isinstance(a, IntType) == isinstance(self.dtypes[0], IntType)
        return alike and c == self.dtypes[2] and signed == self.signed

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles that one warp-wide instruction keeps its pipe busy."""
        if self.threads == 1:
            return WARP / self.scalar_rate(target)
        rates, kind = target.throughput, F16 if self.in_halves(target) else self.dtypes[0]
        share = 1.0 if kind == F64 else rates.sync_share  # nothing else multiplies f64
        return self.flops / (rates.tensor[str(kind)] * share)

    def in_halves(self, target: Target) -> bool:
        """Does ptxas make products of f8 of two of f16?"""
        return self.dtypes[0] in (F8E4M3FN, F8E5M2) and target.throughput.f8_adds > 0


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


def _mma_sync(k: int, a: FloatType, ptx_type: str, feature: Feature, c: FloatType = F32) -> MmaAtom:
    """An atom of m16n8 with operands of one type; the accumulator is named where it is not f32."""
    kinds, out = f"{ptx_type}.{ptx_type}", "f16" if c == F16 else "f32"
    return MmaAtom(
        f"mma.sync.m16n8k{k}.{kinds}" + (".f16" if c == F16 else ""),
        (16, 8, k),
        (a, a, c),
        frozenset({feature}),
        *_warp_fragments(a.width, k),
        ptx=f"mma.sync.aligned.m16n8k{k}.row.col.{out}.{kinds}.{out}",
        source="PTX ISA, matrix fragments for mma; ptx.md section 3 (compared at 142 272 points)",
    )


_SIGNS = {"s8.s8": (True, True), "s8.u8": (True, False), "u8.s8": (False, True), "u8.u8": (False, False)}


def _mma_integer(k: int, kinds: str, signed: tuple[bool, bool]) -> MmaAtom:
    """An atom on bytes; sums wrap, as without .satfinite."""
    return MmaAtom(
        f"mma.sync.m16n8k{k}.{kinds}",
        (16, 8, k),
        (I8, I8, I32),
        frozenset({Feature.MMA_SYNC}),
        *_warp_fragments(I8.width, k),
        ptx=f"mma.sync.aligned.m16n8k{k}.row.col.s32.{kinds}.s32",
        source=f"PTX ISA, matrix fragments for mma.m16n8k{k} .u8/.s8; ptx.md section 3",
        signed=signed,
    )


def _block_scaled(kind: str, k: int, a: Numeric, ptx_type: str, scale: FloatType, factors: int) -> MmaAtom:
    """An atom on 32 bytes along k, with `factors` scales of a row; fragments and blocks of f4 count bytes of two."""
    inside = (1, 2)[: factors // 2]
    types, ptx_scale = f"{ptx_type}.{ptx_type}", "ue8m0" if scale == F8E8M0FNU else "ue4m3"
    return MmaAtom(
        f"mma.sync.m16n8k{k}.{kind}.{types}" + (f".{ptx_scale}" if a == I8 else ""),
        (16, 8, 32),
        (a, a, F32),
        frozenset({Feature.MMA_BLOCK_SCALE}),
        *_warp_fragments(a.width, 32),
        ptx=f"mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale.scale_vec::{factors}X.f32.{types}.f32.{ptx_scale}",
        source="PTX ISA, mma with .block_scale: figures of scale_vec::1X, 2X and 4X, selectors {byte, 0}",
        scales=Scales(
            scale, 32 // factors, kind,
            Fragment(((8, 0), (0, 0), (1, 0), (2, 0), (4, 0)), tuple((0, x) for x in inside)),
            Fragment(((0, 0), (0, 0), (0, 1), (0, 2), (0, 4)), tuple((x, 0) for x in inside)),
        ),
    )  # fmt: skip


def _scalar(name: str, a: Numeric, c: Numeric, ptx: str, source: str, **more: Any) -> MmaAtom:
    """A multiply-add of one thread, for products that no tensor core takes; narrower operands are widened."""
    one = Fragment(((0, 0),) * 5, ())
    return MmaAtom(name, (1, 1, 1), (a, a, c), frozenset(), one, one, one, ptx, source, threads=1, **more)


MMA_M16N8K16_F16 = _mma_sync(16, F16, "f16", Feature.MMA_SYNC)
MMA_M16N8K16_BF16 = _mma_sync(16, BF16, "bf16", Feature.MMA_SYNC)
MMA_M16N8K8_TF32 = _mma_sync(8, TF32, "tf32", Feature.MMA_SYNC)
MMA_M16N8K32_E4M3 = _mma_sync(32, F8E4M3FN, "e4m3", Feature.MMA_FP8)
MMA_M16N8K32_E5M2 = _mma_sync(32, F8E5M2, "e5m2", Feature.MMA_FP8)
MMA_M8N8K4_F64 = MmaAtom(
    name="mma.sync.m8n8k4.f64.f64",
    shape=(8, 8, 4),
    dtypes=(F64, F64, F64),
    features=frozenset({Feature.MMA_SYNC}),
    # A[lane/4][lane%4], B[lane%4][lane/4], C[lane/4][2 (lane%4) + register]
    a=Fragment(((0, 1), (0, 2), (1, 0), (2, 0), (4, 0)), ()),
    b=Fragment(((1, 0), (2, 0), (0, 1), (0, 2), (0, 4)), ()),
    c=Fragment(((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), ((0, 1),)),
    ptx="mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    source="PTX ISA, matrix fragments for mma.m8n8k4 with .f64; ptx.md section 3",
)
FMA_F32 = _scalar(
    "fma.rn.f32", F32, F32, "fma.rn.f32",
    "PTX ISA, fma; SASS FFMA negates any operand, so ptxas folds a neg.f32 into it",
    negates=frozenset({"a", "b", "c"}),
)  # fmt: skip
FMA_F16 = _scalar("fma.rn.f32.f16", F16, F16, "fma.rn.f32", "as FMA_F32; the sum is rounded to f16 once, at the end")
FMA_F64 = _scalar("fma.rn.f64", F64, F64, "fma.rn.f64", "PTX ISA, fma")
MAD_I32 = tuple(
    _scalar(f"mad.lo.s32.{kinds}", I8, I32, "mad.lo.s32", "PTX ISA, mad; operands extended first", signed=signed)
    for kinds, signed in _SIGNS.items()
)  # fmt: skip

SCALAR_ATOMS = (FMA_F32, FMA_F16, FMA_F64, *MAD_I32)

_FEW_K = (
    _mma_sync(8, F16, "f16", Feature.MMA_SYNC),
    _mma_sync(8, BF16, "bf16", Feature.MMA_SYNC),
    _mma_sync(8, F16, "f16", Feature.MMA_SYNC, F16),
    _mma_sync(4, TF32, "tf32", Feature.MMA_SYNC),
    _mma_sync(16, F8E4M3FN, "e4m3", Feature.MMA_FP8),
    _mma_sync(16, F8E5M2, "e5m2", Feature.MMA_FP8),
    *(_mma_integer(16, kinds, signed) for kinds, signed in _SIGNS.items()),
)
"""For tiles of few k, which do not fill the others."""

MMA_ATOMS: tuple[MmaAtom, ...] = (
    MMA_M16N8K16_F16,
    MMA_M16N8K16_BF16,
    MMA_M16N8K8_TF32,
    MMA_M16N8K32_E4M3,
    MMA_M16N8K32_E5M2,
    _mma_sync(16, F16, "f16", Feature.MMA_SYNC, F16),
    _mma_sync(32, F8E4M3FN, "e4m3", Feature.MMA_FP8, F16),
    _mma_sync(32, F8E5M2, "e5m2", Feature.MMA_FP8, F16),
    *(_mma_integer(32, kinds, signed) for kinds, signed in _SIGNS.items()),
    *_FEW_K,
    *(_block_scaled("mxf8f6f4", 32, kind, ptx, F8E8M0FNU, 1) for kind, ptx in ((F8E4M3FN, "e4m3"), (F8E5M2, "e5m2"))),
    _block_scaled("mxf4", 64, I8, "e2m1", F8E8M0FNU, 2),
    _block_scaled("mxf4nvf4", 64, I8, "e2m1", F8E4M3FN, 4),
    _block_scaled("mxf4nvf4", 64, I8, "e2m1", F8E8M0FNU, 4),
    MMA_M8N8K4_F64,
    *SCALAR_ATOMS,
)


def atoms_for(target: Target, a: Numeric, b: Numeric, c: Numeric) -> list[MmaAtom]:
    """The matrix instructions of a target for these operand and accumulator types."""
    plain = (atom for atom in MMA_ATOMS if atom.scales is None)
    return [atom for atom in plain if atom.dtypes == (a, b, c) and atom.legal(target)]


def longest(dtypes: tuple[Type, Type, Type], signed: tuple[bool, bool], k: int) -> list[MmaAtom]:
    """The instructions of a warp for these types: of as many rows and columns that which takes the most of k, as far as
    a tile of `k` fills it. A shorter one takes as many issue slots for less work, and would make the search longer.
    """
    found: dict[tuple[int, int], MmaAtom] = {}
    for atom in MMA_ATOMS:
        of_types = (atom.dtypes, atom.signed) == (dtypes, signed) and atom.threads == WARP and atom.scales is None
        m, n, depth = atom.shape
        if of_types and depth <= k and ((m, n) not in found or depth > found[m, n].shape[2]):
            found[m, n] = atom
    return list(found.values())


def scaled_atoms(dtypes: tuple[Type, Type, Type], scale: Type, block: int) -> list[MmaAtom]:
    """Those that take a scale of this type for each `block` neighbours along k."""
    scaled = ((atom, atom.scales) for atom in MMA_ATOMS if atom.scales is not None)
    return [atom for atom, each in scaled if (atom.dtypes, each.element, each.block) == (dtypes, scale, block)]
