"""Thirty rules as a user writes them: right ones pass, subtly wrong ones are refuted by a sample that can be read, and
what cannot be loaded or evaluated is said at its place.
"""

from pathlib import Path

import pytest

from egraph.soundness.given import Checked, checked
from egraph.userrules import user_rules
from ir.core import TileError

RIGHT = """
(rewrite (addi x x 0) (muli x (splat 2 t) 0) :when ((= t (type x)) (integer t w lo hi) (> w 4))
  :ruleset algebra :name "right/double")
(rewrite (addi (subi x y 0) y 0) x :ruleset canon :name "right/difference-and-sum")
(rewrite (xori x x) (splat 0 t) :when ((= t (type x)) (integer t w lo hi)) :ruleset canon :name "right/xor-itself")
(rewrite (andi x (ori x y)) x :ruleset canon :name "right/absorption")
(rewrite (mini x (maxi x y 1) 1) x :ruleset canon :name "right/least-of-greatest")
(rewrite (absf (mulf x x r f)) (mulf x x r f) :ruleset canon :name "right/square")
(rewrite (addf x y r f) (addf y x r f) :ruleset canon :name "right/commuted")
(rewrite (addi (broadcast x t) (broadcast y t) 0) (broadcast (addi x y 0) t) :when ((= u (type x)) (= u (type y)))
  :ruleset canon :name "right/broadcast-of-sum")
(rewrite (subi x (muli (divi x y s 1) y 0) 0) (remi x y s) :when ((> (low y) 0))
  :ruleset canon :name "right/remainder")
(rewrite (remi x y 1) x :when ((>= (low x) 0) (> (low y) (high x))) :ruleset canon :name "right/small")
"""

WRONG = {
    "guard off by one": "(rewrite (remi x y 1) x :when ((>= (low x) 0) (>= (low y) (high x))) :ruleset canon :name {})",
    "shift of negative": "(rewrite (divi x (splat 8 t) 1 1) (shri x (splat 3 t) 1) :ruleset canon :name {})",
    "signedness": "(rewrite (cmpi x y 2 0 t) (cmpi x y 2 1 t) :when ((>= (low x) 0)) :ruleset canon :name {})",
    "NaN equals itself": "(rewrite (cmpf x x 0 1 t) (splat 1 t) :ruleset canon :name {})",
    "minus zero": "(rewrite (addf x (constant k t) 0 0) x :when ((float_is k 0)) :ruleset canon :name {})",
    "flushing forgotten": "(rewrite (mulf x (constant k t) 0 1) x :when ((float_is k 1)) :ruleset canon :name {})",
    "i8 wraps": "(rule ((= v (iota t))) ((set (low v) 0)) :ruleset analysis :name {})",
    "reassociation under contract": """(rule ((= v (addf (addf a b 0 0) c 0 0)) (allow 1))
        ((instead v (addf a (addf b c 0 0) 0 0))) :ruleset algebra :name {})""",
    "shift by the width": """(rule ((= v (shli (shli x (splat a t) 0) (splat b t) 0)) (= n (+ a b))
        (integer t w lo hi) (<= n w)) ((union v (shli x (splat n t) 0))) :ruleset canon :name {})""",
    "division by zero": """(rewrite (muli x (splat 0 t) 0) (muli (divi x x 1 1) (splat 0 t) 0)
        :ruleset canon :name {})""",
    "minimum of NaN": """(rewrite (minf x y p f) (select (cmpf x y 2 0 b) x y) :when ((= t (type x)) (tile t s e)
        (tile b s i) (integer b 1 lo hi)) :ruleset canon :name {})""",
    "NaN propagated": "(rewrite (maxf x (maxf x y 1 0) 1 0) (maxf y x 0 0) :ruleset canon :name {})",
    "narrowing": "(rewrite (exti (trunci x 0 t) 1 u) x :when ((= u (type x))) :ruleset canon :name {})",
    "float there and back": "(rewrite (ftof (ftof x 0 t) 0 u) x :when ((= u (type x))) :ruleset canon :name {})",
    "directed rounding": """(rewrite (negf (addf a b 2 f)) (addf (negf a) (negf b) 2 f)
        :ruleset canon :name {})""",
    "another axis": "(rewrite (broadcast (reshape x t) u) (broadcast x u) :ruleset canon :name {})",
    "order of a sum": """(rule ((= v (reduce (cons (addf x y 0 0) (nil)) d b i t))) ((union v
        (addf (reduce (cons x (nil)) d b i t) (reduce (cons y (nil)) d b i t) 0 0))) :ruleset algebra :name {})""",
    "arms exchanged": "(rewrite (select (xori c (splat 1 t)) x y) (select c x y) :ruleset canon :name {})",
    "padding of a masked load": """(rule ((= l (load_ptr_tko p m x k o s tys)) (= v (proj l 0))
        (= j (load_ptr_tko p m y k o s tys)) (= w (proj j 0))) ((union v w)) :ruleset canon :name {})""",
    "least integer": "(rule ((= v (absi x))) ((set (low v) 0)) :ruleset analysis :name {})",
}

UNREADABLE = ("Datum(", "TileType(", "object at", "rewritten", "<unknown>")


def tried(folder: Path, text: str) -> Checked:
    path = folder / "mine.egg"
    path.write_text(text)
    return checked(user_rules([path]))


@pytest.mark.in_turn
def test_right_rules_pass(tmp_path):
    found = tried(tmp_path, RIGHT)
    assert len(found.samples) == 10
    assert not found.warnings


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", WRONG)
def test_wrong_rule_is_refuted_by_a_sample_that_can_be_read(tmp_path, what):
    with pytest.raises(TileError) as caught:
        tried(tmp_path, WRONG[what].format('"wrong/rule"'))
    message = caught.value.message
    assert message.startswith("rule 'wrong/rule' is wrong: ")
    assert "; sample: " in message
    assert "tile<" in message
    assert not [part for part in UNREADABLE if part in message]
    assert len(message) < 700
    assert caught.value.location.line == 1


def test_counterexample_shows_both_sides_and_names_types(tmp_path):
    with pytest.raises(TileError) as caught:
        tried(tmp_path, WRONG["shift of negative"].format('"wrong/rule"'))
    assert "left side is not (shri x (splat 3 t) 1); sample: t = tile<" in caught.value.message
    assert "left side = tile<" in caught.value.message
    assert "right side = tile<" in caught.value.message


MALFORMED = {
    '(rewrite (addi x y) (addi y x) :ruleset canon :name "m/a")': (10, "expected 3 args", "(addi lhs rhs overflow)"),
    '(rewrite (addi x y 0) (addi z x 0) :ruleset canon :name "m/a")': (29, "Unbound symbol z", "README"),
    '(rewrite (addi x y 0) :ruleset canon :name "m/a")': (32, "parse error", "README"),
    '(rewrite (addi low y 0) y :ruleset canon :name "m/a")': (16, "Shadowing is not allowed, but found low", "README"),
    '(rewrite (addf x 0.0 0 0) x :ruleset canon :name "m/a")': (18, "to have type V", "README"),
    '(rewrite (addi x y 0) (addi y x 0) :ruleset canon :name "m/a"': (1, "'(' is never closed", "add the missing"),
    '(rule ((= v (addi x y o))) ((union o 1)) :ruleset canon :name "m/a")': (29, "Cannot union", "README"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", MALFORMED)
def test_what_cannot_be_loaded_is_said_at_its_place(tmp_path, text):
    column, message, hint = MALFORMED[text]
    with pytest.raises(TileError) as caught:
        tried(tmp_path, f"\n{text}")
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert (caught.value.location.line, caught.value.location.column) == (2, column)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(rewrite (make_partition_view v t) v :ruleset canon :name {})", "must be a tensor view"),
        ("(rewrite (extract x i t) x :ruleset canon :name {})", "'extract' of a list has no value outside a kernel"),
        ("(rule ((want v l)) ((want v l)) :ruleset demand :name {})", "relation 'want' has no meaning on tiles"),
        ("(rule ((= v (negf x))) ((delete (negf x))) :ruleset canon :name {})", "'delete' has no meaning on tiles"),
        ("(rewrite (sin x) x :when ((float_is k 7) (float_splat k)) :ruleset canon :name {})", "(float_is k 7)"),
    ],
)
def test_what_cannot_be_evaluated_is_a_warning(tmp_path, text, said):
    found = tried(tmp_path, text.format('"mine/rule"'))
    (warning,) = found.warnings
    assert ":1:1: rule 'mine/rule' is not checked: " in warning
    assert said in warning
    assert not found.samples


def test_a_name_of_a_value_may_be_given_in_the_actions(tmp_path):
    right = '(rule ((= v (subi x y 0))) ((let w (subi {} 0)) (union v w)) :ruleset canon :name "mine/let")'
    assert tried(tmp_path, right.format("x y")).samples
    with pytest.raises(TileError, match="v is not w"):
        tried(tmp_path, right.format("y x"))
