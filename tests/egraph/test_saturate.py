"""Saturation: user rules, limits, reports, the turns with an oracle."""

import pytest

from egraph.encode import encode
from egraph.report import StopReason
from egraph.saturate import Limits, saturate
from ir.core import TileError
from ir.text import parse

TEXT = """cuda_tile.module @m { entry @k(%x: tile<f32>, %y: tile<f32>) {
    %s = addf %x, %y : tile<f32>
    %t = addf %y, %x : tile<f32>
    %n = negf %s : tile<f32>
    %m = negf %n : tile<f32>
    return } }"""


@pytest.fixture
def program():
    return encode(parse(TEXT))


def numbers(program):
    return {v.name: k for k, v in enumerate(program.values) if v is not None}


def test_user_rules(program, tmp_path):
    names = numbers(program)
    plain = saturate(program).frozen
    assert plain.class_of(names["s"]) != plain.class_of(names["t"])
    path = tmp_path / "mine.egg"
    path.write_text('; sums commute\n(rewrite (addf x y r f) (addf y x r f) :ruleset algebra :name "mine/commute")\n')
    result = saturate(program, rules=[path])
    assert result.frozen.class_of(names["s"]) == result.frozen.class_of(names["t"])
    assert result.report.matches("mine/") >= 2
    assert saturate(program, rules=[path], without=["mine/"]).report.matches("mine/") == 0


def test_misspelt_prefix_of_rules_to_leave_out(program):
    with pytest.raises(TileError, match="no rule has a name that starts with 'sink-ngef'") as caught:
        saturate(program, without=["sink-negf", "sink-ngef"])
    assert "egraph/rules" in caught.value.hint


def test_bad_user_rules(program, tmp_path):
    path = tmp_path / "mine.egg"
    path.write_text('\n\n(rewrite (addf x y r) x :ruleset algebra :name "mine/wrong")\n')
    with pytest.raises(TileError) as caught:
        saturate(program, rules=[path])
    assert (caught.value.location.file, caught.value.location.line) == (str(path), 3)
    with pytest.raises(TileError, match="cannot read"):
        saturate(program, rules=[tmp_path / "absent.egg"])
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TileError, match="cannot read"):
        saturate(program, rules=[path])
    assert saturate(program).report.saturated  # the engine of our own rules is unharmed


def test_contradicting_user_rules(program, tmp_path):
    path = tmp_path / "mine.egg"
    path.write_text('(rule ((= v (addf x y r f))) ((set (type v) 99)) :ruleset algebra :name "mine/type")\n')
    with pytest.raises(TileError, match="contradict"):
        saturate(program, rules=[path])
    assert saturate(program).report.saturated


def test_limits_stop_a_rule_that_grows(program, tmp_path):
    path = tmp_path / "grow.egg"
    path.write_text(
        '(rewrite (addf x y r f) (mulf (addf (mulf x y r f) y r f) x r f)\n:ruleset algebra :name "mine/grow")\n'
    )
    by_rows = saturate(program, rules=[path], limits=Limits(rows=3000, iterations=10**6))
    assert by_rows.report.stop["algebra"] is StopReason.ROW_LIMIT
    by_count = saturate(program, rules=[path], limits=Limits(iterations=7))
    assert by_count.report.stop["algebra"] is StopReason.ITERATION_LIMIT
    by_work = saturate(program, rules=[path], limits=Limits(matches=500, rows=10**9, iterations=10**9))
    assert by_work.report.stop["algebra"] is StopReason.MATCH_LIMIT
    assert by_work.report.ended == "algebra at its limit of 500 matches"
    assert not by_work.report.saturated
    assert by_work.frozen.class_of(numbers(program)["s"]) >= 0  # what was found so far is there


def test_report_names_rules_iterations_and_reasons(program):
    report = saturate(program).report
    assert report.saturated
    assert report.stop == {"algebra": StopReason.SATURATED}
    twice = [row for row in report.rows if row.rule == "sink-negf/twice"]
    assert sum(row.matches for row in twice) >= 1
    assert twice[0].phase == "algebra"
    assert report.seconds.keys() >= {"rules", "load", "algebra", "freeze"}
    table = report.table()
    assert "sink-negf/twice" in report.table(most=1000)
    assert "phase algebra: saturated" in table
    assert report.size == report.sizes[-1][2] > report.loaded
    assert all(row.new_rows is None for row in report.rows)  # nobody measured them
    assert report.by_ruleset() == {}


def test_rows_are_counted_now_and_then_or_after_every_iteration(program):
    seldom = saturate(program, limits=Limits(matches=10**6)).report
    often = saturate(program, limits=Limits(matches=10**6), counting=True).report
    assert len(often.sizes) == len(often.iterations) > len(seldom.sizes)
    assert often.size == seldom.size
    assert sum(often.by_ruleset().values()) == often.size - often.loaded
    assert [each.matches for each in often.iterations] == [each.matches for each in seldom.iterations]


def test_rows_of_a_rule_are_measured_where_it_runs_by_itself(program):
    together, alone = saturate(program), saturate(program, scheduling="alone")
    assert alone.report.size == together.report.size  # the same fixpoint
    grown = {rule: rows for rule, (_, rows, _) in alone.report.by_rule().items()}
    assert sum(filter(None, grown.values())) == alone.report.size - alone.report.loaded
    assert grown["sink-negf/twice"] is not None
    assert f"{'rows':>8}" in alone.report.table()
    assert f"{'rows':>8}" not in together.report.table()


def test_a_rule_with_too_many_matches_rests(program, tmp_path, monkeypatch):
    path = tmp_path / "mine.egg"
    path.write_text('(rewrite (addf x y r f) (addf y x r f) :ruleset algebra :name "mine/commute")\n')
    plain = saturate(program, rules=[path], scheduling="alone").report
    monkeypatch.setattr("egraph.schedulers.MATCH_LIMIT", 1)
    rested = saturate(program, rules=[path], scheduling="back-off").report
    assert rested.saturated
    assert rested.size == plain.size  # what rested ran again before the end
    assert len(rested.iterations) > len(plain.iterations)  # some of them without it


def test_permissions(program):
    names = numbers(program)
    exact, loose = saturate(program), saturate(program, fast=["nsz"])
    assert loose.report.matches() > exact.report.matches()
    assert loose.frozen.class_of(names["n"]) >= 0


def test_oracle_is_asked_until_it_has_nothing_new(program, tmp_path):
    path = tmp_path / "oracle.egg"
    path.write_text(
        """(relation ask_next (i64))
        (relation next (i64 i64))
        (rule ((= v (negf x)) (= t (type v))) ((ask_next 0)) :ruleset demand :name "mine/start")
        (rule ((next a b) (< b 4)) ((ask_next b)) :ruleset demand :name "mine/step")
        """
    )
    shown = []

    def oracle(query):
        shown.append(sorted(query.new("ask_next")))
        return {"next": [(a, a + 1) for (a,) in query.rows("ask_next")]}

    result = saturate(program, oracle=oracle, rules=[path])
    assert shown == [[(0,)], [(1,)], [(2,)], [(3,)], []]
    assert sorted(result.frozen.relations["next"]) == [(a, a + 1) for a in range(4)]
    assert result.report.stop["placement"] is StopReason.SATURATED


def test_elementwise_operations_are_placed_where_their_operands_are_offered(program, tmp_path):
    path = tmp_path / "seed.egg"
    path.write_text(
        """(constructor p.here (i64 i64) P)
        (rule ((= v (arg i t))) ((offer v 5) (union (native v 5) (p.here i 5)) (has v 5))
          :ruleset demand :name "mine/seed")
        (relation wanted (V i64))
        (rule ((want v l)) ((wanted v l)) :ruleset demand :name "mine/wanted")
        """
    )
    result = saturate(program, oracle=lambda query: {}, rules=[path])
    frozen, names = result.frozen, numbers(program)
    sums = frozen.class_of(names["s"])
    placed = frozen.native[sums, 5]
    (node,) = [
        n
        for n in frozen.by_class[placed]
        if n.op == "p.addf" and n.children[0] == frozen.held_in[frozen.class_of(names["x"]), 5]
    ]
    assert node.children[1] == frozen.held_in[frozen.class_of(names["y"]), 5]
    assert frozen.sort[placed] == "P"
    assert (sums, 5) in frozen.relations["wanted"]
    assert "want" not in frozen.relations  # rows of our own relations are for rules alone


def test_a_kernel_saturates_the_same_way_twice(program):
    first, second = saturate(program), saturate(program)
    assert len(first.frozen.nodes) == len(second.frozen.nodes)
    assert first.frozen.n_classes == second.frozen.n_classes


def test_rare_operations_get_their_own_engine():
    text = TEXT.replace("%m = negf %n", "%u = sin %n : tile<f32>\n%m = negf %n")
    program = encode(parse(text))
    frozen = saturate(program).frozen
    assert any(n.op == "sin" for n in frozen.nodes)


def test_oracle_is_asked_once_more_when_its_answers_to_the_last_questions_were_known(program, tmp_path):
    """Defaults come only when there are no more queries: a program whose last answers were known needs them too."""
    path = tmp_path / "mine.egg"
    path.write_text("""(relation ask_sum (V))
        (relation answered (i64))
        (rule ((= v (addf x y a b))) ((ask_sum v)) :ruleset demand :name "mine/ask")""")
    calls = []

    def oracle(query):
        asked = len(query.new("ask_sum"))
        calls.append(asked)
        return {"answered": [(7,)]} if not asked else {}

    frozen = saturate(program, oracle, rules=[path]).frozen
    assert calls == [2, 0, 0]  # two sums are asked about; then the default; then nothing is left to say
    assert frozen.relations["answered"] == [(7,)]
