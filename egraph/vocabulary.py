"""Which rules a program can need: those whose left side its operations, or rules that may fire, can make.

Rows that are loaded hold integers, so what has a class as a column (a term, a relation of values) comes from rules. The
terms of the program itself come from rules that load them, each for the rows of one operation, `r.` and its name; other
relations with that prefix, and those about ids (`facts.RELATIONS`), have the rows of the program and no others. Two of
them win rows during placement (`spreading.LOADED`), in any program.

Loading a rule costs 0.2 ms a process and a little of every Push, Pop and iteration (measured on egglog 13.2.0), and
most kernels use a third of the operations. Leaving out a rule that cannot match changes no result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from egraph import facts
from egraph.leaves import LEAVES
from egraph.rulefile import Command, own_rules
from egraph.sexpr import end_of_list
from egraph.spreading import LOADED
from egraph.term import PREFIX
from egraph.terms import PRELUDE, signatures

_HEADS = re.compile(r"\(\s*([A-Za-z][\w.]*)")
_DERIVED = re.compile(r"\((?:relation|function) (\S+) \([^()]*\b[VP]\b")
"""Relations and analyses with a column of classes."""
_ROWS = re.compile(r"\(relation (r\.\S+)")
_KIND = re.compile(r"\((float_is) \S+ (-?\d+)\)")
"""What a float literal is asked to be."""

ALWAYS = frozenset(each.constructor for each in LEAVES if not each.rare)
"""Terms that any program may have."""


@cache
def _restricted() -> frozenset[str]:
    """The constructors that only some programs have: those of the ops, logical and placed."""
    names = frozenset(s.name for s in signatures().values()) - ALWAYS
    return names | frozenset(PREFIX + name for name in names)


@cache
def _declared() -> str:
    return "\n".join((PRELUDE, facts.DECLARATIONS, *(c.text for c in own_rules() if not c.is_rule)))


@cache
def _derived() -> frozenset[str]:
    """The relations and analyses that only rules fill."""
    return frozenset(_DERIVED.findall(_declared()))


@cache
def _given() -> frozenset[str]:
    """What only the program's own rows fill: relations, the rows of each operation, and kinds of float literals."""
    kinds = {" ".join(found) for c in own_rules() for found in _KIND.findall(c.text)}
    rows = {f"r.{name}" for name in _restricted()}
    loaded = {"allow", "float_is", *LOADED.values()}
    return (facts.RELATIONS | frozenset(_ROWS.findall(_declared())) | rows | kinds) - loaded


@cache
def everything() -> frozenset[str]:
    """All constructors, relations and analyses."""
    return _restricted() | _derived() | _given()


def operations(facts: Mapping[str, Sequence[tuple[int, ...]]]) -> frozenset[str]:
    """What a program's own rows fill: the constructors of its terms, relations, and kinds of float literals."""
    known = signatures()
    has = [name for name, rows in facts.items() if rows]
    terms = [known[name[2:]].name for name in has if name.startswith("r.") and name[2:] in known]
    kinds = [f"float_is {kind}" for _, kind in facts.get("float_is", ())]
    return everything() & frozenset((*has, *terms, *(f"r.{name}" for name in terms), *kinds))


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
    left |= frozenset(map(" ".join, _KIND.findall(text))) & everything()
    if command.ruleset == "load":  # makes the program's own terms, from rows of all operations in one relation
        return left | frozenset(f"r.{name}" for name in right & _restricted()), right
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
