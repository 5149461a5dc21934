"""Rules of the user's are tried on samples before they are used."""

import re
import time
import warnings
from pathlib import Path

import pytest

import tilesat
from egraph.rulefile import own_rules
from egraph.soundness import CHECKED_RULESETS, check
from egraph.soundness.given import SAMPLES, TRIES, checked
from egraph.userrules import user_rules
from ir.core import TileError
from tilesat.cli import main

KERNEL = Path(__file__).parents[2] / "examples" / "vecadd_ptr.mlir"
WRONG = '; order does not matter\n(rewrite (subi a b 0) (subi b a 0) :ruleset canon :name "mine/swapped")'
RIGHT = '(rewrite (absf (mulf x x r f)) (mulf x x r f) :ruleset canon :name "mine/square")'
FEW = """(rule ((= v (addi x y 0)) (= 3 (low x)) (= 3 (high x))) ((union v (addi y x 0)))
  :ruleset canon :name "mine/few")"""
NEVER = '(rewrite (addi x y 0) (addi y x 0) :when ((> (low x) (high x))) :ruleset canon :name "mine/never")'
OWN = '(relation seen (V))\n(rule ((= v (addf a b r f)) (seen a)) ((union v a)) :ruleset canon :name "mine/seen")'


def file(folder: Path, text: str) -> str:
    path = folder / "mine.egg"
    path.write_text(text)
    return str(path)


def test_wrong_rule_is_refused_with_a_counterexample(tmp_path):
    path = file(tmp_path, WRONG)
    with pytest.raises(TileError) as caught:
        tilesat.compile(KERNEL, rules=[path])
    assert "rule 'mine/swapped' is wrong: left side is not (subi b a 0); sample: a = " in str(caught.value)
    assert len(str(caught.value)) < 500
    assert str(caught.value).startswith(f"{path}:2:1: error: ")
    assert caught.value.hint == "correct the rule, or pass --unchecked (in Python unchecked=True) to use it anyway"


def test_wrong_rule_is_used_unchecked(tmp_path):
    assert tilesat.compile(KERNEL, rules=[file(tmp_path, WRONG)], unchecked=True).ptx


def test_rule_that_cannot_be_tried_is_a_warning(tmp_path):
    with pytest.warns(UserWarning, match="rule 'mine/seen' is not checked: relation 'seen' has no meaning on tiles"):
        tilesat.compile(KERNEL, rules=[file(tmp_path, OWN)])


@pytest.mark.parametrize(("text", "said"), [(FEW, "is checked on only [1-7] sample"), (NEVER, "none of 150 random")])
def test_rule_whose_guards_few_samples_satisfy_is_a_warning(tmp_path, text, said):
    path = Path(file(tmp_path, f"{text}\n{RIGHT}"))
    found = checked(user_rules([path]))
    (warning,) = found.warnings
    assert re.search(said, warning)
    assert warning.startswith(f"{path}:1:1: rule 'mine/")
    assert "loosen its guards" in warning
    assert max(found.samples) == SAMPLES
    assert len(found.samples) == (2 if text == FEW else 1)
    assert str(found) == (
        f"2 rules checked on {min(found.samples)} to {SAMPLES} samples each" if text == FEW else str(found)
    )


def test_right_rule_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tilesat.compile(KERNEL, rules=[file(tmp_path, RIGHT)])


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("text", "options", "code", "said"),
    [
        (RIGHT, [], 0, f"tilesat: 1 rule checked on {SAMPLES} samples\n"),
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


def seconds(rule):
    """CPU time of a check, the least of two: other processes share the machine."""
    taken = []
    for _ in range(2):
        started = time.process_time()
        check(rule, 0, SAMPLES, TRIES, grouped=1)
        taken.append(time.process_time() - started)
    return min(taken)


@pytest.mark.in_turn
def test_a_rule_takes_less_than_a_tenth_of_a_second():
    """On a quiet core each does; a loaded one is given half as much again, and three rules more."""
    rules = [c for c in own_rules() if c.is_rule and c.ruleset in CHECKED_RULESETS][::5]
    check(rules[0], 0, SAMPLES, TRIES, grouped=1)  # loads what samples need
    taken = sorted(map(seconds, rules), reverse=True)
    assert sum(taken) / len(taken) < 0.05
    assert taken[3] < 0.15
