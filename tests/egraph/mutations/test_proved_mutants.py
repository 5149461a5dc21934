"""z3 proves the mutants that are said to be proved."""

import pytest

from tests.egraph.mutations.equivalents import PROVED
from tests.egraph.mutations.sweep import all_mutants

RLIMIT = 1_500_000
"""z3's limit a query, about half a second; all but a few of them take a tenth of it."""


@pytest.mark.slow
def test_z3_proves_them():
    pytest.importorskip("z3")
    from egraph.soundness.prove import proved

    chosen = [mutant for mutant in all_mutants() if mutant.key in PROVED]
    assert len(chosen) == len(PROVED)
    wrong = [m.key for m in chosen if {proved(m.rule, w, RLIMIT) for w in (1, 8, 16)} & {"refuted", "unknown"}]
    assert not wrong
