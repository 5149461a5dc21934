"""Every rule of ours, read from its file and run on random tiles; wrong rules and dropped guards must be found out."""

import pytest

from egraph.rulefile import Command, own_rules
from egraph.soundness import CHECKED_RULESETS, SAMPLES, SEED, TRIES, Rule, check, check_rule

RULES = {c.name: c for c in own_rules() if c.is_rule and c.ruleset in CHECKED_RULESETS}

# What one tile cannot show: view sizes are checked in test_analysis.py, and what two replacements in a row are is in
# test_permissions.py.
ELSEWHERE = {
    "range/index-space",
    "range/tensor-shape",
    "permitted/direct",
    "permitted/further",
}

QUICK = SAMPLES // 8, TRIES // 5
"""Samples of each rule in `make test`, and draws for them; `make test-all` takes more than `SAMPLES`."""


@pytest.mark.parametrize("name", sorted(RULES.keys() - ELSEWHERE))
def test_rule_is_sound(name):
    verdict = check(RULES[name], SEED, *QUICK)
    assert not verdict.reason, verdict.reason
    assert not verdict.failure, verdict.failure
    assert verdict.satisfied, f"no sample satisfies the guards in {verdict.tries} draws: the rule is untested"


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RULES.keys() - ELSEWHERE))
def test_rule_is_sound_on_many_tiles(name):
    verdict = check(RULES[name], seed=5, wanted=150)
    assert verdict.sound, verdict.failure or verdict.reason


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_exempt_rule_cannot_be_evaluated(name):
    assert check(RULES[name], wanted=1, tries=20).reason


WRONG = {
    "difference commutes": "(rewrite (subi a b o) (subi b a o) :ruleset canon :name {})",
    "zero plus float": "(rewrite (addf x (constant a t) 0 0) x :when ((float_is a 0)) :ruleset canon :name {})",
    "negated sum": "(rewrite (negf (addf a b 0 f)) (addf (negf a) (negf b) 0 f) :ruleset canon :name {})",
    "negated product, any rounding": "(rewrite (negf (mulf a b r f)) (mulf (negf a) b r f) :ruleset canon :name {})",
    "float sum reassociates": """(rewrite (addf (addf a b 0 0) c 0 0) (addf a (addf b c 0 0) 0 0)
        :ruleset canon :name {})""",
    "signed shift for division": """(rule ((= v (divi x (splat c t) 1 1)) (> c 1) (= 0 (& c (- c 1))) (= k (log2 c)))
        ((union v (shri x (splat k t) 1))) :ruleset canon :name {})""",
    "product may wrap": """(rewrite (divi (muli x (splat c t) 0) (splat c t) 1 1) x :when ((> c 1))
        :ruleset canon :name {})""",
    "permutations compose backwards": """(rule ((= v (permute (permute x p t) q u)) (composed q p r))
        ((union v (permute x r u))) :ruleset canon :name {})""",
    "broadcast forgets its type": "(rewrite (broadcast x t) x :ruleset canon :name {})",
    "transposed product": "(rewrite (mmaf a b c f) (mmaf b a c f) :ruleset canon :name {})",
    "signs of extension mixed": "(rewrite (exti (exti x 1 t) 0 u) (exti x 0 u) :ruleset canon :name {})",
    "extension of a wrapped sum": """(rule ((= v (exti (addi x (splat n t) o) 1 u)))
        ((union v (addi (exti x 1 u) (splat n u) 0))) :ruleset canon :name {})""",
    "select swapped": "(rewrite (select (splat 1 t) x y) y :ruleset canon :name {})",
    "comparison by the wrong bound": """(rule ((= v (cmpi x y 2 1 t)) (< (low x) (high y)))
        ((union v (splat 1 t))) :ruleset canon :name {})""",
    "promise invented": "(rewrite (addi x y 0) (addi x y 1) :ruleset canon :name {})",
    "constant too wide": "(rewrite (trunci (splat n t) o u) (splat n u) :ruleset canon :name {})",
    "sum may wrap": """(rule ((= v (addi a b o)) (= l (+ (low a) (low b)))) ((set (low v) l))
        :ruleset analysis :name {})""",
    "divisors add": """(rule ((= v (addi a b o)) (= k (max (divisor a) (divisor b)))) ((set (divisor v) k))
        :ruleset analysis :name {})""",
    "wrapped group stays contiguous": """(rule ((= v (exti x 1 t)) (= c (contiguity x d))) ((set (contiguity v d) c))
        :ruleset analysis :name {})""",
    "mask constant without alignment": """(rule ((= v (cmpi x y 2 s t)) (= k (min (contiguity x d) (constancy y d))))
        ((set (constancy v d) k)) :ruleset analysis :name {})""",
    "alignment of a shorter group": """(rule ((= v (addi x y o)) (= a (alignment x d))
        (= c (min (contiguity x d) (constancy y d)))) ((set (contiguity v d) c) (set (alignment v d) a))
        :ruleset analysis :name {})""",
    "reshape keeps dimensions": """(rule ((= v (reshape x t)) (= c (constancy x d)) (dimension t d n) (<= c n))
        ((set (constancy v d) c)) :ruleset analysis :name {})""",
    "promise of a region is believed everywhere": "(rewrite (promised x p s) x :ruleset canon :name {})",
    "rounding keeps bounds": """(rule ((= v (promised x p s)) (= l (low x))) ((set (low v) l)) :ruleset analysis
        :name {})""",
    "one times a subnormal that is flushed": """(rewrite (mulf x (constant a t) r f) x :when ((float_is a 1) (<= r 3))
        :ruleset canon :name {})""",
    "sum forgets to flush": "(rewrite (addf a b r 1) (addf a b r 0) :ruleset canon :name {})",
    "square root forgets to flush": "(rewrite (sqrt_ a r 1) (sqrt_ a r 0) :ruleset canon :name {})",
    "reciprocal root forgets to flush": "(rewrite (rsqrt a 1) (rsqrt a 0) :ruleset canon :name {})",
    "maximum forgets to flush": "(rewrite (maxf a b n 1) (maxf a b n 0) :ruleset canon :name {})",
    "minus zero less a subnormal that is flushed": """(rewrite (subf (constant a t) x r f) (negf x)
        :when ((float_is a -2) (<= r 1)) :ruleset canon :name {})""",
    "doubling does not overflow": """(rewrite (subf (addf x x 0 0) x 0 0) (addf x (subf x x 0 0) 0 0)
        :ruleset canon :name {})""",
    "contraction reassociates": """(rewrite (addf (addf a b 0 0) c 0 0) (addf a (addf b c 0 0) 0 0) :when ((allow 1))
        :ruleset canon :name {})""",
    "contraction rounds the product down": """(rewrite (addf (mulf a b 0 0) c 0 0) (addf (mulf a b 2 0) c 0 0)
        :when ((allow 1)) :ruleset canon :name {})""",
    "i4 is added": """(rule ((= v (addi (exti x 1 t) (exti y 1 t) o)) (= u (type x)) (= u (type y)) (integer u w lo hi)
        (> w 1) (>= (low v) lo) (<= (high v) hi)) ((union v (exti (addi x y 1) 1 t))) :ruleset canon :name {})""",
    "four bits are negated": """(rule ((= v (negf (ftof x 0 t))) (tile t h e) (symmetric e))
        ((union v (ftof (negf x) 0 t))) :ruleset canon :name {})""",
    "product is exact": "(rule ((= v (muli a b o))) ((exact_product a b)) :ruleset analysis :name {})",
    "counter reaches its bound": """(rule ((= v (iv n t)) (loop_bounds n a b s) (= h (low b))) ((set (high v) h))
        :ruleset analysis :name {})""",
    "counter never wraps": """(rule ((= v (iv n t)) (loop_bounds n a b s) (r.loop_signed n 1) (>= (low s) 1)
        (= h (- (high b) 1)) (= l (low a)) (<= l h)) ((set (low v) l) (set (high v) h)) :ruleset analysis :name {})""",
    "bounds of a loop without a trip": """(rule ((= v (iv n t)) (loop_bounds n a b s) (r.loop_signed n 1)
        (integer t w lo hi) (>= (low s) 1) (= h (- (high b) 1)) (<= (+ h (high s)) hi) (= l (low a)))
        ((set (low v) l) (set (high v) h)) :ruleset analysis :name {})""",
    "carried value stays": "(rule ((= c (carry n i t)) (loop_init n i x)) ((union c x)) :ruleset canon :name {})",
    "result is what the last trip yields": """(rule ((= r (res n i t)) (loop_yield n i y) (= l (low y)))
        ((set (low r) l)) :ruleset analysis :name {})""",
    "reassociation forgets how it rounds": """(rule ((= v (mulf (mulf a b r 0) (constant k t) r 0)) (float_splat k)
        (allow 2)) ((instead v (mulf a (mulf b (constant k t) r 0) 0 0))) :ruleset canon :name {})""",
    "reassociation changes a product": """(rule ((= v (mulf (mulf a b r 0) c r 0)) (allow 2))
        ((instead v (mulf a (mulf b b r 0) r 0))) :ruleset canon :name {})""",
    "reassociation flushes": """(rule ((= v (mulf (mulf a b 0 0) c 0 0)) (allow 2))
        ((instead v (mulf a (mulf b c 0 1) 0 1))) :ruleset canon :name {})""",
    "reassociation stops flushing": """(rule ((= v (mulf (mulf a b 0 1) c 0 1)) (allow 2))
        ((instead v (mulf a (mulf b c 0 0) 0 1))) :ruleset canon :name {})""",
    "reassociation approximates": """(rule ((= v (divf x y 0 0)) (allow 3)) ((instead v (divf x y 4 0)))
        :ruleset canon :name {})""",
    "flushing approximates": """(rule ((= v (sqrt_ x 0 0)) (allow 9)) ((instead v (sqrt_ x 4 1)))
        :ruleset canon :name {})""",
    "an exact root is an approximate one": "(rewrite (sqrt_ x 0 f) (sqrt_ x 4 f) :ruleset canon :name {})",
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_rule_is_found_out(what):
    verdict = check(Command.of(WRONG[what].format('"wrong/rule"'), "<test>"), SEED, SAMPLES)
    assert verdict.failure
    assert not verdict.sound


# Guards without which the rule is wrong: (rule, the guard to drop as it stands in the file).
ESSENTIAL = [
    ("sink-negf/out-of-mul-lhs", "(<= r 1)"),
    ("sink-negf/into-mul", "(<= r 1)"),
    ("sink-negf/into-div", "(<= r 1)"),
    ("sink-negf/into-fma", "(allow 0)"),
    ("sink-negf/into-add", "(allow 0)"),
    ("sink-negf/into-sub", "(allow 0)"),
    ("sink-negf/out-of-conversion", "(symmetric e)"),
    ("float/sub-zero", "(<= r 1)"),
    ("float/add-minus-zero", "(<= r 1)"),
    ("zero/sum-rhs", "(allow 0)"),
    ("contract/sum-lhs", "(allow 1)"),
    ("contract/sum-rhs", "(allow 1)"),
    ("contract/difference-lhs", "(allow 1)"),
    ("contract/difference-rhs", "(allow 1)"),
    ("exponential/base-two", "(allow 14)"),
    ("exponential/flushed-base-two", "(allow 15)"),
    ("exponential/flush", "(allow 9)"),
    ("exponential/flush", "(floating t 32)"),
    ("exponential/scale-into-difference", "(allow 16)"),
    ("exponential/scale-into-fused-difference", "(allow 17)"),
    ("exponential/scale-into-fused-factor", "(allow 17)"),
    ("exponential/scale-into-factor", "(allow 2)"),
    ("quotient/by-reciprocal", "(allow 12)"),
    ("quotient/full-range", "(floating t 32)"),
    ("quotient/reciprocal-root", "(float_is k 1)"),
    ("integer/div-to-shift", "(>= (low x) 0)"),
    ("integer/div-up-to-shift", "(>= (low x) 0)"),
    ("integer/rem-to-mask", "(>= (low x) 0)"),
    ("integer/div-down-to-zero", "(>= (low x) 0)"),
    ("integer/div-signedness", "(>= (low x) 0)"),
    ("integer/rem-as-unsigned", "(>= (low x) 0)"),
    ("integer/div-of-product", "(exact_product x (splat c t))"),
    ("integer/div-of-sum", "(< (high y) c)"),
    ("integer/rem-of-sum", "(exact_product x (splat c t))"),
    ("integer/rem-of-small", "(>= (low x) 0)"),
    ("integer/add-constants", "(> w 1)"),
    ("integer/div-twice", "(<= n hi)"),
    ("conversion/narrow-sum", "(<= (high v) hi)"),
    ("conversion/narrow-product", "(>= (low v) lo)"),
    ("conversion/extend-truncated", "(<= (high x) hi)"),
    ("conversion/extend-signedness", "(>= (low x) 0)"),
    ("conversion/narrow-comparison-constant", "(<= n hi)"),
    ("compare/signedness", "(>= (low x) 0)"),
    ("compare/min-signedness", "(>= (low y) 0)"),
    ("range/addi", "(<= h hi)"),
    ("range/muli", "(>= l lo)"),
    ("range/exti-unsigned", "(>= l 0)"),
    ("contiguity/remi", "(>= (low x) 0)"),
    ("run/above-least", "(> l lo)"),
    ("shape/promised-multiple", "(>= (divisor x) k)"),
    ("shape/promised-within", "(>= (low x) n)"),
    ("shape/promised-within", "(<= (high x) m)"),
]


@pytest.mark.parametrize(("name", "guard"), ESSENTIAL)
def test_rule_without_its_guard_is_found_out(name, guard):
    command = RULES[name]
    assert guard in command.text
    bare = Command.of(command.text.replace(guard, "", 1), command.file)
    verdict = check(bare, seed=2, wanted=2000)
    assert verdict.failure


def test_rule_parts():
    (rule,) = Rule.of(RULES["sink-negf/into-add"])
    assert [g.head for g in rule.guards] == ["<=", "allow"]
    assert check_rule(rule.without(rule.guards), seed=1, wanted=300).failure


def test_both_directions_of_a_birewrite_are_checked():
    text = '(birewrite (negf (broadcast x t)) (broadcast (negf x) t) :ruleset canon :name "t/b")'
    assert check(Command.of(text, "<test>"), wanted=20).sound
    wrong = '(birewrite (negf (negf x)) x :ruleset canon :name "t/b")'
    assert "ill-formed" in check(Command.of(wrong, "<test>"), wanted=60).failure  # x need not be a float
