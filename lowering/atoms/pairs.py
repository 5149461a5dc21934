"""Arithmetic on the f32 of a thread, one at a time or two (f32x2). Pricing and decoding ask `pairs_atom`; the code of a
thread follows the operation's `paired`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache

from ir.core import OPS, Op
from ir.dialects import arith, math, nvvm
from ir.dialects.cuda_tile.constraints import TileOp
from ir.types import F32, Type
from lowering.atoms.forbidden import forbidden
from lowering.targets import Feature, Target

SCALAR, F32X2 = "", "f32x2"
PAIRED: Mapping[type[Op], type[nvvm.Pairs]] = {
    arith.AddF: nvvm.AddF32x2, arith.SubF: nvvm.SubF32x2, arith.MulF: nvvm.MulF32x2, math.Fma: nvvm.FmaF32x2,
}  # fmt: skip
"""Operations that have it, with every rounding and ftz of theirs. Source: PTX ISA 8.8, add, sub, mul and fma."""


@cache
def lowered(mnemonic: str) -> type[Op] | None:
    """The scalar operation of one of cuda_tile."""
    declared = OPS.get(f"cuda_tile.{mnemonic}")
    return OPS.get(declared.lowers_to) if declared is not None and issubclass(declared, TileOp) else None


def share(target: Target) -> float:
    """The cost of an f32x2 instruction relative to the two that it replaces: the mean of its issue slots and its time
    on the f32 pipe, which is assumed to equal theirs (`Throughput.fma_f32` counts multiply-adds) until a card says
    otherwise.
    """
    return (1 + target.throughput.pair_slots / 2) / 2


def pairs_atom(target: Target, forbid: Set[str], mnemonic: str, element: Type, registers: int) -> str:
    """f32x2 if that costs less: a thread holds pairs, and the target does not split them again."""
    able = element == F32 and registers > 1 and lowered(mnemonic) in PAIRED
    return F32X2 if able and pairs_cost_less(target, forbid) else SCALAR


def adds(target: Target, forbid: Set[str], registers: int) -> float:
    """What so many f32 of a thread cost to be added to as many, in multiply-adds of one."""
    return registers * (share(target) if pairs_atom(target, forbid, "addf", F32, registers) else 1.0)


def pairs_cost_less(target: Target, forbid: Set[str]) -> bool:
    """Does the target have f32x2, and does it save anything there?"""
    allowed = target.has(Feature.F32X2) and not forbidden(F32X2, forbid)
    return allowed and share(target) < 1
