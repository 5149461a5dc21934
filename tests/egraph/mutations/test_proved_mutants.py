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
    found = {m.key: [proved(m.rule, width, RLIMIT) for width in (1, 8, 16)] for m in chosen}
    wrong = [key for key, said in found.items() if "refuted" in said or "unknown" in said[:2]]
    assert not wrong
