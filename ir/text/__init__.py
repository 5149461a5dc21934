"""Text in and out: the disassembler's form of Tile IR, and MLIR generic form for every level."""

from __future__ import annotations

from typing import Literal

from ir.core import ParseError
from ir.dialects.cuda_tile import Module
from ir.text import access, structured
from ir.text.generic import print_generic
from ir.text.parser import STRUCTURED, Parser
from ir.text.printer import PRINTED, Printer

for _forms in (structured.FORMS, access.FORMS):
    STRUCTURED.update({cls: parse for cls, (parse, _) in _forms.items()})
    PRINTED.update({cls: show for cls, (_, show) in _forms.items()})


def parse(text: str, filename: str = "<text>") -> Module:
    """The module that Tile IR text spells, unverified.

    Raises ParseError for malformed text, UnsupportedError for operations not declared yet; both at a line and column.
    """
    return Parser(text, filename).module()


def print_text(module: Module, form: Literal["tile", "generic"] = "tile") -> str:
    """The module as the disassembler prints it, or in MLIR generic form."""
    return print_generic(module) if form == "generic" else Printer(module).module(module)


__all__ = ["ParseError", "parse", "print_generic", "print_text"]
