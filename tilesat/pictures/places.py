"""Places of the source by number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ir.core import Location
from viz.record import Place


class Places:
    """Gives each place of the source a number; offsets in bytecode count as lines of a file of their own."""

    def __init__(self) -> None:
        self.all: list[Place] = []
        self._numbers: dict[Place, int] = {}
        self._lines: dict[tuple[str, int], list[int]] = defaultdict(list)

    def number(self, place: Location) -> int | None:
        """The number of a place, None for an unknown one."""
        if place.line:
            key = (place.file, place.line, place.column)
        elif place.offset >= 0:
            key = (f"{place.file} (bytes)", place.offset, 0)
        else:
            return None
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.all)
            self.all.append(key)
            self._lines[key[0], key[1]].append(found)
        return found

    def add(self, places: Iterable[Location], known: Sequence[int] = ()) -> list[int]:
        """The numbers of places, those that are known first, each once."""
        numbers = [self.number(each) for each in places]
        return list(dict.fromkeys([*known, *(each for each in numbers if each is not None)]))

    def on_line(self, file: str, line: int) -> list[int]:
        """Every place on a line."""
        return self._lines.get((file, line), [])

    @property
    def files(self) -> list[str]:
        """The files that places are in."""
        return list(dict.fromkeys(file for file, _, _ in self.all))
