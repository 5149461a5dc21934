"""Judges every mutant of every rule: `make mutation`, or `python -m tests.egraph.mutations.sweep [PREFIX ...]`.

A mutant is killed where the check of rules refutes it with `SAMPLES` samples; `make test` draws an eighth of these of
each rule, `make test-all` more. What is not killed is equivalent (`equivalents.py` says why, mutant by mutant) or
survives; survivors are listed with file and rule.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from egraph.rulefile import own_rules
from egraph.soundness import CHECKED_RULESETS, SAMPLES, SEED, check_rule
from egraph.soundness.mutants import Mutant, mutants
from tests.egraph.mutations.equivalents import equivalent

SURVIVORS = frozenset(Path(__file__).with_name("survivors.txt").read_text().splitlines())
"""Keys of the mutants that no sample refutes today and nobody has shown to be equivalent: what is to be done."""

PARTS = 10
"""Parts of which `make test` judges one, chosen by the commit."""


@dataclass(frozen=True)
class Judged:
    """how: killed, equivalent, survived, unmatched (no sample satisfies the left side) or unevaluated."""

    mutant: Mutant
    how: str
    what: str


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """The mutants of every rule that the checks evaluate, in the order of the rules."""
    commands = (c for c in own_rules() if c.is_rule and c.ruleset in CHECKED_RULESETS)
    return tuple([mutant for command in commands for mutant in mutants(command)])


def judge(mutant: Mutant) -> Judged:
    """What the check of rules finds."""
    verdict = check_rule(mutant.rule, SEED, SAMPLES)
    if verdict.failure:
        return Judged(mutant, "killed", verdict.failure)
    why = equivalent(mutant)
    if why is not None:
        return Judged(mutant, "equivalent", why)
    if verdict.reason:
        return Judged(mutant, "unevaluated", verdict.reason)
    return Judged(mutant, "survived" if verdict.satisfied else "unmatched", f"{verdict.satisfied} samples")


def part(commit: str) -> Sequence[Mutant]:
    """Every tenth mutant, from a start that the commit's last digits choose."""
    return all_mutants()[int(commit[-8:], 16) % PARTS :: PARTS]


def table(judged: Iterable[Judged]) -> list[str]:
    """Counts by ruleset and by operator, and the score: killed of those that are not equivalent."""
    found = list(judged)
    columns = ("killed", "equivalent", "survived", "unmatched", "unevaluated")
    lines = [f"{'':18}{'mutants':>9}" + "".join(f"{c:>13}" for c in columns) + f"{'score':>9}"]
    groups = [(name, [j for j in found if j.mutant.ruleset == name]) for name in CHECKED_RULESETS]
    groups += [
        (name, [j for j in found if j.mutant.operator == name]) for name in {j.mutant.operator: 0 for j in found}
    ]
    for name, members in (*groups, ("all", found)):
        counts = Counter(j.how for j in members)
        judgeable = len(members) - counts["equivalent"]
        score = f"{counts['killed'] / judgeable:9.1%}" if judgeable else ""
        lines.append(f"{name:18}{len(members):9}" + "".join(f"{counts[c]:13}" for c in columns) + score)
    return lines


def main(prefixes: Sequence[str]) -> None:
    """Judge those whose rule's name begins with one of the prefixes; without any, all."""
    started = time.process_time()
    judged: list[Judged] = []
    for mutant in all_mutants():
        if not prefixes or mutant.rule.name.startswith(tuple(prefixes)):
            judged.append(judge(mutant))
            if judged[-1].how not in ("killed", "equivalent"):
                print(f"{mutant.file}: {mutant.key}: {judged[-1].how} ({judged[-1].what})", flush=True)
    print(*table(judged), sep="\n")
    print(f"{SAMPLES} samples a rule, {time.process_time() - started:.0f} s of CPU")


if __name__ == "__main__":
    main(sys.argv[1:])
