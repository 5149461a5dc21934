"""Which rules a program can need: those whose left side its operations, or rules that may fire, can make.

Rows that are loaded hold integers, so what has a class as a column (a term, a relation of values) comes from rules.

Loading a rule costs 0.2 ms a process and a little of every Push, Pop and iteration (measured on egglog 13.2.0), and
most kernels use a third of the operations. Leaving out a rule that cannot match changes no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from egraph import facts
from egraph.leaves import LEAVES
from egraph.rulefile import Command, own_rules
from egraph.sexpr import end_of_list
from egraph.term import PREFIX
from egraph.terms import PRELUDE, signatures

_HEADS = re.compile(r"\(\s*([A-Za-z][\w.]*)")
_DERIVED = re.compile(r"\((?:relation|function) (\S+) \([^()]*\b[VP]\b")
"""Relations and analyses with a column of classes."""

ALWAYS = frozenset(each.constructor for each in LEAVES if not each.rare)
"""Terms that any program may have."""


@cache
def _restricted() -> frozenset[str]:
    """The constructors that only some programs have: those of the ops, logical and placed."""
    names = frozenset(s.name for s in signatures().values()) - ALWAYS
    return names | frozenset(PREFIX + name for name in names)


@cache
def _derived() -> frozenset[str]:
    """The relations and analyses that only rules fill."""
    declared = "\n".join((PRELUDE, facts.DECLARATIONS, *(c.text for c in own_rules() if not c.is_rule)))
    return frozenset(_DERIVED.findall(declared))


def everything() -> frozenset[str]:
    """All constructors, relations and analyses."""
    return _restricted() | _derived()


def operations(facts: Iterable[str]) -> frozenset[str]:
    """The constructors of a program's own terms, from the names of its fact relations."""
    known = signatures()
    return frozenset(known[r[2:]].name for r in facts if r.startswith("r.") and r[2:] in known) - ALWAYS


@cache
def needs_and_makes(command: Command) -> tuple[frozenset[str], frozenset[str]]:
    """What of `everything` is on the left side of a rule, and on its right side (all, for a birewrite)."""
    text = command.text
    if command.head == "constructor":
        name = text.split(None, 2)[1]
        return frozenset((name,)) & _restricted(), frozenset()
    if not command.is_rule:
        return frozenset(), frozenset()
    cut = end_of_list(text, text.index("(", 1))
    left, right = (frozenset(_HEADS.findall(part)) & everything() for part in (text[1:cut], text[cut:]))
    if command.ruleset == "load":  # makes the program's own terms from rows: needs those that it makes
        return right & _restricted(), right & _derived()
    return left, right | left if command.head == "birewrite" else right


def reachable(commands: Sequence[Command], operations: frozenset[str]) -> frozenset[str]:
    """What of `everything` a program of `operations` can come to hold under the rules among `commands`."""
    found = operations
    rules = [needs_and_makes(c) for c in commands if c.is_rule]
    while True:
        more = found.union(*[makes for needs, makes in rules if needs <= found and not makes <= found])
        if more == found:
            return found
        found = more


def usable(commands: Sequence[Command], constructors: frozenset[str]) -> list[Command]:
    """The declarations and rules that a graph of `constructors`, and of what rules derive, can use."""
    return [c for c in commands if needs_and_makes(c)[0] <= constructors]
