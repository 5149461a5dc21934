"""Our verifier against the one inside NVIDIA's disassembler: changed programs that one takes, the other takes.

Where nvidia-cuda-tileiras is not installed, only our own half runs: each changed program is judged without a crash.
"""

import dataclasses
import random
from pathlib import Path

import pytest

from ir.bytecode import write_bytecode
from ir.core import TileError, verify
from ir.dialects.cuda_tile.attributes import TextEnum
from ir.text import parse
from ir.types import SCALARS, TOKEN, PointerType, TileType, TileViewType
from tests.ir.samples import SAMPLES, SINCE, program
from tests.ir.test_kernels import find_disassembler, told_by

KERNELS = sorted((Path(__file__).resolve().parent / "kernels").glob("*.mlir"))
ELEMENTS = list(SCALARS.values())
STRICTER = ("results must have one type", "has a padding value", "operands: types are (", "attribute 'value'")
"""Where ours says no on purpose: text has one type for all sizes; an update has no use for padding; a reduction yields
scalars; an element that the literal's dtype cannot hold was never written."""


def changed_type(type_, chance):
    if isinstance(type_, TileType):
        shape = list(type_.shape)
        kind = chance.randrange(4)
        if kind == 0:
            return TileType(type_.shape, chance.choice([*ELEMENTS, PointerType(chance.choice(ELEMENTS))]))
        if kind == 1 and shape:
            at = chance.randrange(len(shape))
            shape[at] = max(1, chance.choice([shape[at] * 2, shape[at] // 2]))
        elif kind == 2 and shape:
            shape.pop()
        else:
            shape.append(chance.choice([1, 2]))
        return TileType(tuple(shape), type_.element)
    if isinstance(type_, TileViewType):
        kind = chance.randrange(3)
        if kind == 0:
            return dataclasses.replace(type_, padding=chance.choice([None, "zero", "nan"]))
        if kind == 1:
            return dataclasses.replace(type_, tile=tuple(chance.choice([n, n * 2]) for n in type_.tile))
        return type_.view
    return TOKEN


def visible(op):
    """Every value that an operation may name."""
    found, inner = [], op
    while inner is not None and inner.parent is not None:
        block = inner.parent
        found += block.args
        for each in block.ops:
            if each is inner:
                break
            found += each.results
        inner = block.parent_op
    return found


def change(module, chance):
    """One edit of one operation: a result's type, an operand, an enumeration, a flag or a number."""
    op = chance.choice([o for e in module.entries for o in e.body.block.ops])
    for inner in chance.choices(list(op.walk()), k=1):
        op = inner
    kind = chance.randrange(3)
    if kind == 0 and op.results:
        value = chance.choice(op.results)
        value.type = changed_type(value.type, chance)
    elif kind == 1 and op.operands:
        op.operands[chance.randrange(len(op.operands))] = chance.choice(visible(op))
    else:
        for attr in op.info.attributes:
            old = op.attributes.get(attr.name, attr.default)
            if issubclass(attr.kind, TextEnum):
                op.attributes[attr.name] = chance.choice([*attr.kind, *([None] if attr.default is None else [])])
            elif attr.kind is bool:
                op.attributes[attr.name] = not old
            elif attr.kind is int:
                op.attributes[attr.name] = chance.choice([0, 1, 2, 3, 5, 16])


def sweep(count, seed, folder):
    chance = random.Random(seed)
    texts = [path.read_text() for path in KERNELS]
    texts += [program(right) for name, right, *_ in SAMPLES if SINCE.get(name, (13, 1)) <= (13, 5)]
    tool = find_disassembler()
    judged = {True: 0, False: 0}
    for number in range(count):
        module = parse(chance.choice(texts))
        change(module, chance)
        try:
            data = write_bytecode(module, (13, 5))
        except (TileError, TypeError, ValueError, AttributeError):
            continue  # nothing that bytecode could hold
        ours = ""
        try:
            verify(module)
        except TileError as error:
            ours = error.message
        judged[not ours] += 1
        if tool is None or any(part in ours for part in STRICTER):
            continue
        theirs = told_by(tool, data, folder)
        assert (theirs is None) == bool(ours), (number, ours or "accepted", theirs)
    assert min(judged.values()) > count // 20, judged


def test_the_same_programs_are_accepted(tmp_path):
    sweep(250, 11, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_same_of_many_programs_are_accepted(seed, tmp_path):
    sweep(2500, 40 + seed, tmp_path)
