"""Rule files: egglog text cut into single commands that know their file, line, name and ruleset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from egraph.sexpr import Atom, List, read
from ir.core import Location, TileError

RULES_DIRECTORY = Path(__file__).parent / "rules"

_RULES = ("rule", "rewrite", "birewrite")


@dataclass(frozen=True, slots=True)
class Command:
    """One top-level egglog command; `name` is set for rules only."""

    text: str
    file: str
    line: int
    form: List
    name: str = ""
    ruleset: str = ""

    @staticmethod
    def of(text: str, file: str) -> Command:
        """The single command in `text`."""
        return _command(text, file, read(text, file)[0])

    @property
    def is_rule(self) -> bool:
        """True for rules and rewrites."""
        return self.form.head in _RULES

    @property
    def located_text(self) -> str:
        """The text behind as many newlines as put it at its line, so that egglog's messages give the right one."""
        return "\n" * (self.line - 1) + self.text


def option(form: List, key: str) -> str:
    """The value after `:key` in a command, quotes removed; empty where it is not given."""
    items = form.items
    for at, item in enumerate(items[:-1]):
        value = items[at + 1]
        if isinstance(item, Atom) and item.text == key and isinstance(value, Atom):
            return value.text.strip('"')
    return ""


def _command(text: str, file: str, form: List) -> Command:
    cut = text[form.start : form.end]
    if form.head not in _RULES:
        return Command(cut, file, form.line, form)
    name = option(form, ":name")
    if not name:
        hint = 'add :name "<theory>/<what it does>"'
        raise TileError(f"a {form.head} has no name", Location(file, form.line, 1), hint)
    ruleset = option(form, ":ruleset")
    if not ruleset:
        hint = "add :ruleset analysis, canon, algebra, demand, place or isel"
        raise TileError(f"{form.head} '{name}' is in no ruleset", Location(file, form.line, 1), hint)
    return Command(cut, file, form.line, form, name, ruleset)


def read_commands(text: str, file: str) -> list[Command]:
    """The commands of one file's text.

    Raises TileError, located, for text that is no list of commands and for rules without a name or ruleset.
    """
    return [_command(text, file, form) for form in read(text, file)]


def read_file(path: Path) -> list[Command]:
    """The commands of a rule file of the user's.

    Raises TileError where the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TileError(f"cannot read rules: {error}", Location(str(path)), "give a readable .egg file") from error
    return read_commands(text, str(path))


@cache
def own_rules() -> tuple[Command, ...]:
    """All commands of egraph/rules/*.egg, declarations first, files in alphabetical order."""
    found = [c for path in sorted(RULES_DIRECTORY.glob("*.egg")) for c in read_commands(path.read_text(), path.name)]
    return (*(c for c in found if not c.is_rule), *(c for c in found if c.is_rule))


def select(commands: Iterable[Command], without: Iterable[str]) -> list[Command]:
    """The commands whose rule name starts with none of the prefixes in `without`."""
    prefixes = tuple(without)
    return [c for c in commands if not (c.name and c.name.startswith(prefixes))]
