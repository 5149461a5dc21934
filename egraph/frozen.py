"""A saturated e-graph as plain Python data: nodes over dense class ids, analyses, relations, placement maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from egraph.forms import node_class
from egraph.leaves import Cons
from egraph.term import LOGICAL, PLACED, Node

SORTS = (LOGICAL, PLACED)
"""The sorts that have e-classes; every other column of ours is an i64."""

_DECODERS = {"String": "value_to_string", "f64": "value_to_f64", "bool": "value_to_bool"}
"""Sorts that only rules of the user's have: a column holds the place of the value in `Frozen.values`."""

_UNIT = ("Unit", "@")
"""What the output sorts of relations start with: `Unit`, or egglog's own sort `@<relation>Sort`."""

_MAPS = ("at", "nat", "out")
_NUMBERS = "N"


@dataclass
class Frozen:
    """Nodes without subsumed rows and bookkeeping; `analysis[f]` maps a class (or a tuple, for functions of several
    columns) to its fact, `relations[r]` lists rows, `at`, `nat` and `out` map (value class, layout) to a placed class.
    Numbers stand for strings, floats and booleans: their places in `values`.
    """

    nodes: list[Node] = field(default_factory=list[Node])
    sort: list[str] = field(default_factory=list[str])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    analysis: dict[str, dict[Any, int]] = field(default_factory=dict[str, dict[Any, int]])
    relations: dict[str, list[tuple[int, ...]]] = field(default_factory=dict[str, list[tuple[int, ...]]])
    at: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    nat: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    out: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    values: list[str | float | bool] = field(default_factory=list[str | float | bool])
    _by_class: dict[int, list[Node]] = field(default_factory=dict[int, list[Node]], repr=False)

    def class_of(self, number: int) -> int:
        """The class of source value `number`."""
        return self.numbers[number]

    def is_constant(self, value: int) -> bool:
        """Are all elements of an integer one number that is known?"""
        low = self.analysis["low"].get(value)
        return low is not None and low == self.analysis["high"].get(value)

    @property
    def n_classes(self) -> int:
        """Number of classes of both sorts."""
        return len(self.sort)

    @property
    def by_class(self) -> Mapping[int, list[Node]]:
        """The nodes of each class that has any."""
        if not self._by_class:
            for node in self.nodes:
                self._by_class.setdefault(node.cls, []).append(node)
        return self._by_class

    def listed(self, value: int) -> list[int]:
        """The values of an operand list, none where it is another class."""
        found: list[int] = []
        while (cell := next((n for n in self.by_class.get(value, ()) if isinstance(n, Cons)), None)) is not None:
            found.append(cell.head)
            value = cell.tail
        return found

    @staticmethod
    def of(egraph: Any) -> Frozen:
        """Freeze a `bindings.EGraph` (0.6 ms for 12,000 rows) and number its classes."""
        return _Export(egraph).result

    @staticmethod
    def rows_of(egraph: Any, names: tuple[str, ...]) -> dict[str, list[tuple[int, ...]]]:
        """Rows of the relations whose names start with one of `names`."""
        return _Export(egraph, names).result.relations


class _Export:
    """One walk over the frozen tables; `only` keeps relations by prefix and skips all else."""

    def __init__(self, egraph: Any, only: tuple[str, ...] = ()):
        self.result = Frozen()
        self._integer = egraph.value_to_i64
        self._readers: dict[str, Callable[[Any], int]] = {"i64": self._integer} | {s: self._classes(s) for s in SORTS}
        self._readers |= {sort: self._literals(getattr(egraph, name)) for sort, name in _DECODERS.items()}
        for name, function in egraph.freeze().functions.items():
            if function.is_let_binding or not function.rows:
                continue
            sorts: list[str] = function.input_sorts
            output: str = function.output_sort
            if only and not (name.startswith(only) and output not in SORTS):
                continue
            if output in SORTS:
                self._terms(name, sorts, output, function.rows)
            elif not output.startswith(_UNIT):
                self._analysis(name, sorts, self._readers[output], function.rows)
            elif name != "row" and not name.startswith("r."):
                self.result.relations[name] = [arguments for arguments, _ in self._columns(sorts, function.rows)]

    def _classes(self, sort: str) -> Callable[[Any], int]:
        """The number of a class of one sort, given out in the order in which classes are met."""
        known: dict[Any, int] = {}
        sorts = self.result.sort

        def number(value: Any) -> int:
            found = known.get(value)
            if found is None:
                found = known[value] = len(sorts)
                sorts.append(sort)
            return found

        return number

    def _literals(self, decode: Callable[[Any], str | float | bool]) -> Callable[[Any], int]:
        """The place of a value of one sort in `Frozen.values`."""
        known: dict[Any, int] = {}
        values = self.result.values

        def place(value: Any) -> int:
            found = known.get(value)
            if found is None:
                found = known[value] = len(values)
                values.append(decode(value))
            return found

        return place

    def _columns(self, sorts: list[str], rows: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
        """The arguments of each row, beside the row."""
        readers = [self._readers[sort] for sort in sorts]
        for row in rows:
            yield tuple([read(value) for read, value in zip(readers, row.inputs, strict=True)]), row

    def _terms(self, name: str, sorts: list[str], output: str, rows: Any) -> None:
        result, number, made = self.result, self._readers[output], node_class(name)
        classes = [place for place, sort in enumerate(sorts) if sort in SORTS]
        others = [place for place, sort in enumerate(sorts) if sort not in SORTS]
        for args, row in self._columns(sorts, rows):
            cls = number(row.output)
            if name == _NUMBERS:
                result.numbers[args[0]] = cls
            elif name in _MAPS:
                getattr(result, name)[args[0], args[1]] = cls
            elif not row.subsumed:
                children, literals = tuple([args[i] for i in classes]), tuple([args[i] for i in others])
                result.nodes.append(made(name, args, cls, children, literals))

    def _analysis(self, name: str, sorts: list[str], read: Callable[[Any], int], rows: Any) -> None:
        single = len(sorts) == 1
        self.result.analysis[name] = {
            args[0] if single else args: read(row.output) for args, row in self._columns(sorts, rows)
        }
