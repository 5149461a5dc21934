"""What extraction chose for a value of the source, with what came second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

from egraph import placed
from egraph.term import Node
from ir.core import Op, Region, Value
from ir.dialects import cuda_tile as ct
from ir.types import TileType
from lowering.explain import Explanation
from tilesat.testing.conditions import ExpectationError, ExpectationFailed, Quantity, check, hidden

__tracebackhide__ = hidden

NO_ATOM = (placed.PlacedCarry, placed.PlacedLoopResult)
"""Forms of a carried value: what computes it is what the loop's body hands on."""
Form = dict[str, Any]


@dataclass(frozen=True)
class Chosen:
    """The forms in which a value is computed or converted: expect() holds where one of them meets all conditions.

    what: how messages call it; forms: atom, cost, layout, bytes, stages and warps of each; report: the same for people,
    with runners-up; more: the command that shows more.
    """

    what: str
    forms: list[Form]
    report: Callable[[], list[str]]
    more: Callable[[], str]

    def expect(self, **conditions: object) -> None:
        """Expect of the choice: atom, up to a dot (`wgmma.m64n128k16` for any types); cost, cycles of one CTA over all
        iterations; bytes of an access; layout; stages of the ring that brings it or its factors, 0 without; warps that
        compute. Numbers also with __le, __lt, __ge, __gt, __ne.
        """
        failed: ExpectationFailed | None = None
        for form in self.forms:
            try:
                check(conditions, {name: Quantity(partial(form.get, name)) for name in form}, self.what)
            except ExpectationFailed as error:
                failed = failed or error
            else:
                return
        lines = [str(failed), "  chosen:", *(f"    {line}" for line in self.report()), f"  more: {self.more()}"]
        raise ExpectationFailed("\n".join(lines))


def chosen(explanation: Explanation, name: str, what: str, more: Callable[[], str]) -> Chosen:
    """What was chosen for the value that the source calls `name` (%acc); of a carried one, for what the loop hands on.

    Raises ExpectationError that lists the values of the program, ExpectationFailed where it is not computed.
    """
    named = _values(explanation)
    wanted = name if name.startswith("%") else f"%{name}"
    if wanted not in named:
        near = get_close_matches(wanted, named, 3)
        listed = ", ".join(near or named)
        raise ExpectationError(f"{what} has no tile value {wanted}; {'near it are' if near else 'it has'} {listed}")
    value, path = named[wanted], [wanted]
    carried = dict(_carried(explanation.program.entry))
    while (forms := list(_forms(explanation, value))) and all(isinstance(node, NO_ATOM) for node in forms):
        if value not in carried or carried[value] is value:
            break
        value = carried[value]
        path.append(explanation.names.of(value))
    if not forms:
        raise ExpectationFailed(f"{wanted} of {what} is not computed: the program does not need it\n  more: {more()}")
    described = [_described(explanation, node) for node in forms]
    report = partial(lambda: list(explanation.value(_class(explanation, value))))
    return Chosen(f"{' = '.join(path)} of {what}", described, report, more)


def _values(explanation: Explanation) -> dict[str, Value]:
    """The tile values that saturation knows, by their names."""
    values = [value for value in explanation.program.values if value is not None]
    tiles = [value for value in values if isinstance(value.type, TileType) and value.type.size > 1]
    return {explanation.names.of(value): value for value in reversed(tiles)}


def _class(explanation: Explanation, value: Value) -> int:
    """The value class of a value of the program."""
    return explanation.frozen.class_of(explanation.program.values.index(value))


def _forms(explanation: Explanation, value: Value) -> Iterator[Node]:
    """The chosen nodes that compute or convert a value."""
    selection, wanted = explanation.selection, _class(explanation, value)
    for made, node in selection.node.items():
        place = selection.owner.get(made)
        if place is not None and place[0] == wanted and not isinstance(node, placed.Identity):
            yield node


def _described(explanation: Explanation, node: Node) -> Form:
    """A chosen node by what a test may ask of it."""
    selection = explanation.selection
    moved = isinstance(node, placed.Copy | placed.LoadView)
    return {
        "atom": "convert" if isinstance(node, placed.Convert) else explanation.atom(node),
        "cost": explanation.graph.columns.cost[explanation.chosen[node.cls]],
        "bytes": int(node.bytes) if moved else 0,
        "layout": str(explanation.oracle.layouts[selection.owner[node.cls][1]]),
        "stages": min(_stages(explanation, node), default=0),
        "warps": selection.warps,
    }


def _stages(explanation: Explanation, node: Node) -> Iterator[int]:
    """The stages of the rings that bring a value, or the factors that it is computed from in the same iteration."""
    selection = explanation.selection
    rest, seen = [node.cls], {node.cls}
    while rest:
        cls = rest.pop()
        each = selection.node.get(cls)
        if cls in selection.stages:
            yield selection.stages[cls]
        elif each is not None and not isinstance(each, NO_ATOM):
            rest += [child for child in each.children if child not in seen]
            seen |= {*each.children}


def _carried(entry: Op) -> Iterator[tuple[Value, Value]]:
    """For each carried value and each result of a loop, what the end of its body hands on."""
    for op in entry.walk():
        if isinstance(op, ct.For | ct.Loop):
            arguments = _arguments(op.regions[0], 1 if isinstance(op, ct.For) else 0)
            last = op.regions[0].blocks[0].ops[-1]
            if isinstance(last, ct.Continue):
                for carried, result, value in zip(arguments, op.results, last.operands, strict=False):
                    yield carried, value
                    yield result, value


def _arguments(body: Region, counters: int) -> list[Value]:
    return list(body.blocks[0].args[counters:])
