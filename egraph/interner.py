"""Integer ids of types and attributes: egglog rows carry only i64, the meaning of an id stays in these tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from ir.core import Type


class Table:
    """Ids 0, 1, 2, ... of hashable values in order of first use."""

    __slots__ = ("_ids", "_values")

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._ids: dict[Hashable, int] = {}

    def id(self, value: object) -> int:
        """The id of `value`, new when it was not seen before."""
        key = (value.__class__, value)  # 1, True and 1.0 are equal in Python and must not share an id
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self._values)
            self._values.append(value)
        return found

    def find(self, value: object) -> int | None:
        """The id of `value` if it has one."""
        return self._ids.get((value.__class__, value))

    def __getitem__(self, id: int) -> Any:
        return self._values[id]

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def items(self) -> list[tuple[int, Any]]:
        """A snapshot of (id, value) pairs: interning while walking it is safe."""
        return list(enumerate(self._values))


class Interner:
    """The id tables of one program; ids are stable as long as the program lives."""

    __slots__ = ("attributes", "types")

    def __init__(self) -> None:
        self.types = Table()
        self.attributes = Table()

    def type(self, id: int) -> Type:
        """The type behind an id."""
        return self.types[id]
