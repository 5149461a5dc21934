"""`ir.records.dataclass` and the standard library's: constructors, equality, hashes, text, freezing, pickles."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from threading import Barrier
from typing import Any, ClassVar

import pytest

from ir import records


def family(dataclass: Any) -> dict[str, Any]:
    """Classes with all that the compiler's classes have, made by one of the two decorators."""

    @dataclass(frozen=True)
    class Plain:
        x: int
        y: Any = 2
        z: list[int] = field(default_factory=list)
        kind: ClassVar[str] = "plain"

    @dataclass(frozen=True, slots=True)
    class Slotted:
        x: int
        y: tuple[int, ...] = ()

    @dataclass
    class Open:
        x: int
        seen: dict[str, int] = field(default_factory=dict, compare=False, repr=False)
        size: int = field(default=0, init=False)

        def __post_init__(self) -> None:
            self.size = 2 * self.x

    @dataclass(frozen=True, eq=False)
    class ByIdentity:
        x: int

    @dataclass(frozen=True)
    class Written:
        x: int

        def __init__(self, twice: int):
            object.__setattr__(self, "x", twice // 2)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Written) and abs(self.x - other.x) <= 1

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return f"<{self.x}>"

    @dataclass(frozen=True)
    class Derived(Plain):
        w: int = 7

    @dataclass(frozen=True)
    class One:
        x: Any

    @dataclass(frozen=True)
    class Nothing:
        pass

    @dataclass(slots=True, unsafe_hash=True)
    class Hashed:
        x: int
        cached: int = field(default=0, hash=False)

    made = (Plain, Slotted, Open, ByIdentity, Written, Derived, One, Nothing, Hashed)
    return {each.__name__: each for each in made}


OURS, THEIRS = family(records.dataclass), family(dataclasses.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Plain", (1,), {}), ("Plain", (1, 3, [4]), {}), ("Plain", (), {"x": 1, "y": 2}), ("Plain", (1, (2,), [3]), {}),
    ("Slotted", (1,), {}), ("Slotted", (1, (2, 3)), {}), ("Open", (1,), {}), ("Open", (1, {"a": 2}), {}),
    ("ByIdentity", (1,), {}), ("Written", (9,), {}), ("Derived", (1,), {}), ("Derived", (1, 2, [3], 4), {}),
    ("One", (1,), {}), ("One", (float("nan"),), {}), ("Nothing", (), {}), ("Hashed", (3, 1), {}), ("Hashed", (3,), {}),
]  # fmt: skip
for _name, _class in OURS.items():
    _class.__qualname__ = THEIRS[_name].__qualname__ = _name
    setattr(sys.modules[__name__], _name, _class)  # where pickle looks for them


def both(call: tuple[str, tuple[Any, ...], dict[str, Any]]) -> tuple[Any, Any]:
    name, args, named = call
    return OURS[name](*args, **named), THEIRS[name](*args, **named)


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_instances_are_those_of_the_standard_library(call: Any) -> None:
    ours, theirs = both(call)
    if call[0] != "ByIdentity":
        assert repr(ours) == repr(theirs)
        assert (ours == copy.copy(ours)) is (theirs == copy.copy(theirs)) is True
    assert repr(dataclasses.asdict(ours)) == repr(dataclasses.asdict(theirs))
    assert ours != theirs
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert type(ours).__match_args__ == type(theirs).__match_args__
    for other in CALLS:
        if other[0] == call[0]:
            mine, its = both(other)
            assert (ours == mine) is (theirs == its)


@pytest.mark.parametrize("name", OURS)
def test_hashes_are_where_the_standard_library_has_them(name: str) -> None:
    assert (OURS[name].__hash__ is None) is (THEIRS[name].__hash__ is None)
    first, second = (next(call for call in calls if call[0] == name) for calls in (CALLS, CALLS[::-1]))
    if OURS[name].__hash__ is not None and name not in ("Plain", "Derived"):  # these have lists
        (a, _), (b, _) = both(first), both(second)
        assert (hash(a) == hash(b)) or a != b
    assert hash(OURS["Hashed"](3, 1)) == hash(OURS["Hashed"](3, 2))


@pytest.mark.parametrize(
    ("name", "args", "named"),
    [("Plain", (), {}), ("Plain", (1, 2, [], 4), {}), ("Plain", (1,), {"q": 2}), ("Plain", (1,), {"x": 2}),
     ("Nothing", (1,), {}), ("Open", (1, {}, 2), {})],
)  # fmt: skip
def test_wrong_arguments_are_refused_in_the_same_words(name: str, args: Any, named: Any) -> None:
    said: list[str] = []
    for classes in (OURS, THEIRS):
        for _ in range(2):  # the first makes the constructor
            with pytest.raises(TypeError) as caught:
                classes[name](*args, **named)
            said.append(str(caught.value).rpartition("__init__")[2])
    assert len(set(said)) == 1


@pytest.mark.parametrize("name", ["Plain", "Slotted", "ByIdentity", "Written", "Derived"])
def test_what_is_frozen_stays(name: str) -> None:
    ours, theirs = both(next(call for call in CALLS if call[0] == name))
    for change in (lambda each: setattr(each, "x", 5), lambda each: delattr(each, "x")):
        said: list[str] = []
        for each in (ours, theirs):
            with pytest.raises(dataclasses.FrozenInstanceError) as caught:
                change(each)
            said.append(str(caught.value))
        assert said[0] == said[1]
    if name != "Written":
        assert dataclasses.replace(ours, x=9).x == 9
        assert ours.x == theirs.x


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_pickles(call: Any) -> None:
    ours, _ = both(call)
    back = pickle.loads(pickle.dumps(ours))
    assert type(back) is type(ours)
    assert repr(back) == repr(ours) or call[0] == "ByIdentity"


def test_a_pickle_of_a_class_without_instances_is_whole() -> None:
    """What `__init__` never ran for is compared, hashed and frozen all the same."""

    @records.dataclass(frozen=True)
    class Late:
        x: int

    one, other = (Late.__new__(Late) for _ in range(2))
    for each in (one, other):
        each.__dict__["x"] = 3
    assert one == other
    assert hash(one) == hash(other)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.x = 4  # pyright: ignore[reportAttributeAccessIssue]


def test_a_record_within_itself_has_a_text() -> None:
    ours, theirs = both(("Plain", (1,), {}))
    ours.z.append(ours)
    theirs.z.append(theirs)
    assert repr(ours) == repr(theirs)


def test_the_constructor_is_made_by_the_first_instance() -> None:
    @records.dataclass
    class Fresh:
        x: int

    stub = Fresh.__init__
    assert Fresh(3) == Fresh(x=3)
    assert Fresh.__init__ is not stub
    assert Fresh.__init__.__qualname__.endswith("Fresh.__init__")


def test_threads_make_their_first_instances_at_once() -> None:
    for _ in range(20):

        @records.dataclass(frozen=True)
        class Fresh:
            x: int
            y: list[int] = field(default_factory=list)

        gate = Barrier(4)

        def made(x: int, gate: Barrier = gate, kind: Any = Fresh) -> Any:
            gate.wait()
            return kind(x)

        with ThreadPoolExecutor(4) as pool:
            assert [each.x for each in pool.map(made, range(4))] == [0, 1, 2, 3]
