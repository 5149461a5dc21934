"""Demand for layouts along chains of operations, followed in one walk where the rules would take an iteration each.

Rules such as "an operand of a sum is wanted in the layout of the sum" pass demand from one value to another in the same
layout, one operation an iteration. Here they are read from their text, and what they derive is derived by a walk over
the terms: the rows are loaded, and the rules find them there. Nothing is loaded that the rules would not derive, so the
e-graph at the end is the same; a chain of any length is placed in as many iterations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from egraph.engine import Engine, Row, Table
from egraph.rule import Rule
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from ir.records import dataclass

LOADED = {"want": "r.wanted", "offer": "r.offer"}
"""Relations of demand, and those of value numbers from which rules fill them."""

RULESETS = ("demand", "place", "isel")
OUTPUT = -1
"""The column of a term's own class."""

NUMBERS = "N"


@dataclass(frozen=True)
class Step:
    """A rule that makes `made v l` of `given u l`, where a row of `table` has u and v in these columns.

    table: "" where u is v; layout: the only one that the rule is about, None for any.
    """

    given: str
    made: str
    table: str = ""
    source: int = OUTPUT
    target: int = OUTPUT
    layout: int | None = None


@lru_cache(maxsize=8)
def steps(commands: tuple[Command, ...]) -> tuple[Step, ...]:
    """Of all rules that pass demand on in the same layout, by one term or one row of a relation."""
    rules = (rule for c in commands if c.ruleset in RULESETS for rule in Rule.of(c))
    return tuple(dict.fromkeys(step for rule in rules for step in _steps(rule)))


def _steps(rule: Rule) -> Iterator[Step]:
    demands = [fact for fact in rule.body if isinstance(fact, List) and fact.head in LOADED]
    others = [fact for fact in rule.body if fact not in demands]
    if len(demands) != 1 or len(others) > 1:
        return
    (demand,) = demands
    place = _link(others[0]) if others else ("", {_text(demand.items[1]): OUTPUT})
    value, layout = (_text(item) for item in demand.items[1:])
    if place is None or value not in place[1] or layout in place[1]:
        return
    table, columns = place
    only = int(layout) if layout.lstrip("-").isdigit() else None
    for action in rule.actions:
        if isinstance(action, List) and action.head in LOADED:
            target, same = (_text(item) for item in action.items[1:])
            if same == layout and target in columns and (demand.head, value) != (action.head, target):
                yield Step(demand.head, action.head, table, columns[value], columns[target], only)


def _link(fact: Sexpr) -> tuple[str, dict[str, int]] | None:
    """The table of a fact and the column of each of its variables, where it says nothing else of them."""
    if not isinstance(fact, List):
        return None
    output = ""
    if fact.head == "=":
        left, right = fact.items[1:]
        if not isinstance(left, Atom) or not isinstance(right, List):
            return None
        output, fact = left.text, right
    names = [_text(item) for item in fact.items[1:]]
    columns = {name: place for place, name in enumerate(names)} | ({output: OUTPUT} if output else {})
    variables = all(name and not name.lstrip("-").isdigit() for name in names)
    return (fact.head, columns) if variables and len(columns) == len(names) + bool(output) else None


def _text(form: Sexpr) -> str:
    """The name of a variable or the digits of a number; empty for a term."""
    return form.text if isinstance(form, Atom) else ""


def spread(engine: Engine, commands: tuple[Command, ...]) -> dict[str, list[Row]]:
    """The rows to load: all demand that follows by steps from what is there, of values that have a number.

    What rules made has none: demand passes through it here, and reaches it by the rules an iteration later.
    """
    found = steps(commands)
    tables = engine.tables({NUMBERS, *LOADED, *(step.table for step in found)}, subsumed=False)
    numbers = {value: number for (number,), value in reversed(tables[NUMBERS].rows)}
    rows: dict[str, list[Row]] = defaultdict(list)
    for name, value, layout in follow(found, tables):
        if value in numbers:
            rows[LOADED[name]].append((numbers[value], layout))
    return rows


def follow(found: Iterable[Step], tables: Mapping[str, Table]) -> Iterator[tuple[str, int, int]]:
    """Demand that steps derive from that of the tables and that these do not hold: relation, value, layout."""
    edges = _edges(found, tables)
    known = {(name, *row) for name in LOADED if name in tables for row, _ in tables[name].rows}
    waiting = list(known)
    while waiting:
        name, value, layout = waiting.pop()
        for made, target, only in edges.get((name, value), ()):
            new = (made, target, layout)
            if only in (None, layout) and new not in known:
                known.add(new)
                waiting.append(new)
                yield new


def _edges(
    found: Iterable[Step], tables: Mapping[str, Table]
) -> Mapping[tuple[str, int], list[tuple[str, int, int | None]]]:
    """Where demand of a value leads: relation, value, the only layout."""
    edges: dict[tuple[str, int], list[tuple[str, int, int | None]]] = defaultdict(list)
    values = {value for _, value in tables[NUMBERS].rows}
    for step in found:
        if step.table:
            for inputs, output in tables[step.table].rows if step.table in tables else ():
                columns = (*inputs, output)
                edges[step.given, columns[step.source]].append((step.made, columns[step.target], step.layout))
        else:
            for value in values:
                edges[step.given, value].append((step.made, value, step.layout))
    return edges
