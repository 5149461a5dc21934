"""Demand followed along chains: as many iterations for any length, and the graph that the rules alone would make."""

from collections import Counter

import pytest

import egraph.saturate
from egraph.encode import encode
from egraph.rulefile import read_commands
from egraph.saturate import saturate
from egraph.spreading import Step, steps
from ir.text import parse

SEED = """(constructor p.here (i64 i64) P)
(rule ((= v (arg i t))) ((offer v 5) (union (native v 5) (p.here i 5)) (has v 5)) :ruleset demand :name "mine/seed")
(rule ((= v (cmpf x y p o t))) ((want v 13)) :ruleset demand :name "mine/last")
"""


def chain(length):
    """Sums one on the other, compared at the end: offers walk forward from the arguments, wants back from there."""
    lines = [f"%v{k + 1} = addf %v{k}, %y : tile<8xf32>\n" for k in range(length)]
    return encode(
        parse(f"""cuda_tile.module @m {{ entry @k(%v0: tile<8xf32>, %y: tile<8xf32>) {{
        {"".join(lines)}
        %c = cmpf less_than ordered %v{length}, %y : tile<8xf32> -> tile<8xi1>
        return }} }}""")
    )


def placed(length, tmp_path):
    path = tmp_path / "seed.egg"
    path.write_text(SEED)
    return saturate(chain(length), oracle=lambda query: {}, rules=[path])


def iterations(result):
    return sum(each.phase == "placement" for each in result.report.iterations)


def shape(result):
    """Of the e-graph: how many nodes of each operation, classes, and placed values."""
    frozen = result.frozen
    return Counter(n.op for n in frozen.nodes), frozen.n_classes, len(frozen.native), len(frozen.held_in)


def test_chain_of_500_is_placed_in_as_many_iterations_as_one_of_50(tmp_path):
    short, long = placed(50, tmp_path), placed(500, tmp_path)
    assert iterations(short) == iterations(long) < 50
    assert long.report.matches() < 11 * short.report.matches()


def test_the_graph_is_that_of_the_rules_alone(tmp_path, monkeypatch):
    followed = placed(80, tmp_path)
    assert followed.report.matches("demand/followed") > 0
    monkeypatch.setattr(egraph.saturate, "PATIENCE", 1000)
    alone = placed(80, tmp_path)
    assert alone.report.matches("demand/followed") == 0
    assert iterations(alone) > 80
    assert shape(followed) == shape(alone)


def test_a_short_program_is_left_to_the_rules(tmp_path):
    assert placed(10, tmp_path).report.matches("demand/followed") == 0


def read(text):
    return steps(tuple(read_commands(text, "mine.egg")))


def test_steps_are_read_from_rules_about_one_row_and_one_layout():
    assert read('(rule ((= v (f x y t)) (want v l)) ((want y l) (has v l)) :ruleset place :name "a")') == (
        Step("want", "want", "f", -1, 1),
    )
    assert read('(rule ((g u v) (offer u 0)) ((want v 0)) :ruleset demand :name "a")') == (
        Step("offer", "want", "g", 0, 1, 0),
    )
    assert read('(rule ((offer v l)) ((want v l)) :ruleset demand :name "a")') == (Step("offer", "want"),)


@pytest.mark.parametrize(
    "rule",
    [
        '(rule ((= v (f x y t)) (want v l) (turned t l m)) ((want x m)) :ruleset place :name "another layout")',
        '(rule ((= v (f x y t)) (want v l) (= l t)) ((want x l)) :ruleset place :name "a guard")',
        '(rule ((= v (f x 0 t)) (want v l)) ((want x l)) :ruleset place :name "a number")',
        '(rule ((= v (f (g x) y t)) (want v l)) ((want y l)) :ruleset place :name "a term below")',
        '(rule ((= v (f x x t)) (want v l)) ((want x l)) :ruleset place :name "two columns alike")',
        '(rule ((= v (f x y l)) (want v l)) ((want x l)) :ruleset place :name "a column that is the layout")',
        '(rule ((= v (f x y t)) (want v l)) ((want x 0)) :ruleset place :name "a number for it")',
        '(rule ((= v (f x y t)) (want v l)) ((want x l)) :ruleset canon :name "another ruleset")',
    ],
)
def test_rules_with_a_condition_or_another_layout_are_no_steps(rule):
    assert read(rule) == ()
