"""Terms that are not one operation: operand lists, parameters, loop values, results of skeleton items, constants that
rules compute, assumptions of regions, and what combines tiles, by an interned combiner.

Each is declared here; `egraph.terms` derives its constructors, logical and (if it is uniform) placed.
"""

from __future__ import annotations

from typing import ClassVar

from egraph.term import AttributeId, Number, Operand, Term, TypeId, TypesId, derived, named, term
from ir.dialects import cuda_tile as ct
from ir.dialects.cuda_tile.attributes import ANCHOR, SHAPE, UNIFORM, Placement


class Leaf(Term):
    """`placement`: how it is placed. `like`: the operand whose type it has, if there is no type column.

    `given`: its loop dependence is a fact of the program. `rare`: only some programs have it, as they have operations
    and loops; any may have the others: parameters, constants, operand lists.
    """

    __slots__ = ()
    placement: ClassVar[Placement] = UNIFORM
    like: ClassVar[str] = ""
    given: ClassVar[bool] = False
    rare: ClassVar[bool] = False


@term("none")
class Missing(Leaf):
    """An absent operand."""

    __slots__ = ()


@term("nil")
class Nil(Leaf):
    """The empty operand list."""

    __slots__ = ()


@term("cons")
class Cons(Leaf):
    """An operand list: its first operand and the others."""

    __slots__ = ()
    head = Operand()
    tail = Operand()


@term("arg")
class Argument(Leaf):
    """A parameter of the kernel."""

    __slots__ = ()
    index = Number()
    type = TypeId()


class LoopLeaf(Leaf):
    """A value defined by a loop."""

    __slots__ = ()
    rare: ClassVar[bool] = True
    given: ClassVar[bool] = True
    loop = Number()


@term("iv")
class Induction(LoopLeaf):
    """The counter of a loop."""

    __slots__ = ()
    type = TypeId()


class Around(LoopLeaf):
    """A carried value of a loop, and its result."""

    __slots__ = ()
    placement: ClassVar[Placement] = ANCHOR
    index = Number()
    type = TypeId()


@term("carry")
class Carry(Around):
    """A carried value of a loop, in its body."""

    __slots__ = ()


@term("res")
class LoopResult(Around):
    """A carried value of a loop, after the loop."""

    __slots__ = ()


class ItemResult(Leaf):
    """A result of an item of the skeleton."""

    __slots__ = ()
    given: ClassVar[bool] = True
    item = Number()
    index = Number()
    type = TypeId()


@term("effect")
class Effect(ItemResult):
    """A result that every thread holds: a scalar, or a token."""

    __slots__ = ()


@term("branch")
class Branch(ItemResult):
    """A tile result of a branch or of an ordered access; its layout is a choice."""

    __slots__ = ()
    rare: ClassVar[bool] = True
    placement: ClassVar[Placement] = ANCHOR


@term("splat")
class Splat(Leaf):
    """An integer in every element, so that rules can compute new constants."""

    __slots__ = ()
    placement: ClassVar[Placement] = SHAPE
    number = Number()
    type = TypeId()


@term("promised")
class Promised(Leaf):
    """A scalar with an assumption of a region.

    `scope`: the region and its enclosing ones, as a mask of `deps`.
    """

    __slots__ = ()
    like: ClassVar[str] = "source"
    rare: ClassVar[bool] = True
    source = Operand()
    predicate = AttributeId()
    scope = Number()


class Combining(Leaf):
    """What combines tiles along a dimension. `body`: the number of its combiner; `identities`: the first element of
    each result.
    """

    __slots__ = ()
    placement: ClassVar[Placement] = ANCHOR
    list = Operand()
    dim = Number()
    body = Number()
    identities = AttributeId()


@term("reduce")
class Reduce(Combining):
    """A reduction of one dimension of a tile."""

    __slots__ = ()
    rare: ClassVar[bool] = True
    type = TypeId()


@term("fold")
class Fold(Combining):
    """A reduction of one dimension of several tiles together."""

    __slots__ = ()
    rare: ClassVar[bool] = True
    types = TypesId()


class Keeping(Combining):
    """What keeps the dimension, of one or more tiles; its flags come behind the dimension."""

    __slots__ = ()
    rare: ClassVar[bool] = True
    means: ClassVar[type[ct.Combining]]
    types = TypesId()


def _keeping(of: type[ct.Combining]) -> type[Keeping]:
    """The term of an operation of Tile IR."""
    flags = {name: Number() for name in of.flagged()}
    columns = {"list": Operand(), "dim": Number(), **flags, "body": Number(), "identities": AttributeId()}
    return derived(named(of.info.mnemonic), of, Keeping, {"means": of, **columns, "types": TypesId()})


KEEPING = tuple(_keeping(of) for of in ct.COMBINING if of.keeps)
"""One of each operation that combines and keeps the dimension."""


@term("proj")
class Projection(Term):
    """One of several results."""

    __slots__ = ()
    source = Operand()
    index = Number()


LEAVES: tuple[type[Leaf], ...] = (
    Missing, Nil, Cons, Argument, Induction, Carry, LoopResult, Effect, Branch, Splat, Promised, Reduce, Fold,
    *KEEPING,
)  # fmt: skip
"""In the order in which egglog gets them."""
