"""What a permission lets a rule change, by the names of `--fast`: two sides are compared exactly but for that.

nsz: zeros are equal whatever their sign. contract: the right side is, bit for bit, what the left side gives with each
product fused into the sum that reads it or not, and nothing between. All others let operations round otherwise: the
sides are close, beside the largest number of the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from egraph.facts import largest
from egraph.rule import text
from egraph.sexpr import Atom, List, Sexpr

Array = npt.NDArray[Any]

ROUGH = 0.02
"""Part of the largest number of a tile by which sides may differ that round otherwise: bf16 has 8 bits, and rules of
sums of a few terms lose two or three of them."""


def roughly_equal(left: Array, right: Array) -> bool:
    """Equality of float tiles where operations round otherwise, but for what overflows, or nearly, in one of them."""
    x, y = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(all="ignore"):
        most = 0.5 * largest(left.dtype)  # beyond it one rounding may overflow where two do not
        compared = (np.abs(x) < most) & (np.abs(y) < most)
        scale = float(np.max(np.abs(x[compared]), initial=1.0))
        return bool(np.all(np.isclose(x, y, rtol=ROUGH, atol=ROUGH * scale) | ~compared))


def equal_but_zeros(left: Array, right: Array) -> bool:
    """Equality of float tiles, NaNs and both zeros equal."""
    with np.errstate(invalid="ignore"):  # NaNs that signal
        return bool(np.array_equal(left.astype(np.float64), right.astype(np.float64), equal_nan=True))


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
            yield _term("fma", _negative(a) if negated and not first else a, b,
                        _negative(other) if negated and first else other, *mode)  # fmt: skip


def _negative(form: Sexpr) -> List:
    return _term("negf", form)


def _term(head: str, *items: Sexpr) -> List:
    return List((Atom(head, 0), *items), 0, 0, 0)
