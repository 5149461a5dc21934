"""Judges the mutants of the rules about layouts: `python -m tests.lowering.placed_mutants`, with --bless the list too.

A mutant is killed where the check of rules about layouts refutes it, and ill-formed where it has a column of another
kind, as no kernel does; those are not counted. What survives, or cannot be evaluated, is in placed_survivors.txt: most
drop a fact that says where a placement is tried, and state what is right.
"""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from egraph.rulefile import own_rules
from egraph.soundness import SEED
from egraph.soundness.mutants import Mutant
from egraph.terms import declarations
from lowering.placement.mutants import placed_mutants
from lowering.placement.soundness import PLACED_RULESETS, check_placed_rule

LIST = Path(__file__).with_name("placed_survivors.txt")
SURVIVORS = frozenset(LIST.read_text().splitlines())
"""Keys of the mutants that no sample refutes."""

SAMPLES, TRIES = 24, 600
PARTS = 10
_ILL_FORMED = (KeyError, ValueError, TypeError, AttributeError)
"""What evaluating an index as a pointer, or a buffer as registers, ends in."""


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """The mutants of every rule about layouts, in the order of the rules."""
    commands = (c for c in (*declarations(), *own_rules()) if c.is_rule and c.ruleset in PLACED_RULESETS)
    return tuple([mutant for command in commands for mutant in placed_mutants(command)])


def judge(mutant: Mutant) -> str:
    """killed, ill-formed, survived, unmatched (no sample satisfies the left side) or unevaluated."""
    try:
        verdict = check_placed_rule(mutant.rule, SEED, SAMPLES, TRIES)
    except _ILL_FORMED:
        return "ill-formed"
    if verdict.failure:
        return "killed"
    return "unevaluated" if verdict.reason else "survived" if verdict.satisfied else "unmatched"


def part(commit: str) -> Sequence[Mutant]:
    """Every tenth mutant, from a start that the commit's last digits choose."""
    return all_mutants()[int(commit[-8:], 16) % PARTS :: PARTS]


def main(bless: bool) -> None:
    """Judge all; with `bless` write the list of those alive."""
    started = time.process_time()
    judged = [(mutant, judge(mutant)) for mutant in all_mutants()]
    alive = [mutant.key for mutant, how in judged if how not in ("killed", "ill-formed")]
    for operator in (*dict.fromkeys(mutant.operator for mutant, _ in judged), "all"):
        counts = Counter(how for mutant, how in judged if operator in ("all", mutant.operator))
        score = counts["killed"] / max(counts.total() - counts["ill-formed"], 1)
        print(f"{operator:18}{counts.total():6}{score:8.1%}  {dict(counts)}")
    print(f"{time.process_time() - started:.0f} s of CPU")
    if bless:
        LIST.write_text("".join(f"{key}\n" for key in sorted(alive)))


if __name__ == "__main__":
    main("--bless" in sys.argv)
