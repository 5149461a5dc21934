"""What `expect` takes: NAME=wanted, NAME__le=wanted and so on, against quantities that are looked up when asked.

A name or an operator that does not exist is an error of the test, not a failure: it lists what there is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

OPERATORS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "eq": (operator.eq, ""),
    "ne": (operator.ne, "anything but "),
    "le": (operator.le, "at most "),
    "lt": (operator.lt, "less than "),
    "ge": (operator.ge, "at least "),
    "gt": (operator.gt, "more than "),
}
"""Operator to its meaning and its wording in a failure; a name alone is `eq`."""


class ExpectationError(ValueError):
    """A test asks for what does not exist: a name, an operator, a value, a level, a loop."""


class ExpectationFailed(AssertionError):
    """A kernel is not as a test expects. The message has all that is needed to see why."""


class MissingTool(Exception):
    """A quantity that needs a program which is not installed; the message explains how to get it."""


def hidden(error: pytest.ExceptionInfo[BaseException]) -> bool:
    """Does pytest leave frames of our own out of a traceback? Where they only say what a test expected."""
    return bool(error.errisinstance((ExpectationError, ExpectationFailed)))


__tracebackhide__ = hidden  # pytest looks for the name in a frame's module


@dataclass(frozen=True)
class Quantity:
    """Something that may be asked for: how it is found, and what a failure adds to show more."""

    value: Callable[[], object]
    detail: Callable[[], list[str]] = list


@dataclass(frozen=True)
class Condition:
    """One argument of `expect`."""

    name: str
    operator: str
    wanted: object

    def holds(self, found: object) -> bool:
        """Does a value meet it? A text equals what it begins with, up to a dot: wgmma.m64n128k16 for any types."""
        if isinstance(found, str) and isinstance(self.wanted, str):
            begins = found == self.wanted or found.startswith(self.wanted + ".")
            return begins == (self.operator == "eq")
        return OPERATORS[self.operator][0](found, self.wanted)

    def words(self, found: object) -> str:
        """What a failure says of it."""
        return f"{self.name}: expected {OPERATORS[self.operator][1]}{shown(self.wanted)}, got {shown(found)}"


def shown(value: object) -> str:
    """A number or text as a person writes it."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else repr(value)


def parse(given: Mapping[str, object], known: Mapping[str, Quantity], what: str) -> list[Condition]:
    """The conditions of a call of `expect` on `what`. Raises ExpectationError that lists what there is."""
    if not given:
        raise ExpectationError(f"expect() of {what} checks nothing; it accepts {', '.join(known)}")
    found: list[Condition] = []
    for text, wanted in given.items():
        name, separator, relation = text.rpartition("__")
        name, relation = (name, relation) if separator else (text, "eq")
        if name not in known:
            raise ExpectationError(f"{what} has no {name!r}; it has {', '.join(known)}")
        if relation not in OPERATORS:
            raise ExpectationError(f"{text}: unknown operator {relation!r}; known are {', '.join(OPERATORS)}")
        if isinstance(wanted, str) and relation not in ("eq", "ne"):
            raise ExpectationError(f"{text}: a string is compared by eq and ne, not by {relation}")
        found.append(Condition(name, relation, wanted))
    return found


def check(given: Mapping[str, object], known: Mapping[str, Quantity], what: str) -> list[str]:
    """Check all conditions; the names of those that could not be looked up, each with its reason.

    Raises ExpectationFailed that tells of every condition that does not hold.
    """
    failed: list[str] = []
    missing: list[str] = []
    details: dict[str, list[str]] = {}
    for condition in parse(given, known, what):
        quantity = known[condition.name]
        try:
            found = quantity.value()
        except MissingTool as error:
            missing.append(f"{condition.name} of {what}: {error}")
            continue
        if not condition.holds(found):
            failed.append(condition.words(found))
            details.setdefault(condition.name, quantity.detail())
    if failed:
        lines = [what, *(f"  {line}" for line in failed)]
        for detail in dict.fromkeys(map(tuple, details.values())):  # each once, though several names have it
            names = ", ".join(name for name, other in details.items() if tuple(other) == detail)
            lines += [f"  {names}:", *(f"    {line}" for line in detail)] if detail else []
        raise ExpectationFailed("\n".join(lines))
    return missing
