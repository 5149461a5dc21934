"""Rules of `simplify-by-uses` on chains of ands or ors of predicates that have several terms in common.

A chain is a tree of one operation whose inner results nothing else reads. ptxas 13.5 makes one PLOP3 of three
predicates, and has seven: what else is alive it moves to registers and back (P2R, ISETP).
"""

from __future__ import annotations

from functools import reduce

from ir.core import Op, Value
from ir.dialects import llvm
from ir.types import I1
from lowering.convert.nvgpu_to_nvvm.readers import Uses

LEAST = 4
"""Terms of a chain that is more than one PLOP3."""


def together(u: Uses, ops: list[Op]) -> dict[Op, list[list[Value]]]:
    """By the last operation of a chain: groups of its terms that stand in the same chains, several."""
    chains = {op: terms for op in ops if _ends_chain(u, op) and len(terms := _terms(u, op)) >= LEAST}
    places: dict[Value, list[Op]] = {}
    for op, terms in chains.items():
        for term in terms:
            places.setdefault(term, []).append(op)
    found: dict[Op, list[list[Value]]] = {}
    for op, terms in chains.items():
        groups: dict[tuple[Op, ...], list[Value]] = {}
        for term in terms:
            alike = tuple(each for each in places[term] if type(each) is type(op) and each.parent is op.parent)
            groups.setdefault(alike, []).append(term)
        found[op] = [group for chains_, group in groups.items() if len(group) > 1 and len(chains_) > 1]
    return found


def _ends_chain(u: Uses, op: Op) -> bool:
    """Is it an and or an or of predicates that is no part of another one?"""
    if not isinstance(op, llvm.And | llvm.Or) or op.results[0].type != I1:
        return False
    readers = u.users.get(op.results[0])
    if readers is None:
        return False
    return len(readers) != 1 or type(readers[0]) is not type(op) or readers[0].parent is not op.parent


def _terms(u: Uses, op: Op) -> list[Value]:
    """The terms of the chain that ends here, each once."""
    found: dict[Value, None] = {}
    for value in op.operands:
        inner = u.only(value, op, type(op))
        found.update(dict.fromkeys([value] if inner is None else _terms(u, inner)))
    return list(found)


def shared_terms(u: Uses, op: Op) -> bool:
    """x | p | q | r, where another chain has p, q and r too: x | (p | q | r), which they share, if that is fewer steps
    of three predicates each.
    """
    for group in u.together.get(op, ()):
        shared, terms = frozenset(group), _terms(u, op)
        rest = [term for term in terms if term not in shared]
        if not rest or len(rest) + len(group) != len(terms) or (len(rest) + 1) // 2 >= len(terms) // 2:
            continue
        key = type(op), op.parent, shared
        if key not in u.joined:
            u.joined[key] = _joined(u, op, group)
        u.replace(op, _joined(u, op, [*rest, u.joined[key]]))
        return True
    return False


def _joined(u: Uses, op: Op, terms: list[Value]) -> Value:
    return reduce(lambda x, y: u.computed(type(op), op, x, y), terms)
