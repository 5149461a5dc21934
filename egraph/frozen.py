"""A saturated e-graph as plain Python data: nodes over dense class ids, analyses, relations, placement maps."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from egraph.forms import node_class
from egraph.leaves import Cons
from egraph.term import LOGICAL, PLACED, Node
from ir.records import dataclass

if TYPE_CHECKING:
    from egglog.bindings import EGraph, FrozenRow, Value

SORTS = (LOGICAL, PLACED)
"""The sorts that have e-classes; every other column of ours is an i64."""

_DECODERS = {"String": "value_to_string", "f64": "value_to_f64", "bool": "value_to_bool"}
"""Sorts that only rules of the user's have: a column holds the place of the value in `Frozen.values`."""

_UNIT = ("Unit", "@")
"""What the output sorts of relations start with: `Unit`, or egglog's own sort `@<relation>Sort`."""

_MAPS = ("held_in", "native", "out")
_NUMBERS = "N"


@dataclass
class Frozen:
    """Nodes without subsumed rows and bookkeeping; `analysis[f]` maps a class (or a tuple, for functions of several
    columns) to its fact, `relations[r]` lists rows, `held_in`, `native` and `out` map (value class, layout) to a placed
    class. Strings, floats and booleans are represented by their index in `values`.
    """

    nodes: list[Node] = field(default_factory=list[Node])
    sort: list[str] = field(default_factory=list[str])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    analysis: dict[str, dict[object, int]] = field(default_factory=dict[str, dict[object, int]])
    relations: dict[str, list[tuple[int, ...]]] = field(default_factory=dict[str, list[tuple[int, ...]]])
    held_in: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    native: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
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
    def of(egraph: EGraph, relations: Container[str] | None = None) -> Frozen:
        """Freeze a `bindings.EGraph` (0.6 ms for 12,000 rows) and number its classes. `relations`: those whose rows are
        kept, all where it is None.
        """
        return _Export(egraph, lambda name: relations is None or name in relations).result

    @staticmethod
    def rows_of(egraph: EGraph, names: tuple[str, ...]) -> dict[str, list[tuple[int, ...]]]:
        """Rows of the relations whose names start with one of `names`."""
        return _Export(egraph, lambda name: name.startswith(names), relations_only=True).result.relations


class _Numbers(dict[int, int]):
    """The number of each class of one sort, in order of first use."""

    def __init__(self, sort: str, sorts: list[str]):
        super().__init__()
        self._sort = sort
        self._sorts = sorts

    def __missing__(self, raw: int) -> int:
        number = self[raw] = len(self._sorts)
        self._sorts.append(self._sort)
        return number


Read: TypeAlias = "Callable[[Value], int]"


class _Export:
    """One walk over the frozen tables; `keeps`: should the rows of a relation be kept?

    egglog numbers classes like small integers, so `value_to_i64` reads a column of either (core revision 2e5657b,
    core-relations/src/base_values/unboxed.rs): a third of the time that it takes to hash `Value` objects.
    """

    def __init__(self, egraph: EGraph, keeps: Callable[[str], bool], *, relations_only: bool = False):
        self.result = Frozen()
        self._integer: Read = egraph.value_to_i64
        self._classes = {sort: _Numbers(sort, self.result.sort) for sort in SORTS}
        self._literals = {sort: self._places(getattr(egraph, name)) for sort, name in _DECODERS.items()}
        for name, function in egraph.freeze().functions.items():
            output: str = function.output_sort
            relation = output.startswith(_UNIT)
            if relation and (name == "row" or name.startswith("r.") or not keeps(name)):
                continue
            if (relations_only and not relation) or function.is_let_binding:
                continue
            rows = function.rows  # each one becomes an object here
            if rows:
                self._take(name, function.input_sorts, output, rows)

    def _take(self, name: str, sorts: list[str], output: str, rows: list[FrozenRow]) -> None:
        """The rows of one table."""
        if output in SORTS:
            self._terms(name, sorts, output, rows)
        elif output.startswith(_UNIT):
            self.result.relations[name] = [tuple(args) for args, _ in self._columns(sorts, rows)]
        else:
            self._analysis(name, sorts, output, rows)

    def _places(self, decode: Callable[[Value], str | float | bool]) -> Read:
        """The place of a value of one sort in `Frozen.values`."""
        known: dict[object, int] = {}
        values = self.result.values

        def place(value: Value) -> int:
            found = known.get(value)
            if found is None:
                found = known[value] = len(values)
                values.append(decode(value))
            return found

        return place

    def _reader(self, sort: str) -> Read:
        """What reads a column of a sort that has no classes."""
        return self._literals.get(sort, self._integer)

    def _columns(self, sorts: list[str], rows: list[FrozenRow]) -> Iterator[tuple[list[int], FrozenRow]]:
        """The arguments of each row, beside the row."""
        integer = self._integer
        classes = [(place, self._classes[sort]) for place, sort in enumerate(sorts) if sort in SORTS]
        literals = [(place, self._literals[sort]) for place, sort in enumerate(sorts) if sort in self._literals]
        for row in rows:
            inputs = row.inputs
            if literals:
                args = [self._reader(sort)(value) for sort, value in zip(sorts, inputs, strict=True)]
            else:
                args = list(map(integer, inputs))
            for place, numbers in classes:
                args[place] = numbers[args[place]]
            yield args, row

    def _terms(self, name: str, sorts: list[str], output: str, rows: list[FrozenRow]) -> None:
        result, integer, numbers = self.result, self._integer, self._classes[output]
        if name in (_NUMBERS, *_MAPS):
            found: dict[object, int] = getattr(result, "numbers" if name == _NUMBERS else name)
            for args, row in self._columns(sorts, rows):
                found[args[0] if name == _NUMBERS else (args[0], args[1])] = numbers[integer(row.output)]
            return
        made = node_class(name)
        classes = [place for place, sort in enumerate(sorts) if sort in SORTS]
        others = [place for place, sort in enumerate(sorts) if sort not in SORTS]
        for args, row in self._columns(sorts, rows):
            cls = numbers[integer(row.output)]
            if not row.subsumed:
                children, literals = tuple([args[i] for i in classes]), tuple([args[i] for i in others])
                result.nodes.append(made(name, tuple(args), cls, children, literals))

    def _analysis(self, name: str, sorts: list[str], output: str, rows: list[FrozenRow]) -> None:
        single, read = len(sorts) == 1, self._reader(output)
        self.result.analysis[name] = {
            args[0] if single else tuple(args): read(row.output) for args, row in self._columns(sorts, rows)
        }
