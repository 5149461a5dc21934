"""Semantics of matrix products by an atom: the position of each operand in registers, shared or tensor memory.

A product is that of the source's operands as its atom reads them: a factor in registers by the fragment's layout, one
in shared memory by the layout of the instruction's descriptor, plus the scales of a block-scaled one. A sum that
accumulates in tensor memory through a loop, and a product read from there, have the same value; a loop that scales its
sum has the previous sum and the factor as numbered values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Datum, NotCovered, Unsound, evaluate
from egraph.soundness.sampling import Array, Matrices
from ir.checked import checked
from ir.core import Block, Type, Value
from ir.dialects.cuda_tile import MmaFScaled, dtype_of
from ir.types import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F16, F32, I8, IntType, TileType
from lowering.atoms.mma import MmaAtom
from lowering.atoms.tcgen05 import TensorAtom
from lowering.placement.context import Held, LayoutSample
from lowering.placement.memory import Stored
from lowering.placement.oracle import WARPS_OF_GROUP, MmaChoice

QUESTIONS: dict[str, tuple[str, tuple[int, ...]]] = {
    "mma_choice": ("ask_mma", (0, 1, 2)),
    "wgmma_choice": ("ask_mma", (0, 1, 2)),
    "wgmma_rs_choice": ("ask_mma", (0, 1, 2)),
    "tensor_choice": ("ask_mma", (0, 1, 2)),
    "tensor_left_choice": ("ask_mma", (0, 1, 2)),
    "scaled_choice": ("ask_mma", (0, 1, 2)),
    "scaled_left_choice": ("ask_mma", (0, 1, 2)),
    "mmai_choice": ("ask_mmai", (0, 1, 2, 3, 4)),
    "tensori_choice": ("ask_mmai", (0, 1, 2, 3, 4)),
    "wgmmai_choice": ("ask_mmai", (0, 1, 2, 3, 4)),
    "wgmmai_rs_choice": ("ask_mmai", (0, 1, 2, 3, 4)),
    "block_scaled_choice": ("ask_scaled", (0, 1, 2, 3, 4)),
    "tensor_scaled_choice": ("ask_scaled", (0, 1, 2, 3, 4)),
}
"""Relations of choices: the query that produces their rows, with the columns that come from it. An atom and the layouts
of the operands follow.
"""
UNSIGNED = {"unsigned_scaled_choice": "block_scaled_choice", "unsigned_tensor_choice": "tensor_scaled_choice"}
"""Relations of choices whose instructions read scales without their sign, by the relation that they may become: rules
state this under a permission (USCALE), or where no scale of the program has a sign.
"""
NO_SIGNS = "r.magnitudes"
CHOICES = {
    "p.mmaf": ("mma_choice",),
    "p.mmai": ("mmai_choice",),
    "p.wgmma": ("wgmma_choice", "wgmmai_choice"),
    "p.wgmma_rs": ("wgmma_rs_choice", "wgmmai_rs_choice"),
    "p.tcgen05": ("tensor_choice", "tensori_choice"),
    "p.tcgen05_negated": ("tensor_choice",),
    "p.tcgen05_read": ("tensor_choice", "tensor_left_choice"),
    "p.tcgen05_scaled": ("scaled_choice", "scaled_left_choice"),
    "p.tcgen05_kept": ("scaled_choice", "scaled_left_choice"),
    "p.mmaf_scaled": ("block_scaled_choice",),
    "p.tcgen05_block_scaled": ("tensor_scaled_choice",),
}
"""The choices that a placed product may use."""
BY_SCALES = ("p.mmaf_scaled", "p.tcgen05_block_scaled")
SCALED_SUM = "r.scaled_sum"
NUMBERED = ("r.read", "r.accumulated", "r.summed", "r.negated", SCALED_SUM)
"""Relations of the numbers of products: where their sum is kept, which claims nothing about its value."""
SCALED = "r.scaled"
"""The numbers of a product by scales, and of its operands."""
_OPERANDS = tuple([Atom(f"operand{k}", 0) for k in range(3)])
_ROWS, _COLUMNS, _DEPTHS = (64, 128), (16, 32), (8, 16, 32, 64)
"""Sizes of tiles that fill one or two warpgroups' instructions of every kind, and of few k."""
NARROW_BLOCK = 8  # bytes of two f4 of a scale of f8E4M3FN; same source
BLOCK = 32  # factors of a scale; CUDA Tile IR 13.4, mmaf_scaled


class Sizes:
    """The one size and types of products in a sample, such that instructions of warpgroups fill them."""

    def __init__(self, sample: LayoutSample):
        pick = sample.random.pick
        self.m, self.n, self.k = pick(_ROWS), pick(_COLUMNS), pick(_DEPTHS)
        self.factor = pick((F16, BF16, F8E4M3FN, F8E5M2))
        self.warps = pick((WARPS_OF_GROUP, 2 * WARPS_OF_GROUP))
        sample.random.matrices = Matrices((self.m,), (self.k,), (self.n,), (self.factor,))

    def fill_tensor_memory(self) -> None:
        """Sizes for which block-scaled products there have enough scales to copy."""
        self.m = self.n = self.k = 128

    def left(self, sample: LayoutSample) -> Datum:
        """A left factor."""
        kind = TileType((self.m, self.k), self.factor)
        return Datum(kind, sample.random.tile(kind))

    def numbered(self, sample: LayoutSample) -> TileType:
        """A type for a value that a rule has by its number: a left factor or a sum."""
        left = TileType((self.m, self.k), self.factor)
        return left if sample.random.chance(0.4) else TileType((self.m, self.n), sample.random.pick((F32, F32, F16)))


def is_product(form: Sexpr) -> bool:
    """Is it a product of the source?"""
    return isinstance(form, List) and form.head in ("mmaf", "mmai")


# --- placed products


def multiplied(sample: LayoutSample, head: str, items: Sequence[Sexpr]) -> Held:
    """A product by an atom of a choice for the types."""
    choice: MmaChoice = sample.interner.attributes[sample.integer(items[3])]
    operands = [_placed(sample, item) for item in items[:3]]
    kinds = [sample.interner.types.id(each.type) for each in operands]
    if isinstance(checked(operands[0].type, TileType).element, IntType):
        signs = [int(each) for each in choice.atom.signed]
        columns, key = [Atom(str(sign), 0) for sign in signs], (*kinds, *signs)
        term = List((Atom("mmai", 0), *_OPERANDS, *columns), 0, 0, 0)
    else:
        key, term = tuple(kinds), List((Atom("mmaf", 0), *_OPERANDS, items[4]), 0, 0, 0)
    layouts = _layouts(sample, head, key, sample.integer(items[3]), operands)
    if head == "p.tcgen05_negated" or (head.startswith("p.wgmma") and sample.integer(items[6]) < 0):
        operands[0] = _negated(operands[0])
    for k, (operand, layout) in enumerate(zip(operands, layouts, strict=True)):
        sample.env[f"operand{k}"] = _whole(sample, operand, layout)
    if head == "p.tcgen05_scaled":
        sample.env["operand2"] = _scaled(sample, checked(sample.env["operand2"], Datum), items[6], layouts[2])
    found = sample.draw(term)
    return _in_registers(sample, found, layouts[2])


def scaled(sample: LayoutSample, head: str, items: Sequence[Sexpr]) -> Held:
    """A product whose instruction takes scales too."""
    places = (4, 5) if head == "p.mmaf_scaled" else (6, 7)  # of the scales
    operands = [_placed(sample, items[k]) for k in (0, 1, 2, *places)]
    key = tuple([sample.interner.types.id(each.type) for each in operands])
    layouts = _layouts(sample, head, key, sample.integer(items[3]), operands)
    whole = [_whole(sample, each, layout) for each, layout in zip(operands, layouts, strict=True)]
    return _in_registers(sample, by_scales(whole), layouts[2])


def by_scales(operands: Sequence[Datum]) -> Datum:
    """The product of two factors onto a sum, by the scales of both."""
    block = Block()
    values = [Value(checked(each.type, Type), block, k) for k, each in enumerate(operands)]
    return evaluate(MmaFScaled(values), list(operands))


def _placed(sample: LayoutSample, item: Sexpr) -> Held | Stored:
    """An operand in registers or in shared memory."""
    found = sample.evaluate(item)
    if not isinstance(found, Held | Stored):
        raise NotCovered("a factor that is not a placed value")
    return found


def _layouts(
    sample: LayoutSample, head: str, key: tuple[int, ...], choice: int, operands: Sequence[Datum]
) -> list[int]:
    """Where the atom reads its operands; those in shared memory in a layout of one of its choices for these types."""
    names = CHOICES[head]
    rows: list[list[int]] = []
    for question in dict.fromkeys(QUESTIONS[name][0] for name in names if len(QUESTIONS[name][1]) == len(key)):
        for name, row in sample.oracle.answers(question, key):
            if name in names and row[len(key)] == choice:
                rows.append(list(row[len(key) + 1 :]))
    if not rows:
        raise Unsound("an atom that does not multiply these types")
    for row in rows:
        pairs = zip(operands, row, strict=True)
        if all(not isinstance(each, Stored) or sample.oracle.layouts[id_] == each.layout for each, id_ in pairs):
            return row
    raise Unsound("a factor is in shared memory, but the instruction does not read it there")


def _whole(sample: LayoutSample, operand: Held | Stored, layout: int) -> Datum:
    """The elements of an operand, from where the atom reads them."""
    type_ = checked(operand.type, TileType)
    if isinstance(operand, Stored):
        elements = np.asarray(operand.data)[sample.oracle.shared(layout).offset_map()]
    else:
        elements = sample.gathered(operand, sample.oracle.layout(layout))
    return Datum(type_, elements.reshape(type_.shape))


def _negated(operand: Held | Stored) -> Any:
    """A factor under imm-scale-a of -1."""
    data: Array = np.negative(operand.data)
    if isinstance(operand, Stored):
        return Stored(operand.type, data, operand.layout)
    return Held(operand.type, data, operand.layout)


def _scaled(sample: LayoutSample, before: Datum, factor: Sexpr, layout: int) -> Datum:
    """The previous sum, scaled by a factor in the layout in which threads load it."""
    by = sample.placed(factor)
    if by.layout != sample.oracle.layout(layout):
        raise Unsound("a sum is scaled in a layout that differs from its factor's")
    return scaled_sum(sample, before, _whole(sample, by, layout))


def scaled_sum(sample: LayoutSample, sum_: Datum, factor: Datum) -> Datum:
    """A sum times its factor, rounded to nearest."""
    sample.env["operand0"], saved = sum_, sample.env.get("operand0")
    sample.env["operand1"], other = factor, sample.env.get("operand1")
    found = sample.draw(List((Atom("mulf", 0), *_OPERANDS[:2], Atom("0", 0), Atom("0", 0)), 0, 0, 0))
    for name, value in (("operand0", saved), ("operand1", other)):
        if value is not None:
            sample.env[name] = value
    return found


def _in_registers(sample: LayoutSample, found: Datum, id_: int) -> Held:
    layout = sample.oracle.layout(id_)
    return Held(found.type, np.asarray(found.data).reshape(-1)[layout.element_map()], layout)


# --- what rules say of products


def rescaled(sample: LayoutSample, arguments: Sequence[Sexpr], form: List) -> None:
    """A product n whose previous sum is k scaled by m: `form` is the product."""
    number, before, factor = (sample.leaf("N", (each,)) for each in arguments)
    sample.require(before.type == factor.type == number.type)
    sample.env[checked(form.items[3], Atom).text] = scaled_sum(sample, before, factor)
    sample.renamed(sample.leaf("N", arguments[:1]), sample.draw(form))


# --- scales without signs


def without_signs(sample: LayoutSample, head: str, arguments: Sequence[Sexpr]) -> None:
    """Bind the columns of a choice whose instruction reads scales without their sign: bytes of two f4 by scales of
    f8E4M3FN.
    """
    m, n, k = (sample.random.pick(sizes) for sizes in ((128, 256), (64, 128), (64, 128)))
    blocks = k // NARROW_BLOCK
    shapes = ((m, k), (k, n), (m, n), (m, blocks), (blocks, n))
    elements = (I8, I8, F32, F8E4M3FN, F8E4M3FN)
    key = tuple([sample.interner.types.id(TileType(*each)) for each in zip(shapes, elements, strict=True)])
    rows = [row for name, row in sample.oracle.answers("ask_scaled", key) if name == head]
    sample.require(bool(rows))
    for argument, column in zip(arguments, sample.random.pick(rows), strict=True):
        assert isinstance(argument, Atom)
        sample.require(sample.is_free(argument))
        sample.env[argument.text] = column


def stated_choice(sample: LayoutSample, head: str, arguments: Sequence[Sexpr], signless: bool) -> None:
    """A choice for products by scales that a rule states: its instruction is one for these types, reads its operands in
    these layouts, and gives what the source says. signless: scales are drawn without signs.
    """
    row = tuple([sample.integer(each) for each in arguments])
    key, choice = row[:5], row[5]
    names = (head, *(name for name, exact in UNSIGNED.items() if exact == head))
    if not any(name in names and found == row for name, found in sample.oracle.answers("ask_scaled", key)):
        raise Unsound("an atom that does not read these types in these layouts")
    kinds = [checked(sample.interner.types[each], TileType) for each in key]
    operands = [factor(Datum(kind, sample.random.tile(kind)), k) for k, kind in enumerate(kinds)]
    if signless:
        operands[3:] = map(magnitude, operands[3:])
    atom = checked(sample.interner.attributes[choice], MmaChoice).atom
    assert isinstance(atom, MmaAtom | TensorAtom)
    assert atom.scales is not None
    read = [*operands[:3], *(map(magnitude, operands[3:]) if atom.scales.unsigned else operands[3:])]
    if not sample.same(by_scales(operands), by_scales(read)):
        raise Unsound("an atom reads scales without their sign")


def factor(operand: Datum, place: int) -> Datum:
    """An operand of a product: of bytes their f4, along k (the last dimension of A, the first of B), lower first."""
    kind = checked(operand.type, TileType)
    if kind.element != I8:
        return operand
    rows = operand.data.view(np.uint8) if place == 0 else operand.data.view(np.uint8).T
    halves = np.stack((rows & 15, rows >> 4), axis=-1).reshape(rows.shape[0], -1).view(dtype_of(F4E2M1FN))
    data = halves if place == 0 else np.ascontiguousarray(halves.T)
    return Datum(TileType(data.shape, F4E2M1FN), data)


def magnitude(scale: Datum) -> Datum:
    """Scales without their sign."""
    return Datum(scale.type, np.abs(scale.data))
