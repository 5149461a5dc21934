"""A tenth of the mutants of our rules, chosen by the commit: all are refuted, equivalent, or known survivors."""

from egraph.rule import Rule, text
from egraph.rulefile import Command, own_rules
from egraph.soundness.mutants import OPERATORS, mutants, well_bound
from tests.commit import commit
from tests.egraph.mutations.equivalents import PROVED, WRITTEN
from tests.egraph.mutations.sweep import SURVIVORS, all_mutants, judge, part


def test_a_tenth_of_the_mutants_is_refuted():
    judged = [judge(mutant) for mutant in part(commit())]
    alive = {j.mutant.key for j in judged if j.how not in ("killed", "equivalent")}
    assert len(judged) > 100
    assert alive <= SURVIVORS, "no sample refutes these; see tests/egraph/mutations/sweep.py"


def test_every_tenth_together_is_all():
    assert sum(len(part(f"{k:040x}")) for k in range(10)) == len(all_mutants())


def test_lists_name_mutants_of_today():
    assert SURVIVORS | PROVED | WRITTEN.keys() <= {mutant.key for mutant in all_mutants()}


def test_arguments_in_words_are_few():
    assert len(WRITTEN) <= len(all_mutants()) / 10


def found(rule):
    return {m.key.removeprefix("t/t: ") for m in mutants(Command.of(rule, "<test>"))}


def test_operators_change_one_thing():
    rule = """(rule ((= v (divi x y 1 2)) (= t (type x)) (integer t w lo hi) (> w 1) (>= (low x) 0)
        (= k (min (divisor x) 8))) ((union v (subi y x 0)) (set (divisor v) k)) :ruleset canon :name "t/t")"""
    assert found(rule) == {
        "guard dropped: (= t (type x))",
        "guard dropped: (> w 1)",
        "guard dropped: (>= (low x) 0)",
        "guard relaxed: (> w 1) to (>= w 1)",
        "guard relaxed: (>= (low x) 0) to (>= (+ (low x) 1) 0)",
        "pattern relaxed: any signedness in (divi x y 1 2)",
        "pattern relaxed: any rounding in (divi x y 1 2)",
        "extremum: (min (divisor x) 8) on the left",
        "operands: (divi x y 1 2) on the left",
        "operands: (subi y x 0) on the right",
        "overflow: overflow of (subi y x 0) to 1",
    }
    assert {m.operator for m in mutants(Command.of(rule, "<test>"))} <= OPERATORS.keys()


def test_what_changes_nothing_is_no_mutant():
    commutes = '(rewrite (addi x (muli y z o) p) (addi (muli z y o) x p) :ruleset canon :name "t/t")'
    assert not {key for key in found(commutes) if key.startswith("operands")}
    renamed = """(rule ((= v (subi a b o)) (= k (min (divisor a) (divisor b)))) ((set (divisor v) k))
        :ruleset canon :name "t/t")"""
    assert found(renamed) == {"extremum: (min (divisor a) (divisor b)) on the left"}


def test_a_guard_that_binds_is_no_guard():
    (rule,) = Rule.of(next(c for c in own_rules() if c.name == "integer/rem-to-mask"))
    assert well_bound(rule)
    without = [f for f in rule.body if text(f) != "(= m (- c 1))"]
    assert not well_bound(Rule(rule.name, tuple(without), rule.actions))
