"""Rule files of the user's: what they may hold, what is refused and where, rows of every sort."""

from pathlib import Path

import pytest

from egraph.engine import RuleError
from egraph.saturate import engine_for
from egraph.userrules import COMMANDS, SORTS, user_rules
from ir.core import TileError

RULE = '(rule ((= v (addf a b r f))) ({}) :ruleset analysis :name "mine/rule")'


def write(folder: Path, text: str, name: str = "mine.egg") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def refused(folder: Path, text: str) -> TileError:
    with pytest.raises(TileError) as caught:
        user_rules([write(folder, text)])
    return caught.value


EVERYTHING = """; every command and every sort
(ruleset mine)
(relation mark (V i64 f64 bool String))
(function note (V) String :merge new)
(function weight (V) f64 :merge (max old new))
(function sure (V) bool :merge (or old new))
(constructor seen (V String) V)
(constructor put (V i64) P)
(rule ((= v (addf a b r f)) (= k (- 5 3)))
      ((mark v k 1.5 true "a (b") (set (note v) "n") (set (weight v) (+ 0.5 0.25)) (set (sure v) (not false))
       (let t (seen v "s")) (subsume (seen v "s")) (put v 0))
  :ruleset analysis :name "mine/fill")
(rewrite (negf (negf x)) x :when ((= t (type x)) (floating t w)) :ruleset canon :name "mine/twice")
(birewrite (seen x "l") (seen x "r") :ruleset canon :name "mine/both")
"""


def test_every_command_and_sort_is_taken_and_read_back(tmp_path, kernel):
    path = write(tmp_path, EVERYTHING)
    assert {c.head for c in user_rules([path])} == set(COMMANDS)
    assert all(sort in EVERYTHING for sort in SORTS)
    k = kernel("%a: tile<f32>, %b: tile<f32>", "%s = addf %a, %b : tile<f32>", rules=[path])
    frozen = k.result.frozen
    ((cls, number, *others),) = frozen.relations["mark"]
    assert (cls, number) == (k.cls("s"), 2)
    assert [frozen.values[i] for i in others] == [1.5, True, "a (b"]
    assert frozen.values[k.fact("note", "s")] == "n"
    assert frozen.values[k.fact("weight", "s")] == 0.75
    assert frozen.values[k.fact("sure", "s")] is True


def test_a_relation_of_strings_alone_is_read_back(tmp_path, kernel):
    path = write(tmp_path, "(relation r (String))\n" + RULE.replace(" r f", " x f").format('(r "filled")'))
    frozen = kernel("%a: tile<f32>", "%s = addf %a, %a : tile<f32>", rules=[path]).result.frozen
    assert [frozen.values[row[0]] for row in frozen.relations["r"]] == ["filled"]


def test_a_second_file_may_use_what_the_first_declares(tmp_path):
    first = write(tmp_path, "(relation r (V))", "first.egg")
    second = write(tmp_path, RULE.format("(r v)"), "second.egg")
    assert len(user_rules([first, second])) == 2
    with pytest.raises(TileError, match="unknown 'r' in a rule"):
        user_rules([second])


@pytest.mark.parametrize(
    "command",
    [
        '(output "/tmp/owned" 1)', '(include "/etc/passwd")', '(input type "/etc/passwd")', "(run 100000)", "(push)",
        "(pop 1)", "(extract 1)", "(run-schedule (saturate canon))", "(let x 1)", "(sort S)", "(datatype D (A))",
        "(print-size)", "(print-function type 9)", "(check (= 1 1))", "(fail (check (= 1 2)))", "(set (type 1) 2)",
        '(py-eval "1" (py-dict) (py-dict))', "(unstable-combined-ruleset x canon)", "(set-option a 1)", "()",
        "(((x)))",
    ],
)  # fmt: skip
def test_any_other_command_is_refused_at_its_place(tmp_path, command):
    found = refused(tmp_path, f"; comment\n(relation r (V)) {command}")
    assert "not allowed in a rule file" in str(found)
    assert (Path(found.location.file).name, found.location.line, found.location.column) == ("mine.egg", 2, 18)
    assert "rewrite" in found.hint


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("(relation r (PyObject))", 13, "'PyObject' is not a sort"),
        ("(relation r ((V)))", 13, "'a list' is not a sort"),
        ("(constructor c (V) S)", 16, "'S' is not a sort"),
        ("(constructor c (V))", 1, "expected (constructor NAME (SORT ...) SORT)"),
        ("(relation r)", 1, "expected (relation NAME (SORT ...))"),
        ("(function f (V) i64 :merge (py-eval 1))", 28, "unknown 'py-eval'"),
        ('(rule ((= v (exec x))) ((want v 0)) :ruleset demand :name "m/a")', 13, "unknown 'exec'"),
        ('(rewrite (negf x) (py-call x) :ruleset canon :name "m/a")', 19, "unknown 'py-call'"),
        ('(rewrite (negf x) x :when ((vec-of 1)) :ruleset canon :name "m/a")', 28, "unknown 'vec-of'"),
        ('(rewrite (negf x) x :ruleset mine :name "m/a")', 1, "is in ruleset 'mine', which is never run"),
    ],
)
def test_parts_that_are_refused(tmp_path, text, column, message):
    found = refused(tmp_path, f"\n  {text}")
    assert message in str(found)
    assert (found.location.line, found.location.column) == (2, column + 2)
    assert found.hint


def test_a_part_on_a_later_line_is_located(tmp_path):
    found = refused(tmp_path, '(rule ((= v (negf x)))\n ((want v 0)\n  (open v)) :ruleset demand :name "m/a")')
    assert (found.location.line, found.location.column) == (3, 3)


def test_egglog_s_own_message_has_the_column_too(tmp_path):
    path = write(tmp_path, '(relation r (V)) (rewrite (negf x) y :ruleset canon :name "mine/free")')
    with pytest.raises(RuleError) as caught:
        engine_for([path])
    assert (caught.value.location.line, caught.value.location.column) == (1, 36)


def test_our_own_rules_keep_to_the_list():
    """Whoever copies one of them into a file of their own must get by with it."""
    folder = Path(__file__).parents[2] / "egraph" / "rules"
    assert user_rules(sorted(folder.glob("*.egg")))
