"""What a permission lets a rule change, by the names of `--fast`: two sides are compared exactly but for that.

nsz: zeros are equal whatever their sign. nnan: where the left side is NaN the right one may be anything. contract: the
right side is, bit for bit, what the left side gives with each product fused into the sum that reads it or not, and
nothing between. ftz: the same with each operation flushing subnormal numbers or not. All others let operations round
otherwise (`egraph.soundness.rounding`). Approximations are any number near the exact one: the left side's may be
chosen, the right side's may not, so each is tried with its nearest result and with another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np

from egraph.permissions import (
    AFN,
    BASE_TWO,
    CONTRACT,
    FAST_EXP,
    FAST_SQRT,
    FLUSHED_BASE_TWO,
    FTZ,
    FTZ_FUNCTIONS,
    FULL_DIV,
    NNAN,
    NSZ,
)
from egraph.rule import text
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Datum
from egraph.terms import by_name
from ir.dialects.cuda_tile.attributes import Array
from ir.types import FloatType, TileType

EXACT = frozenset({NSZ, CONTRACT, FTZ, FTZ_FUNCTIONS, NNAN})
"""Permissions under which sides are compared bit by bit."""
APPROXIMATE = frozenset({AFN, FAST_EXP, FULL_DIV, FAST_SQRT, BASE_TWO, FLUSHED_BASE_TWO})
"""Permissions that let functions be approximated."""
FLUSHING = frozenset({FTZ, FTZ_FUNCTIONS, FLUSHED_BASE_TWO})
"""Permissions that let subnormals be zeros."""
FUNCTIONS = ("exp2", "sqrt_", "rsqrt")
"""What flushes by FTZ_FUNCTIONS; by FTZ all operations that can."""


def alternatives(form: Sexpr, allowed: Collection[int]) -> Iterator[Sexpr]:
    """What a term may be computed as, bit for bit, by permissions; unchanged first."""
    fused = contractions(form) if CONTRACT in allowed else iter([form])
    if FTZ in allowed or FTZ_FUNCTIONS in allowed:
        return (each for term in fused for each in flushings(term, FTZ in allowed))
    return fused


def flushings(form: Sexpr, every: bool) -> Iterator[Sexpr]:
    """The term with each operation, or each function, flushing subnormal numbers or not; unchanged first."""
    if isinstance(form, Atom):
        yield form
        return
    for items in product(*(flushings(item, every) for item in form.items)):
        plain = List(items, form.line, form.start, form.end)
        yield plain
        term = by_name().get(form.head)
        if term is not None and term.integers[-1:] == ("flush_to_zero",) and (every or form.head in FUNCTIONS):
            yield List((*items[:-1], Atom("1", form.line)), form.line, form.start, form.end)


def equal_but_zeros(left: Array, right: Array) -> bool:
    """Equality of float tiles, NaNs and both zeros equal."""
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return bool(np.array_equal(left.astype(np.float64), right.astype(np.float64), equal_nan=True))


def but_nans(left: Datum, right: Datum) -> Datum:
    """The right tile with NaN wherever the left one has it."""
    if not isinstance(left.type, TileType) or left.type != right.type or not isinstance(left.type.element, FloatType):
        return right
    with np.errstate(invalid="ignore"):  # NaNs that signal
        missing = np.isnan(np.asarray(left.data).astype(np.float64))
    return replace(right, data=np.where(missing, left.data, right.data))


def written_out(form: Sexpr, named: Mapping[str, List]) -> Sexpr:
    """The form with each variable as the term that it names, if it names one."""
    if isinstance(form, List):
        return List(tuple([written_out(item, named) for item in form.items]), form.line, form.start, form.end)
    return written_out(named[form.text], named) if form.text in named else form


def contractions(form: Sexpr) -> Iterator[Sexpr]:
    """The term with each product fused or not into the sum or difference that reads it; unchanged first.

    Both round alike, or they are not fused: an fma has one rounding and one flag.
    """
    if isinstance(form, Atom):
        yield form
        return
    for items in product(*(contractions(item) for item in form.items)):
        plain = List(items, form.line, form.start, form.end)
        yield plain
        yield from _fused(plain)


def _fused(form: List) -> Iterator[List]:
    if form.head not in ("addf", "subf"):
        return
    left, right, *mode = form.items[1:]
    for factor, other, first in ((left, right, True), (right, left, False)):
        if isinstance(factor, List) and factor.head == "mulf" and [*map(text, factor.items[3:])] == [*map(text, mode)]:
            a, b = factor.items[1:3]
            negated = form.head == "subf"
            yield _term(
                "fma",
                _negative(a) if negated and not first else a,
                b,
                _negative(other) if negated and first else other,
                *mode,
            )


def _negative(form: Sexpr) -> List:
    return _term("negf", form)


def _term(head: str, *items: Sexpr) -> List:
    return List((Atom(head, 0), *items), 0, 0, 0)
