"""Mutants of rules that state nothing wrong, each with the reason."""

from egraph.soundness.mutants import Mutant

WRITTEN: dict[str, str] = {}
"""By the mutant's key: an argument in words."""


def equivalent(mutant: Mutant) -> str | None:
    """Why a mutant is as right as its rule; None where nobody has shown that it is."""
    return WRITTEN.get(mutant.key)
