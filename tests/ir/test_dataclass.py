"""Our `dataclass` beside the standard library's: the same declarations must give instances that behave alike."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from ir import dataclass as ours
from ir.types import F16, I32, PointerType, TileType


def declared(library: Any) -> tuple[type[Any], type[Any], type[Any], type[Any]]:
    """One class of each kind that the project uses."""

    @library.dataclass
    class Open:
        a: int
        items: list[int] = library.field(default_factory=list)
        hidden: int = library.field(default=3, repr=False)
        shared: ClassVar[int] = 7

    @library.dataclass(frozen=True, slots=True)
    class Closed:
        a: int
        b: tuple[int, ...] = (1, 2)

    @library.dataclass(frozen=True)
    class Single:
        a: int
        total: ClassVar[list[int]] = []

        def __post_init__(self) -> None:
            self.total.append(self.a)

    @library.dataclass(frozen=True, eq=False)
    class Identical:
        pass

    return Open, Closed, Single, Identical


KINDS = pytest.mark.parametrize("library", [ours, dataclasses], ids=["ours", "library"])


@KINDS
def test_open(library: Any) -> None:
    cls = declared(library)[0]
    one, two = cls(5), cls(a=5, items=[])
    assert one == two
    assert (one != two) is False
    assert one.items is not two.items
    two.items.append(8)
    two.hidden = 4
    assert one != two
    assert repr(two).endswith(".Open(a=5, items=[8])")
    assert one.__eq__(5) is NotImplemented
    assert not hasattr(cls, "items")
    assert (cls.hidden, cls.shared) == (3, 7)
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@KINDS
def test_closed(library: Any) -> None:
    _, cls, _, other = declared(library)
    one = cls(4, b=(3,))
    assert one == cls(4, (3,))
    assert len({one, cls(4, (3,)), cls(4)}) == 2
    assert (cls(4).b, cls.__match_args__) == ((1, 2), ("a", "b"))
    assert not hasattr(one, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        one.a = 5
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
        del one.a
    assert copy.deepcopy(one) == one
    assert dataclasses.replace(one, a=6) == cls(6, (3,))
    assert dataclasses.asdict(one) == {"a": 4, "b": (3,)}
    assert [each.name for each in dataclasses.fields(cls)] == ["a", "b"]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a'"):
        cls()
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        cls(1, c=2)
    assert other() != other()


@KINDS
def test_single_field_and_post_init(library: Any) -> None:
    single = declared(library)[2]
    not_a_number = float("nan")
    assert single(not_a_number) == single(not_a_number)  # fields are compared as a tuple: the same object is equal
    assert single(2) != single(3)
    assert single.total == [not_a_number, not_a_number, 2, 3]
    assert hash(single(2)) == hash(single(2))


@KINDS
def test_inheritance_and_own_methods(library: Any) -> None:
    @library.dataclass(frozen=True)
    class Base:
        a: int
        b: int = 2

    @library.dataclass(frozen=True)
    class Derived(Base):
        c: int = 3

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "derived"

    made = Derived(1, c=5)
    assert (made.a, made.b, made.c) == (1, 2, 5)
    assert made == 17
    assert repr(made) == "derived"


@KINDS
def test_a_cycle_prints(library: Any) -> None:
    node = declared(library)[0](1)
    node.items.append(node)
    assert repr(node).endswith("Open(a=1, items=[...])")


def test_types_survive_pickling() -> None:
    tile = TileType((2, 4), PointerType(F16))
    assert pickle.loads(pickle.dumps(tile)) == tile
    assert tile != TileType((2, 4), I32)
