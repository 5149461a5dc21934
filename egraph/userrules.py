"""Rule files of the user's: a white list of what they may hold, since egglog itself reads and writes files, runs
schedules, and evaluates Python (`py-eval`, in a rule as well as outside).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from egraph import facts
from egraph.rulefile import Command, own_rules, read_commands, read_file
from egraph.sexpr import Atom, List, Sexpr
from egraph.terms import RULESETS, declarations
from ir.core import Location, TileError

COMMANDS = ("ruleset", "relation", "function", "constructor", "rule", "rewrite", "birewrite")
SORTS = ("V", "P", "i64", "f64", "bool", "String")

_ACTIONS = frozenset(("let", "set", "union", "subsume", "delete", "panic"))
_PRIMITIVES = frozenset((
    *("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "min", "max", "abs", "neg"),
    *("log2", "not-i64", "and", "or", "not", "xor", "=>", "to-f64", "to-i64", "to-string", "replace", "count-matches"),
    *("bool-=", "bool-!=", "bool-<", "bool-<=", "bool->", "bool->="),
))  # fmt: skip
"""Functions of egglog 13.2.0 on i64, f64, bool and String: none has an effect."""

_DECLARED = re.compile(r"\(\s*(?:relation|function|constructor)\s+([^\s()]+)")
_COLUMNS = {
    "relation": "relation NAME (SORT ...)",
    "constructor": "constructor NAME (SORT ...) SORT",
    "function": "function NAME (SORT ...) SORT :merge EXPRESSION",
}


def user_rules(paths: Iterable[Path]) -> list[Command]:
    """The commands of rule files, in order; a file may use what one before it declares.

    Raises TileError, located, for a file that cannot be read and for anything but the commands of COMMANDS on the sorts
    of SORTS, rules on what is declared, and the primitives of those sorts.
    """
    found: list[Command] = []
    known: set[str] | None = None
    for path in paths:
        commands = read_file(path)
        known = set(_own_names()) if known is None else known
        known.update(name for each in commands for name in _DECLARED.findall(each.text)[:1])
        for command in commands:
            _Check(command, known).command()
        found += commands
    return found


@cache
def _own_names() -> frozenset[str]:
    """Everything that a rule may match or make: constructors, functions and relations of ours."""
    ours = (*declarations(), *read_commands(facts.DECLARATIONS, "<facts>"), *own_rules())
    return frozenset(m[1] for each in ours if not each.is_rule and (m := _DECLARED.match(each.text)))


class _Check:
    """One command against the white list."""

    def __init__(self, command: Command, known: set[str]):
        self.source, self.known = command, known

    def command(self) -> None:
        """Raise TileError where the command, or a part of it, is not on the list."""
        form = self.source.form
        if form.head not in COMMANDS:
            self.refuse(form, f"'{form.head}' is not allowed in a rule file", f"allowed are {', '.join(COMMANDS)}")
        if form.head in _COLUMNS:
            self.declaration(form)
        elif form.head != "ruleset":
            if self.source.ruleset not in RULESETS:
                message = f"{form.head} '{self.source.name}' is in ruleset '{self.source.ruleset}', which is never run"
                self.refuse(form, message, f"the rulesets that run are {', '.join(RULESETS)}")
            self.expressions(form.items[1:])

    def declaration(self, form: List) -> None:
        """A table: its sorts, and how a function merges."""
        given = form.items[2:]
        columns = given[0] if given else None
        if not isinstance(columns, List) or len(given) < 1 + (form.head != "relation"):
            self.refuse(
                form, f"cannot parse this {form.head}: expected ({_COLUMNS[form.head]})", "see egraph/rules/README.md"
            )
        outputs = () if form.head == "relation" else given[1:2]
        for sort in (*columns.items, *outputs):
            if not isinstance(sort, Atom) or sort.text not in SORTS:
                what = sort.text if isinstance(sort, Atom) else "a list"
                self.refuse(columns, f"'{what}' is not a sort of rule files", f"the sorts are {', '.join(SORTS)}")
        self.expressions(given[1:])

    def expressions(self, items: Sequence[Sexpr]) -> None:
        """Facts, actions and expressions: every list is headed by a known name, or is a list of lists."""
        for item in items:
            if not isinstance(item, List):
                continue
            head = item.head
            if head and head not in self.known and head not in _ACTIONS and head not in _PRIMITIVES:
                hint = "use an operation, a fact, what the file declares, or a primitive of i64, f64, bool, String"
                self.refuse(item, f"unknown '{head}' in a rule", hint)
            self.expressions(item.items)

    def refuse(self, form: List, message: str, hint: str) -> NoReturn:
        """Located at the list `form` of the command."""
        before = self.source.text[: form.start]
        line = self.source.line + before.count("\n")
        column = form.start - before.rfind("\n") + (0 if "\n" in before else self.source.column - 1)
        raise TileError(message, Location(self.source.file, line, column), hint)
