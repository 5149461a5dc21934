"""Folds of one tile in samples: by one operation, or by any other combiner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from egraph.combiners import Combiner
from egraph.interner import Interner
from egraph.sexpr import Atom, List, Sexpr
from egraph.soundness.model import Datum, NotCovered
from egraph.soundness.sampling import Sampler
from ir.dialects import cuda_tile as ct
from ir.types import FloatType, TileType

Operation = Callable[[Any, Any], Any]
OTHER = 100
"""The number of a combiner that is more than one operation."""
FOLDS: dict[int, Operation] = {
    Combiner.ADDF: np.add,
    Combiner.MULF: np.multiply,
    Combiner.MAXF: np.fmax,
    Combiner.MINF: np.fmin,
    OTHER: lambda left, right: left + right + np.ones_like(left),
}
"""By the number of a combiner, which is that of its operation."""


class Sample(Protocol):
    """What a fold asks of its sample (egraph.soundness.sample)."""

    random: Sampler
    interner: Interner
    env: dict[str, Any]

    def is_free(self, atom: Atom) -> bool:
        """True for a variable without a value."""
        ...

    def require(self, condition: bool) -> None:
        """Reject the sample unless `condition`."""
        ...

    def draw(self, form: Sexpr) -> Datum:
        """The value of a term."""
        ...

    def integer(self, form: Sexpr) -> int:
        """An expression's integer."""
        ...


def reduced(sample: Sample, form: List) -> Datum:
    """(reduce (cons x n) dim body identities type); what is free of it is drawn."""
    cell, dim, body, identities, kind = form.items[1:]
    if not isinstance(cell, List) or cell.head != "cons":
        raise NotCovered("only a fold of a list that is written out has a value")
    head, tail = cell.items[1:]
    if isinstance(head, Atom) and sample.is_free(head):
        type_ = sample.random.tile_type()
        sample.require(isinstance(type_.element, FloatType))
        sample.env[head.text] = Datum(type_, sample.random.tile(type_))
    if isinstance(tail, Atom) and sample.is_free(tail):
        sample.env[tail.text] = Datum(None, ())
    source = sample.draw(head)
    type_ = source.type
    sample.require(isinstance(type_, TileType) and isinstance(type_.element, FloatType) and bool(type_.shape))
    assert isinstance(type_, TileType)
    along = bound(sample, dim, sample.random.dimension(len(type_.shape)))
    sample.require(along < len(type_.shape))
    bound(sample, identities, 0)
    combine = FOLDS[bound(sample, body, sample.random.pick(tuple(FOLDS)))]
    result = TileType((*type_.shape[:along], *type_.shape[along + 1 :]), type_.element)
    sample.require(bound(sample, kind, sample.interner.types.id(result)) == sample.interner.types.id(result))
    with np.errstate(all="ignore"):
        (found,) = ct.Reduce.reference(
            [np.asarray(source.data)], along, lambda left, right: [combine(left[0], right[0])]
        )
    return Datum(result, np.asarray(found))


def bound(sample: Sample, item: Sexpr, number: int) -> int:
    """The number of a column; a free one becomes this."""
    if isinstance(item, Atom) and sample.is_free(item):
        sample.env[item.text] = number
    return sample.integer(item)


def is_one_operation(sample: Sample, arguments: Sequence[Sexpr]) -> None:
    """(combiner body operation)"""
    body, operation = arguments
    number = bound(sample, body, sample.random.pick(tuple(FOLDS)))
    sample.require(number != OTHER)
    sample.require(bound(sample, operation, number) == number)
