"""`dataclass` without its cost at import: the part of the standard library's decorator that this project uses.

A fresh process that compiles one kernel makes a hundred dataclasses. The standard library writes and compiles up to
six functions for each: 0.35 ms a class (plain) to 0.5 ms (frozen), a seventh of the whole process. Here a class takes
0.03 ms, since only `__init__` is compiled, and that at first use (Python 3.11, process time, AMD EPYC). Instances
behave alike, and `dataclasses.replace`, `fields` and `asdict` take them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field
from inspect import get_annotations
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform, overload

__all__ = ["dataclass", "field"]

T = TypeVar("T")

_FIELDS = "__dataclass_fields__"
"""Where the standard library looks for the fields of a class."""
_ORDINARY = dataclasses._FIELD  # pyright: ignore
"""How it marks a field that is neither a class variable nor a parameter of `__init__` alone."""


@overload
@dataclass_transform(field_specifiers=(field,))
def dataclass(cls: type[T], /) -> type[T]: ...
@overload
@dataclass_transform(field_specifiers=(field,))
def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
def dataclass(cls: type[T] | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True) -> Any:
    """As `dataclasses.dataclass`, with these options and `field(default=..., default_factory=..., repr=...)`."""

    def decorate(decorated: type[Any]) -> type[Any]:
        return _made(decorated, frozen, slots, eq)

    return decorate if cls is None else decorate(cls)


def _made(cls: type[Any], frozen: bool, slots: bool, eq: bool) -> type[Any]:
    own = _own_fields(cls)
    fields: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get(_FIELDS, {})
    fields |= own
    members: dict[str, Any] = {_FIELDS: fields, "__match_args__": tuple(fields)}
    given = cls.__dict__
    if "__repr__" not in given:
        members["__repr__"] = _repr
    if eq:
        members |= _comparison(tuple(fields), frozen, given)
    if frozen:
        members |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete, "__reduce__": _reduce}
    made = _with_slots(cls, tuple(own), members) if slots else _with_members(cls, own, members)
    if "__init__" not in given:
        _set_initializer(made, fields, frozen)
    return made


def _own_fields(cls: type[Any]) -> dict[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for name, annotation in get_annotations(cls).items():
        if not str(annotation).startswith("ClassVar"):
            default = cls.__dict__.get(name, MISSING)
            each: Any = default if isinstance(default, Field) else field(default=default)  # pyright: ignore
            each.name, each.type, each._field_type = name, annotation, _ORDINARY
            found[name] = each
    return found


def _comparison(names: tuple[str, ...], frozen: bool, given: Any) -> dict[str, Any]:
    """`__eq__` and `__hash__` on all fields; None for the hash of what can change."""
    values = _values_of(names)

    def equal(self: Any, other: Any) -> bool:
        if self is other:
            return True
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    made: dict[str, Any] = {"__eq__": equal, "__hash__": hashed if frozen else None}
    if "__hash__" in given and ("__eq__" not in given or given["__hash__"] is not None):
        del made["__hash__"]
    if "__eq__" in given:
        del made["__eq__"]
    return made


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The fields of an instance as a tuple."""
    if not names:
        return lambda instance: ()
    get = attrgetter(*names)
    return get if len(names) > 1 else lambda instance: (get(instance),)


def _with_members(cls: type[Any], own: dict[str, Field[Any]], members: dict[str, Any]) -> type[Any]:
    for name, each in own.items():
        if each.default is not MISSING:
            members[name] = each.default
        elif name in cls.__dict__:
            delattr(cls, name)
    for name, member in members.items():
        setattr(cls, name, member)
    return cls


def _with_slots(cls: type[Any], names: tuple[str, ...], members: dict[str, Any]) -> type[Any]:
    """A copy of the class with `__slots__`, which have to be there when a class is made."""
    gone = {*names, "__dict__", "__weakref__"}
    kept = {name: member for name, member in cls.__dict__.items() if name not in gone}
    made = type(cls.__name__, cls.__bases__, {**kept, **members, "__slots__": names})
    made.__qualname__ = cls.__qualname__
    return made


def _set_initializer(cls: Any, fields: dict[str, Field[Any]], frozen: bool) -> None:
    """An `__init__` that is compiled when the first instance is made: many classes never have one."""

    def compiled_at_first_use(self: Any, *arguments: Any, **named: Any) -> None:
        cls.__init__ = _initializer(fields, frozen, hasattr(cls, "__post_init__"))
        cls.__init__(self, *arguments, **named)

    cls.__init__ = compiled_at_first_use


def _initializer(fields: dict[str, Field[Any]], frozen: bool, more: bool) -> Callable[..., None]:
    parameters, body = ["self"], list[str]()
    known: dict[str, Any] = {"_set": object.__setattr__, "_MISSING": MISSING}
    for name, each in fields.items():
        value = name
        if each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            parameters.append(f"{name}=_MISSING")
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        elif each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if more:
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), known)
    return known["__init__"]


@recursive_repr()
def _repr(self: Any) -> str:
    fields: dict[str, Field[Any]] = getattr(self, _FIELDS)
    shown = ", ".join([f"{name}={getattr(self, name)!r}" for name, each in fields.items() if each.repr])
    return f"{type(self).__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[Any, ...]:
    """Copying and pickling go through `__init__`, since nothing can be set afterwards."""
    return self.__class__, tuple([getattr(self, name) for name in getattr(self, _FIELDS)])
