"""Predicates in chains: what a choice takes of both sides once, what several chains share, masks of one word."""

from __future__ import annotations

import re
from functools import partial, reduce

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


def joined(text: str) -> int:
    """Steps that join predicates."""
    return len(re.findall(r"(?:and|or|xor)\.pred|setp\.\w+\.(?:and|or|xor)\.", text))


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
    assert joined(text) <= 5  # the shared term, and one for each choice


@pytest.mark.parametrize(("classes", "steps"), [([arith.OrI], 6), ([arith.AndI], 6), ([arith.OrI, arith.AndI], 12)])
def test_chains_share_the_terms_that_they_have_in_common(classes: list[type], steps: int) -> None:
    """x | p | q | r of four x: p | q | r is made once; so for ands, of the same terms too."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        terms = [bit(k, t, place) for place in range(3)]
        return flags(
            k, [reduce(partial(k.value, cls), terms, bit(k, x, place)) for cls in classes for place in range(4)]
        )

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        terms = [t >> place & 1 != 0 for place in range(3)]
        return numbers([reduce(LOGIC[cls], terms, x >> place & 1 != 0) for cls in classes for place in range(4)])

    assert joined(checked(make, wanted)) <= steps


def test_two_predicates_stay_in_their_chains() -> None:
    """x | p | q is one PLOP3; with p | q made before it, more."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        terms = [bit(k, t, place) for place in (0, 1)]
        return flags(k, [reduce(partial(k.value, arith.OrI), terms, bit(k, x, place)) for place in range(4)])

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return numbers([(x >> place & 1 | t & 1 | t >> 1 & 1) != 0 for place in range(4)])

    assert joined(checked(make, wanted)) == 8


def test_masks_of_one_word_are_compared_together_where_others_read_them() -> None:
    """A byte that is not 0, and whether it or the next is not: the second is a mask of both."""

    def make(k: Kernel, t: Value, x: Value) -> Value:
        def found(number: Value, mask: int) -> Value:
            masked = bits(k, arith.AndI, number, mask)
            return k.value(arith.CmpI, masked, k.const(0), types=[I1], predicate="ne")

        first, second, other = found(x, 0x0F), found(x, 0xF0), found(t, 0x18)
        whole = k.value(arith.CmpI, x, k.const(0), types=[I1], predicate="ne")
        either = [k.value(arith.OrI, first, second), k.value(arith.OrI, whole, other), k.value(arith.OrI, first, other)]
        return flags(k, [first, second, other, whole, *either])

    def wanted(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        first, second, other, whole = (each != 0 for each in (x & 0x0F, x & 0xF0, t & 0x18, x))
        return numbers([first, second, other, whole, first | second, whole | other, first | other])

    text = checked(make, wanted)
    assert ", 255;" in text
    assert joined(text) == 1  # of two masks, neither of which is the other word's
