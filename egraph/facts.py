"""Queries of rules on interned ids: shapes and elements of types, dimension maps, literals, assumptions, combiners.

Relations (all columns i64; `ty`, `shape`, `element`, `attr` are interned ids; element ids are type ids):

    tile ty shape element          every tile type; closed under shape x element, so that rules can form new types
    rank ty r, dimension ty d n    rank and size of dimension d
    integer ty width low high      integer tiles: bits and signed limits (i1: 0 and 1)
    floating ty width              float tiles
    pointer ty bytes               pointer tiles: storage of one pointee
    unit_dimensions s t d e        shapes of equal size that differ by size-1 dimensions: dimension d of s is e of t
    joined shape shape shape       the smallest shape that both broadcast to, for shapes of one rank
    permutes attr d e              a permutation: dimension d of the result is e of the source
    identity_permutation attr, composed first second both
    float_splat attr               a float literal of one value, whatever the shape of the constant
    float_is attr which            splat equal to 1 (1), 2 (2), -1 (-1), +0 (0), -0 (-2)
    literal which element attr     literals that permitted rules make: log2 e (0) and 1 (1) in f32
    float_negated attr attr        splats of opposite sign
    float_reciprocal attr attr     splats c and 1/c of one format, both exact normal powers of two
    dense_range attr low high      integer literals that are no splat
    div_by attr d every along      promises of assume; every 0 where it is not given, d a power of two
    multiple_of attr d             the promised divisor itself
    bounded_below attr n, bounded_above attr n, same_elements attr d n
    within attr low high d         both bounds (those of i64 where one is missing), and what divides those given
    combiner body which            reductions by one operation (egraph.combiners.Combiner)
    widens element element         floats: every value of the first is one of the second
    holds element width             floats: every integer of so many bits, signed or not, is one of them
    symmetric element               floats with a sign that have a NaN: conversions to them keep signs apart
    computed element                floats that have arithmetic (CUDA Tile IR 13.4, element types)
    view_rank ty r                 partition views: rank of the tile
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from egraph.combiners import Body
from egraph.interner import Interner
from ir.dialects.cuda_tile import Bounded, DenseElements, DivBy, SameElements
from ir.dialects.cuda_tile.constraints import ARITHMETIC_FLOATS
from ir.types import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    TF32,
    FloatType,
    IntType,
    PartitionViewType,
    PointerType,
    TileType,
)

if TYPE_CHECKING:
    import numpy.typing as npt

Rows = dict[str, list[tuple[int, ...]]]

DECLARATIONS = """
(relation r.loop_bounds (i64 i64 i64 i64))
(relation r.loop_signed (i64 i64))
(relation r.loop_init (i64 i64 i64))
(relation r.loop_yield (i64 i64 i64))
(relation r.branch_yield (i64 i64 i64))
(relation branch_yield (i64 i64 V))
(relation loop_bounds (i64 V V V))
(relation loop_init (i64 i64 V))
(relation loop_yield (i64 i64 V))
(relation tile (i64 i64 i64))
(relation rank (i64 i64))
(relation dimension (i64 i64 i64))
(relation integer (i64 i64 i64 i64))
(relation floating (i64 i64))
(relation pointer (i64 i64))
(relation unit_dimensions (i64 i64 i64 i64))
(relation joined (i64 i64 i64))
(relation permutes (i64 i64 i64))
(relation identity_permutation (i64))
(relation composed (i64 i64 i64))
(relation float_splat (i64))
(relation float_is (i64 i64))
(relation literal (i64 i64 i64))
(relation float_negated (i64 i64))
(relation float_reciprocal (i64 i64))
(relation dense_range (i64 i64 i64))
(relation div_by (i64 i64 i64 i64))
(relation multiple_of (i64 i64))
(relation bounded_below (i64 i64))
(relation bounded_above (i64 i64))
(relation within (i64 i64 i64 i64))
(relation same_elements (i64 i64 i64))
(relation combiner (i64 i64))
(relation widens (i64 i64))
(relation holds (i64 i64))
(relation symmetric (i64))
(relation computed (i64))
(relation view_rank (i64 i64))
(relation allow (i64))
(rule ((r.loop_bounds l a b c)) ((loop_bounds l (N a) (N b) (N c))) :ruleset load :name "load/loop-bounds")
(rule ((r.loop_init l i k)) ((loop_init l i (N k))) :ruleset load :name "load/loop-init")
(rule ((r.branch_yield l i k)) ((branch_yield l i (N k))) :ruleset load :name "load/branch-yield")
(rule ((r.loop_yield l i k)) ((loop_yield l i (N k))) :ruleset load :name "load/loop-yield")
"""

RELATIONS = frozenset(
    line.split()[1] for line in DECLARATIONS.splitlines() if line.startswith("(relation ") and "loop" not in line
)
"""The relations about ids, and permissions."""

LARGEST_DIVISOR = 1 << 30
"""Divisors are powers of two up to this, so that the product of two stays inside an i64; 2^30 bytes is more alignment
than any access asks for."""

FLOATS = {
    F4E2M1FN: (2, 1),
    F8E4M3FN: (4, 3),
    F8E5M2: (5, 2),
    F16: (5, 10),
    BF16: (8, 7),
    TF32: (8, 10),
    F32: (8, 23),
    F64: (11, 52),
}
"""Exponent and mantissa bits (OCP 8-bit floating point; IEEE 754; PTX ISA, alternate floating-point formats)."""

SYMMETRIC = tuple([element for element in FLOATS if element != F4E2M1FN])
"""Those with a sign that have a NaN."""

WIDENING = {
    (a, b)
    for (a, x), (b, y) in itertools.permutations(FLOATS.items(), 2)
    if x[0] <= y[0] and x[1] <= y[1] and a != F8E5M2
}
"""Pairs where the second format holds every value of the first, and a conversion back gives it back. The infinities of
f8E5M2 come back as its largest numbers: conversions to f8 saturate.
"""

ONE, TWO, MINUS_ONE, ZERO, MINUS_ZERO = 1, 2, -1, 0, -2


def power_of_two_divisor(value: int) -> int:
    """The largest power of two that divides `value`, at most LARGEST_DIVISOR; 0 is divisible by all."""
    return min(value & -value, LARGEST_DIVISOR) if value else LARGEST_DIVISOR


LITERALS = {"exp": (0, 1.4426950408889634), "divf": (1, 1.0)}
"""Literals of f32 that rules make of an operation: log2 e for e^x = 2^(x log2 e), 1 for x / y = x (1 / y)."""


def about(interner: Interner, bodies: Sequence[Body], operations: Collection[str] = tuple(LITERALS)) -> Rows:
    """All fact rows for the ids of one program that has these `operations`; interns the types that rules may form from
    those it has, and the literals.
    """
    rows: Rows = defaultdict(list)
    _types(interner, rows)
    if (element := interner.types.find(F32)) is not None:
        for which, number in (LITERALS[name] for name in LITERALS if name in operations):
            literal = DenseElements.of(number, F32)
            rows["literal"].append((which, element, interner.attributes.id(literal)))
    id_ = 0
    while id_ < len(interner.attributes):  # literals intern their negation and reciprocal, which are literals too
        value = interner.attributes[id_]
        if isinstance(value, DenseElements):
            _literal(interner, id_, value, rows)
        elif isinstance(value, DivBy | Bounded | SameElements):
            _promise(id_, value, rows)
        id_ += 1
    _permutations(interner, rows)
    for id_, body in enumerate(bodies):
        if body.combiner is not None:
            rows["combiner"].append((id_, int(body.combiner)))
    return rows


def _types(interner: Interner, rows: Rows) -> None:
    types = interner.types
    tiles = [t for t in types if isinstance(t, TileType)]
    shapes = dict.fromkeys(t.shape for t in tiles)
    elements = dict.fromkeys(t.element for t in tiles)
    joins = {(a, b): join for a, b in itertools.product(list(shapes), repeat=2) if (join := joined(a, b)) is not None}
    shapes |= dict.fromkeys(joins.values())
    for shape, element in itertools.product(shapes, elements):
        types.id(TileType(shape, element))
    for element in elements:
        types.id(element)
    rows["symmetric"] += [(types.id(element),) for element in elements if element in SYMMETRIC]
    rows["computed"] += [(types.id(element),) for element in elements if element in ARITHMETIC_FLOATS]
    for narrow, wide in itertools.permutations([e for e in elements if isinstance(e, FloatType)], 2):
        if (narrow, wide) in WIDENING:
            rows["widens"].append((types.id(narrow), types.id(wide)))
    widths = sorted({element.width for element in elements if isinstance(element, IntType) and element.width > 4})
    for element, width in itertools.product([each for each in ARITHMETIC_FLOATS if each in elements], widths):
        if width <= FLOATS[element][1] + 1:
            rows["holds"].append((types.id(element), width))
    shape_ids = {shape: interner.attributes.id(shape) for shape in shapes}
    for id_, type_ in types.items():
        if isinstance(type_, TileType):
            _tile(interner, id_, type_, shape_ids[type_.shape], rows)
        elif isinstance(type_, PartitionViewType):
            rows["view_rank"].append((id_, len(type_.tile)))
    rows["joined"] += [(shape_ids[a], shape_ids[b], shape_ids[join]) for (a, b), join in joins.items()]
    for source, target in itertools.permutations(shapes, 2):
        for d, e in unit_dimensions(source, target):
            rows["unit_dimensions"].append((shape_ids[source], shape_ids[target], d, e))


def _tile(interner: Interner, id_: int, type_: TileType, shape_id: int, rows: Rows) -> None:
    element = type_.element
    rows["tile"].append((id_, shape_id, interner.types.id(element)))
    rows["rank"].append((id_, len(type_.shape)))
    rows["dimension"] += [(id_, d, n) for d, n in enumerate(type_.shape)]
    if isinstance(element, IntType):
        rows["integer"].append((id_, element.width, *limits(element.width)))
    elif isinstance(element, FloatType):
        rows["floating"].append((id_, element.width))
    else:
        rows["pointer"].append((id_, pointee_bytes(element)))


def limits(width: int) -> tuple[int, int]:
    """Least and greatest signed value; i1 counts as 0 and 1."""
    return (0, 1) if width == 1 else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def pointee_bytes(pointer: PointerType) -> int:
    """Bytes that `offset` advances by for each element."""
    return max(pointer.pointee.width // 8, 1)


def joined(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    """The smallest shape that both broadcast to; None where there is none or the rank is 0."""
    if len(a) != len(b) or not a:
        return None
    fits = all(m == n or 1 in (m, n) for m, n in zip(a, b, strict=True))
    return tuple(map(max, a, b)) if fits else None


def unit_dimensions(source: tuple[int, ...], target: tuple[int, ...]) -> list[tuple[int, int]]:
    """Matching dimensions of two shapes that are equal up to size-1 dimensions; empty where they are not."""
    left = [d for d, n in enumerate(source) if n != 1]
    right = [d for d, n in enumerate(target) if n != 1]
    if [source[d] for d in left] != [target[d] for d in right]:
        return []
    return list(zip(left, right, strict=True))


SMALLEST: dict[str, float] = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}
"""The least positive normal numbers of common dtypes (IEEE 754-2019, 3.6), which NumPy need not be loaded for."""


def _literal(interner: Interner, id_: int, value: DenseElements, rows: Rows) -> None:
    if not value.dtype.startswith(("float", "bfloat")):
        if not value.splat:
            rows["dense_range"].append((id_, int(value.array.min()), int(value.array.max())))
    elif value.splat:
        rows["float_splat"].append((id_,))
        number = float(value.item)
        kinds = {1.0: ONE, 2.0: TWO, -1.0: MINUS_ONE, 0.0: MINUS_ZERO if math.copysign(1, number) < 0 else ZERO}
        if number in kinds:
            rows["float_is"].append((id_, kinds[number]))
        negated = value.like(-number) if number == number else value
        if float(negated.item) == -number:  # false for NaN and for formats without a sign
            rows["float_negated"].append((id_, interner.attributes.id(negated)))
        reciprocal = exact_reciprocal(value)
        if reciprocal is not None:
            rows["float_reciprocal"].append((id_, interner.attributes.id(reciprocal)))


def exact_reciprocal(value: DenseElements) -> DenseElements | None:
    """1 / value where both are normal powers of two of the format: then x / value = x * (1 / value) bit for bit."""
    number = float(value.item)
    if not math.isfinite(number) or abs(math.frexp(number)[0]) != 0.5:
        return None
    smallest, inverse = smallest_normal(value.dtype), value.like(1.0 / number)  # infinite beyond the format
    if abs(number) < smallest or abs(float(inverse.item)) < smallest or float(inverse.item) * number != 1.0:
        return None
    return inverse


def smallest_normal(dtype: npt.DTypeLike) -> float:
    """The least positive normal number of a float format by its dtype or that one's name, ml_dtypes' included."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    return SMALLEST[name] if name in SMALLEST else float(_limits(name).smallest_normal)


def largest(dtype: npt.DTypeLike) -> float:
    """The greatest finite number of a float format."""
    return float(_limits(np.dtype(dtype).name).max)


def _limits(name: str) -> Any:
    import ml_dtypes

    return import_module("ml_dtypes").finfo(getattr(ml_dtypes, name, name))


def _promise(id_: int, value: DivBy | Bounded | SameElements, rows: Rows) -> None:
    if isinstance(value, DivBy):
        rows["multiple_of"].append((id_, value.divisor))
        every, along = (value.every or 0), (value.along or 0)
        rows["div_by"].append((id_, power_of_two_divisor(value.divisor), every, along))
    elif isinstance(value, Bounded):
        if value.lower is not None:
            rows["bounded_below"].append((id_, value.lower))
        if value.upper is not None:
            rows["bounded_above"].append((id_, value.upper))
        least, most = limits(64)
        given = [bound for bound in (value.lower, value.upper) if bound is not None]
        common = min(map(power_of_two_divisor, given), default=LARGEST_DIVISOR)
        low, high = (least if value.lower is None else value.lower), (most if value.upper is None else value.upper)
        rows["within"].append((id_, low, high, common))
    else:
        rows["same_elements"] += [(id_, d, n) for d, n in enumerate(value.values)]


def _permutations(interner: Interner, rows: Rows) -> None:
    """Permutations in use and their pairwise compositions, with a fact for each."""
    used = [v for v in interner.attributes if _is_permutation(v)]
    found = dict.fromkeys(used)
    for first, second in itertools.product(used, used):
        if len(first) == len(second):
            both = tuple([first[d] for d in second])
            found[both] = None
            ids = [interner.attributes.id(p) for p in (first, second, both)]
            rows["composed"].append((ids[0], ids[1], ids[2]))
    for permutation in found:
        id_ = interner.attributes.id(permutation)
        rows["permutes"] += [(id_, d, e) for d, e in enumerate(permutation)]
        if permutation == tuple(range(len(permutation))):
            rows["identity_permutation"].append((id_,))


def _is_permutation(value: object) -> bool:
    """Shapes and view sizes are interned too; a shape of powers of two is a permutation of 0..n-1 only by accident,
    and then the extra rows are true statements that no rule joins with it.
    """
    if not isinstance(value, tuple):
        return False
    items = cast("tuple[object, ...]", value)
    return len(items) > 1 and all(type(x) is int for x in items) and set(items) == set(range(len(items)))
