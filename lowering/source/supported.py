"""What the compiler rejects up front: operations and forms of control flow without a lowering, each with its location
and what to write instead.
"""

from __future__ import annotations

from ir.checked import checked
from ir.core import OPS, Op, UnsupportedError, Value
from ir.dialects import arith, llvm, math
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import ELEMENTWISE
from ir.dialects.cuda_tile.constraints import TileOp, element_type
from ir.dialects.nv_tileas import CancelNextProgramId, Exchange, Meet
from ir.types import F4E2M1FN, F8E4M3FN, F8E5M2, F8E8M0FNU, FloatType, TileType
from lowering.convert.logical_forms import same_parts
from lowering.targets import Feature, Target

SCALAR_DIALECTS = (arith, llvm, math)  # importing them declares the ops that OPS then holds

SPECIAL: frozenset[type[Op]] = frozenset(
    (
        *(
            ct.Entry,
            ct.For,
            ct.Yield,
            ct.GetTileBlockId,
            ct.GetNumTileBlocks,
            ct.MmaF,
            ct.MmaI,
            ct.GetGlobal,
            ct.Assert,
        ),
        *(CancelNextProgramId, Exchange, Meet),
    )
)
"""Operations that nv_tileaa has in other parts, or that passes behind it take away."""

MULTICAST_ACCESSES = (ct.MultimemLoadReduceView, ct.MultimemReduceView, ct.MultimemStoreView)

INSTEAD: dict[str, str] = {
    "preview_call": "inline the function at its call",
}
"""What to write instead, by mnemonic."""


MOST_INSTRUCTIONS = 1 << 16
"""Instructions of a thread. Measured with loads and stores of one tile: ptxas 13.5 takes 13 s for 8,200 of them, over
300 s for 32,800. The largest of 142 kernels of cuTile's samples and TileGym has 6,400."""


def refuse_unsupported(entry: ct.Entry) -> None:
    """Raise UnsupportedError for the first operation of an entry that has no lowering."""
    for op in entry.walk():
        if not lowered(type(op)):
            raise UnsupportedError(
                f"'{op.name}' is not supported by the compiler yet", op.location, INSTEAD[op.info.mnemonic]
            )


def refuse_oversized(entry: ct.Entry, threads: int) -> None:
    """Raise UnsupportedError if the tiles of an entry take more instructions than can be assembled: per-thread code has
    one for each register and each operation.
    """
    values = [result for op in entry.walk() for result in op.results]
    total = sum(registers_of(value, threads) for value in values)
    if total > MOST_INSTRUCTIONS:
        largest = max(values, key=lambda value: registers_of(value, threads))
        op = checked(largest.owner, Op)
        raise UnsupportedError(
            f"'{op.name}': {largest.type} takes {registers_of(largest, threads)} registers in each of {threads} "
            f"threads (255 available), and the kernel about {total} instructions (at most {MOST_INSTRUCTIONS})",
            op.location,
            "use smaller tiles, in a loop or over more tile blocks",
        )


def registers_of(tile: Value, threads: int) -> int:
    """32-bit registers that each of `threads` threads needs to hold a tile."""
    kind = tile.type
    if not isinstance(kind, TileType):
        return 0
    return -(-kind.size * max(8, getattr(kind.element, "width", 64)) // (32 * threads))


def refuse_on_target(entry: ct.Entry, target: Target) -> None:
    """Raise UnsupportedError for the first conversion, or access to multicast memory, that the target lacks."""
    for op in entry.walk():
        if isinstance(op, MULTICAST_ACCESSES) and not target.has(Feature.MULTIMEM):
            hint = "compile for sm_90 or later, or access each copy through a view of its own"
            raise UnsupportedError(f"'{op.name}': {target.name} has no multimem instructions", op.location, hint)
        if isinstance(op, ct.FToF | ct.FToI | ct.IToF | ct.MmaFScaled | ct.Print):
            tiles = [value for value in (*op.operands, *op.results) if isinstance(value.type, TileType)]
            for kind in map(element_type, tiles):
                known = kind in (F8E4M3FN, F8E5M2)
                by_integers = kind in (F8E8M0FNU, F4E2M1FN)
                other = not isinstance(kind, FloatType) or kind.width > 8 or by_integers
                if not other and not (known and target.has(Feature.CVT_FP8)):
                    hint = "compile for sm_89 or later" if known else "use f8E4M3FN, f8E5M2 or f4E2M1FN"
                    message = f"'{op.name}': {target.name} has no conversions of {kind}"
                    raise UnsupportedError(message, op.location, hint)


def lowered(cls: type[Op]) -> bool:
    """Does this operation have a lowering: at the next level, or as the scalar operation that it names?"""
    if cls in SPECIAL or cls in same_parts():
        return True
    return issubclass(cls, TileOp) and cls.placement is ELEMENTWISE and cls.lowers_to in OPS
