"""Observed rules: each gets an observer with the same left side, which records its matches.

An observer only adds rows to its own relation, `fired.K`: one column for each variable of the left side, then one for
each number that the right side computes. The e-graph is the same with and without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from egraph.engine import WATCHING as TABLE
from egraph.rule import Rule, text
from egraph.rulefile import Command
from egraph.sexpr import Atom, List, Sexpr
from egraph.term import INTEGER, LOGICAL, PLACED
from ir.records import dataclass

COLUMNS = (LOGICAL, PLACED, INTEGER)
"""Sorts that a noted variable may have."""
ACTIONS = ("union", "set", "subsume", "delete", "let", "panic")


@dataclass(frozen=True)
class Signature:
    """Sorts of a table's columns; `output` is empty for a relation, `makes`: its rows are terms."""

    inputs: tuple[str, ...]
    output: str
    makes: bool


Tables = Mapping[str, Signature]


def tables(commands: Iterable[Command]) -> dict[str, Signature]:
    """Every constructor, function and relation that is declared."""
    found: dict[str, Signature] = {}
    for command in commands:
        if command.head in ("constructor", "function", "relation"):
            items = command.form.items
            name, inputs = items[1], items[2]
            output = items[3] if command.head != "relation" else None
            if isinstance(name, Atom) and isinstance(inputs, List):
                sorts = tuple(each.text for each in inputs.items if isinstance(each, Atom))
                made = output.text if isinstance(output, Atom) else ""
                found[name.text] = Signature(sorts, made, command.head == "constructor")
    return found


@dataclass(frozen=True)
class Observed:
    """A watched rule: its command, its parts, the relation of its observer and what the columns are."""

    command: Command
    rule: Rule
    table: str
    variables: tuple[tuple[str, str], ...]
    numbers: tuple[str, ...]
    looked: tuple[tuple[str, Sexpr], ...] = ()
    """Values of functions that conditions look up: the variable that the observer binds, and what is looked up."""

    @property
    def observer(self) -> str:
        """The observer's name, as reports have it."""
        return f"{self.table} {self.rule.name}"

    def commands(self) -> Iterator[Command]:
        """The relation and the observer."""
        file, line = self.command.file, self.command.line
        sorts = [*(sort for _, sort in self.variables), *([INTEGER] * len(self.numbers))]
        yield Command.of(f"(relation {self.table} ({' '.join(sorts)}))", file, line)
        row = f"({' '.join((self.table, *(name for name, _ in self.variables), *self.numbers))})"
        looked = (f"(= {name} {text(form)})" for name, form in self.looked)
        body = " ".join((*map(text, self.rule.body), *looked))
        ruleset = f':ruleset {self.command.ruleset} :name "{self.observer}"'
        yield Command.of(f"(rule ({body}) ({row}) {ruleset})", file, line)


def observed(commands: Iterable[Command], known: Tables) -> list[Observed]:
    """The rules that make terms or unite classes, each with its observer; those with columns of other sorts are left
    out.
    """
    found: list[Observed] = []
    for command in commands:
        for rule in Rule.of(command) if command.is_rule else ():
            sorts = _Sorts(known)
            sorts.facts(rule.body)
            made = any(_makes(action, known) for action in rule.actions)
            if made and all(sort in COLUMNS for sort in sorts.found.values()):
                numbers = dict.fromkeys(text(n) for action in rule.actions for n in _numbers(action, known))
                forms = {text(form): form for fact in rule.body for form in _lookups(fact, known)}
                looked = tuple((f"looked{at}", form) for at, form in enumerate(forms.values()))
                names = (*sorts.found.items(), *((name, INTEGER) for name, _ in looked))
                found.append(Observed(command, rule, f"{TABLE}{len(found)}", names, tuple(numbers), looked))
    return found


def is_variable(form: Sexpr) -> bool:
    """A name, not a number, a string or a truth value."""
    name = form.text if isinstance(form, Atom) else ""
    return bool(name) and name not in ("true", "false", "_") and name[0] not in '"-0123456789'


class _Sorts:
    """The sorts of a rule's variables, from the tables that they are columns of."""

    def __init__(self, known: Tables):
        self.known = known
        self.found: dict[str, str] = {}

    def facts(self, body: Iterable[Sexpr]) -> None:
        """All facts; what only numbers say of a variable is that it is one."""
        facts = list(body)
        for _ in range(2):  # an equation may name a variable before the fact that says its sort
            for fact in facts:
                self.form(fact, "")
        for fact in facts:
            self.form(fact, INTEGER)

    def form(self, form: Sexpr, sort: str) -> None:
        """A part that has this sort, where it is known."""
        if isinstance(form, Atom):
            if is_variable(form) and sort:
                self.found.setdefault(form.text, sort)
            return
        signature = self.known.get(form.head)
        if signature is not None:
            for item, column in zip(form.items[1:], signature.inputs, strict=False):
                self.form(item, column)
        elif form.head == "=":
            said = next((s for each in form.items[1:] if (s := self.sort(each))), sort)
            for item in form.items[1:]:
                self.form(item, said)
        else:
            for item in form.items[1:]:
                self.form(item, sort)

    def sort(self, form: Sexpr) -> str:
        """What is known of a part."""
        if isinstance(form, Atom):
            return self.found.get(form.text, "")
        signature = self.known.get(form.head)
        return signature.output if signature is not None else ""


def _makes(form: Sexpr, known: Tables) -> bool:
    """Does an action unite, or hold a term?"""
    if isinstance(form, Atom) or form.head in ("subsume", "delete"):
        return False
    signature = known.get(form.head)
    own = form.head == "union" or (signature is not None and signature.makes)
    return own or any(_makes(item, known) for item in form.items[1:])


def _lookups(form: Sexpr, known: Tables, inside: bool = False) -> Iterator[List]:
    """Functions that are looked up inside of a condition or of another column."""
    if isinstance(form, List):
        signature = known.get(form.head)
        if inside and signature is not None and not signature.makes and signature.output == INTEGER:
            yield form
        for item in form.items[1:]:
            yield from _lookups(item, known, inside or form.head != "=")


def _numbers(form: Sexpr, known: Tables) -> Iterator[Sexpr]:
    """The outermost computed numbers of an action."""
    if isinstance(form, List):
        if form.head in known or form.head in ACTIONS:
            for item in form.items[1:]:
                yield from _numbers(item, known)
        else:
            yield form
