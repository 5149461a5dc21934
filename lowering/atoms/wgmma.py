"""Warpgroup matrix instructions as records: every N, type and operand place of wgmma.mma_async."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import NamedTuple

from ir.records import dataclass
from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, I8, I32, TF32, FloatType, Type
from lowering.atoms.mma import MMA_M16N8K8_TF32, MMA_M16N8K16_F16, MMA_M16N8K32_E4M3, Fragment, Numeric, Pairs
from lowering.targets.target import Feature, Target

WARPGROUP = 128  # threads; PTX ISA, Asynchronous Warpgroup Level Matrix Instructions
M = 64  # rows of every wgmma; PTX ISA, wgmma.mma_async
GROUP_COLUMNS = 8  # columns of D that two neighbouring registers and their twins eight rows below cover
K_BYTES = 32  # bytes of K of one instruction whatever the type; PTX ISA, wgmma.mma_async (k16 of 16 bits, k8 of tf32)
PTX_NAMES = {F16: "f16", BF16: "bf16", TF32: "tf32", F8E4M3FN: "e4m3", F8E5M2: "e5m2"}
PROMOTION = 128
"""Elements of K after which sums of f8 are added to f32 registers: tensor cores of sm_90 keep about 14 bits of them.
Source: DeepSeek-V3 (arXiv 2412.19437, section 3.3.2); CUTLASS, FP8 main loops of sm_90 with 2xAcc."""
IMM_SCALE = "imm-scale"
"""The sign by which an instruction multiplies what it reads of A, at no cost; PTX ISA, wgmma.mma_async, imm-scale-a."""
SIGNED, BOTH_SIGNED = {True: "s8", False: "u8"}, (True, True)


class WarpgroupFragment(NamedTuple):
    """Operand map of four warps: bit k of lane, element register and warp adds, by XOR, these (row, col) bits."""

    lane: Pairs
    reg: Pairs
    warp: Pairs


ROWS_OF_WARPS: Pairs = ((16, 0), (32, 0))  # warp w of the group holds rows 16 w to 16 w + 15; PTX ISA, wgmma fragments


@dataclass(frozen=True, slots=True)
class WgmmaAtom:
    """One instruction of a warpgroup: c[64 x N] += a[64 x K] @ b[K x N], b from shared memory.

    `a` is the map of A as a register operand (of `from_registers` atoms), `c` that of eight columns of D: the other
    N/8 - 1 groups of four registers follow, each eight columns further. `majors` tells which of A and B may be MN-major
    in shared memory. Fragments count elements; elements below 32 bits are packed from the low register bits.
    """

    name: str
    shape: tuple[int, int, int]
    dtypes: tuple[Numeric, Numeric, Numeric]
    from_registers: bool
    features: frozenset[Feature]
    a: WarpgroupFragment
    c: WarpgroupFragment
    ptx: str
    source: str
    threads: int = WARPGROUP
    signed: tuple[bool, bool] = BOTH_SIGNED

    def __str__(self) -> str:
        return self.name

    @property
    def types(self) -> tuple[str, str]:
        """PTX names of the types of A and B."""
        return ptx_name(self.dtypes[0], self.signed[0]), ptx_name(self.dtypes[1], self.signed[1])

    @property
    def groups(self) -> int:
        """Groups of four accumulator registers a thread, each eight columns."""
        return self.shape[1] // GROUP_COLUMNS

    @property
    def operand_registers(self) -> tuple[int, int, int]:
        """b32 registers of A, B and C of one thread."""
        return (4 if self.from_registers else 0), 0, 4 * self.groups * self.dtypes[2].width // 32

    def promotion(self, fast: bool) -> int:
        """Elements of K after which its sums are promoted, 0 where they may be `fast` or are exact enough."""
        return PROMOTION if not fast and self.dtypes[0].width == 8 and self.dtypes[2] == F32 else 0

    @property
    def may_transpose(self) -> bool:
        """May shared operands be MN-major? Source: PTX ISA, wgmma.mma_async, imm-trans (16-bit types only)."""
        return self.dtypes[0].width == 16

    @property
    def flops(self) -> int:
        """Floating-point operations of the warpgroup, a multiply-add counting as two."""
        m, n, k = self.shape
        return 2 * m * n * k

    @property
    def shared_bytes(self) -> int:
        """Bytes that one instruction reads from shared memory."""
        m, n, _ = self.shape
        return (n if self.from_registers else m + n) * K_BYTES

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles of one instruction: the tensor cores' or, for small N, those of reading its operands."""
        rates = target.throughput
        return max(self.flops / rates.tensor[str(self.dtypes[0])], self.shared_bytes / rates.smem_bytes)

    def d_position(self, thread: int, reg: int) -> tuple[int, int]:
        """(row, col) of D that register `reg` of `thread` (0 to 127) holds; for every N, powers of two or not."""
        warp, lane = divmod(thread, 32)
        row = 16 * warp + (lane >> 2) + 8 * (reg >> 1 & 1)
        return row, GROUP_COLUMNS * (reg >> 2) + 2 * (lane & 3) + (reg & 1)


_WARP_A = {16: MMA_M16N8K16_F16.a, 32: MMA_M16N8K8_TF32.a, 8: MMA_M16N8K32_E4M3.a}
"""The fragment of A in one warp by element bits: that of mma.sync."""

_D: WarpgroupFragment = WarpgroupFragment(
    MMA_M16N8K16_F16.c.lane, MMA_M16N8K16_F16.c.reg, ROWS_OF_WARPS
)  # 64 x 8; PTX ISA, wgmma, Accumulator D


def ptx_name(kind: Numeric, signed: bool) -> str:
    """The PTX name of an operand type."""
    return PTX_NAMES[kind] if isinstance(kind, FloatType) else SIGNED[signed]


@cache
def _atom(
    a: Numeric, b: Numeric, n: int, from_registers: bool, c: Numeric = F32, signed: tuple[bool, bool] = BOTH_SIGNED
) -> WgmmaAtom:
    k = 8 * K_BYTES // a.width
    kinds = f"{ptx_name(a, signed[0])}.{ptx_name(b, signed[1])}"
    part: Fragment = _WARP_A[a.width]
    out = {F32: "f32", F16: "f16", I32: "s32"}[c]
    return WgmmaAtom(
        f"wgmma.m64n{n}k{k}.{kinds}{'.f16' if c == F16 else ''}.{'rs' if from_registers else 'ss'}",
        (M, n, k),
        (a, b, c),
        from_registers,
        frozenset({Feature.WGMMA}),
        WarpgroupFragment(part.lane, part.reg, ROWS_OF_WARPS),
        _D,
        ptx=f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{out}.{kinds}",
        source="PTX ISA, wgmma.mma_async; ptx.md section 3 (fragments compared with Triton's, every N assembled)",
        signed=signed,
    )


_PAIRS = ((F16, F16), (BF16, BF16), (TF32, TF32), *((x, y) for x in (F8E4M3FN, F8E5M2) for y in (F8E4M3FN, F8E5M2)))
_WIDTHS = range(GROUP_COLUMNS, 257, GROUP_COLUMNS)
Key = tuple[FloatType, FloatType, int, bool]
"""Types of A and B, N, and whether A comes from registers."""


class _Atoms(Mapping[Key, WgmmaAtom]):
    """Every atom, made when it is looked up: there are 448, and a kernel takes a few."""

    def __getitem__(self, key: Key) -> WgmmaAtom:
        if key[:2] not in _PAIRS or key[2] not in _WIDTHS:
            raise KeyError(key)
        return _atom(*key)

    def __iter__(self) -> Iterator[Key]:
        return ((a, b, n, rs) for (a, b), n, rs in product(_PAIRS, _WIDTHS, (False, True)))

    def __len__(self) -> int:
        return 2 * len(_PAIRS) * len(_WIDTHS)


WGMMA_ATOMS: Mapping[Key, WgmmaAtom] = _Atoms()
"""Those that accumulate in f32."""


def wgmma_atom(
    a: Type, b: Type, c: Type, n: int, from_registers: bool, signed: tuple[bool, bool] = BOTH_SIGNED
) -> WgmmaAtom | None:
    """The atom for these types, N a power of two; None where there is none. Source: PTX ISA, wgmma, .dtype."""
    if c == I32 and a == b == I8:
        return _atom(I8, I8, n, from_registers, I32, signed)
    if not isinstance(a, FloatType) or not isinstance(b, FloatType) or (a, b) not in _PAIRS or c not in (F16, F32):
        return None
    if c == F16:
        return _atom(a, b, n, from_registers, F16) if a in (F16, F8E4M3FN, F8E5M2) else None
    return WGMMA_ATOMS[a, b, n, from_registers]


def every_wgmma() -> Iterator[WgmmaAtom]:
    """All atoms: every type, N and place of A."""
    signs = [(a, b) for a in (False, True) for b in (False, True)]
    kinds = [(a, b, c, BOTH_SIGNED) for a, b in _PAIRS for c in (F32, F16)] + [(I8, I8, I32, each) for each in signs]
    made = (wgmma_atom(a, b, c, n, rs, signed) for a, b, c, signed in kinds for n in _WIDTHS for rs in (False, True))
    return (atom for atom in made if atom is not None)


def wgmma_named(name: str) -> WgmmaAtom | None:
    """The atom of a name such as wgmma.m64n128k16.f16.f16.ss; None where it names another instruction."""
    family, shape, *kinds = name.split(".")
    if family != "wgmma":
        return None
    n, from_registers = int(shape.partition("n")[2].partition("k")[0]), kinds[-1] == "rs"
    if kinds[0] in SIGNED.values():
        return wgmma_atom(I8, I8, I32, n, from_registers, (kinds[0] == "s8", kinds[1] == "s8"))
    a, b = (next(kind for kind, spelled in PTX_NAMES.items() if spelled == text) for text in kinds[:2])
    return _atom(a, b, n, from_registers, F16) if len(kinds) == 4 else WGMMA_ATOMS[a, b, n, from_registers]


def wgmma_atoms(target: Target, a: FloatType, b: FloatType, c: FloatType) -> list[WgmmaAtom]:
    """Instructions of a target for these types whose N is a power of two, widest first, SS then RS."""
    widths = [256, 128, 64, 32, 16, 8]
    found = [WGMMA_ATOMS.get((a, b, n, rs)) for rs in (False, True) for n in widths]
    return [atom for atom in found if atom is not None and atom.dtypes[2] == c and atom.legal(target)]
