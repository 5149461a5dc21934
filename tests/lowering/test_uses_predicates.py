"""Predicates in chains: what a choice takes of both sides once, what several chains share, masks of one word."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ir.core import Value
from ir.dialects import arith
from ir.types import I1, I32
from tests.lowering.nvgpu_harness import Kernel
from tests.lowering.test_uses import bits, checked

LOGIC = {arith.OrI: np.logical_or, arith.AndI: np.logical_and, arith.XOrI: np.logical_xor}


def bit(k: Kernel, x: Value, place: int) -> Value:
    """Is a bit of a number set?"""
    return k.value(arith.CmpI, bits(k, arith.AndI, x, 1 << place), k.const(0), types=[I1], predicate="ne")


def flags(k: Kernel, predicates: list[Value]) -> Value:
    """A number whose bits are these predicates."""
    total = k.const(0)
    for place, each in enumerate(predicates):
        total = k.value(arith.OrI, total, k.value(arith.Select, each, k.const(1 << place), k.const(0), types=[I32]))
    return total


def numbers(predicates: list[np.ndarray]) -> np.ndarray:
    return sum(each.astype(np.int32) << place for place, each in enumerate(predicates))


@pytest.mark.parametrize("cls", LOGIC)
@pytest.mark.parametrize("then", [False, True])
def test_choices_with_one_term_share_it(cls: type, then: bool) -> None:
    """c ? x | a : x of four x: x | (c & a), with one term for all."""
    logic = LOGIC[cls]

    def make(k: Kernel, t: Value, x: Value) -> Value:
        condition, term = bit(k, t, 0), bit(k, x, 20)
        made = []
        for place in range(4):
            plain = bit(k, x, place)
            arms = [k.value(cls, plain, term), plain]
            made.append(k.value(arith.Select, condition, *(arms if then else arms[::-1]), types=[I1]))
        return flags(k, made)

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        condition, term = t & 1 == (1 if then else 0), x >> 20 & 1 != 0
        plain = [x >> place & 1 != 0 for place in range(4)]
        return numbers([np.where(condition, logic(each, term), each) for each in plain])

    text = checked(make, wanted)
    both = len(re.findall(r"(?:and|or|xor)\.pred|setp\.\w+\.(?:and|or|xor)\.", text))
    assert both <= 5  # the shared term, and one for each choice
