"""Text in and out: the disassembler's form of Tile IR, and MLIR generic form for every level."""

from __future__ import annotations

from typing import Literal

from ir.core import ParseError
from ir.dialects.cuda_tile import Module
from ir.text import access, effects, structured
from ir.text.generic import located_lines, print_generic
from ir.text.generic_input import parse_quoted
from ir.text.modules import read_module, read_modules, split_text
from ir.text.parser import QUOTED, STRUCTURED, Parser
from ir.text.printer import PRINTED, Printer

QUOTED.append(parse_quoted)
for _forms in (structured.FORMS, access.FORMS, effects.FORMS):
    STRUCTURED.update({cls: parse for cls, (parse, _) in _forms.items()})
    PRINTED.update({cls: show for cls, (_, show) in _forms.items()})


def parse(text: str, filename: str = "<text>") -> Module:
    """The one module that Tile IR text spells, unverified.

    Raises ParseError, at a line and column, for malformed text, VerifyError for places in functions not theirs.
    """
    return read_module(Parser(text, filename))


def parse_modules(text: str, filename: str = "<text>") -> list[Module]:
    """The modules that Tile IR text spells, one after the other or within MLIR's own; raises as `parse` does."""
    return read_modules(Parser(text, filename))


def parse_all(text: str, filename: str = "<text>") -> list[Module]:
    """The modules of a text whose programs are separated by `// -----` lines; empty programs give none."""
    parts = [part for part in split_text(text) if part.strip()]
    return [module for part in parts for module in parse_modules(part, filename)]


def print_text(module: Module, form: Literal["tile", "generic"] = "tile", locations: bool = False) -> str:
    """The module as the disassembler prints it, or in MLIR generic form; `locations` adds each operation's place."""
    return print_generic(module) if form == "generic" else Printer(module, locations).module(module)


__all__ = [
    "ParseError",
    "located_lines",
    "parse",
    "parse_all",
    "parse_modules",
    "print_generic",
    "print_text",
    "split_text",
]
