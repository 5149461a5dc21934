"""Products in tensor memory as records: tcgen05.mma of one CTA with 128 rows, the left factor in either memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ir.types import BF16, F8E4M3FN, F8E5M2, F16, F32, I8, I32, TF32, Type
from lowering.atoms.wgmma import BOTH_SIGNED, K_BYTES, Numeric, ptx_name
from lowering.targets.target import Feature, Target

M = 128  # rows of D, one a lane of tensor memory; PTX ISA, tcgen05.mma, Data Path Layout D
WIDTHS = (256, 128, 64, 32, 16)  # N of atoms that power-of-two tiles are cut into, widest first; same source, Shapes
LANES_OF_WARP = 32  # of tensor memory that a warp reaches; PTX ISA, tcgen05.ld, Access restrictions


@dataclass(frozen=True, slots=True)
class TensorAtom:
    """One instruction, begun by one thread: d[128 x N] += a[128 x K] @ b[K x N]; D in tensor memory, row r in lane r,
    column c in column c, f32, or i32 where A and B are bytes. `left`: A lies in tensor memory too, row r in lane r,
    else in shared memory as B does. `threads` are those of the warp that issues it.
    """

    name: str
    shape: tuple[int, int, int]
    dtypes: tuple[Numeric, Numeric, Numeric]
    features: frozenset[Feature]
    source: str
    left: bool = False
    threads: int = 32
    signed: tuple[bool, bool] = BOTH_SIGNED  # A and B, where they are bytes

    def __str__(self) -> str:
        return self.name

    @property
    def types(self) -> tuple[str, str]:
        """PTX names of the types of A and B."""
        return ptx_name(self.dtypes[0], self.signed[0]), ptx_name(self.dtypes[1], self.signed[1])

    @property
    def may_transpose(self) -> bool:
        """May factors be MN-major? Source: PTX ISA, tcgen05.mma, Transpose support; tf32 in units of 32 bytes only."""
        return self.dtypes[0].width <= 16

    @property
    def flops(self) -> int:
        """Floating-point operations, a multiply-add counting as two."""
        m, n, k = self.shape
        return 2 * m * n * k

    def legal(self, target: Target) -> bool:
        """Does the target accept it?"""
        return self.features <= target.features

    def cycles(self, target: Target) -> float:
        """SM cycles of one instruction: the tensor core's, or those of reading its factors from shared memory."""
        m, n, _ = self.shape
        rates, rows = target.throughput, n if self.left else m + n
        return max(self.flops / rates.tensor[str(self.dtypes[0])], rows * K_BYTES / rates.smem_bytes)


@cache
def _atom(a: Numeric, b: Numeric, n: int, c: Numeric, left: bool, signed: tuple[bool, bool]) -> TensorAtom:
    k = 8 * K_BYTES // a.width
    kinds = f"{ptx_name(a, signed[0])}.{ptx_name(b, signed[1])}"
    needs = Feature.TCGEN05_BYTES if a == I8 else Feature.TCGEN05
    return TensorAtom(
        f"{LEFT if left else 'tcgen05'}.m{M}n{n}k{k}.{kinds}", (M, n, k), (a, b, c), frozenset({needs}),
        "PTX ISA 8.8, tcgen05.mma; every form assembled (tests/lowering/test_instructions.py)", left, signed=signed,
    )  # fmt: skip


LEFT = "tcgen05.ts"
"""Names of atoms whose left factor lies in tensor memory begin so."""
BY_AGENT = "tcgen05.agent"
"""A name to forbid sums of loops in other loops by, which an agent of its own adds up."""
BY_AGENT_READ = "tcgen05.agent.read"
"""The same for products that threads read or write for, which agents of their own begin."""
LEFT_BITS = 16
"""Of elements of a left factor in tensor memory, two a column: as registers hold them in pairs."""
_PAIRS = ((F16, F16), (BF16, BF16), (TF32, TF32), *((x, y) for x in (F8E4M3FN, F8E5M2) for y in (F8E4M3FN, F8E5M2)))


def tensor_atom(
    a: Type, b: Type, c: Type, n: int, left: bool = False, signed: tuple[bool, bool] = BOTH_SIGNED
) -> TensorAtom | None:
    """The atom for these types, N a power of two; None where there is none. Source: PTX ISA, tcgen05.mma, Kinds."""
    if n not in WIDTHS:
        return None
    if c == I32:
        return _atom(I8, I8, n, I32, left, signed) if a == b == I8 and not left else None
    pair = next(((x, y) for x, y in _PAIRS if (x, y) == (a, b) and (not left or x.width == LEFT_BITS)), None)
    return _atom(*pair, n, F32, left, BOTH_SIGNED) if pair and c == F32 else None


def every_tensor_atom() -> Iterator[TensorAtom]:
    """All atoms: every type and N, and the places of A."""
    signs = [(a, b) for a in (False, True) for b in (False, True)]
    kinds = [*((a, b, F32, BOTH_SIGNED) for a, b in _PAIRS), *((I8, I8, I32, each) for each in signs)]
    made = (
        tensor_atom(a, b, c, n, left, signed) for a, b, c, signed in kinds for n in WIDTHS for left in (False, True)
    )
    return (atom for atom in made if atom is not None)


@cache
def tensor_named(name: str) -> TensorAtom | None:
    """The atom of a name such as tcgen05.m128n128k16.f16.f16; None where it names another instruction."""
    return next((atom for atom in every_tensor_atom() if atom.name == name), None)
