"""The table of placed operations: declared once, and what rules make of them by position fits what is read by name."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import lowering.decode
import tilesat
from egraph import leaves, placed
from egraph.forms import Form, PlacedForm, node_class, placed_classes
from egraph.rulefile import RULES_DIRECTORY, Command, own_rules
from egraph.sexpr import Atom, List, Sexpr
from egraph.term import PLACED, AttributeId, LayoutId, Node, Placed, TypeId, Value, term
from egraph.terms import declarations
from ir.core import TileError
from ir.dialects import cuda_tile as ct
from lowering.decode import values
from lowering.selection import pricing
from tests.lowering.placed_page import OUTPUT, page

EXAMPLES = Path(__file__).parents[2] / "examples"
OPERATIONS = {cls.constructor: cls for cls in placed_classes()}
RULES = [command for command in (*declarations(), *own_rules()) if command.is_rule]


def lists(form: Sexpr) -> Iterator[List]:
    """A form and all in it."""
    if isinstance(form, List):
        yield form
        for item in form.items:
            yield from lists(item)


# --- declarations


def test_the_table_declares_every_placed_constructor() -> None:
    """Rule files hold rules; `out`, a map, is the only constructor that they declare."""
    texts = "\n".join(path.read_text() for path in RULES_DIRECTORY.glob("*.egg"))
    assert re.findall(r"\(constructor (\S+)", texts) == ["out"]
    found = [command.text for command in declarations() if command.head == "constructor"]
    made = re.findall(r"\(constructor (\S+) \([^()]*\) P\)$", "\n".join(found), re.M)
    assert sorted(made) == sorted(OPERATIONS)
    assert placed.Copy.declaration() == "(constructor p.copy (P P V i64 i64 i64 i64 i64 i64) P)"


def test_columns_are_read_by_name() -> None:
    node = placed.Copy("p.copy", (10, 11, 12, 20, 21, 22, 16, 4, 2), 5, (10, 11, 12), (20, 21, 22, 16, 4, 2))
    assert (node.view, node.index, node.token, node.view_type, node.shared) == (10, 11, 12, 21, 22)
    assert (node.bytes, node.inside, node.mechanism) == (16, 4, placed.Mechanism.TMA)
    assert isinstance(node, placed.Load)
    assert [each.name for each in placed.PLACED_KEEPING[0].columns] == [
        "list", "dim", "reverse", "body", "identities", "types", "layout",
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_operation_says_what_it_means(name: str) -> None:
    cls = OPERATIONS[name]
    assert cls.sort == PLACED
    if not issubclass(cls, PlacedForm):
        meaning = next(each.__doc__ for each in cls.__mro__ if each.__doc__)
        assert "ClassVar" not in meaning
        assert meaning.rstrip().endswith((".", "`"))


def test_the_page_is_made_from_the_table() -> None:
    assert OUTPUT.read_text() == page(), "run python -m tests.lowering.placed_page"


def test_forms_of_operations_know_them() -> None:
    cls = node_class("p.exti")
    assert issubclass(cls, PlacedForm)
    assert (cls.operation, cls.title()) == (ct.ExtI, "exti")
    node = cls("p.exti", (3, 1, 7), 4, (3,), (1, 7))
    assert (node.number(ct.ExtI.signedness), node.result_type) == (1, 7)
    assert issubclass(node_class("mmaf"), Form)
    assert node_class("p.mmaf") is placed.MmaF
    assert issubclass(node_class("p.iv"), leaves.Induction)
    assert issubclass(node_class("p.iv"), Placed)
    assert node_class("p.load_view_tko") is Node  # neither elementwise nor uniform: it has no placed form
    assert node_class("mine") is Node


@pytest.mark.parametrize(("constructor", "parts", "message"), [
    ("p.copy", {"__slots__": ()}, "'p.copy' is already declared by Copy"),
    ("p.new", {"__slots__": (), "cls": LayoutId()}, "hides what every node has"),
    ("p.new", {}, "needs __slots__"),
])  # fmt: skip
def test_a_wrong_declaration_is_refused(constructor: str, parts: dict[str, object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        term(constructor)(type("New", (Placed,), parts))


# --- rules against the table

PLACES = ("want", "has", "offer", "held_in", "native")
"""Facts and maps whose last column is a layout."""
ARITHMETIC = ("+", "-", "*", "/", "%", "min", "max")


def kinds(rule: Command) -> dict[str, set[type]]:
    """What variables of a rule are, by the facts and maps that they stand in."""
    found: dict[str, set[type]] = {}
    for form in lists(rule.form):
        last = form.items[-1] if form.items else None
        if form.head == "=" and isinstance(form.items[1], Atom) and isinstance(last, List) and last.head == "type":
            found.setdefault(form.items[1].text, set()).add(TypeId)
        elif form.head in PLACES and isinstance(last, Atom) and not last.text.isdigit():
            found.setdefault(last.text, set()).add(LayoutId)
    return found


def check(rule: Command) -> int:
    """As many columns as are declared, of their sorts, and layouts and types where they are declared."""
    known, terms = kinds(rule), 0
    for form in lists(rule.form):
        cls = OPERATIONS.get(form.head)
        if cls is None:
            continue
        terms += 1
        assert len(form.items) - 1 == len(cls.columns), f"{rule.name}: {form.head} has {len(cls.columns)} columns"
        for column, sort, item in zip(cls.columns, cls.sorts(), form.items[1:], strict=True):
            where = f"{rule.name}: {column.name} of {form.head}"
            if isinstance(item, List):
                assert (sort == "i64") == (item.head in ARITHMETIC), where
                continue
            for kind in known.get(item.text, ()):
                assert isinstance(column, kind), f"{where}: {item.text} is a {kind.__name__}"
            if item.text.lstrip("-").isdigit() and item.text != "0":
                assert not isinstance(column, TypeId | LayoutId | AttributeId | Value), where
    return terms


def test_rules_fit_the_table() -> None:
    assert sum(map(check, RULES)) > 100


def test_rules_that_do_not_fit_are_found() -> None:
    """Types and layouts exchanged; a column left out; a number for a type."""
    rule = '(rule ((= v (iota ty)) (want v l) (= ty (type v))) ((union (native v l) {})) :ruleset place :name "t/t")'
    assert check(Command.of(rule.format("(p.iota ty l)"), "<test>")) == 1
    for wrong in ("(p.iota l ty)", "(p.iota ty)", "(p.iota 3 l)", "(p.iota (own v) l)"):
        with pytest.raises(AssertionError):
            check(Command.of(rule.format(wrong), "<test>"))


def test_egglog_refuses_a_rule_of_another_arity(tmp_path: Path) -> None:
    path = tmp_path / "mine.egg"
    path.write_text(
        '(rule ((= v (iota ty)) (want v l)) ((union (native v l) (p.iota l))) :ruleset place :name "mine/iota")'
    )
    with pytest.raises(TileError, match=r"mine\.egg:1:.*rule 'mine/iota'"):
        tilesat.compile(EXAMPLES / "gemm.mlir", rules=[path])


# --- what passes do with them


def again(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a module once more, under another name."""
    spec = importlib.util.spec_from_file_location(f"{module.__name__}_again", module.__file__)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, found)
    spec.loader.exec_module(found)


def test_an_operation_without_cost_or_lowering_is_an_error_of_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    class New(Placed):
        """An operation that nothing knows."""

        __slots__ = ()
        constructor = "p.new"

    everything = [*placed_classes(), New]
    assert pricing.unpriced(everything) == ["p.new"]
    assert values.without_lowering(everything) == ["p.new"]
    monkeypatch.delitem(values.lowers.declared, placed.Hold)
    assert values.without_lowering(placed_classes()) == ["p.hold"]


def test_an_arithmetic_operation_that_names_no_scalar_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct.AddF, "lowers_to", "")
    assert values.without_lowering(placed_classes()) == ["p.addf"]
    with pytest.raises(LookupError, match=r"no lowering for p\.addf: add functions with @lowers"):
        again(lowering.decode, monkeypatch)


def test_every_entry_is_of_an_operation() -> None:
    """Of one in the table, a base of it, or an operation whose placed form is in the table."""
    known = {key for cls in placed_classes() for key in cls.known_as()}
    for table in (pricing.prices, values.lowers):
        assert table.declared.keys() <= known | {Node}


def test_a_second_entry_is_refused() -> None:
    with pytest.raises(TypeError, match="Hold already has a lowering"):
        values.lowers(placed.Hold)(values.hold)
