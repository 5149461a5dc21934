"""Reduction of the registers of one thread: as a tree of two, of pairs of f32, or of extrema of three."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

from ir.core import Value
from ir.dialects import arith, nv_tileas
from ir.types import F32, I32
from lowering.atoms.folds import OF_THREE, partners
from lowering.atoms.lanes import commutes
from lowering.atoms.pairs import PAIRED
from lowering.convert.tileas_to_nvgpu.emitter import Emitter
from lowering.convert.tileas_to_nvgpu.registers import Registers

Tuple = tuple[Value, ...]
Combine = Callable[[Tuple, Tuple], Tuple]
JOINED = (arith.AddI, arith.AndI, arith.OrI, arith.XOrI)
"""i32 operations that one instruction applies to three operands."""


def balanced(combine: Combine, values: list[Tuple]) -> Tuple:
    """A tree of combinations: short dependence chains, and rounding errors that grow with the logarithm."""
    return tree(lambda each: reduce(combine, each), values, 2)


def tree(combine: Callable[[list[Tuple]], Tuple], values: list[Tuple], ways: int) -> Tuple:
    """The values combined `ways` at a time. The subtree of a node comes right before it, so few values are live at
    once.
    """
    if len(values) == 1:
        return values[0]
    part = ways
    while part * ways < len(values):
        part *= ways
    part = part if part < len(values) else 1
    return combine([tree(combine, values[i : i + part], ways) for i in range(0, len(values), part)])


def in_threes(combine: Combine, values: list[Tuple]) -> Tuple:
    """A tree of three at a time, in two combinations that the hardware performs as one (IADD3, LOP3): for the sum of 8
    i32, ptxas 13.5 makes 5 instructions of combinations by two, and 4 of these.
    """
    return tree(lambda each: reduce(combine, each), values, 3)


def are_joined(op: nv_tileas.Reduce) -> bool:
    """Does one instruction perform this reduction on three i32?"""
    body = op.combiner.block.ops[0]
    return commutes(op.combiner) and isinstance(body, JOINED) and body.results[0].type == I32


def in_pairs(
    op: nv_tileas.Reduce, source: Registers, groups: Sequence[Sequence[int]], combine: Combine
) -> Iterator[Tuple]:
    """Each group reduced by f32x2: both halves of a pair belong to one group, and are combined last, or each to its own
    group.
    """
    emitter, found = source.emitter, partners(groups)
    body = op.combiner.block.ops[0]
    if found is None or not commutes(op.combiner) or type(body) not in PAIRED:
        op.fail("f32x2 folds pairs of f32 by one operation that it has")
    halves: dict[int, Value] = {}  # the result of each register's group, by register number

    def two(left: Tuple, right: Tuple) -> Tuple:
        pair, attributes = PAIRED[type(body)], {k: v for k, v in body.attributes.items() if k != "paired"}
        return (emitter.emit(pair, *left, *right, types=[left[0].type], **attributes),)

    for number, group in enumerate(groups):
        if group[0] not in halves:
            pairs = dict.fromkeys(register // 2 for register in group)
            (total,) = balanced(two, [(source.pair(i),) for i in pairs])
            low, high = (emitter.extract(total, (i,)) for i in range(2))
            first = group[0] & ~1
            halves[first], halves[first | 1] = low, high
            if found[number] == number:
                halves[first] = halves[first | 1] = combine((low,), (high,))[0]
        yield (halves[group[0]],)


def by_three(op: nv_tileas.Reduce, emitter: Emitter, values: list[Tuple], combine: Combine) -> Tuple:
    """A tree of extrema of three; leftovers go to the next level, and the last two are combined."""
    body = op.combiner.block.ops[0]
    if not commutes(op.combiner) or type(body) not in OF_THREE:
        op.fail("minmax3 folds f32 by one minimum or maximum")
    kind, attributes = OF_THREE[type(body)]
    more = {**attributes, "ftz": True} if body.attributes.get("ftz") else attributes
    nodes: list[Tuple | list[Any]] = [*values]  # a list stands for the combination of three others
    while len(nodes) > 2:
        whole = len(nodes) // 3 * 3
        nodes = [*(nodes[i : i + 3] for i in range(0, whole, 3)), *nodes[whole:]]

    def made(node: Tuple | list[Any]) -> Tuple:
        if isinstance(node, tuple):
            return node
        three = [value for each in node for value in made(each)]
        return (emitter.emit(kind, *three, types=[F32], **more),)

    return balanced(combine, [made(each) for each in nodes])
