"""Provenance: origins of nodes, why terms are equal, each rule tried alone; and the union-find behind it."""

from dataclasses import replace
from pathlib import Path

import pytest

from egraph.encode import encode
from egraph.proofs import Terms
from egraph.rulefile import Command
from egraph.saturate import Saturated, saturate
from egraph.why import Provenance
from ir.core import TileError
from ir.text import parse

TEXT = """cuda_tile.module @m { entry @k(%x: tile<f32>, %y: tile<f32>) {
    %s = addf %x, %y : tile<f32>
    %t = addf %y, %x : tile<f32>
    %n = negf %t : tile<f32>
    %m = negf %n : tile<f32>
    %a = absf %s : tile<f32>
    %b = absf %m : tile<f32>
    return } }"""
COMMUTE = '(rewrite (addf x y r f) (addf y x r f) :ruleset algebra :name "mine/commute")\n'


def provenance_of(found: Saturated) -> tuple[Provenance, dict[str, int]]:
    assert found.recorder is not None
    names = {number: f"%{v.name}" for number, v in enumerate(found.program.values) if v is not None and v.name}
    made = Provenance(found.recorder, found.frozen, found.source.commands, names)
    return made, {name: made.value(number) for number, name in names.items()}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Saturated:
    path = tmp_path_factory.mktemp("rules") / "mine.egg"
    path.write_text(COMMUTE)
    return saturate(encode(parse(TEXT)), rules=[path], provenance=True)


@pytest.mark.in_turn
def test_the_egraph_is_the_same(found: Saturated, tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(COMMUTE)
    plain = saturate(encode(parse(TEXT)), rules=[path])
    assert plain.recorder is None
    assert plain.report.size == found.report.size
    assert plain.report.matches() == found.report.matches()
    assert plain.report.by_rule().keys() == found.report.by_rule().keys()
    assert sorted(map(str, plain.frozen.nodes)) == sorted(map(str, found.frozen.nodes))


def test_every_node_has_an_origin(found: Saturated) -> None:
    made, _ = provenance_of(found)
    origins = {node.op: str(made.origin(node)) for node in found.frozen.nodes}
    assert None not in [made.origin(node) for node in found.frozen.nodes]
    assert origins["arg"] == "in the source"
    assert origins["absf"].startswith("by sink-negf/absolute in iteration ")
    assert "0 not explained" not in made.cost
    assert made.cost.endswith("terms")


def test_why_two_values_are_equal(found: Saturated) -> None:
    made, terms = provenance_of(found)
    steps = made.why(terms["%a"], terms["%b"])
    assert {step.rule for step in steps} == {"mine/commute", "sink-negf/twice"}
    assert all(step.checked for step in steps)
    assert all(step.phase == "algebra" for step in steps)
    for before, after in zip(
        made.why(terms["%s"], terms["%m"]), reversed(made.why(terms["%m"], terms["%s"])), strict=True
    ):
        assert (before.before, before.after, before.backwards) == (after.after, after.before, not after.backwards)
    assert made.why(terms["%s"], terms["%s"]) == []
    with pytest.raises(KeyError):
        made.why(terms["%s"], terms["%n"])


def test_a_rule_that_does_not_say_so_is_not_confirmed(found: Saturated) -> None:
    """The check must be able to fail: the same match, of a rule that does something else."""
    made, terms = provenance_of(found)
    (step,) = made.why(terms["%s"], terms["%t"])
    assert step.checked
    by = step.reason.firing.by
    other = Command.of('(rewrite (addf x y r f) (subf y x r f) :ruleset algebra :name "mine/other")', "<test>")
    firing = step.reason.firing._replace(by=replace(by, command=other))
    assert not made.confirmed(step.reason._replace(firing=firing))
    assert "NOT CONFIRMED" in str(replace(step, checked=False))


def test_other_schedulers_do_not_note() -> None:
    with pytest.raises(TileError, match="provenance is recorded only with the scheduler turns, not with alone"):
        saturate(encode(parse(TEXT)), scheduling="alone", provenance=True)


def test_proofs() -> None:
    terms: Terms[str] = Terms({"x": (), "y": (), "z": (), "f": (0,), "g": (0, 1)})
    x, y, z = (terms.add(name, (), "") for name in "xyz")
    fx, fy = terms.add("f", (x,), ""), terms.add("f", (y,), "")
    gxy, gyy = terms.add("g", (fx, y), ""), terms.add("g", (fy, y), "")
    assert terms.add("f", (x,), "") == fx
    terms.union(x, z, "a")
    terms.union(z, y, "b")
    assert terms.find(gxy) == terms.find(gyy)  # by congruence, twice
    assert [edge.reason for edge in terms.why(x, y)] == ["a", "b"]
    assert [edge.reason for edge in terms.why(y, x)] == ["b", "a"]
    assert [tuple(edge[:2]) for edge in terms.why(y, x)] == [(y, z), (z, x)]
    assert [edge.reason for edge in terms.why(gxy, gyy)] == [None]
    twin = terms.add("f", (z,), "")
    assert twin not in (fx, fy)
    assert terms.lookup("f", (z,)) is not None
    assert terms.find(twin) == terms.find(fx)
    with pytest.raises(KeyError):
        terms.why(x, fx)


INTEGERS = """cuda_tile.module @m { entry @k(%x: tile<i32>) {
    %one = constant <i32: 1> : tile<i32>
    %y = muli %x, %one : tile<i32>
    %z = muli %y, %one : tile<i32>
    %s = addi %z, %x : tile<i32>
    %u = addi %y, %x : tile<i32>
    %i = iota : tile<8xi32>
    %four = constant <i32: 4> : tile<8xi32>
    %r = remi %i, %four signed : tile<8xi32>
    %d = divi %i, %four signed : tile<8xi32>
    return } }"""


def test_what_is_united_in_the_iteration_that_matches_it() -> None:
    """`x * 1 = x` leaves one class of the two: the engine names both sides by it."""
    made, terms = provenance_of(saturate(encode(parse(INTEGERS)), provenance=True))
    assert made.recorder.missed == 0
    assert None not in [made.origin(node) for node in made.frozen.nodes]
    for left, right, rules in (("%x", "%z", {"integer/mul-one"}), ("%s", "%u", {"integer/mul-one"})):
        steps = made.why(terms[left], terms[right])
        assert {step.rule for step in steps} == rules
        assert all(step.checked for step in steps)


def test_facts_that_conditions_look_up_are_given_to_the_rule_alone() -> None:
    made, _ = provenance_of(saturate(encode(parse(INTEGERS)), provenance=True))
    edges = [edge for edge in made.recorder.terms._edge if edge is not None and edge.reason is not None]
    reasons = {edge.reason.firing.rule: edge.reason for edge in edges}
    assert "integer/rem-to-mask" in reasons  # where (low x) is at least 0
    looked = reasons["integer/rem-to-mask"].firing.by.looked
    assert [name for name, _ in looked] == ["looked0"]
    assert all(made.confirmed(reason) for rule, reason in reasons.items() if not rule.startswith("load/"))
