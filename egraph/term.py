"""E-nodes as Python objects: each constructor is a class, and its columns are read by name.

A class is declared once with `@term` and the columns below. From it derive the declaration that egglog gets, how an
e-graph is frozen (`egraph.frozen`), its text (`--emit egraph`), and docs/placed-operations.md; what a pass does with it
is found by class (`lowering/dispatch.py`). Sorts: V is a logical value, P a placed one, every other column an i64.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import ClassVar, Generic, TypeVar, cast, overload

from ir.records import dataclass

T_co = TypeVar("T_co", covariant=True)
EnumT = TypeVar("EnumT", bound=enum.IntEnum)
TermT = TypeVar("TermT", bound="Term")

LOGICAL, PLACED, INTEGER = "V", "P", "i64"
PREFIX = "p."
"""What the names of placed constructors start with; a few that hold no operation do without."""


@dataclass(slots=True, unsafe_hash=True)
class Node:
    """An e-node: `args` in column order (class ids and integers), `cls` its class; `op` is the constructor's name.

    Nobody writes its fields; were it frozen, to make one would take 1.7 us instead of 0.4.
    """

    op: str
    args: tuple[int, ...]
    cls: int
    children: tuple[int, ...]
    literals: tuple[int, ...]


class Column(Generic[T_co]):
    """A column of a constructor; reading it from a node gives the number in it. `sort`: "" is the sort of the term."""

    sort: str = INTEGER
    name: str = ""
    place: int = -1

    def __init__(self, doc: str = ""):
        self.doc = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, node: None, owner: type) -> Column[T_co]: ...
    @overload
    def __get__(self, node: Node, owner: type) -> T_co: ...
    def __get__(self, node: Node | None, owner: type) -> Column[T_co] | object:
        return self if node is None else node.args[self.place]


class Operand(Column[int]):
    """The class of an operand, of the sort of the term."""

    sort = ""


class Value(Column[int]):
    """The class of a logical value: a placed access keeps the memory token that it comes after."""

    sort = LOGICAL


class Number(Column[int]):
    """An integer that is what it is."""


class TypeId(Column[int]):
    """The number of an interned type."""


class AttributeId(Column[int]):
    """The number of an interned attribute."""


class TypesId(AttributeId):
    """The number of an interned list of types."""


class LayoutId(Column[int]):
    """The number of a layout (`lowering.placement.oracle.Layouts`); 0 is that of uniform values."""


class ChoiceId(Column[int]):
    """The number of an atom and how warps share the tile (`lowering.placement.oracle.MmaChoice`)."""


class Enumerated(Column[EnumT]):
    """A member of an enumeration."""

    def __init__(self, kind: type[EnumT], doc: str = ""):
        super().__init__(doc)
        self.kind = kind

    @overload
    def __get__(self, node: None, owner: type) -> Column[EnumT]: ...
    @overload
    def __get__(self, node: Node, owner: type) -> EnumT: ...
    def __get__(self, node: Node | None, owner: type) -> Column[EnumT] | EnumT:
        return self if node is None else self.kind(node.args[self.place])


_PRIMITIVES = frozenset(("log", "log2", "sqrt", "floor", "ceil", "min", "max", "neg", "abs", "not", "and", "or", "pow"))
"""Mnemonics that egglog 13.2.0 refuses as constructor names ("Primitive log2 already declared")."""


def named(mnemonic: str) -> str:
    """The egglog name of a mnemonic."""
    return f"{mnemonic}_" if mnemonic in _PRIMITIVES else mnemonic


class Term(Node):
    """Shape shared by all declared terms; what differs is given to `term`.

    A base class names the columns that its readers need. They come first, unless a class redeclares them: then
    they come where it does so.
    """

    __slots__ = ()
    constructor: ClassVar[str] = ""
    sort: ClassVar[str] = LOGICAL
    columns: ClassVar[tuple[Column[object], ...]] = ()
    reference: ClassVar[str] = ""

    @classmethod
    def title(cls) -> str:
        """What people call it: the name without the prefix of the placed."""
        return cls.constructor.removeprefix(PREFIX)

    @classmethod
    def sorts(cls) -> tuple[str, ...]:
        """The sort of each column in egglog."""
        return tuple([each.sort or cls.sort for each in cls.columns])

    @classmethod
    def declaration(cls) -> str:
        """The constructor in egglog."""
        return f"(constructor {cls.constructor} ({' '.join(cls.sorts())}) {cls.sort})"

    @classmethod
    def known_as(cls) -> Iterable[type]:
        """What a pass may know it by, the nearest first."""
        return cls.__mro__


class Placed(Term):
    """A placed value: of sort P, held in a layout by threads or in shared memory."""

    __slots__ = ()
    sort: ClassVar[str] = PLACED


TERMS: dict[str, type[Term]] = {}
"""Every class declared with `term`, by constructor."""


def term(constructor: str, *, source: str = "") -> Callable[[type[TermT]], type[TermT]]:
    """Declare a term. `source`: where what it stands for comes from.

    Raises TypeError for a constructor that is declared already, a column that hides a part of every node, and a slot.
    """

    def declare(cls: type[TermT]) -> type[TermT]:
        if constructor in TERMS:
            raise TypeError(f"'{constructor}' is already declared by {TERMS[constructor].__name__}")
        cls.constructor, cls.reference = constructor, source
        place_columns(cls)
        TERMS[constructor] = cls
        return cls

    return declare


def derived(
    constructor: str, of: type, base: type[TermT], parts: Mapping[str, object], logical: tuple[type[Term], ...] = ()
) -> type[TermT]:
    """A term that follows from the declaration of an operation of Tile IR: columns and other parts. `logical`: the term
    whose placed form it is, if that is declared too.
    """
    title = "".join(word.capitalize() for word in constructor.removeprefix(PREFIX).split("_"))
    body = {"__slots__": (), "__doc__": of.__doc__, "__module__": base.__module__, **parts}
    return term(constructor)(cast("type[TermT]", type(title, (*logical, base), body)))


def place_columns(cls: type[Term]) -> None:
    """Give a class columns of its own, those of its bases first, each at its place."""
    found: dict[str, Column[object]] = {}
    for base in reversed(cls.__mro__):
        for column in _columns_of(base):
            if column.name in Node.__slots__:
                raise TypeError(f"{cls.__name__}.{column.name} hides what every node has")
            found.pop(column.name, None)
            found[column.name] = column
    if "__dict__" in dir(cls):
        raise TypeError(f"{cls.__name__} needs __slots__ = (): there are ten thousand nodes")
    placed: list[Column[object]] = []
    for place, (name, column) in enumerate(found.items()):
        column = copy(column)
        column.place = place
        setattr(cls, name, column)
        placed.append(column)
    cls.columns = tuple(placed)


def _columns_of(cls: type) -> list[Column[object]]:
    """The columns that a class itself declares; all of them where it is a term."""
    parts: Iterable[object] = vars(cls).get("columns") or vars(cls).values()
    return [cast("Column[object]", each) for each in parts if isinstance(each, Column)]
