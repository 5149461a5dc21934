"""Maps the arguments of a cuTile kernel to those of its entry. An array becomes its address, sizes and strides, in its
index type; a scalar stays itself, a constant disappears, a tuple becomes its items, a list the address of a table and
its length.

The properties that a kernel was compiled for (types, ranks, fixed sizes and strides, divisors, alignment) are checked,
because violating them would give wrong results. Source: cuda-tile 1.7.0, calling conventions cutile_python_v1 and v2,
read off the entries that it exports.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

import numpy as np

from ir.core import UNKNOWN, Location, TileError
from ir.narrowing import is_list, is_tuple
from tilesat.arrays import SIGNLESS, View, described, is_array, memory_type, view_of
from tilesat.shown import shown
from tilesat.spec import is_scalar, numpy_type


class ArgumentError(TileError, TypeError):
    """Arguments that a kernel does not take: TypeErrors, as Python's and cuTile's own are. The cause is what cuTile
    raises for them, where it does: cuTile programs get that one (`tilesat.backend`).
    """


@dataclass(frozen=True)
class ArrayParameter:
    """An array: its element type, the type of its indices, and its assumed properties; None and 1 assume nothing.

    Sizes and strides are in elements, `alignment` of the address is in bytes. `overlapping`: may two indices be one
    element?
    """

    dtype: str
    index: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    shape_divisors: tuple[int, ...]
    stride_divisors: tuple[int, ...]
    alignment: int
    overlapping: bool = False

    @property
    def count(self) -> int:
        """Parameters of the entry."""
        return 1 + 2 * len(self.shape)

    def given(self, argument: object, name: str) -> Iterator[View | np.generic]:
        """The address as a view, then sizes and strides. Raises TileError for a violated assumption."""
        if not is_array(argument):
            _wrong(name, str(self), shown(argument))
        view = view_of(argument, name)
        if view.dtype != self.dtype or len(view.shape) != len(self.shape):
            _wrong(name, str(self), str(view))
        yield view
        yield from self._extents(name, "size", view.shape, self.shape, self.shape_divisors)
        strides = tuple(self._kept(axis, stride, view) for axis, stride in enumerate(view.strides))
        yield from self._extents(name, "stride", strides, self.strides, self.stride_divisors)
        if view.address % self.alignment and view.span:
            _wrong(name, f"an address that is a multiple of {self.alignment}", f"{view.address:#x}")

    def _kept(self, axis: int, stride: int, view: View) -> int:
        """The stride; one as promised where it leads nowhere."""
        wanted, divisor = self.strides[axis], self.stride_divisors[axis]
        leads = view.span and view.shape[axis] > 1
        return stride if leads else stride // divisor * divisor if wanted is None else wanted

    def _extents(
        self, name: str, what: str, found: tuple[int, ...], fixed: tuple[int | None, ...], divisors: tuple[int, ...]
    ) -> Iterator[np.generic]:
        kind, most = numpy_type(self.index).type, np.iinfo(numpy_type(self.index).name).max
        for axis, (extent, wanted, divisor) in enumerate(zip(found, fixed, divisors, strict=True)):
            if wanted is not None and extent != wanted:
                _wrong(name, f"{what} {wanted} in dimension {axis}", str(extent))
            if extent % divisor:
                _wrong(name, f"a {what} that is a multiple of {divisor} in dimension {axis}", str(extent))
            if extent > most:
                message = (
                    f"parameter '{name}': expected a {what} that fits {self.index} in dimension {axis}, got {extent}"
                )
                raise ArgumentError(message) from OverflowError(f"{what} is too big")
            yield kind(extent)

    def __str__(self) -> str:
        """As messages name it."""
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        return f"an array {self.dtype}[{sizes}]"


@dataclass(frozen=True)
class ScalarParameter:
    """A number of an element type."""

    dtype: str

    @property
    def count(self) -> int:
        """Parameters of the entry."""
        return 1

    def given(self, argument: object, name: str) -> Iterator[object]:
        """The number in its type. Raises TileError for one that it does not hold."""
        kind = memory_type(self.dtype)
        whole = kind.kind in "ib"
        plain: object = argument.item() if is_scalar(argument) else argument
        if isinstance(plain, bool | int) if whole else isinstance(plain, int | float):
            unsigned = np.dtype(f"u{kind.itemsize}") if self.dtype in SIGNLESS else kind
            try:
                made = unsigned.type(plain)
            except OverflowError:
                _wrong(name, f"one {self.dtype}", shown(argument))
            if kind.kind != "b" or plain in (0, 1):
                yield made.view(kind) if unsigned != kind else made
                return
        _wrong(name, f"one {self.dtype}", described(argument))


@dataclass(frozen=True, eq=False)
class ConstantParameter:
    """A number that the kernel was compiled for; 7, 7.0 and True, and the two zeros, are different ones."""

    value: object

    def __eq__(self, other: object) -> bool:
        """Of one type and the same to the last bit."""
        return isinstance(other, ConstantParameter) and self._key == other._key

    def __hash__(self) -> int:
        """By type and text."""
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str]:
        return type(self.value).__qualname__, repr(self.value)

    @property
    def count(self) -> int:
        """Parameters of the entry."""
        return 0

    def given(self, argument: object, name: str) -> Iterator[object]:
        """Nothing. Raises TileError for another number."""
        if ConstantParameter(argument) != self:
            _wrong(name, f"the constant {shown(self.value)} that it was compiled for", shown(argument))
        yield from ()


@dataclass(frozen=True)
class ListParameter:
    """A list of arrays: the address of a table with a row for each (address, sizes, strides), then their number."""

    element: ArrayParameter

    @property
    def count(self) -> int:
        """Parameters of the entry."""
        return 2

    def given(self, argument: object, name: str) -> Iterator[object]:
        """The numbers of the table, with views for addresses, and its length. Raises TileError for other lists."""
        if not is_list(argument):
            _wrong(name, f"a list, each element {self.element}", described(argument))
        rows = [list(self.element.given(each, f"{name}[{place}]")) for place, each in enumerate(argument)]
        yield [each if isinstance(each, View) else int(each.item()) for row in rows for each in row]
        yield np.int32(len(rows))


@dataclass(frozen=True)
class TupleParameter:
    """A tuple of parameters."""

    items: tuple[Parameter, ...]

    @property
    def count(self) -> int:
        """Parameters of the entry."""
        return sum(each.count for each in self.items)

    def given(self, argument: object, name: str) -> Iterator[object]:
        """What its items are given. Raises TileError for a tuple of another length."""
        if not is_tuple(argument) or type(argument) is not tuple:
            _wrong(name, f"a tuple of {len(self.items)}", described(argument))
        if len(argument) != len(self.items):
            _wrong(name, f"a tuple of {len(self.items)}", f"one of {len(argument)}")
        for place, (parameter, item) in enumerate(zip(self.items, argument, strict=True)):
            yield from parameter.given(item, f"{name}[{place}]")


Parameter: TypeAlias = "ArrayParameter | ScalarParameter | ConstantParameter | ListParameter | TupleParameter"


@dataclass(frozen=True)
class Calling:
    """The parameters of a cuTile kernel, by name and in order."""

    kernel: str
    location: Location
    parameters: tuple[tuple[str, Parameter], ...]

    @property
    def count(self) -> int:
        """Parameters of the entry."""
        return sum(parameter.count for _, parameter in self.parameters)

    def arguments(self, given: Sequence[object], named: Mapping[str, object]) -> list[object]:
        """The arguments of the entry: views of arrays, numbers of NumPy. Constants may be left out.

        Raises TileError that names the parameter.
        """
        values = bound([name for name, _ in self.parameters], given, named, self.kernel, self.location)
        made: list[object] = []
        for name, parameter in self.parameters:
            if name in values:
                with located_at(self.location):
                    made += parameter.given(values[name], name)
            elif not isinstance(parameter, ConstantParameter):
                missing(name, self.kernel, self.location)
        return made


def bound(
    names: Sequence[str], given: Sequence[object], named: Mapping[str, object], kernel: str, location: Location
) -> dict[str, object]:
    """Arguments by the names of parameters. Raises TileError for too many, unknown ones and those given twice."""
    takes = f"@{kernel} takes {', '.join(names)}"
    if len(given) > len(names):
        raise ArgumentError(f"expected at most {len(names)} arguments, got {len(given)}", location, takes)
    values = dict(zip(names, given, strict=False))
    for name, value in named.items():
        if name not in names:
            raise ArgumentError(f"@{kernel} has no parameter '{name}'", location, takes)
        if name in values:
            raise ArgumentError(f"parameter '{name}' of @{kernel} is given twice", location, takes)
        values[name] = value
    return values


@contextmanager
def located_at(location: Location) -> Generator[None]:
    """Errors inside that have no place get this one."""
    try:
        yield
    except TileError as error:
        if error.location != UNKNOWN:
            raise
        own = error.__cause__ if isinstance(error, ArgumentError) else None
        raise type(error)(error.message, location, error.hint) from own or error


def missing(name: str, kernel: str, location: Location) -> NoReturn:
    """Raise the error for a missing argument."""
    raise ArgumentError(f"parameter '{name}' of @{kernel} is missing", location)


def _wrong(name: str, expected: str, got: str) -> NoReturn:
    raise ArgumentError(f"parameter '{name}': expected {expected}, got {got}")
