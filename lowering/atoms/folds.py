"""How the registers of a thread fold into one: two at a time, sums of f32 in pairs (f32x2), or extrema of f32 by three.

Which of them `thread_atom` says, and pricing and decoding ask it; lanes are folded by lowering/atoms/lanes.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from ir.core import Op, Region
from ir.dialects import arith, nvvm
from ir.types import F32
from lowering.atoms.forbidden import forbidden
from lowering.atoms.lanes import commutes
from lowering.atoms.pairs import F32X2, PAIRED, SCALAR, pairs_cost_less, share
from lowering.targets import Feature, Target

MINMAX3 = "minmax3"
OF_THREE: Mapping[type[Op], tuple[type[nvvm.OfThree], dict[str, Any]]] = {
    arith.MaximumF: (nvvm.Max3, {"nan": True}), arith.MinimumF: (nvvm.Min3, {"nan": True}),
    arith.MaxNumF: (nvvm.Max3, {}), arith.MinNumF: (nvvm.Min3, {}),
}  # fmt: skip
"""Extrema of f32 that take three operands: NaN where one is, or the others. Source: PTX ISA 8.8, max and min."""
Groups = Sequence[Sequence[int]]


def partners(groups: Groups) -> dict[int, int] | None:
    """Where the pairs of a fold lie: for the number of each group that of the one with the other register of each pair,
    which may be itself; None where a pair is not folded as one.
    """
    where = {register: number for number, group in enumerate(groups) for register in group}
    found = {number: {where.get(register ^ 1, -1) for register in group} for number, group in enumerate(groups)}
    if any(len(each) > 1 or -1 in each for each in found.values()):
        return None
    return {number: each.pop() for number, each in found.items()}


def share_of_three(target: Target) -> float:
    """The cost of an extremum of three relative to the two that it replaces, in instructions."""
    return target.throughput.extremum_slots / 2


def thread_atom(target: Target, forbid: Set[str], region: Region, groups: Groups) -> str:
    """f32x2 or minmax3 where the combiner is one such operation, its registers allow it, and it costs less."""
    if not commutes(region) or region.block.ops[0].results[0].type != F32:
        return SCALAR
    kind, most = type(region.block.ops[0]), max(map(len, groups))
    if kind in PAIRED and most > 2 and partners(groups) is not None and pairs_cost_less(target, forbid):
        return F32X2
    allowed = target.has(Feature.MINMAX3) and not forbidden(MINMAX3, forbid)
    return MINMAX3 if kind in OF_THREE and most > 2 and allowed and share_of_three(target) < 1 else SCALAR


def thread_share(target: Target, atom: str) -> float:
    """What a fold of registers costs of one by instructions that take two."""
    return {F32X2: share, MINMAX3: share_of_three}[atom](target) if atom else 1.0
