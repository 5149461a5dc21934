"""What the results of a program may be under permissions: its source followed with bounds on every rounding.

Beside each float tile that the interpreter computes stand the real numbers that it is near, their sizes (the sum of the
magnitudes of all terms that they are sums of: their condition), and how far any permitted way of computing them may be
off. A sum in another order errs by roundings of its size, not of its value; so does a difference that is scaled term by
term. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, sections 3.3 and 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import repeat

import numpy as np

from ir.core import Op, Value
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import Array
from ir.dialects.cuda_tile.constraints import TileOp, tile_type
from ir.interpreter.block import Environment, Grid, Launch, Outcome, TileBlock
from ir.interpreter.run import run
from ir.interpreter.views import view_index, view_operand
from ir.records import dataclass
from ir.types import FloatType, TileType
from tilesat.spec import Argument, is_numpy

UNITS = {"f64": 53, "f32": 24, "tf32": 11, "f16": 11, "bf16": 8, "f8E4M3FN": 4, "f8E5M2": 3}
"""Bits of precision, the leading one among them."""
LEAST = {"f64": 1022, "f32": 126, "tf32": 126, "f16": 14, "bf16": 126, "f8E4M3FN": 6, "f8E5M2": 14}
"""The smallest normal number is 2 to the power of minus this."""
MOST = {"f64": 1e308, "f32": 3.4e38, "tf32": 3.4e38, "f16": 65504.0, "bf16": 3.38e38, "f8E4M3FN": 448.0,
        "f8E5M2": 57344.0}  # fmt: skip
FUNCTION_ULPS = 4
"""Units in the last place that a function may be off: those of CUDA's single-precision library have 2 (CUDA C++
Programming Guide, Mathematical Functions), approximations and what replaces them 4."""
SLACK = 2.0
"""What bounds are multiplied by: they are sums of first-order terms, computed in f64."""


class UndecidedError(Exception):
    """What a program does depends on roundings: bounds say nothing of it."""


@dataclass(frozen=True)
class Permitted:
    """What is permitted, in terms of roundings. reordered: sums and products in any order; approximate: functions of
    f32 by their approximations; flushed: subnormals may be zeros; steps: roundings of what a loop rescales.
    """

    reordered: bool = False
    approximate: bool = False
    flushed: bool = False
    steps: int = 1

    @staticmethod
    def by(fast: Collection[str], steps: int) -> Permitted:
        """By names of `--fast`, for loops of so many steps."""
        fast = set(fast)
        return Permitted(
            "reassoc" in fast,
            not fast.isdisjoint(("afn", "triton", "arcp")),
            not fast.isdisjoint(("ftz", "triton")),
            4 + 2 * steps if "reassoc" in fast else 1,
        )


@dataclass(frozen=True)
class Near:
    """Real numbers, their sizes, and how far a result may be off them; inf where nothing is known."""

    real: Array
    size: Array
    error: Array

    def moved(self, move: Callable[[Array], Array]) -> Near:
        """The same with its elements elsewhere."""
        return Near(move(self.real), move(self.size), move(self.error))


About = tuple[Array, Array]
"""Of an array: the real numbers that its elements are near, and how far they may be off."""


def exactly(found: Array) -> Near:
    """Numbers as they are."""
    real = found.astype(np.float64)
    return Near(real, np.abs(real), np.zeros(real.shape))


class Followed(TileBlock):
    """A tile block whose float tiles are followed. `kept`: what is known, by the identity of arrays, which it
    holds."""

    __slots__ = ("kept", "permitted", "plain", "stored")

    def __init__(self, permitted: Permitted, launch: Launch, block_id: Grid, environment: Environment):
        super().__init__(launch, block_id, environment)
        self.permitted = permitted
        self.kept: dict[int, tuple[Array, Near | Array]] = {}
        self.plain = False
        self.stored: dict[int, tuple[float, float]] = {}

    def operation(self, op: Op) -> Outcome | None:
        """One; what it computes is followed, unless it is inside of a fold."""
        if self.plain or isinstance(op, ct.For | ct.Loop | ct.If):
            return super().operation(op)
        self.plain = isinstance(op, ct.Combining)
        ended = super().operation(op)
        self.plain = False
        if isinstance(op, TileOp) and ended is None:
            self.follow(op)
        return ended

    def near(self, value: Value) -> Near:
        """How near a float tile is to real numbers."""
        array = self.array(value)
        found = self.kept.get(id(array))
        return found[1] if found is not None and isinstance(found[1], Near) else exactly(np.asarray(array))

    def unsure(self, value: Value) -> Array:
        """Where a tile of truth values depends on roundings."""
        array = self.array(value)
        found = self.kept.get(id(array))
        return found[1] if found is not None and isinstance(found[1], np.ndarray) else np.zeros(np.shape(array), bool)

    def keep(self, value: Value, about: Near | Array) -> None:
        """Note what is known of a result; the interpreter's own array tells it from others."""
        array = np.array(self.array(value))
        self.environment[value] = array
        self.kept[id(array)] = array, about

    def follow(self, op: TileOp) -> None:
        """What is known of an operation's results."""
        if isinstance(op, ct.StoreView):
            self.store(op)
            return
        if isinstance(op, ct.StorePtr | ct.AtomicRMW | ct.AtomicCAS | ct.AtomicRedView):
            if any(self.loose(each) for each in op.operands):
                raise UndecidedError(op.name)
            return
        for result in op.results:
            kind = result.type
            if isinstance(kind, TileType) and isinstance(kind.element, FloatType):
                self.keep(result, self.float_of(op, result, str(kind.element)))
            elif isinstance(kind, TileType) and str(kind.element) == "i1":
                self.keep(result, self.truth_of(op, np.shape(self.array(result))))
            elif any(self.loose(each) for each in op.operands):
                raise UndecidedError(op.name)

    def loose(self, value: Value) -> bool:
        """Has an operand of an integer operation any doubt?"""
        array = self.environment[value]
        if id(array) not in self.kept:
            return False
        about = self.kept[id(array)][1]
        return bool(np.any(about.error > 0)) if isinstance(about, Near) else bool(np.any(about))

    def store(self, op: ct.StoreView) -> None:
        """Bounds of what is stored, by address."""
        view, index = view_operand(op.view, self.environment), view_index(self.values(op.index))
        addresses, inside = view.elements(index)
        kind = tile_type(op.tile).element
        if not isinstance(kind, FloatType):
            if self.loose(op.tile):
                raise UndecidedError(op.name)
            return
        about = self.near(op.tile).moved(lambda x: x.reshape(inside.shape))
        found = zip(addresses[inside].tolist(), about.real[inside].tolist(), about.error[inside].tolist(), strict=True)
        self.stored.update((address, (real, error)) for address, real, error in found)

    def truth_of(self, op: TileOp, shape: tuple[int, ...]) -> Array:
        """Where a truth value depends on roundings."""
        if isinstance(op, ct.CmpF):
            a, b = self.near(op.lhs), self.near(op.rhs)
            with np.errstate(all="ignore"):
                doubt = a.error + b.error
                return (doubt > 0) & ~(np.abs(a.real - b.real) > doubt * SLACK)
        floats = [each for each in op.operands if id(self.environment[each]) in self.kept]
        if isinstance(op, ct.Select | ct.Reshape | ct.Broadcast | ct.Permute | ct.AndI | ct.OrI | ct.XorI):
            masks = [self.unsure(each) for each in op.operands]
            if isinstance(op, ct.Reshape | ct.Broadcast | ct.Permute):
                return op.evaluate(masks)
            return np.logical_or.reduce(np.broadcast_arrays(*masks))
        if any(self.loose(each) for each in floats):
            raise UndecidedError(op.name)
        return np.zeros(shape, bool)

    def float_of(self, op: TileOp, result: Value, element: str) -> Near:
        """How near a float result is."""
        found = np.asarray(self.array(result))
        rule = FLOATS.get(type(op))
        if rule is None:
            if any(self.loose(each) for each in op.operands):
                raise UndecidedError(op.name)
            return exactly(found)
        with np.errstate(all="ignore"):
            about = rule(self, op, element)
            if isinstance(op, MOVING):
                return about
            return settled(about, found, element, [self.near(each) for each in floats_of(op)])


MOVING = (ct.Reshape, ct.Broadcast, ct.Permute, ct.Select, ct.NegF, ct.AbsF, ct.Cat, ct.Extract)


def floats_of(op: Op) -> list[Value]:
    """Operands that are float tiles."""
    return [
        each for each in op.operands if isinstance(each.type, TileType) and isinstance(each.type.element, FloatType)
    ]


def settled(about: Near, found: Array, element: str, operands: Sequence[Near]) -> Near:
    """Special values: those that special operands make are certain, those of roundings and overflow are not."""
    real, size, error = about.real, about.size, about.error
    special = ~np.isfinite(real)
    certain = sum(float(np.max(each.error, initial=0.0)) for each in operands) == 0
    soft = (np.abs(real) + error > MOST[element] / 2) & ~special
    given = [~np.isfinite(each.real) for each in operands if each.real.shape == real.shape]
    handed = np.logical_or.reduce(given) if given else np.ones(real.shape, bool)
    soft = soft | (special & ~handed & (not certain))
    soft = soft | (np.isfinite(found.astype(np.float64)) & special)  # what a type without infinities makes of one
    error = np.where(special, 0.0, error)
    error = np.where(soft | np.isnan(error), np.inf, error)
    doubtful = [np.isinf(each.error) for each in operands if each.error.shape == real.shape]
    if doubtful:
        error = np.where(np.logical_or.reduce(doubtful), np.inf, error)
    size = np.where(np.isfinite(size), size, np.abs(real))
    return Near(real, size, error)


Rule = Callable[..., Near]
"""Of a tile block, an operation and the name of its element type."""
OfOne = ct.Exp | ct.Exp2 | ct.Log | ct.Log2 | ct.Sqrt | ct.Rsqrt


def rounded(block: Followed, real: Array, size: Array, error: Array, element: str, ulps: float = 1.0) -> Near:
    """A result with its own rounding: of its size where that may be in another order."""
    allowed = block.permitted
    unit = 2.0 ** -UNITS[element] * ulps * (allowed.steps if allowed.reordered else 1)
    scale = size if allowed.reordered else np.abs(real) + error
    least = 2.0 ** -LEAST[element]
    tiny = least if allowed.flushed else least * 2.0 ** -UNITS[element] * 2
    return Near(real, np.asarray(size), np.asarray(error + scale * unit + tiny))


def _sum(block: Followed, op: ct.AddF | ct.SubF, element: str) -> Near:
    a, b = block.near(op.lhs), block.near(op.rhs)
    real = a.real + b.real if isinstance(op, ct.AddF) else a.real - b.real
    fused = 2.0 ** -UNITS[element] * (a.size + b.size) if block.permitted.reordered else 0.0
    return rounded(block, real, a.size + b.size, a.error + b.error + fused, element)


def _product(block: Followed, op: ct.MulF, element: str) -> Near:
    a, b = block.near(op.lhs), block.near(op.rhs)
    error = np.abs(a.real) * b.error + np.abs(b.real) * a.error + a.error * b.error
    error = np.where((a.error == 0) & (b.error == 0), 0.0, error)
    crossing = (np.isinf(a.real) & (np.abs(b.real) <= b.error) & (b.error > 0)) | (
        np.isinf(b.real) & (np.abs(a.real) <= a.error) & (a.error > 0)
    )
    made = rounded(block, a.real * b.real, a.size * b.size, error, element)
    return Near(np.where(crossing, 0.0, made.real), made.size, np.where(crossing, np.inf, made.error))


def _fused(block: Followed, op: ct.Fma, element: str) -> Near:
    a, b, c = block.near(op.lhs), block.near(op.rhs), block.near(op.acc)
    error = np.abs(a.real) * b.error + np.abs(b.real) * a.error + a.error * b.error + c.error
    return rounded(block, a.real * b.real + c.real, a.size * b.size + c.size, error, element)


def _quotient(block: Followed, op: ct.DivF, element: str) -> Near:
    a, b = block.near(op.lhs), block.near(op.rhs)
    real, distance = a.real / b.real, np.abs(b.real) - b.error
    error = (a.error + np.abs(real) * b.error) / distance
    error = np.where((distance > 0) | (b.error == 0), np.where(a.error + b.error == 0, 0.0, error), np.inf)
    size = np.where(np.isfinite(real), a.size * b.size / (b.real * b.real), np.abs(real))
    lost = (np.abs(b.real) >= 2.0**125) | (np.abs(b.real) < 2.0**-125)  # 1 / y, and div.approx of large divisors
    error = np.where(lost & np.isfinite(b.real) & (b.real != 0) & block.permitted.approximate, np.inf, error)
    return rounded(block, real, size, error, element, FUNCTION_ULPS)


def _function(apply: Callable[[Array], Array], slope: Callable[[Array, Array], Array]) -> Rule:
    """Of one operand: how it is computed, and by how much an error of the operand moves it."""

    def rule(block: Followed, op: OfOne, element: str) -> Near:
        a = block.near(op.source)
        real, moved = apply(a.real), a.error
        if block.permitted.approximate and isinstance(op, ct.Exp | ct.Exp2):
            moved = moved + a.size * 2.0 ** -UNITS[element] * 2 * block.permitted.steps
        error = np.where(np.isfinite(a.real) & (moved > 0), slope(a.real, moved), 0.0)
        if block.permitted.flushed and isinstance(op, ct.Sqrt | ct.Rsqrt):
            error = np.where((a.real > 0) & (a.real - a.error < 2.0**-125), np.inf, error)
        return rounded(block, real, np.abs(real), error, element, FUNCTION_ULPS)

    return rule


def _root_slope(x: Array, error: Array) -> Array:
    return np.where(x - error > 0, error / np.sqrt(np.maximum(x - error, 1e-300)), np.inf)


def _reciprocal_root_slope(x: Array, error: Array) -> Array:
    low = np.maximum(x - error, 1e-300)
    return np.where(x - error > 0, error / (low * np.sqrt(low)), np.inf)


def _logarithm_slope(x: Array, error: Array) -> Array:
    return np.where(x - error > 0, 2 * error / np.maximum(x - error, 1e-300), np.inf)


def _extremum(block: Followed, op: ct.MaxF | ct.MinF, element: str) -> Near:
    a, b = block.near(op.lhs), block.near(op.rhs)
    return extreme(a, b, np.fmax if isinstance(op, ct.MaxF) else np.fmin, bool(op.propagate_nan))


def extreme(a: Near, b: Near, choose: np.ufunc, propagate: bool) -> Near:
    """The larger or smaller one: one that is certain to lose does not count."""
    real = choose(a.real, b.real)
    if propagate:
        real = np.where(np.isnan(a.real) | np.isnan(b.real), np.nan, real)
    apart = np.abs(a.real - b.real) > (a.error + b.error) * SLACK
    apart = apart | ~(np.isfinite(a.real) & np.isfinite(b.real))
    first = real == a.real
    error = np.where(apart, np.where(first, a.error, b.error), np.maximum(a.error, b.error))
    size = np.where(apart, np.where(first, a.size, b.size), np.maximum(a.size, b.size))
    return Near(real, size, error)


def _select(block: Followed, op: ct.Select, element: str) -> Near:
    a, b, chosen = block.near(op.val_if_true), block.near(op.val_if_false), block.array(op.cond)
    real, size = np.where(chosen, a.real, b.real), np.where(chosen, a.size, b.size)
    error = np.where(chosen, a.error, b.error)
    unsure = block.unsure(op.cond)
    both = np.abs(a.real - b.real) + a.error + b.error
    both = np.where((a.real == b.real) | (np.isnan(a.real) & np.isnan(b.real)), a.error + b.error, both)
    return Near(real, size, np.where(unsure, np.where(np.isnan(both), np.inf, both), error))


def _converted(block: Followed, op: ct.FToF, element: str) -> Near:
    a, before = block.near(op.from_), str(tile_type(op.from_).element)
    if UNITS[element] >= UNITS[before]:
        return a
    return rounded(block, a.real, a.size, a.error, element)


def _moved(block: Followed, op: ct.Reshape | ct.Broadcast | ct.Permute, element: str) -> Near:
    return block.near(op.operands[0]).moved(lambda x: op.evaluate([x]))


def _signed(block: Followed, op: ct.NegF | ct.AbsF, element: str) -> Near:
    a = block.near(op.source)
    return Near(-a.real if isinstance(op, ct.NegF) else np.abs(a.real), a.size, a.error)


def _multiplied(block: Followed, op: ct.MmaF, element: str) -> Near:
    a, b, c = block.near(op.lhs), block.near(op.rhs), block.near(op.acc)
    size = a.size @ b.size + c.size
    error = np.abs(a.real) @ b.error + a.error @ np.abs(b.real) + a.error @ b.error + c.error
    real, unit = a.real @ b.real + c.real, 2.0 ** -UNITS[element]
    error = error + (a.real.shape[-1] + 2) * unit * size
    rows, columns = np.any(np.isinf(a.error), axis=-1, keepdims=True), np.any(np.isinf(b.error), axis=-2, keepdims=True)
    unknown = np.logical_or(rows, columns)
    lost = [(np.abs(each.real) <= each.error) & (each.error > 0) for each in (a, b)]  # times infinity it may be NaN
    crossing = np.isinf(a.real).astype(np.float64) @ lost[1] + lost[0].astype(np.float64) @ np.isinf(b.real)
    return unless(unknown | np.isinf(c.error) | (crossing > 0), rounded(block, real, size, error, element))


def unless(unknown: Array, about: Near) -> Near:
    """What is known of a result, except elements whose value is unknown."""
    return Near(np.where(unknown, 0.0, about.real), about.size, np.where(unknown, np.inf, about.error))


def _folded(block: Followed, op: ct.Reduce | ct.Scan, element: str) -> Near:
    """A fold or a scan of one tile by one operation."""
    made, dim = op.body.block.ops[0], op.dim
    a = block.near(op.operands[0])
    if len(op.operands) != 1 or len(op.body.block.ops) != 2:
        raise UndecidedError(op.name)
    scan, back = isinstance(op, ct.Scan), bool(op.attributes.get("reverse", False))

    def along(function: np.ufunc, x: Array) -> Array:
        if not scan:
            return function.reduce(x, axis=dim)
        turned = np.flip(x, dim) if back else x
        found = function.accumulate(turned, axis=dim)
        return np.flip(found, dim) if back else found

    if isinstance(made, ct.AddF):
        size = along(np.add, a.size)
        error = along(np.add, a.error) + a.real.shape[dim] * 2.0 ** -UNITS[element] * size
        unknown = along(np.logical_or, np.isinf(a.error))
        return unless(unknown, rounded(block, along(np.add, a.real), size, error, element))
    if isinstance(made, ct.MaxF | ct.MinF) and not scan:
        choose = np.fmax if isinstance(made, ct.MaxF) else np.fmin
        real = choose.reduce(a.real, axis=dim)
        if made.propagate_nan:
            real = np.where(np.isnan(a.real).any(axis=dim), np.nan, real)
        close, sizes = (np.where(np.isfinite(a.real), each, 0.0) for each in (a.error, a.size))
        size = np.where(np.isfinite(real), np.max(sizes, axis=dim), np.abs(real))
        return Near(real, size, np.max(close, axis=dim))
    if np.any(a.error > 0):
        raise UndecidedError(op.name)
    return exactly(np.asarray(block.array(op.results[0])))


FLOATS: dict[type[Op], Rule] = {
    ct.AddF: _sum, ct.SubF: _sum, ct.MulF: _product, ct.Fma: _fused, ct.DivF: _quotient,
    ct.MaxF: _extremum, ct.MinF: _extremum, ct.Select: _select, ct.FToF: _converted,
    ct.Reshape: _moved, ct.Broadcast: _moved, ct.Permute: _moved, ct.NegF: _signed, ct.AbsF: _signed,
    ct.MmaF: _multiplied, ct.Reduce: _folded, ct.Scan: _folded,
    ct.Exp: _function(np.exp, lambda x, e: np.exp(x) * np.expm1(np.minimum(e, 700.0))),
    ct.Exp2: _function(np.exp2, lambda x, e: np.exp2(x) * np.expm1(np.minimum(e, 700.0))),
    ct.Log: _function(np.log, _logarithm_slope),
    ct.Log2: _function(np.log2, _logarithm_slope),
    ct.Sqrt: _function(np.sqrt, _root_slope),
    ct.Rsqrt: _function(lambda x: 1 / np.sqrt(x), _reciprocal_root_slope),
}  # fmt: skip


def bounds(
    module: ct.Module,
    entry: str,
    grid: Sequence[int],
    arguments: Sequence[Argument | int | float],
    permitted: Permitted,
) -> list[About | None]:
    """Of each float array among the arguments, after a run on them in place: the real numbers that its elements are
    near, and how far they may be off; None of other arguments. Raises UndecidedError where roundings decide more.
    """
    blocks: list[Followed] = []

    def followed(launch: Launch, block_id: Grid, environment: Environment) -> Followed:
        blocks.append(Followed(permitted, launch, block_id, environment))
        return blocks[-1]

    run(module, grid, arguments, entry, output=lambda _: None, block=followed)
    found: list[About | None] = []
    first = blocks[0]
    (kernel,) = (each for each in module.entries if each.sym_name == entry)
    stored = {address: about for block in blocks for address, about in block.stored.items()}
    for parameter, argument in zip(kernel.parameters, arguments, strict=True):
        if not is_numpy(argument) or argument.dtype.kind in "biu":
            found.append(None)
            continue
        base, step = int(first.array(parameter)), argument.dtype.itemsize
        plain = zip(argument.astype(np.float64).reshape(-1).tolist(), repeat(0.0))
        pairs = [stored.get(base + place * step, each) for place, each in enumerate(plain)]
        about = np.array(pairs, np.float64).reshape(*argument.shape, 2)
        found.append((about[..., 0], about[..., 1]))
    return found


def outside(found: Array, wanted: Array, about: About | None) -> str:
    """How a result differs from what it may be: the interpreter's, or a number within the bound of it; "" where it
    does not.
    """
    if about is None:
        return "" if np.array_equal(found, wanted) else "integers differ"
    real, error = about
    with np.errstate(all="ignore"):
        f, w = found.astype(np.float64), wanted.astype(np.float64)
        same = (f == w) | (np.isnan(f) & np.isnan(w))
        near = np.abs(f - real) <= error * SLACK
        bad = ~(same | near | np.isinf(error))
    if not bad.any():
        return ""
    at = tuple(int(n) for n in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} differ, at {at} {f[at]:.9g} for {w[at]:.9g}, bound {error[at]:.3g}"
