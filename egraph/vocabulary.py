"""Which rules a program can need: those whose left side its operations, or rules that may fire, can make.

Loading a rule costs 0.2 ms a process and a little of every Push, Pop and iteration (measured on egglog 13.2.0), and
most kernels use a third of the operations. Leaving out a rule that cannot match changes no result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from egraph.leaves import LEAVES
from egraph.rulefile import Command
from egraph.sexpr import end_of_list
from egraph.term import PREFIX
from egraph.terms import signatures

_HEADS = re.compile(r"\(\s*([A-Za-z][\w.]*)")

ALWAYS = frozenset(each.constructor for each in LEAVES if not each.rare)
"""Terms that any program may have."""


@cache
def _restricted() -> frozenset[str]:
    """The constructors that only some programs have: those of the ops, logical and placed."""
    names = frozenset(s.name for s in signatures().values()) - ALWAYS
    return names | frozenset(PREFIX + name for name in names)


def everything() -> frozenset[str]:
    """All constructors."""
    return _restricted()


def operations(facts: Iterable[str]) -> frozenset[str]:
    """The constructors of a program's own terms, from the names of its fact relations."""
    known = signatures()
    return frozenset(known[r[2:]].name for r in facts if r.startswith("r.") and r[2:] in known) - ALWAYS


@cache
def needs_and_makes(command: Command) -> tuple[frozenset[str], frozenset[str]]:
    """The restricted constructors on the left side of a rule, and those on its right side (all, for a birewrite)."""
    text = command.text
    if command.head == "constructor":
        name = text.split(None, 2)[1]
        return frozenset((name,)) & _restricted(), frozenset()
    if not command.is_rule:
        return frozenset(), frozenset()
    cut = end_of_list(text, text.index("(", 1))
    if command.ruleset == "load":  # makes the program's own terms from rows: needs what it makes
        return frozenset(_HEADS.findall(text)) & _restricted(), frozenset()
    left, right = (frozenset(_HEADS.findall(part)) & _restricted() for part in (text[1:cut], text[cut:]))
    return left, right | left if command.head == "birewrite" else right


def reachable(commands: Sequence[Command], operations: frozenset[str]) -> frozenset[str]:
    """The constructors that a program of `operations` can come to hold under the rules among `commands`."""
    found = operations
    rules = [needs_and_makes(c) for c in commands if c.is_rule]
    while True:
        more = found.union(*[makes for needs, makes in rules if needs <= found and not makes <= found])
        if more == found:
            return found
        found = more


def usable(commands: Sequence[Command], constructors: frozenset[str]) -> list[Command]:
    """The declarations and rules that a graph of `constructors` can use."""
    return [c for c in commands if needs_and_makes(c)[0] <= constructors]
