"""Rules tried on numbers: samples (sampling, sample), what terms and facts mean (model, meaning), checks, mutants."""

from egraph.rule import Rule
from egraph.soundness.check import CHECKED_RULESETS, SAMPLES, SEED, Verdict, check, check_all, check_rule

__all__ = ["CHECKED_RULESETS", "SAMPLES", "SEED", "Rule", "Verdict", "check", "check_all", "check_rule"]
