"""Products in tensor memory as records: tcgen05.mma of one CTA with 128 or 64 rows, the left factor in either memory;
of a pair of CTAs with 128 rows each, both factors in shared memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ir.dialects.nvvm import SCALED_KINDS
from ir.records import dataclass
from ir.types import BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, I8, I32, TF32, FloatType, Type
from lowering.atoms.wgmma import BOTH_SIGNED, K_BYTES, Numeric, ptx_name
from lowering.targets.target import Feature, Target

M = 128  # rows of D, one a lane of tensor memory; PTX ISA, tcgen05.mma, Data Path Layout D
FEW = 64  # rows of the other form, 16 in the lower half of the lanes of each warp; same source, Data Path Layout F
WIDTHS = (256, 128, 64, 32, 16)  # N of atoms that power-of-two tiles are cut into, widest first; same source, Shapes
FEW_WIDTHS = (*WIDTHS, 8)  # with 64 rows N is a multiple of 8; same source
LANES_OF_WARP = 32  # of tensor memory that a warp reaches; PTX ISA, tcgen05.ld, Access restrictions


class TensorScales(NamedTuple):
    """Factors of A and B, one for each `block` neighbours along k: bytes in tensor memory. `kind` and the types of A
    and B (`factors`) and of the scales (`name`) are as PTX has them; f4 lie in pairs in bytes, which blocks count.
    """

    element: FloatType
    block: int
    kind: str
    factors: str
    name: str

    @property
    def each(self) -> int:
        """Scales of a row that one instruction reads, the bytes of a column from a multiple of that on."""
        return SCALED_KINDS[self.kind][1][self.name][1]

    @property
    def unsigned(self) -> bool:
        """Is a type with a sign read as one without (ue4m3)?"""
        return self.element == F8E4M3FN


@dataclass(frozen=True, slots=True)
class TensorAtom:
    """One instruction, issued by one thread: d[128 x N] += a[128 x K] @ b[K x N]; D in tensor memory, row r in lane r
    (of 64 rows in lane r / 16 * 32 + r % 16), column c in column c: f32, f16, or i32 if A and B are bytes. `left`: A is
    in tensor memory too, row r in lane r, otherwise in shared memory like B. `threads`: of the warp that issues it.
    `ctas`: of a pair each CTA has 128 rows of its own, and in shared memory all of its A and half of the columns of
    B, which both read.
    """

    name: str
    shape: tuple[int, int, int]
    dtypes: tuple[Numeric, Numeric, Numeric]
    features: frozenset[Feature]
    source: str
    left: bool = False
    threads: int = 32
    signed: tuple[bool, bool] = BOTH_SIGNED  # A and B, where they are bytes
    scales: TensorScales | None = None  # of a block-scaled product, (a x scales) @ (b x scales); f4 are bytes of two
    ctas: int = 1

    def __str__(self) -> str:
        return self.name

    @property
    def types(self) -> tuple[str, str]:
        """PTX names of the types of A and B."""
        if self.scales is not None:
            return self.scales.factors, self.scales.factors
        return ptx_name(self.dtypes[0], self.signed[0]), ptx_name(self.dtypes[1], self.signed[1])

    @property
    def may_transpose(self) -> bool:
        """May factors be MN-major? Source: PTX ISA, tcgen05.mma, Transpose support; tf32 in units of 32 bytes only."""
        return self.dtypes[0].width <= 16 and not self.of_f4

    @property
    def of_f4(self) -> bool:
        """Are factors f4, two in a byte?"""
        return self.scales is not None and self.dtypes[0] == I8

    @property
    def flops(self) -> int:
        """Floating-point operations, a multiply-add counting as two."""
        m, n, k = self.shape
        return 2 * m * n * k

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles of one instruction: the tensor core's, or those of reading what lies in its shared memory. 64 rows
        are assumed to take as long as 128, since half of the lanes are idle (until a card says otherwise).
        """
        m, n, _ = self.shape
        rates, rows = target.throughput, n if self.left else m + n // self.ctas
        kind = F8E4M3FN if self.of_f4 else self.dtypes[0]  # two f4 in the time of an f8; CUTLASS, tcgen05.mma table
        return max(self.flops * max(1, M // m) / rates.tensor[str(kind)], rows * K_BYTES / rates.smem_bytes)


@cache
def _atom(a: Numeric, b: Numeric, n: int, c: Numeric, form: str, signed: tuple[bool, bool], m: int) -> TensorAtom:
    k = 8 * K_BYTES // a.width
    kinds, ctas = f"{ptx_name(a, signed[0])}.{ptx_name(b, signed[1])}", 2 if form == PAIR else 1
    needs = Feature.TCGEN05_BYTES if a == I8 else Feature.TCGEN05
    return TensorAtom(
        f"{form}.m{m * ctas}n{n}k{k}.{kinds}{'.f16' if c == F16 else ''}",
        (m, n, k),
        (a, b, c),
        frozenset({needs, Feature.MULTICAST} if form == PAIR else {needs}),
        "PTX ISA 8.8, tcgen05.mma; every form assembled (tests/lowering/test_instructions.py)",
        form == LEFT,
        signed=signed,
        ctas=ctas,
    )


@cache
def _scaled(a: Numeric, n: int, scales: TensorScales) -> TensorAtom:
    k, types = K_BYTES * (2 if a == I8 else 1), f"{scales.factors}.{scales.factors}"
    types += f".{scales.name}" if a == I8 else ""
    return TensorAtom(
        f"{BY_SCALES}.m{M}n{n}k{k}.{scales.kind}.{types}",
        (M, n, K_BYTES),
        (a, a, F32),
        frozenset({Feature.TCGEN05}),
        "PTX ISA 8.8, tcgen05.mma, Block Scaling; every form assembled (tests/lowering/test_instructions.py)",
        scales=scales,
    )


BY_SCALES = "tcgen05.scaled"
"""Names of atoms of block-scaled products begin so."""
ALONE = "tcgen05"
"""Names of atoms of one CTA whose factors lie in shared memory begin so, and those of all others with more."""
LEFT = "tcgen05.ts"
"""Names of atoms whose left factor lies in tensor memory begin so."""
PAIR = "tcgen05.pair"
"""Names of atoms of a pair of CTAs begin so; they have the rows of both."""
PAIR_WIDTHS = WIDTHS[:-1]  # N of a pair is a multiple of 32; CUTLASS, SM100_MMA_F16BF16_2x1SM_SS
BY_AGENT = "tcgen05.agent"
"""The name to forbid accumulation of nested loops' sums by a separate agent."""
BY_AGENT_READ = "tcgen05.agent.read"
"""The same for products that threads read or write for, issued by separate agents."""
LEFT_BITS = 16
"""Of elements of a left factor in tensor memory, two a column: as registers hold them in pairs."""
_PAIRS = ((F16, F16), (BF16, BF16), (TF32, TF32), *((x, y) for x in (F8E4M3FN, F8E5M2) for y in (F8E4M3FN, F8E5M2)))


_SCALED = (
    (F8E4M3FN, TensorScales(F8E8M0FNU, 32, "mxf8f6f4", "e4m3", "ue8m0")),
    (F8E5M2, TensorScales(F8E8M0FNU, 32, "mxf8f6f4", "e5m2", "ue8m0")),
    (I8, TensorScales(F8E8M0FNU, 16, "mxf4", "e2m1", "ue8m0")),
    (I8, TensorScales(F8E4M3FN, 8, "mxf4nvf4", "e2m1", "ue4m3")),
    (I8, TensorScales(F8E8M0FNU, 8, "mxf4nvf4", "e2m1", "ue8m0")),
)
"""Types of A and B, bytes being two f4 each, and their scales. Source: PTX ISA, tcgen05.mma, Block Scaling; E8M0 scales
of 16 elements (8 bytes): CUTLASS 4.8.1, cute.nvgpu.tcgen05, MmaMXF4NVF4Op.
"""


def scaled_tensor_atoms(a: Type, b: Type, c: Type, scale: Type, block: int) -> list[TensorAtom]:
    """Those that take a scale of this type for each `block` neighbours along k, widest first."""
    found = (
        (kind, scales)
        for kind, scales in _SCALED
        if (a, b, c, scale, block) == (kind, kind, F32, scales.element, scales.block)
    )
    return [_scaled(kind, n, scales) for kind, scales in found for n in WIDTHS]


def tensor_atom(
    a: Type, b: Type, c: Type, n: int, form: str = ALONE, signed: tuple[bool, bool] = BOTH_SIGNED, m: int = M
) -> TensorAtom | None:
    """The atom for these types, N a power of two, of a form: ALONE or LEFT (of `m` rows, 128 or 64), or PAIR; None
    where there is none. Source: PTX ISA, tcgen05.mma, Kinds.
    """
    if n not in (PAIR_WIDTHS if form == PAIR else FEW_WIDTHS if m == FEW else WIDTHS) or (m == FEW and form == PAIR):
        return None
    if c == I32:
        return _atom(I8, I8, n, I32, form, signed, m) if a == b == I8 and form != LEFT else None
    pair = next(((x, y) for x, y in _PAIRS if (x, y) == (a, b) and (form != LEFT or x.width == LEFT_BITS)), None)
    if pair is None or c not in (F32, F16) or (c == F16 and a not in (F16, F8E4M3FN, F8E5M2)):
        return None
    return _atom(*pair, n, F16 if c == F16 else F32, form, BOTH_SIGNED, m)


def every_tensor_atom() -> Iterator[TensorAtom]:
    """All atoms: every type and N, and every form."""
    signs = [(a, b) for a in (False, True) for b in (False, True)]
    kinds = [(a, b, c, BOTH_SIGNED) for a, b in _PAIRS for c in (F32, F16)] + [(I8, I8, I32, each) for each in signs]
    made = (
        tensor_atom(a, b, c, n, form, signed, m)
        for a, b, c, signed in kinds
        for n in FEW_WIDTHS
        for form, m in ((ALONE, M), (ALONE, FEW), (LEFT, M), (LEFT, FEW), (PAIR, M))
    )
    yield from (atom for atom in made if atom is not None)
    yield from (_scaled(kind, n, scales) for kind, scales in _SCALED for n in WIDTHS)


@cache
def tensor_named(name: str) -> TensorAtom | None:
    """The atom of a name such as tcgen05.m128n128k16.f16.f16; None where it names another instruction."""
    return next((atom for atom in every_tensor_atom() if atom.name == name), None)
