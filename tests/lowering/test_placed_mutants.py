"""A tenth of the mutants of rules about layouts, chosen by the commit: refuted, ill-formed, or known survivors."""

from egraph.rulefile import Command
from lowering.placement.mutants import placed_mutants
from tests.commit import commit
from tests.lowering.placed_mutants import SURVIVORS, all_mutants, judge, part


def test_a_tenth_of_the_mutants_is_refuted():
    judged = {mutant.key: judge(mutant) for mutant in part(commit())}
    assert len(judged) > 50
    assert {key for key, how in judged.items() if how not in ("killed", "ill-formed")} <= SURVIVORS


def test_list_names_mutants_of_today():
    assert {mutant.key for mutant in all_mutants()} >= SURVIVORS


def changes(text: str) -> set[str]:
    return {m.key.removeprefix("t/t: ") for m in placed_mutants(Command.of(text, "<test>"))}


def test_layouts_operands_and_widths_are_changed():
    rule = """(rule ((= v (subi x y o)) (want v l) (has y m) (= w (min (divisor x) 8)))
        ((union (native v l) (p.subi (held_in x l) (held_in y m) o)) (set (view_bytes v) w))
        :ruleset isel :name "t/t")"""
    assert changes(rule) >= {
        "layout: (native v l) to m",
        "layout: (held_in y m) to l",
        "operands: (subi x y o) on the left",
        "width: (min (divisor x) 8) to 8",
        "extremum: (min (divisor x) 8) on the left",
    }


def test_of_wishes_layouts_alone_are_changed():
    wish = '(rule ((= v (subi x y o)) (want v l) (has y m)) ((want x l)) :ruleset demand :name "t/t")'
    assert changes(wish) == {"layout: (want x l) to m"}
