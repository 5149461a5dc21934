"""Dependences of the source's own terms, as seeds: rules would find the same, but advance one operation an
iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from egraph.terms import GIVEN, signatures

Row = tuple[int, ...]


def dependence(rows: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Rows `r.deps` of all terms that have none: the union of their operands', as the generated rules say it.

    rows: by relation `r.<term>`, the number first, then operands, whose numbers are smaller.
    """
    known = dict(cast(Sequence[tuple[int, int]], rows.get("r.deps", ())))
    terms: list[tuple[int, Sequence[int], int]] = [(number, (term,), 0) for number, term, _ in rows.get("r.proj", ())]
    for signature in signatures().values():
        if signature.mnemonic not in GIVEN:
            last = 1 + len(signature.operands)
            of_signature = rows.get(f"r.{signature.mnemonic}", ())
            terms += [(row[0], row[1:last], row[-1] if signature.scoped else 0) for row in of_signature]
    terms.sort()
    found: list[Row] = []
    for number, operands, mask in terms:
        if number not in known and all(operand in known for operand in operands):
            for operand in operands:
                mask |= known[operand]
            known[number] = mask
            found.append((number, mask))
    return found
