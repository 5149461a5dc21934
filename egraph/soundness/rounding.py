"""Two float terms that are equal as real numbers but round otherwise, compared as closely as numbers allow.

Each term is followed three ways at once: the tile that its operations give, the real numbers it stands for (in 64 bits
of mantissa), and a bound on how far apart the two may be (a running error analysis: Higham, "Accuracy and Stability of
Numerical Algorithms", 2nd ed., section 3.3). Where of each term at most one operation rounds, and nothing comes behind
it but exact products with positive powers of two, both round the same real number once: the sides are equal bit for
bit. Elsewhere they differ by no more than both bounds. Flushing is compared apart: what flushes subnormal operands and
results on the left does so on the right, and nothing else does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from egraph.facts import FLOATS, LITERALS, largest, smallest_normal
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import APPROXIMATIONS, Datum, NotCovered
from egraph.soundness.sample import Sample
from egraph.terms import Signature, by_name
from ir.dialects.cuda_tile.attributes import Array
from ir.records import dataclass
from ir.types import FloatType, TileType

Real = Array  # long doubles
Mask = npt.NDArray[np.bool_]

APPROXIMATE_ULPS = 4
"""Units in the last place that an approximation may be off: ex2.approx, div.approx, div.full and sqrt.approx have 2
(PTX ISA), and what stands for them 2 more."""
SLACK = 1 + 2.0**-20
"""What the bounds themselves may be rounded by."""
_DIRECTED = (1, 2, 3)
_APPROXIMATE = APPROXIMATIONS[0]


@dataclass(frozen=True)
class Licence:
    """What a rule's operations may do, as its left side and its permissions say: directed rounding, flushing,
    approximate functions.
    """

    roundings: frozenset[int]
    flushes: bool
    approximate: bool

    @property
    def directed(self) -> bool:
        """Does an operation round to one side?"""
        return not self.roundings.isdisjoint(_DIRECTED)

    @property
    def symmetric(self) -> bool:
        """Does every operation treat both signs alike?"""
        return self.roundings <= {0, 1}

    def approximates(self, operation: Operation, rounding: list[int]) -> bool:
        """May an operation with this rounding be near its result?"""
        if self.approximate and (operation.function or any(r in APPROXIMATIONS for r in rounding)):
            return True
        return any(r in self.roundings & set(APPROXIMATIONS) for r in rounding)


@dataclass(frozen=True)
class Traced:
    """A term's elements: as computed, as real numbers, the bound between; where nothing was rounded, where at most one
    operation was and then the last; where nothing left the range in which the bound holds.
    """

    found: Array
    real: Real
    error: Real
    exact: Mask
    once: Mask
    ordinary: Mask

    def broadcast(self, found: Array) -> Traced:
        """Each element repeated, as in the tile `found`."""
        real, error = (np.broadcast_to(part, found.shape) for part in (self.real, self.error))
        exact, once, ordinary = (np.broadcast_to(part, found.shape) for part in (self.exact, self.once, self.ordinary))
        return Traced(found, real, error, exact, once, ordinary)

    def negated(self, found: Array) -> Traced:
        """The tile `found`, of the other sign: what was rounded would have been rounded to the other side."""
        return Traced(found, -self.real, self.error, self.exact, self.exact, self.ordinary)


def difference(
    sample: Sample,
    left: Sexpr,
    right: Sexpr,
    ways: Sequence[bool] = (False,),
    approximate: bool = False,
    flushed: bool = False,
) -> str:
    """How the right term differs from the left one by more than rounding allows, where it may replace it and round
    differently; empty if it does not. `ways`: approximations on the right give the nearest number (False), or another;
    `approximate`: functions may be approximated; `flushed`: subnormals may be zeros.
    """
    roundings, flushing = list(columns(sample, left, "rounding")), list(columns(sample, left, "flush_to_zero"))
    licence = Licence(frozenset(roundings), flushed or any(flushing), approximate or _APPROXIMATE in roundings)
    before = trace(sample, left, licence)
    for nudged in ways:
        sample.nudged = nudged
        after = trace(sample, right, licence)
        sample.nudged = False
        wrong = _apart(sample, before, after, right, nudged)
        if not wrong and flushing and all(flushing) and not nudged:
            wrong = _unflushed(sample, left, right, after)
        if wrong:
            return wrong
    return ""


def _apart(sample: Sample, before: Traced, after: Traced, right: Sexpr, nudged: bool) -> str:
    """How far two terms' elements are apart, where that is more than rounding allows; empty where it is not."""
    ordinary = before.ordinary & after.ordinary
    with np.errstate(all="ignore"):
        apart = np.abs(before.found.astype(np.longdouble) - after.found.astype(np.longdouble))
        together = np.abs(before.real - after.real) <= np.ldexp(np.abs(before.real), -58)
        once = ordinary & before.once & after.once & together
        if not nudged and np.any(once & (apart != 0)):
            return "rounded otherwise, where one operation rounds"
        if np.any(ordinary & (apart > (before.error + after.error) * SLACK)):
            return "further apart than their roundings are"
        lost = np.isnan(before.found.astype(np.float64)) != np.isnan(after.found.astype(np.float64))
    return "a NaN is lost" if np.any(lost & _given_nan(sample, right, before.found.shape)) else ""


def columns(sample: Sample, form: Sexpr, name: str) -> Iterator[int]:
    """The numbers in all columns of this name in a term."""
    if isinstance(form, Atom):
        return
    term = _signature(form)
    for at, item in enumerate(form.items[1:]):
        if at < len(term.operands):
            yield from columns(sample, item, name)
        elif term.integers[at - len(term.operands)] == name:
            yield sample.integer(item)


def _signature(form: List) -> Signature:
    found = by_name().get(form.head)
    if found is None:
        raise NotCovered(f"({form.head} ...) is not a term")
    return found


def _given_nan(sample: Sample, form: Sexpr, shape: tuple[int, ...]) -> Mask:
    """Where some operand of the term is a NaN."""
    found = np.zeros(shape, np.bool_)
    for name in names(form):
        value = sample.env.get(name)
        if isinstance(value, Datum) and _is_float(value) and np.shape(value.data) == shape:
            with np.errstate(invalid="ignore"):
                found = found | np.isnan(np.asarray(value.data).astype(np.float64))
    return found


def names(form: Sexpr) -> set[str]:
    """The variables of a term."""
    if isinstance(form, Atom):
        return {form.text}
    return set[str]().union(*[names(item) for item in form.items[1:]])


def _is_float(value: Datum) -> bool:
    return isinstance(value.type, TileType) and isinstance(value.type.element, FloatType)


def _unflushed(sample: Sample, left: Sexpr, right: Sexpr, after: Traced) -> str:
    """Where every operation on the left flushes: the right side sees no subnormal operand, and gives no such result."""
    least = smallest_normal(after.found.dtype)
    with np.errstate(invalid="ignore"):
        size = np.abs(after.found.astype(np.float64))
    ends_flushed = isinstance(left, List) and "flush_to_zero" in _signature(left).integers
    if ends_flushed and np.any((size > 0) & (size < least)):
        return "a subnormal result is not flushed"
    before = dict(sample.env)
    for name in names(right):
        value = sample.env.get(name)
        if isinstance(value, Datum) and _is_float(value):
            sample.env[name] = Datum(value.type, flushed(np.asarray(value.data)))
    again = sample.datum(right)
    sample.env = before
    if not sample.same(Datum(again.type, after.found), again, zeros=True):
        return "a subnormal operand is not flushed"
    return ""


def flushed(data: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    with np.errstate(invalid="ignore"):
        tiny = np.abs(data.astype(np.float64)) < smallest_normal(data.dtype)
    return np.where(tiny, np.copysign(np.zeros((), data.dtype), data), data)


# --- a term, operation by operation


def trace(sample: Sample, form: Sexpr, licence: Licence) -> Traced:
    """A term's elements, followed from its leaves."""
    return _followed(sample, form, licence)[0]


def _followed(sample: Sample, form: Sexpr, licence: Licence) -> tuple[Traced, Datum]:
    """The same, and the term's value: each operation is evaluated once, on its operands' values."""
    if isinstance(form, Atom) or form.head == "constant":
        value = sample.datum(form)
        leaf = _leaf(np.asarray(value.data), licence)
        return leaf if isinstance(form, Atom) else _literal(leaf), value
    term, operation = _signature(form), _OPERATIONS.get(form.head)
    if operation is None and form.head not in ("broadcast", "negf"):
        raise NotCovered(f"the rounding of '{form.head}' is not described")
    followed = [_followed(sample, item, licence) for item in form.items[1 : 1 + len(term.operands)]]
    value = sample.applied(form, [data for _, data in followed])
    operands, found = [traced for traced, _ in followed], np.asarray(value.data)
    if operation is None:
        return operands[0].broadcast(found) if form.head == "broadcast" else operands[0].negated(found), value
    rounding = [
        sample.integer(i)
        for i, c in zip(form.items[1 + len(operands) :], term.integers, strict=True)
        if c == "rounding"
    ]
    element = value.type.element if isinstance(value.type, TileType) else None
    assert isinstance(element, FloatType)
    return _rounded(operation, operands, found, element, rounding, licence), value


def _leaf(found: Array, licence: Licence) -> Traced:
    with np.errstate(invalid="ignore"):
        real = found.astype(np.longdouble)
    all_of = np.ones(found.shape, np.bool_)
    error = np.zeros(found.shape, np.longdouble)
    subnormal = (real != 0) & (np.abs(real) < smallest_normal(found.dtype))
    exact = all_of & ~subnormal if licence.flushes else all_of
    if licence.flushes:
        error = np.where(subnormal, np.abs(real), error)
    return Traced(found, real, error, exact, exact, all_of & np.isfinite(real))


def _literal(leaf: Traced) -> Traced:
    """A literal; of one that rules make, as the real number that it is near."""
    for _, number in LITERALS.values():
        if np.all(leaf.real == np.asarray(number).astype(leaf.found.dtype).astype(np.longdouble)):
            real = np.full_like(leaf.real, number)
            exact = real == leaf.real
            return Traced(leaf.found, real, np.abs(real - leaf.real), exact, exact, leaf.ordinary)
    return leaf


@dataclass(frozen=True)
class Operation:
    """An operation on real numbers: its value, how errors of operands reach it, and where a result is exact."""

    value: Callable[[list[Real]], Real]
    error: Callable[[list[Traced]], Real]
    is_exact: Callable[[Real, list[Real]], Mask]
    function: bool = False


def _rounded(
    operation: Operation,
    operands: list[Traced],
    found: Array,
    element: FloatType,
    rounding: list[int],
    licence: Licence,
) -> Traced:
    """An operation's elements, from those of its operands."""
    least, most = smallest_normal(found.dtype), largest(found.dtype) / 2
    mantissa = FLOATS[element][1]
    unit = np.longdouble(2.0) ** -(mantissa if licence.directed else mantissa + 1)
    approximated = licence.approximates(operation, rounding)
    unit = unit * APPROXIMATE_ULPS if approximated else unit
    with np.errstate(all="ignore"):
        computed = found.astype(np.longdouble)
        real = operation.value([o.real for o in operands])
        error: Real = operation.error(operands)
        if operation.function and not licence.approximate:
            error = np.zeros_like(error)  # only a function's own rounding
        error = error + (np.abs(real) + error) * unit + np.ldexp(np.longdouble(least), -mantissa)
        subnormal = (np.abs(real) - error < least) & (real != 0)
        if licence.flushes:
            error = np.asarray(np.where(subnormal, error + np.abs(real), error))
        rounds = ~operation.is_exact(computed, [o.found.astype(np.longdouble) for o in operands])
        normal = (np.abs(computed) >= least) & np.isfinite(computed)
        exact = np.logical_and.reduce([o.exact for o in operands]) & ~rounds
        if licence.flushes:
            exact = exact & ~subnormal
        once = np.logical_and.reduce([o.exact for o in operands])
        if licence.flushes:
            once = once & ~subnormal
        if approximated and licence.directed:  # the nearest, or another number, but not the one below
            once = np.zeros_like(once)
        once = once | (_kept(operation, operands, least, licence) & normal & ~rounds)
        ordinary = np.logical_and.reduce([o.ordinary for o in operands])
        ordinary = ordinary & (np.abs(computed) < most) & (np.abs(real) < most) & np.isfinite(error)
    return Traced(found, real, error, exact, exact | once, ordinary)


def _is_normal(operand: Traced, least: float) -> Mask:
    return np.abs(operand.found.astype(np.longdouble)) >= least


def _kept(operation: Operation, operands: list[Traced], least: float, licence: Licence) -> Mask:
    """Where an operation changes no digit of an operand that was rounded: a product with a positive power of two, a sum
    with zero; also the difference from zero, where both signs are rounded alike.
    """
    one, other = operands[0], operands[-1]
    first, second = one.once & _is_normal(one, least), other.once & _is_normal(other, least)
    if operation is _OPERATIONS["mulf"]:
        return first & _scales(other) | second & _scales(one)
    if operation is _OPERATIONS["addf"] or operation is _OPERATIONS["subf"]:
        signs = operation is _OPERATIONS["addf"] or licence.symmetric
        return first & other.exact & (other.real == 0) | second & one.exact & (one.real == 0) & signs
    return np.zeros_like(first)


def _scales(operand: Traced) -> Mask:
    """Where the operand is a positive power of two."""
    return operand.exact & (operand.real > 0) & (np.frexp(operand.real)[0] == 0.5)


def _exact_sum(s: Real, a: Real, b: Real) -> Mask:
    """Is s the sum? Of numbers of 24 bits the sum of two is s and an error of 64 bits (Knuth)."""
    total = a + b
    shadow = total - a
    return (total == s) & ((a - (total - shadow)) + (b - shadow) == 0)


def _short(*numbers: Real) -> Mask:
    """Where 64 bits hold a product of two of the numbers: longer ones are not looked at."""
    scaled = [np.ldexp(np.frexp(np.where(np.isfinite(x), x, 0))[0], 32) for x in numbers]
    return np.logical_and.reduce([x == np.rint(x) for x in scaled])


def _sum_error(operands: list[Traced]) -> Real:
    return operands[0].error + operands[1].error


def _quotient_error(operands: list[Traced]) -> Real:
    a, b = operands
    distance = np.abs(b.real) - b.error
    return np.where(distance > 0, (a.error + np.abs(a.real / b.real) * b.error) / distance, np.inf)


def _root_error(operands: list[Traced]) -> Real:
    (a,) = operands
    return a.error / np.sqrt(np.maximum(np.abs(a.real) - a.error, 0))


def _reciprocal_root_error(operands: list[Traced]) -> Real:
    (a,) = operands
    below = np.maximum(np.abs(a.real) - a.error, 0)
    return a.error / (below * np.sqrt(below))


def _product_error(operands: list[Traced]) -> Real:
    a, b = operands[:2]
    found = np.abs(a.real) * b.error + np.abs(b.real) * a.error + a.error * b.error
    return found + operands[2].error if len(operands) == 3 else found


_OPERATIONS: dict[str, Operation] = {
    "addf": Operation(lambda x: x[0] + x[1], _sum_error, lambda s, x: _exact_sum(s, x[0], x[1])),
    "subf": Operation(lambda x: x[0] - x[1], _sum_error, lambda s, x: _exact_sum(s, x[0], -x[1])),
    "mulf": Operation(lambda x: x[0] * x[1], _product_error, lambda s, x: _short(*x) & (x[0] * x[1] == s)),
    "divf": Operation(lambda x: x[0] / x[1], _quotient_error, lambda s, x: _short(s, x[1]) & (s * x[1] == x[0])),
    "fma": Operation(
        lambda x: x[0] * x[1] + x[2], _product_error, lambda s, x: _short(x[0], x[1]) & _exact_sum(s, x[0] * x[1], x[2])
    ),
    "exp": Operation(
        lambda x: np.exp(x[0]), lambda o: np.exp(o[0].real) * np.expm1(o[0].error), lambda s, x: x[0] == 0, True
    ),
    "exp2": Operation(
        lambda x: np.exp2(x[0]),
        lambda o: np.exp2(o[0].real) * np.expm1(o[0].error),
        lambda s, x: x[0] == np.rint(x[0]),
        True,
    ),
    "sqrt_": Operation(lambda x: np.sqrt(x[0]), _root_error, lambda s, x: _short(s) & (s * s == x[0]), True),
    "rsqrt": Operation(
        lambda x: 1 / np.sqrt(x[0]), _reciprocal_root_error, lambda s, x: _short(s) & (s * s * x[0] == 1), True
    ),
}
