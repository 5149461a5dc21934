"""Rules of the user's are tried on samples before they are used."""

import time
import warnings
from pathlib import Path

import pytest

import tilesat
from egraph.rulefile import own_rules
from egraph.soundness import CHECKED_RULESETS, check
from egraph.soundness.given import SAMPLES, TRIES
from ir.core import TileError
from tilesat.cli import main

KERNEL = Path(__file__).parents[2] / "examples" / "vecadd_ptr.mlir"
WRONG = '; order does not matter\n(rewrite (subi a b 0) (subi b a 0) :ruleset canon :name "mine/swapped")'
RIGHT = '(rewrite (absf (mulf x x r f)) (mulf x x r f) :ruleset canon :name "mine/square")'
OWN = '(relation seen (V))\n(rule ((= v (addf a b r f)) (seen a)) ((union v a)) :ruleset canon :name "mine/seen")'


def file(folder: Path, text: str) -> str:
    path = folder / "mine.egg"
    path.write_text(text)
    return str(path)


def test_wrong_rule_is_refused_with_a_counterexample(tmp_path):
    path = file(tmp_path, WRONG)
    with pytest.raises(TileError) as caught:
        tilesat.compile(KERNEL, rules=[path])
    assert "rule 'mine/swapped' is wrong: rewritten is not (subi b a 0); sample: a = " in str(caught.value)
    assert len(str(caught.value)) < 500
    assert str(caught.value).startswith(f"{path}:2:1: error: ")
    assert caught.value.hint == "correct the rule, or pass --unchecked (in Python unchecked=True) to use it anyway"


def test_wrong_rule_is_used_unchecked(tmp_path):
    assert tilesat.compile(KERNEL, rules=[file(tmp_path, WRONG)], unchecked=True).ptx


def test_rule_that_cannot_be_tried_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="rule 'mine/seen' is not checked: relation 'seen' has no meaning on tiles"):
        tilesat.compile(KERNEL, rules=[file(tmp_path, OWN)])


def test_right_rule_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilesat.compile(KERNEL, rules=[file(tmp_path, RIGHT)])


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        (RIGHT, [], 0, f"tilesat: 1 rule checked on {SAMPLES} samples each"),
        (OWN, [], 0, "warning: rule 'mine/seen' is not checked"),
        (WRONG, [], 1, "rule 'mine/swapped' is wrong"),
    ],
)
def test_command_line_says_what_was_tried(tmp_path, capsys, text, options, code, said):
    out = ["-o", str(tmp_path / "k.ptx")]
    assert main(["compile", str(KERNEL), "--rules", file(tmp_path, text), *options, *out]) == code
    assert said in capsys.readouterr().err


def test_command_line_unchecked(tmp_path, capsys):
    out = ["-o", str(tmp_path / "k.ptx")]
    assert main(["compile", str(KERNEL), "--rules", file(tmp_path, WRONG), "--unchecked", *out]) == 0
    assert "checked" not in capsys.readouterr().err


@pytest.mark.in_turn
def test_a_rule_takes_less_than_a_tenth_of_a_second():
    rules = [c for c in own_rules() if c.is_rule and c.ruleset in CHECKED_RULESETS][::5]
    check(rules[0], wanted=SAMPLES, tries=TRIES)  # loads what samples need
    started = time.process_time()
    for rule in rules:
        check(rule, wanted=SAMPLES, tries=TRIES)
    assert (time.process_time() - started) / len(rules) < 0.1
