"""The egglog adapter: located errors, isolation of programs, loading and freezing."""

import glob
import os

import pytest

from egraph.engine import Engine, RuleError
from egraph.rulefile import read_commands
from ir.core import TileError

BASE = """(ruleset grow)
(sort V)
(constructor leaf (i64) V)
(constructor both (V V) V)
(constructor N (i64) V :unextractable)
(constructor held_in (V i64) V :unextractable)
(function weight (V) i64 :merge (max old new))
(function fixed (V) i64 :no-merge)
(relation r (i64 i64))
(relation seen (V i64))
(rule ((r k n)) ((union (N k) (leaf n)) (set (weight (leaf n)) n) (seen (leaf n) k)) :ruleset grow :name "t/leaf")
"""


def engine(extra="", file="t.egg"):
    return Engine([*read_commands(BASE, "base.egg"), *read_commands(extra, file)])


def test_load_run_freeze():
    e = engine()
    with e.program():
        e.load({"r": [(5, 40), (6, -2), (7, 40)]})
        report = e.run("grow")
        assert report.matches == {"t/leaf": 3}
        assert e.growth() > 0
        assert e.growth() == 0
        assert report.updated
        assert not e.run("grow").updated
        frozen = e.freeze()
    assert frozen.class_of(5) == frozen.class_of(7)
    assert frozen.class_of(5) != frozen.class_of(6)
    assert {(n.op, n.args) for n in frozen.nodes} == {("leaf", (40,)), ("leaf", (-2,))}
    assert frozen.analysis["weight"] == {frozen.class_of(5): 40, frozen.class_of(6): -2}
    assert sorted(k for _, k in frozen.relations["seen"]) == [5, 6, 7]
    assert [frozen.sort[n.cls] for n in frozen.nodes] == ["V", "V"]


def test_programs_do_not_see_each_other():
    e = engine()
    with e.program():
        e.load({"r": [(5, 40)]})
        e.run("grow")
        assert e.relations(("se",))["seen"]
    with e.program():
        assert e.relations(("se",)) == {}
        assert e.freeze().nodes == []


def test_subsumed_rows_and_maps_are_not_nodes():
    rule = "(rule ((= v (leaf n)) (< n 0)) ((union (held_in v 3) (both v v)) (subsume (leaf n)))"
    e = engine(f'{rule} :ruleset grow :name "t/sub")')
    with e.program():
        e.load({"r": [(1, -4)]})
        e.run("grow")
        e.run("grow")
        frozen = e.freeze()
    assert [n.op for n in frozen.nodes] == ["both"]
    (node,) = frozen.nodes
    assert frozen.held_in == {(frozen.class_of(1), 3): node.cls}
    assert node.children == (frozen.class_of(1),) * 2
    assert node.literals == ()


@pytest.mark.parametrize(
    ("rule", "line", "message"),
    [
        ('(rewrite (leaf 1) (nope 2) :ruleset grow :name "t/a")', 3, "nope"),
        ('(rewrite (leaf 1) x :ruleset grow :name "t/a")', 3, "x"),
        ('(rule ((= v (leaf "s"))) ((seen v 1)) :ruleset grow :name "t/a")', 3, "i64"),
        ('(rewrite (leaf 1) (leaf 2) :ruleset missing :name "t/a")', 3, "missing"),
        ('(rewrite (leaf 1) (leaf 2) :ruleset grow :name "t/leaf")', 3, "already defined at base.egg:11"),
        ('(rewrite (leaf 1) (leaf 2) :ruleset grow)', 3, "no name"),
        ('(rewrite (leaf 1) (leaf 2) :name "t/a")', 3, "no ruleset"),
        ('(rewrite (leaf 1) (leaf 2)\n :ruleset grow :name "t/a"', 3, "never closed"),
        (')', 3, "without a matching '('"),
        ('stray', 3, "is outside any command"),
        ('(rewrite (leaf 1) (leaf 2) :ruleset grow :name "t/a)', 3, "not closed"),
        ("(relation r (i64))", 3, "r"),
    ],
)  # fmt: skip
def test_bad_rules_are_located(rule, line, message):
    with pytest.raises(TileError) as caught:
        engine(f"; a comment (with a bracket\n\n{rule}", "mine.egg")
    assert caught.value.location.file == "mine.egg"
    assert caught.value.location.line == line
    assert message in str(caught.value)
    assert caught.value.hint


def test_line_inside_a_long_rule():
    with pytest.raises(RuleError) as caught:
        engine('(rule ((= v (leaf n)))\n  ((seen v n)\n   (seen w n))\n  :ruleset grow :name "t/a")', "mine.egg")
    assert caught.value.location.line == 3


def run_twice(e, row):
    with e.program():
        e.load({"r": [row]})
        e.run("grow")
        e.run("grow")


def test_contradiction_is_an_error_and_drops_the_engine():
    e = engine('(rule ((= v (leaf n))) ((set (fixed v) n) (set (fixed v) 7)) :ruleset grow :name "t/clash")')
    with pytest.raises(RuleError, match="contradict"):
        run_twice(e, (1, 3))
    assert e.broken


def test_panicking_rule_is_an_error():
    e = engine('(rule ((= v (leaf 13))) ((panic "unlucky")) :ruleset grow :name "t/panic")')
    with pytest.raises(RuleError, match="unlucky"):
        run_twice(e, (1, 13))


@pytest.mark.parametrize("memory", [True, False], ids=["in memory", "on disk"])
def test_fact_files_go_away_with_the_engine(memory, tmp_path, monkeypatch):
    monkeypatch.setattr("egraph.engine._MEMORY", str(tmp_path) if memory else "/nowhere")
    monkeypatch.setattr("tempfile.tempdir", "/nowhere" if memory else str(tmp_path))
    e = engine()
    with e.program():
        e.load({"r": [(5, 40)]})
    assert glob.glob(os.path.join(tmp_path, "*", "r.tsv"))
    e.close()
    assert list(tmp_path.iterdir()) == []


def test_a_program_begins_without_the_rows_of_the_last_one():
    e = engine('(rule ((r k v)) ((r (+ k 1) v)) :ruleset grow :name "t/next")')
    for first in (5, 60):
        with e.program():
            e.load({"r": [(first, 40)]})
            e.run("grow")
            assert sorted(e.freeze().relations["r"]) == [(first, 40), (first + 1, 40)]


@pytest.mark.parametrize("command", ["(push)", "(pop)"])
def test_an_interrupt_between_scopes_breaks_the_engine(command, monkeypatch):
    """Nobody knows then which scope it is in: the next program gets another engine."""
    e = engine()
    with e.program():
        pass
    run = e._run

    def interrupted(text):
        run(text)
        if text == command:
            raise KeyboardInterrupt

    monkeypatch.setattr(e, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt), e.program():
        pass
    assert e.broken


def test_an_interrupt_within_a_program_leaves_the_engine_whole():
    def interrupted():
        with e.program():
            e.load({"r": [(5, 40)]})
            raise KeyboardInterrupt

    e = engine()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not e.broken
    with e.program():
        assert not e.run("grow").matches
