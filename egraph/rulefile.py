"""Rule files: egglog text cut into single commands that know their file, line, name and ruleset."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

from egraph.permissions import granted
from egraph.sexpr import List, read, spans
from ir.core import Location, TileError
from ir.records import dataclass

RULES_DIRECTORY = Path(__file__).parent / "rules"

_RULES = ("rule", "rewrite", "birewrite")


_HEAD = re.compile(r"\(\s*([^\s()]+)")
_NAME = re.compile(r':name\s+"([^"]*)"')
_RULESET = re.compile(r":ruleset\s+([^\s()]+)")
_ALLOW = re.compile(r"\(allow (\d+)\)")


@dataclass(frozen=True, slots=True)
class Command:
    """One top-level egglog command; `name` and `ruleset` are set for rules only."""

    text: str
    file: str
    line: int
    head: str
    name: str = ""
    ruleset: str = ""
    column: int = 1

    @staticmethod
    def of(text: str, file: str, line: int = 1, column: int = 1) -> Command:
        """The single command in `text`.

        Raises TileError, located, for a rule without a name or ruleset.
        """
        found = _HEAD.match(text)
        head = found[1] if found else ""
        if head not in _RULES:
            return Command(text, file, line, head, column=column)
        name, ruleset = _NAME.search(text), _RULESET.search(text)
        if name is None:
            hint = 'add :name "<theory>/<what it does>"'
            raise TileError(f"a {head} has no name", Location(file, line, column), hint)
        if ruleset is None:
            hint = "add :ruleset analysis, canon, algebra, demand, place or isel"
            raise TileError(f"{head} '{name[1]}' is in no ruleset", Location(file, line, column), hint)
        return Command(text, file, line, head, name[1], ruleset[1], column)

    @property
    def is_rule(self) -> bool:
        """True for rules and rewrites."""
        return bool(self.name)

    @property
    def form(self) -> List:
        """The command as an s-expression; lines count from its own first line."""
        return read(self.text, self.file)[0]

    @property
    def located_text(self) -> str:
        """The text behind as much space as puts it at its place, so that egglog's messages give the right one."""
        return "\n" * (self.line - 1) + " " * (self.column - 1) + self.text


def read_commands(text: str, file: str) -> list[Command]:
    """The commands of one file's text.

    Raises TileError, located, for text that is no list of commands and for rules without a name or ruleset.
    """
    return [
        Command.of(text[s.start : s.end], file, s.line, s.start - text.rfind("\n", 0, s.start))
        for s in spans(text, file)
    ]


def read_file(path: Path) -> list[Command]:
    """The commands of a rule file of the user's.

    Raises TileError where the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TileError(f"cannot read rules: {error}", Location(str(path)), "pass a readable .egg file") from error
    return read_commands(text, str(path))


@cache
def own_rules() -> tuple[Command, ...]:
    """All commands of egraph/rules/*.egg, declarations first, files in alphabetical order."""
    found = [c for path in sorted(RULES_DIRECTORY.glob("*.egg")) for c in read_commands(path.read_text(), path.name)]
    return (*(c for c in found if not c.is_rule), *(c for c in found if c.is_rule))


def select(commands: Iterable[Command], without: Iterable[str]) -> list[Command]:
    """The commands whose rule name starts with none of the prefixes in `without`. Raises TileError for a prefix of no
    rule: it is misspelt.
    """
    found, prefixes = list(commands), tuple(without)
    for prefix in prefixes:
        if not any(c.name and c.name.startswith(prefix) for c in found):
            hint = "rule names are in egraph/rules; --explain lists the rules that matched"
            raise TileError(f"no rule has a name that starts with {prefix!r}", hint=hint)
    return [c for c in found if not (c.name and c.name.startswith(prefixes))]


def permitted(commands: Iterable[Command], fast: Iterable[str]) -> list[Command]:
    """The commands less the rules that need a permission that is not given: they cannot match. The others need not ask
    for theirs again, and egglog has one term less to join.
    """
    given = granted(fast)
    asking = ((c, _ALLOW.findall(c.text) if c.is_rule else []) for c in commands)
    return [_unasked(c) if codes else c for c, codes in asking if all(int(code) in given for code in codes)]


def _unasked(rule: Command) -> Command:
    """A rule whose permission is given: all else stays at its place."""
    return replace(rule, text=_ALLOW.sub(lambda found: " " * len(found[0]), rule.text))
