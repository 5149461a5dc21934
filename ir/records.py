"""`dataclass` of the standard library, for classes that are loaded but mostly not used.

The standard library compiles the text of five to eight methods of each class as its module is loaded: a sixth of the
time of a process that compiles one kernel (docs/benchmarks.md). Here the fields are the standard library's
(`dataclasses.fields`, `replace` and `asdict` work), `__init__` is compiled as the first instance is made, and other
methods read the fields. Not here: order, fields by keyword alone, `InitVar`. This module implements `frozen`, so
`__dataclass_params__` does not report it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, **options):
        """As the standard library's: frozen, eq, repr, slots and unsafe_hash."""
        return partial(_made, **options) if cls is None else _made(cls)


Fields: TypeAlias = "tuple[dataclasses.Field[Any], ...]"
_set = object.__setattr__


def _made(
    cls: type[object],
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,
    slots: bool = False,
    unsafe_hash: bool = False,
) -> type[object]:
    """The class with its methods; methods that it defines itself are kept."""
    written = {name for name, value in vars(cls).items() if value is not None or name != "__hash__"}
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=slots)  # pyright: ignore[reportCallIssue, reportUnknownVariableType, reportArgumentType]
    fields: Fields = dataclasses.fields(made)
    methods: dict[str, object] = {"__init__": _at_first(made, fields, frozen)}
    if repr:
        methods["__repr__"] = _repr
    if frozen:
        methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= {"__eq__": _equality(fields), "__hash__": _hash(fields) if frozen else None}
    if unsafe_hash:
        methods["__hash__"] = _hash(fields)
    for name, method in methods.items():
        if name not in written:
            setattr(made, name, method)
    return made


def _at_first(cls: object, fields: Fields, frozen: bool) -> Callable[..., None]:
    """An `__init__` that replaces itself by the real one; two threads that do so at once create the same one."""

    def __init__(self: object, *args: object, **named: object) -> None:
        made = _initialiser(cls, fields, frozen)
        cls.__init__ = made
        made(self, *args, **named)

    return __init__


def _initialiser(cls: Any, fields: Fields, frozen: bool) -> Callable[..., None]:
    """`__init__` compiled from text: one parameter per field, then `__post_init__`."""
    missing = dataclasses.MISSING
    known: dict[str, Any] = {"_set": _set, "_missing": missing}
    parameters, lines = ["self"], list[str]()
    for field in fields:
        name, value = field.name, field.name
        if field.default_factory is not missing:
            known[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _missing else {name}" if field.init else f"_make_{name}()"
        elif not field.init:
            continue
        if field.init:
            known[f"_default_{name}"] = field.default  # missing if a factory makes it
            optional = field.default is not missing or field.default_factory is not missing
            parameters.append(f"{name}=_default_{name}" if optional else name)
        lines.append(f" _set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), known)
    made = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _values(names: Sequence[str]) -> Callable[[object], tuple[object, ...]]:
    """A function of an instance: the values of some of its fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda self: (getattr(self, names[0]),)) if names else (lambda self: ())


def _equality(fields: Fields) -> Callable[[object, object], object]:
    values = _values([field.name for field in fields if field.compare])

    def __eq__(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(fields: Fields) -> Callable[[object], int]:
    values = _values([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_setting(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """The state of an instance with slots for pickle."""
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        _set(self, field.name, value)
