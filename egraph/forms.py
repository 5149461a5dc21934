"""The class of every constructor: declared terms, and those derived from the operations of Tile IR and from leaves.

Classes are created on demand: a program uses a fifth of all operations.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from functools import cache
from typing import ClassVar, cast

from egraph.term import (
    PREFIX,
    TERMS,
    AttributeId,
    Column,
    Enumerated,
    Node,
    Number,
    Operand,
    Placed,
    Term,
    TypeId,
    TypesId,
)
from egraph.terms import ELEMENTWISE, UNIFORM, Signature, by_name, signatures
from ir.core import OPS, Field, Op


class Form(Term):
    """A term of an operation of Tile IR: its operands, its attributes, and the type of its result unless it equals an
    operand's.
    """

    __slots__ = ()
    operation: ClassVar[type[Op]]
    signature: ClassVar[Signature]

    @classmethod
    def known_as(cls) -> Iterable[type]:
        """The operation comes before what all forms share."""
        return (cls, cls.operation, *cls.__mro__[1:])

    @classmethod
    def title(cls) -> str:
        """The mnemonic of the operation."""
        return cls.signature.mnemonic

    def operand(self, group: Field) -> int:
        """The class of a group of operands."""
        return self.children[self.signature.operands.index(group.name)]

    def number(self, attribute: Field) -> int:
        """The integer of an attribute, as `egraph.terms.integer_of` or the interner gave it."""
        return self.literals[self.signature.integers.index(attribute.name)]

    @property
    def numbers(self) -> dict[str, int]:
        """The integers of attributes, by name."""
        return dict(zip(self.signature.integers, self.literals, strict=True))

    @property
    def result_type(self) -> int:
        """The last column: the interned type of the result, or the interned list of the types of all results."""
        return self.literals[-1]


class PlacedForm(Form, Placed):
    """The same, placed: elementwise in the layout of its operands, or in every thread."""

    __slots__ = ()


@cache
def node_class(constructor: str) -> type[Node]:
    """The class of a constructor's nodes; `Node` itself where only a rule file of the user's declares it."""
    found = TERMS.get(constructor)
    if found is not None:
        return found
    placed = constructor.startswith(PREFIX)
    signature = by_name().get(constructor.removeprefix(PREFIX))
    if signature is None or (placed and signature.placement not in (ELEMENTWISE, UNIFORM)):
        return Node
    leaf = TERMS.get(signature.mnemonic)
    if leaf is not None:
        return _made(constructor, (leaf, Placed), {"columns": leaf.columns})
    parts = {"operation": OPS[f"cuda_tile.{signature.mnemonic}"], "signature": signature}
    return _made(constructor, (PlacedForm,) if placed else (Form,), {**parts, "columns": _columns(signature)})


def _made(constructor: str, bases: tuple[type[Term], ...], parts: dict[str, object]) -> type[Term]:
    return cast("type[Term]", type(constructor, bases, {"__slots__": (), "constructor": constructor, **parts}))


def _columns(signature: Signature) -> tuple[Column[object], ...]:
    """The columns of an operation's term: operands, attributes, types of results."""
    operation = OPS[f"cuda_tile.{signature.mnemonic}"]
    kinds = {each.name: each.kind for each in operation.info.attributes}
    columns: list[Column[object]] = [Operand() for _ in signature.operands]
    for name in signature.integers:
        kind = kinds.get(name)
        if kind is None:
            columns.append(TypeId() if name == "ty" else TypesId())
        elif issubclass(kind, enum.IntEnum):
            columns.append(Enumerated(kind))
        else:
            columns.append(Number() if kind in (int, bool) else AttributeId())
    for place, (name, column) in enumerate(zip((*signature.operands, *signature.integers), columns, strict=True)):
        column.name, column.place = name, place
    return tuple(columns)


def placed_classes() -> list[type[Placed]]:
    """Every placed operation of ours: those of egraph/placed.py, then those that derive from operations and leaves."""
    uniform = [each for each in signatures().values() if each.placement in (ELEMENTWISE, UNIFORM)]
    names = [name for name, cls in TERMS.items() if issubclass(cls, Placed)]
    found = map(node_class, (*names, *(PREFIX + each.name for each in uniform)))
    return [cls for cls in found if issubclass(cls, Placed)]


def placed_form(operation: type[Op]) -> type[PlacedForm]:
    """The placed form of an operation of Tile IR. Raises TypeError for one that has none."""
    found = node_class(PREFIX + operation.info.name.removeprefix("cuda_tile."))
    if not issubclass(found, PlacedForm):
        raise TypeError(f"{operation.__name__} has no placed form: expected an elementwise or uniform operation")
    return found
