"""Only rules that can match are loaded, and leaving the others out changes nothing."""

from pathlib import Path

import pytest

from egraph import saturate as module
from egraph.encode import encode
from egraph.rulefile import Command
from egraph.saturate import engine_for, saturate
from egraph.vocabulary import everything, needs_and_makes, operations, reachable
from ir.load import load

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlir"))


def shape_of(frozen):
    """What two runs must agree on: nodes by constructor, classes, and how often each fact occurs."""
    facts = {name: sorted(table.values()) for name, table in frozen.analysis.items()}
    return sorted(node.op for node in frozen.nodes), frozen.n_classes, facts


@pytest.mark.sampled(10)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_unneeded_rules_change_nothing(path, monkeypatch):
    program = encode(load(path))
    monkeypatch.setattr(module, "_ENGINES", module._Engines())
    few = saturate(program)
    engine_for()  # replaces the engine by one with every rule
    all_rules = saturate(program)
    assert shape_of(few.frozen) == shape_of(all_rules.frozen)
    assert few.report.matches() == all_rules.report.matches()


def test_one_engine_grows_with_the_programs(monkeypatch):
    monkeypatch.setattr(module, "_ENGINES", module._Engines())
    first = engine_for(operations=frozenset(("addi", "iota")))
    assert engine_for(operations=frozenset(("addi",))) is first
    second = engine_for(operations=frozenset(("negf",)))
    assert second is not first
    assert engine_for(operations=frozenset(("addi", "iota", "negf"))) is second
    assert len(module._ENGINES.loaded) == 1


@pytest.mark.parametrize(
    ("text", "needs", "makes"),
    [
        ('(rewrite (negf (mulf a b r f)) (divf a b) :ruleset canon :name "t/a")', {"negf", "mulf"}, {"divf"}),
        ('(rule ((= v (exti x s t)) (> (low x) 0)) ((union v (trunci x)))\n :ruleset canon :name "t/a")',
         {"exti", "low"}, {"trunci"}),
        ('(birewrite (addf a b) (subf a b) :ruleset canon :name "t/a")', {"addf"}, {"addf", "subf"}),
        ('(rule ((row 7 k a 0)) ((union (N k) (negf (N a)))) :ruleset load :name "load/negf")', {"r.negf"}, {"negf"}),
        ('(rewrite (mulf x (constant a t) r 0) x :when ((float_is a 1)) :ruleset canon :name "t/a")',
         {"mulf", "constant", "float_is 1"}, set()),
        ('(rewrite (mulf x (constant a t) r 0) x :when ((float_is a 7)) :ruleset canon :name "t/a")',
         {"mulf", "constant"}, set()),  # no rule of ours asks for it
        ('(rule ((want v l)) ((want v 0)) :ruleset demand :name "t/a")', {"want"}, {"want"}),
        ('(rule ((r.loop_init l i k)) ((loop_init l i (N k))) :ruleset load :name "load/loop-init")',
         {"r.loop_init"}, {"loop_init"}),
        ("(constructor p.addf (P P i64 i64) P)", {"p.addf"}, set()),
        ("(relation addf_seen (V))", set(), set()),
    ],
)  # fmt: skip
def test_needs_and_makes(text, needs, makes):
    assert needs_and_makes(Command.of(text, "<test>")) == (needs, makes)


def test_reachable_follows_rules_that_can_fire():
    rules = [
        Command.of('(rewrite (addf a b) (subf a b) :ruleset canon :name "t/a")', "<test>"),
        Command.of('(rewrite (subf a (negf b)) (mulf a b) :ruleset canon :name "t/b")', "<test>"),
    ]
    assert reachable(rules, frozenset(("addf",))) == {"addf", "subf"}
    assert reachable(rules, frozenset(("addf", "negf"))) == {"addf", "subf", "negf", "mulf"}
    assert reachable(rules, frozenset(("mulf",))) == {"mulf"}


def test_rules_of_programs_that_follow_are_loaded_with_the_first(monkeypatch):
    monkeypatch.setattr(module, "_ENGINES", module._Engines())
    program = encode(load(EXAMPLES[0]))
    alone = saturate(program)
    again = saturate(program, ahead=frozenset(("cat", "r.cat")))
    assert shape_of(alone.frozen) == shape_of(again.frozen)
    assert alone.report.matches() == again.report.matches()
    assert "load/cat" in {c.name for c in again.source.commands} - {c.name for c in alone.source.commands}


def test_operations_of_a_program():
    found = operations(encode(load(EXAMPLES[0])).facts)
    assert {"mmaf", "load_view_tko", "permute"} <= found <= everything()
    assert "splat" not in found


def test_rows_of_a_program():
    facts = {"r.addf": [(5, 3, 4, 0, 0)], "float_is": [(1, 0)], "r.held": [], "combiner": [(0, 1)], "r.own": [(1,)]}
    assert operations(facts) == {"addf", "r.addf", "float_is 0", "combiner"}
