"""z3's proofs of the integer rules, and the page that lists them."""

import re
from pathlib import Path

import pytest

from egraph.rule import Rule
from egraph.rulefile import Command, own_rules
from egraph.soundness import CHECKED_RULESETS
from egraph.soundness.model import NotCovered

PAGE = Path(__file__).parents[2] / "docs" / "proved-rules.md"
RULES = {c.name: c for c in own_rules() if c.is_rule and c.ruleset in CHECKED_RULESETS}


def rows() -> list[tuple[str, str, str]]:
    """Rule, largest proved width, and what ended it before 64 bits, as the page has them."""
    return re.findall(r"^\| `([^`]+)` \| (\w+) \| ([^|]*) \|$", PAGE.read_text(), re.MULTILINE)


def test_page_names_rules_of_ours():
    assert len(rows()) > 140
    assert {name for name, _, _ in rows()} <= RULES.keys()


def test_all_are_proved_at_8_bits():
    assert not {name for name, width, ended in rows() if ended.strip() and (width == "none" or int(width) < 8)}


def test_what_is_proved_at_1_bit_only_is_about_i1():
    narrow = {name for name, width, ended in rows() if width == "1" and not ended.strip()}
    assert narrow
    assert all("(integer t 1 lo hi)" in RULES[name].text for name in narrow)


def test_nothing_of_ours_is_refuted():
    assert not [name for name, _, ended in rows() if "refuted" in ended]


@pytest.mark.slow
def test_page_is_what_z3_proves(request):
    pytest.importorskip("z3")
    from tests.egraph.proved_page import page
    from tilesat.testing.golden import check

    check(PAGE, page(RULES.values()), request.config.getoption("--bless"), "the test")


WRONG = {
    "(rewrite (subi a b o) (subi b a o) :ruleset canon :name {})": "refuted",
    "(rewrite (divi x y 1 2) (divi x y 1 1) :ruleset canon :name {})": "refuted",
    "(rule ((= v (addi a b o)) (= l (+ (low a) (low b)))) ((set (low v) l)) :ruleset analysis :name {})": "refuted",
    "(rewrite (addi x y 0) (addi x y 1) :ruleset canon :name {})": "refuted",
    "(rewrite (addi x y o) (addi y x o) :ruleset canon :name {})": "proved",
    "(rewrite (mini x y 0) (mini x y 1) :when ((>= (low x) 0) (>= (low y) 0)) :ruleset canon :name {})": "proved",
}


@pytest.mark.parametrize("text", WRONG)
def test_z3_tells_right_from_wrong(text):
    pytest.importorskip("z3")
    from egraph.soundness.prove import proved

    (rule,) = Rule.of(Command.of(text.format('"t/t"'), "<test>"))
    assert proved(rule, 8) == WRONG[text]


@pytest.mark.parametrize(
    ("guards", "answer"),
    [("(>= l lo) (<= h hi)", "proved"), ("(<= h hi)", "proved"), ("(>= l lo)", "refuted")],
)
def test_products_are_proved_of_real_numbers(guards, answer):
    pytest.importorskip("z3")
    from egraph.soundness.widths import RealQuery, proved

    text = f"""(rule ((= v (muli a b o)) (>= (low a) 0) (>= (low b) 0) (= l (* (low a) (low b)))
        (= h (* (high a) (high b))) (= t (type v)) (integer t w lo hi) {guards})
        ((set (low v) l) (set (high v) h) (exact_product a b)) :ruleset analysis :name "t/t")"""
    (rule,) = Rule.of(Command.of(text, "<test>"))
    assert proved(rule, 8, kind=RealQuery) == answer


def test_rule_of_floats_is_not_covered():
    pytest.importorskip("z3")
    from egraph.soundness.prove import proved

    (rule,) = Rule.of(RULES["sink-negf/twice"])
    with pytest.raises(NotCovered):
        proved(rule, 8)
