"""How the lanes of a warp fold a value: a shuffle and an operation for each bit of the lane, or one redux.sync for all.

`lanes_atom` chooses between them for pricing, decoding and the code of a thread.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ir.core import Block, Builder, Op, Region
from ir.dialects import arith, nvvm
from ir.instruction import Instruction
from ir.types import F32, I32
from lowering.atoms.forbidden import forbidden
from lowering.targets import Feature, Target
from lowering.targets.target import WARP

SHUFFLES, REDUX = "shfl", "redux"
Redux = tuple[type[Instruction], dict[str, object]]

COMMUTATIVE = (
    arith.AddI, arith.MulI, arith.AndI, arith.OrI, arith.XOrI, arith.MaxSI, arith.MaxUI, arith.MinSI, arith.MinUI,
    arith.AddF, arith.MulF, arith.MaximumF, arith.MaxNumF, arith.MinimumF, arith.MinNumF,
)  # fmt: skip
INTEGERS: dict[type[Op], str] = {
    arith.AddI: "add",
    arith.AndI: "and",
    arith.OrI: "or",
    arith.XOrI: "xor",
    arith.MaxSI: "max",
    arith.MinSI: "min",
    arith.MaxUI: "umax",
    arith.MinUI: "umin",
}
"""Operations on i32 that redux.sync has. Source: PTX ISA 8.8, redux.sync."""
FLOATS: dict[type[Op], dict[str, object]] = {
    arith.MaximumF: {"kind": "max", "nan": True},
    arith.MinimumF: {"kind": "min", "nan": True},
    arith.MaxNumF: {"kind": "max"},
    arith.MinNumF: {"kind": "min"},
}
"""Operations on f32 that it has. Source: same."""


def commutes(region: Region) -> bool:
    """Is a combiner one operation on its two arguments whose order does not matter, not even to a bit?"""
    block = region.block
    one = len(block.ops) == 2 and isinstance(block.ops[0], COMMUTATIVE)
    return one and set(block.ops[0].operands) == set(block.args) and block.ops[-1].operands == [*block.ops[0].results]


def of_each(region: Region) -> Region | None:
    """The combiner that folds each of several tiles by itself, if it is the same operation for all; that of one tile
    is its own. None if a result depends on two tiles.
    """
    block = region.block
    *ops, last = block.ops
    if len(block.args) == 2:
        return region
    if len(ops) != len(block.args) // 2 or [*last.operands] != [op.results[0] for op in ops]:
        return None
    first = ops[0]
    for index, op in enumerate(ops):
        alike = (
            type(op) is type(first)
            and op.attributes == first.attributes
            and op.results[0].type == first.results[0].type
        )
        if not alike or not isinstance(op, COMMUTATIVE) or {*op.operands} != {*block.args[2 * index : 2 * index + 2]}:
            return None
    one = Block([argument.type for argument in block.args[:2]])
    inside = Builder(one, first.location)
    made = inside.value(type(first), *one.args, types=[first.results[0].type], **first.attributes)
    inside.add(type(last), made, types=())
    return Region([one])


def redux_of(region: Region) -> Redux | None:
    """The redux.sync that folds 32 lanes as a combiner does, None where there is none."""
    if not commutes(region):
        return None
    op = region.block.ops[0]
    kind, element = type(op), op.results[0].type
    if element == I32 and kind in INTEGERS:
        return nvvm.Redux, {"kind": INTEGERS[kind]}
    if element == F32 and kind in FLOATS and not op.attributes.get("ftz"):
        return nvvm.FloatRedux, FLOATS[kind]
    return None


def lanes_atom(target: Target, forbid: Set[str], region: Region, lane_bits: Sequence[int]) -> str:
    """redux.sync where it folds whole warps: 16 results a cycle (`Throughput.redux`), a fifth of what five shuffles and
    operations take.
    """
    found = redux_of(region) if 1 << len(lane_bits) == WARP else None
    if found is None or forbidden(REDUX, forbid):
        return SHUFFLES
    feature = Feature.REDUX if found[0] is nvvm.Redux else Feature.REDUX_F32
    return REDUX if target.has(feature) else SHUFFLES
