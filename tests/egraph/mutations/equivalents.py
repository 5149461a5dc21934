"""Mutants of rules that state nothing wrong, each with the reason."""

from pathlib import Path

from egraph.soundness.mutants import Mutant

PROVED = frozenset(Path(__file__).with_name("proved.txt").read_text().splitlines())
"""By key: mutants that z3 proves as it proves rules (egraph/soundness/prove.py), or whose left side it finds
impossible, at each of the widths 1, 8 and 16; `test_proved.py` does it again.
"""

_NONZERO = "a division by zero is undefined, so a divisor that is not negative is positive"
_PROFIT = "the guard keeps a term from being lifted against itself again and again; the equality holds without it"
_DIRECTED = "mulf takes the roundings 0 to 3 alone (its verifier), so the guard leaves nothing out"
_EXACT = "the product with 1 is exact: one real sum is rounded, whatever the rounding"
_NSZ = "without signed zeros x + 0 is x in every rounding"
_QUOTIENT = "approximate and full division may give any number within 2 ulp of the quotient, which is x itself here"
_WEAKER = "what is claimed is weaker than what the rule claims, and true"
_POWER = "k - 1 <= hi and k - 1 <= hi + 1 are the same for a power of two k: hi + 1 is one, hi + 2 is none"
_DIVISOR = "c below 1 divides nothing: with c = 0 the quotient is undefined, and a divisor is positive"

WRITTEN: dict[str, str] = {}
"""By the mutant's key: an argument in words."""


def equivalent(mutant: Mutant) -> str | None:
    """Why a mutant is as right as its rule; None where nobody has shown that it is."""
    return "z3" if mutant.key in PROVED else WRITTEN.get(mutant.key)
